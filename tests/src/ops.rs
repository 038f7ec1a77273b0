//! The elementwise operations and the reductions as tables, so that each suite is one loop over
//! all of them: how to call each, and what the model says.

use diptych::Exec;

use crate::model;
use crate::raw::{self, On, Result};
use crate::real::Dtype;

/// The scalars that elementwise operations take.
#[derive(Clone, Copy, Debug)]
pub struct Scalars<T> {
    /// Lower bound of clamp.
    pub lo: T,
    /// Upper bound of clamp.
    pub hi: T,
    /// Factor of scale and axpy, value of fill.
    pub alpha: T,
}

impl<T: Dtype> Scalars<T> {
    /// Bounds that cut ordinary numbers, and a factor that rounds.
    pub fn ordinary() -> Scalars<T> {
        Scalars {
            lo: T::of(-0.4),
            hi: T::of(0.6),
            alpha: T::of(-1.3),
        }
    }
}

type Unary<T> = unsafe fn(&dyn On, i64, *const T, *mut T) -> Result<()>;
type Binary<T> = unsafe fn(&dyn On, i64, *const T, *const T, *mut T) -> Result<()>;
type Scaled<T> = unsafe fn(&dyn On, i64, T, *const T, *mut T) -> Result<()>;
type Bounded<T> = unsafe fn(&dyn On, i64, *const T, T, T, *mut T) -> Result<()>;
type BoundedBinary<T> = unsafe fn(&dyn On, i64, *const T, *const T, T, T, *mut T) -> Result<()>;
type Filled<T> = unsafe fn(&dyn On, i64, T, *mut T) -> Result<()>;

enum ElementwiseCall<T> {
    Unary(Unary<T>),
    Binary(Binary<T>),
    Scaled(Scaled<T>),
    Bounded(Bounded<T>),
    BoundedBinary(BoundedBinary<T>),
    Filled(Filled<T>),
}

/// One elementwise operation.
pub struct Elementwise<T> {
    /// Name as in `diptych::raw`.
    pub name: &'static str,
    /// Names of the pointers that the call reads: none, `x`, or `x` and a second.
    pub inputs: &'static [&'static str],
    /// Name of the output (`y` of axpy, which is also read).
    pub output: &'static str,
    /// Result for (x, y, scalars, old value of the output).
    pub model: fn(T, T, &Scalars<T>, T) -> T,
    call: ElementwiseCall<T>,
}

impl<T: Dtype> Elementwise<T> {
    /// Calls the raw function; operations ignore the operands that they do not have.
    ///
    /// # Safety
    /// As for the raw function.
    pub unsafe fn call(
        &self,
        exec: &dyn On,
        n: i64,
        x: *const T,
        y: *const T,
        s: &Scalars<T>,
        out: *mut T,
    ) -> Result<()> {
        // SAFETY: the caller keeps the contract of the raw function.
        unsafe {
            match self.call {
                ElementwiseCall::Unary(f) => f(exec, n, x, out),
                ElementwiseCall::Binary(f) => f(exec, n, x, y, out),
                ElementwiseCall::Scaled(f) => f(exec, n, s.alpha, x, out),
                ElementwiseCall::Bounded(f) => f(exec, n, x, s.lo, s.hi, out),
                ElementwiseCall::BoundedBinary(f) => f(exec, n, x, y, s.lo, s.hi, out),
                ElementwiseCall::Filled(f) => f(exec, n, s.alpha, out),
            }
        }
    }

    /// What the model writes over `old`.
    pub fn expected(&self, x: &[T], y: &[T], s: &Scalars<T>, old: &[T]) -> Vec<T> {
        (0..old.len())
            .map(|i| (self.model)(x[i], y[i], s, old[i]))
            .collect()
    }
}

/// All of them.
pub fn elementwise<T: Dtype>() -> Vec<Elementwise<T>> {
    use ElementwiseCall as Call;
    const X: &[&str] = &["x"];
    const XY: &[&str] = &["x", "y"];
    fn op<T>(
        name: &'static str,
        inputs: &'static [&'static str],
        call: Call<T>,
        model: fn(T, T, &Scalars<T>, T) -> T,
    ) -> Elementwise<T> {
        Elementwise {
            name,
            inputs,
            output: "out",
            model,
            call,
        }
    }
    vec![
        op("clamp", X, Call::Bounded(raw::clamp), |x, _, s, _| {
            model::clamp(x, s.lo, s.hi)
        }),
        op(
            "clamp_backward",
            &["x", "grad"],
            Call::BoundedBinary(raw::clamp_backward),
            |x, g, s, _| model::clamp_backward(x, g, s.lo, s.hi),
        ),
        op("add", XY, Call::Binary(raw::add), |x, y, _, _| x + y),
        op("sub", XY, Call::Binary(raw::sub), |x, y, _, _| x - y),
        op("mul", XY, Call::Binary(raw::mul), |x, y, _, _| x * y),
        op("div", XY, Call::Binary(raw::div), |x, y, _, _| x / y),
        op("scale", X, Call::Scaled(raw::scale), |x, _, s, _| {
            s.alpha * x
        }),
        op("square", X, Call::Unary(raw::square), |x, _, _, _| x * x),
        op("fill", &[], Call::Filled(raw::fill), |_, _, s, _| s.alpha),
        Elementwise {
            name: "axpy",
            inputs: X,
            output: "y",
            model: |x, _, s, old| model::axpy(s.alpha, x, old),
            call: Call::Scaled(raw::axpy),
        },
    ]
}

type Value<T> = unsafe fn(&dyn On, i64, *const T, i64, *mut T) -> Result<()>;
type ValueRows<T> = unsafe fn(&dyn On, i64, i64, *const T, i64, i64, *mut T, i64) -> Result<()>;
type Index<T> = unsafe fn(&dyn On, i64, *const T, i64, *mut i64) -> Result<()>;
type IndexRows<T> = unsafe fn(&dyn On, i64, i64, *const T, i64, i64, *mut i64, i64) -> Result<()>;

/// The result, or `None` where the call must fail.
type Model<T> = fn(&[T]) -> Option<T>;

enum ReductionCall<T> {
    Value(Value<T>, ValueRows<T>),
    Index(Index<T>, IndexRows<T>),
    Variance(i64),
}

/// One reduction; `var` is here once per ddof.
pub struct Reduction<T> {
    /// Name as in `diptych::raw`, without `_rows`.
    pub name: &'static str,
    call: ReductionCall<T>,
    /// The model, `None` where it does not fix the bits (logsumexp).
    model: Option<Model<T>>,
}

impl<T: Dtype> Reduction<T> {
    /// Calls the raw function over one vector. An index is delivered as a `T`, which is exact for
    /// the lengths that the suites use.
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
        // SAFETY: the caller keeps the contract of the raw function; `index` is one element.
        unsafe {
            match self.call {
                ReductionCall::Value(f, _) => f(exec, n, x, incx, out),
                ReductionCall::Variance(ddof) => raw::var(exec, n, x, incx, ddof, out),
                ReductionCall::Index(f, _) => {
                    let mut index = Box::new(-1);
                    f(
                        exec,
                        n,
                        x,
                        incx,
                        if out.is_null() {
                            core::ptr::null_mut()
                        } else {
                            &mut *index
                        },
                    )?;
                    *out = T::of_count(usize::try_from(*index).expect("an index is written"));
                    Ok(())
                }
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
                ReductionCall::Value(_, f) => f(exec, m, n, x, rs, cs, out, inc_out),
                ReductionCall::Variance(ddof) => {
                    raw::var_rows(exec, m, n, x, rs, cs, ddof, out, inc_out)
                }
                ReductionCall::Index(_, f) => {
                    let mut indices = vec![-1; usize::try_from(m).unwrap_or(0)];
                    f(exec, m, n, x, rs, cs, indices.as_mut_ptr(), 1)?;
                    for (i, &index) in indices.iter().enumerate() {
                        let index = usize::try_from(index).expect("an index is written");
                        *out.offset(i as isize * inc_out as isize) = T::of_count(index);
                    }
                    Ok(())
                }
            }
        }
    }

    /// The bits that every level must give; `None` where the call must fail. Without a model, the
    /// portable level on one thread stands for it.
    pub fn expected(&self, x: &[T]) -> Option<T> {
        match self.model {
            Some(model) => model(x),
            None if x.is_empty() => Some(T::of(f64::NEG_INFINITY)),
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

    /// Whether the result is an index.
    pub fn gives_index(&self) -> bool {
        matches!(self.call, ReductionCall::Index(..))
    }
}

/// All of them.
pub fn reductions<T: Dtype>() -> Vec<Reduction<T>> {
    use ReductionCall as Call;
    fn some<T>(n: usize, least: usize, f: impl FnOnce() -> T) -> Option<T> {
        (n >= least).then(f)
    }
    fn op<T>(name: &'static str, call: Call<T>, model: Model<T>) -> Reduction<T> {
        Reduction {
            name,
            call,
            model: Some(model),
        }
    }
    vec![
        op("sum", Call::Value(raw::sum, raw::sum_rows), |x| {
            Some(model::sum(x))
        }),
        op("mean", Call::Value(raw::mean, raw::mean_rows), |x| {
            some(x.len(), 1, || model::mean(x))
        }),
        op("prod", Call::Value(raw::prod, raw::prod_rows), |x| {
            Some(model::prod(x))
        }),
        op("min", Call::Value(raw::min, raw::min_rows), |x| {
            model::min(x)
        }),
        op("max", Call::Value(raw::max, raw::max_rows), |x| {
            model::max(x)
        }),
        op("sumsq", Call::Value(raw::sumsq, raw::sumsq_rows), |x| {
            Some(model::sumsq(x))
        }),
        op("asum", Call::Value(raw::asum, raw::asum_rows), |x| {
            Some(model::asum(x))
        }),
        op("nrm2", Call::Value(raw::nrm2, raw::nrm2_rows), |x| {
            Some(model::nrm2(x))
        }),
        op("var", Call::Variance(0), |x| {
            some(x.len(), 1, || model::var(x, 0))
        }),
        op("var", Call::Variance(1), |x| {
            some(x.len(), 2, || model::var(x, 1))
        }),
        op("argmin", Call::Index(raw::argmin, raw::argmin_rows), |x| {
            model::argmin(x).map(T::of_count)
        }),
        op("argmax", Call::Index(raw::argmax, raw::argmax_rows), |x| {
            model::argmax(x).map(T::of_count)
        }),
        Reduction {
            name: "logsumexp",
            call: Call::Value(raw::logsumexp, raw::logsumexp_rows),
            model: None,
        },
    ]
}
