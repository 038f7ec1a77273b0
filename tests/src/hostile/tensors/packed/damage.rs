//! What is wrong with the packed matrix of a product.

use diptych::{Exec, Level};
use diptych_ffi::dpt_status_code as Code;

use super::super::super::judge::Verdict;
use super::super::super::kind::Kind;
use super::block::{ALIGN, Array, Line};
use crate::levels::levels;
use crate::random::Input;

/// A fault of a packed matrix, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    None,
    /// It ends so many bytes after its start, or earlier.
    Short(usize),
    /// Its size is said to be larger than all memory.
    Boundless(usize),
    Null,
    /// It begins so many bytes after the right address.
    Misaligned(usize),
    /// Bits of a word of the header are flipped.
    Header(usize, u64),
    /// Bits of a later word are flipped.
    Elements(usize, u64),
    /// All words are this one.
    Junk(u64),
    /// It was packed for another level, or for one without extensions.
    OtherLevel(Level),
    /// c begins so many words after its start, or at its last one.
    Output(usize),
}

/// The words of a header that say what has been packed: the type, in the lower half, the rows and the columns.
const TYPE: usize = 1;
const ROWS: usize = 2;
const COLUMNS: usize = 3;

impl Damage {
    pub fn draw(input: &mut Input<'_>) -> Damage {
        match input.below(32) {
            14..=15 => Damage::Short(match input.below(8) {
                drawn @ 0..=5 => [0, 1, ALIGN - 1, ALIGN, ALIGN + 1, usize::MAX][drawn],
                _ => input.word() as u16 as usize,
            }),
            16 => Damage::Boundless(input.pick(&[usize::MAX, isize::MAX as usize, 1 << 62])),
            17 => Damage::Null,
            18 => Damage::Misaligned(1 + input.below(ALIGN - 1)),
            19..=24 => Damage::Header(input.below(8), bits(input)),
            25..=26 => Damage::Elements(input.word() as u16 as usize, bits(input)),
            27 => Damage::Junk(input.word()),
            28..=29 => Damage::OtherLevel(input.pick(levels())),
            30..=31 => Damage::Output(input.pick(&[0, 1, 8, 9, usize::MAX])),
            _ => Damage::None,
        }
    }

    /// Returns the type and the shape that the header names.
    pub fn claimed(self, b: &Array) -> (Kind, Vec<i64>) {
        let (mut kind, mut shape) = (b.kind, b.shape.clone());
        match self {
            Damage::Header(TYPE, mask) => {
                kind.code ^= (mask >> 8) as u8;
                kind.bits ^= mask as u8;
            }
            Damage::Header(ROWS, mask) => shape[0] ^= mask.cast_signed(),
            Damage::Header(COLUMNS, mask) => shape[1] ^= mask.cast_signed(),
            _ => {}
        }
        (kind, shape)
    }

    /// Adds the faults.
    pub fn judge(self, has_results: bool, verdict: &mut Verdict) {
        match self {
            Damage::None | Damage::Elements(..) => {}
            Damage::Short(_) | Damage::Junk(_) => verdict.fault(Code::DPT_INVALID_VALUE),
            Damage::Boundless(_) => {
                verdict.may(Code::DPT_INVALID_VALUE);
                verdict.may(Code::DPT_SIZE_OVERFLOW);
            }
            Damage::Null => verdict.fault(Code::DPT_NULL_POINTER),
            Damage::Misaligned(_) => verdict.fault(Code::DPT_MISALIGNED),
            Damage::Header(word, _) => {
                verdict.fault(Code::DPT_INVALID_VALUE);
                verdict.fault(Code::DPT_PACKED_LAYOUT);
                if [TYPE, ROWS, COLUMNS].contains(&word) {
                    // Of another matrix with the same layout.
                    verdict.fault(Code::DPT_TYPE_MISMATCH);
                    verdict.fault(Code::DPT_SHAPE_MISMATCH);
                }
            }
            // Layouts of several levels may be the same.
            Damage::OtherLevel(_) => verdict.may(Code::DPT_PACKED_LAYOUT),
            Damage::Output(_) if has_results => verdict.fault(Code::DPT_OVERLAP),
            Damage::Output(_) => verdict.may(Code::DPT_OVERLAP),
        }
    }

    /// Packs the matrix for the active level, and damages it; also returns the size that the call names.
    pub fn pack(self, b: &mut Array) -> (Vec<Line>, usize) {
        let exec = match self {
            Damage::OtherLevel(level) => Exec::new().with_level(level),
            _ => Ok(Exec::new()),
        };
        let exec = exec.expect("a level of this machine");
        let mut lines = b.pack(&exec).expect("a matrix that can be packed");
        let bytes = ALIGN * lines.len();
        let size = match self {
            Damage::Short(size) => size.min(bytes - 1),
            Damage::Boundless(size) => size,
            _ => bytes,
        };
        let word = |lines: &mut [Line], word: usize, mask| lines[word / 8].0[word % 8] ^= mask;
        match self {
            Damage::Header(at, mask) => word(&mut lines, at, mask),
            Damage::Elements(at, mask) if lines.len() > 1 => {
                let at = 8 + at % (8 * lines.len() - 8);
                word(&mut lines, at, mask);
            }
            // The first word, of a packed matrix in memory, is not this one.
            Damage::Junk(junk) if lines[0].0[0] == junk => lines.fill(Line::FILLER),
            Damage::Junk(junk) => lines.fill(Line([junk; 8])),
            Damage::Short(_) => lines.truncate(size.div_ceil(ALIGN)),
            _ => {}
        }
        (lines, size)
    }

    /// Returns where the call says that the packed matrix begins.
    pub fn address(self, start: *const u8) -> *const u8 {
        match self {
            Damage::Null => core::ptr::null(),
            Damage::Misaligned(by) => start.wrapping_add(by),
            _ => start,
        }
    }
}

/// Draws bits to flip, at least one.
fn bits(input: &mut Input<'_>) -> u64 {
    if input.rarely(4) {
        input.word().max(1)
    } else {
        1 << input.below(64)
    }
}
