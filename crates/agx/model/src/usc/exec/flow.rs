//! Control flow. Each lane counts in r0l how many constructs it must leave before it runs again; it
//! executes while the count is 0. source: applegpu.py, "Execution Mask Stack Instructions".

use super::{Lanes, Next, Op};
use crate::usc::row::{LANES, Row};

/// New counts for all lanes, then the mask from them.
#[inline(always)]
fn update(l: &mut Lanes<'_, '_>, f: impl Fn(usize, u32) -> u32) -> Next {
    let mut running = Row::ZERO;
    let row = l.register_mut(0);
    for i in 0..LANES {
        let v = f(i, row.0[i] & 0xffff) & 0xffff;
        row.0[i] = (row.0[i] & 0xffff_0000) | v;
        running.0[i] = if v == 0 { u32::MAX } else { 0 };
    }
    l.set_exec(running.bits());
    Next::Continue
}

/// All bits in the lanes in which a comparison instruction's condition holds: `aux[0]` is the
/// condition, `aux[1]` its inversion.
#[inline(always)]
fn condition<const FLOAT: bool>(l: &Lanes<'_, '_>, op: &Op) -> Row {
    let mut yes = if FLOAT {
        super::float::fcompare(l, op, op.aux[0])
    } else {
        super::int::icompare(l, op, op.aux[0])
    };
    let flip = if op.aux[1] != 0 { u32::MAX } else { 0 };
    for v in &mut yes.0 {
        *v ^= flip;
    }
    yes
}

#[inline(always)]
fn if_cmp<const FLOAT: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let yes = condition::<FLOAT>(l, op);
    let n = u32::from(op.aux[2]);
    update(l, |i, v| if v != 0 { v + n } else { !yes.0[i] & 1 })
}

#[inline(always)]
fn else_cmp<const FLOAT: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let yes = condition::<FLOAT>(l, op);
    let n = u32::from(op.aux[2]);
    update(l, |i, v| {
        let back = !yes.0[i] & 1;
        if v == 0 {
            n
        } else if v == 1 {
            back
        } else {
            v
        }
    })
}

#[inline(always)]
fn while_cmp<const FLOAT: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let yes = condition::<FLOAT>(l, op);
    let n = u32::from(op.aux[2]);
    update(l, |i, v| if v < n { n & !yes.0[i] } else { v })
}

/// Enter a construct: lanes that fail the test leave for 1, lanes that are out go `aux[2]` deeper.
#[inline(always)]
pub fn if_icmp<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    if_cmp::<false>(l, op)
}

/// Version of `if_icmp` with a float comparison.
#[inline(always)]
pub fn if_fcmp<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    if_cmp::<true>(l, op)
}

/// The other half: running lanes leave for `aux[2]`, lanes that left for 1 come back if they pass.
#[inline(always)]
pub fn else_icmp<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    else_cmp::<false>(l, op)
}

/// Version of `else_icmp` with a float comparison.
#[inline(always)]
pub fn else_fcmp<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    else_cmp::<true>(l, op)
}

/// End of a loop's body: lanes that are out for less than `aux[2]` run again if they pass.
#[inline(always)]
pub fn while_icmp<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    while_cmp::<false>(l, op)
}

/// Version of `while_icmp` with a float comparison.
#[inline(always)]
pub fn while_fcmp<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    while_cmp::<true>(l, op)
}

/// Leave `aux[2]` constructs.
#[inline(always)]
pub fn pop_exec<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let n = u32::from(op.aux[2]);
    update(l, |_, v| v.saturating_sub(n))
}

/// Jump to the instruction `imm` if any lane runs.
#[inline(always)]
pub fn jmp_exec_any<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    if l.exec == 0 {
        return Next::Continue;
    }
    l.pc = op.imm as usize;
    Next::Jump
}

/// Jump to the instruction `imm` if no lane runs.
#[inline(always)]
pub fn jmp_exec_none<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    if l.exec != 0 {
        return Next::Continue;
    }
    l.pc = op.imm as usize;
    Next::Jump
}

/// Jump to the instruction in the low half of `imm`; r1 receives the USC address in its high half,
/// of the instruction that follows.
#[inline(always)]
pub fn call<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    l.store_row(1, &Row::splat((op.imm >> 32) as u32));
    l.pc = op.imm as u32 as usize;
    Next::Jump
}

/// Jumps to the USC address in a register. The behaviour for lanes with different addresses is
/// undocumented.
#[inline(always)]
pub fn jump_register<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let targets = l.load_u32(op.s[0]);
    let first = targets.0[(l.exec.trailing_zeros() as usize).min(LANES - 1)];
    if (0..LANES).any(|i| l.exec >> i & 1 != 0 && targets.0[i] != first) {
        return l.fail("lanes return to different addresses: what silicon does is unknown");
    }
    match l.code.index_of(first) {
        Some(index) => {
            l.pc = index;
            Next::Jump
        }
        None => l.fail(format!("a return to {first:#x}, which is outside of the program")),
    }
}

/// Ends the active threads. The others continue after it: Mesa emits it within a branch without a jump
/// around it. source: agx_compile.c, `nir_jump_halt`
#[inline(always)]
pub fn stop<const FAST: bool>(l: &mut Lanes<'_, '_>, _: &Op) -> Next {
    l.alive &= !l.exec;
    if l.alive == 0 {
        return Next::Stop;
    }
    l.set_exec(0);
    Next::Continue
}

/// Wait for the workgroup.
#[inline(always)]
pub fn barrier<const FAST: bool>(_: &mut Lanes<'_, '_>, _: &Op) -> Next {
    Next::Barrier
}

/// An instruction whose effect on a sequential model is none: waits, and fences, which order this
/// thread's accesses for other threads.
#[inline(always)]
pub fn fence<const FAST: bool>(_: &mut Lanes<'_, '_>, _: &Op) -> Next {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    Next::Continue
}

/// An instruction without effect here.
#[inline(always)]
pub fn nop<const FAST: bool>(_: &mut Lanes<'_, '_>, _: &Op) -> Next {
    Next::Continue
}

/// An instruction that cannot be executed: the program's note at index `imm` says why.
#[inline(always)]
pub fn refuse<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let (kind, why) = l.code.note(op.imm as usize).clone();
    l.fail_as(kind, why)
}
