//! States of PyTorch tensors, and of PyTorch, of which a kernel would see nothing.

use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use crate::errors::fetch;
use crate::errors::{Class, raise, refuse};
use crate::operand::Operand;

/// Refuses a tensor whose derivative would be lost or whose memory does not hold its elements, and a call that a trace
/// would not record.
///
/// # Safety
/// A PyTorch tensor; the GIL is held.
pub unsafe fn check(object: *mut PyObject, function: &str, name: &str) -> PyResult<()> {
    // SAFETY: the caller's; the objects of `known` live for ever.
    unsafe {
        let known = known()?;
        // The memory of such a view (the imaginary part of a conjugate) holds the negated elements.
        let is_neg =
            ffi::PyObject_CallMethodObjArgs(object, known.is_neg, ptr::null_mut::<PyObject>());
        if owned(is_neg)? != ffi::Py_False() {
            return refuse(
                Class::Argument,
                format!("{function}: {name} is a lazily negated view; pass {name}.resolve_neg()"),
            );
        }
        let requires_grad = ffi::PyObject_GetAttr(object, known.requires_grad);
        if owned(requires_grad)? != ffi::Py_False() {
            check_gradient(function, name)?;
        }
        // Once a call: a thread enters forward mode and begins to trace between calls only.
        let thread = ffi::PyThreadState_Get();
        if CHECKED.load(Relaxed) != thread {
            if known.traces()? {
                check_trace(function)?;
            }
            if known.has_level()? {
                check_tangent(object, function, name)?;
            } else {
                CHECKED.store(thread, Relaxed);
            }
        }
    }
    Ok(())
}

/// The thread that was found not to be in forward mode, nor to trace, since it began its call; null after the beginning of
/// any call.
static CHECKED: AtomicPtr<ffi::PyThreadState> = AtomicPtr::new(ptr::null_mut());

/// Marks the beginning of a call.
#[inline(always)]
pub fn begin_call() {
    CHECKED.store(ptr::null_mut(), Relaxed);
}

/// Releases a new reference to an object that others hold; an error for null.
unsafe fn owned(object: *mut PyObject) -> PyResult<*mut PyObject> {
    if object.is_null() {
        return Err(fetch());
    }
    // SAFETY: the caller's.
    unsafe { ffi::Py_DECREF(object) };
    Ok(object)
}

#[cold]
fn check_gradient(function: &str, name: &str) -> PyResult<()> {
    Python::attach(|py| {
        let torch = py.import("torch")?;
        if !torch.call_method0("is_grad_enabled")?.is_truthy()? {
            return Ok(());
        }
        refuse(
            Class::Argument,
            format!(
                "{function}: {name} requires grad, which this function would not record: use diptych.torch.{function} \
                 where there is one, {name}.detach(), or torch.no_grad()"
            ),
        )
    })
}

#[cold]
fn check_tangent(object: *mut PyObject, function: &str, name: &str) -> PyResult<()> {
    Python::attach(|py| {
        // SAFETY: the caller has it.
        let object: Bound<'_, PyAny> = unsafe { Bound::from_borrowed_ptr(py, object) };
        let internals = py.import("torch._C")?;
        let autograd = internals.getattr("DispatchKey")?.getattr("AutogradOther")?;
        // In the kernel of an operation of PyTorch, the operation has taken care of its tangents.
        if internals
            .call_method1("_dispatch_tls_is_dispatch_key_excluded", (autograd,))?
            .is_truthy()?
        {
            return Ok(());
        }
        let dual = py
            .import("torch.autograd.forward_ad")?
            .call_method1("unpack_dual", (object,))?;
        if dual.getattr("tangent")?.is_none() {
            return Ok(());
        }
        refuse(
            Class::Argument,
            format!(
                "{function}: {name} has a tangent, which this function would not carry on: use diptych.torch.{function} \
                 where there is one, or the primal of torch.autograd.forward_ad.unpack_dual({name})"
            ),
        )
    })
}

#[cold]
fn check_trace(function: &str) -> PyResult<()> {
    Python::attach(|py| {
        let by_jit = py
            .import("torch.jit")?
            .call_method0("is_tracing")?
            .is_truthy()?;
        let modes = py
            .import("torch.utils._python_dispatch")?
            .call_method0("_get_current_dispatch_mode_stack")?;
        let mut by_mode = false;
        for mode in modes.try_iter()? {
            // Others, which count or log operations, may miss one.
            by_mode |= mode?.call_method0("is_infra_mode")?.is_truthy()?;
        }
        if !by_jit && !by_mode {
            return Ok(());
        }
        refuse(
            Class::Argument,
            format!(
                "{function}: PyTorch is tracing, and would take the result for a constant: use diptych.torch.{function} \
                 where there is one"
            ),
        )
    })
}

/// Refuses a tensor without memory for its elements: a fake, functional or zero tensor, or one whose storage was freed.
///
/// # Safety
/// The operand was read from a PyTorch tensor; the GIL is held.
pub unsafe fn check_memory(operand: &Operand, function: &str, name: &str) -> PyResult<()> {
    /// No memory of a process on Linux is below in practice, but for programs at fixed addresses.
    const LOW: usize = 1 << 40;
    let address = operand.tensor.data as usize;
    if address >= LOW || operand.shape().contains(&0) {
        return Ok(());
    }
    // Elements of a storage without memory seem to lie at their offset.
    let offset: usize = Python::attach(|py| {
        // SAFETY: the caller's.
        let object: Bound<'_, PyAny> = unsafe { Bound::from_borrowed_ptr(py, operand.object) };
        object.call_method0("storage_offset")?.extract()
    })?;
    if address != offset * operand.dtype().size() as usize {
        return Ok(());
    }
    refuse(
        Class::Argument,
        format!(
            "{function}: {name} has no memory: its storage was freed, or it is a fake, functional or zero tensor of PyTorch"
        ),
    )
}

/// Returns the exception where PyTorch does not give memory, of an argument or for a result; within transforms it says so.
#[cold]
pub fn without_memory(function: &str, name: &str, other: PyErr) -> PyErr {
    let within: PyResult<bool> = Python::attach(|py| {
        let modules = py.import("sys")?.getattr("modules")?;
        let internals = modules.call_method1("get", ("torch._C",))?;
        if internals.is_none() {
            return Ok(false);
        }
        internals
            .call_method0("_are_functorch_transforms_active")?
            .is_truthy()
    });
    if !within.unwrap_or(false) {
        return other;
    }
    let text = format!(
        "{function}: {name} belongs to a transform of torch.func, which would not see this function: use \
         diptych.torch.{function} where there is one"
    );
    let error = raise(Class::Argument, text);
    Python::attach(|py| error.set_cause(py, Some(other)));
    error
}

/// Names and objects of PyTorch that each call needs.
struct Known {
    requires_grad: *mut PyObject,
    is_neg: *mut PyObject,
    /// The module that counts the levels of forward mode, and the name of the count.
    forward_ad: *mut PyObject,
    level: *mut PyObject,
    /// Functions: the state of `torch.jit.trace`, and the number of modes that see all operations.
    tracing_state: *mut PyObject,
    modes: *mut PyObject,
}

impl Known {
    /// Returns whether tensors may have tangents.
    unsafe fn has_level(&self) -> PyResult<bool> {
        // SAFETY: the GIL is held by the caller.
        unsafe {
            let level = ffi::PyObject_GetAttr(self.forward_ad, self.level);
            if level.is_null() {
                return Err(fetch());
            }
            let value = ffi::PyLong_AsLong(level);
            ffi::Py_DECREF(level);
            Ok(value >= 0)
        }
    }

    /// Returns whether something may be recording operations.
    unsafe fn traces(&self) -> PyResult<bool> {
        // SAFETY: the GIL is held by the caller.
        unsafe {
            let state = owned(ffi::PyObject_CallNoArgs(self.tracing_state))?;
            let modes = ffi::PyObject_CallNoArgs(self.modes);
            if modes.is_null() {
                return Err(fetch());
            }
            let count = ffi::PyLong_AsLong(modes);
            ffi::Py_DECREF(modes);
            Ok(state != ffi::Py_None() || count != 0)
        }
    }
}

/// Returns what is looked up once.
unsafe fn known() -> PyResult<&'static Known> {
    struct Once(UnsafeCell<Option<Known>>);
    // SAFETY: accessed under the GIL only.
    unsafe impl Sync for Once {}
    static KNOWN: Once = Once(UnsafeCell::new(None));
    // SAFETY: as above; written once, before it is first returned.
    unsafe {
        if (*KNOWN.0.get()).is_none() {
            let found = look_up()?;
            // Importing may have let another thread come first.
            (*KNOWN.0.get()).get_or_insert(found);
        }
        match &*KNOWN.0.get() {
            Some(known) => Ok(known),
            None => unreachable!("it was set above"),
        }
    }
}

#[cold]
fn look_up() -> PyResult<Known> {
    let intern =
        // SAFETY: the GIL is held by the caller; such a string lives for ever.
        |name: &CStr| unsafe { ffi::PyUnicode_InternFromString(name.as_ptr()) };
    Python::attach(|py| {
        let internals = py.import("torch._C")?;
        Ok(Known {
            requires_grad: intern(c"requires_grad"),
            is_neg: intern(c"is_neg"),
            forward_ad: py.import("torch.autograd.forward_ad")?.into_ptr(),
            level: intern(c"_current_level"),
            tracing_state: internals.getattr("_get_tracing_state")?.into_ptr(),
            modes: internals.getattr("_len_torch_dispatch_stack")?.into_ptr(),
        })
    })
}
