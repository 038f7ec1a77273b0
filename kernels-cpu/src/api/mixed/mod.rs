//! Products of integers: `matmul`.

pub(crate) mod run;
mod types;

pub(crate) use types::{Operands, Output, ProductTypes};

use crate::api::gemm::Bias;
use crate::args::Region;
use crate::element::Dtype;
use crate::error::{Error, Result};
use crate::exec::Exec;
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
///
/// The trait is sealed: kernels exist for these types only.
pub trait Multiply<B, C>: sealed::Sealed<B, C> + Copy {}

macro_rules! multiply {
    ($($A:ty, $B:ty, $C:ty: $operands:ident $output:ident;)*) => {$(
        impl sealed::Sealed<$B, $C> for $A {
            const TYPES: ProductTypes = ProductTypes {
                operands: Operands::$operands,
                output: Output::$output,
            };
        }
        impl Multiply<$B, $C> for $A {}
    )*};
}

multiply! {
    i8, i8, i32: I8I8 Sum;
    i8, i8, f32: I8I8 F32;
    u8, i8, i32: U8I8 Sum;
    u8, i8, f32: U8I8 F32;
    i32, i32, i32: I32 Sum;
    i64, i64, i64: I64 Sum;
}

/// What [`matmul`] does with the sums. `MatmulOptions::default()` stores them.
///
/// Sums that are stored as integers take `adds` only. A sum s that is stored as `f32` becomes `float(s)`, times the factor
/// of its row, times the factor of its column, plus the bias, clamped: each step rounded once.
#[derive(Clone, Copy, Debug, Default)]
pub struct MatmulOptions<'a> {
    /// Whether to add to C, instead of setting it. Of integers only.
    pub adds: bool,
    /// A factor for each row.
    pub row_scale: Option<VecRef<'a, f32>>,
    /// A factor for each column.
    pub column_scale: Option<VecRef<'a, f32>>,
    /// What is added to each row, or to each column.
    pub bias: Bias<'a, f32>,
    /// The bounds lo and hi, with the meaning of [`clamp`](crate::clamp()). `None`: no clamp.
    pub clamp: Option<(f32, f32)>,
}

/// The matrix product C = A B of integers, for any strides: of bytes summed in `i32`, of `i32`, and of `i64`. Sums are
/// exact modulo 2^bits.
///
/// A is m by k, B is k by n, C is m by n. C may be `f32` for bytes: with factors for rows and columns, this is a linear
/// layer with quantised weights.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless the shapes match; [`Error::Unsupported`] for factors, a bias or a clamp where C holds
/// integers, and for `adds` where it does not; [`Error::Overlap`] when two elements of C have one address;
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
    mut c: MatMut<'_, C>,
    options: &MatmulOptions<'_>,
) -> Result<()> {
    let types = A::TYPES;
    let (m, n, k) = (c.rows(), c.cols(), a.cols());
    if a.rows() != m {
        return Err(Error::ShapeMismatch { arg: "a" });
    }
    if b.rows() != k || b.cols() != n {
        return Err(Error::ShapeMismatch { arg: "b" });
    }
    let finish = options.checked(types, (m, n))?;
    let c = c.matrix();
    let dims = [(m, c.rs as isize), (n, c.cs as isize)];
    Region::new(c.ptr.cast_const(), &dims, "c")?.check_distinct()?;
    let p = MixedGemm {
        m,
        n,
        k,
        a: in_bytes(a.matrix()),
        b: in_bytes(b.matrix()),
        c: {
            let Matrix { ptr, rs, cs, bs } = in_bytes(c.cast_const());
            Matrix::batched(ptr.cast_mut(), rs, cs, bs)
        },
        is_plain: types.output == Output::Sum,
        finish,
    };
    // SAFETY: the views have as many elements as they say, and C is borrowed alone.
    unsafe { run::batch(exec, types, p, 1) }
}

/// Returns the matrix with strides in bytes. Those of views cannot overflow where they mean something.
fn in_bytes<T>(matrix: Matrix<*const T, i64>) -> Matrix<*const u8> {
    let bytes = |stride: i64| (stride as isize).wrapping_mul(size_of::<T>() as isize);
    Matrix::new(matrix.ptr.cast(), bytes(matrix.rs), bytes(matrix.cs))
}

impl MatmulOptions<'_> {
    /// Checks the options of a product of these types and size.
    fn checked(&self, types: ProductTypes, (m, n): (usize, usize)) -> Result<Finish> {
        let has_floats = self.row_scale.is_some()
            || self.column_scale.is_some()
            || self.clamp.is_some()
            || !matches!(self.bias, Bias::None);
        if types.output == Output::Sum {
            if has_floats {
                return Err(Error::Unsupported { arg: "options" });
            }
        } else if self.adds {
            return Err(Error::Unsupported { arg: "adds" });
        }
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
            alpha: 1.0,
            beta: if self.adds { 1.0 } else { 0.0 },
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
