//! Runs the driver's helper program, which allocates scratch memory.

use tepui_softgpu::Access;

use super::lanes::Lanes;
use super::launch::Launch;
use super::memory::Port;
use super::program::Program;
use super::row::{LANES, Row};
use super::run::{Outcome, run};
use super::shared::Shared;
use super::stack::{HelperCall, request};

/// Runs a group to its end, its next barrier or its fault. Whenever it waits for scratch memory,
/// the helper program runs.
pub fn run_group(l: &mut Lanes<'_, '_>, program: &Program, launch: &Launch<'_>) -> Outcome {
    loop {
        let outcome = run(l, program);
        if outcome != Outcome::Scratch {
            return outcome;
        }
        if let Err(why) = allocate(l, launch) {
            l.fail(why);
            return Outcome::Fault;
        }
    }
}

/// Runs the helper to map blocks for one SIMD-group.
fn allocate(l: &mut Lanes<'_, '_>, launch: &Launch<'_>) -> Result<(), String> {
    let blocks = call(l.port, launch, request::STACK_ALLOC, [0; 4])?;
    let mapped = l.stack.map(blocks);
    if l.port.uninitialised != 0 {
        fill(l);
    }
    mapped
}

/// Runs the helper to free the blocks of one SIMD-group. They are freed in the reverse order of
/// their allocation.
pub fn free(port: &mut Port<'_>, launch: &Launch<'_>, blocks: [u32; 4]) -> Result<(), String> {
    call(port, launch, request::STACK_FREE, blocks).map(|_| ())
}

fn call(
    port: &mut Port<'_>,
    launch: &Launch<'_>,
    request: u32,
    blocks: [u32; 4],
) -> Result<[u32; 4], String> {
    let Some(program) = launch.helper_program()? else {
        return Err("the shader uses scratch memory, but the job has no helper program".to_owned());
    };
    let call =
        HelperCall { request, blocks, argument: launch.helper.data, ..HelperCall::default() };
    let call = run_helper(port, &program, call)?;
    match call.answer {
        Some(true) => Ok(call.blocks),
        Some(false) => Err("the helper program refused to map scratch memory".to_owned()),
        None => Err("the helper program ended without an answer".to_owned()),
    }
}

/// Runs the helper on one lane to its end.
fn run_helper(
    port: &mut Port<'_>,
    program: &Program,
    call: HelperCall,
) -> Result<HelperCall, String> {
    let mut registers = vec![Row::ZERO; program.code.register_rows()];
    let shared_rows = program.code.shared_rows(&[]);
    let mut shared = Shared::default();
    let mut lanes = Lanes::new(
        &mut registers,
        &shared_rows,
        &program.code,
        1,
        Default::default(),
        &mut shared,
        port,
    );
    lanes.helper = Some(call);
    lanes.budget = 1 << 16;
    match run(&mut lanes, program) {
        Outcome::Stop => Ok(lanes.helper.unwrap_or_default()),
        Outcome::Barrier => Err("the helper program waits at a barrier".to_owned()),
        Outcome::Scratch => Err("the helper program uses scratch memory".to_owned()),
        Outcome::Fault => Err(format!(
            "the helper program failed: {}",
            lanes.fault.map_or_else(|| "for no stated reason".to_owned(), |fault| fault.1)
        )),
    }
}

/// Fills new scratch memory with its uninitialised value.
#[cold]
fn fill(l: &mut Lanes<'_, '_>) {
    let word = l.port.uninitialised;
    for offset in (0..l.stack.size()).step_by(4) {
        for lane in 0..LANES {
            let host = l.stack.address(offset, lane).and_then(|a| l.port.host(a, 4, Access::Write));
            if let Some(host) = host {
                // SAFETY: `Port::host` gives the host address of four writable bytes.
                unsafe { host.cast::<u32>().write_unaligned(word) };
            }
        }
    }
}
