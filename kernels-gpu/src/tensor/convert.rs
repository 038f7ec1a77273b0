//! Copies of tensors with another type, other strides or a larger shape.

use super::axes::{take_axes, upright};
use crate::ops::elementwise::tiles;
use core::ptr;
use diptych::backend::tensor::{
    CheckedConversion, List, Location, Loop, Loops, MAX_OPERANDS, Type, check_convert, for_each,
};
use diptych::tensor::Tensor;
use diptych_device::gpu::parameters::{self, Source, Target};
use diptych_device::launch::{self, Device};

/// See `diptych::tensor::convert`. `x` may also be one number in memory of the host.
///
/// # Errors
/// Those of that function; errors of the device.
///
/// # Safety
/// The tensors must be valid on the device until the launches have run, a number on the host.
pub unsafe fn convert<D: Device>(device: &D, x: &Tensor, out: &Tensor) -> Result<(), D::Error> {
    let mut job = CheckedConversion::empty();
    // SAFETY: as the caller's.
    if unsafe { !check_convert(x, out, Location::Device, &mut job)? } {
        return Ok(());
    }
    let number = Location::HostOnly
        .holds(x.device_type)
        // SAFETY: the caller vouches for the number.
        .then(|| unsafe { bits_at(job.loops.first[1], job.of.size()) });
    // SAFETY: as the caller's.
    unsafe { copy(device, job, number) }
}

/// Returns the bits of a number of `size` bytes, at most 8, in memory of the host.
///
/// # Safety
/// `p` must be valid for reading it.
pub unsafe fn bits_at(p: *const u8, size: usize) -> u64 {
    let mut bytes = [0; 8];
    // SAFETY: as the caller's.
    unsafe { ptr::copy_nonoverlapping(p, bytes.as_mut_ptr(), size) };
    u64::from_ne_bytes(bytes)
}

/// Launches a copy, once for each index of the loops that no launch has. With a number, that is copied instead of `x`.
///
/// # Safety
/// As [`convert`].
pub unsafe fn copy<D: Device>(
    device: &D,
    job: CheckedConversion,
    number: Option<u64>,
) -> Result<(), D::Error> {
    let CheckedConversion { of, to, loops } = job;
    let mut outer = loops.loops;
    let [of_type, to_type] = if is_copied(of, to) {
        [copied_as(&mut outer, loops.first, to.size()); 2]
    } else {
        [of, to].map(described)
    };
    let size = (of_type.bits / 8) as isize;
    let axes = upright(take_axes(&mut outer, |one| one.steps[1] == size));
    let (grid, shape) = tiles(axes.map(|axis| axis.count));
    let mut done = Ok(());
    for_each(&outer, loops.first, |[out, x, ..]| {
        let x = Source {
            p: if number.is_some() { ptr::null() } else { x },
            number: number.unwrap_or(0),
            steps: axes.map(|axis| axis.steps[1] as i64),
        };
        let out = Target {
            p: out,
            steps: axes.map(|axis| axis.steps[0] as i64),
        };
        if done.is_ok() {
            // SAFETY: as the caller's.
            done =
                unsafe { launch::convert::<f32, D>(device, grid, shape, of_type, to_type, x, out) };
        }
    });
    done
}

/// Returns whether elements of the type `to` have the bits of those of the type `of`.
fn is_copied(of: Type, to: Type) -> bool {
    let is_integer = |one| matches!(one, Type::Integer(_));
    of == to || (is_integer(of) && is_integer(to) && of.size() == to.size())
}

/// Returns a type with the description that the kernel takes.
fn described(of: Type) -> parameters::Type {
    parameters::Type {
        code: of.code().into(),
        bits: 8 * of.size() as u32,
    }
}

/// Returns a copy between two arrays of one type: axes are given by their lengths and by the bytes from one element to the
/// next in the copy and in the original.
pub fn copy_of(
    of: Type,
    axes: impl Iterator<Item = (usize, isize, isize)>,
    to: *mut u8,
    from: *mut u8,
) -> CheckedConversion {
    let mut loops = List::new();
    for (count, to, from) in axes.filter(|(count, ..)| *count != 1) {
        let steps = [to, from, 0, 0, 0];
        loops.push(Loop { count, steps });
    }
    CheckedConversion {
        of,
        to: of,
        loops: Loops::of_copy(loops, to, from),
    }
}

/// Returns the integers as which elements of `size` bytes are copied, and changes the loops over the elements to loops
/// over these integers: they are as large as the alignment of contiguous elements allows.
fn copied_as(
    loops: &mut List<Loop>,
    [out, x, ..]: [*mut u8; MAX_OPERANDS],
    mut size: usize,
) -> parameters::Type {
    while size < 8 {
        let (own, twice) = (size as isize, 2 * size as isize);
        let Some((inner, outer)) = loops.split_last_mut() else {
            break;
        };
        let is_pair = inner.steps[..2] == [own; 2]
            && inner.count % 2 == 0
            && outer
                .iter()
                .all(|one| one.steps[..2].iter().all(|step| step % twice == 0))
            && [out, x].iter().all(|p| p.addr().is_multiple_of(2 * size));
        if !is_pair {
            break;
        }
        inner.count /= 2;
        inner.steps[..2].fill(twice);
        size *= 2;
    }
    parameters::Type {
        code: parameters::UINT,
        bits: 8 * size as u32,
    }
}
