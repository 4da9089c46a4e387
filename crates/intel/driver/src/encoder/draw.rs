//! Draws.
//!
//! A draw makes binding tables and constants if what they are made of changed, the packets whose state changed
//! ([`crate::graphics`]), and the primitive.

use std::sync::Arc;

use tepui_intel_compiler::stage::{VertexElement, VertexInfo};
use tepui_intel_compiler::vue::Setup;
use tepui_intel_packets::bindings::{
    State3dBindingTablePointersDs, State3dBindingTablePointersGs, State3dBindingTablePointersHs,
    State3dBindingTablePointersPs, State3dBindingTablePointersVs, State3dConstantBody,
    State3dConstantDs, State3dConstantGs, State3dConstantHs, State3dConstantPs, State3dConstantVs,
    State3dSamplerStatePointersDs, State3dSamplerStatePointersGs, State3dSamplerStatePointersHs,
    State3dSamplerStatePointersPs, State3dSamplerStatePointersVs,
};
use tepui_intel_packets::mi::MiLoadRegisterMem;
use tepui_intel_packets::vertex::{Primitive3d, State3dIndexBuffer, State3dVertexBuffers};
use tepui_ir::Stage;
use tepui_vulkan::backend::{Condition, Counts, Draw};
use tepui_vulkan::command::{BindPoint, IndexBuffer, MAX_PUSH};
use tepui_vulkan::feedback::{FeedbackBuffer, MAX_FEEDBACK};
use tepui_vulkan::state::{GraphicsState, Groups, MAX_COLOURS, MAX_VERTEX};
use tepui_vulkan::{Error, Result};
use tepui_vulkan_meta::condition::counted;

use super::Encoder;
use super::bindings::{Inputs, PushedSets};
use super::hardware::{Partition, mocs};
use super::vertex_ranges::INDICES;
use crate::flush::{Mode, before_parameters};
use crate::graphics::vertex::{DRAW_BUFFER, IDS_BUFFER, buffer};
use crate::graphics::{Causes, Context, Kind, Out, RULES};
use crate::programs::{Programs, STAGES};
use crate::shader::{Variant, compile_error};
use crate::space;

/// Registers of indirect draws: vertices, instances, first vertex, first instance, base vertex. source: genxml, 3DPRIM_*
const VERTEX_COUNT: u64 = 0x2434;
const INSTANCE_COUNT: u64 = 0x2438;
const START_VERTEX: u64 = 0x2430;
const START_INSTANCE: u64 = 0x243c;
const BASE_VERTEX: u64 = 0x2440;

/// State that the draws so far have emitted.
#[derive(Default)]
pub struct Graphics {
    /// Causes of changes since the last draw.
    pub causes: Causes,
    /// Groups of state that changed since the last draw.
    pub changed: AllAtFirst,
    /// Bytes of each rule of the last draw.
    emitted: Vec<Vec<u8>>,
    /// Programs of the last draw.
    programs: Programs,
    /// Sources of the fragment's attributes.
    setup: Option<Setup>,
    /// Block of binding tables of the last draw's.
    block: u64,
    /// Binding tables and sampler tables of the stages.
    tables: [[u32; 2]; STAGES.len()],
    /// Constants of the stages that were emitted.
    constants: [Option<State3dConstantBody>; STAGES.len()],
    /// The index buffer that was emitted.
    index: Option<IndexBuffer>,
    /// Bytes of an index of the last draw.
    index_bytes: u32,
    /// Sets that are pushed.
    pub pushed: PushedSets,
}

/// Groups of state; all of them at first.
pub struct AllAtFirst(pub Groups);

impl Default for AllAtFirst {
    fn default() -> Self {
        AllAtFirst(Groups::all())
    }
}

/// Parts of a draw.
pub struct Parts<'a> {
    /// Graphics state.
    pub state: &'a GraphicsState,
    /// Programs.
    pub programs: &'a Programs,
    /// Descriptor sets.
    pub sets: &'a BindPoint,
    /// Sets that are pushed.
    pub pushed: PushedSets,
    /// Push constants.
    pub push: &'a [u8; MAX_PUSH],
    /// Sets, targets or the size of patches changed since the last draw.
    pub rebinds: bool,
    /// Push constants changed since the last draw.
    pub pushes: bool,
    /// Addresses and sizes of vertex buffers.
    pub buffers: &'a [(u64, u64); MAX_VERTEX],
    /// Index buffer.
    pub index: Option<IndexBuffer>,
    /// Views that are drawn, a bit each; 0 without multiview.
    pub views: u32,
    /// Condition of the draw.
    pub condition: Option<Condition>,
    /// Queries count the draw.
    pub is_counted: bool,
    /// Buffers that vertices are captured into, while they are.
    pub feedback: Option<&'a [FeedbackBuffer; MAX_FEEDBACK]>,
}

impl Encoder {
    /// Draws in the current rendering.
    ///
    /// # Errors
    /// When there is no memory, or state that is not supported.
    pub(super) fn draw_parts(&mut self, p: &Parts<'_>, draw: &Draw) -> Result<()> {
        if matches!(draw, Draw::Direct(c) if c.count == 0 || c.instances == 0) {
            return Ok(());
        }
        let draw = &self.with_count(p.condition, draw)?;
        let (_, info) = p.programs.vertex()?;
        self.take_programs(p.programs)?;
        let index = p.index.filter(|_| draw.is_indexed());
        let g = &self.graphics;
        if g.causes.contains(Causes::BUFFERS)
            || g.changed.0.contains(Groups::VERTEX_ATTRIBUTES)
            || index.is_some() && g.index != index
        {
            self.reads_buffers(p, index);
        }
        let views = (0..32).filter(|v| p.views >> v & 1 != 0);
        let first = if p.views == 0 { 0 } else { p.views.trailing_zeros() };
        // The number of the view is among the constants.
        self.bind_stages(p, first, p.pushes || p.views != 0)?;
        self.emit_rules(p, index)?;
        self.index_buffer(index)?;
        self.primitives(p.condition, info, draw)?;
        for view in views.filter(|&v| v != first) {
            self.bind_stages(p, view, true)?;
            self.primitives(p.condition, info, draw)?;
        }
        Ok(())
    }

    /// Notes the vertex buffers and the index buffer of a draw.
    fn reads_buffers(&mut self, p: &Parts<'_>, index: Option<IndexBuffer>) {
        let attributes = p.state.attributes.iter().flatten();
        let used = attributes.fold(0u64, |all, a| all | 1 << a.binding);
        let vertices = p.buffers.iter().enumerate().filter(|b| used >> b.0 & 1 != 0);
        let indices = index.map(|i| (INDICES, i.address, i.size));
        let all: Vec<_> = vertices.map(|(k, &(at, size))| (k, at, size)).chain(indices).collect();
        self.reads_vertices(&all);
    }

    /// A draw whose number in memory is not the predicate's, which is for a condition: what is not drawn has no instances.
    fn with_count(&mut self, condition: Option<Condition>, draw: &Draw) -> Result<Draw> {
        let &Draw::Indirect { address, count, stride, count_address, indexed, draw_index } = draw
        else {
            return Ok(*draw);
        };
        let (Some(_), Some(number)) = (condition, count_address) else { return Ok(*draw) };
        let (address, stride) = counted(self, address, number, count, stride, indexed)?;
        self.hardware.pending |= before_parameters(self.device.generation());
        Ok(Draw::Indirect { address, count, stride, count_address: None, indexed, draw_index })
    }

    /// Emits the index buffer if it is another.
    fn index_buffer(&mut self, index: Option<IndexBuffer>) -> Result<()> {
        let Some(index) = index.filter(|&i| self.graphics.index != Some(i)) else { return Ok(()) };
        self.graphics.index = Some(index);
        let generation = self.device.generation();
        self.emit(&State3dIndexBuffer {
            mocs: u32::from(mocs(generation)),
            index_format: match index.index_bytes {
                1 => 0,
                2 => 1,
                _ => 2,
            },
            buffer_starting_address: index.address,
            buffer_size: index.size.min(u64::from(u32::MAX)) as u32,
            ..State3dIndexBuffer::default()
        })
    }

    /// Emits the primitives of a draw.
    fn primitives(
        &mut self,
        condition: Option<Condition>,
        info: &VertexInfo,
        draw: &Draw,
    ) -> Result<()> {
        let is_predicated = self.predicate(condition)?;
        match *draw {
            Draw::Direct(counts) => self.direct(info, &counts, is_predicated),
            Draw::Indirect { address, count, stride, count_address, indexed, draw_index } => {
                for k in 0..count {
                    if let Some(number) = count_address {
                        self.count_predicate(number, k)?;
                    }
                    let at = address + u64::from(k) * u64::from(stride);
                    let is_predicated = is_predicated || count_address.is_some();
                    self.indirect(info, at, (indexed, draw_index + k), is_predicated)?;
                }
                Ok(())
            }
        }
    }

    /// Notes other programs than those of the last draw.
    fn take_programs(&mut self, programs: &Programs) -> Result<()> {
        let g = &mut self.graphics;
        if g.setup.is_some() && g.programs.is_same(programs) {
            return Ok(());
        }
        let inputs = programs.fragment()?.map_or(&[][..], |f| &f.1.inputs);
        let setup = programs.outputs()?.vue.setup(inputs).map_err(|e| compile_error(&e))?;
        g.setup = Some(setup);
        g.programs = programs.clone();
        g.causes |= Causes::SHADERS;
        for v in programs.stages.iter().flatten() {
            self.keep(v);
        }
        Ok(())
    }

    /// Binding tables, samplers and constants.
    fn bind_stages(&mut self, p: &Parts<'_>, view: u32, pushes: bool) -> Result<()> {
        let changes = Causes::SHADERS | Causes::RENDERING;
        let moved = self.tables.last().map_or(0, |c| c.address) != self.graphics.block;
        // The tables of another view are the same.
        let is_first = view == 0 || view == p.views.trailing_zeros();
        let rebinds = is_first && p.rebinds || moved || self.graphics.causes.intersects(changes);
        if !rebinds && !pushes {
            return self.prepare(Mode::Graphics, Partition::Plain);
        }
        let colours = self.targets.as_ref().map(|t| (t.states, t.colours, t.nothing));
        let (states, colours, nothing) = colours.unwrap_or(([0; MAX_COLOURS], 0, 0));
        let targets: [u64; MAX_COLOURS] = std::array::from_fn(|location| {
            let at = p.state.locations.iter().position(|&l| l == Some(location as u8));
            at.filter(|k| colours >> k & 1 != 0).map_or(nothing, |k| states[k])
        });
        let inputs = Inputs {
            sets: p.sets,
            pushed: p.pushed,
            push: p.push,
            groups: [[0; 3]; 2],
            targets: &targets,
            nothing,
            view,
            patch_vertices: p.state.patch_points,
        };
        let stages = &p.programs.stages;
        if rebinds {
            self.bind_tables(stages, &inputs)?;
        }
        self.prepare(Mode::Graphics, Partition::Plain)?;
        // Constants take effect with the pointer to the binding table. source: SKL PRM volume 2a, 3DSTATE_CONSTANT_VS
        let spare = std::mem::take(&mut self.spare);
        let mut out = Out::reuse(self.device.generation(), spare);
        let mut bodies = [None; STAGES.len()];
        for (k, (stage, v)) in STAGES.into_iter().zip(stages).enumerate() {
            let body = match v {
                Some(v) => self.stage_constants(v, &inputs)?,
                None => State3dConstantBody::default(),
            };
            bodies[k] = Some(body);
            if v.is_some() || self.graphics.constants[k] != bodies[k] {
                constants(stage, body, &mut out)?;
                pointers(stage, self.graphics.tables[k].map(u64::from), &mut out)?;
            }
        }
        self.graphics.constants = bodies;
        self.emit_bytes(&out.bytes)?;
        self.spare = out.bytes;
        Ok(())
    }

    /// Binding tables and sampler tables of all stages.
    fn bind_tables(
        &mut self,
        stages: &[Option<Arc<Variant>>; STAGES.len()],
        inputs: &Inputs<'_>,
    ) -> Result<()> {
        let mut tables = [[0; 2]; STAGES.len()];
        // Tables of one draw are in one block: a second try finds room in the block that the first one began.
        for _ in 0..2 {
            let block = self.tables.last().map(|c| c.address);
            for (to, v) in tables.iter_mut().zip(stages) {
                if let Some(v) = v {
                    *to = [self.binding_table(v, inputs)?, self.sampler_table(v, inputs)?];
                }
            }
            if self.tables.last().map(|c| c.address) == block {
                break;
            }
        }
        self.graphics.block = self.tables.last().map_or(0, |c| c.address);
        self.graphics.tables = tables;
        Ok(())
    }

    /// Constants of a stage in memory.
    fn stage_constants(&mut self, v: &Variant, inputs: &Inputs<'_>) -> Result<State3dConstantBody> {
        let registers = v.shared_registers();
        if registers == 0 {
            return Ok(State3dConstantBody::default());
        }
        let size = 32 * registers as usize;
        let at = self.reserve_state(size as u64, 64)?;
        for (k, &w) in v.places.words.iter().take(size / 4).enumerate() {
            // SAFETY: the place is new and has as many words.
            unsafe { at.host.cast::<u32>().add(k).write_unaligned(inputs.word(v, w).to_le()) };
        }
        Ok(State3dConstantBody {
            read_length_3: registers,
            buffer_3: at.address,
            ..State3dConstantBody::default()
        })
    }

    /// Emits the packets whose state changed.
    fn emit_rules(&mut self, p: &Parts<'_>, index: Option<IndexBuffer>) -> Result<()> {
        let index_bytes = index.map_or(0, |i| i.index_bytes);
        if index_bytes != self.graphics.index_bytes {
            self.graphics.index_bytes = index_bytes;
            self.graphics.causes |= Causes::INDEX;
        }
        let Some(targets) = self.targets.clone() else {
            return Err(Error::unsupported("a draw outside of a rendering"));
        };
        if self.graphics.causes.is_empty() && self.graphics.changed.0.is_empty() {
            return Ok(());
        }
        let generation = self.device.generation();
        let mut scratch = [(0, 0); STAGES.len()];
        for ((to, stage), v) in scratch.iter_mut().zip(STAGES).zip(&p.programs.stages) {
            let bytes = v.as_ref().map_or(0, |v| v.scratch);
            if let Some(s) = self.device.scratch(stage, bytes)? {
                *to = (s.memory.address, s.log2_kib);
                self.scratch.push(s);
            }
        }
        let Some(setup) = self.graphics.setup.take() else { return Ok(()) };
        let (vertex, vertex_info) = p.programs.vertex()?;
        let context = Context {
            generation,
            state: p.state,
            vertex,
            vertex_info,
            hull: p.programs.hull()?,
            domain: p.programs.domain()?,
            geometry: p.programs.geometry()?,
            tessellator: p.programs.tessellator,
            outputs: p.programs.outputs()?,
            fragment: p.programs.fragment()?,
            setup: &setup,
            scratch,
            area: targets.area,
            colours: targets.colours,
            depth: targets.depth,
            float_depth: targets.float_depth,
            stencil: targets.stencil,
            index_bytes,
            buffers: p.buffers,
            statistics: p.is_counted,
            captures: p.programs.captures(),
            feedback: p.feedback,
        };
        let emitted = self.emit_changed(&context);
        self.graphics.setup = Some(setup);
        emitted
    }

    /// Emits what differs from what was emitted last, of the rules whose causes have changed.
    fn emit_changed(&mut self, context: &Context<'_>) -> Result<()> {
        let generation = context.generation;
        let causes = std::mem::take(&mut self.graphics.causes);
        let changed = std::mem::replace(&mut self.graphics.changed.0, Groups::empty());
        self.graphics.emitted.resize_with(RULES.len(), Vec::new);
        let mut out = Out::reuse(generation, std::mem::take(&mut self.spare));
        for (k, rule) in RULES.iter().enumerate() {
            if !rule.groups.intersects(changed) && !rule.causes.intersects(causes) {
                continue;
            }
            out.bytes.clear();
            let (Kind::Packets(make) | Kind::State { make, .. }) = rule.kind;
            make(context, &mut out)?;
            if self.graphics.emitted[k] == out.bytes {
                continue;
            }
            self.graphics.emitted[k].clone_from(&out.bytes);
            match rule.kind {
                Kind::Packets(_) => self.emit_bytes(&out.bytes)?,
                Kind::State { align, point, .. } => {
                    let at = self.upload_state(&out.bytes, align)?;
                    out.bytes.clear();
                    point(at.address - space::DYNAMIC, &mut out)?;
                    self.emit_bytes(&out.bytes)?;
                }
            }
        }
        self.spare = out.bytes;
        Ok(())
    }

    /// Buffers with the numbers of a draw: the first vertex and instance at `ids`, or in new memory; the draw's number.
    fn number_buffers(
        &mut self,
        info: &VertexInfo,
        ids: Option<u64>,
        [first_vertex, first_instance, draw_index]: [u32; 3],
    ) -> Result<()> {
        let reads_ids = info.elements.iter().any(|e| {
            matches!(e, VertexElement::Ids { first_vertex, first_instance, .. }
                if *first_vertex || *first_instance)
        });
        let reads_draw = info.elements.contains(&VertexElement::DrawIndex);
        let generation = self.device.generation();
        // A command and its body are one piece: a jump to the next chunk of the batch may stand between others.
        let put = |e: &mut Encoder, index: u32, (address, size): (u64, u32)| -> Result<()> {
            let mut out = Out::new(generation);
            out.put(&State3dVertexBuffers { dword_length: 3 })?;
            out.put(&buffer(generation, index, (address, size), 0))?;
            e.emit_bytes(&out.bytes)
        };
        if reads_ids {
            let at = match ids {
                Some(at) => at,
                None => {
                    let words = [first_vertex, first_instance].map(u32::to_le_bytes);
                    self.upload_state(words.as_flattened(), 64)?.address
                }
            };
            put(self, IDS_BUFFER, (at, 8))?;
        }
        if reads_draw {
            let at = self.upload_state(&draw_index.to_le_bytes(), 64)?.address;
            put(self, DRAW_BUFFER, (at, 4))?;
        }
        Ok(())
    }

    fn direct(&mut self, info: &VertexInfo, c: &Counts, predicate_enable: bool) -> Result<()> {
        let numbers = [c.base_vertex(), c.first_instance, c.draw_index];
        self.number_buffers(info, None, numbers)?;
        self.emit(&Primitive3d {
            predicate_enable,
            // Indices are fetched one by one. source: genxml, Vertex Access Type: RANDOM
            vertex_access_type: c.indexed,
            vertex_count_per_instance: c.count,
            start_vertex_location: c.first,
            instance_count: c.instances,
            start_instance_location: c.first_instance,
            base_vertex_location: if c.indexed { c.vertex_offset } else { 0 },
            ..Primitive3d::default()
        })
    }

    fn indirect(
        &mut self,
        info: &VertexInfo,
        at: u64,
        (indexed, draw_index): (bool, u32),
        predicate_enable: bool,
    ) -> Result<()> {
        // First vertex (or base vertex) and first instance are the last two words of the parameters.
        let ids = at + if indexed { 12 } else { 8 };
        self.number_buffers(info, Some(ids), [0, 0, draw_index])?;
        let plain = [VERTEX_COUNT, INSTANCE_COUNT, START_VERTEX, START_INSTANCE];
        let with_base = [VERTEX_COUNT, INSTANCE_COUNT, START_VERTEX, BASE_VERTEX, START_INSTANCE];
        let registers: &[u64] = if indexed { &with_base } else { &plain };
        for (k, &register) in (0u64..).zip(registers) {
            self.emit(&MiLoadRegisterMem {
                register_address: register,
                memory_address: at + 4 * k,
                ..MiLoadRegisterMem::default()
            })?;
        }
        if !indexed {
            self.set_register(BASE_VERTEX, 0)?;
        }
        self.emit(&Primitive3d {
            predicate_enable,
            indirect_parameter_enable: true,
            vertex_access_type: indexed,
            ..Primitive3d::default()
        })
    }
}

/// 3DSTATE_CONSTANT of a stage.
fn constants(stage: Stage, constant_body: State3dConstantBody, out: &mut Out) -> Result<()> {
    match stage {
        Stage::Vertex => out.put(&State3dConstantVs { constant_body, ..Default::default() }),
        Stage::TessControl => out.put(&State3dConstantHs { constant_body, ..Default::default() }),
        Stage::TessEvaluation => {
            out.put(&State3dConstantDs { constant_body, ..Default::default() })
        }
        Stage::Geometry => out.put(&State3dConstantGs { constant_body, ..Default::default() }),
        _ => out.put(&State3dConstantPs { constant_body, ..Default::default() }),
    }
}

/// 3DSTATE_BINDING_TABLE_POINTERS and 3DSTATE_SAMPLER_STATE_POINTERS of a stage.
fn pointers(stage: Stage, [table, samplers]: [u64; 2], out: &mut Out) -> Result<()> {
    match stage {
        Stage::Vertex => {
            out.put(&State3dBindingTablePointersVs { pointer_to_vs_binding_table: table })?;
            out.put(&State3dSamplerStatePointersVs { pointer_to_vs_sampler_state: samplers })
        }
        Stage::TessControl => {
            out.put(&State3dBindingTablePointersHs { pointer_to_hs_binding_table: table })?;
            out.put(&State3dSamplerStatePointersHs { pointer_to_hs_sampler_state: samplers })
        }
        Stage::TessEvaluation => {
            out.put(&State3dBindingTablePointersDs { pointer_to_ds_binding_table: table })?;
            out.put(&State3dSamplerStatePointersDs { pointer_to_ds_sampler_state: samplers })
        }
        Stage::Geometry => {
            out.put(&State3dBindingTablePointersGs { pointer_to_gs_binding_table: table })?;
            out.put(&State3dSamplerStatePointersGs { pointer_to_gs_sampler_state: samplers })
        }
        _ => {
            out.put(&State3dBindingTablePointersPs { pointer_to_ps_binding_table: table })?;
            out.put(&State3dSamplerStatePointersPs { pointer_to_ps_sampler_state: samplers })
        }
    }
}
