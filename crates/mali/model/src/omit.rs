//! Instructions and jobs without an event that orders work, for runs that leave one out
//! ([`Gpu::omission`](crate::Gpu::omission)), and programs without one of their waits.

use std::collections::BTreeSet;

use tepui_mali_analysis::dependencies::Clauses;
use tepui_mali_analysis::slots::{self, Finding};
use tepui_mali_analysis::{Code, code};
use tepui_mali_isa::bifrost::disasm::{Content, parts};
use tepui_mali_isa::bifrost::header::Header;
use tepui_mali_isa::inst::BYTES;
use tepui_mali_isa::{Flow, Inst};
use tepui_mali_packets::cs::{self, CsOpcode};
use tepui_mali_packets::job::JobHeader;
use tepui_order::CodeChange;

/// Bits 16 to 31 of a deferred instruction: its wait mask.
const WAIT_MASK: u64 = 0xffff << 16;

/// Bit 9 of FLUSH_CACHE2: the texture units' caches are invalidated.
const OTHER_INVALIDATE: u64 = 1 << 9;

/// An instruction without the event that is left out, of those that it has: a WAIT and a SYNC_WAIT do nothing.
pub(crate) fn instruction(bytes: [u8; 8], omits: impl Fn(&'static str) -> bool) -> [u8; 8] {
    let word = u64::from_le_bytes(bytes);
    let mut left = word;
    match cs::opcode(word) {
        Some(CsOpcode::Wait) if omits("WAIT") => left = 0,
        Some(CsOpcode::SyncWait32 | CsOpcode::SyncWait64) if omits("SYNC_WAIT") => left = 0,
        Some(
            CsOpcode::StoreState
            | CsOpcode::FlushCache2
            | CsOpcode::SyncAdd32
            | CsOpcode::SyncSet32
            | CsOpcode::SyncAdd64
            | CsOpcode::SyncSet64
            | CsOpcode::FinishFragment,
        ) if word & WAIT_MASK != 0 && omits("wait mask of a deferred instruction") => {
            left &= !WAIT_MASK;
        }
        _ => {}
    }
    let invalidates = cs::opcode(word) == Some(CsOpcode::FlushCache2);
    if invalidates && word & OTHER_INVALIDATE != 0 && omits("invalidation by FLUSH_CACHE2") {
        left &= !OTHER_INVALIDATE;
    }
    left.to_le_bytes()
}

/// The header of a job without the event that is left out.
pub(crate) fn job(mut header: JobHeader, omits: impl Fn(&'static str) -> bool) -> JobHeader {
    for dependency in [&mut header.dependency_1, &mut header.dependency_2] {
        if *dependency != 0 && omits("dependency of a job") {
            *dependency = 0;
        }
    }
    if header.barrier && omits("barrier of a job") {
        header.barrier = false;
    }
    if header.invalidate_cache && omits("invalidation by a job") {
        header.invalidate_cache = false;
    }
    header
}

/// A program of Valhall or Bifrost without each of its waits for messages, one at a time.
pub(crate) fn code(program: &[u8], address: u64, is_bifrost: bool) -> Vec<CodeChange> {
    type Findings = fn(&[u8]) -> Option<BTreeSet<Finding>>;
    let (findings, pieces) = match is_bifrost {
        true => (clause_findings as Findings, clauses(program)),
        false => (instruction_findings as Findings, instructions(program)),
    };
    let known = findings(program);
    let change = |(kind, offset, bytes): (&'static str, usize, Vec<u8>)| {
        let mut changed = program.to_vec();
        changed.get_mut(offset..offset + bytes.len())?.copy_from_slice(&bytes);
        let is_found = known.as_ref().zip(findings(&changed));
        let is_found = is_found.map(|(known, found)| !found.is_subset(known));
        Some(CodeChange { kind, address: address + offset as u64, bytes, is_found })
    };
    pieces.into_iter().filter_map(change).collect()
}

fn instruction_findings(program: &[u8]) -> Option<BTreeSet<Finding>> {
    let findings = slots::check(&Code::decode(program).ok()?, false).ok()?;
    Some(findings.into_iter().collect())
}

fn clause_findings(program: &[u8]) -> Option<BTreeSet<Finding>> {
    Some(Clauses::decode(program).ok()?.check().ok()?.into_iter().collect())
}

/// Instructions of Valhall that wait, without that: the offset of each, and its bytes.
fn instructions(program: &[u8]) -> Vec<(&'static str, usize, Vec<u8>)> {
    let mut all = Vec::new();
    for offset in (0..program.len()).step_by(BYTES) {
        let Ok(inst) = Inst::decode_at(program, offset) else { continue };
        if code::access(&inst).waits == 0 || inst.flow == Flow::End {
            continue;
        }
        let without = Inst { flow: Flow::None, ..inst };
        if let Ok(word) = without.encode() {
            all.push(("wait of an instruction", offset, word.to_le_bytes().to_vec()));
        }
    }
    all
}

/// Clauses of Bifrost whose headers make the next one wait, without one of the slots or the barrier of staging registers.
fn clauses(program: &[u8]) -> Vec<(&'static str, usize, Vec<u8>)> {
    let mut all = Vec::new();
    for part in parts(program, 0) {
        let Content::Clause(clause) = &part.content else { continue };
        let header = clause.header;
        let mut add = |kind, header: Header| {
            let mut without = clause.clone();
            without.header = header;
            if let Ok(bytes) = without.encode() {
                all.push((kind, part.offset, bytes));
            }
        };
        for slot in (0..8).filter(|slot| header.wait >> slot & 1 != 0) {
            add("wait of a clause", Header { wait: header.wait & !(1 << slot), ..header });
        }
        if header.staging_barrier {
            add("barrier of staging registers", Header { staging_barrier: false, ..header });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use tepui_mali_packets::Packet;
    use tepui_mali_packets::cs::{CsFlushCache2, CsSyncAdd64, CsWait};

    use super::*;

    fn bytes<P: Packet>(packet: &P) -> [u8; 8] {
        let mut bytes = [0; 8];
        packet.pack_into(&mut bytes).expect("fields");
        bytes
    }

    #[test]
    fn each_wait_of_a_program_is_left_out_by_itself() {
        // A load, and an addition that needs it.
        let source =
            "LOAD.i32.unsigned.slot0.wait0 @r0, r2, offset:0\nFADD.f32 r4, r0, r5\nNOP.end";
        let program = tepui_mali_isa::asm::assemble(source).expect("a program");
        let [change] = &code(&program, 0x1000, false)[..] else { panic!("one wait") };
        assert_eq!((change.address, change.is_found), (0x1000, Some(true)));
        let mut changed = program.clone();
        changed[..BYTES].copy_from_slice(&change.bytes);
        assert!(code(&changed, 0, false).is_empty());
        assert_eq!(Inst::decode_at(&changed, 0).expect("an instruction").flow, Flow::None);
    }

    #[test]
    fn each_event_is_left_out_by_itself() {
        let without = |bytes, kind| instruction(bytes, |other| other == kind);
        let wait = bytes(&CsWait { wait_mask: 6, ..Default::default() });
        assert_eq!(without(wait, "WAIT"), [0; 8]);
        assert_eq!(without(wait, "SYNC_WAIT"), wait);
        let flush = CsFlushCache2 { wait_mask: 3, other_invalidate: true, ..Default::default() };
        let mask = "wait mask of a deferred instruction";
        let expected = CsFlushCache2 { wait_mask: 0, ..flush };
        assert_eq!(without(bytes(&flush), mask), bytes(&expected));
        let expected = CsFlushCache2 { other_invalidate: false, ..flush };
        assert_eq!(without(bytes(&flush), "invalidation by FLUSH_CACHE2"), bytes(&expected));
        let add = CsSyncAdd64 { wait_mask: 0xffff, address: 4, data: 8, ..Default::default() };
        assert_eq!(without(bytes(&add), mask), bytes(&CsSyncAdd64 { wait_mask: 0, ..add }));
        let header = JobHeader { dependency_2: 4, barrier: true, ..JobHeader::default() };
        let left = job(header, |kind| kind == "dependency of a job");
        assert_eq!((left.dependency_2, left.barrier), (0, true));
        assert!(!job(header, |kind| kind == "barrier of a job").barrier);
    }
}
