//! One launch: its blocks one after the other, the threads of each by turns.

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
use crate::threads::{Ran, Threads};
use crate::wait::{Stop, Wait, Word};

#[derive(Clone, Copy)]
enum State {
    Ready,
    Waiting(Wait),
    Ended,
}

/// What lasts from launch to launch.
pub struct Memory {
    pub shared: SharedMemory,
    pub global: GlobalMemory,
    pub scratch: ScratchMemory,
    pub barriers: std::collections::BTreeSet<Barrier>,
}

/// What the threads of the running block ask.
pub struct Launch<'a> {
    pub kernel: &'static str,
    pub threads: u32,
    pub grid: (u32, u32, u32),
    pub shared: u32,
    pub left_out: Option<&'a Barrier>,
    pub memory: &'a RefCell<Memory>,
    order: RefCell<Order>,
    clock: RefCell<Clock>,
    states: RefCell<Vec<State>>,
    running: Cell<u32>,
    block: Cell<(u32, u32, u32)>,
    number: Cell<u32>,
    yielders: Vec<Cell<*const Yielder<(), Stop>>>,
    answers: Vec<Cell<u32>>,
    fault: RefCell<String>,
    /// Sites of barriers that have held threads of this launch.
    noted: RefCell<Vec<Site>>,
}

impl<'a> Launch<'a> {
    pub fn new(
        kernel: &'static str,
        threads: u32,
        (grid, shared): ((u32, u32, u32), u32),
        order: Order,
        left_out: Option<&'a Barrier>,
        memory: &'a RefCell<Memory>,
    ) -> Self {
        Self {
            kernel,
            threads,
            grid,
            shared,
            left_out: left_out.filter(|barrier| barrier.kernel == kernel),
            memory,
            order: RefCell::new(order),
            clock: RefCell::default(),
            states: RefCell::default(),
            running: Cell::new(0),
            block: Cell::new((0, 0, 0)),
            number: Cell::new(0),
            yielders: (0..threads).map(|_| Cell::new(ptr::null())).collect(),
            answers: (0..threads).map(|_| Cell::new(0)).collect(),
            fault: RefCell::default(),
            noted: RefCell::default(),
        }
    }

    /// The block that runs, or ran last.
    pub fn block(&self) -> (u32, u32, u32) {
        self.block.get()
    }

    /// Runs all blocks.
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
                Ran::Stopped(Stop::Step) => {}
                Ran::Stopped(Stop::Fault) => return Err(self.fault.take()),
                Ran::Stopped(Stop::Wait(wait)) => {
                    self.states.borrow_mut()[thread] = State::Waiting(wait);
                    if wait.word == Word::SyncThreads {
                        at_barrier += 1;
                    } else {
                        self.release_warp(thread as u32 / WARP, wait);
                    }
                }
                Ran::Ended => {
                    self.states.borrow_mut()[thread] = State::Ended;
                    alive -= 1;
                }
                Ran::Panicked(text) => {
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

    fn next(&self) -> Option<usize> {
        let states = self.states.borrow();
        let can_run = |thread: usize| matches!(states[thread], State::Ready);
        self.order.borrow_mut().next(states.len(), can_run)
    }

    /// All threads that have not ended wait at sync_threads: they run on if it is the same one.
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
        self.note(first);
        Ok(())
    }

    /// Lets a warp run on if all of it waits at `wait`.
    fn release_warp(&self, warp: u32, wait: Wait) {
        let mut states = self.states.borrow_mut();
        let first = (warp * WARP) as usize;
        let lanes = first..(first + WARP as usize).min(states.len());
        let waits = |state: &State| matches!(state, State::Waiting(other) if other.meets(wait));
        if !states[lanes.clone()].iter().all(waits) {
            return;
        }
        if wait.word == Word::SyncWarp {
            self.clock.borrow_mut().sync_warp(warp);
            self.note(Some(wait));
        } else {
            let value_of = |state: State| match state {
                State::Waiting(Wait {
                    word: Word::Shuffle { value, lanes },
                    ..
                }) => (value, lanes),
                _ => unreachable!("the whole warp shuffles"),
            };
            for lane in lanes.clone() {
                let (_, flip) = value_of(states[lane]);
                let partner = first + ((lane - first) ^ flip as usize);
                self.answers[lane].set(value_of(states[partner]).0);
            }
        }
        states[lanes].fill(State::Ready);
    }

    /// Remembers that a barrier held threads.
    fn note(&self, wait: Option<Wait>) {
        let mut noted = self.noted.borrow_mut();
        if let Some(wait) = wait
            && !noted.iter().any(|&site| ptr::eq(site, wait.site))
        {
            noted.push(wait.site);
            let barrier = Barrier::new(self.kernel, wait.name(), wait.site);
            self.memory.borrow_mut().barriers.insert(barrier);
        }
    }

    /// Who waits where, when nobody can run on.
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
        let mut text = String::from("threads wait for each other for ever: ");
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

    /// The running thread stops; it comes back when it is resumed.
    fn stop(&self, stop: Stop) {
        let yielder = self.yielders[self.running.get() as usize].get();
        // SAFETY: the coroutine of the running thread set it when it began, and it is this one.
        unsafe { (*yielder).suspend(stop) };
    }

    fn step(&self) {
        let steps = self.order.borrow_mut().steps();
        if steps {
            self.stop(Stop::Step);
        }
    }

    /// The running thread goes no further if it did something wrong.
    fn demand(&self, outcome: Result<(), String>, site: Site) {
        if let Err(what) = outcome {
            let thread = self.running.get();
            *self.fault.borrow_mut() = format!("thread {thread} at {} {what}", line(site));
            self.stop(Stop::Fault);
            unreachable!("a thread that did something wrong runs on");
        }
    }

    fn wait(&self, word: Word, site: Site) {
        self.stop(Stop::Wait(Wait { word, site }));
    }

    fn leaves_out(&self, word: &'static str, site: Site) -> bool {
        self.left_out
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
        if !self.leaves_out("sync_threads", site) {
            self.wait(Word::SyncThreads, site);
        }
    }

    fn sync_warp(&self, site: Site) {
        if !self.leaves_out("sync_warp", site) {
            self.wait(Word::SyncWarp, site);
        }
    }

    fn shuffle_xor(&self, value: u32, lanes: u32, site: Site) -> u32 {
        let inside = (lanes < WARP).then_some(());
        self.demand(
            inside.ok_or_else(|| format!("shuffles with a lane mask of {lanes}")),
            site,
        );
        self.wait(Word::Shuffle { value, lanes }, site);
        self.answers[self.running.get() as usize].get()
    }

    fn load_shared(&self, offset: u32, to: &mut [u8], site: Site) {
        self.step();
        let now = self.now();
        let outcome = self.memory.borrow_mut().shared.load(offset, to, now, site);
        self.demand(outcome, site);
    }

    fn store_shared(&self, offset: u32, from: &[u8], site: Site) {
        self.step();
        let now = self.now();
        let outcome = self
            .memory
            .borrow_mut()
            .shared
            .store(offset, from, now, site);
        self.demand(outcome, site);
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
        self.demand(outcome, site);
    }

    fn atomic(&self, address: usize, site: Site) {
        self.stop(Stop::Step);
        let now = self.now();
        let outcome = {
            let memory = &mut *self.memory.borrow_mut();
            let inside = memory.scratch.access(address, 4, GlobalAccess::Store);
            memory.global.increment(address, self.number.get(), now);
            inside
        };
        self.demand(outcome, site);
    }
}
