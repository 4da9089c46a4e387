//! The entry of a patch in the URB, which hull programs write and domain programs read.
//!
//! An entry is a row of slots of 16 bytes:
//!
//! ```text
//! 0, 1     header: tessellation levels
//! 2, …     locations of the patch in order, written or not
//! then     for each vertex: position, point size, clip and cull distances, as many of them as there are
//!          ([`PatchInterface::builtin_slots`]), and the locations of vertices in order
//! ```
//!
//! Both programs are compiled for one [`PatchInterface`].

use crate::named;
use crate::vue::{SLOT_BYTES, Varying};
use serde::{Deserialize, Serialize};
use tepui_ir::{Attrs, Builtin, IoLoc, Op, PrimitiveKind, Shader};

/// Slots of the header.
pub const HEADER_SLOTS: u16 = 2;

/// Double words of a slot.
pub const SLOT_DWORDS: u16 = 4;

/// Vertices that a patch can have.
pub const MAX_PATCH_VERTICES: u8 = 32;

/// Parameters of the layout of a patch, and other properties that hull and domain programs have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct PatchInterface {
    /// Vertices of an input patch; 0 if they are known only when drawing.
    pub input_vertices: u8,
    /// Vertices of the patch.
    pub output_vertices: u8,
    /// Locations of the patch: one more than the last.
    pub patch_locations: u8,
    /// Slots of a vertex before its locations: 0, 1 with a position, 2 with a point size, 4 with distances.
    pub builtin_slots: u8,
    /// Locations of vertices: one more than the last.
    pub vertex_locations: u8,
    /// The shape that is tessellated: triangles, quads or isolines.
    #[serde(with = "named::primitive_kind")]
    pub domain: PrimitiveKind,
}

impl PatchInterface {
    /// The interface of two shaders, before or after they are prepared. Patches have `input_vertices` vertices; 0 if that is
    /// not known.
    #[must_use]
    pub fn new(control: &Shader, evaluation: &Shader, input_vertices: u8) -> PatchInterface {
        let domains = [evaluation, control].map(|s| s.info.primitives.input);
        let mut p = PatchInterface {
            input_vertices,
            output_vertices: control.info.primitives.vertices.min(MAX_PATCH_VERTICES.into()) as u8,
            domain: domains.into_iter().flatten().next().unwrap_or(PrimitiveKind::Triangles),
            ..PatchInterface::default()
        };
        p.add(control);
        p.add(evaluation);
        p
    }

    /// The interface of a shader that is compiled alone.
    #[must_use]
    pub fn of_one(s: &Shader) -> PatchInterface {
        PatchInterface::new(s, s, 0)
    }

    fn add(&mut self, s: &Shader) {
        s.walk(|s, _, i| {
            let Attrs::Io(slot) = s.insts[i].attrs else { return };
            let (is_vertex, offset, is_output) = match (s.info.stage, s.insts[i].op) {
                (tepui_ir::Stage::TessControl, Op::StoreOutput) => (false, 1, true),
                (tepui_ir::Stage::TessControl, Op::LoadOutputPatch) => (false, 0, true),
                (tepui_ir::Stage::TessControl, Op::StoreOutputVertex) => (true, 1, true),
                (tepui_ir::Stage::TessControl, Op::LoadOutputVertex) => (true, 0, true),
                (tepui_ir::Stage::TessEvaluation, Op::LoadInput) => (false, 0, false),
                (tepui_ir::Stage::TessEvaluation, Op::LoadInputVertex) => (true, 0, false),
                _ => return,
            };
            let end = |n: u16| {
                let more = match s.as_const(s.arg(i, offset)) {
                    Some(k) => k as u32,
                    None => s.io_elements(slot, is_output) - 1,
                };
                u32::from(n).saturating_add(more).saturating_add(1).min(u8::MAX.into()) as u8
            };
            match slot.loc {
                IoLoc::Location(n) if is_vertex => {
                    self.vertex_locations = self.vertex_locations.max(end(n));
                }
                IoLoc::Location(n) => self.patch_locations = self.patch_locations.max(end(n)),
                IoLoc::Builtin(b) if is_vertex => {
                    let slots = match b {
                        Builtin::Position => 1,
                        Builtin::ClipDistance | Builtin::CullDistance => 4,
                        _ => 2,
                    };
                    self.builtin_slots = self.builtin_slots.max(slots);
                }
                IoLoc::Builtin(_) => {}
            }
        });
    }

    /// The slot of a location of the patch.
    #[must_use]
    pub fn patch_slot(&self, location: u16) -> u16 {
        HEADER_SLOTS + location
    }

    /// The slot of a varying relative to the first of its vertex.
    #[must_use]
    pub fn vertex_slot(&self, varying: Varying) -> Option<u16> {
        let builtin = |slot: u16| (slot < self.builtin_slots.into()).then_some(slot);
        match varying {
            Varying::Position => builtin(0),
            Varying::Header => builtin(1),
            Varying::Distances(half) => builtin(2 + u16::from(half)),
            Varying::Location(n) => Some(u16::from(self.builtin_slots) + n),
            Varying::PrimitiveId | Varying::PointCoord => None,
        }
    }

    /// The first slot of the first vertex.
    #[must_use]
    pub fn first_vertex(&self) -> u16 {
        HEADER_SLOTS + u16::from(self.patch_locations)
    }

    /// Slots of a vertex.
    #[must_use]
    pub fn vertex_slots(&self) -> u16 {
        u16::from(self.builtin_slots) + u16::from(self.vertex_locations)
    }

    /// The size of an entry in units of 64 bytes, as 3DSTATE_URB_HS has it.
    #[must_use]
    pub fn entry_units(&self) -> u32 {
        let vertices = u32::from(self.output_vertices) * u32::from(self.vertex_slots());
        ((u32::from(self.first_vertex()) + vertices) * SLOT_BYTES).div_ceil(64)
    }

    /// The double word of the header that has a component of the outer or the inner levels; `None` if the domain does not
    /// have it. source: Mesa, brw_nir.c (`remap_tess_levels`)
    #[must_use]
    pub fn level(&self, is_inner: bool, component: u8) -> Option<u16> {
        let component = u16::from(component);
        let (count, at) = match (self.domain, is_inner) {
            (PrimitiveKind::Isolines, true) => return None,
            (PrimitiveKind::Isolines, false) => (2, 6 + component),
            (PrimitiveKind::Quads, true) => (2, 3u16.saturating_sub(component)),
            (PrimitiveKind::Quads, false) => (4, 7u16.saturating_sub(component)),
            (_, true) => (1, 4),
            (_, false) => (3, 7u16.saturating_sub(component)),
        };
        (component < count).then_some(at)
    }
}

impl Default for PatchInterface {
    fn default() -> PatchInterface {
        PatchInterface {
            input_vertices: 0,
            output_vertices: 0,
            patch_locations: 0,
            builtin_slots: 0,
            vertex_locations: 0,
            domain: PrimitiveKind::Triangles,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_follow_the_locations_of_the_patch() {
        let p = PatchInterface {
            output_vertices: 3,
            patch_locations: 2,
            builtin_slots: 1,
            vertex_locations: 4,
            ..PatchInterface::default()
        };
        assert_eq!((p.first_vertex(), p.vertex_slots(), p.entry_units()), (4, 5, 5));
        assert_eq!(p.vertex_slot(Varying::Position), Some(0));
        assert_eq!(p.vertex_slot(Varying::Header), None);
        assert_eq!(p.vertex_slot(Varying::Location(3)), Some(4));
    }

    #[test]
    fn levels_are_where_the_tessellator_reads_them() {
        let of = |domain| PatchInterface { domain, ..PatchInterface::default() };
        let quads = of(PrimitiveKind::Quads);
        assert_eq!([0, 1, 2, 3].map(|k| quads.level(false, k)), [7, 6, 5, 4].map(Some));
        assert_eq!([0, 1].map(|k| quads.level(true, k)), [3, 2].map(Some));
        let triangles = of(PrimitiveKind::Triangles);
        assert_eq!((triangles.level(false, 3), triangles.level(true, 0)), (None, Some(4)));
        let lines = of(PrimitiveKind::Isolines);
        assert_eq!([0, 1].map(|k| lines.level(false, k)), [6, 7].map(Some));
        assert_eq!(lines.level(true, 0), None);
    }
}
