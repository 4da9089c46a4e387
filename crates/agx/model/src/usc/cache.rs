//! The cache of decoded programs of a GPU, and the programs of one job.

use std::sync::{Arc, Mutex, PoisonError};

use tepui_agx_isa::Inst;
use tepui_order::CodeChange;
use tepui_softgpu::{AddressSpace, ProgramCache};

use super::load::{self, MAX_BYTES};
use super::program::{Program, Translation};
use crate::Coverage;
use crate::job::{GroupFault, Report};

/// Bytes of machine code beyond which a cache starts anew.
const LIMIT_BYTES: usize = 4 * MAX_BYTES;

fn empty() -> ProgramCache<Program> {
    ProgramCache::new(LIMIT_BYTES, |program: &Program| program.code.size_bytes())
}

/// The cache of decoded programs of a GPU. Entries are compared with memory once a job, since a
/// driver may write another shader to the same address.
pub struct Cache {
    decoded: ProgramCache<Program>,
    translation: Translation,
    coverage: Option<Coverage>,
}

impl Cache {
    /// An empty cache.
    pub fn new(translation: Translation, coverage: Option<Coverage>) -> Cache {
        Cache { decoded: empty(), translation, coverage }
    }

    /// Forgets all programs.
    pub fn clear(&self) {
        self.decoded.clear();
    }

    /// The wait instructions of the programs, each as one for the other slot, which is as long.
    pub fn without_waits(&self) -> Vec<CodeChange> {
        let mut all = Vec::new();
        for (_, program) in self.decoded.all() {
            for placed in program.code.placed() {
                let Some(Inst::Wait(mut wait)) = placed.inst else { continue };
                wait.slot ^= 1;
                let Ok(encoded) = Inst::Wait(wait).encode() else { continue };
                all.push(CodeChange {
                    kind: "wait instruction",
                    address: program.code.address() + u64::from(placed.offset),
                    bytes: encoded.to_vec(),
                    is_found: None,
                });
            }
        }
        all.sort_by_key(|change| change.address);
        all
    }
}

/// The programs of one job.
pub struct Programs<'v> {
    vm: &'v AddressSpace,
    usc_exec_base: u64,
    cache: &'v Cache,
    checked: ProgramCache<Program>,
    /// Held by the thread that decodes: the checker has notes of each program in one place.
    decoding: Mutex<()>,
}

impl<'v> Programs<'v> {
    /// The programs of a job in an address space.
    pub fn new(vm: &'v AddressSpace, usc_exec_base: u64, cache: &'v Cache) -> Programs<'v> {
        Programs { vm, usc_exec_base, cache, checked: empty(), decoding: Mutex::default() }
    }

    /// Changes of the set of unread results, for the checker.
    pub fn unread(&self) -> Vec<Report> {
        let checked = self.checked.all();
        let mut all: Vec<Report> = checked.iter().flat_map(|(_, p)| p.unread()).collect();
        all.sort_by_key(|report| (report.at.program, report.at.offset));
        all
    }

    /// The program at an address, decoded at most once.
    pub fn get(&self, address: u64) -> Result<Arc<Program>, GroupFault> {
        if let Some(program) = self.checked.get(address) {
            return Ok(program);
        }
        let _one = self.decoding.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = self.checked.get(address) {
            return Ok(program);
        }
        let known = self.cache.decoded.get(address);
        let program = match known.filter(|p| p.code.still_at(self.vm, self.usc_exec_base)) {
            Some(program) => program,
            None => {
                let code = load::load(self.vm, address, self.usc_exec_base)?;
                let program = Arc::new(Program::new(code, self.cache.translation));
                if let Some(coverage) = &self.cache.coverage {
                    coverage.note(program.code.placed().iter().filter_map(|p| p.inst.as_ref()));
                }
                self.cache.decoded.insert(address, program.clone());
                program
            }
        };
        self.checked.insert(address, program.clone());
        Ok(program)
    }
}

#[cfg(test)]
mod tests {
    use tepui_agx_chips::{PAGE_BYTES, PAGE_SHIFT, VA_BITS};

    use super::*;
    use crate::usc::code::{MAX_CONSTANTS, UNIFORM_ROWS};
    use tepui_agx_isa::asm::assemble;
    use tepui_softgpu::{Memory, Protection};

    const BASE: u64 = 1 << 32;

    /// An address space with code at [`BASE`].
    fn with_code(code: &[u8]) -> AddressSpace {
        let vm = AddressSpace::new(PAGE_SHIFT, VA_BITS);
        let size = code.len().next_multiple_of(PAGE_BYTES as usize);
        let memory = Arc::new(Memory::new(size).unwrap());
        vm.bind(BASE, memory, 0, size as u64, Protection::READ | Protection::WRITE).unwrap();
        vm.write(BASE, code).unwrap();
        vm
    }

    /// A program of `count` different constants: offsets are of maximum width.
    fn constants(count: usize) -> Vec<u8> {
        let line = |n| format!("tex_state_store ts0, u0_u1, {n}, 0\n");
        let code: String = (0..count).map(line).collect();
        assemble(&(code + "stop\n")).unwrap()
    }

    #[test]
    fn constants_are_limited_by_what_operations_can_name() {
        for (count, loads) in [(MAX_CONSTANTS, true), (MAX_CONSTANTS + 1, false)] {
            let vm = with_code(&constants(count));
            let program = load::load(&vm, BASE, BASE);
            assert_eq!(program.is_ok(), loads, "{count} constants");
            let Ok(program) = program else { continue };
            let last = program.shared_rows(&[])[UNIFORM_ROWS + count - 1];
            assert_eq!(last.0, [count as u32 - 1; 32]);
        }
    }
}
