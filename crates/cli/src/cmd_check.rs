//! `tepui check`: finds mistakes of shaders that silicon hides.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use tepui_check::suppress::{self, Suppression};
use tepui_check::{Finding, Log, RULES, merge, rule, sarif};
use tepui_gpus::Feature;
use tepui_gpus::device::DeviceOptions;

use crate::cmd_compile::CompilerArgs;
use crate::cmd_debug::load;
use crate::cmd_isa::print_out;
use crate::{cmd_run, cmd_shim, mutate, shared};

/// Arguments of `tepui check`.
#[derive(clap::Args)]
#[command(
    about = "Finds mistakes of shaders that silicon hides",
    long_about = "Runs PROGRAM, or the shader FILE, with a virtual GPU whose model checks each instruction of each shader: missing waits, reads of \
        registers and memory that were never written, races, accesses of unbound memory, barriers and derivatives in divergent \
        flow, results that nobody reads. Each finding is printed once, with its rule, shader, instruction, lanes, and how many \
        times it was found.\n\n\
        The program has the render node of the virtual GPU, as with `tepui shim`; with --own, Tepui's own Vulkan driver, as \
        with `tepui run`. A shader, in any of the languages that `tepui debug` takes, is run as that command runs it, \
        and findings name its lines. The program's streams are its own; findings go to standard error when it has ended. The exit status is the \
        program's own if that is not 0, else 1 if there are findings that are not suppressed (notes do not count), else 0.",
    mut_arg("gpu", |gpu| gpu
        .value_parser(crate::gpu::with(Feature::Model))
        .help("The virtual GPU; a shader and --own need one with a compiler and a driver (`tepui gpus`)")),
    after_help = "Examples:\n  \
        tepui check -- ./my-vulkan-program\n  \
        tepui check --sarif findings.sarif --suppress known.txt -- ./my-vulkan-program\n  \
        tepui check --own -- ./my-vulkan-program\n  \
        tepui check sum.comp --groups 4 --buffer 0=256,index\n  \
        tepui check --gpu skl -- ./my-vulkan-program\n  \
        tepui check --gpu mali-g610 -- ./my-vulkan-program\n  \
        tepui check --gpu mali-t860 -- tools/mesa run --arch arm64 -- ./my-gles-program\n  \
        tepui check --gpu tgl sum.comp --groups 4 --buffer 0=256,index\n  \
        tepui check --mutate /tmp/cap\n  \
        tepui check --rules\n  \
        tepui check --explain dispatch-race\n\n\
        A line of a suppressions file is a rule, or *, and conditions: shader=FINGERPRINT, offset=0x1c,\n\
        instruction=MNEMONIC, line=12. The text after # is the reason."
)]
pub struct Args {
    /// A shader to run instead of a program.
    #[arg(conflicts_with_all = ["program", "own"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    common: CompilerArgs,
    #[command(flatten)]
    place: load::RunArgs,
    /// Run the program with Tepui's own Vulkan driver.
    #[arg(long)]
    own: bool,
    /// Print the findings as JSON on standard output.
    #[arg(long)]
    json: bool,
    /// Write the findings to a file in SARIF 2.1.0.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Findings that are known and wanted.
    #[arg(long, value_name = "FILE")]
    suppress: Option<PathBuf>,
    /// Remove each flush, invalidation, stall, wait and dependency from a capture, or from all in a directory, one at a
    /// time, and print how many removals change memory in another order of execution, and how many are reported.
    #[arg(long, value_name = "CAPTURE", conflicts_with_all = ["file", "program", "own"])]
    mutate: Option<PathBuf>,
    /// With --mutate: removals of a kind in each command, at most.
    #[arg(long, value_name = "N", default_value_t = 64, requires = "mutate")]
    removals: usize,
    /// Print the rules.
    #[arg(long)]
    rules: bool,
    /// Print what a rule means and what to do about its findings.
    #[arg(long, value_name = "RULE")]
    explain: Option<String>,
    /// The program and its arguments.
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    if args.rules {
        let lines = RULES.iter().map(|r| format!("{:20} {:8} {}\n", r.id, r.level.name(), r.title));
        return print_out("check", &lines.collect::<String>());
    }
    let outcome = match &args.explain {
        Some(id) => rule(id)
            .map(|rule| print_out("check", &tepui_check::rule::explain(rule)))
            .ok_or_else(|| format!("`{id}` is no rule; `tepui check --rules` lists them")),
        None => try_run(args),
    };
    outcome.unwrap_or_else(|e| {
        eprintln!("tepui check: {e}");
        ExitCode::from(2)
    })
}

fn try_run(args: &Args) -> Result<ExitCode, String> {
    if let Some(path) = &args.mutate {
        return mutate::run(path, args.removals, args.json);
    }
    let mut suppressions = match &args.suppress {
        Some(path) => read_suppressions(path)?,
        None => Vec::new(),
    };
    let needs = |feature| args.common.gpu.require(feature).map_err(|e| e.to_string());
    if let Some(file) = &args.file {
        needs(Feature::Compiler)?;
        let mut findings = load::check(file, &args.common, &args.place)
            .map_err(|e| format!("{}: {e}", file.display()))?;
        suppress::apply(&mut suppressions, &mut findings);
        report(args, &findings, &suppressions)?;
        return Ok(ExitCode::from(u8::from(findings.iter().any(Finding::fails))));
    }
    if args.program.is_empty() {
        return Err(
            "write what to run: `tepui check -- PROGRAM` or `tepui check SHADER`".to_owned()
        );
    }
    if args.own {
        needs(Feature::Driver)?;
    }
    let (status, mut findings) = run_program(args)?;
    suppress::apply(&mut suppressions, &mut findings);
    report(args, &findings, &suppressions)?;
    Ok(match status {
        0 => ExitCode::from(u8::from(findings.iter().any(Finding::fails))),
        status => ExitCode::from(status),
    })
}

fn read_suppressions(path: &Path) -> Result<Vec<Suppression>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    suppress::parse(&text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Runs the program to its end; returns its exit status and what was found.
fn run_program(args: &Args) -> Result<(u8, Vec<Finding>), String> {
    let folder = tempfile::Builder::new().prefix("tepui-").tempdir();
    let folder = folder.map_err(|e| format!("a temporary directory: {e}"))?;
    let path = folder.path().join("findings");
    let io = |e| format!("{}: {e}", path.display());
    drop(Log::append_to(&path).map_err(io)?);
    let status = match args.own {
        true => status(cmd_run::plain(args.common.gpu, &args.program)?, &path)?,
        false => {
            let shim = cmd_shim::checked(args.common.gpu, &args.program);
            let command = cmd_shim::command(&shim);
            match shim.is_shared() {
                true => {
                    let findings = Some(path.clone());
                    let options = DeviceOptions { findings, ..shim.device_options() };
                    shared::serve(shim.gpu(), &options, command).map_err(|(message, _)| message)?
                }
                false => status(command?, &path)?,
            }
        }
    };
    // The exit code that shells report for a program killed by a signal.
    let code = status.code().unwrap_or_else(|| {
        128 + std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or(0)
    });
    Ok((code as u8, merge(Log::read(&path).map_err(io)?)))
}

/// Runs a command whose virtual GPU, in its own process, appends findings to a file.
fn status(mut command: Command, findings: &Path) -> Result<ExitStatus, String> {
    command.env(tepui_check::FILE_VARIABLE, findings);
    command.status().map_err(|e| format!("{}: {e}", command.get_program().display()))
}

fn report(args: &Args, findings: &[Finding], suppressions: &[Suppression]) -> Result<(), String> {
    if let Some(path) = &args.sarif {
        let log = sarif::log(findings, env!("CARGO_PKG_VERSION"));
        let text = serde_json::to_string_pretty(&log).map_err(|e| e.to_string())?;
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(findings).map_err(|e| e.to_string())?;
        println!("{text}");
        return Ok(());
    }
    for finding in findings.iter().filter(|f| f.suppressed.is_none()) {
        eprint!("{finding}");
    }
    let suppressed = findings.iter().filter(|f| f.suppressed.is_some()).count();
    let unused = suppressions.iter().filter(|s| s.used == 0).count();
    eprintln!(
        "tepui check: {} findings, {suppressed} suppressed{}",
        findings.len() - suppressed,
        if unused > 0 { format!("; {unused} suppressions cover nothing") } else { String::new() }
    );
    Ok(())
}
