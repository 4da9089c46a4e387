//! Formats by the names of their fields, and formats that no driver at hand uses: PVRTC against
//! another decoder, extended range by its formula.

#![allow(clippy::needless_range_loop, reason = "lanes are counted")]

mod common;

use common::{BASE, Flat, Make, Picture, Random, read};
use tepui_agx_layout::Texel;
use tepui_agx_packets::pbe::Pbe;
use tepui_agx_packets::texture::{
    Channel, Channels, Layout, Texture, TextureDimension, TextureType,
};
use tepui_agx_texture::store::StoreOperands;
use tepui_agx_texture::{Kind, LANES, Operands, Request, Store, Unit, fields_of, format_of};
use tepui_format::Format;

/// Formats that the hardware has, by the names that cmdbuf.xml gives to channels and types; sRGB
/// formats and HDR of ASTC are counted apart.
const PLAIN: usize = 39;
const BLOCKS: usize = 66;

/// Vulkan's name of a format whose channels the hardware names in the same order; `None` for packed
/// and subsampled formats, which are named in another.
fn vulkan_name(channels: Channels, type_: TextureType, srgb: bool) -> Option<String> {
    let name = channels.to_string();
    let type_ = match (type_, srgb) {
        (TextureType::Unorm, true) => "SRGB",
        (TextureType::Unorm, false) => "UNORM",
        (TextureType::Snorm, false) => "SNORM",
        (TextureType::Uint, false) => "UINT",
        (TextureType::Sint, false) => "SINT",
        (TextureType::Float, false) if name == "BC6H Ufloat" => "UFLOAT",
        (TextureType::Float, false) => "SFLOAT",
        _ => return None,
    };
    let (first, rest) = name.split_once(' ').unwrap_or((&name, ""));
    Some(match first {
        "ETC2" => {
            let channels = rest.replace("RGBA8", "R8G8B8A8").replace("RGB8", "R8G8B8");
            format!("ETC2_{channels}_{type_}_BLOCK")
        }
        "EAC" => format!("EAC_{}_{type_}_BLOCK", rest.replace("RG11", "R11G11")),
        "ASTC" => format!("ASTC_{rest}_{type_}_BLOCK"),
        "BC1" => format!("BC1_RGBA_{type_}_BLOCK"),
        _ if first.starts_with("BC") => format!("{first}_{type_}_BLOCK"),
        _ => format!("{name}_{type_}"),
    })
}

#[test]
fn formats_are_named_by_their_fields() {
    let (mut plain, mut blocks) = (0, 0);
    for channels in (0..128).filter_map(Channels::from_raw) {
        for type_ in (0..8).filter_map(TextureType::from_raw) {
            for srgb in [false, true] {
                let Some(name) = vulkan_name(channels, type_, srgb) else { continue };
                let Ok(format) = name.parse::<Format>() else { continue };
                assert_eq!(format_of(channels, type_, srgb), Ok(format), "{channels} {type_}");
                assert_eq!(fields_of(format), Some((channels, type_, srgb)), "{name}");
                *if name.ends_with("_BLOCK") { &mut blocks } else { &mut plain } += 1;
            }
        }
    }
    assert_eq!((plain, blocks), (PLAIN, BLOCKS));
}

const LOAD: Request = Request::new(Kind::Load, TextureDimension::D2);

/// The texels that a row of lanes loads, from (x, y) on.
fn load(unit: &mut Unit, memory: &mut Flat, texture: &[u8; 24], x: u32, y: u32) -> [[f32; 4]; 32] {
    let mut operands = Operands::default();
    for i in 0..LANES {
        operands.coordinates[0][i] = x + i as u32;
        operands.coordinates[1][i] = y;
    }
    let out = read(unit, memory, &LOAD, texture, None, &operands);
    std::array::from_fn(|i| std::array::from_fn(|c| f32::from_bits(out[c][i])))
}

/// The index of a word in a file: bits of column and row interleaved, the row's below.
fn morton(x: u32, y: u32, size: [u32; 2]) -> usize {
    let common = size[0].min(size[1]).ilog2();
    let low: u32 = (0..common).map(|i| (y >> i & 1) << (2 * i) | (x >> i & 1) << (2 * i + 1)).sum();
    (low | (x | y) >> common << (2 * common)) as usize
}

#[test]
fn pvrtc_is_what_another_decoder_makes_of_it() {
    for (channels, block_width) in [(Channels::Pvrtc4bpp, 4), (Channels::Pvrtc2bpp, 8)] {
        for (width, height) in [(64, 32), (32, 128), (256, 256)] {
            let make = Make::d2(channels, TextureType::Unorm, width, height);
            let picture = Picture::new(&make);
            let mut memory = Flat::new(picture.size());
            let mut random = Random(u64::from(width + block_width));
            let size = [width / block_width, height / 4];
            let mut file = vec![0; (size[0] * size[1]) as usize * 8];
            for y in 0..size[1] {
                for x in 0..size[0] {
                    let word = u64::from(random.next()) << 32 | u64::from(random.next());
                    let at = Texel { x_px: x * block_width, y_px: y * 4, ..Texel::default() };
                    let at = picture.layout.texel_offset_B(at).expect("inside") as usize;
                    memory.bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
                    let at = morton(x, y, size) * 8;
                    file[at..at + 8].copy_from_slice(&word.to_le_bytes());
                }
            }
            let mut image = vec![0u32; (width * height) as usize];
            let [w, h] = [width as usize, height as usize];
            texture2ddecoder::decode_pvrtc(&file, w, h, &mut image, block_width == 8).unwrap();
            let mut unit = Unit::default();
            for y in 0..height {
                for x in (0..width).step_by(LANES) {
                    let ours = load(&mut unit, &mut memory, &picture.texture_bytes(), x, y);
                    for i in 0..LANES {
                        let [b, g, r, a] = image[y as usize * w + x as usize + i].to_le_bytes();
                        let ours = ours[i].map(|v| (v * 255.0).round() as u8);
                        assert_eq!(ours, [r, g, b, a], "{channels} {} {y}", x + i as u32);
                    }
                }
            }
        }
    }
}

/// The example of the documentation: (bits - 384) / 510.
#[test]
fn extended_range_reads_and_writes() {
    for (channels, bytes) in [(Channels::R10G10B10A2, 4), (Channels::R16G16B16A16, 8)] {
        let texture = Texture {
            layout: Layout::Linear,
            channels,
            type_: TextureType::Xr,
            // The documented order: blue lowest.
            swizzle_r: Channel::B,
            swizzle_g: Channel::G,
            swizzle_b: Channel::R,
            swizzle_a: if bytes == 8 { Channel::A } else { Channel::One },
            width: 32,
            height: 1,
            address: BASE,
            stride: 32 * bytes,
            dimension: TextureDimension::D2,
            ..Texture::default()
        };
        let pbe = Pbe {
            layout: Layout::Linear,
            channels,
            type_: TextureType::Xr,
            swizzle_r: Channel::B,
            swizzle_g: Channel::G,
            swizzle_b: Channel::R,
            swizzle_a: Channel::A,
            width: 32,
            height: 1,
            buffer: BASE,
            stride: 32 * bytes,
            dimension: TextureDimension::D2,
            ..Pbe::default()
        };
        let mut memory = Flat::new(16384);
        let mut unit = Unit::default();
        let mut operands = StoreOperands::default();
        let value = |i: usize, c: usize| -0.7 + 0.06 * i as f32 + 0.01 * c as f32;
        for i in 0..LANES {
            operands.coordinates[0][i] = i as u32;
            for c in 0..4 {
                operands.components[c][i] = value(i, c).to_bits();
            }
        }
        let store = Store { dimension: TextureDimension::D2, narrow: false };
        unit.write(&mut memory, &store, &pbe.pack().unwrap(), &operands, u32::MAX).unwrap();
        // Blue of lane 3 by hand: -0.7 + 0.18 + 0.02 = -0.5.
        let blue = u16::from_le_bytes([
            memory.bytes[3 * bytes as usize],
            memory.bytes[3 * bytes as usize + 1],
        ]);
        let blue = if bytes == 4 { blue & 1023 } else { blue >> 6 };
        assert_eq!(blue, 384 - 255);
        let ours = load(&mut unit, &mut memory, &texture.pack().unwrap(), 0, 0);
        for i in 0..LANES {
            for c in 0..4 {
                let want = match (c, bytes) {
                    (3, 4) => 1.0,
                    (3, _) => value(i, c).clamp(0.0, 1.0),
                    _ => value(i, c).clamp(-0.752942, 1.250981),
                };
                assert!((ours[i][c] - want).abs() <= 0.5 / 510.0 + 1e-6, "{i} {c} {:?}", ours[i]);
            }
        }
    }
}
