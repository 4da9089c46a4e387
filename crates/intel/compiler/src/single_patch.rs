//! Invocations of a patch that is alone in its threads: channels after the last vertex do nothing.
//!
//! All eight channels of such a thread are dispatched. source: Mesa, brw_compile_tcs.cpp (`run_tcs`)

use tepui_intel_isa::Generation;
use tepui_ir::{Attrs, Builder, Builtin, Op, Shader, Stage, Type};

/// Invocations of a thread.
const CHANNELS: u32 = 8;

/// Runs the pass.
pub fn run(s: &mut Shader, generation: Generation) -> bool {
    let vertices = s.info.primitives.vertices;
    let whole = vertices.is_multiple_of(CHANNELS);
    if s.info.stage != Stage::TessControl || generation != Generation::Gen9 || whole {
        return false;
    }
    let root = s.root;
    let mut insts = std::mem::take(&mut s.regions[root].insts);
    let end = insts.pop();
    let [body, none] = [insts, Vec::new()].map(|insts| {
        let region = s.regions.push(tepui_ir::RegionData::default());
        s.regions[region].insts = insts;
        Builder::at(s, region).yield_(&[]);
        region
    });
    let mut b = Builder::at(s, root);
    let id = b.builtin(Builtin::InvocationId, Type::B32);
    let count = b.u32(vertices);
    let there = b.value(Op::ULt, Attrs::None, &[id, count], Type::B1);
    b.if_(there, body, none, &[]);
    s.regions[root].insts.extend(end);
    true
}
