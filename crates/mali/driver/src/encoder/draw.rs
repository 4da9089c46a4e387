//! Draws: state in registers, and RUN_IDVS, which shades positions, tiles, and shades varyings.
//!
//! source: Mesa, panvk_vX_cmd_draw.c (`prepare_draw`, `panvk_cmd_draw`)

use std::sync::Arc;

use tepui_mali_packets::cs::{CsCondition, CsRunIdvs};
use tepui_mali_packets::draw::{IndexType, InternalConversion, PrimitiveFlags, Scissor};
use tepui_sysval::{Arguments, LaunchWords};
use tepui_vulkan::backend::{Condition, Counts, Draw};
use tepui_vulkan::command::IndexBuffer;
use tepui_vulkan::state::{GraphicsState, MAX_COLOURS, MAX_VERTEX};
use tepui_vulkan::{Error, Result, vk};

use super::Encoder;
use super::inputs::{DrawValues, Inputs, Kind, Stage, Values};
use super::rendering::{CONTEXT_B, Contexts, registers as common};
use crate::device::{DESCRIPTOR_ALIGN, packet};
use crate::graphics::blend::{self, Blending};
use crate::graphics::framebuffer::tile_format;
use crate::graphics::raster::{Outputs, Sampling, Tests};
use crate::graphics::{raster, vertex};
use crate::kernel::Queue;
use crate::shader::{Entry, Variant};
use crate::stream::{SCRATCH, Stream};

/// Registers of RUN_IDVS. source: Mesa, panvk_vX_cmd_draw.c
mod registers {
    pub const VERTEX_RESOURCES: u8 = 0;
    pub const FRAGMENT_RESOURCES: u8 = 4;
    pub const VERTEX_FAU: u8 = 8;
    pub const FRAGMENT_FAU: u8 = 12;
    pub const POSITION: u8 = 16;
    pub const VARYING: u8 = 18;
    pub const FRAGMENT: u8 = 20;
    pub const THREADS: u8 = 24;
    pub const ATTRIBUTE_OFFSET: u8 = 32;
    pub const COUNT: u8 = 33;
    pub const INSTANCES: u8 = 34;
    pub const FIRST_INDEX: u8 = 35;
    pub const BASE_VERTEX: u8 = 36;
    pub const BASE_INSTANCE: u8 = 37;
    pub const DEPENDENCIES: u8 = 38;
    pub const INDEX_BYTES: u8 = 39;
    pub const MIN_DEPTH: u8 = 44;
    pub const MAX_DEPTH: u8 = 45;
    pub const OCCLUSION: u8 = 46;
    pub const VARYING_BYTES: u8 = 48;
    pub const BLEND: u8 = 50;
    pub const DEPTH_STENCIL: u8 = 52;
    pub const INDICES: u8 = 54;
    pub const PRIMITIVES: u8 = 56;
    pub const FLAGS: u8 = 57;
    pub const SIZE: u8 = 60;
}

/// State of a draw.
pub struct Parts<'a> {
    /// Graphics state.
    pub state: &'a GraphicsState,
    /// The vertex program.
    pub vertex: &'a Arc<Variant>,
    /// The fragment program.
    pub fragment: Option<&'a Arc<Variant>>,
    /// Blending.
    pub blending: &'a Blending,
    /// Sets and push constants.
    pub inputs: &'a Inputs<'a>,
    /// Vertex buffers: address and bytes.
    pub buffers: &'a [(u64, u64); MAX_VERTEX],
    /// The index buffer.
    pub index: Option<IndexBuffer>,
    /// The view that is drawn.
    pub view: u32,
    /// Words of a vertex program that follows from other stages.
    pub words: LaunchWords<'a>,
    /// Words of the fragment program.
    pub fragment_words: LaunchWords<'a>,
    /// Condition of the draw.
    pub condition: Option<Condition>,
    /// Queries count the draw.
    pub is_counted: bool,
}

/// Source of a draw's counts.
#[derive(Clone, Copy)]
enum Source {
    /// They are known.
    Known(Counts),
    /// They are in memory.
    Memory {
        /// Address of the parameters.
        address: u64,
        /// Indices come from the index buffer.
        indexed: bool,
        /// Number of the draw.
        draw_index: u32,
        /// Number of the draw in the command, and the address of the number of draws.
        limit: Option<(u32, u64)>,
    },
}

/// Descriptors and flags of a draw.
struct Prepared {
    primitives: u32,
    flags: [u32; 2],
    blend: u64,
    depth_stencil: u64,
    threads: u64,
    resources: [u64; 2],
    position: u64,
    varying: u64,
    varying_bytes: u32,
    size: f32,
    area: Scissor,
    contexts: Contexts,
}

fn index_type(bytes: u32) -> IndexType {
    match bytes {
        1 => IndexType::Uint8,
        2 => IndexType::Uint16,
        _ => IndexType::Uint32,
    }
}

/// Conversions of tile reads: a word for each render target.
fn tile_conversions(
    formats: &[Option<tepui_format::Format>; MAX_COLOURS],
) -> Result<[u32; MAX_COLOURS]> {
    let mut out = [0; MAX_COLOURS];
    for (to, format) in out.iter_mut().zip(formats) {
        let Some(tile) = format.and_then(tile_format) else { continue };
        let conversion =
            InternalConversion { memory_format: tile.conversion, ..InternalConversion::default() };
        *to = u32::from_le_bytes(conversion.pack().map_err(packet)?);
    }
    Ok(out)
}

impl Encoder {
    /// Draws.
    ///
    /// # Errors
    /// When there is no memory, or the driver has no such draws.
    pub(super) fn draw_parts(&mut self, p: &Parts<'_>, draw: &Draw) -> Result<()> {
        match *draw {
            Draw::Direct(c) if c.count == 0 || c.instances == 0 => Ok(()),
            Draw::Direct(counts) => self.draw_once(p, Source::Known(counts)),
            Draw::Indirect { address, count, stride, count_address, indexed, draw_index } => {
                for k in 0..count {
                    self.draw_once(
                        p,
                        Source::Memory {
                            address: address + u64::from(k) * u64::from(stride),
                            indexed,
                            draw_index: draw_index + k,
                            limit: count_address.map(|at| (k, at)),
                        },
                    )?;
                }
                Ok(())
            }
        }
    }

    fn draw_once(&mut self, p: &Parts<'_>, source: Source) -> Result<()> {
        let samples = p.state.samples.clamp(1, 16);
        if p.state.discard || p.state.sample_mask & ((1 << samples) - 1) == 0 {
            return Ok(());
        }
        let Some(prepared) = self.prepare(p, source)? else { return Ok(()) };
        self.await_compute();
        self.run_draw(p, &prepared, source)
    }

    /// Uploads what a draw points to; `None` if it touches no pixel.
    fn prepare(&mut self, p: &Parts<'_>, source: Source) -> Result<Option<Prepared>> {
        let s = p.state;
        if s.polygon_mode != vk::PolygonMode::FILL {
            return Err(Error::unsupported("polygons as lines or points on Mali"));
        }
        let Some(targets) = &mut self.targets else {
            return Err(Error::unsupported("draws outside of renderings on Mali"));
        };
        let r = &targets.rendering;
        let count = r.colours.len();
        let has = Tests { depth: r.depth.is_some(), stencil: r.stencil.is_some() };
        if targets.has_no_attachments() {
            // The samples of a rendering without attachments are those of its draws.
            targets.samples = s.samples.max(1);
        }
        let (size, formats) = (targets.size, targets.formats());
        let samples = targets.samples;
        let Some(area) = raster::scissor(s, size) else { return Ok(None) };
        let info = p.vertex.vertex()?;
        targets.touch(&area, info.layer);
        let contexts = self.tiler(s.provoking_last)?;
        let fragment = p.fragment.map(|f| f.fragment()).transpose()?;
        let formats = &formats[..count.min(MAX_COLOURS)];
        let blends = p.blending.descriptors(s, formats)?;
        let written = (0..formats.len())
            .filter(|&k| formats[k].is_some() && blend::is_written(s, k))
            .filter(|&k| fragment.is_some_and(|f| f.colours[k].is_some()))
            .fold(0u8, |all, k| all | 1 << k);
        let is_points = s.topology == vk::PrimitiveTopology::POINT_LIST;
        let outputs = Outputs {
            point_size: info.point_size && is_points,
            layer: info.layer,
            varyings: info.varying.is_some() && fragment.is_some(),
        };
        let sampling = Sampling {
            samples,
            occlusion: self.occlusion.filter(|_| p.is_counted),
            // Programs that blend take samples away themselves.
            alpha_to_coverage: s.alpha_to_coverage && !p.blending.is_lowered(),
        };
        let flags = raster::flags(s, has, fragment, written, sampling)?;
        let first_instance = match source {
            Source::Known(c) => c.first_instance,
            Source::Memory { .. } => 0,
        };
        let attributes = match info.attributes {
            0 => None,
            used => {
                let table = vertex::table(s, used, p.buffers, first_instance)?;
                let at = self.upload_once(Kind::Attributes, &table, DESCRIPTOR_ALIGN)?;
                Some((at, table.len() as u64))
            }
        };
        let depth_stencil = raster::depth_stencil(s, has, fragment)?;
        let bytes = p.vertex.stats.scratch.max(p.fragment.map_or(0, |f| f.stats.scratch));
        let locations = fragment.map_or(0, |f| u32::BITS - f.locations.leading_zeros());
        let prepared = Prepared {
            primitives: raster::primitives(s, outputs)?,
            flags,
            blend: self.upload_once(Kind::Blend, &blends, DESCRIPTOR_ALIGN)?
                | formats.len().max(1) as u64,
            depth_stencil: self.upload_once(
                Kind::DepthStencil,
                &depth_stencil,
                DESCRIPTOR_ALIGN,
            )?,
            threads: self.threads_only(bytes)?,
            resources: [
                self.resources(Stage::Vertex, p.inputs, p.vertex, attributes)?,
                match p.fragment {
                    Some(f) => self.resources(Stage::Fragment, p.inputs, f, None)?,
                    None => 0,
                },
            ],
            position: p.vertex.descriptor(match outputs.point_size {
                true => Entry::Only,
                false => Entry::WithoutPointSize,
            }),
            varying: p.vertex.descriptor(Entry::Varying),
            varying_bytes: info
                .varying_bytes
                .max(tepui_mali_compiler::stage::LOCATION_BYTES * locations),
            size: if is_points { 1.0 } else { s.line_width },
            area,
            contexts,
        };
        self.keep(p.vertex);
        if let Some(f) = p.fragment {
            self.keep(f);
        }
        Ok(Some(prepared))
    }

    /// Sets the registers of a draw, and draws.
    fn run_draw(&mut self, p: &Parts<'_>, d: &Prepared, source: Source) -> Result<()> {
        let Some(targets) = &self.targets else { return Ok(()) };
        let conversions = match p.fragment.map(|f| f.fragment()).transpose()? {
            Some(f) if f.reads_tile => tile_conversions(&targets.formats())?,
            _ => [0; MAX_COLOURS],
        };
        let values = Values {
            words: p.words,
            parameters: match source {
                Source::Known(_) => None,
                Source::Memory { address, indexed, .. } => {
                    let kind = if indexed { Arguments::DrawIndexed } else { Arguments::Draw };
                    Some((address, kind))
                }
            },
            draw: Some(DrawValues {
                state: p.state,
                counts: match source {
                    Source::Known(c) => [c.base_vertex(), c.first_instance, c.draw_index],
                    Source::Memory { draw_index, .. } => [0, 0, draw_index],
                },
                view: p.view,
                tile_conversions: conversions,
            }),
            ..Values::default()
        };
        let vertex_fau =
            self.fau(Stage::Vertex, p.vertex, p.inputs.push, &values, Queue::VertexTiler)?;
        let fragment_fau = match p.fragment {
            Some(f) => {
                let values = Values { words: p.fragment_words, ..values };
                self.fau(Stage::Fragment, f, p.inputs.push, &values, Queue::VertexTiler)?
            }
            None => 0,
        };
        let occlusion = self.occlusion.filter(|_| p.is_counted).map_or(0, |o| o.address);
        let stream = self.queues.stream(Queue::VertexTiler);
        stream.move64(registers::VERTEX_RESOURCES, d.resources[0]);
        stream.move64(registers::FRAGMENT_RESOURCES, d.resources[1]);
        stream.move64(registers::VERTEX_FAU, vertex_fau);
        stream.move64(registers::FRAGMENT_FAU, fragment_fau);
        stream.move64(registers::POSITION, d.position);
        stream.move64(registers::VARYING, d.varying);
        stream.move64(registers::FRAGMENT, p.fragment.map_or(0, |f| f.descriptor(Entry::Only)));
        stream.move64(registers::THREADS, d.threads);
        stream.move32(registers::ATTRIBUTE_OFFSET, 0);
        stream.move32(registers::DEPENDENCIES, 0);
        stream.set_box(&d.area);
        let v = &p.state.viewports[0];
        stream.move32(registers::MIN_DEPTH, v.min_depth.min(v.max_depth).to_bits());
        stream.move32(registers::MAX_DEPTH, v.min_depth.max(v.max_depth).to_bits());
        stream.move64(registers::OCCLUSION, occlusion);
        stream.move32(registers::VARYING_BYTES, d.varying_bytes);
        stream.move64(registers::BLEND, d.blend);
        stream.move64(registers::DEPTH_STENCIL, d.depth_stencil);
        stream.move32(registers::PRIMITIVES, d.primitives);
        stream.move32(registers::FLAGS, d.flags[0]);
        stream.move32(registers::FLAGS + 1, d.flags[1]);
        stream.move32(registers::SIZE, d.size.to_bits());
        let indexed = match source {
            Source::Known(c) => c.indexed,
            Source::Memory { indexed, .. } => indexed,
        };
        let mut index = IndexType::None;
        if indexed {
            let Some(buffer) = p.index else { return Ok(()) };
            index = index_type(buffer.index_bytes);
            stream.move64(registers::INDICES, buffer.address);
            let bytes = buffer.size.min(u64::from(u32::MAX)) as u32;
            stream.move32(registers::INDEX_BYTES, bytes);
        }
        counts(stream, source);
        // Instances are counted from 0.
        stream.move32(registers::BASE_INSTANCE, 0);
        stream.settle();
        let mut skips = Vec::new();
        if let Source::Memory { limit: Some((k, at)), .. } = source {
            stream.move64(SCRATCH, at);
            stream.load(SCRATCH + 2, 1, SCRATCH, 0);
            stream.add32(SCRATCH + 2, SCRATCH + 2, -(k as i32));
            skips.push(stream.skip_if(CsCondition::Lequal, SCRATCH + 2));
        }
        if let Some(c) = p.condition {
            stream.move64(SCRATCH, c.address);
            stream.load(SCRATCH + 2, 1, SCRATCH, 0);
            let skip = if c.inverted { CsCondition::Nequal } else { CsCondition::Equal };
            skips.push(stream.skip_if(skip, SCRATCH + 2));
        }
        run(stream, index, d.contexts)?;
        skips.into_iter().for_each(|skip| stream.land(skip));
        Ok(())
    }

    /// The descriptor of the memory of threads alone.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn threads_only(&mut self, scratch: u32) -> Result<u64> {
        let storage = self.thread_storage(scratch)?.pack().map_err(packet)?;
        self.upload_once(Kind::Threads, &storage, DESCRIPTOR_ALIGN)
    }
}

/// Sets the registers of a draw's counts.
fn counts(stream: &mut Stream, source: Source) {
    match source {
        Source::Known(c) => {
            stream.move32(registers::COUNT, c.count);
            stream.move32(registers::INSTANCES, c.instances);
            stream.move32(registers::FIRST_INDEX, if c.indexed { c.first } else { 0 });
            stream.move32(registers::BASE_VERTEX, c.base_vertex());
        }
        Source::Memory { address, indexed: true, .. } => {
            stream.move64(SCRATCH, address);
            stream.load(registers::COUNT, 5, SCRATCH, 0);
        }
        Source::Memory { address, .. } => {
            stream.move32(registers::FIRST_INDEX, 0);
            stream.move64(SCRATCH, address);
            stream.load(registers::COUNT, 2, SCRATCH, 0);
            stream.load(registers::BASE_VERTEX, 2, SCRATCH, 8);
        }
    }
}

/// RUN_IDVS, once for each tiler context.
fn run(stream: &mut Stream, index_type: IndexType, contexts: Contexts) -> Result<()> {
    let only_index = PrimitiveFlags {
        index_type,
        low_depth_cull: false,
        high_depth_cull: false,
        ..PrimitiveFlags::default()
    };
    let run = CsRunIdvs {
        flags_override: u32::from_le_bytes(only_index.pack().map_err(packet)?),
        malloc_enable: true,
        varying_fau_select: false,
        fragment_srt_select: true,
        ..CsRunIdvs::default()
    };
    for k in 0..contexts.count {
        stream.move64(common::TILER, contexts.address + u64::from(k) * CONTEXT_B);
        stream.run_idvs(&run);
    }
    Ok(())
}
