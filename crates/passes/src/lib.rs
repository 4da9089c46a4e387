//! Analyses, optimisations and lowering passes on the IR, shared by all GPUs.
//!
//! A pass is a function `run(&mut Shader) -> bool` in a file of its own; it returns whether it
//! changed anything. [`pipeline`] names the passes, runs them in order, and can report the shader
//! after each. Every pass preserves the validity and the meaning of the shader: `tests/` runs the
//! interpreter before and after each pass on random programs.
//!
//! The usual order is [`pipeline::optimise`]:
//!
//! - [`constant_loads`] finds memory that is never written; [`split`] and [`promote`] turn
//!   variables into SSA values.
//! - [`control`], [`simplify`] (constants, algebraic rules from [`mod@rules`], value numbering) and
//!   [`dce`] run until nothing changes.
//! - [`constant_arrays`] replaces small lookup tables by selects and bit fields, [`unroll`] unrolls
//!   counted loops, [`if_convert`] flattens small `if`s, [`licm`] hoists loop invariants.
//! - [`scalarise`] splits vectors, [`vectorise`] merges neighbouring memory accesses.
//! - [`subgroups`] simplifies subgroup operations on uniform values.
//! - [`reassociate`] orders products and [`sums`] orders sums; [`invariance`] protects invariant
//!   outputs from both.
//! - [`forward`] forwards stores to loads, and [`hoist`] hoists what both sides of an `if` compute.
//!
//! - [`flatten_discards`] turns discards into instructions with a condition, [`nan_selects`] finds minima in
//!   selects, [`join_branches`] joins branches on one uniform condition, and [`sink`] moves
//!   computations into the only branch that needs them.
//! - [`fold_offsets`] puts constant offsets into accesses; [`alignment`] finds what is aligned; [`preamble`] plans which uniform
//!   computations run once, [`push_words`] chooses words of uniform buffers for registers, and [`join_lanes`] joins
//!   operations on small scalars.
//! - [`side_effects`] lets invocations of fragment shaders go on after a discard, and keeps them and helpers from writing.
//! - [`multiview`] writes the layer of a view.
//! - [`null_images`] and [`reductions`] give image operations what a texture unit lacks: null descriptors, and samplers that take
//!   minima and maxima; [`image_op`] is what such passes share.
//!
//! Analyses are [`divergence`] (within a subgroup) and [`uniformity`] (over all invocations). A
//! back end runs the lowering passes (`lower_*`) that it needs; [`target::lower`] runs them in
//! order.

pub mod clone;
pub mod constant_arrays;
pub mod constant_loads;
pub mod control;
pub mod cubes;
pub mod dce;
pub mod divergence;
pub mod flatten_discards;
pub mod fold_offsets;
pub mod forward;
pub mod handles;
pub mod hoist;
pub mod if_convert;
pub mod image_op;
pub mod invariance;
pub mod join_branches;
pub mod join_lanes;
pub mod licm;
pub mod link_stages;
pub mod lower_addresses;
pub mod lower_alu;
pub mod lower_atomics;
pub mod lower_bits;
pub mod lower_blend;
pub mod lower_buffers;
pub mod lower_dispatch_base;
pub mod lower_float64;
pub mod lower_handles;
pub mod lower_int64;
pub mod lower_io;
pub mod lower_quads;
pub mod lower_subgroups;
pub mod lower_tex;
pub mod lower_vars;
pub mod lower_ycbcr;
mod multiples;
pub mod multiview;
pub mod nan_selects;
pub mod null_images;
pub mod pipeline;
pub mod preamble;
pub mod promote;
pub mod push_words;
pub mod reassociate;
pub mod reductions;
pub mod rewrite;
pub mod roll_float64;
pub mod rules;
pub mod scalarise;
pub mod side_effects;
pub mod simplify;
pub mod sink;
pub mod split;
pub mod subgroups;
pub mod sums;
pub mod target;
mod terms;
pub mod uniform_operands;
pub mod uniformity;
pub mod unroll;
mod value_split;
pub mod vectorise;

mod access;
pub mod alignment;
pub mod attachments;
pub mod edit;
pub use edit::{Consts, Renames};
