//! Arguments of reductions that are refused, and such as might be but are not.

use diptych::tensor::{self, Tensor};
use diptych::{Error, Exec, Result};

/// The status of `var` of a 2 by 3 tensor of f32, with these changes, which must write nothing if it is refused.
fn var(
    axes: Option<&[i32]>,
    ddof: i64,
    out_shape: &[i64],
    change: impl Fn(&mut Tensor, &mut Tensor),
) -> Result<()> {
    let mut block = [1.0_f32; 64];
    let mut x = Tensor {
        data: block.as_mut_ptr().cast(),
        device_type: 1,
        device_id: 0,
        ndim: 2,
        dtype_code: 2,
        dtype_bits: 32,
        dtype_lanes: 1,
        shape: [2, 3].as_ptr(),
        strides: std::ptr::null(),
        byte_offset: 0,
    };
    let mut out = Tensor {
        ndim: out_shape.len() as i32,
        shape: out_shape.as_ptr(),
        byte_offset: 128,
        ..x
    };
    change(&mut x, &mut out);
    // SAFETY: all elements lie in the block, unless the call is refused.
    let status = unsafe { tensor::var(&Exec::new(), &x, axes, ddof, &out) };
    assert!(
        status.is_ok() || block == [1.0; 64],
        "a refused call has written"
    );
    status
}

#[test]
fn axes_and_shapes_that_do_not_fit_are_refused() {
    let same = |_: &mut Tensor, _: &mut Tensor| {};
    let var = |axes: &[i32], shape: &[i64]| var(Some(axes), 0, shape, same);
    let (axes, shape) = (
        Err(Error::InvalidValue { arg: "axes" }),
        Err(Error::ShapeMismatch { arg: "out" }),
    );
    assert_eq!(var(&[0], &[3]), Ok(()));
    assert_eq!(var(&[-2], &[1, 3]), Ok(()));
    assert_eq!(var(&[], &[2, 3]), Ok(()));
    assert_eq!(var(&[1, -2], &[]), Ok(()));
    for bad in [
        &[2][..],
        &[-3],
        &[0, 0],
        &[1, -1],
        &[i32::MIN],
        &[i32::MAX],
        &[0, 1, 0],
    ] {
        assert_eq!(var(bad, &[]), axes, "{bad:?}");
    }
    for bad in [&[2][..], &[3, 1], &[1, 1, 3], &[1, 2], &[2, 3], &[]] {
        assert_eq!(var(&[0], bad), shape, "{bad:?}");
    }
    assert_eq!(var(&[0], &[-1]), Err(Error::NegativeSize { arg: "out" }));
}

#[test]
fn hostile_arguments_are_refused() {
    let change = |change: fn(&mut Tensor, &mut Tensor)| var(Some(&[0]), 0, &[3], change);
    let is = |result, error| assert_eq!(result, Err(error));
    for ddof in [-1, 2, i64::MIN, i64::MAX] {
        is(
            var(Some(&[0]), ddof, &[3], |_, _| {}),
            Error::InvalidValue { arg: "ddof" },
        );
        is(
            var(None, ddof.saturating_mul(3), &[], |_, _| {}),
            Error::InvalidValue { arg: "ddof" },
        );
    }
    let (x, out) = ("x", "out");
    is(change(|t, _| t.ndim = 65), Error::InvalidValue { arg: x });
    is(change(|t, _| t.ndim = -1), Error::InvalidValue { arg: x });
    is(
        change(|t, _| t.shape = std::ptr::null()),
        Error::NullPointer { arg: x },
    );
    is(
        change(|t, _| t.dtype_code = 0),
        Error::UnsupportedType { arg: x },
    );
    // The results of 16-bit floats have their type or f32: here 64 bits.
    is(
        change(|t, to| (t.dtype_code, t.dtype_bits, to.dtype_bits) = (4, 16, 64)),
        Error::TypeMismatch { arg: out },
    );
    is(
        change(|t, _| t.device_type = 2),
        Error::Unsupported { arg: x },
    );
    is(
        change(|_, t| t.device_type = 2),
        Error::Unsupported { arg: out },
    );
    is(
        change(|_, t| t.dtype_bits = 64),
        Error::TypeMismatch { arg: out },
    );
    is(
        change(|_, t| t.data = std::ptr::null_mut()),
        Error::NullPointer { arg: out },
    );
    is(
        change(|_, t| t.byte_offset = 2),
        Error::Misaligned { arg: out },
    );
    is(
        change(|_, t| t.byte_offset = 16),
        Error::Overlap { arg: out },
    );
    is(
        change(|_, t| t.strides = [0].as_ptr()),
        Error::Overlap { arg: out },
    );
    is(
        change(|t, _| t.shape = [i64::MAX, i64::MAX].as_ptr()),
        Error::SizeOverflow { arg: x },
    );
    is(
        change(|t, _| t.strides = [i64::MAX, i64::MIN].as_ptr()),
        Error::SizeOverflow { arg: x },
    );
    is(
        change(|t, _| t.shape = [0, 3].as_ptr()),
        Error::EmptyReduction { arg: "n" },
    );
    let none = |t: &mut Tensor, out: &mut Tensor| {
        t.shape = [0, 0].as_ptr();
        out.data = std::ptr::null_mut();
    };
    assert_eq!(var(Some(&[0]), 0, &[0], none), Ok(()));
}

#[test]
fn blocks_of_one_matrix_may_be_input_and_output() {
    // Columns 0 to 2 of a matrix of 8 columns into column 5.
    let columns = |t: &mut Tensor, out: &mut Tensor| {
        t.strides = [8, 1].as_ptr();
        out.strides = [8].as_ptr();
        out.byte_offset = 5 * 4;
    };
    assert_eq!(var(Some(&[1]), 0, &[2], columns), Ok(()));
    let overlapping = |t: &mut Tensor, out: &mut Tensor| {
        columns(t, out);
        out.byte_offset = 2 * 4;
    };
    assert_eq!(
        var(Some(&[1]), 0, &[2], overlapping),
        Err(Error::Overlap { arg: "out" })
    );
}
