//! `tepui decode`: prints captures.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use tepui_capture::{Event, EventError, Events, Start};
use tepui_gpus::capture::Describer;

use crate::input;

/// Arguments of `tepui decode`.
#[derive(clap::Args)]
#[command(
    about = "Prints the contents of a capture: kernel calls and decoded submissions",
    long_about = "Prints captures written by `tepui trace --save DIR`: each kernel call with its fields, and each \
        command that the GPU executed with its control streams or batches, state, descriptors, uniforms and shaders.",
    after_help = "Examples:\n  \
        tepui trace --gpu m1 --save /tmp/cap -- ./my-program\n  \
        tepui decode /tmp/cap\n  \
        tepui decode /tmp/cap --commands --json | jq 'select(.type == \"command\")'\n\n\
        With --json, each line is an object: {\"type\": \"process\" | \"call\" | \"command\" | \"end\" | …}."
)]
pub struct Args {
    /// A directory of captures, or one capture; `-` is standard input.
    #[arg(value_name = "DIR")]
    path: PathBuf,
    #[command(flatten)]
    style: Style,
}

/// Output format of captures.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct Style {
    /// Print one JSON object per line.
    #[arg(long)]
    pub json: bool,
    /// Print false flags too.
    #[arg(long)]
    pub all: bool,
    /// Print only commands, not kernel calls.
    #[arg(long)]
    pub commands: bool,
    /// Print USC words and shaders each time something points to them, not only the first time, and
    /// AGX descriptors both as textures and as PBE descriptors.
    #[arg(long)]
    pub everything: bool,
    /// Print each command with the memory after it, not before it: what it wrote itself, such as
    /// draws that a shader generated, is then as it was executed.
    #[arg(long)]
    pub after: bool,
}

/// Prints to standard output.
pub fn run(args: &Args) -> ExitCode {
    let captures = match captures(&args.path) {
        Ok(captures) => captures,
        Err(message) => {
            eprintln!("tepui decode: {message}");
            return ExitCode::FAILURE;
        }
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let mut status = ExitCode::SUCCESS;
    for path in captures {
        let result = input::open(&path)
            .map_err(|error| Failure::Capture(error.to_string()))
            .and_then(|file| print(BufReader::new(file), args.style, &mut out));
        match result {
            Ok(()) => {}
            // The reader closed the pipe, as `head` does.
            Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                return status;
            }
            Err(failure) => {
                let _ = out.flush();
                eprintln!("{}: {failure}", path.display());
                status = ExitCode::FAILURE;
            }
        }
    }
    if let Err(error) = out.flush()
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        eprintln!("tepui decode: {error}");
        return ExitCode::FAILURE;
    }
    status
}

/// The captures in a directory, in the order in which they were created, or the one file.
pub fn captures(path: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    if input::is_stdin(path) {
        return Ok(vec![path.to_path_buf()]);
    }
    if !path.is_dir() {
        return path.metadata().map(|_| vec![path.to_path_buf()]).map_err(failed);
    }
    let mut found = Vec::new();
    for entry in path.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "capture") {
            let made = path.metadata().and_then(|m| m.created().or_else(|_| m.modified()));
            found.push((made.ok(), path));
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(format!("{}: no file named *.capture in it", path.display()));
    }
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Reason why printing stopped early.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The capture is damaged; everything before the damage was printed.
    #[error("{0}")]
    Capture(String),
    /// The output is closed.
    #[error("writing failed: {0}")]
    Output(#[from] io::Error),
}

impl From<EventError> for Failure {
    fn from(error: EventError) -> Self {
        Failure::Capture(error.to_string())
    }
}

/// Prints one capture.
pub fn print(input: impl Read, style: Style, out: &mut dyn Write) -> Result<(), Failure> {
    let mut events = Events::new(input)?;
    let mut printer = Printer::new(style);
    while let Some(event) = events.next() {
        let event = event?;
        if let Event::Process(process) = &event {
            Describer::new(process, false).map_err(|error| Failure::Capture(error.to_string()))?;
        }
        let text = printer.event(&events, &event);
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Turns the events of one capture into text.
pub struct Printer {
    style: Style,
    /// `None` before the process is known, and where nothing of it is.
    describer: Option<Describer>,
    started_ns: Option<u64>,
    /// Commands that are printed when they end.
    running: Vec<Start>,
}

impl Printer {
    /// A printer at the start of a capture.
    pub fn new(style: Style) -> Printer {
        Printer { style, describer: None, started_ns: None, running: Vec::new() }
    }

    /// The text of an event in whole lines; empty if the style omits it.
    pub fn event<R: Read>(&mut self, events: &Events<R>, event: &Event) -> String {
        if let Event::Process(process) = event {
            self.describer = Describer::new(process, self.style.everything).ok();
        }
        let mut text = String::new();
        match event {
            Event::Start(start) if self.style.after => {
                self.running.push(start.clone());
                return text;
            }
            Event::Finish(finish) => {
                let of = |s: &Start| (s.file, s.queue, s.submission, s.command);
                let ended = (finish.file, finish.queue, finish.submission, finish.command);
                if let Some(at) = self.running.iter().position(|start| of(start) == ended) {
                    let start = Event::Start(self.running.remove(at));
                    text = self.one(events, &start);
                }
            }
            _ => {}
        }
        text + &self.one(events, event)
    }

    fn one<R: Read>(&mut self, events: &Events<R>, event: &Event) -> String {
        if self.style.json { self.json(events, event) } else { self.text(events, event) }
    }

    fn text<R: Read>(&mut self, events: &Events<R>, event: &Event) -> String {
        let mut text = String::new();
        match event {
            Event::Process(process) => {
                let arguments = process.arguments.join(" ");
                text = format!(
                    "process {}: {arguments}\n  driver {}, {}\n",
                    process.id, process.driver, process.gpu
                );
            }
            Event::Opened(_) | Event::Closed(_) | Event::Call(_) if self.style.commands => {}
            Event::Opened(file) => text = format!("file {file}: opened\n"),
            Event::Closed(file) => text = format!("file {file}: closed\n"),
            Event::Call(call) => {
                let Some(describer) = &self.describer else { return text };
                let begin = *self.started_ns.get_or_insert(call.time_ns);
                let ms = call.time_ns.saturating_sub(begin) as f64 / 1e6;
                let description = describer.call(call);
                text = format!("file {}: {ms:10.3} ms {}\n", call.file, description.line());
                for record in &description.memory {
                    let _ = record.write_text(&mut text, 4, self.style.all);
                }
            }
            Event::Start(start) => {
                let Some(describer) = &mut self.describer else { return text };
                let record = describer.command(&events.memory(start), start);
                let _ = record.write_text(&mut text, 0, self.style.all);
            }
            Event::Finish(finish) => {
                text = format!(
                    "end of command {} of submission {}, queue {} of open file {}: {}\n",
                    finish.command,
                    finish.submission,
                    finish.queue,
                    finish.file,
                    finish.fault.as_deref().unwrap_or("done")
                );
            }
        }
        text
    }

    fn json<R: Read>(&mut self, events: &Events<R>, event: &Event) -> String {
        let describer = self.describer.as_mut();
        let value = match event {
            Event::Process(process) => json!({
                "type": "process", "id": process.id, "arguments": process.arguments,
                "driver": process.driver, "gpu": process.gpu,
            }),
            Event::Opened(_) | Event::Closed(_) | Event::Call(_) if self.style.commands => {
                return String::new();
            }
            Event::Opened(file) => json!({"type": "opened", "file": file}),
            Event::Closed(file) => json!({"type": "closed", "file": file}),
            Event::Call(call) => json!({
                "type": "call", "file": call.file, "thread": call.thread, "time_ns": call.time_ns,
                "call": describer.map(|d| d.call(call).json()),
            }),
            Event::Start(start) => json!({
                "type": "command", "file": start.file, "queue": start.queue,
                "submission": start.submission, "command": start.command,
                "memory": if self.style.after { "after" } else if start.early { "at submission" } else { "at execution" },
                "tree": describer.map(|d| d.command(&events.memory(start), start)),
            }),
            Event::Finish(finish) => json!({
                "type": "end", "file": finish.file, "queue": finish.queue,
                "submission": finish.submission, "command": finish.command, "fault": finish.fault,
            }),
        };
        format!("{value}\n")
    }
}
