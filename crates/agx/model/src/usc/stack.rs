//! Scratch memory: blocks that the helper program maps for a SIMD-group.
//!
//! When a group needs scratch, silicon runs the driver's helper program, which maps up to four
//! blocks with `stack_map` and acknowledges by doorbell. The model runs that very program, so the
//! driver's own allocator decides. source: Mesa's libagx/helper.cl (the protocol) and
//! lib/agx_scratch.c (what a block descriptor holds). How silicon interleaves lanes within a block is
//! unknown and not observable by the shader; here each 32-bit word of all lanes is one row of 128
//! bytes.

use super::lanes::Lanes;
use super::row::LANES;
use tepui_softgpu::Access;

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

impl Stack {
    /// Decodes the helper's block descriptors. The low bits of the first are a mask with one bit more than the
    /// log4 of the block size in units of eight words; the rest of each word is the address over 256.
    pub fn map(&mut self, blocks: [u32; 4]) {
        let log4 = (blocks[0].trailing_ones().max(1) - 1).min(12);
        self.blocks = blocks;
        self.block_bytes = (8 * 4) << (2 * log4);
        self.mapped = true;
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

/// Moves a group's stack pointer by `bytes`, mapping memory for its first use.
pub fn adjust(l: &mut Lanes<'_, '_>, bytes: i64) -> Result<(), String> {
    let depth = l.stack.depth + bytes;
    if depth < 0 {
        return Err("the stack pointer falls below the start of scratch memory".to_owned());
    }
    l.stack.depth = depth;
    if bytes > 0 && !l.stack.mapped {
        let blocks = super::helper::allocate(l.port)?;
        l.stack.map(blocks);
        if l.port.uninitialised != 0 {
            fill(l);
        }
        if depth > i64::from(l.stack.size()) {
            return Err(format!(
                "{depth:#x} bytes of scratch are wanted, the helper program mapped {:#x}",
                l.stack.size()
            ));
        }
    }
    Ok(())
}

/// Fills new scratch memory with its uninitialised value.
#[cold]
fn fill(l: &mut Lanes<'_, '_>) {
    let word = l.port.uninitialised;
    for offset in (0..l.stack.size()).step_by(4) {
        for lane in 0..LANES {
            let host = l.stack.address(offset, lane).and_then(|a| l.port.host(a, 4, Access::Write));
            if let Some(host) = host {
                // SAFETY: `Port::host` gives the host address of four writable bytes.
                unsafe { host.cast::<u32>().write_unaligned(word) };
            }
        }
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
        stack.map([0x1000 | 3, 0x2000 | 1, 0, 0]);
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
