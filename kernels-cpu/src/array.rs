//! Arrays from functions, for kernels.

use core::mem::MaybeUninit;

/// Returns the array of `f(0)`, `f(1)`, ..., as [`core::array::from_fn`] does. Kernels use neither that nor `map` of
/// arrays: both pass `f` to functions that are not marked inline. In a crate that is compiled in several units these may
/// remain calls, and the function that is called has no AVX.
#[inline(always)]
pub fn from_fn<T: Copy, const N: usize>(f: impl Fn(usize) -> T) -> [T; N] {
    let mut array = [const { MaybeUninit::<T>::uninit() }; N];
    for (i, element) in array.iter_mut().enumerate() {
        element.write(f(i));
    }
    // SAFETY: the loop has written all elements; `MaybeUninit` has the layout of its value.
    unsafe { array.as_ptr().cast::<[T; N]>().read() }
}
