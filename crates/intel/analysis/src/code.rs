//! Machine code as decoded instructions with their control flow.

use std::collections::HashMap;

use tepui_intel_isa::layout::Targets;
use tepui_intel_isa::{Arf, DecodeError, Desc, Form, Generation, Inst, Location, Opcode, Register};

use crate::access::{Access, Descriptors};

/// Limit on the bytes of a program.
pub const MAX_BYTES: usize = 1 << 22;

/// Limit on the nested blocks around a jump that are followed outwards.
const MAX_NESTING: usize = 64;

/// A mistake in machine code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodeError {
    /// Bytes that are no instruction.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A jump to a byte where no instruction begins.
    #[error("{from:#x}: the jump leads to byte {to:#x}, where no instruction begins")]
    Jump {
        /// Offset of the jump.
        from: usize,
        /// Its target.
        to: i64,
    },
    /// An instruction whose targets are not known from the code.
    #[error(
        "{offset:#x}: `{mnemonic}` is not followed: programs with calls and computed jumps are not analysed"
    )]
    UnknownTarget {
        /// Its offset.
        offset: usize,
        /// Its mnemonic.
        mnemonic: &'static str,
    },
    /// More bytes than [`MAX_BYTES`].
    #[error("the program has {bytes} bytes; the limit is {MAX_BYTES}")]
    TooLong {
        /// The bytes.
        bytes: usize,
    },
}

/// A program.
#[derive(Clone, Debug)]
pub struct Code {
    insts: Vec<Inst>,
    offsets: Vec<usize>,
    /// Indices of the targets: JIP and UIP.
    targets: Vec<[Option<u32>; 2]>,
    descriptors: Vec<Descriptors>,
}

impl Code {
    /// Decodes a whole program. Bytes after its end (`tepui_intel_isa::disasm::end`) belong to no program.
    ///
    /// # Errors
    /// Bytes that are no instruction, jumps to other bytes than an instruction's first, calls.
    pub fn decode(generation: Generation, bytes: &[u8]) -> Result<Code, CodeError> {
        if bytes.len() > MAX_BYTES {
            return Err(CodeError::TooLong { bytes: bytes.len() });
        }
        let mut insts = Vec::new();
        let mut offset = 0;
        while offset < bytes.len() {
            let inst = Inst::decode(generation, bytes, offset)?;
            insts.push(inst);
            offset += inst.bytes();
        }
        Code::new(insts)
    }

    /// A program of instructions, one after the other.
    ///
    /// # Errors
    /// As [`Code::decode`].
    pub fn new(insts: Vec<Inst>) -> Result<Code, CodeError> {
        let mut offset = 0;
        let place = |inst: Inst| {
            let at = offset;
            offset += inst.bytes();
            (at, inst)
        };
        Code::placed(insts.into_iter().map(place).collect())
    }

    /// A program of instructions at ascending offsets, some of which may be left out.
    ///
    /// # Errors
    /// As [`Code::decode`].
    pub fn placed(insts: Vec<(usize, Inst)>) -> Result<Code, CodeError> {
        let (offsets, insts): (Vec<usize>, Vec<Inst>) = insts.into_iter().unzip();
        let index: HashMap<usize, u32> =
            offsets.iter().enumerate().map(|(n, &offset)| (offset, n as u32)).collect();
        let mut targets = Vec::with_capacity(insts.len());
        for (inst, &from) in insts.iter().zip(&offsets) {
            let target = |jump: i32| {
                let to = from as i64 + i64::from(jump);
                let known = usize::try_from(to).ok().and_then(|to| index.get(&to).copied());
                known.map(Some).ok_or(CodeError::Jump { from, to })
            };
            let unknown =
                CodeError::UnknownTarget { offset: from, mnemonic: inst.opcode.mnemonic() };
            targets.push(match inst.form() {
                Form::Jip => [target(inst.jip)?, None],
                Form::JipUip => [target(inst.jip)?, target(inst.uip)?],
                Form::Jump => {
                    let bits = inst.src[0].immediate_bits().ok_or(unknown)?;
                    [target((bits as u32 as i32).wrapping_add(inst.bytes() as i32))?, None]
                }
                Form::Call => return Err(unknown),
                _ if inst.opcode == Opcode::Ret => return Err(unknown),
                _ => [None, None],
            });
        }
        let descriptors = descriptors(&insts);
        Ok(Code { insts, offsets, targets, descriptors })
    }

    /// A program of instructions whose jumps have their targets as indices instead of offsets.
    pub fn with_targets(insts: Vec<Inst>, targets: &[Targets]) -> Code {
        let index = |target: Option<usize>| target.map(|n| n as u32);
        let targets = targets.iter().map(|to| [index(to.jip), index(to.uip)]).collect();
        let offsets = (0..insts.len()).map(|n| 16 * n).collect();
        let descriptors = descriptors(&insts);
        Code { insts, offsets, targets, descriptors }
    }

    /// Number of instructions.
    pub fn len(&self) -> usize {
        self.insts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.insts.is_empty()
    }

    /// The instructions.
    pub fn insts(&self) -> &[Inst] {
        &self.insts
    }

    /// Replaces an instruction by another of the same length and the same jumps.
    pub fn replace(&mut self, n: usize, inst: Inst) {
        self.insts[n] = inst;
    }

    /// Offset of an instruction in bytes.
    pub fn offset(&self, n: usize) -> usize {
        self.offsets[n]
    }

    /// The instruction at an offset.
    pub fn at(&self, offset: usize) -> Option<usize> {
        self.offsets.binary_search(&offset).ok()
    }

    /// The targets of a jump: JIP (or the only one) and UIP.
    pub fn targets(&self, n: usize) -> [Option<usize>; 2] {
        self.targets[n].map(|target| target.map(|n| n as usize))
    }

    /// The descriptors of a message: immediates, or the immediate part of what the instructions before it put into a0.
    pub fn descriptors(&self, n: usize) -> Descriptors {
        self.descriptors[n]
    }

    /// The registers that an instruction accesses.
    pub fn access(&self, n: usize) -> Access {
        Access::with_descriptors(&self.insts[n], self.descriptors[n])
    }

    /// The text of an instruction, on one line.
    pub fn text(&self, n: usize) -> String {
        self.insts[n].to_string().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The instructions that can be executed next by a thread. A thread follows one path at a time: a branch that all its channels
    /// take leads to where other channels wait, which can be any of the ends of the blocks around it. An index that equals
    /// the number of instructions is the end of the code.
    pub fn successors(&self, n: usize) -> Vec<usize> {
        let inst = &self.insts[n];
        let [jip, uip] = self.targets(n);
        let mut next = Vec::with_capacity(2);
        let ends = inst.opcode.is_send() && inst.send.end_of_thread;
        // A loop without a condition is left by its jumps alone.
        let jumps =
            matches!(inst.opcode, Opcode::Jmpi | Opcode::While) && inst.predicate.control == 0;
        if !ends && !jumps {
            next.push(n + 1);
        }
        match inst.opcode {
            // Some channel is enabled after an `endif` that any channel reaches.
            Opcode::Endif => {}
            Opcode::If | Opcode::While | Opcode::Jmpi => next.extend(jip),
            Opcode::Else => next.extend(jip.into_iter().chain(uip)),
            Opcode::Break | Opcode::Cont | Opcode::Halt => {
                next.extend(self.reconvergence(jip));
                next.extend(uip.map(|uip| uip + usize::from(inst.opcode == Opcode::Break)));
            }
            _ => next.extend(jip.into_iter().chain(uip)),
        }
        next.sort_unstable();
        next.dedup();
        next
    }

    /// The instructions at which channels can wait, from a jump's JIP outwards.
    fn reconvergence(&self, jip: Option<usize>) -> Vec<usize> {
        let mut places = Vec::new();
        let mut at = jip;
        while let Some(place) = at
            && places.len() < MAX_NESTING
            && !places.contains(&place)
        {
            places.push(place);
            at = match self.insts.get(place).map(|inst| inst.opcode) {
                Some(Opcode::Endif | Opcode::Else) => self.targets(place)[0],
                _ => None,
            };
        }
        places
    }

    /// Index of the first instruction of each loop, for each `while`.
    pub fn loops(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.len()).filter_map(|n| match (self.insts[n].opcode, self.targets(n)[0]) {
            (Opcode::While, Some(first)) if first <= n => Some((first, n)),
            _ => None,
        })
    }
}

/// The descriptors of all messages. The parts of one that vary are a surface's or sampler's index, combined by `or` with the
/// immediate rest, in which are the lengths.
fn descriptors(insts: &[Inst]) -> Vec<Descriptors> {
    // The known bits of a0's double words.
    let mut address: [Option<u32>; 8] = [None; 8];
    let mut all = Vec::with_capacity(insts.len());
    for inst in insts {
        if inst.opcode.is_send() {
            let known = |desc| match desc {
                Desc::Immediate(bits) => Some(bits),
                Desc::Address(dword) => address.get(usize::from(dword)).copied().flatten(),
            };
            let (desc, ex_desc) = (known(inst.send.desc), known(inst.send.ex_desc));
            all.push(Descriptors { desc, ex_desc });
            continue;
        }
        all.push(Descriptors::default());
        if let Location::Direct { register: Register::Architecture(Arf::Address, 0), byte } =
            inst.dst.location
        {
            let dword = usize::from(byte) / 4;
            let immediate = |n: usize| inst.src[n].immediate_bits().map(|bits| bits as u32);
            let value = match inst.opcode {
                Opcode::Mov => immediate(0),
                Opcode::Or => immediate(1),
                _ => None,
            };
            for (n, known) in address.iter_mut().enumerate() {
                if n == dword {
                    *known = value.filter(|_| inst.dst.ty.bytes() == 4 && inst.exec_size == 1);
                } else if inst.exec_size > 1 {
                    *known = None;
                }
            }
        }
    }
    all
}
