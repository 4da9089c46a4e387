//! Meta operations: how the driver's own programs run, and how they reach texels.
//!
//! Programs compute the addresses of texels from the layout, so that copies of every format and tiling take one path.

use tepui_intel_layout::{ImageLayout, Layout, Msaa, Tiling};
use tepui_vulkan::backend::{Counts, Dispatch, Draw, Rendering};
use tepui_vulkan::command::{BindPoint, MAX_PUSH};
use tepui_vulkan::state::{Groups, MAX_VERTEX};
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_meta::words::{RECTANGLE, RectangleWords};
use tepui_vulkan_meta::{
    Arrangement, Launch, Level, Memory, MetaEncoder, Program, Rectangle, Texels, TileBits, View,
};

use super::Encoder;
use super::bindings::PushedSets;
use super::draw::Parts;
use crate::family::Intel;
use crate::flush::Flush;
use crate::graphics::Causes;

/// Texels of a level in memory.
fn texels<'a>(level: &Level<'a, Intel>) -> Result<Texels<'a, Intel>> {
    let layout = &level.image.planes[level.plane].layout;
    Ok(Texels::Memory(memory(layout, level.level, level.addresses[level.plane])?))
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
        if !launch.bindings.is_empty() {
            return Err(Error::unsupported("images of the driver's own programs on Intel's GPUs"));
        }
        let v = self.device.meta(launch.program)?;
        let mut push = [0; MAX_PUSH];
        for (to, word) in push.as_chunks_mut::<4>().0.iter_mut().zip(launch.words) {
            *to = word.to_le_bytes();
        }
        let groups = [0, 1, 2].map(|k| launch.threads[k].div_ceil(v.workgroup[k]));
        let none = (&BindPoint::default(), PushedSets::default());
        self.dispatch_program(&v, none, &push, &Dispatch::Direct([0; 3], groups))
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
        texels(level)
    }

    fn writes<'a>(&self, level: &Level<'a, Intel>) -> Result<Texels<'a, Intel>> {
        texels(level)
    }

    fn stores(&self, _view: &View<'_, Intel>) -> bool {
        false
    }

    fn draw(&mut self, r: &Rectangle<'_, Intel>) -> Result<()> {
        if !r.bindings.is_empty() || r.condition.is_some() || r.view_mask != 0 {
            return Err(Error::unsupported("rectangles with images, views or conditions"));
        }
        let Some(targets) = &self.targets else { return Ok(()) };
        let size = [
            targets.area.offset.x.max(0) as u32 + targets.area.extent.width,
            targets.area.offset.y.max(0) as u32 + targets.area.extent.height,
        ];
        let vertex = self.device.meta(Program::RectangleVertices)?;
        let fragment = self.device.meta(r.fragment)?;
        let words = RectangleWords::new(r.rect, size, r.depth, r.layer);
        let mut push = [0; MAX_PUSH];
        let all = push.as_chunks_mut::<4>().0;
        for (to, word) in all.iter_mut().zip(r.words) {
            *to = word.to_le_bytes();
        }
        let own: &[u32] = bytemuck::cast_slice(bytemuck::bytes_of(&words));
        for (to, word) in all[RECTANGLE as usize..].iter_mut().zip(own) {
            *to = word.to_le_bytes();
        }
        let mut state = r.state.clone();
        state.topology = vk::PrimitiveTopology::TRIANGLE_STRIP;
        state.viewports[0] = vk::Viewport {
            x: 0.0,
            y: 0.0,
            width: size[0] as f32,
            height: size[1] as f32,
            min_depth: 0.0,
            max_depth: 1.0,
        };
        state.scissors[0] = r.rect;
        // The application's state comes back with its next draw.
        self.graphics.changed.0 = Groups::all();
        let parts = Parts {
            state: &state,
            vertex: &vertex,
            fragment: Some(&fragment),
            sets: &BindPoint::default(),
            pushed: PushedSets::default(),
            push: &push,
            rebinds: true,
            buffers: &[(0, 0); MAX_VERTEX],
            index: None,
        };
        let counts = Counts { count: 4, instances: r.layers, ..Counts::default() };
        self.draw_parts(&parts, &Draw::Direct(counts))?;
        self.graphics.changed.0 = Groups::all();
        self.graphics.causes |= Causes::all();
        Ok(())
    }

    fn render(
        &mut self,
        rendering: &Rendering<Intel>,
        rectangle: &Rectangle<'_, Intel>,
    ) -> Result<()> {
        self.begin(rendering)?;
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
            Arrangement::Tiled { .. } => unreachable!("tiles in Morton order"),
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
