//! Templates of loads and stores of local memory: gathers and scatters of words.

use super::asm::{ALL, Condition, Gpr, Kop, Mask, Rm, Shift, Vop, Zmm};
use super::lanes::integer;
use super::translate::{ByHandler, Done, EXEC, LANES, REGISTERS, Translator, field, in_file};
use crate::usc::exec::Name;
use crate::usc::lanes::{Form, Op};
use crate::usc::memory::Format;

/// The offsets of each half.
const OFFSETS: [Zmm; 2] = [Zmm(16), Zmm(17)];
/// Lanes of each half whose access is not inside.
const OUTSIDE: [Mask; 2] = [Mask(4), Mask(5)];
/// The lanes that a gather has left to do.
const LEFT: Mask = Mask(3);

impl Translator<'_> {
    /// A load or store of words in whole registers, if all active lanes stay inside of local memory; the
    /// handler does the rest, and the fault.
    pub fn local(&mut self, op: &Op) -> Done {
        let t = self.program.transfer(op.imm as usize);
        if t.format != Format::I32 || !matches!(t.register.form, Form::Word | Form::Pair) {
            return Err(ByHandler);
        }
        let elements = 8 - t.mask.leading_zeros();
        self.count();
        for h in 0..2 {
            let at = OFFSETS[h];
            match t.immediate {
                Some(index) => self.asm.load(at, Rm::Constant((index as u32).wrapping_mul(4))),
                None => {
                    self.int(at, op.s[1], h);
                    self.asm.shift(Shift::Left, at, at, 2);
                }
            }
            if !t.no_base {
                self.int(Zmm(1), op.s[0], h);
                self.asm.vector(Vop::PADDD, at, ALL, at, Rm::Reg(Zmm(1)), None);
            }
            self.rows.held.clear();
            // Offsets have 16 bits, and words are aligned: see the handler.
            self.and(at, 0xfffc);
            let size = Rm::Constant(4 * elements);
            self.asm.vector(Vop::PADDD, Zmm(1), ALL, at, size, None);
            let end = Rm::Broadcast(LANES, field!(local_bytes));
            let within = EXEC[h];
            self.asm.compare(Vop::PCMPUD, OUTSIDE[h], within, Zmm(1), end, integer::GREATER);
        }
        let (slow, done) = (self.asm.label(), self.asm.label());
        self.asm.mask_op(Kop::Or, OUTSIDE[0], OUTSIDE[0], OUTSIDE[1]);
        self.asm.test_mask(OUTSIDE[0]);
        self.asm.jump_if(Condition::NotZero, slow);
        self.asm.load_word(Gpr::RAX, LANES, field!(local));
        // All lanes' words of a component before the next's: as the handler stores them.
        for (k, e) in (0..elements).filter(|e| t.mask >> e & 1 != 0).enumerate() {
            for h in 0..2 {
                let row = in_file(REGISTERS, t.register.row + k as u16, h);
                self.asm.mask_move(LEFT, EXEC[h]);
                if op.name == Name::local_load {
                    self.asm.gather(Zmm(0), LEFT, Gpr::RAX, OFFSETS[h], 4 * e as i32);
                    self.asm.store(row, EXEC[h], Zmm(0));
                } else {
                    self.asm.load(Zmm(0), row);
                    self.asm.scatter(Zmm(0), LEFT, Gpr::RAX, OFFSETS[h], 4 * e as i32);
                }
            }
        }
        self.asm.jump(done);
        self.asm.place(slow);
        self.by_handler();
        self.asm.place(done);
        Ok(())
    }
}
