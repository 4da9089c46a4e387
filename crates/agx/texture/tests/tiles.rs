//! Pixels of the tilebuffer byte by byte, and rows of depth and stencil buffers.

mod common;

use common::{BASE, Flat, Make, Picture};
use tepui_agx_layout::{Texel, Tiling};
use tepui_agx_packets::Packet;
use tepui_agx_packets::pbe::Pbe;
use tepui_agx_packets::texture::{
    Channel, Channels, ImageMode, Layout, Texture, TextureDimension, TextureType,
};
use tepui_agx_texture::{Note, Notes, Surface, SurfaceShape, TileFormat, texture_of};
use tepui_format::Format;

#[test]
fn channels_take_the_bytes_of_their_format() {
    let f = f32::to_bits;
    let floats = [f(1.0), f(0.5), f(0.0), f(-1.0)];
    let integers = [0x0102_0304, 0x1112_1314, 0x2122_2324, 0x3132_3334];
    let halves = [0x3c00, 0x3800, 0x0000, 0xbc00];
    let bytes = |units: [u32; 4], size: usize| -> Vec<u8> {
        units.iter().flat_map(|u| u.to_le_bytes()[..size].to_vec()).collect()
    };
    let cases = [
        (TileFormat::I8, integers, bytes([4, 0x14, 0x24, 0x34], 1)),
        (TileFormat::U8Norm, floats, bytes([255, 128, 0, 0], 1)),
        (TileFormat::S8Norm, floats, bytes([127, 64, 0, 0x81], 1)),
        // 0.5 is 188 of 255 after the sRGB curve; alpha is linear.
        (TileFormat::Srgba8, [f(1.0), f(0.5), f(0.0), f(0.5)], bytes([255, 188, 0, 128], 1)),
        (TileFormat::I16, integers, bytes([0x0304, 0x1314, 0x2324, 0x3334], 2)),
        (TileFormat::F16, floats, bytes(halves, 2)),
        (TileFormat::U16Norm, floats, bytes([65535, 32768, 0, 0], 2)),
        (TileFormat::S16Norm, floats, bytes([32767, 16384, 0, 0x8001], 2)),
        (TileFormat::I32, integers, bytes(integers, 4)),
    ];
    for (format, values, want) in cases {
        let unit = want.len() / 4;
        assert_eq!(format.unit(), unit, "{format:?}");
        let mut pixel = vec![0xee; want.len()];
        assert!(format.store(0xf, &values, &mut pixel), "{format:?}");
        assert_eq!(pixel, want, "{format:?}");
        let loaded = format.load(0xf, &pixel).expect("it is inside");
        let mut again = vec![0xee; want.len()];
        assert!(format.store(0xf, &loaded, &mut again), "{format:?}");
        assert_eq!(again, want, "{format:?}");
        // Channels 1 and 3 alone take the first two values.
        let mut some = vec![0xee; want.len()];
        let [_, a, _, b] = loaded;
        assert!(format.store(0b1010, &[a, b, 0, 0], &mut some), "{format:?}");
        assert_eq!(some[..unit], vec![0xee; unit], "{format:?}");
        assert_eq!(some[unit..2 * unit], want[unit..2 * unit], "{format:?}");
        assert_eq!(some[2 * unit..3 * unit], vec![0xee; unit], "{format:?}");
        assert_eq!(some[3 * unit..], want[3 * unit..], "{format:?}");
        // Accesses past the end of a pixel are refused.
        let short = want.len() - 1;
        assert!(!format.store(0xf, &values, &mut vec![0; short]), "{format:?}");
        assert_eq!(format.load(0b1000, &pixel[..short]), None, "{format:?}");
        assert!(format.load(0b0001, &pixel[..unit]).is_some(), "{format:?}");
    }
}

/// A row of a depth buffer goes over an uncompressed, a solid and an unknown tile.
#[test]
fn a_row_of_a_depth_buffer_crosses_tiles() {
    let make =
        Make { tiling: Tiling::Compressed, ..Make::d2(Channels::R32, TextureType::Float, 64, 48) };
    let picture = Picture::new(&make);
    let metadata = picture.layout.metadata.as_ref().expect("it is compressed");
    let mut memory: Flat = picture.noise(21);
    let tile = |x| metadata.tile_offset_B(0, 0, x, 0).expect("it is inside") as usize;
    let (solid, unknown) = (tile(1), tile(2));
    memory.bytes[solid..solid + 8].fill(0x03);
    memory.bytes[unknown..unknown + 8].fill(0x41);
    let corner = picture.layout.texel_offset_B(Texel { x_px: 16, ..Texel::default() });
    let corner = corner.expect("it is inside") as usize;
    memory.bytes[corner..corner + 4].copy_from_slice(&0.625f32.to_le_bytes());
    let surface = Surface::new(&SurfaceShape {
        format: Format::D32_SFLOAT,
        layout: Layout::Gpu,
        size_px: [64, 48],
        samples: 1,
        address: BASE,
        layer_stride: picture.layout.layer_stride_B,
        metadata: Some((BASE + metadata.offset_B, metadata.layer_stride_B)),
    })
    .expect("the shape is known");
    for windows in [true, false] {
        memory.windows = windows;
        for first in [0, 5, 16] {
            let mut notes = Notes::default();
            let mut row = vec![7; 64 - first as usize];
            surface
                .load_row(&mut memory, &mut notes, [0, 0], [first, 9], &mut row)
                .expect("memory is there");
            for (x_px, got) in (first..).zip(row) {
                let at = Texel { x_px, y_px: 9, ..Texel::default() };
                let want = match x_px / 16 {
                    1 => 0.625f32.to_bits(),
                    2 => 0,
                    _ => picture.raw(&memory, at) as u32,
                };
                assert_eq!(got, want, "column {x_px} of a row from {first}");
            }
            assert_eq!(
                notes.take(),
                [Note::UnknownCompression { metadata: 0x4141_4141_4141_4141 }]
            );
        }
    }
}

/// Rectangles of depth and stencil buffers are what their rows are, and what was stored there.
#[test]
fn rectangles_are_rows() {
    let formats = [
        (Format::D32_SFLOAT, Channels::R32, u32::MAX),
        (Format::D16_UNORM, Channels::R16, 0xffff),
        (Format::S8_UINT, Channels::R8, 0xff),
    ];
    for (format, channels, bits) in formats {
        let picture = Picture::new(&Make::d2(channels, TextureType::Uint, 72, 44));
        let surface = Surface::new(&SurfaceShape {
            format,
            layout: Layout::Gpu,
            size_px: [72, 44],
            samples: 1,
            address: BASE,
            layer_stride: picture.layout.layer_stride_B,
            metadata: None,
        })
        .expect("the shape is known");
        for (at, size) in
            [([0, 0], [32, 32]), ([64, 32], [8, 12]), ([4, 8], [28, 4]), ([5, 9], [31, 3])]
        {
            for windows in [true, false] {
                let mut memory = picture.noise(22);
                memory.windows = windows;
                let mut notes = Notes::default();
                let mut texels = [[7; 32]; 32];
                surface
                    .load_rows(&mut memory, &mut notes, [0, 0], at, size, &mut texels)
                    .expect("memory is there");
                for (y, row) in (at[1]..).zip(&texels[..size[1]]) {
                    let mut want = [0; 32];
                    let want = &mut want[..size[0]];
                    surface
                        .load_row(&mut memory, &mut notes, [0, 0], [at[0], y], want)
                        .expect("memory is there");
                    assert_eq!(row[..size[0]], *want, "row {y} of {size:?} at {at:?}, {format:?}");
                }
                let stored = texels.map(|row| row.map(|texel| !texel & bits));
                surface
                    .store_rows(&mut memory, [0, 0], at, size, &stored)
                    .expect("memory is there");
                surface
                    .load_rows(&mut memory, &mut notes, [0, 0], at, size, &mut texels)
                    .expect("memory is there");
                for (got, want) in texels.iter().zip(&stored).take(size[1]) {
                    assert_eq!(got[..size[0]], want[..size[0]], "{size:?} at {at:?}, {format:?}");
                }
            }
        }
    }
}

/// Samples of a pixel lie one after the other, where the layout says.
#[test]
fn samples_of_a_depth_buffer_are_apart() {
    for samples in [2, 4] {
        let make = Make {
            dimension: TextureDimension::D2Multisampled,
            samples,
            ..Make::d2(Channels::R32, TextureType::Float, 40, 24)
        };
        let picture = Picture::new(&make);
        let surface = Surface::new(&SurfaceShape {
            format: Format::D32_SFLOAT,
            layout: Layout::Gpu,
            size_px: [40, 24],
            samples,
            address: BASE,
            layer_stride: picture.layout.layer_stride_B,
            metadata: None,
        })
        .expect("the shape is known");
        for windows in [true, false] {
            let mut memory = picture.noise(22);
            memory.windows = windows;
            for sample in 0..samples {
                let mut row = [0; 40];
                surface
                    .load_row(&mut memory, &mut Notes::default(), [0, sample], [0, 7], &mut row)
                    .expect("memory is there");
                for (x_px, got) in (0..).zip(row) {
                    let at = Texel { x_px, y_px: 7, sample, ..Texel::default() };
                    assert_eq!(u128::from(got), picture.raw(&memory, at), "{at:?}");
                }
                let mut texels = [[0; 32]; 32];
                texels[0][..2].copy_from_slice(&[100 + sample, 200 + sample]);
                surface
                    .store_rows(&mut memory, [0, sample], [5, 9], [2, 1], &texels)
                    .expect("memory is there");
            }
            for sample in 0..samples {
                for (x_px, want) in [(5, 100 + sample), (6, 200 + sample)] {
                    let at = Texel { x_px, y_px: 9, sample, ..Texel::default() };
                    assert_eq!(picture.raw(&memory, at), u128::from(want), "{at:?}");
                }
            }
        }
    }
}

/// Bits above a channel's are not part of it.
#[test]
fn encoded_channels_have_the_bits_of_their_format() {
    let minus = (-1.0f32).to_bits();
    let cases = [
        (TileFormat::I8, 0x0102_0384, 0x84),
        (TileFormat::I16, 0x0102_8384, 0x8384),
        (TileFormat::I32, 0x8102_0304, 0x8102_0304),
        (TileFormat::S8Norm, minus, 0x81),
        (TileFormat::S16Norm, minus, 0x8001),
        (TileFormat::F16, minus, 0xbc00),
    ];
    for (format, value, want) in cases {
        for channel in 0..4 {
            assert_eq!(format.encode(channel, value), want, "{format:?} {channel}");
        }
    }
}

/// The texture that reads what a PBE descriptor writes has the descriptor's memory and format.
#[test]
fn a_target_is_read_as_it_is_written() {
    let make = Make { levels: 3, layers: 2, ..Make::d2(Channels::R32, TextureType::Uint, 64, 48) };
    let picture = Picture::new(&make);
    for mode in [ImageMode::Normal, ImageMode::Sparse] {
        for level in 0..3 {
            let pbe = Pbe { mode, level, ..picture.pbe };
            let (bytes, size) = texture_of(&pbe.pack().unwrap()).expect("it can be read");
            assert_eq!(size, [64 >> level, 48 >> level]);
            let texture = Texture::unpack(&bytes).unwrap();
            let want = Texture { mode, first_level: level, last_level: level, ..picture.texture };
            assert_eq!(format!("{texture:#?}"), format!("{want:#?}"));
        }
    }
}

/// Strides, samples, compression metadata and swizzles come along.
#[test]
fn targets_of_every_layout_are_read_as_they_are_written() {
    let d2 = Make::d2(Channels::R8G8B8A8, TextureType::Unorm, 64, 48);
    let array = Make { dimension: TextureDimension::D2Array, layers: 3, ..d2 };
    let makes = [
        Make { tiling: Tiling::Linear, ..d2 },
        Make { tiling: Tiling::Linear, ..array },
        Make { tiling: Tiling::Compressed, ..array },
        Make { dimension: TextureDimension::D2Multisampled, samples: 4, ..d2 },
    ];
    for make in makes {
        let mut picture = Picture::new(&make);
        // Red and blue change places, which is the same map in both directions.
        (picture.pbe.swizzle_r, picture.pbe.swizzle_b) = (Channel::B, Channel::R);
        (picture.texture.swizzle_r, picture.texture.swizzle_b) = (Channel::B, Channel::R);
        let (bytes, _) = texture_of(&picture.pbe_bytes()).expect("it can be read");
        let texture = Texture::unpack(&bytes).unwrap();
        assert_eq!(format!("{texture:#?}"), format!("{:#?}", picture.texture), "{make:?}");
    }
}
