//! A client of the virtual device is recorded by both recorders, and their streams are compared.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, OnceLock};

use bytemuck::Pod;
use tepui_capture::real::{Contents, RealRecorder};
use tepui_capture::{Call, Event, Events, Sink};
use tepui_drm::Errno;
use tepui_drm::device::{self, CallObserver};
use tepui_drm::gem::Gem;
use tepui_drm::uapi::i915::{self as uapi, ExecObject2, Execbuffer2, Ioctl, exec, exec_object};
use tepui_drm::uapi::{Request, core};
use tepui_drm::user::ThisProcess;
use tepui_intel_kernel::{Device, Execution, File, Observer, Options};
use tepui_intel_model::{JobFault, JobStats};

use crate::Recorder;
use crate::real::{I915Requests, Node};

/// A stream kept in memory.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SharedBuffer {
    fn sink(&self) -> Sink {
        let out = self.clone();
        Sink::Waiting(Box::new(move |process| Ok((Box::new(out) as _, process))))
    }
}

/// Two observers.
struct TwoObservers(Recorder, RealRecorder);

impl CallObserver for TwoObservers {
    fn opened(&self, file: u64) {
        self.0.opened(file);
        self.1.opened(file);
    }
    fn entered(&self, call: &device::Call<'_>) {
        self.0.entered(call);
        self.1.entered(call);
    }
    fn answered(&self, call: &device::Call<'_>, after: &[u8], result: Result<u32, Errno>) {
        self.0.answered(call, after, result);
        self.1.answered(call, after, result);
    }
    fn closed(&self, file: u64) {
        self.0.closed(file);
        self.1.closed(file);
    }
}

impl Observer for TwoObservers {
    fn starting(&self, execution: &Execution<'_>) {
        self.0.starting(execution);
    }
    fn finished(&self, execution: &Execution<'_>, result: &Result<JobStats, JobFault>) {
        self.0.finished(execution, result);
    }
}

/// The virtual device, acting as a real node.
struct VirtualNode(Arc<OnceLock<Arc<File>>>);

struct GemContents(Arc<Gem>);

impl Contents for GemContents {
    fn copy(&self, offset: usize, into: &mut [u8]) {
        assert!(offset as u64 + into.len() as u64 <= self.0.size());
        // SAFETY: inside of the buffer, as just seen.
        unsafe {
            let from = self.0.base().add(offset);
            std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len());
        }
    }
}

impl Node for VirtualNode {
    fn device_id(&self, _: Option<BorrowedFd<'_>>) -> Option<u16> {
        Some(0x1912)
    }
    fn buffer(&self, _: Option<BorrowedFd<'_>>, handle: u32, _: u64) -> Option<Box<dyn Contents>> {
        Some(Box::new(GemContents(self.0.get()?.core().gem(handle).ok()?)))
    }
}

fn ask<T: Pod>(file: &File, request: Request, arg: &mut T) -> Result<(), Errno> {
    // SAFETY: the arguments' pointers lead to live values of these tests.
    let user = unsafe { ThisProcess::new() };
    file.ioctl(&user, request, bytemuck::bytes_of_mut(arg)).map(drop)
}

const BATCH: u64 = 0x1_0000_0000;
const DATA: u64 = 0x2_0000_0000;
const OWN: u64 = 0x3_0000_0000;

/// MI_STORE_DATA_IMM with the address at byte 4, and the end.
fn store(address: u64, value: u32) -> [u32; 6] {
    [0x20 << 23 | 2, address as u32, (address >> 32) as u32, value, 0x0a << 23, 0]
}

/// Submits a batch that sees the buffers, and waits.
fn submit(file: &File, objects: &mut [ExecObject2], context: u32) -> Result<(), Errno> {
    let mut object = core::SyncobjCreate::default();
    ask(file, core::Ioctl::SyncobjCreate.info().request, &mut object)?;
    let fence = uapi::ExecFence { handle: object.handle, flags: uapi::EXEC_FENCE_SIGNAL };
    let mut args = Execbuffer2 {
        buffers_ptr: objects.as_mut_ptr() as u64,
        buffer_count: objects.len() as u32,
        batch_start_offset: 64,
        num_cliprects: 1,
        cliprects_ptr: &raw const fence as u64,
        flags: exec::FENCE_ARRAY,
        rsvd1: context.into(),
        ..Default::default()
    };
    ask(file, Ioctl::GemExecbuffer2.info().request, &mut args)?;
    file.core().fence(object.handle, 0)?.wait()
}

/// Runs a client; returns the streams of the recorders of the virtual device and of real nodes.
fn session() -> [Vec<u8>; 2] {
    let streams = [SharedBuffer::default(), SharedBuffer::default()];
    let known: Arc<OnceLock<Arc<File>>> = Arc::default();
    let chip = tepui_intel_chips::chip("skl").unwrap();
    let requests = {
        let known = known.clone();
        move |_: &str| Some(Box::new(I915Requests::new(VirtualNode(known.clone()))) as _)
    };
    let observer = TwoObservers(
        Recorder::new(streams[0].sink(), chip),
        RealRecorder::new(streams[1].sink(), Box::new(requests)),
    );
    let options =
        Options { observer: Some(Arc::new(observer)), report_faults: false, ..Default::default() };
    let file = Arc::new(Device::new(chip, options).open());
    let _ = known.set(file.clone());
    let create = || {
        let mut gem = uapi::GemCreateExt { size: 3 * 4096, ..Default::default() };
        ask(&file, Ioctl::GemCreate.info().request, &mut gem).unwrap();
        gem.handle
    };
    let [batch, data, closed] = [create(), create(), create()];
    let mut close = core::GemClose { handle: closed, pad: 0 };
    ask(&file, core::Ioctl::GemClose.info().request, &mut close).unwrap();
    // Pages of the client's own, on whole pages.
    let pages = tepui_softgpu::Memory::new(4096).unwrap();
    // SAFETY: inside of the page.
    unsafe { *pages.base() = 0x5a };
    let mut own =
        uapi::GemUserptr { user_ptr: pages.base() as u64, user_size: 4096, ..Default::default() };
    ask(&file, Ioctl::GemUserptr.info().request, &mut own).unwrap();
    let mut context = uapi::ContextCreateExt::default();
    ask(&file, Ioctl::GemContextCreate.info().request, &mut context).unwrap();
    let flags = exec_object::PINNED | exec_object::SUPPORTS_48B_ADDRESS;
    let object =
        |handle, offset, flags| ExecObject2 { handle, offset, flags, ..Default::default() };
    let mut objects =
        [object(own.handle, OWN, flags), object(data, DATA, flags), object(batch, BATCH, flags)];
    let gem = file.core().gem(batch).unwrap();
    for value in [0xdead_beefu32, 0x0102_0304] {
        let bytes: Vec<u8> = bytemuck::cast_slice(&store(DATA + 8, value)).to_vec();
        // SAFETY: inside of the buffer; no batch runs.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), gem.base().add(64), bytes.len()) }
        submit(&file, &mut objects, context.ctx_id).unwrap();
    }
    // The kernel chooses the addresses, which are not known before.
    let mut chosen = [object(data, 0, 0), object(batch, 0, 0)];
    assert_eq!(submit(&file, &mut chosen, context.ctx_id), Err(Errno::IO));
    drop(gem);
    drop(file);
    drop(known);
    streams.map(|stream| stream.0.lock().unwrap().clone())
}

#[test]
fn a_real_node_is_recorded_like_the_virtual_one() {
    let [ours, theirs] = session();
    let calls = |stream: &[u8]| -> Vec<Call> {
        let mut events = Events::new(stream).unwrap();
        let events = std::iter::from_fn(|| events.next()).map(Result::unwrap);
        let calls = events.filter_map(|event| match event {
            Event::Call(call) => Some(Call { time_ns: 0, thread: 0, ..call }),
            _ => None,
        });
        calls.collect()
    };
    assert_eq!(calls(&ours), calls(&theirs));
    assert!(calls(&ours).len() > 10);
    // Both have the same batches on the same memory, except for the one whose addresses the kernel chose.
    let batches = |stream: &[u8]| {
        let mut reader = Events::new(stream).unwrap();
        let mut out = Vec::new();
        while let Some(event) = reader.next() {
            if let Event::Start(start) = event.unwrap() {
                let view = reader.session().space(start.space);
                let memory: BTreeMap<u64, Vec<u8>> = view
                    .mappings()
                    .map(|mapping| {
                        let mut bytes = vec![0; mapping.length as usize];
                        view.read(mapping.address, &mut bytes).expect("bound and readable");
                        (mapping.address, bytes)
                    })
                    .collect();
                out.push((start.file, start.queue, start.submission, start.payload, memory));
            }
        }
        out
    };
    let (ours, theirs) = (batches(&ours), batches(&theirs));
    assert_eq!((ours.len(), theirs.len()), (3, 2));
    assert!(ours[..2] == theirs, "the batches differ");
    assert_eq!(ours[0].4.keys().copied().collect::<Vec<_>>(), [BATCH, DATA, OWN]);
    assert_eq!(
        (ours[1].4[&OWN][0], &ours[1].4[&DATA][8..12]),
        (0x5a, &[0xef, 0xbe, 0xad, 0xde][..])
    );
}

#[test]
fn a_recorded_real_node_replays() {
    let [_, stream] = session();
    let mut reader = Events::new(&stream[..]).unwrap();
    let chip = tepui_intel_chips::chip("skl").unwrap();
    let gpu = tepui_intel_model::Gpu::new(chip, tepui_intel_model::Options::default());
    let mut replayer = crate::replayer(gpu);
    let mut changed = Vec::new();
    while let Some(event) = reader.next() {
        match event.unwrap() {
            Event::Process(process) => {
                assert_eq!(
                    (process.driver.as_str(), &process.parameters[..]),
                    ("i915", &[0x12, 0x19][..])
                );
            }
            Event::Start(start) => {
                let replayed = replayer.start(reader.session(), &start).unwrap();
                assert!(replayed.result.is_ok() && start.early);
                changed.extend(replayed.changed.iter().map(|c| c.address));
            }
            _ => {}
        }
    }
    assert_eq!(changed, [DATA, DATA]);
}
