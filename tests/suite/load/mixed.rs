//! Calls of all families through the C interface, with their expected results.

use diptych::table;
use diptych_ffi::{dpt_epilogue, dpt_exec};
use diptych_tests::cases::{self, Values};
use diptych_tests::hostile::functions::{Functions, Reduction};
use diptych_tests::ops::Scalars;

/// Elements of each input.
pub const LENGTH: usize = 300_000;
/// Side of the large matrices.
const SIDE: usize = 130;

/// The outputs of a call.
pub struct Output<T> {
    values: Vec<T>,
    index: i64,
}

impl<T: Functions> Default for Output<T> {
    fn default() -> Output<T> {
        Output {
            values: vec![T::zero(); SIDE * SIDE],
            index: 0,
        }
    }
}

/// The input of all calls, and a hash of each expected result.
pub struct Mix<T> {
    x: Vec<T>,
    want: Vec<u64>,
}

/// The number of different calls; those before [`FIRST_LARGE`] are small.
pub const CALLS: usize = 21;
/// The call that returns an index.
const SEARCH: usize = 10;
/// The first call that is large enough for several threads, as are all after it.
pub const FIRST_LARGE: usize = 15;

impl<T: Functions> Mix<T> {
    /// Computes the expected results on the calling thread alone.
    pub fn new() -> Mix<T> {
        let mut mix = Mix {
            x: cases::vector(Values::Ordinary, LENGTH, 3),
            want: Vec::new(),
        };
        let mut out = Output::default();
        for which in 0..CALLS {
            let status = mix.call(which, core::ptr::null(), &mut out);
            assert_eq!(status, 0, "call {which}");
            let bits = mix.bits(which, &out);
            mix.want.push(bits);
        }
        mix
    }

    /// Makes one call, and returns its status and whether the result is right.
    pub fn check(&self, which: usize, exec: *const dpt_exec, out: &mut Output<T>) -> (i32, bool) {
        let status = self.call(which, exec, out);
        (
            status,
            status == 0 && self.bits(which, out) == self.want[which],
        )
    }

    /// Makes one call, which must succeed with the right result.
    pub fn expect(&self, which: usize, exec: *const dpt_exec, out: &mut Output<T>) {
        let (status, right) = self.check(which, exec, out);
        assert!(
            right,
            "call {which} of {}: status {status}, or wrong bits",
            T::DTYPE
        );
    }

    /// Returns the number of elements that a call writes.
    fn written(which: usize) -> usize {
        const WRITTEN: [usize; CALLS] = [
            64,
            100,
            64,
            9 * 9,
            16,
            9 * 9,
            100,
            17,
            1,
            1,
            0,
            12,
            33,
            4 * 16,
            20 * 15,
            1,
            1,
            SIDE * SIDE,
            SIDE * SIDE,
            100,
            30,
        ];
        WRITTEN[which]
    }

    /// Returns the FNV-1a hash of the bits of the result.
    fn bits(&self, which: usize, out: &Output<T>) -> u64 {
        let index = if which == SEARCH { out.index as u64 } else { 0 };
        let start = 0xCBF2_9CE4_8422_2325 ^ index;
        let values = out.values[..Self::written(which)].iter();
        values.fold(start, |hash, v| {
            (hash ^ v.bits()).wrapping_mul(0x0100_0000_01B3)
        })
    }

    fn call(&self, which: usize, e: *const dpt_exec, out: &mut Output<T>) -> i32 {
        let (x, p) = (self.x.as_ptr(), out.values.as_mut_ptr());
        let index = &raw mut out.index;
        let one = T::one();
        let epilogue = dpt_epilogue {
            struct_size: size_of::<dpt_epilogue>(),
            flags: 1,
            bias_kind: 2,
            bias: x.cast(),
            bias_inc: 1,
            lo: -0.5,
            hi: 0.5,
        };
        let s = SIDE as i64;
        let n = LENGTH as i64;
        let scalars = Scalars {
            lo: -one,
            hi: T::of(0.25),
            alpha: one,
        };
        let elementwise = |name| {
            let at = table::ELEMENTWISE.iter().position(|row| row.name == name);
            T::ELEMENTWISE[at.expect("an operation of the table")]
        };
        let reduction = |name| {
            let at = table::REDUCTIONS.iter().position(|row| row.name == name);
            T::REDUCTIONS[at.expect("a reduction of the table")]
        };
        let row_map = |name| {
            let at = table::ROW_MAPS.iter().position(|row| row.name == name);
            T::ROW_MAPS[at.expect("a map of the table")]
        };
        // SAFETY: the input has LENGTH elements and the output SIDE * SIDE, enough for these shapes.
        unsafe {
            match which {
                0 => elementwise("clamp")(e, 64, [x, x], &scalars, p),
                1 => elementwise("div")(e, 100, [x, x.add(7)], &scalars, p),
                2 => T::OUTER(e, 8, 8, x, 1, x.add(9), -1, p, 8, 1),
                3 => T::GEMM(e, 9, 9, 20, one, x, 20, 1, x, 9, 1, T::zero(), p, 9, 1),
                4 => T::GEMM(e, 16, 1, 40, one, x, 40, 1, x, 1, 1, T::zero(), p, 1, 1),
                5 => T::GEMM_FUSED(
                    e,
                    9,
                    9,
                    300,
                    one,
                    x,
                    300,
                    1,
                    x,
                    9,
                    1,
                    T::zero(),
                    p,
                    9,
                    1,
                    &epilogue,
                ),
                6 => T::GEMM_BATCHED(
                    e,
                    5,
                    5,
                    6,
                    one,
                    x,
                    6,
                    1,
                    x,
                    5,
                    1,
                    T::zero(),
                    p,
                    5,
                    1,
                    4,
                    30,
                    0,
                    25,
                ),
                7 => T::LSQ(e, 40, 17, x, 17, 1, x, x, p),
                8 => T::DOT(e, 500, x, 1, x.add(499), -1, p),
                9 => match reduction("logsumexp") {
                    Reduction::Value(f, _) => f(e, 333, x, 2, 0, p),
                    _ => -1,
                },
                SEARCH => match reduction("argmax") {
                    Reduction::Index(f, _) => f(e, 1000, x, 1, 0, index),
                    _ => -1,
                },
                11 => match reduction("nrm2") {
                    Reduction::Value(_, f) => f(e, 12, 40, x, 40, 1, 0, p, 1),
                    _ => -1,
                },
                12 => match reduction("var") {
                    Reduction::Value(_, f) => f(e, 33, 12, x, 1, 33, 1, p, 1),
                    _ => -1,
                },
                13 => T::MSE(e, 63, x, x.add(64), p, p.add(63)),
                14 => row_map("normalize")(e, 20, 15, x, 15, 1, p, 1, 20),
                15 => match reduction("sum") {
                    Reduction::Value(f, _) => f(e, n, x, 1, 0, p),
                    _ => -1,
                },
                16 => T::DOT(e, n, x, 1, x.add(LENGTH - 1), -1, p),
                17 => T::GEMM(e, s, s, s, one, x, s, 1, x, 1, s, T::zero(), p, s, 1),
                18 => T::GEMM_FUSED(
                    e,
                    s,
                    s,
                    700,
                    one,
                    x,
                    700,
                    1,
                    x,
                    s,
                    1,
                    T::zero(),
                    p,
                    s,
                    1,
                    &epilogue,
                ),
                19 => T::LSQ(e, 2900, 100, x, 100, 1, x, x, p),
                _ => match reduction("max") {
                    Reduction::Value(_, f) => f(e, 30, 9000, x, 9000, 1, 0, p, 1),
                    _ => -1,
                },
            }
        }
    }
}
