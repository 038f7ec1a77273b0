//! Products of tensors of integers and of 16-bit floats with sides around those of tiles, and a k around blocks of 32 steps
//! and segments of 1024, in memory that ends or begins at a guard page.

use super::backend;
use diptych::tensor::{Epilogue, Tensor};
use diptych::{Exec, MatMut, MatRef, MatmulOptions, Multiply, matmul};
use diptych_tests::guard::{Edge, Guarded, during};
use diptych_tests::mixed::{After, Draw, Float, Multiplies, Number, per_product};
use fastrand::Rng;

/// m, n and k.
const SHAPES: [(usize, usize, usize); 24] = [
    (1, 1, 1),
    (1, 1, 33),
    (1, 40, 31),
    (40, 1, 2049),
    (15, 17, 32),
    (16, 16, 64),
    (17, 15, 65),
    (16, 48, 1024),
    (5, 3, 1025),
    (3, 9, 3100),
    (32, 32, 16),
    (33, 31, 8),
    (31, 64, 63),
    (64, 64, 64),
    (65, 63, 34),
    (63, 65, 127),
    (64, 66, 128),
    (20, 24, 1056),
    (18, 34, 1023),
    (2, 2, 4100),
    (36, 68, 36),
    (68, 20, 100),
    (24, 72, 1032),
    (8, 128, 4),
];

/// Elements of a matrix between guard pages, by rows or by columns.
struct Matrix<T> {
    memory: Guarded<T>,
    shape: [i64; 2],
    strides: [i64; 2],
}

impl<T: Number> Matrix<T> {
    /// Lays out elements that are given by rows.
    fn new(rows: &[T], (m, n): (usize, usize), by_columns: bool, edge: Edge) -> Self {
        let columns = |at: usize| rows[at % m * n + at / m];
        let by_columns: Option<Vec<T>> = by_columns.then(|| (0..rows.len()).map(columns).collect());
        let (m, n) = (m as i64, n as i64);
        Self {
            memory: Guarded::new(by_columns.as_deref().unwrap_or(rows), edge),
            shape: [m, n],
            strides: if by_columns.is_some() { [1, m] } else { [n, 1] },
        }
    }

    fn tensor(&mut self) -> Tensor {
        let (dtype_code, dtype_bits) = T::DLPACK;
        Tensor {
            data: self.memory.as_mut_ptr().cast(),
            device_type: 1,
            device_id: 0,
            ndim: 2,
            dtype_code,
            dtype_bits,
            dtype_lanes: 1,
            shape: self.shape.as_ptr(),
            strides: self.strides.as_ptr(),
            byte_offset: 0,
        }
    }

    /// The bits of the elements, by rows.
    fn bits(&self) -> Vec<u64> {
        let [m, n] = self.shape;
        let [rs, cs] = self.strides;
        let places = (0..m).flat_map(|i| (0..n).map(move |j| i * rs + j * cs));
        places
            .map(|at| self.memory.as_slice()[at as usize].bits())
            .collect()
    }
}

/// One product, in a layout that depends on the seed.
fn product<A: Multiply<B, C> + Draw, B: Draw, C: Draw>(seed: u64, on: &dyn Multiplies) {
    let rng = &mut Rng::with_seed(seed);
    let (m, n, k) = SHAPES[seed as usize % SHAPES.len()];
    let a: Vec<A> = (0..m * k).map(|_| A::draw(rng)).collect();
    let b: Vec<B> = (0..k * n).map(|_| B::draw(rng)).collect();
    let mut want = vec![C::of_bits(0); m * n];
    let left = MatRef::new(&a, m, k).expect("a matrix");
    let right = MatRef::new(&b, k, n).expect("a matrix");
    let to = MatMut::new(&mut want, m, n).expect("a matrix");
    matmul(&Exec::new(), left, right, to, &MatmulOptions::default()).expect("a product");

    let edge = if rng.bool() { Edge::End } else { Edge::Start };
    let mut a = Matrix::new(&a, (m, k), rng.bool(), edge);
    let mut b = Matrix::new(&b, (k, n), rng.bool(), edge);
    let old: Vec<C> = (0..m * n).map(|_| C::draw(rng)).collect();
    let mut c = Matrix::new(&old, (m, n), rng.bool(), edge);
    let label = format!(
        "{} x {} to {}, {m} x {n} x {k}, strides {:?}, {:?}, {:?}, {edge:?}",
        A::NAME,
        B::NAME,
        C::NAME,
        a.strides,
        b.strides,
        c.strides
    );
    let done = during(&label, || {
        let (a, b, c) = (a.tensor(), b.tensor(), c.tensor());
        // SAFETY: the tensors are valid.
        unsafe { on.matmul((1.0, 0.0), [&a, &b, &c], &Epilogue::default()) }
    });
    assert_eq!(done, Ok(()), "{label}");
    let want: Vec<u64> = want.into_iter().map(Number::bits).collect();
    assert_eq!(c.bits(), want, "{label}");
}

#[allow(clippy::extra_unused_type_parameters)] // `D` is the type of a bias, which these products lack.
fn around_tiles_and_blocks<A, B, C, D>(_: After)
where
    A: Multiply<B, C> + Draw,
    B: Draw,
    C: Draw,
    D: Float,
{
    let count = SHAPES.len() as u64;
    backend::each(1, 0..count, &product::<A, B, C>);
    // Others of the layouts, and on a device of the kernels.
    backend::each(1, count..2 * count, &|seed, on| {
        product::<A, B, C>(seed + count * (seed / 3 % 3), on);
    });
}

per_product!(around_tiles_and_blocks);
