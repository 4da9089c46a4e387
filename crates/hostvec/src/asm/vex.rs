//! Encodings for AVX2: what has no instruction there becomes several. A mask is a vector register
//! whose lanes are all ones or zero; the execution mask is read from the group's row for it.
//! `ymm15` is scratch of this file, as are `r8` to `r11`; `r8` collects the bits of a new execution
//! mask.

use super::copies::{BLENDVPS, MOVMSKPS, PERMQ, TESTPS};
use super::{
    ALL, Assembler, Condition, Gpr, GroupLayout, Kop, Mask, Rm, Shift, V, Vop, float, integer,
};

/// Scratch.
const T: V = V(15);

/// `!a & b`
const PANDN: Vop = Vop(1, 1, 0xdf);
const PCMPEQD: Vop = Vop(1, 1, 0x76);
const PCMPGTD: Vop = Vop(1, 1, 0x66);
const PMINUD: Vop = Vop(2, 1, 0x3b);
const PMAXUD: Vop = Vop(2, 1, 0x3f);
/// Words, by the immediate, whose bits count for each half of the register.
const PBLENDW: Vop = Vop(3, 1, 0x0e);
/// Lanes, by the immediate.
const PBLENDD: Vop = Vop(3, 1, 0x02);
/// Bytes of each half of the register, to where a second operand says.
pub(super) const PSHUFB: Vop = Vop(2, 1, 0x00);
const GATHER: Vop = Vop(2, 1, 0x90);

/// All bits, a sign, the low and the high half of each lane.
const ONES: u32 = u32::MAX;
const SIGN: u32 = 1 << 31;
const LOW: u32 = 0xffff;
const HIGH: u32 = 0xffff_0000;
/// `PBLENDW`'s immediates for them.
const LOW_WORDS: u8 = 0x55;
const HIGH_WORDS: u8 = 0xaa;

const R8: Gpr = Gpr::R8;
const R9: Gpr = Gpr::R9;
const R11: Gpr = Gpr(11);

impl Assembler {
    pub(super) fn vex_vector(
        &mut self,
        op: Vop,
        d: V,
        mask: Mask,
        a: V,
        b: Rm,
        immediate: Option<u8>,
    ) {
        if op == Vop::PBLENDMD {
            let b = self.plain(b);
            return self.blend(d, a, b, mask);
        }
        let to = if mask == ALL { d } else { T };
        match op {
            Vop::CVTUDQ2PS => self.unsigned_to_float(to, b),
            Vop::CVTTPS2UDQ => self.float_to_unsigned(to, b),
            // This writes the operand that others read.
            Vop::CVTPS2PH => {
                let b = self.register(to, b);
                self.vex(op, b.0, 0, Rm::Reg(to), immediate);
            }
            Vop::FMADD213PS | Vop::FMADD231PS if to != d => {
                // No template does this; the product would be the scratch register's.
                debug_assert!(false, "a masked multiply-add");
            }
            _ => {
                let b = self.plain(b);
                self.vex(op, to.0, a.0, b, immediate);
            }
        }
        if to != d {
            self.blend(d, d, Rm::Reg(T), mask);
        }
    }

    pub(super) fn vex_select(&mut self, d: V, value: V, from: Rm) {
        let v = Rm::Reg(value);
        match from {
            Rm::Constant(LOW) => self.vex(PBLENDW, d.0, d.0, v, Some(LOW_WORDS)),
            Rm::Constant(HIGH) => self.vex(PBLENDW, d.0, d.0, v, Some(HIGH_WORDS)),
            Rm::Constant(bits) => {
                self.vex(Vop::PANDD, T.0, value.0, from, None);
                self.vex(Vop::PANDD, d.0, d.0, Rm::Constant(!bits), None);
                self.vex(Vop::PORD, d.0, d.0, Rm::Reg(T), None);
            }
            _ => {
                // The bits that differ, except in lanes that take the value.
                let from = self.register(T, from);
                self.vex(Vop::PXORD, d.0, d.0, v, None);
                self.vex(PANDN, T.0, from.0, Rm::Reg(d), None);
                self.vex(Vop::PXORD, d.0, T.0, v, None);
            }
        }
    }

    pub(super) fn vex_logic(&mut self, table: u16, d: V, b: V) {
        let (x, y) = (Rm::Reg(d), Rm::Reg(b));
        let ones = Rm::Constant(ONES);
        // Bits of the table: neither, only the first, only the second, both.
        match table & 15 {
            0b0000 => self.vex(Vop::PXORD, d.0, d.0, x, None),
            0b0001 => {
                self.vex(Vop::PORD, d.0, d.0, y, None);
                self.vex(Vop::PXORD, d.0, d.0, ones, None);
            }
            0b0010 => self.vex(PANDN, d.0, b.0, x, None),
            0b0011 => self.vex(Vop::PXORD, d.0, b.0, ones, None),
            0b0100 => self.vex(PANDN, d.0, d.0, y, None),
            0b0101 => self.vex(Vop::PXORD, d.0, d.0, ones, None),
            0b0110 => self.vex(Vop::PXORD, d.0, d.0, y, None),
            0b0111 => {
                self.vex(Vop::PANDD, d.0, d.0, y, None);
                self.vex(Vop::PXORD, d.0, d.0, ones, None);
            }
            0b1000 => self.vex(Vop::PANDD, d.0, d.0, y, None),
            0b1001 => {
                self.vex(Vop::PXORD, d.0, d.0, y, None);
                self.vex(Vop::PXORD, d.0, d.0, ones, None);
            }
            0b1010 => {}
            0b1011 => {
                self.vex(Vop::PXORD, T.0, b.0, ones, None);
                self.vex(Vop::PORD, d.0, d.0, Rm::Reg(T), None);
            }
            0b1100 => self.vex_load(d, y),
            0b1101 => {
                self.vex(Vop::PXORD, d.0, d.0, ones, None);
                self.vex(Vop::PORD, d.0, d.0, y, None);
            }
            0b1110 => self.vex(Vop::PORD, d.0, d.0, y, None),
            _ => self.vex(PCMPEQD, d.0, d.0, x, None),
        }
    }

    pub(super) fn vex_halves_to_floats(&mut self, d: V, from: Rm, high: bool) {
        let from = self.register(d, from);
        // The halves of each four lanes side by side, then those of all.
        let first = if high { 2u32 } else { 0 };
        let pair = |k: u32| {
            let low = 4 * k + first;
            low | (low + 1) << 8 | (low + 4) << 16 | (low + 5) << 24
        };
        let bytes = [pair(0), pair(2), ONES, ONES];
        let bytes = std::array::from_fn(|i| bytes[i % 4]);
        self.vex_table(PSHUFB, d, from, bytes);
        self.vex_wide(PERMQ, d, Rm::Reg(d), 0b1000);
        self.vex(Vop::CVTPH2PS, d.0, 0, Rm::Reg(d), None);
    }

    pub(super) fn vex_compare(
        &mut self,
        op: Vop,
        d: Mask,
        within: Mask,
        a: V,
        b: Rm,
        predicate: u8,
    ) {
        let d = vector(d);
        let not = match (op, predicate, b) {
            (Vop::CMPPS, ..) => {
                let b = self.plain(b);
                self.vex(op, d.0, a.0, b, Some(predicate));
                false
            }
            (Vop::PCMPD, integer::GREATER, _) => {
                let b = self.plain(b);
                self.vex(PCMPGTD, d.0, a.0, b, None);
                false
            }
            (Vop::PCMPD, integer::LESS, _) => {
                let b = self.register(T, b);
                self.vex(PCMPGTD, d.0, b.0, Rm::Reg(a), None);
                false
            }
            (Vop::PCMPD, ..) => {
                let b = self.plain(b);
                self.vex(PCMPEQD, d.0, a.0, b, None);
                predicate == integer::NOT_EQUAL
            }
            // Unsigned comparisons by minimum or maximum: `a < n` if `min(a, n - 1) = a`, `a > n` if
            // `max(a, n + 1) = a`.
            (_, integer::LESS, Rm::Constant(n)) if n != 0 => {
                self.at_end(d, PMINUD, a, Rm::Constant(n - 1));
                false
            }
            (_, integer::GREATER, Rm::Constant(n)) if n != u32::MAX => {
                self.at_end(d, PMAXUD, a, Rm::Constant(n + 1));
                false
            }
            (_, integer::LESS, _) => {
                self.at_end(d, PMAXUD, a, b);
                true
            }
            _ => {
                self.at_end(d, PMINUD, a, b);
                true
            }
        };
        if not {
            self.vex(Vop::PXORD, d.0, d.0, Rm::Constant(ONES), None);
        }
        if within != ALL {
            self.vex(Vop::PANDD, d.0, d.0, self.operand(within), None);
        }
    }

    /// The lanes in which `a` is the smaller or the larger one, or both are the same.
    fn at_end(&mut self, d: V, op: Vop, a: V, b: Rm) {
        let b = self.plain(b);
        self.vex(op, d.0, a.0, b, None);
        self.vex(PCMPEQD, d.0, d.0, Rm::Reg(a), None);
    }

    pub(super) fn vex_shift(&mut self, kind: Shift, d: V, a: V, by: u8) {
        self.vex(Vop::SHIFT, kind as u8, d.0, Rm::Reg(a), Some(by));
    }

    pub(super) fn vex_test_bits(&mut self, d: Mask, within: Mask, a: V, b: Rm) {
        let (d, b) = (vector(d), self.plain(b));
        self.vex(Vop::PANDD, d.0, a.0, b, None);
        self.vex(PCMPEQD, d.0, d.0, Rm::Constant(0), None);
        self.vex(PANDN, d.0, d.0, self.operand(within), None);
    }

    pub(super) fn vex_load(&mut self, d: V, from: Rm) {
        match from {
            Rm::Reg(a) => self.vex_move(d, a),
            Rm::Broadcast(..) => self.vex(Vop::PBROADCASTD, d.0, 0, from, None),
            Rm::Constant(0) => self.vex(Vop::PXORD, d.0, d.0, Rm::Reg(d), None),
            _ => self.vex(Vop::MOVDQU_LOAD, d.0, 0, from, None),
        }
    }

    pub(super) fn vex_store(&mut self, to: Rm, mask: Mask, a: V) {
        let value = if mask == ALL {
            a
        } else {
            self.vex(Vop::PXORD, T.0, a.0, to, None);
            self.vex(Vop::PANDD, T.0, T.0, self.operand(mask), None);
            self.vex(Vop::PXORD, T.0, T.0, to, None);
            T
        };
        self.vex(Vop::MOVDQU_STORE, value.0, 0, to, None);
    }

    pub(super) fn vex_broadcast_first(&mut self, d: V, a: V) {
        self.vex(Vop::PBROADCASTD, d.0, 0, Rm::Reg(a), None);
    }

    pub(super) fn vex_broadcast(&mut self, d: V, a: Gpr) {
        self.overwritten(d);
        self.move_low(0x6e, d, a);
        self.vex_broadcast_first(d, d);
    }

    pub(super) fn vex_first_lane(&mut self, d: Gpr, a: V) {
        let a = self.resolve(a);
        self.move_low(0x7e, a, d);
    }

    /// 32 bits between a vector register and a general one.
    fn move_low(&mut self, opcode: u8, v: V, r: Gpr) {
        let first = (!v.0 & 8) << 4 | 1 << 6 | (!r.0 & 8) << 2 | 1;
        self.bytes(&[0xc4, first, 0x79, opcode, 0xc0 | (v.0 & 7) << 3 | r.0 & 7]);
    }

    pub(super) fn vex_gather(&mut self, d: V, mask: Mask, base: Gpr, offsets: V, plus: i32) {
        let (mask, offsets) = (vector(mask), self.resolve(offsets));
        self.overwritten(d);
        debug_assert!(base.0 & 7 != 4 && d != offsets && d != mask && mask != offsets);
        let Vop(map, prefix, opcode) = GATHER;
        let p0 = (!d.0 & 8) << 4 | (!offsets.0 & 8) << 3 | (!base.0 & 8) << 2 | map;
        self.bytes(&[0xc4, p0, (!mask.0 & 15) << 3 | 1 << 2 | prefix, opcode]);
        self.bytes(&[0x80 | (d.0 & 7) << 3 | 4, (offsets.0 & 7) << 3 | base.0 & 7]);
        self.word(plus);
    }

    /// Lane by lane, through the 128 bytes below the stack that calls of the host's convention
    /// leave alone.
    pub(super) fn vex_scatter(&mut self, a: V, mask: Mask, base: Gpr, offsets: V, plus: i32) {
        debug_assert!(base.0 < 8 && base.0 != 4);
        // lea r11, [rsp - 64]
        self.bytes(&[0x4c, 0x8d, 0x5c, 0x24, 0xc0]);
        self.vex_store(Rm::Mem(R11, 0), ALL, offsets);
        self.vex_store(Rm::Mem(R11, 32), ALL, a);
        let (next, done) = (self.label(), self.label());
        self.signs(R8, mask);
        self.test(R8);
        self.jump_if(Condition::Zero, done);
        self.place(next);
        // tzcnt r9d, r8d; movsxd r10, [r11 + 4 r9]; mov r9d, [r11 + 4 r9 + 32]
        self.bytes(&[0xf3, 0x45, 0x0f, 0xbc, 0xc8]);
        self.bytes(&[0x4f, 0x63, 0x14, 0x8b]);
        self.bytes(&[0x47, 0x8b, 0x4c, 0x8b, 0x20]);
        // mov [base + r10 + plus], r9d
        self.bytes(&[0x46, 0x89, 0x8c, 0x10 | base.0]);
        self.word(plus);
        // blsr r8d, r8d
        self.bytes(&[0xc4, 0xc2, 0x38, 0xf3, 0xc8]);
        self.jump_if(Condition::NotZero, next);
        self.place(done);
    }

    pub(super) fn vex_mask_move(&mut self, d: Mask, a: Mask) {
        self.vex_load(vector(d), self.operand(a));
    }

    pub(super) fn vex_mask_all(&mut self, d: Mask) {
        let d = vector(d);
        self.vex(PCMPEQD, d.0, d.0, Rm::Reg(d), None);
    }

    pub(super) fn vex_mask_op(&mut self, op: Kop, d: Mask, a: Mask, b: Mask) {
        let op = match op {
            Kop::And => Vop::PANDD,
            Kop::AndNot => PANDN,
            Kop::Or => Vop::PORD,
        };
        let a = self.register(T, self.operand(a));
        self.vex(op, vector(d).0, a.0, self.operand(b), None);
    }

    pub(super) fn vex_mask_not(&mut self, d: Mask, a: Mask) {
        self.vex(Vop::PXORD, vector(d).0, vector(a).0, Rm::Constant(ONES), None);
    }

    pub(super) fn vex_test_mask(&mut self, a: Mask) {
        match a {
            Mask::Exec(part) => {
                self.compare_memory_byte(self.group.base, self.group.exec + i32::from(part), 0);
            }
            _ => self.vex(TESTPS, vector(a).0, 0, Rm::Constant(ONES), None),
        }
    }

    pub(super) fn vex_mask_alive(&mut self, d: Mask, part: u8) {
        let GroupLayout { base, alive, .. } = self.group;
        self.vex_byte_to_mask(d, base, alive + i32::from(part));
    }

    /// Loads only the byte: store forwarding fails if several stores wrote a wider range.
    pub(super) fn vex_byte_to_mask(&mut self, d: Mask, base: Gpr, offset: i32) {
        let d = vector(d);
        let bits = std::array::from_fn(|lane| 1 << lane);
        self.vex(Vop::PBROADCASTB, d.0, 0, Rm::Mem(base, offset), None);
        self.vex_table(Vop::PANDD, d, d, bits);
        self.vex_table(PCMPEQD, d, d, bits);
    }

    pub(super) fn vex_mask_to_bytes(
        &mut self,
        part: usize,
        parts: usize,
        base: Gpr,
        offset: i32,
        a: Mask,
    ) {
        self.collect_signs(part, a);
        if part + 1 == parts {
            match parts {
                1 => self.store_byte(base, offset, R8),
                2 => self.store_short(base, offset, R8),
                _ => self.store_low(base, offset, R8),
            }
        }
    }

    /// Appends the lanes of a part's mask to `r8`, after those of the parts before.
    fn collect_signs(&mut self, part: usize, a: Mask) {
        if part == 0 {
            return self.signs(R8, a);
        }
        self.signs(R9, a);
        self.shift_left(R9, 8 * part as u8);
        self.or(R8, R9);
    }

    pub(super) fn vex_load_exec(&mut self) {}

    pub(super) fn vex_set_exec(&mut self, part: u8, a: Mask, b: Mask, scratch: V) {
        self.vex(Vop::PANDD, scratch.0, vector(a).0, self.operand(b), None);
        self.vex_store(self.exec_row(part), ALL, scratch);
        self.collect_signs(usize::from(part), Mask::In(scratch.0));
        if usize::from(part) + 1 == self.parts() {
            // All bits in one store: handlers load the whole mask, and store forwarding fails from
            // parts.
            self.store_low(self.group.base, self.group.exec, R8);
        }
    }

    pub(super) fn vex_test_exec(&mut self) {
        self.compare_memory(self.group.base, self.group.exec, 0);
    }

    pub(super) fn vex_test_all_execute(&mut self) {
        let GroupLayout { base, exec, alive, .. } = self.group;
        self.load_half(R8, base, alive);
        self.compare_half(R8, base, exec);
    }

    /// Quads of a part are halves of a register.
    pub(super) fn vex_quad_masks(&mut self) {}

    pub(super) fn vex_load_quad(&mut self, d: V, quad: u8, from: Rm) {
        if quad == 0 {
            return self.vex_load(d, from);
        }
        let from = self.plain(from);
        self.vex(PBLENDD, d.0, d.0, from, Some(0xf0));
    }

    /// The host's conversion is of signed integers: high and low halves by themselves, as numbers
    /// that have them in their last places, so that only their sum rounds.
    fn unsigned_to_float(&mut self, d: V, b: Rm) {
        const LOW_PLACES: f32 = 8_388_608.0; // 2^23
        const HIGH_PLACES: f32 = 549_755_813_888.0; // 2^39
        let b = self.register(d, b);
        let high = Rm::Constant(HIGH_PLACES.to_bits());
        self.vex_shift(Shift::Right, T, b, 16);
        self.vex(PBLENDW, T.0, T.0, high, Some(HIGH_WORDS));
        let both = Rm::Constant((HIGH_PLACES + LOW_PLACES).to_bits());
        self.vex(Vop::SUBPS, T.0, T.0, both, None);
        let low = Rm::Constant(LOW_PLACES.to_bits());
        self.vex(PBLENDW, d.0, b.0, low, Some(HIGH_WORDS));
        self.vex(Vop::ADDPS, d.0, d.0, Rm::Reg(T), None);
    }

    /// The host's conversion is to signed integers: from 2^31 on, of what is above.
    fn float_to_unsigned(&mut self, d: V, b: Rm) {
        const HALF: f32 = 2_147_483_648.0; // 2^31
        const END: f32 = 4_294_967_296.0; // 2^32
        let Rm::Reg(from) = b else {
            // All templates have it in a register.
            debug_assert!(false, "an operand in memory");
            return;
        };
        debug_assert!(from != d);
        self.vex(Vop::SUBPS, T.0, from.0, Rm::Constant(HALF.to_bits()), None);
        self.vex(Vop::CVTTPS2DQ, T.0, 0, Rm::Reg(T), None);
        self.vex(Vop::PXORD, T.0, T.0, Rm::Constant(SIGN), None);
        self.vex(Vop::CVTTPS2DQ, d.0, 0, b, None);
        // Too large gives the sign.
        self.blend(d, d, Rm::Reg(T), Mask::In(d.0));
        let end = Rm::Constant(END.to_bits());
        self.vex(Vop::CMPPS, T.0, from.0, end, Some(float::GREATER_EQUAL));
        self.vex(Vop::PORD, d.0, d.0, Rm::Reg(T), None);
    }

    /// The lanes of a mask, as bits of a register.
    fn signs(&mut self, d: Gpr, mask: Mask) {
        self.vex(MOVMSKPS, d.0, 0, Rm::Reg(vector(mask)), None);
    }

    /// `d = mask ? b : a`
    fn blend(&mut self, d: V, a: V, b: Rm, mask: Mask) {
        let mask = match mask {
            Mask::In(_) => mask,
            Mask::All | Mask::Exec(_) => {
                debug_assert!(b != Rm::Reg(T));
                self.vex_load(T, self.operand(mask));
                Mask::In(T.0)
            }
        };
        self.vex(BLENDVPS, d.0, a.0, b, Some(vector(mask).0 << 4));
    }

    /// The execution mask of a part as a vector in memory.
    fn exec_row(&self, part: u8) -> Rm {
        let at = self.group.exec_row + self.width() * i32::from(part);
        Rm::Mem(self.group.base, at)
    }

    /// A mask as the last operand.
    fn operand(&self, mask: Mask) -> Rm {
        match mask {
            Mask::All => Rm::Constant(ONES),
            Mask::Exec(part) => self.exec_row(part),
            Mask::In(v) => Rm::Reg(V(v)),
        }
    }

    /// An operand that an instruction can have, in the scratch register if need be.
    fn plain(&mut self, b: Rm) -> Rm {
        match b {
            Rm::Broadcast(..) => {
                self.vex_load(T, b);
                Rm::Reg(T)
            }
            _ => b,
        }
    }

    /// An operand in a register: in `d` if it was in memory.
    fn register(&mut self, d: V, b: Rm) -> V {
        match b {
            Rm::Reg(b) => b,
            _ => {
                self.vex_load(d, b);
                d
            }
        }
    }
}

/// The register of a mask. The execution mask has none: templates use it where it can be an
/// operand.
fn vector(mask: Mask) -> V {
    debug_assert!(matches!(mask, Mask::In(_)), "{mask:?}");
    match mask {
        Mask::In(v) => V(v),
        Mask::All | Mask::Exec(_) => T,
    }
}
