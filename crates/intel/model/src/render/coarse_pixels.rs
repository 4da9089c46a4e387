//! Coverage of coarse pixels, and writes to all of their pixels.

use tepui_softgpu::Fault;

use super::target::{BackEnd, LANES, PixelWrite, Target};
use crate::memory::Memory;

/// Maximum width and height of a coarse pixel.
pub(super) const MAX_SIDE: u32 = 4;
pub(super) const MAX_PIXELS: usize = (MAX_SIDE * MAX_SIDE) as usize;

/// The pixels of the channels of a thread.
pub(crate) struct CoarsePixels {
    pub(super) size: [u32; 2],
    /// The samples of each pixel that passed early tests, row by row.
    pub(super) covered: [[u32; MAX_PIXELS]; LANES],
    /// Pixels whose late tests have been executed.
    pub(super) tested: [u32; LANES],
}

impl CoarsePixels {
    /// Coarse pixels of a size, none covered.
    pub fn of(size: [u32; 2]) -> CoarsePixels {
        CoarsePixels { size, covered: [[0; MAX_PIXELS]; LANES], tested: [0; LANES] }
    }

    /// Begins a thread.
    pub fn begin(&mut self) {
        self.tested = [0; LANES];
    }
}

impl BackEnd<'_> {
    /// As [`BackEnd::write`], for each pixel of a channel's coarse pixel.
    ///
    /// Assumption: the coverage that a shader computes has the samples of one pixel after the other.
    pub(super) fn write_coarse(
        &mut self,
        coarse: &mut CoarsePixels,
        memory: &mut Memory<'_>,
        target: Option<&Target>,
        place: [usize; 2],
        lane: usize,
        written: &PixelWrite,
    ) -> Result<(), Fault> {
        let ([x, y], covered) = (self.places[lane], self.covered[lane]);
        let [width, height] = coarse.size;
        let samples = self.output.samples.count as u32;
        let mut outcome = Ok(());
        for pixel in 0..width * height {
            let of_pixel = &mut coarse.covered[lane][pixel as usize];
            if *of_pixel == 0 {
                continue;
            }
            self.places[lane] = [x + pixel % width, y + pixel / width];
            self.covered[lane] = *of_pixel;
            self.tested &= !(1 << lane);
            self.tested |= (coarse.tested[lane] >> pixel & 1) << lane;
            let shift = pixel * samples;
            let mask = written.mask.map(|mask| mask.checked_shr(shift).unwrap_or(0));
            let written = PixelWrite { mask, ..*written };
            outcome = outcome.and(self.write_pixel(memory, target, place, lane, &written));
            *of_pixel = self.covered[lane];
            coarse.tested[lane] |= (self.tested >> lane & 1) << pixel;
        }
        (self.places[lane], self.covered[lane]) = ([x, y], covered);
        outcome
    }
}
