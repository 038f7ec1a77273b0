//! Calls of every raw function with valid arguments, in a form in which the tests can make any single
//! argument invalid.

use core::ptr;

use diptych::raw::{self, RawEpilogue};
use diptych::{
    BiasKind, Exec, Result, for_each_elementwise, for_each_reduction, for_each_row_map, table,
};
use diptych_tests::real::Dtype;

/// Every size of a call except the batch; all strides are chosen for it.
pub const SIZE: i64 = 4;
/// Valid elements before and after each pointer.
pub const ROOM: usize = 64;

/// One raw function.
pub struct Call<T> {
    /// The name.
    pub name: &'static str,
    /// The names of its sizes.
    pub sizes: &'static [&'static str],
    /// The pointers that it only reads.
    pub inputs: Vec<&'static str>,
    /// The pointers that it writes, including those that it reads too.
    pub outputs: &'static [&'static str],
    /// Its row of the table, if it is a reduction of one.
    reduction: Option<&'static table::Reduction>,
    /// Whether the output may be exactly any input.
    may_be_in_place: bool,
    /// Makes the call with these sizes and pointers, inputs first.
    pub run: fn(&Exec<'_>, &[i64], &[*mut T]) -> Result<()>,
}

impl<T> Call<T> {
    /// Returns all pointers, inputs first.
    pub fn pointers(&self) -> Vec<&'static str> {
        [&self.inputs, self.outputs].concat()
    }
    /// Returns whether the output may coincide exactly with an input.
    pub fn in_place(&self, output: &str) -> bool {
        self.may_be_in_place || (self.name == "mse_grad" && output == "grad")
    }
    /// Returns whether the function refuses to reduce no elements.
    pub fn needs_elements(&self) -> bool {
        self.reduction.is_some_and(|row| row.needs_elements)
    }
    /// Returns whether the function writes one element to `output` even if all sizes are zero.
    pub fn writes_scalar(&self, output: &str) -> bool {
        (self.sizes == ["n"] && output == "out" && self.is_reduction()) || output == "loss"
    }
    fn reducing(self, name: &str) -> Call<T> {
        let reduction = table::REDUCTIONS.iter().find(|row| row.name == name);
        Call { reduction, ..self }
    }
    fn is_reduction(&self) -> bool {
        self.reduction.is_some() || self.name == "dot"
    }
}

macro_rules! call {
    ($name:ident [$($size:ident)*] [$($input:ident)*] -> [$($output:ident)*], |$exec:ident| $call:expr) => {
        Call {
            name: stringify!($name),
            sizes: &[$(stringify!($size)),*],
            inputs: vec![$(stringify!($input)),*],
            outputs: &[$(stringify!($output)),*],
            reduction: None,
            may_be_in_place: false,
            run: |$exec, sizes, pointers| {
                let [$($size),*] = *sizes else { panic!("wrong number of sizes") };
                let [$($input,)* $($output),*] = *pointers else { panic!("wrong number of pointers") };
                // SAFETY: each pointer has room for SIZE by SIZE elements, and the tests change
                // arguments only to ones that the function must refuse before it accesses memory.
                unsafe { $call }
            },
        }
    };
}

/// Lists the elementwise operations, with ordinary scalars.
macro_rules! elementwise {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $out:ident)*) => {
        vec![$(Call {
            name: stringify!($name),
            sizes: &["n"],
            inputs: [$((stringify!($arg), table::Role::$role)),*]
                .into_iter()
                .filter_map(|(name, role)| role.is_array().then_some(name))
                .collect(),
            outputs: &[stringify!($out)],
            reduction: None,
            may_be_in_place: true,
            run: |e, sizes, pointers| {
                let mut pointers = pointers.iter().copied();
                let mut next = || pointers.next().expect("a pointer for each array");
                // SAFETY: as in `call!`.
                unsafe { raw::$name(e, sizes[0], $(elementwise!(@argument $kind $role next),)* next()) }
            },
        },)*]
    };
    (@argument scalar $role:ident $next:ident) => { scalar(table::Role::$role) };
    (@argument array $role:ident $next:ident) => { $next() };
}

/// Lists the reductions, of a vector and of rows.
macro_rules! reductions {
    ({} $($name:ident $rows:ident [$($ddof:ident)?] $out:ident)*) => {
        vec![$(
            call!($name [n] [x] -> [out], |e| {
                raw::$name(e, n, x, 1, $(reductions!(@none $ddof),)? reductions!(@$out out))
            }).reducing(stringify!($name)),
            call!($rows [m n] [x] -> [out], |e| {
                raw::$rows(e, m, n, x, SIZE, 1, $(reductions!(@none $ddof),)? reductions!(@$out out), 1)
            }).reducing(stringify!($name)),
        )*]
    };
    (@none $ddof:ident) => { 0 };
    (@element $p:ident) => { $p };
    (@count $p:ident) => { <*mut T>::cast($p) };
    (@index $p:ident) => { <*mut T>::cast($p) };
}

/// Lists the maps over rows.
macro_rules! row_maps {
    ({} $($name:ident)*) => {
        vec![$(Call {
            may_be_in_place: true,
            ..call!($name [m n] [x] -> [out], |e| raw::$name(e, m, n, x, SIZE, 1, out, SIZE, 1))
        }),*]
    };
}

/// Returns a scalar for an argument of this role.
fn scalar<T: Dtype>(role: table::Role) -> T {
    match role.bound() {
        Some(table::Bound::Lower) => T::zero(),
        Some(table::Bound::Upper) | None => T::one(),
    }
}

/// Returns the calls of all raw functions.
pub fn calls<T: Dtype>() -> Vec<Call<T>> {
    let mut all = vec![
        call!(outer [m n] [x y] -> [out], |e| raw::outer(e, m, n, x, 1, y, 1, out, SIZE, 1)),
        call!(ger [m n] [x y] -> [a], |e| raw::ger(e, m, n, T::one(), x, 1, y, 1, a, SIZE, 1)),
        call!(dot [n] [x y] -> [out], |e| raw::dot(e, n, x, 1, y, 1, out)),
        call!(mse_grad [n] [pred target] -> [grad loss], |e| raw::mse_grad(e, n, pred, target, grad, loss)),
        call!(lsq_grad [m n] [a x y] -> [grad], |e| raw::lsq_grad(e, m, n, a, SIZE, 1, x, y, grad)),
    ];
    all.extend(products());
    all.extend(for_each_elementwise!(elementwise! {} [name arguments roles output]));
    all.extend(for_each_reduction!(reductions! {} [name rows ddof result]));
    all.extend(for_each_row_map!(row_maps! {}[name]));
    all
}

fn products<T: Dtype>() -> Vec<Call<T>> {
    const S: i64 = SIZE;
    vec![
        call!(gemm [m n k] [a b] -> [c], |e| {
            raw::gemm(e, m, n, k, T::one(), a, S, 1, b, S, 1, T::one(), c, S, 1)
        }),
        call!(gemm_batched [m n k batch] [a b] -> [c], |e| {
            raw::gemm_batched(e, m, n, k, T::one(), a, S, 1, b, S, 1, T::one(), c, S, 1, batch, S * S, S * S, S * S)
        }),
        call!(gemm_fused [m n k] [a b bias] -> [c], |e| {
            let epilogue = RawEpilogue { bias, bias_inc: 1, bias_kind: BiasKind::PerRow, clamp: None };
            raw::gemm_fused(e, m, n, k, T::one(), a, S, 1, b, S, 1, T::zero(), c, S, 1, &epilogue)
        }),
    ]
}

/// Memory for one call: a block for each pointer, with [`ROOM`] elements on both sides of it.
pub struct Memory<T> {
    blocks: Vec<Vec<T>>,
}

impl<T: Dtype> Memory<T> {
    /// Allocates blocks for `call`, with different values in all elements.
    pub fn new(call: &Call<T>) -> Memory<T> {
        let block = |b: usize| {
            (0..3 * ROOM + 16)
                .map(|i| T::of((1000 * b + i) as f64))
                .collect()
        };
        Memory {
            blocks: (0..call.pointers().len()).map(block).collect(),
        }
    }
    /// Returns the pointers, aligned to 64 bytes.
    pub fn pointers(&mut self) -> Vec<*mut T> {
        let middle = |block: &mut Vec<T>| {
            let p = block.as_mut_ptr().wrapping_add(ROOM);
            p.wrapping_add(p.align_offset(64))
        };
        self.blocks.iter_mut().map(middle).collect()
    }
    /// Returns the bits of all elements, to detect writes.
    pub fn snapshot(&self) -> Vec<u64> {
        self.blocks.iter().flatten().map(|v| v.bits()).collect()
    }
}

/// Returns the valid sizes of a call: a batch of two, all others [`SIZE`].
pub fn sizes<T>(call: &Call<T>) -> Vec<i64> {
    call.sizes
        .iter()
        .map(|&size| if size == "batch" { 2 } else { SIZE })
        .collect()
}

/// Returns NULL.
pub fn nowhere<T>() -> *mut T {
    ptr::null_mut()
}
