//! Maps over rows: each takes scratch memory, and a reduction and a step of its own.

use super::arguments::CONTEXTS;
use super::calls::*;
use super::fake::fake;
use core::ptr;
use diptych::table;
use diptych_ffi::dpt_status_code::*;
use diptych_ffi::*;

/// The bytes of a sufficient workspace, from the header.
const WORKSPACE: usize = (320 << 10) + 15;

type Map = unsafe extern "C" fn(
    *const dpt_exec,
    i64,
    i64,
    *const f64,
    i64,
    i64,
    *mut f64,
    i64,
    i64,
) -> dpt_status;

/// Declares the maps of the table, and lists them by name.
macro_rules! row_maps {
    ({} $($name:ident)*) => {{
        unsafe extern "C" {
            $(
                #[link_name = concat!("dpt_", stringify!($name), "_f64")]
                fn $name(
                    exec: *const dpt_exec, m: i64, n: i64, x: *const f64, x_rs: i64, x_cs: i64,
                    out: *mut f64, out_rs: i64, out_cs: i64,
                ) -> dpt_status;
            )*
        }
        let all: [(&str, Map); table::ROW_MAPS.len()] = [$((stringify!($name), $name as Map)),*];
        all
    }};
}

fn row_maps() -> [(&'static str, Map); table::ROW_MAPS.len()] {
    diptych::for_each_row_map!(row_maps! {}[name])
}

fn numbers(count: i64) -> Vec<f64> {
    (0..count).map(|i| (i % 97) as f64 / 89.0 - 0.4).collect()
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Returns an exec with a workspace of this address and size.
fn with_workspace(start: *mut u8, size: usize) -> dpt_exec {
    dpt_exec {
        workspace: start.cast(),
        workspace_size: size,
        ..cuda()
    }
}

/// Returns the launches among the calls of the driver since this was asked last.
fn launches() -> usize {
    let calls = fake().written();
    calls
        .iter()
        .filter(|call| *call == "cuLaunchKernel")
        .count()
}

/// Panics unless the map has the results of the CPU with this exec.
#[track_caller]
fn check((name, map): (&str, Map), exec: &dpt_exec, (m, n): (i64, i64), by_rows: bool) {
    let x = numbers(m * n);
    let (rs, cs) = if by_rows { (n, 1) } else { (1, m) };
    let mut wanted = vec![0.0; x.len()];
    let (dx, out) = (Array::new(&x), Array::new(&wanted));
    // SAFETY: matrices of m by n elements.
    unsafe {
        fine(map(
            ptr::null(),
            m,
            n,
            x.as_ptr(),
            rs,
            cs,
            wanted.as_mut_ptr(),
            n,
            1,
        ));
        fine(map(exec, m, n, dx.pointer(), rs, cs, out.pointer(), n, 1));
        assert!(bits(&out.values()) == bits(&wanted), "{name} {m} {n}");
        // In place.
        fine(map(
            ptr::null(),
            m,
            n,
            x.as_ptr(),
            rs,
            cs,
            wanted.as_mut_ptr(),
            rs,
            cs,
        ));
        fine(map(exec, m, n, dx.pointer(), rs, cs, dx.pointer(), rs, cs));
        assert!(
            bits(&dx.values()) == bits(&wanted),
            "{name} {m} {n} in place"
        );
    }
}

crate::scenarios! {
    New maps_have_the_results_of_the_cpu() {
        // SAFETY: no exec.
        fine(unsafe { dpt_cuda_preload(ptr::null()) });
        for map in row_maps() {
            for shape in [(1, 1), (37, 300), (3, 5000), (1, 40_000)] {
                check(map, &cuda(), shape, true);
                check(map, &cuda(), shape, false);
            }
        }
    }
    /// The results of 45,000 rows fit neither in a workspace as in the header nor in the library's own scratch memory.
    New more_rows_than_scratch_memory_has_room_for() {
        const SHAPE: (i64, i64) = (45_000, 2);
        let memory = Array::new(&vec![0xAAu8; WORKSPACE + 1]);
        for map in row_maps() {
            check(map, &with_workspace(memory.pointer().wrapping_add(1), WORKSPACE), SHAPE, true);
            assert!(launches() >= 8);
            let size = 8 * SHAPE.0 as usize + 15;
            let ample = Array::new(&vec![0xAAu8; size]);
            check(map, &with_workspace(ample.pointer(), size), SHAPE, false);
            assert_eq!(launches(), 4);
        }
        // SAFETY: no exec.
        fine(unsafe { dpt_cuda_preload(ptr::null()) });
        for map in row_maps() {
            check(map, &cuda(), SHAPE, true);
            assert!(launches() >= 8);
        }
    }
    New a_workspace_that_is_too_small_names_what_is_needed() {
        let (m, n) = (100i64, 30i64);
        let (x, out) = (Array::new(&numbers(m * n)), Array::new(&vec![0.0f64; (m * n) as usize]));
        let memory = Array::new(&vec![0xAAu8; 1000]);
        for (name, map) in row_maps() {
            // SAFETY: matrices of m by n elements.
            let call = |exec: &dpt_exec| unsafe { map(exec, m, n, x.pointer(), n, 1, out.pointer(), n, 1) };
            let words = format!("dpt_{name}_f64");
            refused(call(&cuda()), DPT_NOT_PRELOADED, "call dpt_cuda_preload in this context first, or pass a workspace");
            let small = call(&with_workspace(memory.pointer(), 64));
            refused(small, DPT_WORKSPACE_TOO_SMALL, &words);
            assert_eq!(launches(), 0);
            // The text has the number of bytes, which are enough.
            let text = text();
            let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
            let needed = numbers.find(|&bytes: &usize| bytes >= 8 * m as usize).expect("bytes");
            refused(call(&with_workspace(memory.pointer(), needed - 1)), DPT_WORKSPACE_TOO_SMALL, &words);
            fine(call(&with_workspace(memory.pointer(), needed)));
            let host = vec![0u8; 1000];
            let wrong = call(&with_workspace(host.as_ptr().cast_mut(), 1000));
            refused(wrong, DPT_HOST_POINTER, "workspace points to host memory");
            fake().written();
        }
    }
    New wrong_arguments_are_refused() {
        let (arrays, host) = ([0; 2].map(|_| Array::new(&[1.0f64; 12])), [1.0f64; 12]);
        let [p, out] = arrays.each_ref().map(Array::pointer);
        // SAFETY: no exec.
        fine(unsafe { dpt_cuda_preload(ptr::null()) });
        fake().written();
        for (_, map) in row_maps() {
            // SAFETY: refused, all of them but the last ones, which have no elements.
            unsafe {
                refused(map(&cuda(), 3, 4, host.as_ptr(), 4, 1, p, 4, 1), DPT_HOST_POINTER, "x points to host memory");
                refused(map(&cuda(), 3, 4, p, 4, 1, host.as_ptr().cast_mut(), 4, 1), DPT_HOST_POINTER, "out points");
                refused(map(&auto(), 3, 4, p, 4, 1, host.as_ptr().cast_mut(), 4, 1), DPT_MIXED_POINTERS, "out");
                refused(map(&cuda(), -1, 4, p, 4, 1, out, 4, 1), DPT_NEGATIVE_SIZE, "m is negative");
                refused(map(&cuda(), 3, 4, p, 4, 1, p.byte_add(4), 4, 1), DPT_MISALIGNED, "out");
                refused(map(&cuda(), 2, 4, p, 4, 1, p.add(1), 4, 1), DPT_OVERLAP, "out");
                refused(map(&cuda(), 3, 3, p, 3, 1, p, 1, 3), DPT_OVERLAP, "out");
                refused(map(&cuda(), 3, 4, p, 4, 1, ptr::null_mut(), 4, 1), DPT_NULL_POINTER, "out");
                for (m, n) in [(0, 4), (3, 0)] {
                    fine(map(&cuda(), m, n, ptr::null(), n, 1, ptr::null_mut(), n, 1));
                }
            }
        }
        assert_eq!(launches(), 0);
    }
    /// A map of which one kernel is not loaded adds none of its launches to a capture.
    New a_capture_takes_no_part_of_a_map() {
        fake().on_launch(super::machine::ignore);
        fake().set_context(CONTEXTS[0]);
        let array = || fake().memory(8 * 300, 2, false, CONTEXTS[0], 0).cast::<f64>();
        let (x, out, memory) = (array(), array(), array());
        let exec = dpt_exec {
            workspace: memory.cast(),
            workspace_size: 2400,
            ..on_stream(64)
        };
        // SAFETY: arrays of 300 elements.
        unsafe {
            // The reduction's kernel is loaded, that of the step is not.
            fine(dpt_nrm2_rows_f64(&exec, 30, 10, x, 10, 1, out, 1));
            for (_, map) in row_maps() {
                let call = || map(&exec, 30, 10, x, 10, 1, out, 10, 1);
                fake().written();
                fake().capture(true);
                refused(call(), DPT_NOT_PRELOADED, "being captured");
                fake().capture(false);
                assert_eq!(launches(), 0);
                fine(call());
                assert!(launches() >= 2);
                fake().capture(true);
                fine(call());
                fake().capture(false);
                let calls = fake().written();
                assert!(!calls.iter().any(|call| call.contains("Load") || call.contains("Alloc")), "{calls:?}");
            }
        }
    }
}
