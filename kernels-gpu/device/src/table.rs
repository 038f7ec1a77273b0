//! THE table of kernels: each with its parameters, its body and the threads of its blocks.

/// Hands the rows of the table to `$make`, after `$args`. In a row `T` is the element type.
macro_rules! kernel_table {
    ($make:ident! $args:tt) => {
        $make! { $args
            clamp[256](n: u64, x: *const T, lo: T, hi: T, out: *mut T) = elementwise::clamp;
            clamp_backward[256](n: u64, x: *const T, grad: *const T, lo: T, hi: T, out: *mut T) = elementwise::clamp_backward;
            add[256](n: u64, x: *const T, y: *const T, out: *mut T) = elementwise::add;
            sub[256](n: u64, x: *const T, y: *const T, out: *mut T) = elementwise::sub;
            mul[256](n: u64, x: *const T, y: *const T, out: *mut T) = elementwise::mul;
            div[256](n: u64, x: *const T, y: *const T, out: *mut T) = elementwise::div;
            scale[256](n: u64, alpha: T, x: *const T, out: *mut T) = elementwise::scale;
            axpy[256](n: u64, alpha: T, x: *const T, y: *mut T) = elementwise::axpy;
            square[256](n: u64, x: *const T, out: *mut T) = elementwise::square;
            fill[256](n: u64, value: T, out: *mut T) = elementwise::fill;
        }
    };
}
pub(crate) use kernel_table;

/// A row of the table, for what looks at kernels from outside.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its names in PTX: for f32 and for f64.
    pub names: [&'static str; 2],
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of each parameter, for f32 and for f64.
    pub parameters: [&'static [usize]; 2],
}
