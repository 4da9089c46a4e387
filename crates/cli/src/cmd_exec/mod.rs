//! `tepui exec`: compiles a compute shader and runs it on the virtual GPU in this process.

use std::path::PathBuf;
use std::process::ExitCode;

use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::compile;
use tepui_agx_model::Options;
use tepui_gpus::Gpu;
use tepui_gpus::intel::Chip;
use tepui_ir::interp::ImageData;
use tepui_ir::{NumKind, ResKind, Resource, Shader};

use tepui_explore::compile::{Text, takes_image};
use tepui_explore::run::{Contents, ImageInput, Inputs, RunOptions, SamplerInput, run as explore};
use tepui_explore::{bound, images};

use crate::cmd_compile::CompilerArgs;
use crate::cmd_debug::load::{self, is_assembly};
use crate::{intel, mali};

/// Compiles a compute shader and runs it on the virtual GPU.
///
/// Buffers are given by binding (`0=in.bin`), or by set and binding (`1.0=in.bin`). A number
/// instead of a file is the size of a zeroed buffer in bytes (`1=4096`). After the run, `--out`
/// saves buffers; without it, changed buffers are printed as words. A buffer with only `--out` is
/// zeroed and as large as the largest other buffer.
///
/// Assembly (`.s`) runs with buffer `N` in `u(2N)_u(2N+1)`; comments in the text declare the rest, such as
/// `; workgroup: 64,1,1`, `; local: 256`, `; scratch: 64` and `; buffer: 0 64 index`.
///
/// Images are PNG files, files of raw texels, a built-in picture (checkerboard, gradient or noise),
/// or a size (`2=640x480`, zeroed), optionally followed by `format=R16G16_SFLOAT`, `size=64x64` and `layers=6`, separated by commas. The shader declares
/// the dimensions and, for most storage images, the format; in files, layers and slices are stacked
/// vertically. A sampler is a list of words: nearest or linear; clamp, repeat, mirror, mirror-once
/// or border; mip-linear; less (and other comparisons). `--out-image` saves an image: as a PNG if
/// the name ends in `.png`, else as raw texels.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tepui exec double.comp --groups 4 --buffer 0=in.bin --out 1=out.bin
  tepui exec mandelbrot.comp --groups 8,8 --buffer 0=16384 --push view.bin --out 0=counts.bin
  tepui exec shrink.wgsl --groups 40,25 --image 0=in.png --sampler 1=linear,repeat --image 2=320x200 --out-image 2=out.png")]
pub struct Args {
    /// Shader file.
    file: PathBuf,
    #[command(flatten)]
    common: CompilerArgs,
    /// Workgroups in each direction.
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "1")]
    groups: String,
    /// A buffer: a file with its contents, or a size in bytes.
    #[arg(long, value_name = "BINDING=FILE")]
    buffer: Vec<String>,
    /// Saves a buffer after the run.
    #[arg(long, value_name = "BINDING=FILE")]
    out: Vec<String>,
    /// An image or texel buffer: a PNG, raw texels, a built-in picture, or a size.
    #[arg(long, value_name = "BINDING=FILE|PATTERN|SIZE[,format=F]")]
    image: Vec<String>,
    /// A sampler, or the sampler part of a combined binding.
    #[arg(long, value_name = "BINDING=WORD[,WORD]")]
    sampler: Vec<String>,
    /// Saves an image after the run.
    #[arg(long, value_name = "BINDING=FILE")]
    out_image: Vec<String>,
    /// File with the push constants.
    #[arg(long, value_name = "FILE")]
    push: Option<PathBuf>,
    /// Report what the checker finds (`tepui check --rules`).
    #[arg(long)]
    check: bool,
}

type Slot = (u32, u32, u32);

/// Bytes per thread of a buffer with only `--out`, if there is no other buffer: a vector of four
/// words.
const PER_THREAD_B: u64 = 16;
/// Limit on the size of such a buffer.
const MAX_B: u64 = 1 << 30;

fn slot(text: &str) -> Result<(Slot, &str), String> {
    let bad = || format!("`{text}`: write BINDING=FILE or SET.BINDING=FILE");
    let (name, rest) = text.split_once('=').ok_or_else(bad)?;
    let numbers: Vec<u32> =
        name.split('.').map(|n| n.parse().map_err(|_| bad())).collect::<Result<_, _>>()?;
    match numbers[..] {
        [b] => Ok(((0, b, 0), rest)),
        [s, b] => Ok(((s, b, 0), rest)),
        [s, b, k] => Ok(((s, b, k), rest)),
        _ => Err(bad()),
    }
}

fn is_buffer(k: ResKind) -> bool {
    matches!(k, ResKind::UniformBuffer | ResKind::StorageBuffer)
}

fn groups(text: &str) -> Result<[u32; 3], String> {
    let mut out = [1; 3];
    for (k, n) in text.split(',').enumerate() {
        let place = out.get_mut(k).ok_or_else(|| format!("`{text}`: at most three numbers"))?;
        *place = n.trim().parse().map_err(|_| format!("`{n}` is not a number of workgroups"))?;
    }
    Ok(out)
}

/// The contents of an image's file.
pub fn read_image(file: &str) -> Result<Vec<u8>, String> {
    crate::input::read(file.as_ref()).map_err(|e| {
        format!(
            "{file}: {e}; without a file: checkerboard, gradient, noise or a size such as 64x64"
        )
    })
}

/// Runs assembly: buffer `N` has its address in `u(2N)_u(2N+1)`.
fn run_assembly(args: &Args) -> Result<(), String> {
    let text = std::fs::read_to_string(&args.file).map_err(|e| e.to_string())?;
    let name = args.file.display().to_string();
    let text = Text { text, name, assembly: true, ..Text::default() };
    let mut inputs = Inputs { groups: groups(&args.groups)?, ..Inputs::default() };
    for b in &args.buffer {
        let (slot, what) = slot(b)?;
        let words = match what.parse::<usize>() {
            Ok(n) => vec![0; n.div_ceil(4)],
            Err(_) => {
                let bytes =
                    crate::input::read(what.as_ref()).map_err(|e| format!("{what}: {e}"))?;
                let word = |c: &[u8]| c.iter().rev().fold(0, |w, &b| w << 8 | u32::from(b));
                bytes.chunks(4).map(word).collect()
            }
        };
        let fill = String::new();
        let (words, data) = (words.len(), Some(words));
        inputs.buffers.push(Contents { set: 0, binding: slot.1, words, fill, data });
    }
    let outcome =
        explore(&text, &inputs, RunOptions { check: args.check, ..RunOptions::default() });
    let outcome = outcome.map_err(|e| e.to_string())?;
    for finding in &outcome.findings {
        eprint!("{finding}");
    }
    for o in &args.out {
        let (slot, path) = slot(o)?;
        let buffer = outcome.buffers.iter().find(|b| b.binding == slot.1);
        let buffer = buffer.ok_or_else(|| format!("`{o}`: there is no such buffer"))?;
        let bytes: Vec<u8> = buffer.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        std::fs::write(path, bytes).map_err(|e| format!("{path}: {e}"))?;
    }
    if args.out.is_empty() {
        for buffer in &outcome.buffers {
            println!("{}:", buffer.name);
            for (k, row) in buffer.words.chunks(8).enumerate().take(64) {
                let words: Vec<String> = row.iter().map(|w| format!("{w:08x}")).collect();
                println!("{:6x}: {}", k * 32, words.join(" "));
            }
        }
    }
    eprintln!("{} threads, {} instructions of SIMD-groups", outcome.threads, outcome.instructions);
    Ok(())
}

/// The contents of buffers before the run: those that are given, and zeros for those that are only saved.
fn contents(args: &Args, s: &Shader, groups: [u32; 3]) -> Result<Vec<(Slot, Vec<u8>)>, String> {
    let mut before = Vec::new();
    for b in &args.buffer {
        let (slot, what) = slot(b)?;
        let bytes = match what.parse::<usize>() {
            Ok(n) => vec![0; n],
            Err(_) => crate::input::read(what.as_ref()).map_err(|e| format!("{what}: {e}"))?,
        };
        before.push((slot, bytes));
    }
    let sizes = groups.iter().chain(&s.info.workgroup_size);
    let threads = sizes.fold(1u64, |all, &n| all.saturating_mul(u64::from(n)));
    let largest = before.iter().map(|(_, bytes)| bytes.len()).max();
    for o in &args.out {
        let (slot, _) = slot(o)?;
        if before.iter().any(|b| b.0 == slot) {
            continue;
        }
        let declared = |r: &&Resource| is_buffer(r.kind) && (r.set, r.binding) == (slot.0, slot.1);
        let Some(r) = s.resources.values().find(declared) else {
            return Err(format!("`{o}`: the shader has no such buffer"));
        };
        let size = largest.unwrap_or(threads.saturating_mul(PER_THREAD_B).min(MAX_B) as usize);
        let name =
            if slot.0 == 0 { r.binding.to_string() } else { format!("{}.{}", r.set, r.binding) };
        eprintln!(
            "tepui exec: {} is {size} zero bytes; --buffer {name}=SIZE for another size",
            r.name
        );
        before.push((slot, vec![0; size]));
    }
    for r in s.resources.values() {
        if is_buffer(r.kind) && !before.iter().any(|b| b.0 == (r.set, r.binding, 0)) {
            eprintln!(
                "tepui exec: set {} binding {} ({}) has no --buffer; it is empty",
                r.set, r.binding, r.name
            );
        }
    }
    Ok(before)
}

/// Saves buffers, or prints those that have changed; `read` gives the contents after the run.
fn save(
    args: &Args,
    before: &[(Slot, Vec<u8>)],
    read: impl Fn(&Slot) -> Result<Option<Vec<u8>>, String>,
) -> Result<(), String> {
    for o in &args.out {
        let (slot, path) = slot(o)?;
        let bytes = read(&slot)?.ok_or_else(|| format!("`{o}`: there is no such --buffer"))?;
        std::fs::write(path, bytes).map_err(|e| format!("{path}: {e}"))?;
    }
    if !args.out.is_empty() {
        return Ok(());
    }
    for (slot, old) in before {
        let Some(new) = read(slot)?.filter(|new| new != old) else { continue };
        println!("set {} binding {}:", slot.0, slot.1);
        for (k, row) in new.chunks(32).enumerate().take(64) {
            let words: Vec<String> = row
                .chunks(4)
                .map(|c| c.iter().rev().map(|b| format!("{b:02x}")).collect())
                .collect();
            println!("{:6x}: {}", k * 32, words.join(" "));
        }
    }
    Ok(())
}

/// The push constants.
fn push_constants(args: &Args) -> Result<Vec<u8>, String> {
    match &args.push {
        Some(p) => crate::input::read(p).map_err(|e| format!("{}: {e}", p.display())),
        None => Ok(Vec::new()),
    }
}

/// Images and samplers of the command line.
struct Requested {
    images: Vec<ImageInput>,
    samplers: Vec<SamplerInput>,
}

fn requested(args: &Args) -> Result<Requested, String> {
    Ok(Requested {
        images: args.image.iter().map(|i| load::image(i)).collect::<Result<_, _>>()?,
        samplers: args.sampler.iter().map(|s| load::sampler(s)).collect::<Result<_, _>>()?,
    })
}

/// Saves images; `image` gives what a slot holds, and the kind of its texels.
fn save_images<'a>(
    args: &Args,
    image: impl Fn(&Slot) -> Option<(&'a ImageData, NumKind)>,
) -> Result<(), String> {
    for o in &args.out_image {
        let (slot, path) = slot(o)?;
        let image = image(&slot);
        let (data, kind) = image.ok_or_else(|| format!("`{o}`: there is no such --image"))?;
        std::fs::write(path, bound::file(data, kind, path)?).map_err(|e| format!("{path}: {e}"))?;
    }
    Ok(())
}

/// Compiles and runs a shader for an Intel GPU.
fn run_intel(args: &Args, chip: &'static Chip) -> Result<(), String> {
    let mut s = args.common.translate(&args.file)?;
    let groups = groups(&args.groups)?;
    let before = contents(args, &s, groups)?;
    let push = push_constants(args)?;
    let buffers = before.iter().cloned().collect();
    let mut bindings = tepui_intel_bare::Bindings { buffers, push, ..Default::default() };
    let Requested { images, samplers } = requested(args)?;
    tepui_explore::intel::run::bind_images(&mut bindings, &s, &images, &samplers)?;
    let mut run = intel::Run { bindings, groups, check: args.check };
    let options = intel::options(args.common.registers);
    let (_, stats) = intel::exec(&mut s, chip, &options, &mut run)?;
    for r in &stats.reports {
        eprintln!("tepui exec: {:#x}: {}: {}", r.at.offset, r.at.text, r.what);
    }
    save_images(args, |slot| run.bindings.images.get(slot).map(|i| (&i.data, i.kind)))?;
    save(args, &before, |slot| Ok(run.bindings.buffers.get(slot).cloned()))?;
    eprintln!("{} threads, {} instructions", stats.threads, stats.instructions);
    Ok(())
}

/// Compiles and runs a shader for Valhall.
fn run_mali(args: &Args, chip: &'static tepui_gpus::mali::Chip) -> Result<(), String> {
    if is_assembly(&args.file) {
        return Err("assembly is run for the M1 only".to_owned());
    }
    let mut s = args.common.translate(&args.file)?;
    let groups = groups(&args.groups)?;
    let before = contents(args, &s, groups)?;
    let push = push_constants(args)?;
    let buffers = before.iter().cloned().collect();
    let mut bindings = tepui_mali_bare::Bindings { buffers, push, ..Default::default() };
    let Requested { images, samplers } = requested(args)?;
    tepui_explore::mali::run::bind_images(&mut bindings, &s, &images, &samplers)?;
    let mut run = mali::Run { bindings, groups, check: args.check };
    let options = tepui_explore::mali::options(args.common.registers, args.common.robust);
    let (stats, reports) = mali::exec(&mut s, chip, &options, &mut run)?;
    for report in &reports {
        eprintln!("tepui exec: {}", tepui_mali_model::describe(report));
    }
    save_images(args, |slot| run.bindings.images.get(slot).map(|i| (&i.data, i.kind)))?;
    save(args, &before, |slot| Ok(run.bindings.buffers.get(slot).cloned()))?;
    eprintln!("{} threads, {} instructions", stats.threads, stats.instructions);
    Ok(())
}

/// The descriptor of a sampler of an AGX GPU.
fn agx_sampler(words: &str) -> Result<[u8; 8], String> {
    tepui_agx_bare::bind::sampler(&images::sampler(words)?).map_err(|e| e.to_string())
}

fn try_run(args: &Args) -> Result<(), String> {
    if let Gpu::Intel(chip) = args.common.gpu {
        return run_intel(args, chip);
    }
    if let Gpu::Mali(chip) = args.common.gpu {
        return run_mali(args, chip);
    }
    if is_assembly(&args.file) {
        return run_assembly(args);
    }
    let mut s = args.common.translate(&args.file)?;
    let program = compile(&mut s, &args.common.options()?).map_err(|e| e.to_string())?;
    let options = Options { check: args.check, audit: args.check, ..Options::default() };
    let mut machine = Machine::new(options).map_err(|e| e.to_string())?;
    let mut bindings = shader::Bindings::default();
    let groups = groups(&args.groups)?;
    let before = contents(args, &s, groups)?;
    for (slot, bytes) in &before {
        let buffer = machine.buffer(bytes.len()).map_err(|e| e.to_string())?;
        buffer.write(bytes).map_err(|e| e.to_string())?;
        bindings.buffers.insert(*slot, buffer);
    }
    let mut bound = std::collections::BTreeMap::new();
    for i in &args.image {
        let (slot, what) = slot(i)?;
        let r = s
            .resources
            .values()
            .find(|r| (r.set, r.binding) == (slot.0, slot.1))
            .filter(|r| takes_image(r.kind))
            .ok_or_else(|| {
                format!("`{i}`: the shader has no image at set {} binding {}", slot.0, slot.1)
            })?;
        let request = images::Request::parse(what)?;
        let file = request.file().map(read_image).transpose()?;
        let image = images::bind(&mut machine, r, &request, file.as_deref())?;
        bindings.images.insert(slot, image.row()?);
        bound.insert(slot, image);
    }
    for x in &args.sampler {
        let (slot, words) = slot(x)?;
        bindings.samplers.insert(slot, agx_sampler(words)?);
    }
    for r in s.resources.values() {
        let slot = (r.set, r.binding, 0);
        let name = |what| format!("set {} binding {} ({}) has no {what}", r.set, r.binding, r.name);
        if takes_image(r.kind) && !bindings.images.contains_key(&slot) {
            return Err(format!(
                "{}: give one, for example --image {}=64x64",
                name("--image"),
                r.binding
            ));
        }
        let sampled = matches!(r.kind, ResKind::Sampler | ResKind::CombinedTextureSampler);
        if sampled && !bindings.samplers.contains_key(&slot) {
            eprintln!("tepui exec: {}; it is nearest,clamp", name("--sampler"));
            bindings.samplers.insert(slot, agx_sampler("nearest,clamp")?);
        }
    }
    if let Some(p) = &args.push {
        bindings.push = crate::input::read(p).map_err(|e| format!("{}: {e}", p.display()))?;
    }
    let stats =
        shader::run(&mut machine, &program, &bindings, groups).map_err(|e| e.to_string())?;
    for r in &stats.reports {
        eprintln!("tepui exec: {:#x}: {}: {}", r.at.offset, r.at.text, r.what);
    }
    for o in &args.out_image {
        let (slot, path) = slot(o)?;
        let image = bound.get(&slot).ok_or_else(|| format!("`{o}`: there is no such --image"))?;
        std::fs::write(path, image.file(path)?).map_err(|e| format!("{path}: {e}"))?;
    }
    save(args, &before, |slot| match bindings.buffers.get(slot) {
        Some(b) => b.read().map(Some).map_err(|e| e.to_string()),
        None => Ok(None),
    })?;
    eprintln!("{} threads, {} instructions of SIMD-groups", stats.threads, stats.instructions);
    Ok(())
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    match try_run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("tepui exec: {}: {e}", args.file.display());
            ExitCode::FAILURE
        }
    }
}
