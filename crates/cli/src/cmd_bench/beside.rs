//! `tepui bench compile --beside mesa`: a compiler and the one of Mesa's driver for the same GPU, in turns in one process.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use tepui_gpus::Gpu;

/// A peer of the compiler.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Peer {
    /// The driver of Debian's Mesa, on the virtual GPU.
    Mesa,
}

/// Inputs of a comparison.
pub struct Comparison<'a> {
    pub gpu: Gpu,
    pub files: &'a [PathBuf],
    /// Number of compilations of each shader.
    pub n: usize,
    pub json: bool,
    /// The script that runs programs on Debian's Mesa.
    pub mesa: &'a Path,
    /// The Vulkan client, if it is not next to this program.
    pub witness: Option<&'a Path>,
}

/// Runs the client, which prints the figures of both. Shaders in GLSL and WGSL are translated first.
pub fn run(c: &Comparison<'_>) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let (icd, device) = match c.gpu {
        Gpu::Agx(_) => ("honeykrisp", "Apple"),
        Gpu::Intel(_) => ("anv", "Intel"),
        gpu => return Err(format!("there is no peer for {}", gpu.id()).into()),
    };
    let witness = super::witness(c.witness, "--witness")?;
    let folder = std::env::temp_dir().join(format!("tepui-beside-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let status = translate(c.files, &folder).and_then(|files| {
        let mut command = Command::new(std::env::current_exe()?);
        // Every pipeline is compiled.
        command.env("MESA_SHADER_CACHE_DISABLE", "true");
        command.args(["shim", "--gpu", c.gpu.id(), "--"]).arg(c.mesa).args(["run", "--icd", icd]);
        command.arg("--").arg(witness).args(["pipelines", "--device", device]);
        command.arg("-n").arg(c.n.to_string());
        if c.json {
            command.arg("--json");
        }
        Ok(command.args(files).status()?)
    });
    std::fs::remove_dir_all(&folder)?;
    Ok(if status?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// SPIR-V files of shaders, in a folder.
fn translate(files: &[PathBuf], folder: &Path) -> Result<Vec<PathBuf>, Box<dyn std::error::Error>> {
    let mut all = Vec::with_capacity(files.len());
    for file in files {
        let module = crate::frontend::load(file, None, &[], &[])
            .map_err(|why| format!("{}: {why}", file.display()))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let to = folder.join(format!("{name}.spv"));
        std::fs::write(
            &to,
            module.words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>(),
        )?;
        all.push(to);
    }
    Ok(all)
}
