//! The programs, their command lines, and the frame of each that is compared.
//!
//! A new program is a row of [`PROGRAMS`], and, if its command line needs more, a case in [`Program::start`].
//! It runs on every driver of [`crate::drivers`].

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::clients;
use crate::drivers::{Driver, REFERENCE};
use crate::picture::AllowedDifference;

/// The screen and the windows of most: widthxheight in pixels.
const SIZE: &str = "320x240";

/// The API that a program draws with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// Vulkan.
    Vulkan,
    /// OpenGL or OpenGL ES.
    OpenGl,
}

/// The rule that selects the frame that is the same on every driver.
#[derive(Clone, Copy)]
pub enum Frame {
    /// The screen at rest after the program has read the time this often, when this package's clock stops.
    Calls(u64),
    /// The frame of this number, saved by Mesa's screenshot layer: for a program whose pictures depend on
    /// nothing else.
    Number(u64),
    /// The screen at rest, for a program that draws and then waits.
    Rest,
    /// The pictures of these names, as PNG, that the program writes before it ends: it has no window.
    Written(&'static [&'static str]),
}

/// A program and a scene of it.
pub struct Program {
    /// The program and its scene. For vkmark and glmark2 that is the benchmark.
    line: &'static str,
    /// The frame that is compared.
    pub frame: Frame,
    /// The allowed difference to the reference's pictures.
    pub allowed: AllowedDifference,
    /// Whether it draws a single colour.
    pub plain: bool,
    /// Whether it prints the name of the renderer.
    pub says_device: bool,
    /// Text that it must not print, because it continues after errors of the driver.
    pub complaints: &'static [&'static str],
    /// The command line of the same program with 32-bit floats, if it uses mediump.
    high: Option<&'static str>,
    /// The suffix of the name after the line.
    suffix: &'static str,
    /// Whether its window is on weston instead of an X server.
    pub wayland: bool,
    /// Whether weston draws on the virtual GPU, too, and it or its Xwayland reads the program's images as dma-bufs.
    pub dma_bufs: bool,
}

/// A frame from the middle of the animation.
const MIDDLE: Frame = Frame::Calls(30);
/// A frame near the start, for a slow scene.
const EARLY: Frame = Frame::Calls(14);
/// The one picture that a program without a window writes.
const PICTURE: Frame = Frame::Written(&["picture"]);

/// At most one pixel in a thousand differs, and at most eight adjacent ones: less than any letter or widget.
/// Nearly all pictures are identical.
pub const CLOSE: AllowedDifference = AllowedDifference { percent: 0.1, group: 8 };

const fn close(line: &'static str, frame: Frame) -> Program {
    Program {
        line,
        frame,
        allowed: CLOSE,
        plain: false,
        says_device: true,
        complaints: &[],
        high: None,
        suffix: "",
        wayland: false,
        dma_bufs: false,
    }
}

/// A program with a Wayland window.
const fn wayland(program: Program) -> Program {
    Program { wayland: true, suffix: "_wayland", ..program }
}

/// A program with a server on the virtual GPU, which reads dma-bufs: a compositor, or an X server with DRI3.
const fn dma_bufs(program: Program, suffix: &'static str) -> Program {
    Program { dma_bufs: true, suffix, ..program }
}

/// A program with a larger allowed difference: `why` is for the reader.
const fn near(program: Program, percent: f64, group: usize, why: &'static str) -> Program {
    let _ = why;
    Program { allowed: AllowedDifference { percent, group }, ..program }
}

/// A program that does not print its renderer.
const fn silent(line: &'static str, frame: Frame) -> Program {
    Program { says_device: false, ..close(line, frame) }
}

/// A scene of one colour.
const fn plain(line: &'static str, frame: Frame) -> Program {
    Program {
        allowed: AllowedDifference { percent: 0.0, group: 0 },
        plain: true,
        ..close(line, frame)
    }
}

/// A scene whose picture depends on the lowest bits of mediump floats, which have 16 bits both on the M1 and
/// in llvmpipe, and are rounded differently. `high` is the same scene with 32 bits, which measures that
/// effect; `percent` and `group` are its limits.
const fn mediump(
    line: &'static str,
    high: &'static str,
    frame: Frame,
    percent: f64,
    group: usize,
) -> Program {
    Program {
        high: Some(high),
        allowed: AllowedDifference { percent, group },
        ..close(line, frame)
    }
}

/// OpenGL ES shaders with 32-bit floats. By default the scenes use mediump.
macro_rules! high {
    () => {
        "fragment-precision=high,high,high,high"
    };
}

/// All programs. For vkmark and glmark2, every scene.
pub const PROGRAMS: &[Program] = &[
    close("vkcube", Frame::Number(20)),
    close("vkcube xlib", Frame::Number(20)),
    wayland(close("vkcube", Frame::Number(20))),
    dma_bufs(wayland(close("vkmark cube", MIDDLE)), "_wayland_dma_bufs"),
    dma_bufs(close("vkmark cube", MIDDLE), "_dri3"),
    close("glxgears", MIDDLE),
    silent("es2gears_x11", MIDDLE),
    // A progress bar depends on time, which is stopped for GLib: later frames may never come.
    silent("gtk4-widget-factory", Frame::Number(0)),
    close("qml6 quick.qml", Frame::Rest),
    silent("testgpu_spinning_cube", Frame::Number(20)),
    silent("vkd3d-gears", MIDDLE),
    close("ffmpeg libplacebo", PICTURE),
    close("ffmpeg scale_vulkan", PICTURE),
    // It continues after a failed submission, and shows an older frame.
    Program { complaints: &["VK_ERROR"], ..close("mpv", Frame::Rest) },
    close("wgpu_draw.py", Frame::Written(&["triangle", "scene"])),
    close("pygfx_draw.py", Frame::Written(&["meshes", "volume"])),
    close("webgpu_draw.mjs", Frame::Written(&["triangle", "scene"])),
    close("moderngl_draw.py", Frame::Written(&["triangle", "scene"])),
    close("vtk_draw.py", Frame::Written(&["surfaces", "volume"])),
    close("panda3d_draw.py", PICTURE),
    silent("datoviz_draw.py", Frame::Written(&["shapes", "plot"])),
    close("vkmark vertex:device-local=true", MIDDLE),
    close("vkmark vertex:device-local=false", MIDDLE),
    near(
        close("vkmark texture", MIDDLE),
        1.0,
        20,
        "anisotropic filters choose their samples themselves",
    ),
    close("vkmark texture:anisotropy=0", MIDDLE),
    close("vkmark texture:anisotropy=0:texture-filter=nearest", MIDDLE),
    close("vkmark shading:shading=gouraud", MIDDLE),
    close("vkmark shading:shading=blinn-phong-inf", MIDDLE),
    close("vkmark shading:shading=phong", MIDDLE),
    close("vkmark shading:shading=cel", MIDDLE),
    close("vkmark effect2d:kernel=edge", EARLY),
    close("vkmark effect2d:kernel=blur", EARLY),
    close("vkmark desktop", MIDDLE),
    close("vkmark cube", MIDDLE),
    wayland(close("vkmark cube", MIDDLE)),
    wayland(close("vkmark desktop", MIDDLE)),
    plain("vkmark clear", MIDDLE),
    close("glmark2-es2 buffer:update-method=map", MIDDLE),
    close("glmark2-es2 buffer:update-method=subdata", MIDDLE),
    close("glmark2-es2 buffer:interleave=true", MIDDLE),
    close("glmark2-es2 build:use-vbo=false", MIDDLE),
    close("glmark2-es2 build:use-vbo=true", MIDDLE),
    close("glmark2-es2 bump:bump-render=off", MIDDLE),
    close("glmark2-es2 bump:bump-render=normals", MIDDLE),
    close("glmark2-es2 bump:bump-render=normals-tangent", MIDDLE),
    close("glmark2-es2 bump:bump-render=height", MIDDLE),
    close("glmark2-es2 bump:bump-render=high-poly", MIDDLE),
    plain("glmark2-es2 clear", MIDDLE),
    close("glmark2-es2 conditionals:fragment-steps=5:vertex-steps=5", MIDDLE),
    close("glmark2-es2 desktop:effect=blur", EARLY),
    close("glmark2-es2 desktop:effect=shadow:windows=4", MIDDLE),
    close("glmark2-es2 effect2d:kernel=1,1,1;1,1,1;1,1,1;", EARLY),
    close("glmark2-es2 effect2d:kernel=0,1,0;1,-4,1;0,1,0;", EARLY),
    close("glmark2-es2 function:fragment-steps=5:fragment-complexity=low", MIDDLE),
    close(
        concat!("glmark2-es2 function:fragment-steps=5:fragment-complexity=medium:", high!()),
        MIDDLE,
    ),
    close("glmark2-es2 ideas", Frame::Calls(400)),
    close("glmark2-es2 jellyfish", MIDDLE),
    close("glmark2-es2 loop:fragment-steps=5:fragment-loop=false:vertex-steps=5", MIDDLE),
    close("glmark2-es2 loop:fragment-steps=5:fragment-uniform=true:vertex-steps=5", MIDDLE),
    close("glmark2-es2 pulsar:light=true:texture=true", MIDDLE),
    near(
        close(concat!("glmark2-es2 refract:", high!()), MIDDLE),
        0.8,
        20,
        "a mapped picture refracted twice: a unit of the normals' 8 bits moves it by pixels",
    ),
    near(close("glmark2 refract", MIDDLE), 0.8, 20, "as above"),
    mediump("glmark2-es2 refract", concat!("glmark2-es2 refract:", high!()), MIDDLE, 1.5, 40),
    close("glmark2-es2 shading:shading=gouraud", MIDDLE),
    close("glmark2-es2 shading:shading=blinn-phong-inf", MIDDLE),
    close(concat!("glmark2-es2 shading:shading=phong:num-lights=3:", high!()), MIDDLE),
    mediump(
        "glmark2-es2 shading:shading=phong:num-lights=3",
        concat!("glmark2-es2 shading:shading=phong:num-lights=3:", high!()),
        MIDDLE,
        0.5,
        30,
    ),
    close("glmark2-es2 shading:shading=cel", MIDDLE),
    close("glmark2-es2 shadow", MIDDLE),
    near(close("glmark2 terrain", EARLY), 0.3, 8, "noise from the lowest bits of floats"),
    close("glmark2-es2 texture:texture-filter=nearest", MIDDLE),
    close("glmark2-es2 texture:texture-filter=linear", MIDDLE),
    close("glmark2-es2 texture:texture-filter=mipmap", MIDDLE),
    close("glmark2-es2 texture:texture-filter=linear-shader", MIDDLE),
];

impl Program {
    /// The name of the test.
    pub fn name(&self) -> String {
        self.line.replacen(' ', "/", 1) + self.suffix
    }

    /// The variant of the program with 32-bit floats, if it uses mediump.
    pub fn high(&self) -> Option<Program> {
        // With a folder of its own: the scene is also a program of the list, and tests run in parallel.
        self.high.map(|line| Program { suffix: "_for_mediump", ..close(line, self.frame) })
    }

    fn split(&self) -> (&'static str, &'static str) {
        self.line.split_once(' ').unwrap_or((self.line, ""))
    }

    /// The API that the program draws with.
    pub fn api(&self) -> Api {
        match self.split().0 {
            "glxgears" | "es2gears_x11" | "glmark2" | "glmark2-es2" => Api::OpenGl,
            "moderngl_draw.py" | "vtk_draw.py" | "panda3d_draw.py" => Api::OpenGl,
            _ => Api::Vulkan,
        }
    }

    /// Whether it looks for an EGL device, which has a render node.
    pub fn takes_node(&self) -> bool {
        self.line.ends_with(".py") && self.api() == Api::OpenGl
    }

    /// The size of the program's screen; none if it has no window.
    pub fn screen(&self) -> Option<&'static str> {
        match self.frame {
            Frame::Written(_) => None,
            _ if self.line == "gtk4-widget-factory" => Some("1400x800"),
            _ => Some(SIZE),
        }
    }

    /// Completes the command that starts the program: its own environment and its whole command line, with
    /// the paths of `root`, the directory of Debian's Mesa.
    pub fn start(
        &self,
        command: &mut Command,
        driver: &Driver,
        directory: &Path,
        root: &Path,
    ) -> Result<(), String> {
        let share = |name: &str| root.join("usr/share").join(name).display().to_string();
        let (program, scene) = self.split();
        let (width, height) = SIZE.split_once('x').unwrap_or_default();
        if program.ends_with(".py") || program.ends_with(".mjs") {
            return clients::start(program, command, driver, Some(directory), root);
        }
        command.arg("--");
        match program {
            "qml6" => command.arg(root.join("usr/lib/qt6/bin/qml")),
            "testgpu_spinning_cube" => {
                command.arg(root.join("usr/libexec/installed-tests/SDL3").join(program))
            }
            _ => command.arg(program),
        };
        match program {
            "vkcube" => {
                let wsi = if self.wayland { "wayland" } else { scene };
                if !wsi.is_empty() {
                    command.args(["--wsi", wsi]);
                }
                command.args(["--width", width, "--height", height])
            }
            "vkmark" => {
                let lib = driver.libraries(root);
                let winsys = if self.wayland { "wayland" } else { "xcb" };
                command.args(["--data-dir", &share("vkmark"), "--winsys", winsys, "--winsys-dir"]);
                command.arg(lib.join("vkmark")).args(["--size", SIZE, "--benchmark", scene])
            }
            "glmark2" | "glmark2-es2" => {
                let data = share("glmark2");
                command.args(["--data-path", &data, "--size", SIZE, "--benchmark", scene])
            }
            "gtk4-widget-factory" => {
                command.env("GSK_RENDERER", "vulkan").env("GDK_BACKEND", "x11");
                command
                    .env("TEPUI_STILL_LIBRARY", "libglib-2.0")
                    // The number of clock reads of the main loop before a frame depends on the machine's
                    // load, and a progress bar moves after a quarter of a second: 380 pixels. If time is
                    // stopped, no timer fires.
                    .env("TEPUI_STILL_CALLS", "0");
                // A spinner would turn.
                let folder = directory.join("gtk-4.0");
                fs::create_dir_all(&folder)
                    .and_then(|()| {
                        let settings = "[Settings]\ngtk-enable-animations=0\n";
                        fs::write(folder.join("settings.ini"), settings)
                    })
                    .map_err(|e| format!("{}: {e}", folder.display()))?;
                // Nothing from the desktop on which the tests may run.
                command.env("GTK_A11Y", "none").env("GSETTINGS_BACKEND", "memory");
                command.env("DBUS_SESSION_BUS_ADDRESS", "disabled:")
            }
            "qml6" => {
                command.env("QSG_RHI_BACKEND", "vulkan").env("QT_QPA_PLATFORM", "xcb");
                command.env("QSG_INFO", "1");
                command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes").join(scene))
            }
            "testgpu_spinning_cube" => {
                command.env("SDL_VIDEODRIVER", "x11");
                command.args(["--gpu", "vulkan", "--geometry", SIZE])
            }
            "vkd3d-gears" => command,
            "ffmpeg" => ffmpeg(scene, command, driver).arg(directory.join("picture.png")),
            "mpv" => {
                // See `dummy_waits` of this package: otherwise submissions fail by chance.
                command.env("TEPUI_LEAVE_OUT_DUMMY_WAITS", "1");
                command.args(["--no-config", "--vo=gpu-next", "--gpu-api=vulkan", "--ao=null"]);
                command.args(["--gpu-context=x11vk", "--osc=no", "--osd-level=0", "-v"]);
                // lavapipe, too. The last frame stays.
                command.args(["--gpu-sw=yes", "--keep-open=yes", "--framedrop=no"]);
                command.arg(format!("--geometry={SIZE}"));
                command.arg(format!("av://lavfi:testsrc2=size={SIZE}:rate=25:duration=1"))
            }
            _ => command.args(["-info", "-geometry", SIZE]),
        };
        Ok(())
    }
}

/// FFmpeg's fifth frame of a moving test picture, enlarged by a filter.
fn ffmpeg<'a>(filter: &str, command: &'a mut Command, driver: &Driver) -> &'a mut Command {
    let filter = match filter {
        "libplacebo" => "libplacebo=w=480:h=360:upscaler=lanczos:format=rgba",
        // FFmpeg requires exportable timeline semaphores, which lavapipe does not have: its filter on the CPU
        // is the reference.
        "scale_vulkan" if *driver == REFERENCE => {
            "format=gbrp,scale=w=480:h=360:flags=bilinear+accurate_rnd+full_chroma_int"
        }
        // libplacebo reads the picture back from the GPU: `hwdownload` of this FFmpeg returns empty frames on
        // devices without VK_EXT_external_memory_host, although the buffers are right. Without alpha this
        // FFmpeg would choose a three-byte format, which ANV does not support for storage images.
        _ => "format=rgba,hwupload,scale_vulkan=w=480:h=360:scaler=bilinear,libplacebo=format=rgba",
    };
    command.args(["-nostdin", "-hide_banner", "-loglevel", "verbose"]);
    command.args(["-init_hw_device", "vulkan=gpu", "-filter_hw_device", "gpu"]);
    command.args(["-f", "lavfi", "-i", "testsrc2=size=320x240", "-vf", filter]);
    command.args(["-frames:v", "5", "-update", "1", "-y"])
}
