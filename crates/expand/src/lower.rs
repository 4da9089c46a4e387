//! The compute shader of a stage: inputs come from records in memory, outputs go to others. An evaluation shader in front of the
//! rasteriser becomes a vertex shader instead.

use crate::record::Record;
use crate::{
    Emission, MAX_STREAMS, RESTART, StageWords, TESSELLATED_B, driver, driver_in, list_of, lists,
    pull,
};
use serde::{Deserialize, Serialize};
use tepui_ir::{
    Attrs, Builtin, Inst, IoLoc, IoSlot, Mem, Op, PrimitiveKind, Region, Shader, Stage, Type,
    Value, Var, VarData,
};
use tepui_passes::rewrite::{self, Emit, Lowering, Step};
use tepui_sysval::{Field, Long};

/// State of other stages that a stage's shader depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Expansion {
    /// The vertices that are read.
    pub vertices: Record,
    /// Evaluation: the patches that are read.
    pub patch: Record,
    /// Evaluation: vertices of a patch that is read.
    pub patch_vertices: u32,
    /// Evaluation: patches are triangles.
    pub triangles: bool,
    /// Geometry: the primitives that are read come from a tessellator, in an index list.
    pub tessellated: bool,
    /// Geometry: the stream that is rasterised.
    pub rasterised: u8,
    /// Geometry: the vertices are drawn in their order, as a list of primitives, and no index list is written. For shaders whose
    /// strips are primitives ([`Emission::single`]).
    pub in_order: bool,
    /// Geometry: nothing asks for the size of points, which is not written.
    pub no_size: bool,
}

/// Shaders that cannot be expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The stage needs no expansion.
    #[error("{0} shaders are not expanded")]
    Stage(Stage),
    /// More streams than there are.
    #[error("vertices that are emitted to stream {0}")]
    Stream(u32),
    /// No invocations, or more than the specification allows.
    #[error("output patches of {0} vertices")]
    Vertices(u32),
}

/// Maximum number of vertices of a patch, `maxTessellationPatchSize`.
pub const MAX_PATCH_VERTICES: u32 = 32;

/// Makes the compute shader of a geometry or tessellation shader, for sub-groups of `lanes`.
///
/// # Errors
/// [`Unsupported`] when the shader has what is not expanded.
pub fn lower(s: &mut Shader, expansion: &Expansion, lanes: u32) -> Result<(), Unsupported> {
    let stage = s.info.stage;
    let emission = Emission::of(s);
    if let Some(n) = emission.streams.checked_sub(1)
        && n >= MAX_STREAMS
    {
        return Err(Unsupported::Stream(n));
    }
    let out = match stage {
        Stage::TessControl => s.info.primitives.vertices,
        _ => 0,
    };
    let threads = match stage {
        Stage::Geometry | Stage::TessEvaluation => lanes,
        Stage::TessControl if !(1..=MAX_PATCH_VERTICES).contains(&out) => {
            return Err(Unsupported::Vertices(out));
        }
        // A larger patch is a workgroup of several subgroups, none of whose invocations is after the last patch: its barriers, which
        // are inside of the guard, are reached by all.
        Stage::TessControl if out > lanes => out,
        // The patches that fit into a subgroup.
        Stage::TessControl => lanes / out * out,
        stage => return Err(Unsupported::Stage(stage)),
    };
    let mut pass = Memory::new(s, expansion);
    pass.guard = Some(guard(s, &pass));
    rewrite::run(s, &mut pass);
    s.info.stage = Stage::Compute;
    s.info.workgroup_size = [threads, 1, 1];
    s.inputs.clear();
    s.outputs.clear();
    Ok(())
}

/// Lowers an evaluation shader that only the rasteriser follows to a hardware vertex shader. A vertex's
/// number is that of its point in the list of the tessellator; the instance is added to the number of
/// the point's patch, so that patches with equal levels may share one list. With `numbered`, it passes
/// on the number of the patch ([`pull::PRIMITIVE`]).
///
/// # Errors
/// [`Unsupported`] for another stage.
pub fn evaluate(s: &mut Shader, expansion: &Expansion, numbered: bool) -> Result<(), Unsupported> {
    if s.info.stage != Stage::TessEvaluation {
        return Err(Unsupported::Stage(s.info.stage));
    }
    if numbered {
        let root = s.root;
        let body = std::mem::take(&mut s.regions[root].insts);
        let mut b = tepui_ir::Builder::at(s, root);
        let number = b.builtin(Builtin::PrimitiveId, Type::B32);
        let zero = b.u32(0);
        b.effect(Op::StoreOutput, Attrs::Io(pull::PRIMITIVE), &[number, zero]);
        s.regions[root].insts.extend(body);
    }
    let mut pass = Memory { rasterised: true, ..Memory::new(s, expansion) };
    rewrite::run(s, &mut pass);
    s.info.stage = Stage::Vertex;
    s.inputs.clear();
    Ok(())
}

/// Bytes from patch to patch of a control shader: what belongs to the patch, then its vertices.
#[must_use]
pub fn patch_stride(patch: &Record, vertices: &Record, count: u32) -> u32 {
    patch.stride().next_multiple_of(16) + count * vertices.stride()
}

/// Wraps the shader into an `if`, since the last workgroup has threads after the last invocation;
/// returns the `if` and its condition.
fn guard(s: &mut Shader, pass: &Memory) -> (Inst, Value) {
    let root = s.root;
    let body = std::mem::take(&mut s.regions[root].insts);
    let then = s.make_region();
    s.regions[then].insts = body;
    let mut b = tepui_ir::Builder::at(s, root);
    let id = b.builtin(Builtin::GlobalInvocationId, Type::vec(32, 3));
    let x = b.extract(id, 0);
    let count = driver(&mut b, StageWords::COUNT);
    let each = b.u32(pass.invocations());
    let all = b.alu(Op::IMul, &[count, each]);
    let inside = b.alu(Op::ULt, &[x, all]);
    if pass.stage == Stage::Geometry {
        let zero = b.u32(0);
        b.store_var(pass.emitted, zero, None);
        for strip in &pass.strips {
            b.store_var(strip.listed, zero, None);
            b.store_var(strip.open, zero, None);
        }
    }
    let other = empty(&mut b);
    let i = b.if_(inside, then, other, &[]);
    b.yield_(&[]);
    (i, inside)
}

/// A region that does nothing.
fn empty(b: &mut tepui_ir::Builder<'_>) -> Region {
    let r = b.shader.make_region();
    tepui_ir::Builder::at(b.shader, r).yield_(&[]);
    r
}

struct Memory {
    stage: Stage,
    expansion: Expansion,
    /// The hardware runs the shader as vertex shader, and its outputs go to the rasteriser.
    rasterised: bool,
    /// The vertices that are written.
    written: Record,
    /// The patches that are written or read.
    patch: Record,
    emission: Emission,
    /// Vertices of an output patch.
    out: u32,
    /// Vertices that the invocation emitted.
    emitted: Var,
    /// Its index lists, the first that of the stream which is rasterised.
    strips: Vec<Strip>,
    /// The `if` around the shader, and whether the thread has an invocation.
    guard: Option<(Inst, Value)>,
}

/// An index list of an invocation.
#[derive(Clone, Copy)]
struct Strip {
    /// Indices in it.
    listed: Var,
    /// A strip has begun.
    open: Var,
}

impl Memory {
    fn new(s: &mut Shader, expansion: &Expansion) -> Memory {
        tepui_passes::lower_io::run(s);
        let (stage, emission) = (s.info.stage, Emission::of(s));
        let mut counter =
            |name: &str| s.vars.push(VarData { ty: Type::B32, len: None, name: name.to_owned() });
        let emitted = counter("emitted");
        let lists = match expansion.in_order {
            true => 0,
            false => lists(emission.streams, expansion.rasterised.into()),
        };
        let strips = (0..lists)
            .map(|_| Strip { listed: counter("listed"), open: counter("open") })
            .collect();
        let (patch, out) = match stage {
            Stage::TessControl => (Record::of_patch(s), s.info.primitives.vertices),
            _ => (expansion.patch, 0),
        };
        Memory {
            stage,
            expansion: *expansion,
            rasterised: false,
            written: Record::of_vertices(s),
            patch,
            emission,
            out,
            emitted,
            strips,
            guard: None,
        }
    }

    /// Invocations for each thing that is counted.
    fn invocations(&self) -> u32 {
        match self.stage {
            Stage::Geometry => self.emission.invocations,
            Stage::TessControl => self.out,
            _ => 1,
        }
    }

    /// Component of the invocation's number.
    fn id(&self, e: &mut Emit, k: u32) -> Value {
        let builtin = Attrs::Builtin(Builtin::GlobalInvocationId);
        let id = e.value(Op::LoadBuiltin, builtin, &[], Type::vec(32, 3));
        e.extract(id, k)
    }

    /// The primitive, patch or tessellated vertex in its instance, and the number of its invocation.
    fn place(&self, e: &mut Emit) -> (Value, Value) {
        let x = self.id(e, 0);
        match self.invocations() {
            1 => (x, e.u32(0)),
            n => {
                let n = e.u32(n);
                (e.op(Op::UDiv, &[x, n]), e.op(Op::UMod, &[x, n]))
            }
        }
    }

    /// The number of the primitive, patch or vertex among those of all instances.
    fn number(&self, e: &mut Emit) -> Value {
        if self.rasterised {
            let builtin = Attrs::Builtin(Builtin::VertexIndex);
            return e.value(Op::LoadBuiltin, builtin, &[], Type::B32);
        }
        let (in_instance, _) = self.place(e);
        let y = self.id(e, 1);
        let count = driver_in(e, StageWords::COUNT);
        let before = e.op(Op::IMul, &[y, count]);
        e.op(Op::IAdd, &[before, in_instance])
    }

    /// The patch that an evaluation shader's vertex is in, among those of all instances.
    fn evaluated_patch(&self, e: &mut Emit) -> Value {
        let at = self.tessellated(e);
        let patch = load(e, at, 0, Type::B32);
        if !self.rasterised {
            return patch;
        }
        let builtin = Attrs::Builtin(Builtin::InstanceIndex);
        let instance = e.value(Op::LoadBuiltin, builtin, &[], Type::B32);
        e.op(Op::IAdd, &[patch, instance])
    }

    /// An evaluation shader's vertex.
    fn tessellated(&self, e: &mut Emit) -> WordAddress {
        let number = self.number(e);
        WordAddress::at(e, StageWords::LIST).plus(e, number, TESSELLATED_B)
    }

    /// The record of the patch that is written or read.
    fn patch_record(&self, e: &mut Emit) -> WordAddress {
        let (number, vertices, count) = match self.stage {
            Stage::TessControl => (self.number(e), self.written, self.out),
            _ => {
                let Expansion { vertices, patch_vertices, .. } = self.expansion;
                (self.evaluated_patch(e), vertices, patch_vertices)
            }
        };
        let stride = patch_stride(&self.patch, &vertices, count);
        WordAddress::at(e, StageWords::PATCHES).plus(e, number, stride)
    }

    /// The record of a vertex of the patch that is written or read.
    fn patch_vertex(&self, e: &mut Emit, vertex: Value) -> WordAddress {
        let record = match self.stage {
            Stage::TessControl => self.written,
            _ => self.expansion.vertices,
        };
        let patch = self.patch_record(e);
        let vertices = patch.offset_by(e, self.patch.stride().next_multiple_of(16));
        // A vertex that does not exist is not looked for elsewhere.
        let count = match self.stage {
            Stage::TessControl => self.out,
            _ => self.expansion.patch_vertices,
        };
        let last = e.u32(count.saturating_sub(1));
        let vertex = e.op(Op::UMin, &[vertex, last]);
        vertices.plus(e, vertex, record.stride())
    }

    /// Number of the record of an input vertex.
    fn input_index(&self, e: &mut Emit, vertex: Value) -> Value {
        let primitive = self.number(e);
        let each = match self.stage {
            Stage::Geometry => e.u32(self.emission.reads),
            _ => driver_in(e, StageWords::PATCH_VERTICES),
        };
        let one = e.u32(1);
        let last = e.op(Op::ISub, &[each, one]);
        let vertex = e.op(Op::UMin, &[vertex, last]);
        let first = e.op(Op::IMul, &[primitive, each]);
        let mut at = e.op(Op::IAdd, &[first, vertex]);
        if self.expansion.tessellated {
            let from = WordAddress::at(e, StageWords::INDICES).plus(e, at, 4);
            at = load(e, from, 0, Type::B32);
        }
        at
    }

    /// The record of an input vertex.
    fn input_vertex(&self, e: &mut Emit, vertex: Value) -> WordAddress {
        if self.stage == Stage::TessEvaluation {
            return self.patch_vertex(e, vertex);
        }
        let at = self.input_index(e, vertex);
        WordAddress::at(e, StageWords::VERTICES).plus(e, at, self.expansion.vertices.stride())
    }

    /// The record of the vertex that is written.
    fn output_vertex(&self, e: &mut Emit) -> WordAddress {
        let at = match self.stage {
            Stage::Geometry => self.emitted_vertex(e),
            _ => self.number(e),
        };
        WordAddress::at(e, StageWords::OUTPUT).plus(e, at, self.written.stride())
    }

    /// The invocation among those of all instances.
    fn invocation(&self, e: &mut Emit) -> Value {
        let number = self.number(e);
        let (_, k) = self.place(e);
        let n = e.u32(self.invocations());
        let first = e.op(Op::IMul, &[number, n]);
        e.op(Op::IAdd, &[first, k])
    }

    /// The address of the next vertex of a geometry shader. Vertices after the declared maximum replace
    /// the last one.
    fn emitted_vertex(&self, e: &mut Emit) -> Value {
        let invocation = self.invocation(e);
        let n = e.u32(self.emission.vertices);
        let last = e.u32(self.emission.vertices - 1);
        let first = e.op(Op::IMul, &[invocation, n]);
        let emitted = e.value(Op::LoadVar, Attrs::Var(self.emitted), &[], Type::B32);
        let k = e.op(Op::UMin, &[emitted, last]);
        e.op(Op::IAdd, &[first, k])
    }

    /// Index of a stream's list.
    fn list_of(&self, stream: u32) -> usize {
        list_of(stream, self.expansion.rasterised.into()) as usize
    }

    /// The number of the invocation's first index in a list, counted from the first list's start.
    fn first_index(&self, e: &mut Emit, list: usize) -> Value {
        let mut invocation = self.invocation(e);
        if list > 0 {
            // The lists before have the indices of all invocations.
            let count = driver_in(e, StageWords::COUNT);
            let each = e.u32(self.invocations() * list as u32);
            let groups = Attrs::Builtin(Builtin::NumWorkgroups);
            let groups = e.value(Op::LoadBuiltin, groups, &[], Type::vec(32, 3));
            let instances = e.extract(groups, 1);
            let before = e.op(Op::IMul, &[count, each]);
            let before = e.op(Op::IMul, &[before, instances]);
            invocation = e.op(Op::IAdd, &[invocation, before]);
        }
        let n = e.u32(self.emission.indices);
        e.op(Op::IMul, &[invocation, n])
    }

    /// Appends to one of the invocation's lists of indices.
    fn list(&self, e: &mut Emit, list: usize, index: Value) {
        let last = e.u32(self.emission.indices - 1);
        let one = e.u32(1);
        let first = self.first_index(e, list);
        let strip = self.strips[list];
        let listed = e.value(Op::LoadVar, Attrs::Var(strip.listed), &[], Type::B32);
        let k = e.op(Op::UMin, &[listed, last]);
        let at = e.op(Op::IAdd, &[first, k]);
        let to = WordAddress::at(e, StageWords::LIST).plus(e, at, 4);
        store(e, to, 0, index);
        let next = e.op(Op::IAdd, &[listed, one]);
        e.inst(Op::StoreVar, Attrs::Var(strip.listed), &[next], &[]);
    }

    fn emit_vertex(&self, e: &mut Emit, stream: u32) {
        let list = self.list_of(stream);
        let (one, n) = (e.u32(1), e.u32(self.emission.vertices));
        let emitted = e.value(Op::LoadVar, Attrs::Var(self.emitted), &[], Type::B32);
        if let Some(strip) = self.strips.get(list) {
            let room = e.op(Op::ULt, &[emitted, n]);
            e.if_then(room, |e| {
                let index = self.emitted_vertex(e);
                self.list(e, list, index);
            });
            e.inst(Op::StoreVar, Attrs::Var(strip.open), &[one], &[]);
        }
        let next = e.op(Op::IAdd, &[emitted, one]);
        e.inst(Op::StoreVar, Attrs::Var(self.emitted), &[next], &[]);
    }

    fn end_primitive(&self, e: &mut Emit, stream: u32) {
        if self.emission.output == PrimitiveKind::Points {
            return;
        }
        let list = self.list_of(stream);
        let Some(strip) = self.strips.get(list) else { return };
        let var = Attrs::Var(strip.open);
        let zero = e.u32(0);
        let open = e.value(Op::LoadVar, var, &[], Type::B32);
        let open = e.op(Op::INe, &[open, zero]);
        e.if_then(open, |e| {
            let restart = e.u32(RESTART);
            self.list(e, list, restart);
        });
        e.inst(Op::StoreVar, var, &[zero], &[]);
    }

    fn builtin(&self, e: &mut Emit, b: Builtin) -> Option<Value> {
        Some(match b {
            Builtin::InvocationId => self.place(e).1,
            Builtin::PrimitiveId => {
                let first = driver_in(e, StageWords::FIRST);
                let number = match self.stage {
                    Stage::TessEvaluation => {
                        let patch = self.evaluated_patch(e);
                        in_instance(e, patch)
                    }
                    // All primitives of a patch have its number, as in Direct3D.
                    Stage::Geometry if self.expansion.tessellated => {
                        let zero = e.u32(0);
                        let vertex = self.input_index(e, zero);
                        let point =
                            WordAddress::at(e, StageWords::POINTS).plus(e, vertex, TESSELLATED_B);
                        let patch = load(e, point, 0, Type::B32);
                        in_instance(e, patch)
                    }
                    _ => self.place(e).0,
                };
                e.op(Op::IAdd, &[first, number])
            }
            Builtin::PatchVertices => match self.stage {
                Stage::TessEvaluation => e.u32(self.expansion.patch_vertices),
                _ => driver_in(e, StageWords::PATCH_VERTICES),
            },
            Builtin::TessCoord => {
                let at = self.tessellated(e);
                let [u, v] = [4, 8].map(|offset| load(e, at, offset, Type::B32));
                let w = match self.expansion.triangles {
                    true => {
                        let one = e.f32(1.0);
                        let rest = e.op(Op::FSub, &[one, u]);
                        e.op(Op::FSub, &[rest, v])
                    }
                    false => e.f32(0.0),
                };
                e.vec(&[u, v, w])
            }
            _ => return None,
        })
    }
}

impl Memory {
    /// Fills the places for indices that the invocation does not use.
    fn fill(&self, e: &mut Emit, list: usize) {
        let (one, n) = (e.u32(1), e.u32(self.emission.indices));
        let first = self.first_index(e, list);
        let listed = Attrs::Var(self.strips[list].listed);
        let list = WordAddress::at(e, StageWords::LIST).plus(e, first, 4);
        let listed = e.value(Op::LoadVar, listed, &[], Type::B32);
        e.while_(
            &[listed],
            |e, k| e.op(Op::ULt, &[k[0], n]),
            |e, k| {
                let restart = e.u32(RESTART);
                let to = list.plus(e, k[0], 4);
                store(e, to, 0, restart);
                vec![e.op(Op::IAdd, &[k[0], one])]
            },
        );
    }
}

impl Lowering for Memory {
    fn after(&mut self, e: &mut Emit, i: Inst) {
        if let Some((guard, inside)) = self.guard
            && self.stage == Stage::Geometry
            && guard == i
        {
            let full = self.emission.full.then(|| self.list_of(0));
            let mut lists = (0..self.strips.len()).filter(|&list| full != Some(list)).peekable();
            if lists.peek().is_some() {
                e.if_then(inside, |e| lists.for_each(|list| self.fill(e, list)));
            }
        }
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let (op, attrs) = (e.s.insts[i].op, e.s.insts[i].attrs);
        let arg = |e: &Emit, k: usize| e.s.arg(i, k);
        match (op, attrs) {
            (Op::LoadBuiltin, Attrs::Builtin(b)) => match self.builtin(e, b) {
                Some(v) => Step::Replace(vec![v]),
                None => Step::Keep,
            },
            (Op::LoadInputVertex, Attrs::Io(slot)) => {
                let (vertex, ty) = (arg(e, 1), e.ty(e.s.result(i)));
                let record = self.expansion.vertices;
                let at = self.input_vertex(e, vertex);
                Step::Replace(vec![read(e, at, record, slot, ty)])
            }
            (Op::LoadInput | Op::LoadOutputPatch, Attrs::Io(slot)) => {
                let ty = e.ty(e.s.result(i));
                let at = self.patch_record(e);
                Step::Replace(vec![read(e, at, self.patch, slot, ty)])
            }
            (Op::LoadOutputVertex, Attrs::Io(slot)) => {
                let (vertex, ty) = (arg(e, 1), e.ty(e.s.result(i)));
                let at = self.patch_vertex(e, vertex);
                Step::Replace(vec![read(e, at, self.written, slot, ty)])
            }
            (Op::StoreOutputVertex, Attrs::Io(slot)) => {
                let (v, vertex) = (arg(e, 0), arg(e, 2));
                let at = self.patch_vertex(e, vertex);
                write(e, at, self.written, slot, v);
                Step::Remove
            }
            (Op::StoreOutput, _) if self.rasterised => Step::Keep,
            (Op::StoreOutput, Attrs::Io(slot)) => {
                let v = arg(e, 0);
                if self.expansion.no_size && slot.loc == IoLoc::Builtin(Builtin::PointSize) {
                    return Step::Remove;
                }
                let (at, record) = match self.stage {
                    Stage::TessControl => (self.patch_record(e), self.patch),
                    _ => (self.output_vertex(e), self.written),
                };
                write(e, at, record, slot, v);
                Step::Remove
            }
            (Op::EmitVertex, Attrs::Index(stream)) => {
                self.emit_vertex(e, stream);
                Step::Remove
            }
            (Op::EndPrimitive, Attrs::Index(stream)) => {
                self.end_primitive(e, stream);
                Step::Remove
            }
            _ => Step::Keep,
        }
    }
}

/// The number of a patch in its instance.
fn in_instance(e: &mut Emit, patch: Value) -> Value {
    let count = driver_in(e, StageWords::PATCH_COUNT);
    e.op(Op::UMod, &[patch, count])
}

/// A memory address: an offset in words from a base address that all invocations share.
///
/// Offsets have 32 bits and count words, since the GPUs that this is for add such offsets to an address
/// in the memory instruction.
#[derive(Clone, Copy)]
pub struct WordAddress {
    base: Value,
    words: Value,
}

impl WordAddress {
    /// The address in one of the driver's words.
    pub fn at<S>(e: &mut Emit, field: Field<S, Long>) -> WordAddress {
        WordAddress { base: driver_in(e, field), words: e.u32(0) }
    }

    /// The address `number` times `bytes` on; `bytes` is a multiple of four.
    pub fn plus(self, e: &mut Emit, number: Value, bytes: u32) -> WordAddress {
        let each = e.u32(bytes / 4);
        let words = e.op(Op::IMul, &[number, each]);
        WordAddress { words: e.op(Op::IAdd, &[self.words, words]), ..self }
    }

    /// The address `bytes` on, a multiple of four.
    pub fn offset_by(self, e: &mut Emit, bytes: u32) -> WordAddress {
        let by = e.u32(bytes / 4);
        WordAddress { words: e.op(Op::IAdd, &[self.words, by]), ..self }
    }

    /// Its address.
    pub fn address(self, e: &mut Emit) -> Value {
        let words = e.convert(Op::U2U, self.words, Type::B64);
        let two = e.u32(2);
        let bytes = e.op(Op::IShl, &[words, two]);
        e.op(Op::IAdd, &[self.base, bytes])
    }
}

fn memory(ty: Type) -> Attrs {
    let align_log2 = ty.elem_bytes().min(4).trailing_zeros() as u8;
    Attrs::Mem(Mem { align_log2, ..Mem::default() })
}

fn load(e: &mut Emit, at: WordAddress, offset: u32, ty: Type) -> Value {
    let at = at.offset_by(e, offset).address(e);
    e.value(Op::LoadGlobal, memory(ty), &[at], ty)
}

fn store(e: &mut Emit, at: WordAddress, offset: u32, v: Value) {
    let at = at.offset_by(e, offset).address(e);
    let attrs = memory(e.ty(v));
    e.inst(Op::StoreGlobal, attrs, &[at, v], &[]);
}

/// Reads a slot of a record; what is not there is zero. Smaller components take words.
pub(crate) fn read(e: &mut Emit, at: WordAddress, record: Record, slot: IoSlot, ty: Type) -> Value {
    let Some(offset) = record.offset(slot) else {
        let zero = e.konst(ty.elem(), 0);
        return if ty.comps() == 1 { zero } else { e.vec(&vec![zero; usize::from(ty.comps())]) };
    };
    if ty.bits() >= 32 {
        return load(e, at, offset, ty);
    }
    let wide = load(e, at, offset, ty.with_bits(32));
    e.convert(Op::U2U, wide, ty)
}

/// Writes a slot of a record.
fn write(e: &mut Emit, at: WordAddress, record: Record, slot: IoSlot, v: Value) {
    let Some(offset) = record.offset(slot) else { return };
    let ty = e.ty(v);
    let v = if ty.bits() < 32 { e.convert(Op::U2U, v, ty.with_bits(32)) } else { v };
    store(e, at, offset, v);
}
