//! Tensors on the device: each element has the bits of the CPU's, and what no kernel fits is refused.

use diptych::table::Role;
use diptych::tensor::{self, Tensor};
use diptych::{Error, Exec, Result, Storage, for_each_elementwise};
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
