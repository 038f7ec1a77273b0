//! Lists of axes, true ones and false ones.

use core::fmt;

use diptych_ffi::dpt_status_code as Code;

use super::super::judge::Verdict;
use super::shapes::steps;
use crate::random::Input;

/// The axes that a call names.
pub struct Axes {
    list: Vec<i32>,
    /// Negative for all.
    count: i32,
    is_null: bool,
    is_misaligned: bool,
}

impl Axes {
    /// Draws a set of axes, and rarely a list that is none.
    pub fn draw(input: &mut Input<'_>, rank: usize) -> Axes {
        let (set, from_end) = (input.below(256), input.below(256));
        let mut list: Vec<i32> = (0..rank as i32)
            .filter(|i| set >> (i % 8) & 1 == 1)
            .collect();
        for axis in &mut list {
            *axis -= (from_end >> (*axis % 8) & 1) as i32 * rank as i32;
        }
        let by = input.below(list.len());
        list.rotate_left(by);
        let mut axes = Axes {
            count: list.len() as i32,
            is_null: list.is_empty() && input.rarely(2),
            is_misaligned: false,
            list,
        };
        match input.below(24) {
            18..=20 => axes.count = input.pick(&[-1, i32::MIN]),
            21 => axes.spoil(input, rank),
            22 => axes.is_null = true,
            23 if input.rarely(2) => axes.is_misaligned = true,
            23 => axes.count = input.pick(&[65, i32::MAX]),
            _ => {}
        }
        axes
    }

    /// Adds an axis that does not exist, or is there already.
    fn spoil(&mut self, input: &mut Input<'_>, rank: usize) {
        let there = self.list.first().copied().unwrap_or(0);
        let rank = rank as i32;
        let axis = input.pick(&[there, there - rank, rank, -rank - 1, i32::MIN, i32::MAX]);
        self.list.push(axis);
        self.count = self.list.len() as i32;
    }

    /// Returns which axes are named; `None` if the list is invalid, which is then among the faults.
    pub fn set(&self, rank: usize, verdict: &mut Verdict) -> Option<Vec<bool>> {
        if self.count < 0 {
            return Some(vec![true; rank]);
        }
        let mut set = vec![false; rank];
        let mut fault = match (self.count > 0, self.is_null, self.is_misaligned) {
            (true, true, _) => Some(Code::DPT_NULL_POINTER),
            (true, _, true) => Some(Code::DPT_MISALIGNED),
            _ if self.count as usize > self.list.len() => Some(Code::DPT_INVALID_VALUE),
            _ => None,
        };
        for &axis in &self.list[..(self.count as usize).min(self.list.len())] {
            let own = if axis < 0 {
                i64::from(axis) + rank as i64
            } else {
                axis.into()
            };
            match usize::try_from(own).ok().and_then(|own| set.get_mut(own)) {
                Some(is_named) if !*is_named => *is_named = true,
                _ => fault = fault.or(Some(Code::DPT_INVALID_VALUE)),
            }
        }
        match fault {
            Some(fault) => {
                verdict.fault(fault);
                None
            }
            None => Some(set),
        }
    }

    /// Returns the number of axes that the call says there are.
    pub fn count(&self) -> i32 {
        self.count
    }

    /// Calls `f` with the pointer to the list.
    pub fn with<R>(&self, f: impl FnOnce(*const i32) -> R) -> R {
        let start = if self.is_null {
            core::ptr::null()
        } else {
            self.list.as_ptr()
        };
        f(start.wrapping_byte_add(self.is_misaligned.into()))
    }
}

impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {:?}", self.count, self.list)
    }
}

/// Takes the lengths and steps of the axes in the set, or of those that are not.
pub fn axes_of(shape: &[i64], set: &[bool], wanted: bool) -> Vec<(i64, i64)> {
    let axes = shape.iter().copied().zip(steps(shape));
    let axes = axes.zip(set).filter(|&(_, &is)| is == wanted);
    axes.map(|(axis, _)| axis).collect()
}
