//! `outer`, `ger` and matrix products give the bits of the CPU backend, for layouts of all kinds.

use core::fmt::Display;

use diptych::{BiasKind, Exec};
use diptych_emulator::{Emulator, Schedule};
use diptych_tests::device::Config;
use diptych_tests::gpu;
use diptych_tests::raw::{self, On, RawEpilogue};
use diptych_tests::real::Dtype;
use fastrand::Rng;

/// An array that holds a batch of matrices: `at` is the index of the first element, `strides` those of batch, rows and
/// columns.
#[derive(Clone)]
struct Matrix<T> {
    data: Vec<T>,
    at: usize,
    strides: [i64; 3],
}

fn value<T: Dtype>(rng: &mut Rng) -> T {
    match rng.u32(0..40) {
        0 => T::zero(),
        1 => T::of(-0.0),
        2 => T::power_of_two(-100) * T::power_of_two(-20),
        _ => T::of(rng.f64() * 2.0 - 1.0),
    }
}

impl<T: Dtype> Matrix<T> {
    /// Lays out the dimensions in `order`, from the outermost to the innermost, with `gaps` from the innermost to the
    /// outermost.
    fn new(
        rng: &mut Rng,
        shape: [usize; 3],
        order: [usize; 3],
        gaps: [usize; 3],
        shift: usize,
    ) -> Self {
        let mut strides = [0; 3];
        let mut step = 1;
        for (d, gap) in order.into_iter().rev().zip(gaps) {
            step += gap as i64;
            strides[d] = step;
            step *= shape[d].max(1) as i64;
        }
        let len = step as usize + shift + 1;
        let mut data: Vec<T> = (0..len + 4).map(|_| value(rng)).collect();
        // The first element is `shift` elements after a multiple of 16 bytes.
        let mut at = shift;
        while !data[at - shift..].as_ptr().addr().is_multiple_of(16) {
            at += 1;
        }
        data.truncate(at + len);
        Self { data, at, strides }
    }

    /// Draws a layout: often contiguous, sometimes with gaps or unaligned; for inputs rarely with a zero stride or
    /// reversed.
    fn any(rng: &mut Rng, shape: [usize; 3], input: bool) -> Self {
        let order = if rng.bool() { [0, 1, 2] } else { [0, 2, 1] };
        let width = T::WIDTH as usize;
        let (gaps, shift) = match rng.u32(0..5) {
            0 | 1 => ([0; 3], 0),
            2 => ([0, 0, rng.usize(0..3)], 0),
            3 => ([0, rng.usize(0..3) * width, width], 0),
            _ => ([rng.usize(0..2), rng.usize(0..3), 1], rng.usize(0..3)),
        };
        let mut matrix = Self::new(rng, shape, order, gaps, shift);
        if input {
            match rng.u32(0..12) {
                0 => matrix.strides[1] = 0,
                1 => matrix.strides[2] = 0,
                2 => {
                    for (count, stride) in shape.iter().zip(&mut matrix.strides).skip(1) {
                        matrix.at += (count.max(&1) - 1) * *stride as usize;
                        *stride = -*stride;
                    }
                }
                _ => {}
            }
        }
        matrix
    }

    fn p(&self) -> *const T {
        self.data[self.at..].as_ptr()
    }
}

/// Returns the bits of each element; `None` for a NaN, whose bits are not specified.
fn bits<T: Dtype>(x: &[T]) -> Vec<Option<u64>> {
    let number = |x: &T| (!x.nan()).then(|| x.bits());
    x.iter().map(number).collect()
}

/// Makes a call on the CPU and on the device, each on its own copy of `c`, and compares.
fn compare<T: Dtype>(
    on: &dyn On,
    device: &dyn Display,
    c: &Matrix<T>,
    what: &str,
    call: impl Fn(&dyn On, *mut T) -> raw::Result<()>,
) {
    compare_with(&Exec::new(), on, device, c, what, call);
}

/// [`compare`] with calls on the CPU as `cpu` says.
fn compare_with<T: Dtype>(
    cpu: &Exec<'_>,
    on: &dyn On,
    device: &dyn Display,
    c: &Matrix<T>,
    what: &str,
    call: impl Fn(&dyn On, *mut T) -> raw::Result<()>,
) {
    let run = |on: &dyn On| {
        let mut c = c.clone();
        let done = call(on, c.data[c.at..].as_mut_ptr());
        done.unwrap_or_else(|error| panic!("{what} on {device}: {error}"));
        bits(&c.data)
    };
    let (wanted, found) = (run(cpu), run(on));
    let wrong = wanted.iter().zip(&found).filter(|(x, y)| x != y).count();
    assert_eq!(
        wrong, 0,
        "{what}, strides of C {:?}, on {device}",
        c.strides
    );
}

/// Compares a batch of products of this shape with the CPU; the seed determines all else. `device` describes `on`.
pub fn product<T: Dtype>(
    seed: u64,
    shape: (usize, usize, usize),
    batch: usize,
    on: &dyn On,
    device: &dyn Display,
) {
    let rng = &mut Rng::with_seed(seed);
    let (m, n, k) = shape;
    let a = Matrix::<T>::any(rng, [batch, m, k], true);
    let b = Matrix::<T>::any(rng, [batch, k, n], true);
    let mut c = Matrix::<T>::any(rng, [batch, m, n], false);
    let alpha = [T::one(), T::of(1.25), T::of(-0.7)][rng.usize(0..3)];
    let beta = [T::zero(), T::one(), T::of(0.3)][rng.usize(0..3)];
    if beta == T::zero() {
        c.data.fill(T::canonical_nan());
    }
    let bias = Matrix::<T>::new(rng, [1, 1, m.max(n) * 2], [0, 1, 2], [0; 3], 0);
    let epilogue = RawEpilogue {
        bias: bias.p(),
        bias_inc: rng.i64(0..3),
        bias_kind: [BiasKind::None, BiasKind::PerRow, BiasKind::PerColumn][rng.usize(0..3)],
        clamp: [
            None,
            Some((T::of(-0.5), T::of(0.75))),
            Some((T::canonical_nan(), T::one())),
        ][[0, 1, 1, 1, 2][rng.usize(0..5)]],
    };
    let fused = batch == 1 && rng.bool();
    let what = format!(
        "seed {seed}, {shape:?}, batch {batch}, fused {fused}, strides of A {:?} and B {:?}",
        a.strides, b.strides
    );
    let (m, n, k) = (m as i64, n as i64, k as i64);
    let [a_bs, a_rs, a_cs] = a.strides;
    let [b_bs, b_rs, b_cs] = b.strides;
    let [c_bs, c_rs, c_cs] = c.strides;
    // SAFETY: the arrays contain all elements that the strides reach.
    compare(on, device, &c, &what, |on, pc| unsafe {
        let (pa, pb) = (a.p(), b.p());
        if fused {
            raw::gemm_fused(
                on, m, n, k, alpha, pa, a_rs, a_cs, pb, b_rs, b_cs, beta, pc, c_rs, c_cs, &epilogue,
            )
        } else {
            let batch = batch as i64;
            raw::gemm_batched(
                on, m, n, k, alpha, pa, a_rs, a_cs, pb, b_rs, b_cs, beta, pc, c_rs, c_cs, batch,
                a_bs, b_bs, c_bs,
            )
        }
    });
}

/// Returns the schedules in rotation.
pub fn schedule(seed: u64) -> Schedule {
    match Schedule::ALL[seed as usize % Schedule::ALL.len()] {
        Schedule::Random(_) => Schedule::Random(seed),
        other => other,
    }
}

#[test]
fn products() {
    let mut rng = Rng::with_seed(1);
    for seed in 0..200 {
        let side = |rng: &mut Rng| match rng.u32(0..6) {
            0 => rng.usize(2..9),
            1 | 2 => rng.usize(2..40),
            3 => 4 * rng.usize(1..20),
            4 => rng.usize(2..140),
            _ => rng.usize(2..17),
        };
        let (m, n) = (side(&mut rng), side(&mut rng));
        let k = match rng.u32(0..6) {
            0 | 1 => rng.usize(0..20),
            2 | 3 => 4 * rng.usize(1..20),
            4 => rng.usize(200..600),
            _ => rng.usize(1..1100),
        };
        let batch = [1, 1, 1, 2, 5][rng.usize(0..5)];
        let config = Config {
            schedule: schedule(seed),
            multiprocessors: [1, 3, 40, 132][rng.usize(0..4)],
        };
        config.run(|on| product::<f32>(seed, (m, n, k), batch, on, &config));
        config.run(|on| product::<f64>(seed, (m, n, k), batch, on, &config));
    }
}

/// Shapes with few columns and a long k, and multiprocessors with which they run on the kernel for them: with 16 lanes
/// in a team, with 8, and with more segments than teams of either.
const FEW_COLUMNS: [([usize; 3], u32); 6] = [
    ([40, 5, 1030], 4),
    ([37, 2, 1024], 8),
    ([3, 70, 1284], 8),
    ([130, 16, 4 * 256 + 7], 20),
    ([33, 9, 33 * 256 + 20], 4),
    ([15, 3, 65 * 256 + 12], 4),
];

fn products_with_few_columns<T: Dtype>() {
    if gpu::skips("products::products_with_few_columns") {
        return;
    }
    for (seed, ([m, n, k], multiprocessors)) in (0..).zip(FEW_COLUMNS) {
        for batch in [1, 2] {
            let schedule = schedule(seed + batch as u64);
            let emulator = Emulator::new(schedule).with_multiprocessors(multiprocessors);
            product::<T>(seed, (m, n, k), batch, &emulator, &schedule);
            let launched = emulator.kernels();
            let alone = launched.iter().all(|name| name.starts_with("gemm_skinny"));
            assert!(alone, "{m}, {n}, {k} ran as {launched:?}");
        }
    }
}

/// Rows alone that have the bits of any batch: on tiles, and on the kernel for few columns.
fn rows_alone<T: Dtype>() {
    if gpu::skips("products::rows_alone") {
        return;
    }
    let shapes = [
        (40, 30),
        (7, 300),
        (130, 70),
        (3, 257),
        (37, 1024),
        (130, 1031),
        (1, 600),
    ];
    for (seed, (n, k)) in (0..).zip(shapes) {
        let schedule = schedule(seed);
        let emulator = Emulator::new(schedule)
            .with_multiprocessors(8)
            .batch_invariant();
        let rng = &mut Rng::with_seed(seed);
        let a = Matrix::<T>::any(rng, [1, 1, k], true);
        let b = Matrix::<T>::any(rng, [1, k, n], true);
        let c = Matrix::<T>::any(rng, [1, 1, n], false);
        let what = format!("a row of {n} columns, k {k}");
        let [_, a_rs, a_cs] = a.strides;
        let [_, b_rs, b_cs] = b.strides;
        let [_, c_rs, c_cs] = c.strides;
        let (n, k, one, scale) = (n as i64, k as i64, T::one(), T::of(0.3));
        let cpu = Exec::new().batch_invariant();
        // SAFETY: the arrays contain all elements that the strides reach.
        compare_with(&cpu, &emulator, &schedule, &c, &what, |on, pc| unsafe {
            let (pa, pb) = (a.p(), b.p());
            raw::gemm(
                on, 1, n, k, one, pa, a_rs, a_cs, pb, b_rs, b_cs, scale, pc, c_rs, c_cs,
            )
        });
        let launched = emulator.kernels();
        let vectors = launched.iter().any(|name| name.starts_with("gemv"));
        assert_eq!(vectors, n == 1, "{what} ran as {launched:?}");
    }
}

diptych_tests::per_dtype!(products_with_few_columns, rows_alone);

fn outer_product<T: Dtype>(seed: u64, m: usize, n: usize, config: Config, on: &dyn On) {
    let rng = &mut Rng::with_seed(seed);
    let out = Matrix::<T>::any(rng, [1, m, n], false);
    let x = Matrix::<T>::any(rng, [1, 1, m], true);
    let y = Matrix::<T>::any(rng, [1, 1, n], true);
    let updates = rng.bool();
    let what = format!("seed {seed}, {m} x {n}, ger {updates}");
    let (m, n) = (m as i64, n as i64);
    let (incx, incy) = (x.strides[2], y.strides[2]);
    let (rs, cs) = (out.strides[1], out.strides[2]);
    // SAFETY: the arrays contain all elements that the strides reach.
    compare(on, &config, &out, &what, |on, p| unsafe {
        if updates {
            raw::ger(on, m, n, T::of(0.7), x.p(), incx, y.p(), incy, p, rs, cs)
        } else {
            raw::outer(on, m, n, x.p(), incx, y.p(), incy, p, rs, cs)
        }
    });
}

#[test]
fn outer_products() {
    let mut rng = Rng::with_seed(2);
    for seed in 0..400 {
        let m = [rng.usize(1..6), rng.usize(1..70), rng.usize(1..300)][rng.usize(0..3)];
        let n = [rng.usize(1..6), 4 * rng.usize(1..20), rng.usize(1..300)][rng.usize(0..3)];
        let config = Config {
            schedule: schedule(seed),
            multiprocessors: [1, 132][rng.usize(0..2)],
        };
        config.run(|on| outer_product::<f32>(seed, m, n, config, on));
        config.run(|on| outer_product::<f64>(seed, m, n, config, on));
    }
}
