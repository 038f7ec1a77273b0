//! `convert`, for every pair of types, against conversions of one number.

use diptych::tensor::{self, Tensor};
use diptych::{Error, Exec, Pool, bf16, f16};
use diptych_tests::levels::levels;
use diptych_tests::tensors::{Array, broadcast_from, indices, own_index, random_shape};
use fastrand::Rng;

/// A number of any type, exactly.
#[derive(Clone, Copy, Debug)]
enum Value {
    Integer(i128),
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
trait Number: Copy + std::fmt::Debug + 'static {
    const CODE: u8;
    fn value(self) -> Value;
    fn from_value(value: Value) -> Self;
    /// The bits; all NaNs are one.
    fn bits(self) -> u64;
    fn edges() -> Vec<Self>;
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
                self as u64
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
struct Bool(u8);

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
    fn edges() -> Vec<Self> {
        vec![Self(0), Self(1)]
    }
    fn draw(rng: &mut Rng) -> Self {
        Self(rng.bool().into())
    }
}

/// Returns the bits of `value` rounded to nearest even, of the 16-bit type that `widen` makes of bits.
fn nearest(value: Value, guess: u16, widen: impl Fn(u16) -> f32) -> u16 {
    let magnitude = |bits: u16| f64::from(widen(bits & 0x7FFF));
    // Where the infinity would be if it were a number.
    let largest = (0..0x7FFF)
        .rev()
        .find(|&bits| widen(bits).is_finite())
        .unwrap();
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
        f16::from_bits(nearest(value, guess.to_bits(), |bits| f16::from_bits(bits).to_f32()))
    };
    bf16 u16 4 |value| {
        let guess = bf16::from_f32(f32::from_value(value));
        if guess.to_f32().is_nan() { return guess; }
        bf16::from_bits(nearest(value, guess.to_bits(), |bits| bf16::from_bits(bits).to_f32()))
    };
}

/// Calls a generic function for every pair of types.
macro_rules! pairs {
    ($f:ident($($arg:expr),*)) => {
        pairs!(@from $f ($($arg),*) f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 Bool)
    };
    (@from $f:ident $args:tt $($A:ident)*) => {$(
        pairs!(@to $f $args $A f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 Bool);
    )*};
    (@to $f:ident $args:tt $A:ident $($B:ident)*) => { $($f::<$A, $B> $args;)* };
}

fn want<A: Number, B: Number>(x: A) -> u64 {
    if A::CODE == B::CODE && size_of::<A>() == size_of::<B>() {
        return x.bits();
    }
    B::from_value(x.value()).bits()
}

fn described<T: Number>(array: &mut Array<T>) -> Tensor {
    array.described(T::CODE, 8 * size_of::<T>() as u8)
}

fn edges_of<A: Number, B: Number>(exec: &Exec<'_>) {
    let edges = A::edges();
    let shape = [edges.len() as i64];
    let mut x = Array::<A>::with_strides(&shape, vec![1]);
    let mut next = edges.iter();
    x.fill(|| *next.next().unwrap());
    let mut out = Array::<B>::with_strides(&shape, vec![1]);
    // SAFETY: the tensors are valid.
    unsafe { tensor::convert(exec, &described(&mut x), &described(&mut out)) }.unwrap();
    for (i, &edge) in edges.iter().enumerate() {
        let got = out.get(&[i as i64]);
        let types = (std::any::type_name::<A>(), std::any::type_name::<B>());
        assert_eq!(
            got.bits(),
            want::<A, B>(edge),
            "{edge:?} {types:?} gave {got:?}"
        );
    }
}

fn random_of<A: Number, B: Number>(rng: &mut Rng, exec: &Exec<'_>, rounds: usize, most: i64) {
    for _ in 0..rounds {
        let shape = random_shape(rng, most);
        let own = broadcast_from(rng, &shape);
        let mut x = Array::<A>::random(rng, &own);
        x.fill(|| A::draw(rng));
        let mut out = Array::<B>::random(rng, &shape);
        let (from, to) = (described(&mut x), described(&mut out));
        // SAFETY: the tensors are valid.
        let status = unsafe { tensor::convert(exec, &from, &to) };
        assert_eq!(status, Ok(()));
        assert!(out.gaps_intact());
        for index in indices(&shape) {
            let element = x.get(&own_index(&own, &index));
            let got = out.get(&index);
            assert_eq!(
                got.bits(),
                want::<A, B>(element),
                "{element:?} at {index:?} of {from:?} {to:?}"
            );
        }
    }
}

#[test]
fn conversions_are_those_of_single_numbers() {
    for &level in levels() {
        let exec = Exec::new().with_level(level).unwrap();
        pairs!(edges_of(&exec));
    }
}

#[test]
fn shapes_and_strides_of_conversions() {
    for &level in levels() {
        let exec = Exec::new().with_level(level).unwrap();
        let rng = &mut Rng::with_seed(7);
        pairs!(random_of(rng, &exec, 5, 6000));
    }
}

#[test]
fn large_conversions_with_threads() {
    let pool = Pool::new(2).unwrap();
    let exec = Exec::new().with_pool(&pool, 2);
    let rng = &mut Rng::with_seed(11);
    random_of::<f32, f32>(rng, &exec, 3, 400_000);
    random_of::<u8, f32>(rng, &exec, 3, 400_000);
    random_of::<f64, bf16>(rng, &exec, 3, 400_000);
    // More than the LLC, so that the stores are non-temporal.
    let n = 40 << 20;
    let x: Vec<u8> = (0..n).map(|i| (i * 7) as u8).collect();
    let mut out = vec![0_u8; n + 3];
    let shape = [n as i64];
    let of = |p: *const u8, code, bits| Tensor {
        data: p.cast_mut().cast(),
        device_type: 1,
        device_id: 0,
        ndim: 1,
        dtype_code: code,
        dtype_bits: bits,
        dtype_lanes: 1,
        shape: shape.as_ptr(),
        strides: std::ptr::null(),
        byte_offset: 0,
    };
    for offset in [0, 3] {
        let out = &mut out[offset..offset + n];
        // SAFETY: the arrays have n elements.
        unsafe {
            tensor::convert(&exec, &of(x.as_ptr(), 1, 8), &of(out.as_ptr(), 1, 8)).unwrap();
            assert!(out == x);
            tensor::convert(&exec, &of(x.as_ptr(), 1, 8), &of(out.as_ptr(), 6, 8)).unwrap();
        }
        assert!(out.iter().zip(&x).all(|(&out, &x)| out == u8::from(x != 0)));
    }
}

#[test]
fn refusals_of_convert() {
    let mut block = [1.0_f32; 64];
    let (shape, wrong) = ([4_i64], [5_i64]);
    let p = block.as_mut_ptr();
    let of = |p: *mut f32, shape: &[i64; 1], code, bits| Tensor {
        data: p.cast(),
        device_type: 1,
        device_id: 0,
        ndim: 1,
        dtype_code: code,
        dtype_bits: bits,
        dtype_lanes: 1,
        shape: shape.as_ptr(),
        strides: std::ptr::null(),
        byte_offset: 0,
    };
    let float = |p, shape| of(p, shape, 2, 32);
    // SAFETY: all elements lie in the block, unless the call is refused.
    let convert = |x: Tensor, out: Tensor| unsafe { tensor::convert(&Exec::new(), &x, &out) };
    let out = float(p.wrapping_add(32), &shape);
    assert_eq!(convert(float(p, &shape), out), Ok(()));
    assert_eq!(convert(out, out), Ok(()));
    let refused = |arg| Err(Error::ShapeMismatch { arg });
    assert_eq!(convert(float(p, &wrong), out), refused("x"));
    let overlap = Err(Error::Overlap { arg: "out" });
    assert_eq!(convert(float(p.wrapping_add(33), &shape), out), overlap);
    assert_eq!(convert(of(p.wrapping_add(32), &shape, 0, 32), out), overlap);
    let arg = "x";
    assert_eq!(
        convert(of(p, &shape, 5, 64), out),
        Err(Error::UnsupportedType { arg })
    );
    assert_eq!(
        convert(float(std::ptr::null_mut(), &shape), out),
        Err(Error::NullPointer { arg })
    );
    assert_eq!(
        convert(of(p, &[-1], 2, 32), out),
        Err(Error::NegativeSize { arg })
    );
    assert!(block.iter().all(|&x| x == 1.0));
}
