//! Images of the interpreter as images in the model's memory.
#![allow(dead_code, reason = "each test takes what it needs")]

pub use tepui_agx_bare::image::format_of;
use tepui_agx_bare::image::{self, Image, ImageInfo, Row};
use tepui_agx_bare::{Buffer, Machine};
use tepui_agx_layout::Dimension;
use tepui_agx_packets::sampler as hw;
use tepui_format::Format;
use tepui_format::texel::{self, TexelCodec};
use tepui_ir::interp::{Compare, Filter, ImageData, SamplerData, Wrap};
use tepui_ir::{Dim, NumKind};

/// A texel's bytes from components as bits.
fn encode(c: &TexelCodec, kind: NumKind, t: [u64; 4]) -> u128 {
    match kind {
        NumKind::Float => c.pack_f32(t.map(|x| f32::from_bits(x as u32))),
        NumKind::Sint => c.pack_i32(t.map(|x| x as u32 as i32)),
        NumKind::Uint => c.pack_u32(t.map(|x| x as u32)),
    }
}

fn decode(c: &TexelCodec, kind: NumKind, raw: u128) -> [u64; 4] {
    match kind {
        NumKind::Float => c.unpack_f32(raw).map(|x| u64::from(x.to_bits())),
        NumKind::Sint => c.unpack_i32(raw).map(|x| u64::from(x as u32)),
        NumKind::Uint => c.unpack_u32(raw).map(u64::from),
    }
}

/// What the format keeps of every texel.
pub fn quantise(data: &mut ImageData, format: Format, kind: NumKind) {
    let c = TexelCodec::new(format).expect("a plain format");
    for t in data.levels.iter_mut().flatten() {
        *t = decode(&c, kind, encode(&c, kind, *t));
    }
}

/// Slices of a level, each with its texels.
fn slices(data: &ImageData, level: usize) -> usize {
    let s = data.level_size(level);
    (s[2] * data.layers) as usize
}

/// An image with the texels of `data`.
pub fn image(
    machine: &mut Machine,
    data: &ImageData,
    format: Format,
    kind: NumKind,
    shape: (Dim, bool),
    storage: bool,
) -> Image {
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
    let image = machine.image(&info).expect("an image");
    let codec = TexelCodec::new(format).expect("a plain format");
    for (l, texels) in data.levels.iter().enumerate() {
        let n = texels.len() / slices(data, l);
        for (k, slice) in texels.chunks(n).enumerate() {
            let raster: Vec<u8> = slice
                .iter()
                .flat_map(|t| {
                    encode(&codec, kind, *t).to_le_bytes().into_iter().take(codec.bytes())
                })
                .collect();
            image.write(l as u32, k as u32, &raster).expect("texels");
        }
    }
    image
}

/// The texels of an image as they are now.
pub fn download(image: &Image, data: &ImageData, kind: NumKind) -> ImageData {
    let mut out = data.clone();
    let codec = TexelCodec::new(image.info().format).expect("a plain format");
    for l in 0..data.levels.len() {
        let n = data.levels[l].len() / slices(data, l);
        for k in 0..slices(data, l) {
            let raster = image.read(l as u32, k as u32).expect("texels");
            for (i, bytes) in raster.chunks(codec.bytes()).enumerate() {
                out.levels[l][k * n + i] = decode(&codec, kind, texel::load(bytes));
            }
        }
    }
    out
}

/// A texel buffer with the texels of `data`.
pub fn buffer(
    machine: &mut Machine,
    data: &ImageData,
    format: Format,
    kind: NumKind,
) -> (Buffer, Row) {
    let codec = TexelCodec::new(format).expect("a plain format");
    let bytes: Vec<u8> = data.levels[0]
        .iter()
        .flat_map(|t| encode(&codec, kind, *t).to_le_bytes().into_iter().take(codec.bytes()))
        .collect();
    let b = machine.buffer(bytes.len()).expect("memory");
    b.write(&bytes).expect("as large");
    let row = image::texel_buffer(format, &b, data.size[0]).expect("a texel buffer");
    (b, row)
}

/// The texels of a texel buffer as they are now.
pub fn download_buffer(b: &Buffer, data: &ImageData, format: Format, kind: NumKind) -> ImageData {
    let codec = TexelCodec::new(format).expect("a plain format");
    let mut out = data.clone();
    for (t, bytes) in out.levels[0].iter_mut().zip(b.read().expect("bound").chunks(codec.bytes())) {
        *t = decode(&codec, kind, texel::load(bytes));
    }
    out
}

/// The descriptor of a sampler.
pub fn sampler(s: &SamplerData) -> [u8; 8] {
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
    .expect("a sampler")
}
