//! Conversions of slices to another type of elements: `convert`.

use crate::api::elementwise::split;
use crate::api::fast_path::SMALL;
use crate::detect;
use crate::dispatch::of_type;
use crate::element::Dtype;
use crate::error::{Error, Result};
use crate::exec::{Exec, Shared};
use crate::half::{bf16, f16};
use crate::tensor::cast::{Conversion, fence};
use crate::tensor::kind::{Integer, Type};

mod sealed {
    /// A type that can be converted.
    pub trait Sealed {
        const TYPE: super::Type;
    }
}

/// A type of elements that [`convert`] takes: `f32`, `f64`, [`struct@f16`], [`bf16`], `bool`, and integers of 8 to 64
/// bits. The trait is sealed.
pub trait Convertible: sealed::Sealed + Copy + Send + Sync + 'static {}

macro_rules! convertible {
    ($($T:ident: $type:expr;)*) => {$(
        impl sealed::Sealed for $T {
            const TYPE: Type = $type;
        }
        impl Convertible for $T {}
    )*};
}
convertible! {
    f32: Type::Float(Dtype::F32);
    f64: Type::Float(Dtype::F64);
    f16: Type::Float(Dtype::F16);
    bf16: Type::Float(Dtype::Bf16);
    bool: Type::Bool;
    i8: Type::Integer(Integer::I8);
    i16: Type::Integer(Integer::I16);
    i32: Type::Integer(Integer::I32);
    i64: Type::Integer(Integer::I64);
    u8: Type::Integer(Integer::U8);
    u16: Type::Integer(Integer::U16);
    u32: Type::Integer(Integer::U32);
    u64: Type::Integer(Integer::U64);
}

/// out\[i\] = x\[i\], converted to another type of elements.
///
/// Between floats, and from integers to floats, a number is rounded once, to nearest even. From floats to integers it
/// is truncated and saturates, and NaN becomes 0, as with `as`; between integers it wraps, as with `as`. As a `bool`, a
/// number is whether it is not 0; a `bool` is 0 or 1.
///
/// # Errors
/// [`Error::ShapeMismatch`] when the slices differ in length.
///
/// # Example
///
/// ```
/// use diptych::{Exec, bf16, convert};
///
/// let exec = Exec::new();
/// let (x, mut halves, mut bytes) = ([1.5_f32, -2.0, 1.0e6], [bf16::default(); 3], [0_u8; 3]);
/// convert(&exec, &x, &mut halves)?;
/// assert_eq!(halves[0].to_f32(), 1.5);
/// convert(&exec, &x, &mut bytes)?;
/// assert_eq!(bytes, [1, 0, 255]);
/// # Ok::<(), diptych::Error>(())
/// ```
pub fn convert<A: Convertible, B: Convertible>(
    exec: &Exec<'_>,
    x: &[A],
    out: &mut [B],
) -> Result<()> {
    if x.len() != out.len() {
        return Err(Error::ShapeMismatch { arg: "x" });
    }
    let conversion = of_type!(Conversion::new(A::TYPE, B::TYPE));
    let sizes = (size_of::<A>(), size_of::<B>());
    // SAFETY: the slices have this number of elements. What is written to `bool` is 0 or 1.
    unsafe {
        run(
            exec,
            &conversion,
            x.len(),
            sizes,
            x.as_ptr().cast(),
            out.as_mut_ptr().cast(),
        )
    }
}

/// Converts `n` elements of these sizes. (One function for all types.)
///
/// # Errors
/// `LevelUnavailable`.
///
/// # Safety
/// The arrays must be valid and apart.
#[cfg_attr(precompiled, inline(never))]
#[cfg_attr(not(precompiled), inline)]
unsafe fn run(
    exec: &Exec<'_>,
    conversion: &Conversion,
    n: usize,
    (size, size_out): (usize, usize),
    x: *const u8,
    out: *mut u8,
) -> Result<()> {
    let level = exec.level()?;
    let bytes = n * size.max(size_out);
    if bytes <= SMALL {
        // SAFETY: as the caller's.
        unsafe { conversion.convert(level, n, x, out, false) };
        return Ok(());
    }
    let stream = detect::exceeds_llc(bytes.saturating_mul(2));
    let (x, out) = (Shared::new(x), Shared::new(out));
    split(exec, n, bytes, move |from, len| {
        let x = x.get().cast_const().wrapping_add(from * size);
        let out = out.get().wrapping_add(from * size_out);
        // SAFETY: the part lies in 0..n, and no other task writes it.
        unsafe { conversion.convert(level, len, x, out, stream) };
        if stream {
            fence(level);
        }
    });
    Ok(())
}
