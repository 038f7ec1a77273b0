//! The launches of the work in the model are those that the launchers make.

use core::cell::RefCell;
use diptych::Dtype;
use diptych_device::launch::{Device, Grid, Scratch};
use diptych_device::ops::gemm::{
    tile_16x16, tile_32x32, tile_64x64, tile_128x16, tile_128x64, tile_128x128,
};
use diptych_device::ops::reduce::shared_bytes;
use diptych_device::real::Real;
use diptych_device::table::Entry;
use diptych_gpu::raw;
use std::ffi::c_void;
use xtask::ptx::{Launch, RUN, WORK, shared_at_launch};

/// Multiprocessors of the model's machine.
const MULTIPROCESSORS: u32 = 132;

/// Runs nothing, and writes down what it should have run.
#[derive(Default)]
struct Recorder {
    launches: RefCell<Vec<Launch>>,
}

impl Device for Recorder {
    type Error = diptych::Error;

    fn multiprocessors(&self) -> u32 {
        MULTIPROCESSORS
    }

    fn scratch(&self, _bytes: usize, _counters: usize) -> Result<Scratch, Self::Error> {
        Ok(Scratch {
            bytes: at(0),
            counters: at(1),
        })
    }

    unsafe fn launch(
        &self,
        kernel: &'static Entry,
        dtype: Dtype,
        grid: Grid,
        _arguments: &mut [*mut c_void],
        _twin: impl Fn(),
    ) -> Result<(), Self::Error> {
        self.launches.borrow_mut().push(Launch {
            entry: kernel.name(dtype).expect("a kernel of the type"),
            blocks: grid.blocks,
            shared: grid.shared,
        });
        Ok(())
    }
}

/// An address that nobody reads; arrays are far apart.
fn at<T>(array: usize) -> *mut T {
    core::ptr::without_provenance_mut((array + 1) << 40)
}

/// C = A B, all contiguous; A or B the transpose of what lies there.
fn product<T: Real>(
    device: &Recorder,
    [m, n, k]: [i64; 3],
    (turned_a, turned_b): (bool, bool),
    batch: i64,
) -> diptych::Result<()> {
    let (a_rs, a_cs) = if turned_a { (1, m) } else { (k, 1) };
    let (b_rs, b_cs) = if turned_b { (1, k) } else { (n, 1) };
    let (one, zero) = (T::ONE, T::ZERO);
    let (a, b, c) = (at::<T>(2), at::<T>(3), at::<T>(4));
    // SAFETY: the recorder runs nothing, and a launcher reads no array.
    unsafe {
        raw::gemm_batched(
            device,
            m,
            n,
            k,
            one,
            a,
            a_rs,
            a_cs,
            b,
            b_rs,
            b_cs,
            zero,
            c,
            n,
            1,
            batch,
            m * k,
            k * n,
            m * n,
        )
    }
}

/// The step of the benches: forward, loss, gradients, and the step along them.
fn network(device: &Recorder) -> diptych::Result<()> {
    const PLAIN: (bool, bool) = (false, false);
    let [samples, inputs, hidden, outputs] = [64, 1000, 100, 10];
    let (x, y, out) = (at::<f32>(5), at::<f32>(6), at::<f32>(7));
    let product = |shape, turned| product::<f32>(device, shape, turned, 1);
    // SAFETY: as in `product`.
    unsafe {
        product([samples, hidden, inputs], PLAIN)?;
        raw::clamp(device, samples * hidden, x, 0.0, f32::INFINITY, out)?;
        product([samples, outputs, hidden], PLAIN)?;
        raw::mse_grad(device, samples * outputs, x, y, out, at(8))?;
        product([hidden, outputs, samples], (true, false))?;
        product([samples, hidden, outputs], (false, true))?;
        raw::clamp_backward(device, samples * hidden, x, y, 0.0, f32::INFINITY, out)?;
        product([inputs, hidden, samples], (true, false))?;
        raw::axpy(device, inputs * hidden, -1e-6, x, y)?;
        raw::axpy(device, hidden * outputs, -1e-6, x, y)
    }
}

/// Work on vectors and matrices of 1 GiB.
fn streams(device: &Recorder, name: &str) -> Option<diptych::Result<()>> {
    const N: i64 = 1 << 28;
    const SIDE: i64 = 1 << 14;
    let (x, y, out) = (at::<f32>(5), at::<f32>(6), at::<f32>(7));
    let index = at::<i64>(8);
    // SAFETY: as in `product`.
    Some(unsafe {
        match name {
            "clamp" => raw::clamp(device, N, x, 0.0, 1.0, out),
            "add" => raw::add(device, N, x, y, out),
            "axpy" => raw::axpy(device, N, 2.0, x, out),
            "square" => raw::square(device, N, x, out),
            "outer" => raw::outer(device, SIDE, SIDE, x, 1, y, 1, out, SIDE, 1),
            "ger" => raw::ger(device, SIDE, SIDE, 2.0, x, 1, y, 1, out, SIDE, 1),
            "mse_grad" => raw::mse_grad(device, N, x, y, out, at(8)),
            "dot" => raw::dot(device, N, x, 1, y, 1, out),
            "sum" => raw::sum(device, N, x, 1, out),
            "max" => raw::max(device, N, x, 1, out),
            "argmax" => raw::argmax(device, N, x, 1, index),
            "var" => raw::var(device, N, x, 1, 0, out),
            "sum of rows" => raw::sum_rows(device, SIDE, SIDE, x, SIDE, 1, out, 1),
            "max of rows" => raw::max_rows(device, SIDE, SIDE, x, SIDE, 1, out, 1),
            "argmax of rows" => raw::argmax_rows(device, SIDE, SIDE, x, SIDE, 1, index, 1),
            "var of rows" => raw::var_rows(device, SIDE, SIDE, x, SIDE, 1, 0, out, 1),
            "sum of columns" => raw::sum_rows(device, SIDE, SIDE, x, 1, SIDE, out, 1),
            "max of columns" => raw::max_rows(device, SIDE, SIDE, x, 1, SIDE, out, 1),
            "argmax of columns" => raw::argmax_rows(device, SIDE, SIDE, x, 1, SIDE, index, 1),
            "var of columns" => raw::var_rows(device, SIDE, SIDE, x, 1, SIDE, 0, out, 1),
            "a small call: clamp of 1000" => raw::clamp(device, 1000, x, 0.0, 1.0, out),
            _ => return None,
        }
    })
}

/// Products.
fn products(device: &Recorder, name: &str) -> diptych::Result<()> {
    const PLAIN: (bool, bool) = (false, false);
    const TURNED: (bool, bool) = (true, false);
    let of_f32 = |shape, turned, batch| product::<f32>(device, shape, turned, batch);
    match name {
        "gemm 4096 x 4096 x 4096, f32" => of_f32([4096, 4096, 4096], PLAIN, 1),
        "gemm 4096 x 4096 x 4096, f64" => product::<f64>(device, [4096; 3], PLAIN, 1),
        "gemm 4096 x 4096, k = 1" => of_f32([4096, 4096, 1], PLAIN, 1),
        "gemm 4096 x 4096, k = 4" => of_f32([4096, 4096, 4], PLAIN, 1),
        "gemm 4096 x 8, k = 4096" => of_f32([4096, 8, 4096], PLAIN, 1),
        "gemm 4096 x 1, k = 4096" => of_f32([4096, 1, 4096], PLAIN, 1),
        "gemm A^T b, A 10240 x 1024" => of_f32([1024, 1, 10240], TURNED, 1),
        "gemm A^T B, A 10240 x 1024, B 8 columns" => of_f32([1024, 8, 10240], TURNED, 1),
        "outer in a batch, 16384 of 64 x 64" => of_f32([64, 64, 1], PLAIN, 16384),
        "outer in a batch, 4096 of 128 x 128" => of_f32([128, 128, 1], PLAIN, 4096),
        "outer in a batch, 1024 of 256 x 256" => of_f32([256, 256, 1], PLAIN, 1024),
        "outer in a batch, 256 of 512 x 512" => of_f32([512, 512, 1], PLAIN, 256),
        "a step of a network, 64, 1000, 100, 10" => network(device),
        _ => panic!("{name}: no call is known"),
    }
}

#[test]
fn the_work_of_the_model_is_launched_so() {
    let mut wrong = String::new();
    for work in &WORK {
        let device = Recorder::default();
        let called = streams(&device, work.name);
        called
            .unwrap_or_else(|| products(&device, work.name))
            .unwrap_or_else(|error| panic!("{}: {error}", work.name));
        let launches = device.launches.into_inner();
        if work.launches != launches {
            wrong += &format!("{}: {launches:?}\n", work.name);
        }
    }
    assert!(wrong.is_empty(), "the model thinks otherwise of\n{wrong}");
}

/// What the tables say of shared memory.
#[test]
fn shared_memory_is_known() {
    fn check<T: Real>(of: &str) {
        let products: [(&str, u32); 6] = [
            ("128x128", tile_128x128::shared::<T>()),
            ("128x64", tile_128x64::shared::<T>()),
            ("64x64", tile_64x64::shared::<T>()),
            ("128x16", tile_128x16::shared::<T>()),
            ("32x32", tile_32x32::shared::<T>()),
            ("16x16", tile_16x16::shared::<T>()),
        ];
        for (tile, shared) in products {
            let known = shared_at_launch(&format!("gemm_{tile}_{of}"));
            assert_eq!(known, shared as usize, "{tile} {of}");
        }
        let value = size_of::<T>() as u32;
        for (operation, value) in [("sum", value), ("argmax", 16)] {
            for (layout, columns) in [("rows", false), ("columns", true)] {
                let name = format!("{operation}_{layout}_{of}");
                let shared = shared_bytes(columns, RUN, value);
                assert_eq!(shared_at_launch(&name), shared as usize, "{name}");
            }
        }
    }
    check::<f32>("f32");
    check::<f64>("f64");
    assert_eq!(shared_at_launch("clamp_f32"), 0);
}
