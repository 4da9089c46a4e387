//! The accesses of a program's instructions or clauses, which the checker follows.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use tepui_mali_analysis::{Access, code, dependencies};
use tepui_mali_isa::Inst;
use tepui_mali_isa::bifrost::Tuple;
use tepui_mali_isa::bifrost::disasm::{Content, parts};
use tepui_mali_isa::bifrost::header::Message;
use tepui_mali_isa::inst::BYTES;
use tepui_mali_isa::table::field::Unit;
use tepui_softgpu::Reports;

use crate::job::ReportKind;

/// The name of a program in reports: a hash of its machine code.
#[must_use]
pub fn fingerprint(code: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    code.hash(&mut hasher);
    hasher.finish()
}

/// Position of an operation among the accesses of its program.
#[derive(Clone, Copy)]
pub struct Place {
    /// Index of the instruction or clause.
    pub access: u32,
    /// The operation begins it.
    pub begins: bool,
}

/// Accesses of a program's instructions or clauses.
pub struct ProgramCheck {
    pub accesses: Vec<Access>,
    /// By operation.
    pub places: Vec<Place>,
    /// By instruction or clause: whether its message goes to the texture unit, which has a cache of its own.
    pub samples: Vec<bool>,
    /// Whether the waits of the first clause are elsewhere: in the renderer state of Bifrost.
    pub first_is_synchronised: bool,
    /// Waits of clauses before the first operation. v6 has them in a clause that does nothing else.
    pub first_waits: u8,
    pub fingerprint: u64,
    pub reports: Arc<Reports<ReportKind>>,
}

impl ProgramCheck {
    /// The accesses of machine code of Valhall, or of Bifrost if the byte offsets of the operations' clauses are given.
    pub fn new(
        machine_code: &[u8],
        clauses: Option<&[u32]>,
        reports: Arc<Reports<ReportKind>>,
    ) -> ProgramCheck {
        let mut check = ProgramCheck {
            accesses: Vec::new(),
            places: Vec::new(),
            samples: Vec::new(),
            first_is_synchronised: clauses.is_some(),
            first_waits: 0,
            fingerprint: fingerprint(machine_code),
            reports,
        };
        match clauses {
            Some(clauses) => check.clauses(machine_code, clauses),
            None => check.instructions(machine_code),
        }
        check
    }

    fn instructions(&mut self, machine_code: &[u8]) {
        let samples = |unit| matches!(unit, Unit::Texture | Unit::VaryingTexture);
        for index in 0..machine_code.len() / BYTES {
            self.places.push(Place { access: index as u32, begins: true });
            let inst = Inst::decode_at(machine_code, index * BYTES);
            // Bytes that are no instruction trap when they are reached.
            let (access, samples) = inst.map_or_else(
                |_| (Access::default(), false),
                |inst| (code::access(&inst), samples(inst.op.row().form.unit)),
            );
            self.accesses.push(access);
            self.samples.push(samples);
        }
    }

    fn clauses(&mut self, machine_code: &[u8], clauses: &[u32]) {
        let mut offsets = Vec::new();
        for part in parts(machine_code, 0) {
            let Content::Clause(clause) = &part.content else { continue };
            offsets.push(part.offset as u32);
            self.accesses.push(dependencies::access(clause));
            let samples = |tuple: &Tuple| tuple.add.op.row().message == Message::Texture;
            self.samples.push(clause.tuples.iter().any(samples));
        }
        // A clause without operations has waits all the same: they come after those of the clause before.
        let with_operations: HashSet<u32> = clauses.iter().copied().collect();
        for (k, offset) in offsets.iter().enumerate().rev() {
            if !with_operations.contains(offset) {
                let waits = self.accesses[k].waits;
                match k.checked_sub(1) {
                    Some(before) => self.accesses[before].waits |= waits,
                    None => self.first_waits = waits,
                }
            }
        }
        // Clauses that are none are operations, too.
        self.accesses.push(Access::default());
        self.samples.push(false);
        let none = self.accesses.len() - 1;
        let mut last = None;
        for &offset in clauses {
            let access = offsets.binary_search(&offset).unwrap_or(none) as u32;
            self.places.push(Place { access, begins: last != Some(offset) });
            last = Some(offset);
        }
    }
}
