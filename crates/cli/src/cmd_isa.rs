//! `tepui isa`: the manual of an instruction set.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::ValueEnum;
use tepui_agx_isa::manual;

/// Instruction sets that `asm`, `disasm` and `isa` know.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Isa {
    /// Apple AGX, generation G13 (M1).
    Agx,
}

/// Prints the manual of an instruction set, in Markdown.
///
/// It is made from the table that the assembler and disassembler are made from: encodings,
/// operands, and what each instruction does as far as it is known.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tepui isa agx | less\n  \
    tepui isa agx --instruction imadd\n  \
    tepui isa agx --list")]
pub struct Args {
    /// Instruction set.
    isa: Isa,
    /// Only the entry of one instruction: a mnemonic, as in a listing.
    #[arg(long, value_name = "NAME")]
    instruction: Option<String>,
    /// Only the mnemonics with a line about each.
    #[arg(long, conflicts_with = "instruction")]
    list: bool,
}

/// Prints the manual.
pub fn run(args: &Args) -> ExitCode {
    let Isa::Agx = args.isa;
    let text = match &args.instruction {
        None if args.list => list(),
        None => manual::manual(),
        Some(name) => {
            let rows = manual::find(name);
            if rows.is_empty() {
                eprintln!(
                    "tepui isa: `{name}` is not an AGX instruction; `tepui isa agx --list` shows all"
                );
                return ExitCode::FAILURE;
            }
            rows.into_iter().map(manual::entry).collect::<Vec<_>>().join("\n")
        }
    };
    print_out("isa", &text)
}

fn list() -> String {
    let mut out = String::new();
    for desc in tepui_agx_isa::ROWS {
        let row = manual::find(desc.name);
        let names = row.first().map(|row| manual::title(*row)).unwrap_or_default();
        out.push_str(&format!("{names:44} {}\n", desc.summary()));
    }
    out
}

/// Writes to standard output; a reader that has gone away is no failure.
pub fn print_out(command: &str, text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tepui {command}: standard output: {error}");
            ExitCode::FAILURE
        }
    }
}
