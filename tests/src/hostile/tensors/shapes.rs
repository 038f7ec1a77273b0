//! Shapes: how they are drawn, how they are broadcast, and in which order the elements lie.

use crate::random::Input;

/// The most elements of most tensors.
const MOST: i64 = 2000;

/// Draws a shape of up to `rank` axes.
pub fn shape(input: &mut Input<'_>, rank: usize) -> Vec<i64> {
    let rank = input.below(rank + 1);
    let most = if input.rarely(8) { 8 * MOST } else { MOST };
    let mut left = most;
    let mut shape: Vec<i64> = Vec::new();
    for _ in 0..rank {
        let length = input.size(left.min(300));
        left /= length.clamp(1, left);
        shape.push(length);
    }
    if input.rarely(32) {
        // As many axes as a tensor can have.
        shape.splice(0..0, vec![1; 64 - rank]);
    }
    shape
}

/// Draws a shape that is broadcast to `shape`, mostly that itself.
pub fn broadcast_from(input: &mut Input<'_>, shape: &[i64]) -> Vec<i64> {
    let way = input.below(16);
    let from = match way {
        8..=10 => input.below(shape.len() + 1),
        _ => 0,
    };
    let mut own = shape[from..].to_vec();
    if (10..=14).contains(&way) {
        let drop = input.below(256);
        for (i, length) in own.iter_mut().enumerate() {
            if drop >> (i % 8) & 1 == 1 {
                *length = 1;
            }
        }
    }
    if way == 15 {
        spoil(input, &mut own);
    }
    own
}

/// Changes a shape a little, mostly so that it no longer fits.
pub fn spoil(input: &mut Input<'_>, shape: &mut Vec<i64>) {
    let at = input.below(shape.len());
    match input.below(6) {
        0 => shape.push(1),
        1 => shape.insert(0, 1),
        2 => drop(shape.pop()),
        3 => {
            if let Some(length) = shape.get_mut(at) {
                *length = length.saturating_add(1);
            }
        }
        4 => {
            if let Some(length) = shape.get_mut(at) {
                *length = input.size(100);
            }
        }
        _ => shape.reverse(),
    }
}

/// Spoils a shape in one of 24 cases.
pub fn rarely_spoil(input: &mut Input<'_>, mut shape: Vec<i64>) -> Vec<i64> {
    if input.rarely(24) {
        spoil(input, &mut shape);
    }
    shape
}

/// Returns the number of elements; `i64::MAX` for more than that.
pub fn count(shape: &[i64]) -> i64 {
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().fold(1, |n, &length| n.saturating_mul(length))
}

/// Returns the broadcast shape of several shapes, as in NumPy; `None` if they do not fit.
pub fn broadcast(shapes: &[&[i64]]) -> Option<Vec<i64>> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let length = |from_end: usize| {
        let mut all = 1;
        for shape in shapes {
            match shape.len().checked_sub(from_end).map(|i| shape[i]) {
                None | Some(1) => {}
                Some(own) if all == 1 || all == own => all = own,
                _ => return None,
            }
        }
        Some(all)
    };
    (1..=rank).rev().map(length).collect()
}

/// Returns the distances between elements along each axis, in a list of all elements in row-major order.
pub fn steps(shape: &[i64]) -> Vec<i64> {
    let mut steps = vec![1i64; shape.len()];
    for i in (1..shape.len()).rev() {
        steps[i - 1] = steps[i].saturating_mul(shape[i].max(1));
    }
    steps
}

/// Returns the sums of steps along axes (length, step), in row-major order.
pub fn places(axes: impl IntoIterator<Item = (i64, i64)>) -> Vec<usize> {
    let axes: Vec<(i64, i64)> = axes.into_iter().collect();
    if axes.iter().any(|&(length, _)| length == 0) {
        // The other axes may be long.
        return Vec::new();
    }
    let mut all = vec![0];
    for (length, step) in axes {
        let line = |&from: &usize| {
            (0..length).map(move |i| from.wrapping_add(i.wrapping_mul(step) as usize))
        };
        all = all.iter().flat_map(line).collect();
    }
    all
}

/// Returns, for each element of a tensor of shape `whole`, which element of one of shape `own` is broadcast to it.
pub fn broadcast_places(own: &[i64], whole: &[i64]) -> Vec<usize> {
    let missing = whole.len() - own.len();
    let own_steps = steps(own);
    let axis = |(i, &length): (usize, &i64)| match i.checked_sub(missing) {
        Some(i) if own[i] != 1 => (length, own_steps[i]),
        _ => (length, 0),
    };
    places(whole.iter().enumerate().map(axis))
}
