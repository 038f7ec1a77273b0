//! The operations of `diptych::raw` on every backend: on the CPU, and with the GPU kernels on the emulator or on a
//! GPU. A suite that is written for one of them runs on all.

use core::cell::Cell;
use core::ffi::c_void;
use core::fmt;

pub use diptych::raw::RawEpilogue;
use diptych::{Exec, for_each_elementwise, for_each_reduction, for_each_row_map};
use diptych_device::launch::{Device, Grid, Scratch};
use diptych_device::table::Entry;
use diptych_emulator::{Emulator, Fault};
use diptych_gpu::driver::{self, Arguments, Launcher};

use crate::real::Dtype;

/// The error of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// An argument was refused.
    Argument(diptych::Error),
    /// The emulator detected a bug in a kernel.
    Fault(Fault),
    /// The driver refused, or failed.
    Driver(driver::Error),
}

impl From<diptych::Error> for Error {
    fn from(error: diptych::Error) -> Error {
        Error::Argument(error)
    }
}

impl From<diptych_emulator::Error> for Error {
    fn from(error: diptych_emulator::Error) -> Error {
        match error {
            diptych_emulator::Error::Argument(error) => Error::Argument(error),
            diptych_emulator::Error::Fault(fault) => Error::Fault(fault),
        }
    }
}

impl From<driver::Error> for Error {
    fn from(error: driver::Error) -> Error {
        match error {
            driver::Error::Argument(error) => Error::Argument(error),
            error => Error::Driver(error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Argument(error) => write!(f, "{error}"),
            Error::Fault(fault) => write!(f, "{fault}"),
            Error::Driver(error) => write!(f, "{error}"),
        }
    }
}

/// The result of a call.
pub type Result<R> = core::result::Result<R, Error>;

/// A device that runs the GPU kernels.
pub enum TestDevice<'a> {
    /// The emulator, on the host.
    Emulator(&'a Emulator),
    /// A stream of a GPU.
    Gpu(&'a Launcher<'a>),
}

impl Device for TestDevice<'_> {
    type Error = Error;

    fn multiprocessors(&self) -> u32 {
        match self {
            TestDevice::Emulator(emulator) => emulator.multiprocessors(),
            TestDevice::Gpu(gpu) => gpu.multiprocessors(),
        }
    }

    fn max_blocks(&self) -> u32 {
        match self {
            TestDevice::Emulator(emulator) => emulator.max_blocks(),
            TestDevice::Gpu(gpu) => gpu.max_blocks(),
        }
    }

    fn product_kernel(&self) -> Option<&'static Entry> {
        match self {
            TestDevice::Emulator(emulator) => emulator.product_kernel(),
            TestDevice::Gpu(gpu) => gpu.product_kernel(),
        }
    }

    fn batch_invariant(&self) -> bool {
        match self {
            TestDevice::Emulator(emulator) => Device::batch_invariant(*emulator),
            TestDevice::Gpu(gpu) => Device::batch_invariant(*gpu),
        }
    }

    fn scratch(&self, bytes: usize, counters: usize) -> Result<Scratch> {
        Ok(match self {
            TestDevice::Emulator(emulator) => emulator.scratch(bytes, counters)?,
            TestDevice::Gpu(gpu) => gpu.scratch(bytes, counters)?,
        })
    }

    fn prepare(&self, kernel: &'static Entry, dtype: diptych::Dtype) -> Result<()> {
        match self {
            TestDevice::Emulator(emulator) => emulator.prepare(kernel, dtype)?,
            TestDevice::Gpu(gpu) => gpu.prepare(kernel, dtype)?,
        }
        Ok(())
    }

    unsafe fn launch(
        &self,
        kernel: &'static Entry,
        dtype: diptych::Dtype,
        grid: Grid,
        arguments: &mut [*mut c_void],
        host_kernel: impl Fn(),
    ) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe {
            match self {
                TestDevice::Emulator(emulator) => {
                    emulator.launch(kernel, dtype, grid, arguments, host_kernel)?;
                }
                TestDevice::Gpu(gpu) => gpu.launch(kernel, dtype, grid, arguments, host_kernel)?,
            }
        }
        Ok(())
    }
}

/// A backend on which calls run.
pub trait On {
    /// Runs `cpu` or `device`, whichever belongs to this backend. `arguments` are the call's pointers.
    fn run(
        &self,
        arguments: Arguments<'_>,
        cpu: &mut dyn FnMut(&Exec<'_>) -> Result<()>,
        device: &mut dyn FnMut(&TestDevice<'_>) -> Result<()>,
    ) -> Result<()>;
}

impl On for Exec<'_> {
    fn run(
        &self,
        _: Arguments<'_>,
        cpu: &mut dyn FnMut(&Exec<'_>) -> Result<()>,
        _: &mut dyn FnMut(&TestDevice<'_>) -> Result<()>,
    ) -> Result<()> {
        cpu(self)
    }
}

impl On for Emulator {
    fn run(
        &self,
        _: Arguments<'_>,
        _: &mut dyn FnMut(&Exec<'_>) -> Result<()>,
        device: &mut dyn FnMut(&TestDevice<'_>) -> Result<()>,
    ) -> Result<()> {
        device(&TestDevice::Emulator(self))
    }
}

/// An argument of a call.
pub trait Argument {
    /// Returns the argument's address if it is a pointer, otherwise NULL.
    fn pointer(&self) -> *const c_void {
        core::ptr::null()
    }
}

impl Argument for i64 {}
impl Argument for f32 {}
impl Argument for f64 {}
impl<T> Argument for *const T {
    fn pointer(&self) -> *const c_void {
        self.cast()
    }
}
impl<T> Argument for *mut T {
    fn pointer(&self) -> *const c_void {
        self.cast_const().cast()
    }
}
impl<T> Argument for &RawEpilogue<T> {
    fn pointer(&self) -> *const c_void {
        self.bias.cast()
    }
}

/// Defines one function per row, with the arguments after `on`, and a constant `$NAMES` that lists their names.
macro_rules! functions {
    ($NAMES:ident: $($name:ident($($arg:ident: $ty:ty),*);)*) => {
        $(
            /// See `diptych::raw`.
            ///
            /// # Errors
            /// As in `diptych::raw`, and faults of the emulator or the driver.
            ///
            /// # Safety
            /// As in `diptych::raw`.
            #[allow(clippy::too_many_arguments)]
            pub unsafe fn $name<T: Dtype>(on: &dyn On, $($arg: $ty),*) -> Result<()> {
                let pointers = &[$(Argument::pointer(&$arg)),*];
                on.run(
                    Arguments { pointers, names: &[$(stringify!($arg)),*] },
                    // SAFETY: as the caller's.
                    &mut |exec| Ok(unsafe { diptych::raw::$name(exec, $($arg),*) }?),
                    // SAFETY: as the caller's.
                    &mut |device| unsafe { diptych_gpu::raw::$name(device, $($arg),*) },
                )
            }
        )*

        const $NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

/// Defines the elementwise operations of the table.
macro_rules! elementwise {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) $out:ident)*) => {
        functions! { ELEMENTWISE: $($name(n: i64, $($arg: elementwise!(@type $kind),)* $out: *mut T);)* }
    };
    (@type scalar) => { T };
    (@type array) => { *const T };
}
for_each_elementwise!(elementwise! {} [name arguments output]);

/// Defines the reductions of the table.
macro_rules! reductions {
    ({} $($name:ident $rows:ident [$($ddof:ident)?] $out:ident)*) => {
        functions! { REDUCTIONS: $(
            $name(n: i64, x: *const T, incx: i64, $($ddof: i64,)? out: *mut reductions!(@type $out));
            $rows(m: i64, n: i64, x: *const T, rs: i64, cs: i64, $($ddof: i64,)? out: *mut reductions!(@type $out), inc_out: i64);
        )* }
    };
    (@type element) => { T };
    (@type count) => { i64 };
    (@type index) => { i64 };
}
for_each_reduction!(reductions! {} [name rows ddof result]);

/// Defines the maps over rows of the table.
macro_rules! row_maps {
    ({} $($name:ident)*) => {
        functions! { ROW_MAPS: $(
            $name(m: i64, n: i64, x: *const T, x_rs: i64, x_cs: i64, out: *mut T, out_rs: i64, out_cs: i64);
        )* }
    };
}
for_each_row_map!(row_maps! {}[name]);

functions! {
    OTHERS:
    dot(n: i64, x: *const T, incx: i64, y: *const T, incy: i64, out: *mut T);
    outer(m: i64, n: i64, x: *const T, incx: i64, y: *const T, incy: i64, out: *mut T, rs: i64, cs: i64);
    ger(m: i64, n: i64, alpha: T, x: *const T, incx: i64, y: *const T, incy: i64, a: *mut T, rs: i64, cs: i64);
    gemm(m: i64, n: i64, k: i64, alpha: T, a: *const T, a_rs: i64, a_cs: i64, b: *const T, b_rs: i64, b_cs: i64, beta: T, c: *mut T, c_rs: i64, c_cs: i64);
    gemm_batched(m: i64, n: i64, k: i64, alpha: T, a: *const T, a_rs: i64, a_cs: i64, b: *const T, b_rs: i64, b_cs: i64, beta: T, c: *mut T, c_rs: i64, c_cs: i64, batch: i64, a_bs: i64, b_bs: i64, c_bs: i64);
    gemm_fused(m: i64, n: i64, k: i64, alpha: T, a: *const T, a_rs: i64, a_cs: i64, b: *const T, b_rs: i64, b_cs: i64, beta: T, c: *mut T, c_rs: i64, c_cs: i64, epilogue: &RawEpilogue<T>);
    mse_grad(n: i64, pred: *const T, target: *const T, grad: *mut T, loss: *mut T);
    lsq_grad(m: i64, n: i64, a: *const T, a_rs: i64, a_cs: i64, x: *const T, y: *const T, grad: *mut T);
}

/// Returns the names of all functions; both backends have each of them.
pub fn functions() -> impl Iterator<Item = &'static str> {
    [ELEMENTWISE, REDUCTIONS, ROW_MAPS, OTHERS]
        .into_iter()
        .flatten()
        .copied()
}

/// Returns the bytes of scratch memory that the call needs on this backend.
fn workspace(
    on: &dyn On,
    cpu: impl Fn(&Exec<'_>) -> diptych::Result<usize>,
    device: impl Fn(&TestDevice<'_>) -> diptych::Result<usize>,
) -> Result<usize> {
    let bytes = Cell::new(0);
    on.run(
        Arguments::default(),
        &mut |exec| {
            bytes.set(cpu(exec)?);
            Ok(())
        },
        &mut |gpu| {
            bytes.set(device(gpu)?);
            Ok(())
        },
    )?;
    Ok(bytes.get())
}

/// See `diptych::raw`.
///
/// # Errors
/// As in `diptych::raw`.
pub fn gemm_workspace<T: Dtype>(on: &dyn On, m: i64, n: i64, k: i64) -> Result<usize> {
    workspace(
        on,
        |exec| diptych::raw::gemm_workspace::<T>(exec, m, n, k),
        |device| diptych_gpu::raw::gemm_workspace::<T, _>(device, m, n, k),
    )
}

/// See `diptych::raw`.
///
/// # Errors
/// As in `diptych::raw`.
pub fn lsq_grad_workspace<T: Dtype>(on: &dyn On, m: i64, n: i64) -> Result<usize> {
    workspace(
        on,
        |exec| diptych::raw::lsq_grad_workspace::<T>(exec, m, n),
        |device| diptych_gpu::raw::lsq_grad_workspace::<T, _>(device, m, n),
    )
}
