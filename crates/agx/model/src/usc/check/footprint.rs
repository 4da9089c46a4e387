//! Properties of instructions for the checker: the registers that they read and write, their waits, and
//! their kinds.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

use tepui_agx_isa::operand::{Src, SrcKind};
use tepui_agx_isa::{Access, File, Inst, Role};

use super::super::access::TextureAccess;
use super::super::code::Code;
use super::super::opcode::Opcode;
use tepui_agx_texture::{Kind, LodSource};

/// Half-registers of a thread.
pub const HALVES: usize = tepui_agx_isa::operand::REGISTER_HALVES as usize;
/// Scoreboard slots.
pub const SLOTS: usize = 2;

/// The register accesses and waits of one instruction.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    /// Half-registers that are read, a range for each operand.
    pub reads: Vec<Range<u16>>,
    /// The last of these operands are two of which each lane chooses one: which are registers.
    pub choices: Option<[bool; 2]>,
    /// Half-registers that are written.
    pub writes: Vec<Range<u16>>,
    /// The slot that a load or another asynchronous write signals.
    pub slot: Option<usize>,
    /// The slot that the instruction waits for.
    pub waits: Option<usize>,
    /// Whether it takes differences within quads.
    pub quad: bool,
    /// Whether it reads a texel.
    pub texel: bool,
    /// An atomic, or a memory barrier that does not belong to a barrier of the workgroup.
    pub sync: bool,
    /// Whether other lanes or other programs see its result, other than by a store: shuffles, reductions, derivatives, uniforms.
    pub crosses: bool,
}

impl Footprint {
    /// The lanes in which a read has an effect, of those that execute: where the instruction chooses between two operands, those of `first`
    /// take the former.
    pub fn needs(&self, read: usize, exec: u32, first: u32) -> u32 {
        let Some([x, y]) = self.choices else { return exec };
        let from_end = self.reads.len() - read;
        match (from_end, x, y) {
            (1, _, true) => exec & !first,
            (1, true, false) | (2, true, true) => exec & first,
            _ => exec,
        }
    }
}

/// The checker's state of a program.
#[derive(Debug)]
pub struct Footprints {
    /// By instruction.
    pub of: Vec<Footprint>,
    /// Whether the result of an instruction was needed: bits of [`uses`].
    uses: Vec<AtomicU8>,
    /// Some instruction reads texels.
    pub has_texels: bool,
    /// Some instruction [crosses](Footprint::crosses).
    pub crosses_lanes: bool,
}

/// Bits of what became of an instruction's result.
mod uses {
    pub const EXECUTED: u8 = 1;
    pub const READ: u8 = 2;
    pub const TOLD: u8 = 4;
}

/// Change of an instruction's result at the end of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The result was computed and not read yet.
    Unread,
    /// The result was read now.
    Read,
}

/// The half-registers of an access that exist.
fn halves(access: &Access) -> Range<u16> {
    let last = HALVES as u16;
    access.start.min(last)..(access.start + access.count).min(last)
}

impl Footprints {
    /// The footprints of a program.
    pub fn of(code: &Code) -> Footprints {
        let of: Vec<Footprint> =
            (0..code.placed().len()).map(|index| footprint(code, index)).collect();
        let uses = of.iter().map(|_| AtomicU8::new(0)).collect();
        let has_texels = of.iter().any(|f| f.texel);
        let crosses_lanes = of.iter().any(|f: &Footprint| f.crosses);
        Footprints { of, uses, has_texels, crosses_lanes }
    }

    /// Whether an instruction [crosses](Footprint::crosses).
    pub fn crosses(&self, index: usize) -> bool {
        self.crosses_lanes && self.of.get(index).is_some_and(|f| f.crosses)
    }

    /// Notes that an instruction made a result that somebody should read.
    pub fn executed(&self, index: usize) {
        self.set(index, uses::EXECUTED);
    }

    /// Notes that the result of an instruction is read.
    pub fn read(&self, index: usize) {
        self.set(index, uses::READ);
    }

    fn set(&self, index: usize, bit: u8) {
        if let Some(flags) = self.uses.get(index)
            && flags.load(Ordering::Relaxed) & bit == 0
        {
            flags.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Changes since the last call, by instruction.
    pub fn news(&self) -> Vec<(usize, News)> {
        let mut news = Vec::new();
        for (index, flags) in self.uses.iter().enumerate() {
            let now = flags.load(Ordering::Relaxed);
            let what = match (now & uses::EXECUTED, now & uses::READ, now & uses::TOLD) {
                (1.., 0, 0) => News::Unread,
                (_, 1.., 1..) => News::Read,
                _ => continue,
            };
            flags.fetch_xor(uses::TOLD, Ordering::Relaxed);
            news.push((index, what));
        }
        news
    }
}

fn crosses_lanes(opcode: Opcode) -> bool {
    use Opcode::{dfdx, dfdy, fcmp_ballot, icmp_ballot, reduce, shuffle};
    use Opcode::{sampler_state_store, texture_state_store, uniform_store};
    let among_lanes = matches!(opcode, dfdx | dfdy | fcmp_ballot | icmp_ballot | reduce | shuffle);
    among_lanes || matches!(opcode, sampler_state_store | texture_state_store | uniform_store)
}

fn footprint(code: &Code, index: usize) -> Footprint {
    let (Some(inst), Some(op)) = (code.inst(index), code.ops().get(index)) else {
        return Footprint::default();
    };
    let mut f = Footprint {
        slot: inst.scoreboard().map(|slot| usize::from(slot) % SLOTS),
        waits: super::super::query::waits_for(inst).map(|slot| usize::from(slot) % SLOTS),
        ..Footprint::default()
    };
    // The register operand of `no_var` is a part of its encoding: the instruction has no operand in Mesa's table.
    let has_operands = !matches!(inst, Inst::NoVar(_));
    for access in inst.operands().iter().filter(|a| has_operands && a.file == File::Reg) {
        if matches!(access.role, Role::Read | Role::ReadWrite) && access.exact {
            f.reads.push(halves(access));
        }
        if matches!(access.role, Role::Write | Role::ReadWrite) {
            f.writes.push(halves(access));
        }
    }
    let is_register = |s: &Src| matches!(s.kind, SrcKind::Reg(_));
    f.choices = match inst {
        Inst::Icmpsel(i) => Some([&i.x, &i.y].map(is_register)),
        Inst::Fcmpsel(i) => Some([&i.x, &i.y].map(is_register)),
        _ => None,
    };
    f.crosses = crosses_lanes(op.opcode);
    match op.opcode {
        Opcode::dfdx | Opcode::dfdy => f.quad = true,
        Opcode::device_atomic => f.sync = true,
        Opcode::fence => {
            // Drivers put memory barriers around the workgroup's.
            let around = index.saturating_sub(4)..(index + 5).min(code.ops().len());
            f.sync = !code.ops()[around].iter().any(|op| op.opcode == Opcode::barrier);
        }
        Opcode::texture => {
            if let TextureAccess::Read(t) = code.access(op.imm as usize) {
                let auto =
                    matches!(t.request.lod, LodSource::Auto | LodSource::Bias | LodSource::BiasMin);
                f.quad = t.request.kind == Kind::Sample && auto;
                f.texel = matches!(t.request.kind, Kind::Sample | Kind::Load | Kind::Gather { .. });
            }
        }
        _ => {}
    }
    f
}
