//! Pointers of commands, command by command.

use tepui_intel_chips::Generation;
use tepui_intel_packets::bindings::State3dConstantBody;
use tepui_intel_packets::gen12::{self, State3dConstantAllData};
use tepui_intel_packets::media::{
    InterfaceDescriptorData, MediaCurbeLoad, MediaInterfaceDescriptorLoad,
};
use tepui_intel_packets::mi::MiMathAluInstruction;
use tepui_intel_packets::output::{
    CcViewport, ColorCalcState, ScissorRect, SfClipViewport, State3dBlendStatePointers,
    State3dCcStatePointers, State3dScissorStatePointers, State3dViewportStatePointersCc,
    State3dViewportStatePointersSfClip,
};
use tepui_intel_packets::pixel::State3dPs;
use tepui_intel_packets::raster::State3dClip;
use tepui_intel_packets::stages::{SoDecl, State3dDs, State3dGs, State3dHs, State3dVs};
use tepui_intel_packets::state::StateBaseAddress;
use tepui_intel_packets::surface::BindingTableState;
use tepui_intel_packets::vertex::{VertexBufferState, VertexElementState};
use tepui_intel_packets::{Packet, PacketInfo};

use crate::kernel::TableUses;
use crate::{Content, Decoder, Record, Stage, StageState, address};

/// Limit on the bytes of constants that are shown: the capacity of MEDIA_CURBE_LOAD and of the URB.
const MAX_CONSTANT_BYTES: u64 = 1 << 17;

/// The pointer bits of double word 1, in 3DSTATE_BINDING_TABLE_POINTERS_* and in
/// 3DSTATE_SAMPLER_STATE_POINTERS_*. source: genxml
const TABLE_POINTER: u32 = 0xffe0;
const SAMPLER_POINTER: u32 = !0x1f;

/// The stage that the end of a command's name names.
fn stage(name: &str) -> Option<Stage> {
    Some(match name.rsplit('_').next()? {
        "VS" => Stage::Vs,
        "HS" => Stage::Hs,
        "DS" => Stage::Ds,
        "GS" => Stage::Gs,
        "PS" => Stage::Ps,
        _ => return None,
    })
}

impl Decoder<'_, '_> {
    /// Adds the structures that a command points to as children of its record, and keeps the state that later
    /// commands need.
    pub(crate) fn pointers(
        &mut self,
        info: &'static PacketInfo,
        at: u64,
        bytes: &[u8],
        record: &mut Record,
    ) {
        let name = info.name;
        let rest = bytes.get(info.size_bytes..).unwrap_or_default();
        let rest_at = at.wrapping_add(info.size_bytes as u64);
        let list = |element: &'static PacketInfo, index: usize| Element {
            info: element,
            title: format!("{} {index}", element.name),
        };
        match name {
            "STATE_BASE_ADDRESS" => self.bases(bytes),
            "MI_MATH" => self.elements(MiMathAluInstruction::INFO, rest_at, rest, record, list),
            "3DSTATE_VERTEX_BUFFERS" => {
                self.elements(VertexBufferState::INFO, rest_at, rest, record, list);
            }
            "3DSTATE_VERTEX_ELEMENTS" => {
                self.elements(VertexElementState::INFO, rest_at, rest, record, list);
            }
            // Four interleaved streams.
            "3DSTATE_SO_DECL_LIST" => {
                self.elements(SoDecl::INFO, rest_at, rest, record, |element, index| Element {
                    info: element,
                    title: format!("{} {}, stream {}", element.name, index / 4, index % 4),
                });
            }
            "MEDIA_CURBE_LOAD" => {
                let Some(load) = self.unpack::<MediaCurbeLoad>(bytes) else { return };
                let start = self.dynamic(load.curbe_data_start_address.into());
                record.children.push(self.raw(
                    "Constants",
                    start,
                    load.curbe_total_data_length.into(),
                ));
            }
            "MEDIA_INTERFACE_DESCRIPTOR_LOAD" => self.interface_descriptors(bytes, record),
            "3DSTATE_CLIP" => {
                if let Some(clip) = self.unpack::<State3dClip>(bytes) {
                    self.state.last_viewport = clip.maximum_vp_index;
                }
            }
            "3DSTATE_VS" | "3DSTATE_HS" | "3DSTATE_DS" | "3DSTATE_GS" => {
                self.stage_kernel(name, bytes, record);
            }
            "3DSTATE_PS" => self.pixel_kernels(bytes, record),
            "3DPRIMITIVE" | "3DPRIMITIVE_EXTENDED" => self.draw(),
            "3DSTATE_CC_STATE_POINTERS" => {
                let Some(pointers) = self.unpack::<State3dCcStatePointers>(bytes) else { return };
                if pointers.color_calc_state_pointer_valid {
                    let offset = pointers.color_calc_state_pointer;
                    self.states(ColorCalcState::INFO, offset, 1, record);
                }
            }
            "3DSTATE_BLEND_STATE_POINTERS" => {
                let Some(pointers) = self.unpack::<State3dBlendStatePointers>(bytes) else {
                    return;
                };
                if pointers.blend_state_pointer_valid {
                    self.blend(pointers.blend_state_pointer, record);
                }
            }
            "3DSTATE_SCISSOR_STATE_POINTERS" => {
                let Some(pointers) = self.unpack::<State3dScissorStatePointers>(bytes) else {
                    return;
                };
                self.viewports(ScissorRect::INFO, pointers.scissor_rect_pointer, record);
            }
            "3DSTATE_VIEWPORT_STATE_POINTERS_CC" => {
                let Some(pointers) = self.unpack::<State3dViewportStatePointersCc>(bytes) else {
                    return;
                };
                self.viewports(CcViewport::INFO, pointers.cc_viewport_pointer, record);
            }
            "3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP" => {
                let Some(pointers) = self.unpack::<State3dViewportStatePointersSfClip>(bytes)
                else {
                    return;
                };
                self.viewports(SfClipViewport::INFO, pointers.sf_clip_viewport_pointer, record);
            }
            "3DSTATE_CONSTANT_ALL" => {
                self.elements(State3dConstantAllData::INFO, rest_at, rest, record, list);
                for (child, bytes) in record.children.iter_mut().zip(rest.as_chunks::<8>().0) {
                    let Ok((range, _)) = State3dConstantAllData::unpack_lossy(bytes) else {
                        continue;
                    };
                    let start = address(range.pointer_to_constant_buffer);
                    let size = 32 * u64::from(range.constant_buffer_read_length);
                    child.children.push(self.raw("Constants", start, size));
                }
            }
            _ if name.starts_with("3DSTATE_CONSTANT_") => self.constants(bytes, record),
            // The pointers of all stages have the same bits.
            _ if name.starts_with("3DSTATE_BINDING_TABLE_POINTERS_") => {
                let Some(stage) = stage(name) else { return };
                let offset = u64::from(dword(bytes, 1) & TABLE_POINTER);
                if stage == Stage::Ps {
                    self.state.pixel_table = offset;
                }
                let count = self.state.stages[stage as usize].surfaces;
                record.children.extend(self.binding_table(offset, count));
            }
            _ if name.starts_with("3DSTATE_SAMPLER_STATE_POINTERS_") => {
                let Some(stage) = stage(name) else { return };
                let offset = u64::from(dword(bytes, 1) & SAMPLER_POINTER);
                let count = self.state.stages[stage as usize].samplers;
                self.samplers(offset, count, &mut record.children);
            }
            _ => {
                if !rest.is_empty() {
                    record.children.push(tail(rest_at, rest));
                }
            }
        }
    }

    /// Unpacks a command; its problems are already in its record.
    fn unpack<P: Packet>(&self, bytes: &[u8]) -> Option<P> {
        P::unpack_lossy_as(bytes, self.revision()).ok().map(|(packet, _)| packet)
    }

    /// The address of an offset from the dynamic state base address.
    pub(crate) fn dynamic(&self, offset: u64) -> u64 {
        address(self.state.dynamic_base.wrapping_add(offset))
    }

    fn bases(&mut self, bytes: &[u8]) {
        let set = match self.options.generation {
            Generation::Gen9 => self.unpack::<StateBaseAddress>(bytes),
            Generation::Gen12 => self.unpack::<gen12::StateBaseAddress>(bytes).map(Into::into),
        };
        let Some(set) = set else { return };
        let update = |enable: bool, value: u64, base: &mut u64| {
            if enable {
                *base = address(value);
            }
        };
        update(
            set.surface_state_base_address_modify_enable,
            set.surface_state_base_address,
            &mut self.state.surface_base,
        );
        update(
            set.dynamic_state_base_address_modify_enable,
            set.dynamic_state_base_address,
            &mut self.state.dynamic_base,
        );
        update(
            set.instruction_base_address_modify_enable,
            set.instruction_base_address,
            &mut self.state.instruction_base,
        );
    }

    /// The structures in a list that follows the declared part of a command.
    fn elements(
        &mut self,
        info: &'static PacketInfo,
        at: u64,
        rest: &[u8],
        record: &mut Record,
        name: impl Fn(&'static PacketInfo, usize) -> Element,
    ) {
        let chunks = rest.chunks_exact(info.size_bytes);
        let left = chunks.remainder();
        for (index, bytes) in chunks.enumerate() {
            if !self.reader.take() {
                record.problems.push(self.too_much());
                return;
            }
            let element = name(info, index);
            let place = at.wrapping_add((index * info.size_bytes) as u64);
            let mut child = Record::new(element.title, place);
            child.set_packet_as(element.info, bytes, self.revision());
            record.children.push(child);
        }
        if !left.is_empty() {
            record.children.push(tail(at.wrapping_add((rest.len() - left.len()) as u64), left));
        }
    }

    /// Decodes the kernel of a stage before the pixel stage, and notes the sizes of the stage's tables.
    fn stage_kernel(&mut self, name: &'static str, bytes: &[u8], record: &mut Record) {
        macro_rules! parts {
            ($stage:ident, $command:ty) => {
                self.unpack::<$command>(bytes).map(|set| {
                    let (pointer, surfaces) =
                        (set.kernel_start_pointer, set.binding_table_entry_count);
                    (Stage::$stage, set.enable, pointer, surfaces)
                })
            };
        }
        let unpacked = match name {
            "3DSTATE_VS" => parts!(Vs, State3dVs),
            "3DSTATE_HS" => parts!(Hs, State3dHs),
            "3DSTATE_DS" => parts!(Ds, State3dDs),
            _ => parts!(Gs, State3dGs),
        };
        let Some((stage, enabled, pointer, surfaces)) = unpacked else { return };
        let mut state = StageState::default();
        if enabled {
            let (kernel, uses) = self.kernel("Kernel", pointer);
            record.children.push(kernel);
            state = counts(surfaces, &uses);
        }
        self.state.stages[stage as usize] = state;
    }

    /// Decodes the kernels of the pixel shader.
    ///
    /// source: SKL PRM volume 2a, 3DSTATE_PS: pointer 0 is that of the narrowest dispatch, except that
    /// with several enabled pointer 1 is that of 32 pixels and pointer 2 that of 16.
    fn pixel_kernels(&mut self, bytes: &[u8], record: &mut Record) {
        let Some(ps) = self.unpack::<State3dPs>(bytes) else { return };
        let enabled = [
            (ps.n8_pixel_dispatch_enable, "Kernel of 8 pixels"),
            (ps.n16_pixel_dispatch_enable, "Kernel of 16 pixels"),
            (ps.n32_pixel_dispatch_enable, "Kernel of 32 pixels"),
        ];
        let [first, second, third] =
            [ps.kernel_start_pointer_0, ps.kernel_start_pointer_1, ps.kernel_start_pointer_2];
        let several = enabled.iter().filter(|(on, _)| *on).count() > 1;
        let pointers = if several { [first, third, second] } else { [first; 3] };
        let mut all = TableUses::default();
        for ((on, title), pointer) in enabled.into_iter().zip(pointers) {
            if on {
                let (kernel, uses) = self.kernel(title, pointer);
                record.children.push(kernel);
                all.surfaces = all.surfaces.max(uses.surfaces);
                all.samplers = all.samplers.max(uses.samplers);
                all.targets.extend(uses.targets);
            }
        }
        all.targets.sort_unstable();
        all.targets.dedup();
        self.state.targets.clone_from(&all.targets);
        self.state.stages[Stage::Ps as usize] = counts(ps.binding_table_entry_count, &all);
    }

    fn interface_descriptors(&mut self, bytes: &[u8], record: &mut Record) {
        let Some(load) = self.unpack::<MediaInterfaceDescriptorLoad>(bytes) else { return };
        let start = self.dynamic(load.interface_descriptor_data_start_address);
        let each = InterfaceDescriptorData::SIZE_BYTES as u64;
        for index in 0..u64::from(load.interface_descriptor_total_length) / each {
            let at = address(start.wrapping_add(index * each));
            let title = format!("{} {index}", InterfaceDescriptorData::INFO.name);
            let mut child = self.reader.packet_as(title, InterfaceDescriptorData::INFO, at);
            if let Ok(descriptor) = self.reader.value::<InterfaceDescriptorData>(at) {
                let (kernel, uses) = self.kernel("Kernel", descriptor.kernel_start_pointer);
                let state = counts(descriptor.binding_table_entry_count, &uses);
                child.children.push(kernel);
                if state.surfaces > 0 {
                    let table = descriptor.binding_table_pointer;
                    child.children.extend(self.binding_table(table, state.surfaces));
                }
                if descriptor.sampler_count > 0 || state.samplers > 0 {
                    let pointer = descriptor.sampler_state_pointer;
                    self.samplers(pointer, state.samplers, &mut child.children);
                }
            }
            let full = child.problems.contains(&self.too_much());
            record.children.push(child);
            if full {
                return;
            }
        }
    }

    /// Records the render targets of a draw.
    fn draw(&mut self) {
        for index in &self.state.targets {
            let table = self.state.surface_base.wrapping_add(self.state.pixel_table);
            let entry = address(table.wrapping_add(4 * u64::from(*index)));
            let Ok(entry) = self.reader.value::<BindingTableState>(entry) else { continue };
            let pointer = entry.surface_state_pointer;
            let surface = address(self.state.surface_base.wrapping_add(pointer));
            if !self.drawn.contains(&surface) {
                self.drawn.push(surface);
            }
        }
    }

    /// Decodes push constants: up to four ranges of 32-byte registers.
    fn constants(&mut self, bytes: &[u8], record: &mut Record) {
        let Some(bytes) = bytes.get(4..4 + State3dConstantBody::SIZE_BYTES) else { return };
        let Some(body) = self.unpack::<State3dConstantBody>(bytes) else { return };
        let ranges = [
            ("Buffer 0", body.buffer_0, body.read_length_0),
            ("Buffer 1", body.buffer_1, body.read_length_1),
            ("Buffer 2", body.buffer_2, body.read_length_2),
            ("Buffer 3", body.buffer_3, body.read_length_3),
        ];
        for (title, start, registers) in ranges {
            if registers > 0 {
                let child = self.raw(title, address(start), 32 * u64::from(registers));
                record.children.push(child);
            }
        }
    }

    /// Memory as raw bytes.
    pub(crate) fn raw(&mut self, title: &'static str, at: u64, size: u64) -> Record {
        let mut record = Record::new(title, at);
        if !self.reader.take() {
            record.problems.push(self.too_much());
            return record;
        }
        match self.reader.bytes(at, size.min(MAX_CONSTANT_BYTES) as usize) {
            Ok(bytes) => record.content = Content::Bytes(bytes),
            Err(problem) => record.problems.push(problem),
        }
        record
    }
}

/// A structure of a list.
struct Element {
    info: &'static PacketInfo,
    title: String,
}

/// The sizes of a stage's tables: those of the command, which are hints and may be missing, or those that the
/// kernel uses.
fn counts(surfaces: u32, uses: &TableUses) -> StageState {
    StageState { surfaces: surfaces.max(uses.surfaces), samplers: uses.samplers }
}

/// A double word of a command; 0 past its end.
fn dword(bytes: &[u8], index: usize) -> u32 {
    let word = bytes.get(4 * index..4 * index + 4);
    word.map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

/// Double words after the declared part of a command.
fn tail(at: u64, bytes: &[u8]) -> Record {
    Record { content: Content::Bytes(bytes.to_vec()), ..Record::new("Further double words", at) }
}
