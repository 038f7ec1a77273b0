//! The order in which the threads of a block and the blocks of a grid run.

use core::fmt;
use fastrand::Rng;

use crate::clock::WARP;

/// The order in which threads and blocks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// The threads of a block take turns, each from one access of shared memory to the next.
    Lockstep,
    /// Each warp runs to its next barrier before the next warp runs, in order.
    InOrder,
    /// As [`Schedule::InOrder`], but from the last block, warp and lane to the first.
    Reverse,
    /// Switches between threads at random, at barriers and between them; blocks run in a random order. The number is
    /// the seed.
    Random(u64),
}

impl Schedule {
    /// One schedule of each kind.
    pub const ALL: [Schedule; 4] = [
        Schedule::Lockstep,
        Schedule::InOrder,
        Schedule::Reverse,
        Schedule::Random(1),
    ];
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Lockstep => write!(f, "lockstep"),
            Schedule::InOrder => write!(f, "in order"),
            Schedule::Reverse => write!(f, "reverse"),
            Schedule::Random(seed) => write!(f, "random {seed}"),
        }
    }
}

/// The state of a schedule during a launch.
pub struct Order {
    schedule: Schedule,
    rng: Rng,
    current: usize,
}

impl Order {
    pub fn new(schedule: Schedule) -> Self {
        let seed = match schedule {
            Schedule::Random(seed) => seed,
            _ => 0,
        };
        Self {
            schedule,
            rng: Rng::with_seed(seed),
            current: 0,
        }
    }

    /// Returns the numbers of `count` blocks in the order in which they run.
    pub fn blocks(&mut self, count: u64) -> Box<dyn Iterator<Item = u64>> {
        match self.schedule {
            Schedule::Lockstep | Schedule::InOrder => Box::new(0..count),
            Schedule::Reverse => Box::new((0..count).rev()),
            Schedule::Random(_) => {
                let mut blocks: Vec<u64> = (0..count).collect();
                self.rng.shuffle(&mut blocks);
                Box::new(blocks.into_iter())
            }
        }
    }

    /// Starts a block.
    pub fn start(&mut self, threads: usize) {
        self.current = match self.schedule {
            // In lockstep the thread after the last one is thread 0.
            Schedule::Reverse | Schedule::Lockstep => threads - 1,
            Schedule::InOrder | Schedule::Random(_) => 0,
        };
    }

    /// Returns whether the running thread yields to other threads before it accesses shared memory.
    pub fn yields(&mut self) -> bool {
        match self.schedule {
            Schedule::Lockstep => true,
            Schedule::InOrder | Schedule::Reverse => false,
            Schedule::Random(_) => self.rng.u8(..) < 64,
        }
    }

    /// Chooses the next thread among those that can run.
    pub fn next(&mut self, threads: usize, can_run: impl Fn(usize) -> bool) -> Option<usize> {
        let now = self.current;
        let next = match self.schedule {
            Schedule::Lockstep => (now + 1..threads).chain(0..=now).find(|&t| can_run(t)),
            Schedule::Random(_) => {
                let first = self.rng.usize(..threads);
                (first..threads).chain(0..first).find(|&t| can_run(t))
            }
            Schedule::InOrder | Schedule::Reverse => {
                let back = self.schedule == Schedule::Reverse;
                let mirror = |t: usize| if back { threads - 1 - t } else { t };
                let now = mirror(now);
                let warp = WARP as usize;
                let (first, end) = (now / warp * warp, (now / warp * warp + warp).min(threads));
                let own = (now..end).chain(first..now);
                let others = (end..threads).chain(0..first);
                own.chain(others).map(mirror).find(|&t| can_run(t))
            }
        };
        self.current = next.unwrap_or(now);
        next
    }
}
