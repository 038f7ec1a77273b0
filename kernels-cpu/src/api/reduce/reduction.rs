//! Each reduction to one element as a value: the kernels of its folds and its recipe. A value refers to the folds of
//! its own reduction only, so that a program links no others; the code here is compiled once for all reductions.

use core::hint::black_box;
use core::mem::MaybeUninit;

use super::fold::{FoldKernels, FoldManyKernels, StridedVector, fold};
use super::gathered::{AllPasses, all_passes, of_strided};
use super::short::{in_columns, is_short};
use super::vectors::{COLUMNS, Vectors};
use super::widened_columns::{WidenedFold, WidenedFolds};
use crate::dispatch::{Compute, Kernels, is_element};
use crate::element::{Element, Storage};
use crate::exec::Exec;
use crate::for_each_reduction;
use crate::level::Level;
use crate::ops::reduce::{self, WorkArea};
use crate::recipe::{Cpu, CpuOfMany, Divisor, Divisors, Recipe};

/// The kernels and the recipe of a reduction of elements of the type `T`, or of a type that is widened to it.
pub struct ReductionKernels<T: Element> {
    /// The reduction of one vector.
    pub one: OfVector<T>,
    /// The folds of many vectors, for the passes that nearly every vector needs.
    many: [Option<FoldManyKernels<T>>; 2],
    /// Those of columns of 16-bit floats, if it was made for such. By a pointer, other programs do not link them.
    pub(super) widened: Option<fn(Level) -> WidenedFolds<T>>,
    pub level: Level,
    /// The division of sums, of recipes that divide.
    divide_each: Option<DivideEach<T>>,
    /// The last step of [`Recipe::LogSumExp`].
    add_logarithms: Option<AddLogarithms<T>>,
    pub recipe: Recipe,
}

/// A reduction of one vector.
pub struct OfVector<T: Element> {
    /// The folds of its passes.
    pub(super) folds: [Option<FoldKernels<T>>; 3],
    /// [`all_passes`], of recipes with passes that few vectors need. By a pointer, other programs do not link it.
    all_passes: Option<AllPasses<T>>,
    pub recipe: Recipe,
    pub(super) ddof: usize,
    level: Level,
}

/// Makes a function for each row of the table, which returns the value of that reduction.
macro_rules! reductions {
    ({} $($name:ident $out:ident $folds:tt $recipe:ident)*) => {
        $(reductions!(@$out $name $folds $recipe);)*
    };
    (@count $($row:tt)*) => {
        reductions!(@element $($row)*);
    };
    (@element $name:ident $folds:tt $recipe:ident) => {
        #[inline(always)]
        pub fn $name<M: Storage>(level: Level, ddof: usize) -> ReductionKernels<Compute<M>> {
            let recipe = Recipe::$recipe;
            ReductionKernels {
                one: OfVector {
                    folds: reductions!(@one level $folds),
                    all_passes: if recipe.usual_passes() < recipe.passes() {
                        Some(all_passes)
                    } else {
                        None
                    },
                    recipe,
                    ddof,
                    level,
                },
                many: reductions!(@many level $folds),
                widened: if const { is_element::<M>() } {
                    None
                } else {
                    Some(|level| reductions!(@widened M level $folds))
                },
                level,
                divide_each: if recipe.divides() {
                    Some(Kernels::<Compute<M>>::new(level).divide_each())
                } else {
                    None
                },
                add_logarithms: match recipe {
                    Recipe::LogSumExp => Some(Kernels::<Compute<M>>::new(level).add_logarithms()),
                    _ => None,
                },
                recipe,
            }
        }
    };
    (@index $($row:tt)*) => {};
    (@one $level:ident [$First:ident]) => {
        [Some(FoldKernels::of::<reduce::$First>($level)), None, None]
    };
    (@one $level:ident [$First:ident, $Second:ident]) => {
        [Some(FoldKernels::of::<reduce::$First>($level)), Some(FoldKernels::of::<reduce::$Second>($level)), None]
    };
    (@one $level:ident [$First:ident, $Second:ident, $Third:ident]) => {
        [
            Some(FoldKernels::of::<reduce::$First>($level)),
            Some(FoldKernels::of::<reduce::$Second>($level)),
            Some(FoldKernels::of::<reduce::$Third>($level)),
        ]
    };
    // With three passes (`nrm2`), few vectors need the second and the third.
    (@many $level:ident [$First:ident, $Second:ident]) => {
        [Some(FoldManyKernels::of::<reduce::$First>($level)), Some(FoldManyKernels::of::<reduce::$Second>($level))]
    };
    (@many $level:ident [$First:ident $(, $Other:ident)*]) => {
        [Some(FoldManyKernels::of::<reduce::$First>($level)), None]
    };
    (@widened $M:ident $level:ident [$First:ident, $Second:ident]) => {
        [
            Some(WidenedFold::of::<reduce::$First, $M>($level)),
            Some(WidenedFold::of::<reduce::$Second, $M>($level)),
        ]
    };
    (@widened $M:ident $level:ident [$First:ident $(, $Other:ident)*]) => {
        [Some(WidenedFold::of::<reduce::$First, $M>($level)), None]
    };
}
for_each_reduction!(reductions! {} [name result folds recipe]);

impl<T: Element> OfVector<T> {
    /// Returns the same reduction with `recipe`, which is equal but known at compile time.
    #[inline(always)]
    pub fn with(&self, recipe: Recipe) -> Self {
        Self {
            folds: self.folds,
            all_passes: self.all_passes,
            recipe,
            ddof: self.ddof,
            level: self.level,
        }
    }

    /// Reduces `n` elements.
    ///
    /// # Safety
    /// `x` must be valid at `n` elements.
    #[inline(always)]
    pub unsafe fn vector<M: Storage<Compute = T>>(
        &self,
        exec: &Exec<'_>,
        n: usize,
        x: StridedVector<M>,
    ) -> T {
        let (recipe, mut known) = (self.recipe, T::ZERO);
        for (pass, f) in (0..recipe.usual_passes()).zip(&self.folds) {
            let Some(f) = *f else {
                break;
            };
            let param = match pass {
                0 => T::ZERO,
                _ if !recipe.needs_pass(pass, known) => break,
                _ => recipe.pass_param(pass, known),
            };
            // SAFETY: as the caller's.
            let folded = unsafe { fold(exec, f, n, x, x, param) };
            // Hidden from the compiler, which would otherwise convert the count before the fold. The conversion depends
            // on the old value of its register, and would wait for the result of the previous call.
            let n = if recipe.divides() { black_box(n) } else { n };
            let divisors = Divisors::of_one(n, self.ddof);
            known = recipe.after_pass(pass, known, folded, divisors, Cpu);
        }
        match self.all_passes {
            // SAFETY: as the caller's.
            Some(all_passes) if recipe.needs_pass(recipe.usual_passes(), known) => unsafe {
                self.in_all_passes(all_passes, n, x)
            },
            _ => known,
        }
    }

    /// Reduces `n` elements in all passes. A function of its own because of its stack.
    ///
    /// # Safety
    /// As [`OfVector::vector`].
    #[cold]
    #[inline(never)]
    unsafe fn in_all_passes<M: Storage<Compute = T>>(
        &self,
        all_passes: AllPasses<T>,
        n: usize,
        x: StridedVector<M>,
    ) -> T {
        // SAFETY: as the caller's.
        of_strided(self.level, x, |chunks| unsafe {
            all_passes(self, n, chunks)
        })
    }
}

/// [`reduce::divide_each`] of a level.
type DivideEach<T> = unsafe fn(usize, Divisor<T>, *mut T) -> u32;
/// [`reduce::add_logarithms`] of a level.
type AddLogarithms<T> = unsafe fn(usize, *const T, *mut T);

impl<T: Element> ReductionKernels<T> {
    /// Returns whether [`ReductionKernels::many`] splits these vectors into blocks that stay in L1.
    pub fn splits(&self, m: &Vectors<T>) -> bool {
        is_short(self.level, m, self.recipe.usual_passes() == 1)
    }

    /// Returns how many vectors [`ReductionKernels::many`] accepts at most, unless it splits them.
    pub fn most_at_once(&self) -> usize {
        if self.recipe.keeps_known() {
            COLUMNS
        } else {
            u32::MAX as usize
        }
    }

    /// Reduces many vectors, at most [`ReductionKernels::most_at_once`].
    ///
    /// # Safety
    /// The vectors must be valid, and `out` for one element for each vector.
    // Not inlined: otherwise each crate that instantiates a caller gets its own copy.
    #[inline(never)]
    pub unsafe fn many(&self, m: Vectors<T>, out: *mut T) {
        if self.splits(&m) {
            // SAFETY: as the caller's.
            return unsafe { self.many_short(m, out) };
        }
        let [Some(first), second] = self.many else {
            return;
        };
        // A cache holds the vectors after the first pass.
        let again = Vectors {
            work: WorkArea {
                from_memory: false,
                ..m.work
            },
            ..m
        };
        let none = core::ptr::null();
        // A kernel reads the parameter of each vector before it writes the result, which may be at the same place.
        // SAFETY: as the caller's.
        unsafe {
            match second {
                None => {
                    m.fold(first, none, out);
                    if !self.recipe.is_single_fold() && self.after(0, m, out, out) {
                        self.unusual(m, out);
                    }
                }
                Some(second) if self.recipe == Recipe::LogSumExp => {
                    let mut known = [const { MaybeUninit::<T>::uninit() }; COLUMNS];
                    let known = known.as_mut_ptr().cast();
                    m.fold(first, none, known);
                    self.after(0, m, known, known);
                    const RECIPE: Recipe = Recipe::LogSumExp;
                    for j in 0..m.count {
                        let value = *known.add(j);
                        // Vectors that need no second pass take it too, with the harmless parameter 0; `after_pass`
                        // ignores its result.
                        *out.add(j) = if RECIPE.needs_pass(1, value) {
                            value
                        } else {
                            T::ZERO
                        };
                    }
                    again.fold(second, out, out);
                    self.after(1, m, known, out);
                }
                // The parameters are the known values themselves.
                Some(second) => {
                    m.fold(first, none, out);
                    self.after(0, m, out, out);
                    again.fold(second, out, out);
                    if self.after(1, m, out, out) {
                        self.unusual(m, out);
                    }
                }
            }
        }
    }

    /// [`ReductionKernels::many`] of short rows. A function of its own, because of its stack.
    ///
    /// # Safety
    /// As [`ReductionKernels::many`].
    #[inline(never)]
    unsafe fn many_short(&self, m: Vectors<T>, out: *mut T) {
        let out = StridedVector::new(out.cast_const(), 1);
        // SAFETY: as the caller's. The blocks are not split again.
        unsafe {
            in_columns(self.level, m, out, |block, out| {
                self.many(block, out.at(0).cast_mut())
            })
        };
    }

    /// Turns the results of a pass, in `out`, into the values that are known after it. Returns whether a vector needs
    /// one of the passes that few vectors need.
    ///
    /// # Safety
    /// `known` and `out`, which may be the same, must have an element for each vector.
    unsafe fn after(&self, pass: u32, m: Vectors<T>, known: *const T, out: *mut T) -> bool {
        let divisors = Divisors::of_many(m.len, self.one.ddof);
        let divisor = self.recipe.divisor(pass, divisors);
        if let (Some(divisor), Some(divide_each)) = (divisor, self.divide_each) {
            // SAFETY: the caller vouches for the elements.
            let (not_finite, quotients) = unsafe {
                let not_finite = divide_each(m.count, divisor, out);
                (not_finite, core::slice::from_raw_parts_mut(out, m.count))
            };
            let mut unusual = false;
            let are_squares = self.recipe == Recipe::StandardDeviation && pass == 1;
            if are_squares || not_finite > 0 {
                for quotient in quotients {
                    *quotient = self.recipe.known_of_many(pass, *quotient);
                    unusual |= pass == 1 && quotient.is_negative();
                }
            }
            return unusual;
        }
        if let Some(add_logarithms) = self.add_logarithms {
            if pass > 0 {
                // SAFETY: the caller vouches for the elements.
                unsafe { add_logarithms(m.count, known, out) };
            }
            return false;
        }
        let mut unusual = false;
        if self.recipe == Recipe::Norm {
            const RECIPE: Recipe = Recipe::Norm;
            for j in 0..m.count {
                // SAFETY: the caller vouches for the elements.
                unsafe {
                    let (known, folded) = (*known.add(j), [*out.add(j)].into());
                    let result = RECIPE.after_pass(pass, known, folded, divisors, CpuOfMany);
                    *out.add(j) = result;
                    unusual |= RECIPE.needs_pass(1, result);
                }
            }
        }
        unusual
    }

    /// Reduces the few vectors that need more passes (marked by a minus sign in `out`), one at a time.
    ///
    /// # Safety
    /// As [`ReductionKernels::many`].
    #[cold]
    #[inline(never)]
    unsafe fn unusual(&self, m: Vectors<T>, out: *mut T) {
        let Some(all_passes) = self.one.all_passes else {
            return;
        };
        for j in 0..m.count {
            // SAFETY: as the caller's.
            unsafe {
                let (known, x) = (*out.add(j), m.vector(j));
                if known.is_negative() {
                    let element = |i| *x.at(i);
                    *out.add(j) = match self.recipe.result_of_many(known, m.len, element) {
                        Some(result) => result,
                        None => self.one.in_all_passes(all_passes, m.len, x),
                    };
                }
            }
        }
    }
}
