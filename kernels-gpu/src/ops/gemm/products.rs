//! A batch of products as kernels see it: which way round, how its matrices are read, what follows.

use diptych::Error;
use diptych::backend::gemm::{Batch, Gemm, Rule};
use diptych_device::ops::gemm::flags;
use diptych_device::real::Real;

/// The most blocks along y or z of a grid.
const MOST: usize = 65535;

/// A batch in the orientation in which it runs.
#[derive(Clone, Copy)]
pub(super) struct Products<T> {
    /// The first.
    pub(super) p: Gemm<T>,
    /// How many.
    pub(super) count: usize,
    /// From an A, B and C to the next.
    pub(super) strides: [isize; 3],
}

impl<T: Real> Products<T> {
    /// C^T = B^T A^T has the same bits, so C may lie along its rows, and the longer side of narrow products
    /// be that of the tiles.
    pub(super) fn new(batch: &Batch<T>) -> Self {
        let p = batch.first;
        let [a, b, c] = batch.strides;
        let lies_across = p.c_rs.unsigned_abs() < p.c_cs.unsigned_abs();
        let narrow = p.m.min(p.n) <= 16;
        let turn = if narrow && p.m != p.n {
            p.m < p.n
        } else {
            lies_across
        };
        let (p, strides) = if turn {
            (p.transposed(), [b, a, c])
        } else {
            (p, [a, b, c])
        };
        Self {
            p,
            count: batch.count,
            strides,
        }
    }

    /// Blocks along y and z, whose product is at least the batch.
    pub(super) fn items(&self) -> Result<(u32, u32), Error> {
        let z = self.count.min(MOST);
        let y = self.count.div_ceil(z);
        if y > MOST {
            return Err(Error::SizeOverflow { arg: "batch" });
        }
        Ok((y as u32, z as u32))
    }

    /// The bias: where it is, and its strides along the rows and the columns of C.
    pub(super) fn bias(&self) -> (*const T, i64, i64) {
        let e = &self.p.epilogue;
        if e.column_bias.is_null() {
            (e.row_bias, e.row_inc as i64, 0)
        } else {
            (e.column_bias, 0, e.column_inc as i64)
        }
    }

    /// What kernels are told of the epilogue: bits and bounds.
    pub(super) fn epilogue(&self) -> (u32, (T, T)) {
        let clamp = self.p.epilogue.clamp;
        let mut bits = match clamp.rule() {
            Rule::Keep => 0,
            Rule::Nan => flags::NAN,
            Rule::Limit => flags::CLAMP,
        };
        if !self.bias().0.is_null() {
            bits |= flags::BIAS;
        }
        (bits, clamp.bounds())
    }

    /// Whether a matrix of the batch may be read or written 16 bytes at a time along a dimension of
    /// `extent` elements with this stride, if the other stride and that of the batch are these.
    fn packs(
        &self,
        p: *const T,
        (extent, stride): (usize, isize),
        others: [(usize, isize); 2],
    ) -> bool {
        let whole = |x: usize| x.is_multiple_of(T::WIDTH as usize);
        stride == 1
            && p.addr().is_multiple_of(16)
            && whole(extent)
            && (others.iter()).all(|&(count, stride)| count == 1 || whole(stride.unsigned_abs()))
    }

    /// How a factor of `extent` rows (or columns) is read: the bits for deep and packs.
    fn factor(
        &self,
        p: *const T,
        (extent, along): (usize, isize),
        depth: isize,
        batch: isize,
        (deep, packs): (u32, u32),
    ) -> u32 {
        let (rows, k, items) = ((extent, along), (self.p.k, depth), (self.count, batch));
        if self.packs(p, k, [rows, items]) {
            deep | packs
        } else if self.packs(p, rows, [k, items]) {
            packs
        } else if depth.unsigned_abs() < along.unsigned_abs() {
            deep
        } else {
            0
        }
    }

    /// The bits of `flags`.
    pub(super) fn flags(&self) -> u32 {
        let (p, [a_bs, b_bs, _]) = (&self.p, self.strides);
        let bits = (flags::A_DEEP, flags::A_PACKS);
        let a = self.factor(p.a, (p.m, p.a_rs), p.a_cs, a_bs, bits);
        let bits = (flags::B_DEEP, flags::B_PACKS);
        let b = self.factor(p.b, (p.n, p.b_cs), p.b_rs, b_bs, bits);
        a | b | self.c_packs() | self.epilogue().0
    }

    /// Of `flags`, how C is read and written.
    pub(super) fn c_packs(&self) -> u32 {
        let p = &self.p;
        let others = [(p.m, p.c_rs), (self.count, self.strides[2])];
        if self.packs(p.c, (p.n, p.c_cs), others) {
            flags::C_PACKS
        } else {
            0
        }
    }
}
