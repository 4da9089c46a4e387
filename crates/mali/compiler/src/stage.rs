//! Properties of programs of graphics stages, which drivers need.

use crate::clips::Clips;
use crate::error::{Error, Result};
use crate::stats::Stats;
use serde::{Deserialize, Serialize};
use tepui_ir::{Attrs, Builtin, IoLoc, NumKind, Op, Props, Shader};
use tepui_passes::side_effects;

/// Bytes of a location of varyings.
pub const LOCATION_BYTES: u32 = 16;
/// Render targets.
pub const TARGETS: usize = 8;

/// Properties of a program of some stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum StageInfo {
    /// Compute.
    #[default]
    Compute,
    /// Vertex.
    Vertex(VertexInfo),
    /// Fragment.
    Fragment(FragmentInfo),
}

/// A program among several in one binary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Offset of its first instruction in the code.
    pub offset: u32,
    /// Registers that the hardware must preload.
    pub preload: u16,
    /// Statistics.
    pub stats: Stats,
}

/// Programs of a vertex shader. The position program begins at the start of the code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VertexInfo {
    /// The position program that stores no point size, for other primitives than points, if there is one.
    pub without_point_size: Option<Entry>,
    /// The program of varyings, if there are any.
    pub varying: Option<Entry>,
    /// Bytes of the varyings of a vertex: location N is at 16 N.
    pub varying_bytes: u32,
    /// The position program stores point sizes.
    pub point_size: bool,
    /// The position programs store layers.
    pub layer: bool,
    /// Attributes that are read, by location.
    pub attributes: u32,
    /// Outputs by which fragments are discarded.
    pub clips: Clips,
}

/// Properties of a fragment program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FragmentInfo {
    /// For each render target, the type of its colour, if it is written.
    #[serde(with = "colours")]
    pub colours: [Option<NumKind>; TARGETS],
    /// There is a second colour for target 0.
    pub dual_source: bool,
    /// Depth is written.
    pub depth: bool,
    /// The stencil reference is written.
    pub stencil: bool,
    /// The sample mask is written.
    pub sample_mask: bool,
    /// Fragments are discarded.
    pub discards: bool,
    /// Memory is written.
    pub side_effects: bool,
    /// The tile buffer is read.
    pub reads_tile: bool,
    /// The program runs for each sample.
    pub per_sample: bool,
    /// Lanes of quads must exist where no fragment is.
    pub helpers: bool,
    /// Tests run before the program.
    pub early_tests: bool,
    /// Locations of varyings that are read.
    pub locations: u32,
}

/// Whether lanes look at each other, so that those without a fragment must be there.
pub(crate) fn needs_helpers(s: &Shader) -> bool {
    s.any(|s, _, i| {
        let op = s.insts[i].op;
        op.props().contains(Props::CONVERGENT) && op != Op::Barrier
    })
}

/// Finds the properties of a vertex shader.
pub(crate) fn vertex(s: &Shader) -> Result<VertexInfo> {
    if side_effects::writes_memory(s) {
        // The hardware shades vertices that no draw has.
        return Err(Error::Feature("a vertex shader that writes memory"));
    }
    let mut info = VertexInfo::default();
    s.walk(|s, _, i| match (s.insts[i].op, s.insts[i].attrs) {
        (Op::LoadInput, Attrs::Io(slot)) => {
            if let IoLoc::Location(n) = slot.loc {
                info.attributes |= 1u32.checked_shl(n.into()).unwrap_or(0);
            }
        }
        (Op::StoreOutput, Attrs::Io(slot)) => match slot.loc {
            IoLoc::Location(n) => {
                let end = LOCATION_BYTES * (u32::from(n) + 1);
                info.varying_bytes = info.varying_bytes.max(end);
            }
            IoLoc::Builtin(Builtin::PointSize) => info.point_size = true,
            IoLoc::Builtin(Builtin::Layer) => info.layer = true,
            IoLoc::Builtin(_) => {}
        },
        _ => {}
    });
    Ok(info)
}

/// Finds the properties of a fragment shader.
pub(crate) fn fragment(s: &Shader) -> FragmentInfo {
    let mut info = FragmentInfo {
        discards: side_effects::discards(s),
        side_effects: side_effects::writes_memory(s),
        helpers: needs_helpers(s),
        per_sample: s.info.per_sample,
        early_tests: s.info.early_tests,
        ..FragmentInfo::default()
    };
    s.walk(|s, _, i| {
        let Attrs::Io(slot) = s.insts[i].attrs else { return };
        match (s.insts[i].op, slot.loc) {
            (Op::StoreOutput, IoLoc::Location(n)) => {
                info.dual_source |= slot.index == 1;
                if let Some(colour) = info.colours.get_mut(usize::from(n)) {
                    *colour = Some(slot.kind);
                }
            }
            (Op::StoreOutput, IoLoc::Builtin(Builtin::FragDepth)) => info.depth = true,
            (Op::StoreOutput, IoLoc::Builtin(Builtin::FragStencilRef)) => info.stencil = true,
            (Op::StoreOutput, IoLoc::Builtin(Builtin::SampleMask)) => info.sample_mask = true,
            (Op::LoadOutput | Op::LoadOutputSample, _) => info.reads_tile = true,
            (_, IoLoc::Location(n)) => {
                info.locations |= 1u32.checked_shl(n.into()).unwrap_or(0);
            }
            _ => {}
        }
    });
    info
}

/// Types of colours in programs that a cache keeps: numbers, 0 for none.
mod colours {
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::{Serialize, Serializer};
    use tepui_ir::NumKind;

    use super::TARGETS;

    const KINDS: [Option<NumKind>; 4] =
        [None, Some(NumKind::Float), Some(NumKind::Sint), Some(NumKind::Uint)];

    pub fn serialize<S: Serializer>(
        colours: &[Option<NumKind>; TARGETS],
        s: S,
    ) -> Result<S::Ok, S::Error> {
        let number = |c| KINDS.iter().position(|k| *k == c).unwrap_or(0) as u8;
        colours.map(number).serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        d: D,
    ) -> Result<[Option<NumKind>; TARGETS], D::Error> {
        let numbers = <[u8; TARGETS]>::deserialize(d)?;
        Ok(numbers.map(|n| KINDS.get(usize::from(n)).copied().flatten()))
    }
}
