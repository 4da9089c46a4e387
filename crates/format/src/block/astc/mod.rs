//! Decodes 2D ASTC blocks, LDR and HDR.
//!
//! A block has 128 bits: from the bottom up the block mode, the partitions and the endpoint
//! colours, from the top down, in reversed bit order, the weights. Each pixel belongs to a
//! partition and blends the partition's endpoints by a weight, which is interpolated from a grid
//! that may be coarser than the block. source: Khronos Data Format Specification, "ASTC Compressed
//! Texture Image Formats"; sections are named at each step.

mod endpoints;
mod integers;
mod mode;
mod partition;

use half::f16;

use crate::info::Numeric;
use crate::texel::srgb;
use endpoints::{Endpoint, endpoints};
use integers::{read, unquantize_color, unquantize_weight};
use mode::{BlockMode, VoidExtent};

/// Conversion of the 16-bit results of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Profile {
    /// LDR: fixed point to half floats.
    Ldr,
    /// sRGB: the upper eight bits.
    Srgb,
    /// HDR: half floats.
    Hdr,
}

/// Decodes a block of `width`×`height` pixels. Illegal encodings give the error colour, as the
/// specification requires: magenta, or NaN in the HDR profile.
pub(super) fn decode(
    (width, height): (u32, u32),
    numeric: Numeric,
    block: u128,
    pixels: &mut [[f32; 4]],
) {
    let profile = match numeric {
        Numeric::Srgb => Profile::Srgb,
        Numeric::Sfloat => Profile::Hdr,
        _ => Profile::Ldr,
    };
    if decode_block((width, height), profile, block, pixels).is_none() {
        let error = match profile {
            Profile::Hdr => [f32::NAN; 4],
            Profile::Ldr | Profile::Srgb => [1.0, 0.0, 1.0, 1.0],
        };
        pixels.fill(error);
    }
}

/// `count` bits from `at` up.
fn bits(block: u128, at: u32, count: u32) -> u32 {
    (block >> at) as u32 & ((1u64 << count) - 1) as u32
}

fn decode_block(
    (width, height): (u32, u32),
    profile: Profile,
    block: u128,
    pixels: &mut [[f32; 4]],
) -> Option<()> {
    if let Some(void) = VoidExtent::read(block) {
        let color = void?.color(profile)?;
        pixels.fill(color);
        return Some(());
    }
    let mode = BlockMode::read(block, (width, height))?;

    let mut weights = [0; 64];
    let count = mode.weight_count() as usize;
    read(block.reverse_bits(), mode.weights, &mut weights[..count]);
    for weight in &mut weights[..count] {
        *weight = unquantize_weight(mode.weights, *weight);
    }

    let colors = mode.colors(block)?;
    let mut values = [0; 18];
    let count = colors.count as usize;
    read(block >> colors.at, colors.range, &mut values[..count]);
    for value in &mut values[..count] {
        *value = unquantize_color(colors.range, *value);
    }
    let mut parts = [[Endpoint::default(); 2]; 4];
    let mut at = 0;
    for (part, &class) in parts.iter_mut().zip(&colors.modes[..mode.partitions as usize]) {
        let used = 2 * (class as usize / 4 + 1);
        *part = endpoints(class, &values[at..at + used], profile == Profile::Hdr);
        at += used;
    }

    let seed = bits(block, 13, 10);
    let small = width * height < 31;
    for (i, pixel) in pixels.iter_mut().enumerate() {
        let (x, y) = (i as u32 % width, i as u32 / width);
        let part = match mode.partitions {
            1 => 0,
            n => partition::of(seed, x, y, n, small),
        };
        let planes = mode.interpolate(&weights, (width, height), x, y);
        let [low, high] = &parts[part as usize];
        for (c, component) in pixel.iter_mut().enumerate() {
            let weight = planes[usize::from(mode.second_plane == Some(c as u32))];
            *component = blend(low, high, c, weight, profile);
        }
    }
    Some(())
}

/// Blends a component between two endpoints. Section "Weight Application".
fn blend(low: &Endpoint, high: &Endpoint, c: usize, weight: u32, profile: Profile) -> f32 {
    let hdr = low.hdr[c];
    let wide = |value: u32| match (hdr, profile) {
        (true, _) => value << 4,
        (false, Profile::Srgb) => value << 8 | 0x80,
        (false, _) => value << 8 | value,
    };
    let mixed = (wide(low.value[c]) * (64 - weight) + wide(high.value[c]) * weight + 32) / 64;
    if hdr { logarithmic(mixed) } else { fixed_point(mixed, c, profile) }
}

/// Converts 16 bits of fixed point to float. Section "LDR Mode" of the conversion of results.
fn fixed_point(value: u32, c: usize, profile: Profile) -> f32 {
    match profile {
        Profile::Srgb if c < 3 => srgb::decode_table()[(value >> 8) as usize & 0xff],
        Profile::Srgb => (value >> 8) as f32 / 255.0,
        _ if value == 0xffff => 1.0,
        _ => {
            // The value divided by 2^16, truncated to the eleven significant bits of a half float,
            // or to 2^-24.
            let cut = (value.max(1).ilog2() as i32 - 10).clamp(0, 5);
            ((value >> cut) << cut) as f32 / 65536.0
        }
    }
}

/// Converts 16 bits of piecewise linear logarithm to a half float. Section "HDR Mode".
fn logarithmic(value: u32) -> f32 {
    let (exponent, mantissa) = (value >> 11, value & 0x7ff);
    let mantissa = match mantissa {
        0..512 => 3 * mantissa,
        512..1536 => 4 * mantissa - 512,
        _ => 5 * mantissa - 2048,
    };
    let half = (exponent << 10 | mantissa >> 3).min(0x7bff);
    f16::from_bits(half as u16).to_f32()
}

impl VoidExtent {
    /// The colour, if the profile allows it.
    fn color(&self, profile: Profile) -> Option<[f32; 4]> {
        if !self.hdr {
            return Some(std::array::from_fn(|c| fixed_point(self.components[c], c, profile)));
        }
        (profile == Profile::Hdr)
            .then(|| self.components.map(|v| f16::from_bits(v as u16).to_f32()))
    }
}

impl BlockMode {
    /// The weights of pixel (x, y), one per plane. Section "Weight Infill".
    fn interpolate(
        &self,
        weights: &[u32; 64],
        (width, height): (u32, u32),
        x: u32,
        y: u32,
    ) -> [u32; 2] {
        let grid = |at: u32, block: u32, grid: u32| {
            let scale = (1024 + block / 2) / (block - 1);
            (scale * at * (grid - 1) + 32) >> 6
        };
        let (gx, gy) = (grid(x, width, self.grid_w), grid(y, height, self.grid_h));
        let (fx, fy) = (gx & 0xf, gy & 0xf);
        let w11 = (fx * fy + 8) >> 4;
        let corners = [
            (0, 16 + w11 - fx - fy),
            (1, fx - w11),
            (self.grid_w, fy - w11),
            (self.grid_w + 1, w11),
        ];
        let planes = self.planes();
        let first = (gy >> 4) * self.grid_w + (gx >> 4);
        std::array::from_fn(|plane| {
            if plane as u32 >= planes {
                return 0;
            }
            let sum: u32 = corners
                .iter()
                // Corners beyond the end of the grid have a factor of 0.
                .map(|&(step, share)| {
                    let at = (first + step) * planes + plane as u32;
                    weights.get(at as usize).map_or(0, |weight| weight * share)
                })
                .sum();
            (sum + 8) >> 4
        })
    }
}
