//! Every kernel of products on the emulator, whether or not an estimate would choose it: the bits of the CPU.

use super::plan::Plan;
use super::*;
use diptych::Exec;
use diptych_device::launch::entry::ALL;
use diptych_emulator::{Emulator, Schedule};
use std::collections::BTreeSet;

/// Tiles of every size have edges, and there are three segments.
const SHAPE: (usize, usize, usize) = (150, 70, 520);

fn elements<T: Real>(count: usize, factor: usize) -> Vec<T> {
    let element = |i: usize| T::from_f64(((i * factor) % 257) as f64 / 128.0 - 1.0);
    (0..count).map(element).collect()
}

/// Runs the product under each plan; which entries ran.
fn every_plan<T: Real>() -> BTreeSet<&'static str> {
    let (m, n, k) = SHAPE;
    let (a, b) = (elements::<T>(m * k, 37), elements::<T>(k * n, 101));
    let before = elements::<T>(m * n, 53);
    let (alpha, beta) = (T::from_f64(1.25), T::from_f64(0.3));
    let arguments = |c: *mut T| Arguments {
        m: m as i64,
        n: n as i64,
        k: k as i64,
        alpha,
        a: (a.as_ptr(), [0, k as i64, 1]),
        b: (b.as_ptr(), [0, n as i64, 1]),
        beta,
        c: (c, [0, n as i64, 1]),
        batch: 1,
    };
    let mut wanted = before.clone();
    let x = arguments(wanted.as_mut_ptr());
    let ([_, a_rs, a_cs], [_, b_rs, b_cs], [_, c_rs, c_cs]) = (x.a.1, x.b.1, x.c.1);
    // SAFETY: the matrices have their elements.
    unsafe {
        diptych::raw::gemm(
            &Exec::new(),
            x.m,
            x.n,
            x.k,
            alpha,
            x.a.0,
            a_rs,
            a_cs,
            x.b.0,
            b_rs,
            b_cs,
            beta,
            x.c.0,
            c_rs,
            c_cs,
        )
    }
    .unwrap();
    let mut launched = BTreeSet::new();
    for plan in Plan::all::<T>(132, SHAPE, 1) {
        let mut c = before.clone();
        let batch = check(arguments(c.as_mut_ptr()), None).unwrap().unwrap();
        let device = Emulator::new(Schedule::Random(7));
        // SAFETY: as above.
        unsafe { Products::new(&batch).multiply(&device, &plan) }
            .unwrap_or_else(|error| panic!("{plan:?}: {error}"));
        // None of these elements is a NaN, nor a zero whose sign would not be compared.
        assert!(c == wanted, "{plan:?}: other bits than the CPU's");
        launched.extend(device.kernels());
    }
    launched
}

#[test]
fn every_kernel_of_products() {
    let mut launched = every_plan::<f32>();
    launched.extend(every_plan::<f64>());
    let entries = ALL.iter().flat_map(|entry| entry.names);
    let products: BTreeSet<&str> = entries
        .filter(|name| name.starts_with("gemm_") && !name.starts_with("gemm_scale"))
        .collect();
    assert_eq!(launched, products);
}
