//! Analyses, lowering and optimisation on the IR that no GPU owns.
//!
//! A pass is a function `run(&mut Shader) -> bool` in a file of its own; it returns whether it changed anything. [`pipeline`]
//! names them, runs them in order, and can show the shader after each. Every pass keeps the shader valid
//! and its meaning: `tests/` runs the interpreter before and after each of them on random programs.
//!
//! The usual order ([`pipeline::optimise`]): [`constant_loads`] finds what is never written, [`split`] and [`promote`] turn variables into values, [`control`],
//! [`simplify`] (constants, algebraic rules from [`mod@rules`], value numbering) and [`dce`] clean up until nothing changes,
//! [`constant_arrays`] makes selects and bit fields of small tables,
//! [`unroll`] writes out counted loops, [`if_convert`] flattens small arms, [`licm`] moves invariants out of loops,
//! [`scalarise`] splits vectors and [`vectorise`] joins neighbouring memory accesses.
//! [`subgroups`] asks other lanes only for what is not known without them.
//! [`reassociate`] multiplies shared factors first, [`sums`] adds what can be fused with products.
//! [`invariance`] keeps invariant outputs from all that changes roundings.
//! [`forward`] takes values that memory is known to hold, and [`hoist`] what both arms of an `if` compute.
//! Analyses: [`divergence`], and [`uniformity`]: values identical in all invocations. A backend runs the lowerings (`lower_*`) that it wants; [`target::lower`] runs all in order.

pub mod clone;
pub mod constant_arrays;
pub mod constant_loads;
pub mod control;
pub mod dce;
pub mod divergence;
pub mod forward;
mod handles;
pub mod hoist;
pub mod if_convert;
pub mod invariance;
pub mod licm;
pub mod lower_addresses;
pub mod lower_alu;
pub mod lower_atomics;
pub mod lower_bits;
pub mod lower_blend;
pub mod lower_buffers;
pub mod lower_float64;
pub mod lower_handles;
pub mod lower_int64;
pub mod lower_io;
pub mod lower_subgroups;
pub mod lower_tex;
pub mod lower_vars;
pub mod lower_ycbcr;
pub mod pipeline;
pub mod promote;
pub mod reassociate;
pub mod rewrite;
pub mod roll_float64;
pub mod rules;
pub mod scalarise;
pub mod simplify;
pub mod split;
pub mod subgroups;
pub mod sums;
pub mod target;
mod terms;
pub mod uniformity;
pub mod unroll;
mod value_split;
pub mod vectorise;

mod access;
mod edit;
pub use edit::{Consts, Renames};
