//! Records the requests and runs of a device.

use tepui_capture::{Finish, Process, Sink, Start};
use tepui_drm::Errno;
use tepui_drm::device::{Call, CallObserver};
use tepui_mali_chips::Chip;
use tepui_mali_kernel::{Execution, Observer};
use tepui_mali_model::Completion;

use crate::client;
use crate::payload::Run;

/// Writes what it watches of a virtual device into a stream, which begins when the device is first
/// opened.
pub struct Recorder(tepui_capture::Recorder);

impl Recorder {
    /// A recorder that has seen nothing yet, of a device of this chip. If the sink's target cannot be
    /// reached when the device is opened, that is reported on standard error, and the program runs
    /// without a capture.
    pub fn new(sink: Sink, chip: &'static Chip) -> Recorder {
        let device = Process {
            driver: tepui_mali_kernel::DRIVER.name.into(),
            gpu: chip.name.into(),
            parameters: chip.product_id.to_le_bytes().to_vec(),
            ..Process::default()
        };
        Recorder(tepui_capture::Recorder::new(sink, device))
    }
}

impl CallObserver for Recorder {
    fn opened(&self, file: u64) {
        self.0.opened(file);
    }

    fn answered(&self, call: &Call<'_>, after: &[u8], result: Result<u32, Errno>) {
        self.0.answered(call, after, result, client::memory(call.user, call.request, after));
    }

    fn closed(&self, file: u64) {
        self.0.closed(file);
    }
}

impl Observer for Recorder {
    fn starting(&self, execution: &Execution<'_>) {
        let run = Run::new(execution.started);
        let start = Start {
            file: execution.file,
            queue: execution.group,
            submission: run.submission(),
            command: execution.run,
            space: 0,
            kind: 0,
            base: 0,
            payload: run.bytes(),
            early: false,
        };
        self.0.starting(execution.vm, start);
    }

    fn finished(&self, execution: &Execution<'_>, ended: &[Completion]) {
        let fault = ended.iter().find_map(|completion| completion.outcome.as_ref().err());
        let finish = Finish {
            file: execution.file,
            queue: execution.group,
            submission: Run::new(execution.started).submission(),
            command: execution.run,
            fault: fault.map(|fault| fault.to_string()),
        };
        self.0.finished(execution.vm, finish);
    }
}
