//! Products of bf16 by VDPBF16PS, which adds two products to a sum: first that of the upper halves of two words, then that of
//! the lower ones, each by an FMA (Intel SDM vol. 2, VDPBF16PS). Subnormal numbers are [flushed](super::flushing).
//!
//! A word has two steps of one chain: of four steps k to k + 3, a *group*, the even word has k in its upper half and k + 2 in its
//! lower one, the odd word k + 1 and k + 3. A panel has the even words of a group for all rows or columns, then the odd ones, then
//! the next group. The last group is padded with zeros.

use super::flushing::{HEADER, flushes_nothing, least_of};
use super::{BLOCK, SEGMENT};
use crate::array::from_fn;
use crate::half::bf16;
use crate::matrix::Matrix;
use crate::ops::mixed::routines::{Panels, Routines, Tile, nothing};
use crate::ops::mixed::words::{Dot, write_sums};

/// The steps of a group.
const GROUP: usize = 4;
/// The bytes of a row or column in a group.
const GROUP_BYTES: usize = 8;
/// The bytes of an element.
const BYTES: isize = 2;

/// Computes a micro-tile of MR rows and NV registers of columns in one segment, which may be a part of the panels: that of A has
/// `rows` rows, that of B `columns` columns.
///
/// # Safety
/// As the microkernel of [`Routines`]; the panels are without headers.
#[inline(always)]
unsafe fn microkernel<D: Dot<Word = u32, Sum = f32>, const MR: usize, const NV: usize>(
    tile: &Tile,
    (rows, columns): (usize, usize),
) {
    let zeros = [[D::zero(); NV]; MR];
    let mut segment = zeros;
    let (mut a, mut b) = (tile.a.cast::<u32>(), tile.b.cast::<u32>());
    let mut rest = tile.kc.div_ceil(GROUP);
    while rest > 0 {
        let groups = rest.min(BLOCK / GROUP);
        let mut chains = [zeros; 2];
        for _ in 0..groups {
            for chain in &mut chains {
                let words: [D::Words; NV] = from_fn(|v| D::load(b.add(v * D::LANES)));
                for (i, sums) in chain.iter_mut().enumerate() {
                    let word = D::splat(*a.add(i));
                    for v in 0..NV {
                        sums[v] = D::dot(sums[v], word, words[v]);
                    }
                }
                (a, b) = (a.add(rows), b.add(columns));
            }
        }
        let [mut even, mut odd] = chains;
        if groups < BLOCK / GROUP {
            // As products of zeros would: a chain that rounded to -0 becomes +0.
            add::<D, MR, NV>(&mut even, &zeros);
            add::<D, MR, NV>(&mut odd, &zeros);
        }
        add::<D, MR, NV>(&mut even, &odd);
        add::<D, MR, NV>(&mut segment, &even);
        rest -= groups;
    }
    write_sums::<D, MR, NV>(tile, &segment);
}

/// Adds sums to sums.
///
/// # Safety
/// As [`Dot::add`].
#[inline(always)]
unsafe fn add<D: Dot, const MR: usize, const NV: usize>(
    to: &mut [[D::Sums; NV]; MR],
    from: &[[D::Sums; NV]; MR],
) {
    for i in 0..MR {
        for v in 0..NV {
            to[i][v] = D::add(to[i][v], from[i][v]);
        }
    }
}

/// Packs `count` rows or columns of bf16, padded with zeros to `width`. The header is the least magnitude.
///
/// # Safety
/// As [`Pack`](crate::ops::mixed::routines::Pack).
#[inline(always)]
unsafe fn pack(
    from: Matrix<*const u8>,
    count: usize,
    (first, kc): (usize, usize),
    width: usize,
    out: *mut u8,
) {
    let (least_magnitude, header) = (out.cast::<u16>(), width * HEADER);
    if first == 0 {
        out.write_bytes(0, header);
    }
    let mut to = out.wrapping_add(header + first / GROUP * GROUP_BYTES * width);
    let mut least = u16::MAX;
    for step in (0..kc).step_by(GROUP) {
        let words = to.cast::<u32>();
        let (even, odd) = (words, words.wrapping_add(width));
        let group = from.offset(0, step);
        let steps = GROUP.min(kc - step);
        if steps == GROUP && from.rs == BYTES {
            let row = |k: usize| group.at(0, k).cast::<u16>();
            let rows = [row(0), row(1), row(2), row(3)];
            for i in 0..count {
                let x: [u32; GROUP] = from_fn(|k| u32::from(*rows[k].add(i)));
                even.add(i).write(x[0] << 16 | x[2]);
                odd.add(i).write(x[1] << 16 | x[3]);
            }
        } else {
            for i in 0..count {
                let x: [u32; GROUP] = from_fn(|k| {
                    if k < steps {
                        u32::from(*group.at(i, k).cast::<u16>())
                    } else {
                        0
                    }
                });
                even.add(i).write(x[0] << 16 | x[2]);
                odd.add(i).write(x[1] << 16 | x[3]);
            }
        }
        for i in count..width {
            even.add(i).write(0);
            odd.add(i).write(0);
        }
        for i in 0..GROUP * width {
            let magnitude = *to.cast::<u16>().add(i) & 0x7FFF;
            // Zero counts as the largest.
            least = least.min(magnitude.wrapping_sub(1));
        }
        to = to.wrapping_add(GROUP_BYTES * width);
    }
    *least_magnitude = least_of(*least_magnitude, least.wrapping_add(1));
}

/// Defines the routines of an instruction, of which `$Exact` does the same without flushing.
macro_rules! routines {
    ($name:ident: $Dot:ty, exact $Exact:ty, in_place $in_place:path, $features:meta) => {
        pub mod $name {
            use super::*;

            const LANES: usize = <$Dot as Dot>::LANES;
            const MR: usize = 6;
            /// The columns of a panel of B.
            const WIDTH: usize = 2 * LANES;

            #[$features]
            unsafe fn tile<const MR: usize, const NV: usize>(tile: &Tile, _: usize) {
                // SAFETY: as the caller's.
                unsafe { microkernel::<$Dot, MR, NV>(tile, (MR, NV * LANES)) }
            }

            #[cold]
            #[$features]
            #[cfg_attr(not(precompiled), inline)]
            unsafe fn exact(of: &Tile) {
                for i in 0..of.rows {
                    for j in (0..WIDTH).step_by(LANES) {
                        let part = Tile {
                            a: of.a.wrapping_add(i * size_of::<u32>()),
                            b: of.b.wrapping_add(j * size_of::<u32>()),
                            sums: (of.sums)
                                .wrapping_offset(i as isize * of.sums_rs)
                                .wrapping_add(j * size_of::<f32>()),
                            ..*of
                        };
                        // SAFETY: as the caller's.
                        unsafe { microkernel::<$Exact, 1, 1>(&part, (of.rows, WIDTH)) };
                    }
                }
            }

            #[cfg_attr(not(precompiled), inline)]
            unsafe fn run(of: &Tile) {
                let least = |panel: *const u8| {
                    // SAFETY: the caller vouches for the panels, which begin with it.
                    unsafe { *panel.cast::<u16>() }
                };
                let panels = Tile {
                    a: of.a.wrapping_add(of.rows * HEADER),
                    b: of.b.wrapping_add(WIDTH * HEADER),
                    ..*of
                };
                let is_exact = flushes_nothing(least(of.a), least(of.b));
                let run = crate::ops::mixed::words::choose!(of.rows, 1, [1 2 3 4 5 6], [2]);
                // SAFETY: as the caller's.
                unsafe {
                    if is_exact {
                        run(&panels, 0);
                    } else {
                        exact(&panels);
                    }
                }
            }

            #[$features]
            #[cfg_attr(not(precompiled), inline)]
            unsafe fn pack_words(
                from: Matrix<*const u8>,
                count: usize,
                steps: (usize, usize),
                width: usize,
                out: *mut u8,
            ) {
                // SAFETY: as the caller's.
                unsafe { pack(from, count, steps, width, out) }
            }

            #[cfg_attr(not(precompiled), inline)]
            unsafe fn pack_a(
                from: Matrix<*const u8>,
                count: usize,
                first: usize,
                kc: usize,
                out: *mut u8,
            ) {
                // SAFETY: as the caller's.
                unsafe { pack_words(from, count, (first, kc), count, out) }
            }

            #[cfg_attr(not(precompiled), inline)]
            unsafe fn pack_b(
                from: Matrix<*const u8>,
                count: usize,
                first: usize,
                kc: usize,
                out: *mut u8,
            ) {
                // SAFETY: as the caller's.
                unsafe { pack_words(from, count, (first, kc), WIDTH, out) }
            }

            /// The routines.
            pub const ROUTINES: &Routines = &Routines {
                a: Panels {
                    most: MR,
                    grain: 1,
                    bytes: GROUP_BYTES,
                    header: HEADER,
                    pack: pack_a,
                },
                b: Panels {
                    most: WIDTH,
                    grain: WIDTH,
                    bytes: GROUP_BYTES,
                    header: HEADER,
                    pack: pack_b,
                },
                steps: GROUP,
                segment: SEGMENT,
                sum_bytes: 4,
                microkernel: run,
                enter: nothing,
                leave: nothing,
                in_place: $in_place,
                in_place_rows: 4,
            };
        }
    };
}

#[cfg(target_arch = "x86_64")]
routines!(avx512: crate::isa::dots::Vdpbf16ps, exact crate::isa::dots::FmaPairs512,
    in_place super::super::avx512::sums_in_place::<bf16>,
    target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx512bf16,avx2,fma,f16c,bmi1,bmi2"));
#[cfg(feature = "models")]
routines!(model: crate::isa::models::Pairs<true>, exact crate::isa::models::Pairs<false>,
    in_place super::super::portable::sums_in_place::<bf16>, cfg(all()));

/// Whether VDPBF16PS has the bits of FMA where it flushes nothing: a CPU whose instruction rounds differently does without.
///
/// # Safety
/// The CPU must have AVX-512 and the instruction.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512bf16,fma")]
pub unsafe fn rounds_as_fma() -> bool {
    use crate::isa::dots::{FmaPairs512, Vdpbf16ps};
    let mut random = crate::isa::random_bits();
    (0..256).all(|turn| {
        // Few exponents around 1, so that sums cancel; many; or such that sums overflow. Nothing is flushed.
        let (least, mask) = [(123, 7), (71, 63), (180, 15)][turn % 3];
        let mut words = || {
            let mut words = [0_u32; 16];
            for word in &mut words {
                let bits = random();
                let number =
                    |bits: u64| bits as u32 & 0x807F | (least + ((bits >> 16) as u32 & mask)) << 7;
                *word = number(bits) << 16 | number(bits >> 32);
            }
            words
        };
        let (a, b) = (words(), words());
        let start = words();
        let start: [f32; 16] = from_fn(|i| f32::from_bits(start[i] & 0xFFFF_0000));
        let (mut by_pairs, mut by_fma) = ([0_f32; 16], [0_f32; 16]);
        // SAFETY: the caller vouches for the instructions; the arrays fill registers.
        unsafe {
            let (x, y) = (Vdpbf16ps::load(a.as_ptr()), Vdpbf16ps::load(b.as_ptr()));
            let sums = Vdpbf16ps::load_sums(start.as_ptr());
            Vdpbf16ps::store_sums(by_pairs.as_mut_ptr(), Vdpbf16ps::dot(sums, x, y));
            FmaPairs512::store_sums(by_fma.as_mut_ptr(), FmaPairs512::dot(sums, x, y));
        }
        // The payload of a NaN may differ.
        (by_pairs.into_iter().zip(by_fma))
            .all(|(x, y)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan())
    })
}
