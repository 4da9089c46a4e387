//! Shaders of the stages before the pixel shader: program, header and constants.

use std::sync::Arc;

use tepui_intel_eu::{Dispatch, Stop, Thread};
use tepui_softgpu::AddressSpace;

use super::state::Bindings;
use super::unit::UNIT;
use crate::context::HardwareContext;
use crate::gpu::{CachedProgram, Gpu};
use crate::job::{FaultKind, JobFault};
use crate::port::{DispatchState, Ports};
use crate::program::{program, thread_fault};
use tepui_intel_eu::REGISTER_BYTES;

/// Channels of the threads of these stages.
pub(super) const LANES: usize = 8;

/// Shader parameters of a stage's command.
pub(super) struct Command {
    /// Offset of the program.
    pub kernel: u64,
    pub scratch: u64,
    pub scratch_size: u32,
    /// The register at which constants begin, which URB data follows.
    pub first: u32,
    /// Whether floats use the alternative mode instead of IEEE 754.
    pub alternative: bool,
}

/// A shader of a draw.
pub(super) struct Shader {
    program: Arc<CachedProgram>,
    kernel: u64,
    header: [u32; 8],
    /// Bytes of scratch memory per thread; 0 if it has none.
    scratch_bytes: u32,
    constants: Vec<u8>,
    first: usize,
    control: u32,
    pub shared: DispatchState,
}

impl Shader {
    pub fn new(
        gpu: &Gpu,
        vm: &AddressSpace,
        context: &HardwareContext,
        command: &Command,
        bindings: Bindings,
    ) -> Result<Shader, JobFault> {
        let kernel = context.bases.instruction + command.kernel;
        let scratch = command.scratch as u32;
        Ok(Shader {
            program: program(gpu, vm, kernel)?,
            kernel,
            // source: SNB PRM volume 2 part 1, "VS thread payload": r0.3 and r0.4 samplers and
            // binding table, r0.5 scratch memory.
            header: [
                0,
                0,
                0,
                bindings.sampler_offset | command.scratch_size,
                bindings.table_offset,
                scratch,
                0,
                0,
            ],
            scratch_bytes: if scratch == 0 { 0 } else { 1024 << command.scratch_size },
            constants: bindings.constants,
            first: command.first as usize,
            control: u32::from(command.alternative),
            shared: DispatchState::of(
                gpu,
                kernel,
                context.bases,
                bindings.table,
                bindings.samplers,
            ),
        })
    }

    /// Initialises a thread: its channels, header and constants. Returns the first byte after the constants.
    /// `core` is the index of the worker, which has its own scratch memory.
    pub fn start(&self, thread: &mut Thread, mask: u32, core: u32) -> usize {
        thread.clear_for(self.program.program(), mask, 0);
        let dispatch = Dispatch { mask, vector_mask: mask, state: 0, control: self.control };
        thread.start(&dispatch);
        let mut header = self.header;
        header[5] = header[5].wrapping_add(core.wrapping_mul(self.scratch_bytes));
        thread.write_payload(0, &header);
        let grf = thread.grf_mut();
        let start = (self.first * REGISTER_BYTES).min(grf.len());
        let length = self.constants.len().min(grf.len() - start);
        grf[start..start + length].copy_from_slice(&self.constants[..length]);
        start + length
    }

    /// Runs a thread until it ends or waits.
    pub fn step(
        &self,
        thread: &mut Thread,
        ports: &mut Ports<'_>,
        budget: &mut u64,
    ) -> Result<Stop, JobFault> {
        thread
            .run(self.program.program(), ports, budget)
            .map_err(|fault| thread_fault(self.kernel, fault))
    }

    /// Runs a thread to its end; returns the instructions that it executed.
    pub fn run(
        &self,
        thread: &mut Thread,
        ports: &mut Ports<'_>,
        budget: &mut u64,
    ) -> Result<u64, JobFault> {
        let before = *budget;
        if self.step(thread, ports, budget)? != Stop::EndOfThread {
            let what = "a shader before the pixel shader waits";
            return Err(JobFault::new(UNIT, what).of(FaultKind::Endless));
        }
        Ok(before - *budget)
    }
}

/// Writes a channel's double word of a register, at a byte of the registers.
pub(super) fn put(grf: &mut [u8], register_byte: usize, lane: usize, value: u32) {
    let at = register_byte + 4 * lane;
    if let Some(to) = grf.get_mut(at..at + 4) {
        to.copy_from_slice(&value.to_le_bytes());
    }
}
