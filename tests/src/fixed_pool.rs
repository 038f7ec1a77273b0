//! A caller's thread pool with a fixed number of threads: it allocates nothing after its creation, and runs
//! as many tasks at once as it has threads.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;

use diptych::ParallelFor;

/// A pool of threads. The calling thread runs no tasks; it only waits.
pub struct FixedPool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    work: Option<Work>,
    next: usize,
    done: usize,
    closing: bool,
}

#[derive(Clone, Copy)]
struct Work {
    count: usize,
    run: *const (dyn Fn(usize) + Sync),
}

// SAFETY: the closure is `Sync`, and `parallel_for` keeps it alive until all tasks are done.
unsafe impl Send for Work {}

impl FixedPool {
    /// Creates a pool with this many threads.
    pub fn new(threads: usize) -> FixedPool {
        let shared = Arc::new(Shared::default());
        let spawn = |_| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.serve())
        };
        let threads = (0..threads).map(spawn).collect();
        FixedPool { shared, threads }
    }
}

impl Drop for FixedPool {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            thread.join().expect("no task panics");
        }
    }
}

// SAFETY: `next` hands out each index below `count` once, and the call returns when all are done.
unsafe impl ParallelFor for FixedPool {
    fn parallel_for(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
        let run: *const (dyn Fn(usize) + Sync + '_) = run;
        // SAFETY: only the lifetime changes; this call returns only when the last task is done.
        let run: *const (dyn Fn(usize) + Sync) = unsafe { core::mem::transmute(run) };
        let mut state = self.shared.lock();
        assert!(state.work.is_none(), "one call at a time");
        (state.work, state.next, state.done) = (Some(Work { count, run }), 0, 0);
        self.shared.changed.notify_all();
        while state.done < count {
            state = self.shared.wait(state);
        }
        state.work = None;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no task panics")
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).expect("no task panics")
    }

    fn serve(&self) {
        let mut state = self.lock();
        loop {
            if state.closing {
                return;
            }
            let Some(work) = state.work.filter(|work| state.next < work.count) else {
                state = self.wait(state);
                continue;
            };
            let index = state.next;
            state.next += 1;
            drop(state);
            // SAFETY: the caller waits until this task is done.
            unsafe { (*work.run)(index) };
            state = self.lock();
            state.done += 1;
            self.changed.notify_all();
        }
    }
}
