//! Draws: state in registers, and RUN_IDVS, which shades positions, tiles, and shades varyings.
//!
//! source: Mesa, panvk_vX_cmd_draw.c (`prepare_draw`, `panvk_cmd_draw`)

use tepui_mali_packets::cs::{CsCondition, CsRunIdvs};
use tepui_mali_packets::draw::{IndexType, PrimitiveFlags};
use tepui_vulkan::Result;

use super::tiler::registers as common;
use crate::encoder::Encoder;
use crate::encoder::draw::{DrawState, Source, index_type};
use crate::encoder::targets::Contexts;
use crate::kernel::Queue;
use crate::packed::packet;
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

fn flags_word(flags: &PrimitiveFlags) -> Result<u32> {
    Ok(u32::from_le_bytes(flags.pack().map_err(packet)?))
}

impl Encoder {
    /// Sets the registers of a draw, and draws.
    ///
    /// # Errors
    /// When a value does not fit.
    pub(in crate::encoder) fn draw_in_stream(&mut self, d: &DrawState) -> Result<()> {
        for uniforms in &d.uniforms {
            self.store_uniforms(Queue::VertexTiler, uniforms);
        }
        let stream = self.queues.stream(Queue::VertexTiler);
        stream.move64(registers::VERTEX_RESOURCES, d.resources[0]);
        stream.move64(registers::FRAGMENT_RESOURCES, d.resources[1]);
        stream.move64(registers::VERTEX_FAU, d.uniforms[0].pointer);
        stream.move64(registers::FRAGMENT_FAU, d.uniforms[1].pointer);
        stream.move64(registers::POSITION, d.programs[0]);
        stream.move64(registers::VARYING, d.programs[1]);
        stream.move64(registers::FRAGMENT, d.programs[2]);
        stream.move64(registers::THREADS, d.threads);
        stream.move32(registers::ATTRIBUTE_OFFSET, 0);
        stream.move32(registers::DEPENDENCIES, 0);
        stream.set_box(&d.area);
        stream.move32(registers::MIN_DEPTH, d.depth[0].to_bits());
        stream.move32(registers::MAX_DEPTH, d.depth[1].to_bits());
        stream.move64(registers::OCCLUSION, d.occlusion);
        stream.move32(registers::VARYING_BYTES, d.varying_bytes);
        stream.move64(registers::BLEND, d.blend);
        stream.move64(registers::DEPTH_STENCIL, d.depth_stencil);
        stream.move32(registers::PRIMITIVES, flags_word(&d.primitives)?);
        stream.move32(registers::FLAGS, d.flags[0]);
        stream.move32(registers::FLAGS + 1, d.flags[1]);
        stream.move32(registers::SIZE, d.size.to_bits());
        if let Some(buffer) = d.index {
            stream.move64(registers::INDICES, buffer.address);
            let bytes = buffer.size.min(u64::from(u32::MAX)) as u32;
            stream.move32(registers::INDEX_BYTES, bytes);
        }
        counts(stream, d.source);
        // Instances are counted from 0.
        stream.move32(registers::BASE_INSTANCE, 0);
        stream.settle();
        let mut skips = Vec::new();
        if let Source::Memory { limit: Some((k, at)), .. } = d.source {
            stream.move64(SCRATCH, at);
            stream.load(SCRATCH + 2, 1, SCRATCH, 0);
            stream.add32(SCRATCH + 2, SCRATCH + 2, -(k as i32));
            skips.push(stream.skip_if(CsCondition::Lequal, SCRATCH + 2));
        }
        if let Some(c) = d.condition {
            stream.move64(SCRATCH, c.address);
            stream.load(SCRATCH + 2, 1, SCRATCH, 0);
            let skip = if c.inverted { CsCondition::Nequal } else { CsCondition::Equal };
            skips.push(stream.skip_if(skip, SCRATCH + 2));
        }
        run(stream, index_type(d.index.as_ref()), d.contexts)?;
        skips.into_iter().for_each(|skip| stream.land(skip));
        Ok(())
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
        flags_override: flags_word(&only_index)?,
        malloc_enable: true,
        varying_fau_select: false,
        fragment_srt_select: true,
        ..CsRunIdvs::default()
    };
    for context in contexts.addresses() {
        stream.move64(common::TILER, context);
        stream.run_idvs(&run);
    }
    Ok(())
}
