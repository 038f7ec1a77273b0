//! A tensor as the argument of a call: a description, which may be false, and what is to be said about it.

use core::fmt;
use core::ptr;

use diptych_ffi::{dpt_status_code as Code, dpt_tensor};

use super::super::judge::Verdict;
use super::super::kind::Kind;
use super::super::memory::Operand;
use super::shapes;
use crate::random::Input;

/// A description of a tensor.
#[derive(Clone, Debug)]
pub struct Argument {
    name: &'static str,
    pub shape: Vec<i64>,
    /// What `strides` points to; `None`: NULL.
    strides: Option<Vec<i64>>,
    pub kind: Kind,
    rank: i32,
    lanes: u16,
    device: i32,
    offset: u64,
    /// Whether the pointer to the description is NULL.
    is_null: bool,
    /// Whether that is allowed.
    may_be_null: bool,
    shape_is_null: bool,
    /// Whether `data` is NULL, and the offset is the address.
    data_is_null: bool,
    output: bool,
    in_place: bool,
    /// Whether no element is read, so that the address need not be checked.
    unused: bool,
    /// The faults of the description alone.
    faults: Vec<Code>,
}

impl Argument {
    /// Draws the description of an input.
    pub fn input(input: &mut Input<'_>, name: &'static str, kind: Kind, shape: &[i64]) -> Argument {
        Argument::draw(input, name, kind, shape, false)
    }

    /// Draws the description of an output.
    pub fn output(
        input: &mut Input<'_>,
        name: &'static str,
        kind: Kind,
        shape: &[i64],
    ) -> Argument {
        Argument::draw(input, name, kind, shape, true)
    }

    fn draw(
        input: &mut Input<'_>,
        name: &'static str,
        kind: Kind,
        shape: &[i64],
        output: bool,
    ) -> Argument {
        let mut drawn = Argument {
            name,
            shape: shape.to_vec(),
            strides: strides(input, shape, output),
            kind,
            rank: shape.len() as i32,
            lanes: 1,
            device: 1,
            offset: input.pick(&[0, 0, 0, 8, 64]),
            is_null: false,
            may_be_null: false,
            shape_is_null: false,
            data_is_null: false,
            output,
            in_place: false,
            unused: false,
            faults: Vec::new(),
        };
        if input.rarely(16) {
            drawn.lie(input);
        }
        drawn
    }

    /// Allows this output to coincide exactly with an input that has this flag too, or this input with an output.
    pub fn or_in_place(mut self) -> Argument {
        self.in_place = true;
        self
    }

    /// Allows the argument to be NULL, and now and then makes it so.
    pub fn or_none(mut self, input: &mut Input<'_>) -> Argument {
        self.may_be_null = true;
        self.is_null |= input.rarely(4);
        self
    }

    /// Whether the argument is NULL.
    pub fn is_none(&self) -> bool {
        self.is_null
    }

    /// Marks the argument as one whose elements are not read unless `condition` holds.
    pub fn only_if(mut self, condition: bool) -> Argument {
        self.unused |= !condition;
        self
    }

    /// Puts all elements at one address.
    pub fn repeat(&mut self) {
        self.strides = Some(vec![0; self.shape.len()]);
    }

    /// Makes one part of the description false, or at least unusual.
    fn lie(&mut self, input: &mut Input<'_>) {
        match input.below(10) {
            0 => {
                self.rank = input.pick(&[-1, 65, i32::MAX, i32::MIN]);
                self.faults.push(Code::DPT_INVALID_VALUE);
            }
            1 => {
                let unknown = [
                    (3, 64),
                    (5, 64),
                    (2, 8),
                    (0, 128),
                    (6, 1),
                    (2, 33),
                    (255, 255),
                ];
                let (code, bits) = input.pick(&unknown);
                self.kind = Kind { code, bits };
                self.faults.push(Code::DPT_UNSUPPORTED_TYPE);
            }
            2 => {
                self.lanes = input.pick(&[0, 2, 4, u16::MAX]);
                self.faults.push(Code::DPT_UNSUPPORTED_TYPE);
            }
            3 => {
                self.device = input.pick(&[0, 2, -1, 4, 14, i32::MAX, i32::MIN]);
                self.faults.push(Code::DPT_UNSUPPORTED);
            }
            // Memory that CUDA has page-locked, or manages.
            4 => self.device = input.pick(&[3, 13]),
            5 => self.is_null = true,
            6 => {
                self.shape_is_null = true;
                if !self.shape.is_empty() {
                    self.faults.push(Code::DPT_NULL_POINTER);
                }
            }
            7 => self.offset = input.pick(&[u64::MAX, 1 << 63, u64::MAX - 63, 1 << 47]),
            8 => self.data_is_null = true,
            _ => self.kind = input.pick(&Kind::ALL),
        }
    }

    /// The strides in elements, also where `strides` is NULL.
    fn effective_strides(&self) -> Vec<i64> {
        self.strides
            .clone()
            .unwrap_or_else(|| row_major(&self.shape))
    }

    /// Returns where the elements lie. Axes of one element say nothing.
    pub fn operand(&self) -> Operand {
        let dims = self.shape.iter().copied().zip(self.effective_strides());
        let dims: Vec<(i64, i64)> = dims.filter(|&(length, _)| length != 1).collect();
        let mut operand = Operand::of(self.kind, self.name, &dims);
        operand.output = self.output;
        operand.in_place = self.in_place;
        operand.approximate = true;
        operand.only_if(!self.is_null && !self.unused)
    }

    /// Returns the description of elements at this address.
    pub fn tensor(&self, address: usize) -> dpt_tensor {
        let (data, byte_offset) = if self.data_is_null {
            (0, address as u64)
        } else {
            (address.wrapping_sub(self.offset as usize), self.offset)
        };
        let list = |list: &Vec<i64>| list.as_ptr().cast_mut();
        dpt_tensor {
            data: data as *mut _,
            device_type: self.device,
            device_id: 0,
            ndim: self.rank,
            dtype_code: self.kind.code,
            dtype_bits: self.kind.bits,
            dtype_lanes: self.lanes,
            shape: if self.shape_is_null {
                ptr::null_mut()
            } else {
                list(&self.shape)
            },
            strides: self.strides.as_ref().map_or(ptr::null_mut(), list),
            byte_offset,
        }
    }

    /// Returns the pointer to pass for the description.
    pub fn pointer(&self, tensor: &dpt_tensor) -> *const dpt_tensor {
        if self.is_null { ptr::null() } else { tensor }
    }

    /// Adds the faults of the description, and those of the address that [`Verdict::of`] does not know.
    pub fn judge(&self, operand: &Operand, verdict: &mut Verdict) {
        if self.is_null {
            if !self.may_be_null {
                verdict.fault(Code::DPT_NULL_POINTER);
            }
            return;
        }
        self.faults.iter().for_each(|&fault| verdict.fault(fault));
        if self.shape.len() > 64 {
            verdict.fault(Code::DPT_INVALID_VALUE);
        }
        if self.shape.iter().any(|&length| length < 0) {
            verdict.fault(Code::DPT_NEGATIVE_SIZE);
            // Lengths before it may be too large together.
            verdict.may(Code::DPT_SIZE_OVERFLOW);
            return;
        }
        let lengths = self.shape.iter().map(|&length| length.max(1) as u128);
        let is_huge = lengths.fold(1u128, u128::saturating_mul) > usize::MAX as u128;
        let is_empty = self.shape.contains(&0);
        match (is_huge, is_empty) {
            (true, false) => verdict.fault(Code::DPT_SIZE_OVERFLOW),
            // Whatever the axes beside one without elements are.
            (true, true) => verdict.may(Code::DPT_SIZE_OVERFLOW),
            _ => {}
        }
        if is_empty {
            return;
        }
        if self.unused {
            let codes = [
                Code::DPT_NULL_POINTER,
                Code::DPT_MISALIGNED,
                Code::DPT_SIZE_OVERFLOW,
                Code::DPT_OVERLAP,
            ];
            codes.into_iter().for_each(|code| verdict.may(code));
            return;
        }
        let tensor = self.tensor(operand.address);
        if tensor.data.is_null() {
            verdict.fault(Code::DPT_NULL_POINTER);
        }
        let address = (tensor.data as u64).checked_add(tensor.byte_offset);
        if address.is_none() {
            verdict.fault(Code::DPT_SIZE_OVERFLOW);
        }
    }
}

/// Draws strides; those of outputs have fewer elements at one address.
fn strides(input: &mut Input<'_>, shape: &[i64], output: bool) -> Option<Vec<i64>> {
    let way = input.below(16);
    let mut order: Vec<usize> = (0..shape.len()).rev().collect();
    let mut strides = row_major(shape);
    match way {
        0..=3 => return None,
        4..=5 => return Some(strides),
        6..=7 => order.reverse(),
        8..=10 => {
            let by = input.below(shape.len());
            order.rotate_left(by);
        }
        // Elements that repeat.
        11..=12 if !output => {
            let drop = input.below(256);
            for (i, stride) in strides.iter_mut().enumerate() {
                if drop >> (i % 8) & 1 == 1 {
                    *stride = 0;
                }
            }
            return Some(strides);
        }
        // Anything.
        15 => return Some(shape.iter().map(|_| input.stride(1)).collect()),
        _ => {}
    }
    let mut next = 1i64;
    for axis in order {
        let stride = if way == 6 { next } else { input.stride(next) };
        strides[axis] = stride;
        let length = shape[axis].max(1);
        next = stride.saturating_abs().max(1).saturating_mul(length);
    }
    Some(strides)
}

/// The strides of an array without gaps.
fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(shape[i]);
    }
    strides
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_null {
            return write!(f, "{}: NULL", self.name);
        }
        let (name, kind, shape) = (self.name, self.kind, &self.shape);
        write!(
            f,
            "{name}: {kind}, shape {shape:?}, strides {:?}",
            self.strides
        )?;
        let (rank, lanes, device) = (self.rank, self.lanes, self.device);
        write!(f, ", rank {rank}, lanes {lanes}, device {device}")?;
        write!(f, ", offset {:#x}", self.offset)?;
        f.write_str(if self.data_is_null { ", data NULL" } else { "" })?;
        f.write_str(if self.shape_is_null {
            ", shape NULL"
        } else {
            ""
        })
    }
}

/// Returns the number of elements.
pub fn count(argument: &Argument) -> i64 {
    shapes::count(&argument.shape)
}
