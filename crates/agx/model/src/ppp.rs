//! Primitive processing pipe (PPP): the fixed-function state of draws. A record in memory
//! overwrites the state that its header names; other state keeps the values of earlier records.

use tepui_agx_packets::ppp::{
    Cull, Cull2, DepthBiasScissor, FragmentControl, FragmentFace, FragmentFace2,
    FragmentOcclusionQuery, FragmentOcclusionQuery2, FragmentShaderWord0, FragmentShaderWord1,
    FragmentShaderWord2, FragmentShaderWord3, FragmentStencil, Header, OutputSelect, OutputSize,
    OutputUnknown, RegionClip, Varying2, VaryingCounts, Viewport, ViewportControl, WClamp,
};
use tepui_agx_packets::render::{DepthBias, Scissor as ScissorPacket};
use tepui_packets::Packet;
use tepui_softgpu::AddressSpace;

use crate::job::{FaultKind, JobFault, RenderJob, Unit};
use crate::render::scene::{Scissor, State};

/// Words of the longest record: the size field of the packet that points to it has 8 bits.
const MAX_WORDS: usize = 255;
/// Pixels of a unit of the region clip, in each direction.
const REGION_PX: u32 = 32;

/// The current state.
#[derive(Clone, Debug, Default)]
pub struct Latch {
    control: FragmentControl,
    control2: FragmentControl,
    face: [FragmentFace; 2],
    face2: [FragmentFace2; 2],
    stencil: [FragmentStencil; 2],
    arrays: DepthBiasScissor,
    regions: Vec<RegionClip>,
    /// One for each viewport that the last record with viewports had.
    pub viewports: Vec<Viewport>,
    /// Smallest w.
    pub w_clamp: f32,
    /// The vertex outputs besides the position.
    pub output_select: OutputSelect,
    /// Varyings of 32 bits by kind.
    pub varyings_32: VaryingCounts,
    /// Pairs of varyings of 16 bits by kind.
    pub varyings_16: VaryingCounts,
    /// Culling and clipping.
    pub cull: Cull,
    /// Further culling state.
    pub cull2: Cull2,
    shader_word0: FragmentShaderWord0,
    shader_word1: FragmentShaderWord1,
    shader_word2: FragmentShaderWord2,
    occlusion: FragmentOcclusionQuery,
    /// 32-bit words of a vertex's outputs.
    pub output_size: u32,
    /// Whether a record was read since the last [`Latch::state`].
    changed: bool,
}

/// A reader of one record.
struct Record<'a> {
    address: u64,
    bytes: &'a [u8],
    at: usize,
}

impl Record<'_> {
    fn fault(&self, what: impl Into<String>) -> JobFault {
        let packet = Some(self.address.wrapping_add(self.at as u64));
        JobFault { packet, ..JobFault::new(Unit::Ppp, what) }
    }

    fn next<P: Packet>(&mut self) -> Result<P, JobFault> {
        let end = self.at + P::INFO.size_bytes;
        let Some(bytes) = self.bytes.get(self.at..end) else {
            return Err(self.fault(format!(
                "the state record of {} words has no room for its {}",
                self.bytes.len() / 4,
                P::INFO.name
            )));
        };
        let packet = P::unpack(bytes).map_err(|problem| self.fault(problem.to_string()))?;
        self.at = end;
        Ok(packet)
    }

    fn word<P: Packet>(&mut self, present: bool, into: &mut P) -> Result<(), JobFault> {
        if present {
            *into = self.next()?;
        }
        Ok(())
    }
}

impl Latch {
    /// Reads a record of `words` words.
    pub fn update(&mut self, vm: &AddressSpace, address: u64, words: u32) -> Result<(), JobFault> {
        let mut bytes = [0; 4 * MAX_WORDS];
        let bytes = &mut bytes[..4 * (words as usize).min(MAX_WORDS)];
        vm.read(address, bytes).map_err(|fault| JobFault {
            packet: Some(address),
            ..JobFault::new(Unit::Ppp, format!("the state record cannot be read: {fault}"))
        })?;
        let mut r = Record { address, bytes, at: 0 };
        let has: Header = r.next()?;
        self.changed = true;
        r.word(has.fragment_control, &mut self.control)?;
        r.word(has.fragment_control_2, &mut self.control2)?;
        r.word(has.fragment_front_face, &mut self.face[0])?;
        r.word(has.fragment_front_face_2, &mut self.face2[0])?;
        r.word(has.fragment_front_stencil, &mut self.stencil[0])?;
        r.word(has.fragment_back_face, &mut self.face[1])?;
        r.word(has.fragment_back_face_2, &mut self.face2[1])?;
        r.word(has.fragment_back_stencil, &mut self.stencil[1])?;
        r.word(has.depth_bias_scissor, &mut self.arrays)?;
        if has.region_clip {
            self.regions.clear();
            for _ in 0..has.viewport_count {
                self.regions.push(r.next()?);
            }
        }
        if has.viewport {
            r.next::<ViewportControl>()?;
            self.viewports.clear();
            for _ in 0..has.viewport_count {
                self.viewports.push(r.next()?);
            }
        }
        if has.w_clamp {
            self.w_clamp = r.next::<WClamp>()?.w_clamp;
        }
        r.word(has.output_select, &mut self.output_select)?;
        r.word(has.varying_counts_32, &mut self.varyings_32)?;
        r.word(has.varying_counts_16, &mut self.varyings_16)?;
        r.word(has.cull, &mut self.cull)?;
        r.word(has.cull_2, &mut self.cull2)?;
        if has.fragment_shader {
            self.shader_word0 = r.next()?;
            self.shader_word1 = r.next()?;
            self.shader_word2 = r.next()?;
            r.next::<FragmentShaderWord3>()?;
        }
        r.word(has.occlusion_query, &mut self.occlusion)?;
        if has.occlusion_query_2 {
            r.next::<FragmentOcclusionQuery2>()?;
        }
        if has.output_unknown {
            r.next::<OutputUnknown>()?;
        }
        if has.output_size {
            self.output_size = r.next::<OutputSize>()?.count;
        }
        if has.varying_word_2 {
            r.next::<Varying2>()?;
        }
        if r.at != bytes.len() {
            let what = format!("{words} words in the record, {} by its header", r.at / 4);
            return Err(r.fault(what).of(FaultKind::Length));
        }
        Ok(())
    }

    /// The state of a draw, if it differs from that of the draw before.
    pub fn state(
        &mut self,
        vm: &AddressSpace,
        job: &RenderJob,
        draw: u32,
    ) -> Result<Option<State>, JobFault> {
        if !std::mem::take(&mut self.changed) {
            return Ok(None);
        }
        Ok(Some(State {
            draw,
            control: self.control,
            control2: self.control2,
            face: self.face,
            face2: self.face2,
            stencil: self.stencil,
            occlusion: self.occlusion,
            scissors: self.scissors(vm, job)?,
            depth_bias: self.depth_bias(vm, job)?,
            region: self.regions.first().copied().unwrap_or_default(),
            cull: self.cull,
            cull2: self.cull2,
            output_select: self.output_select,
            varyings_32: self.varyings_32,
            varyings_16: self.varyings_16,
            shader: self.shader_word0,
            pipeline: self.shader_word1.pipeline,
            bindings: self.shader_word2.cf_bindings,
        }))
    }

    /// Makes the next draw get its state even if it is the same as that of the draw before.
    pub fn restate(&mut self) {
        self.changed = true;
    }

    fn scissors(&self, vm: &AddressSpace, job: &RenderJob) -> Result<Vec<Scissor>, JobFault> {
        // Either of the two words enables it; Mesa sets the first. source: hk_cmd_draw.c
        let enabled = self.control.scissor_enable || self.control2.scissor_enable;
        let whole = Scissor {
            min_px: [0; 2],
            max_px: [u32::from(job.width_px), u32::from(job.height_px)],
            depth: [0.0, 1.0],
        };
        let mut scissors = Vec::with_capacity(self.viewports.len());
        for index in 0..self.viewports.len() {
            let mut scissor = whole;
            if enabled && job.isp_scissor_base != 0 {
                let entry = u64::from(self.arrays.scissor) + index as u64;
                let found: ScissorPacket = element(vm, job.isp_scissor_base, entry, "scissor")?;
                scissor.depth = [found.min_z, found.max_z];
                scissor.narrow([found.min_x, found.min_y], [found.max_x, found.max_y]);
            }
            if let Some(region) = self.regions.get(index).filter(|region| region.enable) {
                scissor.narrow(
                    [region.min_x * REGION_PX, region.min_y * REGION_PX],
                    [region.max_x * REGION_PX, region.max_y * REGION_PX],
                );
            }
            scissors.push(scissor);
        }
        Ok(scissors)
    }

    fn depth_bias(&self, vm: &AddressSpace, job: &RenderJob) -> Result<DepthBias, JobFault> {
        let enabled = self.control.depth_bias_enable || self.control2.depth_bias_enable;
        if !enabled || job.isp_dbias_base == 0 {
            return Ok(DepthBias::default());
        }
        element(vm, job.isp_dbias_base, u64::from(self.arrays.depth_bias), "depth bias")
    }
}

impl Scissor {
    fn narrow(&mut self, min_px: [u32; 2], max_px: [u32; 2]) {
        for axis in 0..2 {
            self.min_px[axis] = self.min_px[axis].max(min_px[axis]);
            self.max_px[axis] = self.max_px[axis].min(max_px[axis]);
        }
    }
}

/// An element of one of the render command's arrays.
fn element<P: Packet>(vm: &AddressSpace, base: u64, index: u64, what: &str) -> Result<P, JobFault> {
    let address = base.wrapping_add(index * P::INFO.size_bytes as u64);
    let fault = |why: String| JobFault { packet: Some(address), ..JobFault::new(Unit::Isp, why) };
    let mut bytes = [0; 16];
    let bytes = &mut bytes[..P::INFO.size_bytes];
    vm.read(address, bytes)
        .map_err(|problem| fault(format!("the {what} array cannot be read: {problem}")))?;
    P::unpack(bytes).map_err(|problem| fault(problem.to_string()))
}
