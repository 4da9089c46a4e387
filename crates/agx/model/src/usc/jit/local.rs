//! Templates of loads and stores of local memory: gathers and scatters of words.
//!
//! No access leaves local memory: offsets are masked to 16 bits, so an offset and the bytes of an
//! access do not wrap in 32 bits; the end of each active lane's access is compared unsigned with
//! the size; and gathers and scatters have the execution mask, so lanes that were not tested touch
//! nothing. `Lanes::new` takes address and size together from the memory that the workgroup holds,
//! which is not resized while a group runs.

use super::translator::{ByHandler, Done, LANES, REGISTERS, Translator, field};
use crate::usc::access::Format;
use crate::usc::op::{Form, Op};
use crate::usc::opcode::Opcode;
use tepui_hostvec::asm::{ALL, Condition, Gpr, Kop, Rm, Shift, V, Vop, integer};

impl Translator<'_> {
    /// A load or store of words in whole registers, if all active lanes stay inside of local
    /// memory; the handler does the rest, and the fault.
    pub fn local(&mut self, op: &Op) -> Done {
        let t = self.code.transfer(op.imm as usize);
        if t.format != Format::I32 || !matches!(t.register.form, Form::Word | Form::Pair) {
            return Err(ByHandler);
        }
        let elements = 8 - t.mask.leading_zeros();
        self.count();
        let parts = 0..self.asm.parts();
        // The offsets of each part, and the lanes whose access is not inside: of the first part, to
        // which the others' are added, and of another.
        let offsets: Vec<V> = parts.clone().map(|part| self.keep(16 + part as u8)).collect();
        let outside = [self.mask(4), self.mask(5)];
        for part in parts.clone() {
            self.part = part;
            let at = offsets[part];
            match t.immediate {
                Some(index) => self.asm.load(at, Rm::Constant((index as u32).wrapping_mul(4))),
                None => {
                    self.int(at, op.s[1]);
                    self.asm.shift(Shift::Left, at, at, 2);
                }
            }
            if !t.no_base {
                self.int(V(1), op.s[0]);
                self.asm.vector(Vop::PADDD, at, ALL, at, Rm::Reg(V(1)), None);
            }
            self.rows.held.clear();
            // Offsets have 16 bits, and words are aligned: see the handler.
            self.and(at, 0xfffc);
            let size = Rm::Constant(4 * elements);
            self.asm.vector(Vop::PADDD, V(1), ALL, at, size, None);
            let end = Rm::Broadcast(LANES, field!(local_bytes));
            let (all, here) = (outside[0], outside[part.min(1)]);
            let within = self.exec();
            self.asm.compare(Vop::PCMPUD, here, within, V(1), end, integer::GREATER);
            if part > 0 {
                self.asm.mask_op(Kop::Or, all, all, here);
            }
        }
        let (slow, done) = (self.asm.label(), self.asm.label());
        self.asm.test_mask(outside[0]);
        self.asm.jump_if(Condition::NotZero, slow);
        outside.into_iter().for_each(|mask| self.free_mask(mask));
        // The lanes that a gather has left to do.
        let left = self.mask(3);
        self.asm.load_word(Gpr::RAX, LANES, field!(local));
        // All lanes' words of a component before the next's: as the handler stores them.
        for (k, e) in (0..elements).filter(|e| t.mask >> e & 1 != 0).enumerate() {
            for part in parts.clone() {
                self.part = part;
                let row = self.in_file(REGISTERS, t.register.row + k as u16);
                self.asm.mask_move(left, self.exec());
                if op.opcode == Opcode::local_load {
                    self.asm.gather(V(0), left, Gpr::RAX, offsets[part], 4 * e as i32);
                    self.asm.store(row, self.exec(), V(0));
                } else {
                    self.asm.load(V(0), row);
                    self.asm.scatter(V(0), left, Gpr::RAX, offsets[part], 4 * e as i32);
                }
            }
        }
        self.free_mask(left);
        offsets.into_iter().for_each(|at| self.free(at));
        self.asm.jump(done);
        self.asm.place(slow);
        self.by_handler();
        self.asm.place(done);
        Ok(())
    }
}
