//! Clears and resolves by draws of the driver's own inside of a rendering.

use tepui_agx_compiler::abi::tile::TARGETS;
use tepui_agx_compiler::descriptor::ROW_B;
use tepui_ir::NumKind;
use tepui_vulkan::backend::{Attachment, Counts, Draw, Rendering};
use tepui_vulkan::command::CommandState;
use tepui_vulkan::state::{GraphicsState, Stencil};
use tepui_vulkan::{Result, vk};

use super::Encoder;
use super::image_part::{flat, kind_of, part_of};
use crate::descriptor::{self, Row};
use crate::family::Agx;
use crate::meta::Program;

/// Contents of a clear inside of a rendering.
pub(super) struct Clear {
    pub(super) colours: u8,
    pub(super) integers: u8,
    pub(super) words: [u32; 32],
    pub(super) depth: Option<f32>,
    pub(super) stencil: Option<u32>,
}

impl Encoder {
    pub(super) fn clear_draw(
        &mut self,
        state: &mut CommandState<Agx>,
        a: &Clear,
        rect: &vk::ClearRect,
        size: [u32; 2],
    ) -> Result<()> {
        let fragment = self.device.clone().meta(Program::ClearFragments(a.colours, a.integers))?;
        let graphics = GraphicsState {
            samples: state.graphics.samples,
            depth_test: a.depth.is_some(),
            depth_write: a.depth.is_some(),
            depth_compare: vk::CompareOp::ALWAYS,
            stencil_test: a.stencil.is_some(),
            stencil_reference: [a.stencil.unwrap_or(0); 2],
            stencil: [Stencil {
                fail: vk::StencilOp::REPLACE,
                pass: vk::StencilOp::REPLACE,
                depth_fail: vk::StencilOp::REPLACE,
                compare: vk::CompareOp::ALWAYS,
            }; 2],
            ..GraphicsState::default()
        };
        let mut own = CommandState::<Agx>::of(graphics);
        own.bound.fragment = Some(fragment);
        own.condition = state.condition;
        let view_mask = state.rendering.as_ref().map_or(0, |r| r.view_mask);
        let depth = a.depth.unwrap_or(0.0);
        let result = self.rectangle(own, &a.words, depth, rect, size, view_mask);
        state.invalidate();
        result
    }

    /// Draws a rectangle of the current rendering with a fragment program of the driver's own and its words.
    fn rectangle(
        &mut self,
        mut own: CommandState<Agx>,
        words: &[u32; 32],
        depth: f32,
        rect: &vk::ClearRect,
        size: [u32; 2],
        view_mask: u32,
    ) -> Result<()> {
        let e = rect.rect;
        own.bound.vertex = Some(self.device.clone().meta(Program::ClearVertices)?);
        own.graphics.topology = vk::PrimitiveTopology::TRIANGLE_STRIP;
        own.graphics.depth_clamp = true;
        own.graphics.viewports[0] = vk::Viewport {
            x: 0.0,
            y: 0.0,
            width: size[0] as f32,
            height: size[1] as f32,
            min_depth: 0.0,
            max_depth: 1.0,
        };
        own.graphics.scissors[0] = e;
        let draw = Draw::Direct(Counts {
            count: 4,
            instances: if view_mask == 0 { rect.layer_count.max(1) } else { 1 },
            ..Counts::default()
        });
        // Before the words are set: a condition is evaluated by a program with words of its own.
        let draw = self.conditional_draw(own.condition, draw)?;
        let to_clip = |v: i64, n: u32| (2.0 * v as f32 / n.max(1) as f32 - 1.0).to_bits();
        let (x, y) = (i64::from(e.offset.x), i64::from(e.offset.y));
        let corners = [
            to_clip(x, size[0]),
            to_clip(y, size[1]),
            to_clip(x + i64::from(e.extent.width), size[0]),
            to_clip(y + i64::from(e.extent.height), size[1]),
            depth.to_bits(),
            rect.base_array_layer,
        ];
        self.driver[..32].copy_from_slice(words);
        self.driver[32..38].copy_from_slice(&corners);
        // Internal draw: excluded from queries.
        let (query, statistics) = (self.query.take(), std::mem::take(&mut self.statistics));
        self.query_dirty |= query.is_some();
        let mut render = self.render.take();
        let mut result = Ok(());
        if let Some(r) = &mut render {
            if view_mask == 0 {
                result = self.draw_in(r, &mut own, &draw, 0);
            }
            for view in (0..32).filter(|v| view_mask >> v & 1 != 0) {
                self.driver[37] = view;
                own.invalidate();
                result = result.and_then(|()| self.draw_in(r, &mut own, &draw, 0));
            }
        }
        self.render = render;
        (self.query, self.statistics) = (query, statistics);
        result
    }

    /// Resolves the colours of the current rendering that are in the tile, by a last draw, so that
    /// multisampled images that are never read need not be written. Returns a mask of them.
    pub(super) fn resolve_in_tile(&mut self, rendering: &Rendering<Agx>) -> Result<u8> {
        let Some(r) = &self.render else { return Ok(0) };
        let (samples, spilled, size) = (r.tile.samples, r.layout.spilled, r.size);
        if samples < 2 {
            return Ok(0);
        }
        let mut rows: [Row; 2 * TARGETS] = [[0; ROW_B as usize]; 2 * TARGETS];
        let (mut averaged, mut first, mut integers) = (0u8, 0u8, 0u8);
        for (k, a) in rendering.colours.iter().enumerate() {
            let Some(a) = a.as_ref().filter(|_| spilled >> k & 1 == 0) else { continue };
            let Some((to, mode)) = &a.resolve else { continue };
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
            let p = flat(part_of(to, to.format), &to.image);
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
        self.rectangle(own, &[0; 32], 0.0, &rect, size, rendering.view_mask)?;
        Ok(averaged | first)
    }

    /// Clears what a rendering that covers only part of its attachments clears: tiles begin with what is in memory.
    pub(super) fn clear_area(&mut self, rendering: &Rendering<Agx>, size: [u32; 2]) -> Result<()> {
        let mut c = Clear { colours: 0, integers: 0, words: [0; 32], depth: None, stencil: None };
        let clears = |a: &Attachment<Agx>| a.load == vk::AttachmentLoadOp::CLEAR;
        for (k, a) in rendering.colours.iter().enumerate() {
            if let Some(a) = a.as_ref().filter(|a| clears(a)) {
                c.colours |= 1 << k;
                c.integers |= u8::from(kind_of(a.image.format) != NumKind::Float) << k;
                c.words[4 * k..4 * k + 4].copy_from_slice(&a.clear);
            }
        }
        c.depth = rendering
            .depth
            .as_ref()
            .filter(|a| clears(a))
            .map(|a| f32::from_bits(a.clear[0]).clamp(0.0, 1.0));
        c.stencil = rendering.stencil.as_ref().filter(|a| clears(a)).map(|a| a.clear[0]);
        if c.colours == 0 && c.depth.is_none() && c.stencil.is_none() {
            return Ok(());
        }
        let rect = vk::ClearRect {
            rect: rendering.area,
            base_array_layer: 0,
            layer_count: rendering.layers.max(1),
        };
        let mut state = CommandState::<Agx>::default();
        state.graphics.samples = rendering.samples.max(1);
        if rendering.view_mask != 0 {
            state.rendering = Some(rendering.clone());
        }
        self.clear_draw(&mut state, &c, &rect, size)
    }
}
