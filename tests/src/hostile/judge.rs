//! What must become of a call, from its arguments alone: found by counting bytes one by one, with none of
//! the library's reasoning.

use std::collections::BTreeSet;

use diptych_ffi::dpt_status_code as Code;

use super::memory::Operand;

/// A set of statuses.
pub type Statuses = BTreeSet<i32>;

/// What a call may answer.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Faults that are there for certain: the call must fail.
    pub certain: Statuses,
    /// What it may find beside these; alone they are no reason to fail.
    pub possible: Statuses,
    /// Whether the memory is there for the call to succeed.
    pub runs: bool,
}

/// More elements than this are not compared one by one.
const MOST_ELEMENTS: i128 = 1 << 16;

impl Verdict {
    /// A fault that is there for certain.
    pub fn fault(&mut self, code: Code) {
        self.fault_of(code as i32);
    }

    /// As [`Verdict::fault`], of a status.
    pub fn fault_of(&mut self, status: i32) {
        self.certain.insert(status);
    }

    /// What may be found, if the call fails at all.
    pub fn may(&mut self, code: Code) {
        self.possible.insert(code as i32);
    }

    /// Whether this status is one of those that the call may give.
    pub fn allows(&self, status: i32) -> bool {
        if status == 0 {
            return self.certain.is_empty();
        }
        self.certain.contains(&status) || self.possible.contains(&status)
    }

    /// Judges sizes and operands.
    pub fn of(sizes: &[i64], operands: &[Operand]) -> Verdict {
        let mut verdict = Verdict {
            runs: true,
            ..Verdict::default()
        };
        let negative = sizes.iter().any(|&size| size < 0);
        if negative {
            verdict.fault(Code::DPT_NEGATIVE_SIZE);
        }
        for operand in operands.iter().filter(|operand| operand.accessed) {
            verdict.judge_pointer(operand);
        }
        for (i, one) in operands.iter().enumerate() {
            if one.output && one.accessed {
                verdict.judge_itself(one);
            }
            for other in &operands[..i] {
                if (one.output || other.output) && one.accessed && other.accessed {
                    verdict.judge_pair(one, other);
                }
            }
        }
        verdict
    }

    fn judge_pointer(&mut self, operand: &Operand) {
        self.runs &= operand.place.is_some();
        if operand.address == 0 {
            self.fault(Code::DPT_NULL_POINTER);
        }
        if !operand.address.is_multiple_of(operand.element) {
            self.fault(Code::DPT_MISALIGNED);
        }
        let fits = operand.span().is_some_and(|(low, high)| {
            let first = operand.address as i128 + low;
            let last = operand.address as i128 + high;
            first >= 0 && last <= usize::MAX as i128 && last - first <= isize::MAX as i128
        });
        if !fits {
            self.fault(Code::DPT_SIZE_OVERFLOW);
        }
    }

    fn judge_itself(&mut self, output: &Operand) {
        let Some(starts) = starts(output) else {
            self.may(Code::DPT_OVERLAP);
            return;
        };
        if starts
            .windows(2)
            .any(|pair| pair[1] - pair[0] < output.element as i128)
        {
            self.fault(Code::DPT_OVERLAP);
        } else if output.dims.len() > 2 {
            // A batch is not judged exactly.
            self.may(Code::DPT_OVERLAP);
        }
    }

    fn judge_pair(&mut self, one: &Operand, other: &Operand) {
        let (Some(a), Some(b)) = (starts(one), starts(other)) else {
            self.may(Code::DPT_OVERLAP);
            return;
        };
        let same = one.address == other.address && one.dims == other.dims;
        if same && one.in_place && other.in_place {
            return;
        }
        if shares(&a, one.element, &b, other.element) {
            self.fault(Code::DPT_OVERLAP);
        } else if a[0] < b[b.len() - 1] && b[0] < a[a.len() - 1] {
            // Woven into each other: apart, and the library need not find that out.
            self.may(Code::DPT_OVERLAP);
        }
    }
}

/// The addresses of all elements, in order; `None` where they cannot be counted.
fn starts(operand: &Operand) -> Option<Vec<i128>> {
    operand.place?;
    let elements = operand
        .dims
        .iter()
        .map(|&(count, _)| i128::from(count))
        .product::<i128>();
    if elements > MOST_ELEMENTS {
        return None;
    }
    let at = |offset: isize| operand.address as i128 + offset as i128;
    let mut all: Vec<i128> = operand.offsets().into_iter().map(at).collect();
    all.sort_unstable();
    Some(all)
}

/// Whether a byte belongs to both.
fn shares(a: &[i128], a_bytes: usize, b: &[i128], b_bytes: usize) -> bool {
    a.iter().any(|&start| {
        let from = b.partition_point(|&other| other + b_bytes as i128 <= start);
        b.get(from)
            .is_some_and(|&other| other < start + a_bytes as i128)
    })
}
