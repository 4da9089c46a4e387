//! `tepui debug` and `tepui dap`: step through a shader on the virtual GPU.

mod captured;
mod info;
pub mod load;

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use tepui_debug::command::{self, Answer};
use tepui_debug::image::Image;
use tepui_debug::{Session, dap, screen};

use crate::cmd_compile::CompilerArgs;

/// Steps through a shader on a virtual GPU, alone or of a draw or dispatch of a capture.
///
/// In captures of AGX and Mali GPUs, --pixel prints which draws touched the pixel (and on AGX what each did),
/// and --draw selects the draw whose program is shown, else the last that wrote it. Without --pixel and
/// --dispatch the capture's commands are listed.
///
/// Runs the shader and records one SIMD-group (of Intel's GPUs one thread, of Mali's one warp): each instruction, the lanes
/// that execute it, and every value of every register. Commands move over that recording, forward and back; `help` lists them.
/// Fragment shaders draw a triangle over the whole picture, and their uniform buffers hold width,
/// height, time and, after a word, the pointer. Storage buffers, images and samplers are given by
/// binding.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tepui debug blur.frag --pixel 10,20
  tepui debug sum.comp --groups 4 --buffer 0=256,index --workgroup 1 --thread 5
  tepui debug filter.wgsl --image 0=photo.png --sampler 1=linear,clamp --image 2=256x256 --groups 32,32
  tepui debug sum.comp --gpu skl -e 'break 12' -e continue -e vars -e 'print g4<16,8,2>UW'
  tepui debug shade.frag --gpu mali-g610 --pixel 10,20 -e vars -e 'print r5.h0'
  tepui debug sum.s --thread 7
  tepui debug sum.comp --groups 4 -e 'break 12 if 3.r1 > 0.5' -e continue -e regs
  tepui debug /tmp/cap                               the commands of a capture
  tepui debug /tmp/cap --pixel 10,20                 a pixel's history, and the last program that wrote it
  tepui debug /tmp/cap --command 7 --draw 3 --pixel 10,20
  tepui debug /tmp/cap --command 2 --dispatch 0 --thread 5,0,0")]
pub struct Args {
    /// Shader file; or a capture of `tepui trace --save`, or the folder that it is in.
    pub file: PathBuf,
    #[command(flatten)]
    pub common: CompilerArgs,
    #[command(flatten)]
    pub place: load::RunArgs,
    #[command(flatten)]
    captured: captured::CommandSelection,
    /// A command; may be given several times. Without commands they are read from standard input.
    #[arg(short = 'e', long = "execute", value_name = "COMMAND")]
    execute: Vec<String>,
    /// A file of commands, one a line.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// A prompt and lines of text, also in a terminal.
    #[arg(long)]
    plain: bool,
}

/// The debug adapter protocol over standard input and output, for editors.
///
/// `launch` takes `program` (a shader file or a capture) and, as `tepui debug`, `stage`, `groups`, `workgroup`, `thread`, `pixel`, `size`,
/// `command`, `draw`, `layer`, `dispatch`, `stopOnEntry`, and lists of what options of that name take: `buffers` (`BINDING=WORDS[,FILL]`),
/// `images` (`BINDING=FILE|PATTERN|SIZE`) and `samplers` (`BINDING=WORD[,WORD]`).
#[derive(clap::Args)]
pub struct DapArgs {}

/// Prints to standard output. If its reader has gone, as `head` does, this process is done.
fn say(text: std::fmt::Arguments<'_>) {
    let mut out = io::stdout().lock();
    if out.write_fmt(text).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Columns of a picture on standard output.
const COLUMNS: usize = 80;

/// Carries out a command; false when the user is done.
fn carry_out(session: &mut Session, line: &str) -> Result<bool, String> {
    // Files are the command line's alone.
    if let ["texture", number, path] = line.split_whitespace().collect::<Vec<_>>()[..] {
        let Answer::Picture(n) = command::run(session, &format!("texture {number}"))? else {
            return Ok(true);
        };
        let image = &session.recording.images[n];
        save(image, path).map_err(|e| format!("{path}: {e}"))?;
        say(format_args!("{}: {path}\n", image.what));
        return Ok(true);
    }
    match command::run(session, line)? {
        Answer::Quit => Ok(false),
        Answer::Picture(n) => {
            let image = &session.recording.images[n];
            say(format_args!("{}\n{}", image.what, image.ansi(COLUMNS)));
            Ok(true)
        }
        Answer::Text(text) => {
            say(format_args!("{text}"));
            Ok(true)
        }
    }
}

/// Writes an image as PNG.
fn save(image: &Image, path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let file = io::BufWriter::new(std::fs::File::create(path)?);
    let mut encoder = png::Encoder::new(file, image.size[0], image.size[1]);
    encoder.set_color(png::ColorType::Rgba);
    encoder.write_header()?.write_image_data(&image.rgba)?;
    Ok(())
}

fn try_run(args: &Args) -> Result<(), String> {
    let recording = if captured::is_capture(&args.file) {
        match captured::record(&args.file, &args.captured, &args.place)? {
            Some(recording) => recording,
            None => return Ok(()),
        }
    } else {
        load::record(&args.file, &args.common, &args.place)?
    };
    say(format_args!("{}", recording.history));
    say(format_args!("{}: {} instructions\n", recording.title, recording.executed()));
    if !recording.findings.is_empty() {
        let count = recording.findings.len();
        say(format_args!("{count} found by the checker: `findings` lists them\n"));
    }
    let mut session = Session::new(recording);
    let mut script = args.execute.clone();
    if let Some(path) = &args.script {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        script.extend(text.lines().map(str::to_owned));
    }
    if !script.is_empty() {
        for line in script.iter().filter(|l| !l.trim_start().starts_with('#')) {
            say(format_args!("> {line}\n"));
            if !carry_out(&mut session, line)? {
                break;
            }
        }
        return Ok(());
    }
    if !args.plain && io::stdin().is_terminal() && io::stdout().is_terminal() {
        return screen::run(session).map_err(|e| format!("the terminal: {e}"));
    }
    say(format_args!("{}", command::whereabouts(&session)));
    let (prompt, mut last) = (io::stdin().is_terminal(), String::new());
    loop {
        if prompt {
            say(format_args!("(tepui) "));
        }
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line).map_err(|e| e.to_string())? == 0 {
            return Ok(());
        }
        // An empty line repeats the command before, as in other debuggers.
        if prompt && line.trim().is_empty() {
            line.clone_from(&last);
        }
        match carry_out(&mut session, &line) {
            Ok(true) => last = line,
            Ok(false) => return Ok(()),
            Err(e) => eprintln!("{e}"),
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    match try_run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("tepui debug: {}: {e}", args.file.display());
            ExitCode::FAILURE
        }
    }
}

/// Runs `tepui dap`.
pub fn run_dap(_: &DapArgs) -> ExitCode {
    let mut launch = load::launch;
    match dap::serve(&mut io::stdin().lock(), io::stdout().lock(), &mut launch) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("tepui dap: {e}");
            ExitCode::FAILURE
        }
    }
}
