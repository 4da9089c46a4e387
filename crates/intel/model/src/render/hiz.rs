//! Operations on depth and stencil buffers without a draw: 3DSTATE_WM_HZ_OP.
//!
//! A clear marks blocks of the hierarchical depth buffer if there is one, and fills the depth buffer if there
//! is none or a block is covered in part. A depth resolve replaces marks by the clear depth; a resolve of the
//! hierarchical buffer removes marks.

use std::ops::Range;

use tepui_intel_packets::pixel::State3dWmHzOp;
use tepui_softgpu::{AddressSpace, Contents, Fault};

use super::depth::Buffers;
use super::unit::UNIT;
use crate::compressed::clear_colour;
use crate::context::HardwareContext;
use crate::job::JobFault;
use crate::memory::Memory;
use crate::order::MemoryUnit;
use crate::port::auxiliary::AuxiliaryPlane;
use crate::port::plain::fill;
use crate::port::surface::Image;

/// Ranges of columns and rows.
type Area = [Range<u32>; 2];

/// Executes an operation; a command without one ends the previous one.
pub(crate) fn operate(
    vm: &AddressSpace,
    context: &HardwareContext,
    operation: &State3dWmHzOp,
) -> Result<(), JobFault> {
    let (depth, stencil) =
        (operation.depth_buffer_clear_enable, operation.stencil_buffer_clear_enable);
    let resolves =
        operation.depth_buffer_resolve_enable || operation.hierarchical_depth_buffer_resolve_enable;
    if !depth && !stencil && !resolves {
        return Ok(());
    }
    let samples = 1 << operation.number_of_multisamples.min(4);
    let buffers = Buffers::of(context, samples)?;
    let mut memory = Memory::new(vm, MemoryUnit::Depth);
    let area = [
        operation.clear_rectangle_x_min..operation.clear_rectangle_x_max,
        operation.clear_rectangle_y_min..operation.clear_rectangle_y_max,
    ];
    let fault = |fault| JobFault::memory(UNIT, fault);
    if let Some((image, format)) = &buffers.depth {
        let bytes = format.pack(buffers.clear).to_le_bytes();
        memory.set_view(image.view);
        let mut surface = Depth {
            memory: &mut memory,
            image,
            hiz: buffers.hiz.as_ref(),
            texel: &bytes[..image.format.bytes],
        };
        if depth {
            surface.clear(&area).map_err(fault)?;
        } else if operation.depth_buffer_resolve_enable {
            surface.resolve(&area).map_err(fault)?;
        } else if operation.hierarchical_depth_buffer_resolve_enable {
            surface.forget(&area).map_err(fault)?;
        }
    }
    if let Some(image) = buffers.stencil.as_ref().filter(|_| stencil) {
        memory.set_view(image.view);
        let texel = [operation.stencil_clear_value as u8];
        let level = image.level_plane(image.level);
        fill(&mut memory, image, &level, &area, 0, &texel).map_err(fault)?;
    }
    Ok(())
}

/// A depth buffer, with its clear depth.
struct Depth<'d, 'm> {
    memory: &'d mut Memory<'m>,
    image: &'d Image,
    hiz: Option<&'d AuxiliaryPlane>,
    texel: &'d [u8],
}

impl Depth<'_, '_> {
    /// The blocks that an area touches.
    fn blocks(&self, area: &Area, hiz: &AuxiliaryPlane) -> impl Iterator<Item = [u32; 2]> + use<> {
        let [width, height, _] = self.image.level_size(self.image.level);
        let block = hiz.block();
        let [columns, rows] = [(0, width), (1, height)].map(|(axis, size)| {
            area[axis].start / block[axis]..area[axis].end.min(size).div_ceil(block[axis])
        });
        rows.flat_map(move |y| columns.clone().map(move |x| [x, y]))
    }

    /// The pixels of a block.
    fn pixels(&self, element: [u32; 2], hiz: &AuxiliaryPlane) -> Area {
        [0, 1].map(|axis| {
            let size = hiz.block()[axis];
            element[axis] * size..(element[axis] + 1) * size
        })
    }

    /// Tells the checker of an area's contents.
    fn report(&self, area: &Area, contents: Contents) {
        let level = self.image.level_plane(self.image.level);
        level.report_contents(self.memory, self.image, area, 0, contents);
    }

    /// Writes the clear depth to an area.
    fn fill(&mut self, area: &Area) -> Result<(), Fault> {
        let level = self.image.level_plane(self.image.level);
        fill(self.memory, self.image, &level, area, 0, self.texel)
    }

    fn clear(&mut self, area: &Area) -> Result<(), Fault> {
        let Some(hiz) = self.hiz else { return self.fill(area) };
        let [width, height, _] = self.image.level_size(self.image.level);
        for element in self.blocks(area, hiz) {
            let pixels = self.pixels(element, hiz);
            let whole = [(0, width), (1, height)].iter().all(|&(axis, size)| {
                area[axis].start <= pixels[axis].start
                    && area[axis].end >= pixels[axis].end.min(size)
            });
            if whole {
                hiz.set_clear(self.memory, element, 0, true)?;
                self.report(&pixels, Contents::Cleared(clear_colour(self.texel, None)));
            } else if !hiz.is_clear(self.memory, element, 0)? {
                let part = [0, 1].map(|axis| {
                    pixels[axis].start.max(area[axis].start)..pixels[axis].end.min(area[axis].end)
                });
                self.fill(&part)?;
            }
        }
        Ok(())
    }

    fn resolve(&mut self, area: &Area) -> Result<(), Fault> {
        if let Some(hiz) = self.hiz {
            for element in self.blocks(area, hiz) {
                if hiz.is_clear(self.memory, element, 0)? {
                    self.fill(&self.pixels(element, hiz))?;
                    hiz.set_clear(self.memory, element, 0, false)?;
                }
            }
        }
        self.report(area, Contents::Resolved);
        Ok(())
    }

    fn forget(&mut self, area: &Area) -> Result<(), Fault> {
        if let Some(hiz) = self.hiz {
            for element in self.blocks(area, hiz) {
                hiz.set_clear(self.memory, element, 0, false)?;
            }
        }
        self.report(area, Contents::Resolved);
        Ok(())
    }
}
