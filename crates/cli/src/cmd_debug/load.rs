//! Recordings of shader files.

use std::path::Path;

use clap::Parser;
use serde_json::Value;
use tepui_check::Finding;
use tepui_debug::Recording;
use tepui_explore::compile::{CodeOptions, Text};
use tepui_explore::images::Request;
use tepui_explore::listing::source_lines;
use tepui_explore::record::{Group, record as record_text};
use tepui_explore::run::{Contents, ImageInput, Inputs, RunOptions, SamplerInput, run};

use tepui_gpus::Gpu;

use super::captured;
use crate::cmd_compile::CompilerArgs;
use crate::cmd_exec::read_image;
use crate::frontend::Module;

/// Inputs of the run, and the SIMD-group that is recorded.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct RunArgs {
    /// Compute shaders: workgroups in each direction.
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "1")]
    pub groups: String,
    /// Compute shaders: the workgroup that is recorded.
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "0")]
    pub workgroup: String,
    /// Compute shaders: the thread in the workgroup, by number; in captures the thread in the grid.
    #[arg(long, value_name = "N | X,Y,Z", default_value = "0")]
    pub thread: String,
    /// Fragment shaders: size of the picture.
    #[arg(long, value_name = "WIDTH,HEIGHT", default_value = "256,256")]
    pub size: String,
    /// Fragment shaders: the pixel that is recorded; else the middle.
    #[arg(long, value_name = "X,Y")]
    pub pixel: Option<String>,
    /// Vertices of the draw, if the file has a vertex shader too.
    #[arg(long, default_value_t = 3)]
    pub vertices: u32,
    /// A storage buffer: how many words, and what they are: `zeros`, `index` (floats 0, 1, 2, …) or `random`.
    #[arg(long, value_name = "BINDING=WORDS[,FILL]")]
    pub buffer: Vec<String>,
    /// An image or texel buffer, as `tepui exec` takes it: a PNG, raw texels, checkerboard, gradient, noise, or a size.
    #[arg(long, value_name = "BINDING=FILE|PATTERN|SIZE[,format=F]")]
    pub image: Vec<String>,
    /// A sampler, or the sampler part of a combined binding: nearest or linear; clamp, repeat, mirror or border.
    #[arg(long, value_name = "BINDING=WORD[,WORD]")]
    pub sampler: Vec<String>,
}

/// Up to `N` numbers with commas; those that are not there are `rest`.
pub fn numbers<const N: usize>(text: &str, rest: u32) -> Result<[u32; N], String> {
    let mut out = [rest; N];
    for (k, n) in text.split(',').enumerate() {
        let place = out.get_mut(k).ok_or_else(|| format!("`{text}`: at most {N} numbers"))?;
        *place = n.trim().parse().map_err(|_| format!("`{n}` is not a number"))?;
    }
    Ok(out)
}

/// Set, binding and what is bound, of `BINDING=WHAT` or `SET.BINDING=WHAT`.
fn bound(text: &str) -> Result<(u32, u32, &str), String> {
    let bad = || format!("`{text}`: write BINDING=WHAT or SET.BINDING=WHAT");
    let (name, what) = text.split_once('=').ok_or_else(bad)?;
    let (set, binding) = name.split_once('.').unwrap_or(("0", name));
    let number = |n: &str| n.parse().map_err(|_| bad());
    Ok((number(set)?, number(binding)?, what))
}

/// An image of `--image`, with the contents of its file.
pub fn image(text: &str) -> Result<ImageInput, String> {
    let (set, binding, what) = bound(text)?;
    let file = Request::parse(what)?.file().map(read_image).transpose()?;
    Ok(ImageInput { set, binding, what: what.to_owned(), file })
}

/// A sampler of `--sampler`.
pub fn sampler(text: &str) -> Result<SamplerInput, String> {
    let (set, binding, what) = bound(text)?;
    Ok(SamplerInput { set, binding, what: what.to_owned() })
}

/// A buffer of `--buffer`.
fn buffer(text: &str) -> Result<Contents, String> {
    let (set, binding, what) = bound(text)?;
    let bad = || format!("`{text}`: write BINDING=WORDS or BINDING=WORDS,index");
    let (words, fill) = what.split_once(',').unwrap_or((what, "zeros"));
    if !["zeros", "index", "random"].contains(&fill) {
        return Err(format!("`{fill}`: a buffer holds zeros, index or random"));
    }
    Ok(Contents {
        set,
        binding,
        words: words.parse().map_err(|_| bad())?,
        fill: fill.to_owned(),
        data: None,
    })
}

/// Runs a shader file and records a SIMD-group of it.
///
/// # Errors
/// The file does not compile, its job faults, or nothing runs at the place.
pub fn record(file: &Path, common: &CompilerArgs, place: &RunArgs) -> Result<Recording, String> {
    let (text, inputs) = read(file, common, place)?;
    let group = match (text.stage.as_deref(), &place.pixel) {
        (None | Some("compute"), _) => {
            let [thread] = numbers(&place.thread, 0)?;
            Some(Group::Thread(numbers(&place.workgroup, 0)?, thread))
        }
        (_, Some(pixel)) => {
            let [x, y] = numbers(pixel, 0)?;
            Some(Group::Pixel(x, y))
        }
        (_, None) => None,
    };
    let recorded = match common.gpu {
        Gpu::Intel(chip) => tepui_explore::intel::record::record(&text, chip, &inputs, group),
        Gpu::Mali(chip) => tepui_explore::mali::record::record(&text, chip, &inputs, group),
        _ => record_text(&text, &inputs, group),
    };
    let (mut recording, _) = recorded.map_err(|e| e.to_string())?;
    recording.file = file.display().to_string();
    Ok(recording)
}

/// Runs a shader file and returns what the checker finds.
///
/// # Errors
/// The file does not compile, or its job faults.
pub fn check(file: &Path, common: &CompilerArgs, place: &RunArgs) -> Result<Vec<Finding>, String> {
    let (text, inputs) = read(file, common, place)?;
    match common.gpu {
        Gpu::Intel(chip) => return crate::intel::check(chip, &text, &inputs),
        Gpu::Mali(chip) => return crate::mali::check(chip, &text, &inputs),
        _ => {}
    }
    let outcome = run(&text, &inputs, RunOptions { check: true, ..RunOptions::default() });
    Ok(outcome.map_err(|e| e.to_string())?.findings)
}

/// Whether a file is assembly.
pub fn is_assembly(file: &Path) -> bool {
    file.extension().is_some_and(|e| e == "s")
}

/// The inputs of a run.
fn inputs(place: &RunArgs) -> Result<Inputs, String> {
    Ok(Inputs {
        size: numbers(&place.size, 256)?,
        groups: numbers(&place.groups, 1)?,
        vertices: place.vertices,
        buffers: place.buffer.iter().map(|b| buffer(b)).collect::<Result<_, _>>()?,
        images: place.image.iter().map(|i| image(i)).collect::<Result<_, _>>()?,
        samplers: place.sampler.iter().map(|s| sampler(s)).collect::<Result<_, _>>()?,
        ..Inputs::default()
    })
}

/// The text of a shader: the file's, else that of the debug information in its SPIR-V.
fn source(file: &Path, module: &Module) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|_| {
        let lines = source_lines(&module.words).into_iter().max_by_key(|(_, lines)| lines.len());
        lines.map_or(String::new(), |(_, lines)| lines.join("\n"))
    })
}

/// Reads a shader file and what it is run with.
fn read(file: &Path, common: &CompilerArgs, place: &RunArgs) -> Result<(Text, Inputs), String> {
    if !matches!(common.gpu, Gpu::Intel(_) | Gpu::Mali(_)) {
        common.options()?;
    }
    let name = file.display().to_string();
    let inputs = inputs(place)?;
    if is_assembly(file) {
        let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
        return Ok((Text { text, name, assembly: true, ..Text::default() }, inputs));
    }
    let module = common.load(file)?;
    let shader = common.translate_module(&module)?;
    let stage = match shader.info.stage {
        tepui_ir::Stage::Compute => "compute",
        tepui_ir::Stage::Fragment => "fragment",
        stage => {
            return Err(format!("{stage} shaders are debugged with the fragment shader alone"));
        }
    };
    let text = source(file, &module);
    let stage = Some(stage.to_owned());
    let code = CodeOptions { registers: common.registers, robust: common.robust };
    Ok((Text { text, stage, name, code, words: Some(module.words), ..Text::default() }, inputs))
}

/// The command line of the arguments of `launch`.
#[derive(clap::Parser)]
struct Launched {
    file: std::path::PathBuf,
    #[command(flatten)]
    common: CompilerArgs,
    #[command(flatten)]
    place: RunArgs,
    #[command(flatten)]
    captured: captured::CommandSelection,
}

/// Records what the arguments of the debug adapter protocol's `launch` name.
///
/// # Errors
/// As [`record`], and what is wrong with the arguments.
pub fn launch(arguments: &Value) -> Result<Recording, String> {
    let program = arguments["program"].as_str().ok_or("`program`: the shader file is missing")?;
    let mut line = vec!["tepui dap".to_owned()];
    let mut add = |name: &str, value: &Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        line.push(format!("--{name}={text}"));
    };
    let names =
        "gpu stage entry groups workgroup thread pixel size vertices command draw layer dispatch";
    for name in names.split(' ') {
        if let Some(value) = arguments.get(name) {
            add(name, value);
        }
    }
    for (list, name) in [("buffers", "buffer"), ("images", "image"), ("samplers", "sampler")] {
        for value in arguments[list].as_array().into_iter().flatten() {
            add(name, value);
        }
    }
    line.extend(["--".to_owned(), program.to_owned()]);
    let parsed = Launched::try_parse_from(line).map_err(|e| e.to_string())?;
    if captured::is_capture(&parsed.file) {
        if arguments.get("pixel").or(arguments.get("dispatch")).is_none() {
            return Err("say which `pixel`, or `dispatch` and `thread`".to_owned());
        }
        let recording = captured::record(&parsed.file, &parsed.captured, &parsed.place)?;
        return recording.ok_or_else(|| "nothing is recorded".to_owned());
    }
    record(&parsed.file, &parsed.common, &parsed.place)
}
