//! Properties of graphics programs that a driver turns into state.
//!
//! [`Program::stage`](crate::Program::stage) has them; the fields name the command that takes them. Registers of a thread
//! before the constants are fixed by the stage, so the driver gives only the register at which constants begin
//! ([`Variant::start`]).

use crate::named;
use crate::patch::PatchInterface;
use crate::stats::Stats;
use crate::vue::{FragmentInput, SLOT_BYTES, VueMap};
use serde::{Deserialize, Serialize};
use tepui_ir::{DepthMode, PrimitiveKind, Primitives, Spacing};

/// Properties of the program's stage.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub enum StageInfo {
    /// A compute program.
    #[default]
    Compute,
    /// A vertex program.
    Vertex(VertexInfo),
    /// A hull program: a tessellation control shader.
    Hull(HullInfo),
    /// A domain program: a tessellation evaluation shader.
    Domain(DomainInfo),
    /// A geometry program.
    Geometry(GeometryInfo),
    /// A fragment program.
    Fragment(FragmentInfo),
}

/// State of the pipeline that a fragment program is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FragmentState {
    /// The program runs for each sample, whatever the shader asks for, and interpolates there.
    pub per_sample: bool,
    /// Pixels have one sample: the program does not run for each of them.
    pub single_sample: bool,
    /// All targets get the alpha of the first one: alpha to coverage with several targets.
    pub replicate_alpha: bool,
    /// The program may run for coarse pixels (Gen12): it does if nothing of it is about pixels or samples.
    pub coarse: bool,
}

/// A program for a number of channels. Programs of other stages than fragments have one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Variant {
    /// Channels of a thread.
    pub width: u8,
    /// Offset of its code, a multiple of 64 bytes.
    pub offset: u32,
    /// The register at which constants begin: Dispatch GRF Start Register For URB Data, or for Constant/Setup Data.
    pub start: u8,
    /// Statistics.
    pub stats: Stats,
}

/// Vertex programs: 3DSTATE_VS, 3DSTATE_VERTEX_ELEMENTS, 3DSTATE_VF_SGVS, 3DSTATE_URB_VS.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct VertexInfo {
    /// The vertex elements, in order: they are pushed after the constants. At least one.
    pub elements: Vec<VertexElement>,
    /// The components of each element that the program reads; at least one in all.
    pub components: Vec<u8>,
    /// Whether only those components are pushed (3DSTATE_VF_COMPONENT_PACKING), instead of four of each element.
    pub packed: bool,
    /// The outputs.
    pub outputs: VertexOutputs,
}

impl VertexInfo {
    /// Vertex URB Entry Read Length, in units of eight double words.
    #[must_use]
    pub fn read_length(&self) -> u32 {
        u32::from(self.registers()).div_ceil(8).max(1)
    }

    /// Registers of the elements.
    #[must_use]
    pub fn registers(&self) -> u16 {
        self.first_register(self.elements.len())
    }

    /// The register of the first component of an element, counted from the first element.
    #[must_use]
    pub fn first_register(&self, element: usize) -> u16 {
        if !self.packed {
            return 4 * element as u16;
        }
        self.components.iter().take(element).map(|mask| mask.count_ones() as u16).sum()
    }

    /// The register of a component, counted from the first element; `None` if it is not pushed.
    #[must_use]
    pub fn register(&self, element: usize, component: u8) -> Option<u16> {
        let before = match self.packed {
            false => component,
            true => {
                let mask = self.components.get(element)?;
                if mask >> component & 1 == 0 {
                    return None;
                }
                (mask & ((1 << component) - 1)).count_ones() as u8
            }
        };
        Some(self.first_register(element) + u16::from(before))
    }

    /// The double words of 3DSTATE_VF_COMPONENT_PACKING after its header: four bits of each element.
    #[must_use]
    pub fn component_packing(&self) -> [u32; 4] {
        let mut words = [0; 4];
        for (k, &mask) in self.components.iter().enumerate().take(32) {
            words[k / 8] |= u32::from(mask & 0xf) << (4 * (k % 8));
        }
        words
    }

    /// The size of an entry in units of 64 bytes: the outputs overwrite the elements.
    #[must_use]
    pub fn entry_units(&self) -> u32 {
        self.outputs.vue.entry_units().max((self.elements.len() as u32).div_ceil(4)).max(1)
    }
}

/// A vertex element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum VertexElement {
    /// The attribute of a location.
    Attribute(u16),
    /// The first vertex (the base vertex of indexed draws) and the first instance from memory, then the vertex's and the
    /// instance's number without them, which 3DSTATE_VF_SGVS stores. Only those that are set are read.
    Ids {
        /// Component 0.
        first_vertex: bool,
        /// Component 1.
        first_instance: bool,
        /// Component 2.
        vertex: bool,
        /// Component 3.
        instance: bool,
    },
    /// The number of the draw in component 0, from memory.
    DrawIndex,
}

/// Outputs of the last stage before the rasteriser: 3DSTATE_CLIP, 3DSTATE_SF, 3DSTATE_SBE.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct VertexOutputs {
    /// The entry of a vertex.
    pub vue: VueMap,
    /// User Clip Distance Clip Test Enable Bitmask.
    pub clip_mask: u8,
    /// User Clip Distance Cull Test Enable Bitmask.
    pub cull_mask: u8,
    /// Whether vertices have a point size (Point Width Source).
    pub point_size: bool,
    /// Whether vertices have a layer; else Force Zero RTA Index Enable.
    pub layer: bool,
    /// Whether vertices have a viewport index (Maximum VP Index).
    pub viewport: bool,
}

/// Hull programs: 3DSTATE_HS, 3DSTATE_URB_HS. Vertex handles are included, nothing is pushed but constants.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HullInfo {
    /// Whether threads have one invocation of each of eight patches (Dispatch Mode 8_PATCH), instead of eight invocations of
    /// one patch (SINGLE_PATCH).
    pub eight_patches: bool,
    /// Threads of a patch, or of eight patches: Instance Count plus one.
    pub threads: u8,
    /// Include Primitive ID.
    pub primitive_id: bool,
    /// The entry of a patch.
    pub patch: PatchInterface,
}

impl HullInfo {
    /// Patch Count Threshold for the vertices of an input patch, which is 0 for eight patches. source: Mesa,
    /// brw_compile_tcs.cpp (`get_patch_count_threshold`)
    #[must_use]
    pub fn patch_count_threshold(input_vertices: u32) -> u32 {
        match input_vertices {
            0..=4 => 0,
            5..=6 => 5,
            7..=8 => 4,
            9..=10 => 3,
            11..=14 => 2,
            _ => 1,
        }
    }
}

/// Domain programs: 3DSTATE_DS, 3DSTATE_URB_DS. Dispatch Mode is SIMD8_SINGLE_PATCH.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DomainInfo {
    /// Patch URB Entry Read Length: registers of the patch's entry that are pushed, two slots in each.
    pub read_length: u8,
    /// Whether the program reads the primitive's number (else Primitive ID Not Required, on Gen12).
    pub primitive_id: bool,
    /// The entry of a patch. Compute W Coordinate Enable is set for triangles.
    pub patch: PatchInterface,
    /// The outputs.
    pub outputs: VertexOutputs,
}

/// Parameters of the tessellator: 3DSTATE_TE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tessellator {
    /// TE Domain.
    pub domain: u8,
    /// Partitioning.
    pub partitioning: u8,
    /// Output Topology.
    pub topology: u8,
}

impl Tessellator {
    /// The tessellator of two shaders, each of which can say how it is; with the origin of the domain at its lower left
    /// instead of the upper left. source: Mesa, brw_compile_tes.cpp (`brw_compile_tes`), genX_gfx_state.c (SET TE), genxml
    #[must_use]
    pub fn new(control: &Primitives, evaluation: &Primitives, is_lower_left: bool) -> Tessellator {
        let kind = evaluation.input.or(control.input).unwrap_or(PrimitiveKind::Triangles);
        let spacing = evaluation.spacing.or(control.spacing).unwrap_or(Spacing::Equal);
        let clockwise = evaluation.clockwise.or(control.clockwise).unwrap_or(false);
        Tessellator {
            domain: match kind {
                PrimitiveKind::Quads => 0,
                PrimitiveKind::Isolines => 2,
                _ => 1,
            },
            partitioning: match spacing {
                Spacing::Equal => 0,
                Spacing::FractionalOdd => 1,
                Spacing::FractionalEven => 2,
            },
            topology: match kind {
                _ if evaluation.point_mode || control.point_mode => 0,
                PrimitiveKind::Isolines => 1,
                _ if clockwise != is_lower_left => 2,
                _ => 3,
            },
        }
    }
}

/// The data before the vertices of a geometry program's entry: Control Data Format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum ControlData {
    /// None.
    #[default]
    None,
    /// A bit for each vertex after which a strip ends (CUT).
    Cuts,
    /// Two bits for each vertex: its stream (SID).
    Streams,
}

impl ControlData {
    /// Bits of a vertex.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            ControlData::None => 0,
            ControlData::Cuts => 1,
            ControlData::Streams => 2,
        }
    }
}

/// Geometry programs: 3DSTATE_GS, 3DSTATE_URB_GS. Dispatch Mode is SIMD8; vertex handles are included, nothing is pushed but
/// constants.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GeometryInfo {
    /// Expected Vertex Count.
    pub vertices_in: u8,
    /// Invocations of a primitive: Instance Control plus one.
    pub invocations: u8,
    /// Include Primitive ID.
    pub primitive_id: bool,
    /// Primitives that are made: points, strips of lines or strips of triangles.
    #[serde(with = "named::primitive_kind")]
    pub output: PrimitiveKind,
    /// Vertices that an invocation emits at most.
    pub max_vertices: u16,
    /// Vertices that each invocation emits, if that does not depend on anything: Static Output.
    pub static_count: Option<u16>,
    /// Default Stream Id: the stream of all vertices that control data do not say the stream of.
    pub stream: u8,
    /// Control Data Format.
    pub control: ControlData,
    /// The outputs.
    pub outputs: VertexOutputs,
}

impl GeometryInfo {
    /// Whether vertices go to other streams than the first.
    #[must_use]
    pub fn has_streams(&self) -> bool {
        self.stream != 0 || self.control == ControlData::Streams
    }

    /// Output Topology. source: Mesa, genxml (`3D_Prim_Topo_Type`)
    #[must_use]
    pub fn topology(&self) -> u32 {
        match self.output {
            PrimitiveKind::Points => 1,
            PrimitiveKind::Lines => 3,
            _ => 5,
        }
    }

    /// Slots of a vertex, a multiple of two: Output Vertex Size plus one.
    #[must_use]
    pub fn vertex_slots(&self) -> u16 {
        (self.outputs.vue.slots.len() as u16).next_multiple_of(2)
    }

    /// Control Data Header Size, in units of 32 bytes.
    #[must_use]
    pub fn control_units(&self) -> u16 {
        (u32::from(self.max_vertices) * self.control.bits()).div_ceil(256) as u16
    }

    /// The slot at which control data begin: the number of vertices, if it is written, takes two.
    #[must_use]
    pub fn control_slot(&self) -> u16 {
        if self.static_count.is_some() { 0 } else { 2 }
    }

    /// The first slot of the first vertex.
    #[must_use]
    pub fn first_vertex(&self) -> u16 {
        self.control_slot() + 2 * self.control_units()
    }

    /// The size of an entry in units of 64 bytes.
    #[must_use]
    pub fn entry_units(&self) -> u32 {
        let vertices = u32::from(self.max_vertices) * u32::from(self.vertex_slots());
        ((u32::from(self.first_vertex()) + vertices) * SLOT_BYTES).div_ceil(64).max(1)
    }
}

/// Fragment programs: 3DSTATE_PS, 3DSTATE_PS_EXTRA, 3DSTATE_WM, 3DSTATE_SBE.
///
/// The vector mask is always enabled: channels of helper invocations execute, and the program masks its writes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FragmentInfo {
    /// The attributes, for [`VueMap::setup`]; at least one. `None` for one that is not read.
    pub inputs: Vec<Option<FragmentInput>>,
    /// Barycentric Interpolation Mode: perspective at the pixel, centroid and sample, then linear at those.
    pub barycentrics: u8,
    /// Non-Perspective Barycentric Enable of 3DSTATE_CLIP.
    pub linear: bool,
    /// Pixel Shader Uses Source Depth.
    pub source_depth: bool,
    /// Pixel Shader Uses Source W.
    pub source_w: bool,
    /// Input Coverage Mask State is normal, or that of depth.
    pub coverage: bool,
    /// It is that of depth: early tests have taken samples away.
    pub depth_coverage: bool,
    /// Position XY Offset Select is the sample (3), else none (0).
    pub sample_position: bool,
    /// Pixel Shader Pulls Bary: messages to the pixel interpolator are sent.
    pub pulls_barycentrics: bool,
    /// Pixel Shader Is Per Sample.
    pub per_sample: bool,
    /// Pixel Shader Is Per Coarse Pixel.
    pub coarse: bool,
    /// Pixel Shader Requires Source Depth and/or W Plane Coefficients.
    pub depth_plane: bool,
    /// Colour targets that are written, by location. The binding table has an entry for each of them, and for those before
    /// the last; if there is none, one for a null surface.
    pub targets: u8,
    /// Whether the first target has a second source.
    pub dual_source: bool,
    /// Pixel Shader Computed Depth Mode, if a depth is written.
    #[serde(with = "named::depth_mode")]
    pub depth: Option<DepthMode>,
    /// Pixel Shader Computes Stencil.
    pub stencil: bool,
    /// oMask Present to Render Target.
    pub sample_mask: bool,
    /// Pixel Shader Kills Pixel.
    pub kills: bool,
    /// Pixel Shader Has UAV, and Force Thread Dispatch Enable where nothing else is written: memory is written.
    pub side_effects: bool,
    /// Early Depth/Stencil Control: tests run before the program.
    pub early_tests: bool,
}
