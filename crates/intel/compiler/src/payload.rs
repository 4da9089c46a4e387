//! Registers of graphics threads before their constants, and at their end.
//!
//! ```text
//! vertex     g0 header, g1 URB handles; constants; a register for each component of the elements
//! hull       one patch: g0 header with the handle of the patch, g1 to g4 handles of vertices; eight patches: g0 header, g1
//!            handles of the patches, [numbers of the patches], handles of each vertex; constants
//! domain     g0 header with the handle of the patch, g1 to g3 coordinates, g4 URB handles; constants; slots of the patch
//! geometry   g0 header, g1 URB handles and numbers of invocations, [numbers of primitives], handles of each vertex; constants
//! fragment   g0 header, g1 masks and positions of subspans; barycentric coordinates of each mode, depth, W, positions of
//!            samples, coverage; constants; setup data: two components of an attribute in a register
//! ```
//!
//! source: Mesa, `brw_fs_thread_payload.cpp`

use crate::mir::GRF_DWORDS;
use crate::patch::MAX_PATCH_VERTICES;
use crate::stage::{FragmentInfo, GeometryInfo, HullInfo};
use tepui_intel_isa::Generation;

/// The register of URB handles of vertex and geometry threads, and of hull threads of eight patches.
pub const HANDLES: u16 = 1;

/// The first of three registers of coordinates in the patch, of domain threads.
pub const DOMAIN_COORDINATES: u16 = 1;
/// The register of URB handles of domain threads.
pub const DOMAIN_HANDLES: u16 = 4;
/// The first register after the payload of domain threads.
pub const DOMAIN_END: u16 = 5;

/// The registers of a geometry thread before its constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GeometryPayload {
    /// Numbers of primitives, if there are any.
    pub primitive_id: u16,
    /// Handles of the first vertex; those of others are in the registers after it. With several invocations, a double word
    /// for each vertex.
    pub vertices: u16,
    /// The register at which constants begin.
    pub end: u16,
}

impl GeometryPayload {
    /// The payload of a program.
    #[must_use]
    pub fn new(info: &GeometryInfo) -> GeometryPayload {
        let primitive_id = HANDLES + 1;
        let vertices = primitive_id + u16::from(info.primitive_id);
        let end = vertices + u16::from(info.vertices_in);
        GeometryPayload { primitive_id, vertices, end }
    }
}

/// The registers of a hull thread before its constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HullPayload {
    /// Numbers of patches, if there are any.
    pub primitive_id: u16,
    /// Handles of vertices: a double word each for one patch, a register each for eight.
    pub vertices: u16,
    /// Vertices that there is room for.
    pub input_vertices: u8,
    /// The register at which constants begin.
    pub end: u16,
}

impl HullPayload {
    /// The payload of a program.
    #[must_use]
    pub fn new(info: &HullInfo) -> HullPayload {
        let input_vertices = match info.patch.input_vertices {
            0 => MAX_PATCH_VERTICES,
            n => n,
        };
        if !info.eight_patches {
            return HullPayload { primitive_id: 0, vertices: 1, input_vertices, end: 5 };
        }
        let primitive_id = HANDLES + 1;
        let vertices = primitive_id + u16::from(info.primitive_id);
        let end = vertices + u16::from(input_vertices);
        HullPayload { primitive_id, vertices, input_vertices, end }
    }
}

/// Double words of an attribute's setup data: four for each component.
pub const SETUP_DWORDS: u16 = 16;

/// Double words of a component's setup data: differences to the second and the third vertex, one that is unused, and the
/// value of the first vertex.
pub const COMPONENT_DWORDS: u16 = 4;

/// The double word of a component's setup data with the value of the first vertex, or of the provoking one if it is flat.
pub const FIRST_VALUE: u16 = 3;

/// Double word of the register file with the layer and the viewport, and whether a fragment's primitive faces back. source:
/// Mesa, brw_fs_nir.cpp (`emit_frontfacing_interpolation`, `fetch_render_target_array_index`)
#[must_use]
pub const fn primitive(generation: Generation) -> u16 {
    match generation {
        Generation::Gen9 => 0,
        Generation::Gen12 => GRF_DWORDS + 1,
    }
}

/// The registers of a fragment's thread before its constants; 0 for those that it does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FragmentPayload {
    /// Barycentric coordinates of each mode: eight channels of the first, then of the second; twice at 16 channels.
    pub barycentrics: [u16; 6],
    /// Depth.
    pub depth: u16,
    /// W.
    pub w: u16,
    /// Positions of samples: a byte each for X and Y of each channel, in sixteenths of a pixel.
    pub positions: u16,
    /// Covered samples.
    pub coverage: u16,
    /// Coefficients of the plane of depth ([`mod@depth_plane`]).
    pub depth_plane: u16,
    /// The register at which constants begin.
    pub end: u16,
}

impl FragmentPayload {
    /// The payload of a program for 8 or 16 channels.
    #[must_use]
    pub fn new(info: &FragmentInfo, width: u8) -> FragmentPayload {
        let mut p = FragmentPayload { end: 2, ..FragmentPayload::default() };
        let plane = u16::from(width / 8);
        let mut take = |there: bool, registers: u16| {
            let at = p.end;
            p.end += if there { registers } else { 0 };
            if there { at } else { 0 }
        };
        let barycentrics =
            std::array::from_fn(|mode| take(info.barycentrics >> mode & 1 != 0, 2 * plane));
        let depth = take(info.source_depth, plane);
        let w = take(info.source_w, plane);
        let positions = take(info.sample_position, 1);
        let coverage = take(info.coverage, plane);
        let depth_plane = take(info.depth_plane, 1);
        FragmentPayload { barycentrics, depth, w, positions, coverage, depth_plane, ..p }
    }
}

/// Double words of the register of depth's plane: depth at a place is its value at the start plus the distance from there times the
/// slopes. source: Mesa, brw_compile_fs.cpp (`brw_emit_interpolation_setup`)
pub mod depth_plane {
    /// Slope in X, then in Y.
    pub const SLOPES: [u16; 2] = [1, 0];
    /// X of the start, then Y.
    pub const START: [u16; 2] = [2, 6];
    /// Depth at the start.
    pub const VALUE: u16 = 3;
}

/// Registers of the payload of a render target write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TargetPayload {
    /// The index of the target, which blending takes.
    pub index: u8,
    /// The entry of the binding table.
    pub surface: u8,
    /// Whether copies of g0 and g1 precede: they have the index of the target. On Gen12 the descriptor has it.
    pub header: bool,
    /// Whether there is no target, only a depth, a stencil value or a mask of samples.
    pub null: bool,
    /// Whether the alpha of the first target precedes the colour.
    pub alpha: bool,
    /// Whether a mask of samples precedes the colour.
    pub mask: bool,
    /// Whether there is a second colour.
    pub dual: bool,
    /// Whether a depth follows the colours.
    pub depth: bool,
    /// Whether a stencil value follows.
    pub stencil: bool,
    /// Whether channels are coarse pixels.
    pub coarse: bool,
}

impl TargetPayload {
    /// Registers before the colour at a number of registers for a plane.
    #[must_use]
    pub fn prefix(&self, plane: u16) -> u16 {
        2 * u16::from(self.header) + plane * u16::from(self.alpha) + u16::from(self.mask)
    }

    /// Planes from the colour on.
    #[must_use]
    pub fn planes(&self) -> u16 {
        4 + 4 * u16::from(self.dual) + u16::from(self.depth) + u16::from(self.stencil)
    }

    /// The register of the colour in the message that ends the thread: planes are aligned, and all of it is in the last
    /// sixteen registers.
    #[must_use]
    pub fn last_colour(&self, plane: u16, reserved: u16) -> u16 {
        let colour = (reserved - plane * self.planes()) / plane * plane;
        if colour - self.prefix(plane) >= FIRST_END { colour } else { 128 - plane * self.planes() }
    }
}

/// First register from which a message that ends the thread can come.
pub const FIRST_END: u16 = 112;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_message_is_in_the_last_registers() {
        for bits in 0..64u8 {
            let on = |k: u8| bits >> k & 1 != 0;
            let p = TargetPayload {
                index: 0,
                surface: 0,
                null: false,
                coarse: false,
                header: on(0) || on(3),
                alpha: on(1),
                mask: on(2),
                dual: on(3),
                depth: on(4),
                stencil: on(5),
            };
            for plane in [1, 2] {
                if plane == 2 && (p.dual || p.stencil) {
                    continue;
                }
                let colour = p.last_colour(plane, 126);
                assert!(colour - p.prefix(plane) >= FIRST_END, "{p:?}");
                assert!(
                    colour + plane * p.planes() <= 128 && colour.is_multiple_of(plane),
                    "{p:?}"
                );
            }
        }
    }

    #[test]
    fn planes_of_the_payload_follow_each_other() {
        let info = FragmentInfo {
            barycentrics: 0b1001,
            source_depth: true,
            coverage: true,
            sample_position: true,
            ..FragmentInfo::default()
        };
        let p = FragmentPayload::new(&info, 16);
        assert_eq!(p.barycentrics, [2, 0, 0, 6, 0, 0]);
        assert_eq!((p.depth, p.w, p.positions, p.coverage, p.end), (10, 0, 12, 13, 15));
        assert_eq!(FragmentPayload::new(&info, 8).end, 2 + 4 + 1 + 1 + 1);
    }
}
