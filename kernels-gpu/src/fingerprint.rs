//! The fingerprint of the library with calls on a stream.

use core::ffi::c_void;

use diptych::Exec;
use diptych::backend::tensor::ElementType;
use diptych::fingerprint::{self, Backend, Cpu, Tensors, Typed, WORDS, one, whole};

use crate::driver::{Launcher, memory};
use crate::{Error, Result, Stream, raw, tensor};

/// Bytes of scratch memory for each call.
const SCRATCH: usize = 1 << 20;

/// Returns the fingerprint of calls on `stream`: `diptych::fingerprint::FINGERPRINT`, or the promise is broken. What a
/// device does not compute, types of 16 bits, runs on the CPU.
///
/// Allocates memory on the device and on the host, frees it, and waits for the stream. Where the driver still has to
/// compile the kernels, that takes most of the time.
///
/// # Errors
/// Those of the calls and of the driver.
// `inline`, here and below: a program that does not ask for the fingerprint does not compile the operations of the CPU.
#[inline]
pub fn fingerprint(stream: &Stream) -> Result<u64> {
    let mut memory = Box::new(fingerprint::memory());
    whole(&mut Calls::new(stream)?, &mut memory)
}

/// Returns the hash of one operation, as `diptych::fingerprint::of_operation` does.
///
/// # Errors
/// Those of [`fingerprint()`].
#[inline]
pub fn fingerprint_of_operation(stream: &Stream, number: usize) -> Result<Option<u64>> {
    let mut memory = Box::new(fingerprint::memory());
    one(&mut Calls::new(stream)?, &mut memory, number)
}

/// The calls on a stream, and those on the CPU.
struct Calls<'a> {
    stream: &'a Stream,
    /// The arrays, then scratch memory.
    memory: *mut u64,
}

impl<'a> Calls<'a> {
    fn new(stream: &'a Stream) -> Result<Self> {
        stream.synchronize()?;
        let memory = memory::allocate(size_of::<fingerprint::Memory>() + SCRATCH)?;
        Ok(Self {
            stream,
            memory: memory.cast(),
        })
    }

    fn launcher(&self) -> Result<Launcher<'static>> {
        let scratch = self.memory.wrapping_add(WORDS);
        self.stream.launcher((scratch.cast(), SCRATCH))
    }

    /// Copies words and waits for the end.
    ///
    /// # Safety
    /// Both places have as many words.
    unsafe fn copy(&self, count: usize, from: *const u64, to: *mut u64) -> Result<()> {
        let handle = self.stream.enter()?;
        // SAFETY: as the caller's.
        unsafe {
            memory::copy(
                handle.cast::<c_void>(),
                count * size_of::<u64>(),
                from.cast(),
                to.cast(),
            )?
        };
        self.stream.synchronize()
    }
}

impl Drop for Calls<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`; freeing waits for the calls.
        let _ = unsafe { memory::free(self.memory.cast()) };
    }
}

// SAFETY: copies are awaited.
unsafe impl Backend for Calls<'_> {
    type Error = Error;

    fn device(&self) -> Option<*mut u64> {
        Some(self.memory)
    }

    unsafe fn upload(&mut self, memory: *mut u64, first: usize, count: usize) -> Result<()> {
        let (here, there) = (memory.wrapping_add(first), self.memory.wrapping_add(first));
        // SAFETY: as the caller's.
        unsafe { self.copy(count, here, there) }
    }

    unsafe fn download(&mut self, memory: *mut u64, first: usize, count: usize) -> Result<()> {
        let (here, there) = (memory.wrapping_add(first), self.memory.wrapping_add(first));
        // SAFETY: as the caller's.
        unsafe { self.copy(count, there, here) }
    }

    #[inline]
    unsafe fn typed(&mut self, call: &Typed) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe {
            if !call.on_device {
                return Ok(Cpu(&Exec::new()).typed(call)?);
            }
            let launcher = self.launcher()?;
            match ElementType::of(call.dtype) {
                Some(ElementType::F32) => in_single(&launcher, call),
                Some(ElementType::F64) => in_double(&launcher, call),
                None => Err(diptych::Error::UnsupportedType { arg: "dtype" }.into()),
            }
        }
    }

    #[inline]
    unsafe fn tensors(&mut self, call: &Tensors<'_>) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe {
            if !call.on_device {
                return Ok(Cpu(&Exec::new()).tensors(call)?);
            }
            over_tensors(&self.launcher()?, call)
        }
    }
}

diptych::fingerprint_typed!(
    in_single,
    f32,
    raw,
    &Launcher<'_>,
    Error,
    core::convert::identity
);
diptych::fingerprint_typed!(
    in_double,
    f64,
    raw,
    &Launcher<'_>,
    Error,
    core::convert::identity
);
diptych::fingerprint_tensors!(over_tensors, tensor, &Launcher<'_>, Error);
