//! Reductions over any axes.

use super::{call_each, each_type, on_device, refused, row_major};
use diptych::tensor::{self, Tensor};
use diptych::{Error, Exec, Result, Storage, bf16, f16, for_each_reduction};
use diptych_emulator::Emulator;
use diptych_gpu::tensor as device;
use diptych_tests::device::single;
use diptych_tests::tensors::{Array, random_shape};
use fastrand::Rng;

/// Reduces a tensor over axes, with ddof = 0.
type OnHost = unsafe fn(&Tensor, Option<&[i32]>, &Tensor) -> Result<()>;
type OnDevice = unsafe fn(&Emulator, &Tensor, Option<&[i32]>, &Tensor) -> Result<()>;

/// A reduction on both backends.
pub struct Reduction {
    pub name: &'static str,
    pub gives_index: bool,
    pub needs_elements: bool,
    pub takes_integers: bool,
    pub host: OnHost,
    pub device: OnDevice,
}

macro_rules! reductions {
    ({} $($name:ident [$($ddof:ident)?] $out:ident $empty:ident [$($Fold:ident)?])*) => {
        pub fn reductions() -> Vec<Reduction> {
            vec![$(Reduction {
                name: stringify!($name),
                gives_index: stringify!($out) != "element",
                needs_elements: stringify!($empty) == "refused",
                takes_integers: !stringify!($($Fold)?).is_empty(),
                host: |x, axes, out| {
                    $(let $ddof = 0;)?
                    // SAFETY: as the caller's.
                    unsafe { tensor::$name(&Exec::new(), x, axes, $($ddof,)? out) }
                },
                device: |emulator, x, axes, out| {
                    $(let $ddof = 0;)?
                    // SAFETY: as the caller's.
                    unsafe { device::$name(emulator, x, axes, $($ddof,)? out) }.map_err(refused)
                },
            }),*]
        }
    };
}
for_each_reduction!(reductions! {} [name ddof result empty integers]);

/// Returns a random shape of at most `most` elements, and some of its axes, often neighbours.
pub fn random_case(rng: &mut Rng, most: i64) -> (Vec<i64>, Vec<i32>) {
    let shape = random_shape(rng, most);
    let rank = shape.len();
    let first = rng.usize(..=rank);
    let end = rng.usize(first..=rank);
    let are_neighbours = rng.bool();
    let axes = (0..rank).filter(|axis| match are_neighbours {
        true => (first..end).contains(axis),
        false => rng.bool(),
    });
    let axes = axes.map(|axis| axis as i32).collect();
    (shape, axes)
}

/// Reduces axes of a tensor in all configurations; its elements and the results may be anywhere. The device has no more
/// scratch memory than `scratch` bytes.
fn reduce_one<T: Storage>(
    rng: &mut Rng,
    reduction: &Reduction,
    (shape, axes): &(Vec<i64>, Vec<i32>),
    scratch: usize,
) where
    T::Compute: From<f32>,
{
    let is_kept = |axis: usize| !axes.contains(&(axis as i32));
    let (kept, reduced): (Vec<_>, Vec<_>) = (0..shape.len()).partition(|&axis| is_kept(axis));
    let kept: Vec<i64> = kept.into_iter().map(|axis| shape[axis]).collect();
    let elements: i64 = reduced.into_iter().map(|axis| shape[axis]).product();
    let results: i64 = kept.iter().product();
    if elements == 0 && results > 0 && reduction.needs_elements {
        return;
    }
    let mut strides = row_major(shape);
    if !shape.is_empty() && rng.bool() {
        strides[0] += 3;
    }
    let mut x = match rng.u8(..3) {
        0 => Array::<T>::with_strides(shape, strides),
        _ => Array::<T>::random(rng, shape),
    };
    let has_specials = rng.u8(..8) == 0;
    x.fill(|| {
        let special = [f32::NAN, f32::INFINITY][rng.usize(..2)];
        let is_special = has_specials && rng.u8(..100) == 0;
        let ordinary = rng.f32() * 4.0 - 1.0;
        T::from_compute((if is_special { special } else { ordinary }).into())
    });
    // As words of the size of a result: an i64, an element, or a number that is not rounded to one.
    let unrounded = rng.bool();
    let (code, size) = if reduction.gives_index {
        (0, 8)
    } else if unrounded {
        (2, size_of::<T::Compute>())
    } else {
        (x.tensor().dtype_code, size_of::<T>())
    };
    let mut outs =
        [0; 2].map(|_| Array::<f64>::random(&mut Rng::with_seed(elements as u64), &kept));
    let tensor_of = |out: &mut Array<f64>| Tensor {
        dtype_code: code,
        dtype_bits: 8 * size as u8,
        byte_offset: 0,
        data: out
            .tensor()
            .data
            .wrapping_byte_add(out.tensor().byte_offset as usize),
        ..out.tensor()
    };
    let [on_host, elsewhere] = &mut outs;
    // SAFETY: the tensors are valid: there is room for the larger results.
    unsafe { (reduction.host)(&x.tensor(), Some(axes), &tensor_of(on_host)) }.unwrap();
    let out = Tensor {
        device_type: 2,
        ..tensor_of(elsewhere)
    };
    for config in single() {
        let emulator = config.emulator().with_scratch(scratch);
        // SAFETY: as above; the emulator's memory is that of the host.
        let done = unsafe { (reduction.device)(&emulator, &on_device(&mut x), Some(axes), &out) };
        assert_eq!(done, Ok(()), "{} {shape:?} over {axes:?}", reduction.name);
    }
    assert!(
        on_host.bytes() == elsewhere.bytes(),
        "{} {shape:?} over {axes:?}",
        reduction.name
    );
}

#[test]
fn reductions_have_the_bits_of_the_cpu() {
    let mut rng = Rng::with_seed(11);
    for reduction in reductions() {
        for _ in 0..20 {
            let case = random_case(&mut rng, 3000);
            each_type!(reduce_one(&mut rng, &reduction, &case, usize::MAX));
        }
    }
}

/// Rows of many chunks, which several blocks share, in several launches.
#[test]
fn long_rows_in_parts() {
    let mut rng = Rng::with_seed(13);
    let (vector, columns) = ((vec![264_000], vec![0]), (vec![263_000, 8], vec![0]));
    for reduction in reductions() {
        reduce_one::<f16>(&mut rng, &reduction, &vector, usize::MAX);
        if ["logsumexp", "var"].contains(&reduction.name) {
            reduce_one::<bf16>(&mut rng, &reduction, &columns, usize::MAX);
        }
    }
}

/// Rows are copied to scratch memory in slabs, if it has no room for all.
#[test]
fn rows_in_slabs() {
    let mut rng = Rng::with_seed(12);
    let cases = [
        (vec![100, 40, 11], vec![0, 2]),
        (vec![20, 7, 11, 30], vec![1, 3]),
        (vec![3, 5, 2, 301, 9], vec![0, 2, 4]),
    ];
    for (i, reduction) in reductions().iter().enumerate() {
        let case = &cases[i % cases.len()];
        each_type!(reduce_one(&mut rng, reduction, case, 140 << 10));
    }
    // A row must fit.
    let mut x = Array::<f32>::with_strides(&[1000, 100], vec![1, 1000]);
    let mut out = Array::<f32>::with_strides(&[], vec![]);
    let emulator = single()[0].emulator().with_scratch(256 << 10);
    // SAFETY: the tensors are valid.
    let sum = unsafe { device::sum(&emulator, &on_device(&mut x), None, &on_device(&mut out)) };
    let refused = sum.map_err(refused).unwrap_err();
    assert!(
        matches!(refused, Error::WorkspaceTooSmall { needed } if needed >= 400_000),
        "{refused}"
    );
}

/// The launches of a sum over axes, on a device with many multiprocessors.
fn launches_of_sum(shape: &[i64], axes: &[i32], out: (&[i64], Vec<i64>)) -> u32 {
    let emulator = single()[0].emulator().with_multiprocessors(132);
    let mut x = Array::<f32>::with_strides(shape, row_major(shape));
    let mut out = Array::<f32>::with_strides(out.0, out.1);
    // SAFETY: the tensors are valid.
    let done = unsafe {
        device::sum(
            &emulator,
            &on_device(&mut x),
            Some(axes),
            &on_device(&mut out),
        )
    };
    assert_eq!(done.map_err(refused), Ok(()));
    emulator.launches()
}

/// The number of launches does not grow with the tensor.
#[test]
fn launches_of_reductions() {
    for length in [200, 2100, 5000] {
        let middle = launches_of_sum(&[12, length, 8], &[1], (&[12, 8], vec![8, 1]));
        assert_eq!(middle, 1, "{length}");
    }
    // A copy, then the results in two dimensions: in any order, turned, or with gaps.
    for strides in [
        vec![2, 1],
        vec![1, 300],
        vec![2, -1],
        vec![-2, 1],
        vec![3, 1],
    ] {
        let apart = launches_of_sum(&[300, 8, 2, 8], &[1, 3], (&[300, 2], strides.clone()));
        assert!(apart <= 4, "{apart} for {strides:?}");
    }
}
