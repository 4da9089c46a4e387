//! The tile buffer: colours, depth and stencil of 32 by 32 pixels.

use tepui_mali_layout::index_in_tile;
use tepui_mali_packets::framebuffer::{SFormat, ZsFormat};
use tepui_raster::{DepthStencil, TILE_SIDE};
use tepui_softgpu::{Fault, Protection, UnitMemory};

use super::MOST_SAMPLES;
use super::framebuffer::{Framebuffer, Target};
use super::target::Surface;

/// Most bytes of a pixel.
const MOST_BYTES: usize = 16;

/// Pixels of a tile.
const PIXELS: usize = TILE_SIDE * TILE_SIDE;

/// The tile buffer.
pub(crate) struct Tile {
    /// Bits of pixels: for each target, for each sample, row by row.
    colours: Vec<u128>,
    samples: usize,
    pub depth: DepthStencil<MOST_SAMPLES>,
    /// Something was drawn.
    pub dirty: bool,
}

impl Tile {
    /// The tile buffer for a framebuffer.
    pub fn new(framebuffer: &Framebuffer) -> Tile {
        let samples = framebuffer.samples.count;
        let mut depth = DepthStencil::of_samples(samples);
        depth.unorm_bits = framebuffer.unorm_bits();
        let colours = vec![0; framebuffer.targets.len() * samples * PIXELS];
        Tile { colours, samples, depth, dirty: false }
    }

    /// Begins a tile.
    pub fn clear(&mut self, framebuffer: &Framebuffer) {
        for (index, target) in framebuffer.targets.iter().enumerate() {
            let all = self.samples * PIXELS;
            self.colours[index * all..][..all].fill(target.clear);
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

    /// The bits of a pixel of a target; `None` if there is no such target.
    #[inline]
    pub fn colour(&mut self, target: usize, sample: usize, [x, y]: [u8; 2]) -> Option<&mut u128> {
        let index = (target * self.samples + sample) * PIXELS;
        self.colours.get_mut(index + usize::from(y) * TILE_SIDE + usize::from(x))
    }

    /// The bits of the first sample of a row of pixels of a target; `None` if there is no such target.
    pub fn colours(&mut self, target: usize, y: usize) -> Option<&mut [u128]> {
        let index = target * self.samples * PIXELS + y * TILE_SIDE;
        self.colours.get_mut(index..index + TILE_SIDE)
    }

    /// Writes the tile at a corner to memory, within a rectangle.
    pub fn write(
        &mut self,
        memory: &mut UnitMemory<'_>,
        framebuffer: &Framebuffer,
        corner: [u32; 2],
        area: [[u32; 2]; 2],
    ) -> Result<(), Fault> {
        for (index, target) in framebuffer.targets.iter().enumerate() {
            if let Some(surface) = target.surface.as_ref().filter(|_| self.dirty || target.clean) {
                let all = self.samples * PIXELS;
                let colours = &self.colours[index * all..][..all];
                write_colours(memory, target, surface, colours, self.samples, corner, area)?;
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
                // Stencils beside depths are written with them, also where only depths are named.
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

/// A depth as fixed point.
fn unorm(z: f32, bits: u32) -> u32 {
    let most = ((1u64 << bits) - 1) as f64;
    // A NaN becomes 0.
    (f64::from(z).clamp(0.0, 1.0) * most).round_ties_even() as u32
}

fn write_colours(
    memory: &mut UnitMemory<'_>,
    target: &Target,
    surface: &Surface,
    colours: &[u128],
    samples: usize,
    corner: [u32; 2],
    [min, max]: [[u32; 2]; 2],
) -> Result<(), Fault> {
    let bytes = target.format.bytes;
    surface.headers(memory, [min, max], bytes as u64)?;
    // A surface without samples of its own gets the first.
    let written = if surface.surface_stride == 0 { 1 } else { samples };
    let same = target.format.is_same();
    // The last pixel, as many neighbours are the same.
    let mut last = (0, target.format.to_memory(0));
    for sample in 0..written {
        for y in min[1]..max[1] {
            let row = (sample * TILE_SIDE + (y - corner[1]) as usize) * TILE_SIDE;
            let mut x = min[0];
            while x < max[0] {
                // Pixels that are side by side in memory.
                let end = (x + surface.run(x)).min(max[0]);
                let run = &colours[row + (x - corner[0]) as usize..][..(end - x) as usize];
                let mut texels = [0; TILE_SIDE * MOST_BYTES];
                if same {
                    put_pixels(run, &mut texels, bytes);
                }
                let others = if same { &[] } else { run };
                for (pixel, to) in others.iter().zip(texels.chunks_exact_mut(bytes.max(1))) {
                    if last.0 != *pixel {
                        last = (*pixel, target.format.to_memory(*pixel));
                    }
                    to.copy_from_slice(&last.1[..bytes]);
                }
                let at = surface.pixel([x, y], sample as u32, bytes as u64);
                if surface.is_consecutive() {
                    memory.write(at, &texels[..run.len() * bytes])?;
                } else {
                    write_tile_row(memory, at, x, y, &texels[..run.len() * bytes], bytes)?;
                }
                x = end;
            }
        }
    }
    Ok(())
}

/// The lowest bytes of pixels, one behind the other.
fn put_pixels(pixels: &[u128], texels: &mut [u8], bytes: usize) {
    fn put<const BYTES: usize>(pixels: &[u128], texels: &mut [u8]) {
        for (pixel, to) in pixels.iter().zip(texels.as_chunks_mut::<BYTES>().0) {
            to.copy_from_slice(&pixel.to_le_bytes()[..BYTES]);
        }
    }
    match bytes {
        1 => put::<1>(pixels, texels),
        2 => put::<2>(pixels, texels),
        4 => put::<4>(pixels, texels),
        8 => put::<8>(pixels, texels),
        16 => put::<16>(pixels, texels),
        _ => {
            for (pixel, to) in pixels.iter().zip(texels.chunks_exact_mut(bytes.max(1))) {
                to.copy_from_slice(&pixel.to_le_bytes()[..bytes]);
            }
        }
    }
}

/// Writes pixels of a row of a tile of 16 by 16, of which the first is at an address.
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
