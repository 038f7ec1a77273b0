//! The `dpt_tensor_epilogue` of a call: NULL, valid, or invalid.

use core::fmt;
use core::mem::offset_of;
use core::ptr;

use diptych_ffi::{dpt_status_code as Code, dpt_tensor, dpt_tensor_epilogue};

use super::super::judge::Verdict;
use super::super::kind::Kind;
use super::argument::Argument;
use super::shapes;
use crate::random::Input;

/// `DPT_EPILOGUE_CLAMP`.
const CLAMP: u32 = diptych_ffi::dpt_epilogue_flag::DPT_EPILOGUE_CLAMP as u32;

/// What follows a product.
#[derive(Debug, Default)]
pub struct Epilogue {
    /// Whether the pointer is NULL.
    is_none: bool,
    pub bias: Option<Argument>,
    pub clamp: Option<(f64, f64)>,
    struct_size: usize,
    other_flags: u32,
    reserved: i32,
    is_misaligned: bool,
    faults: Vec<Code>,
}

impl Epilogue {
    /// Returns NULL.
    pub fn none() -> Epilogue {
        Epilogue {
            is_none: true,
            ..Epilogue::default()
        }
    }

    /// Draws an epilogue for a product of m rows and n columns.
    pub fn draw(input: &mut Input<'_>, kind: Kind, (m, n): (i64, i64)) -> Epilogue {
        let mut drawn = Epilogue {
            is_none: !input.rarely(2),
            // The struct of today, or that before it had factors.
            struct_size: input.pick(&[size_of::<dpt_tensor_epilogue>(), 40]),
            ..Epilogue::default()
        };
        if drawn.is_none {
            return drawn;
        }
        let shape = match input.below(3) {
            0 => None,
            1 => Some(vec![n]),
            _ => Some(vec![m, 1]),
        };
        let shape = shape.map(|shape| shapes::rarely_spoil(input, shape));
        let bias = shape.map(|shape| Argument::input(input, "bias", kind, &shape));
        // NULL is no bias.
        drawn.bias = bias.filter(|bias| !bias.is_none());
        if input.rarely(2) {
            drawn.clamp = Some((input.scalar(), input.scalar()));
        }
        if input.rarely(8) {
            drawn.corrupt(input);
        }
        drawn
    }

    fn corrupt(&mut self, input: &mut Input<'_>) {
        self.faults.push(match input.below(4) {
            0 => {
                self.struct_size = input.pick(&[0, 8, 16, 39, 41, 48, 1 << 20, usize::MAX]);
                Code::DPT_BAD_STRUCT_SIZE
            }
            1 => {
                let bit = 1 << input.below(32);
                if bit == CLAMP {
                    return;
                }
                self.other_flags = bit;
                Code::DPT_UNKNOWN_FLAG
            }
            2 => {
                self.reserved = input.pick(&[1, -1, i32::MIN]);
                Code::DPT_INVALID_VALUE
            }
            _ => {
                self.is_misaligned = true;
                Code::DPT_MISALIGNED
            }
        });
    }

    /// Whether the bias is added to rows.
    pub fn per_row(&self) -> bool {
        self.bias.as_ref().is_some_and(|bias| bias.shape.len() == 2)
    }

    /// Adds the faults.
    pub fn judge(&self, verdict: &mut Verdict) {
        self.faults.iter().for_each(|&fault| verdict.fault(fault));
    }

    /// Returns whether the bias, if there is one, has the shape for a product of m rows and n columns.
    pub fn fits(&self, m: i64, n: i64) -> bool {
        let bias = self.bias.as_ref();
        bias.is_none_or(|bias| bias.shape == [n] || bias.shape == [m, 1])
    }

    /// Calls `f` with a pointer to the struct, in memory that ends where `struct_size` says.
    pub fn with<R>(
        &self,
        bias: Option<*const dpt_tensor>,
        f: impl FnOnce(*const dpt_tensor_epilogue) -> R,
    ) -> R {
        if self.is_none {
            return f(ptr::null());
        }
        let (lo, hi) = self.clamp.unwrap_or_default();
        let whole = dpt_tensor_epilogue {
            struct_size: self.struct_size,
            flags: self.other_flags | if self.clamp.is_some() { CLAMP } else { 0 },
            reserved: self.reserved,
            bias: bias.unwrap_or(ptr::null()),
            lo,
            hi,
            row_scale: ptr::null(),
            column_scale: ptr::null(),
        };
        const _: () = assert!(offset_of!(dpt_tensor_epilogue, struct_size) == 0);
        let size = size_of::<dpt_tensor_epilogue>();
        // Whole words, because the struct is aligned to one; its size must be there in any case.
        let words = self.struct_size.clamp(8, size) / 8;
        let mut memory = vec![0u64; words + usize::from(self.is_misaligned)];
        let start = memory.as_mut_ptr().cast::<u8>();
        let start = start.wrapping_add(self.is_misaligned.into());
        // SAFETY: as many bytes of the struct as there is memory; it has no padding.
        unsafe { ptr::copy_nonoverlapping((&raw const whole).cast::<u8>(), start, 8 * words) };
        f(start.cast())
    }
}

impl fmt::Display for Epilogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none {
            return f.write_str("no epilogue");
        }
        let (clamp, size) = (self.clamp, self.struct_size);
        write!(f, "clamp {clamp:?}, struct_size {size}, ")?;
        write!(
            f,
            "flags {:#x}, reserved {}",
            self.other_flags, self.reserved
        )
    }
}
