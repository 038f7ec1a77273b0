//! Code shared by the test suites of Diptych: a plain model of the canonical orders (for bits), an oracle in wider
//! arithmetic (for accuracy), the tolerance table, cases, layouts, guard pages, levels and threads.

pub mod calls;
pub mod cases;
pub mod device;
pub mod fixed_pool;
pub mod gpu;
pub mod guard;
pub mod half;
#[cfg(feature = "hostile")]
pub mod hostile;
pub mod integers;
pub mod layout;
pub mod levels;
pub mod machines;
pub mod mixed;
pub mod model;
pub mod number;
pub mod ops;
pub mod oracle;
pub mod packed;
pub mod random;
pub mod raw;
pub mod real;
pub mod registry;
pub mod report;
pub mod tensors;
pub mod threads;
pub mod tolerance;
pub mod watch;
pub mod wide;

/// Makes one test per dtype from each generic function.
#[macro_export]
macro_rules! per_dtype {
    ($($name:ident),* $(,)?) => {
        $(
            mod $name {
                #[test]
                fn f32() {
                    super::$name::<f32>();
                }
                #[test]
                fn f64() {
                    super::$name::<f64>();
                }
            }
        )*
    };
}
