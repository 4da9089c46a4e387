//! The ABI between prolog, main and epilog of vertex and fragment programs: registers, uniforms,
//! and the compile options of each.
//!
//! ```text
//! vertex:    prolog ─ r5, r6 ids; r8 … attributes ─▶ main ─▶ vertex store
//! fragment:  prolog ─▶ main ─ r2 depth; r3l stencil; r3h write mask; r4 … colours ─▶ epilog ─▶ tile
//! ```
//!
//! Each program falls through into the next. `r0l` is the nesting counter of all of them; in
//! fragment programs that run for each sample, `r1l` holds the sample's bit. A monolithic program
//! is compiled and optimised as one. source: Mesa's compiler/README.md, "ABI", and lib/agx_abi.h

pub mod attribute;
pub mod capture;
pub mod colour;
pub mod parts;
pub mod spilled;
pub mod tile;

use crate::uniforms::{Source, Uniform, Uniforms};
use crate::varyings::FragmentTable;
use attribute::Attribute;
use tepui_expand::Expansion;
use tepui_ir::{Attrs, IoLoc, Op, Shader, Stage};
use tepui_sysval::SystemValue;
use tile::Tile;

/// Vertex: half-register with the vertex number.
pub const VERTEX_ID: u16 = 2 * 5;
/// Vertex: half-register with the instance number.
pub const INSTANCE_ID: u16 = 2 * 6;
/// Fragment: half-register with the bit of the sample, in programs that run for each.
pub const SAMPLE_BIT: u16 = 2;
/// Fragment: half-registers with the depth.
pub const DEPTH: u16 = 4;
/// Fragment: half-register with the stencil value.
pub const STENCIL: u16 = 6;
/// Fragment: half-register with the samples whose colours are written.
pub const WRITE_MASK: u16 = 7;

/// First half-register of component `c` of the attribute at location `n`.
#[must_use]
pub const fn attribute(n: u16, c: u16) -> u16 {
    2 * (8 + 4 * n + c)
}

/// First half-register of component `c` of the colour at location `n`.
#[must_use]
pub const fn colour(n: u16, c: u16) -> u16 {
    2 * (4 + 4 * n + c)
}

/// Attributes that have registers.
pub const MAX_ATTRIBUTES: u8 = 30;

/// Half-uniforms that every fragment part leaves alone: the heap's address, the blend constant, the
/// address of the driver's root.
pub const FRAGMENT_HALVES: u16 = 16;

/// Source of a vertex shader's attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Attributes {
    /// A prolog left them in registers.
    #[default]
    Registers,
    /// They are fetched here, by location.
    Fetch(Vec<Option<Attribute>>),
}

/// Destination of a vertex shader's results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum VertexResults {
    /// To the vertex store; with the fragment shader's table, varyings have fixed places.
    #[default]
    Store,
    /// To the vertex store, in the layout that suits these fragments.
    StoreFor(FragmentTable),
    /// To the registers where the main part looks for attributes: this is a prolog.
    Registers,
    /// Captured outputs, to memory: the program is launched as a compute program ([`capture`]).
    Memory,
    /// Into memory, all of them, as the next stage reads them ([`tepui_expand::Record`]).
    Record,
}

impl VertexResults {
    /// Whether the program is a compute program that stores into memory.
    #[must_use]
    pub fn is_memory(&self) -> bool {
        matches!(self, VertexResults::Memory | VertexResults::Record)
    }
}

/// Value of an attribute past the end of its buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Beyond {
    /// The first element. source: Mesa, agx_nir_lower_vbo.c, GL robustness
    #[default]
    First,
    /// Zeros.
    Zeros,
    /// Zeros, which come from where there is no memory: the GPU has soft faults, and nothing below [`UNBOUND_B`] is bound.
    Unbound,
}

/// Bytes from address 0 on that the offset of a load reaches: 32 bits that count up to sixteen bytes.
pub const UNBOUND_B: u64 = 16 << 32;

/// The compile options of a vertex prolog or main program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Vertex {
    /// Attributes.
    pub attributes: Attributes,
    /// Results.
    pub results: VertexResults,
    /// The draw is repeated for each view of the render pass.
    pub multiview: bool,
    /// Value of attributes past the end of their buffer.
    pub beyond: Beyond,
    /// Depth in clip space goes from -w to w, as in OpenGL. The hardware clips at 0 and w, so the
    /// shader moves it there.
    pub negative_one_to_one: bool,
}

/// Destination of colours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Colours {
    /// To registers, for an epilog, which also runs the tests.
    #[default]
    Registers,
    /// To the tile.
    Tile(Box<Tile>),
    /// Nowhere, and nothing is tested: the program is a prolog.
    None,
}

/// The compile options of a fragment prolog, main program or epilog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// Set for an epilog, whose inputs are colours in registers: the table of the main part before it.
    pub behind: Option<FragmentTable>,
    /// First coefficient register: a prolog skips those of its main part.
    pub first_coefficient: u8,
    /// Colours.
    pub colours: Colours,
    /// Runs for each sample, whatever the shader says.
    pub per_sample: bool,
    /// Whether only blending needs that: unless the shader itself asks for samples, the coverage that
    /// it reads is the pixel's.
    pub whole_coverage: bool,
    /// The work of a prolog that a monolithic program does.
    pub prolog: Prolog,
}

/// The pipeline state that is applied before fragments are shaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Prolog {
    /// Samples that the state's sample mask takes away.
    pub killed: u8,
    /// Cull distances of the vertices.
    pub cull_distances: u8,
}

/// The interface that a shader is compiled for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interface {
    /// A compute shader.
    #[default]
    Compute,
    /// A vertex shader or a part of one.
    Vertex(Vertex),
    /// A fragment shader or a part of one.
    Fragment(Fragment),
    /// A geometry or tessellation shader, which becomes a compute program.
    Expanded(Expansion),
}

impl Interface {
    /// The main part of a program that is linked later.
    #[must_use]
    pub fn main(stage: Stage) -> Interface {
        match stage {
            Stage::Compute => Interface::Compute,
            Stage::Vertex => Interface::Vertex(Vertex::default()),
            Stage::Fragment => Interface::Fragment(Fragment::default()),
            Stage::TessControl | Stage::TessEvaluation | Stage::Geometry => {
                Interface::Expanded(Expansion::default())
            }
        }
    }

    /// Whether a prolog or epilog is linked to it.
    #[must_use]
    pub fn is_part(&self) -> bool {
        match self {
            Interface::Compute | Interface::Expanded(_) => false,
            Interface::Vertex(v) => {
                v.attributes == Attributes::Registers || v.results == VertexResults::Registers
            }
            Interface::Fragment(f) => f.behind.is_some() || !matches!(f.colours, Colours::Tile(_)),
        }
    }

    /// A prolog or an epilog: it has only the uniforms that the ABI fixes.
    #[must_use]
    pub fn is_beside(&self) -> bool {
        match self {
            Interface::Compute | Interface::Expanded(_) => false,
            Interface::Vertex(v) => v.results == VertexResults::Registers,
            Interface::Fragment(f) => f.behind.is_some() || f.colours == Colours::None,
        }
    }

    /// The uniforms that a part may use: what the ABI fixes is at its place.
    pub(crate) fn uniforms(&self, s: &Shader) -> Uniforms {
        let mut u = Uniforms::default();
        if !self.is_part() {
            return u;
        }
        match self {
            Interface::Compute | Interface::Expanded(_) => {}
            Interface::Vertex(_) => {
                let n = u16::from(attributes(s));
                u.reserve(vertex_halves(n), vertex_uniforms(n));
            }
            Interface::Fragment(_) => {
                let pinned = (0..4).map(|component| Uniform {
                    half: 4 + 2 * u16::from(component),
                    source: Source::System(SystemValue::BlendConstant { component }),
                });
                u.reserve(FRAGMENT_HALVES, pinned.collect());
            }
        }
        if self.is_beside() {
            u.seal();
        }
        u
    }
}

/// Half-uniforms that a vertex shader with `n` attributes leaves to its prolog; even, so that the words
/// after them need no padding.
#[must_use]
pub const fn vertex_halves(n: u16) -> u16 {
    6 * n + 6
}

fn vertex_uniforms(n: u16) -> Vec<Uniform> {
    let mut all = Vec::new();
    for k in 0..n {
        let index = k as u8;
        all.push(Uniform { half: 4 * k, source: Source::AttributeBase { index } });
        all.push(Uniform { half: 4 * n + 2 * k, source: Source::AttributeClamp { index } });
    }
    all.push(Uniform { half: 6 * n, source: Source::System(SystemValue::BaseVertex) });
    all.push(Uniform { half: 6 * n + 2, source: Source::System(SystemValue::BaseInstance) });
    all.push(Uniform { half: 6 * n + 4, source: Source::System(SystemValue::DrawIndex) });
    all
}

/// Locations that a vertex shader may read, a bit each: all elements of an input that is indexed at
/// run time.
#[must_use]
pub fn input_locations(s: &Shader) -> u32 {
    let mut all = 0u32;
    s.walk(|s, _, i| {
        let d = &s.insts[i];
        let (Op::LoadInput, Attrs::Io(slot)) = (d.op, d.attrs) else { return };
        let IoLoc::Location(first) = slot.loc else { return };
        let ty = s.ty(s.result(i));
        let words = u32::from(slot.component) + u32::from(ty.comps()) * u32::from(ty.bits()) / 32;
        let (at, count) = match s.args(i).last().map(|&offset| s.as_const(offset)) {
            Some(Some(offset)) => (offset, 1),
            _ => (0, u64::from(s.io_elements(slot, false))),
        };
        let first = u64::from(first).saturating_add(at);
        let last = first.saturating_add(count.max(u64::from(words.div_ceil(4))));
        for location in first..last.min(u64::from(u32::BITS)) {
            all |= 1 << location;
        }
    });
    all
}

/// One more than the largest location that a vertex shader reads.
pub(crate) fn attributes(s: &Shader) -> u8 {
    (u32::BITS - input_locations(s).leading_zeros()) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniforms_of_vertex_shaders_stand_side_by_side() {
        for n in 0..=16 {
            let mut places: Vec<(u16, u16)> =
                vertex_uniforms(n).iter().map(|u| (u.half, u.source.halves())).collect();
            places.sort_unstable();
            let mut end = 0;
            for (half, halves) in places {
                assert!(half == end, "{n} attributes: {half} follows {end}");
                end = half + halves;
            }
            // The last is a half-word, and words follow.
            assert_eq!(end.next_multiple_of(2), vertex_halves(n), "{n} attributes");
        }
    }
}
