//! Registers that an instruction reads and writes.
//!
//! General registers are tracked whole (32 bytes), as brw's scoreboard and schedulers do: two accesses of different
//! halves of a register count as accesses of the same.
//!
//! source: Mesa, `brw_ir_fs.h` (`regs_read`, `regs_written`), `brw_fs.cpp` (`flags_read`, `flags_written`),
//! `brw_eu.h` (lengths in message descriptors).

use tepui_intel_isa::{
    Arf, Condition, Desc, Dst, Form, Generation, Inst, Location, Opcode, Region, Register, Src,
};

/// Bytes of a general register.
pub const REGISTER_BYTES: usize = 32;

/// Number of in-order instructions after which the first of them has written its result (Gen12). source: Mesa,
/// `brw_lower_scoreboard.cpp` (`ordered_dependency_swsb`).
pub const IN_ORDER_DEPTH: usize = 10;

/// Consecutive general registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The first.
    pub first: u8,
    /// Number of registers; 0 for none.
    pub count: u8,
}

impl Span {
    /// No register.
    pub const NONE: Span = Span { first: 0, count: 0 };

    fn new(first: u8, count: usize) -> Span {
        let count = count.min(128 - usize::from(first.min(128)));
        Span { first, count: count as u8 }
    }

    /// The numbers of the registers.
    pub fn registers(self) -> std::ops::Range<usize> {
        usize::from(self.first)..usize::from(self.first) + usize::from(self.count)
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The registers as bits of a mask.
    pub fn mask(self) -> u128 {
        let ones = if self.count >= 128 { u128::MAX } else { (1 << self.count) - 1 };
        ones.checked_shl(u32::from(self.first)).unwrap_or(0)
    }
}

/// Number of general registers of an operand whose bytes are told apart.
const TOLD_REGISTERS: usize = 4;

/// The bytes of consecutive general registers that an operand touches.
///
/// source: Intel Graphics Compiler, RegDeps.cpp (`setSrcRegion`, `setDstRegion`): its dependencies are between bytes
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Bytes {
    /// The first register.
    first: u8,
    /// Bytes of each register, a bit each; no bits at all for operands that are longer or whose bytes are not told apart: all.
    masks: [u32; TOLD_REGISTERS],
}

impl Bytes {
    /// Elements at offsets in bytes from a byte of a register.
    fn new(
        first: u8,
        byte: u8,
        element_bytes: usize,
        offsets: impl Iterator<Item = usize>,
    ) -> Bytes {
        let mut masks = [0u32; TOLD_REGISTERS];
        for offset in offsets {
            for at in (usize::from(byte) + offset..).take(element_bytes) {
                let Some(mask) = masks.get_mut(at / REGISTER_BYTES) else {
                    return Bytes::default();
                };
                *mask |= 1 << (at % REGISTER_BYTES);
            }
        }
        Bytes { first, masks }
    }

    /// The bytes of a register of the operand.
    fn of(&self, register: u8) -> u32 {
        if self.masks == [0; TOLD_REGISTERS] {
            return u32::MAX;
        }
        let mask = self.masks.get(usize::from(register.wrapping_sub(self.first)));
        mask.copied().unwrap_or(0)
    }
}

/// Use of the accumulators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct AccumulatorUse {
    /// Mask of the accumulators that are an operand.
    pub operand: u16,
    /// Mask of the accumulators that the operation uses without an operand that names them.
    pub implicit: u16,
}

impl AccumulatorUse {
    /// All accumulators that are used.
    pub fn all(self) -> u16 {
        self.operand | self.implicit
    }
}

/// Registers that an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Access {
    /// General registers of each source; of messages, of each payload.
    pub reads: [Span; 3],
    /// General registers of the destination; of messages, the response.
    pub writes: Span,
    /// Bytes of the sources and of the destination, of instructions that are no messages.
    pub bytes: [Bytes; 4],
    /// Sources at addresses in a0: which registers they read is not known from the instruction.
    pub indirect_reads: bool,
    /// The destination is at an address in a0.
    pub indirect_write: bool,
    /// Reads a0: as an operand, for indirect operands, or for descriptors.
    pub reads_address: bool,
    /// Writes a0.
    pub writes_address: bool,
    /// Accumulators that are read.
    pub accumulator_reads: AccumulatorUse,
    /// Accumulators that are written.
    pub accumulator_writes: AccumulatorUse,
    /// Flag bytes that are read: bit n for channels 8n to 8n+7 of f0 (bits 0 to 3) and f1 (bits 4 to 7).
    pub flag_reads: u8,
    /// Flag bytes that are written.
    pub flag_writes: u8,
}

impl Access {
    /// The accesses of an instruction by itself. Lengths in descriptors in a0 are not known from it.
    pub fn of(inst: &Inst) -> Access {
        Access::with_descriptors(inst, Descriptors::of(inst))
    }

    /// The accesses of an instruction whose descriptors are known.
    pub fn with_descriptors(inst: &Inst, descriptors: Descriptors) -> Access {
        let mut access = Access::default();
        match inst.form() {
            Form::Send | Form::SplitSend => messages(inst, descriptors, &mut access),
            Form::Regular { dst, sources } => {
                for (n, src) in inst.src[..usize::from(sources)].iter().enumerate() {
                    source(inst, n, src, &mut access);
                }
                if dst {
                    destination(inst, &mut access);
                }
            }
            Form::Ternary => {
                for (n, src) in inst.src.iter().enumerate() {
                    source(inst, n, src, &mut access);
                }
                destination(inst, &mut access);
            }
            Form::Jump => source(inst, 0, &inst.src[0], &mut access),
            Form::Call => destination(inst, &mut access),
            Form::None | Form::Jip | Form::JipUip | Form::Wait => {}
        }
        if inst.predicate.control != 0 {
            access.flag_reads |= predicate_flags(inst);
        }
        if writes_flag(inst) {
            access.flag_writes |= flag_mask(inst, 1);
        }
        implicit_accumulators(inst, &mut access);
        access
    }

    /// Bytes of a general register that are read.
    pub fn read_bytes(&self, register: u8) -> u32 {
        let has = |span: &Span| span.registers().contains(&usize::from(register));
        let bytes = self.reads.iter().zip(&self.bytes).filter(|(span, _)| has(span));
        bytes.fold(0, |all, (_, bytes)| all | bytes.of(register))
    }

    /// Bytes of a general register that are written.
    pub fn written_bytes(&self, register: u8) -> u32 {
        self.bytes[3].of(register)
    }

    /// Mask of the general registers that are read.
    pub fn read_mask(&self) -> u128 {
        self.reads.iter().fold(0, |mask, span| mask | span.mask())
    }
}

/// Whether the condition of an instruction writes a flag register.
fn writes_flag(inst: &Inst) -> bool {
    inst.has_condition()
        && inst.condition != Condition::None
        && !inst.opcode.condition_without_flag()
}

/// Bytes that `count` elements of a region span.
fn extent(region: Region, exec_size: usize, bytes: usize, per_row: bool) -> usize {
    match region {
        Region::Rows { vertical, width, horizontal } => {
            let width = usize::from(width).clamp(1, exec_size);
            let rows = if per_row { 1 } else { exec_size / width };
            let last =
                (rows.max(1) - 1) * usize::from(vertical) + (width - 1) * usize::from(horizontal);
            (last + 1) * bytes
        }
        Region::PerRow { width, horizontal } => {
            ((usize::from(width).max(1) - 1) * usize::from(horizontal) + 1) * bytes
        }
        // Groups of four components.
        Region::Swizzle { vertical, .. } => {
            ((exec_size / 4).max(1) - 1) * usize::from(vertical) * bytes + 4 * bytes
        }
    }
}

fn source(inst: &Inst, n: usize, src: &Src, access: &mut Access) {
    let exec_size = usize::from(inst.exec_size);
    let mut bytes = extent(src.region, exec_size, src.ty.bytes(), false);
    match (inst.opcode, n) {
        // A plane is four floats.
        (Opcode::Pln, 0) => bytes = 16,
        // Two coordinates.
        (Opcode::Pln, 1) => bytes *= 2,
        _ => {}
    }
    match src.location {
        Location::Immediate(_) => {}
        Location::Indirect { .. } => {
            access.reads_address = true;
            access.indirect_reads = true;
        }
        Location::Direct { register: Register::General(first), byte } => {
            access.reads[n] =
                Span::new(first, (usize::from(byte) + bytes).div_ceil(REGISTER_BYTES));
            if let (false, Region::Rows { vertical, width, horizontal }) =
                (inst.opcode == Opcode::Pln, src.region)
            {
                let (width, size) = (usize::from(width).max(1), src.ty.bytes());
                let [vertical, horizontal] = [vertical, horizontal].map(usize::from);
                let offsets =
                    (0..exec_size).map(|k| (k / width * vertical + k % width * horizontal) * size);
                access.bytes[n] = Bytes::new(first, byte, size, offsets);
            }
        }
        Location::Direct { register: Register::Architecture(arf, number), byte } => match arf {
            Arf::Address => access.reads_address = true,
            Arf::Accumulator => {
                let count = (usize::from(byte) + bytes).div_ceil(REGISTER_BYTES);
                access.accumulator_reads.operand |= accumulators(number, count);
            }
            Arf::Flag => access.flag_reads |= flag_bytes(number, byte, bytes),
            _ => {}
        },
    }
}

fn accumulators(first: u8, count: usize) -> u16 {
    (0..count.min(16))
        .fold(0, |mask, n| mask | 1u16.checked_shl(u32::from(first) + n as u32).unwrap_or(0))
}

fn flag_bytes(number: u8, byte: u8, bytes: usize) -> u8 {
    let from = usize::from(number) * 4 + usize::from(byte);
    (from..from + bytes.clamp(1, 8)).filter(|n| *n < 8).fold(0, |mask, n| mask | 1 << n)
}

/// Bytes that a destination spans, with the gap after its last element.
fn destination_bytes(inst: &Inst, dst: &Dst) -> usize {
    usize::from(inst.exec_size) * usize::from(dst.stride).max(1) * dst.ty.bytes()
}

fn destination(inst: &Inst, access: &mut Access) {
    let dst = &inst.dst;
    let gap = (usize::from(dst.stride).max(1) - 1) * dst.ty.bytes();
    let bytes = destination_bytes(inst, dst) - gap;
    let count = |byte: u8| (usize::from(byte) + bytes).div_ceil(REGISTER_BYTES);
    match dst.location {
        Location::Immediate(_) => {}
        Location::Indirect { .. } => {
            access.reads_address = true;
            access.indirect_write = true;
        }
        Location::Direct { register: Register::General(first), byte } => {
            access.writes = Span::new(first, count(byte));
            if !inst.align16 {
                let (stride, size) = (usize::from(dst.stride).max(1), dst.ty.bytes());
                let offsets = (0..usize::from(inst.exec_size)).map(|k| k * stride * size);
                access.bytes[3] = Bytes::new(first, byte, size, offsets);
            }
        }
        Location::Direct { register: Register::Architecture(arf, number), byte } => match arf {
            Arf::Address => access.writes_address = true,
            Arf::Accumulator => {
                access.accumulator_writes.operand |= accumulators(number, count(byte));
            }
            Arf::Flag => access.flag_writes |= flag_bytes(number, byte, bytes),
            _ => {}
        },
    }
}

/// Descriptors of a message, as far as they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Descriptors {
    /// The descriptor.
    pub desc: Option<u32>,
    /// The extended descriptor.
    pub ex_desc: Option<u32>,
}

impl Descriptors {
    /// The immediate descriptors of an instruction.
    pub fn of(inst: &Inst) -> Descriptors {
        let immediate = |desc| match desc {
            Desc::Immediate(bits) => Some(bits),
            Desc::Address(_) => None,
        };
        Descriptors { desc: immediate(inst.send.desc), ex_desc: immediate(inst.send.ex_desc) }
    }
}

/// Size of a message's parts in general registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MessageLengths {
    /// The first payload; 1 if it is not known.
    pub payload: u8,
    /// The second payload; 1 if it is not known.
    pub extended: u8,
    /// The response; 0 if it is not known.
    pub response: u8,
}

impl MessageLengths {
    /// The lengths that descriptors say. source: Mesa, `brw_eu.h` (`brw_message_desc_mlen`,
    /// `brw_message_desc_rlen`, `brw_message_ex_desc_ex_mlen`).
    pub fn of(inst: &Inst, descriptors: Descriptors) -> MessageLengths {
        let mut lengths = MessageLengths { payload: 1, ..MessageLengths::default() };
        if let Some(bits) = descriptors.desc {
            lengths.payload = (bits >> 25 & 15) as u8;
            lengths.response = (bits >> 20 & 31) as u8;
        }
        if inst.form() == Form::SplitSend && inst.src[1].location != Location::NULL {
            lengths.extended = descriptors.ex_desc.map_or(1, |bits| (bits >> 6 & 15) as u8);
        }
        lengths
    }
}

fn messages(inst: &Inst, descriptors: Descriptors, access: &mut Access) {
    let lengths = MessageLengths::of(inst, descriptors);
    let general = |location: Location| match location {
        Location::Direct { register: Register::General(first), .. } => Some(first),
        _ => None,
    };
    if let Some(first) = general(inst.src[0].location) {
        access.reads[0] = Span::new(first, usize::from(lengths.payload));
    }
    if inst.form() == Form::SplitSend
        && let Some(first) = general(inst.src[1].location)
    {
        access.reads[1] = Span::new(first, usize::from(lengths.extended));
    }
    if let Some(first) = general(inst.dst.location) {
        access.writes = Span::new(first, usize::from(lengths.response));
    }
    let in_address = |desc| matches!(desc, Desc::Address(_));
    access.reads_address = in_address(inst.send.desc) || in_address(inst.send.ex_desc);
}

/// Mask of the flag bytes that the channels of an instruction use, where a predicate combines groups of `width`
/// channels.
fn flag_mask(inst: &Inst, width: usize) -> u8 {
    let flag = usize::from(inst.flag.register) * 32 + usize::from(inst.flag.half) * 16;
    let start = (flag + usize::from(inst.channel_offset)) & !(width - 1);
    let end = start + usize::from(inst.exec_size).next_multiple_of(width);
    (start / 8..end.div_ceil(8)).filter(|n| *n < 8).fold(0, |mask, n| mask | 1 << n)
}

fn predicate_flags(inst: &Inst) -> u8 {
    let width = match (inst.align16, inst.predicate.control) {
        // `.anyv` and `.allv` combine the bits of f0 and f1.
        (false, 2 | 3) => {
            let mask = flag_mask(inst, 1) & 15;
            return mask | mask << 4;
        }
        (false, control @ 4..) => 1usize << (control / 2 - 1).min(5),
        (true, 6 | 7) => 4,
        _ => 1,
    };
    flag_mask(inst, width)
}

/// Adds the accumulators that the operation uses by itself. Integers have twice their size there.
fn implicit_accumulators(inst: &Inst, access: &mut Access) {
    let reads = matches!(inst.opcode, Opcode::Mac | Opcode::Mach);
    // The bit says something else of branches and messages.
    let writes = inst.acc_write && !inst.opcode.has_branch_control() && !inst.opcode.is_send();
    if !reads && !writes {
        return;
    }
    let ty = crate::timing::execution_type(inst);
    let bytes = if ty.is_float() { ty.bytes() } else { 2 * crate::timing::product_bytes(inst, ty) };
    let register =
        |channel: usize| (usize::from(inst.channel_offset) + channel) * bytes / REGISTER_BYTES % 2;
    let (first, last) = (register(0), register(usize::from(inst.exec_size) - 1));
    let mask = (first..=last).fold(0u16, |mask, n| mask | 1 << n);
    if reads {
        access.accumulator_reads.implicit = mask;
    }
    if writes {
        access.accumulator_writes.implicit = mask;
    }
}

/// Whether an instruction completes out of order on Gen12: messages and `math`. source: Mesa, `brw_ir_fs.h`
/// (`is_unordered`).
pub fn is_out_of_order(inst: &Inst) -> bool {
    inst.generation >= Generation::Gen12 && (inst.opcode.is_send() || inst.opcode == Opcode::Math)
}
