//! Rows in parts, so that scratch memory need not have room for all of them.

use diptych::backend::tensor::{KeptAxis, List, Loop, MAX_OPERANDS, for_each};

/// How rows are divided.
pub struct Parts {
    /// The kept axes that a part has. Of the first one it has `most` of `length` indices, or what is left of these.
    axes: List<KeptAxis>,
    /// The loops over the other kept axes, from the first element and the first result on.
    outer: List<Loop>,
    first: [*mut u8; MAX_OPERANDS],
    length: usize,
    /// How many indices of the first axis a part has.
    pub most: usize,
}

/// Returns the number of rows along axes.
fn rows(axes: &[KeptAxis]) -> usize {
    axes.iter().map(|axis| axis.count).product()
}

impl Parts {
    /// Divides the rows along `axes`, which begin at `x` and whose results begin at `out`, into parts of at most `fit`
    /// rows, or of one row.
    pub fn new(mut axes: List<KeptAxis>, x: *mut u8, out: *mut u8, fit: usize) -> Self {
        let mut outer = List::new();
        while axes.len() > 1 && rows(&axes[1..]) > fit {
            if let Some(KeptAxis { count, x, out }) = axes.remove(0) {
                let steps = [out, x, 0, 0, 0];
                outer.push(Loop { count, steps });
            }
        }
        let length = axes.first().map_or(1, |axis| axis.count);
        let most = match axes.first() {
            Some(_) => (fit / rows(&axes[1..])).clamp(1, length),
            None => 1,
        };
        Self {
            axes,
            outer,
            first: [out, x, out, out, out],
            length,
            most,
        }
    }

    /// Returns the numbers of indices of the first axis that parts have: all but the last one, and the last one if it is
    /// smaller.
    pub fn sizes(&self) -> impl Iterator<Item = usize> {
        [self.most, self.length % self.most]
            .into_iter()
            .filter(|&part| part > 0)
    }

    /// Returns the rows of a part with `part` indices of the first axis.
    pub fn rows(&self, part: usize) -> usize {
        part * rows(self.axes.get(1..).unwrap_or(&[]))
    }

    /// Returns the axes of a part with `part` indices of the first one.
    pub fn axes(&self, part: usize) -> impl DoubleEndedIterator<Item = KeptAxis> {
        self.axes
            .iter()
            .enumerate()
            .map(move |(i, &axis)| KeptAxis {
                count: if i == 0 { part } else { axis.count },
                ..axis
            })
    }

    /// Returns these axes with all indices of the first one.
    pub fn whole(&self) -> impl DoubleEndedIterator<Item = KeptAxis> {
        self.axes(self.length)
    }

    /// Calls `body` for each part, with the indices of the first axis that it has, its first element and its first
    /// result. Stops at the first error.
    pub fn for_each<E>(
        &self,
        mut body: impl FnMut(usize, *mut u8, *mut u8) -> Result<(), E>,
    ) -> Result<(), E> {
        let axis = self.axes.first();
        let (x_step, out_step) = axis.map_or((0, 0), |axis| (axis.x, axis.out));
        let mut done = Ok(());
        for_each(&self.outer, self.first, |[out, x, ..]| {
            for from in (0..self.length).step_by(self.most) {
                let x = x.wrapping_offset(x_step.wrapping_mul(from as isize));
                let out = out.wrapping_offset(out_step.wrapping_mul(from as isize));
                if done.is_ok() {
                    done = body(self.most.min(self.length - from), x, out);
                }
            }
        });
        done
    }
}
