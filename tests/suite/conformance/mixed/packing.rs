//! Packing writes the same bytes on any number of threads.

use super::{Grid, Strides};
use diptych::{Exec, Pack, bf16, f16};
use diptych_tests::layout::input_layouts;
use diptych_tests::mixed::{self, Config, Number};
use diptych_tests::packed::pack;
use diptych_tests::threads::Scoped;
use fastrand::Rng;

/// Makes one test for each type that can be packed.
macro_rules! same_bytes {
    ($($name:ident: $B:ty;)*) => {$(
        #[test]
        fn $name() {
            same_bytes::<$B>();
        }
    )*};
}

same_bytes! {
    of_f32: f32;
    of_f64: f64;
    of_f16: f16;
    of_bf16: bf16;
    of_i8: i8;
    of_i32: i32;
    of_i64: i64;
}

/// Returns the settings for one thread.
fn exec_of<'a>(config: Config) -> Exec<'a> {
    let exec = Exec::new().with_extensions(config.level, config.extensions);
    exec.expect("the machine has the level and the extensions")
}

/// Packs matrices of some columns, which become micro-panels of most types, and of few, which become rows.
fn same_bytes<B: Pack + Number>() {
    let rng = &mut Rng::with_seed(11);
    // Elements that are worth seven threads.
    let many = (2 << 20) / size_of::<B>();
    for (k, n) in [
        (0, 9),
        (1, 1),
        (70, 33),
        (1411, many / 1411 + 3),
        (257, many / 257),
        (many / 3, 3),
    ] {
        let is_large = k * n >= many;
        let row_major = Strides {
            rs: n as i64,
            cs: 1,
        };
        let transposed = Strides {
            rs: 1,
            cs: k.max(1) as i64,
        };
        let others = input_layouts(k, n);
        for strides in [row_major, transposed, others[rng.usize(..others.len())]] {
            let b = Grid::new((k, n), strides, || B::of_bits(rng.u64(..)));
            for config in mixed::on_threads(1) {
                let mut want = pack(&exec_of(config), b.view()).expect("packed");
                for threads in [2, 3, 7] {
                    let pool = Scoped::new(threads);
                    let exec = exec_of(config).with_pool(&pool, threads);
                    let mut got = pack(&exec, b.view()).expect("packed");
                    let described = b.described();
                    assert!(
                        got.bytes() == want.bytes(),
                        "{described}, {config}, but {threads}"
                    );
                    assert!(
                        pool.tasks() > 0 || !is_large,
                        "{described}, {config}: not on {threads}"
                    );
                }
            }
        }
    }
}
