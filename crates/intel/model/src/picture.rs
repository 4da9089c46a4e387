//! Pictures of render targets, for tools: the contents of a surface state's image, as colours.

use tepui_format::info::Numeric;
use tepui_intel_chips::Generation;
use tepui_intel_packets::surface::RenderSurfaceState;
use tepui_intel_packets::{Packet, revision};
use tepui_softgpu::AddressSpace;

use crate::format::{self, MAX_BYTES};
use crate::job::{JobFault, Unit};
use crate::memory::Memory;
use crate::order::MemoryUnit;
use crate::port::surface::Surface;

/// The contents of a render target: the first layer of the view, and the first sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Width and height.
    pub size_px: [u32; 2],
    /// Rows of pixels: red, green, blue, alpha. Colours of sRGB formats are as stored, integers are divided
    /// by 255.
    pub texels: Vec<[f32; 4]>,
}

const UNIT: Unit = Unit::Pixels;

/// Limit on the pixels of a picture.
const MAX_TEXELS: u64 = 1 << 25;

impl Picture {
    /// Reads the render target of a surface state. `None` for a buffer and for a null surface.
    ///
    /// # Errors
    /// The state is not that of a surface that the model supports, or memory is not bound.
    pub fn read(
        vm: &AddressSpace,
        generation: Generation,
        surface: u64,
    ) -> Result<Option<Picture>, JobFault> {
        let mut memory = Memory::new(vm, MemoryUnit::RenderTarget);
        let mut bytes = [0; RenderSurfaceState::SIZE_BYTES];
        let unbound = |fault| JobFault::memory(UNIT, fault);
        memory.read(surface, &mut bytes).map_err(unbound)?;
        let mut state = RenderSurfaceState::unpack_as(&bytes, revision(generation))
            .map_err(|problem| JobFault::new(UNIT, problem.to_string()))?;
        // The number of an sRGB format is that of its linear sibling plus one. source: Mesa, isl.h
        let is_srgb = |number| format::find(number).is_some_and(|f| f.numeric() == Numeric::Srgb);
        if is_srgb(state.surface_format) && format::find(state.surface_format - 1).is_some() {
            state.surface_format -= 1;
        }
        let found = Surface::of(&state, 0).map_err(|why| JobFault::new(UNIT, why.to_string()))?;
        let Surface::Image(image) = found else { return Ok(None) };
        let plane = image.level_plane(image.target_level);
        let [width, height] = plane.size;
        if u64::from(width) * u64::from(height) > MAX_TEXELS {
            return Err(JobFault::new(UNIT, "a render target that is too large for a picture"));
        }
        let mut texels = Vec::with_capacity(width as usize * height as usize);
        let mut texel = [0; MAX_BYTES];
        let texel = &mut texel[..image.format.bytes];
        for y in 0..height {
            for x in 0..width {
                let Some(at) = plane.texel(&image, [x, y], 0, 0) else { return Ok(None) };
                memory.read(at, texel).map_err(unbound)?;
                let value = image.format.unpack(texel, [x, y]);
                texels.push(match image.format.is_integer() {
                    true => value.map(|v| v as f32 / 255.0),
                    false => value.map(f32::from_bits),
                });
            }
        }
        Ok(Some(Picture { size_px: [width, height], texels }))
    }
}
