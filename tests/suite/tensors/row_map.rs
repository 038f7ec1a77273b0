//! Maps over axes of tensors: each row has the bits of the map of its elements as one contiguous row, in row-major order of
//! the axes.

use diptych::tensor::{self, Tensor};
use diptych::{Element, Error, Exec, Result, for_each_row_map, raw};
use diptych_tests::tensors::{Array, indices, random_shape};
use diptych_tests::threads::Scoped;
use fastrand::Rng;

use super::reduce::{bits, draw, layout, on_each_level, pick, rounds, some_axes};

type Call = unsafe fn(&Exec<'_>, &Tensor, Option<&[i32]>, &Tensor) -> Result<()>;
/// Makes arguments wrong.
type Change = fn(&mut Tensor, &mut Tensor);

/// A map over axes of a tensor, and over one row.
struct RowMap<T> {
    name: &'static str,
    tensor: Call,
    /// Replaces a row.
    row: fn(&Exec<'_>, &mut [T]),
}

macro_rules! row_maps {
    ({} $($name:ident)*) => {
        fn row_maps<T: Element>() -> Vec<RowMap<T>> {
            vec![$(RowMap {
                name: stringify!($name),
                tensor: tensor::$name,
                row: |exec, x| {
                    let (n, p) = (x.len() as i64, x.as_mut_ptr());
                    // SAFETY: the slice is valid.
                    unsafe { raw::$name(exec, 1, n, p, n, 1, p, n, 1) }.unwrap();
                },
            }),*]
        }
    };
}
for_each_row_map!(row_maps! {}[name]);

/// The index whose parts along the axes of the set are `along`, and the others `row`.
fn joined(set: &[bool], row: &[i64], along: &[i64]) -> Vec<i64> {
    let (mut row, mut along) = (row.iter(), along.iter());
    let mut next = |&is_along: &bool| {
        let from = if is_along { &mut along } else { &mut row };
        *from.next().unwrap()
    };
    set.iter().map(&mut next).collect()
}

/// What a map must give: pairs of an index and the bits of the element.
fn expected<T: Element>(
    exec: &Exec<'_>,
    map: &RowMap<T>,
    x: &Array<T>,
    set: &[bool],
) -> Vec<(Vec<i64>, u64)>
where
    f64: From<T>,
{
    let along = indices(&pick(x.shape(), set, true));
    let mut all = Vec::new();
    for row in indices(&pick(x.shape(), set, false)) {
        let places = || along.iter().map(|along| joined(set, &row, along));
        let mut values: Vec<T> = places().map(|index| x.get(&index)).collect();
        (map.row)(exec, &mut values);
        all.extend(places().zip(values.into_iter().map(bits)));
    }
    all
}

/// Whether these are the bits of the same number, or of two NaNs.
fn agree(a: u64, b: u64) -> bool {
    a == b || (f64::from_bits(a).is_nan() && f64::from_bits(b).is_nan())
}

/// Checks all maps of a tensor with random elements over some axes, into another tensor and in place.
fn try_array<T: Element + From<f32>>(
    rng: &mut Rng,
    execs: &[Exec<'_>],
    mut x: Array<T>,
    wanted: Option<Vec<bool>>,
) where
    T::Compute: From<f32>,
    f64: From<T> + From<T::Compute>,
{
    let shape = x.shape().to_vec();
    let special = [0, 0, 2, 100][rng.usize(..4)];
    x.fill(|| draw(rng, special));
    let (axes, set) = match wanted {
        Some(set) => {
            let axes = (0..set.len() as i32).filter(|&i| set[i as usize]);
            (Some(axes.collect::<Vec<i32>>()), set)
        }
        None => some_axes(rng, shape.len()),
    };
    for map in row_maps::<T>() {
        let what = format!("{} of {shape:?} over {axes:?}", map.name);
        let want = expected(&execs[0], &map, &x, &set);
        let check = |out: &Array<T>, what: &str| {
            assert!(out.gaps_intact(), "{what}: wrote outside the output");
            for (index, want) in &want {
                let got = bits(out.get(index));
                assert!(
                    agree(got, *want),
                    "{what} at {index:?}: {got:x}, not {want:x}"
                );
            }
        };
        for exec in execs {
            let mut out = Array::random(rng, &shape);
            // SAFETY: the tensors are valid.
            let status = unsafe { (map.tensor)(exec, &x.tensor(), axes.as_deref(), &out.tensor()) };
            assert_eq!(status, Ok(()), "{what}");
            check(&out, &what);
            let mut both = Array::<T>::random(rng, &shape);
            for index in indices(&shape) {
                both.set(&index, x.get(&index));
            }
            let tensor = both.tensor();
            // SAFETY: the tensor is valid.
            let status = unsafe { (map.tensor)(exec, &tensor, axes.as_deref(), &tensor) };
            assert_eq!(status, Ok(()), "{what} in place");
            check(&both, &format!("{what} in place"));
        }
    }
}

#[test]
fn rows_have_the_bits_of_single_calls() {
    let execs = on_each_level();
    rounds(1, 250, |rng| {
        let shape = random_shape(rng, 3000);
        let x = layout::<f32>(rng, &shape);
        try_array(rng, &execs, x, None);
    });
    rounds(1000, 150, |rng| {
        let shape = random_shape(rng, 3000);
        let x = layout::<f64>(rng, &shape);
        try_array(rng, &execs, x, None);
    });
}

/// Rows over two axes that cannot be merged, in several blocks: these have at most 4 KiB of results, and 128 KiB of elements.
#[test]
fn rows_of_several_axes_in_blocks() {
    let pool = Scoped::new(3);
    let mut execs = on_each_level();
    execs.push(Exec::new().with_pool(&pool, 3));
    let shapes = [
        [3, 2500, 5],
        [40, 30, 60],
        [300, 7, 130],
        [2, 3, 40_000],
        [130, 1, 900],
    ];
    rounds(1, 2, |rng| {
        for shape in shapes {
            let x = Array::<f32>::random(rng, &shape);
            try_array(rng, &execs, x, Some(vec![true, false, true]));
            let strides = vec![shape[1] * shape[2], shape[2], 1];
            let x = Array::<f64>::with_strides(&shape, strides);
            try_array(rng, &execs, x, Some(vec![true, false, true]));
        }
    });
}

/// The statuses of all maps over the rows of a 2 by 3 tensor of f32, with these changes, which must write nothing if they are
/// refused.
fn statuses(axes: Option<&[i32]>, change: impl Fn(&mut Tensor, &mut Tensor)) -> Vec<Result<()>> {
    let status = |map: RowMap<f32>| {
        let mut block = [1.0_f32; 64];
        let mut x = Tensor {
            data: block.as_mut_ptr().cast(),
            device_type: 1,
            device_id: 0,
            ndim: 2,
            dtype_code: 2,
            dtype_bits: 32,
            dtype_lanes: 1,
            shape: [2, 3].as_ptr(),
            strides: std::ptr::null(),
            byte_offset: 0,
        };
        let mut out = Tensor {
            byte_offset: 128,
            ..x
        };
        change(&mut x, &mut out);
        // SAFETY: all elements lie in the block, unless the call is refused.
        let status = unsafe { (map.tensor)(&Exec::new(), &x, axes, &out) };
        assert!(
            status.is_ok() || block == [1.0; 64],
            "{} wrote something",
            map.name
        );
        status
    };
    row_maps().into_iter().map(status).collect()
}

fn all_are(found: Vec<Result<()>>, want: Result<()>) {
    assert!(!found.is_empty());
    found.into_iter().for_each(|found| assert_eq!(found, want));
}

#[test]
fn axes_that_do_not_fit_are_refused() {
    let same = |_: &mut Tensor, _: &mut Tensor| {};
    for good in [None, Some(&[][..]), Some(&[0]), Some(&[-1]), Some(&[1, -2])] {
        all_are(statuses(good, same), Ok(()));
    }
    for bad in [
        &[2][..],
        &[-3],
        &[0, 0],
        &[1, -1],
        &[i32::MIN],
        &[i32::MAX],
        &[0, 1, 0],
    ] {
        all_are(
            statuses(Some(bad), same),
            Err(Error::InvalidValue { arg: "axes" }),
        );
    }
}

#[test]
fn shapes_and_types_that_do_not_fit_are_refused() {
    let change = |change: Change| statuses(Some(&[1]), change);
    let (x, out) = ("x", "out");
    let shape = Err(Error::ShapeMismatch { arg: out });
    all_are(change(|_, t| t.shape = [3, 2].as_ptr()), shape);
    all_are(change(|_, t| t.shape = [2, 1].as_ptr()), shape);
    all_are(change(|_, t| t.ndim = 1), shape);
    all_are(change(|t, _| t.shape = [2, 1].as_ptr()), shape);
    let unsupported = Err(Error::UnsupportedType { arg: x });
    for (code, bits) in [(0, 32), (1, 8), (6, 8)] {
        let both = move |x: &mut Tensor, out: &mut Tensor| {
            for tensor in [x, out] {
                (tensor.dtype_code, tensor.dtype_bits) = (code, bits);
            }
        };
        all_are(statuses(Some(&[1]), both), unsupported);
    }
    all_are(
        change(|_, t| t.dtype_bits = 64),
        Err(Error::TypeMismatch { arg: out }),
    );
}

#[test]
fn memory_that_does_not_fit_is_refused() {
    let change = |change: Change| statuses(Some(&[1]), change);
    let (x, out) = ("x", "out");
    let cases: [(Change, Error); 12] = [
        (|t, _| t.ndim = 65, Error::InvalidValue { arg: x }),
        (|_, t| t.ndim = -1, Error::InvalidValue { arg: out }),
        (
            |t, _| t.shape = std::ptr::null(),
            Error::NullPointer { arg: x },
        ),
        (|t, _| t.device_type = 2, Error::Unsupported { arg: x }),
        (|_, t| t.device_type = 2, Error::Unsupported { arg: out }),
        (
            |t, _| t.data = std::ptr::null_mut(),
            Error::NullPointer { arg: x },
        ),
        (
            |_, t| (t.data, t.byte_offset) = (std::ptr::null_mut(), 0),
            Error::NullPointer { arg: out },
        ),
        (|_, t| t.byte_offset = 130, Error::Misaligned { arg: out }),
        // One element further, and the same elements in another order.
        (|_, t| t.byte_offset = 4, Error::Overlap { arg: out }),
        (
            |x, t| (x.strides, t.byte_offset) = ([1, 2].as_ptr(), 0),
            Error::Overlap { arg: out },
        ),
        (
            |_, t| t.strides = [0, 1].as_ptr(),
            Error::Overlap { arg: out },
        ),
        (
            |t, _| t.strides = [i64::MAX, i64::MIN].as_ptr(),
            Error::SizeOverflow { arg: x },
        ),
    ];
    for (i, (bad, error)) in cases.into_iter().enumerate() {
        for found in change(bad) {
            assert_eq!(found, Err(error), "case {i}");
        }
    }
    // Exactly x, and another block of the same matrix.
    all_are(change(|_, t| t.byte_offset = 0), Ok(()));
    let blocks = |x: &mut Tensor, out: &mut Tensor| {
        (x.strides, out.strides) = ([8, 1].as_ptr(), [8, 1].as_ptr());
        out.byte_offset = 4 * 4;
    };
    all_are(statuses(Some(&[1]), blocks), Ok(()));
    let none = |x: &mut Tensor, out: &mut Tensor| {
        for tensor in [x, out] {
            (tensor.shape, tensor.data) = ([0, 3].as_ptr(), std::ptr::null_mut());
        }
    };
    all_are(statuses(Some(&[1]), none), Ok(()));
}
