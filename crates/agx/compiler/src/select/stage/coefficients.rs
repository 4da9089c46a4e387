//! Allocation of coefficient registers to the inputs of a fragment shader.

use super::interface::{name, used_inputs};
use crate::error::{Error, Result};
use crate::varyings::{Coefficients, FragmentTable, Origin, Shading, Varying};
use std::collections::BTreeMap;
use tepui_ir::{Attrs, Builtin, Inst, Interp, IoLoc, IoSlot, Op, Shader};

/// The varying that an input slot names, and the component in it.
pub(in crate::select) fn varying(slot: &IoSlot) -> Option<(Varying, u8)> {
    Some(match slot.loc {
        IoLoc::Location(n) => (Varying::Location(n), slot.component),
        IoLoc::Builtin(Builtin::ClipDistance) => (Varying::ClipDistances, slot.component),
        // The prolog's own input.
        IoLoc::Builtin(Builtin::CullDistance) if slot.interp == Interp::Linear => {
            (Varying::Kept, slot.component)
        }
        IoLoc::Builtin(Builtin::CullDistance) => (Varying::CullDistances, slot.component),
        IoLoc::Builtin(_) => return None,
    })
}

pub(in crate::select) fn shading(slot: &IoSlot) -> Shading {
    match slot.interp {
        // Distances are smooth whatever is declared; the prolog's test is linear.
        Interp::Flat if matches!(slot.loc, IoLoc::Builtin(_)) => Shading::Smooth,
        Interp::Smooth => Shading::Smooth,
        Interp::Linear => Shading::Linear,
        Interp::Flat | Interp::PerVertex => Shading::Flat,
    }
}

/// Chooses the coefficient registers.
pub(in crate::select) fn coefficients(s: &Shader, first: u8, t: &mut FragmentTable) -> Result<()> {
    let mut wants: BTreeMap<(Varying, Shading), u16> = BTreeMap::new();
    let (mut w, mut z, mut point, mut primitive, mut viewport) =
        (false, false, false, false, false);
    for (i, slot, used) in used_inputs(s) {
        let Some((v, c)) = varying(&slot) else {
            let (op, why) = (s.insts[i].op, format!("of {}", name(slot.loc)));
            return Err(Error::Op { inst: i, op, why });
        };
        w |= shading(&slot) == Shading::Smooth && used != 0;
        *wants.entry((v, shading(&slot))).or_default() |= used << c;
    }
    s.walk(|s, _, i| match s.insts[i].attrs {
        Attrs::Builtin(Builtin::FragCoord) => {
            let (vz, vw) = frag_coord_uses(s, i);
            z |= vz;
            w |= vw;
        }
        Attrs::Builtin(Builtin::PointCoord) => (point, w) = (true, true),
        Attrs::Builtin(Builtin::PrimitiveId) => primitive = true,
        Attrs::Builtin(Builtin::ViewportIndex) => viewport = true,
        _ => {}
    });
    if viewport {
        wants.insert((Varying::Viewport, Shading::Flat), 1);
    }
    let mut next = u32::from(first);
    let mut push = |count: u8, shading, origin| {
        t.coefficients.push(Coefficients { first: next as u8, count, shading, origin });
        next += u32::from(count);
    };
    if w {
        push(1, Shading::Linear, Origin::W);
    }
    if z {
        push(1, Shading::Linear, Origin::Z);
    }
    if point {
        push(2, Shading::Smooth, Origin::PointCoord);
    }
    if primitive {
        push(1, Shading::Flat, Origin::PrimitiveId);
    }
    for ((varying, shading), mask) in wants.into_iter().filter(|w| w.1 != 0) {
        let (first, end) = (mask.trailing_zeros(), 16 - mask.leading_zeros());
        // A binding has up to four words.
        for at in (first..end).step_by(4) {
            let count = (end - at).min(4) as u8;
            push(count, shading, Origin::Varying { varying, component: at as u8 });
        }
    }
    if next > 256 {
        let (needed, limit) = (u64::from(next), 256);
        return Err(Error::Limit { what: "coefficient registers", needed, limit });
    }
    Ok(())
}

/// Whether depth and 1/w of a fragment's place are used.
pub(in crate::select) fn frag_coord_uses(s: &Shader, load: Inst) -> (bool, bool) {
    let (r, mut z, mut w) = (s.result(load), false, false);
    s.walk(|s, _, i| {
        if s.args(i).contains(&r) {
            match s.insts[i].attrs {
                Attrs::Index(k) if s.insts[i].op == Op::Extract => {
                    z |= k == 2;
                    w |= k == 3;
                }
                _ => (z, w) = (true, true),
            }
        }
    });
    (z, w)
}
