//! The GPU kernels give the fingerprint.

use diptych::Exec;
use diptych::backend::tensor::ElementType;
use diptych::fingerprint::{self, Backend, Cpu, Memory, OPERATIONS, Tensors, Typed};
use diptych_gpu::driver::Arguments;
use diptych_gpu::tensor;
use diptych_tests::device::{is_full, single};
use diptych_tests::raw::{self, Error, On, Result, TestDevice};

/// A device whose memory is that of the host, and the CPU for what it does not compute.
struct Device<'a> {
    on: &'a dyn On,
    memory: *mut u64,
}

// SAFETY: host and device have the same memory, and calls have ended when they return.
unsafe impl Backend for Device<'_> {
    type Error = Error;

    fn device(&self) -> Option<*mut u64> {
        Some(self.memory)
    }

    unsafe fn typed(&mut self, call: &Typed) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe {
            match ElementType::of(call.dtype) {
                _ if !call.on_device => Ok(Cpu(&Exec::new()).typed(call)?),
                Some(ElementType::F32) => in_single(self.on, call),
                Some(ElementType::F64) => in_double(self.on, call),
                None => unreachable!("{:?} has no arithmetic", call.dtype),
            }
        }
    }

    unsafe fn tensors(&mut self, call: &Tensors<'_>) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe {
            if !call.on_device {
                return Ok(Cpu(&Exec::new()).tensors(call)?);
            }
            self.on.run(
                Arguments::default(),
                &mut |_| unreachable!("a device"),
                &mut |device| over_tensors(device, call),
            )
        }
    }
}

diptych::fingerprint_typed!(in_single, f32, raw, &dyn On, Error, core::convert::identity);
diptych::fingerprint_typed!(in_double, f64, raw, &dyn On, Error, core::convert::identity);
diptych::fingerprint_tensors!(over_tensors, tensor, &TestDevice<'_>, Error);

/// In full on a GPU and with `DIPTYCH_FULL`; else every fifth operation, because the emulator is slow.
#[test]
fn has_the_promised_bits() {
    let step = if is_full() || diptych_tests::gpu::is_chosen() {
        1
    } else {
        5
    };
    let mut wrong = String::new();
    for number in (0..OPERATIONS).step_by(step) {
        let mut memory: Box<Memory> = Box::new(fingerprint::memory());
        let start = memory.as_mut_ptr();
        let found = single()[0].run(|on| {
            let mut device = Device { on, memory: start };
            fingerprint::one(&mut device, &mut memory, number)
        });
        let name = fingerprint::name(number).unwrap();
        match found {
            Ok(found) if found == Some(fingerprint::expected(number)) => {}
            Ok(found) => wrong += &format!("{name}: {found:x?}\n"),
            Err(error) => wrong += &format!("{name}: {error}\n"),
        }
    }
    assert!(wrong.is_empty(), "other bits than promised:\n{wrong}");
}
