//! Block image stores: writes a tile of the tilebuffer to an image.

use tepui_agx_packets::texture::TextureType;
use tepui_softgpu::Access;
use tepui_texel::rows::{self, MAX_SIDE};
use tepui_texel::{LevelLayout, half};

use crate::error::Fault;
use crate::image::Descriptor;
use crate::image::Level;
use crate::lanes::Kernels;
use crate::memory::Memory;
use crate::pbe::Pbe;
use crate::store::{Block, BlockStore, in_memory_order, put};
use crate::tile::{TileFormat, Tilebuffer, Value};
use crate::unit::{self, Unit};
use crate::{LANES, compression};

/// Maximum number of bytes of a texel.
const MAX_BYTES: usize = 16;

impl Unit {
    /// Writes a tile of local memory to an image. Pixels outside of the image are dropped.
    ///
    /// # Errors
    /// When a texel is not mapped, the descriptor is not understood, or the tile is not inside of
    /// local memory.
    pub fn write_block<M: Memory>(
        &mut self,
        memory: &mut M,
        store: &BlockStore,
        image: &Descriptor,
        block: &Block,
        tile: &Tilebuffer,
        local: &[u8],
    ) -> Result<(), Fault> {
        let Unit { images, notes, kernels, .. } = self;
        let pbe = unit::image(images, image)?;
        if pbe.type_ == TextureType::Xr {
            return Err(Fault::Unknown("how a tile keeps extended range"));
        }
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
            Some(order) if area.copy_rows(memory, pbe, &order) => Ok(()),
            Some(order) if area.copy(memory, pbe, &order)? => Ok(()),
            _ => area.convert(memory, kernels, pbe, store.format),
        }
    }
}

/// For each byte of a texel, the byte of the tile's pixel that is copied to it; `None` if the store
/// converts between formats.
fn bytes_as_they_are(pbe: &Pbe, format: TileFormat) -> Option<[u8; MAX_BYTES]> {
    if format.packed().is_some() {
        // Packing the channels of a stored pixel again gives the same bits.
        let same = Some(format.word_format()) == pbe.tile_format && pbe.swizzle == [0, 1, 2, 3];
        return same.then(|| std::array::from_fn(|byte| byte as u8));
    }
    let same = match format {
        TileFormat::U8Norm | TileFormat::Srgba8 | TileFormat::U16Norm => {
            pbe.type_ == TextureType::Unorm
        }
        TileFormat::S8Norm | TileFormat::S16Norm => pbe.type_ == TextureType::Snorm,
        TileFormat::F16 => pbe.type_ == TextureType::Float,
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
        // The tile format has no such component.
        if pbe.swizzle[channel] >= channels {
            return None;
        }
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = (pbe.swizzle[channel] * unit + i) as u8;
        }
    }
    Some(order)
}

/// The part of a tile that lies inside the image.
struct Area<'a> {
    level: &'a Level,
    x: [u32; 2],
    y: [u32; 2],
    block: &'a Block,
    tile: &'a Tilebuffer,
    local: &'a [u8],
}

/// Permutation of the bytes of a pixel between tile and image.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// None.
    Same,
    /// Bytes 0 and 2 of four are swapped (BGRA).
    Swapped,
}

impl Area<'_> {
    /// Copies whole rows of pixels, or four rows at a time. Requires an image that is contiguous in
    /// host memory and linear, or twiddled in squares of 4x4 texels; otherwise returns false and
    /// copies nothing.
    fn copy_rows<M: Memory>(&self, memory: &mut M, pbe: &Pbe, order: &[u8; MAX_BYTES]) -> bool {
        let image = &pbe.image;
        let bytes = image.sample_bytes as usize;
        let order = match order[..bytes] {
            [2, 1, 0, 3] if image.samples == 1 => Order::Swapped,
            _ if (0..bytes).all(|i| usize::from(order[i]) == i) => Order::Same,
            _ => return false,
        };
        let samples_alike = image.samples == self.tile.samples
            && (image.samples == 1 || self.tile.sample_bytes == image.sample_bytes);
        if !samples_alike || !rows::suit(self.level, self.at(), self.size()) {
            return false;
        }
        let Some(span) = image.span.filter(|_| image.layer_table.is_none()) else { return false };
        let Some(host) = memory.window(image.address, span, Access::Write) else { return false };
        let start = u64::from(self.block.layer) * image.layer_stride + self.level.offset;
        // SAFETY: the span covers the level's start.
        let to = unsafe { host.add(start as usize) };
        // SAFETY: the span covers all texels of the level, of which `Area` has some.
        unsafe {
            match (1 << image.element_shift, order) {
                (4, Order::Swapped) => {
                    self.rows(to, |p: u32| p & 0xff00_ff00 | (p & 0x00ff_00ff).rotate_left(16))
                }
                (1, _) => self.rows(to, |p: u8| p),
                (2, _) => self.rows(to, |p: u16| p),
                (4, _) => self.rows(to, |p: u32| p),
                (8, _) => self.rows(to, |p: u64| p),
                (16, _) => self.rows(to, |p: u128| p),
                _ => false,
            }
        }
    }

    /// Copies pixels of the size of `T`, all samples together. Returns false if the tile is not
    /// inside local memory.
    ///
    /// # Safety
    /// `to` must be valid for writes of all texels of the level, which are of `T`'s size.
    unsafe fn rows<T: Copy + Default>(&self, to: *mut u8, change: impl Fn(T) -> T) -> bool {
        let step = (self.tile.samples * self.tile.sample_bytes) as usize;
        let [width, height] = self.size();
        let reach = (width - 1) * step + size_of::<T>();
        let first = |y: usize| self.tile.offset(0, y as u32, 0) + self.block.offset as usize;
        if first(height - 1) + reach > self.local.len() {
            return false;
        }
        let mut texels = [[T::default(); MAX_SIDE]; MAX_SIDE];
        for (y, row) in texels[..height].iter_mut().enumerate() {
            let from = self.local[first(y)..].as_ptr();
            let pixels = row[..width].iter_mut().enumerate();
            // The usual strides as constants, so that the loops are specialised for them.
            if step == size_of::<T>() {
                // SAFETY: the last pixel of the last row is inside of local memory.
                pixels.for_each(|(x, pixel)| unsafe {
                    *pixel = change(from.cast::<T>().add(x).read_unaligned());
                });
            } else if step == 2 * size_of::<T>() {
                // SAFETY: as before.
                pixels.for_each(|(x, pixel)| unsafe {
                    *pixel = change(from.cast::<T>().add(2 * x).read_unaligned());
                });
            } else {
                // SAFETY: as before.
                pixels.for_each(|(x, pixel)| unsafe {
                    *pixel = change(from.add(x * step).cast::<T>().read_unaligned());
                });
            }
        }
        // SAFETY: the caller's promise; the area is inside of the level.
        unsafe { rows::write(self.level, to, self.at(), self.size(), &texels) };
        true
    }

    /// First column and line.
    fn at(&self) -> [u32; 2] {
        [self.x[0], self.y[0]]
    }

    /// Columns and lines.
    fn size(&self) -> [usize; 2] {
        [self.x, self.y].map(|[from, to]| (to - from) as usize)
    }

    /// Copies the bytes of pixels. Returns false, with nothing copied, if the image is not
    /// contiguous in host memory.
    fn copy<M: Memory>(
        &self,
        memory: &mut M,
        pbe: &Pbe,
        order: &[u8; MAX_BYTES],
    ) -> Result<bool, Fault> {
        let image = &pbe.image;
        let Some(span) = image.span.filter(|_| image.layer_table.is_none()) else {
            return Ok(false);
        };
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
        let pixel_bytes = (self.tile.samples * self.tile.sample_bytes) as usize;
        for y in 0..height {
            let line = self.level.line(self.y[0] + y);
            let row = self.tile.offset(0, y, 0) + self.block.offset as usize;
            let last = row + (width as usize - 1) * pixel_bytes;
            let reach = last + ((samples - 1) * self.tile.sample_bytes) as usize + bytes;
            let Some(row) = self.local.get(row..reach) else {
                return Err(Fault::Unknown("a tile outside of local memory"));
            };
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
        kernels: &Kernels,
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
                    let channels = in_memory_order(pbe, &components);
                    pbe.tile_packer.pack(kernels, &channels, exec, &mut words);
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

/// Copies a texel; the usual sizes are inlined.
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

/// The components of a pixel of the tile as input of the packer: bits of floats, or integers.
/// Integer tile formats hold the image's own values: floats of that size if the image has floats or
/// fixed point.
/// source: Mesa's agx_compile.c, `agx_emit_block_image_store`, which names halves I16
fn stored(pbe: &Pbe, format: TileFormat, from: &[u8]) -> Option<[u32; 4]> {
    // A pixel at the end of local memory has only the channels that the image has.
    let count = pbe.tile_packer.channels();
    let mask = (1u8 << count) - 1;
    // Already converted to sRGB when it was written to the tilebuffer.
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
