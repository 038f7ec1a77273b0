//! One launch: runs its blocks one after the other, and switches between the threads of a block.

use core::cell::{Cell, RefCell};
use core::ptr;
use corosensei::Yielder;
use diptych_device::gpu::host::{GlobalAccess, Machine, Place, Site};

use crate::clock::{Clock, Stamp, WARP};
use crate::emulator::Barrier;
use crate::fault::{line, ranges};
use crate::global::GlobalMemory;
use crate::schedule::Order;
use crate::scratch::ScratchMemory;
use crate::shared::SharedMemory;
use crate::threads::{Outcome, Threads};
use crate::wait::{Stop, Wait, WaitKind};

#[derive(Clone, Copy)]
enum State {
    Ready,
    Waiting(Wait),
    Ended,
}

/// The state that outlasts a launch.
pub struct Memory {
    pub shared: SharedMemory,
    pub global: GlobalMemory,
    pub scratch: ScratchMemory,
    pub barriers: std::collections::BTreeSet<Barrier>,
}

/// A launch: the machine on which the threads of the running block run.
pub struct Launch<'a> {
    pub kernel: &'static str,
    pub threads: u32,
    pub grid: (u32, u32, u32),
    pub shared: u32,
    /// The barrier of this kernel at which threads do not wait.
    pub skipped: Option<&'a Barrier>,
    pub memory: &'a RefCell<Memory>,
    order: RefCell<Order>,
    clock: RefCell<Clock>,
    states: RefCell<Vec<State>>,
    /// The running thread.
    running: Cell<u32>,
    /// The running block.
    block: Cell<(u32, u32, u32)>,
    /// The number of the running block in the grid.
    number: Cell<u32>,
    yielders: Vec<Cell<*const Yielder<(), Stop>>>,
    /// For each thread the result of its last shuffle.
    shuffled: Vec<Cell<u32>>,
    fault: RefCell<String>,
    /// The barriers at which threads of this launch have waited.
    recorded: RefCell<Vec<Site>>,
}

impl<'a> Launch<'a> {
    pub fn new(
        kernel: &'static str,
        threads: u32,
        (grid, shared): ((u32, u32, u32), u32),
        order: Order,
        skipped: Option<&'a Barrier>,
        memory: &'a RefCell<Memory>,
    ) -> Self {
        Self {
            kernel,
            threads,
            grid,
            shared,
            skipped: skipped.filter(|barrier| barrier.kernel == kernel),
            memory,
            order: RefCell::new(order),
            clock: RefCell::default(),
            states: RefCell::default(),
            running: Cell::new(0),
            block: Cell::new((0, 0, 0)),
            number: Cell::new(0),
            yielders: (0..threads).map(|_| Cell::new(ptr::null())).collect(),
            shuffled: (0..threads).map(|_| Cell::new(0)).collect(),
            fault: RefCell::default(),
            recorded: RefCell::default(),
        }
    }

    /// Returns the block that is running or was the last to run.
    pub fn block(&self) -> (u32, u32, u32) {
        self.block.get()
    }

    /// Runs all blocks, up to the first fault.
    pub fn run(&self, body: &dyn Fn()) -> Result<(), String> {
        let (x, y, z) = self.grid;
        let count = u64::from(x) * u64::from(y) * u64::from(z);
        self.memory.borrow_mut().global.start_launch();
        let blocks = self.order.borrow_mut().blocks(count);
        for number in blocks {
            let (row, x) = (number / u64::from(x), number % u64::from(x));
            let (z, y) = (row / u64::from(y), row % u64::from(y));
            self.number.set(number as u32);
            self.block.set((x as u32, y as u32, z as u32));
            self.run_block(body)?;
        }
        Ok(())
    }

    fn run_block(&self, body: &dyn Fn()) -> Result<(), String> {
        let count = self.threads as usize;
        self.clock.borrow_mut().start(self.threads);
        self.order.borrow_mut().start(count);
        {
            let mut memory = self.memory.borrow_mut();
            memory.shared.start(self.shared);
            memory.global.start_block();
            let mut states = self.states.borrow_mut();
            states.clear();
            states.resize(count, State::Ready);
        }
        let mut threads = Threads::new(&self.yielders, body);
        let mut alive = count;
        let mut at_barrier = 0;
        while alive > 0 {
            let Some(thread) = self.next() else {
                return Err(self.divergence());
            };
            self.running.set(thread as u32);
            match threads.resume(thread) {
                Outcome::Stopped(Stop::Yield) => {}
                Outcome::Stopped(Stop::Fault) => return Err(self.fault.take()),
                Outcome::Stopped(Stop::Wait(wait)) => {
                    self.states.borrow_mut()[thread] = State::Waiting(wait);
                    if wait.kind == WaitKind::SyncThreads {
                        at_barrier += 1;
                    } else {
                        self.release_warp(thread as u32 / WARP, wait);
                    }
                }
                Outcome::Ended => {
                    self.states.borrow_mut()[thread] = State::Ended;
                    alive -= 1;
                }
                Outcome::Panicked(text) => {
                    return Err(format!("thread {thread} panics: {text}"));
                }
            }
            if at_barrier == alive && alive > 0 {
                self.release_block()?;
                at_barrier = 0;
            }
        }
        Ok(())
    }

    /// Chooses the thread that runs next; `None` if none can.
    fn next(&self) -> Option<usize> {
        let states = self.states.borrow();
        let can_run = |thread: usize| matches!(states[thread], State::Ready);
        self.order.borrow_mut().next(states.len(), can_run)
    }

    /// Releases all threads that have not ended, which wait at `sync_threads`. It is a fault if they wait at different
    /// ones.
    fn release_block(&self) -> Result<(), String> {
        let mut states = self.states.borrow_mut();
        let mut first: Option<Wait> = None;
        for state in states.iter() {
            if let State::Waiting(wait) = state {
                if first.is_some_and(|first| !first.meets(*wait)) {
                    drop(states);
                    return Err(self.divergence());
                }
                first = Some(*wait);
            }
        }
        for state in states.iter_mut() {
            if let State::Waiting(_) = state {
                *state = State::Ready;
            }
        }
        self.clock.borrow_mut().sync_threads();
        self.record(first);
        Ok(())
    }

    /// Releases a warp if all its threads wait at `wait`.
    fn release_warp(&self, warp: u32, wait: Wait) {
        let mut states = self.states.borrow_mut();
        let first = (warp * WARP) as usize;
        let lanes = first..(first + WARP as usize).min(states.len());
        let waits = |state: &State| matches!(state, State::Waiting(other) if other.meets(wait));
        if !states[lanes.clone()].iter().all(waits) {
            return;
        }
        if wait.kind == WaitKind::SyncWarp {
            self.clock.borrow_mut().sync_warp(warp);
            self.record(Some(wait));
        } else {
            let value_of = |state: State| match state {
                State::Waiting(Wait {
                    kind: WaitKind::Shuffle { value, lanes },
                    ..
                }) => (value, lanes),
                _ => unreachable!("the whole warp shuffles"),
            };
            for lane in lanes.clone() {
                let (_, flip) = value_of(states[lane]);
                let partner = first + ((lane - first) ^ flip as usize);
                self.shuffled[lane].set(value_of(states[partner]).0);
            }
        }
        states[lanes].fill(State::Ready);
    }

    /// Records that threads have waited at a barrier.
    fn record(&self, wait: Option<Wait>) {
        let mut recorded = self.recorded.borrow_mut();
        if let Some(wait) = wait
            && !recorded.iter().any(|&site| ptr::eq(site, wait.site))
        {
            recorded.push(wait.site);
            let barrier = Barrier::new(self.kernel, wait.name(), wait.site);
            self.memory.borrow_mut().barriers.insert(barrier);
        }
    }

    /// Describes a deadlock: which threads wait at which barriers.
    fn divergence(&self) -> String {
        let states = self.states.borrow();
        let mut groups: Vec<(Wait, Vec<u32>)> = Vec::new();
        let mut ended = Vec::new();
        for (thread, state) in (0..).zip(states.iter()) {
            match state {
                State::Ready => {}
                State::Ended => ended.push(thread),
                State::Waiting(wait) => {
                    match groups.iter_mut().find(|(other, _)| other.meets(*wait)) {
                        Some((_, threads)) => threads.push(thread),
                        None => groups.push((*wait, vec![thread])),
                    }
                }
            }
        }
        let mut text = String::from("deadlock: threads ");
        for (wait, threads) in groups {
            text += &format!(
                "{} at {} at {}; ",
                ranges(&threads),
                wait.name(),
                line(wait.site)
            );
        }
        if ended.is_empty() {
            text + "none has ended"
        } else {
            text + &format!("{} have ended", ranges(&ended))
        }
    }

    fn now(&self) -> Stamp {
        self.clock.borrow().stamp(self.running.get())
    }

    /// Suspends the running thread, and returns when it is resumed.
    fn stop(&self, stop: Stop) {
        let yielder = self.yielders[self.running.get() as usize].get();
        // SAFETY: the coroutine of the running thread, which is this one, set the pointer when it started.
        unsafe { (*yielder).suspend(stop) };
    }

    /// Yields to other threads if the schedule says so.
    fn maybe_yield(&self) {
        let yields = self.order.borrow_mut().yields();
        if yields {
            self.stop(Stop::Yield);
        }
    }

    /// Ends the running thread, and with it the launch, if `outcome` is an error.
    fn check(&self, outcome: Result<(), String>, site: Site) {
        if let Err(what) = outcome {
            let thread = self.running.get();
            *self.fault.borrow_mut() = format!("thread {thread} at {} {what}", line(site));
            self.stop(Stop::Fault);
            unreachable!("a thread was resumed after a fault");
        }
    }

    fn wait(&self, kind: WaitKind, site: Site) {
        self.stop(Stop::Wait(Wait { kind, site }));
    }

    fn skips(&self, word: &'static str, site: Site) -> bool {
        self.skipped
            .is_some_and(|barrier| *barrier == Barrier::new(self.kernel, word, site))
    }
}

impl Machine for Launch<'_> {
    fn place(&self) -> Place {
        Place {
            thread: self.running.get(),
            threads: self.threads,
            block: self.block.get(),
            grid: self.grid,
        }
    }

    fn sync_threads(&self, site: Site) {
        if !self.skips("sync_threads", site) {
            self.wait(WaitKind::SyncThreads, site);
        }
    }

    fn sync_warp(&self, site: Site) {
        if !self.skips("sync_warp", site) {
            self.wait(WaitKind::SyncWarp, site);
        }
    }

    fn shuffle_xor(&self, value: u32, lanes: u32, site: Site) -> u32 {
        let inside = (lanes < WARP).then_some(());
        self.check(
            inside.ok_or_else(|| format!("shuffles with a lane mask of {lanes}")),
            site,
        );
        self.wait(WaitKind::Shuffle { value, lanes }, site);
        self.shuffled[self.running.get() as usize].get()
    }

    fn load_shared(&self, offset: u32, to: &mut [u8], site: Site) {
        self.maybe_yield();
        let now = self.now();
        let outcome = self.memory.borrow_mut().shared.load(offset, to, now, site);
        self.check(outcome, site);
    }

    fn store_shared(&self, offset: u32, from: &[u8], site: Site) {
        self.maybe_yield();
        let now = self.now();
        let outcome = self
            .memory
            .borrow_mut()
            .shared
            .store(offset, from, now, site);
        self.check(outcome, site);
    }

    fn global(&self, address: usize, len: usize, access: GlobalAccess, site: Site) {
        let now = self.now();
        let outcome = {
            let memory = &mut *self.memory.borrow_mut();
            let inside = memory.scratch.access(address, len, access);
            inside.and_then(|()| {
                memory
                    .global
                    .access(address, len, access, self.number.get(), now)
            })
        };
        self.check(outcome, site);
    }

    fn atomic(&self, address: usize, site: Site) {
        self.stop(Stop::Yield);
        let now = self.now();
        let outcome = {
            let memory = &mut *self.memory.borrow_mut();
            let inside = memory.scratch.access(address, 4, GlobalAccess::Store);
            memory.global.increment(address, self.number.get(), now);
            inside
        };
        self.check(outcome, site);
    }
}
