//! `tepui isa`: prints the manual of an instruction set.

use std::io::{self, Write};
use std::process::ExitCode;

use tepui_gpus::Gpu;
use tepui_gpus::isa::Isa;

/// Parses the name of an instruction set, or of a GPU, whose instruction set is taken.
pub fn parse_isa(name: &str) -> Result<Isa, String> {
    if let Some(isa) = Isa::ALL.into_iter().find(|isa| isa.id() == name) {
        return Ok(isa);
    }
    let known = || Isa::ALL.map(Isa::id).join(", ");
    let gpu: Gpu = name.parse().map_err(|_| {
        format!("neither an instruction set ({}) nor a GPU (`tepui gpus`)", known())
    })?;
    Isa::of(gpu).map_err(|error| error.to_string())
}

/// Prints the manual of an instruction set, in Markdown.
///
/// It is generated from the same table as the assembler and disassembler: encodings, operands, and
/// what each instruction does, as far as it is known.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tepui isa agx | less\n  \
    tepui isa agx --instruction imadd\n  \
    tepui isa agx --list\n  \
    tepui isa skl --instruction mad\n  \
    tepui isa mali-g610 --instruction CSEL")]
pub struct Args {
    /// Instruction set (`agx`, `gen9`, `gen12`, `midgard`, `bifrost`, `valhall`), or a GPU with it (`m1`, `skl`, `mali-g610`).
    #[arg(value_parser = parse_isa)]
    isa: Isa,
    /// Print only the entry of one instruction, given by its mnemonic.
    #[arg(long, value_name = "NAME")]
    instruction: Option<String>,
    /// Print only the mnemonics, with one line about each.
    #[arg(long, conflicts_with = "instruction")]
    list: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    let text = match &args.instruction {
        None if args.list => {
            let line = |(names, about)| format!("{names:44} {about}\n");
            args.isa.summary().into_iter().map(line).collect()
        }
        None => args.isa.manual(),
        Some(name) => match args.isa.entry(name) {
            Some(entry) => entry,
            None => {
                let isa = args.isa;
                eprintln!(
                    "tepui isa: `{name}` is not an instruction of {isa}; `tepui isa {isa} --list` shows all"
                );
                return ExitCode::FAILURE;
            }
        },
    };
    print_out("isa", &text)
}

/// Writes to standard output. A closed pipe is not a failure.
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
