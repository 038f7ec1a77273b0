//! The C ABI of Diptych. Every function of `include/diptych.h` is written out here; its documentation
//! becomes that of the header. Each operation passes its arguments to `diptych::raw`, which checks
//! them. `cargo xtask gen` writes the files in `generated/` from the table of operations and from
//! `ffi/templates`, and the header in the order of `sections.h`.
#![cfg_attr(not(feature = "std"), no_std)]
#![allow(non_camel_case_types, reason = "the names are those of the C header")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the documentation is written for C callers; the contract is that of the header"
)]
#![allow(
    clippy::too_many_arguments,
    reason = "the argument lists are those of the C header"
)]
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "out[i] in the documentation is C, not a link"
)]

mod advice;
mod backend;
mod cuda;
mod epilogue;
mod error;
mod exec;
mod fingerprint;
mod generated;
mod info;
mod layout;
mod lend;
mod location;
mod pool;
mod sized;
mod status;
mod tensor;

pub use advice::*;
pub use cuda::*;
pub use epilogue::{dpt_bias_kind, dpt_epilogue, dpt_epilogue_flag};
pub use error::dpt_last_error;
pub use exec::{dpt_device, dpt_exec, dpt_exec_flag, dpt_parallel_for_fn, dpt_task_fn};
pub use fingerprint::{dpt_fingerprint, dpt_fingerprint_op};
pub use generated::*;
pub use info::*;
pub use pool::{dpt_pool, dpt_pool_create, dpt_pool_destroy, dpt_pool_exec};
pub use status::{dpt_status, dpt_status_code, dpt_status_string};
pub use tensor::*;

/// Required of a library without `std`. No operation can reach a panic: the freestanding link test
/// would show one.
#[cfg(all(not(feature = "std"), not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
