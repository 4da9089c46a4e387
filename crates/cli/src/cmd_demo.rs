//! `tepui demo`: runs AGX machine code on the virtual M1 in this process and writes the picture
//! that it draws.

use std::path::PathBuf;
use std::process::ExitCode;

/// Runs AGX programs on a virtual Apple M1 inside this process and writes the picture they draw.
///
/// Nothing needs to be installed: the program is assembled, placed in GPU memory with the USC words
/// and the control stream that a driver would write, and executed by the model of the GPU.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tepui demo
  tepui demo --size 1920x1080 --out mandelbrot.png --listing")]
pub struct Args {
    /// The output file.
    #[arg(long, default_value = tepui_demo::DEFAULT_OUTPUT)]
    out: PathBuf,
    /// Size of the picture in pixels.
    #[arg(long, default_value = "960x640", value_parser = crate::size::parse)]
    size: [u32; 2],
    /// Worker threads; 0 means one per core.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Print the disassembled program.
    #[arg(long)]
    listing: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    match demo(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("tepui demo: {why}");
            ExitCode::FAILURE
        }
    }
}

fn demo(args: &Args) -> Result<(), Box<dyn std::error::Error>> {
    if args.listing {
        let code = tepui_demo::assemble()?;
        let mut offset = 0;
        while offset < code.len() {
            let (inst, length) = tepui_agx_isa::Inst::decode(&code[offset..])?;
            println!("{offset:4x}: {inst}");
            offset += length;
        }
    }
    let drawing = tepui_demo::draw(args.size, args.threads)?;
    drawing.write(&args.out)?;
    println!("{}", drawing.summary(&args.out));
    Ok(())
}
