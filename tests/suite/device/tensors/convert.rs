//! Conversions on the device, for every pair of types, against conversions of one number.

use super::refused;
use diptych::Error;
use diptych::tensor::Tensor;
use diptych_emulator::Emulator;
use diptych_gpu::tensor as device;
use diptych_tests::device::single;
use diptych_tests::number::{Number, converted, described};
use diptych_tests::pairs;
use diptych_tests::tensors::{Array, broadcast_from, indices, own_index, random_shape};
use fastrand::Rng;

/// The tensor in the memory of the device.
fn on_device<T: Number>(array: &mut Array<T>) -> Tensor {
    Tensor {
        device_type: 2,
        ..described(array)
    }
}

/// Converts `x` and compares each element.
fn check<A: Number, B: Number>(
    emulator: &Emulator,
    x: &mut Array<A>,
    own: &[i64],
    out: &mut Array<B>,
    shape: &[i64],
) {
    let (from, to) = (on_device(x), on_device(out));
    // SAFETY: the tensors are valid.
    let status = unsafe { device::convert(emulator, &from, &to) };
    assert_eq!(status, Ok(()));
    assert!(out.gaps_intact());
    for index in indices(shape) {
        let (element, got) = (x.get(&own_index(own, &index)), out.get(&index));
        assert_eq!(
            got.bits(),
            converted::<A, B>(element),
            "{element:?} at {index:?} of {from:?} {to:?}"
        );
    }
}

fn edges_of<A: Number, B: Number>(emulator: &Emulator) {
    let edges = A::edges();
    let shape = [edges.len() as i64];
    let mut x = Array::<A>::with_strides(&shape, vec![1]);
    let mut next = edges.iter();
    x.fill(|| *next.next().unwrap());
    let mut out = Array::<B>::with_strides(&shape, vec![1]);
    check(emulator, &mut x, &shape, &mut out, &shape);
}

fn random_of<A: Number, B: Number>(rng: &mut Rng, most: i64) {
    let shape = random_shape(rng, most);
    let own = broadcast_from(rng, &shape);
    let mut x = Array::<A>::random(rng, &own);
    x.fill(|| A::draw(rng));
    let mut out = Array::<B>::random(rng, &shape);
    for config in single() {
        check(&config.emulator(), &mut x, &own, &mut out, &shape);
    }
}

/// A number of the host fills an array.
fn number_of<A: Number, B: Number>(rng: &mut Rng, emulator: &Emulator) {
    let mut x = Array::<A>::with_strides(&[], vec![]);
    x.fill(|| A::draw(rng));
    let mut out = Array::<B>::random(rng, &[3, 5]);
    let to = on_device(&mut out);
    // SAFETY: the tensors are valid.
    let done = unsafe { device::convert(emulator, &described(&mut x), &to) };
    assert_eq!(done, Ok(()));
    for index in indices(&[3, 5]) {
        assert_eq!(out.get(&index).bits(), converted::<A, B>(x.get(&[])));
    }
}

#[test]
fn conversions_are_those_of_single_numbers() {
    let emulator = single()[0].emulator();
    let rng = &mut Rng::with_seed(5);
    pairs!(edges_of(&emulator));
    pairs!(number_of(rng, &emulator));
}

#[test]
fn shapes_and_strides_of_conversions() {
    let rng = &mut Rng::with_seed(7);
    pairs!(random_of(rng, 1500));
    // Many elements, which are copied in larger units where they lie side by side.
    for _ in 0..4 {
        random_of::<u8, u8>(rng, 40_000);
        random_of::<i16, u16>(rng, 40_000);
        random_of::<f32, f32>(rng, 40_000);
    }
}

#[test]
fn refusals_of_convert() {
    let emulator = single()[0].emulator();
    let mut x = Array::<f32>::with_strides(&[4], vec![1]);
    let mut out = Array::<f64>::with_strides(&[4], vec![1]);
    x.fill(|| 1.0);
    let (from, to) = (on_device(&mut x), on_device(&mut out));
    // SAFETY: the tensors are valid.
    let convert =
        |x: &Tensor, out: &Tensor| unsafe { device::convert(&emulator, x, out).map_err(refused) };
    assert_eq!(convert(&from, &to), Ok(()));
    assert_eq!(convert(&from, &from), Ok(()));
    let unsupported = |arg| Err(Error::Unsupported { arg });
    assert_eq!(convert(&described(&mut x), &to), unsupported("x"));
    assert_eq!(convert(&from, &described(&mut out)), unsupported("out"));
    let longer = Tensor {
        shape: [5].as_ptr(),
        ..from
    };
    assert_eq!(
        convert(&longer, &to),
        Err(Error::ShapeMismatch { arg: "x" })
    );
    let inside = Tensor {
        dtype_code: 0,
        ..from
    };
    assert_eq!(convert(&inside, &from), Err(Error::Overlap { arg: "out" }));
}
