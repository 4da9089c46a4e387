//! Special registers, and the instructions that only helper programs use.

use super::{Lanes, Next, Op};
use crate::usc::row::{LANES, NUMBERS, Row};
use crate::usc::stack::doorbell as value;

/// Special registers to a register. `aux[0]` is the number. source: Mesa's agx_opcodes.py, SR.
#[inline(always)]
pub fn get_sr<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let number = op.aux[0];
    let place = l.place;
    let axis = |base: u16| (number - base) as usize;
    if let Some(row) = super::fragment::special(l, number) {
        l.store_u32(op.d, &row);
        return Next::Continue;
    }
    let mut out = Row::ZERO;
    match number {
        0..=2 => out = Row::splat(l.position.workgroup[axis(0)]),
        4..=6 => out = Row::splat(l.position.threads_here[axis(4)]),
        8..=10 => out = Row::splat(place.local_size[axis(8)]),
        14 => {}
        20 => out = Row::splat(l.port.core),
        21 => {}
        48..=50 => out = *l.in_group(axis(48)),
        51 => {
            for i in 0..LANES {
                out.0[i] = place.first_thread + i as u32;
            }
        }
        52 => out = NUMBERS,
        53 => out = Row::splat(place.index),
        56 => {
            for i in 0..LANES {
                let below = (1u32 << (i & 3)) - 1;
                out.0[i] = (l.exec >> (i & !3) & below).count_ones();
            }
        }
        57 => {
            for i in 0..LANES {
                out.0[i] = (l.exec >> (i & !3) & 0xf).count_ones();
            }
        }
        58 => {
            for i in 0..LANES {
                out.0[i] = (l.exec & ((1u32 << i) - 1)).count_ones();
            }
        }
        59 => out = Row::splat(l.exec.count_ones()),
        63 => {
            for i in 0..LANES {
                out.0[i] = l.alive >> i & 1;
            }
        }
        80..=82 => {
            let a = axis(80);
            out = *l.in_grid(a);
            for v in &mut out.0 {
                *v = v.wrapping_add(l.position.origin[a]);
            }
        }
        144 | 146 | 147 => {
            let Some(call) = &l.helper else {
                return l.fail(format!("special register {number} outside of a helper program"));
            };
            out = Row::splat(match number {
                144 => call.op,
                146 => call.argument as u32,
                _ => (call.argument >> 32) as u32,
            });
        }
        _ => return l.fail(format!("what special register {number} holds here is unknown")),
    }
    l.store_u32(op.d, &out);
    Next::Continue
}

/// Signals the hardware; `imm` is the value. Known only in helper programs.
#[inline(always)]
pub fn doorbell<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let Some(call) = &mut l.helper else {
        return l.fail(format!("doorbell {:#x} outside of a helper program: unknown", op.imm));
    };
    match op.imm as u8 {
        value::NEXT => call.next(),
        value::ACK => call.answer = Some(true),
        value::NACK => call.answer = Some(false),
        other => return l.fail(format!("doorbell {other:#x} in a helper program: unknown")),
    }
    Next::Continue
}

/// Maps a block of scratch memory: source 0 is the descriptor, `aux[0]` which of the four.
#[inline(always)]
pub fn stack_map<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let block = l.load_u32(op.s[0]).0[0];
    match l.helper.as_mut().and_then(|call| call.blocks.get_mut(usize::from(op.aux[0]))) {
        Some(slot) => {
            *slot = block;
            Next::Continue
        }
        None => l.fail("stack_map outside of a helper program, or of a fifth block"),
    }
}

/// Unmaps a block of scratch memory and returns its descriptor.
#[inline(always)]
pub fn stack_unmap<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    match l.helper.as_ref().and_then(|call| call.blocks.get(usize::from(op.aux[0]))) {
        Some(&block) => {
            l.store_u32(op.d, &Row::splat(block));
            Next::Continue
        }
        None => l.fail("stack_unmap outside of a helper program, or of a fifth block"),
    }
}
