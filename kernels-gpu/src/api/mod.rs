//! The operations on buffers of device memory, safe to call.

mod buffer;
mod context;
mod operations;
mod view;

pub use buffer::{DeviceBuffer, Item, PinnedBuffer};
pub use context::{Context, Event, Stream};
pub use operations::*;
pub use view::{MatMut, MatRef, VecRef};
