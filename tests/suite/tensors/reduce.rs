//! Reductions over axes of tensors: each result has the bits of the reduction of its elements as one vector, in
//! row-major order.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use diptych::tensor::{self, Tensor};
use diptych::{Error, Exec, Result, Storage, bf16, f16, for_each_reduction, raw};
use diptych_tests::levels::levels;
use diptych_tests::tensors::{Array, SPECIAL, indices, random_shape};
use fastrand::Rng;

mod gathered;

type Call = unsafe fn(&Exec<'_>, &Tensor, Option<&[i32]>, i64, &Tensor) -> Result<()>;

/// A reduction over axes of a tensor, and of a vector.
struct Reduction<T> {
    name: &'static str,
    ddof: bool,
    gives_index: bool,
    needs_elements: bool,
    tensor: Call,
    /// The bits of the result.
    vector: fn(&Exec<'_>, &[T], i64) -> u64,
}

macro_rules! reductions {
    ({} $($name:ident [$($ddof:ident)?] $out:ident $empty:ident)*) => {
        fn reductions<T: Storage>() -> Vec<Reduction<T>>
        where
            f64: From<T::Compute>,
        {
            let mut all = vec![];
            $(reductions!(@push all $name ($($ddof)?) $out $empty);)*
            all
        }
    };
    (@push $all:ident $name:ident ($($ddof:ident)?) $out:ident $empty:ident) => {
        $all.push(Reduction {
            name: stringify!($name),
            ddof: reductions!(@has $($ddof)?),
            gives_index: stringify!($out) != "element",
            needs_elements: stringify!($empty) == "refused",
            tensor: |exec, x, axes, _ddof, out| {
                $(let $ddof = _ddof;)?
                // SAFETY: as the caller's.
                unsafe { tensor::$name(exec, x, axes, $($ddof,)? out) }
            },
            vector: |exec, x, _ddof| {
                $(let $ddof = _ddof;)?
                let mut out = reductions!(@zero $out);
                // SAFETY: the slice is valid.
                unsafe { raw::$name(exec, x.len() as i64, x.as_ptr(), 1, $($ddof,)? &mut out) }.unwrap();
                reductions!(@bits $out out)
            },
        });
    };
    (@has) => { false };
    (@has $ddof:ident) => { true };
    (@zero element) => { T::default() };
    (@zero $index:ident) => { 0_i64 };
    (@bits element $value:ident) => { bits($value) };
    (@bits $index:ident $value:ident) => { $value as u64 };
}
for_each_reduction!(reductions! {} [name ddof result empty]);

/// The bits of a number, in the widest type.
pub fn bits<T: Storage>(value: T) -> u64
where
    f64: From<T::Compute>,
{
    f64::from(value.into_compute()).to_bits()
}

/// A number; special ones more often the higher `special` is.
pub fn draw<T: Storage>(rng: &mut Rng, special: u32) -> T
where
    T::Compute: From<f32>,
{
    let value = match rng.u32(..1000) {
        i if i < special => SPECIAL[rng.usize(..SPECIAL.len())],
        // Some are equal, for the first of several extremes.
        i if i < 500 => (rng.i8(-8..8)).into(),
        _ => (rng.f32() - 0.5) * 8.0,
    };
    T::from_compute(value.into())
}

/// The places of a tensor: a random layout, column-major, or one that repeats elements along some axes.
pub fn layout<T: Storage>(rng: &mut Rng, shape: &[i64]) -> Array<T> {
    let mut strides = vec![0; shape.len()];
    let mut next = 1;
    match rng.u8(..6) {
        0 => (),
        1 => {
            for (stride, count) in strides.iter_mut().zip(shape) {
                *stride = next;
                next *= count.max(&1);
            }
            return Array::with_strides(shape, strides);
        }
        _ => return Array::random(rng, shape),
    }
    for (stride, count) in strides.iter_mut().zip(shape).rev() {
        if rng.u8(..3) > 0 {
            *stride = next;
            next *= count.max(&1);
        }
    }
    Array::with_strides(shape, strides)
}

/// A random set of axes, some counted from the end, and which axes these are.
pub fn some_axes(rng: &mut Rng, rank: usize) -> (Option<Vec<i32>>, Vec<bool>) {
    if rng.u8(..5) == 0 {
        return (None, vec![true; rank]);
    }
    let set: Vec<bool> = (0..rank).map(|_| rng.bool()).collect();
    let mut axes: Vec<i32> = (0..rank as i32).filter(|&i| set[i as usize]).collect();
    rng.shuffle(&mut axes);
    for axis in &mut axes {
        *axis -= if rng.bool() { rank as i32 } else { 0 };
    }
    (Some(axes), set)
}

/// Takes the items of a list whose axes are in the set, or those that are not.
pub fn pick(list: &[i64], set: &[bool], wanted: bool) -> Vec<i64> {
    let items = list.iter().zip(set).filter(|&(_, &is)| is == wanted);
    items.map(|(item, _)| *item).collect()
}

/// What the reduction of `x` must give, in row-major order of the kept axes.
fn expected<T: Storage>(
    exec: &Exec<'_>,
    reduction: &Reduction<T>,
    x: &Array<T>,
    set: &[bool],
    ddof: i64,
) -> Vec<u64> {
    let (kept, reduced) = (pick(x.shape(), set, false), pick(x.shape(), set, true));
    let inner = indices(&reduced);
    let vector = |outer: &Vec<i64>| {
        let element = |inner: &Vec<i64>| {
            let (mut outer, mut inner) = (outer.iter(), inner.iter());
            let mut next = |&is_reduced: &bool| {
                let from = if is_reduced { &mut inner } else { &mut outer };
                *from.next().unwrap()
            };
            let index: Vec<i64> = set.iter().map(&mut next).collect();
            x.get(&index)
        };
        let elements: Vec<T> = inner.iter().map(element).collect();
        (reduction.vector)(exec, &elements, ddof)
    };
    indices(&kept).iter().map(vector).collect()
}

/// A reduction of one tensor over some axes.
struct Case<'a, T> {
    reduction: &'a Reduction<T>,
    axes: Option<&'a [i32]>,
    set: &'a [bool],
    ddof: i64,
    keeps: bool,
}

/// Checks one case with each execution. An output of indices is one of doubles by another name.
fn check<T: Storage, R: Storage>(
    rng: &mut Rng,
    execs: &[Exec<'_>],
    case: &Case<'_, T>,
    x: &mut Array<T>,
) where
    f64: From<T::Compute> + From<R::Compute>,
{
    let Case {
        reduction,
        axes,
        set,
        ddof,
        keeps,
    } = *case;
    let kept = pick(x.shape(), set, false);
    let mut shape = Vec::new();
    for (&count, &is_reduced) in x.shape().iter().zip(set) {
        if keeps || !is_reduced {
            shape.push(if is_reduced { 1 } else { count });
        }
    }
    let what = format!(
        "{} of {:?} over {axes:?} into {shape:?}",
        reduction.name,
        x.shape(),
    );
    let elements: i64 = pick(x.shape(), set, true).iter().product();
    let results: i64 = kept.iter().product();
    let refused = elements == 0 && results > 0 && reduction.needs_elements;
    let want = if refused {
        vec![]
    } else {
        expected(&execs[0], reduction, x, set, ddof)
    };
    for exec in execs {
        let mut out = Array::<R>::random(rng, &shape);
        let mut to = out.tensor();
        if reduction.gives_index {
            to.dtype_code = 0;
        }
        // SAFETY: the tensors are valid.
        let status = unsafe { (reduction.tensor)(exec, &x.tensor(), axes, ddof, &to) };
        if refused {
            assert_eq!(status, Err(Error::EmptyReduction { arg: "n" }), "{what}");
            continue;
        }
        assert_eq!(status, Ok(()), "{what}");
        assert!(out.gaps_intact(), "{what}: wrote outside the output");
        for (index, &want) in indices(&shape).iter().zip(&want) {
            let got = bits(out.get(index));
            assert_eq!(
                got, want,
                "{what} at {index:?}: {got:x} instead of {want:x}"
            );
        }
    }
}

/// Checks reductions of a random tensor of this shape.
fn try_one<T: Storage>(
    rng: &mut Rng,
    execs: &[Exec<'_>],
    reductions: &[Reduction<T>],
    shape: &[i64],
    set: Option<Vec<bool>>,
) where
    T::Compute: From<f32>,
    f64: From<T::Compute>,
{
    let x = layout(rng, shape);
    try_array(rng, execs, reductions, x, set);
}

/// Checks reductions of a tensor with random elements.
fn try_array<T: Storage>(
    rng: &mut Rng,
    execs: &[Exec<'_>],
    reductions: &[Reduction<T>],
    mut x: Array<T>,
    set: Option<Vec<bool>>,
) where
    T::Compute: From<f32>,
    f64: From<T::Compute>,
{
    let shape = &x.shape().to_vec();
    let special = [0, 0, 2, 300][rng.usize(..4)];
    x.fill(|| draw(rng, special));
    let (axes, set) = match set {
        Some(set) => {
            let axes = (0..set.len() as i32).filter(|&i| set[i as usize]);
            (Some(axes.collect()), set)
        }
        None => some_axes(rng, shape.len()),
    };
    let elements: i64 = pick(shape, &set, true).iter().product();
    for reduction in reductions {
        let case = Case {
            reduction,
            axes: axes.as_deref(),
            set: &set,
            ddof: if reduction.ddof && elements > 1 {
                rng.i64(0..2)
            } else {
                0
            },
            keeps: rng.bool(),
        };
        if reduction.gives_index {
            check::<T, f64>(rng, execs, &case, &mut x);
        } else {
            check::<T, T>(rng, execs, &case, &mut x);
        }
    }
}

/// Runs `rounds` cases, and prints the seed of one that fails.
pub fn rounds(seed: u64, rounds: u64, mut run: impl FnMut(&mut Rng)) {
    for seed in seed..seed + rounds {
        let mut rng = Rng::with_seed(seed);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(&mut rng))) {
            eprintln!("with seed {seed}");
            resume_unwind(panic);
        }
    }
}

/// An execution for each level.
pub fn on_each_level<'a>() -> Vec<Exec<'a>> {
    let exec = |&level| Exec::new().with_level(level).unwrap();
    levels().iter().map(exec).collect()
}

#[test]
fn results_have_the_bits_of_single_calls() {
    let execs = on_each_level();
    let (f32s, f64s) = (reductions::<f32>(), reductions::<f64>());
    let (f16s, bf16s) = (reductions::<f16>(), reductions::<bf16>());
    rounds(1, 250, |rng| {
        let shape = random_shape(rng, 3000);
        try_one(rng, &execs, &f32s, &shape, None);
    });
    rounds(1000, 120, |rng| {
        let shape = random_shape(rng, 3000);
        try_one(rng, &execs, &f64s, &shape, None);
    });
    rounds(2000, 200, |rng| {
        let shape = random_shape(rng, 3000);
        try_one(rng, &execs, &f16s, &shape, None);
        try_one(rng, &execs, &bf16s, &shape, None);
    });
}

/// More elements than f32 counts, in memory.
#[test]
fn counts_are_exact() {
    let (a, b) = (4300, 1000);
    let mut bytes = vec![1.0_f32; (2 * a * b) as usize];
    bytes[7] = 0.0;
    let shape = [a, 2, b];
    let x = Tensor {
        data: bytes.as_mut_ptr().cast(),
        device_type: 1,
        device_id: 0,
        ndim: 3,
        dtype_code: 2,
        dtype_bits: 32,
        dtype_lanes: 1,
        shape: shape.as_ptr(),
        strides: std::ptr::null(),
        byte_offset: 0,
    };
    let mut counts = [0_i64; 2];
    let out = Tensor {
        data: counts.as_mut_ptr().cast(),
        ndim: 1,
        dtype_code: 0,
        dtype_bits: 64,
        shape: [2].as_ptr(),
        ..x
    };
    // SAFETY: the tensors are valid.
    unsafe { tensor::count_nonzero(&Exec::new(), &x, Some(&[0, 2]), &out) }.unwrap();
    assert_eq!(counts, [a * b - 1, a * b]);
}
