//! The fingerprint: one value everywhere, which covers every operation, and which changes with each.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;

use diptych::fingerprint::{self, Backend, Cpu, Memory, OPERATIONS, Over, Tensors, Typed};
use diptych::table::{ELEMENTWISE, OPS, REDUCTIONS};
use diptych::{Dtype, Error, Exec, Result};
use diptych_tests::fixed_pool::FixedPool;
use diptych_tests::levels::levels;

fn memory() -> Box<Memory> {
    Box::new(fingerprint::memory())
}

/// Fails with the lines that `kernels-cpu/src/fingerprint/expected.rs` would need, if bits may change.
fn assert_right(exec: &Exec<'_>, what: &str) {
    let mut memory = memory();
    let found = diptych::fingerprint(exec, &mut memory);
    if found == Ok(fingerprint::FINGERPRINT) {
        return;
    }
    let mut wrong = String::new();
    for number in 0..OPERATIONS {
        let hash = fingerprint::of_operation(exec, &mut memory, number);
        let hash = hash.unwrap_or_else(|error| panic!("{what}: {error}"));
        if hash != Some(fingerprint::expected(number)) {
            let (name, hash) = (fingerprint::name(number).unwrap(), hash.unwrap());
            wrong += &format!("    (\"{name}\", 0x{hash:016x}),\n");
        }
    }
    panic!("{what}: other bits than promised:\n{wrong}");
}

#[test]
fn is_the_same_on_every_level_and_number_of_threads() {
    for &level in levels() {
        assert_right(&Exec::new().with_level(level).unwrap(), level.name());
        for threads in [2, 3, 5, 8] {
            let pool = FixedPool::new(threads);
            let what = format!("{}, {threads} threads", level.name());
            let exec = Exec::new().with_level(level).unwrap();
            assert_right(&exec.with_pool(&pool, threads), &what);
        }
    }
}

#[test]
fn is_the_same_with_a_workspace() {
    let mut workspace = vec![MaybeUninit::uninit(); 16 << 20];
    let pool = FixedPool::new(4);
    for threads in [1, 4] {
        let exec = Exec::new().with_pool(&pool, threads);
        assert_right(&exec.with_workspace(&mut workspace), "a workspace");
    }
}

#[test]
fn every_operation_has_a_promise() {
    let names = (0..OPERATIONS).map(|number| fingerprint::name(number).unwrap());
    let names: BTreeSet<_> = names.collect();
    assert_eq!(names.len(), OPERATIONS);
    let table: BTreeSet<_> = OPS.iter().map(|op| op.name).chain(["convert"]).collect();
    assert_eq!(names, table);
    for number in 0..OPERATIONS {
        let name = fingerprint::name(number).unwrap();
        assert_ne!(
            fingerprint::expected(number),
            0,
            "{name} has no hash in expected.rs"
        );
    }
    assert_eq!(fingerprint::name(OPERATIONS), None);
    assert_eq!(
        fingerprint::of_operation(&Exec::new(), &mut memory(), OPERATIONS),
        Ok(None)
    );
}

/// The CPU, but for one call of one operation, which has another bit.
struct Planted {
    op: usize,
    calls: usize,
}

impl Planted {
    /// # Safety
    /// The output must be valid.
    unsafe fn plant(&mut self, op: usize, out: *mut u8) {
        self.calls += usize::from(op == self.op);
        // Neither the first nor the last call of any operation.
        if op == self.op && self.calls == 3 {
            // SAFETY: as the caller's.
            unsafe { *out ^= 1 };
        }
    }
}

/// The number of an operation over tensors among all operations.
fn number(call: &Tensors<'_>) -> usize {
    let named = |name| OPS.iter().position(|op| op.name == name).unwrap();
    match call.op {
        Over::Elementwise(op) => op,
        Over::Reduction(op) => ELEMENTWISE.len() + op,
        Over::RowMap(op) => ELEMENTWISE.len() + REDUCTIONS.len() + op,
        Over::Outer => named("outer"),
        Over::Ger => named("ger"),
        Over::Matmul if call.has_epilogue => named("gemm_fused"),
        Over::Matmul if call.out.ndim > 2 => named("gemm_batched"),
        Over::Matmul => named("gemm"),
        Over::Dot => named("dot"),
        Over::MseGrad => named("mse_grad"),
        Over::LsqGrad => named("lsq_grad"),
        Over::Convert => OPS.len(),
    }
}

// SAFETY: there is no device.
unsafe impl Backend for Planted {
    type Error = Error;

    unsafe fn typed(&mut self, call: &Typed) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe {
            Cpu(&Exec::new()).typed(call)?;
            self.plant(call.op, call.out.p);
        }
        Ok(())
    }

    unsafe fn tensors(&mut self, call: &Tensors<'_>) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe {
            Cpu(&Exec::new()).tensors(call)?;
            self.plant(number(call), call.out.data.cast());
        }
        Ok(())
    }
}

#[test]
fn one_wrong_bit_changes_it_and_names_the_operation() {
    let mut memory = memory();
    for op in 0..OPERATIONS {
        let name = fingerprint::name(op).unwrap();
        let planted = || Planted { op, calls: 0 };
        let found = fingerprint::one(&mut planted(), &mut memory, op).unwrap();
        assert_ne!(found, Some(fingerprint::expected(op)), "{name}");
        let other = (op + 1) % OPERATIONS;
        let found = fingerprint::one(&mut planted(), &mut memory, other).unwrap();
        assert_eq!(found, Some(fingerprint::expected(other)), "{name}");
    }
    let mut planted = Planted { op: 0, calls: 0 };
    let whole = fingerprint::whole(&mut planted, &mut memory).unwrap();
    assert_ne!(whole, fingerprint::FINGERPRINT);
}

/// What the calls reach, as text.
#[derive(Default)]
struct Seen(BTreeSet<String>);

// SAFETY: there is no device.
unsafe impl Backend for Seen {
    type Error = Error;

    unsafe fn typed(&mut self, call: &Typed) -> Result<()> {
        let (name, rows) = (OPS[call.op].name, if call.rows { "_rows" } else { "" });
        self.0.insert(format!("{name}{rows} {:?}", call.dtype));
        // SAFETY: as the caller's.
        unsafe { Cpu(&Exec::new()).typed(call) }
    }

    unsafe fn tensors(&mut self, call: &Tensors<'_>) -> Result<()> {
        let x = call.inputs[0];
        let of = (x.dtype_code, x.dtype_bits);
        let name = fingerprint::name(number(call)).unwrap();
        self.0.insert(format!("{name} over {of:?}"));
        // SAFETY: as the caller's.
        unsafe { Cpu(&Exec::new()).tensors(call) }
    }
}

#[test]
fn calls_reach_every_form_on_every_type() {
    let mut seen = Seen::default();
    assert_eq!(
        fingerprint::whole(&mut seen, &mut memory()),
        Ok(fingerprint::FINGERPRINT)
    );
    let mut wanted = BTreeSet::new();
    const SINGLE: (u8, u8) = (2, 32);
    const DOUBLE: (u8, u8) = (2, 64);
    const HALVES: [(u8, u8); 2] = [(2, 16), (4, 16)];
    const INTEGERS: [(u8, u8); 4] = [(0, 8), (1, 8), (0, 32), (0, 64)];
    for op in OPS {
        for dtype in [Dtype::F32, Dtype::F64] {
            wanted.insert(format!("{} {dtype:?}", op.name));
            if op.rows {
                wanted.insert(format!("{}_rows {dtype:?}", op.name));
            }
        }
        for of in [SINGLE, DOUBLE] {
            wanted.insert(format!("{} over {of:?}", op.name));
        }
    }
    // A batch of products of these types is a loop over products.
    let names = OPS.iter().map(|op| op.name);
    for name in names.filter(|&name| name != "gemm_batched") {
        wanted.extend(HALVES.map(|of| format!("{name} over {of:?}")));
    }
    let elementwise = ELEMENTWISE.iter().map(|row| (row.name, row.takes_integers));
    let reductions = REDUCTIONS.iter().map(|row| (row.name, row.takes_integers));
    let products = [("gemm", true), ("dot", true)];
    for (name, takes_integers) in elementwise.chain(reductions).chain(products) {
        if takes_integers {
            wanted.extend(INTEGERS.map(|of| format!("{name} over {of:?}")));
        }
    }
    let integers = [8, 16, 32, 64]
        .into_iter()
        .flat_map(|bits| [(0, bits), (1, bits)]);
    let converted = integers.chain([SINGLE, DOUBLE, (6, 8)]).chain(HALVES);
    wanted.extend(converted.map(|of: (u8, u8)| format!("convert over {of:?}")));
    assert_eq!(seen.0, wanted);
    assert_eq!(OPS.iter().filter(|op| op.rows).count(), REDUCTIONS.len());
}
