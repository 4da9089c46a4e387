//! Meta operations of Vulkan drivers: copies, fills, blits, resolves, clears, copies of query results, conditions.
//!
//! A command of the API becomes launches of compute programs and rectangles drawn with fragment programs. The programs are IR that
//! this crate builds ([`Program`]); a family's compiler translates them, and its encoder, a [`MetaEncoder`], runs them:
//!
//! ```text
//! Encoder::copy_image ─▶ copy::image ─▶ MetaEncoder::reads, ::writes   how programs reach the texels of both images
//!                                    ─▶ MetaEncoder::launch            a compute program by key, its words, its bindings
//!                                    or MetaEncoder::render            a rectangle with a fragment program
//! ```
//!
//! Texels are reached in one of three ways, which the family chooses for each level ([`Texels`]): at addresses that programs
//! compute, through the units of textures and image stores as texels of a format that keeps their bits, or, to write them, by drawing.
//!
//! - [`copy`]: buffers and images; [`blit`], [`resolve`], [`clear`]: images; [`query`], [`condition`]: words
//! - [`mod@program`]: the programs by key; [`words`]: what they read; `build`, [`texels`], [`mod@image`], `memory` and
//!   `rectangle`: their IR
//! - [`view`]: levels of images as programs see them; [`packing`]: texels as components that keep their bits
//!
//! # Conventions of programs
//!
//! - Words of the driver are read by `load_uniform` at byte offset 4 n, or by `load_push` ([`Conventions::words`]); their structures
//!   are in [`words`].
//! - Binding k of a launch is set 0, binding k: a texture with or without its sampler, or a storage image. Arrays of layers are
//!   two-dimensional; layers count from the first of the [`view::View`].
//! - Workgroups have [`Conventions::threads`] threads; invocations past the end do nothing.
//! - Fragment programs take their position from `frag_coord` and `layer`, which counts from the first layer of the attachment.

pub mod blit;
mod build;
pub mod clear;
pub mod condition;
pub mod copy;
mod draw;
mod encoder;
pub mod image;
mod memory;
pub mod packing;
pub mod program;
pub mod query;
mod rectangle;
pub mod resolve;
pub mod texels;
pub mod view;
pub mod words;

pub use encoder::{Launch, MetaEncoder, Rectangle};
pub use packing::{Numbers, Packing};
pub use program::{Conventions, Order, Output, Program, Resolve, Side};
pub use view::{Area, Arrangement, Binding, Level, Memory, Shape, Texels, TileBits, View};
