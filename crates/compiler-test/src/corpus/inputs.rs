//! Random memory and inputs for shaders of the corpus.

use tepui_ir::interp::{ImageData, Memory, SamplerData, Wrap};
use tepui_ir::{Dim, ImageFormat, NumKind, ResKind, Resource, Shader};
use tepui_ir_gen::Rng;
use tepui_ir_gen::texels::{format_of, quantise};

/// Bytes of each buffer.
const BUFFER: usize = 1 << 14;
/// Bytes of push constants.
const PUSH: usize = 128;

/// The distribution of random words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordDistribution {
    /// Floats of moderate size, small numbers, arbitrary bits.
    Any,
    /// Floats of moderate size and small numbers other than zero: no NaN, no division by zero.
    Moderate,
    /// Numbers from 1 to 4 only, which are indices inside most arrays.
    Small,
    /// Floats of moderate size only: no denormal, which GPUs may take for zero.
    Floats,
}

impl WordDistribution {
    fn word(self, rng: &mut Rng) -> u32 {
        match (self, rng.below(3)) {
            (WordDistribution::Small, _) => 1 + rng.below(4) as u32,
            (WordDistribution::Floats, _) | (_, 0) => {
                ((rng.below(4096) as f32 - 2048.0) / 64.0).to_bits()
            }
            (WordDistribution::Any, 1) => rng.below(16) as u32,
            (WordDistribution::Any, _) => rng.int(32) as u32,
            (WordDistribution::Moderate, _) => 1 + rng.below(15) as u32,
        }
    }
}

/// Buffers, images, samplers and push constants for all resources of a shader. A run-time array of
/// descriptors has eight.
///
/// Samplers repeat and use the nearest texel: results of other filters are specified to a few bits only.
#[must_use]
pub fn memory(s: &Shader, seed: u64, words: WordDistribution) -> Memory {
    let mut rng = Rng::new(seed);
    let push: Vec<u8> = match words {
        WordDistribution::Any => (0..PUSH).map(|_| words.word(&mut rng) as u8 & 15).collect(),
        _ => (0..PUSH / 4).flat_map(|_| words.word(&mut rng).to_le_bytes()).collect(),
    };
    let mut m = Memory { push, ..Memory::default() };
    for r in s.resources.values() {
        for k in 0..if r.count == 0 { 8 } else { r.count } {
            let slot = (r.set, r.binding, k);
            match r.kind {
                ResKind::UniformBuffer | ResKind::StorageBuffer => {
                    let bytes = (0..BUFFER / 4).flat_map(|_| words.word(&mut rng).to_le_bytes());
                    m.buffers.insert(slot, bytes.collect());
                    continue;
                }
                ResKind::Sampler => {}
                _ => {
                    m.images.insert(slot, image(r, &mut rng));
                }
            }
            let repeat = SamplerData { wrap: [Wrap::Repeat; 3], ..SamplerData::default() };
            m.samplers.insert(slot, repeat);
        }
    }
    m
}

/// The format of an image for which the shader specifies none.
fn format(r: &Resource) -> ImageFormat {
    match (r.format, r.texels) {
        (ImageFormat::Unknown, NumKind::Float) => ImageFormat::Rgba32f,
        (ImageFormat::Unknown, NumKind::Sint) => ImageFormat::Rgba32i,
        (ImageFormat::Unknown, NumKind::Uint) => ImageFormat::Rgba32ui,
        (f, _) => f,
    }
}

/// An image of a shape that a shader declares.
fn image(r: &Resource, rng: &mut Rng) -> ImageData {
    let size = match r.dim {
        Dim::D1 => [16, 1, 1],
        Dim::Buffer => [256, 1, 1],
        Dim::D3 => [8, 8, 4],
        Dim::D2 | Dim::Cube | Dim::Subpass => [16, 16, 1],
    };
    let faces = if r.dim == Dim::Cube { 6 } else { 1 };
    let layers = faces * if r.array { 3 } else { 1 };
    let storage = matches!(r.kind, ResKind::StorageImage | ResKind::StorageTexelBuffer);
    let levels = if storage || r.ms || r.dim == Dim::Buffer { 1 } else { 3 };
    let samples = if r.ms { 4 } else { 1 };
    let mut image = ImageData::multisampled(size, layers, levels, samples);
    image.format = format(r);
    for t in image.levels.iter_mut().flatten() {
        *t = [0; 4].map(|_: u64| match r.texels {
            NumKind::Float => u64::from((rng.below(1025) as f32 / 1024.0).to_bits()),
            _ => rng.below(64) as u64,
        });
    }
    if let Some(f) = format_of(image.format) {
        // Formats of storage images have no blocks.
        let _ = quantise(&mut image, f, r.texels);
    }
    image
}
