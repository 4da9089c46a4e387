//! The model of Intel's GPUs: it executes batches of commands and the machine code that they
//! dispatch.
//!
//! A batch goes to the command streamer ([`stream`](self#modules)), which reads commands through the address
//! space and executes them one by one on the state of a context ([`HardwareContext`]). A GPGPU_WALKER becomes
//! a dispatch: for each workgroup, threads of the EU interpreter (`tepui_intel_eu`) get their payload and
//! run, together up to each barrier; their messages go to the data port, the gateway and the sampler.
//!
//! The model sees addresses, bytes, registers and packets, as silicon does. Anything that it does not execute
//! is a typed fault that names it ([`JobFault`]).
//!
//! # Modules
//!
//! | module | unit |
//! | --- | --- |
//! | `stream` | command streamer: batches, MI commands, PIPE_CONTROL, state, walkers |
//! | `dispatch` | workgroups and threads: payload, scratch memory, barriers |
//! | `render` | the 3D pipeline, from vertices to pixels |
//! | `port` | messages: data port, gateway, surfaces, images |
//! | `format` | surface formats |
//! | `tiled_resources` | page tables of clients for sparse images and buffers (Gen12) |
//! | `order` | checker of caches, flushes and stalls |
//! | `restrictions` | checker of the order of commands |
//! | `relaxed` | execution in another order that the events of a batch allow |
//! | `picture` | contents of render targets, for tools |
//! | `watch` | observers of the instructions of threads |
//! | `registers`, `context`, `memory` | state that commands and threads read and write |

mod compressed;
mod context;
mod dispatch;
mod execute;
#[doc(hidden)]
pub mod exercise;
mod format;
mod gpu;
mod job;
mod memory;
mod order;
mod picture;
mod port;
mod program;
mod registers;
mod relaxed;
mod render;
mod restrictions;
mod stream;
mod tiled_resources;
mod watch;

pub use context::{Bases, HardwareContext};
pub use gpu::{Gpu, Options, timestamp};
pub use job::{
    Batch, FaultKind, JobFault, JobStats, ProgramPoint, Report, ReportKind, Unit, finding,
};
pub use picture::Picture;
pub use registers::Registers;
pub use restrictions::{RESTRICTIONS, Restriction, table as restriction_table};
pub use tepui_order::{Removals, spaced};
pub use watch::{Access, MemorySpace, Step, ThreadPlace, Watch};
