//! The checks of outer and ger, for both panels.

use crate::args::{Region, size, stride};
use crate::element::Element;
use crate::error::Result;
use crate::exec::{Exec, Shared, share};

/// A strided vector of an outer product, that has been checked.
#[derive(Clone, Copy)]
pub struct Factor<T> {
    p: Shared<T>,
    /// From an element to the next.
    pub inc: isize,
    /// What its elements are multiplied by first: alpha or 1.
    pub alpha: T,
}

impl<T> Factor<T> {
    /// Element i.
    pub fn at(&self, i: usize) -> *const T {
        self.p.get().wrapping_offset(i as isize * self.inc)
    }
}

/// m rows and n columns of an output, that has been checked.
#[derive(Clone, Copy)]
pub struct Output<T> {
    /// Rows.
    pub m: usize,
    /// Columns.
    pub n: usize,
    p: Shared<T>,
    /// From a row to the next.
    pub rs: isize,
    /// From a column to the next.
    pub cs: isize,
}

impl<T> Output<T> {
    /// Element (i, j).
    pub fn at(&self, i: usize, j: usize) -> *mut T {
        self.p
            .get()
            .wrapping_offset(i as isize * self.rs + j as isize * self.cs)
    }

    /// Whether to swap rows and columns: so that the longer contiguous direction is along rows.
    /// Products commute, so the bits are the same.
    fn is_better_transposed(&self) -> bool {
        let along_rows = self.cs == 1 || self.n == 1;
        let along_columns = self.rs == 1 || self.m == 1;
        along_columns && (!along_rows || self.m > self.n)
    }

    /// Rows as columns.
    pub fn transposed(self) -> Self {
        Self {
            m: self.n,
            n: self.m,
            p: self.p,
            rs: self.cs,
            cs: self.rs,
        }
    }

    /// Runs `block(rows from, rows, columns from, columns)` over the output, cut along its rows or,
    /// where those are few, along its columns.
    pub(super) fn split(self, exec: &Exec<'_>, block: impl Fn(usize, usize, usize, usize) + Sync) {
        /// Columns are cut at multiples of this.
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

/// The arguments of both operations, checked, in the orientation that is faster: the factor of rows,
/// that of columns, the output.
///
/// # Errors
/// As the operations.
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
) -> Result<(Factor<T>, Factor<T>, Output<T>)> {
    let (m, n) = (size(m, "m")?, size(n, "n")?);
    let (incx, incy) = (stride(incx, m, "incx")?, stride(incy, n, "incy")?);
    let (rs, cs) = (stride(rs, m, rs_name)?, stride(cs, n, cs_name)?);
    let region = Region::new(out.0, &[(m, rs), (n, cs)], out.1)?;
    region.check_distinct()?;
    // Without elements nothing is read, so x and y may be null.
    let (x_len, y_len) = if m == 0 || n == 0 { (0, 0) } else { (m, n) };
    region.apart_from(&Region::new(x, &[(x_len, incx)], "x")?)?;
    region.apart_from(&Region::new(y, &[(y_len, incy)], "y")?)?;
    let output = Output {
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
