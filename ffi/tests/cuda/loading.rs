//! The calls that load kernels, and those that must not.

use super::arguments::CONTEXTS;
use super::calls::*;
use super::fake::fake;
use core::ptr;
use diptych_device::launch::entry;
use diptych_ffi::dpt_status_code::*;
use diptych_ffi::*;
use std::collections::BTreeSet;
use std::sync::Barrier;

/// Returns the kernels that these driver calls loaded, each from a module of its own.
fn loaded(calls: &[String]) -> Vec<&str> {
    let modules = calls.iter().filter(|call| *call == "cuModuleLoadDataEx");
    let kernels = calls.iter().filter_map(|call| call.strip_prefix("kernel:"));
    let functions: Vec<&str> = kernels.collect();
    assert_eq!(modules.count(), functions.len());
    functions
}

/// Returns what these driver calls loaded: `cubin` or `ptx`.
fn code(calls: &[String]) -> Vec<&str> {
    let kinds = calls.iter().filter_map(|call| call.strip_prefix("code:"));
    kinds.collect()
}

fn count(calls: &[String], name: &str) -> usize {
    calls.iter().filter(|call| *call == name).count()
}

/// Makes a call during a capture, which must be refused and leave the stream and the context unchanged.
#[track_caller]
fn refused_in_capture(call: impl FnOnce() -> dpt_status) {
    fake().written();
    fake().capture(true);
    refused(call(), DPT_NOT_PRELOADED, "being captured");
    fake().capture(false);
    for call in fake().written() {
        let harmless = [
            "cuCtxGet",
            "cuPointerGet",
            "cuStreamIsCapturing",
            "cuDeviceGet",
            "cuDriverGetVersion",
        ];
        assert!(harmless.iter().any(|name| call.starts_with(name)), "{call}");
    }
}

/// Allocates four elements on the device.
fn out() -> *mut f32 {
    fake().memory(16, 2, false, 0, 0).cast()
}

/// Makes a call with one launch.
fn fill(out: *mut f32) -> dpt_status {
    // SAFETY: four elements.
    unsafe { dpt_fill_f32(&on_stream(64), 4, 1.0, out) }
}

crate::scenarios! {
    New a_kernel_is_loaded_by_its_first_launch() {
        fake().on_launch(super::machine::ignore);
        let out = out();
        fine(fill(out));
        assert_eq!(loaded(&fake().written()), ["fill_f32"]);
        // SAFETY: arrays of four elements, or two.
        unsafe {
            fine(fill(out));
            fine(dpt_scale_f32(&cuda(), 0, 2.0, ptr::null(), ptr::null_mut()));
            assert!(loaded(&fake().written()).is_empty());
            fine(dpt_scale_f32(&cuda(), 4, 2.0, out, out));
            assert_eq!(loaded(&fake().written()), ["scale_f32"]);
            fine(dpt_fill_f64(&cuda(), 2, 2.0, out.cast()));
            assert_eq!(loaded(&fake().written()), ["fill_f64"]);
        }
        fake().set_context(CONTEXTS[1]);
        fine(fill(out));
        assert_eq!(loaded(&fake().written()), ["fill_f32"]);
    }
    New a_preload_loads_all_the_others() {
        fake().on_launch(super::machine::ignore);
        let out = out();
        fine(fill(out));
        fake().written();
        // SAFETY: no exec.
        fine(unsafe { dpt_cuda_preload(ptr::null()) });
        let calls = fake().written();
        let others: BTreeSet<_> = entry::ALL.iter().flat_map(|entry| entry.names()).filter(|name| *name != "fill_f32").collect();
        assert_eq!(loaded(&calls).len(), others.len());
        assert_eq!(loaded(&calls).into_iter().collect::<BTreeSet<_>>(), others);
        fake().capture(true);
        // SAFETY: a stream of the fake; arrays of four elements.
        unsafe {
            fine(dpt_cuda_preload(&on_stream(64)));
            fine(dpt_scale_f32(&on_stream(64), 4, 2.0, out, out));
        }
        let calls = fake().written();
        assert!(loaded(&calls).is_empty() && count(&calls, "cuLaunchKernel") == 1);
    }
    New a_cubin_is_loaded_where_the_device_runs_one() {
        fake().on_launch(super::machine::ignore);
        let out = out();
        for (number, (capability, driver, expected)) in [
            ((7, 5), 13_000, "ptx"),
            ((8, 0), 12_000, "cubin"),
            ((8, 0), 11_080, "ptx"),
            ((8, 9), 12_000, "cubin"),
            ((9, 0), 12_080, "cubin"),
            ((10, 3), 13_000, "cubin"),
            ((12, 0), 13_000, "ptx"),
        ].into_iter().enumerate() {
            fake().machine(1, capability, driver);
            fake().set_context(CONTEXTS[0] + 64 * number);
            fine(fill(out));
            assert_eq!(code(&fake().written()), [expected], "{capability:?}");
        }
    }
    /// A driver may not know the format of a cubin, or refuse it for another reason.
    New in_place_of_a_cubin_that_is_refused_ptx_is_loaded() {
        fake().on_launch(super::machine::ignore);
        let out = out();
        for (number, refusal) in [200, 209, 218, 221, 222, 223, 300].into_iter().enumerate() {
            fake().refuse_cubins(refusal);
            fake().set_context(CONTEXTS[0] + 64 * number);
            fine(fill(out));
            let calls = fake().written();
            assert_eq!((code(&calls), count(&calls, "cuModuleLoadDataEx")), (vec!["ptx"], 2), "{refusal}");
        }
        // No reason to compile.
        for (failure, status) in [(2, DPT_DEVICE_OUT_OF_MEMORY), (700, DPT_DRIVER_FAILED), (999, DPT_DRIVER_FAILED)] {
            fake().refuse_cubins(failure);
            fake().set_context(CONTEXTS[1]);
            refused(fill(out), status, "dpt_fill_f32");
            assert_eq!(count(&fake().written(), "cuModuleLoadDataEx"), 1);
        }
    }
    New a_driver_that_is_told_to_compile_gets_ptx() {
        // SAFETY: this process has only the thread of this test, besides one that waits for it.
        unsafe { std::env::set_var("CUDA_FORCE_PTX_JIT", "1") };
        fine(fill(out()));
        assert_eq!(code(&fake().written()), ["ptx"]);
    }
    New a_capture_needs_a_preload() {
        // The allocation loads the driver and makes a context current.
        let array = Array::new(&[0.0f32; 4]);
        let out = array.pointer();
        refused_in_capture(|| fill(out));
        // SAFETY: a stream of the fake.
        refused_in_capture(|| unsafe { dpt_cuda_preload(&on_stream(64)) });
        fine(fill(out));
        // SAFETY: arrays of four elements.
        let scale = || unsafe { dpt_scale_f32(&on_stream(64), 4, 2.0, out, out) };
        refused_in_capture(scale);
        // SAFETY: a stream of the fake.
        refused_in_capture(|| unsafe { dpt_cuda_preload(&on_stream(64)) });
        fake().capture(true);
        fine(fill(out));
        fake().capture(false);
        fine(scale());
        fake().capture(true);
        fine(scale());
    }
    /// A call of which one kernel is not loaded adds none of its launches to a capture.
    New a_capture_takes_no_part_of_a_call() {
        const SIDE: i64 = 64;
        /// k of one segment more than scratch memory holds (segments have 256 elements).
        const DEEP: i64 = 257 * 256;
        fake().on_launch(super::machine::ignore);
        let (x, c) = (fake().memory(4 * (SIDE * DEEP) as usize, 2, false, 0, 0).cast::<f32>(), out());
        let mut exec = on_stream(64);
        // SAFETY: matrices and vectors of these sizes.
        unsafe {
            fine(dpt_gemm_f32_workspace(&exec, SIDE, SIDE, DEEP, &mut exec.workspace_size));
            exec.workspace = fake().memory(exec.workspace_size, 2, false, 0, 0);
            // A sum by several blocks first sets counters to 0.
            let dot = || dpt_dot_f32(&exec, DEEP, x, 1, x, 1, c);
            refused_in_capture(dot);
            fine(dot());
            let calls = fake().written();
            assert_eq!((loaded(&calls), count(&calls, "cuMemsetD32Async")), (vec!["dot_f32"], 1));
            fake().capture(true);
            fine(dot());
            fake().capture(false);
            // A product whose last segment runs in another kernel.
            let c = fake().memory(4 * (SIDE * SIDE) as usize, 2, false, 0, 0).cast::<f32>();
            let gemm = |k| dpt_gemm_f32(&exec, SIDE, SIDE, k, 1.0, x, k, 1, x, 1, k, 0.0, c, SIDE, 1);
            fake().written();
            fine(gemm(DEEP - 256));
            let calls = fake().written();
            let first = loaded(&calls);
            assert!(first.len() == 1 && first[0].starts_with("gemm_split_"), "{first:?}");
            refused_in_capture(|| gemm(DEEP));
            fine(gemm(DEEP));
            let second = fake().written();
            assert_eq!(loaded(&second), [first[0].replace("split_", "")]);
            fake().capture(true);
            fine(gemm(DEEP));
        }
    }
    New threads_load_a_kernel_once() {
        fake().on_launch(super::machine::ignore);
        let (start, out) = (Barrier::new(8), fake().memory(16, 2, false, CONTEXTS[0], 0).addr());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    fake().set_context(CONTEXTS[0]);
                    start.wait();
                    fine(fill(ptr::with_exposed_provenance_mut(out)));
                });
            }
        });
        let calls = fake().written();
        assert_eq!(loaded(&calls), ["fill_f32"]);
        assert_eq!((count(&calls, "cuMemAlloc_v2"), count(&calls, "cuLaunchKernel")), (0, 8));
    }
    /// A capture in its default mode forbids other threads the driver calls that load a kernel.
    New another_threads_capture_does_not_matter() {
        let out = out();
        fake().capture_elsewhere();
        fine(fill(out));
        assert_eq!(loaded(&fake().written()), ["fill_f32"]);
        assert!(!fake().invalidated());
    }
    /// A capture that another call has invalidated is refused as it is.
    New a_capture_that_is_invalid_is_refused() {
        let out = out();
        fine(fill(out));
        fake().capture(true);
        // SAFETY: an out pointer.
        let failed = unsafe { dpt_cuda_alloc(16, &mut ptr::null_mut()) };
        refused(failed, DPT_DRIVER_FAILED, "a stream is being captured");
        assert!(fake().invalidated());
        refused(fill(out), DPT_LAUNCH_FAILED, "has invalidated the capture");
        fake().capture(false);
        fine(fill(out));
    }
    /// Work on the legacy stream would join a capture of any other.
    New a_capture_and_the_legacy_stream() {
        let out = out();
        // SAFETY: four elements.
        let on_legacy = || unsafe { dpt_fill_f32(&cuda(), 4, 1.0, out) };
        fake().capture_elsewhere();
        // Before it loads a kernel the library asks about the stream, which invalidates nothing.
        refused(on_legacy(), DPT_NOT_PRELOADED, "being captured");
        assert!(!fake().invalidated());
        fake().capture(false);
        fine(on_legacy());
        fake().capture_elsewhere();
        refused(on_legacy(), DPT_LAUNCH_FAILED, "the legacy default stream");
        assert!(fake().invalidated());
        fake().capture(false);
        fine(on_legacy());
    }
    /// A failure at any step of loading a kernel is reported; nothing stays loaded, and the next call tries again.
    New every_step_of_loading_a_kernel_can_fail() {
        let out = out();
        // SAFETY: without elements nothing is launched.
        fine(unsafe { dpt_fill_f32(&cuda(), 0, 1.0, ptr::null_mut()) });
        for (call, code, status, unloads) in [
            ("cuStreamIsCapturing", 999, DPT_DRIVER_FAILED, 0),
            ("cuThreadExchangeStreamCaptureMode", 999, DPT_DRIVER_FAILED, 0),
            ("cuModuleLoadDataEx", 222, DPT_DRIVER_TOO_OLD, 0),
            ("cuModuleLoadDataEx", 2, DPT_DEVICE_OUT_OF_MEMORY, 0),
            ("cuModuleGetFunction", 500, DPT_DRIVER_FAILED, 1),
            ("cuFuncLoad", 999, DPT_DRIVER_FAILED, 1),
            // Of the cubin, and then of the PTX.
            ("cuFuncLoad", 209, DPT_DRIVER_TOO_OLD, 2),
        ] {
            fake().written();
            fake().fail(call, code);
            refused(fill(out), status, "dpt_fill_f32");
            fake().heal();
            let calls = fake().written();
            assert_eq!((count(&calls, "cuModuleUnload"), count(&calls, "cuLaunchKernel")), (unloads, 0), "{call}");
        }
        fine(fill(out));
        assert_eq!(loaded(&fake().written()), ["fill_f32"]);
    }
    New a_launcher_loads_into_its_own_context() {
        use diptych_gpu::driver::{Arguments, Error, Launcher};
        let out = out();
        fake().set_context(CONTEXTS[0]);
        // SAFETY: four elements; no workspace.
        unsafe {
            let launcher = Launcher::new(ptr::null_mut(), (ptr::null_mut(), 0), Arguments::default()).unwrap();
            fake().set_context(CONTEXTS[1]);
            let wrong = diptych_gpu::raw::fill(&launcher, 4, 1.0, out);
            assert_eq!(wrong, Err(Error::WrongContext { arg: "stream" }));
            assert!(loaded(&fake().written()).is_empty());
            fake().set_context(CONTEXTS[0]);
            assert_eq!(diptych_gpu::raw::fill(&launcher, 4, 1.0, out), Ok(()));
        }
    }
}
