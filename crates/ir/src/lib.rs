//! The shader in the middle: what the SPIR-V front end makes, the passes rewrite and each GPU's
//! compiler reads.
//!
//! # Shape
//!
//! A [`Shader`] is one entry point with everything inlined: a tree of [`Region`]s under
//! [`Shader::root`]. A region is a list of instructions that ends in one terminator. Two
//! instructions own regions:
//!
//! ```text
//! %r:b32 = if %cond {        // results = operands of the `yield` that ends the region taken
//!   yield %a
//! } else {
//!   yield %b
//! }
//! %sum:b32 = loop (%i:b32 = %zero, %s:b32 = %zero) {   // parameters = initial values, then operands of `continue`
//!   if %done {
//!     break %s               // leaves the innermost loop with the loop's results
//!   } else {
//!     yield
//!   }
//!   continue %i2, %s2
//! }
//! ```
//!
//! `break` and `continue` may stand under any depth of `if`s and mean the innermost loop; there is
//! no jump over two loops, no return and no switch (the front end turns them into flags and `if`s).
//! A region of an `if` that ends in `break` or `continue` gives no results. The root region ends in
//! an empty `yield`. A value may be used after its definition in the same region and in regions
//! inside it; nowhere else.
//!
//! A value ([`Value`]) has a [`Type`]: bits per component (1, 8, 16, 32, 64) and up to 16
//! components; no float or integer kind, no pointers. Constants are scalar `const` instructions
//! (front end and passes put them at the head of the root region); vectors of constants are `vec`s
//! of them.
//!
//! # The op table
//!
//! [`op`] declares every [`Op`]: operands, results, the kind of [`Attrs`] it carries, properties, and its
//! meaning as a Rust function ([`op::fold`]).  Constant folding, the interpreter and the tests of
//! algebraic rules evaluate the same function. Start reading there (`op/float.rs`, `op/memory.rs`,
//! …).
//!
//! # Memory
//!
//! | space | ops | address |
//! | --- | --- | --- |
//! | variables (private, function) | `load_var`, `store_var` | [`Var`], and an element index when it is an array |
//! | buffers in descriptors | `load_buffer`, `store_buffer`, `atomic_buffer` | handle (b64, from `descriptor`) and byte offset (b32) |
//! | physical memory | `load_global`, `store_global`, `atomic_global` | address (b64) |
//! | workgroup | `load_shared`, … | byte offset (b32) |
//! | scratch | `load_scratch`, … | byte offset (b32): arrays that could not be promoted |
//! | push constants | `load_push` | byte offset (b32) |
//! | driver uniforms | `load_uniform` | byte offset (b32): made by a driver's lowering |
//!
//! A handle is opaque; usually it is the result of `descriptor` itself, but with variable pointers
//! it can come through `select`, `if` and `loop`. Images and samplers use handles as well.
//!
//! # Modules
//!
//! - [`mod@shader`]: the data structures; [`builder`]: making them; [`attrs`]: payloads of
//!   instructions
//! - [`mod@print`] and [`mod@parse`]: the text form, which round-trips
//! - [`mod@validate`]: types, dominance, terminators
//! - [`stack`]: stack space for recursion over regions
//! - [`interp`]: the interpreter, the reference for every pass

pub mod attrs;
pub mod builder;
mod entity;
pub mod interp;
pub mod op;
pub mod parse;
pub mod print;
pub mod shader;
pub mod stack;
mod types;
pub mod validate;

pub use attrs::{
    Access, AtomicOp, AttrKind, Attrs, Barrier, Builtin, Dim, Extend, Image, ImageFormat,
    InstFlags, Interp, IoLoc, IoSlot, Mem, MemSet, NumKind, QuadDir, Reduce, ReduceOp, Sampling,
    Scope, TexOperands,
};
pub use builder::Builder;
pub use cranelift_entity;
pub use entity::{Inst, Loc, Region, Res, Value, Var};
pub use op::{Fold, Op, OpInfo, Pat, Props};
pub use parse::{ParseError, ParseErrorKind, parse};
pub use shader::{
    Capture, Comps, DepthMode, DerivativeGroup, FloatControls, Info, InstData, IoDecl,
    PrimitiveKind, Primitives, RegionData, ResKind, Resource, Shader, Spacing, SrcLoc, Stage,
    TexArgs, ValueData, ValueDef, VarData,
};
pub use types::{Type, mask, sext};
pub use validate::{Invalid, validate};
