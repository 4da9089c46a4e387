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

use super::tiler::{COMPLETED, CONTEXT_B, registers};
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
    /// Registers of the queue that the handler uses, while it runs.
    pub const SAVED: i16 = 40;
    /// Bytes of the table, without the lists.
    pub const BYTES: usize = 56;
}

/// The bytes of a table and its lists, which are at an address.
pub fn table(address: u64, contexts: (u64, u32), first: &[u64], next: &[u64]) -> Vec<u8> {
    let lists = address + table::BYTES as u64;
    let size = 8 * first.len() as u64;
    let words = [0, first.len() as u32, contexts.1, 0];
    let addresses = [contexts.0, lists, lists + size, 0, 0];
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
    // The address and the number of the wait that goes on afterwards.
    s.store(SCRATCH, 4, TABLE, table::SAVED);
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
    s.load(SCRATCH, 4, TABLE, table::SAVED);
    s.wait(1 << LS);
    Ok(s.words()?.to_vec())
}

#[cfg(test)]
mod tests {
    use tepui_mali_packets::cs::CsOpcode;
    use tepui_mali_streams::{FrontEnd, Memory, Step};

    use super::super::words::Words;
    use super::*;

    /// Framebuffers that the handler renders and contexts whose chunks it gives back, with registers as they are before and afterwards.
    fn handle(memory: &mut Words, at_table: u64) -> (Vec<u64>, Vec<u64>) {
        const AT: u64 = 0x1000;
        let words = handler().unwrap();
        memory.store(AT, bytemuck::cast_slice(&words)).unwrap();
        let mut front = FrontEnd::default();
        for (k, r) in (0..).zip(&mut front.registers) {
            *r = 0x100 + k;
        }
        let pair = |f: &FrontEnd, k: u8| {
            let [low, high] = [k, k + 1].map(|k| u64::from(f.registers[usize::from(k)]));
            low | high << 32
        };
        front.registers[usize::from(TABLE)] = at_table as u32;
        front.registers[usize::from(TABLE) + 1] = 0;
        let before = front.registers;
        front.start(AT, 8 * words.len() as u64);
        let (mut rendered, mut finished) = (Vec::new(), Vec::new());
        while front.unwind() {
            match front.step(memory).unwrap() {
                Step::Work(CsOpcode::RunFragment) => rendered.push(pair(&front, registers::TILER)),
                Step::Work(CsOpcode::FinishFragment) => finished.push(pair(&front, SCRATCH + 8)),
                Step::Work(other) => panic!("{other:?}"),
                Step::Wait(at) => panic!("a wait for {at:#x}"),
                Step::Done(_) => {}
            }
        }
        let waits = usize::from(SCRATCH)..usize::from(SCRATCH) + 4;
        assert_eq!(front.registers[waits.clone()], before[waits]);
        (rendered, finished)
    }

    #[test]
    fn the_handler_renders_each_layer_and_gives_all_chunks_back() {
        const AT: u64 = 0x8000;
        const CONTEXT: u64 = 0x9000;
        let mut memory = Words::default();
        let bytes = table(AT, (CONTEXT, 2), &[0xa0, 0xb0, 0xc0], &[0xa8, 0xb8, 0xc8]);
        memory.store(AT, &bytes).unwrap();
        let context = |chunk: u64| {
            let mut bytes = vec![1; CONTEXT_B as usize];
            bytes[40..56].copy_from_slice(&[chunk, chunk + 1].map(u64::to_le_bytes).concat());
            bytes
        };
        memory.store(CONTEXT, &context(0x5000)).unwrap();
        memory.store(CONTEXT + CONTEXT_B, &context(0x6000)).unwrap();
        let first = handle(&mut memory, AT);
        assert_eq!(first, (vec![0xa0, 0xb0, 0xc0], vec![0x5000, 0x6000]));
        // The lists of polygons and the chunks are gone; the rest of the contexts is as it was.
        for at in [CONTEXT, CONTEXT + CONTEXT_B] {
            let mut bytes = [0; 64];
            memory.load(at, &mut bytes).unwrap();
            assert!(bytes[..8].iter().chain(&bytes[40..56]).all(|b| *b == 0));
            assert!(bytes[8..40].iter().chain(&bytes[56..]).all(|b| *b == 1));
        }
        assert_eq!(handle(&mut memory, AT).0, [0xa8, 0xb8, 0xc8]);
    }
}
