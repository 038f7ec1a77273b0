//! The operations over tensors, each on the backend of a call.

use diptych::tensor::{Epilogue, Tensor};
use diptych::{Exec, for_each_elementwise, for_each_reduction, for_each_row_map, if_optional};
use diptych_gpu::Result;
use diptych_gpu::driver::Launcher;

/// Where a call runs.
#[derive(Clone, Copy)]
pub enum Backend<'a, 'b> {
    Host(&'a Exec<'b>),
    Device(&'a Launcher<'b>),
}

/// Defines functions that call the one of the same name of either backend.
macro_rules! functions {
    ($($name:ident($($arg:ident: $Type:ty),*);)*) => {$(
        /// # Safety
        /// As that of `diptych::tensor`, or `diptych_gpu::tensor`.
        #[inline(always)]
        pub unsafe fn $name(backend: Backend<'_, '_>, $($arg: $Type),*) -> Result<()> {
            // SAFETY: as the caller's.
            unsafe {
                match backend {
                    Backend::Host(exec) => Ok(diptych::tensor::$name(exec, $($arg),*)?),
                    Backend::Device(device) => diptych_gpu::tensor::$name(device, $($arg),*),
                }
            }
        }
    )*};
}

macro_rules! elementwise {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $out:ident)*) => {
        functions! { $($name($($arg: if_optional!($role [Option<&Tensor>] [&Tensor]),)* $out: &Tensor);)* }
    };
}
for_each_elementwise!(elementwise! {} [name arguments roles output]);

macro_rules! reductions {
    ({} $($name:ident [$($ddof:ident)?])*) => {
        functions! { $($name(x: &Tensor, axes: Option<&[i32]>, $($ddof: i64,)? out: &Tensor);)* }
    };
}
for_each_reduction!(reductions! {} [name ddof]);

macro_rules! row_maps {
    ({} $($name:ident)*) => {
        functions! { $($name(x: &Tensor, axes: Option<&[i32]>, out: &Tensor);)* }
    };
}
for_each_row_map!(row_maps! {}[name]);

functions! {
    convert(x: &Tensor, out: &Tensor);
    dot(x: &Tensor, y: &Tensor, out: &Tensor);
    outer(x: &Tensor, y: &Tensor, out: &Tensor);
    ger(alpha: f64, x: &Tensor, y: &Tensor, a: &Tensor);
    matmul(alpha: f64, a: &Tensor, b: &Tensor, beta: f64, c: &Tensor, epilogue: Option<&Epilogue<'_>>);
    mse_grad(pred: &Tensor, target: &Tensor, grad: &Tensor, loss: &Tensor);
    lsq_grad(a: &Tensor, x: &Tensor, y: &Tensor, grad: &Tensor);
}

/// As [`diptych::tensor::matmul_pack`]. There are no packed matrices on a device.
///
/// # Safety
/// As that function.
pub unsafe fn matmul_pack(
    backend: Backend<'_, '_>,
    b: &Tensor,
    packed: *mut u8,
    size: usize,
) -> Result<()> {
    match backend {
        // SAFETY: as the caller's.
        Backend::Host(exec) => unsafe { diptych::tensor::matmul_pack(exec, b, packed, size)? },
        Backend::Device(_) => return Err(diptych::Error::Unsupported { arg: "b" }.into()),
    }
    Ok(())
}

/// As [`diptych::tensor::matmul_packed`], of a packed matrix at an address and of a size. A device does not take it.
///
/// # Safety
/// As that function.
pub unsafe fn matmul_packed(
    backend: Backend<'_, '_>,
    alpha: f64,
    a: &Tensor,
    (packed, size): (*const u8, usize),
    beta: f64,
    c: &Tensor,
    epilogue: Option<&Epilogue<'_>>,
) -> Result<()> {
    match backend {
        Backend::Host(exec) => {
            // SAFETY: as the caller's.
            unsafe {
                diptych::tensor::matmul_packed(exec, alpha, a, packed, size, beta, c, epilogue)?;
            }
            Ok(())
        }
        Backend::Device(_) => Err(diptych::Error::Unsupported { arg: "packed" }.into()),
    }
}
