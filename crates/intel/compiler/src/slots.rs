//! Slots of URB entries in which words of inputs and outputs are: of vertices, of patches and of their vertices.

use crate::patch::{PatchInterface, SLOT_DWORDS};
use crate::vue::{Varying, VueMap};
use tepui_ir::{Builtin, IoLoc, IoSlot};

/// Components of all clip distances, of which cull distances count from the end.
const LAST_DISTANCE: u8 = 7;

/// The varying of a slot, and its first component there, for the word `k` of an access; `None` for built-ins that are none.
pub(crate) fn place(slot: &IoSlot, k: u8) -> Option<(Varying, u8)> {
    let component = slot.component.saturating_add(k);
    match slot.loc {
        IoLoc::Location(n) => Some((Varying::Location(n), component)),
        IoLoc::Builtin(Builtin::Position) => Some((Varying::Position, component)),
        IoLoc::Builtin(Builtin::ClipDistance) => Some(distance(component)),
        IoLoc::Builtin(Builtin::CullDistance) => {
            Some(distance(LAST_DISTANCE.saturating_sub(component)))
        }
        IoLoc::Builtin(Builtin::Layer) => Some((Varying::Header, 1)),
        IoLoc::Builtin(Builtin::ViewportIndex) => Some((Varying::Header, 2)),
        IoLoc::Builtin(Builtin::PointSize) => Some((Varying::Header, 3)),
        IoLoc::Builtin(Builtin::PrimitiveId) => Some((Varying::PrimitiveId, 0)),
        IoLoc::Builtin(_) => None,
    }
}

fn distance(component: u8) -> (Varying, u8) {
    (Varying::Distances(component / 4), component % 4)
}

/// The slot and the component of a word of an output or input of a patch.
pub(crate) fn patch_slot(p: &PatchInterface, slot: IoSlot, k: u8) -> Option<(u16, u8)> {
    let component = slot.component.saturating_add(k);
    let level = |is_inner| {
        let dword = p.level(is_inner, component)?;
        Some((dword / SLOT_DWORDS, (dword % SLOT_DWORDS) as u8))
    };
    match slot.loc {
        IoLoc::Location(n) => Some((p.patch_slot(n), component)),
        IoLoc::Builtin(Builtin::TessLevelOuter) => level(false),
        IoLoc::Builtin(Builtin::TessLevelInner) => level(true),
        IoLoc::Builtin(_) => None,
    }
}

/// The slot of a word of a vertex of a patch, relative to the vertex, and its component.
pub(crate) fn vertex_slot(p: &PatchInterface, slot: IoSlot, k: u8) -> Option<(u16, u8)> {
    let (varying, component) = place(&slot, k)?;
    Some((p.vertex_slot(varying)?, component))
}

/// The slot and the component of a word of an input that another stage before the rasteriser has written.
pub(crate) fn slot_between(slot: IoSlot, k: u8) -> Option<(u16, u8)> {
    let (varying, component) = place(&slot, k)?;
    Some((VueMap::slot_between(varying)?, component))
}
