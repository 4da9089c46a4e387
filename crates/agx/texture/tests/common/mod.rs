//! Fixtures of the tests: memory, images with known texels, descriptors.
#![allow(dead_code)]

pub mod reference;

use tepui_agx_layout::{Dimension, ImageDesc, Layout, Shape, Texel, Tiling, Usage};
use tepui_agx_packets::pbe::Pbe;
use tepui_agx_packets::sampler::Sampler;
use tepui_agx_packets::texture::{
    Channel, Channels, Layout as Arrangement, SampleCount, Texture, TextureDimension, TextureType,
};
use tepui_agx_texture::{LANES, Memory, Operands, Request, Row, SamplerState, Unit, format_of};
use tepui_format::Format;
use tepui_format::texel::TexelCodec;
use tepui_softgpu::{Access, Fault, FaultKind};

/// Address of images.
pub const BASE: u64 = 0x10_0000_0000;

/// Memory from [`BASE`] on.
pub struct Flat {
    pub bytes: Vec<u8>,
    /// Hands out windows; without, every access is a copy.
    pub windows: bool,
    /// Accesses so far.
    pub accesses: usize,
}

impl Flat {
    pub fn new(size: usize) -> Flat {
        Flat { bytes: vec![0; size], windows: true, accesses: 0 }
    }

    fn range(&self, address: u64, size: u64) -> Option<std::ops::Range<usize>> {
        let start = address.checked_sub(BASE)?;
        let end = start.checked_add(size)?;
        (end <= self.bytes.len() as u64).then_some(start as usize..end as usize)
    }
}

// SAFETY: windows lie in `bytes`, which no call of a unit resizes.
unsafe impl Memory for Flat {
    fn window(&mut self, address: u64, size: u64, _: Access) -> Option<*mut u8> {
        self.accesses += 1;
        if !self.windows {
            return None;
        }
        let range = self.range(address, size)?;
        Some(self.bytes[range].as_mut_ptr())
    }

    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.accesses += 1;
        let range = self.range(address, into.len() as u64).ok_or(Fault {
            address,
            access: Access::Read,
            kind: FaultKind::Unmapped,
        })?;
        into.copy_from_slice(&self.bytes[range]);
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        self.accesses += 1;
        let range = self.range(address, from.len() as u64).ok_or(Fault {
            address,
            access: Access::Write,
            kind: FaultKind::Unmapped,
        })?;
        self.bytes[range].copy_from_slice(from);
        Ok(())
    }
}

/// A small generator of pseudo-random numbers.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 ^ (self.0 >> 11) as u32
    }

    /// 0 to 1.
    pub fn unit(&mut self) -> f32 {
        (self.next() >> 8) as f32 / 16_777_216.0
    }

    pub fn range(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    pub fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }
}

/// An image in memory, filled, with its descriptors.
pub struct Picture {
    pub desc: ImageDesc,
    pub layout: Layout,
    pub texture: Texture,
    pub pbe: Pbe,
    pub format: Format,
}

/// Parameters of a test image.
#[derive(Clone, Copy, Debug)]
pub struct Make {
    pub channels: Channels,
    pub type_: TextureType,
    pub srgb: bool,
    pub dimension: TextureDimension,
    pub tiling: Tiling,
    pub size: [u32; 3],
    /// Layers, or cubes.
    pub layers: u32,
    pub levels: u32,
    pub samples: u32,
}

impl Make {
    pub fn d2(channels: Channels, type_: TextureType, width: u32, height: u32) -> Make {
        Make {
            channels,
            type_,
            srgb: false,
            dimension: TextureDimension::D2,
            tiling: Tiling::Twiddled,
            size: [width, height, 1],
            layers: 1,
            levels: 1,
            samples: 1,
        }
    }
}

impl Picture {
    pub fn new(make: &Make) -> Picture {
        let format = format_of(make.channels, make.type_, make.srgb).unwrap();
        let is_3d = make.dimension == TextureDimension::D3;
        let cube = matches!(make.dimension, TextureDimension::Cube | TextureDimension::CubeArray);
        let layers = if cube { 6 * make.layers } else { make.layers };
        let linear = make.tiling == Tiling::Linear;
        let compressed = make.tiling == Tiling::Compressed;
        let [width, height, depth] = make.size;
        let desc = ImageDesc {
            shape: Shape {
                format,
                dimension: if is_3d { Dimension::D3 } else { Dimension::D2 },
                width_px: width,
                height_px: height,
                depth_px: depth,
                layers,
                samples: make.samples,
                levels: make.levels,
            },
            tiling: make.tiling,
            usage: Usage { renderable: true, writable: !compressed && !linear },
            linear_stride_B: None,
        };
        let layout = Layout::new(&desc).unwrap();
        let (t0, p0) = (Texture::default(), Pbe::default());
        let many_linear = linear && layers > 1;
        let pick = |on: bool, value: u32, off: u32| if on { value } else { off };
        let pick_wide = |on: bool, value: u64, off: u64| if on { value } else { off };
        let metadata = layout.metadata.as_ref().map_or(0, |m| BASE + m.offset_B);
        let stride = layout.levels()[0].stride_B as u32;
        let layer_stride = layout.layer_stride_B;
        let texture = Texture {
            dimension: make.dimension,
            layout: if linear { Arrangement::Linear } else { Arrangement::Gpu },
            channels: make.channels,
            type_: make.type_,
            srgb: make.srgb,
            swizzle_r: Channel::R,
            swizzle_g: Channel::G,
            swizzle_b: Channel::B,
            swizzle_a: Channel::A,
            width,
            height,
            first_level: 0,
            last_level: make.levels - 1,
            samples: if make.samples == 4 { SampleCount::Four } else { SampleCount::Two },
            address: BASE,
            unk_mipmapped: make.levels > 1,
            compressed,
            extended: compressed || many_linear,
            stride: pick(linear, stride, t0.stride),
            depth: pick(!linear, if is_3d { depth } else { make.layers }, t0.depth),
            page_aligned_layers: !linear && layout.page_aligned_layers,
            acceleration_buffer: metadata,
            depth_linear: pick(many_linear, layers, t0.depth_linear),
            layer_stride_linear: pick_wide(many_linear, layer_stride, t0.layer_stride_linear),
            ..t0
        };
        let pbe = Pbe {
            dimension: if cube { TextureDimension::D2Array } else { make.dimension },
            layout: texture.layout,
            channels: make.channels,
            type_: make.type_,
            srgb: make.srgb,
            swizzle_r: Channel::R,
            swizzle_g: Channel::G,
            swizzle_b: Channel::B,
            swizzle_a: Channel::A,
            width,
            height,
            samples: texture.samples,
            unk_mipmapped: make.levels > 1,
            compressed,
            buffer: BASE,
            levels: pick(!linear, make.levels, p0.levels),
            layers: pick(!linear, if is_3d { depth } else { layers }, p0.layers),
            page_aligned_layers: texture.page_aligned_layers,
            extended: texture.extended,
            stride: pick(linear, stride, p0.stride),
            acceleration_buffer: metadata,
            depth_linear: pick(many_linear, layers, p0.depth_linear),
            layer_stride_linear: pick_wide(many_linear, layer_stride, p0.layer_stride_linear),
            ..p0
        };
        Picture { desc, layout, texture, pbe, format }
    }

    pub fn size(&self) -> usize {
        self.layout.size_B as usize
    }

    pub fn texture_bytes(&self) -> [u8; 24] {
        self.texture.pack().unwrap()
    }

    pub fn pbe_bytes(&self) -> [u8; 24] {
        self.pbe.pack().unwrap()
    }

    /// Memory with every byte of the image random, floats kept finite and modest.
    pub fn noise(&self, seed: u64) -> Flat {
        let mut memory = Flat::new(self.size());
        let mut random = Random(seed);
        let codec = TexelCodec::new(self.format);
        match codec {
            Ok(codec) if codec.is_float() => {
                for texel in memory.bytes.chunks_exact_mut(codec.bytes()) {
                    let rgba: [f32; 4] = std::array::from_fn(|_| random.unit());
                    texel.copy_from_slice(&codec.pack_f32(rgba).to_le_bytes()[..codec.bytes()]);
                }
            }
            _ => memory.bytes.iter_mut().for_each(|b| *b = random.next() as u8),
        }
        if let Some(metadata) = &self.layout.metadata {
            let tile = tepui_agx_layout::compression::TileMetadata::uncompressed(self.format);
            let start = metadata.offset_B as usize;
            for word in memory.bytes[start..].chunks_exact_mut(8) {
                word.copy_from_slice(&tile.unwrap().0.to_le_bytes());
            }
        }
        memory
    }

    /// The channels of a texel, read by the format's codec.
    pub fn texel(&self, memory: &Flat, at: Texel) -> [f32; 4] {
        let codec = TexelCodec::new(self.format).unwrap();
        codec.unpack_f32(self.raw(memory, at))
    }

    /// The bits of a texel.
    pub fn raw(&self, memory: &Flat, at: Texel) -> u128 {
        let offset = self.layout.texel_offset_B(at).expect("inside") as usize;
        let bytes = self.format.info().block.bytes as usize;
        tepui_format::texel::load(&memory.bytes[offset..offset + bytes])
    }
}

/// A sampler with everything at its default but what is given.
pub fn sampler(change: impl FnOnce(&mut Sampler)) -> SamplerState {
    let mut sampler = Sampler { maximum_lod: 14.0, maximum_anisotropy: 1, ..Sampler::default() };
    change(&mut sampler);
    SamplerState { sampler: sampler.pack().unwrap(), border: [0; 4] }
}

/// Runs a request over all lanes.
pub fn read(
    unit: &mut Unit,
    memory: &mut Flat,
    request: &Request,
    texture: &[u8; 24],
    sampler: Option<&SamplerState>,
    operands: &Operands,
) -> [Row; 5] {
    let mut out = [[0; LANES]; 5];
    unit.read(memory, request, texture, sampler, operands, u32::MAX, &mut out).unwrap();
    out
}

/// The bits of a row of floats.
pub fn bits(values: [f32; LANES]) -> Row {
    values.map(f32::to_bits)
}
