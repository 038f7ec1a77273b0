//! The elementwise operations, expanded from the table of operations.
//!
//! Contiguous arrays: a thread processes 16 bytes at a time if every array is aligned to 16 bytes, else single elements.
//! Other arrays: a block processes tiles of rows and columns, whose elements are found by strides. An operand may also be
//! one number for all elements. The kernels use loops over the grid, so any number of blocks works. A thread issues
//! several loads before its first store, which keeps more memory traffic in flight.

use crate::gpu::parameters::{Input, Output, Shape};
use crate::gpu::{no_unroll, thread};
use crate::real::Real;
use crate::single::Single;
use diptych::backend::scalar;
use diptych::{for_each_elementwise, for_each_row_map};

/// Accesses of 16 bytes to each array that a thread has in flight at once.
const UNROLL: u64 = 4;

/// Bytes of an array that a block of 256 threads processes in one iteration.
pub const BLOCK_BYTES: u64 = THREADS as u64 * UNROLL * 16;

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Rows of a tile that a thread processes.
pub const ROWS: u32 = 4;

/// Strides of contiguous elements.
const CONTIGUOUS: [i64; 3] = [0, 0, 1];

impl<T: Real> Input<T> {
    /// A contiguous array.
    pub fn contiguous(p: *const T) -> Self {
        Self {
            p,
            value: T::ZERO,
            strides: CONTIGUOUS,
        }
    }

    /// Returns the element at an index, or the number.
    ///
    /// # Safety
    /// The array must be valid for it.
    #[inline(always)]
    unsafe fn load(self, index: [u64; 3]) -> T {
        if self.p.is_null() {
            return self.value;
        }
        T::load(self.p.wrapping_offset(offset(self.strides, index)))
    }
}

impl<T: Real> Output<T> {
    /// A contiguous array.
    pub fn contiguous(p: *mut T) -> Self {
        Self {
            p,
            strides: CONTIGUOUS,
        }
    }

    /// Returns the address of the element at an index.
    #[inline(always)]
    fn at(self, index: [u64; 3]) -> *mut T {
        self.p.wrapping_offset(offset(self.strides, index))
    }
}

/// Returns the distance of an element from the first.
#[inline(always)]
pub(super) fn offset(strides: [i64; 3], index: [u64; 3]) -> isize {
    let [a, b, c] = strides;
    let [i, j, k] = index.map(|i| i as i64);
    (a.wrapping_mul(i))
        .wrapping_add(b.wrapping_mul(j))
        .wrapping_add(c.wrapping_mul(k)) as isize
}

/// What a thread does to elements of any strides.
pub(super) trait Strided: Copy {
    /// Processes `N` elements: that at `index`, and those `apart`, 2 * `apart`, ... rows further on.
    ///
    /// # Safety
    /// The arrays must be valid for them.
    unsafe fn elements<const N: usize>(self, index: [u64; 3], apart: u64);
}

/// An elementwise operation with its arrays and scalars.
trait Step<T: Real>: Strided {
    /// Returns the bitwise OR of the addresses of all arrays, to test their common alignment.
    fn addresses(self) -> usize;
    /// Processes `N` packs of contiguous arrays: i, i + stride, ...
    ///
    /// # Safety
    /// The arrays must be valid for these packs, and aligned to 16 bytes.
    unsafe fn packs<const N: usize>(self, i: u64, stride: u64);
    /// Processes element `i` of contiguous arrays.
    ///
    /// # Safety
    /// The arrays must be valid for it.
    unsafe fn element(self, i: usize);
}

/// Runs the step for all elements.
///
/// # Safety
/// The arrays of the step must be valid for the shape.
#[inline(always)]
unsafe fn map<T: Real, P: Step<T>>(step: P, shape: Shape) {
    if shape.contiguous != 0 {
        vector(step, shape.counts[2]);
    } else {
        tiles(step, shape);
    }
}

/// Runs the step for contiguous elements 0..n.
///
/// # Safety
/// The arrays of the step must be valid for `n` elements.
#[inline(always)]
unsafe fn vector<T: Real, P: Step<T>>(step: P, n: u64) {
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

/// Runs the step for the elements of tiles. Along x the grid covers the columns; along y the blocks share the rows, and along
/// z what is around them.
///
/// # Safety
/// The arrays of the step must be valid for the shape.
#[inline(always)]
pub(super) unsafe fn tiles<P: Strided>(step: P, shape: Shape) {
    let [planes, rows, columns] = shape.counts;
    let lanes = 1 << shape.lanes;
    // Rows of a tile that the block processes at once.
    let threads = thread::block_dim_x() >> shape.lanes;
    let thread = thread::thread_idx_x();
    let (lane, line) = (thread & (lanes - 1), thread >> shape.lanes);
    let mut plane = thread::block_idx_z() as u64;
    let column = thread::block_idx_x() as u64 * lanes as u64 + lane as u64;
    if column >= columns {
        return;
    }
    while plane < planes {
        no_unroll();
        let mut row = thread::block_idx_y() as u64 * ROWS as u64 * threads as u64 + line as u64;
        while row < rows {
            no_unroll();
            // Addresses are computed anew: kept from one tile to the next, they would take a third more registers.
            let apart = thread::opaque(threads) as u64;
            // SAFETY: every index lies below the counts, for which the caller guarantees the arrays.
            unsafe {
                if row + (ROWS as u64 - 1) * apart < rows {
                    step.elements::<{ ROWS as usize }>([plane, row, column], apart);
                } else {
                    let mut row = row;
                    while row < rows {
                        no_unroll();
                        step.elements::<1>([plane, row, column], 0);
                        row += apart;
                    }
                }
            }
            row += thread::grid_dim_y() as u64 * ROWS as u64 * apart;
        }
        plane += thread::grid_dim_z() as u64;
    }
}

/// Defines for each row of the table its [`Step`] and the kernel that runs it.
macro_rules! kernels {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) $out:ident $mode:ident)*) => {$(
        #[doc = concat!("The operation `", stringify!($name), "`.")]
        ///
        /// Contiguous arrays: any one-dimensional grid, of which a block processes [`BLOCK_BYTES`] of each array in one
        /// iteration. Others: any grid with blocks for all columns along x.
        ///
        /// # Safety
        /// Arrays must be valid for the shape; the output may be exactly an input.
        #[inline(always)]
        pub unsafe fn $name<T: Real>(shape: Shape, $($arg: kernels!(@type $kind T),)* $out: Output<T>) {
            struct This<T> { $($arg: kernels!(@type $kind T),)* $out: Output<T> }
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
                    0 $(| kernels!(@address $kind (self.$arg)))* | self.$out.p.addr()
                }
                #[inline(always)]
                unsafe fn packs<const N: usize>(self, i: u64, stride: u64) {
                    let at = |u: usize| (i + u as u64 * stride) as usize * T::WIDTH as usize;
                    $(let mut $arg = [T::ZERO.pack(); N];)*
                    let mut $out = [T::ZERO.pack(); N];
                    for u in 0..N {
                        $($arg[u] = kernels!(@pack $kind (self.$arg) at(u));)*
                        kernels!(@old_pack $mode $out (self.$out) u at(u));
                    }
                    for u in 0..N {
                        for lane in 0..T::WIDTH as usize {
                            let result = kernels!(@meaning $mode $name
                                [$($arg[u].as_ref()[lane]),*] $out[u].as_ref()[lane]);
                            $out[u].as_mut()[lane] = result;
                        }
                        T::store_pack(self.$out.p.add(at(u)), $out[u]);
                    }
                }
                #[inline(always)]
                unsafe fn element(self, i: usize) {
                    $(let $arg = kernels!(@element $kind (self.$arg) i);)*
                    let result = kernels!(@meaning $mode $name [$($arg),*] T::load(self.$out.p.add(i)));
                    T::store(self.$out.p.add(i), result);
                }
            }

            impl<T: Real> Strided for This<T> {
                #[inline(always)]
                unsafe fn elements<const N: usize>(self, [plane, row, column]: [u64; 3], apart: u64) {
                    let at = |u: usize| [plane, row + u as u64 * apart, column];
                    $(let mut $arg = [T::ZERO; N];)*
                    kernels!(@olds $mode $out);
                    for u in 0..N {
                        $($arg[u] = kernels!(@load $kind (self.$arg) at(u));)*
                        kernels!(@old $mode $out (self.$out) u at(u));
                    }
                    for u in 0..N {
                        let result = kernels!(@meaning $mode $name [$($arg[u]),*] $out[u]);
                        T::store(self.$out.at(at(u)), result);
                    }
                }
            }

            map(This { $($arg,)* $out }, shape)
        }
    )*};
    (@type scalar $T:ident) => { $T };
    (@type array $T:ident) => { Input<$T> };
    (@address scalar $arg:tt) => { 0 };
    (@address array $arg:tt) => { $arg.p.addr() };
    (@pack scalar $arg:tt $at:expr) => { $arg.pack() };
    (@pack array $arg:tt $at:expr) => { T::load_pack($arg.p.add($at)) };
    (@old_pack write $out:ident $p:tt $u:ident $at:expr) => {};
    (@old_pack update $out:ident $p:tt $u:ident $at:expr) => {
        $out[$u] = T::load_pack($p.p.cast_const().add($at))
    };
    (@element scalar $arg:tt $i:ident) => { $arg };
    (@element array $arg:tt $i:ident) => { T::load($arg.p.add($i)) };
    (@load scalar $arg:tt $at:expr) => { $arg };
    (@load array $arg:tt $at:expr) => { $arg.load($at) };
    (@olds write $out:ident) => {};
    (@olds update $out:ident) => { let mut $out = [T::ZERO; N]; };
    (@old write $out:ident $p:tt $u:ident $at:expr) => {};
    (@old update $out:ident $p:tt $u:ident $at:expr) => { $out[$u] = T::load($p.at($at)) };
    (@meaning write $name:ident [$($value:expr),*] $old:expr) => {
        scalar::$name(Single::<T>::new(), $($value),*)
    };
    (@meaning update $name:ident [$($value:expr),*] $old:expr) => {
        scalar::$name(Single::<T>::new(), $($value,)* $old)
    };
}
for_each_elementwise!(kernels! {} [name arguments output mode]);

/// The steps of maps over rows: the statistics of rows are arrays with a stride of 0 along a row.
macro_rules! row_maps {
    ({} $($name:ident ($($statistic:ident: $role:ident),*))*) => {
        kernels! { {} $($name (x: array, $($statistic: array),*) out write)* }
    };
}
for_each_row_map!(row_maps! {} [name statistics]);
