//! The interpreter's memory as the machine's: the same texels in both, so that a shader can run in
//! either.

use tepui_agx_layout::Dimension;
use tepui_agx_packets::sampler as hw;
use tepui_format::Format;
use tepui_ir::interp::{Compare, Filter, ImageData, Memory, SamplerData, Slot, Wrap};
use tepui_ir::{Dim, NumKind, ResKind, Shader};
use tepui_ir_gen::texels::format_of;
pub use tepui_ir_gen::texels::{bytes, quantise, texels};

use crate::image::{self, Image, ImageInfo, Row};
use crate::shader::Bindings;
use crate::{Buffer, Error, Machine};

/// The buffers and images of a shader, in the machine's memory.
pub struct Bound {
    /// The bindings that [`crate::shader::run`] takes.
    pub bindings: Bindings,
    images: Vec<(Slot, Image, NumKind)>,
    texel_buffers: Vec<(Slot, Buffer, Format, NumKind)>,
}

impl Bound {
    /// Everything of `memory` that the shader's resources name.
    ///
    /// # Errors
    /// When the hardware cannot have this image, or memory cannot be allocated.
    pub fn new(machine: &mut Machine, s: &Shader, memory: &Memory) -> Result<Bound, Error> {
        let bindings = Bindings { push: memory.push.clone(), ..Bindings::default() };
        let mut b = Bound { bindings, images: Vec::new(), texel_buffers: Vec::new() };
        for (slot, bytes) in &memory.buffers {
            let buffer = machine.buffer(bytes.len())?;
            buffer.write(bytes)?;
            b.bindings.buffers.insert(*slot, buffer);
        }
        for (slot, s) in &memory.samplers {
            b.bindings.samplers.insert(*slot, sampler(s)?);
        }
        for (slot, data) in &memory.images {
            let named = s.resources.values().find(|r| (r.set, r.binding) == (slot.0, slot.1));
            let Some(r) = named else { continue };
            let format = format_of(data.format).ok_or(Error::Texels(data.format))?;
            let row = if r.dim == Dim::Buffer {
                let (buffer, row) = buffer(machine, data, format, r.texels)?;
                b.texel_buffers.push((*slot, buffer, format, r.texels));
                row
            } else {
                let storage = r.kind == ResKind::StorageImage;
                let image = image(machine, data, format, r.texels, (r.dim, r.array), storage)?;
                let row = image.row()?;
                b.images.push((*slot, image, r.texels));
                row
            };
            b.bindings.images.insert(*slot, row);
        }
        Ok(b)
    }

    /// The current memory; `start` holds its initial contents.
    ///
    /// # Errors
    /// When `start` is something else.
    pub fn memory(&self, start: &Memory) -> Result<Memory, Error> {
        let mut now = start.clone();
        for (slot, buffer) in &self.bindings.buffers {
            now.buffers.insert(*slot, buffer.read()?);
        }
        for (slot, i, kind) in &self.images {
            now.images.insert(*slot, download(i, &start.images[slot], *kind)?);
        }
        for (slot, b, format, kind) in &self.texel_buffers {
            let data = download_buffer(b, &start.images[slot], *format, *kind)?;
            now.images.insert(*slot, data);
        }
        Ok(now)
    }
}

/// Slices of a level, each with its texels.
fn slices(data: &ImageData, level: usize) -> usize {
    let s = data.level_size(level);
    (s[2] * data.layers) as usize
}

/// An image with the texels of `data`.
///
/// # Errors
/// When the hardware cannot have this image, or memory cannot be allocated.
pub fn image(
    machine: &mut Machine,
    data: &ImageData,
    format: Format,
    kind: NumKind,
    shape: (Dim, bool),
    storage: bool,
) -> Result<Image, Error> {
    let info = ImageInfo {
        format,
        dimension: match shape.0 {
            Dim::D1 => Dimension::D1,
            Dim::D3 => Dimension::D3,
            Dim::Cube => Dimension::Cube,
            Dim::D2 | Dim::Buffer | Dim::Subpass => Dimension::D2,
        },
        size: data.size,
        layers: data.layers,
        array: shape.1,
        levels: data.levels.len() as u32,
        samples: data.samples,
        storage,
    };
    let image = machine.image(&info)?;
    for (l, level) in data.levels.iter().enumerate() {
        let n = level.len() / slices(data, l);
        for (k, slice) in level.chunks(n).enumerate() {
            image.write(l as u32, k as u32, &bytes(slice, format, kind)?)?;
        }
    }
    Ok(image)
}

/// The texels of an image as they are now.
///
/// # Errors
/// When `data` is not what the image was made of.
pub fn download(image: &Image, data: &ImageData, kind: NumKind) -> Result<ImageData, Error> {
    let mut out = data.clone();
    for (l, level) in out.levels.iter_mut().enumerate() {
        level.clear();
        for k in 0..slices(data, l) {
            let raster = image.read(l as u32, k as u32)?;
            level.extend(texels(&raster, image.info().format, kind)?);
        }
    }
    Ok(out)
}

/// A texel buffer with the texels of `data`.
///
/// # Errors
/// When the hardware does not have the format, or memory cannot be allocated.
pub fn buffer(
    machine: &mut Machine,
    data: &ImageData,
    format: Format,
    kind: NumKind,
) -> Result<(Buffer, Row), Error> {
    let bytes = bytes(&data.levels[0], format, kind)?;
    let b = machine.buffer(bytes.len())?;
    b.write(&bytes)?;
    let row = image::texel_buffer(format, &b, data.size[0])?;
    Ok((b, row))
}

/// The texels of a texel buffer as they are now.
///
/// # Errors
/// When `data` is not what the buffer was made of.
pub fn download_buffer(
    b: &Buffer,
    data: &ImageData,
    format: Format,
    kind: NumKind,
) -> Result<ImageData, Error> {
    let mut all = texels(&b.read()?, format, kind)?;
    all.truncate(data.levels[0].len());
    Ok(ImageData { levels: vec![all], ..data.clone() })
}

/// The descriptor of a sampler.
///
/// # Errors
/// When a value does not fit.
pub fn sampler(s: &SamplerData) -> Result<[u8; 8], Error> {
    let filter = |f| match f {
        Filter::Nearest => hw::Filter::Nearest,
        Filter::Linear => hw::Filter::Linear,
    };
    let [wrap_s, wrap_t, wrap_r] = s.wrap.map(|w| match w {
        Wrap::Clamp => hw::Wrap::ClampToEdge,
        Wrap::Repeat => hw::Wrap::Repeat,
        Wrap::Mirror => hw::Wrap::MirroredRepeat,
        Wrap::MirrorOnce => hw::Wrap::MirroredClampToEdge,
        Wrap::Border => hw::Wrap::ClampToBorder,
    });
    image::sampler(&hw::Sampler {
        minimum_lod: s.min_lod.clamp(0.0, 14.0),
        maximum_lod: s.max_lod.clamp(0.0, 14.0),
        maximum_anisotropy: 1,
        magnify: filter(s.mag),
        minify: filter(s.min),
        mip_filter: match s.mip {
            Filter::Nearest => hw::MipFilter::Nearest,
            Filter::Linear => hw::MipFilter::Linear,
        },
        wrap_s,
        wrap_t,
        wrap_r,
        pixel_coordinates: s.unnormalized,
        compare_enable: s.compare.is_some(),
        compare_func: match s.compare.unwrap_or(Compare::Never) {
            Compare::Never => hw::CompareFunc::Never,
            Compare::Less => hw::CompareFunc::Less,
            Compare::Equal => hw::CompareFunc::Equal,
            Compare::LessOrEqual => hw::CompareFunc::Lequal,
            Compare::Greater => hw::CompareFunc::Greater,
            Compare::NotEqual => hw::CompareFunc::NotEqual,
            Compare::GreaterOrEqual => hw::CompareFunc::Gequal,
            Compare::Always => hw::CompareFunc::Always,
        },
        border_colour: match s.border {
            [0, 0, 0, 0] => hw::BorderColour::TransparentBlack,
            [0, 0, 0, _] => hw::BorderColour::OpaqueBlack,
            [..] => hw::BorderColour::OpaqueWhite,
        },
        ..hw::Sampler::default()
    })
}
