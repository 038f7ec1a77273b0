//! The variants of a microkernel, as type parameters: its last columns ([`Tail`]), what else it does to memory
//! ([`SideWork`]), and its stores to C ([`Store`]).
#![forbid(unsafe_code)]

/// The last columns of a micro-tile, which do not fill a register. At most one of the constants is set.
pub trait Tail {
    /// The last of the NV registers is masked.
    const MASKED: bool = false;
    /// Beside the NV registers there are at most `N / SHARED_BY` columns, for which `SHARED_BY` rows share a register
    /// of sums ([`SharedRegister`](super::tails::SharedRegister)); 0: there are none.
    const SHARED_BY: usize = 0;
    /// Beside the NV registers there are columns for at most half a register, in registers of half the size
    /// ([`HalfRegisters`](super::tails::HalfRegisters)).
    const HALF_REGISTER: bool = false;
}

/// No tail: all registers are full.
pub struct Whole;
/// The last register is not full, and masked.
pub struct Masked;
/// At most half a register more, two rows to a register.
pub struct SharedByTwo;
/// At most a quarter of a register more, four rows to a register.
pub struct SharedByFour;
/// One more register, of half the size. With NV = 0 that is the only one.
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

/// Work on memory that a microkernel does beside its arithmetic.
pub trait SideWork {
    /// At each step of k it prefetches one cache line for later microkernels.
    const PREFETCH: bool = false;
    /// It packs what it reads of B for later microkernels.
    const PACK: bool = false;
}

/// No side work.
pub struct Plain;
/// Prefetches one cache line at each step, `prefetch_stride` bytes after the last.
pub struct Prefetch;
/// Writes B to a packed micro-panel. Its loop over k has no other stores; a separate packing pass would wait for B with
/// nothing to compute.
pub struct Pack;

impl SideWork for Plain {}
impl SideWork for Prefetch {
    const PREFETCH: bool = true;
}
impl SideWork for Pack {
    const PACK: bool = true;
}

/// How C is stored.
pub trait Store {
    /// Non-temporal stores: beta is 0, rows of C are aligned to registers, and a fence must follow.
    const NON_TEMPORAL: bool;
}

/// Ordinary stores.
pub struct Cached;
/// Non-temporal stores.
pub struct NonTemporal;

impl Store for Cached {
    const NON_TEMPORAL: bool = false;
}
impl Store for NonTemporal {
    const NON_TEMPORAL: bool = true;
}
