//! The instructions that templates are written in: vectors that hold a part of a group's lanes,
//! masks of these lanes, and some scalar instructions. `evex` encodes them for AVX-512, where each
//! is one instruction of sixteen lanes; `vex` for AVX2, where a part has eight lanes, a mask is a
//! vector of all-ones lanes, and an instruction may become several, or (`copies`) none. `scalar` is
//! the same for both.
//!
//! source: Intel's Software Developer's Manual, volume 2, chapters 2.3 ("Intel AVX") and 2.7
//! ("Intel AVX-512 Encoding"), and the instruction pages for the opcodes.

mod copies;
mod evex;
mod scalar;
mod vex;

pub use scalar::Condition;

use crate::Target;

/// Layout of a SIMD-group's state in memory, which generated code accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupLayout {
    /// Lanes of the group: 16 or 32.
    pub lanes: usize,
    /// The register that points to the group's state; not `rsp` or `r12`, and one of the first
    /// eight.
    pub base: Gpr,
    /// Offset of the execution mask from `base`: 32 bits, one for each lane. All offsets that follow
    /// are from `base` too.
    pub exec: i32,
    /// Offset of the execution mask as a row: 32 bits for each lane, all ones or zero.
    pub exec_row: i32,
    /// Offset of the mask of the lanes that exist: 32 bits.
    pub alive: i32,
}

/// A vector register of the target, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct V(pub u8);

/// A set of lanes of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    /// All lanes.
    All,
    /// The executing lanes, of the part with this number.
    Exec(u8),
    /// The lanes of a mask register (AVX-512), or of the bits set in a vector register (AVX2).
    In(u8),
}

/// All lanes.
pub const ALL: Mask = Mask::All;

/// A general register, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpr(pub u8);

#[allow(missing_docs)] // The names are the processor's.
impl Gpr {
    pub const RAX: Gpr = Gpr(0);
    pub const RCX: Gpr = Gpr(1);
    pub const RDX: Gpr = Gpr(2);
    pub const RBX: Gpr = Gpr(3);
    pub const RBP: Gpr = Gpr(5);
    pub const RSI: Gpr = Gpr(6);
    pub const RDI: Gpr = Gpr(7);
    pub const R8: Gpr = Gpr(8);
    pub const R9: Gpr = Gpr(9);
    pub const R13: Gpr = Gpr(13);
    pub const R14: Gpr = Gpr(14);
    pub const R15: Gpr = Gpr(15);
}

/// The last operand of a vector instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rm {
    /// A register.
    Reg(V),
    /// A vector at a register plus an offset. The register is not `rsp` or `r12`.
    Mem(Gpr, i32),
    /// One 32-bit value for all lanes, from the constants after the code.
    Constant(u32),
    /// One 32-bit value for all lanes, at a register plus an offset.
    Broadcast(Gpr, i32),
}

/// A vector opcode: map, mandatory prefix, opcode byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vop(u8, u8, u8);

impl Vop {
    /// Sum of floats.
    pub const ADDPS: Vop = Vop(1, 0, 0x58);
    /// Difference of floats.
    pub const SUBPS: Vop = Vop(1, 0, 0x5c);
    /// Product of floats.
    pub const MULPS: Vop = Vop(1, 0, 0x59);
    /// Quotient of floats.
    pub const DIVPS: Vop = Vop(1, 0, 0x5e);
    /// Square root.
    pub const SQRTPS: Vop = Vop(1, 0, 0x51);
    /// `d = a · d + b`
    pub const FMADD213PS: Vop = Vop(2, 1, 0xa8);
    /// `d = a · b + d`
    pub const FMADD231PS: Vop = Vop(2, 1, 0xb8);
    /// Rounds to an integer, as the immediate says. AVX2's form has the same opcode and immediates.
    pub const RNDSCALEPS: Vop = Vop(3, 1, 0x08);
    /// Sum of integers.
    pub const PADDD: Vop = Vop(1, 1, 0xfe);
    /// Difference of integers.
    pub const PSUBD: Vop = Vop(1, 1, 0xfa);
    /// Difference of unsigned words, at least 0.
    pub const PSUBUSW: Vop = Vop(1, 1, 0xd9);
    /// Low half of the product of integers.
    pub const PMULLD: Vop = Vop(2, 1, 0x40);
    /// The greater float; the last operand if one is a NaN or both are zero.
    pub const MAXPS: Vop = Vop(1, 0, 0x5f);
    /// Version of `MAXPS`: the lesser one.
    pub const MINPS: Vop = Vop(1, 0, 0x5d);
    /// Conjunction of bits.
    pub const PANDD: Vop = Vop(1, 1, 0xdb);
    /// Disjunction of bits.
    pub const PORD: Vop = Vop(1, 1, 0xeb);
    /// Exclusive disjunction of bits.
    pub const PXORD: Vop = Vop(1, 1, 0xef);
    /// Each lane shifted left by its own amount.
    pub const PSLLVD: Vop = Vop(2, 1, 0x47);
    /// Each lane shifted right by its own amount.
    pub const PSRLVD: Vop = Vop(2, 1, 0x45);
    /// Each lane shifted right with its sign by its own amount.
    pub const PSRAVD: Vop = Vop(2, 1, 0x46);
    /// Lanes of the mask from the last operand, the others from the second.
    pub const PBLENDMD: Vop = Vop(2, 1, 0x64);
    /// Signed integers to floats.
    pub const CVTDQ2PS: Vop = Vop(1, 0, 0x5b);
    /// Unsigned integers to floats.
    pub const CVTUDQ2PS: Vop = Vop(1, 3, 0x7a);
    /// Floats to signed integers, towards zero.
    pub const CVTTPS2DQ: Vop = Vop(1, 2, 0x5b);
    /// Lanes from 2^32 on are all ones, negative ones and NaNs anything.
    pub const CVTTPS2UDQ: Vop = Vop(1, 0, 0x78);
    /// Comparison of floats by a predicate.
    pub const CMPPS: Vop = Vop(1, 0, 0xc2);
    /// Comparison of signed integers by a predicate.
    pub const PCMPD: Vop = Vop(3, 1, 0x1f);
    /// Comparison of unsigned integers by a predicate.
    pub const PCMPUD: Vop = Vop(3, 1, 0x1e);
    /// Lanes of each four, as the immediate says.
    pub const PSHUFD: Vop = Vop(1, 1, 0x70);
    /// Halves, in the low part of a register, to floats.
    const CVTPH2PS: Vop = Vop(2, 1, 0x13);
    /// Words, in the low part of a register, to zero-extended lanes.
    pub const PMOVZXWD: Vop = Vop(2, 1, 0x33);
    /// Version of `PMOVZXWD` with the sign.
    pub const PMOVSXWD: Vop = Vop(2, 1, 0x23);
    /// Sums of words of 16 bits.
    pub const PADDW: Vop = Vop(1, 1, 0xfd);
    /// Lanes of 32 bits, from the low half of a register or from memory, to zero-extended ones of 64 bits. AVX2 only, as
    /// the next.
    pub const PMOVZXDQ: Vop = Vop(2, 1, 0x35);
    /// 8 bits of memory everywhere.
    const PBROADCASTB: Vop = Vop(2, 1, 0x78);
    /// 16 bits of memory everywhere.
    pub const PBROADCASTW: Vop = Vop(2, 1, 0x79);
    /// 64 bits of memory everywhere.
    pub const PBROADCASTQ: Vop = Vop(2, 1, 0x59);
    /// Floats to halves in the low part of a register.
    pub const CVTPS2PH: Vop = Vop(3, 1, 0x1d);
    /// Shifts by a constant; which one is the register field.
    const SHIFT: Vop = Vop(1, 1, 0x72);
    const MOVDQU_LOAD: Vop = Vop(1, 2, 0x6f);
    const MOVDQU_STORE: Vop = Vop(1, 2, 0x7f);
    /// One lane, or 32 bits of memory, to all lanes.
    const PBROADCASTD: Vop = Vop(2, 1, 0x58);
}

/// Predicates of integer comparisons. source: SDM, VPCMPD.
#[allow(missing_docs)] // The names are the predicates.
pub mod integer {
    pub const EQUAL: u8 = 0;
    pub const LESS: u8 = 1;
    pub const NOT_EQUAL: u8 = 4;
    pub const GREATER: u8 = 6;
}

/// Predicates of float comparisons, quiet. source: SDM, CMPPS.
#[allow(missing_docs)] // The names are the predicates.
pub mod float {
    pub const NOT_GREATER_EQUAL: u8 = 0x19;
    pub const EQUAL: u8 = 0x00;
    pub const NOT_EQUAL: u8 = 0x04;
    pub const LESS: u8 = 0x11;
    pub const LESS_EQUAL: u8 = 0x12;
    pub const UNORDERED: u8 = 0x03;
    pub const ORDERED: u8 = 0x07;
    pub const LESS_OR_GREATER: u8 = 0x0c;
    pub const GREATER_EQUAL: u8 = 0x1d;
    pub const GREATER: u8 = 0x1e;
}

/// A shift by a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names say which way.
pub enum Shift {
    Right = 2,
    Arithmetic = 4,
    Left = 6,
}

/// Operations on masks: opcode of the 16-bit form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kop {
    /// `a & b`
    And = 0x41,
    /// `!a & b`
    AndNot = 0x42,
    /// `a | b`
    Or = 0x45,
}

/// A place in the code that is jumped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(pub u32);

/// Assembler: collects code.
pub struct Assembler {
    /// The instruction set of the host.
    pub target: Target,
    group: GroupLayout,
    code: Vec<u8>,
    /// Offset of each label; `u32::MAX` while unknown.
    labels: Vec<u32>,
    /// Four-byte fields that want the distance from their end to a label.
    jumps: Vec<(usize, Label)>,
    /// Four-byte fields that want the distance from an end to a constant.
    reads: Vec<(usize, usize, u32)>,
    /// AVX-512 broadcasts the first word.
    constants: Vec<[u32; 8]>,
    /// Deferred copies, for AVX2.
    copies: copies::DeferredCopies,
    /// Ranges of bytes that differ between builds: addresses, and offsets in structures that the Rust
    /// compiler lays out. Comparisons with the code of another build skip them.
    pub of_build: Vec<std::ops::Range<usize>>,
}

/// `match` of the target: one method for each.
macro_rules! each {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) = $evex:ident, $vex:ident;)*) => {
        $($(#[$doc])*
        pub fn $name(&mut self, $($argument: $type),*) {
            match self.target {
                Target::Avx512 => self.$evex($($argument),*),
                Target::Avx2 => self.$vex($($argument),*),
            }
        })*
    };
}

impl Assembler {
    /// No code yet.
    pub fn new(target: Target, group: GroupLayout) -> Assembler {
        assert!(matches!(group.lanes, 16 | 32), "groups of {} lanes", group.lanes);
        Assembler {
            target,
            group,
            code: Vec::new(),
            labels: Vec::new(),
            jumps: Vec::new(),
            reads: Vec::new(),
            constants: Vec::new(),
            copies: Default::default(),
            of_build: Vec::new(),
        }
    }

    /// Lanes of a part.
    pub fn lanes(&self) -> usize {
        match self.target {
            Target::Avx512 => 16,
            Target::Avx2 => 8,
        }
    }

    /// Parts of a group.
    pub fn parts(&self) -> usize {
        self.group.lanes / self.lanes()
    }

    /// Bytes of a vector.
    pub fn width(&self) -> i32 {
        self.lanes() as i32 * 4
    }

    each! {
        /// `d = op(a, b)` in the lanes of `mask`, with an immediate if the instruction has one.
        vector(op: Vop, d: V, mask: Mask, a: V, b: Rm, immediate: Option<u8>) = evex_vector, vex_vector;
        /// `d = from ? value : d`, bit by bit.
        select(d: V, value: V, from: Rm) = evex_select, vex_select;
        /// `d = table(d, b)`, bit by bit: bit `d + 2 b` of the table.
        logic(table: u16, d: V, b: V) = evex_logic, vex_logic;
        /// The low or the high halves of all lanes, widened to floats.
        halves_to_floats(d: V, from: Rm, high: bool) = evex_halves_to_floats, vex_halves_to_floats;
        /// A comparison to a mask.
        compare(op: Vop, d: Mask, within: Mask, a: V, b: Rm, predicate: u8) = evex_compare, vex_compare;
        /// `d = a` shifted by a constant.
        shift(kind: Shift, d: V, a: V, by: u8) = evex_shift, vex_shift;
        /// The lanes within a mask in which `a` and `b` have a bit in common.
        test_bits(d: Mask, within: Mask, a: V, b: Rm) = evex_test_bits, vex_test_bits;
        /// Loads a vector, or one value for all lanes.
        load(d: V, from: Rm) = evex_load, vex_load;
        /// Stores the lanes of a mask; the memory of the others may be written with what is in it.
        store(to: Rm, mask: Mask, a: V) = evex_store, vex_store;
        /// Lane 0 of `a` to all lanes.
        broadcast_first(d: V, a: V) = evex_broadcast_first, vex_broadcast_first;
        /// The low 32 bits of a register to all lanes.
        broadcast(d: V, a: Gpr) = evex_broadcast, vex_broadcast;
        /// Loads a word for each lane of a mask, at a register plus the lane's offset plus a
        /// constant. Clears the mask. All registers are different ones.
        gather(d: V, mask: Mask, base: Gpr, offsets: V, plus: i32) = evex_gather, vex_gather;
        /// Stores a word of each lane of a mask, the last lane's last. May clear the mask.
        scatter(a: V, mask: Mask, base: Gpr, offsets: V, plus: i32) = evex_scatter, vex_scatter;
        /// `d = a`
        mask_move(d: Mask, a: Mask) = evex_mask_move, vex_mask_move;
        /// All lanes.
        mask_all(d: Mask) = evex_mask_all, vex_mask_all;
        /// `d = op(a, b)`
        mask_op(op: Kop, d: Mask, a: Mask, b: Mask) = evex_mask_op, vex_mask_op;
        /// `d = !a`
        mask_not(d: Mask, a: Mask) = evex_mask_not, vex_mask_not;
        /// Sets the zero flag if no lane is in a mask; the carry flag if all are and the mask is
        /// not that of execution.
        test_mask(a: Mask) = evex_test_mask, vex_test_mask;
        /// The lanes of a part that exist. Changes no other register.
        mask_alive(d: Mask, part: u8) = evex_mask_alive, vex_mask_alive;
        /// Brings the execution mask to where `Mask::Exec` is.
        load_exec() = evex_load_exec, vex_load_exec;
        /// Makes the lanes of both masks those of a part that execute. To be called for the parts
        /// from the first to the last, with no handler or scatter between; then `exec` and
        /// `exec_row` have the new mask. Changes `scratch` and the second mask.
        set_exec(part: u8, a: Mask, b: Mask, scratch: V) = evex_set_exec, vex_set_exec;
        /// Sets the zero flag if no lane of the group executes.
        test_exec() = evex_test_exec, vex_test_exec;
        /// Sets the zero flag if all lanes that exist execute.
        test_all_execute() = evex_test_all_execute, vex_test_all_execute;
        /// Prepares `load_quad`: the masks of the quads of a part, or nothing. Changes `rax`.
        quad_masks() = evex_quad_masks, vex_quad_masks;
        /// One value to the lanes of one quad of a part. From the first quad to the last: those
        /// before stay.
        load_quad(d: V, quad: u8, from: Rm) = evex_load_quad, vex_load_quad;
    }

    /// AVX2 only: sets the zero flag if all lanes of a part execute.
    pub fn test_all_of_part(&mut self, part: u8) {
        debug_assert!(self.target == Target::Avx2);
        self.compare_memory_byte(self.group.base, self.group.exec + i32::from(part), 0xff);
    }

    /// AVX2 only: the lanes whose bits are set in a byte of memory.
    pub fn byte_to_mask(&mut self, d: Mask, base: Gpr, offset: i32) {
        debug_assert!(self.target == Target::Avx2);
        self.vex_byte_to_mask(d, base, offset);
    }

    /// AVX2 only: the lanes of a mask as one of some bytes in memory, part by part from the first to
    /// the last, which stores them all: a load of several bytes would stall after stores of single
    /// ones. Changes `r8` and `r9`; `r8` must be preserved until the last part.
    pub fn mask_to_bytes(&mut self, part: usize, parts: usize, base: Gpr, offset: i32, a: Mask) {
        debug_assert!(self.target == Target::Avx2 && matches!(parts, 1 | 2 | 4));
        self.vex_mask_to_bytes(part, parts, base, offset, a);
    }

    /// AVX2 only: `d = op(a, table)`, with a word of the table for each lane.
    pub fn table(&mut self, op: Vop, d: V, a: V, table: [u32; 8]) {
        debug_assert!(self.target == Target::Avx2);
        self.vex_table(op, d, a, table);
    }

    /// AVX2 only: bytes of `a`, each from the place within its half of the register that a table says.
    pub fn shuffle_bytes(&mut self, d: V, a: V, places: [u8; 32]) {
        debug_assert!(self.target == Target::Avx2);
        let words = places.as_chunks::<4>().0;
        self.vex_table(vex::PSHUFB, d, a, std::array::from_fn(|i| u32::from_le_bytes(words[i])));
    }

    /// Lane 0 of one of the first eight vector registers to one of the first eight registers.
    pub fn first_lane(&mut self, d: Gpr, a: V) {
        match self.target {
            Target::Avx512 => {
                debug_assert!(a.0 < 8 && d.0 < 8);
                self.bytes(&[0xc5, 0xf9, 0x7e, 0xc0 | a.0 << 3 | d.0]);
            }
            Target::Avx2 => self.vex_first_lane(d, a),
        }
    }

    /// A label that stands nowhere yet.
    pub fn label(&mut self) -> Label {
        self.labels.push(u32::MAX);
        Label(self.labels.len() as u32 - 1)
    }

    /// Bytes of code so far.
    pub fn length(&self) -> usize {
        self.code.len()
    }

    /// Puts a label here.
    pub fn place(&mut self, label: Label) {
        self.settle();
        self.labels[label.0 as usize] = self.code.len() as u32;
    }

    /// Notes that the next bytes are those of this build.
    fn of_build(&mut self, length: usize) {
        self.of_build.push(self.code.len()..self.code.len() + length);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    fn word(&mut self, value: i32) {
        self.bytes(&value.to_le_bytes());
    }

    /// An offset from a register.
    fn offset(&mut self, base: Gpr, offset: i32) {
        if !matches!(base, Gpr::RAX | Gpr::RCX | Gpr::RBP | Gpr::R13) {
            self.of_build(4);
        }
        self.word(offset);
    }

    /// Emits the distance to a constant; an immediate of `immediate` bytes follows it.
    fn read(&mut self, value: [u32; 8], immediate: usize) {
        let at = self.constants.iter().position(|&c| c == value).unwrap_or_else(|| {
            self.constants.push(value);
            self.constants.len() - 1
        });
        let end = self.code.len() + 4 + immediate;
        self.reads.push((self.code.len(), end, at as u32));
        self.word(0);
    }

    /// Resolves labels and constants. Returns the code with the constants after it, and the offsets of
    /// the labels.
    pub fn finish(mut self) -> (Vec<u8>, Vec<u32>) {
        for (at, label) in &self.jumps {
            let distance = self.labels[label.0 as usize] as i32 - (*at as i32 + 4);
            self.code[*at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        // Words of a constant.
        let words = match self.target {
            Target::Avx512 => 1,
            Target::Avx2 => 8,
        };
        while !self.code.len().is_multiple_of(4 * words) {
            self.code.push(0xcc);
        }
        let start = self.code.len();
        for (at, end, index) in &self.reads {
            let distance = (start + 4 * words * *index as usize) as i32 - *end as i32;
            self.code[*at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        for value in self.constants.iter().flat_map(|constant| &constant[..words]) {
            self.code.extend_from_slice(&value.to_le_bytes());
        }
        (self.code, self.labels)
    }
}
