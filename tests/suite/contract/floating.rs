//! The floating-point environment: calls leave the caller's unchanged, their tasks compute with its control word, and pool
//! threads have the default one.

use std::collections::BTreeSet;

use diptych_tests::calls::{Inputs, Outputs, calls, table_names};
#[cfg(target_arch = "x86_64")]
use diptych_tests::ops::{Scalars, elementwise, row_maps};
use diptych_tests::real::Dtype;
use diptych_tests::threads;

diptych_tests::per_dtype!(the_floating_point_environment_stays);
#[cfg(target_arch = "x86_64")]
diptych_tests::per_dtype!(ordinary_numbers_raise_no_flags);

/// The state that calls must not change.
#[derive(Debug, PartialEq)]
struct Environment {
    /// Rounding mode, exception masks and flush modes; not the sticky flags, which arithmetic may raise.
    control: u64,
    /// The x87's control word and tag word (which says which registers are in use).
    x87: [u16; 2],
}

#[cfg(target_arch = "x86_64")]
fn environment() -> Environment {
    let (mut word, mut x87) = (0u32, [0u32; 7]);
    // SAFETY: stores the control and status register and the x87's environment to local variables. The
    // second store masks the x87's exceptions, so the stored environment is loaded again.
    unsafe {
        core::arch::asm!("stmxcsr [{}]", in(reg) &mut word, options(nostack));
        core::arch::asm!("fnstenv [{0}]", "fldenv [{0}]", in(reg) &mut x87, options(nostack));
    }
    Environment {
        control: u64::from(word & !0x3F),
        x87: [x87[0] as u16, x87[2] as u16],
    }
}

#[cfg(target_arch = "aarch64")]
fn environment() -> Environment {
    let control: u64;
    // SAFETY: reads the control register.
    unsafe { core::arch::asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack)) };
    Environment {
        control,
        x87: [0; 2],
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn environment() -> Environment {
    Environment {
        control: 0,
        x87: [0; 2],
    }
}

fn the_floating_point_environment_stays<T: Dtype>() {
    let before = environment();
    let calls = calls::<T>();
    let (inputs, mut out) = (Inputs::default(), Outputs::default());
    let mut called = BTreeSet::new();
    for config in threads::all() {
        for call in calls.iter().filter(|call| !call.is_large) {
            let status = config.run(|exec| call.run(exec, &inputs, &mut out));
            let after = environment();
            let (name, shape) = (&call.name, &call.shape);
            status.unwrap_or_else(|error| panic!("{name} {shape} {config}: {error}"));
            assert_eq!(after, before, "{name} {shape} {config}");
            called.insert(name.clone());
        }
    }
    assert_eq!(called, table_names());
}

/// Sets whether arithmetic flushes subnormal numbers to zero, and returns whether it did before.
#[cfg(all(target_arch = "x86_64", feature = "pool"))]
fn flush_subnormals(on: bool) -> bool {
    const FLUSH: u32 = 0x8040;
    let mut word = 0u32;
    // SAFETY: the caller restores the mode, and does no floating-point arithmetic before that.
    unsafe {
        core::arch::asm!("stmxcsr [{}]", in(reg) &mut word, options(nostack));
        let next = if on { word | FLUSH } else { word & !FLUSH };
        core::arch::asm!("ldmxcsr [{}]", in(reg) &next, options(nostack));
    }
    word & FLUSH != 0
}

/// Pool threads have the default environment even if the thread that created the pool has another.
#[cfg(all(target_arch = "x86_64", feature = "pool"))]
#[test]
fn helpers_have_the_default_environment() {
    use std::sync::Barrier;
    assert!(!flush_subnormals(true));
    let pool = diptych::Pool::new(2);
    assert!(flush_subnormals(false));
    let (pool, both) = (pool.expect("two threads"), Barrier::new(2));
    let expected = environment();
    diptych::ParallelFor::parallel_for(&pool, 2, &|_| {
        both.wait();
        assert_eq!(environment(), expected);
    });
}

/// Every task of a call flushes subnormal numbers if the caller does: on a pool, whose threads have the default
/// environment, and on threads of the caller's, which keep theirs.
#[cfg(all(target_arch = "x86_64", feature = "pool"))]
#[test]
fn tasks_compute_with_the_callers_control_word() {
    use diptych::{Exec, MatMut, MatRef, ParallelFor};
    /// A new thread with the default environment for each task.
    struct Fresh;
    // SAFETY: each index has one thread, and the scope ends after all of them.
    unsafe impl ParallelFor for Fresh {
        fn parallel_for(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
            std::thread::scope(|scope| {
                for i in 0..count {
                    scope.spawn(move || {
                        flush_subnormals(false);
                        let before = environment();
                        run(i);
                        assert_eq!(environment(), before);
                    });
                }
            });
        }
    }
    const N: usize = 1 << 20;
    let (x, ones) = (vec![1e-40_f32; N], vec![1.0_f32; N]);
    let compute = |exec: &Exec<'_>| {
        let (mut scaled, mut product) = (ones.clone(), vec![1.0_f32; 256 * 256]);
        let a = MatRef::new(&x[..256 * 256], 256, 256).expect("fits");
        let b = MatRef::new(&ones[..256 * 256], 256, 256).expect("fits");
        let c = MatMut::new(&mut product, 256, 256).expect("fits");
        diptych::scale(exec, 1.0, &x, &mut scaled).expect("scale");
        diptych::gemm(exec, 1.0, a, b, 0.0, c).expect("gemm");
        let sum = diptych::sum(exec, x.as_slice()).expect("sum");
        let dot = diptych::dot(exec, x.as_slice(), ones.as_slice()).expect("dot");
        [scaled, product, vec![sum], vec![dot]]
            .map(|part| part.iter().map(|x| x.to_bits()).collect::<Vec<_>>())
    };
    let pool = diptych::Pool::new(4).expect("four threads");
    let kept = compute(&Exec::new());
    assert!(!flush_subnormals(true));
    let alone = compute(&Exec::new());
    let fresh = compute(&Exec::new().with_pool(&Fresh, 4));
    let pooled = compute(&Exec::new().with_pool(&pool, 4));
    assert!(flush_subnormals(false));
    for (i, alone) in alone.iter().enumerate() {
        assert_ne!(alone, &kept[i], "result {i} has no subnormal numbers");
        assert!(alone == &fresh[i] && alone == &pooled[i], "result {i}");
    }
}

/// Pool threads block signals for the process, so that its handlers run on its own threads. They do not block signals
/// that a thread's own actions raise, nor SIGPROF.
#[cfg(all(target_os = "linux", feature = "pool"))]
#[test]
fn helpers_block_signals_of_others() {
    use std::sync::Barrier;
    let is_blocked = |signal| {
        let mut set = std::mem::MaybeUninit::uninit();
        // SAFETY: reads the signal mask of this thread into a local variable.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), set.as_mut_ptr());
            libc::sigismember(set.as_ptr(), signal) == 1
        }
    };
    let pool = diptych::Pool::new(2).expect("two threads");
    let (both, caller) = (Barrier::new(2), std::thread::current().id());
    diptych::ParallelFor::parallel_for(&pool, 2, &|_| {
        both.wait();
        let is_helper = std::thread::current().id() != caller;
        for signal in [libc::SIGINT, libc::SIGALRM, libc::SIGCHLD, libc::SIGUSR1] {
            assert_eq!(is_blocked(signal), is_helper, "{signal}");
        }
        for signal in [libc::SIGSEGV, libc::SIGFPE, libc::SIGSYS, libc::SIGPROF] {
            assert!(!is_blocked(signal), "{signal}");
        }
    });
}

/// Clears the exception flags, and returns those for invalid operations (as sqrt(-1)) and division by zero.
#[cfg(target_arch = "x86_64")]
fn take_flags() -> u32 {
    let mut word = 0u32;
    // SAFETY: clears flags that no other code of this thread reads.
    unsafe {
        core::arch::asm!("stmxcsr [{}]", in(reg) &mut word, options(nostack));
        core::arch::asm!("ldmxcsr [{}]", in(reg) &(word & !0x3F), options(nostack));
    }
    word & 0b101
}

/// Elementwise operations and maps over rows raise neither flag on ordinary numbers, since a program that traps them would die.
#[cfg(target_arch = "x86_64")]
fn ordinary_numbers_raise_no_flags<T: Dtype>() {
    use diptych_tests::cases::Values;
    let scalars = Scalars::ordinary();
    let lengths = [(0..140).collect(), vec![T::CHUNK - 1, T::CHUNK + 3]].concat();
    for n in lengths {
        // No zeros, by which operations may divide.
        let x: Vec<T> = diptych_tests::cases::vector(Values::Ordinary, n, 1);
        let x: Vec<T> = x.iter().map(|x| T::of(1.5 + x.wide().abs())).collect();
        let mut out = vec![T::one(); n];
        for config in threads::all() {
            for op in elementwise::<T>() {
                take_flags();
                let (p, out) = (x.as_ptr(), out.as_mut_ptr());
                let status = config.run(|e| {
                    // SAFETY: vectors of n elements.
                    unsafe { op.call(e, n as i64, p, p, &scalars, out) }
                });
                status.expect(op.name);
                let (name, flags) = (op.name, take_flags());
                assert_eq!(flags, 0, "{name} {} {config}, n = {n}", T::DTYPE);
            }
            // One row, and rows of one, two and three elements, in rows and in columns.
            for (op, m) in row_maps::<T>()
                .iter()
                .flat_map(|op| [1, n, n / 2, n / 3].map(|m| (op, m)))
            {
                let each = n.checked_div(m).unwrap_or(0);
                for (rs, cs) in [(each, 1), (1, m)] {
                    let [rs, cs] = [rs as i64, cs as i64];
                    take_flags();
                    let (p, out) = (x.as_ptr(), out.as_mut_ptr());
                    // SAFETY: matrices of at most n elements.
                    let status = config
                        .run(|e| unsafe { op.call(e, (m, each), (p, rs, cs), (out, rs, cs)) });
                    status.expect(op.name);
                    let (name, flags) = (op.name, take_flags());
                    assert_eq!(flags, 0, "{name} {} {config}, {m} x {each}", T::DTYPE);
                }
            }
        }
    }
    assert!(T::one() / T::zero() > T::one() && take_flags() == 0b100);
}

/// Verifies that comparing environments detects a change.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_changed_environment_is_seen() {
    let before = environment();
    let (mut old, mut word) = (0u16, 0u16);
    // SAFETY: changes the precision of the x87 on this thread, and restores it.
    let changed = unsafe {
        core::arch::asm!("fnstcw [{}]", in(reg) &mut old, options(nostack));
        word |= old & !0x0300;
        core::arch::asm!("fldcw [{}]", in(reg) &word, options(nostack));
        let changed = environment();
        core::arch::asm!("fldcw [{}]", in(reg) &old, options(nostack));
        changed
    };
    assert_ne!(changed, before);
    assert_eq!(environment(), before);
}
