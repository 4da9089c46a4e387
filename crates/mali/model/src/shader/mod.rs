//! The execution of Valhall, Bifrost and Midgard machine code: programs decoded once and interpreted over warps.
//!
//! A [`program`] is decoded from memory ([`decode`]) into operations ([`op`]): a handler function and the locations of its
//! operands. A [warp](crate::warp::Warp) has 64 registers of 16 lanes, its active lanes and those that wait elsewhere in
//! the program. Uniforms, constants and special values are rows of lanes too, which all warps of a dispatch
//! share, so that every source is a row ([`operand`]). [`run`] executes a warp up to a barrier or its end, [`step`] by step;
//! messages go to a [`port`](crate::units::Port).
//!
//! | module | instructions |
//! | --- | --- |
//! | [`alu`] | arithmetic |
//! | [`bifrost`] | Bifrost's, as operations |
//! | [`lane`] | those between lanes |
//! | [`midgard`] | Midgard's, as operations |
//! | [`message`] | loads, stores, atomics, buffers |
//!
//! Programs that copy texels are detected, so that rows of texels can be copied without warps ([`copies`]).
//! Programs that have run a few times are translated to host code ([`translate`]). Under the checker they are interpreted, and
//! what messages write is kept aside until it is waited for ([`check`]). Under an observer they are interpreted, too ([`watched`]).

pub mod alu;
pub mod bifrost;
pub mod check;
pub mod copies;
pub mod decode;
pub mod decoded;
pub mod lane;
pub mod message;
pub mod midgard;
pub mod op;
pub mod operand;
pub mod program;
pub mod run;
pub mod step;
pub mod template;
pub mod translate;
pub mod watched;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
