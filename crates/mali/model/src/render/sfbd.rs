//! Single-target framebuffer descriptors of Midgard v4, with one attachment of each kind.
//!
//! The descriptor does not contain the format of depth in tiles: it is 24-bit fixed point unless the attachment has
//! another format. Writing colours of tiles in which nothing was drawn is optional; depth of such tiles is always
//! written.
//!
// source: Mesa, v4.xml, pan_desc.c (pan_emit_fbd of v4).

use arrayvec::ArrayVec;
use tepui_mali_packets::framebuffer::{
    BlockFormat, ColorBufferInternalFormat as Internal, ColorFormat, FramebufferParameters,
    RenderTarget, RtBuffer, RtClear, SFormat, SamplePattern, ZInternalFormat, ZsFormat,
};
pub(crate) use tepui_mali_packets::sfbd::part;
use tepui_mali_packets::sfbd::{ColorFormatV4, FramebufferParametersV4, SampleLayout};
use tepui_softgpu::UnitMemory;

use super::descriptor::{later, layered, packet, samples};
use crate::job::{JobFault, Unit};
use crate::pixels::framebuffer::{DepthTarget, Framebuffer, Target};
use crate::pixels::target::{ImageLayout, Surface};

const UNIT: Unit = Unit::Fragment;

fn own(memory: &mut UnitMemory<'_>, at: u64) -> Result<FramebufferParametersV4, JobFault> {
    packet(memory, at + part::PARAMETERS, "framebuffer")
}

/// The size of a framebuffer, and its clear values.
pub(crate) fn parameters(
    memory: &mut UnitMemory<'_>,
    at: u64,
) -> Result<FramebufferParameters, JobFault> {
    let p = own(memory, at)?;
    if p.zs_preload_enable || p.color_preload_enable {
        let what = "attachments that the hardware loads before it draws";
        return Err(JobFault::unimplemented(UNIT, what));
    }
    let sample_pattern = match (p.sample_count, p.sample_layout) {
        (0 | 1, _) => SamplePattern::SingleSampled,
        (_, SampleLayout::Ordered4xGrid) => SamplePattern::Ordered4xGrid,
        (_, SampleLayout::Rotated4xGrid) => SamplePattern::Rotated4xGrid,
        (_, SampleLayout::D3d8xGrid) => SamplePattern::D3d8xGrid,
        (_, SampleLayout::D3d16xGrid) => SamplePattern::D3d16xGrid,
    };
    let z_internal_format = match (p.zs_write_enable, p.zs_format) {
        (true, ZsFormat::D16) => ZInternalFormat::D16,
        (true, ZsFormat::D32) => ZInternalFormat::D32,
        _ => ZInternalFormat::D24,
    };
    Ok(FramebufferParameters {
        width: p.bound_max_x + 1,
        height: p.bound_max_y + 1,
        bound_min_x: p.bound_min_x,
        bound_min_y: p.bound_min_y,
        bound_max_x: p.bound_max_x,
        bound_max_y: p.bound_max_y,
        sample_count: p.sample_count,
        sample_pattern,
        tie_break_rule: p.tie_break_rule,
        s_clear: p.s_clear,
        s_write_enable: p.s_write_enable,
        z_internal_format,
        z_write_enable: p.zs_write_enable,
        z_clear: p.z_clear,
        point_sprite_coord_origin_max_y: false,
        // The tiler context is a part of the framebuffer.
        tiler: at,
        ..FramebufferParameters::default()
    })
}

/// The formats of raw pixels in the tile buffer and in memory.
fn raw(format: ColorFormatV4) -> Option<(Internal, ColorFormat)> {
    Some(match format {
        ColorFormatV4::N4x32 => (Internal::Raw128, ColorFormat::Raw128),
        ColorFormatV4::N3x32 => (Internal::Raw128, ColorFormat::Raw96),
        ColorFormatV4::N2x32 | ColorFormatV4::N4x16 => (Internal::Raw64, ColorFormat::Raw64),
        ColorFormatV4::N1x32 | ColorFormatV4::N2x16 => (Internal::Raw32, ColorFormat::Raw32),
        ColorFormatV4::N3x16 => (Internal::Raw64, ColorFormat::Raw48),
        ColorFormatV4::N1x16 => (Internal::Raw16, ColorFormat::Raw16),
        _ => return None,
    })
}

/// The colour attachment, in the layout of later descriptors.
fn colour(p: &FramebufferParametersV4) -> Result<RenderTarget, JobFault> {
    if p.big_endian {
        return Err(JobFault::unimplemented(UNIT, "images with the highest byte first"));
    }
    let format = p.color_writeback_format;
    let (internal_format, writeback_format) = match raw(format) {
        Some((internal, memory)) if p.internal_format == Internal::RawValue => (internal, memory),
        Some(_) => {
            let what = format!("tiles of format {} written as {format}", p.internal_format);
            return Err(JobFault::unimplemented(UNIT, what));
        }
        // Formats that later descriptors also have, with the same numbers.
        None => {
            let known = ColorFormat::from_raw(format.raw());
            let unknown = || JobFault::unimplemented(UNIT, format!("render targets in {format}"));
            (p.internal_format, known.ok_or_else(unknown)?)
        }
    };
    Ok(RenderTarget {
        internal_format,
        write_enable: p.color_write_enable,
        writeback_format,
        writeback_msaa: p.msaa,
        writeback_block_format: later(p.color_block_format)?,
        srgb: p.srgb,
        swizzle: p.swizzle,
        clean_pixel_write_enable: p.clean_pixel_write_enable,
        base: p.color_writeback.base,
        row_stride: p.color_writeback.row_stride,
        surface_stride: p.color_writeback.surface_stride,
        clear: RtClear {
            color_0: p.clear_color_0,
            color_1: p.clear_color_1,
            color_2: p.clear_color_2,
            color_3: p.clear_color_3,
        },
        ..RenderTarget::default()
    })
}

/// Reads a framebuffer with its attachments.
pub(crate) fn framebuffer(memory: &mut UnitMemory<'_>, at: u64) -> Result<Framebuffer, JobFault> {
    let parameters = parameters(memory, at)?;
    let p = own(memory, at)?;
    let target = colour(&p)?;
    let mut targets = ArrayVec::new();
    targets.push(Target::new(&target)?);
    let order = |format| match later(format)? {
        BlockFormat::Linear => Ok(ImageLayout::Linear),
        BlockFormat::TiledUInterleaved => Ok(ImageLayout::UInterleaved),
        other => Err(JobFault::unimplemented(UNIT, format!("depths in the layout {other}"))),
    };
    let surface = |buffer: &RtBuffer, format| {
        Ok::<_, JobFault>(Surface {
            base: buffer.base,
            order: order(format)?,
            row_stride: buffer.row_stride.into(),
            surface_stride: buffer.surface_stride.into(),
        })
    };
    let depth = match p.zs_write_enable && p.zs_writeback.base != 0 {
        true => {
            layered(p.msaa)?;
            let surface = surface(&p.zs_writeback, p.zs_block_format)?;
            Some(DepthTarget { format: p.zs_format, surface })
        }
        false => None,
    };
    let stencil = match p.s_write_enable && p.s_writeback.base != 0 {
        true => {
            let format = SFormat::from_raw(p.s_format.into());
            let unknown = || JobFault::new(UNIT, format!("stencils of format {}", p.s_format));
            let surface = surface(&p.s_writeback, p.s_block_format)?;
            Some(DepthTarget { format: format.ok_or_else(unknown)?, surface })
        }
        false => None,
    };
    let samples = samples(memory, &parameters)?;
    Ok(Framebuffer { parameters, samples, targets, depth, stencil, clean_depth: true })
}
