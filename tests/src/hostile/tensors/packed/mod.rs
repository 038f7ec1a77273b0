//! Packed matrices: their size, packing, and products with true and with spoiled ones. Their bytes depend on the CPU level, so
//! they are made for each call.

mod block;
mod damage;
mod product;

pub use product::matmul;

use core::ptr;

use diptych::{Exec, Level};
use diptych_ffi::{dpt_matmul_pack, dpt_matmul_packed_size};
use diptych_ffi::{dpt_status_code as Code, dpt_tensor};

use super::super::judge::Verdict;
use super::super::kind::Kind;
use super::super::{Case, Outcome};
use super::argument::{self, Argument};
use super::{case, kind_or_integers, shapes};
use crate::random::Input;
use block::{ALIGN, Array, Block, Line};

/// The types that can be packed.
const KINDS: [Kind; 7] = [
    Kind::F32,
    Kind::F64,
    Kind::HALVES[0],
    Kind::HALVES[1],
    Kind { code: 0, bits: 8 },
    Kind::I32,
    Kind::I64,
];

/// Draws the matrix that is to be packed.
fn source(input: &mut Input<'_>) -> Argument {
    let kind = kind_or_integers(input, &Kind::FLOATS, true);
    let most = input.pick(&[20, 20, 40, 80, 300]);
    let shape = [0; 2].map(|_| input.size(most));
    let shape = shapes::rarely_spoil(input, shape.to_vec());
    Argument::input(input, "b", kind, &shape)
}

/// Judges it, except for the address of its elements.
fn judge_source(verdict: &mut Verdict, b: &Argument) {
    if !KINDS.contains(&b.kind) {
        verdict.fault(Code::DPT_UNSUPPORTED_TYPE);
    }
    if b.shape.len() != 2 {
        verdict.fault(Code::DPT_SHAPE_MISMATCH);
    }
    /// Padding and wider elements make a packed matrix at most so many times larger, if there are that many elements.
    const MOST_GROWTH: u128 = 64;
    let lengths = b.shape.iter().map(|&length| length.max(1) as u128);
    let bytes = lengths.fold(b.kind.bytes() as u128, u128::saturating_mul);
    if bytes + ALIGN as u128 > isize::MAX as u128 && argument::count(b) != 0 {
        verdict.fault(Code::DPT_SIZE_OVERFLOW);
    } else if bytes > isize::MAX as u128 / MOST_GROWTH {
        verdict.may(Code::DPT_SIZE_OVERFLOW);
    }
}

/// Fails a call.
fn fail(problem: &str, description: &str) -> ! {
    let level = Level::active().map_or("none", Level::name);
    panic!("level {level}: {problem}\n{description}")
}

/// `dpt_matmul_packed_size`.
pub fn size(input: &mut Input<'_>) -> Outcome {
    let b = [source(input).only_if(false)];
    let mut case = case(input, "matmul_packed_size", &b, 1, None);
    judge_source(&mut case.verdict, &b[0]);
    let place = input.below(16);
    match place {
        14 => case.verdict.fault(Code::DPT_NULL_POINTER),
        15 => case.verdict.fault(Code::DPT_MISALIGNED),
        _ => {}
    }
    let description = case.describe();
    let call = |exec, t: &[*const dpt_tensor]| {
        let mut words = [usize::MAX; 3];
        let out = match place {
            14 => ptr::null_mut(),
            15 => (&raw mut words[1]).wrapping_byte_add(1),
            _ => &raw mut words[1],
        };
        // SAFETY: a description, perhaps a false one, and room for the size, or an address that is refused.
        let status = unsafe { dpt_matmul_packed_size(exec, t[0], out) };
        let [before, size, after] = words;
        if (before, after) != (usize::MAX, usize::MAX) || (status != 0 && size != usize::MAX) {
            fail("wrote outside the size", &description);
        }
        let bytes = argument::count(&b[0]).saturating_mul(b[0].kind.bytes() as i64);
        let is_enough = size as i128 >= i128::from(bytes) + ALIGN as i128;
        if status == 0 && !(is_enough && size.is_multiple_of(ALIGN)) {
            fail(&format!("{size} bytes are too few"), &description);
        }
        status
    };
    case.check_tensors(&b, call, |_| Some(vec![]))
}

/// Where a matrix is packed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// Memory of the right size.
    Fitting,
    /// Memory with more lines.
    Roomy(usize),
    /// Memory that is smaller: of so many 256ths.
    Short(usize),
    /// Memory of the right size, and a size that would be beyond all memory.
    Boundless(usize),
    Null,
    /// So many bytes after the right address.
    Misaligned(usize),
    /// The line of the first element of b.
    Source,
}

impl Target {
    fn draw(input: &mut Input<'_>) -> Target {
        match input.below(24) {
            17 => Target::Roomy(1 + input.below(20)),
            18..=19 => Target::Short(input.below(256)),
            20 => Target::Boundless(input.pick(&[usize::MAX, isize::MAX as usize, 1 << 62])),
            21 => Target::Null,
            22 => Target::Misaligned(1 + input.below(ALIGN - 1)),
            23 => Target::Source,
            _ => Target::Fitting,
        }
    }

    fn judge(self, b: &Argument, verdict: &mut Verdict) {
        match self {
            Target::Fitting | Target::Roomy(_) => {}
            Target::Short(_) => verdict.fault(Code::DPT_INVALID_VALUE),
            Target::Boundless(_) => {
                verdict.may(Code::DPT_INVALID_VALUE);
                verdict.may(Code::DPT_SIZE_OVERFLOW);
            }
            Target::Null => verdict.fault(Code::DPT_NULL_POINTER),
            Target::Misaligned(_) => verdict.fault(Code::DPT_MISALIGNED),
            // Without elements, it would be written to.
            Target::Source if argument::count(b) == 0 => verdict.fault(Code::DPT_NULL_POINTER),
            Target::Source => verdict.fault(Code::DPT_OVERLAP),
        }
    }
}

/// `dpt_matmul_pack`.
pub fn pack(input: &mut Input<'_>) -> Outcome {
    let b = [source(input)];
    let work = argument::count(&b[0]);
    let mut case = case(input, "matmul_pack", &b, work, None);
    judge_source(&mut case.verdict, &b[0]);
    let target = Target::draw(input);
    target.judge(&b[0], &mut case.verdict);
    case.details += &format!("\n  target {target:?}");
    let own = own_elements(&case);
    let (edge, undefined) = (case.memory.edge, case.execution.undefined);
    let (address, description) = (case.operands[0].address, case.describe());
    let call = |exec, t: &[*const dpt_tensor]| {
        let needed = size_of(t[0]);
        let (size, room) = match target {
            Target::Roomy(lines) => [needed + ALIGN * lines; 2].into(),
            Target::Short(part) => [((needed as u128 * part as u128) / 256) as usize; 2].into(),
            Target::Boundless(size) => (size, needed),
            _ => (needed, needed),
        };
        // A packed matrix that is larger than this is refused.
        let room = room.min(1 << 24);
        let mut block = Block::new(vec![Line::FILLER; room.div_ceil(ALIGN)], edge);
        let to = match target {
            Target::Null => ptr::null_mut(),
            Target::Misaligned(by) => block.start().wrapping_add(by),
            Target::Source if argument::count(&b[0]) == 0 => ptr::null_mut(),
            Target::Source => ptr::without_provenance_mut(address / ALIGN * ALIGN),
            _ => block.start(),
        };
        // SAFETY: a description, perhaps a false one, and room for the packed matrix, or an address or size that is refused.
        let status = unsafe { dpt_matmul_pack(exec, t[0], to.cast(), size) };
        let written = if status == 0 { needed / ALIGN } else { 0 };
        let mut want = vec![Line::FILLER; block.lines().len()];
        if let Some(own) = own.as_ref().filter(|_| status == 0) {
            let mut array = Array::new(b[0].kind, &b[0].shape, own);
            let packed = array
                .pack(&Exec::new())
                .expect("a matrix that can be packed");
            want[..written].copy_from_slice(&packed);
        }
        let is_defined = status == 0 || !undefined;
        if is_defined && block.lines() != want {
            fail("wrong bytes", &description);
        }
        status
    };
    case.check_tensors(&b, call, |_| Some(vec![]))
}

/// Returns the elements of the first operand of a call that may succeed.
fn own_elements(case: &Case) -> Option<Vec<u64>> {
    let may_succeed = case.verdict.certain.is_empty() && case.can_run();
    may_succeed.then(|| case.memory.elements(&case.operands[0]))
}

/// Returns the bytes of a packed matrix; some number for what cannot be packed.
fn size_of(b: *const dpt_tensor) -> usize {
    let mut size = 2 * ALIGN;
    // SAFETY: a description, perhaps a false one, and room for the size. A refused call does not write it.
    unsafe { dpt_matmul_packed_size(ptr::null(), b, &mut size) };
    size
}
