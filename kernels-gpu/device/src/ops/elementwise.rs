//! The elementwise operations, expanded from the table of operations.
//!
//! Contiguous arrays: a thread processes 16 bytes at a time if every array is aligned to 16 bytes, else single elements.
//! Other arrays: a block processes tiles of rows and columns, whose elements are found by strides. An operand may also be
//! one number for all elements. The kernels use loops over the grid, so any number of blocks works. A thread issues
//! several loads before its first store, which keeps more memory traffic in flight.

use crate::gpu::parameters::{Input, Output, Shape};
use crate::gpu::{no_unroll, thread, unroll};
use crate::memory::Memory;
use crate::single::Single;
use diptych::backend::scalar;
use diptych::{Element, for_each_elementwise, for_each_row_map};

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

impl<M: Memory> Input<M> {
    /// A contiguous array.
    pub fn contiguous(p: *const M) -> Self {
        Self {
            p,
            value: M::Number::ZERO,
            strides: CONTIGUOUS,
        }
    }

    /// Returns the element at an index, or the number.
    ///
    /// # Safety
    /// The array must be valid for it.
    #[inline(always)]
    unsafe fn load(self, format: M::Format, index: [u64; 3]) -> M::Number {
        if self.p.is_null() {
            return self.value;
        }
        let p = self.p.wrapping_offset(offset(self.strides, index));
        M::get(format, p)
    }
}

impl<M> Output<M> {
    /// A contiguous array.
    pub fn contiguous(p: *mut M) -> Self {
        Self {
            p,
            strides: CONTIGUOUS,
        }
    }

    /// Returns the address of the element at an index.
    #[inline(always)]
    fn at(self, index: [u64; 3]) -> *mut M {
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
trait Step<M: Memory>: Strided {
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
unsafe fn map<M: Memory, P: Step<M>>(step: P, shape: Shape) {
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
unsafe fn vector<M: Memory, P: Step<M>>(step: P, n: u64) {
    let stride = thread::grid_dim_x() as u64 * thread::block_dim_x() as u64;
    let first = thread::index_1d();
    let mut done = 0;
    // SAFETY: every access lies below n, which the caller guarantees; packs are used only if all arrays are aligned.
    unsafe {
        if step.addresses().is_multiple_of(16) {
            let packs = n / M::PACKED as u64;
            done = packs * M::PACKED as u64;
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
        pub unsafe fn $name<M: Memory>(format: M::Format, shape: Shape, $($arg: kernels!(@type $kind M),)* $out: Output<M>) {
            /// Whether results are copies of a scalar.
            const COPIES: bool = true $(&& kernels!(@is_scalar $kind))*;
            struct This<M: Memory> { format: M::Format, $($arg: kernels!(@type $kind M),)* $out: Output<M> }
            // `derive` does not accept fields whose types are macro calls.
            impl<M: Memory> Clone for This<M> {
                #[inline(always)]
                fn clone(&self) -> Self {
                    *self
                }
            }
            impl<M: Memory> Copy for This<M> {}

            impl<M: Memory> Step<M> for This<M> {
                #[inline(always)]
                fn addresses(self) -> usize {
                    0 $(| kernels!(@address $kind (self.$arg)))* | self.$out.p.addr()
                }
                #[inline(always)]
                unsafe fn packs<const N: usize>(self, i: u64, stride: u64) {
                    let at = |u: usize| (i + u as u64 * stride) as usize * M::PACKED as usize;
                    $(kernels!(@packs $kind $arg);)*
                    kernels!(@olds $mode $out [M::EMPTY; N]);
                    unroll!(u in 0..N => {
                        $(kernels!(@pack $kind $arg (self.$arg) u at(u));)*
                        kernels!(@old $mode $out u M::get_packed(self.$out.p.cast_const().add(at(u))));
                    });
                    unroll!(u in 0..N => {
                        $(let $arg = kernels!(@unpack $kind $arg (self.$arg) self u);)*
                        let mut results = kernels!(@results $mode $out self u);
                        unroll!(lane in 0..M::PACKED as usize => {
                            let result = kernels!(@meaning $mode $name [$($arg.as_ref()[lane]),*] results.as_ref()[lane]);
                            results.as_mut()[lane] = result;
                        });
                        M::put_packed(self.$out.p.add(at(u)), M::pack::<COPIES>(self.format, results));
                    });
                }
                #[inline(always)]
                unsafe fn element(self, i: usize) {
                    $(let $arg = kernels!(@element $kind (self.$arg) self i);)*
                    let result = kernels!(@meaning $mode $name [$($arg),*] M::get(self.format, self.$out.p.add(i)));
                    M::put::<COPIES>(self.format, self.$out.p.add(i), result);
                }
            }

            impl<M: Memory> Strided for This<M> {
                #[inline(always)]
                unsafe fn elements<const N: usize>(self, [plane, row, column]: [u64; 3], apart: u64) {
                    let at = |u: usize| [plane, row + u as u64 * apart, column];
                    $(let mut $arg = [M::Number::ZERO; N];)*
                    kernels!(@olds $mode $out [M::Number::ZERO; N]);
                    for u in 0..N {
                        $($arg[u] = kernels!(@load $kind (self.$arg) self at(u));)*
                        kernels!(@old $mode $out u M::get(self.format, self.$out.at(at(u))));
                    }
                    for u in 0..N {
                        let result = kernels!(@meaning $mode $name [$($arg[u]),*] $out[u]);
                        M::put::<COPIES>(self.format, self.$out.at(at(u)), result);
                    }
                }
            }

            map(This { format, $($arg,)* $out }, shape)
        }
    )*};
    (@type scalar $M:ident) => { $M::Number };
    (@type array $M:ident) => { Input<$M> };
    (@type result $M:ident) => { Input<$M::Number> };
    (@is_scalar scalar) => { true };
    (@is_scalar $kind:ident) => { false };
    (@address scalar $arg:tt) => { 0 };
    (@address $kind:ident $arg:tt) => { $arg.p.addr() };
    (@packs scalar $arg:ident) => {};
    (@packs array $arg:ident) => { let mut $arg = [M::EMPTY; N]; };
    (@packs result $arg:ident) => { let mut $arg = [M::copies(M::Number::ZERO); N]; };
    (@pack scalar $arg:ident $of:tt $u:ident $at:expr) => { let _ = $u; };
    (@pack array $arg:ident $of:tt $u:ident $at:expr) => { $arg[$u % N] = M::get_packed($of.p.add($at)) };
    (@pack result $arg:ident $of:tt $u:ident $at:expr) => { $arg[$u % N] = M::get_numbers($of.p.add($at)) };
    (@unpack scalar $arg:ident $of:tt $this:ident $u:ident) => { M::copies($of) };
    (@unpack array $arg:ident $of:tt $this:ident $u:ident) => { M::unpack($this.format, $arg[$u % N]) };
    (@unpack result $arg:ident $of:tt $this:ident $u:ident) => { $arg[$u % N] };
    (@results write $out:ident $this:ident $u:ident) => { M::copies(M::Number::ZERO) };
    (@results update $out:ident $this:ident $u:ident) => { M::unpack($this.format, $out[$u % N]) };
    (@element scalar $arg:tt $this:ident $i:ident) => { $arg };
    (@element array $arg:tt $this:ident $i:ident) => { M::get($this.format, $arg.p.add($i)) };
    (@element result $arg:tt $this:ident $i:ident) => { Memory::get((), $arg.p.add($i)) };
    (@load scalar $arg:tt $this:ident $at:expr) => { $arg };
    (@load array $arg:tt $this:ident $at:expr) => { $arg.load($this.format, $at) };
    (@load result $arg:tt $this:ident $at:expr) => { $arg.load((), $at) };
    (@olds write $out:ident $none:expr) => {};
    (@olds update $out:ident $none:expr) => { let mut $out = $none; };
    (@old write $out:ident $u:ident $value:expr) => {};
    (@old update $out:ident $u:ident $value:expr) => { $out[$u % N] = $value };
    (@meaning write $name:ident [$($value:expr),*] $old:expr) => {
        scalar::$name(Single::<M::Number>::new(), $($value),*)
    };
    (@meaning update $name:ident [$($value:expr),*] $old:expr) => {
        scalar::$name(Single::<M::Number>::new(), $($value,)* $old)
    };
}
for_each_elementwise!(kernels! {} [name arguments output mode]);

/// The steps of maps over rows: the statistics of rows are arrays of numbers with a stride of 0 along a row.
macro_rules! row_maps {
    ({} $($name:ident ($($statistic:ident: $role:ident),*))*) => {
        kernels! { {} $($name (x: array, $($statistic: result),*) out write)* }
    };
}
for_each_row_map!(row_maps! {} [name statistics]);
