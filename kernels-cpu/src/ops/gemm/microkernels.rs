//! The microkernels that each level has, and the choice of one for a micro-tile.

use super::microkernel::{MicrokernelArgs, PanelB};
use super::shapes::{MAX_MR, MicroTileShape};
use super::skinny::{AlongKFn, SlabFn, SweepFn};
use super::tall::TallFn;
use super::widths::Widths;
use crate::detect;

/// A compiled [`microkernel`](super::microkernel()), of any MR, NV and variant: takes its arguments, A, B, c, and as
/// the last the number of columns in its tail or the address of the first cache line that it prefetches.
pub type MicrokernelFn<T> = unsafe fn(&MicrokernelArgs<T>, *const T, PanelB<T>, *mut T, usize);

/// The combinations of markers (`markers.rs`) that microkernels are compiled for. MR and NV are the level's
/// ([`MicroTileShape`]).
#[derive(Clone, Copy)]
pub enum Variant {
    /// `Whole`, `Plain`, `Cached`; for 1..=MR rows and 1..=NV registers, and for the wide micro-tiles.
    Whole,
    /// With the tail `Masked`; for the same sizes.
    Masked,
    /// With the tail `HalfRegister`; for 1..=MR rows and 0..NV registers.
    HalfRegister,
    /// With the tail `SharedByTwo`; for 1..=MR rows and 1..NV registers.
    SharedByTwo,
    /// With the tail `SharedByFour`; for the same sizes.
    SharedByFour,
    /// With the side work `Prefetch`; for MR rows only, and from 2 registers on; also for the wide micro-tiles of
    /// `wide_mr` rows.
    Prefetch,
    /// With the side work `Pack`; for MR rows only, and from 2 registers on.
    Pack,
    /// With the store `NonTemporal`; for the same sizes.
    NonTemporal,
}

impl Variant {
    const COUNT: usize = Self::NonTemporal as usize + 1;
}

/// The microkernels of a level.
pub struct Microkernels<T: 'static> {
    shape: MicroTileShape,
    pub widths: Widths,
    /// One list per variant, in the order of NV and then of MR. The wide micro-tiles, of NV + 1 registers, come last in
    /// lists that have them. Their MR is lower, so only products that are cut as [`Microkernels::in_place_sizes`] says
    /// may use them.
    lists: Lists<T>,
    /// [`tall`](super::tall()) for each number of rows in a group, from MR / 2 + 1 to MR; empty if the level has none.
    tall: &'static [TallFn<T>],
    /// Those for [`along_k`](super::along_k()), of one register for 1..=MAX_MR rows, then of two registers from 1 row
    /// on; none on levels that do not use them.
    pub along_k: &'static [AlongKFn<T>],
    /// The [sweeps](super::sweep()) of 1, 2, 4 and 8 steps, for 1 row of C and more; none on levels that do not use them.
    pub sweeps: Sweeps<T>,
    /// The kernel [`slab`](super::slab()), on levels that use it.
    pub slab: Option<SlabFn<T>>,
}

type Sweeps<T> = [&'static [SweepFn<T>]; 4];
type Lists<T> = [&'static [MicrokernelFn<T>]; Variant::COUNT];

impl<T> Microkernels<T> {
    /// The microkernels of a level with registers of `lanes` elements, and half-size registers of `half_lanes` (`lanes`
    /// if the level has none).
    pub const fn new(
        (shape, lists): (MicroTileShape, Lists<T>),
        tall: &'static [TallFn<T>],
        along_k: &'static [AlongKFn<T>],
        sweeps: Sweeps<T>,
        slab: Option<SlabFn<T>>,
        (lanes, half_lanes): (usize, usize),
    ) -> Self {
        let widths = Widths {
            nv: shape.nv,
            lanes,
            shared_register: !lists[Variant::SharedByTwo as usize].is_empty(),
            half_register: half_lanes < lanes,
        };
        Self {
            shape,
            widths,
            lists,
            tall,
            along_k,
            sweeps,
            slab,
        }
    }

    /// Whether the lists are as long as [`Microkernels::of_width`] needs them. (Their order is not checked.)
    pub const fn are_complete(&self) -> bool {
        let MicroTileShape {
            mr,
            nv,
            wide_mr,
            register,
        } = self.shape;
        let Widths {
            lanes,
            shared_register,
            half_register,
            ..
        } = self.widths;
        let all = mr * nv;
        let with_shared = if shared_register { all - mr } else { 0 };
        self.list(Variant::Whole).len() == all + wide_mr
            && self.list(Variant::Masked).len() == all + wide_mr
            && self.list(Variant::HalfRegister).len() == if half_register { all } else { 0 }
            && self.list(Variant::SharedByTwo).len() == with_shared
            && self.list(Variant::SharedByFour).len() == with_shared
            && self.list(Variant::Prefetch).len() <= nv
            && self.list(Variant::Pack).len() <= nv
            && self.list(Variant::NonTemporal).len() <= nv
            && wide_mr < mr
            && (self.tall.is_empty() || self.tall.len() == mr - mr / 2)
            // `Widths::next_nr` puts a short tail behind at least one register. A transposed tail has at most lanes - 1
            // rows, and packs B if they fill more than four micro-tiles; but it may run without scratch memory.
            && (!shared_register || (nv >= 2 && 4 * mr >= lanes - 1))
            && lanes.is_power_of_two()
            && lanes * size_of::<T>() == register
    }

    /// The greatest MR.
    #[inline(always)]
    pub const fn mr(&self) -> usize {
        self.shape.mr
    }

    /// The function for a tall micro-tile of `m` by `n` elements, if `m` is greater than MR, and the level has one.
    #[inline(always)]
    pub fn tall(&self, m: usize, n: usize) -> Option<TallFn<T>> {
        let lanes = self.widths.lanes;
        if self.tall.is_empty() {
            return None;
        }
        let is_tall = m > self.shape.mr && n <= lanes && 2 * n > lanes;
        let rows = m.div_ceil(2);
        let index = rows
            .checked_sub(self.shape.mr / 2 + 1)
            .filter(|_| is_tall)?;
        self.tall.get(index).copied()
    }

    #[inline(always)]
    const fn list(&self, variant: Variant) -> &'static [MicrokernelFn<T>] {
        self.lists[variant as usize]
    }

    /// The greatest MR, and the widths, for a product of `n` columns that is computed in place. If one wide micro-tile
    /// covers all of them, it reads whole rows of B, which memory delivers faster than two half rows.
    #[inline(always)]
    pub fn in_place_sizes(&self, n: usize) -> (usize, Widths) {
        let Widths { nv, lanes, .. } = self.widths;
        let fits = n > self.widths.nr()
            && n <= self.widths.nr() + lanes
            && !self.widths.is_short_tail(n & (lanes - 1));
        if fits && self.shape.wide_mr > 0 {
            let wide = Widths {
                nv: nv + 1,
                shared_register: false,
                half_register: false,
                lanes,
            };
            return (self.shape.wide_mr, wide);
        }
        (self.shape.mr, self.widths)
    }

    /// The microkernels for `nr` columns, by MR from 1 on, and the number of columns in their tail.
    ///
    /// # Safety
    /// `nr` must come from [`Widths::next_nr`] of this level's widths, or of the widths that
    /// [`Microkernels::in_place_sizes`] gives for the product's n.
    #[inline(always)]
    pub unsafe fn of_width(&self, nr: usize) -> (&'static [MicrokernelFn<T>], usize) {
        let Widths {
            lanes,
            half_register,
            ..
        } = self.widths;
        // First the case of small products, for which every instruction counts.
        if half_register && 2 * nr <= lanes {
            return (self.list(Variant::HalfRegister), nr);
        }
        let last = nr & (lanes - 1);
        let nv = (nr + lanes - 1) >> lanes.trailing_zeros();
        let (list, column) = if nv > 1 && self.widths.is_short_tail(last) {
            let whole = nv - 1;
            if half_register && detect::double_pumps_avx512() {
                (Variant::HalfRegister, whole)
            } else if 4 * last <= lanes {
                (Variant::SharedByFour, whole - 1)
            } else {
                (Variant::SharedByTwo, whole - 1)
            }
        } else if last == 0 {
            (Variant::Whole, nv - 1)
        } else {
            (Variant::Masked, nv - 1)
        };
        let first = column * self.shape.mr;
        // SAFETY: the lists have every NV up to the greatest.
        (unsafe { self.list(list).get_unchecked(first..) }, last)
    }

    /// The microkernel for `mr` rows and `nr` columns, and the number of columns in its tail.
    ///
    /// # Safety
    /// As [`Microkernels::of_width`]; `mr` must be from 1 to the greatest MR that goes with these widths.
    #[inline(always)]
    pub unsafe fn get(&self, mr: usize, nr: usize) -> (MicrokernelFn<T>, usize) {
        // SAFETY: as the caller's; the lists have every MR up to the greatest.
        unsafe {
            let (by_rows, last) = self.of_width(nr);
            (*by_rows.get_unchecked(mr - 1), last)
        }
    }

    /// The microkernel for [`along_k`](super::along_k()) of `mr` rows and `registers` registers.
    ///
    /// # Safety
    /// The level must have it.
    #[inline(always)]
    pub unsafe fn along_k(&self, mr: usize, registers: usize) -> AlongKFn<T> {
        let first = (registers - 1) * MAX_MR;
        // SAFETY: the caller vouches for it.
        unsafe { *self.along_k.get_unchecked(first + mr - 1) }
    }

    /// The microkernel of a variant that exists for full micro-tiles only, if the level has it, `mr` is the greatest MR
    /// for this NV, and `nr` fills its registers.
    #[inline(always)]
    pub fn largest(&self, variant: Variant, (mr, nr): (usize, usize)) -> Option<MicrokernelFn<T>> {
        let Widths {
            nv: most, lanes, ..
        } = self.widths;
        let nv = nr >> lanes.trailing_zeros();
        let rows = if nv > most {
            self.shape.wide_mr
        } else {
            self.shape.mr
        };
        let is_largest = mr == rows && nr & (lanes - 1) == 0;
        let index = nv.checked_sub(2).filter(|_| is_largest)?;
        self.list(variant).get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::microkernel::Update;
    use super::super::shapes::MAX_NR;
    use super::*;
    use crate::dispatch::Kernels;
    use crate::element::Element;
    use crate::level::Level;
    use std::vec::Vec;

    /// Which microkernel computes a short tail depends on the CPU. Here all of them do, and must agree with the masked
    /// one.
    fn short_tails<T: Element>(level: Level) {
        const KC: usize = 5;
        let all = &Kernels::<T>::new(level).gemm().microkernels;
        let Widths {
            lanes,
            shared_register,
            ..
        } = all.widths;
        let (mr, most) = (all.mr(), all.widths.nv);
        let numbers = |count: usize| -> Vec<T> {
            let seventh = |i: usize| T::from_f64((i * i % 23) as f64 / 7.0 - 1.5);
            (0..count).map(seventh).collect()
        };
        let (a, b) = (numbers(MAX_MR * KC), numbers(MAX_NR * KC));
        let args = MicrokernelArgs {
            kc: KC,
            a_rs: KC as isize,
            a_cs: 1,
            c_rs: MAX_NR as isize,
            prefetch_stride: 0,
            packed: core::ptr::null_mut(),
            update: Update::Added,
            alpha: T::from_f64(0.3),
            beta: T::from_f64(-0.7),
        };
        let heights = 1..=if shared_register { mr } else { 0 };
        for (height, nv) in heights.flat_map(|h| (1..most).map(move |nv| (h, nv))) {
            let at = |nv: usize| nv * mr + height - 1;
            for last in 1..=lanes / 2 {
                let run = |run: MicrokernelFn<T>| {
                    let mut c = numbers(MAX_MR * MAX_NR);
                    let b = PanelB {
                        p: b.as_ptr(),
                        rs: MAX_NR as isize,
                    };
                    // SAFETY: the machine has the level; the arrays hold the largest micro-tile.
                    unsafe { run(&args, a.as_ptr(), b, c.as_mut_ptr(), last) };
                    c
                };
                let expected = run(all.list(Variant::Masked)[at(nv)]);
                let four = all.list(Variant::SharedByFour)[at(nv - 1)];
                let others = [
                    Some(all.list(Variant::SharedByTwo)[at(nv - 1)]),
                    (4 * last <= lanes).then_some(four),
                    all.list(Variant::HalfRegister).get(at(nv)).copied(),
                ];
                for other in others.into_iter().flatten() {
                    let what = (level, height, nv, last);
                    assert!(run(other) == expected, "{what:?}");
                }
            }
        }
    }

    #[test]
    fn all_microkernels_of_a_short_tail_agree() {
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            short_tails::<f32>(level);
            short_tails::<f64>(level);
        }
    }
}
