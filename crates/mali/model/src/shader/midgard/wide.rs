//! Integers of 64 bits.

use tepui_mali_isa::midgard::table::Alu as Isa;

use crate::shader::op::{Handler, Lanes, Op};
use crate::warp::row::Row;
use crate::warp::trap::Trap;

type Done = Result<(), Box<Trap>>;

/// Writes a result: two words, or the lower or the upper one if it is narrowed.
fn finish(l: &mut Lanes<'_, '_>, op: &Op, f: impl Fn(u64, u64) -> u64) -> Done {
    let (a, b) = (l.get64(&op.src[0]), l.get64(&op.src[1]));
    let value: [u64; 16] = std::array::from_fn(|i| f(a[i], b[i]));
    match op.flags {
        // A one-word result is marked by its write mode.
        1 => l.put(op, &Row(value.map(|v| (v >> 32) as u32))),
        2 => l.put(
            op,
            &Row(value.map(|v| (v as i64).clamp(i32::MIN.into(), i32::MAX.into()) as u32)),
        ),
        3 => l.put(op, &Row(value.map(|v| v.min(u32::MAX.into()) as u32))),
        _ if op.staging[0].1 == 1 => l.put(op, &Row(value.map(|v| v as u32))),
        _ => l.put64(op, &value),
    }
    Ok(())
}

fn truth(value: bool) -> u64 {
    u64::from(value).wrapping_neg()
}

/// The handler of an instruction on elements of 64 bits.
pub fn handler(isa: Isa) -> Option<Handler> {
    Some(match isa {
        Isa::Iadd => |l, op| finish(l, op, u64::wrapping_add),
        Isa::Isub => |l, op| finish(l, op, u64::wrapping_sub),
        Isa::Imul => |l, op| finish(l, op, u64::wrapping_mul),
        Isa::Imov => |l, op| finish(l, op, |_, b| b),
        Isa::Iand => |l, op| finish(l, op, |a, b| a & b),
        Isa::Ior => |l, op| finish(l, op, |a, b| a | b),
        Isa::Ixor => |l, op| finish(l, op, |a, b| a ^ b),
        Isa::Inor => |l, op| finish(l, op, |a, b| !(a | b)),
        Isa::Ishl => |l, op| finish(l, op, |a, b| a << (b & 63)),
        Isa::Ilsr => |l, op| finish(l, op, |a, b| a >> (b & 63)),
        Isa::Iasr => |l, op| finish(l, op, |a, b| (a as i64 >> (b & 63)) as u64),
        Isa::Imin => |l, op| finish(l, op, |a, b| (a as i64).min(b as i64) as u64),
        Isa::Imax => |l, op| finish(l, op, |a, b| (a as i64).max(b as i64) as u64),
        Isa::Umin => |l, op| finish(l, op, u64::min),
        Isa::Umax => |l, op| finish(l, op, u64::max),
        Isa::Ieq => |l, op| finish(l, op, |a, b| truth(a == b)),
        Isa::Ine => |l, op| finish(l, op, |a, b| truth(a != b)),
        Isa::Ult => |l, op| finish(l, op, |a, b| truth(a < b)),
        Isa::Ule => |l, op| finish(l, op, |a, b| truth(a <= b)),
        Isa::Ilt => |l, op| finish(l, op, |a, b| truth((a as i64) < b as i64)),
        Isa::Ile => |l, op| finish(l, op, |a, b| truth(a as i64 <= b as i64)),
        _ => return None,
    })
}

/// Marks an operation's result as one word.
pub fn narrow(op: &mut Op) {
    op.staging[0].1 = 1;
}
