//! Threads for strips: eight by two single-sampled pixels, all of them covered.
//!
//! Most pixel threads are for strips, for which properties that other threads determine pixel by pixel are
//! known.

use tepui_intel_chips::Generation;
use tepui_intel_eu::Thread;

use super::pixel::{PixelShader, Registers, Subspan, ThreadParameters, registers};
use super::unit::UNIT;
use crate::job::JobFault;
use crate::port::Ports;
use tepui_intel_eu::REGISTER_BYTES;

impl PixelShader {
    /// Whether the fast path can run a thread per strip of eight by two pixels. Checked threads get payloads register
    /// by register.
    pub fn takes_strips(&self) -> bool {
        self.variant.lanes == 16
            && self.generation == Generation::Gen9
            && !self.offsets
            && self.coarse.is_none()
            && !self.shared.checks()
    }

    /// As [`PixelShader::run`], for the strip that begins at a pixel: eight by two single-sampled pixels, all of them
    /// covered.
    pub fn run_strip(
        &self,
        thread: &mut Thread,
        ports: &mut Ports<'_>,
        budget: &mut u64,
        work: &ThreadParameters<'_>,
        [x, y]: [u32; 2],
    ) -> Result<u64, JobFault> {
        const ALL: u32 = 0xffff;
        let Some(back_end) = ports.pixels_mut() else {
            return Err(JobFault::new(UNIT, "pixels without a back end"));
        };
        back_end.begin_strip([x, y]);
        let sample = back_end.output.samples.px(0);
        let program = self.variant.program.program();
        // All of these registers that the program reads are written below.
        let pixels = registers(2, 2 + 2 * self.rows_of_pixels());
        let end =
            self.variant.start * REGISTER_BYTES + self.constants.len() + 4 * work.attributes.len();
        let setup = registers(self.variant.start, end / REGISTER_BYTES);
        thread.clear_for(program, ALL, registers(0, 2) | pixels | setup);
        thread.start(&tepui_intel_eu::Dispatch {
            mask: ALL,
            vector_mask: ALL,
            state: 0,
            control: self.control,
        });
        let mut grf = Registers(thread.grf_mut());
        grf.put_row(0, &self.header(work.primitive, work.core).0);
        let at = |right: u32| (x + right) & 0xffff | y << 16;
        grf.put_row(1, &[0, 0, at(0), at(2), at(4), at(6), 0, ALL | ALL << 16]);
        if program.inputs().any & pixels != 0 {
            let subspans = [0, 2, 4, 6].map(|right| Subspan {
                place: [x + right, y],
                covered: [1; 4],
                coverage: [1; 4],
                sample: 0,
            });
            self.payload_of_pixels(&mut grf, 2, work.primitive, sample, &subspans);
        }
        self.setup(&mut grf, work.attributes);
        self.execute(thread, ports, budget)
    }
}
