//! State that all threads of a dispatch share.

use std::sync::Arc;

use tepui_intel_chips::Generation;
use tepui_intel_eu::{Refusal, Thread};
use tepui_intel_packets::Revision;
use tepui_intel_packets::media::InterfaceDescriptorData;
use tepui_softgpu::Reports;

use super::surface::Surface;
use crate::context::Bases;
use crate::gpu::Gpu;
use crate::job::ReportKind;
use crate::memory::Memory;
use crate::watch::Watch;

/// State that all threads of a dispatch share.
pub(crate) struct DispatchState {
    pub(super) bases: Bases,
    pub(super) generation: Generation,
    pub(super) binding_table: u64,
    /// GPU address of the samplers.
    pub(super) samplers: u64,
    pub(super) timestamp: Box<dyn Fn() -> u64 + Send + Sync>,
    /// Address of the threads' program, for reports.
    pub(super) kernel: u64,
    /// The receiver of reports, if threads are checked.
    pub(super) reports: Option<Arc<Reports<ReportKind>>>,
    /// The observer of threads.
    pub(super) watch: Option<Watch>,
}

impl DispatchState {
    /// The state of a compute program, with the binding table and samplers of its descriptor.
    pub fn new(
        gpu: &Gpu,
        kernel: u64,
        bases: Bases,
        descriptor: &InterfaceDescriptorData,
    ) -> DispatchState {
        let table = bases.table(descriptor.binding_table_pointer);
        let samplers = bases.dynamic + descriptor.sampler_state_pointer;
        DispatchState::of(gpu, kernel, bases, table, samplers)
    }

    /// The revision of surface states and samplers.
    pub fn revision(&self) -> Revision {
        tepui_intel_packets::revision(self.generation)
    }

    /// The state of a program at an address, with a binding table and samplers at addresses.
    pub fn of(
        gpu: &Gpu,
        kernel: u64,
        bases: Bases,
        binding_table: u64,
        samplers: u64,
    ) -> DispatchState {
        let (chip, clock) = (gpu.chip, gpu.options.clock);
        DispatchState {
            bases,
            generation: chip.generation,
            binding_table,
            samplers,
            timestamp: Box::new(move || crate::gpu::timestamp(chip, clock)),
            kernel,
            reports: gpu.reports.clone(),
            watch: gpu.watch.clone(),
        }
    }

    /// Reads a surface state.
    ///
    /// # Errors
    /// It cannot be read, or the model does not know it.
    pub fn surface(
        &self,
        memory: &mut Memory<'_>,
        at: u64,
        clears: bool,
    ) -> Result<Surface, Refusal> {
        Surface::read(memory, at, self.revision(), self.auxiliary_table(), clears)
    }

    /// GPU address of the table that maps to auxiliary surfaces; 0 if there is none.
    pub fn auxiliary_table(&self) -> u64 {
        self.bases.auxiliary_table
    }

    /// Whether threads are checked or watched, so that each executes its instructions one by one.
    pub fn checks(&self) -> bool {
        self.reports.is_some() || self.watch.is_some()
    }

    /// A thread that was never started.
    pub fn thread(&self) -> Thread {
        let thread = if self.reports.is_some() { Thread::new().checked() } else { Thread::new() };
        if self.watch.is_some() { thread.observed() } else { thread }
    }
}
