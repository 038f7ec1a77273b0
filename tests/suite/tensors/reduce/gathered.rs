//! Reductions whose elements are gathered.

use diptych::{Exec, Storage, bf16, f16};
use diptych_tests::tensors::Array;
use diptych_tests::threads::Scoped;

use super::{Reduction, on_each_level, reductions, rounds, try_array, try_one};

/// Shapes whose reductions gather several chunks, begin and end within lines, and have trees of an odd number of chunks;
/// and the axes that are reduced.
const LONG: [(&[i64], &[bool]); 9] = [
    (&[90, 5, 100], &[true, false, true]),
    (&[3, 3, 3000], &[true, false, true]),
    (&[2, 3, 5, 2048], &[true, false, true, true]),
    (&[40, 19, 130], &[true, false, true]),
    (&[21, 200, 17], &[true, true, false]),
    (&[17, 70, 61], &[false, true, true]),
    (&[2, 50, 3, 2, 40], &[false, true, false, true, true]),
    (
        &[4, 2, 4, 2, 4, 2, 30],
        &[true, true, true, false, true, true, true],
    ),
    (&[30, 70, 12], &[true, true, true]),
];

#[test]
fn long_reductions_have_the_bits_of_single_calls() {
    let execs = on_each_level();
    let (f32s, f64s, f16s) = (
        reductions::<f32>(),
        reductions::<f64>(),
        reductions::<f16>(),
    );
    for (i, (shape, set)) in LONG.iter().enumerate() {
        rounds(3000 + 100 * i as u64, 4, |rng| {
            try_one(rng, &execs, &f32s, shape, Some(set.to_vec()));
            try_one(rng, &execs, &f64s, shape, Some(set.to_vec()));
            try_one(rng, &execs, &f16s, shape, Some(set.to_vec()));
        });
    }
}

#[test]
fn threads_and_workspaces_change_nothing() {
    let pool = Scoped::new(2);
    let f32s = reductions::<f32>();
    let mut small = [const { std::mem::MaybeUninit::uninit() }; 100];
    let mut large = vec![std::mem::MaybeUninit::uninit(); 400 << 10];
    let execs = [
        Exec::new(),
        Exec::new().with_pool(&pool, 2),
        Exec::new().with_workspace(&mut small),
        Exec::new().with_pool(&pool, 2).with_workspace(&mut large),
    ];
    for (i, (shape, set)) in LONG.iter().enumerate() {
        rounds(5000 + 100 * i as u64, 1, |rng| {
            try_one(rng, &execs, &f32s, shape, Some(set.to_vec()));
        });
    }
    let shapes: [&[i64]; 3] = [&[300, 40, 50], &[7, 400, 200], &[9000, 5, 12]];
    for (i, shape) in shapes.iter().enumerate() {
        rounds(6000 + 100 * i as u64, 1, |rng| {
            let set = vec![false, true, false];
            try_one(rng, &execs, &f32s[..4], shape, Some(set));
        });
    }
}

/// Arrays with gaps between neighbours along all axes, which are gathered as columns where there is scratch memory.
#[test]
fn columns_with_gaps_have_the_bits_of_single_calls() {
    fn try_all<T: Storage>(execs: &[Exec<'_>], reductions: &[Reduction<T>])
    where
        T::Compute: From<f32>,
        f64: From<T::Compute>,
    {
        // The last is too long for a block of columns.
        let cases: [(&[i64], &[i64], &[bool]); 5] = [
            (&[700, 90], &[200, 2], &[true, false]),
            (&[90, 700], &[-3, 300], &[false, true]),
            (&[3, 300, 70], &[43000, 140, -2], &[false, true, false]),
            (
                &[2, 2, 40, 50],
                &[3, 9000, 150, 7],
                &[false, false, true, false],
            ),
            (&[5000, 20], &[41, 2], &[true, false]),
        ];
        for (i, (shape, strides, set)) in cases.iter().enumerate() {
            rounds(9000 + 100 * i as u64, 1, |rng| {
                let x = Array::<T>::with_strides(shape, strides.to_vec());
                try_array(rng, execs, reductions, x, Some(set.to_vec()));
            });
        }
    }
    let pool = Scoped::new(2);
    let room = |bytes| vec![std::mem::MaybeUninit::uninit(); bytes];
    let (mut small, mut middle, mut large) = (room(100), room(60 << 10), room(600 << 10));
    let mut execs = on_each_level();
    execs.extend([
        Exec::new().with_workspace(&mut small),
        // Room for a part of a block.
        Exec::new().with_workspace(&mut middle),
        Exec::new().with_pool(&pool, 2).with_workspace(&mut large),
    ]);
    try_all(&execs, &reductions::<f32>());
    try_all(&execs, &reductions::<f64>());
    try_all(&execs, &reductions::<f16>());
}

/// Column-major arrays, whose elements are gathered for several indices of the first axis at once, as far as there is room.
#[test]
fn transposed_arrays_have_the_bits_of_single_calls() {
    fn try_all<T: Storage>(execs: &[Exec<'_>], reductions: &[Reduction<T>])
    where
        T::Compute: From<f32>,
        f64: From<T::Compute>,
    {
        let shapes: [&[i64]; 6] = [
            &[40, 900],
            &[17, 2100],
            &[300, 90],
            &[5, 6001],
            &[3000, 3],
            &[9, 5, 700],
        ];
        for (i, shape) in shapes.iter().enumerate() {
            rounds(7000 + 100 * i as u64, 2, |rng| {
                let (gap, sign) = (rng.i64(0..2), [1, -1][rng.usize(..2)]);
                let mut strides: Vec<i64> = vec![sign];
                for count in &shape[..shape.len() - 1] {
                    strides.push(strides.last().unwrap().abs() * (count + gap));
                }
                let x = Array::<T>::with_strides(shape, strides);
                try_array(rng, execs, reductions, x, Some(vec![true; shape.len()]));
            });
        }
    }
    let pool = Scoped::new(2);
    let room = |bytes| vec![std::mem::MaybeUninit::uninit(); bytes];
    let (mut small, mut middle, mut large) = (room(100), room(60 << 10), room(800 << 10));
    let mut execs = on_each_level();
    execs.extend([
        Exec::new().with_workspace(&mut small),
        Exec::new().with_workspace(&mut middle),
        Exec::new().with_pool(&pool, 2).with_workspace(&mut large),
    ]);
    try_all(&execs, &reductions::<f32>());
    try_all(&execs, &reductions::<f64>());
    try_all(&execs, &reductions::<f16>());
}

/// Columns of 16-bit floats, which are converted in blocks where there is scratch memory, and one by one where there is not.
#[test]
fn columns_of_halves_have_the_bits_of_single_calls() {
    let pool = Scoped::new(2);
    let room = |bytes| vec![std::mem::MaybeUninit::uninit(); bytes];
    let (mut small, mut middle, mut large) = (room(100), room(100 << 10), room(3 << 20));
    let mut execs = on_each_level();
    execs.extend([
        Exec::new().with_workspace(&mut small),
        // Room for a block of the short columns alone.
        Exec::new().with_workspace(&mut middle),
        Exec::new().with_pool(&pool, 2).with_workspace(&mut large),
    ]);
    // Few columns and many, gaps between rows, several axes, and columns too long for a block.
    let cases: [(&[i64], &[i64], &[bool]); 7] = [
        (&[2, 16], &[16, 1], &[true, false]),
        (&[65, 33], &[40, 1], &[true, false]),
        (&[700, 300], &[300, 1], &[true, false]),
        (&[3, 90, 50], &[5000, 50, 1], &[false, true, false]),
        (&[40, 3, 20], &[60, 20, 1], &[true, false, false]),
        (&[5000, 40], &[40, 1], &[true, false]),
        (&[33_000, 17], &[17, 1], &[true, false]),
    ];
    for (i, (shape, strides, set)) in cases.iter().enumerate() {
        rounds(11_000 + 100 * i as u64, 1, |rng| {
            let x = Array::with_strides(shape, strides.to_vec());
            try_array(rng, &execs, &reductions::<f16>(), x, Some(set.to_vec()));
            let x = Array::with_strides(shape, strides.to_vec());
            try_array(rng, &execs, &reductions::<bf16>(), x, Some(set.to_vec()));
        });
    }
}
