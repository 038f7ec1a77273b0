//! The statuses that a call may return, derived from its arguments alone: by brute force, from the addresses of all
//! elements, with none of the library's reasoning.

use std::collections::BTreeSet;

use diptych_ffi::dpt_status_code as Code;

use super::memory::Operand;

/// A set of statuses.
pub type Statuses = BTreeSet<i32>;

/// The statuses that a call may return.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Certain faults: if there are any, the call must fail with one of these or of `possible`.
    pub certain: Statuses,
    /// Faults that the library may report but need not: the call may also succeed.
    pub possible: Statuses,
    /// Whether all operands that the call accesses lie in memory, so that it may succeed.
    pub runs: bool,
}

/// The most elements of an operand that are compared one by one.
const MOST_ELEMENTS: i128 = 1 << 16;

impl Verdict {
    /// Adds a certain fault.
    pub fn fault(&mut self, code: Code) {
        self.fault_of(code as i32);
    }

    /// Like [`Verdict::fault`], for a status.
    pub fn fault_of(&mut self, status: i32) {
        self.certain.insert(status);
    }

    /// Adds a fault that the call may report but need not.
    pub fn may(&mut self, code: Code) {
        self.possible.insert(code as i32);
    }

    /// Returns whether the call may return this status.
    pub fn allows(&self, status: i32) -> bool {
        if status == 0 {
            return self.certain.is_empty();
        }
        self.certain.contains(&status) || self.possible.contains(&status)
    }

    /// Derives the verdict from sizes and operands.
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
            verdict.check_pointer(operand);
        }
        for (i, one) in operands.iter().enumerate() {
            if one.output && one.accessed {
                verdict.check_self_overlap(one);
            }
            for other in &operands[..i] {
                if (one.output || other.output) && one.accessed && other.accessed {
                    verdict.check_pair(one, other);
                }
            }
        }
        verdict
    }

    fn check_pointer(&mut self, operand: &Operand) {
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

    fn check_self_overlap(&mut self, output: &Operand) {
        let Some(starts) = starts(output) else {
            self.may(Code::DPT_OVERLAP);
            return;
        };
        if starts
            .windows(2)
            .any(|pair| pair[1] - pair[0] < output.element as i128)
        {
            self.fault(Code::DPT_OVERLAP);
        } else if output.approximate && !output.nests() {
            self.may(Code::DPT_OVERLAP);
        }
    }

    fn check_pair(&mut self, one: &Operand, other: &Operand) {
        let (Some(a), Some(b)) = (starts(one), starts(other)) else {
            self.may(Code::DPT_OVERLAP);
            return;
        };
        let same = one.address == other.address && one.strides().eq(other.strides());
        if same && one.in_place && other.in_place {
            return;
        }
        if shares(&a, one.element, &b, other.element) {
            self.fault(Code::DPT_OVERLAP);
        } else if a[0] < b[b.len() - 1] && b[0] < a[a.len() - 1] {
            // The ranges interleave but no byte is shared; the library need not detect that.
            self.may(Code::DPT_OVERLAP);
        }
    }
}

/// Returns the addresses of all elements in ascending order; `None` if there are too many, or the operand does not
/// lie in memory.
fn starts(operand: &Operand) -> Option<Vec<i128>> {
    operand.place?;
    let counts = operand.dims.iter().map(|&(count, _)| i128::from(count));
    let elements = counts.fold(1, i128::saturating_mul);
    if elements > MOST_ELEMENTS {
        return None;
    }
    let at = |offset: isize| operand.address as i128 + offset as i128;
    let mut all: Vec<i128> = operand.offsets().into_iter().map(at).collect();
    all.sort_unstable();
    Some(all)
}

/// Returns whether any byte belongs to both operands.
fn shares(a: &[i128], a_bytes: usize, b: &[i128], b_bytes: usize) -> bool {
    a.iter().any(|&start| {
        let from = b.partition_point(|&other| other + b_bytes as i128 <= start);
        b.get(from)
            .is_some_and(|&other| other < start + a_bytes as i128)
    })
}
