//! The environment of shaders: uniforms, memory of threads, and faults of programs.

use tepui_mali_packets::shader::LocalStorage;
use tepui_softgpu::UnitMemory;

use crate::job::{FaultKind, JobFault, ProgramPoint, Unit};
use crate::limits::{MAX_THREADS, SHADER_PRESENT};
use crate::order::OrderChecker;
use crate::shader::program::Program;
use crate::warp::trap::{RaisedTrap, Trap};
use crate::warp::uniforms::UNIFORM_WORDS;

/// Instructions that a worker takes from a dispatch's budget at a time.
pub(crate) const BUDGET_STEP: u64 = 1 << 20;

/// One past the highest number of a core.
pub(crate) const CORES: u32 = 64 - SHADER_PRESENT.leading_zeros();

/// Leaves out accesses of the local storage of threads from the order of work, which all launches share.
pub(crate) fn hide_threads(order: &OrderChecker, storage: &LocalStorage) {
    let threads = u64::from(CORES) * u64::from(MAX_THREADS);
    order.hide(local_base(storage), thread_bytes(storage).saturating_mul(threads));
}

/// Bytes of a thread's local storage.
pub(crate) fn thread_bytes(storage: &LocalStorage) -> u64 {
    match storage.tls_base_pointer {
        0 => 0,
        _ => 16 << storage.tls_size,
    }
}

/// Reads the uniforms at an address whose top eight bits are the number of pairs of words.
pub(crate) fn uniform_words(
    memory: &mut UnitMemory<'_>,
    uniforms: u64,
) -> Result<Vec<u32>, JobFault> {
    let (at, pairs) = (uniforms & ((1 << 48) - 1), uniforms >> 56);
    let mut bytes = vec![0; 4 * (2 * pairs as usize).min(UNIFORM_WORDS)];
    memory.read(at, &mut bytes).map_err(|fault| JobFault::memory(Unit::Dispatch, fault))?;
    Ok(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// The address of thread-local storage. In packed mode the descriptor has it without its lower eight
/// bits.
pub(crate) fn local_base(storage: &LocalStorage) -> u64 {
    use tepui_mali_packets::shader::AddressMode;
    match storage.tls_address_mode {
        AddressMode::Packed => storage.tls_base_pointer << 8,
        AddressMode::Flat => storage.tls_base_pointer,
    }
}

/// The fault of a trap.
pub(crate) fn fault(program: &Program, trapped: RaisedTrap) -> JobFault {
    let RaisedTrap { trap, index } = trapped;
    let fault = match *trap {
        Trap::Unimplemented(what) => JobFault::unimplemented(Unit::ShaderCore, what),
        Trap::Invalid(what) => JobFault::new(Unit::ShaderCore, what),
        Trap::Undecodable(what) => JobFault::new(Unit::ShaderCore, what).of(FaultKind::Undecodable),
        Trap::Memory(fault) => JobFault::memory(Unit::LoadStore, fault),
        Trap::Endless => JobFault::endless(Unit::ShaderCore),
    };
    let text = program.text(index as usize);
    let offset = program.offset(index);
    let point = ProgramPoint { program: program.address, offset, text };
    JobFault { program: Some(point), ..fault }
}
