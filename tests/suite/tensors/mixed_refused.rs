//! Products of tensors of integers and of 16-bit floats that are refused.

use diptych::tensor::{self, Epilogue, Tensor};
use diptych::{Error, Exec, Result};

/// Type codes and bits of DLPack.
type Type = (u8, u8);
const BOOL: Type = (6, 8);
const I8: Type = (0, 8);
const I16: Type = (0, 16);
const I32: Type = (0, 32);
const I64: Type = (0, 64);
const U8: Type = (1, 8);
const U16: Type = (1, 16);
const U32: Type = (1, 32);
const U64: Type = (1, 64);
const F16: Type = (2, 16);
const F32: Type = (2, 32);
const F64: Type = (2, 64);
const BF16: Type = (4, 16);
const ALL: [Type; 13] = [
    BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64, BF16,
];

/// The types of the products.
const PRODUCTS: [[Type; 3]; 12] = [
    [I8, I8, I32],
    [I8, I8, F32],
    [U8, I8, I32],
    [U8, I8, F32],
    [I32; 3],
    [I64; 3],
    [F16; 3],
    [F16, F16, F32],
    [BF16; 3],
    [BF16, BF16, F32],
    [F32; 3],
    [F64; 3],
];

/// Memory for all tensors of a call.
struct Block([u64; 64]);

impl Block {
    /// A tensor from word `at` on.
    fn tensor(&mut self, at: usize, of: Type, shape: &'static [i64]) -> Tensor {
        Tensor {
            data: self.0.as_mut_ptr().wrapping_add(at).cast(),
            device_type: 1,
            device_id: 0,
            ndim: shape.len() as i32,
            dtype_code: of.0,
            dtype_bits: of.1,
            dtype_lanes: 1,
            shape: shape.as_ptr(),
            strides: std::ptr::null(),
            byte_offset: 0,
        }
    }
}

/// What a call does beside the product.
#[derive(Clone, Copy)]
struct Options {
    factors: (f64, f64),
    bias: Option<(Type, &'static [i64])>,
    row_scale: Option<(Type, &'static [i64])>,
    column_scale: Option<(Type, &'static [i64])>,
    clamp: Option<(f64, f64)>,
    device: i32,
}

const NONE: Options = Options {
    factors: (1.0, 0.0),
    bias: None,
    row_scale: None,
    column_scale: None,
    clamp: None,
    device: 1,
};

/// Multiplies a 2 by 3 and a 3 by 4 tensor; a call that is refused must not write.
fn call([a, b, c]: [Type; 3], options: Options) -> Result<()> {
    let mut block = Block([0; 64]);
    let (mut a, mut b, mut c) = (
        block.tensor(0, a, &[2, 3]),
        block.tensor(8, b, &[3, 4]),
        block.tensor(24, c, &[2, 4]),
    );
    for tensor in [&mut a, &mut b, &mut c] {
        tensor.device_type = options.device;
    }
    let mut optional =
        |at, of: Option<(Type, &'static [i64])>| of.map(|(of, shape)| block.tensor(at, of, shape));
    let (bias, row_scale, column_scale) = (
        optional(40, options.bias),
        optional(48, options.row_scale),
        optional(56, options.column_scale),
    );
    let epilogue = Epilogue {
        bias: bias.as_ref(),
        clamp: options.clamp,
        row_scale: row_scale.as_ref(),
        column_scale: column_scale.as_ref(),
    };
    let (alpha, beta) = options.factors;
    // SAFETY: all elements lie in the block, unless the call is refused.
    let result = unsafe { tensor::matmul(&Exec::new(), alpha, &a, &b, beta, &c, Some(&epilogue)) };
    // All elements are 0: so is a product, but not a bias.
    assert_eq!(block.0, [0; 64], "a refused call has written");
    result
}

/// Every combination of types is accepted or refused for the right reason.
#[test]
fn types() {
    for a in ALL {
        for b in ALL {
            for c in ALL {
                let result = call([a, b, c], NONE);
                let what = format!("{a:?} {b:?} {c:?}: {result:?}");
                if PRODUCTS.contains(&[a, b, c]) {
                    assert_eq!(result, Ok(()), "{what}");
                } else if !PRODUCTS.iter().any(|types| types[0] == a) {
                    let arg = "a";
                    assert_eq!(result, Err(Error::UnsupportedType { arg }), "{what}");
                } else {
                    let fits = |which: usize, of: Type| {
                        let mut products = PRODUCTS.iter();
                        products.any(|types| types[0] == a && types[which] == of)
                    };
                    let is_wrong = |arg| result == Err(Error::TypeMismatch { arg });
                    let of_b = is_wrong("b") && !fits(1, b);
                    let of_c = is_wrong("c") && !fits(2, c);
                    assert!(of_b || of_c, "{what}");
                }
            }
        }
    }
}

/// Sums that are stored as integers have no alpha, bias, clamp or scales, and a beta of 0 or 1.
#[test]
fn integers() {
    let row: &[i64] = &[4];
    for types in [[I8, I8, I32], [U8, I8, I32], [I32; 3], [I64; 3]] {
        for (alpha, beta) in [(1.0, 0.0), (1.0, -0.0), (1.0, 1.0)] {
            let factors = (alpha, beta);
            assert_eq!(call(types, Options { factors, ..NONE }), Ok(()));
        }
        let invalid = |arg| Err(Error::InvalidValue { arg });
        for alpha in [0.0, 2.0, -1.0, 1.0 + f64::EPSILON, f64::NAN] {
            let factors = (alpha, 0.0);
            assert_eq!(call(types, Options { factors, ..NONE }), invalid("alpha"));
        }
        for beta in [2.0, -1.0, 1e-300, f64::NAN] {
            let factors = (1.0, beta);
            assert_eq!(call(types, Options { factors, ..NONE }), invalid("beta"));
        }
        let clamp = Some((0.0, 1.0));
        assert_eq!(call(types, Options { clamp, ..NONE }), invalid("clamp"));
        for of in [F32, types[0], types[2]] {
            let bias = Some((of, row));
            assert_eq!(call(types, Options { bias, ..NONE }), invalid("bias"));
        }
        scales_are(types, Error::InvalidValue { arg: "" });
    }
}

/// Checks that scales of the right type and shape are refused with this error, which names them.
fn scales_are(types: [Type; 3], error: Error) {
    let named = |arg| match error {
        Error::InvalidValue { .. } => Err(Error::InvalidValue { arg }),
        other => Err(other),
    };
    let row_scale = Some((F32, &[2][..]));
    let column_scale = Some((F32, &[4][..]));
    assert_eq!(
        call(types, Options { row_scale, ..NONE }),
        named("row_scale")
    );
    let options = Options {
        column_scale,
        ..NONE
    };
    assert_eq!(call(types, options), named("column_scale"));
}

/// Scales are for bytes that become floats, are floats, and there is one for each row or column.
#[test]
fn scales() {
    for types in PRODUCTS {
        let takes_scales = [[I8, I8, F32], [U8, I8, F32]].contains(&types);
        if !takes_scales {
            scales_are(types, Error::InvalidValue { arg: "" });
            continue;
        }
        let with = |row_scale, column_scale| {
            let options = Options {
                row_scale,
                column_scale,
                ..NONE
            };
            call(types, options)
        };
        let (rows, columns): (&[i64], &[i64]) = (&[2], &[4]);
        assert_eq!(with(Some((F32, rows)), Some((F32, columns))), Ok(()));
        for of in ALL.into_iter().filter(|&of| of != F32) {
            let wrong = |arg| Err(Error::TypeMismatch { arg });
            assert_eq!(with(Some((of, rows)), None), wrong("row_scale"));
            assert_eq!(with(None, Some((of, columns))), wrong("column_scale"));
        }
        let wrong = |arg| Err(Error::ShapeMismatch { arg });
        let shapes: [&[i64]; 6] = [&[], &[1], &[3], &[2, 1], &[1, 4], &[4, 1]];
        for shape in shapes {
            assert_eq!(with(Some((F32, shape)), None), wrong("row_scale"));
            assert_eq!(with(None, Some((F32, shape))), wrong("column_scale"));
        }
        assert_eq!(with(Some((F32, columns)), None), wrong("row_scale"));
        assert_eq!(with(None, Some((F32, rows))), wrong("column_scale"));
    }
}

/// A bias has the type of `a` or `f32`, and the shape of a row or of a column.
#[test]
fn biases() {
    for types in PRODUCTS {
        if [I32, I64].contains(&types[2]) {
            continue;
        }
        let is_byte = [I8, U8].contains(&types[0]);
        let is_mixed = is_byte || [F16, BF16].contains(&types[0]);
        for of in ALL {
            for shape in [&[4][..], &[2, 1]] {
                let result = call(
                    types,
                    Options {
                        bias: Some((of, shape)),
                        ..NONE
                    },
                );
                let is_right = of == types[0] && !is_byte || of == F32 && is_mixed;
                let expected = if is_right {
                    Ok(())
                } else {
                    Err(Error::TypeMismatch { arg: "bias" })
                };
                assert_eq!(result, expected, "{types:?} {of:?}");
            }
        }
        let of = if is_byte { F32 } else { types[0] };
        for shape in [&[][..], &[1], &[2], &[1, 4], &[4, 1], &[2, 4]] {
            let bias = Some((of, shape));
            let wrong = Err(Error::ShapeMismatch { arg: "bias" });
            assert_eq!(call(types, Options { bias, ..NONE }), wrong);
        }
    }
}

/// Memory of a GPU is for `f32` and `f64` only, and is refused without a device.
#[test]
fn device_memory() {
    for types in PRODUCTS {
        let result = call(types, Options { device: 2, ..NONE });
        assert_eq!(result, Err(Error::Unsupported { arg: "a" }), "{types:?}");
    }
}

/// `c` must not overlap what is read.
#[test]
fn overlap() {
    let mut block = Block([0; 64]);
    let (a, b) = (block.tensor(0, I8, &[2, 3]), block.tensor(8, I8, &[3, 4]));
    let c = block.tensor(24, F32, &[2, 4]);
    let scales = (block.tensor(25, F32, &[2]), block.tensor(27, F32, &[4]));
    let bias = block.tensor(26, F32, &[4]);
    let none = Epilogue::default();
    let call = |a: &Tensor, b: &Tensor, epilogue: Epilogue<'_>| {
        // SAFETY: all elements lie in the block.
        unsafe { tensor::matmul(&Exec::new(), 1.0, a, b, 0.0, &c, Some(&epilogue)) }
    };
    let overlap = Err(Error::Overlap { arg: "c" });
    let inside = Tensor {
        byte_offset: 24 * 8 + 31,
        ..a
    };
    assert_eq!(call(&inside, &b, none), overlap);
    assert_eq!(
        call(
            &a,
            &Tensor {
                shape: b.shape,
                ..inside
            },
            none
        ),
        Err(Error::Overlap { arg: "c" })
    );
    let (row_scale, column_scale) = (Some(&scales.0), Some(&scales.1));
    assert_eq!(call(&a, &b, Epilogue { row_scale, ..none }), overlap);
    assert_eq!(
        call(
            &a,
            &b,
            Epilogue {
                column_scale,
                ..none
            }
        ),
        overlap
    );
    let bias = Some(&bias);
    assert_eq!(call(&a, &b, Epilogue { bias, ..none }), overlap);
    assert_eq!(block.0, [0; 64], "a refused call has written");
}
