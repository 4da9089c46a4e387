//! The witness: the same Vulkan work on third-party drivers.
//!
//! A [`case::Case`] names GLSL shaders from `shaders/` and a function that runs them on a [`gpu::Gpu`] and
//! returns buffers, each with the rule that judges it: a calculation on the CPU if that is simple, else the
//! other driver's buffer. The program `witness` is the Vulkan client: it runs cases on one device and leaves
//! a record of each. The test `drivers` starts it twice through `tools/mesa run` — on lavapipe, which renders
//! on the CPU, and on Honeykrisp on the virtual Apple GPU — and compares the records ([`compare`]).
//!
//! ```text
//!  cases/*.rs + shaders/*.comp ──glslangValidator──▶ SPIR-V
//!                                                      │
//!        witness run --device llvmpipe   ◀─────────────┼─────────────▶  witness run --device "Apple M1"
//!                │                                                                   │
//!             record ───────────────▶ compare ◀──────────────────────────────── record
//!                                        │
//!                                 case, buffers, max ULP, verdict
//! ```
//!
//! Start reading at [`case`], then `cases/algorithms.rs` for examples.

pub mod case;
pub mod cases;
pub mod compare;
pub mod compile;
pub mod dispatch;
pub mod draw;
pub mod driver_speed;
#[cfg(feature = "compiler")]
pub mod emit;
pub mod endurance;
pub mod expected;
pub mod gpu;
pub mod jobs;
pub mod number;
pub mod offers;
#[cfg(feature = "compiler")]
pub mod pipelines;
pub mod speed;
pub mod texel;
