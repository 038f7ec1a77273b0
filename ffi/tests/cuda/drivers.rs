//! Drivers and devices that are missing, too old, or fail.

use super::calls::*;
use super::fake::fake;
use core::ptr;
use diptych_ffi::dpt_status_code::*;
use diptych_ffi::*;

/// Makes the smallest call on the device.
fn small_call() -> dpt_status {
    // SAFETY: without elements nothing is read or written, but the call still loads the driver.
    unsafe { dpt_fill_f32(&cuda(), 0, 1.0, ptr::null_mut()) }
}

crate::scenarios! {
    None without_a_driver_calls_on_the_device_are_refused() {
        if dpt_cuda_available() == 1 {
            println!("skipped: this machine has a driver");
            return;
        }
        assert!(text().contains("no CUDA driver"), "{}", text());
        refused(small_call(), DPT_NO_DRIVER, "dpt_fill_f32: there is no CUDA driver");
        // SAFETY: no exec.
        refused(unsafe { dpt_cuda_preload(ptr::null()) }, DPT_NO_DRIVER, "dpt_cuda_preload");
        let mut start = ptr::dangling_mut();
        // SAFETY: a valid pointer to the result.
        refused(unsafe { dpt_cuda_alloc(4, &mut start) }, DPT_NO_DRIVER, "dpt_cuda_alloc");
        assert!(start.is_null());
        // Without a driver, automatic selection treats every pointer as host memory.
        let (x, mut out) = ([1.0f32, 2.0], [0.0f32; 2]);
        // SAFETY: arrays of two elements.
        fine(unsafe { dpt_square_f32(&auto(), 2, x.as_ptr(), out.as_mut_ptr()) });
        assert_eq!(out, [1.0, 4.0]);
    }
    TooOld a_driver_that_lacks_a_function_is_too_old() {
        assert_eq!(dpt_cuda_available(), 0);
        refused(small_call(), DPT_DRIVER_TOO_OLD, "cuStreamIsCapturing");
        assert!(fake().written().is_empty());
    }
    Old a_driver_without_the_newest_functions_is_enough() {
        fake().machine(1, (8, 0), 11_040);
        assert_eq!(dpt_cuda_available(), 1);
        fine(small_call());
        let out = Array::new(&[0.0f32; 4]);
        // SAFETY: an array of four elements.
        fine(unsafe { dpt_fill_f32(&cuda(), 4, 1.0, out.pointer()) });
        assert_eq!(out.values(), [1.0; 4]);
    }
    New a_driver_without_devices() {
        fake().machine(0, (9, 0), 12_080);
        assert_eq!(dpt_cuda_available(), 0);
        refused(small_call(), DPT_NO_DEVICE, "no device");
    }
    New a_driver_that_cannot_start() {
        fake().fail("cuInit", 999);
        assert_eq!(dpt_cuda_available(), 0);
        refused(small_call(), DPT_DRIVER_FAILED, "cuInit failed with CUDA error 999");
        // Not for ever.
        fake().heal();
        fine(small_call());
    }
    New a_context_that_cannot_be_had_now() {
        fake().set_context(0);
        fake().fail("cuDevicePrimaryCtxRetain", 2);
        refused(small_call(), DPT_DEVICE_OUT_OF_MEMORY, "dpt_fill_f32");
        fake().heal();
        fine(small_call());
    }
    New a_device_that_is_too_old() {
        fake().machine(1, (7, 0), 12_080);
        refused(small_call(), DPT_DEVICE_TOO_OLD, "7.5");
    }
    /// A failure at any step of the first call in a context is reported; nothing stays allocated, and the next call
    /// tries again.
    New every_step_in_a_new_context_can_fail() {
        let steps = [
            ("cuCtxGetCurrent", 1),
            ("cuCtxGetDevice", 999),
            ("cuDeviceGetAttribute", 999),
        ];
        for (call, code) in steps {
            fake().fail(call, code);
            refused(small_call(), DPT_DRIVER_FAILED, "dpt_fill_f32");
            fake().heal();
        }
        fine(small_call());
        assert_eq!(fake().live(), 0);
    }
    /// The driver reports the fault of a kernel, which need not be this library's, to every later call.
    New a_fault_of_an_earlier_kernel_stays() {
        let out = Array::new(&[0.0f32; 4]);
        // SAFETY: four elements.
        let fill = || unsafe { dpt_fill_f32(&cuda(), 4, 1.0, out.pointer()) };
        fine(fill());
        for code in [700, 719] {
            fake().fault(code);
            for _ in 0..2 {
                refused(fill(), DPT_LAUNCH_FAILED, "an earlier kernel in this context failed");
            }
        }
        // Host memory needs no context.
        let (x, mut out) = ([1.5f32; 2], [0.0f32; 2]);
        // SAFETY: arrays of two elements.
        fine(unsafe { dpt_square_f32(&auto(), 2, x.as_ptr(), out.as_mut_ptr()) });
        assert_eq!(out, [2.25; 2]);
    }
    New every_step_of_making_scratch_memory_can_fail() {
        let steps = [
            ("cuStreamIsCapturing", 999),
            ("cuThreadExchangeStreamCaptureMode", 999),
            ("cuMemAlloc_v2", 2),
            ("cuStreamCreate", 999),
            ("cuMemsetD32Async", 999),
            ("cuStreamSynchronize", 999),
        ];
        // SAFETY: no exec.
        let preload = || unsafe { dpt_cuda_preload(ptr::null()) };
        for (call, code) in steps {
            fake().fail(call, code);
            let expected = if code == 2 { DPT_DEVICE_OUT_OF_MEMORY } else { DPT_DRIVER_FAILED };
            refused(preload(), expected, "dpt_cuda_preload");
            fake().heal();
            assert_eq!(fake().live(), 0, "{call}");
        }
        fine(preload());
        assert_eq!(fake().live(), 1);
    }
    New a_launch_that_is_refused() {
        let out = Array::new(&[0.0f32; 4]);
        for (code, status) in [
            (700, DPT_LAUNCH_FAILED),
            (701, DPT_LAUNCH_FAILED),
            (400, DPT_WRONG_CONTEXT),
            (709, DPT_WRONG_CONTEXT),
        ] {
            fake().fail("cuLaunchKernel", code);
            // SAFETY: an array of four elements.
            let done = unsafe { dpt_fill_f32(&on_stream(64), 4, 1.0, out.pointer()) };
            refused(done, status, if code < 702 && code != 400 { "error 70" } else { "stream" });
            fake().heal();
        }
        assert_eq!(out.values(), [0.0; 4]);
    }
}
