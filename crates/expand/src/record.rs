//! Memory layout of the outputs of a vertex or patch.

use serde::{Deserialize, Serialize};
use tepui_ir::{Attrs, Builtin, IoLoc, IoSlot, Op, Shader};

/// Bytes of a location.
const LOCATION_B: u32 = 16;

/// Built-in outputs and their bytes, in the order of a record.
const BUILTINS: [(Builtin, u32); 9] = [
    (Builtin::Position, 16),
    (Builtin::ClipDistance, 32),
    (Builtin::CullDistance, 32),
    (Builtin::TessLevelOuter, 16),
    (Builtin::TessLevelInner, 8),
    (Builtin::PointSize, 4),
    (Builtin::Layer, 4),
    (Builtin::ViewportIndex, 4),
    (Builtin::PrimitiveId, 4),
];

/// Bits of the built-ins that are present, in the order of [`BUILTINS`].
/// 16 bytes each; outputs that are not written take no space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Record {
    /// Bits of the built-ins that are present, in the order of [`BUILTINS`].
    builtins: u16,
    /// Bits of the locations that are present.
    locations: u64,
}

impl Record {
    /// The outputs that a stage leaves for each vertex.
    #[must_use]
    pub fn of_vertices(s: &Shader) -> Record {
        let per_vertex = match s.info.stage {
            tepui_ir::Stage::TessControl => Op::StoreOutputVertex,
            _ => Op::StoreOutput,
        };
        Record::of(s, per_vertex)
    }

    /// The outputs that a control shader leaves for each patch: the levels always.
    #[must_use]
    pub fn of_patch(s: &Shader) -> Record {
        let mut record = Record::of(s, Op::StoreOutput);
        record.add(IoLoc::Builtin(Builtin::TessLevelOuter), 1);
        record.add(IoLoc::Builtin(Builtin::TessLevelInner), 1);
        record
    }

    fn of(s: &Shader, store: Op) -> Record {
        let mut record = Record::default();
        s.walk(|s, _, i| {
            let Attrs::Io(slot) = s.insts[i].attrs else { return };
            if s.insts[i].op == store {
                let fixed = s.as_const(s.arg(i, 1));
                let n = match fixed {
                    Some(k) => k as u32 + 1,
                    None => s.io_elements(slot, true),
                };
                record.add(slot.loc, n);
            }
        });
        record
    }

    fn add(&mut self, loc: IoLoc, n: u32) {
        match loc {
            IoLoc::Builtin(b) => {
                if let Some(k) = BUILTINS.iter().position(|x| x.0 == b) {
                    self.builtins |= 1 << k;
                }
            }
            IoLoc::Location(first) => {
                for k in 0..n {
                    self.locations |= 1u64.checked_shl(u32::from(first) + k).unwrap_or(0);
                }
            }
        }
    }

    /// Bytes from the start of the record to a slot's first component; `None` when it is not there.
    #[must_use]
    pub fn offset(&self, slot: IoSlot) -> Option<u32> {
        let component = 4 * u32::from(slot.component);
        let before = match slot.loc {
            IoLoc::Builtin(b) => {
                let k = BUILTINS.iter().position(|x| x.0 == b)?;
                if self.builtins >> k & 1 == 0 {
                    return None;
                }
                self.builtins_b(k)
            }
            IoLoc::Location(l) => {
                let bit = 1u64.checked_shl(u32::from(l))?;
                if self.locations & bit == 0 {
                    return None;
                }
                let rank = (self.locations & (bit - 1)).count_ones();
                self.builtins_b(BUILTINS.len()).next_multiple_of(LOCATION_B) + LOCATION_B * rank
            }
        };
        Some(before + component)
    }

    /// Bytes of the first `n` built-ins.
    fn builtins_b(&self, n: usize) -> u32 {
        let there = BUILTINS[..n].iter().enumerate().filter(|b| self.builtins >> b.0 & 1 != 0);
        there.map(|b| b.1.1).sum()
    }

    /// Bytes from record to record.
    #[must_use]
    pub fn stride(&self) -> u32 {
        let builtins = self.builtins_b(BUILTINS.len()).next_multiple_of(LOCATION_B);
        builtins + LOCATION_B * self.locations.count_ones()
    }

    /// Whether a built-in is there.
    #[must_use]
    pub fn has(&self, b: Builtin) -> bool {
        BUILTINS.iter().position(|x| x.0 == b).is_some_and(|k| self.builtins >> k & 1 != 0)
    }
}
