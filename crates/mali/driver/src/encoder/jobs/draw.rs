//! Draws: jobs that shade positions, tile, and shade varyings, with all state of the draw.
//!
//! source: Mesa, v9.xml (`Malloc Vertex Job`), pan_jm.c (`jm_emit_malloc_vertex_job`)

use tepui_mali_packets::draw::{Draw, Primitive, VertexArray};
use tepui_mali_packets::job::{Allocation, JobHeader, JobType, valhall};
use tepui_mali_packets::shader::ShaderEnvironment;
use tepui_mali_packets::{Packet, Problem};
use tepui_vulkan::Result;
use tepui_vulkan::backend::Counts;
use tepui_vulkan::command::IndexBuffer;
use tepui_vulkan_meta::{MetaEncoder as _, copy};

use super::patch::Parameters;
use crate::encoder::Encoder;
use crate::encoder::draw::{DrawState, Source, index_type};
use crate::encoder::inputs::Uniforms;
use crate::meta::Patched;
use crate::packed::{DESCRIPTOR_ALIGN, packet};

/// Bytes of the job.
const JOB_B: usize = valhall::VARYING as usize + ShaderEnvironment::SIZE_BYTES;
/// Bytes of a vertex's position in its packet, before its varyings. source: Mesa, pan_jm.c (`jm_emit_malloc_vertex_job`)
const POSITION_B: u32 = 16;
/// Bits of the number of blend descriptors in the word with their address.
const BLEND_COUNT: u64 = 0xf;

/// The counts that a job has before they are patched.
fn counts(source: Source) -> Counts {
    match source {
        Source::Known(c) => c,
        Source::Memory { indexed, .. } => {
            Counts { count: 1, instances: 1, indexed, ..Counts::default() }
        }
    }
}

/// Address of the first index, and the number of indices up to the end of the buffer.
fn indices(d: &DrawState, c: &Counts) -> (u64, u32) {
    let Some(buffer) = d.index else { return (0, c.count) };
    let all = buffer.size / u64::from(buffer.index_bytes.max(1));
    let first = u64::from(c.first).min(all);
    let count = u64::from(c.count).min(all - first) as u32;
    (buffer.address.wrapping_add(first * u64::from(buffer.index_bytes)), count)
}

fn environment(d: &DrawState, stage: usize, program: u64) -> ShaderEnvironment {
    let uniforms: &Uniforms = &d.uniforms[stage];
    ShaderEnvironment {
        attribute_offset: 0,
        fau_count: uniforms.pairs(),
        resources: d.resources[stage],
        shader: program,
        thread_storage: d.threads,
        fau: uniforms.address(),
    }
}

/// The bytes of a job for a tiler context, without the header.
fn job(d: &DrawState, context: u64) -> std::result::Result<Vec<u8>, Problem> {
    let mut bytes = vec![0; JOB_B];
    let c = counts(d.source);
    let (indices, index_count) = indices(d, &c);
    let p = &d.primitives;
    let has_varyings = p.secondary_shader;
    let primitive = Primitive {
        draw_mode: p.draw_mode,
        index_type: index_type(d.index.as_ref()),
        point_size_array_format: p.point_size_array_format,
        primitive_index_enable: p.primitive_index_enable,
        primitive_index_writeback: p.primitive_index_writeback,
        allow_rotating_primitives: p.allow_rotating_primitives,
        low_depth_cull: p.low_depth_cull,
        high_depth_cull: p.high_depth_cull,
        secondary_shader: has_varyings,
        primitive_restart: p.primitive_restart,
        layer_index_enable: p.layer_index_enable,
        scissor_array_enable: p.scissor_array_enable,
        base_vertex_offset: c.base_vertex() as i32,
        // Instances are counted from 0.
        instance_offset: 0,
        index_count,
    };
    let varying_bytes = if has_varyings { d.varying_bytes } else { 0 };
    let allocation = Allocation {
        vertex_packet_stride: POSITION_B + varying_bytes,
        vertex_attribute_stride: varying_bytes,
    };
    let draw = Draw {
        vertex_array: VertexArray { packet: true, ..VertexArray::default() },
        minimum_z: d.depth[0],
        maximum_z: d.depth[1],
        depth_stencil: d.depth_stencil,
        blend_count: (d.blend & BLEND_COUNT) as u32,
        blend: d.blend & !BLEND_COUNT,
        occlusion: d.occlusion,
        shader: match d.programs[2] {
            0 => ShaderEnvironment::default(),
            program => environment(d, 1, program),
        },
        ..Draw::default()
    };
    let at = |offset: u64| offset as usize;
    primitive.pack_into(&mut bytes[at(valhall::PRIMITIVE)..])?;
    allocation.pack_into(&mut bytes[at(valhall::ALLOCATION)..])?;
    d.area.pack_into(&mut bytes[at(valhall::SCISSOR)..])?;
    draw.pack_into(&mut bytes[at(valhall::DRAW)..])?;
    environment(d, 0, d.programs[0]).pack_into(&mut bytes[at(valhall::POSITION)..])?;
    if has_varyings {
        environment(d, 0, d.programs[1]).pack_into(&mut bytes[at(valhall::VARYING)..])?;
    }
    let mut put = |offset: u64, value: &[u8]| {
        bytes[at(offset)..][..value.len()].copy_from_slice(value);
    };
    put(valhall::INSTANCES, &c.instances.to_le_bytes());
    put(valhall::TILER, &context.to_le_bytes());
    put(valhall::SIZE, &d.size.to_le_bytes());
    put(valhall::INDICES, &indices.to_le_bytes());
    put(valhall::DRAW, bytemuck::cast_slice(&d.flags));
    Ok(bytes)
}

/// Known counts as parameters in memory.
fn arguments(c: &Counts) -> [u32; 5] {
    match c.indexed {
        true => [c.count, c.instances, c.first, c.vertex_offset as u32, c.first_instance],
        false => [c.count, c.instances, c.first, c.first_instance, 0],
    }
}

impl Encoder {
    /// Copies the indices of a draw if some are after the end of the buffer: those are zeros, but a job has no size of the buffer.
    fn index_copy(&mut self, buffer: IndexBuffer, c: &Counts) -> Result<IndexBuffer> {
        let each = u64::from(buffer.index_bytes.max(1));
        let (start, length) = (u64::from(c.first) * each, u64::from(c.count) * each);
        if start + length <= buffer.size {
            return Ok(buffer);
        }
        let to = self.reserve(length.next_multiple_of(4), DESCRIPTOR_ALIGN)?.address;
        copy::fill(self, to, length.next_multiple_of(4), 0)?;
        self.order()?;
        copy::buffer(self, buffer.address + start, to, buffer.size.saturating_sub(start))?;
        self.order()?;
        Ok(IndexBuffer { address: to.wrapping_sub(start), size: start + length, ..buffer })
    }

    /// Adds the jobs of a draw: one for each tiler context.
    ///
    /// # Errors
    /// When there is no memory, or a value does not fit.
    pub(in crate::encoder) fn draw_jobs(&mut self, mut d: DrawState) -> Result<()> {
        if let (Some(buffer), Source::Known(c)) = (d.index, d.source) {
            d.index = Some(self.index_copy(buffer, &c)?);
        }
        let d = &d;
        let kind = if d.source.is_indexed() { Patched::DrawIndexed } else { Patched::Draw };
        let of_memory =
            Parameters { condition: d.condition, index: d.index, ..Parameters::new(kind) };
        let parameters = match (d.source, d.condition) {
            (Source::Known(_), None) => None,
            (Source::Known(c), Some(_)) => {
                let words = arguments(&c);
                let arguments = self.upload(bytemuck::cast_slice(&words), 4)?.address;
                Some(Parameters { arguments, ..of_memory })
            }
            (Source::Memory { address, limit, .. }, _) => {
                Some(Parameters { arguments: address, limit, ..of_memory })
            }
        };
        let [vertex, fragment] = &d.uniforms;
        for (k, context) in d.contexts.addresses().enumerate() {
            let bytes = job(d, context).map_err(packet)?;
            let header = JobHeader { job_type: JobType::MallocVertex, ..JobHeader::default() };
            // Uniforms are copied once, before the first job, on which the others depend.
            let uniforms = if k == 0 { &[vertex, fragment][..] } else { &[] };
            self.add_patched(header, bytes, uniforms, parameters.as_ref())?;
        }
        Ok(())
    }
}
