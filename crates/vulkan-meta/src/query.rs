//! Copies of query results.

use tepui_sysval::Words as _;
use tepui_vulkan::{Result, vk};

use crate::encoder::{Launch, MetaEncoder};
use crate::program::Program;
use crate::words::QueryWords;

/// Queries to copy, as [`tepui_vulkan_kit::QueryLayout`] lays them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Results {
    /// Address of the first query's values.
    pub values: u64,
    /// Address of the word that says whether the first query's values are there.
    pub available: u64,
    /// Values of a query.
    pub values_each: u8,
    /// Values are differences: the second of two numbers minus the first.
    pub pairs: bool,
    /// Number of queries.
    pub count: u32,
}

/// Copies query results to memory, after all work before.
///
/// # Errors
/// As [`MetaEncoder::launch`].
pub fn copy<E: MetaEncoder>(
    e: &mut E,
    results: &Results,
    address: u64,
    stride: u64,
    flags: vk::QueryResultFlags,
) -> Result<()> {
    let count = results.count;
    let words = QueryWords {
        values: results.values.into(),
        available: results.available.into(),
        to: address.into(),
        stride: stride.into(),
        count,
    };
    let program = Program::Queries {
        values: results.values_each,
        pairs: results.pairs,
        wide: flags.contains(vk::QueryResultFlags::_64),
        availability: flags.contains(vk::QueryResultFlags::WITH_AVAILABILITY),
        partial: flags.intersects(vk::QueryResultFlags::PARTIAL | vk::QueryResultFlags::WAIT),
    };
    e.order()?;
    e.launch(&Launch { program, words: words.words(), bindings: &[], threads: [count, 1, 1] })?;
    e.order()
}
