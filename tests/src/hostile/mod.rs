//! Calls with arbitrary arguments: sizes, strides, addresses, values, flags and structs are drawn from bytes, valid
//! and invalid ones. Each call is made through the C interface on every CPU level of the machine. The expected
//! outcome follows from the arguments (`judge`) and the model: an invalid call returns one of the statuses that
//! apply and writes nothing; a valid call gives the model's bits and writes nothing else.
//!
//! The fuzz targets feed this code their inputs; the suite `hostile` feeds it random bytes and the targets' corpus.

mod elementwise;
mod exec;
pub mod functions;
mod fused;
mod gemm;
mod input;
mod judge;
mod kind;
mod memory;
mod outer;
mod reduce;
mod reduce_rows;
mod row_map;
mod tensors;
mod views;

use std::sync::{Mutex, PoisonError};

use diptych::table;
use diptych_ffi::{dpt_exec, dpt_force_cpu_level, dpt_status, dpt_status_code as Code};

use crate::guard::during;
use crate::levels::levels;
use crate::random::Input;
use crate::real::Real;
use crate::report::Nan;
use exec::Execution;
use judge::Verdict;
use memory::{Memory, Operand};

/// A family of operations, or the safe interface; the name is that of the fuzz target and of its corpus.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The name.
    pub name: &'static str,
    run: fn(&mut Input<'_>) -> Outcome,
}

impl Family {
    /// Makes the calls that `data` describes; with `pages`, some on arrays between guard pages. (Under a sanitizer
    /// guard pages find no more and cost time.)
    ///
    /// # Panics
    /// If the library does not keep its contract.
    pub fn run(&self, data: &[u8], pages: bool) -> Outcome {
        self.run_other(data, pages, 0)
    }

    /// Like [`Family::run`], with the operation that is `turn` rows further in the table.
    ///
    /// # Panics
    /// As [`Family::run`].
    pub fn run_other(&self, data: &[u8], pages: bool, turn: usize) -> Outcome {
        let mut input = Input::new(data);
        (input.pages, input.turn) = (pages, turn);
        (self.run)(&mut input)
    }

    /// Returns the number of operations that the bytes choose from.
    pub fn operations(&self) -> usize {
        match self.name {
            "elementwise" => table::ELEMENTWISE.len(),
            "reduce" | "reduce_rows" => table::REDUCTIONS.len(),
            "row_map" => table::ROW_MAPS.len(),
            "views" => views::OPERATIONS,
            "tensors" => tensors::OPERATIONS,
            _ => 1,
        }
    }
}

/// All families.
pub const FAMILIES: [Family; 9] = [
    Family {
        name: "elementwise",
        run: elementwise::run,
    },
    Family {
        name: "outer",
        run: outer::run,
    },
    Family {
        name: "gemm",
        run: gemm::run,
    },
    Family {
        name: "reduce",
        run: reduce::run,
    },
    Family {
        name: "reduce_rows",
        run: reduce_rows::run,
    },
    Family {
        name: "row_map",
        run: row_map::run,
    },
    Family {
        name: "fused",
        run: fused::run,
    },
    Family {
        name: "views",
        run: views::run,
    },
    Family {
        name: "tensors",
        run: tensors::run,
    },
];

/// Returns the family of that name.
///
/// # Panics
/// If there is none.
pub fn family(name: &str) -> &'static Family {
    let found = FAMILIES.iter().find(|family| family.name == name);
    found.unwrap_or_else(|| panic!("there is no family {name}"))
}

/// The number of calls and how they ended.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The operation.
    pub name: String,
    /// Calls made.
    pub calls: usize,
    /// Calls that returned an error, as expected.
    pub refused: usize,
    /// Calls that succeeded on arrays next to guard pages.
    pub guarded: usize,
}

/// One call, before it is made.
struct Case {
    name: String,
    /// More about the arguments, for failure messages.
    details: String,
    sizes: Vec<i64>,
    operands: Vec<Operand>,
    verdict: Verdict,
    memory: Memory,
    execution: Execution,
    nan: Nan,
}

/// The most steps (product of the sizes) of a call; larger calls are not made, to save time.
const MOST_WORK: u128 = 1 << 22;

/// The outputs of a call: index of the operand, and the bits of its elements.
type Written = Vec<(usize, Vec<u64>)>;

impl Case {
    /// Lays out the operands and draws `exec`; `extra` adds faults other than those of sizes and operands.
    fn new(
        input: &mut Input<'_>,
        name: impl Into<String>,
        sizes: &[i64],
        mut operands: Vec<Operand>,
        query: Option<&dyn Fn(*const dpt_exec) -> Option<usize>>,
        extra: impl FnOnce(&mut Verdict),
    ) -> Case {
        let memory = Memory::new(input, &mut operands);
        let mut verdict = Verdict::of(sizes, &operands);
        extra(&mut verdict);
        let execution = Execution::new(input, &mut verdict, query);
        Case {
            name: name.into(),
            details: String::new(),
            sizes: sizes.to_vec(),
            operands,
            verdict,
            memory,
            execution,
            nan: Nan::Any,
        }
    }

    /// Returns whether the call may be made: it must fail, or its operands lie in memory and it is small enough.
    fn can_run(&self) -> bool {
        let work = self.sizes.iter().map(|&size| size.max(1) as u128);
        let work = work.fold(1u128, |product, size| product.saturating_mul(size));
        !self.verdict.certain.is_empty() || (self.verdict.runs && work <= MOST_WORK)
    }

    /// Makes the call on every level. `call` gets `exec` and the addresses of the operands. `model` gets the bits of
    /// their elements and returns the outputs, or `None` if only the location of the output is specified.
    fn check(
        mut self,
        call: impl Fn(*const dpt_exec, &[usize]) -> dpt_status,
        model: impl Fn(&[Vec<u64>]) -> Option<Written>,
    ) -> Outcome {
        let mut outcome = Outcome {
            name: self.name.clone(),
            ..Outcome::default()
        };
        if !self.can_run() {
            return outcome;
        }
        let before = self.memory.clone();
        let wanted = self.wanted(&before, model);
        let addresses: Vec<usize> = self
            .operands
            .iter()
            .map(|operand| operand.address)
            .collect();
        // The forced level is global to the process.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        for &level in levels() {
            assert_eq!(dpt_force_cpu_level(level as i32), 0);
            self.memory.restore(&before);
            let status = match self.memory.edge {
                Some(_) => during(&self.describe(), || {
                    call(self.execution.pointer(), &addresses)
                }),
                None => call(self.execution.pointer(), &addresses),
            };
            outcome.calls += 1;
            outcome.refused += usize::from(status != 0);
            outcome.guarded += usize::from(status == 0 && self.memory.edge.is_some());
            if let Err(problem) = self.verify(status, &before, wanted.as_ref()) {
                drop(guard);
                self.fail(level.name(), status, &problem);
            }
        }
        outcome
    }

    /// Returns the memory after a call that succeeds; `None` if the call must fail, `Some(None)` if the model does
    /// not specify the outputs.
    fn wanted(
        &self,
        before: &Memory,
        model: impl Fn(&[Vec<u64>]) -> Option<Written>,
    ) -> Option<Option<Memory>> {
        if !self.verdict.certain.is_empty() {
            return None;
        }
        let elements: Vec<Vec<u64>> = self.operands.iter().map(|o| before.elements(o)).collect();
        let written = model(&elements);
        Some(written.map(|written| {
            let mut after = before.clone();
            for (operand, bits) in written {
                after.write(&self.operands[operand], &bits);
            }
            after
        }))
    }

    fn verify(
        &mut self,
        status: dpt_status,
        before: &Memory,
        wanted: Option<&Option<Memory>>,
    ) -> Result<(), String> {
        if !self.verdict.allows(status) {
            return Err("the call must not return this status".into());
        }
        if !self.execution.is_intact() {
            return Err("wrote outside the workspace".into());
        }
        let undefined = self.execution.undefined && status == Code::DPT_INVALID_VALUE as i32;
        let refused = status != 0 && !(undefined && self.verdict.certain.is_empty());
        let target = match wanted {
            _ if refused => before,
            Some(Some(wanted)) if status == 0 => {
                self.unify_nans(wanted);
                wanted
            }
            // The outputs may have any contents; nothing else may change.
            _ => {
                self.undo_outputs(before);
                before
            }
        };
        match self.memory.difference(target) {
            None => Ok(()),
            Some((block, byte)) if refused => Err(format!("wrote to block {block} at byte {byte}")),
            Some((block, byte)) => Err(format!("wrong from block {block}, byte {byte} on")),
        }
    }

    /// Replaces each computed NaN by the model's NaN, unless NaN bits are specified.
    fn unify_nans(&mut self, wanted: &Memory) {
        if self.nan == Nan::Bits {
            return;
        }
        for operand in self.operands.iter().filter(|operand| operand.output) {
            let bits = self.memory.elements(operand);
            let model = wanted.elements(operand);
            let is_nan = |v: u64| operand.kind.is_nan(v);
            let unify = |(got, want)| {
                if is_nan(got) && is_nan(want) {
                    want
                } else {
                    got
                }
            };
            let unified: Vec<u64> = bits.into_iter().zip(model).map(unify).collect();
            self.memory.write(operand, &unified);
        }
    }

    fn undo_outputs(&mut self, before: &Memory) {
        for operand in self.operands.iter().filter(|o| o.output && o.accessed) {
            self.memory.write(operand, &before.elements(operand));
        }
    }

    fn fail(&self, level: &str, status: dpt_status, problem: &str) -> ! {
        let text = diptych_ffi::dpt_last_error();
        // SAFETY: a C string that is valid until the next failure on this thread.
        let text = unsafe { core::ffi::CStr::from_ptr(text) }.to_string_lossy();
        panic!(
            "level {level}: {problem}\nstatus {status} ({text}), must be {:?}, may be {:?}\n{}",
            self.verdict.certain,
            self.verdict.possible,
            self.describe()
        );
    }

    fn describe(&self) -> String {
        let operands: String = self.operands.iter().map(|o| format!("\n  {o}")).collect();
        let Case {
            name,
            sizes,
            details,
            ..
        } = self;
        format!("{name}, sizes {sizes:?}{details}{operands}")
    }
}

/// Returns the numbers with these bits.
fn numbers<T: Real>(bits: &[u64]) -> Vec<T> {
    bits.iter().map(|&bits| T::of_bits(bits)).collect()
}

/// Returns the bits of these numbers.
fn bits<T: Real>(numbers: &[T]) -> Vec<u64> {
    numbers.iter().map(|v| v.bits()).collect()
}
