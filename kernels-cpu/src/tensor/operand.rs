//! Tensors as callers describe them, and their checks.

use core::ffi::c_void;
use core::ptr;

use super::header::{self, Header};
use super::kind::{Integer, Location, Type};
use super::list::List;
use crate::error::{Error, Result};

/// An array of any rank, with strides, somewhere in memory. The layout is that of `DLTensor` in DLPack 1.x.
///
/// A tensor is a description; it owns neither the elements nor `shape` and `strides`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    /// The address from which `byte_offset` counts. May be null if there are no elements.
    pub data: *mut c_void,
    /// Where the elements are: a value of `DLDeviceType`.
    pub device_type: i32,
    /// Which of the devices of that type.
    pub device_id: i32,
    /// The number of axes, at most 64; 0 for a scalar.
    pub ndim: i32,
    /// The kind of elements: a value of `DLDataTypeCode`.
    pub dtype_code: u8,
    /// Bits of an element.
    pub dtype_bits: u8,
    /// 1. (Elements that are vectors are refused.)
    pub dtype_lanes: u16,
    /// The length of each axis.
    pub shape: *const i64,
    /// The distance, in elements, from one element to the next along each axis; null: row-major, without gaps.
    pub strides: *const i64,
    /// The distance of the first element from `data`.
    pub byte_offset: u64,
}

/// An axis: its length, and the distance from one element to the next in bytes. The distance along an axis of fewer
/// than two elements is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The number of elements.
    pub count: usize,
    /// Bytes from one to the next.
    pub step: isize,
}

impl Axis {
    /// Returns the distance in elements of the type `of`.
    pub fn stride(self, of: Type) -> isize {
        // A shift, because sizes are powers of two, and a division could panic.
        self.step >> of.size().trailing_zeros()
    }
}

/// A checked tensor.
#[derive(Clone)]
pub struct Operand {
    /// The name of the argument.
    pub arg: &'static str,
    /// The first element, with all indices 0.
    pub p: *mut u8,
    /// The type of elements.
    pub of: Type,
    /// The axes, outermost first.
    pub axes: List<Axis>,
    /// The number of elements.
    pub count: usize,
    /// The first byte, and one past the last; equal without elements.
    low: usize,
    high: usize,
}

impl Operand {
    /// Checks a tensor in memory of the host.
    ///
    /// # Errors
    /// As [`Operand::in_memory`].
    ///
    /// # Safety
    /// As [`Operand::in_memory`].
    pub unsafe fn new(tensor: &Tensor, arg: &'static str) -> Result<Self> {
        // SAFETY: as the caller's.
        unsafe { Self::in_memory(tensor, arg, Location::Host) }
    }

    /// Checks a tensor.
    ///
    /// # Errors
    /// `InvalidValue` for a bad rank, `UnsupportedType`, `Unsupported` for other memory, `NegativeSize`;
    /// `NullPointer`, also for a missing shape; `Misaligned`; `SizeOverflow` when the elements span more than the
    /// address space.
    ///
    /// # Safety
    /// `shape`, and `strides` unless null, must be valid for reading `ndim` numbers.
    pub unsafe fn in_memory(tensor: &Tensor, arg: &'static str, memory: Location) -> Result<Self> {
        let mut operand = Self::empty(arg);
        // SAFETY: as the caller's.
        unsafe { operand.set(tensor, memory)? };
        Ok(operand)
    }

    /// Returns an operand without a tensor, for [`Operand::set`].
    #[inline(always)]
    pub const fn empty(arg: &'static str) -> Self {
        Self {
            arg,
            p: ptr::null_mut(),
            of: Type::Integer(Integer::U8),
            axes: List::new(),
            count: 0,
            low: 0,
            high: 0,
        }
    }

    /// Makes this [`Operand::in_memory`], in place: to move it takes as long as a small operation. Keeps its name.
    ///
    /// # Errors
    /// As [`Operand::in_memory`].
    ///
    /// # Safety
    /// As [`Operand::in_memory`].
    #[inline(never)]
    pub unsafe fn set(&mut self, tensor: &Tensor, memory: Location) -> Result<()> {
        let of = Type::of(tensor.dtype_code, tensor.dtype_bits);
        let header = Header::check(tensor, of, self.arg, memory)?;
        (self.of, self.p) = (header.of, header.p);
        (self.low, self.high) = (self.p.addr(), self.p.addr());
        // SAFETY: as the caller's.
        unsafe { self.set_axes(tensor, tensor.ndim as usize)? };
        if self.count > 0 {
            self.place(tensor)?;
        }
        Ok(())
    }

    /// Reads the axes of a tensor and the number of its elements.
    ///
    /// # Safety
    /// As [`Operand::in_memory`].
    #[inline(always)]
    unsafe fn set_axes(&mut self, tensor: &Tensor, rank: usize) -> Result<()> {
        let arg = self.arg;
        let overflow = Error::SizeOverflow { arg };
        self.axes.truncate(0);
        // The product of the lengths that are not 0: with one that is 0, strides have no meaning.
        let (mut product, mut is_empty) = (1_usize, false);
        for i in 0..rank {
            // SAFETY: as the caller's.
            let count = unsafe { ptr::read(tensor.shape.add(i)) };
            if count < 0 {
                return Err(Error::NegativeSize { arg });
            }
            let count = usize::try_from(count).map_err(|_| overflow)?;
            is_empty |= count == 0;
            product = product.checked_mul(count.max(1)).ok_or(overflow)?;
            self.axes.push(Axis { count, step: 0 });
        }
        if is_empty {
            self.count = 0;
            return Ok(());
        }
        self.count = product;
        // SAFETY: as the caller's.
        unsafe { self.set_steps(tensor) }
    }

    /// Reads the strides of a tensor that has elements.
    ///
    /// # Safety
    /// As [`Operand::in_memory`].
    #[inline(always)]
    unsafe fn set_steps(&mut self, tensor: &Tensor) -> Result<()> {
        let overflow = Error::SizeOverflow { arg: self.arg };
        let size = self.of.size() as isize;
        let mut next = size;
        for (i, axis) in self.axes.iter_mut().enumerate().rev() {
            if tensor.strides.is_null() {
                axis.step = next;
                next = isize::try_from(axis.count)
                    .ok()
                    .and_then(|count| count.checked_mul(next))
                    .ok_or(overflow)?;
            } else {
                // SAFETY: as the caller's.
                let stride = unsafe { ptr::read(tensor.strides.add(i)) };
                let step = isize::try_from(stride)
                    .ok()
                    .and_then(|s| s.checked_mul(size));
                // The stride of an axis of one element has no meaning.
                axis.step = if axis.count > 1 {
                    step.ok_or(overflow)?
                } else {
                    0
                };
            }
            if axis.count < 2 {
                axis.step = 0;
            }
        }
        Ok(())
    }

    /// Makes this a valid number, and keeps its name.
    pub fn set_number(&mut self, of: Type, p: *const u8) {
        self.p = p.cast_mut();
        self.of = of;
        self.axes.truncate(0);
        self.count = 1;
        (self.low, self.high) = (p.addr(), p.addr() + of.size());
    }

    /// Checks the addresses of a tensor that has elements.
    fn place(&mut self, tensor: &Tensor) -> Result<()> {
        let (arg, size) = (self.arg, self.of.size());
        if tensor.data.is_null() {
            return Err(Error::NullPointer { arg });
        }
        if !header::is_aligned(self.p, self.of) {
            return Err(Error::Misaligned { arg });
        }
        let bounds = || {
            let first = header::address(tensor)?;
            let (mut low, mut high) = (first, first.checked_add(size)?);
            for axis in self.axes.iter() {
                let reach = axis.step.unsigned_abs().checked_mul(axis.count - 1)?;
                if axis.step < 0 {
                    low = low.checked_sub(reach)?;
                } else {
                    high = high.checked_add(reach)?;
                }
            }
            isize::try_from(high - low).ok().map(|_| (low, high))
        };
        (self.low, self.high) = bounds().ok_or(Error::SizeOverflow { arg })?;
        Ok(())
    }

    /// Returns the number of axes.
    pub fn rank(&self) -> usize {
        self.axes.len()
    }

    /// Returns axis number `axis`; a scalar's for an axis that does not exist.
    pub fn axis(&self, axis: usize) -> Axis {
        self.axes
            .get(axis)
            .copied()
            .unwrap_or(Axis { count: 1, step: 0 })
    }

    /// Returns the first axes alone, without the others.
    pub fn leading(&self, axes: usize) -> Self {
        let mut leading = Self {
            axes: List::new(),
            ..self.clone()
        };
        let kept = self.axes.iter().take(axes);
        kept.for_each(|&axis| leading.axes.push(axis));
        leading
    }

    /// Returns the strides with which this operand is broadcast to axes of these lengths, outermost first; `None` if
    /// its shape does not fit.
    pub fn broadcast(&self, counts: impl ExactSizeIterator<Item = usize>) -> Option<List<isize>> {
        let missing = counts.len().checked_sub(self.rank())?;
        let mut steps = List::new();
        for (i, count) in counts.enumerate() {
            steps.push(self.broadcast_step(i, missing, count)?);
        }
        Some(steps)
    }

    /// Returns the stride with which this operand, which has `missing` axes fewer, is broadcast to axis `axis` of length
    /// `count`; `None` if it does not fit.
    pub fn broadcast_step(&self, axis: usize, missing: usize, count: usize) -> Option<isize> {
        let own = match axis.checked_sub(missing) {
            Some(axis) => self.axis(axis),
            None => Axis { count: 1, step: 0 },
        };
        let fits = own.count == count || own.count == 1;
        fits.then_some(if own.count == count { own.step } else { 0 })
    }

    /// Refuses another type than that of `other`.
    ///
    /// # Errors
    /// `TypeMismatch`.
    pub fn same_type(&self, other: &Self) -> Result<()> {
        if self.of == other.of {
            Ok(())
        } else {
            Err(Error::TypeMismatch { arg: self.arg })
        }
    }

    /// Refuses an output that has, or may have, two elements at one address: going from the smallest step to the
    /// largest, each step must pass all elements that the smaller ones reach.
    ///
    /// # Errors
    /// `Overlap`.
    pub fn check_distinct(&self) -> Result<()> {
        let mut axes = List::new();
        self.axes.iter().for_each(|&axis| axes.push(axis));
        axes.sort_by_key(|axis| axis.step.unsigned_abs());
        let mut extent = self.of.size();
        for axis in axes.iter().filter(|axis| axis.count > 1) {
            let step = axis.step.unsigned_abs();
            if step < extent && self.count > 0 {
                return Err(Error::Overlap { arg: self.arg });
            }
            extent = extent.saturating_add(step.saturating_mul(axis.count - 1));
        }
        Ok(())
    }

    /// Refuses an output that shares, or may share, a byte with `other`.
    ///
    /// # Errors
    /// `Overlap`.
    pub fn apart_from(&self, other: &Self) -> Result<()> {
        if self.high <= other.low || other.high <= self.low || self.is_interleaved_with(other) {
            return Ok(());
        }
        Err(Error::Overlap { arg: self.arg })
    }

    /// As [`Operand::apart_from`], but `other` may have exactly the elements of this tensor, in the same order.
    ///
    /// # Errors
    /// `Overlap`.
    pub fn same_or_apart_from(&self, other: &Self) -> Result<()> {
        let same = || {
            let lacking = self.rank().saturating_sub(other.rank());
            self.p == other.p
                && self.of == other.of
                && self.rank() >= other.rank()
                && self.axes.iter().take(lacking).all(|axis| axis.count == 1)
                && self.axes.iter().skip(lacking).eq(other.axes.iter())
        };
        if same() {
            return Ok(());
        }
        self.apart_from(other)
    }

    /// Returns whether the two can be shown to share no byte although their bounds overlap: one has no elements, or
    /// they are apart modulo the step of some axis, as blocks of one matrix and interleaved arrays are.
    fn is_interleaved_with(&self, other: &Self) -> bool {
        if self.count == 0 || other.count == 0 {
            return true;
        }
        self.axes.iter().chain(other.axes.iter()).any(|axis| {
            let pitch = axis.step.unsigned_abs();
            if axis.count < 2 || pitch == 0 {
                return false;
            }
            let (Some(mine), Some(theirs)) = (self.width(pitch), other.width(pitch)) else {
                return false;
            };
            let ahead = (other.low % pitch + pitch - self.low % pitch) % pitch;
            ahead >= mine && pitch - ahead >= theirs
        })
    }

    /// Returns how many bytes the elements cover modulo `pitch`, if that is at most `pitch`.
    fn width(&self, pitch: usize) -> Option<usize> {
        let mut width = self.of.size();
        for axis in self.axes.iter().filter(|axis| axis.count > 1) {
            let step = axis.step.unsigned_abs();
            if step.checked_rem(pitch)? != 0 {
                width = width.checked_add(step.checked_mul(axis.count - 1)?)?;
            }
        }
        (width <= pitch).then_some(width)
    }
}
