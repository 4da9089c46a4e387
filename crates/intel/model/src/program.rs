//! Decoded kernels, kept by address.

use std::sync::Arc;

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
    let mut memory = Memory::new(vm, MemoryUnit::Instructions);
    let known = gpu.programs.get(kernel).filter(|cached| {
        cached.pieces.iter().all(|(offset, bytes)| {
            let mut now = vec![0; bytes.len()];
            memory.read(kernel + u64::from(*offset), &mut now).is_ok() && now == *bytes
        })
    });
    if let Some(known) = known {
        return Ok(known);
    }
    let mut pieces: Vec<(u32, Vec<u8>)> = Vec::new();
    let loaded = Program::load(gpu.chip.generation, 0, |offset, buffer| {
        let done = memory.read(kernel + u64::from(offset), buffer).is_ok();
        if done {
            add_piece(&mut pieces, offset, buffer);
        }
        done
    });
    let program = loaded.map_err(|fault| thread_fault(kernel, fault))?;
    let cached = Arc::new(CachedProgram { pieces, program });
    gpu.programs.insert(kernel, cached.clone());
    Ok(cached)
}

/// Adds code that was read: to the last piece if it continues or overlaps that.
fn add_piece(pieces: &mut Vec<(u32, Vec<u8>)>, offset: u32, code: &[u8]) {
    if let Some((start, bytes)) = pieces.last_mut()
        && let Some(within) = offset.checked_sub(*start).map(|within| within as usize)
        && within <= bytes.len()
    {
        let known = (bytes.len() - within).min(code.len());
        bytes.extend_from_slice(&code[known..]);
        return;
    }
    pieces.push((offset, code.to_vec()));
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
