//! Structs of the caller that begin with their own size.
use crate::error::Failure;
use core::mem::MaybeUninit;
use diptych::Error;

/// Reads the struct that the argument `arg` points to, whose member `struct_size` comes first; errors name that member
/// `size`.
///
/// # Safety
/// NULL or points to readable memory as large as its `struct_size` says.
pub(crate) unsafe fn read<T: Copy>(
    p: *const T,
    arg: &'static str,
    size: &'static str,
) -> Result<T, Failure> {
    // SAFETY: passed on from the caller.
    unsafe { read_from(p, size_of::<T>(), arg, size) }
}

/// As [`read`], also for older versions of the struct, the first of which had `first` bytes: the members that they lack are 0.
///
/// # Safety
/// As [`read`]; a `T` of zeros must be valid.
pub(crate) unsafe fn read_from<T: Copy>(
    p: *const T,
    first: usize,
    arg: &'static str,
    size: &'static str,
) -> Result<T, Failure> {
    if p.is_null() {
        return Err(Error::NullPointer { arg }.into());
    }
    if !p.is_aligned() {
        return Err(Error::Misaligned { arg }.into());
    }
    // SAFETY: not NULL and aligned; the size is there in every version of the struct.
    let bytes = unsafe { p.cast::<usize>().read() };
    if bytes != first && bytes != size_of::<T>() {
        return Err(Failure::BadStructSize(size));
    }
    let mut whole = MaybeUninit::<T>::zeroed();
    // SAFETY: the size says that so many bytes are there; the others are zeros, which are valid.
    unsafe {
        core::ptr::copy_nonoverlapping(
            p.cast::<u8>(),
            whole.as_mut_ptr().cast(),
            bytes.min(size_of::<T>()),
        );
        Ok(whole.assume_init())
    }
}
