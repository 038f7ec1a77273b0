//! Every type of elements, and conversions of one number, for the tests of `convert`: integers and floats by the casts of
//! Rust, 16-bit floats by a search for the nearest.

use diptych::tensor::Tensor;
use diptych::{bf16, f16};
use fastrand::Rng;

use crate::tensors::Array;

/// A number of any type, exactly.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// An integer.
    Integer(i128),
    /// A float.
    Float(f64),
}

impl Value {
    fn is_zero(self) -> bool {
        match self {
            Self::Integer(x) => x == 0,
            Self::Float(x) => x == 0.0,
        }
    }
}

/// A type of elements.
pub trait Number: Copy + core::fmt::Debug + 'static {
    /// Its code in DLPack.
    const CODE: u8;
    /// The number.
    fn value(self) -> Value;
    /// The number of this type that a conversion gives.
    fn from_value(value: Value) -> Self;
    /// The bits; all NaNs are one.
    fn bits(self) -> u64;
    /// The bits.
    fn pattern(self) -> u64;
    /// The number with these bits.
    fn of_pattern(pattern: u64) -> Self;
    /// Numbers at which conversions change.
    fn edges() -> Vec<Self>;
    /// A random number.
    fn draw(rng: &mut Rng) -> Self;
}

macro_rules! integers {
    ($($T:ident $code:literal)*) => {$(
        impl Number for $T {
            const CODE: u8 = $code;
            fn value(self) -> Value {
                Value::Integer(self.into())
            }
            fn from_value(value: Value) -> Self {
                match value {
                    Value::Integer(x) => x as $T,
                    Value::Float(x) => x as $T,
                }
            }
            fn bits(self) -> u64 {
                self.pattern()
            }
            fn pattern(self) -> u64 {
                self as u64 & (u64::MAX >> (64 - $T::BITS))
            }
            fn of_pattern(pattern: u64) -> Self {
                pattern as $T
            }
            fn edges() -> Vec<Self> {
                let powers = (0..$T::BITS).flat_map(|i| {
                    let power = (1 as $T).wrapping_shl(i);
                    [power, power.wrapping_sub(1), power.wrapping_add(1), power.wrapping_mul(3), (0 as $T).wrapping_sub(power)]
                });
                powers.chain([$T::MIN, $T::MAX]).collect()
            }
            fn draw(rng: &mut Rng) -> Self {
                rng.u64(..).wrapping_shr(rng.u32(..64)) as $T
            }
        }
    )*};
}
integers! { i8 0 i16 0 i32 0 i64 0 u8 1 u16 1 u32 1 u64 1 }

/// A `bool` in memory.
#[derive(Clone, Copy, Debug)]
pub struct Bool(pub u8);

impl Number for Bool {
    const CODE: u8 = 6;
    fn value(self) -> Value {
        Value::Integer(self.0.into())
    }
    fn from_value(value: Value) -> Self {
        Self((!value.is_zero()).into())
    }
    fn bits(self) -> u64 {
        self.0.into()
    }
    fn pattern(self) -> u64 {
        self.0.into()
    }
    fn of_pattern(pattern: u64) -> Self {
        Self(pattern as u8)
    }
    fn edges() -> Vec<Self> {
        vec![Self(0), Self(1)]
    }
    fn draw(rng: &mut Rng) -> Self {
        Self(rng.bool().into())
    }
}

/// Returns the bits of `value` rounded to nearest even, of the 16-bit type that `widen` makes of bits and whose largest
/// number has the bits `largest`.
fn nearest(value: Value, guess: u16, largest: u16, widen: impl Fn(u16) -> f32) -> u16 {
    let magnitude = |bits: u16| f64::from(widen(bits & 0x7FFF));
    // Where the infinity would be if it were a number.
    let top = 2.0 * magnitude(largest) - magnitude(largest - 1);
    let place = |bits: u16| if bits > largest { top } else { magnitude(bits) };
    let size = match value {
        Value::Float(x) => x.abs(),
        Value::Integer(x) => x.unsigned_abs() as f64,
    };
    if size >= top {
        return (largest + 1) | (guess & 0x8000);
    }
    let distance = |bits: u16| match value {
        Value::Float(x) => (x.abs() - place(bits)).abs(),
        Value::Integer(x) => {
            (x.unsigned_abs().abs_diff(place(bits) as u128)) as f64 + (place(bits).fract())
        }
    };
    let bits = guess & 0x7FFF;
    let near = (bits.saturating_sub(2)..=(bits + 2).min(largest + 1)).collect::<Vec<_>>();
    let best = near
        .into_iter()
        .min_by(|&a, &b| {
            distance(a)
                .total_cmp(&distance(b))
                .then((a & 1).cmp(&(b & 1)))
        })
        .unwrap();
    best | guess & 0x8000
}

macro_rules! floats {
    ($($T:ident $Bits:ident $code:literal $from_value:expr;)*) => {$(
        impl Number for $T {
            const CODE: u8 = $code;
            fn value(self) -> Value {
                Value::Float(f64::from(f32_or_f64::<$T>(self)))
            }
            fn from_value(value: Value) -> Self {
                let from_value: fn(Value) -> $T = $from_value;
                from_value(value)
            }
            fn bits(self) -> u64 {
                if f64::from(f32_or_f64(self)).is_nan() { u64::MAX } else { self.to_bits().into() }
            }
            fn pattern(self) -> u64 {
                self.to_bits().into()
            }
            fn of_pattern(pattern: u64) -> Self {
                $T::from_bits(pattern as $Bits)
            }
            fn edges() -> Vec<Self> {
                let mut edges: Vec<Self> = (0..1 << 12)
                    .map(|i: u64| $T::from_bits(((i << 52) >> (64 - $Bits::BITS)) as $Bits))
                    .collect();
                for power in -30..66 {
                    let power = 2_f64.powi(power);
                    for x in [power, 1.5 * power, power - 0.5, power - 1.0, power + 1.0, power * (1.0 + 2_f64.powi(-24))] {
                        edges.push(Self::from_value(Value::Float(x)));
                        edges.push(Self::from_value(Value::Float(-x)));
                    }
                }
                edges.push(Self::from_value(Value::Float(f64::NAN)));
                edges
            }
            fn draw(rng: &mut Rng) -> Self {
                match rng.u8(..3) {
                    0 => $T::from_bits(rng.u64(..) as $Bits),
                    1 => Self::from_value(Value::Integer(i64::draw(rng).into())),
                    _ => Self::from_value(Value::Float((rng.f64() - 0.5) * 2_f64.powi(rng.i32(-40..20)))),
                }
            }
        }
    )*};
}

fn f32_or_f64<T: Into<Wide>>(x: T) -> f64 {
    x.into().0
}
/// A float as `f64`.
struct Wide(f64);
macro_rules! wide {
    ($($T:ident |$x:ident| $e:expr;)*) => {$(impl From<$T> for Wide {
        fn from($x: $T) -> Self {
            Self($e)
        }
    })*};
}
wide! { f32 |x| x.into(); f64 |x| x; f16 |x| x.to_f32().into(); bf16 |x| x.to_f32().into(); }

floats! {
    f32 u32 2 |value| match value { Value::Integer(x) => x as f32, Value::Float(x) => x as f32 };
    f64 u64 2 |value| match value { Value::Integer(x) => x as f64, Value::Float(x) => x };
    f16 u16 2 |value| {
        let guess = f16::from_f32(f32::from_value(value));
        if guess.to_f32().is_nan() { return guess; }
        f16::from_bits(nearest(value, guess.to_bits(), 0x7BFF, |bits| f16::from_bits(bits).to_f32()))
    };
    bf16 u16 4 |value| {
        let guess = bf16::from_f32(f32::from_value(value));
        if guess.to_f32().is_nan() { return guess; }
        bf16::from_bits(nearest(value, guess.to_bits(), 0x7F7F, |bits| bf16::from_bits(bits).to_f32()))
    };
}

/// The bits that a conversion of one element gives; all NaNs are one, unless the types are the same.
pub fn converted<A: Number, B: Number>(x: A) -> u64 {
    if A::CODE == B::CODE && size_of::<A>() == size_of::<B>() {
        return x.bits();
    }
    B::from_value(x.value()).bits()
}

/// Returns the tensor of an array of numbers.
pub fn described<T: Number>(array: &mut Array<T>) -> Tensor {
    array.described(T::CODE, 8 * size_of::<T>() as u8)
}

/// Calls a generic function for every pair of types.
#[macro_export]
macro_rules! pairs {
    ($f:ident($($arg:expr),*)) => {{
        use diptych::{bf16, f16};
        use $crate::number::Bool;
        $crate::pairs!(@from $f ($($arg),*) f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 Bool);
    }};
    (@from $f:ident $args:tt $($A:ident)*) => {$(
        $crate::pairs!(@to $f $args $A f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 Bool);
    )*};
    (@to $f:ident $args:tt $A:ident $($B:ident)*) => { $($f::<$A, $B> $args;)* };
}
