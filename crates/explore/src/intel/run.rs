//! Runs of compiled shaders on the model: fragment shaders over a picture, compute shaders over buffers and images.

use tepui_check::merge;
use tepui_debug::memory::Region;
use tepui_intel_bare::draw::Draw;
use tepui_intel_bare::image::Picture as BoundPicture;
use tepui_intel_bare::{Bindings, Machine};
use tepui_intel_compiler::{FragmentState, Options as CompilerOptions, set_memory};
use tepui_intel_model::{JobStats, Options, Watch, finding};
use tepui_ir::interp::Slot;
use tepui_ir::{Shader, Stage};

use super::{Compiled, compile_ir, lines};
use crate::bound::{self, Sampled};
use crate::compile::{ShaderError, Text, translate};
use crate::findings::SourceMap;
use crate::inputs::{ImageInput, Inputs, SamplerInput};
use crate::run::{Outcome, WHOLE};

/// Largest picture in each direction: its pixels have 16 bytes.
const MAX_SIDE: u32 = 2048;
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

/// The bindings of a shader.
///
/// # Errors
/// The inputs lack an image, or describe one wrongly.
pub fn bindings(shader: &Shader, inputs: &Inputs) -> Result<Bindings, ShaderError> {
    let mut bindings = Bindings {
        sets: set_memory::placement(shader),
        buffers: bound::buffers(shader, inputs)?,
        ..Bindings::default()
    };
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
    let Sampled { images, samplers } = bound::sampled(shader, images, samplers, BoundPicture::new)?;
    (bindings.images, bindings.samplers) = (images, samplers);
    Ok(())
}

/// The buffers of a shader with their addresses.
fn regions(shader: &Shader, bindings: &Bindings) -> Vec<Region> {
    bound::regions(shader, &bindings.buffers, &bindings.addresses)
}

/// Adds the storage buffers and images of a shader to an outcome.
fn read(shader: &Shader, bindings: &Bindings, outcome: &mut Outcome) -> Result<(), ShaderError> {
    let image = |slot: &Slot| bindings.images.get(slot).map(|image| (&image.data, image.kind));
    bound::read(shader, &bindings.buffers, image, outcome)
}
