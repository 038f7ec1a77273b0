//! AMX: tiles of 16 rows of 64 bytes, by inline assembly, which needs no target feature.
//!
//! Linux lets a process use tiles once it has asked (`Documentation/arch/x86/xstate.rst`). CPUID does not tell whether it
//! will be allowed: the system call fails if a thread has a signal stack that is too small for the tiles, for example.

#[cfg(feature = "models")]
pub mod model;

use core::arch::asm;

#[cfg(feature = "models")]
use crate::detect::Extensions;

/// The tile configuration (Intel SDM vol. 1, 18.4): palette 1, all eight tiles of 16 rows of 64 bytes.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    column_bytes: [u16; 16],
    rows: [u8; 16],
}

static CONFIGURATION: Configuration = Configuration {
    palette: 1,
    start_row: 0,
    reserved: [0; 14],
    column_bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

/// The bytes of a row of a tile.
pub const ROW: usize = 64;
/// The rows of a tile.
pub const ROWS: usize = 16;
/// The bytes of a tile.
const TILE: usize = ROW * ROWS;

/// Asks Linux for the permission to use tiles, for the whole process, and returns whether it is granted.
///
/// # Safety
/// The CPU must have AMX.
pub unsafe fn request() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: u64 = 0x1023;
    const XFEATURE_XTILEDATA: u64 = 18;
    let mut result = ARCH_PRCTL;
    // SAFETY: a system call without operands in memory. By hand, because libc has no function for it.
    unsafe {
        asm!("syscall", inlateout("rax") result, in("rdi") ARCH_REQ_XCOMP_PERM, in("rsi") XFEATURE_XTILEDATA,
             lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result == 0
}

/// Whether a model stands for the instructions; never but in tests.
#[inline(always)]
fn is_modelled() -> bool {
    #[cfg(feature = "models")]
    return crate::isa::models::modelled()
        .intersects(Extensions::AMX_INT8.and(Extensions::AMX_BF16));
    #[cfg(not(feature = "models"))]
    false
}

/// Configures the tiles of this thread.
///
/// # Safety
/// The process must have the [permission](request).
#[cfg_attr(not(precompiled), inline)]
pub unsafe fn enter() {
    if is_modelled() {
        return;
    }
    // SAFETY: the configuration is valid.
    unsafe {
        asm!("ldtilecfg [{}]", in(reg) &CONFIGURATION, options(nostack, readonly, preserves_flags));
    }
}

/// Frees the tiles, so that the system need not save them when it switches threads.
///
/// # Safety
/// As [`enter`].
#[cfg_attr(not(precompiled), inline)]
pub unsafe fn leave() {
    if is_modelled() {
        return;
    }
    // SAFETY: no tile is live between two calls of a function here.
    unsafe { asm!("tilerelease", options(nostack, nomem, preserves_flags)) };
}

/// The panels of A and B and the sums of a micro-tile; see [`Instruction::multiply`].
#[derive(Clone, Copy)]
pub struct Tiles {
    /// Tiles of rows in a block of steps: `rows` tiles one after the other.
    pub a: *const u8,
    /// Tiles of columns in a block of steps, likewise.
    pub b: *const u8,
    /// The blocks of steps, at least one.
    pub blocks: usize,
    /// The sums, and the bytes from one row to the next.
    pub sums: *mut u8,
    pub sums_rs: isize,
    /// Whether to add to the sums that are there.
    pub adds: bool,
}

/// Defines the function of an instruction: one or two tiles of rows times one or two tiles of columns, in one block of
/// assembly, because the compiler knows nothing of tiles.
macro_rules! multiply {
    ($($(#[$doc:meta])* $name:ident $dot:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The thread must have [entered](enter), and the CPU must have the instruction; the panels and the sums must be
        /// valid.
        #[cfg_attr(not(precompiled), inline)]
        unsafe fn $name<const R: usize, const C: usize>(tiles: &Tiles) {
            let Tiles { a, b, blocks, sums, sums_rs, adds } = *tiles;
            // SAFETY: as the caller's. No tile is live before or after.
            unsafe {
                asm!(
                    "test {adds:e}, {adds:e}",
                    "jz 2f",
                    "tileloadd tmm0, [{c} + {rs}]",
                    ".if {columns} == 2", "tileloadd tmm1, [{c} + {rs} + 64]", ".endif",
                    ".if {rows} == 2", "tileloadd tmm2, [{d} + {rs}]", ".endif",
                    ".if {rows} + {columns} == 4", "tileloadd tmm3, [{d} + {rs} + 64]", ".endif",
                    "jmp 3f",
                    "2:",
                    "tilezero tmm0",
                    ".if {columns} == 2", "tilezero tmm1", ".endif",
                    ".if {rows} == 2", "tilezero tmm2", ".endif",
                    ".if {rows} + {columns} == 4", "tilezero tmm3", ".endif",
                    "3:",
                    "tileloadd tmm4, [{a} + {row}]",
                    "tileloadd tmm6, [{b} + {row}]",
                    concat!($dot, " tmm0, tmm4, tmm6"),
                    ".if {columns} == 2",
                    "tileloadd tmm7, [{b} + {row} + 1024]",
                    concat!($dot, " tmm1, tmm4, tmm7"),
                    ".endif",
                    ".if {rows} == 2",
                    "tileloadd tmm5, [{a} + {row} + 1024]",
                    concat!($dot, " tmm2, tmm5, tmm6"),
                    ".endif",
                    ".if {rows} + {columns} == 4",
                    concat!($dot, " tmm3, tmm5, tmm7"),
                    ".endif",
                    "add {a}, {rows} * 1024",
                    "add {b}, {columns} * 1024",
                    "dec {blocks}",
                    "jnz 3b",
                    "tilestored [{c} + {rs}], tmm0",
                    ".if {columns} == 2", "tilestored [{c} + {rs} + 64], tmm1", ".endif",
                    ".if {rows} == 2", "tilestored [{d} + {rs}], tmm2", ".endif",
                    ".if {rows} + {columns} == 4", "tilestored [{d} + {rs} + 64], tmm3", ".endif",
                    adds = in(reg) u32::from(adds),
                    blocks = inout(reg) blocks => _,
                    a = inout(reg) a => _,
                    b = inout(reg) b => _,
                    row = in(reg) ROW,
                    c = in(reg) sums,
                    d = in(reg) sums.wrapping_offset(ROWS as isize * sums_rs),
                    rs = in(reg) sums_rs,
                    rows = const R,
                    columns = const C,
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack)
                );
            }
        }
    )*};
}

multiply! {
    /// Signed bytes of A times signed bytes of B, added to sums of 32 bits.
    tdpbssd "tdpbssd";
    /// Unsigned bytes of A times signed bytes of B.
    tdpbusd "tdpbusd";
    /// Pairs of bf16 numbers, added to sums in f32; subnormal numbers count as zero.
    tdpbf16ps "tdpbf16ps";
}

/// The instructions.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub enum Instruction {
    Tdpbssd,
    Tdpbusd,
    Tdpbf16ps,
}

impl Instruction {
    /// Multiplies one or two tiles of rows by one or two tiles of columns.
    ///
    /// # Safety
    /// The thread must have [entered](enter), and the CPU must have the instruction; the panels and the sums must be valid.
    #[inline(always)]
    pub unsafe fn multiply(self, tiles: &Tiles, rows: usize, columns: usize) {
        #[cfg(feature = "models")]
        if is_modelled() {
            // SAFETY: as the caller's.
            return unsafe { model::multiply(self, tiles, rows, columns) };
        }
        macro_rules! sizes {
            ($name:ident) => {
                match (rows, columns) {
                    (1, 1) => $name::<1, 1>(tiles),
                    (1, _) => $name::<1, 2>(tiles),
                    (_, 1) => $name::<2, 1>(tiles),
                    _ => $name::<2, 2>(tiles),
                }
            };
        }
        // SAFETY: as the caller's.
        unsafe {
            match self {
                Self::Tdpbssd => sizes!(tdpbssd),
                Self::Tdpbusd => sizes!(tdpbusd),
                Self::Tdpbf16ps => sizes!(tdpbf16ps),
            }
        }
    }
}

#[repr(C, align(64))]
struct Panel([u8; TILE]);

/// Multiplies two tiles, and adds the products to sums that all start as `start`.
///
/// # Safety
/// The process must have the [permission](request), the CPU the instruction.
unsafe fn product<T: Copy>(
    instruction: Instruction,
    a: &Panel,
    b: &Panel,
    start: T,
) -> [[T; ROWS]; ROWS] {
    const { assert!(size_of::<T>() == 4) };
    let mut sums = [[start; ROWS]; ROWS];
    let tiles = Tiles {
        a: a.0.as_ptr(),
        b: b.0.as_ptr(),
        blocks: 1,
        sums: sums.as_mut_ptr().cast(),
        sums_rs: ROW as isize,
        adds: true,
    };
    // SAFETY: as the caller's.
    unsafe {
        enter();
        instruction.multiply(&tiles, 1, 1);
        leave();
    }
    sums
}

/// Whether a tile of products of bytes is right, with all extremes.
///
/// # Safety
/// The process must have the [permission](request), the CPU AMX-INT8.
pub unsafe fn multiplies_bytes() -> bool {
    let byte = |i: usize| [0x80, 0x7F, 0xFF, 0, 1, 0x55, 0x80][i % 7];
    let (mut a, mut b) = (Panel([0; TILE]), Panel([0; TILE]));
    for i in 0..TILE {
        a.0[i] = byte(i);
        b.0[i] = byte(i / 3 + 1);
    }
    // SAFETY: as the caller's.
    let sums = unsafe { product(Instruction::Tdpbssd, &a, &b, i32::MAX) };
    let expected = |i: usize, j: usize| {
        (0..ROW).fold(i32::MAX, |sum, k| {
            let (x, y) = (
                a.0[i * ROW + k] as i8,
                b.0[k / 4 * ROW + 4 * j + k % 4] as i8,
            );
            sum.wrapping_add(i32::from(x) * i32::from(y))
        })
    };
    (0..ROWS).all(|i| (0..ROWS).all(|j| sums[i][j] == expected(i, j)))
}

/// Whether a tile of products of bf16 numbers has the bits of two chains of FMA, over the even and the odd steps: with numbers
/// of all signs and of magnitudes so different that each step rounds, and sums that cancel.
///
/// # Safety
/// The process must have the [permission](request), the CPU AMX-BF16.
pub unsafe fn multiplies_halves() -> bool {
    let mut state = 0x2545_F491_u32;
    let mut number = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        // A sign, an exponent from -12 to 11, a fraction.
        (state & 0x807F) as u16 | (115 + (state >> 20) as u16 % 24) << 7
    };
    let (mut a, mut b) = (Panel([0; TILE]), Panel([0; TILE]));
    for panel in [&mut a, &mut b] {
        for pair in panel.0.as_chunks_mut::<2>().0 {
            *pair = number().to_le_bytes();
        }
    }
    let start = -1.0 / 3.0;
    // SAFETY: as the caller's.
    let sums = unsafe { product(Instruction::Tdpbf16ps, &a, &b, start) };
    let at = |panel: &Panel, byte: usize| {
        let bits = u16::from_le_bytes([panel.0[byte], panel.0[byte + 1]]);
        f32::from_bits(u32::from(bits) << 16)
    };
    let expected = |i: usize, j: usize| {
        let mut chains = [0.0_f32; 2];
        for k in 0..ROW / 2 {
            let (x, y) = (
                at(&a, i * ROW + 2 * k),
                at(&b, k / 2 * ROW + 4 * j + k % 2 * 2),
            );
            chains[k % 2] = crate::scalar::fma_f32(x, y, chains[k % 2]);
        }
        start + (chains[0] + chains[1])
    };
    (0..ROWS).all(|i| (0..ROWS).all(|j| sums[i][j].to_bits() == expected(i, j).to_bits()))
}
