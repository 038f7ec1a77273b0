use diptych::{Exec, raw as cpu};
use diptych_emulator::{Emulator, Schedule};
use diptych_gpu::raw as gpu;

struct Rng(u64);
impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n
    }
}

fn values<T: Num>(r: &mut Rng, n: usize, kind: usize, spread: T) -> Vec<T> {
    (0..n)
        .map(|_| {
            let u = (r.next() >> 40) as f32 / (1u64 << 24) as f32 - 0.5;
            let v = match kind {
                0 => u,
                1 => [0.0, -0.0, 1.0, -1.0][r.below(4)],
                2 => {
                    if r.below(200) == 0 {
                        f32::NAN
                    } else {
                        u
                    }
                }
                3 => {
                    if r.below(300) == 0 {
                        f32::INFINITY
                    } else {
                        u * 4.0
                    }
                }
                4 => return T::from(u) * spread,
                _ => 1.0 + u * 0.01,
            };
            T::from(v)
        })
        .collect()
}

trait Bits: Copy + std::fmt::Debug {
    fn bits(self) -> u64;
}
impl Bits for f32 {
    fn bits(self) -> u64 {
        self.to_bits() as u64
    }
}
impl Bits for f64 {
    fn bits(self) -> u64 {
        self.to_bits()
    }
}
impl Bits for i64 {
    fn bits(self) -> u64 {
        self as u64
    }
}
trait Num: diptych_device::real::Real + From<f32> + Bits {}
impl Num for f32 {}
impl Num for f64 {}
fn num<T: Num>(v: f32) -> T {
    T::from(v)
}
fn is_nan<T: Num>(v: T) -> bool {
    v != v
}
macro_rules! one {
    ($d:ident, $m:ident, $n:ident, $p:ident, $rs:ident, $cs:ident, $exec:ident, $what:ident, $op:ident, $opv:ident, $init:expr $(, $extra:expr)?) => {{
        let m = $m as usize;
        let mut a = vec![$init; m * 2];
        let mut b = a.clone();
        let got = unsafe { gpu::$op(&$d, $m, $n, $p, $rs, $cs, $($extra,)? a.as_mut_ptr(), 2) };
        let want = unsafe { cpu::$op(&$exec, $m, $n, $p, $rs, $cs, $($extra,)? b.as_mut_ptr(), 2) };
        match (got, want) {
            (Ok(()), Ok(())) => for (k, (a, b)) in a.iter().zip(&b).enumerate() {
                assert!(a.bits() == b.bits(), "{} row {k} {}: gpu {a:?} cpu {b:?}", stringify!($op), $what);
            },
            (a, b) => assert!(a.is_err() && b.is_err() && $n == 0 , "{} {}: {a:?} {b:?}", stringify!($op), $what),
        }
        if m == 1 && $n > 0 {
            let mut a1 = [$init; 1];
            unsafe { gpu::$opv(&$d, $n, $p, $cs, $($extra,)? a1.as_mut_ptr()) }.unwrap();
            assert!(a1[0].bits() == b[0].bits(), "{}", stringify!($opv));
        }
    }};
}
fn dev(i: usize) -> Emulator {
    Emulator::new(Schedule::ALL[i % Schedule::ALL.len()])
        .with_multiprocessors([1, 3, 20][i / 4 % 3])
}
fn same<T: Num>(a: T, b: T, what: &str) {
    assert!(a.bits() == b.bits(), "{what}: gpu {a:?} cpu {b:?}");
}
fn rows<T: Num>(big: f64) {
    let mut r = Rng(0x1234567 + size_of::<T>() as u64);
    let cases: usize = std::env::var("RED_CASES")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(60);
    let exec = Exec::new();
    for i in 0..cases {
        let chunk = 8192 / size_of::<T>();
        let (m, n) = match r.below(8) {
            0 => (1, r.below(70)),
            1 => (1, r.below(3 * chunk)),
            2 => (1 + r.below(3), r.below(40 * chunk)),
            3 => (1 + r.below(60), r.below(100)),
            4 => (1 + r.below(20), r.below(2 * chunk + 10)),
            5 => (8 + r.below(40), r.below(200)),
            6 => (8 + r.below(3), r.below(7 * chunk)),
            _ => (1, chunk * (1 << r.below(7)) + r.below(3)),
        };
        let pad = r.below(3) * r.below(5);
        let (rs, cs): (i64, i64) = match r.below(6) {
            0 | 1 => ((n + pad) as i64, 1),
            2 | 3 => (1, (m + pad) as i64),
            4 => ((2 * n + 4) as i64, 2),
            _ => (((n + 3) / 4 * 4) as i64, 1),
        };
        let kind = r.below(6);
        let need = (m as i64 * rs.max(1) + n as i64 * cs.max(1)) as usize * 2 + 16;
        let off = r.below(5);
        let sp = T::from_f64(if r.below(2) == 0 { big } else { 1.0 / big });
        let x = values::<T>(&mut r, need, kind, sp);
        let x = &x[off..];
        let (mm, nn) = (m as i64, n as i64);
        let d = dev(i);
        let what = format!("m {m} n {n} rs {rs} cs {cs} kind {kind} case {i}");
        let z: T = num(-7.0);
        let p = x.as_ptr();
        one!(d, mm, nn, p, rs, cs, exec, what, sum_rows, sum, z);
        one!(d, mm, nn, p, rs, cs, exec, what, mean_rows, mean, z);
        one!(d, mm, nn, p, rs, cs, exec, what, prod_rows, prod, z);
        one!(d, mm, nn, p, rs, cs, exec, what, min_rows, min, z);
        one!(d, mm, nn, p, rs, cs, exec, what, max_rows, max, z);
        one!(d, mm, nn, p, rs, cs, exec, what, sumsq_rows, sumsq, z);
        one!(d, mm, nn, p, rs, cs, exec, what, asum_rows, asum, z);
        one!(d, mm, nn, p, rs, cs, exec, what, nrm2_rows, nrm2, z);
        one!(
            d,
            mm,
            nn,
            p,
            rs,
            cs,
            exec,
            what,
            logsumexp_rows,
            logsumexp,
            z
        );
        one!(d, mm, nn, p, rs, cs, exec, what, var_rows, var, z, 0);
        one!(d, mm, nn, p, rs, cs, exec, what, argmin_rows, argmin, -7i64);
        one!(d, mm, nn, p, rs, cs, exec, what, argmax_rows, argmax, -7i64);
        // dot, mse
        let y = values::<T>(&mut r, need, kind, num(1.0));
        let (incy, yo) = ([1i64, 1, 2][r.below(3)], r.below(2) * r.below(5));
        let n1 = n
            .min((need - 16) / 2 / cs.max(1) as usize)
            .min((need - 16) / 2);
        let (mut a, mut b) = (z, z);
        unsafe {
            gpu::dot(
                &d,
                n1 as i64,
                x.as_ptr(),
                cs,
                y[yo..].as_ptr(),
                incy,
                &mut a,
            )
            .unwrap();
            cpu::dot(
                &exec,
                n1 as i64,
                x.as_ptr(),
                cs,
                y[yo..].as_ptr(),
                incy,
                &mut b,
            )
            .unwrap();
        }
        same(a, b, &format!("dot {what}"));
        let (mut ga, mut gb) = (vec![z; n1 + 8], vec![z; n1 + 8]);
        let go = r.below(2) * r.below(5);
        unsafe {
            gpu::mse_grad(
                &d,
                n1 as i64,
                x.as_ptr(),
                y[yo..].as_ptr(),
                ga[go..].as_mut_ptr(),
                &mut a,
            )
            .unwrap();
            cpu::mse_grad(
                &exec,
                n1 as i64,
                x.as_ptr(),
                y[yo..].as_ptr(),
                gb[go..].as_mut_ptr(),
                &mut b,
            )
            .unwrap();
        }
        same(a, b, &format!("mse {what}"));
        for (a, b) in ga.iter().zip(&gb) {
            assert!(
                a.bits() == b.bits() || (is_nan(*a) && is_nan(*b)),
                "mse grad {what}"
            );
        }
    }
}
fn lsq<T: Num>() {
    let mut r = Rng(0x99 + size_of::<T>() as u64);
    let cases: usize = std::env::var("RED_CASES")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(40);
    let exec = Exec::new();
    for i in 0..cases {
        let (m, n) = match r.below(7) {
            0 => (r.below(40), 1 + r.below(70)),
            1 => (r.below(400), 1 + r.below(300)),
            2 => (r.below(70), 1 + r.below(1500)),
            3 => (r.below(40), 1 + r.below(5000)),
            4 => (r.below(900), 1 + r.below(20)),
            5 => (r.below(2500), 1 + r.below(20)),
            _ => (r.below(100), 4 * (1 + r.below(300))),
        };
        let pad = r.below(3) * r.below(5);
        let (rs, cs): (i64, i64) = match r.below(5) {
            0 | 1 => ((n + pad) as i64, 1),
            2 => (1, (m + pad) as i64),
            3 => ((2 * n + 4) as i64, 2),
            _ => (((n + 3) / 4 * 4) as i64, 1),
        };
        let need = (m as i64 * rs.max(1) + n as i64 * cs.max(1)) as usize + 16;
        let kind = if r.below(6) == 0 { r.below(4) } else { 0 };
        let a = values::<T>(&mut r, need, kind, num(1.0));
        let x = values::<T>(&mut r, n, 0, num(1.0));
        let y = values::<T>(&mut r, m, 0, num(1.0));
        let off = r.below(2) * r.below(4);
        let d = dev(i);
        let (mut ga, mut gb) = (vec![num(0.5); n], vec![num(0.5); n]);
        unsafe {
            gpu::lsq_grad(
                &d,
                m as i64,
                n as i64,
                a[off..].as_ptr(),
                rs,
                cs,
                x.as_ptr(),
                y.as_ptr(),
                ga.as_mut_ptr(),
            )
            .unwrap();
            diptych::raw::lsq_grad(
                &exec,
                m as i64,
                n as i64,
                a[off..].as_ptr(),
                rs,
                cs,
                x.as_ptr(),
                y.as_ptr(),
                gb.as_mut_ptr(),
            )
            .unwrap();
        }
        for (j, (a, b)) in ga.iter().zip(&gb).enumerate() {
            same(
                *a,
                *b,
                &format!("lsq m {m} n {n} rs {rs} cs {cs} j {j} case {i}"),
            );
        }
    }
}

#[test]
fn rows_f32() {
    rows::<f32>(1e25)
}
#[test]
fn rows_f64() {
    rows::<f64>(1e200)
}
#[test]
fn lsq_f32() {
    lsq::<f32>()
}
#[test]
fn lsq_f64() {
    lsq::<f64>()
}
