//! The programs, and the frame of each that is compared.

use std::path::Path;

/// The screen and the windows: widthxheight in pixels.
pub const SIZE: &str = "320x240";

/// What a program draws with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// Vulkan.
    Vulkan,
    /// OpenGL or OpenGL ES.
    OpenGl,
}

/// How the frame is found that every driver draws alike.
#[derive(Clone, Copy)]
pub enum Frame {
    /// The picture on the screen after the program asked for the time this often, when the clock of
    /// this package stands still.
    Calls(u64),
    /// The frame of this number, kept by Mesa's screenshot layer: for a program whose pictures
    /// depend on nothing else.
    Number(u64),
}

/// A program and a scene of it.
pub struct Program {
    /// The program and its arguments without those that [`Program::command`] adds; for vkmark and
    /// glmark2, the benchmark.
    line: &'static str,
    /// The frame that is compared.
    pub frame: Frame,
    /// How many pixels of a hundred may differ.
    pub percent: f64,
    /// Whether one colour is what it draws.
    pub plain: bool,
    /// Whether it prints the name of the renderer.
    pub says_device: bool,
    /// The same with floats of 32 bits, when it asks for mediump.
    high: Option<&'static str>,
    /// What the name has behind the line.
    suffix: &'static str,
}

/// A frame from the middle of the animation.
const MIDDLE: Frame = Frame::Calls(30);
/// A frame near its start, of a scene that takes long.
const EARLY: Frame = Frame::Calls(14);

/// At most one pixel in a thousand differs. Nearly all pictures are the same in every pixel.
const fn close(line: &'static str, frame: Frame) -> Program {
    Program { line, frame, percent: 0.1, plain: false, says_device: true, high: None, suffix: "" }
}

/// At most one pixel in a hundred differs: `why` is for the reader.
const fn near(line: &'static str, frame: Frame, why: &'static str) -> Program {
    let _ = why;
    Program { line, frame, percent: 1.0, plain: false, says_device: true, high: None, suffix: "" }
}

/// A scene of one colour.
const fn plain(line: &'static str, frame: Frame) -> Program {
    Program { line, frame, percent: 0.0, plain: true, says_device: true, high: None, suffix: "" }
}

/// A scene whose picture hangs on the lowest bits of floats, with mediump: 16 bits both on the M1 and in llvmpipe, which do not
/// round in the same places. `high` is the same scene with 32 bits, which says how much that is.
const fn mediump(line: &'static str, high: &'static str, frame: Frame) -> Program {
    Program { high: Some(high), ..close(line, frame) }
}

/// Shaders of OpenGL ES with floats of 32 bits. By default the scenes ask for mediump.
macro_rules! high {
    () => {
        "fragment-precision=high,high,high,high"
    };
}

/// Everything that is drawn. Of vkmark and glmark2, every scene.
pub const PROGRAMS: &[Program] = &[
    close("vkcube", Frame::Number(20)),
    close("glxgears", MIDDLE),
    Program { says_device: false, ..close("es2gears_x11", MIDDLE) },
    close("vkmark vertex:device-local=true", MIDDLE),
    close("vkmark vertex:device-local=false", MIDDLE),
    near("vkmark texture", MIDDLE, "anisotropic filters choose their samples themselves"),
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
        concat!("glmark2-es2 refract:", high!()),
        MIDDLE,
        "a mapped picture refracted twice: a unit of the normals' 8 bits moves it by pixels",
    ),
    near("glmark2 refract", MIDDLE, "as above"),
    mediump("glmark2-es2 refract", concat!("glmark2-es2 refract:", high!()), MIDDLE),
    close("glmark2-es2 shading:shading=gouraud", MIDDLE),
    close("glmark2-es2 shading:shading=blinn-phong-inf", MIDDLE),
    close(concat!("glmark2-es2 shading:shading=phong:num-lights=3:", high!()), MIDDLE),
    mediump(
        "glmark2-es2 shading:shading=phong:num-lights=3",
        concat!("glmark2-es2 shading:shading=phong:num-lights=3:", high!()),
        MIDDLE,
    ),
    close("glmark2-es2 shading:shading=cel", MIDDLE),
    close("glmark2-es2 shadow", MIDDLE),
    near("glmark2 terrain", EARLY, "noise from the lowest bits of floats"),
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

    /// The same program with floats of 32 bits, when it asks for mediump.
    pub fn high(&self) -> Option<Program> {
        // With a folder of its own: the scene is among the programs, too, and tests run at once.
        self.high.map(|line| Program { suffix: "_for_mediump", ..close(line, self.frame) })
    }

    fn split(&self) -> (&'static str, &'static str) {
        self.line.split_once(' ').unwrap_or((self.line, ""))
    }

    /// What the program draws with.
    pub fn api(&self) -> Api {
        if self.line.starts_with("vk") { Api::Vulkan } else { Api::OpenGl }
    }

    /// The whole command line, with the paths of `root`, the directory of Debian's Mesa.
    pub fn command(&self, root: &Path) -> Vec<String> {
        let share = |name: &str| root.join("usr/share").join(name).display().to_string();
        let (program, scene) = self.split();
        let (width, height) = SIZE.split_once('x').unwrap_or_default();
        let mut line = vec![program.to_owned()];
        let mut add = |arguments: &[&str]| line.extend(arguments.iter().map(|a| (*a).to_owned()));
        match program {
            "vkcube" => add(&["--width", width, "--height", height]),
            "vkmark" => {
                let lib =
                    root.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
                let plugins = lib.join("vkmark").display().to_string();
                add(&["--data-dir", &share("vkmark"), "--winsys-dir", &plugins, "--winsys", "xcb"]);
                add(&["--size", SIZE, "--benchmark", scene]);
            }
            "glmark2" | "glmark2-es2" => {
                add(&["--data-path", &share("glmark2"), "--size", SIZE, "--benchmark", scene]);
            }
            _ => add(&["-info", "-geometry", SIZE]),
        }
        line
    }
}
