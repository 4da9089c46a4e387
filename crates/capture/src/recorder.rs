//! Records the requests and commands of a virtual device: what the recorders of all families share.

use std::io;
use std::sync::{Mutex, PoisonError};

use tepui_drm::{Errno, device, monotonic_ns};
use tepui_softgpu::AddressSpace;

use crate::{Call, ClientMemory, Finish, Output, Process, Record, Sink, Spaces, Start};

/// Writes what a family's recorder watches into a stream, which begins when the device is first
/// opened.
pub struct Recorder(Mutex<State>);

struct State {
    /// `None` when the stream has failed.
    sink: Option<Sink>,
    /// The description of the device.
    device: Process,
    spaces: Spaces,
}

impl Recorder {
    /// A recorder that has seen nothing yet, of the device that `device` describes.
    pub fn new(sink: Sink, device: Process) -> Recorder {
        Recorder(Mutex::new(State { sink: Some(sink), device, spaces: Spaces::default() }))
    }

    /// Runs `body`, and stops recording if it fails. What one call writes is not mixed with what
    /// another thread does.
    fn write(&self, body: impl FnOnce(&mut Output, &mut Spaces) -> io::Result<()>) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        let Some(sink) = state.sink.take() else { return };
        let begun = sink.begin(std::mem::take(&mut state.device));
        state.sink = begun.and_then(|sink| sink.write(|out| body(out, &mut state.spaces)));
    }

    /// The device was opened.
    pub fn opened(&self, file: u64) {
        self.write(|out, _| out.record(&Record::Opened { file }));
    }

    /// A request was answered; `memory` is what its pointers lead to.
    pub fn answered(
        &self,
        call: &device::Call<'_>,
        after: &[u8],
        result: Result<u32, Errno>,
        memory: Vec<ClientMemory>,
    ) {
        let record = Record::Call(Call {
            file: call.file,
            thread: rustix::thread::gettid().as_raw_nonzero().get() as u32,
            time_ns: monotonic_ns(),
            request: call.request.0,
            result: result.map_or_else(|errno| -errno.raw_os_error(), |value| value as i32),
            before: call.before.to_vec(),
            after: if after == call.before { Vec::new() } else { after.to_vec() },
            memory,
        });
        self.write(|out, _| out.record(&record));
    }

    /// An open file was closed.
    pub fn closed(&self, file: u64) {
        self.write(|out, _| out.record(&Record::Closed { file }));
    }

    /// A command is about to execute in an address space, whose number [`Start::space`] is set to.
    pub fn starting(&self, vm: &AddressSpace, start: Start) {
        self.write(|out, spaces| {
            let space = spaces.describe(out, vm)?;
            out.record(&Record::Start(Start { space, ..start }))
        });
    }

    /// A command has executed.
    pub fn finished(&self, vm: &AddressSpace, finish: Finish) {
        self.write(|out, spaces| {
            spaces.describe(out, vm)?;
            out.record(&Record::Finish(finish))
        });
    }
}
