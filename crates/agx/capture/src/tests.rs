//! A client of the virtual device is recorded by both recorders, and their streams are compared.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, OnceLock};

use tepui_agx_kernel::{Device, Execution, File, Observer, Options};
use tepui_agx_model::{Gpu, JobFault, JobStats};
use tepui_agx_packets::Packet;
use tepui_agx_packets::cdm::{GlobalSize, LaunchWord0, LaunchWord1, LocalSize, StreamTerminate};
use tepui_agx_packets::usc::{NoPreshader, Registers, Shader, Shared, Uniform};
use tepui_capture::real::{Contents, RealRecorder};
use tepui_capture::{Call, Process, Sink, Start};
use tepui_drm::Errno;
use tepui_drm::device::{self, CallObserver};
use tepui_drm::gem::Gem;
use tepui_drm::uapi::asahi::{self as uapi, Ioctl, ParamsGlobal};
use tepui_drm::uapi::{IoctlInfo, core};
use tepui_drm::user::Block;

use crate::real::{AsahiRequests, Node};
use crate::{Event, Events, Recorder, describe, replayer};

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

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
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

/// The virtual device in the place of a real node.
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
    fn parameters(&self, _: Option<BorrowedFd<'_>>) -> Option<ParamsGlobal> {
        self.0.get().map(|file| tepui_agx_kernel::params(file.device().chip()))
    }

    fn buffer(&self, _: Option<BorrowedFd<'_>>, handle: u32, _: u64) -> Option<Box<dyn Contents>> {
        Some(Box::new(GemContents(self.0.get()?.core().gem(handle).ok()?)))
    }
}

/// Address of the client's structures.
const USER: u64 = 0x1_0000;
const SYNCS: usize = 0x400;

struct Client {
    file: Arc<File>,
    user: Block,
}

impl Client {
    fn call<T: bytemuck::Pod>(&self, info: &IoctlInfo, argument: &mut T) -> Result<(), Errno> {
        let bytes = bytemuck::bytes_of_mut(argument);
        self.file.ioctl(&self.user, info.request, bytes).map(drop)
    }

    fn put(&self, at: usize, bytes: &[u8]) -> u64 {
        use tepui_drm::user::UserMemory;
        let address = USER + at as u64;
        self.user.write(address, bytes).unwrap();
        address
    }

    fn bind(&self, vm_id: u32, ops: &[uapi::GemBindOp]) {
        let userptr = self.put(0, bytemuck::cast_slice(ops));
        let num_binds = ops.len() as u32;
        let mut args = uapi::VmBind { vm_id, num_binds, stride: 32, pad: 0, userptr };
        self.call(Ioctl::VmBind.info(), &mut args).unwrap();
    }

    fn buffer(&self, vm_id: u32, size: u64) -> u32 {
        let mut args =
            uapi::GemCreate { size, flags: uapi::GEM_VM_PRIVATE, vm_id, ..Default::default() };
        self.call(Ioctl::GemCreate.info(), &mut args).unwrap();
        args.handle
    }

    fn write(&self, handle: u32, offset: usize, bytes: &[u8]) {
        let gem = self.file.core().gem(handle).unwrap();
        assert!(offset + bytes.len() <= gem.size() as usize);
        // SAFETY: inside of the buffer, as just seen.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), gem.base().add(offset), bytes.len());
        }
    }

    fn read(&self, handle: u32, offset: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        GemContents(self.file.core().gem(handle).unwrap()).copy(offset, &mut bytes);
        bytes
    }

    /// Submits a compute command and waits for it.
    fn submit(&self, queue_id: u32, stream: u64) -> Result<(), Errno> {
        let mut syncobj = core::SyncobjCreate::default();
        self.call(core::Ioctl::SyncobjCreate.info(), &mut syncobj).unwrap();
        let sync = uapi::Sync { sync_type: 0, handle: syncobj.handle, timeline_value: 0 };
        let header = uapi::CmdHeader {
            cmd_type: uapi::CMD_COMPUTE,
            size: size_of::<uapi::CmdCompute>() as u16,
            vdm_barrier: 0xffff,
            cdm_barrier: 0xffff,
        };
        let command = uapi::CmdCompute {
            cdm_ctrl_stream_base: stream,
            cdm_ctrl_stream_end: stream + 0x40,
            ..Default::default()
        };
        let buffer = [bytemuck::bytes_of(&header), bytemuck::bytes_of(&command)].concat();
        let mut args = uapi::Submit {
            syncs: self.put(SYNCS, bytemuck::bytes_of(&sync)),
            cmdbuf: self.put(0, &buffer),
            queue_id,
            out_sync_count: 1,
            cmdbuf_size: buffer.len() as u32,
            ..Default::default()
        };
        self.call(Ioctl::Submit.info(), &mut args)?;
        let handles = self.put(SYNCS + 64, &syncobj.handle.to_le_bytes());
        let mut wait = core::SyncobjWait {
            handles,
            timeout_nsec: i64::MAX,
            count_handles: 1,
            ..Default::default()
        };
        self.call(core::Ioctl::SyncobjWait.info(), &mut wait)
    }
}

/// Base of USC addresses, and where buffers are bound.
const USC: u64 = 0x11_0000_0000;
const DATA: u64 = 0x20_0000_0000;
const MIRROR: u64 = 0x30_0000_0000;

/// `data[i] = word` for each thread: `get_sr r0, thread_position_in_grid.x; mov r1, u2;
/// device_store 0, i32, x, r1, u0_u1, r0; stop`, as Mesa's fill kernel has it.
const FILL: [u8; 20] = [
    0x72, 0x01, 0x10, 0x04, 0x7e, 0x05, 0x84, 0x09, 0x80, 0x00, 0x45, 0x09, 0x00, 0x0e, 0x00, 0xc0,
    0x12, 0x00, 0x88, 0x00,
];

fn packed<P: Packet>(packet: P) -> Vec<u8> {
    let mut bytes = vec![0; P::INFO.size_bytes];
    packet.pack_into(&mut bytes).unwrap();
    bytes
}

/// Fills 8 words at DATA + 0x4000 with `word`: stream at USC, pipeline at USC + 0x1000, code at
/// USC + 0x2000, uniforms at USC + 0x3000.
fn commands(word: u32) -> [(usize, Vec<u8>); 4] {
    let stream = [
        packed(LaunchWord0 { uniform_register_count: 64, ..Default::default() }),
        packed(LaunchWord1 { pipeline: 0x1000 }),
        packed(GlobalSize { x: 8, y: 1, z: 1 }),
        packed(LocalSize { x: 32, y: 1, z: 1 }),
        packed(StreamTerminate::default()),
    ];
    let pipeline = [
        packed(Uniform { start_halfs: 0, size_halfs: 6, buffer: USC + 0x3000 }),
        packed(Shared::default()),
        packed(Shader { unk_2: 3, code: 0x2000, ..Default::default() }),
        packed(Registers { register_count: 8, ..Default::default() }),
        packed(NoPreshader::default()),
    ];
    let uniforms = [(DATA + 0x4000).to_le_bytes().to_vec(), word.to_le_bytes().to_vec()];
    [
        (0, stream.concat()),
        (0x1000, pipeline.concat()),
        (0x2000, FILL.to_vec()),
        (0x3000, uniforms.concat()),
    ]
}

/// Runs a client; gives the streams of the recorder of the virtual device and of that of real ones.
fn session() -> (Vec<u8>, Vec<u8>) {
    let (virtual_stream, real_stream) = (SharedBuffer::default(), SharedBuffer::default());
    let known = Arc::new(OnceLock::new());
    let chip = tepui_agx_chips::chip("m1").unwrap();
    let process = Process {
        driver: "asahi".into(),
        parameters: bytemuck::bytes_of(&tepui_agx_kernel::params(chip)).to_vec(),
        ..Default::default()
    };
    let observer = TwoObservers(
        Recorder::new(virtual_stream.sink(), process),
        RealRecorder::new(real_stream.sink(), {
            let known = known.clone();
            Box::new(move |_| Some(Box::new(AsahiRequests::new(VirtualNode(known.clone())))))
        }),
    );
    let options =
        Options { observer: Some(Arc::new(observer)), report_faults: false, ..Default::default() };
    let device = Device::new(chip, options);
    let file = Arc::new(device.open());
    let _ = known.set(file.clone());
    let client = Client { file, user: Block::new(USER, vec![0; 0x1000]) };

    let params = tepui_agx_kernel::params(chip);
    let mut vm = uapi::VmCreate {
        kernel_start: params.vm_end - params.vm_kernel_min_size,
        kernel_end: params.vm_end,
        ..Default::default()
    };
    client.call(Ioctl::VmCreate.info(), &mut vm).unwrap();
    let code = client.buffer(vm.vm_id, 0x4000);
    let data = client.buffer(vm.vm_id, 0xc000);
    let gone = client.buffer(vm.vm_id, 0x4000);
    let bind =
        |flags, handle, offset, range, addr| uapi::GemBindOp { flags, handle, offset, range, addr };
    let rw = uapi::BIND_READ | uapi::BIND_WRITE;
    client.bind(
        vm.vm_id,
        &[
            bind(rw, code, 0, 0x4000, USC),
            bind(rw, data, 0, 0xc000, DATA),
            bind(uapi::BIND_READ, data, 0, 0xc000, MIRROR),
            bind(rw, gone, 0, 0x4000, MIRROR + 0x4000),
        ],
    );
    // The last handle of a buffer goes, and so do its bindings.
    let mut close = core::GemClose { handle: gone, pad: 0 };
    client.call(core::Ioctl::GemClose.info(), &mut close).unwrap();
    client.write(data, 0x100, b"not touched");
    let mut queue = uapi::QueueCreate {
        vm_id: vm.vm_id,
        priority: 1,
        usc_exec_base: USC,
        ..Default::default()
    };
    client.call(Ioctl::QueueCreate.info(), &mut queue).unwrap();
    for word in [0xdead_beefu32, 0x0102_0304] {
        for (offset, bytes) in commands(word) {
            client.write(code, offset, &bytes);
        }
        client.submit(queue.queue_id, USC).unwrap();
        assert_eq!(
            client.read(data, 0x4000, 36),
            [word.to_le_bytes().repeat(8), vec![0; 4]].concat()
        );
    }
    // A stream where nothing is bound: a fault, and then a refused submission.
    assert!(client.submit(queue.queue_id, MIRROR - 0x4000).is_ok());
    assert_eq!(client.submit(queue.queue_id, USC), Err(Errno::IO));
    drop(client);
    drop(known);
    drop(device);
    (virtual_stream.bytes(), real_stream.bytes())
}

#[test]
fn results_that_are_no_errors_are_printed_as_they_are() {
    let line = |result| describe::call(&Call { result, ..Call::default() }).line();
    assert!(line(-22).ends_with(" = -1 EINVAL"));
    assert!(line(3).ends_with(" = 3"));
    assert!(line(i32::MIN).ends_with(" = -1 (errno 2147483648)"));
}

/// All bound memory that is not zero, by address.
fn memory(events: &Events<&[u8]>, start: &Start) -> BTreeMap<u64, Vec<u8>> {
    let view = events.session().space(start.space);
    view.mappings()
        .map(|mapping| {
            let mut bytes = vec![0; mapping.length as usize];
            view.read(mapping.address, &mut bytes).expect("bound and readable");
            (mapping.address, bytes)
        })
        .collect()
}

fn events(stream: &[u8]) -> Vec<Event> {
    let mut events = Events::new(stream).unwrap();
    std::iter::from_fn(|| events.next()).map(Result::unwrap).collect()
}

#[test]
fn what_a_client_does_is_recorded_and_decoded() {
    let (stream, _) = session();
    let mut reader = Events::new(&stream[..]).unwrap();
    let mut starts = 0;
    let mut faults = Vec::new();
    while let Some(event) = reader.next() {
        match event.unwrap() {
            Event::Process(process) => assert_eq!(process.driver, "asahi"),
            Event::Start(start) => {
                starts += 1;
                let options = describe::options(&[]);
                let text = describe::command(&reader.memory(&start), &start, options).to_string();
                assert!(starts > 2 || text.contains("device_store"), "{text}");
                assert!(starts < 3 || text.contains("! no memory to read at"), "{text}");
            }
            Event::Finish(finish) => faults.push(finish.fault.is_some()),
            Event::Opened(_) | Event::Closed(_) | Event::Call(_) => {}
        }
    }
    assert_eq!((starts, faults), (3, vec![false, false, true]));
}

#[test]
fn commands_execute_again_with_the_same_result() {
    let (stream, _) = session();
    let mut reader = Events::new(&stream[..]).unwrap();
    let mut replayer = replayer(Gpu::new(Default::default()));
    let mut results = Vec::new();
    while let Some(event) = reader.next() {
        match event.unwrap() {
            Event::Start(start) => {
                let replayed = replayer.start(reader.session(), &start).unwrap();
                let changed: Vec<u64> = replayed.changed.iter().map(|c| c.address).collect();
                results.push((replayed.result.is_ok(), changed, replayed.hash));
            }
            Event::Finish(finish) => {
                let compared = replayer.finish(reader.session(), &finish).unwrap();
                assert_eq!(compared.different, []);
            }
            _ => {}
        }
    }
    let page = DATA + 0x4000;
    let shapes: Vec<_> = results.iter().map(|(ok, changed, _)| (*ok, changed.clone())).collect();
    assert_eq!(shapes, [(true, vec![page]), (true, vec![page]), (false, vec![])]);
    assert_ne!(results[0].2, results[1].2);
}

#[test]
fn another_result_than_the_captured_one_is_found() {
    let (stream, _) = session();
    let mut reader = Events::new(&stream[..]).unwrap();
    let mut replayer = replayer(Gpu::new(Default::default()));
    let mut first = true;
    while let Some(event) = reader.next() {
        match event.unwrap() {
            Event::Start(start) if first => {
                // The command runs on memory as it was; the end that it is compared with is that of
                // the next one, which writes another word.
                replayer.start(reader.session(), &start).unwrap();
                first = false;
            }
            Event::Finish(finish) if finish.submission == 2 => {
                let other = tepui_capture::Finish { submission: 1, ..finish };
                let compared = replayer.finish(reader.session(), &other).unwrap();
                let at = DATA + 0x4000;
                assert!(compared.different.contains(&(at, 4, 0xef, 32)), "{compared:?}");
                return;
            }
            _ => {}
        }
    }
    panic!("the capture has no second command");
}

#[test]
fn a_real_node_is_recorded_like_the_virtual_one() {
    let (stream, real) = session();
    // Both streams have the same calls. (Times and threads differ, and closing happens after the last
    // stream ends.)
    let calls = |stream: &[u8]| -> Vec<Call> {
        let calls = events(stream).into_iter().filter_map(|event| match event {
            Event::Call(call) => Some(Call { time_ns: 0, thread: 0, ..call }),
            _ => None,
        });
        calls.collect()
    };
    assert_eq!(calls(&stream), calls(&real));
    // Both have the same commands on the same memory, except that the refused one never started.
    let commands = |stream: &[u8]| {
        let mut reader = Events::new(stream).unwrap();
        let mut out = Vec::new();
        while let Some(event) = reader.next() {
            if let Event::Start(start) = event.unwrap() {
                let memory = memory(&reader, &start);
                let Start { file, queue, submission, command, kind, base, payload, .. } = start;
                out.push((file, queue, submission, command, kind, base, payload, memory));
            }
        }
        out
    };
    let (ours, theirs) = (commands(&stream), commands(&real));
    assert_eq!(ours.len(), 3);
    assert!(ours == theirs, "the commands differ");
    let mirror = &ours[0].7[&MIRROR];
    assert_eq!(&mirror[0x100..0x10b], b"not touched");
    assert!(!ours[0].7.contains_key(&(MIRROR + 0x4000)));
}
