//! Memory for packed matrices: aligned, with canaries on both sides.

use diptych::{Error, Exec, MatRef, Pack, matmul_pack, matmul_packed_size};

/// Bytes of a cache line, to which packed matrices are aligned.
const LINE: usize = 64;
const CANARY: u8 = 0xA5;

/// A block of bytes.
pub struct Block {
    memory: Vec<u8>,
    start: usize,
    size: usize,
}

impl Block {
    /// Returns a block of `size` bytes.
    pub fn new(size: usize) -> Self {
        let memory = vec![CANARY; size + 4 * LINE];
        let start = LINE + memory[LINE..].as_ptr().align_offset(LINE);
        Self {
            memory,
            start,
            size,
        }
    }

    /// Its bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.size]
    }

    /// Whether the bytes on both sides are as they were.
    pub fn is_intact(&self) -> bool {
        let (before, rest) = self.memory.split_at(self.start);
        let mut outside = before.iter().chain(&rest[self.size..]);
        outside.all(|&byte| byte == CANARY)
    }
}

/// Packs a matrix, and checks that every byte has been written.
///
/// # Errors
/// Those of packing.
pub fn pack<T: Pack>(exec: &Exec<'_>, b: MatRef<'_, T>) -> Result<Block, Error> {
    let (k, n) = (b.rows(), b.cols());
    let size = matmul_packed_size::<T>(exec, k, n)?;
    let [mut one, mut other] = [(); 2].map(|()| Block::new(size));
    other.bytes().fill(!CANARY);
    for block in [&mut one, &mut other] {
        let packed = matmul_pack(exec, b, block.bytes())?;
        assert_eq!((packed.rows(), packed.cols()), (k, n));
        assert!(block.is_intact(), "wrote outside the block");
    }
    let differs = one
        .bytes()
        .iter()
        .zip(other.bytes())
        .position(|(x, y)| x != y);
    assert_eq!(differs, None, "of {size} bytes, {k} x {n}");
    Ok(one)
}
