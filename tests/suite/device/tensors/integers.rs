//! Operations on tensors of integers, against those of the CPU and a scalar model.

use super::elementwise::{Operation, operations};
use super::{reduce, refused, row_major};
use crate::barriers::{SCHEDULES, barrier_lines};
use diptych::Error;
use diptych::tensor::Tensor;
use diptych_emulator::{Emulator, Schedule};
use diptych_gpu::tensor as device;
use diptych_tests::device::single;
use diptych_tests::integers;
use diptych_tests::mixed::{Draw, Whole};
use diptych_tests::tensors::{Array, broadcast_from, indices, random_shape};
use fastrand::Rng;
use std::collections::BTreeSet;
use std::path::Path;

/// Calls a generic function for every type of integers.
macro_rules! each_integer {
    ($function:ident $arguments:tt) => {
        $function::<i8> $arguments;
        $function::<u8> $arguments;
        $function::<i32> $arguments;
        $function::<i64> $arguments;
    };
}

fn described<T: Whole>(array: &mut Array<T>, device_type: i32) -> Tensor {
    let (code, bits) = T::DLPACK;
    Tensor {
        device_type,
        ..array.described(code, bits)
    }
}

/// An array with random elements, half of the time in row-major order.
fn filled<T: Whole + Draw>(rng: &mut Rng, shape: &[i64]) -> Array<T> {
    let mut array = match rng.bool() {
        true => Array::with_strides(shape, row_major(shape)),
        false => Array::random(rng, shape),
    };
    array.fill(|| T::draw(rng));
    array
}

/// Two arrays with the same strides and elements: outputs of the two backends.
fn pair<T: Whole + Draw>(rng: &mut Rng, shape: &[i64]) -> [Array<T>; 2] {
    let seed = rng.u64(..);
    [0; 2].map(|_| filled(&mut Rng::with_seed(seed), shape))
}

fn compare<T: Whole>(what: &str, [host, device]: &[Array<T>; 2]) {
    assert!(device.gaps_intact(), "{what} wrote outside");
    for index in indices(host.shape()) {
        let [want, got] = [host, device].map(|array| array.get(&index).wide());
        assert_eq!(got, want, "{what} of {} at {index:?}", T::NAME);
    }
}

/// Runs an operation on tensors of this shape, contiguous ones if `is_plain`.
fn try_one<T: Whole + Draw>(rng: &mut Rng, operation: &Operation, shape: &[i64], is_plain: bool) {
    let full = operation.roles.iter().position(|role| role.is_array());
    let mut inputs: Vec<Array<T>> = vec![];
    for (i, role) in operation.roles.iter().enumerate() {
        let own = match role.is_array() {
            true if is_plain || Some(i) == full => shape.to_vec(),
            true => broadcast_from(rng, shape),
            false => vec![],
        };
        let mut input = match is_plain {
            true => Array::with_strides(&own, row_major(&own)),
            false => Array::random(rng, &own),
        };
        input.fill(|| T::draw(rng));
        inputs.push(input);
    }
    let mut outs = match is_plain {
        true => [0; 2].map(|_| {
            let mut out = Array::with_strides(shape, row_major(shape));
            out.fill(|| T::wrapped(7));
            out
        }),
        false => pair::<T>(rng, shape),
    };
    let number_is_on_host = rng.bool();
    let host: Vec<Tensor> = inputs.iter_mut().map(|x| described(x, 1)).collect();
    let arrays = operation.roles.iter().zip(&host);
    let arrays: Vec<Tensor> = arrays
        .map(|(role, &x)| Tensor {
            device_type: if role.is_array() && (x.ndim > 0 || !number_is_on_host) {
                2
            } else {
                1
            },
            ..x
        })
        .collect();
    let what = format!("{} {shape:?} {arrays:?}", operation.name);
    // SAFETY: the tensors are valid; the emulator's memory is that of the host.
    unsafe { (operation.host)(&host, &described(&mut outs[0], 1)) }.unwrap();
    let out = described(&mut outs[1], 2);
    // The second run would update the output again.
    for config in &single()[..1] {
        // SAFETY: as above.
        let done = unsafe { (operation.device)(&config.emulator(), &arrays, &out) };
        assert_eq!(done, Ok(()), "{what}");
    }
    compare(&what, &outs);
}

#[test]
fn elementwise_operations_have_the_results_of_the_cpu() {
    let mut rng = Rng::with_seed(31);
    for operation in operations().iter().filter(|one| one.takes_integers) {
        for _ in 0..6 {
            let shape = random_shape(&mut rng, 1200);
            each_integer!(try_one(&mut rng, operation, &shape, false));
        }
        // Whole packs of 16 bytes, and what is left behind them.
        for n in [1, 15, 16, 33, 1000] {
            each_integer!(try_one(&mut rng, operation, &[n], true));
        }
    }
}

/// `outer`, `ger` and `dot`.
fn try_products<T: Whole + Draw>(rng: &mut Rng) {
    let (m, n) = (rng.i64(0..40), rng.i64(0..40));
    let (mut x, mut y) = (filled::<T>(rng, &[m]), filled::<T>(rng, &[n]));
    let alpha = [1, -3, i64::MIN][rng.usize(..3)];
    let (mut out, mut a) = (pair::<T>(rng, &[m, n]), pair::<T>(rng, &[m, n]));
    for index in indices(&[m, n]) {
        let (u, v) = (x.get(&index[..1]), y.get(&index[1..]));
        out[0].set(&index, integers::outer_product(1, u, v, T::wrapped(0)));
        let updated = integers::outer_product(alpha, u, v, a[0].get(&index));
        a[0].set(&index, updated);
    }
    let emulator = single()[rng.usize(..single().len())].emulator();
    let (u, v) = (described(&mut x, 2), described(&mut y, 2));
    let [to, update] = [&mut out[1], &mut a[1]].map(|array| described(array, 2));
    // SAFETY: the tensors are valid.
    unsafe {
        device::outer(&emulator, &u, &v, &to)
            .map_err(refused)
            .unwrap();
        device::ger(&emulator, alpha as f64, &u, &v, &update)
            .map_err(refused)
            .unwrap();
        let whole = device::ger(&emulator, 0.5, &u, &v, &update).map_err(refused);
        assert_eq!(whole, Err(Error::InvalidValue { arg: "alpha" }));
    }
    compare("outer", &out);
    compare("ger", &a);
}

#[test]
fn outer_products_are_exact() {
    let mut rng = Rng::with_seed(32);
    for _ in 0..40 {
        each_integer!(try_products(&mut rng));
    }
}

/// Dot products of `T` with themselves, to the type of their products.
fn try_dots<T: Whole + Draw, O: Whole + Draw>(rng: &mut Rng) {
    let (batch, n) = (rng.i64(1..4), rng.i64(0..3000));
    let (mut x, mut y) = (filled::<T>(rng, &[batch, n]), filled::<T>(rng, &[n]));
    let mut dots = pair::<O>(rng, &[batch]);
    for i in 0..batch {
        let products = (0..n).map(|j| x.get(&[i, j]).wide().wrapping_mul(y.get(&[j]).wide()));
        let sum = products.fold(0_i64, i64::wrapping_add);
        dots[0].set(&[i], O::wrapped(sum));
    }
    let emulator = single()[rng.usize(..single().len())].emulator();
    let (u, v, out) = (
        described(&mut x, 2),
        described(&mut y, 2),
        described(&mut dots[1], 2),
    );
    // SAFETY: the tensors are valid.
    unsafe {
        device::dot(&emulator, &u, &v, &out)
            .map_err(refused)
            .unwrap()
    };
    compare("dot", &dots);
}

#[test]
fn dot_products_are_exact() {
    let mut rng = Rng::with_seed(33);
    for _ in 0..10 {
        try_dots::<i8, i32>(&mut rng);
        try_dots::<i32, i32>(&mut rng);
        try_dots::<i64, i64>(&mut rng);
    }
}

/// Reduces an array over some axes, and compares each result with the model's.
fn try_reduction<T: Whole + Draw, O: Whole + Draw>(
    rng: &mut Rng,
    reduction: &reduce::Reduction,
    shape: &[i64],
) {
    let is_empty = shape.contains(&0);
    if is_empty && reduction.needs_elements {
        return;
    }
    let mut x = filled::<T>(rng, shape);
    if rng.bool() {
        // Equal elements, so that the first extreme is one of several.
        x.fill(|| T::wrapped(rng.i64(-1..2)));
    }
    let set: Vec<bool> = shape.iter().map(|_| rng.bool()).collect();
    let axes: Vec<i32> = (0..shape.len())
        .filter(|&i| set[i])
        .map(|i| i as i32)
        .collect();
    let pick = |reduced: bool| -> Vec<i64> {
        let both = shape.iter().zip(&set).filter(|(_, is)| **is == reduced);
        both.map(|(&count, _)| count).collect()
    };
    let (kept, reduced) = (indices(&pick(false)), indices(&pick(true)));
    let mut out = Array::<O>::random(rng, &pick(false));
    out.fill(|| O::draw(rng));
    let (from, to) = (described(&mut x, 2), described(&mut out, 2));
    let config = &single()[rng.usize(..single().len())];
    // SAFETY: the tensors are valid; the emulator's memory is that of the host.
    let done = unsafe { (reduction.device)(&config.emulator(), &from, Some(&axes), &to) };
    let what = format!(
        "{} of {} {shape:?} over {axes:?}, {from:?}",
        reduction.name,
        T::NAME
    );
    assert_eq!(done, Ok(()), "{what}");
    assert!(out.gaps_intact(), "{what} wrote outside");
    for index in &kept {
        let of: Vec<i64> = reduced
            .iter()
            .map(|inner| {
                let (mut inner, mut outer) = (inner.iter(), index.iter());
                let place = set
                    .iter()
                    .map(|&is| if is { inner.next() } else { outer.next() });
                x.get(&place.map(|i| *i.unwrap()).collect::<Vec<i64>>())
                    .wide()
            })
            .collect();
        let want = O::wrapped(integers::reduction(reduction.name, &of));
        assert_eq!(out.get(index).wide(), want.wide(), "{what} at {index:?}");
    }
}

/// Calls it with each type of results that the reduction gives.
fn try_results<T: Whole + Draw>(rng: &mut Rng, reduction: &reduce::Reduction, shape: &[i64]) {
    if reduction.gives_index {
        return try_reduction::<T, i64>(rng, reduction, shape);
    }
    try_reduction::<T, T>(rng, reduction, shape);
    if !matches!(reduction.name, "min" | "max") {
        try_reduction::<T, i32>(rng, reduction, shape);
        try_reduction::<T, i64>(rng, reduction, shape);
    }
}

#[test]
fn reductions_are_exact() {
    let mut rng = Rng::with_seed(34);
    for reduction in reduce::reductions().iter().filter(|one| one.takes_integers) {
        for _ in 0..12 {
            let shape = random_shape(&mut rng, 900);
            each_integer!(try_results(&mut rng, reduction, &shape));
        }
        // Rows that several blocks share, whole packs, and matrices whose columns are reduced.
        for shape in [&[1, 70_000][..], &[3, 9000], &[9000, 3], &[400, 70], &[17]] {
            each_integer!(try_results(&mut rng, reduction, shape));
        }
    }
}

/// Sums columns that several blocks share, each of which has several.
fn sums(emulator: &Emulator) -> Result<Vec<i64>, String> {
    let shape = [70_000, 3];
    let mut x = Array::<i32>::with_strides(&shape, row_major(&shape));
    let rng = &mut Rng::with_seed(35);
    x.fill(|| i32::draw(rng));
    let mut out = Array::<i64>::with_strides(&[3], vec![1]);
    out.fill(|| 0);
    let (from, to) = (described(&mut x, 2), described(&mut out, 2));
    // SAFETY: the tensors are valid.
    unsafe { device::sum(emulator, &from, Some(&[0]), &to) }.map_err(|error| error.to_string())?;
    Ok((0..3).map(|i| out.get(&[i])).collect())
}

/// Without any one barrier, sums fault or have other bits.
#[test]
fn every_barrier_of_folds_is_needed() {
    let emulator = |schedule| Emulator::new(schedule).with_multiprocessors(132);
    let whole = emulator(Schedule::InOrder);
    let want = sums(&whole);
    assert!(want.is_ok(), "{want:?}");
    // One block for all rows: the same sums.
    assert_eq!(sums(&emulator(Schedule::InOrder).with_scratch(0)), want);
    let mut lines = BTreeSet::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = Path::new("kernels-gpu/device/src/ops/integers");
    barrier_lines(&root, folder, &mut lines);
    let executed = whole.barriers();
    let seen: BTreeSet<_> = executed
        .iter()
        .map(|b| (b.file.to_string(), b.line))
        .collect();
    assert!(!lines.is_empty() && lines.is_subset(&seen), "{lines:?}");
    for barrier in executed {
        let is_needed = SCHEDULES
            .into_iter()
            .any(|schedule| sums(&emulator(schedule).without(barrier.clone())) != want);
        assert!(is_needed, "{barrier} can be left out");
    }
}
