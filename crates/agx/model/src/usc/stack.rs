//! Scratch memory: blocks that the helper program maps for a SIMD-group.
//!
//! When a group needs scratch, silicon runs the driver's helper program, which maps up to four
//! blocks with `stack_map` and acknowledges by doorbell. The model runs that very program, so the
//! driver's own allocator decides. source: Mesa's libagx/helper.cl (the protocol) and
//! lib/agx_scratch.c (what a block descriptor holds). How silicon interleaves lanes within a block
//! is unknown and not observable by the shader; here each 32-bit word of all lanes is one row of
//! 128 bytes.

use super::row::LANES;

/// Doorbell values of the helper's protocol.
pub mod doorbell {
    /// Wait for the next request.
    pub const NEXT: u8 = 32;
    /// The request was met.
    pub const ACK: u8 = 48;
    /// The request was refused.
    pub const NACK: u8 = 49;
}

/// Requests to the helper.
pub mod request {
    /// Map blocks for a SIMD-group.
    pub const STACK_ALLOC: u32 = 0;
    /// Take the blocks back.
    pub const STACK_FREE: u32 = 1;
    /// Return from the program.
    pub const END: u32 = 15;
}

/// A SIMD-group's scratch memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stack {
    /// The block descriptors that the helper mapped.
    pub blocks: [u32; 4],
    /// Whether the helper ran.
    pub mapped: bool,
    /// Bytes of one block for one lane.
    block_bytes: u32,
    /// Bytes in use by a lane.
    depth: i64,
}

/// Whether a group can continue after it moved its stack pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjusted {
    /// Go on.
    Ready,
    /// Wait for the helper program to map blocks.
    Wait,
}

impl Stack {
    /// Moves the stack pointer by `bytes`.
    pub fn adjust(&mut self, bytes: i64) -> Result<Adjusted, String> {
        self.depth += bytes;
        if self.depth < 0 {
            return Err("the stack pointer falls below the start of scratch memory".to_owned());
        }
        Ok(if bytes > 0 && !self.mapped { Adjusted::Wait } else { Adjusted::Ready })
    }

    /// Decodes the helper's block descriptors. The low bits of the first are a mask with one bit
    /// more than the log4 of the block size in units of eight words; the rest of each word is the
    /// address over 256.
    ///
    /// Fails if they are less than the group has asked for.
    pub fn map(&mut self, blocks: [u32; 4]) -> Result<(), String> {
        let log4 = (blocks[0].trailing_ones().max(1) - 1).min(12);
        self.blocks = blocks;
        self.block_bytes = (8 * 4) << (2 * log4);
        self.mapped = true;
        if self.depth > i64::from(self.size()) {
            return Err(format!(
                "{:#x} bytes of scratch are wanted, the helper program mapped {:#x}",
                self.depth,
                self.size()
            ));
        }
        Ok(())
    }

    /// Bytes that a lane has.
    pub fn size(&self) -> u32 {
        let blocks = self.blocks.iter().take_while(|&&b| b & 1 != 0).count() as u32;
        if self.mapped { blocks * self.block_bytes } else { 0 }
    }

    /// The GPU address of a byte of a lane's scratch.
    #[inline(always)]
    pub fn address(&self, offset: u32, lane: usize) -> Option<u64> {
        if offset >= self.size() {
            return None;
        }
        let block = self.blocks[(offset / self.block_bytes) as usize];
        let low_bits = block.trailing_ones();
        let base = u64::from(block.unbounded_shr(low_bits).unbounded_shl(low_bits)) << 8;
        let within = u64::from(offset % self.block_bytes);
        Some(base + within / 4 * (4 * LANES as u64) + lane as u64 * 4 + within % 4)
    }
}

/// A request to the helper program, which the program accesses by doorbells and special registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct HelperCall {
    /// The pending request, for special register `helper_op`.
    pub op: u32,
    /// Its argument, for `helper_arg`; before the first doorbell, the job's word for the helper.
    pub argument: u64,
    /// Blocks that the program mapped, or those to unmap.
    pub blocks: [u32; 4],
    /// The answer of the program.
    pub answer: Option<bool>,
    /// The request was handed over; the next one is the end.
    pub delivered: bool,
    /// The request that the next doorbell hands over.
    pub request: u32,
}

impl HelperCall {
    /// The program waits for its next request.
    pub fn next(&mut self) {
        self.op = if self.delivered { request::END } else { self.request };
        self.argument = 0;
        self.delivered = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_and_words_never_share_an_address() {
        let mut stack = Stack::default();
        assert_eq!(stack.address(0, 0), None);
        // Two blocks of 128 bytes a lane (log4 = 1).
        stack.map([0x1000 | 3, 0x2000 | 1, 0, 0]).unwrap();
        assert_eq!(stack.size(), 256);
        let mut seen = std::collections::HashSet::new();
        for lane in 0..LANES {
            for offset in 0..256 {
                assert!(seen.insert(stack.address(offset, lane).unwrap()));
            }
        }
        assert_eq!(stack.address(0, 0), Some(0x1000 << 8));
        assert_eq!(stack.address(128, 1), Some((0x2000 << 8) + 4));
        assert_eq!(stack.address(256, 0), None);
    }
}
