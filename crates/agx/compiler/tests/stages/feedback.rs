//! Transform feedback: what the compute program leaves in the buffers is what the interpreter says
//! of each vertex.

use super::rig::{listing, machine, wgsl};
use std::collections::HashMap;
use tepui_agx_bare::draw::VertexBuffer;
use tepui_agx_bare::feedback::{Feedback, run};
use tepui_agx_bare::shader::Bindings;
use tepui_agx_compiler::abi::attribute::Attribute;
use tepui_agx_compiler::abi::{Attributes, Vertex, VertexResults};
use tepui_agx_compiler::{Interface, Options, compile_as};
use tepui_compiler_test::reference;
use tepui_format::Format;
use tepui_ir::interp::Memory;
use tepui_ir::{
    Attrs, Builtin, Capture, Interp, IoLoc, IoSlot, NumKind, Op, Sampling, Shader, Stage, Type,
};

const SOURCE: &str = "
    struct V {
        @builtin(position) at: vec4f,
        @location(0) colour: vec3f,
        @location(1) @interpolate(flat, first) number: vec2u,
    }
    @vertex fn vs(@builtin(vertex_index) n: u32, @builtin(instance_index) i: u32, @location(1) a: vec2u) -> V {
        let x = f32(n * 3u + i);
        return V(vec4f(x, x * 0.5, 2.0, 1.0), vec3f(x, -x, x + 0.25), a + vec2u(n, i * 16u));
    }";

/// The slot of an output that the shader writes.
fn slot(s: &Shader, loc: IoLoc) -> IoSlot {
    let mut found = None;
    s.walk(|s, _, i| {
        if let (Op::StoreOutput, Attrs::Io(slot)) = (s.insts[i].op, s.insts[i].attrs)
            && slot.loc == loc
        {
            found = Some(slot);
        }
    });
    found.unwrap_or(IoSlot {
        loc,
        component: 0,
        index: 0,
        kind: NumKind::Float,
        interp: Interp::Smooth,
        sampling: Sampling::Center,
    })
}

/// Two buffers: position and number in one, colour in the other, with gaps that stay as they are.
fn shader() -> (Shader, [u32; 2]) {
    let mut s = wgsl(Stage::Vertex, SOURCE);
    let mut capture = |loc, comps, buffer, stride, offset| {
        let slot = slot(&s, loc);
        let ty = Type::vec(32, comps);
        s.captures.push(Capture { slot, ty, locations: 1, stream: 0, buffer, stride, offset });
    };
    capture(IoLoc::Builtin(Builtin::Position), 4, 0, 32, 4);
    capture(IoLoc::Location(1), 2, 0, 32, 24);
    capture(IoLoc::Location(0), 3, 2, 20, 8);
    (s, [32, 20])
}

#[test]
fn captured_bytes_are_the_interpreters_outputs() {
    const EMPTY: u32 = 0xdead_beef;
    let position = IoLoc::Builtin(Builtin::Position);
    let (first, strides) = shader();
    let format = Format::R32G32_UINT;
    let attribute = Attribute { format, stride: 8, per_instance: None };
    let attributes = Attributes::Fetch(vec![None, Some(attribute)]);
    let interface = Interface::Vertex(Vertex {
        attributes,
        results: VertexResults::Memory,
        ..Vertex::default()
    });
    let p = compile_as(&mut first.clone(), &Options::default(), &interface, &mut |_, _| {})
        .unwrap_or_else(|e| panic!("{e}\n{first}"));

    // A strip of triangles with a restart, written out; 40 vertices, more than a SIMD-group.
    let vertices: Vec<u32> =
        (0..14).filter(|k| k % 7 != 3).flat_map(|k| [k, k + 1 + k % 2, k + 2 - k % 2]).collect();
    let (count, instances) = (vertices.len() as u32, 2);
    let all = count * instances;
    // Room for less than there is, and for more: threads without a vertex write nothing.
    for limit in [all - 3, all + 20] {
        let mut m = machine();
        let (room, written) = (all.max(limit), all.min(limit));
        let words: Vec<u32> = (0..64).map(|k| k * 7 + 1).collect();
        let data = m.buffer(words.len() * 4).expect("a buffer");
        data.write_words(&words).expect("the attributes");
        let mut buffers = [const { None }; 4];
        for (at, stride) in [(0usize, strides[0]), (2, strides[1])] {
            let b = m.buffer((room * stride) as usize).expect("a buffer");
            b.write_words(&vec![EMPTY; (room * stride / 4) as usize]).expect("the buffer");
            buffers[at] = Some(b);
        }
        let bindings = Bindings::default();
        let f = Feedback {
            vertices: &vertices,
            instances,
            limit,
            buffers: buffers.clone(),
            attributes: vec![None, Some(VertexBuffer { buffer: data, attribute, offset: 0 })],
            bindings: &bindings,
        };
        let stats = run(&mut m, &p, &f).unwrap_or_else(|e| panic!("{e}\n{}", listing(&p)));
        assert!(stats.reports.is_empty(), "{:?}\n{}", stats.reports, listing(&p));

        let mut memory = Memory::default();
        let outputs: HashMap<u32, Vec<reference::Words>> = (0..instances)
            .map(|i| {
                let read = |v: u32, _: u16, c: u8| words[(v * 2 + u32::from(c)) as usize];
                let all = reference::vertices(&first, &mut memory, (0, 16), i, &read);
                (i, all.expect("the interpreter runs it"))
            })
            .collect();
        /// Captured outputs: location, component, and word of the stride.
        type Place = (IoLoc, u8, u32);
        let layouts: [(usize, u32, Vec<Place>); 2] = [
            (
                0,
                strides[0],
                (0..4)
                    .map(|c| (position, c, 1 + u32::from(c)))
                    .chain((0..2).map(|c| (IoLoc::Location(1), c, 6 + u32::from(c))))
                    .collect(),
            ),
            (2, strides[1], (0..3).map(|c| (IoLoc::Location(0), c, 2 + u32::from(c))).collect()),
        ];
        for (at, stride, places) in layouts {
            let mut want = vec![EMPTY; (room * stride / 4) as usize];
            for n in 0..written {
                let vertex = &outputs[&(n / count)][vertices[(n % count) as usize] as usize];
                for &(loc, c, word) in &places {
                    want[(n * stride / 4 + word) as usize] = vertex[&(loc, c)];
                }
            }
            let got = buffers[at].as_ref().expect("a buffer").read().expect("the buffer");
            let got: Vec<u32> = got
                .chunks(4)
                .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .take(want.len())
                .collect();
            assert_eq!(got, want, "buffer {at}\n{}", listing(&p));
        }
    }
}
