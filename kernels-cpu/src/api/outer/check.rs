//! The checks of the arguments of `outer` and `ger`, for both backends.

use crate::args::{Region, size, stride};
use crate::element::Element;
use crate::error::Result;
use crate::exec::{Exec, Shared, share};

/// A checked, strided vector of an outer product.
#[derive(Clone, Copy)]
pub struct Factor<T> {
    p: Shared<T>,
    /// The stride from one element to the next.
    pub inc: isize,
    /// The factor that its elements are multiplied by first: alpha or 1.
    pub alpha: T,
}

impl<T> Factor<T> {
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
    p: Shared<T>,
    /// The stride from one row to the next.
    pub rs: isize,
    /// The stride from one column to the next.
    pub cs: isize,
}

impl<T> OuterOutput<T> {
    /// Returns the address of element (i, j).
    pub fn at(&self, i: usize, j: usize) -> *mut T {
        self.p
            .get()
            .wrapping_offset(i as isize * self.rs + j as isize * self.cs)
    }

    /// Returns whether to exchange rows and columns, so that rows are contiguous, and if columns are contiguous too,
    /// the longer of the two. A product of two numbers is commutative, so the bits are the same.
    fn is_better_transposed(&self) -> bool {
        let along_rows = self.cs == 1 || self.n == 1;
        let along_columns = self.rs == 1 || self.m == 1;
        along_columns && (!along_rows || self.m > self.n)
    }

    /// Returns the transpose.
    pub fn transposed(self) -> Self {
        Self {
            m: self.n,
            n: self.m,
            p: self.p,
            rs: self.cs,
            cs: self.rs,
        }
    }

    /// Splits the output into blocks and runs `block(first row, rows, first column, columns)` on each. The output is
    /// split by rows, or by columns if there are fewer rows than threads.
    pub(super) fn split(self, exec: &Exec<'_>, block: impl Fn(usize, usize, usize, usize) + Sync) {
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

/// Checks the arguments of either operation. Returns them in the faster orientation: the factor of the rows, the factor
/// of the columns, the output.
///
/// # Errors
/// As [`raw::outer`](crate::raw::outer).
#[inline(always)]
pub fn check<T: Element>(
    m: i64,
    n: i64,
    alpha: T,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    out: (*mut T, &'static str),
    (rs, rs_name): (i64, &'static str),
    (cs, cs_name): (i64, &'static str),
) -> Result<(Factor<T>, Factor<T>, OuterOutput<T>)> {
    let (m, n) = (size(m, "m")?, size(n, "n")?);
    let (incx, incy) = (stride(incx, m, "incx")?, stride(incy, n, "incy")?);
    let (rs, cs) = (stride(rs, m, rs_name)?, stride(cs, n, cs_name)?);
    let region = Region::new(out.0, &[(m, rs), (n, cs)], out.1)?;
    region.check_distinct()?;
    // An empty output does not read x and y: they may be null then.
    let (x_len, y_len) = if m == 0 || n == 0 { (0, 0) } else { (m, n) };
    region.apart_from(&Region::new(x, &[(x_len, incx)], "x")?)?;
    region.apart_from(&Region::new(y, &[(y_len, incy)], "y")?)?;
    let output = OuterOutput {
        m,
        n,
        p: Shared::new(out.0),
        rs,
        cs,
    };
    let x = Factor {
        p: Shared::new(x),
        inc: incx,
        alpha,
    };
    let y = Factor {
        p: Shared::new(y),
        inc: incy,
        alpha: T::ONE,
    };
    Ok(if output.is_better_transposed() {
        (y, x, output.transposed())
    } else {
        (x, y, output)
    })
}
