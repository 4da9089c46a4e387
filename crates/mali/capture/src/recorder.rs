//! Records the requests and runs of a device.

use tepui_capture::{Finish, Process, Sink, Start};
use tepui_drm::Errno;
use tepui_drm::device::{Call, CallObserver};
use tepui_mali_chips::Chip;
use tepui_mali_kernel::{Execution, Observer};
use tepui_mali_model::Completion;

use crate::client;
use crate::interface::Interface;
use crate::payload::Run;

/// Writes the requests and runs of a virtual device into a stream, which begins when the device is first
/// opened.
pub struct Recorder {
    recorder: tepui_capture::Recorder,
    interface: Interface,
}

impl Recorder {
    /// A recorder that has seen nothing yet, of a device of this chip. If the sink's target cannot be
    /// reached when the device is opened, that is reported on standard error, and the program runs
    /// without a capture.
    pub fn new(sink: Sink, chip: &'static Chip) -> Recorder {
        let interface = Interface::of(chip);
        let device = Process {
            driver: interface.driver().into(),
            gpu: chip.name.into(),
            parameters: chip.product_id.to_le_bytes().to_vec(),
            ..Process::default()
        };
        Recorder { recorder: tepui_capture::Recorder::new(sink, device), interface }
    }
}

impl CallObserver for Recorder {
    fn opened(&self, file: u64) {
        self.recorder.opened(file);
    }

    fn answered(&self, call: &Call<'_>, after: &[u8], result: Result<u32, Errno>) {
        let memory = client::memory(self.interface, call.user, call.request, after);
        self.recorder.answered(call, after, result, memory);
    }

    fn closed(&self, file: u64) {
        self.recorder.closed(file);
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
        self.recorder.starting(execution.vm, start);
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
        self.recorder.finished(execution.vm, finish);
    }
}
