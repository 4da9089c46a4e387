//! Addresses in the vertex cache, whose tags have 32 bits on Gen9: before a buffer is 4 GiB from what its binding had since the last
//! invalidation, the cache is invalidated; and before the first draw of a command buffer, since earlier command buffers of the
//! submission left addresses there.
//!
//! source: Mesa, anv_genX.h and genX_cmd_buffer.c (`genX(cmd_buffer_set_binding_for_gfx8_vb_flush)`)

/// Bindings of vertex buffers, and after them the index buffer.
const COUNT: usize = 34;
/// The range of the index buffer.
pub const INDICES: usize = COUNT - 1;
/// Bytes that tags tell apart.
const REACH: u64 = 1 << 32;
/// Bytes of a line.
const LINE_B: u64 = 64;

/// Start and end of the addresses of each binding since the last invalidation, if there was one; empty ranges have equal ends.
#[derive(Clone, Debug, Default)]
pub struct VertexRanges(Option<[(u64, u64); COUNT]>);

/// A buffer of a draw: its binding, address and bytes.
pub type Buffer = (usize, u64, u64);

impl VertexRanges {
    /// Adds the buffers of a draw; returns whether the cache has to be invalidated before, in which case earlier ones are forgotten.
    pub fn add(&mut self, buffers: &[Buffer]) -> bool {
        if let Some(ranges) = &mut self.0
            && buffers.iter().fold(true, |fit, b| fit & extend(ranges, b))
        {
            return false;
        }
        let ranges = self.0.insert([(0, 0); COUNT]);
        for b in buffers {
            extend(ranges, b);
        }
        true
    }
}

/// Extends the range of a binding; returns whether tags tell all of it apart.
fn extend(ranges: &mut [(u64, u64); COUNT], &(binding, address, size): &Buffer) -> bool {
    if address == 0 || size == 0 || binding >= COUNT {
        return true;
    }
    let (start, end) = (address / LINE_B * LINE_B, (address + size).next_multiple_of(LINE_B));
    let range = &mut ranges[binding];
    *range = if range.0 == range.1 { (start, end) } else { (range.0.min(start), range.1.max(end)) };
    range.1 - range.0 <= REACH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_are_far_apart_invalidate_the_cache_once() {
        let mut ranges = VertexRanges::default();
        let gib = 1u64 << 30;
        // Nothing is known at first.
        assert!(ranges.add(&[(0, 5 * gib, 100)]));
        // Other bindings have ranges of their own.
        assert!(!ranges.add(&[(0, 8 * gib, 100), (1, 40 * gib, 100)]));
        assert!(ranges.add(&[(0, 10 * gib, 100)]));
        // Only the last buffers are known since.
        assert!(!ranges.add(&[(0, 13 * gib, 100), (1, 5 * gib, 100)]));
        // Those of the draw that invalidates are known, too.
        assert!(ranges.add(&[(1, 6 * gib, 64), (0, 9 * gib, 64)]));
        assert!(ranges.add(&[(1, 11 * gib, 64)]));
        assert!(!ranges.add(&[(0, 0, 100), (INDICES, 70 * gib, 0)]));
    }
}
