//! The pixel back end (PBE): image stores, lane by lane or a tile at a time.

use tepui_agx_packets::Packet;
use tepui_agx_packets::pbe as packets;
use tepui_agx_packets::texture::{Channel, Layout, SampleCount, TextureDimension, TextureType};
use tepui_format::Format;
use tepui_softgpu::Access;
use tepui_texel::{LevelLayout, Packer, half, lanes};

use crate::compression;
use crate::error::{Fault, Unsupported};
use crate::fetch::sparse_address;
use crate::formats::{extended, format_of};
use crate::image::{Image, Level, Shape};
use crate::lanes::{Kernels, Placed};
use crate::memory::Memory;
use crate::tile::TileFormat;
use crate::unit::{self, Descriptor, Unit};
use crate::{LANES, Row};

/// A decoded PBE descriptor.
#[derive(Clone)]
pub struct Pbe {
    pub(crate) image: Image,
    packer: Packer,
    /// The format for tiles: they were converted to sRGB when they were written to the tilebuffer.
    pub(crate) tile_packer: Packer,
    /// The tile format whose words can be copied to memory unchanged; none in extended range.
    pub(crate) tile_format: Option<Format>,
    /// Type of the channels.
    pub(crate) type_: TextureType,
    /// Whether integers narrower than the format's are sign-extended.
    pub(crate) signed: bool,
    /// The component that is written to each channel in memory.
    pub(crate) swizzle: [usize; 4],
    /// The level that is written.
    level: u32,
    /// Layers, or slices of level 0.
    layers: u32,
    is_3d: bool,
}

impl Pbe {
    /// Decodes a descriptor.
    pub fn decode(bytes: &Descriptor) -> Result<Pbe, Unsupported> {
        let d = packets::Pbe::unpack(bytes)?;
        let packer = |srgb| -> Result<Packer, Unsupported> {
            Ok(match extended(d.channels, d.type_, srgb)? {
                Some(extended) => Packer::extended(extended)?,
                None => Packer::new(format_of(d.channels, d.type_, srgb)?)?,
            })
        };
        let tile_packer = packer(false)?;
        let tile_format = match extended(d.channels, d.type_, false)? {
            Some(_) => None,
            None => Some(tile_packer.format),
        };
        let packer = packer(d.srgb)?;
        let format = packer.format;
        let linear = d.layout == Layout::Linear;
        let is_3d = d.dimension == TextureDimension::D3;
        if d.rotate_90 || d.flip_vertical {
            return Err(Unsupported::Unknown("how a tile is turned"));
        }
        if d.compressed && !d.extended {
            return Err(Unsupported::Unknown("compression without metadata"));
        }
        let faces = match d.dimension {
            TextureDimension::Cube | TextureDimension::CubeArray => 6,
            _ => 1,
        };
        let layers = match (linear, d.extended) {
            (true, true) => d.depth_linear,
            (true, false) => 1,
            (false, _) => d.layers * faces,
        };
        let image = Image::new(&Shape {
            format,
            arrangement: d.layout,
            width: d.width,
            height: d.height,
            depth: if is_3d { layers } else { 1 },
            layers: if is_3d { 1 } else { layers },
            is_3d,
            samples: match (d.dimension.is_multisampled(), d.samples) {
                (false, _) => 1,
                (true, SampleCount::Two) => 2,
                (true, SampleCount::Four) => 4,
            },
            mipmapped: d.unk_mipmapped || (!linear && d.levels > 1),
            page_aligned_layers: d.page_aligned_layers,
            address: d.buffer,
            mode: d.mode,
            metadata: d.compressed.then_some(d.acceleration_buffer),
            stride: u64::from(d.stride),
            layer_stride: if linear && d.extended { d.layer_stride_linear } else { 0 },
        })?;
        let mut swizzle = [0; 4];
        let fields = [d.swizzle_r, d.swizzle_g, d.swizzle_b, d.swizzle_a];
        for (to, channel) in swizzle.iter_mut().zip(fields) {
            *to = match channel {
                Channel::R => 0,
                Channel::G => 1,
                Channel::B => 2,
                _ => 3,
            };
        }
        let signed = d.type_ == TextureType::Sint;
        Ok(Pbe {
            image,
            packer,
            tile_packer,
            tile_format,
            type_: d.type_,
            signed,
            swizzle,
            level: d.level,
            layers,
            is_3d,
        })
    }

    /// The level with a number relative to the descriptor's level.
    pub(crate) fn level(&self, number: u32) -> Option<&Level> {
        self.image.levels().get((self.level + number) as usize)
    }

    /// Slices or layers of a level.
    pub(crate) fn depth(&self, level: &Level) -> u32 {
        if self.is_3d { level.depth } else { self.layers }
    }
}

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

/// Where a tile is in the image and in local memory.
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
    /// Writes a texel for each lane of `exec`. Stores outside the image are dropped; if lanes write the same
    /// texel, the last lane wins.
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
        let Unit { images, notes, kernels, .. } = self;
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
            if level.metadata.is_some() {
                let texel = [x, y, x + 1, y + 1];
                compression::open_tiles(memory, notes, &pbe.image, level, u64::from(z), texel)?;
            }
            let bits = [words[0][i], words[1][i], words[2][i], words[3][i]];
            put(memory, &pbe.image, level, [x, y, z, s], &bits)?;
        }
        Ok(())
    }
}

impl Pbe {
    /// The fast path: a 2D level of an uncompressed image that is contiguous in host memory, the same level and
    /// layer in all lanes. Returns `None` in all other cases.
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
    let address = if image.folios.is_some() {
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
        // SAFETY: the window has `size` bytes that may be written, and `bytes` has at least as many.
        Some(host) => unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), host, size) },
        None => memory.write(address, &bytes[..size])?,
    }
    Ok(())
}
