//! Pictures of attachments, for tools: the images that a framebuffer descriptor points to, as colours.

use tepui_mali_chips::Arch;
use tepui_mali_packets::framebuffer::ZsFormat;
use tepui_softgpu::{AddressSpace, UnitMemory};

use crate::job::{JobFault, Unit};
use crate::pixels::framebuffer::Framebuffer;
use crate::pixels::target::Surface;

/// The contents of an attachment, from the first sample of each pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The attachment's name: `target0`, `depth`.
    pub name: String,
    /// Width and height.
    pub size_px: [u32; 2],
    /// Rows of pixels: red, green, blue, alpha. Colours of sRGB formats are as stored, bytes of raw formats are
    /// divided by 255.
    pub texels: Vec<[f32; 4]>,
}

/// Limit on the pixels of a picture.
const MAX_TEXELS: u64 = 1 << 25;

impl Picture {
    /// The attachments of a framebuffer pointer that are written to memory.
    ///
    /// # Errors
    /// The descriptors are not those of a framebuffer that the model knows, or memory is not bound.
    pub fn of_framebuffer(
        arch: Arch,
        vm: &AddressSpace,
        pointer: u64,
    ) -> Result<Vec<Picture>, JobFault> {
        let mut memory = UnitMemory::new(vm);
        let framebuffer = Framebuffer::read(arch, &mut memory, pointer)?;
        let p = &framebuffer.parameters;
        let size = [p.width, p.height];
        if u64::from(size[0]) * u64::from(size[1]) > MAX_TEXELS {
            return Err(JobFault::new(Unit::Fragment, "an attachment too large for a picture"));
        }
        let mut all = Vec::new();
        for (index, target) in framebuffer.targets.iter().enumerate() {
            let Some(surface) = &target.surface else { continue };
            let colour = |pixel: [u8; 16]| target.format.colour(pixel);
            let texels = read(&mut memory, surface, size, target.format.bytes, colour)?;
            all.push(Picture { name: format!("target{index}"), size_px: size, texels });
        }
        if let Some(target) = &framebuffer.depth {
            let format = target.format;
            let bytes = if format == ZsFormat::D16 { 2 } else { 4 };
            let colour = |pixel: [u8; 16]| {
                let [a, b, c, d, ..] = pixel;
                let z = match format {
                    ZsFormat::D16 => f32::from(u16::from_le_bytes([a, b])) / 65535.0,
                    ZsFormat::D32 => f32::from_le_bytes([a, b, c, d]),
                    _ => u32::from_le_bytes([a, b, c, 0]) as f32 / 0xff_ffff as f32,
                };
                [z, z, z, 1.0]
            };
            let texels = read(&mut memory, &target.surface, size, bytes, colour)?;
            all.push(Picture { name: "depth".into(), size_px: size, texels });
        }
        Ok(all)
    }
}

/// The pixels of a surface.
fn read(
    memory: &mut UnitMemory<'_>,
    surface: &Surface,
    [width, height]: [u32; 2],
    bytes: usize,
    colour: impl Fn([u8; 16]) -> [f32; 4],
) -> Result<Vec<[f32; 4]>, JobFault> {
    let mut texels = Vec::with_capacity(width as usize * height as usize);
    for y in 0..height {
        for x in 0..width {
            let mut pixel = [0; 16];
            let at = surface.pixel([x, y], 0, bytes as u64);
            let read = memory.read(at, &mut pixel[..bytes]);
            read.map_err(|fault| JobFault::memory(Unit::Fragment, fault))?;
            texels.push(colour(pixel));
        }
    }
    Ok(texels)
}
