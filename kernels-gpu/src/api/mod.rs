//! The operations on buffers of device memory, safe to call.

mod buffer;
mod context;
mod gemm;
mod operations;
mod view;

pub use buffer::{DeviceBuffer, Item, PinnedBuffer};
pub use context::{Context, Event, Stream};
pub use gemm::*;
pub use operations::*;
pub use view::{BatchMut, BatchRef, MatMut, MatRef, VecRef};
