//! `tepui asm`: assembles text to machine code.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use tepui_gpus::isa::Isa;

use crate::cmd_isa::{parse_isa, print_out};
use crate::input::read;

/// Assembles text to machine code.
///
/// AGX: a line holds labels (`loop:`), then an instruction or a directive (`.zero N`, `.hex BYTES`),
/// then a comment (`#`, `;` or `//`). Branches take a label, `pc+N`, or an offset in the code. The
/// output of `tepui disasm` is valid input. Intel: the syntax of Mesa's `brw_asm`; instructions that
/// say `compacted` take 64 bits. Mali: the syntax of Mesa's disassemblers, with labels and the same
/// directives. Midgard: an empty line ends a bundle, and where Mesa's text leaves something out, the
/// text of `tepui disasm` says it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    echo 'fadd32 r0, r1, 0.5' | tepui asm --isa agx\n  \
    tepui asm --isa agx shader.s -o shader.bin\n  \
    tepui disasm --isa agx shader.bin | tepui asm --isa agx -o same.bin\n  \
    echo 'MIN.u32 R0.xy, R0.yx, U0.zw' | tepui asm --gpu mali-t860\n\n\
    `tepui isa agx` (or `gen9`, `gen12`, `midgard`, `bifrost`, `valhall`) explains the instructions.")]
pub struct Args {
    /// Instruction set (`agx`, `gen9`, `gen12`, `midgard`, `bifrost`, `valhall`), or a GPU with it (`m1`, `skl`, `mali-g610`).
    #[arg(long, visible_alias = "gpu", value_parser = parse_isa)]
    isa: Isa,
    /// Assembly text; `-` is standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Writes the code to this file instead of printing it in hexadecimal.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    let name = args.file.display();
    let source = match read(&args.file).map(String::from_utf8) {
        Ok(Ok(source)) => source,
        Ok(Err(error)) => {
            let at = error.utf8_error().valid_up_to();
            eprintln!("tepui asm: {name}: byte {at}: not UTF-8 text; is it machine code already?");
            return ExitCode::FAILURE;
        }
        Err(error) => {
            eprintln!("tepui asm: {name}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = match args.isa.assemble(&source) {
        Ok(code) => code,
        Err(errors) => {
            for error in &errors {
                eprintln!("{name}:{error}");
            }
            return ExitCode::FAILURE;
        }
    };
    match &args.output {
        None => {
            let mut hex: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
            hex.push('\n');
            print_out("asm", &hex)
        }
        Some(path) => match fs::write(path, &code) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("tepui asm: {}: {error}", path.display());
                ExitCode::FAILURE
            }
        },
    }
}
