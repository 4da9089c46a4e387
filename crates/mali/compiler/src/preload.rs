//! Registers that hold something when a thread starts.
//!
//! source: Mesa, bifrost_compile.c (`bi_preload` and its callers)

use tepui_ir::Stage;

/// Compute: local invocation, x and y of 16 bits each; z is in the next register.
pub const LOCAL_ID: u8 = 55;
/// Compute: workgroup, three registers.
pub const WORKGROUP_ID: u8 = 57;
/// Compute: global invocation, three registers.
pub const GLOBAL_ID: u8 = 60;
/// Vertex: index into the table of vertex packets.
pub const VERTEX_PACKET: u8 = 59;
/// Vertex: vertex.
pub const VERTEX: u8 = 60;
/// Vertex: instance.
pub const INSTANCE: u8 = 61;
/// Vertex: draw.
pub const DRAW: u8 = 62;
/// Fragment: flags; 0 for front faces.
pub const FACE: u8 = 58;
/// Fragment: pixel, x and y of 16 bits each.
pub const PIXEL: u8 = 59;
/// Fragment: coverage of samples that the tests take and leave.
pub const COVERAGE: u8 = 60;
/// Fragment: mask of samples in the low half, then the number of the sample in five bits.
pub const SAMPLE: u8 = 61;
/// Fragment: the layer in the lowest byte.
pub const LAYER: u8 = 62;

/// The registers of a stage.
pub(crate) fn registers(stage: Stage) -> impl Iterator<Item = u8> {
    let first = match stage {
        Stage::Compute => LOCAL_ID,
        Stage::Fragment => FACE,
        _ => VERTEX_PACKET,
    };
    first..=62
}
