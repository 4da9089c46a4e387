//! Batches through the ioctls: accesses of the command streamer to memory and registers, the end of a context
//! after a fault, and the lifetime of buffers.

use bytemuck::{Pod, bytes_of_mut};
use tepui_drm::Errno;
use tepui_drm::uapi::Request;
use tepui_drm::uapi::core as drm;
use tepui_drm::uapi::i915::{self as uapi, ExecObject2, Ioctl};
use tepui_drm::user::ThisProcess;
use tepui_intel_kernel::{Device, File, Options};
use tepui_intel_packets::mi::{
    MiBatchBufferEnd, MiBatchBufferStart, MiLoadRegisterMem, MiSemaphoreWait, MiStoreRegisterMem,
    SemaphoreCompare,
};
use tepui_intel_packets::state::{PipeControl, PostSyncOperation};
use tepui_softgpu::JobFaultKind;

/// Addresses at which the two buffers of a client are pinned.
const BATCH: u64 = 0x1_0000_0000;
const DATA: u64 = 0x7fff_0000_0000;

struct Client {
    file: File,
    /// Handles of the batch, the data and a sync object.
    handles: [u32; 3],
    context: u32,
}

fn ask<T: Pod>(file: &File, request: Request, arg: &mut T) -> Result<(), Errno> {
    // SAFETY: the arguments' pointers lead to live arrays of these tests.
    let user = unsafe { ThisProcess::new() };
    file.ioctl(&user, request, bytes_of_mut(arg)).map(drop)
}

impl Client {
    fn new(recoverable: bool) -> Client {
        let chip = tepui_intel_chips::chip("skl").unwrap();
        let options = Options {
            report_faults: false,
            model: tepui_intel_model::Options {
                clock: tepui_drm::monotonic_ns,
                max_wait_ns: 50_000_000,
                max_commands: 10_000,
                ..Default::default()
            },
            ..Options::default()
        };
        let file = Device::new(chip, options).open();
        let buffer = |_| {
            let mut gem = uapi::GemCreateExt { size: 4096, ..Default::default() };
            ask(&file, Ioctl::GemCreate.info().request, &mut gem).unwrap();
            gem.handle
        };
        let [batch, data] = [0, 1].map(buffer);
        let mut object = drm::SyncobjCreate::default();
        ask(&file, drm::Ioctl::SyncobjCreate.info().request, &mut object).unwrap();
        let mut context = uapi::ContextCreateExt::default();
        ask(&file, Ioctl::GemContextCreate.info().request, &mut context).unwrap();
        let mut set = uapi::ContextParam {
            ctx_id: context.ctx_id,
            param: uapi::context_param::RECOVERABLE,
            value: recoverable.into(),
            ..Default::default()
        };
        ask(&file, Ioctl::GemContextSetparam.info().request, &mut set).unwrap();
        Client { file, handles: [batch, data, object.handle], context: context.ctx_id }
    }

    /// The host address of a byte range of a buffer.
    fn place(&self, which: usize, at: usize, bytes: usize) -> *mut u8 {
        assert!(at + bytes <= 4096);
        let gem = self.file.core().gem(self.handles[which]).unwrap();
        gem.base().wrapping_add(at)
    }

    fn write(&self, which: usize, at: usize, bytes: &[u8]) {
        let to = self.place(which, at, bytes.len());
        // SAFETY: the buffer has at least these bytes and lives as long as the file; the GPU is waited for
        // before it is written.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) }
    }

    fn data(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        let from = self.place(1, at, 4);
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), 4) }
        u32::from_le_bytes(bytes)
    }

    fn submit(&self, commands: &[u8]) -> Result<(), Errno> {
        self.write(0, 0, commands);
        let object = |which: usize, offset| ExecObject2 {
            handle: self.handles[which],
            offset,
            flags: uapi::exec_object::PINNED | uapi::exec_object::SUPPORTS_48B_ADDRESS,
            ..Default::default()
        };
        let objects = [object(1, DATA), object(0, BATCH)];
        let fence = uapi::ExecFence { handle: self.handles[2], flags: uapi::EXEC_FENCE_SIGNAL };
        let mut args = uapi::Execbuffer2 {
            buffers_ptr: objects.as_ptr() as u64,
            buffer_count: 2,
            num_cliprects: 1,
            cliprects_ptr: &raw const fence as u64,
            flags: uapi::exec::FENCE_ARRAY | uapi::exec::NO_RELOC,
            rsvd1: self.context.into(),
            ..Default::default()
        };
        ask(&self.file, Ioctl::GemExecbuffer2.info().request, &mut args)
    }

    /// Submits and waits for the end; returns the batch's error.
    fn run(&self, commands: &[u8]) -> Result<(), Errno> {
        self.submit(commands)?;
        self.file.core().fence(self.handles[2], 0).unwrap().wait()
    }

    fn reset_stats(&self) -> uapi::ResetStats {
        let mut stats = uapi::ResetStats { ctx_id: self.context, ..Default::default() };
        ask(&self.file, Ioctl::GetResetStats.info().request, &mut stats).unwrap();
        stats
    }
}

fn end() -> Vec<u8> {
    MiBatchBufferEnd::default().pack().unwrap().to_vec()
}

#[test]
fn a_batch_writes_to_memory() {
    let client = Client::new(false);
    client.write(1, 16, &7u32.to_le_bytes());
    let load = MiLoadRegisterMem {
        register_address: 0x2600,
        memory_address: DATA + 16,
        ..Default::default()
    };
    let store = MiStoreRegisterMem {
        register_address: 0x2600,
        memory_address: DATA + 32,
        ..Default::default()
    };
    let control = PipeControl {
        post_sync_operation: PostSyncOperation::WriteImmediateData,
        address: DATA + 64,
        immediate_data: 0x1234_5678_9abc_def0,
        command_streamer_stall_enable: true,
        ..Default::default()
    };
    let commands = [
        load.pack().unwrap().to_vec(),
        store.pack().unwrap().to_vec(),
        control.pack().unwrap().to_vec(),
        end(),
    ];
    client.run(&commands.concat()).unwrap();
    assert_eq!((client.data(32), client.data(64)), (7, 0x9abc_def0));
    assert_eq!(client.file.bindings(client.context), [(BATCH, 4096), (DATA, 4096)]);
    // A register keeps its value from batch to batch of a context.
    let again = MiStoreRegisterMem { memory_address: DATA + 128, ..store };
    client.run(&[again.pack().unwrap().to_vec(), end()].concat()).unwrap();
    assert_eq!(client.data(128), 7);
}

#[test]
fn a_fault_ends_a_context_that_does_not_recover() {
    let client = Client::new(false);
    let nowhere = MiStoreRegisterMem {
        register_address: 0x2600,
        memory_address: 0x5000_0000_0000,
        ..Default::default()
    };
    let faulty = [nowhere.pack().unwrap().to_vec(), end()].concat();
    assert_eq!(client.run(&faulty), Err(Errno::IO));
    let stats = client.reset_stats();
    assert_eq!((stats.batch_active, stats.batch_pending), (1, 0));
    assert_eq!(client.submit(&end()), Err(Errno::IO));
    let faults = client.file.device().faults();
    assert_eq!(faults.len(), 1);
    let fault = &faults[0].fault;
    assert_eq!(fault.packet, Some(BATCH));
    assert_eq!(fault.kind, JobFaultKind::Unbound, "{fault}");
}

#[test]
fn a_context_that_recovers_goes_on() {
    let client = Client::new(true);
    assert_eq!(client.run(&0xffff_ffffu32.to_le_bytes()), Err(Errno::IO));
    assert_eq!(client.run(&end()), Ok(()));
    assert_eq!(client.reset_stats().batch_active, 1);
}

#[test]
fn endless_batches_end() {
    let client = Client::new(true);
    let jump = MiBatchBufferStart {
        address_space_indicator: true,
        batch_buffer_start_address: BATCH,
        ..Default::default()
    };
    assert_eq!(client.run(&jump.pack().unwrap()), Err(Errno::IO));
    let wait = MiSemaphoreWait {
        compare_operation: SemaphoreCompare::SadEqualSdd,
        semaphore_data_dword: 1,
        semaphore_address: DATA,
        ..Default::default()
    };
    let waits = [wait.pack().unwrap().to_vec(), end()].concat();
    assert_eq!(client.run(&waits), Err(Errno::IO));
    let kinds: Vec<_> = client.file.device().faults().iter().map(|f| f.fault.kind).collect();
    assert_eq!(kinds, [tepui_intel_model::FaultKind::Endless; 2]);
    client.write(1, 0, &[1]);
    assert_eq!(client.run(&waits), Ok(()));
}

#[test]
fn bad_submissions_are_refused() {
    let client = Client::new(false);
    let good = ExecObject2 {
        handle: client.handles[0],
        offset: BATCH,
        flags: uapi::exec_object::PINNED | uapi::exec_object::SUPPORTS_48B_ADDRESS,
        ..Default::default()
    };
    let other = ExecObject2 { handle: client.handles[1], ..good };
    let try_with = |objects: &[ExecObject2], flags: u64| {
        let mut args = uapi::Execbuffer2 {
            buffers_ptr: objects.as_ptr() as u64,
            buffer_count: objects.len() as u32,
            flags,
            ..Default::default()
        };
        ask(&client.file, Ioctl::GemExecbuffer2.info().request, &mut args)
    };
    let bad = |change: &dyn Fn(&mut ExecObject2)| {
        let mut object = good;
        change(&mut object);
        try_with(&[object], 0)
    };
    assert_eq!(try_with(&[], 0), Err(Errno::INVAL));
    assert_eq!(try_with(&[good], 1 << 40), Err(Errno::INVAL));
    assert_eq!(try_with(&[good], uapi::exec::SECURE), Err(Errno::PERM));
    assert_eq!(try_with(&[good], 5), Err(Errno::INVAL), "no such ring");
    assert_eq!(try_with(&[good, good], 0), Err(Errno::INVAL), "a handle twice");
    assert_eq!(try_with(&[other, good], 0), Err(Errno::NOSPC), "an overlap");
    assert_eq!(bad(&|o| o.handle = 77), Err(Errno::NOENT));
    assert_eq!(bad(&|o| o.offset = 0x123), Err(Errno::INVAL));
    assert_eq!(bad(&|o| o.offset = 1 << 47), Err(Errno::INVAL), "not canonical");
    assert_eq!(bad(&|o| o.flags &= !uapi::exec_object::SUPPORTS_48B_ADDRESS), Err(Errno::INVAL));
    assert_eq!(bad(&|o| o.flags |= uapi::exec_object::WRITE), Err(Errno::INVAL));
    assert_eq!(bad(&|o| o.alignment = 3), Err(Errno::INVAL));
}

#[test]
fn a_closed_buffer_is_unbound() {
    let client = Client::new(false);
    client.run(&end()).unwrap();
    let mut close = drm::GemClose { handle: client.handles[1], ..Default::default() };
    ask(&client.file, drm::Ioctl::GemClose.info().request, &mut close).unwrap();
    assert_eq!(client.file.bindings(client.context), [(BATCH, 4096)]);
}
