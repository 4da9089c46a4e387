//! Checks of the memory that an instruction accesses in its active lanes.

use tepui_softgpu::Access;

use super::race::{How, Mark, PAGE_BYTES};
use super::{Checker, PendingRead, lanes, verb};
use crate::job::ReportKind;
use crate::order::SILENT_WRITE;
use crate::usc::exec::Lanes;
use crate::usc::exec::gather::get;
use crate::usc::row::{LANES, Row};
use crate::usc::stage::Stage;

/// Reports loads of memory that is unbound, or whose page was never written, and races.
#[cold]
pub fn reads(l: &mut Lanes<'_, '_>, addresses: &[u64; LANES], element: u32, mask: u8) {
    if l.checker.as_ref().is_some_and(|c| c.in_scratch) {
        return;
    }
    let last = u64::from(7 - mask.leading_zeros().min(7)) * u64::from(element);
    let (mut known, mut unbound, mut unwritten) = (u64::MAX, None, None);
    let (mut unbound_lanes, mut unwritten_lanes) = (0, 0);
    for i in (0..LANES).filter(|&i| l.exec >> i & 1 != 0) {
        for address in [addresses[i], addresses[i].wrapping_add(last)] {
            if address >> 12 == known {
                continue;
            }
            if let Err(fault) = l.port.vm.translate(address, Access::Read) {
                unbound.get_or_insert((i, fault));
                unbound_lanes |= 1 << i;
            } else if l.port.was_written(address) {
                known = address >> 12;
            } else {
                unwritten.get_or_insert((i, address));
                unwritten_lanes |= 1 << i;
            }
        }
    }
    if let Some((lane, fault)) = unbound {
        let what = format!("lane {lane}: {fault}; the load gives zero");
        load(l, ReportKind::UnboundLoad, what, unbound_lanes);
    }
    if let Some((lane, address)) = unwritten {
        let what = format!("lane {lane} reads {address:#x}, where nothing was ever written");
        load(l, ReportKind::UnwrittenMemory, what, unwritten_lanes);
    }
    if l.port.vm.is_observed() {
        for e in (0..8u64).filter(|e| mask >> e & 1 != 0) {
            observe(l, l.exec, addresses, e * u64::from(element), element, Access::Read, None);
        }
    }
    if is_raced(l) {
        for e in (0..8u64).filter(|e| mask >> e & 1 != 0) {
            races(l, l.exec, addresses, e * u64::from(element), element, None);
        }
    }
}

/// Reports stores to memory that is not bound for them, and races.
#[cold]
pub fn writes(
    l: &mut Lanes<'_, '_>,
    exec: u32,
    addresses: &[u64; LANES],
    at: u64,
    element: u32,
    row: &Row,
) {
    if l.checker.as_ref().is_some_and(|c| c.in_scratch) {
        return;
    }
    effect(l, exec);
    unbound_writes(l, exec, addresses, at, Access::Write);
    if l.port.vm.is_observed() {
        observe(l, exec, addresses, at, element, Access::Write, Some(row));
    }
    if is_raced(l) {
        races(l, exec, addresses, at, element, Some(row));
    }
}

/// Reports atomics on memory that is not bound for them.
#[cold]
pub fn atomics(l: &mut Lanes<'_, '_>, addresses: &[u64; LANES]) {
    effect(l, l.exec);
    unbound_writes(l, l.exec, addresses, 0, Access::Atomic);
    if l.port.vm.is_observed() {
        observe(l, l.exec, addresses, 0, 4, Access::Atomic, None);
    }
}

fn unbound_writes(
    l: &mut Lanes<'_, '_>,
    exec: u32,
    addresses: &[u64; LANES],
    at: u64,
    access: Access,
) {
    let (mut known, mut found, mut bad) = (u64::MAX, None, 0);
    for i in (0..LANES).filter(|&i| exec >> i & 1 != 0) {
        let address = addresses[i].wrapping_add(at);
        if address >> 12 == known {
            continue;
        }
        match l.port.vm.translate(address, access) {
            Ok(_) => known = address >> 12,
            Err(fault) => {
                found.get_or_insert((i, fault));
                bad |= 1 << i;
            }
        }
    }
    if let Some((lane, fault)) = found {
        let what = format!("lane {lane}: {fault}; the store is dropped");
        report(l, ReportKind::UnboundStore, what, bad);
    }
}

/// Tells the checker of order what an instruction accesses, and of a store whether it leaves memory as it is.
fn observe(
    l: &mut Lanes<'_, '_>,
    exec: u32,
    addresses: &[u64; LANES],
    at: u64,
    element: u32,
    access: Access,
    row: Option<&Row>,
) {
    for i in (0..LANES).filter(|i| exec >> i & 1 != 0) {
        let address = addresses[i].wrapping_add(at);
        let silent =
            row.is_some_and(|row| value(l, address, element) == Some(row.0[i] & bits(element)));
        if l.port.vm.translate(address, access).is_ok() {
            let unit = if silent { SILENT_WRITE } else { 0 };
            l.port.vm.report_access(unit, access, address, element.into());
        }
    }
}

/// Races are looked for: in compute programs of an audit.
fn is_raced(l: &mut Lanes<'_, '_>) -> bool {
    matches!(l.stage, Stage::Compute)
        && l.checker.as_mut().and_then(|c| c.audit()).is_some_and(|a| a.races.is_some())
}

/// The bits of an element of 1, 2 or 4 bytes.
fn bits(element: u32) -> u32 {
    u32::MAX >> (32 - 8 * element.min(4))
}

/// Looks for races of the elements at `at` bytes from each lane's address; `row` is stored, otherwise they are loaded.
fn races(
    l: &mut Lanes<'_, '_>,
    exec: u32,
    addresses: &[u64; LANES],
    at: u64,
    element: u32,
    row: Option<&Row>,
) {
    if let Some(row) = row {
        among_lanes(l, exec, addresses, element, row);
    }
    let Some(mut checker) = l.checker.take() else { return };
    let at_index = (l.pc - 1) as u16;
    let mark = checker.audit().and_then(|audit| {
        let time = audit.races.as_ref()?.time();
        Some(Mark { group: audit.group, time, epoch: audit.epoch, at: at_index })
    });
    if let Some(mark) = mark {
        let read = || PendingRead { addresses: *addresses, at, element, lanes: exec, mark };
        let waits = row.is_none() && checker.postpone(read);
        if !waits {
            compare(l, &mut checker, exec, addresses, (at, element), mark, row);
        }
    }
    l.checker = Some(checker);
}

/// Compares accesses of `element.1` bytes at an offset from the lanes' addresses with earlier ones of their bytes. `row` is
/// stored, otherwise they are loaded.
fn compare(
    l: &Lanes<'_, '_>,
    checker: &mut Checker,
    exec: u32,
    addresses: &[u64; LANES],
    (at, element): (u64, u32),
    now: Mark,
    row: Option<&Row>,
) {
    let index = usize::from(now.at);
    let how = if row.is_some() { How::Write } else { How::Read };
    let mut found = None;
    if let Some(audit) = checker.audit()
        && let Some(races) = audit.races.clone()
    {
        let mut i = 0;
        while i < LANES {
            if exec >> i & 1 == 0 {
                i += 1;
                continue;
            }
            let number = addresses[i].wrapping_add(at) / PAGE_BYTES;
            if audit.page.as_ref().is_none_or(|(known, _)| *known != number) {
                let page = races.page(number);
                audit.page = page.map(|page| (number, page));
            }
            let Some((_, page)) = &audit.page else { break };
            // Fast path: pages of the GPU are not smaller.
            let whole = l.port.vm.translate(number.wrapping_mul(PAGE_BYTES), Access::Read).ok();
            page.with(|cells| {
                while i < LANES {
                    let address = addresses[i].wrapping_add(at);
                    if exec >> i & 1 != 0 {
                        if address / PAGE_BYTES != number {
                            break;
                        }
                        let silent = row.is_some_and(|row| {
                            let place = address % PAGE_BYTES;
                            let now = match whole {
                                Some(host) if place + u64::from(element) <= PAGE_BYTES => {
                                    // SAFETY: the page was found bound, and the element lies in it.
                                    Some(unsafe { get(host.add(place as usize), element) })
                                }
                                _ => value(l, address, element),
                            };
                            now == Some(row.0[i] & bits(element))
                        });
                        if !silent {
                            let bytes = (((1u32 << element) - 1) << (address % 4)) as u8 & 15;
                            let word = (address % PAGE_BYTES / 4) as usize;
                            let cell = &mut cells[word];
                            let ordered = |a: &Mark, b: &Mark| races.unordered(a, b);
                            let conflict = cell.access(now, how, bytes, ordered);
                            if let Some(conflict) = conflict {
                                found.get_or_insert((i, address, conflict));
                            }
                        }
                    }
                    i += 1;
                }
            });
        }
        if let Some((lane, address, c)) = found
            && !checker.repeats(
                index,
                if c.near { ReportKind::WorkgroupRace } else { ReportKind::DispatchRace },
            )
        {
            let who = match (c.group.map(|g| races.split(g)), c.near) {
                (Some((_, g)), true) => format!("SIMD-group {g} of the same workgroup"),
                (Some((w, _)), false) => format!("workgroup {w}"),
                (None, _) => "others".to_owned(),
            };
            let (kind, missing) = match c.near {
                true => (ReportKind::WorkgroupRace, "a barrier"),
                false => (ReportKind::DispatchRace, "an atomic of both"),
            };
            let what = format!(
                "lane {lane} {} {address:#x}, which {who} {} at offset {:#x} without {missing} between",
                verb(how, false),
                verb(c.how, true),
                l.code.describe(usize::from(c.at)).0,
            );
            checker.note(l.code, index, kind, what, 1 << lane);
        }
    }
}

/// The element in memory; none if it is not in one page.
fn value(l: &Lanes<'_, '_>, address: u64, element: u32) -> Option<u32> {
    let page = l.port.vm.page_size();
    let bytes = u64::from(element.min(4));
    let host = l.port.vm.translate(address, Access::Read).ok()?;
    // SAFETY: the page is bound, and the element lies in it.
    (address % page + bytes <= page).then(|| unsafe { get(host, element) })
}

/// Reports lanes that store different values to one address.
fn among_lanes(
    l: &mut Lanes<'_, '_>,
    exec: u32,
    addresses: &[u64; LANES],
    element: u32,
    row: &Row,
) {
    if let Some([a, b]) = collision(exec, addresses, element, row) {
        let what = format!("lanes {a} and {b} store different values to {:#x}", addresses[a]);
        report(l, ReportKind::LaneRace, what, 1 << a | 1 << b);
    }
}

/// Two lanes that store different values to one place.
pub fn collision(
    exec: u32,
    addresses: &[u64; LANES],
    element: u32,
    row: &Row,
) -> Option<[usize; 2]> {
    let mut active = (0..LANES).filter(|&i| exec >> i & 1 != 0);
    let first = active.next()?;
    if active
        .try_fold(addresses[first], |a, i| (addresses[i] > a).then_some(addresses[i]))
        .is_some()
    {
        return None;
    }
    let mut order: Vec<usize> = (0..LANES).filter(|&i| exec >> i & 1 != 0).collect();
    order.sort_by_key(|&i| addresses[i]);
    order.windows(2).find_map(|w| {
        let differ = (row.0[w[0]] ^ row.0[w[1]]) & bits(element) != 0;
        (addresses[w[0]] == addresses[w[1]] && differ).then_some([w[0], w[1]])
    })
}

/// Reports lanes that read scratch memory that they have not written, or notes what they write.
#[cold]
pub fn scratch(l: &mut Lanes<'_, '_>, offsets: &Row, bytes: u32, how: How) {
    let exec = l.exec;
    let Some(checker) = &mut l.checker else { return };
    let mut bad = 0;
    for i in (0..LANES).filter(|i| exec >> i & 1 != 0) {
        match how {
            How::Write => checker.scratch.write(i, offsets.0[i], bytes),
            How::Read if checker.scratch.is_written(i, offsets.0[i], bytes) => {}
            How::Read => bad |= 1 << i,
        }
    }
    if bad != 0 {
        let what = format!("scratch memory is read in {} where nothing was written", lanes(bad));
        report(l, ReportKind::UnwrittenScratch, what, bad);
    }
}

/// Checks accesses of local memory: races, and stores that are never read. `from` has byte offsets.
#[cold]
pub fn local(
    l: &mut Lanes<'_, '_>,
    from: &[u32; LANES],
    bytes: u32,
    how: How,
    values: Option<&Row>,
) {
    let (exec, index) = (l.exec, l.pc - 1);
    let Some(mut checker) = l.checker.take() else { return };
    if let Some(audit) = checker.audit()
        && let Some(shadow) = &mut l.shared.local_shadow
    {
        let group = audit.index;
        let footprints = audit.footprints.clone();
        if let Some(row) = values {
            footprints.executed(index);
            let addresses = from.map(u64::from);
            if let Some([a, b]) = collision(exec, &addresses, bytes, row) {
                let what = format!(
                    "lanes {a} and {b} store different values to local memory at {:#x}",
                    from[a]
                );
                checker.note(l.code, index, ReportKind::LaneRace, what, 1 << a | 1 << b);
            }
        }
        for i in (0..LANES).filter(|i| exec >> i & 1 != 0) {
            let at = from[i] as usize;
            match values {
                None => {
                    if let Some(by) = shadow.writer(at) {
                        footprints.read(usize::from(by));
                    }
                }
                Some(row) => {
                    let known = shadow.writer(at).is_some();
                    shadow.wrote(at, bytes as usize, index as u16);
                    let old = l.shared.local.get(at..at + bytes as usize);
                    if known && old == Some(&row.0[i].to_le_bytes()[..bytes as usize]) {
                        continue;
                    }
                }
            }
            if let Some(conflict) = shadow.access(at, bytes as usize, group, index as u16, how) {
                checker.local_race(l.code, index, how, i, at, conflict);
            }
        }
    }
    l.checker = Some(checker);
}

/// Checks atomics on local memory: they read what stands there.
#[cold]
pub fn local_atomics(l: &mut Lanes<'_, '_>, from: &[u32; LANES]) {
    let mut unwritten = 0;
    let mut readers = Vec::new();
    for i in (0..LANES).filter(|i| l.exec >> i & 1 != 0) {
        let at = from[i] as usize;
        let is_unwritten = l.shared.local_written.get(at) == Some(&false);
        unwritten |= u32::from(is_unwritten) << i;
        readers.extend(l.shared.local_shadow.as_ref().and_then(|shadow| shadow.writer(at)));
    }
    if unwritten != 0 {
        let what =
            format!("an atomic on local memory in {} where nothing was written", lanes(unwritten));
        report(l, ReportKind::UnwrittenLocal, what, unwritten);
    }
    if let Some(audit) = l.checker.as_mut().and_then(|c| c.audit()) {
        readers.into_iter().for_each(|by| audit.footprints.read(usize::from(by)));
    }
}

/// Tells the checker that lanes store something.
pub fn effect(l: &mut Lanes<'_, '_>, exec: u32) {
    let Some(mut checker) = l.checker.take() else { return };
    checker.effect(l.code, exec);
    for PendingRead { addresses, at, element, lanes, mark } in checker.take_reads(exec) {
        compare(l, &mut checker, lanes, &addresses, (at, element), mark, None);
    }
    l.checker = Some(checker);
}

/// Hands a finding about the load that is being executed to the checker.
#[cold]
fn load(l: &mut Lanes<'_, '_>, kind: ReportKind, what: String, lanes: u32) {
    if let Some(checker) = &mut l.checker {
        checker.note_load(l.code, l.pc - 1, kind, what, lanes);
    }
}

/// Hands a finding to the checker, with the instruction that is being executed.
#[cold]
pub fn report(l: &mut Lanes<'_, '_>, kind: ReportKind, what: String, lanes: u32) {
    if let Some(checker) = &mut l.checker {
        checker.note(l.code, l.pc - 1, kind, what, lanes);
    }
}
