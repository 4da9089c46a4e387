//! Description of a GPU family's units and caches, and the events that order accesses.

/// Limit on the caches of a family.
pub(crate) const MAX_CACHES: usize = 8;

/// Limit on the units of a family.
pub(crate) const MAX_UNITS: usize = 16;

/// Set of caches: bit N is cache N of the table.
pub type CacheSet = u32;

/// Set of units: bit N is unit N of the table.
pub type UnitSet = u32;

/// Levels of memory below the units' caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The cache that all units of the GPU share, such as Intel's L3. A family without one uses
    /// [`Level::Memory`] alone.
    Shared,
    /// Memory, as the CPU and units without a cache see it.
    Memory,
}

/// A cache of one or more units.
#[derive(Debug)]
pub struct Cache {
    /// Its name in findings.
    pub name: &'static str,
    /// The level that its lines are read from.
    pub fills_from: Level,
    /// Whether a flush also drops the lines, so that a cache that is written never holds old lines after one.
    pub flush_invalidates: bool,
}

/// A unit that accesses memory.
#[derive(Debug)]
pub struct Unit {
    /// Its name in findings.
    pub name: &'static str,
    /// The cache that it reads and writes through; none if it accesses memory itself.
    pub cache: Option<u8>,
    /// Whether its accesses are performed in order of commands without an event that waits.
    pub in_order: bool,
    /// For a unit without a cache: whether its writes are performed only at the next [`Event::Finish`], instead of
    /// when the command is read.
    pub posted: bool,
    /// Whether an access is performed only after all accesses and flushes of earlier commands.
    pub last: bool,
}

/// The units and caches of a GPU family.
#[derive(Debug)]
pub struct Table {
    /// The caches, at most 8.
    pub caches: &'static [Cache],
    /// The units, at most 16.
    pub units: &'static [Unit],
}

impl Table {
    /// The units for which a condition holds.
    pub(crate) fn units_where(&self, holds: impl Fn(&Unit) -> bool) -> UnitSet {
        let units = self.units.iter().enumerate().filter(|(_, unit)| holds(unit));
        units.fold(0, |set, (unit, _)| set | 1 << unit)
    }
}

/// Effect of a command on caches and on work in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Drops the lines of caches now, while earlier commands may still run.
    Invalidate(CacheSet),
    /// Asks for data of caches to be written down to a level, after the accesses of all earlier commands. It is complete at the next
    /// [`Event::Finish`].
    Flush(CacheSet, Level),
    /// Waits for all earlier accesses of units. Posted writes are waited for only if their unit comes [last](Unit::last); then
    /// everything before the last of them is complete.
    Wait(UnitSet),
    /// Waits for all earlier accesses, and for all flushes.
    Finish,
    /// Waits until the last write of the bytes at an address is seen in memory. If a unit wrote it that comes
    /// [last](Unit::last), everything before that write is complete.
    Poll(u64),
}
