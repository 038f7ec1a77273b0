//! Tensors on the device: each element has the bits of the CPU's, and what no kernel fits is refused.

use diptych::table::Role;
use diptych::tensor::{self, Tensor};
use diptych::{Error, Exec, Result, Storage, for_each_elementwise, for_each_reduction};
use diptych_device::real::Real;
use diptych_emulator::Emulator;
use diptych_gpu::tensor as device;
use diptych_tests::device::single;
use diptych_tests::tensors::{Array, broadcast_from, indices, random_shape};
use fastrand::Rng;

/// An operation on both backends.
struct Operation {
    name: &'static str,
    roles: Vec<Role>,
    host: unsafe fn(&[Tensor], &Tensor) -> Result<()>,
    device: unsafe fn(&Emulator, &[Tensor], &Tensor) -> Result<()>,
}

macro_rules! operations {
    ({} $($(#[$doc:meta])* $name:ident($($arg:ident: $role:ident),*) -> $out:ident: $mode:ident, $in_place:tt, $facts:tt)*) => {
        fn operations() -> Vec<Operation> {
            vec![$(Operation {
                name: stringify!($name),
                roles: vec![$(Role::$role),*],
                host: |inputs, out| {
                    let [$($arg),*] = inputs else { unreachable!() };
                    // SAFETY: as the caller's.
                    unsafe { tensor::$name(&Exec::new(), $(operations!(@option $arg $arg),)* out) }
                },
                device: |emulator, inputs, out| {
                    let [$($arg),*] = inputs else { unreachable!() };
                    // SAFETY: as the caller's.
                    unsafe { device::$name(emulator, $(operations!(@option $arg $arg),)* out) }.map_err(refused)
                },
            }),*]
        }
    };
    (@option lo $arg:ident) => { Some($arg) };
    (@option hi $arg:ident) => { Some($arg) };
    (@option $name:ident $arg:ident) => { $arg };
}
for_each_elementwise!(operations! {});

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

/// The refusal of an argument; kernels have no faults.
fn refused(error: diptych_emulator::Error) -> Error {
    match error {
        diptych_emulator::Error::Argument(error) => error,
        fault => panic!("{fault}"),
    }
}

/// The tensor in the memory of the device, which is that of the host here.
fn on_device<T: Storage>(array: &mut Array<T>) -> Tensor {
    Tensor {
        device_type: 2,
        ..array.tensor()
    }
}

/// An array whose last axis, if it has several elements, is contiguous; the others have gaps and any order.
fn lines<T: Storage>(rng: &mut Rng, shape: &[i64]) -> Array<T> {
    let Some((&last, outer)) = shape.split_last() else {
        return Array::with_strides(shape, vec![]);
    };
    let mut order: Vec<usize> = (0..outer.len()).collect();
    rng.shuffle(&mut order);
    let (mut strides, mut next) = (vec![1; shape.len()], last.max(1) + rng.i64(0..3));
    for axis in order {
        strides[axis] = next;
        next *= outer[axis].max(1);
    }
    Array::with_strides(shape, strides)
}

fn try_one<T: Real>(rng: &mut Rng, operation: &Operation)
where
    T::Compute: From<f32>,
    f64: From<T>,
{
    let mut shape = random_shape(rng, 1200);
    if shape.last().is_none_or(|&last| last < 2) {
        shape.push(5);
    }
    let mut inputs: Vec<Array<T>> = Vec::new();
    for role in &operation.roles {
        let mut own = match role.is_array() {
            true => broadcast_from(rng, &shape),
            false => vec![],
        };
        // Kernels do not repeat an element.
        if let (Some(own), Some(&all)) = (own.last_mut(), shape.last()) {
            *own = all;
        } else if role.is_array() {
            own = shape.clone();
        }
        let mut input = lines(rng, &own);
        input.fill(|| T::from_compute((rng.f32() * 4.0 - 1.0).into()));
        inputs.push(input);
    }
    if let Some(i) = operation.roles.iter().position(|role| role.is_array()) {
        inputs[i] = lines(rng, &shape);
        inputs[i].fill(|| T::from_compute((rng.f32() * 4.0 - 1.0).into()));
    }
    // The order of the axes of the output is that of the loops.
    let mut outs = [0; 2].map(|_| Array::<T>::with_strides(&shape, row_major(&shape)));
    for out in &mut outs {
        out.fill(|| T::from_compute(0.5.into()));
    }
    let [on_host, elsewhere] = &mut outs;
    let host: Vec<Tensor> = inputs.iter_mut().map(Array::tensor).collect();
    // SAFETY: the tensors are valid.
    unsafe { (operation.host)(&host, &on_host.tensor()) }.unwrap();
    let roles = operation.roles.iter();
    let arrays: Vec<Tensor> = roles
        .zip(&mut inputs)
        .map(|(role, input)| {
            if role.is_array() {
                on_device(input)
            } else {
                input.tensor()
            }
        })
        .collect();
    for config in single() {
        // SAFETY: as above; the emulator's memory is that of the host.
        let done =
            unsafe { (operation.device)(&config.emulator(), &arrays, &on_device(elsewhere)) };
        assert_eq!(done, Ok(()), "{} {shape:?} {arrays:?}", operation.name);
    }
    assert!(elsewhere.gaps_intact());
    for index in indices(&shape) {
        let [want, got] = [&*on_host, &*elsewhere].map(|array| f64::from(array.get(&index)));
        let same = want.to_bits() == got.to_bits() || (want.is_nan() && got.is_nan());
        let name = operation.name;
        assert!(same, "{name} at {index:?} of {shape:?}: {got}, not {want}");
    }
}

fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i].max(1);
    }
    strides
}

#[test]
fn elementwise_operations_have_the_bits_of_the_cpu() {
    let mut rng = Rng::with_seed(7);
    for operation in operations() {
        for _ in 0..6 {
            try_one::<f32>(&mut rng, &operation);
            try_one::<f64>(&mut rng, &operation);
        }
    }
}

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

#[test]
fn what_no_kernel_fits_is_refused() {
    let emulator = single()[0].emulator();
    let mut x = Array::<f32>::with_strides(&[3, 4], vec![4, 1]);
    let mut columns = Array::<f32>::with_strides(&[3, 4], vec![1, 3]);
    let mut one = Array::<f32>::with_strides(&[], vec![]);
    x.fill(|| 1.0);
    columns.fill(|| 1.0);
    one.fill(|| 2.0);
    let (x_tensor, column_tensor) = (on_device(&mut x), on_device(&mut columns));
    // SAFETY: the tensors are valid.
    unsafe {
        let unsupported = |arg| Err(Error::Unsupported { arg });
        let add = |x: &Tensor, y: &Tensor, out: &Tensor| {
            device::add(&emulator, x, y, out).map_err(refused)
        };
        assert_eq!(add(&x_tensor, &x_tensor, &x_tensor), Ok(()));
        assert_eq!(add(&x_tensor, &column_tensor, &x_tensor), unsupported("y"));
        assert_eq!(
            add(&x_tensor, &on_device(&mut one), &x_tensor),
            unsupported("y")
        );
        assert_eq!(add(&x.tensor(), &x_tensor, &x_tensor), unsupported("x"));
        let total = on_device(&mut one);
        let sum = |x: &Tensor, axes: &[i32]| {
            device::sum(&emulator, x, Some(axes), &total).map_err(refused)
        };
        assert_eq!(sum(&x_tensor, &[0, 1]), Ok(()));
        assert_eq!(sum(&column_tensor, &[0, 1]), unsupported("axes"));
        assert_eq!(
            sum(&x_tensor, &[2]),
            Err(Error::InvalidValue { arg: "axes" })
        );
        one.fill(|| 2.0);
        // Numbers are read on the host.
        let scale =
            |alpha: &Tensor| device::scale(&emulator, alpha, &x_tensor, &x_tensor).map_err(refused);
        assert_eq!(scale(&one.tensor()), Ok(()));
        assert_eq!(scale(&on_device(&mut one)), unsupported("alpha"));
        assert_eq!(
            device::clamp(&emulator, &x_tensor, None, Some(&one.tensor()), &x_tensor),
            Ok(())
        );
    }
}
