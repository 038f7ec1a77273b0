//! Results on the device equal those on the CPU; also copies, memory and advice.

use super::calls::*;
use super::fake::fake;
use core::ffi::c_void;
use core::ptr;
use diptych::table::{Bound, Role};
use diptych_ffi::dpt_status_code::*;
use diptych_ffi::*;

/// Returns pseudorandom numbers, among them NaN, -0 and infinity.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        match state >> 28 {
            0 => f32::NAN,
            1 => -0.0,
            2 => f32::INFINITY,
            _ => (state >> 8) as f32 / 65536.0 - 128.0,
        }
    };
    (0..count).map(next).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values
        .iter()
        .map(|value| if value.is_nan() { 1 } else { value.to_bits() })
        .collect()
}

/// An elementwise operation; it ignores the inputs that it does not have.
type Operation = unsafe fn(*const dpt_exec, i64, [*const f32; 2], *mut f32) -> dpt_status;

/// Declares the elementwise operations of the table, and lists them by name.
macro_rules! operations {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $out:ident)*) => {{
        unsafe extern "C" {
            $(
                #[link_name = concat!("dpt_", stringify!($name), "_f32")]
                fn $name(exec: *const dpt_exec, n: i64, $($arg: operations!(@type $kind),)* $out: *mut f32) -> dpt_status;
            )*
        }
        let all: [(&str, Operation); diptych::table::ELEMENTWISE.len()] = [$((stringify!($name), |exec, n, inputs, out| {
            #[allow(unused_mut, unused_variables)] // An operation may have no inputs.
            let mut inputs = inputs.into_iter();
            // SAFETY: as the caller's.
            unsafe { $name(exec, n, $(operations!(@argument $kind $role inputs),)* out) }
        })),*];
        all
    }};
    (@type scalar) => { f32 };
    (@type array) => { *const f32 };
    (@argument scalar $role:ident $inputs:ident) => { scalar(Role::$role) };
    (@argument array $role:ident $inputs:ident) => { $inputs.next().expect("no more than two inputs") };
}

/// Returns a scalar for an argument of this role.
fn scalar(role: Role) -> f32 {
    match role.bound() {
        Some(Bound::Lower) => -10.0,
        Some(Bound::Upper) => 10.0,
        None => 1.5,
    }
}

crate::scenarios! {
    New results_are_those_of_the_cpu() {
        let operations = diptych::for_each_elementwise!(operations! {} [name arguments roles output]);
        for n in [1, 7, 256, 5000] {
            let (x, y) = (numbers(n, 1), numbers(n, 2));
            for (name, operation) in operations {
                let mut expected = numbers(n, 3);
                let (dx, dy, out) = (Array::new(&x), Array::new(&y), Array::new(&expected));
                // SAFETY: arrays of n elements.
                unsafe {
                    fine(operation(ptr::null(), n as i64, [x.as_ptr(), y.as_ptr()], expected.as_mut_ptr()));
                    fine(operation(&cuda(), n as i64, [dx.pointer().cast_const(), dy.pointer()], out.pointer()));
                }
                assert_eq!(bits(&out.values()), bits(&expected), "{name} {n}");
            }
        }
    }
    New reductions_and_products_are_those_of_the_cpu() {
        let (m, n) = (37i64, 300i64);
        // SAFETY: no exec.
        fine(unsafe { dpt_cuda_preload(ptr::null()) });
        let x = numbers((m * n) as usize, 5);
        let x: Vec<f32> = x.iter().map(|v| if v.is_finite() { *v } else { 0.5 }).collect();
        let dx = Array::new(&x);
        let mut expected = vec![0.0f32; (m * m) as usize];
        let (out, mut places, found) = (Array::new(&expected), [0i64; 37], Array::new(&[0i64; 37]));
        // SAFETY: arrays of these shapes.
        unsafe {
            fine(dpt_sum_rows_f32(ptr::null(), m, n, x.as_ptr(), n, 1, expected.as_mut_ptr(), 1));
            fine(dpt_sum_rows_f32(&cuda(), m, n, dx.pointer(), n, 1, out.pointer(), 1));
            assert_eq!(bits(&out.values()), bits(&expected), "sum_rows");
            fine(dpt_argmax_rows_f32(ptr::null(), m, n, x.as_ptr(), n, 1, places.as_mut_ptr(), 1));
            fine(dpt_argmax_rows_f32(&cuda(), m, n, dx.pointer(), n, 1, found.pointer(), 1));
            assert_eq!(found.values(), places);
            fine(dpt_dot_f32(ptr::null(), m * n, x.as_ptr(), 1, x.as_ptr(), 1, expected.as_mut_ptr()));
            fine(dpt_dot_f32(&cuda(), m * n, dx.pointer(), 1, dx.pointer(), 1, out.pointer()));
            assert_eq!(bits(&out.values()), bits(&expected), "dot");
            let (a, da) = (x.as_ptr(), dx.pointer());
            let (beta, c, dc) = (0.5, expected.as_mut_ptr(), out.pointer());
            fine(dpt_gemm_f32(ptr::null(), m, m, n, 1.5, a, n, 1, a, 1, n, beta, c, m, 1));
            fine(dpt_gemm_f32(&cuda(), m, m, n, 1.5, da, n, 1, da, 1, n, beta, dc, m, 1));
            assert_eq!(bits(&out.values()), bits(&expected), "gemm");
            let bias = Array::new(&x[..37]);
            let mut after = dpt_epilogue {
                struct_size: size_of::<dpt_epilogue>(),
                flags: dpt_epilogue_flag::DPT_EPILOGUE_CLAMP as u32,
                bias_kind: dpt_bias_kind::DPT_BIAS_PER_ROW as i32,
                bias: x.as_ptr().cast(),
                bias_inc: 1,
                lo: 0.0,
                hi: 100.0,
            };
            fine(dpt_gemm_fused_f32(ptr::null(), m, m, n, 1.5, a, n, 1, a, 1, n, 0.0, c, m, 1, &after));
            let refuse = dpt_gemm_fused_f32(&cuda(), m, m, n, 1.5, da, n, 1, da, 1, n, 0.0, dc, m, 1, &after);
            refused(refuse, DPT_HOST_POINTER, "bias points to host memory");
            after.bias = bias.pointer().cast();
            fine(dpt_gemm_fused_f32(&cuda(), m, m, n, 1.5, da, n, 1, da, 1, n, 0.0, dc, m, 1, &after));
            assert_eq!(bits(&out.values()), bits(&expected), "gemm_fused");
        }
    }
    New a_workspace_is_used_when_it_is_given() {
        let (m, n) = (2000i64, 100i64);
        let x: Vec<f32> = (0..m * n).map(|i| (i % 97) as f32 / 97.0).collect();
        let (dx, mut expected) = (Array::new(&x), vec![0.0f32; n as usize]);
        let out = Array::new(&expected);
        // SAFETY: arrays of these shapes.
        unsafe {
            let (a, da) = (x.as_ptr(), dx.pointer());
            fine(dpt_lsq_grad_f32(ptr::null(), m, n, a, n, 1, a, a, expected.as_mut_ptr()));
            let mut size = 0;
            fine(dpt_lsq_grad_f32_workspace(&cuda(), m, n, &mut size));
            // A workspace may have any alignment.
            let (memory, mut exec) = (Array::new(&vec![0xAAu8; size + 1]), cuda());
            exec.workspace = memory.pointer().add(1).cast();
            exec.workspace_size = size / 2;
            fake().written();
            let small = dpt_lsq_grad_f32(&exec, m, n, da, n, 1, da, da, out.pointer());
            refused(small, DPT_WORKSPACE_TOO_SMALL, "bytes are needed");
            let calls = fake().written();
            assert!(!calls.iter().any(|call| call.starts_with("cuLaunch")), "{calls:?}");
            assert_eq!(out.values(), [0.0; 100]);
            exec.workspace_size = size;
            fine(dpt_lsq_grad_f32(&exec, m, n, da, n, 1, da, da, out.pointer()));
            assert_eq!(bits(&out.values()), bits(&expected));
            let host = vec![0u8; size];
            exec.workspace = host.as_ptr().cast_mut().cast();
            let wrong = dpt_lsq_grad_f32(&exec, m, n, da, n, 1, da, da, out.pointer());
            refused(wrong, DPT_HOST_POINTER, "workspace points to host memory");
        }
    }
    New the_rust_functions_run_on_buffers() {
        use diptych_gpu::{BatchMut, BatchRef, Context, DeviceBuffer, Error, Event, MatMut, MatRef, PinnedBuffer, Stream};
        let context = Context::new(0).expect("a device");
        assert_eq!(context.name().as_deref(), Ok("fake 0"));
        assert!(context.memory().is_ok() && Context::new(1).is_err());
        let (stream, other) = (Stream::new(&context).expect("a stream"), Stream::new(&context).expect("a stream"));
        let a = DeviceBuffer::from_slice(&stream, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("memory");
        let mut c = DeviceBuffer::<f32>::zeros(&stream, 4).expect("memory");
        let before = Event::record(&stream).expect("an event");
        let view = MatRef::new(&a, 2, 3).expect("a view");
        let product = MatMut::new(&mut c, 2, 2).expect("a view");
        diptych_gpu::gemm(1.0, view, view.t(), 0.0, product).expect("a product");
        diptych_gpu::clamp_in_place(&mut c, 0.0, 50.0).expect("a clamp");
        let mut sums = DeviceBuffer::<f32>::zeros(&stream, 2).expect("memory");
        diptych_gpu::sum_rows(view, &mut sums).expect("sums");
        assert!(Event::record(&stream).expect("an event").seconds_since(&before).is_ok());
        let mut pinned = PinnedBuffer::<f32>::zeros(&context, 4).expect("memory");
        let mut pinned_products = PinnedBuffer::<f32>::zeros(&context, 8).expect("memory");
        c.copy_to(&mut pinned).expect("a copy");
        assert_eq!(*pinned, [14.0, 32.0, 32.0, 50.0]);
        sums.copy_to(&mut pinned[..2]).expect("a copy");
        assert_eq!(pinned[..2], [6.0, 15.0]);
        let many: Vec<f32> = (0..12).map(|i| i as f32).collect();
        let many = DeviceBuffer::from_slice(&stream, &many).expect("memory");
        let mut products = DeviceBuffer::<f32>::zeros(&stream, 8).expect("memory");
        let batch = BatchRef::new(&many, 2, 2, 3).expect("a view");
        // The same matrix for the whole batch.
        let shared = BatchRef::strided(&a, 0, (2, 0), (3, 1), (2, 3)).expect("a view");
        let out = BatchMut::new(&mut products, 2, 2, 2).expect("a view");
        diptych_gpu::gemm_batched(1.0, batch, shared, 0.0, out).expect("products");
        products.copy_to(&mut pinned_products).expect("a copy");
        assert_eq!(*pinned_products, [8.0, 17.0, 26.0, 62.0, 44.0, 107.0, 62.0, 152.0]);
        let one = BatchRef::new(&a, 1, 2, 3).expect("a view");
        for (a, b, arg) in [(one, shared, "a"), (batch, one, "b"), (shared, shared, "a"), (batch, batch, "b")] {
            let out = BatchMut::new(&mut products, 2, 2, 2).expect("a view");
            let wrong = diptych_gpu::gemm_batched(1.0, a, b, 0.0, out);
            assert_eq!(wrong, Err(diptych::Error::ShapeMismatch { arg }.into()));
        }
        assert!(BatchRef::new(&a, 2, 2, 3).is_err() && BatchMut::new(&mut products, 3, 2, 2).is_err());
        let mut elsewhere = DeviceBuffer::<f32>::zeros(&other, 6).expect("memory");
        let wrong = diptych_gpu::add_in_place(&mut elsewhere, &a);
        assert_eq!(wrong, Err(Error::WrongContext { arg: "y" }));
        assert!(diptych_gpu::add_in_place(&mut c, &a).is_err() && c.copy_to(&mut []).is_err());
        assert!(MatRef::new(&a, 2, 4).is_err());
    }
    New buffers_of_any_size_begin_with_zeros() {
        use diptych_gpu::{Context, DeviceBuffer, Stream};
        let context = Context::new(0).expect("a device");
        let stream = Stream::new(&context).expect("a stream");
        for len in [0, 1, 4, 7, 1001] {
            let buffer = DeviceBuffer::<u8>::zeros(&stream, len).expect("memory");
            let mut values = vec![1u8; len];
            buffer.copy_to(&mut values).expect("a copy");
            assert_eq!(values, vec![0u8; len]);
        }
        assert!(DeviceBuffer::<f64>::zeros(&stream, usize::MAX).is_err());
    }
    New events_of_two_contexts_are_refused() {
        use diptych_gpu::{Context, Error, Event, Stream};
        fake().machine(2, (9, 0), 12_080);
        let contexts = [0, 1].map(|ordinal| Context::new(ordinal).expect("a device"));
        let streams = contexts.each_ref().map(|context| Stream::new(context).expect("a stream"));
        let events = streams.each_ref().map(|stream| Event::record(stream).expect("an event"));
        assert!(events[1].seconds_since(&events[1]).is_ok());
        assert_eq!(events[1].seconds_since(&events[0]), Err(Error::WrongContext { arg: "earlier" }));
    }
    New copies_go_anywhere() {
        let host: Vec<u8> = (0..100).collect();
        let (device, mut back) = (Array::new(&[0u8; 100]), vec![0u8; 100]);
        let there = device.pointer().cast::<c_void>();
        // SAFETY: arrays of a hundred bytes.
        unsafe {
            fake().written();
            fine(dpt_copy(&cuda(), 100, host.as_ptr().cast(), there));
            assert!(fake().written().contains(&"cuMemcpyAsync".to_owned()));
            fine(dpt_copy(&auto(), 100, there, back.as_mut_ptr().cast()));
            assert!(fake().written().contains(&"cuMemcpyAsync".to_owned()));
            assert_eq!(back, host);
            back.fill(0);
            for exec in [ptr::null(), ptr::from_ref(&auto())] {
                fine(dpt_copy(exec, 100, host.as_ptr().cast(), back.as_mut_ptr().cast()));
                assert!(!fake().written().contains(&"cuMemcpyAsync".to_owned()));
                assert_eq!(back, host);
            }
            fine(dpt_copy(ptr::null(), 0, ptr::null(), ptr::null_mut()));
            let p = back.as_mut_ptr().cast::<c_void>();
            refused(dpt_copy(ptr::null(), 9, ptr::null(), p), DPT_NULL_POINTER, "from");
            refused(dpt_copy(ptr::null(), 9, p, p.byte_add(8)), DPT_OVERLAP, "to");
            refused(dpt_copy(ptr::null(), usize::MAX, p, p), DPT_SIZE_OVERFLOW, "bytes");
            fine(dpt_cuda_synchronize(&cuda()));
        }
    }
    New memory_comes_and_goes() {
        let mut pinned = ptr::null_mut();
        // SAFETY: `pinned` is a valid pointer for the result.
        unsafe {
            fine(dpt_cuda_alloc_pinned(64, &mut pinned));
            pinned.cast::<[u8; 64]>().write([1; 64]);
            assert_eq!(fake().live(), 1);
            fine(dpt_cuda_free_pinned(pinned));
            fine(dpt_cuda_free_pinned(ptr::null_mut()));
            fine(dpt_cuda_free(ptr::null_mut()));
            assert_eq!(fake().live(), 0);
            fake().fail("cuMemAlloc_v2", 2);
            pinned = ptr::dangling_mut();
            refused(dpt_cuda_alloc(64, &mut pinned), DPT_DEVICE_OUT_OF_MEMORY, "device memory");
            assert!(pinned.is_null());
            refused(dpt_cuda_alloc(64, ptr::null_mut()), DPT_NULL_POINTER, "out");
        }
    }
    New advice_says_whether_it_was_measured() {
        let mut advice = dpt_advice {
            struct_size: size_of::<dpt_advice>(),
            device: -1,
            measured: -1,
            cpu_seconds: 0.0,
            cuda_seconds: 0.0,
        };
        let (cpu, gpu) = (dpt_device::DPT_DEVICE_CPU as i32, dpt_device::DPT_DEVICE_CUDA as i32);
        let mut ask = |op: &core::ffi::CStr, m, n, k, at| {
            // SAFETY: a C string and a valid struct.
            unsafe { fine(dpt_advise_f32(ptr::null(), op.as_ptr(), m, n, k, at, &mut advice)) };
            advice
        };
        let small = ask(c"add", 0, 4, 0, cpu);
        assert_eq!((small.device, small.measured), (cpu, 0));
        let large = ask(c"gemm", 8192, 8192, 8192, cpu);
        assert!(large.device == gpu && large.cuda_seconds < large.cpu_seconds);
        // A sum reads each element once, so the advice is the device that holds the data.
        assert_eq!(ask(c"sum", 0, 1 << 26, 0, cpu).device, cpu);
        assert_eq!(ask(c"sum", 0, 1 << 26, 0, gpu).device, gpu);
        fake().on_launch(super::machine::ignore);
        // SAFETY: no exec.
        fine(unsafe { dpt_advise_measure(ptr::null()) });
        assert_eq!(fake().live(), 0);
        // SAFETY: a C string and a valid struct.
        unsafe {
            fine(dpt_advise_f64(ptr::null(), c"sum_rows".as_ptr(), 10, 10, 0, gpu, &mut advice));
            assert_eq!(advice.measured, 1);
            let unknown = dpt_advise_f32(ptr::null(), c"solve".as_ptr(), 1, 1, 1, cpu, &mut advice);
            refused(unknown, DPT_INVALID_VALUE, "op");
            let nowhere = dpt_advise_f32(ptr::null(), c"sum".as_ptr(), 1, 1, 1, 7, &mut advice);
            refused(nowhere, DPT_UNKNOWN_ENUM, "location");
        }
    }
}
