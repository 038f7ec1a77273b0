//! Elementwise operations, on arrays of any strides and on numbers.

use super::{on_device, refused, row_major};
use diptych::table::Role;
use diptych::tensor::{self, Tensor};
use diptych::{Exec, Result, for_each_elementwise, if_optional};
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
    ({} $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*))*) => {
        fn operations() -> Vec<Operation> {
            vec![$(Operation {
                name: stringify!($name),
                roles: vec![$(Role::$role),*],
                host: |inputs, out| {
                    let [$($arg),*] = inputs else { unreachable!() };
                    // SAFETY: as the caller's.
                    unsafe { tensor::$name(&Exec::new(), $(if_optional!($role [Some($arg)] [$arg]),)* out) }
                },
                device: |emulator, inputs, out| {
                    let [$($arg),*] = inputs else { unreachable!() };
                    // SAFETY: as the caller's.
                    unsafe { device::$name(emulator, $(if_optional!($role [Some($arg)] [$arg]),)* out) }.map_err(refused)
                },
            }),*]
        }
    };
}
for_each_elementwise!(operations! {} [name arguments roles]);

fn try_one<T: Real>(rng: &mut Rng, operation: &Operation)
where
    T::Compute: From<f32>,
    f64: From<T>,
{
    let shape = random_shape(rng, 1200);
    let mut inputs: Vec<Array<T>> = Vec::new();
    for role in &operation.roles {
        let own = match role.is_array() {
            true => broadcast_from(rng, &shape),
            false => vec![],
        };
        inputs.push(Array::random(rng, &own));
    }
    if let Some(i) = operation.roles.iter().position(|role| role.is_array()) {
        inputs[i] = Array::random(rng, &shape);
    }
    for input in &mut inputs {
        input.fill(|| T::from_compute((rng.f32() * 4.0 - 1.0).into()));
    }
    let seed = rng.u64(..);
    let mut outs = [0; 2].map(|_| match seed % 2 {
        0 => Array::<T>::with_strides(&shape, row_major(&shape)),
        _ => Array::<T>::random(&mut Rng::with_seed(seed), &shape),
    });
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
            // A number may be beside the arrays or on the host.
            if role.is_array() && (input.tensor().ndim > 0 || seed.is_multiple_of(3)) {
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
