//! Order of memory accesses: work of several queues and of the jobs of a chain, which runs at the same time unless
//! something waits.
//!
//! With [`crate::Options::check`] the accesses of a group's queues, or of a chain of jobs, go to a [`Concurrency`]. Each
//! instruction that other units execute is an item. It runs until the queue has waited for its scoreboard entry; a sync object
//! passes what a queue has waited for on to another one ([`streams`]), and a job waits for those that its header names
//! ([`chain`]).
//!
//! Memory is coherent but for the caches of the texture units: an item's reads through them are an item of their own, its
//! *sampler item*, which waits only for what the last invalidation of those caches has waited for.
//!
//! It begins anew when all queues are idle: the kernel waits for a stream and cleans caches between two of a queue.
//!
//! source: Mesa, the comment on caches in panvk_vX_cmd_buffer.c (`add_memory_dependency`), cs_builder.h; Linux,
//! panthor_sched.c (`prepare_job_instrs`).

mod chain;
mod streams;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tepui_mali_packets::cs::CsOpcode;
use tepui_mali_packets::job::JobType;
use tepui_order::Access;
use tepui_order::concurrent::{Concurrency, EventId, Item, Order, Race};
use tepui_softgpu::{AccessObserver, Reports};

use crate::job::{ProgramPoint, Report, ReportKind};
use streams::{QueueOrder, SyncObject};

/// Units that accesses are reported as.
pub(crate) mod unit {
    /// Shaders and all that reaches memory through coherent caches.
    pub const SHADER: u8 = 0;
    /// The texture unit, which has a cache that is not coherent.
    pub const TEXTURE: u8 = 1;
    /// The tiler, which appends to a context.
    pub const TILER: u8 = 2;
    /// Reads of instructions and headers, and sync objects, which are events: their accesses are not compared.
    pub const FRONT: u8 = 3;
}

/// Limit on the races that are reported at a time.
const MAX_RACES: usize = 64;

/// Kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Instruction(CsOpcode),
    Job(JobType),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Instruction(opcode) => write!(f, "{opcode}"),
            Kind::Job(kind) => write!(f, "job of type {kind}"),
        }
    }
}

/// Description of an item.
#[derive(Clone, Copy, Debug)]
struct Place {
    kind: Kind,
    /// Address of the instruction or job.
    at: u64,
    queue: usize,
    /// The item that this one has the texture reads of, or itself.
    owner: Item,
}

/// Work of a group or chain that may be running.
#[derive(Clone, Default)]
pub(crate) struct OrderState {
    work: Concurrency,
    places: Vec<Place>,
    queues: Vec<QueueOrder>,
    /// Sync objects by address.
    syncs: BTreeMap<u64, SyncObject>,
    /// Items of streams that have ended.
    ended: Vec<Range<Item>>,
    current: Item,
    /// Memory of threads and workgroups of the current item, which the next one uses again.
    hidden: Vec<Range<u64>>,
    /// Jobs of the chain by index: their items.
    jobs: BTreeMap<u32, Range<Item>>,
    /// The last invalidation of the texture units' caches in the chain.
    invalidated: Option<EventId>,
    /// Whether draws of a context wait for each other without an event.
    tiler_in_order: bool,
}

/// The checker of the order of a GPU's work.
#[derive(Default)]
pub(crate) struct OrderChecker {
    /// Work that runs.
    state: Mutex<Option<OrderState>>,
    /// Held while something runs.
    alone: Mutex<()>,
}

/// Work whose order is checked.
pub(crate) struct Running<'a> {
    checker: &'a OrderChecker,
    _alone: MutexGuard<'a, ()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OrderChecker {
    /// Continues the work of a group, or begins that of a chain.
    pub fn begin(&self, state: OrderState) -> Running<'_> {
        let alone = lock(&self.alone);
        *lock(&self.state) = Some(state);
        Running { checker: self, _alone: alone }
    }

    fn with<R>(&self, body: impl FnOnce(&mut OrderState) -> R) -> Option<R> {
        lock(&self.state).as_mut().map(body)
    }

    /// Leaves out accesses of memory that threads or workgroups of the current item have of their own.
    pub fn hide(&self, start: u64, bytes: u64) {
        if bytes > 0 {
            self.with(|state| state.hidden.push(start..start.saturating_add(bytes)));
        }
    }
}

impl Running<'_> {
    /// Stops, and returns what may still be running. When nothing is, the work is judged first.
    pub fn end(self, reports: &Reports<ReportKind>) -> OrderState {
        let mut state = lock(&self.checker.state).take().unwrap_or_default();
        if state.is_idle() {
            state.judge().into_iter().for_each(|report| reports.add(report));
            state.clear();
        }
        state
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        lock(&self.checker.state).take();
    }
}

impl OrderState {
    /// Forgets all items and accesses, but not the scoreboard entries that queues have chosen.
    fn clear(&mut self) {
        let mut queues = std::mem::take(&mut self.queues);
        queues.iter_mut().for_each(QueueOrder::clear);
        let mut work = std::mem::take(&mut self.work);
        work.clear();
        let tiler_in_order = self.tiler_in_order;
        *self = OrderState { work, queues, tiler_in_order, ..OrderState::default() };
    }

    /// Begins an item, and with `samples` its sampler item; returns both.
    fn begin(
        &mut self,
        place: (Kind, u64, usize),
        waits: &[EventId],
        samples: Option<&[EventId]>,
    ) -> Range<Item> {
        let (kind, at, queue) = place;
        let owner = self.work.begin(waits);
        if let Some(waits) = samples {
            self.work.begin(waits);
        }
        let end = self.work.count();
        self.places.resize(end as usize, Place { kind, at, queue, owner });
        self.work.choose(owner);
        self.current = owner;
        self.hidden.clear();
        owner..end
    }

    fn place(&self, item: Item) -> Option<&Place> {
        self.places.get(item as usize)
    }

    /// The item that issues an item's accesses, and whether they go through the texture unit.
    fn owner(&self, item: Item) -> (Item, bool) {
        self.place(item).map_or((item, false), |place| (place.owner, place.owner != item))
    }

    /// The event that is missing between two accesses; none if their order does not matter.
    fn missing(&self, race: &Race, order: &Order) -> Option<ReportKind> {
        let (earlier, later) = (race.earlier.0, race.later.0);
        let ((from, _), (to, samples)) = (self.owner(earlier), self.owner(later));
        if from == to {
            return None;
        }
        if !samples || !order.has(from, to) {
            return Some(ReportKind::MissingWait);
        }
        // The cache can only hold what another sampler item has read since it was last invalidated, before the write.
        let holds = |item: Item| {
            let (_, samples) = self.owner(item);
            samples && item != later && !order.has(item, later) && !order.has(earlier, item)
        };
        self.work.users(race.address).any(holds).then_some(ReportKind::MissingInvalidate)
    }

    /// The accesses that nothing orders.
    fn judge(&self) -> Vec<Report> {
        let order = self.work.order();
        let mut reports: Vec<Report> = Vec::new();
        for race in self.work.races() {
            if reports.len() >= MAX_RACES {
                break;
            }
            let report = self.missing(&race, &order).map(|kind| self.report(&race, kind));
            let known = |report: &Report| reports.iter().any(|known| known.at == report.at);
            if let Some(report) = report.filter(|report| !known(report)) {
                reports.push(report);
            }
        }
        reports
    }

    fn report(&self, race: &Race, kind: ReportKind) -> Report {
        let side = |(item, access): (Item, Access)| {
            let access = match access {
                Access::Read => "read",
                Access::Write => "write",
                Access::Atomic => "atomic access",
            };
            let Some(place) = self.place(item) else {
                return (access.to_owned(), access.to_owned());
            };
            let Place { kind, at, queue, .. } = place;
            let queue = match kind {
                Kind::Instruction(_) => format!(" of queue {queue}"),
                Kind::Job(_) => String::new(),
            };
            (format!("{access} by the {kind} at {at:#x}{queue}"), format!("{access} by the {kind}"))
        };
        let ((earlier, from), (later, to)) = (side(race.earlier), side(race.later));
        let missing = match kind {
            ReportKind::MissingInvalidate => "an invalidation of the texture units' caches",
            _ => "a wait",
        };
        let what = format!(
            "memory at {:#x}: between the {earlier} and the {later}, {missing} is missing",
            race.address
        );
        command_report(kind, what, format!("{from}, {to}"))
    }
}

/// A report about commands: one for each text, wherever the commands are.
fn command_report(kind: ReportKind, what: String, text: String) -> Report {
    let mut hasher = std::hash::DefaultHasher::new();
    (kind, &text).hash(&mut hasher);
    Report { kind, what, at: ProgramPoint { program: hasher.finish(), offset: 0, text } }
}

impl AccessObserver for OrderChecker {
    fn access(&self, unit: u8, access: tepui_softgpu::Access, address: u64, bytes: u64) {
        if unit == unit::FRONT {
            return;
        }
        self.with(|state| {
            if state.hidden.iter().any(|range| range.contains(&address)) {
                return;
            }
            let access = match unit {
                unit::TILER if state.tiler_in_order => Access::Atomic,
                _ => access.into(),
            };
            match unit {
                unit::TEXTURE => {
                    let current = state.current;
                    let sampler = state.place(current + 1);
                    let item = sampler.filter(|place| place.owner == current).map(|_| current + 1);
                    state.work.choose(item.unwrap_or(current));
                    state.work.access(access, address, bytes);
                    state.work.choose(current);
                }
                _ => state.work.access(access, address, bytes),
            }
        });
    }
}
