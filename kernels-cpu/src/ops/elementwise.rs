//! Elementwise kernels: one loop, generic over the step that computes one register. The kernels are expanded from the
//! table of operations (`table.rs`); `scalar.rs` has what each does to one element.

use core::marker::PhantomData;

use super::prefetch_pages;
use crate::detect::is_from_memory;
use crate::element::{Element, Storage};
use crate::scalar;
use crate::simd::{Access, Simd};
use crate::{for_each_elementwise, if_nan_spreads};

/// Computes one register of an elementwise operation. Implemented by structs, not closures: a closure would not be
/// inlined into the function that has the target features.
pub(super) trait Step<S: Simd, M>: Copy {
    /// The results for elements i..i + len, where len is `S::N` if `FULL`, and less otherwise.
    ///
    /// `FULL` is a constant because the compiler does not infer len < `S::N` after the loop over whole registers.
    ///
    /// # Safety
    /// The inputs, and `out` where it is read, must be valid for these elements.
    unsafe fn at<const FULL: bool>(self, s: S, i: usize, len: usize, out: *const M) -> S::V;

    /// The step on the inputs without their first n elements.
    fn skip(self, n: usize) -> Self;

    /// [`prefetch_pages`] of the first `bytes` of each input.
    fn prefetch(self, s: S, bytes: usize);
}

/// Writes the step's results for elements `0..n` to `out`, with non-temporal stores if `stream`.
///
/// # Safety
/// The step's inputs and `out` must be valid for these elements; `out` may be exactly an input.
#[inline(always)]
pub(super) unsafe fn map<S: Simd + Access<M>, P: Step<S, M>, M: Storage>(
    s: S,
    step: P,
    n: usize,
    out: *mut M,
    stream: bool,
) {
    const UNROLL: usize = 4;
    let mut i = 0;
    // SAFETY: every access lies in 0..n; all loads of a block precede its stores.
    unsafe {
        if S::HAS_NON_TEMPORAL_STORES && stream {
            // They need whole aligned registers.
            let head = out.align_offset(S::N * size_of::<M>()).min(n);
            if head > 0 {
                s.store_partial(out, head, step.at::<false>(s, 0, head, out));
                i = head;
            }
            while i + S::N <= n {
                s.stream(out.add(i), step.at::<true>(s, i, S::N, out));
                i += S::N;
            }
            s.fence();
        }
        // The compiler does not know that i + UNROLL * N cannot overflow.
        let end = n - (n - i) % (UNROLL * S::N);
        while i < end {
            let mut block = [s.splat(S::T::ZERO); UNROLL];
            for (u, slot) in block.iter_mut().enumerate() {
                *slot = step.at::<true>(s, i + u * S::N, S::N, out);
            }
            for (u, &v) in block.iter().enumerate() {
                s.store(out.add(i + u * S::N), v);
            }
            i += UNROLL * S::N;
        }
        while i + S::N <= n {
            s.store(out.add(i), step.at::<true>(s, i, S::N, out));
            i += S::N;
        }
        if i < n {
            s.store_partial(out.add(i), n - i, step.at::<false>(s, i, n - i, out));
        }
    }
}

/// [`map`] for a step that reads `out`. Large arrays are done in blocks, with a prefetch of pages ahead before each.
///
/// # Safety
/// As [`map`].
#[inline(always)]
unsafe fn update<S: Simd + Access<M>, P: Step<S, M>, M: Storage>(
    s: S,
    step: P,
    n: usize,
    out: *mut M,
) {
    const BLOCK: usize = 8 << 10;
    let far = is_from_memory::<M>(n);
    let block = if far { BLOCK / size_of::<M>() } else { n };
    let mut from = 0;
    while from < n {
        let (step, out) = (step.skip(from), out.wrapping_add(from));
        if far {
            step.prefetch(s, BLOCK);
            prefetch_pages(s, out, BLOCK);
        }
        let len = block.min(n - from);
        // SAFETY: as the caller's; the block lies in 0..n.
        unsafe { map(s, step, len, out, false) };
        from += len;
    }
}

/// Loads `len` elements of an input: a whole register if `FULL`, else fewer, and +0 in the other lanes.
///
/// # Safety
/// `p` must be valid for `len` elements, all of a register if `FULL`.
#[inline(always)]
pub(super) unsafe fn elements<const FULL: bool, S: Simd + Access<M>, M: Storage>(
    s: S,
    p: *const M,
    len: usize,
) -> S::V {
    if FULL {
        s.load(p)
    } else {
        s.load_partial(p, len)
    }
}

/// Makes the lanes of a divisor without an element 1, so that they raise no flag, whatever they divide.
#[inline(always)]
pub(super) fn divisor<const FULL: bool, S: Simd>(s: S, v: S::V, len: usize) -> S::V {
    if FULL {
        v
    } else {
        s.hidden(s.select(s.first_lanes(len), v, s.splat(S::T::ONE)))
    }
}

/// Expands each row of the table to a step and the kernel that runs it; a row with scalars also to a kernel in the module
/// `of_arrays`, where the scalars are arrays too. The step of a map over rows is such a row too.
macro_rules! kernels {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $out:ident $mode:ident)*) => {
        $(kernels!(@function $name $out $mode [$($arg: $kind $role,)*]);)*

        /// The kernels of operations with scalars, for arrays in the place of the scalars.
        pub mod of_arrays {
            use super::*;
            $(kernels!(@of_arrays [$($kind)*] $name $out $mode [$($arg: array $role,)*]);)*
        }
    };
    // Passes on the rows that have scalars.
    (@of_arrays [scalar $($kind:ident)*] $($row:tt)*) => { kernels!(@function $($row)*); };
    (@of_arrays [array $($kind:ident)*] $($row:tt)*) => { kernels!(@of_arrays [$($kind)*] $($row)*); };
    (@of_arrays [] $($row:tt)*) => {};
    (@function $name:ident $out:ident $mode:ident [$($arg:ident: $kind:ident $role:ident,)*]) => {
        #[doc = concat!("The operation `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// Arrays must be valid for `n` elements; the output may be exactly an input.
        #[inline(always)]
        pub unsafe fn $name<S: Simd + Access<M>, M: Storage>(
            s: S, n: usize, $($arg: kernels!(@type $kind S::T, M),)* $out: *mut M, stream: bool,
        ) {
            /// The step: pointers to the arrays, and the scalars in all lanes.
            #[allow(dead_code)]
            struct Inputs<V, M> { $($arg: kernels!(@type $kind V, M),)* lanes: PhantomData<(V, M)> }
            // `derive` refuses fields whose types are macros.
            impl<V: Copy, M> Clone for Inputs<V, M> {
                #[inline(always)]
                fn clone(&self) -> Self {
                    *self
                }
            }
            impl<V: Copy, M> Copy for Inputs<V, M> {}

            impl<S: Simd + Access<M>, M: Storage> Step<S, M> for Inputs<S::V, M> {
                #[inline(always)]
                #[allow(unused_variables, unused_unsafe)] // The operation may have no array inputs.
                unsafe fn at<const FULL: bool>(self, s: S, i: usize, len: usize, out: *const M) -> S::V {
                    $(let $arg = kernels!(@value $kind $role s i len (self.$arg));)*
                    let v = kernels!(@apply $mode $name s i len out $($arg)*);
                    $(let v = kernels!(@finish $kind $role s v $arg);)*
                    v
                }
                #[inline(always)]
                #[allow(unused_variables)] // As above.
                fn skip(self, n: usize) -> Self {
                    Self { $($arg: kernels!(@skip $kind n (self.$arg)),)* lanes: PhantomData }
                }
                #[inline(always)]
                #[allow(unused_variables)] // As above.
                fn prefetch(self, s: S, bytes: usize) {
                    $(kernels!(@prefetch $kind s bytes (self.$arg));)*
                }
            }

            let step = Inputs {
                $($arg: kernels!(@splat $kind s $arg),)*
                lanes: PhantomData,
            };
            kernels!(@run $mode s step n $out stream)
        }
    };
    (@type scalar $V:ty, $M:ty) => { $V };
    (@type array $V:ty, $M:ty) => { *const $M };
    (@splat scalar $s:ident $arg:ident) => { $s.splat($arg) };
    (@splat array $s:ident $arg:ident) => { $arg };
    (@apply write $name:ident $s:ident $i:ident $len:ident $out:ident $($arg:ident)*) => {
        scalar::$name($s, $($arg),*)
    };
    (@apply update $name:ident $s:ident $i:ident $len:ident $out:ident $($arg:ident)*) => {
        scalar::$name($s, $($arg,)* elements::<FULL, S, M>($s, $out.add($i), $len))
    };
    (@finish array $role:ident $s:ident $v:ident $arg:ident) => {
        if_nan_spreads!($role [$s.select($s.unordered($arg, $arg), $s.splat(S::T::CANONICAL_NAN), $v)] [$v])
    };
    // Callers handle a NaN that is one number.
    (@finish scalar $role:ident $s:ident $v:ident $arg:ident) => { $v };
    (@value scalar divisor $s:ident $i:ident $len:ident $arg:tt) => { divisor::<FULL, S>($s, $arg, $len) };
    (@value scalar $role:ident $s:ident $i:ident $len:ident $arg:tt) => { $arg };
    (@value array divisor $s:ident $i:ident $len:ident $arg:tt) => {
        divisor::<FULL, S>($s, elements::<FULL, S, M>($s, $arg.add($i), $len), $len)
    };
    (@value array $role:ident $s:ident $i:ident $len:ident $arg:tt) => {
        elements::<FULL, S, M>($s, $arg.add($i), $len)
    };
    (@skip scalar $n:ident $arg:tt) => { $arg };
    (@skip array $n:ident $arg:tt) => { $arg.wrapping_add($n) };
    (@prefetch scalar $s:ident $bytes:ident $arg:tt) => {};
    (@prefetch array $s:ident $bytes:ident $arg:tt) => { prefetch_pages($s, $arg, $bytes) };
    (@run write $s:ident $step:ident $n:ident $out:ident $stream:ident) => {
        map($s, $step, $n, $out, $stream)
    };
    (@run update $s:ident $step:ident $n:ident $out:ident $stream:ident) => {{
        // No non-temporal stores: `out` has just been read, so its lines are in a cache.
        let _ = $stream;
        update($s, $step, $n, $out)
    }};
}
for_each_elementwise!(kernels! {} [name arguments roles output mode]);
pub(super) use kernels;
