//! Frame shaders that load attachments into the tile buffer: rows of texels are copied without executing warps.

use tepui_mali_packets::draw::BlendMode;
use tepui_raster::DepthStencil;
use tepui_softgpu::AddressSpace;

use super::pipeline::Pipeline;
use super::quads::Worker;
use crate::environment;
use crate::gpu::Gpu;
use crate::job::JobFault;
use crate::pixels::format::{NumericType, PixelFormat};
use crate::pixels::framebuffer::Framebuffer;
use crate::pixels::tile::Tile;
use crate::pixels::{MAX_SAMPLES, SIDE};
use crate::shader::copies::{self, Copies, Effect, Fetched, Inputs};
use crate::shader::message;
use crate::units::Port;
use crate::warp::host::for_hosts;
use crate::warp::row::{LANES, Row, numbers};
use crate::warp::trap::RaisedTrap;

/// The copies of a frame shader; `None` if it does anything else, or modifies the values that it copies.
pub(super) fn find(
    gpu: &Gpu,
    vm: &AddressSpace,
    framebuffer: &Framebuffer,
    pipeline: &Pipeline,
) -> Option<Copies> {
    let stage = pipeline.stage.as_ref()?;
    let plain = framebuffer.samples.count == 1
        && pipeline.state.sample_mask & 1 != 0
        && !pipeline.state.alpha_to_coverage
        && pipeline.state.occlusion.is_none()
        && stage.tables.is_none()
        && stage.registers.is_none();
    if !gpu.options.find_copies || !plain {
        return None;
    }
    let mut port = Port::new(vm, stage.resources);
    let copies =
        copies::find(&stage.program, &stage.uniforms, &mut port, Inputs::Fragments, stage.preload)?;
    let colours = || copies.effects.iter().all(|effect| Colour::new(effect).is_some());
    let can = match copies.effects.as_slice() {
        [Effect::Emit { .. }] => pipeline.state.late && pipeline.state.emits,
        _ => !pipeline.state.late && colours(),
    };
    can.then_some(copies)
}

/// The destination of a copied colour.
struct Colour<'c> {
    channels: &'c [copies::Word; 4],
    target: usize,
    format: PixelFormat,
    kind: NumericType,
}

impl Colour<'_> {
    /// The colour of an effect, if it replaces pixels that are packed in rows.
    fn new(effect: &Effect) -> Option<Colour<'_>> {
        let Effect::Blend { descriptor, channels, flags } = effect else { return None };
        let (low, conversion) = (*descriptor as u32, (*descriptor >> 32) as u32);
        if BlendMode::from_raw(u64::from(low & 3)) != Some(BlendMode::Opaque) {
            return None;
        }
        let format = PixelFormat::of_tile(conversion & PixelFormat::BITS)?;
        let (short, kind) = message::colours(*flags, &format);
        format.pack_rows(&[Row::splat(0); 4], 0, kind).filter(|_| !short)?;
        Some(Colour { channels, target: (low >> 16 & 0xf) as usize, format, kind })
    }
}

impl Worker<'_, '_> {
    /// Copies for all pixels of the tile, before its primitives.
    pub(super) fn copy(&mut self, pipeline: &Pipeline, copies: &Copies) -> Result<(), JobFault> {
        let p = &self.frame.framebuffer.parameters;
        let Some(pixels) = self.core.port.pixels.as_deref() else { return Ok(()) };
        let corner = pixels.corner;
        let [width, height] = [p.width, p.height];
        let size = [width.saturating_sub(corner[0]), height.saturating_sub(corner[1])];
        let size = size.map(|n| n.min(SIDE));
        if size.contains(&0) {
            return Ok(());
        }
        self.core.stats.threads += u64::from(size[0] * size[1]);
        self.core.stats.copied += u64::from(size[0] * size[1]);
        self.core.stats.instructions += instructions(copies, corner, size);
        let copied = copy_rows(&mut self.core.port, pipeline, copies, corner, size);
        let Some(stage) = &pipeline.stage else { return Ok(()) };
        copied.map_err(|trapped| environment::fault(&stage.program, trapped))
    }
}

/// Instructions that warps of four quads of the pixels of a tile would have executed.
fn instructions(copies: &Copies, corner: [u32; 2], size: [u32; 2]) -> u64 {
    let last = [corner[0] + size[0] - 1, corner[1] + size[1] - 1, 0];
    if let Some(copied) = copies.region.has_all([corner[0], corner[1], 0], last) {
        let quads = size[0].div_ceil(2) * size[1].div_ceil(2);
        let warps = quads.div_ceil(LANES as u32 / 4);
        return u64::from(warps) * copies.instructions(copied, !copied);
    }
    let quads = (0..size[1]).step_by(2).flat_map(|y| (0..size[0]).step_by(2).map(move |x| [x, y]));
    // Whether some pixels of the warp copy, and whether others do not.
    let (mut some, mut sum) = ([false; 2], 0);
    let mut lanes = 0;
    for quad in quads {
        for k in 0..4 {
            let [x, y] = [quad[0] + k % 2, quad[1] + k / 2];
            if x < size[0] && y < size[1] {
                let copied = copies.region.has([corner[0] + x, corner[1] + y, 0]);
                some[usize::from(!copied)] = true;
            }
        }
        lanes += 4;
        if lanes == LANES {
            sum += copies.instructions(some[0], some[1]);
            (some, lanes) = ([false; 2], 0);
        }
    }
    sum + copies.instructions(some[0], some[1])
}

for_hosts! {
    /// Copies rows of pixels of the tile at a corner.
    fn copy_rows(
        port: &mut Port<'_>,
        pipeline: &Pipeline,
        copies: &Copies,
        corner: [u32; 2],
        size: [u32; 2],
    ) -> Result<(), RaisedTrap> {
        let [width, height] = size;
        let last = [corner[0] + width - 1, corner[1] + height - 1, 0];
        if copies.region.has_all([corner[0], corner[1], 0], last) == Some(false) {
            return Ok(());
        }
        let mut fetched = Vec::with_capacity(copies.fetches.len());
        for effect in &copies.effects {
            let colour = Colour::new(effect);
            for y in 0..height {
                for x in (0..width).step_by(LANES) {
                    let lanes = (width - x).min(LANES as u32);
                    let mut mask = (u32::from(u16::MAX) >> (LANES as u32 - lanes)) as u16;
                    for lane in 0..lanes {
                        let copied = copies.region.has([corner[0] + x + lane, corner[1] + y, 0]);
                        mask &= !(u16::from(!copied) << lane);
                    }
                    if mask == 0 {
                        continue;
                    }
                    copies.texels(port, [corner[0] + x, corner[1] + y, 0], mask, &mut fetched)?;
                    let Some(pixels) = port.pixels.as_deref_mut() else { return Ok(()) };
                    let place = [x as usize, y as usize];
                    match (&colour, effect) {
                        (Some(colour), _) => write(&mut pixels.tile, colour, &fetched, place, mask),
                        (None, Effect::Emit { depth, stencil }) => {
                            let [depth, stencil] = [depth, stencil]
                                .map(|word| word.as_ref().map(|word| word.row(&fetched)));
                            test(&mut pixels.tile.depth, pipeline, depth, stencil, place, mask);
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }
}

/// Writes the colours of consecutive pixels from a first one on.
#[inline(always)]
fn write(tile: &mut Tile, colour: &Colour<'_>, fetched: &[Fetched], [x, y]: [usize; 2], mask: u16) {
    let channels = colour.channels.each_ref().map(|word| word.row(fetched));
    let Some(words) = colour.format.pack_rows(&channels, mask, colour.kind) else { return };
    for lane in numbers(mask) {
        let pixel = words.each_ref().map(|row| row.0[lane]);
        tile.set_colour(colour.target, 0, [(x + lane) as u8, y as u8], pixel);
    }
}

/// Tests depth and stencil of consecutive pixels from a first one on, and writes those that pass.
#[inline(always)]
fn test(
    buffer: &mut DepthStencil<MAX_SAMPLES>,
    pipeline: &Pipeline,
    depth: Option<Row>,
    stencil: Option<Row>,
    [x, y]: [usize; 2],
    mask: u16,
) {
    let [low, high] = pipeline.state.range;
    for lane in numbers(mask) {
        // Frame shaders have no primitive that could provide the depth.
        let z = depth.map_or(0.0, |row| f32::from_bits(row.0[lane])).clamp(low, high);
        let stencil = stencil.map(|row| row.0[lane] as u8);
        buffer.test(&pipeline.state.tests[0], 0, x + lane, y, z, stencil);
    }
}
