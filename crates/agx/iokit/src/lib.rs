//! What macOS programs tell the AGX kernel extension through IOKit, decoded.
//!
//! A program opens a user client of the accelerator and calls its methods by number, with numbers and
//! one structure in and out. [`calls`] declares the structures, [`Session`] follows the calls of one
//! connection: it remembers allocations and shared memory, and when command buffers are submitted it
//! decodes them, with the same decoder that serves Linux ([`tepui_agx_decode`]). All of this works on
//! bytes and is the same on every platform; [`ClientMemory`] is the program's memory.
//!
//! On macOS there is a front besides, `interpose`: built as a dynamic library and named in
//! `DYLD_INSERT_LIBRARIES`, it stands in for the IOKit functions, passes every call on, and prints what
//! the session makes of it:
//!
//! ```sh
//! cargo rustc --release -p tepui-agx-iokit --lib --crate-type cdylib
//! DYLD_INSERT_LIBRARIES=target/release/libtepui_agx_iokit.dylib ./my-metal-program
//! ```
//!
// source: Mesa's src/asahi/lib/agx_iokit.h and wrap.c

pub mod calls;
mod session;

#[cfg(target_os = "macos")]
mod interpose;

pub use session::{Call, ClientMemory, Session};
