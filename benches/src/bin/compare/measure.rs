//! Measures a case: samples the library, its peers and the machine's limits in turn.

use crate::cases::Case;
use crate::cell::{Cell, Peer};
use anyhow::Result;
use diptych_benches::bench::{Form, Pattern};
use diptych_benches::blas::Blas;
use diptych_benches::ceiling::{self, Stream};
use diptych_benches::crates;
use diptych_benches::data::{Operands, Pointers, Real, Shape, Size};
use diptych_benches::library::Diptych;
use diptych_benches::mixed::{Factor, Matrices, MatrixPointers};
use diptych_benches::python::Python;
use diptych_benches::timing::{Clock, Plan, Sampler, Subject, medians, repeat};
use std::cell::RefCell;

/// All libraries that are timed, and the settings.
pub struct Harness {
    pub diptych: Diptych,
    pub blas: Vec<Blas>,
    pub python: Option<Python>,
    /// Names of the crates that are built in.
    pub crates: Vec<&'static str>,
    pub threads: usize,
    pub clock: Clock,
    pub plan: Plan,
}

/// Calls on fewer bytes than this are not limited by memory.
const MIN_FOOTPRINT: usize = 1 << 10;

impl Harness {
    /// Times all subjects on one case.
    ///
    /// # Errors
    /// When one of them fails.
    pub fn measure<T: Real>(&self, case: &Case) -> Result<Cell> {
        // All libraries in this process share one set of operands, so that none gets better memory.
        let mut operands: Operands<T> = case.work.operands(case.shape);
        let pointers = operands.pointers();
        let timed = self.samplers(case, pointers)?;
        let limits = Limits::new::<T>(case, self.threads);
        let mut cell = self.time(case, T::NAME, timed, &limits)?;
        drop(operands);
        if case.work.flops(case.shape) == 0 {
            cell.work = case.work.bytes::<T>(case.shape) as f64;
        }
        Ok(cell)
    }

    /// Times all subjects on one product of 16-bit floats or of integers.
    ///
    /// # Errors
    /// When one of them fails.
    pub fn measure_mixed<F: Factor>(&self, case: &Case) -> Result<Cell> {
        let mut operands = Matrices::<F>::new(case.shape);
        let timed = self.mixed_samplers(case, operands.pointers())?;
        let cell = self.time(case, F::NAME, timed, &Limits::NONE);
        drop(operands);
        cell
    }

    /// Times the samplers, and the limits beside them.
    fn time(
        &self,
        case: &Case,
        dtype: &'static str,
        (names, samplers): Timed,
        limits: &Limits,
    ) -> Result<Cell> {
        let mut subjects = Vec::new();
        for sampler in samplers {
            subjects.push(Subject::new(self.plan, sampler)?);
        }
        let own = subjects.len();
        for sampler in limits.samplers(self.clock) {
            subjects.push(Subject::new(self.plan, sampler)?);
        }
        let seconds = medians(self.plan, &mut subjects)?;
        let pooled = usize::from(self.threads > 1);
        let peers = names.into_iter().zip(&seconds[1 + pooled..own]);
        Ok(Cell {
            case: *case,
            dtype,
            work: case.work.flops(case.shape) as f64,
            seconds: seconds[0],
            one_thread: (pooled == 1).then(|| seconds[1]),
            floor: limits.floor(&seconds[own..]),
            of_rows: None,
            peers: peers
                .map(|(name, &seconds)| Peer { name, seconds })
                .collect(),
        })
    }

    /// Returns the samplers: Diptych first; with several threads, Diptych on one thread second; then the peers. Also
    /// returns the names of the peers.
    fn samplers<T: Real>(&self, case: &Case, p: Pointers<T>) -> Result<Timed> {
        let (work, clock) = (case.work, self.clock);
        let mut names = Vec::new();
        // SAFETY: the caller keeps the operands alive, which are those of the case, and `self` the libraries.
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
        for (name, sampler) in self.python_samplers(case, T::NAME)? {
            names.push(name);
            samplers.push(sampler);
        }
        Ok((names, samplers))
    }

    /// Returns the same for a product of 16-bit floats or of integers.
    fn mixed_samplers<F: Factor>(&self, case: &Case, p: MatrixPointers<F>) -> Result<Timed> {
        let clock = self.clock;
        let mut names = Vec::new();
        // SAFETY: the caller keeps the operands alive, and `self` the libraries.
        let mut samplers = vec![unsafe { self.diptych.matmul(p, true, clock)? }];
        if self.threads > 1 {
            // SAFETY: as above.
            samplers.push(unsafe { self.diptych.matmul(p, false, clock)? });
        }
        for name in &self.crates {
            // SAFETY: as above.
            if let Some(sampler) = unsafe { crates::matmul(name, p, self.threads, clock) } {
                names.push((*name).to_owned());
                samplers.push(sampler);
            }
        }
        for (name, sampler) in self.python_samplers(case, F::NAME)? {
            names.push(name);
            samplers.push(sampler);
        }
        Ok((names, samplers))
    }

    fn python_samplers(&self, case: &Case, dtype: &str) -> Result<Vec<(String, Sampler<'static>)>> {
        match &self.python {
            Some(python) => python.samplers(case.work, dtype, case.shape, self.clock),
            None => Ok(Vec::new()),
        }
    }
}

/// The names of the peers; the samplers of Diptych and of them.
type Timed = (Vec<String>, Vec<Sampler<'static>>);

/// The limits of a case: arithmetic, and moving bytes.
struct Limits {
    /// The flops of the case (per thread), the flops of a run of the fma loop, and the loop.
    arithmetic: Option<(f64, f64, fn())>,
    /// The bytes that the case moves.
    bytes: usize,
    /// The loop that moves bytes with the same pattern.
    stream: Option<RefCell<Stream>>,
}

impl Limits {
    /// No limits: which instructions serve 16-bit floats and integers best differs from machine to machine.
    const NONE: Self = Self {
        arithmetic: None,
        bytes: 0,
        stream: None,
    };

    /// With several threads there is no limit for memory, since the loops run on one thread.
    fn new<T: Real>(case: &Case, threads: usize) -> Self {
        let flops = case.work.flops(case.shape);
        let Shape { m, n, k, .. } = case.shape;
        let size = size_of::<T>();
        let (pattern, bytes) = match (case.work.form, case.work.pattern) {
            (Form::Network | Form::Batch, _) => (Pattern::Compute, 0),
            // Products with a short side or a small k may be memory-bound.
            (_, Pattern::Compute) if m.min(n) <= 16 && m.max(n) > 64 => {
                (Pattern::Read(1), m.max(n) * k * size)
            }
            (_, Pattern::Compute) if k < 16 => (Pattern::Write, m * n * size),
            (_, Pattern::Compute) => (Pattern::Compute, 0),
            (_, pattern) => (pattern, case.work.footprint::<T>(case.shape)),
        };
        let stream = (bytes >= MIN_FOOTPRINT && threads == 1)
            .then(|| Stream::new(pattern, bytes))
            .flatten();
        let fma = ceiling::fma_loop(T::NAME == "f64").filter(|_| flops > 0);
        Self {
            arithmetic: fma
                .map(|(loop_flops, run)| (flops as f64 / threads as f64, loop_flops, run)),
            bytes: match flops {
                0 => case.work.bytes::<T>(case.shape),
                _ => bytes,
            },
            stream: stream.map(RefCell::new),
        }
    }

    /// Returns the samplers of the limits; the fma loop is first, if there is one.
    fn samplers(&self, clock: Clock) -> Vec<Sampler<'_>> {
        let mut samplers = Vec::new();
        if let Some((_, _, run)) = self.arithmetic {
            samplers.push(repeat(clock, run));
        }
        if let Some(stream) = &self.stream {
            let access_variants = stream.borrow().access_variants();
            for &access in access_variants {
                samplers.push(repeat(clock, move || stream.borrow_mut().run(access)));
            }
        }
        samplers
    }

    /// Returns the least seconds that the case can take, from the times of the samplers.
    fn floor(&self, seconds: &[f64]) -> Option<f64> {
        let mut streams = seconds.iter().copied();
        let arithmetic = self
            .arithmetic
            .and_then(|(flops, loop_flops, _)| Some(streams.next()? * flops / loop_flops));
        let moved = self.stream.as_ref().map_or(0, |s| s.borrow().bytes()) as f64;
        let memory = streams.reduce(f64::min);
        let memory = memory.map(|seconds| seconds * self.bytes as f64 / moved);
        arithmetic.into_iter().chain(memory).reduce(f64::max)
    }
}

/// Measures the machine's limits: the fma peaks, and the bandwidths of each cache level.
pub fn machine(clock: Clock, plan: Plan) -> Result<Vec<(String, f64, &'static str)>> {
    let mut rates = Vec::new();
    for (name, double) in [("fma f32", false), ("fma f64", true)] {
        if let Some((flops, run)) = ceiling::fma_loop(double) {
            let mut subjects = [Subject::new(plan, repeat(clock, run))?];
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
            let (bytes, access_variants) = (stream.bytes() as f64, stream.access_variants());
            let stream = &RefCell::new(stream);
            let mut subjects = Vec::new();
            for &access in access_variants {
                let sampler = repeat(clock, move || stream.borrow_mut().run(access));
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
