//! The inputs that a shader reads, and names of inputs and outputs.

use rustc_hash::FxHashMap;
use tepui_ir::{Attrs, Inst, IoLoc, IoSlot, Op, Shader, Type, Value};

/// Words of the interface that a type takes: 64-bit components take two.
pub(in crate::select) fn words(ty: Type) -> u8 {
    ty.comps() * if ty.bits() == 64 { 2 } else { 1 }
}

/// Bit masks of the used words of each input.
pub(in crate::select) fn used_inputs(s: &Shader) -> Vec<(Inst, IoSlot, u16)> {
    let mut index: FxHashMap<Value, usize> = FxHashMap::default();
    let mut all: Vec<(Inst, IoSlot, u16)> = Vec::new();
    s.walk(|s, _, i| {
        let d = &s.insts[i];
        let load = matches!(
            d.op,
            Op::LoadInput | Op::LoadInputAtSample | Op::LoadInputAtOffset | Op::LoadInputVertex
        );
        if let (true, Attrs::Io(slot)) = (load, d.attrs) {
            index.insert(s.result(i), all.len());
            all.push((i, slot, 0));
        }
        for &a in s.args(i) {
            let Some(&n) = index.get(&a) else { continue };
            let ty = s.ty(a);
            all[n].2 |= match (d.op, d.attrs) {
                (Op::Extract, Attrs::Index(k)) if ty.bits() == 64 => 0b11 << (2 * k),
                (Op::Extract, Attrs::Index(k)) => 1 << k,
                _ => (1 << words(ty)) - 1,
            };
        }
    });
    all
}

/// The name of an input or output in an error.
pub(in crate::select) fn name(loc: IoLoc) -> String {
    match loc {
        IoLoc::Location(n) => format!("location {n}"),
        IoLoc::Builtin(b) => format!("`{b}`"),
    }
}
