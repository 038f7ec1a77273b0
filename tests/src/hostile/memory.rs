//! The memory of a call: a block of its own for each operand, exactly as large as the operand, so that a
//! sanitizer sees one byte too many; and what puts an operand elsewhere.

use core::fmt;

use super::input::Input;
use crate::cases;
use crate::real::Real;

/// Bytes that one operand may cover for the call to be made at all.
const MOST_BYTES: i128 = 1 << 17;

/// An operand of a call: what it is, and where.
#[derive(Clone, Debug)]
pub struct Operand {
    /// As the header names it.
    pub name: &'static str,
    /// Elements and stride, in elements, of each dimension.
    pub dims: Vec<(i64, i64)>,
    /// Bytes of one element.
    pub element: usize,
    /// Whether it is written.
    pub output: bool,
    /// Whether this output may be exactly an input, or this input exactly such an output.
    pub in_place: bool,
    /// Whether anything is read or written through it.
    pub accessed: bool,
    /// The pointer.
    pub address: usize,
    /// The block in which it lies, and the byte of element 0 in it; `None` where it lies nowhere.
    pub place: Option<(usize, usize)>,
}

impl Operand {
    /// An input of `T`.
    pub fn input<T>(name: &'static str, dims: &[(i64, i64)]) -> Operand {
        Operand {
            name,
            dims: dims.to_vec(),
            element: size_of::<T>(),
            output: false,
            in_place: false,
            accessed: dims.iter().all(|&(count, _)| count > 0),
            address: 0,
            place: None,
        }
    }

    /// An output of `T`.
    pub fn output<T>(name: &'static str, dims: &[(i64, i64)]) -> Operand {
        Operand {
            output: true,
            ..Operand::input::<T>(name, dims)
        }
    }

    /// The same, where an output may be exactly an input.
    pub fn or_in_place(mut self) -> Operand {
        self.in_place = true;
        self
    }

    /// The same, not looked at unless `condition`.
    pub fn only_if(mut self, condition: bool) -> Operand {
        self.accessed &= condition;
        self
    }

    /// The bytes that it covers, from that of element 0: first, and one past the last. `None` where the
    /// numbers are beyond all bounds, or a size is negative.
    pub fn span(&self) -> Option<(i128, i128)> {
        let (mut low, mut high) = (0i128, self.element as i128);
        for &(count, stride) in self.dims.iter().filter(|&&(count, _)| count != 1) {
            if count < 0 {
                return None;
            }
            let reach = (i128::from(count) - 1).checked_mul(i128::from(stride))?;
            let reach = reach.checked_mul(self.element as i128)?;
            let end = if reach < 0 { &mut low } else { &mut high };
            *end = end.checked_add(reach)?;
        }
        Some((low, high))
    }

    /// The byte of each element, from that of element 0, in the order of the model: the last dimension
    /// runs fastest. Only for operands that lie somewhere.
    pub fn offsets(&self) -> Vec<isize> {
        let mut all = vec![0isize];
        for &(count, stride) in &self.dims {
            let step = if count < 2 {
                0
            } else {
                stride as isize * self.element as isize
            };
            let line = |&from: &isize| (0..count as isize).map(move |i| from + i * step);
            all = all.iter().flat_map(line).collect();
        }
        all
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operand {
            name,
            dims,
            address,
            place,
            ..
        } = self;
        write!(
            f,
            "{name}: (elements, stride) {dims:?} at {address:#x}, block and byte {place:?}"
        )?;
        f.write_str(if self.accessed { "" } else { ", not looked at" })
    }
}

/// The blocks.
#[derive(Clone)]
pub struct Memory {
    blocks: Vec<Vec<u64>>,
    /// Bytes of each that operands may use; the rest of the last word is not there for anybody.
    lengths: Vec<usize>,
}

impl Memory {
    /// Chooses a place for every operand, and fills the blocks with values of `T`.
    pub fn new<T: Real>(input: &mut Input<'_>, operands: &mut [Operand]) -> Memory {
        let mut memory = Memory {
            blocks: Vec::new(),
            lengths: Vec::new(),
        };
        let (values, seed) = (input.values(), input.word());
        for i in 0..operands.len() {
            let (done, rest) = operands.split_at_mut(i);
            memory.add_block::<T>(input, &mut rest[0], values, seed ^ i as u64);
            memory.move_elsewhere(input, done, &mut rest[0]);
        }
        memory
    }

    /// A block of the operand's own.
    fn add_block<T: Real>(
        &mut self,
        input: &mut Input<'_>,
        operand: &mut Operand,
        values: cases::Values,
        seed: u64,
    ) {
        // Either end may be tight; more room lets others move in.
        let before = input.pick(&[0usize, 0, 0, 1, 3, 8]) * operand.element;
        let after = input.pick(&[0usize, 0, 0, 0, 0, 40]) * operand.element;
        let fits = |span: &(i128, i128)| span.1 - span.0 <= MOST_BYTES;
        let span = operand.span().filter(fits).filter(|_| operand.accessed);
        let (low, high) = span.unwrap_or((0, 8));
        let start = before + (-low) as usize;
        let length = start + high as usize + after;
        let words = length.div_ceil(8);
        let numbers: Vec<T> = cases::vector(values, words * 8 / size_of::<T>(), seed);
        let per_word = 8 / size_of::<T>();
        let word = |v: &[T]| {
            v.iter()
                .rev()
                .fold(0u64, |w, v| (w << (32 * (per_word - 1))) | v.bits())
        };
        self.blocks
            .push(numbers.chunks(per_word).map(word).collect());
        self.lengths.push(length);
        let index = self.blocks.len() - 1;
        operand.place = span.map(|_| (index, start));
        operand.address = self.blocks[index].as_mut_ptr() as usize + start;
    }

    /// Now and then: over or beside another operand, nowhere, or between two elements.
    fn move_elsewhere(&mut self, input: &mut Input<'_>, others: &[Operand], operand: &mut Operand) {
        let target = input.below(others.len().max(1));
        let other = others.get(target);
        match (input.below(24), other) {
            (20, Some(other)) => self.put(operand, other.address),
            (21, Some(other)) => {
                let step = (input.below(17) as isize - 8) * operand.element as isize;
                self.put(operand, other.address.wrapping_add_signed(step));
            }
            (22, _) => self.put(operand, 0),
            (23, _) if input.rarely(4) => {
                let address = input.word() as usize;
                self.put(operand, address);
            }
            (23, _) => self.put(
                operand,
                operand
                    .address
                    .wrapping_add(1 + input.below(operand.element - 1)),
            ),
            _ => {}
        }
    }

    fn put(&self, operand: &mut Operand, address: usize) {
        operand.address = address;
        operand.place = operand.span().and_then(|(low, high)| {
            let inside = |&index: &usize| {
                let base = self.blocks[index].as_ptr() as usize as i128;
                let (first, last) = (address as i128 + low, address as i128 + high);
                first >= base && last <= base + self.lengths[index] as i128
            };
            let index = (0..self.blocks.len()).find(inside)?;
            Some((index, address - self.blocks[index].as_ptr() as usize))
        });
    }

    /// The bits of an operand's elements, in the order of the model.
    pub fn elements(&self, operand: &Operand) -> Vec<u64> {
        let Some((block, start)) = operand.place.filter(|_| operand.accessed) else {
            return Vec::new();
        };
        let read =
            |offset: isize| self.read(block, start.wrapping_add_signed(offset), operand.element);
        operand.offsets().into_iter().map(read).collect()
    }

    fn read(&self, block: usize, at: usize, element: usize) -> u64 {
        let word = self.blocks[block][at / 8];
        if element == 8 {
            word
        } else {
            (word >> (8 * (at % 8))) & 0xFFFF_FFFF
        }
    }

    /// Writes the bits of an output's elements.
    pub fn write(&mut self, operand: &Operand, bits: &[u64]) {
        let Some((block, start)) = operand.place else {
            return;
        };
        for (offset, &bits) in operand.offsets().into_iter().zip(bits) {
            let at = start.wrapping_add_signed(offset);
            let word = &mut self.blocks[block][at / 8];
            if operand.element == 8 {
                *word = bits;
            } else {
                let shift = 8 * (at % 8);
                *word = *word & !(0xFFFF_FFFF << shift) | bits << shift;
            }
        }
    }

    /// The same addresses, with the contents of `other`.
    pub fn restore(&mut self, other: &Memory) {
        for (block, old) in self.blocks.iter_mut().zip(&other.blocks) {
            block.copy_from_slice(old);
        }
    }

    /// The first byte that differs: block and position.
    pub fn difference(&self, other: &Memory) -> Option<(usize, usize)> {
        let pairs = self.blocks.iter().zip(&other.blocks).enumerate();
        pairs
            .filter_map(|(b, (x, y))| Some((b, 8 * (0..x.len()).find(|&i| x[i] != y[i])?)))
            .next()
    }
}
