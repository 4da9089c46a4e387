//! The shader: arenas of instructions, values and regions, and declarations of resources, inputs
//! and outputs.

use crate::attrs::{
    Attrs, Builtin, Dim, Image, ImageFormat, InstFlags, IoLoc, IoSlot, NumKind, TexOperands,
    named_enum,
};
use crate::entity::{Inst, Loc, Region, Res, Value, Var};
use crate::op::{Op, fold, is_denormal};
use crate::types::Type;
use arrayvec::ArrayVec;
use cranelift_entity::{EntityList, EntityRef, ListPool, PrimaryMap, SecondaryMap};
use std::sync::Arc;

named_enum! {
    /// A shader stage.
    Stage {
        /// Compute.
        Compute = "compute",
        /// Vertex.
        Vertex = "vertex",
        /// Fragment.
        Fragment = "fragment",
        /// Tessellation control: an invocation for each vertex of the output patch.
        TessControl = "tess_control",
        /// Tessellation evaluation: an invocation for each vertex that the tessellator makes.
        TessEvaluation = "tess_evaluation",
        /// Geometry: an invocation, or several, for each primitive.
        Geometry = "geometry",
    }
}

impl Stage {
    /// Whether inputs that are not `Patch` are those of the vertices of a primitive or patch.
    #[must_use]
    pub fn has_vertex_inputs(self) -> bool {
        matches!(self, Stage::TessControl | Stage::TessEvaluation | Stage::Geometry)
    }
}

named_enum! {
    /// The primitives that a geometry shader reads or writes, or that the tessellator makes.
    PrimitiveKind {
        /// Points.
        Points = "points",
        /// Lines; as outputs of geometry shaders strips.
        Lines = "lines",
        /// Lines with the vertices before and after.
        LinesAdjacency = "lines_adjacency",
        /// Triangles; as outputs of geometry shaders strips.
        Triangles = "triangles",
        /// Triangles with the vertices across their edges.
        TrianglesAdjacency = "triangles_adjacency",
        /// Tessellated rectangles.
        Quads = "quads",
        /// Tessellated rows of lines.
        Isolines = "isolines",
    }
}

impl PrimitiveKind {
    /// Vertices of an input primitive.
    #[must_use]
    pub fn vertices(self) -> u32 {
        match self {
            PrimitiveKind::Points => 1,
            PrimitiveKind::Lines | PrimitiveKind::Isolines => 2,
            PrimitiveKind::Triangles => 3,
            PrimitiveKind::LinesAdjacency | PrimitiveKind::Quads => 4,
            PrimitiveKind::TrianglesAdjacency => 6,
        }
    }
}

named_enum! {
    /// Spacing of tessellation.
    Spacing {
        /// Into equal segments.
        Equal = "equal",
        /// Into an even number of segments, two of them shorter.
        FractionalEven = "fractional_even",
        /// Into an odd number of segments, two of them shorter.
        FractionalOdd = "fractional_odd",
    }
}

/// Properties of geometry and tessellation shaders.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Primitives {
    /// Geometry: what is read. Tessellation: what the tessellator makes, if the stage says so.
    pub input: Option<PrimitiveKind>,
    /// Geometry: what is written.
    pub output: PrimitiveKind,
    /// Geometry: most vertices that an invocation emits. Tessellation control: vertices of the output patch.
    pub vertices: u32,
    /// Geometry: invocations for each primitive.
    pub invocations: u32,
    /// Tessellation: how edges are divided, if the stage says so.
    pub spacing: Option<Spacing>,
    /// Tessellation: triangles are clockwise in the coordinates of the patch, if the stage says so.
    pub clockwise: Option<bool>,
    /// Tessellation: the vertices are points.
    pub point_mode: bool,
}

impl Default for Primitives {
    fn default() -> Primitives {
        Primitives {
            input: None,
            output: PrimitiveKind::Points,
            vertices: 0,
            invocations: 1,
            spacing: None,
            clockwise: None,
            point_mode: false,
        }
    }
}

named_enum! {
    /// The kind of a resource.
    ResKind {
        /// Uniform buffer: read only.
        UniformBuffer = "uniform_buffer",
        /// Storage buffer.
        StorageBuffer = "storage_buffer",
        /// Sampled image without sampler.
        Texture = "texture",
        /// Sampler alone.
        Sampler = "sampler",
        /// Texture and sampler under one handle.
        CombinedTextureSampler = "combined",
        /// Storage image.
        StorageImage = "storage_image",
        /// Uniform texel buffer.
        UniformTexelBuffer = "uniform_texel_buffer",
        /// Storage texel buffer.
        StorageTexelBuffer = "storage_texel_buffer",
        /// Input attachment.
        InputAttachment = "input_attachment",
    }
}

named_enum! {
    /// Relation of a written fragment depth to the interpolated one.
    DepthMode {
        /// Any depth.
        Any = "any",
        /// The written depth is greater or equal.
        Greater = "greater",
        /// The written depth is less or equal.
        Less = "less",
        /// The written depth is the same.
        Unchanged = "unchanged",
    }
}

/// A descriptor slot of the pipeline layout.
#[derive(Clone, PartialEq, Debug)]
pub struct Resource {
    /// Its kind.
    pub kind: ResKind,
    /// Descriptor set.
    pub set: u32,
    /// Binding in the set.
    pub binding: u32,
    /// Number of descriptors; 0 for a run-time array.
    pub count: u32,
    /// Input attachments: `InputAttachmentIndex`.
    pub input_attachment: u32,
    /// Images: dimensionality.
    pub dim: Dim,
    /// Images: arrayed.
    pub array: bool,
    /// Images: multisampled.
    pub ms: bool,
    /// Storage images: declared format.
    pub format: ImageFormat,
    /// Images: what the texels are.
    pub texels: NumKind,
    /// Name in the source, or empty.
    pub name: String,
}

impl Resource {
    /// A resource of one descriptor with no image properties.
    #[must_use]
    pub fn new(kind: ResKind, set: u32, binding: u32) -> Resource {
        Resource {
            kind,
            set,
            binding,
            count: 1,
            input_attachment: 0,
            dim: Dim::D2,
            array: false,
            ms: false,
            format: ImageFormat::Unknown,
            texels: NumKind::Float,
            name: String::new(),
        }
    }
}

/// A per-invocation variable: one value, or an array of values.
///
/// Structures and matrices have been split by the front end: a matrix is an array of columns.
#[derive(Clone, PartialEq, Debug)]
pub struct VarData {
    /// Type of an element.
    pub ty: Type,
    /// Number of elements when it is an array (accesses carry an index), else `None`.
    pub len: Option<u32>,
    /// Name in the source, or empty.
    pub name: String,
}

/// A declared user input or output, for linking stages and for listings.
#[derive(Clone, PartialEq, Debug)]
pub struct IoDecl {
    /// First location and component.
    pub slot: IoSlot,
    /// Type of one location's worth of it.
    pub ty: Type,
    /// Number of locations.
    pub locations: u32,
    /// Name in the source, or empty.
    pub name: String,
}

/// An output that transform feedback captures.
#[derive(Clone, PartialEq, Debug)]
pub struct Capture {
    /// First location and component.
    pub slot: IoSlot,
    /// Type of one location's worth of it.
    pub ty: Type,
    /// Number of locations (elements of an array, columns of a matrix).
    pub locations: u32,
    /// Stream of a geometry shader whose vertices are captured.
    pub stream: u32,
    /// Transform feedback buffer.
    pub buffer: u32,
    /// Bytes between vertices in that buffer.
    pub stride: u32,
    /// First byte of this output in a vertex's stride.
    pub offset: u32,
}

named_enum! {
    /// Grouping of a workgroup's invocations into quads, for derivatives.
    DerivativeGroup {
        /// No derivatives: there are none in this shader, or it is a fragment shader.
        None = "none",
        /// Squares of two by two in the x and y of the local invocation id.
        Quads = "quads",
        /// Four in a row of the local invocation index.
        Linear = "linear",
    }
}

/// A position in the source text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SrcLoc {
    /// Index into [`Shader::files`].
    pub file: u32,
    /// Line, from 1; 0 when unknown.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub col: u32,
}

/// Float-controls execution modes of one bit size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FloatControls {
    /// Denormals must be kept.
    pub denorm_preserve: bool,
    /// Denormals must be flushed to zero.
    pub denorm_flush: bool,
    /// Signed zeros, infinities and NaNs must be kept.
    pub preserve_special: bool,
    /// Round to nearest even is required.
    pub rte: bool,
    /// Round towards zero is required.
    pub rtz: bool,
}

/// Properties of the entry point.
#[derive(Clone, PartialEq, Debug)]
pub struct Info {
    /// Stage.
    pub stage: Stage,
    /// Entry point's name.
    pub entry: String,
    /// Compute: workgroup size.
    pub workgroup_size: [u32; 3],
    /// Compute: bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Bytes of push constants that the shader declares.
    pub push_bytes: u32,
    /// Bytes of scratch memory for `load_scratch` and `store_scratch`.
    pub scratch_bytes: u32,
    /// Vertex: the fragment shader of the same pipeline reads all locations that are written, interpolated as the outputs say.
    pub linked: bool,
    /// Fragment: depth and stencil tests run before the shader.
    pub early_tests: bool,
    /// Fragment: the coverage that it reads is what early tests left.
    pub post_depth_coverage: bool,
    /// Fragment: early tests, and late when the shader discards (`EarlyAndLateFragmentTests`).
    pub early_and_late_tests: bool,
    /// Fragment: how a written depth relates to the interpolated one.
    pub depth: DepthMode,
    /// Fragment: runs once per sample.
    pub per_sample: bool,
    /// Float controls for 16, 32 and 64 bits.
    pub float: [FloatControls; 3],
    /// Required quad or maximal reconvergence was asked for.
    pub maximal_reconvergence: bool,
    /// Compute: how invocations form quads.
    pub derivatives: DerivativeGroup,
    /// Geometry and tessellation.
    pub primitives: Primitives,
}

impl Info {
    /// Float controls of a size, `None` when it is no float size.
    #[must_use]
    pub fn float_controls(&self, bits: u8) -> Option<&FloatControls> {
        match bits {
            16 => Some(&self.float[0]),
            32 => Some(&self.float[1]),
            64 => Some(&self.float[2]),
            _ => None,
        }
    }

    /// Defaults for a stage.
    #[must_use]
    pub fn new(stage: Stage) -> Info {
        Info {
            stage,
            entry: "main".to_owned(),
            workgroup_size: [1; 3],
            shared_bytes: 0,
            push_bytes: 0,
            scratch_bytes: 0,
            linked: false,
            early_tests: false,
            post_depth_coverage: false,
            early_and_late_tests: false,
            depth: DepthMode::Any,
            per_sample: false,
            float: Default::default(),
            maximal_reconvergence: false,
            derivatives: DerivativeGroup::None,
            primitives: Primitives::default(),
        }
    }
}

/// Definition of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueDef {
    /// Result `.1` of an instruction.
    Result(Inst, u32),
    /// Parameter `.1` of a region (the body of a loop).
    Param(Region, u32),
}

/// A value's type and definition.
#[derive(Clone, Copy, Debug)]
pub struct ValueData {
    /// Type.
    pub ty: Type,
    /// Definition.
    pub def: ValueDef,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct InstData {
    /// Operation.
    pub op: Op,
    /// Rules for optimisation.
    pub flags: InstFlags,
    /// Source location.
    pub loc: Loc,
    /// Attributes.
    pub attrs: Attrs,
    /// Operands, in [`Shader::pool`].
    pub args: EntityList<Value>,
    /// Results, in [`Shader::pool`].
    pub results: EntityList<Value>,
}

/// A region: parameters, and instructions of which the last is a terminator.
#[derive(Clone, Debug, Default)]
pub struct RegionData {
    /// Parameters (bodies of loops only).
    pub params: Vec<Value>,
    /// Instructions, in order.
    pub insts: Vec<Inst>,
}

/// The optional operands of an image instruction, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs, reason = "the names are those of TexOperands")]
pub struct TexArgs {
    pub dref: Option<Value>,
    pub bias: Option<Value>,
    pub lod: Option<Value>,
    pub ddx: Option<Value>,
    pub ddy: Option<Value>,
    pub offset: Option<Value>,
    pub sample: Option<Value>,
    pub min_lod: Option<Value>,
    pub offsets: Option<Value>,
}

/// The bits of each component of a constant.
pub type Comps = ArrayVec<u64, { Type::MAX_COMPS }>;

/// A shader of one entry point, everything inlined: one tree of regions under [`Shader::root`].
///
/// Entities are never freed; a pass that removes an instruction takes it out of its region.
#[derive(Clone, Debug)]
pub struct Shader {
    /// Properties of the entry point.
    pub info: Info,
    /// The outermost region.
    pub root: Region,
    /// Instructions.
    pub insts: PrimaryMap<Inst, InstData>,
    /// Values.
    pub values: PrimaryMap<Value, ValueData>,
    /// Regions.
    pub regions: PrimaryMap<Region, RegionData>,
    /// Variables.
    pub vars: PrimaryMap<Var, VarData>,
    /// Resources.
    pub resources: PrimaryMap<Res, Resource>,
    /// Constant data, which `load_constant` reads; aligned to 16 bytes in memory.
    pub data: Vec<u8>,
    /// Source locations; entry 0 is "unknown".
    pub locs: PrimaryMap<Loc, SrcLoc>,
    /// Source files by name.
    pub files: Vec<String>,
    /// User inputs.
    pub inputs: Vec<IoDecl>,
    /// User outputs.
    pub outputs: Vec<IoDecl>,
    /// Vertex: what transform feedback captures.
    pub captures: Vec<Capture>,
    /// Names of values, where the source gave them.
    pub names: SecondaryMap<Value, Option<Arc<str>>>,
    /// Storage of operand and result lists.
    pub pool: ListPool<Value>,
}

impl Shader {
    /// A shader with an empty root region.
    #[must_use]
    pub fn new(stage: Stage) -> Shader {
        Shader::with_capacity(stage, 0)
    }

    /// [`Shader::new`] with a capacity in instructions.
    #[must_use]
    pub fn with_capacity(stage: Stage, insts: usize) -> Shader {
        // Most instructions have one result, in a block of four words of the pool, and operands in
        // another.
        const POOL_WORDS: usize = 8;
        let mut regions = PrimaryMap::new();
        let root = regions.push(RegionData::default());
        let mut locs = PrimaryMap::new();
        locs.push(SrcLoc::default());
        Shader {
            info: Info::new(stage),
            root,
            insts: PrimaryMap::with_capacity(insts),
            values: PrimaryMap::with_capacity(insts),
            regions,
            vars: PrimaryMap::new(),
            resources: PrimaryMap::new(),
            data: Vec::new(),
            locs,
            files: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            captures: Vec::new(),
            names: SecondaryMap::new(),
            pool: ListPool::with_capacity(POOL_WORDS * insts),
        }
    }

    /// Makes an instruction that is in no region yet, with results of the given types.
    pub fn make_inst(&mut self, op: Op, attrs: Attrs, args: &[Value], tys: &[Type]) -> Inst {
        let args = EntityList::from_slice(args, &mut self.pool);
        let inst = self.insts.next_key();
        let first = self.values.len();
        for (n, &ty) in tys.iter().enumerate() {
            self.values.push(ValueData { ty, def: ValueDef::Result(inst, n as u32) });
        }
        let results = match *tys {
            [_] => EntityList::from_slice(&[Value::new(first)], &mut self.pool),
            _ => EntityList::from_iter((first..first + tys.len()).map(Value::new), &mut self.pool),
        };
        let (flags, loc) = (InstFlags::empty(), Loc::default());
        self.insts.push(InstData { op, flags, loc, attrs, args, results })
    }

    /// Appends a result to an instruction.
    pub fn add_result(&mut self, inst: Inst, ty: Type) -> Value {
        let n = self.insts[inst].results.len(&self.pool) as u32;
        let v = self.values.push(ValueData { ty, def: ValueDef::Result(inst, n) });
        self.insts[inst].results.push(v, &mut self.pool);
        v
    }

    /// Appends a parameter to a region.
    pub fn add_param(&mut self, region: Region, ty: Type) -> Value {
        let n = self.regions[region].params.len() as u32;
        let v = self.values.push(ValueData { ty, def: ValueDef::Param(region, n) });
        self.regions[region].params.push(v);
        v
    }

    /// Replaces an instruction's results; the old values must no longer be used. The kept values
    /// are renumbered.
    pub fn set_results(&mut self, inst: Inst, results: &[Value]) {
        self.insts[inst].results = EntityList::from_slice(results, &mut self.pool);
        for (i, &v) in results.iter().enumerate() {
            self.values[v].def = ValueDef::Result(inst, i as u32);
        }
    }

    /// Replaces a region's parameters; the kept values are renumbered.
    pub fn set_params(&mut self, region: Region, params: &[Value]) {
        self.regions[region].params = params.to_vec();
        for (i, &v) in params.iter().enumerate() {
            self.values[v].def = ValueDef::Param(region, i as u32);
        }
    }

    /// Replaces an instruction's operands.
    pub fn set_args(&mut self, inst: Inst, args: &[Value]) {
        self.insts[inst].args = EntityList::from_slice(args, &mut self.pool);
    }

    /// The replacement of `old` takes its name, unless it has one.
    pub fn inherit_name(&mut self, new: Value, old: Value) {
        if let Some(n) = &self.names[old]
            && self.names[new].is_none()
        {
            self.names[new] = Some(n.clone());
        }
    }

    /// A new empty region.
    pub fn make_region(&mut self) -> Region {
        self.regions.push(RegionData::default())
    }

    /// Operands.
    #[inline]
    #[must_use]
    pub fn args(&self, inst: Inst) -> &[Value] {
        self.insts[inst].args.as_slice(&self.pool)
    }

    /// Operands, to rewrite in place.
    #[inline]
    pub fn args_mut(&mut self, inst: Inst) -> &mut [Value] {
        self.insts[inst].args.as_mut_slice(&mut self.pool)
    }

    /// Operand `i`.
    #[inline]
    #[must_use]
    pub fn arg(&self, inst: Inst, i: usize) -> Value {
        self.args(inst)[i]
    }

    /// Results.
    #[inline]
    #[must_use]
    pub fn results(&self, inst: Inst) -> &[Value] {
        self.insts[inst].results.as_slice(&self.pool)
    }

    /// The only result.
    ///
    /// # Panics
    /// When there is none.
    #[inline]
    #[must_use]
    pub fn result(&self, inst: Inst) -> Value {
        self.results(inst)[0]
    }

    /// Type of a value.
    #[inline]
    #[must_use]
    pub fn ty(&self, v: Value) -> Type {
        self.values[v].ty
    }

    /// The instruction that defines `v`, unless it is a parameter.
    #[inline]
    #[must_use]
    pub fn def_inst(&self, v: Value) -> Option<Inst> {
        match self.values[v].def {
            ValueDef::Result(i, _) => Some(i),
            ValueDef::Param(..) => None,
        }
    }

    /// The op that defines `v`, unless it is a parameter.
    #[inline]
    #[must_use]
    pub fn def_op(&self, v: Value) -> Option<Op> {
        self.def_inst(v).map(|i| self.insts[i].op)
    }

    /// The bits of `v` when it is a scalar constant.
    #[inline]
    #[must_use]
    pub fn as_const(&self, v: Value) -> Option<u64> {
        match self.insts[self.def_inst(v)?].attrs {
            Attrs::Const(c) => Some(c),
            _ => None,
        }
    }

    /// The components of `v` when it is a constant or a `vec` (or `copy`) of constants.
    #[must_use]
    pub fn as_const_comps(&self, v: Value) -> Option<Comps> {
        let inst = self.def_inst(v)?;
        match self.insts[inst].op {
            Op::Const => self.as_const(v).into_iter().map(Some).collect(),
            Op::Copy => self.as_const_comps(self.arg(inst, 0)),
            Op::Vec => self.args(inst).iter().map(|&a| self.as_const(a)).collect(),
            _ => None,
        }
    }

    /// Folds a pure op with one result under the execution modes; `None` if an operand is not
    /// constant.
    #[must_use]
    pub fn fold(&self, op: Op, attrs: &Attrs, args: &[Value], ty: Type) -> Option<Comps> {
        if args.is_empty() || args.len() > Type::MAX_COMPS || !op.is_pure() {
            return None;
        }
        // Nearly always one is not: what follows is kept out of the way.
        if !args.iter().all(|&a| self.is_const(a)) {
            return None;
        }
        self.fold_consts(op, attrs, args, ty)
    }

    #[inline(never)]
    fn fold_consts(&self, op: Op, attrs: &Attrs, args: &[Value], ty: Type) -> Option<Comps> {
        let parts: ArrayVec<(Type, Comps), { Type::MAX_COMPS }> = args
            .iter()
            .map(|&a| Some((self.ty(a), self.as_const_comps(a)?)))
            .collect::<Option<_>>()?;
        let refs: ArrayVec<(Type, &[u64]), { Type::MAX_COMPS }> =
            parts.iter().map(|(t, c)| (*t, c.as_slice())).collect();
        let mut out = Vec::new();
        fold_under(&self.info, op, &refs, attrs, &[ty], &mut out).then(|| out.into_iter().collect())
    }

    /// Whether [`Shader::as_const_comps`] gives something, and `f` holds for every component.
    #[must_use]
    pub fn const_all(&self, v: Value, f: &impl Fn(u64) -> bool) -> bool {
        let Some(inst) = self.def_inst(v) else { return false };
        match self.insts[inst].op {
            Op::Const => self.as_const(v).is_some_and(f),
            Op::Copy => self.const_all(self.arg(inst, 0), f),
            Op::Vec => self.args(inst).iter().all(|&a| self.as_const(a).is_some_and(f)),
            _ => false,
        }
    }

    /// Whether `v` is a constant or a `vec` of constants.
    #[inline]
    #[must_use]
    pub fn is_const(&self, v: Value) -> bool {
        self.const_all(v, &|_| true)
    }

    /// Regions of an instruction: none, one or two.
    #[inline]
    pub fn inst_regions(&self, inst: Inst) -> impl Iterator<Item = Region> + use<> {
        let (a, b) = match self.insts[inst].attrs {
            Attrs::If(a, b) => (Some(a), Some(b)),
            Attrs::Loop(a) => (Some(a), None),
            _ => (None, None),
        };
        a.into_iter().chain(b)
    }

    /// The terminator of a region, when it has one.
    #[inline]
    #[must_use]
    pub fn terminator(&self, region: Region) -> Option<Inst> {
        self.regions[region].insts.last().copied().filter(|&i| self.insts[i].op.is_terminator())
    }

    /// Number of operands of an image instruction before the optional ones.
    #[must_use]
    pub fn tex_fixed_args(op: Op) -> usize {
        match op {
            Op::TexSample | Op::TexSampleLod | Op::TexGather | Op::TexQueryLod | Op::ImageStore => {
                3
            }
            Op::TexFetch | Op::ImageLoad => 2,
            Op::ImageSize => 1,
            _ => usize::MAX,
        }
    }

    /// The attributes of an image instruction and its optional operands by name.
    #[must_use]
    pub fn tex_args(&self, inst: Inst) -> Option<(Image, TexArgs)> {
        let data = &self.insts[inst];
        let Attrs::Image(image) = data.attrs else { return None };
        let mut rest = self.args(inst).iter().copied().skip(Self::tex_fixed_args(data.op));
        let mut out = TexArgs::default();
        let mut take = |flag| if image.operands.contains(flag) { rest.next() } else { None };
        out.dref = take(TexOperands::DREF);
        out.bias = take(TexOperands::BIAS);
        out.lod = take(TexOperands::LOD);
        out.ddx = take(TexOperands::GRAD);
        out.ddy = take(TexOperands::GRAD);
        out.offset = take(TexOperands::OFFSET);
        out.sample = take(TexOperands::SAMPLE);
        out.min_lod = take(TexOperands::MIN_LOD);
        out.offsets = take(TexOperands::OFFSETS);
        Some((image, out))
    }

    /// Every region in pre-order with its instructions: calls `f` for each instruction, outer
    /// before inner.
    pub fn walk(&self, mut f: impl FnMut(&Shader, Region, Inst)) {
        self.any(|s, r, i| {
            f(s, r, i);
            false
        });
    }

    /// Whether `f` holds for any instruction; visits them in the order of [`Shader::walk`].
    pub fn any(&self, mut f: impl FnMut(&Shader, Region, Inst) -> bool) -> bool {
        // Positions at which to continue, innermost last.
        let mut stack = Vec::new();
        let mut next = Some((self.root, 0));
        while let Some((region, first)) = next {
            next = None;
            for (at, &inst) in self.regions[region].insts.iter().enumerate().skip(first) {
                if f(self, region, inst) {
                    return true;
                }
                let mut inner = self.inst_regions(inst);
                if let Some(r) = inner.next() {
                    stack.push((region, at + 1));
                    stack.extend(inner.map(|r| (r, 0)));
                    next = Some((r, 0));
                    break;
                }
            }
            next = next.or_else(|| stack.pop());
        }
        false
    }

    /// Nesting depth of regions: 1 for the root region alone.
    #[must_use]
    pub fn nesting(&self) -> usize {
        let mut deepest = 0;
        let mut stack = vec![(self.root, 1)];
        while let Some((region, depth)) = stack.pop() {
            deepest = deepest.max(depth);
            for &i in &self.regions[region].insts {
                stack.extend(self.inst_regions(i).map(|r| (r, depth + 1)));
            }
        }
        deepest
    }

    /// Elements from a slot to the end of the declared input or output that it is in: what an
    /// offset operand can reach. Clip and cull distances have eight; a place that nothing declares
    /// is alone.
    #[must_use]
    pub fn io_elements(&self, slot: IoSlot, output: bool) -> u32 {
        const DISTANCES: u32 = 8;
        let IoLoc::Location(l) = slot.loc else {
            return DISTANCES.saturating_sub(u32::from(slot.component)).max(1);
        };
        let left = |d: &IoDecl| match d.slot.loc {
            IoLoc::Location(first) if d.slot.index == slot.index => {
                let at = u32::from(l).checked_sub(u32::from(first))?;
                d.locations.checked_sub(at).filter(|&n| n > 0)
            }
            _ => None,
        };
        let decls = if output { &self.outputs } else { &self.inputs };
        decls.iter().filter_map(left).max().unwrap_or(1)
    }

    /// Number of instructions in the tree.
    #[must_use]
    pub fn inst_count(&self) -> usize {
        let mut n = 0;
        self.walk(|_, _, _| n += 1);
        n
    }

    /// Whether the shader reads the built-in.
    #[must_use]
    pub fn reads_builtin(&self, b: Builtin) -> bool {
        self.any(|s, _, i| s.insts[i].attrs == Attrs::Builtin(b))
    }
}

/// [`fold`] as constant folding may use it in a shader: false as well when an execution mode would give another result
/// than `fold`, which keeps denormals.
fn fold_under(
    info: &Info,
    op: Op,
    args: &[(Type, &[u64])],
    attrs: &Attrs,
    tys: &[Type],
    out: &mut Vec<u64>,
) -> bool {
    let at = out.len();
    if !fold(op, args, attrs, tys, out) {
        return false;
    }
    let flushed = |t: Type, v: u64| {
        is_denormal(t.bits(), v) && info.float_controls(t.bits()).is_some_and(|c| c.denorm_flush)
    };
    if info.float.iter().any(|c| c.denorm_flush)
        && op.may_flush()
        && (args.iter().any(|(t, c)| c.iter().any(|&v| flushed(*t, v)))
            || out[at..].iter().any(|&v| flushed(tys[0], v)))
    {
        out.truncate(at);
        return false;
    }
    true
}
