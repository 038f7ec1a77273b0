//! Arguments that are not allowed: the routine calls the `xerbla` of the process, and returns when that returns.
//!
//! Programs define `xerbla_` or `cblas_xerbla` to handle errors themselves, so this library defines neither. Which one
//! is called, and with which number, follows the reference: its CBLAS calls the Fortran routine, with A and B exchanged
//! for row-major matrices, and puts the numbers right in its `cblas_xerbla`, which it tells so by the global variable
//! `RowMajorStrg`. Other libraries, OpenBLAS among them, call `xerbla_` from CBLAS too. Where the process has no such
//! function that can be found, the message of the reference is written to the standard error output.

use core::ffi::{c_char, c_int, c_void};
use core::mem::transmute;

/// The names of a routine, for its errors.
pub struct Routine {
    /// The name that `xerbla_` gets: six characters.
    pub fortran: &'static str,
    /// The name that `cblas_xerbla` gets, with a NUL.
    pub cblas: &'static str,
    /// The symbol of the `xerbla_` that belongs to this family of names, with a NUL.
    pub xerbla: &'static str,
}

/// Who has called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// A Fortran name.
    Fortran,
    /// A CBLAS name with row-major matrices, for which the arguments were exchanged.
    RowMajor,
    /// A CBLAS name with column-major matrices, or an unknown layout.
    ColumnMajor,
}

impl Caller {
    /// A CBLAS name with matrices of this layout.
    pub const fn cblas(row_major: bool) -> Self {
        if row_major {
            Self::RowMajor
        } else {
            Self::ColumnMajor
        }
    }
}

type Xerbla = unsafe extern "C" fn(name: *const c_char, argument: *const i64, length: usize);
/// The number is an `int`, or an integer of 64 bits: on 64-bit systems a register serves both.
type CblasXerbla =
    unsafe extern "C" fn(argument: i64, name: *const c_char, format: *const c_char, ...);

/// Reports argument `argument`, counted from 1 as in the Fortran interface; 0 is the layout of CBLAS.
#[cold]
#[inline(never)]
pub fn report(routine: &Routine, caller: Caller, argument: i64) {
    let row_major = find("RowMajorStrg\0").cast::<c_int>();
    let cblas_xerbla = find("cblas_xerbla\0");
    if caller != Caller::Fortran && !row_major.is_null() && !cblas_xerbla.is_null() {
        // SAFETY: only the reference and its descendants have both; there the variable is an `int`, and the function
        // has this type.
        unsafe {
            row_major.write(c_int::from(caller == Caller::RowMajor));
            let call: CblasXerbla = transmute(cblas_xerbla);
            call(argument + 1, routine.cblas.as_ptr().cast(), c"".as_ptr());
            row_major.write(0);
        }
        return;
    }
    let mut xerbla = find(routine.xerbla);
    if xerbla.is_null() {
        xerbla = find("xerbla_\0");
    }
    if xerbla.is_null() {
        let name = routine.fortran.trim_end();
        eprintln!(" ** On entry to {name} parameter number {argument} had an illegal value");
        return;
    }
    // SAFETY: a `xerbla_` takes a name with its length, and a number; the low half of a little-endian integer of 64
    // bits is the same number in 32.
    unsafe {
        let call: Xerbla = transmute(xerbla);
        let name = routine.fortran;
        let argument = if cfg!(target_endian = "little") {
            argument
        } else {
            argument << 32
        };
        call(name.as_ptr().cast(), &argument, name.len());
    }
}

/// Finds a symbol of the process; `name` ends with a NUL. Null if there is none.
#[cfg(unix)]
fn find(name: &'static str) -> *mut c_void {
    debug_assert!(name.ends_with('\0'));
    // SAFETY: the name is a C string.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr().cast()) }
}

#[cfg(not(unix))]
fn find(_name: &'static str) -> *mut c_void {
    core::ptr::null_mut()
}
