//! An argument as a tensor: whose memory it is, and what is to be released after the call.

use std::ffi::c_void;
use std::ptr;

use pyo3::ffi;
use pyo3::ffi::{Py_buffer, PyObject};
use pyo3::prelude::*;

use crate::dlpack::{CPU, CUDA, ExchangeApi, Managed, ManagedVersioned};
use crate::dtype::Dtype;
use crate::errors::{Class, refuse, shape_text};
use diptych::tensor::Tensor;

/// The most axes of an array.
pub const MAX_NDIM: usize = 64;

/// The default stream, with which work of other streams synchronises unless these are non-blocking.
pub const DEFAULT_STREAM: *mut c_void = ptr::null_mut();

/// What kind of object an argument is, and so the result.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A Python number, without a type of its own.
    Number,
    /// A NumPy array.
    Numpy,
    /// An object of a type with DLPack's exchange API.
    Exchange(&'static ExchangeApi),
    /// Another object with `__dlpack__`.
    Dlpack,
    /// Another object with the buffer protocol.
    Buffer,
}

/// What must be released after the call.
pub enum Hold {
    Nothing,
    Buffer(Box<Py_buffer>),
    Versioned(*mut ManagedVersioned),
    Legacy(*mut Managed),
    Object(*mut PyObject),
}

/// The shape and the strides of an operand whose object does not have them in this form.
#[derive(Clone, Copy)]
struct Axes {
    shape: [i64; MAX_NDIM],
    strides: [i64; MAX_NDIM],
}

/// An argument. A number's tensor points into it, so it must not be moved after [`Operand::fit`].
pub struct Operand {
    pub tensor: Tensor,
    pub kind: Kind,
    /// Whether its memory must not be written.
    pub read_only: bool,
    pub hold: Hold,
    /// The stream on which its memory is used; only for memory of a device.
    pub stream: *mut c_void,
    /// The object; borrowed.
    pub object: *mut PyObject,
    /// A number as an element.
    value: u64,
    /// Most arrays need none.
    axes: Option<Box<Axes>>,
}

/// The array arguments of a call and their names.
pub type Named<'a> = Vec<(&'static str, &'a Operand)>;

impl Operand {
    #[inline(always)]
    pub fn new() -> Self {
        Self {
            tensor: Tensor {
                data: ptr::null_mut(),
                device_type: CPU,
                device_id: 0,
                ndim: 0,
                dtype_code: 0,
                dtype_bits: 0,
                dtype_lanes: 1,
                shape: ptr::null(),
                strides: ptr::null(),
                byte_offset: 0,
            },
            kind: Kind::Number,
            read_only: false,
            hold: Hold::Nothing,
            stream: DEFAULT_STREAM,
            object: ptr::null_mut(),
            value: 0,
            axes: None,
        }
    }

    /// Returns whether it is in memory of a CUDA device.
    #[inline(always)]
    pub fn is_on_device(&self) -> bool {
        self.tensor.device_type == CUDA
    }

    /// Returns the type and the number of the device where an array beside it is to be.
    pub fn place(&self) -> (i32, i32) {
        if self.is_on_device() {
            (CUDA, self.tensor.device_id)
        } else {
            (CPU, 0)
        }
    }

    /// Returns whether this is a Python number.
    #[inline(always)]
    pub fn is_number(&self) -> bool {
        matches!(self.kind, Kind::Number)
    }

    /// Makes the tensor a single element in the operand itself, with these bits.
    pub fn set_value(&mut self, value: u64, dtype: Dtype) {
        self.value = value;
        self.point_at_value(dtype);
    }

    /// Makes the tensor a single element at an address of the host.
    pub fn set_host(&mut self, data: *mut c_void, dtype: Dtype) {
        self.tensor = Tensor {
            data,
            device_type: CPU,
            device_id: 0,
            ndim: 0,
            dtype_code: dtype.code,
            dtype_bits: dtype.bits,
            dtype_lanes: 1,
            shape: ptr::null(),
            strides: ptr::null(),
            byte_offset: 0,
        };
    }

    /// Makes the tensor a single element in the operand itself.
    pub fn point_at_value(&mut self, dtype: Dtype) {
        self.tensor.data = (&raw mut self.value).cast();
        self.tensor.ndim = 0;
        self.tensor.dtype_code = dtype.code;
        self.tensor.dtype_bits = dtype.bits;
    }

    /// Returns the bits of the operand's own element.
    pub fn value(&self) -> u64 {
        // SAFETY: a field; kernels write it through the pointer.
        unsafe { (&raw const self.value).read_volatile() }
    }

    #[inline(always)]
    pub fn dtype(&self) -> Dtype {
        Dtype::new(self.tensor.dtype_code, self.tensor.dtype_bits)
    }

    /// Returns the sizes of the axes.
    #[inline(always)]
    pub fn shape(&self) -> &[i64] {
        if self.tensor.ndim <= 0 {
            return &[];
        }
        // SAFETY: a tensor's shape has `ndim` elements.
        unsafe { std::slice::from_raw_parts(self.tensor.shape, self.tensor.ndim as usize) }
    }

    pub fn shape_text(&self) -> String {
        // SAFETY: the shape of an operand that was read is valid.
        unsafe { shape_text(&self.tensor) }
    }

    /// Returns the bytes of the elements.
    #[inline(always)]
    pub fn bytes(&self) -> i64 {
        self.shape()
            .iter()
            .fold(self.dtype().size(), |n, size| n.saturating_mul(*size))
    }

    /// Returns the address of the first element.
    #[inline(always)]
    pub fn first(&self) -> *mut u8 {
        let data = self.tensor.data.cast::<u8>();
        data.wrapping_add(self.tensor.byte_offset as usize)
    }

    /// Returns whether the elements are aligned, and lie in row-major order without gaps.
    #[inline(always)]
    pub fn is_dense(&self) -> bool {
        let mut next = 1_i64;
        let strides = self.tensor.strides;
        for (i, &size) in self.shape().iter().enumerate().rev() {
            // SAFETY: a tensor with strides has one for each axis.
            if !strides.is_null() && size != 1 && unsafe { *strides.add(i) } != next {
                return false;
            }
            next = next.saturating_mul(size);
        }
        self.first()
            .addr()
            .is_multiple_of(self.dtype().size() as usize)
    }

    fn axes(&mut self) -> &mut Axes {
        self.axes.get_or_insert_with(|| {
            Box::new(Axes {
                shape: [0; MAX_NDIM],
                strides: [0; MAX_NDIM],
            })
        })
    }

    /// Sets the shape; strides become those of row-major order.
    pub fn set_shape(&mut self, shape: &[i64]) {
        let ndim = shape.len().min(MAX_NDIM);
        let axes = self.axes();
        axes.shape[..ndim].copy_from_slice(&shape[..ndim]);
        self.tensor.shape = axes.shape.as_ptr();
        self.tensor.ndim = ndim as i32;
        self.tensor.strides = ptr::null();
    }

    /// Sets the strides from strides in bytes.
    ///
    /// # Safety
    /// `bytes` has `ndim` elements.
    #[inline(always)]
    pub unsafe fn set_byte_strides(
        &mut self,
        function: &str,
        name: &str,
        bytes: *const isize,
    ) -> PyResult<()> {
        let size = self.dtype().size() as isize;
        let ndim = (self.tensor.ndim.max(0) as usize).min(MAX_NDIM);
        let shape = self.tensor.shape;
        let axes = self.axes();
        let mut rest = 0;
        for (i, place) in axes.strides[..ndim].iter_mut().enumerate() {
            // SAFETY: the caller's; a shape has `ndim` elements.
            let (stride, length) = unsafe { (*bytes.add(i), *shape.add(i)) };
            // Sizes of types are powers of two; strides of axes without a second element do not matter.
            if length > 1 {
                rest |= stride & (size - 1);
            }
            *place = (stride >> size.trailing_zeros()) as i64;
        }
        self.tensor.strides = axes.strides.as_ptr();
        if rest != 0 {
            return refuse(
                Class::Argument,
                format!(
                    "{function}: the strides of {name} are not multiples of its item size (a field of records?)"
                ),
            );
        }
        Ok(())
    }

    /// Copies the shape and the strides, so that they stay valid without the GIL.
    pub fn pin(&mut self) {
        let ndim = (self.tensor.ndim.max(0) as usize).min(MAX_NDIM);
        if ndim == 0 {
            return;
        }
        let tensor = self.tensor;
        let axes = self.axes();
        // SAFETY: both have `ndim` elements, at most MAX_NDIM; `copy` allows that they are the operand's own.
        unsafe {
            ptr::copy(tensor.shape, axes.shape.as_mut_ptr(), ndim);
            if !tensor.strides.is_null() {
                ptr::copy(tensor.strides, axes.strides.as_mut_ptr(), ndim);
            }
        }
        let (shape, strides) = (axes.shape.as_ptr(), axes.strides.as_ptr());
        self.tensor.shape = shape;
        if !tensor.strides.is_null() {
            self.tensor.strides = strides;
        }
    }
}

impl Drop for Operand {
    #[inline(always)]
    fn drop(&mut self) {
        if !matches!(self.hold, Hold::Nothing) {
            self.release();
        }
    }
}

impl Operand {
    #[cold]
    fn release(&mut self) {
        // SAFETY: operands are dropped with the GIL held, and hold what they have acquired once.
        unsafe {
            match std::mem::replace(&mut self.hold, Hold::Nothing) {
                Hold::Nothing => {}
                Hold::Buffer(mut view) => ffi::PyBuffer_Release(&mut *view),
                Hold::Object(object) => ffi::Py_DECREF(object),
                Hold::Versioned(managed) => {
                    if let Some(delete) = (*managed).deleter {
                        delete(managed);
                    }
                }
                Hold::Legacy(managed) => {
                    if let Some(delete) = (*managed).deleter {
                        delete(managed);
                    }
                }
            }
        }
    }
}
