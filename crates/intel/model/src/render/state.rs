//! The state of a draw: the last command of each kind, unpacked once.

use tepui_intel_chips::Generation;
use tepui_intel_eu::REGISTER_BYTES;
use tepui_intel_packets::bindings::{
    State3dBindingTablePointersDs, State3dBindingTablePointersGs, State3dBindingTablePointersHs,
    State3dBindingTablePointersPs, State3dBindingTablePointersVs, State3dConstantBody,
    State3dConstantDs, State3dConstantGs, State3dConstantHs, State3dConstantPs, State3dConstantVs,
    State3dSamplerStatePointersDs, State3dSamplerStatePointersGs, State3dSamplerStatePointersHs,
    State3dSamplerStatePointersPs, State3dSamplerStatePointersVs, State3dUrbDs, State3dUrbGs,
    State3dUrbHs, State3dUrbVs,
};
use tepui_intel_packets::gen12;
use tepui_intel_packets::output::{
    CcViewport, ScissorRect, SfClipViewport, State3dScissorStatePointers,
    State3dViewportStatePointersCc, State3dViewportStatePointersSfClip, State3dWmDepthStencil,
};
use tepui_intel_packets::pixel::{
    CoverageMask, State3dMultisample, State3dPs, State3dPsExtra, State3dSampleMask,
    State3dSamplePattern, State3dWm,
};
use tepui_intel_packets::raster::{
    State3dClip, State3dDrawingRectangle, State3dRaster, State3dSbe, State3dSbeSwiz, State3dSf,
};
use tepui_intel_packets::stages::{State3dDs, State3dGs, State3dHs, State3dTe, State3dVs};
use tepui_intel_packets::vertex::{
    State3dIndexBuffer, State3dVf, State3dVfSgvs, State3dVfTopology,
};
use tepui_intel_packets::{Packet, PacketInfo};

use super::unit::{UNIT, unimplemented};
use crate::context::HardwareContext;
use crate::job::JobFault;
use crate::memory::Memory;
use crate::order::MemoryUnit;
use crate::registers;

/// The last command of a kind. A context that never set it has the state after reset: all zero.
pub(crate) fn latched<P: Packet>(context: &HardwareContext) -> Result<P, JobFault> {
    let info: &PacketInfo = P::INFO;
    match context.latched.get(info.name) {
        Some(bytes) => unpack(context, bytes),
        None => Ok(P::default()),
    }
}

/// As [`latched`], for a command that has another form on Gen12, `New`.
pub(super) fn latched_as<P: Packet, New: Packet + Into<P>>(
    context: &HardwareContext,
) -> Result<P, JobFault> {
    match context.generation {
        Generation::Gen9 => latched(context),
        Generation::Gen12 => match context.latched.get(New::INFO.name) {
            Some(bytes) => unpack::<New>(context, bytes).map(Into::into),
            None => Ok(P::default()),
        },
    }
}

/// Whether the state of pixels has a shader that is dispatched.
pub(crate) fn has_pixel_shader(ps: &State3dPs, extra: &State3dPsExtra) -> bool {
    let dispatched =
        ps.n8_pixel_dispatch_enable || ps.n16_pixel_dispatch_enable || ps.n32_pixel_dispatch_enable;
    extra.pixel_shader_valid && dispatched
}

/// Unpacks a packet; an out-of-range field is a fault.
pub(super) fn unpack<P: Packet>(context: &HardwareContext, bytes: &[u8]) -> Result<P, JobFault> {
    P::unpack_as(bytes, context.revision())
        .map_err(|problem| JobFault::new(UNIT, problem.to_string()))
}

/// Reads a packet from memory, whose format is the same on all generations.
pub(super) fn read<P: Packet>(memory: &mut Memory<'_>, at: u64) -> Result<P, JobFault> {
    let mut bytes = [0; 128];
    let bytes = &mut bytes[..P::INFO.size_bytes];
    memory.read(at, bytes).map_err(|fault| JobFault::memory(UNIT, fault))?;
    P::unpack(bytes).map_err(|problem| JobFault::new(UNIT, problem.to_string()))
}

/// The commands that a draw depends on.
pub(super) struct State {
    pub generation: Generation,
    pub topology: u32,
    pub vf: State3dVf,
    pub sgvs: State3dVfSgvs,
    pub indices: State3dIndexBuffer,
    pub vs: State3dVs,
    pub vs_urb: State3dUrbVs,
    pub hs: State3dHs,
    pub hs_urb: State3dUrbHs,
    pub te: State3dTe,
    pub ds: State3dDs,
    pub ds_urb: State3dUrbDs,
    pub gs: State3dGs,
    pub gs_urb: State3dUrbGs,
    pub clip: State3dClip,
    pub sf: State3dSf,
    pub raster: State3dRaster,
    pub sbe: State3dSbe,
    pub swizzles: State3dSbeSwiz,
    pub rectangle: State3dDrawingRectangle,
    pub wm: State3dWm,
    pub ps: State3dPs,
    pub extra: State3dPsExtra,
    pub multisample: State3dMultisample,
    pub pattern: State3dSamplePattern,
    pub sample_mask: u32,
    pub depth_stencil: State3dWmDepthStencil,
    /// The test of depth bounds (Gen12).
    pub depth_bounds: gen12::State3dDepthBounds,
    /// Replication of primitives (Gen12).
    pub replication: gen12::State3dPrimitiveReplication,
}

impl State {
    /// Reads the state of a context.
    ///
    /// # Errors
    /// A command has an out-of-range field, or enables a feature that the model does not execute.
    pub fn of(context: &HardwareContext) -> Result<State, JobFault> {
        let topology: State3dVfTopology = latched(context)?;
        let mask: State3dSampleMask = latched(context)?;
        let state = State {
            generation: context.generation,
            topology: topology.primitive_topology_type,
            vf: latched(context)?,
            sgvs: latched(context)?,
            indices: latched(context)?,
            vs: latched(context)?,
            vs_urb: latched_as::<_, gen12::State3dUrbAllocVs>(context)?,
            hs: latched(context)?,
            hs_urb: latched_as::<_, gen12::State3dUrbAllocHs>(context)?,
            te: latched_as::<_, gen12::State3dTe>(context)?,
            ds: latched(context)?,
            ds_urb: latched_as::<_, gen12::State3dUrbAllocDs>(context)?,
            gs: latched(context)?,
            gs_urb: latched_as::<_, gen12::State3dUrbAllocGs>(context)?,
            clip: latched(context)?,
            sf: latched(context)?,
            raster: latched(context)?,
            sbe: latched(context)?,
            swizzles: latched(context)?,
            rectangle: latched(context)?,
            wm: latched(context)?,
            ps: latched(context)?,
            extra: latched(context)?,
            multisample: latched(context)?,
            pattern: latched(context)?,
            sample_mask: mask.sample_mask,
            depth_stencil: latched(context)?,
            depth_bounds: latched(context)?,
            replication: latched(context)?,
        };
        state.check()?;
        Ok(state)
    }

    /// Refuses features that the model does not support.
    fn check(&self) -> Result<(), JobFault> {
        let stages = [self.hs.enable, self.te.te_enable, self.ds.enable];
        if stages.contains(&true) && stages.contains(&false) {
            return Err(unimplemented("a draw with a part of tessellation"));
        }
        if self.vs.enable && !self.vs.simd8_dispatch_enable {
            return Err(unimplemented("3DSTATE_VS without SIMD8 dispatch"));
        }
        if self.wm.legacy_depth_buffer_clear_enable {
            return Err(unimplemented("a depth clear of 3DSTATE_WM"));
        }
        if self.extra.input_coverage_mask_state == CoverageMask::INNER_CONSERVATIVE {
            return Err(unimplemented("the mask of pixels that a primitive covers all of"));
        }
        if self.multisample.number_of_multisamples > 4 {
            return Err(JobFault::new(UNIT, "more than 16 samples"));
        }
        Ok(())
    }

    /// Whether patches are tessellated.
    pub fn tessellates(&self) -> bool {
        self.hs.enable
    }

    /// Whether the clipper rejects everything.
    pub fn rejects_all(&self) -> bool {
        /// The Clip Mode that rejects everything.
        const REJECT_ALL: u32 = 3;
        self.clip.clip_enable && self.clip.clip_mode == REJECT_ALL
    }

    /// Whether there is a pixel shader. Drivers that draw only for stream output leave 3DSTATE_PS_EXTRA
    /// unchanged, and 3DSTATE_PS without an enabled dispatch.
    pub fn has_pixel_shader(&self) -> bool {
        has_pixel_shader(&self.ps, &self.extra)
    }

    /// Number of positions in the entry of a vertex: one for each replica of a primitive.
    pub fn positions(&self) -> usize {
        self.replication.replication_count as usize + 1
    }

    /// Number of samples of a pixel.
    pub fn samples(&self) -> usize {
        1 << self.multisample.number_of_multisamples
    }
}

/// Inputs of a stage's threads other than the payload.
pub(super) struct Bindings {
    /// GPU address of the binding table.
    pub table: u64,
    /// GPU address of the samplers.
    pub samplers: u64,
    /// The offset of the samplers from the dynamic state base, for the header of the payload.
    pub sampler_offset: u32,
    /// The binding table's offset, for the header.
    pub table_offset: u32,
    /// Constants that are pushed to registers.
    pub constants: Vec<u8>,
}

impl Bindings {
    /// The bindings, from the offsets of a binding table and of samplers, and the pushed constants.
    fn of(
        context: &HardwareContext,
        memory: &mut Memory<'_>,
        table: u64,
        samplers: u64,
        constants: Option<&State3dConstantBody>,
    ) -> Result<Bindings, JobFault> {
        Ok(Bindings {
            table: context.bases.table(table),
            samplers: context.bases.dynamic + samplers,
            sampler_offset: samplers as u32,
            table_offset: table as u32,
            constants: constants.map_or(Ok(Vec::new()), |body| pushed(context, memory, body))?,
        })
    }

    pub fn of_vertices(
        context: &HardwareContext,
        memory: &mut Memory<'_>,
    ) -> Result<Bindings, JobFault> {
        let table: State3dBindingTablePointersVs = latched(context)?;
        let samplers: State3dSamplerStatePointersVs = latched(context)?;
        let constants: State3dConstantVs = latched(context)?;
        Bindings::of(
            context,
            memory,
            table.pointer_to_vs_binding_table,
            samplers.pointer_to_vs_sampler_state,
            Some(&constants.constant_body),
        )
    }

    pub fn of_hull(
        context: &HardwareContext,
        memory: &mut Memory<'_>,
    ) -> Result<Bindings, JobFault> {
        let table: State3dBindingTablePointersHs = latched(context)?;
        let samplers: State3dSamplerStatePointersHs = latched(context)?;
        let constants: State3dConstantHs = latched(context)?;
        Bindings::of(
            context,
            memory,
            table.pointer_to_hs_binding_table,
            samplers.pointer_to_hs_sampler_state,
            Some(&constants.constant_body),
        )
    }

    pub fn of_domain(
        context: &HardwareContext,
        memory: &mut Memory<'_>,
    ) -> Result<Bindings, JobFault> {
        let table: State3dBindingTablePointersDs = latched(context)?;
        let samplers: State3dSamplerStatePointersDs = latched(context)?;
        let constants: State3dConstantDs = latched(context)?;
        Bindings::of(
            context,
            memory,
            table.pointer_to_ds_binding_table,
            samplers.pointer_to_ds_sampler_state,
            Some(&constants.constant_body),
        )
    }

    pub fn of_geometry(
        context: &HardwareContext,
        memory: &mut Memory<'_>,
    ) -> Result<Bindings, JobFault> {
        let table: State3dBindingTablePointersGs = latched(context)?;
        let samplers: State3dSamplerStatePointersGs = latched(context)?;
        let constants: State3dConstantGs = latched(context)?;
        Bindings::of(
            context,
            memory,
            table.pointer_to_gs_binding_table,
            samplers.pointer_to_gs_sampler_state,
            Some(&constants.constant_body),
        )
    }

    pub fn of_pixels(
        context: &HardwareContext,
        memory: &mut Memory<'_>,
        push: bool,
    ) -> Result<Bindings, JobFault> {
        let table: State3dBindingTablePointersPs = latched(context)?;
        let samplers: State3dSamplerStatePointersPs = latched(context)?;
        let constants: State3dConstantPs = latched(context)?;
        Bindings::of(
            context,
            memory,
            table.pointer_to_ps_binding_table,
            samplers.pointer_to_ps_sampler_state,
            push.then_some(&constants.constant_body),
        )
    }
}

/// Reads the ranges of a 3DSTATE_CONSTANT command, one after the other.
fn pushed(
    context: &HardwareContext,
    memory: &mut Memory<'_>,
    body: &State3dConstantBody,
) -> Result<Vec<u8>, JobFault> {
    /// Number of registers of a thread, and so the limit on pushed constants.
    const MAX_PUSHED: usize = 128;
    // source: genxml, CS_DEBUG_MODE2: with bit 4 addresses are absolute, otherwise buffer 0 is relative to
    // the dynamic state base.
    let absolute = context.registers.get(registers::CS_DEBUG_MODE2) >> 4 & 1 != 0;
    let ranges = [
        (body.buffer_0, body.read_length_0),
        (body.buffer_1, body.read_length_1),
        (body.buffer_2, body.read_length_2),
        (body.buffer_3, body.read_length_3),
    ];
    let mut bytes = Vec::new();
    for (index, (address, registers)) in ranges.into_iter().enumerate() {
        let base = if index == 0 && !absolute { context.bases.dynamic } else { 0 };
        let from = bytes.len();
        let to = from + REGISTER_BYTES * registers as usize;
        if to > MAX_PUSHED * REGISTER_BYTES {
            return Err(JobFault::new(
                UNIT,
                "more constants are pushed than a thread has registers",
            ));
        }
        bytes.resize(to, 0);
        if to > from {
            memory
                .read_by(MemoryUnit::Constants, base + address, &mut bytes[from..])
                .map_err(|fault| JobFault::memory(UNIT, fault))?;
        }
    }
    Ok(bytes)
}

/// The states of a viewport.
#[derive(Clone, Copy)]
pub(super) struct ViewportState {
    pub sf: SfClipViewport,
    pub cc: CcViewport,
    pub scissor: ScissorRect,
}

/// The viewports of a draw that its vertices can select.
pub(super) fn viewports(
    context: &HardwareContext,
    memory: &mut Memory<'_>,
    state: &State,
) -> Result<Vec<ViewportState>, JobFault> {
    let sf: State3dViewportStatePointersSfClip = latched(context)?;
    let cc: State3dViewportStatePointersCc = latched(context)?;
    let scissor: State3dScissorStatePointers = latched(context)?;
    let base = context.bases.dynamic;
    let bytes = |packet: &PacketInfo| packet.size_bytes as u64;
    let mut list = Vec::new();
    for index in 0..=u64::from(state.clip.maximum_vp_index) {
        let at = base + sf.sf_clip_viewport_pointer + index * bytes(SfClipViewport::INFO);
        let sf = match state.sf.viewport_transform_enable {
            true => read(memory, at)?,
            false => SfClipViewport::default(),
        };
        let at = base + cc.cc_viewport_pointer + index * bytes(CcViewport::INFO);
        let cc = read(memory, at)?;
        let at = base + scissor.scissor_rect_pointer + index * bytes(ScissorRect::INFO);
        let scissor = match state.raster.scissor_rectangle_enable {
            true => read(memory, at)?,
            false => ScissorRect::default(),
        };
        list.push(ViewportState { sf, cc, scissor });
    }
    Ok(list)
}
