//! Compute shaders that nobody here wrote: what the machine code leaves in memory is what the interpreter leaves.
//!
//! Runs over `.spv` files below the directories in `TEPUI_SHADERS` (separated by colons), or else the corpus of
//! `tools/corpus`, which it brings.

#[path = "common/bind.rs"]
mod bind;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::{Error, Options, compile};
use tepui_ir::interp::{Fault, ImageData, Memory, SamplerData, Wrap, dispatch};
use tepui_ir::{Dim, ImageFormat, InstFlags, NumKind, ResKind, Resource, Shader, Stage};
use tepui_ir_gen::Rng;

/// Steps of the interpreter, each for all lanes of a workgroup.
const LIMIT: u64 = 60_000;
/// Bytes of each buffer.
const BUFFER: usize = 1 << 14;
const GROUPS: [u32; 3] = [2, 1, 1];

fn files() -> Vec<PathBuf> {
    match std::env::var("TEPUI_SHADERS") {
        Ok(list) => {
            let dirs: Vec<PathBuf> = list.split(':').map(PathBuf::from).collect();
            tepui_corpus::modules(&dirs).expect("the directories can be read")
        }
        Err(_) => tepui_corpus::corpus(""),
    }
}

fn memory(s: &Shader, seed: u64) -> Memory {
    let mut rng = Rng::new(seed);
    let mut word = || -> u32 {
        match rng.below(3) {
            0 => ((rng.below(4096) as f32 - 2048.0) / 64.0).to_bits(),
            1 => rng.below(16) as u32,
            _ => rng.int(32) as u32,
        }
    };
    let mut m = Memory { push: (0..256).map(|_| word() as u8 & 15).collect(), ..Memory::default() };
    for r in s.resources.values() {
        for k in 0..r.count.clamp(1, 8) {
            let slot = (r.set, r.binding, k);
            match r.kind {
                ResKind::UniformBuffer | ResKind::StorageBuffer => {
                    let bytes = (0..BUFFER / 4).flat_map(|_| word().to_le_bytes()).collect();
                    m.buffers.insert(slot, bytes);
                    continue;
                }
                ResKind::Sampler => {}
                _ => {
                    m.images.insert(slot, image(r, &mut word));
                }
            }
            // Nearest filters: what comes of others is known to a few bits only.
            let repeat = SamplerData { wrap: [Wrap::Repeat; 3], ..SamplerData::default() };
            m.samplers.insert(slot, repeat);
        }
    }
    m
}

/// The format of an image whose shader does not say it.
fn format(r: &Resource) -> ImageFormat {
    match (r.format, r.texels) {
        (ImageFormat::Unknown, NumKind::Float) => ImageFormat::Rgba32f,
        (ImageFormat::Unknown, NumKind::Sint) => ImageFormat::Rgba32i,
        (ImageFormat::Unknown, NumKind::Uint) => ImageFormat::Rgba32ui,
        (f, _) => f,
    }
}

/// An image of a shape that a shader declares.
fn image(r: &Resource, word: &mut impl FnMut() -> u32) -> ImageData {
    let size = match r.dim {
        Dim::D1 => [16, 1, 1],
        Dim::Buffer => [256, 1, 1],
        Dim::D3 => [8, 8, 4],
        Dim::D2 | Dim::Cube | Dim::Subpass => [16, 16, 1],
    };
    let faces = if r.dim == Dim::Cube { 6 } else { 1 };
    let layers = faces * if r.array { 3 } else { 1 };
    let storage = matches!(r.kind, ResKind::StorageImage | ResKind::StorageTexelBuffer);
    let levels = if storage || r.ms || r.dim == Dim::Buffer { 1 } else { 3 };
    let samples = if r.ms { 4 } else { 1 };
    let mut image = ImageData::multisampled(size, layers, levels, samples);
    image.format = format(r);
    for t in image.levels.iter_mut().flatten() {
        *t = [0; 4].map(|_: u64| match r.texels {
            NumKind::Float => u64::from(((word() & 1023) as f32 / 1024.0).to_bits()),
            _ => u64::from(word() & 63),
        });
    }
    if let Some(f) = bind::format_of(image.format) {
        bind::quantise(&mut image, f, r.texels);
    }
    image
}

#[derive(Debug, Default)]
struct Tally {
    compiled: usize,
    /// Bit for bit.
    same: usize,
    /// Floats that differ by what special functions may.
    near: usize,
    not_run: BTreeMap<String, usize>,
    refused: BTreeMap<String, Vec<String>>,
    wrong: Vec<String>,
}

/// Whether the words are floats within what special functions may differ by. Inputs are random bits, and what
/// minimum, maximum and reductions make of a NaN is open: it matches anything.
fn close(a: u32, b: u32) -> bool {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    if x.is_nan() || y.is_nan() {
        return true;
    }
    let flush = |v: f32| if v.abs() < f32::MIN_POSITIVE { 0.0 } else { v };
    let (x, y) = (flush(x), flush(y));
    (x - y).abs() <= 1e-4 * x.abs().max(y.abs()).max(1e-4)
}

fn one(s: &Shader, seed: u64, tally: &mut Tally, name: &str) {
    let mut s = s.clone();
    // Roundings must stay where they are, to compare bits.
    for d in s.insts.values_mut() {
        d.flags |= InstFlags::EXACT | InstFlags::STRICT;
    }
    let start = memory(&s, seed);
    let mut want = start.clone();
    let ran = dispatch(&s, GROUPS, &mut want, LIMIT);
    let program =
        match compile(&mut s, &Options { robust: true, check: true, ..Options::default() }) {
            Ok(p) => p,
            Err(e @ (Error::Internal(_) | Error::Encode(_))) => {
                tally.wrong.push(format!("{name}: {e}"));
                return;
            }
            Err(e) => {
                let e = e.to_string();
                let why = e.split_once(": ").map_or(e.as_str(), |w| w.1);
                tally.refused.entry(why.to_owned()).or_default().push(name.to_owned());
                return;
            }
        };
    tally.compiled += 1;
    let mut not_run = |why: String| *tally.not_run.entry(why).or_default() += 1;
    match ran {
        Err(Fault::Unsupported { what, .. }) => return not_run(what),
        Err(e) => {
            return not_run(e.to_string().split_once(": ").map_or("steps", |x| x.1).to_owned());
        }
        Ok(_) if start.buffers.is_empty() && start.images.is_empty() => {
            return not_run("no buffers or images".to_owned());
        }
        Ok(_) => {}
    }
    let options =
        tepui_agx_model::Options { threads: 1, instruction_budget: 1 << 24, ..Default::default() };
    let mut machine = Machine::new(options).expect("a machine");
    let mut bindings = shader::Bindings { push: start.push.clone(), ..Default::default() };
    for (slot, bytes) in &start.buffers {
        let b = machine.buffer(bytes.len()).expect("memory");
        b.write(bytes).expect("as large");
        bindings.buffers.insert(*slot, b);
    }
    let mut images = Vec::new();
    let mut texel_buffers = Vec::new();
    for r in s.resources.values() {
        for k in 0..r.count.clamp(1, 8) {
            let slot = (r.set, r.binding, k);
            if let Some(sampler) = start.samplers.get(&slot) {
                bindings.samplers.insert(slot, bind::sampler(sampler));
            }
            let Some(data) = start.images.get(&slot) else { continue };
            let Some(f) = bind::format_of(data.format) else {
                return not_run(format!("images of {}", data.format));
            };
            let row = if r.dim == Dim::Buffer {
                let (buffer, row) = bind::buffer(&mut machine, data, f, r.texels);
                texel_buffers.push((slot, buffer, f, r.texels));
                row
            } else {
                let storage = r.kind == ResKind::StorageImage;
                let shape = (r.dim, r.array);
                let image = bind::image(&mut machine, data, f, r.texels, shape, storage);
                let row = image.row().expect("descriptors");
                images.push((slot, image, r.texels));
                row
            };
            bindings.images.insert(slot, row);
        }
    }
    if let Err(e) = shader::run(&mut machine, &program, &bindings, GROUPS) {
        tally.wrong.push(format!("{name}: {e}"));
        return;
    }
    let mut exact = true;
    for (slot, bytes) in &want.buffers {
        let got = bindings.buffers[slot].read().expect("bound");
        for (k, (g, w)) in got.chunks_exact(4).zip(bytes.chunks_exact(4)).enumerate() {
            if g == w {
                continue;
            }
            exact = false;
            let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            if !close(word(g), word(w)) {
                tally.wrong.push(format!(
                    "{name}: binding {} byte {}: {:#x} instead of {:#x}",
                    slot.1,
                    k * 4,
                    word(g),
                    word(w)
                ));
                return;
            }
        }
    }
    let now = images
        .iter()
        .map(|(slot, i, kind)| (slot, *kind, bind::download(i, &start.images[slot], *kind)))
        .chain(texel_buffers.iter().map(|(slot, b, f, kind)| {
            (slot, *kind, bind::download_buffer(b, &start.images[slot], *f, *kind))
        }));
    for (slot, kind, now) in now {
        let texels = now.levels.iter().flatten().zip(want.images[slot].levels.iter().flatten());
        for (k, (g, w)) in texels.enumerate() {
            exact &= g == w;
            // Fixed-point numbers may be rounded either way.
            let near = |(a, b): (&u64, &u64)| {
                let (x, y) = (f32::from_bits(*a as u32), f32::from_bits(*b as u32));
                a == b
                    || (kind == NumKind::Float
                        && (close(*a as u32, *b as u32) || (x - y).abs() < 0.008))
            };
            if !g.iter().zip(w).all(near) {
                tally.wrong.push(format!(
                    "{name}: binding {} texel {k}: {g:x?} instead of {w:x?}",
                    slot.1
                ));
                return;
            }
        }
    }
    if exact { tally.same += 1 } else { tally.near += 1 }
}

#[test]
fn compute_shaders_of_the_corpus_leave_what_the_interpreter_leaves() {
    let mut t = Tally::default();
    for f in files() {
        let words = tepui_corpus::read(&f).expect("a module can be read");
        let Ok(entries) = tepui_spirv::entry_points(&words) else { continue };
        for (entry, stage) in entries {
            if stage != Some(Stage::Compute) {
                continue;
            }
            let options = tepui_spirv::Options { entry: Some(entry), stage, ..Default::default() };
            let name = f.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
            // Reads lanes past the ends of the sub-group, which hold anything.
            if name.contains("ShuffleRelative") {
                continue;
            }
            let Ok(s) = tepui_spirv::translate(&words, &options) else { continue };
            let r = catch_unwind(AssertUnwindSafe(|| one(&s, name.len() as u64, &mut t, &name)));
            if let Err(p) = r {
                let text = p.downcast_ref::<String>().cloned().unwrap_or_default();
                t.wrong.push(format!("{name}: crashed: {}", text.lines().next().unwrap_or("")));
            }
        }
    }
    println!(
        "compiled {}, the same bits {}, near {}, wrong {}",
        t.compiled,
        t.same,
        t.near,
        t.wrong.len()
    );
    for (why, n) in &t.not_run {
        println!("{n:5} not run: {why}");
    }
    for (why, names) in &t.refused {
        println!("{:5} refused: {why} ({})", names.len(), names[0]);
    }
    for w in &t.wrong {
        println!("wrong: {w}");
    }
    assert!(t.wrong.is_empty(), "{:#?}", t.wrong);
    assert!(t.same + t.near > 0, "nothing ran");
}
