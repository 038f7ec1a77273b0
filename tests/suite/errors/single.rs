//! Errors that only some functions have: outputs that overlap themselves, strides that overflow, ddof, biases.

use core::ptr;

use diptych::raw::{self, RawEpilogue};
use diptych::{BiasKind, Error, Exec, Result};
use diptych_tests::real::Dtype;

diptych_tests::per_dtype!(
    outputs_over_themselves,
    one_row_or_column_has_no_stride,
    strides_that_overflow,
    degrees_of_freedom,
    bias_of_gemm_fused,
    what_is_not_read_may_be_null,
    strides_that_mean_nothing,
    interleaved_blocks_are_no_overlap,
);

/// Calls `f` with a pointer into a block of memory. It must fail with `error` and write nothing.
fn refused<T: Dtype>(what: &str, error: Error, f: impl Fn(*mut T) -> Result<()>) {
    let mut memory: Vec<T> = (0..256).map(|i| T::of(f64::from(i))).collect();
    let before = memory.clone();
    let status = f(memory.as_mut_ptr().wrapping_add(128));
    assert_eq!(status, Err(error), "{what} {}", T::DTYPE);
    assert!(memory == before, "{what} {}: wrote something", T::DTYPE);
}

fn inputs<T: Dtype>() -> Vec<T> {
    vec![T::one(); 64]
}

fn outputs_over_themselves<T: Dtype>() {
    let (e, x) = (&Exec::new(), inputs::<T>());
    let (x, one) = (x.as_ptr(), T::one());
    // Strides for which two of the 3 x 4 elements share an address.
    for (rs, cs) in [
        (0, 1),
        (1, 0),
        (0, 0),
        (1, 1),
        (3, 1),
        (-1, 1),
        (2, -1),
        (1, 2),
        (-4, 2),
    ] {
        let out = Error::Overlap { arg: "out" };
        let what = format!("strides {rs} {cs}");
        // SAFETY: the inputs have 64 elements; the outputs are refused.
        unsafe {
            refused(&what, out, |p: *mut T| {
                raw::outer(e, 3, 4, x, 1, x, 1, p, rs, cs)
            });
            refused(&what, Error::Overlap { arg: "a" }, |p: *mut T| {
                raw::ger(e, 3, 4, one, x, 1, x, 1, p, rs, cs)
            });
            refused(&what, Error::Overlap { arg: "c" }, |p: *mut T| {
                raw::gemm(e, 3, 4, 2, one, x, 2, 1, x, 4, 1, one, p, rs, cs)
            });
        }
    }
    for c_bs in [0, 1, 11, -5] {
        // SAFETY: as above.
        refused(
            &format!("batch stride {c_bs}"),
            Error::Overlap { arg: "c" },
            |p: *mut T| unsafe {
                raw::gemm_batched(
                    e, 3, 4, 2, one, x, 2, 1, x, 4, 1, one, p, 4, 1, 2, 0, 0, c_bs,
                )
            },
        );
    }
    // SAFETY: as above.
    refused(
        "inc_out 0",
        Error::Overlap { arg: "out" },
        |p: *mut T| unsafe { raw::sum_rows(e, 3, 4, x, 4, 1, p, 0) },
    );
}

fn one_row_or_column_has_no_stride<T: Dtype>() {
    let (e, x, one) = (&Exec::new(), inputs::<T>(), T::one());
    let mut out = vec![T::zero(); 4];
    let (x, p) = (x.as_ptr(), out.as_mut_ptr());
    // SAFETY: the strides of dimensions with one element are not used; the others stay within four elements.
    unsafe {
        raw::outer(e, 1, 4, x, i64::MAX, x, 1, p, 0, 1).expect("one row");
        raw::outer(e, 4, 1, x, 1, x, i64::MIN, p, 1, 0).expect("one column");
        raw::gemm(
            e,
            1,
            1,
            4,
            one,
            x,
            i64::MAX,
            1,
            x,
            1,
            i64::MIN,
            one,
            p,
            0,
            0,
        )
        .expect("one element");
        raw::sum_rows(e, 1, 4, x, i64::MAX, 1, p, 0).expect("one row");
        raw::sum(e, 1, x, i64::MAX, p).expect("one element");
    }
}

fn strides_that_overflow<T: Dtype>() {
    let (e, x, one) = (&Exec::new(), inputs::<T>(), T::one());
    let x = x.as_ptr();
    for stride in [i64::MAX, i64::MIN, i64::MAX / 4, i64::MIN / 4, 1 << 61] {
        let what = format!("stride {stride}");
        // SAFETY: the outputs are large enough; the calls are refused because of the strides.
        unsafe {
            let wrong = Error::SizeOverflow { arg: "x" };
            refused(&what, wrong, |p: *mut T| raw::sum(e, 4, x, stride, p));
            refused(&what, wrong, |p: *mut T| {
                raw::sum_rows(e, 3, 4, x, stride, 1, p, 1)
            });
            refused(&what, wrong, |p: *mut T| raw::dot(e, 4, x, stride, x, 1, p));
            refused(&what, wrong, |p: *mut T| {
                raw::outer(e, 3, 4, x, stride, x, 1, p, 4, 1)
            });
            let wrong = Error::SizeOverflow { arg: "c" };
            refused(&what, wrong, |p: *mut T| {
                raw::gemm(e, 3, 4, 2, one, x, 2, 1, x, 4, 1, one, p, stride, 1)
            });
            let wrong = Error::SizeOverflow { arg: "b" };
            refused(&what, wrong, |p: *mut T| {
                raw::gemm(e, 3, 4, 2, one, x, 2, 1, x, 4, stride, one, p, 4, 1)
            });
            let wrong = Error::SizeOverflow { arg: "a" };
            refused(&what, wrong, |p: *mut T| {
                raw::lsq_grad(e, 3, 4, x, 4, stride, x, x, p)
            });
        }
    }
}

fn degrees_of_freedom<T: Dtype>() {
    let (e, x) = (&Exec::new(), inputs::<T>());
    let x = x.as_ptr();
    for ddof in [-1, 4, 5, i64::MAX, i64::MIN] {
        let wrong = Error::InvalidValue { arg: "ddof" };
        // SAFETY: x has 64 elements, and the outputs are large enough.
        unsafe {
            refused(&format!("ddof {ddof}"), wrong, |p: *mut T| {
                raw::var(e, 4, x, 1, ddof, p)
            });
            refused(&format!("ddof {ddof}"), wrong, |p: *mut T| {
                raw::var_rows(e, 3, 4, x, 4, 1, ddof, p, 1)
            });
        }
    }
    let mut out = T::one();
    // SAFETY: as above.
    unsafe { raw::var(e, 4, x, 1, 3, &mut out) }.expect("three degrees of four elements");
    assert_eq!(out.wide(), 0.0);
}

fn bias_of_gemm_fused<T: Dtype>() {
    let (e, x, one) = (&Exec::new(), inputs::<T>(), T::one());
    let (xp, tail) = (x.as_ptr(), x.as_ptr().wrapping_byte_add(1));
    let call = |p: *mut T, bias, bias_inc, bias_kind| {
        let epilogue = RawEpilogue {
            bias,
            bias_inc,
            bias_kind,
            clamp: None,
        };
        // SAFETY: the operands have 64 elements, C has room for 3 x 4.
        unsafe { raw::gemm_fused(e, 3, 4, 2, one, xp, 2, 1, xp, 4, 1, one, p, 4, 1, &epilogue) }
    };
    for kind in [BiasKind::PerRow, BiasKind::PerColumn] {
        refused(
            "bias null",
            Error::NullPointer { arg: "bias" },
            |p: *mut T| call(p, ptr::null(), 1, kind),
        );
        refused(
            "bias misaligned",
            Error::Misaligned { arg: "bias" },
            |p: *mut T| call(p, tail, 1, kind),
        );
        refused(
            "bias strides",
            Error::SizeOverflow { arg: "bias" },
            |p: *mut T| call(p, xp, i64::MAX / 2, kind),
        );
        refused("bias in C", Error::Overlap { arg: "c" }, |p: *mut T| {
            call(p, p.wrapping_add(3), 1, kind)
        });
        refused("bias in C", Error::Overlap { arg: "c" }, |p: *mut T| {
            call(p, p.wrapping_add(14), -2, kind)
        });
    }
    let mut c = vec![T::zero(); 12];
    call(c.as_mut_ptr(), ptr::null(), 0, BiasKind::None).expect("no bias, no pointer");
}

fn what_is_not_read_may_be_null<T: Dtype>() {
    let e = &Exec::new();
    let (zero, one, null) = (T::zero(), T::one(), ptr::null::<T>());
    let mut c = vec![one; 12];
    let p = c.as_mut_ptr();
    // SAFETY: alpha = 0 and k = 0 read neither A nor B; C has room for 3 x 4.
    unsafe {
        raw::gemm(e, 3, 4, 2, zero, null, 2, 1, null, 4, 1, one, p, 4, 1).expect("alpha = 0");
        raw::gemm(e, 3, 4, 0, one, null, 2, 1, null, 4, 1, one, p, 4, 1).expect("k = 0");
    }
    assert!(c.iter().all(|&v| v == one));
    let mut_null = ptr::null_mut::<T>();
    // One size is 0 and the other is not: contiguous, strided, and in both orientations.
    for (m, n) in [(0, 5), (5, 0), (0, 1 << 40)] {
        for inc in [1, 3] {
            for (rs, cs) in [(n, 1), (1, m), (7, 3)] {
                // SAFETY: there are no elements.
                unsafe {
                    raw::outer(e, m, n, null, inc, null, inc, mut_null, rs, cs).expect("outer");
                    raw::ger(e, m, n, one, null, inc, null, inc, mut_null, rs, cs).expect("ger");
                    raw::gemm(
                        e, m, n, 4, one, null, 4, 1, null, n, 1, one, mut_null, rs, cs,
                    )
                    .expect("gemm");
                }
            }
        }
    }
}

/// The strides of operands that are not read, and of dimensions with one element, are ignored, however large.
fn strides_that_mean_nothing<T: Dtype>() {
    let e = &Exec::new();
    let (one, null, huge) = (T::one(), ptr::null::<T>(), i64::MAX);
    let x = [one; 64];
    let mut c = [one; 60];
    let (x, p) = (x.as_ptr(), c.as_mut_ptr());
    // SAFETY: x has 64 elements, c has 60; the dimensions with huge strides have at most one element.
    unsafe {
        raw::gemm(
            e, 20, 3, 0, one, null, huge, huge, null, huge, huge, one, p, 3, 1,
        )
        .expect("k = 0");
        raw::gemm(
            e, 20, 1, 0, one, null, huge, huge, null, huge, huge, one, p, 1, huge,
        )
        .expect("k = 0, n = 1");
        raw::gemm_batched(
            e, 4, 5, 0, one, null, huge, huge, null, huge, huge, one, p, 5, 1, 3, huge, huge, 20,
        )
        .expect("k = 0, batched");
        raw::gemm(e, 4, 5, 1, one, x, 1, huge, x, huge, 1, one, p, 5, 1).expect("k = 1");
        raw::outer(e, 1, 4, x, huge, x, 1, p, huge, 1).expect("one row");
        raw::sum_rows(e, 4, 0, null, huge, huge, p, 1).expect("rows of nothing");
        raw::logsumexp_rows(e, 4, 1, x, 1, huge, p, 1).expect("rows of one");
        raw::sum(e, 1, x, huge, p).expect("a vector of one");
        raw::lsq_grad(e, 1, 4, x, huge, 1, x, x, p).expect("one row");
    }
}

/// Operands that are different blocks of columns of one matrix: their addresses interleave, but they do not overlap.
fn interleaved_blocks_are_no_overlap<T: Dtype>() {
    let (e, one) = (&Exec::new(), T::one());
    let mut memory = vec![one; 8 * 12];
    let p = memory.as_mut_ptr();
    // SAFETY: three blocks of four columns of an 8 x 12 matrix.
    unsafe {
        let (a, b, c) = (p.cast_const(), p.add(4).cast_const(), p.add(8));
        raw::gemm(e, 4, 4, 4, one, a, 12, 1, b, 12, 1, T::zero(), c, 12, 1)
            .expect("disjoint blocks");
        raw::outer(e, 8, 4, a, 12, b, 1, c, 12, 1).expect("a column and a row next to the block");
        raw::sum_rows(e, 8, 4, a, 12, 1, p.add(5), 12).expect("into a column next to the block");
    }
    assert!((0..8).all(|i| memory[12 * i + 5].wide() == 4.0 && memory[12 * i + 9].wide() == 1.0));
}
