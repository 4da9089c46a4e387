//! The Mandelbrot set, computed by AGX machine code on the virtual M1.
//!
//! A crate of its own, which depends on the model and the assembler alone, so that the first command of the README builds
//! neither compilers nor drivers nor the models of other GPUs. `tepui demo` is the same with options.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tepui_agx_bare::{Dispatch, Machine, address_halves};
use tepui_agx_isa::asm::{self, AsmError};
use tepui_agx_model::{JobStats, Options};

/// Assembler source of the program, which is also an example of assembler input.
pub const SOURCE: &str = include_str!("../../../examples/agx/mandelbrot.s");
/// File name of the picture unless another one is chosen.
pub const DEFAULT_OUTPUT: &str = "tepui-demo.png";
/// Size of the picture in pixels unless another one is chosen.
pub const DEFAULT_SIZE: [u32; 2] = [960, 640];

/// Errors of the demonstration.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program does not assemble.
    #[error("the program: {}", .0.first().map_or_else(String::new, ToString::to_string))]
    Assemble(Vec<AsmError>),
    /// The virtual GPU cannot run the program.
    #[error(transparent)]
    Machine(#[from] tepui_agx_bare::Error),
    /// The picture cannot be read back.
    #[error(transparent)]
    Read(#[from] tepui_agx_bare::Fault),
    /// The picture cannot be written.
    #[error("{}: {error}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: std::io::Error,
    },
}

/// A picture and how it was computed.
pub struct Drawing {
    size: [u32; 2],
    rgba: Vec<u8>,
    code_bytes: usize,
    stats: JobStats,
    time: Duration,
}

/// Assembles the program.
pub fn assemble() -> Result<Vec<u8>, Error> {
    asm::assemble(SOURCE).map_err(Error::Assemble)
}

/// Runs the program on a virtual M1 inside this process, with a number of worker threads (0: one for each core).
///
/// The machine code, the USC words and the control stream that a driver would write are placed in GPU memory and executed
/// by the model.
pub fn draw(size: [u32; 2], threads: usize) -> Result<Drawing, Error> {
    let [width, height] = size;
    let code = assemble()?;
    let mut machine = Machine::new(Options { threads, ..Options::default() })?;
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
    let time = start.elapsed();
    Ok(Drawing { size, rgba: picture.read()?, code_bytes: code.len(), stats, time })
}

impl Drawing {
    /// Writes the picture as a PNG file.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let fail = |error| Error::Write { path: path.to_owned(), error };
        let file = std::fs::File::create(path).map_err(fail)?;
        let mut encoder =
            png::Encoder::new(std::io::BufWriter::new(file), self.size[0], self.size[1]);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        let write = |mut encoder: png::Writer<_>| encoder.write_image_data(&self.rgba);
        encoder.write_header().and_then(write).map_err(|error| fail(error.into()))
    }

    /// Figures of the run and where the picture is, for a terminal.
    pub fn summary(&self, path: &Path) -> String {
        let Drawing { size: [width, height], code_bytes, stats, time, .. } = self;
        let seconds = time.as_secs_f64();
        format!(
            "program   {code_bytes} bytes of AGX machine code
threads   {} of the virtual M1
executed  {} instructions on SIMD-groups of 32 lanes in {seconds:.3} s: {:.2} billion lane-instructions a second
picture   {} ({width} × {height})",
            stats.threads,
            stats.instructions,
            stats.instructions as f64 * 32.0 / seconds / 1e9,
            path.display(),
        )
    }
}
