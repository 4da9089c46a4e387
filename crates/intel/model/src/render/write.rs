//! Render target writes of all channels of a message together.
//!
//! If a target is single-sampled and contiguous in host memory, the colours of a message are blended and packed in
//! rows, and the texels of two horizontally adjacent pixels are written together. All other writes go pixel by pixel
//! ([`BackEnd::write`]), with the same results.

use tepui_format::info::Numeric;
use tepui_raster::TILE_SIDE;
use tepui_softgpu::{Fault, Protection};
use tepui_texel::{Kernels, LevelLayout, Pick, Result as Delivery, Row, Scattered, Tap};

use super::blend::{Blend, LANES, MAX_TARGETS};
use super::target::{BackEnd, PixelWrite, Target};
use crate::format::Format;
use crate::memory::Memory;
use crate::port::Unit;
use crate::port::plain::{PlainLevel, transposed};

/// Side of a tile in pixels.
const SIDE: u32 = TILE_SIDE as u32;

/// The data of a message.
pub(crate) struct Rows {
    /// The thread's channel that is the message's first.
    pub first: usize,
    /// Mask of the channels that write, relative to the first.
    pub channels: u32,
    /// One row per component, and those of the second colour of dual source blending.
    pub colour: [Row<LANES>; 4],
    pub second: Option<[Row<LANES>; 4]>,
}

impl BackEnd<'_> {
    /// Writes the pixels of a message to a target; `false` if that has to be done pixel by pixel. The target has
    /// an index for its blending, and a binding table index.
    ///
    /// # Errors
    /// Memory of the target is not bound.
    pub fn write_rows(
        &mut self,
        memory: &mut Memory<'_>,
        kernels: &Kernels<LANES, Unit>,
        target: &mut Target,
        [index, binding]: [usize; 2],
        rows: &Rows,
    ) -> Result<bool, Fault> {
        let output = self.output;
        let blend = &output.blending.entries[index % MAX_TARGETS];
        if output.samples.count != 1
            || output.operation.is_some()
            || self.coarse.is_some()
            || self.smooth.is_some()
            || blend.logic.is_some()
        {
            return Ok(false);
        }
        let Some(level) = self.plain_level(memory, target) else { return Ok(false) };
        let Some(store) = Store::new(target, blend) else { return Ok(false) };
        let wanted = self.covered_channels(rows, &level);
        if wanted == 0 {
            return Ok(true);
        }
        if self.has_clear_blocks(binding) {
            // A subspan is in one block: blocks are at least two by two pixels, with power-of-two sizes.
            let subspans = (wanted | wanted >> 1 | wanted >> 2 | wanted >> 3) & 0x1111;
            for lane in tepui_texel::lanes(subspans) {
                let place = self.places[rows.first + lane];
                self.unclear(memory, target, binding, place)?;
            }
        }
        let places = self.places[rows.first..].first_chunk().expect("channels of a message");
        store.write(kernels, &level, self, blend, rows, places, wanted);
        Ok(true)
    }

    /// As [`BackEnd::write_rows`], for the strip that begins at a pixel, to the first target, whose contents it
    /// replaces. `false` if this fast path does not support it.
    ///
    /// # Errors
    /// Memory of the target is not bound.
    pub fn write_strip(
        &mut self,
        memory: &mut Memory<'_>,
        kernels: &Kernels<LANES, Unit>,
        target: &mut Target,
        binding: usize,
        [x, y]: [u32; 2],
        colour: &[Row<LANES>; 4],
    ) -> Result<bool, Fault> {
        let format = target.image.format;
        if !self.replaces(format) {
            return Ok(false);
        }
        let Some(level) = self.plain_level(memory, target) else { return Ok(false) };
        let Some(packer) = &format.packer else { return Ok(false) };
        let [width, height] = level.size();
        if x + 8 > width || y + 2 > height {
            return Ok(false);
        }
        let runs = runs(&level, [x, y]);
        if !(level.shift == 2 && runs.is_some() || level.shift == 4) {
            return Ok(false);
        }
        if self.has_clear_blocks(binding) {
            for right in [0, 2, 4, 6] {
                self.unclear(memory, target, binding, [x + right, y])?;
            }
        }
        let mut words = [[0; LANES]; 4];
        if target.order.is_same() {
            packer.pack(kernels, colour, 0xffff, &mut words);
        } else {
            packer.pack(kernels, &target.order.stored(*colour), 0xffff, &mut words);
        }
        // SAFETY: the pixels of the strip are inside of the level, which is writable.
        unsafe {
            match runs {
                Some(runs) if level.shift == 2 => write_runs(&level, runs, &words[0]),
                _ => write_wide(&level, [x, y], &words),
            }
        }
        if self.output.late {
            self.pass(0xffff);
        }
        Ok(true)
    }

    /// Whether pixel writes to the first target, with a format, replace its contents entirely for all covered pixels.
    pub fn replaces(&self, format: &Format) -> bool {
        let output = self.output;
        let blending = &output.blending;
        let blend = &blending.entries[0];
        output.samples.count == 1
            && output.operation.is_none()
            && (!output.late || self.tests().is_trivial())
            && !(output.mask_present || output.depth_present || output.stencil_present)
            && self.smooth.is_none()
            && blend.logic.is_none()
            && blend.write == [true; 4]
            && (!blend.enabled || format.is_integer())
            && !blending.changes_coverage()
            && !blending.alpha_to_one
    }

    /// Counts pixels that are written without a thread among those that passed late tests, if tests are late.
    pub fn count_late(&mut self, pixels: u32) {
        if self.output.late {
            self.passed += u64::from(pixels);
        }
    }

    /// Counts channels that pass late tests, each only once.
    fn pass(&mut self, channels: u32) {
        let first = channels & !self.tested;
        self.passed += u64::from(first.count_ones());
        self.tested |= first;
    }

    /// The layer of a target that is rendered to.
    pub fn plain_level(&self, memory: &mut Memory<'_>, target: &mut Target) -> Option<PlainLevel> {
        match target.plain {
            Some((layer, level)) if layer == self.layer => level,
            _ => {
                let need = Protection::READ | Protection::WRITE;
                let level = PlainLevel::new(memory, &target.image, &target.level, self.layer, need)
                    .filter(|level| level.begins_at_multiple(2));
                target.plain = Some((self.layer, level));
                level
            }
        }
    }

    /// The channels of a message whose pixels are covered, pass late tests, and are inside of the target.
    fn covered_channels(&mut self, rows: &Rows, level: &PlainLevel) -> u32 {
        let covered: &[u32; LANES] =
            self.covered[rows.first..].first_chunk().expect("channels of a message");
        let mut wanted = 0;
        for (lane, samples) in covered.iter().enumerate() {
            wanted |= u32::from(*samples != 0) << lane;
        }
        wanted &= rows.channels;
        if self.output.blending.changes_coverage() || self.output.late && !self.tests().is_trivial()
        {
            for lane in tepui_texel::lanes(wanted) {
                let alpha = f32::from_bits(rows.colour[3][lane]);
                let written = PixelWrite { alpha, ..PixelWrite::default() };
                wanted &= !(u32::from(self.samples(rows.first + lane, &written) == 0) << lane);
            }
        } else if self.output.late {
            self.pass(wanted << rows.first);
        }
        let [width, height] = level.size();
        if self.corner[0] + SIDE > width || self.corner[1] + SIDE > height {
            for lane in tepui_texel::lanes(wanted) {
                let [x, y] = self.places[rows.first + lane];
                wanted &= !(u32::from(x >= width || y >= height) << lane);
            }
        }
        wanted
    }
}

/// Parameters of the conversion of colours to texels of a target.
struct Store<'t> {
    target: &'t Target,
    format: &'static Format,
    /// Mask of the bits that are written; `None` for all.
    mask: Option<[u32; 4]>,
    blends: bool,
}

impl<'t> Store<'t> {
    fn new(target: &'t Target, blend: &Blend) -> Option<Store<'t>> {
        let format = target.image.format;
        format.packer.as_ref()?;
        format.unpacker.as_ref()?;
        let mask = match blend.write {
            [true, true, true, true] => None,
            write => Some(format.mask(target.order.stored(write))?),
        };
        Some(Store { target, format, mask, blends: blend.enabled && !format.is_integer() })
    }

    #[expect(clippy::too_many_arguments, reason = "what a message is made of")]
    fn write(
        &self,
        kernels: &Kernels<LANES, Unit>,
        level: &PlainLevel,
        back_end: &BackEnd<'_>,
        blend: &Blend,
        rows: &Rows,
        places: &[[u32; 2]; LANES],
        wanted: u32,
    ) {
        let (Some(packer), Some(unpacker)) = (&self.format.packer, &self.format.unpacker) else {
            return;
        };
        let strip = (level.shift == 2 && wanted == 0xffff && !self.blends && self.mask.is_none())
            .then(|| strip(level, places))
            .flatten();
        let offsets = match strip {
            Some(_) => [0; LANES],
            None => offsets(level, places, wanted),
        };
        let mut old = [[0; LANES]; 4];
        if self.blends || self.mask.is_some() {
            // SAFETY: the pixels of `wanted` are inside of the level, whose texels may be read; the offsets of others
            // are 0, which is inside of the image.
            let texels =
                unsafe { Scattered::new(level.host(), &offsets, wanted, 1 << level.shift) };
            kernels.texels(&texels, &mut old);
        }
        let mut changed;
        let mut colour = &rows.colour;
        let to_one = back_end.output.blending.alpha_to_one && !self.format.is_integer();
        if to_one {
            changed = rows.colour;
            changed[3] = [1.0f32.to_bits(); LANES];
            colour = &changed;
        }
        if self.blends {
            let mut second = rows.second.unwrap_or([[0; LANES]; 4]);
            if to_one {
                second[3] = colour[3];
            }
            let picks: [Pick; 4] = std::array::from_fn(|c| self.format.pick(c));
            let mut seen = [[0; LANES]; 4];
            let outside = [0; LANES];
            let tap = Tap {
                unpacker,
                words: &old,
                x: &[0; LANES],
                outside: &outside,
                border: [0; 4],
                wanted: 0,
            };
            let delivery = Delivery { picks: &picks, mask: 15, narrow: false, integer: false };
            kernels.deliver_tap(&tap, &delivery, &mut seen);
            if !self.target.order.is_same() {
                seen = self.target.order.seen(seen);
            }
            let numeric: Numeric = self.format.numeric();
            let blended = back_end.output.blending.blend_rows(
                blend,
                numeric,
                bytemuck::cast_ref(colour),
                bytemuck::cast_ref(&second),
                bytemuck::cast_ref(&seen),
            );
            changed = bytemuck::cast(blended);
            colour = &changed;
        }
        let mut words = [[0; LANES]; 4];
        if self.target.order.is_same() {
            packer.pack(kernels, colour, wanted, &mut words);
        } else {
            packer.pack(kernels, &self.target.order.stored(*colour), wanted, &mut words);
        }
        if let Some(mask) = &self.mask {
            for ((words, old), mask) in words.iter_mut().zip(&old).zip(mask) {
                for (word, old) in words.iter_mut().zip(old) {
                    *word = *word & mask | old & !mask;
                }
            }
        }
        // SAFETY: as above; the level is writable.
        unsafe {
            match strip {
                Some(rows) => write_runs(level, rows, &words[0]),
                None => scatter(level, &offsets, wanted, &words),
            }
        }
    }
}

/// The byte offsets of the four runs of 16 bytes, two per row, that contain a strip of eight by two 32-bit pixels
/// inside of the level; `None` if channels do not form a strip, or the pixels are not in such runs.
#[inline(always)]
fn strip(level: &PlainLevel, places: &[[u32; 2]; LANES]) -> Option<[u32; 4]> {
    let [x, y] = places[0];
    let next = |subspan: usize| places[4 * subspan] == [x + 2 * subspan as u32, y];
    if !(1..4).all(next) {
        return None;
    }
    runs(level, [x, y])
}

/// As [`strip`], for pixels that are known to form one.
#[inline(always)]
fn runs(level: &PlainLevel, [x, y]: [u32; 2]) -> Option<[u32; 4]> {
    if !x.is_multiple_of(4) || !level.begins_at_multiple(4) {
        return None;
    }
    let columns = [x, x + 4].map(|x| level.plain_column(x));
    let lines = [y, y + 1].map(|y| level.plain_line(y));
    let at = |column: usize, line: usize| columns[column].wrapping_add(lines[line]) << 2;
    Some([at(0, 0), at(0, 1), at(1, 0), at(1, 1)])
}

/// Writes the texels of a strip.
///
/// # Safety
/// At the offsets there must be 16 bytes of the level.
#[inline(always)]
unsafe fn write_runs(level: &PlainLevel, offsets: [u32; 4], words: &Row<LANES>) {
    let host = level.host();
    let squares = words.as_chunks::<8>().0.iter();
    for (squares, at) in squares.zip(offsets.as_chunks::<2>().0) {
        let [a, b, c, d, e, f, g, h] = *squares;
        for (row, offset) in [[a, b, e, f], [c, d, g, h]].into_iter().zip(at) {
            // SAFETY: the caller's promise.
            unsafe {
                host.wrapping_add(*offset as usize).cast::<[u32; 4]>().write_unaligned(row);
            }
        }
    }
}

/// Writes the texels of sixteen bytes of the strip that begins at a pixel.
///
/// # Safety
/// The strip must be inside of the level.
#[inline(always)]
unsafe fn write_wide(level: &PlainLevel, [x, y]: [u32; 2], words: &[Row<LANES>; 4]) {
    let [upper, lower] = [y, y + 1].map(|y| level.plain_line(y));
    let [a, b, c, d] = words.each_ref().map(|row| row.as_chunks::<4>().0);
    for ((((right, a), b), c), d) in (0..).step_by(2).zip(a).zip(b).zip(c).zip(d) {
        let [left, right] = [right, right + 1].map(|right| level.plain_column(x + right));
        let square = [(left, upper), (right, upper), (left, lower), (right, lower)];
        for ((column, line), texel) in square.into_iter().zip(transposed([*a, *b, *c, *d])) {
            let to = level.host().wrapping_add((column.wrapping_add(line) as usize) << 4);
            // SAFETY: the caller's promise.
            unsafe { to.cast::<[u32; 4]>().write_unaligned(texel) };
        }
    }
}

/// Byte offsets of the texels of subspans: groups of four channels that are two by two pixels, the first at even
/// coordinates.
fn offsets(level: &PlainLevel, places: &[[u32; 2]; LANES], wanted: u32) -> Row<LANES> {
    let mut offsets = [0; LANES];
    for (subspan, offsets) in offsets.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let own = wanted >> (4 * subspan) & 15;
        if own == 0 {
            continue;
        }
        let [x, y] = places[4 * subspan];
        let columns = [x, x + 1].map(|x| level.plain_column(x));
        let lines = [y, y + 1].map(|y| level.plain_line(y));
        for (pixel, offset) in offsets.iter_mut().enumerate() {
            if own >> pixel & 1 != 0 {
                *offset = (columns[pixel % 2] + lines[pixel / 2]) << level.shift;
            }
        }
    }
    offsets
}

/// Writes the texels of channels.
///
/// # Safety
/// At the offsets of the channels of `wanted`, there must be a texel of the level.
unsafe fn scatter(level: &PlainLevel, offsets: &Row<LANES>, wanted: u32, words: &[Row<LANES>; 4]) {
    let host = level.host();
    let place = |lane: usize| host.wrapping_add(offsets[lane] as usize);
    if level.shift == 2 {
        for (pair, two) in words[0].as_chunks::<2>().0.iter().enumerate() {
            let lane = 2 * pair;
            // SAFETY: the caller's promise; the texels of a pair are contiguous.
            unsafe {
                match wanted >> lane & 3 {
                    0 => {}
                    3 => place(lane).cast::<[u32; 2]>().write_unaligned(*two),
                    1 => place(lane).cast::<u32>().write_unaligned(two[0]),
                    _ => place(lane + 1).cast::<u32>().write_unaligned(two[1]),
                }
            }
        }
        return;
    }
    for lane in tepui_texel::lanes(wanted) {
        let [a, b, c, d] = words.map(|row| row[lane]);
        // SAFETY: the caller's promise.
        unsafe {
            match level.shift {
                0 => place(lane).write(a as u8),
                1 => place(lane).cast::<u16>().write_unaligned(a as u16),
                3 => place(lane).cast::<[u32; 2]>().write_unaligned([a, b]),
                _ => place(lane).cast::<[u32; 4]>().write_unaligned([a, b, c, d]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tepui_raster::{Samples, Tests};
    use tepui_softgpu::AddressSpace;

    use super::super::blend::Blending;
    use super::super::depth::DepthFormat;
    use super::super::target::OutputState;
    use super::super::unit::{GRID, MAX_SAMPLES};
    use super::*;
    use crate::format;
    use crate::port::surface::{ClearColour, Dimension, Image, Tiling};

    const BASE: u64 = 0x10_0000;
    const BYTES: usize = 1 << 16;

    fn image(number: u32, tiling: Tiling) -> Image {
        let format = format::find(number).unwrap();
        Image {
            base: BASE,
            dimension: Dimension::Two,
            cube: false,
            array: true,
            size: [21, 13, 1],
            layers: 1,
            first_layer: 0,
            level: 0,
            target_level: 0,
            levels: 1,
            min_lod: 0.0,
            pitch: 1024,
            qpitch: 16,
            align: [4, 4],
            tiling,
            tail: u32::MAX,
            offset: [0; 2],
            format,
            swizzle: [6, 5, 4, 7],
            samples: 1,
            interleaved: false,
            clear: ClearColour::default(),
            auxiliary: None,
            view: crate::compressed::View::PLAIN,
            may_be_clear: false,
        }
    }

    fn output(blending: Blending) -> OutputState {
        OutputState {
            blending,
            samples: Samples::<MAX_SAMPLES>::new(&GRID, 1, [[8; 2]; MAX_SAMPLES]),
            sample_mask: 1,
            stipple: None,
            tests: [Tests::NONE; 2],
            depth_bounds: None,
            late: true,
            depth_format: DepthFormat::Float,
            depth_present: false,
            mask_present: false,
            stencil_present: false,
            operation: None,
            depth_store: false,
        }
    }

    /// Random colours in formats of all sizes, blended, masked and replaced: rows give the same texels and counts as
    /// single pixels.
    #[test]
    fn rows_write_what_single_pixels_do() {
        let mut seed = 1u32;
        let mut next = move || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed ^ seed >> 15
        };
        let vm = AddressSpace::new(12, 48);
        let memory = Arc::new(tepui_softgpu::Memory::new(BYTES).unwrap());
        vm.bind(BASE, memory, 0, BYTES as u64, Protection::READ | Protection::WRITE).unwrap();
        let numbers = [0x0c7, 0x0c1, 0x0d8, 0x084, 0x0c2, 0x100, 0x140, 0x0cb, 0x0e9, 0x0c9, 0x002];
        let (mut written, mut strips) = (0, 0);
        for round in 0..600usize {
            let tiling = [Tiling::Linear, Tiling::X, Tiling::Y][round / 2 % 3];
            let image = image(numbers[round % numbers.len()], tiling);
            let mut blending = Blending::random(&mut next);
            blending.alpha_to_one = next() % 4 == 0;
            // Whole strips, as most threads have, half of which replace the contents.
            let whole = next() % 2 == 0;
            if whole && next() % 2 == 0 {
                blending = Blending::NONE;
            }
            let output = output(blending);
            // Finite floats, because the bits of a NaN are unspecified.
            let finite = image.format.numeric() == Numeric::Sfloat;
            let bits = if finite { 0x3b } else { 0xff };
            let bytes: Vec<u8> = (0..BYTES).map(|_| next() as u8 & bits).collect();
            let integer = image.format.is_integer();
            let mut colours = || {
                [(); 4].map(|()| {
                    [(); LANES].map(|()| match integer {
                        true => next(),
                        false => (next() as f32 / 2f32.powi(31) - 0.5).to_bits(),
                    })
                })
            };
            let mut rows =
                Rows { first: 0, channels: 0, colour: colours(), second: Some(colours()) };
            rows.channels = next() & 0xffff;
            rows.first = 16 * (next() % 2) as usize;
            let corner = [0, 0];
            // Distinct pixels: a thread has each pixel once.
            let start = next() % 77;
            let mut places: [[u32; 2]; 8] = std::array::from_fn(|slot| {
                let place = (start + 9 * slot as u32) % 77;
                [2 * (place % 11), 2 * (place / 11)]
            });
            let mut covered = next();
            if whole {
                let x = 2 * (next() % 7);
                places = std::array::from_fn(|slot| {
                    [x + 2 * (slot as u32 % 4), 2 * (slot as u32 / 4 + start % 5)]
                });
                (rows.channels, covered) = (0xffff, u32::MAX);
            }
            let mut left = Vec::new();
            for way in ["pixels", "rows", "strip"] {
                vm.write(BASE, &bytes).unwrap();
                let mut memory = Memory::new(&vm, crate::order::MemoryUnit::Sampler);
                let mut target = Target::new(image);
                let mut back_end = BackEnd::new(&output);
                back_end.begin_tile(corner, 0);
                for channel in 0..32 {
                    let [x, y] = places[channel / 4];
                    let pixel = channel as u32 % 4;
                    back_end.places[channel] = [x + pixel % 2, y + pixel / 2];
                    back_end.covered[channel] = covered >> channel & 1;
                }
                if way == "strip" {
                    let target = &mut target;
                    if rows.channels != 0xffff || covered != u32::MAX || rows.first != 0 {
                        continue;
                    }
                    back_end.begin_strip(places[0]);
                    let kernels = Kernels::of_host();
                    let colour = &rows.colour;
                    let first = places[0];
                    if back_end.write_strip(&mut memory, kernels, target, 0, first, colour)
                        != Ok(true)
                    {
                        continue;
                    }
                    strips += 1;
                } else if way == "rows" {
                    let kernels = Kernels::of_host();
                    let target = &mut target;
                    let done = back_end.write_rows(&mut memory, kernels, target, [0, 0], &rows);
                    assert_eq!(done, Ok(true), "{image:?}");
                    written += 1;
                } else {
                    for lane in tepui_texel::lanes(rows.channels) {
                        let channel = rows.first + lane;
                        if back_end.covered[channel] == 0 {
                            continue;
                        }
                        let of = |rows: &[Row<LANES>; 4]| rows.map(|row| row[lane]);
                        let one = PixelWrite {
                            colour: of(&rows.colour),
                            second: rows.second.as_ref().map(of).unwrap_or_default(),
                            ..PixelWrite::default()
                        };
                        let target = Some(&target);
                        back_end.write(&mut memory, target, [0, 0], channel, &one).unwrap();
                    }
                }
                let mut now = vec![0; BYTES];
                vm.read(BASE, &mut now).unwrap();
                left.push((now, back_end.passed));
            }
            for other in &left[1..] {
                assert!(left[0].1 == other.1, "samples that passed");
                assert!(left[0].0 == other.0, "round {round}: {image:?}");
            }
        }
        assert_eq!(written, 600);
        assert!(strips > 30, "{strips}");
    }
}
