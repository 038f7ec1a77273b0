//! Results on the device equal those on the CPU; copies; memory; advice.

use super::calls::*;
use super::fake::fake;
use core::ffi::c_void;
use core::ptr;
use diptych_ffi::dpt_status_code::*;
use diptych_ffi::*;

/// Numbers of all kinds.
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

/// An operation on two inputs, whatever it makes of them.
type Operation =
    unsafe extern "C" fn(*const dpt_exec, i64, *const f32, *const f32, *mut f32) -> dpt_status;

macro_rules! operations {
    ($($name:ident($exec:ident, $n:ident, $x:ident, $y:ident, $out:ident) = $call:expr;)*) => {$(
        /// # Safety
        /// Arrays of n elements.
        unsafe extern "C" fn $name(
            $exec: *const dpt_exec,
            $n: i64,
            $x: *const f32,
            $y: *const f32,
            $out: *mut f32,
        ) -> dpt_status {
            // SAFETY: as the caller's.
            unsafe { $call }
        }
    )*};
}

operations! {
    clamp(exec, n, x, _y, out) = dpt_clamp_f32(exec, n, x, -10.0, 10.0, out);
    clamp_backward(exec, n, x, y, out) = dpt_clamp_backward_f32(exec, n, x, y, -10.0, 10.0, out);
    axpy(exec, n, x, _y, out) = dpt_axpy_f32(exec, n, 1.5, x, out);
}

crate::scenarios! {
    New results_are_those_of_the_cpu() {
        let operations: [(&str, Operation); 7] = [
            ("add", dpt_add_f32),
            ("sub", dpt_sub_f32),
            ("mul", dpt_mul_f32),
            ("div", dpt_div_f32),
            ("clamp", clamp),
            ("clamp_backward", clamp_backward),
            ("axpy", axpy),
        ];
        for n in [1, 7, 256, 5000] {
            let (x, y) = (numbers(n, 1), numbers(n, 2));
            for (name, operation) in operations {
                let mut expected = numbers(n, 3);
                let (dx, dy, out) = (Array::new(&x), Array::new(&y), Array::new(&expected));
                // SAFETY: arrays of n elements.
                unsafe {
                    fine(operation(ptr::null(), n as i64, x.as_ptr(), y.as_ptr(), expected.as_mut_ptr()));
                    fine(operation(&cuda(), n as i64, dx.pointer(), dy.pointer(), out.pointer()));
                }
                assert_eq!(bits(&out.values()), bits(&expected), "{name} {n}");
            }
        }
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
            for exec in [ptr::null(), &raw const *&auto()] {
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
        // SAFETY: the place is there.
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
            // SAFETY: a string, and a struct.
            unsafe { fine(dpt_advise_f32(ptr::null(), op.as_ptr(), m, n, k, at, &mut advice)) };
            advice
        };
        let small = ask(c"add", 0, 4, 0, cpu);
        assert_eq!((small.device, small.measured), (cpu, 0));
        let large = ask(c"gemm", 8192, 8192, 8192, cpu);
        assert!(large.device == gpu && large.cuda_seconds < large.cpu_seconds);
        // A sum reads everything once: it goes where the data are.
        assert_eq!(ask(c"sum", 0, 1 << 26, 0, cpu).device, cpu);
        assert_eq!(ask(c"sum", 0, 1 << 26, 0, gpu).device, gpu);
        fake().on_launch(super::machine::ignore);
        // SAFETY: no exec.
        fine(unsafe { dpt_advise_measure(ptr::null()) });
        assert_eq!(fake().live(), 1);
        // SAFETY: a string, and a struct.
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
