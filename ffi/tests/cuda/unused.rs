//! Pointers that a call does not use: they may point anywhere, and do not influence where an automatic call runs.

use super::calls::*;
use core::ptr;
use diptych_ffi::*;

/// A call of one operation.
#[derive(Clone, Copy)]
struct Row {
    name: &'static str,
    sizes: usize,
    call: fn(*const dpt_exec, &[i64], &[*mut f32]) -> dpt_status,
    /// Returns which of the pointers are used for these sizes.
    used: fn(&[i64]) -> Vec<bool>,
}

/// Each row is `FUNCTION(ARGUMENTS...) of [SIZES...]: POINTER(SIZES...)...;`. A pointer is used if all of its sizes are
/// greater than 0.
macro_rules! rows {
    ($($function:ident($($arg:expr),* $(,)?) of [$($size:ident),*]: $($pointer:ident($($needs:expr),*)),*;)*) => {
        &[$(Row {
            name: stringify!($function),
            sizes: [$(stringify!($size)),*].len(),
            call: |exec, sizes, pointers| {
                let [$($size),*] = *sizes else { unreachable!() };
                let [$($pointer),*] = *pointers else { unreachable!() };
                // SAFETY: the pointers that are used point to arrays that are large enough.
                unsafe { $function(exec, $($arg),*) }
            },
            used: |sizes| {
                #[allow(unused_variables, reason = "k, where alpha is 0")]
                let [$($size),*] = *sizes else { unreachable!() };
                vec![$([$($needs),*].iter().all(|&size: &i64| size > 0)),*]
            },
        }),*]
    };
}

/// Sizes of a pointer that is always used, and of one that is never used.
const ALWAYS: i64 = 1;
const NEVER: i64 = 0;

fn epilogue(kind: dpt_bias_kind, bias: *const f32) -> dpt_epilogue {
    dpt_epilogue {
        struct_size: size_of::<dpt_epilogue>(),
        flags: 0,
        bias_kind: kind as i32,
        bias: bias.cast(),
        bias_inc: 1,
        lo: 0.0,
        hi: 0.0,
    }
}

const NONE: dpt_bias_kind = dpt_bias_kind::DPT_BIAS_NONE;
const ROW: dpt_bias_kind = dpt_bias_kind::DPT_BIAS_PER_ROW;

/// The operations that are not expanded from the table.
#[rustfmt::skip]
const OTHERS: &[Row] = rows! {
    dpt_outer_f32(m, n, x, 1, y, 1, out, 3, 1) of [m, n]: x(m, n), y(m, n), out(m, n);
    dpt_ger_f32(m, n, 0.0, x, 1, y, 1, a, 3, 1) of [m, n]: x(m, n), y(m, n), a(m, n);
    dpt_gemm_f32(m, n, k, 1.0, a, 3, 1, b, 3, 1, 0.5, c, 3, 1) of [m, n, k]: a(m, n, k), b(m, n, k), c(m, n);
    dpt_gemm_f32(m, n, k, 0.0, a, 3, 1, b, 3, 1, 0.5, c, 3, 1) of [m, n, k]: a(NEVER), b(NEVER), c(m, n);
    dpt_gemm_batched_f32(m, n, k, 1.0, a, 3, 1, b, 3, 1, 0.5, c, 3, 1, batch, 6, 6, 6) of [m, n, k, batch]:
        a(m, n, k, batch), b(m, n, k, batch), c(m, n, batch);
    dpt_gemm_batched_f32(m, n, k, 0.0, a, 3, 1, b, 3, 1, 0.5, c, 3, 1, batch, 6, 6, 6) of [m, n, k, batch]:
        a(NEVER), b(NEVER), c(m, n, batch);
    dpt_gemm_fused_f32(m, n, k, 1.0, a, 3, 1, b, 3, 1, 0.5, c, 3, 1, &epilogue(ROW, bias)) of [m, n, k]:
        a(m, n, k), b(m, n, k), c(m, n), bias(m, n);
    dpt_gemm_fused_f32(m, n, k, 0.0, a, 3, 1, b, 3, 1, 0.5, c, 3, 1, &epilogue(NONE, bias)) of [m, n, k]:
        a(NEVER), b(NEVER), c(m, n), bias(NEVER);
    dpt_dot_f32(n, x, 1, y, 1, out) of [n]: x(n), y(n), out(ALWAYS);
    dpt_mse_grad_f32(n, pred, target, grad, loss) of [n]: pred(n), target(n), grad(n), loss(ALWAYS);
    dpt_lsq_grad_f32(m, n, a, 3, 1, x, y, grad) of [m, n]: a(m, n), x(m, n), y(m, n), grad(n);
};

/// Lists the elementwise operations of the table.
macro_rules! elementwise {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) $out:ident)*) => {{
        unsafe extern "C" {
            $(
                #[link_name = concat!("dpt_", stringify!($name), "_f32")]
                fn $name(exec: *const dpt_exec, n: i64, $($arg: elementwise!(@type $kind),)* $out: *mut f32) -> dpt_status;
            )*
        }
        vec![$(Row {
            name: concat!("dpt_", stringify!($name), "_f32"),
            sizes: 1,
            call: |exec, sizes, pointers| {
                let mut pointers = pointers.iter().copied();
                let mut next = || pointers.next().expect("a pointer for each array");
                // SAFETY: the pointers that are used point to arrays that are large enough.
                unsafe { $name(exec, sizes[0], $(elementwise!(@argument $kind next),)* next()) }
            },
            used: |sizes| vec![sizes[0] > 0; 1 $(+ elementwise!(@arrays $kind))*],
        }),*]
    }};
    (@type scalar) => { f32 };
    (@type array) => { *const f32 };
    (@argument scalar $next:ident) => { 0.0 };
    (@argument array $next:ident) => { $next() };
    (@arrays scalar) => { 0 };
    (@arrays array) => { 1 };
}

/// Lists the reductions of the table, of a vector and of rows.
macro_rules! reductions {
    ({} $($name:ident $rows:ident [$($ddof:ident)?] $out:ident $empty:ident)*) => {{
        unsafe extern "C" {
            $(
                #[link_name = concat!("dpt_", stringify!($name), "_f32")]
                fn $name(exec: *const dpt_exec, n: i64, x: *const f32, incx: i64, $($ddof: i64,)? out: *mut reductions!(@$out)) -> dpt_status;
                #[link_name = concat!("dpt_", stringify!($rows), "_f32")]
                fn $rows(
                    exec: *const dpt_exec, m: i64, n: i64, x: *const f32, rs: i64, cs: i64, $($ddof: i64,)?
                    out: *mut reductions!(@$out), inc_out: i64,
                ) -> dpt_status;
            )*
        }
        vec![$(
            Row {
                name: concat!("dpt_", stringify!($name), "_f32"),
                sizes: 1,
                call: |exec, sizes, pointers| {
                    $(let $ddof = 0;)?
                    // SAFETY: the pointers that are used point to arrays that are large enough.
                    unsafe { $name(exec, sizes[0], pointers[0], 1, $($ddof,)? pointers[1].cast()) }
                },
                used: |sizes| vec![sizes[0] > 0, reductions!(@$empty) || sizes[0] > 0],
            },
            Row {
                name: concat!("dpt_", stringify!($rows), "_f32"),
                sizes: 2,
                call: |exec, sizes, pointers| {
                    $(let $ddof = 0;)?
                    // SAFETY: the pointers that are used point to arrays that are large enough.
                    unsafe { $rows(exec, sizes[0], sizes[1], pointers[0], 3, 1, $($ddof,)? pointers[1].cast(), 1) }
                },
                used: |sizes| {
                    let all = sizes[0] > 0 && sizes[1] > 0;
                    vec![all, all || reductions!(@$empty) && sizes[0] > 0]
                },
            },
        )*]
    }};
    (@element) => { f32 };
    (@count) => { i64 };
    (@index) => { i64 };
    // Whether the reduction of no elements has a value, which is then written.
    (@value) => { true };
    (@refused) => { false };
}

/// Lists the maps over rows of the table.
macro_rules! row_maps {
    ({} $($name:ident)*) => {{
        unsafe extern "C" {
            $(
                #[link_name = concat!("dpt_", stringify!($name), "_f32")]
                fn $name(
                    exec: *const dpt_exec, m: i64, n: i64, x: *const f32, x_rs: i64, x_cs: i64,
                    out: *mut f32, out_rs: i64, out_cs: i64,
                ) -> dpt_status;
            )*
        }
        vec![$(Row {
            name: concat!("dpt_", stringify!($name), "_f32"),
            sizes: 2,
            call: |exec, sizes, pointers| {
                // SAFETY: the pointers that are used point to arrays that are large enough.
                unsafe { $name(exec, sizes[0], sizes[1], pointers[0], 3, 1, pointers[1], 3, 1) }
            },
            used: |sizes| vec![sizes[0] > 0 && sizes[1] > 0; 2],
        }),*]
    }};
}

/// Returns all operations.
fn rows() -> Vec<Row> {
    let mut all = diptych::for_each_elementwise!(elementwise! {} [name arguments output]);
    all.extend(diptych::for_each_reduction!(reductions! {} [name rows ddof result empty]));
    all.extend(diptych::for_each_row_map!(row_maps! {}[name]));
    all.extend_from_slice(OTHERS);
    all
}

/// The initial contents of each array. The results contain no NaN, whose bits would depend on the device.
const BEFORE: [f32; 16] = [
    1.5, -2.0, 0.75, 3.0, -0.5, 8.0, 0.25, 1.0, -1.5, 2.0, -0.75, -3.0, 0.5, -8.0, -0.25, -1.0,
];

/// Returns all lists of `length` numbers below `count`.
fn lists(length: usize, count: usize) -> impl Iterator<Item = Vec<usize>> {
    let digit = move |list: usize, i: usize| list / count.pow(i as u32) % count;
    let all = 0..count.pow(length as u32);
    all.map(move |list| (0..length).map(|i| digit(list, i)).collect())
}

/// Checks that calls with these sizes give the CPU's results, wherever the unused pointers point.
fn check(row: &Row, sizes: &[i64]) {
    let used = (row.used)(sizes);
    let (idle, mut host) = (Array::new(&BEFORE), BEFORE);
    let anywhere = [
        idle.pointer(),
        host.as_mut_ptr(),
        ptr::without_provenance_mut(4),
        ptr::null_mut(),
    ];
    let unused = used.iter().filter(|used| !**used).count();
    for places in lists(unused, anywhere.len()) {
        // Returns the status and the arrays after the call. Device arrays of the fake driver are host memory, so the
        // CPU can use them too.
        let call = |exec: *const dpt_exec| {
            let arrays: Vec<_> = used.iter().map(|_| Array::new(&BEFORE)).collect();
            let mut places = places.iter().map(|place| anywhere[*place]);
            let pointers: Vec<*mut f32> = (used.iter().zip(&arrays))
                .map(|(used, array)| match used {
                    true => array.pointer(),
                    false => places.next().expect("an address for each"),
                })
                .collect();
            let status = (row.call)(exec, sizes, &pointers);
            let values: Vec<_> = arrays.iter().map(Array::values).collect();
            (status, values)
        };
        let expected = call(ptr::null());
        for exec in [cuda(), auto()] {
            let (name, device) = (row.name, exec.device);
            assert_eq!(
                call(&exec),
                expected,
                "{name} {sizes:?} {places:?} device {device}: {}",
                text()
            );
        }
    }
    assert_eq!((host, idle.values()), (BEFORE, BEFORE.to_vec()));
}

crate::scenarios! {
    New pointers_that_are_not_used_do_not_matter() {
        // SAFETY: no exec.
        fine(unsafe { dpt_cuda_preload(ptr::null()) });
        for row in &rows() {
            for sizes in lists(row.sizes, 2) {
                let sizes: Vec<i64> = sizes.iter().map(|size| 2 * *size as i64).collect();
                check(row, &sizes);
            }
        }
    }
}

/// Each operation of the header for f32, apart from `dpt_advise`, has a row.
#[test]
fn every_operation_has_a_row() {
    let header = include_str!("../../../include/diptych.h");
    let words = header.split(|c: char| !c.is_alphanumeric() && c != '_');
    let (rows, operations) = (
        rows(),
        words.filter(|word| {
            word.starts_with("dpt_") && word.ends_with("_f32") && !word.starts_with("dpt_advise")
        }),
    );
    for name in operations {
        assert!(rows.iter().any(|row| row.name == name), "{name}");
    }
}
