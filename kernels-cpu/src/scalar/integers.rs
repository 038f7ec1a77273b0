//! What each elementwise operation does to one integer: arithmetic modulo 2^bits, in two's complement.

/// A type of integers, with arithmetic that wraps.
pub trait Wrapping: Copy + Ord {
    /// 0.
    const ZERO: Self;

    /// self + other.
    fn plus(self, other: Self) -> Self;

    /// self - other.
    fn minus(self, other: Self) -> Self;

    /// self * other.
    fn times(self, other: Self) -> Self;

    /// |self|; the least number of a signed type stays as it is.
    fn magnitude(self) -> Self;
}

macro_rules! wrapping {
    ($($T:ident $magnitude:expr;)*) => {$(
        impl Wrapping for $T {
            const ZERO: Self = 0;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                let magnitude: fn(Self) -> Self = $magnitude;
                magnitude(self)
            }
        }
    )*};
}
wrapping! { i8 Self::wrapping_abs; i32 Self::wrapping_abs; i64 Self::wrapping_abs; u8 |x| x; }

/// x limited to lo..hi; lo > hi gives hi.
#[inline(always)]
pub fn clamp<T: Wrapping>(x: T, lo: T, hi: T) -> T {
    x.max(lo).min(hi)
}

/// The gradient of clamp: grad where lo <= x <= hi, else 0.
#[inline(always)]
pub fn clamp_backward<T: Wrapping>(x: T, grad: T, lo: T, hi: T) -> T {
    if (lo <= x) & (x <= hi) { grad } else { T::ZERO }
}

/// x + y.
#[inline(always)]
pub fn add<T: Wrapping>(x: T, y: T) -> T {
    x.plus(y)
}

/// x - y.
#[inline(always)]
pub fn sub<T: Wrapping>(x: T, y: T) -> T {
    x.minus(y)
}

/// x * y.
#[inline(always)]
pub fn mul<T: Wrapping>(x: T, y: T) -> T {
    x.times(y)
}

/// alpha * x.
#[inline(always)]
pub fn scale<T: Wrapping>(alpha: T, x: T) -> T {
    alpha.times(x)
}

/// alpha * x + y.
#[inline(always)]
pub fn axpy<T: Wrapping>(alpha: T, x: T, y: T) -> T {
    alpha.times(x).plus(y)
}

/// x * x.
#[inline(always)]
pub fn square<T: Wrapping>(x: T) -> T {
    x.times(x)
}

/// |x|.
#[inline(always)]
pub fn abs<T: Wrapping>(x: T) -> T {
    x.magnitude()
}

/// -x.
#[inline(always)]
pub fn neg<T: Wrapping>(x: T) -> T {
    T::ZERO.minus(x)
}

/// Returns `value`.
#[inline(always)]
pub fn fill<T: Wrapping>(value: T) -> T {
    value
}

/// The smaller of x and y.
#[inline(always)]
pub fn minimum<T: Wrapping>(x: T, y: T) -> T {
    x.min(y)
}

/// The larger of x and y.
#[inline(always)]
pub fn maximum<T: Wrapping>(x: T, y: T) -> T {
    x.max(y)
}
