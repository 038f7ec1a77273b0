//! The threads of a block as coroutines.

use core::cell::{Cell, RefCell};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::wait::Stop;

/// Bytes of a coroutine's stack: enough for the frames of a kernel and a panic with a backtrace.
const STACK: usize = 512 * 1024;

type Fiber = Coroutine<(), Stop, (), DefaultStack>;

std::thread_local! {
    /// Stacks that no coroutine uses now, for reuse.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// The threads of one block.
pub struct Threads<'a> {
    fibers: Vec<Option<Fiber>>,
    yielders: &'a [Cell<*const Yielder<(), Stop>>],
    body: &'a dyn Fn(),
}

/// How a thread stopped after it was resumed.
pub enum Outcome {
    Stopped(Stop),
    Ended,
    Panicked(String),
}

impl<'a> Threads<'a> {
    /// Makes one thread per element of `yielders`, which has not started yet.
    pub fn new(yielders: &'a [Cell<*const Yielder<(), Stop>>], body: &'a dyn Fn()) -> Self {
        Self {
            fibers: (0..yielders.len()).map(|_| None).collect(),
            yielders,
            body,
        }
    }

    /// Starts or resumes a thread that has not ended, and returns when it stops.
    pub fn resume(&mut self, thread: usize) -> Outcome {
        let (yielders, body) = (self.yielders, self.body);
        let fiber = self.fibers[thread].get_or_insert_with(|| {
            let stack = STACKS.with_borrow_mut(Vec::pop);
            let stack =
                stack.unwrap_or_else(|| DefaultStack::new(STACK).expect("memory for a stack"));
            let run = move |yielder: &Yielder<(), Stop>, ()| {
                yielders[thread].set(yielder);
                body();
            };
            // SAFETY: the closure's borrows outlive `self`, which ends the coroutine when it is dropped.
            unsafe { Coroutine::with_stack_unchecked(stack, run) }
        });
        let result = catch_unwind(AssertUnwindSafe(|| fiber.resume(())));
        match result {
            Ok(CoroutineResult::Yield(stop)) => return Outcome::Stopped(stop),
            Ok(CoroutineResult::Return(())) => {}
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                return Outcome::Panicked(text.unwrap_or("a panic without text").into());
            }
        }
        release(self.fibers[thread].take());
        Outcome::Ended
    }
}

impl Drop for Threads<'_> {
    fn drop(&mut self) {
        self.fibers.drain(..).for_each(release);
    }
}

/// Ends a coroutine, even in the middle of its work, and keeps its stack for reuse.
fn release(fiber: Option<Fiber>) {
    let Some(mut fiber) = fiber else { return };
    // SAFETY: no frame of the coroutine needs dropping. Kernels hold no values that must be dropped, since they cannot
    // allocate, and the emulator holds none while a thread is suspended.
    unsafe { fiber.force_reset() };
    let stack = fiber.into_stack();
    STACKS.with_borrow_mut(|stacks| stacks.push(stack));
}
