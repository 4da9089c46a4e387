//! Interposes the IOKit functions that call methods of a user client (macOS only).
//!
//! dyld replaces the functions named in the section `__interpose` of an inserted library in every
//! other image, but not in the library itself, so this module calls the originals by their names.
//!
// source: wrap.c, dyld_interpose.h; the prototypes: IOKit's public IOKitLib.h

use std::collections::HashMap;
use std::ffi::c_void;
use std::io::Write;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::calls::Selector;
use crate::session::{Call, ClientMemory, Session};

type Connection = u32;
type Port = u32;
type Return = i32;

#[link(name = "IOKit", kind = "framework")]
unsafe extern "C" {
    fn IOConnectCallMethod(
        connection: Connection,
        selector: u32,
        input: *const u64,
        input_count: u32,
        input_struct: *const c_void,
        input_struct_size: usize,
        output: *mut u64,
        output_count: *mut u32,
        output_struct: *mut c_void,
        output_struct_size: *mut usize,
    ) -> Return;
    fn IOConnectCallStructMethod(
        connection: Connection,
        selector: u32,
        input_struct: *const c_void,
        input_struct_size: usize,
        output_struct: *mut c_void,
        output_struct_size: *mut usize,
    ) -> Return;
    fn IOConnectCallScalarMethod(
        connection: Connection,
        selector: u32,
        input: *const u64,
        input_count: u32,
        output: *mut u64,
        output_count: *mut u32,
    ) -> Return;
    fn mach_vm_read_overwrite(
        task: Port,
        address: u64,
        size: u64,
        data: u64,
        done: *mut u64,
    ) -> Return;
    static mach_task_self_: Port;
}

/// The program's own memory. The kernel copies it, so an invalid address gives an error instead of
/// a signal.
struct OwnMemory;

impl ClientMemory for OwnMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> bool {
        let mut done = 0;
        // SAFETY: `into` is valid for its length; the kernel checks `address`.
        let result = unsafe {
            let task = mach_task_self_;
            let size = into.len() as u64;
            mach_vm_read_overwrite(task, address, size, into.as_mut_ptr() as u64, &mut done)
        };
        result == 0 && done == into.len() as u64
    }
}

/// Connections that called SET_API: those that Metal opened.
static SESSIONS: OnceLock<Mutex<HashMap<Connection, Session>>> = OnceLock::new();

/// Runs `body` with the session of a connection, if it is one of Metal's.
fn with_session(connection: Connection, selector: u32, body: impl FnOnce(&mut Session) -> String) {
    let sessions = SESSIONS.get_or_init(Mutex::default);
    let mut sessions = sessions.lock().unwrap_or_else(PoisonError::into_inner);
    if u64::from(selector) == Selector::SetApi.raw() {
        sessions.entry(connection).or_default();
    }
    if let Some(session) = sessions.get_mut(&connection) {
        let text = body(session);
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}

/// # Safety
/// `pointer` is null or valid for `count` values.
unsafe fn slice<'a, T>(pointer: *const T, count: usize) -> &'a [T] {
    if pointer.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(pointer, count) }
}

/// # Safety
/// As `IOConnectCallMethod`.
unsafe extern "C" fn call_method(
    connection: Connection,
    selector: u32,
    input: *const u64,
    input_count: u32,
    input_struct: *const c_void,
    input_struct_size: usize,
    output: *mut u64,
    output_count: *mut u32,
    output_struct: *mut c_void,
    output_struct_size: *mut usize,
) -> Return {
    // SAFETY: the program's own arguments, as the function itself takes them.
    unsafe {
        let mut call = Call {
            selector,
            input: slice(input, input_count as usize),
            input_struct: slice(input_struct.cast(), input_struct_size),
            ..Call::default()
        };
        with_session(connection, selector, |s| s.entering(&call, &OwnMemory).to_string());
        let result = IOConnectCallMethod(
            connection,
            selector,
            input,
            input_count,
            input_struct,
            input_struct_size,
            output,
            output_count,
            output_struct,
            output_struct_size,
        );
        call.result = result;
        call.output = slice(output, output_count.as_ref().map_or(0, |count| *count as usize));
        let size = output_struct_size.as_ref().map_or(0, |size| *size);
        call.output_struct = slice(output_struct.cast_const().cast(), size);
        with_session(connection, selector, |s| s.answered(&call).to_string());
        result
    }
}

/// # Safety
/// As `IOConnectCallStructMethod`.
unsafe extern "C" fn call_struct_method(
    connection: Connection,
    selector: u32,
    input_struct: *const c_void,
    input_struct_size: usize,
    output_struct: *mut c_void,
    output_struct_size: *mut usize,
) -> Return {
    let none = std::ptr::null_mut();
    // SAFETY: the caller's promise; null means no scalars.
    unsafe {
        call_method(
            connection,
            selector,
            std::ptr::null(),
            0,
            input_struct,
            input_struct_size,
            none,
            std::ptr::null_mut(),
            output_struct,
            output_struct_size,
        )
    }
}

/// # Safety
/// As `IOConnectCallScalarMethod`.
unsafe extern "C" fn call_scalar_method(
    connection: Connection,
    selector: u32,
    input: *const u64,
    input_count: u32,
    output: *mut u64,
    output_count: *mut u32,
) -> Return {
    // SAFETY: the caller's promise; null means no structure.
    unsafe {
        call_method(
            connection,
            selector,
            input,
            input_count,
            std::ptr::null(),
            0,
            output,
            output_count,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    }
}

/// A replacement and the function that it replaces, as dyld reads them.
#[repr(C)]
struct Replacement(*const c_void, *const c_void);

// SAFETY: addresses of functions, which never change.
unsafe impl Sync for Replacement {}

#[used]
#[unsafe(link_section = "__DATA,__interpose")]
static REPLACEMENTS: [Replacement; 3] = [
    Replacement(call_method as *const c_void, IOConnectCallMethod as *const c_void),
    Replacement(call_struct_method as *const c_void, IOConnectCallStructMethod as *const c_void),
    Replacement(call_scalar_method as *const c_void, IOConnectCallScalarMethod as *const c_void),
];
