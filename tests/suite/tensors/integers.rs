//! Operations over tensors of integers, against a scalar model of each element and of each result.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::reduce::{pick, some_axes};
use diptych::tensor::{self, Tensor};
use diptych::{Exec, Result, for_each_elementwise, for_each_reduction, if_optional, table::Role};
use diptych_tests::integers;
use diptych_tests::levels::levels;
use diptych_tests::mixed::{Number, Whole};
use diptych_tests::tensors::{Array, broadcast_from, indices, own_index, random_shape};
use diptych_tests::threads::Scoped;
use fastrand::Rng;

/// An elementwise operation; a scalar that may be absent is an `Option`.
struct Elementwise {
    name: &'static str,
    roles: Vec<Role>,
    updates: bool,
    call: unsafe fn(&Exec<'_>, &[Option<&Tensor>], &Tensor) -> Result<()>,
}

macro_rules! elementwise {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $mode:ident $integers:ident)*) => {
        /// Those that take integers.
        fn elementwise() -> Vec<Elementwise> {
            let mut all = vec![];
            $(if stringify!($integers) != "refused" {
                all.push(Elementwise {
                    name: stringify!($name),
                    roles: vec![$(Role::$role),*],
                    updates: stringify!($mode) == "update",
                    call: |exec, inputs, out| {
                        let [$($arg),*] = *inputs else { unreachable!() };
                        // SAFETY: as the caller's.
                        unsafe { tensor::$name(exec, $(if_optional!($role [$arg] [$arg.unwrap()]),)* out) }
                    },
                });
            })*
            all
        }
    };
}
for_each_elementwise!(elementwise! {} [name arguments roles mode integers]);

/// A call of a reduction.
type Reduce = unsafe fn(&Exec<'_>, &Tensor, Option<&[i32]>, &Tensor) -> Result<()>;

/// A reduction.
struct Reduction {
    name: &'static str,
    gives_total: bool,
    gives_index: bool,
    needs_elements: bool,
    call: Reduce,
}

macro_rules! reductions {
    ({} $($name:ident [$($ddof:ident)?] $out:ident $empty:ident [$($Fold:ident)?])*) => {
        /// Those that take integers.
        fn reductions() -> Vec<Reduction> {
            let mut all = vec![];
            $($(all.push(Reduction {
                name: stringify!($name),
                gives_total: stringify!($out) == "element" && !matches!(stringify!($Fold), "Min" | "Max"),
                gives_index: stringify!($out) != "element",
                needs_elements: stringify!($empty) == "refused",
                // SAFETY: as the caller's.
                call: |exec, x, axes, out| unsafe { tensor::$name(exec, x, axes, out) },
            });)?)*
            all
        }
    };
}
for_each_reduction!(reductions! {} [name ddof result empty integers]);

/// Any number; often one of few, or one at which results wrap.
pub(super) fn draw<T: Whole>(rng: &mut Rng) -> T {
    let (least, greatest) = T::BOUNDS;
    T::wrapped(match rng.u8(..8) {
        0 => least,
        1 => greatest,
        2 => 0,
        3..5 => rng.i64(-3..4),
        _ => rng.i64(..),
    })
}

pub(super) fn described<T: Number>(array: &mut Array<T>) -> Tensor {
    let (code, bits) = T::DLPACK;
    array.described(code, bits)
}

/// Runs one elementwise operation on random tensors.
fn try_elementwise<T: Whole + PartialEq + std::fmt::Debug>(
    rng: &mut Rng,
    exec: &Exec<'_>,
    operation: &Elementwise,
    most: i64,
) {
    let shape = random_shape(rng, most);
    let is_plain = rng.u8(..3) == 0;
    let has_arrays = operation.roles.iter().any(|role| role.is_array());
    let full = rng.usize(..operation.roles.len());
    let array = |rng: &mut Rng, shape: &[i64]| {
        if is_plain {
            in_order(shape)
        } else {
            Array::<T>::random(rng, shape)
        }
    };
    let mut inputs = vec![];
    let needs_full = has_arrays && !operation.updates;
    for (i, role) in operation.roles.iter().enumerate() {
        let own = if needs_full && i == full || is_plain && role.is_array() {
            // One input has the whole shape.
            shape.clone()
        } else if !role.is_array() && (is_plain || rng.bool()) {
            vec![]
        } else {
            broadcast_from(rng, &shape)
        };
        let mut input = array(rng, &own);
        input.fill(|| draw(rng));
        inputs.push(input);
    }
    // In place, the output is an input that has its shape.
    let own = |k: &usize| operation.roles[*k].is_array() && inputs[*k].shape() == shape;
    let replaced = (0..inputs.len()).find(own);
    let replaced = replaced.filter(|_| !operation.updates && rng.bool());
    let mut out = array(rng, &shape);
    out.fill(|| draw(rng));
    let absent: Vec<bool> = operation
        .roles
        .iter()
        .enumerate()
        .map(|(i, role)| i != full && role.bound().is_some() && rng.u8(..4) == 0)
        .collect();
    let all = indices(&shape);
    let of = |index: &[i64]| -> Vec<T> {
        let elements = inputs.iter().zip(&operation.roles).zip(&absent);
        let elements = elements.map(|((x, role), absent)| {
            let (least, greatest) = T::BOUNDS;
            match role.bound() {
                Some(diptych::table::Bound::Lower) if *absent => T::wrapped(least),
                Some(diptych::table::Bound::Upper) if *absent => T::wrapped(greatest),
                _ => x.get(&own_index(x.shape(), index)),
            }
        });
        elements.collect()
    };
    let want: Vec<T> = all
        .iter()
        .map(|index| integers::elementwise(operation.name, &of(index), out.get(index)))
        .collect();
    let tensors: Vec<Tensor> = inputs.iter_mut().map(described).collect();
    let given: Vec<Option<&Tensor>> = tensors
        .iter()
        .zip(&absent)
        .map(|(tensor, absent)| (!absent).then_some(tensor))
        .collect();
    let to = replaced.map_or_else(|| described(&mut out), |k| tensors[k]);
    // SAFETY: the tensors are valid.
    let status = unsafe { (operation.call)(exec, &given, &to) };
    let what = format!(
        "{} of {} into {shape:?}, {tensors:?}",
        operation.name,
        T::NAME
    );
    assert_eq!(status, Ok(()), "{what}");
    let out = replaced.map_or(&out, |k| &inputs[k]);
    assert!(out.gaps_intact(), "{what}: wrote outside the output");
    for (index, want) in all.iter().zip(want) {
        assert_eq!(out.get(index), want, "{what} at {index:?}");
    }
}

/// Runs all elementwise operations on random tensors.
fn random_elementwise<T: Whole + PartialEq + std::fmt::Debug>(
    rounds: u64,
    most: i64,
    exec: &Exec<'_>,
) {
    for operation in elementwise() {
        for seed in 0..rounds {
            let mut rng = Rng::with_seed(seed);
            let run = || try_elementwise::<T>(&mut rng, exec, &operation, most);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
                eprintln!("{} of {} with seed {seed}", operation.name, T::NAME);
                resume_unwind(panic);
            }
        }
    }
}

/// A tensor in row-major order.
pub(super) fn in_order<T: Copy>(shape: &[i64]) -> Array<T> {
    let mut strides = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i].max(1);
    }
    Array::with_strides(shape, strides)
}

/// A tensor with random elements, in any layout; now and then some axes repeat elements.
pub(super) fn operand<T: Whole>(rng: &mut Rng, shape: &[i64]) -> Array<T> {
    let mut x = match rng.u8(..6) {
        0 => Array::with_strides(shape, shape.iter().map(|_| rng.i64(0..2)).collect()),
        1 | 2 => in_order(shape),
        _ => Array::random(rng, shape),
    };
    // Equal elements, so that the first extreme is one of several.
    let few = rng.u8(..3) == 0;
    let (least, greatest) = T::BOUNDS;
    x.fill(|| match few {
        true => T::wrapped(if rng.bool() { least } else { greatest }),
        false => draw(rng),
    });
    x
}

/// Runs one reduction of a random tensor, into the type `O`.
fn try_reduction<T: Whole, O: Whole>(
    rng: &mut Rng,
    exec: &Exec<'_>,
    reduction: &Reduction,
    most: i64,
) {
    let shape = random_shape(rng, most);
    let mut x = operand::<T>(rng, &shape);
    let (axes, set) = some_axes(rng, shape.len());
    let (reduced, kept) = (pick(&shape, &set, true), pick(&shape, &set, false));
    let keeps = rng.bool();
    let result: Vec<i64> = match keeps {
        true => shape
            .iter()
            .zip(&set)
            .map(|(&n, &is)| if is { 1 } else { n })
            .collect(),
        false => kept.clone(),
    };
    let mut out = Array::<O>::random(rng, &result);
    out.fill(|| draw(rng));
    let (tensor, to) = (described(&mut x), described(&mut out));
    // SAFETY: the tensors are valid.
    let status = unsafe { (reduction.call)(exec, &tensor, axes.as_deref(), &to) };
    let what = format!(
        "{} of {} {shape:?} over {axes:?}, {tensor:?}",
        reduction.name,
        T::NAME
    );
    let elements = indices(&reduced);
    let results = indices(&kept);
    if elements.is_empty() && reduction.needs_elements && !results.is_empty() {
        assert_eq!(
            status,
            Err(diptych::Error::EmptyReduction { arg: "n" }),
            "{what}"
        );
        return;
    }
    assert_eq!(status, Ok(()), "{what}");
    assert!(out.gaps_intact(), "{what}: wrote outside the output");
    for index in &results {
        let place = |inner: &[i64]| {
            let (mut inner, mut outer) = (inner.iter(), index.iter());
            let axes = set.iter();
            let next = axes.map(|&is| if is { inner.next() } else { outer.next() });
            next.map(|i| *i.unwrap()).collect::<Vec<i64>>()
        };
        let of: Vec<i64> = elements
            .iter()
            .map(|inner| x.get(&place(inner)).wide())
            .collect();
        let want = O::wrapped(integers::reduction(reduction.name, &of));
        let mut own = index.iter();
        let at: Vec<i64> = match keeps {
            true => set
                .iter()
                .map(|&is| if is { 0 } else { *own.next().unwrap() })
                .collect(),
            false => index.clone(),
        };
        assert_eq!(
            out.get(&at).wide(),
            want.wide(),
            "{what} at {index:?} to {}",
            O::NAME
        );
    }
}

/// Runs all reductions of random tensors, into each type that they take.
fn random_reductions<T: Whole>(rounds: u64, most: i64, exec: &Exec<'_>) {
    for reduction in reductions() {
        for seed in 0..rounds {
            let mut rng = Rng::with_seed(seed);
            let rng = &mut rng;
            let run = || match seed % 3 {
                _ if reduction.gives_index => try_reduction::<T, i64>(rng, exec, &reduction, most),
                0 if reduction.gives_total => try_reduction::<T, i32>(rng, exec, &reduction, most),
                1 if reduction.gives_total => try_reduction::<T, i64>(rng, exec, &reduction, most),
                _ => try_reduction::<T, T>(rng, exec, &reduction, most),
            };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
                eprintln!("{} of {} with seed {seed}", reduction.name, T::NAME);
                resume_unwind(panic);
            }
        }
    }
}

fn random(rounds: u64, most: i64, exec: &Exec<'_>) {
    random_elementwise::<i8>(rounds, most, exec);
    random_elementwise::<u8>(rounds, most, exec);
    random_elementwise::<i32>(rounds, most, exec);
    random_elementwise::<i64>(rounds, most, exec);
    random_reductions::<i8>(3 * rounds, most, exec);
    random_reductions::<u8>(3 * rounds, most, exec);
    random_reductions::<i32>(3 * rounds, most, exec);
    random_reductions::<i64>(3 * rounds, most, exec);
}

#[test]
fn every_level_gives_the_exact_results() {
    for &level in levels() {
        let exec = Exec::new().with_level(level).unwrap();
        random(40, 6000, &exec);
    }
}

#[test]
fn threads_change_nothing() {
    let pool = Scoped::new(3);
    let exec = Exec::new().with_pool(&pool, 3);
    random(2, 600_000, &exec);
}

/// Sums along the first axis, and over both, of elements that are all this value.
fn try_constant<T: Whole>(exec: &Exec<'_>, shape: [i64; 2], value: T) {
    let [rows, columns] = shape;
    let mut x = Array::<T>::with_strides(&shape, vec![columns, 1]);
    x.fill(|| value);
    for reduction in reductions() {
        if !reduction.gives_total && !reduction.gives_index || reduction.name == "prod" {
            continue;
        }
        for (axes, results, elements) in
            [(Some(&[0][..]), columns, rows), (None, 1, rows * columns)]
        {
            let shape = [results];
            let shape = if axes.is_some() { &shape[..] } else { &[] };
            let mut out = Array::<i64>::with_strides(shape, vec![1; shape.len()]);
            let (from, to) = (described(&mut x), described(&mut out));
            // SAFETY: the tensors are valid.
            unsafe { (reduction.call)(exec, &from, axes, &to) }.unwrap();
            let want = integers::reduction(reduction.name, &vec![value.wide(); elements as usize]);
            for index in indices(shape).iter().take(200) {
                let what = (reduction.name, rows, columns, value.wide());
                assert_eq!(out.get(index), want, "{what:?} at {index:?}");
            }
        }
    }
}

/// Lanes of few bits overflow after more rows than a kernel takes: sums of bytes that are all extreme.
#[test]
fn long_sums_of_bytes_are_exact() {
    for &level in levels() {
        let exec = Exec::new().with_level(level).unwrap();
        for shape in [[1, 3_000_000], [3_000_000, 1], [20_000, 70], [70_000, 3]] {
            for value in [i8::MIN, i8::MAX, -1] {
                try_constant(&exec, shape, value);
            }
            try_constant(&exec, shape, u8::MAX);
        }
    }
}

/// Every number of elements behind the last whole row of lanes, around the most rows that a kernel takes at once.
#[test]
fn sums_of_bytes_are_exact_whatever_their_number() {
    let rows = [1, 2, 126, 127, 128, 129, 253, 254, 255, 256, 600];
    for &level in levels() {
        let exec = Exec::new().with_level(level).unwrap();
        for n in rows
            .into_iter()
            .flat_map(|rows| [-1, 0, 1, 31, 63].map(|rest| 64 * rows + rest))
        {
            try_constant(&exec, [1, n], u8::MAX);
            try_constant(&exec, [1, n], i8::MIN);
            try_constant(&exec, [n, 1], u8::MAX);
        }
    }
}
