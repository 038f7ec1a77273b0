//! The safe forms of packing and of products with packed matrices.

use core::marker::PhantomData;

use super::layout::{self, ALIGN, Description, HEADER, Layout};
use super::run;
use crate::api::gemm::check::check;
use crate::api::gemm::{Epilogue, arguments};
use crate::api::mixed::{Half, Integers, MatmulOptions, Multiply, Operands, prepare, types_of};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::half::{bf16, f16};
use crate::matrix::Matrix;
use crate::view::{MatMut, MatRef};

mod sealed {
    use super::*;

    pub trait Sealed: Copy {
        /// The code and the bits of the type, as in DLPack.
        const OF: (u8, u8);
        /// The layout of a matrix with `n` columns.
        fn layout(exec: &Exec<'_>, n: usize) -> Result<Layout>;
        /// Packs a matrix.
        ///
        /// # Safety
        /// As [`run::pack_elements`].
        unsafe fn pack(
            exec: &Exec<'_>,
            layout: &Layout,
            b: Matrix<*const Self>,
            size: (usize, usize),
            out: *mut u8,
        ) -> Result<()>;
    }
}

/// A type of elements of packed matrices: `f32`, `f64`, [`struct@f16`], [`bf16`], `i8`, `i32`, `i64`. An `i8` matrix serves
/// products with a matrix of `i8` and of `u8`.
///
/// The trait is sealed: kernels exist for these types only.
pub trait Pack: sealed::Sealed {}

macro_rules! elements {
    ($($T:ident)*) => {$(
        impl Pack for $T {}
        impl sealed::Sealed for $T {
            const OF: (u8, u8) = (2, 8 * size_of::<$T>() as u8);

            #[inline]
            fn layout(exec: &Exec<'_>, n: usize) -> Result<Layout> {
                run::layout_of_elements::<$T>(exec, n)
            }

            #[inline]
            unsafe fn pack(
                exec: &Exec<'_>,
                layout: &Layout,
                b: Matrix<*const Self>,
                size: (usize, usize),
                out: *mut u8,
            ) -> Result<()> {
                // SAFETY: as the caller's.
                unsafe { run::pack_elements(exec, layout, b, size, out) }
            }
        }
    )*};
}
elements!(f32 f64);

macro_rules! mixed {
    ($($T:ident: $code:literal $family:ident $of:ident;)*) => {$(
        impl Pack for $T {}
        impl sealed::Sealed for $T {
            const OF: (u8, u8) = ($code, 8 * size_of::<$T>() as u8);

            #[inline]
            fn layout(exec: &Exec<'_>, n: usize) -> Result<Layout> {
                run::layout_of_mixed(exec, Operands::$family($family::$of), n)
            }

            #[inline]
            unsafe fn pack(
                exec: &Exec<'_>,
                layout: &Layout,
                b: Matrix<*const Self>,
                size: (usize, usize),
                out: *mut u8,
            ) -> Result<()> {
                let bytes = |stride: isize| stride.wrapping_mul(size_of::<Self>() as isize);
                let b = Matrix::new(b.ptr.cast(), bytes(b.rs), bytes(b.cs));
                // SAFETY: as the caller's.
                unsafe { run::pack_mixed(exec, Operands::$family($family::$of), layout, b, size, out) }
            }
        }
    )*};
}
mixed! {
    f16: 2 Half F16;
    bf16: 4 Half Bf16;
    i8: 0 Integers I8I8;
    i32: 0 Integers I32;
    i64: 0 Integers I64;
}

/// A packed matrix: a view of the bytes that [`matmul_pack`] has written.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a, T> {
    bytes: &'a [u8],
    rows: usize,
    cols: usize,
    of: PhantomData<T>,
}

impl<'a, T: Pack> Packed<'a, T> {
    /// Returns a view of a packed matrix, for example of one that was read from a file. Its header is checked; corrupt data
    /// after that gives wrong results, but never an access outside the bytes.
    ///
    /// # Errors
    /// [`Error::Misaligned`] unless the bytes are aligned to 64; [`Error::InvalidValue`] if they are not a packed matrix, or
    /// shorter than its header; [`Error::TypeMismatch`] if its elements have another type; [`Error::PackedLayout`] for another version of the
    /// library.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        const ARG: &str = "bytes";
        if !bytes.as_ptr().addr().is_multiple_of(ALIGN) {
            return Err(Error::Misaligned { arg: ARG });
        }
        if bytes.len() < HEADER {
            return Err(Error::InvalidValue { arg: ARG });
        }
        // SAFETY: aligned, and long enough.
        let header = unsafe { run::header(bytes.as_ptr()) };
        let (of, rows, cols) = layout::read(&header, ARG)?;
        if of != T::OF {
            return Err(Error::TypeMismatch { arg: ARG });
        }
        let of = PhantomData;
        Ok(Self {
            bytes,
            rows,
            cols,
            of,
        })
    }

    /// The number of rows, k.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns, n.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns the layout, which is that of `exec`, and the panels.
    fn checked(&self, exec: &Exec<'_>) -> Result<(Layout, *const u8)> {
        const ARG: &str = "b";
        let layout = T::layout(exec, self.cols)?;
        let description = Description::new(T::OF, (self.rows, self.cols), layout)?;
        // SAFETY: `new` has found the header to be aligned, and long enough.
        let header = unsafe { run::header(self.bytes.as_ptr()) };
        description.check(&header, self.bytes.len(), ARG)?;
        Ok((layout, self.bytes.as_ptr().wrapping_add(HEADER)))
    }
}

/// Returns the bytes of a packed matrix of `k` rows and `n` columns, with the level of `exec`.
///
/// # Errors
/// [`Error::LevelUnavailable`], [`Error::SizeOverflow`].
pub fn matmul_packed_size<T: Pack>(exec: &Exec<'_>, k: usize, n: usize) -> Result<usize> {
    Description::new(T::OF, (k, n), T::layout(exec, n)?).map(|description| description.bytes)
}

/// Packs B for many products: [`gemm_packed`] and [`matmul_packed`].
///
/// B may have any strides. `bytes` is at least as long as [`matmul_packed_size`] says, and aligned to 64. What is written there
/// may be copied, stored and read again: it contains no addresses. Its layout depends on the CPU level and the instructions
/// that products of its type use there; products with another layout refuse it.
///
/// # Errors
/// [`Error::Misaligned`]; [`Error::InvalidValue`] for too few bytes; [`Error::LevelUnavailable`], [`Error::SizeOverflow`].
///
/// # Example
///
/// ```
/// use diptych::{Epilogue, Exec, MatMut, MatRef, gemm_packed, matmul_pack, matmul_packed_size};
///
/// let exec = Exec::new();
/// let weights = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let size = matmul_packed_size::<f32>(&exec, 3, 2)?;
/// let mut memory = vec![0; size + 63];
/// let start = memory.as_ptr().align_offset(64);
/// let packed = matmul_pack(&exec, MatRef::new(&weights, 3, 2)?, &mut memory[start..start + size])?;
///
/// let mut c = [0.0; 2];
/// let x = MatRef::new(&[1.0, 10.0, 100.0], 1, 3)?;
/// gemm_packed(&exec, 1.0, x, packed, 0.0, MatMut::new(&mut c, 1, 2)?, &Epilogue::default())?;
/// assert_eq!(c, [531.0, 642.0]);
/// # Ok::<(), diptych::Error>(())
/// ```
pub fn matmul_pack<'a, T: Pack>(
    exec: &Exec<'_>,
    b: MatRef<'_, T>,
    bytes: &'a mut [u8],
) -> Result<Packed<'a, T>> {
    const ARG: &str = "bytes";
    let (rows, cols) = b.shape();
    exec.with_level_fixed(|exec| {
        let layout = T::layout(exec, cols)?;
        let description = Description::new(T::OF, (rows, cols), layout)?;
        if !bytes.as_ptr().addr().is_multiple_of(ALIGN) {
            return Err(Error::Misaligned { arg: ARG });
        }
        if bytes.len() < description.bytes {
            return Err(Error::InvalidValue { arg: ARG });
        }
        let b = b.matrix();
        let b = Matrix::new(b.ptr, b.rs as isize, b.cs as isize);
        // SAFETY: aligned, and long enough for this layout; the view has as many elements as it says.
        unsafe {
            let panels = run::begin(&description, bytes.as_mut_ptr());
            if rows > 0 && cols > 0 {
                T::pack(exec, &layout, b, (rows, cols), panels)?;
            }
        }
        Ok(())
    })?;
    Ok(Packed {
        bytes,
        rows,
        cols,
        of: PhantomData,
    })
}

/// [`gemm_fused`](crate::gemm_fused) with a packed B: the same bits.
///
/// # Errors
/// As [`gemm_fused`](crate::gemm_fused); also [`Error::PackedLayout`] when B was packed for another level, and
/// [`Error::InvalidValue`] when it is truncated. A workspace that [`gemm_workspace`](crate::gemm_workspace) finds
/// large enough suffices.
pub fn gemm_packed<T: Element + Pack>(
    exec: &Exec<'_>,
    alpha: T,
    a: MatRef<'_, T>,
    b: Packed<'_, T>,
    beta: T,
    c: MatMut<'_, T>,
    epilogue: &Epilogue<'_, T>,
) -> Result<()> {
    exec.with_level_fixed(|exec| {
        let (layout, panels) = b.checked(exec)?;
        // As if the panels were the rows of B: they have at least as many bytes.
        let matrix = Matrix::new(panels.cast(), b.cols as i64, 1);
        let b = ((b.rows, b.cols), matrix);
        arguments(alpha, a, b, beta, c, epilogue, |args| match check(args)? {
            // SAFETY: the views have as many elements as they say, and the panels the layout of `exec`.
            Some(batch) => unsafe { run::elements(exec, &layout, batch) },
            None => Ok(()),
        })
    })
}

/// [`matmul`](crate::matmul()) with a packed B: the same bits.
///
/// # Errors
/// As [`matmul`](crate::matmul()); also [`Error::PackedLayout`] when B was packed for another level or other instructions, and
/// [`Error::InvalidValue`] when it is truncated. A workspace that
/// [`matmul_workspace`](crate::matmul_workspace) finds large enough suffices; for up to four rows one for five is faster.
pub fn matmul_packed<A: Multiply<B, C>, B: Pack, C: Copy>(
    exec: &Exec<'_>,
    a: MatRef<'_, A>,
    b: Packed<'_, B>,
    c: MatMut<'_, C>,
    options: &MatmulOptions<'_>,
) -> Result<()> {
    exec.with_level_fixed(|exec| {
        let (layout, panels) = b.checked(exec)?;
        let matrix = Matrix::new(panels, 0, 0);
        let p = prepare::<A, B, C>(a, ((b.rows, b.cols), matrix), c, options)?;
        // SAFETY: the views have as many elements as they say, C is borrowed alone, and the panels have the layout of `exec`.
        unsafe { run::mixed(exec, &layout, types_of::<A, B, C>(), p, 1) }
    })
}
