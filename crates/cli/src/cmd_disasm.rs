//! `tepui disasm`: disassembles machine code.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use tepui_agx_isa::asm::hex_bytes;
use tepui_gpus::isa::{Isa, Syntax};

use crate::cmd_isa::{parse_isa, print_out};
use crate::input::read;
use crate::intel_analysis::{self, Analysis};

/// Disassembles machine code, one instruction per line: offset, bytes, text.
///
/// AGX: the syntax is applegpu's; branch targets are offsets in the code. Padding is shown as
/// `.zero N`. Intel: the syntax is that of Mesa's `brw_disasm`, with offset and bytes in comments.
/// Valhall: the syntax is that of Mesa's disassembler with bytes in front. Bifrost: that of Mesa's, clause by clause.
/// Midgard: that of Mesa's, bundle by bundle, with what it leaves out: the unit of an instruction, whether integers have a
/// sign, and fields in braces. `tepui isa midgard` explains it.
/// Bytes that are not an instruction are shown with the reason and counted on standard error, and
/// the exit status is then 1.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tepui disasm --isa agx shader.bin\n  \
    tepui disasm --isa agx --hex '2a 8c 40 42 24 00 88 00'\n  \
    tepui disasm --isa agx --json shader.bin | jq -r '.[].text'\n  \
    tepui disasm --isa agx --start 0x40 --until-stop usc.bin\n  \
    tepui disasm --gpu skl shader.bin\n  \
    tepui disasm --gpu mali-t860 --mesa shader.bin\n  \
    tepui disasm --gpu skl --cost shader.bin\n  \
    tepui disasm --gpu tgl --scoreboard shader.bin\n  \
    tepui disasm --gpu mali-g610 --scoreboard shader.bin\n\n\
    What --json prints:\n  \
    [{\"offset\": 0, \"bytes\": \"8800\", \"text\": \"stop\"}, …], with \"error\" and a null \"text\" \
    for bytes that are no instruction")]
pub struct Args {
    /// Instruction set (`agx`, `gen9`, `gen12`, `midgard`, `bifrost`, `valhall`), or a GPU with it (`m1`, `skl`, `mali-g610`).
    #[arg(long, visible_alias = "gpu", value_parser = parse_isa)]
    isa: Isa,
    /// Machine code; `-` is standard input.
    #[arg(required_unless_present = "hex", conflicts_with = "hex")]
    file: Option<PathBuf>,
    /// Machine code in hexadecimal; spaces are allowed.
    #[arg(long, value_name = "BYTES")]
    hex: Option<String>,
    /// Begin at this offset (decimal or 0x…); printed offsets still count from the start.
    #[arg(long, value_name = "OFFSET", default_value = "0", value_parser = offset)]
    start: usize,
    /// End after the first `stop`, or the first message that ends the thread.
    #[arg(long)]
    until_stop: bool,
    /// Midgard: print Mesa's text letter by letter, which `tepui asm` may not read.
    #[arg(long)]
    mesa: bool,
    /// Intel: print cycles and waits by the model of Mesa's compiler instead of the bytes.
    #[arg(long)]
    cost: bool,
    /// Intel Gen12: print accesses of registers that the scoreboard annotations do not order; Valhall and Bifrost: those
    /// that waits for the slots of messages do not. The exit status is 1 if there are any.
    #[arg(long, conflicts_with = "cost")]
    scoreboard: bool,
    /// Print a JSON array; with --cost, an object.
    #[arg(long)]
    json: bool,
}

fn offset(text: &str) -> Result<usize, String> {
    let value = match text.strip_prefix("0x") {
        Some(hex) => usize::from_str_radix(hex, 16),
        None => text.parse(),
    };
    value.map_err(|error| error.to_string())
}

/// An instruction in the output of `--json`.
#[derive(Serialize)]
struct Row {
    offset: usize,
    bytes: String,
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    let (code, name) = match (&args.hex, &args.file) {
        (Some(hex), _) => match hex_bytes(hex) {
            Some(bytes) => (bytes, "--hex".to_string()),
            None => {
                eprintln!("tepui disasm: --hex takes pairs of hexadecimal digits, as in `8800`");
                return ExitCode::FAILURE;
            }
        },
        (None, file) => {
            let path = file.as_deref().unwrap_or(Path::new("-"));
            match read(path) {
                Ok(bytes) => (bytes, path.display().to_string()),
                Err(error) => {
                    eprintln!("tepui disasm: {}: {error}", path.display());
                    return ExitCode::FAILURE;
                }
            }
        }
    };
    if args.start > code.len() {
        eprintln!("tepui disasm: --start {} is past the end ({} bytes)", args.start, code.len());
        return ExitCode::FAILURE;
    }

    let analysis = match (args.cost, args.scoreboard) {
        (true, _) => Some(Analysis::Cost),
        (_, true) => Some(Analysis::Scoreboard),
        _ => None,
    };
    if let Some(analysis) = analysis {
        return analyse(args, &code[args.start..], analysis, &name);
    }

    let mut listing = String::new();
    let mut rows = Vec::new();
    let mut errors: Vec<(usize, String)> = Vec::new();
    let syntax = if args.mesa { Syntax::Mesa } else { Syntax::Exact };
    for line in args.isa.disassemble_as(&code, args.start, syntax) {
        let ends = line.ends;
        if let Err(error) = &line.text {
            errors.push((line.offset, error.clone()));
        }
        if args.json {
            let error = line.text.as_ref().err().cloned();
            let text = line.text.ok();
            rows.push(Row { offset: line.offset, bytes: line.bytes, text, error });
        } else {
            let _ = writeln!(listing, "{}", line.listing);
        }
        if args.until_stop && ends {
            break;
        }
    }
    if args.json {
        match serde_json::to_string_pretty(&rows) {
            Ok(text) => listing = text + "\n",
            Err(error) => {
                eprintln!("tepui disasm: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    let status = print_out("disasm", &listing);
    match errors.first() {
        None => status,
        Some((offset, error)) => {
            eprintln!(
                "tepui disasm: {name}: {} undecodable place(s), the first at {offset:#x}: {error}",
                errors.len()
            );
            ExitCode::FAILURE
        }
    }
}

fn analyse(args: &Args, code: &[u8], analysis: Analysis, name: &str) -> ExitCode {
    match intel_analysis::print(args.isa, code, analysis, args.json) {
        Ok((text, mistakes)) => match print_out("disasm", &text) {
            ExitCode::SUCCESS if mistakes => ExitCode::FAILURE,
            status => status,
        },
        Err(error) => {
            eprintln!("tepui disasm: {name}: {error}");
            ExitCode::FAILURE
        }
    }
}
