//! Products with a matrix that was packed before: `matmul_pack`, `matmul_packed`.

use super::element_type::ElementType;
use super::kind::{Integer, Location, Type};
use super::matmul::{Epilogue, MatmulTypes, check_matmul};
use super::mixed;
use super::operand::{Operand, Tensor};
use super::product::{Orders, Product};
use crate::api::mixed::{Half, Integers, Operands};
use crate::api::packed::layout::{self, ALIGN, Description, HEADER, Layout};
use crate::api::packed::run;
use crate::element::{Dtype, Element};
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::matrix::Matrix;
use crate::with_element;

/// The name of the packed matrix in errors.
const PACKED: &str = "packed";

/// The types of packed matrices, by the code that packs them.
#[derive(Clone, Copy)]
enum Packing {
    Element(ElementType),
    Mixed(Operands),
}

impl Packing {
    fn of(of: Type) -> Option<Self> {
        if let Some(element) = of.element() {
            return Some(Self::Element(element));
        }
        let operands = match of {
            Type::Float(Dtype::F16) => Operands::Half(Half::F16),
            Type::Float(Dtype::Bf16) => Operands::Half(Half::Bf16),
            Type::Integer(Integer::I8) => Operands::Integers(Integers::I8I8),
            Type::Integer(Integer::I32) => Operands::Integers(Integers::I32),
            Type::Integer(Integer::I64) => Operands::Integers(Integers::I64),
            Type::Float(Dtype::F32 | Dtype::F64)
            | Type::Bool
            | Type::Integer(
                Integer::U8 | Integer::I16 | Integer::U16 | Integer::U32 | Integer::U64,
            ) => return None,
        };
        Some(Self::Mixed(operands))
    }

    /// Describes a packed matrix of `k` rows and `n` columns.
    #[inline]
    fn describe(self, exec: &Exec<'_>, of: Type, (k, n): (usize, usize)) -> Result<Description> {
        let layout = match self {
            Self::Element(element) => {
                with_element!(element, T => run::layout_of_elements::<T>(exec, n))?
            }
            Self::Mixed(operands) => run::layout_of_mixed(exec, operands, n)?,
        };
        Description::new((of.code(), 8 * of.size() as u8), (k, n), layout)
    }
}

/// A checked matrix that is to be packed.
struct Source {
    b: Operand,
    packing: Packing,
    description: Description,
}

impl Source {
    /// # Safety
    /// `shape` and `strides` of the tensor must be valid.
    #[inline]
    unsafe fn new(exec: &Exec<'_>, b: &Tensor) -> Result<Self> {
        // SAFETY: as the caller's.
        let b = unsafe { Operand::new(b, "b")? };
        let packing = Packing::of(b.of).ok_or(Error::UnsupportedType { arg: b.arg })?;
        if b.rank() != 2 {
            return Err(Error::ShapeMismatch { arg: b.arg });
        }
        let size = (b.axis(0).count, b.axis(1).count);
        let description = packing.describe(exec, b.of, size)?;
        Ok(Self {
            b,
            packing,
            description,
        })
    }
}

/// Returns the type of a packed matrix, as code and bits of DLPack, its rows and its columns, as its header says; a product
/// checks that.
///
/// # Errors
/// `NullPointer`, `Misaligned`; `InvalidValue` if it is not a packed matrix, `PackedLayout` if it is one of another version.
///
/// # Safety
/// `packed` must be valid for reading `size` bytes.
pub unsafe fn packed_shape(packed: *const u8, size: usize) -> Result<((u8, u8), usize, usize)> {
    check_address(packed)?;
    if size < HEADER {
        return Err(Error::InvalidValue { arg: PACKED });
    }
    // SAFETY: aligned, and valid for these bytes.
    layout::read(&unsafe { run::header(packed) }, PACKED)
}

/// Returns the bytes of `b` packed, with the level of `exec`. The elements are not read.
///
/// # Errors
/// `UnsupportedType` and `ShapeMismatch` unless `b` is a matrix of a type that [`Pack`](crate::Pack) names;
/// `LevelUnavailable`, `SizeOverflow`; those of a tensor.
///
/// # Safety
/// `shape` and `strides` of the tensor must be valid.
#[inline]
pub unsafe fn matmul_packed_size(exec: &Exec<'_>, b: &Tensor) -> Result<usize> {
    // SAFETY: as the caller's.
    unsafe { Source::new(exec, b).map(|source| source.description.bytes) }
}

/// Packs a matrix to `size` bytes at `packed`, for [`matmul_packed`]; see [`matmul_pack`](crate::matmul_pack()).
///
/// # Errors
/// As [`matmul_packed_size`]; `NullPointer`, `Misaligned` unless `packed` is aligned to 64, `InvalidValue` if `size` is too
/// small, `Overlap`.
///
/// # Safety
/// The tensor must be valid at all elements, and `packed` for writing `size` bytes.
#[inline]
pub unsafe fn matmul_pack(exec: &Exec<'_>, b: &Tensor, packed: *mut u8, size: usize) -> Result<()> {
    // SAFETY: as the caller's; the block has been found large enough.
    exec.with_level_fixed(|exec| unsafe {
        let Source {
            b,
            packing,
            description,
        } = Source::new(exec, b)?;
        check_address(packed)?;
        if size < description.bytes {
            return Err(Error::InvalidValue { arg: "packed_size" });
        }
        bytes_of(packed, description.bytes, |block| block.apart_from(&b))?;
        let panels = run::begin(&description, packed);
        if b.count == 0 {
            return Ok(());
        }
        let (size, layout) = ((description.k, description.n), &description.layout);
        let (rows, columns) = (b.axis(0), b.axis(1));
        match packing {
            Packing::Element(element) => with_element!(element, T => {
                let (rs, cs) = (rows.stride(b.of), columns.stride(b.of));
                let b = Matrix::new(b.p.cast_const().cast::<T>(), rs, cs);
                run::pack_elements(exec, layout, b, size, panels)
            }),
            Packing::Mixed(operands) => {
                let b = Matrix::new(b.p.cast_const(), rows.step, columns.step);
                run::pack_mixed(exec, operands, layout, b, size, panels)
            }
        }
    })
}

/// [`matmul`](super::matmul()) with a packed matrix in the place of `b`, which is multiplied by each matrix of `a`: the same
/// bits.
///
/// # Errors
/// As [`matmul`](super::matmul()), with `packed` for `b`; also `PackedLayout` if it was packed for another level or other
/// instructions than those of `exec`, and `InvalidValue` if it is not a packed matrix, or truncated.
///
/// # Safety
/// The tensors must be valid as for [`matmul`](super::matmul()), and `packed` for reading `size` bytes.
#[inline]
pub unsafe fn matmul_packed(
    exec: &Exec<'_>,
    alpha: f64,
    a: &Tensor,
    packed: *const u8,
    size: usize,
    beta: f64,
    c: &Tensor,
    epilogue: Option<&Epilogue<'_>>,
) -> Result<()> {
    // SAFETY: as the caller's; the header describes the panels.
    exec.with_level_fixed(|exec| unsafe {
        let description = read(exec, packed, size)?;
        let layout = &description.layout;
        let checked = with_tensor(&description, packed, |b| {
            check_matmul(alpha, a, b, beta, c, epilogue, Location::Host).map_err(renamed)
        })?;
        let c = Operand::new(c, "c")?;
        bytes_of(packed, description.bytes, |block| c.apart_from(block))?;
        let Some((types, mut product)) = checked else {
            return Ok(());
        };
        match types {
            _ if layout.is_rows() => match types {
                MatmulTypes::Element(element) => product.run(exec, element),
                MatmulTypes::Mixed(types) => mixed::run(exec, types, &mut product),
            },
            MatmulTypes::Element(element) => {
                with_element!(element, T => elements::<T>(exec, layout, &mut product))
            }
            MatmulTypes::Mixed(types) => mixed::run_each(types, &mut product, &|p, count| {
                run::mixed(exec, layout, types, p, count)
            }),
        }
    })
}

/// Runs products of one type with a packed B.
///
/// # Safety
/// As [`matmul_packed`]; the arguments have been checked.
#[inline(always)]
unsafe fn elements<T: Element>(
    exec: &Exec<'_>,
    layout: &Layout,
    product: &mut Product,
) -> Result<()> {
    let batches = product.batches::<T>(Orders::of(exec.is_batch_invariant()));
    for number in 0..batches.count() {
        // SAFETY: as the caller's.
        unsafe { run::elements(exec, layout, batches.get(number))? };
    }
    Ok(())
}

/// Returns what a packed matrix is, which has the layout of `exec`.
///
/// # Safety
/// `packed` must be valid for reading `size` bytes.
#[inline]
unsafe fn read(exec: &Exec<'_>, packed: *const u8, size: usize) -> Result<Description> {
    let invalid = Error::InvalidValue { arg: PACKED };
    // SAFETY: as the caller's; once the shape has been read, the address is aligned and valid for a header.
    let (((code, bits), k, n), header) =
        unsafe { (packed_shape(packed, size)?, run::header(packed)) };
    let of = Type::of(code, bits).ok_or(invalid)?;
    let packing = Packing::of(of).ok_or(invalid)?;
    let description = packing
        .describe(exec, of, (k, n))
        .map_err(|error| match error {
            Error::SizeOverflow { .. } => invalid,
            error => error,
        })?;
    description.check(&header, size, PACKED)?;
    Ok(description)
}

/// Calls `f` with a tensor in the place of a packed matrix: of its shape and type, at the first panel.
fn with_tensor<R>(description: &Description, packed: *const u8, f: impl FnOnce(&Tensor) -> R) -> R {
    let shape = [description.k as i64, description.n as i64];
    let panels = packed.wrapping_add(HEADER).cast_mut();
    f(&tensor(panels, description.of, &shape))
}

/// Calls `f` with all bytes of a packed matrix, as a tensor.
fn bytes_of(packed: *const u8, bytes: usize, f: impl FnOnce(&Operand) -> Result<()>) -> Result<()> {
    let shape = [bytes as i64];
    let all = tensor(packed.cast_mut(), (1, 8), &shape);
    // SAFETY: the shape is valid.
    f(&unsafe { Operand::new(&all, PACKED)? })
}

/// Returns a tensor of contiguous elements in plain memory.
fn tensor(data: *mut u8, (code, bits): (u8, u8), shape: &[i64]) -> Tensor {
    const HOST: i32 = 1;
    Tensor {
        data: data.cast(),
        device_type: HOST,
        device_id: 0,
        ndim: shape.len() as i32,
        dtype_code: code,
        dtype_bits: bits,
        dtype_lanes: 1,
        shape: shape.as_ptr(),
        strides: core::ptr::null(),
        byte_offset: 0,
    }
}

/// Checks the address of a packed matrix.
fn check_address(packed: *const u8) -> Result<()> {
    if packed.is_null() {
        return Err(Error::NullPointer { arg: PACKED });
    }
    if !packed.addr().is_multiple_of(ALIGN) {
        return Err(Error::Misaligned { arg: PACKED });
    }
    Ok(())
}

/// Names the packed matrix where an error names b.
fn renamed(error: Error) -> Error {
    match error {
        Error::ShapeMismatch { arg: "b" } => Error::ShapeMismatch { arg: PACKED },
        Error::TypeMismatch { arg: "b" } => Error::TypeMismatch { arg: PACKED },
        error => error,
    }
}
