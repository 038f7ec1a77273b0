//! The host implementation of the device API: every function calls the [`Machine`] that runs this thread.

use super::parameters::{Input, Output, Product, Reduction, Shape, Source, Target, Type};
use super::{Bits, Vector, Word, nan};
use crate::memory::{HalfFormat, Memory};
use core::cell::Cell;
use core::convert::identity;
use core::panic::Location;

/// The position of a thread in its block and grid.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// The thread's index in its block.
    pub thread: u32,
    /// Threads per block.
    pub threads: u32,
    /// The block's index in the grid.
    pub block: (u32, u32, u32),
    /// Blocks in the grid.
    pub grid: (u32, u32, u32),
}

/// A location in a kernel's source.
pub type Site = &'static Location<'static>;

/// Something that runs the threads of a grid on the host: the emulator. The running thread calls it, and it may let
/// other threads run before it returns.
pub trait Machine {
    /// Returns the position of the running thread.
    fn place(&self) -> Place;
    /// Makes the running thread wait for its block.
    fn sync_threads(&self, site: Site);
    /// Makes the running thread wait for its warp.
    fn sync_warp(&self, site: Site);
    /// Exchanges `value` within the warp; returns the value of the lane whose number is this lane's XOR `lanes`.
    fn shuffle_xor(&self, value: u32, lanes: u32, site: Site) -> u32;
    /// Copies bytes of the block's shared memory to `to`.
    fn load_shared(&self, offset: u32, to: &mut [u8], site: Site);
    /// Copies `from` to the block's shared memory.
    fn store_shared(&self, offset: u32, from: &[u8], site: Site);
    /// Records that the running thread is about to access `len` bytes of global memory.
    fn global(&self, address: usize, len: usize, access: GlobalAccess, site: Site);
    /// Records that the running thread is about to increment a counter in global memory.
    fn atomic(&self, address: usize, site: Site);
}

/// The kinds of access to global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalAccess {
    /// [`Vector::load`], [`Vector::load_pack`], [`load`](super::global::load).
    Load,
    /// [`Vector::load_relaxed`], [`Vector::load_pack_relaxed`].
    LoadRelaxed,
    /// [`Vector::store`], [`Vector::store_pack`], [`store`](super::global::store).
    Store,
}

std::thread_local! {
    static MACHINE: Cell<Option<*const dyn Machine>> = const { Cell::new(None) };
}

/// Runs `body`; the kernels that it calls run on `machine`.
pub fn with_machine<R>(machine: &dyn Machine, body: impl FnOnce() -> R) -> R {
    struct Restore(Option<*const dyn Machine>);
    impl Drop for Restore {
        fn drop(&mut self) {
            MACHINE.set(self.0);
        }
    }
    // SAFETY: only the lifetime changes; `Restore` removes the pointer before `machine` can be dropped.
    let machine = unsafe {
        core::mem::transmute::<*const (dyn Machine + '_), *const (dyn Machine + 'static)>(machine)
    };
    let _restore = Restore(MACHINE.replace(Some(machine)));
    body()
}

fn with_current<R>(body: impl FnOnce(&dyn Machine) -> R) -> R {
    let machine = MACHINE
        .get()
        .expect("a kernel runs on the host only under an emulator");
    // SAFETY: `with_machine` keeps it alive.
    body(unsafe { &*machine })
}

macro_rules! position {
    ($($name:ident = $($field:tt).+;)*) => {$(
        pub(super) fn $name() -> u32 {
            with_current(|machine| machine.place().$($field).+)
        }
    )*};
}

position! {
    thread_idx_x = thread;
    block_dim_x = threads;
    block_idx_x = block.0;
    block_idx_y = block.1;
    block_idx_z = block.2;
    grid_dim_x = grid.0;
    grid_dim_y = grid.1;
    grid_dim_z = grid.2;
}

pub(super) fn opaque(value: u32) -> u32 {
    value
}

#[track_caller]
pub(super) unsafe fn sync_threads() {
    let site = Location::caller();
    with_current(|machine| machine.sync_threads(site));
}

#[track_caller]
pub(super) unsafe fn sync_warp() {
    let site = Location::caller();
    with_current(|machine| machine.sync_warp(site));
}

#[track_caller]
pub(super) unsafe fn shuffle_xor(value: u32, lanes: u32) -> u32 {
    let site = Location::caller();
    with_current(|machine| machine.shuffle_xor(value, lanes, site))
}

pub(super) fn shared_base() -> u32 {
    0
}

#[track_caller]
pub(super) unsafe fn load_global<T: Word>(p: *const T) -> T {
    report_access(p, GlobalAccess::Load);
    // SAFETY: as the caller's.
    unsafe { p.read() }.constant()
}

#[track_caller]
pub(super) unsafe fn store_global<T: Word>(p: *mut T, value: T) {
    report_access(p, GlobalAccess::Store);
    // SAFETY: as the caller's.
    unsafe { p.write(value.stored()) }
}

#[track_caller]
pub(super) unsafe fn fetch_increment(counter: *mut u32, last: u32) -> u32 {
    let site = Location::caller();
    with_current(|machine| machine.atomic(counter.addr(), site));
    // SAFETY: the caller guarantees the counter; the threads of a grid take turns on one host thread.
    unsafe {
        let old = counter.read();
        counter.write(if old >= last { 0 } else { old + 1 });
        old
    }
}

pub(super) fn no_unroll() {}

#[track_caller]
fn load_bytes<const N: usize>(offset: u32) -> [u8; N] {
    let site = Location::caller();
    let mut bytes = [0; N];
    with_current(|machine| machine.load_shared(offset, &mut bytes, site));
    bytes
}

#[track_caller]
fn store_bytes(offset: u32, bytes: &[u8]) {
    let site = Location::caller();
    with_current(|machine| machine.store_shared(offset, bytes, site));
}

/// Reports an access to global memory to the machine, after checking its alignment.
#[track_caller]
pub(super) fn report_access<T>(p: *const T, access: GlobalAccess) {
    let site = Location::caller();
    assert!(
        p.addr().is_multiple_of(size_of::<T>()),
        "{} bytes at a misaligned address",
        size_of::<T>()
    );
    with_current(|machine| machine.global(p.addr(), size_of::<T>(), access, site));
}

/// A kernel argument.
pub trait Argument: Copy {
    /// Returns the argument as a thread's register holds it; see [`Word::constant`].
    fn received(self) -> Self {
        self
    }
}

impl Argument for u64 {}
impl<T> Argument for *const T {}
impl<T> Argument for *mut T {}
impl Argument for Shape {}
impl Argument for Type {}
impl Argument for Source {}
impl Argument for Target {}
impl Argument for () {}
impl Argument for HalfFormat {}
impl<T: Copy> Argument for Output<T> {}
impl<M: Memory> Argument for Input<M> {
    fn received(self) -> Self {
        Self {
            value: self.value.constant(),
            ..self
        }
    }
}
impl Argument for Reduction {}
impl Argument for Product {
    fn received(self) -> Self {
        Self {
            alpha: self.alpha.constant(),
            beta: self.beta.constant(),
            lo: self.lo.constant(),
            hi: self.hi.constant(),
            ..self
        }
    }
}
impl<T: Word> Argument for T {
    fn received(self) -> Self {
        self.constant()
    }
}

macro_rules! word {
    ($($T:ty: $constant:path, $stored:path $(, $rounded:item)?;)*) => {$(
        impl Word for $T {
            unsafe fn load_shared(offset: u32) -> Self {
                <$T>::from_ne_bytes(load_bytes(offset))
            }
            unsafe fn store_shared(offset: u32, value: Self) {
                store_bytes(offset, &value.to_ne_bytes());
            }
            fn constant(self) -> Self {
                $constant(self)
            }
            fn stored(self) -> Self {
                $stored(self)
            }
            $($rounded)?
        }
    )*};
}

word! {
    u32: identity, identity;
    i64: identity, identity;
    f32: nan::constant, nan::stored, fn rounded(self, format: HalfFormat) -> Option<u16> {
        Some(format.exact(self))
    };
    f64: identity, identity;
}

macro_rules! bits {
    ($($T:ty)*) => {$(
        impl Bits for $T {
            unsafe fn load(p: *const Self) -> u64 {
                report_access(p, GlobalAccess::Load);
                // SAFETY: as the caller's.
                unsafe { p.read() }.into()
            }
            unsafe fn store(p: *mut Self, bits: u64) {
                report_access(p, GlobalAccess::Store);
                // SAFETY: as the caller's.
                unsafe { p.write(bits as $T) }
            }
        }
    )*};
}

bits!(u8 u16 u32 u64);

macro_rules! vector {
    ($T:ty, $width:literal, $shuffle:ident) => {
        impl Vector for $T {
            type Pack = [$T; $width];
            const WIDTH: u32 = $width;

            unsafe fn load(p: *const Self) -> Self {
                report_access(p, GlobalAccess::Load);
                // SAFETY: as the caller's.
                unsafe { p.read() }.constant()
            }
            fn pack(self) -> Self::Pack {
                [self; $width]
            }
            unsafe fn load_relaxed(p: *const Self) -> Self {
                report_access(p, GlobalAccess::LoadRelaxed);
                // SAFETY: as the caller's.
                unsafe { p.read() }.constant()
            }
            unsafe fn store(p: *mut Self, value: Self) {
                report_access(p, GlobalAccess::Store);
                // SAFETY: as the caller's.
                unsafe { p.write(value.stored()) }
            }
            unsafe fn load_pack(p: *const Self) -> Self::Pack {
                let p = p.cast::<Self::Pack>();
                report_access(p, GlobalAccess::Load);
                // SAFETY: as the caller's.
                unsafe { p.read() }.map(Word::constant)
            }
            unsafe fn load_pack_relaxed(p: *const Self) -> Self::Pack {
                let p = p.cast::<Self::Pack>();
                report_access(p, GlobalAccess::LoadRelaxed);
                // SAFETY: as the caller's.
                unsafe { p.read() }.map(Word::constant)
            }
            unsafe fn store_pack(p: *mut Self, value: Self::Pack) {
                let p = p.cast::<Self::Pack>();
                report_access(p, GlobalAccess::Store);
                // SAFETY: as the caller's.
                unsafe { p.write(value.map(Word::stored)) }
            }
            unsafe fn load_shared_vector(offset: u32) -> Self::Pack {
                let bytes = load_bytes::<16>(offset);
                let mut pack = [0.0; $width];
                for (value, bytes) in pack.iter_mut().zip(bytes.as_chunks().0) {
                    *value = <$T>::from_ne_bytes(*bytes);
                }
                pack
            }
            unsafe fn store_shared_vector(offset: u32, value: Self::Pack) {
                let mut bytes = [0; 16];
                for (bytes, value) in bytes.as_chunks_mut().0.iter_mut().zip(value) {
                    *bytes = value.to_ne_bytes();
                }
                store_bytes(offset, &bytes);
            }
            unsafe fn shuffle_xor(self, lanes: u32) -> Self {
                // SAFETY: as the caller's.
                <$T>::from_bits(unsafe { super::warp::$shuffle(self.to_bits(), lanes) })
            }
            fn fma(self, a: Self, b: Self) -> Self {
                self.mul_add(a, b)
            }
            fn sqrt(self) -> Self {
                <$T>::sqrt(self)
            }
        }
    };
}

vector!(f32, 4, shuffle_xor_u32);
vector!(f64, 2, shuffle_xor_u64);
