//! Detection by cpuid and xgetbv.
//!
//! Sources: Intel SDM vol. 1 section 14.3 (AVX: OSXSAVE, then XCR0) and 15.2 (AVX-512), vol. 2 CPUID;
//! AMD APM vol. 3 appendix E.

use core::arch::asm;
use core::arch::x86_64::{__cpuid, __cpuid_count};

use super::{Extensions, Geometry};
#[cfg(all(target_os = "linux", feature = "std"))]
use crate::isa::amx;
use crate::level::Level;
use crate::ops::mixed::half::pairs;

/// The words of cpuid, and XCR0, on which levels depend.
#[derive(Clone, Copy, Default)]
pub struct Cpuid {
    leaf1_ecx: u32,
    leaf7_ebx: u32,
    xcr0: u64,
}

const FMA: u32 = 1 << 12;
const OSXSAVE: u32 = 1 << 27;
const F16C: u32 = 1 << 29;
const AVX: u32 = 1 << 28;
const AVX2: u32 = 1 << 5;
// AVX-512 F, DQ, CD, BW, VL; BMI1 and BMI2, which compute masks.
const AVX512: u32 = 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 | 1 << 31 | 1 << 3 | 1 << 8;
const XCR0_YMM: u64 = 0b110;
const XCR0_ZMM: u64 = 0b1110_0110;

impl Cpuid {
    /// Reads the words of this CPU.
    pub fn read() -> Self {
        let max_leaf = __cpuid(0).eax;
        if max_leaf < 7 {
            return Self::default();
        }
        let leaf1_ecx = __cpuid(1).ecx;
        let leaf7_ebx = __cpuid_count(7, 0).ebx;
        let xcr0 = if leaf1_ecx & OSXSAVE != 0 {
            xgetbv()
        } else {
            0
        };
        Self {
            leaf1_ecx,
            leaf7_ebx,
            xcr0,
        }
    }
}

/// Reads XCR0: the register states that the operating system saves.
fn xgetbv() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: OSXSAVE is set, so the instruction exists and register 0 is readable.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high,
             options(nomem, nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// The x86 levels that these words allow, as a bit set over `Level as u8`.
pub fn levels(id: &Cpuid) -> u8 {
    let has = |word: u32, bits: u32| word & bits == bits;
    let saves = |bits: u64| id.xcr0 & bits == bits;
    let leaf1 = has(id.leaf1_ecx, FMA | OSXSAVE | AVX | F16C);
    let avx2 = leaf1 && has(id.leaf7_ebx, AVX2) && saves(XCR0_YMM);
    let avx512 = avx2 && has(id.leaf7_ebx, AVX512) && saves(XCR0_ZMM);
    (avx2 as u8) << Level::Avx2 as u8 | (avx512 as u8) << Level::Avx512 as u8
}

/// The extensions of this CPU, each with the level that uses it.
pub fn extensions() -> Extensions {
    const AVX512_VNNI: u32 = 1 << 11; // Leaf 7, ecx.
    const AVX_VNNI: u32 = 1 << 4; // Leaf 7.1, eax, as the next.
    const AVX512_BF16: u32 = 1 << 5;
    #[cfg(all(target_os = "linux", feature = "std"))]
    const AMX_TILE: u32 = 1 << 24; // Leaf 7, edx, as the next two.
    #[cfg(all(target_os = "linux", feature = "std"))]
    const AMX_INT8: u32 = 1 << 25;
    #[cfg(all(target_os = "linux", feature = "std"))]
    const AMX_BF16: u32 = 1 << 22;
    let levels = levels(&Cpuid::read());
    let has = |level: Level| levels >> level as u8 & 1 == 1;
    if !has(Level::Avx2) {
        return Extensions::NONE;
    }
    let leaf7 = __cpuid_count(7, 0);
    let leaf7_1 = if leaf7.eax >= 1 {
        __cpuid_count(7, 1).eax
    } else {
        0
    };
    let mut found = Extensions::NONE;
    if leaf7_1 & AVX_VNNI != 0 {
        found = found.and(Extensions::AVX_VNNI);
    }
    if has(Level::Avx512) && leaf7.ecx & AVX512_VNNI != 0 {
        found = found.and(Extensions::AVX512_VNNI);
    }
    // On Sapphire and Emerald Rapids VDPBF16PS takes two cycles, twice as long as the two FMA that it replaces.
    if has(Level::Avx512) && leaf7_1 & AVX512_BF16 != 0 && is_of_amd() {
        // SAFETY: the CPU has the instruction, and the operating system saves the registers.
        if unsafe { pairs::rounds_as_fma() } {
            found = found.and(Extensions::AVX512_BF16);
        }
    }
    #[cfg(all(target_os = "linux", feature = "std"))]
    if has(Level::Avx512) && leaf7.edx & AMX_TILE != 0 && saves_tiles() {
        // SAFETY: the CPU has AMX, and the permission is asked for first.
        unsafe {
            let is_permitted = amx::request();
            if is_permitted && leaf7.edx & AMX_INT8 != 0 && amx::multiplies_bytes() {
                found = found.and(Extensions::AMX_INT8);
            }
            if is_permitted && leaf7.edx & AMX_BF16 != 0 && amx::multiplies_halves() {
                found = found.and(Extensions::AMX_BF16);
            }
        }
    }
    found
}

/// Whether the vendor is AMD: "AuthenticAMD" (APM vol. 3, CPUID Fn0000_0000).
fn is_of_amd() -> bool {
    let id = __cpuid(0);
    [id.ebx, id.edx, id.ecx]
        .map(u32::to_le_bytes)
        .as_flattened()
        == b"AuthenticAMD"
}

/// Whether the operating system saves the tiles and their configuration. The CPU must have OSXSAVE.
#[cfg(all(target_os = "linux", feature = "std"))]
fn saves_tiles() -> bool {
    const XCR0_TILES: u64 = 3 << 17;
    xgetbv() & XCR0_TILES == XCR0_TILES
}

/// What cpuid reports; the rest is taken from `unknown`.
pub fn geometry(unknown: Geometry) -> Geometry {
    let double_pumps_avx512 = double_pumps_avx512();
    match caches() {
        Some([l1, l2, llc]) => Geometry {
            l1,
            l2,
            llc,
            double_pumps_avx512,
        },
        None => Geometry {
            double_pumps_avx512,
            ..unknown
        },
    }
}

/// Whether AVX-512, if the CPU has it, is double-pumped: AMD's family 19h, which is Zen 3 and Zen 4. The family is the
/// sum of a base, 0Fh, and an extension (APM vol. 3, CPUID Fn0000_0001).
fn double_pumps_avx512() -> bool {
    let id = __cpuid(1).eax;
    let (base, extension) = (id >> 8 & 0xF, id >> 20 & 0xFF);
    base == 0xF && base + extension == 0x19
}

/// Bytes of the first, the second and the last data or unified cache that cpuid lists: L1, L2 and LLC. A CPU that lists
/// fewer has its last one in their place. `None` if it lists none.
fn caches() -> Option<[usize; 3]> {
    const INTEL_LEAF: u32 = 4;
    const AMD_LEAF: u32 = 0x8000_001D;
    let leaf = if __cpuid(0x8000_0000).eax >= AMD_LEAF && __cpuid_count(AMD_LEAF, 0).eax & 0x1F != 0
    {
        AMD_LEAF
    } else if __cpuid(0).eax >= INTEL_LEAF {
        INTEL_LEAF
    } else {
        return None;
    };
    let (mut sizes, mut found) = ([0; 3], 0);
    for index in 0..16 {
        let cache = __cpuid_count(leaf, index);
        match cache.eax & 0x1F {
            0 => break,
            1 | 3 => {
                let field =
                    |shift: u32, bits: u32| ((cache.ebx >> shift) & ((1 << bits) - 1)) as usize + 1;
                let size = field(22, 10) * field(12, 10) * field(0, 12) * (cache.ecx as usize + 1);
                // The caches from this one on, unless others follow.
                sizes.iter_mut().skip(found).for_each(|place| *place = size);
                found = (found + 1).min(2);
            }
            _ => {}
        }
    }
    (sizes[0] > 0).then_some(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For every subset of the bits, a level is available exactly if all bits that it needs are set.
    #[test]
    fn levels_need_every_bit() {
        let ones = [FMA, OSXSAVE, AVX, F16C];
        let sevens = [
            AVX2,
            1 << 16,
            1 << 17,
            1 << 28,
            1 << 30,
            1 << 31,
            1 << 3,
            1 << 8,
        ];
        let states = [XCR0_YMM, XCR0_ZMM, 0b10, 0];
        for one in 0..1u32 << ones.len() {
            for seven in 0..1u32 << sevens.len() {
                for xcr0 in states {
                    let pick = |set: &[u32], chosen: u32| {
                        set.iter()
                            .enumerate()
                            .filter(|(i, _)| chosen >> i & 1 == 1)
                            .map(|(_, b)| b)
                            .sum()
                    };
                    let id = Cpuid {
                        leaf1_ecx: pick(&ones, one),
                        leaf7_ebx: pick(&sevens, seven),
                        xcr0,
                    };
                    let avx2 = one == 15 && seven & 1 == 1 && xcr0 & XCR0_YMM == XCR0_YMM;
                    let avx512 = avx2 && seven == 255 && xcr0 == XCR0_ZMM;
                    assert_eq!(levels(&id), (avx2 as u8) << 1 | (avx512 as u8) << 2);
                }
            }
        }
    }

    #[test]
    fn caches_grow_outwards() {
        if let Some([l1, l2, llc]) = caches() {
            assert!((4 << 10..=l2).contains(&l1) && l2 <= llc, "{l1} {l2} {llc}");
        }
    }

    #[test]
    fn agrees_with_std() {
        let levels = levels(&Cpuid::read());
        let avx2 = std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("fma")
            && std::is_x86_feature_detected!("f16c");
        assert_eq!(levels & 1 << Level::Avx2 as u8 != 0, avx2);
    }
}
