//! Memory for packed matrices: aligned, with canaries on both sides.

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
