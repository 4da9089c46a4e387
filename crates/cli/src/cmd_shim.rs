//! `tepui shim`: runs a program with a virtual GPU.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use tepui_drm::call_log::CallLog;
use tepui_gpus::counts::COUNTS_VARIABLE;
use tepui_gpus::device::{DeviceOptions, RELAXED_VARIABLE};
use tepui_gpus::{Family, Feature, Gpu};

use crate::library::SHIM;
use crate::{launch, shared};

/// Arguments of `tepui shim`.
#[derive(clap::Args)]
#[command(
    about = "Runs a program with a virtual GPU behind /dev/dri",
    long_about = "Runs PROGRAM with a virtual GPU: a DRM render node, /dev/dri/renderD128 or the first free \
        number, that libdrm, Mesa and the Vulkan loader find as they find a real one. A software model \
        of the GPU executes what the program submits.\n\n\
        The program replaces this process, so that its exit status, signals and standard streams are \
        its own; programs that it starts see the GPU too, each one of its own. With --shared this process stays \
        and holds one GPU for all of them; arm64 programs under qemu's user emulation can use that one too, and \
        Mali GPUs are always so except on arm64 machines, since Mesa's drivers for them exist for arm64. Nothing is written to standard output. A \
        GPU fault, or work that the model does not support, is reported on standard error, and the \
        queue is lost.",
    after_help = "Examples:\n  \
        tepui shim --gpu m1 -- vulkaninfo --summary\n  \
        tepui shim --gpu m1 --check -- ./my-compute-program\n  \
        tepui shim --gpu skl --relaxed 7 -- ./my-compute-program\n  \
        tepui shim --gpu m2 -- tools/mesa run -- eglinfo -B -p surfaceless\n  \
        tepui shim --gpu mali-g610 -- tools/mesa run --arch arm64 -- vulkaninfo --summary\n\n\
        `tepui gpus` lists the GPUs. Statically linked and setuid programs cannot use them.\n\n\
        Environment:\n  \
        TEPUI_SHIM_LIB   the library to preload instead of the command's own\n  \
        TEPUI_SHIM_LIB_AARCH64  its counterpart for arm64 programs on other machines, instead of the one that \
        tools/forwarder builds\n  \
        LD_PRELOAD       kept; the library is prepended\n  \
        TEPUI_*          set for the library: GPU, SERVER, CHECK, RELAXED, THREADS, VERBOSE, ABORT_ON_FAULT, COVERAGE, COUNTS\n  \
        TEPUI_LOG_CALLS  1 writes every kernel request to standard error"
)]
pub struct Args {
    /// The GPU.
    #[arg(long, value_name = "GPU", default_value = "m1",
          value_parser = crate::gpu::with(Feature::Model))]
    gpu: Gpu,
    /// The Mali GPU with this product id in hexadecimal, such as a867: the numbers of Mesa's PAN_GPU_ID.
    #[arg(long, value_name = "ID", conflicts_with = "gpu", value_parser = crate::gpu::mali_id)]
    gpu_id: Option<Gpu>,
    /// Report errors that silicon does not: reads of unwritten memory and registers, and uses of
    /// loads without a wait.
    #[arg(long)]
    check: bool,
    /// Execute in another order that the hardware may take, chosen by a number: where nothing orders them, commands, draws and
    /// dispatches run later or earlier than others, and on Intel caches hold data back. A program whose barriers are right
    /// gets the same results.
    #[arg(long, value_name = "SEED")]
    relaxed: Option<u64>,
    /// Worker threads of the model; 0 means one per core.
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Report each refused kernel request, with the reason.
    #[arg(long)]
    verbose: bool,
    /// Append to FILE the rows of the instruction table that the GPU's programs use, each when the
    /// first program that has it is decoded.
    #[arg(long, value_name = "FILE")]
    coverage: Option<PathBuf>,
    /// Append to FILE what each command that the GPU executes cost, a line of JSON each: instructions, counted once a SIMD-group,
    /// what else `tepui replay` prints, and the nanoseconds that the model took.
    #[arg(long, value_name = "FILE")]
    counts: Option<PathBuf>,
    /// Abort the program (SIGABRT) at a GPU fault: some drivers do not report a lost device.
    #[arg(long)]
    abort_on_fault: bool,
    /// One GPU for the program and all that it starts, held by this process.
    #[arg(long)]
    shared: bool,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Arguments for a program that runs with the node of a virtual GPU and its checker.
pub fn checked(gpu: Gpu, program: &[OsString]) -> Args {
    Args {
        gpu,
        gpu_id: None,
        check: true,
        relaxed: None,
        threads: 0,
        verbose: false,
        coverage: None,
        counts: None,
        abort_on_fault: false,
        shared: false,
        program: program.to_vec(),
    }
}

/// Runs the command: replaces this process by the program, or runs both if the GPU is shared.
pub fn run(args: &Args) -> ExitCode {
    if args.is_shared() {
        return shared::run(args.gpu(), &args.device_options(), command(args));
    }
    launch::replace_process("tepui shim", command(args))
}

impl Args {
    /// The GPU.
    pub fn gpu(&self) -> Gpu {
        self.gpu_id.unwrap_or(self.gpu)
    }

    /// Whether this process holds the GPU.
    pub fn is_shared(&self) -> bool {
        // Debian builds Mesa's drivers of Mali GPUs for arm64 only.
        self.shared || self.gpu().family() == Family::Mali && cfg!(not(target_arch = "aarch64"))
    }

    /// The GPU of this process.
    pub fn device_options(&self) -> DeviceOptions {
        let log = std::env::var_os("TEPUI_LOG_CALLS").is_some_and(|v| !v.is_empty() && v != "0");
        DeviceOptions {
            threads: self.threads,
            check: self.check,
            relaxed: self.relaxed,
            report_refusals: self.verbose,
            abort_on_fault: self.abort_on_fault,
            coverage: self.coverage.clone(),
            counts: self.counts.clone(),
            shareable: true,
            observer: log.then(|| Arc::new(CallLog) as _),
            ..DeviceOptions::default()
        }
    }
}

/// Adds the preloaded library and the GPU's name to a command's environment.
///
/// # Errors
/// The library cannot be had, or its path cannot be preloaded.
pub fn preload(command: &mut Command, gpu: Gpu) -> Result<(), String> {
    let library = SHIM.find()?;
    // The dynamic linker splits LD_PRELOAD at colons and spaces.
    if library.to_str().is_none_or(|text| text.contains([':', ' '])) {
        return Err(format!(
            "{}: LD_PRELOAD cannot contain a path with a colon or a space; copy the library elsewhere and set TEPUI_SHIM_LIB to its path",
            library.display()
        ));
    }
    let mut preload = library.into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    command.env("LD_PRELOAD", preload).env("TEPUI_GPU", gpu.id());
    Ok(())
}

/// The program with its arguments and the environment variables of the shim.
pub fn command(args: &Args) -> Result<Command, String> {
    let (program, arguments) = args.program.split_first().ok_or("no program")?;
    let mut command = Command::new(program);
    command.args(arguments);
    preload(&mut command, args.gpu())?;
    command.env("TEPUI_CHECK", if args.check { "1" } else { "0" });
    command.env(RELAXED_VARIABLE, args.relaxed.map_or_else(String::new, |seed| seed.to_string()));
    command.env("TEPUI_THREADS", args.threads.to_string());
    command.env("TEPUI_VERBOSE", if args.verbose { "1" } else { "0" });
    command.env("TEPUI_ABORT_ON_FAULT", if args.abort_on_fault { "1" } else { "0" });
    let files = [("TEPUI_COVERAGE", &args.coverage), (COUNTS_VARIABLE, &args.counts)];
    for (variable, file) in files {
        let Some(file) = file else { continue };
        // Programs may change their directory.
        let file = std::path::absolute(file).map_err(|e| format!("{}: {e}", file.display()))?;
        command.env(variable, file);
    }
    Ok(command)
}
