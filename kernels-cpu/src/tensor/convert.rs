//! Copies of tensors with another type, other strides or a larger shape.

use super::blocks::{Blocks, Work};
use super::cast::Conversion;
use super::loops::{Loops, MAX_OPERANDS};
use super::operand::{Operand, Tensor};
use super::plain::Plain;
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
pub unsafe fn convert(exec: &Exec<'_>, x: &Tensor, out: &Tensor) -> Result<()> {
    let level = exec.level()?;
    // SAFETY: as the caller's.
    unsafe {
        if let Some(to) = Plain::new(out)
            && let Some(of) = to.converts_from(x)
        {
            let conversion = Conversion::new(of.of, to.of);
            conversion.run(level, to.count, of.first(), to.first(), false);
            return Ok(());
        }
    }
    // SAFETY: as the caller's.
    let (x, out) = unsafe { (Operand::new(x, "x")?, Operand::new(out, "out")?) };
    let loops = Loops::new(&out, core::iter::once(&x))?;
    out.check_distinct()?;
    out.same_or_apart_from(&x)?;
    if out.count == 0 || (out.p == x.p && out.of == x.of && x.count == out.count) {
        return Ok(());
    }
    let mut sizes = [1; MAX_OPERANDS];
    [sizes[0], sizes[1]] = [out.of.size(), x.of.size()];
    let blocks = Blocks {
        work: Work::Conversion(Conversion::new(x.of, out.of)),
        level,
        sizes,
        loops,
        is_scalar: [false; MAX_OPERANDS],
        updates: false,
    };
    // SAFETY: the operands have been checked; the caller vouches for their elements.
    unsafe { blocks.run(exec) };
    Ok(())
}
