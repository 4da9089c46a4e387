//! Execution of submissions: order, fences, timestamps, faults, closing.

mod client;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use client::*;
use tepui_agx_kernel::{Device, Execution, Observer, Options, Work};
use tepui_agx_model::{FaultKind, JobFault, JobStats};
use tepui_drm::Errno;
use tepui_drm::device::{Call, CallObserver, VirtualFile};
use tepui_drm::fence::Fence;
use tepui_drm::uapi::asahi::{self as uapi, Ioctl};
use tepui_drm::user::{ThisProcess, read_value};

#[test]
fn submissions_run_in_order_once_their_fences_have_signalled() {
    let (device, list) = recorder();
    let file = device.open();
    let queue = queue(&file, vm(&file));
    let (gate, line, done) = (syncobj(&file, false), syncobj(&file, false), syncobj(&file, false));
    let fence = Fence::new();
    file.core().syncobj(gate).unwrap().replace(Some(fence.clone()));
    let one = Commands::default().marked(1).marked(2);
    submit(&file, queue, &one, &[binary(gate)], &[point(line, 5)]).unwrap();
    submit(&file, queue, &Commands::default().marked(3), &[], &[binary(done)]).unwrap();
    assert_eq!(wait_until(&file, done, 0), Err(Errno::TIME));
    assert!(list.lock().unwrap().is_empty());
    fence.signal(Ok(()));
    wait(&file, done).unwrap();
    assert_eq!(*list.lock().unwrap(), [1, 2, 3]);
    assert_eq!(file.core().syncobj(line).unwrap().query(false), 5);
    // A queue that waits for a point of the first, and a second, independent queue.
    let other = client::queue(&file, vm(&file));
    submit(&file, other, &Commands::default().marked(4), &[point(line, 5)], &[binary(done)])
        .unwrap();
    wait(&file, done).unwrap();
    assert_eq!(list.lock().unwrap().len(), 4);
}

#[test]
fn a_failed_fence_does_not_hold_up_who_waits_for_it() {
    let (device, list) = recorder();
    let file = device.open();
    let queue = queue(&file, vm(&file));
    let (gate, done) = (syncobj(&file, false), syncobj(&file, false));
    let fence = Fence::new();
    fence.signal(Err(Errno::IO));
    file.core().syncobj(gate).unwrap().replace(Some(fence));
    submit(&file, queue, &Commands::default().marked(1), &[binary(gate)], &[binary(done)]).unwrap();
    wait(&file, done).unwrap();
    assert_eq!(*list.lock().unwrap(), [1]);
}

#[test]
fn the_gpu_sees_what_the_client_mapped() {
    let device = device(|vm, job| {
        let at = job.registers.ctrl_stream_base;
        let value = u32::from_le_bytes(vm.read_array(at).map_err(|f| fault(&f.to_string()))?);
        vm.write(at + 4, &(value + 1).to_le_bytes()).map_err(|f| fault(&f.to_string()))?;
        Ok(JobStats::default())
    });
    let file = device.open();
    let vm = vm(&file);
    let (queue, done) = (queue(&file, vm), syncobj(&file, false));
    let handle = gem(&file, PAGE);
    let op = uapi::GemBindOp {
        flags: uapi::BIND_READ | uapi::BIND_WRITE,
        handle,
        range: PAGE,
        addr: 1 << 37,
        ..Default::default()
    };
    let read_only = uapi::GemBindOp { flags: uapi::BIND_READ, addr: op.addr + (1 << 36), ..op };
    binds(&file, vm, &[op, read_only]).unwrap();
    let mut args = uapi::GemMmapOffset { handle, ..Default::default() };
    call(&file, Ioctl::GemMmapOffset, &mut args).unwrap();
    let memory = file.mapping(args.offset, PAGE).unwrap();
    let words = memory.base().cast::<u32>();
    // SAFETY: the buffer has a page, and nothing runs.
    unsafe { words.write(41) };
    submit(&file, queue, &Commands::default().marked(op.addr), &[], &[binary(done)]).unwrap();
    wait(&file, done).unwrap();
    // SAFETY: as above; the work is done.
    assert_eq!(unsafe { words.add(1).read() }, 42);
    // Through the mirror it can be read, but not written.
    submit(&file, queue, &Commands::default().marked(read_only.addr), &[], &[binary(done)])
        .unwrap();
    wait(&file, done).unwrap();
    assert_eq!(outcome(&file, done), Some(Err(Errno::IO)));
    let faults = device.faults();
    assert_eq!(
        faults[0].fault.what,
        "GPU fault: write of 0x3000000004: the binding does not permit it"
    );
}

#[test]
fn timestamps_are_written_around_each_command() {
    let device = recorder().0;
    let file = device.open();
    let (queue, done) = (queue(&file, vm(&file)), syncobj(&file, false));
    let handle = gem(&file, 2 * PAGE);
    let mut object = uapi::GemBindObject {
        flags: uapi::BIND_OBJECT_USAGE_TIMESTAMPS,
        handle,
        offset: PAGE,
        range: PAGE,
        ..Default::default()
    };
    call(&file, Ioctl::GemBindObject, &mut object).unwrap();
    let at = |offset| uapi::Timestamp { handle: object.object_handle, offset };
    let span = |offset| uapi::Timestamps { start: at(offset), end: at(offset + 8) };
    let compute = uapi::CmdCompute { ts: span(8), ..Default::default() };
    let drawn = uapi::CmdRender {
        ts_vtx: span(32),
        ts_frag: uapi::Timestamps { start: uapi::Timestamp::default(), end: at(48) },
        ..render()
    };
    let gem = file.core().gem(handle).unwrap();
    // SAFETY: the buffer has 2 pages.
    let word = |offset: usize| unsafe {
        gem.base().add(PAGE as usize + offset).cast::<u64>().read_volatile()
    };
    let mut time = uapi::GetTime::default();
    call(&file, Ioctl::GetTime, &mut time).unwrap();
    let commands = Commands::default().compute(compute).render(drawn);
    submit(&file, queue, &commands, &[], &[binary(done)]).unwrap();
    wait(&file, done).unwrap();
    let before = u128::from(time.gpu_timestamp) * 24_000_000 / 1_000_000_000;
    let stamps: Vec<u64> = [8, 16, 32, 40, 48].map(word).to_vec();
    assert!(u128::from(stamps[0]) >= before, "{stamps:?} after {before}");
    assert!(stamps.is_sorted(), "{stamps:?}");
    assert_eq!([word(0), word(24), word(56)], [0; 3], "nothing else is touched");
    // The memory stays while the object does, and the object goes with its handle.
    gem_close(&file, handle).unwrap();
    submit(&file, queue, &commands, &[], &[binary(done)]).unwrap();
    wait(&file, done).unwrap();
    assert!(word(8) > stamps[0]);
}

#[test]
fn a_fault_loses_the_queue_and_no_other() {
    let device = device(|_, job| match job.registers.ctrl_stream_base {
        13 => Err(fault("unlucky")),
        _ => Ok(JobStats::default()),
    });
    let file = device.open();
    let vm = vm(&file);
    let (lost, fine) = (queue(&file, vm), queue(&file, vm));
    let (gate, bad, after, late) = (
        syncobj(&file, false),
        syncobj(&file, false),
        syncobj(&file, false),
        syncobj(&file, false),
    );
    let fence = Fence::new();
    file.core().syncobj(gate).unwrap().replace(Some(fence.clone()));
    let commands = Commands::default().marked(1).marked(13).marked(2);
    submit(&file, lost, &commands, &[binary(gate)], &[binary(bad)]).unwrap();
    submit(&file, lost, &Commands::default().marked(3), &[], &[binary(after)]).unwrap();
    fence.signal(Ok(()));
    // Waiting ends well: a wait says that the work is over, not how.
    wait(&file, bad).unwrap();
    assert_eq!(outcome(&file, bad), Some(Err(Errno::IO)));
    wait(&file, after).unwrap();
    assert_eq!(outcome(&file, after), Some(Err(Errno::CANCELED)));
    let submission = Commands::default().marked(4);
    assert_eq!(submit(&file, lost, &submission, &[], &[binary(late)]), Err(Errno::IO));
    // A client that overlooks the error does not hang.
    assert_eq!(outcome(&file, late), Some(Err(Errno::CANCELED)));
    submit(&file, fine, &submission, &[], &[binary(late)]).unwrap();
    wait(&file, late).unwrap();
    assert_eq!(outcome(&file, late), Some(Ok(())));
    let [record] = &device.faults()[..] else { panic!() };
    assert_eq!((record.file, record.queue, record.submission, record.command), (1, lost, 1, 1));
    assert_eq!((record.kind, record.fault.what.as_str()), ("compute", "unlucky"));
}

#[test]
fn a_panic_of_the_model_is_a_fault() {
    let device = device(|_, _| panic!("index out of bounds"));
    let file = device.open();
    let (queue, done) = (queue(&file, vm(&file)), syncobj(&file, false));
    submit(&file, queue, &Commands::default().marked(1), &[], &[binary(done)]).unwrap();
    wait(&file, done).unwrap();
    assert_eq!(outcome(&file, done), Some(Err(Errno::IO)));
    let fault = &device.faults()[0].fault;
    assert_eq!(fault.kind, FaultKind::Panic);
    assert!(fault.what.ends_with("index out of bounds"), "{fault}");
}

#[test]
fn closing_a_file_cancels_what_has_not_started_and_frees_all() {
    let device = recorder().0;
    let file = device.open();
    let vm = vm(&file);
    let queue = queue(&file, vm);
    let (gate, done) = (syncobj(&file, false), syncobj(&file, false));
    file.core().syncobj(gate).unwrap().replace(Some(Fence::new()));
    let handle = gem(&file, PAGE);
    let op = uapi::GemBindOp {
        flags: uapi::BIND_READ,
        handle,
        range: PAGE,
        addr: 1 << 37,
        ..Default::default()
    };
    bind(&file, vm, op).unwrap();
    let memory = Arc::downgrade(&file.core().gem(handle).unwrap());
    let fence = {
        submit(&file, queue, &Commands::default().marked(1), &[binary(gate)], &[binary(done)])
            .unwrap();
        file.core().fence(done, 0).unwrap()
    };
    assert_eq!(fence.outcome(), None);
    drop(file);
    assert_eq!(fence.wait(), Err(Errno::CANCELED));
    assert!(memory.upgrade().is_none());
}

#[test]
fn closing_a_file_ends_queues_that_were_destroyed_before() {
    let device = recorder().0;
    let file = device.open();
    let queue = queue(&file, vm(&file));
    let (gate, done) = (syncobj(&file, false), syncobj(&file, false));
    file.core().syncobj(gate).unwrap().replace(Some(Fence::new()));
    submit(&file, queue, &Commands::default().marked(1), &[binary(gate)], &[binary(done)]).unwrap();
    call(&file, Ioctl::QueueDestroy, &mut uapi::QueueDestroy { queue_id: queue, pad: 0 }).unwrap();
    let fence = file.core().fence(done, 0).unwrap();
    assert_eq!(fence.outcome(), None);
    drop(file);
    assert_eq!(fence.wait(), Err(Errno::CANCELED));
}

/// Panics when a command starts.
struct Clumsy;

impl CallObserver for Clumsy {}

impl Observer for Clumsy {
    fn starting(&self, _: &Execution<'_>) {
        panic!("an observer's bug");
    }
}

#[test]
fn a_panic_of_an_observer_leaves_nobody_waiting() {
    let options = Options { observer: Some(Arc::new(Clumsy)), ..quiet() };
    let gpu = Steered(Box::new(|_, _| Ok(JobStats::default())));
    let device =
        Device::with_executor(tepui_agx_chips::chip("m1").unwrap(), options, Box::new(gpu));
    let file = device.open();
    let (queue, done) = (queue(&file, vm(&file)), syncobj(&file, false));
    submit(&file, queue, &Commands::default().marked(1), &[], &[binary(done)]).unwrap();
    wait(&file, done).unwrap();
    assert_eq!(outcome(&file, done), Some(Err(Errno::IO)));
}

#[test]
fn a_destroyed_queue_finishes_what_it_was_given() {
    let (device, list) = recorder();
    let file = device.open();
    let queue = queue(&file, vm(&file));
    let (gate, done) = (syncobj(&file, false), syncobj(&file, false));
    let fence = Fence::new();
    file.core().syncobj(gate).unwrap().replace(Some(fence.clone()));
    submit(&file, queue, &Commands::default().marked(1), &[binary(gate)], &[binary(done)]).unwrap();
    call(&file, Ioctl::QueueDestroy, &mut uapi::QueueDestroy { queue_id: queue, pad: 0 }).unwrap();
    fence.signal(Ok(()));
    wait(&file, done).unwrap();
    assert_eq!(*list.lock().unwrap(), [1]);
}

#[test]
fn memory_that_is_unbound_under_a_running_job_outlives_it() {
    let (started, is_started) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let may_go = Mutex::new(may_go);
    let device = device(move |vm, job| {
        let at = job.registers.ctrl_stream_base;
        let host =
            vm.translate(at, tepui_softgpu::Access::Write).map_err(|f| fault(&f.to_string()))?;
        started.send(()).unwrap();
        may_go.lock().unwrap().recv().unwrap();
        // SAFETY: a translation stays valid while the job runs, whatever is unbound.
        unsafe { host.write_volatile(1) };
        Ok(JobStats::default())
    });
    let file = device.open();
    let vm = vm(&file);
    let (queue, done) = (queue(&file, vm), syncobj(&file, false));
    let handle = gem(&file, PAGE);
    let op = uapi::GemBindOp {
        flags: uapi::BIND_WRITE,
        handle,
        range: PAGE,
        addr: 1 << 37,
        ..Default::default()
    };
    bind(&file, vm, op).unwrap();
    submit(&file, queue, &Commands::default().marked(op.addr), &[], &[binary(done)]).unwrap();
    is_started.recv().unwrap();
    gem_close(&file, handle).unwrap();
    go.send(()).unwrap();
    wait(&file, done).unwrap();
    assert_eq!(outcome(&file, done), Some(Ok(())));
}

#[test]
fn memory_is_released_once_it_is_neither_bound_nor_held() {
    const MARK: u64 = 0x7465_7075_695f_626f;
    let device = recorder().0;
    let file = device.open();
    let vm_id = vm(&file);
    let (queue, done) = (queue(&file, vm_id), syncobj(&file, false));
    let holds_mark = |address: u64| {
        // SAFETY: nothing is written.
        let user = unsafe { ThisProcess::new() };
        read_value::<u64>(&user, address) == Ok(MARK)
    };
    for rebind in [false, true] {
        let handle = gem(&file, PAGE);
        let address = file.core().gem(handle).unwrap().base() as u64;
        // SAFETY: the buffer has a page, and nothing runs.
        unsafe { (address as *mut u64).write(MARK) };
        let op = uapi::GemBindOp {
            flags: uapi::BIND_READ,
            handle,
            range: PAGE,
            addr: 1 << 37,
            ..Default::default()
        };
        bind(&file, vm_id, op).unwrap();
        submit(&file, queue, &Commands::default().marked(1), &[], &[binary(done)]).unwrap();
        wait(&file, done).unwrap();
        assert!(holds_mark(address));
        if rebind {
            // Something else in its place, while the handle keeps the buffer.
            bind(&file, vm_id, uapi::GemBindOp { handle: gem(&file, PAGE), ..op }).unwrap();
            assert!(holds_mark(address));
        }
        gem_close(&file, handle).unwrap();
        assert!(!holds_mark(address), "rebind {rebind}");
    }
}

/// Notes what it sees.
#[derive(Default)]
struct Watcher {
    calls: Mutex<Vec<(&'static str, Result<u32, Errno>)>>,
    executions: Mutex<Vec<(u64, usize, u64, bool)>>,
    open: AtomicUsize,
    entered: AtomicBool,
}

impl CallObserver for Watcher {
    fn opened(&self, _: u64) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }
    fn entered(&self, call: &Call<'_>) {
        assert_eq!(call.before.len(), call.request.size());
        self.entered.store(true, Ordering::Relaxed);
    }
    fn answered(&self, call: &Call<'_>, after: &[u8], result: Result<u32, Errno>) {
        assert_eq!(after.len(), call.before.len());
        let name = call.info.map_or("?", |info| info.name);
        self.calls.lock().unwrap().push((name, result));
    }
    fn closed(&self, _: u64) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Observer for Watcher {
    fn starting(&self, execution: &Execution<'_>) {
        let at = match execution.work {
            Work::Compute(job) => job.registers.ctrl_stream_base,
            Work::Render(job) => job.vdm_ctrl_stream_base,
        };
        let mapped = execution.vm.mappings().len() == 1;
        self.executions.lock().unwrap().push((execution.submission, execution.command, at, mapped));
    }
    fn finished(&self, _: &Execution<'_>, result: &Result<JobStats, JobFault>) {
        let faulted = result.is_err();
        self.executions.lock().unwrap().push((0, 0, 0, faulted));
    }
}

#[test]
fn an_observer_sees_calls_and_executions() {
    let watcher = Arc::new(Watcher::default());
    let options = Options { observer: Some(watcher.clone()), ..quiet() };
    let gpu = Steered(Box::new(|_, _| Err(fault("no"))));
    let device =
        Device::with_executor(tepui_agx_chips::chip("m2").unwrap(), options, Box::new(gpu));
    let file = device.open();
    assert_eq!(watcher.open.load(Ordering::Relaxed), 1);
    let vm = vm(&file);
    let (queue, done) = (queue(&file, vm), syncobj(&file, false));
    let op = uapi::GemBindOp {
        flags: uapi::BIND_WRITE,
        handle: gem(&file, PAGE),
        range: PAGE,
        addr: 1 << 37,
        ..Default::default()
    };
    bind(&file, vm, op).unwrap();
    let commands = Commands::default().render(render()).marked(7);
    submit(&file, queue, &commands, &[], &[binary(done)]).unwrap();
    assert!(outcome(&file, done).is_some(), "the client goes on while its work is recorded");
    wait(&file, done).unwrap();
    assert_eq!(submit(&file, 9, &commands, &[], &[]), Err(Errno::NOENT));
    assert_eq!(
        *watcher.executions.lock().unwrap(),
        [(1, 0, 0, true), (0, 0, 0, false), (1, 1, 7, true), (0, 0, 0, true)]
    );
    let calls = watcher.calls.lock().unwrap();
    let names: Vec<_> =
        calls.iter().map(|(name, _)| name.trim_start_matches("DRM_IOCTL_")).collect();
    assert_eq!(
        names,
        [
            "ASAHI_VM_CREATE",
            "ASAHI_QUEUE_CREATE",
            "SYNCOBJ_CREATE",
            "ASAHI_GEM_CREATE",
            "ASAHI_VM_BIND",
            "ASAHI_SUBMIT",
            "SYNCOBJ_WAIT",
            "ASAHI_SUBMIT",
        ]
    );
    assert_eq!(calls.last().unwrap().1, Err(Errno::NOENT));
    drop(calls);
    drop(file);
    assert_eq!(watcher.open.load(Ordering::Relaxed), 0);
    assert!(watcher.entered.load(Ordering::Relaxed));
}

#[test]
fn the_model_executes_or_names_what_it_does_not() {
    let device = Device::new(tepui_agx_chips::chip("m1").unwrap(), quiet());
    let file = device.open();
    let vm = vm(&file);
    let done = syncobj(&file, false);
    let handle = gem(&file, PAGE);
    let op = uapi::GemBindOp {
        flags: uapi::BIND_READ,
        handle,
        range: PAGE,
        addr: 1 << 37,
        ..Default::default()
    };
    bind(&file, vm, op).unwrap();
    // CDM stream terminate. source: cmdbuf.xml, "CDM Stream Terminate"
    let gem = file.core().gem(handle).unwrap();
    // SAFETY: the buffer has a page, and nothing runs.
    unsafe { gem.base().cast::<u32>().write(2 << 29) };
    let empty = Commands::default().marked(op.addr);
    submit(&file, queue(&file, vm), &empty, &[], &[binary(done)]).unwrap();
    wait(&file, done).unwrap();
    match outcome(&file, done) {
        Some(Ok(())) => {}
        _ => assert_eq!(device.faults()[0].fault.kind, FaultKind::Unimplemented),
    }
    // A stream in memory that is not bound is a fault in any case.
    let faults = device.faults().len();
    let astray = Commands::default().marked(1 << 38);
    submit(&file, queue(&file, vm), &astray, &[], &[binary(done)]).unwrap();
    wait(&file, done).unwrap();
    assert_eq!(outcome(&file, done), Some(Err(Errno::IO)));
    assert_eq!(device.faults().len(), faults + 1);
}
