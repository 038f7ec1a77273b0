//! The levels and threads on which a random case runs.

use core::fmt;
use core::mem::MaybeUninit;

use diptych_tests::levels::levels;
use diptych_tests::random::Input;
use diptych_tests::raw::{On, Result};
use diptych_tests::report::Report;
use diptych_tests::threads::{Config, Threads};

/// The divisor of the tests' numbers of cases; the device suite has a larger one.
pub const CASES_PER_CASE: u64 = 1;

/// The most multiplications, or elements, of a case.
pub const MOST_WORK: usize = 4_000_000;

/// The threads to run on at every level, and the workspace that the caller passes, if any: bytes beyond those needed.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    threads: Threads,
    workspace: Option<usize>,
}

pub fn run(input: &mut Input<'_>) -> Run {
    let threads = match input.choose([4, 3, 2, 1, 3]) {
        0 => Threads::Caller,
        1 => Threads::Shuffled(input.range(2..4), input.word()),
        2 => Threads::Reversed(input.range(2..9)),
        3 => Threads::Reversed(input.range(9..40)),
        #[cfg(feature = "pool")]
        _ => Threads::Pool(input.range(1..4)),
        #[cfg(not(feature = "pool"))]
        _ => Threads::Caller,
    };
    let workspace = [None, Some(0), Some(8 << 20)][input.choose([3, 2, 1])];
    Run { threads, workspace }
}

impl Run {
    /// Runs `call`, which makes one call and compares, at each level. `size` returns the bytes of
    /// scratch memory that the call needs.
    pub fn each(
        &self,
        report: &mut Report,
        size: impl Fn(&dyn On) -> Result<usize>,
        mut call: impl FnMut(&mut Report, &dyn On, &dyn fmt::Display),
    ) {
        for &level in levels() {
            let config = Config {
                level,
                threads: self.threads,
            };
            let Some(more) = self.workspace else {
                config.run(|exec| call(report, exec, &config));
                continue;
            };
            let size = more + config.run(&size).expect("a size for a valid shape");
            let mut block = Block::new(size);
            let name = format!("{config}, {size} bytes of workspace");
            config.run_with(block.inside(), |exec| call(report, exec, &name));
            report.check(block.is_intact(), || {
                format!("{name}: wrote outside the workspace")
            });
        }
    }

    /// Like [`Run::each`], for calls that need no scratch memory.
    pub fn each_without_scratch(
        &self,
        report: &mut Report,
        call: impl FnMut(&mut Report, &dyn On, &dyn fmt::Display),
    ) {
        self.each(report, |_| Ok(0), call);
    }
}

/// Scratch memory of an exact size at an odd address, with filler bytes on both sides.
struct Block {
    memory: Vec<MaybeUninit<u8>>,
    start: usize,
    size: usize,
}

const FILLER: u8 = 0xA5;

impl Block {
    fn new(size: usize) -> Block {
        let memory = vec![MaybeUninit::new(FILLER); size + 64];
        let start = memory.as_ptr().align_offset(16) + 1;
        Block {
            memory,
            start,
            size,
        }
    }

    fn inside(&mut self) -> &mut [MaybeUninit<u8>] {
        &mut self.memory[self.start..self.start + self.size]
    }

    fn is_intact(&self) -> bool {
        let (before, rest) = self.memory.split_at(self.start);
        // SAFETY: every byte was initialised, and kernels may only write bytes.
        let unchanged = |byte: &MaybeUninit<u8>| unsafe { byte.assume_init() } == FILLER;
        before.iter().chain(&rest[self.size..]).all(unchanged)
    }
}
