//! The registers that must be cleared before a SIMD-group runs: those that a thread may read before
//! it writes them. Groups reuse register files, so results would otherwise depend on which worker
//! ran which group.

use tepui_agx_isa::operand::REGISTER_HALVES;
use tepui_agx_isa::{File, Inst, Role};

use super::code::Code;
use super::opcode::Opcode;

/// Half-registers.
type Halves = [bool; REGISTER_HALVES as usize];

/// The rows to clear for whole SIMD-groups; `None` for all of them, if the control flow is more
/// than nested branches or threads read each other's registers.
pub fn rows(program: &Code) -> Option<Vec<u16>> {
    let mut read_first = [false; REGISTER_HALVES as usize];
    let mut written: Halves = read_first;
    // Written registers at the start of each open branch: after it, registers that its sides write are
    // unknown.
    let mut open: Vec<Halves> = Vec::new();
    for (index, op) in program.ops().iter().enumerate() {
        let inst = program.inst(index)?;
        match op.opcode {
            Opcode::shuffle | Opcode::reduce | Opcode::icmp_ballot | Opcode::fcmp_ballot => {
                return None;
            }
            Opcode::dfdx | Opcode::dfdy | Opcode::while_icmp | Opcode::while_fcmp => return None,
            Opcode::call | Opcode::jump_register | Opcode::jmp_exec_any | Opcode::refuse => {
                return None;
            }
            Opcode::texture if !matches!(inst, Inst::TextureLoad(_)) => return None,
            // Over code that no thread executes.
            Opcode::jmp_exec_none if op.imm as usize <= index => return None,
            _ => {}
        }
        let is_flow = matches!(
            op.opcode,
            Opcode::if_icmp
                | Opcode::if_fcmp
                | Opcode::else_icmp
                | Opcode::else_fcmp
                | Opcode::pop_exec
        );
        let accesses = inst.operands();
        let registers = || accesses.iter().filter(|a| a.file == File::Reg);
        let span = |start: u16, count: u16| {
            usize::from(start)..usize::from(start + count).min(REGISTER_HALVES as usize)
        };
        // Stores may look at four registers whatever the count of those that they are given.
        let least = match op.opcode {
            Opcode::image_write | Opcode::image_write_block | Opcode::tile_pixel => 8,
            Opcode::device_store | Opcode::local_store | Opcode::uniform_store => 8,
            _ => 1,
        };
        for a in registers().filter(|a| a.role != Role::Write) {
            for half in span(a.start, a.count.max(least)) {
                read_first[half] |= !written[half];
            }
        }
        for a in registers().filter(|a| matches!(a.role, Role::Write | Role::ReadWrite)) {
            // The counts of branches are their own but for the zero that programs begin with.
            let zero = op.opcode == Opcode::mov_imm && op.imm as u16 == 0 && open.is_empty();
            if a.start == 0 && !is_flow && !zero {
                return None;
            }
            if a.exact {
                written[span(a.start, a.count)].fill(true);
            }
        }
        let levels = usize::from(op.aux[2]);
        match op.opcode {
            Opcode::if_icmp | Opcode::if_fcmp if levels == 1 => open.push(written),
            Opcode::else_icmp | Opcode::else_fcmp if levels == 1 => written = *open.last()?,
            Opcode::pop_exec => {
                for _ in 0..levels {
                    written = open.pop()?;
                }
            }
            Opcode::if_icmp | Opcode::if_fcmp | Opcode::else_icmp | Opcode::else_fcmp => {
                return None;
            }
            _ => {}
        }
    }
    let rows = read_first.chunks_exact(2).zip(0..);
    let rows = rows.filter(|(halves, _)| halves[0] || halves[1]).map(|(_, row)| row);
    Some(rows.filter(|&row| usize::from(row) < program.register_rows()).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tepui_softgpu::{AddressSpace, Memory, Protection};

    use tepui_agx_chips::{PAGE_BYTES, PAGE_SHIFT, VA_BITS};

    use super::*;
    use crate::usc::load::load;

    fn rows_of(source: &str) -> Option<Vec<u16>> {
        let vm = AddressSpace::new(PAGE_SHIFT, VA_BITS);
        let memory = Arc::new(Memory::new(PAGE_BYTES as usize).unwrap());
        vm.bind(1 << 32, memory, 0, PAGE_BYTES, Protection::READ | Protection::WRITE).unwrap();
        let code = tepui_agx_isa::asm::assemble(source).unwrap_or_else(|e| panic!("{e:?}"));
        vm.write(1 << 32, &code).unwrap();
        rows(&load(&vm, 1 << 32, 1 << 32).unwrap())
    }

    #[test]
    fn only_what_is_read_first_must_be_cleared() {
        let straight = "get_sr r2, sr80 (thread_position_in_grid.x)
            mov_imm r0l, 0
            iadd r3, r2, r9
            stop";
        assert_eq!(rows_of(straight), Some(vec![9]));
    }

    #[test]
    fn a_branch_writes_for_itself_alone() {
        let branch = |behind: &str| {
            format!(
                "get_sr r2, sr80 (thread_position_in_grid.x)
                mov_imm r3, 0, 0b0
                mov_imm r4, 0, 0b0
                mov_imm r5, 0, 0b0
                mov_imm r0l, 0
                if_icmp r0l, ult, r2l, 5, 1
                mov_imm r12, 7, 0b0
                mov_imm r13, 7, 0b0
                mov_imm r14, 7, 0b0
                mov_imm r15, 7, 0b0
                iadd r2, r12, 1
                pop_exec r0l, 1
                {behind}
                stop"
            )
        };
        assert_eq!(rows_of(&branch("")), Some(vec![]));
        assert_eq!(rows_of(&branch("iadd r2, r12, 1")), Some(vec![12]));
        assert_eq!(rows_of(&branch("mov_imm r0l, 3")), None);
        assert_eq!(rows_of(&branch("pop_exec r0l, 1")), None);
    }
}
