//! Decodes BC1 to BC7 with the crate `bcdec_rs`.

use half::f16;

use super::from_bytes;
use crate::info::{Compression, Numeric};

/// Decodes a block of 4×4 pixels.
pub(super) fn decode(
    compression: Compression,
    numeric: Numeric,
    block: &[u8; 16],
    pixels: &mut [[f32; 4]],
) {
    let signed = numeric == Numeric::Snorm || numeric == Numeric::Sfloat;
    match compression {
        Compression::Bc4 => {
            let mut red = [0.0; 16];
            bcdec_rs::bc4_float(&block[..8], &mut red, 4, signed);
            for (pixel, red) in pixels.iter_mut().zip(red) {
                *pixel = [red, 0.0, 0.0, 1.0];
            }
        }
        Compression::Bc5 => {
            let mut red_green = [0.0; 32];
            bcdec_rs::bc5_float(block, &mut red_green, 8, signed);
            for (pixel, rg) in pixels.iter_mut().zip(red_green.chunks_exact(2)) {
                *pixel = [rg[0], rg[1], 0.0, 1.0];
            }
        }
        Compression::Bc6h => {
            let mut rgb = [0u16; 48];
            bcdec_rs::bc6h_half(block, &mut rgb, 12, signed);
            for (pixel, rgb) in pixels.iter_mut().zip(rgb.chunks_exact(3)) {
                let half = |i: usize| f16::from_bits(rgb[i]).to_f32();
                *pixel = [half(0), half(1), half(2), 1.0];
            }
        }
        _ => {
            let mut rgba = [0; 64];
            match compression {
                Compression::Bc1 { .. } => bcdec_rs::bc1(&block[..8], &mut rgba, 16),
                Compression::Bc2 => bcdec_rs::bc2(block, &mut rgba, 16),
                Compression::Bc3 => bcdec_rs::bc3(block, &mut rgba, 16),
                _ => bcdec_rs::bc7(block, &mut rgba, 16),
            }
            let opaque = compression == Compression::Bc1 { alpha: false };
            for (pixel, bytes) in pixels.iter_mut().zip(rgba.chunks_exact(4)) {
                let alpha = if opaque { 255 } else { bytes[3] };
                *pixel = from_bytes([bytes[0], bytes[1], bytes[2], alpha], numeric);
            }
        }
    }
}
