//! Blocks of results, which are computed together, and their distribution among threads.

use super::gather::LINE;
use super::plan::{AxisPlan, KeptAxis};
use crate::detect::l2_bytes;
use crate::exec::{Exec, share};
use crate::tensor::list::List;

/// Returns the bytes of a block of columns that are gathered or converted in scratch memory: half of L2, since longer parts
/// of rows are read faster, or what each task's part of the workspace has room for.
pub fn block_bytes(exec: &Exec<'_>) -> usize {
    const LEAST: usize = 256 << 10;
    const MOST: usize = 1 << 20;
    let half = l2_bytes() / 2;
    let room = exec.scratch_room(exec.threads()).saturating_sub(LINE);
    half.clamp(LEAST, MOST).min(room)
}

/// The results of a reduction in blocks: of each run of the outer axes, `each` indices of one axis and all of the inner
/// ones.
pub struct ResultBlocks {
    outer: List<KeptAxis>,
    pub split: KeptAxis,
    each: usize,
    pub inner: List<KeptAxis>,
}

/// A block: where its elements and its results begin, and how many indices of the split axis it has.
#[derive(Clone, Copy)]
pub struct ResultBlock {
    pub x: *mut u8,
    pub out: *mut u8,
    pub len: usize,
}

impl ResultBlocks {
    /// Returns blocks of `each` indices of axis `number` of the plan, or of one result if there is no such axis.
    pub fn of_axis(plan: &AxisPlan, number: usize, each: usize) -> Self {
        let mut blocks = Self {
            outer: List::new(),
            split: KeptAxis {
                count: 1,
                x: 0,
                out: 0,
            },
            each: each.max(1),
            inner: List::new(),
        };
        for (i, &one) in plan.kept.iter().enumerate() {
            if i == number {
                blocks.split = one;
            } else {
                blocks.outer.push(one);
            }
        }
        blocks
    }

    /// Returns blocks of at most `most` results: as many of the inner axes as fit as a whole, and a part of the next.
    // Not inlined, as its lists would stay on the stack while blocks are computed.
    #[inline(never)]
    pub fn of_results(plan: &AxisPlan, most: usize) -> Self {
        let (mut results, mut whole) = (1, 0);
        for one in plan.kept.iter().rev() {
            if results * one.count > most {
                break;
            }
            results *= one.count;
            whole += 1;
        }
        let split = plan.kept.len().wrapping_sub(whole + 1);
        let mut blocks = Self::of_axis(plan, split, most / results.max(1));
        let outer = blocks.outer.clone();
        blocks.outer = List::new();
        for (i, &one) in outer.iter().enumerate() {
            if i < plan.kept.len() - whole - usize::from(whole < plan.kept.len()) {
                blocks.outer.push(one);
            } else {
                blocks.inner.push(one);
            }
        }
        blocks
    }

    /// Returns the number of blocks.
    pub fn count(&self) -> usize {
        let outer: usize = self.outer.iter().map(|one| one.count).product();
        outer * share(self.split.count, self.each)
    }

    /// Returns a block.
    fn get(&self, plan: &AxisPlan, number: usize) -> ResultBlock {
        let parts = share(self.split.count, self.each).max(1);
        let from = number % parts * self.each;
        let mut block = ResultBlock {
            x: plan.x,
            out: plan.out,
            len: self.each.min(self.split.count - from),
        };
        let mut rest = number / parts;
        let mut advance = |one: &KeptAxis, runs: usize| {
            let runs = runs as isize;
            block.x = block.x.wrapping_offset(one.x.wrapping_mul(runs));
            block.out = block.out.wrapping_offset(one.out.wrapping_mul(runs));
        };
        advance(&self.split, from);
        for one in self.outer.iter().rev() {
            advance(one, rest % one.count.max(1));
            rest /= one.count.max(1);
        }
        block
    }

    /// Calls `job` with each block, and with the number of the task that it belongs to. If `job` takes threads itself,
    /// it gets them where one block is work enough for several.
    pub fn for_each_block(
        &self,
        plan: &AxisPlan,
        exec: &Exec<'_>,
        takes_threads: bool,
        job: &(dyn Fn(&Exec<'_>, usize, ResultBlock) + Sync),
    ) {
        let count = self.count();
        let bytes = plan
            .results
            .saturating_mul(plan.elements)
            .saturating_mul(plan.size);
        let tasks = if takes_threads && exec.tasks(bytes / count.max(1), usize::MAX) > 1 {
            1
        } else {
            exec.tasks(bytes, count)
        };
        let within = exec.within_tasks();
        if tasks == 1 {
            let own = within();
            return (0..count).for_each(|number| {
                let block = self.get(plan, number);
                if takes_threads {
                    job(exec, 0, block);
                } else {
                    job(&own, 0, block);
                }
            });
        }
        let each = share(count, tasks);
        exec.run(tasks, &|task| {
            let numbers = (task * each).min(count)..(task * each + each).min(count);
            numbers.for_each(|number| job(&within(), task, self.get(plan, number)));
        });
    }
}
