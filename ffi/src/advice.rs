//! When does the device pay?
use crate::error::{Failure, report};
use crate::exec::{dpt_exec, lend};
use crate::status::dpt_status;
use core::ffi::c_char;
use diptych::{Error, Exec};

/// What a call is expected to cost on each panel, from dpt_advise_f32 or dpt_advise_f64.
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

/// Estimates what the float form of an operation costs on the CPU and on the device, and which is faster,
/// with the copies that are needed when the inputs lie in the memory of `location` (DPT_DEVICE_CPU or
/// DPT_DEVICE_CUDA) and the result is wanted there.
///
/// op is a name without dpt_ and _f32, for example "gemm" or "sum_rows". m, n and k are the sizes that it
/// has by these names (a batch counts with m); the others are not looked at, but are not negative.
/// exec->max_threads says how many CPU threads there are; exec may be NULL.
/// Errors: the common ones of exec; DPT_NULL_POINTER; DPT_NEGATIVE_SIZE; DPT_INVALID_VALUE for an
/// unknown op; DPT_UNKNOWN_ENUM for the location; DPT_BAD_STRUCT_SIZE; DPT_UNSUPPORTED in a build without
/// a device panel.
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
    let result = unsafe { advise(exec, op, 4, [m, n, k], location, advice) };
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
    let result = unsafe { advise(exec, op, 8, [m, n, k], location, advice) };
    report("dpt_advise_f64", result)
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
    element: usize,
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
    let (op, size) = unsafe { (name(op), (*advice).struct_size) };
    if size != size_of::<dpt_advice>() {
        return Err(Failure::BadStructSize("advice->struct_size"));
    }
    let op = op.ok_or(Error::InvalidValue { arg: "op" })?;
    let threads = if exec.is_null() {
        1
    } else {
        // SAFETY: as the caller's.
        unsafe { crate::exec::read(exec) }?.max_threads
    };
    let found = imp::advise(op, element, shape, location, threads)?;
    // SAFETY: not NULL and aligned, and the size says that the whole struct is there.
    unsafe { advice.write(found) };
    Ok(())
}

#[cfg(feature = "gpu")]
mod imp {
    use super::dpt_advice;
    use crate::error::Failure;
    use crate::exec::dpt_device;
    use diptych::Exec;
    use diptych_gpu::advice;
    use diptych_gpu::driver::Place;

    const CPU: i32 = dpt_device::DPT_DEVICE_CPU as i32;
    const CUDA: i32 = dpt_device::DPT_DEVICE_CUDA as i32;

    pub(super) fn advise(
        op: &str,
        element: usize,
        shape: [i64; 3],
        location: i32,
        threads: i32,
    ) -> Result<dpt_advice, Failure> {
        let at = match location {
            CPU => Place::Host,
            CUDA => Place::Device,
            _ => return Err(Failure::UnknownEnum("location")),
        };
        let found = advice::advise(
            &advice::work(op, element, shape)?,
            at,
            usize::try_from(threads).unwrap_or(1),
        );
        Ok(dpt_advice {
            struct_size: size_of::<dpt_advice>(),
            device: if found.place == Place::Device {
                CUDA
            } else {
                CPU
            },
            measured: i32::from(found.measured),
            cpu_seconds: found.host,
            cuda_seconds: found.device,
        })
    }

    pub(super) fn measure(exec: &Exec<'_>) -> Result<(), Failure> {
        advice::measure(exec)?;
        Ok(())
    }
}

#[cfg(not(feature = "gpu"))]
mod imp {
    use super::dpt_advice;
    use crate::error::Failure;
    use diptych::{Error, Exec};

    const REFUSAL: Error = Error::Unsupported { arg: "advice" };

    pub(super) fn advise(
        _: &str,
        _: usize,
        _: [i64; 3],
        _: i32,
        _: i32,
    ) -> Result<dpt_advice, Failure> {
        Err(REFUSAL.into())
    }

    pub(super) fn measure(_: &Exec<'_>) -> Result<(), Failure> {
        Err(REFUSAL.into())
    }
}
