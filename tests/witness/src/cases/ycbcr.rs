//! Images of several planes, sampled through Y′CbCr conversions.
//!
//! The reference is the arithmetic of the Vulkan specification, "Sampler Y′CBCR Conversion", in 64-bit floats
//! on the written texels. Linear filters may use weights of 8 bits per dimension (`subTexelPrecisionBits`),
//! and the conversion amplifies the difference.

use ash::vk::{
    self, ChromaLocation, ComponentSwizzle, Filter, SamplerYcbcrModelConversion as Model,
    SamplerYcbcrRange as Range,
};

use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Bind, ConvertedSpec};
use crate::number::Random;

/// Width and height of the images in pixels.
const SIZE: [u32; 2] = [36, 28];
/// Number of samples that a case takes.
const POINTS: usize = 512;

/// A format of several planes.
#[derive(Clone, Copy)]
struct Planar {
    name: &'static str,
    format: vk::Format,
    /// Luma samples for each chroma sample, horizontally and vertically.
    divisors: [u32; 2],
    /// 2: blue and red chroma share a plane; 3: each has one.
    planes: usize,
    /// Bits of a channel, at the top of its word.
    bits: u32,
}

const fn planar(
    name: &'static str,
    format: vk::Format,
    divisors: [u32; 2],
    planes: usize,
    bits: u32,
) -> Planar {
    Planar { name, format, divisors, planes, bits }
}

const NV12: Planar = planar("420_2", vk::Format::G8_B8R8_2PLANE_420_UNORM, [2, 2], 2, 8);

const FORMATS: &[Planar] = &[
    NV12,
    planar("420_3", vk::Format::G8_B8_R8_3PLANE_420_UNORM, [2, 2], 3, 8),
    planar("422_2", vk::Format::G8_B8R8_2PLANE_422_UNORM, [2, 1], 2, 8),
    planar("422_3", vk::Format::G8_B8_R8_3PLANE_422_UNORM, [2, 1], 3, 8),
    planar("444_3", vk::Format::G8_B8_R8_3PLANE_444_UNORM, [1, 1], 3, 8),
    planar("420_2_10", vk::Format::G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16, [2, 2], 2, 10),
    planar("420_3_12", vk::Format::G12X4_B12X4_R12X4_3PLANE_420_UNORM_3PACK16, [2, 2], 3, 12),
    planar("420_2_16", vk::Format::G16_B16R16_2PLANE_420_UNORM, [2, 2], 2, 16),
];

impl Planar {
    /// Width and height of a plane in texels, and its channels.
    fn plane(&self, plane: usize) -> ([u32; 2], usize) {
        match plane {
            0 => (SIZE, 1),
            _ => {
                let size = [0, 1].map(|k| SIZE[k] / self.divisors[k]);
                (size, if self.planes == 2 { 2 } else { 1 })
            }
        }
    }

    /// Random texels of a plane, with zeros below the channels' bits.
    fn texels(&self, plane: usize, random: &mut Random) -> Vec<u8> {
        let ([width, height], channels) = self.plane(plane);
        let count = (width * height) as usize * channels;
        if self.bits == 8 {
            return (0..count).map(|_| random.next_u32() as u8).collect();
        }
        let word = |_| (random.next_u32() as u16) >> (16 - self.bits) << (16 - self.bits);
        (0..count).map(word).flat_map(u16::to_le_bytes).collect()
    }
}

/// One channel of a plane on the CPU.
struct Channel<'a> {
    texels: &'a [u8],
    size: [u32; 2],
    channels: usize,
    channel: usize,
    bits: u32,
}

impl Channel<'_> {
    /// A texel, clamped to the edge, between 0 and 1.
    fn texel(&self, x: i64, y: i64) -> f64 {
        let [x, y] = [(x, self.size[0]), (y, self.size[1])]
            .map(|(v, size)| v.clamp(0, i64::from(size) - 1) as usize);
        let at = (y * self.size[0] as usize + x) * self.channels + self.channel;
        let value = match self.bits {
            8 => u32::from(self.texels[at]),
            bits => {
                let word = [self.texels[2 * at], self.texels[2 * at + 1]];
                u32::from(u16::from_le_bytes(word)) >> (16 - bits)
            }
        };
        f64::from(value) / f64::from((1u32 << self.bits) - 1)
    }

    fn sample(&self, [x, y]: [f64; 2], filter: Filter) -> f64 {
        if filter == Filter::NEAREST {
            return self.texel(x.floor() as i64, y.floor() as i64);
        }
        let (x, y) = (x - 0.5, y - 0.5);
        let (i, j) = (x.floor() as i64, y.floor() as i64);
        let (a, b) = (x - x.floor(), y - y.floor());
        let row = |j| (1.0 - a) * self.texel(i, j) + a * self.texel(i + 1, j);
        (1.0 - b) * row(j) + b * row(j + 1)
    }
}

/// Sampling parameters of a case.
#[derive(Clone, Copy)]
struct Sampling {
    planar: Planar,
    model: Model,
    range: Range,
    location: [ChromaLocation; 2],
    filter: Filter,
    /// Whether red and blue are swapped.
    swapped: bool,
    tiling: vk::ImageTiling,
    disjoint: bool,
}

impl Sampling {
    fn new(planar: Planar) -> Sampling {
        Sampling {
            planar,
            model: Model::YCBCR_709,
            range: Range::ITU_NARROW,
            location: [ChromaLocation::MIDPOINT; 2],
            filter: Filter::LINEAR,
            swapped: false,
            tiling: vk::ImageTiling::OPTIMAL,
            disjoint: false,
        }
    }

    /// The colour at a position in luma texels. `located`: whether the chroma location also affects the
    /// nearest sample, which the specification leaves open.
    fn expected(&self, planes: &[Vec<u8>], at: [f64; 2], located: bool) -> [f64; 3] {
        let p = &self.planar;
        let channel = |plane: usize, channel: usize| {
            let (size, channels) = p.plane(plane);
            Channel { texels: &planes[plane], size, channels, channel, bits: p.bits }
        };
        let located = located || self.filter == Filter::LINEAR;
        let chroma = [0, 1].map(|k| {
            let divisor = f64::from(p.divisors[k]);
            let cosited =
                located && divisor > 1.0 && self.location[k] == ChromaLocation::COSITED_EVEN;
            at[k] / divisor + if cosited { 0.25 } else { 0.0 }
        });
        let luma = channel(0, 0).sample(at, self.filter);
        let cb = channel(1, 0).sample(chroma, self.filter);
        let red = if p.planes == 2 { channel(1, 1) } else { channel(2, 0) };
        let cr = red.sample(chroma, self.filter);
        let (cr, cb) = if self.swapped { (cb, cr) } else { (cr, cb) };
        if self.model == Model::RGB_IDENTITY {
            return [cr, luma, cb];
        }
        let most = f64::from((1u32 << p.bits) - 1);
        let step = f64::from(1u32 << (p.bits - 8));
        let (luma, [cb, cr]) = match self.range {
            Range::ITU_FULL => {
                let middle = f64::from(1u32 << (p.bits - 1)) / most;
                (luma, [cb, cr].map(|c| c - middle))
            }
            _ => (
                (luma * most - 16.0 * step) / (219.0 * step),
                [cb, cr].map(|c| (c * most - 128.0 * step) / (224.0 * step)),
            ),
        };
        let (kr, kb) = match self.model {
            Model::YCBCR_709 => (0.2126, 0.0722),
            Model::YCBCR_601 => (0.299, 0.114),
            Model::YCBCR_2020 => (0.2627, 0.0593),
            _ => return [cr, luma, cb],
        };
        let r = luma + 2.0 * (1.0 - kr) * cr;
        let b = luma + 2.0 * (1.0 - kb) * cb;
        [r, (luma - kr * r - kb * b) / (1.0 - kr - kb), b]
    }

    fn case(self, name: String) -> Case {
        let shader = Shader::new("texture.comp")
            .define("SAMPLER", "sampler2D")
            .define("RESULT", "vec4")
            .define("EXPR", "textureLod(t, p.xy, 0)");
        let about = "a sampler with a Y′CbCr conversion";
        Case::new(format!("ycbcr/{name}"), about, vec![shader], move |bench| {
            let gpu = bench.gpu;
            let mut random = Random::new(71);
            let p = self.planar;
            let texels: Vec<_> = (0..p.planes).map(|n| p.texels(n, &mut random)).collect();
            let sizes: Vec<_> = (0..p.planes).map(|n| p.plane(n).0).collect();
            let swizzle = match self.swapped {
                true => vk::ComponentMapping {
                    r: ComponentSwizzle::B,
                    b: ComponentSwizzle::R,
                    ..Default::default()
                },
                false => vk::ComponentMapping::default(),
            };
            let spec = ConvertedSpec {
                format: p.format,
                size_px: SIZE,
                planes: &sizes,
                tiling: self.tiling,
                disjoint: self.disjoint,
                conversion: vk::SamplerYcbcrConversionCreateInfo::default()
                    .format(p.format)
                    .ycbcr_model(self.model)
                    .ycbcr_range(self.range)
                    .components(swizzle)
                    .x_chroma_offset(self.location[0])
                    .y_chroma_offset(self.location[1])
                    .chroma_filter(self.filter),
                filter: self.filter,
            };
            let (view, sampler) = gpu.converted(spec, &texels)?;
            // The middle four fifths of luma texels, where the nearest one is unambiguous.
            let points: Vec<[f32; 4]> = (0..POINTS)
                .map(|_| {
                    let mut along = |size: u32| {
                        let texel = random.next_u32() % size;
                        let inside = 0.1 + 0.8 * (random.next_u32() >> 8) as f32 / (1 << 24) as f32;
                        (texel as f32 + inside) / size as f32
                    };
                    [along(SIZE[0]), along(SIZE[1]), 0.0, 0.0]
                })
                .collect();
            let expected = |located| -> Vec<[f32; 4]> {
                let colour = |p: &[f32; 4]| {
                    let at = [0, 1].map(|k| f64::from(p[k]) * f64::from(SIZE[k]));
                    let [r, g, b] = self.expected(&texels, at, located).map(|v| v as f32);
                    [r, g, b, 1.0]
                };
                points.iter().map(colour).collect()
            };
            let input = gpu.buffer(&points)?;
            let result = gpu.output::<[f32; 4]>(POINTS)?;
            let kernel = gpu
                .kernel(&bench.spirv[0])
                .bind(Bind::Converted(view, sampler))
                .storage(&[&input, &input, &result])
                .build()?;
            gpu.run(&kernel, [POINTS.div_ceil(64) as u32, 1, 1])?;
            let rule = match self.filter {
                // Mesa interprets all 16 bits as one number if fewer are used.
                Filter::NEAREST if matches!(p.bits, 10 | 12) => Rule::Abs(4.0 / 1024.0),
                Filter::NEAREST => Rule::Abs(1e-5),
                _ => Rule::Abs(1.0 / 64.0),
            };
            let got = result.read::<[f32; 4]>();
            Ok(vec![Output::cpu("colours", &got, &expected(false), rule).or(&expected(true))])
        })
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &planar in FORMATS {
        let s = Sampling::new(planar);
        let nearest = Sampling { filter: Filter::NEAREST, ..s };
        for (s, filter) in [(s, ""), (nearest, "_nearest")] {
            let case = s.case(format!("format_{}{filter}", planar.name));
            cases.push(if planar.bits == 12 { case.without_lavapipe() } else { case });
        }
    }
    let s = Sampling::new(NV12);
    for (name, model) in [
        ("rgb", Model::RGB_IDENTITY),
        ("identity", Model::YCBCR_IDENTITY),
        ("601", Model::YCBCR_601),
        ("709", Model::YCBCR_709),
        ("2020", Model::YCBCR_2020),
    ] {
        for (range_name, range) in [("full", Range::ITU_FULL), ("narrow", Range::ITU_NARROW)] {
            let s = Sampling { model, range, filter: Filter::NEAREST, ..s };
            cases.push(s.case(format!("model_{name}_{range_name}")));
        }
    }
    let [even, middle] = [ChromaLocation::COSITED_EVEN, ChromaLocation::MIDPOINT];
    for (name, location) in [
        ("even_even", [even, even]),
        ("even_middle", [even, middle]),
        ("middle_even", [middle, even]),
    ] {
        cases.push(Sampling { location, ..s }.case(format!("location_{name}")));
        let nearest = Sampling { location, filter: Filter::NEAREST, ..s };
        cases.push(nearest.case(format!("location_{name}_nearest")));
    }
    cases.push(Sampling { swapped: true, ..s }.case("swizzle".into()));
    cases.push(Sampling { tiling: vk::ImageTiling::LINEAR, ..s }.case("linear".into()));
    cases.push(Sampling { disjoint: true, ..s }.case("disjoint".into()));
    cases
}
