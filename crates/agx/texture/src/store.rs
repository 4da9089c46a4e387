//! Stores of the pixel back end: texels from registers, one image store instruction at a time.

use tepui_agx_packets::texture::TextureDimension;
use tepui_softgpu::Access;
use tepui_texel::{LevelLayout, half, lanes};

use crate::error::Fault;
use crate::fetch::sparse_address;
use crate::image::Descriptor;
use crate::image::{Image, Level};
use crate::lanes::{Kernels, Placed};
use crate::memory::Memory;
use crate::pbe::Pbe;
use crate::tile::TileFormat;
use crate::unit::{self, Unit};
use crate::{LANES, Row};

/// The constant part of an image store instruction, made when the program is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// Dimensions of the coordinates.
    pub dimension: TextureDimension,
    /// The registers hold 16-bit floats or integers.
    pub narrow: bool,
}

/// Operands of an image store.
#[derive(Clone, Debug)]
pub struct StoreOperands {
    /// Coordinates, unsigned.
    pub coordinates: [Row; 3],
    /// Array layer.
    pub layer: Row,
    /// Sample.
    pub sample: Row,
    /// Level, counted from the descriptor's.
    pub level: Row,
    /// Components: bits of registers.
    pub components: [Row; 4],
}

impl Default for StoreOperands {
    fn default() -> Self {
        const ZERO: Row = [0; LANES];
        StoreOperands {
            coordinates: [ZERO; 3],
            layer: ZERO,
            sample: ZERO,
            level: ZERO,
            components: [ZERO; 4],
        }
    }
}

/// The constant part of a block image store instruction, made when the program is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockStore {
    /// Dimensions of the coordinates.
    pub dimension: TextureDimension,
    /// Format of the pixels in the tile.
    pub format: TileFormat,
}

/// Position of a tile in the image and in local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Column and row of the tile's first pixel.
    pub at: [u32; 2],
    /// Layer or slice.
    pub layer: u32,
    /// Level, counted from the descriptor's.
    pub level: u32,
    /// Byte offset of the pixel within each sample.
    pub offset: u32,
}

fn one_dimensional(dimension: TextureDimension) -> bool {
    matches!(dimension, TextureDimension::D1 | TextureDimension::D1Array)
}

fn layered(dimension: TextureDimension) -> bool {
    use TextureDimension::{CubeArray, D1Array, D2Array, D2ArrayMultisampled};
    matches!(dimension, D1Array | D2Array | CubeArray | D2ArrayMultisampled)
}

impl Unit {
    /// Writes a texel for each lane of `exec`. Stores outside the image are dropped; if lanes write
    /// the same texel, the last lane wins.
    ///
    /// # Errors
    /// When a texel is not mapped or the descriptor is not understood.
    pub fn write<M: Memory>(
        &mut self,
        memory: &mut M,
        store: &Store,
        image: &Descriptor,
        operands: &StoreOperands,
        exec: u32,
    ) -> Result<(), Fault> {
        let Unit { images, kernels, .. } = self;
        let pbe = unit::image(images, image)?;
        let mut words = [[0; LANES]; 4];
        let channels = channels(pbe, store.narrow, &operands.components);
        pbe.packer.pack(kernels, &channels, exec, &mut words);
        if pbe.write_plain(memory, kernels, store, operands, exec, &words).is_some() {
            return Ok(());
        }
        let StoreOperands { coordinates: [xs, ys, zs], layer, sample, level, .. } = operands;
        for i in lanes(exec) {
            let Some(level) = pbe.level(level[i] & 0xffff) else { continue };
            let (x, y) = (xs[i], if one_dimensional(store.dimension) { 0 } else { ys[i] });
            let z = match store.dimension {
                TextureDimension::D3 | TextureDimension::Cube => zs[i],
                d if layered(d) => layer[i] & 0xffff,
                _ => 0,
            };
            let s = if pbe.image.samples > 1 { sample[i] & 0xffff } else { 0 };
            let inside = x < level.width
                && y < level.height
                && z < pbe.depth(level)
                && s < pbe.image.samples;
            if !inside {
                continue;
            }
            // source: Mesa, hk_image.c, `hk_can_compress`: not supported in hardware
            if level.metadata.is_some() {
                return Err(Fault::Unknown("a store of a single texel to a compressed image"));
            }
            let bits = [words[0][i], words[1][i], words[2][i], words[3][i]];
            put(memory, &pbe.image, level, [x, y, z, s], &bits)?;
        }
        Ok(())
    }
}

impl Pbe {
    /// The fast path: a 2D level of an uncompressed image that is contiguous in host memory, the
    /// same level and layer in all lanes. Returns `None` in all other cases.
    fn write_plain<M: Memory>(
        &self,
        memory: &mut M,
        kernels: &Kernels,
        store: &Store,
        operands: &StoreOperands,
        exec: u32,
        words: &[Row; 4],
    ) -> Option<()> {
        let image = &self.image;
        let flat = matches!(store.dimension, TextureDimension::D2 | TextureDimension::D2Array);
        if !flat || !image.plain || exec == 0 {
            return None;
        }
        let StoreOperands { coordinates: [x, y, _], layer, level: number, .. } = operands;
        let first = exec.trailing_zeros() as usize;
        let level = self.level(number[first] & 0xffff)?;
        let z = if layered(store.dimension) { layer[first] & 0xffff } else { 0 };
        let alike = lanes(exec).all(|i| {
            let same_layer = !layered(store.dimension) || layer[i] & 0xffff == z;
            (number[i] ^ number[first]) & 0xffff == 0 && same_layer
        });
        if !alike || level.metadata.is_some() || z >= self.depth(level) {
            return None;
        }
        let host = memory.window(image.address, image.span?, Access::Write)?;
        let start = level.offset + u64::from(z) * image.layer_stride;
        // SAFETY: levels of layers start inside of the image's span.
        let to = unsafe { host.add(start as usize) };
        let mut placed = Placed::ZERO;
        kernels.place_load(level, [x, y], &mut placed);
        let mut offsets = [0; LANES];
        let at = [&placed.at[0], &placed.at[1]];
        kernels.texel_offsets(level, image.element_shift, [u32::MAX; 2], at, &mut offsets);
        for i in lanes(exec).filter(|&i| placed.outside[i] == 0) {
            // SAFETY: the texel is inside of the level, whose texels the span covers.
            unsafe {
                let to = to.add(offsets[i] as usize);
                match image.sample_bytes {
                    1 => to.write(words[0][i] as u8),
                    2 => to.cast::<u16>().write_unaligned(words[0][i] as u16),
                    4 => to.cast::<u32>().write_unaligned(words[0][i]),
                    8 => to.cast::<[u32; 2]>().write_unaligned([words[0][i], words[1][i]]),
                    _ => to.cast::<[u32; 4]>().write_unaligned(words.map(|word| word[i])),
                }
            }
        }
        Some(())
    }
}

/// Components of registers as input of the packer, in the order of channels in memory.
fn channels(pbe: &Pbe, narrow: bool, components: &[Row; 4]) -> [Row; 4] {
    let mut out = in_memory_order(pbe, components);
    if narrow {
        for row in &mut out {
            for v in row.iter_mut() {
                *v = match (pbe.packer.is_float(), pbe.signed) {
                    (true, _) => half::widen(*v & 0xffff).to_bits(),
                    (false, true) => *v as u16 as i16 as i32 as u32,
                    (false, false) => *v & 0xffff,
                };
            }
        }
    }
    out
}

pub(crate) fn in_memory_order(pbe: &Pbe, components: &[Row; 4]) -> [Row; 4] {
    std::array::from_fn(|c| components[pbe.swizzle[c]])
}

/// Writes the bits of one texel, which must be inside the image.
pub(crate) fn put<M: Memory>(
    memory: &mut M,
    image: &Image,
    level: &Level,
    [x, y, z, sample]: [u32; 4],
    words: &[u32; 4],
) -> Result<(), Fault> {
    let element = u64::from(level.element(x, y)) << image.element_shift;
    let in_layer = level.offset + element + u64::from(sample * image.sample_bytes);
    let address = if image.layer_table.is_some() {
        match sparse_address(memory, image, u64::from(z), in_layer)? {
            Some(address) => address,
            None => return Ok(()),
        }
    } else {
        let offset = u64::from(z) * image.layer_stride + in_layer;
        image.address.wrapping_add(offset)
    };
    let mut bytes = [0; 16];
    for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    let size = image.sample_bytes as usize;
    match memory.window(address, size as u64, Access::Write) {
        // SAFETY: the window has `size` bytes that may be written, and `bytes` has at least as
        // many.
        Some(host) => unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), host, size) },
        None => memory.write(address, &bytes[..size])?,
    }
    Ok(())
}
