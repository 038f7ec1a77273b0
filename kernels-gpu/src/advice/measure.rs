//! Measures the constants of the model.

use super::machine::{Machine, Rates, SIZES};
use crate::driver::{self, Arguments, Error, Launcher, Result, memory};
use crate::raw;
use core::ffi::c_void;
use core::hint::black_box;
use core::ptr;
use diptych::{Element, Exec};
use diptych_device::real::Real;
use std::time::Instant;

/// Elements of the long arrays: past the caches, and large enough for a good part of a GPU's speed.
const LONG: usize = 1 << 24;
/// Elements of the array whose exponentials are timed: in the caches.
const FEW: usize = 1 << 15;
/// Rows and columns of the products.
const SIDE: usize = 512;

/// Measures the machine at hand, for about a second, in the current context, and makes answers use the
/// result: the CPU with what `exec` lends, the device when there is one.
///
/// # Errors
/// `OutOfMemory`; what goes wrong on either panel.
// Compiled where it is called, here and below, so that the products which it times are those that the caller has.
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

/// Bytes that are read, and written, in a second, in arrays that together take all of `room`.
#[inline]
fn host_rates(exec: &Exec<'_>, room: &mut [f32]) -> Result<(f64, f64)> {
    let times = (LONG / room.len()).clamp(3, 100);
    let bytes = size_of_val(room) as f64;
    let reading = best(times, || {
        black_box(diptych::sum(exec, &*room)?);
        Ok(())
    })?;
    let writing = best(times, || Ok(diptych::fill(exec, 1.0, &mut *room)?))?;
    // Writes beside reads may be slower than alone: half of the bytes are read, and half are written.
    let (from, to) = room.split_at_mut(room.len() / 2);
    let both = best(times, || Ok(diptych::scale(exec, 2.0, from, to)?))?;
    Ok((bytes / reading, bytes / writing.max(2.0 * both - reading)))
}

/// Exponentials in a second, beside the walk that looks for the maximum.
fn host_exps<T: Element>(read: f64) -> Result<f64> {
    let x = zeros::<T>(FEW)?;
    let seconds = best(20, || {
        black_box(diptych::logsumexp(&Exec::new(), &x[..])?);
        Ok(())
    })?;
    let search = size_of_val(&x[..]) as f64 / read;
    Ok(FEW as f64 / (seconds - search).max(seconds / 2.0))
}

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

#[inline]
fn measure_device(machine: &mut Machine, host: &mut [f32]) -> Result<()> {
    let bytes = size_of_val(host);
    let (a, b) = (Block::new(bytes)?, Block::new(bytes)?);
    let host: *mut c_void = host.as_mut_ptr().cast();
    // SAFETY: the blocks and the host's array have so many bytes, and every step waits for its end.
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

/// The rate of a product of large square matrices.
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

/// Device memory that is given back.
struct Block(*mut c_void);

impl Block {
    fn new(bytes: usize) -> Result<Block> {
        memory::allocate(bytes).map(Block)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: from `allocate`, and all work has been waited for. A failure leaves nothing to do.
        let _ = unsafe { memory::free(self.0) };
    }
}

fn zeros<T: Element>(count: usize) -> Result<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(count)
        .map_err(|_| Error::Argument(diptych::Error::OutOfMemory))?;
    all.resize(count, T::ZERO);
    Ok(all)
}

/// Seconds of the fastest of so many runs, after one that does not count.
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
