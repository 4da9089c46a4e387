//! Dispatches that copy texels to memory: rows of them are copied instead of warps executed.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use tepui_softgpu::worker_pool::Budget;
use tepui_softgpu::{AddressSpace, Protection};

use super::{Launch, fault};
use crate::gpu::Gpu;
use crate::job::{JobFault, JobStats, Unit};
use crate::shader::copies::{self, Affine, Copies, Effect, Inputs};
use crate::shader::host::for_hosts;
use crate::shader::message::Port;
use crate::shader::row::{LANES, Row};
use crate::shader::run::Trapped;

const STEP: u32 = LANES as u32;

/// A row of threads: where the second and third axis are, and from where to where the first.
type Threads = ([u32; 2], Range<u32>);

/// Copies what a dispatch does, if its program does nothing but copy texels to memory; `false` if it does something else.
pub(super) fn execute(
    gpu: &Gpu,
    vm: &AddressSpace,
    launch: &Launch,
    groups: [u32; 3],
    budget: &Budget,
    stats: &mut JobStats,
) -> Result<bool, JobFault> {
    // Warps are rows of threads.
    let rows = launch.size[0].is_multiple_of(STEP) && launch.offset[0].is_multiple_of(STEP);
    if !gpu.options.find_copies || launch.tables.is_some() || launch.registers.is_some() || !rows {
        return Ok(false);
    }
    let mut port = launch.port(vm);
    let (program, preload) = (&launch.program, launch.preload);
    let found = copies::find(program, &launch.uniforms, &mut port, Inputs::Threads, preload);
    let Some(copies) = found else { return Ok(false) };
    let stores = copies.effects.iter().all(|effect| matches!(effect, Effect::Store { .. }));
    let Some([x, y, z]) = threads(launch, groups, &copies).filter(|_| stores) else {
        return Ok(false);
    };
    if x.is_empty() || y.is_empty() || z.is_empty() {
        count(stats, launch, groups, 0, &copies);
        return Ok(true);
    }
    let (height, count_of_rows) = (y.len(), y.len().saturating_mul(z.len()));
    let items = (0..count_of_rows).map(|row| {
        let (row, layer) = (row % height, row / height);
        ([y.start + row as u32, z.start + layer as u32], x.clone())
    });
    let warps = x.end.div_ceil(STEP) - x.start / STEP;
    // Something that only warps can do.
    let missed = AtomicBool::new(false);
    let begin = |_| launch.port(vm);
    let run = |port: &mut Port<'_>, row: Threads| {
        if missed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let spent = budget.spend(u64::from(warps) * copies.instructions(true, true));
        spent.map_err(|_| JobFault::endless(Unit::ShaderCore))?;
        match copy_row(port, &copies, row) {
            Ok(true) => {}
            Ok(false) => missed.store(true, Ordering::Relaxed),
            Err(trapped) => return Err(fault(&launch.program, trapped)),
        }
        Ok(())
    };
    let shared = gpu.pool.share(items, begin, run, |_| ());
    let (_, outcome) = shared.map_err(|error| JobFault::new(super::UNIT, error.to_string()))?;
    outcome?;
    if missed.into_inner() {
        return Ok(false);
    }
    count(stats, launch, groups, u64::from(warps) * count_of_rows as u64, &copies);
    Ok(true)
}

/// The threads of a dispatch that copy, on each axis; `None` if they are not side by side.
fn threads(launch: &Launch, groups: [u32; 3], copies: &Copies) -> Option<[Range<u32>; 3]> {
    if copies.region.outside {
        return None;
    }
    let mut all = [0..0, 0..0, 0..0];
    for (axis, range) in all.iter_mut().enumerate() {
        let start = launch.offset[axis];
        let end = groups[axis].checked_mul(launch.size[axis])?.checked_add(start)?;
        let behind = copies.region.last[axis].saturating_add(1);
        *range = start.max(copies.region.first[axis])..end.min(behind);
    }
    Some(all)
}

/// Counts what warps would have executed, of which so many have threads that copy.
fn count(stats: &mut JobStats, launch: &Launch, groups: [u32; 3], copying: u64, copies: &Copies) {
    let groups = groups.iter().map(|n| u64::from(*n)).product::<u64>();
    let threads = groups * u64::from(launch.threads);
    let others = (threads / u64::from(STEP)).saturating_sub(copying);
    stats.threads += threads;
    stats.copied += threads;
    stats.instructions += copying * copies.instructions(true, true);
    stats.instructions += others * copies.instructions(false, true);
}

for_hosts! {
    /// Copies a row; `false` if something is to be written that is not in one range of memory.
    fn copy_row(
        port: &mut Port<'_>,
        copies: &Copies,
        row: Threads,
    ) -> Result<bool, Trapped> {
        let ([y, z], range) = row;
        let mut fetched = Vec::with_capacity(copies.fetches.len());
        let mut x = range.start / STEP * STEP;
        while x < range.end {
            let before = range.start.saturating_sub(x);
            let lanes = (range.end - x).min(STEP);
            let mask = (u32::from(u16::MAX) >> (STEP - lanes)) as u16 & (u16::MAX << before);
            copies.texels(port, [x, y, z], mask, &mut fetched)?;
            for effect in &copies.effects {
                let Effect::Store { base, offset, words, bytes } = effect else { return Ok(false) };
                let mut rows = [Row::splat(0); 4];
                for (row, word) in rows.iter_mut().zip(words) {
                    *row = word.row(&fetched);
                }
                if !store(port, (*base, offset), &rows, *bytes, [x, y, z], mask) {
                    return Ok(false);
                }
            }
            // The last sixteen threads may end with the last number.
            x = match x.checked_add(STEP) {
                Some(next) => next,
                None => break,
            };
        }
        Ok(true)
    }
}

/// Stores words of threads from a place on; `false` if they do not go to one range of memory.
#[inline(always)]
fn store(
    port: &mut Port<'_>,
    (base, offset): (u64, &Affine),
    words: &[Row; 4],
    bytes: u8,
    first: [u32; 3],
    mask: u16,
) -> bool {
    let mut addresses = [0; LANES];
    let mut upper = 0;
    for (address, offset) in addresses.iter_mut().zip(offset.row(first)) {
        *address = base.wrapping_add(offset.into());
        upper |= *address >> 56;
    }
    // The upper bits name other things than memory.
    if upper != 0 {
        return false;
    }
    let Some(places) = port.places(&addresses, mask, bytes.into(), Protection::WRITE) else {
        return false;
    };
    match bytes {
        1 => places.store::<1>(mask, words),
        2 => places.store::<2>(mask, words),
        4 => places.store::<4>(mask, words),
        8 => places.store::<8>(mask, words),
        12 => places.store::<12>(mask, words),
        16 => places.store::<16>(mask, words),
        _ => return false,
    }
    true
}
