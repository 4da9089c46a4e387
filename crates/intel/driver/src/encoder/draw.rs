//! Draws.
//!
//! A draw makes binding tables and constants if what they are made of changed, the packets whose state changed
//! ([`crate::graphics`]), and the primitive.

use tepui_intel_packets::mi::MiLoadRegisterMem;
use tepui_intel_packets::vertex::{Primitive3d, State3dIndexBuffer, State3dVertexBuffers};
use tepui_vulkan::backend::{Condition, Counts, Draw};
use tepui_vulkan::command::{BindPoint, IndexBuffer, MAX_PUSH, VertexBuffer};
use tepui_vulkan::feedback::{FeedbackBuffer, MAX_FEEDBACK};
use tepui_vulkan::state::{GraphicsState, Groups, MAX_VERTEX};
use tepui_vulkan::{Error, Result};

use super::Encoder;
use super::generated::Method;
use super::linked::{Key, Linked, Place};
use super::state::{Partition, PushedSets};
use super::vertex_ranges::INDICES;
use crate::flush::Mode;
use crate::graphics::vertex::{DRAW_BUFFER, IDS_BUFFER, buffer};
use crate::graphics::{Causes, Context, Effect, Kind, RULES, for_each_bit};
use crate::mocs::mocs;
use crate::packets::Out;
use crate::programs::Programs;
use crate::space;

/// Registers of indirect draws: vertices, instances, first vertex, first instance, base vertex. source: genxml, 3DPRIM_*
const VERTEX_COUNT: u64 = 0x2434;
const INSTANCE_COUNT: u64 = 0x2438;
const START_VERTEX: u64 = 0x2430;
const START_INSTANCE: u64 = 0x243c;
const BASE_VERTEX: u64 = 0x2440;
/// Bytes of the parameters of a draw at most.
const MAX_PARAMETERS_B: u32 = 20;
/// The index buffer of indexed draws without one: the hardware takes indices past the end for zero.
const NO_INDICES: IndexBuffer =
    IndexBuffer { address: 0, size: 0, index_bytes: 4, is_sparse: false };

/// Parts of a draw.
pub struct Parts<'a> {
    /// Graphics state.
    pub state: &'a GraphicsState,
    /// Descriptor sets.
    pub sets: &'a BindPoint,
    /// Sets that are pushed.
    pub pushed: &'a PushedSets,
    /// Push constants.
    pub push: &'a [u8; MAX_PUSH],
    /// Sets, targets or the size of patches changed since the last draw.
    pub rebinds: bool,
    /// Push constants changed since the last draw.
    pub pushes: bool,
    /// Addresses and sizes of vertex buffers.
    pub buffers: &'a [VertexBuffer; MAX_VERTEX],
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
    /// Links programs.
    ///
    /// # Errors
    /// When they do not fit together, or there is no memory.
    pub(super) fn link(&mut self, key: Option<Key>, programs: Programs) -> Result<Place> {
        let (linked, scratch) = Linked::new(&self.device, key, programs)?;
        self.scratch.extend(scratch);
        linked.programs.stages.iter().flatten().for_each(|v| self.keep.push(v.clone()));
        Ok(self.graphics.packets.add(linked))
    }

    /// Draws in the current rendering with linked programs.
    ///
    /// # Errors
    /// When there is no memory, or state that is not supported.
    pub(super) fn draw_parts(&mut self, at: Place, p: &Parts<'_>, draw: &Draw) -> Result<()> {
        self.graphics.repeats = false;
        let is_nothing = match draw {
            Draw::Direct(c) => c.count == 0 || c.instances == 0,
            Draw::Indirect { count, .. } => *count == 0,
        };
        if is_nothing {
            return Ok(());
        }
        let Some((mut linked, is_new)) = self.graphics.packets.take(at) else {
            return Err(Error::unsupported("a draw within a draw"));
        };
        if is_new {
            self.graphics.causes |= Causes::SHADERS;
        }
        let drawn = self.draw_linked(&mut linked, p, draw);
        self.graphics.packets.put(linked);
        drawn
    }

    fn draw_linked(&mut self, linked: &mut Linked, p: &Parts<'_>, draw: &Draw) -> Result<()> {
        let index = draw.is_indexed().then(|| p.index.unwrap_or(NO_INDICES));
        let g = &mut self.graphics;
        if g.changed.0.contains(Groups::VERTEX_ATTRIBUTES) {
            let attributes = p.state.attributes.iter().flatten();
            g.read_buffers = attributes.fold(0, |all, a| all | 1 << a.binding);
        }
        if g.causes.contains(Causes::BUFFERS)
            || g.changed.0.contains(Groups::VERTEX_ATTRIBUTES)
            || index.is_some() && g.index != index
            || linked.reads_ids
        {
            self.reads_buffers(linked, p, index, draw);
        }
        let views = if p.views == 0 { 1 } else { p.views };
        let first = views.trailing_zeros();
        for view in (0..32).filter(|v| views >> v & 1 != 0) {
            // The number of the view is among the constants.
            self.make_bindings(linked, p, view, p.pushes || p.views != 0)?;
            self.prepare(Mode::Graphics, Partition::Plain)?;
            if view == first {
                self.emit_rules(linked, p, index)?;
            }
            self.bind_stages(linked)?;
            self.index_buffer(index)?;
            self.primitives(p.condition, linked, draw)?;
        }
        let (g, h) = (&mut self.graphics, &self.hardware);
        let reads_numbers = linked.reads_ids || linked.reads_draw;
        g.repeats = p.views == 0
            && p.is_counted
            && p.condition.is_none()
            && !reads_numbers
            && !linked.repeats_hull
            // Indirect draws may have left the pipeline, and controls may follow later.
            && h.mode == Some(Mode::Graphics)
            && h.pending.is_empty();
        Ok(())
    }

    /// Records a draw that directly follows another one, if it is one primitive.
    #[inline(always)]
    pub(super) fn repeat_draw(&mut self, draw: &Draw) -> bool {
        let Draw::Direct(counts) = draw else { return false };
        let g = &self.graphics;
        let is_same = g.repeats && counts.indexed == (g.index_bytes != 0);
        is_same && (counts.count == 0 || counts.instances == 0 || self.primitive(counts).is_ok())
    }

    /// Notes the vertex buffers and the index buffer of a draw.
    fn reads_buffers(
        &mut self,
        linked: &Linked,
        p: &Parts<'_>,
        index: Option<IndexBuffer>,
        draw: &Draw,
    ) {
        let mut all = std::mem::take(&mut self.graphics.ranges);
        all.clear();
        for_each_bit(self.graphics.read_buffers.into(), |k| {
            all.push((k, p.buffers[k].address, p.buffers[k].size));
        });
        all.extend(index.map(|i| (INDICES, i.address, i.size)));
        if linked.reads_ids {
            // The numbers of draws are dynamic state always, which tags tell apart.
            let (address, size) = match *draw {
                Draw::Direct(_) => (space::DYNAMIC, space::CODE - space::DYNAMIC),
                Draw::Indirect { address, count, stride, .. } => {
                    (address, u64::from(count) * u64::from(stride.max(MAX_PARAMETERS_B)))
                }
            };
            all.push((IDS_BUFFER as usize, address, size));
        }
        self.reads_vertices(&all);
        self.graphics.ranges = all;
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
        linked: &Linked,
        draw: &Draw,
    ) -> Result<()> {
        let is_predicated = self.predicate(condition)?;
        match (Method::of(draw, condition, linked), draw) {
            (_, Draw::Direct(counts)) => self.direct(linked, counts, is_predicated),
            (Method::Registers, _) => self.by_registers(linked, draw, condition),
            (Method::InPlace, _) => self.draw_in_place(linked, draw, is_predicated),
            (Method::Ring, _) => self.draw_in_ring(linked, draw, is_predicated),
        }
    }

    /// Emits draws whose parameters registers hold.
    fn by_registers(
        &mut self,
        linked: &Linked,
        draw: &Draw,
        condition: Option<Condition>,
    ) -> Result<()> {
        let &Draw::Indirect { address, count, stride, count_address, indexed, draw_index } = draw
        else {
            return Ok(());
        };
        for k in 0..count {
            if let Some(number) = count_address {
                self.count_predicate(number, k, condition)?;
            }
            let at = address + u64::from(k) * u64::from(stride);
            let is_predicated = condition.is_some() || count_address.is_some();
            self.indirect(linked, at, (indexed, draw_index + k), is_predicated)?;
        }
        Ok(())
    }

    /// Emits the packets whose state changed.
    fn emit_rules(
        &mut self,
        linked: &mut Linked,
        p: &Parts<'_>,
        index: Option<IndexBuffer>,
    ) -> Result<()> {
        let index_bytes = index.map_or(0, |i| i.index_bytes);
        if index_bytes != self.graphics.index_bytes {
            self.graphics.index_bytes = index_bytes;
            self.graphics.causes |= Causes::INDEX;
        }
        if self.targets.is_none() {
            return Err(Error::unsupported("a draw outside of a rendering"));
        }
        let causes = std::mem::take(&mut self.graphics.causes);
        let changed = std::mem::replace(&mut self.graphics.changed.0, Groups::empty());
        if causes.is_empty() && changed.is_empty() {
            return Ok(());
        }
        let change = self.graphics.packets.change(&linked.changes, changed, causes);
        let mut emitted = 0;
        let mut rules = change.rules;
        while rules != 0 {
            let k = rules.trailing_zeros() as usize;
            emitted |= u32::from(self.emit_rule(k, linked, p)?) << k;
            rules &= rules - 1;
        }
        let number = linked.number();
        self.graphics.packets.emitted(number, &mut linked.changes, change, emitted);
        Ok(())
    }

    /// Emits the packets of a rule if they differ from what was emitted last; returns whether they do.
    fn emit_rule(&mut self, k: usize, linked: &mut Linked, p: &Parts<'_>) -> Result<bool> {
        let rule = &RULES[k];
        let generation = self.device.generation();
        let (Kind::Packets(make) | Kind::State { make, .. }) = rule.kind;
        let (targets, index_bytes) = (&self.targets, self.graphics.index_bytes);
        let read_buffers = self.graphics.read_buffers;
        self.graphics.packets.make(linked, k, |linked, spare| {
            let mut out = Out::reuse(generation, spare);
            let programs = &linked.programs;
            let (vertex, vertex_info) = programs.vertex()?;
            let Some(targets) = targets else { return Ok(out.bytes) };
            let context = Context {
                generation,
                state: p.state,
                vertex,
                vertex_info,
                hull: programs.hull()?,
                domain: programs.domain()?,
                geometry: programs.geometry()?,
                tessellator: programs.tessellator,
                outputs: programs.outputs()?,
                fragment: programs.fragment()?,
                setup: &linked.setup,
                scratch: linked.scratch,
                area: targets.area,
                colours: targets.colours,
                depth: targets.depth,
                float_depth: targets.float_depth,
                stencil: targets.stencil,
                index_bytes,
                buffers: p.buffers,
                read_buffers,
                statistics: p.is_counted,
                captures: programs.captures(),
                feedback: p.feedback,
            };
            make(&context, &mut out)?;
            Ok(out.bytes)
        })?;
        if !self.graphics.packets.differs(linked, k) {
            return Ok(false);
        }
        match rule.kind {
            Kind::Packets(_) => self.emit_bytes(linked.bytes(k))?,
            Kind::State { align, point, .. } => {
                let at = match linked.address(k) {
                    Some(at) => at,
                    None => {
                        let at = self.upload_state(linked.bytes(k), align)?.address;
                        linked.set_address(k, at);
                        at
                    }
                };
                if rule.effect == Effect::ColourCalculator {
                    self.hardware.colour_calculator = Some(at - space::DYNAMIC);
                }
                let mut out = Out::reuse(generation, std::mem::take(&mut self.spare));
                point(at - space::DYNAMIC, &mut out)?;
                self.emit_bytes(&out.bytes)?;
                self.spare = out.bytes;
            }
        }
        match rule.effect {
            Effect::DropsConstants => {
                self.graphics.pointers = Default::default();
                self.graphics.rebound = true;
            }
            Effect::Hull => self.graphics.hull_is_new = true,
            Effect::ColourCalculator | Effect::DepthOperation | Effect::Nothing => {}
        }
        Ok(true)
    }

    /// Buffers with the numbers of a draw: the first vertex and instance at `ids`, or in new memory; the draw's number.
    fn number_buffers(
        &mut self,
        linked: &Linked,
        ids: Option<u64>,
        [first_vertex, first_instance, draw_index]: [u32; 3],
    ) -> Result<()> {
        if !linked.reads_ids && !linked.reads_draw {
            return Ok(());
        }
        let generation = self.device.generation();
        // A command and its body are one piece: a jump to the next chunk of the batch may stand between others.
        let put = |e: &mut Encoder, index: u32, (address, size): (u64, u32)| -> Result<()> {
            let mut out = Out::new(generation);
            out.put(&State3dVertexBuffers { dword_length: 3 })?;
            out.put(&buffer(generation, index, (address, size), 0))?;
            e.emit_bytes(&out.bytes)
        };
        if linked.reads_ids {
            let at = match ids {
                Some(at) => at,
                None => {
                    let words = [first_vertex, first_instance].map(u32::to_le_bytes);
                    self.upload_state(words.as_flattened(), 64)?.address
                }
            };
            put(self, IDS_BUFFER, (at, 8))?;
        }
        if linked.reads_draw {
            let at = self.upload_state(&draw_index.to_le_bytes(), 64)?.address;
            put(self, DRAW_BUFFER, (at, 4))?;
        }
        Ok(())
    }

    /// Emits the hull stage's packet again where each primitive needs it: TE may not be given patches of the next one otherwise.
    /// source: Mesa, genX_cmd_draw.c (Wa_16011107343)
    fn repeat_hull(&mut self, linked: &Linked) -> Result<()> {
        let is_new = std::mem::take(&mut self.graphics.hull_is_new);
        if linked.repeats_hull && !is_new { self.emit_bytes(linked.hull()) } else { Ok(()) }
    }

    fn direct(&mut self, linked: &Linked, c: &Counts, is_predicated: bool) -> Result<()> {
        let numbers = [c.base_vertex(), c.first_instance, c.draw_index];
        self.number_buffers(linked, None, numbers)?;
        self.repeat_hull(linked)?;
        match is_predicated {
            false => self.primitive(c),
            true => self.predicated_primitive(c),
        }
    }

    /// Emits a primitive whose parameters are known.
    #[inline(always)]
    fn primitive(&mut self, c: &Counts) -> Result<()> {
        let words = self.device.templates.primitive(c);
        self.batch.append_words(&self.device, words)
    }

    /// Emits a primitive whose parameters are known, under the predicate.
    fn predicated_primitive(&mut self, c: &Counts) -> Result<()> {
        self.emit(&Primitive3d {
            predicate_enable: true,
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
        linked: &Linked,
        at: u64,
        (indexed, draw_index): (bool, u32),
        predicate_enable: bool,
    ) -> Result<()> {
        // First vertex (or base vertex) and first instance are the last two words of the parameters.
        let ids = at + if indexed { 12 } else { 8 };
        self.number_buffers(linked, Some(ids), [0, 0, draw_index])?;
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
        self.repeat_hull(linked)?;
        self.emit(&Primitive3d {
            predicate_enable,
            indirect_parameter_enable: true,
            vertex_access_type: indexed,
            ..Primitive3d::default()
        })
    }
}
