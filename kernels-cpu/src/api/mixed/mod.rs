//! Products of integers and of 16-bit numbers: `matmul`.

pub(crate) mod run;
mod types;

pub(crate) use types::Options;
pub use types::{Half, Integers, Operands, Output, ProductTypes};

use crate::api::gemm::Bias;
use crate::args::Region;
use crate::element::Dtype;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::half::{bf16, f16};
use crate::matrix::Matrix;
use crate::ops::mixed::product::Numbers;
use crate::ops::mixed::{Finish, MixedGemm};
use crate::view::{MatMut, MatRef, VecRef};

mod sealed {
    /// A product of `Self` and `B` with results in `C`.
    pub trait Sealed<B, C> {
        const TYPES: super::ProductTypes;
    }
}

/// The type of A in a [`matmul`] with this B and C.
///
/// | A | B | C |
/// |---|---|---|
/// | `i8`, `u8` | `i8` | `i32`, `f32` |
/// | `i32` | `i32` | `i32` |
/// | `i64` | `i64` | `i64` |
/// | `f16` | `f16` | `f16`, `f32` |
/// | `bf16` | `bf16` | `bf16`, `f32` |
///
/// The trait is sealed: kernels exist for these types only.
pub trait Multiply<B, C>: sealed::Sealed<B, C> + Copy {}

macro_rules! multiply {
    ($($A:ty, $B:ty, $C:ty: $family:ident $operands:ident $output:ident;)*) => {$(
        impl sealed::Sealed<$B, $C> for $A {
            const TYPES: ProductTypes = ProductTypes {
                operands: Operands::$family($family::$operands),
                output: Output::$output,
            };
        }
        impl Multiply<$B, $C> for $A {}
    )*};
}

multiply! {
    i8, i8, i32: Integers I8I8 Sum;
    i8, i8, f32: Integers I8I8 F32;
    u8, i8, i32: Integers U8I8 Sum;
    u8, i8, f32: Integers U8I8 F32;
    i32, i32, i32: Integers I32 Sum;
    i64, i64, i64: Integers I64 Sum;
    f16, f16, f16: Half F16 F16;
    f16, f16, f32: Half F16 F32;
    bf16, bf16, bf16: Half Bf16 Bf16;
    bf16, bf16, f32: Half Bf16 F32;
}

/// What [`matmul`] does with the sums. `MatmulOptions::default()` stores them.
///
/// Sums that are stored as integers take `beta` only, 0 or 1. A sum s that is stored as a float becomes `float(s)`, times the
/// factor of its row, times the factor of its column, if these are integers; then alpha s, or fma(alpha, s, beta c), plus the
/// bias, clamped: each step is rounded to `f32` once, and the result to the type of C. With k = 0 or alpha = 0 the product is
/// +0, whatever the factors.
#[derive(Clone, Copy, Debug)]
pub struct MatmulOptions<'a> {
    /// The factor of A B; 1 for integers. With 0, A and B are not read.
    pub alpha: f32,
    /// The factor of C. With 0, C is not read.
    pub beta: f32,
    /// A factor for each row; for bytes only.
    pub row_scale: Option<VecRef<'a, f32>>,
    /// A factor for each column; for bytes only.
    pub column_scale: Option<VecRef<'a, f32>>,
    /// What is added to each row, or to each column.
    pub bias: Bias<'a, f32>,
    /// The bounds lo and hi, with the meaning of [`clamp`](crate::clamp()). `None`: no clamp.
    pub clamp: Option<(f32, f32)>,
}

impl Default for MatmulOptions<'_> {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            beta: 0.0,
            row_scale: None,
            column_scale: None,
            bias: Bias::None,
            clamp: None,
        }
    }
}

/// The matrix product C = A B of integers or of 16-bit numbers, for any strides.
///
/// A is m by k, B is k by n, C is m by n. Sums of integers are exact modulo 2^bits; those of bytes are `i32`. C may be `f32`
/// for bytes: with factors for rows and columns, this is a linear layer with quantised weights. 16-bit numbers are
/// multiplied and summed in `f32`, in one order for all shapes: a row of C does not depend on the other rows, and nothing is
/// rounded to 16 bits but the result.
///
/// NaN: a NaN among the elements that are read gives the canonical NaN in each element of C that it contributes to.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless the shapes match; [`Error::InvalidValue`] for options that the types do not have; [`Error::Overlap`] when two elements of C have one address;
/// [`Error::WorkspaceTooSmall`] with a workspace that is smaller than [`matmul_workspace`] says.
///
/// # Example
///
/// ```
/// use diptych::{Exec, MatMut, MatRef, MatmulOptions, VecRef, matmul};
///
/// let (a, b) = ([1_i8, 2, 3, -4], [5_i8, 6, 7, 127]);
/// let (a, b) = (MatRef::new(&a, 2, 2)?, MatRef::new(&b, 2, 2)?);
/// let mut c = [0_i32; 4];
/// matmul(&Exec::new(), a, b, MatMut::new(&mut c, 2, 2)?, &MatmulOptions::default())?;
/// assert_eq!(c, [19, 260, -13, -490]);
///
/// // The same, with a factor for each column.
/// let mut scaled = [0.0_f32; 4];
/// let options = MatmulOptions { column_scale: Some(VecRef::new(&[0.5, 2.0])), ..Default::default() };
/// matmul(&Exec::new(), a, b, MatMut::new(&mut scaled, 2, 2)?, &options)?;
/// assert_eq!(scaled, [9.5, 520.0, -6.5, -980.0]);
/// # Ok::<(), diptych::Error>(())
/// ```
pub fn matmul<A: Multiply<B, C>, B: Copy, C: Copy>(
    exec: &Exec<'_>,
    a: MatRef<'_, A>,
    b: MatRef<'_, B>,
    c: MatMut<'_, C>,
    options: &MatmulOptions<'_>,
) -> Result<()> {
    let p = prepare::<A, B, C>(a, (b.shape(), in_bytes(b.matrix())), c, options)?;
    // SAFETY: the views have as many elements as they say, and C is borrowed alone.
    unsafe { run::batch(exec, A::TYPES, p, 1) }
}

/// The types of a product, as values.
pub(crate) const fn types_of<A: Multiply<B, C>, B, C>() -> ProductTypes {
    A::TYPES
}

/// Returns a checked product. The matrix B is given by its shape and its elements.
///
/// # Errors
/// As [`matmul`].
pub(crate) fn prepare<A: Multiply<B, C>, B: Copy, C: Copy>(
    a: MatRef<'_, A>,
    (of_b, b): ((usize, usize), Matrix<*const u8>),
    mut c: MatMut<'_, C>,
    options: &MatmulOptions<'_>,
) -> Result<MixedGemm> {
    let types = A::TYPES;
    let (m, n) = (c.rows(), c.cols());
    let k = a.cols();
    if a.rows() != m {
        return Err(Error::ShapeMismatch { arg: "a" });
    }
    if of_b != (k, n) {
        return Err(Error::ShapeMismatch { arg: "b" });
    }
    let finish = options.checked(types, (m, n))?;
    let c = c.matrix();
    let dims = [(m, c.rs as isize), (n, c.cs as isize)];
    Region::new(c.ptr.cast_const(), &dims, "c")?.check_distinct()?;
    Ok(MixedGemm {
        m,
        n,
        // With alpha = 0, nothing is read.
        k: if options.alpha == 0.0 { 0 } else { k },
        a: in_bytes(a.matrix()),
        b,
        packed_b: None,
        c: {
            let Matrix { ptr, rs, cs, bs } = in_bytes(c.cast_const());
            Matrix::batched(ptr.cast_mut(), rs, cs, bs)
        },
        is_plain: types.output == Output::Sum,
        finish,
    })
}

/// Returns the matrix with strides in bytes. Those of views cannot overflow where they mean something.
fn in_bytes<T>(matrix: Matrix<*const T, i64>) -> Matrix<*const u8> {
    let bytes = |stride: i64| (stride as isize).wrapping_mul(size_of::<T>() as isize);
    Matrix::new(matrix.ptr.cast(), bytes(matrix.rs), bytes(matrix.cs))
}

impl MatmulOptions<'_> {
    /// Checks the options of a product of these types and size.
    fn checked(&self, types: ProductTypes, (m, n): (usize, usize)) -> Result<Finish> {
        types.check(&Options {
            alpha: self.alpha.into(),
            beta: self.beta.into(),
            has_bias: !matches!(self.bias, Bias::None),
            has_clamp: self.clamp.is_some(),
            has_row_scale: self.row_scale.is_some(),
            has_column_scale: self.column_scale.is_some(),
        })?;
        let numbers = |of: Option<&VecRef<'_, f32>>, count: usize, arg: &'static str| match of {
            None => Ok(Numbers::NONE),
            Some(of) if of.elements() != count => Err(Error::ShapeMismatch { arg }),
            Some(of) => Ok(Numbers {
                ptr: of.ptr().cast(),
                inc: of.inc() * 4,
                of: Dtype::F32,
            }),
        };
        let (row_bias, column_bias) = match &self.bias {
            Bias::None => (None, None),
            Bias::PerRow(bias) => (Some(bias), None),
            Bias::PerColumn(bias) => (None, Some(bias)),
        };
        Ok(Finish {
            alpha: self.alpha,
            beta: self.beta,
            row_scale: numbers(self.row_scale.as_ref(), m, "row_scale")?,
            column_scale: numbers(self.column_scale.as_ref(), n, "column_scale")?,
            row_bias: numbers(row_bias, m, "bias")?,
            column_bias: numbers(column_bias, n, "bias")?,
            clamp: self.clamp.into(),
            ..Finish::NONE
        })
    }
}

/// Returns the bytes of workspace ([`Exec::with_workspace`]) that [`matmul`] of this shape needs with the level and the
/// threads of `exec`: for an m by k matrix A and a k by n matrix B. Without a workspace it uses the library's own scratch
/// memory.
///
/// # Errors
/// [`Error::LevelUnavailable`], [`Error::SizeOverflow`].
pub fn matmul_workspace<A: Multiply<B, C>, B, C>(
    exec: &Exec<'_>,
    m: usize,
    n: usize,
    k: usize,
) -> Result<usize> {
    run::workspace(exec, A::TYPES, (m, n, k))
}
