//! The reductions.

use diptych::{Exec, for_each_reduction, table};

use crate::raw::{self, On, Result};
use crate::real::Dtype;
use crate::{model, oracle};

type One<T, O> = unsafe fn(&dyn On, i64, *const T, i64, i64, *mut O) -> Result<()>;
type Rows<T, O> = unsafe fn(&dyn On, i64, i64, *const T, i64, i64, i64, *mut O, i64) -> Result<()>;

/// The functions of a reduction, of a vector and of rows. All take the degrees of freedom before the output.
enum ReductionCall<T> {
    Value(One<T, T>, Rows<T, T>),
    Index(One<T, i64>, Rows<T, i64>),
}

/// Computes the result, which may be an index, from the elements and the degrees of freedom.
type Model<T> = fn(&[T], usize) -> Option<T>;
/// Like [`Model`], in wider arithmetic: nearly exact, with its condition.
type Oracle<T> = fn(&[T], usize) -> oracle::Total;

/// One reduction; one with degrees of freedom appears once for 0 and once for 1.
pub struct Reduction<T> {
    /// Its name as in `diptych::raw`, without `_rows`.
    pub name: &'static str,
    /// Its row of the table.
    pub row: &'static table::Reduction,
    /// Degrees of freedom.
    pub ddof: usize,
    call: ReductionCall<T>,
    /// `None` if the model does not define the bits: exponentials and logarithms are the library's own.
    model: Option<Model<T>>,
    oracle: Option<Oracle<T>>,
}

impl<T: Dtype> Reduction<T> {
    /// Calls the raw function on one vector. An index is converted to `T`, which is exact for the
    /// lengths that the suites use.
    ///
    /// # Safety
    /// As for the raw function.
    pub unsafe fn call(
        &self,
        exec: &dyn On,
        n: i64,
        x: *const T,
        incx: i64,
        out: *mut T,
    ) -> Result<()> {
        let mut index = Box::new(-1i64);
        let place = if out.is_null() {
            core::ptr::null_mut()
        } else {
            &raw mut *index
        };
        // SAFETY: the caller keeps the contract of the raw function; `index` is one element.
        unsafe {
            self.call_native(exec, n, x, incx, out, place)?;
            if self.gives_index() {
                *out = T::of_count(usize::try_from(*index).expect("an index is written"));
            }
        }
        Ok(())
    }

    /// Like [`Reduction::call`], but writes an index to `index`.
    ///
    /// # Safety
    /// As for the raw function.
    pub unsafe fn call_native(
        &self,
        exec: &dyn On,
        n: i64,
        x: *const T,
        incx: i64,
        out: *mut T,
        index: *mut i64,
    ) -> Result<()> {
        let ddof = self.ddof as i64;
        // SAFETY: the caller keeps the contract of the raw function.
        unsafe {
            match self.call {
                ReductionCall::Value(f, _) => f(exec, n, x, incx, ddof, out),
                ReductionCall::Index(f, _) => f(exec, n, x, incx, ddof, index),
            }
        }
    }

    /// Calls the `_rows` function.
    ///
    /// # Safety
    /// As for the raw function.
    #[allow(clippy::too_many_arguments)]
    pub unsafe fn call_rows(
        &self,
        exec: &dyn On,
        m: i64,
        n: i64,
        x: *const T,
        rs: i64,
        cs: i64,
        out: *mut T,
        inc_out: i64,
    ) -> Result<()> {
        // SAFETY: the caller keeps the contract of the raw function; `indices` has m elements, and
        // the caller's output has m elements at inc_out.
        unsafe {
            match self.call {
                ReductionCall::Value(_, f) => {
                    f(exec, m, n, x, rs, cs, self.ddof as i64, out, inc_out)
                }
                ReductionCall::Index(_, f) => {
                    let mut indices = vec![-1; usize::try_from(m).unwrap_or(0)];
                    let p = indices.as_mut_ptr();
                    f(exec, m, n, x, rs, cs, self.ddof as i64, p, 1)?;
                    for (i, &index) in indices.iter().enumerate() {
                        let index = usize::try_from(index).expect("an index is written");
                        *out.offset(i as isize * inc_out as isize) = T::of_count(index);
                    }
                    Ok(())
                }
            }
        }
    }

    /// Like [`Reduction::call_rows`] with contiguous outputs, but writes indices to `indices`.
    ///
    /// # Safety
    /// As for the raw function.
    #[allow(clippy::too_many_arguments)]
    pub unsafe fn call_rows_native(
        &self,
        exec: &dyn On,
        m: i64,
        n: i64,
        x: *const T,
        rs: i64,
        cs: i64,
        out: *mut T,
        indices: *mut i64,
    ) -> Result<()> {
        let ddof = self.ddof as i64;
        // SAFETY: the caller keeps the contract of the raw function.
        unsafe {
            match self.call {
                ReductionCall::Value(_, f) => f(exec, m, n, x, rs, cs, ddof, out, 1),
                ReductionCall::Index(_, f) => f(exec, m, n, x, rs, cs, ddof, indices, 1),
            }
        }
    }

    /// Sets the degrees of freedom if the reduction has any.
    #[must_use]
    pub fn with_ddof(mut self, ddof: usize) -> Reduction<T> {
        self.ddof = if self.row.ddof { ddof } else { 0 };
        self
    }

    /// Returns whether the reduction is defined for `n` elements.
    pub fn takes(&self, n: usize) -> bool {
        !self.row.needs_elements || n > self.ddof
    }

    /// Returns the bits that every level must give; `None` if the call must fail. Without a model, it is the
    /// result of the portable level on one thread.
    pub fn expected(&self, x: &[T]) -> Option<T> {
        if !self.takes(x.len()) {
            return None;
        }
        match self.model {
            Some(model) => model(x, self.ddof),
            None if x.is_empty() => self.exact(x).map(|total| T::of(total.value.nearest())),
            None => {
                let exec = Exec::new()
                    .with_level(diptych::Level::Portable)
                    .expect("portable is everywhere");
                let mut out = T::zero();
                // SAFETY: x has x.len() elements and out is one element.
                unsafe { self.call(&exec, x.len() as i64, x.as_ptr(), 1, &mut out) }
                    .expect("valid arguments");
                Some(out)
            }
        }
    }

    /// Returns the oracle's result; `None` for indices and counts, which only the model checks.
    pub fn exact(&self, x: &[T]) -> Option<oracle::Total> {
        self.oracle.map(|oracle| oracle(x, self.ddof))
    }

    /// Returns whether the result is an index.
    pub fn gives_index(&self) -> bool {
        self.row.gives_index
    }
}

/// A result of a model function that can be converted to an element.
trait Modelled<T> {
    fn element(self) -> Option<T>;
}

impl<T: Dtype> Modelled<T> for T {
    fn element(self) -> Option<T> {
        Some(self)
    }
}

impl<T: Dtype> Modelled<T> for Option<T> {
    fn element(self) -> Option<T> {
        self
    }
}

impl<T: Dtype> Modelled<T> for usize {
    fn element(self) -> Option<T> {
        Some(T::of_count(self))
    }
}

impl<T: Dtype> Modelled<T> for Option<usize> {
    fn element(self) -> Option<T> {
        self.map(T::of_count)
    }
}

macro_rules! reductions {
    ({} $($name:ident $rows:ident [$($ddof:ident)?] $out:ident $recipe:ident)*) => {
        /// Returns all reductions, in the order of the table.
        pub fn reductions<T: Dtype>() -> Vec<Reduction<T>> {
            type Functions<T> = (ReductionCall<T>, Option<Model<T>>, Option<Oracle<T>>);
            let functions: [fn() -> Functions<T>; table::REDUCTIONS.len()] = [$(|| (
                reductions!(@$out $name $rows $($ddof)?),
                reductions!(@model $recipe $name $($ddof)?),
                reductions!(@oracle $out $name $($ddof)?),
            )),*];
            let rows = table::REDUCTIONS.iter().zip(functions);
            rows.flat_map(|(row, functions)| {
                let all = if row.ddof { 0..2 } else { 0..1 };
                all.map(move |ddof| {
                    let (call, model, oracle) = functions();
                    Reduction { name: row.name, row, ddof, call, model, oracle }
                })
            })
            .collect()
        }
    };
    (@element $name:ident $rows:ident $($ddof:ident)?) => {
        ReductionCall::Value(reductions!(@one $name $($ddof)?), reductions!(@rows $rows $($ddof)?))
    };
    (@count $($row:tt)*) => { reductions!(@index $($row)*) };
    (@index $name:ident $rows:ident $($ddof:ident)?) => {
        ReductionCall::Index(reductions!(@one $name $($ddof)?), reductions!(@rows $rows $($ddof)?))
    };
    (@one $name:ident $($ddof:ident)?) => {
        |on, n, x, inc, degrees, out| {
            let _ = degrees;
            // SAFETY: the caller keeps the contract of the raw function.
            unsafe { raw::$name(on, n, x, inc, $(reductions!(@degrees $ddof degrees),)? out) }
        }
    };
    (@rows $rows:ident $($ddof:ident)?) => {
        |on, m, n, x, rs, cs, degrees, out, inc| {
            let _ = degrees;
            // SAFETY: the caller keeps the contract of the raw function.
            unsafe { raw::$rows(on, m, n, x, rs, cs, $(reductions!(@degrees $ddof degrees),)? out, inc) }
        }
    };
    (@degrees $ddof:ident $degrees:ident) => { $degrees };
    (@model LogSumExp $name:ident) => { None };
    (@model $recipe:ident $name:ident $($ddof:ident)?) => {
        Some(|x, degrees| {
            let _ = degrees;
            model::$name(x $(, reductions!(@degrees $ddof degrees))?).element()
        })
    };
    (@oracle count $name:ident $($ddof:ident)?) => { None };
    (@oracle index $name:ident $($ddof:ident)?) => { None };
    (@oracle element $name:ident $($ddof:ident)?) => {
        Some(|x, degrees| {
            let _ = degrees;
            oracle::$name(x $(, reductions!(@degrees $ddof degrees))?)
        })
    };
}
for_each_reduction!(reductions! {} [name rows ddof result recipe]);
