//! Chooses the backend that runs an operation: the CPU or the device.
use crate::error::{Failure, report};
use crate::exec::{dpt_exec, on_host, read, runs_on_device};
use crate::lend::lend;
use crate::status::dpt_status;
use core::ffi::c_void;
use diptych::Exec;
#[cfg(feature = "gpu")]
use diptych_gpu::driver::{Arguments, Launcher};

/// `operation!(NAME, exec, [SIZES...], OP(ARGUMENTS...), [POINTERS...])` runs `raw::OP` of the backend that `exec` asks
/// for, for the C function `NAME`. The product of the sizes measures the work. The pointers are the arguments that must
/// be in the backend's memory if the call uses them:
///
/// * `x`: used if every size is greater than 0.
/// * `a if (alpha != 0.0)`: used if every size is greater than 0 and the condition holds.
/// * `c = used_if(m > 0 && n > 0, c)`: used if this condition holds, whatever the sizes.
///
/// The CPU operation is compiled into the C function itself for an `exec` without threads and workspace: a small operation
/// then contains no code for them. For all others, and for the device, it is a closure in memory, so that the arguments
/// stay in registers here.
macro_rules! operation {
    ($name:literal, $exec:expr, [$($size:expr),*], $op:ident($($arg:expr),* $(,)?), [$($pointer:ident $(if $read:tt)? $(= $value:expr)?),* $(,)?]) => {
        if $crate::exec::is_plain($exec, [$($size),*]) {
            let run = move || Ok(::diptych::raw::$op(&::diptych::Exec::new(), $($arg),*)?);
            $crate::error::report($name, run())
        } else {
            let used = [$($size),*].iter().all(|&size| size > 0);
            $crate::backend::elsewhere(
                $name,
                $exec,
                &[$($crate::backend::pointer!(used, $pointer $(if $read)? $(= $value)?)),*],
                &[$(stringify!($pointer)),*],
                &move |backend| match backend {
                    $crate::backend::Backend::Host(exec) => Ok(::diptych::raw::$op(exec, $($arg),*)?),
                    #[cfg(feature = "gpu")]
                    $crate::backend::Backend::Device(device) => Ok(::diptych_gpu::raw::$op(device, $($arg),*)?),
                },
            )
        }
    };
}
pub(crate) use operation;

/// A pointer of `operation!`.
macro_rules! pointer {
    ($used:ident, $name:ident) => {
        $crate::backend::used_if($used, $name)
    };
    ($used:ident, $name:ident if $read:tt) => {
        $crate::backend::used_if($used && $read, $name)
    };
    ($used:ident, $name:ident = $value:expr) => {
        $value
    };
}
pub(crate) use pointer;

/// Returns `pointer` if the call uses it, else NULL: a pointer that a call does not use may point anywhere.
#[inline(always)]
pub(crate) fn used_if<T>(used: bool, pointer: *const T) -> *const c_void {
    if used {
        pointer.cast()
    } else {
        core::ptr::null()
    }
}

/// `workspace_query!(NAME, exec, QUERY(ARGUMENTS...), size)` asks the backend of `exec` how much scratch memory it
/// needs. (Without pointers `DPT_DEVICE_AUTO` is the CPU.)
macro_rules! workspace_query {
    ($name:literal, $exec:expr, $query:ident::<$T:ty>($($arg:expr),*), $size:expr) => {
        $crate::backend::elsewhere(
            $name,
            $exec,
            &[],
            &[],
            &move |backend| {
                let bytes = match backend {
                    $crate::backend::Backend::Host(exec) => ::diptych::raw::$query::<$T>(exec, $($arg),*)?,
                    #[cfg(feature = "gpu")]
                    $crate::backend::Backend::Device(device) => ::diptych_gpu::raw::$query::<$T, _>(device, $($arg),*)?,
                };
                Ok($crate::exec::write_size($size, bytes)?)
            },
        )
    };
}
pub(crate) use workspace_query;

/// The backend that runs an operation.
pub(crate) enum Backend<'a, 'b> {
    Host(&'a Exec<'b>),
    #[cfg(feature = "gpu")]
    Device(&'a Launcher<'b>),
}

/// Reads `exec` with all checks, and runs the operation of the C function `name` on its backend. `dyn`, so that all
/// operations share one copy.
///
/// # Safety
/// `exec` is NULL or points to a `dpt_exec` whose promises hold.
#[inline(never)]
pub(crate) unsafe fn elsewhere(
    name: &'static str,
    exec: *const dpt_exec,
    pointers: &[*const c_void],
    names: &'static [&'static str],
    operation: &dyn Fn(Backend<'_, '_>) -> Result<(), Failure>,
) -> dpt_status {
    let run = || {
        if exec.is_null() {
            return operation(Backend::Host(&Exec::new()));
        }
        // SAFETY: passed on from the caller.
        if let Some(c) = unsafe { on_host(exec) } {
            // SAFETY: passed on from the caller.
            return unsafe { lend(c, |exec| operation(Backend::Host(exec))) };
        }
        // SAFETY: passed on from the caller.
        let c = unsafe { read(exec) }?;
        match runs_on_device(&c, pointers, names)? {
            // SAFETY: passed on from the caller.
            false => unsafe { lend(&c, |exec| operation(Backend::Host(exec))) },
            #[cfg(feature = "gpu")]
            // SAFETY: passed on from the caller.
            true => unsafe { on_device(&c, Arguments { pointers, names }, operation) },
            #[cfg(not(feature = "gpu"))]
            true => Err(Failure::NoDevice),
        }
    };
    report(name, run())
}

/// Runs one operation on the device.
///
/// # Safety
/// The promises of `exec` hold.
#[cfg(feature = "gpu")]
pub(crate) unsafe fn on_device(
    exec: &dpt_exec,
    arguments: Arguments<'_>,
    operation: &dyn Fn(Backend<'_, '_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // SAFETY: passed on from the caller.
    let launcher = unsafe {
        let workspace = (exec.workspace, exec.workspace_size);
        Launcher::new(exec.stream, workspace, arguments)
    }?;
    let launcher = launcher.batch_invariant(exec.is_batch_invariant());
    operation(Backend::Device(&launcher))
}
