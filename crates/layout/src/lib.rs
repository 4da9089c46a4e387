//! Image layout: the parts that all GPU families share.
//!
//! A family's layout crate takes a [`Shape`] together with what only that family knows (tilings,
//! usages, strides from outside) and computes where each level of each layer lies. Shared are the
//! shape and the rules that follow from it alone ([`Shape::check`]), the way to name a texel
//! ([`Texel`]) or a rectangle ([`Region`]), and the trait [`ImageLayout`], through which pixels are
//! moved between raster order and any family's order.
//!
//! Start reading in `shape.rs`, then `region.rs`.
#![allow(non_snake_case)] // `_B` is the suffix of byte counts throughout.

pub mod morton;
mod region;
mod shape;

pub use region::{ImageLayout, Region, RegionError, RegionLocation, Surface, Texel};
pub use shape::{Dimension, FormatSupport, Limits, Shape, ShapeError};
pub use tepui_tiling::Threads;
