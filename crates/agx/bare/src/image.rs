//! Images and samplers: memory in the hardware's layout, and the descriptors that shaders find them
//! by.

use tepui_agx_compiler::descriptor::{self, BUFFER_WIDTH, ROW_B};
use tepui_agx_layout::{Dimension, ImageDesc, ImageLayout, Layout, Shape, Threads, Tiling, Usage};
use tepui_agx_packets::pbe::Pbe;
use tepui_agx_packets::sampler::Sampler;
use tepui_agx_packets::texture::{
    Channel, Layout as Arrangement, SampleCount, Texture, TextureDimension,
};
use tepui_agx_texture::fields_of;
use tepui_format::Format;

pub use tepui_ir_gen::texels::format_of;

use crate::{Buffer, Error, Machine};

/// A row of descriptors, as the compiler's shaders expect it in memory.
pub type Row = [u8; ROW_B as usize];

/// The description of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageInfo {
    /// Format of a texel.
    pub format: Format,
    /// Shape.
    pub dimension: Dimension,
    /// Width, height and depth of level 0; 1 in directions that the shape does not have.
    pub size: [u32; 3],
    /// Array layers; six for each cube.
    pub layers: u32,
    /// Whether shaders see layers as an array.
    pub array: bool,
    /// Levels.
    pub levels: u32,
    /// Samples of a texel: 1, 2 or 4.
    pub samples: u32,
    /// Shaders store to it, so that a cube is an array of faces to them.
    pub storage: bool,
}

impl ImageInfo {
    /// A sampled 2D image of one level.
    #[must_use]
    pub const fn new_2d(format: Format, width: u32, height: u32) -> ImageInfo {
        ImageInfo {
            format,
            dimension: Dimension::D2,
            size: [width, height, 1],
            layers: 1,
            array: false,
            levels: 1,
            samples: 1,
            storage: false,
        }
    }

    /// The image for stores too.
    #[must_use]
    pub const fn stored(self) -> ImageInfo {
        ImageInfo { storage: true, ..self }
    }

    fn dimension(&self) -> TextureDimension {
        use TextureDimension as D;
        match (self.dimension, self.array, self.samples > 1) {
            (Dimension::D3, ..) => D::D3,
            (Dimension::Cube, _, _) if self.storage => D::D2Array,
            (Dimension::Cube, true, _) => D::CubeArray,
            (Dimension::Cube, false, _) => D::Cube,
            // One-dimensional images are of height 1.
            (_, false, false) => D::D2,
            (_, true, false) => D::D2Array,
            (_, false, true) => D::D2Multisampled,
            (_, true, true) => D::D2ArrayMultisampled,
        }
    }
}

/// An image in the machine's memory.
#[derive(Clone)]
pub struct Image {
    info: ImageInfo,
    layout: Layout,
    buffer: Buffer,
}

fn count(samples: u32) -> SampleCount {
    if samples == 4 { SampleCount::Four } else { SampleCount::Two }
}

/// Both descriptors of images of a format, with channels in order; shape and place are left open.
pub(crate) fn descriptors(format: Format) -> Result<(Texture, Pbe), Error> {
    let (channels, type_, srgb) = fields_of(format).ok_or(Error::Format(format))?;
    let [swizzle_r, swizzle_g, swizzle_b, swizzle_a] =
        [Channel::R, Channel::G, Channel::B, Channel::A];
    macro_rules! descriptor {
        ($Name:ident) => {
            $Name {
                channels,
                type_,
                srgb,
                swizzle_r,
                swizzle_g,
                swizzle_b,
                swizzle_a,
                ..$Name::default()
            }
        };
    }
    Ok((descriptor!(Texture), descriptor!(Pbe)))
}

/// Descriptors of consecutive texels, as images of [`BUFFER_WIDTH`] columns.
fn in_a_row(format: Format, address: u64, texels: u32) -> Result<(Texture, Pbe), Error> {
    let (texture, pbe) = descriptors(format)?;
    let (dimension, layout) = (TextureDimension::D2, Arrangement::Linear);
    let (width, height) = (BUFFER_WIDTH, texels.div_ceil(BUFFER_WIDTH).max(1));
    let stride = BUFFER_WIDTH * format.info().block.bytes;
    let buffer_size_sw = texels;
    Ok((
        Texture { dimension, layout, width, height, address, stride, buffer_size_sw, ..texture },
        Pbe { dimension, layout, width, height, buffer: address, stride, ..pbe },
    ))
}

impl Machine {
    /// An image of zeros.
    ///
    /// # Errors
    /// When the hardware cannot have this image, or memory cannot be allocated.
    pub fn image(&mut self, info: &ImageInfo) -> Result<Image, Error> {
        let layout = Layout::new(&ImageDesc {
            shape: Shape {
                format: info.format,
                dimension: match info.dimension {
                    Dimension::D1 => Dimension::D2,
                    d => d,
                },
                width_px: info.size[0],
                height_px: info.size[1],
                depth_px: info.size[2],
                layers: info.layers,
                samples: info.samples,
                levels: info.levels,
            },
            tiling: Tiling::Twiddled,
            usage: Usage { renderable: false, writable: info.storage },
            linear_stride_B: None,
        })?;
        descriptors(info.format)?;
        let buffer = self.buffer(layout.size_B as usize)?;
        Ok(Image { info: *info, layout, buffer })
    }
}

impl Image {
    /// Its description.
    #[must_use]
    pub fn info(&self) -> &ImageInfo {
        &self.info
    }

    /// Bytes of a texel, all samples together.
    fn texel_bytes(&self) -> usize {
        (self.info.format.info().block.bytes * self.info.samples) as usize
    }

    /// Bytes of a row of texels (of blocks, where the format has them) of a level, and rows.
    #[must_use]
    pub fn raster(&self, level: u32) -> (usize, usize) {
        let block = self.info.format.info().block;
        let side = |n: u32, b: u32| (n >> level).max(1).div_ceil(b) as usize;
        (
            side(self.info.size[0], block.width_px) * self.texel_bytes(),
            side(self.info.size[1], block.height_px),
        )
    }

    /// Writes a level of a layer (or slice) from rows of texels, samples of a texel together.
    ///
    /// # Errors
    /// When the level does not exist, or there are too few bytes.
    pub fn write(&self, level: u32, layer: u32, raster: &[u8]) -> Result<(), Error> {
        let mut bytes = self.buffer.read()?;
        let region = self.layout.whole_level(level, layer, 0).ok_or(Error::NoLevel(level))?;
        let (stride, _) = self.raster(level);
        self.layout.tile(&mut bytes, region, raster, stride, Threads::One)?;
        Ok(self.buffer.write(&bytes)?)
    }

    /// Reads a level of a layer (or slice).
    ///
    /// # Errors
    /// When the level does not exist.
    pub fn read(&self, level: u32, layer: u32) -> Result<Vec<u8>, Error> {
        let bytes = self.buffer.read()?;
        let region = self.layout.whole_level(level, layer, 0).ok_or(Error::NoLevel(level))?;
        let (stride, rows) = self.raster(level);
        let mut raster = vec![0; stride * rows];
        self.layout.detile(&bytes, region, &mut raster, stride, Threads::One)?;
        Ok(raster)
    }

    /// The texture descriptor.
    ///
    /// # Errors
    /// When a value does not fit.
    pub fn texture(&self) -> Result<[u8; 24], Error> {
        let i = &self.info;
        let d = Texture {
            dimension: i.dimension(),
            layout: Arrangement::Gpu,
            width: i.size[0],
            height: i.size[1],
            first_level: 0,
            last_level: i.levels - 1,
            samples: count(i.samples),
            address: self.buffer.address(),
            unk_mipmapped: i.levels > 1,
            depth: match i.dimension {
                Dimension::D3 => i.size[2],
                Dimension::Cube if !i.storage => i.layers / 6,
                _ => i.layers,
            },
            page_aligned_layers: self.layout.page_aligned_layers,
            ..descriptors(i.format)?.0
        };
        Ok(array(&d.pack()?))
    }

    fn pbe(&self) -> Result<[u8; 24], Error> {
        let i = &self.info;
        if i.samples > 1 {
            // Shaders store sample by sample.
            let bytes = u64::from(i.format.info().block.bytes);
            let samples = (self.layout.size_B / bytes) as u32;
            return Ok(array(&in_a_row(i.format, self.buffer.address(), samples)?.1.pack()?));
        }
        let d = Pbe {
            dimension: i.dimension(),
            layout: Arrangement::Gpu,
            width: i.size[0],
            height: i.size[1],
            buffer: self.buffer.address(),
            unk_mipmapped: i.levels > 1,
            levels: i.levels,
            layers: if i.dimension == Dimension::D3 { i.size[2] } else { i.layers },
            page_aligned_layers: self.layout.page_aligned_layers,
            // Fields that the compiler does not use have their smallest legal values.
            tile_width_sw: 1,
            tile_height_sw: 1,
            ..descriptors(i.format)?.1
        };
        Ok(array(&d.pack()?))
    }

    /// The row of descriptors.
    ///
    /// # Errors
    /// When a value does not fit.
    pub fn row(&self) -> Result<Row, Error> {
        let mut row: Row = [0; ROW_B as usize];
        put(&mut row, descriptor::TEXTURE_B, &self.texture()?);
        if self.info.storage {
            put(&mut row, descriptor::PBE_B, &self.pbe()?);
            let level = &self.layout.levels()[0];
            let [tile_w, tile_h] = level.tile_el.to_array();
            put(&mut row, descriptor::PITCH_B, &(level.tiles.w * tile_w).to_le_bytes());
            let logs = [self.info.samples, tile_w, tile_h].map(|n| n.ilog2() as u8);
            put(&mut row, descriptor::LOGS_B, &logs);
            let bytes = u64::from(self.info.format.info().block.bytes);
            let layer = (self.layout.layer_stride_B / bytes) as u32;
            put(&mut row, descriptor::LAYER_B, &layer.to_le_bytes());
        }
        Ok(row)
    }
}

/// The row of a texel buffer: `texels` of a format from the start of a buffer on.
///
/// # Errors
/// When the hardware does not have the format, or a value does not fit.
pub fn texel_buffer(format: Format, buffer: &Buffer, texels: u32) -> Result<Row, Error> {
    let (texture, pbe) = in_a_row(format, buffer.address(), texels)?;
    let mut row: Row = [0; ROW_B as usize];
    put(&mut row, descriptor::TEXTURE_B, &texture.pack()?);
    put(&mut row, descriptor::PBE_B, &pbe.pack()?);
    Ok(row)
}

/// Packs a sampler.
///
/// # Errors
/// When a value does not fit.
pub fn sampler(s: &Sampler) -> Result<[u8; 8], Error> {
    Ok(array(&s.pack()?))
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    let n = bytes.len().min(N);
    out[..n].copy_from_slice(&bytes[..n]);
    out
}

fn put(row: &mut Row, at: u32, bytes: &[u8]) {
    row[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
}
