//! Products of integers and of 16-bit floats: their element types, scalar models of them that share no code with the
//! library, and the ways to run them: every level with every extension of the machine.

use core::fmt;
use core::mem::MaybeUninit;
use core::ops::Range;

use diptych::tensor::{self, Epilogue, Tensor};
use diptych::{Exec, Extensions, Level, bf16, f16};
use fastrand::Rng;

use crate::half::{Half, round, widen};
use crate::levels::levels;
use crate::model;
use crate::real::Real;
use crate::threads::Scoped;

/// An element of a product.
pub trait Number: Copy {
    /// Its name.
    const NAME: &'static str;
    /// Its type code and its bits in DLPack.
    const DLPACK: (u8, u8);

    /// Returns the element with these low bits.
    fn of_bits(bits: u64) -> Self;
    /// Returns its bits.
    fn bits(self) -> u64;
}

macro_rules! number {
    ($($T:ident $code:literal $bits:literal: $of:expr, $to:expr;)*) => {$(
        impl Number for $T {
            const NAME: &'static str = stringify!($T);
            const DLPACK: (u8, u8) = ($code, $bits);
            fn of_bits(bits: u64) -> Self {
                $of(bits)
            }
            fn bits(self) -> u64 {
                $to(self)
            }
        }
    )*};
}

number! {
    i8 0 8: |bits| bits as i8, |x: i8| u64::from(x.cast_unsigned());
    u8 1 8: |bits| bits as u8, u64::from;
    i32 0 32: |bits| bits as i32, |x: i32| u64::from(x.cast_unsigned());
    i64 0 64: u64::cast_signed, i64::cast_unsigned;
    f16 2 16: |bits| f16::from_bits(bits as u16), |x: f16| u64::from(x.to_bits());
    bf16 4 16: |bits| bf16::from_bits(bits as u16), |x: bf16| u64::from(x.to_bits());
    f32 2 32: |bits| f32::from_bits(bits as u32), |x: f32| u64::from(x.to_bits());
    f64 2 64: f64::from_bits, f64::to_bits;
}

/// Integers.
pub trait Whole: Number {
    /// The least and the greatest.
    const BOUNDS: (i64, i64);

    /// Returns the value.
    fn wide(self) -> i64;

    /// Returns the value modulo 2^bits.
    fn wrapped(value: i64) -> Self {
        Self::of_bits(value.cast_unsigned())
    }
}

macro_rules! whole {
    ($($T:ident)*) => {$(
        impl Whole for $T {
            const BOUNDS: (i64, i64) = ($T::MIN as i64, $T::MAX as i64);
            fn wide(self) -> i64 {
                i64::from(self)
            }
        }
    )*};
}
whole!(i8 u8 i32 i64);

/// The results of products of 16-bit floats.
pub trait Float: Number {
    /// Returns the value in `f32`.
    fn wide(self) -> f32;
    /// Rounds to this type; a NaN becomes the canonical one.
    fn rounded(value: f32) -> Self;
}

impl Float for f32 {
    fn wide(self) -> f32 {
        self
    }
    fn rounded(value: f32) -> Self {
        if value.is_nan() {
            Self::from_bits(0x7FC0_0000)
        } else {
            value
        }
    }
}

macro_rules! half {
    ($($T:ident $nan:literal)*) => {$(
        impl Float for $T {
            fn wide(self) -> f32 {
                widen::<$T>(self.pattern())
            }
            fn rounded(value: f32) -> Self {
                $T::of_pattern(round::<$T>(value).unwrap_or($nan))
            }
        }
    )*};
}
half!(f16 0x7E00 bf16 0x7FC0);

/// Elements of random tensors.
pub trait Draw: Number {
    /// Draws an element: any integer, or a float that is special now and then.
    fn draw(rng: &mut Rng) -> Self;
}

macro_rules! draw {
    ($($T:ident: $draw:ident;)*) => {$(
        impl Draw for $T {
            fn draw(rng: &mut Rng) -> Self {
                $draw(rng)
            }
        }
    )*};
}
draw! { i8: whole; u8: whole; i32: whole; i64: whole; f16: float; bf16: float; f32: float; }

fn whole<T: Whole>(rng: &mut Rng) -> T {
    T::of_bits(rng.u64(..))
}

fn float<T: Float>(rng: &mut Rng) -> T {
    let special = [f32::NAN, f32::INFINITY, 0.0, -0.0, 1e-6];
    T::rounded(match rng.usize(..400) {
        i if i < special.len() => special[i],
        _ => (rng.f32() - 0.5) * 8.0,
    })
}

/// What can follow a product of some types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Sums of integers: C may be added.
    Sum,
    /// Sums of bytes that become floats.
    Scaled,
    /// Sums of 16-bit floats.
    Half,
}

/// Makes one test for each combination of types of A, B, C and a bias from each generic function, which is given what can
/// follow the product.
#[macro_export]
macro_rules! per_product {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            use diptych::{bf16, f16};
            use diptych_tests::mixed::After;

            diptych_tests::per_product!(@tests $name
                i8_i8_i32: i8, i8, i32, f32, Sum;
                u8_i8_i32: u8, i8, i32, f32, Sum;
                i32_i32: i32, i32, i32, f32, Sum;
                i64_i64: i64, i64, i64, f32, Sum;
                i8_i8_f32: i8, i8, f32, f32, Scaled;
                u8_i8_f32: u8, i8, f32, f32, Scaled;
                f16_f16: f16, f16, f16, f32, Half;
                f16_with_a_bias_of_f16: f16, f16, f16, f16, Half;
                f16_f32: f16, f16, f32, f16, Half;
                bf16_bf16: bf16, bf16, bf16, bf16, Half;
                bf16_f32: bf16, bf16, f32, bf16, Half;
                bf16_with_a_bias_of_f32: bf16, bf16, f32, f32, Half;
            );
        }
    )*};
    (@tests $body:ident $($name:ident: $A:ty, $B:ty, $C:ty, $D:ty, $after:ident;)*) => {$(
        #[test]
        fn $name() {
            super::$body::<$A, $B, $C, $D>(After::$after);
        }
    )*};
}
pub use per_product;

/// What runs products of tensors: an `Exec`, or an emulated device.
pub trait Multiplies {
    /// Calls `tensor::matmul`, with alpha and beta, on a, b and c in memory of the host.
    ///
    /// # Errors
    /// The text of a refusal or a fault.
    ///
    /// # Safety
    /// The tensors must be valid.
    unsafe fn matmul(
        &self,
        factors: (f64, f64),
        tensors: [&Tensor; 3],
        epilogue: &Epilogue<'_>,
    ) -> Result<(), String>;
}

impl Multiplies for Exec<'_> {
    unsafe fn matmul(
        &self,
        (alpha, beta): (f64, f64),
        [a, b, c]: [&Tensor; 3],
        epilogue: &Epilogue<'_>,
    ) -> Result<(), String> {
        // SAFETY: as the caller's.
        let done = unsafe { tensor::matmul(self, alpha, a, b, beta, c, Some(epilogue)) };
        done.map_err(|error| error.to_string())
    }
}

/// Calls `f` with each seed, at every level with every extension, on so many threads.
pub fn each(threads: usize, seeds: Range<u64>, f: &dyn Fn(u64, &dyn Multiplies)) {
    for config in on_threads(threads) {
        config.run(None, |exec| seeds.clone().for_each(|seed| f(seed, exec)));
    }
}

/// Returns the sum of the products modulo 2^64.
pub fn integer_sum(row: &[i64], column: &[i64]) -> i64 {
    row.iter()
        .zip(column)
        .fold(0, |sum, (&x, &y)| i64::wrapping_add(sum, x.wrapping_mul(y)))
}

/// Returns the sum of products of widened 16-bit floats, in the canonical order: segments of 1024 steps, in blocks of 32
/// steps, of two chains each. A short block is padded with +0.
pub fn half_sum(row: &[f32], column: &[f32]) -> f32 {
    let mut sum = 0.0;
    for (row, column) in row.chunks(1024).zip(column.chunks(1024)) {
        let mut segment = 0.0;
        for (row, column) in row.chunks(32).zip(column.chunks(32)) {
            let mut chains = [0.0_f32; 2];
            for step in 0..32 {
                let (x, y) = match (row.get(step), column.get(step)) {
                    (Some(&x), Some(&y)) => (x, y),
                    _ => (0.0, 0.0),
                };
                let chain = &mut chains[step % 2];
                *chain = x.fused(y, *chain);
            }
            segment += chains[0] + chains[1];
        }
        sum += segment;
    }
    sum
}

/// What follows a sum, for one element of C.
#[derive(Clone, Copy, Debug)]
pub struct Then {
    /// The factor of the sum.
    pub alpha: f32,
    /// The factor of C.
    pub beta: f32,
    /// What is added.
    pub bias: Option<f32>,
    /// The bounds.
    pub clamp: Option<(f32, f32)>,
}

impl Then {
    /// Returns the element before it is rounded to the type of C; `sum` is `None` where nothing is summed.
    pub fn of(&self, sum: Option<f32>, old: f32) -> f32 {
        let (alpha, beta) = (self.alpha, self.beta);
        let mut v = match (sum, beta == 0.0) {
            (None, true) => 0.0,
            (None, false) => beta * old,
            (Some(sum), true) => alpha * sum,
            (Some(sum), false) => alpha.fused(sum, beta * old),
        };
        if let Some(bias) = self.bias {
            v += bias;
        }
        match self.clamp {
            Some((lo, hi)) => model::clamp(v, lo, hi),
            None => v,
        }
    }
}

/// A level, an extension or several, and a number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// CPU level.
    pub level: Level,
    /// Extensions.
    pub extensions: Extensions,
    /// Threads; 1 is the calling thread.
    pub threads: usize,
    /// Whether a row of a product is independent of its batch.
    pub batch_invariant: bool,
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "level {}", self.level.name())?;
        for (extension, name) in Extensions::ALL {
            if self.extensions.has(extension) {
                write!(f, " + {name}")?;
            }
        }
        write!(f, ", {} threads", self.threads)
    }
}

impl Config {
    /// Calls `f` with an `Exec` of this kind and, if there is one, the caller's scratch memory.
    pub fn run<R>(
        &self,
        workspace: Option<&mut [MaybeUninit<u8>]>,
        f: impl FnOnce(&Exec<'_>) -> R,
    ) -> R {
        let mut exec = Exec::new()
            .with_extensions(self.level, self.extensions)
            .expect("the machine has the level and the extensions");
        if self.batch_invariant {
            exec = exec.batch_invariant();
        }
        if let Some(workspace) = workspace {
            exec = exec.with_workspace(workspace);
        }
        if self.threads == 1 {
            f(&exec)
        } else {
            f(&exec.with_pool(&Scoped::new(self.threads), self.threads))
        }
    }
}

/// Returns the extensions of this machine. Models stand for AMX and AVX512-BF16 where it has them not, so that packing, the
/// condition of bf16 and the edges of tiles are tested everywhere; with DIPTYCH_TEST_MODELS=1 also where it has them.
fn with_models() -> Extensions {
    #[cfg(feature = "pool")]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            let [int8, bf16] = [Extensions::AMX_INT8, Extensions::AMX_BF16];
            let all = int8.and(bf16).and(Extensions::AVX512_BF16);
            let wanted = std::env::var_os("DIPTYCH_TEST_MODELS").is_some_and(|value| value == "1");
            let here = Extensions::of_this_machine();
            // The tiles have one model.
            let has_tiles = here.has(int8.and(bf16));
            let missing = match (wanted, has_tiles) {
                (true, _) => all,
                (false, true) => all.without(here),
                (false, false) => all.without(here.without(int8.and(bf16))),
            };
            diptych::backend::models::stand_in(missing);
        });
    }
    Extensions::of_this_machine()
}

/// Returns every level without extensions, with each extension of this machine, and with all of them, on `threads` threads.
pub fn on_threads(threads: usize) -> Vec<Config> {
    let here = with_models();
    let single = Extensions::ALL.map(|(extension, _)| extension);
    let mut sets = vec![Extensions::NONE];
    sets.extend(single.into_iter().filter(|&one| here.has(one)));
    if !sets.contains(&here) {
        sets.push(here);
    }
    let of_level = |&level| {
        sets.iter().map(move |&extensions| Config {
            level,
            extensions,
            threads,
            batch_invariant: false,
        })
    };
    levels().iter().flat_map(of_level).collect()
}

/// Returns the configurations of [`on_threads`] for one thread and for three.
pub fn all() -> Vec<Config> {
    [1, 3].into_iter().flat_map(on_threads).collect()
}
