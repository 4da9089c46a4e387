//! Natural loops: the blocks from which a loop's header is reached again. A block that leaves the loop
//! is not one of them, although layout order puts it between them.

use crate::function::{Block, Function};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};

/// Nesting of natural loops.
pub(super) struct Loops {
    /// Loops around each block.
    depth: SecondaryMap<Block, u16>,
    /// Register pressure of the loop that a block is the header of.
    pressure: SecondaryMap<Block, u32>,
    any: bool,
}

impl Loops {
    /// Finds the natural loops; `pressure` is the register pressure of each block.
    pub(super) fn new<I>(f: &Function<I>, pressure: &SecondaryMap<Block, u32>) -> Loops {
        let mut loops =
            Loops { depth: SecondaryMap::new(), pressure: pressure.clone(), any: false };
        // Inner loops first: a loop that was found counts as one block, its header.
        let mut around: SecondaryMap<Block, PackedOption<Block>> = SecondaryMap::new();
        let mut headers: EntitySet<Block> = EntitySet::new();
        let mut joined: SecondaryMap<Block, PackedOption<Block>> = SecondaryMap::new();
        let mut work = Vec::new();
        for (header, data) in f.blocks.iter().rev() {
            let back = data.preds.iter().filter(|&&p| p.index() >= header.index());
            work.extend(back);
            if !work.is_empty() {
                headers.insert(header);
                loops.any = true;
            }
            while let Some(b) = work.pop() {
                let b = outermost(&mut joined, b);
                if b.index() <= header.index() {
                    continue;
                }
                joined[b] = header.into();
                around[b] = header.into();
                loops.pressure[header] = loops.pressure[header].max(loops.pressure[b]);
                work.extend(&f.blocks[b].preds);
            }
        }
        for b in f.blocks.keys() {
            let outside = around[b].expand().map_or(0, |h| loops.depth[h]);
            loops.depth[b] = outside + u16::from(headers.contains(b));
        }
        loops
    }

    /// Whether the function has loops.
    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// Number of loops around a block.
    pub(super) fn depth(&self, b: Block) -> u16 {
        self.depth[b]
    }

    /// Register pressure of the loop with this header.
    pub(super) fn pressure(&self, header: Block) -> u32 {
        self.pressure[header]
    }
}

/// The header of the outermost loop around a block that was found until now, or the block.
fn outermost(joined: &mut SecondaryMap<Block, PackedOption<Block>>, mut b: Block) -> Block {
    while let Some(next) = joined[b].expand() {
        if joined[next].is_some() {
            joined[b] = joined[next];
        }
        b = next;
    }
    b
}
