//! The block sizes. No bit of a result depends on them.
#![forbid(unsafe_code)]

use super::routines::{Panels, Routines};
use crate::detect::Geometry;
use crate::ops::gemm::balanced;

/// Bytes of a cache line.
pub const LINE: usize = 64;
/// The bytes of a packed row or column in a block of k, unless a segment has more.
const KC_BYTES: usize = 4 << 10;
/// The most bytes of a block of A.
const MC_BYTES: usize = 4 << 20;
/// The columns in a block of sums that wait for the next block of k.
const NB: usize = 1024;

/// The steps of the loops, and the bytes of what they pack. Each part of scratch memory begins on a cache line.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    pub mc: usize,
    pub nb: usize,
    pub kc: usize,
    pub nc: usize,
    /// The bytes of a block of A, and of B.
    pub a_bytes: usize,
    pub b_bytes: usize,
    /// The bytes of a row of sums that wait, and of all of them.
    pub waiting_rs: usize,
    waiting_bytes: usize,
}

impl Blocks {
    /// The blocks of a product on a machine of this geometry.
    #[cfg_attr(not(precompiled), inline)]
    pub fn new(geometry: &Geometry, r: &Routines, (m, n, k): (usize, usize, usize)) -> Self {
        let step_bytes = r.a.bytes.max(r.b.bytes).div_ceil(r.steps()).max(1);
        let segments = (KC_BYTES / step_bytes / r.segment()).max(1);
        let kc = balanced(k, segments.saturating_mul(r.segment), r.segment);
        let row = |panels: &Panels| {
            let whole = kc / r.segment() * (r.segment() / r.steps() * panels.bytes + panels.header);
            let rest = kc % r.segment();
            let rest_bytes = rest.div_ceil(r.steps()) * panels.bytes + panels.header;
            whole + if rest > 0 { rest_bytes } else { 0 }
        };
        let most = |bytes: usize, panels: &Panels| {
            let count = bytes / row(panels).max(1);
            (count / panels.most.max(1) * panels.most).max(panels.most)
        };
        let mc = balanced(
            m,
            most(MC_BYTES.min(geometry.usable_llc() / 4), &r.a),
            r.a.most,
        );
        let is_one_block = kc >= k;
        let nb = if is_one_block {
            n
        } else {
            balanced(n, NB, r.b.most)
        };
        let nc = balanced(nb, most(geometry.l2 / 2, &r.b), r.b.most);
        let padded = |count: usize, panels: &Panels| count.next_multiple_of(panels.grain());
        let waiting_rs = (padded(nb, &r.b) * r.sum_bytes).next_multiple_of(LINE);
        let rows = padded(mc.min(m), &r.a);
        Self {
            mc,
            nb,
            kc,
            nc,
            a_bytes: (rows * row(&r.a)).next_multiple_of(LINE),
            b_bytes: (padded(nc.min(n), &r.b) * row(&r.b)).next_multiple_of(LINE),
            waiting_rs,
            waiting_bytes: if is_one_block { 0 } else { rows * waiting_rs },
        }
    }

    /// The blocks of a product whose B is packed.
    pub fn without_b(self) -> Self {
        Self { b_bytes: 0, ..self }
    }

    /// The bytes of scratch memory, aligned anyhow.
    pub fn scratch_bytes(&self) -> usize {
        self.a_bytes + self.b_bytes + self.waiting_bytes + LINE
    }
}
