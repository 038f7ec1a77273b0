//! A model of the 16-bit types that shares no code with the library: it computes the value of a bit pattern from the
//! pattern's fields, and rounds by searching all values. Also the table's operations on these types, for the suites.

use std::sync::OnceLock;

use diptych::{
    Exec, Result, Storage, bf16, f16, for_each_elementwise, for_each_reduction, raw, table,
};

use crate::ops::{MOST_INPUTS, Scalars};

/// A 16-bit type: a sign, an exponent and a fraction.
pub trait Half: Storage<Compute = f32> {
    /// Its name.
    const NAME: &'static str;
    /// Bits of the fraction.
    const FRACTION_BITS: u32;

    /// The number with this pattern.
    fn of_pattern(pattern: u16) -> Self;
    /// Its pattern.
    fn pattern(self) -> u16;

    /// The pattern of +infinity.
    fn infinity() -> u16 {
        0x7FFF >> Self::FRACTION_BITS << Self::FRACTION_BITS
    }

    /// Whether this pattern is that of a NaN.
    fn is_nan(pattern: u16) -> bool {
        pattern & 0x7FFF > Self::infinity()
    }
}

impl Half for f16 {
    const NAME: &'static str = "f16";
    const FRACTION_BITS: u32 = 10;

    fn of_pattern(pattern: u16) -> f16 {
        f16::from_bits(pattern)
    }
    fn pattern(self) -> u16 {
        self.to_bits()
    }
}

impl Half for bf16 {
    const NAME: &'static str = "bf16";
    const FRACTION_BITS: u32 = 7;

    fn of_pattern(pattern: u16) -> bf16 {
        bf16::from_bits(pattern)
    }
    fn pattern(self) -> u16 {
        self.to_bits()
    }
}

/// Returns the magnitude of a pattern that is not a NaN; for infinity, the next power of two above the greatest
/// finite number.
pub fn magnitude<H: Half>(pattern: u16) -> f64 {
    let pattern = i32::from(pattern & 0x7FFF);
    let (exponent, fraction) = (
        pattern >> H::FRACTION_BITS,
        pattern & ((1 << H::FRACTION_BITS) - 1),
    );
    let bias = i32::from(H::infinity() >> H::FRACTION_BITS) / 2;
    let (exponent, significand) = if exponent == 0 {
        (1, fraction)
    } else {
        (exponent, fraction + (1 << H::FRACTION_BITS))
    };
    f64::from(significand) * 2f64.powi(exponent - bias - H::FRACTION_BITS as i32)
}

/// Converts a pattern to `f32`; a NaN becomes any NaN.
pub fn widen<H: Half>(pattern: u16) -> f32 {
    let magnitude = match pattern & 0x7FFF {
        _ if H::is_nan(pattern) => f64::NAN,
        p if p == H::infinity() => f64::INFINITY,
        p => magnitudes::<H>()[usize::from(p)],
    };
    let sign = if pattern & 0x8000 == 0 { 1.0 } else { -1.0 };
    (sign * magnitude) as f32
}

/// Returns the magnitudes of all patterns up to that of infinity, computed once.
fn magnitudes<H: Half>() -> &'static [f64] {
    static MAGNITUDES: [OnceLock<Vec<f64>>; 2] = [const { OnceLock::new() }; 2];
    let cell = &MAGNITUDES[usize::from(H::FRACTION_BITS == f16::FRACTION_BITS)];
    cell.get_or_init(|| (0..=H::infinity()).map(magnitude::<H>).collect())
}

/// Rounds to the nearest pattern, ties to even; returns `None` for a NaN.
pub fn round<H: Half>(value: f32) -> Option<u16> {
    if value.is_nan() {
        return None;
    }
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let (all, wanted) = (magnitudes::<H>(), f64::from(value.abs()));
    let above = all.partition_point(|&magnitude| magnitude < wanted);
    let nearest = match above {
        0 => 0,
        _ if above == all.len() => all.len() - 1,
        _ => {
            let (down, up) = (wanted - all[above - 1], all[above] - wanted);
            let is_below = down < up || (down == up && above % 2 == 1);
            above - usize::from(is_below)
        }
    };
    Some(sign | nearest as u16)
}

/// An elementwise operation on a 16-bit type; it ignores the inputs and scalars that it does not have.
pub type Elementwise<H> =
    unsafe fn(&Exec<'_>, i64, [*const H; MOST_INPUTS], &Scalars<f32>, *mut H) -> Result<()>;

macro_rules! elementwise {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*))*) => {
        /// Returns all elementwise operations, in the order of the table.
        pub fn elementwise<H: Half>() -> [Elementwise<H>; table::ELEMENTWISE.len()] {
            [$(|exec, n, inputs, s, out| {
                #[allow(unused_mut, unused_variables)] // An operation may have no inputs or no scalars.
                let (mut inputs, s) = (inputs.into_iter(), s);
                // SAFETY: as the caller's.
                unsafe { raw::$name(exec, n, $(elementwise!(@argument $kind $role inputs s),)* out) }
            }),*]
        }
    };
    (@argument scalar $role:ident $inputs:ident $s:ident) => { $s.of(table::Role::$role) };
    (@argument array $role:ident $inputs:ident $s:ident) => {
        $inputs.next().expect("no more than MOST_INPUTS arrays")
    };
}
for_each_elementwise!(elementwise! {} [name arguments roles]);

/// A reduction of elements of the type `T` to `R`: of a vector, and of the rows of a matrix.
pub struct Reduction<T, R> {
    /// Its name.
    pub name: &'static str,
    /// Reduces n elements.
    pub one: unsafe fn(&Exec<'_>, i64, *const T, i64, *mut R) -> Result<()>,
    /// Reduces m rows of n elements.
    #[allow(clippy::type_complexity)]
    pub rows: unsafe fn(&Exec<'_>, i64, i64, *const T, i64, i64, *mut R, i64) -> Result<()>,
}

macro_rules! reductions {
    ({} $($name:ident $rows:ident [$($ddof:ident)?] $out:ident)*) => {
        /// Returns the reductions that have elements as results, in the order of the table.
        pub fn reductions<H: Half>() -> Vec<Reduction<H, H>> {
            [$(reductions!(@element $out $name $rows [$($ddof)?])),*].into_iter().flatten().collect()
        }

        /// Returns the reductions that have integers as results, in the order of the table.
        pub fn counts_and_indices<T: Storage>() -> Vec<Reduction<T, i64>> {
            [$(reductions!(@integer $out $name $rows [$($ddof)?])),*].into_iter().flatten().collect()
        }
    };
    (@element element $($row:tt)*) => { reductions!(@some $($row)*) };
    (@element $count_or_index:ident $($row:tt)*) => { None };
    (@integer element $($row:tt)*) => { None };
    (@integer $count_or_index:ident $($row:tt)*) => { reductions!(@some $($row)*) };
    (@some $name:ident $rows:ident [$($ddof:ident)?]) => {
        Some(Reduction {
            name: stringify!($name),
            one: |exec, n, x, inc, out| {
                $(let $ddof = 0;)?
                // SAFETY: as the caller's.
                unsafe { raw::$name(exec, n, x, inc, $($ddof,)? out) }
            },
            rows: |exec, m, n, x, rs, cs, out, inc| {
                $(let $ddof = 0;)?
                // SAFETY: as the caller's.
                unsafe { raw::$rows(exec, m, n, x, rs, cs, $($ddof,)? out, inc) }
            },
        })
    };
}
for_each_reduction!(reductions! {} [name rows ddof result]);

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with well-known values of the formats.
    #[test]
    fn the_model_knows_the_formats() {
        for (pattern, value) in [
            (0x0001, 5.960_464_5e-8),
            (0x0400, 6.103_515_6e-5),
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x7BFF, 65504.0),
            (0x7C00, f32::INFINITY),
        ] {
            assert_eq!(widen::<f16>(pattern), value);
            assert_eq!(round::<f16>(value), Some(pattern));
        }
        for (pattern, value) in [(0x0001, 9.183_55e-41), (0x3F80, 1.0), (0xC000, -2.0)] {
            assert_eq!(widen::<bf16>(pattern), value);
            assert_eq!(round::<bf16>(value), Some(pattern));
        }
        assert_eq!(round::<f16>(65519.996), Some(0x7BFF));
        assert_eq!(round::<f16>(65520.0), Some(0x7C00));
        assert_eq!(round::<bf16>(f32::MAX), Some(0x7F80));
        assert!(widen::<f16>(0xFC01).is_nan() && round::<bf16>(f32::NAN).is_none());
    }
}
