//! The table of kernels. A row is `name[threads, blocks](parameters) = body`: the threads of a block, and the least
//! number of blocks that must fit on a multiprocessor at once, which bounds the registers that the assembler may use.
//! A row with `only f32` exists for that type alone; one `of any` for 16-bit floats too, as [`Half`](crate::memory::Half),
//! and one `of half` for these alone. The kernels of these two take the format first, and their parameters are in terms
//! of the type in memory.

use crate::memory::Memory;
use diptych::{Dtype, for_each_storage};

/// Passes the rows of the table to the macro `$make`, after `$args`. In a row, `T` is the type of elements in memory. The
/// rows of elementwise operations and reductions are generated from the table of operations in `diptych`.
macro_rules! kernel_table {
    ($make:ident! $args:tt) => {
        ::diptych::for_each_elementwise!(with_elementwise! { $make $args } [name arguments output]);
    };
}

/// The second step of [`kernel_table`]: turns the elementwise operations into rows.
macro_rules! with_elementwise {
    ({ $make:ident $args:tt } $($name:ident ($($arg:ident: $kind:ident),*) $out:ident)*) => {
        ::diptych::for_each_row_map!(with_row_maps! { $make $args
            $($name[256, 1] of any (shape: parameters::Shape, $($arg: argument!($kind),)* $out: parameters::Output<T>) = elementwise::$name;)*
        } [name statistics]);
    };
}

/// The third step: adds the steps of maps over rows.
macro_rules! with_row_maps {
    ({ $make:ident $args:tt $($elementwise:tt)* } $($name:ident ($($statistic:ident: $role:ident),*))*) => {
        ::diptych::for_each_reduction!(with_reductions! { $make $args
            $($elementwise)*
            $($name[256, 1] of any (shape: parameters::Shape, x: parameters::Input<T>, $($statistic: parameters::Input<Number<T>>,)* out: parameters::Output<T>) = elementwise::$name;)*
        } [name rows columns result]);
    };
}

/// The type of arithmetic for elements in memory.
pub type Number<M> = <M as Memory>::Number;

/// The parameter type for an argument of an elementwise kernel.
macro_rules! argument {
    (scalar) => { Number<T> };
    (array) => { parameters::Input<T> };
}

/// The type of a reduction's results, before they are rounded.
macro_rules! result {
    (element) => {
        Number<T>
    };
    (count) => {
        i64
    };
    (index) => {
        i64
    };
}

/// The third step of [`kernel_table`]: adds the rows of the reductions and of all other kernels.
macro_rules! with_reductions {
    ({ $make:ident $args:tt $($elementwise:tt)* }
     $($name:ident $rows:ident $columns:ident $out:ident)*) => {
        with_products! { $make $args {
            $($elementwise)*
            $(
                $rows[256, 2] of any (m: u64, n: u64, x: *const T, rs: i64, cs: i64, ddof: u64, out: *mut result!($out), inc_out: i64, x_bs: i64, out_bs: i64, team: u32, run: u32, first: u32, end: u32, scratch: *mut u8, counters: *mut u32) = reduce::rows [reduce::$name];
                $columns[256, 2] of any (m: u64, n: u64, x: *const T, rs: i64, cs: i64, ddof: u64, out: *mut result!($out), inc_out: i64, x_bs: i64, out_bs: i64, team: u32, run: u32, first: u32, end: u32, scratch: *mut u8, counters: *mut u32) = reduce::columns [reduce::$name];
            )*
            convert[256, 1] only f32 (shape: parameters::Shape, of: parameters::Type, to: parameters::Type, x: parameters::Source, out: parameters::Target) = convert::convert;
            integers[256, 1] only f32 (shape: parameters::Shape, of: parameters::Type, operation: u32, x: parameters::Source, y: parameters::Source, z: parameters::Source, w: parameters::Source, out: parameters::Target) = integers::map;
            integer_folds[256, 2] only f32 (reduction: parameters::Reduction) = integers::fold;
            outer[256, 1] of any (m: u64, n: u64, x: *const T, incx: i64, y: *const T, incy: i64, out: *mut T, rs: i64, cs: i64, lanes: u32, packs: u32) = outer::outer;
            outer_unrounded[256, 1] of half (m: u64, n: u64, x: *const T, incx: i64, y: *const T, incy: i64, out: *mut Number<T>, rs: i64, cs: i64, lanes: u32, packs: u32) = outer::outer_unrounded;
            ger[256, 1] of any (m: u64, n: u64, alpha_x: Number<T>, x: *const T, incx: i64, alpha_y: Number<T>, y: *const T, incy: i64, a: *mut T, rs: i64, cs: i64, lanes: u32, packs: u32) = outer::ger;
            dots[256, 2] of half (n: u64, x: *const T, incx: i64, x_bs: i64, y: *const T, incy: i64, y_bs: i64, out: *mut Number<T>, out_bs: i64, team: u32, run: u32, scratch: *mut u8, counters: *mut u32) = reduce::dots;
        } {
            gemm_128x128[256, 2] only f32 () = gemm::whole_128x128;
            gemm_128x64[128, 1]() = gemm::whole_128x64;
            gemm_64x64[128, 3]() = gemm::whole_64x64;
            gemm_128x16[64, 1]() = gemm::whole_128x16;
            gemm_32x32[64, 1]() = gemm::whole_32x32;
            gemm_16x16[64, 1]() = gemm::whole_16x16;
            gemm_split_64x64[128, 1](splits: u32, scratch: *mut u8, counters: *mut u32) = gemm::split_64x64;
            gemm_split_128x16[64, 1](splits: u32, scratch: *mut u8, counters: *mut u32) = gemm::split_128x16;
            gemm_split_32x32[64, 1](splits: u32, scratch: *mut u8, counters: *mut u32) = gemm::split_32x32;
            gemm_split_16x16[64, 1](splits: u32, scratch: *mut u8, counters: *mut u32) = gemm::split_16x16;
            gemm_skinny[512, 1](lanes: u32) = gemm::few_columns;
        } {
            gemm_scale[256, 1](m: u64, n: u64, beta: T, c: *mut T, c_rs: i64, c_cs: i64, c_bs: i64, bias: *const T, bias_rs: i64, bias_cs: i64, lo: T, hi: T, batch: u64, flags: u32, down: u32) = gemm::scale;
            dot[256, 2](n: u64, x: *const T, incx: i64, y: *const T, incy: i64, out: *mut T, team: u32, run: u32, scratch: *mut u8, counters: *mut u32) = reduce::dot;
            gemv_rows[256, 2](m: u64, k: u64, batch: u64, alpha: T, a: *const T, a_rs: i64, a_cs: i64, a_bs: i64, x: *const T, x_inc: i64, x_bs: i64, beta: T, c: *mut T, c_rs: i64, c_bs: i64, row_bias: *const T, row_inc: i64, column_bias: *const T, clamps: u32, lo: T, hi: T, team: u32, run: u32, scratch: *mut u8, counters: *mut u32) = gemv::rows;
            gemv_columns[256, 3](m: u64, k: u64, batch: u64, alpha: T, a: *const T, a_rs: i64, a_cs: i64, a_bs: i64, x: *const T, x_inc: i64, x_bs: i64, beta: T, c: *mut T, c_rs: i64, c_bs: i64, row_bias: *const T, row_inc: i64, column_bias: *const T, clamps: u32, lo: T, hi: T, team: u32, run: u32, scratch: *mut u8, counters: *mut u32) = gemv::columns;
            mse_grad[256, 3](n: u64, pred: *const T, target: *const T, grad: *mut T, loss: *mut T, team: u32, run: u32, scratch: *mut u8, counters: *mut u32) = fused::mse_grad;
            lsq_grad[256, 2](m: u64, n: u64, a: *const T, a_rs: i64, a_cs: i64, x: *const T, y: *const T, grad: *mut T, run: u32, stage: u32, scratch: *mut T, counters: *mut u32) = fused::lsq_grad;
            lsq_grad_narrow[64, 5](m: u64, n: u64, a: *const T, a_rs: i64, a_cs: i64, x: *const T, y: *const T, grad: *mut T, run: u32, stage: u32, scratch: *mut T, counters: *mut u32) = fused::lsq_grad;
            mixed_half_64x64[128, 3] only f32 (product: parameters::Product) = mixed::half_64x64;
            mixed_half_16x16[64, 1] only f32 (product: parameters::Product) = mixed::half_16x16;
            mixed_byte_64x64[128, 3] only f32 (product: parameters::Product) = mixed::byte_64x64;
            mixed_byte_16x16[64, 1] only f32 (product: parameters::Product) = mixed::byte_16x16;
            mixed_i32[64, 1] only f32 (product: parameters::Product) = mixed::i32_32x32;
            mixed_i64[64, 1] only f32 (product: parameters::Product) = mixed::i64_32x32;
            lsq_grad_columns[256, 2](m: u64, n: u64, a: *const T, a_rs: i64, a_cs: i64, x: *const T, y: *const T, grad: *mut T, run: u32, stage: u32, scratch: *mut T, counters: *mut u32) = fused::lsq_grad_columns;
        }}
    };
}

/// The last step of [`kernel_table`]: adds the parameters that all products have to their rows, in front of those that
/// are written there.
macro_rules! with_products {
    ($make:ident $args:tt { $($before:tt)* } {
        $($name:ident[$threads:literal, $blocks:literal] $(only $Only:ident)? ($($more:ident: $More:ty),*) = $($body:ident)::+;)*
     } { $($after:tt)* }) => {
        $make! { $args
            $($before)*
            $(
                $name[$threads, $blocks] $(only $Only)? (
                    m: u64, n: u64, k: u64, alpha: T,
                    a: *const T, a_rs: i64, a_cs: i64, a_bs: i64,
                    b: *const T, b_rs: i64, b_cs: i64, b_bs: i64,
                    beta: T, c: *mut T, c_rs: i64, c_cs: i64, c_bs: i64,
                    bias: *const T, bias_rs: i64, bias_cs: i64, lo: T, hi: T,
                    batch: u64, flags: u32 $(, $more: $More)*
                ) = $($body)::+;
            )*
            $($after)*
        }
    };
}

/// The types of elements, as an array.
macro_rules! types {
    ({} [$($M:ident as $C:ident $Dtype:ident),*]) => {
        [$(Dtype::$Dtype),*]
    };
}

/// A row of the table as data, for the code that loads and launches kernels. The 16-bit floats have one kernel, at the
/// [`place`](Entry::place) of the first.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its row number.
    pub number: usize,
    /// Its PTX name at the place of each type; `None` where the row does not exist for the type.
    pub names: [Option<&'static str>; Dtype::COUNT],
    /// Threads per block.
    pub threads: u32,
    /// The least number of blocks that must fit on a multiprocessor at once.
    pub blocks: u32,
    /// The size of each parameter in bytes, at the place of each type; empty where the row does not exist for the type.
    pub parameters: [&'static [usize]; Dtype::COUNT],
}

impl Entry {
    /// Returns the place of a type in arrays: types that share kernels share it.
    #[inline]
    pub const fn place(dtype: Dtype) -> usize {
        match dtype {
            Dtype::Bf16 => Dtype::F16 as usize,
            other => other as usize,
        }
    }

    /// Returns its PTX name for a type, if the row exists for it.
    pub fn name(&self, dtype: Dtype) -> Option<&'static str> {
        self.names[Self::place(dtype)]
    }

    /// Returns the sizes of its parameters in bytes for a type.
    pub fn parameters(&self, dtype: Dtype) -> &'static [usize] {
        self.parameters[Self::place(dtype)]
    }

    /// Returns the types for which the row exists, of those that share a kernel the first.
    pub fn types(&self) -> impl Iterator<Item = Dtype> {
        let all = for_each_storage!(types! {}).into_iter();
        all.filter(|&dtype| self.names[dtype as usize].is_some())
    }

    /// Returns its PTX names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.into_iter().flatten()
    }
}
