//! With `batch_invariant` a row of a product has the same bits for every number of rows: alone, in batches around every
//! threshold of the plans, packed, as one of many products, and as a batch axis of tensors.

use std::fmt::Debug;

use diptych::tensor::{self, Tensor};
use diptych::{
    BatchMut, BatchRef, Bias, Element, Epilogue, Exec, Extensions, MatMut, MatRef, Pack, Packed,
    VecRef, gemm_batched, gemm_fused, gemm_packed,
};
use diptych_tests::levels::levels;
use diptych_tests::machines::is_another;
use diptych_tests::mixed::Config;
use diptych_tests::number::Number;
use diptych_tests::packed::pack;
use fastrand::Rng;

/// The numbers of rows of the parts.
const ROWS: [usize; 7] = [1, 2, 3, 7, 17, 64, 1000];

/// The strides of a matrix: row-major, transposed, or either with gaps, by the choice.
fn strides((rows, columns): (usize, usize), choice: usize) -> (isize, isize) {
    let (rs, cs) = match choice % 4 {
        0 => (columns, 1),
        1 => (1, rows),
        2 => (columns + 3, 1),
        _ => (2, 2 * rows + 1),
    };
    (rs as isize, cs as isize)
}

fn numbers<T: Element>(rng: &mut Rng, count: usize) -> Vec<T> {
    let mut number = || T::from_f64(f64::from(rng.i32(-2000..2000)) / 997.0);
    (0..count).map(|_| number()).collect()
}

/// Products of `m` rows with one matrix.
struct Case<T> {
    a: Vec<T>,
    b: Vec<T>,
    c: Vec<T>,
    bias: Vec<T>,
    shape: (usize, usize, usize),
    layouts: [usize; 3],
    scalars: (T, T),
    clamps: bool,
}

impl<T: Element + Pack + Number + Debug> Case<T> {
    fn new(rng: &mut Rng, (m, n, k): (usize, usize, usize)) -> Self {
        let room = |rows: usize, columns: usize| (rows + 3) * (columns + 3) * 2;
        let of = |scalar: f64| T::from_f64(scalar);
        let scalars = [(1.0, 0.0), (1.0, 1.0), (-0.3, 0.0), (0.7, 1.3)][rng.usize(..4)];
        Self {
            a: numbers(rng, room(m, k)),
            b: numbers(rng, room(k, n)),
            c: numbers(rng, m * n),
            bias: numbers(rng, n),
            shape: (m, n, k),
            layouts: [(); 3].map(|()| rng.usize(..4)),
            scalars: (of(scalars.0), of(scalars.1)),
            clamps: rng.bool(),
        }
    }

    fn b(&self) -> MatRef<'_, T> {
        let (_, n, k) = self.shape;
        let (rs, cs) = strides((k, n), self.layouts[1]);
        MatRef::with_strides(&self.b, 0, k, n, rs, cs).expect("B")
    }

    fn epilogue(&self) -> Epilogue<'_, T> {
        Epilogue {
            bias: Bias::PerColumn(VecRef::new(&self.bias)),
            clamp: self.clamps.then(|| (T::from_f64(-9.0), T::from_f64(20.0))),
        }
    }

    /// Rows `from` .. `from + m` of A.
    fn a(&self, from: usize, m: usize) -> MatRef<'_, T> {
        let (all, _, k) = self.shape;
        let (rs, cs) = strides((all, k), self.layouts[0]);
        MatRef::with_strides(&self.a, from * rs as usize, m, k, rs, cs).expect("A")
    }

    /// Rows `from` .. `from + m` of the product, row by row; of a packed B if `packed`.
    fn rows(&self, exec: &Exec<'_>, from: usize, m: usize, packed: bool) -> Vec<T> {
        let (_, n, _) = self.shape;
        let (rs, cs) = strides((m, n), self.layouts[2]);
        let at = |i: usize, j: usize| i * rs as usize + j * cs as usize;
        let mut c = vec![T::ZERO; at(m, n) + 1];
        for i in 0..m {
            for j in 0..n {
                c[at(i, j)] = self.c[(from + i) * n + j];
            }
        }
        let (alpha, beta) = self.scalars;
        let (a, b, epilogue) = (self.a(from, m), self.b(), self.epilogue());
        let to = MatMut::with_strides(&mut c, 0, m, n, rs, cs).expect("C");
        if packed {
            let mut block = pack(exec, b).expect("packed");
            let b = Packed::new(block.bytes()).expect("packed");
            gemm_packed(exec, alpha, a, b, beta, to, &epilogue).expect("a product");
        } else {
            gemm_fused(exec, alpha, a, b, beta, to, &epilogue).expect("a product");
        }
        let all = (0..m).flat_map(|i| (0..n).map(move |j| (i, j)));
        all.map(|(i, j)| c[at(i, j)]).collect()
    }

    /// Compares all parts with the rows of the whole.
    fn check(&self, rng: &mut Rng, config: Config) {
        let (all, n, k) = self.shape;
        config.run(None, |exec| {
            let want = self.rows(exec, 0, all, false);
            for m in ROWS.into_iter().filter(|&m| m <= all) {
                let from = rng.usize(..=all - m);
                for packed in [false, true] {
                    let got = self.rows(exec, from, m, packed);
                    let want = &want[from * n..(from + m) * n];
                    let same = got.iter().zip(want).all(|(x, y)| x.pattern() == y.pattern());
                    assert!(
                        same,
                        "{m} of {all} rows, n {n}, k {k}, layouts {:?}, packed {packed}, {:?}, {config}",
                        self.layouts, self.scalars
                    );
                }
            }
        });
    }
}

/// Calls `f` for all levels on one thread and on three, with calls that are batch-invariant.
fn for_each_config(mut f: impl FnMut(Config)) {
    for &level in levels() {
        for threads in [1, 3] {
            f(Config {
                level,
                extensions: Extensions::NONE,
                threads,
                batch_invariant: true,
            });
        }
    }
}

fn parts<T: Element + Pack + Number + Debug>() {
    let rng = &mut Rng::with_seed(41);
    let widths = [1, 2, 3, 7, 8, 9, 16, 17, 31, 32, 33, 64, 100, 257];
    let depths = [0, 1, 2, 7, 16, 63, 64, 100, 255, 256, 257, 300, 513, 1030];
    let cases = if is_another() { 12 } else { 60 };
    for_each_config(|config| {
        for _ in 0..cases {
            let shape = (64, widths[rng.usize(..14)], depths[rng.usize(..14)]);
            Case::<T>::new(rng, shape).check(rng, config);
        }
        // A B that no L2 holds, and more rows than there are in any block.
        for shape in [(17, 1100, 700), (3, 700, 2100), (1000, 40, 300)] {
            Case::<T>::new(rng, shape).check(rng, config);
        }
    });
}

#[test]
fn parts_f32() {
    parts::<f32>();
}

#[test]
fn parts_f64() {
    parts::<f64>();
}

/// A batch of products with one row each, and tensors in which that batch is an axis.
fn batches<T: Element + Pack + Number + Debug>(code: Tensor) {
    let rng = &mut Rng::with_seed(42);
    for_each_config(|config| {
        for (rows, n, k) in [(5, 1, 300), (9, 3, 70), (40, 33, 257), (3, 100, 600)] {
            let mut case = Case::<T>::new(rng, (rows, n, k));
            (case.layouts, case.scalars) = ([0, rng.usize(..2), 0], (T::ONE, T::ZERO));
            config.run(None, |exec| {
                let (rs, cs) = strides((k, n), case.layouts[1]);
                let mut want = vec![T::ZERO; rows * n];
                let to = MatMut::new(&mut want, rows, n).expect("C");
                diptych::gemm(exec, T::ONE, case.a(0, rows), case.b(), T::ZERO, to).expect("all");
                let mut got = vec![T::ZERO; rows * n];
                let a =
                    BatchRef::with_strides(&case.a, 0, [rows, 1, k], [k as isize, k as isize, 1]);
                let b = BatchRef::with_strides(&case.b, 0, [rows, k, n], [0, rs, cs]);
                let to = BatchMut::new(&mut got, rows, 1, n).expect("C");
                let (a, b) = (a.expect("A"), b.expect("B"));
                gemm_batched(exec, T::ONE, a, b, T::ZERO, to).expect("a batch");
                let what = format!("{rows} x {n} x {k}, {config}");
                assert_eq!(got, want, "{what}");
                let shapes =
                    [[rows, 1, k], [1, k, n], [rows, 1, n]].map(|all| all.map(|s| s as i64));
                let of_b = [0, rs as i64, cs as i64];
                got.fill(T::ZERO);
                let tensor = |data: *const T, shape: &[i64; 3], strides: *const i64| Tensor {
                    data: data.cast_mut().cast(),
                    shape: shape.as_ptr(),
                    strides,
                    ..code
                };
                let a = tensor(case.a.as_ptr(), &shapes[0], core::ptr::null());
                let b = tensor(case.b.as_ptr(), &shapes[1], of_b.as_ptr());
                let c = tensor(got.as_mut_ptr(), &shapes[2], core::ptr::null());
                // SAFETY: the tensors have these elements.
                unsafe { tensor::matmul(exec, 1.0, &a, &b, 0.0, &c, None) }.expect("tensors");
                assert_eq!(got, want, "tensors, {what}");
            });
        }
    });
}

/// A tensor of floating-point numbers with three axes.
fn floats(bits: u8) -> Tensor {
    Tensor {
        data: core::ptr::null_mut(),
        device_type: 1,
        device_id: 0,
        ndim: 3,
        dtype_code: 2,
        dtype_bits: bits,
        dtype_lanes: 1,
        shape: core::ptr::null(),
        strides: core::ptr::null(),
        byte_offset: 0,
    }
}

#[test]
fn batches_f32() {
    batches::<f32>(floats(32));
}

#[test]
fn batches_f64() {
    batches::<f64>(floats(64));
}

/// Without the setting a row alone has the order of `dot`; the product would otherwise show nothing.
#[test]
fn rows_differ_without_it() {
    let rng = &mut Rng::with_seed(43);
    let mut case = Case::<f32>::new(rng, (2, 100, 1000));
    case.scalars = (1.0, 0.0);
    let whole = case.rows(&Exec::new(), 0, 2, false);
    assert_ne!(case.rows(&Exec::new(), 0, 1, false), whole[..100]);
}
