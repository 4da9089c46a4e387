//! Shader files of any language as SPIR-V: `.spv` as it is, WGSL by naga, GLSL by glslangValidator where there is one, else by naga.

use std::path::{Path, PathBuf};
use std::process::Command;

use naga::back::spv::SourceLanguage as Language;
use tepui_ir::Stage;

/// A shader file that was read.
pub struct Module {
    /// SPIR-V words.
    pub words: Vec<u32>,
    /// The stage that the file's name tells.
    pub stage: Option<Stage>,
    /// Specialisation constants have their values already.
    pub specialised: bool,
}

fn words(bytes: &[u8]) -> Result<Vec<u32>, String> {
    if !bytes.len().is_multiple_of(4) {
        return Err(format!("{} bytes are not a whole number of SPIR-V words", bytes.len()));
    }
    let swap = bytes.first() == Some(&0x07);
    Ok(bytes
        .chunks_exact(4)
        .map(|c| {
            let w = u32::from_le_bytes([c[0], c[1], c[2], c[3]]);
            if swap { w.swap_bytes() } else { w }
        })
        .collect())
}

/// The stage that a file's name tells: `x.comp`, `x.vert.glsl`.
fn stage_of(path: &Path) -> Option<Stage> {
    let name = path.file_name()?.to_str()?;
    name.rsplit('.').find_map(|part| match part {
        "comp" => Some(Stage::Compute),
        "vert" => Some(Stage::Vertex),
        "frag" => Some(Stage::Fragment),
        _ => None,
    })
}

/// Where glslangValidator is: on the path, or in the folder that `tools/mesa` keeps.
fn glslang() -> Option<Command> {
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
    // The folder has a libc of its own, which its programs need.
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

fn by_glslang(
    mut tool: Command,
    path: &Path,
    stage: Stage,
    defines: &[String],
) -> Result<Vec<u32>, String> {
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let out = dir.path().join("out.spv");
    let stage = match stage {
        Stage::Compute => "comp",
        Stage::Vertex => "vert",
        Stage::Fragment => "frag",
    };
    tool.args(["-V", "--target-env", "vulkan1.3", "--quiet", "-g", "-S", stage, "-o"]).arg(&out);
    for d in defines {
        tool.arg(format!("-D{d}"));
    }
    let got = tool.arg(path).output().map_err(|e| format!("glslangValidator: {e}"))?;
    if !got.status.success() {
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&got.stdout),
            String::from_utf8_lossy(&got.stderr)
        );
        return Err(format!("glslangValidator: {}", text.trim()));
    }
    words(&std::fs::read(&out).map_err(|e| e.to_string())?)
}

/// The values of WGSL's overrides, by their names or the numbers of `@id`.
fn overrides(spec: &[String]) -> Result<naga::back::PipelineConstants, String> {
    let mut constants = naga::back::PipelineConstants::default();
    for s in spec {
        let (name, value) = s.split_once('=').ok_or_else(|| format!("`{s}`: write NAME=VALUE"))?;
        let value = match value {
            "true" => 1.0,
            "false" => 0.0,
            number => number.parse().map_err(|_| format!("`{number}` is no number"))?,
        };
        constants.insert(name.to_owned(), value);
    }
    Ok(constants)
}

fn by_naga(
    module: &naga::Module,
    path: &Path,
    text: &str,
    language: Language,
    spec: &[String],
) -> Result<Vec<u32>, String> {
    let info = naga::valid::Validator::new(
        naga::valid::ValidationFlags::all(),
        naga::valid::Capabilities::all(),
    )
    .validate(module)
    .map_err(|e| format!("naga: {e:?}"))?;
    let (module, info) =
        naga::back::pipeline_constants::process_overrides(module, &info, None, &overrides(spec)?)
            .map_err(|e| format!("{e}: give it with --spec NAME=VALUE"))?;
    let name = path.display().to_string();
    // Names and lines for the listing; the loops that the source has, no more.
    let options = naga::back::spv::Options {
        flags: naga::back::spv::Options::default().flags | naga::back::spv::WriterFlags::DEBUG,
        debug_info: Some(naga::back::spv::DebugInfo {
            source_code: text,
            file_name: &name,
            language,
        }),
        lang_version: (1, 3),
        force_loop_bounding: false,
        // By all threads together: the other way is a store for each element by one of them.
        zero_initialize_workgroup_memory:
            naga::back::spv::ZeroInitializeWorkgroupMemoryMode::Native,
        ..Default::default()
    };
    naga::back::spv::write_vec(&module, &info, &options, None).map_err(|e| format!("naga: {e}"))
}

/// Reads a shader file.
///
/// # Errors
/// When the file cannot be read, or no front end takes it.
pub fn load(
    path: &Path,
    stage: Option<Stage>,
    defines: &[String],
    spec: &[String],
) -> Result<Module, String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    if bytes.starts_with(&[0x03, 0x02, 0x23, 0x07])
        || bytes.starts_with(&[0x07, 0x23, 0x02, 0x03])
        || extension == "spv"
    {
        return Ok(Module { words: words(&bytes)?, stage, specialised: false });
    }
    let text = String::from_utf8(bytes).map_err(|_| "is neither SPIR-V nor text".to_owned())?;
    if extension == "wgsl" {
        let module = naga::front::wgsl::parse_str(&text).map_err(|e| e.emit_to_string(&text))?;
        let words = by_naga(&module, path, &text, Language::WGSL, spec)?;
        return Ok(Module { words, stage, specialised: true });
    }
    let Some(stage) = stage.or_else(|| stage_of(path)) else {
        return Err("the name tells no stage: give --stage compute, vertex or fragment".to_owned());
    };
    let first = match glslang() {
        Some(tool) => match by_glslang(tool, path, stage, defines) {
            Ok(words) => return Ok(Module { words, stage: Some(stage), specialised: false }),
            Err(e) => e,
        },
        None => {
            "glslangValidator is not on the path (Debian's package glslang-tools has it)".to_owned()
        }
    };
    let mut options = naga::front::glsl::Options::from(match stage {
        Stage::Compute => naga::ShaderStage::Compute,
        Stage::Vertex => naga::ShaderStage::Vertex,
        Stage::Fragment => naga::ShaderStage::Fragment,
    });
    for d in defines {
        let (name, value) = d.split_once('=').unwrap_or((d, "1"));
        options.defines.insert(name.to_owned(), value.to_owned());
    }
    let parsed = naga::front::glsl::Frontend::default().parse(&options, &text);
    match parsed
        .map_err(|e| format!("naga: {}", e.emit_to_string(&text)))
        .and_then(|m| by_naga(&m, path, &text, Language::GLSL, spec))
    {
        Ok(words) => Ok(Module { words, stage: Some(stage), specialised: true }),
        Err(second) => Err(format!("no front end takes it.\n{first}\n{second}")),
    }
}
