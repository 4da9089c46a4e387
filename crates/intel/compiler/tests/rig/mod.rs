//! The compiler, and the model without a driver, as the shared tests take them.

#[path = "../image_memory/mod.rs"]
mod image_memory;

use image_memory::bindings;
pub use tepui_compiler_test::images::QUADS;
use tepui_compiler_test::images::divides_quads;
use tepui_compiler_test::{Compiler, Counts, Executor, Failure, Refusal};
use tepui_intel_analysis::Code;
use tepui_intel_analysis::scoreboard::{Rules, check as check_scoreboard};
use tepui_intel_bare::Machine;
use tepui_intel_chips::chip;
use tepui_intel_compiler::{Options, Program, Snapshot, compile_prepared, lower, prepare};
use tepui_intel_isa::{Generation, Inst};
use tepui_ir::Shader;
use tepui_ir::interp::Memory;

/// The compiler for a generation, with its options.
pub struct Eu(pub Generation, pub Options<'static>);

/// A program, and its machine IR if `TEPUI_MIR` asks for that; `TEPUI_LISTING` prints every program.
pub struct Compiled {
    pub program: Program,
    mir: String,
}

impl Compiler for Eu {
    type Program = Compiled;

    fn subgroup(&self) -> usize {
        usize::from(self.1.width)
    }

    fn lower(&self, s: &mut Shader, look: &mut dyn FnMut(&'static str, &Shader)) {
        lower(s, self.0, &self.1, look);
    }

    fn prepare(&self, s: &mut Shader) {
        prepare(s, self.0, &self.1, &mut |_, _| {});
    }

    fn compile(&self, s: &Shader) -> Result<Compiled, Refusal> {
        let mut mir = String::new();
        let mut keep = |name: &str, m: Snapshot<'_>| {
            if let (true, Snapshot::Mir(m)) = (std::env::var_os("TEPUI_MIR").is_some(), m) {
                mir = format!("{name}\n{}", tepui_intel_compiler::print::Text(m));
            }
        };
        match compile_prepared(s, self.0, &self.1, &mut keep) {
            Ok(program) => {
                scoreboard(self.0, &program).map_err(|e| Refusal::Bug(format!("{e}\n{mir}")))?;
                if std::env::var_os("TEPUI_LISTING").is_some() {
                    println!("{s}\n{mir}\n{}{}", listing(self.0, &program), program.stats);
                }
                Ok(Compiled { program, mir })
            }
            Err(e) if e.is_bug() => Err(Refusal::Bug(format!("{e}\n{mir}"))),
            Err(e) => Err(Refusal::Unsupported(e.to_string())),
        }
    }

    fn listing(&self, p: &Compiled) -> String {
        p.mir.clone() + &listing(self.0, &p.program)
    }

    fn counts(&self, p: &Compiled) -> Counts {
        Counts { fills: p.program.stats.fills, loops: p.program.stats.loops }
    }
}

fn listing(generation: Generation, p: &Program) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < p.code.len() {
        match Inst::decode(generation, &p.code, at) {
            Ok(inst) => {
                text += &format!("{at:#06x} {inst}\n");
                at += inst.bytes();
            }
            Err(e) => return format!("{text}{e}"),
        }
    }
    text
}

/// Rules of the scoreboard checker on Gen12. In-order instructions write in order.
const RULES: Rules = Rules { in_order_writes: false, ..Rules::STRICT };

/// Checks the scoreboard annotations of a program.
fn scoreboard(generation: Generation, p: &Program) -> Result<(), String> {
    if generation == Generation::Gen9 {
        return Ok(());
    }
    let code = Code::decode(generation, &p.code).map_err(|e| e.to_string())?;
    for rules in [RULES, Rules::MESA] {
        let found = check_scoreboard(&code, rules).map_err(|e| e.to_string())?;
        if let Some(first) = found.first() {
            let text = listing(generation, p);
            return Err(format!(
                "{} accesses without order: {}\n{text}",
                found.len(),
                first.text(&code)
            ));
        }
    }
    Ok(())
}

/// The model without a driver.
pub struct Model(Machine);

impl Model {
    /// A model of a generation that checks instructions.
    pub fn new(generation: Generation) -> Model {
        let id = match generation {
            Generation::Gen9 => "skl",
            Generation::Gen12 => "tgl",
        };
        let options = tepui_intel_model::Options {
            threads: 1,
            check: true,
            max_instructions: 1 << 22,
            ..Default::default()
        };
        Model(Machine::new(chip(id).expect("a chip"), options))
    }
}

impl Executor for Model {
    type Program = Compiled;

    fn execute(
        &mut self,
        p: &Compiled,
        s: &Shader,
        memory: &mut Memory,
        groups: [u32; 3],
    ) -> Result<(), Failure> {
        if divides_quads(s, true) {
            return Err(Failure::Unsupported(QUADS.to_owned()));
        }
        let mut bindings = bindings(s, memory);
        let stats = self.0.run(&p.program, &mut bindings, groups).map_err(|e| match e {
            tepui_intel_bare::Error::Texels(_) => Failure::Unsupported(e.to_string()),
            e => Failure::Wrong(e.to_string()),
        })?;
        if let Some(r) = stats.reports.first() {
            return Err(Failure::Wrong(format!("{:#x}: {}: {}", r.at.offset, r.at.text, r.what)));
        }
        memory.buffers.extend(bindings.buffers);
        memory.images.extend(bindings.images.into_iter().map(|(slot, p)| (slot, p.data)));
        Ok(())
    }
}

/// Generations that the compiler knows.
pub const GENERATIONS: [Generation; 2] = [Generation::Gen9, Generation::Gen12];

/// Options that tests share: the compiler checks what it does.
pub fn options(width: u8) -> Options<'static> {
    Options { width, check: true, ..Options::default() }
}
