//! Draws: the state and the inputs of one, which a command stream or a job executes.
//!
//! source: Mesa, panvk_vX_cmd_draw.c (`prepare_draw`, `panvk_cmd_draw`)

use std::sync::Arc;

use tepui_mali_packets::draw::{IndexType, InternalConversion, PrimitiveFlags, Scissor};
use tepui_sysval::{Arguments, LaunchWords};
use tepui_vulkan::backend::{Condition, Counts, Draw};
use tepui_vulkan::command::IndexBuffer;
use tepui_vulkan::state::{GraphicsState, MAX_COLOURS, MAX_VERTEX};
use tepui_vulkan::{Error, Result, vk};

use super::Encoder;
use super::expand::is_polygon;
use super::inputs::{DrawValues, Inputs, Uniforms, Values};
use super::targets::Contexts;
use crate::encoder::uploaded::{Kind, Stage};
use crate::graphics::blend::{self, Blending};
use crate::graphics::framebuffer::tile_format;
use crate::graphics::raster::{Outputs, Sampling, Tests};
use crate::graphics::vertex::FirstInstance;
use crate::graphics::{raster, vertex};
use crate::packed::{DESCRIPTOR_ALIGN, packet};
use crate::shader::{Entry, Variant};

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
    /// The viewport of which primitives are drawn.
    pub viewport: usize,
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
pub enum Source {
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

impl Source {
    /// Whether indices come from the index buffer.
    pub fn is_indexed(self) -> bool {
        match self {
            Source::Known(c) => c.indexed,
            Source::Memory { indexed, .. } => indexed,
        }
    }
}

/// Descriptors, flags and programs of a draw.
pub struct DrawState {
    /// Flags of primitives.
    pub primitives: PrimitiveFlags,
    /// Flags of the draw descriptor: its first two words.
    pub flags: [u32; 2],
    /// Address of the blend descriptors, and their number.
    pub blend: u64,
    /// Address of the depth and stencil descriptor.
    pub depth_stencil: u64,
    /// Bounds of depth.
    pub depth: [f32; 2],
    /// Address of the occlusion counter, or 0.
    pub occlusion: u64,
    /// Address of the memory of threads.
    pub threads: u64,
    /// Tables of resource tables of vertices and fragments, and their counts.
    pub resources: [u64; 2],
    /// Uniforms of vertices and fragments.
    pub uniforms: [Uniforms; 2],
    /// Program descriptors of positions, varyings and fragments.
    pub programs: [u64; 3],
    /// Bytes of a vertex's varyings.
    pub varying_bytes: u32,
    /// Size of points and lines.
    pub size: f32,
    /// Pixels that the draw may touch.
    pub area: Scissor,
    /// Tiler contexts.
    pub contexts: Contexts,
    /// The index buffer, if the draw has indices.
    pub index: Option<IndexBuffer>,
    /// Source of the counts.
    pub source: Source,
    /// Condition of the draw.
    pub condition: Option<Condition>,
}

/// Type of indices.
pub fn index_type(index: Option<&IndexBuffer>) -> IndexType {
    match index.map(|i| i.index_bytes) {
        None => IndexType::None,
        Some(1) => IndexType::Uint8,
        Some(2) => IndexType::Uint16,
        Some(_) => IndexType::Uint32,
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

    /// The index buffer where none is bound: all indices are after its end. The memory is some that programs may load from.
    fn no_indices(&self) -> IndexBuffer {
        let address = self.device.sample_positions(1);
        IndexBuffer { address, size: 0, index_bytes: 4, is_sparse: false }
    }

    fn draw_once(&mut self, p: &Parts<'_>, source: Source) -> Result<()> {
        let samples = p.state.samples.clamp(1, 16);
        if p.state.discard || p.state.sample_mask & ((1 << samples) - 1) == 0 {
            return Ok(());
        }
        let Some(draw) = self.prepare(p, source)? else { return Ok(()) };
        self.await_compute();
        match self.jobs {
            Some(_) => self.draw_jobs(draw),
            None => self.draw_in_stream(&draw),
        }
    }

    /// Uploads what a draw points to; `None` if it touches no pixel.
    fn prepare(&mut self, p: &Parts<'_>, source: Source) -> Result<Option<DrawState>> {
        let s = p.state;
        if s.polygon_mode != vk::PolygonMode::FILL && is_polygon(s.topology) {
            let what = "polygons of geometry and tessellation shaders as lines or points on Mali";
            return Err(Error::unsupported(what));
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
        let Some(area) = raster::scissor(s, p.viewport, size) else { return Ok(None) };
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
        let first = match source {
            Source::Known(c) => FirstInstance::Known(c.first_instance),
            Source::Memory { .. } => FirstInstance::Added,
        };
        let attributes = match info.attributes {
            0 => None,
            used => {
                let table = vertex::table(s, used, p.buffers, first)?;
                let at = self.upload_once(Kind::Attributes, &table, DESCRIPTOR_ALIGN)?;
                Some((at, table.len() as u64))
            }
        };
        let depth_stencil = raster::depth_stencil(s, has, fragment)?;
        let bytes = p.vertex.stats.scratch.max(p.fragment.map_or(0, |f| f.stats.scratch));
        let locations = fragment.map_or(0, |f| u32::BITS - f.locations.leading_zeros());
        let uniforms = self.draw_uniforms(p, source)?;
        let draw = DrawState {
            primitives: raster::primitives(s, outputs)?,
            flags,
            blend: self.upload_once(Kind::Blend, &blends, DESCRIPTOR_ALIGN)?
                | formats.len().max(1) as u64,
            depth_stencil: self.upload_once(
                Kind::DepthStencil,
                &depth_stencil,
                DESCRIPTOR_ALIGN,
            )?,
            depth: s.clamp_range(p.viewport),
            occlusion: sampling.occlusion.map_or(0, |o| o.address),
            threads: self.threads_only(bytes)?,
            resources: [
                self.resources(Stage::Vertex, p.inputs, p.vertex, attributes)?,
                match p.fragment {
                    Some(f) => self.resources(Stage::Fragment, p.inputs, f, None)?,
                    None => 0,
                },
            ],
            uniforms,
            programs: [
                p.vertex.descriptor(match outputs.point_size {
                    true => Entry::Only,
                    false => Entry::WithoutPointSize,
                }),
                p.vertex.descriptor(Entry::Varying),
                p.fragment.map_or(0, |f| f.descriptor(Entry::Only)),
            ],
            varying_bytes: info
                .varying_bytes
                .max(tepui_mali_compiler::stage::LOCATION_BYTES * locations),
            size: if is_points { 1.0 } else { s.line_width },
            area,
            contexts,
            index: source.is_indexed().then(|| p.index.unwrap_or(self.no_indices())),
            source,
            condition: p.condition,
        };
        self.keep(p.vertex);
        if let Some(f) = p.fragment {
            self.keep(f);
        }
        Ok(Some(draw))
    }

    /// Uniforms of the vertex and the fragment program.
    fn draw_uniforms(&mut self, p: &Parts<'_>, source: Source) -> Result<[Uniforms; 2]> {
        let formats = self.targets.as_ref().map_or([None; MAX_COLOURS], |t| t.formats());
        let conversions = match p.fragment.map(|f| f.fragment()).transpose()? {
            Some(f) if f.reads_tile => tile_conversions(&formats)?,
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
                viewport: p.viewport,
                tile_conversions: conversions,
            }),
            ..Values::default()
        };
        let vertex = self.uniforms(Stage::Vertex, p.vertex, p.inputs, &values)?;
        let fragment = match p.fragment {
            Some(f) => {
                let values = Values { words: p.fragment_words, ..values };
                self.uniforms(Stage::Fragment, f, p.inputs, &values)?
            }
            None => Uniforms::default(),
        };
        Ok([vertex, fragment])
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
