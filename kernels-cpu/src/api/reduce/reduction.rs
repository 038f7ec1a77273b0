//! The reductions to one element as values: their folds and their recipe. A value names the folds of its own reduction
//! alone, so that a program links no others, and what follows here is compiled once for all of them.

use core::hint::black_box;

use super::fold::{Fold, FoldMany, Strided, fold};
use crate::dispatch::Compute;
use crate::element::{Element, Storage};
use crate::exec::Exec;
use crate::for_each_reduction;
use crate::level::Level;
use crate::ops::reduce::{self, Work};
use crate::recipe::{Counts, Cpu, CpuOfMany, Recipe};

/// A reduction of elements of the type `T`.
pub struct Reduction<T: Storage> {
    /// Of one vector.
    pub one: OfVector<T>,
    /// The folds of many vectors, of the passes that nearly every vector takes.
    many: [Option<FoldMany<T>>; 2],
    pub recipe: Recipe,
}

/// A reduction of one vector.
pub struct OfVector<T: Storage> {
    /// The folds of its passes.
    folds: [Option<Fold<T>>; 3],
    pub recipe: Recipe,
    ddof: usize,
}

/// For each row of the table a function that makes its value.
macro_rules! reductions {
    ({} $($(#[$doc:meta])* $name:ident $rows:ident $columns:ident($($ddof:ident)?): $Bound:ident -> $out:ident $folds:tt $recipe:ident, $empty:ident, $facts:tt)*) => {
        $(reductions!(@$out $name $Bound $folds $recipe);)*
    };
    (@count $($row:tt)*) => {
        reductions!(@element $($row)*);
    };
    (@element $name:ident $Bound:ident $folds:tt $recipe:ident) => {
        #[inline(always)]
        pub fn $name<T: $Bound>(level: Level, ddof: usize) -> Reduction<T> {
            let recipe = Recipe::$recipe;
            Reduction {
                one: OfVector { folds: reductions!(@one level $folds), recipe, ddof },
                many: reductions!(@many level $folds),
                recipe,
            }
        }
    };
    (@index $($row:tt)*) => {};
    (@one $level:ident [$First:ident]) => {
        [Some(Fold::of::<reduce::$First>($level)), None, None]
    };
    (@one $level:ident [$First:ident, $Second:ident]) => {
        [Some(Fold::of::<reduce::$First>($level)), Some(Fold::of::<reduce::$Second>($level)), None]
    };
    (@one $level:ident [$First:ident, $Second:ident, $Third:ident]) => {
        [
            Some(Fold::of::<reduce::$First>($level)),
            Some(Fold::of::<reduce::$Second>($level)),
            Some(Fold::of::<reduce::$Third>($level)),
        ]
    };
    // Of three passes, few vectors take the second and the third.
    (@many $level:ident [$First:ident, $Second:ident]) => {
        [Some(FoldMany::of::<reduce::$First>($level)), Some(FoldMany::of::<reduce::$Second>($level))]
    };
    (@many $level:ident [$First:ident $(, $Other:ident)*]) => {
        [Some(FoldMany::of::<reduce::$First>($level)), None]
    };
}
for_each_reduction!(reductions! {});

/// Vectors that are reduced at once where something of each is kept on the stack.
pub const COLUMNS: usize = 512;

/// `count` vectors of `len` elements each, which are reduced alike.
pub struct Vectors<T> {
    pub count: usize,
    pub len: usize,
    pub x: *const T,
    pub layout: Layout,
    /// Scratch memory.
    pub work: Work,
}

impl<T> Clone for Vectors<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Vectors<T> {}

/// How many vectors lie in memory.
#[derive(Clone, Copy)]
pub enum Layout {
    /// Side by side: element i of vector j is `x[i * inc + j]`.
    Columns { inc: isize },
    /// Each contiguous: element i of vector j is `x[j * inc + i]`.
    Rows { inc: isize },
}

impl<T: Storage> Vectors<T> {
    /// Vectors from j on, `count` of them.
    pub fn part(self, j: usize, count: usize) -> Self {
        let step = match self.layout {
            Layout::Columns { .. } => 1,
            Layout::Rows { inc } => inc,
        };
        let x = self.x.wrapping_offset(j as isize * step);
        Self { count, x, ..self }
    }

    fn vector(self, j: usize) -> Strided<T> {
        let inc = match self.layout {
            Layout::Columns { inc } => inc,
            Layout::Rows { .. } => 1,
        };
        Strided::new(self.part(j, 1).x, inc)
    }

    /// One fold of all vectors, with its last step.
    ///
    /// # Safety
    /// The vectors must be valid, `params` null or one per vector, `out` for one per vector; there must be a kernel
    /// for the layout.
    unsafe fn fold(self, f: FoldMany<T>, params: *const Compute<T>, out: *mut Compute<T>) {
        let Self {
            count,
            len,
            x,
            layout,
            work,
        } = self;
        // SAFETY: as the caller's.
        unsafe {
            match (layout, f.columns) {
                (Layout::Columns { inc }, Some(columns)) => {
                    columns(len, count, x, inc, x, inc, params, out, work);
                }
                (Layout::Columns { .. }, None) => {}
                (Layout::Rows { inc }, _) => (f.rows)(count, len, x, inc, x, 1, params, out),
            }
        }
    }
}

impl<T: Storage> OfVector<T> {
    /// The same, with a recipe that the compiler knows.
    #[inline(always)]
    pub fn with(&self, recipe: Recipe) -> Self {
        Self {
            folds: self.folds,
            recipe,
            ddof: self.ddof,
        }
    }

    /// The reduction of `n` elements.
    ///
    /// # Safety
    /// `x` must be valid at `n` elements.
    #[inline(always)]
    pub unsafe fn vector(&self, exec: &Exec<'_>, n: usize, x: Strided<T>) -> Compute<T> {
        // SAFETY: as the caller's.
        unsafe { self.passes(exec, n, x, 0, Compute::<T>::ZERO) }
    }

    /// The passes of a vector from number `first` on, before which `known` is known.
    ///
    /// # Safety
    /// As [`OfVector::vector`].
    #[inline(always)]
    unsafe fn passes(
        &self,
        exec: &Exec<'_>,
        n: usize,
        x: Strided<T>,
        first: u32,
        mut known: Compute<T>,
    ) -> Compute<T> {
        let recipe = self.recipe;
        for (pass, f) in (0..).zip(&self.folds).skip(first as usize) {
            let Some(f) = *f else {
                break;
            };
            let param = match pass {
                0 => Compute::<T>::ZERO,
                _ if !recipe.wants(known) => break,
                _ => recipe.param(known),
            };
            // SAFETY: as the caller's.
            let folded = unsafe { fold(exec, f, n, x, x, param) };
            // Hidden from the compiler, which would convert the count before the fold, into a register on which the
            // previous call's result still depends.
            let n = if recipe.divides() { black_box(n) } else { n };
            let counts = Counts::of_one(n, self.ddof);
            known = recipe.after(pass, known, folded, counts, Cpu);
        }
        known
    }
}

impl<T: Storage> Reduction<T> {
    /// Whether columns have kernels of their own.
    pub fn takes_columns(&self) -> bool {
        self.many[0].is_some_and(|fold| fold.columns.is_some())
    }

    /// How many vectors [`Reduction::many`] takes at once, at most.
    pub fn most_at_once(&self) -> usize {
        if self.recipe.keeps() {
            COLUMNS
        } else {
            usize::MAX
        }
    }

    /// The reductions of many vectors, at most [`Reduction::most_at_once`].
    ///
    /// # Safety
    /// The vectors must be valid, `out` for one element per vector.
    pub unsafe fn many(&self, m: Vectors<T>, out: *mut Compute<T>) {
        let [Some(first), second] = self.many else {
            return;
        };
        let none = core::ptr::null();
        // SAFETY: as the caller's.
        unsafe {
            match second {
                None => {
                    m.fold(first, none, out);
                    if !self.recipe.is_fold() && self.after(0, m, out, out) {
                        self.unusual_passes(m, out);
                    }
                }
                Some(second) if self.recipe.keeps() => {
                    let mut known = [Compute::<T>::ZERO; COLUMNS];
                    let p = known.as_mut_ptr();
                    m.fold(first, none, p);
                    self.after(0, m, p, p);
                    // A stand-in keeps what a vector without a second pass would do harmless.
                    let param = |known| {
                        if self.recipe.wants(known) {
                            self.recipe.param(known)
                        } else {
                            Compute::<T>::ZERO
                        }
                    };
                    let params = known.map(param);
                    m.fold(second, params.as_ptr(), out);
                    self.after(1, m, known.as_ptr(), out);
                }
                // Its parameter is what is known, and is read before the result is written.
                Some(second) => {
                    m.fold(first, none, out);
                    self.after(0, m, out, out);
                    m.fold(second, out, out);
                    self.after(1, m, out, out);
                }
            }
        }
    }

    /// Turns what a pass has folded, in `out`, into what is known after it. Returns whether some vector needs one of
    /// the passes that few vectors take.
    ///
    /// # Safety
    /// `known` and `out`, which may be one, must have an element for each vector.
    unsafe fn after(
        &self,
        pass: u32,
        m: Vectors<T>,
        known: *const Compute<T>,
        out: *mut Compute<T>,
    ) -> bool {
        let counts = Counts::of_many(m.len, self.one.ddof);
        if let Some(divisor) = self.recipe.divisor(pass, counts) {
            // SAFETY: the caller vouches for the elements.
            divisor.divide_each(unsafe { core::slice::from_raw_parts_mut(out, m.count) });
            return false;
        }
        let mut unusual = false;
        /// With the recipe as a constant, so that each has a loop of its own.
        macro_rules! each {
            ($($recipe:ident)*) => {
                match self.recipe {
                    $(Recipe::$recipe => {
                        const RECIPE: Recipe = Recipe::$recipe;
                        for j in 0..m.count {
                            // SAFETY: the caller vouches for the elements.
                            unsafe {
                                let (known, folded) = (*known.add(j), *out.add(j));
                                let known = if pass > 0 && !RECIPE.wants(known) {
                                    known
                                } else {
                                    RECIPE.after(pass, known, folded, counts, CpuOfMany)
                                };
                                *out.add(j) = known;
                                unusual |= RECIPE.usual_passes() < RECIPE.passes() && RECIPE.wants(known);
                            }
                        }
                    })*
                    Recipe::Sum | Recipe::Plain | Recipe::Mean | Recipe::Variance => {}
                }
            };
        }
        each!(Norm LogSumExp);
        unusual
    }

    /// The passes that few vectors take, one vector at a time.
    ///
    /// # Safety
    /// As [`Reduction::many`]; `out` must hold what is known.
    unsafe fn unusual_passes(&self, m: Vectors<T>, out: *mut Compute<T>) {
        for j in 0..m.count {
            // SAFETY: as the caller's.
            unsafe {
                let known = *out.add(j);
                if self.recipe.wants(known) {
                    let first = self.recipe.usual_passes();
                    *out.add(j) = self
                        .one
                        .passes(&Exec::new(), m.len, m.vector(j), first, known);
                }
            }
        }
    }
}
