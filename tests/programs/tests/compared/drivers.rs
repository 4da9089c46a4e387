//! The drivers under test and the reference on the CPU: the parameters that make a program use each.
//!
//! A new driver is one row of [`TESTED`]; every program then runs on it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::Api;

/// A driver, and the machine that it drives.
#[derive(PartialEq, Eq)]
pub struct Driver {
    /// The name in messages and of folders.
    pub name: &'static str,
    /// The virtual GPU, as `tepui gpus` names it; none for the CPU.
    pub gpu: Option<&'static str>,
    /// The command that gives a program the virtual GPU: `shim`, or `run` with Tepui's own driver.
    command: &'static str,
    /// The Vulkan driver, as `tools/mesa run --icd` names it.
    icd: &'static str,
    /// The environment variables that it needs.
    environment: &'static [(&'static str, &'static str)],
    /// Additional environment variables for programs that draw with OpenGL in a window.
    opengl_window: &'static [(&'static str, &'static str)],
    /// Additional environment variables for piglit without a window.
    opengl_surfaceless: &'static [(&'static str, &'static str)],
    /// Text that a program prints about the device if it really draws with this driver.
    pub device: &'static str,
    /// Whether piglit's tests run in this row, on Mesa's OpenGL driver for the GPU or on zink.
    pub has_opengl: bool,
    /// The file name of its Vulkan driver.
    library: &'static str,
    /// The only programs that run, by the start of their names, of rows that test a part unless they are [asked for](ROWS); none
    /// for all.
    only: &'static [&'static str],
    /// Programs that it does not run, by the start of their names, with the reason.
    left_out: &'static [&'static [(&'static str, &'static str)]],
    /// The foreign architecture for which its programs are built; they run if the variable [`MALI`] is set.
    foreign: Option<Foreign>,
}

/// Programs of another architecture, which `tools/mesa run --arch` emulates.
#[derive(PartialEq, Eq)]
pub struct Foreign {
    /// Its name in `tools/mesa`.
    arch: &'static str,
    /// Its name in compilers.
    target: &'static str,
    /// The folder of its libraries.
    libraries: &'static str,
    /// The only programs that run, by the start of their names.
    programs: &'static [&'static str],
    /// Programs of the row that run if the variable is `slice`.
    slice: &'static [&'static str],
}

/// The variable that adds the row of the virtual Mali. The row needs a Rust target that not every machine has.
const MALI: &str = "TEPUI_WITNESS_MALI";

/// The variable that selects rows of [`TESTED`]: their names, with commas between.
const ROWS: &str = "TEPUI_PROGRAMS_ON";

/// The variable with further options of `tepui shim` and `tepui run`, such as `--check` or `--relaxed 1`, with spaces between.
const OPTIONS: &str = "TEPUI_PROGRAMS_WITH";

/// The options of [`OPTIONS`].
fn options() -> Vec<String> {
    let value = std::env::var(OPTIONS).unwrap_or_default();
    value.split_whitespace().map(str::to_owned).collect()
}

/// Mesa's drivers that draw on the CPU: lavapipe (Vulkan) and llvmpipe (OpenGL).
pub const REFERENCE: Driver = Driver {
    name: "cpu",
    gpu: None,
    command: "",
    icd: "lavapipe",
    environment: &[],
    opengl_window: &[],
    opengl_surfaceless: &[],
    device: "llvmpipe",
    has_opengl: false,
    library: "libvulkan_lvp",
    only: &[],
    left_out: &[],
    foreign: None,
};

/// zink, OpenGL over Vulkan. Mesa's own OpenGL drivers present through DRI3 only, which Xvfb does not have;
/// and without DRI3 zink needs the second variable to present by itself.
const ZINK: &[(&str, &str)] =
    &[("MESA_LOADER_DRIVER_OVERRIDE", "zink"), ("LIBGL_KOPPER_DRI2", "1")];

/// Version of [`ZINK`] in the calling thread. With a thread of its own, zink gives a program that maps a buffer for writing,
/// while a draw that it has not submitted reads the buffer, other memory that it then copies over the whole buffer,
/// whether the program has written it or not (zink_resource.c, `zink_buffer_map`). glmark2 writes only the vertices
/// that move, and none when the clock has stopped.
const UNTHREADED_ZINK: &[(&str, &str)] = &[ZINK[0], ZINK[1], ("GALLIUM_THREAD", "0")];

/// Honeykrisp (Vulkan), zink over it and `asahi` (OpenGL) on the virtual M1.
const M1: Driver = Driver {
    name: "m1",
    gpu: Some("m1"),
    command: "shim",
    icd: "honeykrisp",
    environment: &[],
    opengl_window: ZINK,
    opengl_surfaceless: &[],
    device: "Apple M1",
    has_opengl: true,
    library: "libvulkan_asahi",
    only: &[],
    left_out: &[&[(
        "vkmark/cube_dri3",
        "Mesa shares sync objects with an X server that has DRI3 1.4; the shim's stay in their process",
    )]],
    foreign: None,
};

/// Tepui's own Vulkan driver, and zink over it, on the virtual M1.
const TEPUI: Driver = Driver {
    name: "tepui",
    gpu: Some("m1"),
    command: "run",
    icd: "none",
    environment: &[("TEPUI_DEBUG", "errors")],
    opengl_window: UNTHREADED_ZINK,
    opengl_surfaceless: ZINK,
    device: "Tepui",
    has_opengl: true,
    library: "libvulkan_tepui",
    only: &[],
    left_out: &[NOT_ON_TEPUI],
    foreign: None,
};

/// Programs whose pictures are not compared on Tepui's driver.
const NOT_ON_TEPUI: &[(&str, &str)] = &[
    ("glmark2-es2/conditionals", MEDIUM_PRECISION),
    ("glmark2-es2/function:fragment-steps=5:fragment-complexity=low", MEDIUM_PRECISION),
    ("glmark2-es2/loop", MEDIUM_PRECISION),
];

/// Rounding differences that a scene amplifies until they are as large as its colours.
const MEDIUM_PRECISION: &str = "`mediump` floats have 16 bits on this driver, 32 on the others";

/// Tepui's own Vulkan driver, and zink over it, on the virtual Skylake.
const TEPUI_SKYLAKE: Driver = Driver { name: "tepui-skl", gpu: Some("skl"), ..TEPUI };

/// Tepui's own Vulkan driver, and zink over it, on the virtual Tiger Lake.
const TEPUI_TIGER_LAKE: Driver = Driver { name: "tepui-tgl", gpu: Some("tgl"), ..TEPUI_SKYLAKE };

/// Tepui's own Vulkan driver, and zink over it, on the virtual Mali-G610.
const TEPUI_MALI_G610: Driver = Driver {
    name: "tepui-mali-g610",
    gpu: Some("mali-g610"),
    only: SOME_OF_EACH_KIND,
    left_out: &[
        NOT_ON_TEPUI,
        &[("vkmark/cube_dri3", ARM_COMPOSITOR), ("vkmark/cube_wayland_dma_bufs", ARM_COMPOSITOR)],
    ],
    has_opengl: false,
    ..TEPUI_SKYLAKE
};

/// Programs of each kind, for GPUs with whose drivers all of them take too long each time.
const SOME_OF_EACH_KIND: &[&str] = &[
    "vkcube",
    "vkmark/",
    "glxgears",
    "es2gears_x11",
    "gtk4",
    "mpv",
    "testgpu",
    "wgpu",
    "moderngl",
    "vtk",
    "ncnn",
    "ggml",
    "glmark2-es2/bump",
    "glmark2-es2/jellyfish",
    "glmark2-es2/shadow",
    "glmark2/",
];

/// The compositor draws on the same virtual GPU.
const ARM_COMPOSITOR: &str = "the compositor's driver, panfrost, is a program of arm64";

/// Tepui's own Vulkan driver, and zink over it, on the virtual Mali-G57, which gets its work as chains of jobs; all before that is as on
/// the G610.
const TEPUI_MALI_G57: Driver =
    Driver { name: "tepui-mali-g57", gpu: Some("mali-g57"), ..TEPUI_MALI_G610 };

/// ANV (Vulkan), zink over it and `iris` (OpenGL) on the virtual Skylake.
const SKYLAKE: Driver = Driver {
    name: "skl",
    gpu: Some("skl"),
    command: "shim",
    icd: "anv",
    environment: &[],
    opengl_window: UNTHREADED_ZINK,
    opengl_surfaceless: &[],
    device: "HD Graphics 530",
    has_opengl: true,
    library: "libvulkan_intel",
    only: &[],
    // source: docs/intel.md, "What is missing".
    left_out: &[NOT_ON_SKYLAKE],
    foreign: None,
};

/// Programs that do not run right on the virtual Skylake yet.
const NOT_ON_SKYLAKE: &[(&str, &str)] = &[(
    "vkmark/cube_dri3",
    "Mesa shares sync objects with an X server that has DRI3 1.4; the shim's stay in their process",
)];

/// ANV, zink over it and `iris` on the virtual Tiger Lake.
const TIGER_LAKE: Driver = Driver {
    name: "tgl",
    gpu: Some("tgl"),
    device: "Xe Graphics",
    left_out: &[NOT_ON_SKYLAKE, &[("glmark2-es2", "the same driver draws these in Skylake's row")]],
    ..SKYLAKE
};

/// PanVK on the virtual Mali-G610: arm64 programs, emulated.
const MALI_G610: Driver = Driver {
    name: "mali-g610",
    gpu: Some("mali-g610"),
    command: "shim",
    icd: "panvk",
    // The driver copies into windows: the X server of this machine has no GPU.
    environment: &[("MESA_VK_WSI_DEBUG", "sw")],
    opengl_window: ZINK,
    opengl_surfaceless: &[],
    device: "Mali-G610",
    has_opengl: false,
    library: "libvulkan_panfrost",
    only: &[],
    left_out: &[NOT_ON_MALI],
    foreign: Some(Foreign {
        arch: "arm64",
        target: "aarch64-unknown-linux-gnu",
        libraries: "aarch64-linux-gnu",
        programs: &["vkcube", "vkmark/"],
        slice: &["vkcube", "vkmark/cube"],
    }),
};

/// Programs of this list that do not run on the virtual Mali.
const NOT_ON_MALI: &[(&str, &str)] = &[
    (
        "vkmark/cube_dri3",
        "compositors on the virtual GPU are programs of this machine's architecture",
    ),
    ("vkmark/cube_wayland_dma_bufs", "as above"),
];

/// The drivers whose pictures are compared with [`REFERENCE`]'s.
pub const TESTED: &[Driver] = &[
    M1,
    // The driver without lossless image compression.
    Driver {
        name: "m1-uncompressed",
        environment: &[("AGX_MESA_DEBUG", "nocompress")],
        has_opengl: false,
        ..M1
    },
    TEPUI,
    TEPUI_SKYLAKE,
    TEPUI_TIGER_LAKE,
    TEPUI_MALI_G610,
    TEPUI_MALI_G57,
    SKYLAKE,
    // The driver without compressed colours, hierarchical depth and fast clears.
    Driver {
        name: "skl-uncompressed",
        environment: &[("INTEL_DEBUG", "noccs,nohiz,nofc")],
        ..SKYLAKE
    },
    TIGER_LAKE,
    MALI_G610,
];

impl Driver {
    /// Whether it is Tepui's own driver.
    pub fn is_own(&self) -> bool {
        self.library == TEPUI.library
    }

    /// Whether it draws on a virtual GPU.
    pub fn is_virtual(&self) -> bool {
        self.gpu.is_some()
    }

    /// Extends a command by the words that start a compositor on the virtual GPU, and after `weston` a program on the
    /// same render node; `wrapper` precedes that. Tepui's own driver is named by a manifest in `directory`.
    pub fn start_with_compositor(
        &self,
        command: &mut Command,
        mesa: &Path,
        directory: &Path,
        weston: &[&OsStr],
        wrapper: &[&OsStr],
    ) -> Result<(), String> {
        let gpu = self.gpu.ok_or("the CPU has no render node")?;
        command.arg(built("tepui")?).args(["shim", "--gpu", gpu]).args(options()).arg("--");
        command.arg(mesa).args(["weston", "--gl"]).args(weston).arg("--").args(wrapper);
        self.name_library(command, directory)?;
        self.run(command, mesa);
        Ok(())
    }

    /// Version of [`Driver::start`] for a program that looks for a render node.
    pub fn start_with_node(&self, command: &mut Command, mesa: &Path) -> Result<(), String> {
        if let Some(gpu) = self.gpu {
            command.arg(built("tepui")?).arg(self.command).args(["--gpu", gpu]).args(options());
            command.args(self.is_own().then_some("--gl")).arg("--");
        }
        self.run(command, mesa);
        Ok(())
    }

    /// Names Tepui's own driver to programs, with a manifest in `directory`.
    fn name_library(&self, command: &mut Command, directory: &Path) -> Result<(), String> {
        if self.is_own() {
            let library = built(&format!("{}.so", self.library))?;
            let icd = serde_json::json!({ "library_path": library, "api_version": "1.4.309" });
            let manifest = serde_json::json!({ "file_format_version": "1.0.1", "ICD": icd });
            let file = directory.join("icd.json");
            std::fs::write(&file, manifest.to_string()).map_err(|e| e.to_string())?;
            command.env("VK_DRIVER_FILES", file);
        }
        Ok(())
    }

    /// Extends a command by the words that select this driver for the rest of the command.
    pub fn start(&self, command: &mut Command, mesa: &Path) -> Result<(), String> {
        if let Some(gpu) = self.gpu {
            command
                .arg(built("tepui")?)
                .args([self.command, "--gpu", gpu])
                .args(options())
                .arg("--");
        }
        self.run(command, mesa);
        Ok(())
    }

    fn run(&self, command: &mut Command, mesa: &Path) {
        command.envs(self.environment.iter().copied());
        command.env("MESA_SHADER_CACHE_DISABLE", "true");
        // Filters as specified, which llvmpipe would otherwise approximate.
        command.env("GALLIVM_PERF", "no_brilinear,no_rho_approx,no_quad_lod,no_aos_sampling");
        command.arg(mesa).args(["run", "--icd", self.icd]);
        if let Some(foreign) = &self.foreign {
            command.args(["--arch", foreign.arch]);
        }
    }

    /// The directory of the Debian Mesa that contains the driver and its programs.
    pub fn sysroot(&self, mesa: &Path) -> Result<PathBuf, String> {
        match &self.foreign {
            Some(foreign) => said(Command::new(mesa).args(["path", "--arch", foreign.arch])),
            None => sysroot(mesa),
        }
    }

    /// The folder of the sysroot's libraries.
    pub fn libraries(&self, root: &Path) -> PathBuf {
        let own = format!("{}-linux-gnu", std::env::consts::ARCH);
        root.join("usr/lib").join(self.foreign.as_ref().map_or(&own[..], |f| f.libraries))
    }

    /// The library of this package that is preloaded into programs.
    pub fn preload(&self) -> Result<PathBuf, String> {
        const LIBRARY: &str = "libtepui_programs_preload.so";
        let Some(foreign) = &self.foreign else { return built(LIBRARY) };
        built(&format!("../{}/release/{LIBRARY}", foreign.target)).map_err(|_| {
            format!("{LIBRARY} of {} is missing: tools/cross -p tepui-programs --lib", foreign.arch)
        })
    }

    /// The memory maps of a program that draws, by its first process: an emulated program is a child of the process
    /// that holds the GPU.
    pub fn maps(&self, process: u32) -> std::io::Result<String> {
        let mut maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
        if self.foreign.is_some() {
            let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"))?;
            for child in children.split_whitespace() {
                maps += &fs::read_to_string(format!("/proc/{child}/maps"))?;
            }
        }
        Ok(maps)
    }

    /// Whether the driver runs the program of this name.
    pub fn runs(&self, program: &str) -> bool {
        let rows = std::env::var(ROWS).ok();
        let asked = rows.map(|rows| rows.split(',').any(|name| name == self.name));
        if asked == Some(false) {
            return false;
        }
        if let Some(foreign) = &self.foreign {
            let Some(value) = std::env::var_os(MALI) else { return false };
            let programs = if value == "slice" { foreign.slice } else { foreign.programs };
            if !programs.iter().any(|start| program.starts_with(start)) {
                return false;
            }
        }
        let is_whole = asked.is_some() || self.only.is_empty();
        if !is_whole && !self.only.iter().any(|start| program.starts_with(start)) {
            return false;
        }
        !self.left_out.iter().copied().flatten().any(|(start, _)| program.starts_with(start))
    }

    /// The environment of a program with a window.
    pub fn window(&self, api: Api, command: &mut Command) {
        if api == Api::OpenGl {
            command.envs(self.opengl_window.iter().copied());
        }
    }

    /// The environment of a program that draws with OpenGL without a window.
    pub fn surfaceless(&self, command: &mut Command) {
        command.envs(self.opengl_surfaceless.iter().copied());
    }

    /// Checks a running program's memory maps ([`Driver::maps`]): of all Vulkan drivers, only this one may be loaded,
    /// and it must be if the program draws with Vulkan on a virtual GPU. Not all programs print the driver that they
    /// use.
    pub fn check_loaded(&self, maps: &str) -> Result<(), String> {
        let mut others = std::iter::once(&REFERENCE).chain(TESTED);
        let other = others.find(|d| d.library != self.library && maps.contains(d.library));
        if let Some(other) = other {
            return Err(format!("{}: {} is loaded\n{maps}", self.name, other.library));
        }
        if self.gpu.is_some() && !maps.contains(self.library) {
            return Err(format!("{}: {} is not loaded\n{maps}", self.name, self.library));
        }
        Ok(())
    }
}

/// An error if [`ROWS`] names a row that does not exist.
pub fn check_rows() -> Result<(), String> {
    let Ok(rows) = std::env::var(ROWS) else { return Ok(()) };
    match rows.split(',').find(|row| TESTED.iter().all(|driver| driver.name != *row)) {
        Some(row) => Err(format!("{ROWS}: no driver is called {row}")),
        None => Ok(()),
    }
}

/// The script that starts programs in Debian's Mesa.
pub fn mesa() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/mesa")
}

/// The directory of Debian's Mesa.
pub fn sysroot(mesa: &Path) -> Result<PathBuf, String> {
    said(Command::new(mesa).arg("path"))
}

/// The path that a command prints.
pub fn said(command: &mut Command) -> Result<PathBuf, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end()))
}

/// A program or library of this project, in this test's folder or its parent.
pub fn built(name: &str) -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    let places = this.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    places.into_iter().find(|path| path.exists()).ok_or_else(|| {
        format!("{name} is missing: cargo build --release -p tepui -p tepui-shim -p tepui-programs")
    })
}
