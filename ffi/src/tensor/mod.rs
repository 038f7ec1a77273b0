//! `dpt_tensor`, and what the operations over tensors share.
#[cfg(feature = "std")]
mod describe;
mod epilogue;
mod on_device;
mod packed;
mod products;
mod report;

pub use epilogue::dpt_tensor_epilogue;
pub use packed::*;
pub use products::*;

use crate::backend::Backend;
use crate::error::Failure;
use crate::exec::{dpt_device, dpt_exec, is_plain, read};
use crate::lend::lend;
use crate::status::dpt_status;
use core::ffi::c_void;
use core::mem::offset_of;
use diptych::backend::tensor::MAX_RANK;
use diptych::tensor::Tensor;
use diptych::{Error, Exec};

/// The tensors of a call, and the names of the arguments.
pub(crate) type Tensors<'a> = &'a [(&'static str, *const dpt_tensor)];

/// An array of any rank, with strides, somewhere in memory: exactly DLTensor of DLPack 1.x. It
/// describes elements, and owns neither them nor shape and strides. If dlpack/dlpack.h was included
/// before this header, dpt_tensor is another name of DLTensor.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dpt_tensor {
    /// The address from which byte_offset counts. May be NULL if there are no elements.
    pub data: *mut c_void,
    /// Where the elements are: 1 plain memory, 2 memory of a CUDA device, 3 page-locked by CUDA,
    /// 13 managed by CUDA (values of DLDeviceType). Others are DPT_UNSUPPORTED.
    pub device_type: i32,
    /// Which of the devices of that type.
    pub device_id: i32,
    /// The number of axes, 0 to 64; 0 for a scalar.
    pub ndim: i32,
    /// The kind of elements: 0 signed, 1 unsigned, 2 IEEE 754, 4 bfloat16, 6 boolean (values of
    /// DLDataTypeCode).
    pub dtype_code: u8,
    /// The bits of an element.
    pub dtype_bits: u8,
    /// 1. Elements that are vectors are DPT_UNSUPPORTED_TYPE.
    pub dtype_lanes: u16,
    /// The length of each axis. May be NULL if ndim is 0.
    pub shape: *mut i64,
    /// The distance from one element to the next along each axis, in elements: 0, negative or
    /// positive. NULL: row-major, without gaps. Strides of axes of length 1 are not looked at.
    pub strides: *mut i64,
    /// The distance of the first element from data, in bytes.
    pub byte_offset: u64,
}

/// The library reads a `dpt_tensor` as a `Tensor`.
macro_rules! same_layout {
    ($($member:ident)*) => {
        const _: () = assert!(size_of::<dpt_tensor>() == size_of::<Tensor>());
        $(const _: () = assert!(offset_of!(dpt_tensor, $member) == offset_of!(Tensor, $member));)*
    };
}
same_layout!(data device_type device_id ndim dtype_code dtype_bits dtype_lanes shape strides byte_offset);

/// `tensor_operation!(NAME, exec, [TENSORS...], OP(ARGUMENTS...))` runs `tensor::OP` of the backend that `exec` asks for,
/// for the C function `NAME`. An argument is a tensor, `TENSOR or none` where NULL means that there is none, or
/// `= VALUE`. Of the tensors that are named in brackets, error texts give types and shapes.
macro_rules! tensor_operation {
    ($name:literal, $exec:expr, [$($tensor:ident),*], $op:ident($($arg:tt)*)) => {{
        let tensors: $crate::tensor::Tensors<'_> = &[$((stringify!($tensor), $tensor)),*];
        let run = move |backend: $crate::backend::Backend<'_, '_>| match backend {
            $crate::backend::Backend::Host(exec) => $crate::tensor::call!(::diptych, exec, $op, [] $($arg)*),
            #[cfg(feature = "gpu")]
            $crate::backend::Backend::Device(device) => $crate::tensor::call!(::diptych_gpu, device, $op, [] $($arg)*),
        };
        $crate::tensor::run($name, $exec, tensors, &run)
    }};
}
pub(crate) use tensor_operation;

/// The call in `tensor_operation!`.
macro_rules! call {
    ($krate:path, $exec:ident, $op:ident, [$($done:expr,)*]) => {{
        use $krate as backend;
        Ok(backend::tensor::$op($exec, $($done),*)?)
    }};
    ($krate:path, $exec:ident, $op:ident, [$($done:expr,)*] $tensor:ident or none $(, $($rest:tt)*)?) => {
        $crate::tensor::call!($krate, $exec, $op, [$($done,)* $crate::tensor::optional(stringify!($tensor), $tensor)?,] $($($rest)*)?)
    };
    ($krate:path, $exec:ident, $op:ident, [$($done:expr,)*] = $value:expr $(, $($rest:tt)*)?) => {
        $crate::tensor::call!($krate, $exec, $op, [$($done,)* $value,] $($($rest)*)?)
    };
    ($krate:path, $exec:ident, $op:ident, [$($done:expr,)*] $tensor:ident $(, $($rest:tt)*)?) => {
        $crate::tensor::call!($krate, $exec, $op, [$($done,)* $crate::tensor::needed(stringify!($tensor), $tensor)?,] $($($rest)*)?)
    };
}
pub(crate) use call;

/// Runs an operation of the C function `name` on the backend that `exec` asks for.
///
/// # Safety
/// `exec` is NULL or points to a `dpt_exec` whose promises hold; the tensors are NULL or point to valid ones.
#[inline(never)]
pub(crate) unsafe fn run(
    name: &'static str,
    exec: *const dpt_exec,
    tensors: Tensors<'_>,
    operation: &dyn Fn(Backend<'_, '_>) -> Result<(), Failure>,
) -> dpt_status {
    // SAFETY: passed on from the caller.
    let done = unsafe {
        // With a size that is not small only an `exec` of one thread is plain.
        if is_plain(exec, [i64::MAX]) {
            operation(Backend::Host(&Exec::new()))
        } else {
            elsewhere(exec, tensors, operation)
        }
    };
    // SAFETY: passed on from the caller.
    unsafe { report::report(name, done, tensors) }
}

/// [`run`] for an `exec` with threads, a workspace or a device, and for one that is not valid.
///
/// # Safety
/// As [`run`].
unsafe fn elsewhere(
    exec: *const dpt_exec,
    tensors: Tensors<'_>,
    operation: &dyn Fn(Backend<'_, '_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // SAFETY: passed on from the caller.
    unsafe {
        let c = read(exec)?;
        let on_device = match c.device {
            device if device == dpt_device::DPT_DEVICE_CPU as i32 => false,
            device if device == dpt_device::DPT_DEVICE_CUDA as i32 => true,
            _ => on_device::any(tensors),
        };
        if on_device {
            on_device::run(&c, tensors, operation)
        } else {
            lend(&c, |exec| operation(Backend::Host(exec)))
        }
    }
}

/// Returns a tensor, if there is one and it is aligned.
///
/// # Safety
/// NULL, or points to a tensor.
unsafe fn described<'a>(tensor: *const dpt_tensor) -> Option<&'a dpt_tensor> {
    if !tensor.is_aligned() {
        return None;
    }
    // SAFETY: aligned; passed on from the caller.
    unsafe { tensor.as_ref() }
}

/// Reads a tensor that a call cannot do without.
///
/// # Safety
/// NULL, or points to a tensor.
pub(crate) unsafe fn needed<'a>(
    arg: &'static str,
    tensor: *const dpt_tensor,
) -> Result<&'a Tensor, Error> {
    // SAFETY: passed on from the caller.
    unsafe { optional(arg, tensor)? }.ok_or(Error::NullPointer { arg })
}

/// Reads a tensor that may be NULL.
///
/// # Safety
/// As [`needed`].
pub(crate) unsafe fn optional<'a>(
    arg: &'static str,
    tensor: *const dpt_tensor,
) -> Result<Option<&'a Tensor>, Error> {
    if !tensor.is_aligned() {
        return Err(Error::Misaligned { arg });
    }
    // SAFETY: aligned; NULL or a tensor, whose layout is that of `Tensor`.
    Ok(unsafe { tensor.cast::<Tensor>().as_ref() })
}

/// Reads a set of axes; a negative number of axes means all.
///
/// # Safety
/// `axes` must point to `naxes` numbers if those are more than 0.
pub(crate) unsafe fn axes_of<'a>(naxes: i32, axes: *const i32) -> Result<Option<&'a [i32]>, Error> {
    const ARG: &str = "axes";
    match usize::try_from(naxes) {
        Err(_) => Ok(None),
        Ok(0) => Ok(Some(&[])),
        Ok(_) if axes.is_null() => Err(Error::NullPointer { arg: ARG }),
        Ok(_) if !axes.is_aligned() => Err(Error::Misaligned { arg: ARG }),
        // More than any tensor has, and perhaps more than there are.
        Ok(count) if count > MAX_RANK => Err(Error::InvalidValue { arg: "naxes" }),
        // SAFETY: not NULL and aligned; the caller vouches for the numbers.
        Ok(count) => Ok(Some(unsafe { core::slice::from_raw_parts(axes, count) })),
    }
}
