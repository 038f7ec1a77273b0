//! The size of each level's micro-tiles, MR x NV registers, and the largest over all levels. The module `ops::gemm`
//! says how to change one.
#![forbid(unsafe_code)]

/// The largest micro-tile of a level.
#[derive(Clone, Copy)]
pub struct MicroTileShape {
    /// MR, its rows.
    pub mr: usize,
    /// NV, its registers in a row: NR = NV * lanes.
    pub nv: usize,
    /// The greatest MR of micro-tiles one register wider, NV + 1; 0 where the level has none.
    pub wide_mr: usize,
    /// Bytes of a register.
    pub register: usize,
}

/// Registers are arrays of 16 bytes; sized for targets with 16 of them, as SSE2 has: 8 accumulators, 2 for B, 1 for A.
pub const PORTABLE: MicroTileShape = MicroTileShape::new(4, 2, 16);
/// 16 registers: 12 accumulators, 2 for B, 1 for the broadcast element of A, 1 for a mask.
pub const AVX2: MicroTileShape = MicroTileShape::new(6, 2, 32);
/// 32 registers: 24 accumulators, 3 for B (wide: 4), 1 for the broadcast element of A. Masks have registers of their
/// own; what is left serves the tails.
pub const AVX512: MicroTileShape = MicroTileShape {
    wide_mr: 6,
    ..MicroTileShape::new(8, 3, 64)
};
/// 32 registers, used as on AVX-512.
pub const NEON: MicroTileShape = MicroTileShape::new(8, 3, 16);

/// All levels, compiled for this target or not, so that the maxima below are the same on every architecture.
const SHAPES: [MicroTileShape; 4] = [PORTABLE, AVX2, AVX512, NEON];

/// The greatest MR of any level.
pub const MAX_MR: usize = most(false);
/// The greatest NR of any level, without the wide micro-tiles of NV + 1 registers: those always write to C directly,
/// never to a buffer that is `MAX_NR` wide.
pub const MAX_NR: usize = most(true);

impl MicroTileShape {
    const fn new(mr: usize, nv: usize, register: usize) -> Self {
        Self {
            mr,
            nv,
            wide_mr: 0,
            register,
        }
    }

    /// NR for f32, the smallest type of arithmetic.
    const fn nr(&self) -> usize {
        self.nv * self.register / size_of::<f32>()
    }
}

/// The greatest NR of all levels if `nr`, else the greatest MR.
const fn most(nr: bool) -> usize {
    let (mut most, mut i) = (0, 0);
    while i < SHAPES.len() {
        let size = if nr { SHAPES[i].nr() } else { SHAPES[i].mr };
        most = if size > most { size } else { most };
        i += 1;
    }
    most
}
