//! The framebuffer of a RUN_FRAGMENT: attachments and what runs over each tile.
//!
// source: Mesa, pan_desc.c (`pan_emit_fbd`).

use arrayvec::ArrayVec;
use tepui_mali_chips::Arch;
use tepui_mali_packets::Packet;
use tepui_mali_packets::bifrost::ZsCrcExtensionV7;
use tepui_mali_packets::framebuffer::{
    BlockFormat, FramebufferParameters, Msaa, RenderTarget, SFormat, SamplePattern,
    ZInternalFormat, ZsCrcExtension, ZsFormat,
};
use tepui_raster::Samples;
use tepui_softgpu::UnitMemory;

use super::colour::TargetFormat;
use super::geometry::GRID;
use super::target::Surface;
use super::{MOST_SAMPLES, MOST_TARGETS};
use crate::job::{JobFault, Unit};

const UNIT: Unit = Unit::Fragment;

/// Bytes of a superblock's header.
const HEADER_BYTES: u32 = 16;

/// Byte offset of what follows the parameters.
const EXTENSION: u64 = 128;

/// A colour attachment.
pub(crate) struct Target {
    pub format: TargetFormat,
    /// Bits of a cleared pixel.
    pub clear: u128,
    /// Where it is written to.
    pub surface: Option<Surface>,
    /// Tiles in which nothing was drawn are written.
    pub clean: bool,
}

/// Where depths or stencils are written to.
pub(crate) struct DepthTarget<F> {
    pub format: F,
    pub surface: Surface,
}

/// The framebuffer.
pub(crate) struct Framebuffer {
    pub parameters: FramebufferParameters,
    pub samples: Samples<MOST_SAMPLES>,
    pub targets: ArrayVec<Target, MOST_TARGETS>,
    pub depth: Option<DepthTarget<ZsFormat>>,
    pub stencil: Option<DepthTarget<SFormat>>,
    /// Depth and stencil of tiles in which nothing was drawn are written.
    pub clean_depth: bool,
}

impl Framebuffer {
    /// Reads the descriptors that a pointer with flags names.
    pub fn read(
        arch: Arch,
        memory: &mut UnitMemory<'_>,
        pointer: u64,
    ) -> Result<Framebuffer, JobFault> {
        let at = pointer & !0x3f;
        let parameters: FramebufferParameters = packet(memory, at, "framebuffer")?;
        let mut next = at + EXTENSION;
        let (mut depth, mut stencil) = (None, None);
        let mut clean_depth = false;
        if parameters.has_zs_crc_extension {
            let extension = extension(arch, memory, next)?;
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
            let target = render_target(arch, memory, next)?;
            next += RenderTarget::SIZE_BYTES as u64;
            let surface = match target.write_enable {
                true => Some(Surface::colour(&target)?),
                false => None,
            };
            if target.write_enable && target.writeback_msaa == Msaa::Multiple
                || target.writeback_msaa == Msaa::Average
            {
                let what = format!("samples in memory as {}", target.writeback_msaa);
                return Err(JobFault::unimplemented(UNIT, what));
            }
            let made = Target {
                format: TargetFormat::new(&target)?,
                clear: TargetFormat::clear(&target),
                surface,
                clean: target.clean_pixel_write_enable,
            };
            targets.try_push(made).map_err(|_| {
                let what = format!("{} render targets", parameters.render_target_count);
                JobFault::new(UNIT, what)
            })?;
        }
        let samples = samples(memory, &parameters)?;
        Ok(Framebuffer { parameters, samples, targets, depth, stencil, clean_depth })
    }

    /// Bits of fixed point of depths in tiles; 0 where they are floats.
    pub fn unorm_bits(&self) -> u32 {
        match self.parameters.z_internal_format {
            ZInternalFormat::D16 => 16,
            ZInternalFormat::D24 => 24,
            ZInternalFormat::D32 => 0,
        }
    }
}

/// Reads the depth and stencil attachments. The formats of those that are not there are 0.
fn extension(arch: Arch, memory: &mut UnitMemory<'_>, at: u64) -> Result<ZsCrcExtension, JobFault> {
    let bytes = memory.read_array::<{ ZsCrcExtension::SIZE_BYTES }>(at);
    let mut bytes = bytes.map_err(|fault| JobFault::memory(UNIT, fault))?;
    if arch.0 < 9 {
        return extension_v7(bytes);
    }
    for byte in [0, 2] {
        if bytes[byte] & 0xf == 0 {
            bytes[byte] |= 1;
        }
    }
    ZsCrcExtension::unpack(&bytes)
        .map_err(|problem| JobFault::new(UNIT, format!("depth and stencil attachment: {problem}")))
}

/// The attachments of v7, as those of Valhall.
fn extension_v7(mut bytes: [u8; ZsCrcExtension::SIZE_BYTES]) -> Result<ZsCrcExtension, JobFault> {
    for byte in [12, 14] {
        if bytes[byte] & 0xf == 0 {
            bytes[byte] |= 1;
        }
    }
    let e = ZsCrcExtensionV7::unpack(&bytes)
        .map_err(|p| JobFault::new(UNIT, format!("depth and stencil attachment: {p}")))?;
    let afbc = matches!(e.zs_block_format, BlockFormat::Afbc | BlockFormat::AfbcTiled);
    if afbc {
        // The number of superblocks in a row, and the body's address in the place of a stencil's.
        let columns = e.zs_writeback_row_stride & 0x1fff;
        return Ok(ZsCrcExtension {
            zs_write_format: e.zs_write_format,
            zs_block_format: e.zs_block_format,
            zs_msaa: e.zs_msaa,
            zs_clean_pixel_write_enable: e.zs_clean_pixel_write_enable,
            zs_writeback_base: e.zs_writeback_base,
            zs_writeback_row_stride: columns * HEADER_BYTES,
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

/// Reads a render target. Those of v7 have other places for what is compressed.
fn render_target(
    arch: Arch,
    memory: &mut UnitMemory<'_>,
    at: u64,
) -> Result<RenderTarget, JobFault> {
    let bytes = memory.read_array::<{ RenderTarget::SIZE_BYTES }>(at);
    let mut bytes = bytes.map_err(|fault| JobFault::memory(UNIT, fault))?;
    let block = BlockFormat::from_raw(u64::from(bytes[5] & 0xf));
    if arch.0 < 9 && matches!(block, Some(BlockFormat::Afbc | BlockFormat::AfbcTiled)) {
        let word = |bytes: &[u8; 64], n: usize| {
            u32::from_le_bytes([bytes[4 * n], bytes[4 * n + 1], bytes[4 * n + 2], bytes[4 * n + 3]])
        };
        let pair =
            |bytes: &[u8; 64], n| u64::from(word(bytes, n)) | u64::from(word(bytes, n + 1)) << 32;
        let (header, body) = (pair(&bytes, 4), pair(&bytes, 8));
        let (columns, flags) = (word(&bytes, 6) & 0x1fff, word(&bytes, 7) >> 17);
        bytes[8..12].copy_from_slice(&(flags & 7).to_le_bytes());
        bytes[12..32].fill(0);
        bytes[32..40].copy_from_slice(&header.to_le_bytes());
        bytes[40..44].copy_from_slice(&(columns * HEADER_BYTES).to_le_bytes());
        bytes[44..48].copy_from_slice(&(body.wrapping_sub(header) as u32).to_le_bytes());
    }
    RenderTarget::unpack(&bytes)
        .map_err(|problem| JobFault::new(UNIT, format!("render target: {problem}")))
}

fn layered(msaa: Msaa) -> Result<(), JobFault> {
    match msaa {
        Msaa::Single | Msaa::Layered => Ok(()),
        other => {
            let what = format!("depths in memory as samples of kind {other}");
            Err(JobFault::unimplemented(UNIT, what))
        }
    }
}

pub(crate) fn packet<P: Packet>(
    memory: &mut UnitMemory<'_>,
    at: u64,
    what: &str,
) -> Result<P, JobFault> {
    let mut bytes = vec![0; P::INFO.size_bytes];
    memory.read(at, &mut bytes).map_err(|fault| JobFault::memory(UNIT, fault))?;
    P::unpack(&bytes).map_err(|problem| JobFault::new(UNIT, format!("{what}: {problem}")))
}

/// Where samples are: a table in memory, in 1/256 of a pixel.
///
// source: Mesa, pan_samples.c.
fn samples(
    memory: &mut UnitMemory<'_>,
    parameters: &FramebufferParameters,
) -> Result<Samples<MOST_SAMPLES>, JobFault> {
    let of_pattern = match parameters.sample_pattern {
        SamplePattern::SingleSampled => 1,
        SamplePattern::Ordered4xGrid | SamplePattern::Rotated4xGrid => 4,
        SamplePattern::D3d8xGrid => 8,
        SamplePattern::D3d16xGrid => 16,
    };
    // A framebuffer of one sample may still be drawn to with several.
    let count = match parameters.sample_count {
        0 | 1 => of_pattern,
        count => (count as usize).min(MOST_SAMPLES),
    };
    let mut places = [[8; 2]; MOST_SAMPLES];
    if count > 1 {
        for (sample, place) in places.iter_mut().enumerate().take(count) {
            let at = parameters.sample_locations + 4 * sample as u64;
            let bytes = memory.read_array::<4>(at);
            let [x0, x1, y0, y1] = bytes.map_err(|fault| JobFault::memory(UNIT, fault))?;
            let sixteenths = |low, high| (u16::from_le_bytes([low, high]) / 16).min(16) as u8;
            *place = [sixteenths(x0, x1), sixteenths(y0, y1)];
        }
    }
    Ok(Samples::new(&GRID, count, places))
}
