//! The core's requests as a client makes them: arguments, errors, waits across threads.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use tepui_drm::core::{CoreDevice, CoreFile, DriverInfo};
use tepui_drm::gem::{Backing, Gem};
use tepui_drm::uapi::core::{self as uapi, Ioctl};
use tepui_drm::uapi::{KernelStruct, Request};
use tepui_drm::user::ThisProcess;
use tepui_drm::{Errno, dma_buf, monotonic_ns, sync_file};

/// A buffer that is only a file.
struct Bytes(OwnedFd, u64);

impl Backing for Bytes {
    fn size(&self) -> u64 {
        self.1
    }
    fn base(&self) -> *mut u8 {
        std::ptr::null_mut()
    }
    fn file(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }
}

fn device() -> Arc<CoreDevice> {
    Arc::new(CoreDevice::new(DriverInfo {
        name: "test",
        description: "a test",
        version: [1, 2, 3],
    }))
}

fn open(device: &Arc<CoreDevice>) -> CoreFile {
    CoreFile::new(device.clone(), |fd, size| Ok(Box::new(Bytes(fd, size))))
}

fn buffer(file: &CoreFile, size: u64) -> (u32, Arc<Gem>) {
    let fd = rustix::fs::memfd_create("tepui-bo-test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&fd, size).unwrap();
    let gem = file.device().buffers.create(Box::new(Bytes(fd, size)));
    (file.handle(gem.clone()), gem)
}

fn call<T: KernelStruct>(file: &CoreFile, ioctl: Ioctl, args: &mut T) -> Result<(), Errno> {
    // SAFETY: the pointers are those of the tests, valid or null.
    let user = unsafe { ThisProcess::new() };
    file.ioctl(&user, ioctl.info().request, bytemuck::bytes_of_mut(args))
}

fn syncobj(file: &CoreFile, signaled: bool) -> u32 {
    let mut args = uapi::SyncobjCreate { flags: signaled.into(), ..Default::default() };
    call(file, Ioctl::SyncobjCreate, &mut args).unwrap();
    args.handle
}

fn wait(file: &CoreFile, handles: &[u32], flags: u32, timeout_ns: i64) -> Result<u32, Errno> {
    let mut args = uapi::SyncobjWait {
        handles: handles.as_ptr() as u64,
        timeout_nsec: timeout_ns,
        count_handles: handles.len() as u32,
        flags,
        ..Default::default()
    };
    call(file, Ioctl::SyncobjWait, &mut args).map(|()| args.first_signaled)
}

fn wait_points(
    file: &CoreFile,
    points: &[(u32, u64)],
    flags: u32,
    timeout_ns: i64,
) -> Result<u32, Errno> {
    let (handles, points): (Vec<u32>, Vec<u64>) = points.iter().copied().unzip();
    let mut args = uapi::SyncobjTimelineWait {
        handles: handles.as_ptr() as u64,
        points: points.as_ptr() as u64,
        timeout_nsec: timeout_ns,
        count_handles: handles.len() as u32,
        flags,
        ..Default::default()
    };
    call(file, Ioctl::SyncobjTimelineWait, &mut args).map(|()| args.first_signaled)
}

fn array(file: &CoreFile, ioctl: Ioctl, handles: &[u32]) -> Result<(), Errno> {
    let mut args = uapi::SyncobjArray {
        handles: handles.as_ptr() as u64,
        count_handles: handles.len() as u32,
        ..Default::default()
    };
    call(file, ioctl, &mut args)
}

fn signal_point(file: &CoreFile, handle: u32, point: u64) {
    let mut args = uapi::SyncobjTimelineArray {
        handles: (&raw const handle) as u64,
        points: (&raw const point) as u64,
        count_handles: 1,
        ..Default::default()
    };
    call(file, Ioctl::SyncobjTimelineSignal, &mut args).unwrap();
}

fn query(file: &CoreFile, handle: u32, flags: u32) -> u64 {
    let mut point = 0u64;
    let mut args = uapi::SyncobjTimelineArray {
        handles: (&raw const handle) as u64,
        points: (&raw mut point) as u64,
        count_handles: 1,
        flags,
    };
    call(file, Ioctl::SyncobjQuery, &mut args).unwrap();
    point
}

fn transfer(file: &CoreFile, from: (u32, u64), to: (u32, u64)) -> Result<(), Errno> {
    let mut args = uapi::SyncobjTransfer {
        src_handle: from.0,
        src_point: from.1,
        dst_handle: to.0,
        dst_point: to.1,
        ..Default::default()
    };
    call(file, Ioctl::SyncobjTransfer, &mut args)
}

const ALL: u32 = 1;
const FOR_SUBMIT: u32 = 2;
const AVAILABLE: u32 = 4;

#[test]
fn version_copies_what_fits_and_tells_the_length() {
    let file = open(&device());
    let mut name = *b"??????";
    let mut args =
        uapi::Version { name_len: 2, name: name.as_mut_ptr() as u64, ..Default::default() };
    call(&file, Ioctl::Version, &mut args).unwrap();
    assert_eq!(&name, b"te????");
    assert_eq!((args.name_len, args.date_len, args.desc_len), (4, 1, 6));
    assert_eq!((args.version_major, args.version_minor, args.version_patchlevel), (1, 2, 3));
    let mut args = uapi::Version { name_len: 9, name: 8, ..Default::default() };
    assert_eq!(call(&file, Ioctl::Version, &mut args), Err(Errno::FAULT));
}

#[test]
fn unknown_and_primary_requests_are_told_apart() {
    let file = open(&device());
    // SAFETY: no pointers.
    let user = unsafe { ThisProcess::new() };
    let ask = |nr| {
        let request = Request::new(tepui_drm::uapi::Direction::ReadWrite, nr, 8);
        file.ioctl(&user, request, &mut [0; 8])
    };
    assert_eq!(ask(0x02), Err(Errno::ACCESS), "GET_MAGIC");
    assert_eq!(ask(0xa0), Err(Errno::ACCESS), "MODE_GETRESOURCES");
    assert_eq!(ask(0xff), Err(Errno::INVAL));
    assert_eq!(ask(0x40), Err(Errno::INVAL), "a driver's own");
}

#[test]
fn capabilities() {
    let file = open(&device());
    let ask = |capability| {
        let mut args = uapi::GetCap { capability, value: 99 };
        call(&file, Ioctl::GetCap, &mut args).map(|()| args.value)
    };
    assert_eq!(ask(0x5), Ok(3), "PRIME");
    assert_eq!(ask(0x13), Ok(1), "SYNCOBJ");
    assert_eq!(ask(0x14), Ok(1), "SYNCOBJ_TIMELINE");
    assert_eq!(ask(0x1), Err(Errno::OPNOTSUPP), "DUMB_BUFFER");
    assert_eq!(ask(0x99), Err(Errno::OPNOTSUPP));
}

#[test]
fn client_names_are_graphic_and_short() {
    let file = open(&device());
    let name = |text: &[u8]| {
        let mut args =
            uapi::SetClientName { name_len: text.len() as u64, name: text.as_ptr() as u64 };
        call(&file, Ioctl::SetClientName, &mut args)
    };
    assert_eq!(name(b"glmark2"), Ok(()));
    assert_eq!(file.client_name(), "glmark2");
    assert_eq!(name(b"two words"), Err(Errno::INVAL));
    assert_eq!(name(&[b'a'; 65]), Err(Errno::INVAL));
    assert_eq!(file.client_name(), "glmark2");
    assert_eq!(name(b""), Ok(()));
    assert_eq!(file.client_name(), "");
}

#[test]
fn handles_are_given_back_moved_and_never_shared_between_files() {
    let device = device();
    let (one, other) = (open(&device), open(&device));
    let (handle, gem) = buffer(&one, 4096);
    assert_eq!(handle, 1);
    assert_eq!(other.gem(handle).err(), Some(Errno::NOENT));
    let change = |from, to| {
        let mut args = uapi::GemChangeHandle { handle: from, new_handle: to };
        call(&one, Ioctl::GemChangeHandle, &mut args)
    };
    assert_eq!(change(2, 3), Err(Errno::NOENT));
    assert_eq!(change(1, 0), Err(Errno::INVAL));
    assert_eq!(change(1, u32::MAX), Err(Errno::INVAL));
    assert_eq!(change(1, 1), Ok(()));
    assert_eq!(change(1, 7), Ok(()));
    let (second, _) = buffer(&one, 4096);
    assert_eq!(change(second, 7), Err(Errno::NOSPC));
    assert_eq!(one.gem(1).map(|gem| gem.size()), Ok(4096), "the second took the free number");
    assert!(Arc::ptr_eq(&one.gem(7).unwrap(), &gem));
    let close = |handle| {
        let mut args = uapi::GemClose { handle, pad: 0 };
        call(&one, Ioctl::GemClose, &mut args)
    };
    assert_eq!(close(7), Ok(()));
    assert_eq!(close(7), Err(Errno::INVAL));
    assert_eq!(one.gem_count(), 1);
}

#[test]
fn buffers_travel_as_descriptors() {
    let device = device();
    let (one, other) = (open(&device), open(&device));
    let (handle, gem) = buffer(&one, 8192);
    let export = |flags| {
        let mut args = uapi::PrimeHandle { handle, flags, fd: -1 };
        call(&one, Ioctl::PrimeHandleToFd, &mut args).map(|()| args.fd)
    };
    assert_eq!(export(1), Err(Errno::INVAL));
    let fd = export((libc::O_CLOEXEC | libc::O_RDWR) as u32).unwrap();
    // SAFETY: fresh from the export.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    assert_eq!(rustix::io::fcntl_getfd(&fd), Ok(rustix::io::FdFlags::CLOEXEC));
    assert_eq!(rustix::fs::seek(&fd, rustix::fs::SeekFrom::End(0)), Ok(8192), "tells its size");
    let import = |file: &CoreFile, fd| {
        let mut args = uapi::PrimeHandle { fd, ..Default::default() };
        call(file, Ioctl::PrimeFdToHandle, &mut args).map(|()| args.handle)
    };
    assert_eq!(import(&one, fd.as_raw_fd()), Ok(handle), "the handle it has already");
    let there = import(&other, fd.as_raw_fd()).unwrap();
    assert!(Arc::ptr_eq(&other.gem(there).unwrap(), &gem));
    // Closed and imported again, in the same file: a handle that works.
    call(&one, Ioctl::GemClose, &mut uapi::GemClose { handle, pad: 0 }).unwrap();
    let (filler, _) = buffer(&one, 4096);
    assert_eq!(filler, handle);
    let again = import(&one, fd.as_raw_fd()).unwrap();
    assert!(Arc::ptr_eq(&one.gem(again).unwrap(), &gem));
    assert_eq!(import(&other, -1), Err(Errno::BADF));
    let null = std::fs::File::open("/dev/null").unwrap();
    assert_eq!(import(&other, null.as_raw_fd()), Err(Errno::INVAL));
    // A buffer of another process, or whose object has gone, is made anew.
    drop((one, other, gem));
    let third = open(&device);
    let handle = import(&third, fd.as_raw_fd()).unwrap();
    assert_eq!(third.gem(handle).unwrap().size(), 8192);
    assert_eq!(import(&third, fd.as_raw_fd()), Ok(handle));
}

#[test]
fn mappings_are_exact_and_private_to_files_with_a_handle() {
    let device = device();
    let (one, other) = (open(&device), open(&device));
    let (_, gem) = buffer(&one, 0x8000);
    assert_eq!(one.mapping(gem.map_offset(), 0x8000).err(), Some(Errno::INVAL), "not asked for");
    let offset = device.buffers.make_mappable(&gem);
    assert!(offset >= 1 << 32);
    assert!(Arc::ptr_eq(&one.mapping(offset, 0x8000).unwrap(), &gem));
    assert!(one.mapping(offset, 0x1000).is_ok());
    assert_eq!(one.mapping(offset, 0x9000).err(), Some(Errno::INVAL));
    assert_eq!(one.mapping(offset + 0x1000, 0x1000).err(), Some(Errno::INVAL));
    assert_eq!(other.mapping(offset, 0x8000).err(), Some(Errno::ACCESS));
}

#[test]
fn sync_object_arguments_are_checked() {
    let file = open(&device());
    let object = syncobj(&file, true);
    let create = |flags| {
        let mut args = uapi::SyncobjCreate { flags, ..Default::default() };
        call(&file, Ioctl::SyncobjCreate, &mut args)
    };
    assert_eq!(create(2), Err(Errno::INVAL));
    let destroy =
        |handle, pad| call(&file, Ioctl::SyncobjDestroy, &mut uapi::SyncobjDestroy { handle, pad });
    assert_eq!(destroy(object, 1), Err(Errno::INVAL));
    assert_eq!(destroy(99, 0), Err(Errno::INVAL));

    assert_eq!(wait(&file, &[object], 16, 0), Err(Errno::INVAL), "unknown flag");
    assert_eq!(wait(&file, &[object], AVAILABLE, 0), Err(Errno::INVAL), "not for binary waits");
    assert_eq!(wait(&file, &[object, 99], 0, 0), Err(Errno::NOENT));
    assert_eq!(wait(&file, &[], 0, 0), Ok(0));
    assert_eq!(wait_points(&file, &[(object, 0)], 16, 0), Err(Errno::INVAL));
    let mut args = uapi::SyncobjWait { count_handles: 1, handles: 8, ..Default::default() };
    assert_eq!(call(&file, Ioctl::SyncobjWait, &mut args), Err(Errno::FAULT));
    let mut args = uapi::SyncobjWait { pad: 1, ..Default::default() };
    assert_eq!(call(&file, Ioctl::SyncobjWait, &mut args), Err(Errno::INVAL));

    for ioctl in [Ioctl::SyncobjReset, Ioctl::SyncobjSignal] {
        assert_eq!(array(&file, ioctl, &[]), Err(Errno::INVAL));
        assert_eq!(array(&file, ioctl, &[99]), Err(Errno::NOENT));
        let mut args = uapi::SyncobjArray { pad: 1, count_handles: 1, handles: 8 };
        assert_eq!(call(&file, ioctl, &mut args), Err(Errno::INVAL));
    }
    for (ioctl, flags) in [(Ioctl::SyncobjTimelineSignal, 1), (Ioctl::SyncobjQuery, 2)] {
        let mut args = uapi::SyncobjTimelineArray { flags, count_handles: 1, ..Default::default() };
        assert_eq!(call(&file, ioctl, &mut args), Err(Errno::INVAL));
        let mut args = uapi::SyncobjTimelineArray::default();
        assert_eq!(call(&file, ioctl, &mut args), Err(Errno::INVAL), "no objects");
    }
    let mut args = uapi::SyncobjTransfer { flags: 1, ..Default::default() };
    assert_eq!(call(&file, Ioctl::SyncobjTransfer, &mut args), Err(Errno::INVAL));
    assert_eq!(transfer(&file, (object, 0), (99, 0)), Err(Errno::NOENT));
    assert_eq!(transfer(&file, (99, 0), (object, 0)), Err(Errno::NOENT));
    let empty = syncobj(&file, false);
    assert_eq!(transfer(&file, (empty, 0), (object, 0)), Err(Errno::INVAL));
    assert_eq!(
        transfer(&file, (object, 1), (empty, 0)),
        Err(Errno::INVAL),
        "a binary has no points"
    );
    assert_eq!(file.syncobj_count(), 2);
}

#[test]
fn a_missing_fence_is_an_error_unless_it_is_waited_for() {
    let file = open(&device());
    let (empty, full) = (syncobj(&file, false), syncobj(&file, true));
    assert_eq!(wait(&file, &[full, empty], 0, 0), Err(Errno::INVAL));
    assert_eq!(wait(&file, &[empty, full], FOR_SUBMIT, 0), Ok(1));
    assert_eq!(wait(&file, &[empty, full], FOR_SUBMIT | ALL, 0), Err(Errno::TIME));
    assert_eq!(wait(&file, &[empty], FOR_SUBMIT, i64::MIN), Err(Errno::TIME));
    array(&file, Ioctl::SyncobjSignal, &[empty]).unwrap();
    assert_eq!(wait(&file, &[empty, full], ALL, 0), Ok(0));
    array(&file, Ioctl::SyncobjReset, &[full]).unwrap();
    assert_eq!(wait(&file, &[full], 0, 0), Err(Errno::INVAL));
}

/// Waits for a point and for a binary object are one request. A handle that was never created fails it,
/// whatever the flags: nothing is there that could be submitted later.
#[test]
fn a_timeline_wait_takes_binary_objects_and_refuses_unknown_handles() {
    let file = open(&device());
    let (line, empty, full) = (syncobj(&file, false), syncobj(&file, false), syncobj(&file, true));
    signal_point(&file, line, 2);
    let all_pending = ALL | FOR_SUBMIT | AVAILABLE;
    assert_eq!(wait_points(&file, &[(line, 2), (full, 0)], all_pending, 0), Ok(0));
    assert_eq!(wait_points(&file, &[(line, 2), (empty, 0)], all_pending, 0), Err(Errno::TIME));
    assert_eq!(wait_points(&file, &[(line, 3), (full, 0)], all_pending, 0), Err(Errno::TIME));
    for unknown in [0, 99, u32::MAX] {
        for flags in [0, FOR_SUBMIT, AVAILABLE, all_pending] {
            let points = [(line, 2), (unknown, 0)];
            assert_eq!(
                wait_points(&file, &points, flags, 0),
                Err(Errno::NOENT),
                "{unknown} {flags}"
            );
        }
    }
}

#[test]
fn timelines_signal_in_order() {
    let file = open(&device());
    let (line, gate) = (syncobj(&file, false), syncobj(&file, false));
    signal_point(&file, line, 3);
    assert_eq!(query(&file, line, 0), 3);
    assert_eq!(wait_points(&file, &[(line, 2)], 0, 0), Ok(0));
    assert_eq!(wait_points(&file, &[(line, 4)], 0, 0), Err(Errno::INVAL));
    assert_eq!(wait_points(&file, &[(line, 4)], FOR_SUBMIT, 0), Err(Errno::TIME));
    assert_eq!(wait_points(&file, &[(line, 4)], AVAILABLE, 0), Err(Errno::TIME));
    // Point 5 hangs on a fence that is pending: the fence of `gate` at 1, of a transfer that came
    // from an unfinished submission.
    let pending = tepui_drm::fence::Fence::new();
    file.syncobj(gate).unwrap().replace(Some(pending.clone()));
    transfer(&file, (gate, 0), (line, 5)).unwrap();
    signal_point(&file, line, 6);
    assert_eq!(query(&file, line, 0), 3, "6 is done, but 5 is not");
    assert_eq!(query(&file, line, 1), 6);
    assert_eq!(wait_points(&file, &[(line, 6)], 0, 0), Err(Errno::TIME));
    assert_eq!(wait_points(&file, &[(line, 6)], AVAILABLE, 0), Ok(0));
    assert_eq!(wait_points(&file, &[(line, 0)], 0, 0), Err(Errno::TIME), "0 is the last point");
    pending.signal(Ok(()));
    assert_eq!(query(&file, line, 0), 6);
    assert_eq!(wait_points(&file, &[(line, 6), (line, 4)], ALL, 0), Ok(0));
    // A point that is not above the last stands for all before it.
    let late = tepui_drm::fence::Fence::new();
    file.syncobj(gate).unwrap().replace(Some(late.clone()));
    transfer(&file, (gate, 0), (line, 2)).unwrap();
    assert_eq!(query(&file, line, 1), 6);
    assert_eq!(wait_points(&file, &[(line, 6)], 0, 0), Err(Errno::TIME));
    late.signal(Ok(()));
    assert_eq!(query(&file, line, 0), 6);
    // An early point does not wait for later ones.
    let [early, later] = [tepui_drm::fence::Fence::new(), tepui_drm::fence::Fence::new()];
    for (point, fence) in [(10, &early), (20, &later)] {
        file.syncobj(line).unwrap().add_point(point, fence.clone());
    }
    early.signal(Ok(()));
    assert_eq!(wait_points(&file, &[(line, 10)], 0, 0), Ok(0));
    assert_eq!(file.fence(line, 10).unwrap().outcome(), Some(Ok(())));
    assert_eq!(wait_points(&file, &[(line, 11)], 0, 0), Err(Errno::TIME));
    // Again while both are pending: the fence of the first covers only itself.
    let [early, last] = [tepui_drm::fence::Fence::new(), tepui_drm::fence::Fence::new()];
    later.signal(Ok(()));
    for (point, fence) in [(30, &early), (40, &last)] {
        file.syncobj(line).unwrap().add_point(point, fence.clone());
    }
    let first = file.fence(line, 30).unwrap();
    early.signal(Ok(()));
    assert_eq!(first.outcome(), Some(Ok(())));
    assert_eq!(query(&file, line, 0), 30);
    // A binary fence replaces the timeline.
    array(&file, Ioctl::SyncobjSignal, &[line]).unwrap();
    assert_eq!(query(&file, line, 0), 0);
}

#[test]
fn waits_cross_threads() {
    let file = open(&device());
    let (a, b, line) = (syncobj(&file, false), syncobj(&file, false), syncobj(&file, false));
    let for_ever = i64::MAX;
    std::thread::scope(|scope| {
        let any = scope.spawn(|| wait(&file, &[a, b], FOR_SUBMIT, for_ever));
        let all = scope.spawn(|| wait(&file, &[a, b], FOR_SUBMIT | ALL, for_ever));
        let point = scope.spawn(|| wait_points(&file, &[(line, 7)], AVAILABLE, for_ever));
        let moved = scope.spawn(|| {
            let mut args = uapi::SyncobjTransfer {
                src_handle: line,
                src_point: 7,
                dst_handle: b,
                flags: FOR_SUBMIT,
                ..Default::default()
            };
            call(&file, Ioctl::SyncobjTransfer, &mut args)
        });
        array(&file, Ioctl::SyncobjSignal, &[a]).unwrap();
        assert_eq!(any.join().unwrap(), Ok(0));
        assert!(!all.is_finished());
        signal_point(&file, line, 9);
        assert_eq!(point.join().unwrap(), Ok(0));
        assert_eq!(moved.join().unwrap(), Ok(()));
        assert_eq!(all.join().unwrap(), Ok(0));
    });
}

#[test]
fn deadlines_are_absolute_and_monotonic() {
    let file = open(&device());
    let empty = syncobj(&file, false);
    let deadline = monotonic_ns() as i64 + 30_000_000;
    assert_eq!(wait(&file, &[empty], FOR_SUBMIT, deadline), Err(Errno::TIME));
    assert!(monotonic_ns() as i64 >= deadline);
}

#[test]
fn a_fence_that_was_found_is_waited_for_even_after_a_reset() {
    let file = open(&device());
    let object = syncobj(&file, false);
    let fence = tepui_drm::fence::Fence::new();
    file.syncobj(object).unwrap().replace(Some(fence.clone()));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| wait(&file, &[object], 0, i64::MAX));
        // The waiter holds the fence once a third reference exists besides ours and the object's.
        while !waiter.is_finished() && fence_is_free(&fence) {
            std::thread::yield_now();
        }
        array(&file, Ioctl::SyncobjReset, &[object]).unwrap();
        fence.signal(Ok(()));
        assert_eq!(waiter.join().unwrap(), Ok(0));
    });
}

/// Whether only the test and the sync object hold the fence.
fn fence_is_free(fence: &tepui_drm::fence::Fence) -> bool {
    fence.holders() <= 2
}

#[test]
fn sync_objects_travel_as_descriptors() {
    let device = device();
    let (one, other) = (open(&device), open(&device));
    let object = syncobj(&one, false);
    let export = |flags, point| {
        let mut args = uapi::SyncobjHandle { handle: object, flags, point, ..Default::default() };
        call(&one, Ioctl::SyncobjHandleToFd, &mut args).map(|()| args.fd)
    };
    assert_eq!(export(4, 0), Err(Errno::INVAL), "unknown flag");
    assert_eq!(export(0, 1), Err(Errno::INVAL), "a point without a timeline");
    assert_eq!(export(uapi::SYNCOBJ_FD_SYNC_FILE, 0), Err(Errno::INVAL), "no fence");
    let fd = export(0, 0).unwrap();
    // SAFETY: fresh from the export.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let import = |fd, pad| {
        let mut args = uapi::SyncobjHandle { fd, pad, ..Default::default() };
        call(&other, Ioctl::SyncobjFdToHandle, &mut args).map(|()| args.handle)
    };
    assert_eq!(import(fd.as_raw_fd(), 1), Err(Errno::INVAL));
    assert_eq!(import(-1, 0), Err(Errno::BADF));
    assert_eq!(import(0, 0), Err(Errno::INVAL), "no sync object");
    let there = import(fd.as_raw_fd(), 0).unwrap();
    array(&one, Ioctl::SyncobjSignal, &[object]).unwrap();
    assert_eq!(wait(&other, &[there], 0, 0), Ok(0), "the same object");
}

#[test]
fn sync_files_are_readable_once_signalled_and_tell_errors() {
    let device = device();
    let file = open(&device);
    let (object, target) = (syncobj(&file, false), syncobj(&file, false));
    let fence = tepui_drm::fence::Fence::new();
    file.syncobj(object).unwrap().replace(Some(fence.clone()));
    let mut args = uapi::SyncobjHandle {
        handle: object,
        flags: uapi::SYNCOBJ_FD_SYNC_FILE,
        ..Default::default()
    };
    call(&file, Ioctl::SyncobjHandleToFd, &mut args).unwrap();
    // SAFETY: fresh from the export.
    let fd = unsafe { OwnedFd::from_raw_fd(args.fd) };
    let readable = || {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&now)).unwrap() == 1
    };
    // Into another object, at a point.
    let mut import = uapi::SyncobjHandle {
        handle: target,
        flags: uapi::SYNCOBJ_FD_SYNC_FILE | uapi::SYNCOBJ_FD_TIMELINE,
        fd: fd.as_raw_fd(),
        point: 4,
        ..Default::default()
    };
    call(&file, Ioctl::SyncobjFdToHandle, &mut import).unwrap();
    import.handle = 99;
    assert_eq!(call(&file, Ioctl::SyncobjFdToHandle, &mut import), Err(Errno::NOENT));

    let sync = device.registry.find::<sync_file::SyncFile>(fd.as_fd()).unwrap();
    let status = || {
        let mut fences = [sync_file::FenceInfo::default()];
        let mut info = sync_file::FileInfo {
            num_fences: 1,
            sync_fence_info: fences.as_mut_ptr() as u64,
            ..Default::default()
        };
        // SAFETY: the pointer is that of `fences`.
        let user = unsafe { ThisProcess::new() };
        let request = Request(4 | 56 << 16 | 3 << 30 | u32::from(sync_file::FAMILY) << 8);
        sync.ioctl(&device.registry, &user, request, bytemuck::bytes_of_mut(&mut info)).unwrap();
        (info.status, fences[0].status)
    };
    assert!(!readable());
    assert_eq!(status(), (0, 0));
    fence.signal(Err(Errno::IO));
    assert!(readable());
    assert_eq!(status(), (-5, -5));
    assert_eq!(query(&file, target, 0), 4, "an error is an end as well");
    assert_eq!(file.fence(target, 4).unwrap().outcome(), Some(Err(Errno::IO)));
}

#[test]
fn an_eventfd_is_counted_up_at_the_point() {
    let file = open(&device());
    let line = syncobj(&file, false);
    let fd = rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK).unwrap();
    let register = |handle, flags, fd| {
        let mut args = uapi::SyncobjEventfd { handle, flags, point: 2, fd, pad: 0 };
        call(&file, Ioctl::SyncobjEventfd, &mut args)
    };
    assert_eq!(register(line, 1, fd.as_raw_fd()), Err(Errno::INVAL));
    assert_eq!(register(99, 0, fd.as_raw_fd()), Err(Errno::NOENT));
    assert_eq!(register(line, 0, -1), Err(Errno::BADF));
    assert_eq!(register(line, 0, 0), Err(Errno::INVAL), "no eventfd");
    let count = || {
        let mut bytes = [0; 8];
        rustix::io::read(&fd, &mut bytes).map(|_| u64::from_ne_bytes(bytes))
    };
    register(line, 0, fd.as_raw_fd()).unwrap();
    register(line, AVAILABLE, fd.as_raw_fd()).unwrap();
    assert_eq!(count(), Err(Errno::AGAIN));
    signal_point(&file, line, 2);
    // Both were registered before the point: a thread each wakes and counts.
    let mut seen = 0;
    while seen < 2 {
        match count() {
            Ok(more) => seen += more,
            Err(_) => std::thread::yield_now(),
        }
    }
    register(line, 0, fd.as_raw_fd()).unwrap();
    assert_eq!(count(), Ok(1), "the point is there already");
}

#[test]
fn implicit_synchronisation_goes_through_the_buffers_descriptor() {
    let device = device();
    let file = open(&device);
    let (_, gem) = buffer(&file, 4096);
    // SAFETY: these requests have no pointers.
    let user = unsafe { ThisProcess::new() };
    let ask = |nr: u8, args: &mut [u8]| {
        let request = Request(u32::from(nr) | (args.len() as u32) << 16);
        dma_buf::ioctl(&device.registry, &user, &gem, request, args)
    };
    let mut args = dma_buf::DmaBufSyncFile { flags: 4, fd: -1 };
    assert_eq!(ask(2, bytemuck::bytes_of_mut(&mut args)), Err(Errno::INVAL));
    // A reader holds up writers only.
    let reader = tepui_drm::fence::Fence::new();
    gem.add_user(reader.clone(), false);
    let fence = |flags| {
        let mut args = dma_buf::DmaBufSyncFile { flags, fd: -1 };
        ask(2, bytemuck::bytes_of_mut(&mut args)).unwrap();
        // SAFETY: fresh from the export.
        let fd = unsafe { OwnedFd::from_raw_fd(args.fd) };
        sync_file::import(&device.registry, &user, fd.as_raw_fd()).unwrap()
    };
    assert!(fence(1).is_signaled());
    assert!(!fence(2).is_signaled());
    // A writer that came as a sync file holds up readers.
    let writer = tepui_drm::fence::Fence::new();
    let fd = sync_file::export(&device.registry, writer.clone()).unwrap();
    let mut args = dma_buf::DmaBufSyncFile { flags: 2, fd: fd.as_raw_fd() };
    ask(3, bytemuck::bytes_of_mut(&mut args)).unwrap();
    assert!(!fence(1).is_signaled());
    writer.signal(Ok(()));
    assert!(fence(1).is_signaled());
    assert_eq!(ask(0, &mut 1u64.to_le_bytes()), Ok(()), "a read begins");
    assert_eq!(ask(0, &mut 8u64.to_le_bytes()), Err(Errno::INVAL));
    assert_eq!(ask(9, &mut []), Err(Errno::NOTTY));
    reader.signal(Ok(()));
    assert!(fence(3).is_signaled());
}
