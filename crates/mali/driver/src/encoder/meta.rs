//! Meta operations: how the driver's own programs run, and how they reach texels.
//!
//! Programs compute the addresses of texels from the layout, so that copies of every format and layout take one path.

use tepui_format::Format;
use tepui_mali_layout::{Layout, Modifier};
use tepui_mali_packets::texture::TextureDimension;
use tepui_sysval::{LaunchWords, Words as _};
use tepui_vulkan::backend::{Counts, Dispatch, Draw, Rendering};
use tepui_vulkan::command::{BindPoint, MAX_PUSH, MAX_SETS};
use tepui_vulkan::state::MAX_VERTEX;
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_meta::words::{self, DrawWords, RectangleWords};
use tepui_vulkan_meta::{
    Arrangement, Binding, Launch, Level, Memory, MetaEncoder, Numbers, Output, Packing, Program,
    Rectangle, Shape, Texels, View,
};

use super::Encoder;
use super::draw::Parts;
use super::inputs::Inputs;
use super::streams::subqueues::mask_of;
use crate::family::Mali;
use crate::graphics::blend::Blending;
use crate::kernel::Queue;
use crate::packed::DESCRIPTOR_ALIGN;
use crate::stream::Flush;
use crate::texture::{Part, Role};

/// A level of an image at an address.
fn memory(l: &Layout, level: u32, address: u64) -> Result<Memory> {
    let desc = l.desc();
    if desc.shape.samples > 1 {
        return Err(Error::unsupported("copies of images with several samples on Mali"));
    }
    let outside = || Error::unsupported("copies of levels that are not there");
    let at = l.levels().get(level as usize).ok_or_else(outside)?;
    let element = desc.shape.format.info().block.bytes;
    let arrangement = match desc.modifier {
        Modifier::Linear => Arrangement::Linear { row_pitch: at.row_stride_B as u32 },
        Modifier::UInterleaved => {
            let tile = at.tile_el;
            Arrangement::Interleaved {
                pitch: (at.row_stride_B / u64::from(tile.w * tile.h * element)) as u32,
                tile_log2: [tile.w.ilog2(), tile.h.ilog2()],
            }
        }
        Modifier::Afbc(_) => {
            return Err(Error::unsupported("addresses of texels of compressed images"));
        }
    };
    let slice_pitch = match desc.shape.depth_px > 1 {
        true => at.surface_stride_B,
        false => l.layer_stride_B,
    };
    Ok(Memory { address: address + at.offset_B, slice_pitch, arrangement, element })
}

/// Texels of a level in memory.
fn in_memory<'a>(level: &Level<'a, Mali>) -> Result<Texels<'a, Mali>> {
    let layout = &level.image.planes[level.plane].layout;
    Ok(Texels::Memory(memory(layout, level.level, level.addresses[level.plane])?))
}

/// Layout of a level's plane.
fn layout<'a>(level: &Level<'a, Mali>) -> &'a Layout {
    &level.image.planes[level.plane].layout
}

/// The view of a level of samples as unsigned numbers, and how they make texels.
fn as_words<'a>(level: &Level<'a, Mali>) -> Result<(View<'a, Mali>, Packing)> {
    let words = Packing::words(level.format.info().block.bytes);
    let (format, packing) = words
        .ok_or_else(|| Error::unsupported(format!("copies of samples of {}", level.format)))?;
    Ok((level.as_array(format), packing))
}

/// The view of a compressed level in the format that it is compressed as, and how its components make texels.
fn as_compressed<'a>(level: &Level<'a, Mali>) -> Result<(View<'a, Mali>, Packing)> {
    let format = crate::format::without_srgb(layout(level).desc().shape.format);
    let lost = || Error::unsupported(format!("copies of compressed images of {format}"));
    let packing = Packing::of(format).ok_or_else(lost)?;
    Ok((level.as_array(format), Packing { numbers: Numbers::Unorm, ..packing }))
}

/// How programs read and write the texels of a level that have no fixed addresses.
fn in_units<'a>(level: &Level<'a, Mali>) -> Result<(View<'a, Mali>, Packing)> {
    match layout(level).desc().modifier {
        Modifier::Afbc(_) => as_compressed(level),
        _ => as_words(level),
    }
}

/// Whether programs compute the addresses of a level's texels.
fn is_addressed(level: &Level<'_, Mali>) -> bool {
    let desc = layout(level).desc();
    desc.shape.samples <= 1 && !matches!(desc.modifier, Modifier::Afbc(_))
}

/// Set 0 of a program of the driver's own, and its address.
struct MetaSet {
    sets: BindPoint,
    pushed: [u64; MAX_SETS],
}

impl Encoder {
    /// Set 0 of a program of the driver's own, as [`tepui_mali_compiler::Layout::of`] has its bindings.
    fn meta_set(&mut self, bindings: &[Binding<'_, Mali>]) -> Result<MetaSet> {
        let mut set = Vec::new();
        for binding in bindings {
            let (view, role, sampler) = match binding {
                Binding::Texture(view) | Binding::Bits(view, _) => (view, Role::Sampled, None),
                Binding::Sampled(view, linear) => (view, Role::Sampled, Some(*linear)),
                Binding::Storage(view) => (view, Role::Storage, None),
                Binding::StorageBits(view, _) => {
                    let what = format!("stores of the bits of {} on Mali", view.format);
                    return Err(Error::unsupported(what));
                }
            };
            let part = Part {
                layout: layout(&view.of),
                address: view.of.addresses[view.of.plane],
                format: view.format,
                shape: match view.shape {
                    Shape::Array => TextureDimension::N2d,
                    Shape::Volume => TextureDimension::N3d,
                },
                levels: [view.of.level, 1],
                layers: match view.shape {
                    Shape::Array => view.layers,
                    Shape::Volume => [0, 1],
                },
                swizzle: tepui_mali_textures::IDENTITY,
                min_lod: 0.0,
            };
            set.extend_from_slice(&self.texture(&part, role)?);
            if let Some(linear) = sampler {
                set.extend_from_slice(&self.device.meta_sampler(linear)?);
            }
        }
        let mut out = MetaSet { sets: BindPoint::default(), pushed: [0; MAX_SETS] };
        if !set.is_empty() {
            out.pushed[0] = Encoder::upload(self, &set, DESCRIPTOR_ALIGN)?.address;
            out.sets.sets[0].pushed[0] = set;
        }
        Ok(out)
    }
}

impl MetaEncoder for Encoder {
    type Backend = Mali;

    fn launch(&mut self, launch: &Launch<'_, Mali>) -> Result<()> {
        let set = self.meta_set(launch.bindings)?;
        let v = self.device.meta(launch.program)?;
        let mut push = [0; MAX_PUSH];
        for (to, word) in push.as_chunks_mut::<4>().0.iter_mut().zip(launch.words) {
            *to = word.to_le_bytes();
        }
        let groups = [0, 1, 2].map(|k| launch.threads[k].div_ceil(v.workgroup[k]));
        let inputs = Inputs { sets: &set.sets, pushed: set.pushed, push: &push };
        self.dispatch_program(&v, &inputs, &Dispatch::Direct([0; 3], groups), None)
    }

    fn order(&mut self) -> Result<()> {
        self.order_queues([mask_of(Queue::Compute); 3], Flush::default());
        Ok(())
    }

    fn upload(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(Encoder::upload(self, bytes, DESCRIPTOR_ALIGN)?.address)
    }

    fn reserve(&mut self, bytes: u64) -> Result<u64> {
        Ok(Encoder::reserve(self, bytes, DESCRIPTOR_ALIGN)?.address)
    }

    fn reads<'a>(&self, level: &Level<'a, Mali>) -> Result<Texels<'a, Mali>> {
        if is_addressed(level) {
            return in_memory(level);
        }
        let (view, packing) = in_units(level)?;
        Ok(Texels::Image(view, packing))
    }

    fn writes<'a>(&self, level: &Level<'a, Mali>) -> Result<Texels<'a, Mali>> {
        if is_addressed(level) {
            return in_memory(level);
        }
        let own = level.as_array(level.format);
        if !level.format.info().is_depth_or_stencil() {
            let (view, packing) = in_units(level)?;
            return Ok(Texels::Drawn(view, Output::Colour, packing));
        }
        if level.format == Format::S8_UINT {
            return Ok(Texels::Drawn(own, Output::Stencil, as_words(level)?.1));
        }
        let lost = || Error::unsupported(format!("copies of samples of {}", level.format));
        let packing = Packing::of_depth(level.format).ok_or_else(lost)?;
        Ok(Texels::Drawn(own, Output::Depth, packing))
    }

    fn stores(&self, _view: &View<'_, Mali>) -> bool {
        false
    }

    fn draw(&mut self, r: &Rectangle<'_, Mali>) -> Result<()> {
        let set = self.meta_set(r.bindings)?;
        let Some(targets) = &self.targets else { return Ok(()) };
        let size = targets.size;
        let vertex = self.device.meta(Program::RectangleVertices)?;
        let fragment = self.device.meta(r.fragment)?;
        let mut push = [0; MAX_PUSH];
        let mut state = r.state.clone();
        state.topology = vk::PrimitiveTopology::TRIANGLE_STRIP;
        state.provoking_last = targets.contexts.is_some_and(|c| c.provoking_last);
        state.samples = targets.samples;
        state.viewports[0] = words::viewport(size);
        state.scissors[0] = r.rect;
        let blending = Blending::new(&state, &targets.formats())?;
        for (layer, layers) in words::layers((r.layer, r.layers), r.view_mask) {
            let corners = RectangleWords::new(r.rect, size, r.depth, layer);
            let words = DrawWords::new(r.words, corners);
            push[..words.bytes().len()].copy_from_slice(words.bytes());
            let inputs = Inputs { sets: &set.sets, pushed: set.pushed, push: &push };
            let parts = Parts {
                state: &state,
                vertex: &vertex,
                fragment: Some(&fragment),
                blending: &blending,
                inputs: &inputs,
                buffers: &[(0, 0); MAX_VERTEX],
                index: None,
                view: 0,
                viewport: 0,
                words: LaunchWords::default(),
                fragment_words: LaunchWords::default(),
                condition: r.condition,
                is_counted: false,
            };
            let counts = Counts { count: 4, instances: layers, ..Counts::default() };
            self.draw_parts(&parts, &Draw::Direct(counts))?;
        }
        Ok(())
    }

    fn render(
        &mut self,
        rendering: &Rendering<Mali>,
        rectangle: &Rectangle<'_, Mali>,
    ) -> Result<()> {
        self.begin(rendering)?;
        self.draw(rectangle)?;
        self.end(rendering)
    }
}

#[cfg(test)]
mod tests {
    use tepui_format::Format;
    use tepui_layout::{Dimension, Shape, Texel};
    use tepui_mali_chips::Arch;
    use tepui_mali_layout::ImageDesc;

    use super::*;

    /// The address of an element, as programs compute it.
    fn address(m: &Memory, [x, y, z]: [u32; 3]) -> u64 {
        let slice = m.address + u64::from(z) * m.slice_pitch;
        match m.arrangement {
            Arrangement::Linear { row_pitch } => {
                slice + u64::from(y) * u64::from(row_pitch) + u64::from(x * m.element)
            }
            Arrangement::Interleaved { pitch, tile_log2: [w, h] } => {
                let (ix, iy) = (x & ((1 << w) - 1), y & ((1 << h) - 1));
                let column = ix ^ iy;
                let tile = u64::from((y >> h) * pitch + (x >> w)) << (w + h);
                let morton = (0..w.max(h)).fold(0, |all, bit| {
                    all | (column >> bit & 1) << (2 * bit) | (iy >> bit & 1) << (2 * bit + 1)
                });
                slice + (tile + u64::from(morton)) * u64::from(m.element)
            }
            _ => unreachable!("arrangements of other families"),
        }
    }

    #[test]
    fn texels_are_where_the_layout_has_them() {
        use {Dimension as D, Format as F, Modifier as M};
        let base = 0x12_3450_0000;
        let mut texels = 0;
        for (format, dimension, modifier) in [
            (F::R8G8B8A8_UNORM, D::D2, M::Linear),
            (F::R8G8B8A8_UNORM, D::D2, M::UInterleaved),
            (F::R8_UINT, D::D2, M::UInterleaved),
            (F::R32G32B32A32_SFLOAT, D::D2, M::UInterleaved),
            (F::R32G32B32_SFLOAT, D::D2, M::UInterleaved),
            (F::R16_SFLOAT, D::D3, M::UInterleaved),
            (F::R16_SFLOAT, D::D3, M::Linear),
            (F::BC1_RGB_UNORM_BLOCK, D::D2, M::UInterleaved),
            (F::ASTC_6x5_UNORM_BLOCK, D::D2, M::UInterleaved),
            (F::D16_UNORM, D::D2, M::UInterleaved),
            (F::R8G8_UNORM, D::D1, M::Linear),
        ] {
            let height = if dimension == D::D1 { 1 } else { 70 };
            let (depth, layers) = if dimension == D::D3 { (6, 1) } else { (1, 3) };
            let desc = ImageDesc {
                arch: Arch(10),
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
                modifier,
                checksums: false,
                explicit: None,
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
                    assert_eq!(here - base, right, "{format} {modifier} {at:?}");
                    texels += 1;
                }
            }
        }
        assert!(texels > 100_000, "{texels}");
    }
}
