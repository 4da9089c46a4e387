//! Layouts against those of Mesa's driver.
#![allow(non_snake_case)]

use tepui_format::Format;
use tepui_intel_layout::aux::AuxKind;
use tepui_intel_layout::{Dimension, ImageDesc, Layout, Shape, Texel, Tiling};

const ANV: &str = include_str!("golden/anv.txt");

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap()
}

struct Line<'a> {
    text: &'a str,
    desc: ImageDesc,
    with_aux_B: u64,
    without_aux_B: u64,
    alignment_B: u64,
    /// Offset, row pitch and layer pitch of each level.
    levels: Vec<[u64; 3]>,
}

fn parse(text: &str) -> Line<'_> {
    let (request, answer) = text.split_once(" => ").unwrap();
    let words: Vec<&str> = request.split(' ').collect();
    let [format, tiling, dimension, size, layers, samples, levels, _usage] = words[..] else {
        panic!("{text}")
    };
    let number = |word: &str| word.split_once('=').unwrap().1.parse::<u32>().unwrap();
    let sides: Vec<u32> = size.split('x').map(|side| side.parse().unwrap()).collect();
    let format: Format = format.parse().unwrap();
    let dimension = match dimension {
        "1d" => Dimension::D1,
        "3d" => Dimension::D3,
        "cube" => Dimension::Cube,
        _ => Dimension::D2,
    };
    let shape = Shape {
        format,
        dimension,
        width_px: sides[0],
        height_px: sides[1],
        depth_px: sides[2],
        layers: number(layers),
        samples: number(samples),
        levels: number(levels),
    };
    // No tiling supports three components: ANV adds a fourth.
    let format = match (tiling, format) {
        ("optimal", Format::R32G32B32_SFLOAT) => Format::R32G32B32A32_SFLOAT,
        _ => format,
    };
    let shape = Shape { format, ..shape };
    let is_depth =
        matches!(format, Format::D16_UNORM | Format::D32_SFLOAT | Format::X8_D24_UNORM_PACK32);
    let tiling = match (tiling, dimension) {
        _ if format == Format::S8_UINT => Tiling::W,
        ("linear", _) => Tiling::Linear,
        (_, Dimension::D1) if !is_depth => Tiling::Linear,
        _ => Tiling::Y,
    };
    let answer: Vec<&str> = answer.split(' ').collect();
    let level = |text: &str| {
        let numbers: Vec<u64> = text.split(':').map(hex).collect();
        [numbers[0], numbers[1], numbers[2]]
    };
    Line {
        text,
        desc: ImageDesc { shape, tiling, may_have_aux: true, linear_stride_B: None },
        with_aux_B: hex(answer[0]),
        without_aux_B: hex(answer[1]),
        alignment_B: hex(answer[2]),
        levels: answer.get(3).map_or(Vec::new(), |list| list.split(',').map(level).collect()),
    }
}

/// Bytes of an image, and of the auxiliary surface that it requires: that of colour samples.
fn sizes(line: &Line<'_>, tiling: Tiling) -> Option<u64> {
    // Mip tails are for images without compression.
    let may_have_aux = tiling != Tiling::Yf;
    let layout = Layout::new(&ImageDesc { tiling, may_have_aux, ..line.desc }).ok()?;
    let samples = Layout::new(&ImageDesc { tiling, may_have_aux: true, ..line.desc }).ok()?;
    let mcs = samples.aux().filter(|aux| aux.what == AuxKind::Mcs).map_or(0, |aux| aux.size_B);
    // ANV keeps ASTC images twice: Gen9 has denormals in void extents that must be flushed.
    // source: Mesa, anv_image.c (`add_primary_surface` of the hidden plane)
    let copies = if line.text.starts_with("ASTC") { 2 } else { 1 };
    Some(layout.size_B * copies + mcs)
}

/// Whether ANV uses Ys (64 KiB tiles), which this crate does not lay out; ANV does for few images.
fn is_ys(line: &Line<'_>) -> bool {
    line.alignment_B == 1 << 16
}

#[test]
fn sizes_are_those_of_anv() {
    let (mut count, mut yf_count, mut aux_count) = (0, 0, 0);
    for line in ANV.lines().filter(|line| !line.starts_with('#')).map(parse) {
        if is_ys(&line) {
            continue;
        }
        count += 1;
        let size_B = sizes(&line, line.desc.tiling).unwrap();
        // ANV uses Yf tiles if they need less memory, for some images only.
        let yf_B = sizes(&line, Tiling::Yf).filter(|_| line.desc.tiling == Tiling::Y);
        if yf_B.is_some_and(|yf_B| yf_B < size_B && yf_B == line.without_aux_B) {
            yf_count += 1;
            continue;
        }
        assert_eq!(size_B, line.without_aux_B, "{}", line.text);
        let layout = Layout::new(&line.desc).unwrap();
        let copies = if line.text.starts_with("ASTC") { 2 } else { 1 };
        assert_eq!(layout.alignment_B, line.alignment_B, "{}", line.text);
        let aux = layout.aux().filter(|aux| aux.what != AuxKind::Mcs);
        // The driver chooses the formats and usages that have one.
        if line.with_aux_B > line.without_aux_B && copies == 1 {
            aux_count += 1;
            let aux_B = aux.map(|aux| aux.size_B);
            assert_eq!(aux_B, Some(line.with_aux_B - line.without_aux_B), "{}", line.text);
        }
    }
    assert!(count > 690 && yf_count > 60 && aux_count > 100, "{count} {yf_count} {aux_count}");
}

#[test]
fn linear_levels_are_where_anv_says() {
    let mut count = 0;
    for line in ANV.lines().filter(|line| !line.starts_with('#')).map(parse) {
        let layout = Layout::new(&line.desc).unwrap();
        let shape = line.desc.shape;
        for (level, &[offset_B, pitch_B, layer_B]) in (0..).zip(&line.levels) {
            let at = Texel { level, layer: shape.layers - 1, ..Texel::default() };
            assert_eq!(layout.texel_offset_B(at), Some(offset_B), "{}", line.text);
            assert_eq!(layout.row_pitch_B, pitch_B, "{}", line.text);
            // For compressed images ANV multiplies rows of texels by the pitch of rows of blocks.
            let block = u64::from(shape.format.info().block.height_px);
            let rows_B = u64::from(layout.qpitch_el) * layout.row_pitch_B * block;
            assert!(layer_B == rows_B || shape.layers.max(shape.depth_px) == 1, "{}", line.text);
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
}
