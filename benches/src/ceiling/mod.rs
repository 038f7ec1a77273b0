//! What this machine can do at most, measured beside the library.

#[cfg(target_arch = "x86_64")]
mod peak;
#[cfg(target_arch = "x86_64")]
mod streams;

use crate::bench::Pattern;
use crate::data::{Buffer, Size};

/// Flops of one turn of the fma loop, and the turn itself; `None` where there is no loop for this
/// machine.
pub fn fma_turn(double: bool) -> Option<(f64, fn())> {
    #[cfg(target_arch = "x86_64")]
    return peak::turn(double);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = double;
        None
    }
}

/// The name of the registers that the loops use.
pub fn registers() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    return streams::Width::best().name();
    #[cfg(not(target_arch = "x86_64"))]
    "none"
}

/// How a loop reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Loads and stores.
    Plain,
    /// Loads from four places at once: more of the hardware's prefetchers take part.
    Parts,
    /// Loads and streaming stores.
    PastCaches,
}

/// Arrays that a plain loop of the same pattern runs over, as large as those of a bench.
pub struct Stream {
    pattern: Pattern,
    arrays: [Buffer<f32>; 3],
}

impl Stream {
    /// `footprint` bytes in all. `None` for patterns that no loop stands for.
    pub fn new(pattern: Pattern, footprint: usize) -> Option<Self> {
        let lengths = match pattern {
            Pattern::Read(_) => [1, 0, 0],
            Pattern::Write | Pattern::Update => [0, 0, 1],
            Pattern::ReadTwo => [1, 1, 0],
            Pattern::Copy | Pattern::UpdateFrom => [1, 0, 1],
            Pattern::Add => [1, 1, 1],
            Pattern::Compute => return None,
        };
        // A multiple of what a turn of the loops takes.
        let share = footprint / size_of::<f32>() / lengths.iter().sum::<usize>();
        let share = share.next_multiple_of(GRAIN);
        Some(Self {
            pattern,
            arrays: lengths.map(|count| Buffer::random(count * share, 1)),
        })
    }

    /// Bytes that one turn moves.
    pub fn bytes(&self) -> usize {
        let [x, y, out] = &self.arrays;
        let written = if matches!(self.pattern, Pattern::Update | Pattern::UpdateFrom) {
            2
        } else {
            1
        };
        (x.len() + y.len() + written * out.len()) * size_of::<f32>()
    }

    /// The ways that may be the fastest for this pattern and so many bytes.
    pub fn ways(&self) -> &'static [Way] {
        match self.pattern {
            Pattern::Read(_) | Pattern::ReadTwo => &[Way::Plain, Way::Parts],
            Pattern::Update | Pattern::UpdateFrom => &[Way::Plain],
            _ if self.bytes() > Size::L3.bytes() => &[Way::Plain, Way::PastCaches],
            _ => &[Way::Plain],
        }
    }

    /// One turn.
    pub fn turn(&mut self, way: Way) {
        #[cfg(target_arch = "x86_64")]
        streams::turn(self.pattern, &mut self.arrays, way);
        #[cfg(not(target_arch = "x86_64"))]
        let _ = way;
    }
}

/// Elements that a turn of the widest loop takes.
const GRAIN: usize = 128;
