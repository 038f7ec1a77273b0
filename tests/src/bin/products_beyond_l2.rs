//! Products for `cargo xtask cost`, which simulates the caches of another machine while they run, and counts the lines that
//! they read and write beyond L2. For each, this prints its name and its floating-point operations.

use diptych::{Exec, Level, raw};
use diptych_tests::machines;
use diptych_tests::real::Dtype;

/// Where A, B and C begin: a cache decides by the address which lines it keeps together.
const ALIGNMENT: usize = 1 << 21;

/// Returns an array of zeros. Their values do not matter: the kernels have no branches on them.
fn array<T: Dtype>(elements: usize) -> *mut T {
    let layout = std::alloc::Layout::from_size_align(elements * size_of::<T>(), ALIGNMENT);
    let layout = layout.expect("the size of an array");
    // SAFETY: no array here is empty.
    let array = unsafe { std::alloc::alloc_zeroed(layout) };
    assert!(!array.is_null(), "no memory");
    array.cast()
}

/// Multiplies row-major matrices.
#[inline(never)]
fn product<T: Dtype>((m, n, k): (i64, i64, i64), [a, b, c]: [*mut T; 3]) {
    let exec = Exec::new().with_level(Level::Avx2).expect("level avx2");
    // SAFETY: the arrays have these elements.
    let done = unsafe { raw::gemm(&exec, m, n, k, T::ONE, a, k, 1, b, n, 1, T::ZERO, c, n, 1) };
    done.expect("a product");
}

/// Makes a call of each product in a function of its own, by which callgrind tells them apart.
macro_rules! products {
    ($($name:ident $T:ident ($m:literal, $n:literal, $k:literal);)*) => {
        $(
            #[unsafe(no_mangle)]
            #[inline(never)]
            extern "C" fn $name(arrays: &[*mut $T; 3]) {
                product::<$T>(($m, $n, $k), *arrays);
            }
        )*

        fn main() {
            machines::is_another();
            $({
                let arrays = [$m * $k, $k * $n, $m * $n].map(array::<$T>);
                $name(&arrays);
                let name = stringify!($name).trim_start_matches("cost_");
                println!("{name} {} flop", 2u64 * $m * $n * $k);
            })*
        }
    };
}
products! {
    cost_beyond_l2_gemm_16x4096x4096_f32 f32 (16, 4096, 4096);
    cost_beyond_l2_gemm_16x4096x4096_f64 f64 (16, 4096, 4096);
    // A part of 2048 x 2048 x 2048 with the same blocks: the whole would take minutes.
    cost_beyond_l2_gemm_1024x2048x512_f32 f32 (1024, 2048, 512);
    cost_beyond_l2_gemm_1024x64x1024_f32 f32 (1024, 64, 1024);
    cost_beyond_l2_gemm_1024x64x1024_f64 f64 (1024, 64, 1024);
    cost_beyond_l2_gemm_8x1024x1024_f32 f32 (8, 1024, 1024);
    cost_beyond_l2_gemm_8x1024x1024_f64 f64 (8, 1024, 1024);
}
