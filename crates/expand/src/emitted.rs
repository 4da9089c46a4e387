//! Reachable number of vertices and strips of a geometry shader.
//!
//! Each invocation has slots for as many vertices as the shader declares, and unused slots have to be
//! filled and read by the hardware. Shaders declare more than they emit, often by much. Many emit the
//! same strips for any input.

use tepui_ir::{Attrs, Op, Region, Shader, Stage, stack};
use tepui_passes::pipeline::Pipeline;

/// Lowers the declared number of vertices to the maximum that the control flow can reach, if that is
/// less. Loops with known trip counts are unrolled for the analysis. Returns whether it did.
pub fn lower_limit(s: &mut Shader) -> bool {
    if s.info.stage != Stage::Geometry {
        return false;
    }
    let mut look = |_: &'static str, _: &Shader| {};
    let mut p = Pipeline::new(None, &mut look);
    p.run(s, "invariance");
    p.clean(s, &["split", "promote", "control", "simplify", "dce"]);
    if p.run(s, "unroll") {
        p.clean(s, &["control", "simplify", "dce"]);
    }
    let most = stack::for_shader(s).run(|| max_vertices(s, s.root));
    let Some(most) = most.filter(|most| *most < s.info.primitives.vertices) else { return false };
    s.info.primitives.vertices = most.max(1);
    true
}

/// Maximum number of vertices that a region emits; `None` if a loop emits any.
fn max_vertices(s: &Shader, region: Region) -> Option<u32> {
    let mut sum = 0u32;
    for &inst in &s.regions[region].insts {
        let mut inside = s.inst_regions(inst).map(|region| max_vertices(s, region));
        let most = inside.try_fold(0, |most, n| n.map(|n: u32| most.max(n)))?;
        let repeats = matches!(s.insts[inst].attrs, Attrs::Loop(_)) && most > 0;
        if repeats {
            return None;
        }
        let own = u32::from(s.insts[inst].op == Op::EmitVertex);
        sum = sum.saturating_add(most).saturating_add(own);
    }
    Some(sum)
}

/// The strips that every invocation emits.
pub(crate) struct Strips {
    /// The vertices of each.
    pub lengths: Vec<u32>,
    /// The last has no end of its own.
    pub open: bool,
}

/// The strips of a shader whose invocations all emit the same, to the first stream.
pub(crate) fn strips(s: &Shader) -> Option<Strips> {
    let emits = |op| matches!(op, Op::EmitVertex | Op::EndPrimitive);
    if s.any(|s, region, i| region != s.root && emits(s.insts[i].op)) {
        return None;
    }
    let (mut lengths, mut open) = (Vec::new(), 0);
    for &i in s.regions[s.root].insts.iter().filter(|&&i| emits(s.insts[i].op)) {
        if s.insts[i].attrs != Attrs::Index(0) {
            return None;
        }
        match s.insts[i].op {
            Op::EmitVertex => open += 1,
            _ if open > 0 => lengths.push(std::mem::take(&mut open)),
            _ => {}
        }
    }
    if open > 0 {
        lengths.push(open);
    }
    Some(Strips { lengths, open: open > 0 })
}
