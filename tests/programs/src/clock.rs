//! A clock that makes an animation draw the same frame on every driver.
//!
//! Each time the program reads the clock, [`STEP_NS`] have passed since the last time, however long its
//! frames took. After `TEPUI_STILL_CALLS` calls the clock stops, and so does the animation, while the program
//! draws the same frame again; after [`AGAIN`] more, when that frame has reached the screen through any
//! swapchain, the file `TEPUI_STILL_MARK` is created and the thread sleeps forever, if that variable is set.
//! Only calls of the program itself, or of the library that `TEPUI_STILL_LIBRARY` names, get these times:
//! others (such as a driver that waits with a timeout) get the real time. Without `TEPUI_STILL_CALLS` all
//! callers do.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nanoseconds between two questions.
const STEP_NS: u64 = 10_000_000;

/// Questions that are answered with the same time before the program is held.
const AGAIN: u64 = 16;

/// The time of the first question: not zero, which a program may take for unset.
const START_NS: u64 = 1_000_000_000_000;

/// The clock's parameters for this process.
struct ClockParameters {
    calls: u64,
    /// The path of the file that is made before the program is held.
    mark: Option<CString>,
    /// Addresses of the program itself, or of the library.
    object: Range<usize>,
}

static SETTING: OnceLock<Option<ClockParameters>> = OnceLock::new();
static ASKED: AtomicU64 = AtomicU64::new(0);

fn setting() -> Option<&'static ClockParameters> {
    SETTING
        .get_or_init(|| {
            let calls = std::env::var("TEPUI_STILL_CALLS").ok()?.parse().ok()?;
            let mark = std::env::var_os("TEPUI_STILL_MARK");
            let mark = mark.and_then(|mark| CString::new(mark.as_bytes()).ok());
            let library = std::env::var("TEPUI_STILL_LIBRARY").ok();
            let mut search = Search { library, object: 0..0 };
            // SAFETY: `find_object` is given the search that it writes to, and does not keep it.
            unsafe { libc::dl_iterate_phdr(Some(find_object), (&raw mut search).cast()) };
            Some(ClockParameters { calls, mark, object: search.object })
        })
        .as_ref()
}

/// The object whose calls the clock answers: a library by its name, else the program.
struct Search {
    library: Option<String>,
    object: Range<usize>,
}

/// Writes the span of the object that is searched for, and ends the walk. The first is the program.
unsafe extern "C" fn find_object(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: the search that `setting` passed.
    let search = unsafe { &mut *search.cast::<Search>() };
    // SAFETY: the loader passes a valid record, whose name and headers live as long as the object.
    let (base, name, headers) = unsafe {
        let info = &*info;
        (
            info.dlpi_addr as usize,
            CStr::from_ptr(info.dlpi_name),
            std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()),
        )
    };
    if let Some(library) = &search.library
        && !name.to_string_lossy().contains(library)
    {
        return 0;
    }
    let loads = headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
    let spans = loads.map(|h| base + h.p_vaddr as usize..base + (h.p_vaddr + h.p_memsz) as usize);
    search.object = spans.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0);
    1
}

/// The time for a call from `caller` in nanoseconds, or nothing if it gets the real one.
fn still(caller: usize) -> Option<u64> {
    let setting = setting().filter(|s| s.object.contains(&caller))?;
    let asked = ASKED.fetch_add(1, Ordering::Relaxed);
    if asked == setting.calls + AGAIN
        && let Some(mark) = &setting.mark
    {
        hold(mark);
    }
    Some(START_NS + asked.min(setting.calls) * STEP_NS)
}

fn hold(mark: &CStr) -> ! {
    // Its output so far is evidence, and a killed program does not flush.
    // SAFETY: null flushes every stream.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    // SAFETY: a terminated path; the descriptor stays open until the process ends.
    unsafe { libc::open(mark.as_ptr(), libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC, 0o644) };
    loop {
        // SAFETY: sleeps until a signal ends the process.
        unsafe { libc::pause() };
    }
}

unsafe extern "C" fn clock_gettime_from(
    clock: libc::clockid_t,
    out: *mut libc::timespec,
    caller: usize,
) -> c_int {
    match still(caller) {
        Some(ns) => {
            let time = libc::timespec {
                tv_sec: (ns / 1_000_000_000) as libc::time_t,
                tv_nsec: (ns % 1_000_000_000) as libc::c_long,
            };
            // SAFETY: the caller of `clock_gettime` passes a valid pointer.
            unsafe { out.write(time) };
            0
        }
        // The system call itself: the function of that name is this one.
        // SAFETY: the arguments are the caller's.
        None => unsafe { libc::syscall(libc::SYS_clock_gettime, clock, out) as c_int },
    }
}

unsafe extern "C" fn gettimeofday_from(
    out: *mut libc::timeval,
    zone: *mut c_void,
    caller: usize,
) -> c_int {
    match still(caller) {
        Some(ns) if !out.is_null() => {
            let time = libc::timeval {
                tv_sec: (ns / 1_000_000_000) as libc::time_t,
                tv_usec: (ns % 1_000_000_000 / 1_000) as libc::suseconds_t,
            };
            // SAFETY: the caller of `gettimeofday` passes a valid pointer or null.
            unsafe { out.write(time) };
            0
        }
        // SAFETY: the arguments are the caller's.
        _ => unsafe { libc::syscall(libc::SYS_gettimeofday, out, zone) as c_int },
    }
}

/// Exports `$name`, which passes its two arguments and its return address on to `$to`: who asks
/// decides what the time is, and only the return address tells.
macro_rules! with_caller {
    ($name:ident, $to:ident) => {
        /// Replaces the C library's function of this name, for the program's own calls.
        ///
        /// # Safety
        ///
        /// The arguments are those of the C library's function.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("mov rdx, [rsp]", "jmp {}", sym $to);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("mov x2, x30", "b {}", sym $to);
        }
    };
}

with_caller!(clock_gettime, clock_gettime_from);
with_caller!(gettimeofday, gettimeofday_from);
