//! Timing by medians of interleaved samples.

use anyhow::Result;
use std::time::{Duration, Instant};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Clock {
    /// The time on the wall (CLOCK_MONOTONIC).
    Wall,
    /// The time that the calling thread was running: on a shared machine, without the time that
    /// others had. For work on one thread.
    Thread,
}

impl Clock {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Wall => "wall",
            Clock::Thread => "thread",
        }
    }

    /// Since some moment.
    fn now(self) -> Duration {
        #[cfg(unix)]
        if self == Clock::Thread {
            let mut time = libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            // SAFETY: `time` is a timespec to be written.
            if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } == 0 {
                return Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
            }
        }
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}

/// Runs something so many times and says how long it took.
pub type Sampler<'a> = Box<dyn FnMut(u32) -> Result<Duration> + 'a>;

/// A sampler of `run`. The loop is inside, so that a call of a few nanoseconds is timed without
/// another one around it.
pub fn repeat<'a>(clock: Clock, mut run: impl FnMut() + 'a) -> Sampler<'a> {
    Box::new(move |turns| {
        // Once unseen: what ran before has left its own data in the caches.
        if turns > 1 {
            run();
        }
        let start = clock.now();
        for _ in 0..turns {
            run();
        }
        Ok(clock.now() - start)
    })
}

/// How samples are taken.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Samples of each subject.
    pub rounds: usize,
    /// How long one should take: long against the clock, short against the machine's moods.
    pub sample: Duration,
    /// Rest before each: the threads of some libraries go on spinning for a while.
    pub rest: Duration,
    /// Unseen runs after the rest: sleeping threads first wake on the caller's CPU, and the system takes
    /// some milliseconds to move them.
    pub warm: Duration,
}

/// Something to be timed.
pub struct Subject<'a> {
    sampler: Sampler<'a>,
    turns: u32,
    samples: Vec<f64>,
}

impl<'a> Subject<'a> {
    /// Runs it a few times, to warm up and to find out how many turns a sample takes.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn new(plan: Plan, sampler: Sampler<'a>) -> Result<Self> {
        /// A longer turn hardly depends on what the caches held at its start.
        const LONG: f64 = 0.02;
        let mut subject = Self {
            sampler,
            turns: 1,
            samples: Vec::new(),
        };
        subject.sample()?;
        loop {
            let seconds = subject.sample()? * f64::from(subject.turns);
            if seconds >= plan.sample.as_secs_f64() || subject.turns >= 1 << 24 {
                if seconds < LONG {
                    subject.turns = subject.turns.max(2);
                }
                return Ok(subject);
            }
            let scale = (1.2 * plan.sample.as_secs_f64() / seconds.max(1e-9)).clamp(1.5, 64.0);
            subject.turns = (f64::from(subject.turns) * scale).ceil() as u32;
        }
    }

    /// Seconds of one turn, from one sample.
    fn sample(&mut self) -> Result<f64> {
        let time = (self.sampler)(self.turns)?;
        Ok(time.as_secs_f64() / f64::from(self.turns))
    }
}

/// The median seconds of one turn of each: all are sampled in turn, in another order each round, for what
/// one leaves in the caches helps or hinders the next.
///
/// # Errors
/// When a subject fails.
pub fn medians(plan: Plan, subjects: &mut [Subject<'_>]) -> Result<Vec<f64>> {
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..plan.rounds.max(1) {
        random.shuffle(&mut order);
        for &index in &order {
            let subject = &mut subjects[index];
            std::thread::sleep(plan.rest);
            let start = Instant::now();
            while start.elapsed() < plan.warm {
                subject.sample()?;
            }
            let seconds = subject.sample()?;
            subject.samples.push(seconds);
        }
    }
    Ok(subjects
        .iter_mut()
        .map(|subject| median(&mut subject.samples))
        .collect())
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

#[cfg(test)]
mod tests {
    #[test]
    fn median_is_the_middle_one() {
        assert_eq!(super::median(&mut [5.0, 1.0, 9.0]), 5.0);
    }
}
