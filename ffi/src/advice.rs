//! Estimates of when a call is faster on the device.
use crate::error::{Failure, report};
use crate::exec::dpt_exec;
use crate::lend::lend;
use crate::status::dpt_status;
use core::ffi::c_char;
use diptych::backend::args::size;
use diptych::{Dtype, Error, Exec};

/// The expected cost of a call on the CPU and on the device, from dpt_advise_f32 or dpt_advise_f64.
/// Provisional.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dpt_advice {
    /// sizeof(dpt_advice), set by the caller. Another value is DPT_BAD_STRUCT_SIZE.
    pub struct_size: usize,
    /// Where the call is expected to be faster: DPT_DEVICE_CPU or DPT_DEVICE_CUDA.
    pub device: i32,
    /// 1 if dpt_advise_measure has measured this machine; 0 if the estimate is made from built-in
    /// figures, which have not been measured: an order of magnitude.
    pub measured: i32,
    /// Seconds on the CPU, including the copies from and back to the memory that holds the data.
    pub cpu_seconds: f64,
    /// Seconds on the device, including such copies; infinite if there is no device.
    pub cuda_seconds: f64,
}

/// The constants of the estimates, from dpt_advise_constants. Rates are per second, those of the
/// CPU for one thread; a multiply-add is two operations. Arrays of two are for float and double.
/// Provisional.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dpt_advice_constants {
    /// sizeof(dpt_advice_constants), set by the caller. Another value is DPT_BAD_STRUCT_SIZE.
    pub struct_size: usize,
    /// As in dpt_advice.
    pub measured: i32,
    /// 0.
    pub reserved: i32,
    /// Duration of the smallest call, in seconds.
    pub cpu_call: f64,
    /// Bytes read per second, from arrays of 0.5, 2, 8, 32 and 128 MiB in total.
    pub cpu_read: [f64; 5],
    /// Bytes written per second, for the same arrays.
    pub cpu_written: [f64; 5],
    /// The speed of all threads relative to one thread, for reading and writing 128 MiB.
    pub cpu_scaling: f64,
    /// Operations per second.
    pub cpu_flops: [f64; 2],
    /// Exponentials per second.
    pub cpu_exps: [f64; 2],
    /// Duration of the smallest call on the device until its result is there, in seconds.
    pub cuda_call: f64,
    /// Bytes per second that the device reads and writes in its memory.
    pub cuda_bytes: f64,
    /// Operations per second on the device.
    pub cuda_flops: [f64; 2],
    /// Duration of the smallest copy, in seconds.
    pub copy_call: f64,
    /// Bytes copied to the device per second.
    pub copy_there: f64,
    /// Bytes copied from the device per second.
    pub copy_back: f64,
}

/// Estimates the cost of the float form of an operation on the CPU and on the device, and which is
/// faster. The inputs lie in the memory of `location` (DPT_DEVICE_CPU or DPT_DEVICE_CUDA), and the
/// result is wanted there: the estimates include the copies that this needs.
///
/// op is a name without dpt_ and _f32, for example "gemm" or "sum_rows". m, n and k are the
/// operation's arguments of these names; sizes that it does not have are ignored, but must not be
/// negative. For "gemm_batched" this estimates one product; for a batch use dpt_advise_batched_f32,
/// or, if all products share one B, let m be the sum of their rows.
/// exec->max_threads is the number of CPU threads; exec = NULL means one.
///
/// Errors: the errors of exec; DPT_NULL_POINTER; DPT_MISALIGNED; DPT_NEGATIVE_SIZE;
/// DPT_INVALID_VALUE for an unknown op; DPT_UNKNOWN_ENUM for the location; DPT_BAD_STRUCT_SIZE;
/// DPT_UNSUPPORTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_advise_f32(
    exec: *const dpt_exec,
    op: *const c_char,
    m: i64,
    n: i64,
    k: i64,
    location: i32,
    advice: *mut dpt_advice,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands.
    let result = unsafe { advise(exec, op, Dtype::F32, 1, [m, n, k], location, advice) };
    report("dpt_advise_f32", result)
}

/// As dpt_advise_f32, for the double form of the operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_advise_f64(
    exec: *const dpt_exec,
    op: *const c_char,
    m: i64,
    n: i64,
    k: i64,
    location: i32,
    advice: *mut dpt_advice,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands.
    let result = unsafe { advise(exec, op, Dtype::F64, 1, [m, n, k], location, advice) };
    report("dpt_advise_f64", result)
}

/// As dpt_advise_f32, for one call that does this work `batch` times, each time with arrays of its
/// own: "gemm_batched" with all of its products.
///
/// Errors: as dpt_advise_f32; DPT_NEGATIVE_SIZE also for the batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_advise_batched_f32(
    exec: *const dpt_exec,
    op: *const c_char,
    batch: i64,
    m: i64,
    n: i64,
    k: i64,
    location: i32,
    advice: *mut dpt_advice,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands.
    let result = unsafe { advise(exec, op, Dtype::F32, batch, [m, n, k], location, advice) };
    report("dpt_advise_batched_f32", result)
}

/// As dpt_advise_batched_f32, for the double form of the operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_advise_batched_f64(
    exec: *const dpt_exec,
    op: *const c_char,
    batch: i64,
    m: i64,
    n: i64,
    k: i64,
    location: i32,
    advice: *mut dpt_advice,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands.
    let result = unsafe { advise(exec, op, Dtype::F64, batch, [m, n, k], location, advice) };
    report("dpt_advise_batched_f64", result)
}

/// Writes the constants that the estimates use at present to *out.
///
/// Errors: DPT_NULL_POINTER; DPT_MISALIGNED; DPT_BAD_STRUCT_SIZE; DPT_UNSUPPORTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_advise_constants(out: *mut dpt_advice_constants) -> dpt_status {
    // SAFETY: `out` is NULL or a `dpt_advice_constants`, by the contract of the header.
    report("dpt_advise_constants", unsafe { constants(out) })
}

/// # Safety
/// `out` is NULL or a `dpt_advice_constants`.
unsafe fn constants(out: *mut dpt_advice_constants) -> Result<(), Failure> {
    if out.is_null() {
        return Err(Error::NullPointer { arg: "out" }.into());
    }
    if !out.is_aligned() {
        return Err(Error::Misaligned { arg: "out" }.into());
    }
    // SAFETY: not NULL and aligned.
    if unsafe { (*out).struct_size } != size_of::<dpt_advice_constants>() {
        return Err(Failure::BadStructSize("out->struct_size"));
    }
    let found = imp::constants()?;
    // SAFETY: as above, and the size says that the whole struct is there.
    unsafe { out.write(found) };
    Ok(())
}

/// Measures this machine for about a second: the CPU with the threads of exec (NULL: the calling
/// thread alone), and the device, if there is one, in the context that operations use (see GPU).
/// Later estimates in this process use the result.
///
/// Errors: the errors of exec; DPT_OUT_OF_MEMORY; those of the device; DPT_UNSUPPORTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_advise_measure(exec: *const dpt_exec) -> dpt_status {
    // SAFETY: `exec` is NULL or a `dpt_exec`, by the contract of the header.
    report("dpt_advise_measure", unsafe { measure(exec) })
}

/// # Safety
/// As [`lend`], or NULL.
unsafe fn measure(exec: *const dpt_exec) -> Result<(), Failure> {
    // SAFETY: as the caller's.
    unsafe {
        if exec.is_null() {
            return imp::measure(&Exec::new());
        }
        lend(&crate::exec::read(exec)?, imp::measure)
    }
}

/// Reads the name of an operation; `None` if it is longer than any. (Finding the end of any string would need
/// `strlen`, which a freestanding build does not have.)
///
/// # Safety
/// `op` is a string.
unsafe fn name<'a>(op: *const c_char) -> Option<&'a str> {
    const LONGEST: usize = 32;
    let bytes = op.cast::<u8>();
    // SAFETY: nothing behind the end of the string is read.
    let len = (0..LONGEST).find(|&i| unsafe { bytes.add(i).read() } == 0)?;
    // SAFETY: as many bytes are there.
    core::str::from_utf8(unsafe { core::slice::from_raw_parts(bytes, len) }).ok()
}

/// # Safety
/// `exec` is NULL or a `dpt_exec`, `op` NULL or a string, `advice` NULL or a `dpt_advice`.
unsafe fn advise(
    exec: *const dpt_exec,
    op: *const c_char,
    dtype: Dtype,
    batch: i64,
    shape: [i64; 3],
    location: i32,
    advice: *mut dpt_advice,
) -> Result<(), Failure> {
    if op.is_null() {
        return Err(Error::NullPointer { arg: "op" }.into());
    }
    if advice.is_null() {
        return Err(Error::NullPointer { arg: "advice" }.into());
    }
    if !advice.is_aligned() {
        return Err(Error::Misaligned { arg: "advice" }.into());
    }
    // SAFETY: not NULL and aligned; `op` is a string.
    let (op, struct_size) = unsafe { (name(op), (*advice).struct_size) };
    if struct_size != size_of::<dpt_advice>() {
        return Err(Failure::BadStructSize("advice->struct_size"));
    }
    let op = op.ok_or(Error::InvalidValue { arg: "op" })?;
    let threads = if exec.is_null() {
        1
    } else {
        // SAFETY: as the caller's.
        unsafe { crate::exec::read(exec) }?.max_threads
    };
    let batch = size(batch, "batch")?;
    let found = imp::advise(op, dtype, (batch, shape), location, threads)?;
    // SAFETY: not NULL and aligned, and the size says that the whole struct is there.
    unsafe { advice.write(found) };
    Ok(())
}

#[cfg(feature = "gpu")]
mod imp {
    use super::{dpt_advice, dpt_advice_constants};
    use crate::error::Failure;
    use crate::exec::dpt_device;
    use diptych::{Dtype, Exec};
    use diptych_gpu::advice;
    use diptych_gpu::driver::Location;

    const CPU: i32 = dpt_device::DPT_DEVICE_CPU as i32;
    const CUDA: i32 = dpt_device::DPT_DEVICE_CUDA as i32;

    pub(super) fn advise(
        op: &str,
        dtype: Dtype,
        (batch, shape): (usize, [i64; 3]),
        location: i32,
        threads: i32,
    ) -> Result<dpt_advice, Failure> {
        let at = match location {
            CPU => Location::Host,
            CUDA => Location::Device,
            _ => return Err(Failure::UnknownEnum("location")),
        };
        let found = advice::advise(
            &advice::work(op, dtype, shape)?.times(batch),
            at,
            usize::try_from(threads).unwrap_or(1),
        );
        Ok(dpt_advice {
            struct_size: size_of::<dpt_advice>(),
            device: if found.location == Location::Device {
                CUDA
            } else {
                CPU
            },
            measured: i32::from(found.measured),
            cpu_seconds: found.host,
            cuda_seconds: found.device,
        })
    }

    /// The rates for float and double, in the order of the C struct.
    fn pair(rates: advice::Rates) -> [f64; 2] {
        [rates.f32, rates.f64]
    }

    pub(super) fn constants() -> Result<dpt_advice_constants, Failure> {
        let machine = advice::Machine::current();
        Ok(dpt_advice_constants {
            struct_size: size_of::<dpt_advice_constants>(),
            measured: i32::from(machine.measured),
            reserved: 0,
            cpu_call: machine.host_call,
            cpu_read: machine.host_read,
            cpu_written: machine.host_written,
            cpu_scaling: machine.host_scaling,
            cpu_flops: pair(machine.host_flops),
            cpu_exps: pair(machine.host_exps),
            cuda_call: machine.device_call,
            cuda_bytes: machine.device_bytes,
            cuda_flops: pair(machine.device_flops),
            copy_call: machine.copy_call,
            copy_there: machine.there,
            copy_back: machine.back,
        })
    }

    pub(super) fn measure(exec: &Exec<'_>) -> Result<(), Failure> {
        advice::measure(exec)?;
        Ok(())
    }
}

#[cfg(not(feature = "gpu"))]
mod imp {
    use super::{dpt_advice, dpt_advice_constants};
    use crate::error::Failure;
    use diptych::{Dtype, Error, Exec};

    const REFUSAL: Error = Error::Unsupported { arg: "advice" };

    pub(super) fn advise(
        _: &str,
        _: Dtype,
        _: (usize, [i64; 3]),
        _: i32,
        _: i32,
    ) -> Result<dpt_advice, Failure> {
        Err(REFUSAL.into())
    }

    pub(super) fn constants() -> Result<dpt_advice_constants, Failure> {
        Err(REFUSAL.into())
    }

    pub(super) fn measure(_: &Exec<'_>) -> Result<(), Failure> {
        Err(REFUSAL.into())
    }
}
