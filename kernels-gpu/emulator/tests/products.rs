//! outer, ger and the products of the device panel, against the CPU panel: the same bits, for every layout and
//! every size of tiles.

use diptych::raw::{self, RawEpilogue};
use diptych::{BiasKind, Exec};
use diptych_device::real::Real;
use diptych_emulator::{Emulator, Schedule};
use diptych_gpu::raw as gpu;
use fastrand::Rng;
use std::collections::BTreeSet;

/// An array with as many elements as a matrix needs, in which its first element and its strides are.
#[derive(Clone)]
struct Matrix<T> {
    data: Vec<T>,
    at: usize,
    strides: [i64; 3],
}

fn value<T: Real>(rng: &mut Rng) -> T {
    match rng.u32(0..40) {
        0 => T::ZERO,
        1 => T::from_f64(-0.0),
        2 => T::pow2(-100) * T::pow2(-20),
        _ => T::from_f64(rng.f64() * 2.0 - 1.0),
    }
}

impl<T: Real> Matrix<T> {
    /// Dimensions in this order from the outermost to the innermost, with a gap after each.
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
        // The first element at a multiple of 16 bytes, but for the shift.
        let mut at = shift;
        while !data[at - shift..].as_ptr().addr().is_multiple_of(16) {
            at += 1;
        }
        data.truncate(at + len);
        Self { data, at, strides }
    }

    /// A random layout: often plain, sometimes with gaps, unaligned, or turned round.
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

fn bits<T: Real>(x: &[T]) -> Vec<Option<u64>> {
    x.iter()
        .map(|&x| {
            // The bits of a NaN are not promised.
            (!x.is_nan()).then(|| {
                let mut bytes = [0; 8];
                // SAFETY: a number has no padding.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        (&raw const x).cast::<u8>(),
                        bytes.as_mut_ptr(),
                        size_of::<T>(),
                    )
                };
                u64::from_le_bytes(bytes)
            })
        })
        .collect()
}

struct Case {
    shape: (usize, usize, usize),
    batch: usize,
    multiprocessors: u32,
}

fn product<T: Real>(
    seed: u64,
    case: &Case,
    schedule: Schedule,
    kernels: &mut BTreeSet<&'static str>,
) {
    let rng = &mut Rng::with_seed(seed);
    let (m, n, k) = case.shape;
    let a = Matrix::<T>::any(rng, [case.batch, m, k], true);
    let b = Matrix::<T>::any(rng, [case.batch, k, n], true);
    let mut cpu = Matrix::<T>::any(rng, [case.batch, m, n], false);
    let alpha = [T::ONE, T::from_f64(1.25), T::from_f64(-0.7)][rng.usize(0..3)];
    let beta = [T::ZERO, T::ONE, T::from_f64(0.3)][rng.usize(0..3)];
    if beta == T::ZERO {
        cpu.data.fill(T::CANONICAL_NAN);
    }
    let device_c = cpu.clone();
    let bias = Matrix::<T>::new(rng, [1, 1, m.max(n) * 2], [0, 1, 2], [0; 3], 0);
    let kind = [BiasKind::None, BiasKind::PerRow, BiasKind::PerColumn][rng.usize(0..3)];
    let epilogue = RawEpilogue {
        bias: bias.p(),
        bias_inc: rng.i64(0..3),
        bias_kind: kind,
        clamp: [
            None,
            Some((T::from_f64(-0.5), T::from_f64(0.75))),
            Some((T::CANONICAL_NAN, T::ONE)),
        ][[0, 1, 1, 1, 2][rng.usize(0..5)]],
    };
    let fused = case.batch == 1 && rng.bool();
    let device = Emulator::new(schedule).with_multiprocessors(case.multiprocessors);
    let (pc, pd) = (
        cpu.data[cpu.at..].as_mut_ptr(),
        device_c.data[device_c.at..].as_ptr().cast_mut(),
    );
    let [a_bs, a_rs, a_cs] = a.strides;
    let [b_bs, b_rs, b_cs] = b.strides;
    let [c_bs, c_rs, c_cs] = cpu.strides;
    let (mi, ni, ki) = (m as i64, n as i64, k as i64);
    let what = format!(
        "seed {seed} {:?} batch {} sm {} a {:?} b {:?} c {:?} fused {fused} {schedule}",
        case.shape, case.batch, case.multiprocessors, a.strides, b.strides, cpu.strides
    );
    // SAFETY: the arrays have the elements.
    unsafe {
        if fused {
            raw::gemm_fused(
                &Exec::new(),
                mi,
                ni,
                ki,
                alpha,
                a.p(),
                a_rs,
                a_cs,
                b.p(),
                b_rs,
                b_cs,
                beta,
                pc,
                c_rs,
                c_cs,
                &epilogue,
            )
            .unwrap();
            gpu::gemm_fused(
                &device,
                mi,
                ni,
                ki,
                alpha,
                a.p(),
                a_rs,
                a_cs,
                b.p(),
                b_rs,
                b_cs,
                beta,
                pd,
                c_rs,
                c_cs,
                &epilogue,
            )
        } else {
            raw::gemm_batched(
                &Exec::new(),
                mi,
                ni,
                ki,
                alpha,
                a.p(),
                a_rs,
                a_cs,
                b.p(),
                b_rs,
                b_cs,
                beta,
                pc,
                c_rs,
                c_cs,
                case.batch as i64,
                a_bs,
                b_bs,
                c_bs,
            )
            .unwrap();
            gpu::gemm_batched(
                &device,
                mi,
                ni,
                ki,
                alpha,
                a.p(),
                a_rs,
                a_cs,
                b.p(),
                b_rs,
                b_cs,
                beta,
                pd,
                c_rs,
                c_cs,
                case.batch as i64,
                a_bs,
                b_bs,
                c_bs,
            )
        }
        .unwrap_or_else(|e| panic!("{what}: {e}"));
    }
    kernels.extend(device.kernels());
    let (x, y) = (bits(&cpu.data), bits(&device_c.data));
    let wrong = x.iter().zip(&y).filter(|(x, y)| x != y).count();
    assert_eq!(wrong, 0, "{what} {:?}", device.kernels());
}

#[test]
fn products() {
    let mut kernels = BTreeSet::new();
    let mut rng = Rng::with_seed(1);
    let cases: u64 = std::env::var("CASES").map_or(200, |x| x.parse().unwrap());
    for seed in 0..cases {
        let side = |rng: &mut Rng| match rng.u32(0..6) {
            0 => rng.usize(2..9),
            1 | 2 => rng.usize(2..40),
            3 => 4 * rng.usize(1..20),
            4 => rng.usize(2..140),
            _ => rng.usize(2..17),
        };
        let shape = (
            side(&mut rng),
            side(&mut rng),
            [
                rng.usize(0..20),
                4 * rng.usize(1..20),
                rng.usize(200..600),
                rng.usize(1..1100),
            ][[0, 0, 1, 1, 2, 3][rng.usize(0..6)]],
        );
        let case = Case {
            shape,
            batch: [1, 1, 1, 2, 5][rng.usize(0..5)],
            multiprocessors: [1, 3, 40, 132][rng.usize(0..4)],
        };
        let schedule = [
            Schedule::Lockstep,
            Schedule::InOrder,
            Schedule::Reverse,
            Schedule::Random(seed),
        ][seed as usize % 4];
        product::<f32>(seed, &case, schedule, &mut kernels);
        product::<f64>(seed, &case, schedule, &mut kernels);
    }
    println!("{kernels:#?}");
}

fn matrix<T: Real>(seed: u64, m: usize, n: usize, multiprocessors: u32, schedule: Schedule) {
    let rng = &mut Rng::with_seed(seed);
    let mut cpu = Matrix::<T>::any(rng, [1, m, n], false);
    let x = Matrix::<T>::any(rng, [1, 1, m], true);
    let y = Matrix::<T>::any(rng, [1, 1, n], true);
    let device_c = cpu.clone();
    let device = Emulator::new(schedule).with_multiprocessors(multiprocessors);
    let alpha = T::from_f64(0.7);
    let (mi, ni) = (m as i64, n as i64);
    let (incx, incy) = (x.strides[2], y.strides[2]);
    let (rs, cs) = (cpu.strides[1], cpu.strides[2]);
    let pc = cpu.data[cpu.at..].as_mut_ptr();
    let pd = device_c.data[device_c.at..].as_ptr().cast_mut();
    // SAFETY: the arrays have the elements.
    unsafe {
        if rng.bool() {
            raw::outer(&Exec::new(), mi, ni, x.p(), incx, y.p(), incy, pc, rs, cs).unwrap();
            gpu::outer(&device, mi, ni, x.p(), incx, y.p(), incy, pd, rs, cs).unwrap();
        } else {
            raw::ger(
                &Exec::new(),
                mi,
                ni,
                alpha,
                x.p(),
                incx,
                y.p(),
                incy,
                pc,
                rs,
                cs,
            )
            .unwrap();
            gpu::ger(&device, mi, ni, alpha, x.p(), incx, y.p(), incy, pd, rs, cs).unwrap();
        }
    }
    assert!(
        bits(&cpu.data) == bits(&device_c.data),
        "seed {seed} {m} {n} {:?}",
        cpu.strides
    );
}

#[test]
fn outer_products() {
    let mut rng = Rng::with_seed(2);
    for seed in 0..400 {
        let m = [rng.usize(1..6), rng.usize(1..70), rng.usize(1..300)][rng.usize(0..3)];
        let n = [rng.usize(1..6), 4 * rng.usize(1..20), rng.usize(1..300)][rng.usize(0..3)];
        let schedule = Schedule::ALL[seed as usize % 4];
        let multiprocessors = [1, 132][rng.usize(0..2)];
        matrix::<f32>(seed, m, n, multiprocessors, schedule);
        matrix::<f64>(seed, m, n, multiprocessors, schedule);
    }
}
