//! Operations on depth and stencil buffers without a draw: 3DSTATE_WM_HZ_OP.
//!
//! Clears fill the buffers themselves; the hierarchical depth buffer is never looked at, so that
//! resolves have nothing to do.

use tepui_intel_packets::output::State3dClearParams;
use tepui_intel_packets::pixel::State3dWmHzOp;
use tepui_softgpu::AddressSpace;

use super::UNIT;
use super::depth::Buffers;
use super::state::latched;
use crate::context::HardwareContext;
use crate::job::JobFault;
use crate::memory::Memory;

/// Executes an operation; a command without one is the end of another.
pub(crate) fn operate(
    vm: &AddressSpace,
    context: &HardwareContext,
    operation: &State3dWmHzOp,
) -> Result<(), JobFault> {
    let (depth, stencil) =
        (operation.depth_buffer_clear_enable, operation.stencil_buffer_clear_enable);
    if !depth && !stencil {
        return Ok(());
    }
    let samples = 1 << operation.number_of_multisamples.min(4);
    let buffers = Buffers::of(context, samples)?;
    let value: State3dClearParams = latched(context)?;
    let mut memory = Memory::new(vm);
    let x = [operation.clear_rectangle_x_min, operation.clear_rectangle_x_max];
    let y = [operation.clear_rectangle_y_min, operation.clear_rectangle_y_max];
    let mut fill = |image: &crate::port::surface::Image, bytes: &[u8]| -> Result<(), JobFault> {
        let level = image.level_plane(image.level);
        let [width, height, _] = image.level_size(image.level);
        for y in y[0]..y[1].min(height) {
            for x in x[0]..x[1].min(width) {
                for sample in 0..samples {
                    let Some(at) = level.texel(image, [x, y], 0, sample) else { continue };
                    memory.write(at, bytes).map_err(|fault| JobFault::memory(UNIT, fault))?;
                }
            }
        }
        Ok(())
    };
    if let Some((image, format)) = buffers.depth.as_ref().filter(|_| depth) {
        let bytes = format.pack(value.depth_clear_value).to_le_bytes();
        fill(image, &bytes[..image.format.bytes])?;
    }
    if let Some(image) = buffers.stencil.as_ref().filter(|_| stencil) {
        fill(image, &[operation.stencil_clear_value as u8])?;
    }
    Ok(())
}
