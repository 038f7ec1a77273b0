//! Reductions over neighbouring axes.

use super::{on_device, refused, row_major};
use diptych::tensor::{self, Tensor};
use diptych::{Exec, Result, for_each_reduction};
use diptych_device::real::Real;
use diptych_emulator::Emulator;
use diptych_gpu::tensor as device;
use diptych_tests::device::single;
use diptych_tests::tensors::{Array, random_shape};
use fastrand::Rng;

/// Reduces a tensor over axes, with ddof = 0.
type OnHost = unsafe fn(&Tensor, Option<&[i32]>, &Tensor) -> Result<()>;
type OnDevice = unsafe fn(&Emulator, &Tensor, Option<&[i32]>, &Tensor) -> Result<()>;

/// A reduction on both backends.
struct Reduction {
    name: &'static str,
    gives_index: bool,
    needs_elements: bool,
    host: OnHost,
    device: OnDevice,
}

macro_rules! reductions {
    ({} $($(#[$doc:meta])* $name:ident $rows:ident $columns:ident($($ddof:ident)?): $Bound:ident -> $out:ident $folds:tt $recipe:ident, $empty:ident, $facts:tt)*) => {
        fn reductions() -> Vec<Reduction> {
            vec![$(Reduction {
                name: stringify!($name),
                gives_index: stringify!($out) != "element",
                needs_elements: stringify!($empty) == "refused",
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
for_each_reduction!(reductions! {});

/// Reduces neighbouring axes of a row-major tensor, whose first axis may have a gap; results may be anywhere.
fn reduce_one<T: Real>(rng: &mut Rng, reduction: &Reduction)
where
    T::Compute: From<f32>,
{
    let shape = random_shape(rng, 3000);
    let rank = shape.len();
    let first = rng.usize(..=rank);
    let end = rng.usize(first..=rank);
    let axes: Vec<i32> = (first..end).map(|axis| axis as i32).collect();
    let kept: Vec<i64> = [&shape[..first], &shape[end..]].concat();
    let elements: i64 = shape[first..end].iter().product();
    let results: i64 = kept.iter().product();
    if elements == 0 && results > 0 && reduction.needs_elements {
        return;
    }
    let mut strides = row_major(&shape);
    if first > 0 && rng.bool() {
        strides[0] += 3;
    }
    let mut x = Array::<T>::with_strides(&shape, strides);
    x.fill(|| T::from_compute((rng.f32() * 4.0 - 1.0).into()));
    // As words of the size of a result: an i64, or an element.
    let size = if reduction.gives_index {
        8
    } else {
        size_of::<T>()
    };
    let code = if reduction.gives_index { 0 } else { 2 };
    let mut outs = [0; 2].map(|_| Array::<f64>::random(&mut Rng::with_seed(3), &kept));
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
    unsafe { (reduction.host)(&x.tensor(), Some(&axes), &tensor_of(on_host)) }.unwrap();
    let out = Tensor {
        device_type: 2,
        ..tensor_of(elsewhere)
    };
    for config in single() {
        // SAFETY: as above; the emulator's memory is that of the host.
        let done = unsafe {
            (reduction.device)(&config.emulator(), &on_device(&mut x), Some(&axes), &out)
        };
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
        for _ in 0..12 {
            reduce_one::<f32>(&mut rng, &reduction);
            reduce_one::<f64>(&mut rng, &reduction);
        }
    }
}
