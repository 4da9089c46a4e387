//! Converts images between linear and tiled layouts (twiddled on AGX, u-interleaved on Mali, tiles X
//! and Y on Intel), close to the speed of memcpy.
//!
//! Apple's and Arm's GPUs store images as tiles: tiles in raster order, elements within a tile
//! along a space-filling curve that keeps neighbours together. The two curves differ by one
//! exclusive or ([`Order`]), so one set of kernels serves both. Intel's tiles are permutations of
//! address bits whose lowest bits are those of the column, and are copied in runs (`runs.rs`). A [`Plane`] describes one mip level
//! of one layer; [`tile`] and [`detile`] copy any rectangle of it, checked against both slices, on
//! one thread or several.
//!
//! Why it is fast:
//!
//! - The interior of a rectangle is copied in **bricks**: blocks 32 bytes wide and 1 to 8 rows
//!   high, chosen so that their tiled side consists of contiguous runs. Shuffles of 256-bit
//!   registers reorder them (`avx2/`). Edges, and processors without AVX2, are copied element by
//!   element with incremental addresses (`scalar.rs`).
//! - Copies that fit the caches go in long rows. Larger ones go in groups of tiles, and each group
//!   is prefetched while the previous one is copied.
//!
//! ```
//! use tepui_tiling::{Order, Plane, Rect, Threads, detile, tile};
//!
//! // 64×64 pixels of 4 bytes in tiles of 16×16; a row of tiles is 4 tiles of 1 KiB.
//! let plane = Plane::new(Order::Morton, 4, (64, 64), (16, 16), 4 << 10)?;
//! let all = Rect { x: 0, y: 0, w: 64, h: 64 };
//! let raster: Vec<u8> = (0..64 * 64 * 4).map(|byte| byte as u8).collect();
//! let (mut tiled, mut back) = (vec![0; raster.len()], vec![0; raster.len()]);
//! tile(&plane, &mut tiled, &raster, 64 * 4, all, Threads::One)?;
//! detile(&plane, &tiled, &mut back, 64 * 4, all, Threads::One)?;
//! assert_eq!(back, raster);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start reading in `plane.rs` (addresses), then `copy.rs` (checks and threads).
#![allow(non_snake_case)] // `_B` is the suffix of byte counts throughout.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod copy;
mod job;
mod plane;
mod runs;
mod scalar;

pub use copy::{CopyError, Threads, detile, tile};
pub use plane::{AddressBits, Order, Plane, PlaneError, Rect};

#[cfg(test)]
mod tests;
