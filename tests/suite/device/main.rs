//! The device panel without a GPU: its kernels run on the emulator, and pass the cases of the CPU with the
//! same bits.
//!
//! The cases are those of `conformance`, `properties` and `contract`, the very same files; here `panel` is
//! the emulator. Schedules and sizes of the GPU take turns over the cases.

mod barriers;
mod conformance;
mod coverage;
mod products;
mod properties;
mod run;

// What the files of the other suites ask of their crate.
#[path = "../contract/bounds.rs"]
mod bounds;
#[path = "../contract/bounds_matrices.rs"]
mod bounds_matrices;
use conformance::gemm_case;

use diptych_tests::device as panel;
#[path = "../properties/driver.rs"]
mod driver;
#[path = "../properties/inputs.rs"]
mod inputs;
#[path = "../properties/stack.rs"]
mod stack;
