//! Conversion between the interpreter's memory and jobs of drivers.

use std::path::Path;

use tepui_agx_bare::bind::{bytes, texels};
use tepui_agx_bare::image::format_of;
use tepui_format::Format;
use tepui_ir::interp::{Compare, Filter, ImageData, Memory, SamplerData, Slot, Wrap};
use tepui_ir::{Dim, NumKind, ResKind, Resource};
use tepui_witness::dispatch::{DispatchOutputs, Element, Job, Picture, Sampler};
use tepui_witness::jobs::{self, Done, Driver};

use crate::subject::Subject;

fn format(data: &ImageData) -> Format {
    format_of(data.format).expect("shaders with other formats are left out")
}

fn picture(r: &Resource, data: &ImageData) -> Picture {
    let format = format(data);
    Picture {
        storage: r.kind == ResKind::StorageImage,
        format: format.vk(),
        dimensions: match r.dim {
            Dim::D1 => 1,
            Dim::D3 => 3,
            Dim::Cube => 4,
            Dim::D2 | Dim::Buffer | Dim::Subpass => 2,
        },
        array: r.array,
        size_px: data.size,
        layers: data.layers,
        levels: data
            .levels
            .iter()
            .map(|l| bytes(l, format, r.texels).expect("a plain format"))
            .collect(),
    }
}

fn sampler(s: &SamplerData, kind: NumKind) -> Sampler {
    let linear = |f| i32::from(f == Filter::Linear);
    Sampler {
        mag: linear(s.mag),
        min: linear(s.min),
        mip: linear(s.mip),
        wrap: s.wrap.map(|w| match w {
            Wrap::Repeat => 0,
            Wrap::Mirror => 1,
            Wrap::Clamp => 2,
            Wrap::Border => 3,
            Wrap::MirrorOnce => 4,
        }),
        lod: [s.min_lod, s.max_lod],
        // Transparent black, opaque black, opaque white; of floats, then of integers.
        border: 2 * match s.border {
            [0, 0, 0, 0] => 0,
            [0, 0, 0, _] => 1,
            [..] => 2,
        } + i32::from(kind != NumKind::Float),
        compare: s.compare.map(|c| match c {
            Compare::Never => 0,
            Compare::Less => 1,
            Compare::Equal => 2,
            Compare::LessOrEqual => 3,
            Compare::Greater => 4,
            Compare::NotEqual => 5,
            Compare::GreaterOrEqual => 6,
            Compare::Always => 7,
        }),
        unnormalized: s.unnormalized,
    }
}

fn element(r: &Resource, m: &Memory, slot: Slot) -> Element {
    let image = || &m.images[&slot];
    let texel_buffer = |storage| Element::Texels {
        storage,
        format: format(image()).vk(),
        bytes: bytes(&image().levels[0], format(image()), r.texels).expect("a plain format"),
    };
    match r.kind {
        ResKind::UniformBuffer => Element::Uniform(m.buffers[&slot].clone()),
        ResKind::StorageBuffer => Element::Storage(m.buffers[&slot].clone()),
        ResKind::UniformTexelBuffer => texel_buffer(false),
        ResKind::StorageTexelBuffer => texel_buffer(true),
        ResKind::Texture | ResKind::StorageImage | ResKind::InputAttachment => {
            Element::Image(picture(r, image()))
        }
        ResKind::Sampler => Element::Sampler(sampler(&m.samplers[&slot], r.texels)),
        ResKind::CombinedTextureSampler => {
            Element::Texture(picture(r, image()), sampler(&m.samplers[&slot], r.texels))
        }
    }
}

fn elements(r: &Resource, m: &Memory) -> u32 {
    let of = |k: &Slot| k.1 == r.binding;
    let last = m.buffers.keys().chain(m.images.keys()).chain(m.samplers.keys()).filter(|k| of(k));
    last.map(|k| k.2 + 1).max().unwrap_or(1)
}

/// The job of a subject.
pub fn job(s: &Subject) -> Job {
    let named = |b| s.shader.resources.values().find(|r| r.binding == b);
    let last = s.shader.resources.values().map(|r| r.binding).max().unwrap_or(0);
    let bindings = (0..=last)
        .map(|b| match named(b) {
            Some(r) => {
                (0..elements(r, &s.start)).map(|e| element(r, &s.start, (0, b, e))).collect()
            }
            None => vec![Element::Storage(vec![0; 16])],
        })
        .collect();
    Job {
        name: s.name.clone(),
        spirv: s.spirv.clone(),
        entry: s.entry.clone(),
        constants: s.constants.clone(),
        groups: s.groups,
        push: s.start.push.clone(),
        bindings,
    }
}

/// The memory that a job left.
pub fn memory(s: &Subject, left: &DispatchOutputs) -> Memory {
    let mut now = s.start.clone();
    let at = |slot: &Slot| &left.bindings[slot.1 as usize][slot.2 as usize];
    for (slot, buffer) in &mut now.buffers {
        buffer.clone_from(at(slot));
    }
    for (slot, data) in &mut now.images {
        let r = s.shader.resources.values().find(|r| r.binding == slot.1);
        if let Some(r) = r
            && !at(slot).is_empty()
        {
            data.levels[0] = texels(at(slot), format(data), r.texels).expect("a plain format");
        }
    }
    now
}

/// Runs jobs on a driver and returns the memory after each; answers are kept under a name.
pub fn run(driver: Driver, name: &str, jobs: &[Job]) -> Vec<Done<DispatchOutputs>> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("executors").join(name);
    let dir = dir.join(driver.name());
    jobs::ask(driver, Path::new(env!("CARGO_BIN_EXE_witness")), "dispatch", &dir, jobs)
}
