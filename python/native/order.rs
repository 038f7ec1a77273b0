//! The order of axes in memory of new arrays.

use crate::operand::{MAX_NDIM, Operand};

/// The axes of a new array from the innermost in memory to the outermost, where that is not row-major order.
pub struct Order {
    axes: [u8; MAX_NDIM],
    len: usize,
}

impl Order {
    /// Returns the order in which the inputs of a call lie, for a result of this shape; `None` for row-major. Where they
    /// differ, row-major order wins, as in NumPy (the order of axes of its `nditer`).
    pub fn of(shape: &[i64], inputs: &[Operand]) -> Option<Self> {
        let has_order = |input: &Operand| input.tensor.ndim > 1 && !input.tensor.strides.is_null();
        if shape.len() < 2 || shape.contains(&0) || !inputs.iter().any(has_order) {
            return None;
        }
        let len = shape.len();
        let mut order = Self {
            axes: std::array::from_fn(|i| len.wrapping_sub(i + 1) as u8),
            len,
        };
        let mut is_row_major = true;
        for i in 1..len {
            let mut place = i;
            for j in (0..i).rev() {
                match is_inside(shape, inputs, order.axes[i].into(), order.axes[j].into()) {
                    Some(true) => place = j,
                    Some(false) => break,
                    None => {}
                }
            }
            order.axes[place..=i].rotate_right(1);
            is_row_major &= place == i;
        }
        (!is_row_major).then_some(order)
    }

    /// Returns the strides of a result without gaps.
    pub fn strides(&self, shape: &[i64]) -> [i64; MAX_NDIM] {
        let mut strides = [0; MAX_NDIM];
        let mut stride = 1_i64;
        for &axis in &self.axes[..self.len] {
            strides[usize::from(axis)] = stride;
            stride = stride.saturating_mul(shape[usize::from(axis)]);
        }
        strides
    }
}

/// Returns whether elements along axis `a` of a result lie closer in the memory of the inputs than those along `b`, a
/// later axis or one that lies inside it; `None` if no input has both.
fn is_inside(shape: &[i64], inputs: &[Operand], a: usize, b: usize) -> Option<bool> {
    let mut answer = None;
    for input in inputs {
        let [Some(of_a), Some(of_b)] = [a, b].map(|axis| step(shape, input, axis)) else {
            continue;
        };
        if of_b <= of_a {
            return Some(false);
        }
        answer = Some(true);
    }
    answer
}

/// Returns by how many elements an input advances along an axis of the result, forwards or backwards; `None` if not.
fn step(shape: &[i64], input: &Operand, axis: usize) -> Option<u64> {
    let own = (axis + input.shape().len()).checked_sub(shape.len())?;
    if input.shape()[own] == 1 {
        return None;
    }
    let stride = if input.tensor.strides.is_null() {
        let inside = &input.shape()[own + 1..];
        inside.iter().copied().fold(1, i64::saturating_mul)
    } else {
        // SAFETY: a tensor with strides has one for each axis.
        unsafe { *input.tensor.strides.add(own) }
    };
    (stride != 0).then_some(stride.unsigned_abs())
}
