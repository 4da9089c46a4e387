//! Translates inputs, outputs, built-ins and execution modes.

use crate::error::{Kind, Result};
use crate::ids::Id;
use crate::module::Inst;
use crate::translate::{Cx, Output};
use crate::ty::Ty;
use crate::value::{Place, Ptr, Val};
use rspirv::spirv::{
    BuiltIn as B, Decoration as D, ExecutionMode as M, GlslStd450Op as GLOp, Op as SpvOp,
};
use std::rc::Rc;
use tepui_ir::{
    Attrs, Builtin, DepthMode, DerivativeGroup, InstFlags, Interp, IoDecl, IoLoc, IoSlot, NumKind,
    Op, PrimitiveKind, Sampling, Spacing, Stage, Type, Value,
};

/// Parts of an input's or output's place: slot, dynamic location, component, vertex, whether it is
/// an output.
type IoPlace = (IoSlot, Option<Value>, Option<Value>, Option<Value>, bool);

/// Built-ins that map one to one, with their types.
fn builtin(b: B) -> Option<(Builtin, Type)> {
    let v = |n| Type::vec(32, n);
    Some(match b {
        B::Position => (Builtin::Position, v(4)),
        B::PointSize => (Builtin::PointSize, Type::B32),
        B::ClipDistance => (Builtin::ClipDistance, Type::B32),
        B::CullDistance => (Builtin::CullDistance, Type::B32),
        B::Layer => (Builtin::Layer, Type::B32),
        B::ViewportIndex => (Builtin::ViewportIndex, Type::B32),
        B::VertexIndex => (Builtin::VertexIndex, Type::B32),
        B::InstanceIndex => (Builtin::InstanceIndex, Type::B32),
        B::BaseVertex => (Builtin::BaseVertex, Type::B32),
        B::BaseInstance => (Builtin::BaseInstance, Type::B32),
        B::DrawIndex => (Builtin::DrawIndex, Type::B32),
        B::ViewIndex => (Builtin::ViewIndex, Type::B32),
        B::DeviceIndex => (Builtin::DeviceIndex, Type::B32),
        B::FragCoord => (Builtin::FragCoord, v(4)),
        B::FrontFacing => (Builtin::FrontFacing, Type::B1),
        B::PointCoord => (Builtin::PointCoord, v(2)),
        B::SampleId => (Builtin::SampleId, Type::B32),
        B::SamplePosition => (Builtin::SamplePosition, v(2)),
        B::SampleMask => (Builtin::SampleMask, Type::B32),
        B::HelperInvocation => (Builtin::HelperInvocation, Type::B1),
        B::PrimitiveId => (Builtin::PrimitiveId, Type::B32),
        B::InvocationId => (Builtin::InvocationId, Type::B32),
        B::PatchVertices => (Builtin::PatchVertices, Type::B32),
        B::TessCoord => (Builtin::TessCoord, v(3)),
        B::TessLevelOuter => (Builtin::TessLevelOuter, Type::B32),
        B::TessLevelInner => (Builtin::TessLevelInner, Type::B32),
        B::BaryCoordKHR => (Builtin::BaryCoord, v(3)),
        B::BaryCoordNoPerspKHR => (Builtin::BaryCoordNoPersp, v(3)),
        B::FullyCoveredEXT => (Builtin::FullyCovered, Type::B1),
        B::PrimitiveShadingRateKHR => (Builtin::PrimitiveShadingRate, Type::B32),
        B::ShadingRateKHR => (Builtin::ShadingRate, Type::B32),
        B::FragSizeEXT => (Builtin::FragSize, v(2)),
        B::FragInvocationCountEXT => (Builtin::FragInvocationCount, Type::B32),
        B::FragDepth => (Builtin::FragDepth, Type::B32),
        B::FragStencilRefEXT => (Builtin::FragStencilRef, Type::B32),
        B::GlobalInvocationId => (Builtin::GlobalInvocationId, v(3)),
        B::LocalInvocationId => (Builtin::LocalInvocationId, v(3)),
        B::LocalInvocationIndex => (Builtin::LocalInvocationIndex, Type::B32),
        B::WorkgroupId => (Builtin::WorkgroupId, v(3)),
        B::NumWorkgroups => (Builtin::NumWorkgroups, v(3)),
        B::WorkgroupSize => (Builtin::WorkgroupSize, v(3)),
        B::SubgroupId => (Builtin::SubgroupId, Type::B32),
        B::NumSubgroups => (Builtin::NumSubgroups, Type::B32),
        B::SubgroupSize => (Builtin::SubgroupSize, Type::B32),
        B::SubgroupLocalInvocationId => (Builtin::SubgroupInvocationId, Type::B32),
        _ => return None,
    })
}

/// Maximum number of invocations of a workgroup; a GPU's own limit may be lower.
const MAX_WORKGROUP: u64 = 4096;

/// `FPFastMathDefault` of SPV_KHR_float_controls2: (type, mask).
const FP_FAST_MATH_DEFAULT: u32 = 6028;

impl Cx<'_> {
    // ---- execution modes ----

    pub fn execution_modes(&mut self, func: Id) -> Result<()> {
        let m = self.m;
        let mut size = None;
        for i in &m.modes {
            self.at = *i;
            if m.op(i, 0)? != func {
                continue;
            }
            if m.op(i, 1)? == FP_FAST_MATH_DEFAULT {
                let bits = self.ir_ty(m.op(i, 2)?)?.bits();
                let mask = self.arg_const(3)?;
                self.default_float(u32::from(bits), crate::translate::fast_math_flags(mask))?;
                continue;
            }
            let Some(mode) = M::from_u32(m.op(i, 1)?) else {
                return self.unsupported(format!("execution mode {}", m.op(i, 1)?));
            };
            match mode {
                M::LocalSize => size = Some([m.op(i, 2)?, m.op(i, 3)?, m.op(i, 4)?]),
                M::LocalSizeId => {
                    size = Some([self.arg_const(2)?, self.arg_const(3)?, self.arg_const(4)?])
                }
                M::EarlyFragmentTests => self.s.info.early_tests = true,
                M::EarlyAndLateFragmentTestsAMD => self.s.info.early_and_late_tests = true,
                M::DepthGreater => self.s.info.depth = DepthMode::Greater,
                M::DepthLess => self.s.info.depth = DepthMode::Less,
                M::DepthUnchanged => self.s.info.depth = DepthMode::Unchanged,
                M::DenormPreserve => self.float_mode(2, |f| f.denorm_preserve = true)?,
                M::DenormFlushToZero => self.float_mode(2, |f| f.denorm_flush = true)?,
                M::SignedZeroInfNanPreserve => {
                    self.float_mode(2, |f| f.preserve_special = true)?;
                    self.default_float(m.op(i, 2)?, InstFlags::STRICT)?;
                }
                M::RoundingModeRTE => self.float_mode(2, |f| f.rte = true)?,
                // No GPU here has it for whole shaders; single conversions are another matter.
                M::RoundingModeRTZ => {
                    return self.at.err(Kind::ExecutionMode("RoundingModeRTZ"));
                }
                M::OriginUpperLeft
                | M::DepthReplacing
                | M::PixelInterlockOrderedEXT
                | M::PixelInterlockUnorderedEXT
                | M::SampleInterlockOrderedEXT
                | M::SampleInterlockUnorderedEXT
                | M::SubgroupUniformControlFlowKHR
                | M::StencilRefReplacingEXT
                | M::StencilRefUnchangedFrontAMD
                | M::StencilRefUnchangedBackAMD
                | M::RequireFullQuadsKHR
                | M::QuadDerivativesKHR
                // The decorations of the outputs say what is captured.
                | M::Xfb => {}
                M::PostDepthCoverage => self.s.info.post_depth_coverage = true,
                M::MaximallyReconvergesKHR => self.s.info.maximal_reconvergence = true,
                M::DerivativeGroupQuadsKHR => self.s.info.derivatives = DerivativeGroup::Quads,
                M::DerivativeGroupLinearKHR => self.s.info.derivatives = DerivativeGroup::Linear,
                M::Invocations => self.s.info.primitives.invocations = m.op(i, 2)?.clamp(1, 127),
                M::OutputVertices => self.s.info.primitives.vertices = m.op(i, 2)?,
                M::PointMode => self.s.info.primitives.point_mode = true,
                M::SpacingEqual => self.s.info.primitives.spacing = Some(Spacing::Equal),
                M::SpacingFractionalEven => {
                    self.s.info.primitives.spacing = Some(Spacing::FractionalEven);
                }
                M::SpacingFractionalOdd => {
                    self.s.info.primitives.spacing = Some(Spacing::FractionalOdd);
                }
                M::VertexOrderCw => self.s.info.primitives.clockwise = Some(true),
                M::VertexOrderCcw => self.s.info.primitives.clockwise = Some(false),
                M::InputPoints => self.reads_primitives(PrimitiveKind::Points),
                M::InputLines => self.reads_primitives(PrimitiveKind::Lines),
                M::InputLinesAdjacency => self.reads_primitives(PrimitiveKind::LinesAdjacency),
                M::Triangles => self.reads_primitives(PrimitiveKind::Triangles),
                M::InputTrianglesAdjacency => {
                    self.reads_primitives(PrimitiveKind::TrianglesAdjacency);
                }
                M::Quads => self.reads_primitives(PrimitiveKind::Quads),
                M::Isolines => self.reads_primitives(PrimitiveKind::Isolines),
                M::OutputPoints => self.s.info.primitives.output = PrimitiveKind::Points,
                M::OutputLineStrip => self.s.info.primitives.output = PrimitiveKind::Lines,
                M::OutputTriangleStrip => self.s.info.primitives.output = PrimitiveKind::Triangles,
                mode => return self.unsupported(format!("execution mode {mode:?}")),
            }
        }
        // A constant decorated WorkgroupSize wins over the mode.
        let mut sizes = m.decor.ids_with(D::BuiltIn, B::WorkgroupSize as u32);
        let from_constant = sizes.find_map(|id| match self.globals.get(&id) {
            Some(Val::Ssa(v)) => self.s.as_const_comps(*v),
            _ => None,
        });
        if let Some(&[x, y, z]) = from_constant.as_deref() {
            size = Some([x as u32, y as u32, z as u32]);
        }
        if self.s.info.stage == Stage::Compute {
            let size = size.unwrap_or([1; 3]);
            let total = size.iter().fold(1u64, |n, &s| n.saturating_mul(u64::from(s)));
            if total == 0 || total > MAX_WORKGROUP {
                return self.too_large(format!("a workgroup of {size:?} invocations"));
            }
            self.s.info.workgroup_size = size;
        }
        Ok(())
    }

    fn reads_primitives(&mut self, kind: PrimitiveKind) {
        self.s.info.primitives.input = Some(kind);
    }

    /// Adds to what float instructions of a size must keep.
    fn default_float(&mut self, bits: u32, flags: InstFlags) -> Result<()> {
        match crate::translate::float_size(bits as u8) {
            Some(n) => self.default_flags[n] |= flags,
            None => return self.unsupported(format!("float controls of {bits} bits")),
        }
        Ok(())
    }

    fn float_mode(&mut self, n: usize, set: impl Fn(&mut tepui_ir::FloatControls)) -> Result<()> {
        let at = match self.m.op(&self.at, n)? {
            16 => 0,
            32 => 1,
            64 => 2,
            b => return self.unsupported(format!("float controls of {b} bits")),
        };
        set(&mut self.s.info.float[at]);
        Ok(())
    }

    // ---- declarations ----

    /// The slot that decorations of a variable (or member `n` of a block) describe.
    pub(crate) fn slot(
        &self,
        id: Id,
        member: Option<(Id, u32)>,
        kind: NumKind,
        inherited: Option<IoSlot>,
    ) -> Result<Option<IoSlot>> {
        let get = |d: D| match member {
            Some((ty, n)) => self.m.member_decoration(ty, n, d),
            None => self.m.decoration(id, d),
        };
        let fallback = IoSlot {
            loc: IoLoc::Location(0),
            component: 0,
            index: 0,
            kind,
            interp: Interp::Smooth,
            sampling: Sampling::Center,
        };
        let mut s = inherited.unwrap_or(fallback);
        s.kind = kind;
        let mut known = inherited.is_some();
        if let Some(l) = get(D::Location) {
            let Ok(l) = u16::try_from(l) else { return self.too_large(format!("location {l}")) };
            s.loc = IoLoc::Location(l);
            known = true;
        }
        if let Some(b) = get(D::BuiltIn) {
            let Some((b, _)) = B::from_u32(b).and_then(builtin) else {
                return self.unsupported(format!("built-in {:?}", B::from_u32(b)));
            };
            s.loc = IoLoc::Builtin(b);
            known = true;
        }
        if let Some(c) = get(D::Component) {
            s.component = c.min(3) as u8;
        }
        if let Some(i) = get(D::Index) {
            s.index = i.min(1) as u8;
        }
        if get(D::NoPerspective).is_some() {
            s.interp = Interp::Linear;
        }
        if get(D::Flat).is_some() {
            s.interp = Interp::Flat;
        }
        if get(D::PerVertexKHR).is_some() {
            s.interp = Interp::PerVertex;
        }
        if get(D::Centroid).is_some() {
            s.sampling = Sampling::Centroid;
        }
        if get(D::Sample).is_some() {
            s.sampling = Sampling::Sample;
        }
        if self.s.info.stage != Stage::Fragment {
            s.interp = if s.interp == Interp::PerVertex { s.interp } else { Interp::Flat };
            s.sampling = Sampling::Center;
        }
        Ok(known.then_some(s))
    }

    /// Locations that a type takes.
    pub(crate) fn locations(&self, ty: Id) -> u32 {
        match self.types.get(ty) {
            Some(Ty::Vector { n, .. })
                if *n > 2 && self.types.ir(ty).is_some_and(|t| t.bits() == 64) =>
            {
                2
            }
            Some(Ty::Matrix { col, n }) => u32::from(*n) * self.locations(*col),
            Some(Ty::Array { elem, len }) => len.saturating_mul(self.locations(*elem)),
            Some(Ty::Struct { members }) => {
                members.iter().fold(0, |a, &m| a.saturating_add(self.locations(m)))
            }
            _ => 1,
        }
    }

    pub fn declare_input(&mut self, i: &Inst, ty: Id) -> Result<()> {
        let b = self.m.decoration(i.id, D::BuiltIn).and_then(B::from_u32);
        let array = matches!(
            b,
            Some(B::ClipDistance | B::CullDistance | B::TessLevelOuter | B::TessLevelInner)
        );
        let per_vertex = self.s.info.stage.has_vertex_inputs() && self.is_per_vertex(i.id, ty)?;
        let place = match b {
            Some(which) if !array && !per_vertex => Place::Builtin { which, comp: None },
            _ => {
                let slot = self.arrayed_slot(i.id, ty, per_vertex, "an input")?;
                let declared = self.vertex_type(ty, per_vertex)?;
                self.declare_io(i.id, declared, slot, true)?;
                Place::Io { slot, dynamic: None, comp: None, vertex: None, output: false }
            }
        };
        let p = Ptr { place, ty, access: self.var_access(i.id) };
        self.globals.insert(i.id, Val::Ptr(Rc::new(p)));
        Ok(())
    }

    /// Whether an input is the number or the place of the fragment's sample.
    pub fn names_sample(&self, id: Id) -> bool {
        let builtin = self.m.decoration(id, D::BuiltIn).and_then(B::from_u32);
        matches!(builtin, Some(B::SampleId | B::SamplePosition))
    }

    /// Whether a variable of a stage between is an array over the vertices: all but those of the
    /// patch and of the invocation.
    fn is_per_vertex(&self, id: Id, ty: Id) -> Result<bool> {
        let Ty::Array { elem, .. } = *self.ty(ty)? else { return Ok(false) };
        let patch = self.m.decoration(id, D::Patch).is_some()
            // Blocks say it of their members.
            || self.m.member_decoration(elem, 0, D::Patch).is_some();
        let level = self.m.decoration(id, D::BuiltIn).and_then(B::from_u32);
        Ok(!patch && !matches!(level, Some(B::TessLevelOuter | B::TessLevelInner)))
    }

    /// The type of one vertex of a variable.
    fn vertex_type(&self, ty: Id, per_vertex: bool) -> Result<Id> {
        match *self.ty(ty)? {
            Ty::Array { elem, .. } if per_vertex => Ok(elem),
            _ => Ok(ty),
        }
    }

    /// The slot of a variable of the interface. Of an array over vertices the first index is the
    /// vertex.
    fn arrayed_slot(&self, id: Id, ty: Id, per_vertex: bool, what: &str) -> Result<IoSlot> {
        let kind = self.types.num_kind(ty);
        let block = matches!(self.ty(self.vertex_type(ty, per_vertex)?)?, Ty::Struct { .. });
        let mut slot = match self.slot(id, None, kind, None)? {
            Some(s) => s,
            None if block => match self.slot(id, None, kind, Some(default_slot()))? {
                Some(s) => s,
                None => default_slot(),
            },
            None => return self.invalid(format!("{what} needs a Location or a BuiltIn")),
        };
        if per_vertex {
            slot.interp = Interp::PerVertex;
        }
        Ok(slot)
    }

    pub fn declare_output(&mut self, i: &Inst, ty: Id) -> Result<()> {
        if self.s.info.stage == Stage::TessControl {
            let per_vertex = self.is_per_vertex(i.id, ty)?;
            let slot = self.arrayed_slot(i.id, ty, per_vertex, "an output")?;
            let declared = self.vertex_type(ty, per_vertex)?;
            self.declare_io(i.id, declared, slot, false)?;
            let place = Place::Io { slot, dynamic: None, comp: None, vertex: None, output: true };
            let p = Ptr { place, ty, access: self.var_access(i.id) };
            self.globals.insert(i.id, Val::Ptr(Rc::new(p)));
            return Ok(());
        }
        let ptr = self.local_variable(i, ty)?;
        self.outputs.push(Output { ptr: ptr.clone(), id: i.id });
        self.globals.insert(i.id, Val::Ptr(Rc::new(ptr)));
        Ok(())
    }

    /// Records the declaration of a user input or output.
    pub(crate) fn declare_io(&mut self, id: Id, ty: Id, slot: IoSlot, input: bool) -> Result<()> {
        self.declare_part(id, ty, slot, input, 0)
    }

    /// Declares a part of a variable. The last element of an array of structures is `others` locations
    /// further.
    fn declare_part(
        &mut self,
        id: Id,
        ty: Id,
        slot: IoSlot,
        input: bool,
        others: u32,
    ) -> Result<()> {
        if !matches!(slot.loc, IoLoc::Location(_)) {
            return Ok(());
        }
        let mut leaf = ty;
        while let Ty::Array { elem, .. } | Ty::Matrix { col: elem, .. } = self.ty(leaf)? {
            leaf = *elem;
        }
        if let Ty::Struct { members } = self.ty(leaf)?.clone() {
            let mut at = slot;
            let others =
                others.saturating_add(self.locations(ty).saturating_sub(self.locations(leaf)));
            for (n, &mty) in members.iter().enumerate() {
                let kind = self.types.num_kind(mty);
                let s = self.slot(id, Some((leaf, n as u32)), kind, Some(at))?.unwrap_or(at);
                self.declare_part(id, mty, s, input, others)?;
                at = behind(slot, s, self.locations(mty));
            }
            return Ok(());
        }
        let name = self.m.name(id);
        // A physical pointer travels as its address.
        let ty_of = if matches!(self.ty(leaf)?, Ty::Pointer { .. }) {
            Type::B64
        } else {
            self.ir_ty(leaf)?
        };
        let locations = self.locations(ty).saturating_add(others);
        let decl = IoDecl { slot, ty: ty_of, locations, name };
        if input {
            self.s.inputs.push(decl)
        } else {
            self.s.outputs.push(decl)
        }
        Ok(())
    }

    // ---- inputs ----

    /// Follows one index from an input.
    #[allow(
        clippy::too_many_arguments,
        reason = "one index step: the type's parts, the index, the place"
    )]
    pub fn step_io(
        &mut self,
        ty: Id,
        member: Option<u32>,
        elem: Id,
        vector: bool,
        index: Value,
        signed: bool,
        place: IoPlace,
    ) -> Result<Place> {
        let (mut slot, mut dynamic, mut comp, mut vertex, output) = place;
        if let Some(n) = member {
            let Ty::Struct { members } = self.ty(ty)?.clone() else {
                return self.invalid("not a structure");
            };
            let (block, mut before) = (slot, slot);
            for (k, &mty) in members.iter().enumerate().take(n as usize + 1) {
                let kind = self.types.num_kind(mty);
                let s = self.slot(0, Some((ty, k as u32)), kind, Some(before))?.unwrap_or(before);
                slot = s;
                before = behind(block, s, self.locations(mty));
            }
        } else if vector {
            comp = Some(self.as_u32(index, signed)?);
        } else if slot.interp == Interp::PerVertex && vertex.is_none() {
            vertex = Some(self.as_u32(index, signed)?);
        } else {
            let distance = matches!(slot.loc, IoLoc::Builtin(_));
            let by = if distance { 1 } else { self.locations(elem) };
            match self.s.as_const(index) {
                Some(c) if distance => {
                    slot.component = slot.component.saturating_add(c.min(7) as u8)
                }
                Some(c) => slot = advance(slot, by.saturating_mul(c.min(1 << 16) as u32)),
                None => {
                    let i = self.as_u32(index, signed)?;
                    let by = self.u32(by);
                    let i = self.alu(Op::IMul, &[i, by])?;
                    dynamic = Some(match dynamic {
                        Some(d) => self.alu(Op::IAdd, &[d, i])?,
                        None => i,
                    });
                }
            }
        }
        Ok(Place::Io { slot, dynamic, comp, vertex, output })
    }

    /// Reads a scalar or vector input.
    pub fn load_io(&mut self, p: &Ptr, t: Type) -> Result<Value> {
        self.read_io(p, t, Op::LoadInput, &[])
    }

    fn read_io(&mut self, p: &Ptr, t: Type, op: Op, extra: &[Value]) -> Result<Value> {
        let Place::Io { slot, dynamic, comp, vertex, output } = p.place else {
            return self.invalid("not an input");
        };
        let offset = match dynamic {
            Some(d) => d,
            None => self.u32(0),
        };
        let (op, extra) = match (vertex, output) {
            (Some(v), false) => (Op::LoadInputVertex, vec![v]),
            (Some(v), true) => (Op::LoadOutputVertex, vec![v]),
            (None, true) => (Op::LoadOutputPatch, Vec::new()),
            (None, false) => (op, extra.to_vec()),
        };
        let mut args = vec![offset];
        args.extend(extra);
        if let Some(c) = comp {
            if let Some(k) = self.s.as_const(c) {
                let mut s = slot;
                let words = u32::from(t.bits()).div_ceil(32);
                s.component = s.component.saturating_add((k as u32).min(3) as u8 * words as u8);
                return self.read_slot(s, &args, t, op);
            }
            // The vector's size is not known here; locations have four components.
            let n = (4 - slot.component.min(3)) / if t.bits() == 64 { 2 } else { 1 };
            let v = self.read_slot(slot, &args, t.with_comps(n.max(1)), op)?;
            return self.extract_dyn(v, c);
        }
        self.read_slot(slot, &args, t, op)
    }

    /// Writes a scalar or vector output of a patch.
    pub fn store_io(&mut self, p: &Ptr, v: Value) -> Result<()> {
        let Place::Io { slot, dynamic, comp, vertex, output: true } = p.place else {
            return self.invalid("inputs cannot be written");
        };
        let offset = match dynamic {
            Some(d) => d,
            None => self.u32(0),
        };
        let words = u32::from(self.s.ty(v).bits()).div_ceil(32) as u8;
        match comp {
            None => {
                self.write_io(slot, v, offset, vertex);
                Ok(())
            }
            Some(c) => match self.s.as_const(c) {
                Some(k) => {
                    let mut s = slot;
                    s.component = s.component.saturating_add((k as u8).min(3) * words);
                    self.write_io(s, v, offset, vertex);
                    Ok(())
                }
                None => {
                    for k in 0..(4 - slot.component.min(3)) / words {
                        let at = self.u32(u32::from(k));
                        let here = self.alu(Op::IEq, &[c, at])?;
                        let mut s = slot;
                        s.component += k * words;
                        let then = self.in_region(|cx| {
                            cx.write_io(s, v, offset, vertex);
                            Ok(())
                        })?;
                        let other = self.in_region(|_| Ok(()))?;
                        self.emit(Op::If, Attrs::If(then, other), &[here], &[]);
                    }
                    Ok(())
                }
            },
        }
    }

    /// Stores to a slot of a patch; 64-bit vectors that pass the end of a location in two parts.
    fn write_io(&mut self, slot: IoSlot, v: Value, offset: Value, vertex: Option<Value>) {
        let t = self.s.ty(v);
        let op = if vertex.is_some() { Op::StoreOutputVertex } else { Op::StoreOutput };
        let mut parts = vec![(slot, v)];
        if t.bits() == 64 && t.comps() > 2 {
            let all = self.split(v);
            if let (Ok(lo), Ok(hi)) = (self.vec(&all[..2]), self.vec(&all[2..])) {
                parts = vec![(slot, lo), (advance(slot, 1), hi)];
            }
        }
        for (slot, v) in parts {
            let mut args = vec![v, offset];
            args.extend(vertex);
            self.emit(op, Attrs::Io(slot), &args, &[]);
        }
    }

    /// `OpEmitVertex`, `OpEndPrimitive` and those of streams.
    pub fn emission(&mut self, i: Inst) -> Result<()> {
        let stream = match self.m.ops(&i) {
            [] => 0,
            _ => self.arg_const(0)?,
        };
        let end = matches!(i.op, SpvOp::EndPrimitive | SpvOp::EndStreamPrimitive);
        let op = if end { Op::EndPrimitive } else { Op::EmitVertex };
        let inst = self.emit(op, Attrs::Index(stream), &[], &[]);
        if !end {
            self.emits.push((self.region, inst));
        }
        Ok(())
    }

    /// Reads from a slot; 64-bit vectors that pass the end of a location are read in two parts.
    fn read_slot(&mut self, slot: IoSlot, args: &[Value], t: Type, op: Op) -> Result<Value> {
        if slot.sampling == Sampling::Sample && op == Op::LoadInput {
            self.s.info.per_sample = true;
        }
        if t.bits() == 1 {
            return self.invalid("an input cannot be a truth value");
        }
        if t.bits() == 64 && t.comps() > 2 {
            let lo = self.emit1(op, Attrs::Io(slot), args, t.with_comps(2));
            let hi = self.emit1(op, Attrs::Io(advance(slot, 1)), args, t.with_comps(t.comps() - 2));
            let mut parts = self.split(lo);
            parts.extend(self.split(hi));
            return self.vec(&parts);
        }
        Ok(self.emit1(op, Attrs::Io(slot), args, t))
    }

    /// `InterpolateAt…`.
    pub fn interpolate_at(&mut self, p: &Ptr, g: GLOp) -> Result<Val> {
        let t = self.ir_ty(p.ty)?;
        let mut p = p.clone();
        let v = match g {
            GLOp::InterpolateAtCentroid => {
                if let Place::Io { slot, .. } = &mut p.place {
                    slot.sampling = Sampling::Centroid;
                }
                self.read_io(&p, t, Op::LoadInput, &[])?
            }
            GLOp::InterpolateAtSample => {
                let s = self.arg_u32(3)?;
                self.read_io(&p, t, Op::LoadInputAtSample, &[s])?
            }
            _ => {
                let o = self.arg_ssa(3)?;
                if self.s.ty(o).comps() != 2 {
                    return self.invalid("the offset has two components");
                }
                let o = self.convert(Op::F2F, o, Type::vec(32, 2))?;
                self.read_io(&p, t, Op::LoadInputAtOffset, &[o])?
            }
        };
        Ok(Val::Ssa(v))
    }

    /// Reads a built-in; `want` is the declared type.
    pub fn load_builtin(&mut self, which: B, want: Option<Type>) -> Result<Value> {
        let v = match which {
            B::SubgroupEqMask
            | B::SubgroupGeMask
            | B::SubgroupGtMask
            | B::SubgroupLeMask
            | B::SubgroupLtMask => self.lane_mask(which)?,
            _ => {
                let Some((b, ty)) = builtin(which) else {
                    return self.unsupported(format!("built-in {which:?}"));
                };
                if b == Builtin::WorkgroupSize {
                    let size = self.s.info.workgroup_size;
                    let parts: Vec<Value> = size.iter().map(|&n| self.u32(n)).collect();
                    return self.vec(&parts);
                }
                if matches!(b, Builtin::SampleId | Builtin::SamplePosition) {
                    self.s.info.per_sample = true;
                }
                self.builtin(b, ty)
            }
        };
        match want {
            Some(t) if t != self.s.ty(v) => {
                self.unsupported(format!("built-in {which:?} with type {t}"))
            }
            _ => Ok(v),
        }
    }

    /// `SubgroupEqMask` and its relatives, from the lane's number: sub-groups have at most 32 lanes. Bits at and past
    /// the sub-group's size are 0.
    fn lane_mask(&mut self, which: B) -> Result<Value> {
        let lane = self.builtin(Builtin::SubgroupInvocationId, Type::B32);
        let (one, zero) = (self.u32(1), self.u32(0));
        let eq = self.alu(Op::IShl, &[one, lane])?;
        let lt = self.alu(Op::ISub, &[eq, one])?;
        let m = match which {
            B::SubgroupEqMask => eq,
            B::SubgroupLtMask => lt,
            B::SubgroupLeMask => self.alu(Op::IOr, &[lt, eq])?,
            B::SubgroupGeMask => {
                let all = self.all_lanes()?;
                self.alu(Op::IXor, &[lt, all])?
            }
            _ => {
                let all = self.all_lanes()?;
                let le = self.alu(Op::IOr, &[lt, eq])?;
                self.alu(Op::IXor, &[le, all])?
            }
        };
        self.vec(&[m, zero, zero, zero])
    }

    /// The mask of all lanes of the sub-group, active or not.
    fn all_lanes(&mut self) -> Result<Value> {
        let size = self.builtin(Builtin::SubgroupSize, Type::B32);
        let (max, all) = (self.u32(32), self.u32(u32::MAX));
        let absent = self.alu(Op::ISub, &[max, size])?;
        self.alu(Op::UShr, &[all, absent])
    }
}

pub(crate) fn default_slot() -> IoSlot {
    IoSlot {
        loc: IoLoc::Location(0),
        component: 0,
        index: 0,
        kind: NumKind::Float,
        interp: Interp::Smooth,
        sampling: Sampling::Center,
    }
}

/// Location of a block member without a decoration: after the previous member, with the decorations of
/// the block only.
fn behind(block: IoSlot, before: IoSlot, locations: u32) -> IoSlot {
    let IoSlot { interp, sampling, .. } = block;
    IoSlot { component: 0, interp, sampling, ..advance(before, locations) }
}

/// The slot `n` locations further.
pub(crate) fn advance(mut s: IoSlot, n: u32) -> IoSlot {
    if let IoLoc::Location(l) = &mut s.loc {
        *l = (u32::from(*l).saturating_add(n)).min(u32::from(u16::MAX)) as u16;
    }
    s
}
