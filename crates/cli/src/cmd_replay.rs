//! `tepui replay`: executes the commands of a capture on the model.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use tepui_capture::{Comparison, Event, Events, Finish, Start};
use tepui_gpus::capture::{Picture, ReplayOptions, Replayed, Replayer};

use crate::cmd_decode::captures;
use crate::input;

/// Arguments of `tepui replay`.
#[derive(clap::Args)]
#[command(
    about = "Executes the commands of a capture again and compares what they write",
    long_about = "Restores for each command of a capture the memory that it read, executes it on the software \
        model of the GPU, and prints which pages it changed. Where the capture has the memory after the \
        command, it compares the two; the exit status is 1 if they differ.",
    after_help = "Examples:\n  \
        tepui trace --gpu m1 --save /tmp/cap --quiet -- ./my-program\n  \
        tepui replay /tmp/cap\n  \
        tepui replay /tmp/cap --check --threads 1 --json\n  \
        tepui replay /tmp/cap --png /tmp/pictures --draw 3\n  \
        tepui replay /tmp/cap --relaxed 7\n  \
        tepui replay /tmp/cap --repeat 20 --threads 1"
)]
pub struct Args {
    /// A directory of captures, or one capture; `-` is standard input.
    #[arg(value_name = "DIR")]
    path: PathBuf,
    /// Report errors that silicon does not: reads of unwritten memory and registers; of AGX, uses of loads without
    /// a wait; of Intel, missing flushes, invalidations and stalls.
    #[arg(long)]
    check: bool,
    /// Execute in another order that the hardware may take, chosen by a number: where no barrier orders them, draws and
    /// dispatches run later or earlier than others, and caches hold data back. A program whose barriers are right
    /// leaves the same memory. Memory of a Mali GPU is compared where all queues are idle.
    #[arg(long, value_name = "SEED")]
    relaxed: Option<u64>,
    /// Worker threads of the model; 0 means one per core.
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// List every page that changed.
    #[arg(long)]
    pages: bool,
    /// After each render command, write every attachment as a PNG into this directory: colour,
    /// depth as grey, stencil.
    #[arg(long, value_name = "DIR")]
    png: Option<PathBuf>,
    /// Execute only the first N draws of each render command, to find the draw that goes wrong. The
    /// results then differ from the capture's.
    #[arg(long, value_name = "N")]
    draw: Option<u64>,
    /// Execute each command N more times, on the memory that it left, and print the shortest
    /// elapsed time and the least processor time. The results are those of the first execution.
    #[arg(long, value_name = "N", default_value_t = 0)]
    repeat: u32,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    let captures = match captures(&args.path) {
        Ok(captures) => captures,
        Err(message) => {
            eprintln!("tepui replay: {message}");
            return ExitCode::FAILURE;
        }
    };
    let mut all = true;
    for path in captures {
        match replay(args, &path) {
            Ok(agrees) => all &= agrees,
            Err(message) => {
                eprintln!("{}: {message}", path.display());
                all = false;
            }
        }
    }
    if all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Replays one capture; returns whether all results agree with it.
fn replay(args: &Args, path: &Path) -> Result<bool, String> {
    let file = input::open(path).map_err(|error| error.to_string())?;
    let mut events = Events::new(BufReader::new(file)).map_err(|error| error.to_string())?;
    let options = ReplayOptions {
        threads: args.threads,
        check: args.check,
        removals: None,
        still_clock: false,
        settles: false,
        relaxed: args.relaxed,
        draws: args.draw,
        repeats: args.repeat,
        pictures: args.png.is_some(),
    };
    // The first record says which GPU it was.
    let mut replayer: Option<Replayer> = None;
    if let Some(directory) = &args.png {
        std::fs::create_dir_all(directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut agrees = true;
    while let Some(event) = events.next() {
        match event.map_err(|error| error.to_string())? {
            Event::Start(start) => {
                let Some(replayer) = &mut replayer else { continue };
                let result = replayer.start(events.session(), &start);
                agrees &= result.is_ok();
                if let (Some(directory), Ok(replayed)) = (&args.png, &result) {
                    save(args, directory, &name, &start, &replayed.pictures)?;
                }
                report_start(args, replayer.kind(&start), &start, result);
            }
            Event::Finish(finish) => {
                let Some(replayer) = &mut replayer else { continue };
                if let Some(compared) = replayer.finish(events.session(), &finish) {
                    agrees &= compared.different.is_empty() || !is_comparable(args, &compared);
                    report_finish(args, &finish, &compared);
                }
            }
            Event::Process(process) => replayer = Some(Replayer::new(&process, &options)?),
            Event::Opened(_) | Event::Closed(_) | Event::Call(_) => {}
        }
    }
    Ok(agrees)
}

/// Whether memory must be that of the capture. In another order a queue that has not come to the end of its work is
/// elsewhere in it.
fn is_comparable(args: &Args, compared: &Comparison) -> bool {
    args.relaxed.is_none() || compared.settled
}

/// Writes the attachments of a command.
fn save(
    args: &Args,
    directory: &Path,
    capture: &str,
    start: &Start,
    pictures: &[Picture],
) -> Result<(), String> {
    for a in pictures {
        let path = directory.join(format!(
            "{capture}-file{}-submission{:04}-command{}-{}.png",
            start.file, start.submission, start.command, a.name
        ));
        let pixels: Vec<u8> = a
            .texels
            .iter()
            .flatten()
            // The cast saturates and converts NaN to 0.
            .map(|&channel| (channel * 255.0).round_ties_even() as u8)
            .collect();
        let write = || -> Result<(), Box<dyn std::error::Error>> {
            let file = std::io::BufWriter::new(File::create(&path)?);
            let mut encoder = png::Encoder::new(file, a.size_px[0], a.size_px[1]);
            encoder.set_color(png::ColorType::Rgba);
            encoder.write_header()?.write_image_data(&pixels)?;
            Ok(())
        };
        write().map_err(|error| format!("{}: {error}", path.display()))?;
        if !args.json {
            println!("{} ({} x {})", path.display(), a.size_px[0], a.size_px[1]);
        }
    }
    Ok(())
}

fn report_start(args: &Args, kind: &str, start: &Start, result: Result<Replayed, String>) {
    let at = format!(
        "{} command {} of submission {}, queue {} of open file {}",
        kind, start.command, start.submission, start.queue, start.file
    );
    if args.json {
        let mut line = json!({
            "type": "replayed", "kind": kind, "file": start.file, "queue": start.queue,
            "submission": start.submission, "command": start.command,
        });
        match result {
            Ok(Replayed { result, reports, changed, hash, time, .. }) => {
                line["reports"] = json!(reports);
                if let Some(time) = time {
                    line["seconds"] = json!(time.map(|t| t.as_secs_f64()));
                }
                line["pages"] = json!(changed.len());
                line["hash"] = json!(format!("{hash:016x}"));
                match result {
                    Ok(counts) => {
                        for (name, count) in counts {
                            line[name] = json!(count);
                        }
                    }
                    Err(fault) => line["fault"] = json!(fault),
                }
                if args.pages {
                    let pages = changed.iter().map(|c| json!({
                        "address": format!("{:#x}", c.address), "hash": format!("{:016x}", c.hash),
                    }));
                    line["changed"] = pages.collect();
                }
            }
            Err(error) => line["error"] = json!(error),
        }
        println!("{line}");
        return;
    }
    match result {
        Err(error) => println!("{at}\n  not executed: {error}"),
        Ok(Replayed { result, reports, changed, hash, time, .. }) => {
            println!("{at}");
            for report in reports {
                println!("  check: {report}");
            }
            match result {
                Ok(counts) => {
                    let counts: Vec<String> =
                        counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
                    println!("  {}", counts.join(", "));
                }
                Err(fault) => println!("  fault: {fault}"),
            }
            println!("  changed {} pages, hash {hash:016x}", changed.len());
            if let Some(time) = time {
                let [least, busy] = time.map(|t| t.as_secs_f64() * 1e3);
                println!("  executed again in {least:.3} ms, {busy:.3} ms of processor time");
            }
            if args.pages {
                for change in changed {
                    println!("    {:#x}  {:016x}", change.address, change.hash);
                }
            }
        }
    }
}

fn report_finish(args: &Args, finish: &Finish, compared: &Comparison) {
    if !is_comparable(args, compared) {
        if args.json {
            println!(
                "{}",
                json!({
                    "type": "unsettled", "file": finish.file, "queue": finish.queue,
                    "submission": finish.submission, "command": finish.command,
                })
            );
        } else {
            println!("  not compared with the capture: work of the queue goes on after it");
        }
        return;
    }
    let count = compared.different.len();
    if args.json {
        let different = compared.different.iter().map(|&(address, theirs, ours, bytes)| json!({
            "address": format!("{address:#x}"), "capture": theirs, "replay": ours, "bytes": bytes,
        }));
        println!(
            "{}",
            json!({
                "type": "compared", "file": finish.file, "queue": finish.queue,
                "submission": finish.submission, "command": finish.command,
                "agrees": count == 0, "different": different.collect::<Vec<_>>(), "fault": compared.fault,
            })
        );
        return;
    }
    println!(
        "  capture of command {} of submission {}, queue {} of open file {}: {}",
        finish.command,
        finish.submission,
        finish.queue,
        finish.file,
        if count == 0 { "agrees".into() } else { format!("{count} pages differ") }
    );
    if let Some(fault) = &compared.fault {
        println!("    it ended in a fault: {fault}");
    }
    for (address, theirs, ours, bytes) in compared.different.iter().take(16) {
        println!(
            "    {address:#x}: {theirs:#04x} in the capture, {ours:#04x} here; {bytes} bytes of the page"
        );
    }
}
