//! Relaxed execution: memory as units see it through caches, and the work of a batch that is performed late.
//!
//! With [`crate::Options::relaxed`] draws, dispatches and writes at the end of the pipeline are held back and run in
//! another order that the events of the batch allow ([`tepui_order::relaxed`]), and caches keep data until a flush. The
//! command streamer's own accesses are performed at once. A batch begins and ends as under the checker ([`crate::order`]).

use std::sync::{Mutex, MutexGuard, PoisonError};

use tepui_intel_chips::Generation;
use tepui_intel_packets::media::GpgpuWalker;
use tepui_intel_packets::state::PipeControl;
use tepui_intel_packets::vertex::Primitive3d;
use tepui_order::relaxed::{Backing, Caches, Choices, Item, Schedule};
use tepui_order::{CacheSet, Event, Level, UnitSet};
use tepui_softgpu::{Access, AccessObserver, AddressSpace, Fault};

use crate::context::HardwareContext;
use crate::order::{MemoryUnit, SHADER_UNITS, table};

/// Units that only draws use.
const DRAW_UNITS: UnitSet = 1 << MemoryUnit::VertexFetch as u32
    | 1 << MemoryUnit::RenderTarget as u32
    | 1 << MemoryUnit::Depth as u32
    | 1 << MemoryUnit::StreamOutput as u32;

/// Class of what passes through the 3D pipeline, which keeps the order.
const PIPELINE: u8 = 0;

/// Work of a batch that is performed later, with the state that it was begun with.
pub(crate) enum Work {
    /// A draw.
    Draw(Box<(HardwareContext, Primitive3d)>),
    /// A dispatch.
    Dispatch(Box<(HardwareContext, GpgpuWalker)>),
    /// The write of a PIPE_CONTROL.
    Write(Box<PipeControl>),
    /// A flush.
    Flush(CacheSet, Level),
}

impl Work {
    /// The work with its place in the order.
    pub fn item(self) -> Item<Work> {
        let item = |units, class, work| Item { work, units, class, last: false, writes: None };
        match self {
            Work::Draw(_) => item(SHADER_UNITS, Some(PIPELINE), self),
            Work::Dispatch(_) => item(SHADER_UNITS & !DRAW_UNITS, None, self),
            Work::Write(ref control) => {
                let writes = Some(crate::memory::address(control.address));
                let units = 1 << MemoryUnit::PostSync as u32;
                Item { last: true, writes, ..item(units, Some(PIPELINE), self) }
            }
            Work::Flush(..) => Item { last: true, ..item(0, None, self) },
        }
    }
}

/// The memory of a GPU with relaxed execution.
pub(crate) struct RelaxedMemory {
    generation: Generation,
    seed: u64,
    /// The caches while a batch runs.
    caches: Mutex<Option<Caches>>,
    /// Held while a batch runs.
    pub batch: Mutex<()>,
}

/// Memory without the caches.
struct Below<'a>(&'a AddressSpace);

impl Backing for Below<'_> {
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        self.0.read(address, into).is_ok()
    }

    fn write(&mut self, address: u64, from: &[u8]) {
        // The bytes were bound when a unit wrote them; of a page that was unbound since, nothing is left to write.
        let _ = self.0.write(address, from);
    }
}

impl RelaxedMemory {
    /// The memory of a GPU, with a seed for its choices.
    pub fn new(generation: Generation, seed: u64) -> RelaxedMemory {
        RelaxedMemory { generation, seed, caches: Mutex::default(), batch: Mutex::new(()) }
    }

    fn caches(&self) -> MutexGuard<'_, Option<Caches>> {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a batch with empty caches; returns its schedule.
    pub fn begin(&self) -> Schedule<Work> {
        *self.caches() = Some(Caches::new(table(self.generation), Choices::new(self.seed)));
        Schedule::new(Choices::new(!self.seed))
    }

    /// Ends a batch: everything is written back.
    pub fn end(&self, vm: &AddressSpace) {
        if let Some(mut caches) = self.caches().take() {
            caches.finish(&mut Below(vm));
        }
    }

    /// Lets caches write data back and drop lines.
    pub fn age(&self, vm: &AddressSpace) {
        if let Some(caches) = &mut *self.caches() {
            caches.age(&mut Below(vm));
        }
    }

    /// Performs a flush.
    pub fn flush(&self, vm: &AddressSpace, set: CacheSet, to: Level) {
        if let Some(caches) = &mut *self.caches() {
            caches.flush(set, to, &mut Below(vm));
        }
    }

    /// Performs an invalidation.
    pub fn invalidate(&self, vm: &AddressSpace, set: CacheSet) {
        if let Some(caches) = &mut *self.caches() {
            caches.invalidate(set, &mut Below(vm));
        }
    }

    /// The events of a PIPE_CONTROL.
    pub fn events(&self, control: &PipeControl) -> Vec<Event> {
        let mut all = Vec::new();
        crate::order::events(self.generation, control, |event| all.push(event));
        all
    }
}

impl AccessObserver for RelaxedMemory {
    fn access(&self, _: u8, _: Access, _: u64, _: u64) {}

    fn performs(&self) -> bool {
        true
    }

    fn read(
        &self,
        vm: &AddressSpace,
        unit: u8,
        address: u64,
        into: &mut [u8],
    ) -> Result<(), Fault> {
        vm.read(address, into)?;
        if let Some(caches) = &mut *self.caches() {
            caches.read(unit, address, into, &mut Below(vm));
        }
        Ok(())
    }

    /// The bytes are written once for the faults of the page table, and then replaced by the old ones if a cache holds
    /// the new ones back. Pages that drop writes have no lines.
    fn write(&self, vm: &AddressSpace, unit: u8, address: u64, from: &[u8]) -> Result<(), Fault> {
        let (mut old, mut new) = (vec![0; from.len()], vec![0; from.len()]);
        let readable = vm.read(address, &mut old).is_ok();
        vm.write(address, from)?;
        let mut caches = self.caches();
        let Some(caches) = caches.as_mut().filter(|_| readable) else { return Ok(()) };
        vm.read(address, &mut new)?;
        if new == from {
            vm.write(address, &old)?;
            caches.write(unit, address, from, &mut Below(vm));
        }
        Ok(())
    }
}
