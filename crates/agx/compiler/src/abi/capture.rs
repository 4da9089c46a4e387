//! Vertex shaders that run as compute shaders, because the hardware cannot write vertices to memory: for transform feedback, and
//! for the stages that follow in an expanded draw. The vertex number is read from the list of [`tepui_sysval::SystemValue::VertexList`].

use super::{Interface, VertexResults};
use tepui_expand::capture::{self, Destination};
use tepui_ir::Shader;

pub use tepui_expand::capture::CaptureWords;

/// Threads of a workgroup, all of one instance: one SIMD-group, since they share nothing.
pub const THREADS: u32 = 32;

/// Runs the pass; true when it changed the shader.
pub fn run(s: &mut Shader, interface: &Interface) -> bool {
    let Interface::Vertex(v) = interface else { return false };
    if !v.results.is_memory() {
        return false;
    }
    let destination = match v.results {
        VertexResults::Record => Destination::Records,
        _ => Destination::Captures,
    };
    capture::run(s, destination, THREADS);
    true
}
