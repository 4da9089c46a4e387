//! The few x86-64 instructions that the translator needs: vectors of sixteen 32-bit lanes with write
//! masks, masks, and some scalar glue.
//!
//! source: Intel's Software Developer's Manual, volume 2, chapter 2.7 ("Intel AVX-512 Encoding"), and the
//! instruction pages for the opcodes.

/// A vector register, `zmm0` to `zmm31`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zmm(pub u8);

/// A mask register, `k0` to `k7`; as a write mask `k0` stands for all lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask(pub u8);

/// All lanes.
pub const ALL: Mask = Mask(0);

/// A general register, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpr(pub u8);

impl Gpr {
    pub const RAX: Gpr = Gpr(0);
    pub const RCX: Gpr = Gpr(1);
    pub const RDX: Gpr = Gpr(2);
    pub const RBX: Gpr = Gpr(3);
    pub const RBP: Gpr = Gpr(5);
    pub const RSI: Gpr = Gpr(6);
    pub const RDI: Gpr = Gpr(7);
    pub const R13: Gpr = Gpr(13);
    pub const R15: Gpr = Gpr(15);
}

/// The last operand of a vector instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rm {
    /// A register.
    Reg(Zmm),
    /// 64 bytes at a register plus an offset. The register is not `rsp` or `r12`.
    Mem(Gpr, i32),
    /// One 32-bit value for all lanes, from the constants behind the code.
    Constant(u32),
    /// One 32-bit value for all lanes, at a register plus an offset.
    Broadcast(Gpr, i32),
}

/// A vector opcode: map, mandatory prefix, opcode byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vop(u8, u8, u8);

impl Vop {
    pub const ADDPS: Vop = Vop(1, 0, 0x58);
    pub const MULPS: Vop = Vop(1, 0, 0x59);
    pub const DIVPS: Vop = Vop(1, 0, 0x5e);
    pub const SQRTPS: Vop = Vop(1, 0, 0x51);
    /// `d = a · d + b`
    pub const FMADD213PS: Vop = Vop(2, 1, 0xa8);
    pub const RNDSCALEPS: Vop = Vop(3, 1, 0x08);
    pub const PADDD: Vop = Vop(1, 1, 0xfe);
    pub const PSUBD: Vop = Vop(1, 1, 0xfa);
    pub const PSUBUSW: Vop = Vop(1, 1, 0xd9);
    pub const PMULLD: Vop = Vop(2, 1, 0x40);
    /// The last operand if one is a NaN or both are zero.
    pub const MAXPS: Vop = Vop(1, 0, 0x5f);
    pub const MINPS: Vop = Vop(1, 0, 0x5d);
    pub const PANDD: Vop = Vop(1, 1, 0xdb);
    pub const PORD: Vop = Vop(1, 1, 0xeb);
    pub const PXORD: Vop = Vop(1, 1, 0xef);
    pub const PSLLVD: Vop = Vop(2, 1, 0x47);
    pub const PSRLVD: Vop = Vop(2, 1, 0x45);
    pub const PSRAVD: Vop = Vop(2, 1, 0x46);
    pub const PTERNLOGD: Vop = Vop(3, 1, 0x25);
    /// Lanes of the mask from the last operand, the others from the second.
    pub const PBLENDMD: Vop = Vop(2, 1, 0x64);
    pub const CVTDQ2PS: Vop = Vop(1, 0, 0x5b);
    pub const CVTUDQ2PS: Vop = Vop(1, 3, 0x7a);
    pub const CVTTPS2DQ: Vop = Vop(1, 2, 0x5b);
    pub const CVTTPS2UDQ: Vop = Vop(1, 0, 0x78);
    pub const MOVDQU32_LOAD: Vop = Vop(1, 2, 0x6f);
    pub const MOVDQU32_STORE: Vop = Vop(1, 2, 0x7f);
    pub const CMPPS: Vop = Vop(1, 0, 0xc2);
    pub const PCMPD: Vop = Vop(3, 1, 0x1f);
    pub const PCMPUD: Vop = Vop(3, 1, 0x1e);
    /// Sixteen halves, in the low part of a register, to floats.
    pub const CVTPH2PS: Vop = Vop(2, 1, 0x13);
    /// Sixteen words, in the low part of a register, to zero-extended lanes.
    pub const PMOVZXWD: Vop = Vop(2, 1, 0x33);
    /// The low words of all lanes, to the low part of a register.
    pub const PMOVDW: Vop = Vop(2, 2, 0x33);
    /// Floats to halves in the low part of a register.
    pub const CVTPS2PH: Vop = Vop(3, 1, 0x1d);
    /// Shifts by a constant; which one is the register field.
    const SHIFT: Vop = Vop(1, 1, 0x72);
    const PMOVM2D: Vop = Vop(2, 2, 0x38);
    /// One lane, or 32 bits of memory, to all lanes.
    const PBROADCASTD: Vop = Vop(2, 1, 0x58);
    /// A general register to all lanes.
    const PBROADCASTD_GPR: Vop = Vop(2, 1, 0x7c);
    /// The lanes in which two operands have a bit in common, to a mask.
    const PTESTMD: Vop = Vop(2, 1, 0x27);
}

/// A shift by a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    Right = 2,
    Arithmetic = 4,
    Left = 6,
}

/// Operations on masks: opcode of the 16-bit form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kop {
    And = 0x41,
    /// `!a & b`
    AndNot = 0x42,
    Or = 0x45,
    /// `!(a ^ b)`
    Xnor = 0x46,
    /// `a << 16 | b`, of 32 bits
    Unpack = 0x4b,
}

/// A place in the code that is jumped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(pub u32);

/// Collects code.
#[derive(Default)]
pub struct Assembler {
    code: Vec<u8>,
    /// Where each label is; `u32::MAX` while unknown.
    labels: Vec<u32>,
    /// Four-byte fields that want the distance from their end to a label.
    jumps: Vec<(usize, Label)>,
    /// Four-byte fields that want the distance from an end to a constant.
    reads: Vec<(usize, usize, u32)>,
    constants: Vec<u32>,
    /// Bytes that another build of this crate would have otherwise: addresses, and offsets in structures
    /// that the Rust compiler lays out.
    #[cfg(test)]
    pub of_build: Vec<std::ops::Range<usize>>,
}

impl Assembler {
    /// A label that stands nowhere yet.
    pub fn label(&mut self) -> Label {
        self.labels.push(u32::MAX);
        Label(self.labels.len() as u32 - 1)
    }

    /// Puts a label here.
    pub fn place(&mut self, label: Label) {
        self.labels[label.0 as usize] = self.code.len() as u32;
    }

    /// Notes that the next bytes are those of this build.
    fn of_build(&mut self, length: usize) {
        #[cfg(test)]
        self.of_build.push(self.code.len()..self.code.len() + length);
        #[cfg(not(test))]
        let _ = length;
    }

    /// An offset from a register.
    fn offset(&mut self, base: Gpr, offset: i32) {
        if !matches!(base, Gpr::RAX | Gpr::RCX | Gpr::RBP | Gpr::R13) {
            self.of_build(4);
        }
        self.word(offset);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    fn word(&mut self, value: i32) {
        self.bytes(&value.to_le_bytes());
    }

    /// `d = op(a, b)` in the lanes of `mask`, with an immediate if the instruction has one.
    pub fn vector(&mut self, op: Vop, d: Zmm, mask: Mask, a: Zmm, b: Rm, immediate: Option<u8>) {
        match (op, b) {
            // These write the operand that others read.
            (Vop::PMOVDW | Vop::CVTPS2PH, Rm::Reg(b)) => {
                self.evex(op, b.0, mask, 0, Rm::Reg(d), immediate);
            }
            _ => self.evex(op, d.0, mask, a.0, b, immediate),
        }
    }

    /// A comparison to a mask.
    pub fn compare(&mut self, op: Vop, d: Mask, within: Mask, a: Zmm, b: Rm, predicate: u8) {
        self.evex(op, d.0, within, a.0, b, Some(predicate));
    }

    /// `d = a` shifted by a constant.
    pub fn shift(&mut self, kind: Shift, d: Zmm, a: Zmm, by: u8) {
        self.evex(Vop::SHIFT, kind as u8, ALL, d.0, Rm::Reg(a), Some(by));
    }

    /// The lanes within a mask in which `a` and `b` have a bit in common.
    pub fn test_bits(&mut self, d: Mask, within: Mask, a: Zmm, b: Rm) {
        self.evex(Vop::PTESTMD, d.0, within, a.0, b, None);
    }

    /// Loads 64 bytes, or one value for all lanes.
    pub fn load(&mut self, d: Zmm, from: Rm) {
        match from {
            Rm::Constant(_) | Rm::Broadcast(..) => {
                self.evex(Vop::PBROADCASTD, d.0, ALL, 0, from, None);
            }
            _ => self.evex(Vop::MOVDQU32_LOAD, d.0, ALL, 0, from, None),
        }
    }

    /// One value to the lanes of a mask; the others stay.
    pub fn load_part(&mut self, d: Zmm, mask: Mask, from: Rm) {
        self.evex(Vop::PBROADCASTD, d.0, mask, 0, from, None);
    }

    /// Lane 0 of `a` to all lanes.
    pub fn broadcast_first(&mut self, d: Zmm, a: Zmm) {
        self.evex(Vop::PBROADCASTD, d.0, ALL, 0, Rm::Reg(a), None);
    }

    /// The low 32 bits of a register to all lanes.
    pub fn broadcast(&mut self, d: Zmm, a: Gpr) {
        self.evex(Vop::PBROADCASTD_GPR, d.0, ALL, 0, Rm::Reg(Zmm(a.0)), None);
    }

    /// Lane 0 of one of the first eight vector registers to a register.
    pub fn first_lane(&mut self, d: Gpr, a: Zmm) {
        debug_assert!(a.0 < 8 && d.0 < 8);
        self.bytes(&[0xc5, 0xf9, 0x7e, 0xc0 | a.0 << 3 | d.0]);
    }

    /// Stores the lanes of a mask.
    pub fn store(&mut self, to: Rm, mask: Mask, a: Zmm) {
        self.evex(Vop::MOVDQU32_STORE, a.0, mask, 0, to, None);
    }

    /// All bits in the lanes of a mask.
    pub fn expand(&mut self, d: Zmm, mask: Mask) {
        self.evex(Vop::PMOVM2D, d.0, ALL, 0, Rm::Reg(Zmm(mask.0)), None);
    }

    fn evex(&mut self, op: Vop, reg: u8, mask: Mask, vvvv: u8, rm: Rm, immediate: Option<u8>) {
        let Vop(map, prefix, opcode) = op;
        let not = |bit: u8| (bit & 1) ^ 1;
        let (base, index) = match rm {
            Rm::Reg(r) => (r.0 >> 3, r.0 >> 4),
            Rm::Mem(base, _) | Rm::Broadcast(base, _) => (base.0 >> 3, 0),
            Rm::Constant(_) => (0, 0),
        };
        // A broadcast that has an instruction of its own does not set the bit.
        let one = matches!(rm, Rm::Constant(_) | Rm::Broadcast(..));
        let broadcast = one && op != Vop::PBROADCASTD;
        let p0 = not(reg >> 3) << 7 | not(index) << 6 | not(base) << 5 | not(reg >> 4) << 4 | map;
        let p1 = (!vvvv & 15) << 3 | 1 << 2 | prefix;
        let p2 = 0b10 << 5 | u8::from(broadcast) << 4 | not(vvvv >> 4) << 3 | mask.0;
        self.bytes(&[0x62, p0, p1, p2, opcode]);
        let field = (reg & 7) << 3;
        match rm {
            Rm::Reg(r) => self.bytes(&[0xc0 | field | r.0 & 7]),
            Rm::Mem(base, offset) | Rm::Broadcast(base, offset) => {
                debug_assert!(base.0 & 7 != 4);
                self.bytes(&[0x80 | field | base.0 & 7]);
                self.offset(base, offset);
            }
            Rm::Constant(value) => {
                self.bytes(&[field | 5]);
                let index = self.constant(value);
                let end = self.code.len() + 4 + usize::from(immediate.is_some());
                self.reads.push((self.code.len(), end, index));
                self.word(0);
            }
        }
        if let Some(immediate) = immediate {
            self.bytes(&[immediate]);
        }
    }

    fn constant(&mut self, value: u32) -> u32 {
        let at = self.constants.iter().position(|&c| c == value).unwrap_or_else(|| {
            self.constants.push(value);
            self.constants.len() - 1
        });
        at as u32
    }

    /// Loads a word for each lane of a mask, at a register plus the lane's offset plus a constant. Clears
    /// the mask.
    pub fn gather(&mut self, d: Zmm, mask: Mask, base: Gpr, offsets: Zmm, plus: i32) {
        self.indexed(0x90, d, mask, base, offsets, plus);
    }

    /// Stores a word of each lane of a mask, the last lane's last. Clears the mask.
    pub fn scatter(&mut self, a: Zmm, mask: Mask, base: Gpr, offsets: Zmm, plus: i32) {
        self.indexed(0xa0, a, mask, base, offsets, plus);
    }

    fn indexed(&mut self, opcode: u8, reg: Zmm, mask: Mask, base: Gpr, index: Zmm, plus: i32) {
        let not = |bit: u8| (bit & 1) ^ 1;
        let p0 = not(reg.0 >> 3) << 7
            | not(index.0 >> 3) << 6
            | not(base.0 >> 3) << 5
            | not(reg.0 >> 4) << 4
            | 2;
        let p2 = 0b10 << 5 | not(index.0 >> 4) << 3 | mask.0;
        self.bytes(&[0x62, p0, 0x7d, p2, opcode]);
        self.bytes(&[0x80 | (reg.0 & 7) << 3 | 4, (index.0 & 7) << 3 | base.0 & 7]);
        self.word(plus);
    }

    /// `d = a`
    pub fn mask_move(&mut self, d: Mask, a: Mask) {
        self.bytes(&[0xc5, 0xf8, 0x90, 0xc0 | d.0 << 3 | a.0]);
    }

    /// `d = op(a, b)` on masks of 16 bits.
    pub fn mask_op(&mut self, op: Kop, d: Mask, a: Mask, b: Mask) {
        self.bytes(&[0xc5, 0x80 | (!a.0 & 15) << 3 | 1 << 2, op as u8, 0xc0 | d.0 << 3 | b.0]);
    }

    /// `d = !a`
    pub fn mask_not(&mut self, d: Mask, a: Mask) {
        self.bytes(&[0xc5, 0xf8, 0x44, 0xc0 | d.0 << 3 | a.0]);
    }

    /// Sets the zero flag if no bit of a mask is set, the carry flag if all are.
    pub fn test_mask(&mut self, a: Mask) {
        self.bytes(&[0xc5, 0xf8, 0x98, 0xc0 | a.0 << 3 | a.0]);
    }

    /// Sets the zero flag if no bit of either mask is set.
    pub fn test_masks(&mut self, a: Mask, b: Mask) {
        self.bytes(&[0xc5, 0xf8, 0x98, 0xc0 | a.0 << 3 | b.0]);
    }

    /// 16 bits of memory to a mask.
    pub fn mask_load(&mut self, d: Mask, base: Gpr, offset: i32) {
        debug_assert!(base.0 < 8 && base.0 != 4);
        self.bytes(&[0xc5, 0xf8, 0x90, 0x80 | d.0 << 3 | base.0]);
        self.offset(base, offset);
    }

    /// A mask to 32 bits of memory.
    pub fn mask_store_word(&mut self, base: Gpr, offset: i32, a: Mask) {
        debug_assert!(base.0 < 8 && base.0 != 4);
        self.bytes(&[0xc4, 0xe1, 0xf9, 0x91, 0x80 | a.0 << 3 | base.0]);
        self.offset(base, offset);
    }

    fn rex(&mut self, wide: bool, reg: Gpr, base: Gpr) {
        self.bytes(&[0x40 | u8::from(wide) << 3 | (reg.0 >> 3) << 2 | base.0 >> 3]);
    }

    fn memory(&mut self, reg: u8, base: Gpr, offset: i32) {
        debug_assert!(base.0 & 7 != 4);
        self.bytes(&[0x80 | (reg & 7) << 3 | base.0 & 7]);
        self.offset(base, offset);
    }

    /// `d = a`, 64 bits.
    pub fn mov(&mut self, d: Gpr, a: Gpr) {
        self.rex(true, a, d);
        self.bytes(&[0x89, 0xc0 | (a.0 & 7) << 3 | d.0 & 7]);
    }

    /// `d = value`, 64 bits.
    pub fn mov_constant(&mut self, d: Gpr, value: u64) {
        self.rex(true, Gpr(0), d);
        self.bytes(&[0xb8 | d.0 & 7]);
        if value >> 32 != 0 {
            self.of_build(8);
        }
        self.bytes(&value.to_le_bytes());
    }

    /// Stores a 64-bit constant that fits 31 bits.
    pub fn store_constant(&mut self, base: Gpr, offset: i32, value: u32) {
        debug_assert!(value >> 31 == 0);
        self.rex(true, Gpr(0), base);
        self.bytes(&[0xc7]);
        self.memory(0, base, offset);
        self.word(value as i32);
    }

    /// Loads 64 bits.
    pub fn load_word(&mut self, d: Gpr, base: Gpr, offset: i32) {
        self.rex(true, d, base);
        self.bytes(&[0x8b]);
        self.memory(d.0, base, offset);
    }

    /// Loads 32 bits.
    pub fn load_half(&mut self, d: Gpr, base: Gpr, offset: i32) {
        self.rex(false, d, base);
        self.bytes(&[0x8b]);
        self.memory(d.0, base, offset);
    }

    /// Stores a 32-bit constant.
    pub fn store_half(&mut self, base: Gpr, offset: i32, value: u32) {
        self.rex(false, Gpr(0), base);
        self.bytes(&[0xc7]);
        self.memory(0, base, offset);
        self.word(value as i32);
    }

    /// `d <<= by`, 64 bits.
    pub fn shift_left(&mut self, d: Gpr, by: u8) {
        self.rex(true, Gpr(0), d);
        self.bytes(&[0xc1, 0xe0 | d.0 & 7, by]);
    }

    /// `d |= a`, 64 bits.
    pub fn or(&mut self, d: Gpr, a: Gpr) {
        self.rex(true, a, d);
        self.bytes(&[0x09, 0xc0 | (a.0 & 7) << 3 | d.0 & 7]);
    }

    /// `d += a`, 64 bits.
    pub fn add(&mut self, d: Gpr, a: Gpr) {
        self.rex(true, a, d);
        self.bytes(&[0x01, 0xc0 | (a.0 & 7) << 3 | d.0 & 7]);
    }

    /// `d &= value`, 64 bits, the value with its sign.
    pub fn and_constant(&mut self, d: Gpr, value: i8) {
        self.rex(true, Gpr(0), d);
        self.bytes(&[0x83, 0xe0 | d.0 & 7, value as u8]);
    }

    /// `d -= word at base + offset`, 64 bits.
    pub fn subtract_word(&mut self, d: Gpr, base: Gpr, offset: i32) {
        self.rex(true, d, base);
        self.bytes(&[0x2b]);
        self.memory(d.0, base, offset);
    }

    /// Compares a 64-bit register with a constant.
    pub fn compare_constant(&mut self, a: Gpr, value: i32) {
        self.rex(true, Gpr(0), a);
        self.bytes(&[0x81, 0xf8 | a.0 & 7]);
        self.word(value);
    }

    /// Compares 64 bits in memory with a constant.
    pub fn compare_memory_word(&mut self, base: Gpr, offset: i32, value: i32) {
        self.rex(true, Gpr(0), base);
        self.bytes(&[0x81]);
        self.memory(7, base, offset);
        self.word(value);
    }

    /// `d = base + offset`
    pub fn address(&mut self, d: Gpr, base: Gpr, offset: i32) {
        self.rex(true, d, base);
        self.bytes(&[0x8d]);
        self.memory(d.0, base, offset);
    }

    /// `word at base + offset += value`, 64 bits.
    pub fn add_to(&mut self, base: Gpr, offset: i32, value: i32) {
        self.rex(true, Gpr(0), base);
        self.bytes(&[0x81]);
        self.memory(0, base, offset);
        self.word(value);
    }

    /// Compares 32 bits in memory with a constant.
    pub fn compare_memory(&mut self, base: Gpr, offset: i32, value: i32) {
        self.rex(false, Gpr(0), base);
        self.bytes(&[0x81]);
        self.memory(7, base, offset);
        self.word(value);
    }

    /// Compares a 64-bit register with memory.
    pub fn compare_word(&mut self, a: Gpr, base: Gpr, offset: i32) {
        self.rex(true, a, base);
        self.bytes(&[0x3b]);
        self.memory(a.0, base, offset);
    }

    /// Calls the function whose address is in a register.
    pub fn call(&mut self, a: Gpr) {
        self.rex(false, Gpr(0), a);
        self.bytes(&[0xff, 0xd0 | a.0 & 7]);
    }

    /// Jumps to the address in a register.
    pub fn jump_register(&mut self, a: Gpr) {
        self.rex(false, Gpr(0), a);
        self.bytes(&[0xff, 0xe0 | a.0 & 7]);
    }

    /// Sets the flags from the low 32 bits of a register and itself.
    pub fn test(&mut self, a: Gpr) {
        self.rex(false, a, a);
        self.bytes(&[0x85, 0xc0 | (a.0 & 7) << 3 | a.0 & 7]);
    }

    /// Jumps.
    pub fn jump(&mut self, to: Label) {
        self.bytes(&[0xe9]);
        self.jumps.push((self.code.len(), to));
        self.word(0);
    }

    /// Jumps if a condition holds.
    pub fn jump_if(&mut self, condition: Condition, to: Label) {
        self.bytes(&[0x0f, 0x80 | condition as u8]);
        self.jumps.push((self.code.len(), to));
        self.word(0);
    }

    /// Pushes a register.
    pub fn push(&mut self, a: Gpr) {
        self.rex(false, Gpr(0), a);
        self.bytes(&[0x50 | a.0 & 7]);
    }

    /// Pops a register.
    pub fn pop(&mut self, a: Gpr) {
        self.rex(false, Gpr(0), a);
        self.bytes(&[0x58 | a.0 & 7]);
    }

    /// `rsp += value`
    pub fn move_stack(&mut self, value: i8) {
        self.bytes(&[0x48, 0x83, 0xc4, value as u8]);
    }

    /// Returns.
    pub fn ret(&mut self) {
        // The upper parts of vector registers would slow down what is compiled for older vectors.
        self.bytes(&[0xc5, 0xf8, 0x77, 0xc3]);
    }

    /// Fills in distances and returns the code, constants behind it, and where the labels are.
    pub fn finish(mut self) -> (Vec<u8>, Vec<u32>) {
        for (at, label) in &self.jumps {
            let distance = self.labels[label.0 as usize] as i32 - (*at as i32 + 4);
            self.code[*at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        while self.code.len() % 4 != 0 {
            self.code.push(0xcc);
        }
        let start = self.code.len();
        for (at, end, index) in &self.reads {
            let distance = (start + 4 * *index as usize) as i32 - *end as i32;
            self.code[*at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        for value in &self.constants {
            self.code.extend_from_slice(&value.to_le_bytes());
        }
        (self.code, self.labels)
    }
}

/// Conditions of jumps: the processor's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Carry = 2,
    NoCarry = 3,
    Zero = 4,
    NotZero = 5,
    Above = 7,
}
