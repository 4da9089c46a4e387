//! Parameters of an expanded draw in memory, for draws whose sizes only the GPU knows.

use tepui_expand::StageWords;
use tepui_expand::capture::CaptureWords;
use tepui_expand::gather::GatherWords;
use tepui_expand::tessellate::TessellateWords;
use tepui_ir::{Op, Value};
use tepui_sysval::{Field, Member, push_words};

use crate::order::ListSource;
use tepui_vulkan_kit::MetaBuilder;

push_words! {
    /// Arguments of an indexed draw: `VkDrawIndexedIndirectCommand`.
    pub struct DrawIndexedArguments {
        /// Indices.
        pub count: u32,
        /// Instances.
        pub instances: u32,
        /// First index.
        pub first: u32,
        /// Number that is added to indices.
        pub vertex_offset: u32,
        /// First instance.
        pub first_instance: u32,
    }

    /// The parameters of an expanded draw in memory, which programs pass on: words of later programs and their workgroups.
    ///
    /// A draw that is tessellated and has a geometry shader has a second set of them, for that shader and the last draw.
    pub struct DrawParams {
        /// Words of the geometry or control shader.
        pub stage: StageWords,
        /// Words of the vertex shader.
        pub vertex: CaptureWords,
        /// The vertices, for the program that lists them.
        pub list: ListSource,
        /// First instance.
        pub first_instance: u32,
        /// Workgroups that list vertices.
        pub list_groups: [u32; 3],
        /// Workgroups of the vertex shader.
        pub vertex_groups: [u32; 3],
        /// Workgroups of the geometry or control shader.
        pub geometry_groups: [u32; 3],
        /// Arguments of the draw.
        pub draw: DrawIndexedArguments,
        /// Words of the programs that gather what was emitted.
        pub gather: GatherWords,
        /// Their workgroups.
        pub gather_groups: [u32; 3],
        /// Vertices of the emitted primitives, then the primitives.
        pub emitted: [u32; 2],
        /// Words of the tessellator.
        pub tessellate: TessellateWords,
        /// Points of all patches, twice.
        pub points: [u32; 2],
        /// Indices of all patches, twice.
        pub indices: [u32; 2],
        /// Workgroups of the tessellator that divide a patch each.
        pub tessellate_groups: [u32; 3],
        /// Workgroups of it of which each thread divides a patch.
        pub tessellate_threads: [u32; 3],
        /// Words of the evaluation shader.
        pub evaluate: StageWords,
        /// Its workgroups.
        pub evaluate_groups: [u32; 3],
        /// Not zero if the levels of patches differ.
        pub unlike: u32,
    }
}

/// A set of parameters that a program writes.
pub(crate) struct ParamsWriter(pub(crate) Value);

impl ParamsWriter {
    /// Writes a field.
    pub(crate) fn set<T: Member>(
        &self,
        m: &mut MetaBuilder<'_>,
        field: Field<DrawParams, T>,
        v: Value,
    ) {
        m.store_field(self.0, field, v);
    }

    /// Writes a field of the words of a later program.
    pub(crate) fn set_in<S, T: Member>(
        &self,
        m: &mut MetaBuilder<'_>,
        words: Field<DrawParams, S>,
        field: Field<S, T>,
        v: Value,
    ) {
        m.store_field(self.0, words.then(field), v);
    }

    /// Writes the workgroups of a program: `x` of each of `y` instances.
    pub(crate) fn set_groups(
        &self,
        m: &mut MetaBuilder<'_>,
        field: Field<DrawParams, [u32; 3]>,
        [x, y]: [Value; 2],
    ) {
        let one = m.ir.u32(1);
        m.store_words(self.0, field, [x, y, one]);
    }

    /// Writes the arguments of an indexed draw.
    pub(crate) fn set_draw(&self, m: &mut MetaBuilder<'_>, [count, instances, first]: [Value; 3]) {
        let zero = m.ir.u32(0);
        let all = [
            (DrawIndexedArguments::COUNT, count),
            (DrawIndexedArguments::INSTANCES, instances),
            (DrawIndexedArguments::FIRST, first),
            (DrawIndexedArguments::VERTEX_OFFSET, zero),
            (DrawIndexedArguments::FIRST_INSTANCE, zero),
        ];
        for (field, v) in all {
            self.set_in(m, DrawParams::DRAW, field, v);
        }
    }
}

/// Workgroups of `threads` threads for `n` of them.
pub(crate) fn groups_of(m: &mut MetaBuilder<'_>, n: Value, threads: Value) -> Value {
    let one = m.ir.u32(1);
    let more = m.op(Op::ISub, threads, one);
    let n = m.op(Op::IAdd, n, more);
    m.op(Op::UDiv, n, threads)
}

/// Workgroups of a sub-group for `n` threads.
pub(crate) fn lane_groups(m: &mut MetaBuilder<'_>, n: Value) -> Value {
    let more = m.ir.u32(m.lanes - 1);
    let n = m.op(Op::IAdd, n, more);
    m.shr(n, m.lanes.ilog2())
}
