//! Clears and resolves by draws of the driver's own inside of a rendering.

use tepui_agx_compiler::abi::tile::TARGETS;
use tepui_agx_compiler::descriptor::ROW_B;
use tepui_ir::NumKind;
use tepui_sysval::Words as _;
use tepui_vulkan::backend::{Counts, Draw, Rendering, ResolveTarget};
use tepui_vulkan::command::CommandState;
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Result, vk};
use tepui_vulkan_meta::clear::{self, Clear};
use tepui_vulkan_meta::view::kind_of;
use tepui_vulkan_meta::words::{self, DrawWords, RectangleWords};
use tepui_vulkan_meta::{self as meta, condition};

use super::Encoder;
use super::image_part::part_of;
use crate::descriptor::{self, Row};
use crate::family::Agx;
use crate::meta::Program;

impl Encoder {
    /// Draws a rectangle of the current rendering with a fragment program of the driver's own and its words.
    pub(super) fn rectangle(
        &mut self,
        mut own: CommandState<Agx>,
        words: &[u32],
        depth: f32,
        rect: &vk::ClearRect,
        view_mask: u32,
    ) -> Result<()> {
        let Some(size) = self.render.as_ref().map(|r| r.size) else { return Ok(()) };
        let e = rect.rect;
        own.bound.vertex = Some(self.device.clone().meta(meta::Program::RectangleVertices)?);
        own.graphics.topology = vk::PrimitiveTopology::TRIANGLE_STRIP;
        own.graphics.depth_clamp = true;
        own.graphics.viewports[0] = words::viewport(size);
        own.graphics.scissors[0] = e;
        let draw = Draw::Direct(Counts {
            count: 4,
            instances: if view_mask == 0 { rect.layer_count.max(1) } else { 1 },
            ..Counts::default()
        });
        // Before the words are set: a condition is evaluated by a program with words of its own.
        let draw = condition::draw(self, own.condition, draw)?;
        let corners = RectangleWords::new(e, size, depth, rect.base_array_layer);
        let words = DrawWords::new(words, corners);
        self.driver[..words.words().len()].copy_from_slice(words.words());
        // Internal draw: excluded from queries.
        let (query, statistics) =
            (self.query.take(), std::mem::take(&mut self.expansion.statistics));
        self.query_dirty |= query.is_some();
        let mut render = self.render.take();
        let mut result = Ok(());
        if let Some(r) = &mut render {
            if view_mask == 0 {
                result = self.draw_in(r, &mut own, &draw, 0);
            }
            for view in (0..32).filter(|v| view_mask >> v & 1 != 0) {
                self.driver[(DrawWords::FIRST_LAYER.offset() / 4) as usize] = view;
                own.invalidate();
                result = result.and_then(|()| self.draw_in(r, &mut own, &draw, 0));
            }
        }
        self.render = render;
        (self.query, self.expansion.statistics) = (query, statistics);
        result
    }

    /// Resolves the colours of the current rendering that are in the tile, by a last draw, so that
    /// multisampled images that are never read need not be written. Returns a mask of them.
    pub(super) fn resolve_in_tile(&mut self, rendering: &Rendering<Agx>) -> Result<u8> {
        let Some(r) = &self.render else { return Ok(0) };
        let (samples, spilled) = (r.tile.samples, r.layout.spilled);
        if samples < 2 {
            return Ok(0);
        }
        let mut rows: [Row; 2 * TARGETS] = [[0; ROW_B as usize]; 2 * TARGETS];
        let (mut averaged, mut first, mut integers) = (0u8, 0u8, 0u8);
        for (k, a) in rendering.colours.iter().enumerate() {
            let Some(a) = a.as_ref().filter(|_| spilled >> k & 1 == 0) else { continue };
            let Some(ResolveTarget { image: to, mode, .. }) = &a.resolve else { continue };
            let is_integer = kind_of(a.image.format) != NumKind::Float;
            match *mode {
                vk::ResolveModeFlags::AVERAGE if !is_integer => averaged |= 1 << k,
                vk::ResolveModeFlags::AVERAGE | vk::ResolveModeFlags::SAMPLE_ZERO => {
                    first |= 1 << k
                }
                _ => continue,
            }
            integers |= u8::from(is_integer) << k;
            self.open_attachment(to, rendering, true)?;
            let p = part_of(to, to.format);
            rows[TARGETS + k] = descriptor::storage(&to.image, to.addresses, &p)?;
        }
        if averaged | first == 0 {
            return Ok(0);
        }
        let address = self.upload(rows.as_flattened(), 64)?.address;
        if let Some(r) = &mut self.render {
            r.set_targets(address);
        }
        let program = Program::ResolveTile { averaged, first, integers, samples };
        let graphics = GraphicsState { samples: u32::from(samples), ..GraphicsState::default() };
        let mut own = CommandState::<Agx>::of(graphics);
        own.bound.fragment = Some(self.device.clone().meta(program)?);
        let rect = vk::ClearRect {
            rect: rendering.area,
            base_array_layer: 0,
            layer_count: rendering.layers.max(1),
        };
        self.rectangle(own, &[], 0.0, &rect, rendering.view_mask)?;
        Ok(averaged | first)
    }

    /// Clears what a rendering that covers only part of its attachments clears: tiles begin with what is in memory.
    pub(super) fn clear_area(&mut self, rendering: &Rendering<Agx>) -> Result<()> {
        let clear = Clear::of_loads(rendering);
        if clear.is_empty() {
            return Ok(());
        }
        let rect = vk::ClearRect {
            rect: rendering.area,
            base_array_layer: 0,
            layer_count: rendering.layers.max(1),
        };
        clear::rectangle(self, &clear, &rect, rendering.samples, rendering.view_mask, None)
    }
}
