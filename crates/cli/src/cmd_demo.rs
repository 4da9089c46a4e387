//! `tepui demo`: runs AGX machine code on the virtual M1 in this process and writes the picture
//! that it draws.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use tepui_agx_bare::{Dispatch, Machine, address_halves};
use tepui_agx_model::Options;

/// The program, which is also an example of assembler input.
const SOURCE: &str = include_str!("../../../examples/agx/mandelbrot.s");

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
    #[arg(long, default_value = "tepui-demo.png")]
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
    let [width, height] = args.size;
    let code = tepui_agx_isa::asm::assemble(SOURCE)
        .map_err(|errors| errors.iter().map(|e| format!("{e}\n")).collect::<String>())?;
    if args.listing {
        let mut offset = 0;
        while offset < code.len() {
            let (inst, length) = tepui_agx_isa::Inst::decode(&code[offset..])?;
            println!("{offset:4x}: {inst}");
            offset += length;
        }
    }
    let mut machine = Machine::new(Options { threads: args.threads, ..Options::default() })?;
    let picture = machine.buffer(4 * width as usize * height as usize)?;
    // Show -2.2..0.8 by -1..1, and keep the aspect ratio.
    let step = (3.0 / width as f32).max(2.1 / height as f32);
    let (left, top) = (-0.7 - step * width as f32 / 2.0, -step * height as f32 / 2.0);
    let mut uniforms = address_halves(picture.address()).to_vec();
    for word in [width, left.to_bits(), top.to_bits(), step.to_bits()] {
        uniforms.extend([word as u16, (word >> 16) as u16]);
    }
    let start = Instant::now();
    let stats = machine.dispatch(&Dispatch {
        code: &code,
        uniforms: &uniforms,
        global: [width, height, 1],
        local: [32, 8, 1],
        ..Dispatch::default()
    })?;
    let seconds = start.elapsed().as_secs_f64();

    let file = std::fs::File::create(&args.out)
        .map_err(|error| format!("{}: {error}", args.out.display()))?;
    let mut encoder = png::Encoder::new(std::io::BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(&picture.read()?)?;

    println!("program   {} bytes of AGX machine code", code.len());
    println!("threads   {} of the virtual M1", stats.threads);
    println!(
        "executed  {} instructions on SIMD-groups of 32 lanes in {:.3} s: {:.2} billion lane-instructions a second",
        stats.instructions,
        seconds,
        stats.instructions as f64 * 32.0 / seconds / 1e9
    );
    println!("picture   {} ({width} × {height})", args.out.display());
    Ok(())
}
