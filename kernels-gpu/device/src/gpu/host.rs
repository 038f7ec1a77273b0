//! The host twin: every word of the vocabulary asks the [`Machine`] that runs this thread.

use super::{Vector, Word, nan};
use core::cell::Cell;
use core::convert::identity;
use core::panic::Location;

/// Where a thread stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Its number in the block.
    pub thread: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Its block.
    pub block: (u32, u32, u32),
    /// Blocks of the grid.
    pub grid: (u32, u32, u32),
}

/// Where in a kernel's source something happens.
pub type Site = &'static Location<'static>;

/// What runs the threads of a grid on the host: an emulator. It is asked by the thread that runs, and may
/// let others run before it answers.
pub trait Machine {
    /// Where the running thread stands.
    fn place(&self) -> Place;
    /// The running thread waits for its block.
    fn sync_threads(&self, site: Site);
    /// The running thread waits for its warp.
    fn sync_warp(&self, site: Site);
    /// The running thread gives its warp a value, and takes that of the lane that differs in `lanes`.
    fn shuffle_xor(&self, value: u32, lanes: u32, site: Site) -> u32;
    /// Copies bytes of the block's shared memory to `to`.
    fn load_shared(&self, offset: u32, to: &mut [u8], site: Site);
    /// Copies `from` to the block's shared memory.
    fn store_shared(&self, offset: u32, from: &[u8], site: Site);
    /// The running thread is about to use `len` bytes of global memory.
    fn global(&self, address: usize, len: usize, access: GlobalAccess, site: Site);
    /// The running thread is about to count itself in global memory.
    fn atomic(&self, address: usize, site: Site);
}

/// How global memory is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalAccess {
    /// [`Vector::load`], [`Vector::load_pack`], [`load`](super::global::load).
    Load,
    /// [`Vector::load_fresh`], [`Vector::load_pack_fresh`].
    LoadFresh,
    /// [`Vector::store`], [`Vector::store_pack`], [`store`](super::global::store).
    Store,
}

std::thread_local! {
    static MACHINE: Cell<Option<*const dyn Machine>> = const { Cell::new(None) };
}

/// Runs `body`, in which kernels may be called: they ask `machine`.
pub fn with_machine<R>(machine: &dyn Machine, body: impl FnOnce() -> R) -> R {
    struct Restore(Option<*const dyn Machine>);
    impl Drop for Restore {
        fn drop(&mut self) {
            MACHINE.set(self.0);
        }
    }
    // SAFETY: only the lifetime changes; the pointer is taken back before `machine` can end.
    let machine = unsafe {
        core::mem::transmute::<*const (dyn Machine + '_), *const (dyn Machine + 'static)>(machine)
    };
    let _restore = Restore(MACHINE.replace(Some(machine)));
    body()
}

fn ask<R>(question: impl FnOnce(&dyn Machine) -> R) -> R {
    let machine = MACHINE
        .get()
        .expect("a kernel runs on the host only under an emulator");
    // SAFETY: `with_machine` keeps it alive.
    question(unsafe { &*machine })
}

macro_rules! places {
    ($($name:ident = $($field:tt).+;)*) => {$(
        pub(super) fn $name() -> u32 {
            ask(|machine| machine.place().$($field).+)
        }
    )*};
}

places! {
    thread_idx_x = thread;
    block_dim_x = threads;
    block_idx_x = block.0;
    block_idx_y = block.1;
    block_idx_z = block.2;
    grid_dim_x = grid.0;
    grid_dim_y = grid.1;
    grid_dim_z = grid.2;
}

pub(super) fn here(value: u32) -> u32 {
    value
}

#[track_caller]
pub(super) unsafe fn sync_threads() {
    let site = Location::caller();
    ask(|machine| machine.sync_threads(site));
}

#[track_caller]
pub(super) unsafe fn sync_warp() {
    let site = Location::caller();
    ask(|machine| machine.sync_warp(site));
}

#[track_caller]
pub(super) unsafe fn shuffle_xor(value: u32, lanes: u32) -> u32 {
    let site = Location::caller();
    ask(|machine| machine.shuffle_xor(value, lanes, site))
}

pub(super) fn shared_base() -> u32 {
    0
}

#[track_caller]
pub(super) unsafe fn load_global<T: Word>(p: *const T) -> T {
    global(p, GlobalAccess::Load);
    // SAFETY: as the caller's.
    unsafe { p.read() }.constant()
}

#[track_caller]
pub(super) unsafe fn store_global<T: Word>(p: *mut T, value: T) {
    global(p, GlobalAccess::Store);
    // SAFETY: as the caller's.
    unsafe { p.write(value.stored()) }
}

#[track_caller]
pub(super) unsafe fn fetch_increment(counter: *mut u32, last: u32) -> u32 {
    let site = Location::caller();
    ask(|machine| machine.atomic(counter.addr(), site));
    // SAFETY: the caller vouches for the counter; threads of a grid take turns on one host thread.
    unsafe {
        let was = counter.read();
        counter.write(if was >= last { 0 } else { was + 1 });
        was
    }
}

pub(super) fn keep_loop() {}

#[track_caller]
fn load_bytes<const N: usize>(offset: u32) -> [u8; N] {
    let site = Location::caller();
    let mut bytes = [0; N];
    ask(|machine| machine.load_shared(offset, &mut bytes, site));
    bytes
}

#[track_caller]
fn store_bytes(offset: u32, bytes: &[u8]) {
    let site = Location::caller();
    ask(|machine| machine.store_shared(offset, bytes, site));
}

/// Tells the machine of an access of global memory.
#[track_caller]
fn global<T>(p: *const T, access: GlobalAccess) {
    let site = Location::caller();
    assert!(
        p.addr().is_multiple_of(size_of::<T>()),
        "{} bytes at an address that is no multiple of that",
        size_of::<T>()
    );
    ask(|machine| machine.global(p.addr(), size_of::<T>(), access, site));
}

/// An argument of a kernel.
pub trait Argument: Copy {
    /// What a thread's register has of it.
    fn received(self) -> Self {
        self
    }
}

impl Argument for u64 {}
impl<T> Argument for *const T {}
impl<T> Argument for *mut T {}
impl<T: Word> Argument for T {
    fn received(self) -> Self {
        self.constant()
    }
}

macro_rules! word {
    ($($T:ty: $constant:path, $stored:path;)*) => {$(
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
        }
    )*};
}

word! {
    u32: identity, identity;
    i64: identity, identity;
    f32: nan::constant, nan::stored;
    f64: identity, identity;
}

macro_rules! vector {
    ($T:ty, $width:literal, $shuffle:ident) => {
        impl Vector for $T {
            type Pack = [$T; $width];
            const WIDTH: u32 = $width;

            unsafe fn load(p: *const Self) -> Self {
                global(p, GlobalAccess::Load);
                // SAFETY: as the caller's.
                unsafe { p.read() }.constant()
            }
            fn pack(self) -> Self::Pack {
                [self; $width]
            }
            unsafe fn load_fresh(p: *const Self) -> Self {
                global(p, GlobalAccess::LoadFresh);
                // SAFETY: as the caller's.
                unsafe { p.read() }.constant()
            }
            unsafe fn store(p: *mut Self, value: Self) {
                global(p, GlobalAccess::Store);
                // SAFETY: as the caller's.
                unsafe { p.write(value.stored()) }
            }
            unsafe fn load_pack(p: *const Self) -> Self::Pack {
                let p = p.cast::<Self::Pack>();
                global(p, GlobalAccess::Load);
                // SAFETY: as the caller's.
                unsafe { p.read() }.map(Word::constant)
            }
            unsafe fn load_pack_fresh(p: *const Self) -> Self::Pack {
                let p = p.cast::<Self::Pack>();
                global(p, GlobalAccess::LoadFresh);
                // SAFETY: as the caller's.
                unsafe { p.read() }.map(Word::constant)
            }
            unsafe fn store_pack(p: *mut Self, value: Self::Pack) {
                let p = p.cast::<Self::Pack>();
                global(p, GlobalAccess::Store);
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
