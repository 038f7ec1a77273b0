//! C = alpha A B + beta C, by packed blocks and microkernels (Goto and van de Geijn, "Anatomy of
//! High-Performance Matrix Multiplication", 2008; Van Zee and van de Geijn, "BLIS", 2015).
//!
//! The order of each element, part of the ABI: k is cut into segments of [`KSEG`](params::KSEG). A segment's sum
//! s is an fma chain over ascending k that starts from +0. The first segment sets
//! c = alpha s where beta = 0, else c = fma(alpha, s, beta c); each later one c = fma(alpha, s, c).
//! Where k or alpha is 0, c = beta c, or +0 where beta = 0. Bias and clamp follow the last segment.
//! (Shapes with one row or one column take the order of dot instead: `api::gemm`.)
//!
//! Read in this order:
//! * `product`: what is computed. `plan`: what is packed, which columns are computed as rows of the transpose, how C
//!   is stored, on one thread. (`api::gemm::plan` decides on orientation and tasks before that.)
//! * `loops`: the five loops, from panels of B to micro-tiles; `in_place`: the last two alone, for what needs no more.
//! * `microkernel`, with `markers` for its variants and `tails` for its last columns. `shapes` and `microkernels`:
//!   which of them a level has, and which one takes a micro-tile; `widths`: how columns are cut into micro-tiles.
//! * `pack`, `write_back`, `prefetch`, `transpose`: what the loops and microkernels need besides. `params`: the sizes
//!   to tune. `routines`: what a level gives to the loops.

mod in_place;
mod loops;
pub mod markers;
mod microkernel;
mod microkernels;
mod pack;
pub mod params;
mod plan;
mod prefetch;
mod product;
mod routines;
mod scratch;
pub mod shapes;
mod tails;
mod transpose;
mod widths;
mod write_back;

pub use in_place::{in_place, in_place_before, single};
pub use loops::run;
pub use microkernel::{MicrokernelArgs, PanelA, PanelB, microkernel};
pub use microkernels::Microkernels;
pub use pack::{PanelRange, pack_a, pack_b};
pub use plan::{ThreadPlan, packs, transposed_tail};
pub use product::{Epilogue, Gemm, Rule};
pub use routines::Routines;
pub use write_back::{WriteBack, write_back};

// For the table of levels.
pub(crate) use microkernels::{level_lists, variant_list};
pub(crate) use routines::routines;
