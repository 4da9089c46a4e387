//! Runs the driver's helper program, which allocates scratch memory.

use super::lanes::Lanes;
use super::memory::Port;
use super::row::Row;
use super::stack::request;
use super::{program::Program, run};

/// The state of a running helper program, which it accesses by doorbells and special registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Call {
    /// The pending request, for special register `helper_op`.
    pub op: u32,
    /// Its argument, for `helper_arg`; before the first doorbell, the job's word for the helper.
    pub argument: u64,
    /// Blocks that the program mapped, or those to unmap.
    pub blocks: [u32; 4],
    /// The answer of the program.
    pub answer: Option<bool>,
    /// The request was handed over; the next one is the end.
    pub delivered: bool,
    request: u32,
}

impl Call {
    /// The program waits for its next request.
    pub fn next(&mut self) {
        self.op = if self.delivered { request::END } else { self.request };
        self.argument = 0;
        self.delivered = true;
    }
}

/// Runs the helper to map blocks for one SIMD-group.
pub fn allocate(port: &mut Port<'_>) -> Result<[u32; 4], String> {
    call(port, request::STACK_ALLOC, [0; 4])
}

/// Runs the helper to free the blocks of one SIMD-group. They are freed in the reverse order of their allocation.
pub fn free(port: &mut Port<'_>, blocks: [u32; 4]) -> Result<(), String> {
    call(port, request::STACK_FREE, blocks).map(|_| ())
}

fn call(port: &mut Port<'_>, request: u32, blocks: [u32; 4]) -> Result<[u32; 4], String> {
    let launch = port.launch;
    let Some(program) = launch.helper_program()? else {
        return Err("the shader uses scratch memory, but the job has no helper program".to_owned());
    };
    let call = Call { request, blocks, argument: launch.helper.data, ..Call::default() };
    let call = run_helper(port, &program, call)?;
    match call.answer {
        Some(true) => Ok(call.blocks),
        Some(false) => Err("the helper program refused to map scratch memory".to_owned()),
        None => Err("the helper program ended without an answer".to_owned()),
    }
}

/// Runs the helper on one lane to its end.
fn run_helper(port: &mut Port<'_>, program: &Program, call: Call) -> Result<Call, String> {
    let mut registers = vec![Row::ZERO; program.register_rows()];
    let shared_rows = program.shared_rows(&[]);
    let mut shared = super::workgroup::Shared::default();
    let mut lanes =
        Lanes::new(&mut registers, &shared_rows, program, 1, Default::default(), &mut shared, port);
    lanes.helper = Some(call);
    lanes.budget = 1 << 16;
    match run::run(&mut lanes) {
        run::Outcome::Stop => Ok(lanes.helper.unwrap_or_default()),
        run::Outcome::Barrier => Err("the helper program waits at a barrier".to_owned()),
        run::Outcome::Fault => Err(format!(
            "the helper program failed: {}",
            lanes.fault.unwrap_or_else(|| "for no stated reason".to_owned())
        )),
    }
}
