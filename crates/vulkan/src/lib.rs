//! The Vulkan runtime that Tepui's drivers share.
//!
//! ```text
//! loader ─▶ instance ─▶ physical device ─▶ device ─▶ queue ─▶ Backend::submit
//!                                            │
//!              pipeline, descriptor, image ──┤
//!                                            ▼
//!                    command buffer ─▶ CommandState ─▶ Encoder (draw, dispatch, copy …)
//! ```
//!
//! It names no GPU family: a driver implements [`backend::Backend`] and gives its limits, features and formats as data
//! ([`backend::PhysicalInfo`]). Every entry point is generic over the family; [`commands_of`] makes the table of one.
//!
//! Modules stand in layers, and each names those of its own layer and of the layers below it:
//!
//! | layer | modules |
//! | --- | --- |
//! | entry points by name, for the loader | [`lookup`], [`member`] |
//! | commands | [`record`], [`dynamic`], [`transfer`], [`transform_feedback`], [`shader_object`], `submit` |
//! | command buffers, and the modes of their draws | [`command`], [`draws`] |
//! | objects | [`memory`], [`image`], [`sparse`], [`descriptor`], [`pipeline`], [`render_pass`], [`sync`], [`wsi`] |
//! | devices | [`instance`], [`physical`], [`device`], [`queue`] |
//! | interface of a family | [`backend::Backend`], [`backend::Encoder`] |
//! | data, over a family's [`backend::Types`] | descriptions of [`backend`], [`command::CommandState`], [`state`], [`dependency`], [`descriptor::SetLayout`], [`cache`] |
//! | handles, chains, errors, the registry | [`object`], [`mod@entry`], [`dispatch`], [`table`], [`chain`], [`error`], [`registry`] |
//!
//! Start reading at [`backend`].

#![recursion_limit = "256"]
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "entry points trust the application as the specification's valid usage says"
)]

pub mod backend;
mod barrier;
mod binary;
mod bind;
pub mod blending;
pub mod cache;
pub mod chain;
pub mod command;
pub mod debug;
mod deferred;
pub mod dependency;
pub mod descriptor;
pub mod device;
pub mod dispatch;
pub mod draws;
pub mod dynamic;
pub mod entry;
pub mod error;
pub mod executable;
pub mod feedback;
pub mod heap_usage;
pub mod host;
pub mod image;
pub mod instance;
mod key;
pub mod lookup;
pub mod member;
pub mod memory;
pub mod object;
pub mod offer;
pub mod pages;
pub mod physical;
pub mod pipeline;
pub mod pipeline_cache;
pub mod promoted;
pub mod queue;
pub mod record;
pub mod registry;
pub mod render_pass;
pub mod shader_object;
pub mod sparse;
mod sparse_block;
pub mod state;
mod submit;
pub mod sync;
pub mod table;
pub mod transfer;
pub mod transform_feedback;
pub mod unoffered;
pub mod wsi;
pub mod ycbcr;

pub use error::{Error, Result};
pub use lookup::commands_of;
pub use vulkanalia_sys as vk;
