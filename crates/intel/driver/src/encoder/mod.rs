//! The encoder: batches, and the state that their commands point to.
//!
//! A command buffer owns its memory until it is reset: the batch ([`batch`]), dynamic state, binding tables and surface states.
//! Nothing is assumed of the hardware's state at its start, but that barriers at the end of earlier command buffers have been
//! emitted; [`hardware`] knows what the commands so far have set, and emits what is missing: base addresses, pipeline select, cache
//! partitions, flushes.

mod batch;
pub mod bindings;
mod colour;
mod compute;
mod depth;
mod draw;
mod feedback;
mod generated;
mod hardware;
mod linked;
mod meta;
mod predicate;
mod queries;
mod record;
mod rendering;
mod stages;
mod state;
mod tables;
mod vertex_ranges;

use std::sync::Arc;

use tepui_intel_chips::Generation;
use tepui_intel_packets::mi::{
    MiBatchBufferEnd, MiLoadRegisterImm, MiSemaphoreWait, MiStoreDataImm, SemaphoreCompare,
};
use tepui_intel_packets::pixel::{
    State3dAaLineParameters, State3dSamplePattern, State3dWmChromakey, State3dWmHzOp,
};
use tepui_intel_packets::raster::State3dDrawingRectangle;
use tepui_intel_packets::state::{PipeControl, Pipeline, PipelineSelect, PostSyncOperation};
use tepui_intel_packets::{Packet, Revision};
use tepui_vulkan::backend::SyncPoint;
use tepui_vulkan::{Result, vk};
use tepui_vulkan_kit::Arena;
use tepui_vulkan_kit::arena::Upload as Place;

use crate::device::{Chunk, Device, Scratch, Upload};
use crate::packets::Out;
use crate::packets::packet;
use crate::tiled_resources::TiledResources;
use crate::variant::Variant;

use batch::Batch;
use state::{BoundPrograms, Generated, Graphics, Hardware, PushedSets, Targets};
use tables::Tables;

/// Records a command buffer.
pub struct Encoder {
    /// The device.
    pub device: Arc<Device>,
    /// Number of the generation in declarations of packets.
    revision: Revision,
    batch: Batch,
    /// The commands may be submitted again before they have ended: their batch is not to be changed.
    may_run_twice: bool,
    dynamic: Arena<Chunk>,
    tables: Arena<Chunk>,
    surfaces: Arena<Chunk>,
    hardware: Hardware,
    graphics: Graphics,
    /// Commands that the GPU writes.
    generated: Generated,
    /// Programs of the application's last draw.
    bound: BoundPrograms,
    /// Tables of the last dispatch.
    compute_tables: Tables,
    /// Memory for packets.
    spare: Vec<u8>,
    /// Memory for constants.
    words: Vec<u32>,
    /// Memory for addresses of surface states.
    states: Vec<u64>,
    /// Memory for offsets of samplers.
    samplers: Vec<u32>,
    /// The rendering that draws go to.
    targets: Option<Targets>,
    /// Layout of the image that depth is resolved to after the rendering.
    depth_resolve: Option<vk::ImageLayout>,
    /// Sets that are pushed, of compute pipelines.
    pushed: PushedSets,
    /// Programs that commands use, kept while they may run.
    keep: Vec<Arc<Variant>>,
    /// Scratch memory that commands use.
    scratch: Vec<Arc<Scratch>>,
}

// SAFETY: pointers into upload memory are the encoder's own.
unsafe impl Send for Encoder {}
// SAFETY: submissions only read.
unsafe impl Sync for Encoder {}

impl Drop for Encoder {
    fn drop(&mut self) {
        self.clear(0);
    }
}

impl Encoder {
    /// An empty encoder.
    pub fn new(device: &Arc<Device>) -> Encoder {
        Encoder {
            device: device.clone(),
            revision: tepui_intel_packets::revision(device.generation()),
            batch: Batch::default(),
            may_run_twice: false,
            dynamic: Arena::default(),
            tables: Arena::default(),
            surfaces: Arena::default(),
            hardware: Hardware::default(),
            graphics: Graphics::default(),
            generated: Generated::default(),
            bound: BoundPrograms::default(),
            compute_tables: Tables::default(),
            spare: Vec::new(),
            words: Vec::new(),
            states: Vec::new(),
            samplers: Vec::new(),
            targets: None,
            depth_resolve: None,
            pushed: PushedSets::default(),
            keep: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Forgets what was recorded; keeps some memory of each kind.
    pub fn clear(&mut self, keep: usize) {
        self.batch.clear(&self.device);
        self.generated.clear(&self.device);
        for (arena, kind) in [
            (&mut self.dynamic, Upload::Dynamic),
            (&mut self.tables, Upload::Tables),
            (&mut self.surfaces, Upload::Surfaces),
        ] {
            arena.recycle(keep).for_each(|bo| self.device.recycle(kind, bo));
        }
        self.hardware = Hardware::default();
        self.graphics = Graphics::default();
        self.bound = BoundPrograms::default();
        self.compute_tables = Tables::default();
        self.targets = None;
        self.depth_resolve = None;
        self.pushed = PushedSets::default();
        self.keep.clear();
        self.scratch.clear();
    }

    /// Appends a command.
    ///
    /// # Errors
    /// When there is no memory, or a value does not fit.
    fn emit<P: Packet>(&mut self, p: &P) -> Result<()> {
        let size = P::INFO.size_bytes;
        let at = self.batch.take(&self.device, size as u64)?.host;
        // SAFETY: the batch has this room, which nothing else uses.
        let bytes = unsafe { std::slice::from_raw_parts_mut(at, size) };
        p.pack_into_as(bytes, self.revision).map_err(packet)
    }

    /// Appends the bytes of a command.
    ///
    /// # Errors
    /// When there is no memory.
    #[inline]
    fn emit_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.batch.append(&self.device, bytes)
    }

    /// Sets a register.
    fn set_register(&mut self, register: u64, value: u32) -> Result<()> {
        self.emit(&set_register(register, value))
    }

    /// Writes a word of memory by the command streamer.
    fn store_word(&mut self, address: u64, value: u32) -> Result<()> {
        let store = MiStoreDataImm {
            dword_length: 2,
            address,
            immediate_data: value.into(),
            ..MiStoreDataImm::default()
        };
        let mut bytes = [0; MiStoreDataImm::SIZE_BYTES];
        store.pack_into_as(&mut bytes, self.revision).map_err(packet)?;
        // The command is as long as the data.
        self.emit_bytes(&bytes[..16])
    }

    /// Dynamic state.
    ///
    /// # Errors
    /// When there is no memory.
    fn upload_state(&mut self, bytes: &[u8], align: u64) -> Result<Place> {
        let place = self.reserve_state(bytes.len() as u64, align)?;
        // SAFETY: the place is new and of the right size.
        unsafe { place.write(bytes) };
        Ok(place)
    }

    /// Room for dynamic state.
    ///
    /// # Errors
    /// When there is no memory.
    fn reserve_state(&mut self, size: u64, align: u64) -> Result<Place> {
        let device = &self.device;
        self.dynamic.take(size, align, |size| device.upload_chunk(Upload::Dynamic, size))
    }

    /// Surface states; returns their address.
    ///
    /// # Errors
    /// When there is no memory.
    fn upload_surfaces(&mut self, states: &[u8]) -> Result<u64> {
        let device = &self.device;
        let new = |size| device.upload_chunk(Upload::Surfaces, size);
        let place = self.surfaces.take(states.len() as u64, crate::device::STATE_B, new)?;
        // SAFETY: the place is new and of the right size.
        unsafe { place.write(states) };
        Ok(place.address)
    }

    /// Keeps a program while the commands may run.
    fn keep(&mut self, v: &Arc<Variant>) {
        if !self.keep.last().is_some_and(|last| Arc::ptr_eq(last, v)) {
            self.keep.push(v.clone());
        }
    }
}

fn set_register(register: u64, value: u32) -> MiLoadRegisterImm {
    MiLoadRegisterImm {
        dword_length: 1,
        register_offset: register,
        data_dword: value,
        ..MiLoadRegisterImm::default()
    }
}

/// Registers that are set once. source: genxml, CS_DEBUG_MODE2: addresses of push constants are absolute; on Gen9 CACHE_MODE_1:
/// floats are blended as fixed point is, partial resolves are off in the cache of texels and of targets; on Gen12 L3ALLOC, of which 32
/// ways are the URB's and 88 are for all else, COMMON_SLICE_CHICKEN1: Wa_1508744258, and HIZ_CHICKEN: Wa_1806527549. All but L3ALLOC have a mask in their upper
/// half. HIZ_CHICKEN: Wa_1806527549.
fn registers(generation: Generation) -> &'static [(u64, u32)] {
    const ABSOLUTE: (u64, u32) = (0x20d8, 1 << 4 | 1 << 20);
    match generation {
        // Work sets the partitions of the L3 on Gen9.
        Generation::Gen9 => &[ABSOLUTE, (0x7004, (1 << 1 | 1 << 4 | 1 << 9) * 0x1_0001)],
        Generation::Gen12 => {
            const HIZ_CHICKEN: (u64, u32) = (0x7018, (1 << 13) * 0x1_0001);
            &[ABSOLUTE, (0xb134, 32 << 1 | 88 << 25), (0x7010, (1 << 14) * 0x1_0001), HIZ_CHICKEN]
        }
    }
}

/// Address of the table of pages of compressed images. source: genxml, GFX_AUX_TABLE_BASE_ADDR
const PAGE_TABLE: u64 = 0x4200;
/// Makes units forget its entries, until it reads 0. source: genxml, GFX_CCS_AUX_INV
const FORGET_PAGES: u64 = 0x4208;

/// Makes units forget entries of the table of pages, and waits until they have.
/// source: Mesa, genX_cmd_buffer.c (`invalidate_aux_map`)
fn forget_pages(out: &mut Out) -> Result<()> {
    out.put(&set_register(FORGET_PAGES, 1))?;
    out.put(&MiSemaphoreWait {
        compare_operation: SemaphoreCompare::SadEqualSdd,
        wait_mode: true,
        register_poll_mode: true,
        semaphore_address: FORGET_PAGES,
        ..MiSemaphoreWait::default()
    })
}

/// Makes units forget what they know of page tables. source: Mesa, genX_cmd_buffer.c (`write_trtt_entries`)
fn forget_tiles(out: &mut Out) -> Result<()> {
    out.put(&PipeControl {
        command_streamer_stall_enable: true,
        tlb_invalidate: true,
        ..PipeControl::default()
    })
}

/// Makes the batch that turns the translation of sparse resources on.
///
/// # Errors
/// When a packet cannot be packed.
pub fn translation_batch(tables: &TiledResources) -> Result<Vec<u8>> {
    let mut out = Out::new(Generation::Gen12);
    for (register, value) in tables.registers() {
        out.put(&set_register(register, value))?;
    }
    forget_tiles(&mut out)?;
    out.put(&MiBatchBufferEnd::default())?;
    Ok(out.bytes)
}

/// Sets the state that command buffers do not set.
///
/// # Errors
/// When the kernel refuses.
pub fn start(device: &Arc<Device>) -> Result<()> {
    let mut out = Out::new(device.generation());
    out.put(&PipelineSelect {
        pipeline_selection: Pipeline::ThreeD,
        mask_bits: if device.generation() == Generation::Gen12 { 0x13 } else { 3 },
        ..PipelineSelect::default()
    })?;
    for &(register, value) in registers(device.generation()) {
        out.put(&set_register(register, value))?;
    }
    if let Some(table) = &device.page_table {
        for (register, value) in [(0, table.address), (4, table.address >> 32)] {
            out.put(&set_register(PAGE_TABLE + register, value as u32))?;
        }
        forget_pages(&mut out)?;
        let mut batch = Out::new(device.generation());
        // source: Mesa, genX_cmd_buffer.c (`emit_apply_pipe_flushes`): the engine is idle.
        batch.put(&PipeControl {
            command_streamer_stall_enable: true,
            post_sync_operation: PostSyncOperation::WriteImmediateData,
            address: device.dropped_word(),
            ..PipeControl::default()
        })?;
        forget_pages(&mut batch)?;
        forget_tiles(&mut batch)?;
        batch.put(&MiBatchBufferEnd::default())?;
        device.set_forgetting_batch(&batch.bytes);
    }
    out.put(&State3dAaLineParameters::default())?;
    // The rectangle clips nothing: scissors do.
    out.put(&State3dDrawingRectangle {
        clipped_drawing_rectangle_x_max: 0xffff,
        clipped_drawing_rectangle_y_max: 0xffff,
        ..State3dDrawingRectangle::default()
    })?;
    out.put(&State3dWmChromakey::default())?;
    out.put(&State3dWmHzOp::default())?;
    out.put(&State3dSamplePattern::standard())?;
    out.put(&MiBatchBufferEnd::default())?;
    device.kernel.submit(&[], device.start_batch(&out.bytes), &[])
}

/// Submits command buffers in order: as one submission, in which the batch of each jumps to that of the next one. Those whose batches
/// may be running are submissions of their own: the kernel runs those of a context one after the other.
///
/// # Errors
/// When the kernel refuses.
pub fn submit(
    device: &Device,
    waits: &[SyncPoint],
    commands: &[&Encoder],
    signals: &[SyncPoint],
) -> Result<()> {
    let commands: Vec<_> = commands.iter().filter(|c| c.batch.first().is_some()).collect();
    let groups = commands.chunk_by(|a, b| !a.may_run_twice && !b.may_run_twice);
    let mut batches = Vec::new();
    for group in groups {
        let next = group.iter().skip(1).map(Some).chain([None]);
        for (c, next) in group.iter().zip(next).filter(|(c, _)| !c.may_run_twice) {
            c.batch.end(next.map(|n| &n.batch))?;
        }
        batches.extend(group[0].batch.first().map(Chunk::place));
    }
    if batches.is_empty() {
        batches.push(device.idle_batch());
    }
    // What units remember of images that were at the same addresses before counts no more.
    if let Some(batch) = device.forgetting_batch() {
        batches.insert(0, batch);
    }
    let last = batches.len() - 1;
    for (k, &batch) in batches.iter().enumerate() {
        let waits = if k == 0 { waits } else { &[] };
        let signals = if k == last { signals } else { &[] };
        device.kernel.submit(waits, batch, signals)?;
    }
    Ok(())
}
