//! The tile buffer: colours, depth and stencil of 32×32 pixels.

use arrayvec::ArrayVec;
use tepui_mali_layout::index_in_tile;
use tepui_mali_packets::framebuffer::{SFormat, ZsFormat};
use tepui_raster::{DepthStencil, TILE_SIDE};
use tepui_softgpu::{Fault, Protection, UnitMemory};

use super::colour::{MAX_WORDS, TargetFormat};
use super::framebuffer::{Framebuffer, Target};
use super::target::Surface;
use super::{MAX_SAMPLES, MAX_TARGETS};
use crate::warp::host::for_hosts;

/// Maximum number of bytes of a pixel.
const MAX_BYTES: usize = 4 * MAX_WORDS;

/// Pixels of a tile.
pub(crate) const PIXELS: usize = TILE_SIDE * TILE_SIDE;

/// The tile buffer.
pub(crate) struct Tile {
    /// Words of pixels: for each target, for each sample, row by row.
    colours: Vec<u32>,
    /// The first word of each target, and the words of its pixels.
    targets: ArrayVec<(usize, usize), MAX_TARGETS>,
    samples: usize,
    pub depth: DepthStencil<MAX_SAMPLES>,
    /// Whether something was drawn.
    pub dirty: bool,
}

impl Tile {
    /// The tile buffer for a framebuffer.
    pub fn new(framebuffer: &Framebuffer) -> Tile {
        let samples = framebuffer.samples.count;
        let mut depth = DepthStencil::of_samples(samples);
        depth.unorm_bits = framebuffer.unorm_bits();
        let mut end = 0;
        let mut targets = ArrayVec::new();
        for target in &framebuffer.targets {
            let words = target.format.words();
            targets.push((end, words));
            end += words * samples * PIXELS;
        }
        Tile { colours: vec![0; end], targets, samples, depth, dirty: false }
    }

    /// Begins a tile.
    pub fn clear(&mut self, framebuffer: &Framebuffer) {
        for (target, &(start, words)) in framebuffer.targets.iter().zip(&self.targets) {
            let all = &mut self.colours[start..][..words * self.samples * PIXELS];
            if words == 1 {
                all.fill(target.clear as u32);
            } else {
                for pixel in all.chunks_exact_mut(words) {
                    for (k, word) in pixel.iter_mut().enumerate() {
                        *word = (target.clear >> (32 * k)) as u32;
                    }
                }
            }
        }
        let p = &framebuffer.parameters;
        let depth = match framebuffer.unorm_bits() {
            0 => p.z_clear,
            bits => {
                let most = ((1u64 << bits) - 1) as f64;
                ((f64::from(p.z_clear).clamp(0.0, 1.0) * most).round_ties_even() / most) as f32
            }
        };
        self.depth.clear(self.samples, depth, p.s_clear as u8);
        self.dirty = false;
    }

    /// The words of a target's pixel, as many as its format has; `None` if there is no such target.
    #[inline]
    fn pixel(&mut self, target: usize, sample: usize, [x, y]: [u8; 2]) -> Option<&mut [u32]> {
        let &(start, words) = self.targets.get(target)?;
        let index = sample * PIXELS + usize::from(y) * TILE_SIDE + usize::from(x);
        self.colours.get_mut(start + index * words..)?.get_mut(..words)
    }

    /// The pixels of a target's first sample, row by row, if each is a word.
    #[inline]
    pub fn words(&mut self, target: usize) -> Option<&mut [u32; PIXELS]> {
        let &(start, words) = self.targets.get(target)?;
        let pixels = self.colours.get_mut(start..)?.first_chunk_mut();
        pixels.filter(|_| words == 1)
    }

    /// The words of a target's pixel, padded with zeros; `None` if there is no such target.
    #[inline]
    pub fn colour(&mut self, target: usize, sample: usize, place: [u8; 2]) -> Option<[u32; 4]> {
        let mut words = [0; MAX_WORDS];
        for (to, word) in words.iter_mut().zip(self.pixel(target, sample, place)?) {
            *to = *word;
        }
        Some(words)
    }

    /// Sets the words of a target's pixel, as many as its format has.
    #[inline]
    pub fn set_colour(&mut self, target: usize, sample: usize, place: [u8; 2], words: [u32; 4]) {
        for (to, word) in self.pixel(target, sample, place).into_iter().flatten().zip(words) {
            *to = word;
        }
    }

    /// Writes the tile at a corner to memory, within a rectangle.
    pub fn write(
        &mut self,
        memory: &mut UnitMemory<'_>,
        framebuffer: &Framebuffer,
        corner: [u32; 2],
        area: [[u32; 2]; 2],
    ) -> Result<(), Fault> {
        for (target, &(start, words)) in framebuffer.targets.iter().zip(&self.targets) {
            if let Some(surface) = target.surface.as_ref().filter(|_| self.dirty || target.clean) {
                let colours = &self.colours[start..][..words * self.samples * PIXELS];
                let (means, samples);
                let colours = match target.averages && self.samples > 1 {
                    true => {
                        (means, samples) = (average(&target.format, colours, words), 1);
                        (&means[..], words)
                    }
                    false => {
                        samples = self.samples;
                        (colours, words)
                    }
                };
                write_colours(memory, target, surface, colours, samples, corner, area)?;
            }
        }
        if self.dirty || framebuffer.clean_depth {
            self.write_depth(memory, framebuffer, corner, area)?;
        }
        Ok(())
    }

    fn write_depth(
        &mut self,
        memory: &mut UnitMemory<'_>,
        framebuffer: &Framebuffer,
        corner: [u32; 2],
        [min, max]: [[u32; 2]; 2],
    ) -> Result<(), Fault> {
        let mut stencils = [[0; TILE_SIDE]; TILE_SIDE];
        for sample in 0..self.samples {
            self.depth.stencil_texels(sample, &mut stencils);
            if let Some(target) = &framebuffer.depth {
                let bytes = if target.format == ZsFormat::D16 { 2 } else { 4 };
                target.surface.headers(memory, [min, max], bytes)?;
                // Stencil that is interleaved with depth is written with it, also if only depth is to be
                // written.
                let write_depth = framebuffer.parameters.z_write_enable;
                let write_stencil = write_depth || framebuffer.parameters.s_write_enable;
                for y in min[1]..max[1] {
                    let row = (y - corner[1]) as usize;
                    let depths = *self.depth.depth_row(sample, row);
                    for x in min[0]..max[0] {
                        let column = (x - corner[0]) as usize;
                        let z = depths[column];
                        let at = target.surface.pixel([x, y], sample as u32, bytes);
                        match target.format {
                            ZsFormat::D16 => {
                                memory.write(at, &(unorm(z, 16) as u16).to_le_bytes())?;
                            }
                            ZsFormat::D32 => memory.write(at, &z.to_le_bytes())?,
                            ZsFormat::D24 | ZsFormat::D24x8 => {
                                memory.write(at, &unorm(z, 24).to_le_bytes())?;
                            }
                            ZsFormat::D24s8 => {
                                let mut word = u32::from_le_bytes(memory.read_array(at)?);
                                if write_depth {
                                    word = word & !0xff_ffff | unorm(z, 24);
                                }
                                if write_stencil {
                                    word = word & 0xff_ffff | stencils[row][column] << 24;
                                }
                                memory.write(at, &word.to_le_bytes())?;
                            }
                        }
                    }
                }
            }
            if let Some(target) = &framebuffer.stencil {
                let bytes = if target.format == SFormat::S8 { 1 } else { 4 };
                target.surface.headers(memory, [min, max], bytes)?;
                for y in min[1]..max[1] {
                    for x in min[0]..max[0] {
                        let stencil =
                            stencils[(y - corner[1]) as usize][(x - corner[0]) as usize] as u8;
                        let at = target.surface.pixel([x, y], sample as u32, bytes);
                        let at = if target.format == SFormat::S8 { at } else { at + 3 };
                        memory.write(at, &[stencil])?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Means of the samples of a tile's pixels of `words` words each.
fn average(format: &TargetFormat, colours: &[u32], words: usize) -> Vec<u32> {
    let bits = |pixel: &[u32]| pixel.iter().rev().fold(0, |b, &word| b << 32 | u128::from(word));
    let sample_words = words * PIXELS;
    // The last pixel that was averaged, because neighbours are often equal.
    let mut last: (ArrayVec<u128, MAX_SAMPLES>, u128) = Default::default();
    let mut means = Vec::with_capacity(sample_words);
    for first in (0..sample_words).step_by(words) {
        let of_sample = |all: &[u32]| bits(&all[first..][..words]);
        let samples: ArrayVec<u128, MAX_SAMPLES> =
            colours.chunks_exact(sample_words).map(of_sample).collect();
        if samples != last.0 {
            let mean = format.mean(&samples);
            last = (samples, mean);
        }
        means.extend((0..words).map(|k| (last.1 >> (32 * k)) as u32));
    }
    means
}

/// A depth as fixed point.
fn unorm(z: f32, bits: u32) -> u32 {
    let most = ((1u64 << bits) - 1) as f64;
    // A NaN becomes 0.
    (f64::from(z).clamp(0.0, 1.0) * most).round_ties_even() as u32
}

for_hosts! {
    /// Writes a target's pixels of `words` words each to its surface, within a rectangle.
    fn write_colours(
        memory: &mut UnitMemory<'_>,
        target: &Target,
        surface: &Surface,
        colours: (&[u32], usize),
        samples: usize,
        corner: [u32; 2],
        area: [[u32; 2]; 2],
    ) -> Result<(), Fault> {
        let ((colours, words), [min, max]) = (colours, area);
        let bytes = target.format.bytes;
        surface.headers(memory, [min, max], bytes as u64)?;
        // A surface without sample stride gets the first sample.
        let written = if surface.surface_stride == 0 { 1 } else { samples };
        let mut texels = [0; TILE_SIDE * MAX_BYTES];
        for sample in 0..written {
            for y in min[1]..max[1] {
                let row = (sample * TILE_SIDE + (y - corner[1]) as usize) * TILE_SIDE;
                let mut x = min[0];
                while x < max[0] {
                    // Pixels that are contiguous in memory.
                    let end = (x + surface.run(x)).min(max[0]);
                    let first = row + (x - corner[0]) as usize;
                    let run = &colours[first * words..][..(end - x) as usize * words];
                    put_pixels(&target.format, run, words, &mut texels);
                    let texels = &texels[..(end - x) as usize * bytes];
                    let at = surface.pixel([x, y], sample as u32, bytes as u64);
                    if surface.is_consecutive() {
                        memory.write(at, texels)?;
                    } else {
                        write_tile_row(memory, at, x, y, texels, bytes)?;
                    }
                    x = end;
                }
            }
        }
        Ok(())
    }
}

/// Converts consecutive pixels to the format in memory.
#[inline(always)]
fn put_pixels(format: &TargetFormat, pixels: &[u32], words: usize, texels: &mut [u8]) {
    let bytes = format.bytes;
    if bytes == 4 && words == 1 {
        let mut converted = [0; TILE_SIDE];
        let converted = &mut converted[..pixels.len().min(TILE_SIDE)];
        let whole = match format.is_same() {
            true => Some(pixels),
            false => format.words_to_memory(pixels, converted).then_some(&*converted),
        };
        if let Some(whole) = whole {
            for (to, word) in texels.as_chunks_mut::<4>().0.iter_mut().zip(whole) {
                *to = word.to_le_bytes();
            }
            return;
        }
    }
    let same = format.is_same();
    // The last converted pixel, because neighbours are often equal.
    let mut last = (0, format.to_memory(0));
    for (pixel, to) in pixels.chunks_exact(words).zip(texels.chunks_exact_mut(bytes.max(1))) {
        let pixel = pixel.iter().rev().fold(0, |bits, word| bits << 32 | u128::from(*word));
        if same {
            to.copy_from_slice(&pixel.to_le_bytes()[..bytes]);
            continue;
        }
        if last.0 != pixel {
            last = (pixel, format.to_memory(pixel));
        }
        to.copy_from_slice(&last.1[..bytes]);
    }
}

/// Writes pixels of one row of a 16×16 tile, of which the first is at an address.
fn write_tile_row(
    memory: &mut UnitMemory<'_>,
    at: u64,
    x: u32,
    y: u32,
    texels: &[u8],
    bytes: usize,
) -> Result<(), Fault> {
    let index = |x: u32| u64::from(index_in_tile(x % 16, y % 16));
    let start = at.wrapping_sub(index(x) * bytes as u64);
    let whole = 256 * bytes as u64;
    match memory.window(start, whole, Protection::WRITE) {
        Some(host) => {
            for (x, texel) in (x..).zip(texels.chunks_exact(bytes)) {
                // SAFETY: the tile's 256 pixels were found to be there, and the index is below.
                unsafe {
                    let to = host.add(index(x) as usize * bytes);
                    std::ptr::copy_nonoverlapping(texel.as_ptr(), to, bytes);
                }
            }
        }
        None => {
            for (x, texel) in (x..).zip(texels.chunks_exact(bytes)) {
                memory.write(start.wrapping_add(index(x) * bytes as u64), texel)?;
            }
        }
    }
    Ok(())
}
