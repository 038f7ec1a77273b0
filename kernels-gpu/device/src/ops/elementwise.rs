//! The elementwise operations, expanded from the table of operations.
//!
//! A thread processes 16 bytes at a time if every array is aligned to 16 bytes, else single elements. The kernels use
//! grid-stride loops, so any number of blocks works. A thread issues several loads before its first store, which keeps
//! more memory traffic in flight.

use crate::gpu::thread;
use crate::real::Real;
use crate::single::Single;
use diptych::backend::scalar;
use diptych::for_each_elementwise;

/// Accesses of 16 bytes to each array that a thread has in flight at once.
const UNROLL: u64 = 4;

/// Bytes of an array that a block of 256 threads processes in one iteration.
pub const BLOCK_BYTES: u64 = 256 * UNROLL * 16;

/// An elementwise operation with its arrays and scalars.
trait Step<T: Real>: Copy {
    /// Returns the bitwise OR of the addresses of all arrays, to test their common alignment.
    fn addresses(self) -> usize;
    /// Processes `N` packs: i, i + stride, ...
    ///
    /// # Safety
    /// The arrays must be valid for these packs, and aligned to 16 bytes.
    unsafe fn packs<const N: usize>(self, i: u64, stride: u64);
    /// Processes element `i`.
    ///
    /// # Safety
    /// The arrays must be valid for it.
    unsafe fn element(self, i: usize);
}

/// Runs the step for elements 0..n.
///
/// # Safety
/// The arrays of the step must be valid for `n` elements.
#[inline(always)]
unsafe fn map<T: Real, P: Step<T>>(step: P, n: u64) {
    let stride = thread::grid_dim_x() as u64 * thread::block_dim_x() as u64;
    let first = thread::index_1d();
    let mut done = 0;
    // SAFETY: every access lies below n, which the caller guarantees; packs are used only if all arrays are aligned.
    unsafe {
        if step.addresses().is_multiple_of(16) {
            let packs = n / T::WIDTH as u64;
            done = packs * T::WIDTH as u64;
            let mut i = first;
            while i + (UNROLL - 1) * stride < packs {
                step.packs::<{ UNROLL as usize }>(i, stride);
                i += UNROLL * stride;
            }
            while i < packs {
                step.packs::<1>(i, stride);
                i += stride;
            }
        }
        let mut i = done + first;
        while i < n {
            step.element(i as usize);
            i += stride;
        }
    }
}

/// Defines for each row of the table its [`Step`] and the kernel that runs it.
macro_rules! kernels {
    ({} $($(#[$doc:meta])* $name:ident($($arg:ident: $role:ident),*) -> $out:ident: $mode:ident, $in_place:tt, $facts:tt)*) => {$(
        #[doc = concat!("The operation `", stringify!($name), "`.")]
        ///
        /// Any one-dimensional grid; a block processes [`BLOCK_BYTES`] of each array in one iteration.
        ///
        /// # Safety
        /// Arrays must be valid for `n` elements; the output may be exactly an input.
        #[inline(always)]
        pub unsafe fn $name<T: Real>(n: u64, $($arg: kernels!(@type $role T),)* $out: *mut T) {
            struct This<T> { $($arg: kernels!(@type $role T),)* $out: *mut T }
            // `derive` does not accept fields whose types are macro calls.
            impl<T: Real> Clone for This<T> {
                #[inline(always)]
                fn clone(&self) -> Self {
                    *self
                }
            }
            impl<T: Real> Copy for This<T> {}

            impl<T: Real> Step<T> for This<T> {
                #[inline(always)]
                fn addresses(self) -> usize {
                    0 $(| kernels!(@address $role (self.$arg)))* | self.$out.addr()
                }
                #[inline(always)]
                unsafe fn packs<const N: usize>(self, i: u64, stride: u64) {
                    let at = |u: usize| (i + u as u64 * stride) as usize * T::WIDTH as usize;
                    $(let mut $arg = [T::ZERO.pack(); N];)*
                    let mut $out = [T::ZERO.pack(); N];
                    // SAFETY: as the caller's.
                    unsafe {
                        for u in 0..N {
                            $($arg[u] = kernels!(@pack $role (self.$arg) at(u));)*
                            kernels!(@old_pack $mode $out (self.$out) u at(u));
                        }
                        for u in 0..N {
                            for lane in 0..T::WIDTH as usize {
                                let result = kernels!(@meaning $mode $name
                                    [$($arg[u].as_ref()[lane]),*] $out[u].as_ref()[lane]);
                                $out[u].as_mut()[lane] = result;
                            }
                            T::store_pack(self.$out.add(at(u)), $out[u]);
                        }
                    }
                }
                #[inline(always)]
                unsafe fn element(self, i: usize) {
                    // SAFETY: as the caller's.
                    unsafe {
                        $(let $arg = kernels!(@load $role (self.$arg) i);)*
                        let result = kernels!(@meaning $mode $name [$($arg),*] T::load(self.$out.add(i)));
                        T::store(self.$out.add(i), result);
                    }
                }
            }

            // SAFETY: as the caller's.
            unsafe { map(This { $($arg,)* $out }, n) }
        }
    )*};
    (@type scalar $T:ident) => { $T };
    (@type bound $T:ident) => { $T };
    (@type $array:ident $T:ident) => { *const $T };
    (@address scalar $arg:tt) => { 0 };
    (@address bound $arg:tt) => { 0 };
    (@address $array:ident $arg:tt) => { $arg.addr() };
    (@pack scalar $arg:tt $at:expr) => { $arg.pack() };
    (@pack bound $arg:tt $at:expr) => { $arg.pack() };
    (@pack $array:ident $arg:tt $at:expr) => { T::load_pack($arg.add($at)) };
    (@old_pack write $out:ident $p:tt $u:ident $at:expr) => {};
    (@old_pack update $out:ident $p:tt $u:ident $at:expr) => {
        $out[$u] = T::load_pack($p.cast_const().add($at))
    };
    (@load scalar $arg:tt $i:ident) => { $arg };
    (@load bound $arg:tt $i:ident) => { $arg };
    (@load $array:ident $arg:tt $i:ident) => { T::load($arg.add($i)) };
    (@meaning write $name:ident [$($value:expr),*] $old:expr) => {
        scalar::$name(Single::<T>::new(), $($value),*)
    };
    (@meaning update $name:ident [$($value:expr),*] $old:expr) => {
        scalar::$name(Single::<T>::new(), $($value,)* $old)
    };
}
for_each_elementwise!(kernels! {});
