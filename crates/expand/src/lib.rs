//! Geometry and tessellation shaders as compute shaders, for GPUs that have neither stage.
//!
//! A draw with such stages is expanded: each stage before the rasteriser runs as a compute program that
//! reads the vertices which the previous stage stored in memory and stores its own. The hardware then
//! runs a last vertex program: an evaluation shader itself ([`evaluate`]), or one that fetches the
//! vertices which a geometry shader stored ([`pull::vertex_shader`]).
//!
//! - [`record`] is the layout of the outputs of a vertex or patch in memory;
//! - [`lower()`] compiles a stage to a compute shader, [`evaluate`] an evaluation shader to a vertex
//!   shader;
//! - [`pull`] builds the vertex shader that fetches;
//! - [`outline`] makes a geometry shader emit lines or points in place of triangles;
//! - [`capture`] makes a vertex shader a compute shader that stores its outputs: captured ones, or records;
//! - [`gather`] builds the programs of transform feedback;
//! - [`tessellate`] builds the programs of the tessellator.
//!
//! A stage is launched with x counting the invocations of an instance and y the instances. It finds its
//! buffers in words that the driver supplies ([`StageWords`]), read with `load_uniform`. Workgroups are sub-groups, whose lanes are a
//! parameter of what makes programs; only a patch with more vertices than lanes is a workgroup of several.
//!
//! A geometry shader's invocation has a fixed number of slots for vertices and indices ([`Emission`]),
//! so that all invocations run in parallel and the order of primitives is that of the index list.
//! Unused slots have [`RESTART`]. If every invocation emits whole primitives that share no vertices,
//! and as many vertices as it has slots, the vertices are the primitives in order, and a draw needs no
//! index list ([`Expansion::in_order`]).

#![forbid(unsafe_code)]

pub mod capture;
mod emitted;
pub mod gather;
mod kernel;
pub mod lower;
pub mod outline;
pub mod pull;
pub mod record;
pub mod tessellate;

pub use emitted::lower_limit;
pub use lower::{Expansion, Unsupported, WordAddress, evaluate, lower};
pub use record::Record;

use emitted::Strips;
use tepui_ir::{Attrs, Builder, Mem, Op, PrimitiveKind, Shader, Type, Value};
use tepui_passes::rewrite::Emit;
use tepui_sysval::{Field, Long, Member, push_words};

/// The index that ends a strip.
pub const RESTART: u32 = u32::MAX;

push_words! {
    /// Words of an expanded stage.
    pub struct StageWords {
        /// Address of the records of the vertices that are read.
        pub vertices: Long,
        /// Address of the records of patches, which control shaders write and evaluation shaders read.
        pub patches: Long,
        /// Address of the records of the vertices that are written.
        pub output: Long,
        /// Geometry: address of the index list that is written. Evaluation: address of the vertices
        /// that the tessellator made, [`TESSELLATED_B`] bytes each.
        pub list: Long,
        /// Geometry: address of the index list of the primitives that are read, if they have one.
        pub indices: Long,
        /// Primitives, patches or, for evaluation shaders, tessellated vertices of an instance.
        pub count: u32,
        /// Vertices of an input patch.
        pub patch_vertices: u32,
        /// Patches of an instance, for evaluation shaders and the stages after them.
        pub patch_count: u32,
        /// Number of the first primitive or patch.
        pub first: u32,
        /// For geometry shaders after a tessellator: address of the vertices that it wrote.
        pub points: Long,
    }
}

/// Bytes of a vertex that the tessellator wrote: the number of its patch among all instances, and
/// the coordinates u and v as floats.
pub const TESSELLATED_B: u32 = 12;

/// Slots for the vertices and indices of a geometry shader's invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emission {
    /// Invocations for each primitive.
    pub invocations: u32,
    /// Vertices of a primitive that is read.
    pub reads: u32,
    /// Vertices of an invocation.
    pub vertices: u32,
    /// Indices of an invocation.
    pub indices: u32,
    /// Primitives of the index list: points, or strips that [`RESTART`] ends.
    pub output: PrimitiveKind,
    /// Streams up to the last that vertices are emitted to.
    pub streams: u32,
    /// Every invocation uses all of its slots, those for indices in the list of the first stream.
    pub full: bool,
    /// Every invocation uses all of its slots for vertices, and each of its strips is one primitive.
    pub single: bool,
}

/// Maximum number of streams of a geometry shader.
pub const MAX_STREAMS: u32 = 4;

/// Number of index lists of a geometry shader with `streams` streams of which one is rasterised.
#[must_use]
pub fn lists(streams: u32, rasterised: u32) -> u32 {
    streams.max(rasterised + 1)
}

/// Index of a stream's list: the first is that of the stream which is rasterised.
///
/// A list has the indices of all invocations; the next follows.
#[must_use]
pub fn list_of(stream: u32, rasterised: u32) -> u32 {
    match stream {
        s if s == rasterised => 0,
        0 => rasterised,
        s => s,
    }
}

impl Emission {
    /// The emission of a shader.
    #[must_use]
    pub fn of(s: &Shader) -> Emission {
        let p = &s.info.primitives;
        let vertices = p.vertices.max(1);
        let strips = p.output != PrimitiveKind::Points;
        let ends = s.any(|s, _, i| s.insts[i].op == Op::EndPrimitive);
        let mut streams = 1;
        s.walk(|s, _, i| {
            if let (Op::EmitVertex | Op::EndPrimitive, Attrs::Index(n)) =
                (s.insts[i].op, s.insts[i].attrs)
            {
                streams = streams.max(n.saturating_add(1));
            }
        });
        let known = emitted::strips(s).filter(|k| k.lengths.iter().sum::<u32>() == vertices);
        let single = |k: &Strips| k.lengths.iter().all(|&n| n == gather::vertices(p.output));
        let indices = match (strips, ends, &known) {
            (false, ..) => vertices,
            // A restart after each strip, since invocations follow each other in the list.
            (true, _, Some(known)) => vertices + known.lengths.len() as u32,
            (true, false, None) => vertices + 1,
            (true, true, None) => 2 * vertices,
        };
        Emission {
            full: known.as_ref().is_some_and(|k| !strips || !k.open),
            single: known.is_some_and(|k| !strips || single(&k)),
            invocations: p.invocations.max(1),
            reads: p.input.map_or(1, PrimitiveKind::vertices),
            vertices,
            indices,
            output: p.output,
            streams,
        }
    }
}

/// Load of a word of the driver's, or of two.
fn driver<S, T: Member>(b: &mut Builder<'_>, field: Field<S, T>) -> Value {
    let at = b.u32(field.offset());
    let mem = Mem { align_log2: 2, ..Mem::default() };
    b.value(Op::LoadUniform, Attrs::Mem(mem), &[at], Type::vec(T::BITS, 1))
}

/// Version of [`driver`] in a pass.
fn driver_in<S, T: Member>(e: &mut Emit, field: Field<S, T>) -> Value {
    let at = e.u32(field.offset());
    let mem = Mem { align_log2: 2, ..Mem::default() };
    e.value(Op::LoadUniform, Attrs::Mem(mem), &[at], Type::vec(T::BITS, 1))
}
