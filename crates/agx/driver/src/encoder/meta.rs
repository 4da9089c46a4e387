//! Programs of the driver's own: launches and rectangles of copies, blits, resolves and clears ([`tepui_vulkan_meta`]).

use tepui_agx_compiler::descriptor::{PBE_B, ROW_B, STATE_B, TEXTURE_B};
use tepui_agx_layout::Tiling;
use tepui_format::Format;
use tepui_layout::Dimension;
use tepui_vulkan::backend::{Dispatch, Encoder as _, Rendering};
use tepui_vulkan::command::{CommandState, MAX_PUSH};
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_meta::{
    Area, Arrangement, Binding, Launch, Level, Memory, MetaEncoder, Rectangle, Shape, Texels, View,
};

use super::Encoder;
use super::bindings::Bindings;
use super::compression::{self, is_compressed};
use super::image_part::IDENTITY;
use crate::descriptor::{self, Part, Row};
use crate::family::Agx;
use crate::meta::Program;

impl Encoder {
    /// Runs a program of the driver's own after all launches before and before all later ones, with words and rows of descriptors.
    pub(super) fn run(
        &mut self,
        p: impl Into<Program>,
        words: &[u32],
        rows: &[Row],
        threads: [u32; 3],
    ) -> Result<()> {
        self.order();
        self.run_unordered(p, words, rows, threads)?;
        self.order();
        Ok(())
    }

    /// Runs a program of the driver's own that does what a command of the application says: the application orders it.
    fn run_unordered(
        &mut self,
        p: impl Into<Program>,
        words: &[u32],
        rows: &[Row],
        threads: [u32; 3],
    ) -> Result<()> {
        let v = self.device.clone().meta(p)?.compute()?;
        self.driver[..words.len()].copy_from_slice(words);
        let mut bindings = Bindings::default();
        if !rows.is_empty() {
            bindings.addresses[0] = self.upload(rows.as_flattened(), 64)?.address;
        }
        let groups = [0, 1, 2].map(|k| threads[k].div_ceil(v.workgroup[k]));
        self.launch(&v, &bindings, &[0; MAX_PUSH], &Dispatch::Direct([0; 3], groups), true)
    }
}

impl MetaEncoder for Encoder {
    type Backend = Agx;

    fn launch(&mut self, l: &Launch<'_, Agx>) -> Result<()> {
        self.run_unordered(l.program, l.words, &rows(l.bindings)?, l.threads)
    }

    fn order(&mut self) -> Result<()> {
        Encoder::order(self);
        Ok(())
    }

    fn upload(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(Encoder::upload(self, bytes, 16)?.address)
    }

    fn reserve(&mut self, bytes: u64) -> Result<u64> {
        self.room(bytes)
    }

    fn reads<'a>(&self, level: &Level<'a, Agx>) -> Result<Texels<'a, Agx>> {
        if !is_compressed(level.image, level.plane, level.level) {
            return self.writes(level);
        }
        let packing = compression::packing(level.image, level.plane)?;
        let format = level.image.planes[level.plane].layout.desc().shape.format;
        Ok(Texels::Image(level.as_array(format), packing))
    }

    fn writes<'a>(&self, level: &Level<'a, Agx>) -> Result<Texels<'a, Agx>> {
        Ok(Texels::Memory(memory(level)?))
    }

    fn stores(&self, _view: &View<'_, Agx>) -> bool {
        true
    }

    fn before_writes(&mut self, area: &Area<'_, Agx>) -> Result<()> {
        self.open(area, true)
    }

    fn draw(&mut self, r: &Rectangle<'_, Agx>) -> Result<()> {
        let mut own = CommandState::<Agx>::of(r.state.clone());
        own.bound.fragment = Some(self.device.clone().meta(r.fragment)?);
        own.condition = r.condition;
        if !r.bindings.is_empty() {
            let rows = rows(r.bindings)?;
            own.graphics_sets.sets[0].addresses[0] = self.upload(rows.as_flattened(), 64)?.address;
            own.graphics_sets.changed |= 1;
        }
        let rect = vk::ClearRect { rect: r.rect, base_array_layer: r.layer, layer_count: r.layers };
        self.rectangle(own, r.words, r.depth, &rect, r.view_mask)
    }

    fn render(&mut self, rendering: &Rendering<Agx>, r: &Rectangle<'_, Agx>) -> Result<()> {
        self.begin_rendering(rendering)?;
        self.draw(r)?;
        self.end_rendering(rendering)?;
        Ok(())
    }
}

/// Texels of a level in memory.
pub(super) fn memory(level: &Level<'_, Agx>) -> Result<Memory> {
    let plane = &level.image.planes[level.plane].layout;
    let at = plane
        .levels()
        .get(level.level as usize)
        .ok_or_else(|| Error::unsupported("a level that does not exist"))?;
    let [columns, rows] = at.tile_el.to_array();
    let arrangement = match plane.desc().tiling {
        Tiling::Linear => Arrangement::Linear { row_pitch: at.stride_B as u32 },
        _ => Arrangement::Tiled { pitch: at.tiles.w, tile_log2: [columns.ilog2(), rows.ilog2()] },
    };
    Ok(Memory {
        address: level.addresses[level.plane] + at.offset_B,
        slice_pitch: plane.layer_stride_B,
        arrangement,
        element: plane.element_B,
    })
}

/// Descriptors of a program's bindings.
fn rows(bindings: &[Binding<'_, Agx>]) -> Result<Vec<Row>> {
    bindings.iter().map(row).collect()
}

pub(super) fn row(binding: &Binding<'_, Agx>) -> Result<Row> {
    let texture = |v: &View<'_, Agx>| -> Result<Row> {
        let mut row = [0; ROW_B as usize];
        let texture = descriptor::texture(v.of.image, v.of.addresses, &part(v, v.format))?;
        row[TEXTURE_B as usize..][..texture.len()].copy_from_slice(&texture);
        Ok(row)
    };
    Ok(match binding {
        Binding::Texture(v) => texture(v)?,
        Binding::Bits(v, packing) => {
            descriptor::bits(v.of.image, v.of.addresses, &part(v, v.format), packing)?
        }
        Binding::Sampled(v, linear) => {
            let mut row = texture(v)?;
            row[STATE_B as usize..][..8]
                .copy_from_slice(&descriptor::sampler(&tepui_vulkan_meta::view::sampler(*linear))?);
            row
        }
        Binding::StorageBits(v, _) => {
            return Err(Error::unsupported(format!("stores of the bits of {}", v.format)));
        }
        Binding::Storage(v) => {
            let mut row = [0; ROW_B as usize];
            let part = part(v, stored_format(v.format));
            let pbe = descriptor::pbe(v.of.image, v.of.addresses, &part, false)?;
            row[PBE_B as usize..][..pbe.len()].copy_from_slice(&pbe);
            row
        }
    })
}

fn part(v: &View<'_, Agx>, format: Format) -> Part {
    Part {
        plane: v.of.plane,
        format,
        dimension: match v.shape {
            Shape::Array => Dimension::D2,
            Shape::Volume => Dimension::D3,
        },
        array: v.shape == Shape::Array,
        levels: [v.of.level, 1],
        layers: v.layers,
        swizzle: IDENTITY,
        storage: true,
    }
}

/// The format through which stores write depth and stencil.
fn stored_format(f: Format) -> Format {
    match f {
        Format::D16_UNORM => Format::R16_UNORM,
        Format::D32_SFLOAT => Format::R32_SFLOAT,
        Format::S8_UINT => Format::R8_UINT,
        f => f,
    }
}
