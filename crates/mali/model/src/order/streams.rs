//! Order of the instructions of command streams: scoreboard entries, sync objects, registers.

use std::collections::BTreeMap;
use std::ops::Range;

use tepui_mali_packets::cs::{self, CsCondition, CsOpcode};
use tepui_mali_packets::{Packet, Problem};
use tepui_mali_streams::{FrontEnd, REGISTERS, RegisterSet, compares, registers};
use tepui_order::concurrent::{EventId, Item};
use tepui_softgpu::AddressSpace;

use super::{Kind, OrderChecker, OrderState, Report, command_report};
use crate::job::ReportKind;

/// Scoreboard entries that fields of instructions can name.
const ENTRIES: usize = 16;

/// Instructions in flight with a scoreboard entry.
#[derive(Clone, Default)]
struct Entry {
    items: Vec<Range<Item>>,
    /// Invalidations of the texture units' caches.
    invalidations: Vec<EventId>,
}

/// A LOAD_MULTIPLE that may not have written its registers. A STORE_MULTIPLE has read its own when it is issued.
#[derive(Clone, Copy)]
struct PendingLoad {
    at: u64,
    entry: usize,
    registers: RegisterSet,
}

/// Work that a queue has started and waited for.
#[derive(Clone, Default)]
pub(super) struct QueueOrder {
    /// Whether it has a stream.
    runs: bool,
    /// Work that it has waited for.
    known: Option<EventId>,
    /// Work that had been waited for at the last invalidation of the texture units' caches.
    fresh: Option<EventId>,
    entries: [Entry; ENTRIES],
    /// Entries of instructions that run shaders, and of the others.
    endpoint: usize,
    other: usize,
    loads: Vec<PendingLoad>,
    /// All items of its stream.
    items: Vec<Range<Item>>,
    /// By sync object, the changes that it knows to be done.
    seen: BTreeMap<u64, usize>,
}

/// A change of a sync object.
#[derive(Clone, Copy)]
struct Change {
    value: u64,
    /// Item without accesses that waits for what the change waits for.
    item: Item,
    fresh: Option<EventId>,
}

/// A sync object's changes, in order.
#[derive(Clone, Default)]
pub(super) struct SyncObject {
    initial: u64,
    changes: Vec<Change>,
}

impl QueueOrder {
    /// Forgets everything but the chosen entries.
    pub fn clear(&mut self) {
        let (endpoint, other) = (self.endpoint, self.other);
        *self = QueueOrder { endpoint, other, ..QueueOrder::default() };
    }
}

fn selected(mask: u32) -> impl Iterator<Item = usize> {
    (0..ENTRIES).filter(move |entry| mask >> entry & 1 != 0)
}

/// A change or test of a sync object, with the register of its address and of its operand.
struct SyncFields {
    address: u32,
    data: u32,
    wait_mask: u32,
    signal_slot: u32,
    wide: bool,
    adds: bool,
}

fn sync_fields(opcode: CsOpcode, bytes: &[u8; 8]) -> Result<Option<SyncFields>, Problem> {
    macro_rules! change {
        ($name:ident, $wide:literal, $adds:literal) => {{
            let i = cs::$name::unpack(bytes)?;
            Some(SyncFields {
                address: i.address,
                data: i.data,
                wait_mask: i.wait_mask,
                signal_slot: i.signal_slot,
                wide: $wide,
                adds: $adds,
            })
        }};
    }
    Ok(match opcode {
        CsOpcode::SyncAdd32 => change!(CsSyncAdd32, false, true),
        CsOpcode::SyncSet32 => change!(CsSyncSet32, false, false),
        CsOpcode::SyncAdd64 => change!(CsSyncAdd64, true, true),
        CsOpcode::SyncSet64 => change!(CsSyncSet64, true, false),
        _ => None,
    })
}

/// The value of one register or of a pair; 0 of those that do not exist, which fault.
fn value(front: &FrontEnd, register: u32, wide: bool) -> u64 {
    let word = |index: u32| front.registers.get(index as usize).copied().map_or(0, u64::from);
    word(register) | if wide { word(register + 1) << 32 } else { 0 }
}

impl OrderState {
    /// A group of queues.
    pub fn of_queues(queues: usize) -> OrderState {
        let queues = vec![QueueOrder::default(); queues];
        OrderState { queues, tiler_in_order: true, ..OrderState::default() }
    }

    /// Whether no queue has a stream.
    pub fn is_idle(&self) -> bool {
        self.queues.iter().all(|queue| !queue.runs)
    }

    /// A queue begins a stream. The kernel has waited for those that have ended, and flushes and invalidates before it.
    pub fn start(&mut self, queue: usize) {
        let ended = self.ended.clone();
        let known = (!ended.is_empty()).then(|| self.work.event(ended, &[]));
        if let Some(queue) = self.queues.get_mut(queue) {
            (queue.runs, queue.known, queue.fresh) = (true, known, known);
        }
    }

    /// A queue's stream has ended: the kernel waits for all that it has started.
    pub fn finish(&mut self, queue: usize) {
        if let Some(queue) = self.queues.get_mut(queue) {
            self.ended.append(&mut queue.items);
            queue.clear();
        }
    }

    /// Begins an item of a queue with a scoreboard entry.
    fn issue(
        &mut self,
        queue: usize,
        opcode: CsOpcode,
        at: u64,
        entry: usize,
        extra: Option<EventId>,
        samples: bool,
    ) -> Range<Item> {
        let q = &self.queues[queue];
        let waits: Vec<EventId> = q.known.into_iter().chain(extra).collect();
        let fresh: Vec<EventId> = q.fresh.into_iter().collect();
        let samples = samples.then_some(&fresh[..]);
        let items = self.begin((Kind::Instruction(opcode), at, queue), &waits, samples);
        let q = &mut self.queues[queue];
        q.entries[entry].items.push(items.clone());
        q.items.push(items.clone());
        items
    }

    /// Items with entries of a mask, and invalidations.
    fn in_flight(&self, queue: usize, mask: u32) -> (Vec<Range<Item>>, Vec<EventId>) {
        let entries = || selected(mask).map(|entry| &self.queues[queue].entries[entry]);
        let items = entries().flat_map(|entry| entry.items.iter().cloned()).collect();
        (items, entries().flat_map(|entry| entry.invalidations.iter().copied()).collect())
    }

    /// The event of a deferred instruction that waits for entries.
    fn deferred(&mut self, queue: usize, mask: u32) -> Option<EventId> {
        let (items, _) = self.in_flight(queue, mask);
        let waits = !items.is_empty();
        waits.then(|| self.work.event(items, &[]))
    }

    fn wait(&mut self, queue: usize, mask: u32) {
        let (items, invalidations) = self.in_flight(queue, mask);
        let q = &mut self.queues[queue];
        for entry in selected(mask) {
            q.entries[entry] = Entry::default();
        }
        if !items.is_empty() {
            let before: Vec<EventId> = q.known.into_iter().collect();
            q.known = Some(self.work.event(items, &before));
        }
        if !invalidations.is_empty() {
            let all: Vec<EventId> = q.fresh.into_iter().chain(invalidations).collect();
            q.fresh = Some(self.work.event([], &all));
        }
    }

    /// A change of a sync object, before it is executed.
    fn change(
        &mut self,
        queue: usize,
        opcode: CsOpcode,
        at: u64,
        i: &SyncFields,
        front: &FrontEnd,
        vm: &AddressSpace,
    ) {
        let address = value(front, i.address, true);
        let mut bytes = [0; 8];
        let size = if i.wide { 8 } else { 4 };
        if vm.read(address, &mut bytes[..size]).is_err() {
            return;
        }
        let old = u64::from_le_bytes(bytes);
        let data = value(front, i.data, i.wide);
        let new = match (i.adds, i.wide) {
            (true, true) => old.wrapping_add(data),
            (true, false) => u64::from((old as u32).wrapping_add(data as u32)),
            (false, _) => data,
        };
        let (_, invalidations) = self.in_flight(queue, i.wait_mask);
        let extra = self.deferred(queue, i.wait_mask);
        let fresh = self.queues[queue].fresh;
        let fresh = match invalidations.is_empty() {
            true => fresh,
            false => {
                let all: Vec<EventId> = fresh.into_iter().chain(invalidations).collect();
                Some(self.work.event([], &all))
            }
        };
        let entry = i.signal_slot as usize % ENTRIES;
        let item = self.issue(queue, opcode, at, entry, extra, false).start;
        let object = self.syncs.entry(address).or_default();
        if object.changes.last().map_or(object.initial, |change| change.value) != old {
            // Something else has changed it.
            *object = SyncObject { initial: old, changes: Vec::new() };
        }
        object.changes.push(Change { value: new, item, fresh });
        // The queue goes on before a change that is deferred.
        if extra.is_none() {
            let count = object.changes.len();
            self.queues[queue].seen.insert(address, count);
        }
    }

    /// A wait for a sync object, which is over.
    fn waited(&mut self, queue: usize, address: u64, wanted: u64, condition: CsCondition) {
        let Some(object) = self.syncs.get(&address) else { return };
        let seen = self.queues[queue].seen.get(&address).copied().unwrap_or(0);
        let seen = seen.min(object.changes.len());
        // The first state that ends the wait, after those that the queue knows of.
        let value = |count: usize| match count.checked_sub(1) {
            Some(last) => object.changes[last].value,
            None => object.initial,
        };
        let holds = |count: &usize| compares(condition, value(*count), wanted);
        let count = (seen..=object.changes.len()).find(holds).unwrap_or(object.changes.len());
        let new = &object.changes[seen.min(count)..count];
        let items: Vec<Range<Item>> =
            new.iter().map(|change| change.item..change.item + 1).collect();
        let fresh: Vec<EventId> = new.iter().filter_map(|change| change.fresh).collect();
        let q = &mut self.queues[queue];
        q.seen.insert(address, count.max(seen));
        if items.is_empty() {
            return;
        }
        let before: Vec<EventId> = q.known.into_iter().collect();
        q.known = Some(self.work.event(items, &before));
        if !fresh.is_empty() {
            let all: Vec<EventId> = q.fresh.into_iter().chain(fresh).collect();
            q.fresh = Some(self.work.event([], &all));
        }
    }

    /// A queue waits for all that another has started.
    fn hand_over(&mut self, from: usize, to: usize) {
        let [Some(source), Some(target)] = [from, to].map(|k| self.queues.get(k)) else { return };
        let before: Vec<EventId> = source.known.into_iter().chain(target.known).collect();
        let items = source.items.clone();
        let known = self.work.event(items, &before);
        self.queues[to].known = Some(known);
    }

    /// Mistakes in the registers that an instruction accesses.
    fn loads(
        &mut self,
        queue: usize,
        opcode: CsOpcode,
        at: u64,
        bytes: &[u8; 8],
    ) -> Result<Option<Report>, Problem> {
        let access = registers(opcode, bytes)?;
        let q = &mut self.queues[queue];
        let report = q.loads.iter().find_map(|load| {
            let (reads, writes) = (access.reads & load.registers, access.writes & load.registers);
            let (what, set) = match (reads, writes) {
                (0, 0) => return None,
                (0, writes) => ("written", writes),
                (reads, _) => ("read", reads),
            };
            let text = format!(
                "r{} is {what} by the {opcode} at {at:#x} of queue {queue} before a WAIT for the LOAD_MULTIPLE at {:#x}",
                set.trailing_zeros(),
                load.at
            );
            let pair = format!("register {what} by {opcode} after LOAD_MULTIPLE");
            Some(command_report(ReportKind::MissingWait, text, pair))
        });
        match opcode {
            CsOpcode::LoadMultiple => {
                q.loads.push(PendingLoad { at, entry: q.other, registers: access.writes });
            }
            CsOpcode::Wait => {
                let mask = cs::CsWait::unpack(bytes)?.wait_mask;
                q.loads.retain(|load| mask >> load.entry & 1 == 0);
            }
            _ => {}
        }
        // A stream that never waits does not keep more than it has registers.
        if q.loads.len() > REGISTERS {
            q.loads.remove(0);
        }
        Ok(report)
    }

    /// An instruction, before it is executed.
    fn instruction(
        &mut self,
        queue: usize,
        at: u64,
        opcode: CsOpcode,
        bytes: &[u8; 8],
        front: &FrontEnd,
        vm: &AddressSpace,
    ) -> Result<Option<Report>, Problem> {
        if queue >= self.queues.len() {
            return Ok(None);
        }
        let report = self.loads(queue, opcode, at, bytes)?;
        if self.work.is_truncated() {
            return Ok(report);
        }
        let (endpoint, other) = (self.queues[queue].endpoint, self.queues[queue].other);
        match opcode {
            CsOpcode::SetSbEntry => {
                let i = cs::CsSetSbEntry::unpack(bytes)?;
                let q = &mut self.queues[queue];
                (q.endpoint, q.other) = (i.endpoint_entry as usize, i.other_entry as usize);
            }
            CsOpcode::Wait => self.wait(queue, cs::CsWait::unpack(bytes)?.wait_mask),
            CsOpcode::LoadMultiple | CsOpcode::StoreMultiple => {
                self.issue(queue, opcode, at, other, None, false);
            }
            CsOpcode::RunCompute
            | CsOpcode::RunComputeIndirect
            | CsOpcode::RunIdvs
            | CsOpcode::RunFragment
            | CsOpcode::RunFullscreen => {
                self.issue(queue, opcode, at, endpoint, None, true);
            }
            CsOpcode::StoreState => {
                let i = cs::CsStoreState::unpack(bytes)?;
                let extra = self.deferred(queue, i.wait_mask);
                let entry = i.signal_slot as usize % ENTRIES;
                self.issue(queue, opcode, at, entry, extra, false);
            }
            CsOpcode::FinishFragment => {
                let i = cs::CsFinishFragment::unpack(bytes)?;
                let extra = self.deferred(queue, i.wait_mask);
                let entry = i.signal_slot as usize % ENTRIES;
                self.issue(queue, opcode, at, entry, extra, false);
            }
            CsOpcode::FlushCache2 => {
                let i = cs::CsFlushCache2::unpack(bytes)?;
                let extra = self.deferred(queue, i.wait_mask);
                let entry = i.signal_slot as usize % ENTRIES;
                let items = self.issue(queue, opcode, at, entry, extra, false);
                if i.other_invalidate {
                    let before: Vec<EventId> = self.queues[queue].fresh.into_iter().collect();
                    let event = self.work.event([items], &before);
                    self.queues[queue].entries[entry].invalidations.push(event);
                }
            }
            CsOpcode::SyncWait32 => {
                let i = cs::CsSyncWait32::unpack(bytes)?;
                let wanted = value(front, i.data, false);
                self.waited(queue, value(front, i.address, true), wanted, i.condition);
            }
            CsOpcode::SyncWait64 => {
                let i = cs::CsSyncWait64::unpack(bytes)?;
                let wanted = value(front, i.data, true);
                self.waited(queue, value(front, i.address, true), wanted, i.condition);
            }
            _ => {
                if let Some(i) = sync_fields(opcode, bytes)? {
                    self.change(queue, opcode, at, &i, front, vm);
                }
            }
        }
        Ok(report)
    }
}

impl OrderChecker {
    /// Handles an instruction that a queue executes next, at an address; returns what is wrong with it. Fields that violate their
    /// declaration are left to the interpreter.
    pub fn instruction(
        &self,
        queue: usize,
        at: u64,
        opcode: CsOpcode,
        bytes: &[u8; 8],
        front: &FrontEnd,
        vm: &AddressSpace,
    ) -> Option<Report> {
        let handle = |state: &mut OrderState| {
            state.instruction(queue, at, opcode, bytes, front, vm).ok().flatten()
        };
        self.with(handle).flatten()
    }

    /// A queue has used up its heap, and another's handler begins when its work so far is done; or the handler has ended.
    pub fn hand_over(&self, from: usize, to: usize) {
        self.with(|state| state.hand_over(from, to));
    }

    /// A queue's stream has ended.
    pub fn finish(&self, queue: usize) {
        self.with(|state| state.finish(queue));
    }
}
