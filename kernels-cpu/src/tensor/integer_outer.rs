//! Outer products of integers, by the kernels of `scale` and `axpy`: each row is a number times a vector.

use super::block_walk::LONG_ROW;
use super::blocks::{ArrayKernel, ArrayOperation, Blocks};
use super::element_type::IntegerType;
use super::integers;
use super::list::List;
use super::loops::{Loop, Loops, MAX_OPERANDS};
use super::strided::StridedTensor;
use super::vectors::Vectors;
use crate::aligned::AlignedBytes;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::level::Level;

/// The kernels of an operation on a number and an array, and on two arrays, of elements of `size` bytes.
#[derive(Clone, Copy)]
pub struct PairKernels {
    of_number: ArrayKernel,
    of_arrays: ArrayKernel,
    size: usize,
}

impl PairKernels {
    /// Returns those of `scale`.
    #[cfg_attr(not(precompiled), inline)]
    pub const fn scale(of: IntegerType) -> Self {
        Self {
            of_number: integers::scale(of, false),
            of_arrays: integers::scale(of, true),
            size: of.size(),
        }
    }

    /// Returns those of `axpy`.
    #[cfg_attr(not(precompiled), inline)]
    pub const fn axpy(of: IntegerType) -> Self {
        Self {
            of_number: integers::axpy(of, false),
            of_arrays: integers::axpy(of, true),
            size: of.size(),
        }
    }
}

/// A vector, and the axis of the matrix along which it lies.
#[derive(Clone, Copy)]
struct Side {
    p: *mut u8,
    count: usize,
    /// Bytes from one element to the next.
    step: isize,
    /// Bytes from one row or column of the matrix to the next.
    across: isize,
}

impl Side {
    /// Returns the side of a vector along which the matrix has this stride.
    fn new(size: usize, vector: &StridedTensor<1>, stride: i64) -> Self {
        let bytes = |stride: i64| (stride as isize).wrapping_mul(size as isize);
        Self {
            p: vector.p,
            count: vector.shape[0] as usize,
            step: bytes(vector.strides[0]),
            across: bytes(stride),
        }
    }
}

/// Returns the address of element i of those that are `step` bytes apart.
fn element(p: *mut u8, step: isize, i: usize) -> *mut u8 {
    p.wrapping_offset(step.wrapping_mul(i as isize))
}

/// [`outer`](super::outer()) of integers.
///
/// # Errors
/// `LevelUnavailable`.
///
/// # Safety
/// The tensors must be of the kernels' type and valid, and have passed [`check_outer`](super::vectors::check_outer) or
/// its checks.
pub unsafe fn outer(exec: &Exec<'_>, scale: PairKernels, (x, y, out): Vectors) -> Result<()> {
    let level = exec.level()?;
    let [rs, cs] = out.strides;
    let sides = [Side::new(scale.size, &x, rs), Side::new(scale.size, &y, cs)];
    // SAFETY: as the caller's.
    unsafe { run(exec, level, (scale, false), sides, out.p) };
    Ok(())
}

/// [`ger`](super::ger()) of integers.
///
/// # Errors
/// `LevelUnavailable`.
///
/// # Safety
/// As [`outer`].
pub unsafe fn ger(
    exec: &Exec<'_>,
    (scale, axpy): (PairKernels, PairKernels),
    alpha: i64,
    (x, y, a): Vectors,
) -> Result<()> {
    /// Bytes of a block of the vector that is scaled.
    const BLOCK: usize = 4 << 10;
    let level = exec.level()?;
    let [rs, cs] = a.strides;
    let size = scale.size;
    let (x, y) = (Side::new(size, &x, rs), Side::new(size, &y, cs));
    // Modulo 2^bits it does not matter which is scaled; the shorter has fewer blocks.
    let (x, y) = if x.count > y.count { (y, x) } else { (x, y) };
    let (mut number, mut scaled) = (AlignedBytes::<8>::new(), AlignedBytes::<BLOCK>::new());
    let (number, scaled): (*mut u8, *mut u8) = (number.start(), scaled.start());
    let factor = Side {
        p: number,
        count: 1,
        step: 0,
        across: 0,
    };
    let mut from = 0;
    // SAFETY: a number fits 8 bytes, the elements of a part the block, and the rest is as the caller's.
    unsafe {
        write_wrapped(size, alpha, number);
        while from < x.count && y.count > 0 {
            let part = Side {
                p: element(x.p, x.step, from),
                count: (BLOCK / size.max(1)).min(x.count - from),
                ..x
            };
            let to_block = Side {
                across: size as isize,
                ..part
            };
            let sides = [factor, to_block];
            run(&Exec::new(), level, (scale, false), sides, scaled);
            let block = Side {
                p: scaled,
                step: size as isize,
                ..part
            };
            let to = element(a.p, x.across, from);
            run(exec, level, (axpy, true), [block, y], to);
            from += part.count;
        }
    }
    Ok(())
}

/// Returns the whole number that `alpha` is.
///
/// # Errors
/// `InvalidValue` for any other.
pub fn whole(alpha: f64) -> Result<i64> {
    // Out of bounds the conversion gives the nearest bound, of which the greatest is no `f64`.
    let number = alpha as i64;
    if number as f64 == alpha && number != i64::MAX {
        Ok(number)
    } else {
        Err(Error::InvalidValue { arg: "alpha" })
    }
}

/// Writes the low bytes of a number.
///
/// # Safety
/// `to` must be valid for writing a number of this size.
unsafe fn write_wrapped(size: usize, number: i64, to: *mut u8) {
    // SAFETY: as the caller's.
    unsafe {
        match size {
            1 => to.write(number as u8),
            4 => to.cast::<i32>().write(number as i32),
            _ => to.cast::<i64>().write(number),
        }
    }
}

/// Does an operation, which may update its output, with each pair of elements of two vectors, one as the number and the
/// other as the array. `out` is the first element of the matrix.
///
/// # Safety
/// The vectors must be valid for reading and the matrix for writing, which is apart from them and from itself.
unsafe fn run(
    exec: &Exec<'_>,
    level: Level,
    (kernels, updates): (PairKernels, bool),
    [x, y]: [Side; 2],
    out: *mut u8,
) {
    // The array lies along the innermost loop.
    let y_is_inner = x.across.unsigned_abs() > y.across.unsigned_abs() || x.count < 2;
    let (number, array) = if y_is_inner && y.count > 1 {
        (x, y)
    } else {
        (y, x)
    };
    let mut loops = List::new();
    loops.push(Loop {
        count: number.count,
        steps: [number.across, number.step, 0, 0, 0],
    });
    loops.push(Loop {
        count: array.count,
        steps: [array.across, 0, array.step, 0, 0],
    });
    let loops = Loops::ordered(loops, [out, number.p, array.p, out, out], 3);
    let is_long = array.count.saturating_mul(kernels.size) >= LONG_ROW;
    let kernel = if is_long {
        kernels.of_number
    } else {
        kernels.of_arrays
    };
    let blocks = Blocks {
        operation: ArrayOperation::Kernel(kernel),
        level,
        sizes: [kernels.size; MAX_OPERANDS],
        loops: &loops,
        is_scalar: [false, is_long, false, false, false],
        updates,
    };
    // SAFETY: as the caller's.
    unsafe { blocks.run(exec) };
}
