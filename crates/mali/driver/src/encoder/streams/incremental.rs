//! Incremental rendering: what is done when the tiler's heap is full before all draws of a rendering are binned.
//!
//! The kernel gives the tiler chunks up to a limit. Then the front end calls a handler on the fragment queue, which waits for the
//! tiling: it renders what is binned so far, keeps the result in memory, and gives the chunks back. What follows is drawn over that
//! result. A rendering has four framebuffers for it ([`Pass`]), and a table in memory that says where they are; a pair of registers
//! has the table's address while the queue waits.
//!
//! source: Mesa, panvk_vX_exception_handler.c, panvk_vX_cmd_draw.c (`setup_tiler_oom_ctx`)

use tepui_mali_packets::Problem;
use tepui_mali_packets::cs::CsCondition;

use super::rendering::{COMPLETED, CONTEXT_B, registers};
use crate::stream::{DEFERRED_SYNC, Flush, JOBS_MASK, LS, SCRATCH, Stream};

/// The framebuffers of a rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// All draws are rendered at once.
    Whole,
    /// The first draws of several parts: everything is stored.
    First,
    /// Later draws: everything is loaded, and stored.
    Next,
    /// The last draws: everything is loaded.
    Last,
}

/// The pair of registers with the address of the table.
pub const TABLE: u8 = 64;

/// Offsets in the table: a word each, then addresses of two words.
pub mod table {
    /// Times that the handler has rendered.
    pub const COUNT: i16 = 0;
    /// Framebuffers of a list.
    pub const LAYERS: i16 = 4;
    /// Tiler contexts.
    pub const CONTEXTS: i16 = 8;
    /// Address of the first context.
    pub const CONTEXT: i16 = 16;
    /// Address of the list of framebuffers of the first time.
    pub const FIRST: i16 = 24;
    /// Address of the list of framebuffers of later times.
    pub const NEXT: i16 = 32;
    /// Bytes of the table, without the lists.
    pub const BYTES: usize = 40;
}

/// The bytes of a table and its lists, which are at an address.
pub fn table(address: u64, contexts: (u64, u32), first: &[u64], next: &[u64]) -> Vec<u8> {
    let lists = address + table::BYTES as u64;
    let size = 8 * first.len() as u64;
    let words = [0, first.len() as u32, contexts.1, 0];
    let addresses = [contexts.0, lists, lists + size];
    let mut bytes: Vec<u8> = bytemuck::cast_slice(&words).to_vec();
    for list in [&addresses[..], first, next] {
        bytes.extend_from_slice(bytemuck::cast_slice(list));
    }
    bytes
}

/// The instructions of the handler.
///
/// # Errors
/// When a value does not fit, which is a mistake.
pub fn handler() -> Result<Vec<u64>, Problem> {
    // Scratch registers: the count, framebuffers that are left, contexts that are left, the list, the context, its chunks, zero.
    let [count, layers, contexts] = [0, 1, 2].map(|k| SCRATCH + k);
    let [list, context, chunks, zero] = [4, 6, 8, 12].map(|k| SCRATCH + k);
    let mut s = Stream::default();
    s.load(count, 3, TABLE, table::COUNT);
    s.load(list, 2, TABLE, table::FIRST);
    let is_first = s.skip_if(CsCondition::Equal, count);
    s.load(list, 2, TABLE, table::NEXT);
    s.land(is_first);
    s.load(context, 2, TABLE, table::CONTEXT);
    s.move32(count, 1);
    s.store(count, 1, TABLE, table::COUNT);
    s.repeat(CsCondition::Greater, layers, |s| {
        s.load(registers::TILER, 2, list, 0);
        s.settle();
        s.run_fragment();
        s.wait(JOBS_MASK);
        s.add64(list, list, 8);
        s.add32(layers, layers, -1);
    });
    s.move64(zero, 0);
    s.repeat(CsCondition::Greater, contexts, |s| {
        s.load(chunks, 4, context, COMPLETED);
        s.settle();
        s.finish_fragment(false, [chunks, chunks + 2], 0);
        s.wait(1 << DEFERRED_SYNC);
        // The list of polygons, and the completed chunks.
        for offset in [0, COMPLETED, COMPLETED + 8] {
            s.store(zero, 2, context, offset);
        }
        s.add64(context, context, CONTEXT_B as i32);
        s.add32(contexts, contexts, -1);
    });
    s.settle();
    // Later loads of tiles see the result.
    s.flush(Flush { others: true, ..Flush::default() }, 0, LS);
    s.wait(1 << LS);
    Ok(s.words()?.to_vec())
}
