//! The pixel back end against the texture unit and the formats' codecs.

#![allow(clippy::needless_range_loop, clippy::type_complexity, reason = "lanes are counted")]

mod common;

use common::{BASE, Flat, Make, Picture, Random, bits, read, sampler};
use tepui_agx_layout::{Texel, Tiling};
use tepui_agx_packets::texture::{Channel, Channels, TextureDimension, TextureType};
use tepui_agx_texture::store::{Block, StoreOperands};
use tepui_agx_texture::{
    BlockStore, Kind, LANES, LodSource, Operands, Request, Store, TileFormat, Tilebuffer, Unit,
    format_of,
};
use tepui_format::texel::TexelCodec;

const PLAIN: [Channels; 17] = [
    Channels::R8,
    Channels::R16,
    Channels::R8G8,
    Channels::R5G6B5,
    Channels::R4G4B4A4,
    Channels::A1R5G5B5,
    Channels::R5G5B5A1,
    Channels::R32,
    Channels::R16G16,
    Channels::R11G11B10,
    Channels::R10G10B10A2,
    Channels::R9G9B9E5,
    Channels::R8G8B8A8,
    Channels::R32G32,
    Channels::R16G16B16A16,
    Channels::R32G32B32A32,
    Channels::R8,
];

const TYPES: [TextureType; 5] = [
    TextureType::Unorm,
    TextureType::Snorm,
    TextureType::Uint,
    TextureType::Sint,
    TextureType::Float,
];

fn formats() -> Vec<(Channels, TextureType, bool)> {
    let mut list = Vec::new();
    for channels in PLAIN {
        for type_ in TYPES {
            for srgb in [false, true] {
                if format_of(channels, type_, srgb).is_ok() {
                    list.push((channels, type_, srgb));
                }
            }
        }
    }
    assert!(list.len() > 45, "{}", list.len());
    list
}

fn load(dimension: TextureDimension) -> Request {
    Request { lod: LodSource::Level, ..Request::new(Kind::Load, dimension) }
}

fn values(random: &mut Random, type_: TextureType, narrow: bool) -> [[u32; LANES]; 4] {
    std::array::from_fn(|_| {
        std::array::from_fn(|_| match type_ {
            TextureType::Uint => random.below(200),
            TextureType::Sint => (random.below(200) as i32 - 100) as u32,
            _ => {
                let v = random.range(-1.5, 1.5);
                // For halves, only values that halves can represent.
                if narrow { ((v * 64.0).round() / 64.0).to_bits() } else { v.to_bits() }
            }
        })
    })
}

/// The contents of a texel of the format after `value` was written to it.
fn stored(codec: &TexelCodec, value: [u32; 4]) -> [u32; 4] {
    if codec.is_float() {
        codec.unpack_f32(codec.pack_f32(value.map(f32::from_bits))).map(f32::to_bits)
    } else {
        codec.unpack_u32(codec.pack_u32(value))
    }
}

#[test]
fn every_format_round_trips() {
    let mut random = Random(1);
    for (channels, type_, srgb) in formats() {
        for (tiling, narrow) in
            [(Tiling::Linear, false), (Tiling::Twiddled, true), (Tiling::Twiddled, false)]
        {
            let make = Make { srgb, tiling, ..Make::d2(channels, type_, 45, 33) };
            let picture = Picture::new(&make);
            let mut memory = Flat::new(picture.size());
            let mut unit = Unit::default();
            let codec = TexelCodec::new(picture.format).unwrap();
            let components = values(&mut random, type_, narrow);
            let registers = if narrow {
                components.map(|row| {
                    row.map(|v| match type_ {
                        TextureType::Uint | TextureType::Sint => v & 0xffff,
                        _ => tepui_agx_texture::half::narrow(f32::from_bits(v)),
                    })
                })
            } else {
                components
            };
            let x: [u32; LANES] = std::array::from_fn(|i| 7 + i as u32);
            let y = [9; LANES];
            let operands = StoreOperands {
                coordinates: [x, y, [0; LANES]],
                components: registers,
                ..StoreOperands::default()
            };
            let store = Store { dimension: TextureDimension::D2, narrow };
            unit.write(&mut memory, &store, &picture.pbe_bytes(), &operands, u32::MAX).unwrap();
            let operands = Operands { coordinates: [x, y, [0; LANES]], ..Operands::default() };
            let out = read(
                &mut unit,
                &mut memory,
                &load(TextureDimension::D2),
                &picture.texture_bytes(),
                None,
                &operands,
            );
            for i in 0..LANES {
                let value = std::array::from_fn(|c| components[c][i]);
                let want = stored(&codec, value);
                let got: [u32; 4] = std::array::from_fn(|c| out[c][i]);
                let same = (0..4).all(|c| {
                    got[c] == want[c] || f32::from_bits(got[c]) == f32::from_bits(want[c])
                });
                assert!(same, "{} {tiling} {value:x?}: {got:x?} {want:x?}", picture.format);
            }
            // The texel is at the layout's address, in the codec's bits.
            let at = Texel { x_px: 7, y_px: 9, ..Texel::default() };
            let first = std::array::from_fn(|c| components[c][0]);
            let raw = picture.raw(&memory, at);
            let want = if codec.is_float() {
                codec.pack_f32(first.map(f32::from_bits))
            } else {
                codec.pack_u32(first)
            };
            assert_eq!(raw, want, "{}", picture.format);
        }
    }
}

#[test]
fn every_dimension_and_what_is_outside() {
    let dimensions = [
        (TextureDimension::D1, [33, 1, 1], 1),
        (TextureDimension::D1Array, [33, 1, 1], 4),
        (TextureDimension::D2, [33, 20, 1], 1),
        (TextureDimension::D2Array, [33, 20, 1], 5),
        (TextureDimension::D3, [17, 9, 6], 1),
    ];
    let mut random = Random(2);
    for (dimension, size, layers) in dimensions {
        for level in [0, 1, 2] {
            let make = Make {
                dimension,
                size,
                layers,
                levels: 3,
                ..Make::d2(Channels::R32, TextureType::Uint, 1, 1)
            };
            let mut picture = Picture::new(&make);
            picture.pbe.level = level;
            let mut memory = Flat::new(picture.size());
            let before = memory.bytes.clone();
            let mut unit = Unit::default();
            let extent = &picture.layout.levels()[level as usize];
            let depth = if dimension == TextureDimension::D3 { extent.depth_px } else { 1 };
            let limits = [extent.extent_px.w, extent.extent_px.h, depth];
            let mut coordinates = [[0; LANES]; 3];
            let mut layer = [0; LANES];
            let mut inside = [true; LANES];
            for i in 0..LANES {
                // Distinct places, some of them outside in one direction.
                coordinates[0][i] = i as u32 % limits[0];
                coordinates[1][i] = i as u32 / limits[0] % limits[1];
                coordinates[2][i] = random.below(limits[2]);
                layer[i] = random.below(layers);
                if i % 3 == 0 {
                    inside[i] = false;
                    match (i / 3) % 4 {
                        0 => coordinates[0][i] = limits[0] + random.below(3),
                        1 if dimension as u32 >= 2 => {
                            coordinates[1][i] = u32::MAX - random.below(3)
                        }
                        2 if layers > 1 => layer[i] = layers + random.below(3),
                        3 if depth > 1 => coordinates[2][i] = depth,
                        _ => coordinates[0][i] = 0xfff0,
                    }
                }
            }
            let data: [u32; LANES] = std::array::from_fn(|i| 0x1000 + i as u32);
            let operands = StoreOperands {
                coordinates,
                layer,
                components: [data; 4],
                ..StoreOperands::default()
            };
            let store = Store { dimension, narrow: false };
            unit.write(&mut memory, &store, &picture.pbe_bytes(), &operands, u32::MAX).unwrap();
            let mut expected = Flat::new(before.len());
            expected.bytes = before;
            for i in (0..LANES).filter(|&i| inside[i]) {
                let is_3d = dimension == TextureDimension::D3;
                let at = Texel {
                    level,
                    layer: if is_3d { 0 } else { layer[i] },
                    x_px: coordinates[0][i],
                    y_px: coordinates[1][i],
                    z_px: if is_3d { coordinates[2][i] } else { 0 },
                    sample: 0,
                };
                let offset = picture.layout.texel_offset_B(at).unwrap() as usize;
                expected.bytes[offset..offset + 4].copy_from_slice(&data[i].to_le_bytes());
            }
            assert!(memory.bytes == expected.bytes, "{dimension} level {level}");
        }
    }
}

#[test]
fn swizzles_put_components_where_the_format_has_them() {
    // Blue first, as B8G8R8A8 wants it.
    let mut picture = Picture::new(&Make::d2(Channels::R8G8B8A8, TextureType::Unorm, 4, 4));
    picture.pbe.swizzle_r = Channel::B;
    picture.pbe.swizzle_b = Channel::R;
    picture.texture.swizzle_r = Channel::B;
    picture.texture.swizzle_b = Channel::R;
    picture.texture.swizzle_a = Channel::One;
    let mut memory = Flat::new(picture.size());
    let mut unit = Unit::default();
    let colour = [1.0f32, 0.4, 0.2, 0.6];
    let operands = StoreOperands {
        components: colour.map(|c| [c.to_bits(); LANES]),
        ..StoreOperands::default()
    };
    let store = Store { dimension: TextureDimension::D2, narrow: false };
    unit.write(&mut memory, &store, &picture.pbe_bytes(), &operands, 1).unwrap();
    assert_eq!(memory.bytes[..4], [51, 102, 255, 153]);
    let mut request = load(TextureDimension::D2);
    let texture = picture.texture_bytes();
    let out = read(&mut unit, &mut memory, &request, &texture, None, &Operands::default());
    let got: [f32; 4] = std::array::from_fn(|c| f32::from_bits(out[c][0]));
    assert_eq!(got, [1.0, 0.4, 0.2, 1.0]);
    // Components outside of the mask take no row.
    request.mask = 0b1010;
    let out = read(&mut unit, &mut memory, &request, &texture, None, &Operands::default());
    assert_eq!([out[0][0], out[1][0]], [0.4f32.to_bits(), 1.0f32.to_bits()]);
}

#[test]
fn samples_of_a_pixel_are_apart() {
    for samples in [2, 4] {
        let make = Make {
            dimension: TextureDimension::D2ArrayMultisampled,
            tiling: Tiling::Twiddled,
            layers: 3,
            samples,
            ..Make::d2(Channels::R16G16, TextureType::Uint, 40, 24)
        };
        let picture = Picture::new(&make);
        let mut memory = Flat::new(picture.size());
        let mut unit = Unit::default();
        let mut random = Random(3);
        let x: [u32; LANES] = std::array::from_fn(|i| i as u32 + 5);
        let y: [u32; LANES] = std::array::from_fn(|_| random.below(24));
        let layer: [u32; LANES] = std::array::from_fn(|_| random.below(3));
        let sample: [u32; LANES] = std::array::from_fn(|_| random.below(samples));
        let data: [u32; LANES] = std::array::from_fn(|i| 100 + i as u32);
        let operands = StoreOperands {
            coordinates: [x, y, [0; LANES]],
            layer,
            sample,
            components: [data; 4],
            ..StoreOperands::default()
        };
        let store = Store { dimension: make.dimension, narrow: false };
        unit.write(&mut memory, &store, &picture.pbe_bytes(), &operands, u32::MAX).unwrap();
        for i in 0..LANES {
            let at = Texel {
                layer: layer[i],
                x_px: x[i],
                y_px: y[i],
                sample: sample[i],
                ..Texel::default()
            };
            assert_eq!(picture.raw(&memory, at), u128::from(data[i] | data[i] << 16));
        }
        let operands =
            Operands { coordinates: [x, y, [0; LANES]], layer, sample, ..Operands::default() };
        let out = read(
            &mut unit,
            &mut memory,
            &load(make.dimension),
            &picture.texture_bytes(),
            None,
            &operands,
        );
        assert_eq!([out[0], out[1]], [data, data]);
    }
}

/// It is unknown how the hardware updates a compressed tile when a single texel is stored.
#[test]
fn texels_of_compressed_levels_are_not_stored() {
    let make = Make {
        tiling: Tiling::Compressed,
        levels: 3,
        ..Make::d2(Channels::R32, TextureType::Uint, 48, 40)
    };
    let mut picture = Picture::new(&make);
    let mut memory = Flat::new(picture.size());
    let mut unit = Unit::default();
    let store = Store { dimension: TextureDimension::D2, narrow: false };
    let operands = StoreOperands { components: [[7; LANES]; 4], ..StoreOperands::default() };
    for level in 0..3 {
        (picture.pbe.level, picture.pbe.levels) = (level, 3);
        let stored = unit.write(&mut memory, &store, &picture.pbe_bytes(), &operands, 1);
        // Level 2 is 12x10.
        assert_eq!(stored.is_ok(), level == 2, "{level}: {stored:?}");
        let at = Texel { level, ..Texel::default() };
        assert_eq!(picture.raw(&memory, at), if level == 2 { 7 } else { 0 });
    }
}

/// A tile goes to the image whole, cut at the image's sides, and into compressed images too.
#[test]
fn blocks_are_stored() {
    let cases = [
        (Channels::R8G8B8A8, TextureType::Uint, TileFormat::I8),
        (Channels::R8G8B8A8, TextureType::Sint, TileFormat::I8),
        (Channels::R8G8B8A8, TextureType::Unorm, TileFormat::U8Norm),
        (Channels::R16, TextureType::Unorm, TileFormat::U16Norm),
        (Channels::R16G16B16A16, TextureType::Float, TileFormat::I16),
        (Channels::R16G16B16A16, TextureType::Uint, TileFormat::I16),
        (Channels::R5G6B5, TextureType::Unorm, TileFormat::I16),
        (Channels::R32, TextureType::Float, TileFormat::I32),
        (Channels::R32G32B32A32, TextureType::Uint, TileFormat::I32),
        (Channels::R10G10B10A2, TextureType::Unorm, TileFormat::Rgb10A2),
        (Channels::R11G11B10, TextureType::Float, TileFormat::Rg11B10F),
        (Channels::R9G9B9E5, TextureType::Float, TileFormat::Rgb9E5),
    ];
    let mut random = Random(4);
    for (channels, type_, format) in cases {
        for tiling in [Tiling::Linear, Tiling::Twiddled, Tiling::Compressed] {
            let make = Make {
                dimension: TextureDimension::D2Array,
                tiling,
                layers: 2,
                ..Make::d2(channels, type_, 50, 40)
            };
            let picture = Picture::new(&make);
            let codec = TexelCodec::new(picture.format).unwrap();
            let tile = Tilebuffer { size: [32, 32], samples: 1, sample_bytes: 16 };
            let mut local = vec![0; 32 * 32 * 16];
            let mut memory = Flat::new(picture.size());
            let mut unit = Unit::default();
            let mut image = vec![[0u32; 4]; 50 * 40];
            let narrow = format == TileFormat::I16;
            for at in [[0, 0], [32, 0], [0, 32], [32, 32]] {
                let rows: Vec<_> = (0..32).map(|_| values(&mut random, type_, narrow)).collect();
                for y in 0..32u32 {
                    for x in 0..32u32 {
                        let value: [u32; 4] =
                            std::array::from_fn(|c| rows[y as usize][c][x as usize]);
                        let float = !matches!(type_, TextureType::Uint | TextureType::Sint);
                        let register = if narrow && float {
                            value.map(|v| tepui_agx_texture::half::narrow(f32::from_bits(v)))
                        } else {
                            value
                        };
                        let start = tile.offset(x, y, 0);
                        assert!(format.store(15, &register, &mut local[start..]));
                        let (ix, iy) = (at[0] + x, at[1] + y);
                        if ix < 50 && iy < 40 {
                            image[(iy * 50 + ix) as usize] = value;
                        }
                    }
                }
                let store = BlockStore { dimension: make.dimension, format };
                let block = Block { at, layer: 1, level: 0, offset: 0 };
                unit.write_block(&mut memory, &store, &picture.pbe_bytes(), &block, &tile, &local)
                    .unwrap();
            }
            assert!(unit.notes.is_empty());
            for (i, value) in image.iter().enumerate() {
                let (x_px, y_px) = (i as u32 % 50, i as u32 / 50);
                let at = Texel { layer: 1, x_px, y_px, ..Texel::default() };
                let raw = picture.raw(&memory, at);
                let want = if codec.is_float() {
                    codec.pack_f32(value.map(f32::from_bits))
                } else {
                    codec.pack_u32(*value)
                };
                assert_eq!(raw, want, "{} {tiling} at {x_px}, {y_px}", picture.format);
            }
            let operands = Operands {
                coordinates: [[49; LANES], [39; LANES], [0; LANES]],
                layer: [1; LANES],
                ..Operands::default()
            };
            let request = load(make.dimension);
            let texture = picture.texture_bytes();
            let out = read(&mut unit, &mut memory, &request, &texture, None, &operands);
            let want = stored(&codec, image[39 * 50 + 49]);
            assert_eq!(out[0][0], want[0], "{}", picture.format);
            assert!(unit.notes.is_empty(), "the tiles were written");
        }
    }
}

/// Texels of images that lie in one piece are written together; without windows each for itself.
#[test]
fn both_ways_to_store_texels_have_the_same_bits() {
    let formats = formats();
    let mut random = Random(99);
    for round in 0..1500 {
        let (channels, type_, srgb) = formats[random.below(formats.len() as u32) as usize];
        let array = random.below(3) == 0;
        let tiling = if random.below(2) == 0 { Tiling::Linear } else { Tiling::Twiddled };
        let make = Make {
            dimension: if array { TextureDimension::D2Array } else { TextureDimension::D2 },
            tiling,
            srgb,
            layers: if array { 3 } else { 1 },
            levels: if tiling == Tiling::Linear { 1 } else { 1 + random.below(3) },
            ..Make::d2(channels, type_, 16 + random.below(60), 16 + random.below(60))
        };
        let picture = Picture::new(&make);
        let narrow = random.below(2) == 0;
        let store = Store { dimension: make.dimension, narrow };
        let (layer, level) = (random.below(4), random.below(make.levels + 1));
        let (start, spread) = (random.below(50), random.below(4) == 0);
        let operands = StoreOperands {
            coordinates: std::array::from_fn(|axis| {
                std::array::from_fn(|i| match (spread, axis) {
                    (true, _) => random.below(90),
                    (_, 0) => start + i as u32,
                    _ => start,
                })
            }),
            layer: std::array::from_fn(|_| if spread { random.below(4) } else { layer }),
            level: [level; LANES],
            components: values(&mut random, type_, narrow),
            ..StoreOperands::default()
        };
        let exec = if random.below(2) == 0 { u32::MAX } else { random.next() };
        let before = picture.noise(round).bytes;
        let [fast, slow] = [true, false].map(|windows| {
            let mut memory = Flat::new(picture.size());
            memory.bytes.copy_from_slice(&before);
            memory.windows = windows;
            let pbe = picture.pbe_bytes();
            Unit::default().write(&mut memory, &store, &pbe, &operands, exec).unwrap();
            memory.bytes
        });
        assert!(fast == slow, "round {round}: {make:?} {store:?}");
    }
}

/// Tiles of images that lie in one piece are copied in fours; without windows each texel is
/// converted and written for itself.
#[test]
fn both_ways_to_store_a_block_have_the_same_bits() {
    let cases = [
        (Channels::R8, TextureType::Unorm, TileFormat::U8Norm, 1),
        (Channels::R8G8, TextureType::Snorm, TileFormat::S8Norm, 2),
        (Channels::R8G8B8A8, TextureType::Unorm, TileFormat::U8Norm, 4),
        (Channels::R8G8B8A8, TextureType::Unorm, TileFormat::Srgba8, 4),
        (Channels::R8G8B8A8, TextureType::Sint, TileFormat::I8, 4),
        (Channels::R10G10B10A2, TextureType::Unorm, TileFormat::Rgb10A2, 4),
        (Channels::R11G11B10, TextureType::Float, TileFormat::Rg11B10F, 4),
        (Channels::R16G16B16A16, TextureType::Float, TileFormat::F16, 8),
        (Channels::R16G16, TextureType::Uint, TileFormat::I16, 4),
        (Channels::R32G32B32A32, TextureType::Float, TileFormat::I32, 16),
    ];
    let mut random = Random(77);
    let sides = [Channel::R, Channel::G, Channel::B, Channel::A];
    for round in 0..600 {
        let (channels, type_, format, bytes) = cases[random.below(cases.len() as u32) as usize];
        let samples = [1, 1, 2, 4][random.below(4) as usize];
        let tiling = match (samples, random.below(3)) {
            (1, 0) => Tiling::Linear,
            (_, 1) => Tiling::Compressed,
            _ => Tiling::Twiddled,
        };
        let multisampled = samples > 1;
        let fours = random.below(2) == 0;
        let side = |random: &mut Random| {
            if fours { 16 + 4 * random.below(14) } else { 16 + random.below(60) }
        };
        let make = Make {
            dimension: if multisampled {
                TextureDimension::D2Multisampled
            } else {
                TextureDimension::D2
            },
            tiling,
            samples,
            ..Make::d2(channels, type_, side(&mut random), side(&mut random))
        };
        let mut picture = Picture::new(&make);
        if bytes == 4 && random.below(2) == 0 {
            (picture.pbe.swizzle_r, picture.pbe.swizzle_b) = (sides[2], sides[0]);
        }
        let extra = [0, 4, 8][random.below(3) as usize];
        let tile = Tilebuffer { size: [32, 32], samples, sample_bytes: bytes + extra };
        let block = Block {
            at: [32 * random.below(2), 32 * random.below(2)],
            layer: 0,
            level: 0,
            offset: if random.below(2) == 0 { extra } else { 0 },
        };
        let mut local = vec![0; (32 * 32 * samples * (bytes + extra)) as usize + 16];
        for y in 0..32 {
            for x in 0..32 * samples {
                let values = values(&mut random, type_, format == TileFormat::I16);
                let value = std::array::from_fn(|c| values[c][0]);
                let at = tile.offset(x / samples, y, x % samples) + block.offset as usize;
                format.store(15 >> (4 - picture_channels(channels)), &value, &mut local[at..]);
            }
        }
        let store = BlockStore { dimension: make.dimension, format };
        let before = picture.noise(round).bytes;
        let mut after = [true, false].map(|windows| {
            let mut memory = Flat::new(picture.size());
            memory.bytes.copy_from_slice(&before);
            memory.windows = windows;
            let mut unit = Unit::default();
            let pbe = picture.pbe_bytes();
            unit.write_block(&mut memory, &store, &pbe, &block, &tile, &local).unwrap();
            memory.bytes
        });
        let [fast, slow] = &mut after;
        assert!(fast == slow, "round {round}: {make:?} {tile:?} {block:?} {format:?}");
    }
}

fn picture_channels(channels: Channels) -> u8 {
    match channels {
        Channels::R8 => 1,
        Channels::R8G8 | Channels::R16G16 => 2,
        Channels::R11G11B10 => 3,
        _ => 4,
    }
}

#[test]
fn a_store_outside_of_memory_is_a_fault() {
    let picture = Picture::new(&Make::d2(Channels::R32, TextureType::Uint, 64, 64));
    let mut memory = Flat::new(16);
    let mut unit = Unit::default();
    let operands = StoreOperands { coordinates: [[60; LANES]; 3], ..StoreOperands::default() };
    let store = Store { dimension: TextureDimension::D2, narrow: false };
    let fault = unit.write(&mut memory, &store, &picture.pbe_bytes(), &operands, 1).unwrap_err();
    let tepui_agx_texture::Fault::Memory(fault) = fault else { panic!("{fault}") };
    assert!(fault.address >= BASE);
    // A lane that does not run does not fault.
    unit.write(&mut memory, &store, &picture.pbe_bytes(), &operands, 0).unwrap();
    let _ = (bits([0.0; LANES]), sampler(|_| ()));
}
