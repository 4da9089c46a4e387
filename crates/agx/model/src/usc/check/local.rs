//! Local memory and scratch memory as the checker sees them.

use super::race::{Cell, Conflict, How, Mark};

/// Accesses of the local memory of a workgroup.
#[derive(Default)]
pub struct LocalShadow {
    cells: Vec<Cell>,
    /// The instruction that wrote a byte last, from 1; 0 for none.
    writers: Vec<u16>,
    epoch: u16,
}

impl LocalShadow {
    /// Begins another workgroup, with `bytes` bytes of local memory.
    pub fn begin(&mut self, bytes: usize) {
        self.cells.resize(bytes.div_ceil(4), Cell::default());
        self.writers.clear();
        self.writers.resize(bytes, 0);
        self.barrier();
    }

    /// All groups of the workgroup have reached a barrier.
    pub fn barrier(&mut self) {
        self.epoch = self.epoch.checked_add(1).unwrap_or_else(|| {
            self.cells.fill(Cell::default());
            1
        });
    }

    /// An access of bytes that lie in one word.
    pub fn access(
        &mut self,
        from: usize,
        bytes: usize,
        index: u32,
        at: u16,
        how: How,
    ) -> Option<Conflict> {
        let now = Mark { group: index + 1, time: 0, epoch: self.epoch, at };
        let mask = (((1u32 << bytes) - 1) << (from % 4)) as u8 & 15;
        let ordered = |a: &Mark, b: &Mark| (a.epoch == b.epoch).then_some(true);
        self.cells.get_mut(from / 4)?.access(now, how, mask, ordered)
    }

    /// Notes the instruction that writes bytes.
    pub fn wrote(&mut self, from: usize, bytes: usize, at: u16) {
        if let Some(writers) = self.writers.get_mut(from..from + bytes) {
            writers.fill(at.saturating_add(1));
        }
    }

    /// The instruction that wrote a byte last.
    pub fn writer(&self, at: usize) -> Option<u16> {
        self.writers.get(at)?.checked_sub(1)
    }
}

/// Shadow of scratch memory: the lanes that have written each byte.
#[derive(Default)]
pub struct Scratch {
    lanes: Vec<u32>,
}

impl Scratch {
    /// Lanes write bytes, each from an offset of its own.
    pub fn write(&mut self, lane: usize, offset: u32, bytes: u32) {
        let end = (offset + bytes) as usize;
        if end > self.lanes.len() {
            self.lanes.resize(end, 0);
        }
        self.lanes[offset as usize..end].iter_mut().for_each(|lanes| *lanes |= 1 << lane);
    }

    /// Whether a lane has written all of its bytes.
    pub fn is_written(&self, lane: usize, offset: u32, bytes: u32) -> bool {
        let all = self.lanes.get(offset as usize..(offset + bytes) as usize);
        all.is_some_and(|all| all.iter().all(|lanes| lanes >> lane & 1 != 0))
    }
}
