//! Creates recorders.

use tepui_agx_chips::Chip;
use tepui_capture::{Process, Sink};

use crate::recorder::Recorder;

/// A recorder for a device of this chip. If the target cannot be reached when the device is opened, that is
/// reported on standard error, and the program runs without a capture.
pub fn recorder(sink: Sink, chip: &'static Chip) -> Recorder {
    let device = Process {
        driver: tepui_agx_kernel::DRIVER.name.into(),
        gpu: format!("{} ({})", chip.name, chip.gpu_name()),
        parameters: bytemuck::bytes_of(&tepui_agx_kernel::params(chip)).to_vec(),
        ..Process::default()
    };
    Recorder::new(sink, device)
}
