//! Branches, discards, and the ends of programs.

use tepui_mali_isa::Flow;
use tepui_mali_isa::midgard::word::{branch, register};
use tepui_mali_isa::midgard::{Alu, Bundle, Content, Tag, signed};

use super::{Context, rows, tile};
use crate::shader::op::{Lanes, Next, Op};
use crate::shader::operand::Src;
use crate::warp::trap::Trap;

type Done = Result<(), Box<Trap>>;

/// The lanes that satisfy a branch's condition: 1 false, 2 true, 3 always.
fn taken(l: &Lanes<'_, '_>, op: &Op) -> u16 {
    let conditions = l.get(&op.src[0]);
    let lanes = l.active().filter(|lane| match op.flags {
        branch::IF_FALSE => conditions.0[*lane] == 0,
        branch::IF_TRUE => conditions.0[*lane] != 0,
        branch::ALWAYS => true,
        _ => false,
    });
    lanes.fold(0, |mask, lane| mask | 1 << lane)
}

fn jump(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let taken = taken(l, op);
    l.warp.branch(taken, op.immediate);
    Ok(())
}

/// A branch to the end of the program. The tag in the branch determines it, because there is no target
/// bundle.
// source: Mesa, midgard_compile.c (`midgard_get_first_tag_from_block`)
fn stop(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let taken = taken(l, op);
    if taken == l.warp.mask {
        return tile::end(l, op);
    }
    l.warp.end_lanes(taken);
    Ok(())
}

/// Discards lanes; they continue as helpers.
fn discard(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let discarded = taken(l, op);
    let missing = || Box::new(Trap::Invalid("a discard in a shader without fragments".into()));
    let pixels = l.port.pixels.as_deref_mut().ok_or_else(missing)?;
    for lane in crate::warp::row::numbers(discarded) {
        pixels.lanes[lane].coverage = 0;
    }
    l.warp.helpers |= discarded;
    Ok(())
}

/// A branch whose target is not a bundle.
pub fn no_target(_: &mut Lanes<'_, '_>, _: &Op) -> Done {
    Err(Box::new(Trap::Invalid("the branch leads to no bundle".into())))
}

/// The end of a program, or the return of a blend shader.
pub fn end() -> Op {
    let mut op = Op::new(tile::end, Flow::None);
    op.next = Next::Jump;
    op
}

/// Whether a bundle writes to the tile buffer.
pub fn writes_out(bundle: &Bundle) -> bool {
    let Content::Alu(alu) = &bundle.content else { return false };
    let op = alu.extended.map(|b| b.op).or(alu.branch.map(|b| b.op));
    op == Some(branch::WRITEOUT)
}

/// Components of r1 that a bundle writes, one bit each.
fn outputs(alu: &Alu) -> u32 {
    const R1: u32 = 1;
    let vectors = [alu.vmul, alu.vadd, alu.lut].into_iter().flatten();
    let vectors = vectors.filter(|(r, _)| r.dest == R1).fold(0, |mask, (_, v)| mask | v.mask);
    let scalars = [alu.sadd, alu.smul].into_iter().flatten().filter(|(r, _)| r.dest == R1);
    let mask = scalars.fold(vectors, |mask, (_, s)| mask | 1 << s.component);
    (0..4).fold(0, |bits, i| bits | u32::from(mask >> (2 * i) & 3 != 0) << i)
}

/// Translates a bundle's branch. `end` is the index of the word after the bundle.
pub fn lower(context: &mut Context, _: &Bundle, alu: &Alu, end: i64) -> Option<()> {
    let (op, condition, offset, tag) = match (&alu.branch, &alu.extended) {
        (None, None) => return Some(()),
        (Some(_), Some(_)) => return None,
        (Some(b), None) if b.op == branch::UNCONDITIONAL => {
            // The call mode must be that of a branch.
            if b.offset & 3 != 1 {
                return None;
            }
            (b.op, branch::ALWAYS, signed(b.offset >> 2 | b.condition << 5, 7), b.tag)
        }
        (Some(b), None) => (b.op, b.condition, signed(b.offset, 7), b.tag),
        (None, Some(b)) => {
            // Truth tables of several conditions are not executed.
            let condition = b.condition & 3;
            if b.condition != condition * 0x5555 || b.call > 1 {
                return None;
            }
            (b.op, condition, signed(b.offset, 23), b.tag)
        }
    };
    let mut made = Op::new(jump, Flow::None);
    made.src[0] = Src { row: rows::word(register::SELECT, 3).into(), ..Src::NONE };
    made.flags = condition;
    match op {
        branch::UNCONDITIONAL | branch::CONDITIONAL if tag == u32::from(Tag::BREAK.0) => {
            (made.run, made.next) = (stop, Next::Jump);
        }
        branch::UNCONDITIONAL | branch::CONDITIONAL => {
            made.next = Next::Chosen;
            context.branches.push((context.ops.len(), end + i64::from(offset)));
        }
        branch::DISCARD => made.run = discard,
        // The tile buffer is always ready.
        branch::TILE_BUFFER => return Some(()),
        branch::WRITEOUT => {
            made.run = tile::writeout;
            made.next = Next::Jump;
            made.flags = outputs(alu);
        }
        _ => return None,
    }
    context.ops.push(made);
    Some(())
}

#[cfg(test)]
mod tests {
    use tepui_mali_isa::midgard::word::{Conditional, LoadStore};

    use super::*;
    use crate::shader::step::Stop;
    use crate::shader::testing::Bench;

    /// A branch without a target bundle ends the lanes that take it, whatever follows the program.
    #[test]
    fn a_branch_to_the_end_ends_lanes() {
        let of = |condition| {
            let tag = Tag::BREAK.0.into();
            let branch = Conditional { op: branch::CONDITIONAL, tag, offset: 9, condition };
            Bundle {
                tag: Tag::ALU,
                next: Tag::LOAD_STORE,
                content: Content::Alu(Alu { branch: Some(branch), ..Alu::default() }),
            }
        };
        let content = Content::LoadStore([LoadStore::NOP; 2]);
        let last = Bundle { tag: Tag::LOAD_STORE, next: Tag::ALU, content };
        let condition = usize::from(rows::word(register::SELECT, 3));
        // No bundle follows the second one: lanes that get there trap.
        for (lanes, ends) in [(0xffff_ffff, true), (0, false)] {
            let mut bench = Bench::new();
            bench.set(condition, |_| lanes);
            let stop = bench.try_midgard(&[of(branch::IF_TRUE), last]);
            assert_eq!(stop == Ok(Stop::End), ends, "{stop:?}");
        }
    }
}
