//! When does the device pay?
use crate::error::{Failure, report};
use crate::exec::{dpt_exec, lend};
use crate::status::dpt_status;
use core::ffi::c_char;
use diptych::backend::args::size;
use diptych::{Dtype, Error, Exec};

/// What a call is expected to cost on the CPU and on the device, from dpt_advise_f32 or dpt_advise_f64. Provisional.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dpt_advice {
    /// sizeof(dpt_advice), set by the caller. Another value is DPT_BAD_STRUCT_SIZE.
    pub struct_size: usize,
    /// Where the call is expected to be faster: DPT_DEVICE_CPU or DPT_DEVICE_CUDA.
    pub device: i32,
    /// 1 when dpt_advise_measure has measured this machine; 0 when the figures are the committed ones,
    /// which nobody measured: an order of magnitude.
    pub measured: i32,
    /// Seconds on the CPU, with the copies from and to where the data lie.
    pub cpu_seconds: f64,
    /// Seconds on the device, likewise; infinite when there is none.
    pub cuda_seconds: f64,
}

/// What the estimates of dpt_advise_f32 and the like are made of, from dpt_advise_constants. Rates are in a second:
/// bytes, operations of a multiply-add being two, exponentials; those of the CPU are one thread's. Pairs are for
/// float and double. Provisional.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dpt_advice_constants {
    /// sizeof(dpt_advice_constants), set by the caller. Another value is DPT_BAD_STRUCT_SIZE.
    pub struct_size: usize,
    /// As in dpt_advice.
    pub measured: i32,
    /// 0.
    pub reserved: i32,
    /// Seconds of the smallest call.
    pub cpu_call: f64,
    /// Bytes that are read, of arrays that have 0.5, 2, 8, 32 and 128 MiB together.
    pub cpu_read: [f64; 5],
    /// Bytes that are written, likewise.
    pub cpu_written: [f64; 5],
    /// How many times as fast as one thread all threads read and write 128 MiB.
    pub cpu_scaling: f64,
    /// Operations.
    pub cpu_flops: [f64; 2],
    /// Exponentials.
    pub cpu_exps: [f64; 2],
    /// Seconds of the smallest call on the device, until its result is there.
    pub cuda_call: f64,
    /// Bytes that the device reads and writes in its memory.
    pub cuda_bytes: f64,
    /// Operations of the device.
    pub cuda_flops: [f64; 2],
    /// Seconds of the smallest copy.
    pub copy_call: f64,
    /// Bytes that are copied to the device.
    pub copy_there: f64,
    /// Bytes that are copied from the device.
    pub copy_back: f64,
}

/// Estimates what the float form of an operation costs on the CPU and on the device, and which is faster,
/// with the copies that are needed when the inputs lie in the memory of `location` (DPT_DEVICE_CPU or
/// DPT_DEVICE_CUDA) and the result is wanted there.
///
/// Provisional, as all of dpt_advise and its structs: what is committed of devices comes from published figures, and
/// none of it has been measured. Until it is, any of this may change in any version.
///
/// op is a name without dpt_ and _f32, for example "gemm" or "sum_rows". m, n and k are the sizes that it
/// has by these names; the others are not looked at, but are not negative. Of gemm_batched this is one
/// product: dpt_advise_batched_f32 takes a batch, and where all of its products have one B, m may be the rows of
/// all. exec->max_threads says how many CPU threads there are; exec may be NULL.
/// Errors: the common ones of exec; DPT_NULL_POINTER; DPT_MISALIGNED; DPT_NEGATIVE_SIZE; DPT_INVALID_VALUE
/// for an unknown op; DPT_UNKNOWN_ENUM for the location; DPT_BAD_STRUCT_SIZE; DPT_UNSUPPORTED in a build
/// without a device panel.
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

/// As dpt_advise_f32, for the double form of an operation.
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

/// As dpt_advise_f32, for one call that does `batch` times that work, each time with arrays of its own:
/// "gemm_batched" with all of its products.
/// Errors: as there; DPT_NEGATIVE_SIZE for the batch too.
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

/// As dpt_advise_batched_f32, for the double form of an operation.
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

/// Writes the constants that estimates use now to *out.
///
/// Errors: DPT_NULL_POINTER; DPT_MISALIGNED; DPT_BAD_STRUCT_SIZE; DPT_UNSUPPORTED in a build without a device
/// panel.
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

/// Measures this machine, for about a second: the CPU with what exec lends (NULL: the calling thread), and
/// the device in the current context when there is one. Later answers of dpt_advise_f32 and dpt_advise_f64
/// in this process use the result.
///
/// Errors: the common ones of exec; DPT_OUT_OF_MEMORY; those of a device; DPT_UNSUPPORTED in a build
/// without a device panel.
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

/// The name of an operation; `None` when it is longer than any. (A search for the end of any string would
/// take `strlen`, which a freestanding build does not have.)
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

    /// As in the C struct: for float and double.
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
