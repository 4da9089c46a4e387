//! Records the requests and batches of a device.

use tepui_capture::{Finish, Process, Sink, Start};
use tepui_drm::Errno;
use tepui_drm::device::{Call, CallObserver};
use tepui_intel_chips::Chip;
use tepui_intel_kernel::{Execution, Observer};
use tepui_intel_model::{JobFault, JobStats};

use crate::client;
use crate::payload::Payload;

/// Writes the requests and batches of a virtual device into a stream, which begins when the device is first
/// opened.
pub struct Recorder(tepui_capture::Recorder);

impl Recorder {
    /// A recorder that has seen nothing yet, of a device of this chip. If the sink's target cannot be
    /// reached when the device is opened, that is reported on standard error, and the program runs
    /// without a capture.
    pub fn new(sink: Sink, chip: &'static Chip) -> Recorder {
        let device = Process {
            driver: tepui_intel_kernel::DRIVER.name.into(),
            gpu: chip.name.into(),
            parameters: chip.device_id.to_le_bytes().to_vec(),
            ..Process::default()
        };
        Recorder(tepui_capture::Recorder::new(sink, device))
    }
}

fn payload(execution: &Execution<'_>) -> Payload {
    Payload {
        address: execution.batch.address,
        length: execution.batch.length,
        context: execution.context,
        engine: execution.engine,
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
        let payload = payload(execution);
        let start = Start {
            file: execution.file,
            queue: payload.queue(),
            submission: execution.submission,
            command: 0,
            space: 0,
            kind: 0,
            base: 0,
            payload: bytemuck::bytes_of(&payload).to_vec(),
            early: false,
        };
        self.0.starting(execution.vm, start);
    }

    fn finished(&self, execution: &Execution<'_>, result: &Result<JobStats, JobFault>) {
        let finish = Finish {
            file: execution.file,
            queue: payload(execution).queue(),
            submission: execution.submission,
            command: 0,
            fault: result.as_ref().err().map(JobFault::to_string),
        };
        self.0.finished(execution.vm, finish);
    }
}
