//! The checks of an elementwise operation over tensors, for both backends.

use super::element_type::{IntegerType, NumberType};
use super::kind::Location;
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
    /// Whether it takes integers.
    pub takes_integers: bool,
}

impl Signature {
    /// Checks the tensors of a call. Returns the type of all of them and the number of elements of the output, and makes
    /// `loops` the loops over these; tensor k of the loops is input k - 1. Arrays are in `memory`, scalars on the host;
    /// beside a device, inputs without axes may be there too. An absent scalar is a bound that bounds nothing.
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
    ) -> Result<(NumberType, usize)> {
        let mut out = Operand::empty(self.output);
        // SAFETY: as the caller's.
        unsafe { out.set(output, memory)? };
        let number = match out.of.number() {
            Some(number @ NumberType::Float(_)) => number,
            Some(number @ NumberType::Integer(_)) if self.takes_integers => number,
            _ => return Err(Error::UnsupportedType { arg: out.arg }),
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
                    operand.set_number(out.of, no_bound(number, bound));
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
        Ok((number, out.count))
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

/// A bound that bounds nothing: the address of an infinity, or of the least or the greatest integer.
fn no_bound(of: NumberType, bound: Bound) -> *const u8 {
    static F32: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];
    static F64: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
    static F16: [u16; 2] = [0xFC00, 0x7C00];
    static BF16: [u16; 2] = [0xFF80, 0x7F80];
    static I8: [i8; 2] = [i8::MIN, i8::MAX];
    static U8: [u8; 2] = [u8::MIN, u8::MAX];
    static I32: [i32; 2] = [i32::MIN, i32::MAX];
    static I64: [i64; 2] = [i64::MIN, i64::MAX];
    fn addresses<T>(both: &[T; 2]) -> [*const u8; 2] {
        both.each_ref().map(|x| (&raw const *x).cast())
    }
    let [lowest, highest] = match of {
        NumberType::Float(Dtype::F32) => addresses(&F32),
        NumberType::Float(Dtype::F64) => addresses(&F64),
        NumberType::Float(Dtype::F16) => addresses(&F16),
        NumberType::Float(Dtype::Bf16) => addresses(&BF16),
        NumberType::Integer(IntegerType::I8) => addresses(&I8),
        NumberType::Integer(IntegerType::U8) => addresses(&U8),
        NumberType::Integer(IntegerType::I32) => addresses(&I32),
        NumberType::Integer(IntegerType::I64) => addresses(&I64),
    };
    match bound {
        Bound::Lower => lowest,
        Bound::Upper => highest,
    }
}
