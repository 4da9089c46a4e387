//! Draws third-party vertex and fragment shaders on lavapipe, in the interpreter of the IR, and as
//! the compiler's machine code on the model, and compares the pictures, for monolithic programs and
//! for prolog, main and epilog linked.

mod pairs;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use tepui_agx_bare::Machine;
use tepui_agx_bare::draw::{Draw, VertexBuffer};
use tepui_agx_bare::image::{self, ImageInfo};
use tepui_agx_bare::pair::{Linking, Pair};
use tepui_agx_bare::shader::Bindings;
use tepui_agx_compiler::abi;
use tepui_agx_compiler::abi::attribute::Attribute;
use tepui_agx_compiler::abi::tile::Tile;
use tepui_agx_layout::Dimension;
use tepui_agx_packets::sampler::{Filter, MipFilter, Sampler, Wrap};
use tepui_compiler_test::reference::{self, Words};
use tepui_format::Format;
use tepui_ir::interp::{Filter as IrFilter, ImageData, Memory, SamplerData, Wrap as IrWrap};
use tepui_ir::{Shader, Stage};
use tepui_witness::draw::{Binding, Job, SIDE_PX, TEXTURE_PX, pixels};
use tepui_witness::jobs;

/// Allowed difference of a channel, relative to the larger of 1 and the number: filters have weights of
/// 8 bits.
const NEAR: f32 = 0.016;
/// Allowed number of pixels in a thousand that are further apart: where a shader decides by the last bits of a
/// float.
const PERMILLE: usize = 10;

/// Materials whose pictures are bits that rounding decides: the last of four bytes that hold a
/// distance.
const ROUNDING_DEPENDENT: &[&str] = &["distanceRGBA"];

/// The shaders of a package that have partners.
fn jobs_of(package: &str, left_out: &mut BTreeMap<String, usize>) -> Vec<Job> {
    let files = tepui_corpus::corpus(package);
    let mut out = Vec::new();
    for vertex in &files {
        let name =
            vertex.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let Some(material) = name.strip_suffix(".vert.spv") else { continue };
        if ROUNDING_DEPENDENT.iter().any(|r| material.starts_with(r)) {
            *left_out.entry("draws the last bits of a float".to_owned()).or_default() += 1;
            continue;
        }
        let partner = material.replace("VertexShader", "PixelShader");
        let Some(fragment) =
            files.iter().find(|f| f.ends_with(Path::new(&format!("{partner}.frag.spv"))))
        else {
            continue;
        };
        let read = |f: &Path| tepui_corpus::read(f).expect("a module can be read");
        match pairs::pair(format!("{package}/{material}"), &read(vertex), &read(fragment)) {
            Ok(job) => out.push(job),
            Err(why) => *left_out.entry(why).or_default() += 1,
        }
    }
    out
}

fn shader(words: &[u32], stage: Stage) -> Result<Shader, String> {
    let options = tepui_spirv::Options {
        entry: Some("main".to_owned()),
        stage: Some(stage),
        ..Default::default()
    };
    tepui_spirv::translate(words, &options).map_err(|e| e.to_string())
}

/// The picture of a job on the model.
fn draw(job: &Job, making: Linking) -> Result<Vec<[f32; 4]>, String> {
    let vertex = shader(&job.stages[0], Stage::Vertex)?;
    let fragment = shader(&job.stages[1], Stage::Fragment)?;
    let tile = Tile::single(Format::R32G32B32A32_SFLOAT);
    let locations = job.vertices[0].len();
    let attribute = Attribute {
        format: Format::R32G32B32A32_SFLOAT,
        stride: 16 * locations as u32,
        per_instance: None,
    };
    let attributes = vec![Some(attribute); locations];
    let pair = Pair {
        vertex: &vertex,
        fragment: &fragment,
        tile: &tile,
        attributes: &attributes,
        beyond: abi::Beyond::default(),
        prolog: abi::Prolog::default(),
        multiview: false,
    };
    let (v, f) = pair.programs(making).map_err(|e| e.to_string())?;
    let options = tepui_agx_model::Options {
        threads: 1,
        check: true,
        uninitialised: tepui_agx_model::POISON,
        ..Default::default()
    };
    let mut machine = Machine::new(options).map_err(|e| e.to_string())?;
    let bindings = bind(&mut machine, &job.bindings).map_err(|e| e.to_string())?;
    let words: Vec<u32> = job.vertices.iter().flatten().flatten().map(|f| f.to_bits()).collect();
    let buffer = machine.buffer(words.len() * 4).map_err(|e| e.to_string())?;
    buffer.write_words(&words).map_err(|e| e.to_string())?;
    let mut d = Draw::triangles(&v, &f, &tile, [SIDE_PX as u16; 2], &bindings);
    d.attributes = (0..locations as u64)
        .map(|k| Some(VertexBuffer { buffer: buffer.clone(), attribute, offset: 16 * k }))
        .collect();
    let picture = machine.draw(&d).map_err(|e| e.to_string())?;
    if let Some(report) = picture.stats.reports.first() {
        return Err(report.to_string());
    }
    Ok(pixels(&picture.colours[&0]))
}

fn bind(machine: &mut Machine, list: &[Binding]) -> Result<Bindings, tepui_agx_bare::Error> {
    let mut out = Bindings::default();
    let sampler = image::sampler(&Sampler {
        magnify: Filter::Linear,
        minify: Filter::Linear,
        mip_filter: MipFilter::Linear,
        maximum_lod: 14.0,
        wrap_s: Wrap::Repeat,
        wrap_t: Wrap::Repeat,
        wrap_r: Wrap::Repeat,
        seamful_cube_maps: false,
        ..Sampler::default()
    })?;
    for (n, b) in list.iter().enumerate() {
        let slot = (0, n as u32, 0);
        match b {
            Binding::Uniform(bytes) => {
                let buffer = machine.buffer(bytes.len())?;
                buffer.write(bytes)?;
                out.buffers.insert(slot, buffer);
            }
            Binding::Texture(layers) => {
                let mut info = ImageInfo::new_2d(Format::R8G8B8A8_UNORM, TEXTURE_PX, TEXTURE_PX);
                if layers.len() == 6 {
                    (info.dimension, info.layers) = (Dimension::Cube, 6);
                }
                let image = machine.image(&info)?;
                for (layer, texels) in layers.iter().enumerate() {
                    image.write(0, layer as u32, texels)?;
                }
                out.images.insert(slot, image.row()?);
                out.samplers.insert(slot, sampler);
            }
        }
    }
    Ok(out)
}

/// A picture of which some pixels are unknown.
type Picture = Vec<Option<[f32; 4]>>;

/// The picture of a job by the interpreter; a pixel at an edge is unknown.
fn interpret(job: &Job) -> Result<Picture, String> {
    let vertex = shader(&job.stages[0], Stage::Vertex)?;
    let fragment = shader(&job.stages[1], Stage::Fragment)?;
    let mut memory = Memory::default();
    let sampler = SamplerData {
        mag: IrFilter::Linear,
        min: IrFilter::Linear,
        wrap: [IrWrap::Repeat; 3],
        ..SamplerData::default()
    };
    for (n, b) in job.bindings.iter().enumerate() {
        let slot = (0, n as u32, 0);
        match b {
            Binding::Uniform(bytes) => _ = memory.buffers.insert(slot, bytes.clone()),
            Binding::Texture(layers) => {
                let size = [TEXTURE_PX, TEXTURE_PX, 1];
                let mut image = ImageData::new(size, layers.len() as u32, 1);
                let bytes = layers.concat();
                for (t, b) in image.levels[0].iter_mut().zip(bytes.chunks_exact(4)) {
                    *t = [0, 1, 2, 3].map(|k| u64::from((f32::from(b[k]) / 255.0).to_bits()));
                }
                memory.images.insert(slot, image);
                memory.samplers.insert(slot, sampler);
            }
        }
    }
    let attribute = |vertex: u32, location: u16, component: u8| {
        let list = &job.vertices[vertex as usize];
        let value = list.get(usize::from(location)).map_or(0.0, |a| a[usize::from(component)]);
        value.to_bits()
    };
    let corners: Vec<Words> = reference::vertices(&vertex, &mut memory, (0, 3), 0, &attribute)
        .map_err(|e| e.to_string())?;
    let corners = [&corners[0], &corners[1], &corners[2]];
    let framebuffer = HashMap::new();
    let pixels = reference::triangle(&fragment, &mut memory, corners, [SIDE_PX; 2], &framebuffer)
        .map_err(|e| e.to_string())?;
    let location =
        |p: &reference::Pixel, c: u8| p.colours.get(&(0, c)).map_or(0.0, |&w| f32::from_bits(w));
    Ok(pixels
        .iter()
        .map(|p| match (p.doubtful, p.alive) {
            (true, _) => None,
            (false, true) => Some([0, 1, 2, 3].map(|c| location(p, c))),
            (false, false) => Some([0.0; 4]),
        })
        .collect())
}

/// Whether two channels are near. Infinities equal themselves, NaN equals NaN.
fn near((x, y): (&f32, &f32)) -> bool {
    if x.is_finite() && y.is_finite() {
        return (x - y).abs() <= NEAR * x.abs().max(y.abs()).max(1.0);
    }
    x == y || x.is_nan() && y.is_nan()
}

/// Pixels that are not near, of those that are known; and how many of those are not black.
fn differ(a: &Picture, b: &[[f32; 4]]) -> (usize, usize, String) {
    let (mut far, mut seen, mut first) = (0, 0, String::new());
    if a.len() != b.len() {
        return (b.len(), 0, format!("{} pixels instead of {}", a.len(), b.len()));
    }
    for (k, (a, b)) in a.iter().zip(b).enumerate() {
        let Some(a) = a else { continue };
        seen += usize::from(b.iter().any(|&x| x != 0.0));
        if !a.iter().zip(b).all(near) {
            far += 1;
            if first.is_empty() {
                let (x, y) = (k as u32 % SIDE_PX, k as u32 / SIDE_PX);
                first = format!("pixel {x} {y}: {a:?} instead of {b:?}");
            }
        }
    }
    (far, seen, first)
}

#[test]
fn shaders_of_engines_draw_what_lavapipe_draws() {
    let mut left_out = BTreeMap::new();
    let mut all = jobs_of("three", &mut left_out);
    all.extend(jobs_of("babylon", &mut left_out));
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures");
    let witness = Path::new(env!("CARGO_BIN_EXE_witness"));
    let pictures = jobs::ask(jobs::Driver::Lavapipe, witness, "draw", &dir, &all);
    let (mut same, mut interpreted, mut wrong) = (0, 0, Vec::new());
    for (job, picture) in all.iter().zip(&pictures) {
        let want: &Vec<[f32; 4]> = match picture {
            Ok(p) => p,
            Err(e) => {
                wrong.push(format!("{}: lavapipe: {e}", job.name));
                continue;
            }
        };
        match interpret(job) {
            // Texture samples that pick a level by themselves, and others that the interpreter does not do.
            Err(why) => {
                let why = why.split_once(": ").map_or(why.as_str(), |w| w.1);
                *left_out.entry(format!("not interpreted: {why}")).or_default() += 1;
            }
            Ok(got) => {
                interpreted += 1;
                let (far, _, first) = differ(&got, want);
                if far * 1000 > want.len() * PERMILLE {
                    wrong.push(format!("{}, interpreter: {far} pixels, {first}", job.name));
                }
            }
        }
        let mut visible = true;
        for making in [Linking::Monolithic, Linking::Separate] {
            match draw(job, making) {
                Err(e) => wrong.push(format!("{}, {making:?}: {e}", job.name)),
                Ok(got) => {
                    let got = got.into_iter().map(Some).collect();
                    let (far, seen, first) = differ(&got, want);
                    visible &= seen >= 200;
                    if far * 1000 > want.len() * PERMILLE {
                        wrong.push(format!("{}, {making:?}: {far} pixels, {first}", job.name));
                    }
                }
            }
        }
        if visible {
            same += 1;
        } else {
            *left_out.entry(format!("shows little ({})", job.name)).or_default() += 1;
        }
    }
    println!("{} pairs, of which {same} show something; {interpreted} interpreted", all.len());
    for (why, n) in &left_out {
        println!("{n:5} left out: {why}");
    }
    for w in &wrong {
        println!("wrong: {w}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(all.len(), 71, "docs/testing.md says how many pairs there are");
    assert!(same >= 54, "{same} pairs that show something are too few");
    assert!(interpreted >= 70, "{interpreted} interpreted pairs are too few");
}
