//! Timing by medians of interleaved samples.

use std::time::{Duration, Instant};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The time on the wall.
    Wall,
    /// The time that the calling thread was running: on a shared machine, without the time that
    /// others had. For work on one thread.
    Thread,
}

impl Clock {
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

/// How long one sample should take: long against the clock, short against the machine's moods.
const SAMPLE: Duration = Duration::from_micros(2500);

/// Something to be timed.
pub struct Subject<'a> {
    run: Box<dyn FnMut() + 'a>,
    clock: Clock,
    turns: u32,
    samples: Vec<f64>,
}

impl<'a> Subject<'a> {
    /// Runs it a few times, to warm up and to find out how many turns a sample takes.
    pub fn new(clock: Clock, run: impl FnMut() + 'a) -> Self {
        let mut subject = Self {
            run: Box::new(run),
            clock,
            turns: 1,
            samples: Vec::new(),
        };
        (subject.run)();
        loop {
            let seconds = subject.sample() * f64::from(subject.turns);
            if seconds >= SAMPLE.as_secs_f64() || subject.turns >= 1 << 24 {
                return subject;
            }
            let scale = (1.2 * SAMPLE.as_secs_f64() / seconds.max(1e-9)).clamp(1.5, 64.0);
            subject.turns = (f64::from(subject.turns) * scale).ceil() as u32;
        }
    }

    /// Seconds of one turn, from one sample.
    fn sample(&mut self) -> f64 {
        let start = self.clock.now();
        for _ in 0..self.turns {
            (self.run)();
        }
        (self.clock.now() - start).as_secs_f64() / f64::from(self.turns)
    }
}

/// The median seconds of one turn of each: all are sampled in turn, `rounds` times.
pub fn medians(subjects: &mut [Subject<'_>], rounds: usize) -> Vec<f64> {
    for _ in 0..rounds.max(1) {
        for subject in &mut *subjects {
            let seconds = subject.sample();
            subject.samples.push(seconds);
        }
    }
    subjects
        .iter_mut()
        .map(|subject| median(&mut subject.samples))
        .collect()
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
