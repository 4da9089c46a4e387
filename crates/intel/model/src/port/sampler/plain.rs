//! The short way of the sampler: one or four texels of a level that is contiguous in host memory, the same level and
//! layer for all channels. Loops of `tepui_texel` compute all channels at once.
//!
//! All other messages take the general way ([`filter`](super::filter), [`texel`](super::texel)), which has the same
//! results.

use tepui_intel_eu::{Message, Refusal, ThreadView};
use tepui_softgpu::Protection;
use tepui_texel::axis::{Axis, AxisRule};
use tepui_texel::lod::{Footprint, Plan};
use tepui_texel::{
    Floats, LevelLayout, MipFilter, Pick, Placed, Quad, Result as Delivery, Row, Scattered, Tap,
    Unpacker, Wrap, floats,
};

use super::super::Ports;
use super::super::plain::PlainLevel;
use super::super::surface::{Dimension, Image, Surface};
use super::filter::{MOST_LEVELS, Unit};
use super::state::Sampler;
use super::texel::swizzled;
use super::{WIDTH, kind};
use crate::memory::Memory;

type Kernels = tepui_texel::Kernels<WIDTH, Unit>;

/// Rows that messages use one after the other; their old contents are never read.
pub(in crate::port) struct Scratch {
    /// The words of texels.
    taps: [[Row<WIDTH>; 4]; 4],
    axes: [Axis<WIDTH>; 3],
    placed: Placed<WIDTH>,
    rows: [Row<WIDTH>; 4],
}

impl Scratch {
    pub fn new() -> Scratch {
        Scratch {
            taps: [[[0; WIDTH]; 4]; 4],
            axes: [Axis::ZERO; 3],
            placed: Placed::ZERO,
            rows: [[0; WIDTH]; 4],
        }
    }
}

/// What is kept of a surface.
pub(in crate::port) struct Texture {
    /// How texels are unpacked; none if the surface does not suit.
    unpacker: Option<Unpacker>,
    /// Where components come from.
    picks: [Pick; 4],
    /// The layer of which these levels are, and whether each suits; none that was not looked at.
    layer: u32,
    levels: [Option<Option<PlainLevel>>; MOST_LEVELS],
}

impl Texture {
    pub fn of(surface: &Surface) -> Texture {
        let image = match surface {
            Surface::Image(image) => Some(image),
            _ => None,
        };
        let suits =
            |image: &&Image| !image.cube && image.dimension == Dimension::Two && image.samples == 1;
        let image = image.filter(suits);
        let picks = image.map_or([Pick::Zero; 4], |image| {
            // source: genxml, Shader Channel Select.
            image.swizzle.map(|select| match select {
                4..=7 => image.format.pick(select as usize - 4),
                1 => Pick::One,
                _ => Pick::Zero,
            })
        });
        Texture {
            unpacker: image.and_then(|image| image.format.unpacker),
            picks,
            layer: 0,
            levels: [None; MOST_LEVELS],
        }
    }

    fn level(
        &mut self,
        memory: &mut Memory<'_>,
        image: &Image,
        level: u32,
        layer: u32,
    ) -> Option<PlainLevel> {
        if layer != self.layer {
            self.layer = layer;
            self.levels = [None; MOST_LEVELS];
        }
        *self.levels.get_mut(level as usize)?.get_or_insert_with(|| {
            let plane = image.sampled_plane(image.level.checked_add(level)?);
            PlainLevel::new(memory, image, &plane, layer, Protection::READ)
        })
    }
}

/// Whether channels of a mask have the same value.
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
    /// Executes a message if it suits.
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
        let Ports { memory, surfaces, kernels, scratch, .. } = self;
        let Some(bound) = surfaces.get_mut(bound) else { return Ok(false) };
        let Surface::Image(image) = &bound.surface else { return Ok(false) };
        let texture = &mut bound.texture;
        let mut reader = Reader { kernels, memory, image, texture, exec, scratch };
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

/// Reads the texels of a message to the rows of the scratch memory; `None` where the general way has to.
struct Reader<'r, 'm> {
    kernels: &'static Kernels,
    memory: &'r mut Memory<'m>,
    image: &'r Image,
    texture: &'r mut Texture,
    exec: u32,
    scratch: &'r mut Scratch,
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
        if lod >= self.image.levels || !self.image.array && layer != 0 {
            return None;
        }
        let level = self.texture.level(self.memory, self.image, lod, layer)?;
        if self.exec == 0xffff && level.shift == 2 && is_strip([&x, &y]) {
            let clear = match self.image.may_be_clear {
                true => self.clear_strip([x[0], y[0]], lod, layer),
                false => Some(false),
            };
            if clear == Some(false) && strip(&level, [x[0], y[0]], &mut self.scratch.taps[0][0]) {
                self.scratch.placed.outside = [0; WIDTH];
                return self.deliver();
            }
        }
        self.kernels.place_load(&level, [&x, &y], &mut self.scratch.placed);
        let Scratch { placed, taps, .. } = &mut *self.scratch;
        let at = [&placed.at[0], &placed.at[1]];
        // SAFETY: texels that were placed are inside of the level.
        unsafe { words(self.kernels, &level, at, self.exec, &mut taps[0]) };
        self.deliver()?;
        if self.image.may_be_clear {
            let clear = self.clear_channels(lod, layer)?;
            let texel =
                swizzled(self.image.clear_texel(), self.image.swizzle, self.image.format.one());
            for lane in tepui_texel::lanes(clear) {
                for (row, value) in self.scratch.rows.iter_mut().zip(texel) {
                    row[lane] = value;
                }
            }
        }
        Some(())
    }

    /// Whether the block is clear that all texels of a strip are in; `None` if they are in several.
    fn clear_strip(&mut self, [x, y]: [u32; 2], lod: u32, layer: u32) -> Option<bool> {
        let auxiliary = self.image.auxiliary?.plane(self.image, self.image.level + lod);
        let [width, height] = auxiliary.block();
        if x % width + 8 > width || y % height + 2 > height {
            return None;
        }
        auxiliary.is_clear(self.memory, [x / width, y / height], layer).ok()
    }

    /// The channels whose texels are inside of the level and in blocks that are clear.
    fn clear_channels(&mut self, lod: u32, layer: u32) -> Option<u32> {
        let placed = &self.scratch.placed;
        let auxiliary = self.image.auxiliary?.plane(self.image, self.image.level + lod);
        // Powers of two.
        let [width, height] = auxiliary.block().map(u32::trailing_zeros);
        // Neighbours are mostly in one block.
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

    #[inline(always)]
    fn delivery<'p>(picks: &'p [Pick; 4], unpacker: &Unpacker) -> Delivery<'p> {
        Delivery { picks, mask: 15, narrow: false, integer: unpacker.is_integer() }
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
        self.kernels.deliver_tap(&tap, &Self::delivery(&self.texture.picks, unpacker), rows);
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
        // The level comes behind the coordinates.
        let coordinates = if number == kind::SAMPLE_L { 1 } else { 0 };
        let has = |k: usize| k < count;
        // The parameters behind the four coordinates.
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
        let last = image.levels.clamp(1, MOST_LEVELS as u32) - 1;
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
            self.kernels.clamp_lod(&lod, sampler.lod_range, None, &mut clamped);
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
            unsafe { words(self.kernels, &level, at, self.exec, &mut taps[0]) };
            return self.deliver();
        }
        let unpacker = self.texture.unpacker?;
        if !linear || unpacker.is_integer() {
            return None;
        }
        let mut sum = [[0; WIDTH]; 4];
        self.quad(sampler, [&u, &v], level, layer, &mut sum)?;
        if between {
            let mut next = [[0; WIDTH]; 4];
            self.quad(sampler, [&u, &v], (level + 1).min(last), layer, &mut next)?;
            self.kernels.mix(&next, &plan, &mut sum);
        }
        let delivery = Self::delivery(&self.texture.picks, &unpacker);
        self.kernels.deliver(&sum, &unpacker.divisor, &delivery, &mut self.scratch.rows);
        Some(())
    }

    /// The level of detail from the differences between neighbours, if one sample is enough for it.
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

    /// Finds the texels of both axes.
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

    /// The weighted sums of four neighbours.
    #[inline(always)]
    fn quad(
        &mut self,
        sampler: &Sampler,
        at: [&Floats<WIDTH>; 2],
        level: u32,
        layer: u32,
        sum: &mut [Row<WIDTH>; 4],
    ) -> Option<()> {
        let level = self.axes(sampler, at, level, layer, true)?;
        let Scratch { axes, taps, .. } = &mut *self.scratch;
        let mut offsets = [[0; WIDTH]; 4];
        self.kernels.corners(&level, level.shift, [u32::MAX; 2], axes, &mut offsets);
        for (offsets, words) in offsets.iter().zip(taps.iter_mut()) {
            // SAFETY: texels of axes are inside of the level.
            unsafe { scattered(self.kernels, &level, offsets, self.exec, words) };
        }
        let unpacker = self.texture.unpacker.as_ref()?;
        let weight = [&axes[0].weight, &axes[1].weight];
        self.kernels.quad(&Quad { unpacker, words: taps, weight, wanted: 15 }, sum);
        Some(())
    }
}

/// Whether channels stand in a strip of eight by two texels, as pixel threads do: four squares of two by two.
#[inline(always)]
fn is_strip([x, y]: [&Row<WIDTH>; 2]) -> bool {
    const PLACES: [Row<WIDTH>; 2] = {
        let mut places = [[0; WIDTH]; 2];
        let mut lane = 0;
        while lane < WIDTH {
            places[0][lane] = (2 * (lane / 4) + lane % 2) as u32;
            places[1][lane] = (lane / 2 % 2) as u32;
            lane += 1;
        }
        places
    };
    let mut apart = 0;
    for lane in 0..WIDTH {
        apart |= x[lane] ^ x[0].wrapping_add(PLACES[0][lane]);
        apart |= y[lane] ^ y[0].wrapping_add(PLACES[1][lane]);
    }
    apart == 0
}

/// The words of the texels of such a strip, of four bytes each; `false` if it is not all inside of the level, or its rows do not
/// lie in runs of 16 bytes.
#[inline(always)]
fn strip(level: &PlainLevel, [x, y]: [u32; 2], words: &mut Row<WIDTH>) -> bool {
    let [width, height] = level.size();
    let inside = x.checked_add(8).is_some_and(|end| end <= width)
        && y.checked_add(2).is_some_and(|end| end <= height);
    if !inside || !x.is_multiple_of(4) || !level.begins_at_multiple(4) {
        return false;
    }
    let columns = [0, 4].map(|right| level.plain_column(x + right));
    let lines = [0, 1].map(|down| level.plain_line(y + down));
    for (squares, column) in words.as_chunks_mut::<8>().0.iter_mut().zip(columns) {
        let [upper, lower] = lines.map(|line| {
            let from = level.host().wrapping_add((column.wrapping_add(line) as usize) << 2);
            // SAFETY: the four texels are inside of the level, and lie side by side: in rows, or in a column of 16 bytes.
            unsafe { from.cast::<[u32; 4]>().read_unaligned() }
        });
        *squares = [upper[0], upper[1], lower[0], lower[1], upper[2], upper[3], lower[2], lower[3]];
    }
    true
}

/// The words of texels.
///
/// # Safety
/// The columns and rows of all channels must be inside of the level.
#[inline(always)]
unsafe fn words(
    kernels: &Kernels,
    level: &PlainLevel,
    at: [&[i32; WIDTH]; 2],
    exec: u32,
    words: &mut [Row<WIDTH>; 4],
) {
    let mut offsets = [0; WIDTH];
    kernels.texel_offsets(level, level.shift, [u32::MAX; 2], at, &mut offsets);
    // SAFETY: the caller's promise.
    unsafe { scattered(kernels, level, &offsets, exec, words) }
}

/// The words of texels at offsets from the image's first byte.
///
/// # Safety
/// The offsets of all channels must be those of texels inside of the level.
#[inline(always)]
unsafe fn scattered(
    kernels: &Kernels,
    level: &PlainLevel,
    offsets: &Row<WIDTH>,
    exec: u32,
    words: &mut [Row<WIDTH>; 4],
) {
    // SAFETY: the caller's promise; the level's texels are inside of memory that is there to be read.
    let texels = unsafe { Scattered::new(level.host(), offsets, exec, 1 << level.shift) };
    kernels.texels(&texels, words);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tepui_intel_packets::sampler::ShadowFunction;
    use tepui_softgpu::AddressSpace;

    use super::super::filter::{self, Lod, Request};
    use super::super::texel::BlockCache;
    use super::*;
    use crate::format;
    use crate::port::surface::Tiling;

    const BASE: u64 = 0x10_0000;
    const BYTES: usize = 1 << 20;

    /// Numbers that look random.
    struct Numbers(u32);

    impl Numbers {
        fn next(&mut self) -> u32 {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            self.0 ^ self.0 >> 15
        }

        fn below(&mut self, n: u32) -> u32 {
            (self.next() >> 8) % n
        }

        fn float(&mut self, from: f32, to: f32) -> f32 {
            from + (to - from) * (self.next() >> 8) as f32 / (1 << 24) as f32
        }
    }

    fn space(numbers: &mut Numbers) -> AddressSpace {
        let vm = AddressSpace::new(12, 48);
        let memory = Arc::new(tepui_softgpu::Memory::new(BYTES).unwrap());
        let all = Protection::READ | Protection::WRITE;
        vm.bind(BASE, memory, 0, BYTES as u64, all).unwrap();
        let bytes: Vec<u8> = (0..BYTES).map(|_| (numbers.next() >> 24) as u8).collect();
        vm.write(BASE, &bytes).unwrap();
        vm
    }

    fn image(number: u32, tiling: Tiling, size: [u32; 2], levels: u32) -> Image {
        let format = format::find(number).unwrap();
        let row = u64::from(size[0].next_multiple_of(4)) * 2 * format.bytes as u64;
        Image {
            base: BASE,
            dimension: Dimension::Two,
            cube: false,
            array: true,
            size: [size[0], size[1], 1],
            layers: 2,
            first_layer: 0,
            level: 0,
            target_level: 0,
            levels,
            pitch: row.next_multiple_of(512),
            qpitch: u64::from(size[1].next_multiple_of(4) * 3),
            align: [4, 4],
            tiling,
            tail: u32::MAX,
            offset: [0; 2],
            format,
            swizzle: [6, 5, 4, 7],
            samples: 1,
            interleaved: false,
            clear: [0; 4],
            auxiliary: None,
            may_be_clear: false,
        }
    }

    const FORMATS: [u32; 12] =
        [0x0c7, 0x0c1, 0x0d8, 0x084, 0x0c2, 0x100, 0x140, 0x0cb, 0x0ed, 0x0e9, 0x0c9, 0x002];

    fn images(mut each: impl FnMut(&mut Numbers, &Image, &mut Memory<'_>)) {
        let mut numbers = Numbers(1);
        let vm = space(&mut numbers);
        let mut memory = Memory::new(&vm);
        for number in FORMATS {
            for tiling in [Tiling::Linear, Tiling::X, Tiling::Y] {
                for size in [[7, 5], [64, 33], [1, 1]] {
                    let levels = if size[0] == 1 { 1 } else { 3 };
                    each(&mut numbers, &image(number, tiling, size, levels), &mut memory);
                }
            }
        }
    }

    fn same_values(integer: bool, a: u32, b: u32) -> bool {
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        a == b || !integer && (x == y || x.is_nan() && y.is_nan())
    }

    #[test]
    fn loads_are_those_of_single_texels() {
        let mut read = 0;
        images(|numbers, image, memory| {
            let surface = Surface::Image(*image);
            let mut texture = Texture::of(&surface);
            for _ in 0..8 {
                let (lod, layer) = (numbers.below(image.levels), numbers.below(2));
                let mut exec = numbers.next() & 0xffff | 1;
                let mut at: [Row<WIDTH>; 2] = std::array::from_fn(|axis| {
                    std::array::from_fn(|_| numbers.below(image.size[axis] + 3))
                });
                if numbers.below(2) == 0 {
                    exec = 0xffff;
                    let [x, y] = [4 * numbers.below(12), numbers.below(16)];
                    at[0] = std::array::from_fn(|i| x + (2 * (i / 4) + i % 2) as u32);
                    at[1] = std::array::from_fn(|i| y + (i / 2 % 2) as u32);
                }
                let parameters = |k: usize| match k {
                    0 | 1 => at[k],
                    2 => [lod; WIDTH],
                    _ => [layer; WIDTH],
                };
                let (kernels, scratch) = (Kernels::of_host(), &mut Scratch::new());
                let texture = &mut texture;
                let mut reader = Reader { kernels, memory, image, texture, exec, scratch };
                reader.load(false, &parameters).expect("a plain image");
                let out = scratch.rows;
                read += 1;
                for lane in tepui_texel::lanes(exec) {
                    let place = [at[0][lane], at[1][lane]];
                    let plane = image.sampled_plane(lod);
                    let want = match plane.texel(image, place, layer, 0) {
                        Some(at) => {
                            let mut bytes = vec![0; image.format.bytes];
                            memory.read(at, &mut bytes).unwrap();
                            image.format.unpack(&bytes, [0; 2])
                        }
                        None => image.format.present([0; 4]),
                    };
                    let want = swizzled(want, image.swizzle, image.format.one());
                    for c in 0..4 {
                        let same = same_values(image.format.is_integer(), out[c][lane], want[c]);
                        assert!(same, "{image:?} {place:?} {c}: {} {}", out[c][lane], want[c]);
                    }
                }
            }
        });
        assert_eq!(read, 8 * 9 * FORMATS.len());
    }

    #[test]
    fn samples_are_those_of_the_general_way() {
        let (mut short, mut all) = (0, 0);
        images(|numbers, image, memory| {
            let mut texture = Texture::of(&Surface::Image(*image));
            for _ in 0..24 {
                let wraps =
                    [Wrap::Repeat, Wrap::ClampToEdge, Wrap::MirroredRepeat, Wrap::ClampToBorder];
                let mips = [MipFilter::None, MipFilter::Nearest, MipFilter::Linear];
                let min_linear = numbers.below(2) == 0;
                let sampler = Sampler {
                    min_linear,
                    mag_linear: if numbers.below(4) == 0 { !min_linear } else { min_linear },
                    mip: mips[numbers.below(3) as usize],
                    anisotropy: [1, 1, 4][numbers.below(3) as usize],
                    bias: [0.0, 0.5][numbers.below(2) as usize],
                    lod_range: [0.0, 8.0],
                    wrap: [0; 3].map(|_| wraps[numbers.below(4) as usize]),
                    pixel: false,
                    seamless: false,
                    shadow: ShadowFunction::Always,
                    reduction: None,
                    border: [0; 4],
                };
                let exec = numbers.next() & 0xffff | 0x10;
                let layer = numbers.float(-0.4, 1.4);
                let spread = numbers.float(0.0, 0.4);
                let (u, v) = (numbers.float(-2.0, 2.0), numbers.float(-2.0, 2.0));
                let mut place = [[0.0; WIDTH]; 4];
                place[0] =
                    std::array::from_fn(|lane| u + spread * (2 * (lane / 4) + lane % 2) as f32);
                place[1] = std::array::from_fn(|lane| v + spread * (lane / 2 % 2) as f32);
                place[2] = [layer; WIDTH];
                let level = numbers.float(-1.0, 3.0);
                let number =
                    [kind::SAMPLE, kind::SAMPLE_L, kind::SAMPLE_LZ][numbers.below(3) as usize];
                let shift = usize::from(number == kind::SAMPLE_L);
                let parameters = |k: usize| match k.checked_sub(shift) {
                    Some(k) => tepui_texel::bits(&place[k]),
                    None => [level.to_bits(); WIDTH],
                };
                let (kernels, scratch) = (Kernels::of_host(), &mut Scratch::new());
                let texture = &mut texture;
                let mut reader = Reader { kernels, memory, image, texture, exec, scratch };
                let done = reader.sample(number, &sampler, 3 + shift, &parameters);
                let out = scratch.rows;
                all += 1;
                if done.is_none() {
                    continue;
                }
                short += 1;
                let request = Request {
                    coordinates: place,
                    reference: None,
                    lod: match number {
                        kind::SAMPLE => Lod::Implicit,
                        kind::SAMPLE_L => Lod::Explicit([level; WIDTH]),
                        _ => Lod::Explicit([0.0; WIDTH]),
                    },
                    bias: None,
                    least: None,
                    offset: [0; 3],
                    offsets: None,
                    gathers: false,
                    channel: 0,
                    queries: false,
                };
                let mut want = [[0; 4]; WIDTH];
                let mut blocks = BlockCache::new();
                filter::sample(memory, &mut blocks, image, &sampler, &request, exec, &mut want)
                    .expect("bound");
                for lane in tepui_texel::lanes(exec) {
                    for c in 0..4 {
                        let (got, want) = (out[c][lane], want[lane][c]);
                        let same = same_values(image.format.is_integer(), got, want);
                        assert!(same, "{image:?} {sampler:?} {lane} {c}: {got:#x} {want:#x}");
                    }
                }
            }
        });
        assert!(short > all / 4, "{short} of {all}");
    }
}
