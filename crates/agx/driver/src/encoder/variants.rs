//! Variants of shaders that the state of a draw asks for, and the values that it gives them.

use std::sync::Arc;
use tepui_sysval::SystemValue;

use tepui_agx_compiler::Source;
use tepui_agx_compiler::abi::Prolog;
use tepui_agx_compiler::abi::attribute::Attribute;
use tepui_agx_compiler::abi::colour::NO_TARGET;
use tepui_agx_compiler::abi::tile::{Layout, TARGETS, Tile, channels};
use tepui_agx_compiler::varyings::Varying;
use tepui_format::Format;
use tepui_passes::lower_blend::Mode;
use tepui_vulkan::command::CommandState;
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Result, blending, vk};

use super::bindings::{Halves, long, word};
use crate::device::Device;
use crate::family::Agx;
use crate::shader::{Additions, FragmentKey, Linking, Results, Shader, VertexKey, shades_samples};

/// The vertex of a primitive whose flat values count, as primitives are assembled.
pub fn provoking(s: &GraphicsState) -> u8 {
    use vk::PrimitiveTopology as T;
    match (s.topology, s.provoking_last) {
        (T::POINT_LIST, _) => 0,
        (T::LINE_LIST | T::LINE_STRIP, false) => 0,
        (T::LINE_LIST | T::LINE_STRIP, true) => 1,
        (T::TRIANGLE_FAN, false) => 1,
        (_, false) => 0,
        (_, true) => 2,
    }
}

/// The key of a vertex variant.
pub fn vertex_key(inputs: u32, s: &GraphicsState) -> VertexKey {
    let n = 32 - inputs.leading_zeros();
    let attributes = (0..n as usize)
        .map(|k| {
            if inputs >> k & 1 == 0 {
                return None;
            }
            let a = s.attributes[k]?;
            let b = s.binding(a.binding);
            Some(Attribute { format: a.format, stride: b.stride, per_instance: b.per_instance })
        })
        .collect();
    VertexKey {
        attributes,
        multiview: s.view_mask != 0,
        negative_one_to_one: s.negative_one_to_one,
        results: Results::Store,
        robust: s.robust_vertex_inputs,
    }
}

/// Values of a vertex shader that a draw gives.
pub(super) struct VertexSources<'a> {
    /// Attributes and vertex buffers.
    pub state: &'a CommandState<Agx>,
    /// Address at which attributes without a buffer are read.
    pub zeros: u64,
    /// First vertex, or the number that is added to indices.
    pub base_vertex: u32,
    /// First instance.
    pub base_instance: u32,
    /// Number of the draw.
    pub draw_index: u32,
    /// View.
    pub view: u32,
}

/// Whether a target's components stay in part as they are.
fn keeps_components(format: Format, write_mask: u8) -> bool {
    let exists = (1u16 << channels(format).0) - 1;
    let written = u16::from(write_mask) & exists;
    written != 0 && written != exists
}

/// The key of a fragment shader's variant for a tile.
pub fn fragment_key(
    shader: &Shader,
    tile: &Tile,
    s: &GraphicsState,
    cull_distances: u8,
) -> Result<FragmentKey> {
    let samples = tile.samples;
    let mut tile = Tile { blend: blending::of_state(s)?, ..tile.clone() };
    // Attachments say which of the shader's colour locations they take.
    let formats = tile.formats;
    let mut moved = [None; TARGETS];
    for (k, location) in s.locations.iter().enumerate().filter(|&(k, _)| formats[k].is_some()) {
        let location = location.filter(|_| s.absent_colours >> k & 1 == 0);
        match location.and_then(|n| moved.get_mut(usize::from(n))) {
            Some(to) => *to = Some(k as u8),
            None => tile.blend.locations[k].write_mask = 0,
        }
    }
    if (0..TARGETS).any(|k| moved[k] != formats[k].map(|_| k as u8)) {
        tile.moved = Some(moved);
        tile.blend.alpha_location = moved[0].unwrap_or(NO_TARGET);
    }
    if s.local_read && shader.reads_attachments {
        for (location, input) in s.inputs.iter().enumerate() {
            if let Some(n) = input
                && let Some(slot) = tile.attachments.get_mut(usize::from(*n))
                && formats[location].is_some()
            {
                *slot = Some(location as u8);
            }
        }
    }
    let reads_tile = tile.blend.logic.is_some()
        || tile.attachments.iter().any(Option::is_some)
        || tile.blend.locations.iter().zip(tile.formats).any(|(l, f)| {
            f.is_some_and(|f| l.mode != Mode::Replace || keeps_components(f, l.write_mask))
        });
    // Only for several samples, since this runs for all draws with new state.
    let spills = samples > 1 && Layout::new(&tile).is_ok_and(|l| l.spilled != 0);
    let all = (1u32 << samples) - 1;
    let killed =
        if samples > 1 || s.sample_mask & 1 == 0 { (!s.sample_mask & all) as u8 } else { 0 };
    let shades_samples = shades_samples(s, samples);
    Ok(FragmentKey {
        tile,
        // Accesses of the tile or of spilled colours must be per sample.
        per_sample: samples > 1 && (shades_samples || reads_tile || spills),
        whole_coverage: !shades_samples,
        prolog: Prolog { killed, cull_distances },
        additions: Additions::default(),
    })
}

impl VertexSources<'_> {
    /// Address of an attribute's first element, and the last element that is inside of its buffer.
    fn attribute(&self, index: u8) -> Option<(u64, u32)> {
        let state = self.state;
        let a = state.graphics.attributes.get(usize::from(index)).copied().flatten()?;
        let b = state.vertex_buffers.get(usize::from(a.binding))?;
        let bytes = u64::from(a.format.info().block.bytes);
        let room = b.size.checked_sub(u64::from(a.offset) + bytes)?;
        if b.address == 0 {
            return None;
        }
        let clamp = match state.graphics.binding(a.binding).stride {
            // All elements are the first.
            0 => u32::MAX,
            stride => (room / u64::from(stride)).min(u64::from(u32::MAX)) as u32,
        };
        Some((b.address + u64::from(a.offset), clamp))
    }

    /// A value.
    pub fn get(&self, s: Source) -> Option<Halves> {
        Some(match s {
            Source::AttributeBase { index } => {
                long(self.attribute(index).map_or(self.zeros, |a| a.0))
            }
            Source::AttributeClamp { index } => word(self.attribute(index).map_or(0, |a| a.1)),
            Source::System(SystemValue::BaseVertex) => word(self.base_vertex),
            Source::System(SystemValue::BaseInstance) => word(self.base_instance),
            Source::System(SystemValue::DrawIndex) => word(self.draw_index & 0xffff),
            Source::System(SystemValue::ViewIndex) => word(self.view),
            _ => return None,
        })
    }
}

/// Compiles what a whole pipeline is known to need.
///
/// # Errors
/// When a shader does not compile.
pub fn link(
    device: &Arc<Device>,
    vertex: &Shader,
    fragment: Option<&Shader>,
    s: &tepui_vulkan::state::GraphicsState,
) -> Result<()> {
    let linking = Linking::Whole;
    let v = vertex.vertex(&vertex_key(vertex.inputs, s), linking)?;
    let Some(fragment) = fragment else { return Ok(()) };
    let tile = Tile { formats: s.colour_formats, samples: s.samples as u8, ..Tile::default() };
    let culls = v.vertex().varyings.iter().find(|x| x.0 == Varying::Kept).map_or(0, |x| x.1 as u8);
    let f = fragment.fragment(&fragment_key(fragment, &tile, s, culls)?, linking)?;
    f.link(device, &v, provoking(s)).map(drop)
}
