//! Valid calls of every operation, both small and large enough for several threads, for the suites
//! that check the same property of every call.

use core::mem::MaybeUninit;
use core::ptr;

use diptych::BiasKind;

use crate::cases::{self, Values};
use crate::ops::{Reduction, RowMap, Scalars, elementwise, reductions, row_maps};
use crate::raw::{self, On, RawEpilogue, Result};
use crate::real::Dtype;

/// Elements of every output, ordinary ones of the input, and others of it.
const LENGTH: usize = 200_000;

type Body<T> = Box<dyn Fn(&dyn On, *const T, *mut T, *mut i64) -> Result<()> + Send + Sync>;
type Size = Box<dyn Fn(&dyn On) -> Result<usize> + Send + Sync>;

/// One call of an operation with a given shape.
pub struct Call<T> {
    /// The operation's name, with `_rows` for the form that reduces rows.
    pub name: String,
    /// Element type and shape, for failure messages.
    pub shape: String,
    /// Whether the call must use the threads that `exec` provides.
    pub is_large: bool,
    body: Body<T>,
    size: Size,
}

/// The elements that calls read: ordinary ones, then as many whose squares overflow.
pub struct Inputs<T>(Vec<T>);

/// The memory that calls write to.
#[derive(Clone, PartialEq)]
pub struct Outputs<T> {
    values: Vec<T>,
    indices: Vec<i64>,
}

impl<T: Dtype> Default for Inputs<T> {
    fn default() -> Inputs<T> {
        let mut all = cases::vector(Values::Ordinary, LENGTH, 71);
        all.extend(cases::vector::<T>(Values::Huge, LENGTH, 71));
        Inputs(all)
    }
}

impl<T: Dtype> Default for Outputs<T> {
    fn default() -> Outputs<T> {
        Outputs {
            values: vec![T::zero(); LENGTH],
            indices: vec![0; LENGTH],
        }
    }
}

impl<T: Dtype> Outputs<T> {
    /// Sets every output to 0.
    pub fn clear(&mut self) {
        self.values.fill(T::zero());
        self.indices.fill(0);
    }
}

impl<T: Dtype> Call<T> {
    /// Makes the call.
    pub fn run(&self, exec: &dyn On, inputs: &Inputs<T>, out: &mut Outputs<T>) -> Result<()> {
        let (values, indices) = (out.values.as_mut_ptr(), out.indices.as_mut_ptr());
        (self.body)(exec, inputs.0.as_ptr(), values, indices)
    }

    /// Returns the bytes of scratch memory that the call needs with the threads of `exec`.
    pub fn workspace(&self, exec: &dyn On) -> usize {
        (self.size)(exec).expect("a size for a valid shape")
    }
}

/// Allocates scratch memory that is enough for each of `calls`.
pub fn workspace<T: Dtype>(calls: &[Call<T>], exec: &dyn On) -> Vec<MaybeUninit<u8>> {
    let sizes = calls.iter().map(|call| call.workspace(exec));
    vec![MaybeUninit::uninit(); sizes.max().unwrap_or(0)]
}

/// The list under construction.
struct List<T>(Vec<Call<T>>);

impl<T: Dtype> List<T> {
    fn add(
        &mut self,
        name: &str,
        shape: impl core::fmt::Debug,
        is_large: bool,
        body: impl Fn(&dyn On, *const T, *mut T, *mut i64) -> Result<()> + Send + Sync + 'static,
    ) {
        self.add_with(name, shape, is_large, |_| Ok(0), body);
    }

    fn add_with(
        &mut self,
        name: &str,
        shape: impl core::fmt::Debug,
        is_large: bool,
        size: impl Fn(&dyn On) -> Result<usize> + Send + Sync + 'static,
        body: impl Fn(&dyn On, *const T, *mut T, *mut i64) -> Result<()> + Send + Sync + 'static,
    ) {
        self.0.push(Call {
            name: name.into(),
            shape: format!("{} {shape:?}", T::DTYPE),
            is_large,
            body: Box::new(body),
            size: Box::new(size),
        });
    }
}

/// Returns at least one small and one large call of every operation.
pub fn calls<T: Dtype>() -> Vec<Call<T>> {
    calls_of_rows(16_001)
}

/// Like [`calls`], with `many` rows in the tall shapes.
pub fn calls_of_rows<T: Dtype>(many: i64) -> Vec<Call<T>> {
    let mut list = List(Vec::new());
    for n in [1, 4, 1000, LENGTH as i64 - 1] {
        vectors(&mut list, n);
    }
    for (m, n) in [(3, 5), (400, 499), (10, 19_999), (many, 12)] {
        rows(&mut list, m, n);
        maps(&mut list, m, n);
        outers(&mut list, m, n);
        least_squares(&mut list, m, n);
    }
    let shapes = [
        (1, 1, 1),
        (4, 4, 4),
        (64, 10, 100),
        (120, 110, 200),
        (400, 1, 499),
        (1, 400, 499),
        (400, 400, 4),
        (20, 24, 3000),
        (30, 40, 0),
    ];
    for shape in shapes {
        products(&mut list, shape);
    }
    list.0
}

/// Returns calls of `gemm` alone, for a shape (m, n, k).
pub fn calls_of_gemm<T: Dtype>(shape: (i64, i64, i64)) -> Vec<Call<T>> {
    let mut list = List(Vec::new());
    products(&mut list, shape);
    list.0.retain(|call| call.name == "gemm");
    list.0
}

/// The calls of both types, so that this library holds the operations' instances and no program compiles its own.
pub fn instances() -> (Vec<Call<f32>>, Vec<Call<f64>>) {
    (calls(), calls())
}

fn vectors<T: Dtype>(list: &mut List<T>, n: i64) {
    let large = n > 100_000;
    for op in elementwise::<T>() {
        list.add(op.name, n, large, move |e, x, p, _| {
            // SAFETY: arrays of n elements; the inputs may coincide.
            unsafe { op.call(e, n, x, x.add(1), &Scalars::ordinary(), p) }
        });
    }
    for op in reductions::<T>() {
        if n > op.ddof as i64 {
            list.add(op.name, n, large, move |e, x, p, indices| {
                // SAFETY: x has n elements, each output one.
                unsafe { op.call_native(e, n, x, 1, p, indices) }
            });
        }
    }
    for op in reductions::<T>().into_iter().filter(scales) {
        if n > op.ddof as i64 {
            list.add(op.name, (n, "huge"), large, move |e, x, p, indices| {
                // SAFETY: as above.
                unsafe { op.call_native(e, n, x.add(LENGTH), 1, p, indices) }
            });
        }
    }
    list.add("dot", n, large, move |e, x, p, _| {
        // SAFETY: vectors of n elements.
        unsafe { raw::dot(e, n, x, 1, x.add(1), 1, p) }
    });
    list.add("mse_grad", n, large, move |e, x, p, _| {
        // SAFETY: arrays of n elements, and one more for the loss.
        unsafe { raw::mse_grad(e, n, x, x.add(1), p.add(1), p) }
    });
}

fn rows<T: Dtype>(list: &mut List<T>, m: i64, n: i64) {
    for (rs, cs) in [(n, 1), (1, m)] {
        // A few long columns are a single column strip, which runs on one thread.
        let large = m * n > 100_000 && (cs == 1 || m > 100);
        let shape = (m, n, rs, cs);
        for op in reductions::<T>() {
            let name = format!("{}_rows", op.name);
            list.add(&name, shape, large, move |e, x, p, indices| {
                // SAFETY: x is an m by n matrix, and each output has m elements.
                unsafe { op.call_rows_native(e, m, n, x, rs, cs, p, indices) }
            });
        }
        for op in reductions::<T>().into_iter().filter(scales) {
            let (name, shape) = (format!("{}_rows", op.name), (shape, "huge"));
            list.add(&name, shape, large, move |e, x, p, indices| {
                // SAFETY: as above.
                unsafe { op.call_rows_native(e, m, n, x.add(LENGTH), rs, cs, p, indices) }
            });
        }
    }
}

/// The reductions that scale elements whose squares overflow.
const SCALING: [&str; 3] = ["nrm2", "var", "std"];

fn scales<T: Dtype>(op: &Reduction<T>) -> bool {
    SCALING.contains(&op.name)
}

/// Maps over rows, in rows, in columns, and from one to the other.
fn maps<T: Dtype>(list: &mut List<T>, m: i64, n: i64) {
    let (rows, columns) = ([n, 1], [1, m]);
    for [[rs, cs], [out_rs, out_cs]] in [[rows, rows], [columns, columns], [columns, rows]] {
        let shape = (m, n, rs, cs, out_rs, out_cs);
        let large = m * n > 100_000;
        let call = move |op: &RowMap<T>, e: &dyn On, x, p| {
            let shape = (m as usize, n as usize);
            // SAFETY: x and the output are m by n matrices.
            unsafe { op.call(e, shape, (x, rs, cs), (p, out_rs, out_cs)) }
        };
        for op in row_maps::<T>() {
            list.add(op.name, shape, large, move |e, x, p, _| call(&op, e, x, p));
        }
        let scaling = |op: &RowMap<T>| op.row.statistics.iter().any(|one| SCALING.contains(one));
        for op in row_maps::<T>().into_iter().filter(scaling) {
            list.add(
                op.name,
                (shape, "huge"),
                large,
                move |e, x: *const T, p, _| call(&op, e, x.wrapping_add(LENGTH), p),
            );
        }
    }
}

fn outers<T: Dtype>(list: &mut List<T>, m: i64, n: i64) {
    let large = m * n > 100_000;
    for (rs, cs) in [(n, 1), (1, m)] {
        list.add("outer", (m, n, rs, cs), large, move |e, x, p, _| {
            // SAFETY: vectors of m and n elements, a matrix of m by n.
            unsafe { raw::outer(e, m, n, x, 1, x, 1, p, rs, cs) }
        });
        list.add("ger", (m, n, rs, cs), large, move |e, x, p, _| {
            // SAFETY: as above.
            unsafe { raw::ger(e, m, n, T::of(0.7), x, 1, x, 1, p, rs, cs) }
        });
    }
}

fn least_squares<T: Dtype>(list: &mut List<T>, m: i64, n: i64) {
    // Threads share the work in blocks of 32 rows.
    let large = m * n > 100_000 && m > 64;
    for (rs, cs) in [(n, 1), (1, m)] {
        let size = move |e: &dyn On| raw::lsq_grad_workspace::<T>(e, m, n);
        list.add_with(
            "lsq_grad",
            (m, n, rs, cs),
            large,
            size,
            move |e, x, p, _| {
                // SAFETY: A is an m by n matrix, x and grad have n elements, and y has m.
                unsafe { raw::lsq_grad(e, m, n, x, rs, cs, x, x, p) }
            },
        );
    }
}

fn products<T: Dtype>(list: &mut List<T>, shape: (i64, i64, i64)) {
    let (m, n, k) = shape;
    let large = m * n * k > 2_000_000 || (m * n * k > 150_000 && (m == 1 || n == 1));
    let (alpha, beta) = (T::of(0.7), T::of(-1.3));
    let size = move |e: &dyn On| raw::gemm_workspace::<T>(e, m, n, k);
    for (rs, cs) in [(k, 1), (1, m)] {
        list.add_with("gemm", (shape, rs, cs), large, size, move |e, x, p, _| {
            // SAFETY: matrices of these shapes in arrays that are large enough.
            unsafe { raw::gemm(e, m, n, k, alpha, x, rs, cs, x, n, 1, beta, p, n, 1) }
        });
    }
    for bias_kind in [BiasKind::None, BiasKind::PerRow, BiasKind::PerColumn] {
        list.add_with("gemm_fused", shape, large, size, move |e, x, p, _| {
            let none = matches!(bias_kind, BiasKind::None);
            let epilogue = RawEpilogue {
                bias: if none { ptr::null() } else { x },
                bias_inc: 1,
                bias_kind,
                clamp: Some((T::of(-1.0), T::of(1.0))),
            };
            // SAFETY: as above; the bias has a value for each row or column.
            unsafe {
                raw::gemm_fused(
                    e, m, n, k, alpha, x, k, 1, x, n, 1, beta, p, n, 1, &epilogue,
                )
            }
        });
    }
    // As many products as the output array holds, up to 40, all with the same B.
    let batch = (LENGTH as i64 / (m * n).max(m * k)).min(40);
    let (a_bs, c_bs) = (m * k, m * n);
    list.add_with(
        "gemm_batched",
        (batch, shape),
        large && batch > 1,
        size,
        move |e, x, p, _| {
            // SAFETY: all matrices of the batch lie inside the arrays.
            unsafe {
                raw::gemm_batched(
                    e, m, n, k, alpha, x, k, 1, x, n, 1, beta, p, n, 1, batch, a_bs, 0, c_bs,
                )
            }
        },
    );
}

/// Returns the names that [`calls`] must cover: the operations of the library's table and their `_rows` forms.
pub fn table_names() -> std::collections::BTreeSet<String> {
    let ops = diptych::table::OPS.iter();
    let names = ops.flat_map(|op| {
        let rows = op.rows.then(|| format!("{}_rows", op.name));
        rows.into_iter().chain([op.name.to_string()])
    });
    names.collect()
}
