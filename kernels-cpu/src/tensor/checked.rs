//! The checks of an elementwise operation over tensors, for both backends.

use super::kind::{Location, Type};
use super::loops::{Loops, MAX_OPERANDS};
use super::operand::{Operand, Tensor};
use crate::element::Dtype;
use crate::error::{Error, Result};
use crate::table::{Bound, Role};

/// The most inputs of an operation.
pub const MAX_INPUTS: usize = MAX_OPERANDS - 1;

/// The arguments of an operation.
pub struct Signature {
    /// The names and roles of the inputs, in the order of the arguments.
    pub inputs: &'static [(&'static str, Role)],
    /// The name of the output.
    pub output: &'static str,
    /// Whether the output is an operand too.
    pub updates: bool,
}

impl Signature {
    /// Checks the tensors of a call. Returns the type of all of them and the number of elements of the output, and makes
    /// `loops` the loops over these; tensor k of the loops is input k - 1. Arrays are in `memory`, scalars on the host;
    /// beside a device, inputs without axes may be there too. An absent scalar is a bound that is infinite.
    ///
    /// # Errors
    /// Those of [`Operand::in_memory`], `NullPointer` for an absent tensor that is an array, `ShapeMismatch`, `TypeMismatch`,
    /// `UnsupportedType`, `Overlap`.
    ///
    /// # Safety
    /// `shape` and `strides` of each tensor must be valid.
    #[inline(never)]
    pub unsafe fn check(
        &self,
        inputs: [Option<&Tensor>; MAX_INPUTS],
        output: &Tensor,
        memory: Location,
        loops: &mut Loops,
    ) -> Result<(Dtype, usize)> {
        let mut out = Operand::empty(self.output);
        // SAFETY: as the caller's.
        unsafe { out.set(output, memory)? };
        let Type::Float(dtype) = out.of else {
            return Err(Error::UnsupportedType { arg: out.arg });
        };
        // Written out: the compiler makes this in place, and copies what `from_fn` returns.
        let none = || Operand::empty("");
        let mut operands: [Operand; MAX_INPUTS] = [none(), none(), none(), none()];
        let arguments = self.inputs.iter().zip(inputs);
        for (operand, (&(arg, role), tensor)) in operands.iter_mut().zip(arguments) {
            let place = |tensor| {
                if role.is_array() {
                    memory.of_operand(tensor)
                } else {
                    memory.of_scalars()
                }
            };
            operand.arg = arg;
            match tensor {
                // SAFETY: as the caller's.
                Some(tensor) => unsafe { operand.set(tensor, place(tensor))? },
                None => {
                    let bound = role.bound().ok_or(Error::NullPointer { arg })?;
                    operand.set_number(out.of, infinity(dtype, bound));
                }
            }
        }
        let operands = operands.get(..self.inputs.len()).unwrap_or(&operands);
        let inputs = || operands.iter();
        inputs().try_for_each(|input| input.same_type(&out))?;
        loops.set(&out, inputs())?;
        self.check_shape(&out, operands)?;
        out.check_distinct()?;
        inputs().try_for_each(|input| out.same_or_apart_from(input))?;
        Ok((dtype, out.count))
    }

    /// Refuses an output that is larger than its inputs broadcast to each other. An operation without array inputs, and
    /// one that updates its output, takes the shape of the output.
    fn check_shape(&self, out: &Operand, operands: &[Operand]) -> Result<()> {
        let has_arrays = self.inputs.iter().any(|(_, role)| role.is_array());
        if self.updates || !has_arrays {
            return Ok(());
        }
        for (i, axis) in out.axes.iter().enumerate() {
            let from_end = out.rank() - i;
            let has_it = |input: &Operand| {
                let own = input.rank().checked_sub(from_end);
                own.is_some_and(|own| input.axis(own).count == axis.count)
            };
            if !operands.iter().any(has_it) {
                return Err(Error::ShapeMismatch { arg: out.arg });
            }
        }
        Ok(())
    }
}

/// A bound that bounds nothing: the address of an infinity.
fn infinity(dtype: Dtype, bound: Bound) -> *const u8 {
    static F32: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];
    static F64: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
    static F16: [u16; 2] = [0xFC00, 0x7C00];
    static BF16: [u16; 2] = [0xFF80, 0x7F80];
    let [negative, plus]: [*const u8; 2] = match dtype {
        Dtype::F32 => F32.each_ref().map(|x| (&raw const *x).cast()),
        Dtype::F64 => F64.each_ref().map(|x| (&raw const *x).cast()),
        Dtype::F16 => F16.each_ref().map(|x| (&raw const *x).cast()),
        Dtype::Bf16 => BF16.each_ref().map(|x| (&raw const *x).cast()),
    };
    match bound {
        Bound::Lower => negative,
        Bound::Upper => plus,
    }
}
