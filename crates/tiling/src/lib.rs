//! Moves pixels between raster order and a GPU's order, at the speed of memory.
//!
//! Apple's and Arm's GPUs store images as tiles: tiles in raster order, elements within a tile along
//! a curve that keeps neighbours together. The two curves are one up to a twist ([`Order`]), so that
//! one set of kernels serves both. A [`Plane`] describes one level of one layer; [`tile`] and
//! [`detile`] move any rectangle of it, checked against both slices, on one thread or several.
//!
//! How it is fast:
//!
//! - whole **bricks** (32 bytes wide, 1 to 8 rows high, so that the tiled side is made of contiguous
//!   runs) go through shuffles of 256-bit registers (`avx2.rs`); where the processor lacks them, and
//!   at the edges of the rectangle, elements are moved one by one along incremental addresses
//!   (`scalar.rs`);
//! - what the caches hold is moved in long rows; what they do not, in groups of tiles, each fetched
//!   while the one before is moved, each side in the order of its memory.
//!
//! ```
//! use tepui_tiling::{Order, Plane, Rect, Threads, detile, tile};
//!
//! // 64×64 pixels of 4 bytes in tiles of 16×16; a row of tiles is 4 tiles of 1 KiB.
//! let plane = Plane::new(Order::Morton, 4, (64, 64), (16, 16), 4 << 10)?;
//! let all = Rect { x: 0, y: 0, width: 64, height: 64 };
//! let raster: Vec<u8> = (0..64 * 64 * 4).map(|byte| byte as u8).collect();
//! let (mut tiled, mut back) = (vec![0; raster.len()], vec![0; raster.len()]);
//! tile(&plane, &mut tiled, &raster, 64 * 4, all, Threads::One)?;
//! detile(&plane, &tiled, &mut back, 64 * 4, all, Threads::One)?;
//! assert_eq!(back, raster);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start reading in `plane.rs`, then `copy.rs`.
#![allow(non_snake_case)] // `_B` is the suffix of byte counts throughout.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod copy;
mod plane;
mod scalar;

pub use copy::{CopyError, Threads, detile, tile};
pub use plane::{Order, Plane, PlaneError, Rect};

#[cfg(test)]
mod tests;
