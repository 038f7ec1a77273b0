//! How large the micro-tiles of each level are, and what follows from it for all levels.
#![forbid(unsafe_code)]

/// The largest micro-tiles of a level.
#[derive(Clone, Copy)]
pub struct Shape {
    /// The most rows, MR.
    pub mr: usize,
    /// The most registers in a row, NV.
    pub nv: usize,
    /// MR of those with a register more, of which there may be none.
    pub wide_mr: usize,
    /// Bytes of a register.
    pub register: usize,
}

/// Of 16 registers of no size in particular, what AVX2 has.
pub const PORTABLE: Shape = Shape::new(4, 2, 16);
/// Of 16 registers 12 accumulate, 2 hold B, 1 an element of A; one is left for a mask.
pub const AVX2: Shape = Shape::new(6, 2, 32);
/// Of 32 registers 24 accumulate, 3 hold B and 1 an element of A.
pub const AVX512: Shape = Shape {
    wide_mr: 6,
    ..Shape::new(8, 3, 64)
};
/// As AVX-512.
pub const NEON: Shape = Shape::new(8, 3, 16);

/// All levels, whether they are compiled or not: what follows from them is the same on every architecture.
const SHAPES: [Shape; 4] = [PORTABLE, AVX2, AVX512, NEON];

/// The most rows of a micro-tile on any level.
pub const MAX_MR: usize = most(false);
/// The most columns of a micro-tile on any level whose sums do not go to C by themselves; so not of those that
/// have a register more.
pub const MAX_NR: usize = most(true);

impl Shape {
    const fn new(mr: usize, nv: usize, register: usize) -> Self {
        Self {
            mr,
            nv,
            wide_mr: 0,
            register,
        }
    }

    /// NR for the smallest elements that are computed with.
    const fn nr(&self) -> usize {
        self.nv * self.register / size_of::<f32>()
    }
}

/// The largest MR of all levels, or the largest NR.
const fn most(nr: bool) -> usize {
    let (mut most, mut i) = (0, 0);
    while i < SHAPES.len() {
        let size = if nr { SHAPES[i].nr() } else { SHAPES[i].mr };
        most = if size > most { size } else { most };
        i += 1;
    }
    most
}
