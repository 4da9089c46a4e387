//! A tile of the tilebuffer to an image.

use tepui_agx_packets::texture::TextureType;
use tepui_softgpu::Access;

use crate::error::Fault;
use crate::image::Level;
use crate::memory::Memory;
use crate::pbe::{Block, BlockStore, Pbe, in_memory_order, put};
use crate::tile::{TileFormat, Tilebuffer, Value};
use crate::unit::{self, Descriptor, Unit};
use crate::{LANES, compression, half};

/// The most pixels in a row of a tile.
const MAX_SIDE: usize = 32;

/// The most bytes of a texel.
const MAX_BYTES: usize = 16;

impl Unit {
    /// Writes a tile of local memory to an image. Pixels outside of the image are dropped.
    ///
    /// # Errors
    /// When a texel is not mapped, the descriptor is not understood, or the tile is not inside of local
    /// memory.
    pub fn write_block<M: Memory>(
        &mut self,
        memory: &mut M,
        store: &BlockStore,
        image: &Descriptor,
        block: &Block,
        tile: &Tilebuffer,
        local: &[u8],
    ) -> Result<(), Fault> {
        let Unit { images, notes, .. } = self;
        let pbe = unit::image(images, image)?;
        let Some(level) = pbe.level(block.level) else { return Ok(()) };
        let [x0, y0] = block.at;
        if block.layer >= pbe.depth(level) || x0 >= level.width || y0 >= level.height {
            return Ok(());
        }
        let x1 = x0.saturating_add(tile.size[0]).min(level.width);
        let y1 = y0.saturating_add(tile.size[1]).min(level.height);
        let layer = u64::from(block.layer);
        compression::open_tiles(memory, notes, &pbe.image, level, layer, [x0, y0, x1, y1])?;
        let area = Area { level, x: [x0, x1], y: [y0, y1], block, tile, local };
        match bytes_as_they_are(pbe, store.format) {
            Some(order) if area.copy(memory, pbe, &order)? => Ok(()),
            _ => area.convert(memory, pbe, store.format),
        }
    }
}

/// For each byte of a texel, the byte of the tile's pixel that it is; `None` if a conversion stands in
/// between.
fn bytes_as_they_are(pbe: &Pbe, format: TileFormat) -> Option<[u8; MAX_BYTES]> {
    let same = match format {
        TileFormat::U8Norm | TileFormat::Srgba8 | TileFormat::U16Norm => {
            pbe.type_ == TextureType::Unorm
        }
        TileFormat::I8 => matches!(pbe.type_, TextureType::Uint | TextureType::Sint),
        // Mesa names halves I16; see `stored`.
        TileFormat::I16 | TileFormat::I32 => {
            matches!(pbe.type_, TextureType::Uint | TextureType::Sint | TextureType::Float)
        }
        _ => false,
    };
    let (unit, channels) = (format.unit(), pbe.tile_packer.channels() as usize);
    if !same || unit * channels != pbe.image.sample_bytes as usize || unit * channels > MAX_BYTES {
        return None;
    }
    let mut order = [0; MAX_BYTES];
    for (channel, bytes) in order.chunks_exact_mut(unit).enumerate().take(channels) {
        // A component that the tile does not keep.
        if pbe.swizzle[channel] >= channels {
            return None;
        }
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = (pbe.swizzle[channel] * unit + i) as u8;
        }
    }
    Some(order)
}

/// The part of a tile that is inside of the image.
struct Area<'a> {
    level: &'a Level,
    x: [u32; 2],
    y: [u32; 2],
    block: &'a Block,
    tile: &'a Tilebuffer,
    local: &'a [u8],
}

impl Area<'_> {
    /// Copies bytes. False if the image is not side by side in host memory: then nothing was done.
    fn copy<M: Memory>(
        &self,
        memory: &mut M,
        pbe: &Pbe,
        order: &[u8; MAX_BYTES],
    ) -> Result<bool, Fault> {
        let image = &pbe.image;
        let Some(span) = image.span.filter(|_| image.folios.is_none()) else { return Ok(false) };
        let Some(host) = memory.window(image.address, span, Access::Write) else {
            return Ok(false);
        };
        let start = u64::from(self.block.layer) * image.layer_stride + self.level.offset;
        let samples = image.samples.min(self.tile.samples);
        let bytes = image.sample_bytes as usize;
        let in_order = order[..bytes].iter().enumerate().all(|(i, &b)| i == usize::from(b));
        let shuffle = |pixel: &[u8]| {
            let mut texel = [0; MAX_BYTES];
            for (byte, &from) in texel.iter_mut().zip(order).take(bytes) {
                *byte = pixel[usize::from(from)];
            }
            texel
        };
        let [width, height] = [self.x, self.y].map(|[from, to]| to - from);
        let columns: [u32; MAX_SIDE] =
            std::array::from_fn(|i| self.level.column(self.x[0] + (i as u32).min(width - 1)));
        // Twiddled images have pairs of texels side by side.
        let pairs = bytes == 4
            && samples == 1
            && image.samples == 1
            && width % 2 == 0
            && (0..width as usize).step_by(2).all(|i| columns[i + 1] == columns[i] + 1);
        let pixel_bytes = (self.tile.samples * self.tile.sample_bytes) as usize;
        for y in 0..height {
            let line = self.level.line(self.y[0] + y);
            let row = self.tile.offset(0, y, 0) + self.block.offset as usize;
            let last = row + (width as usize - 1) * pixel_bytes;
            let reach = last + ((samples - 1) * self.tile.sample_bytes) as usize + bytes;
            let Some(row) = self.local.get(row..reach) else {
                return Err(Fault::Unknown("a tile outside of local memory"));
            };
            if pairs {
                for x in (0..width as usize).step_by(2) {
                    let word = |x: usize| {
                        let pixel = &row[x * pixel_bytes..x * pixel_bytes + 4];
                        let pixel = if in_order { pixel } else { &shuffle(pixel)[..4] };
                        u64::from(u32::from_le_bytes([pixel[0], pixel[1], pixel[2], pixel[3]]))
                    };
                    let two = (word(x) | word(x + 1) << 32).to_le();
                    let offset = start + (u64::from(line + columns[x]) << 2);
                    // SAFETY: the span covers all texels of all layers, of which these are two.
                    unsafe { host.add(offset as usize).cast::<u64>().write_unaligned(two) };
                }
                continue;
            }
            for x in 0..width as usize {
                let element = u64::from(line + columns[x]) << image.element_shift;
                for sample in 0..samples {
                    let at = x * pixel_bytes + (sample * self.tile.sample_bytes) as usize;
                    let pixel = &row[at..at + bytes];
                    let offset = start + element + u64::from(sample * image.sample_bytes);
                    // SAFETY: the span covers all texels of all layers, of which this is one; the
                    // pixel's bytes lie in the slice.
                    unsafe {
                        let to = host.add(offset as usize);
                        if in_order {
                            copy(pixel.as_ptr(), to, bytes);
                        } else {
                            copy(shuffle(pixel).as_ptr(), to, bytes);
                        }
                    }
                }
            }
        }
        Ok(true)
    }

    fn convert<M: Memory>(
        &self,
        memory: &mut M,
        pbe: &Pbe,
        format: TileFormat,
    ) -> Result<(), Fault> {
        let samples = pbe.image.samples.min(self.tile.samples);
        for y in self.y[0]..self.y[1] {
            for x in (self.x[0]..self.x[1]).step_by(LANES) {
                let count = (self.x[1] - x).min(LANES as u32);
                let exec = u32::MAX >> (LANES as u32 - count);
                for sample in 0..samples {
                    let mut components = [[0; LANES]; 4];
                    for i in 0..count {
                        let at = self.tile.offset(x - self.x[0] + i, y - self.y[0], sample)
                            + self.block.offset as usize;
                        let pixel = self.local.get(at..).and_then(|from| stored(pbe, format, from));
                        let Some(pixel) = pixel else {
                            return Err(Fault::Unknown("a tile outside of local memory"));
                        };
                        for (row, value) in components.iter_mut().zip(pixel) {
                            row[i as usize] = value;
                        }
                    }
                    let mut words = [[0; LANES]; 4];
                    pbe.tile_packer.pack(&in_memory_order(pbe, &components), exec, &mut words);
                    for i in 0..count as usize {
                        let bits = [words[0][i], words[1][i], words[2][i], words[3][i]];
                        let at = [x + i as u32, y, self.block.layer, sample];
                        put(memory, &pbe.image, self.level, at, &bits)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Copies a texel; the usual sizes without a call.
///
/// # Safety
/// Both pointers must be valid for `bytes` bytes and not overlap.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            _ => std::ptr::copy_nonoverlapping(from, to, bytes),
        }
    }
}

/// The components of a pixel in the tile as the packer wants them: floats' bits or integers. Formats
/// of bits hold what the image holds: floats of their size for images of floats and fixed point.
/// source: Mesa's agx_compile.c, `agx_emit_block_image_store`, which names halves I16
fn stored(pbe: &Pbe, format: TileFormat, from: &[u8]) -> Option<[u32; 4]> {
    // Of a pixel at the end of local memory, only the channels that the image has are there.
    let count = pbe.tile_packer.channels();
    let mask = (1u8 << count) - 1;
    // What was converted to sRGB stays as it is.
    let format = if format == TileFormat::Srgba8 { TileFormat::U8Norm } else { format };
    let value = format.load(mask, from)?;
    if format.value() == Value::Float || !pbe.tile_packer.is_float() {
        return Some(match (format, pbe.signed) {
            (TileFormat::I8, true) => value.map(|v| v as u8 as i8 as i32 as u32),
            (TileFormat::I16, true) => value.map(|v| v as u16 as i16 as i32 as u32),
            _ => value,
        });
    }
    Some(match format {
        TileFormat::I16 => value.map(|v| half::widen(v & 0xffff).to_bits()),
        _ => value,
    })
}
