//! Runs an elementwise kernel, which takes contiguous arrays, over tensors with any strides. Each element is computed
//! alone ("CANONICAL ORDERS" in `include/diptych.h`), so blocks and buffers do not change bits. Threads share
//! the outermost loop of 64 steps or more, else the longest loop; `block_walk.rs` has what each does.

use super::cast::Conversion;
use super::loops::{Loops, MAX_OPERANDS};
use crate::detect;
use crate::exec::{Exec, share};
use crate::level::Level;

/// A kernel for one type of elements, on `n` elements: of the inputs, of the output; with non-temporal stores or not.
pub type ArrayKernel = unsafe fn(
    level: Level,
    n: usize,
    inputs: &[*const u8; MAX_OPERANDS - 1],
    out: *mut u8,
    stream: bool,
);

/// What is done to contiguous arrays.
#[derive(Clone, Copy)]
pub enum ArrayOperation {
    /// A kernel for one type of elements.
    Kernel(ArrayKernel),
    /// A conversion of the only input to the type of the output.
    Conversion(Conversion),
}

/// An operation on arrays, and the tensors that it runs over.
#[derive(Clone, Copy)]
pub struct Blocks<'a> {
    pub operation: ArrayOperation,
    pub level: Level,
    /// Bytes of an element of each tensor.
    pub sizes: [usize; MAX_OPERANDS],
    pub loops: &'a Loops,
    /// Inputs that the kernel takes as one number, the same along the innermost loop.
    pub is_scalar: [bool; MAX_OPERANDS],
    /// Whether the kernel reads the output.
    pub updates: bool,
}

/// A [`Blocks`] that tasks share.
struct SharedBlocks<'a>(Blocks<'a>);

// SAFETY: the addresses in it are read by each task; what tasks write at them is apart.
unsafe impl Sync for SharedBlocks<'_> {}

impl Blocks<'_> {
    /// Runs the kernel over all elements, with the threads of `exec`.
    ///
    /// # Safety
    /// Every tensor must be valid at the elements that the loops reach, and the output apart from inputs that are not
    /// exactly the output.
    pub unsafe fn run(&self, exec: &Exec<'_>) {
        let count = self.loops.count();
        let bytes = count.saturating_mul(self.largest());
        let in_place = self.updates || self.inputs().any(|k| self.starts_at_output(k));
        let stream = !in_place && self.exceeds_llc();
        let Some((number, longest)) = self.loop_to_split() else {
            // SAFETY: as the caller's.
            return unsafe { self.part(stream) };
        };
        const GRAIN: usize = 64;
        let grain = if number + 1 == self.loops.loops.len() {
            GRAIN
        } else {
            1
        };
        let grains = longest.div_ceil(grain);
        let tasks = exec.tasks(bytes, grains);
        if tasks == 1 {
            // SAFETY: as the caller's.
            return unsafe { self.part(stream) };
        }
        let each = share(grains, tasks) * grain;
        let whole = SharedBlocks(*self);
        exec.run(tasks, &move |task| {
            let whole = &whole;
            let from = (task * each).min(longest);
            let loops = whole.0.restricted(number, from, each.min(longest - from));
            let part = Blocks {
                loops: &loops,
                ..whole.0
            };
            // SAFETY: as the caller's; no other task writes this part.
            unsafe { part.part(stream) };
        });
    }

    /// Returns whether the arrays together are larger than the last cache.
    pub(super) fn exceeds_llc(&self) -> bool {
        let bytes = self.loops.count().saturating_mul(self.largest());
        let arrays = 1 + self.inputs().count();
        detect::exceeds_llc(bytes.saturating_mul(arrays))
    }

    /// Bytes of the largest element.
    pub(super) fn largest(&self) -> usize {
        let sizes = self.sizes.iter().take(self.loops.operands);
        sizes.copied().max().unwrap_or(1)
    }

    /// The inputs that are arrays, by their numbers among the tensors.
    pub(super) fn inputs(&self) -> impl Iterator<Item = usize> + '_ {
        let arrays = self.is_scalar.iter().take(self.loops.operands).enumerate();
        arrays
            .skip(1)
            .filter(|(_, is_scalar)| !**is_scalar)
            .map(|(k, _)| k)
    }

    fn starts_at_output(&self, k: usize) -> bool {
        let [out, ..] = self.loops.first;
        self.loops.first.get(k) == Some(&out)
    }

    /// Returns the loop whose runs are shared among threads, and their number: the outermost loop with many runs, else
    /// the longest.
    fn loop_to_split(&self) -> Option<(usize, usize)> {
        const MANY: usize = 64;
        let counts = || self.loops.loops.iter().map(|one| one.count).enumerate();
        counts()
            .find(|&(_, count)| count >= MANY)
            .or_else(|| counts().max_by_key(|&(_, count)| count))
    }

    /// Returns the loops with `count` runs of one of them, from number `from` on.
    fn restricted(&self, number: usize, from: usize, count: usize) -> Loops {
        let mut part = self.loops.clone();
        if let Some(one) = part.loops.get_mut(number) {
            one.count = count;
            for (first, step) in part.first.iter_mut().zip(one.steps) {
                *first = first.wrapping_offset(step.wrapping_mul(from as isize));
            }
        }
        part
    }

    /// Runs the kernel on `n` elements.
    ///
    /// # Safety
    /// The tensors must be contiguous and valid from these addresses on.
    #[inline(always)]
    pub(super) unsafe fn call(
        &self,
        n: usize,
        [out, inputs @ ..]: [*mut u8; MAX_OPERANDS],
        stream: bool,
    ) {
        let inputs = inputs.map(<*mut u8>::cast_const);
        // SAFETY: as the caller's.
        unsafe {
            match self.operation {
                ArrayOperation::Kernel(kernel) => kernel(self.level, n, &inputs, out, stream),
                ArrayOperation::Conversion(conversion) => {
                    conversion.convert(self.level, n, inputs[0], out, stream);
                }
            }
        }
    }
}
