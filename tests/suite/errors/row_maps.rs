//! Errors of maps over rows alone.

use diptych::{Error, Exec};
use diptych_tests::ops::row_maps;
use diptych_tests::raw::Result;
use diptych_tests::real::Dtype;

diptych_tests::per_dtype!(
    outputs_over_themselves_and_x,
    one_row_or_column_has_no_stride,
    strides_that_overflow,
);

fn refused(error: Error) -> Result<()> {
    Err(error.into())
}

/// Outputs whose elements share addresses, and such as are x with other strides.
fn outputs_over_themselves_and_x<T: Dtype>() {
    let (e, x) = (&Exec::new(), vec![T::one(); 64]);
    let overlap = refused(Error::Overlap { arg: "out" });
    for op in row_maps::<T>() {
        for (rs, cs) in [
            (0, 1),
            (1, 0),
            (0, 0),
            (1, 1),
            (3, 1),
            (-1, 1),
            (2, -1),
            (1, 2),
        ] {
            let mut out = vec![T::one(); 64];
            let (p, x) = (out.as_mut_ptr().wrapping_add(32), x.as_ptr());
            // SAFETY: the input has 64 elements; the output is refused.
            let status = unsafe { op.call(e, (3, 4), (x, 4, 1), (p, rs, cs)) };
            assert_eq!(status, overlap, "{} strides {rs} {cs}", op.name);
            // SAFETY: as above.
            let status = unsafe { op.call(e, (3, 4), (p, rs, cs), (p, rs, cs)) };
            assert_eq!(status, overlap, "{} in place, strides {rs} {cs}", op.name);
            assert!(out == [T::one(); 64], "{}: wrote something", op.name);
        }
        for (from, to) in [((4, 1), (1, 3)), ((1, 3), (4, 1)), ((-4, 1), (4, 1))] {
            let mut both = vec![T::one(); 64];
            let p = both.as_mut_ptr().wrapping_add(32);
            // SAFETY: all elements lie in the block.
            let status = unsafe { op.call(e, (3, 4), (p, from.0, from.1), (p, to.0, to.1)) };
            assert_eq!(status, overlap, "{} {from:?} to {to:?}", op.name);
        }
    }
}

fn one_row_or_column_has_no_stride<T: Dtype>() {
    let (e, x) = (&Exec::new(), [T::one(); 4]);
    for op in row_maps::<T>() {
        let mut out = [T::zero(); 4];
        let (x, p) = (x.as_ptr(), out.as_mut_ptr());
        // SAFETY: the stride of a dimension with one element is not used; the other stays within four elements.
        unsafe {
            op.call(e, (1, 4), (x, i64::MAX, 1), (p, 0, 1))
                .expect("one row");
            op.call(e, (4, 1), (x, 1, i64::MIN), (p, 1, 0))
                .expect("one column");
            op.call(e, (1, 1), (x, i64::MAX, i64::MIN), (p, 0, 0))
                .expect("one element");
        }
    }
}

fn strides_that_overflow<T: Dtype>() {
    let (e, x) = (&Exec::new(), [T::one(); 16]);
    for op in row_maps::<T>() {
        let mut out = [T::zero(); 16];
        let (x, p) = (x.as_ptr(), out.as_mut_ptr());
        for bad in [i64::MAX, i64::MIN, i64::MAX / 2, 1 << 62] {
            for [from, to] in [
                [(bad, 1), (4, 1)],
                [(4, bad), (4, 1)],
                [(4, 1), (bad, 1)],
                [(4, 1), (4, bad)],
            ] {
                // SAFETY: the call is refused.
                let status = unsafe { op.call(e, (3, 4), (x, from.0, from.1), (p, to.0, to.1)) };
                let is_overflow = matches!(
                    status,
                    Err(diptych_tests::raw::Error::Argument(
                        Error::SizeOverflow { .. }
                    ))
                );
                assert!(is_overflow, "{} {from:?} {to:?}: {status:?}", op.name);
            }
        }
        assert!(out == [T::zero(); 16], "{}: wrote something", op.name);
    }
}
