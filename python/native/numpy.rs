//! NumPy arrays: read through the fields of their objects, whose layout is part of NumPy's binary interface, and made
//! through its table of functions. NumPy is used when a program has imported it.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering::Relaxed};

use pyo3::ffi;
use pyo3::ffi::{PyObject, PyTypeObject};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::dlpack::CPU;
use crate::dtype::{Dtype, code};
use crate::errors::fetch;
use crate::errors::{Class, refuse};
use crate::operand::{Kind, Operand};
use crate::order::Order;
use diptych::tensor::Tensor;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the package needs 64-bit pointers, as NumPy's sizes are taken for 64-bit numbers");
#[cfg(Py_GIL_DISABLED)]
compile_error!(
    "the package reads NumPy's fields under the GIL, so it does not support free-threaded Python yet"
);

/// `PyArrayObject_fields`.
#[repr(C)]
struct Array {
    object: [usize; 2],
    data: *mut c_void,
    ndim: c_int,
    dimensions: *const isize,
    strides: *const isize,
    base: *mut PyObject,
    descr: *const Descr,
    flags: c_int,
}

/// The first fields of `PyArray_Descr`, the same in NumPy 1 and 2.
#[repr(C)]
struct Descr {
    object: [usize; 2],
    scalar_type: *mut PyTypeObject,
    kind: u8,
    letter: u8,
    byte_order: u8,
    flags: u8,
    type_num: c_int,
}

const C_CONTIGUOUS: c_int = 1;
const WRITEABLE: c_int = 0x400;
const SWAPPED: u8 = if cfg!(target_endian = "little") {
    b'>'
} else {
    b'<'
};

/// Places in NumPy's table of functions.
mod slot {
    pub const DESCR_FROM_TYPE: usize = 45;
    pub const SCALAR: usize = 60;
    pub const NEW_FROM_DESCR: usize = 94;
    pub const EMPTY: usize = 184;
}

static ARRAY: AtomicPtr<PyTypeObject> = AtomicPtr::new(ptr::null_mut());
static SCALAR: AtomicPtr<PyTypeObject> = AtomicPtr::new(ptr::null_mut());
static COMPLEX: AtomicPtr<PyTypeObject> = AtomicPtr::new(ptr::null_mut());
static FUNCTIONS: AtomicPtr<*mut c_void> = AtomicPtr::new(ptr::null_mut());
/// The number of `ml_dtypes.bfloat16`, once an array of it was seen.
static BFLOAT16: AtomicI32 = AtomicI32::new(-1);

const NONE: Dtype = Dtype::new(u8::MAX, 0);

/// Types by NumPy's number. `long` and `long long` have 64 bits on the platforms of the package.
const TYPES: [Dtype; 24] = {
    let mut types = [NONE; 24];
    types[0] = Dtype::new(code::BOOL, 8);
    types[1] = Dtype::new(code::INT, 8);
    types[2] = Dtype::new(code::UINT, 8);
    types[3] = Dtype::new(code::INT, 16);
    types[4] = Dtype::new(code::UINT, 16);
    types[5] = Dtype::new(code::INT, 32);
    types[6] = Dtype::new(code::UINT, 32);
    let long = if cfg!(windows) { 32 } else { 64 };
    types[7] = Dtype::new(code::INT, long);
    types[8] = Dtype::new(code::UINT, long);
    types[9] = Dtype::I64;
    types[10] = Dtype::new(code::UINT, 64);
    types[11] = Dtype::F32;
    types[12] = Dtype::F64;
    types[14] = Dtype::new(code::COMPLEX, 64);
    types[15] = Dtype::new(code::COMPLEX, 128);
    types[23] = Dtype::F16;
    types
};

/// Returns NumPy's array type; null before NumPy was seen.
#[inline(always)]
pub fn array_type() -> *mut PyTypeObject {
    ARRAY.load(Relaxed)
}

/// Finds NumPy if the program has imported it; `import`: imports it.
pub fn find(import: bool) -> PyResult<bool> {
    if !FUNCTIONS.load(Relaxed).is_null() {
        return Ok(true);
    }
    Python::attach(|py| {
        if !import && !py.import("sys")?.getattr("modules")?.contains("numpy")? {
            return Ok(false);
        }
        let numpy = py.import("numpy")?;
        let (Ok(array), Ok(scalar)) = (numpy.getattr("ndarray"), numpy.getattr("generic")) else {
            // NumPy is being imported.
            return Ok(false);
        };
        let core = match py.import("numpy._core._multiarray_umath") {
            Ok(core) => core,
            Err(_) => py.import("numpy.core._multiarray_umath")?,
        };
        let capsule = core.getattr("_ARRAY_API")?.cast_into::<PyCapsule>()?;
        let functions = capsule.pointer_checked(None)?.as_ptr();
        ARRAY.store(array.into_ptr().cast(), Relaxed);
        SCALAR.store(scalar.into_ptr().cast(), Relaxed);
        COMPLEX.store(numpy.getattr("complexfloating")?.into_ptr().cast(), Relaxed);
        FUNCTIONS.store(functions.cast(), Relaxed);
        Ok(true)
    })
}

/// Returns whether an object is one of NumPy's scalars.
///
/// # Safety
/// The GIL is held, the object alive.
pub unsafe fn is_scalar(object: *mut PyObject) -> bool {
    // SAFETY: the caller's.
    unsafe { is_of(object, &SCALAR) }
}

/// Returns whether an object is one of NumPy's complex scalars.
///
/// # Safety
/// The GIL is held, the object alive.
pub unsafe fn is_complex(object: *mut PyObject) -> bool {
    // SAFETY: the caller's.
    unsafe { is_of(object, &COMPLEX) }
}

unsafe fn is_of(object: *mut PyObject, class: &AtomicPtr<PyTypeObject>) -> bool {
    let class = class.load(Relaxed);
    // SAFETY: the caller's.
    !class.is_null() && unsafe { ffi::PyObject_TypeCheck(object, class) != 0 }
}

/// Returns whether an object is an array, of a subclass too.
///
/// # Safety
/// The GIL is held, the object alive.
pub unsafe fn is_array(object: *mut PyObject) -> bool {
    // SAFETY: the caller's.
    unsafe { is_of(object, &ARRAY) }
}

/// Reads an array.
///
/// # Safety
/// `operand.object` is an array or of a subclass; the GIL is held.
#[inline(always)]
pub unsafe fn read(operand: &mut Operand, function: &str, name: &str) -> PyResult<()> {
    // SAFETY: the layout of arrays.
    unsafe {
        let array = &*operand.object.cast::<Array>();
        let descr = &*array.descr;
        let dtype = match TYPES.get(descr.type_num as usize) {
            Some(dtype) if dtype.code != NONE.code && descr.byte_order != SWAPPED => *dtype,
            _ => other_type(descr, function, name)?,
        };
        operand.kind = Kind::Numpy;
        operand.read_only = array.flags & WRITEABLE == 0;
        operand.tensor = Tensor {
            data: array.data,
            device_type: CPU,
            device_id: 0,
            ndim: array.ndim,
            dtype_code: dtype.code,
            dtype_bits: dtype.bits,
            dtype_lanes: 1,
            shape: array.dimensions.cast(),
            strides: ptr::null(),
            byte_offset: 0,
        };
        if array.flags & C_CONTIGUOUS == 0 {
            operand.set_byte_strides(function, name, array.strides)?;
        }
    }
    Ok(())
}

/// Returns `bfloat16`, which another package adds to NumPy, or refuses a type by its name.
#[cold]
unsafe fn other_type(descr: &Descr, function: &str, name: &str) -> PyResult<Dtype> {
    if descr.type_num == BFLOAT16.load(Relaxed) && descr.byte_order != SWAPPED {
        return Ok(Dtype::BF16);
    }
    Python::attach(|py| {
        // SAFETY: a type object of NumPy, borrowed from the array.
        let text = unsafe {
            let descr = (&raw const *descr).cast_mut().cast();
            Bound::from_borrowed_ptr(py, descr).str()?.to_string()
        };
        if text == "bfloat16" && descr.byte_order != SWAPPED {
            BFLOAT16.store(descr.type_num, Relaxed);
            return Ok(Dtype::BF16);
        }
        let why = if descr.byte_order == SWAPPED {
            "its byte order is not the machine's"
        } else {
            "no function takes it"
        };
        refuse(
            Class::Dtype,
            format!("{function}: {name} is an array of type {text}: {why}"),
        )
    })
}

/// Returns NumPy's number of a type.
fn number_of(dtype: Dtype) -> Option<c_int> {
    if dtype == Dtype::BF16 {
        return Some(BFLOAT16.load(Relaxed)).filter(|n| *n >= 0);
    }
    // 64-bit integers have the number of `long` where that has 64 bits, as in NumPy.
    TYPES.iter().position(|t| *t == dtype).map(|n| n as c_int)
}

/// Returns a new reference to NumPy's object for a type.
unsafe fn descr(dtype: Dtype) -> PyResult<*mut PyObject> {
    let Some(number) = number_of(dtype) else {
        return refuse(
            Class::Dtype,
            format!("NumPy has no type {dtype} (the package ml_dtypes has bfloat16)"),
        );
    };
    // SAFETY: the functions of NumPy's table, found before an operand can be a NumPy array.
    unsafe {
        let functions = FUNCTIONS.load(Relaxed);
        let from_type: unsafe extern "C" fn(c_int) -> *mut PyObject =
            std::mem::transmute(*functions.add(slot::DESCR_FROM_TYPE));
        let descr = from_type(number);
        if descr.is_null() {
            return Err(fetch());
        }
        Ok(descr)
    }
}

/// Makes an array.
///
/// # Safety
/// The GIL is held, and NumPy was found.
pub unsafe fn empty(shape: &[i64], dtype: Dtype, order: Option<&Order>) -> PyResult<*mut PyObject> {
    // SAFETY: the caller's; NumPy takes the reference to the type.
    unsafe {
        let functions = FUNCTIONS.load(Relaxed);
        if let Some(order) = order {
            return in_order(functions, shape, dtype, order);
        }
        let empty: unsafe extern "C" fn(
            c_int,
            *const isize,
            *mut PyObject,
            c_int,
        ) -> *mut PyObject = std::mem::transmute(*functions.add(slot::EMPTY));
        let array = empty(
            shape.len() as c_int,
            shape.as_ptr().cast(),
            descr(dtype)?,
            0,
        );
        if array.is_null() {
            return Err(fetch());
        }
        Ok(array)
    }
}

/// As [`empty`], for an array whose elements do not lie in row-major order.
#[cold]
unsafe fn in_order(
    functions: *mut *mut c_void,
    shape: &[i64],
    dtype: Dtype,
    order: &Order,
) -> PyResult<*mut PyObject> {
    let strides = order
        .strides(shape)
        .map(|stride| stride.saturating_mul(dtype.size()));
    // SAFETY: the caller's. NumPy takes strides for memory that it makes itself, as its iterators do, and the reference
    // to the type.
    unsafe {
        let new: unsafe extern "C" fn(
            *mut PyTypeObject,
            *mut PyObject,
            c_int,
            *const isize,
            *const isize,
            *mut c_void,
            c_int,
            *mut PyObject,
        ) -> *mut PyObject = std::mem::transmute(*functions.add(slot::NEW_FROM_DESCR));
        let array = new(
            array_type(),
            descr(dtype)?,
            shape.len() as c_int,
            shape.as_ptr().cast(),
            strides.as_ptr().cast(),
            ptr::null_mut(),
            0,
            ptr::null_mut(),
        );
        if array.is_null() {
            return Err(fetch());
        }
        Ok(array)
    }
}

/// Makes a scalar from the bits of an element.
///
/// # Safety
/// As [`empty`].
pub unsafe fn scalar(value: u64, dtype: Dtype) -> PyResult<*mut PyObject> {
    // SAFETY: the caller's; NumPy copies the element and does not keep the type's reference.
    unsafe {
        let functions = FUNCTIONS.load(Relaxed);
        let scalar: unsafe extern "C" fn(
            *const c_void,
            *mut PyObject,
            *mut PyObject,
        ) -> *mut PyObject = std::mem::transmute(*functions.add(slot::SCALAR));
        let descr = descr(dtype)?;
        let object = scalar((&raw const value).cast(), descr, ptr::null_mut());
        ffi::Py_DECREF(descr);
        if object.is_null() {
            return Err(fetch());
        }
        Ok(object)
    }
}
