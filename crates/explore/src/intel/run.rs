//! Runs of compiled shaders on the model: fragment shaders over a picture, compute shaders over buffers and images.

use tepui_check::merge;
use tepui_debug::memory::Region;
use tepui_intel_bare::draw::Draw;
use tepui_intel_bare::image::Picture as BoundPicture;
use tepui_intel_bare::{Bindings, Machine};
use tepui_intel_compiler::{FragmentState, Options as CompilerOptions, set_memory};
use tepui_intel_model::{JobStats, Options, Watch, finding};
use tepui_ir::interp::ImageData;
use tepui_ir::{ImageFormat, ResKind, Resource, Shader, Stage};
use tepui_ir_gen::texels::{bytes, format_of, texels};

use super::{Compiled, compile_ir, lines};
use crate::compile::{ShaderError, Text, takes_image, takes_sampler, translate};
use crate::findings::SourceMap;
use crate::images::{self, Request, Texels};
use crate::inputs::{Contents, ImageInput, Inputs, SamplerInput};
use crate::picture;
use crate::run::{After, Outcome, Picture, WHOLE};

/// Largest picture in each direction: its pixels have 16 bytes.
const MAX_SIDE: u32 = 2048;
/// Bytes of a storage buffer of which nothing is said.
const DEFAULT_B: usize = 4096;
/// Bytes of a uniform buffer: all after the known words is zero.
const UNIFORM_B: usize = 1 << 16;
/// Elements of the largest array of descriptors.
const MAX_ELEMENTS: u32 = 256;

/// Options of a run.
#[derive(Default)]
pub struct RunOptions {
    /// Observer of instructions.
    pub watch: Option<Watch>,
    /// Reports all findings of the checker.
    pub check: bool,
}

/// The results of a run, and the addresses of its buffers.
pub struct Ran {
    /// The results, or why there are none.
    pub outcome: Result<Outcome, ShaderError>,
    /// The buffers.
    pub regions: Vec<Region>,
}

/// Runs what was compiled of a text.
///
/// # Errors
/// The inputs lack something, or the shader's stage does not run by itself.
pub fn run(
    text: &Text,
    compiled: &Compiled,
    inputs: &Inputs,
    how: RunOptions,
) -> Result<Ran, ShaderError> {
    let options = Options {
        check: how.check,
        threads: usize::from(how.watch.is_some()),
        max_instructions: inputs.budget,
        ..Options::default()
    };
    let machine = Machine::new(compiled.chip, options);
    let machine = match how.watch {
        Some(watch) => machine.watched(watch),
        None => machine,
    };
    match compiled.shader.info.stage {
        Stage::Compute => {
            let mut bindings = bindings(&compiled.translated, inputs)?;
            let ran = machine.run(&compiled.program, &mut bindings, inputs.groups);
            let regions = regions(&compiled.translated, &bindings);
            let outcome = ran.map_err(ShaderError::new).and_then(|stats| {
                let mut outcome = results(&stats, text, compiled);
                read(&compiled.translated, &bindings, &mut outcome)?;
                Ok(outcome)
            });
            Ok(Ran { outcome, regions })
        }
        Stage::Fragment => draw(&machine, text, compiled, inputs),
        stage => Err(ShaderError::new(format!(
            "{stage} shaders run with a fragment shader in the same text: add one"
        ))),
    }
}

fn draw(
    machine: &Machine,
    text: &Text,
    fragment: &Compiled,
    inputs: &Inputs,
) -> Result<Ran, ShaderError> {
    let size = inputs.size;
    if size.iter().any(|n| !(1..=MAX_SIDE).contains(n)) {
        let message = format!("the picture has 1 to {MAX_SIDE} pixels in each direction");
        return Err(ShaderError::new(message));
    }
    let (vertex, vertices) = match &fragment.vertex {
        Some(vertex) => (vertex.clone(), inputs.vertices),
        None => {
            let whole = Text { text: WHOLE.to_owned(), ..Text::default() };
            (translate(&whole.spirv()?, Stage::Vertex)?, 3)
        }
    };
    let options = CompilerOptions { fragment: FragmentState::default(), ..Default::default() };
    let vertex = compile_ir(vertex, fragment.chip, &options, false)?;
    let own = [&vertex, fragment].map(|c| bindings(&c.translated, inputs));
    let [vertex_bindings, fragment_bindings] = own;
    let (vertex_bindings, fragment_bindings) = (vertex_bindings?, fragment_bindings?);
    let mut draw = Draw::triangle(&vertex.program, &fragment.program, size, &vertex_bindings);
    draw.fragment_bindings = &fragment_bindings;
    draw.vertices = [0, vertices];
    let picture = match machine.draw(&draw) {
        Ok(picture) => picture,
        Err(e) => return Ok(Ran { outcome: Err(ShaderError::new(e)), regions: Vec::new() }),
    };
    let colour =
        |p: &[u32; 4]| p.map(|c| (f32::from_bits(c).clamp(0.0, 1.0) * 255.0).round() as u8);
    let pixels = picture.colours.first().into_iter().flatten().flat_map(colour).collect();
    let mut outcome = Outcome { size, pixels, ..results(&picture.stats, text, fragment) };
    let after = picture.bindings(Stage::Fragment).unwrap_or(&fragment_bindings);
    read(&fragment.translated, after, &mut outcome)?;
    Ok(Ran { outcome: Ok(outcome), regions: regions(&fragment.translated, after) })
}

fn results(stats: &JobStats, text: &Text, compiled: &Compiled) -> Outcome {
    let Compiled { program, chip, shader, .. } = compiled;
    let places = SourceMap::new(text, &program.code, lines(program, chip, shader));
    let findings = merge(stats.reports.iter().map(|report| tepui_check::Finding {
        source: places.source(report.at.offset),
        ..finding(report, String::new())
    }));
    Outcome {
        threads: stats.threads,
        instructions: stats.instructions,
        findings,
        ..Outcome::default()
    }
}

/// The bindings of a shader. Uniform buffers hold width, height, time, a zero word, and the pointer.
///
/// # Errors
/// The inputs lack an image, or describe one wrongly.
pub fn bindings(shader: &Shader, inputs: &Inputs) -> Result<Bindings, ShaderError> {
    let mut bindings = Bindings { sets: set_memory::placement(shader), ..Bindings::default() };
    for r in shader.resources.values() {
        if r.count > MAX_ELEMENTS {
            let Resource { name, count, .. } = r;
            return Err(ShaderError::new(format!(
                "`{name}` has {count} elements; at most {MAX_ELEMENTS} are given"
            )));
        }
        let contents = match r.kind {
            ResKind::UniformBuffer => {
                let [width, height] = inputs.size.map(|n| n as f32);
                let [x, y] = inputs.pointer;
                let words = [width, height, inputs.time, 0.0, x, y].map(f32::to_bits);
                let mut bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                bytes.resize(UNIFORM_B, 0);
                bytes
            }
            ResKind::StorageBuffer => {
                let own = |c: &&Contents| (c.set, c.binding) == (r.set, r.binding);
                match inputs.buffers.iter().find(own) {
                    Some(c) => c.words().iter().flat_map(|w| w.to_le_bytes()).collect(),
                    None => vec![0; DEFAULT_B],
                }
            }
            _ => continue,
        };
        for element in 0..r.count.max(1) {
            bindings.buffers.insert((r.set, r.binding, element), contents.clone());
        }
    }
    bind_images(&mut bindings, shader, &inputs.images, &inputs.samplers)
        .map_err(ShaderError::new)?;
    Ok(bindings)
}

/// Binds an image and a sampler to each resource that has one, from what is asked for of them by set and binding.
///
/// # Errors
/// When a request is invalid, the hardware has no such image, or a resource has none.
pub fn bind_images(
    bindings: &mut Bindings,
    shader: &Shader,
    images: &[ImageInput],
    samplers: &[SamplerInput],
) -> Result<(), String> {
    for r in shader.resources.values() {
        let slot = (r.set, r.binding, 0);
        let name = |what| format!("set {} binding {} ({}) has no {what}", r.set, r.binding, r.name);
        if takes_image(r.kind) {
            let input = images.iter().find(|i| (i.set, i.binding) == (r.set, r.binding));
            let input = input.ok_or_else(|| {
                format!("{}: give one, for example --image {}=64x64", name("--image"), r.binding)
            })?;
            let texels = Request::parse(&input.what)?.texels(r, input.file.as_deref())?;
            bindings.images.insert(slot, bound_picture(r, texels)?);
        }
        if takes_sampler(r.kind) {
            let input = samplers.iter().find(|s| (s.set, s.binding) == (r.set, r.binding));
            let what = input.ok_or_else(|| {
                let example = format!("--sampler {}=nearest,clamp", r.binding);
                format!("{}: give one, for example {example}", name("--sampler"))
            })?;
            bindings.samplers.insert(slot, images::sampler(&what.what)?);
        }
    }
    Ok(())
}

/// An image with contents.
fn bound_picture(r: &Resource, t: Texels) -> Result<BoundPicture, String> {
    let format = ImageFormat::ALL.iter().find(|&&f| format_of(f) == Some(t.format));
    let format = *format.ok_or_else(|| {
        format!(
            "{}: images of Intel's GPUs are bound here in the formats of storage images alone",
            t.format
        )
    })?;
    let mut data = ImageData::multisampled(t.size, t.layers, 1, t.samples);
    data.format = format;
    if !t.bytes.is_empty() {
        data.levels[0] = texels(&t.bytes, t.format, r.texels).map_err(|e| e.to_string())?;
    }
    Ok(BoundPicture::new(data, r))
}

/// The buffers of a shader with their addresses.
fn regions(shader: &Shader, bindings: &Bindings) -> Vec<Region> {
    let storage = |r: &&Resource| r.kind == ResKind::StorageBuffer;
    let mut out = Vec::new();
    for r in shader.resources.values().filter(storage) {
        for element in 0..r.count.max(1) {
            let slot = (r.set, r.binding, element);
            let bytes = bindings.buffers.get(&slot).map_or(0, |b| b.len() as u64);
            let Some(&address) = bindings.addresses.get(&slot) else { continue };
            out.push(Region { name: element_name(r, element), address, bytes });
        }
    }
    out
}

fn element_name(r: &Resource, element: u32) -> String {
    if r.count == 1 { r.name.clone() } else { format!("{}[{element}]", r.name) }
}

/// Adds the storage buffers and images of a shader to an outcome.
fn read(shader: &Shader, bindings: &Bindings, outcome: &mut Outcome) -> Result<(), ShaderError> {
    for r in shader.resources.values() {
        let (set, binding) = (r.set, r.binding);
        for element in 0..r.count.max(1) {
            let slot = (set, binding, element);
            let name = element_name(r, element);
            if r.kind == ResKind::StorageBuffer
                && let Some(bytes) = bindings.buffers.get(&slot)
            {
                let word = |b: &[u8; 4]| u32::from_le_bytes(*b);
                let words = bytes.as_chunks::<4>().0.iter().map(word).collect();
                outcome.buffers.push(After { set, binding, name: name.clone(), words });
            }
            if matches!(r.kind, ResKind::StorageImage | ResKind::StorageTexelBuffer)
                && let Some(image) = bindings.images.get(&slot)
            {
                add_picture(image, (set, binding, name), outcome)?;
            }
        }
    }
    Ok(())
}

/// Adds a storage image to an outcome: its layers one below the other.
fn add_picture(
    image: &BoundPicture,
    (set, binding, name): (u32, u32, String),
    outcome: &mut Outcome,
) -> Result<(), ShaderError> {
    let ImageData { size: [width, height, depth], layers, format, .. } = image.data;
    let format = format_of(format).ok_or_else(|| ShaderError::new("the image has no format"))?;
    let raw = bytes(&image.data.levels[0], format, image.kind).map_err(ShaderError::new)?;
    let mut fingerprint = tepui_agx_model::Fingerprint::default();
    raw.iter().for_each(|&byte| fingerprint.add(byte));
    let colours = picture::colours(format, &raw).map_err(ShaderError::new)?;
    let slices = layers.max(depth);
    outcome.pictures.push(Picture {
        set,
        binding,
        name,
        format: format.to_string(),
        size: [width, height * slices],
        layers: slices,
        offset: outcome.pixels.len(),
        fingerprint: format!("{:016x}", fingerprint.value()),
    });
    outcome.pixels.extend_from_slice(colours.as_flattened());
    Ok(())
}
