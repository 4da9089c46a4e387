//! Coarse pixels (Gen12): areas of up to four by four pixels that a channel of a pixel thread shades together.
//!
//! Coverage, tests and writes stay those of pixels: a channel's write goes to all pixels of its area that passed.

use tepui_intel_packets::gen12::{CpsState, State3dCpsPointers};
use tepui_raster::{TILE_SIDE, Tests};

use super::coarse_pixels::{MAX_PIXELS, MAX_SIDE};
use super::geometry::Primitive;
use super::pixel::Subspan;
use super::state::{State, latched, read};
use super::tile::Worker;
use super::unit::{MAX_SAMPLES, UNIT, unimplemented};
use crate::context::HardwareContext;
use crate::job::JobFault;
use crate::memory::Memory;

/// The size in pixels of coarse pixels, if the pixel shader of a draw is executed for these.
///
/// Assumption: all viewports have the size of the first; drivers write the same for all.
pub(super) fn size(
    context: &HardwareContext,
    memory: &mut Memory<'_>,
    state: &State,
) -> Result<Option<[u32; 2]>, JobFault> {
    if !state.extra.pixel_shader_is_per_coarse_pixel {
        return Ok(None);
    }
    let pointers: State3dCpsPointers = latched(context)?;
    let at = context.bases.dynamic + pointers.coarse_pixel_shading_state_array_pointer;
    let cps: CpsState = read(memory, at)?;
    let size = match cps.coarse_pixel_shading_mode {
        CpsState::NONE => [1; 2],
        CpsState::CONSTANT => {
            [cps.min_cp_size_x, cps.min_cp_size_y].map(|side| side >> CpsState::FRACTION)
        }
        _ => return Err(unimplemented("coarse pixels whose size depends on the place")),
    };
    match size.iter().all(|side| matches!(*side, 1 | 2 | MAX_SIDE)) {
        true => Ok(Some(size)),
        false => Err(JobFault::new(UNIT, format!("coarse pixels of {} by {}", size[0], size[1]))),
    }
}

impl Worker<'_, '_> {
    /// As [`Worker::shape`], for coarse pixels.
    pub(super) fn coarse_shape(
        &mut self,
        corner: [u32; 2],
        primitive: &Primitive,
        tests: &Tests,
        [width, height]: [u32; 2],
    ) -> Result<(), JobFault> {
        let count = self.drawing.output.samples.count;
        let [from, to] = self.coverage.rows;
        let mut covered = [[0u32; TILE_SIDE]; MAX_SAMPLES];
        let mut passed = [[0u32; TILE_SIDE]; MAX_SAMPLES];
        for sample in 0..count {
            for line in from..to {
                let bits = self.covered_line(corner, primitive, [sample, line]);
                covered[sample][line] = bits;
                passed[sample][line] = self.test_line(primitive, tests, [sample, line], bits)?;
            }
        }
        let (wide, high) = (2 * width as usize, 2 * height as usize);
        for top in (from / high * high..to).step_by(high) {
            for left in (0..TILE_SIDE).step_by(wide) {
                let place = [corner[0] + left as u32, corner[1] + top as u32];
                let mut subspan = Subspan { place, ..Subspan::default() };
                let mut pixels = [[0u32; MAX_PIXELS]; 4];
                for (quarter, pixels) in pixels.iter_mut().enumerate() {
                    let x = left + quarter % 2 * width as usize;
                    let y = top + quarter / 2 * height as usize;
                    let count_of_pixels = (width * height) as usize;
                    for (pixel, bits) in pixels.iter_mut().enumerate().take(count_of_pixels) {
                        let (x, y) = (x + pixel % width as usize, y + pixel / width as usize);
                        for sample in 0..count {
                            let bit = |rows: &[u32; TILE_SIDE]| rows[y] >> x & 1;
                            *bits |= bit(&passed[sample]) << sample;
                            let place = (pixel * count + sample) as u32;
                            subspan.coverage[quarter] |=
                                bit(&covered[sample]).checked_shl(place).unwrap_or(0);
                        }
                    }
                    subspan.covered[quarter] = pixels.iter().fold(0, |all, bits| all | bits);
                }
                let shaded = subspan.covered.iter().filter(|mask| **mask != 0).count();
                if shaded == 0 || self.drawing.shader.is_none() {
                    continue;
                }
                self.part.counts.shaded += shaded as u64;
                let slot = 4 * self.pending.len();
                if let Some(coarse) = &mut self.back_end()?.coarse {
                    coarse.covered[slot..slot + 4].copy_from_slice(&pixels);
                }
                self.add(primitive, subspan)?;
            }
        }
        self.flush(primitive)
    }
}
