//! `tepui formats`: lists the pixel formats and what a GPU supports.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::process::ExitCode;

use serde::Serialize;
use tepui_format::info::Encoding;
use tepui_format::{Component, Format};
use tepui_gpus::Gpu;
use tepui_gpus::mali::Chip;
use tepui_gpus::mali::texture::{COMPRESSED, TextureFeatures};

/// Lists the pixel formats, or those that a GPU supports.
///
/// Without a GPU: every format of the table. For an Apple GPU: which formats it samples, renders
/// and compresses. For a Mali GPU: which families of compressed formats the chip has, printed like
/// Mesa's panfrost_texfeatures; --all adds the other formats.
///
/// A Mali chip's system-on-chip chooses which compressed formats it has. Without
/// --texture-features, all formats of the architecture are shown as supported.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tepui formats\n  \
    tepui formats --gpu m1\n  \
    tepui formats --gpu mali-g52 --json | jq '.compressed[] | select(.supported) | .name'\n  \
    tepui formats --gpu mali-g57 --texture-features 0xf7fe03fe")]
pub struct Args {
    /// The GPU.
    #[arg(long, value_name = "GPU")]
    gpu: Option<Gpu>,
    /// Mali: the register TEXTURE_FEATURES_0 of a particular device.
    #[arg(long, value_name = "REGISTER", value_parser = register)]
    texture_features: Option<TextureFeatures>,
    /// Mali: list all formats, not only the families of compressed ones.
    #[arg(long)]
    all: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn register(text: &str) -> Result<TextureFeatures, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u32::from_str_radix(digits, 16).map(TextureFeatures).map_err(|_| {
        "write the register as a 32-bit hexadecimal number, for example 0xf7fe03fe".into()
    })
}

#[derive(Serialize)]
struct FormatRow {
    format: &'static str,
    vk_format: i32,
    block_px: [u32; 2],
    #[serde(rename = "block_B")]
    block_B: u32,
    channels: String,
}

#[derive(Serialize)]
struct SupportRow {
    format: &'static str,
    sampled: bool,
    rendered: bool,
    depth_stencil: bool,
}

#[derive(Serialize)]
struct AgxAnswer {
    gpu: &'static str,
    formats: Vec<SupportRow>,
}

#[derive(Serialize)]
struct MaliAnswer {
    gpu: &'static str,
    texture_features: String,
    compressed: Vec<CompressedRow>,
    formats: Vec<SupportRow>,
}

#[derive(Serialize)]
struct CompressedRow {
    name: &'static str,
    bit: u8,
    supported: bool,
}

/// Prints the formats.
pub fn run(args: &Args) -> ExitCode {
    let done = match args.gpu {
        Some(Gpu::Mali(chip)) => mali(args, chip),
        _ if args.texture_features.is_some() || args.all => {
            Err("--texture-features and --all are for Mali GPUs".into())
        }
        Some(gpu @ Gpu::Agx(_)) => agx(args, gpu),
        Some(gpu @ Gpu::Intel(_)) => Err(format!("there is no table of formats for {}", gpu.id())),
        None => table(args),
    };
    let written = done.and_then(|text| {
        std::io::stdout().write_all(text.as_bytes()).map_err(|e| format!("standard output: {e}"))
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("tepui formats: {message}");
            ExitCode::FAILURE
        }
    }
}

fn json(answer: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(answer).map(|text| text + "\n").map_err(|e| e.to_string())
}

fn table(args: &Args) -> Result<String, String> {
    let rows: Vec<FormatRow> = Format::all()
        .map(|format| {
            let block = format.info().block;
            FormatRow {
                format: format.name(),
                vk_format: format.vk(),
                block_px: [block.width_px, block.height_px],
                block_B: block.bytes,
                channels: channels(format),
            }
        })
        .collect();
    if args.json {
        return json(&rows);
    }
    let mut text =
        format!("{:<46} {:>10}  {:>5} {:>5}  channels\n", "format", "VkFormat", "block", "bytes");
    for row in rows {
        let block = format!("{}x{}", row.block_px[0], row.block_px[1]);
        let _ = writeln!(
            text,
            "{:<46} {:>10}  {block:>5} {:>5}  {}",
            row.format, row.vk_format, row.block_B, row.channels
        );
    }
    Ok(text)
}

/// The bit fields of a block, from the least significant up.
fn channels(format: Format) -> String {
    match &format.info().encoding {
        Encoding::Plain(c) | Encoding::DepthStencil(c) | Encoding::Subsampled(c) => c
            .as_slice()
            .iter()
            .map(|c| {
                let name = match c.component {
                    Component::R => 'r',
                    Component::G => 'g',
                    Component::B => 'b',
                    Component::A => 'a',
                    Component::D => 'd',
                    Component::S => 's',
                };
                format!("{name}{}@{}", c.bits, c.shift)
            })
            .collect::<Vec<_>>()
            .join(" "),
        Encoding::SharedExponent => "r9@0 g9@9 b9@18 exponent5@27".into(),
        Encoding::Planar(planes) => planes
            .as_slice()
            .iter()
            .map(|p| format!("{} /{}x{}", p.format, p.width_divisor, p.height_divisor))
            .collect::<Vec<_>>()
            .join(", "),
        Encoding::Compressed(compression, _) => format!("{compression:?}"),
    }
}

fn agx(args: &Args, gpu: Gpu) -> Result<String, String> {
    let formats: Vec<SupportRow> = Format::all()
        .map(|format| {
            let support = tepui_agx_layout::format_support(format);
            SupportRow {
                format: format.name(),
                sampled: support.texturable,
                rendered: support.renderable,
                depth_stencil: support.depth_stencil,
            }
        })
        .collect();
    if args.json {
        return json(&AgxAnswer { gpu: gpu.id(), formats });
    }
    Ok(support_table(&formats))
}

fn support_table(rows: &[SupportRow]) -> String {
    let mut text =
        format!("{:<46} {:>7} {:>8} {:>13}\n", "format", "sampled", "rendered", "depth/stencil");
    for row in rows.iter().filter(|r| r.sampled || r.rendered || r.depth_stencil) {
        let yes = |set: bool| if set { "yes" } else { "-" };
        let _ = writeln!(
            text,
            "{:<46} {:>7} {:>8} {:>13}",
            row.format,
            yes(row.sampled),
            yes(row.rendered),
            yes(row.depth_stencil)
        );
    }
    text
}

fn mali(args: &Args, chip: &Chip) -> Result<String, String> {
    let features = args.texture_features.unwrap_or_else(|| chip.texture_features());
    let formats = Format::all()
        .map(|format| {
            let support = tepui_mali_layout::format_support(chip.arch, features, format);
            SupportRow {
                format: format.name(),
                sampled: support.texturable,
                rendered: support.renderable,
                depth_stencil: support.depth_stencil,
            }
        })
        .collect();
    let answer = MaliAnswer {
        gpu: chip.id,
        texture_features: format!("{:#010x}", features.0),
        compressed: COMPRESSED
            .iter()
            .map(|c| CompressedRow { name: c.name, bit: c.bit, supported: features.has(c) })
            .collect(),
        formats,
    };
    if args.json {
        return json(&answer);
    }
    let mut text = texture_features(features);
    if args.all {
        text += "\n";
        text += &support_table(&answer.formats);
    }
    Ok(text)
}

/// The table that `panfrost_texfeatures` prints, in colour on a terminal.
fn texture_features(features: TextureFeatures) -> String {
    let color = std::io::stdout().is_terminal();
    let in_colour = |code: &str, word: &str| {
        if color { format!("\x1b[{code}m{word}\x1b[0m") } else { word.to_string() }
    };
    let mut text = String::from("System-on-chip compressed texture support:\n\n");
    let mut group = 0;
    for family in COMPRESSED {
        if family.group != group {
            group = family.group;
            text += "\n";
        }
        let word =
            if features.has(family) { in_colour("32", "YES") } else { in_colour("31", " NO") };
        let _ = writeln!(text, "{:<14} {word}", format!("{}:", family.name));
    }
    if !COMPRESSED.iter().all(|family| features.has(family)) {
        text += "\nThis system-on-chip lacks some formats. Drivers emulate them, at a cost in time and \
                 memory.\n";
    }
    text
}
