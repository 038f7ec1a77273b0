//! Operations over tensors in the memory of a device: those of `diptych::tensor`, with a device in place of the `Exec`.
//!
//! Axes are dropped, turned, reordered and merged as on the CPU. A kernel of an elementwise operation has three loops and
//! takes any strides; more loops are one launch for each index of the others. Products and reductions are likewise one
//! launch or two for each index of the axes that no kernel has. Rows of a reduction whose elements are not evenly spaced,
//! and operands of `mse_grad` and `lsq_grad` that are not contiguous, are copied to scratch memory; nothing else is copied.
//!
//! The types are those of the CPU. Reductions of integers take up to eight axes that do not merge.

mod axes;
mod convert;
mod elementwise;
mod gather;
mod gradients;
mod integers;
mod parts;
mod products;
mod reduce;
mod row_map;

pub use convert::convert;
pub use diptych::tensor::{Epilogue, Tensor};
pub use elementwise::*;
pub use gradients::*;
pub use products::*;
pub use reduce::*;
pub use row_map::*;

use diptych::backend::tensor::{ReductionProperties, Type};
use diptych::{Dtype, Storage};
use diptych_device::memory::Memory;

/// `with_memory!(dtype, M, format => expression)` is the expression with the type `M` as which kernels take elements of a
/// type, and its format.
macro_rules! with_memory {
    ($dtype:expr, $M:ident, $format:ident => $value:expr) => {
        match $dtype {
            ::diptych::Dtype::F32 => {
                type $M = f32;
                #[allow(clippy::let_unit_value)]
                let $format = ();
                $value
            }
            ::diptych::Dtype::F64 => {
                type $M = f64;
                #[allow(clippy::let_unit_value)]
                let $format = ();
                $value
            }
            half => {
                type $M = ::diptych_device::memory::Half;
                let $format = ::diptych_device::memory::HalfFormat::of(half);
                $value
            }
        }
    };
}
use with_memory;

/// The types of a reduction.
#[derive(Clone, Copy)]
struct Elements {
    /// That of the elements.
    of: Dtype,
    /// Whether results that are not integers have the type of arithmetic: `f32` for elements of 16 bits.
    unrounded: bool,
}

impl Elements {
    /// Returns the type of arithmetic.
    fn number(self) -> Dtype {
        with_memory!(self.of, M, _format => <<M as Memory>::Number as Storage>::TYPE)
    }

    /// Returns the type of the results.
    fn result(self, properties: &ReductionProperties) -> Type {
        let number = if self.unrounded {
            self.number()
        } else {
            self.of
        };
        properties.result(number)
    }
}
