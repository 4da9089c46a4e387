//! The tessellator between control and evaluation shaders, and the stages after it
//! ([`tepui_expand::tessellate`]).

use std::sync::Arc;
use tepui_agx_compiler::Source;
use tepui_expand::lower::patch_stride;
use tepui_expand::tessellate::{Worker, word};
use tepui_expand::{Emission, Expansion, Record};
use tepui_ir::{Builtin, Interp, IoLoc, IoSlot, NumKind, Sampling};
use tepui_vulkan::Result;
use tepui_vulkan::backend::Dispatch;
use tepui_vulkan::command::CommandState;
use tepui_vulkan::vk::QueryPipelineStatisticFlags as Flags;

use super::Encoder;
use super::bindings::{Bindings, split};
use super::stages::Tessellated;
use crate::family::Agx;
use crate::shader::Shader;
use tepui_vulkan_expand::Program;
use tepui_vulkan_expand::place::params;
use tepui_vulkan_expand::topology::makes_points;

impl Encoder {
    /// Divides the patches that the control shader wrote. If there is a geometry shader, runs the
    /// evaluation shader and that one. Returns the vertex shader that the hardware runs, and the
    /// address of the parameters of later stages.
    pub(super) fn tessellate(
        &mut self,
        state: &CommandState<Agx>,
        bindings: &Bindings,
        parameters: u64,
        t: &Tessellated,
        geometry: Option<&Arc<Shader>>,
    ) -> Result<(Arc<Shader>, u64)> {
        let vertices = t.control.ir.info.primitives.vertices.max(1);
        let patch = Record::of_patch(&t.control.ir);
        let controlled = Record::of_vertices(&t.control.ir);
        let level = |b: Builtin| {
            let (interp, sampling) = (Interp::Flat, Sampling::Center);
            let slot = IoSlot {
                loc: IoLoc::Builtin(b),
                component: 0,
                index: 0,
                kind: NumKind::Float,
                interp,
                sampling,
            };
            patch.offset(slot).unwrap_or(0)
        };
        let at = |offset: u32| parameters + u64::from(offset);
        let [low, high] = split(at(params::UNLIKE));
        let own = [
            patch_stride(&patch, &controlled, vertices),
            level(Builtin::TessLevelOuter),
            level(Builtin::TessLevelInner),
            low,
            high,
        ];
        let in_memory = |s: Source| match s {
            Source::Driver { offset } if offset < word::STRIDE => {
                Some(at(params::TESSELLATE + offset))
            }
            _ => None,
        };
        let none = Bindings::default();
        let groups = |offset: u32| Dispatch::Indirect([0; 3], at(offset));
        let first = word::STRIDE as usize / 4;
        // Computes the numbers of points and indices, and the offsets of each patch.
        let count = self.device.clone().meta(Program::CountTessellated(t.how))?.compute()?;
        self.driver[first..first + own.len()].copy_from_slice(&own);
        let dispatch = groups(params::GATHER_GROUPS);
        self.launch_with(&count, &none, &state.push, &dispatch, &|_| None, &in_memory)?;
        let patches = at(params::TESSELLATE + word::COUNT);
        for (table, sum) in [(word::POINTS, params::POINTS), (word::INDICES, params::INDICES)] {
            self.sums(state, at(params::TESSELLATE + table), patches, at(sum), 1)?;
        }
        self.count_from_memory(&[
            (Flags::TESSELLATION_CONTROL_SHADER_PATCHES, patches),
            (Flags::TESSELLATION_EVALUATION_SHADER_INVOCATIONS, at(params::POINTS + 4)),
        ])?;
        let heap = self.expansion_heap(0)?;
        let behind = match geometry {
            Some(_) => self.upload(&[0; params::BYTES], 64)?.address,
            None => parameters,
        };
        let evaluated = Record::of_vertices(&t.evaluation.ir);
        let ([a, b], [c, d]) = (split(parameters), split(heap.0));
        let rasterised = state.graphics.rasterization_stream;
        let mut place = vec![a, b, c, d, heap.1];
        if let Some(g) = geometry {
            let (emission, record) = (Emission::of(&g.ir), Record::of_vertices(&g.ir));
            let [e, f] = split(behind);
            place.extend([
                e,
                f,
                evaluated.stride().max(16),
                emission.invocations,
                emission.vertices * record.stride().max(16),
                emission.indices,
                emission.reads,
                tepui_expand::lists(emission.streams, rasterised.into()),
            ]);
        }
        self.run(Program::PlaceTessellated(geometry.is_some()), &place, &[], [1; 3])?;
        // The points and indices.
        for (worker, number) in [
            (Worker::Group, params::TESSELLATE_GROUPS),
            (Worker::Thread, params::TESSELLATE_THREADS),
        ] {
            let fill = self.device.clone().meta(Program::Tessellate(t.how, worker))?.compute()?;
            self.driver[first..first + own.len()].copy_from_slice(&own);
            let dispatch = groups(number);
            self.launch_with(&fill, &none, &state.push, &dispatch, &|_| None, &in_memory)?;
        }
        // The vertices.
        let expansion = Expansion {
            vertices: controlled,
            patch,
            patch_vertices: vertices,
            triangles: t.how.domain == tepui_ir::PrimitiveKind::Triangles,
            ..Expansion::default()
        };
        let Some(g) = geometry else {
            let numbered = state.bound.fragment.as_ref().is_some_and(|f| f.reads_primitive);
            return Ok((t.evaluation.evaluated(&expansion, numbered)?, behind));
        };
        let program = t.evaluation.expanded(&expansion)?;
        let dispatch = groups(params::EVALUATE_GROUPS);
        self.launch_at(&program, bindings, state, &dispatch, at(params::EVALUATE))?;
        let no_size = !self.looks_at_emissions(state)
            && !makes_points(&state.graphics, Emission::of(&g.ir).output);
        let expansion = Expansion {
            vertices: evaluated,
            tessellated: true,
            rasterised,
            no_size,
            ..Expansion::default()
        };
        let program = g.expanded(&expansion)?;
        let dispatch = Dispatch::Indirect([0; 3], behind + u64::from(params::GEOMETRY_GROUPS));
        self.launch_at(&program, bindings, state, &dispatch, behind)?;
        Ok((g.pull(no_size)?, behind))
    }
}
