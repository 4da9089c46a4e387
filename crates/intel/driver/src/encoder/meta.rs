//! Meta operations: how the driver's own programs run, and how they reach texels.
//!
//! Programs compute the addresses of texels from the layout, so that copies of every format and tiling take one path.

use std::sync::Arc;

use tepui_intel_compiler::set_memory::sampled;
use tepui_intel_layout::{ImageKind, ImageLayout, Layout, Msaa, Tiling};
use tepui_sysval::Words as _;
use tepui_vulkan::backend::{Attachment, Condition, Counts, Dispatch, Draw, Rendering};
use tepui_vulkan::command::{BindPoint, IndexBuffer, MAX_PUSH, VertexBuffer};
use tepui_vulkan::state::{GraphicsState, Groups, MAX_VERTEX};
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_meta::words::{self, DrawWords, RectangleWords};
use tepui_vulkan_meta::{
    Arrangement, Binding, Launch, Level, Memory, MetaEncoder, Output, Packing, Program, Rectangle,
    Shape, Texels, TileBits, View,
};

use super::Encoder;
use super::draw::Parts;
use super::state::PushedSets;
use crate::bind::{META_RECORD_B, META_STATES_B};
use crate::device::Device;
use crate::family::Intel;
use crate::flush::Flush;
use crate::format::{self, IDENTITY};
use crate::graphics::Causes;
use crate::graphics::vertex::RECTANGLES;
use crate::programs::Programs;
use crate::states::{RECORDS, STATE_B, STATES, State, pack};
use crate::surface::{Part, Role, channels, of_part, sees_blocks};
use crate::variant::Variant;

/// A rectangle that a fragment program draws in the current rendering.
pub struct DrawnRectangle<'a> {
    /// The program's words.
    pub words: &'a [u32],
    /// Its bindings of set 0.
    pub bindings: &'a [Binding<'a, Intel>],
    /// Samples, depth and stencil tests.
    pub state: &'a GraphicsState,
    /// Pixels.
    pub rect: vk::Rect2D,
    /// Depth of all pixels.
    pub depth: f32,
    /// First layer and layers, if there are no views.
    pub layers: (u32, u32),
    /// Views that are drawn, a bit each.
    pub view_mask: u32,
    /// Condition of the draw.
    pub condition: Option<Condition>,
}

/// Layout of a level's plane.
fn layout<'a>(level: &Level<'a, Intel>) -> &'a Layout {
    &level.image.planes[level.plane].layout
}

/// Whether memory holds the texels of a level in an order that programs know: nothing is compressed, and pixels have one sample.
fn is_in_memory(level: &Level<'_, Intel>) -> bool {
    let l = layout(level);
    l.msaa == Msaa::None
        && l.desc().tiling != Tiling::Ys
        && level.image.control_of(level.plane).is_none()
}

/// Texels of a level in memory.
fn in_memory<'a>(level: &Level<'a, Intel>) -> Result<Texels<'a, Intel>> {
    Ok(Texels::Memory(memory(layout(level), level.level, level.addresses[level.plane])?))
}

/// The view of a level as unsigned numbers, and how they make texels. Depth under a hierarchy is seen in its own format.
fn as_words<'a>(level: &Level<'a, Intel>) -> Result<(View<'a, Intel>, Packing)> {
    let is_depth = layout(level).kind == ImageKind::Depth;
    if is_depth && level.image.control_of(level.plane).is_some() {
        return Ok((level.as_array(level.format), of_depth(level)?));
    }
    let words = match level.image.line_control() {
        Some(_) => format::compressed_words(level.image.planes[0].layout.desc().shape.format)
            .and_then(|words| Some((words, Packing::of(words)?))),
        None => Packing::words(level.format.info().block.bytes),
    };
    let (format, packing) = words
        .ok_or_else(|| Error::unsupported(format!("copies of samples of {}", level.format)))?;
    Ok((level.as_array(format), packing))
}

/// The packing of a level's depths.
fn of_depth(level: &Level<'_, Intel>) -> Result<Packing> {
    let lost = || Error::unsupported(format!("copies of depths of {}", level.format));
    Packing::of_depth(level.format).ok_or_else(lost)
}

/// The surface state and the sampler of a binding.
fn binding(device: &Device, binding: &Binding<'_, Intel>) -> Result<(State, u32)> {
    let (view, role, sampler) = match binding {
        Binding::Texture(view) | Binding::Bits(view, _) => (view, Role::Sampled, 0),
        &Binding::Sampled(ref view, linear) => {
            (view, Role::Sampled, device.meta_sampler(linear)?.handle())
        }
        Binding::Storage(view) => (view, Role::Storage, 0),
        Binding::StorageBits(view, _) => {
            return Err(Error::unsupported(format!("stores of the bits of {}", view.format)));
        }
    };
    let unknown = || Error::unsupported(format!("texels of {}", view.format));
    let hw = format::hw(view.format).ok_or_else(unknown)?;
    let part = Part {
        layout: layout(&view.of),
        control: view.of.image.control_of(view.of.plane),
        address: view.of.addresses[view.of.plane],
        format: hw.number,
        sees_blocks: sees_blocks(layout(&view.of), view.format),
        levels: [view.of.level, 1],
        layers: match view.shape {
            Shape::Array => view.layers,
            Shape::Volume => [0, view.of.slices()],
        },
        cube: false,
        slices_as_layers: false,
        swizzle: match role {
            Role::Sampled => channels(view.format, hw.swizzle),
            _ => IDENTITY,
        },
        min_lod: 0.0,
    };
    let generation = device.generation();
    Ok((pack(generation, &of_part(generation, &part, role)), sampler))
}

impl Encoder {
    /// Launches a program of the driver's own with its words and set 0.
    pub(super) fn launch_program(
        &mut self,
        v: &Arc<Variant>,
        words: &[u32],
        set: &BindPoint,
        threads: [u32; 3],
    ) -> Result<()> {
        let mut push = [0; MAX_PUSH];
        for (to, word) in push.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        let groups = [0, 1, 2].map(|k| threads[k].div_ceil(v.workgroup[k]));
        let sets = (set, &PushedSets::default());
        self.dispatch_program(v, sets, &push, &Dispatch::Direct([0; 3], groups), None)
    }

    /// Set 0 of a program of the driver's own ([`crate::bind::Sets::Meta`]).
    fn meta_set(&mut self, bindings: &[Binding<'_, Intel>]) -> Result<BindPoint> {
        let mut point = BindPoint::default();
        if bindings.is_empty() {
            return Ok(point);
        }
        let mut records = vec![0; META_RECORD_B as usize * bindings.len()];
        let mut states = vec![0; META_STATES_B as usize * bindings.len()];
        let each = records
            .chunks_exact_mut(META_RECORD_B as usize)
            .zip(states.chunks_exact_mut(META_STATES_B as usize));
        for ((record, states), b) in each.zip(bindings) {
            let (state, sampler) = binding(&self.device, b)?;
            record[sampled::SAMPLER as usize..][..4].copy_from_slice(&sampler.to_le_bytes());
            states[..STATE_B].copy_from_slice(&state);
        }
        let set = &mut point.sets[0];
        set.pushed[RECORDS] = records;
        set.addresses[STATES] = self.upload_surfaces(&states)?;
        Ok(point)
    }

    /// Draws a rectangle with a fragment program in the current rendering.
    pub(super) fn draw_rectangle(
        &mut self,
        r: &DrawnRectangle<'_>,
        fragment: Arc<Variant>,
    ) -> Result<()> {
        let set = self.meta_set(r.bindings)?;
        let Some(targets) = &self.targets else { return Ok(()) };
        let size = [
            targets.area.offset.x.max(0) as u32 + targets.area.extent.width,
            targets.area.offset.y.max(0) as u32 + targets.area.extent.height,
        ];
        let mut programs = Programs::default();
        programs.stages[0] = Some(self.device.meta(Program::RectangleVertices)?);
        // Operations on colours are rectangles of the hardware, others strips.
        let is_operation = fragment.operation.is_some();
        programs.stages[4] = Some(fragment);
        let place = match self.graphics.packets.find(None, Some(&programs)) {
            Some(place) => place,
            None => self.link(None, programs)?,
        };
        let mut push = [0; MAX_PUSH];
        let mut state = r.state.clone();
        let mut index = None;
        let mut counts = Counts { count: 4, ..Counts::default() };
        state.topology = vk::PrimitiveTopology::TRIANGLE_STRIP;
        if is_operation {
            state.topology = RECTANGLES;
            // Lower right, lower left, upper left.
            let corners = self.upload_state(&[3, 2, 0], 64)?;
            index = Some(IndexBuffer {
                address: corners.address,
                size: 3,
                index_bytes: 1,
                is_sparse: false,
            });
            counts = Counts { count: 3, indexed: true, ..counts };
        }
        state.viewports[0] = words::viewport(size);
        state.scissors[0] = r.rect;
        for (layer, layers) in words::layers(r.layers, r.view_mask) {
            let mut corners = RectangleWords::new(r.rect, size, r.depth, layer);
            if is_operation {
                // In pixels.
                corners.corners = [0.0, 0.0, size[0] as f32, size[1] as f32];
            }
            let words = DrawWords::new(r.words, corners);
            push[..words.bytes().len()].copy_from_slice(words.bytes());
            // The application's state comes back with its next draw.
            self.graphics.changed.0 = Groups::all();
            let parts = Parts {
                state: &state,
                sets: &set,
                pushed: &PushedSets::default(),
                push: &push,
                rebinds: true,
                pushes: true,
                buffers: &[VertexBuffer::default(); MAX_VERTEX],
                index,
                views: 0,
                condition: r.condition,
                is_counted: false,
                feedback: None,
            };
            let counts = Counts { instances: layers, ..counts };
            self.draw_parts(place, &parts, &Draw::Direct(counts))?;
        }
        self.graphics.changed.0 = Groups::all();
        self.graphics.causes |= Causes::all();
        Ok(())
    }
}

/// A level of an image at an address.
fn memory(l: &Layout, level: u32, address: u64) -> Result<Memory> {
    if l.msaa != Msaa::None {
        return Err(Error::unsupported("copies of images with several samples on Intel's GPUs"));
    }
    let outside = || Error::unsupported("copies of levels that are not there");
    let [left, top, first] = l.levels().get(level as usize).ok_or_else(outside)?.origin_el;
    let (element, tiling) = (l.element_B(), l.desc().tiling);
    let row_pitch = l.row_pitch_B as u32;
    let Some(bits) = tiling.bits(element) else {
        let slice_pitch = u64::from(l.qpitch_el) * l.row_pitch_B;
        let offset = u64::from(left) * u64::from(element)
            + u64::from(top) * l.row_pitch_B
            + u64::from(first) * slice_pitch;
        let arrangement = Arrangement::Linear { row_pitch };
        return Ok(Memory { address: address + offset, slice_pitch, arrangement, element });
    };
    let rows = match tiling {
        // Pitches count rows of these twice.
        Tiling::W => 32,
        _ => 1 << bits.y.count_ones(),
    };
    let arrangement = Arrangement::Bits {
        pitch: row_pitch * rows,
        bits: TileBits { x: bits.x, y: bits.y },
        slice_rows: l.qpitch_el,
        origin: [left, top, first],
    };
    Ok(Memory { address, slice_pitch: 0, arrangement, element })
}

impl MetaEncoder for Encoder {
    type Backend = Intel;

    fn launch(&mut self, launch: &Launch<'_, Intel>) -> Result<()> {
        let set = self.meta_set(launch.bindings)?;
        let v = self.device.meta(launch.program)?;
        self.launch_program(&v, launch.words, &set, launch.threads)
    }

    fn order(&mut self) -> Result<()> {
        self.hardware.pending |= Flush::data(self.device.generation()) | Flush::STALL;
        Ok(())
    }

    fn upload(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(self.upload_state(bytes, 64)?.address)
    }

    fn reserve(&mut self, bytes: u64) -> Result<u64> {
        Ok(self.reserve_state(bytes, 64)?.address)
    }

    fn reads<'a>(&self, level: &Level<'a, Intel>) -> Result<Texels<'a, Intel>> {
        if is_in_memory(level) {
            return in_memory(level);
        }
        let (view, packing) = as_words(level)?;
        Ok(Texels::Image(view, packing))
    }

    fn writes<'a>(&self, level: &Level<'a, Intel>) -> Result<Texels<'a, Intel>> {
        let l = layout(level);
        if is_in_memory(level) {
            return in_memory(level);
        }
        let own = level.as_array(level.format);
        match l.kind {
            ImageKind::Colour => {
                let (view, packing) = as_words(level)?;
                Ok(Texels::Drawn(view, Output::Colour, packing))
            }
            ImageKind::Depth => Ok(Texels::Drawn(own, Output::Depth, of_depth(level)?)),
            ImageKind::Stencil => Ok(Texels::Drawn(own, Output::Stencil, as_words(level)?.1)),
        }
    }

    fn stores(&self, _view: &View<'_, Intel>) -> bool {
        false
    }

    fn draw(&mut self, r: &Rectangle<'_, Intel>) -> Result<()> {
        let fragment = self.device.meta(r.fragment)?;
        let rectangle = DrawnRectangle {
            words: r.words,
            bindings: r.bindings,
            state: &r.state,
            rect: r.rect,
            depth: r.depth,
            layers: (r.layer, r.layers),
            view_mask: r.view_mask,
            condition: r.condition,
        };
        self.draw_rectangle(&rectangle, fragment)
    }

    fn render(
        &mut self,
        rendering: &Rendering<Intel>,
        rectangle: &Rectangle<'_, Intel>,
    ) -> Result<()> {
        match (self.depth_resolve, &rendering.depth) {
            (Some(layout), Some(depth)) => {
                let depth = Some(Attachment { layout, ..depth.clone() });
                self.begin(&Rendering { depth, ..rendering.clone() })?;
            }
            _ => self.begin(rendering)?,
        }
        self.draw(rectangle)?;
        self.targets = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tepui_format::Format;
    use tepui_intel_layout::{Dimension, ImageDesc, Shape, Texel};

    use super::*;

    /// The address of an element, as programs compute it: each bit of the offset in a tile is one of the column or the row.
    fn address(m: &Memory, [x, y, z]: [u32; 3]) -> u64 {
        match m.arrangement {
            Arrangement::Linear { row_pitch } => {
                let row = u64::from(y) * u64::from(row_pitch);
                m.address + u64::from(z) * m.slice_pitch + row + u64::from(x * m.element)
            }
            Arrangement::Bits { pitch, bits, slice_rows, origin } => {
                let mut column = (x + origin[0]) * m.element;
                let mut row = y + origin[1] + (z + origin[2]) * slice_rows;
                let mut offset = 0;
                let size = (bits.x | bits.y).count_ones();
                for bit in 0..size {
                    let v = if bits.x >> bit & 1 != 0 { &mut column } else { &mut row };
                    offset |= u64::from(*v & 1) << bit;
                    *v >>= 1;
                }
                let tiles = u64::from(row) * u64::from(pitch) + (u64::from(column) << size);
                m.address + tiles + offset
            }
            Arrangement::Tiled { .. } | Arrangement::Interleaved { .. } => {
                unreachable!("tiles in Morton order")
            }
        }
    }

    #[test]
    fn texels_are_where_the_layout_has_them() {
        use {Dimension as D, Format as F, Tiling as T};
        let base = 0x12_3450_0000;
        let mut texels = 0;
        for (format, dimension, tiling) in [
            (F::R8G8B8A8_UNORM, D::D2, T::Linear),
            (F::R8G8B8A8_UNORM, D::D2, T::X),
            (F::R8_UINT, D::D2, T::Y),
            (F::R32G32B32A32_SFLOAT, D::D2, T::Y),
            (F::R16_SFLOAT, D::D3, T::Y),
            (F::BC1_RGB_UNORM_BLOCK, D::D2, T::Y),
            (F::BC7_UNORM_BLOCK, D::D3, T::Y),
            (F::D16_UNORM, D::D2, T::Y),
            (F::S8_UINT, D::D2, T::W),
            (F::R8G8_UNORM, D::D1, T::Linear),
        ] {
            let height = if dimension == D::D1 { 1 } else { 70 };
            let (depth, layers) = if dimension == D::D3 { (6, 1) } else { (1, 3) };
            let desc = ImageDesc {
                shape: Shape {
                    format,
                    dimension,
                    width_px: 150,
                    height_px: height,
                    depth_px: depth,
                    layers,
                    samples: 1,
                    levels: 4,
                },
                tiling,
                may_have_aux: false,
                linear_stride_B: None,
            };
            let layout = Layout::new(&desc).unwrap();
            let block = format.info().block;
            for (level, l) in layout.levels().iter().enumerate() {
                let level = level as u32;
                let m = memory(&layout, level, base).unwrap();
                let slices = if dimension == D::D3 { l.depth_px } else { layers };
                for (x, y, z) in (0..slices).flat_map(|z| {
                    let rows = (0..l.extent_px.h).step_by(block.height_px as usize);
                    let columns = || (0..l.extent_px.w).step_by(block.width_px as usize);
                    rows.flat_map(move |y| columns().map(move |x| (x, y, z)))
                }) {
                    let (layer, slice) = if dimension == D::D3 { (0, z) } else { (z, 0) };
                    let at = Texel { level, layer, x_px: x, y_px: y, z_px: slice, sample: 0 };
                    let right = layout.texel_offset_B(at).unwrap();
                    let here = address(&m, [x / block.width_px, y / block.height_px, z]);
                    assert_eq!(here - base, right, "{format} {tiling:?} {at:?}");
                    texels += 1;
                }
            }
        }
        assert!(texels > 100_000, "{texels}");
    }
}
