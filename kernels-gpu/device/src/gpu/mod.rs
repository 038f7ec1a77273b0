//! What a kernel may ask of the machine: the vocabulary of `cuda_std`, over two twins.

#[cfg(not(target_arch = "nvptx64"))]
pub mod host;
#[cfg(not(target_arch = "nvptx64"))]
mod nan;
#[cfg(target_arch = "nvptx64")]
mod ptx;

#[cfg(not(target_arch = "nvptx64"))]
use host as twin;
#[cfg(target_arch = "nvptx64")]
use ptx as twin;

/// Runs `$body` for `$i` from 0 to `$n`, at most 16, each in a copy of its own: LLVM leaves long loops rolled,
/// and an array that is indexed by a variable is no longer in registers.
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
/// On the host a loop is a loop, and compiles sooner.
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

/// Where a thread stands in its block and grid, and the barrier of the block.
pub mod thread {
    use super::twin;

    /// The thread's number in its block. Blocks have one dimension here.
    #[inline(always)]
    pub fn thread_idx_x() -> u32 {
        twin::thread_idx_x()
    }
    /// The block's number along x.
    #[inline(always)]
    pub fn block_idx_x() -> u32 {
        twin::block_idx_x()
    }
    /// The block's number along y.
    #[inline(always)]
    pub fn block_idx_y() -> u32 {
        twin::block_idx_y()
    }
    /// The block's number along z.
    #[inline(always)]
    pub fn block_idx_z() -> u32 {
        twin::block_idx_z()
    }
    /// Threads of a block.
    #[inline(always)]
    pub fn block_dim_x() -> u32 {
        twin::block_dim_x()
    }
    /// Blocks of the grid along x.
    #[inline(always)]
    pub fn grid_dim_x() -> u32 {
        twin::grid_dim_x()
    }
    /// Blocks of the grid along y.
    #[inline(always)]
    pub fn grid_dim_y() -> u32 {
        twin::grid_dim_y()
    }
    /// Blocks of the grid along z.
    #[inline(always)]
    pub fn grid_dim_z() -> u32 {
        twin::grid_dim_z()
    }
    /// The thread's number in a grid of one dimension.
    #[inline(always)]
    pub fn index_1d() -> u64 {
        block_idx_x() as u64 * block_dim_x() as u64 + thread_idx_x() as u64
    }
    /// The value, of which the compiler knows nothing: what follows from it is computed after this point, and
    /// not ahead of a loop, where it would take registers.
    #[inline(always)]
    pub fn here(value: u32) -> u32 {
        twin::here(value)
    }
    /// Waits for all threads of the block; what they wrote before is seen after.
    ///
    /// # Safety
    /// All threads of the block that have not ended must come to this very call.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn sync_threads() {
        // SAFETY: as the caller's.
        unsafe { twin::sync_threads() }
    }
}

/// The 32 threads that run together.
pub mod warp {
    use super::twin;

    /// The value of the thread whose lane differs in the bits of `lanes`.
    ///
    /// # Safety
    /// All threads of the warp must come to this very call.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn shuffle_xor_u32(value: u32, lanes: u32) -> u32 {
        // SAFETY: as the caller's.
        unsafe { twin::shuffle_xor(value, lanes) }
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
            let low = twin::shuffle_xor(value as u32, lanes);
            let high = twin::shuffle_xor((value >> 32) as u32, lanes);
            (high as u64) << 32 | low as u64
        }
    }
    /// Waits for all threads of the warp; what they wrote to shared memory before is seen after.
    ///
    /// # Safety
    /// All threads of the warp must come to this very call.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn sync_warp() {
        // SAFETY: as the caller's.
        unsafe { twin::sync_warp() }
    }
}

/// The memory that a block's threads share, as much as the launch asked for; its contents are not
/// initialised.
pub mod shared {
    use super::twin;
    use core::marker::PhantomData;

    /// An array in shared memory: a byte offset and the type of its elements.
    #[derive(Clone, Copy)]
    pub struct Shared<T> {
        offset: u32,
        _element: PhantomData<*mut T>,
    }

    impl<T: super::Word> Shared<T> {
        /// The array that begins `offset` bytes into the block's shared memory.
        #[inline(always)]
        pub fn at_byte(offset: u32) -> Self {
            Self {
                offset: twin::shared_base() + offset,
                _element: PhantomData,
            }
        }
        /// The array from element i on.
        #[inline(always)]
        pub fn skip(self, i: u32) -> Self {
            Self {
                offset: self.offset + i * size_of::<T>() as u32,
                ..self
            }
        }
        /// Element i.
        ///
        /// # Safety
        /// It must lie in the block's shared memory, have been written, and no other thread may write
        /// it until the next barrier.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn load(self, i: u32) -> T {
            // SAFETY: as the caller's.
            unsafe { T::load_shared(self.skip(i).offset) }
        }
        /// Sets element i.
        ///
        /// # Safety
        /// It must lie in the block's shared memory, and no other thread may use it until the next
        /// barrier.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn store(self, i: u32, value: T) {
            // SAFETY: as the caller's.
            unsafe { T::store_shared(self.skip(i).offset, value) }
        }
    }

    impl<T: super::Vector> Shared<T> {
        /// The [`WIDTH`](super::Vector::WIDTH) elements from i on, which is a multiple of it, in one access of 16 bytes.
        ///
        /// # Safety
        /// As [`Shared::load`].
        #[inline(always)]
        #[track_caller]
        pub unsafe fn load_vector(self, i: u32) -> T::Pack {
            // SAFETY: as the caller's.
            unsafe { T::load_shared_vector(self.skip(i).offset) }
        }
        /// Sets the [`WIDTH`](super::Vector::WIDTH) elements from i on, which is a multiple of it.
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

/// Words of global memory that are no elements: results. Elements have [`Vector::load`] and [`Vector::store`].
pub mod global {
    use super::twin;

    /// What an earlier launch has left at `p`.
    ///
    /// # Safety
    /// `p` must be valid for reading.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn load<T: super::Word>(p: *const T) -> T {
        // SAFETY: as the caller's.
        unsafe { twin::load_global(p) }
    }
    /// Sets the word at `p`.
    ///
    /// # Safety
    /// `p` must be valid for writing.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn store<T: super::Word>(p: *mut T, value: T) {
        // SAFETY: as the caller's.
        unsafe { twin::store_global(p, value) }
    }
}

/// What orders and counts across blocks.
pub mod atomic {
    use super::twin;

    /// Adds 1 to a counter in global memory and returns what it was; at `last` it goes back to 0. What
    /// this thread wrote before is seen by the threads whose later calls return a greater number.
    ///
    /// # Safety
    /// `counter` must be valid, and used by nothing else while the grid runs.
    #[inline(always)]
    pub unsafe fn fetch_increment(counter: *mut u32, last: u32) -> u32 {
        // SAFETY: as the caller's.
        unsafe { twin::fetch_increment(counter, last) }
    }
}

/// At the start of a loop's body: the assembler leaves the loop as it is. Unrolled, with all loads first, it
/// would take more registers than there are.
#[inline(always)]
pub fn keep_loop() {
    twin::keep_loop();
}

/// A value that shared memory can hold.
pub trait Word: Copy {
    /// Reads shared memory at a byte offset.
    ///
    /// # Safety
    /// See [`shared::Shared::load`].
    #[track_caller]
    unsafe fn load_shared(offset: u32) -> Self;
    /// Writes shared memory at a byte offset.
    ///
    /// # Safety
    /// See [`shared::Shared::store`].
    #[track_caller]
    unsafe fn store_shared(offset: u32, value: Self);
    /// The value, known to be no result of arithmetic: the emulator tells the two apart where it is a NaN.
    fn constant(self) -> Self;
    /// What global memory holds once this has been stored there.
    #[cfg(not(target_arch = "nvptx64"))]
    fn stored(self) -> Self;
}

/// An element type: what the machine does with one, and with the 16 bytes that one access moves.
pub trait Vector: Word {
    /// [`Vector::WIDTH`] elements.
    type Pack: Copy + AsRef<[Self]> + AsMut<[Self]>;
    /// Elements in 16 bytes.
    const WIDTH: u32;

    /// This in every place.
    fn pack(self) -> Self::Pack;

    /// One element of global memory.
    ///
    /// # Safety
    /// `p` must be valid for reading.
    #[track_caller]
    unsafe fn load(p: *const Self) -> Self;
    /// As [`Vector::load`], of what another block of this grid has written before its
    /// [`atomic::fetch_increment`].
    ///
    /// # Safety
    /// `p` must be valid for reading.
    #[track_caller]
    unsafe fn load_fresh(p: *const Self) -> Self;
    /// Sets one element of global memory.
    ///
    /// # Safety
    /// `p` must be valid for writing.
    #[track_caller]
    unsafe fn store(p: *mut Self, value: Self);
    /// 16 bytes of global memory.
    ///
    /// # Safety
    /// `p` must be valid for reading them, and a multiple of 16.
    #[track_caller]
    unsafe fn load_pack(p: *const Self) -> Self::Pack;
    /// As [`Vector::load_pack`], of what [`Vector::load_fresh`] reads.
    ///
    /// # Safety
    /// `p` must be valid for reading 16 bytes, and a multiple of 16.
    #[track_caller]
    unsafe fn load_pack_fresh(p: *const Self) -> Self::Pack;
    /// Sets 16 bytes of global memory.
    ///
    /// # Safety
    /// `p` must be valid for writing them, and a multiple of 16.
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
    /// self * a + b with one rounding.
    fn fma(self, a: Self, b: Self) -> Self;
    /// The correctly rounded square root.
    fn sqrt(self) -> Self;
}
