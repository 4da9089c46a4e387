//! Runs of compiled shaders on the model: fragment shaders over a picture, compute shaders over buffers and images.

use tepui_check::{Finding, merge};
use tepui_debug::memory::Region;
use tepui_ir::interp::Slot;
use tepui_ir::{Shader, Stage};
use tepui_mali_bare::draw::Draw;
use tepui_mali_bare::image::Picture;
use tepui_mali_bare::{Bindings, Machine};
use tepui_mali_compiler::Layout;
use tepui_mali_model::{JobStats, Options, Report, Watch, finding, fingerprint};

use super::{Compiled, compile_ir, lines, options};
use crate::bound::{self, Sampled};
use crate::compile::{ShaderError, Text, translate};
use crate::findings::SourceMap;
use crate::inputs::{ImageInput, Inputs, SamplerInput};
use crate::run::{Outcome, WHOLE};

/// Largest picture in each direction.
const MAX_SIDE: u32 = 2048;

/// Options of a run.
#[derive(Default)]
pub struct RunOptions {
    /// Observer of instructions; the checker does not run with it.
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
    let options =
        Options { check: how.check, max_instructions: inputs.budget, ..Options::default() };
    let machine = Machine::new(compiled.chip, options);
    let machine = match how.watch {
        Some(watch) => machine.watched(watch),
        None => machine,
    };
    match compiled.shader.info.stage {
        Stage::Compute => {
            let mut bindings = bindings(&compiled.translated, inputs)?;
            // Passes may leave bindings out, so that the layout is that of what was compiled.
            bindings.layout = Layout::of(&compiled.shader);
            let ran = machine.run(&compiled.program, &mut bindings, inputs.groups);
            let regions =
                bound::regions(&compiled.translated, &bindings.buffers, &bindings.addresses);
            let outcome = ran.map_err(ShaderError::new).and_then(|stats| {
                let mut outcome = results(&stats, &machine.take_reports(), text, compiled);
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
    let vertex = compile_ir(vertex, fragment.chip, &options(0, false), false)?;
    let bind = |c: &Compiled| -> Result<Bindings, ShaderError> {
        Ok(Bindings { layout: Layout::of(&c.shader), ..bindings(&c.translated, inputs)? })
    };
    let (mut of_vertex, mut of_fragment) = (bind(&vertex)?, bind(fragment)?);
    let draw = Draw { vertex: &vertex.program, fragment: &fragment.program, size, vertices };
    let drawn = machine.draw(&draw, &mut of_vertex, &mut of_fragment);
    let regions =
        bound::regions(&fragment.translated, &of_fragment.buffers, &of_fragment.addresses);
    let outcome = drawn.map_err(ShaderError::new).and_then(|drawn| {
        let results = results(&drawn.stats, &machine.take_reports(), text, fragment);
        let mut outcome = Outcome { size, pixels: drawn.pixels, ..results };
        read(&fragment.translated, &of_fragment, &mut outcome)?;
        Ok(outcome)
    });
    Ok(Ran { outcome, regions })
}

fn results(stats: &JobStats, reports: &[Report], text: &Text, compiled: &Compiled) -> Outcome {
    let Compiled { program, shader, .. } = compiled;
    let places = SourceMap::new(text, &program.code, lines(program, shader));
    let findings = merge(reports.iter().map(|report| Finding {
        source: match report.at.program == fingerprint(super::code(program)) {
            true => places.source(report.at.offset),
            false => None,
        },
        ..finding(report, String::new())
    }));
    Outcome {
        threads: stats.threads,
        instructions: stats.instructions,
        findings,
        ..Outcome::default()
    }
}

/// The bindings of a shader, but for their places in resource tables.
///
/// # Errors
/// The inputs lack an image, or describe one wrongly.
pub fn bindings(shader: &Shader, inputs: &Inputs) -> Result<Bindings, ShaderError> {
    let buffers = bound::buffers(shader, inputs)?;
    let mut bindings = Bindings { buffers, ..Bindings::default() };
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
    let Sampled { images, samplers } = bound::sampled(shader, images, samplers, Picture::new)?;
    (bindings.images, bindings.samplers) = (images, samplers);
    Ok(())
}

/// Adds the storage buffers and images of a shader to an outcome.
fn read(shader: &Shader, bindings: &Bindings, outcome: &mut Outcome) -> Result<(), ShaderError> {
    let image = |slot: &Slot| bindings.images.get(slot).map(|image| (&image.data, image.kind));
    bound::read(shader, &bindings.buffers, image, outcome)
}
