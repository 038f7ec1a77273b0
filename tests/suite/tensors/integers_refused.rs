//! What operations over tensors of integers refuse, and the values that matter.

use diptych::tensor::{self, Tensor};
use diptych::{Error, Exec, Result, for_each_elementwise, for_each_reduction, if_optional};
use diptych_tests::mixed::Number;

const UNSUPPORTED: fn(&'static str) -> Result<()> = |arg| Err(Error::UnsupportedType { arg });
const MISMATCH: fn(&'static str) -> Result<()> = |arg| Err(Error::TypeMismatch { arg });

/// A vector of the elements; a number if `ndim` is 0.
fn tensor<T: Number>(elements: &mut [T], ndim: i32) -> Tensor {
    static LENGTHS: [i64; 9] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
    let (dtype_code, dtype_bits) = T::DLPACK;
    Tensor {
        data: elements.as_mut_ptr().cast(),
        device_type: 1,
        device_id: 0,
        ndim,
        dtype_code,
        dtype_bits,
        dtype_lanes: 1,
        shape: &raw const LENGTHS[elements.len()],
        strides: std::ptr::null(),
        byte_offset: 0,
    }
}

/// The status of an elementwise operation, by its name, whose inputs are all `x`.
fn elementwise(name: &str, x: &Tensor, out: &Tensor) -> Result<()> {
    macro_rules! call {
        ({} $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*))*) => {
            match name {
                $(stringify!($name) => {
                    $(let $arg = x;)*
                    // SAFETY: the tensors are valid.
                    unsafe { tensor::$name(&Exec::new(), $(if_optional!($role [Some($arg)] [$arg]),)* out) }
                })*
                _ => unreachable!(),
            }
        };
    }
    for_each_elementwise!(call! {} [name arguments roles])
}

/// The status of a reduction, by its name.
fn reduction(name: &str, x: &Tensor, axes: Option<&[i32]>, out: &Tensor) -> Result<()> {
    macro_rules! call {
        ({} $($name:ident [$($ddof:ident)?])*) => {
            match name {
                $(stringify!($name) => {
                    $(let $ddof = 0;)?
                    // SAFETY: the tensors are valid.
                    unsafe { tensor::$name(&Exec::new(), x, axes, $($ddof,)? out) }
                })*
                _ => unreachable!(),
            }
        };
    }
    for_each_reduction!(call! {} [name ddof])
}

#[test]
fn operations_without_a_meaning_for_integers_are_refused() {
    let (mut x, mut out) = ([7_i32, 2], [5_i32, 5]);
    let (x, to) = (tensor(&mut x, 1), tensor(&mut out, 1));
    assert_eq!(elementwise("div", &x, &to), UNSUPPORTED("out"));
    assert_eq!(out, [5, 5]);
    let mut total = [5_i64];
    for name in ["mean", "nrm2", "var", "std", "logsumexp"] {
        let out = tensor(&mut total, 0);
        assert_eq!(reduction(name, &x, None, &out), UNSUPPORTED("x"), "{name}");
    }
    assert_eq!(total, [5]);
}

#[test]
fn other_integers_and_booleans_are_refused() {
    let mut zeros = [0_i64; 4];
    // 16 bits, unsigned 32 and 64 bits, booleans.
    for (dtype_code, dtype_bits) in [(0, 16), (1, 16), (1, 32), (1, 64), (6, 8)] {
        let x = Tensor {
            dtype_code,
            dtype_bits,
            ..tensor(&mut zeros, 1)
        };
        assert_eq!(elementwise("add", &x, &x), UNSUPPORTED("out"));
        let mut total = [5_i64];
        assert_eq!(
            reduction("sum", &x, None, &tensor(&mut total, 0)),
            UNSUPPORTED("x")
        );
    }
}

#[test]
fn operands_of_different_types_are_refused() {
    let (mut bytes, mut words, mut floats) = ([1_i8, 2], [3_i32, 4], [5.0_f32, 6.0]);
    let mut unsigned = [1_u8, 2];
    let (bytes, words) = (tensor(&mut bytes, 1), tensor(&mut words, 1));
    let (floats, unsigned) = (tensor(&mut floats, 1), tensor(&mut unsigned, 1));
    for (x, out) in [
        (bytes, words),
        (bytes, unsigned),
        (floats, words),
        (words, floats),
    ] {
        assert_eq!(elementwise("add", &x, &out), MISMATCH("x"));
    }
}

#[test]
fn results_have_the_types_that_reductions_give() {
    let (mut x, mut long, mut word) = ([-128_i8, -1], [0_i64], [0_i32]);
    let (mut byte, mut unsigned, mut float) = ([0_i8], [0_u8], [0.0_f32]);
    let x = tensor(&mut x, 1);
    for name in ["sum", "prod", "sumsq", "asum"] {
        let sum = |out: &Tensor| reduction(name, &x, None, out);
        assert_eq!(sum(&tensor(&mut long, 0)), Ok(()));
        assert_eq!(sum(&tensor(&mut word, 0)), Ok(()));
        assert_eq!(sum(&tensor(&mut byte, 0)), Ok(()));
        assert_eq!(sum(&tensor(&mut unsigned, 0)), MISMATCH("out"));
        assert_eq!(sum(&tensor(&mut float, 0)), MISMATCH("out"));
    }
    // |-128| + |-1| as the last of them: exact, and then modulo 2^8.
    assert_eq!((long, word, byte), ([129], [129], [-127]));
    for name in ["min", "max"] {
        let extreme = |out: &Tensor| reduction(name, &x, None, out);
        assert_eq!(extreme(&tensor(&mut byte, 0)), Ok(()));
        assert_eq!(extreme(&tensor(&mut long, 0)), MISMATCH("out"));
    }
    for name in ["argmin", "argmax", "count_nonzero"] {
        let index = |out: &Tensor| reduction(name, &x, None, out);
        assert_eq!(index(&tensor(&mut long, 0)), Ok(()));
        assert_eq!(index(&tensor(&mut word, 0)), MISMATCH("out"));
        assert_eq!(index(&tensor(&mut byte, 0)), MISMATCH("out"));
    }
}

#[test]
fn no_elements_give_what_they_give_of_floats() {
    let (mut none, mut out) = ([0_i32; 0], [5_i64]);
    let x = tensor(&mut none, 1);
    for (name, want) in [
        ("sum", 0),
        ("asum", 0),
        ("sumsq", 0),
        ("count_nonzero", 0),
        ("prod", 1),
    ] {
        assert_eq!(reduction(name, &x, None, &tensor(&mut out, 0)), Ok(()));
        assert_eq!(out, [want], "{name}");
    }
    let empty = Err(Error::EmptyReduction { arg: "n" });
    for name in ["argmin", "argmax"] {
        assert_eq!(reduction(name, &x, None, &tensor(&mut out, 0)), empty);
    }
    let mut element = [5_i32];
    for name in ["min", "max"] {
        assert_eq!(reduction(name, &x, None, &tensor(&mut element, 0)), empty);
    }
}

#[test]
fn outputs_that_overlap_and_bad_axes_are_refused() {
    let mut block = [1_i64; 4];
    let x = tensor(&mut block, 1);
    let within = Tensor {
        byte_offset: 8,
        ndim: 0,
        ..x
    };
    let overlap = Err(Error::Overlap { arg: "out" });
    assert_eq!(reduction("sum", &x, None, &within), overlap);
    let mut out = [0_i64];
    let bad = Err(Error::InvalidValue { arg: "axes" });
    assert_eq!(reduction("sum", &x, Some(&[1]), &tensor(&mut out, 0)), bad);
    let shifted = Tensor {
        byte_offset: 8,
        ndim: 1,
        shape: [3].as_ptr(),
        ..x
    };
    let start = Tensor {
        shape: [3].as_ptr(),
        ..x
    };
    assert_eq!(elementwise("abs", &start, &shifted), overlap);
    assert_eq!(block, [1; 4]);
}

#[test]
fn results_wrap_and_the_upper_bound_wins() {
    let (mut least, mut out) = ([i8::MIN], [0_i8]);
    let x = tensor(&mut least, 1);
    for (name, want) in [
        ("abs", -128),
        ("neg", -128),
        ("square", 0),
        ("add", 0),
        ("mul", 0),
    ] {
        assert_eq!(elementwise(name, &x, &tensor(&mut out, 1)), Ok(()));
        assert_eq!(out, [want], "{name}");
    }
    let (mut one, mut result) = ([1_u8], [0_u8]);
    let to = tensor(&mut result, 1);
    assert_eq!(elementwise("neg", &tensor(&mut one, 1), &to), Ok(()));
    assert_eq!(result, [255]);
    let (mut x, mut lo, mut hi, mut out) = ([5_i32], [8_i32], [3_i32], [0_i32]);
    let (x, lo, hi) = (tensor(&mut x, 1), tensor(&mut lo, 0), tensor(&mut hi, 0));
    // SAFETY: the tensors are valid.
    let done =
        unsafe { tensor::clamp(&Exec::new(), &x, Some(&lo), Some(&hi), &tensor(&mut out, 1)) };
    assert_eq!((done, out), (Ok(()), [3]));
}
