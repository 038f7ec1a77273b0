//! The threads of a block as coroutines.

use core::cell::{Cell, RefCell};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::wait::Stop;

/// Room for a kernel's frames, and for a panic with a backtrace.
const STACK: usize = 512 * 1024;

type Fiber = Coroutine<(), Stop, (), DefaultStack>;

std::thread_local! {
    /// Stacks that no coroutine uses.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// The threads of one block.
pub struct Threads<'a> {
    fibers: Vec<Option<Fiber>>,
    yielders: &'a [Cell<*const Yielder<(), Stop>>],
    body: &'a dyn Fn(),
}

/// What a thread did when it was let run.
pub enum Ran {
    Stopped(Stop),
    Ended,
    Panicked(String),
}

impl<'a> Threads<'a> {
    /// One thread per place of `yielders`; none has begun.
    pub fn new(yielders: &'a [Cell<*const Yielder<(), Stop>>], body: &'a dyn Fn()) -> Self {
        Self {
            fibers: (0..yielders.len()).map(|_| None).collect(),
            yielders,
            body,
        }
    }

    /// Lets a thread run that has not ended.
    pub fn resume(&mut self, thread: usize) -> Ran {
        let (yielders, body) = (self.yielders, self.body);
        let fiber = self.fibers[thread].get_or_insert_with(|| {
            let stack = STACKS.with_borrow_mut(Vec::pop);
            let stack =
                stack.unwrap_or_else(|| DefaultStack::new(STACK).expect("memory for a stack"));
            let run = move |yielder: &Yielder<(), Stop>, ()| {
                yielders[thread].set(yielder);
                body();
            };
            // SAFETY: what the closure borrows outlives `self`, which ends the coroutine when dropped.
            unsafe { Coroutine::with_stack_unchecked(stack, run) }
        });
        let result = catch_unwind(AssertUnwindSafe(|| fiber.resume(())));
        match result {
            Ok(CoroutineResult::Yield(stop)) => return Ran::Stopped(stop),
            Ok(CoroutineResult::Return(())) => {}
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                return Ran::Panicked(text.unwrap_or("a panic without text").into());
            }
        }
        release(self.fibers[thread].take());
        Ran::Ended
    }
}

impl Drop for Threads<'_> {
    fn drop(&mut self) {
        self.fibers.drain(..).for_each(release);
    }
}

/// Ends a coroutine wherever it stands, and keeps its stack.
fn release(fiber: Option<Fiber>) {
    let Some(mut fiber) = fiber else { return };
    // SAFETY: kernels hold nothing that must be dropped: they cannot allocate; and the machine holds
    // nothing while a thread is stopped.
    unsafe { fiber.force_reset() };
    let stack = fiber.into_stack();
    STACKS.with_borrow_mut(|stacks| stacks.push(stack));
}
