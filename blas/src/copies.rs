//! Calls that Diptych refuses and BLAS does not: arrays that overlap or are not aligned. They are made on copies.

use diptych::{Element, Error, Level, Result};

use crate::arguments::Matrix;

/// Makes a call; again if `DIPTYCH_CPU_LEVEL` names a level that the machine does not have, for which BLAS has no error.
#[inline(always)]
pub fn on_some_level<R>(call: impl Fn() -> Result<R>) -> Result<R> {
    match call() {
        Err(Error::LevelUnavailable) => {
            choose_level();
            call()
        }
        result => result,
    }
}

/// Chooses the best level of the machine, and says so.
#[cold]
fn choose_level() {
    let best = [Level::Avx512, Level::Avx2, Level::Neon, Level::Portable];
    let Some(&level) = best.iter().find(|level| level.is_available()) else {
        return;
    };
    eprintln!(
        "diptych: {}; {} is used",
        Error::LevelUnavailable,
        level.name()
    );
    let _ = Level::force(Some(level));
}

/// Returns whether a call that was refused so can be made on copies.
pub fn needs_copies(error: Error) -> bool {
    matches!(error, Error::Overlap { .. } | Error::Misaligned { .. })
}

/// Copies an m by n matrix to contiguous rows.
///
/// # Errors
/// `OutOfMemory`.
///
/// # Safety
/// The matrix must be valid for reading; it need not be aligned.
pub unsafe fn copy<T: Element>(m: i64, n: i64, x: Matrix<*const T>) -> Result<Vec<T>> {
    let sizes = usize::try_from(m).ok().zip(usize::try_from(n).ok());
    let len = sizes.and_then(|(m, n)| m.checked_mul(n));
    let mut copy = Vec::new();
    let reserved = copy.try_reserve_exact(len.ok_or(Error::OutOfMemory)?);
    reserved.map_err(|_| Error::OutOfMemory)?;
    for i in 0..m {
        for j in 0..n {
            // SAFETY: as the caller's.
            copy.push(unsafe { at(x, i, j).read_unaligned() });
        }
    }
    Ok(copy)
}

/// Writes contiguous rows to an m by n matrix.
///
/// # Safety
/// The matrix must be valid for writing; it need not be aligned.
pub unsafe fn write<T: Element>(m: i64, n: i64, from: &[T], to: Matrix<*mut T>) {
    let indices = (0..m).flat_map(|i| (0..n).map(move |j| (i, j)));
    for ((i, j), &value) in indices.zip(from) {
        let to = Matrix::new(to.p.cast_const(), to.rs, to.cs);
        // SAFETY: as the caller's.
        unsafe { at(to, i, j).cast_mut().write_unaligned(value) };
    }
}

fn at<T>(x: Matrix<*const T>, i: i64, j: i64) -> *const T {
    x.p.wrapping_offset((i * x.rs + j * x.cs) as isize)
}
