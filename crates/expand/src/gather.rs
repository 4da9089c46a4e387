//! Transform feedback of geometry shaders: compacts the emitted primitives.
//!
//! Two programs do it. [`count`] counts the primitives of each invocation's strips; the driver turns
//! the counts into the numbers of first primitives by a prefix sum. [`shader`] stores the captured
//! outputs of the primitives that fit.

use crate::capture::MAX_BUFFERS;
use crate::record::Record;
use crate::{Emission, RESTART, driver};
use tepui_ir::{
    Attrs, Builder, Builtin, Capture, IoLoc, IoSlot, Mem, Op, PrimitiveKind, Region, Shader, Stage,
    Type, Value, Var, VarData,
};
use tepui_sysval::{Long, push_words};

push_words! {
    /// Words of the programs.
    pub struct GatherWords {
        /// Address of the index list of all invocations.
        pub list: Long,
        /// Address of a word for each invocation: the number of its primitives, which [`count`]
        /// writes, then the number of its first primitive.
        pub table: Long,
        /// Address of the records that indices name.
        pub records: Long,
        /// Invocations.
        pub invocations: u32,
        /// Vertices that fit into the buffers.
        pub limit: u32,
        /// Addresses of the four buffers.
        pub buffers: [Long; MAX_BUFFERS],
    }
}

/// Vertices of an emitted primitive.
#[must_use]
pub fn vertices(output: PrimitiveKind) -> u32 {
    match output {
        PrimitiveKind::Points => 1,
        PrimitiveKind::Lines => 2,
        _ => 3,
    }
}

/// Makes the program that counts the primitives of each invocation in one of its lists.
#[must_use]
pub fn count(emission: &Emission, list: u32, lanes: u32) -> Shader {
    build(emission, list, lanes, |w, b| {
        let n = b.load_var(w.primitives, None);
        let to = w.table_entry(b);
        store(b, to, 0, n);
    })
}

/// Makes the program that stores captured outputs of a stream, whose list it gets; `last` says that
/// the last vertex of a primitive is the provoking one.
#[must_use]
pub fn shader(
    captures: &[Capture],
    record: &Record,
    emission: &Emission,
    list: u32,
    last: bool,
    lanes: u32,
) -> Shader {
    let each = vertices(emission.output);
    let mut s = build_with(emission, list, lanes, |w, b, k, run| {
        // The primitive's number among all, and the destination of its vertices.
        let n = b.load_var(w.primitives, None);
        let entry = w.table_entry(b);
        let first = load(b, entry, 0, Type::B32);
        let n = b.alu(Op::IAdd, &[first, n]);
        let each_value = b.u32(each);
        let from = b.alu(Op::IMul, &[n, each_value]);
        let end = b.alu(Op::IAdd, &[from, each_value]);
        let limit = driver(b, GatherWords::LIMIT);
        let fits = b.alu(Op::UGe, &[limit, end]);
        let then = b.shader.make_region();
        {
            let mut b = Builder::at(b.shader, then);
            for v in 0..each {
                let back = index_distance(&mut b, each, v, run, last);
                let at = b.alu(Op::ISub, &[k, back]);
                let index = w.index(&mut b, at);
                let records = driver(&mut b, GatherWords::RECORDS);
                let from_record = scaled(&mut b, records, index, record.stride());
                let v = b.u32(v);
                let to = b.alu(Op::IAdd, &[from, v]);
                for c in captures {
                    // Buffers that there are not take nothing.
                    let Some(buffer) = GatherWords::BUFFERS.get(c.buffer as usize) else {
                        continue;
                    };
                    let buffer = driver(&mut b, buffer);
                    let to = scaled(&mut b, buffer, to, c.stride);
                    copy(&mut b, c, record, from_record, to);
                }
            }
            b.yield_(&[]);
        }
        let other = nothing(b);
        b.if_(fits, then, other, &[]);
    });
    s.info.entry = "gather".to_owned();
    s
}

/// Distance of vertex `v` of a primitive from its last index in the list. Odd triangles of a strip
/// exchange the two vertices that are not provoking. source: Vulkan specification, "Triangle Strips"
fn index_distance(b: &mut Builder<'_>, each: u32, v: u32, run: Value, last: bool) -> Value {
    let even = b.u32(each - 1 - v);
    let exchanged = match (last, v) {
        (false, 1) => 2,
        (false, 2) => 1,
        (true, 0) => 1,
        (true, 1) => 0,
        _ => return even,
    };
    if each != 3 {
        return even;
    }
    let odd = b.u32(2 - exchanged);
    // The first triangle of a strip ends with its third vertex.
    let one = b.u32(1);
    let parity = b.alu(Op::IAnd, &[run, one]);
    let is_odd = b.alu(Op::INe, &[parity, one]);
    b.alu(Op::Select, &[is_odd, odd, even])
}

/// Copies a captured output, component by component.
fn copy(b: &mut Builder<'_>, c: &Capture, record: &Record, from: Value, to: Value) {
    let words = c.ty.elem_bytes().div_ceil(4);
    let component_b = c.ty.elem_bytes();
    let (mut slot, mut at) = (c.slot, c.offset);
    // Vectors of more than two 64-bit components take two locations.
    let wide = c.ty.size_bytes() > 16;
    for _ in 0..c.locations / if wide { 2 } else { 1 } {
        for k in 0..u32::from(c.ty.comps()) {
            let word = k * words;
            // Components after the fourth word are in the next location.
            let mut place = IoSlot { component: slot.component + (word % 4) as u8, ..slot };
            if let (IoLoc::Location(l), true) = (slot.loc, word >= 4) {
                place.loc = IoLoc::Location(l + 1);
            }
            for part in 0..words {
                let place = IoSlot { component: place.component + part as u8, ..place };
                // Captured outputs that the shader does not write stay undefined.
                let Some(offset) = record.offset(place) else { continue };
                let value = load(b, from, offset, Type::B32);
                let narrow = component_b < 4;
                let value = if narrow { b.convert(Op::U2U, value, c.ty.bits()) } else { value };
                store(b, to, at + k * component_b + 4 * part, value);
            }
        }
        at += c.ty.size_bytes();
        match &mut slot.loc {
            IoLoc::Location(l) => *l += if wide { 2 } else { 1 },
            IoLoc::Builtin(_) => slot.component += 1,
        }
    }
}

/// State of the programs' walk over an invocation's indices.
struct Walk {
    /// The invocation.
    x: Value,
    /// Its number of indices.
    indices: u32,
    /// The index list.
    list: u32,
    /// Primitives so far.
    primitives: Var,
}

impl Walk {
    /// Address of the invocation's word.
    fn table_entry(&self, b: &mut Builder<'_>) -> Value {
        let table = driver(b, GatherWords::TABLE);
        scaled(b, table, self.x, 4)
    }

    /// Index `k` of the invocation.
    fn index(&self, b: &mut Builder<'_>, k: Value) -> Value {
        let n = b.u32(self.indices);
        let mut x = self.x;
        if self.list > 0 {
            let (count, before) = (driver(b, GatherWords::INVOCATIONS), b.u32(self.list));
            let before = b.alu(Op::IMul, &[count, before]);
            x = b.alu(Op::IAdd, &[x, before]);
        }
        let first = b.alu(Op::IMul, &[x, n]);
        let at = b.alu(Op::IAdd, &[first, k]);
        let list = driver(b, GatherWords::LIST);
        let from = scaled(b, list, at, 4);
        load(b, from, 0, Type::B32)
    }
}

fn build(
    emission: &Emission,
    list: u32,
    lanes: u32,
    end: impl FnOnce(&Walk, &mut Builder<'_>),
) -> Shader {
    walk(emission, list, lanes, |_, _, _, _| {}, end)
}

fn build_with(
    emission: &Emission,
    list: u32,
    lanes: u32,
    each: impl FnOnce(&Walk, &mut Builder<'_>, Value, Value),
) -> Shader {
    walk(emission, list, lanes, each, |_, _| {})
}

/// Walks over the indices of each invocation: `each` builds what happens at the last index of a
/// primitive, which it gets with the length of the strip so far; `end` what happens at the end.
fn walk(
    emission: &Emission,
    list: u32,
    lanes: u32,
    each: impl FnOnce(&Walk, &mut Builder<'_>, Value, Value),
    end: impl FnOnce(&Walk, &mut Builder<'_>),
) -> Shader {
    let mut s = Shader::new(Stage::Compute);
    s.info.workgroup_size = [lanes, 1, 1];
    let mut var =
        |name: &str| s.vars.push(VarData { ty: Type::B32, len: None, name: name.to_owned() });
    let (primitives, run, at) = (var("primitives"), var("run"), var("at"));
    let mut b = Builder::new(&mut s);
    let id = b.builtin(Builtin::GlobalInvocationId, Type::vec(32, 3));
    let x = b.extract(id, 0);
    let count = driver(&mut b, GatherWords::INVOCATIONS);
    let inside = b.alu(Op::ULt, &[x, count]);
    let w = Walk { x, indices: emission.indices, list, primitives };
    let then = b.shader.make_region();
    {
        let mut b = Builder::at(b.shader, then);
        let zero = b.u32(0);
        for var in [primitives, run, at] {
            b.store_var(var, zero, None);
        }
        let body = b.shader.make_region();
        {
            let mut b = Builder::at(b.shader, body);
            let (zero, one, n) = (b.u32(0), b.u32(1), b.u32(emission.indices));
            let k = b.load_var(at, None);
            let more = b.alu(Op::ULt, &[k, n]);
            let (go, stop) = (b.shader.make_region(), b.shader.make_region());
            Builder::at(b.shader, go).yield_(&[]);
            Builder::at(b.shader, stop).break_(&[]);
            b.if_(more, go, stop, &[]);
            let index = w.index(&mut b, k);
            let restart = b.u32(RESTART);
            let ends = b.alu(Op::IEq, &[index, restart]);
            let before = b.load_var(run, None);
            let longer = b.alu(Op::IAdd, &[before, one]);
            let length = b.alu(Op::Select, &[ends, zero, longer]);
            b.store_var(run, length, None);
            let least = b.u32(vertices(emission.output));
            let completes = b.alu(Op::UGe, &[length, least]);
            let then = b.shader.make_region();
            {
                let mut b = Builder::at(b.shader, then);
                each(&w, &mut b, k, length);
                let n = b.load_var(primitives, None);
                let one = b.u32(1);
                let n = b.alu(Op::IAdd, &[n, one]);
                b.store_var(primitives, n, None);
                b.yield_(&[]);
            }
            let other = nothing(&mut b);
            b.if_(completes, then, other, &[]);
            let next = b.alu(Op::IAdd, &[k, one]);
            b.store_var(at, next, None);
            b.continue_(&[]);
        }
        b.loop_(body, &[], &[]);
        end(&w, &mut b);
        b.yield_(&[]);
    }
    let other = nothing(&mut b);
    b.if_(inside, then, other, &[]);
    b.yield_(&[]);
    s
}

/// A region that does nothing.
fn nothing(b: &mut Builder<'_>) -> Region {
    let r = b.shader.make_region();
    Builder::at(b.shader, r).yield_(&[]);
    r
}

/// `base + number * stride`.
fn scaled(b: &mut Builder<'_>, base: Value, number: Value, stride: u32) -> Value {
    let stride = b.u64(u64::from(stride));
    let number = b.convert(Op::U2U, number, 64);
    let offset = b.alu(Op::IMul, &[number, stride]);
    b.alu(Op::IAdd, &[base, offset])
}

fn mem(ty: Type, offset: u32) -> Attrs {
    let align_log2 = ty.elem_bytes().min(4).trailing_zeros() as u8;
    Attrs::Mem(Mem { align_log2, offset: offset as i32, ..Mem::default() })
}

fn load(b: &mut Builder<'_>, at: Value, offset: u32, ty: Type) -> Value {
    b.value(Op::LoadGlobal, mem(ty, offset), &[at], ty)
}

fn store(b: &mut Builder<'_>, at: Value, offset: u32, v: Value) {
    let attrs = mem(b.shader.ty(v), offset);
    b.effect(Op::StoreGlobal, attrs, &[at, v]);
}
