//! The unified shader core: runs programs on SIMD-groups of 32 lanes.
//!
//! - [`program`] decodes machine code once into a list of [`op::Op`]: a function to call and where
//!   its operands lie.
//! - [`lanes`] is a SIMD-group while it runs; its registers are [`row`]s, which [`op::Src`] and [`op::Dst`] name.
//! - [`launch`] holds what a pipeline's USC words load.
//! - [`workgroup`] runs the SIMD-groups of a workgroup in turn; [`run`] is the loop over
//!   instructions; [`exec`] has what each instruction does.
//! - `jit` translates programs that run often to the host's own code; `tepui_hostvec::Target` says for which hosts.
//! - [`stage`] is what surrounds a vertex or fragment program: its fixed-function units.
//! - [`stack`] and [`helper`] hand out scratch memory as the driver's helper program decides.

pub mod check;
mod clear;
pub mod exec;
pub mod fpmode;
pub mod helper;
#[cfg(target_arch = "x86_64")]
mod jit;
pub mod lanes;
pub mod launch;
pub mod lower;
pub mod memory;
pub mod op;
mod operand;
pub mod place;
pub mod program;
mod query;
pub mod row;
pub mod run;
pub mod stack;
pub mod stage;
mod threads;
pub mod workgroup;
