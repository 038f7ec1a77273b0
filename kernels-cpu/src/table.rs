//! The table of operations: one row for each operation.
//!
//! Kernels, the Rust and C interfaces of both backends, tests and benches are expanded from the rows. Each consumer names
//! the columns that it uses: `for_each_reduction!(callback! { ARGUMENTS } [name rows])` becomes
//! `callback! { { ARGUMENTS } sum sum_rows mean mean_rows ... }`. Text that Rust cannot expand is written by
//! `cargo xtask gen`, which includes this file by its path: it must depend on nothing.
//!
//! A new column is a field of every row, a line in `if_same_column!`, and its consumers.
//!
//! The documentation of a row becomes the documentation of the operation in Rust and in C. The Rust macros add the
//! errors; shapes, aliasing and whatever else the C functions of a family share are in `ffi/sections.h`.
//!
//! # Roles of arguments
//!
//! Of arrays of n elements, which are read:
//!
//! * `input`: nothing else.
//! * `replaced`: the in-place form overwrites it with the results. An operation with an in-place form has exactly one.
//! * `divisor`: lanes without an element are 1, because division by 0 would raise a flag or trap. There is no role yet for a
//!   divisor that the in-place form overwrites.
//!
//! Of scalars:
//!
//! * `number`: any.
//! * `lower_bound`, `upper_bound`: results are limited to them. If one is NaN, every result is NaN.
//! * `lower_threshold`, `upper_threshold`: elements are compared with them.
//!
//! Functions over tensors take a bound or a threshold as an `Option`: an absent one is infinite.

/// Passes the element types to a callback: for each the type in memory, the type of the arithmetic, and the name of its
/// [`Dtype`](crate::Dtype).
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_storage {
    ($callback:ident! $arguments:tt) => {
        $callback! { $arguments [f32 as f32 F32, f64 as f64 F64, f16 as f32 F16, bf16 as f32 Bf16] }
    };
}

/// As [`for_each_storage`], for the types whose arithmetic is in the same type.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_element {
    ($callback:ident! $arguments:tt) => {
        $callback! { $arguments [f32 as f32 F32, f64 as f64 F64] }
    };
}

/// Passes columns of the table of elementwise operations to a callback:
///
/// * `doc`: the documentation, in which a line that begins with `NaN:` says what NaN gives;
/// * `name`: the name, which is that of the function in `scalar.rs` that computes one element;
/// * `arguments`: the arguments before the output, as `(NAME: KIND, ...)`, where the kind is `array` or `scalar`;
/// * `roles`: their roles, as `(ROLE, ...)`;
/// * `output`: the name of the output;
/// * `mode`: whether that is only written (`write`), or is the last operand too (`update`);
/// * `in_place`: `[NAME]` of the in-place form if there is one;
/// * `integers`: whether it takes integers too, over tensors and over slices: `refused`; `signed`; or `signless`, where
///   the bits of results do not depend on whether the type has a sign;
/// * `facts`: its costs and tolerance.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_elementwise {
    ($callback:ident! $arguments:tt $columns:tt) => {
        $crate::select_columns! { [$callback $arguments] $columns
            /// out\[i\] = x\[i\] limited to the range from lo to hi: min(max(x\[i\], lo), hi).
            ///
            /// lo > hi gives hi. A value equal to a bound is returned as it is, so -0 stays -0.
            /// NaN: NaN in x stays NaN; a NaN bound makes every element NaN.
            clamp {
                arguments: (x: array, lo: scalar, hi: scalar), roles: (replaced, lower_bound, upper_bound),
                output: out, mode: write, in_place: [clamp_in_place], integers: signed, facts: { flops: 2 }
            }
            /// The gradient of clamp: out\[i\] = grad\[i\] where lo <= x\[i\] <= hi, else +0. x is the input
            /// of clamp, grad the gradient with respect to its output.
            ///
            /// NaN: a NaN x\[i\] or a NaN bound gives +0; a NaN grad\[i\] is passed on where lo <= x\[i\] <= hi.
            clamp_backward {
                arguments: (x: array, grad: array, lo: scalar, hi: scalar), roles: (input, replaced, lower_threshold, upper_threshold),
                output: out, mode: write, in_place: [clamp_backward_in_place], integers: signed, facts: { flops: 2 }
            }
            /// out\[i\] = x\[i\] + y\[i\], each sum rounded once.
            ///
            /// NaN: a NaN operand gives a NaN.
            add {
                arguments: (x: array, y: array), roles: (replaced, input),
                output: out, mode: write, in_place: [add_in_place], integers: signless, facts: {}
            }
            /// out\[i\] = x\[i\] - y\[i\], each difference rounded once.
            ///
            /// NaN: a NaN operand gives a NaN.
            sub {
                arguments: (x: array, y: array), roles: (replaced, input),
                output: out, mode: write, in_place: [sub_in_place], integers: signless, facts: {}
            }
            /// out\[i\] = x\[i\] * y\[i\], each product rounded once.
            ///
            /// NaN: a NaN operand gives a NaN.
            mul {
                arguments: (x: array, y: array), roles: (replaced, input),
                output: out, mode: write, in_place: [mul_in_place], integers: signless, facts: {}
            }
            /// out\[i\] = x\[i\] / y\[i\], each quotient rounded once.
            ///
            /// Division by zero gives an infinity, 0 / 0 a NaN, as in IEEE 754.
            /// NaN: a NaN operand gives a NaN.
            div {
                arguments: (x: array, y: array), roles: (replaced, divisor),
                output: out, mode: write, in_place: [div_in_place], integers: refused, facts: {}
            }
            /// out\[i\] = alpha * x\[i\], each product rounded once.
            ///
            /// alpha = 0 is an ordinary factor: 0 * NaN is NaN.
            /// NaN: a NaN operand gives a NaN.
            scale {
                arguments: (alpha: scalar, x: array), roles: (number, replaced),
                output: out, mode: write, in_place: [scale_in_place], integers: signless, facts: {}
            }
            /// y\[i\] = fma(alpha, x\[i\], y\[i\]): y += alpha * x with one rounding per element.
            ///
            /// alpha = 0 is an ordinary factor, so x is read.
            /// NaN: a NaN operand gives a NaN.
            axpy {
                arguments: (alpha: scalar, x: array), roles: (number, input),
                output: y, mode: update, in_place: [], integers: signless, facts: { flops: 2 }
            }
            /// out\[i\] = x\[i\] * x\[i\], each product rounded once.
            ///
            /// NaN: a NaN operand gives a NaN.
            square {
                arguments: (x: array), roles: (replaced),
                output: out, mode: write, in_place: [square_in_place], integers: signless, facts: {}
            }
            /// out\[i\] = |x\[i\]|; |-0| is +0.
            ///
            /// NaN: a NaN operand gives a NaN.
            abs {
                arguments: (x: array), roles: (replaced),
                output: out, mode: write, in_place: [abs_in_place], integers: signed, facts: {}
            }
            /// out\[i\] = -x\[i\]; -(+0) is -0.
            ///
            /// NaN: a NaN operand gives a NaN.
            neg {
                arguments: (x: array), roles: (replaced),
                output: out, mode: write, in_place: [neg_in_place], integers: signless, facts: {}
            }
            /// out\[i\] = the smaller of x\[i\] and y\[i\]: minimum of IEEE 754-2019, so -0 is less than +0.
            ///
            /// NaN: a NaN operand gives a NaN.
            minimum {
                arguments: (x: array, y: array), roles: (replaced, input),
                output: out, mode: write, in_place: [minimum_in_place], integers: signed, facts: {}
            }
            /// out\[i\] = the larger of x\[i\] and y\[i\]: maximum of IEEE 754-2019, so +0 is greater than -0.
            ///
            /// NaN: a NaN operand gives a NaN.
            maximum {
                arguments: (x: array, y: array), roles: (replaced, input),
                output: out, mode: write, in_place: [maximum_in_place], integers: signed, facts: {}
            }
            /// out\[i\] = value.
            ///
            /// NaN: a NaN value keeps its bits.
            fill {
                arguments: (value: scalar), roles: (number),
                output: out, mode: write, in_place: [], integers: signless, facts: { flops: 0 }
            }
        }
    };
}

/// The first tokens for an argument that functions over tensors take as an `Option`, otherwise the second.
#[macro_export]
#[doc(hidden)]
macro_rules! if_optional {
    (lower_bound [$($then:tt)*] $else:tt) => { $($then)* };
    (upper_bound [$($then:tt)*] $else:tt) => { $($then)* };
    (lower_threshold [$($then:tt)*] $else:tt) => { $($then)* };
    (upper_threshold [$($then:tt)*] $else:tt) => { $($then)* };
    ($role:ident $then:tt [$($else:tt)*]) => { $($else)* };
}

/// The first tokens for an argument that makes every result NaN if it is NaN, otherwise the second.
#[macro_export]
#[doc(hidden)]
macro_rules! if_nan_spreads {
    (lower_bound [$($then:tt)*] $else:tt) => { $($then)* };
    (upper_bound [$($then:tt)*] $else:tt) => { $($then)* };
    ($role:ident $then:tt [$($else:tt)*]) => { $($else)* };
}

/// Passes columns of the table of reductions to a callback:
///
/// * `doc`: the documentation of the reduction of a vector x, with a line `Empty: VALUE.` if the reduction of no elements
///   has a value;
/// * `name`, `rows`, `columns`: the names of the reduction, of its form for rows, and of the device's kernel for rows that
///   are side by side in memory;
/// * `ddof`: `[ddof]` if it has degrees of freedom;
/// * `result`: whether that is an `element`, a `count` or an `index`;
/// * `folds`, `recipe`: the folds of its passes, and the [`Recipe`](crate::recipe::Recipe) that combines them; no folds for
///   an index;
/// * `empty`: whether the reduction of no elements gives a `value` or is `refused`;
/// * `integers`: the fold with which it takes integers too, over tensors and over slices, in brackets; of an index, the
///   fold that finds the element;
/// * `facts`: its costs and tolerance.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_reduction {
    ($callback:ident! $arguments:tt $columns:tt) => {
        $crate::select_columns! { [$callback $arguments] $columns
            /// The sum of x, in the canonical order.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            /// Empty: +0.
            sum {
                rows: sum_rows, columns: sum_columns, ddof: [], result: element,
                folds: [Sum], recipe: Sum, empty: value, integers: [Sum], facts: { tolerance: Tolerance::Reduction(0) }
            }
            /// The mean of x: the sum in the canonical order, divided once by n.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            mean {
                rows: mean_rows, columns: mean_columns, ddof: [], result: element,
                folds: [Sum], recipe: Mean, empty: refused, integers: [], facts: { tolerance: Tolerance::Reduction(1) }
            }
            /// The product of x, in the canonical order with * for +; the lanes start at 1.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            /// Empty: 1.
            prod {
                rows: prod_rows, columns: prod_columns, ddof: [], result: element,
                folds: [Product], recipe: Plain, empty: value, integers: [Product], facts: { tolerance: Tolerance::Product(0) }
            }
            /// The smallest element of x. -0 is less than +0.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            min {
                rows: min_rows, columns: min_columns, ddof: [], result: element,
                folds: [Min], recipe: Plain, empty: refused, integers: [Min], facts: {}
            }
            /// The largest element of x. -0 is less than +0.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            max {
                rows: max_rows, columns: max_columns, ddof: [], result: element,
                folds: [Max], recipe: Plain, empty: refused, integers: [Max], facts: {}
            }
            /// The sum of the squares of x, in the canonical order: fma(x\[i\], x\[i\], lane).
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            /// Empty: +0.
            sumsq {
                rows: sumsq_rows, columns: sumsq_columns, ddof: [], result: element,
                folds: [SumSq], recipe: Sum, empty: value, integers: [SumSq], facts: { flops: 2, tolerance: Tolerance::Reduction(1) }
            }
            /// The sum of the absolute values of x, in the canonical order.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            /// Empty: +0.
            asum {
                rows: asum_rows, columns: asum_columns, ddof: [], result: element,
                folds: [AbsSum], recipe: Sum, empty: value, integers: [AbsSum], facts: { tolerance: Tolerance::Reduction(0) }
            }
            /// The Euclidean norm of x: the square root of the sum of squares in the canonical order. If that
            /// sum would overflow or lose its small terms, x is first scaled by a power of two.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            /// Empty: +0.
            nrm2 {
                rows: nrm2_rows, columns: nrm2_columns, ddof: [], result: element,
                folds: [SumSq, MaxAbs, SumSq], recipe: Norm, empty: value, integers: [], facts: { flops: 2, tolerance: Tolerance::Root(2) }
            }
            /// The variance of x in two passes, both in the canonical order: first the mean m; then, in one walk,
            /// s2, the sum of fma(d, d, lane) with d = x\[i\] - m, and s1, the sum of d. s1 takes out the rounding
            /// error of m: the result is (s2 - s1 * (s1 / n)) / (n - ddof). If that overflows, x is first scaled by a
            /// power of two, so that the result is infinite or a NaN only if it must be.
            ///
            /// ddof = 0 is the variance of a whole population, ddof = 1 the estimate from a sample.
            /// NaN: a NaN in x gives the canonical NaN.
            var {
                rows: var_rows, columns: var_columns, ddof: [ddof], result: element,
                folds: [Sum, Deviations], recipe: Variance, empty: refused, integers: [], facts: { flops: 5, tolerance: Tolerance::Variance(4) }
            }
            /// The standard deviation of x: the square root of its variance, correctly rounded. If the variance would
            /// overflow or lose digits to underflow, x is first scaled by a power of two.
            ///
            /// ddof = 0 is that of a whole population, ddof = 1 the usual estimate from a sample.
            /// NaN: a NaN in x gives the canonical NaN.
            std {
                rows: std_rows, columns: std_columns, ddof: [ddof], result: element,
                folds: [Sum, Deviations], recipe: StandardDeviation, empty: refused, integers: [], facts: { flops: 5, tolerance: Tolerance::StandardDeviation(4) }
            }
            /// log(exp(x\[0\]) + exp(x\[1\]) + ...) without avoidable overflow: m + log(sum of exp(x\[i\] - m)),
            /// where m is the largest element and the sum is in the canonical order. If m is infinite, the
            /// result is m.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            /// Empty: -inf.
            logsumexp {
                rows: logsumexp_rows, columns: logsumexp_columns, ddof: [], result: element,
                folds: [Max, ExpSum], recipe: LogSumExp, empty: value, integers: [], facts: { exps: 1, tolerance: Tolerance::Logarithm(3) }
            }
            /// The number of elements of x that are neither +0 nor -0.
            ///
            /// NaN: a NaN counts.
            /// Empty: 0.
            count_nonzero {
                rows: count_nonzero_rows, columns: count_nonzero_columns, ddof: [], result: count,
                folds: [Nonzero], recipe: Plain, empty: value, integers: [Nonzero], facts: {}
            }
            /// The index of the first smallest element of x or, if x has a NaN, of the first NaN.
            ///
            /// NaN: the first NaN wins.
            /// Elements are compared by value, so -0 and +0 are equal. The index counts elements, whatever
            /// their stride.
            argmin {
                rows: argmin_rows, columns: argmin_columns, ddof: [], result: index,
                folds: [], recipe: Plain, empty: refused, integers: [Min], facts: {}
            }
            /// The index of the first largest element of x or, if x has a NaN, of the first NaN.
            ///
            /// NaN: the first NaN wins.
            /// Elements are compared by value, so -0 and +0 are equal. The index counts elements, whatever
            /// their stride.
            argmax {
                rows: argmax_rows, columns: argmax_columns, ddof: [], result: index,
                folds: [], recipe: Plain, empty: refused, integers: [Max], facts: {}
            }
        }
    };
}

/// Passes columns of the table of maps over rows to a callback. A map reduces each row of a matrix, and then computes each
/// element of the row from itself and from these statistics:
///
/// * `doc`: the documentation, in which a line that begins with `NaN:` says what NaN gives;
/// * `name`: the name, which is that of the function in `scalar.rs` that computes one element, from the element of x and
///   from the statistics;
/// * `statistics`: the reductions, as `(NAME: ROLE, ...)`, where the role is what their results are to that function:
///   `divisor` or `number`;
/// * `in_place`: the name of the in-place form;
/// * `facts`: its costs and tolerance, with those of the reductions.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_row_map {
    ($callback:ident! $arguments:tt $columns:tt) => {
        $crate::select_columns! { [$callback $arguments] $columns
            /// out\[i, j\] = x\[i, j\] / nrm2(row i of x), each quotient rounded once: each row is divided by its length.
            ///
            /// A row of zeros gives NaN, as 0 / 0. Where the norm overflows to infinity, finite elements give zeros.
            ///
            /// NaN: a NaN in a row gives NaN in all of its elements.
            normalize {
                statistics: (nrm2: divisor), in_place: normalize_in_place,
                facts: { flops: 3, tolerance: Tolerance::Root(3) }
            }
        }
    };
}

/// Passes columns of the table of the other operations to a callback: `name`, `family` (the name of its source file in every
/// backend), and `facts`, of which there is only the tolerance.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_other {
    ($callback:ident! $arguments:tt $columns:tt) => {
        $crate::select_columns! { [$callback $arguments] $columns
            outer { family: outer, facts: { tolerance: Tolerance::Exact } }
            ger { family: outer, facts: { tolerance: Tolerance::Reduction(2) } }
            gemm { family: gemm, facts: { tolerance: Tolerance::Chain(2) } }
            gemm_batched { family: gemm, facts: { tolerance: Tolerance::Chain(2) } }
            gemm_fused { family: gemm, facts: { tolerance: Tolerance::Chain(3) } }
            dot { family: reduce, facts: { tolerance: Tolerance::Reduction(1) } }
            mse_grad { family: fused, facts: { tolerance: Tolerance::Reduction(3) } }
            lsq_grad { family: fused, facts: { tolerance: Tolerance::LeastSquares(3) } }
        }
    };
}

// By their paths, for `cargo xtask` too. `data` expands the macros above.
#[path = "table/columns.rs"]
mod columns;
#[path = "table/data.rs"]
mod data;

pub use data::*;
