//! Products of checked matrices, with batch axes: axes that continue the rows or the columns become part of them, one
//! axis becomes the batch of a call, and the others are loops.

use super::element_type::ElementType;
use super::kind::Type;
use super::list::List;
use super::loops::{Loop, Loops};
use super::operand::Axis;
use crate::api::gemm::check::Batch;
use crate::api::gemm::run;
use crate::dispatch::Kernels;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::exec::{Exec, share};
use crate::level::Level;
use crate::matrix::Matrix;
use crate::ops::gemm::{Epilogue, Gemm, params};
use crate::with_element;

/// The bias of an epilogue: its first element and its axis.
pub(super) type Bias = Option<(*mut u8, Axis)>;

/// Which products have an order of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Orders {
    /// None.
    One,
    /// Those with one column.
    OfColumn,
    /// Those with one row or one column.
    OfVectors,
}

impl Orders {
    /// The orders of products of `f32` and `f64`.
    pub fn of(batch_invariant: bool) -> Self {
        if batch_invariant {
            Self::OfColumn
        } else {
            Self::OfVectors
        }
    }
}

/// c = alpha a b + beta c for each pair of matrices, then the epilogue.
pub struct Product {
    /// The type of elements.
    pub of: Type,
    /// The axis of rows of c and of a.
    pub rows: [Axis; 2],
    /// The axis of columns of c and of b.
    pub columns: [Axis; 2],
    /// Columns of a, rows of b.
    pub k: usize,
    /// The steps along them of a and of b.
    pub inner: [isize; 2],
    /// The loops over the batch axes of c, a and b.
    pub loops: Loops,
    /// The factor of a b.
    pub alpha: f64,
    /// The factor of c.
    pub beta: f64,
    /// What is added to each row.
    pub row_bias: Bias,
    /// What is added to each column.
    pub column_bias: Bias,
    /// The type of the bias.
    pub bias_type: Type,
    /// The factor of each row.
    pub row_scale: Bias,
    /// The factor of each column.
    pub column_scale: Bias,
    /// The bounds of the results.
    pub clamp: Option<(f64, f64)>,
}

impl Product {
    /// Computes the products; there is at least one, and none is empty.
    ///
    /// # Errors
    /// `WorkspaceTooSmall`, `SizeOverflow`.
    ///
    /// # Safety
    /// The matrices must be valid, and c must not overlap the others or itself.
    #[inline]
    pub unsafe fn run(&mut self, exec: &Exec<'_>, element: ElementType) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe { with_element!(element, T => self.typed::<T>(exec)) }
    }

    /// Makes batch axes a part of the rows where b stays the same, or of the columns where a does, unless the products
    /// would get another order.
    #[inline(never)]
    pub(super) fn fold(&mut self, orders: Orders) {
        let has_rows = self.row_bias.is_some() || self.row_scale.is_some();
        let has_columns = self.column_bias.is_some() || self.column_scale.is_some();
        loop {
            let mut rest = List::new();
            let mut has_folded = false;
            for &one in self.loops.loops.iter() {
                let [c, a, b, ..] = one.steps;
                let [rows, columns] = [self.rows[0].count, self.columns[0].count];
                let as_rows = rows > 1 || columns == 1 || orders != Orders::OfVectors;
                let as_columns = match orders {
                    Orders::One => true,
                    Orders::OfColumn => columns > 1,
                    Orders::OfVectors => columns > 1 || rows == 1,
                };
                let folded = if b == 0 && as_rows && !has_rows {
                    joined(self.rows, one.count, [c, a]).map(|rows| self.rows = rows)
                } else if a == 0 && as_columns && !has_columns {
                    joined(self.columns, one.count, [c, b]).map(|columns| self.columns = columns)
                } else {
                    None
                };
                has_folded |= folded.is_some();
                if folded.is_none() {
                    rest.push(one);
                }
            }
            self.loops.loops = rest;
            if !has_folded {
                return;
            }
        }
    }

    /// Returns the first product.
    fn first<T: Element>(&self) -> Gemm<T> {
        let [c, a, b, ..] = self.loops.first;
        // The stride of an axis of one element has no meaning; 1 is what contiguous axes have.
        let stride = |axis: Axis| {
            if axis.count > 1 {
                axis.stride(self.of)
            } else {
                1
            }
        };
        let inner = self.inner.map(|step| {
            let count = self.k;
            stride(Axis { count, step })
        });
        let is_read = self.k > 0 && T::from_f64(self.alpha) != T::ZERO;
        let mut epilogue = Epilogue {
            clamp: (self.clamp)
                .map(|(lo, hi)| (T::from_f64(lo), T::from_f64(hi)))
                .into(),
            ..Epilogue::NONE
        };
        if let Some((p, axis)) = self.row_bias {
            (epilogue.row_bias, epilogue.row_inc) = (p.cast(), axis.stride(self.of));
        }
        if let Some((p, axis)) = self.column_bias {
            (epilogue.column_bias, epilogue.column_inc) = (p.cast(), axis.stride(self.of));
        }
        Gemm {
            m: self.rows[0].count,
            n: self.columns[0].count,
            k: if is_read { self.k } else { 0 },
            alpha: if is_read {
                T::from_f64(self.alpha)
            } else {
                T::ZERO
            },
            a: Matrix::new(a.cast_const().cast(), stride(self.rows[1]), inner[0]),
            b: Matrix::new(b.cast_const().cast(), inner[1], stride(self.columns[1])),
            beta: T::from_f64(self.beta),
            c: Matrix::new(c.cast(), stride(self.rows[0]), stride(self.columns[0])),
            epilogue,
        }
    }

    /// Returns the products as batches, with batch axes folded into rows and columns where that changes no order.
    pub fn batches<T: Element>(&mut self, orders: Orders) -> Batches<'_, T> {
        self.fold(orders);
        // The longest loop is the batch of a call.
        self.loops.loops.sort_by_key(|one| one.count);
        let (batch, outer) = match self.loops.loops.split_last() {
            Some((&batch, outer)) => (batch, outer),
            None => (ONCE, &[][..]),
        };
        Batches {
            first: self.first::<T>(),
            batch,
            of: self.of,
            outer,
        }
    }

    /// [`Product::run`], for the type `T`.
    ///
    /// # Safety
    /// As [`Product::run`].
    unsafe fn typed<T: Element>(&mut self, exec: &Exec<'_>) -> Result<()> {
        let level = exec.level()?;
        // SAFETY: as the caller's.
        unsafe {
            self.batches::<T>(Orders::of(exec.is_batch_invariant()))
                .run(exec, level)
        }
    }
}

/// A batch of one product.
pub(super) const ONCE: Loop = Loop {
    count: 1,
    steps: [0; super::loops::MAX_OPERANDS],
};

/// Returns an axis of two matrices together with a loop of `count` runs around it or inside it, if they lie in memory as
/// one.
fn joined(axes: [Axis; 2], count: usize, steps: [isize; 2]) -> Option<[Axis; 2]> {
    let [x, y] = axes;
    let [dx, dy] = steps;
    let total = x.count.checked_mul(count)?;
    let at = |x: isize, y: isize| [x, y].map(|step| Axis { count: total, step });
    let spans =
        |inner: isize, count: usize, outer: isize| inner.wrapping_mul(count as isize) == outer;
    if x.count == 1 || spans(dx, count, x.step) && spans(dy, count, y.step) {
        Some(at(dx, dy))
    } else if spans(x.step, x.count, dx) && spans(y.step, y.count, dy) {
        Some(at(x.step, y.step))
    } else {
        None
    }
}

/// Makes a loop the batch of a product.
fn batched<T>(p: Gemm<T>, one: &Loop, of: Type) -> Gemm<T> {
    let [c, a, b, ..] = one.steps.map(|step| {
        let axis = Axis { count: 0, step };
        axis.stride(of)
    });
    Gemm {
        a: Matrix { bs: a, ..p.a },
        b: Matrix { bs: b, ..p.b },
        c: Matrix { bs: c, ..p.c },
        ..p
    }
}

/// Products in batches, in loops.
pub struct Batches<'a, T> {
    first: Gemm<T>,
    /// The loop over the products of a batch.
    batch: Loop,
    of: Type,
    outer: &'a [Loop],
}

impl<T: Element> Batches<'_, T> {
    /// Returns the number of batches.
    pub fn count(&self) -> usize {
        self.outer.iter().map(|one| one.count).product()
    }

    /// Returns batch `number`.
    pub fn get(&self, number: usize) -> Batch<T> {
        let mut first = self.first;
        let mut rest = number;
        for one in self.outer.iter().rev() {
            let index = rest.checked_rem(one.count).unwrap_or(0);
            rest = rest.checked_div(one.count).unwrap_or(0);
            first = batched(first, one, self.of).at(index);
        }
        Batch {
            first: batched(first, &self.batch, self.of),
            count: self.batch.count,
        }
    }

    /// Runs all calls.
    ///
    /// # Safety
    /// As [`Product::run`].
    unsafe fn run(&self, exec: &Exec<'_>, level: Level) -> Result<()> {
        /// Multiplications that take about 10 us.
        const UNIT: usize = 1 << 18;
        /// Units of a call that keep all threads busy.
        const LONG: usize = 64;
        let calls = self.count();
        let p = &self.first;
        let each = (p.m.saturating_mul(p.n).saturating_mul(p.k)).saturating_mul(self.batch.count);
        let tasks = if calls == 1 || exec.has_workspace() || each / UNIT >= LONG {
            1
        } else {
            exec.tasks_of(each.saturating_mul(calls) / UNIT, calls)
        };
        if tasks == 1 {
            for number in 0..calls {
                // SAFETY: as the caller's. What one call refuses, the first refuses.
                unsafe { run::batch(exec, Kernels::new(level), self.get(number))? };
            }
            return Ok(());
        }
        params::scratch_bytes::<T>(p.m.max(p.n), p.k)
            .ok_or(Error::SizeOverflow { arg: "m * n * k" })?;
        let share = share(calls, tasks);
        let batch_invariant = exec.is_batch_invariant();
        exec.run(tasks, &|task| {
            let mut own = Exec::new().with_level(level).unwrap_or_default();
            if batch_invariant {
                own = own.batch_invariant();
            }
            for number in task * share..calls.min((task + 1) * share) {
                // SAFETY: as the caller's; each call has its own products. It cannot be refused: the level is there,
                // and the sizes have been tried.
                let _ = unsafe { run::batch(&own, Kernels::new(level), self.get(number)) };
            }
        });
        Ok(())
    }
}
