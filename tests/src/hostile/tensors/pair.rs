//! What `dpt_matmul` must give: the typed function on each pair of matrices alone, contiguous.

use diptych::raw::{self, RawEpilogue};
use diptych::{BiasKind, Element};

use super::shapes::{broadcast, broadcast_places};
use super::{bits, numbers, plain};
use crate::number::Number;

/// The shapes of a call that fit each other.
pub struct Sizes {
    pub m: i64,
    pub n: i64,
    pub k: i64,
    /// The batch axes of a, of b, and of c.
    pub leading: [Vec<i64>; 3],
    /// The shape of c.
    pub c: Vec<i64>,
}

impl Sizes {
    /// Returns the sizes for these shapes of a and b; `None` if they do not fit.
    pub fn of(a: &[i64], b: &[i64]) -> Option<Sizes> {
        let (&k, rows) = a.split_last()?;
        let (a_lead, rows) = rows.split_at(rows.len().saturating_sub(1));
        let (b_lead, l, columns) = match *b {
            [] => return None,
            [l] => (&b[..0], l, &b[..0]),
            [ref lead @ .., l, _] => (lead, l, &b[b.len() - 1..]),
        };
        let whole = broadcast(&[a_lead, b_lead])?;
        (k == l).then(|| Sizes {
            m: rows.first().copied().unwrap_or(1),
            n: columns.first().copied().unwrap_or(1),
            k,
            c: [&whole, rows, columns].concat(),
            leading: [a_lead.to_vec(), b_lead.to_vec(), whole],
        })
    }

    /// Returns the numbers of the first elements of the matrices a and b of each product.
    fn firsts(&self) -> impl Iterator<Item = (usize, usize)> {
        let [a, b, whole] = &self.leading;
        let of = |own: &[i64], count: i64| {
            let places = broadcast_places(own, whole).into_iter();
            places.map(move |at| at * count as usize)
        };
        of(a, self.m * self.k).zip(of(b, self.k * self.n))
    }
}

/// What the products of a call share.
pub struct Pair<'a> {
    pub sizes: &'a Sizes,
    pub alpha: f64,
    pub beta: f64,
    /// The elements of the bias, if there is one.
    pub bias: Option<&'a [u64]>,
    /// Whether the bias is added to rows.
    pub per_row: bool,
    pub clamp: Option<(f64, f64)>,
}

impl Pair<'_> {
    /// Returns all products, in the order of c.
    pub fn all<T: Element + Number>(&self, elements: &[Vec<u64>]) -> Vec<u64> {
        let Sizes { m, n, k, .. } = *self.sizes;
        let each = (m * n) as usize;
        let matrix = |of: usize, first: usize, count: i64| {
            // Those that are not read are not there.
            let there = elements[of]
                .iter()
                .copied()
                .skip(first)
                .take(count as usize);
            let mut matrix = numbers::<T>(there);
            matrix.resize(count as usize, T::ZERO);
            matrix
        };
        let one = |(batch, (a, b)): (usize, (usize, usize))| {
            let mut c = matrix(2, batch * each, m * n);
            self.one(&matrix(0, a, m * k), &matrix(1, b, k * n), &mut c);
            bits(&c)
        };
        self.sizes.firsts().enumerate().flat_map(one).collect()
    }

    fn one<T: Element + Number>(&self, a: &[T], b: &[T], c: &mut [T]) {
        let Sizes { m, n, k, .. } = *self.sizes;
        let bias = numbers::<T>(self.bias.unwrap_or_default().iter().copied());
        let epilogue = RawEpilogue {
            bias: bias.as_ptr(),
            bias_inc: 1,
            bias_kind: match (self.bias, self.per_row) {
                (None, _) => BiasKind::None,
                (_, true) => BiasKind::PerRow,
                _ => BiasKind::PerColumn,
            },
            clamp: self
                .clamp
                .map(|(lo, hi)| (T::from_f64(lo), T::from_f64(hi))),
        };
        let (alpha, beta) = (T::from_f64(self.alpha), T::from_f64(self.beta));
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        let exec = plain();
        // SAFETY: the operands have these sizes.
        let done = unsafe {
            raw::gemm_fused(
                &exec, m, n, k, alpha, a, k, 1, b, n, 1, beta, c, n, 1, &epilogue,
            )
        };
        done.expect("operands that the verdict allows");
    }
}
