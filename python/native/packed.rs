//! Matrices that are packed once and multiplied by many times: `pack`.

use std::ffi::c_int;
use std::ptr;

use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use crate::arguments::Arguments;
use crate::call;
use crate::dtype::Dtype;
use crate::errors::{Class, raise, refuse, shape_of};
use crate::explain::explain;
use crate::operand::Operand;
use crate::tensor;
use diptych::Exec;
use diptych::tensor::matmul_packed_size;

/// A cache line: the alignment of packed matrices.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u8; LINE]);

const LINE: usize = 64;

/// A packed matrix: what ``pack`` returns. ``matmul`` and ``gemm`` take it as their second factor.
///
/// It never changes, so threads may share it. ``Packed.from_bytes(bytes(packed))`` is an equal one, also
/// in another process on a machine of the same kind.
#[pyclass(frozen, module = "diptych")]
pub struct Packed {
    lines: Vec<Line>,
    bytes: usize,
    shape: [i64; 2],
    dtype: Dtype,
}

/// Returns memory of so many bytes.
fn allocate(bytes: usize) -> PyResult<Vec<Line>> {
    let mut lines = Vec::new();
    let count = bytes.div_ceil(LINE);
    if lines.try_reserve_exact(count).is_err() {
        return Err(PyMemoryError::new_err("the packed matrix is too large"));
    }
    lines.resize(count, Line([0; LINE]));
    Ok(lines)
}

impl Packed {
    pub fn shape(&self) -> [i64; 2] {
        self.shape
    }

    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Its address and its size.
    pub fn memory(&self) -> (*const u8, usize) {
        (self.lines.as_ptr().cast(), self.bytes)
    }

    /// Returns the packed matrix that an object is, if it is one.
    ///
    /// # Safety
    /// The GIL must be held now, and the object must stay alive for as long as the result is used.
    #[inline(always)]
    pub unsafe fn of<'a>(object: *mut PyObject) -> Option<&'a Self> {
        // SAFETY: the caller's.
        unsafe {
            let py = Python::assume_attached();
            let object = Bound::from_borrowed_ptr_or_opt(py, object)?;
            let packed = object.cast::<Self>().ok()?;
            Some(&*ptr::from_ref(packed.get()))
        }
    }
}

#[pymethods]
impl Packed {
    /// The numbers of rows and columns of the matrix.
    #[getter(shape)]
    fn get_shape(&self) -> (i64, i64) {
        (self.shape[0], self.shape[1])
    }

    /// The name of the type of elements.
    #[getter(dtype)]
    fn get_dtype(&self) -> String {
        self.dtype.to_string()
    }

    /// The bytes that it takes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.bytes
    }

    /// Return the packed matrix whose bytes are these. A product refuses it where the CPU or the version is another.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        let mut lines = allocate(data.len())?;
        // SAFETY: as many bytes, which do not overlap; then they are read as a header, which is checked.
        let shape = unsafe {
            ptr::copy_nonoverlapping(data.as_ptr(), lines.as_mut_ptr().cast(), data.len());
            diptych::tensor::packed_shape(lines.as_ptr().cast(), data.len())
        };
        let ((code, bits), rows, columns) =
            shape.map_err(|error| raise(Class::Argument, format!("Packed.from_bytes: {error}")))?;
        Ok(Self {
            lines,
            bytes: data.len(),
            shape: [rows as i64, columns as i64],
            dtype: Dtype { code, bits },
        })
    }

    fn __repr__(&self) -> String {
        let shape = shape_of(&self.shape);
        format!("<diptych.Packed of shape {shape}, dtype {}>", self.dtype)
    }

    /// # Safety
    /// Called by the interpreter.
    unsafe fn __getbuffer__(
        this: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let (data, bytes) = this.get().memory();
        // SAFETY: the interpreter's view; the memory is valid as long as the object, which the view holds.
        match unsafe {
            let data = data.cast_mut().cast();
            ffi::PyBuffer_FillInfo(view, this.as_ptr(), data, bytes as isize, 1, flags)
        } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(this.py())),
        }
    }
}

/// The parameter of pack: b.
///
/// # Safety
/// The GIL is held, the object alive.
pub unsafe fn pack(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
    let mut b = Operand::new();
    // SAFETY: the caller's.
    unsafe { b.read(function, "b", a[0])? };
    let &[rows, columns] = b.shape() else {
        let text = format!("{function}: b {} is not a matrix", b.shape_text());
        return refuse(Class::Shape, text);
    };
    // SAFETY: the operand has been read; the memory has as many bytes as the library asks for.
    unsafe {
        let bytes = matmul_packed_size(&Exec::new(), &b.tensor)
            .map_err(|error| explain(function, error.into(), &[("b", &b)]))?;
        let mut lines = allocate(bytes)?;
        let memory: *mut u8 = lines.as_mut_ptr().cast();
        let release = call::prepare(bytes as i64, &mut [&mut b]);
        call::run(
            function,
            release,
            &b,
            || vec![("b", &b)],
            |backend| tensor::matmul_pack(backend, &b.tensor, memory, bytes),
        )?;
        let packed = Packed {
            lines,
            bytes,
            shape: [rows, columns],
            dtype: b.dtype(),
        };
        Python::attach(|py| Ok(Py::new(py, packed)?.into_ptr()))
    }
}
