//! What a microkernel is compiled for, as types: how its columns end, where B comes from and goes, how C is
//! stored.
#![forbid(unsafe_code)]

/// What follows the whole registers of a row of a micro-tile. At most one of these is so.
pub trait Tail {
    /// The last of the whole registers has a mask.
    const MASKED: bool = false;
    /// At most `N / SHARED_BY` columns more, for which so many rows share a register of sums
    /// ([`SharedRegister`](super::tails::SharedRegister)); 0: none.
    const SHARED_BY: usize = 0;
    /// At most half a register of columns more, in registers of half the size
    /// ([`HalfRegisters`](super::tails::HalfRegisters)).
    const HALF_REGISTER: bool = false;
}

/// Nothing: all registers are full.
pub struct Whole;
/// The last register is not full.
pub struct Masked;
/// Half a register more, two rows to a register.
pub struct SharedByTwo;
/// A quarter of a register more, four rows to a register.
pub struct SharedByFour;
/// A register of half the size more; without whole registers, that alone.
pub struct HalfRegister;

impl Tail for Whole {}
impl Tail for Masked {
    const MASKED: bool = true;
}
impl Tail for SharedByTwo {
    const SHARED_BY: usize = 2;
}
impl Tail for SharedByFour {
    const SHARED_BY: usize = 4;
}
impl Tail for HalfRegister {
    const HALF_REGISTER: bool = true;
}

/// What happens to B beside the arithmetic.
pub trait Feed {
    /// At each step of k one line of memory is prefetched for later microkernels.
    const PREFETCH: bool = false;
    /// What is read of B is packed for later microkernels.
    const PACK: bool = false;
}

/// Nothing.
pub struct Plain;
/// One line of memory is prefetched at each step, `prefetch_stride` bytes after the last.
pub struct Prefetch;
/// B is written to a packed micro-panel: stores are idle otherwise, and packing before the microkernels would
/// wait for B with nothing to compute.
pub struct Pack;

impl Feed for Plain {}
impl Feed for Prefetch {
    const PREFETCH: bool = true;
}
impl Feed for Pack {
    const PACK: bool = true;
}

/// How C is stored.
pub trait Store {
    /// Past the caches: beta is 0, rows of c are aligned to registers. A fence must follow.
    const NON_TEMPORAL: bool;
}

/// Through the caches.
pub struct Cached;
/// With non-temporal stores.
pub struct NonTemporal;

impl Store for Cached {
    const NON_TEMPORAL: bool = false;
}
impl Store for NonTemporal {
    const NON_TEMPORAL: bool = true;
}
