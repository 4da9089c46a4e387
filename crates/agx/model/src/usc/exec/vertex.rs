//! Instructions of vertex programs: stores of outputs.

use super::{Lanes, Next, Op};
use crate::usc::row::LANES;
use crate::usc::stage::Stage;

/// Writes a vertex output: source 0 is the value, source 1 the word. source: applegpu.py, the
/// `st_var` loop; Mesa's docs/drivers/asahi.rst, "Hardware varyings".
#[inline(always)]
pub fn st_var<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let value = l.load_u32(op.s[0]);
    let word = l.load_u32(op.s[1]);
    let exec = l.exec;
    let Stage::Vertex(stage) = &mut l.stage else {
        return l.fail("a vertex output is written outside of a vertex program");
    };
    let first = word.0[0];
    if exec == u32::MAX && word.0.iter().fold(true, |same, &word| same & (word == first)) {
        // One word of every vertex.
        if (first as usize) < stage.stride {
            let vertices = stage.outputs.chunks_exact_mut(stage.stride);
            for (vertex, &value) in vertices.zip(&value.0) {
                vertex[first as usize] = value;
            }
        }
        return Next::Continue;
    }
    for lane in 0..LANES {
        if exec >> lane & 1 != 0 {
            stage.store(lane, word.0[lane] as usize, value.0[lane]);
        }
    }
    Next::Continue
}
