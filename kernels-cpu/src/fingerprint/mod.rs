//! A fingerprint of the library: one number that is the same on every machine, level, number of threads and device.
//!
//! It is the hash of the results of a fixed set of calls, whose inputs are made of integers. Every operation is called on
//! every type that it takes, with contiguous, strided, transposed, backward and broadcast arrays, with sizes on both sides
//! of the thresholds at which kernels change, and with zeros, subnormal numbers, infinities and NaNs. NaNs whose bits are
//! not promised are all counted as one.
//!
//! ```
//! use diptych::{Exec, fingerprint};
//!
//! let mut memory = Box::new(fingerprint::memory());
//! let fingerprint = diptych::fingerprint(&Exec::new(), &mut memory)?;
//! assert_eq!(fingerprint, fingerprint::FINGERPRINT);
//! # Ok::<(), diptych::Error>(())
//! ```
//!
//! [`of_operation`] has the hash of each operation, to find which one differs.

mod backend;
mod calls;
mod convert;
mod cpu;
mod elementwise;
mod expected;
mod matrices;
mod mixed;
mod numbers;
mod products;
mod reductions;
mod row_maps;
mod run;

#[doc(hidden)]
pub use backend::{Arguments, Array, Backend, Over, Tensors, Typed};
pub use backend::{Memory, WORDS};
#[doc(hidden)]
pub use cpu::Cpu;
pub use expected::{FINGERPRINT, NUMERICS_VERSION, WORKSPACE};

use crate::error::Result;
use crate::exec::Exec;
use crate::table::{ELEMENTWISE, OPS, REDUCTIONS, ROW_MAPS};
use run::Run;

/// The number of operations: the table's, and `convert`.
pub const OPERATIONS: usize = OPS.len() + 1;

/// Returns zeros, where the arrays of the calls may be.
pub const fn memory() -> Memory {
    [0; WORDS]
}

/// Returns the fingerprint of calls with `exec`: [`FINGERPRINT`], or the promise is broken.
///
/// The arrays of the calls are in `memory`.
///
/// # Errors
/// Those of the calls: `LevelUnavailable`, or `WorkspaceTooSmall` if the workspace of `exec` has less than 1 MiB for each
/// thread.
#[inline]
pub fn fingerprint(exec: &Exec<'_>, memory: &mut Memory) -> Result<u64> {
    whole(&mut Cpu(exec), memory)
}

/// Returns the hash of one operation of calls with `exec`, or `None` for a number that is not less than [`OPERATIONS`].
/// [`name`] and [`expected`] say what it should be.
///
/// # Errors
/// Those of [`fingerprint()`].
#[inline]
pub fn of_operation(exec: &Exec<'_>, memory: &mut Memory, number: usize) -> Result<Option<u64>> {
    one(&mut Cpu(exec), memory, number)
}

/// Returns the name of an operation.
pub const fn name(number: usize) -> Option<&'static str> {
    if number < OPS.len() {
        Some(OPS[number].name)
    } else if number == OPS.len() {
        Some("convert")
    } else {
        None
    }
}

/// Returns the promised hash of an operation; 0 for one without a promise.
pub fn expected(number: usize) -> u64 {
    let mut all = expected::HASHES.iter();
    let found = all.find(|(other, _)| name(number) == Some(other));
    found.map_or(0, |(_, hash)| *hash)
}

/// Returns the fingerprint of a backend.
///
/// # Errors
/// Those of the calls.
#[doc(hidden)]
pub fn whole<B: Backend>(
    backend: &mut B,
    memory: &mut Memory,
) -> core::result::Result<u64, B::Error> {
    let mut sum: u64 = 0;
    for number in 0..OPERATIONS {
        if let (Some(name), Some(hash)) = (name(number), one(backend, memory, number)?) {
            sum = sum.wrapping_add(expected::share(name, hash));
        }
    }
    Ok(sum)
}

/// Returns the hash of an operation of a backend.
///
/// # Errors
/// Those of the calls.
#[doc(hidden)]
pub fn one<B: Backend>(
    backend: &mut B,
    memory: &mut Memory,
    number: usize,
) -> core::result::Result<Option<u64>, B::Error> {
    let Some(name) = name(number) else {
        return Ok(None);
    };
    let mut run = Run::new(backend, memory);
    let reductions = ELEMENTWISE.len()..ELEMENTWISE.len() + REDUCTIONS.len();
    let row_maps = reductions.end..reductions.end + ROW_MAPS.len();
    if number < reductions.start {
        elementwise::run(&mut run, number)?;
    } else if reductions.contains(&number) {
        reductions::run(&mut run, number - reductions.start)?;
    } else if row_maps.contains(&number) {
        row_maps::run(&mut run, number - row_maps.start)?;
    } else if number < OPS.len() {
        products::run(&mut run, name, number)?;
    } else {
        convert::run(&mut run)?;
    }
    Ok(Some(run.hash()))
}
