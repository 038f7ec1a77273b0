//! Timing by medians of interleaved samples.

use anyhow::Result;
use std::time::{Duration, Instant};

/// The clock that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Clock {
    /// Wall-clock time (CLOCK_MONOTONIC).
    Wall,
    /// CPU time of the calling thread, which on a shared machine excludes the time of other programs. For work on one
    /// thread.
    Thread,
}

impl Clock {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Wall => "wall",
            Clock::Thread => "thread",
        }
    }

    /// Returns the time since some fixed moment.
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

/// Runs something the given number of times and returns how long it took.
pub type Sampler<'a> = Box<dyn FnMut(u32) -> Result<Duration> + 'a>;

/// Returns a sampler of `run`. The sampler contains the loop, so that a call of a few nanoseconds is timed without the
/// overhead of an indirect call.
pub fn repeat<'a>(clock: Clock, mut run: impl FnMut() + 'a) -> Sampler<'a> {
    Box::new(move |iterations| {
        // One untimed run first: the subject sampled before has left its own data in the caches.
        if iterations > 1 {
            run();
        }
        let start = clock.now();
        for _ in 0..iterations {
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
    /// The time that a sample should take: long compared with the clock's resolution, short compared with changes of
    /// the machine's speed.
    pub sample: Duration,
    /// Pause before each sample, since the threads of some libraries keep spinning for a while after a call.
    pub rest: Duration,
    /// Time of untimed runs after the pause: sleeping threads first wake on the caller's CPU, and the system takes some
    /// milliseconds to move them.
    pub warm: Duration,
}

/// Something that is timed.
pub struct Subject<'a> {
    sampler: Sampler<'a>,
    iterations: u32,
    samples: Vec<f64>,
}

impl<'a> Subject<'a> {
    /// Runs it a few times, to warm up and to find out how many iterations a sample needs.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn new(plan: Plan, sampler: Sampler<'a>) -> Result<Self> {
        /// From this many seconds on, an iteration hardly depends on what the caches hold at its start, and needs no
        /// untimed run.
        const LONG: f64 = 0.02;
        let mut subject = Self {
            sampler,
            iterations: 1,
            samples: Vec::new(),
        };
        subject.sample()?;
        loop {
            let seconds = subject.sample()? * f64::from(subject.iterations);
            if seconds >= plan.sample.as_secs_f64() || subject.iterations >= 1 << 24 {
                if seconds < LONG {
                    subject.iterations = subject.iterations.max(2);
                }
                return Ok(subject);
            }
            let scale = (1.2 * plan.sample.as_secs_f64() / seconds.max(1e-9)).clamp(1.5, 64.0);
            subject.iterations = (f64::from(subject.iterations) * scale).ceil() as u32;
        }
    }

    /// Takes one sample; returns the seconds per iteration.
    fn sample(&mut self) -> Result<f64> {
        let time = (self.sampler)(self.iterations)?;
        Ok(time.as_secs_f64() / f64::from(self.iterations))
    }
}

/// Returns the median seconds per iteration of each subject. All subjects are sampled once per round, in a random
/// order, because what one leaves in the caches helps or hinders the next.
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
