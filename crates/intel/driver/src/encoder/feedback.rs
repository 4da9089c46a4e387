//! Transform feedback: write offsets of stream output, which counters in memory keep.

use tepui_intel_packets::mi::{MiLoadRegisterMem, MiStoreRegisterMem};
use tepui_vulkan::Result;
use tepui_vulkan::feedback::Counters;

use super::Encoder;
use crate::flush::{Flush, Mode};

/// Register of the write offset of buffer 0 in bytes; those of the others follow. source: genxml, SO_WRITE_OFFSET0
const WRITE_OFFSET: u64 = 0x5280;

impl Encoder {
    /// Waits for earlier draws.
    fn settle_feedback(&mut self) -> Result<()> {
        self.select(Mode::Graphics)?;
        self.hardware.pending |= Flush::STALL;
        self.flush()
    }

    pub(super) fn load_offsets(&mut self, counters: &Counters) -> Result<()> {
        self.settle_feedback()?;
        for (register_address, &memory_address) in (WRITE_OFFSET..).step_by(4).zip(counters) {
            match memory_address {
                0 => self.set_register(register_address, 0)?,
                _ => self.emit(&MiLoadRegisterMem {
                    register_address,
                    memory_address,
                    ..MiLoadRegisterMem::default()
                })?,
            }
        }
        Ok(())
    }

    pub(super) fn store_offsets(&mut self, counters: &Counters) -> Result<()> {
        self.settle_feedback()?;
        for (register_address, &memory_address) in (WRITE_OFFSET..).step_by(4).zip(counters) {
            if memory_address != 0 {
                self.emit(&MiStoreRegisterMem {
                    register_address,
                    memory_address,
                    ..MiStoreRegisterMem::default()
                })?;
            }
        }
        Ok(())
    }
}
