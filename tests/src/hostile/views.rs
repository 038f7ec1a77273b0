//! The safe interface, with slices of any length and views at any stride: no call may panic or change anything
//! outside the view, and a call that succeeds gives the model's bits.

use diptych::{Error, Exec, MatMut, MatRef, Result, VecMut, VecRef};

use super::Outcome;
use crate::cases;
use crate::levels::levels;
use crate::model::{self, Dense};
use crate::random::Input;
use crate::real::Dtype;
use crate::report::{Nan, Report};

/// The number of functions that the bytes choose from.
pub const OPERATIONS: usize = 6;

pub fn run(input: &mut Input<'_>) -> Outcome {
    if input.rarely(2) {
        typed::<f64>(input)
    } else {
        typed::<f32>(input)
    }
}

fn typed<T: Dtype>(input: &mut Input<'_>) -> Outcome {
    match input.operation(OPERATIONS) {
        0 => slices::<T>(input),
        1 => products::<T>(input),
        2 => rows::<T>(input),
        3 => outers::<T>(input),
        4 => gradients::<T>(input),
        _ => maps::<T>(input),
    }
}

/// A slice, and the shape and strides of a matrix view that may or may not fit in it.
#[derive(Clone)]
struct Viewed<T> {
    data: Vec<T>,
    offset: usize,
    shape: (usize, usize),
    strides: (isize, isize),
}

impl<T: Dtype> Viewed<T> {
    fn draw(input: &mut Input<'_>, shape: (usize, usize)) -> Viewed<T> {
        let (rows, cols) = (shape.0 as i64, shape.1 as i64);
        let (rs, cs) = input.strides(rows, cols);
        let reach = |count: i64, stride: i64| i128::from(count - 1).max(0) * i128::from(stride);
        let (down, right) = (reach(rows, rs), reach(cols, cs));
        let low = -(down.min(0) + right.min(0));
        let span = (down.abs() + right.abs()).min(1 << 14);
        let length = span as usize + 1 + input.pick(&[0usize, 0, 0, 5]);
        let length = length.saturating_sub(usize::from(input.rarely(12)));
        let slip = usize::from(input.rarely(16));
        Viewed {
            data: cases::vector(input.values(), length, input.word()),
            offset: low.min(1 << 14) as usize + slip,
            shape,
            strides: (rs as isize, cs as isize),
        }
    }

    fn at(&self, i: usize, j: usize) -> i128 {
        let (rs, cs) = self.strides;
        self.offset as i128 + i as i128 * rs as i128 + j as i128 * cs as i128
    }

    /// Returns whether every element lies in the slice.
    fn fits(&self) -> bool {
        let (rows, cols) = self.shape;
        let corners = [
            (0, 0),
            (rows.max(1) - 1, 0),
            (0, cols.max(1) - 1),
            (rows.max(1) - 1, cols.max(1) - 1),
        ];
        let inside = |(i, j)| (0..self.data.len() as i128).contains(&self.at(i, j));
        rows == 0 || cols == 0 || corners.into_iter().all(inside)
    }

    fn dense(&self) -> Dense<T> {
        let (rows, cols) = self.shape;
        let element = |at: usize| self.data[self.at(at / cols, at % cols) as usize];
        Dense {
            rows,
            cols,
            data: (0..rows * cols).map(element).collect(),
        }
    }

    fn set(&mut self, dense: &Dense<T>) {
        for i in 0..dense.rows {
            for j in 0..dense.cols {
                let at = self.at(i, j) as usize;
                self.data[at] = dense.at(i, j);
            }
        }
    }

    /// Returns whether two elements share an address.
    fn repeats(&self) -> bool {
        let (rows, cols) = self.shape;
        let mut all: Vec<i128> = (0..rows)
            .flat_map(|i| (0..cols).map(move |j| (i, j)))
            .map(|(i, j)| self.at(i, j))
            .collect();
        all.sort_unstable();
        all.windows(2).any(|pair| pair[0] == pair[1])
    }

    fn view(&self) -> Result<MatRef<'_, T>> {
        let (rows, cols) = self.shape;
        MatRef::with_strides(
            &self.data,
            self.offset,
            rows,
            cols,
            self.strides.0,
            self.strides.1,
        )
    }

    /// Returns the first row as a vector.
    fn vector(&self) -> Result<VecRef<'_, T>> {
        VecRef::with_stride(&self.data, self.offset, self.shape.1, self.strides.1)
    }

    fn view_mut(&mut self) -> Result<MatMut<'_, T>> {
        let (rows, cols) = self.shape;
        MatMut::with_strides(
            &mut self.data,
            self.offset,
            rows,
            cols,
            self.strides.0,
            self.strides.1,
        )
    }
}

/// Makes the call on every level with a fresh copy of the output, and compares the whole slice. `want` is the output
/// after a success, or a predicate for the error.
fn check<T: Dtype>(
    name: &str,
    output: &Viewed<T>,
    want: core::result::Result<Viewed<T>, fn(&Error) -> bool>,
    call: impl Fn(&Exec<'_>, &mut Viewed<T>) -> Result<()>,
) -> Outcome {
    let mut outcome = Outcome {
        name: name.into(),
        ..Outcome::default()
    };
    let mut report = Report::new();
    for &level in levels() {
        let exec = Exec::new()
            .with_level(level)
            .expect("the level is on this machine");
        let mut out = output.clone();
        let status = call(&exec, &mut out);
        outcome.calls += 1;
        outcome.refused += usize::from(status.is_err());
        let context = || format!("{name} at level {}: {status:?}", level.name());
        let (right, data) = match &want {
            Ok(after) => (status.is_ok(), &after.data),
            Err(wrong) => (status.as_ref().is_err_and(wrong), &output.data),
        };
        report.check(right, context);
        report.equal(&out.data, data, Nan::Any, context);
    }
    report.finish();
    outcome
}

const SHAPE: fn(&Error) -> bool = |error| matches!(error, Error::ShapeMismatch { .. });
const OVERLAP: fn(&Error) -> bool = |error| matches!(error, Error::Overlap { .. });
const ANY: fn(&Error) -> bool = |_| true;

/// Draws a side of a matrix, up to `most`.
fn side(input: &mut Input<'_>, most: i64) -> usize {
    input.size(most).clamp(0, most) as usize
}

fn slices<T: Dtype>(input: &mut Input<'_>) -> Outcome {
    let n = side(input, 300);
    let lengths = [0, 1].map(|_| {
        if input.rarely(10) {
            side(input, 300)
        } else {
            n
        }
    });
    let seed = input.word();
    let x: Vec<T> = cases::vector(input.values(), lengths[0], seed);
    let y: Vec<T> = cases::vector(input.values(), lengths[1], !seed);
    let out = Viewed {
        data: cases::vector(input.values(), n, seed ^ 5),
        offset: 0,
        shape: (1, n),
        strides: (n as isize, 1),
    };
    let alpha = input.scalar::<T>();
    let want = |f: &dyn Fn(T, T, T) -> T| {
        let mut after = out.clone();
        let pairs = after.data.iter_mut().zip(x.iter().zip(y.iter().chain(&x)));
        pairs.for_each(|(out, (&x, &y))| *out = f(x, y, *out));
        Ok(after)
    };
    let wrong = |binary: bool| lengths[0] != n || (binary && lengths[1] != n);
    let expected =
        |binary: bool, f: &dyn Fn(T, T, T) -> T| if wrong(binary) { Err(SHAPE) } else { want(f) };
    match input.below(4) {
        0 => check("add", &out, expected(true, &|x, y, _| x + y), |e, o| {
            diptych::add(e, &x, &y, &mut o.data)
        }),
        1 => check("div", &out, expected(true, &|x, y, _| x / y), |e, o| {
            diptych::div(e, &x, &y, &mut o.data)
        }),
        2 => {
            let want = expected(false, &|x, _, old| model::axpy(alpha, x, old));
            check("axpy", &out, want, |e, o| {
                diptych::axpy(e, alpha, &x, &mut o.data)
            })
        }
        _ => {
            let hi = -alpha;
            let want = expected(false, &|x, _, _| model::clamp(x, alpha, hi));
            check("clamp", &out, want, |e, o| {
                diptych::clamp(e, &x, alpha, hi, &mut o.data)
            })
        }
    }
}

fn products<T: Dtype>(input: &mut Input<'_>) -> Outcome {
    let (m, n, k) = (side(input, 40), side(input, 40), side(input, 90));
    let other = if input.rarely(12) { side(input, 90) } else { k };
    let (a, b) = (
        Viewed::<T>::draw(input, (m, k)),
        Viewed::<T>::draw(input, (other, n)),
    );
    let c = Viewed::<T>::draw(input, (m, n));
    let (alpha, beta) = (input.scalar::<T>(), input.scalar::<T>());
    let want = if !(a.fits() && b.fits() && c.fits()) || other != k {
        Err(SHAPE)
    } else if c.repeats() {
        Err(OVERLAP)
    } else {
        let mut after = c.clone();
        after.set(&model::gemm(
            alpha,
            &a.dense(),
            &b.dense(),
            beta,
            &c.dense(),
        ));
        Ok(after)
    };
    check("gemm", &c, want, |e, out| {
        diptych::gemm(e, alpha, a.view()?, b.view()?, beta, out.view_mut()?)
    })
}

fn rows<T: Dtype>(input: &mut Input<'_>) -> Outcome {
    let (m, n) = (side(input, 60), side(input, 60));
    let x = Viewed::<T>::draw(input, (m, n));
    let length = if input.rarely(12) { side(input, 60) } else { m };
    let out = Viewed::<T>::draw(input, (1, length));
    let empty = n == 0 && m > 0;
    let greatest = input.rarely(2);
    let want = if !(x.fits() && out.fits()) || length != m {
        Err(SHAPE)
    } else if out.repeats() || (greatest && empty) {
        Err(ANY)
    } else {
        let mut after = out.clone();
        let shown = x.dense();
        let value = |i| {
            if greatest {
                model::max(shown.row(i)).expect("elements")
            } else {
                model::sum(shown.row(i))
            }
        };
        after.set(&Dense {
            rows: 1,
            cols: m,
            data: (0..m).map(value).collect(),
        });
        Ok(after)
    };
    let name = if greatest { "max_rows" } else { "sum_rows" };
    check(name, &out, want, |e, out| {
        let x = x.view()?;
        let out = VecMut::with_stride(&mut out.data, out.offset, out.shape.1, out.strides.1)?;
        if greatest {
            diptych::max_rows(e, x, out)
        } else {
            diptych::sum_rows(e, x, out)
        }
    })
}

fn maps<T: Dtype>(input: &mut Input<'_>) -> Outcome {
    let (m, n) = (side(input, 60), side(input, 60));
    let x = Viewed::<T>::draw(input, (m, n));
    let rows = if input.rarely(12) { side(input, 60) } else { m };
    let out = Viewed::<T>::draw(input, (rows, n));
    let in_place = input.rarely(3);
    let out = if in_place { x.clone() } else { out };
    let want = if !(x.fits() && out.fits()) || out.shape != x.shape {
        Err(SHAPE)
    } else if out.repeats() {
        Err(OVERLAP)
    } else {
        let (mut after, shown) = (out.clone(), x.dense());
        after.set(&Dense {
            data: (0..m)
                .flat_map(|i| model::normalize(shown.row(i)))
                .collect(),
            ..shown
        });
        Ok(after)
    };
    check("normalize", &out, want, |e, out| {
        if in_place {
            diptych::normalize_in_place(e, out.view_mut()?)
        } else {
            diptych::normalize(e, x.view()?, out.view_mut()?)
        }
    })
}

fn outers<T: Dtype>(input: &mut Input<'_>) -> Outcome {
    let (m, n) = (side(input, 60), side(input, 60));
    let (x, y) = (
        Viewed::<T>::draw(input, (1, m)),
        Viewed::<T>::draw(input, (1, n)),
    );
    let rows = if input.rarely(12) { side(input, 60) } else { m };
    let out = Viewed::<T>::draw(input, (rows, n));
    let want = if !(x.fits() && y.fits() && out.fits()) || rows != m {
        Err(SHAPE)
    } else if out.repeats() {
        Err(OVERLAP)
    } else {
        let mut after = out.clone();
        let (x, y) = (x.dense(), y.dense());
        after.set(&Dense {
            rows: m,
            cols: n,
            data: x
                .data
                .iter()
                .flat_map(|&x| y.data.iter().map(move |&y| x * y))
                .collect(),
        });
        Ok(after)
    };
    check("outer", &out, want, |e, out| {
        diptych::outer(e, x.vector()?, y.vector()?, out.view_mut()?)
    })
}

fn gradients<T: Dtype>(input: &mut Input<'_>) -> Outcome {
    let (m, n) = (side(input, 60), side(input, 60));
    let a = Viewed::<T>::draw(input, (m, n));
    let lengths = [n, m].map(|right| {
        if input.rarely(12) {
            side(input, 60)
        } else {
            right
        }
    });
    let seed = input.word();
    let x: Vec<T> = cases::vector(input.values(), lengths[0], seed);
    let y: Vec<T> = cases::vector(input.values(), lengths[1], !seed);
    let grad = Viewed {
        data: vec![T::one(); n],
        offset: 0,
        shape: (1, n),
        strides: (1, 1),
    };
    let want = if !a.fits() || lengths != [n, m] {
        Err(SHAPE)
    } else {
        let mut after = grad.clone();
        after.data = model::lsq_grad(&a.dense(), &x, &y);
        Ok(after)
    };
    check("lsq_grad", &grad, want, |e, grad| {
        diptych::lsq_grad(e, a.view()?, &x, &y, &mut grad.data)
    })
}
