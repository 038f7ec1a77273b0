//! The table of operations: one row for each operation.
//!
//! Kernels, the Rust and C interfaces of both backends, tests and benches are expanded from the rows:
//! `for_each_elementwise!(callback! { ARGUMENTS })` becomes `callback! { { ARGUMENTS } ROWS }`. Text that Rust cannot
//! expand is written by `cargo xtask gen`, which includes this file by its path: it must depend on nothing.
//!
//! The documentation of a row becomes the documentation of the operation in Rust and in C. The Rust macros add the
//! errors; shapes, aliasing and whatever else the C functions of a family share are in `ffi/sections.h`.
//!
//! # Roles of arguments
//!
//! * `array`: n elements, read.
//! * `replaced`: n elements, read; the in-place form overwrites them with the results. An operation with an in-place form
//!   has exactly one `replaced` argument.
//! * `divisor`: n elements, read; lanes without an element are 1, because division by 0 would raise a flag or trap. There
//!   is no role yet for a divisor that the in-place form overwrites.
//! * `scalar`: a number.
//! * `bound`: a number; if it is NaN, every result is NaN.
//! * `-> out: write`: an array that is written; `-> y: update`: an array that is written and is the last operand too.

/// An operation of the public surface, the same in Rust and in C.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// Its name, without prefix and element type.
    pub name: &'static str,
    /// The name of its source file in every backend.
    pub family: &'static str,
    /// Whether there is a `_rows` form.
    pub rows: bool,
}

/// An elementwise operation as data.
#[derive(Clone, Copy, Debug)]
pub struct Elementwise {
    /// Its name, without prefix and element type.
    pub name: &'static str,
    /// The lines of its documentation.
    pub doc: &'static [&'static str],
    /// Its arguments after `n`, without the output: names and roles.
    pub arguments: &'static [(&'static str, Role)],
    /// The output.
    pub output: &'static str,
    /// Whether the output is an operand too.
    pub updates: bool,
    /// The name of the in-place form, if there is one.
    pub in_place: Option<&'static str>,
    /// Costs and tolerance.
    pub facts: Facts,
}

/// A reduction as data.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    /// Its name, without prefix and element type.
    pub name: &'static str,
    /// The lines of its documentation.
    pub doc: &'static [&'static str],
    /// Whether it takes degrees of freedom.
    pub ddof: bool,
    /// Whether the result is an i64 (an index or a count) instead of an element.
    pub gives_index: bool,
    /// Whether the result is a count.
    pub counts: bool,
    /// Whether the reduction of no elements is an error.
    pub needs_elements: bool,
    /// The folds of its passes; empty if the result is an index.
    pub folds: &'static [&'static str],
    /// The number of passes over the elements of nearly every vector.
    pub passes: u32,
    /// Costs and tolerance.
    pub facts: Facts,
}

/// What an argument of an elementwise operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)] // As in the rows.
pub enum Role {
    /// An array that is read.
    array,
    /// An array that is read, and written by the in-place form.
    replaced,
    /// An array of divisors.
    divisor,
    /// A number.
    scalar,
    /// A number; if it is NaN, all results are NaN.
    bound,
}

impl Role {
    /// Whether the argument is an array.
    pub const fn is_array(self) -> bool {
        matches!(self, Self::array | Self::replaced | Self::divisor)
    }
}

/// The costs and the tolerance of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Arithmetic operations for each element.
    pub flops: u32,
    /// Exponentials for each element.
    pub exps: u32,
    /// How far a result may be from the exact one.
    pub tolerance: Tolerance,
}

impl Facts {
    /// The defaults of a row.
    pub const DEFAULT: Self = Self {
        flops: 1,
        exps: 0,
        tolerance: Tolerance::Exact,
    };
}

/// How far a result may be from the exact one. u is the unit roundoff; g(h) = hu / (1 - hu) bounds the error of h
/// successive roundings. The canonical order keeps h small: 31 steps in a lane, the tree of the lanes, the tree of the
/// chunks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// The correctly rounded result: 0 ulp.
    Exact,
    /// g(h of the reduction + this many) times the sum of the terms' magnitudes.
    Reduction(usize),
    /// g(n + this many) times the magnitude of the result.
    Product(usize),
    /// g(half the h of the reduction + this many) times the result: the root halves errors.
    Root(usize),
    /// g(h + this many) times the sum of the result and of the mean's error squared, a few times over: the error of the
    /// mean is taken out, but enters the terms.
    Variance(usize),
    /// As [`Variance`](Self::Variance), for its root.
    StandardDeviation(usize),
    /// g(min(k, 256) + ceil(k / 256) + this many) times the sum of magnitudes.
    Chain(usize),
    /// The residual's reduction, a chain of 32 rows, a tree, and this many.
    LeastSquares(usize),
    /// This many u of |max| + |log of the sum|.
    Logarithm(usize),
}

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

/// Passes the elementwise operations to a callback. A row consists of its documentation (a line that begins with `NaN:`
/// says what NaN gives); `NAME(ARGUMENT: ROLE, ...) -> OUTPUT: MODE`; the name of the in-place form if there is one; and
/// its costs and tolerance.
///
/// The function of the same name in `scalar.rs` computes one element.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_elementwise {
    ($callback:ident! $arguments:tt) => {
        $callback! { $arguments
            /// out\[i\] = x\[i\] limited to the range from lo to hi: min(max(x\[i\], lo), hi).
            ///
            /// lo > hi gives hi. A value equal to a bound is returned as it is, so -0 stays -0.
            /// NaN: NaN in x stays NaN; a NaN bound makes every element NaN.
            clamp(x: replaced, lo: bound, hi: bound) -> out: write, [clamp_in_place], { flops: 2 }
            /// The gradient of clamp: out\[i\] = grad\[i\] where lo <= x\[i\] <= hi, else +0. x is the input
            /// of clamp, grad the gradient with respect to its output.
            ///
            /// NaN: a NaN x\[i\] or a NaN bound gives +0; a NaN grad\[i\] is passed on where lo <= x\[i\] <= hi.
            clamp_backward(x: array, grad: replaced, lo: scalar, hi: scalar) -> out: write, [clamp_backward_in_place], { flops: 2 }
            /// out\[i\] = x\[i\] + y\[i\], each sum rounded once.
            ///
            /// NaN: a NaN operand gives a NaN.
            add(x: replaced, y: array) -> out: write, [add_in_place], {}
            /// out\[i\] = x\[i\] - y\[i\], each difference rounded once.
            ///
            /// NaN: a NaN operand gives a NaN.
            sub(x: replaced, y: array) -> out: write, [sub_in_place], {}
            /// out\[i\] = x\[i\] * y\[i\], each product rounded once.
            ///
            /// NaN: a NaN operand gives a NaN.
            mul(x: replaced, y: array) -> out: write, [mul_in_place], {}
            /// out\[i\] = x\[i\] / y\[i\], each quotient rounded once.
            ///
            /// Division by zero gives an infinity, 0 / 0 a NaN, as in IEEE 754.
            /// NaN: a NaN operand gives a NaN.
            div(x: replaced, y: divisor) -> out: write, [div_in_place], {}
            /// out\[i\] = alpha * x\[i\], each product rounded once.
            ///
            /// alpha = 0 is an ordinary factor: 0 * NaN is NaN.
            /// NaN: a NaN operand gives a NaN.
            scale(alpha: scalar, x: replaced) -> out: write, [scale_in_place], {}
            /// y\[i\] = fma(alpha, x\[i\], y\[i\]): y += alpha * x with one rounding per element.
            ///
            /// alpha = 0 is an ordinary factor, so x is read.
            /// NaN: a NaN operand gives a NaN.
            axpy(alpha: scalar, x: array) -> y: update, [], { flops: 2 }
            /// out\[i\] = x\[i\] * x\[i\], each product rounded once.
            ///
            /// NaN: a NaN operand gives a NaN.
            square(x: replaced) -> out: write, [square_in_place], {}
            /// out\[i\] = |x\[i\]|; |-0| is +0.
            ///
            /// NaN: a NaN operand gives a NaN.
            abs(x: replaced) -> out: write, [abs_in_place], {}
            /// out\[i\] = -x\[i\]; -(+0) is -0.
            ///
            /// NaN: a NaN operand gives a NaN.
            neg(x: replaced) -> out: write, [neg_in_place], {}
            /// out\[i\] = the smaller of x\[i\] and y\[i\]: minimum of IEEE 754-2019, so -0 is less than +0.
            ///
            /// NaN: a NaN operand gives a NaN.
            minimum(x: replaced, y: array) -> out: write, [minimum_in_place], {}
            /// out\[i\] = the larger of x\[i\] and y\[i\]: maximum of IEEE 754-2019, so +0 is greater than -0.
            ///
            /// NaN: a NaN operand gives a NaN.
            maximum(x: replaced, y: array) -> out: write, [maximum_in_place], {}
            /// out\[i\] = value.
            ///
            /// NaN: a NaN value keeps its bits.
            fill(value: scalar) -> out: write, [], { flops: 0 }
        }
    };
}

/// Passes the reductions to a callback. A row consists of
///
/// * the documentation of the reduction of a vector x, with a line `Empty: VALUE.` if the reduction of no elements has a
///   value;
/// * the names of the reduction, of its form for rows, and of the device's kernel for rows side by side in memory;
/// * `(ddof)` if it has degrees of freedom, and the trait of the types that it takes;
/// * whether the result is an `element`, a `count` or an `index`;
/// * except for an index, the folds of its passes and the [`Recipe`](crate::recipe::Recipe) that combines them;
/// * whether the reduction of no elements gives a `value` or is `refused`;
/// * its costs and tolerance.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_reduction {
    ($callback:ident! $arguments:tt) => {
        $callback! { $arguments
            /// The sum of x, in the canonical order.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            /// Empty: +0.
            sum sum_rows sum_columns(): Storage -> element [Sum] Sum, value, { tolerance: Tolerance::Reduction(0) }
            /// The mean of x: the sum in the canonical order, divided once by n.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            mean mean_rows mean_columns(): Storage -> element [Sum] Mean, refused, { tolerance: Tolerance::Reduction(1) }
            /// The product of x, in the canonical order with * for +; the lanes start at 1.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            /// Empty: 1.
            prod prod_rows prod_columns(): Element -> element [Product] Plain, value, { tolerance: Tolerance::Product(0) }
            /// The smallest element of x. -0 is less than +0.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            min min_rows min_columns(): Element -> element [Min] Plain, refused, {}
            /// The largest element of x. -0 is less than +0.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            max max_rows max_columns(): Element -> element [Max] Plain, refused, {}
            /// The sum of the squares of x, in the canonical order: fma(x\[i\], x\[i\], lane).
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            /// Empty: +0.
            sumsq sumsq_rows sumsq_columns(): Element -> element [SumSq] Sum, value, { flops: 2, tolerance: Tolerance::Reduction(1) }
            /// The sum of the absolute values of x, in the canonical order.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            /// Empty: +0.
            asum asum_rows asum_columns(): Element -> element [AbsSum] Sum, value, { tolerance: Tolerance::Reduction(0) }
            /// The Euclidean norm of x: the square root of the sum of squares in the canonical order. If that
            /// sum would overflow or lose its small terms, x is first scaled by a power of two.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            /// Empty: +0.
            nrm2 nrm2_rows nrm2_columns(): Element -> element [SumSq, MaxAbs, SumSq] Norm, value, { flops: 2, tolerance: Tolerance::Root(2) }
            /// The variance of x in two passes, both in the canonical order: first the mean m; then, in one walk,
            /// s2, the sum of fma(d, d, lane) with d = x\[i\] - m, and s1, the sum of d. s1 takes out the rounding
            /// error of m: the result is (s2 - s1 * (s1 / n)) / (n - ddof). If that overflows, x is first scaled by a
            /// power of two, so that the result is infinite or a NaN only if it must be.
            ///
            /// ddof = 0 is the variance of a whole population, ddof = 1 the estimate from a sample.
            /// NaN: a NaN in x gives the canonical NaN.
            var var_rows var_columns(ddof): Element -> element [Sum, Deviations] Variance, refused, { flops: 5, tolerance: Tolerance::Variance(4) }
            /// The standard deviation of x: the square root of its variance, correctly rounded. If the variance would
            /// overflow or lose digits to underflow, x is first scaled by a power of two.
            ///
            /// ddof = 0 is that of a whole population, ddof = 1 the usual estimate from a sample.
            /// NaN: a NaN in x gives the canonical NaN.
            std std_rows std_columns(ddof): Element -> element [Sum, Deviations] StandardDeviation, refused, { flops: 5, tolerance: Tolerance::StandardDeviation(4) }
            /// log(exp(x\[0\]) + exp(x\[1\]) + ...) without avoidable overflow: m + log(sum of exp(x\[i\] - m)),
            /// where m is the largest element and the sum is in the canonical order. If m is infinite, the
            /// result is m.
            ///
            /// NaN: a NaN in x gives the canonical NaN.
            /// Empty: -inf.
            logsumexp logsumexp_rows logsumexp_columns(): Element -> element [Max, ExpSum] LogSumExp, value, { exps: 1, tolerance: Tolerance::Logarithm(3) }
            /// The number of elements of x that are neither +0 nor -0.
            ///
            /// NaN: a NaN counts.
            /// Empty: 0.
            count_nonzero count_nonzero_rows count_nonzero_columns(): Element -> count [Nonzero] Plain, value, {}
            /// The index of the first smallest element of x or, if x has a NaN, of the first NaN.
            ///
            /// NaN: the first NaN wins.
            /// Elements are compared by value, so -0 and +0 are equal. The index counts elements, whatever
            /// their stride.
            argmin argmin_rows argmin_columns(): Element -> index [] Plain, refused, {}
            /// The index of the first largest element of x or, if x has a NaN, of the first NaN.
            ///
            /// NaN: the first NaN wins.
            /// Elements are compared by value, so -0 and +0 are equal. The index counts elements, whatever
            /// their stride.
            argmax argmax_rows argmax_columns(): Element -> index [] Plain, refused, {}
        }
    };
}

/// Passes the other operations to a callback, each with its family and its tolerance.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_other {
    ($callback:ident! $arguments:tt) => {
        $callback! { $arguments
            outer outer: Tolerance::Exact;
            ger outer: Tolerance::Reduction(2);
            gemm gemm: Tolerance::Chain(2);
            gemm_batched gemm: Tolerance::Chain(2);
            gemm_fused gemm: Tolerance::Chain(3);
            dot reduce: Tolerance::Reduction(1);
            mse_grad fused: Tolerance::Reduction(3);
            lsq_grad fused: Tolerance::LeastSquares(3);
        }
    };
}

macro_rules! elementwise_data {
    ({} $($(#[doc = $doc:literal])* $name:ident($($arg:ident: $role:ident),*) -> $out:ident: $mode:ident, [$($in_place:ident)?], { $($fact:ident: $value:expr),* })*) => {
        /// The elementwise operations.
        pub const ELEMENTWISE: &[Elementwise] = &[$(Elementwise {
            name: stringify!($name),
            doc: &[$($doc),*],
            arguments: &[$((stringify!($arg), Role::$role)),*],
            output: stringify!($out),
            updates: elementwise_data!(@$mode),
            in_place: elementwise_data!(@in_place $($in_place)?),
            facts: Facts { $($fact: $value,)* ..Facts::DEFAULT },
        }),*];
    };
    (@write) => { false };
    (@update) => { true };
    (@in_place) => { None };
    (@in_place $name:ident) => { Some(stringify!($name)) };
}
for_each_elementwise!(elementwise_data! {});

macro_rules! reduction_data {
    ({} $($(#[doc = $doc:literal])* $name:ident $rows:ident $columns:ident($($ddof:ident)?): $Bound:ident -> $out:ident $folds:tt $recipe:ident, $empty:ident, { $($fact:ident: $value:expr),* })*) => {
        /// The reductions with a `_rows` form.
        pub const REDUCTIONS: &[Reduction] = &[$(Reduction {
            name: stringify!($name),
            doc: &[$($doc),*],
            ddof: reduction_data!(@ddof $($ddof)?),
            gives_index: reduction_data!(@$out),
            counts: reduction_data!(@counts $out),
            needs_elements: reduction_data!(@$empty),
            folds: reduction_data!(@folds $folds),
            passes: reduction_data!(@passes $folds),
            facts: Facts { $($fact: $value,)* ..Facts::DEFAULT },
        }),*];
    };
    (@counts count) => { true };
    (@counts $out:ident) => { false };
    (@ddof) => { false };
    (@ddof $ddof:ident) => { true };
    (@element) => { false };
    (@count) => { true };
    (@index) => { true };
    (@refused) => { true };
    (@value) => { false };
    (@folds [$($Fold:ident),*]) => { &[$(stringify!($Fold)),*] };
    // Few vectors need more than the first of three passes.
    (@passes [$First:ident, $Second:ident]) => { 2 };
    (@passes $folds:tt) => { 1 };
}
for_each_reduction!(reduction_data! {});

macro_rules! other_data {
    ({} $($name:ident $family:ident: $tolerance:expr;)*) => {
        /// The other operations, and their tolerances.
        pub const OTHERS: &[(Op, Tolerance)] = &[$((
            Op { name: stringify!($name), family: stringify!($family), rows: false },
            $tolerance,
        )),*];
    };
}
for_each_other!(other_data! {});

/// Every operation.
pub const OPS: &[Op] = &{
    const NOTHING: Op = Op {
        name: "",
        family: "",
        rows: false,
    };
    let mut all = [NOTHING; ELEMENTWISE.len() + REDUCTIONS.len() + OTHERS.len()];
    let mut i = 0;
    while i < all.len() {
        let (name, family, rows) = if i < ELEMENTWISE.len() {
            (ELEMENTWISE[i].name, "elementwise", false)
        } else if i - ELEMENTWISE.len() < REDUCTIONS.len() {
            (REDUCTIONS[i - ELEMENTWISE.len()].name, "reduce", true)
        } else {
            let op = OTHERS[i - ELEMENTWISE.len() - REDUCTIONS.len()].0;
            (op.name, op.family, op.rows)
        };
        all[i] = Op { name, family, rows };
        i += 1;
    }
    all
};

/// Returns the tolerance of an operation, by its name.
pub fn tolerance(name: &str) -> Option<Tolerance> {
    let elementwise = ELEMENTWISE
        .iter()
        .map(|row| (row.name, row.facts.tolerance));
    let reductions = REDUCTIONS.iter().map(|row| (row.name, row.facts.tolerance));
    let others = OTHERS.iter().map(|(op, tolerance)| (op.name, *tolerance));
    let mut all = elementwise.chain(reductions).chain(others);
    all.find(|(op, _)| *op == name)
        .map(|(_, tolerance)| tolerance)
}
