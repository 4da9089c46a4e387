//! Decodes states in memory: surface states of binding tables, samplers, viewports, blending.

use tepui_intel_packets::output::{BlendState, BlendStateEntry};
use tepui_intel_packets::sampler::{SamplerBorderColorState, SamplerState, TextureCoordinateMode};
use tepui_intel_packets::surface::{BindingTableState, RenderSurfaceState};
use tepui_intel_packets::{Packet, PacketInfo};

use crate::{Content, Decoder, Record, address};

/// Number of entries that are tried if a binding table's length is unknown.
const GUESSED_ENTRIES: u32 = 32;

/// Limit on the render targets of a blend state.
const MAX_TARGETS: u32 = 8;

/// Limit on viewports and scissors.
const MAX_VIEWPORTS: u32 = 16;

impl Decoder<'_, '_> {
    /// Decodes the surface states that a binding table names, at an offset from the surface state base
    /// address. If the length is unknown (`count` 0), the table ends before the first entry that names none.
    pub(crate) fn binding_table(&mut self, offset: u64, count: u32) -> Vec<Record> {
        let table = address(self.state.surface_base.wrapping_add(offset));
        let mut children = Vec::new();
        let guessed = count == 0;
        for index in 0..if guessed { GUESSED_ENTRIES } else { count } {
            let at = address(table.wrapping_add(4 * u64::from(index)));
            let entry = match self.reader.value::<BindingTableState>(at) {
                Ok(entry) => entry,
                Err(_) if guessed => return children,
                Err(problem) => {
                    children.push(Record::failed(format!("Surface {index}"), at, problem));
                    return children;
                }
            };
            let pointer = entry.surface_state_pointer;
            let surface = address(self.state.surface_base.wrapping_add(pointer));
            if guessed && (pointer == 0 || !self.is_surface(surface)) {
                return children;
            }
            let title = format!("Surface {index}");
            children.push(self.reader.packet_as(title, RenderSurfaceState::INFO, surface));
            if self.reader.left() == 0 {
                return children;
            }
        }
        children
    }

    /// Whether there is a surface state at an address: a heuristic.
    fn is_surface(&self, at: u64) -> bool {
        let bytes = self.reader.bytes(at, RenderSurfaceState::SIZE_BYTES);
        bytes.is_ok_and(|bytes| {
            RenderSurfaceState::INFO.validate_as(&bytes, self.revision()).is_empty()
        })
    }

    /// Decodes samplers at an offset from the dynamic state base address; at least one.
    pub(crate) fn samplers(&mut self, offset: u64, count: u32, children: &mut Vec<Record>) {
        let start = self.dynamic(offset);
        for index in 0..count.max(1) {
            let each = SamplerState::SIZE_BYTES as u64;
            let at = address(start.wrapping_add(u64::from(index) * each));
            let title = format!("Sampler {index}");
            let mut child = self.reader.packet_as(title, SamplerState::INFO, at);
            if let Ok(sampler) = self.reader.value::<SamplerState>(at)
                && uses_border(&sampler)
            {
                let colour = self.dynamic(sampler.border_color_pointer);
                child.children.push(self.reader.packet(SamplerBorderColorState::INFO, colour));
            }
            children.push(child);
            if self.reader.left() == 0 {
                return;
            }
        }
    }

    /// Decodes consecutive states of one kind at an offset from the dynamic state base address.
    pub(crate) fn states(
        &mut self,
        info: &'static PacketInfo,
        offset: u64,
        count: u32,
        record: &mut Record,
    ) {
        let start = self.dynamic(offset);
        for index in 0..count {
            let at = address(start.wrapping_add(u64::from(index) * info.size_bytes as u64));
            let child = match count {
                1 => self.reader.packet(info, at),
                _ => self.reader.packet_as(format!("{} {index}", info.name), info, at),
            };
            record.children.push(child);
        }
    }

    /// Decodes states that exist once per viewport.
    pub(crate) fn viewports(
        &mut self,
        info: &'static PacketInfo,
        offset: u64,
        record: &mut Record,
    ) {
        let count = (self.state.last_viewport + 1).min(MAX_VIEWPORTS);
        self.states(info, offset, count, record);
    }

    /// Decodes a blend state and its entries, one per render target.
    pub(crate) fn blend(&mut self, offset: u64, record: &mut Record) {
        let start = self.dynamic(offset);
        let mut blend = self.reader.packet(BlendState::INFO, start);
        let entries = offset.wrapping_add(BlendState::SIZE_BYTES as u64);
        let count = (self.state.targets.len() as u32).clamp(1, MAX_TARGETS);
        if matches!(blend.content, Content::Packet(_)) {
            self.states(BlendStateEntry::INFO, entries, count, &mut blend);
        }
        record.children.push(blend);
    }
}

/// Whether a sampler reads its border colour.
fn uses_border(sampler: &SamplerState) -> bool {
    let modes = [
        sampler.tcx_address_control_mode,
        sampler.tcy_address_control_mode,
        sampler.tcz_address_control_mode,
    ];
    let border = |mode| {
        matches!(mode, TextureCoordinateMode::ClampBorder | TextureCoordinateMode::HalfBorder)
    };
    modes.into_iter().any(border)
}
