//! The model of Mali GPUs: with a command-stream front end (v10) it executes command streams, with a job
//! manager (v4 to v9) chains of jobs, and the machine code that both dispatch.
//!
//! The [`Gpu`] is the device. A kernel front makes a [`Group`] of queues, [starts](Group::start)
//! streams on them as their dependencies allow, and lets the GPU [run](Gpu::run) the group until a
//! stream has ended or all wait at a SYNC_WAIT. Memory is an address space
//! ([`tepui_softgpu::AddressSpace`]) into which the kernel front binds buffers.
//!
//! For a GPU with a job manager, the kernel front passes chains to [`Gpu::chain`].
//!
//! The modules are layers, of which each imports only those before it:
//!
//! | modules | what they have |
//! | --- | --- |
//! | `warp` | a warp: registers, uniforms, addresses of its inputs, messages in flight, traps |
//! | `pixels` | fragments: formats, primitives, framebuffers, tests, blending, the tile buffer |
//! | `units` | what a warp's messages reach: memory, descriptors, textures, samplers, `pixels` |
//! | `shader` | programs: operations, their handlers, decoders, translations, the interpreters |
//! | `gpu`, `environment` | the device, and what launches of all kinds share |
//! | `render`, `dispatch` | draws, frames and dispatches |
//! | `stream`, `chain`, `queues` | command streams, chains of jobs, groups of queues |
//!
//! With [`Options::check`] the model reports what silicon hides: waits that are missing between messages in a shader
//! (`shader::check`), and between work of queues and jobs (`order`). With [`Options::relaxed`] work runs late and in
//! another order (`relaxed`). An observer ([`Watch`]) is told of each instruction of a shader, for debuggers.
//!
//! The model sees addresses, bytes and registers, as silicon does. Anything that it does not execute is a
//! typed fault that names it ([`JobFault`]).
//!
//! ```
//! use tepui_mali_model::{Gpu, Options, Stream, address_space};
//!
//! let chip = tepui_mali_chips::chip("mali-g610").unwrap();
//! let gpu = Gpu::new(chip, Options::default());
//! let vm = address_space();
//! let mut group = gpu.group(3);
//! group.start(0, Stream { address: 0x1000, size: 8 }).unwrap();
//! let done = gpu.run(&vm, &mut group);
//! assert_eq!(done[0].queue, 0);
//! assert!(done[0].outcome.is_err(), "nothing is bound there");
//! ```

mod chain;
mod dispatch;
mod environment;
#[doc(hidden)]
pub mod exercise;
mod gpu;
mod group;
mod job;
pub mod limits;
mod omit;
mod order;
mod picture;
mod pixels;
mod queues;
mod relaxed;
mod render;
mod shader;
mod stream;
mod units;
mod warp;
mod watch;

pub use chain::JobContext;
pub use gpu::{Gpu, Options, address_space};
pub use group::{Group, QueueState, StartError, Stream};
pub use job::{
    Completion, FaultKind, JobFault, JobStats, ProgramPoint, Report, ReportKind, Unit, describe,
    finding,
};
pub use picture::Picture;
pub use shader::check::accesses::fingerprint;
pub use watch::{Access, MemorySpace, Step, WarpPlace, Watch};
