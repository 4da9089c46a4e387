//! Counters of the model, interpreted and translated.

use tepui_agx_bare::{Dispatch, Machine, address_halves};
use tepui_agx_isa::asm::assemble;
use tepui_agx_model::Options;

/// Ten turns of a loop; lanes from 16 on leave it after five.
const LOOP: &str = "get_sr r1, sr80 (thread_position_in_grid.x)
     mov_imm r2, 0, 0b0
     mov_imm r0l, 0
     mov_imm r3, 5, 0b0
     icmpsel ult, r3, r1, 16, 10, r3
     again:
     iadd r2, r2, 1
     imadd r4, r2, r2, r1
     rcp r5, r4
     while_icmp r0l, ult, r2, r3, 1
     jmp_exec_any again
     pop_exec r0l, 1
     device_store 0, i32, x, r4, u0_u1, r1, unsigned, 0
     stop";

/// Cycles of [`LOOP`] before the loop and of a turn: those of `get_sr` (2), three immediates and a selection; those of an
/// addition, a product (two issue slots of two cycles) and a reciprocal (three), each of which the first unit issues, too.
const BEFORE: [u64; 2] = [2 + 3 + 1, 0];
const TURN: [u64; 2] = [1 + 1 + 1, 2 * (2 + 3)];

#[test]
fn each_turn_of_a_loop_counts() {
    let code = assemble(LOOP).expect("the test's program");
    for translate_after in [u32::MAX, 0] {
        let mut machine =
            Machine::new(Options { translate_after, ..Options::default() }).expect("a machine");
        let result = machine.buffer(4 * 128).expect("memory");
        let stats = machine
            .dispatch(&Dispatch {
                code: &code,
                uniforms: &address_halves(result.address()),
                global: [128, 1, 1],
                local: [64, 1, 1],
                ..Dispatch::default()
            })
            .expect("the job goes on");
        // Four groups, of which the first alone has lanes that take ten turns.
        let turns = 10 + 3 * 5;
        assert_eq!(stats.instructions, 4 * (5 + 3) + 5 * turns, "{translate_after}");
        assert_eq!(stats.fscib, 4 * BEFORE[0] + TURN[0] * turns, "{translate_after}");
        assert_eq!(stats.ic, 4 * BEFORE[1] + TURN[1] * turns, "{translate_after}");
        assert_eq!(stats.cycles(), stats.ic);
    }
}
