//! Calls and devices that together launch every kernel and run every loop in it.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

use diptych::Exec;
use diptych_device::table::Entry;
use diptych_emulator::{Barrier, Emulator, Schedule};
use diptych_tests::calls::{Call, Inputs, Outputs, calls_of_gemm, calls_of_rows};
use diptych_tests::raw::{On, Result};
use diptych_tests::real::Dtype;

use crate::plans;

/// The rows of tall matrices.
const ROWS: i64 = 600;

/// The properties of a device that determine the launches of a call.
#[derive(Clone, Copy, Debug)]
struct Setting {
    multiprocessors: u32,
    max_blocks: u32,
    product_kernel: Option<&'static Entry>,
}

impl Setting {
    /// A small and a large GPU: kernels divide their work among the multiprocessors.
    const SIZES: [Setting; 2] = [Setting::of(1), Setting::of(132)];
    /// At most one block, which loops over all rows or tiles.
    const ONE_BLOCK: Setting = Setting {
        max_blocks: 1,
        ..Setting::of(1)
    };

    const fn of(multiprocessors: u32) -> Setting {
        Setting {
            multiprocessors,
            max_blocks: u32::MAX,
            product_kernel: None,
        }
    }
}

/// A call on a device.
pub struct Trial<T> {
    call: Rc<Call<T>>,
    setting: Setting,
}

/// What a trial launched and executed, and its time.
pub struct Seen {
    pub kernels: BTreeSet<&'static str>,
    pub barriers: BTreeSet<Barrier>,
    pub time: Duration,
}

/// Returns all trials.
pub fn trials<T: Dtype>() -> Vec<Trial<T>> {
    let mut trials = Vec::new();
    for call in calls_of_rows::<T>(ROWS).into_iter().map(Rc::new) {
        let mut settings = Setting::SIZES.to_vec();
        if call.name.ends_with("_rows") || call.name.starts_with("gemm") {
            settings.push(Setting::ONE_BLOCK);
        }
        trials.extend(settings.into_iter().map(|setting| Trial {
            call: call.clone(),
            setting,
        }));
    }
    for (kernel, name) in plans::kernels::<T>() {
        let k = if plans::splits(name) { 700 } else { 100 };
        let setting = Setting {
            product_kernel: Some(kernel),
            ..Setting::of(132)
        };
        let calls = calls_of_gemm::<T>((50, 36, k)).into_iter().map(Rc::new);
        trials.extend(calls.map(|call| Trial { call, setting }));
    }
    trials
}

impl<T: Dtype> Trial<T> {
    /// Returns a description for messages.
    pub fn name(&self) -> String {
        let Trial { call, setting } = self;
        format!("{} {}, {setting:?}", call.name, call.shape)
    }

    /// Creates the trial's device.
    pub fn emulator(&self, schedule: Schedule) -> Emulator {
        let emulator = Emulator::new(schedule)
            .with_multiprocessors(self.setting.multiprocessors)
            .with_max_blocks(self.setting.max_blocks);
        match self.setting.product_kernel {
            Some(kernel) => emulator.with_product_kernel(kernel),
            None => emulator,
        }
    }

    /// Returns whether the call on `emulator` gives the bits of the CPU.
    pub fn is_right(&self, inputs: &Inputs<T>, emulator: &Emulator) -> Result<bool> {
        let run = |on: &dyn On| {
            let mut out = Outputs::default();
            self.call.run(on, inputs, &mut out).map(|()| out)
        };
        Ok(run(emulator)? == run(&Exec::new())?)
    }

    /// Makes the call under this schedule, and returns what it launched and executed. Panics if the bits are wrong.
    pub fn see(&self, inputs: &Inputs<T>, schedule: Schedule) -> Seen {
        let emulator = self.emulator(schedule);
        let start = Instant::now();
        let right = self.is_right(inputs, &emulator);
        let time = start.elapsed();
        let right = right.unwrap_or_else(|error| panic!("{}: {error}", self.name()));
        let name = self.name();
        assert!(right, "{name}, {schedule}: other bits than the CPU's");
        assert!(emulator.launches() > 0, "{name} launches nothing");
        Seen {
            kernels: emulator.kernels(),
            barriers: emulator.barriers(),
            time,
        }
    }
}
