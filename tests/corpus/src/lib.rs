//! Runs SPIR-V modules through the front end: translates, validates, optimises and lowers them, and compares
//! runs before and after.
//!
//! [`corpus`] finds the modules of `tools/corpus`. [`check`] processes one, [`Report`] counts and
//! prints. The test checks all modules; the program `tepui-corpus` takes files.

mod report;
mod run;

pub use report::Report;
pub use run::RunOutcome;
pub use tepui_compiler_test::corpus::{
    Equality, WordDistribution, compare, corpus, memory, modules, read, wgsl, words,
};

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use tepui_ir::{Shader, validate};
use tepui_spirv::{Error, Options, entry_points, translate};

/// The outcome for one entry point.
#[derive(Debug)]
pub enum Outcome {
    /// Translated; valid before and after the passes.
    Compiled {
        /// Instructions of the IR before and after the passes.
        instructions: [usize; 2],
        /// The outcome of comparing two runs.
        ran: Option<RunOutcome>,
        /// The outcome of the AGX back end: number of instructions, or the reason for a refusal.
        agx: Result<u32, NotForAgx>,
    },
    /// The front end refused it with a reason.
    Refused(Error),
    /// The shader or a pass's result is not valid.
    Wrong(String),
    /// A panic.
    Crashed(String),
}

/// The reason why the AGX back end does not compile a shader.
#[derive(Debug)]
pub struct NotForAgx {
    /// The back end's message.
    pub why: String,
    /// Whether the shader exceeds Vulkan's limits for the GPU, so that no application may use it.
    pub too_large: bool,
}

/// One entry point of one module.
#[derive(Debug)]
pub struct Entry {
    /// The file.
    pub file: PathBuf,
    /// The entry point's name.
    pub name: String,
    /// A vendor's extension that the module declares, which Vulkan on another vendor's GPU need not support.
    pub vendor: Option<String>,
    /// The outcome.
    pub outcome: Outcome,
}

/// The first vendor extension or vendor instruction set that a module declares.
fn vendor_extension(words: &[u32]) -> Option<String> {
    const OP_EXTENSION: u32 = 10;
    const OP_EXT_INST_IMPORT: u32 = 11;
    const VENDORS: &[&str] =
        &["SPV_NV", "SPV_AMD", "SPV_QCOM", "SPV_ARM", "SPV_INTEL", "SPV_HUAWEI", "SPV_IMG"];
    let mut at = 5;
    while let Some(&w) = words.get(at) {
        let len = ((w >> 16) as usize).max(1);
        let name = match w & 0xffff {
            OP_EXTENSION => at + 1,
            OP_EXT_INST_IMPORT => at + 2,
            _ => words.len(),
        };
        let end = (at + len).min(words.len());
        if name < end {
            let bytes: Vec<u8> = words[name..end]
                .iter()
                .flat_map(|w| w.to_le_bytes())
                .take_while(|&b| b != 0)
                .collect();
            let name = String::from_utf8_lossy(&bytes).into_owned();
            if VENDORS.iter().any(|v| name.starts_with(v)) {
                return Some(name);
            }
        }
        at += len;
    }
    None
}

/// Checks every entry point of a module whose stage is supported.
#[must_use]
pub fn check(file: &Path, words: &[u32]) -> Vec<Entry> {
    let entry = |name: &str, outcome| Entry {
        file: file.to_owned(),
        name: name.to_owned(),
        vendor: vendor_extension(words),
        outcome,
    };
    let guarded = |f: &mut dyn FnMut() -> Outcome| {
        catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|p| {
            let text = p.downcast_ref::<String>().map(String::as_str);
            let text = text.or(p.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            Outcome::Crashed(text.lines().next().unwrap_or_default().to_owned())
        })
    };
    let entries = match entry_points(words) {
        Ok(e) => e,
        Err(e) => return vec![entry("", Outcome::Refused(e))],
    };
    entries
        .into_iter()
        .filter(|(_, stage)| stage.is_some())
        .map(|(name, stage)| {
            let options = Options { entry: Some(name.clone()), stage, ..Options::default() };
            // The seed depends on the name only, so that inputs are the same wherever the corpus is.
            let seed = file.file_name().map_or(0, |name| name.len() as u64);
            entry(&name, guarded(&mut || one(words, &options, seed)))
        })
        .collect()
}

fn one(words: &[u32], options: &Options, seed: u64) -> Outcome {
    let first = match translate(words, options) {
        Ok(s) => s,
        Err(e) => return Outcome::Refused(e),
    };
    let invalid =
        |when: &str, s: &Shader| validate(s).err().map(|e| Outcome::Wrong(format!("{when}: {e}")));
    if let Some(w) = invalid("translated", &first) {
        return w;
    }
    // Names of values are comments, which are ignored.
    let mut nameless = first.clone();
    nameless.names.clear();
    let text = nameless.to_string();
    match tepui_ir::parse(&text) {
        Ok(s) => {
            let again = s.to_string();
            if again != text {
                let lines = text.lines().zip(again.lines()).find(|(a, b)| a != b);
                return Outcome::Wrong(format!("the text changes when it is read back: {lines:?}"));
            }
        }
        Err(e) => return Outcome::Wrong(format!("the text cannot be read back: {e}")),
    }
    let mut optimised = first.clone();
    let mut broken = None;
    tepui_passes::pipeline::optimise_with(&mut optimised, &mut |pass, s| {
        if broken.is_none() {
            broken = invalid(pass, s);
        }
    });
    if let Some(w) = broken {
        return w;
    }
    let instructions = [first.inst_count(), optimised.inst_count()];
    let ran = match run::compare(&first, seed) {
        Ok(r) => r,
        Err(e) => return Outcome::Wrong(e),
    };
    let agx = match agx(&first) {
        Ok(a) => a,
        Err(e) => return Outcome::Wrong(format!("AGX: {e}")),
    };
    Outcome::Compiled { instructions, ran, agx }
}

/// Compiles a shader for AGX as the main part of its stage, fragment shaders for a picture and transform
/// feedback as well; returns the number of instructions, or the reason for a refusal.
fn agx(first: &Shader) -> Result<Result<u32, NotForAgx>, String> {
    use tepui_agx_compiler::abi::tile::Tile;
    use tepui_agx_compiler::abi::{Colours, Fragment, Vertex, VertexResults};
    use tepui_agx_compiler::{Error as Agx, Interface, Options, compile_as};
    // Shaders that read the tile are compiled with known render targets.
    let mut reads_tile = false;
    first.walk(|s, _, i| reads_tile |= s.insts[i].op == tepui_ir::Op::LoadOutput);
    let mut interfaces = Vec::new();
    if !reads_tile {
        interfaces.push(Interface::main(first.info.stage));
    }
    if !first.captures.is_empty() {
        let results = VertexResults::Memory;
        interfaces.push(Interface::Vertex(Vertex { results, ..Vertex::default() }));
    }
    if first.info.stage == tepui_ir::Stage::Fragment {
        let tile = Tile::single(tepui_format::Format::R8G8B8A8_UNORM);
        let colours = Colours::Tile(Box::new(tile));
        interfaces.push(Interface::Fragment(Fragment { colours, ..Fragment::default() }));
    }
    let mut out = Ok(0);
    for interface in interfaces {
        match compile_as(&mut first.clone(), &Options::default(), &interface, &mut |_, _| {}) {
            Ok(p) => out = Ok(p.stats.instructions),
            Err(e @ (Agx::Internal(_) | Agx::Encode(_))) => return Err(e.to_string()),
            // Without the position, so that equal reasons are counted together.
            Err(Agx::Op { op, why, .. }) => {
                let why = format!("`{}` {why}", op.name());
                return Ok(Err(NotForAgx { why, too_large: false }));
            }
            Err(e) => {
                let too_large = matches!(e, Agx::Limit { .. });
                return Ok(Err(NotForAgx { why: e.to_string(), too_large }));
            }
        }
    }
    Ok(out)
}
