//! Structs of the caller that begin with their own size.
use crate::error::Failure;
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
    if p.is_null() {
        return Err(Error::NullPointer { arg }.into());
    }
    if !p.is_aligned() {
        return Err(Error::Misaligned { arg }.into());
    }
    // SAFETY: not NULL and aligned; the size is there in every version of the struct.
    if unsafe { p.cast::<usize>().read() } != size_of::<T>() {
        return Err(Failure::BadStructSize(size));
    }
    // SAFETY: the size says that the whole struct is there.
    Ok(unsafe { p.read() })
}
