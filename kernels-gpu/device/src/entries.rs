//! The PTX entries: one for each row of the kernel table and each element type.

use crate::gpu::parameters;
use crate::ops::*;

/// Expands to the entry, unless the row is marked `only` for the other element type.
macro_rules! entry {
    ((f32 only f64) $entry:item) => {};
    ((f64 only f32) $entry:item) => {};
    (($Elem:ident $(only $Only:ident)?) $entry:item) => {
        $entry
    };
}

macro_rules! entries {
    (($Elem:ident, $suffix:literal, $module:ident)
     $($name:ident[$threads:literal, $blocks:literal] $(only $Only:ident)? ($($arg:ident: $ty:ty),*) = $($body:ident)::+ $([$($extra:ty),*])?;)*) => {
        mod $module {
            use super::*;
            type T = $Elem;

            $(
                entry! { ($Elem $(only $Only)?)
                    #[unsafe(export_name = concat!(stringify!($name), $suffix))]
                    unsafe extern "ptx-kernel" fn $name($($arg: $ty),*) {
                        // `.maxntid` and `.minnctapersm` belong before the body, where rustc cannot write them:
                        // `cargo xtask ptx` moves these lines there.
                        // SAFETY: the assembly is only a comment; the launcher guarantees the arguments.
                        unsafe {
                            core::arch::asm!(
                                concat!("//@launch .maxntid ", stringify!($threads), ", 1, 1"),
                                // Without `.minnctapersm`, ptxas chooses an occupancy itself and may spill for it.
                                concat!("//@launch .minnctapersm ", stringify!($blocks)),
                                options(nomem, nostack)
                            );
                            $($body)::+::<T $(, $($extra),*)?>($($arg),*)
                        }
                    }
                }
            )*
        }
    };
}

kernel_table!(entries!(f32, "_f32", single_precision));
kernel_table!(entries!(f64, "_f64", double_precision));
