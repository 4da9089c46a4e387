//! Decoded kernels, kept by address.

use std::sync::{Arc, PoisonError};

use tepui_intel_eu::{Fault, FaultKind as EuFault, Program};
use tepui_softgpu::AddressSpace;

use crate::gpu::{CachedProgram, Gpu};
use crate::job::{FaultKind, JobFault, ProgramPoint, Unit};
use crate::memory::Memory;
use crate::order::MemoryUnit;

/// The kernel at an address, decoded at its first use and again when memory has changed there.
pub(crate) fn program(
    gpu: &Gpu,
    vm: &AddressSpace,
    kernel: u64,
) -> Result<Arc<CachedProgram>, JobFault> {
    /// Limit on the decoded kernels that are kept.
    const MAX_PROGRAMS: usize = 1024;
    let mut memory = Memory::new(vm, MemoryUnit::Instructions);
    let cached = {
        let programs = gpu.programs.lock().unwrap_or_else(PoisonError::into_inner);
        programs.get(&kernel).cloned()
    };
    if let Some(cached) = cached {
        let same = cached.pieces.iter().all(|(offset, bytes)| {
            let mut now = vec![0; bytes.len()];
            memory.read(kernel + u64::from(*offset), &mut now).is_ok() && now == *bytes
        });
        if same {
            return Ok(cached);
        }
    }
    let mut pieces = Vec::new();
    let loaded = Program::load(gpu.chip.generation, 0, |offset, buffer| {
        let done = memory.read(kernel + u64::from(offset), buffer).is_ok();
        if done {
            pieces.push((offset, buffer.to_vec()));
        }
        done
    });
    let program = loaded.map_err(|fault| thread_fault(kernel, fault))?;
    let cached = Arc::new(CachedProgram { pieces, program });
    let mut programs = gpu.programs.lock().unwrap_or_else(PoisonError::into_inner);
    if programs.len() >= MAX_PROGRAMS {
        programs.clear();
    }
    programs.insert(kernel, cached.clone());
    Ok(cached)
}

/// Converts a fault of an EU to the model's.
pub(crate) fn thread_fault(kernel: u64, fault: Fault) -> JobFault {
    let (unit, kind) = match &fault.kind {
        EuFault::Decode(_) | EuFault::BadJump(_) => (Unit::ExecutionUnit, FaultKind::Undecodable),
        EuFault::Unreadable => (Unit::ExecutionUnit, FaultKind::Unbound),
        EuFault::Unsupported(_) => (Unit::ExecutionUnit, FaultKind::Unimplemented),
        EuFault::Watchdog(_) => (Unit::ExecutionUnit, FaultKind::Endless),
        EuFault::Message { .. } => (Unit::DataPort, FaultKind::Invalid),
        _ => (Unit::ExecutionUnit, FaultKind::Invalid),
    };
    JobFault {
        program: Some(ProgramPoint {
            program: kernel,
            offset: fault.ip,
            text: fault.instruction.clone(),
        }),
        ..JobFault::new(unit, fault.kind.to_string()).of(kind)
    }
}
