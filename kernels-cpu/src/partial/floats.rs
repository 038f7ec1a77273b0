//! Partial reductions of floats: the lanes of an incomplete chunk, and the tree over complete ones.

use super::Operation;
use super::state::State;
use super::tree::Nodes;
use crate::aligned::AlignedBytes;
use crate::api::reduce::fold::{FoldKernels, Join, Named, StridedVector, fold};
use crate::api::reduce::gathered::of_strided;
use crate::dispatch::{FoldIntoLanes, FoldOf};
use crate::element::{Element, Storage};
use crate::exec::Exec;
use crate::for_each_reduction;
use crate::level::Level;
use crate::ops::reduce::{self, chunk_len};
use crate::recipe::{Cpu, Divisors, Folded, Recipe, scaled};

/// Bytes of a chunk.
const CHUNK_BYTES: usize = 8 << 10;

/// The kernels of one fold.
struct Fold<T: Element> {
    whole: FoldKernels<T>,
    into_lanes: FoldIntoLanes<T>,
}

impl<T: Element> Fold<T> {
    fn of<F: FoldOf<T> + Named>(level: Level) -> Self {
        Self {
            whole: FoldKernels::of::<F>(level),
            into_lanes: F::into_lanes(level),
        }
    }

    fn join(&self, a: Folded<T>, b: Folded<T>) -> Folded<T> {
        self.whole.join.both(a, b)
    }

    /// What a lane holds before its first element.
    fn start(&self) -> T {
        match self.whole.join {
            Join::Add => T::ZERO,
            Join::Mul => T::ONE,
            Join::Min => T::INFINITY,
            Join::Max => T::NEG_INFINITY,
        }
    }
}

/// Returns the recipe of a reduction; `None` of those whose result is exact.
macro_rules! recipes {
    ({} $($name:ident $out:ident $folds:tt $recipe:ident)*) => {
        pub fn recipe(operation: Operation) -> Option<Recipe> {
            match operation {
                $(Operation::$name => recipes!(@$out $recipe),)*
                Operation::dot => Some(Recipe::Sum),
            }
        }

        /// The kernels of fold number `index`.
        fn fold_of<T: Element>(operation: Operation, index: usize, level: Level) -> Option<Fold<T>> {
            match operation {
                $(Operation::$name => recipes!(@folds level index $folds),)*
                Operation::dot => Some(Fold::of::<reduce::Dot>(level)),
            }
        }
    };
    (@element $recipe:ident) => { Some(Recipe::$recipe) };
    (@$count_or_index:ident $recipe:ident) => { None };
    (@folds $level:ident $index:ident [$($Fold:ident),*]) => {{
        let folds: &[fn(Level) -> Fold<T>] = &[$(Fold::of::<reduce::$Fold>),*];
        folds.get($index).map(|of| of($level))
    }};
}
for_each_reduction!(recipes! {} [name result folds recipe]);

/// A partial reduction of elements with the type of arithmetic `T`.
pub struct Floats<'a, T: Element> {
    state: &'a mut State,
    fold: Fold<T>,
    recipe: Recipe,
    /// The parameter of the pass: of the fold, or of the scaling of elements if they are scaled.
    param: T,
    is_scaled: bool,
}

impl<'a, T: Element> Floats<'a, T> {
    /// Returns the reduction that `state` holds.
    pub fn new(state: &'a mut State, operation: Operation, level: Level) -> Option<Self> {
        let (recipe, pass) = (recipe(operation)?, state.pass as u32);
        let (index, is_scaled) = recipe.fold_of(pass);
        let known = from_bits::<T>(state.known);
        Some(Self {
            fold: fold_of(operation, index, level)?,
            recipe,
            param: if pass == 0 {
                T::ZERO
            } else {
                recipe.pass_param(pass, known)
            },
            is_scaled,
            state,
        })
    }

    /// Elements of the last chunk, if it is not complete.
    fn open(&self) -> usize {
        (self.state.count % chunk_len::<T>() as u64) as usize
    }

    fn nodes(&self) -> Nodes<T> {
        let chunk = chunk_len::<T>() as u64;
        let (from, end) = (self.state.first / chunk, self.state.end() / chunk);
        let values = &self.state.nodes;
        Nodes::new(from, end, T::ZERO, |i| {
            let [a, b] = values.get(i).copied().unwrap_or_default();
            Folded(from_bits(a), from_bits(b))
        })
    }

    fn set_nodes(&mut self, nodes: &Nodes<T>) {
        self.state.nodes = [[0; 2]; super::state::MOST_NODES];
        for (to, (_, value)) in self.state.nodes.iter_mut().zip(nodes.iter()) {
            *to = [bits(value.0), bits(value.1)];
        }
    }

    /// Adds `n` elements.
    ///
    /// # Safety
    /// `x`, and `y` if the fold reads it, must be valid at `n` elements.
    pub unsafe fn update<M: Storage<Compute = T>>(
        &mut self,
        exec: &Exec<'_>,
        n: usize,
        x: StridedVector<M>,
        y: StridedVector<M>,
    ) {
        let chunk = chunk_len::<T>();
        if self.open() + n < chunk {
            // SAFETY: as the caller's.
            unsafe { self.fold_into_lanes(n, x, y) };
            self.state.count += n as u64;
            return;
        }
        let mut nodes = self.nodes();
        let mut i = 0;
        while i < n {
            let (open, left) = (self.open(), n - i);
            let (x, y) = (x.from(i), y.from(i));
            let whole = if open > 0 { 0 } else { left / chunk };
            // SAFETY: these elements lie in 0..n.
            unsafe {
                let len = if whole == 0 {
                    let len = left.min(chunk - open);
                    self.fold_into_lanes(len, x, y);
                    if open + len == chunk {
                        nodes.push(0, self.halved(), |a, b| self.fold.join(a, b));
                    }
                    len
                } else if self.is_scaled {
                    self.fold_into_lanes(chunk, x, y);
                    nodes.push(0, self.halved(), |a, b| self.fold.join(a, b));
                    chunk
                } else {
                    let level = nodes.next_level(whole as u64);
                    let len = chunk << level;
                    let folded = fold(exec, self.fold.whole, len, x, y, self.param);
                    nodes.push(level, folded, |a, b| self.fold.join(a, b));
                    len
                };
                i += len;
                self.state.count += len as u64;
            }
        }
        if self.open() == 0 {
            self.state.lanes = [0; super::state::LANE_WORDS];
        }
        self.set_nodes(&nodes);
    }

    /// Folds elements of one chunk into the lanes of the state.
    ///
    /// # Safety
    /// As [`Floats::update`]; they must not go beyond the chunk.
    unsafe fn fold_into_lanes<M: Storage<Compute = T>>(
        &mut self,
        n: usize,
        x: StridedVector<M>,
        y: StridedVector<M>,
    ) {
        let (open, level) = (self.open(), self.fold.whole.level);
        let lanes = self.state.lanes.as_mut_ptr().cast::<T>();
        // SAFETY: there is room for the lanes of two accumulators, and in the copy for a chunk; the caller vouches for the
        // elements.
        unsafe {
            if open == 0 {
                for lane in 0..2 * T::LANES {
                    lanes.add(lane).write(self.fold.start());
                }
            }
            of_strided(level, x, |xs| {
                let mut p: *const T = xs.chunk(0, n).0.cast();
                let mut copy = AlignedBytes::<CHUNK_BYTES>::new();
                let mut param = self.param;
                if self.is_scaled {
                    let (factor, of_fold) = scaled(self.param, self.state.pass == 3);
                    let to: *mut T = copy.start();
                    for i in 0..n {
                        to.add(i).write(*p.add(i) * factor);
                    }
                    (p, param) = (to, of_fold);
                }
                of_strided(level, y, |ys| {
                    let q: *const T = ys.chunk(0, n).0.cast();
                    (self.fold.into_lanes)(n, p, q, param, lanes, open);
                });
            });
        }
    }

    /// The value of the last chunk: its lanes, halved.
    fn halved(&self) -> Folded<T> {
        let mut lanes = self.state.lanes;
        let p = lanes.as_mut_ptr().cast::<T>();
        let mut w = T::LANES / 2;
        while w > 0 {
            for lane in 0..w {
                // SAFETY: two accumulators with all lanes.
                unsafe {
                    let at = |lane: usize| Folded(*p.add(lane), *p.add(T::LANES + lane));
                    let Folded(a, b) = self.fold.join(at(lane), at(lane + w));
                    p.add(lane).write(a);
                    p.add(T::LANES + lane).write(b);
                }
            }
            w /= 2;
        }
        // SAFETY: as above.
        unsafe { Folded(*p, *p.add(T::LANES)) }
    }

    /// Appends a reduction that begins where this one ends, at a border of chunks.
    pub fn merge(&mut self, right: &mut State, operation: Operation) {
        let mut nodes = self.nodes();
        let Some(later) = Floats::<T>::new(right, operation, self.fold.whole.level) else {
            return;
        };
        for (level, value) in later.nodes().iter() {
            nodes.push(level, value, |a, b| self.fold.join(a, b));
        }
        self.state.count += later.state.count;
        self.state.lanes = later.state.lanes;
        self.set_nodes(&nodes);
    }

    /// Returns what is known after the pass, and whether another must follow.
    pub fn after_pass(&self) -> (T, bool) {
        let mut nodes = self.nodes();
        let join = |a, b| self.fold.join(a, b);
        if self.open() > 0 {
            nodes.push(0, self.halved(), join);
        }
        let (pass, n) = (self.state.pass as u32, self.state.count as usize);
        let none = Folded(self.fold.start(), T::ZERO);
        let folded = nodes.total(join).unwrap_or(none);
        let divisors = Divisors::of_one(n, self.state.ddof as usize);
        let known = from_bits(self.state.known);
        let known = self.recipe.after_pass(pass, known, folded, divisors, Cpu);
        let next = pass + 1;
        let goes_on = next < self.recipe.passes() && self.recipe.needs_pass(next, known);
        (known, goes_on)
    }
}

/// The bits of a value.
pub fn bits<T: Element>(value: T) -> u64 {
    let mut bits = 0;
    // SAFETY: `f32` and `f64` have at most 8 bytes.
    unsafe { (&raw mut bits).cast::<T>().write(value) };
    bits
}

/// The value with these bits.
pub fn from_bits<T: Element>(bits: u64) -> T {
    // SAFETY: `f32` and `f64` have at most 8 bytes, which may have any value.
    unsafe { (&raw const bits).cast::<T>().read() }
}
