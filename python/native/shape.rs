//! Shapes of results: broadcasting and reduced axes; and tensors with other axes over the same memory.

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use crate::errors::{Class, refuse};
use crate::number::integer;
use crate::operand::{MAX_NDIM, Operand};
use diptych::tensor::Tensor;

/// Sizes of axes, without an allocation.
#[derive(Clone, Copy)]
pub struct Shape {
    sizes: [i64; MAX_NDIM],
    len: usize,
}

impl Shape {
    pub const EMPTY: Self = Self {
        sizes: [0; MAX_NDIM],
        len: 0,
    };

    pub fn new(sizes: &[i64]) -> Self {
        let mut shape = Self::EMPTY;
        sizes.iter().for_each(|size| shape.push(*size));
        shape
    }

    /// Adds an axis. (More than an array can have are left out; the kernels refuse the shape then.)
    pub fn push(&mut self, size: i64) {
        if let Some(place) = self.sizes.get_mut(self.len) {
            *place = size;
            self.len += 1;
        }
    }

    pub fn as_slice(&self) -> &[i64] {
        &self.sizes[..self.len]
    }

    /// Widens this shape by NumPy's rules; false if the two do not fit.
    #[must_use]
    pub fn broadcast(&mut self, other: &[i64]) -> bool {
        if other.len() > self.len {
            let missing = other.len() - self.len;
            self.sizes.copy_within(0..self.len, missing);
            self.sizes[..missing].fill(1);
            self.len = other.len();
        }
        let first = self.len - other.len();
        for (mine, theirs) in self.sizes[first..self.len].iter_mut().zip(other) {
            if *mine == 1 {
                *mine = *theirs;
            } else if *theirs != 1 && *theirs != *mine {
                return false;
            }
        }
        true
    }
}

/// The axes of a reduction, or of the rows of a map.
pub struct Axes {
    list: [i32; MAX_NDIM],
    /// `None`: all.
    len: Option<usize>,
    /// A bit for each of the axes.
    mask: u64,
}

impl Axes {
    /// Reads `axis`: null for all axes, an integer, or a tuple of integers.
    ///
    /// # Safety
    /// The GIL is held, the object alive.
    #[inline(always)]
    pub unsafe fn read(function: &str, axis: *mut PyObject, ndim: usize) -> PyResult<Self> {
        let mut axes = Self {
            list: [0; MAX_NDIM],
            len: None,
            mask: u64::MAX,
        };
        if !axis.is_null() {
            // SAFETY: the caller's.
            unsafe { axes.read_given(function, axis, ndim) }?;
        }
        Ok(axes)
    }

    unsafe fn read_given(
        &mut self,
        function: &str,
        axis: *mut PyObject,
        ndim: usize,
    ) -> PyResult<()> {
        (self.len, self.mask) = (Some(0), 0);
        // SAFETY: the caller's; items of a tuple are alive while it is.
        unsafe {
            if ffi::PyTuple_Check(axis) == 0 {
                return self.add(function, axis, ndim);
            }
            for i in 0..ffi::PyTuple_Size(axis) {
                self.add(function, ffi::PyTuple_GetItem(axis, i), ndim)?;
            }
        }
        Ok(())
    }

    unsafe fn add(&mut self, function: &str, axis: *mut PyObject, ndim: usize) -> PyResult<()> {
        // SAFETY: the caller's.
        let axis = unsafe {
            let index = integer(function, "axis", axis, "an integer or a tuple of integers")?;
            normal(function, index, ndim)
        }?;
        if self.mask >> axis & 1 == 1 {
            return refuse(
                Class::Argument,
                format!("{function}: axis {axis} is given twice"),
            );
        }
        self.mask |= 1 << axis;
        let len = self.len.get_or_insert(0);
        self.list[*len] = axis as i32;
        *len += 1;
        Ok(())
    }

    /// Returns the axes as the kernels take them.
    pub fn as_option(&self) -> Option<&[i32]> {
        self.len.map(|len| &self.list[..len])
    }

    /// Returns the shape of the result.
    pub fn result(&self, shape: &[i64], keep: bool) -> Shape {
        let mut result = Shape::EMPTY;
        for (i, size) in shape.iter().enumerate() {
            if self.mask >> i & 1 == 0 {
                result.push(*size);
            } else if keep {
                result.push(1);
            }
        }
        result
    }
}

/// Reads an axis, which may count from the end.
///
/// # Safety
/// The GIL is held, the object alive.
pub unsafe fn normal_axis(function: &str, axis: *mut PyObject, ndim: usize) -> PyResult<usize> {
    // SAFETY: the caller's.
    let index = unsafe { integer(function, "axis", axis, "an integer") }?;
    normal(function, index, ndim)
}

fn normal(function: &str, index: isize, ndim: usize) -> PyResult<usize> {
    let normal = if index < 0 {
        index + ndim as isize
    } else {
        index
    };
    if normal < 0 || normal >= ndim as isize {
        return refuse(
            Class::Argument,
            format!("{function}: axis {index} is out of range for an array of {ndim} axes"),
        );
    }
    Ok(normal as usize)
}

/// A tensor over an operand's memory with other axes. It must not be moved after [`View::tensor`].
pub struct View {
    base: Tensor,
    shape: Shape,
    strides: Shape,
}

impl View {
    /// Returns a view with the axes of an operand.
    pub fn new(operand: &Operand) -> Self {
        let shape = Shape::new(operand.shape());
        let mut strides = shape;
        if operand.tensor.strides.is_null() {
            let mut stride = 1_i64;
            for place in (0..shape.len).rev() {
                strides.sizes[place] = stride;
                stride = stride.saturating_mul(shape.sizes[place].max(1));
            }
        } else {
            for place in 0..shape.len {
                // SAFETY: a tensor with strides has one for each axis.
                strides.sizes[place] = unsafe { *operand.tensor.strides.add(place) };
            }
        }
        Self {
            base: operand.tensor,
            shape,
            strides,
        }
    }

    pub fn shape(&self) -> &[i64] {
        self.shape.as_slice()
    }

    pub fn ndim(&self) -> usize {
        self.shape.len
    }

    /// Inserts an axis of length 1; false if there are too many then.
    #[must_use]
    pub fn insert(&mut self, place: usize) -> bool {
        let len = self.shape.len;
        if len == MAX_NDIM {
            return false;
        }
        for (list, value) in [(&mut self.shape, 1), (&mut self.strides, 0)] {
            list.sizes.copy_within(place..len, place + 1);
            list.sizes[place] = value;
            list.len += 1;
        }
        true
    }

    /// Moves an axis to another place.
    pub fn move_axis(&mut self, from: usize, to: usize) {
        for list in [&mut self.shape, &mut self.strides] {
            let range = from.min(to)..=from.max(to);
            if from < to {
                list.sizes[range].rotate_left(1);
            } else {
                list.sizes[range].rotate_right(1);
            }
        }
    }

    /// Makes all axes one, if they lie in memory as one.
    #[must_use]
    pub fn flatten(&mut self) -> bool {
        let mut flat: Option<(i64, i64)> = None;
        for place in (0..self.shape.len).rev() {
            let (size, stride) = (self.shape.sizes[place], self.strides.sizes[place]);
            flat = match flat {
                _ if size == 1 => continue,
                None => Some((size, stride)),
                Some((n, inner)) if stride == n.saturating_mul(inner) => Some((n * size, inner)),
                Some(_) if self.as_empty() => Some((0, 1)),
                Some(_) => return false,
            };
        }
        let (size, stride) = flat.unwrap_or((1, 1));
        self.shape = Shape::new(&[if self.as_empty() { 0 } else { size }]);
        self.strides = Shape::new(&[stride]);
        true
    }

    /// Makes the only axis several, in row-major order; they have as many elements.
    pub fn unflatten(&mut self, shape: &[i64]) {
        let mut stride = self.strides.sizes[0];
        (self.shape, self.strides) = (Shape::new(shape), Shape::new(shape));
        for (size, place) in shape.iter().zip(&mut self.strides.sizes).rev() {
            *place = stride;
            stride = stride.saturating_mul((*size).max(1));
        }
    }

    fn as_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// Restricts an axis to a range.
    pub fn narrow(&mut self, axis: usize, from: i64, len: i64) {
        let bytes = i64::from(self.base.dtype_bits) / 8;
        let offset = from
            .wrapping_mul(self.strides.sizes[axis])
            .wrapping_mul(bytes);
        if !self.base.data.is_null() {
            self.base.data = self.base.data.wrapping_byte_offset(offset as isize);
        }
        self.shape.sizes[axis] = len;
    }

    pub fn tensor(&self) -> Tensor {
        Tensor {
            ndim: self.shape.len as i32,
            shape: self.shape.sizes.as_ptr(),
            strides: self.strides.sizes.as_ptr(),
            ..self.base
        }
    }
}
