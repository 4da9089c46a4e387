//! Renderings: tiler contexts with a heap, which are restored before a chain runs again, and chains of fragment jobs.
//!
//! The chains of a device run one after the other, so that all renderings share the memory of the heap. A rendering whose draws are in
//! several chains goes on with its contexts, whose state is in memory: the tiler changes between contexts from job to job, too.
//!
//! source: Mesa, pan_jm.c (`jm_emit_tiler_desc`), pan_desc.c (`pan_emit_fragment_job_payload`), panvk_vX_queue.c

use tepui_mali_packets::draw::Scissor;
use tepui_mali_packets::framebuffer::FragmentJobPayload;
use tepui_mali_packets::job::{JobHeader, JobType};
use tepui_mali_packets::tiler::TilerContextJm;
use tepui_vulkan::Result;

use super::chains::Restored;
use crate::encoder::Encoder;
use crate::encoder::targets::{Contexts, Tiling};
use crate::graphics::samples;
use crate::kernel::Queue;
use crate::packed::{DESCRIPTOR_ALIGN, packet};

/// Bytes of a tiler context.
const CONTEXT_B: u64 = TilerContextJm::SIZE_BYTES as u64;
/// Side of a tile in pixels, the unit of a fragment job's bounds. source: Mesa, pan_desc.h (`MALI_TILE_SHIFT`)
const TILE_PX: u32 = 16;

impl Encoder {
    /// Makes the heap's descriptor and the tiler contexts of a rendering.
    ///
    /// # Errors
    /// When there is no memory.
    pub(in crate::encoder) fn contexts_of_jobs(&mut self, t: &Tiling) -> Result<Contexts> {
        let mut bytes = self.device.heap_descriptor()?;
        bytes.resize(bytes.len().next_multiple_of(DESCRIPTOR_ALIGN as usize), 0);
        let first_context = bytes.len() as u64;
        let count = t.contexts().count() as u32;
        let size = first_context + u64::from(count) * CONTEXT_B;
        let place = self.reserve(size, DESCRIPTOR_ALIGN)?;
        for (first, layer_count) in t.contexts() {
            let context = TilerContextJm {
                hierarchy_mask: t.hierarchy_mask,
                sample_pattern: samples::pattern(t.samples),
                first_provoking_vertex: !t.provoking_last,
                fb_width: t.size[0],
                fb_height: t.size[1],
                layer_count,
                layer_offset: -(first as i32),
                heap: place.address,
                ..TilerContextJm::default()
            };
            bytes.extend_from_slice(&context.pack().map_err(packet)?);
        }
        // SAFETY: the place is new and of the right size.
        unsafe { place.write(&bytes) };
        if let Some(jobs) = &mut self.jobs {
            jobs.restored.push(Restored { place, bytes });
        }
        let address = place.address + first_context;
        Ok(Contexts { address, count, stride: CONTEXT_B, provoking_last: t.provoking_last })
    }

    /// Adds a chain that renders framebuffers, whose descriptors are given with their flags.
    ///
    /// # Errors
    /// When there is no memory.
    pub(in crate::encoder) fn fragment_jobs(
        &mut self,
        area: &Scissor,
        descriptors: &[u64],
    ) -> Result<()> {
        if let Some(jobs) = self.jobs.as_mut().filter(|_| !descriptors.is_empty()) {
            jobs.end_chain();
            jobs.open_chain(Queue::Fragment);
        }
        for &framebuffer in descriptors {
            let payload = FragmentJobPayload {
                bound_min_x: area.scissor_minimum_x / TILE_PX,
                bound_min_y: area.scissor_minimum_y / TILE_PX,
                bound_max_x: area.scissor_maximum_x / TILE_PX,
                bound_max_y: area.scissor_maximum_y / TILE_PX,
                framebuffer,
                ..FragmentJobPayload::default()
            };
            let header = JobHeader { job_type: JobType::Fragment, ..JobHeader::default() };
            self.add(header, &payload)?;
        }
        if let Some(jobs) = &mut self.jobs {
            jobs.end_chain();
        }
        Ok(())
    }
}
