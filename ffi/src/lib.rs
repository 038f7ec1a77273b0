//! The C ABI of Diptych. Every function of `include/diptych.h` is written out here, with the
//! documentation that becomes the header's; each hands its arguments to `diptych::raw`, where all
//! of them are checked. The files in `generated/` are written by `cargo xtask gen`, from the table of
//! operations and from those in `f32/`.
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
mod cuda;
mod epilogue;
mod error;
mod exec;
mod f32;
mod generated;
mod info;
mod layout;
mod panel;
mod pool;
mod status;

pub use advice::*;
pub use cuda::*;
pub use epilogue::{dpt_bias_kind, dpt_epilogue, dpt_epilogue_flag};
pub use error::dpt_last_error;
pub use exec::{dpt_device, dpt_exec, dpt_parallel_for_fn, dpt_task_fn};
pub use f32::*;
pub use generated::*;
pub use info::*;
pub use pool::{dpt_pool, dpt_pool_create, dpt_pool_destroy, dpt_pool_exec};
pub use status::{dpt_status, dpt_status_code, dpt_status_string};

/// The operations have no reachable panic (the freestanding link test would show one), so this is
/// only what the language demands of a library without `std`.
#[cfg(all(not(feature = "std"), not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
