//! The fingerprint of the library, through its own C functions.
mod calls;
mod memory;

use crate::error::{Failure, report};
use crate::exec::dpt_exec;
use crate::status::{OK, dpt_status};
use core::ffi::c_char;
use diptych::Error;
use diptych::fingerprint::{OPERATIONS, expected, name, one, whole};

/// A status that is not DPT_OK. `dpt_last_error` has its text.
struct Refused(dpt_status);

/// What the text of a failure begins with.
const NAME: &str = "dpt_fingerprint";

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self(report(NAME, Err(failure)))
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Failure::from(error).into()
    }
}

/// Turns the status of a call into a result.
fn checked(status: dpt_status) -> Result<(), Refused> {
    match status {
        OK => Ok(()),
        status => Err(Refused(status)),
    }
}

/// Makes a fixed set of calls with exec and writes a hash of their results to *hash:
/// DPT_FINGERPRINT on every machine, CPU level, number of threads and device. Another value means
/// that some result has other bits than it should; dpt_fingerprint_op finds out which, and a bug
/// report should contain it.
///
/// The calls reach every operation, on every type that it takes, with contiguous, strided,
/// transposed, backward and broadcast arrays, sizes on both sides of the thresholds at which the
/// library changes its kernels, and zeros, subnormal numbers, infinities and NaNs. What a device
/// does not compute (float16, bfloat16) runs on the CPU.
///
/// Memory: the first DPT_FINGERPRINT_WORKSPACE bytes of exec->workspace are for the arrays of the
/// calls; the rest is their workspace, if that is enough for all of them. Without a workspace this
/// function allocates this memory, and frees it before it returns; in a freestanding build it
/// returns DPT_WORKSPACE_TOO_SMALL.
/// Device: with DPT_DEVICE_CUDA the calls are put into exec->stream, and the function waits for the
/// device. It also allocates host memory.
///
/// Errors: those of exec; DPT_NULL_POINTER; DPT_MISALIGNED; DPT_WORKSPACE_TOO_SMALL;
/// DPT_OUT_OF_MEMORY; DPT_LEVEL_UNAVAILABLE; those of the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_fingerprint(exec: *const dpt_exec, hash: *mut u64) -> dpt_status {
    let compute = || {
        let hash = place(hash, "hash")?;
        // SAFETY: `exec` is NULL or a `dpt_exec` whose promises hold, by the contract of the header.
        let found = unsafe { memory::lend(exec, whole) }?;
        // SAFETY: not NULL and aligned.
        unsafe { hash.write(found) };
        Ok(())
    };
    status(compute())
}

/// The part of dpt_fingerprint that one operation has: writes its name to *name, the hash of its
/// calls with exec to *hash, and what that should be to *expected. The name is constant text. The
/// numbers of the operations begin at 0; the first that is not one is DPT_INVALID_VALUE. Numbers may
/// change from version to version, names do not.
///
/// Errors: as dpt_fingerprint; DPT_INVALID_VALUE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_fingerprint_op(
    exec: *const dpt_exec,
    number: i32,
    name: *mut *const c_char,
    hash: *mut u64,
    expected: *mut u64,
) -> dpt_status {
    let compute = || {
        let name = place(name, "name")?;
        let (hash, promise) = (place(hash, "hash")?, place(expected, "expected")?);
        let unknown = Error::InvalidValue { arg: "number" };
        let number = usize::try_from(number).map_err(|_| unknown)?;
        let text = NAMES.get(number).ok_or(unknown)?;
        // SAFETY: as above.
        let found = unsafe { memory::lend(exec, |calls, memory| one(calls, memory, number)) }?;
        // SAFETY: not NULL and aligned.
        unsafe {
            name.write(text.as_ptr().cast());
            hash.write(found.ok_or(unknown)?);
            promise.write(self::expected(number));
        }
        Ok(())
    };
    status(compute())
}

fn status(result: Result<(), Refused>) -> dpt_status {
    result.map_or_else(|refused| refused.0, |()| OK)
}

/// Refuses a place for a result that is NULL or misaligned.
fn place<T>(place: *mut T, arg: &'static str) -> Result<*mut T, Error> {
    if place.is_null() {
        return Err(Error::NullPointer { arg });
    }
    if !place.is_aligned() {
        return Err(Error::Misaligned { arg });
    }
    Ok(place)
}

/// The longest name of an operation, and a zero.
const LONGEST: usize = 16;

/// The names of the operations as C strings.
static NAMES: [[u8; LONGEST]; OPERATIONS] = {
    let (mut names, mut number) = ([[0; LONGEST]; OPERATIONS], 0);
    while let Some(name) = name(number) {
        let (text, mut at) = (name.as_bytes(), 0);
        while at < text.len() {
            names[number][at] = text[at];
            at += 1;
        }
        assert!(at < LONGEST, "room for the zero");
        number += 1;
    }
    names
};
