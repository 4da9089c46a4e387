//! A shader stage of a draw: its program and its inputs.

mod read;

use std::sync::Arc;

use tepui_mali_isa::Special;
use tepui_mali_packets::shader::LocalStorage;
use tepui_softgpu::AddressSpace;
use tepui_softgpu::worker_pool::Budget;

use crate::environment::{self, BUDGET_STEP};
use crate::gpu::Gpu;
use crate::job::{JobFault, JobStats, Unit};
use crate::limits::{MAX_THREADS, SHADER_PRESENT};
use crate::shader::op::{Lanes, Op};
use crate::shader::program::Program;
use crate::shader::run::run;
use crate::shader::step::Stop;
use crate::units::Port;
use crate::warp::addresses::Tables;
use crate::warp::row::{LANES, Row};
use crate::warp::trap::{RaisedTrap, Trap};
use crate::warp::uniforms::Uniforms;
use crate::warp::{Warp, local};

/// A shader stage with its descriptors read.
pub(crate) struct Stage {
    pub program: Arc<Program>,
    /// Rows of constants: those of the program and of the prologue.
    pub rows: Arc<Vec<Row>>,
    pub uniforms: Uniforms,
    pub storage: LocalStorage,
    pub resources: u64,
    pub attribute_offset: u32,
    /// Bifrost's descriptors.
    pub tables: Option<Tables>,
    /// Preloads of a Bifrost fragment shader, executed before it begins.
    pub prologue: Vec<Op>,
    /// Mask of the registers r48 to r63 that are set at the start.
    pub preload: u16,
    /// Midgard: the rows of uniforms.
    pub registers: Option<Vec<(u8, u32)>>,
}

impl Stage {
    /// Clears the registers of a warp that begins, except those that the stage preloads.
    pub fn fill(&self, warp: &mut Warp) {
        match &self.registers {
            None => self.program.clear(warp),
            Some(uniforms) => {
                warp.registers.fill(Row::splat(0));
                for (row, word) in uniforms {
                    warp.registers[usize::from(*row)] = Row::splat(*word);
                }
            }
        }
    }

    /// Whether a register is preloaded.
    #[inline(always)]
    pub fn preloads(&self, register: usize) -> bool {
        self.preload >> (register - 48) & 1 != 0
    }
}

/// A worker of the host, which acts as a shader core and runs one warp at a time.
pub(crate) struct Core<'vm> {
    pub warp: Warp,
    pub uniforms: Uniforms,
    pub port: Port<'vm>,
    /// Programs that shaders have jumped to.
    called: Vec<Arc<Program>>,
    /// Whether the uniform rows are those of a called program.
    away: bool,
    number: u32,
    /// Instructions that it has taken from the budget but not executed.
    left: u64,
    pub stats: JobStats,
}

impl<'vm> Core<'vm> {
    /// The core of a worker.
    pub fn new(gpu: &Gpu, vm: &'vm AddressSpace, number: u32) -> Core<'vm> {
        Core {
            warp: Warp::default(),
            uniforms: Uniforms::new(&[], &[]),
            port: Port::new(vm, 0).observed(gpu.observer(vm)),
            called: Vec::new(),
            away: false,
            number,
            left: 0,
            stats: JobStats::default(),
        }
    }

    /// Prepares for warps of a shader.
    pub fn begin(&mut self, stage: &Stage) {
        self.uniforms.clone_from(&stage.uniforms);
        self.away = false;
        self.port.begin(stage.resources, stage.tables);
        self.port.attribute_offset = stage.attribute_offset;
        let cores = SHADER_PRESENT.count_ones();
        let index = self.number % cores;
        let core = (0..64u32).filter(|n| SHADER_PRESENT >> n & 1 != 0).nth(index as usize);
        let core = core.unwrap_or(0);
        let warp = u64::from(self.number / cores);
        let bytes = environment::thread_bytes(&stage.storage);
        let thread = u64::from(core) * u64::from(MAX_THREADS) + warp * LANES as u64;
        let base = environment::local_base(&stage.storage).wrapping_add(thread.wrapping_mul(bytes));
        self.port.local = local::LocalStorage { base, bytes };
        self.uniforms.set(Special::CoreId, core.into());
        let most = u64::from(MAX_THREADS) / LANES as u64 - 1;
        self.uniforms.set(Special::WarpId, warp | most << 32);
    }

    /// Runs the warp to its end. Its lanes may jump to another program, such as a blend shader, and return.
    pub fn run(&mut self, gpu: &Gpu, stage: &Stage, budget: &Budget) -> Result<(), JobFault> {
        if std::mem::take(&mut self.away) {
            self.uniforms.set_program(&stage.rows);
        }
        // The stage's program is shared by workers; its reference count is not touched here.
        let mut other: Option<Arc<Program>>;
        let mut left_own = false;
        let mut program: &Program = &stage.program;
        for op in &stage.prologue {
            let (warp, uniforms, port) = (&mut self.warp, &self.uniforms, &mut self.port);
            (op.run)(&mut Lanes { warp, uniforms, port }, op)
                .map_err(|trap| environment::fault(program, RaisedTrap { trap, index: 0 }))?;
        }
        loop {
            let before = self.left;
            let result =
                run(program, &mut self.warp, &self.uniforms, &mut self.port, &mut self.left);
            self.stats.instructions += before - self.left;
            match result {
                Err(RaisedTrap { trap, .. })
                    if *trap == Trap::Endless && budget.spend(BUDGET_STEP).is_ok() =>
                {
                    self.left = BUDGET_STEP;
                }
                Err(trapped) => return Err(environment::fault(program, trapped)),
                Ok(Stop::Barrier) => {}
                Ok(Stop::End) => return Ok(()),
                Ok(Stop::Jump(low)) => {
                    // Programs that jump to each other are in the same 4 GiB.
                    let target = program.address & !0xffff_ffff | u64::from(low);
                    let next = self.target(gpu, stage, target)?;
                    let to = next.as_deref().unwrap_or(&stage.program);
                    let entry = to.entry(target - to.address);
                    self.warp.pc = entry.ok_or_else(|| {
                        let what = format!("a jump to {target:#x}, where no instruction begins");
                        JobFault::new(Unit::ShaderCore, what)
                    })?;
                    self.away = next.is_some();
                    if self.away && !left_own && stage.registers.is_none() {
                        left_own = true;
                        let given = |row| (48..64).contains(&row) && stage.preloads(row);
                        stage.program.clear_others(&mut self.warp, given);
                    }
                    let rows = next.as_ref().map_or(&*stage.rows, |program| &program.rows);
                    self.uniforms.set_program(rows);
                    other = next;
                    program = other.as_deref().unwrap_or(&stage.program);
                }
            }
        }
    }

    /// The program that contains an address; none if it is the stage's own.
    fn target(
        &mut self,
        gpu: &Gpu,
        stage: &Stage,
        at: u64,
    ) -> Result<Option<Arc<Program>>, JobFault> {
        let has = |program: &Program| {
            at >= program.address && at - program.address < program.code.len() as u64
        };
        if !at.is_multiple_of(8) {
            let what = format!("a jump to {at:#x}, which is not aligned");
            return Err(JobFault::new(Unit::ShaderCore, what));
        }
        if has(&stage.program) {
            return Ok(None);
        }
        if let Some(program) = self.called.iter().find(|program| has(program)) {
            return Ok(Some(program.clone()));
        }
        let program = gpu.program(&mut self.port.memory, at);
        if program.code.is_empty() {
            let what = format!("a jump to {at:#x}, where no program is");
            return Err(JobFault::new(Unit::ShaderCore, what));
        }
        self.called.push(program.clone());
        Ok(Some(program))
    }

    /// Forgets the programs that were jumped to.
    pub fn forget(&mut self) {
        self.called.clear();
    }
}
