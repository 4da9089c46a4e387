//! Fast path of the sampler: one or four texels of a level that is contiguous in host memory, with the same level
//! and layer for all channels. `tepui_texel` computes all channels at once.
//!
//! All other messages take the general path ([`filter`](super::filter), [`texel`](super::texel)), which has the
//! same results.

use tepui_intel_eu::{Message, Refusal, ThreadView};
use tepui_texel::axis::{Axis, AxisRule};
use tepui_texel::blocks::{BlockQuad, Blocks};
use tepui_texel::lod::{Footprint, Plan};
use tepui_texel::{
    Corners, Floats, MipFilter, Pick, Quad, Result as Delivery, Row, Scattered, Tap, Unpacker,
    Wrap, floats,
};

use super::super::Ports;
use super::super::plain::PlainLevel;
use super::super::surface::{Image, Surface};
use super::filter::{self, Unit};
use super::state::Sampler;
use super::texture::{MAX_LEVELS, Scratch, Texture};
use super::{WIDTH, kind};
use crate::memory::Memory;

pub(super) type Kernels = tepui_texel::Kernels<WIDTH, Unit>;

/// Whether a value is uniform over the channels of a mask.
#[inline(always)]
fn same(row: &Row<WIDTH>, exec: u32) -> bool {
    let first = row[exec.trailing_zeros() as usize % WIDTH];
    let mut apart = 0;
    for (lane, value) in row.iter().enumerate() {
        apart |= (value ^ first) & (exec >> lane & 1).wrapping_neg();
    }
    apart == 0
}

impl Ports<'_> {
    /// Executes a message if the fast path supports it.
    pub(super) fn plain_read(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
        width: usize,
    ) -> Result<bool, Refusal> {
        /// The response has halves.
        const HALVES: u32 = 1 << 30;
        let exec = message.channels & ((1 << width) - 1);
        if message.header || message.desc & HALVES != 0 || exec == 0 {
            return Ok(false);
        }
        let bound = self.bound(message)?;
        if self.surfaces[bound].texture.unpacker.is_none() {
            return Ok(false);
        }
        let number = message.desc >> 12 & 0x1f;
        let sampler = match number {
            kind::LD | kind::LD_LZ => None,
            kind::SAMPLE | kind::SAMPLE_L | kind::SAMPLE_LZ => {
                let at = self.shared.samplers + 16 * u64::from(message.desc >> 8 & 0xf);
                Some(self.sampler_at(at)?)
            }
            _ => return Ok(false),
        };
        let registers = width / 8;
        // A parameter of all channels; 0 if the message does not have it.
        let parameters = |k: usize| {
            let mut row = [0; WIDTH];
            for (n, eight) in row.as_chunks_mut::<8>().0.iter_mut().enumerate().take(registers) {
                *eight = view.dwords(k * registers + n);
            }
            row
        };
        let Ports { memory, surfaces, kernels, scratch, blocks, .. } = self;
        let Some(bound) = surfaces.get_mut(bound) else { return Ok(false) };
        let Surface::Image(image) = &bound.surface else { return Ok(false) };
        let texture = &mut bound.texture;
        let mut reader = Reader { kernels, memory, image, texture, exec, scratch, blocks };
        let read = match &sampler {
            None => reader.load(number == kind::LD_LZ, &parameters),
            Some(sampler) => {
                let all = usize::from(message.src0_registers) + usize::from(message.src1_registers);
                reader.sample(number, sampler, all / registers, &parameters)
            }
        };
        if read.is_none() {
            return Ok(false);
        }
        for (component, row) in scratch.rows.iter().enumerate() {
            for (register, eight) in row.as_chunks::<8>().0.iter().enumerate().take(registers) {
                view.respond(
                    component * registers + register,
                    *eight,
                    (exec >> (8 * register)) as u8,
                );
            }
        }
        Ok(true)
    }
}

/// Reads the texels of a message to the scratch rows; `None` if the general path has to.
struct Reader<'r, 'm> {
    kernels: &'static Kernels,
    memory: &'r mut Memory<'m>,
    image: &'r Image,
    texture: &'r mut Texture,
    exec: u32,
    scratch: &'r mut Scratch,
    blocks: &'r mut Blocks,
}

/// The delivery of texel components to rows.
#[inline(always)]
pub(super) fn delivery<'p>(picks: &'p [Pick; 4], unpacker: &Unpacker) -> Delivery<'p> {
    Delivery { picks, mask: 15, narrow: false, integer: unpacker.is_integer() }
}

impl Reader<'_, '_> {
    /// Texels by their columns and rows; zeros outside of the level.
    fn load(&mut self, lz: bool, p: &impl Fn(usize) -> Row<WIDTH>) -> Option<()> {
        let (x, y) = (p(0), p(1));
        let (lod, layer) = if lz { ([0; WIDTH], p(2)) } else { (p(2), p(3)) };
        if !same(&layer, self.exec) || !same(&lod, self.exec) {
            return None;
        }
        let first = self.exec.trailing_zeros() as usize % WIDTH;
        let (layer, lod) = (layer[first], lod[first]);
        if !self.image.has_level(lod) || !self.image.array && layer != 0 {
            return None;
        }
        let level = self.texture.level(self.memory, self.image, lod, layer)?;
        self.kernels.place_load(&level, [&x, &y], &mut self.scratch.placed);
        let Scratch { placed, taps, .. } = &mut *self.scratch;
        let at = [&placed.at[0], &placed.at[1]];
        // SAFETY: texels that were placed are inside of the level.
        unsafe { words(self.kernels, &level, self.image, at, self.exec, &mut taps[0]) };
        self.blocks.decode(self.texture.unpacker.as_ref()?, self.exec, at, &mut taps[0]);
        self.deliver()?;
        if self.image.may_be_clear {
            let clear = self.clear_channels(lod, layer)?;
            for lane in tepui_texel::lanes(clear) {
                for (row, value) in self.scratch.rows.iter_mut().zip(self.texture.clear) {
                    row[lane] = value;
                }
            }
        }
        Some(())
    }

    /// The channels whose texels are inside of the level and in clear blocks.
    fn clear_channels(&mut self, lod: u32, layer: u32) -> Option<u32> {
        let auxiliary = self.texture.marks(self.image, lod)?;
        let placed = &self.scratch.placed;
        // Block sizes are powers of two.
        let [width, height] = auxiliary.block().map(u32::trailing_zeros);
        // Neighbours are mostly in the same block.
        let mut known = ([u32::MAX; 2], false);
        let mut clear = 0;
        for lane in 0..WIDTH {
            if self.exec >> lane & 1 == 0 || placed.outside[lane] != 0 {
                continue;
            }
            let block = [placed.at[0][lane] as u32 >> width, placed.at[1][lane] as u32 >> height];
            if known.0 != block {
                known = (block, auxiliary.is_clear(self.memory, block, layer).ok()?);
            }
            clear |= u32::from(known.1) << lane;
        }
        Some(clear)
    }

    /// Unpacks the first of the taps, zeros where `placed` is outside.
    #[inline(always)]
    fn deliver(&mut self) -> Option<()> {
        let unpacker = self.texture.unpacker.as_ref()?;
        let Scratch { placed, taps, rows, .. } = &mut *self.scratch;
        let tap = Tap {
            unpacker,
            words: &taps[0],
            x: &[0; WIDTH],
            outside: &placed.outside,
            border: [0; 4],
            wanted: 0,
        };
        self.kernels.deliver_tap(&tap, &delivery(&self.texture.picks, unpacker), rows);
        Some(())
    }

    /// Filtered texels.
    fn sample(
        &mut self,
        number: u32,
        sampler: &Sampler,
        count: usize,
        p: &impl Fn(usize) -> Row<WIDTH>,
    ) -> Option<()> {
        if self.image.may_be_clear {
            return None;
        }
        let border = |wrap: Wrap| matches!(wrap, Wrap::ClampToBorder | Wrap::ClampGl);
        if sampler.reduction.is_some() || sampler.wrap[..2].iter().any(|&wrap| border(wrap)) {
            return None;
        }
        let image = self.image;
        // The level follows the coordinates.
        let coordinates = if number == kind::SAMPLE_L { 1 } else { 0 };
        let has = |k: usize| k < count;
        // The parameters after the four coordinates.
        if has(4 + coordinates) {
            return None;
        }
        let at = |k: usize| if has(k) { p(k) } else { [0; WIDTH] };
        let explicit = (number == kind::SAMPLE_L).then(|| at(0));
        let (u, v) = (floats(&at(coordinates)), floats(&at(coordinates + 1)));
        let mut layer = 0;
        if image.array && image.layers > 1 {
            let last = (image.layers - 1) as f32;
            let rows = floats(&at(coordinates + 2));
            // A NaN becomes 0.
            let rows = rows.map(|row| row.round_ties_even().clamp(0.0, last) as u32);
            if !same(&rows, self.exec) {
                return None;
            }
            layer = rows[self.exec.trailing_zeros() as usize % WIDTH];
        }
        let one_filter = sampler.min_linear == sampler.mag_linear;
        let last = image.levels.clamp(1, MAX_LEVELS as u32) - 1;
        let one_level = last == 0 || sampler.mip == MipFilter::None;
        let mut plan = Plan::ZERO;
        let many = sampler.anisotropy > 1 && explicit.is_none() && number != kind::SAMPLE_LZ;
        if !one_filter || !one_level || many {
            let lod = match (number, explicit) {
                (_, Some(row)) => floats(&row),
                (kind::SAMPLE_LZ, _) => [0.0; WIDTH],
                _ => self.detail(sampler, [&u, &v])?,
            };
            let lod = lod.map(|v| v + sampler.bias);
            let mut clamped = [0.0; WIDTH];
            let least = filter::least(self.image, None);
            self.kernels.clamp_lod(&lod, sampler.lod_range, least.as_ref(), &mut clamped);
            self.kernels.plan(&clamped, sampler.mip, last as f32, &mut plan);
            if !same(&plan.level, self.exec) || !one_filter && !same(&plan.magnify, self.exec) {
                return None;
            }
        }
        let first = self.exec.trailing_zeros() as usize % WIDTH;
        let linear = match plan.magnify[first] {
            0 => sampler.min_linear,
            _ => sampler.mag_linear,
        };
        let level = plan.level[first];
        let between = (0..WIDTH).any(|lane| self.exec >> lane & 1 != 0 && plan.between[lane] != 0);
        if !linear && !between {
            let level = self.axes(sampler, [&u, &v], level, layer, false)?;
            let Scratch { axes: [x, y, _], placed, taps, .. } = &mut *self.scratch;
            placed.outside = [0; WIDTH];
            let at = [&x.texel[0], &y.texel[0]];
            // SAFETY: texels of axes are inside of the level.
            unsafe { words(self.kernels, &level, self.image, at, self.exec, &mut taps[0]) };
            self.blocks.decode(self.texture.unpacker.as_ref()?, self.exec, at, &mut taps[0]);
            return self.deliver();
        }
        let unpacker = self.texture.unpacker?;
        if !linear || unpacker.is_integer() {
            return None;
        }
        let picks = self.texture.picks;
        let delivery = delivery(&picks, &unpacker);
        if !between {
            self.quad(sampler, [&u, &v], level, layer)?;
            let Scratch { axes, taps, rows, .. } = &mut *self.scratch;
            self.kernels.deliver_quad(&four(&unpacker, axes, taps), &delivery, rows);
            return Some(());
        }
        let (mut sum, mut next) = ([[0; WIDTH]; 4], [[0; WIDTH]; 4]);
        for (level, sum) in [(level, &mut sum), ((level + 1).min(last), &mut next)] {
            self.quad(sampler, [&u, &v], level, layer)?;
            let Scratch { axes, taps, .. } = &*self.scratch;
            self.kernels.quad(&four(&unpacker, axes, taps), sum);
        }
        self.kernels.mix(&next, &plan, &mut sum);
        self.kernels.deliver(&sum, &unpacker.divisor, &delivery, &mut self.scratch.rows);
        Some(())
    }

    /// The level of detail from the differences between neighbours, if one sample is sufficient.
    fn detail(&self, sampler: &Sampler, [u, v]: [&Floats<WIDTH>; 2]) -> Option<Floats<WIDTH>> {
        let zero = [0.0; WIDTH];
        let size = self.image.level_size(self.image.level).map(|v| v as f32);
        let scale = if sampler.pixel { [1.0; 3] } else { size };
        let mut gradient = [[zero; 2]; 3];
        self.kernels.gradient(&[*u, *v, zero], 2, &mut gradient);
        let mut footprint = Footprint { lod: zero, samples: [1.0; WIDTH], down: zero };
        self.kernels.footprint(&gradient, &scale, 2, sampler.anisotropy, &mut footprint);
        let many = |lane: usize| self.exec >> lane & 1 != 0 && footprint.samples[lane] > 1.0;
        (!(0..WIDTH).any(many)).then_some(footprint.lod)
    }

    /// Computes the texels of both axes.
    #[inline(always)]
    fn axes(
        &mut self,
        sampler: &Sampler,
        at: [&Floats<WIDTH>; 2],
        level: u32,
        layer: u32,
        linear: bool,
    ) -> Option<PlainLevel> {
        let size = self.image.level_size(self.image.level + level);
        let level = self.texture.level(self.memory, self.image, level, layer)?;
        for (a, axis) in self.scratch.axes.iter_mut().enumerate().take(2) {
            let rule = AxisRule {
                size: size[a],
                wrap: sampler.wrap[a],
                pixel: sampler.pixel,
                linear,
                moved: false,
            };
            self.kernels.axis(&rule, at[a], &[0; WIDTH], axis);
        }
        Some(level)
    }

    /// Reads four neighbours.
    #[inline(always)]
    fn quad(
        &mut self,
        sampler: &Sampler,
        at: [&Floats<WIDTH>; 2],
        level: u32,
        layer: u32,
    ) -> Option<()> {
        let level = self.axes(sampler, at, level, layer, true)?;
        let Scratch { axes, taps, .. } = &mut *self.scratch;
        let unpacker = self.texture.unpacker.as_ref()?;
        if unpacker.codec().is_some() {
            // SAFETY: texels of axes are inside of the level.
            let quad = unsafe { BlockQuad::new(level.host(), &level, axes, self.exec) };
            self.blocks.quad(self.kernels, unpacker, &quad, taps);
        } else {
            let keep = [u32::MAX; 2];
            // SAFETY: texels of axes are inside of the level.
            let corners =
                unsafe { Corners::new(level.host(), &level, axes, keep, self.exec, level.shift) };
            self.kernels.corner_texels(&corners, taps);
        }
        Some(())
    }
}

/// Four neighbours that were read, with their weights.
#[inline(always)]
fn four<'a>(
    unpacker: &'a Unpacker,
    axes: &'a [Axis<WIDTH>; 3],
    words: &'a [[Row<WIDTH>; 4]; 4],
) -> Quad<'a, WIDTH> {
    Quad { unpacker, words, weight: [&axes[0].weight, &axes[1].weight], wanted: 15 }
}

/// The words of texels.
///
/// # Safety
/// The columns and rows of all channels must be inside of the level.
#[inline(always)]
unsafe fn words(
    kernels: &Kernels,
    level: &PlainLevel,
    image: &Image,
    at: [&[i32; WIDTH]; 2],
    exec: u32,
    words: &mut [Row<WIDTH>; 4],
) {
    let mut offsets = [0; WIDTH];
    match image.format.block {
        [1, 1] => kernels.texel_offsets(level, level.shift, [u32::MAX; 2], at, &mut offsets),
        _ => kernels.block_offsets(level, level.shift, at, &mut offsets),
    }
    // SAFETY: the caller's promise; the level's texels are inside of memory that is there to be read.
    let texels = unsafe { Scattered::new(level.host(), &offsets, exec, 1 << level.shift) };
    kernels.texels(&texels, words);
}

#[cfg(test)]
mod tests;
