//! The operations over tensors: those of `diptych::tensor`, and those that it does not have yet, put together here from
//! the functions on vectors and matrices.
//!
//! Where axes merge into rows and columns, or products have two axes, a call is one call of the crate. Where they do not,
//! it takes a loop: reductions then gather the elements of each result, and `mse_grad` and `lsq_grad` their operands, in
//! memory of their own.
//!
//! The functions are called with tensors that have been checked (`functions`): of one type where that is needed, with
//! shapes that fit, axes that exist, and outputs that overlap nothing.

use diptych::raw::RawEpilogue;
use diptych::{BiasKind, Error, Exec, Result, bf16, f16, raw};

pub use diptych::tensor::*;

/// The first element, the shape and the strides of a tensor.
struct At<T> {
    p: *mut T,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// Reads a description.
///
/// # Safety
/// It must be valid.
unsafe fn at<T>(t: &Tensor) -> At<T> {
    let n = t.ndim as usize;
    // SAFETY: as the caller's.
    let shape: Vec<i64> = (0..n).map(|i| unsafe { *t.shape.add(i) }).collect();
    let mut strides = vec![1; n];
    for i in (0..n).rev() {
        if t.strides.is_null() {
            strides[i] = if i + 1 < n {
                strides[i + 1] * shape[i + 1].max(1)
            } else {
                1
            };
        } else {
            // SAFETY: as the caller's.
            strides[i] = unsafe { *t.strides.add(i) };
        }
    }
    At {
        p: t.data.wrapping_byte_add(t.byte_offset as usize).cast(),
        shape,
        strides,
    }
}

/// Calls `body` with each index of a shape.
fn each(shape: &[i64], mut body: impl FnMut(&[i64])) {
    if shape.contains(&0) {
        return;
    }
    let mut index = vec![0; shape.len()];
    loop {
        body(&index);
        let mut i = shape.len();
        loop {
            if i == 0 {
                return;
            }
            i -= 1;
            index[i] += 1;
            if index[i] < shape[i] {
                break;
            }
            index[i] = 0;
        }
    }
}

impl<T: Copy> At<T> {
    /// Returns the address of the element at an index, to whose shape the tensor is broadcast.
    fn element(&self, index: &[i64]) -> *mut T {
        self.p.wrapping_offset(self.offset(index) as isize)
    }

    fn offset(&self, index: &[i64]) -> i64 {
        let skip = index.len() - self.shape.len();
        let terms = self.shape.iter().zip(&self.strides).zip(&index[skip..]);
        terms
            .map(|((n, s), i)| if *n == 1 { 0 } else { s * i })
            .sum()
    }
}

/// Runs code with the Rust type for the type of a tensor, which is one of a list.
macro_rules! of_type {
    ($t:expr, $T:ident => $value:expr, else $other:expr, [$(($code:literal, $bits:literal) $E:ty,)*]) => {
        match ($t.dtype_code, $t.dtype_bits) {
            $(($code, $bits) => {
                type $T = $E;
                $value
            })*
            _ => $other,
        }
    };
}

/// Runs code for the type of a tensor.
macro_rules! typed {
    ($t:expr, $T:ident => $value:expr, else $other:expr) => {
        of_type!($t, $T => $value, else $other, [(2, 32) f32, (2, 64) f64,])
    };
}

/// The refusal of a type.
const TYPE: Result<()> = Err(Error::UnsupportedType { arg: "x" });

/// Returns axes that lie in memory as one: their number of elements and the distance between them.
fn merged(shape: &[i64], strides: &[i64]) -> Option<(i64, i64)> {
    let mut one: Option<(i64, i64)> = None;
    for (&n, &stride) in shape.iter().zip(strides).rev().filter(|(n, _)| **n != 1) {
        one = Some(match one {
            None => (n, stride),
            Some((count, inner)) if stride == count * inner => (count * n, inner),
            Some(_) => return None,
        });
    }
    Some(one.unwrap_or((1, 1)))
}

/// Calls `rows(m, n, x, rs, cs, out, inc)` for all elements at once, or with the elements of each result gathered.
///
/// # Safety
/// The tensors must be valid, of these types, and `rows` be safe to call on their elements.
unsafe fn reduce<T: Copy, R: Copy>(
    x: &Tensor,
    axes: Option<&[i32]>,
    out: &Tensor,
    rows: impl Fn(i64, i64, *const T, i64, i64, *mut R, i64) -> Result<()>,
) -> Result<()> {
    // SAFETY: as the caller's.
    let (x, out) = unsafe { (at::<T>(x), at::<R>(out)) };
    let rank = x.shape.len();
    let axes: Vec<usize> = match axes {
        Some(axes) => axes.iter().map(|a| *a as usize).collect(),
        None => (0..rank).collect(),
    };
    let kept: Vec<usize> = (0..rank).filter(|i| !axes.contains(i)).collect();
    let inner: Vec<usize> = (0..rank).filter(|i| axes.contains(i)).collect();
    let pick = |list: &[usize], values: &[i64]| list.iter().map(|i| values[*i]).collect::<Vec<_>>();
    let (outer_shape, inner_shape) = (pick(&kept, &x.shape), pick(&inner, &x.shape));
    let out_strides = if out.shape.len() == kept.len() {
        out.strides.clone()
    } else {
        pick(&kept, &out.strides)
    };
    if outer_shape.contains(&0) {
        return Ok(());
    }
    if inner_shape.contains(&0) {
        let (m, inc) = (
            outer_shape.iter().product(),
            merged(&outer_shape, &out_strides),
        );
        return rows(m, 0, x.p, 0, 0, out.p, inc.map_or(1, |(_, inc)| inc));
    }
    if let (Some((m, rs)), Some((n, cs)), Some((_, inc))) = (
        merged(&outer_shape, &pick(&kept, &x.strides)),
        merged(&inner_shape, &pick(&inner, &x.strides)),
        merged(&outer_shape, &out_strides),
    ) {
        return rows(m, n, x.p, rs, cs, out.p, inc);
    }
    let mut result = Ok(());
    each(&outer_shape, |outer| {
        let mut values = Vec::new();
        each(&inner_shape, |index| {
            let mut offset = 0;
            for (i, axis) in outer.iter().zip(&kept) {
                offset += i * x.strides[*axis];
            }
            for (i, axis) in index.iter().zip(&inner) {
                offset += i * x.strides[*axis];
            }
            // SAFETY: the index is that of an element.
            values.push(unsafe { *x.p.offset(offset as isize) });
        });
        let place: i64 = outer.iter().zip(&out_strides).map(|(i, s)| i * s).sum();
        let n = values.len() as i64;
        let to = out.p.wrapping_offset(place as isize);
        let done = rows(1, n, values.as_ptr(), n, 1, to, 1);
        if result.is_ok() {
            result = done;
        }
    });
    result
}

/// Calls the function on a vector or that on rows.
macro_rules! one_or_rows {
    ($exec:ident $name:ident $rows:ident $($ddof:ident)?) => {
        |m, n, x, rs, cs, out, inc| {
            if m == 1 {
                raw::$name($exec, n, x, cs, $($ddof,)? out)
            } else {
                raw::$rows($exec, m, n, x, rs, cs, $($ddof,)? out, inc)
            }
        }
    };
}
macro_rules! reductions {
    ($($name:ident $rows:ident $R:ident;)*) => {$(
        /// The reduction over some axes, or over all.
        ///
        /// # Safety
        /// The tensors must be valid, and checked.
        pub unsafe fn $name(exec: &Exec<'_>, x: &Tensor, axes: Option<&[i32]>, out: &Tensor) -> Result<()> {
            // SAFETY: as the caller's.
            unsafe { typed!(x, T => { type E = T; reduce::<E, $R>(x, axes, out, one_or_rows!(exec $name $rows)) }, else TYPE) }
        }
    )*};
}
reductions! {
    prod prod_rows E;
    min min_rows E;
    max max_rows E;
    sumsq sumsq_rows E;
    asum asum_rows E;
    nrm2 nrm2_rows E;
    logsumexp logsumexp_rows E;
    count_nonzero count_nonzero_rows i64;
    argmin argmin_rows i64;
    argmax argmax_rows i64;
}
macro_rules! any_float {
    ($($name:ident $rows:ident;)*) => {$(
        /// The reduction over some axes, or over all.
        ///
        /// # Safety
        /// The tensors must be valid, and checked.
        pub unsafe fn $name(exec: &Exec<'_>, x: &Tensor, axes: Option<&[i32]>, out: &Tensor) -> Result<()> {
            // SAFETY: as the caller's; each address is that of an element.
            unsafe {
                match (x.dtype_code, x.dtype_bits) {
                    (2, 16) => reduce::<f16, f16>(x, axes, out, one_or_rows!(exec $name $rows)),
                    (4, 16) => reduce::<bf16, bf16>(x, axes, out, one_or_rows!(exec $name $rows)),
                    _ => typed!(x, T => reduce::<T, T>(x, axes, out, one_or_rows!(exec $name $rows)), else TYPE),
                }
            }
        }
    )*};
}
any_float! { sum sum_rows; mean mean_rows; }
macro_rules! with_ddof {
    ($($name:ident $rows:ident;)*) => {$(
        /// The reduction over some axes, or over all.
        ///
        /// # Safety
        /// The tensors must be valid, and checked.
        pub unsafe fn $name(exec: &Exec<'_>, x: &Tensor, axes: Option<&[i32]>, ddof: i64, out: &Tensor) -> Result<()> {
            // SAFETY: as the caller's.
            unsafe { typed!(x, T => reduce::<T, T>(x, axes, out, one_or_rows!(exec $name $rows ddof)), else TYPE) }
        }
    )*};
}
with_ddof! { var var_rows; std std_rows; }
