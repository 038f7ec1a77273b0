//! Pointers to the wrong memory, contexts, and the driver calls that a call makes.

use super::calls::*;
use super::fake::fake;
use core::ptr;
use diptych_ffi::dpt_status_code::*;
use diptych_ffi::*;

/// Context handles that the fake driver does not own.
pub const CONTEXTS: [usize; 2] = [0x1000, 0x2000];

crate::scenarios! {
    New a_call_asks_the_driver_for_no_more_than_it_needs() {
        let (x, y, out) = (Array::new(&[1.0f32; 8]), Array::new(&[2.0f32; 8]), Array::new(&[0.0f32; 8]));
        // SAFETY: no exec.
        fine(unsafe { dpt_cuda_preload(ptr::null()) });
        fake().written();
        // SAFETY: arrays of eight elements.
        fine(unsafe { dpt_add_f32(&cuda(), 8, x.pointer(), y.pointer(), out.pointer()) });
        let pointers = ["cuPointerGetAttributes"; 3];
        let expected = [&["cuCtxGetCurrent", "cuCtxGetId"][..], &pointers, &["cuLaunchKernel"]].concat();
        assert_eq!(fake().written(), expected);
        // SAFETY: no exec.
        fine(unsafe { dpt_cuda_preload(ptr::null()) });
        assert_eq!(fake().written(), ["cuCtxGetCurrent", "cuCtxGetId"]);
    }
    New host_pointers_are_refused_and_named() {
        let (x, out, host) = (Array::new(&[1.0f32; 8]), Array::new(&[0.0f32; 8]), [1.0f32; 8]);
        let pinned = fake().memory(32, 1, false, 0, 0).cast::<f32>();
        fake().written();
        for wrong in [host.as_ptr(), pinned.cast_const()] {
            // SAFETY: arrays of eight elements; refused.
            let done = unsafe { dpt_add_f32(&cuda(), 8, x.pointer(), wrong, out.pointer()) };
            refused(done, DPT_HOST_POINTER, "dpt_add_f32: y points to host memory");
        }
        // SAFETY: as above.
        let done = unsafe { dpt_scale_f32(&cuda(), 8, 2.0, x.pointer(), host.as_ptr().cast_mut()) };
        refused(done, DPT_HOST_POINTER, "out points to host memory");
        assert!(!fake().written().contains(&"cuLaunchKernel".to_owned()));
        // Without elements no pointer is checked.
        // SAFETY: no elements.
        fine(unsafe { dpt_add_f32(&cuda(), 0, host.as_ptr(), ptr::null(), out.pointer()) });
        assert!(!fake().written().contains(&"cuLaunchKernel".to_owned()));
    }
    New auto_looks_where_the_pointers_lie() {
        let (x, out) = (Array::new(&[3.0f32; 4]), Array::new(&[0.0f32; 4]));
        let (host_x, mut host_out) = ([4.0f32; 4], [0.0f32; 4]);
        // SAFETY: arrays of four elements, in all of these calls.
        unsafe {
            fine(dpt_square_f32(&auto(), 4, x.pointer(), out.pointer()));
            fine(dpt_square_f32(&auto(), 4, host_x.as_ptr(), host_out.as_mut_ptr()));
            let mixed = dpt_square_f32(&auto(), 4, x.pointer(), host_out.as_mut_ptr());
            refused(mixed, DPT_MIXED_POINTERS, "dpt_square_f32: out is in another memory");
            let mixed = dpt_add_f32(&auto(), 4, host_x.as_ptr(), x.pointer(), host_out.as_mut_ptr());
            refused(mixed, DPT_MIXED_POINTERS, "y is in another memory");
        }
        assert_eq!((out.values(), host_out), (vec![9.0; 4], [16.0; 4]));
    }
    New auto_creates_no_context() {
        let (host_x, mut host_out) = ([4.0f32; 4], [0.0f32; 4]);
        fake().machine(2, (9, 0), 12_080);
        fake().set_context(0);
        // SAFETY: arrays of four elements.
        let mut square = || fine(unsafe { dpt_square_f32(&auto(), 4, host_x.as_ptr(), host_out.as_mut_ptr()) });
        square();
        fake().written();
        square();
        let state = ["cuDeviceGet", "cuDevicePrimaryCtxGetState"];
        let mut queries = vec!["cuPointerGetAttributes", "cuCtxGetCurrent", "cuDeviceGetCount"];
        queries.extend(state.iter().chain(&state));
        assert_eq!(fake().written(), queries);
        // SAFETY: both arrays have 16 bytes.
        fine(unsafe { dpt_copy(&auto(), 16, host_x.as_ptr().cast(), host_out.as_mut_ptr().cast()) });
        assert_eq!((host_out, fake().retained(0), fake().retained(1)), ([4.0; 4], 0, 0));
    }
    New auto_asks_in_a_primary_context_that_is_active() {
        let (host_x, mut host_out) = ([4.0f32; 4], [0.0f32; 4]);
        fake().machine(2, (9, 0), 12_080);
        fake().set_context(0);
        fake().retain(1);
        let mut square = || {
            fake().written();
            // SAFETY: arrays of four elements.
            fine(unsafe { dpt_square_f32(&auto(), 4, host_x.as_ptr(), host_out.as_mut_ptr()) });
            fake().written()
        };
        square();
        // The context is released, and the thread has none again, so the second call makes the same queries as the first.
        for _ in 0..2 {
            let calls = square();
            assert_eq!(calls.iter().filter(|call| *call == "cuPointerGetAttributes").count(), 3);
            assert_eq!(calls.last().map(String::as_str), Some("cuDevicePrimaryCtxRelease_v2"));
            assert_eq!((fake().retained(0), fake().retained(1)), (0, 1));
        }
        assert_eq!(host_out, [16.0; 4]);
        // Allocating takes the primary context of device 0, and keeps it.
        let (x, out) = (Array::new(&[3.0f32; 4]), Array::new(&[0.0f32; 4]));
        fake().set_context(0);
        // SAFETY: arrays of four elements.
        fine(unsafe { dpt_square_f32(&auto(), 4, x.pointer(), out.pointer()) });
        assert_eq!((out.values(), fake().retained(0)), (vec![9.0; 4], 1));
    }
    New auto_means_the_host_where_no_context_can_be_had() {
        let host_x = [4.0f32; 4];
        fake().retain(0);
        for (call, code) in [("cuDevicePrimaryCtxRetain", 2), ("cuCtxSetCurrent", 201), ("cuCtxGetCurrent", 201)] {
            fake().fail(call, code);
            let mut host_out = [0.0; 4];
            // SAFETY: arrays of four elements.
            fine(unsafe { dpt_square_f32(&auto(), 4, host_x.as_ptr(), host_out.as_mut_ptr()) });
            fake().heal();
            assert_eq!((host_out, fake().retained(0)), ([16.0; 4], 1));
        }
    }
    /// The driver answers nothing to a child of a process that has used it.
    New a_forked_child_computes_on_the_host() {
        let x = Array::new(&[3.0f32; 4]);
        let (host_x, mut host_out) = ([4.0f32; 4], [0.0f32; 4]);
        // SAFETY: the child calls the library and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: arrays of four elements.
            unsafe {
                fine(dpt_square_f32(&auto(), 4, host_x.as_ptr(), host_out.as_mut_ptr()));
                assert_eq!(host_out, [16.0; 4]);
                refused(dpt_square_f32(&cuda(), 4, x.pointer(), x.pointer()), DPT_DRIVER_FAILED, "CUDA error 3");
                libc::_exit(77);
            }
        }
        let mut status = 0;
        // SAFETY: the child of this process.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 77, "{status:#x}");
        assert_eq!(x.values(), [3.0; 4]);
    }
    /// As in a child of `fork`, and while the process ends.
    New auto_means_the_host_where_the_driver_cannot_be_used() {
        let (host_x, mut host_out) = ([4.0f32; 4], [0.0f32; 4]);
        for code in [3, 4] {
            fake().fail("cuPointerGetAttributes", code);
            host_out = [0.0; 4];
            // SAFETY: arrays of four elements.
            fine(unsafe { dpt_square_f32(&auto(), 4, host_x.as_ptr(), host_out.as_mut_ptr()) });
            fake().heal();
            assert_eq!(host_out, [16.0; 4]);
        }
        // Other failures are reported.
        fake().fail("cuPointerGetAttributes", 999);
        // SAFETY: as above.
        let failed = unsafe { dpt_square_f32(&auto(), 4, host_x.as_ptr(), host_out.as_mut_ptr()) };
        refused(failed, DPT_DRIVER_FAILED, "cuPointerGetAttributes");
    }
    /// The driver answers for memory that no context knows.
    New a_pointer_that_no_context_knows_is_a_host_pointer() {
        let mut host = [0.0f32; 4];
        fake().fail("cuPointerGetAttributes", 201);
        // SAFETY: refused.
        refused(unsafe { dpt_fill_f32(&cuda(), 4, 1.0, host.as_mut_ptr()) }, DPT_HOST_POINTER, "out");
    }
    New what_is_not_read_may_lie_anywhere() {
        let host = [7.0f32; 4];
        let nowhere = ptr::without_provenance::<f32>(4);
        // SAFETY: no exec.
        fine(unsafe { dpt_cuda_preload(ptr::null()) });
        for exec in [cuda(), auto()] {
            for a in [host.as_ptr(), nowhere, ptr::null()] {
                let c = Array::new(&[1.0f32, 2.0, 3.0, 4.0]);
                let p = c.pointer();
                let (k0, alpha0, nan) = ((0, 1.0), (2, 0.0), (2, f32::NAN));
                // SAFETY: a matrix of four elements; A and B are not read.
                unsafe {
                    for (k, alpha) in [k0, alpha0] {
                        fine(dpt_gemm_f32(&exec, 2, 2, k, alpha, a, 2, 1, a, 2, 1, 2.0, p, 2, 1));
                        fine(dpt_gemm_batched_f32(&exec, 1, 2, k, alpha, a, 2, 1, a, 2, 1, 2.0, p, 2, 1, 2, 4, 4, 2));
                    }
                    assert_eq!(c.values(), [16.0, 32.0, 48.0, 64.0]);
                    // With a NaN alpha, A and B are read.
                    let wrong = dpt_gemm_f32(&exec, 2, 2, nan.0, nan.1, a, 2, 1, a, 2, 1, 2.0, p, 2, 1);
                    assert!(wrong != 0, "{a:?}");
                    fine(dpt_sum_f32(&exec, 0, a, 1, p));
                    fine(dpt_prod_rows_f32(&exec, 2, 0, a, 2, 1, p.add(1), 1));
                    fine(dpt_mse_grad_f32(&exec, 0, a, a, a.cast_mut(), p.add(3)));
                    assert_eq!(c.values(), [0.0, 1.0, 1.0, 0.0]);
                    fine(dpt_lsq_grad_f32(&exec, 0, 2, a, 2, 1, a, a, p));
                    fine(dpt_dot_f32(&exec, 0, a, 1, a, 1, p.add(2)));
                    assert_eq!(c.values(), [0.0; 4]);
                }
            }
        }
    }
    New managed_memory_is_for_the_device() {
        let both = fake().memory(16, 1, true, CONTEXTS[0], 0).cast::<f32>();
        // SAFETY: an array of four elements.
        unsafe {
            fine(dpt_fill_f32(&cuda(), 4, 5.0, both));
            assert_eq!(both.cast::<[f32; 4]>().read(), [5.0; 4]);
        }
    }
    New what_is_wrong_on_the_cpu_is_wrong_on_the_device() {
        let x = Array::new(&[1.0f32; 8]);
        let p = x.pointer();
        fake().written();
        // SAFETY: refused, all of them.
        unsafe {
            refused(dpt_fill_f32(&cuda(), -1, 0.0, p), DPT_NEGATIVE_SIZE, "n is negative");
            refused(dpt_fill_f32(&cuda(), 1, 0.0, ptr::null_mut()), DPT_NULL_POINTER, "out");
            refused(dpt_fill_f32(&cuda(), 1, 0.0, p.byte_add(2)), DPT_MISALIGNED, "out");
            refused(dpt_scale_f32(&cuda(), 4, 2.0, p, p.add(1)), DPT_OVERLAP, "out");
            refused(dpt_fill_f32(&cuda(), i64::MAX, 0.0, p), DPT_SIZE_OVERFLOW, "out");
            let exec = dpt_exec { flags: 4, ..cuda() };
            refused(dpt_fill_f32(&exec, 1, 0.0, p), DPT_UNKNOWN_FLAG, "exec->flags");
            let exec = dpt_exec { device: 3, ..cuda() };
            refused(dpt_fill_f32(&exec, 1, 0.0, p), DPT_UNKNOWN_ENUM, "exec->device");
        }
        assert!(!fake().written().contains(&"cuLaunchKernel".to_owned()));
    }
    New every_context_is_loaded_once() {
        let mut loads = 0;
        for context in [CONTEXTS[0], CONTEXTS[1], CONTEXTS[0], CONTEXTS[1]] {
            fake().set_context(context);
            let out = fake().memory(16, 2, false, context, 0).cast::<f32>();
            // SAFETY: an array of four elements.
            fine(unsafe { dpt_fill_f32(&cuda(), 4, 1.0, out) });
            loads += fake().written().iter().filter(|call| *call == "cuModuleLoadDataEx").count();
        }
        assert_eq!(loads, 2);
    }
    New memory_of_another_context_is_refused() {
        fake().set_context(CONTEXTS[0]);
        let there = fake().memory(16, 2, false, CONTEXTS[1], 0).cast::<f32>();
        // SAFETY: refused.
        refused(unsafe { dpt_fill_f32(&cuda(), 4, 1.0, there) }, DPT_WRONG_CONTEXT, "out belongs");
        // Memory from a memory pool belongs to a device and not to a context.
        let (pool, far) = (fake().memory(16, 2, false, 0, 0), fake().memory(16, 2, false, 0, 1));
        // SAFETY: an array of four elements.
        fine(unsafe { dpt_fill_f32(&cuda(), 4, 1.0, pool.cast()) });
        // SAFETY: refused.
        refused(unsafe { dpt_fill_f32(&cuda(), 4, 1.0, far.cast()) }, DPT_WRONG_CONTEXT, "out belongs");
    }
}
