//! An expanded geometry shader leaves in memory what the interpreter says of the shader as it was.

use std::collections::HashMap;

use tepui_expand::record::Record;
use tepui_expand::{Emission, Expansion, RESTART, StageWords, lower};
use tepui_ir::interp::{self, Group, Memory};
use tepui_ir::{
    Attrs, Builder, Builtin, Interp, IoLoc, IoSlot, NumKind, Op, PrimitiveKind, Sampling, Shader,
    Stage, Type, Value,
};
use tepui_sysval::{Long, Words as _};

/// Lanes of a sub-group.
const LANES: u32 = 16;

const POSITION: IoLoc = IoLoc::Builtin(Builtin::Position);
const COLOUR: IoLoc = IoLoc::Location(1);
const NUMBER: IoLoc = IoLoc::Builtin(Builtin::PrimitiveId);

/// The outputs of a vertex.
type Words = HashMap<(IoLoc, u8), u32>;

fn slot(loc: IoLoc) -> IoSlot {
    let (interp, sampling) = (Interp::Flat, Sampling::Center);
    IoSlot { loc, component: 0, index: 0, kind: NumKind::Float, interp, sampling }
}

/// Triangles become a strip for each of two invocations: the first leaves out odd primitives, the
/// second ends its strip after three vertices, begins another and ends that twice.
fn shader() -> Shader {
    let mut s = Shader::new(Stage::Geometry);
    s.info.primitives.input = Some(PrimitiveKind::Triangles);
    s.info.primitives.output = PrimitiveKind::Triangles;
    s.info.primitives.vertices = 5;
    s.info.primitives.invocations = 2;
    let mut b = Builder::new(&mut s);
    let (zero, one) = (b.u32(0), b.u32(1));
    let invocation = b.builtin(Builtin::InvocationId, Type::B32);
    let primitive = b.builtin(Builtin::PrimitiveId, Type::B32);
    let second = b.alu(Op::IEq, &[invocation, one]);
    let parity = b.alu(Op::IAnd, &[primitive, one]);
    let even = b.alu(Op::IEq, &[parity, zero]);
    let draws = b.alu(Op::IOr, &[second, even]);
    let then = b.shader.make_region();
    {
        let mut b = Builder::at(b.shader, then);
        for v in 0..3 {
            vertex(&mut b, v, primitive);
        }
        let again = b.shader.make_region();
        {
            let mut b = Builder::at(b.shader, again);
            b.effect(Op::EndPrimitive, Attrs::Index(0), &[]);
            for v in [2, 0] {
                vertex(&mut b, v, primitive);
            }
            b.effect(Op::EndPrimitive, Attrs::Index(0), &[]);
            b.effect(Op::EndPrimitive, Attrs::Index(0), &[]);
            b.yield_(&[]);
        }
        let other = nothing(&mut b);
        b.if_(second, again, other, &[]);
        b.yield_(&[]);
    }
    let other = nothing(&mut b);
    b.if_(draws, then, other, &[]);
    b.yield_(&[]);
    s
}

fn nothing(b: &mut Builder<'_>) -> tepui_ir::Region {
    let r = b.shader.make_region();
    Builder::at(b.shader, r).yield_(&[]);
    r
}

/// Emits vertex `v` of the primitive.
fn vertex(b: &mut Builder<'_>, v: u32, primitive: Value) {
    let (zero, v) = (b.u32(0), b.u32(v));
    for (loc, ty) in [(POSITION, Type::vec(32, 4)), (COLOUR, Type::vec(32, 2))] {
        let io = Attrs::Io(slot(loc));
        let value = b.value(Op::LoadInputVertex, io, &[zero, v], ty);
        b.effect(Op::StoreOutput, io, &[value, zero]);
    }
    b.effect(Op::StoreOutput, Attrs::Io(slot(NUMBER)), &[primitive, zero]);
    b.effect(Op::EmitVertex, Attrs::Index(0), &[]);
}

/// A word of an input vertex.
fn input(vertex: u32, loc: IoLoc, component: u8) -> u32 {
    vertex * 100 + u32::from(loc == COLOUR) * 10 + u32::from(component)
}

#[test]
fn memory_holds_what_is_emitted() {
    const PRIMITIVES: u32 = 19;
    const INSTANCES: u32 = 2;
    let original = shader();
    tepui_ir::validate(&original).expect("a shader");
    let emission = Emission::of(&original);
    assert_eq!((emission.reads, emission.vertices, emission.indices), (3, 5, 10));

    // Vertices are read through the tessellator's index list, and directly.
    const PATCHES: u32 = 7;
    let all = PRIMITIVES * INSTANCES;
    for tessellated in [false, true] {
        let number = |k: u32| if tessellated { all * 3 - 1 - k } else { k };
        let patch = |point: u32| point / 5;
        // Emission of each invocation: vertices as words, and the ends of strips.
        let mut want: Vec<Vec<Option<Words>>> = Vec::new();
        for p in 0..all {
            for invocation in 0..2u64 {
                let mut group = Group { lanes: 1, ..Group::default() };
                group.builtins.insert(Builtin::InvocationId, vec![vec![invocation]]);
                let id = match tessellated {
                    true => patch(number(3 * p)) % PATCHES,
                    false => p % PRIMITIVES,
                };
                let id = u64::from(id);
                group.builtins.insert(Builtin::PrimitiveId, vec![vec![id]]);
                for (loc, n) in [(POSITION, 4), (COLOUR, 2)] {
                    for c in 0..n {
                        let words = (0..3).map(|v| input(number(3 * p + v), loc, c)).collect();
                        group.vertex_inputs.insert((loc, c), vec![words]);
                    }
                }
                let outcome = interp::run(&original, &group, &mut Memory::default(), 1000)
                    .expect("the interpreter runs it");
                let emissions = outcome.emitted.into_iter().map(|e| match e.emission {
                    interp::Emission::Vertex(words) => Some(words),
                    interp::Emission::End => None,
                });
                want.push(emissions.collect());
            }
        }

        let record = Record::of_vertices(&original);
        // The layout of the vertex shader before, which writes the same outputs.
        let expansion = Expansion { vertices: record, tessellated, ..Expansion::default() };
        let mut s = original.clone();
        lower(&mut s, &expansion, LANES).expect("it is expanded");
        tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));

        let stride = record.stride() as usize;
        let mut vertices = vec![0u8; stride * 3 * all as usize];
        for v in 0..all * 3 {
            for (loc, n) in [(POSITION, 4), (COLOUR, 2)] {
                for c in 0..n {
                    let at = IoSlot { component: c, ..slot(loc) };
                    let offset = record.offset(at).expect("a place") as usize;
                    let to = stride * v as usize + offset;
                    vertices[to..to + 4].copy_from_slice(&input(v, loc, c).to_le_bytes());
                }
            }
        }
        let places = (all * 2) as usize;
        let indices: Vec<u8> = (0..all * 3).flat_map(|k| number(k).to_le_bytes()).collect();
        let points: Vec<u8> = (0..all * 3)
            .flat_map(|k| [patch(k), 0, 0].into_iter().flat_map(u32::to_le_bytes))
            .collect();
        let (output, list) = (5 * places * stride, 10 * places * 4);
        let mut m = Memory::default();
        let buffers = [vertices, vec![0xee; output], vec![0xee; list], indices, points];
        m.physical.extend((1u64..).map(|k| k << 32).zip(buffers));
        let [vertices, output, list, indices, points] =
            [1u64, 2, 3, 4, 5].map(|k| Long::from(k << 32));
        let words = StageWords {
            vertices,
            output,
            list,
            indices,
            points,
            count: PRIMITIVES,
            patch_count: PATCHES,
            ..StageWords::default()
        };
        m.uniforms = words.bytes().to_vec();
        let groups = (PRIMITIVES * 2).div_ceil(LANES);
        interp::dispatch(&s, [groups, INSTANCES, 1], &mut m, 10_000_000).expect("it runs");
        assert_eq!(m.out_of_bounds, 0);

        let (output, list) = (&m.physical[&(2 << 32)], &m.physical[&(3 << 32)]);
        let word = |bytes: &[u8], at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        for (k, want) in want.iter().enumerate() {
            let mut strips = Vec::new();
            let mut open = false;
            for n in 0..10 {
                let index = word(list, (k * 10 + n) * 4);
                if index == RESTART {
                    // Places that are not used follow.
                    if std::mem::take(&mut open) {
                        strips.push(None);
                    }
                    continue;
                }
                open = true;
                assert_eq!(index / 5, k as u32, "the place of another invocation");
                let at = index as usize * stride;
                let vertex =
                    [(POSITION, 4), (COLOUR, 2), (NUMBER, 1)].iter().flat_map(|&(loc, n)| {
                        (0..n).map(move |c| {
                            let slot = IoSlot { component: c, ..slot(loc) };
                            let offset = record.offset(slot).expect("a place") as usize;
                            ((loc, c), word(output, at + offset))
                        })
                    });
                strips.push(Some(vertex.collect::<HashMap<_, _>>()));
            }
            // An end without vertices before is none; the last strip ends by itself.
            let mut expected: Vec<_> = Vec::new();
            for e in want {
                if e.is_some() || expected.last().is_some_and(Option::is_some) {
                    expected.push(e.clone());
                }
            }
            if expected.last().is_some_and(Option::is_some) {
                expected.push(None);
            }
            assert_eq!(strips, expected, "invocation {k}, tessellated {tessellated}");
        }
    }
}

/// The declared number of vertices is lowered to the reachable number.
#[test]
fn a_limit_that_is_not_reached_is_lowered() {
    let mut s = shader();
    s.info.primitives.vertices = 100;
    assert!(tepui_expand::lower_limit(&mut s));
    tepui_ir::validate(&s).expect("a shader");
    assert_eq!(s.info.primitives.vertices, 5);
    assert!(!tepui_expand::lower_limit(&mut s), "it is not lowered again");

    let looped = |turns: Option<u32>| {
        let mut s = Shader::new(Stage::Geometry);
        s.info.primitives.input = Some(PrimitiveKind::Triangles);
        s.info.primitives.vertices = 100;
        let slot = s.vars.push(tepui_ir::VarData { ty: Type::B32, len: None, name: String::new() });
        let mut b = Builder::new(&mut s);
        let primitive = b.builtin(Builtin::PrimitiveId, Type::B32);
        let turns = turns.map_or(primitive, |turns| b.u32(turns));
        let zero = b.u32(0);
        b.store_var(slot, zero, None);
        let body = b.shader.make_region();
        {
            let mut b = Builder::at(b.shader, body);
            let at = b.load_var(slot, None);
            let more = b.alu(Op::ULt, &[at, turns]);
            let nothing = nothing(&mut b);
            let leave = b.shader.make_region();
            Builder::at(b.shader, leave).break_(&[]);
            b.if_(more, nothing, leave, &[]);
            vertex(&mut b, 0, primitive);
            let one = b.u32(1);
            let next = b.alu(Op::IAdd, &[at, one]);
            b.store_var(slot, next, None);
            b.continue_(&[]);
        }
        b.loop_(body, &[], &[]);
        b.yield_(&[]);
        tepui_ir::validate(&s).expect("a shader");
        tepui_expand::lower_limit(&mut s);
        s.info.primitives.vertices
    };
    assert_eq!(looped(Some(4)), 4);
    assert_eq!(looped(None), 100, "nobody knows how often");
}

/// A shader that emits strips of these lengths, all of the first vertex of its input triangle; the last
/// strip may lack its end.
fn strips(lengths: &[u32], open: bool) -> Shader {
    let mut s = Shader::new(Stage::Geometry);
    s.info.primitives.input = Some(PrimitiveKind::Triangles);
    s.info.primitives.output = PrimitiveKind::Triangles;
    s.info.primitives.vertices = lengths.iter().sum();
    let mut b = Builder::new(&mut s);
    let primitive = b.builtin(Builtin::PrimitiveId, Type::B32);
    for (k, &n) in lengths.iter().enumerate() {
        for v in 0..n {
            vertex(&mut b, v % 3, primitive);
        }
        if !open || k + 1 < lengths.len() {
            b.effect(Op::EndPrimitive, Attrs::Index(0), &[]);
        }
    }
    b.yield_(&[]);
    tepui_ir::validate(&s).expect("a shader");
    s
}

/// Strips that are the same for all invocations have no more indices than they need; if they are triangles, vertices can be drawn
/// without.
#[test]
fn strips_that_are_known_have_places_of_their_own() {
    let of = |lengths: &[u32], open| {
        let e = Emission::of(&strips(lengths, open));
        (e.indices, e.full, e.single)
    };
    assert_eq!(of(&[3], false), (4, true, true));
    assert_eq!(of(&[3, 3], false), (8, true, true));
    assert_eq!(of(&[3, 3], true), (8, false, true));
    assert_eq!(of(&[4, 3], false), (9, true, false));
    assert_eq!(of(&[3, 2], true), (7, false, false));
    let more = |s: &mut Shader| s.info.primitives.vertices += 1;
    let mut s = strips(&[3], false);
    more(&mut s);
    assert!(
        !Emission::of(&s).full && !Emission::of(&s).single,
        "a vertex has room that is not emitted"
    );
    assert!(!Emission::of(&shader()).full, "what is emitted depends on the invocation");
}

#[test]
fn indices_are_written_unless_vertices_are_drawn_in_order() {
    const PRIMITIVES: u32 = 41;
    for (lengths, open, in_order) in
        [(vec![3, 3], false, true), (vec![3, 3], true, true), (vec![4, 3], false, false)]
    {
        let original = strips(&lengths, open);
        let (emission, record) = (Emission::of(&original), Record::of_vertices(&original));
        let stride = record.stride() as usize;
        let expansion = Expansion { vertices: record, in_order, ..Expansion::default() };
        let mut s = original.clone();
        lower(&mut s, &expansion, LANES).expect("it is expanded");
        tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
        let vertices = (PRIMITIVES * emission.vertices) as usize;
        let indices = if in_order { 1 } else { (PRIMITIVES * emission.indices) as usize };
        let mut m = Memory::default();
        let read = vec![7; stride * 3 * PRIMITIVES as usize];
        let buffers = [read, vec![0xee; vertices * stride], vec![0xee; 4 * indices]];
        m.physical.extend((1u64..).map(|k| k << 32).zip(buffers));
        let [read, output, list] = [1u64, 2, 3].map(|k| Long::from(k << 32));
        let words =
            StageWords { vertices: read, output, list, count: PRIMITIVES, ..StageWords::default() };
        m.uniforms = words.bytes().to_vec();
        let groups = PRIMITIVES.div_ceil(LANES);
        interp::dispatch(&s, [groups, 1, 1], &mut m, 10_000_000).expect("it runs");
        assert_eq!(m.out_of_bounds, 0);
        let word = |bytes: &[u8], at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let (output, list) = (&m.physical[&(2 << 32)], &m.physical[&(3 << 32)]);
        let number = record.offset(slot(NUMBER)).expect("a place") as usize;
        for v in 0..vertices {
            let want = v as u32 / emission.vertices;
            assert_eq!(word(output, v * stride + number), want, "vertex {v}");
        }
        if in_order {
            assert_eq!(list[..], [0xee; 4], "no index");
            continue;
        }
        let mut next = 0;
        for k in 0..indices {
            let ends = [4, 8].contains(&(k % 9));
            assert_eq!(word(list, 4 * k), if ends { RESTART } else { next }, "index {k}");
            next += u32::from(!ends);
        }
    }
}
