//! `gemm_packed` gives the bits of `gemm_fused`; packed matrices that do not fit a call are refused.

use std::fmt::Debug;

use diptych::tensor::{self, Tensor};
use diptych::{
    Bias, Element, Epilogue, Error, Exec, Extensions, Level, MatMut, MatRef, MatmulOptions, Pack,
    Packed, VecRef, gemm_fused, gemm_packed, matmul_pack, matmul_packed, matmul_packed_size,
};
use diptych_tests::levels::levels;
use diptych_tests::mixed::Config;
use diptych_tests::number::Number;
use diptych_tests::packed::{Block, pack};
use fastrand::Rng;

/// Makes a matrix and a view of it: row-major, transposed, or with gaps, by the choice.
fn view<T>(data: &[T], (rows, columns): (usize, usize), choice: usize) -> MatRef<'_, T> {
    let (rs, cs) = match choice % 4 {
        0 => (columns, 1),
        1 => (1, rows),
        2 => (columns + 3, 1),
        _ => (2 * columns, 2),
    };
    MatRef::with_strides(data, 0, rows, columns, rs as isize, cs as isize).expect("a matrix")
}

fn view_mut<T>(data: &mut [T], (rows, columns): (usize, usize), choice: usize) -> MatMut<'_, T> {
    let (rs, cs) = match choice % 4 {
        0 => (columns, 1),
        1 => (1, rows),
        2 => (columns + 3, 1),
        _ => (2 * columns, 2),
    };
    MatMut::with_strides(data, 0, rows, columns, rs as isize, cs as isize).expect("a matrix")
}

fn numbers<T: Element>(rng: &mut Rng, count: usize) -> Vec<T> {
    let mut number = || T::from_f64(f64::from(rng.i32(-2000..2000)) / 997.0);
    (0..4 * count + 200).map(|_| number()).collect()
}

/// Compares one product at a level on some threads.
fn compare<T: Element + Pack + Number + Debug>(
    rng: &mut Rng,
    config: Config,
    (m, n, k): (usize, usize, usize),
) {
    let [of_a, of_b, of_c, scalars] = [4, 4, 4, 5].map(|most| rng.usize(..most));
    let (a, b) = (numbers::<T>(rng, m * k), numbers::<T>(rng, k * n));
    let (biases, old) = (numbers::<T>(rng, m.max(n)), numbers::<T>(rng, m * n));
    let (a, b) = (view(&a, (m, k), of_a), view(&b, (k, n), of_b));
    let [zero, one, third] = [0.0, 1.0, 1.0 / 3.0].map(T::from_f64);
    let (alpha, beta) = [
        (one, zero),
        (one, one),
        (third, third),
        (third, zero),
        (zero, one),
    ][scalars];
    let epilogue = Epilogue {
        bias: match rng.usize(..3) {
            0 => Bias::PerRow(VecRef::new(&biases[..m])),
            1 => Bias::PerColumn(VecRef::new(&biases[..n])),
            _ => Bias::None,
        },
        clamp: rng.bool().then(|| (T::from_f64(-1.5), T::from_f64(20.0))),
    };
    let (mut want, mut c) = (old.clone(), old);
    config.run(None, |exec| {
        let to = view_mut(&mut want, (m, n), of_c);
        gemm_fused(exec, alpha, a, b, beta, to, &epilogue).expect("a product");
        let mut block = pack(exec, b).expect("packed");
        let packed = Packed::new(block.bytes()).expect("packed");
        let to = view_mut(&mut c, (m, n), of_c);
        gemm_packed(exec, alpha, a, packed, beta, to, &epilogue).expect("a product");
        assert!(block.is_intact(), "wrote outside the block");
    });
    let same = c.iter().zip(&want).all(|(x, y)| x.pattern() == y.pattern());
    assert!(
        same,
        "{m} x {n} x {k}, layouts {of_a} {of_b} {of_c}, {alpha:?}, {beta:?}, {config}"
    );
}

/// Compares products of all sizes around the edges of micro-tiles and segments.
fn same_bits<T: Element + Pack + Number + Debug>() {
    let rng = &mut Rng::with_seed(10);
    let sizes = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 65, 100, 200];
    let depths = [
        0, 1, 2, 31, 64, 100, 255, 256, 257, 300, 512, 513, 700, 1030, 2600,
    ];
    for &level in levels() {
        for threads in [1, 3] {
            let config = Config {
                level,
                extensions: Extensions::NONE,
                threads,
                batch_invariant: false,
            };
            for _ in 0..200 {
                let mut one = |of: &[usize]| of[rng.usize(..of.len())];
                let size = (one(&sizes[..14]), one(&sizes), one(&depths));
                compare::<T>(rng, config, size);
            }
            // B is larger than any L2 here: micro-panels are prefetched.
            for m in [1, 3, 8, 20] {
                compare::<T>(rng, config, (m, 700, 2100));
            }
        }
    }
}

#[test]
fn f32_bits() {
    same_bits::<f32>();
}

#[test]
fn f64_bits() {
    same_bits::<f64>();
}

/// Packs a 300 by 40 matrix of `f32`.
fn packed(exec: &Exec<'_>) -> Block {
    let b: Vec<f32> = (0..12000).map(|i| i as f32).collect();
    let mut block = Block::new(matmul_packed_size::<f32>(exec, 300, 40).expect("a size"));
    let matrix = MatRef::new(&b, 300, 40).expect("a matrix");
    matmul_pack(exec, matrix, block.bytes()).expect("packed");
    block
}

/// Multiplies by what should be that matrix. A refused product writes nothing.
fn multiply(exec: &Exec<'_>, bytes: &[u8]) -> Result<(), Error> {
    let (a, mut c) = (vec![1.0; 600], vec![7.0; 80]);
    let matrix = MatRef::new(&a, 2, 300)?;
    let result = Packed::<f32>::new(bytes).and_then(|packed| {
        let c = MatMut::new(&mut c, 2, 40)?;
        gemm_packed(exec, 1.0, matrix, packed, 0.0, c, &Epilogue::default())
    });
    assert!(
        result.is_ok() || c == [7.0; 80],
        "a refused product has written"
    );
    result
}

/// Every bit of the header matters, and so does every byte of the rest.
#[test]
fn spoiled_headers_are_refused() {
    let exec = Exec::new();
    let mut block = packed(&exec);
    let bytes = block.bytes();
    assert_eq!(multiply(&exec, bytes), Ok(()));
    for bit in 0..8 * 64 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(multiply(&exec, bytes).is_err(), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    for size in [0, 1, 63, 64, 65, bytes.len() - 1] {
        let result = multiply(&exec, &bytes[..size]);
        assert!(
            matches!(result, Err(Error::InvalidValue { .. })),
            "{size}: {result:?}"
        );
    }
    let odd = multiply(&exec, &bytes[4..]);
    assert_eq!(odd, Err(Error::Misaligned { arg: "bytes" }));
    // Other elements are other results.
    bytes[64..].fill(0xFF);
    assert_eq!(multiply(&exec, bytes), Ok(()));
}

#[test]
fn other_types_and_shapes_are_refused() {
    let exec = Exec::new();
    let mut block = packed(&exec);
    let other = Packed::<i32>::new(block.bytes()).err();
    assert_eq!(other, Some(Error::TypeMismatch { arg: "bytes" }));
    let packed = Packed::<f32>::new(block.bytes()).expect("packed");
    let (a, mut c) = ([1.0; 602], [0.0; 80]);
    let mut shapes = |k: usize, n: usize| {
        let (a, c) = (
            MatRef::new(&a[..2 * k], 2, k)?,
            MatMut::new(&mut c[..2 * n], 2, n)?,
        );
        gemm_packed(&exec, 1.0, a, packed, 0.0, c, &Epilogue::default())
    };
    assert_eq!(shapes(300, 40), Ok(()));
    assert_eq!(shapes(301, 40), Err(Error::ShapeMismatch { arg: "b" }));
    assert_eq!(shapes(300, 39), Err(Error::ShapeMismatch { arg: "b" }));
    let b = MatRef::new(&a[..6], 2, 3).expect("a matrix");
    let size = matmul_packed_size::<f64>(&exec, 2, 3).expect("a size");
    let mut short = Block::new(size - 1);
    let refused = matmul_pack(&exec, b, short.bytes()).err();
    assert_eq!(refused, Some(Error::InvalidValue { arg: "bytes" }));
    let overflow = matmul_packed_size::<f64>(&exec, usize::MAX / 16, 64);
    assert!(matches!(overflow, Err(Error::SizeOverflow { .. })));
}

/// A matrix that was packed at one level is refused at those with another layout.
#[test]
fn other_levels_are_refused() {
    for &level in levels() {
        let at = |level: Level| Exec::new().with_level(level).expect("a level");
        let mut block = packed(&at(level));
        for &other in levels() {
            let want = if other == level {
                Ok(())
            } else {
                Err(Error::PackedLayout { arg: "b" })
            };
            assert_eq!(
                multiply(&at(other), block.bytes()),
                want,
                "{level:?}, {other:?}"
            );
        }
    }
    // Extensions of a level, too.
    let here = Extensions::of_this_machine();
    let all = |extensions| Exec::new().with_extensions(Level::Avx512, extensions);
    if here.has(Extensions::AVX512_VNNI) {
        let (plain, vnni) = (all(Extensions::NONE), all(Extensions::AVX512_VNNI));
        let (plain, vnni) = (plain.expect("a level"), vnni.expect("an extension"));
        let b = [3_i8; 600];
        let mut block = Block::new(matmul_packed_size::<i8>(&vnni, 30, 20).expect("a size"));
        let matrix = MatRef::new(&b, 30, 20).expect("a matrix");
        let packed = matmul_pack(&vnni, matrix, block.bytes()).expect("packed");
        let mut c = [0_i32; 20];
        let mut product = |exec: &Exec<'_>| {
            let (a, c) = (MatRef::new(&b[..30], 1, 30)?, MatMut::new(&mut c, 1, 20)?);
            matmul_packed(exec, a, packed, c, &MatmulOptions::default())
        };
        assert_eq!(product(&vnni), Ok(()));
        assert_eq!(product(&plain), Err(Error::PackedLayout { arg: "b" }));
    }
}

/// The functions over tensors: batches of A, the bits of `matmul`, and a C that overlaps the packed matrix.
#[test]
fn tensors() {
    let exec = Exec::new();
    let mut block = packed(&exec);
    let size = block.bytes().len();
    let memory = block.bytes().as_mut_ptr();
    let mut a: Vec<f32> = (0..2 * 3 * 300).map(|i| (i % 17) as f32).collect();
    let mut b: Vec<f32> = (0..12000).map(|i| i as f32).collect();
    let (mut c, mut want) = (vec![0.0_f32; 240], vec![1.0_f32; 240]);
    let of = |data: *mut f32, shape: &[i64]| Tensor {
        data: data.cast(),
        device_type: 1,
        device_id: 0,
        ndim: shape.len() as i32,
        dtype_code: 2,
        dtype_bits: 32,
        dtype_lanes: 1,
        shape: shape.as_ptr(),
        strides: std::ptr::null(),
        byte_offset: 0,
    };
    for (of_a, of_c) in [
        (&[2, 3, 300][..], &[2, 3, 40][..]),
        (&[300], &[40]),
        (&[1, 300], &[1, 40]),
    ] {
        let (ta, tb) = (of(a.as_mut_ptr(), of_a), of(b.as_mut_ptr(), &[300, 40]));
        let (tc, tw) = (of(c.as_mut_ptr(), of_c), of(want.as_mut_ptr(), of_c));
        // SAFETY: the tensors have these elements; what overlaps is refused.
        unsafe {
            tensor::matmul(&exec, 1.0, &ta, &tb, 0.0, &tw, None).expect("a product");
            tensor::matmul_packed(&exec, 1.0, &ta, memory, size, 0.0, &tc, None)
                .expect("a product");
            let count = of_c.iter().product::<i64>() as usize;
            assert_eq!(c[..count], want[..count]);
            for offset in [0, 64, size - 160] {
                let inside = of(memory.wrapping_add(offset).cast(), of_c);
                let result =
                    tensor::matmul_packed(&exec, 1.0, &ta, memory, size, 0.0, &inside, None);
                assert_eq!(result, Err(Error::Overlap { arg: "c" }));
            }
            let wrong = of(c.as_mut_ptr(), &[39]);
            let result = tensor::matmul_packed(&exec, 1.0, &ta, memory, size, 0.0, &wrong, None);
            assert!(
                matches!(result, Err(Error::ShapeMismatch { .. })),
                "{result:?}"
            );
        }
    }
}
