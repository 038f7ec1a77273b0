//! For every function with two or more sizes, every pair of sizes whose product overflows an `i64` is refused. The
//! strides are those of matrices without gaps.

use diptych::raw::{self, RawEpilogue};
use diptych::{BiasKind, Error, Exec, Result, for_each_reduction, for_each_row_map};
use diptych_tests::real::Dtype;

diptych_tests::per_dtype!(products_that_overflow);

/// Calls a function with the sizes m, n, k and batch; it ignores those that it does not have.
type Call<T> = fn(&Exec<'_>, [i64; 4], *const T, *mut T) -> Result<()>;

/// A function, and the pairs of its sizes that are multiplied, as indices into (m, n, k, batch).
struct Function<T> {
    name: &'static str,
    pairs: &'static [(usize, usize)],
    call: Call<T>,
}

/// Returns the stride between lines of `size` elements, at least 1.
fn line(size: i64) -> i64 {
    size.max(1)
}

macro_rules! functions {
    ($($name:ident $pairs:expr, |$e:ident, $m:ident, $n:ident, $k:ident, $batch:ident, $x:ident, $p:ident| $call:expr;)*) => {
        vec![$(Function {
            name: stringify!($name),
            pairs: &$pairs,
            call: |$e, [$m, $n, $k, $batch], $x, $p| {
                let _ = ($k, $batch);
                // SAFETY: the functions must refuse these calls, and read and write nothing.
                unsafe { $call }
            },
        },)*]
    };
}

fn functions<T: Dtype>() -> Vec<Function<T>> {
    let mut all = functions! {
        outer [(0, 1)], |e, m, n, k, batch, x, p| raw::outer(e, m, n, x, 1, x, 1, p, line(n), 1);
        ger [(0, 1)], |e, m, n, k, batch, x, p| raw::ger(e, m, n, T::one(), x, 1, x, 1, p, line(n), 1);
        gemm [(0, 1), (0, 2), (1, 2)], |e, m, n, k, batch, x, p| {
            raw::gemm(e, m, n, k, T::one(), x, line(k), 1, x, line(n), 1, T::zero(), p, line(n), 1)
        };
        gemm_fused [(0, 1), (0, 2), (1, 2)], |e, m, n, k, batch, x, p| {
            let none = RawEpilogue { bias: core::ptr::null(), bias_inc: 1, bias_kind: BiasKind::None, clamp: None };
            raw::gemm_fused(e, m, n, k, T::one(), x, line(k), 1, x, line(n), 1, T::zero(), p, line(n), 1, &none)
        };
        gemm_batched [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)], |e, m, n, k, batch, x, p| {
            let area = |a: i64, b: i64| a.saturating_mul(b);
            raw::gemm_batched(e, m, n, k, T::one(), x, line(k), 1, x, line(n), 1, T::zero(), p, line(n), 1,
                batch, area(m, k), area(k, n), area(m, n))
        };
        lsq_grad [(0, 1)], |e, m, n, k, batch, x, p| raw::lsq_grad(e, m, n, x, line(n), 1, x, x, p);
    };
    macro_rules! rows {
        ({} $($rows:ident [$($ddof:ident)?] $out:ident)*) => {
            functions! { $(
                $rows [(0, 1)], |e, m, n, k, batch, x, p| {
                    raw::$rows(e, m, n, x, line(n), 1, $(rows!(@none $ddof),)? rows!(@$out p), 1)
                };
            )* }
        };
        (@none $ddof:ident) => { 0 };
        (@element $p:ident) => { $p };
        (@count $p:ident) => { <*mut T>::cast($p) };
        (@index $p:ident) => { <*mut T>::cast($p) };
    }
    all.extend(for_each_reduction!(rows! {} [rows ddof result]));
    macro_rules! maps {
        ({} $($name:ident)*) => {
            functions! { $(
                $name [(0, 1)], |e, m, n, k, batch, x, p| raw::$name(e, m, n, x, line(n), 1, p, line(n), 1);
            )* }
        };
    }
    all.extend(for_each_row_map!(maps! {}[name]));
    all
}

fn products_that_overflow<T: Dtype>() {
    // Nothing is accessed at these addresses; they are so far apart that arrays that fit between them do not overlap.
    let (x, p) = ((1usize << 20) as *const T, (1usize << 62) as *mut T);
    let e = &Exec::new();
    let mut refused = 0;
    for function in functions::<T>() {
        for &(first, second) in function.pairs {
            for one in [
                1i64 << 32,
                1 << 33,
                1 << 40,
                1 << 62,
                i64::MAX / 3,
                i64::MAX - 1,
                i64::MAX,
            ] {
                for other in [1i64 << 31, (1 << 32) + 1, 1 << 40, i64::MAX / 2, i64::MAX] {
                    if one.checked_mul(other).is_some() {
                        continue;
                    }
                    for (a, b) in [(one, other), (other, one)] {
                        let mut sizes = [2; 4];
                        (sizes[first], sizes[second]) = (a, b);
                        let status = (function.call)(e, sizes, x, p);
                        assert!(
                            matches!(status, Err(Error::SizeOverflow { .. })),
                            "{} {} with m, n, k, batch = {sizes:?}: {status:?}",
                            function.name,
                            T::DTYPE
                        );
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 1000, "only {refused} calls");
}

/// Every function with two or more sizes is in the list above.
#[test]
fn every_function_of_two_sizes_is_here() {
    let here: Vec<_> = functions::<f32>()
        .iter()
        .map(|function| function.name)
        .collect();
    for call in super::calls::calls::<f32>() {
        assert!(
            call.sizes.len() < 2 || here.contains(&call.name),
            "{} takes {:?}, and is not in tests/suite/errors/overflow.rs",
            call.name,
            call.sizes
        );
    }
}
