//! Every function of the crate `diptych-gpu` on buffers gives the same bits as the function of `diptych` with the same
//! name.

use core::cell::RefCell;
use core::fmt::Debug;
use std::collections::BTreeSet;
use std::path::Path;

use diptych::table::{Bound, Role};
use diptych::{
    Bias, BiasKind, Element, Epilogue, Exec, for_each_elementwise, for_each_reduction,
    for_each_row_map, table,
};
use diptych_device::real::Real;
use diptych_gpu::{
    BatchMut, BatchRef, Context, DeviceBuffer, Item, MatMut, MatRef, Stream, VecRef,
};

/// An element type of outputs.
trait Bits: Item + Debug {
    fn bits(self) -> u64;
}

macro_rules! bits {
    ($($T:ty, $value:ident => $bits:expr;)*) => {$(
        impl Bits for $T {
            fn bits(self) -> u64 {
                let $value = self;
                $bits
            }
        }
    )*};
}

bits! {
    f32, x => x.to_bits().into();
    f64, x => x.to_bits();
    i64, x => x as u64;
}

trait Number: Real + Bits {}
impl<T: Real + Bits> Number for T {}

/// Rows and columns of the matrices.
const SHAPE: (usize, usize) = (37, 60);

/// The inputs, on the host or on the device.
struct Inputs<V> {
    x: V,
    y: V,
}

impl<V> Inputs<V> {
    fn in_turn(&self) -> impl Iterator<Item = &V> {
        [&self.x, &self.y].into_iter()
    }
}

/// The inputs that all cases share, and the names of the functions called so far.
struct Cases<'s, T: Item> {
    stream: &'s Stream,
    host: Inputs<Vec<T>>,
    gpu: Inputs<DeviceBuffer<'s, T>>,
    before: Vec<T>,
    done: RefCell<BTreeSet<String>>,
}

fn numbers<T: Element>(factor: usize) -> Vec<T> {
    let number = |i: usize| T::from_f64(((i * factor + 1) % 257) as f64 / 128.0 - 1.003);
    (0..SHAPE.0 * SHAPE.1).map(number).collect()
}

impl<'s, T: Number> Cases<'s, T> {
    fn new(stream: &'s Stream) -> Self {
        let host = Inputs {
            x: numbers(37),
            y: numbers(101),
        };
        let buffer = |values| DeviceBuffer::from_slice(stream, values).expect("memory");
        Cases {
            gpu: Inputs {
                x: buffer(&host.x),
                y: buffer(&host.y),
            },
            stream,
            host,
            before: numbers(53),
            done: RefCell::default(),
        }
    }

    fn buffer<U: Item>(&self, values: &[U]) -> DeviceBuffer<'s, U> {
        DeviceBuffer::from_slice(self.stream, values).expect("memory")
    }

    /// Panics unless the output of the function `name` equals the CPU's, and records the name.
    fn compare<U: Bits>(&self, name: &str, found: &DeviceBuffer<'_, U>, wanted: &[U]) {
        let mut values = wanted.to_vec();
        found.copy_to(&mut values).expect("a copy");
        let bits = |values: &[U]| values.iter().map(|v| v.bits()).collect::<Vec<_>>();
        assert!(
            bits(&values) == bits(wanted),
            "{name}: {values:?}, not {wanted:?}"
        );
        self.done.borrow_mut().insert(name.to_string());
    }
}

/// Returns a scalar for an argument of this role.
fn scalar<T: Element>(role: Role) -> T {
    T::from_f64(match role.bound() {
        Some(Bound::Lower) => -0.4,
        Some(Bound::Upper) => 0.6,
        None => -1.3,
    })
}

/// Tests each elementwise operation, out of place and in place.
macro_rules! elementwise {
    ({ $cases:ident } $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $in_place:tt)*) => {$({
        let (mut wanted, mut out) = ($cases.before.clone(), $cases.buffer(&$cases.before));
        #[allow(unused_mut, unused_variables)] // An operation may have no inputs.
        let (mut host, mut gpu) = ($cases.host.in_turn(), $cases.gpu.in_turn());
        diptych::$name(&Exec::new(), $(elementwise!(@argument $kind $role host),)* &mut wanted).expect("a result");
        diptych_gpu::$name($(elementwise!(@argument $kind $role gpu),)* &mut out).expect("a launch");
        $cases.compare(stringify!($name), &out, &wanted);
        elementwise!(@in_place $in_place $cases $($kind $role)*);
    })*};
    (@in_place [] $($rest:tt)*) => {};
    (@in_place [$name:ident] $cases:ident $($kind:ident $role:ident)*) => {
        let (mut wanted, mut out) = ($cases.before.clone(), $cases.buffer(&$cases.before));
        #[allow(unused_mut, unused_variables)]
        let (mut host, mut gpu) = ($cases.host.in_turn(), $cases.gpu.in_turn());
        diptych::$name(&Exec::new(), $(elementwise!(@replacing $kind $role host wanted)),*).expect("a result");
        diptych_gpu::$name($(elementwise!(@replacing $kind $role gpu out)),*).expect("a launch");
        $cases.compare(stringify!($name), &out, &wanted);
    };
    (@argument scalar $role:ident $inputs:ident) => { scalar(Role::$role) };
    (@argument array $role:ident $inputs:ident) => { $inputs.next().expect("no more than two inputs") };
    (@replacing array replaced $inputs:ident $out:ident) => {{
        $inputs.next();
        &mut $out
    }};
    (@replacing $kind:ident $role:ident $inputs:ident $out:ident) => { elementwise!(@argument $kind $role $inputs) };
}

fn elementwise<T: Number>(cases: &Cases<'_, T>) {
    for_each_elementwise!(elementwise! { cases } [name arguments roles in_place]);
}

/// Tests each reduction, of a vector and of the rows and columns of a matrix.
macro_rules! reductions {
    ({ $cases:ident } $($name:ident $rows:ident [$($ddof:ident)?] $Out:ident)*) => {$({
        let wanted = diptych::$name(&Exec::new(), &$cases.host.x $(, reductions!(@one $ddof))?).expect("a result");
        let mut out = $cases.buffer(&[reductions!(@zero $Out)]);
        diptych_gpu::$name(&$cases.gpu.x, $(reductions!(@one $ddof),)? &mut out).expect("a launch");
        $cases.compare(stringify!($name), &out, &[reductions!(@$Out wanted)]);
        let (m, n) = SHAPE;
        for (m, transposed) in [(m, false), (n, true)] {
            let x = diptych::MatRef::new(&$cases.host.x, SHAPE.0, n).expect("a view");
            let (mut wanted, x) = (vec![reductions!(@zero $Out); m], if transposed { x.t() } else { x });
            diptych::$rows(&Exec::new(), x, $(reductions!(@one $ddof),)? &mut wanted[..]).expect("a result");
            let x = MatRef::new(&$cases.gpu.x, SHAPE.0, n).expect("a view");
            let (mut out, x) = ($cases.buffer(&vec![reductions!(@zero $Out); m]), if transposed { x.t() } else { x });
            diptych_gpu::$rows(x, $(reductions!(@one $ddof),)? &mut out).expect("a launch");
            $cases.compare(stringify!($rows), &out, &wanted);
        }
    })*};
    (@one $ddof:ident) => { 1 };
    (@zero element) => { T::ZERO };
    (@zero count) => { 0i64 };
    (@zero index) => { 0i64 };
    (@element $value:ident) => { $value };
    (@count $value:ident) => { $value as i64 };
    (@index $value:ident) => { $value as i64 };
}

fn reductions<T: Number>(cases: &Cases<'_, T>) {
    for_each_reduction!(reductions! { cases } [name rows ddof result]);
    let Inputs { x, y } = &cases.host;
    let wanted = diptych::dot(&Exec::new(), x, y).expect("a result");
    let mut out = cases.buffer(&[T::ZERO]);
    diptych_gpu::dot(&cases.gpu.x, &cases.gpu.y, &mut out).expect("a launch");
    cases.compare("dot", &out, &[wanted]);
}

/// Tests each map over rows, of rows and of columns, out of place and in place.
macro_rules! row_maps {
    ({ $cases:ident } $($name:ident $in_place:ident)*) => {$({
        let (m, n) = SHAPE;
        for transposed in [false, true] {
            let (mut wanted, mut out) = ($cases.before.clone(), $cases.buffer(&$cases.before));
            let x = diptych::MatRef::new(&$cases.host.x, m, n).expect("a view");
            let to = diptych::MatMut::new(&mut wanted, m, n).expect("a view");
            let (x, to) = if transposed { (x.t(), to.t()) } else { (x, to) };
            diptych::$name(&Exec::new(), x, to).expect("a result");
            let x = MatRef::new(&$cases.gpu.x, m, n).expect("a view");
            let to = MatMut::new(&mut out, m, n).expect("a view");
            let (x, to) = if transposed { (x.t(), to.t()) } else { (x, to) };
            diptych_gpu::$name(x, to).expect("a launch");
            $cases.compare(stringify!($name), &out, &wanted);

            let (mut wanted, mut out) = ($cases.before.clone(), $cases.buffer(&$cases.before));
            let x = diptych::MatMut::new(&mut wanted, m, n).expect("a view");
            diptych::$in_place(&Exec::new(), if transposed { x.t() } else { x }).expect("a result");
            let x = MatMut::new(&mut out, m, n).expect("a view");
            diptych_gpu::$in_place(if transposed { x.t() } else { x }).expect("a launch");
            $cases.compare(stringify!($in_place), &out, &wanted);
        }
        let x = MatRef::new(&$cases.gpu.x, m, n).expect("a view");
        let mut out = $cases.buffer(&$cases.before);
        let turned = MatMut::new(&mut out, n, m).expect("a view");
        assert_eq!(diptych_gpu::$name(x, turned), Err(diptych::Error::ShapeMismatch { arg: "out" }.into()));
    })*};
}

fn row_maps<T: Number>(cases: &Cases<'_, T>) {
    for_each_row_map!(row_maps! { cases } [name in_place]);
}

fn fused<T: Number>(cases: &Cases<'_, T>) {
    let ((m, n), exec) = (SHAPE, Exec::new());
    let mut wanted = cases.before.clone();
    let loss = diptych::mse_grad(&exec, &cases.host.x, &cases.host.y, &mut wanted).expect("a loss");
    let (mut grad, mut out) = (cases.buffer(&cases.before), cases.buffer(&[T::ZERO]));
    diptych_gpu::mse_grad(&cases.gpu.x, &cases.gpu.y, &mut grad, &mut out).expect("a launch");
    cases.compare("mse_grad", &grad, &wanted);
    cases.compare("mse_grad", &out, &[loss]);

    let (x, y) = (cases.host.y[..n].to_vec(), cases.host.y[..m].to_vec());
    let a = diptych::MatRef::new(&cases.host.x, m, n).expect("a view");
    wanted.truncate(n);
    diptych::lsq_grad(&exec, a, &x, &y, &mut wanted).expect("a gradient");
    let (x, y) = (cases.buffer(&x), cases.buffer(&y));
    let bytes = diptych_gpu::lsq_grad_workspace::<T>(cases.stream, m, n).expect("a size");
    let mut workspace = cases.buffer(&vec![0u8; bytes]);
    let small = &mut cases.buffer(&vec![0u8; bytes - 1]);
    let mut grad = cases.buffer(&cases.before[..n]);
    let a = MatRef::new(&cases.gpu.x, m, n).expect("a view");
    assert!(diptych_gpu::lsq_grad(a, &x, &y, &mut grad, Some(small)).is_err());
    for workspace in [None, Some(&mut workspace)] {
        diptych_gpu::lsq_grad(a, &x, &y, &mut grad, workspace).expect("a launch");
        cases.compare("lsq_grad", &grad, &wanted);
    }
    let done = "lsq_grad_workspace".to_string();
    cases.done.borrow_mut().insert(done);
}

fn outer_products<T: Number>(cases: &Cases<'_, T>) {
    let ((m, n), exec, alpha) = (SHAPE, Exec::new(), T::from_f64(0.7));
    let Inputs { x, y } = &cases.host;
    let (mut wanted, mut out) = (cases.before.clone(), cases.buffer(&cases.before));
    let strided = VecRef::new(&cases.gpu.y, 1, n, 2).expect("a view");
    let (x, y) = (
        &x[..m],
        diptych::VecRef::with_stride(y, 1, n, 2).expect("a view"),
    );
    let short = VecRef::new(&cases.gpu.x, 0, m, 1).expect("a view");
    for name in ["outer", "ger"] {
        let to = diptych::MatMut::new(&mut wanted, m, n).expect("a view");
        let place = MatMut::new(&mut out, m, n).expect("a view");
        if name == "outer" {
            diptych::outer(&exec, x, y, to).expect("a matrix");
            diptych_gpu::outer(short, strided, place).expect("a launch");
        } else {
            diptych::ger(&exec, alpha, x, y, to).expect("a matrix");
            diptych_gpu::ger(alpha, short, strided, place).expect("a launch");
        }
        cases.compare(name, &out, &wanted);
    }
}

fn products<T: Number>(cases: &Cases<'_, T>) {
    let ((m, k), exec) = (SHAPE, Exec::new());
    let (alpha, beta) = (T::from_f64(1.25), T::from_f64(0.3));
    let (mut wanted, mut out) = (
        cases.before[..m * m].to_vec(),
        cases.buffer(&cases.before[..m * m]),
    );
    let a = diptych::MatRef::new(&cases.host.x, m, k).expect("a view");
    let b = diptych::MatRef::new(&cases.host.y, m, k)
        .expect("a view")
        .t();
    let da = MatRef::new(&cases.gpu.x, m, k).expect("a view");
    let db = MatRef::new(&cases.gpu.y, m, k).expect("a view").t();
    let c = diptych::MatMut::new(&mut wanted, m, m).expect("a view");
    diptych::gemm(&exec, alpha, a, b, beta, c).expect("a product");
    let c = MatMut::new(&mut out, m, m).expect("a view");
    diptych_gpu::gemm(alpha, da, db, beta, c).expect("a launch");
    cases.compare("gemm", &out, &wanted);

    let clamp = Some((T::from_f64(-2.0), T::from_f64(1.5)));
    let bias = &cases.host.x[..m];
    let device_bias = VecRef::new(&cases.gpu.x, 0, m, 1).expect("a view");
    for (bias, kind) in [
        (Bias::None, None),
        (Bias::PerRow(bias.into()), Some(BiasKind::PerRow)),
        (Bias::PerColumn(bias.into()), Some(BiasKind::PerColumn)),
    ] {
        let mut out = cases.buffer(&wanted);
        let c = MatMut::new(&mut out, m, m).expect("a view");
        let device_bias = kind.map(|kind| (kind, device_bias));
        diptych_gpu::gemm_fused(alpha, da, db, beta, c, device_bias, clamp).expect("a launch");
        let c = diptych::MatMut::new(&mut wanted, m, m).expect("a view");
        diptych::gemm_fused(&exec, alpha, a, b, beta, c, &Epilogue { bias, clamp })
            .expect("a product");
        cases.compare("gemm_fused", &out, &wanted);
    }
}

fn batches<T: Number>(cases: &Cases<'_, T>) {
    let (batch, m, k) = (5, 4, 6);
    let (alpha, beta) = (T::from_f64(1.25), T::from_f64(0.3));
    let before = cases.before[..batch * m * m].to_vec();
    let (x, y) = (
        &cases.host.x[..batch * m * k],
        &cases.host.y[..batch * m * k],
    );
    let (dx, dy) = (cases.buffer(x), cases.buffer(y));
    let (mut wanted, mut out) = (before.clone(), cases.buffer(&before));
    let a = diptych::BatchRef::new(x, batch, m, k).expect("a view");
    let b = diptych::BatchRef::new(y, batch, k, m).expect("a view");
    let c = diptych::BatchMut::new(&mut wanted, batch, m, m).expect("a view");
    diptych::gemm_batched(&Exec::new(), alpha, a, b, beta, c).expect("products");
    let a = BatchRef::new(&dx, batch, m, k).expect("a view");
    let b = BatchRef::new(&dy, batch, k, m).expect("a view");
    let c = BatchMut::new(&mut out, batch, m, m).expect("a view");
    diptych_gpu::gemm_batched(alpha, a, b, beta, c).expect("a launch");
    cases.compare("gemm_batched", &out, &wanted);
}

fn all<T: Number>(stream: &Stream) -> BTreeSet<String> {
    let cases = &Cases::<T>::new(stream);
    elementwise(cases);
    reductions(cases);
    row_maps(cases);
    fused(cases);
    outer_products(cases);
    products(cases);
    batches(cases);
    cases.done.take()
}

/// Returns the names of the public functions: those that are written out in the files that `api/mod.rs` re-exports
/// with `*`, and those that are expanded from the table.
fn public() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels-gpu/src/api");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a source file");
    let mut names = BTreeSet::new();
    for file in read("mod.rs").lines() {
        let file = file
            .strip_prefix("pub use ")
            .and_then(|file| file.strip_suffix("::*;"));
        let text = file.map_or(String::new(), |file| read(&format!("{file}.rs")));
        let functions = text.lines().filter_map(|line| line.strip_prefix("pub fn "));
        let names_of = functions.filter_map(|line| line.split(['(', '<']).next());
        names.extend(names_of.map(String::from));
    }
    for row in table::ELEMENTWISE {
        names.extend([row.name].into_iter().chain(row.in_place).map(String::from));
    }
    for row in table::ROW_MAPS {
        names.extend([row.name, row.in_place].map(String::from));
    }
    for row in table::REDUCTIONS {
        names.extend([row.name.to_string(), format!("{}_rows", row.name)]);
    }
    names
}

crate::scenarios! {
    New every_function_gives_the_bits_of_the_cpu() {
        let context = Context::new(0).expect("a device");
        let stream = Stream::new(&context).expect("a stream");
        let public = public();
        assert_eq!(all::<f32>(&stream), public, "called here, and in kernels-gpu/src/api");
        assert_eq!(all::<f64>(&stream), public, "called here, and in kernels-gpu/src/api");
        for op in table::OPS {
            let rows = op.rows.then(|| format!("{}_rows", op.name));
            for name in rows.into_iter().chain([op.name.to_string()]) {
                assert!(public.contains(&name), "kernels-gpu/src/api lacks {name}");
            }
        }
    }
}
