//! Transform feedback, by a second run of the vertex shader as a compute shader.
//!
//! Some GPUs cannot write vertices to memory. Before the draw, the driver therefore runs the
//! vertex program as a compute program, in which this pass replaces captured outputs by stores to
//! memory and removes all others.
//!
//! Each thread processes one vertex, in the order of the primitives: x counts the vertices of an
//! instance, y the instances. The vertex number ([`Builtin::VertexIndex`]) is the back end's to read, from a list of 32-bit
//! numbers in which the driver has expanded strips, fans and restarts
//! to points, lines or triangles, as Mesa does for its geometry pipeline. (source: Mesa,
//! hk_cmd_draw.c and libagx/geometry.cl, "unroll") The driver computes how many primitives fit;
//! vertices from [`CaptureWords::limit`] on are not captured. Records for the next stage always have room.

use crate::{Record, WordAddress, driver, driver_in};
use tepui_ir::{
    Attrs, Builder, Builtin, Capture, Inst, IoLoc, IoSlot, Mem, Op, Shader, Type, Value,
};
use tepui_passes::lower_io;
use tepui_passes::rewrite::{self, Emit, Lowering, Step};
use tepui_sysval::{Long, push_words};

push_words! {
    /// Words of a vertex shader that captures or leaves records.
    pub struct CaptureWords {
        /// Addresses of the buffers, where their first vertex goes; records are in the first.
        pub buffers: [Long; MAX_BUFFERS],
        /// The number of vertices of an instance.
        pub vertices: u32,
        /// The number of vertices that have room in every buffer.
        pub limit: u32,
    }
}

/// Buffers of captured vertices. source: `maxTransformFeedbackBuffers`, of which applications may expect four
pub const MAX_BUFFERS: usize = 4;

/// Destination of the outputs of a vertex shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Captured outputs go to the buffers of transform feedback.
    Captures,
    /// All outputs go to records in the first buffer, where the next stage reads them.
    Records,
}

/// Makes a vertex shader a compute shader that stores its outputs, with workgroups of `lanes` threads, all of one instance.
pub fn run(s: &mut Shader, destination: Destination, lanes: u32) {
    // Arrays that are indexed at run time are stored element by element.
    lower_io::run(s);
    s.info.workgroup_size = [lanes, 1, 1];
    let mut stores = match destination {
        Destination::Records => Stores::Record(Record::of_vertices(s)),
        Destination::Captures => Stores::Captures(std::mem::take(&mut s.captures)),
    };
    rewrite::run(s, &mut stores);
    guard(s);
}

/// Wraps the shader into an `if`: the last workgroup of an instance has threads after its last vertex,
/// which must have no visible effects.
fn guard(s: &mut Shader) {
    let root = s.root;
    let body = std::mem::take(&mut s.regions[root].insts);
    let (then, other) = (s.make_region(), s.make_region());
    s.regions[then].insts = body;
    Builder::at(s, other).yield_(&[]);
    let mut b = Builder::at(s, root);
    let id = b.builtin(Builtin::GlobalInvocationId, Type::vec(32, 3));
    let x = b.extract(id, 0);
    let count = driver(&mut b, CaptureWords::VERTICES);
    let inside = b.alu(Op::ULt, &[x, count]);
    b.if_(inside, then, other, &[]);
    b.yield_(&[]);
}

/// Destination of outputs.
enum Stores {
    /// Captured outputs into buffers of transform feedback.
    Captures(Vec<Capture>),
    /// All outputs to the first buffer, where the next stage reads them.
    Record(Record),
}

impl Lowering for Stores {
    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let (Op::StoreOutput, Attrs::Io(slot)) = (e.s.insts[i].op, e.s.insts[i].attrs) else {
            return Step::Keep;
        };
        let value = e.s.arg(i, 0);
        match self {
            Stores::Captures(captures) => {
                for c in captures {
                    // Buffers that there are not take nothing.
                    let buffer = CaptureWords::BUFFERS.get(c.buffer as usize);
                    if let (Some(offset), Some(buffer)) = (place(c, slot), buffer) {
                        let number = vertex(e);
                        let limit = driver_in(e, CaptureWords::LIMIT);
                        let room = e.op(Op::ULt, &[number, limit]);
                        let base = driver_in(e, buffer);
                        let stride = e.u32(c.stride);
                        let [number, stride] =
                            [number, stride].map(|v| e.convert(Op::U2U, v, Type::B64));
                        let at = e.op(Op::IMul, &[number, stride]);
                        let at = e.op(Op::IAdd, &[base, at]);
                        e.if_then(room, |e| store(e, at, offset, value));
                    }
                }
            }
            Stores::Record(record) => {
                if let Some(offset) = record.offset(slot) {
                    let number = vertex(e);
                    let at = WordAddress::at(e, CaptureWords::BUFFERS.at(0)).plus(
                        e,
                        number,
                        record.stride(),
                    );
                    let at = at.offset_by(e, offset).address(e);
                    store(e, at, 0, value);
                }
            }
        }
        Step::Remove
    }
}

/// The byte of a vertex where an output goes.
fn place(c: &Capture, slot: IoSlot) -> Option<u32> {
    let component = u32::from(slot.component.checked_sub(c.slot.component)?);
    let word = c.ty.elem_bytes().min(4);
    let inside = match (c.slot.loc, slot.loc) {
        (IoLoc::Location(first), IoLoc::Location(at)) => {
            let k = u32::from(at.checked_sub(first)?);
            // Vectors of more than two 64-bit components take two locations.
            let wide = c.ty.size_bytes() > 16;
            let (element, half) = if wide { (k / 2, k % 2) } else { (k, 0) };
            // Components that share the location but are not captured are skipped.
            let words = (c.ty.size_bytes() / word).saturating_sub(4 * half).min(4);
            (k < c.locations && component < words)
                .then(|| element * c.ty.size_bytes() + 16 * half + component * word)
        }
        // Elements of built-in arrays are components.
        (IoLoc::Builtin(a), IoLoc::Builtin(b)) => (a == b
            && component < c.locations * u32::from(c.ty.comps()))
        .then_some(component * word),
        _ => None,
    };
    Some(c.offset + inside?)
}

/// The number of the vertex that the thread makes.
fn vertex(e: &mut Emit) -> Value {
    let id = e.value(
        Op::LoadBuiltin,
        Attrs::Builtin(Builtin::GlobalInvocationId),
        &[],
        Type::vec(32, 3),
    );
    let (x, y) = (e.extract(id, 0), e.extract(id, 1));
    let per_instance = driver_in(e, CaptureWords::VERTICES);
    let before = e.op(Op::IMul, &[y, per_instance]);
    e.op(Op::IAdd, &[before, x])
}

/// Stores an output at an offset in bytes from an address.
fn store(e: &mut Emit, at: Value, offset: u32, value: Value) {
    let mem = Mem {
        align_log2: e.ty(value).elem_bytes().min(4).trailing_zeros() as u8,
        offset: offset as i32,
        ..Mem::default()
    };
    e.inst(Op::StoreGlobal, Attrs::Mem(mem), &[at, value], &[]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tepui_ir::{Interp, NumKind, Sampling};

    #[test]
    fn what_shares_a_location_is_not_captured() {
        let slot = |location, component| IoSlot {
            loc: IoLoc::Location(location),
            component,
            index: 0,
            kind: NumKind::Float,
            interp: Interp::Flat,
            sampling: Sampling::Center,
        };
        let capture = |bits, comps, component| Capture {
            slot: slot(3, component),
            ty: Type::vec(bits, comps),
            locations: if bits * comps > 128 { 2 } else { 1 },
            stream: 0,
            buffer: 0,
            stride: 64,
            offset: 8,
        };
        let places = |c: &Capture, location| [0, 1, 2, 3].map(|k| place(c, slot(location, k)));
        let scalar = capture(32, 1, 1);
        assert_eq!(places(&scalar, 3), [None, Some(8), None, None]);
        assert_eq!(places(&scalar, 4), [None; 4]);
        let pair = capture(32, 2, 2);
        assert_eq!(places(&pair, 3), [None, None, Some(8), Some(12)]);
        // Three doubles take a location and a half.
        let doubles = capture(64, 3, 0);
        assert_eq!(places(&doubles, 3), [Some(8), Some(12), Some(16), Some(20)]);
        assert_eq!(places(&doubles, 4), [Some(24), Some(28), None, None]);
    }
}
