//! Each reduction to one element as a value: the kernels of its folds and its recipe. A value refers to the folds of
//! its own reduction only, so that a program links no others; the code here is compiled once for all reductions.

use core::hint::black_box;
use core::mem::MaybeUninit;

use super::fold::{FoldKernels, FoldManyKernels, StridedVector, fold};
use super::gathered::{AllPasses, all_passes, of_strided};
use super::short::{in_columns, is_short};
use super::vectors::{COLUMNS, Vectors};
use crate::dispatch::{Compute, FoldOfMany, FoldWidened, Kernels, is_element};
use crate::element::{Element, Storage};
use crate::exec::Exec;
use crate::for_each_reduction;
use crate::level::Level;
use crate::ops::reduce::{self, WorkArea};
use crate::recipe::{Cpu, CpuOfMany, Divisor, Divisors, Recipe};

/// Returns the folds of columns of 16-bit floats for a level, one for each pass.
type WidenedFolds<T> = fn(Level) -> [Option<FoldWidened<T>>; 2];

/// The kernels and the recipe of a reduction of elements of the type `T`, or of a type that is widened to it.
pub struct ReductionKernels<T: Element> {
    /// The reduction of one vector.
    pub one: OfVector<T>,
    /// The folds of many vectors, for the passes that nearly every vector needs.
    many: [Option<FoldManyKernels<T>>; 2],
    /// Those of columns of 16-bit floats, if the elements are such. By a pointer, other programs do not link them.
    widened: Option<WidenedFolds<T>>,
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
            Some(<reduce::$First as FoldOfMany<Compute<$M>>>::widened::<$M>($level)),
            Some(<reduce::$Second as FoldOfMany<Compute<$M>>>::widened::<$M>($level)),
        ]
    };
    (@widened $M:ident $level:ident [$First:ident $(, $Other:ident)*]) => {
        [Some(<reduce::$First as FoldOfMany<Compute<$M>>>::widened::<$M>($level)), None]
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
                of_strided(self.level, x, |chunks| all_passes(self, n, chunks))
            },
            _ => known,
        }
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
        // A cache holds the vectors after the first pass.
        let again = Vectors {
            work: WorkArea {
                from_memory: false,
                ..m.work
            },
            ..m
        };
        let [first, second] = self.many;
        // SAFETY: as the caller's.
        unsafe {
            let unusual = self.passes(m.count, m.len, out, |pass, params, to| {
                match if pass == 0 { first } else { second } {
                    Some(f) if pass == 0 => m.fold(f, params, to),
                    Some(f) => again.fold(f, params, to),
                    None => {}
                }
            });
            if unusual {
                self.unusual(m, out);
            }
        }
    }

    /// Reduces the columns of a matrix of 16-bit floats, at most [`ReductionKernels::most_at_once`]. Returns whether one may
    /// need a further pass; its result is negative.
    ///
    /// # Safety
    /// The matrix must have n rows of `count` elements, `inc` elements apart, of the type that this value was made for. `out`
    /// must be valid for an element for each column, padded to [`PADDING`](reduce::PADDING), and `base` for
    /// [`widened_work_bytes`](reduce::widened_work_bytes).
    #[inline(never)]
    pub unsafe fn widened(
        &self,
        [n, count]: [usize; 2],
        x: *const u8,
        inc: isize,
        base: *mut T,
        out: *mut T,
    ) -> bool {
        let Some(widened) = self.widened else {
            return false;
        };
        let folds = widened(self.level);
        // Parameters are loaded as whole registers.
        let padding = count.next_multiple_of(reduce::PADDING) - count;
        // SAFETY: as the caller's.
        unsafe {
            out.add(count).write_bytes(0, padding);
            self.passes(count, n, out, |pass, params, to| {
                if let Some(Some(fold)) = folds.get(pass) {
                    fold(n, count, x, inc, params, to, base);
                }
            })
        }
    }

    /// Makes the passes that nearly every vector needs over `count` vectors of n elements: `fold(pass, params, to)` folds
    /// them. Returns whether a vector may need more; its result is negative.
    ///
    /// # Safety
    /// `out` must be valid for an element for each vector, and the folds write as many.
    #[inline(always)]
    unsafe fn passes(
        &self,
        count: usize,
        n: usize,
        out: *mut T,
        mut fold: impl FnMut(usize, *const T, *mut T),
    ) -> bool {
        let none = core::ptr::null();
        // A kernel reads the parameter of each vector before it writes the result, which may be at the same place.
        // SAFETY: as the caller's.
        unsafe {
            match self.many[1] {
                None => {
                    fold(0, none, out);
                    !self.recipe.is_single_fold() && self.after(0, [count, n], out, out)
                }
                Some(_) if self.recipe == Recipe::LogSumExp => {
                    let mut known = [const { MaybeUninit::<T>::uninit() }; COLUMNS];
                    let known = known.as_mut_ptr().cast();
                    fold(0, none, known);
                    self.after(0, [count, n], known, known);
                    const RECIPE: Recipe = Recipe::LogSumExp;
                    for j in 0..count {
                        let value = *known.add(j);
                        // Vectors that need no second pass take it too, with the harmless parameter 0; `after_pass`
                        // ignores its result.
                        *out.add(j) = if RECIPE.needs_pass(1, value) {
                            value
                        } else {
                            T::ZERO
                        };
                    }
                    fold(1, out, out);
                    self.after(1, [count, n], known, out)
                }
                // The parameters are the known values themselves.
                Some(_) => {
                    fold(0, none, out);
                    self.after(0, [count, n], out, out);
                    fold(1, out, out);
                    self.after(1, [count, n], out, out)
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
    unsafe fn after(
        &self,
        pass: u32,
        [count, n]: [usize; 2],
        known: *const T,
        out: *mut T,
    ) -> bool {
        let divisors = Divisors::of_many(n, self.one.ddof);
        let divisor = self.recipe.divisor(pass, divisors);
        if let (Some(divisor), Some(divide_each)) = (divisor, self.divide_each) {
            // SAFETY: the caller vouches for the elements.
            let (not_finite, quotients) = unsafe {
                let not_finite = divide_each(count, divisor, out);
                (not_finite, core::slice::from_raw_parts_mut(out, count))
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
                unsafe { add_logarithms(count, known, out) };
            }
            return false;
        }
        let mut unusual = false;
        if self.recipe == Recipe::Norm {
            const RECIPE: Recipe = Recipe::Norm;
            for j in 0..count {
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
                        None => {
                            of_strided(self.level, x, |chunks| all_passes(&self.one, m.len, chunks))
                        }
                    };
                }
            }
        }
    }
}
