//! Conversions between types of elements, of contiguous arrays. There are kernels for the pairs that matter; the other
//! pairs take several steps, through types between them that hold every value exactly.

use core::ptr;

use super::kind::{Integer, Type};
use super::steps::{self, Step};
use crate::aligned::AlignedBytes;
use crate::dispatch::Kernels;
use crate::element::Dtype;
use crate::level::Level;

/// The most steps of a conversion: from `bool` through integers, `f64` and `f32` to 16 bits.
const STEPS: usize = 4;
/// Elements that are converted at a time where there are several steps.
const BLOCK: usize = 512;

/// Bytes of a cache line.
const LINE: usize = 64;

/// A conversion of contiguous elements.
#[derive(Clone, Copy)]
pub struct Conversion {
    steps: [Option<Step>; STEPS],
    /// Bytes of an element, before and after.
    sizes: [usize; 2],
}

impl Conversion {
    /// Returns the conversion between two types.
    #[cfg_attr(not(precompiled), inline)]
    pub const fn new(of: Type, to: Type) -> Self {
        let mut conversion = Self {
            steps: [None; STEPS],
            sizes: [of.size(), to.size()],
        };
        if of.code() == to.code() && of.size() == to.size() {
            return conversion;
        }
        match of {
            Type::Float(Dtype::F64) => conversion.push_from_f64(to),
            Type::Float(of @ (Dtype::F32 | Dtype::F16 | Dtype::Bf16)) => {
                conversion.push(steps::float_to_f32(of));
                conversion.push_from_f32(to);
            }
            Type::Bool => {
                conversion.push(Some(steps::to_bool()));
                conversion.push_from_integer(Integer::U8, to);
            }
            Type::Integer(of) => conversion.push_from_integer(of, to),
        }
        conversion
    }

    /// Adds a step, if there is one.
    const fn push(&mut self, step: Option<Step>) {
        let mut i = 0;
        while i < STEPS {
            if self.steps[i].is_none() {
                self.steps[i] = step;
                return;
            }
            i += 1;
        }
    }

    #[cfg_attr(not(precompiled), inline)]
    const fn push_from_f32(&mut self, to: Type) {
        match to {
            Type::Float(to) => self.push(steps::f32_to_float(to)),
            Type::Bool | Type::Integer(_) => {
                self.push(Some(steps::widen()));
                self.push_from_f64(to);
            }
        }
    }

    #[cfg_attr(not(precompiled), inline)]
    const fn push_from_f64(&mut self, to: Type) {
        match to {
            Type::Float(Dtype::F64) => {}
            Type::Float(Dtype::F32) => self.push(Some(steps::narrow(false))),
            Type::Float(to @ (Dtype::F16 | Dtype::Bf16)) => {
                self.push(Some(steps::narrow(true)));
                self.push(steps::f32_to_float(to));
            }
            Type::Bool => self.push(Some(steps::f64_to_bool())),
            Type::Integer(to) => self.push(Some(steps::from_f64(to))),
        }
    }

    #[cfg_attr(not(precompiled), inline)]
    const fn push_from_integer(&mut self, of: Integer, to: Type) {
        match to {
            Type::Float(Dtype::F64) => self.push(Some(steps::to_f64(of, false))),
            Type::Float(float @ (Dtype::F32 | Dtype::F16 | Dtype::Bf16)) => {
                // Two roundings, to `f32` and to 16 bits, are one where the first is exact.
                let is_exact = matches!(of, Integer::I8 | Integer::U8);
                match steps::to_f32(of) {
                    Some(step) if is_exact || matches!(float, Dtype::F32) => {
                        self.push(Some(step));
                        self.push_from_f32(to);
                    }
                    _ => {
                        self.push(Some(steps::to_f64(of, true)));
                        self.push_from_f64(to);
                    }
                }
            }
            Type::Bool => {
                self.push(steps::to_i64(of));
                self.push(Some(steps::i64_to_bool()));
            }
            Type::Integer(to) if of.size() == to.size() => {}
            Type::Integer(to) => {
                self.push(steps::to_i64(of));
                self.push(steps::from_i64(to));
            }
        }
    }

    /// Converts `n` elements; with `stream`, writes them with non-temporal stores, which [`fence`] must follow.
    ///
    /// # Safety
    /// The arrays must be valid for `n` elements, and apart; the machine must have the level.
    pub unsafe fn convert(
        &self,
        level: Level,
        n: usize,
        from: *const u8,
        to: *mut u8,
        stream: bool,
    ) {
        let [size, size_to] = self.sizes;
        // SAFETY: as the caller's.
        unsafe {
            match self.steps {
                [None, ..] if stream => stream_bytes(level, n * size, from, to),
                [None, ..] => ptr::copy_nonoverlapping(from, to, n * size),
                [Some(step), None, ..] if !stream => step.0[level as usize](n, from, to),
                _ => {
                    // A line of the output must not be written by two blocks: the first ends where a line does.
                    let head = to.addr().wrapping_neg() % LINE;
                    let mut len = if stream { head / size_to.max(1) } else { 0 };
                    let mut at = 0;
                    while at < n {
                        if len == 0 {
                            len = BLOCK;
                        }
                        len = len.min(n - at);
                        let (from, to) = (from.add(at * size), to.add(at * size_to));
                        self.block(level, len, from, to, stream && len == BLOCK);
                        at += len;
                        len = BLOCK;
                    }
                }
            }
        }
    }

    /// [`Conversion::convert`] for at most [`BLOCK`] elements, through buffers.
    ///
    /// # Safety
    /// As [`Conversion::convert`].
    #[inline(never)]
    unsafe fn block(&self, level: Level, n: usize, from: *const u8, to: *mut u8, stream: bool) {
        let mut buffers = [const { AlignedBytes::<{ 8 * BLOCK }>::new() }; 2];
        let [first, second] = &mut buffers;
        let (mut next, mut other) = (first.start(), second.start());
        let mut at = from;
        let mut steps = self.steps.iter().flatten().peekable();
        while let Some(step) = steps.next() {
            let is_last = steps.peek().is_none();
            let result = if is_last && !stream { to } else { next };
            // SAFETY: a block fits a buffer; the rest as the caller's.
            unsafe {
                step.0[level as usize](n, at, result);
                if is_last && stream {
                    stream_bytes(level, n * step.1, result, to);
                }
            }
            at = result;
            core::mem::swap(&mut next, &mut other);
        }
    }
}

/// Copies bytes with non-temporal stores.
///
/// # Safety
/// Both must be valid for `n` bytes, and apart; the machine must have the level.
pub unsafe fn stream_bytes(level: Level, n: usize, from: *const u8, to: *mut u8) {
    const UNIT: usize = size_of::<f32>();
    let stream = Kernels::<f32>::new(level).stream();
    let head = (to.addr().wrapping_neg() % UNIT).min(n);
    let units = (n - head) / UNIT;
    let tail = head + units * UNIT;
    if !(from.addr() + head).is_multiple_of(UNIT) {
        // SAFETY: as the caller's.
        return unsafe { ptr::copy_nonoverlapping(from, to, n) };
    }
    // SAFETY: as the caller's.
    unsafe {
        ptr::copy_nonoverlapping(from, to, head);
        stream(units, from.add(head).cast(), to.add(head).cast(), false);
        ptr::copy_nonoverlapping(from.add(tail), to.add(tail), n - tail);
    }
}

/// Orders non-temporal stores before all later ones.
pub fn fence(level: Level) {
    let stream = Kernels::<f32>::new(level).stream();
    // SAFETY: it copies nothing.
    unsafe { stream(0, ptr::dangling(), ptr::dangling_mut(), true) };
}
