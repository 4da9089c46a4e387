//! Runs assembly on one warp, for tests.

use std::sync::Arc;
use tepui_mali_isa::midgard::{Bundle, TextureRegisters};

use tepui_softgpu::{AddressSpace, Memory, Protection, Reports};

use super::check::accesses::ProgramCheck;
use super::program::Program;
use super::run::run;
use super::step::Stop;
use crate::job::ReportKind;
use crate::units::Port;
use crate::warp::Warp;
use crate::warp::row::Row;
use crate::warp::trap::Trap;
use crate::warp::uniforms::Uniforms;

/// GPU address of 64 KiB of memory.
pub const MEMORY: u64 = 0x10_0000;

/// A warp with memory, uniforms and resource tables.
pub struct Bench {
    /// The warp.
    pub warp: Warp,
    /// Memory.
    pub vm: AddressSpace,
    /// Uniform words.
    pub uniforms: Vec<u32>,
    /// The pointer to the resource tables.
    pub resources: u64,
    /// The lanes that execute at the start.
    pub mask: u16,
    /// Reports of the checker, if it is on.
    checker: Option<Arc<Reports<ReportKind>>>,
}

impl Bench {
    /// A warp whose registers are zero.
    pub fn new() -> Bench {
        let vm = crate::address_space();
        let memory = Arc::new(Memory::new(1 << 16).expect("memory"));
        vm.bind(MEMORY, memory, 0, 1 << 16, Protection::READ | Protection::WRITE).expect("a range");
        let uniforms = vec![0; 256];
        let (resources, mask, checker) = (0, u16::MAX, None);
        Bench { warp: Warp::default(), vm, uniforms, resources, mask, checker }
    }

    /// A warp under the checker.
    pub fn checked() -> Bench {
        Bench { checker: Some(Arc::default()), ..Bench::new() }
    }

    /// The reports of the checker since the last call, with the offsets of instructions or clauses.
    pub fn reports(&self) -> Vec<(ReportKind, u32)> {
        let reports = self.checker.iter().flat_map(|reports| reports.take());
        reports.map(|report| (report.kind, report.at.offset)).collect()
    }

    /// Sets a register of all lanes.
    pub fn set(&mut self, register: usize, lanes: impl Fn(u32) -> u32) -> &mut Bench {
        self.warp.registers[register] = Row(std::array::from_fn(|lane| lanes(lane as u32)));
        self
    }

    /// Runs assembly to its end.
    pub fn try_run(&mut self, source: &str) -> Result<Stop, Trap> {
        let code = tepui_mali_isa::asm::assemble(source).unwrap_or_else(|e| panic!("{e:?}"));
        self.try_program(Program::decode(0x4000, code))
    }

    /// Runs assembly of Bifrost to its end.
    pub fn try_bifrost(&mut self, source: &str) -> Result<Stop, Trap> {
        let code = tepui_mali_isa::bifrost::asm::assemble(source);
        let code = code.unwrap_or_else(|e| panic!("{e:?}"));
        self.try_program(Program::decode_bifrost(0x4000, code, 8))
    }

    /// Runs bundles of Midgard to their end.
    pub fn try_midgard(&mut self, bundles: &[Bundle]) -> Result<Stop, Trap> {
        let code = bundles.iter().flat_map(Bundle::encode).collect();
        self.try_program(Program::decode_midgard(0x4000, code, TextureRegisters::Own))
    }

    fn try_program(&mut self, mut program: Program) -> Result<Stop, Trap> {
        if let Some(reports) = self.checker.clone() {
            program.check =
                Some(Box::new(ProgramCheck::new(&program.code, program.clauses(), reports)));
        }
        let program = &program;
        let uniforms = Uniforms::new(&self.uniforms, &program.rows);
        let mut port = Port::new(&self.vm, self.resources);
        self.warp.start(self.mask);
        let mut budget = 10_000;
        loop {
            match run(program, &mut self.warp, &uniforms, &mut port, &mut budget) {
                Ok(Stop::Barrier) => {}
                Ok(stop) => return Ok(stop),
                Err(trapped) => return Err(*trapped.trap),
            }
        }
    }

    /// Runs assembly, which must end, and returns the lanes of a register.
    pub fn run(&mut self, source: &str, register: usize) -> [u32; 16] {
        let source = format!("{source}\nNOP.end");
        assert_eq!(self.try_run(&source), Ok(Stop::End), "{source}");
        self.warp.registers[register].0
    }
}

/// The first lane of r0 after an instruction on values of r1, r2 and so on.
pub fn one(text: &str, values: &[u32]) -> u32 {
    let mut bench = Bench::new();
    for (i, value) in values.iter().enumerate() {
        bench.set(i + 1, |_| *value);
    }
    bench.run(text, 0)[0]
}
