//! Partial reductions: any cuts into updates, any parts at borders of chunks and any tree of merges give the bits of one call;
//! bytes that have changed and parts that do not fit are refused.

use std::fmt::Debug;

use diptych::{Error, Exec, Extensions, Partial, PartialElement, Total, VecRef, bf16, f16, wide};
use diptych_tests::device::is_full;
use diptych_tests::levels::levels;
use diptych_tests::mixed::Config;
use fastrand::Rng;

/// Elements in memory, with their stride.
struct Vector<T> {
    data: Vec<T>,
    stride: usize,
}

impl<T: Copy> Vector<T> {
    fn new(rng: &mut Rng, n: usize, stride: usize, mut number: impl FnMut(&mut Rng) -> T) -> Self {
        let data = (0..n * stride).map(|_| number(rng)).collect();
        Self { data, stride }
    }

    fn part(&self, from: usize, n: usize) -> VecRef<'_, T> {
        let offset = if n == 0 { 0 } else { from * self.stride };
        VecRef::with_stride(&self.data, offset, n, self.stride as isize).expect("a part")
    }
}

/// How a part begins, and how elements are added to it.
type Begin<'a, T> = &'a dyn Fn(u64) -> diptych::Result<Partial<T>>;
type Update<'a, T> = &'a dyn Fn(&mut Partial<T>, usize, usize);

/// Reduces n elements in random parts, updates and merges, each part through its bytes.
fn in_parts<T: PartialElement>(
    rng: &mut Rng,
    n: usize,
    begin: Begin<'_, T>,
    update: Update<'_, T>,
) -> Partial<T> {
    let chunk = T::CHUNK as usize;
    let mut cuts: Vec<usize> = (0..rng.usize(0..5))
        .map(|_| rng.usize(0..=n / chunk) * chunk)
        .collect();
    cuts.extend([0, n]);
    cuts.sort_unstable();
    let mut parts = Vec::new();
    for cut in cuts.windows(2) {
        let mut part = begin(cut[0] as u64).expect("a border of chunks");
        let mut at = cut[0];
        while at < cut[1] {
            let most = [3, 200, 5000, 20_000][rng.usize(..4)];
            let len = rng.usize(0..=most).min(cut[1] - at);
            update(&mut part, at, len);
            at += len;
        }
        parts.push(Partial::from_bytes(&part.to_bytes()).expect("bytes of a part"));
    }
    while parts.len() > 1 {
        let left = rng.usize(0..parts.len() - 1);
        let right = parts.remove(left + 1);
        parts[left].merge(&right).expect("a neighbour");
    }
    assert_eq!((parts[0].first(), parts[0].count()), (0, n as u64));
    parts.remove(0)
}

/// The result of a reduction in parts, in as many passes as it takes.
fn result<T: PartialElement>(
    rng: &mut Rng,
    n: usize,
    begin: Begin<'_, T>,
    update: Update<'_, T>,
) -> Total {
    let mut whole = in_parts(rng, n, begin, update);
    while whole.next_pass(0).expect("a whole").is_some() {
        assert_eq!(
            whole.finish().err(),
            Some(Error::PartialPass { arg: "partial" })
        );
        let before = whole;
        let again = |first| Ok(before.next_pass(first)?.expect("another pass"));
        whole = in_parts(rng, n, &again, update);
    }
    whole.finish().expect("a result")
}

/// The bits of a total; every NaN of a reduction is canonical.
fn bits(total: Total) -> u64 {
    match total {
        Total::Float(value) => value.to_bits(),
        Total::Integer(value) => value as u64,
    }
}

/// The lengths: around lanes, chunks and nodes.
fn length(rng: &mut Rng) -> usize {
    match rng.u32(0..4) {
        0 => rng.usize(1..200),
        1 => rng.usize(1..5000),
        _ => rng.usize(1..40_000),
    }
}

/// Calls `f` with an `Exec` of each level, on one thread and on three, some times.
fn for_each_exec(seed: u64, mut f: impl FnMut(&mut Rng, &Exec<'_>)) {
    let cases = if is_full() { 800 } else { 12 };
    let mut rng = Rng::with_seed(seed);
    for &level in levels() {
        for threads in [1, 3] {
            let config = Config {
                level,
                extensions: Extensions::NONE,
                threads,
                batch_invariant: false,
            };
            for _ in 0..cases {
                config.run(None, |exec| f(&mut rng, exec));
            }
        }
    }
}

/// Compares reductions with `raw` or `wide`, by name.
macro_rules! compare {
    ($T:ty, $rng:ident, $exec:ident, $x:ident, $n:ident: $($name:ident $(($ddof:literal))? = $want:expr;)*) => {$(
        let want: Total = $want;
        let update = |part: &mut Partial<$T>, at: usize, len: usize| {
            part.update($exec, $x.part(at, len)).expect("an update");
        };
        let begin = |first| Partial::<$T>::$name(first $(, $ddof)?);
        let found = result($rng, $n, &begin, &update);
        assert_eq!(bits(found), bits(want), "{} of {} {}, stride {}: {found:?}, not {want:?}",
            stringify!($name), $n, stringify!($T), $x.stride);
    )*};
}

macro_rules! floats {
    ($($test:ident $T:ident;)*) => {$(
        #[test]
        fn $test() {
            for_each_exec(7, |rng, exec| {
                let n = length(rng);
                let scale = [1.0, 1.0, 1.0, 1e-30, 3e18][rng.usize(..5)];
                let special = rng.u32(0..12);
                let mut number = |rng: &mut Rng| $T::from_f64_rounded(match rng.u32(0..3000) {
                    0 if special == 0 => f64::NAN,
                    1 if special == 1 => f64::INFINITY,
                    2..=40 => -0.0,
                    _ => (rng.f64() - 0.4) * scale,
                });
                let stride = [1, 1, 3][rng.usize(..3)];
                let x = Vector::new(rng, n, stride, &mut number);
                let y = Vector::new(rng, n, 1, &mut number);
                let all = x.part(0, n);
                let float = |value: <$T as diptych::Storage>::Compute| Total::Float(value.into());
                compare!($T, rng, exec, x, n:
                    sum = float(wide::sum(exec, all).expect("a sum"));
                    mean = float(wide::mean(exec, all).expect("a mean"));
                    prod = float(wide::prod(exec, all).expect("a product"));
                    sumsq = float(wide::sumsq(exec, all).expect("a sum"));
                    asum = float(wide::asum(exec, all).expect("a sum"));
                    nrm2 = float(wide::nrm2(exec, all).expect("a norm"));
                    min = float(diptych::min(exec, all).expect("an extreme").into());
                    max = float(diptych::max(exec, all).expect("an extreme").into());
                    var(0) = float(wide::var(exec, all, 0).expect("a variance"));
                    std(0) = float(wide::std(exec, all, 0).expect("a deviation"));
                    logsumexp = float(wide::logsumexp(exec, all).expect("a logarithm"));
                    count_nonzero = Total::Integer(diptych::count_nonzero(exec, all).expect("a count") as i64);
                    argmin = Total::Integer(diptych::argmin(exec, all).expect("an index") as i64);
                    argmax = Total::Integer(diptych::argmax(exec, all).expect("an index") as i64);
                );
                let want = float(wide::dot(exec, all, y.part(0, n)).expect("a dot product"));
                let update = |part: &mut Partial<$T>, at: usize, len: usize| {
                    part.update_dot(exec, x.part(at, len), y.part(at, len)).expect("an update");
                };
                let found = result(rng, n, &Partial::<$T>::dot, &update);
                assert_eq!(bits(found), bits(want), "dot of {n}");
            });
        }
    )*};
}

/// Numbers for the tests, of any type of floats.
trait Rounded {
    fn from_f64_rounded(value: f64) -> Self;
}

macro_rules! rounded {
    ($($T:ident)*) => {$(
        impl Rounded for $T {
            fn from_f64_rounded(value: f64) -> Self {
                diptych::Storage::from_compute(value as <$T as diptych::Storage>::Compute)
            }
        }
    )*};
}
rounded! { f32 f64 f16 bf16 }

floats! { of_f32 f32; of_f64 f64; of_f16 f16; of_bf16 bf16; }

macro_rules! integers {
    ($($test:ident $T:ident;)*) => {$(
        #[test]
        fn $test() {
            for_each_exec(8, |rng, exec| {
                let n = length(rng);
                let stride = [1, 2][rng.usize(..2)];
                let x = Vector::new(rng, n, stride, |rng| rng.$T(..));
                let y = Vector::new(rng, n, 1, |rng| rng.$T(..));
                let all = x.part(0, n);
                let integer = |value: i64| Total::Integer(value);
                compare!($T, rng, exec, x, n:
                    sum = integer(wide::sum(exec, all).expect("a sum"));
                    prod = integer(wide::prod(exec, all).expect("a product"));
                    sumsq = integer(wide::sumsq(exec, all).expect("a sum"));
                    asum = integer(wide::asum(exec, all).expect("a sum"));
                    min = integer(diptych::min(exec, all).expect("an extreme").into());
                    max = integer(diptych::max(exec, all).expect("an extreme").into());
                    count_nonzero = integer(diptych::count_nonzero(exec, all).expect("a count") as i64);
                    argmin = integer(diptych::argmin(exec, all).expect("an index") as i64);
                    argmax = integer(diptych::argmax(exec, all).expect("an index") as i64);
                );
                let want = integer(wide::dot(exec, all, y.part(0, n)).expect("a dot product"));
                let update = |part: &mut Partial<$T>, at: usize, len: usize| {
                    part.update_dot(exec, x.part(at, len), y.part(at, len)).expect("an update");
                };
                assert_eq!(result(rng, n, &Partial::<$T>::dot, &update), want, "dot of {n}");
                assert!(Partial::<$T>::mean(0).is_err() && Partial::<$T>::var(0, 0).is_err());
            });
        }
    )*};
}

integers! { of_i8 i8; of_u8 u8; of_i32 i32; of_i64 i64; }

/// A change of any bit of the bytes is seen, and other bytes are refused.
#[test]
fn changed_bytes_are_refused() {
    let exec = Exec::new();
    let mut part = Partial::<f32>::sum(2048).expect("a border");
    part.update(&exec, &[0.1; 5000]).expect("an update");
    let bytes = part.to_bytes();
    assert!(Partial::<f32>::from_bytes(&bytes).is_ok());
    let invalid = Some(Error::InvalidPartial { arg: "bytes" });
    for bit in 0..8 * bytes.len() {
        let mut changed = bytes;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(
            Partial::<f32>::from_bytes(&changed).err(),
            invalid,
            "bit {bit}"
        );
    }
    for other in [&bytes[1..], &[0; 2040], &[]] {
        assert_eq!(Partial::<f32>::from_bytes(other).err(), invalid);
    }
    let other = Partial::<f64>::from_bytes(&bytes).err();
    assert_eq!(other, Some(Error::TypeMismatch { arg: "bytes" }));
}

/// Parts that are not neighbours of one reduction are not joined, and stay as they are.
#[test]
fn misuse_is_refused() {
    fn refused<T: PartialElement + Debug>(left: &Partial<T>, right: &Partial<T>) -> Option<Error> {
        let mut joined = left.clone();
        let error = joined.merge(right).err();
        assert_eq!(
            joined.to_bytes(),
            left.to_bytes(),
            "a refused part has changed"
        );
        error
    }
    let exec = Exec::new();
    let order = Some(Error::PartialOrder { arg: "right" });
    let operation = Some(Error::PartialOperation { arg: "right" });
    let x = [1.5_f32; 4096];
    let mut left = Partial::<f32>::sum(0).expect("a part");
    left.update(&exec, &x).expect("an update");
    let at = |first| Partial::<f32>::sum(first).expect("a border");
    assert_eq!(refused(&left, &at(6144)), order, "a gap");
    assert_eq!(refused(&left, &at(2048)), order, "an overlap");
    assert_eq!(
        refused(&left, &Partial::mean(4096).expect("a part")),
        operation
    );
    let mut odd = left.clone();
    odd.update(&exec, &x[..2049]).expect("an update");
    assert_eq!(refused(&odd, &at(6144)), order, "an end within a chunk");
    let first = Some(Error::InvalidValue { arg: "first" });
    for from in [1, 2047, 2049, 1 << 53] {
        assert_eq!(Partial::<f32>::sum(from).err(), first, "{from}");
    }
    assert_eq!(Partial::<f64>::sum(512).err(), first);
    assert_eq!(
        at(2048).finish().err(),
        Some(Error::PartialOrder { arg: "partial" })
    );
    let empty = Error::EmptyReduction { arg: "n" };
    assert_eq!(
        Partial::<f32>::max(0).and_then(|part| part.finish()).err(),
        Some(empty)
    );
    assert_eq!(
        Partial::<f32>::sum(0).and_then(|part| part.finish()),
        Ok(Total::Float(0.0))
    );
    assert_eq!(
        Partial::<i32>::prod(0).and_then(|part| part.finish()),
        Ok(Total::Integer(1))
    );
    let mut dot = Partial::<f32>::dot(0).expect("a part");
    let of = Some(Error::PartialOperation { arg: "partial" });
    assert_eq!(dot.update(&exec, &x).err(), of);
    assert_eq!(left.update_dot(&exec, &x, &x).err(), of);
    let shapes = Some(Error::ShapeMismatch { arg: "y" });
    assert_eq!(dot.update_dot(&exec, &x, &x[1..]).err(), shapes);
    // Further passes are for the value that was found.
    let mut var = Partial::<f32>::var(0, 0).expect("a part");
    var.update(&exec, &x).expect("an update");
    let next = var.next_pass(4096).expect("a whole").expect("another pass");
    assert_eq!(refused(&var, &next), operation);
}

/// A sum in the middle of a vector that no memory holds: nodes of all sizes, on both sides of a large border.
#[test]
fn far_from_the_beginning() {
    let exec = Exec::new();
    let x: Vec<f64> = (0..50_000).map(|i| f64::from(i % 97) / 7.0).collect();
    let first = (1_u64 << 40) - 23 * 1024;
    let mut whole = Partial::<f64>::sum(first).expect("a part");
    whole.update(&exec, x.as_slice()).expect("an update");
    let mut joined = Partial::<f64>::sum(first).expect("a part");
    joined.update(&exec, &x[..11 * 1024]).expect("an update");
    let mut right = Partial::<f64>::sum(first + 11 * 1024).expect("a part");
    right.update(&exec, &x[11 * 1024..]).expect("an update");
    joined.merge(&right).expect("a neighbour");
    assert_eq!(whole.to_bytes(), joined.to_bytes());
}
