//! Arguments of `matmul` that are refused.

use diptych::{
    Bias, Error, Exec, Extensions, Level, MatMut, MatRef, MatmulOptions, Multiply, Result, VecRef,
    bf16, f16, matmul, matmul_workspace,
};
use diptych_tests::mixed::Number;

/// Calls `matmul` with 2 by 3 and 3 by 4 matrices, and checks that a call that is refused writes nothing.
fn call<A: Multiply<B, C> + Number, B: Number, C: Number>(
    options: &MatmulOptions<'_>,
) -> Result<()> {
    let (a, b) = ([A::of_bits(1); 6], [B::of_bits(1); 12]);
    let mut c = [C::of_bits(55); 8];
    let (x, y) = (MatRef::new(&a, 2, 3)?, MatRef::new(&b, 3, 4)?);
    let result = matmul(&Exec::new(), x, y, MatMut::new(&mut c, 2, 4)?, options);
    let intact = c.iter().all(|c| c.bits() == 55);
    assert!(result.is_ok() || intact, "a refused call has written");
    result
}

/// Calls `matmul` with all types whose sums are stored as integers.
fn each_integer(options: &MatmulOptions<'_>) -> [Result<()>; 4] {
    [
        call::<i8, i8, i32>(options),
        call::<u8, i8, i32>(options),
        call::<i32, i32, i32>(options),
        call::<i64, i64, i64>(options),
    ]
}

/// Calls `matmul` with all 16-bit types.
fn each_half(options: &MatmulOptions<'_>) -> [Result<()>; 4] {
    [
        call::<f16, f16, f16>(options),
        call::<f16, f16, f32>(options),
        call::<bf16, bf16, bf16>(options),
        call::<bf16, bf16, f32>(options),
    ]
}

/// Calls `matmul` with bytes and sums that are stored as floats.
fn each_scaled(options: &MatmulOptions<'_>) -> [Result<()>; 2] {
    [call::<i8, i8, f32>(options), call::<u8, i8, f32>(options)]
}

/// Options that the types do not have, and those that they have.
#[test]
fn options() {
    let none = MatmulOptions::default();
    let (rows, columns) = ([1.0, 2.0], [1.0, 2.0, 3.0, 4.0]);
    let (rows, columns) = (VecRef::new(&rows), VecRef::new(&columns));
    #[rustfmt::skip]
    let all = [
        // Options, and whether integers, 16-bit floats and bytes with a C of floats have them.
        (none, true, true, true),
        (MatmulOptions { beta: 1.0, ..none }, true, true, true),
        (MatmulOptions { beta: -0.0, ..none }, true, true, true),
        (MatmulOptions { beta: 2.0, ..none }, false, true, true),
        (MatmulOptions { beta: f32::NAN, ..none }, false, true, true),
        (MatmulOptions { alpha: 0.0, ..none }, false, true, true),
        (MatmulOptions { alpha: -1.0, ..none }, false, true, true),
        (MatmulOptions { alpha: f32::NAN, ..none }, false, true, true),
        (MatmulOptions { bias: Bias::PerRow(rows), ..none }, false, true, true),
        (MatmulOptions { bias: Bias::PerColumn(columns), ..none }, false, true, true),
        (MatmulOptions { clamp: Some((0.0, 1.0)), ..none }, false, true, true),
        (MatmulOptions { row_scale: Some(rows), ..none }, false, false, true),
        (MatmulOptions { column_scale: Some(columns), ..none }, false, false, true),
    ];
    for (options, of_integers, of_halves, of_scaled) in all {
        let arg = match options {
            MatmulOptions { alpha, .. } if alpha != 1.0 => "alpha",
            MatmulOptions { beta, .. } if beta != 0.0 => "beta",
            MatmulOptions { clamp: Some(_), .. } => "clamp",
            MatmulOptions {
                row_scale: Some(_), ..
            } => "row_scale",
            MatmulOptions {
                column_scale: Some(_),
                ..
            } => "column_scale",
            _ => "bias",
        };
        let invalid = |has: bool| {
            if has {
                Ok(())
            } else {
                Err(Error::InvalidValue { arg })
            }
        };
        assert_eq!(
            each_integer(&options),
            [invalid(of_integers); 4],
            "{options:?}"
        );
        assert_eq!(each_half(&options), [invalid(of_halves); 4], "{options:?}");
        assert_eq!(
            each_scaled(&options),
            [invalid(of_scaled); 2],
            "{options:?}"
        );
    }
}

/// Factors and biases of another length than C.
#[test]
fn lengths() {
    let none = MatmulOptions::default();
    let numbers = [1.0; 5];
    let wrong = |arg| Err(Error::ShapeMismatch { arg });
    for length in [0, 1, 3, 5] {
        let numbers = VecRef::new(&numbers[..length]);
        let options = MatmulOptions {
            row_scale: Some(numbers),
            ..none
        };
        assert_eq!(each_scaled(&options), [wrong("row_scale"); 2]);
        let options = MatmulOptions {
            column_scale: Some(numbers),
            ..none
        };
        assert_eq!(each_scaled(&options), [wrong("column_scale"); 2]);
        for bias in [Bias::PerRow(numbers), Bias::PerColumn(numbers)] {
            let options = MatmulOptions { bias, ..none };
            assert_eq!(each_scaled(&options), [wrong("bias"); 2]);
            assert_eq!(each_half(&options), [wrong("bias"); 4]);
        }
    }
}

/// Shapes that do not fit each other, and elements of C that share an address.
#[test]
fn shapes() {
    fn all<A: Multiply<B, C> + Number, B: Number, C: Number>() {
        let (a, b) = ([A::of_bits(1); 16], [B::of_bits(1); 16]);
        let mut c = [C::of_bits(55); 16];
        let options = MatmulOptions::default();
        let mut product = |(m, k): (usize, usize), (l, n): (usize, usize), of_c, strides| {
            let (rows, columns): (usize, usize) = of_c;
            let (rs, cs) = strides;
            let x = MatRef::new(&a[..m * k], m, k)?;
            let y = MatRef::new(&b[..l * n], l, n)?;
            let to = MatMut::with_strides(&mut c, 0, rows, columns, rs, cs)?;
            matmul(&Exec::new(), x, y, to, &options)
        };
        let wrong = |arg| Err(Error::ShapeMismatch { arg });
        assert_eq!(product((3, 2), (2, 4), (2, 4), (4, 1)), wrong("a"));
        assert_eq!(product((0, 2), (2, 4), (2, 4), (4, 1)), wrong("a"));
        assert_eq!(product((2, 2), (3, 4), (2, 4), (4, 1)), wrong("b"));
        assert_eq!(product((2, 2), (2, 3), (2, 4), (4, 1)), wrong("b"));
        assert_eq!(product((2, 0), (1, 4), (2, 4), (4, 1)), wrong("b"));
        let overlap = Err(Error::Overlap { arg: "c" });
        assert_eq!(product((2, 2), (2, 4), (2, 4), (0, 1)), overlap);
        assert_eq!(product((2, 2), (2, 4), (2, 4), (1, 1)), overlap);
        assert_eq!(product((2, 2), (2, 4), (2, 4), (3, 1)), overlap);
        assert!(
            c.iter().all(|c| c.bits() == 55),
            "a refused call has written"
        );
    }
    all::<i8, i8, i32>();
    all::<i8, i8, f32>();
    all::<u8, i8, i32>();
    all::<u8, i8, f32>();
    all::<i32, i32, i32>();
    all::<i64, i64, i64>();
    all::<f16, f16, f16>();
    all::<f16, f16, f32>();
    all::<bf16, bf16, bf16>();
    all::<bf16, bf16, f32>();
}

/// Extensions and levels that the machine lacks, and sizes that do not fit in memory.
#[test]
fn machines_and_sizes() {
    let here = Extensions::of_this_machine();
    for (extension, name) in Extensions::ALL {
        let exec = Exec::new().with_extensions(Level::Portable, extension);
        assert_eq!(exec.is_ok(), here.has(extension), "{name}");
    }
    for level in Level::ALL {
        let exec = Exec::new().with_extensions(level, Extensions::NONE);
        assert_eq!(exec.is_ok(), level.is_available(), "{}", level.name());
    }
    let most = usize::MAX;
    for (m, n, k) in [(0, most, most), (most, 0, most), (most, most, 0)] {
        let size = matmul_workspace::<i8, i8, i32>(&Exec::new(), m, n, k);
        assert_eq!(size, Ok(0));
    }
}
