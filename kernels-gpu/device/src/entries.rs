//! The PTX entries: one for each row of the kernel table and each element type.

use crate::gpu::parameters;
use crate::memory::{Half, HalfFormat};
use crate::ops::*;
use crate::table::Number;

/// Expands to the entry with the parameters and the arguments of its type, unless the row does not exist for the type.
macro_rules! entry {
    ((f32 [only f64] []) $($entry:tt)*) => {};
    ((f64 [only f32] []) $($entry:tt)*) => {};
    ((f32 [] [half]) $($entry:tt)*) => {};
    ((f64 [] [half]) $($entry:tt)*) => {};
    ((Half [$(only $Only:ident)?] []) $($entry:tt)*) => {};
    ((Half [] [$Which:ident]) $($entry:tt)*) => {
        entry! { @(format: HalfFormat,) (format,) $($entry)* }
    };
    (($Elem:ident [] [any]) $($entry:tt)*) => {
        entry! { @() ((),) $($entry)* }
    };
    (($Elem:ident [$(only $Only:ident)?] []) $($entry:tt)*) => {
        entry! { @() () $($entry)* }
    };
    (@($($format:tt)*) ($($passed:tt)*) $name:ident $suffix:literal [$threads:literal, $blocks:literal] ($($arg:ident: $ty:ty),*) $body:expr) => {
        #[unsafe(export_name = concat!(stringify!($name), $suffix))]
        unsafe extern "ptx-kernel" fn $name($($format)* $($arg: $ty),*) {
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
                $body($($passed)* $($arg),*)
            }
        }
    };
}

macro_rules! entries {
    (($Elem:ident, $suffix:literal, $module:ident)
     $($name:ident[$threads:literal, $blocks:literal] $(only $Only:ident)? $(of $Which:ident)? ($($arg:ident: $ty:ty),*) = $($body:ident)::+ $([$($extra:ty),*])?;)*) => {
        mod $module {
            use super::*;
            type T = $Elem;

            $(
                entry! { ($Elem [$(only $Only)?] [$($Which)?])
                    $name $suffix [$threads, $blocks] ($($arg: $ty),*) $($body)::+::<T $(, $($extra),*)?>
                }
            )*
        }
    };
}

kernel_table!(entries!(f32, "_f32", single_precision));
kernel_table!(entries!(f64, "_f64", double_precision));
kernel_table!(entries!(Half, "_half", half_precision));
