//! Mali's GPUs: shader text to machine code of Valhall with source lines, its runs on the model, and recordings of its warps.

pub mod record;
pub mod run;

use tepui_ir::{Shader, SrcLoc, Stage};
use tepui_mali_chips::{CHIPS, Chip};
use tepui_mali_compiler::interface::PUSHED_WORDS;
use tepui_mali_compiler::{Options, Program, Snapshot, compile_with};
use tepui_mali_isa::Inst;
use tepui_mali_isa::inst::BYTES;

use crate::compile::{Pass, Report, ShaderError, Text, resources_of, translate};
use crate::listing::Line;

/// The chips that shaders are compiled for.
const COMPILED: [&str; 2] = ["mali-g57", "mali-g610"];

/// The chip of a name on the command line, such as `mali-g610`, that shaders are compiled for.
#[must_use]
pub fn chip(id: &str) -> Option<&'static Chip> {
    CHIPS.iter().find(|chip| chip.id == id && COMPILED.contains(&id))
}

/// The manual's entry of the instruction that a line of a listing begins with, such as `FADD.f32.wait0 r0, r1, u2`.
#[must_use]
pub fn manual(text: &str) -> String {
    let word = text.split_whitespace().next().unwrap_or_default();
    // Modifiers follow the mnemonic, which may have dots of its own.
    let ends = word.match_indices('.').map(|(at, _)| at).chain([word.len()]);
    let mut entries = ends.filter_map(|end| tepui_mali_isa::manual::entry(&word[..end]));
    entries.next_back().unwrap_or_default()
}

/// Options of the compiler, as the driver has them.
#[must_use]
pub fn options(registers: u16, robust: bool) -> Options<'static> {
    Options {
        registers,
        robust,
        pushed_words: PUSHED_WORDS,
        pushes_addresses: true,
        ..Options::default()
    }
}

/// A compiled shader.
pub struct Compiled {
    /// The GPU.
    pub chip: &'static Chip,
    /// Its IR after all passes, with the names of files and lines.
    pub shader: Shader,
    /// Its IR before all passes.
    pub translated: Shader,
    /// Machine code.
    pub program: Program,
    /// IR and machine IR after each pass.
    pub passes: Vec<Pass>,
    /// The vertex shader of the same text, of fragment shaders.
    pub vertex: Option<Shader>,
}

/// Compiles text for a chip.
///
/// # Errors
/// Reasons why it is refused, with the place where that is known.
pub fn compile(text: &Text, chip: &'static Chip, passes: bool) -> Result<Compiled, ShaderError> {
    if text.assembly {
        return Err(ShaderError::new("assembly is run for the M1 alone; `tepui asm` takes Mali's"));
    }
    let words = text.spirv()?;
    let stage = text.stage_of(&words)?;
    let vertex = match stage {
        Stage::Fragment => translate(&words, Stage::Vertex).ok(),
        _ => None,
    };
    let options = Options { names: true, ..options(text.code.registers, text.code.robust) };
    let compiled = compile_ir(translate(&words, stage)?, chip, &options, passes)?;
    Ok(Compiled { vertex, ..compiled })
}

/// Compiles IR for a chip.
///
/// # Errors
/// It needs what is not compiled.
pub fn compile_ir(
    translated: Shader,
    chip: &'static Chip,
    options: &Options<'_>,
    passes: bool,
) -> Result<Compiled, ShaderError> {
    let mut kept: Vec<Pass> = Vec::new();
    if passes {
        kept.push(Pass { name: "spirv", text: translated.to_string() });
    }
    let mut shader = translated.clone();
    let mut after = |name: &'static str, made: Snapshot<'_>| {
        if !passes {
            return;
        }
        let text = match made {
            Snapshot::Ir(s) => s.to_string(),
            Snapshot::Mir(f) => f.to_string(),
        };
        Pass::add(&mut kept, name, text);
    };
    let program = compile_with(&mut shader, options, &mut after).map_err(ShaderError::new)?;
    Ok(Compiled { chip, shader, translated, program, passes: kept, vertex: None })
}

/// The machine code up to its end, which is the first word of zeros.
pub(crate) fn code(program: &Program) -> &[u8] {
    let words = program.code.chunks_exact(BYTES);
    let count = words.take_while(|word| word.iter().any(|&byte| byte != 0)).count();
    &program.code[..BYTES * count]
}

/// The instructions, each with its place in the source.
#[must_use]
pub fn instructions(program: &Program, shader: &Shader) -> Vec<(usize, Inst, SrcLoc)> {
    let places = program.locs.iter().filter_map(|&(offset, loc)| {
        let inst = Inst::decode_at(&program.code, offset as usize).ok()?;
        Some((offset as usize, inst, shader.locs[loc]))
    });
    places.collect()
}

/// The instructions as lines of a listing.
#[must_use]
pub fn lines(program: &Program, shader: &Shader) -> Vec<Line> {
    let line = |(offset, inst, loc): (usize, Inst, SrcLoc)| {
        let bytes = &program.code[offset..offset + BYTES];
        let bytes = bytes.iter().map(|b| format!("{b:02x}")).collect();
        Line { offset, bytes, text: inst.to_string(), line: loc.line }
    };
    instructions(program, shader).into_iter().map(line).collect()
}

/// Names of [`Stats::cycles`](tepui_mali_compiler::Stats::cycles), in their order.
const CYCLES: [&str; 6] =
    ["multiply-add", "conversion", "special function", "varying", "texture", "load/store"];

impl Compiled {
    /// The report that the page shows.
    #[must_use]
    pub fn report(self) -> Report {
        let stats = &self.program.stats;
        let value = serde_json::to_value(stats).ok();
        let (cycles, slowest) = CYCLES
            .into_iter()
            .zip(stats.cycles())
            .map(|(name, cycles)| (cycles, name))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or_default();
        Report {
            stage: self.shader.info.stage.to_string(),
            workgroup: self.program.workgroup_size,
            preamble: Vec::new(),
            asm: lines(&self.program, &self.shader),
            stats: value.and_then(|v| serde_json::from_value(v).ok()).unwrap_or_default(),
            occupancy: format!(
                "{} of 64 registers, {} threads a core; {cycles:.2} cycles of a thread on the {slowest} unit",
                stats.registers,
                if stats.is_half() { "half of the" } else { "all" },
            ),
            summary: stats.to_string(),
            resources: resources_of([Some(&self.translated), self.vertex.as_ref()]),
            passes: self.passes,
        }
    }
}
