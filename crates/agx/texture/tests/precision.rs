//! Precision of the positions of samples between texels and between levels.
//!
//! Vulkan asks for at least `subTexelPrecisionBits` and `mipmapPrecisionBits` of fraction; Mesa
//! announces 8 of each for AGX. Texels and levels with the values 0 and 1 give the weights
//! themselves.

mod common;

use common::{BASE, Flat, Make, Picture, bits, read, sampler};
use tepui_agx_layout::Texel;
use tepui_agx_packets::sampler::{Filter, MipFilter, Wrap};
use tepui_agx_packets::texture::{Channels, TextureType};
use tepui_agx_texture::{Kind, LANES, LodSource, Operands, Request, Unit};

/// Fraction bits that are promised.
const BITS: u32 = 8;
/// Places between two texels or levels that the tests look at: 16 for each that is promised.
const PLACES: u32 = 16 << BITS;

/// An image of 32-bit floats with a value for each texel.
fn image(size: [u32; 2], levels: u32, value: impl Fn(u32, [u32; 2]) -> f32) -> (Picture, Flat) {
    let make = Make { levels, ..Make::d2(Channels::R32, TextureType::Float, size[0], size[1]) };
    let picture = Picture::new(&make);
    let mut memory = Flat::new(picture.size());
    for level in 0..levels {
        let extent = picture.layout.levels()[level as usize].extent_px;
        for y_px in 0..extent.h {
            for x_px in 0..extent.w {
                let at = Texel { level, layer: 0, x_px, y_px, z_px: 0, sample: 0 };
                let offset = picture.layout.texel_offset_B(at).expect("inside") as usize;
                let bytes = value(level, [x_px, y_px]).to_le_bytes();
                memory.bytes[offset..offset + 4].copy_from_slice(&bytes);
            }
        }
    }
    assert!(BASE.is_multiple_of(64));
    (picture, memory)
}

/// Samples at places along an axis (`axis` 0 or 1), or at levels of detail (`axis` 2), the other
/// coordinates in the middle.
fn along(picture: &Picture, memory: &mut Flat, axis: usize, at: &[f32]) -> Vec<f32> {
    let sampler = sampler(|s| {
        (s.magnify, s.minify, s.mip_filter) = (Filter::Linear, Filter::Linear, MipFilter::Linear);
        [s.wrap_s, s.wrap_t, s.wrap_r] = [Wrap::ClampToEdge; 3];
    });
    let request =
        Request { lod: LodSource::Level, ..Request::new(Kind::Sample, picture.texture.dimension) };
    let mut unit = Unit::default();
    let mut out = Vec::new();
    for part in at.chunks(LANES) {
        let mut rows = [[0.5f32; LANES], [0.5; LANES], [0.0; LANES]];
        rows[axis][..part.len()].copy_from_slice(part);
        let mut operands = Operands { lod: bits(rows[2]), ..Operands::default() };
        operands.coordinates = [bits(rows[0]), bits(rows[1]), bits([0.0; LANES])];
        let texture = picture.texture_bytes();
        let got = read(&mut unit, memory, &request, &texture, Some(&sampler), &operands);
        out.extend(got[0][..part.len()].iter().map(|&w| f32::from_bits(w)));
    }
    out
}

/// Checks weights at places that are evenly spaced from 0 to 1: each is near its place, none falls,
/// and those that 8 bits can say are exact.
fn check(weights: &[f32], what: &str) {
    assert_eq!(weights.len() as u32, PLACES + 1);
    let mut distinct = weights.to_vec();
    distinct.dedup();
    assert!(weights.is_sorted(), "{what}: a weight falls");
    assert!(distinct.len() > 1 << BITS, "{what}: {} weights", distinct.len());
    for (k, &got) in weights.iter().enumerate() {
        let want = k as f32 / PLACES as f32;
        let step = 1.0 / (1 << BITS) as f32;
        assert!((got - want).abs() <= step / 2.0, "{what}: place {k} has {got}, not {want}");
        if (k as u32).is_multiple_of(PLACES >> BITS) {
            assert_eq!(got, want, "{what}: place {k}");
        }
    }
}

#[test]
fn weights_between_texels() {
    for axis in 0..2 {
        for position in [0u32, 5] {
            // A step at the texel after `position`.
            let (picture, mut memory) =
                image([8, 8], 1, |_, at| f32::from(u8::from(at[axis] > position)));
            let first = (position as f32 + 0.5) / 8.0;
            let at: Vec<f32> =
                (0..=PLACES).map(|k| first + k as f32 / (8 * PLACES) as f32).collect();
            let weights = along(&picture, &mut memory, axis, &at);
            check(&weights, &format!("axis {axis} behind texel {position}"));
        }
    }
}

#[test]
fn weights_between_levels() {
    let (picture, mut memory) = image([16, 16], 5, |level, _| level as f32);
    for level in 0..4 {
        let at: Vec<f32> = (0..=PLACES).map(|k| level as f32 + k as f32 / PLACES as f32).collect();
        let values = along(&picture, &mut memory, 2, &at);
        let weights: Vec<f32> = values.iter().map(|v| v - level as f32).collect();
        check(&weights, &format!("behind level {level}"));
    }
}
