//! The device on which a random case runs.

use core::fmt;

use diptych_emulator::Schedule;
use diptych_tests::device::Config;
use diptych_tests::random::Input;
use diptych_tests::raw::{On, Result};
use diptych_tests::report::Report;

/// The number of cases on the CPU for each case here.
pub const CASES_PER_CASE: u64 = 20;

/// The most multiplications, or elements, of a case.
pub const MOST_WORK: usize = 20_000;

/// A schedule and a number of multiprocessors.
#[derive(Clone, Copy, Debug)]
pub struct Run(Config);

pub fn run(input: &mut Input<'_>) -> Run {
    let schedule = match input.below(4) {
        0 => Schedule::Lockstep,
        1 => Schedule::InOrder,
        2 => Schedule::Reverse,
        _ => Schedule::Random(input.word()),
    };
    Run(Config {
        schedule,
        multiprocessors: input.range(1..140) as u32,
    })
}

impl Run {
    /// Runs `call`, which makes one call and compares, on the emulator, which has scratch memory of its own.
    pub fn each(
        &self,
        report: &mut Report,
        _: impl Fn(&dyn On) -> Result<usize>,
        call: impl FnMut(&mut Report, &dyn On, &dyn fmt::Display),
    ) {
        self.each_without_scratch(report, call);
    }

    /// Like [`Run::each`].
    pub fn each_without_scratch(
        &self,
        report: &mut Report,
        mut call: impl FnMut(&mut Report, &dyn On, &dyn fmt::Display),
    ) {
        self.0.run(|on| call(report, on, &self.0));
    }
}
