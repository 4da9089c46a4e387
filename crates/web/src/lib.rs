//! Tepui for the page: [`tepui_explore::api`] as functions that WebAssembly exports.
//!
//! JavaScript writes a request (JSON, UTF-8) to the memory that [`tepui_request`] gives, calls [`tepui_call`], and reads the
//! answer at [`tepui_answer`] and the picture at [`tepui_pixels`]. Addresses hold until the next call. There is one state, as
//! WebAssembly without threads has one thread.

use std::cell::RefCell;

use tepui_explore::api::Api;

#[derive(Default)]
struct State {
    api: Api,
    request: Vec<u8>,
    answer: String,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Memory for a request of `bytes` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn tepui_request(bytes: usize) -> *mut u8 {
    STATE.with_borrow_mut(|s| {
        s.request.clear();
        s.request.resize(bytes, 0);
        s.request.as_mut_ptr()
    })
}

/// Answers the request; returns how many bytes the answer has.
#[unsafe(no_mangle)]
pub extern "C" fn tepui_call() -> usize {
    STATE.with_borrow_mut(|s| {
        let request = String::from_utf8_lossy(&s.request).into_owned();
        s.answer = s.api.call(&request);
        s.answer.len()
    })
}

/// Address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn tepui_answer() -> *const u8 {
    STATE.with_borrow(|s| s.answer.as_ptr())
}

/// Address of the pictures of the last answer: four bytes a pixel.
#[unsafe(no_mangle)]
pub extern "C" fn tepui_pixels() -> *const u8 {
    STATE.with_borrow(|s| s.api.pixels().as_ptr())
}

/// Size of the pictures in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn tepui_pixels_size() -> usize {
    STATE.with_borrow(|s| s.api.pixels().len())
}
