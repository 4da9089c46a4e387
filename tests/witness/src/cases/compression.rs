//! Images that drivers may compress because they are render targets, used by commands that read and write single
//! texels.

use ash::{ext, vk};
use tepui_agx_layout::compression::{SOLID_MODE, TILE_SA, TileMetadata};
use tepui_agx_layout::{ImageDesc, Layout, Tiling, Usage};
use tepui_layout::Shape as LayoutShape;

use super::copy::{ImageCopy, buffer_region, image_copy, round_trip};
use crate::case::{Case, Output, Rule};
use crate::gpu::{Gpu, Image, ImageSpec, Result, Shape, Transfer};
use crate::texel::{Format, named};

/// A format for each way in which texel bits are derived from the texture unit's values.
const FORMATS: &[&str] = &[
    "R8_SNORM",
    "R5G6B5_UNORM_PACK16",
    "A1R5G5B5_UNORM_PACK16",
    "R16_SFLOAT",
    "R8G8_UINT",
    "B8G8R8A8_SRGB",
    "A2B10G10R10_UNORM_PACK32",
    "A2R10G10B10_UNORM_PACK32",
    "B10G11R11_UFLOAT_PACK32",
    "R16G16_SFLOAT",
    "R32_SFLOAT",
    "R16G16B16A16_SNORM",
    "R32G32_UINT",
    "R32G32B32A32_SFLOAT",
    "D16_UNORM",
    "D32_SFLOAT",
];

/// An image that is a render target.
fn target(format: &Format, shape: Shape, size_px: [u32; 3]) -> ImageSpec {
    let mut spec = ImageSpec::sampled(format.vk, shape, size_px).through(Transfer::Gpu);
    spec.usage |= attached(format.name);
    spec
}

fn attached(format: &str) -> vk::ImageUsageFlags {
    match format.starts_with('D') {
        true => vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
        false => vk::ImageUsageFlags::COLOR_ATTACHMENT,
    }
}

fn round_trips() -> Vec<Case> {
    let mut cases = Vec::new();
    for name in FORMATS {
        let format = named(name);
        let spec = target(&format, Shape::D2, [77, 53, 1]).mipmapped();
        cases.push(round_trip(format!("compression/format_{name}"), format, spec));
    }
    for (shape, size) in [
        (Shape::D2Array, [70, 131, 1]),
        (Shape::D3, [33, 20, 9]),
        (Shape::Cube, [40, 40, 1]),
        // More columns of tiles than rows, and vice versa.
        (Shape::D2, [300, 20, 1]),
        (Shape::D2, [20, 300, 1]),
    ] {
        for name in ["R8_UNORM", "R8G8B8A8_UNORM"] {
            let format = named(name);
            let [w, h, _] = size;
            let case = format!("compression/{shape:?}_{w}x{h}_{name}");
            cases.push(round_trip(case, format, target(&format, shape, size).mipmapped()));
        }
    }
    for (name, format, shape, size) in [
        ("2d", "R8G8B8A8_UNORM", Shape::D2, [40, 30, 1]),
        ("array", "R16G16_UINT", Shape::D2Array, [40, 30, 1]),
        ("3d", "R8G8B8A8_UNORM", Shape::D3, [20, 16, 6]),
        ("depth", "D32_SFLOAT", Shape::D2, [40, 30, 1]),
    ] {
        let format = named(format);
        let spec = target(&format, shape, size);
        cases.push(buffer_region(format!("compression/region_{name}"), format, spec));
    }
    cases
}

fn image_copies() -> Vec<Case> {
    use Shape::{D2, D2Array, D3};
    let square = [64, 48, 1];
    let rgba = ("R8G8B8A8_UNORM", D2, square);
    let array = ("R8G8B8A8_UNORM", D2Array, square);
    let volume = ("R8G8B8A8_UNORM", D3, [64, 48, 8]);
    let small = ("R32G32_UINT", D2, [20, 20, 1]);
    let blocks = ("BC1_RGBA_UNORM_BLOCK", D2, square);
    let depth = ("D32_SFLOAT", D2, square);
    // Whether each of the two images is a render target.
    let rows = [
        ("part", rgba, rgba, [true, true], [5, 7, 0], [33, 1, 0], [21, 19, 1]),
        ("part_from", rgba, rgba, [true, false], [5, 7, 0], [33, 1, 0], [21, 19, 1]),
        ("part_to", rgba, rgba, [false, true], [5, 7, 0], [33, 1, 0], [21, 19, 1]),
        ("tiles", rgba, rgba, [false, true], [0; 3], [16, 16, 0], [32, 32, 1]),
        ("layers", array, array, [true, true], [3, 0, 0], [0, 9, 1], [40, 30, 2]),
        ("slices", volume, volume, [true, true], [1, 2, 3], [4, 5, 1], [30, 20, 4]),
        ("layers_to_slices", array, volume, [true, true], [3, 2, 0], [9, 9, 4], [16, 16, 3]),
        ("blocks_to_words", blocks, small, [false, true], [2, 1, 0], [5, 6, 0], [9, 8, 1]),
        ("words_to_blocks", small, blocks, [true, false], [2, 1, 0], [3, 2, 0], [9, 8, 1]),
        ("depth", depth, depth, [true, true], [0; 3], [0; 3], [64, 48, 1]),
    ];
    let case = |(name, from, to, rendered, source, target, size): (_, _, _, [bool; 2], _, _, _)| {
        let name = format!("compression/image_{name}");
        let none = vk::ImageUsageFlags::empty();
        let of = |k: usize, kind: (&str, Shape, [u32; 3])| {
            if rendered[k] { attached(kind.0) } else { none }
        };
        let usage = [of(0, from), of(1, to)];
        image_copy(ImageCopy { name, from, to, usage, source, target, size })
    };
    rows.into_iter().map(case).collect()
}

const LAYERS: vk::ImageSubresourceLayers = vk::ImageSubresourceLayers {
    aspect_mask: vk::ImageAspectFlags::COLOR,
    mip_level: 0,
    base_array_layer: 0,
    layer_count: 1,
};

/// A rectangle: first column and row, columns and rows.
type Rectangle = [u32; 4];

/// Overwrites a rectangle of an image by a copy of words, which are also returned.
fn overwrite(gpu: &Gpu, image: vk::Image, [x, y, w, h]: Rectangle) -> Result<Vec<u8>> {
    let texels = named("R32_UINT").texels(141, (w * h * 4) as usize);
    let staging = gpu.buffer::<u8>(&texels)?;
    let region = vk::BufferImageCopy {
        image_subresource: LAYERS,
        image_offset: vk::Offset3D { x: x as i32, y: y as i32, z: 0 },
        image_extent: vk::Extent3D { width: w, height: h, depth: 1 },
        ..Default::default()
    };
    let layout = vk::ImageLayout::GENERAL;
    gpu.submit(|c| {
        // SAFETY: buffer and image are live, and the region is inside both.
        unsafe {
            gpu.device.cmd_copy_buffer_to_image(c.handle, staging.handle, image, layout, &[region]);
        }
        c.barrier();
    })?;
    Ok(texels)
}

/// The expected image: `background` with a rectangle of other words.
fn with_rectangle(
    [width, height]: [u32; 2],
    background: impl Fn(u32, u32) -> u32,
    [x, y, w, h]: Rectangle,
    texels: &[u8],
) -> Vec<u8> {
    let mut out = Vec::new();
    for row in 0..height {
        for column in 0..width {
            let (i, j) = (column.wrapping_sub(x), row.wrapping_sub(y));
            match i < w && j < h {
                true => out.extend_from_slice(&texels[((j * w + i) * 4) as usize..][..4]),
                false => out.extend_from_slice(&background(column, row).to_le_bytes()),
            }
        }
    }
    out
}

/// A cleared image, of which a copy overwrites a part whose size is not a multiple of tiles.
fn part_of_a_clear() -> Case {
    const SIZE_PX: [u32; 2] = [70, 50];
    let about = "a clear, and a copy to a part of it";
    Case::new("compression/part_of_a_clear", about, vec![], |bench| {
        let gpu = bench.gpu;
        let [width, height] = SIZE_PX;
        let image = gpu.image(target(&named("R32_UINT"), Shape::D2, [width, height, 1]))?;
        let colour = 0x1234_5678;
        gpu.submit(|c| {
            let range = vk::ImageSubresourceRange {
                aspect_mask: vk::ImageAspectFlags::COLOR,
                level_count: 1,
                layer_count: 1,
                ..Default::default()
            };
            let value = vk::ClearColorValue { uint32: [colour; 4] };
            let layout = vk::ImageLayout::GENERAL;
            // SAFETY: the image is live and in the general layout.
            unsafe {
                gpu.device.cmd_clear_color_image(c.handle, image.handle, layout, &value, &[range]);
            }
            c.barrier();
        })?;
        let rectangle = [5, 3, 37, 29];
        let texels = overwrite(gpu, image.handle, rectangle)?;
        let expected = with_rectangle(SIZE_PX, |_, _| colour, rectangle, &texels);
        let got = gpu.read_image(&image, 0, expected.len())?;
        Ok(vec![Output::cpu("texels", &got, &expected, Rule::Bits)])
    })
}

/// Texels are copied to a part of an image in memory that something else has used: what says how the image is compressed begins anew.
fn part_of_used_memory() -> Case {
    const SIZE_PX: [u32; 2] = [270, 150];
    let about = "a copy to a part of an image in memory that has been used";
    Case::new("compression/part_of_used_memory", about, vec![], |bench| {
        let gpu = bench.gpu;
        let [width, height] = SIZE_PX;
        let spec = target(&named("R8G8B8A8_UNORM"), Shape::D2, [width, height, 1]);
        let image = gpu.image_over(spec, vk::ImageCreateFlags::empty(), Some(0xa5))?;
        let [x, y, w, h] = [5, 3, 137, 29];
        let texels = overwrite(gpu, image.handle, [x, y, w, h])?;
        let all: Vec<u8> = gpu.read_image(&image, 0, (width * height * 4) as usize)?;
        let row = |k: u32| &all[(((y + k) * width + x) * 4) as usize..][..(w * 4) as usize];
        let got: Vec<u8> = (0..h).flat_map(row).copied().collect();
        Ok(vec![Output::cpu("texels", &got, &texels, Rule::Bits)])
    })
}

/// A part of a multisampled image is copied to another, which is resolved to a third.
fn copied_samples(samples: vk::SampleCountFlags) -> Case {
    const SIZE_PX: [u32; 2] = [70, 50];
    let name = format!("compression/samples_{}", samples.as_raw());
    let about = "a part of a multisampled image to another, resolved";
    let case = Case::new(name, about, vec![], move |bench| {
        let gpu = bench.gpu;
        let [width, height] = SIZE_PX;
        let spec = target(&named("R32_UINT"), Shape::D2, [width, height, 1]);
        let colours = [0x1111_2222, 0x3333_4444];
        let [from, to] = [gpu.image(spec.samples(samples))?, gpu.image(spec.samples(samples))?];
        let single = gpu.image(spec)?;
        let [x, y, w, h] = [5, 3, 37, 29];
        gpu.submit(|c| {
            let layout = vk::ImageLayout::GENERAL;
            let range = vk::ImageSubresourceRange {
                aspect_mask: vk::ImageAspectFlags::COLOR,
                level_count: 1,
                layer_count: 1,
                ..Default::default()
            };
            let copy = vk::ImageCopy {
                src_subresource: LAYERS,
                src_offset: vk::Offset3D { x: 20, y: 9, z: 0 },
                dst_subresource: LAYERS,
                dst_offset: vk::Offset3D { x: x as i32, y: y as i32, z: 0 },
                extent: vk::Extent3D { width: w, height: h, depth: 1 },
            };
            let resolve = vk::ImageResolve {
                src_subresource: LAYERS,
                dst_subresource: LAYERS,
                extent: vk::Extent3D { width, height, depth: 1 },
                ..Default::default()
            };
            let d = &gpu.device;
            // SAFETY: the images are live and in the general layout, and the regions are inside.
            unsafe {
                for (image, colour) in [&from, &to].into_iter().zip(colours) {
                    let value = vk::ClearColorValue { uint32: [colour; 4] };
                    d.cmd_clear_color_image(c.handle, image.handle, layout, &value, &[range]);
                }
                c.barrier();
                d.cmd_copy_image(c.handle, from.handle, layout, to.handle, layout, &[copy]);
                c.barrier();
                let (to, single) = (to.handle, single.handle);
                d.cmd_resolve_image(c.handle, to, layout, single, layout, &[resolve]);
            }
            c.barrier();
        })?;
        let texels = colours[0].to_le_bytes().repeat((w * h) as usize);
        let expected = with_rectangle(SIZE_PX, |_, _| colours[1], [x, y, w, h], &texels);
        let got = gpu.read_image(&single, 0, expected.len())?;
        Ok(vec![Output::cpu("texels", &got, &expected, Rule::Bits)])
    });
    // The reference supports one and four samples.
    if samples == vk::SampleCountFlags::TYPE_2 { case.without_lavapipe() } else { case }
}

/// An image whose memory the host fills with tiles of one colour, which silicon may produce for clears: the modifier
/// gives the layout. A copy overwrites a part of them, and another copy reads them.
fn solid_tiles(name: &'static str, rectangle: Rectangle) -> Case {
    const SIZE_PX: [u32; 2] = [70, 50];
    let about = "tiles of one colour, and a copy to a part of them";
    let case = Case::new(format!("compression/{name}"), about, vec![], move |bench| {
        let gpu = bench.gpu;
        gpu.require(ext::image_drm_format_modifier::NAME)?;
        let [width, height] = SIZE_PX;
        let format = named("R32_UINT");
        let spec = target(&format, Shape::D2, [width, height, 1]);
        let shared = tepui_format::Format::R32_UINT;
        let layout = Layout::new(&ImageDesc {
            shape: LayoutShape::new_2d(shared, width, height),
            tiling: Tiling::Compressed,
            usage: Usage { renderable: true, writable: false },
            linear_stride_B: None,
        })
        .map_err(|e| crate::gpu::Error::Missing(e.to_string()))?;
        // Each tile has a colour of its own.
        let colour = |x: u32, y: u32| 0x0101 * (1 + x / TILE_SA) + 0x7_0000 * (1 + y / TILE_SA);
        let mut memory = vec![0u8; layout.size_B as usize];
        let mut put = |at: u64, bytes: &[u8]| {
            memory[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        };
        let solid = TileMetadata(u64::from_le_bytes([SOLID_MODE; 8]));
        let metadata = layout.metadata.as_ref();
        for y in (0..height).step_by(TILE_SA as usize) {
            for x in (0..width).step_by(TILE_SA as usize) {
                // Eight times, as Mesa's fast clear writes it.
                let at = layout.level_addresser(0).map_or(0, |a| a.offset_B(x, y));
                put(at, &colour(x, y).to_le_bytes().repeat(8));
                let at = metadata.and_then(|m| m.tile_offset_B(0, 0, x / TILE_SA, y / TILE_SA));
                put(at.unwrap_or(0), &solid.0.to_le_bytes());
            }
        }
        let image = gpu.image_in(spec, (Tiling::Compressed.drm_modifier(), &[(0, 0)]), &memory)?;
        let read = |image: &Image| gpu.read_image(image, 0, (width * height * 4) as usize);
        let before = read(&image)?;
        let expected_before = with_rectangle(SIZE_PX, colour, [0; 4], &[]);
        let texels = overwrite(gpu, image.handle, rectangle)?;
        let expected = with_rectangle(SIZE_PX, colour, rectangle, &texels);
        let got = read(&image)?;
        Ok(vec![
            Output::cpu("before", &before, &expected_before, Rule::Bits),
            Output::cpu("after", &got, &expected, Rule::Bits),
        ])
    });
    case.without_lavapipe()
}

/// A layout that Intel's GPUs share with displays and other devices.
struct Shared {
    name: &'static str,
    modifier: u64,
    /// Bytes and rows of a tile.
    tile: [u32; 2],
    /// Tiles of which a row has a multiple.
    tiles: u32,
    /// Pitch and bytes of the second plane, a control surface. Zeros there say that nothing is compressed.
    control: Option<(u64, usize)>,
}

/// source: drm_fourcc.h, `DRM_FORMAT_MOD_LINEAR`, `I915_FORMAT_MOD_X_TILED`, `I915_FORMAT_MOD_Y_TILED`, `I915_FORMAT_MOD_Y_TILED_CCS`:
/// a tile for up to 1024 by 512 pixels, `I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS`: 64 bytes for four tiles
const SHARED: [Shared; 5] = {
    const ROWS: Shared =
        Shared { name: "rows", modifier: 0, tile: [64, 1], tiles: 1, control: None };
    const Y: Shared = Shared { name: "y_tiles", modifier: 1 << 56 | 2, tile: [128, 32], ..ROWS };
    [
        ROWS,
        Shared { name: "x_tiles", modifier: 1 << 56 | 1, tile: [512, 8], ..ROWS },
        Y,
        Shared {
            name: "y_tiles_with_control",
            modifier: 1 << 56 | 4,
            control: Some((128, 4096)),
            ..Y
        },
        Shared {
            name: "compressed_y_tiles",
            modifier: 1 << 56 | 6,
            tiles: 4,
            control: Some((64, 128)),
            ..Y
        },
    ]
};
/// First byte of the second plane in memory: a page of the table that maps the first one to it.
const CONTROL: usize = 64 << 10;

/// An image in one of [`SHARED`], whose memory the host fills. A copy overwrites a part of it, and another copy reads it.
fn shared(Shared { name, modifier, tile, tiles, control }: Shared) -> Case {
    const SIZE_PX: [u32; 2] = [70, 50];
    let about = "an image in a layout that displays read";
    let case = Case::new(format!("compression/shared_{name}"), about, vec![], move |bench| {
        let gpu = bench.gpu;
        let [width, height] = SIZE_PX;
        let spec = target(&named("R8G8B8A8_UNORM"), Shape::D2, [width, height, 1]);
        let pitch = (4 * width).next_multiple_of(tiles * tile[0]);
        let colour = |x: u32, y: u32| (0x1_0001 * (1 + x)) ^ (y << 8);
        let mut memory = vec![0u8; (pitch * height.next_multiple_of(tile[1])) as usize];
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let (column, row) = (4 * x % tile[0], y % tile[1]);
            let inside = match tile[1] {
                // Columns of 16 bytes.
                32 => column / 16 * 512 + row * 16 + column % 16,
                _ => row * tile[0] + column,
            };
            let at = match tile[1] {
                1 => y * pitch + 4 * x,
                rows => y / rows * rows * pitch + 4 * x / tile[0] * (tile[0] * rows) + inside,
            } as usize;
            memory[at..at + 4].copy_from_slice(&colour(x, y).to_le_bytes());
        }
        let mut planes = vec![(0, pitch.into())];
        if let Some((pitch, bytes)) = control {
            planes.push((CONTROL as u64, pitch));
            memory.resize(CONTROL + bytes, 0);
        }
        let image = gpu.image_in(spec, (modifier, &planes), &memory)?;
        let read = |image: &Image| gpu.read_image(image, 0, (width * height * 4) as usize);
        let before = read(&image)?;
        let expected_before = with_rectangle(SIZE_PX, colour, [0; 4], &[]);
        let rectangle = [5, 3, 37, 29];
        let texels = overwrite(gpu, image.handle, rectangle)?;
        let expected = with_rectangle(SIZE_PX, colour, rectangle, &texels);
        let got = read(&image)?;
        Ok(vec![
            Output::cpu("before", &before, &expected_before, Rule::Bits),
            Output::cpu("after", &got, &expected, Rule::Bits),
        ])
    });
    case.without_lavapipe().without_honeykrisp()
}

/// A layout of Arm's GPUs that displays and other devices read: its modifier, and pixels to whose multiple its rows are padded.
/// source: drm_fourcc.h, `DRM_FORMAT_MOD_ARM_16X16_BLOCK_U_INTERLEAVED`, `AFBC_FORMAT_MOD_*`
const SHARED_BY_ARM: [(&str, u64, u32); 4] = [
    ("interleaved", U_INTERLEAVED, 16),
    ("superblocks", AFBC | 1 << 6, 16),
    ("superblocks_ytr", AFBC | 1 << 6 | 1 << 4, 16),
    // Tiled headers, sparse, superblocks of one colour.
    ("superblocks_tiled", AFBC | 1 << 6 | 1 << 8 | 1 << 9, 128),
];
const U_INTERLEAVED: u64 = 8 << 56 | 1 << 52 | 1;
/// Superblocks of 16×16 pixels. What they have is Arm's: the host cannot make it but zeros, which are black.
/// source: Mesa, pan_resource.c (`panfrost_resource_init_afbc_headers`)
const AFBC: u64 = 8 << 56 | 1;

/// An image in one of [`SHARED_BY_ARM`]: the host fills memory where it can, a copy overwrites a part, another copy reads it; then all
/// is cleared and read again.
fn shared_by_arm((name, modifier, align): (&'static str, u64, u32)) -> Case {
    const SIZE_PX: [u32; 2] = [70, 50];
    let about = "an image in a layout of Arm's that displays read";
    let case = Case::new(format!("compression/shared_{name}"), about, vec![], move |bench| {
        let gpu = bench.gpu;
        let [width, height] = SIZE_PX;
        let spec = target(&named("R8G8B8A8_UNORM"), Shape::D2, [width, height, 1]);
        let is_compressed = modifier != U_INTERLEAVED;
        let columns = width.next_multiple_of(align);
        let colour = |x: u32, y: u32| match is_compressed {
            true => 0,
            false => (0x1_0001 * (1 + x)) ^ (y << 8),
        };
        // Headers are before the superblocks; zeros are at the end, too.
        let mut memory = vec![0u8; (4 * columns * height.next_multiple_of(16)) as usize];
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let bit = |v: u32, k: u32| v >> k & 1;
            let inside =
                (0..4).fold(0, |all, k| all | bit(x ^ y, k) << (2 * k) | bit(y, k) << (2 * k + 1));
            let at = (4 * (((y / 16) * (columns / 16) + x / 16) * 256 + inside)) as usize;
            memory[at..at + 4].copy_from_slice(&colour(x, y).to_le_bytes());
        }
        let image = gpu.image_in(spec, (modifier, &[(0, u64::from(4 * columns))]), &memory)?;
        let read = |image: &Image| gpu.read_image(image, 0, (width * height * 4) as usize);
        let before = read(&image)?;
        let expected_before = with_rectangle(SIZE_PX, colour, [0; 4], &[]);
        let rectangle = [5, 3, 37, 29];
        let texels = overwrite(gpu, image.handle, rectangle)?;
        let expected = with_rectangle(SIZE_PX, colour, rectangle, &texels);
        let after = read(&image)?;
        gpu.submit(|c| {
            let range = vk::ImageSubresourceRange {
                aspect_mask: vk::ImageAspectFlags::COLOR,
                level_count: 1,
                layer_count: 1,
                ..Default::default()
            };
            let value = vk::ClearColorValue { float32: [1.0, 0.0, 0.2, 0.6] };
            let layout = vk::ImageLayout::GENERAL;
            // SAFETY: the image is live and in the general layout.
            unsafe {
                gpu.device.cmd_clear_color_image(c.handle, image.handle, layout, &value, &[range]);
            }
            c.barrier();
        })?;
        let cleared = read(&image)?;
        let expected_cleared = with_rectangle(SIZE_PX, |_, _| 0x9933_00ff, [0; 4], &[]);
        Ok(vec![
            Output::cpu("before", &before, &expected_before, Rule::Bits),
            Output::cpu("after", &after, &expected, Rule::Bits),
            Output::cpu("cleared", &cleared, &expected_cleared, Rule::Bits),
        ])
    });
    case.without_lavapipe().without_honeykrisp()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = round_trips();
    cases.extend(image_copies());
    cases.push(part_of_a_clear());
    cases.push(part_of_used_memory());
    cases.push(copied_samples(vk::SampleCountFlags::TYPE_2));
    cases.push(copied_samples(vk::SampleCountFlags::TYPE_4));
    cases.extend(SHARED.map(shared));
    cases.extend(SHARED_BY_ARM.map(shared_by_arm));
    cases.push(solid_tiles("solid_part", [5, 3, 37, 29]));
    cases.push(solid_tiles("solid_tiles", [16, 16, 32, 34]));
    cases
}
