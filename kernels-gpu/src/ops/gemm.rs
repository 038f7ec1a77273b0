//! gemm, gemm_batched, gemm_fused.

mod plan;
#[cfg(test)]
mod tests;

use super::gemv;
use diptych::Error;
use diptych::panel::gemm::{Arguments, Batch, Gemm, KSEG, check};
use diptych::raw::RawEpilogue;
use diptych_device::launch::{self, Device, Grid, Scratch};
use diptych_device::ops::gemm::flags;
use diptych_device::real::Real;
pub use plan::SCRATCH;
use plan::{Plan, Size};

/// The most blocks along y or z of a grid.
const MOST: usize = 65535;

/// Checks products and runs them.
unsafe fn run<T: Real, D: Device>(
    device: &D,
    arguments: Arguments<T>,
    epilogue: Option<&RawEpilogue<T>>,
) -> Result<(), D::Error> {
    let Some(batch) = check(arguments, epilogue)? else {
        return Ok(());
    };
    let first = &batch.first;
    // SAFETY: the caller vouches for the arrays.
    unsafe {
        if first.m == 1 || first.n == 1 {
            return gemv::run(device, &batch);
        }
        let products = Products::new(&batch);
        if products.p.k == 0 {
            products.scale(device)
        } else {
            products.multiply(device, &products.plan(device.multiprocessors()))
        }
    }
}

/// A batch in the orientation in which it runs.
#[derive(Clone, Copy)]
struct Products<T> {
    p: Gemm<T>,
    count: usize,
    strides: [isize; 3],
}

impl<T: Real> Products<T> {
    /// C^T = B^T A^T has the same bits, so C may lie along its rows, and the longer side of narrow products
    /// be that of the tiles.
    fn new(batch: &Batch<T>) -> Self {
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
    fn items(&self) -> (u32, u32) {
        let z = self.count.min(MOST);
        (self.count.div_ceil(z) as u32, z as u32)
    }

    /// The bias: where it is, and its strides along the rows and the columns of C.
    fn bias(&self) -> (*const T, i64, i64) {
        let e = &self.p.epilogue;
        if e.column_bias.is_null() {
            (e.row_bias, e.row_inc as i64, 0)
        } else {
            (e.column_bias, 0, e.column_inc as i64)
        }
    }

    /// What kernels are told of the epilogue: bits and bounds.
    fn epilogue(&self) -> (u32, (T, T)) {
        let bounds = self.p.epilogue.clamp;
        let mut bits = match bounds {
            None => 0,
            Some((lo, hi)) if lo.is_nan() || hi.is_nan() => flags::NAN,
            Some(_) => flags::CLAMP,
        };
        if !self.bias().0.is_null() {
            bits |= flags::BIAS;
        }
        (bits, bounds.unwrap_or((T::ZERO, T::ZERO)))
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
    fn flags(&self) -> u32 {
        let (p, [a_bs, b_bs, _]) = (&self.p, self.strides);
        let bits = (flags::A_DEEP, flags::A_PACKS);
        let a = self.factor(p.a, (p.m, p.a_rs), p.a_cs, a_bs, bits);
        let bits = (flags::B_DEEP, flags::B_PACKS);
        let b = self.factor(p.b, (p.n, p.b_cs), p.b_rs, b_bs, bits);
        a | b | self.c_packs() | self.epilogue().0
    }

    /// Of `flags`, how C is read and written.
    fn c_packs(&self) -> u32 {
        let p = &self.p;
        let others = [(p.m, p.c_rs), (self.count, self.strides[2])];
        if self.packs(p.c, (p.n, p.c_cs), others) {
            flags::C_PACKS
        } else {
            0
        }
    }

    /// C = beta C.
    unsafe fn scale<D: Device>(&self, device: &D) -> Result<(), D::Error> {
        /// Blocks for each multiprocessor.
        const BLOCKS: usize = 16;
        const THREADS: usize = 256;
        let (p, (y, z)) = (&self.p, self.items());
        let (bias, bias_rs, bias_cs) = self.bias();
        let (epilogue, (lo, hi)) = self.epilogue();
        let packs = self.c_packs();
        let width = if packs == 0 { 1 } else { T::WIDTH as usize };
        let across = p.n.div_ceil(THREADS * width);
        let enough = device.multiprocessors() as usize * BLOCKS;
        let down = enough.div_ceil(across.saturating_mul(self.count)).min(p.m);
        let grid = Grid {
            blocks: (blocks(across.checked_mul(down))?, y, z),
            shared: 0,
        };
        // SAFETY: as the caller's.
        unsafe {
            launch::gemm_scale(
                device,
                grid,
                p.m as u64,
                p.n as u64,
                p.beta,
                p.c,
                p.c_rs as i64,
                p.c_cs as i64,
                self.strides[2] as i64,
                bias,
                bias_rs,
                bias_cs,
                lo,
                hi,
                self.count as u64,
                epilogue | packs,
                down as u32,
            )
        }
    }

    /// How to run on so many multiprocessors.
    fn plan(&self, multiprocessors: u32) -> Plan {
        Plan::new::<T>(multiprocessors, (self.p.m, self.p.n, self.p.k), self.count)
    }

    /// C = alpha A B + beta C, in one launch; in several where k is split and scratch memory holds not all
    /// of its segments.
    unsafe fn multiply<D: Device>(&self, device: &D, plan: &Plan) -> Result<(), D::Error> {
        // SAFETY: as the caller's.
        unsafe {
            if plan.splits > 1 {
                let tiles = plan.tiles * self.count;
                let bytes = tiles * plan.size.elements() * plan.segments * size_of::<T>();
                // Without scratch memory the bits are the same, and only the time is not.
                if let Ok(scratch) = device.scratch(bytes, tiles) {
                    return self.split(device, plan, scratch);
                }
            }
            self.launch(device, plan, None)
        }
    }

    /// The launches of a product whose k is split: each takes the next segments.
    unsafe fn split<D: Device>(
        &self,
        device: &D,
        plan: &Plan,
        scratch: Scratch,
    ) -> Result<(), D::Error> {
        let mut rest = *self;
        let each = plan.segments * KSEG;
        if (rest.p.k - 1) % each < KSEG {
            // One segment is left for the last launch.
            device.prepare(plan.size.whole(), T::INDEX)?;
        }
        loop {
            let mut part = rest;
            if rest.p.k > each {
                part.p.k = each;
                part.p.epilogue = diptych::panel::gemm::Epilogue::NONE;
            }
            let segments = part.p.k.div_ceil(KSEG);
            let now = Plan {
                splits: plan.splits.min(segments),
                ..*plan
            };
            let scratch = (now.splits > 1).then_some(scratch);
            // SAFETY: as the caller's.
            unsafe { part.launch(device, &now, scratch)? };
            if rest.p.k <= each {
                return Ok(());
            }
            // A later segment adds to what the ones before have made of C.
            rest.p.k -= each;
            rest.p.beta = T::ONE;
            rest.p.a = rest.p.a.wrapping_offset(each as isize * rest.p.a_cs);
            rest.p.b = rest.p.b.wrapping_offset(each as isize * rest.p.b_rs);
        }
    }

    /// One launch.
    unsafe fn launch<D: Device>(
        &self,
        device: &D,
        plan: &Plan,
        scratch: Option<Scratch>,
    ) -> Result<(), D::Error> {
        let (p, (y, z)) = (&self.p, self.items());
        let (bias, bias_rs, bias_cs) = self.bias();
        let (lo, hi) = self.epilogue().1;
        let [a_bs, b_bs, c_bs] = self.strides.map(|stride| stride as i64);
        let splits = if scratch.is_some() { plan.splits } else { 1 };
        let grid = Grid {
            blocks: (blocks(plan.tiles.checked_mul(splits))?, y, z),
            shared: plan.size.shared::<T>(),
        };
        macro_rules! launch {
            ($kernel:ident $(, $more:expr)*) => {
                launch::$kernel(
                    device, grid, p.m as u64, p.n as u64, p.k as u64, p.alpha,
                    p.a, p.a_rs as i64, p.a_cs as i64, a_bs, p.b, p.b_rs as i64, p.b_cs as i64, b_bs,
                    p.beta, p.c, p.c_rs as i64, p.c_cs as i64, c_bs, bias, bias_rs, bias_cs, lo, hi,
                    self.count as u64, self.flags() $(, $more)*
                )
            };
        }
        macro_rules! split {
            ($kernel:ident, $scratch:ident) => {
                launch!($kernel, splits as u32, $scratch.bytes, $scratch.counters)
            };
        }
        // SAFETY: the caller vouches for the arrays, the plan for the scratch memory.
        unsafe {
            match (plan.size, scratch) {
                (Size::S128x128, _) => launch!(gemm_128x128),
                (Size::S128x64, _) => launch!(gemm_128x64),
                (Size::S64x64, None) => launch!(gemm_64x64),
                (Size::S128x16, None) => launch!(gemm_128x16),
                (Size::S32x32, None) => launch!(gemm_32x32),
                (Size::S16x16, None) => launch!(gemm_16x16),
                (Size::S64x64, Some(s)) => split!(gemm_split_64x64, s),
                (Size::S128x16, Some(s)) => split!(gemm_split_128x16, s),
                (Size::S32x32, Some(s)) => split!(gemm_split_32x32, s),
                (Size::S16x16, Some(s)) => split!(gemm_split_16x16, s),
            }
        }
    }
}

/// Blocks along x of a grid.
fn blocks(number: Option<usize>) -> Result<u32, Error> {
    let number = number.and_then(|number| i32::try_from(number).ok());
    Ok(number.ok_or(Error::SizeOverflow { arg: "m * n" })? as u32)
}

/// See `diptych::raw::gemm`.
///
/// # Errors
/// As there, but for workspace; what the device says.
///
/// # Safety
/// As there, on the device, until the launches have run.
pub unsafe fn gemm<T: Real, D: Device>(
    device: &D,
    m: i64,
    n: i64,
    k: i64,
    alpha: T,
    a: *const T,
    a_rs: i64,
    a_cs: i64,
    b: *const T,
    b_rs: i64,
    b_cs: i64,
    beta: T,
    c: *mut T,
    c_rs: i64,
    c_cs: i64,
) -> Result<(), D::Error> {
    // SAFETY: as the caller's.
    unsafe {
        gemm_batched(
            device, m, n, k, alpha, a, a_rs, a_cs, b, b_rs, b_cs, beta, c, c_rs, c_cs, 1, 0, 0, 0,
        )
    }
}

/// See `diptych::raw::gemm_batched`.
///
/// # Errors
/// As [`gemm`].
///
/// # Safety
/// As [`gemm`].
pub unsafe fn gemm_batched<T: Real, D: Device>(
    device: &D,
    m: i64,
    n: i64,
    k: i64,
    alpha: T,
    a: *const T,
    a_rs: i64,
    a_cs: i64,
    b: *const T,
    b_rs: i64,
    b_cs: i64,
    beta: T,
    c: *mut T,
    c_rs: i64,
    c_cs: i64,
    batch: i64,
    a_bs: i64,
    b_bs: i64,
    c_bs: i64,
) -> Result<(), D::Error> {
    let arguments = Arguments {
        m,
        n,
        k,
        alpha,
        a: (a, [a_bs, a_rs, a_cs]),
        b: (b, [b_bs, b_rs, b_cs]),
        beta,
        c: (c, [c_bs, c_rs, c_cs]),
        batch,
    };
    // SAFETY: as the caller's.
    unsafe { run(device, arguments, None) }
}

/// See `diptych::raw::gemm_fused`.
///
/// # Errors
/// As [`gemm`]; `Overlap` too when C overlaps the bias.
///
/// # Safety
/// As [`gemm`]; the bias must be valid too.
pub unsafe fn gemm_fused<T: Real, D: Device>(
    device: &D,
    m: i64,
    n: i64,
    k: i64,
    alpha: T,
    a: *const T,
    a_rs: i64,
    a_cs: i64,
    b: *const T,
    b_rs: i64,
    b_cs: i64,
    beta: T,
    c: *mut T,
    c_rs: i64,
    c_cs: i64,
    epilogue: &RawEpilogue<T>,
) -> Result<(), D::Error> {
    let arguments = Arguments {
        m,
        n,
        k,
        alpha,
        a: (a, [0, a_rs, a_cs]),
        b: (b, [0, b_rs, b_cs]),
        beta,
        c: (c, [0, c_rs, c_cs]),
        batch: 1,
    };
    // SAFETY: as the caller's.
    unsafe { run(device, arguments, Some(epilogue)) }
}
