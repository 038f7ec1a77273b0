//! Scratch memory: where a call takes it from, and that no operation allocates it.

use super::calls::*;
use super::fake::fake;
use core::ptr;
use diptych_ffi::dpt_status_code::*;
use diptych_ffi::*;

/// Elements of a vector that several blocks sum.
const LONG: usize = 1 << 18;
/// The bytes of a sufficient workspace, from the header.
const WORKSPACE: usize = (320 << 10) + 15;
/// Streams per context to which the library gives scratch memory of its own.
const STREAMS: usize = 32;

/// Returns an exec on the stream with this number.
fn stream(number: usize) -> dpt_exec {
    on_stream(64 * (number + 1))
}

/// A call that needs scratch memory.
fn sum(exec: &dpt_exec, x: &Array<f32>, out: &Array<f32>) -> dpt_status {
    // SAFETY: arrays of these sizes.
    unsafe { dpt_sum_f32(exec, LONG as i64, x.pointer(), 1, out.pointer()) }
}

crate::scenarios! {
    New no_operation_allocates_or_waits() {
        let (x, out) = (Array::new(&vec![1.0f32; LONG]), Array::new(&[0.0f32; 4]));
        let workspace = Array::new(&vec![0u8; WORKSPACE]);
        fake().written();
        // SAFETY: an array of four elements.
        fine(unsafe { dpt_fill_f32(&cuda(), 4, 1.0, out.pointer()) });
        refused(sum(&cuda(), &x, &out), DPT_NOT_PRELOADED, "call dpt_cuda_preload in this context first, or pass a workspace");
        let with_workspace = dpt_exec { workspace: workspace.pointer().cast(), workspace_size: WORKSPACE, ..cuda() };
        fine(sum(&with_workspace, &x, &out));
        assert_eq!(out.values()[0], LONG as f32);
        let calls = fake().written();
        assert_eq!(calls.iter().filter(|call| *call == "cuLaunchKernel").count(), 2);
        for word in ["Alloc", "Synchronize", "StreamCreate", "Event"] {
            assert!(!calls.iter().any(|call| call.contains(word)), "{word}: {calls:?}");
        }
        // SAFETY: no exec.
        fine(unsafe { dpt_cuda_preload(ptr::null()) });
        fake().written();
        fine(sum(&cuda(), &x, &out));
        let expected = ["cuCtxGetCurrent", "cuCtxGetId", "cuPointerGetAttributes", "cuPointerGetAttributes", "cuLaunchKernel"];
        assert_eq!(fake().written(), expected);
    }
    /// A product gives the same bits without scratch memory.
    New products_do_without() {
        const K: i64 = 2000;
        let x: Vec<f32> = (0..8 * K).map(|i| (i % 89) as f32 / 89.0 - 0.4).collect();
        let (x, c, d) = (Array::new(&x), Array::new(&[0.0f32; 64]), Array::new(&[0.0f32; 64]));
        let product = |out: &Array<f32>| {
            let (a, c) = (x.pointer(), out.pointer());
            // SAFETY: matrices of these sizes.
            fine(unsafe { dpt_gemm_f32(&cuda(), 8, 8, K, 1.0, a, K, 1, a, 1, K, 0.0, c, 8, 1) });
            fake().written().into_iter().find(|call| call.starts_with("kernel:gemm"))
        };
        assert!(product(&c).is_some_and(|kernel| !kernel.contains("split")));
        // SAFETY: no exec.
        fine(unsafe { dpt_cuda_preload(ptr::null()) });
        product(&d);
        assert_eq!(c.values(), d.values());
    }
    New blocks_are_given_back() {
        fake().on_launch(super::machine::ignore);
        let (x, out) = (Array::new(&vec![1.0f32; LONG]), Array::new(&[0.0f32; 4]));
        // SAFETY: streams of the fake.
        unsafe {
            fine(dpt_cuda_release(ptr::null()));
            fine(dpt_cuda_preload(ptr::null()));
            for number in 0..STREAMS {
                fine(sum(&stream(number), &x, &out));
            }
            refused(sum(&stream(STREAMS), &x, &out), DPT_SCRATCH_TAKEN, "dpt_cuda_release");
            fine(dpt_cuda_release(&stream(7)));
            fine(sum(&stream(STREAMS), &x, &out));
            refused(sum(&stream(7), &x, &out), DPT_SCRATCH_TAKEN, "workspace");
            fine(dpt_cuda_release(&stream(7)));
        }
    }
    New streams_of_rust_come_and_go() {
        use diptych_gpu::{Context, DeviceBuffer, Stream, sum};
        fake().on_launch(super::machine::ignore);
        let context = Context::new(0).expect("a device");
        for _ in 0..2 * STREAMS {
            // All streams live until the end of the round, so that their handles differ.
            let streams: Vec<_> = (0..3).map(|_| Stream::new(&context).expect("a stream")).collect();
            for stream in &streams {
                let x = DeviceBuffer::<f32>::zeros(stream, LONG).expect("memory");
                let mut out = DeviceBuffer::<f32>::zeros(stream, 1).expect("memory");
                sum(&x, &mut out).expect("a slot");
            }
        }
    }
}
