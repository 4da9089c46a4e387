//! Intel's GPUs: shader text to machine code of execution units with source lines, its runs on the model, and recordings of
//! its threads.

pub mod record;
pub mod run;

use tepui_intel_chips::{CHIPS, Chip};
use tepui_intel_compiler::{Options, Program, Snapshot, Variant, compile_with};
use tepui_intel_isa::Inst;
use tepui_ir::{Shader, SrcLoc, Stage};

use crate::compile::{Pass, Report, ShaderError, Text, resources_of, translate};
use crate::listing::Line;

/// The chip of a name on the command line, such as `skl`.
#[must_use]
pub fn chip(id: &str) -> Option<&'static Chip> {
    CHIPS.iter().find(|chip| chip.id == id)
}

/// The manual's entry of the instruction that a line of a listing begins with, such as `(+f0.0) sel(8)` or `cmp.z.f0.0(8)`.
#[must_use]
pub fn manual(chip: &Chip, text: &str) -> String {
    let is_predicate = |word: &&str| word.starts_with('(');
    let word = text.split_whitespace().find(|word| !is_predicate(word)).unwrap_or_default();
    let mnemonic = word.split(['.', '(']).next().unwrap_or_default();
    tepui_intel_isa::manual::entry(chip.generation, mnemonic).unwrap_or_default()
}

/// A compiled shader.
pub struct Compiled {
    /// The GPU.
    pub chip: &'static Chip,
    /// Its IR after all passes, with the names of files and lines.
    pub shader: Shader,
    /// Its IR before all passes.
    pub translated: Shader,
    /// Machine code for each number of channels.
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
        return Err(ShaderError::new(
            "assembly is run for the M1 alone; `tepui asm` takes Intel's",
        ));
    }
    let words = text.spirv()?;
    let stage = text.stage_of(&words)?;
    let vertex = match stage {
        Stage::Fragment => translate(&words, Stage::Vertex).ok(),
        _ => None,
    };
    let options = Options {
        registers: text.code.registers,
        robust: text.code.robust,
        names: true,
        ..Options::default()
    };
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
            Snapshot::Mir(f) => tepui_intel_compiler::print::Text(f).to_string(),
        };
        Pass::add(&mut kept, name, text);
    };
    let program = compile_with(&mut shader, chip.generation, options, &mut after)
        .map_err(ShaderError::new)?;
    Ok(Compiled { chip, shader, translated, program, passes: kept, vertex: None })
}

/// The instructions, each with its place in the source.
#[must_use]
pub fn instructions(program: &Program, chip: &Chip, shader: &Shader) -> Vec<(usize, Inst, SrcLoc)> {
    let places = program.locs.iter().filter_map(|&(offset, loc)| {
        let inst = Inst::decode(chip.generation, &program.code, offset as usize).ok()?;
        Some((offset as usize, inst, shader.locs[loc]))
    });
    places.collect()
}

/// The instructions as lines of a listing.
#[must_use]
pub fn lines(program: &Program, chip: &Chip, shader: &Shader) -> Vec<Line> {
    let line = |(offset, inst, loc): (usize, Inst, SrcLoc)| {
        let bytes = &program.code[offset..offset + inst.bytes()];
        let bytes = bytes.iter().map(|b| format!("{b:02x}")).collect();
        Line { offset, bytes, text: inst.to_string(), line: loc.line }
    };
    instructions(program, chip, shader).into_iter().map(line).collect()
}

impl Compiled {
    /// The instructions of the program for one number of channels, with offsets from its beginning.
    #[must_use]
    pub fn lines(&self, variant: &Variant) -> Vec<Line> {
        let own = variant.offset as usize..(variant.offset + variant.stats.bytes) as usize;
        let all = lines(&self.program, self.chip, &self.shader).into_iter();
        let here = all.filter(|line| own.contains(&line.offset));
        here.map(|line| Line { offset: line.offset - own.start, ..line }).collect()
    }

    /// Cycles of a thread by Mesa's model.
    fn cycles(&self, variant: &Variant) -> Option<u64> {
        let code = &self.program.code[variant.offset as usize..];
        let code = code.get(..variant.stats.bytes as usize)?;
        let program = Program { code: code.to_vec(), width: variant.width, ..self.program.clone() };
        program.cycles(self.chip.generation).ok()
    }

    /// The report that the page shows: the program for the most channels, and statistics of all.
    #[must_use]
    pub fn report(self) -> Report {
        let stage = self.shader.info.stage.to_string();
        let mut summary = String::new();
        let (mut asm, mut stats) = (Vec::new(), Default::default());
        let mut limits = String::new();
        for variant in &self.program.variants {
            let cycles = self.cycles(variant);
            let text = cycles.map_or(String::new(), |cycles| format!(" {cycles} cycles."));
            summary += &format!("{}{text}\n", variant.stats);
            asm = self.lines(variant);
            let value = serde_json::to_value(variant.stats).ok();
            stats = value.and_then(|v| serde_json::from_value(v).ok()).unwrap_or_default();
            let stats: &mut std::collections::BTreeMap<String, i64> = &mut stats;
            stats.extend(cycles.map(|cycles| ("cycles".to_owned(), cycles as i64)));
            limits = format!(
                "{} channels a thread, {} of 128 registers",
                variant.width, variant.stats.registers
            );
        }
        Report {
            workgroup: self.program.workgroup_size,
            preamble: Vec::new(),
            asm,
            stats,
            occupancy: limits,
            summary: summary.trim_end().to_owned(),
            resources: resources_of([Some(&self.translated), self.vertex.as_ref()]),
            passes: self.passes,
            stage,
        }
    }
}
