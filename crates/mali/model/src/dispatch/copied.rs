//! Dispatches that copy texels to memory: rows of texels are copied without executing warps.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use tepui_softgpu::worker_pool::Budget;
use tepui_softgpu::{AddressSpace, Protection};

use super::Launch;
use crate::environment::fault;
use crate::gpu::Gpu;
use crate::job::{JobFault, JobStats, Unit};
use crate::shader::copies::{self, Affine, Copies, Effect, Fetched, Inputs};
use crate::units::Port;
use crate::warp::host::for_hosts;
use crate::warp::row::{ALL, LANES, Row};
use crate::warp::trap::RaisedTrap;

const STEP: u32 = LANES as u32;

/// Rows that are copied together: with sixteen threads of each, they form a block of texels, which images keep
/// contiguous.
const ROWS: u32 = 16;

/// Rows of threads: ranges on the first two axes, and the index on the third.
type Threads = ([Range<u32>; 2], u32);

/// Executes a dispatch by copying, if its program only copies texels to memory; `false` if it does anything else.
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
    if !gpu.options.find_copies
        || launch.stage.tables.is_some()
        || launch.stage.registers.is_some()
        || !rows
    {
        return Ok(false);
    }
    let mut port = launch.port(vm);
    let (program, preload) = (&launch.stage.program, launch.stage.preload);
    let found = copies::find(program, &launch.stage.uniforms, &mut port, Inputs::Threads, preload);
    let Some(copies) = found else { return Ok(false) };
    let stores = copies.effects.iter().all(|effect| matches!(effect, Effect::Store { .. }));
    let Some([x, y, z]) = threads(launch, groups, &copies).filter(|_| stores) else {
        return Ok(false);
    };
    if x.is_empty() || y.is_empty() || z.is_empty() {
        count(stats, launch, groups, 0, &copies);
        return Ok(true);
    }
    let count_of_rows = y.len().saturating_mul(z.len());
    let bands = y.len().div_ceil(ROWS as usize);
    let items = (0..bands.saturating_mul(z.len())).map(|band| {
        let (band, layer) = ((band % bands) as u32, (band / bands) as u32);
        let first = y.start + band * ROWS;
        let rows = first..first.saturating_add(ROWS).min(y.end);
        ([x.clone(), rows], z.start + layer)
    });
    let warps = x.end.div_ceil(STEP) - x.start / STEP;
    let raw = copies.is_raw(&mut port).unwrap_or(false);
    // Set when a row needs something that only warps can do.
    let missed = AtomicBool::new(false);
    let begin = |_| launch.port(vm);
    let run = |port: &mut Port<'_>, rows: Threads| {
        if missed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let all = u64::from(warps) * rows.0[1].len() as u64;
        let spent = budget.spend(all * copies.instructions(true, true));
        spent.map_err(|_| JobFault::endless(Unit::ShaderCore))?;
        match copy_rows(port, &copies, raw, rows) {
            Ok(true) => {}
            Ok(false) => missed.store(true, Ordering::Relaxed),
            Err(trapped) => return Err(fault(&launch.stage.program, trapped)),
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

/// The copying threads of a dispatch, on each axis; `None` if they are not contiguous.
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

/// Adds the counts of the warps that would have executed, of which `copying` have threads that copy.
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
    /// Copies rows, as channels or as raw texels; `false` if a destination is not within one range of memory.
    fn copy_rows(
        port: &mut Port<'_>,
        copies: &Copies,
        raw: bool,
        threads: Threads,
    ) -> Result<bool, RaisedTrap> {
        let ([range, rows], z) = threads;
        let mut fetched = Vec::with_capacity(copies.fetches.len());
        let mut x = range.start / STEP * STEP;
        while x < range.end {
            let before = range.start.saturating_sub(x);
            let lanes = (range.end - x).min(STEP);
            let mask = (u32::from(u16::MAX) >> (STEP - lanes)) as u16 & (u16::MAX << before);
            for y in rows.clone() {
                if !copy(port, copies, raw, [x, y, z], mask, &mut fetched)? {
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

/// Copies the texels of threads from a first one on, along the first axis; `false` as in `copy_rows`.
#[inline(always)]
fn copy(
    port: &mut Port<'_>,
    copies: &Copies,
    raw: bool,
    first: [u32; 3],
    mask: u16,
    fetched: &mut Vec<Fetched>,
) -> Result<bool, RaisedTrap> {
    if raw && mask == ALL && copy_run(port, copies, first)? {
        return Ok(true);
    }
    let words = if raw { copies.raw_texels(port, first, mask)? } else { None };
    if words.is_none() {
        copies.texels(port, first, mask, fetched)?;
    }
    for effect in &copies.effects {
        let Effect::Store { base, offset, words: parts, bytes } = effect else {
            return Ok(false);
        };
        let rows = words.unwrap_or_else(|| {
            let mut rows = [Row::splat(0); 4];
            for (row, word) in rows.iter_mut().zip(parts) {
                *row = word.row(fetched);
            }
            rows
        });
        if !store(port, (*base, offset), &rows, *bytes, first, mask) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Copies the texels of sixteen threads from a first one on, along the first axis, if they are contiguous in memory
/// before and after.
#[inline(always)]
fn copy_run(port: &mut Port<'_>, copies: &Copies, first: [u32; 3]) -> Result<bool, RaisedTrap> {
    let [Effect::Store { base, offset, bytes, .. }] = copies.effects.as_slice() else {
        return Ok(false);
    };
    let (length, start) = (u64::from(*bytes) * LANES as u64, u64::from(offset.at(first)));
    let to = base.wrapping_add(start);
    // Bytes past the end of the offset's 32-bit range would wrap; addresses with upper bits set do not name plain
    // memory.
    let plain = start + length <= 1 << 32 && (to | to.wrapping_add(length)) >> 56 == 0;
    if offset.by[0] != u32::from(*bytes) || !plain {
        return Ok(false);
    }
    let Some(from) = copies.run(port, first)? else { return Ok(false) };
    let Some(from) = port.memory.window(from, length, Protection::READ) else { return Ok(false) };
    let Some(to) = port.memory.window(to, length, Protection::WRITE) else { return Ok(false) };
    // SAFETY: both ranges are bound while the job runs. Others may write to them at the same time, as on silicon: then the bytes are
    // either.
    unsafe { std::ptr::copy(from, to, length as usize) };
    Ok(true)
}

/// Stores words of threads from a first one on; `false` if they do not go to one range of memory.
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
    // Addresses with upper bits set do not name plain memory.
    if upper != 0 {
        return false;
    }
    let Some(access) = port.warp_access(&addresses, mask, bytes.into(), Protection::WRITE) else {
        return false;
    };
    match bytes {
        1 => access.store::<1>(mask, words),
        2 => access.store::<2>(mask, words),
        4 => access.store::<4>(mask, words),
        8 => access.store::<8>(mask, words),
        12 => access.store::<12>(mask, words),
        16 => access.store::<16>(mask, words),
        _ => return false,
    }
    true
}
