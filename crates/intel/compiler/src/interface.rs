//! Inputs and outputs of graphics shaders, as an analysis of the IR finds them: what drivers and selection need to know
//! before.

use crate::error::{Error, Result};
use crate::options::Options;
use crate::primitives;
use crate::slots::place;
use crate::stage::{
    FragmentInfo, FragmentState, StageInfo, VertexElement, VertexInfo, VertexOutputs,
};
use crate::vue::{
    FragmentInput, MAX_ATTRIBUTES, MAX_LOCATIONS, SWIZZLED_ATTRIBUTES, Varying, VueMap,
};
use std::collections::BTreeMap;
use tepui_intel_isa::Generation;
use tepui_ir::{Attrs, Builtin, Inst, Interp, IoLoc, IoSlot, Op, Sampling, Shader, Stage, Type};

/// Bits of the barycentric modes: at the pixel, and linear ones after three perspective ones.
pub(crate) const PIXEL: u8 = 0;
const LINEAR: u8 = 3;

/// The properties of a shader's stage.
///
/// # Errors
/// When the shader has more of something than the hardware.
pub fn analyse(s: &Shader, generation: Generation, options: &Options<'_>) -> Result<StageInfo> {
    Ok(match s.info.stage {
        Stage::Compute => StageInfo::Compute,
        Stage::Vertex => StageInfo::Vertex(vertex(s, options)?),
        Stage::TessControl => StageInfo::Hull(primitives::hull(s, generation, options.patch)?),
        Stage::TessEvaluation => {
            StageInfo::Domain(primitives::domain(s, options.patch, options.feeds_stage)?)
        }
        Stage::Geometry => StageInfo::Geometry(primitives::geometry(s)?),
        Stage::Fragment => StageInfo::Fragment(fragment(s, &options.fragment)?),
    })
}

/// The error for an instruction.
pub(crate) fn refuse<T>(s: &Shader, i: Inst, why: impl Into<String>) -> Result<T> {
    let d = &s.insts[i];
    Err(Error::Op { op: d.op, loc: s.locs[d.loc], why: why.into() })
}

/// 32-bit words that a type takes in a location.
pub(crate) fn words(ty: Type) -> u8 {
    ty.comps() * if ty.bits() == 64 { 2 } else { 1 }
}

/// Checks a location, and that an access does not pass its end.
pub(crate) fn check(s: &Shader, i: Inst, slot: &IoSlot, ty: Type) -> Result<()> {
    let end = slot.component.saturating_add(words(ty));
    match slot.loc {
        IoLoc::Location(n) if n >= MAX_LOCATIONS => {
            let (needed, limit) = (u64::from(n) + 1, u64::from(MAX_LOCATIONS));
            Err(Error::Limit { what: "locations", needed, limit })
        }
        IoLoc::Location(_) if end > 4 => refuse(s, i, "passes the end of its location"),
        IoLoc::Builtin(Builtin::ClipDistance | Builtin::CullDistance) if end > 8 => {
            refuse(s, i, "passes the end of the distances")
        }
        _ => Ok(()),
    }
}

fn vertex(s: &Shader, options: &Options<'_>) -> Result<VertexInfo> {
    let mut attributes = 0u32;
    let mut read = [0u8; MAX_LOCATIONS as usize];
    let mut builtins: Vec<Builtin> = Vec::new();
    let mut failed = Ok(());
    s.walk(|s, _, i| match (s.insts[i].op, s.insts[i].attrs) {
        (Op::LoadInput, Attrs::Io(slot)) => {
            match (check(s, i, &slot, s.ty(s.result(i))), slot.loc) {
                (Ok(()), IoLoc::Location(n)) => {
                    attributes |= 1 << n;
                    let mask = (1 << words(s.ty(s.result(i)))) - 1;
                    read[usize::from(n)] |= mask << slot.component;
                }
                (Err(e), _) => failed = Err(e),
                _ => failed = refuse(s, i, "of a built-in that vertices do not have"),
            }
        }
        (Op::LoadBuiltin, Attrs::Builtin(b)) => builtins.push(b),
        _ => {}
    });
    failed?;
    let reads = |b| builtins.contains(&b);
    let (vertex, instance) = (reads(Builtin::VertexIndex), reads(Builtin::InstanceIndex));
    // Vertex and instance indices of Vulkan include the first ones.
    let first_vertex = vertex || reads(Builtin::BaseVertex);
    let first_instance = instance || reads(Builtin::BaseInstance);
    let locations = (0..MAX_LOCATIONS).filter(|n| attributes >> n & 1 != 0);
    let mut elements: Vec<VertexElement> = locations.map(VertexElement::Attribute).collect();
    if first_vertex || first_instance || elements.is_empty() && !reads(Builtin::DrawIndex) {
        elements.push(VertexElement::Ids { first_vertex, first_instance, vertex, instance });
    }
    if reads(Builtin::DrawIndex) {
        elements.push(VertexElement::DrawIndex);
    }
    let used = |element: &VertexElement| match *element {
        VertexElement::Attribute(n) => read[usize::from(n)],
        VertexElement::Ids { first_vertex, first_instance, vertex, instance } => {
            let all = [first_vertex, first_instance, vertex, instance];
            (0..).zip(all).fold(0, |mask, (c, on)| mask | u8::from(on) << c)
        }
        VertexElement::DrawIndex => 1,
    };
    let mut components: Vec<u8> = elements.iter().map(used).collect();
    if components.iter().all(|&mask| mask == 0) {
        // A vertex has data.
        components[0] = 1;
    }
    let (packed, outputs) = (options.pack_elements, outputs(s, options.feeds_stage)?);
    Ok(VertexInfo { elements, components, packed, outputs })
}

/// The outputs of a stage before the rasteriser, or before another one.
pub(crate) fn outputs(s: &Shader, feeds_stage: bool) -> Result<VertexOutputs> {
    let mut out = VertexOutputs::default();
    let (mut locations, mut distances, mut primitive_id) = (0u32, 0u8, false);
    let mut failed = Ok(());
    s.walk(|s, _, i| {
        let Attrs::Io(slot) = s.insts[i].attrs else { return };
        let stores = matches!(s.insts[i].op, Op::StoreOutput | Op::StoreOutputVertex);
        if !stores || matches!(slot.loc, IoLoc::Location(crate::emissions::COUNT..)) {
            return;
        }
        let ty = s.ty(s.arg(i, 0));
        if let Err(e) = check(s, i, &slot, ty) {
            failed = Err(e);
            return;
        }
        for k in 0..words(ty) {
            let Some((varying, component)) = place(&slot, k) else {
                failed = refuse(s, i, "of a built-in that vertices do not have");
                return;
            };
            match varying {
                Varying::Location(n) => locations |= 1 << n,
                Varying::Distances(half) => {
                    distances |= 1 << half;
                    let clips = slot.loc == IoLoc::Builtin(Builtin::ClipDistance);
                    let mask = if clips { &mut out.clip_mask } else { &mut out.cull_mask };
                    *mask |= 1 << (4 * half + component);
                }
                Varying::Header => match component {
                    1 => out.layer = true,
                    2 => out.viewport = true,
                    _ => out.point_size = true,
                },
                Varying::PrimitiveId => primitive_id = true,
                Varying::Position | Varying::PointCoord => {}
            }
        }
    });
    failed?;
    if out.clip_mask & out.cull_mask != 0 {
        let needed = u64::from(out.clip_mask.count_ones() + out.cull_mask.count_ones());
        return Err(Error::Limit { what: "clip and cull distances", needed, limit: 8 });
    }
    out.vue = match feeds_stage {
        true => VueMap::between(distances, locations),
        false => VueMap::new(distances, locations, primitive_id),
    };
    Ok(out)
}

/// Whether an operation writes memory that others see.
fn writes_memory(op: Op) -> bool {
    matches!(
        op,
        Op::StoreBuffer
            | Op::StoreGlobal
            | Op::AtomicBuffer
            | Op::AtomicGlobal
            | Op::ImageStore
            | Op::ImageAtomic
    )
}

/// The barycentric mode of an input that is interpolated, by its bit.
pub(crate) fn barycentric(slot: &IoSlot, state: &FragmentState) -> u8 {
    let sampling = match slot.sampling {
        Sampling::Sample if state.single_sample => Sampling::Center,
        _ if state.per_sample && !state.single_sample => Sampling::Sample,
        sampling => sampling,
    };
    let at = match sampling {
        Sampling::Center => PIXEL,
        Sampling::Centroid => 1,
        Sampling::Sample => 2,
    };
    at + if slot.interp == Interp::Linear { LINEAR } else { 0 }
}

/// Whether the interpolation of an input at a sample is the one at the shaded sample.
pub(crate) fn is_own_sample(s: &Shader, i: Inst) -> bool {
    s.def_inst(s.arg(i, 1)).is_some_and(|d| s.insts[d].attrs == Attrs::Builtin(Builtin::SampleId))
}

/// Inputs and outputs of a fragment shader.
#[derive(Default)]
struct Fragment {
    info: FragmentInfo,
    /// Whether each varying is flat.
    inputs: BTreeMap<Varying, bool>,
    /// Reads the position of the sample.
    position: bool,
    /// Interpolates at samples by their numbers, which coarse pixels have no message for.
    at_sample: bool,
}

impl Fragment {
    fn input(&mut self, s: &Shader, i: Inst, slot: &IoSlot, state: &FragmentState) -> Result<()> {
        let ty = s.ty(s.result(i));
        check(s, i, slot, ty)?;
        if slot.interp == Interp::PerVertex || s.insts[i].op == Op::LoadInputVertex {
            return refuse(s, i, "of single vertices is not compiled for Intel's GPUs yet");
        }
        for k in 0..words(ty) {
            let varying = match place(slot, k) {
                Some((v @ (Varying::Location(_) | Varying::Distances(_)), _)) => v,
                _ => return refuse(s, i, "of a built-in that fragments do not have"),
            };
            let flat = slot.interp == Interp::Flat;
            if *self.inputs.entry(varying).or_insert(flat) != flat {
                return refuse(s, i, "of a location that is interpolated and flat");
            }
        }
        if slot.interp == Interp::Flat {
            return Ok(());
        }
        let mode = match s.insts[i].op {
            Op::LoadInput => barycentric(slot, state),
            Op::LoadInputAtSample if is_own_sample(s, i) => {
                barycentric(&IoSlot { sampling: Sampling::Sample, ..*slot }, state)
            }
            op => {
                // The interpolator needs its kind of coordinates enabled.
                self.info.pulls_barycentrics = true;
                self.at_sample |= op == Op::LoadInputAtSample;
                barycentric(&IoSlot { sampling: Sampling::Center, ..*slot }, state)
            }
        };
        self.info.barycentrics |= 1 << mode;
        self.info.per_sample |= slot.sampling == Sampling::Sample;
        Ok(())
    }

    fn builtin(&mut self, s: &Shader, i: Inst, b: Builtin) {
        let info = &mut self.info;
        match b {
            Builtin::FragCoord => {
                let used = components(s, i);
                info.source_depth |= used & 4 != 0;
                info.source_w |= used & 8 != 0;
                self.position |= used & 3 != 0;
            }
            Builtin::SampleId => info.per_sample = true,
            Builtin::SamplePosition => (info.per_sample, info.sample_position) = (true, true),
            Builtin::SampleMask => {
                info.coverage = true;
                info.depth_coverage = s.info.post_depth_coverage;
            }
            Builtin::PointCoord => _ = self.inputs.insert(Varying::PointCoord, false),
            Builtin::PrimitiveId => _ = self.inputs.insert(Varying::PrimitiveId, true),
            _ => {}
        }
    }

    fn output(&mut self, s: &Shader, i: Inst, slot: &IoSlot) -> Result<()> {
        let info = &mut self.info;
        match slot.loc {
            IoLoc::Location(n @ 0..8) => {
                check(s, i, slot, s.ty(s.arg(i, 0)))?;
                info.targets |= 1 << n;
                info.dual_source |= slot.index == 1;
            }
            IoLoc::Location(n) => {
                let needed = u64::from(n) + 1;
                return Err(Error::Limit { what: "colour targets", needed, limit: 8 });
            }
            IoLoc::Builtin(Builtin::FragDepth) => info.depth = Some(s.info.depth),
            IoLoc::Builtin(Builtin::FragStencilRef) => info.stencil = true,
            IoLoc::Builtin(Builtin::SampleMask) => info.sample_mask |= slot.component == 0,
            IoLoc::Builtin(_) => return refuse(s, i, "of a built-in that fragments do not have"),
        }
        Ok(())
    }
}

/// The components of an instruction's result that something reads.
fn components(s: &Shader, i: Inst) -> u8 {
    let r = s.result(i);
    let mut used = 0;
    s.walk(|s, _, user| {
        if s.args(user).contains(&r) {
            used |= match (s.insts[user].op, s.insts[user].attrs) {
                (Op::Extract, Attrs::Index(k)) => 1u8.checked_shl(k).unwrap_or(0),
                _ => u8::MAX,
            };
        }
    });
    used
}

fn fragment(s: &Shader, state: &FragmentState) -> Result<FragmentInfo> {
    let mut f = Fragment::default();
    f.info.per_sample = s.info.per_sample || state.per_sample;
    f.info.early_tests = s.info.early_tests;
    let mut failed = Ok(());
    s.walk(|s, _, i| {
        if failed.is_err() {
            return;
        }
        match (s.insts[i].op, s.insts[i].attrs) {
            (
                Op::LoadInput | Op::LoadInputAtSample | Op::LoadInputAtOffset | Op::LoadInputVertex,
                Attrs::Io(slot),
            ) => failed = f.input(s, i, &slot, state),
            (Op::StoreOutput, Attrs::Io(slot)) => failed = f.output(s, i, &slot),
            (Op::LoadBuiltin, Attrs::Builtin(b)) => f.builtin(s, i, b),
            (Op::Demote | Op::DemoteIf, _) => f.info.kills = true,
            (op, _) => f.info.side_effects |= writes_memory(op),
        }
    });
    failed?;
    let mut info = f.info;
    if f.inputs.contains_key(&Varying::PointCoord) {
        info.barycentrics |= 1 << PIXEL;
    }
    info.per_sample &= !state.single_sample;
    let is_of_pixels = info.per_sample
        || info.coverage
        || info.sample_mask
        || info.depth.is_some()
        || info.stencil
        || f.at_sample;
    info.coarse = state.coarse && !is_of_pixels;
    info.depth_plane = info.coarse && info.source_depth;
    info.source_depth &= !info.coarse;
    info.sample_position |= f.position && info.per_sample;
    info.sample_position &= !state.single_sample;
    info.linear = info.barycentrics >> LINEAR != 0;
    info.inputs = attributes(&f.inputs)?;
    Ok(info)
}

/// The order of attributes: those that setup cannot move are where the entry of a vertex has them.
fn attributes(inputs: &BTreeMap<Varying, bool>) -> Result<Vec<Option<FragmentInput>>> {
    let input = |(&varying, &flat): (&Varying, &bool)| FragmentInput { varying, flat };
    let mut all: Vec<Option<FragmentInput>> = Vec::new();
    if inputs.len() <= SWIZZLED_ATTRIBUTES {
        all.extend(inputs.iter().map(|i| Some(input(i))));
    } else {
        let location = |v: &Varying| match v {
            Varying::Location(n) => Some(usize::from(*n)),
            _ => None,
        };
        // Locations begin at an even slot, and setup reads two slots at once.
        let first = inputs.keys().filter_map(location).min().unwrap_or(0) & !1;
        let is_late = |v: &Varying| location(v).is_some_and(|n| n - first >= SWIZZLED_ATTRIBUTES);
        all.extend(inputs.iter().filter(|i| !is_late(i.0)).map(|i| Some(input(i))));
        if all.len() > SWIZZLED_ATTRIBUTES {
            let (needed, limit) = (inputs.len() as u64, MAX_ATTRIBUTES as u64);
            return Err(Error::Limit { what: "inputs of a fragment", needed, limit });
        }
        for i in inputs.iter().filter(|i| is_late(i.0)) {
            all.resize(location(i.0).unwrap_or(0) - first, None);
            all.push(Some(input(i)));
        }
    }
    if all.is_empty() {
        // A thread whose payload is nothing but its header can hang. source: Mesa, brw_compile_fs.cpp
        // (`gfx9_ps_header_only_workaround`), which cites SKL PRM volume 16, workaround 0877
        all.push(Some(FragmentInput { varying: Varying::Header, flat: true }));
    }
    Ok(all)
}
