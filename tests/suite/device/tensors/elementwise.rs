//! Elementwise operations, on arrays of any strides and on numbers.

use super::{call_each, each_type, on_device, refused, row_major};
use diptych::table::Role;
use diptych::tensor::{self, Tensor};
use diptych::{Exec, Result, Storage, f16, for_each_elementwise, if_optional};
use diptych_emulator::Emulator;
use diptych_gpu::tensor as device;
use diptych_tests::device::single;
use diptych_tests::tensors::{Array, broadcast_from, indices, random_shape};
use fastrand::Rng;

/// An operation on both backends.
pub struct Operation {
    pub name: &'static str,
    pub roles: Vec<Role>,
    pub takes_integers: bool,
    pub host: unsafe fn(&[Tensor], &Tensor) -> Result<()>,
    pub device: unsafe fn(&Emulator, &[Tensor], &Tensor) -> Result<()>,
}

macro_rules! operations {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $integers:ident)*) => {
        pub fn operations() -> Vec<Operation> {
            vec![$(Operation {
                name: stringify!($name),
                roles: vec![$(Role::$role),*],
                takes_integers: stringify!($integers) != "refused",
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
for_each_elementwise!(operations! {} [name arguments roles integers]);

fn try_one<T: Storage>(rng: &mut Rng, operation: &Operation)
where
    T::Compute: From<f32>,
    f64: From<T::Compute>,
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
        let [want, got] =
            [&*on_host, &*elsewhere].map(|array| f64::from(array.get(&index).into_compute()));
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
            each_type!(try_one(&mut rng, &operation));
        }
    }
}

/// Numbers of `f16` that are rounded in every way, and NaNs; a NaN that is only copied keeps its bits.
#[test]
fn halves_are_rounded_once() {
    let mut x = Array::<f16>::with_strides(&[1 << 16], vec![1]);
    let mut y = Array::<f16>::with_strides(&[1 << 16], vec![1]);
    let mut outs = [0; 2].map(|_| Array::<f16>::with_strides(&[1 << 16], vec![1]));
    let mut rng = Rng::with_seed(8);
    for i in 0..1 << 16 {
        x.set(&[i], f16::from_bits(i as u16));
        y.set(&[i], f16::from_bits(rng.u16(..)));
    }
    let of_type = |tensor: Tensor, dtype_code| Tensor {
        dtype_code,
        ..tensor
    };
    // The same bits as `f16`, and as `bf16`.
    for code in [2, 4] {
        for operation in operations().iter().filter(|one| one.roles.len() < 3) {
            let is_fill = operation.name == "fill";
            let mut one = Array::<f16>::with_strides(&[], vec![]);
            one.fill(|| f16::from_bits(if is_fill { 0xFFC5 } else { 0x3C01 }));
            let inputs = operation.roles.iter().enumerate();
            let inputs: Vec<Tensor> = inputs
                .map(|(i, role)| match (role.is_array(), i) {
                    (false, _) => of_type(one.tensor(), code),
                    (true, 0) => of_type(x.tensor(), code),
                    (true, _) => of_type(y.tensor(), code),
                })
                .collect();
            let arrays: Vec<Tensor> = operation
                .roles
                .iter()
                .zip(&inputs)
                .map(|(role, &tensor)| Tensor {
                    device_type: if role.is_array() { 2 } else { 1 },
                    ..tensor
                })
                .collect();
            outs.iter_mut()
                .for_each(|out| out.fill(|| f16::from_bits(0x3C00)));
            let [on_host, elsewhere] = outs.each_mut().map(|out| of_type(out.tensor(), code));
            let elsewhere = Tensor {
                device_type: 2,
                ..elsewhere
            };
            for config in single() {
                // SAFETY: the tensors are valid.
                unsafe {
                    (operation.host)(&inputs, &on_host).unwrap();
                    let done = (operation.device)(&config.emulator(), &arrays, &elsewhere);
                    assert_eq!(done, Ok(()), "{}", operation.name);
                }
            }
            let is_nan = |bits: u16| bits & 0x7FFF > if code == 2 { 0x7C00 } else { 0x7F80 };
            for i in 0..1 << 16 {
                let [want, got] = outs.each_ref().map(|out| out.get(&[i]).to_bits());
                let same = want == got || !is_fill && is_nan(want) && is_nan(got);
                assert!(
                    same,
                    "{} of {i:#x}, {code}: {got:#x}, not {want:#x}",
                    operation.name
                );
            }
        }
    }
}
