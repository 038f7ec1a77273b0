//! The device implementation of the API, in PTX.
//!
//! Barriers and shuffles are LLVM intrinsics and not `asm!`: the intrinsics are convergent, so LLVM never duplicates
//! them into divergent branches. Shared memory is accessed by `asm!` with 32-bit addresses: an access through a Rust
//! pointer would be a generic load or store.

use super::{Bits, Vector, Word};
use crate::memory::HalfFormat;
use core::arch::nvptx;
use core::arch::{asm, global_asm};

global_asm!(".extern .shared .align 16 .b8 dynamic_shared[];");

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: ends the grid.
    unsafe { nvptx::trap() }
}

unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.all"]
    fn barrier(id: u32);
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn warp_barrier(mask: u32);
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shuffle_butterfly(mask: u32, value: u32, lanes: u32, clamp: u32) -> u32;
}

macro_rules! registers {
    ($($name:ident = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        pub(super) fn $name() -> u32 {
            // SAFETY: reads a special register.
            unsafe { nvptx::$intrinsic() as u32 }
        }
    )*};
}

registers! {
    thread_idx_x = _thread_idx_x;
    block_idx_x = _block_idx_x;
    block_idx_y = _block_idx_y;
    block_idx_z = _block_idx_z;
    block_dim_x = _block_dim_x;
    grid_dim_x = _grid_dim_x;
    grid_dim_y = _grid_dim_y;
    grid_dim_z = _grid_dim_z;
}

#[inline(always)]
pub(super) fn opaque(mut value: u32) -> u32 {
    // SAFETY: the assembly is only a comment.
    unsafe { asm!("// {0}", inout(reg32) value, options(nomem, nostack)) }
    value
}

#[inline(always)]
pub(super) unsafe fn sync_threads() {
    // SAFETY: the caller guarantees that all threads of the block get here.
    unsafe { barrier(0) }
}

#[inline(always)]
pub(super) unsafe fn sync_warp() {
    // SAFETY: the caller guarantees that all threads of the warp get here.
    unsafe { warp_barrier(!0) }
}

#[inline(always)]
pub(super) unsafe fn shuffle_xor(value: u32, lanes: u32) -> u32 {
    // SAFETY: the caller guarantees that all threads of the warp get here.
    unsafe { shuffle_butterfly(!0, value, lanes, 31) }
}

/// Returns the address of the block's dynamic shared memory.
#[inline(always)]
pub(super) fn shared_base() -> u32 {
    let base: u32;
    // SAFETY: only reads an address.
    unsafe {
        asm!("mov.u32 {0}, dynamic_shared;", out(reg32) base, options(pure, nomem, nostack));
    }
    base
}

#[inline(always)]
pub(super) unsafe fn load_global<T>(p: *const T) -> T {
    // SAFETY: as the caller's.
    unsafe { p.read() }
}

#[inline(always)]
pub(super) unsafe fn store_global<T>(p: *mut T, value: T) {
    // SAFETY: as the caller's.
    unsafe { p.write(value) }
}

#[inline(always)]
pub(super) unsafe fn fetch_increment(counter: *mut u32, last: u32) -> u32 {
    let old: u32;
    // SAFETY: the caller guarantees the counter.
    unsafe {
        asm!(
            "atom.acq_rel.gpu.global.inc.u32 {0}, [{1}], {2};",
            out(reg32) old, in(reg64) counter, in(reg32) last, options(nostack)
        );
    }
    old
}

#[inline(always)]
pub(super) fn no_unroll() {
    // SAFETY: only a directive to the assembler.
    unsafe { asm!(".pragma \"nounroll\";", options(nomem, nostack)) }
}

macro_rules! word {
    ($T:ty, $class:ident, $type:literal $(, $rounded:item)?) => {
        impl Word for $T {
            #[inline(always)]
            unsafe fn load_shared(offset: u32) -> Self {
                let value: $T;
                // SAFETY: as the caller's.
                unsafe {
                    asm!(
                        concat!("ld.shared.", $type, " {0}, [{1}];"),
                        out($class) value, in(reg32) offset, options(readonly, nostack)
                    );
                }
                value
            }
            #[inline(always)]
            unsafe fn store_shared(offset: u32, value: Self) {
                // SAFETY: as the caller's.
                unsafe {
                    asm!(
                        concat!("st.shared.", $type, " [{1}], {0};"),
                        in($class) value, in(reg32) offset, options(nostack)
                    );
                }
            }
            #[inline(always)]
            fn constant(self) -> Self {
                self
            }
            $($rounded)?
        }
    };
}

word!(u32, reg32, "u32");
word!(i64, reg64, "s64");
word!(
    f32,
    reg32,
    "f32",
    #[inline(always)]
    fn rounded(self, format: HalfFormat) -> Option<u16> {
        Some(format.exact(self))
    }
);
word!(f64, reg64, "f64");

macro_rules! bits {
    ($T:ty, $Register:ty, $class:ident, $type:literal) => {
        impl Bits for $T {
            #[inline(always)]
            unsafe fn load(p: *const Self) -> u64 {
                let value: $Register;
                // SAFETY: as the caller's.
                unsafe {
                    asm!(
                        concat!("ld.global.", $type, " {0}, [{1}];"),
                        out($class) value, in(reg64) p, options(readonly, nostack)
                    );
                }
                value as u64
            }
            #[inline(always)]
            unsafe fn store(p: *mut Self, bits: u64) {
                // SAFETY: as the caller's.
                unsafe {
                    asm!(
                        concat!("st.global.", $type, " [{1}], {0};"),
                        in($class) bits as $Register, in(reg64) p, options(nostack)
                    );
                }
            }
        }
    };
}

// There are no registers of 8 bits.
bits!(u8, u32, reg32, "u8");
bits!(u16, u16, reg16, "u16");
bits!(u32, u32, reg32, "u32");
bits!(u64, u64, reg64, "u64");

macro_rules! vector {
    ($T:ty, $U:ident, $class:ident, $width:literal, $type:literal, $pack:literal, ($($i:literal)*),
     $template:literal, $address:literal, $shuffle:ident, $math:ident) => {
        impl Vector for $T {
            type Pack = [$T; $width];
            const WIDTH: u32 = $width;

            #[inline(always)]
            fn pack(self) -> Self::Pack {
                [self; $width]
            }
            #[inline(always)]
            unsafe fn load(p: *const Self) -> Self {
                let value: $T;
                // SAFETY: as the caller's.
                unsafe {
                    asm!(
                        concat!("ld.global.", $type, " {0}, [{1}];"),
                        out($class) value, in(reg64) p, options(readonly, nostack)
                    );
                }
                value
            }
            #[inline(always)]
            unsafe fn load_relaxed(p: *const Self) -> Self {
                let value: $T;
                // SAFETY: as the caller's.
                unsafe {
                    asm!(
                        concat!("ld.relaxed.gpu.global.", $type, " {0}, [{1}];"),
                        out($class) value, in(reg64) p, options(nostack)
                    );
                }
                value
            }
            #[inline(always)]
            unsafe fn store(p: *mut Self, value: Self) {
                // SAFETY: as the caller's.
                unsafe {
                    asm!(
                        concat!("st.global.", $type, " [{1}], {0};"),
                        in($class) value, in(reg64) p, options(nostack)
                    );
                }
            }
            #[inline(always)]
            unsafe fn load_pack(p: *const Self) -> Self::Pack {
                let mut pack = [0.0; $width];
                // SAFETY: as the caller's.
                unsafe { vector!(load pack, "ld.global.", $pack, $template, $address, in(reg64) p, $class, ($($i)*)) }
                pack
            }
            #[inline(always)]
            unsafe fn load_pack_relaxed(p: *const Self) -> Self::Pack {
                let mut pack = [0.0; $width];
                // SAFETY: as the caller's.
                unsafe { vector!(load pack, "ld.relaxed.gpu.global.", $pack, $template, $address, in(reg64) p, $class, ($($i)*)) }
                pack
            }
            #[inline(always)]
            unsafe fn store_pack(p: *mut Self, value: Self::Pack) {
                // SAFETY: as the caller's.
                unsafe { vector!(store value, "st.global.", $pack, $template, $address, in(reg64) p, $class, ($($i)*)) }
            }
            #[inline(always)]
            unsafe fn load_shared_vector(offset: u32) -> Self::Pack {
                let mut pack = [0.0; $width];
                // SAFETY: as the caller's.
                unsafe { vector!(load pack, "ld.shared.", $pack, $template, $address, in(reg32) offset, $class, ($($i)*)) }
                pack
            }
            #[inline(always)]
            unsafe fn store_shared_vector(offset: u32, value: Self::Pack) {
                // SAFETY: as the caller's.
                unsafe { vector!(store value, "st.shared.", $pack, $template, $address, in(reg32) offset, $class, ($($i)*)) }
            }
            #[inline(always)]
            unsafe fn shuffle_xor(self, lanes: u32) -> Self {
                // SAFETY: as the caller's.
                <$T>::from_bits(unsafe { super::warp::$shuffle(self.to_bits(), lanes) })
            }
            #[inline(always)]
            fn fma(self, a: Self, b: Self) -> Self {
                core::$U::math::mul_add(self, a, b)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                core::$U::math::sqrt(self)
            }
        }
    };
    (load $pack:ident, $op:literal, $type:literal, $template:literal, $address:literal, in($ac:ident) $p:ident, $class:ident, ($($i:literal)*)) => {
        asm!(
            concat!($op, $type, " ", $template, ", ", $address, ";"),
            $(out($class) $pack[$i],)* in($ac) $p, options(readonly, nostack)
        )
    };
    (store $pack:ident, $op:literal, $type:literal, $template:literal, $address:literal, in($ac:ident) $p:ident, $class:ident, ($($i:literal)*)) => {
        asm!(
            concat!($op, $type, " ", $address, ", ", $template, ";"),
            $(in($class) $pack[$i],)* in($ac) $p, options(nostack)
        )
    };
}

vector!(f32, f32, reg32, 4, "f32", "v4.f32", (0 1 2 3), "{{{0},{1},{2},{3}}}", "[{4}]", shuffle_xor_u32, f32);
vector!(f64, f64, reg64, 2, "f64", "v2.f64", (0 1), "{{{0},{1}}}", "[{2}]", shuffle_xor_u64, f64);
