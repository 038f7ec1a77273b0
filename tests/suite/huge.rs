//! Arrays of more than 2^31 elements. Off by default, because the tests need time and up to 9 GiB of memory:
//!
//!     DIPTYCH_HUGE=1 cargo test -p diptych-tests --test suite huge:: -- --test-threads 1
//!
//! Arrays that are only read are mappings of zero pages with a few other numbers, and need almost no memory.

use core::ptr;
use std::io::Write;
use std::time::Instant;

use diptych::{Exec, raw};
use diptych_tests::levels::levels;
use diptych_tests::ops::{reductions, row_maps};
use diptych_tests::real::Dtype;

/// Slightly more than 2^31, and odd.
const N: usize = (1 << 31) + 13;

/// A mapping of zeros, which takes memory only where it is written.
struct Zeros<T> {
    first: *mut T,
    len: usize,
}

impl<T: Dtype> Zeros<T> {
    fn new(len: usize) -> Zeros<T> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh anonymous mapping.
        let map =
            unsafe { libc::mmap(ptr::null_mut(), len * size_of::<T>(), access, flags, -1, 0) };
        assert_ne!(map, libc::MAP_FAILED, "mmap of {len} elements failed");
        Zeros {
            first: map.cast(),
            len,
        }
    }

    /// Sets some elements.
    fn with(mut self, values: &[(usize, f64)]) -> Zeros<T> {
        for &(i, value) in values {
            self.slice_mut()[i] = T::of(value);
        }
        self
    }

    fn slice(&self) -> &[T] {
        // SAFETY: the mapping has `len` elements, and zero bytes are valid numbers.
        unsafe { core::slice::from_raw_parts(self.first, self.len) }
    }

    fn slice_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.first, self.len) }
    }
}

impl<T> Drop for Zeros<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length.
        unsafe { libc::munmap(self.first.cast(), self.len * size_of::<T>()) };
    }
}

/// The elements that are not 0, on both sides of 2^31, and their sum, which is exact in f32.
const NONZERO: [(usize, f64); 5] = [
    (0, 1.0),
    ((1 << 31) - 1, 2.0),
    (1 << 31, 4.0),
    ((1 << 31) + 1, 8.0),
    (N - 1, 16.0),
];
const TOTAL: f64 = 31.0;

/// Runs `test` on each level and prints its time, if `DIPTYCH_HUGE` is 1. Panics if less than `gib` GiB are available.
fn when_wanted(name: &str, gib: u64, test: impl Fn(&Exec<'_>)) {
    let say = |text: String| {
        let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
    };
    if !std::env::var("DIPTYCH_HUGE").is_ok_and(|value| value == "1") {
        return say(format!(
            "SKIPPED {name} of more than 2^31 elements: DIPTYCH_HUGE is not 1"
        ));
    }
    let memory = std::fs::read_to_string("/proc/meminfo").expect("Linux has /proc");
    let line = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    let free: u64 = number
        .and_then(|number| number.parse().ok())
        .expect("a number of KiB");
    assert!(
        free >> 20 >= gib,
        "{name} needs {gib} GiB, and {} are free",
        free >> 20
    );
    for &level in levels() {
        let start = Instant::now();
        test(
            &Exec::new()
                .with_level(level)
                .expect("the level is on this machine"),
        );
        say(format!(
            "{name}, level {}: {:.1} s",
            level.name(),
            start.elapsed().as_secs_f64()
        ));
    }
}

fn vectors<T: Dtype>(e: &Exec<'_>) {
    let x = Zeros::<T>::new(N).with(&NONZERO);
    let n = N as i64;
    let value = |name: &str, first: usize, inc: i64| {
        let all = reductions::<T>();
        let op = all.iter().find(|op| op.name == name).expect("a reduction");
        let mut out = T::zero();
        // SAFETY: x has N elements, in either direction.
        unsafe { op.call(e, n, x.first.wrapping_add(first), inc, &mut out) }.expect(name);
        out.wide()
    };
    for (first, inc) in [(0, 1), (N - 1, -1)] {
        assert_eq!(value("sum", first, inc), TOTAL);
        assert_eq!(value("max", first, inc), 16.0);
        assert_eq!(value("sumsq", first, inc), 341.0);
    }
    let mut index = -1;
    // SAFETY: as above; dot reads the same elements twice.
    unsafe {
        raw::argmax(e, n, x.first, 1, &mut index).expect("argmax");
        assert_eq!(index, n - 1);
        let mut dot = T::zero();
        raw::dot(e, n, x.first, 1, x.first, 1, &mut dot).expect("dot");
        assert_eq!(dot.wide(), 341.0);
    }
}

#[test]
fn reductions_of_f32() {
    when_wanted("reductions of f32", 1, vectors::<f32>);
}

#[test]
fn reductions_of_f64() {
    when_wanted("reductions of f64", 1, vectors::<f64>);
}

#[test]
fn elementwise_in_place() {
    when_wanted("elementwise", 9, |e| {
        let mut x = Zeros::<f32>::new(N).with(&NONZERO);
        let p = x.first;
        // SAFETY: x has N elements; the output is exactly the input.
        unsafe {
            raw::add(e, N as i64, p, p, p).expect("add");
            raw::clamp(e, N as i64, p, -1.0, 8.0, p).expect("clamp");
        }
        for (i, value) in NONZERO {
            assert_eq!(
                f64::from(x.slice()[i]),
                (2.0 * value).min(8.0),
                "element {i}"
            );
        }
        let mut loss = 0.0;
        let target = Zeros::<f32>::new(N);
        // SAFETY: both have N elements.
        unsafe { raw::mse_grad(e, N as i64, p, target.first, p, &mut loss) }.expect("mse_grad");
        assert_eq!(loss, 2.0 * 2.0 + 4.0 * 4.0 + 3.0 * 64.0);
        assert_eq!(x.slice_mut()[N - 1], 16.0);
    });
}

#[test]
fn outer_product() {
    when_wanted("outer", 9, |e| {
        let columns = N / 2 + 1;
        let y = Zeros::<f32>::new(columns).with(&[(0, 1.0), (columns - 1, 5.0)]);
        let out = Zeros::<f32>::new(2 * columns);
        // SAFETY: vectors of 2 and `columns` elements, a matrix of 2 rows.
        unsafe {
            raw::outer(
                e,
                2,
                columns as i64,
                [3.0, 7.0].as_ptr(),
                1,
                y.first,
                1,
                out.first,
                columns as i64,
                1,
            )
        }
        .expect("outer");
        let (last, all) = (columns - 1, out.slice());
        assert_eq!(
            [all[0], all[last], all[columns], all[columns + last]],
            [3.0, 15.0, 7.0, 35.0]
        );
        assert_eq!(all[columns - 2], 0.0);
    });
}

#[test]
fn a_product_with_one_huge_side() {
    when_wanted("gemm", 9, |e| {
        // 2 x k times k x 2.
        let (k, n) = (N as i64, 2 * N);
        let a = Zeros::<f32>::new(n).with(&[(0, 1.0), (N - 1, 2.0), (N, 3.0), (n - 1, 4.0)]);
        let b = Zeros::<f32>::new(n).with(&[(0, 1.0), (1, 10.0), (n - 2, 100.0), (n - 1, 1000.0)]);
        let mut c = [0.0f32; 4];
        // SAFETY: the matrices have these shapes.
        unsafe {
            raw::gemm(
                e,
                2,
                2,
                k,
                1.0,
                a.first,
                k,
                1,
                b.first,
                2,
                1,
                0.0,
                c.as_mut_ptr(),
                2,
                1,
            )
        }
        .expect("gemm");
        assert_eq!(c, [201.0, 2010.0, 403.0, 4030.0]);
        // m x 1 times 1 x 2, and m x 1 times 1 x 1.
        let rows = N / 2 + 1;
        let a = Zeros::<f32>::new(rows).with(&[(0, 1.0), (rows - 1, 2.0)]);
        let c = Zeros::<f32>::new(2 * rows);
        // SAFETY: as above.
        unsafe {
            raw::gemm(
                e,
                rows as i64,
                2,
                1,
                1.0,
                a.first,
                1,
                1,
                [5.0, 7.0].as_ptr(),
                2,
                1,
                0.0,
                c.first,
                2,
                1,
            )
        }
        .expect("gemm");
        let all = c.slice();
        assert_eq!(
            [all[0], all[1], all[2 * rows - 2], all[2 * rows - 1]],
            [5.0, 7.0, 10.0, 14.0]
        );
    });
}

#[test]
fn rows_and_least_squares() {
    when_wanted("rows", 5, |e| {
        let (wide, n) = (N as i64, 2 * N);
        let x = Zeros::<f32>::new(n).with(&[(0, 1.0), (N - 1, 2.0), (N, 4.0), (n - 1, 8.0)]);
        let (mut sums, mut indices) = ([0.0f32; 2], [0i64; 2]);
        // SAFETY: two rows of N elements; N rows of two.
        unsafe {
            raw::sum_rows(e, 2, wide, x.first, wide, 1, sums.as_mut_ptr(), 1).expect("sum_rows");
            raw::argmax_rows(e, 2, wide, x.first, wide, 1, indices.as_mut_ptr(), 1)
                .expect("argmax_rows");
            assert_eq!((sums, indices), ([3.0, 12.0], [wide - 1, wide - 1]));
            let out = Zeros::<f32>::new(N / 2);
            let rows = out.len as i64;
            raw::max_rows(e, rows, 4, x.first, 4, 1, out.first, 1).expect("max_rows");
            assert_eq!((out.slice()[0], out.slice()[out.len - 2]), (1.0, 0.0));
            let mut grad = [0.0f32; 2];
            let y = Zeros::<f32>::new(N);
            raw::lsq_grad(
                e,
                wide,
                2,
                x.first,
                2,
                1,
                [1.0f32, 1.0].as_ptr(),
                y.first,
                grad.as_mut_ptr(),
            )
            .expect("lsq_grad");
            // A has few rows that are not 0: (1, 0), one or two in the middle, (0, 8) at the end. With x = (1, 1) and
            // y = 0, each adds itself times twice the sum of its elements.
            let row = |i: usize| [f64::from(x.slice()[2 * i]), f64::from(x.slice()[2 * i + 1])];
            let mut want = [0.0; 2];
            for i in [0, (N - 1) / 2, N / 2, N - 1]
                .into_iter()
                .collect::<std::collections::BTreeSet<_>>()
            {
                let [a, b] = row(i);
                want = [want[0] + 2.0 * a * (a + b), want[1] + 2.0 * b * (a + b)];
            }
            assert_eq!(grad.map(f64::from), want);
        }
    });
}

/// Rows and columns that are more than 2^31 elements apart, in place.
fn maps_over_far_rows<T: Dtype>(e: &Exec<'_>) {
    let far = (1_usize << 31) + 5;
    for op in row_maps::<T>() {
        for (rs, cs) in [(far, 1), (1, far)] {
            let mut x = Zeros::<T>::new(far + 2);
            let places = [0, cs, rs, rs + cs];
            let numbers = [3.0, 4.0, 5.0, 12.0].map(T::of);
            for (&at, number) in places.iter().zip(numbers) {
                x.slice_mut()[at] = number;
            }
            let (p, rs, cs) = (x.first, rs as i64, cs as i64);
            // SAFETY: the four elements lie in the mapping.
            unsafe { op.call(e, (2, 2), (p, rs, cs), (p, rs, cs)) }.expect(op.name);
            let got = places.map(|at| x.slice()[at].bits());
            let want = numbers
                .as_chunks::<2>()
                .0
                .iter()
                .flat_map(|row| op.expected_row(row));
            assert!(want.map(T::bits).eq(got), "{} rs {rs}, cs {cs}", op.name);
        }
    }
}

#[test]
fn maps_over_rows_far_apart() {
    when_wanted("maps over rows", 1, |e| {
        maps_over_far_rows::<f32>(e);
        maps_over_far_rows::<f64>(e);
    });
}
