//! Emitted vertices of geometry shaders as stores to numbered vertices of the invocation's URB entry.
//!
//! `emit_vertex` becomes stores of the outputs to the vertex whose number a variable counts; the variable and the control
//! data, bits for each vertex, are outputs of their own at the end of the shader ([`COUNT`], [`CONTROL`]). Variables become
//! values of the IR, so loops that are unrolled have numbers that are known.
//!
//! Vertices past the declared maximum overwrite the last one: the entry has no room for them.

use crate::stage::ControlData;
use tepui_ir::{
    Attrs, Builder, Builtin, Inst, Interp, IoLoc, IoSlot, NumKind, Op, PrimitiveKind, Sampling,
    Shader, Stage, Type, Value, Var, VarData,
};
use tepui_passes::rewrite::{self, Emit, Lowering, Step};

/// The location of the number of emitted vertices.
pub const COUNT: u16 = 0x8000;

/// The location of control data: the component counts double words.
pub const CONTROL: u16 = 0x8001;

/// The location of the stream of all vertices, if it is another than the first.
pub const STREAM: u16 = 0x8002;

/// Streams of a geometry shader.
const STREAMS: u32 = 4;

/// Vertices that an invocation can emit at most. source: Mesa, anv_physical_device.c (`maxGeometryOutputVertices`)
pub const MAX_VERTICES: u32 = 256;

/// The control data that a shader needs.
#[must_use]
pub fn control_data(s: &Shader) -> ControlData {
    match s.info.primitives.output {
        PrimitiveKind::Points if only_stream(s).is_none() => ControlData::Streams,
        PrimitiveKind::Points => ControlData::None,
        _ if s.any(|s, _, i| s.insts[i].op == Op::EndPrimitive) => ControlData::Cuts,
        _ => ControlData::None,
    }
}

/// The stream that all vertices are emitted to, if it is one.
fn only_stream(s: &Shader) -> Option<u32> {
    let emits = |stream: u32| {
        let to = Attrs::Index(stream);
        s.any(|s, _, i| s.insts[i].op == Op::EmitVertex && s.insts[i].attrs == to)
    };
    let mut used = (0..STREAMS).filter(|&stream| emits(stream));
    let first = used.next().unwrap_or(0);
    used.next().is_none().then_some(first)
}

/// The control data of a shader after the pass: those that say nothing are left out.
#[must_use]
pub fn prepared_control_data(s: &Shader) -> ControlData {
    let stored = |location: u16| {
        s.regions[s.root].insts.iter().filter_map(move |&i| {
            match (s.insts[i].op, s.insts[i].attrs) {
                (Op::StoreOutput, Attrs::Io(slot)) if slot.loc == IoLoc::Location(location) => {
                    Some((u32::from(slot.component), s.as_const(s.arg(i, 0))))
                }
                _ => None,
            }
        })
    };
    let used = match s.info.primitives.output {
        PrimitiveKind::Points => ControlData::Streams,
        _ => ControlData::Cuts,
    };
    // The last strip ends in any case.
    let last =
        stored(COUNT).find_map(|(_, count)| count).map(|count| (count as u32).wrapping_sub(1));
    let is_empty = |(word, bits): (u32, Option<u64>)| match (bits, used, last) {
        (Some(0), ..) => true,
        (Some(bits), ControlData::Cuts, Some(last)) if last / 32 == word => {
            bits as u32 & !(1 << (last % 32)) == 0
        }
        _ => false,
    };
    if stored(CONTROL).all(is_empty) { ControlData::None } else { used }
}

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    if s.info.stage != Stage::Geometry {
        return false;
    }
    let control = control_data(s);
    let max = s.info.primitives.vertices.clamp(1, MAX_VERTICES);
    let mut var =
        |name: &str| s.vars.push(VarData { ty: Type::B32, len: None, name: name.to_owned() });
    let count = var("vertices");
    let words = (max * control.bits()).div_ceil(32);
    let bits: Vec<Var> = (0..words).map(|_| var("control")).collect();
    let header = s.any(|s, _, i| match (s.insts[i].op, s.insts[i].attrs) {
        (Op::StoreOutput, Attrs::Io(slot)) => is_header(slot.loc),
        _ => false,
    });
    let last = s.regions[s.root].insts.last().copied();
    let begin = bits.iter().copied().chain([count]).collect();
    let stream = only_stream(s).unwrap_or(0);
    rewrite::run(s, &mut Emissions { control, stream, max, count, bits, header, last });
    initialise(s, begin);
    true
}

/// Sets variables to zero before anything else.
fn initialise(s: &mut Shader, vars: Vec<Var>) {
    let root = s.root;
    let insts = std::mem::take(&mut s.regions[root].insts);
    let mut b = Builder::at(s, root);
    let zero = b.u32(0);
    for var in vars {
        b.store_var(var, zero, None);
    }
    s.regions[root].insts.extend(insts);
}

/// Whether an output is in the first slot of a vertex, which fixed functions always read.
fn is_header(loc: IoLoc) -> bool {
    let IoLoc::Builtin(b) = loc else { return false };
    matches!(b, Builtin::Layer | Builtin::ViewportIndex | Builtin::PointSize)
}

fn slot(loc: IoLoc, component: u8) -> IoSlot {
    IoSlot {
        loc,
        component,
        index: 0,
        kind: NumKind::Uint,
        interp: Interp::Flat,
        sampling: Sampling::Center,
    }
}

struct Emissions {
    control: ControlData,
    /// The stream of all vertices; 0 if they have several.
    stream: u32,
    max: u32,
    count: Var,
    bits: Vec<Var>,
    /// Whether the shader writes a part of the header.
    header: bool,
    /// The end of the shader.
    last: Option<Inst>,
}

impl Emissions {
    fn load(e: &mut Emit<'_>, var: Var) -> Value {
        e.value(Op::LoadVar, Attrs::Var(var), &[], Type::B32)
    }

    fn store(e: &mut Emit<'_>, var: Var, v: Value) {
        e.inst(Op::StoreVar, Attrs::Var(var), &[v], &[]);
    }

    /// The number of the next vertex, within the entry.
    fn vertex(&self, e: &mut Emit<'_>) -> Value {
        let count = Self::load(e, self.count);
        let last = e.u32(self.max - 1);
        e.op(Op::UMin, &[count, last])
    }

    /// Sets bits of control data, of the vertex with a number.
    fn set(&self, e: &mut Emit<'_>, vertex: Value, value: u32) {
        let per_word = 32 / self.control.bits();
        let mask = e.u32(per_word - 1);
        let place = e.op(Op::IAnd, &[vertex, mask]);
        let size = e.u32(self.control.bits());
        let shift = e.op(Op::IMul, &[place, size]);
        let value = e.u32(value);
        let bits = e.op(Op::IShl, &[value, shift]);
        let shift = e.u32(per_word.trailing_zeros());
        let word = e.op(Op::UShr, &[vertex, shift]);
        for (k, &var) in (0..).zip(&self.bits) {
            let old = Self::load(e, var);
            let with = e.op(Op::IOr, &[old, bits]);
            if self.bits.len() == 1 {
                Self::store(e, var, with);
                continue;
            }
            let number = e.u32(k);
            let here = e.op(Op::IEq, &[word, number]);
            let new = e.select(here, with, old);
            Self::store(e, var, new);
        }
    }

    fn emit(&self, e: &mut Emit<'_>, stream: u32) {
        let vertex = self.vertex(e);
        if !self.header {
            let zero = e.u32(0);
            let slot = slot(IoLoc::Builtin(Builtin::Layer), 0);
            e.inst(Op::StoreOutputVertex, Attrs::Io(slot), &[zero, zero, vertex], &[]);
        }
        if self.control == ControlData::Streams && stream > 0 {
            self.set(e, vertex, stream & 3);
        }
        let one = e.u32(1);
        let count = Self::load(e, self.count);
        let next = e.op(Op::IAdd, &[count, one]);
        let max = e.u32(self.max);
        let next = e.op(Op::UMin, &[next, max]);
        Self::store(e, self.count, next);
    }

    /// A strip ends after the last vertex. If there is none, the bit is that of a vertex that the entry does not have, or of
    /// the last of 32, where a strip ends in any case.
    fn cut(&self, e: &mut Emit<'_>) {
        let count = Self::load(e, self.count);
        let one = e.u32(1);
        let last = e.op(Op::ISub, &[count, one]);
        self.set(e, last, 1);
    }

    /// The number of vertices and the control data as outputs.
    fn finish(&self, e: &mut Emit<'_>) {
        let zero = e.u32(0);
        let all = self.bits.iter().enumerate().map(|(k, &var)| (CONTROL, k as u8, var));
        for (location, component, var) in all.chain([(COUNT, 0, self.count)]) {
            let v = Self::load(e, var);
            let slot = slot(IoLoc::Location(location), component);
            e.inst(Op::StoreOutput, Attrs::Io(slot), &[v, zero], &[]);
        }
        if self.stream > 0 {
            let v = e.u32(self.stream);
            let slot = slot(IoLoc::Location(STREAM), 0);
            e.inst(Op::StoreOutput, Attrs::Io(slot), &[v, zero], &[]);
        }
    }
}

impl Lowering for Emissions {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        let op = s.insts[i].op;
        matches!(op, Op::StoreOutput | Op::EmitVertex | Op::EndPrimitive) || Some(i) == self.last
    }

    fn inst(&mut self, e: &mut Emit<'_>, i: Inst) -> Step {
        match (e.s.insts[i].op, e.s.insts[i].attrs) {
            (Op::StoreOutput, attrs @ Attrs::Io(_)) => {
                let vertex = self.vertex(e);
                let args = [e.s.arg(i, 0), e.s.arg(i, 1), vertex];
                e.inst(Op::StoreOutputVertex, attrs, &args, &[]);
                Step::Remove
            }
            (Op::EmitVertex, Attrs::Index(stream)) => {
                self.emit(e, stream);
                Step::Remove
            }
            (Op::EndPrimitive, _) => {
                if self.control == ControlData::Cuts {
                    self.cut(e);
                }
                Step::Remove
            }
            _ => {
                self.finish(e);
                Step::Keep
            }
        }
    }
}
