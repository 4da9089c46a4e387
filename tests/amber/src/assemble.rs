//! Compiles and assembles shaders to SPIR-V, with the tools in the sysroot of `tools/mesa`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Refusal;
use crate::script::{Language, Shader, Stage};

fn stage(s: Stage) -> &'static str {
    match s {
        Stage::Compute => "comp",
        Stage::Vertex => "vert",
        Stage::TessellationControl => "tesc",
        Stage::TessellationEvaluation => "tese",
        Stage::Geometry => "geom",
        Stage::Fragment => "frag",
    }
}

/// Returns a shader's SPIR-V words, from `cache` if it was assembled before.
///
/// # Errors
/// The error message of the assembler or the GLSL compiler.
pub fn words(shader: &Shader, cache: &Path) -> Result<Vec<u32>, Refusal> {
    if shader.language == Language::SpirvHex {
        return hex(&shader.source);
    }
    let mut hash = DefaultHasher::new();
    (&shader.source, &shader.target, shader.language, stage(shader.stage)).hash(&mut hash);
    let file = cache.join(format!("{:016x}.spv", hash.finish()));
    if !file.exists() {
        assemble(shader, &file)?;
    }
    tepui_corpus::read(&file).map_err(|e| crate::failed(format!("{}: {e}", file.display())))
}

fn hex(text: &str) -> Result<Vec<u32>, Refusal> {
    let word = |w: &str| u32::from_str_radix(w.trim_start_matches("0x"), 16);
    let words = text.split_whitespace().map(word).collect::<Result<Vec<_>, _>>();
    words.map_err(|e| crate::failed(format!("SPIR-V in hexadecimal: {e}")))
}

fn assemble(shader: &Shader, file: &Path) -> Result<(), Refusal> {
    let io = |e: std::io::Error| crate::failed(format!("{}: {e}", file.display()));
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(io)?;
    }
    // Two threads may assemble the same shader, so each writes to its own file and renames it.
    let own = format!("{:?}", std::thread::current().id()).replace(['(', ')'], "-");
    let source = file.with_extension(format!("{own}{}.txt", std::process::id()));
    let draft = source.with_extension("tmp");
    std::fs::write(&source, &shader.source).map_err(io)?;
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/mesa");
    let mut command = Command::new(tool);
    command.args(["run", "--icd", "none", "--"]);
    // These tools do not need the virtual render node.
    command.env_remove("LD_PRELOAD");
    let target = shader.target.as_deref();
    match shader.language {
        Language::SpirvAsm => {
            let target = target.map_or_else(|| "spv1.0".to_owned(), str::to_owned);
            command.args(["spirv-as", "--target-env", &target, "-o"]).arg(&draft).arg(&source);
        }
        Language::Glsl | Language::SpirvHex => {
            let target =
                target.map_or_else(|| "spirv1.0".to_owned(), |t| t.replace("spv", "spirv"));
            command.args(["glslangValidator", "--quiet", "-V", "--target-env", &target]);
            command.args(["-S", stage(shader.stage), "-o"]).arg(&draft).arg(&source);
        }
    }
    let out = command.output().map_err(|e| crate::failed(format!("tools/mesa: {e}")));
    let _ = std::fs::remove_file(&source);
    let out = out?;
    if !out.status.success() {
        let said = [out.stdout, out.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let line = said.lines().find(|l| l.contains("rror")).or(said.lines().next());
        let line = line.unwrap_or_default().replace(&source.display().to_string(), "");
        return Err(crate::failed(format!("a shader does not assemble: {line}")));
    }
    std::fs::rename(&draft, file).map_err(io)
}

/// The default folder for assembled shaders.
#[must_use]
pub fn default_cache() -> PathBuf {
    std::env::temp_dir().join("tepui-amber")
}
