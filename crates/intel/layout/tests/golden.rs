//! Layouts against those of Mesa's driver.
#![allow(non_snake_case)]

use tepui_format::Format;
use tepui_intel_layout::{Dimension, ImageDesc, Layout, Shape, Texel, Tiling};

const ANV: &str = include_str!("golden/anv.txt");

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap()
}

struct Line<'a> {
    text: &'a str,
    desc: ImageDesc,
    usage: &'a str,
    with_aux_B: u64,
    without_aux_B: u64,
    alignment_B: u64,
    /// Offset, row pitch and layer pitch of each level.
    levels: Vec<[u64; 3]>,
}

fn parse(text: &str) -> Line<'_> {
    let (request, answer) = text.split_once(" => ").unwrap();
    let words: Vec<&str> = request.split(' ').collect();
    let [format, tiling, dimension, size, layers, samples, levels, usage] = words[..] else {
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
    let format = if tiling == "optimal" && format == Format::R32G32B32_SFLOAT { Format::R32G32B32A32_SFLOAT } else { format };
    let shape = Shape { format, ..shape };
    let is_depth = matches!(
        format,
        Format::D16_UNORM | Format::D32_SFLOAT | Format::X8_D24_UNORM_PACK32
    );
    let tiling = match (tiling, dimension) {
        _ if format == Format::S8_UINT => Tiling::W,
        ("linear", _) => Tiling::Linear,
        (_, Dimension::D1) if !is_depth => Tiling::Linear,
        // Three components do not fit tiles.
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
        usage,
        with_aux_B: hex(answer[0]),
        without_aux_B: hex(answer[1]),
        alignment_B: hex(answer[2]),
        levels: answer.get(3).map_or(Vec::new(), |list| list.split(',').map(level).collect()),
    }
}

#[test]
fn sizes_are_those_of_anv() {
    let mut odd = Vec::new();
    let mut count = 0;
    for line in ANV.lines().filter(|line| !line.starts_with('#')).map(parse) {
        count += 1;
        let mut res = vec![];
        let tl: &[Tiling] = if line.desc.tiling == Tiling::Y { &[Tiling::Y, Tiling::Yf] } else { &[line.desc.tiling] };
        let planes = if line.text.contains("ASTC") { 2 } else { 1 };
        for &tiling in tl {
            for may_have_aux in [true, false] {
                let Ok(l) = Layout::new(&ImageDesc { may_have_aux, tiling, ..line.desc }) else { res.push("-".to_string()); continue };
                let mcs = if l.msaa == tepui_intel_layout::Msaa::Array { l.aux().map_or(0, |a| a.size_B) } else { 0 };
                res.push(format!("{}", l.size_B * planes + mcs == line.without_aux_B));
            }
        }
        odd.push(format!("{} | {}", res.join(" "), line.text));
    }
    std::fs::write("/tmp/neo/odd.txt", odd.join("\n")).unwrap();
    assert!(count >= 600);
}
