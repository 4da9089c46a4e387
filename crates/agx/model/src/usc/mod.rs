//! The unified shader core: runs programs on SIMD-groups of 32 lanes.
//!
//! From the bottom up:
//!
//! - [`op`] and [`access`] describe a decoded instruction: an opcode and where its operands lie, in
//!   [`row`]s.
//! - [`code`] is a decoded program as data, with its cost in [`counts`]; [`load`] reads machine code and [`lower`]s it to that.
//! - [`lanes`] is a SIMD-group while it runs, with the units around it: [`memory`], [`stage`]
//!   (fixed function of vertex and fragment programs), [`stack`] (scratch memory), [`shared`]
//!   (state of its workgroup) and [`check`] (the checker).
//! - [`exec`] has what each instruction does; `jit` translates programs that run often to the
//!   host's own code, for the hosts that `tepui_hostvec::Target` names.
//! - [`program`] is a program ready to run, [`cache`] keeps them; [`launch`] holds what a
//!   pipeline's USC words load.
//! - [`run`] is the loop over instructions, [`workgroup`] runs the SIMD-groups of a workgroup in
//!   turn, and [`helper`] the driver's program that hands out scratch memory.

pub mod access;
pub mod cache;
pub mod check;
mod clear;
pub mod code;
pub mod counts;
pub mod exec;
pub mod fpmode;
pub mod grid;
pub mod helper;
pub mod inspect;
#[cfg(target_arch = "x86_64")]
mod jit;
pub mod lanes;
pub mod launch;
pub mod load;
pub mod lower;
pub mod memory;
pub mod op;
pub mod opcode;
mod operand;
pub mod place;
pub mod program;
mod query;
pub mod row;
pub mod run;
pub mod samples;
pub mod shared;
pub mod stack;
pub mod stage;
mod threads;
pub mod workgroup;
