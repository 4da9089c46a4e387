//! State of a draw that pixels need.

use tepui_mali_packets::draw::{DcdFlags0, DcdFlags1, DepthStencil, Draw as DrawDescriptor};
use tepui_mali_packets::{Packet, Problem};
use tepui_softgpu::UnitMemory;

use crate::job::{JobFault, Unit};
use crate::warp::addresses::StageAddresses;

const UNIT: Unit = Unit::Tiler;

/// State of a draw that pixels need: addresses of descriptors, which are read when the frame is rendered.
#[derive(Clone)]
pub(crate) struct Draw {
    /// The fragment shader; none if its program's address is 0.
    pub fragment: StageAddresses,
    /// Flags of the draw descriptor.
    pub flags_0: DcdFlags0,
    /// Flags with the sample mask. The mask of render targets does not stop BLEND: Mesa's frame shaders write targets
    /// that their mask lacks.
    pub flags_1: DcdFlags1,
    /// The depth range of fragments.
    pub depth_range: [f32; 2],
    /// Address of the occlusion counter.
    pub occlusion: u64,
    /// Address of the blend descriptors.
    pub blend: u64,
    /// Their number.
    pub blend_count: u32,
    /// Address of the depth and stencil descriptor.
    pub depth_stencil: u64,
    /// Depth and stencil state of Bifrost, which is in its renderer state.
    pub depth_state: Option<Box<DepthStencil>>,
    /// Bytes of a vertex's varyings.
    pub varying_stride: u32,
    /// Whether point coordinates count from below, if the draw determines it and not the framebuffer.
    pub points_from_below: Option<bool>,
}

impl Draw {
    /// The depth and stencil state.
    pub fn depth(&self, memory: &mut UnitMemory<'_>) -> Result<DepthStencil, JobFault> {
        if let Some(state) = &self.depth_state {
            return Ok(**state);
        }
        let bytes = memory.read_array::<{ DepthStencil::SIZE_BYTES }>(self.depth_stencil);
        DepthStencil::unpack(&bytes.map_err(|fault| JobFault::memory(UNIT, fault))?)
            .map_err(|problem| invalid("depth and stencil", problem))
    }

    /// Reads a draw descriptor from memory.
    pub fn from_descriptor(memory: &mut UnitMemory<'_>, at: u64) -> Result<Draw, JobFault> {
        let memory_fault = |fault| JobFault::memory(UNIT, fault);
        let bytes = memory.read_array::<{ DrawDescriptor::SIZE_BYTES }>(at);
        Draw::from_bytes(&bytes.map_err(memory_fault)?)
    }

    /// Decodes a draw descriptor.
    pub fn from_bytes(bytes: &[u8; DrawDescriptor::SIZE_BYTES]) -> Result<Draw, JobFault> {
        let d = DrawDescriptor::unpack(bytes).map_err(|p| invalid("draw descriptor", p))?;
        let (flags, _) = bytes.as_chunks::<4>();
        Ok(Draw {
            fragment: StageAddresses {
                resources: d.shader.resources,
                uniforms: d.shader.fau | u64::from(d.shader.fau_count) << 56,
                program: d.shader.shader,
                storage: d.shader.thread_storage,
                attribute_offset: d.shader.attribute_offset,
                bifrost: None,
            },
            flags_0: DcdFlags0::unpack(&flags[0]).map_err(|p| invalid("draw flags", p))?,
            flags_1: DcdFlags1::unpack(&flags[1]).map_err(|p| invalid("draw flags", p))?,
            depth_range: [d.minimum_z, d.maximum_z],
            occlusion: d.occlusion,
            blend: d.blend,
            blend_count: d.blend_count,
            depth_stencil: d.depth_stencil,
            depth_state: None,
            varying_stride: 0,
            points_from_below: None,
        })
    }
}

pub(crate) fn invalid(what: &str, problem: Problem) -> JobFault {
    JobFault::new(UNIT, format!("{what}: {problem}"))
}
