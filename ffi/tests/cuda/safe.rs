//! Every function of the crate `diptych-gpu` on buffers gives the bits of the function of `diptych` of its name.

use core::cell::RefCell;
use core::fmt::Debug;
use std::collections::BTreeSet;
use std::path::Path;

use diptych::{Bias, BiasKind, Element, Epilogue, Exec};
use diptych_device::real::Real;
use diptych_gpu::{
    BatchMut, BatchRef, Context, DeviceBuffer, Item, MatMut, MatRef, Stream, VecRef,
};

/// What outputs hold.
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

/// Inputs, on the host or on the device.
struct Inputs<V> {
    x: V,
    y: V,
}

/// What all cases begin with, and the names of those that are done.
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

    /// The output of the function `name` is what the CPU has given.
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

/// A case for each function: what it writes, its name, and its arguments as both crates have them.
macro_rules! cases {
    ($cases:ident: $($kind:ident $name:ident($($arg:tt)*);)*) => {$(
        cases!(@$kind $cases $name $($arg)*);
    )*};
    (@array $cases:ident $name:ident $($arg:tt)*) => {{
        let (mut wanted, mut out) = ($cases.before.clone(), $cases.buffer(&$cases.before));
        diptych::$name(&Exec::new(), $(cases!(@arg $cases host $arg),)* &mut wanted).expect("a result");
        diptych_gpu::$name($(cases!(@arg $cases gpu $arg),)* &mut out).expect("a launch");
        $cases.compare(stringify!($name), &out, &wanted);
    }};
    (@in_place $cases:ident $name:ident $($arg:tt)*) => {{
        let (mut wanted, mut out) = ($cases.before.clone(), $cases.buffer(&$cases.before));
        diptych::$name(&Exec::new(), $(cases!(@in_place_arg $cases host wanted $arg)),*).expect("a result");
        diptych_gpu::$name($(cases!(@in_place_arg $cases gpu out $arg)),*).expect("a launch");
        $cases.compare(stringify!($name), &out, &wanted);
    }};
    (@value $cases:ident $name:ident $($arg:tt)*) => {{
        let wanted = diptych::$name(&Exec::new(), $(cases!(@arg $cases host $arg)),*).expect("a result");
        let mut out = $cases.buffer(&[T::ZERO]);
        diptych_gpu::$name($(cases!(@arg $cases gpu $arg),)* &mut out).expect("a launch");
        $cases.compare(stringify!($name), &out, &[wanted]);
    }};
    (@index $cases:ident $name:ident) => {{
        let wanted = diptych::$name(&Exec::new(), &$cases.host.x).expect("a result");
        let mut out = $cases.buffer(&[0i64]);
        diptych_gpu::$name(&$cases.gpu.x, &mut out).expect("a launch");
        $cases.compare(stringify!($name), &out, &[wanted as i64]);
    }};
    (@rows $cases:ident $name:ident $Out:ident $($ddof:literal)?) => {{
        let (m, n) = SHAPE;
        for (m, turned) in [(m, false), (n, true)] {
            let x = diptych::MatRef::new(&$cases.host.x, SHAPE.0, n).expect("a view");
            let (mut wanted, x) = (vec![$Out::default(); m], if turned { x.t() } else { x });
            diptych::$name(&Exec::new(), x, $($ddof,)? &mut wanted[..]).expect("a result");
            let x = MatRef::new(&$cases.gpu.x, SHAPE.0, n).expect("a view");
            let (mut out, x) = ($cases.buffer(&vec![$Out::default(); m]), if turned { x.t() } else { x });
            diptych_gpu::$name(x, $($ddof,)? &mut out).expect("a launch");
            $cases.compare(stringify!($name), &out, &wanted);
        }
    }};
    (@in_place_arg $cases:ident $from:ident $to:ident out) => { &mut $to };
    (@in_place_arg $cases:ident $from:ident $to:ident $arg:tt) => { cases!(@arg $cases $from $arg) };
    (@arg $cases:ident $from:ident x) => { &$cases.$from.x };
    (@arg $cases:ident $from:ident y) => { &$cases.$from.y };
    (@arg $cases:ident $from:ident lo) => { T::from_f64(-0.4) };
    (@arg $cases:ident $from:ident hi) => { T::from_f64(0.6) };
    (@arg $cases:ident $from:ident alpha) => { T::from_f64(-1.3) };
    (@arg $cases:ident $from:ident $value:literal) => { $value };
}

fn elementwise<T: Number>(cases: &Cases<'_, T>) {
    cases! { cases:
        array clamp(x lo hi);
        array clamp_backward(x y lo hi);
        array add(x y);
        array sub(x y);
        array mul(x y);
        array div(x y);
        array scale(alpha x);
        array axpy(alpha x);
        array square(x);
        array fill(alpha);
        in_place clamp_in_place(out lo hi);
        in_place add_in_place(out y);
        in_place sub_in_place(out y);
        in_place mul_in_place(out y);
        in_place div_in_place(out y);
        in_place scale_in_place(alpha out);
        in_place square_in_place(out);
    }
}

fn reductions<T: Number + Default>(cases: &Cases<'_, T>) {
    cases! { cases:
        value sum(x);
        value mean(x);
        value prod(x);
        value min(x);
        value max(x);
        value sumsq(x);
        value asum(x);
        value nrm2(x);
        value var(x 1);
        value logsumexp(x);
        value dot(x y);
        index argmin();
        index argmax();
        rows sum_rows(T);
        rows mean_rows(T);
        rows prod_rows(T);
        rows min_rows(T);
        rows max_rows(T);
        rows sumsq_rows(T);
        rows asum_rows(T);
        rows nrm2_rows(T);
        rows var_rows(T 1);
        rows logsumexp_rows(T);
        rows argmin_rows(i64);
        rows argmax_rows(i64);
    }
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

fn all<T: Number + Default>(stream: &Stream) -> BTreeSet<String> {
    let cases = &Cases::<T>::new(stream);
    elementwise(cases);
    reductions(cases);
    fused(cases);
    outer_products(cases);
    products(cases);
    batches(cases);
    cases.done.take()
}

/// The functions of the files that `api/mod.rs` re-exports whole: those that are written out, and those that are
/// rows of a table.
fn public() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels-gpu/src/api");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a source file");
    let mut names = BTreeSet::new();
    for file in read("mod.rs").lines() {
        let file = file
            .strip_prefix("pub use ")
            .and_then(|file| file.strip_suffix("::*;"));
        let text = file.map_or(String::new(), |file| read(&format!("{file}.rs")));
        let mut is_table = false;
        for line in text.lines() {
            let row = if is_table {
                line.strip_prefix("    ")
            } else {
                line.strip_prefix("pub fn ")
            };
            let row = row.and_then(|row| row.split(['(', '<', '=', '-']).next());
            names.extend(
                row.into_iter()
                    .flat_map(|row| row.split(','))
                    .map(|name| name.trim().to_string()),
            );
            is_table = line.ends_with("! {") || (is_table && line != "}");
        }
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
        for op in diptych::table::OPS {
            let rows = op.rows.then(|| format!("{}_rows", op.name));
            for name in rows.into_iter().chain([op.name.to_string()]) {
                assert!(public.contains(&name), "kernels-gpu/src/api lacks {name}");
            }
        }
    }
}
