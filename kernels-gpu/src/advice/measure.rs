//! Measures the machine constants of the model.

use super::machine::{Machine, Rates, SIZES};
use crate::driver::{self, Arguments, Error, Launcher, Result, memory};
use crate::raw;
use core::ffi::c_void;
use core::hint::black_box;
use core::ptr;
use diptych::{Element, Exec};
use diptych_device::real::Real;
use std::time::Instant;

/// Elements of the long arrays: larger than the caches, and long enough to reach most of a GPU's bandwidth.
const LONG: usize = 1 << 24;
/// Elements of the array whose exponentials are timed: small enough for the caches.
const FEW: usize = 1 << 15;
/// Rows and columns of the matrices whose product is timed on the CPU.
const SIDE: usize = 512;

/// Measures this machine for about a second, and makes later estimates use the result: the CPU with the threads of
/// `exec`, and the device of the current context if there is one.
///
/// # Errors
/// `OutOfMemory`; the errors of either backend.
// `inline`, here and below: the function is then compiled in the caller's crate, and times the same instances of the
// generic products as the caller runs.
#[inline]
pub fn measure(exec: &Exec<'_>) -> Result<Machine> {
    let mut machine = Machine::current();
    let one = Exec::new();
    let mut buffer = zeros::<f32>(2 * LONG)?;
    for (i, size) in SIZES.into_iter().enumerate() {
        let rates = host_rates(&one, &mut buffer[..size / size_of::<f32>()])?;
        (machine.host_read[i], machine.host_written[i]) = rates;
    }
    let (from, to) = buffer.split_at_mut(LONG);
    let mut both = |exec: &Exec<'_>| best(3, || Ok(diptych::scale(exec, 2.0, from, to)?));
    machine.host_scaling = (both(&one)? / both(exec)?).max(1.0);
    let mut few = [0.0f32; 4];
    let calls = 10_000;
    let many = || (0..calls).try_for_each(|_| Ok(diptych::scale_in_place(&one, 2.0, &mut few)?));
    machine.host_call = best(3, many)? / f64::from(calls);
    machine.host_flops = Rates {
        f32: host_flops::<f32>()?,
        f64: host_flops::<f64>()?,
    };
    machine.host_exps = Rates {
        f32: host_exps::<f32>(machine.host_read[0])?,
        f64: host_exps::<f64>(machine.host_read[0])?,
    };
    if driver::available().is_ok() {
        measure_device(&mut machine, from)?;
    }
    machine.measured = true;
    machine.set_current();
    Ok(machine)
}

/// Returns the bytes per second that are read and that are written, by operations on all of `buffer`.
#[inline]
fn host_rates(exec: &Exec<'_>, buffer: &mut [f32]) -> Result<(f64, f64)> {
    let times = (LONG / buffer.len()).clamp(3, 100);
    let bytes = size_of_val(buffer) as f64;
    let reading = best(times, || {
        black_box(diptych::sum(exec, &*buffer)?);
        Ok(())
    })?;
    let writing = best(times, || Ok(diptych::fill(exec, 1.0, &mut *buffer)?))?;
    // Writes may be slower in an operation that also reads: `scale` reads one half of the bytes and writes the other.
    let (from, to) = buffer.split_at_mut(buffer.len() / 2);
    let both = best(times, || Ok(diptych::scale(exec, 2.0, from, to)?))?;
    Ok((bytes / reading, bytes / writing.max(2.0 * both - reading)))
}

/// Returns the exponentials per second of `logsumexp`, without the time of its pass for the maximum, which reads `read`
/// bytes per second.
fn host_exps<T: Element>(read: f64) -> Result<f64> {
    let x = zeros::<T>(FEW)?;
    let seconds = best(20, || {
        black_box(diptych::logsumexp(&Exec::new(), &x[..])?);
        Ok(())
    })?;
    let maximum = size_of_val(&x[..]) as f64 / read;
    Ok(FEW as f64 / (seconds - maximum).max(seconds / 2.0))
}

/// Returns the operations per second of a matrix product on one CPU thread.
fn host_flops<T: Element>() -> Result<f64> {
    let (a, mut c) = (zeros::<T>(SIDE * SIDE)?, zeros::<T>(SIDE * SIDE)?);
    let view = diptych::MatRef::new(&a, SIDE, SIDE)?;
    let seconds = best(3, || {
        let out = diptych::MatMut::new(&mut c, SIDE, SIDE)?;
        Ok(diptych::gemm(
            &Exec::new(),
            T::ONE,
            view,
            view,
            T::ZERO,
            out,
        )?)
    })?;
    Ok(2.0 * (SIDE * SIDE * SIDE) as f64 / seconds)
}

/// Measures the constants of the device and of copies, with `host` as the host memory of the copies.
#[inline]
fn measure_device(machine: &mut Machine, host: &mut [f32]) -> Result<()> {
    let bytes = size_of_val(host);
    let (a, b) = (Block::new(bytes)?, Block::new(bytes)?);
    let host: *mut c_void = host.as_mut_ptr().cast();
    // SAFETY: the device blocks and the host array have `bytes` bytes each, and every step waits until it is done.
    unsafe {
        let stream = ptr::null_mut();
        let launcher = Launcher::new(stream, (ptr::null_mut(), 0), Arguments::default())?;
        let copy = |bytes, from: *const c_void, to| {
            move || memory::copy(stream, bytes, from, to).and_then(|()| memory::synchronize(stream))
        };
        let rate = |seconds: f64, call: f64| bytes as f64 / (seconds - call).max(1e-9);
        machine.copy_call = best(20, copy(4, host, a.0))?;
        machine.there = rate(best(3, copy(bytes, host, a.0))?, machine.copy_call);
        machine.back = rate(best(3, copy(bytes, a.0, host))?, machine.copy_call);
        let run = |n: usize| {
            raw::scale(&launcher, n as i64, 2.0f32, a.0.cast::<f32>(), b.0.cast())?;
            memory::synchronize(stream)
        };
        machine.device_call = best(20, || run(4))?;
        machine.device_bytes = 2.0 * rate(best(5, || run(LONG))?, machine.device_call);
        machine.device_flops = Rates {
            f32: device_flops::<f32>(&launcher, (&a, &b), machine.device_call)?,
            f64: device_flops::<f64>(&launcher, (&a, &b), machine.device_call)?,
        };
    }
    Ok(())
}

/// Returns the operations per second of a product of large square matrices on the device; `call` is the overhead to
/// subtract, in seconds.
fn device_flops<T: Real>(
    launcher: &Launcher<'_>,
    (a, c): (&Block, &Block),
    call: f64,
) -> Result<f64> {
    const SIDE: i64 = 2048;
    let seconds = best(3, || {
        let (a, c) = (a.0.cast::<T>(), c.0.cast::<T>());
        // SAFETY: the blocks are larger than the matrices.
        unsafe {
            raw::gemm(
                launcher,
                SIDE,
                SIDE,
                SIDE,
                T::ONE,
                a,
                SIDE,
                1,
                a,
                SIDE,
                1,
                T::ZERO,
                c,
                SIDE,
                1,
            )?;
            memory::synchronize(ptr::null_mut())
        }
    })?;
    Ok(2.0 * (SIDE * SIDE * SIDE) as f64 / (seconds - call).max(1e-9))
}

/// A block of device memory, freed on drop.
struct Block(*mut c_void);

impl Block {
    fn new(bytes: usize) -> Result<Block> {
        memory::allocate(bytes).map(Block)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: from `allocate`, and all work has been waited for. A failure cannot be handled.
        let _ = unsafe { memory::free(self.0) };
    }
}

/// Returns an array of zeros, or an error instead of aborting if there is no memory.
fn zeros<T: Element>(count: usize) -> Result<Vec<T>> {
    let mut array = Vec::new();
    array
        .try_reserve_exact(count)
        .map_err(|_| Error::Argument(diptych::Error::OutOfMemory))?;
    array.resize(count, T::ZERO);
    Ok(array)
}

/// Returns the seconds of the fastest of `runs` runs, after one run as warm-up.
fn best(runs: usize, mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    run()?;
    let mut least = f64::INFINITY;
    for _ in 0..runs {
        let start = Instant::now();
        run()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least.max(1e-9))
}
