//! Arguments of products and gradients that are refused.

use diptych::tensor::{self, Epilogue, Tensor};
use diptych::{Error, Exec, Result};

/// A tensor of `f32` in a block.
fn float(p: *mut f32, shape: &[i64], strides: &[i64]) -> Tensor {
    Tensor {
        data: p.cast(),
        device_type: 1,
        device_id: 0,
        ndim: shape.len() as i32,
        dtype_code: 2,
        dtype_bits: 32,
        dtype_lanes: 1,
        shape: shape.as_ptr(),
        strides: strides.as_ptr(),
        byte_offset: 0,
    }
}

#[test]
fn refusals_of_products() {
    let mut block = [1.0_f32; 256];
    let p = block.as_mut_ptr();
    let at = |i: usize| p.wrapping_add(i);
    let wrong = |arg| Err(Error::ShapeMismatch { arg });
    let matmul = |a: Tensor, b: Tensor, c: Tensor, bias: Option<Tensor>| -> Result<()> {
        let epilogue = Epilogue {
            bias: bias.as_ref(),
            ..Epilogue::default()
        };
        let epilogue = bias.is_some().then_some(&epilogue);
        // SAFETY: all elements lie in the block, unless the call is refused.
        unsafe { tensor::matmul(&Exec::new(), 1.0, &a, &b, 0.0, &c, epilogue) }
    };
    let square: (&[i64], &[i64]) = (&[2, 2], &[2, 1]);
    let (a, b) = (
        float(at(0), square.0, square.1),
        float(at(8), square.0, square.1),
    );
    let c = float(at(16), square.0, square.1);
    let row = float(at(24), &[1, 2], &[2, 1]);
    let cube = float(at(32), &[3, 2, 2], &[4, 2, 1]);
    let cube_out = float(at(64), &[3, 2, 2], &[4, 2, 1]);
    assert_eq!(matmul(a, row, c, None), wrong("b"));
    assert_eq!(matmul(row, a, c, None), wrong("c"));
    assert_eq!(matmul(a, b, cube_out, None), wrong("c"));
    assert_eq!(matmul(cube, b, c, None), wrong("c"));
    assert_eq!(
        matmul(cube, float(at(100), &[2, 2, 2], &[4, 2, 1]), cube_out, None),
        wrong("b")
    );
    assert_eq!(matmul(float(at(0), &[], &[]), b, c, None), wrong("a"));
    assert_eq!(matmul(a, b, c, Some(cube)), wrong("bias"));
    let overlap = Err(Error::Overlap { arg: "c" });
    assert_eq!(
        matmul(a, b, float(at(3), square.0, square.1), None),
        overlap
    );
    assert_eq!(matmul(a, b, c, Some(float(at(17), &[2], &[1]))), overlap);
    assert_eq!(
        matmul(a, b, float(at(16), square.0, &[0, 1]), None),
        overlap
    );
    assert_eq!(
        matmul(cube, b, float(at(64), &[3, 2, 2], &[1, 2, 1]), None),
        overlap
    );
    let other = Tensor {
        dtype_bits: 64,
        ..b
    };
    assert_eq!(
        matmul(a, other, c, None),
        Err(Error::TypeMismatch { arg: "b" })
    );
    let arg = "a";
    let short = Tensor {
        dtype_code: 0,
        dtype_bits: 16,
        ..a
    };
    assert_eq!(
        matmul(short, b, c, None),
        Err(Error::UnsupportedType { arg })
    );
    assert_eq!(
        matmul(Tensor { ndim: -1, ..a }, b, c, None),
        Err(Error::InvalidValue { arg })
    );
    assert_eq!(
        matmul(float(at(0), &[-2, 2], &[2, 1]), b, c, None),
        Err(Error::NegativeSize { arg })
    );
    let huge = float(at(0), &[2, 2], &[i64::MAX, 1]);
    assert_eq!(matmul(huge, b, c, None), Err(Error::SizeOverflow { arg }));
    let null = float(std::ptr::null_mut(), &[2, 2], &[2, 1]);
    assert_eq!(matmul(null, b, c, None), Err(Error::NullPointer { arg }));
    assert_eq!(
        matmul(
            Tensor {
                byte_offset: 2,
                ..a
            },
            b,
            c,
            None
        ),
        Err(Error::Misaligned { arg })
    );

    let vector = |i, n: &'static [i64; 1]| float(at(i), n, &[1]);
    let (two, three) = (&[2], &[3]);
    let exec = &Exec::new();
    // SAFETY: as above.
    let (outer, ger, dot, mse, lsq) = unsafe {
        (
            |x, y, out| tensor::outer(exec, &x, &y, &out),
            |x, y, a| tensor::ger(exec, 1.0, &x, &y, &a),
            |x, y, out| tensor::dot(exec, &x, &y, &out),
            |x, y, grad, loss| tensor::mse_grad(exec, &x, &y, &grad, &loss),
            |a, x, y, grad| tensor::lsq_grad(exec, &a, &x, &y, &grad),
        )
    };
    let overlaps = |arg| Err(Error::Overlap { arg });
    assert_eq!(outer(a, vector(8, two), c), wrong("x"));
    assert_eq!(outer(vector(0, three), vector(8, two), c), wrong("out"));
    assert_eq!(outer(vector(17, two), vector(8, two), c), overlaps("out"));
    assert_eq!(ger(vector(0, two), vector(8, three), c), wrong("a"));
    assert_eq!(ger(vector(0, two), vector(18, two), c), overlaps("a"));
    let number = |i| float(at(i), &[], &[]);
    assert_eq!(dot(number(0), vector(8, two), number(16)), wrong("x"));
    assert_eq!(
        dot(vector(0, three), vector(8, two), number(16)),
        wrong("y")
    );
    assert_eq!(
        dot(vector(0, two), vector(8, two), vector(16, two)),
        wrong("out")
    );
    assert_eq!(
        dot(vector(0, two), vector(8, two), number(9)),
        overlaps("out")
    );
    assert_eq!(mse(a, vector(8, two), c, number(24)), wrong("target"));
    assert_eq!(mse(a, b, vector(16, two), number(24)), wrong("grad"));
    assert_eq!(mse(a, b, c, vector(24, two)), wrong("loss"));
    assert_eq!(
        mse(a, b, float(at(1), square.0, square.1), number(24)),
        overlaps("grad")
    );
    assert_eq!(mse(a, b, c, number(18)), overlaps("loss"));
    assert_eq!(
        lsq(a, vector(8, three), vector(12, two), vector(16, two)),
        wrong("x")
    );
    assert_eq!(
        lsq(a, vector(8, two), vector(12, three), vector(16, two)),
        wrong("y")
    );
    assert_eq!(
        lsq(a, vector(8, two), vector(12, two), vector(16, three)),
        wrong("grad")
    );
    assert_eq!(
        lsq(a, vector(8, two), vector(12, two), vector(13, two)),
        overlaps("grad")
    );
    assert_eq!(
        lsq(cube, vector(8, two), vector(12, two), vector(16, two)),
        wrong("a")
    );
    assert!(
        block.iter().all(|&x| x == 1.0),
        "a refused call has written"
    );
}

#[test]
fn an_offset_is_no_address() {
    // The short ways of few axes and contiguous vectors, and the general ones.
    let mut block = [1.0_f32; 64];
    let p = block.as_mut_ptr();
    let number = |i: usize, shape: &[i64], strides: &[i64]| Tensor {
        data: std::ptr::null_mut(),
        byte_offset: p.wrapping_add(i).addr() as u64,
        ..float(p, shape, strides)
    };
    let at = |i: usize, shape: &[i64], strides: &[i64]| float(p.wrapping_add(i), shape, strides);
    let exec = &Exec::new();
    let null = |arg| Err(Error::NullPointer { arg });
    for stride in [1, 2] {
        let (steps, step) = (&[4, stride], &[stride]);
        let (a, x, y) = (
            at(0, &[2, 2], steps),
            at(16, &[2], step),
            at(24, &[2], step),
        );
        let nowhere = (number(0, &[2, 2], steps), number(16, &[2], step));
        let (c, z) = (at(32, &[2, 2], steps), at(48, &[2], step));
        // SAFETY: all elements lie in the block.
        unsafe {
            let result = tensor::matmul(exec, 1.0, &nowhere.0, &a, 0.0, &c, None);
            assert_eq!(result, null("a"));
            assert_eq!(tensor::outer(exec, &nowhere.1, &y, &c), null("x"));
            assert_eq!(
                tensor::dot(exec, &nowhere.1, &y, &at(60, &[], &[])),
                null("x")
            );
            assert_eq!(tensor::lsq_grad(exec, &a, &nowhere.1, &y, &z), null("x"));
            assert_eq!(tensor::lsq_grad(exec, &a, &x, &y, &nowhere.1), null("grad"));
        }
    }
    assert!(block.iter().all(|&x| x == 1.0));
}
