//! The safe interface: contexts, streams, buffers of device memory, and the operations on them.

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
