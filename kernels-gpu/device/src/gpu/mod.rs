//! The device API that kernels use, with the names of `cuda_std`, over two implementations: PTX and the host.

#[cfg(not(target_arch = "nvptx64"))]
pub mod host;
#[cfg(not(target_arch = "nvptx64"))]
mod nan;
pub mod parameters;
#[cfg(target_arch = "nvptx64")]
mod ptx;
pub mod value;
pub mod words;

use crate::memory::HalfFormat;
#[cfg(not(target_arch = "nvptx64"))]
use host as imp;
#[cfg(target_arch = "nvptx64")]
use ptx as imp;

/// Expands `$body` once for each `$i` in `0..$n` (`$n` at most 16). LLVM does not unroll long loops, and an array that
/// is indexed by a variable does not stay in registers.
#[cfg(target_arch = "nvptx64")]
macro_rules! unroll {
    ($i:ident in 0..$n:expr => $body:expr) => {
        $crate::gpu::unroll!(@ $i, $n, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $i:ident, $n:expr, $body:expr, $($number:literal)*) => {{
        debug_assert!($n <= 16);
        $(
            if $number < $n {
                let $i = $number;
                $body;
            }
        )*
    }};
}
/// On the host a plain loop, which compiles faster.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! unroll {
    ($i:ident in 0..$n:expr => $body:expr) => {{
        debug_assert!($n <= 16);
        #[allow(clippy::needless_range_loop)]
        for $i in 0..$n {
            $body;
        }
    }};
}
pub(crate) use unroll;

/// The position of a thread in its block and grid, and the block's barrier.
pub mod thread {
    use super::imp;

    /// The thread's index in its block. Blocks are one-dimensional here.
    #[inline(always)]
    pub fn thread_idx_x() -> u32 {
        imp::thread_idx_x()
    }
    /// The block's index along x.
    #[inline(always)]
    pub fn block_idx_x() -> u32 {
        imp::block_idx_x()
    }
    /// The block's index along y.
    #[inline(always)]
    pub fn block_idx_y() -> u32 {
        imp::block_idx_y()
    }
    /// The block's index along z.
    #[inline(always)]
    pub fn block_idx_z() -> u32 {
        imp::block_idx_z()
    }
    /// Threads per block.
    #[inline(always)]
    pub fn block_dim_x() -> u32 {
        imp::block_dim_x()
    }
    /// Blocks in the grid along x.
    #[inline(always)]
    pub fn grid_dim_x() -> u32 {
        imp::grid_dim_x()
    }
    /// Blocks in the grid along y.
    #[inline(always)]
    pub fn grid_dim_y() -> u32 {
        imp::grid_dim_y()
    }
    /// Blocks in the grid along z.
    #[inline(always)]
    pub fn grid_dim_z() -> u32 {
        imp::grid_dim_z()
    }
    /// The thread's index in a one-dimensional grid.
    #[inline(always)]
    pub fn index_1d() -> u64 {
        block_idx_x() as u64 * block_dim_x() as u64 + thread_idx_x() as u64
    }
    /// Returns `value`, hidden from the optimiser: what is derived from it is computed after this point instead of
    /// being hoisted out of a loop, where it would occupy registers.
    #[inline(always)]
    pub fn opaque(value: u32) -> u32 {
        imp::opaque(value)
    }
    /// Waits for all threads of the block; what they wrote before the barrier is visible after it.
    ///
    /// # Safety
    /// All threads of the block that have not ended must reach this same call.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn sync_threads() {
        // SAFETY: as the caller's.
        unsafe { imp::sync_threads() }
    }
}

/// Communication between the 32 threads of a warp.
pub mod warp {
    use super::imp;

    /// Returns the value of the thread whose lane number is this lane's XOR `lanes`.
    ///
    /// # Safety
    /// All threads of the warp must reach this same call.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn shuffle_xor_u32(value: u32, lanes: u32) -> u32 {
        // SAFETY: as the caller's.
        unsafe { imp::shuffle_xor(value, lanes) }
    }
    /// As [`shuffle_xor_u32`], for 64 bits.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn shuffle_xor_u64(value: u64, lanes: u32) -> u64 {
        // SAFETY: as the caller's.
        unsafe {
            let low = imp::shuffle_xor(value as u32, lanes);
            let high = imp::shuffle_xor((value >> 32) as u32, lanes);
            (high as u64) << 32 | low as u64
        }
    }
    /// Waits for all threads of the warp; what they wrote to shared memory before is visible after.
    ///
    /// # Safety
    /// All threads of the warp must reach this same call.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn sync_warp() {
        // SAFETY: as the caller's.
        unsafe { imp::sync_warp() }
    }
}

/// The block's dynamic shared memory. Its size is set by the launch, and it is not initialised.
pub mod shared {
    use super::imp;
    use core::marker::PhantomData;

    /// An array in shared memory: a byte offset and the type of its elements.
    #[derive(Clone, Copy)]
    pub struct Shared<T> {
        offset: u32,
        _element: PhantomData<*mut T>,
    }

    impl<T: super::Word> Shared<T> {
        /// Returns the array that begins `offset` bytes into the block's shared memory.
        #[inline(always)]
        pub fn at_byte(offset: u32) -> Self {
            Self {
                offset: imp::shared_base() + offset,
                _element: PhantomData,
            }
        }
        /// Returns the array from element `i` on.
        #[inline(always)]
        pub fn skip(self, i: u32) -> Self {
            Self {
                offset: self.offset + i * size_of::<T>() as u32,
                ..self
            }
        }
        /// Loads element `i`.
        ///
        /// # Safety
        /// The element must lie in the block's shared memory and have been written, and no other thread may write it
        /// until the next barrier.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn load(self, i: u32) -> T {
            // SAFETY: as the caller's.
            unsafe { T::load_shared(self.skip(i).offset) }
        }
        /// Stores to element `i`.
        ///
        /// # Safety
        /// The element must lie in the block's shared memory, and no other thread may access it until the next
        /// barrier.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn store(self, i: u32, value: T) {
            // SAFETY: as the caller's.
            unsafe { T::store_shared(self.skip(i).offset, value) }
        }
    }

    impl<T: super::Vector> Shared<T> {
        /// Loads the [`WIDTH`](super::Vector::WIDTH) elements from `i` on in one access of 16 bytes; `i` is a multiple
        /// of `WIDTH`.
        ///
        /// # Safety
        /// As [`Shared::load`].
        #[inline(always)]
        #[track_caller]
        pub unsafe fn load_vector(self, i: u32) -> T::Pack {
            // SAFETY: as the caller's.
            unsafe { T::load_shared_vector(self.skip(i).offset) }
        }
        /// Stores to the [`WIDTH`](super::Vector::WIDTH) elements from `i` on, a multiple of `WIDTH`, in one access.
        ///
        /// # Safety
        /// As [`Shared::store`].
        #[inline(always)]
        #[track_caller]
        pub unsafe fn store_vector(self, i: u32, value: T::Pack) {
            // SAFETY: as the caller's.
            unsafe { T::store_shared_vector(self.skip(i).offset, value) }
        }
    }
}

/// Access to results in global memory, which may be of any [`Word`] type. Elements of arrays are accessed with
/// [`Vector::load`] and [`Vector::store`].
pub mod global {
    use super::imp;

    /// Loads the word at `p`, which an earlier launch has written.
    ///
    /// # Safety
    /// `p` must be valid for reading.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn load<T: super::Word>(p: *const T) -> T {
        // SAFETY: as the caller's.
        unsafe { imp::load_global(p) }
    }
    /// Stores a word to `p`.
    ///
    /// # Safety
    /// `p` must be valid for writing.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn store<T: super::Word>(p: *mut T, value: T) {
        // SAFETY: as the caller's.
        unsafe { imp::store_global(p, value) }
    }
}

/// Counters that synchronise blocks.
pub mod atomic {
    use super::imp;

    /// Adds 1 to a counter in global memory and returns its old value; a counter at `last` is set back to 0. What this
    /// thread wrote before the call is visible to threads whose later calls return a greater value (acquire-release at
    /// GPU scope).
    ///
    /// # Safety
    /// `counter` must be valid, and nothing else may use it while the grid runs.
    #[inline(always)]
    pub unsafe fn fetch_increment(counter: *mut u32, last: u32) -> u32 {
        // SAFETY: as the caller's.
        unsafe { imp::fetch_increment(counter, last) }
    }
}

/// An unsigned integer in global memory, as which the bits of an element of any type are moved.
pub trait Bits: Copy {
    /// Loads the bits at `p`; higher bits are 0.
    ///
    /// # Safety
    /// `p` must be valid for reading.
    #[track_caller]
    unsafe fn load(p: *const Self) -> u64;
    /// Stores the low bits of `bits` to `p`.
    ///
    /// # Safety
    /// `p` must be valid for writing.
    #[track_caller]
    unsafe fn store(p: *mut Self, bits: u64);
}

/// Called at the start of a loop's body, keeps the assembler from unrolling the loop: unrolled, with all loads first,
/// it would need more registers than there are.
#[inline(always)]
pub fn no_unroll() {
    imp::no_unroll();
}

/// A type that can be stored in shared memory.
pub trait Word: Copy {
    /// Loads from shared memory at a byte offset.
    ///
    /// # Safety
    /// See [`shared::Shared::load`].
    #[track_caller]
    unsafe fn load_shared(offset: u32) -> Self;
    /// Stores to shared memory at a byte offset.
    ///
    /// # Safety
    /// See [`shared::Shared::store`].
    #[track_caller]
    unsafe fn store_shared(offset: u32, value: Self);
    /// Returns the value, marked as not computed by arithmetic: the emulator distinguishes NaNs that were moved from
    /// NaNs that were computed. On the device, returns it unchanged.
    fn constant(self) -> Self;
    /// Returns the bits of a result that is rounded to a 16-bit float; `None` of a result that is not a float.
    #[inline(always)]
    fn rounded(self, _: HalfFormat) -> Option<u16> {
        None
    }
    /// Returns what global memory holds after this value has been stored.
    #[cfg(not(target_arch = "nvptx64"))]
    fn stored(self) -> Self;
}

/// An element type, with its memory accesses. A *pack* is the 16 bytes of elements that one vector access moves.
pub trait Vector: Word {
    /// A pack: [`Vector::WIDTH`] elements.
    type Pack: Copy + AsRef<[Self]> + AsMut<[Self]>;
    /// Elements in a pack of 16 bytes.
    const WIDTH: u32;

    /// Returns a pack of copies of this value.
    fn pack(self) -> Self::Pack;

    /// Loads one element from global memory.
    ///
    /// # Safety
    /// `p` must be valid for reading.
    #[track_caller]
    unsafe fn load(p: *const Self) -> Self;
    /// As [`Vector::load`], for an element that another block of this grid wrote before its
    /// [`atomic::fetch_increment`]: a relaxed load at GPU scope, which cannot return stale data.
    ///
    /// # Safety
    /// `p` must be valid for reading.
    #[track_caller]
    unsafe fn load_relaxed(p: *const Self) -> Self;
    /// Stores one element to global memory.
    ///
    /// # Safety
    /// `p` must be valid for writing.
    #[track_caller]
    unsafe fn store(p: *mut Self, value: Self);
    /// Loads a pack from global memory.
    ///
    /// # Safety
    /// `p` must be valid for reading 16 bytes, and a multiple of 16.
    #[track_caller]
    unsafe fn load_pack(p: *const Self) -> Self::Pack;
    /// As [`Vector::load_pack`], with the ordering of [`Vector::load_relaxed`].
    ///
    /// # Safety
    /// `p` must be valid for reading 16 bytes, and a multiple of 16.
    #[track_caller]
    unsafe fn load_pack_relaxed(p: *const Self) -> Self::Pack;
    /// Stores a pack to global memory.
    ///
    /// # Safety
    /// `p` must be valid for writing 16 bytes, and a multiple of 16.
    #[track_caller]
    unsafe fn store_pack(p: *mut Self, value: Self::Pack);
    /// See [`shared::Shared::load_vector`].
    ///
    /// # Safety
    /// See there.
    #[track_caller]
    unsafe fn load_shared_vector(offset: u32) -> Self::Pack;
    /// See [`shared::Shared::store_vector`].
    ///
    /// # Safety
    /// See there.
    #[track_caller]
    unsafe fn store_shared_vector(offset: u32, value: Self::Pack);
    /// See [`warp::shuffle_xor_u32`].
    ///
    /// # Safety
    /// See there.
    #[track_caller]
    unsafe fn shuffle_xor(self, lanes: u32) -> Self;
    /// Returns self * a + b with one rounding.
    fn fma(self, a: Self, b: Self) -> Self;
    /// Returns the correctly rounded square root.
    fn sqrt(self) -> Self;
}
