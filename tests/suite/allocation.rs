//! No call allocates: not a small one, not one with a workspace, and with the library's own scratch
//! only the first of its size on a thread.

use core::cell::Cell;
use core::mem::MaybeUninit;
use std::alloc::{GlobalAlloc, Layout, System};

use diptych::{Exec, raw};
use diptych_tests::cases::{self, Values};
use diptych_tests::levels::levels;
use diptych_tests::ops::{Scalars, elementwise, reductions};
use diptych_tests::real::Dtype;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// Counts what each thread asks for.
struct Counting;

// SAFETY: hands every request to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        unsafe { System.dealloc(p, layout) }
    }
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller's.
        unsafe { System.realloc(p, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// How often `f` allocates on this thread.
fn allocations(f: impl FnOnce() -> diptych::Result<()>) -> usize {
    let before = ALLOCATIONS.get();
    f().expect("valid arguments");
    ALLOCATIONS.get() - before
}

#[test]
fn the_counter_counts() {
    let mut kept = Vec::new();
    let one = allocations(|| {
        kept.push(1u8);
        Ok(())
    });
    assert_eq!(one, 1);
}

diptych_tests::per_dtype!(operations_without_scratch, operations_with_scratch);

fn operations_without_scratch<T: Dtype>() {
    let x: Vec<T> = cases::vector(Values::Ordinary, 200 * 200, 1);
    let mut out = vec![T::zero(); 200 * 200];
    let (a, p, s) = (x.as_ptr(), out.as_mut_ptr(), Scalars::ordinary());
    for &level in levels() {
        let exec = &Exec::new()
            .with_level(level)
            .expect("the level is on this machine");
        let none = |name: &str, f: &dyn Fn() -> diptych::Result<()>| {
            assert_eq!(
                allocations(f),
                0,
                "{name} {}, level {}",
                T::DTYPE,
                level.name()
            );
        };
        for n in [0, 1, 10, 1000, 40_000] {
            for op in elementwise::<T>() {
                // SAFETY: arrays of n elements; the inputs may coincide.
                none(op.name, &|| unsafe { op.call(exec, n, a, a, &s, p) });
            }
            for op in reductions::<T>().iter().filter(|_| n > 1) {
                // SAFETY: x has n elements, out at least one.
                none(op.name, &|| unsafe { op.call(exec, n, a, 1, p) });
            }
            // SAFETY: arrays of n elements, out of one more than the gradient needs.
            none("dot", &|| unsafe { raw::dot(exec, n, a, 1, a, 1, p) });
            if n < 40_000 {
                // SAFETY: as above.
                none("mse_grad", &|| unsafe {
                    raw::mse_grad(exec, n, a, a, p, p.add(n as usize))
                });
            }
        }
        for (m, n) in [(3, 5), (200, 200)] {
            for (rs, cs) in [(n, 1), (1, m)] {
                for op in reductions::<T>().iter().filter(|op| !op.gives_index()) {
                    // SAFETY: x shows m by n elements, out has m.
                    none(op.name, &|| unsafe {
                        op.call_rows(exec, m, n, a, rs, cs, p, 1)
                    });
                }
                // SAFETY: vectors of m and n elements, a matrix of m by n.
                none("outer", &|| unsafe {
                    raw::outer(exec, m, n, a, 1, a, 1, p, rs, cs)
                });
                // SAFETY: as above.
                none("ger", &|| unsafe {
                    raw::ger(exec, m, n, T::one(), a, 1, a, 1, p, rs, cs)
                });
            }
        }
        // SAFETY: a call of the smallest size.
        none("gemm 1 x 1 x 1", &|| unsafe {
            raw::gemm(
                exec,
                1,
                1,
                1,
                T::one(),
                a,
                1,
                1,
                a,
                1,
                1,
                T::zero(),
                p,
                1,
                1,
            )
        });
    }
}

fn operations_with_scratch<T: Dtype>() {
    let x: Vec<T> = cases::vector(Values::Ordinary, 300 * 300, 1);
    let mut out = vec![T::zero(); 300 * 300];
    let (a, p, one) = (x.as_ptr(), out.as_mut_ptr(), T::one());
    // From large to small: the library's own buffer grows at most once per function.
    let gemm = |e: &Exec<'_>, n: i64| {
        // SAFETY: matrices of at most 300 x 300.
        unsafe { raw::gemm(e, n, n, n, one, a, n, 1, a, 1, n, one, p, n, 1) }
    };
    let lsq_grad = |e: &Exec<'_>, n: i64| {
        // SAFETY: a matrix of at most 300 x 300 and vectors.
        unsafe { raw::lsq_grad(e, n, n, a, n, 1, a, a, p) }
    };
    for &level in levels() {
        let named =
            |what: &str, n: i64| format!("{what} {}, level {}, n = {n}", T::DTYPE, level.name());
        let at = || {
            Exec::new()
                .with_level(level)
                .expect("the level is on this machine")
        };
        let own = at();
        allocations(|| gemm(&own, 300).and(lsq_grad(&own, 300)));
        for n in [300, 120, 7, 1] {
            assert_eq!(
                allocations(|| gemm(&own, n)),
                0,
                "{}",
                named("second gemm", n)
            );
            assert_eq!(
                allocations(|| lsq_grad(&own, n)),
                0,
                "{}",
                named("second lsq_grad", n)
            );
        }
        let sizes = [
            raw::gemm_workspace::<T>(&own, 300, 300, 300),
            raw::lsq_grad_workspace::<T>(&own, 300, 300),
        ];
        let size = sizes
            .into_iter()
            .map(|s| s.expect("a size"))
            .max()
            .unwrap_or(0);
        // A fresh thread has no buffer yet, so a call that did not keep to the workspace would show.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut out = vec![T::zero(); 300 * 300];
                let mut workspace = vec![MaybeUninit::<u8>::uninit(); size];
                let exec = Exec::new()
                    .with_level(level)
                    .expect("the level is on this machine");
                let exec = exec.with_workspace(&mut workspace);
                let (a, p) = (x.as_ptr(), out.as_mut_ptr());
                // SAFETY: matrices of 300 x 300 and vectors.
                let count = allocations(|| unsafe {
                    raw::gemm(
                        &exec, 300, 300, 300, one, a, 300, 1, a, 1, 300, one, p, 300, 1,
                    )?;
                    raw::lsq_grad(&exec, 300, 300, a, 300, 1, a, a, p)
                });
                assert_eq!(count, 0, "with a workspace, level {}", level.name());
            });
        });
    }
}
