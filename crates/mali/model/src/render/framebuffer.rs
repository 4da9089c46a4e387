//! The framebuffer of a RUN_FRAGMENT: attachments and frame shaders.
//!
// source: Mesa, pan_desc.c (`pan_emit_fbd`).

use arrayvec::ArrayVec;
use tepui_mali_chips::Arch;
use tepui_mali_packets::bifrost::ZsCrcExtensionV7;
use tepui_mali_packets::framebuffer::{
    BlockFormat, FramebufferParameters, RenderTarget, SFormat, ZsCrcExtension, ZsFormat,
};
use tepui_mali_packets::{Packet, revision};
use tepui_softgpu::UnitMemory;

use super::descriptor::{later, layered, packet, samples};
use super::{midgard, sfbd};
use crate::job::{JobFault, Unit};
use crate::pixels::framebuffer::{DepthTarget, Framebuffer, Target};
use crate::pixels::target::Surface;

const UNIT: Unit = Unit::Fragment;

/// Byte offset of the extension and render targets that follow the parameters.
const EXTENSION: u64 = 128;

/// Bytes of a row of headers per superblock: one header, or eight if headers are in tiles of 8×8.
fn header_bytes(format: BlockFormat) -> u32 {
    match format {
        BlockFormat::AfbcTiled => 16 * 8,
        _ => 16,
    }
}

impl Framebuffer {
    /// Reads the descriptors that a pointer with flags names.
    pub fn read(
        arch: Arch,
        memory: &mut UnitMemory<'_>,
        pointer: u64,
    ) -> Result<Framebuffer, JobFault> {
        let at = pointer & !0x3f;
        if arch.0 < 5 {
            return sfbd::framebuffer(memory, at);
        }
        let parameters: FramebufferParameters = match arch.0 {
            ..6 => midgard::parameters(memory, at)?,
            _ => packet(memory, at, "framebuffer")?,
        };
        let mut next = at + EXTENSION;
        let (mut depth, mut stencil) = (None, None);
        let mut clean_depth = false;
        if parameters.has_zs_crc_extension {
            let mut extension = extension(arch, memory, next)?;
            if arch.0 < 6 && extension.zs_writeback_row_stride == 0 {
                extension.zs_writeback_row_stride = midgard::header_stride(parameters.width);
            }
            next += ZsCrcExtension::SIZE_BYTES as u64;
            clean_depth = extension.zs_clean_pixel_write_enable;
            let combined_stencil = extension.zs_write_format == ZsFormat::D24s8;
            let has_depth = extension.zs_writeback_base != 0;
            if has_depth && (parameters.z_write_enable || combined_stencil) {
                layered(extension.zs_msaa)?;
                depth = Some(DepthTarget {
                    format: extension.zs_write_format,
                    surface: Surface::depth(&extension)?,
                });
            }
            if parameters.s_write_enable && !(has_depth && combined_stencil) {
                layered(extension.s_msaa)?;
                stencil = Some(DepthTarget {
                    format: extension.s_write_format,
                    surface: Surface::stencil(&extension)?,
                });
            }
        }
        let mut targets = ArrayVec::new();
        for _ in 0..parameters.render_target_count {
            let mut target = render_target(arch, memory, next)?;
            if arch.0 < 6 && target.is_afbc() {
                target.header_row_stride = midgard::header_stride(parameters.width);
            }
            next += RenderTarget::SIZE_BYTES as u64;
            let made = Target::new(&target)?;
            targets.try_push(made).map_err(|_| {
                let what = format!("{} render targets", parameters.render_target_count);
                JobFault::new(UNIT, what)
            })?;
        }
        let samples = samples(memory, &parameters)?;
        Ok(Framebuffer { parameters, samples, targets, depth, stencil, clean_depth })
    }
}

/// Reads the depth and stencil attachments. The formats of missing ones are 0.
fn extension(arch: Arch, memory: &mut UnitMemory<'_>, at: u64) -> Result<ZsCrcExtension, JobFault> {
    let bytes = memory.read_array::<{ ZsCrcExtension::SIZE_BYTES }>(at);
    let mut bytes = bytes.map_err(|fault| JobFault::memory(UNIT, fault))?;
    if arch.0 < 9 {
        return extension_v7(arch, bytes);
    }
    for byte in [0, 2] {
        if bytes[byte] & 0xf == 0 {
            bytes[byte] |= 1;
        }
    }
    ZsCrcExtension::unpack(&bytes)
        .map_err(|problem| JobFault::new(UNIT, format!("depth and stencil attachment: {problem}")))
}

/// Converts the attachments of v7 to Valhall's layout.
fn extension_v7(
    arch: Arch,
    mut bytes: [u8; ZsCrcExtension::SIZE_BYTES],
) -> Result<ZsCrcExtension, JobFault> {
    for byte in [12, 14] {
        if bytes[byte] & 0xf == 0 {
            bytes[byte] |= 1;
        }
    }
    if arch.0 < 6 {
        bytes[15] &= 0xf;
        bytes[48..].fill(0);
    }
    let mut e = ZsCrcExtensionV7::unpack_as(&bytes, revision(arch.0))
        .map_err(|p| JobFault::new(UNIT, format!("depth and stencil attachment: {p}")))?;
    if arch.0 < 7 {
        e.zs_block_format = later(e.zs_block_format_v6)?;
        e.s_block_format = later(e.s_block_format_v6)?;
        (e.zs_msaa, e.s_msaa) = (e.zs_msaa_v6, e.s_msaa_v6);
    }
    let afbc = matches!(e.zs_block_format, BlockFormat::Afbc | BlockFormat::AfbcTiled);
    if afbc {
        // The number of superblocks in a row; the address of the body replaces that of the stencil.
        let columns = e.zs_writeback_row_stride & 0x1fff;
        return Ok(ZsCrcExtension {
            zs_write_format: e.zs_write_format,
            zs_block_format: e.zs_block_format,
            zs_msaa: e.zs_msaa,
            zs_clean_pixel_write_enable: e.zs_clean_pixel_write_enable,
            zs_writeback_base: e.zs_writeback_base,
            zs_writeback_row_stride: columns * header_bytes(e.zs_block_format),
            zs_afbc_body_offset: e.s_writeback_base.wrapping_sub(e.zs_writeback_base) as u32,
            s_write_format: SFormat::default(),
            ..ZsCrcExtension::default()
        });
    }
    Ok(ZsCrcExtension {
        zs_write_format: e.zs_write_format,
        zs_block_format: e.zs_block_format,
        zs_msaa: e.zs_msaa,
        s_write_format: e.s_write_format,
        s_block_format: e.s_block_format,
        s_msaa: e.s_msaa,
        zs_clean_pixel_write_enable: e.zs_clean_pixel_write_enable,
        zs_writeback_base: e.zs_writeback_base,
        zs_writeback_row_stride: e.zs_writeback_row_stride,
        zs_writeback_surface_stride: e.zs_writeback_surface_stride,
        s_writeback_base: e.s_writeback_base,
        s_writeback_row_stride: e.s_writeback_row_stride,
        s_writeback_surface_stride: e.s_writeback_surface_stride,
        ..ZsCrcExtension::default()
    })
}

/// Reads a render target. Bifrost's parameters of compressed images are converted to Valhall's layout.
fn render_target(
    arch: Arch,
    memory: &mut UnitMemory<'_>,
    at: u64,
) -> Result<RenderTarget, JobFault> {
    let bytes = memory.read_array::<{ RenderTarget::SIZE_BYTES }>(at);
    let bytes = bytes.map_err(|fault| JobFault::memory(UNIT, fault))?;
    let mut target = RenderTarget::unpack_as(&bytes, revision(arch.0))
        .map_err(|problem| JobFault::new(UNIT, format!("render target: {problem}")))?;
    if arch.0 < 7 {
        target.writeback_block_format = later(target.writeback_block_format_v6)?;
    }
    if arch.0 >= 9 || !target.is_afbc() {
        return Ok(target);
    }
    Ok(RenderTarget {
        header: target.afbc_header,
        header_row_stride: target.afbc_row_stride * header_bytes(target.writeback_block_format),
        body_offset: target.afbc_body.wrapping_sub(target.afbc_header) as u32,
        wide_block: target.afbc_wide_block,
        split_block: target.afbc_split_block,
        yuv_transform: target.afbc_yuv_transform,
        ..target
    })
}
