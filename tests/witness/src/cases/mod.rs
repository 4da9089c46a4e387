//! The cases, one theme per file.

mod algorithms;
mod atomics;
mod blend_advanced;
mod blocks;
mod borders;
mod canvas;
mod capture_replay;
mod clamps;
mod cleared;
mod codecs;
mod commands;
mod compiled;
mod compression;
mod control;
mod convert;
mod copy;
mod derivatives;
mod descriptor_buffers;
mod draws;
mod exact;
mod expanded;
mod feedback;
mod float;
mod geometry;
mod image;
mod integer;
mod late;
mod loops;
mod many;
mod map;
mod memory;
pub mod one_state;
mod passes;
mod pixels;
mod queries;
mod sequences;
mod shading_rates;
mod sparse;
mod stages;
mod subgroup;
mod targets;
mod texture;
mod views;
mod ycbcr;

use crate::case::Case;

/// Small triangles anywhere, as vertices of `mesh.vert`: four words of the position, four of the colour.
pub fn small_triangles(count: usize) -> Vec<f32> {
    canvas::small(87, count).concat()
}

/// Every case, in the order in which a model should be brought up: commands and memory first.
pub fn all() -> Vec<Case> {
    [
        commands::cases(),
        compiled::cases(),
        control::cases(),
        memory::cases(),
        capture_replay::cases(),
        algorithms::cases(),
        integer::cases(),
        float::cases(),
        convert::cases(),
        atomics::cases(),
        subgroup::cases(),
        derivatives::cases(),
        copy::cases(),
        compression::cases(),
        image::cases(),
        texture::cases(),
        blocks::cases(),
        borders::cases(),
        codecs::cases(),
        ycbcr::cases(),
        geometry::cases(),
        descriptor_buffers::cases(),
        draws::cases(),
        many::cases(),
        one_state::cases(),
        stages::cases(),
        expanded::cases(),
        late::cases(),
        feedback::cases(),
        sparse::cases(),
        queries::cases(),
        exact::cases(),
        shading_rates::cases(),
        pixels::cases(),
        blend_advanced::cases(),
        targets::cases(),
        passes::cases(),
        loops::cases(),
        cleared::cases(),
        views::cases(),
        clamps::cases(),
        sequences::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
