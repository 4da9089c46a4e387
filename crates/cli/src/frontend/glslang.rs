//! Compiles GLSL with Khronos' glslangValidator, a separate program.

use std::path::{Path, PathBuf};
use std::process::Command;

use tepui_explore::source::{Source, words};
use tepui_ir::Stage;

use crate::input;

/// The command of glslangValidator: from PATH, or from the sysroot of `tools/mesa`.
fn tool() -> Option<Command> {
    let on_path = std::env::var_os("PATH").and_then(|paths| {
        std::env::split_paths(&paths).map(|p| p.join("glslangValidator")).find(|p| p.is_file())
    });
    if let Some(p) = on_path {
        return Some(Command::new(p));
    }
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = || {
        let cache =
            variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
        Some(cache.join("tepui/mesa"))
    };
    let root = variable("TEPUI_MESA_DIR").or_else(cache)?.join("root");
    let tool = root.join("usr/bin/glslangValidator");
    if !tool.is_file() {
        return None;
    }
    // The sysroot has its own libc, which its programs need.
    let lib = root.join("usr/lib/x86_64-linux-gnu");
    let loader = [
        root.join("usr/lib64/ld-linux-x86-64.so.2"),
        root.join("lib64/ld-linux-x86-64.so.2"),
        lib.join("ld-linux-x86-64.so.2"),
    ];
    let Some(loader) = loader.into_iter().find(|l| l.is_file()) else {
        return Some(Command::new(tool));
    };
    let mut c = Command::new(loader);
    c.arg("--library-path").arg(lib).arg(tool);
    Some(c)
}

/// Compiles GLSL to SPIR-V for Vulkan 1.3 with debug names and lines.
///
/// # Errors
/// glslangValidator is missing, or its error message.
pub fn compile(path: &Path, request: &Source<'_>, stage: Stage) -> Result<Vec<u32>, String> {
    let Some(mut tool) = tool() else {
        return Err(
            "glslangValidator is not on the path (it is in Debian's package glslang-tools)"
                .to_owned(),
        );
    };
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let out = dir.path().join("out.spv");
    let stage = match stage {
        Stage::Compute => "comp",
        Stage::Vertex => "vert",
        Stage::Fragment => "frag",
        Stage::TessControl => "tesc",
        Stage::TessEvaluation => "tese",
        Stage::Geometry => "geom",
    };
    tool.args(["-V", "--target-env", "vulkan1.3", "--quiet", "-g", "-S", stage, "-o"]).arg(&out);
    for d in request.defines {
        tool.arg(format!("-D{d}"));
    }
    if input::is_stdin(path) {
        let copy = dir.path().join("stdin.glsl");
        std::fs::write(&copy, request.text).map_err(|e| e.to_string())?;
        tool.arg(copy);
    } else {
        tool.arg(path);
    }
    let got = tool.output().map_err(|e| format!("glslangValidator: {e}"))?;
    if !got.status.success() {
        let (stdout, stderr) = (&got.stdout, &got.stderr);
        let text =
            format!("{}{}", String::from_utf8_lossy(stdout), String::from_utf8_lossy(stderr));
        return Err(format!("glslangValidator: {}", text.trim()));
    }
    words(&std::fs::read(&out).map_err(|e| e.to_string())?)
}
