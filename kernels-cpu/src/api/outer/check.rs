//! The checks of the arguments of `outer` and `ger`, for both backends.

use crate::api::fast_path::{LIMIT, SMALL, end, is_valid_address};
use crate::args::{Region, size, stride};
use crate::dispatch::Compute;
use crate::element::{Element, Storage};
use crate::error::Result;
use crate::exec::{Exec, Shared, share};
use crate::matrix::Matrix;

/// The arguments of an outer product, unchecked. Its output has the type `O`.
#[derive(Clone, Copy)]
pub struct Arguments<T: Storage, O = T> {
    /// Elements of x, and rows of the output.
    pub m: i64,
    /// Elements of y, and columns of the output.
    pub n: i64,
    /// The factor of x; 1 in `outer`.
    pub alpha: Compute<T>,
    /// x and its stride.
    pub x: (*const T, i64),
    /// y and its stride.
    pub y: (*const T, i64),
    /// The output.
    pub out: Matrix<*mut O, i64>,
    /// The names of the output, of its row stride and of its column stride.
    names: [&'static str; 3],
}

impl<T: Storage, O> Arguments<T, O> {
    /// Returns the arguments of `outer`.
    #[inline(always)]
    pub fn outer(
        (m, n): (i64, i64),
        x: (*const T, i64),
        y: (*const T, i64),
        out: Matrix<*mut O, i64>,
    ) -> Self {
        Self {
            m,
            n,
            alpha: Compute::<T>::ONE,
            x,
            y,
            out,
            names: ["out", "out_rs", "out_cs"],
        }
    }

    /// Returns the arguments with elements of the type of arithmetic, which are `T` and `O` under
    /// other names.
    #[inline(always)]
    pub(super) fn cast(&self) -> Arguments<Compute<T>> {
        let Matrix { ptr, rs, cs, bs } = self.out;
        Arguments {
            m: self.m,
            n: self.n,
            alpha: self.alpha,
            x: (self.x.0.cast(), self.x.1),
            y: (self.y.0.cast(), self.y.1),
            out: Matrix::batched(ptr.cast(), rs, cs, bs),
            names: self.names,
        }
    }
}

impl<T: Storage> Arguments<T> {
    /// Returns the arguments of `ger`.
    #[inline(always)]
    pub fn ger(
        sizes: (i64, i64),
        alpha: Compute<T>,
        x: (*const T, i64),
        y: (*const T, i64),
        a: Matrix<*mut T, i64>,
    ) -> Self {
        Self {
            alpha,
            names: ["a", "a_rs", "a_cs"],
            ..Self::outer(sizes, x, y, a)
        }
    }
}

/// A checked, strided vector of an outer product.
#[derive(Clone, Copy)]
pub struct Factor<T: Storage> {
    p: Shared<T>,
    /// The stride from one element to the next.
    pub inc: isize,
    /// The factor that its elements are multiplied by first: alpha or 1.
    pub alpha: Compute<T>,
}

impl<T: Storage> Factor<T> {
    /// Returns the address of element i.
    pub fn at(&self, i: usize) -> *const T {
        self.p.get().wrapping_offset(i as isize * self.inc)
    }
}

/// A checked output of m rows and n columns.
#[derive(Clone, Copy)]
pub struct OuterOutput<T> {
    /// Rows.
    pub m: usize,
    /// Columns.
    pub n: usize,
    matrix: Matrix<Shared<T>>,
}

impl<T> OuterOutput<T> {
    /// Returns where it lies.
    pub fn matrix(&self) -> Matrix<*mut T> {
        Matrix::new(self.matrix.ptr.get(), self.matrix.rs, self.matrix.cs)
    }

    /// Returns the address of element (i, j).
    pub fn at(&self, i: usize, j: usize) -> *mut T {
        self.matrix.at(i, j)
    }

    /// Returns whether to exchange rows and columns, so that rows are contiguous, and if columns are contiguous too,
    /// the longer of the two. A product of two numbers is commutative, so the bits are the same.
    fn is_better_transposed(&self) -> bool {
        let along_rows = self.matrix.cs == 1 || self.n == 1;
        let along_columns = self.matrix.rs == 1 || self.m == 1;
        along_columns && (!along_rows || self.m > self.n)
    }

    /// Returns whether the elements of each row are contiguous.
    pub(super) fn has_rows(&self) -> bool {
        self.matrix.cs == 1 || self.n == 1
    }

    /// Returns the transpose.
    pub fn transposed(self) -> Self {
        Self {
            m: self.n,
            n: self.m,
            matrix: self.matrix.transposed(),
        }
    }

    /// Splits the output into blocks and runs `block(first row, rows, first column, columns)` on each. The output is
    /// split by rows, or by columns if there are fewer rows than threads.
    pub(super) fn split(&self, exec: &Exec<'_>, block: impl Fn(usize, usize, usize, usize) + Sync) {
        /// Columns are split at multiples of this.
        const GRAIN: usize = 64;
        let bytes = self.m.saturating_mul(self.n).saturating_mul(size_of::<T>());
        let by_rows = self.m >= exec.threads();
        let (grain, extent) = if by_rows {
            (1, self.m)
        } else {
            (GRAIN, self.n)
        };
        let tasks = exec.tasks(bytes, extent.div_ceil(grain));
        let each = share(extent.div_ceil(grain), tasks) * grain;
        exec.run(tasks, &|task| {
            let from = (task * each).min(extent);
            let len = each.min(extent - from);
            if by_rows {
                block(from, len, 0, self.n)
            } else {
                block(0, self.m, from, len)
            }
        });
    }
}

/// Returns the sizes if a few comparisons show that the arguments are valid: contiguous vectors, a small output with
/// contiguous rows of at least 2 elements, no overlap.
#[inline(always)]
pub(super) fn check_quickly<T: Storage>(args: &Arguments<T>) -> Option<(usize, usize)> {
    let Arguments {
        m, n, x, y, out, ..
    } = *args;
    let sized = (m > 0) & (n > 1) & (m < LIMIT) & (out.rs >= n) & (out.rs < LIMIT);
    let contiguous = (x.1 == 1) & (y.1 == 1) & (out.cs == 1);
    let valid = is_valid_address(x.0) & is_valid_address(y.0) & is_valid_address(out.ptr);
    if !(sized & contiguous & valid && m * n <= (SMALL / size_of::<T>()) as i64) {
        return None;
    }
    let out_end = end(out.ptr, (m, out.rs), (n, 1))?;
    let apart = |p: *const T, len: i64| {
        // No overflow: `is_valid_address` holds, and the array is small.
        (p.addr() + len as usize * size_of::<T>() <= out.ptr.addr()) | (out_end <= p.addr())
    };
    (apart(x.0, m) & apart(y.0, n)).then_some((m as usize, n as usize))
}

/// Checks the arguments of either operation. Returns them in the faster orientation: the factor of the rows, the factor
/// of the columns, the output.
///
/// # Errors
/// As [`raw::outer`](crate::raw::outer).
#[inline(always)]
pub fn check<T: Storage, O>(
    args: &Arguments<T, O>,
) -> Result<(Factor<T>, Factor<T>, OuterOutput<O>)> {
    let (m, n) = (size(args.m, "m")?, size(args.n, "n")?);
    let (incx, incy) = (stride(args.x.1, m, "incx")?, stride(args.y.1, n, "incy")?);
    let (out, [name, rs_name, cs_name]) = (args.out, args.names);
    let (rs, cs) = (stride(out.rs, m, rs_name)?, stride(out.cs, n, cs_name)?);
    let region = Region::new(out.ptr, &[(m, rs), (n, cs)], name)?;
    region.check_distinct()?;
    // An empty output does not read x and y: they may be null then.
    let (x_len, y_len) = if m == 0 || n == 0 { (0, 0) } else { (m, n) };
    region.apart_from(&Region::new(args.x.0, &[(x_len, incx)], "x")?)?;
    region.apart_from(&Region::new(args.y.0, &[(y_len, incy)], "y")?)?;
    let output = OuterOutput {
        m,
        n,
        matrix: Matrix::new(Shared::new(out.ptr), rs, cs),
    };
    let x = Factor {
        p: Shared::new(args.x.0),
        inc: incx,
        alpha: args.alpha,
    };
    let y = Factor {
        p: Shared::new(args.y.0),
        inc: incy,
        alpha: Compute::<T>::ONE,
    };
    Ok(if output.is_better_transposed() {
        (y, x, output.transposed())
    } else {
        (x, y, output)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outer_products_that_qualify() {
        let is = |sizes, x: usize, y: usize, out: usize, rs, cs| {
            let at = |address: usize| address as *mut f32;
            let out = Matrix::new(at(out), rs, cs);
            check_quickly(&Arguments::outer(sizes, (at(x), 1), (at(y), 1), out)).is_some()
        };
        assert!(is((4, 4), 4096, 4096, 8192, 4, 1) && is((1, 2), 4096, 8192, 4104, 2, 1));
        // The padding after the last row is not part of the output.
        assert!(is((2, 2), 4096 + 24, 16, 4096, 4, 1) && !is((2, 2), 4096 + 20, 16, 4096, 4, 1));
        assert!(is((2, 2), 4088, 16, 4096, 2, 1) && !is((2, 2), 4092, 16, 4096, 2, 1));
        assert!(is((2, 2), 16, 4088, 4096, 2, 1) && !is((2, 2), 16, 4092, 4096, 2, 1));
        assert!(!is((0, 4), 4096, 4096, 8192, 4, 1) && !is((4, 0), 4096, 4096, 8192, 4, 1));
        assert!(!is((-1, 4), 4096, 4096, 8192, 4, 1) && !is((4, i64::MAX), 4096, 4096, 8192, 4, 1));
        assert!(!is((i64::MAX, 4), 4096, 4096, 8192, 4, 1) && !is((4, 4), 4096, 4096, 8192, 3, 1));
        assert!(!is((4, 4), 4096, 4096, 8192, 4, 2) && !is((4, 4), 4096, 4096, 8192, -4, 1));
        assert!(!is((4, 4), 0, 4096, 8192, 4, 1) && !is((4, 4), 4096, 0, 8192, 4, 1));
        assert!(!is((4, 4), 4096, 4096, 0, 4, 1) && !is((4, 4), 4096, 4097, 8192, 4, 1));
        assert!(!is((4, 4), 4096, 4096, 8192, i64::MAX, 1));
    }
}
