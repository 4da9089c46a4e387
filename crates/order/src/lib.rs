//! Order of memory accesses by a GPU's units: finds accesses whose result depends on an order that no
//! event asks for.
//!
//! A family describes its GPU as a [`Table`]: units, the caches that they read and write through, and
//! the level of memory that each cache is filled from. Its model then reports accesses
//! ([`Tracker::access`]) and what commands do to caches and to work in flight ([`Event`]). The tracker
//! answers for each access whether all behaviours that the hardware is allowed give the same result:
//!
//! - accesses of a command may be performed at any time until an event waits for the unit;
//! - data in a cache may be written back at any time, and is written back at a flush at the latest;
//! - a cache may keep or drop a line that it has read or written, until the line is invalidated.
//!
//! An access for which two behaviours differ is a [`Hazard`]: it names the earlier access and the event
//! that is [missing](Missing) between the two.
//!
//! ```
//! use tepui_order::{Access, Cache, Event, Level, Missing, Table, Tracker, Unit};
//!
//! static TABLE: Table = Table {
//!     caches: &[
//!         Cache { name: "render cache", fills_from: Level::Memory, flush_invalidates: true },
//!         Cache { name: "texture cache", fills_from: Level::Memory, flush_invalidates: false },
//!     ],
//!     units: &[
//!         Unit { name: "render target", cache: Some(0), in_order: true, posted: false, last: false },
//!         Unit { name: "sampler", cache: Some(1), in_order: false, posted: false, last: false },
//!     ],
//! };
//! let mut tracker = Tracker::new(&TABLE);
//! tracker.command();
//! tracker.access(0, Access::Write, 0x1000, 4);
//! tracker.command();
//! tracker.access(1, Access::Read, 0x1000, 4);
//! assert_eq!(tracker.take()[0].missing, Missing::Flush { cache: 0, to: Level::Memory });
//! ```
//!
//! A [`Trace`] keeps a sequence, so that it can be judged again without one of its events; with an [`Omission`] a model
//! itself leaves out an event of a run. [`relaxed`] executes accesses in another of the orders that the hardware may take.
//!
//! Start reading at [`tracker`]; [`shadow`](self) has what is known of each line of memory.

pub mod concurrent;
mod omit;
pub mod relaxed;
mod shadow;
mod table;
pub mod trace;
pub mod tracker;

pub use omit::{CodeChange, Omission, Omitted, OrderEvent};
pub use table::{Cache, CacheSet, Event, Level, Table, Unit, UnitSet};
pub use trace::{Removals, Trace, spaced};
pub use tracker::{Access, Hazard, Missing, Side, Tracker};
