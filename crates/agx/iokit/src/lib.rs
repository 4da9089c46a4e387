//! Decodes the calls that macOS programs make to the AGX kernel extension through IOKit.
//!
//! A program opens a user client of the accelerator and calls its methods by number, with scalars
//! and one structure as arguments and results. [`calls`] declares the structures. [`Session`]
//! follows the calls of one connection: it tracks allocations and shared memory, and decodes
//! command buffers when they are submitted, with the same decoder as on Linux
//! ([`tepui_agx_decode`]). All of this works on bytes and runs on every platform; [`ClientMemory`]
//! reads the program's memory. Start reading at [`Session`].
//!
//! On macOS, the module `interpose` traces a program: built as a dynamic library and named in
//! `DYLD_INSERT_LIBRARIES`, it replaces the IOKit functions, forwards every call, and prints the
//! decoded records:
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
