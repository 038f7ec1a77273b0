//! The rows of the table as data.

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
    /// Whether it takes tensors of integers.
    pub takes_integers: bool,
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
    /// Whether it takes tensors of integers.
    pub takes_integers: bool,
    /// Costs and tolerance.
    pub facts: Facts,
}

/// A map over rows as data.
#[derive(Clone, Copy, Debug)]
pub struct RowMap {
    /// Its name, without prefix and element type.
    pub name: &'static str,
    /// The lines of its documentation.
    pub doc: &'static [&'static str],
    /// The reductions whose results it takes.
    pub statistics: &'static [&'static str],
    /// The name of the in-place form.
    pub in_place: &'static str,
    /// Costs and tolerance, with those of the reductions.
    pub facts: Facts,
}

/// What an argument of an elementwise operation is for; see the [table](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types, missing_docs)] // As in the rows.
pub enum Role {
    input,
    replaced,
    divisor,
    number,
    lower_bound,
    upper_bound,
    lower_threshold,
    upper_threshold,
}

/// Which end of a range a scalar is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Bound {
    Lower,
    Upper,
}

impl Role {
    /// Whether the argument is an array.
    pub const fn is_array(self) -> bool {
        matches!(self, Self::input | Self::replaced | Self::divisor)
    }

    /// Which end of a range it is, if it is one. Only these may be absent among tensors.
    pub const fn bound(self) -> Option<Bound> {
        match self {
            Self::lower_bound | Self::lower_threshold => Some(Bound::Lower),
            Self::upper_bound | Self::upper_threshold => Some(Bound::Upper),
            Self::input | Self::replaced | Self::divisor | Self::number => None,
        }
    }

    /// Whether every result is NaN if it is NaN.
    pub const fn spreads_nan(self) -> bool {
        matches!(self, Self::lower_bound | Self::upper_bound)
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

macro_rules! elementwise_data {
    ({} $([$(#[doc = $doc:literal])*] $name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $out:ident $mode:ident [$($in_place:ident)?] $integers:ident { $($fact:ident: $value:expr),* })*) => {
        /// The elementwise operations.
        pub const ELEMENTWISE: &[Elementwise] = &[$(Elementwise {
            name: stringify!($name),
            doc: &[$($doc),*],
            arguments: &[$((stringify!($arg), Role::$role)),*],
            output: stringify!($out),
            updates: elementwise_data!(@$mode),
            in_place: elementwise_data!(@in_place $($in_place)?),
            takes_integers: elementwise_data!(@$integers),
            facts: Facts { $($fact: $value,)* ..Facts::DEFAULT },
        }),*];

        // The kind of an argument and its role agree.
        const _: () = {
            $($(assert!(Role::$role.is_array() == elementwise_data!(@$kind));)*)*
        };
    };
    (@array) => { true };
    (@scalar) => { false };
    (@write) => { false };
    (@update) => { true };
    (@refused) => { false };
    (@signed) => { true };
    (@signless) => { true };
    (@in_place) => { None };
    (@in_place $name:ident) => { Some(stringify!($name)) };
}
for_each_elementwise!(elementwise_data! {} [doc name arguments roles output mode in_place integers facts]);

macro_rules! reduction_data {
    ({} $([$(#[doc = $doc:literal])*] $name:ident [$($ddof:ident)?] $out:ident $folds:tt $empty:ident $integers:tt { $($fact:ident: $value:expr),* })*) => {
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
            takes_integers: reduction_data!(@takes $integers),
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
    (@takes []) => { false };
    (@takes $fold:tt) => { true };
}
for_each_reduction!(reduction_data! {} [doc name ddof result folds empty integers facts]);

macro_rules! row_map_data {
    ({} $([$(#[doc = $doc:literal])*] $name:ident ($($statistic:ident: $role:ident),*) $in_place:ident { $($fact:ident: $value:expr),* })*) => {
        /// The maps over rows.
        pub const ROW_MAPS: &[RowMap] = &[$(RowMap {
            name: stringify!($name),
            doc: &[$($doc),*],
            statistics: &[$(stringify!($statistic)),*],
            in_place: stringify!($in_place),
            facts: Facts { $($fact: $value,)* ..Facts::DEFAULT },
        }),*];
    };
}
for_each_row_map!(row_map_data! {} [doc name statistics in_place facts]);

macro_rules! other_data {
    ({} $($name:ident $family:ident { tolerance: $tolerance:expr })*) => {
        /// The other operations, and their tolerances.
        pub const OTHERS: &[(Op, Tolerance)] = &[$((
            Op { name: stringify!($name), family: stringify!($family), rows: false },
            $tolerance,
        )),*];
    };
}
for_each_other!(other_data! {} [name family facts]);

/// Every operation.
pub const OPS: &[Op] = &{
    const NOTHING: Op = Op {
        name: "",
        family: "",
        rows: false,
    };
    const ROW_MAPS_FROM: usize = ELEMENTWISE.len() + REDUCTIONS.len();
    const OTHERS_FROM: usize = ROW_MAPS_FROM + ROW_MAPS.len();
    let mut all = [NOTHING; OTHERS_FROM + OTHERS.len()];
    let mut i = 0;
    while i < all.len() {
        let (name, family, rows) = if i < ELEMENTWISE.len() {
            (ELEMENTWISE[i].name, "elementwise", false)
        } else if i < ROW_MAPS_FROM {
            (REDUCTIONS[i - ELEMENTWISE.len()].name, "reduce", true)
        } else if i < OTHERS_FROM {
            (ROW_MAPS[i - ROW_MAPS_FROM].name, "row_map", false)
        } else {
            let op = OTHERS[i - OTHERS_FROM].0;
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
    let row_maps = ROW_MAPS.iter().map(|row| (row.name, row.facts.tolerance));
    let others = OTHERS.iter().map(|(op, tolerance)| (op.name, *tolerance));
    let mut all = elementwise.chain(reductions).chain(row_maps).chain(others);
    all.find(|(op, _)| *op == name)
        .map(|(_, tolerance)| tolerance)
}
