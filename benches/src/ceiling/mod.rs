//! The limits of the machine, measured in the same run as the library.

#[cfg(target_arch = "x86_64")]
mod peak;
#[cfg(target_arch = "x86_64")]
mod streams;

use crate::bench::Pattern;
use crate::data::{Buffer, Size};

/// Returns the flops of one run of the fma loop, and a function that runs it; `None` if there is no loop for this
/// architecture.
pub fn fma_loop(double: bool) -> Option<(f64, fn())> {
    #[cfg(target_arch = "x86_64")]
    return peak::fma_loop(double);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = double;
        None
    }
}

/// Returns the name of the registers that the loops use.
pub fn registers() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    return streams::Width::best().name();
    #[cfg(not(target_arch = "x86_64"))]
    "none"
}

/// The way in which a loop reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Loads and stores.
    Plain,
    /// Loads from four positions in turn, which keeps more of the hardware prefetchers busy.
    Interleaved,
    /// Loads and non-temporal stores.
    NonTemporal,
}

/// The arrays of a plain loop with a bench's pattern, as large as those of the bench.
pub struct Stream {
    pattern: Pattern,
    arrays: [Buffer<f32>; 3],
}

impl Stream {
    /// Allocates arrays of `footprint` bytes in total. Returns `None` for compute-bound work.
    pub fn new(pattern: Pattern, footprint: usize) -> Option<Self> {
        let lengths = match pattern {
            Pattern::Read(_) => [1, 0, 0],
            Pattern::Write | Pattern::Update => [0, 0, 1],
            Pattern::ReadTwo => [1, 1, 0],
            Pattern::Copy | Pattern::UpdateFrom => [1, 0, 1],
            Pattern::Add => [1, 1, 1],
            Pattern::Compute => return None,
        };
        // A multiple of what an iteration of the loops takes.
        let share = footprint / size_of::<f32>() / lengths.iter().sum::<usize>();
        let share = share.next_multiple_of(GRAIN);
        Some(Self {
            pattern,
            arrays: lengths.map(|count| Buffer::random(count * share, 1)),
        })
    }

    /// Returns the bytes that one run reads and writes.
    pub fn bytes(&self) -> usize {
        let [x, y, out] = &self.arrays;
        let written = if matches!(self.pattern, Pattern::Update | Pattern::UpdateFrom) {
            2
        } else {
            1
        };
        (x.len() + y.len() + written * out.len()) * size_of::<f32>()
    }

    /// Returns the ways of access that may be the fastest for this pattern and size.
    pub fn access_variants(&self) -> &'static [Access] {
        match self.pattern {
            Pattern::Read(_) | Pattern::ReadTwo => &[Access::Plain, Access::Interleaved],
            Pattern::Update | Pattern::UpdateFrom => &[Access::Plain],
            _ if self.bytes() > Size::L3.bytes() => &[Access::Plain, Access::NonTemporal],
            _ => &[Access::Plain],
        }
    }

    /// Runs the loop once over the arrays.
    pub fn run(&mut self, access: Access) {
        #[cfg(target_arch = "x86_64")]
        streams::run(self.pattern, &mut self.arrays, access);
        #[cfg(not(target_arch = "x86_64"))]
        let _ = access;
    }
}

/// A multiple of the elements that an iteration of any loop takes.
const GRAIN: usize = 128;
