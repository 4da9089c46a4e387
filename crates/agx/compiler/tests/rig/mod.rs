//! The compiler, and the model without a driver, as the shared tests take them.

use tepui_agx_bare::bind::Bound;
use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::{Error, Options, Program, Snapshot, compile_prepared, lower, prepare};
use tepui_agx_model::{Report, ReportKind};
use tepui_compiler_test::{Compiler, Counts, Executor, Failure, Refusal};
use tepui_ir::Shader;
use tepui_ir::interp::Memory;

/// The compiler with its options.
pub struct Agx(pub Options);

/// A program, and its machine IR if `TEPUI_MIR` asks for that.
pub struct Compiled {
    pub program: Program,
    mir: String,
}

impl Compiler for Agx {
    type Program = Compiled;

    fn lower(&self, s: &mut Shader, look: &mut dyn FnMut(&'static str, &Shader)) {
        lower(s, &self.0, look);
    }

    fn prepare(&self, s: &mut Shader) {
        prepare(s, &self.0, &mut |_, _| {});
    }

    fn compile(&self, s: &Shader) -> Result<Compiled, Refusal> {
        let mut mir = String::new();
        let mut keep = |_: &str, m: Snapshot<'_>| {
            if let (true, Snapshot::Mir(m)) = (std::env::var_os("TEPUI_MIR").is_some(), m) {
                mir = m.to_string();
            }
        };
        match compile_prepared(s, &self.0, &mut keep) {
            Ok(program) => Ok(Compiled { program, mir }),
            Err(e @ (Error::Internal(_) | Error::Encode(_))) => {
                Err(Refusal::Bug(format!("{e}\n{mir}")))
            }
            Err(e) => {
                let why = e.to_string();
                let why = why.split_once(": ").map_or(why.as_str(), |w| w.1);
                Err(Refusal::Unsupported(why.to_owned()))
            }
        }
    }

    fn listing(&self, p: &Compiled) -> String {
        p.mir.clone() + &listing(&p.program)
    }

    fn counts(&self, p: &Compiled) -> Counts {
        Counts { fills: p.program.stats.fills, loops: p.program.stats.loops }
    }
}

/// The model without a driver.
pub struct Model(Machine);

impl Executor for Model {
    type Program = Compiled;

    fn execute(
        &mut self,
        p: &Compiled,
        s: &Shader,
        memory: &mut Memory,
        groups: [u32; 3],
    ) -> Result<(), Failure> {
        let wrong = |e: tepui_agx_bare::Error| Failure::Wrong(e.to_string());
        let bound = Bound::new(&mut self.0, s, memory).map_err(|e| match e {
            tepui_agx_bare::Error::Texels(_) => Failure::Unsupported(e.to_string()),
            e => wrong(e),
        })?;
        let stats = shader::run(&mut self.0, &p.program, &bound.bindings, groups).map_err(wrong)?;
        if let Some(r) = stats.reports.iter().find(|r| !is_expected(r, &p.program)) {
            return Err(Failure::Wrong(format!("{:#x}: {}: {}", r.at.offset, r.at.text, r.what)));
        }
        *memory = bound.memory(memory).map_err(wrong)?;
        Ok(())
    }
}

/// Whether a report is of halves that an instruction ignores, which are copied and read: a minimum of the level of detail after
/// gradients takes a register of 32 bits, of which the low half counts, and a query of an array's level ignores the layer.
fn is_expected(r: &Report, p: &Program) -> bool {
    let ignores = |code: &str| ["lod_grad_min", "query_lod"].iter().any(|word| code.contains(word));
    r.kind == ReportKind::UnwrittenRegister && ignores(&listing(p))
}

/// Machine code as text.
fn listing(p: &Program) -> String {
    tepui_agx_isa::disasm::Disassembler::new(&p.code).map(|l| format!("{l}\n")).collect()
}

impl Model {
    /// A model; without checks, shaders may read what they have not written.
    pub fn new(check: bool) -> Model {
        let options = tepui_agx_model::Options {
            threads: 1,
            check,
            uninitialised: tepui_agx_model::POISON,
            instruction_budget: 1 << 24,
            ..Default::default()
        };
        Model(Machine::new(options).expect("a machine"))
    }
}
