//! State of the hardware that commands need: base addresses, the pipeline, cache partitions, flushes.

use tepui_intel_chips::Generation;
use tepui_intel_packets::gen12;
use tepui_intel_packets::media::MediaVfeState;
use tepui_intel_packets::output::State3dCcStatePointers;
use tepui_intel_packets::state::{Pipeline, PipelineSelect, StateBaseAddress};
use tepui_vulkan::Result;
use tepui_vulkan_kit::arena::Mapped;

use super::Encoder;
use super::state::Partition;
use super::vertex_ranges::Buffer;
use crate::device::{STATE_B, Upload};
use crate::flush::{Flush, Mode, controls};
use crate::mocs::mocs;
use crate::space;

/// The register of the partitions. source: genxml, L3CNTLREG
const L3CNTLREG: u64 = 0x7034;

impl Encoder {
    /// A binding table of surface states at these addresses; returns its offset from the surface state base.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn table(&mut self, states: &[u64]) -> Result<u32> {
        if states.is_empty() {
            return Ok(0);
        }
        let device = &self.device;
        let new = |size| device.upload_chunk(Upload::Tables, size);
        let place = self.tables.take(4 * states.len() as u64, 32, new)?;
        let block = self.tables.last().map_or(0, Mapped::address);
        for (k, at) in states.iter().enumerate() {
            let entry = (at - block) as u32;
            // SAFETY: the place is new and has as many entries.
            unsafe { place.host.cast::<u32>().add(k).write_unaligned(entry.to_le()) };
        }
        Ok((place.address - block) as u32)
    }

    /// Emits what a draw or dispatch needs before its own state.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn prepare(&mut self, mode: Mode, partition: Partition) -> Result<()> {
        if self.is_prepared(mode, partition) {
            return Ok(());
        }
        self.select(mode)?;
        self.bases()?;
        self.partition(partition)?;
        self.flush()
    }

    /// Whether nothing is to be emitted before a draw's or dispatch's own state.
    fn is_prepared(&self, mode: Mode, partition: Partition) -> bool {
        let h = &self.hardware;
        h.mode == Some(mode)
            && h.block == Some(self.block())
            && (self.device.generation() != Generation::Gen9 || h.partition == Some(partition))
            && h.pending.is_empty()
    }

    /// Address of the block of binding tables that is being filled.
    fn block(&self) -> u64 {
        self.tables.last().map_or(space::TABLES, Mapped::address)
    }

    /// Emits pending flushes.
    pub(super) fn flush(&mut self) -> Result<()> {
        let bits = std::mem::take(&mut self.hardware.pending);
        if bits.is_empty() {
            return Ok(());
        }
        let word = self.device.dropped_word();
        let (list, later) = controls(self.device.generation(), self.hardware.mode, bits, word);
        self.hardware.pending = later;
        list.iter().try_for_each(|c| self.emit(c))
    }

    /// Notes that a draw reads vertices or indices; invalidates their cache before if its tags would take them for others.
    pub(super) fn reads_vertices(&mut self, buffers: &[Buffer]) {
        let generation = self.device.generation();
        if generation == Generation::Gen9 && self.hardware.vertex_ranges.add(buffers) {
            self.hardware.pending |= Flush::VERTICES | Flush::STALL;
        }
    }

    /// Selects the pipeline.
    pub(super) fn select(&mut self, mode: Mode) -> Result<()> {
        if self.hardware.mode == Some(mode) {
            return Ok(());
        }
        let generation = self.device.generation();
        if generation == Generation::Gen9 && mode == Mode::Compute {
            // WaClearCCStatePriorPipelineSelect.
            self.emit(&State3dCcStatePointers::default())?;
        }
        // source: SKL PRM volume 2a, PIPELINE_SELECT: caches are written back, then read-only ones invalidated; TGL PRM: a stall
        self.hardware.pending |= match generation {
            Generation::Gen9 => {
                Flush::RENDER
                    | Flush::DEPTH
                    | Flush::DATA
                    | Flush::STALL
                    | Flush::TEXTURES
                    | Flush::CONSTANTS
                    | Flush::STATE
                    | Flush::CODE
            }
            Generation::Gen12 => Flush::RENDER | Flush::DEPTH | Flush::HDC | Flush::STALL,
        };
        self.flush()?;
        if generation == Generation::Gen9 && mode == Mode::Graphics {
            // Geometry flickers otherwise. source: Mesa, genX_cmd_buffer.c, `flush_pipeline_select`
            let threads = compute_threads(self.device.chip());
            self.emit(&MediaVfeState {
                maximum_number_of_threads: threads - 1,
                number_of_urb_entries: 2,
                urb_entry_allocation_size: 2,
                ..MediaVfeState::default()
            })?;
        }
        self.hardware.vfe = None;
        self.emit(&PipelineSelect {
            pipeline_selection: match mode {
                Mode::Graphics => Pipeline::ThreeD,
                Mode::Compute => Pipeline::Gpgpu,
            },
            media_sampler_dop_clock_gate_enable: generation == Generation::Gen12,
            mask_bits: if generation == Generation::Gen12 { 0x13 } else { 3 },
            ..PipelineSelect::default()
        })?;
        self.hardware.mode = Some(mode);
        if let (Generation::Gen9, Mode::Graphics, Some(at)) =
            (generation, mode, self.hardware.colour_calculator)
        {
            // WaClearCCStatePriorPipelineSelect took it away.
            self.emit(&State3dCcStatePointers {
                color_calc_state_pointer: at,
                color_calc_state_pointer_valid: true,
            })?;
        }
        Ok(())
    }

    /// Sets base addresses, unless they are those of the block of binding tables that is being filled.
    fn bases(&mut self) -> Result<()> {
        let block = self.block();
        if self.hardware.block == Some(block) {
            return Ok(());
        }
        self.hardware.block = Some(block);
        let generation = self.device.generation();
        // Hangs otherwise. source: Mesa, genX_cmd_buffer.c, `cmd_buffer_emit_state_base_address`
        self.hardware.pending |= Flush::RENDER | Flush::STALL;
        self.hardware.pending |= Flush::data(generation);
        self.flush()?;
        // Wa_1607854226: other state than pipelined one takes effect only for draws.
        let mode = self.hardware.mode;
        if generation == Generation::Gen12 {
            self.select(Mode::Graphics)?;
        }
        let mocs = u32::from(mocs(generation));
        let bases = StateBaseAddress {
            general_state_base_address_modify_enable: true,
            general_state_mocs: mocs,
            general_state_buffer_size_modify_enable: true,
            general_state_buffer_size: MAX_PAGES,
            stateless_data_port_access_mocs: mocs,
            surface_state_base_address_modify_enable: true,
            surface_state_mocs: mocs,
            surface_state_base_address: block,
            dynamic_state_base_address_modify_enable: true,
            dynamic_state_mocs: mocs,
            dynamic_state_base_address: space::DYNAMIC,
            dynamic_state_buffer_size_modify_enable: true,
            dynamic_state_buffer_size: MAX_PAGES,
            indirect_object_base_address_modify_enable: true,
            indirect_object_mocs: mocs,
            indirect_object_buffer_size_modify_enable: true,
            indirect_object_buffer_size: MAX_PAGES,
            instruction_base_address_modify_enable: true,
            instruction_mocs: mocs,
            instruction_base_address: space::CODE,
            instruction_buffer_size_modify_enable: true,
            instruction_buffer_size: MAX_PAGES,
            bindless_surface_state_base_address_modify_enable: true,
            bindless_surface_state_mocs: mocs,
            bindless_surface_state_base_address: space::BINDLESS,
            bindless_surface_state_size: (space::BINDLESS_B / STATE_B - 1) as u32,
            ..StateBaseAddress::default()
        };
        match generation {
            Generation::Gen9 => self.emit(&bases)?,
            Generation::Gen12 => self.emit(&gen12::StateBaseAddress::from(bases))?,
        }
        if let Some(mode) = mode {
            self.select(mode)?;
        }
        // Surface states and samplers are looked up at the new addresses. source: BDW PRM, "State Caching"
        self.hardware.pending |= Flush::TEXTURES | Flush::CONSTANTS | Flush::STATE;
        Ok(())
    }

    /// Divides the L3.
    fn partition(&mut self, partition: Partition) -> Result<()> {
        if self.device.generation() != Generation::Gen9
            || self.hardware.partition == Some(partition)
        {
            return Ok(());
        }
        self.hardware.partition = Some(partition);
        // Nothing runs while it changes: a write-back, an invalidation, and a wait for that.
        // source: Mesa, genX_cmd_buffer.c, `cmd_buffer_config_l3`
        for bits in [
            Flush::DATA | Flush::STALL,
            Flush::TEXTURES | Flush::CONSTANTS | Flush::CODE | Flush::STATE,
            Flush::DATA | Flush::STALL,
        ] {
            self.hardware.pending |= bits;
            self.flush()?;
        }
        self.set_register(L3CNTLREG, partition.value())
    }
}

/// Size of a base's window in pages: all that its field can say.
const MAX_PAGES: u32 = 0xf_ffff;

/// Threads of a dispatch that run at once. source: Mesa, intel_device_info.c (`max_cs_threads` of a subslice)
pub fn compute_threads(chip: &tepui_intel_chips::Chip) -> u32 {
    let each = match chip.generation {
        Generation::Gen9 => 56,
        Generation::Gen12 => 112,
    };
    each * chip.slices * chip.subslices_per_slice
}
