//! Accesses of buffers by address, where the driver puts the addresses of buffers into fast-access uniforms.
//!
//! `SHADDX` adds a scaled offset to the address, and the access adds a constant; a load by the resource table takes one offset in a
//! register. Several constants then need one addition each, and a store needs the address first. Accesses whose bounds are checked
//! take the table.

use super::{Opnd, Select};
use crate::interface::FauWord;
use crate::mir::Comp;
use std::collections::BTreeMap;
use tepui_ir::{Access, Attrs, Builtin, Inst, Mem, Op, Shader, Value};

/// Maximum number of buffers whose addresses are among the uniforms.
const MAX_ADDRESSES: usize = 16;
/// Maximum shift of an offset. source: Mesa, ISA.xml (SHADDX)
const MAX_SHIFT: u64 = 7;
/// Definitions that an offset is followed through for the largest value that it can have.
const MAX_DEPTH: u32 = 8;
/// Maximum number of workgroups in a direction. source: the drivers' limits
const MAX_GROUPS: u64 = 65535;

/// Accesses of buffers with the same element of a binding and the same offset that is not constant.
#[derive(Clone, Copy, Default)]
struct Accesses {
    /// Loads that add a constant.
    constants: u32,
    /// There are stores or atomics.
    has_stores: bool,
}

/// Set, binding, element and offset.
type Key = (u32, u32, u64, Value);

/// Accesses of buffers, by what they have in common.
#[derive(Default)]
pub(super) struct AccessMap(BTreeMap<Key, Accesses>);

/// The element of a binding that a handle names, if it is known.
fn element(s: &Shader, handle: Value) -> Option<(u32, u32, u64)> {
    let at = s.def_inst(handle).filter(|&i| s.insts[i].op == Op::Descriptor)?;
    let Attrs::Res(res, _) = s.insts[at].attrs else { return None };
    Some((s.resources[res].set, s.resources[res].binding, s.as_const(s.arg(at, 0))?))
}

fn key(s: &Shader, i: Inst) -> Option<Key> {
    let (set, binding, element) = element(s, s.arg(i, 0))?;
    Some((set, binding, element, s.arg(i, 1)))
}

impl AccessMap {
    /// The accesses of a shader.
    pub(super) fn of(s: &Shader) -> AccessMap {
        let mut all = AccessMap::default();
        s.walk(|s, _, i| {
            let d = &s.insts[i];
            let (Attrs::Mem(mem) | Attrs::Atomic(_, mem)) = d.attrs else { return };
            let is_load = d.op == Op::LoadBuffer;
            if !(is_load || matches!(d.op, Op::StoreBuffer | Op::AtomicBuffer))
                || mem.access.contains(Access::ROBUST)
            {
                return;
            }
            if let Some(key) = key(s, i) {
                let own = all.0.entry(key).or_default();
                own.constants += u32::from(is_load && mem.offset != 0);
                own.has_stores |= !is_load;
            }
        });
        all
    }

    /// Whether a load is better by address: the sum of address and offset is shared.
    fn prefers_address(&self, s: &Shader, i: Inst) -> bool {
        let own = key(s, i).and_then(|key| self.0.get(&key));
        own.is_some_and(|a| a.has_stores || a.constants > 1)
    }
}

/// An offset as a value and a shift, whose result does not wrap at 32 bits.
pub(super) fn shifted(s: &Shader, offset: Value) -> Option<(Value, u32)> {
    let i = s.def_inst(offset).filter(|&i| s.insts[i].op == Op::IShl)?;
    let shift = s.as_const(s.arg(i, 1)).filter(|n| (1..=MAX_SHIFT).contains(n))?;
    let most = maximum(s, s.arg(i, 0), 0)?;
    (most.checked_shl(shift as u32)? <= u64::from(u32::MAX)).then_some((s.arg(i, 0), shift as u32))
}

/// The largest value that a word can have, if it is not any.
fn maximum(s: &Shader, v: Value, depth: u32) -> Option<u64> {
    if let Some(c) = s.as_const(v) {
        return Some(c);
    }
    let i = s.def_inst(v).filter(|_| depth < MAX_DEPTH && s.ty(v).is_scalar())?;
    let of = |n: usize| maximum(s, s.arg(i, n), depth + 1);
    let constant = |n: usize| s.as_const(s.arg(i, n));
    let small = |n: u64| (n <= u64::from(u32::MAX)).then_some(n);
    match s.insts[i].op {
        Op::Extract => {
            let Attrs::Index(n) = s.insts[i].attrs else { return None };
            builtin(s, s.arg(i, 0), n as usize)
        }
        Op::LoadBuiltin => builtin(s, v, 0),
        Op::IAdd => small(of(0)? + of(1)?),
        Op::IMul => small(of(0)?.checked_mul(of(1)?)?),
        Op::IShl => small(of(0)?.checked_shl(constant(1)? as u32 & 31)?),
        Op::UShr => Some(of(0).unwrap_or(u64::from(u32::MAX)) >> (constant(1)? & 31)),
        Op::IAnd => constant(0).or(constant(1)).or(of(0)).or(of(1)),
        Op::UMin => of(0).into_iter().chain(of(1)).min(),
        Op::Select => Some(of(1)?.max(of(2)?)),
        Op::U2U if s.ty(s.arg(i, 0)).bits() < 32 => Some((1 << s.ty(s.arg(i, 0)).bits()) - 1),
        _ => None,
    }
}

/// The largest value of a component of a built-in.
fn builtin(s: &Shader, v: Value, axis: usize) -> Option<u64> {
    let i = s.def_inst(v)?;
    let (Op::LoadBuiltin, Attrs::Builtin(b)) = (s.insts[i].op, s.insts[i].attrs) else {
        return None;
    };
    let size = s.info.workgroup_size.map(u64::from);
    let threads: u64 = size.iter().product();
    Some(match b {
        Builtin::LocalInvocationId => size.get(axis)? - 1,
        Builtin::LocalInvocationIndex => threads - 1,
        Builtin::WorkgroupId => MAX_GROUPS,
        Builtin::GlobalInvocationId => size.get(axis)? * MAX_GROUPS,
        Builtin::SubgroupInvocationId => u64::from(crate::target::LANES) - 1,
        _ => return None,
    })
}

impl Select<'_> {
    /// The address of the buffer that an instruction accesses, if the driver puts it among the uniforms.
    pub(super) fn buffer_address(&mut self, i: Inst) -> Option<Opnd> {
        let (set, binding, element) = element(self.s, self.s.arg(i, 0))?;
        let place = self.layout.find(set, binding)?;
        if !self.pushes_addresses || !place.is_pushable {
            return None;
        }
        let element = element as u32;
        let words = [0, 1].map(|half| FauWord::Address { set, binding, element, half });
        self.fau.address(words, MAX_ADDRESSES).map(Opnd::uniform)
    }

    /// The address of a buffer that is loaded from, if that is better than its handle.
    pub(super) fn load_address(&mut self, i: Inst, mem: &Mem) -> Option<Opnd> {
        let s = self.s;
        let is_better = s.as_const(s.arg(i, 1)).is_none() && self.accesses.prefers_address(s, i);
        match is_better && !mem.access.contains(Access::ROBUST) {
            true => self.buffer_address(i),
            false => None,
        }
    }

    /// An offset in bytes as an operand of `SHADDX`, with the shift that the instruction does.
    pub(super) fn shifted_offset(&self, offset: Value) -> (Comp, u32) {
        match shifted(self.s, offset) {
            Some((v, shift)) => (self.comp(v, 0), shift),
            None => (self.comp(offset, 0), 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_shifted_where_they_cannot_wrap() {
        let s = tepui_ir::parse(
            "shader compute \"main\" {
  workgroup_size 64 1 1
  resource storage_buffer set 0 binding 0 count 1 2d float \"data\"
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x4]
    %2:b32 = const[0xfffffff]
    %3:b64 = descriptor[@r0] %0
    %4:b32x3 = load_builtin[global_invocation_id]
    %5:b32 = extract[0] %4
    %6:b32 = ishl %5, %1
    %7:b32 = load_buffer[align 4] %3, %6
    %8:b32 = ishl %7, %1
    %9:b32 = iand %7, %2
    %10:b32 = ishl %9, %1
    %11:b32 = iadd %9, %9
    %12:b32 = ishl %11, %1
    store_buffer[align 4] %3, %8, %7
    store_buffer[align 4] %3, %10, %7
    store_buffer[align 4] %3, %12, %7
    yield
  }
}
",
        )
        .unwrap_or_else(|e| panic!("{e}"));
        let mut found = Vec::new();
        s.walk(|s, _, i| {
            if matches!(s.insts[i].op, Op::LoadBuffer | Op::StoreBuffer) {
                found.push(shifted(s, s.arg(i, 1)).map(|(_, shift)| shift));
            }
        });
        assert_eq!(found, [Some(4), None, Some(4), None], "{s}");
    }
}
