//! The PTX entries: for each row of the table one per element type.

use crate::ops::*;
use crate::table::kernel_table;

macro_rules! entries {
    (($Elem:ty, $suffix:literal, $module:ident)
     $($name:ident[$threads:literal, $blocks:literal]($($arg:ident: $ty:ty),*) = $($body:ident)::+ $([$($extra:ty),*])?;)*) => {
        mod $module {
            use super::*;
            type T = $Elem;

            $(
                #[unsafe(export_name = concat!(stringify!($name), $suffix))]
                unsafe extern "ptx-kernel" fn $name($($arg: $ty),*) {
                    // The line moves in front of the body when the PTX is finished: rustc has no word
                    // for it.
                    // SAFETY: a comment; the launcher vouches for the arguments.
                    unsafe {
                        core::arch::asm!(
                            concat!("//@launch .maxntid ", stringify!($threads), ", 1, 1"),
                            // Without a number of blocks the assembler picks one, and spills for it.
                            concat!("//@launch .minnctapersm ", stringify!($blocks)),
                            options(nomem, nostack)
                        );
                        $($body)::+::<T $(, $($extra),*)?>($($arg),*)
                    }
                }
            )*
        }
    };
}

kernel_table!(entries!(f32, "_f32", single_precision));
kernel_table!(entries!(f64, "_f64", double_precision));
