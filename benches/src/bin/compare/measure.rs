//! Measuring a case: the library, its peers and the machine's limits in turn.

use crate::cases::Case;
use crate::cell::{Cell, Peer};
use anyhow::Result;
use diptych_benches::bench::{Form, Pattern};
use diptych_benches::blas::Blas;
use diptych_benches::ceiling::{self, Stream};
use diptych_benches::crates;
use diptych_benches::data::{Operands, Pointers, Real, Shape, Size};
use diptych_benches::library::Diptych;
use diptych_benches::python::Python;
use diptych_benches::timing::{Clock, Plan, Sampler, Subject, medians, repeat};
use std::cell::RefCell;

/// Everything that is timed, and how.
pub struct Contest {
    pub diptych: Diptych,
    pub blas: Vec<Blas>,
    pub python: Option<Python>,
    /// Names of the crates that are built in.
    pub crates: Vec<&'static str>,
    pub threads: usize,
    pub clock: Clock,
    pub plan: Plan,
}

/// Below so many bytes a call is not a loop over memory.
const LEAST_FOOTPRINT: usize = 1 << 10;

impl Contest {
    /// Times all subjects on one case.
    ///
    /// # Errors
    /// When one of them fails.
    pub fn measure<T: Real>(&self, case: &Case) -> Result<Cell> {
        // One set of operands for all in this process: none gets the better memory.
        let mut operands: Operands<T> = case.work.operands(case.shape);
        let pointers = operands.pointers();
        let (names, samplers) = self.samplers(case, pointers)?;
        let limits = Limits::new::<T>(case, self.threads);
        let mut subjects = Vec::new();
        for sampler in samplers {
            subjects.push(Subject::new(self.plan, sampler)?);
        }
        let own = subjects.len();
        for sampler in limits.samplers(self.clock) {
            subjects.push(Subject::new(self.plan, sampler)?);
        }
        let seconds = medians(self.plan, &mut subjects)?;
        drop(operands);
        let pooled = usize::from(self.threads > 1);
        let peers = names.into_iter().zip(&seconds[1 + pooled..own]);
        Ok(Cell {
            case: *case,
            dtype: T::NAME,
            work: match case.work.flops(case.shape) {
                0 => case.work.bytes::<T>(case.shape) as f64,
                flops => flops as f64,
            },
            seconds: seconds[0],
            one_thread: (pooled == 1).then(|| seconds[1]),
            floor: limits.floor(&seconds[own..]),
            of_rows: None,
            peers: peers
                .map(|(name, &seconds)| Peer { name, seconds })
                .collect(),
        })
    }

    /// Diptych first, with threads again without them; then the peers, whose names come along.
    fn samplers<T: Real>(
        &self,
        case: &Case,
        p: Pointers<T>,
    ) -> Result<(Vec<String>, Vec<Sampler<'static>>)> {
        let (work, clock) = (case.work, self.clock);
        let mut names = Vec::new();
        // SAFETY: the caller keeps the operands, which are those of the case, and `self` the
        // libraries.
        let mut samplers = vec![unsafe { self.diptych.sampler(work, p, true, clock)? }];
        if self.threads > 1 {
            // SAFETY: as above.
            samplers.push(unsafe { self.diptych.sampler(work, p, false, clock)? });
        }
        for blas in &self.blas {
            // SAFETY: as above.
            if let Some(sampler) = unsafe { blas.sampler(work, p, clock) } {
                names.push(blas.kind.name().to_owned());
                samplers.push(sampler);
            }
        }
        for name in &self.crates {
            // SAFETY: as above.
            let sampler = unsafe { crates::sampler(name, work, p, self.threads, clock) };
            if let Some(sampler) = sampler {
                names.push((*name).to_owned());
                samplers.push(sampler);
            }
        }
        if let Some(python) = &self.python {
            for (name, sampler) in python.samplers(work, T::NAME, case.shape, clock)? {
                names.push(name);
                samplers.push(sampler);
            }
        }
        Ok((names, samplers))
    }
}

/// What holds a case back: arithmetic, or moving so many bytes in this way.
struct Limits {
    /// The flops of the case and of a turn of the fma loop, and the loop.
    arithmetic: Option<(f64, f64, fn())>,
    bytes: usize,
    stream: Option<RefCell<Stream>>,
}

impl Limits {
    /// On threads, memory has no limit here: the loops run on one.
    fn new<T: Real>(case: &Case, threads: usize) -> Self {
        let flops = case.work.flops(case.shape);
        let Shape { m, n, k, .. } = case.shape;
        let size = size_of::<T>();
        let (pattern, bytes) = match (case.work.form, case.work.pattern) {
            (Form::Network | Form::Batch, _) => (Pattern::Compute, 0),
            // A matrix times a vector, and products of few terms: memory may be what limits them.
            (_, Pattern::Compute) if n == 1 => (Pattern::Read(1), m * k * size),
            (_, Pattern::Compute) if m == 1 => (Pattern::Read(1), n * k * size),
            (_, Pattern::Compute) if k < 16 => (Pattern::Write, m * n * size),
            (_, Pattern::Compute) => (Pattern::Compute, 0),
            (_, pattern) => (pattern, case.work.footprint::<T>(case.shape)),
        };
        let stream = (bytes >= LEAST_FOOTPRINT && threads == 1)
            .then(|| Stream::new(pattern, bytes))
            .flatten();
        let fma = ceiling::fma_turn(T::NAME == "f64").filter(|_| flops > 0);
        Self {
            arithmetic: fma.map(|(turn, run)| (flops as f64 / threads as f64, turn, run)),
            bytes: match flops {
                0 => case.work.bytes::<T>(case.shape),
                _ => bytes,
            },
            stream: stream.map(RefCell::new),
        }
    }

    /// The fma loop first, where there is one.
    fn samplers(&self, clock: Clock) -> Vec<Sampler<'_>> {
        let mut samplers = Vec::new();
        if let Some((_, _, turn)) = self.arithmetic {
            samplers.push(repeat(clock, turn));
        }
        if let Some(stream) = &self.stream {
            let ways = stream.borrow().ways();
            for &way in ways {
                samplers.push(repeat(clock, move || stream.borrow_mut().turn(way)));
            }
        }
        samplers
    }

    /// The least seconds that the case can take, from those of the samplers.
    fn floor(&self, seconds: &[f64]) -> Option<f64> {
        let mut streams = seconds.iter().copied();
        let arithmetic = self
            .arithmetic
            .and_then(|(flops, turn, _)| Some(streams.next()? * flops / turn));
        let moved = self.stream.as_ref().map_or(0, |s| s.borrow().bytes()) as f64;
        let memory = streams.reduce(f64::min);
        let memory = memory.map(|turn| turn * self.bytes as f64 / moved);
        arithmetic.into_iter().chain(memory).reduce(f64::max)
    }
}

/// The machine's limits: fma peaks, and bandwidths by level.
pub fn machine(clock: Clock, plan: Plan) -> Result<Vec<(String, f64, &'static str)>> {
    let mut rates = Vec::new();
    for (name, double) in [("fma f32", false), ("fma f64", true)] {
        if let Some((flops, turn)) = ceiling::fma_turn(double) {
            let mut subjects = [Subject::new(plan, repeat(clock, turn))?];
            let seconds = medians(plan, &mut subjects)?[0];
            rates.push((name.to_owned(), flops / seconds / 1e9, "GFLOP/s"));
        }
    }
    let patterns = [
        ("read", Pattern::Read(1)),
        ("write", Pattern::Write),
        ("copy", Pattern::Copy),
    ];
    for (name, pattern) in patterns {
        for size in Size::ALL {
            let Some(stream) = Stream::new(pattern, size.bytes()) else {
                continue;
            };
            let (bytes, ways) = (stream.bytes() as f64, stream.ways());
            let stream = &RefCell::new(stream);
            let mut subjects = Vec::new();
            for &way in ways {
                let sampler = repeat(clock, move || stream.borrow_mut().turn(way));
                subjects.push(Subject::new(plan, sampler)?);
            }
            let fastest = medians(plan, &mut subjects)?.into_iter().reduce(f64::min);
            if let Some(seconds) = fastest {
                rates.push((
                    format!("{name} {}", size.name()),
                    bytes / seconds / 1e9,
                    "GB/s",
                ));
            }
        }
    }
    Ok(rates)
}
