//! Templates of control flow: the counts in r0l, the execution mask, and jumps.

use super::code::exit;
use super::template::{is_mask_change, jump_target};
use super::translator::{ByHandler, Done, LANES, REGISTERS, Translator, field};
use crate::usc::op::Op;
use crate::usc::opcode::Opcode;
use tepui_hostvec::asm::{ALL, Condition, Gpr, Kop, Label, Mask, Rm, V, Vop, integer};

/// The counts that [`Translator::counts`] loads.
const COUNT: V = V(4);

impl Translator<'_> {
    /// Control flow, and what else is no function of each lane alone; what has no template is the
    /// handler's.
    pub fn control(&mut self, op: &Op, labels: &[Label]) -> Done {
        if let Some(target) = jump_target(op, labels.len()) {
            self.jump(op, (target, labels[target]));
            return Ok(());
        }
        match op.opcode {
            Opcode::local_load | Opcode::local_store => return self.local(op),
            Opcode::device_load | Opcode::device_store => return self.device(op),
            Opcode::stop => return self.stop(),
            Opcode::iter => return self.iter(op),
            Opcode::ldcf => return self.ldcf(op),
            Opcode::tile_access => return self.tile_access(op),
            _ if is_mask_change(op) => {}
            _ => return Err(ByHandler),
        }
        for part in 0..self.asm.parts() {
            self.part = part;
            self.mask_change(op);
            self.rows.held.clear();
        }
        Ok(())
    }

    /// The new execution mask of the part at hand.
    fn mask_change(&mut self, op: &Op) {
        let t = self;
        let (yes, out, go) = (t.mask(3), t.mask(4), t.mask(5));
        let n = Rm::Constant(u32::from(op.aux[2]));
        let (zero, one) = (Rm::Constant(0), Rm::Constant(1));
        if op.opcode != Opcode::pop_exec {
            t.condition(yes, op);
        }
        t.counts();
        match op.opcode {
            Opcode::if_icmp | Opcode::if_fcmp => {
                t.asm.compare(Vop::PCMPD, out, ALL, COUNT, zero, integer::NOT_EQUAL);
                t.asm.vector(Vop::PADDD, COUNT, out, COUNT, n, None);
                t.asm.mask_op(Kop::Or, go, out, yes);
                t.asm.mask_not(go, go);
                t.asm.vector(Vop::PBLENDMD, COUNT, go, COUNT, one, None);
                t.asm.mask_op(Kop::AndNot, go, out, yes);
            }
            Opcode::else_icmp | Opcode::else_fcmp => {
                t.asm.compare(Vop::PCMPD, go, ALL, COUNT, one, integer::EQUAL);
                t.asm.compare(Vop::PCMPD, out, ALL, COUNT, zero, integer::EQUAL);
                t.asm.mask_op(Kop::And, go, go, yes);
                t.asm.vector(Vop::PBLENDMD, COUNT, go, COUNT, zero, None);
                t.asm.vector(Vop::PBLENDMD, COUNT, out, COUNT, n, None);
                if op.aux[2] == 0 {
                    t.asm.mask_op(Kop::Or, go, go, out);
                }
            }
            Opcode::pop_exec => {
                t.asm.load(V(1), n);
                t.asm.vector(Vop::PSUBUSW, COUNT, ALL, COUNT, Rm::Reg(V(1)), None);
                t.asm.compare(Vop::PCMPD, go, ALL, COUNT, zero, integer::EQUAL);
            }
            // The end of a loop's body.
            _ => {
                t.asm.compare(Vop::PCMPUD, go, ALL, COUNT, n, integer::LESS);
                t.asm.vector(Vop::PBLENDMD, COUNT, go, COUNT, n, None);
                t.asm.mask_op(Kop::And, go, go, yes);
                t.asm.vector(Vop::PBLENDMD, COUNT, go, COUNT, zero, None);
            }
        }
        t.resume(go);
        [yes, out, go].into_iter().for_each(|mask| t.free_mask(mask));
    }

    /// The lanes in which the condition of a control-flow operation holds; `aux[1]` inverts it.
    fn condition(&mut self, yes: Mask, op: &Op) {
        match op.opcode {
            Opcode::if_fcmp | Opcode::else_fcmp | Opcode::while_fcmp => {
                self.float_condition(yes, op);
            }
            _ => self.int_condition(yes, op),
        }
        if op.aux[1] != 0 {
            self.asm.mask_not(yes, yes);
        }
    }

    /// Loads the counts of constructs that lanes are out of.
    fn counts(&mut self) {
        let from = match self.kept(0) {
            Some(kept) => Rm::Reg(kept),
            None => self.in_file(REGISTERS, 0),
        };
        self.asm.load(COUNT, from);
        self.and(COUNT, 0xffff);
    }

    /// Writes the counts back, and makes the lanes of `go` that exist the active ones.
    fn resume(&mut self, go: Mask) {
        let (old, alive) = (V(0), self.mask(7));
        match self.kept(0) {
            Some(kept) => self.asm.select(kept, COUNT, Rm::Constant(0xffff)),
            None => {
                let row = self.in_file(REGISTERS, 0);
                self.asm.load(old, row);
                self.asm.select(old, COUNT, Rm::Constant(0xffff));
                self.asm.store(row, ALL, old);
            }
        }
        self.asm.mask_alive(alive, self.part as u8);
        self.asm.set_exec(self.part as u8, go, alive, old);
        self.free_mask(alive);
    }

    /// The end, if all lanes that exist are at it.
    fn stop(&mut self) -> Done {
        self.count();
        let some = self.asm.label();
        self.asm.test_all_execute();
        self.asm.jump_if(Condition::NotZero, some);
        self.asm.store_half(LANES, field!(alive), 0);
        self.leave(self.index + 1, exit::STOP);
        self.asm.place(some);
        self.by_handler();
        Ok(())
    }

    /// Jumps to an operation if the whole mask passes a test against zero.
    fn jump(&mut self, op: &Op, (target, label): (usize, Label)) {
        let (condition, not) = match op.opcode {
            Opcode::jmp_exec_any => (Condition::NotZero, Condition::Zero),
            _ => (Condition::Zero, Condition::NotZero),
        };
        let to = self.jump_label(target, label);
        self.count();
        self.asm.test_exec();
        if target > self.index {
            return self.asm.jump_if(condition, to);
        }
        // Only a backward jump can loop for ever.
        let (next, over) = (self.asm.label(), self.asm.label());
        self.asm.jump_if(not, next);
        self.asm.load_word(Gpr::RAX, LANES, field!(executed.instructions));
        self.asm.compare_word(Gpr::RAX, LANES, field!(budget));
        let out = self.exit_stub(over);
        self.asm.jump_if(Condition::Above, out);
        self.asm.jump(to);
        self.asm.place(over);
        self.leave(self.index + 1, exit::BUDGET);
        self.asm.place(next);
    }
}
