//! The memory of a call: each operand has a block of its own. Most blocks end exactly with the operand, so that a
//! sanitizer or a guard page detects an access one byte too far. Some operands are then moved elsewhere.

use core::fmt;

use super::kind::Kind;
use crate::cases;
use crate::guard::{Edge, Guarded};
use crate::random::Input;

/// The most bytes that an operand may span; calls with larger operands are not made.
const MOST_BYTES: i128 = 1 << 17;

/// An operand of a call: its shape, its role and its address.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The name of the parameter in the header.
    pub name: &'static str,
    /// The number of elements and the stride in elements, for each dimension.
    pub dims: Vec<(i64, i64)>,
    /// The type of the elements.
    pub kind: Kind,
    /// Bytes of one element.
    pub element: usize,
    /// Whether the call writes to it.
    pub output: bool,
    /// Whether this output may coincide exactly with an input that has this flag too, or this input with an output.
    pub in_place: bool,
    /// Whether the library may take elements for overlapping that only interleave.
    pub approximate: bool,
    /// Whether anything is read or written through it.
    pub accessed: bool,
    /// The pointer.
    pub address: usize,
    /// The block that it lies in, and the byte offset of element 0 in the block; `None` if it lies in no block.
    pub place: Option<(usize, usize)>,
}

impl Operand {
    /// Creates an input of `T`.
    pub fn input<T>(name: &'static str, dims: &[(i64, i64)]) -> Operand {
        let kind = if size_of::<T>() == 4 {
            Kind::F32
        } else {
            Kind::F64
        };
        Operand::of(kind, name, dims)
    }

    /// Creates an input of any type.
    pub fn of(kind: Kind, name: &'static str, dims: &[(i64, i64)]) -> Operand {
        Operand {
            name,
            dims: dims.to_vec(),
            kind,
            element: kind.bytes(),
            output: false,
            in_place: false,
            // For batches of matrices.
            approximate: dims.len() > 2,
            accessed: dims.iter().all(|&(count, _)| count > 0),
            address: 0,
            place: None,
        }
    }

    /// Creates an output of `T`.
    pub fn output<T>(name: &'static str, dims: &[(i64, i64)]) -> Operand {
        Operand {
            output: true,
            ..Operand::input::<T>(name, dims)
        }
    }

    /// Allows the operand to coincide exactly with another one that allows it.
    pub fn or_in_place(mut self) -> Operand {
        self.in_place = true;
        self
    }

    /// Marks the operand as not accessed unless `condition` holds.
    pub fn only_if(mut self, condition: bool) -> Operand {
        self.accessed &= condition;
        self
    }

    /// Returns the range of bytes that it spans, relative to element 0: first, and one past the last. `None` if a
    /// size is negative or an offset exceeds every address.
    pub fn span(&self) -> Option<(i128, i128)> {
        let (mut low, mut high) = (0i128, self.element as i128);
        for &(count, stride) in self.dims.iter().filter(|&&(count, _)| count != 1) {
            if count < 0 {
                return None;
            }
            let reach = (i128::from(count) - 1).checked_mul(i128::from(stride))?;
            let reach = reach.checked_mul(self.element as i128)?;
            // Far beyond any address, and small enough that sums do not overflow an i128.
            if reach.unsigned_abs() > 1 << 100 {
                return None;
            }
            let end = if reach < 0 { &mut low } else { &mut high };
            *end += reach;
        }
        Some((low, high))
    }

    /// Returns the dimensions along which there are other elements.
    pub fn strides(&self) -> impl Iterator<Item = &(i64, i64)> {
        self.dims.iter().filter(|(count, _)| *count != 1)
    }

    /// Returns whether each stride, from the smallest to the largest, passes all elements that the smaller ones reach.
    pub fn nests(&self) -> bool {
        let mut dims: Vec<_> = self.dims.iter().filter(|&&(count, _)| count > 1).collect();
        dims.sort_by_key(|(_, stride)| stride.unsigned_abs());
        let mut extent = 1i128;
        dims.into_iter().all(|&(count, stride)| {
            let stride = i128::from(stride.unsigned_abs());
            let passes = stride >= extent;
            extent = extent.saturating_add(stride.saturating_mul(i128::from(count) - 1));
            passes
        })
    }

    /// Returns the byte offset of each element relative to element 0, in the order of the model: the last dimension
    /// varies fastest. Only for operands that lie in a block.
    pub fn offsets(&self) -> Vec<isize> {
        if self.dims.iter().any(|&(count, _)| count == 0) {
            // The other dimensions may be large.
            return Vec::new();
        }
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
        f.write_str(if self.accessed { "" } else { ", not accessed" })
    }
}

/// A block of memory.
enum Block {
    /// On the heap.
    Heap(Vec<u64>),
    /// Between two guard pages.
    Guarded(Guarded<u64>),
}

impl Block {
    fn words(&self) -> &[u64] {
        match self {
            Block::Heap(words) => words,
            Block::Guarded(words) => words.as_slice(),
        }
    }

    fn words_mut(&mut self) -> &mut [u64] {
        match self {
            Block::Heap(words) => words,
            Block::Guarded(words) => words.as_mut_slice(),
        }
    }
}

/// All blocks of a call.
pub struct Memory {
    blocks: Vec<Block>,
    /// The edge of the blocks that touches a guard page, if any.
    pub edge: Option<Edge>,
}

impl Clone for Memory {
    /// Copies the contents; the copy has no guard pages.
    fn clone(&self) -> Memory {
        let copy = |block: &Block| Block::Heap(block.words().to_vec());
        Memory {
            blocks: self.blocks.iter().map(copy).collect(),
            edge: None,
        }
    }
}

impl Memory {
    /// Chooses an address for every operand, and fills the blocks with values.
    pub fn new(input: &mut Input<'_>, operands: &mut [Operand]) -> Memory {
        let mut memory = Memory {
            blocks: Vec::new(),
            edge: input.edge(),
        };
        let (values, seed) = (input.values(), input.word());
        for i in 0..operands.len() {
            let (done, rest) = operands.split_at_mut(i);
            memory.add_block(input, &mut rest[0], values, seed ^ i as u64);
            memory.move_elsewhere(input, done, &mut rest[0]);
        }
        memory
    }

    /// Adds a block for the operand.
    fn add_block(
        &mut self,
        input: &mut Input<'_>,
        operand: &mut Operand,
        values: cases::Values,
        seed: u64,
    ) {
        // Either end of the block may be that of the operand; spare room lets other operands move in.
        let mut before = input.pick(&[0usize, 0, 0, 1, 3, 8]) * operand.element;
        let mut after = input.pick(&[0usize, 0, 0, 0, 0, 40]) * operand.element;
        match self.edge {
            Some(Edge::Start) => before = 0,
            Some(Edge::End) => after = 0,
            None => {}
        }
        let fits = |span: &(i128, i128)| span.1 - span.0 <= MOST_BYTES;
        let span = operand.span().filter(fits).filter(|_| operand.accessed);
        let (low, high) = span.unwrap_or((0, 8));
        let length = (high - low) as usize + after;
        if self.edge != Some(Edge::Start) {
            // Blocks are whole 64-bit words: padding goes before the operand, so that its end is that of the block.
            before = (before + length).next_multiple_of(8) - length;
        }
        let (start, words) = (before + (-low) as usize, (before + length).div_ceil(8));
        let words = operand.kind.words(values, words, seed);
        let mut block = match self.edge {
            Some(edge) => Block::Guarded(Guarded::new(&words, edge)),
            None => Block::Heap(words),
        };
        operand.place = span.map(|_| (self.blocks.len(), start));
        operand.address = block.words_mut().as_mut_ptr() as usize + start;
        self.blocks.push(block);
    }

    /// Rarely moves the operand: onto or next to another one, to NULL, to a random or to a misaligned address.
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
                let range = self.blocks[index].words().as_ptr_range();
                let (first, last) = (address as i128 + low, address as i128 + high);
                first >= range.start as usize as i128 && last <= range.end as usize as i128
            };
            let index = (0..self.blocks.len()).find(inside)?;
            Some((
                index,
                address - self.blocks[index].words().as_ptr() as usize,
            ))
        });
    }

    /// Returns the bits of an operand's elements, in the order of the model; none if it is not accessed.
    pub fn elements(&self, operand: &Operand) -> Vec<u64> {
        let Some((block, start)) = operand.place.filter(|_| operand.accessed) else {
            return Vec::new();
        };
        let read =
            |offset: isize| self.read(block, start.wrapping_add_signed(offset), operand.element);
        operand.offsets().into_iter().map(read).collect()
    }

    fn read(&self, block: usize, at: usize, element: usize) -> u64 {
        (self.blocks[block].words()[at / 8] >> (8 * (at % 8))) & mask(element)
    }

    /// Writes the bits of an output's elements.
    pub fn write(&mut self, operand: &Operand, bits: &[u64]) {
        let Some((block, start)) = operand.place else {
            return;
        };
        for (offset, &bits) in operand.offsets().into_iter().zip(bits) {
            let at = start.wrapping_add_signed(offset);
            let word = &mut self.blocks[block].words_mut()[at / 8];
            let shift = 8 * (at % 8);
            *word = *word & !(mask(operand.element) << shift) | bits << shift;
        }
    }

    /// Copies the contents of `other` into the blocks, whose addresses stay.
    pub fn restore(&mut self, other: &Memory) {
        for (block, old) in self.blocks.iter_mut().zip(&other.blocks) {
            block.words_mut().copy_from_slice(old.words());
        }
    }

    /// Returns the first 64-bit word that differs: block, and byte offset in the block.
    pub fn difference(&self, other: &Memory) -> Option<(usize, usize)> {
        let pairs = self.blocks.iter().zip(&other.blocks).enumerate();
        pairs
            .filter_map(|(b, (x, y))| {
                let (x, y) = (x.words(), y.words());
                Some((b, 8 * (0..x.len()).find(|&i| x[i] != y[i])?))
            })
            .next()
    }
}

/// The bits of an element of so many bytes.
fn mask(element: usize) -> u64 {
    u64::MAX >> (64 - 8 * element)
}
