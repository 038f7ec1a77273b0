//! For the unit tests: whether some loops give the bits of the five loops, for products of many layouts.

use std::fmt::Debug;
use std::vec::Vec;

use super::{Epilogue, Gemm, ThreadPlan, loops, params};
use crate::dispatch::Kernels;
use crate::element::Element;
use crate::level::Level;
use crate::matrix::Matrix;

/// The size of a product, its strides and its scalars.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    size: (usize, usize, usize),
    choice: usize,
    /// Whether the columns of B are contiguous, not its rows.
    pub b_by_columns: bool,
}

impl Layout {
    /// A product of m, n and k. Of `choice` the rest follows: each value gives other combinations of gaps, transposed and
    /// reversed matrices, alpha and beta, biases and clamps.
    pub fn new(size: (usize, usize, usize), choice: usize) -> Self {
        Self {
            size,
            choice,
            b_by_columns: false,
        }
    }
}

/// Panics unless `run`, which is given the product and `bytes` bytes of scratch memory, computes it with the bits of the
/// five loops.
pub fn agrees<T: Element + Debug>(
    level: Level,
    layout: Layout,
    bytes: usize,
    run: impl FnOnce(&Gemm<T>, *mut u8) -> bool,
) {
    let routines = Kernels::<T>::new(level).gemm();
    let Layout {
        size: (m, n, k),
        choice,
        b_by_columns,
    } = layout;
    let numbers = |count: usize| -> Vec<T> {
        let seventh = |i: usize| T::from_f64((i * i % 1009) as f64 / 7.0 - 70.0);
        (0..count).map(seventh).collect()
    };
    let (a, b) = (numbers(m * k), numbers((k + 3) * (n + 3)));
    let ((b_rs, b_cs), b_from) = if b_by_columns {
        ((1, (k + choice % 4) as isize), 0)
    } else if choice % 3 == 0 {
        ((-(n as isize + 3), 1), (k - 1) * (n + 3))
    } else {
        ((n as isize + choice as isize % 4, 1), 0)
    };
    let (a_rs, a_cs) = if choice % 2 == 0 { (k, 1) } else { (1, m) };
    let (c_rs, c_cs) = [(n, 1), (1, m), (2 * n, 2), (2 * n, 1)][choice / 2 % 4];
    let mut epilogue = Epilogue::NONE;
    if choice % 5 == 0 {
        (epilogue.row_bias, epilogue.row_inc) = (a.as_ptr(), 1);
        epilogue.clamp = Some((T::from_f64(-9000.0), T::from_f64(9000.0))).into();
    }
    let product = |c: &mut Vec<T>| Gemm {
        m,
        n,
        k,
        alpha: T::from_f64([1.0, -0.7][choice / 3 % 2]),
        a: Matrix::new(a.as_ptr(), a_rs as isize, a_cs as isize),
        b: Matrix::new(b.as_ptr().wrapping_add(b_from), b_rs, b_cs),
        beta: T::from_f64([0.0, 0.0, 1.0, 0.3][choice / 5 % 4]),
        c: Matrix::new(c.as_mut_ptr(), c_rs as isize, c_cs as isize),
        epilogue,
    };
    let mut c = numbers(m * n * 2);
    let mut expected = c.clone();
    let p = product(&mut expected);
    let mut plan = ThreadPlan::new(&routines.microkernels, &p, false);
    plan.skinny = None;
    let enough = params::scratch_bytes::<T>(m.max(n), k).expect("small");
    let mut block: Vec<u8> = std::vec![0; enough.max(bytes)];
    // SAFETY: the machine has the level; the arrays hold the matrices.
    unsafe { loops::run(routines, &plan, &p, block.as_mut_ptr(), enough) };
    let ran = run(&product(&mut c), block.as_mut_ptr());
    assert!(ran && c == expected, "{level:?}, {layout:?}, {bytes} bytes");
}
