//! The device on which a random case runs.

use core::fmt;

use diptych_emulator::Schedule;
use diptych_tests::device::Config;
use diptych_tests::raw::{On, Result};
use diptych_tests::report::Report;
use proptest::prelude::*;

/// The number of cases on the CPU for each case here.
pub const CASES_PER_CASE: u64 = 20;

/// The most multiplications, or elements, of a case.
pub const MOST_WORK: usize = 20_000;

/// A schedule and a number of multiprocessors.
#[derive(Clone, Copy, Debug)]
pub struct Run(Config);

pub fn run() -> impl Strategy<Value = Run> {
    let schedule = prop_oneof![
        Just(Schedule::Lockstep),
        Just(Schedule::InOrder),
        Just(Schedule::Reverse),
        any::<u64>().prop_map(Schedule::Random),
    ];
    (schedule, 1..140u32).prop_map(|(schedule, multiprocessors)| {
        Run(Config {
            schedule,
            multiprocessors,
        })
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
