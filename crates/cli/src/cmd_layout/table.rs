//! Prints a layout as a text table.

use std::fmt::Write;

use crate::image::{Answer, Image};

/// The table, with a title line above and lines with totals below.
pub fn text(image: &Image, answer: &Answer) -> String {
    let mut out = String::new();
    let Answer { gpu, format, tiling, width_px, height_px, depth_px, .. } = answer;
    let _ = write!(out, "{format} {width_px}x{height_px}");
    if *depth_px > 1 {
        let _ = write!(out, "x{depth_px}");
    }
    let _ = write!(out, ", {tiling} on {gpu}");
    for (count, one, many) in [
        (answer.layers, "layer", "layers"),
        (answer.samples, "sample per pixel", "samples per pixel"),
    ] {
        if count > 1 {
            let _ = write!(out, ", {count} {}", if count == 1 { one } else { many });
        }
    }
    match modifier(image) {
        Some(modifier) => writeln!(out, ", modifier {modifier:#018x}"),
        None => writeln!(out, ", no modifier"),
    }
    .unwrap_or_default();

    let header = ["level", "size", "offset", "bytes", "stride", "tile", "tiles", "metadata"];
    let columns = if answer.metadata.is_some() { 8 } else { 7 };
    let mut rows = vec![header.map(str::to_string)];
    for (i, level) in answer.levels.iter().enumerate() {
        let (w, h) = image.level_px(level.level).unwrap_or_default();
        let metadata = answer.metadata.as_ref().and_then(|m| m.levels.get(i));
        rows.push([
            level.level.to_string(),
            format!("{w}x{h}"),
            format!("{:#x}", level.offset_B),
            level.size_B.to_string(),
            level.stride_B.to_string(),
            format!("{}x{}", level.tile_el[0], level.tile_el[1]),
            format!("{}x{}", level.tiles[0], level.tiles[1]),
            metadata.map_or("-".into(), |m| format!("{:#x}+{}", m.offset_B, m.size_B)),
        ]);
    }
    let widths: Vec<usize> =
        (0..columns).map(|c| rows.iter().map(|r| r[c].len()).max().unwrap_or(0)).collect();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}")).collect();
        let _ = writeln!(out, "{}", cells.join("  "));
    }

    let repeats = answer.layers.max(*depth_px);
    let aligned = if answer.page_aligned_layers { ", at pages" } else { "" };
    let _ = writeln!(out, "layer stride {} bytes{aligned}", answer.layer_stride_B);
    if repeats > 1 && matches!(image, Image::Agx(..)) {
        let _ = writeln!(out, "{repeats} such layers: {} bytes", {
            answer.layer_stride_B * u64::from(repeats)
        });
    }
    if let Some(metadata) = &answer.metadata {
        let _ = writeln!(out, "metadata {} bytes at {:#x}", metadata.size_B, metadata.offset_B);
    }
    if let Some(surface) = &answer.surface {
        let [w, h] = surface.align_el;
        let _ = write!(
            out,
            "levels aligned to {w}x{h}, layers {} rows apart, at multiples of {} bytes",
            surface.qpitch_el, surface.alignment_B
        );
        if let Some(tail) = surface.tail {
            let _ = write!(out, ", tail from level {tail} on");
        }
        let _ = writeln!(out);
        if let Some(aux) = &surface.aux {
            let _ = writeln!(
                out,
                "{} {} bytes, stride {}, layers {} rows apart",
                aux.kind, aux.size_B, aux.stride_B, aux.qpitch_px
            );
        }
    }
    let _ = writeln!(out, "size {} bytes ({:#x})", answer.size_B, answer.size_B);
    out
}

fn modifier(image: &Image) -> Option<u64> {
    match image {
        Image::Agx(_, layout) => Some(layout.desc().tiling.drm_modifier()),
        Image::Mali(_, layout) => Some(layout.desc().modifier.drm_modifier()),
        Image::Intel(_, layout) => layout.desc().tiling.drm_modifier(),
    }
}
