//! A batch of products as it is passed to the kernels: transposed or not, how its matrices are read, the epilogue.

use diptych::Error;
use diptych::backend::args::Matrix;
use diptych::backend::gemm::{Batch, Gemm, Rule};
use diptych_device::ops::gemm::flags;
use diptych_device::real::Real;

/// The most blocks along y or z of a grid.
pub const MAX_BLOCKS_YZ: usize = 65535;

/// A batch of products, transposed if the kernels run them so.
#[derive(Clone, Copy)]
pub(super) struct Products<T> {
    /// The first product.
    pub(super) p: Gemm<T>,
    /// Products of the batch.
    pub(super) count: usize,
}

impl<T: Real> Products<T> {
    /// Transposes the products where that is faster: C^T = B^T A^T has the same bits. It puts the smaller stride of C
    /// along its rows or, in a narrow product, makes m the longer side, as in the tiles for narrow products.
    pub(super) fn new(batch: &Batch<T>) -> Self {
        let p = batch.first;
        let column_major = p.c.rs.unsigned_abs() < p.c.cs.unsigned_abs();
        let narrow = p.m.min(p.n) <= 16;
        let transpose = if narrow && p.m != p.n {
            p.m < p.n
        } else {
            column_major
        };
        Self {
            p: if transpose { p.transposed() } else { p },
            count: batch.count,
        }
    }

    /// Returns the blocks along y and z of the grid. There are at least as many (y, z) as products in the batch.
    pub(super) fn items(&self) -> Result<(u32, u32), Error> {
        let z = self.count.min(MAX_BLOCKS_YZ);
        let y = self.count.div_ceil(z);
        if y > MAX_BLOCKS_YZ {
            return Err(Error::SizeOverflow { arg: "batch" });
        }
        Ok((y as u32, z as u32))
    }

    /// Returns the bias (NULL: none), and its strides along the rows and the columns of C.
    pub(super) fn bias(&self) -> (*const T, i64, i64) {
        let e = &self.p.epilogue;
        if e.column_bias.is_null() {
            (e.row_bias, e.row_inc as i64, 0)
        } else {
            (e.column_bias, 0, e.column_inc as i64)
        }
    }

    /// Returns the bits of `flags` for the epilogue, and the bounds of the clamp.
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

    /// Returns whether every matrix of the batch can be accessed 16 bytes at a time along the dimension of `extent`
    /// elements with this stride. `others` are (count, stride) of the other dimension and of the batch.
    fn packs(
        &self,
        p: *const T,
        (extent, stride): (usize, isize),
        others: [(usize, isize); 2],
    ) -> bool {
        let aligned = |x: usize| x.is_multiple_of(T::WIDTH as usize);
        stride == 1
            && p.addr().is_multiple_of(16)
            && aligned(extent)
            && (others.iter()).all(|&(count, stride)| count == 1 || aligned(stride.unsigned_abs()))
    }

    /// Returns how A or the transpose of B is read, which has this many rows: the bits `deep` (threads read along k)
    /// and `packs` (16 bytes at a time).
    fn factor_flags(
        &self,
        Matrix { ptr, rs, cs, bs }: Matrix<*const T>,
        rows: usize,
        (deep, packs): (u32, u32),
    ) -> u32 {
        let (rows, k, items) = ((rows, rs), (self.p.k, cs), (self.count, bs));
        if self.packs(ptr, k, [rows, items]) {
            deep | packs
        } else if self.packs(ptr, rows, [k, items]) {
            packs
        } else if cs.unsigned_abs() < rs.unsigned_abs() {
            deep
        } else {
            0
        }
    }

    /// Returns the argument `flags` of the kernels.
    pub(super) fn flags(&self) -> u32 {
        let p = &self.p;
        let bits = (flags::A_ALONG_K, flags::A_PACKS);
        let a = self.factor_flags(p.a, p.m, bits);
        let bits = (flags::B_ALONG_K, flags::B_PACKS);
        let b = self.factor_flags(p.b.transposed(), p.n, bits);
        a | b | self.c_packs() | self.epilogue().0
    }

    /// Returns the bit of `flags` that tells whether C is accessed 16 bytes at a time.
    pub(super) fn c_packs(&self) -> u32 {
        let p = &self.p;
        let others = [(p.m, p.c.rs), (self.count, p.c.bs)];
        if self.packs(p.c.ptr, (p.n, p.c.cs), others) {
            flags::C_PACKS
        } else {
            0
        }
    }
}
