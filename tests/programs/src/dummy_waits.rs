//! libdrm's wait for timeline sync objects, without the invalid handles that Mesa passes.
//!
//! When Mesa presents a swapchain in software (Xvfb has no DRI3), the semaphore of an acquired image has no
//! sync object but a `vk_sync_dummy`. When a submission waits for it and for a timeline semaphore,
//! `vkQueueSubmit2` first queries whether both are pending. Mesa 26.1 does this in `can_wait_many`
//! (src/vulkan/runtime/vk_sync.c), which does not check the types of the syncs if the driver has only one
//! type, as Honeykrisp does; so `vk_drm_syncobj_wait_many` treats the dummy as a sync object, and the four
//! bytes after it as its handle. The kernel answers `ENOENT`, or by chance the answer for another sync
//! object, and `vkQueueSubmit2` fails with `VK_ERROR_UNKNOWN`. lavapipe has two types of syncs and checks.
//!
//! The dummy is recognised by Mesa's parameters: point 0, which timelines never wait for, in a wait for
//! pending fences only. A real binary semaphore is skipped too, but its fence was submitted before, as Vulkan
//! requires (VUID-vkQueueSubmit2-semaphore-03873), so the answer is the same.

use std::ffi::{c_int, c_uint};
use std::sync::OnceLock;

/// The wait ends when the fences were submitted.
// source: drm.h, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE
const WAIT_AVAILABLE: c_uint = 4;

type Wait = unsafe extern "C" fn(c_int, *mut u32, *mut u64, c_uint, i64, c_uint, *mut u32) -> c_int;

/// libdrm's function, and whether handles are left out.
fn next() -> Option<(Wait, bool)> {
    static NEXT: OnceLock<Option<(Wait, bool)>> = OnceLock::new();
    *NEXT.get_or_init(|| {
        // By its library: a driver's libdrm need not be among the program's own.
        // SAFETY: constant names; the library is loaded already and stays.
        let function = unsafe {
            let library = libc::dlopen(c"libdrm.so.2".as_ptr(), libc::RTLD_LAZY);
            libc::dlsym(library, c"drmSyncobjTimelineWait".as_ptr())
        };
        let active = std::env::var_os("TEPUI_LEAVE_OUT_DUMMY_WAITS").is_some();
        // SAFETY: libdrm's function of this name has this type; null is none.
        unsafe { std::mem::transmute::<*mut libc::c_void, Option<Wait>>(function) }
            .map(|wait| (wait, active))
    })
}

/// Replaces libdrm's function of this name.
///
/// # Safety
///
/// The arguments are those of libdrm's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn drmSyncobjTimelineWait(
    fd: c_int,
    handles: *mut u32,
    points: *mut u64,
    count: c_uint,
    timeout_ns: i64,
    flags: c_uint,
    first_signaled: *mut u32,
) -> c_int {
    let Some((wait, active)) = next() else { return -libc::ENOSYS };
    if !active || flags & WAIT_AVAILABLE == 0 || count < 2 {
        // SAFETY: the caller's arguments.
        return unsafe { wait(fd, handles, points, count, timeout_ns, flags, first_signaled) };
    }
    // SAFETY: the caller passes `count` handles and points.
    let all = unsafe {
        let handles = std::slice::from_raw_parts(handles, count as usize);
        handles.iter().copied().zip(std::slice::from_raw_parts(points, count as usize).iter())
    };
    let (mut handles, mut points): (Vec<u32>, Vec<u64>) =
        all.filter(|&(_, &point)| point != 0).unzip();
    if handles.is_empty() {
        return 0;
    }
    let count = handles.len() as c_uint;
    let (handles, points) = (handles.as_mut_ptr(), points.as_mut_ptr());
    // SAFETY: `count` handles and points that live until the return.
    unsafe { wait(fd, handles, points, count, timeout_ns, flags, first_signaled) }
}
