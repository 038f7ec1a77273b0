//! Elementwise operations over tensors: each element has the bits of the operation on it alone.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use diptych::tensor::{self, Tensor};
use diptych::{
    Error, Exec, Result, Storage, bf16, f16, for_each_elementwise, if_optional, raw, table::Role,
};
use diptych_tests::levels::levels;
use diptych_tests::tensors::{Array, SPECIAL, broadcast_from, indices, own_index, random_shape};
use diptych_tests::threads::Scoped;
use fastrand::Rng;

/// An operation over tensors, and on one element of each.
struct Operation<T> {
    name: &'static str,
    roles: Vec<Role>,
    updates: bool,
    call: unsafe fn(&Exec<'_>, &[Tensor], &Tensor) -> Result<()>,
    one: fn(&[T], T) -> T,
}

macro_rules! operations {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $mode:ident)*) => {
        fn operations<T: Storage>() -> Vec<Operation<T>> {
            vec![$(Operation {
                name: stringify!($name),
                roles: vec![$(Role::$role),*],
                updates: stringify!($mode) == "update",
                call: |exec, inputs, out| {
                    let [$($arg),*] = inputs else { unreachable!() };
                    // SAFETY: as the caller's.
                    unsafe { tensor::$name(exec, $(if_optional!($role [Some($arg)] [$arg]),)* out) }
                },
                one: |inputs, mut out| {
                    let [$($arg),*] = inputs else { unreachable!() };
                    let exec = Exec::new();
                    // SAFETY: one element each.
                    unsafe { raw::$name(&exec, 1, $(operations!(@argument $kind $arg),)* &mut out) }.unwrap();
                    out
                },
            }),*]
        }
    };
    (@argument scalar $arg:ident) => { $arg.into_compute() };
    (@argument array $arg:ident) => { $arg };
}
for_each_elementwise!(operations! {} [name arguments roles mode]);

/// A number, now and then a special one.
fn draw<T: Storage>(rng: &mut Rng) -> T
where
    T::Compute: From<f32>,
{
    let value = match rng.usize(..40) {
        i if i < SPECIAL.len() => SPECIAL[i],
        _ => (rng.f32() - 0.5) * 8.0,
    };
    T::from_compute(value.into())
}

/// The bits of a number; all NaNs are one.
fn bits<T: Storage>(value: T) -> u64
where
    f64: From<T::Compute>,
{
    let value = f64::from(value.into_compute());
    if value.is_nan() {
        u64::MAX
    } else {
        value.to_bits()
    }
}

/// Runs one operation on random tensors.
fn try_one<T: Storage>(rng: &mut Rng, exec: &Exec<'_>, operation: &Operation<T>, most: i64)
where
    T::Compute: From<f32>,
    f64: From<T::Compute>,
{
    let shape = random_shape(rng, most);
    let has_arrays = operation.roles.iter().any(|role| role.is_array());
    let full = rng.usize(..operation.roles.len());
    let mut inputs: Vec<Array<T>> = Vec::new();
    for (i, role) in operation.roles.iter().enumerate() {
        let own = if i == full && has_arrays && !operation.updates {
            // One input has the whole shape.
            shape.clone()
        } else if !role.is_array() && rng.bool() {
            vec![]
        } else {
            broadcast_from(rng, &shape)
        };
        let mut input = Array::random(rng, &own);
        input.fill(|| draw(rng));
        inputs.push(input);
    }
    let mut out = Array::random(rng, &shape);
    out.fill(|| draw(rng));
    let of = |index: &[i64]| -> Vec<T> {
        let elements = inputs.iter().map(|x| x.get(&own_index(x.shape(), index)));
        elements.collect()
    };
    let all = indices(&shape);
    let want: Vec<T> = all
        .iter()
        .map(|index| (operation.one)(&of(index), out.get(index)))
        .collect();
    let tensors: Vec<Tensor> = inputs.iter_mut().map(Array::tensor).collect();
    // SAFETY: the tensors are valid.
    let status = unsafe { (operation.call)(exec, &tensors, &out.tensor()) };
    let what = format!(
        "{} of {:?} into {shape:?}, {tensors:?}",
        operation.name,
        inputs.iter().map(Array::shape).collect::<Vec<_>>()
    );
    assert_eq!(status, Ok(()), "{what}");
    assert!(out.gaps_intact(), "{what}: wrote outside the output");
    for (index, want) in all.iter().zip(want) {
        let got = out.get(index);
        assert_eq!(
            bits(got),
            bits(want),
            "{what} at {index:?}: {got:?} instead of {want:?}"
        );
    }
}

/// Runs all operations on random tensors.
fn random<T: Storage>(seed: u64, rounds: u64, most: i64, exec: &Exec<'_>)
where
    T::Compute: From<f32>,
    f64: From<T::Compute>,
{
    for operation in operations::<T>() {
        for round in 0..rounds {
            let seed = seed + round;
            let mut rng = Rng::with_seed(seed);
            let run = || try_one(&mut rng, exec, &operation, most);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
                eprintln!("{} with seed {seed}", operation.name);
                resume_unwind(panic);
            }
        }
    }
}

#[test]
fn elements_have_the_bits_of_single_calls() {
    for &level in levels() {
        let exec = Exec::new().with_level(level).unwrap();
        random::<f32>(1, 60, 6000, &exec);
        random::<f64>(1000, 30, 6000, &exec);
        random::<f16>(2000, 20, 3000, &exec);
        random::<bf16>(3000, 20, 3000, &exec);
    }
}

#[test]
fn threads_change_nothing() {
    let pool = Scoped::new(3);
    let exec = Exec::new().with_pool(&pool, 3);
    random::<f32>(4000, 2, 400_000, &exec);
}

/// The status of `add` on these shapes and strides of x, y and out, all in one block of memory, at these elements.
fn add(shapes: [&[i64]; 3], strides: [&[i64]; 3], at: [usize; 3]) -> Result<()> {
    let mut block = vec![1.0_f32; 4096];
    let tensor = |i: usize| Tensor {
        data: block.as_ptr().wrapping_add(at[i]).cast_mut().cast(),
        device_type: 1,
        device_id: 0,
        ndim: shapes[i].len() as i32,
        dtype_code: 2,
        dtype_bits: 32,
        dtype_lanes: 1,
        shape: shapes[i].as_ptr(),
        strides: strides[i].as_ptr(),
        byte_offset: 0,
    };
    let [x, y, out] = [0, 1, 2].map(tensor);
    // SAFETY: all elements lie in the block, unless the call is refused.
    let status = unsafe { tensor::add(&Exec::new(), &x, &y, &out) };
    let unchanged = block.iter_mut().all(|&mut element| element == 1.0);
    assert!(status.is_ok() || unchanged, "a refused call has written");
    status
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let refused = |arg| Err(Error::ShapeMismatch { arg });
    let add = |x: &[i64], y: &[i64], out: &[i64]| {
        let zero = [0; 4];
        let row = [1, 1, 1, 1];
        let strides = [&zero[..x.len()], &zero[..y.len()], &row[..out.len()]];
        add([x, y, out], strides, [0, 64, 128])
    };
    assert_eq!(add(&[3], &[], &[3]), Ok(()));
    assert_eq!(add(&[3], &[2], &[3]), refused("y"));
    assert_eq!(add(&[3], &[3], &[4]), refused("x"));
    assert_eq!(add(&[1], &[1], &[3]), refused("out"));
    assert_eq!(add(&[3], &[1, 3], &[3]), refused("y"));
    // Two numbers give a number, also where they would be taken for arrays.
    assert_eq!(add(&[], &[], &[]), Ok(()));
    assert_eq!(add(&[], &[], &[1]), refused("out"));
    assert_eq!(add(&[], &[1], &[1]), Ok(()));
    assert_eq!(add(&[0], &[1], &[0]), Ok(()));
    assert_eq!(
        add(&[-1], &[1], &[1]),
        Err(Error::NegativeSize { arg: "x" })
    );
    let huge = [i64::MAX, i64::MAX];
    assert_eq!(
        add(&huge, &[1], &[3]),
        Err(Error::SizeOverflow { arg: "x" })
    );
}

#[test]
fn overlap_is_refused_unless_exact() {
    let overlap = Err(Error::Overlap { arg: "out" });
    let (matrix, rows): (&[i64], &[i64]) = (&[8, 8], &[8, 1]);
    let columns: &[i64] = &[1, 8];
    let add = |strides: [&[i64]; 3], at| add([matrix; 3], strides, at);
    assert_eq!(add([rows; 3], [0, 64, 0]), Ok(()));
    assert_eq!(add([rows; 3], [0, 64, 64]), Ok(()));
    assert_eq!(add([rows; 3], [0, 64, 8]), overlap);
    assert_eq!(add([columns, rows, rows], [0, 64, 0]), overlap);
    assert_eq!(add([rows, rows, &[0, 1]], [0, 64, 128]), overlap);
    assert_eq!(add([rows, rows, &[1, 1]], [0, 64, 128]), overlap);
    // Halves of the rows of one matrix.
    assert_eq!(add([&[16, 1], rows, &[16, 1]], [0, 256, 8]), Ok(()));
}

#[test]
fn hostile_descriptions_are_refused() {
    // Aligned for every type.
    let element = [0_u64];
    let good = Tensor {
        data: element.as_ptr().cast_mut().cast(),
        device_type: 1,
        device_id: 0,
        ndim: 0,
        dtype_code: 2,
        dtype_bits: 32,
        dtype_lanes: 1,
        shape: std::ptr::null(),
        strides: std::ptr::null(),
        byte_offset: 0,
    };
    let mut result = 0.0_f32;
    let out = Tensor {
        data: (&raw mut result).cast(),
        ..good
    };
    // SAFETY: the descriptions are refused before anything is read, and the others are valid.
    let abs = |x: Tensor| unsafe { tensor::abs(&Exec::new(), &x, &out) };
    let arg = "x";
    assert_eq!(abs(good), Ok(()));
    assert_eq!(
        abs(Tensor { ndim: -1, ..good }),
        Err(Error::InvalidValue { arg })
    );
    assert_eq!(
        abs(Tensor { ndim: 65, ..good }),
        Err(Error::InvalidValue { arg })
    );
    assert_eq!(
        abs(Tensor { ndim: 1, ..good }),
        Err(Error::NullPointer { arg })
    );
    assert_eq!(
        abs(Tensor {
            data: std::ptr::null_mut(),
            ..good
        }),
        Err(Error::NullPointer { arg })
    );
    assert_eq!(
        abs(Tensor {
            byte_offset: 2,
            ..good
        }),
        Err(Error::Misaligned { arg })
    );
    assert_eq!(
        abs(Tensor {
            byte_offset: u64::MAX - 3,
            ..good
        }),
        Err(Error::SizeOverflow { arg })
    );
    assert_eq!(
        abs(Tensor {
            device_type: 2,
            ..good
        }),
        Err(Error::Unsupported { arg })
    );
    assert_eq!(
        abs(Tensor {
            dtype_lanes: 4,
            ..good
        }),
        Err(Error::UnsupportedType { arg })
    );
    assert_eq!(
        abs(Tensor {
            dtype_code: 9,
            ..good
        }),
        Err(Error::UnsupportedType { arg })
    );
    assert_eq!(
        abs(Tensor {
            dtype_bits: 64,
            ..good
        }),
        Err(Error::TypeMismatch { arg })
    );
}
