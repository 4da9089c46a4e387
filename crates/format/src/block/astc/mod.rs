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

/// Decodes a block of the sRGB profile to bytes. Illegal encodings give the error colour, as the
/// specification requires: magenta.
pub(super) fn decode_srgb(size: [u32; 2], block: u128, pixels: &mut [[u8; 4]]) {
    if decode_block(size, Profile::Srgb, block, pixels, |word| word as u8).is_none() {
        pixels.fill([255, 0, 255, 255]);
    }
}

/// Decodes a block of the LDR or HDR profile to half floats. The error colour is magenta, or NaN in the HDR
/// profile.
pub(super) fn decode_halves(size: [u32; 2], hdr: bool, block: u128, pixels: &mut [[u16; 4]]) {
    let profile = if hdr { Profile::Hdr } else { Profile::Ldr };
    if decode_block(size, profile, block, pixels, |word| word).is_none() {
        let one = f16::ONE.to_bits();
        pixels.fill(if hdr { [f16::NAN.to_bits(); 4] } else { [one, 0, one, one] });
    }
}

/// `count` bits from `at` up.
fn bits(block: u128, at: u32, count: u32) -> u32 {
    (block >> at) as u32 & ((1u64 << count) - 1) as u32
}

/// Decodes a block of `width`×`height` pixels to the profile's numbers; `None` if it is illegal.
fn decode_block<T: Copy>(
    [width, height]: [u32; 2],
    profile: Profile,
    block: u128,
    pixels: &mut [[T; 4]],
    store: impl Fn(u16) -> T,
) -> Option<()> {
    if let Some(void) = VoidExtent::read(block) {
        let color = void?.color(profile)?;
        pixels.fill(color.map(store));
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
            *component = store(blend(low, high, c, weight, profile));
        }
    }
    Some(())
}

/// Blends a component between two endpoints. Section "Weight Application".
fn blend(low: &Endpoint, high: &Endpoint, c: usize, weight: u32, profile: Profile) -> u16 {
    let hdr = low.hdr[c];
    let wide = |value: u32| match (hdr, profile) {
        (true, _) => value << 4,
        (false, Profile::Srgb) => value << 8 | 0x80,
        (false, _) => value << 8 | value,
    };
    let mixed = (wide(low.value[c]) * (64 - weight) + wide(high.value[c]) * weight + 32) / 64;
    if hdr { logarithmic(mixed) } else { fixed_point(mixed, profile) }
}

/// Converts 16 bits of fixed point to the profile's number: bytes, or half floats. Section "LDR Mode" of
/// the conversion of results.
fn fixed_point(value: u32, profile: Profile) -> u16 {
    match (profile, value) {
        (Profile::Srgb, _) => (value >> 8) as u16,
        (_, 0xffff) => f16::ONE.to_bits(),
        // The value divided by 2^16, truncated: to 2^-24 where halves are subnormal, else to eleven
        // significant bits, of which the first is not stored.
        (_, 0..4) => (value << 8) as u16,
        _ => {
            let exponent = value.ilog2();
            let mantissa = (value << 10 >> exponent) & 0x3ff;
            ((exponent - 1) << 10 | mantissa) as u16
        }
    }
}

/// Converts 16 bits of piecewise linear logarithm to a half float. Section "HDR Mode".
fn logarithmic(value: u32) -> u16 {
    let (exponent, mantissa) = (value >> 11, value & 0x7ff);
    let mantissa = match mantissa {
        0..512 => 3 * mantissa,
        512..1536 => 4 * mantissa - 512,
        _ => 5 * mantissa - 2048,
    };
    (exponent << 10 | mantissa >> 3).min(0x7bff) as u16
}

impl VoidExtent {
    /// The colour, if the profile allows it.
    fn color(&self, profile: Profile) -> Option<[u16; 4]> {
        if !self.hdr {
            return Some(self.components.map(|v| fixed_point(v, profile)));
        }
        (profile == Profile::Hdr).then(|| self.components.map(|v| v as u16))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every value is divided by 2^16 and rounded towards zero to a half float, except the largest, which is 1.
    #[test]
    fn fixed_point_is_truncated_to_halves() {
        for value in 0..0xffff {
            let half = fixed_point(value, Profile::Ldr);
            let exact = value as f32 / 65536.0;
            assert!(f16::from_bits(half).to_f32() <= exact, "{value}");
            assert!(f16::from_bits(half + 1).to_f32() > exact, "{value}");
        }
        assert_eq!(fixed_point(0xffff, Profile::Ldr), f16::ONE.to_bits());
    }
}
