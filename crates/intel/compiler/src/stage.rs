//! Properties of graphics programs that a driver turns into state.
//!
//! [`Program::stage`](crate::Program::stage) has them; the fields name the command that takes them. Registers of a thread
//! before the constants are fixed by the stage, so the driver gives only the register at which constants begin
//! ([`Variant::start`]).

use crate::stats::Stats;
use crate::vue::{FragmentInput, VueMap};
use serde::{Deserialize, Serialize};
use tepui_ir::DepthMode;

/// Properties of the program's stage.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum StageInfo {
    /// A compute program.
    #[default]
    Compute,
    /// A vertex program.
    Vertex(VertexInfo),
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
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VertexInfo {
    /// The vertex elements, in order: four double words of each are pushed after the constants. At least one.
    pub elements: Vec<VertexElement>,
    /// The outputs.
    pub outputs: VertexOutputs,
}

impl VertexInfo {
    /// Vertex URB Entry Read Length, in units of two elements.
    #[must_use]
    pub fn read_length(&self) -> u32 {
        self.elements.len().div_ceil(2).max(1) as u32
    }

    /// The size of an entry in units of 64 bytes: the outputs overwrite the elements.
    #[must_use]
    pub fn entry_units(&self) -> u32 {
        self.outputs.vue.entry_units().max((self.elements.len() as u32).div_ceil(4)).max(1)
    }
}

/// A vertex element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
#[derive(Clone, PartialEq, Eq, Debug, Default)]
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

/// Fragment programs: 3DSTATE_PS, 3DSTATE_PS_EXTRA, 3DSTATE_WM, 3DSTATE_SBE.
///
/// The vector mask is always enabled: channels of helper invocations execute, and the program masks its writes.
#[derive(Clone, PartialEq, Debug, Default)]
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
    /// Input Coverage Mask State is normal.
    pub coverage: bool,
    /// Position XY Offset Select is the sample (3), else none (0).
    pub sample_position: bool,
    /// Pixel Shader Pulls Bary: messages to the pixel interpolator are sent.
    pub pulls_barycentrics: bool,
    /// Pixel Shader Is Per Sample.
    pub per_sample: bool,
    /// Colour targets that are written, by location. The binding table has an entry for each of them, and for those before
    /// the last; if there is none, one for a null surface.
    pub targets: u8,
    /// Whether the first target has a second source.
    pub dual_source: bool,
    /// Pixel Shader Computed Depth Mode, if a depth is written.
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
