//! The calls of a fingerprint as calls of C functions.
use super::{Refused, checked};
use crate::exec::dpt_exec;
use crate::status::dpt_status;
use crate::tensor::{dpt_tensor, dpt_tensor_epilogue};
use crate::{dpt_copy, dpt_cuda_synchronize};
use core::ffi::c_void;
use diptych::backend::tensor::ElementType;
use diptych::fingerprint::{Backend, Over, Tensors, Typed};
use diptych::tensor::Tensor;

/// Where calls run.
pub(super) struct Calls {
    pub(super) host: dpt_exec,
    /// The device, and the address of the arrays there.
    pub(super) device: Option<(dpt_exec, *mut u64)>,
}

impl Calls {
    fn exec(&self, on_device: bool) -> *const dpt_exec {
        match &self.device {
            Some((exec, _)) if on_device => exec,
            _ => &self.host,
        }
    }

    /// Copies words in one direction, and waits for the end.
    ///
    /// # Safety
    /// `memory` has these words, and so has the memory on the device.
    unsafe fn copy(
        &self,
        memory: *mut u64,
        first: usize,
        count: usize,
        to_device: bool,
    ) -> Result<(), Refused> {
        let Some((exec, there)) = &self.device else {
            return Ok(());
        };
        let (here, there): (*mut c_void, *mut c_void) = (
            memory.wrapping_add(first).cast(),
            there.wrapping_add(first).cast(),
        );
        let (from, to) = if to_device {
            (here, there)
        } else {
            (there, here)
        };
        // SAFETY: as the caller's.
        unsafe {
            checked(dpt_copy(exec, count * size_of::<u64>(), from, to))?;
            checked(dpt_cuda_synchronize(exec))
        }
    }
}

// SAFETY: copies are awaited.
unsafe impl Backend for Calls {
    type Error = Refused;

    fn device(&self) -> Option<*mut u64> {
        self.device.as_ref().map(|(_, memory)| *memory)
    }

    unsafe fn upload(
        &mut self,
        memory: *mut u64,
        first: usize,
        count: usize,
    ) -> Result<(), Refused> {
        // SAFETY: as the caller's.
        unsafe { self.copy(memory, first, count, true) }
    }

    unsafe fn download(
        &mut self,
        memory: *mut u64,
        first: usize,
        count: usize,
    ) -> Result<(), Refused> {
        // SAFETY: as the caller's.
        unsafe { self.copy(memory, first, count, false) }
    }

    unsafe fn typed(&mut self, call: &Typed) -> Result<(), Refused> {
        let exec = self.exec(call.on_device);
        // SAFETY: as the caller's.
        unsafe {
            match ElementType::of(call.dtype) {
                Some(ElementType::F32) => in_single(exec, call),
                Some(ElementType::F64) => in_double(exec, call),
                None => Err(diptych::Error::UnsupportedType { arg: "dtype" }.into()),
            }
        }
    }

    unsafe fn tensors(&mut self, call: &Tensors<'_>) -> Result<(), Refused> {
        let exec = self.exec(call.on_device);
        // SAFETY: as the caller's.
        unsafe { over_tensors(exec, call) }
    }
}

diptych::fingerprint_typed!(in_single, f32, single, *const dpt_exec, Refused, checked);
diptych::fingerprint_typed!(in_double, f64, double, *const dpt_exec, Refused, checked);

/// The operations on one type, where `gemm_fused` takes its epilogue as `diptych::raw` does.
macro_rules! typed {
    ($module:ident, $T:ident) => {
        mod $module {
            pub(super) use crate::generated::names::$module::*;
            use crate::{dpt_bias_kind, dpt_epilogue, dpt_epilogue_flag, dpt_exec, dpt_status};
            use diptych::BiasKind;
            use diptych::raw::RawEpilogue;

            /// # Safety
            /// As the C function's.
            pub(super) unsafe fn gemm_fused(
                exec: *const dpt_exec,
                m: i64,
                n: i64,
                k: i64,
                alpha: $T,
                a: *const $T,
                a_rs: i64,
                a_cs: i64,
                b: *const $T,
                b_rs: i64,
                b_cs: i64,
                beta: $T,
                c: *mut $T,
                c_rs: i64,
                c_cs: i64,
                epilogue: &RawEpilogue<$T>,
            ) -> dpt_status {
                let bias_kind = match epilogue.bias_kind {
                    BiasKind::PerRow => dpt_bias_kind::DPT_BIAS_PER_ROW,
                    BiasKind::PerColumn => dpt_bias_kind::DPT_BIAS_PER_COLUMN,
                    _ => dpt_bias_kind::DPT_BIAS_NONE,
                };
                let (flags, (lo, hi)) = match epilogue.clamp {
                    Some(bounds) => (dpt_epilogue_flag::DPT_EPILOGUE_CLAMP as u32, bounds),
                    None => (0, (0.0, 0.0)),
                };
                let epilogue = dpt_epilogue {
                    struct_size: size_of::<dpt_epilogue>(),
                    flags,
                    bias_kind: bias_kind as i32,
                    bias: epilogue.bias.cast(),
                    bias_inc: epilogue.bias_inc,
                    lo: lo.into(),
                    hi: hi.into(),
                };
                // SAFETY: as the caller's.
                unsafe {
                    crate::generated::names::$module::gemm_fused(
                        exec, m, n, k, alpha, a, a_rs, a_cs, b, b_rs, b_cs, beta, c, c_rs, c_cs,
                        &epilogue,
                    )
                }
            }
        }
    };
}
typed!(single, f32);
typed!(double, f64);

/// A call of an operation over tensors.
type Function = fn(*const dpt_exec, &Tensors<'_>) -> dpt_status;

macro_rules! elementwise {
    ({} $($name:ident ($($arg:ident: $kind:ident),*))*) => {
        &[$(|exec, call| {
            let mut inputs = call.inputs.into_iter().map(pointer);
            $(let $arg = inputs.next().unwrap_or(core::ptr::null());)*
            // SAFETY: the caller of `over_tensors` vouches for the tensors.
            unsafe { crate::generated::names::tensors::$name(exec, $($arg,)* pointer(call.out).cast_mut()) }
        }),*]
    };
}

macro_rules! reductions {
    ({} $($name:ident [$($ddof:ident)?])*) => {
        &[$(|exec, call| {
            let [x, ..] = call.inputs;
            let count = if call.all_axes { -1 } else { call.axes.len() as i32 };
            let (axes, out) = (call.axes.as_ptr(), pointer(call.out).cast_mut());
            // SAFETY: as above.
            unsafe { crate::generated::names::tensors::$name(exec, pointer(x), count, axes, $(call.$ddof,)? out) }
        }),*]
    };
}

macro_rules! row_maps {
    ({} $($name:ident)*) => {
        &[$(|exec, call| {
            let [x, ..] = call.inputs;
            let count = if call.all_axes { -1 } else { call.axes.len() as i32 };
            let (axes, out) = (call.axes.as_ptr(), pointer(call.out).cast_mut());
            // SAFETY: as above.
            unsafe { crate::generated::names::tensors::$name(exec, pointer(x), count, axes, out) }
        }),*]
    };
}

const ELEMENTWISE: &[Function] = diptych::for_each_elementwise!(elementwise! {} [name arguments]);
const REDUCTIONS: &[Function] = diptych::for_each_reduction!(reductions! {} [name ddof]);
const ROW_MAPS: &[Function] = diptych::for_each_row_map!(row_maps! {}[name]);

/// # Safety
/// The tensors of the call must be valid.
unsafe fn over_tensors(exec: *const dpt_exec, call: &Tensors<'_>) -> Result<(), Refused> {
    let ([x, y, z, _], [alpha, beta]) = (call.inputs.map(pointer), call.numbers);
    let (out, loss) = (pointer(call.out).cast_mut(), pointer(call.loss).cast_mut());
    let unknown = diptych::Error::Unsupported { arg: "op" };
    // SAFETY: as the caller's.
    checked(unsafe {
        match call.op {
            Over::Elementwise(op) => ELEMENTWISE.get(op).ok_or(unknown)?(exec, call),
            Over::Reduction(op) => REDUCTIONS.get(op).ok_or(unknown)?(exec, call),
            Over::RowMap(op) => ROW_MAPS.get(op).ok_or(unknown)?(exec, call),
            Over::Outer => crate::dpt_outer(exec, x, y, out),
            Over::Ger => crate::dpt_ger(exec, alpha, x, y, out),
            Over::Matmul => {
                let epilogue = dpt_tensor_epilogue {
                    struct_size: size_of::<dpt_tensor_epilogue>(),
                    flags: crate::dpt_epilogue_flag::DPT_EPILOGUE_CLAMP as u32,
                    reserved: 0,
                    bias: z,
                    lo: alpha,
                    hi: beta,
                    row_scale: core::ptr::null(),
                    column_scale: core::ptr::null(),
                };
                let epilogue = if call.has_epilogue {
                    &raw const epilogue
                } else {
                    core::ptr::null()
                };
                crate::dpt_matmul(exec, alpha, x, y, beta, out, epilogue)
            }
            Over::Dot => crate::dpt_dot(exec, x, y, out),
            Over::MseGrad => crate::dpt_mse_grad(exec, x, y, out, loss),
            Over::LsqGrad => crate::dpt_lsq_grad(exec, x, y, z, out),
            Over::Convert => crate::dpt_convert(exec, x, out),
        }
    })
}

/// A tensor as C functions take it: the layout is the same.
fn pointer(tensor: &Tensor) -> *const dpt_tensor {
    (&raw const *tensor).cast()
}
