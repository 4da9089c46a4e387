//! Encodings for AVX-512: one instruction each, masks in `k1` to `k7`.

use super::{ALL, Assembler, Gpr, Kop, Mask, Rm, Shift, V, Vop};

const PTERNLOGD: Vop = Vop(3, 1, 0x25);
/// `c ? b : a`, of the third operand's bits: the first, the second, the mask.
const SELECT: u8 = 0xd8;
/// The low words of all lanes, to the low part of a register.
const PMOVDW: Vop = Vop(2, 2, 0x33);
const PMOVM2D: Vop = Vop(2, 2, 0x38);
/// A general register to all lanes.
const PBROADCASTD_GPR: Vop = Vop(2, 1, 0x7c);
/// The lanes in which two operands have a bit in common, to a mask.
const PTESTMD: Vop = Vop(2, 1, 0x27);
/// Opcodes of masks: `!(a ^ b)`, and `a << 16 | b` of 32 bits.
const KXNOR: u8 = 0x46;
const KUNPACK: u8 = 0x4b;
/// The mask of the first quad; those of the other three follow.
const QUADS: u8 = 4;
/// Their lanes, in memory.
static QUAD_BITS: [u16; 4] = [0xf, 0xf0, 0xf00, 0xf000];

/// The number of a mask's register; as a write mask 0 stands for all lanes.
fn k(mask: Mask) -> u8 {
    match mask {
        Mask::All => 0,
        Mask::Exec(part) => 1 + part,
        Mask::In(k) => k,
    }
}

impl Assembler {
    pub(super) fn evex_vector(
        &mut self,
        op: Vop,
        d: V,
        mask: Mask,
        a: V,
        b: Rm,
        immediate: Option<u8>,
    ) {
        match (op, b) {
            // This writes the operand that others read.
            (Vop::CVTPS2PH, Rm::Reg(b)) => self.evex(op, b.0, mask, 0, Rm::Reg(d), immediate),
            _ => self.evex(op, d.0, mask, a.0, b, immediate),
        }
    }

    pub(super) fn evex_select(&mut self, d: V, value: V, from: Rm) {
        self.evex(PTERNLOGD, d.0, ALL, value.0, from, Some(SELECT));
    }

    pub(super) fn evex_logic(&mut self, table: u16, d: V, b: V) {
        // The host's table counts the first operand's bit by four, the second's by two.
        let bit = |k: usize| (table >> (k >> 2 & 1 | (k >> 1 & 1) << 1) & 1) << k;
        let truth = (0..8).map(bit).sum::<u16>() as u8;
        self.evex(PTERNLOGD, d.0, ALL, b.0, Rm::Reg(b), Some(truth));
    }

    pub(super) fn evex_halves_to_floats(&mut self, d: V, from: Rm, high: bool) {
        self.evex_load(d, from);
        if high {
            self.evex_shift(Shift::Right, d, d, 16);
        }
        // The low halves of all lanes side by side, then widened.
        self.evex(PMOVDW, d.0, ALL, 0, Rm::Reg(d), None);
        self.evex(Vop::CVTPH2PS, d.0, ALL, 0, Rm::Reg(d), None);
    }

    pub(super) fn evex_compare(
        &mut self,
        op: Vop,
        d: Mask,
        within: Mask,
        a: V,
        b: Rm,
        predicate: u8,
    ) {
        self.evex(op, k(d), within, a.0, b, Some(predicate));
    }

    pub(super) fn evex_shift(&mut self, kind: Shift, d: V, a: V, by: u8) {
        self.evex(Vop::SHIFT, kind as u8, ALL, d.0, Rm::Reg(a), Some(by));
    }

    pub(super) fn evex_test_bits(&mut self, d: Mask, within: Mask, a: V, b: Rm) {
        self.evex(PTESTMD, k(d), within, a.0, b, None);
    }

    pub(super) fn evex_load(&mut self, d: V, from: Rm) {
        match from {
            Rm::Constant(_) | Rm::Broadcast(..) => {
                self.evex(Vop::PBROADCASTD, d.0, ALL, 0, from, None);
            }
            _ => self.evex(Vop::MOVDQU_LOAD, d.0, ALL, 0, from, None),
        }
    }

    pub(super) fn evex_store(&mut self, to: Rm, mask: Mask, a: V) {
        self.evex(Vop::MOVDQU_STORE, a.0, mask, 0, to, None);
    }

    pub(super) fn evex_broadcast_first(&mut self, d: V, a: V) {
        self.evex(Vop::PBROADCASTD, d.0, ALL, 0, Rm::Reg(a), None);
    }

    pub(super) fn evex_broadcast(&mut self, d: V, a: Gpr) {
        self.evex(PBROADCASTD_GPR, d.0, ALL, 0, Rm::Reg(V(a.0)), None);
    }

    pub(super) fn evex_gather(&mut self, d: V, mask: Mask, base: Gpr, offsets: V, plus: i32) {
        self.evex_indexed(0x90, d, mask, base, offsets, plus);
    }

    pub(super) fn evex_scatter(&mut self, a: V, mask: Mask, base: Gpr, offsets: V, plus: i32) {
        self.evex_indexed(0xa0, a, mask, base, offsets, plus);
    }

    pub(super) fn evex_mask_move(&mut self, d: Mask, a: Mask) {
        self.bytes(&[0xc5, 0xf8, 0x90, 0xc0 | k(d) << 3 | k(a)]);
    }

    pub(super) fn evex_mask_all(&mut self, d: Mask) {
        self.masks(KXNOR, k(d), k(d), k(d));
    }

    pub(super) fn evex_mask_op(&mut self, op: Kop, d: Mask, a: Mask, b: Mask) {
        self.masks(op as u8, k(d), k(a), k(b));
    }

    pub(super) fn evex_mask_not(&mut self, d: Mask, a: Mask) {
        self.bytes(&[0xc5, 0xf8, 0x44, 0xc0 | k(d) << 3 | k(a)]);
    }

    pub(super) fn evex_test_mask(&mut self, a: Mask) {
        self.test_masks(k(a), k(a));
    }

    pub(super) fn evex_mask_alive(&mut self, d: Mask, part: u8) {
        self.mask_load(k(d), self.group.base, self.group.alive + 2 * i32::from(part));
    }

    pub(super) fn evex_load_exec(&mut self) {
        for part in 0..self.parts() as u8 {
            let at = self.group.exec + 2 * i32::from(part);
            self.mask_load(k(Mask::Exec(part)), self.group.base, at);
        }
    }

    pub(super) fn evex_set_exec(&mut self, part: u8, a: Mask, b: Mask, scratch: V) {
        let exec = Mask::Exec(part);
        self.evex_mask_op(Kop::And, exec, a, b);
        if usize::from(part) + 1 == self.parts() {
            // All bits in one store: handlers load the whole mask, and store forwarding fails from two
            // halves.
            if part == 1 {
                self.masks(KUNPACK, k(b), k(exec), k(Mask::Exec(0)));
                self.mask_store_word(self.group.base, self.group.exec, k(b));
            } else {
                self.mask_store_word(self.group.base, self.group.exec, k(exec));
            }
        }
        self.evex(PMOVM2D, scratch.0, ALL, 0, Rm::Reg(V(k(exec))), None);
        let row = self.group.exec_row + self.width() * i32::from(part);
        self.evex_store(Rm::Mem(self.group.base, row), ALL, scratch);
    }

    pub(super) fn evex_test_exec(&mut self) {
        let last = self.parts() as u8 - 1;
        self.test_masks(k(Mask::Exec(0)), k(Mask::Exec(last)));
    }

    pub(super) fn evex_test_all_execute(&mut self) {
        let alive = [Mask::In(3), Mask::In(4)];
        let parts = self.parts();
        for (part, &alive) in (0..).zip(&alive[..parts]) {
            self.evex_mask_alive(alive, part);
            self.evex_mask_op(Kop::AndNot, alive, Mask::Exec(part), alive);
        }
        self.test_masks(k(alive[0]), k(alive[parts - 1]));
    }

    pub(super) fn evex_quad_masks(&mut self) {
        self.mov_constant(Gpr::RAX, (&raw const QUAD_BITS) as u64);
        for quad in 0..4 {
            self.mask_load(QUADS + quad, Gpr::RAX, 2 * i32::from(quad));
        }
    }

    pub(super) fn evex_load_quad(&mut self, d: V, quad: u8, from: Rm) {
        self.evex(Vop::PBROADCASTD, d.0, Mask::In(QUADS + quad), 0, from, None);
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
        let p2 = 0b10 << 5 | u8::from(broadcast) << 4 | not(vvvv >> 4) << 3 | k(mask);
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
                self.read([value; 8], usize::from(immediate.is_some()));
            }
        }
        if let Some(immediate) = immediate {
            self.bytes(&[immediate]);
        }
    }

    fn evex_indexed(&mut self, opcode: u8, reg: V, mask: Mask, base: Gpr, index: V, plus: i32) {
        let not = |bit: u8| (bit & 1) ^ 1;
        let p0 = not(reg.0 >> 3) << 7
            | not(index.0 >> 3) << 6
            | not(base.0 >> 3) << 5
            | not(reg.0 >> 4) << 4
            | 2;
        let p2 = 0b10 << 5 | not(index.0 >> 4) << 3 | k(mask);
        self.bytes(&[0x62, p0, 0x7d, p2, opcode]);
        self.bytes(&[0x80 | (reg.0 & 7) << 3 | 4, (index.0 & 7) << 3 | base.0 & 7]);
        self.word(plus);
    }

    /// `d = op(a, b)` on mask registers.
    fn masks(&mut self, op: u8, d: u8, a: u8, b: u8) {
        self.bytes(&[0xc5, 0x80 | (!a & 15) << 3 | 1 << 2, op, 0xc0 | d << 3 | b]);
    }

    /// Sets the zero flag if no bit of either mask is set, the carry flag if together they have
    /// all.
    fn test_masks(&mut self, a: u8, b: u8) {
        self.bytes(&[0xc5, 0xf8, 0x98, 0xc0 | a << 3 | b]);
    }

    /// 16 bits of memory to a mask.
    fn mask_load(&mut self, d: u8, base: Gpr, offset: i32) {
        debug_assert!(base.0 < 8 && base.0 != 4);
        self.bytes(&[0xc5, 0xf8, 0x90, 0x80 | d << 3 | base.0]);
        self.offset(base, offset);
    }

    /// A mask to 32 bits of memory.
    fn mask_store_word(&mut self, base: Gpr, offset: i32, a: u8) {
        debug_assert!(base.0 < 8 && base.0 != 4);
        self.bytes(&[0xc4, 0xe1, 0xf9, 0x91, 0x80 | a << 3 | base.0]);
        self.offset(base, offset);
    }
}
