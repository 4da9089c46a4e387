//! Renderings: tiler contexts for the draws, and a fragment job for each layer at the end.
//!
//! source: Mesa, panvk_vX_cmd_draw.c (`get_tiler_desc`, `flush_tiling`, `issue_fragment_jobs`)

use tepui_vulkan::backend::Rendering;
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_meta::clear;

use super::Encoder;
use super::streams::incremental::Pass;
use super::streams::tiler::Parts;
use super::targets::{Contexts, Targets, Tiling, attachments};
use crate::family::Mali;
use crate::graphics::framebuffer::{FrameShaders, TilerLayer};
use crate::packed::DESCRIPTOR_ALIGN;

impl Encoder {
    /// Begins a rendering.
    ///
    /// # Errors
    /// When the driver has no such rendering.
    pub(super) fn begin(&mut self, rendering: &Rendering<Mali>) -> Result<()> {
        let targets = Targets::new(rendering);
        let clears = clear::Clear::of_loads(rendering);
        let draws_clears = targets.is_partial && !clears.is_empty();
        let (samples, mask) = (targets.samples, rendering.view_mask);
        self.targets = Some(targets);
        if !draws_clears {
            return Ok(());
        }
        let layer_count = rendering.layers.max(1);
        let rect = vk::ClearRect { rect: rendering.area, base_array_layer: 0, layer_count };
        clear::rectangle(self, &clears, &rect, samples, mask, None)
    }

    /// The tiler contexts of the rendering, which its first draw makes.
    ///
    /// All draws of a rendering have one provoking vertex: the runtime splits it where they differ ([`needs_split`]).
    ///
    /// [`needs_split`]: tepui_vulkan::draws::ExpandingEncoder::needs_split
    ///
    /// # Errors
    /// When there is no memory, or no rendering.
    pub(super) fn tiler(&mut self, provoking_last: bool) -> Result<Contexts> {
        let Some(targets) = &self.targets else {
            return Err(Error::unsupported("draws outside of renderings on Mali"));
        };
        if let Some(contexts) = targets.contexts {
            if contexts.provoking_last != provoking_last {
                let what = "draws with different provoking vertices in a part of a rendering";
                return Err(Error::unsupported(what));
            }
            return Ok(contexts);
        }
        let tiles = targets.framebuffer(self.device.kernel.chip, 0).tiles()?;
        let tiling = Tiling {
            hierarchy_mask: hierarchy(targets.size, tiles.pixels),
            size: targets.size,
            samples: targets.samples,
            layers: targets.layers,
            provoking_last,
        };
        let contexts = match self.jobs {
            Some(_) => self.contexts_of_jobs(&tiling)?,
            None => self.contexts_in_stream(&tiling)?,
        };
        if let Some(targets) = &mut self.targets {
            targets.contexts = Some(contexts);
        }
        Ok(contexts)
    }

    /// Ends the rendering: renders what was drawn.
    ///
    /// # Errors
    /// When an attachment has a format that is not rendered, or there is no memory.
    pub(super) fn end(&mut self, rendering: &Rendering<Mali>) -> Result<()> {
        let Some(mut targets) = self.targets.take() else { return Ok(()) };
        self.expansion.free_memory();
        // What is stored may be known at the end only.
        targets.rendering = rendering.clone();
        let clears = attachments(rendering).any(|a| targets.clears(a));
        if targets.contexts.is_none() && !clears {
            return self.queries_end();
        }
        let loads = self.load_targets(&targets)?;
        let whole = self.framebuffers(&targets, loads)?;
        let area = targets.render_box();
        if self.jobs.is_some() {
            self.fragment_jobs(&area, &whole)?;
            return self.queries_end();
        }
        let mut tiled = None;
        if let Some(contexts) = targets.contexts {
            targets.pass = Pass::First;
            let first = self.framebuffers(&targets, loads)?;
            targets.pass = Pass::Next;
            let loads = self.load_targets(&targets)?;
            let next = self.framebuffers(&targets, loads)?;
            targets.pass = Pass::Last;
            let last = self.framebuffers(&targets, loads)?;
            tiled = Some((contexts, Parts { first, next, last }));
        }
        self.fragments_in_stream(&area, &whole, tiled)?;
        self.queries_end()
    }

    /// Frame shaders that load what targets keep.
    fn load_targets(&mut self, targets: &Targets) -> Result<FrameShaders> {
        let framebuffer = targets.framebuffer(self.device.kernel.chip, 0);
        self.loads(&targets.kept(), &framebuffer, targets.layers)
    }

    /// Framebuffers of the layers that are rendered: their addresses, with flags.
    fn framebuffers(&mut self, targets: &Targets, loads: FrameShaders) -> Result<Vec<u64>> {
        let positions = self.device.sample_positions(targets.samples);
        let mut framebuffer = targets.framebuffer(self.device.kernel.chip, positions);
        framebuffer.loads = loads;
        let tag = framebuffer.tag()?;
        let mut descriptors = Vec::new();
        for layer in targets.rendered_layers() {
            let tiler = targets.contexts.map_or_else(TilerLayer::default, |c| c.of_layer(layer));
            let bytes = framebuffer.descriptor(layer, tiler)?;
            descriptors.push(self.upload(&bytes, DESCRIPTOR_ALIGN)?.address | tag);
        }
        Ok(descriptors)
    }
}

/// Levels of the tiler's hierarchy that are in use: eight, the last of which covers the framebuffer; of tiles larger than the first
/// level's bins, without it. source: Mesa, pan_util.h (`pan_select_tiler_hierarchy_mask`), panvk_cmd_draw.h
fn hierarchy([width, height]: [u32; 2], tile_px: u32) -> u32 {
    const MAX_LEVELS: u32 = 8;
    const BIN_PX: u32 = 16;
    let last = u32::BITS - width.max(height).div_ceil(BIN_PX).leading_zeros();
    let mask = ((1 << MAX_LEVELS) - 1) << last.saturating_sub(MAX_LEVELS);
    if tile_px > BIN_PX * BIN_PX { mask & !1 } else { mask }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// source: worked out by hand from Mesa's `pan_select_tiler_hierarchy_mask`
    #[test]
    fn the_hierarchy_covers_the_framebuffer() {
        assert_eq!(hierarchy([16, 16], 256), 0xff);
        assert_eq!(hierarchy([1920, 1080], 256), 0xff);
        assert_eq!(hierarchy([1920, 1080], 1024), 0xfe);
        // 8192 pixels are 512 bins, a number of ten bits.
        assert_eq!(hierarchy([8192, 16], 256), 0x3fc);
    }
}
