//! Registers that the instructions of command streams read and write.

use tepui_mali_packets::cs::{self, CsOpcode};
use tepui_mali_packets::{Packet, Problem};

/// Set of registers of a queue: bit N is register N.
pub type RegisterSet = u128;

/// Registers that an instruction accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegisterAccess {
    /// Registers that are read.
    pub reads: RegisterSet,
    /// Registers that are written.
    pub writes: RegisterSet,
}

/// Registers of a draw's state.
const DRAW_STATE: RegisterSet = (1 << 62) - 1;

/// Registers of a dispatch after its pointers: the attribute offset, sizes and counts.
const DISPATCH_STATE: RegisterSet = 0xff << 32;

/// Registers of a fragment job: the framebuffer and the scissor.
const FRAGMENT_STATE: RegisterSet = 0xf << 40;

fn one(register: u32) -> RegisterSet {
    1u128.checked_shl(register).unwrap_or(0)
}

fn pair(register: u32) -> RegisterSet {
    one(register) | one(register + 1)
}

/// Registers of a mask of 16 from one on.
fn masked(first: u32, mask: u32) -> RegisterSet {
    RegisterSet::from(mask & 0xffff).checked_shl(first).unwrap_or(0)
}

/// The registers that an instruction accesses. Those that a jump or call to an exception handler reads are not among them.
///
/// # Errors
/// The bits violate the instruction's declaration.
//
// source: Mesa, cs_builder.h; decode_csf.c for the state of RUN_*.
pub fn registers(opcode: CsOpcode, bytes: &[u8; 8]) -> Result<RegisterAccess, Problem> {
    macro_rules! unpack {
        ($name:ident) => {
            cs::$name::unpack(bytes)?
        };
    }
    let (mut reads, mut writes) = (0, 0);
    macro_rules! compute {
        ($name:ident) => {{
            let i = unpack!($name);
            let pointers = [i.srt_select, i.fau_select, i.spd_select, i.tsd_select];
            reads = DISPATCH_STATE;
            for (kind, select) in (0..).zip(pointers) {
                reads |= pair(8 * kind + 2 * select);
            }
        }};
    }
    match opcode {
        CsOpcode::Move => writes = pair(unpack!(CsMove).destination),
        CsOpcode::Move32 => writes = one(unpack!(CsMove32).destination),
        CsOpcode::AddImmediate32 => {
            let i = unpack!(CsAddImmediate32);
            (reads, writes) = (one(i.source), one(i.destination));
        }
        CsOpcode::AddImmediate64 => {
            let i = unpack!(CsAddImmediate64);
            (reads, writes) = (pair(i.source), pair(i.destination));
        }
        CsOpcode::Umin32 => {
            let i = unpack!(CsUmin32);
            (reads, writes) = (one(i.source_1) | one(i.source_2), one(i.destination));
        }
        CsOpcode::LoadMultiple => {
            let i = unpack!(CsLoadMultiple);
            (reads, writes) = (pair(i.address), masked(i.base_register, i.mask));
        }
        CsOpcode::StoreMultiple => {
            let i = unpack!(CsStoreMultiple);
            reads = pair(i.address) | masked(i.base_register, i.mask);
        }
        CsOpcode::Branch => reads = one(unpack!(CsBranch).value),
        CsOpcode::Call => {
            let i = unpack!(CsCall);
            reads = pair(i.address) | one(i.length);
        }
        CsOpcode::Jump => {
            let i = unpack!(CsJump);
            reads = pair(i.address) | one(i.length);
        }
        CsOpcode::SetExceptionHandler => {
            let i = unpack!(CsSetExceptionHandler);
            reads = pair(i.address) | one(i.length);
        }
        CsOpcode::SyncAdd32 => {
            let i = unpack!(CsSyncAdd32);
            reads = pair(i.address) | one(i.data);
        }
        CsOpcode::SyncSet32 => {
            let i = unpack!(CsSyncSet32);
            reads = pair(i.address) | one(i.data);
        }
        CsOpcode::SyncWait32 => {
            let i = unpack!(CsSyncWait32);
            reads = pair(i.address) | one(i.data);
        }
        CsOpcode::SyncAdd64 => {
            let i = unpack!(CsSyncAdd64);
            reads = pair(i.address) | pair(i.data);
        }
        CsOpcode::SyncSet64 => {
            let i = unpack!(CsSyncSet64);
            reads = pair(i.address) | pair(i.data);
        }
        CsOpcode::SyncWait64 => {
            let i = unpack!(CsSyncWait64);
            reads = pair(i.address) | pair(i.data);
        }
        CsOpcode::StoreState => reads = pair(unpack!(CsStoreState).address),
        CsOpcode::HeapSet => reads = pair(unpack!(CsHeapSet).address),
        CsOpcode::FlushCache2 => reads = one(unpack!(CsFlushCache2).latest_flush_id),
        CsOpcode::FinishFragment => {
            let i = unpack!(CsFinishFragment);
            reads = pair(i.first_heap_chunk) | pair(i.last_heap_chunk);
        }
        CsOpcode::TracePoint => {
            let i = unpack!(CsTracePoint);
            let all = 1u128.checked_shl(i.register_count).map_or(u128::MAX, |bit| bit - 1);
            reads = all.checked_shl(i.base_register).unwrap_or(0);
        }
        CsOpcode::ProgressWait => reads = pair(unpack!(CsProgressWait).source),
        CsOpcode::ProgressStore => reads = pair(unpack!(CsProgressStore).source),
        CsOpcode::ProgressLoad => writes = pair(unpack!(CsProgressLoad).destination),
        CsOpcode::RunCompute => compute!(CsRunCompute),
        CsOpcode::RunComputeIndirect => compute!(CsRunComputeIndirect),
        CsOpcode::RunIdvs => {
            let i = unpack!(CsRunIdvs);
            let id = if i.draw_id_register_enable { one(i.draw_id) } else { 0 };
            reads = DRAW_STATE | id;
        }
        CsOpcode::RunTiling => reads = DRAW_STATE,
        CsOpcode::RunFragment => reads = FRAGMENT_STATE,
        CsOpcode::RunFullscreen => reads = FRAGMENT_STATE | pair(unpack!(CsRunFullscreen).dcd),
        CsOpcode::Nop
        | CsOpcode::Wait
        | CsOpcode::FinishTiling
        | CsOpcode::SetSbEntry
        | CsOpcode::ReqResource
        | CsOpcode::ProtRegion
        | CsOpcode::ErrorBarrier
        | CsOpcode::HeapOperation => {}
    }
    Ok(RegisterAccess { reads, writes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_those_of_the_fields() {
        let access = |opcode, bytes: Result<[u8; 8], Problem>| {
            let access = registers(opcode, &bytes.expect("fields")).expect("an instruction");
            (access.reads, access.writes)
        };
        let load = cs::CsLoadMultiple { mask: 0b101, address: 40, base_register: 90, offset: 0 };
        let expected = (0b11 << 40, 0b101 << 90);
        assert_eq!(access(CsOpcode::LoadMultiple, load.pack()), expected);
        let store = cs::CsStoreMultiple { mask: 0b11, address: 10, base_register: 4, offset: 0 };
        assert_eq!(access(CsOpcode::StoreMultiple, store.pack()), (0b11 << 10 | 0b11 << 4, 0));
        let run = cs::CsRunCompute { srt_select: 1, tsd_select: 3, ..Default::default() };
        let pointers = 0b11 << 2 | 0b11 << 8 | 0b11 << 16 | 0b11 << 30;
        assert_eq!(access(CsOpcode::RunCompute, run.pack()), (pointers | 0xff << 32, 0));
        // Registers that do not exist are in no set.
        let add = cs::CsAddImmediate64 { source: 255, destination: 127, immediate: 0 };
        assert_eq!(access(CsOpcode::AddImmediate64, add.pack()), (0, 1 << 127));
    }
}
