//! Order of memory accesses: launches, and the vertex and fragment parts of renders, which run at the same time unless a
//! barrier block of a compute stream or a barrier of a command waits.
//!
//! With [`crate::Options::check`] the accesses of a submission go to a [`Concurrency`]. It begins with nothing in flight: barriers on
//! earlier submissions are not looked at. Draws of a render are one item, and memory is taken for coherent.
//!
//! source: asahi_drm.h, `drm_asahi_cmd_header`: what a command's barriers wait for.

use std::hash::{Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tepui_order::Access;
use tepui_order::concurrent::{Concurrency, EventId, Item, Race};
use tepui_order::relaxed::Choices;
use tepui_softgpu::AccessObserver;

use crate::job::{ProgramPoint, Report, ReportKind};

/// The unit that stores are reported as which leave memory as it is.
pub(crate) const SILENT_WRITE: u8 = 1;

/// Limit on the races that a submission's report names.
const MAX_RACES: usize = 64;

/// Kinds of commands, each with a queue of its own in hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// A render pass.
    Render,
    /// A stream of dispatches.
    Compute,
}

/// A command's barriers: how many commands of the submission it waits for, of renders and of compute; none if it does not
/// wait for the queue.
pub type Barriers = [Option<u16>; 2];

/// A random order of a submission's commands in which each comes after those that its barriers wait for.
pub(crate) fn relaxed_order(
    commands: &[(CommandKind, Barriers)],
    choices: &mut Choices,
) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    for (command, (_, barriers)) in commands.iter().enumerate() {
        let waits_for = |&other: &usize| {
            let (kind, _) = commands[other];
            let earlier = commands[..other].iter().filter(|&&(of, _)| of == kind).count();
            barriers[kind as usize].is_some_and(|count| earlier < count.into())
        };
        let first = order.iter().rposition(waits_for).map_or(0, |at| at + 1);
        order.insert(first + choices.below(order.len() - first + 1), command);
    }
    order
}

/// The checker of the order of a GPU's work.
#[derive(Default)]
pub struct OrderChecker {
    state: Mutex<State>,
    /// Held while a submission runs.
    submission: Mutex<()>,
}

#[derive(Default)]
struct State {
    work: Concurrency,
    /// The part of the hardware, the address of the block or stream, and the command's number, of each item.
    places: Vec<(&'static str, u64, u32)>,
    /// Items of the commands so far, of renders and of compute.
    done: [Vec<std::ops::Range<Item>>; 2],
    /// The command that runs: its number and queue, its first item, and what it waits for.
    command: u32,
    queue: usize,
    first: Item,
    waits: Vec<EventId>,
    /// The last barrier of the stream, and the first item after it.
    barrier: Option<EventId>,
    since: Item,
    runs: bool,
}

/// A submission whose order is checked.
pub struct Running<'a> {
    checker: &'a OrderChecker,
    _alone: MutexGuard<'a, ()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OrderChecker {
    /// Begins a submission, after the one that runs.
    pub fn begin(&self) -> Running<'_> {
        let alone = lock(&self.submission);
        let mut state = lock(&self.state);
        state.work.clear();
        state.places.clear();
        state.done = Default::default();
        (state.command, state.runs) = (0, true);
        Running { checker: self, _alone: alone }
    }

    /// Whether a submission runs.
    pub(crate) fn runs(&self) -> bool {
        lock(&self.state).runs
    }

    /// Begins a launch of a compute stream, at an address.
    pub(crate) fn launch(&self, at: u64) {
        let mut state = lock(&self.state);
        let mut waits = state.waits.clone();
        waits.extend(state.barrier);
        state.begin("launch", at, &waits);
    }

    /// A barrier block of a compute stream.
    pub(crate) fn barrier(&self) {
        let mut state = lock(&self.state);
        let before = state.since..state.work.count();
        let implied: Vec<EventId> = state.barrier.into_iter().collect();
        state.since = before.end;
        state.barrier = Some(state.work.event([before], &implied));
    }

    /// Begins the vertex part of a render, with the address of its stream; the item.
    pub(crate) fn vertices(&self, at: u64) -> Item {
        let mut state = lock(&self.state);
        let waits = state.waits.clone();
        state.begin("vertex part of the render", at, &waits)
    }

    /// Begins the fragments of what the vertex part has drawn so far.
    pub(crate) fn fragments(&self, at: u64) {
        let mut state = lock(&self.state);
        let before = state.first..state.work.count();
        let after = state.work.event([before], &[]);
        state.begin("fragment part of the render", at, &[after]);
    }

    /// Continues an item.
    pub(crate) fn resume(&self, item: Item) {
        lock(&self.state).work.choose(item);
    }
}

impl Running<'_> {
    /// Begins a command.
    pub fn command(&self, kind: CommandKind, barriers: Barriers) {
        let mut state = lock(&self.checker.state);
        let first = state.work.count();
        state.command += 1;
        (state.first, state.since, state.barrier) = (first, first, None);
        let mut waits = Vec::new();
        for (queue, barrier) in barriers.into_iter().enumerate() {
            let Some(count) = barrier else { continue };
            let items: Vec<_> = state.done[queue].iter().take(count.into()).cloned().collect();
            waits.push(state.work.event(items, &[]));
        }
        state.waits = waits;
        // Items are added to the range as they begin.
        state.queue = kind as usize;
        state.done[kind as usize].push(first..first);
    }

    /// Ends the submission; returns the reports.
    pub fn end(self) -> Vec<Report> {
        let mut state = lock(&self.checker.state);
        state.runs = false;
        let races = state.work.races();
        let mut reports: Vec<Report> = Vec::new();
        for report in races.iter().take(MAX_RACES).map(|race| state.report(race)) {
            if !reports.iter().any(|known| known.at == report.at) {
                reports.push(report);
            }
        }
        reports
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        lock(&self.checker.state).runs = false;
    }
}

impl State {
    fn begin(&mut self, part: &'static str, at: u64, waits: &[EventId]) -> Item {
        let item = self.work.begin(waits);
        self.places.push((part, at, self.command));
        // The command that runs is the last one of its queue, and its items are the last ones.
        if let Some(running) = self.done[self.queue].last_mut() {
            running.end = item + 1;
        }
        item
    }

    fn report(&self, race: &Race) -> Report {
        let place = |item: Item| self.places.get(item as usize).copied().unwrap_or_default();
        let access = |access: Access| match access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Atomic => "atomic",
        };
        let side = |(item, kind): (Item, Access)| {
            let (part, at, _) = place(item);
            format!("{} by the {part} at {at:#x}", access(kind))
        };
        let [(from, _, first), (to, _, second)] = [race.earlier.0, race.later.0].map(place);
        let missing = match first == second {
            true => "a barrier block of the stream",
            false => "a barrier of the later command on the earlier one",
        };
        let what = format!(
            "memory at {:#x}: between the {} and the {}, {missing} is missing",
            race.address,
            side(race.earlier),
            side(race.later)
        );
        // One report for each kind of pair, wherever the commands are.
        let mut hasher = std::hash::DefaultHasher::new();
        (from, to, missing).hash(&mut hasher);
        let offset = (race.earlier.1 as u32) << 2 | race.later.1 as u32;
        let at = ProgramPoint { program: hasher.finish(), offset, text: format!("{from}, {to}") };
        let kind = ReportKind::MissingWait;
        Report { kind, what, at, shader: 0, lanes: 0, workgroup: [0; 3], count: 1 }
    }
}

impl AccessObserver for OrderChecker {
    fn access(&self, unit: u8, access: tepui_softgpu::Access, address: u64, bytes: u64) {
        let mut state = lock(&self.state);
        match unit {
            _ if !state.runs => {}
            SILENT_WRITE => state.work.silent_write(address, bytes),
            _ => state.work.access(access.into(), address, bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use tepui_softgpu::Access;

    use super::*;

    const TARGET: u64 = 0x4000;
    const BUFFER: u64 = 0x8000;

    /// A render whose fragments write a target, and a compute stream that reads it, writes a buffer in one launch, and reads that in another.
    fn submission(checker: &OrderChecker, barriers: Barriers, block: bool) -> Running<'_> {
        let running = checker.begin();
        let access = |access, address| checker.access(0, access, address, 16);
        running.command(CommandKind::Render, [Some(0); 2]);
        let vertices = checker.vertices(0x100);
        access(Access::Read, BUFFER);
        checker.fragments(0x100);
        access(Access::Write, TARGET);
        checker.resume(vertices);
        access(Access::Read, BUFFER + 16);
        checker.fragments(0x100);
        access(Access::Write, TARGET);
        running.command(CommandKind::Compute, barriers);
        checker.launch(0x200);
        access(Access::Read, TARGET);
        access(Access::Write, BUFFER);
        if block {
            checker.barrier();
        }
        checker.launch(0x240);
        access(Access::Read, BUFFER);
        running
    }

    #[test]
    fn commands_wait_for_those_that_their_barriers_count() {
        let checker = OrderChecker::default();
        assert_eq!(submission(&checker, [Some(1), Some(0)], true).end(), []);
        for barriers in [[None, None], [Some(0), Some(0)], [None, Some(0)]] {
            let reports = submission(&checker, barriers, true).end();
            let texts: Vec<String> = reports.iter().map(ToString::to_string).collect();
            let expected = [
                "memory at 0x8000: between the read by the vertex part of the render at 0x100 and the write by the launch at 0x200, \
                 a barrier of the later command on the earlier one is missing",
                "memory at 0x4000: between the write by the fragment part of the render at 0x100 and the read by the launch at 0x200, \
                 a barrier of the later command on the earlier one is missing",
            ];
            assert_eq!(texts, expected);
        }
    }

    #[test]
    fn relaxed_commands_come_after_those_that_their_barriers_count() {
        use CommandKind::{Compute, Render};
        let orders = |commands: &[(CommandKind, Barriers)]| {
            let order = |seed| relaxed_order(commands, &mut Choices::new(seed));
            (0..64).map(order).collect::<std::collections::BTreeSet<_>>()
        };
        let free = [(Render, [None; 2]), (Compute, [Some(0), None]), (Render, [None, Some(0)])];
        assert_eq!(orders(&free).len(), 6);
        let ordered = [(Render, [None; 2]), (Compute, [None; 2]), (Render, [Some(0), Some(1)])];
        let expected = [[0, 1, 2], [1, 0, 2], [1, 2, 0]];
        assert_eq!(orders(&ordered), expected.map(Vec::from).into());
        let all = [(Render, [None; 2]), (Render, [Some(1), None]), (Compute, [Some(2), Some(0)])];
        assert_eq!(orders(&all), [vec![0, 1, 2]].into());
    }

    /// A command without launches has no items: those of the render after it are the render's alone.
    #[test]
    fn a_barrier_on_an_empty_command_orders_nothing() {
        let checker = OrderChecker::default();
        for (barriers, races) in [([None, Some(1)], 1), ([Some(1), None], 0)] {
            let running = checker.begin();
            running.command(CommandKind::Compute, [None; 2]);
            running.command(CommandKind::Render, [None; 2]);
            checker.vertices(0x100);
            checker.access(0, Access::Write, BUFFER, 16);
            running.command(CommandKind::Compute, barriers);
            checker.launch(0x200);
            checker.access(0, Access::Read, BUFFER, 16);
            assert_eq!(running.end().len(), races, "{barriers:?}");
        }
    }

    #[test]
    fn launches_of_a_stream_wait_at_barrier_blocks() {
        let checker = OrderChecker::default();
        let reports = submission(&checker, [Some(1), Some(0)], false).end();
        let [report] = &reports[..] else { panic!("{reports:?}") };
        assert!(report.what.ends_with("a barrier block of the stream is missing"), "{report}");
        // A submission that ends early leaves nothing.
        drop(submission(&checker, [None; 2], false));
        assert!(!checker.runs());
        assert_eq!(checker.begin().end(), []);
    }
}
