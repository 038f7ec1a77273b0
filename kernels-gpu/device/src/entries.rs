//! The PTX entries: for each row of the table one per element type.

use crate::ops::*;

/// An entry for a type, where the row is there for it.
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
                }
            )*
        }
    };
}

kernel_table!(entries!(f32, "_f32", single_precision));
kernel_table!(entries!(f64, "_f64", double_precision));
