//! Conversions between types of elements, of contiguous arrays. There are kernels for the pairs that matter; the other
//! pairs take several steps, through types between them that hold every value exactly.

use core::mem::MaybeUninit;
use core::ptr;

use super::kind::Type;
use super::steps::{self, Step};
use crate::dispatch;
use crate::element::Dtype;
use crate::level::Level;

/// The most steps of a conversion: from `bool` through integers, `f64` and `f32` to 16 bits.
const STEPS: usize = 4;
/// Elements that are converted at a time where there are several steps.
const BLOCK: usize = 512;

/// Bytes of a cache line.
const LINE: usize = 64;

/// A block between two steps.
#[repr(align(64))]
struct Buffer(MaybeUninit<[u8; 8 * BLOCK]>);

/// A conversion of contiguous elements.
#[derive(Clone, Copy)]
pub struct Conversion {
    steps: [Option<Step>; STEPS],
    /// Bytes of an element, before and after.
    sizes: [usize; 2],
}

impl Conversion {
    /// Returns the conversion between two types.
    pub fn new(of: Type, to: Type) -> Self {
        let mut conversion = Self {
            steps: [None; STEPS],
            sizes: [of.size(), to.size()],
        };
        if of == to {
            return conversion;
        }
        match of {
            Type::Float(of) => conversion.push_from_float(of, to),
            Type::Bool => {
                conversion.push(steps::to_bool());
                conversion.push_from_integer(Type::U8, to);
            }
            _ => conversion.push_from_integer(of, to),
        }
        conversion
    }

    fn push(&mut self, step: Step) {
        if let Some(slot) = self.steps.iter_mut().find(|slot| slot.is_none()) {
            *slot = Some(step);
        }
    }

    fn push_from_float(&mut self, of: Dtype, to: Type) {
        let of = match of {
            Dtype::F16 | Dtype::Bf16 => {
                self.push(steps::half(of, Dtype::F32));
                Dtype::F32
            }
            _ => of,
        };
        match (of, to) {
            (Dtype::F64, Type::Float(Dtype::F64)) | (Dtype::F32, Type::Float(Dtype::F32)) => {}
            (Dtype::F64, Type::Float(Dtype::F32)) => self.push(steps::narrow(false)),
            (Dtype::F64, Type::Float(to)) => {
                self.push(steps::narrow(true));
                self.push(steps::half(Dtype::F32, to));
            }
            (Dtype::F64, _) => self.push(steps::from_f64(to)),
            (_, Type::Float(to @ (Dtype::F16 | Dtype::Bf16))) => {
                self.push(steps::half(Dtype::F32, to))
            }
            _ => {
                self.push(steps::widen());
                if !matches!(to, Type::Float(_)) {
                    self.push(steps::from_f64(to));
                }
            }
        }
    }

    fn push_from_integer(&mut self, of: Type, to: Type) {
        let Type::Float(to) = to else {
            if of.size() == to.size() && to != Type::Bool {
                return;
            }
            if of.size() < 8 {
                self.push(steps::to_i64(of));
            }
            if to.size() < 8 {
                self.push(steps::from_i64(to));
            }
            return;
        };
        let is_small = matches!(of, Type::I8 | Type::U8);
        match to {
            Dtype::F64 => self.push(steps::to_f64(of, false)),
            Dtype::F32 | Dtype::F16 | Dtype::Bf16 => {
                match steps::to_f32(of).filter(|_| is_small || to == Dtype::F32) {
                    Some(step) => self.push(step),
                    None => {
                        self.push(steps::to_f64(of, true));
                        self.push_from_float(Dtype::F64, Type::Float(to));
                        return;
                    }
                }
                if to != Dtype::F32 {
                    self.push(steps::half(Dtype::F32, to));
                }
            }
        }
    }

    /// Converts `n` elements; with `stream`, writes them with non-temporal stores, which [`fence`] must follow.
    ///
    /// # Safety
    /// The arrays must be valid for `n` elements, and apart; the machine must have the level.
    pub unsafe fn run(&self, level: Level, n: usize, from: *const u8, to: *mut u8, stream: bool) {
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

    /// [`Conversion::run`] for at most [`BLOCK`] elements, through buffers.
    ///
    /// # Safety
    /// As [`Conversion::run`].
    #[inline(never)]
    unsafe fn block(&self, level: Level, n: usize, from: *const u8, to: *mut u8, stream: bool) {
        let mut buffers = [const { Buffer(MaybeUninit::uninit()) }; 2];
        let [first, second] = &mut buffers;
        let (mut next, mut other) = (first.0.as_mut_ptr().cast(), second.0.as_mut_ptr().cast());
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
unsafe fn stream_bytes(level: Level, n: usize, from: *const u8, to: *mut u8) {
    const UNIT: usize = size_of::<f32>();
    let Some(stream) = dispatch::stream::<f32>(level) else {
        return;
    };
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
    if let Some(stream) = dispatch::stream::<f32>(level) {
        // SAFETY: it copies nothing.
        unsafe { stream(0, ptr::dangling(), ptr::dangling_mut(), true) };
    }
}
