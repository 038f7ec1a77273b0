//! Copies of tensors with another type, other strides or a larger shape.

use super::blocks::{ArrayOperation, Blocks};
use super::cast::Conversion;
use super::contiguous::ContiguousTensor;
use super::kind::{Integer, Location, Type};
use super::loops::{Loops, MAX_OPERANDS};
use super::operand::{Operand, Tensor};
use crate::error::Result;
use crate::exec::Exec;

/// Copies `x` to `out`, converted to its type and broadcast to its shape.
///
/// All types of elements are accepted: `f32`, `f64`, `f16`, `bf16`, `bool`, and integers of 8 to 64 bits. Between floats,
/// and from integers to floats, a number is rounded once, to nearest even. From floats to integers it is truncated and
/// saturates, and NaN becomes 0; between integers it wraps. As a `bool`, a number is whether it is not 0.
///
/// # Errors
/// `ShapeMismatch`, `UnsupportedType`, `Unsupported` for memory of a GPU, `Overlap` unless `x` is exactly `out`;
/// `NullPointer`, `Misaligned`, `NegativeSize`, `SizeOverflow`, `InvalidValue` for a bad rank.
///
/// # Safety
/// The tensors must be valid at all elements, `x` for reading and `out` for writing.
#[inline]
pub unsafe fn convert(exec: &Exec<'_>, x: &Tensor, out: &Tensor) -> Result<()> {
    let level = exec.level()?;
    // SAFETY: as the caller's.
    unsafe {
        if let Some(to) = ContiguousTensor::new(out)
            && let Some(of) = to.converts_from(x)
        {
            let conversion = Conversion::new(of.of, to.of);
            conversion.convert(level, to.count, of.p, to.p, false);
            return Ok(());
        }
    }
    let mut job = CheckedConversion::empty();
    // SAFETY: as the caller's.
    if unsafe { !check_convert(x, out, Location::Host, &mut job)? } {
        return Ok(());
    }
    let mut sizes = [1; MAX_OPERANDS];
    [sizes[0], sizes[1]] = [job.to.size(), job.of.size()];
    let blocks = Blocks {
        operation: ArrayOperation::Conversion(Conversion::new(job.of, job.to)),
        level,
        sizes,
        loops: &job.loops,
        is_scalar: [false; MAX_OPERANDS],
        updates: false,
    };
    // SAFETY: the operands have been checked; the caller vouches for their elements.
    unsafe { blocks.run(exec) };
    Ok(())
}

/// The checked arguments of [`convert`].
pub struct CheckedConversion {
    /// The type of the elements of `x`.
    pub of: Type,
    /// The type of the elements of `out`.
    pub to: Type,
    /// The loops over the elements of `out`; `x` is tensor 1.
    pub loops: Loops,
}

impl CheckedConversion {
    /// Returns arguments without elements, for [`check_convert`].
    #[inline(always)]
    pub const fn empty() -> Self {
        Self {
            of: Type::Integer(Integer::U8),
            to: Type::Integer(Integer::U8),
            loops: Loops::empty(),
        }
    }
}

/// Checks the arguments of [`convert`], which are in `memory`; beside a device, an `x` without axes may be on the host.
/// Stores them to `job`, and returns whether there is anything to write.
///
/// # Errors
/// As [`convert`].
///
/// # Safety
/// `shape` and `strides` of both must be valid.
#[inline(never)]
pub unsafe fn check_convert(
    x: &Tensor,
    out: &Tensor,
    memory: Location,
    job: &mut CheckedConversion,
) -> Result<bool> {
    let (tensor, output) = (x, out);
    let (mut x, mut out) = (Operand::empty("x"), Operand::empty("out"));
    // SAFETY: as the caller's.
    unsafe {
        x.set(tensor, memory.of_operand(tensor))?;
        out.set(output, memory)?;
    }
    job.loops.set(&out, core::iter::once(&x))?;
    out.check_distinct()?;
    out.same_or_apart_from(&x)?;
    let is_itself = out.p == x.p && out.of == x.of && x.count == out.count;
    (job.of, job.to) = (x.of, out.of);
    Ok(out.count > 0 && !is_itself)
}
