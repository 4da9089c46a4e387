//! `tepui run`: runs a program with Tepui's own Vulkan driver.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use tepui_gpus::counts::COUNTS_VARIABLE;
use tepui_gpus::device::RELAXED_VARIABLE;
use tepui_gpus::{Feature, Gpu, vulkan};

use crate::cmd_shim as shim;
use crate::launch;
use crate::library::{ICD, for_all_users, unpack};

/// File next to captures that maps the machine code of shaders to their sources.
pub const SHADER_INFO: &str = "shaders.jsonl";

/// Arguments of `tepui run`.
#[derive(clap::Args)]
#[command(
    about = "Runs a program with Tepui's own Vulkan driver on a virtual GPU",
    long_about = "Runs PROGRAM with Tepui's Vulkan driver as the only one that the Vulkan loader finds. The driver \
        compiles shaders with Tepui's compiler and submits to a virtual GPU in the same process, through \
        the kernel's interface.\n\n\
        The program replaces this process, so that its exit status, signals and standard streams are \
        its own; programs that it starts have the driver too. Nothing is written to standard output. A \
        GPU fault is reported on standard error, and the device is lost.\n\n\
        With --gl, OpenGL, OpenGL ES and OpenCL run on it too, through Mesa's zink, which draws OpenGL with Vulkan: Mesa \
        has to be what the program finds as OpenGL, and its rusticl what it finds as OpenCL. The virtual GPU then is a DRM render \
        node, as with `tepui shim`, for programs that look for a device.",
    after_help = "Examples:\n  \
        tepui run --gpu m1 -- vulkaninfo --summary\n  \
        tepui run --gpu m1 --check -- ./my-vulkan-program\n  \
        tepui run --gpu skl --relaxed 7 -- ./my-vulkan-program\n  \
        tepui run --capture /tmp/cap -- ./my-vulkan-program && tepui decode /tmp/cap\n  \
        tepui run --stats new.json -- ./my-vulkan-program && tepui compare old.json new.json\n  \
        tools/mesa xvfb -- tepui run --gpu m1 -- tools/mesa run --icd none -- vkcube\n  \
        tools/mesa xvfb -- tepui run --gl -- tools/mesa run --icd none -- glxgears\n\n\
        `tepui gpus` lists the GPUs.\n\n\
        Environment:\n  \
        TEPUI_ICD_LIB    the driver to use instead of the command's own\n  \
        TEPUI_DEBUG      words, with commas between, that make the driver explain itself: errors, stats,\n  \
        \x20                shaders, ir, commands, submit, sync, windows, images; or change what it\n  \
        \x20                does: nocompress\n  \
        VK_DRIVER_FILES, VK_ICD_FILENAMES  set to the driver's manifest\n  \
        MESA_LOADER_DRIVER_OVERRIDE, LIBGL_KOPPER_DRI2, RUSTICL_ENABLE, LD_PRELOAD  set with --gl; preloaded libraries of \
        others are kept\n  \
        TEPUI_*          set for the driver: VULKAN_GPU, CHECK, RELAXED, THREADS, ABORT_ON_FAULT, CAPTURE,\n  \
        \x20                STATS, SHADER_INFO, COUNTS; with --gl also GPU"
)]
pub struct Args {
    /// The GPU, or several with commas between, each of which is a physical device for the program.
    #[arg(long, value_name = "GPU", default_value = "m1", value_delimiter = ',',
          value_parser = crate::gpu::with(Feature::Driver))]
    gpu: Vec<Gpu>,
    /// Draw OpenGL and OpenGL ES with it as well, and run OpenCL, through Mesa's zink; the first GPU is a render node.
    #[arg(long)]
    gl: bool,
    /// Report errors that silicon does not: reads of unwritten memory and registers, and uses of
    /// loads without a wait.
    #[arg(long)]
    check: bool,
    /// Execute in another order that the hardware may take, chosen by a number: where nothing orders them, commands, draws and
    /// dispatches run later or earlier than others, and on Intel caches hold data back. A program whose barriers are right
    /// gets the same results.
    #[arg(long, value_name = "SEED")]
    relaxed: Option<u64>,
    /// Save captures to this directory, one file per process, for `tepui decode`, `tepui replay` and
    /// `tepui debug`, and the source lines of shaders.
    #[arg(long, value_name = "DIR")]
    capture: Option<PathBuf>,
    /// Write the statistics of each compiled shader to this file, a line of JSON each, for `tepui
    /// compare`.
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Append to FILE what each command that the GPU executes cost, a line of JSON each: instructions, counted once a SIMD-group,
    /// cycles of the busier arithmetic unit, what else `tepui replay` prints, and the nanoseconds that the model took.
    #[arg(long, value_name = "FILE")]
    counts: Option<PathBuf>,
    /// Worker threads of the model; 0 means one per core.
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Abort the program (SIGABRT) at a GPU fault.
    #[arg(long)]
    abort_on_fault: bool,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// The command that runs a program with the driver on a virtual GPU.
///
/// # Errors
/// The driver's library cannot be had.
pub fn plain(gpu: Gpu, program: &[OsString]) -> Result<Command, String> {
    command(&Args {
        gpu: vec![gpu],
        gl: false,
        check: true,
        relaxed: None,
        capture: None,
        stats: None,
        counts: None,
        threads: 0,
        abort_on_fault: false,
        program: program.to_vec(),
    })
}

/// Runs the command: executes the program in place of this process. Returns only if that fails.
pub fn run(args: &Args) -> ExitCode {
    launch::replace_process("tepui run", command(args))
}

/// The program with its arguments and the environment variables of loader and driver.
fn command(args: &Args) -> Result<Command, String> {
    let shared = |path| for_all_users(path).map_err(|error| format!("the driver: {error}"));
    let library = shared(ICD.find()?)?;
    let cache = ICD.cache()?;
    let manifest = vulkan_tepui::manifest(&library);
    let manifest = unpack(manifest.as_bytes(), &cache, "tepui_icd.json")
        .map_err(|error| format!("{}: {error}", cache.display()))?;
    let manifest = shared(manifest)?;
    let (program, arguments) = args.program.split_first().ok_or("no program")?;
    let mut command = Command::new(program);
    command.args(arguments);
    command.env("VK_DRIVER_FILES", &manifest).env("VK_ICD_FILENAMES", &manifest);
    if args.gl {
        // Without DRI3, which Xvfb does not have, zink presents by itself if the second one says so.
        command.env("MESA_LOADER_DRIVER_OVERRIDE", "zink").env("LIBGL_KOPPER_DRI2", "1");
        command.env("RUSTICL_ENABLE", "zink");
        // EGL devices and OpenCL's devices are render nodes.
        shim::preload(&mut command, args.gpu[0])?;
    }
    let gpus: Vec<_> = args.gpu.iter().map(|gpu| gpu.id()).collect();
    command.env(vulkan::GPU_VARIABLE, gpus.join(","));
    command.env(vulkan::CHECK_VARIABLE, if args.check { "1" } else { "0" });
    command.env(RELAXED_VARIABLE, args.relaxed.map_or_else(String::new, |seed| seed.to_string()));
    command.env(vulkan::THREADS_VARIABLE, args.threads.to_string());
    command.env(vulkan::ABORT_VARIABLE, if args.abort_on_fault { "1" } else { "0" });
    if let Some(directory) = &args.capture {
        let absolute = std::path::absolute(directory)
            .and_then(|path| std::fs::create_dir_all(&path).map(|()| path))
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        // `tepui debug` finds source lines there.
        command.env(vulkan::INFO_VARIABLE, absolute.join(SHADER_INFO));
        command.env(tepui_capture::CAPTURE_VARIABLE, absolute);
    }
    if let Some(file) = &args.counts {
        // Programs may change their directory.
        let file = std::path::absolute(file).map_err(|e| format!("{}: {e}", file.display()))?;
        command.env(COUNTS_VARIABLE, file);
    }
    if let Some(file) = &args.stats {
        // An existing file is of another run.
        let absolute = std::path::absolute(file)
            .and_then(|path| std::fs::File::create(&path).map(|_| path))
            .map_err(|error| format!("{}: {error}", file.display()))?;
        command.env(vulkan::STATS_VARIABLE, absolute);
    }
    Ok(command)
}
