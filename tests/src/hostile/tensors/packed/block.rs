//! Packed matrices, and the memory that they lie in.

use core::ptr;

use diptych::tensor::{self, Tensor};
use diptych::{Exec, Result};

use super::super::Kind;
use crate::guard::{Edge, Guarded};

/// The alignment of packed matrices; so many bytes are a line.
pub const ALIGN: usize = 64;

/// A line of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Line(pub [u64; 8]);

impl Line {
    /// What lies where nothing has been written.
    pub const FILLER: Line = Line([0xA5A5_A5A5_A5A5_A5A5; 8]);
}

/// Memory of whole lines, beyond which there is nothing or a guard page.
pub enum Block {
    /// On the heap.
    Heap(Vec<Line>),
    /// Beside a guard page.
    Guarded(Guarded<Line>),
}

impl Block {
    /// Copies the lines to memory of their own.
    pub fn new(lines: Vec<Line>, edge: Option<Edge>) -> Block {
        match edge {
            Some(edge) => Block::Guarded(Guarded::new(&lines, edge)),
            None => Block::Heap(lines),
        }
    }

    /// The lines.
    pub fn lines(&self) -> &[Line] {
        match self {
            Block::Heap(lines) => lines,
            Block::Guarded(lines) => lines.as_slice(),
        }
    }

    /// The first byte.
    pub fn start(&mut self) -> *mut u8 {
        match self {
            Block::Heap(lines) => lines.as_mut_ptr().cast(),
            Block::Guarded(lines) => lines.as_mut_ptr().cast(),
        }
    }
}

/// A tensor of contiguous elements.
#[derive(Clone)]
pub struct Array {
    pub kind: Kind,
    pub shape: Vec<i64>,
    words: Vec<u64>,
}

impl Array {
    /// Returns the tensor of the elements with these bits; of zeros beyond them.
    pub fn new(kind: Kind, shape: &[i64], elements: &[u64]) -> Array {
        let mut elements = elements.to_vec();
        elements.resize(super::shapes::count(shape) as usize, 0);
        Array {
            kind,
            shape: shape.to_vec(),
            words: kind.packed(&elements),
        }
    }

    /// Its description.
    pub fn tensor(&mut self) -> Tensor {
        Tensor {
            data: self.words.as_mut_ptr().cast(),
            device_type: 1,
            device_id: 0,
            ndim: self.shape.len() as i32,
            dtype_code: self.kind.code,
            dtype_bits: self.kind.bits,
            dtype_lanes: 1,
            shape: self.shape.as_ptr(),
            strides: ptr::null(),
            byte_offset: 0,
        }
    }

    /// The bits of its elements.
    pub fn elements(&self) -> Vec<u64> {
        let count = super::shapes::count(&self.shape) as usize;
        self.kind.unpacked(&self.words, count)
    }

    /// Packs the matrix.
    ///
    /// # Errors
    /// Those of packing.
    pub fn pack(&mut self, exec: &Exec<'_>) -> Result<Vec<Line>> {
        let tensor = self.tensor();
        // SAFETY: the tensor has these elements, and the block as many bytes as packing asks for.
        unsafe {
            let size = tensor::matmul_packed_size(exec, &tensor)?;
            let mut lines = vec![Line::FILLER; size.div_ceil(ALIGN)];
            tensor::matmul_pack(exec, &tensor, lines.as_mut_ptr().cast(), size)?;
            Ok(lines)
        }
    }
}
