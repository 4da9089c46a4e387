//! The 3D pipeline as a unit: its name in faults, and limits that all of it shares.

use tepui_raster::{FillRule, Grid};

use crate::job::{JobFault, Unit};

/// The unit of faults.
pub const UNIT: Unit = Unit::Pixels;

/// Maximum number of samples of a pixel.
pub const MAX_SAMPLES: usize = 16;

/// Vertices are snapped to 1/256 of a pixel, and clipped where fixed point ends.
///
/// source: genxml, 3DSTATE_SF "Vertex Sub Pixel Precision Select": 8 bits. The guard band of 32768
/// pixels is an assumption; no API can tell.
pub const GRID: Grid = Grid::new(8, 32768, FillRule::TopLeft);

/// The fault of something that the model does not execute.
pub fn unimplemented(what: &str) -> JobFault {
    JobFault::unimplemented(UNIT, what)
}
