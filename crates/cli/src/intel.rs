//! `tepui compile`, `tepui exec` and `tepui check` for Intel's GPUs.

use std::fmt::Write;

use tepui_check::{Finding, merge};
use tepui_explore::compile::{self as explore, takes_image, takes_sampler};
use tepui_explore::findings::SourceMap;
use tepui_explore::images::{self, Request, Texels};
use tepui_explore::listing::{Line, SourceLines};
use tepui_explore::picture::png_of_texels;
use tepui_explore::run::{Contents, ImageInput, Inputs, SamplerInput};
use tepui_gpus::intel::Chip;
use tepui_intel_bare::image::Picture;
use tepui_intel_bare::{Bindings, Machine};
use tepui_intel_compiler::print::Text;
use tepui_intel_compiler::{Options, Program, Snapshot, compile, compile_with};
use tepui_intel_isa::Inst;
use tepui_intel_model::{JobStats, finding};
use tepui_ir::interp::ImageData;
use tepui_ir::{ImageFormat, Resource, Shader, SrcLoc, Stage};
use tepui_ir_gen::texels::{bytes, format_of, texels};

/// Options of the compiler from those of the command line.
pub fn options(registers: u16) -> Options<'static> {
    Options { registers, ..Options::default() }
}

/// The results of passes: the names of all, and the text of the one that is wanted.
pub struct Passes<'a> {
    /// The pass whose result is wanted; none for the last one.
    pub want: Option<&'a str>,
    /// The result of passes on the IR, else of those on the machine IR.
    pub ir: bool,
    /// Names of the passes that ran.
    pub names: Vec<&'static str>,
    /// The text.
    pub text: String,
}

/// Compiles a shader.
///
/// # Errors
/// Why it is not compiled.
pub fn program(
    shader: &mut Shader,
    chip: &Chip,
    options: &Options,
    passes: &mut Passes<'_>,
) -> Result<Program, String> {
    let mut after = |name: &'static str, made: Snapshot<'_>| {
        passes.names.push(name);
        if passes.want.is_some_and(|want| want != name) {
            return;
        }
        match made {
            Snapshot::Ir(s) if passes.ir => passes.text = s.to_string(),
            Snapshot::Mir(f) if !passes.ir => passes.text = Text(f).to_string(),
            _ => {}
        }
    };
    compile_with(shader, chip.generation, options, &mut after).map_err(|e| e.to_string())
}

/// The instructions, each with its place in the source.
fn instructions(program: &Program, chip: &Chip, shader: &Shader) -> Vec<(usize, Inst, SrcLoc)> {
    let places = program.locs.iter().filter_map(|&(offset, loc)| {
        let inst = Inst::decode(chip.generation, &program.code, offset as usize).ok()?;
        Some((offset as usize, inst, shader.locs[loc]))
    });
    places.collect()
}

/// The instructions for JSON.
pub fn lines(program: &Program, chip: &Chip, shader: &Shader) -> Vec<Line> {
    let line = |(offset, inst, loc): (usize, Inst, SrcLoc)| {
        let bytes = &program.code[offset..offset + inst.bytes()];
        let bytes = bytes.iter().map(|b| format!("{b:02x}")).collect();
        Line { offset, bytes, text: inst.to_string(), line: loc.line }
    };
    instructions(program, chip, shader).into_iter().map(line).collect()
}

/// The statistics of each number of channels, a line each.
pub fn stats(program: &Program) -> String {
    program.variants.iter().map(|v| format!("{}\n", v.stats)).collect()
}

/// Assembly with the lines of the source, in the syntax of `tepui asm`; then what the driver places. The program for
/// another number of channels begins with a line of its own.
pub fn text(program: &Program, chip: &Chip, shader: &Shader, sources: &SourceLines) -> String {
    let mut out = String::new();
    let mut last = SrcLoc::default();
    for (offset, inst, loc) in instructions(program, chip, shader) {
        let begins = program.variants.iter().find(|v| v.offset as usize == offset);
        if let Some(v) = begins.filter(|_| program.variants.len() > 1) {
            let _ = writeln!(out, "// SIMD{}", v.width);
            last = SrcLoc::default();
        }
        if loc.line != 0 && (loc.file, loc.line) != (last.file, last.line) {
            last = loc;
            let file = shader.files.get(loc.file as usize).map_or("", String::as_str);
            let line = sources.get(file).and_then(|s| s.get(loc.line as usize - 1));
            let _ = writeln!(out, "// {}: {}", loc.line, line.map_or("", String::as_str));
        }
        let _ = writeln!(out, "{inst}");
    }
    for (k, c) in program.map.constants.iter().enumerate() {
        let _ = writeln!(out, "// constant {k}: {c:?}");
    }
    for (k, s) in program.map.surfaces.iter().enumerate() {
        let _ = writeln!(out, "// surface {k}: {s:?}");
    }
    out
}

/// Compiles a compute shader and runs it; buffers then hold what it left.
///
/// # Errors
/// When it is not compiled, or does not run to its end.
pub fn exec(
    shader: &mut Shader,
    chip: &'static Chip,
    options: &Options,
    run: &mut Run,
) -> Result<(Program, JobStats), String> {
    let program = compile(shader, chip.generation, options).map_err(|e| e.to_string())?;
    let model = tepui_intel_model::Options { check: run.check, ..Default::default() };
    let machine = Machine::new(chip, model);
    run.bindings.sets = tepui_intel_compiler::set_memory::placement(shader);
    let stats = machine.run(&program, &mut run.bindings, run.groups).map_err(|e| e.to_string())?;
    Ok((program, stats))
}

/// Binds an image and a sampler to each resource that has one, from what is asked for of them by set and binding.
///
/// # Errors
/// When a request is invalid, the hardware has no such image, or a resource has none.
pub fn bind(
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
            bindings.images.insert(slot, picture(r, texels)?);
        }
        if takes_sampler(r.kind) {
            let input = samplers.iter().find(|s| (s.set, s.binding) == (r.set, r.binding));
            let what = input.map_or_else(
                || {
                    eprintln!("tepui: {}; it is nearest,clamp", name("--sampler"));
                    "nearest,clamp"
                },
                |input| &input.what,
            );
            bindings.samplers.insert(slot, images::sampler(what)?);
        }
    }
    Ok(())
}

/// An image with contents.
fn picture(r: &Resource, t: Texels) -> Result<Picture, String> {
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
    Ok(Picture::new(data, r))
}

/// The contents of an image for a file: a PNG if its name ends in `.png`, else raw texels.
///
/// # Errors
/// When the format has no texels of their own.
pub fn file(image: &Picture, name: &str) -> Result<Vec<u8>, String> {
    let ImageData { size: [width, height, depth], layers, format, .. } = image.data;
    let format = format_of(format).ok_or("the image has no format")?;
    let raw = bytes(&image.data.levels[0], format, image.kind).map_err(|e| e.to_string())?;
    if !name.to_ascii_lowercase().ends_with(".png") {
        return Ok(raw);
    }
    png_of_texels(format, (width, height * layers.max(depth)), &raw).map_err(|e| e.to_string())
}

/// Compiles a compute shader, runs it with the checker, and gives the findings with the lines of its source.
///
/// # Errors
/// As [`exec`].
pub fn check(
    shader: &mut Shader,
    chip: &'static Chip,
    text: &explore::Text,
    inputs: &Inputs,
) -> Result<Vec<Finding>, String> {
    if shader.info.stage != Stage::Compute {
        let stage = shader.info.stage;
        return Err(format!(
            "only compute shaders are run for Intel's GPUs so far, not {stage} shaders"
        ));
    }
    let bytes = |c: &Contents| c.words().iter().flat_map(|w| w.to_le_bytes()).collect();
    let buffers = inputs.buffers.iter().map(|c| ((c.set, c.binding, 0), bytes(c))).collect();
    let mut bindings = Bindings { buffers, ..Bindings::default() };
    bind(&mut bindings, shader, &inputs.images, &inputs.samplers)?;
    let mut run = Run { bindings, groups: inputs.groups, check: true };
    let (program, stats) = exec(shader, chip, &Options::default(), &mut run)?;
    let places = SourceMap::new(text, &program.code, lines(&program, chip, shader));
    Ok(merge(stats.reports.iter().map(|report| Finding {
        source: places.source(report.at.offset),
        ..finding(report, String::new())
    })))
}

/// Inputs of a shader's run.
pub struct Run {
    /// Buffers, images, samplers and push constants.
    pub bindings: Bindings,
    /// Workgroups.
    pub groups: [u32; 3],
    /// Whether the checker looks for reads of what was never written.
    pub check: bool,
}
