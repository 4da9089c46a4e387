//! A program of Valhall: its instructions, the registers that they access, and control flow.

use tepui_mali_isa::inst::BYTES;
use tepui_mali_isa::modifier::Slot;
use tepui_mali_isa::modifier::fields::{ABSOLUTE, EQ};
use tepui_mali_isa::operand::CONSTANTS;
use tepui_mali_isa::{DecodeError, Flow, Inst, Op, Operand, Swizzle};

use crate::scoreboard::{Access, BLEND_SHADER_REGISTERS, COLOUR, DEPTH, range};

/// Slots of messages.
const MESSAGE_SLOTS: u8 = 0b111;

/// A program that is not analysed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodeError {
    /// Bytes that are no instruction.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A branch out of the program, or to an address that is computed.
    #[error("{offset:#x}: the target of the branch is not in the program")]
    Target {
        /// Offset of the branch.
        offset: usize,
    },
}

/// A decoded program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    insts: Vec<Inst>,
}

impl Code {
    /// Decodes a program: instructions up to the end of the bytes, or up to a word of zeros that no instruction
    /// branches over.
    ///
    /// # Errors
    /// A word is no instruction, or a branch leaves the program.
    pub fn decode(code: &[u8]) -> Result<Code, CodeError> {
        let mut insts = Vec::new();
        let mut needed = 0;
        while insts.len() * BYTES < code.len() {
            let n = insts.len();
            let bytes = &code[n * BYTES..];
            // Programs are padded with zeros, which decode as NOP.
            if n > needed && bytes.iter().take(BYTES).all(|&byte| byte == 0) {
                break;
            }
            let inst = Inst::decode_at(code, n * BYTES)?;
            let ends = inst.flow == Flow::End;
            if let Some(to) = target(n, &inst)? {
                needed = needed.max(to);
            }
            insts.push(inst);
            if ends && n >= needed {
                break;
            }
        }
        let code = Code { insts };
        for (n, inst) in code.insts.iter().enumerate() {
            if let Some(to) = target(n, inst)?
                && to > code.len()
            {
                return Err(CodeError::Target { offset: n * BYTES });
            }
        }
        Ok(code)
    }

    /// Number of instructions.
    pub fn len(&self) -> usize {
        self.insts.len()
    }

    /// Whether there are no instructions.
    pub fn is_empty(&self) -> bool {
        self.insts.is_empty()
    }

    /// The instructions.
    pub fn insts(&self) -> &[Inst] {
        &self.insts
    }

    /// Offset of an instruction in bytes.
    pub fn offset(&self, n: usize) -> usize {
        n * BYTES
    }

    /// The instructions that may come after one; the program's length is its end.
    pub fn successors(&self, n: usize) -> impl Iterator<Item = usize> + use<> {
        let inst = &self.insts[n];
        let next = (inst.flow != Flow::End && !is_always_taken(inst)).then_some(n + 1);
        // The targets were checked when the program was decoded.
        next.into_iter().chain(target(n, inst).ok().flatten())
    }

    /// Registers that an instruction accesses, and its slots.
    pub fn access(&self, n: usize) -> Access {
        access(&self.insts[n])
    }
}

/// Registers that an instruction accesses, and its slots.
#[must_use]
pub fn access(inst: &Inst) -> Access {
    let row = inst.op.row();
    let mut access = Access { waits: waits(inst.flow), ..Access::default() };
    for (field, source) in row.form.sources.iter().zip(&inst.sources) {
        if let Operand::Register { index, last } = source.operand {
            let pair = row.source_width(field) == 64 && source.swizzle == Swizzle::Identity;
            let set = range(index, if pair { 2 } else { 1 });
            access.reads |= set;
            access.discards |= if last { set } else { 0 };
        }
    }
    for (field, staging) in row.form.staging.iter().zip(&inst.staging) {
        let set = range(staging.register, staging.count);
        match field.write {
            true => access.results |= set,
            false => access.reads |= set,
        }
    }
    if let Some(dest) = inst.dest {
        access.writes = range(dest.register, if row.width == 64 { 2 } else { 1 });
    }
    if row.form.unit.is_message() {
        // ATEST has no field for its slot.
        access.slot = Some(inst.modifier::<Slot>().map_or(0, |slot| slot as u8));
    }
    if inst.op == Op::BLEND && inst.flow != Flow::End && may_call(inst) {
        access.discards |= BLEND_SHADER_REGISTERS;
    }
    access.discards &= !(access.writes | access.results);
    match inst.op {
        Op::BARRIER => access.idle = MESSAGE_SLOTS,
        Op::ATEST | Op::ZS_EMIT => access.needs = DEPTH,
        Op::BLEND | Op::LD_TILE | Op::ST_TILE => access.needs = DEPTH | COLOUR,
        _ => {}
    }
    access
}

/// Whether a BLEND may call a blend shader: if its descriptor is the draw's. Blend shaders have it in constants.
fn may_call(inst: &Inst) -> bool {
    let descriptor = inst.sources.first().map(|source| source.operand);
    matches!(descriptor, Some(Operand::Special(..)))
}

/// The slots that a flow waits for, after its instruction.
fn waits(flow: Flow) -> u8 {
    match flow {
        Flow::Wait0 => 0b1,
        Flow::Wait1 => 0b10,
        Flow::Wait01 => 0b11,
        Flow::Wait2 => 0b100,
        Flow::Wait02 => 0b101,
        Flow::Wait12 => 0b110,
        Flow::Wait012 => 0b111,
        Flow::Wait0126 => 0b111 | DEPTH,
        Flow::Wait | Flow::End => u8::MAX,
        // The resource is the tile: Mesa has this in the place of a wait for all before LD_TILE.
        Flow::WaitResource => DEPTH | COLOUR,
        Flow::None | Flow::Reconverge | Flow::Discard => 0,
    }
}

/// Whether an instruction is a branch on a constant that is always taken.
fn is_always_taken(inst: &Inst) -> bool {
    let zero = |operand| match operand {
        Operand::Constant(index) => CONSTANTS.get(usize::from(index)) == Some(&0),
        _ => false,
    };
    inst.op == Op::BRANCHZ && inst.flag(&EQ) && inst.sources.iter().all(|s| zero(s.operand))
}

/// The target of a branch: an instruction, or the end of the program. BLEND branches over a call of a blend shader, which returns
/// to what follows.
fn target(n: usize, inst: &Inst) -> Result<Option<usize>, CodeError> {
    let leaves = CodeError::Target { offset: n * BYTES };
    let by = match inst.op {
        Op::BRANCHZ => inst.immediate("offset"),
        Op::BLEND => inst.immediate("target").filter(|&by| by != 0),
        Op::BRANCHZI if !inst.flag(&ABSOLUTE) => return Err(leaves),
        _ => None,
    };
    let to = |by: i64| usize::try_from(n as i64 + 1 + by).map_err(|_| leaves);
    by.map(to).transpose()
}
