//! Compiles GLSL to SPIR-V, with the compiler of the sysroot that the drivers come from.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::case::Shader;

/// The folder of the GLSL files.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders")
}

/// `tools/mesa`, which runs programs of the sysroot.
pub fn mesa_tool() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/mesa")
}

/// The SPIR-V words of `shader`, from `cache` if it was compiled before.
pub fn compile(shader: &Shader, cache: &Path) -> Result<Vec<u32>, String> {
    let source = sources().join(shader.file);
    let text = std::fs::read(&source).map_err(|e| format!("{}: {e}", source.display()))?;
    let mut hash = DefaultHasher::new();
    (shader, &text, shared_text()?).hash(&mut hash);
    let stem = shader.file.trim_end_matches(".comp");
    let binary = cache.join(format!("{stem}-{:016x}.spv", hash.finish()));
    if !binary.exists() {
        std::fs::create_dir_all(cache).map_err(|e| format!("{}: {e}", cache.display()))?;
        glslang(shader, &source, &binary)?;
    }
    std::fs::File::open(&binary)
        .and_then(|mut file| ash::util::read_spv(&mut file))
        .map_err(|e| format!("{}: {e}", binary.display()))
}

/// The files that shaders include.
fn shared_text() -> Result<Vec<Vec<u8>>, String> {
    let directory = sources();
    let mut paths: Vec<_> = std::fs::read_dir(&directory)
        .map_err(|e| format!("{}: {e}", directory.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "glsl"))
        .collect();
    paths.sort();
    paths.iter().map(|p| std::fs::read(p).map_err(|e| format!("{}: {e}", p.display()))).collect()
}

fn glslang(shader: &Shader, source: &Path, binary: &Path) -> Result<(), String> {
    // Written under another name first: two processes may compile the same shader at the same time.
    let draft = binary.with_extension(format!("{}.tmp", std::process::id()));
    let mut command = Command::new(mesa_tool());
    command
        .args(["run", "--icd", "none", "--", "glslangValidator", "--quiet", "-V"])
        .args(["--target-env", "vulkan1.3"])
        .arg(format!("-I{}", sources().display()))
        .args(shader.defines.iter().map(|(name, value)| format!("-D{name}={value}")))
        .arg("-o")
        .arg(&draft)
        .arg(source)
        // The virtual render node is for the driver, not for the compiler.
        .env_remove("LD_PRELOAD");
    let output = command.output().map_err(|e| format!("tools/mesa: {e}"))?;
    if !output.status.success() {
        return Err(format!(
            "{} with {:?}: {}{}",
            shader.file,
            shader.defines,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    std::fs::rename(&draft, binary).map_err(|e| format!("{}: {e}", binary.display()))
}
