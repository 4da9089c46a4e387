//! Spilling: lowers register pressure to the size of the register file.
//!
//! One walk over the blocks keeps a set of values in registers and evicts those whose next use is
//! furthest. A value that is evicted and read again is stored once, after its definition, and reloaded;
//! one reload serves the uses until the value is evicted again. Constants, special registers and
//! uniforms are rematerialised instead. The result is SSA: each reload is a new value, and phis join
//! reloads where paths meet.
//! source: Braun and Hack, "Register Spilling and Live-Range Splitting for SSA-Form Programs", CC 2009
//!
//! ```text
//! next_use ─▶ walk (entry) ─▶ edges ─▶ prune ─▶ slots ─▶ loads and stores
//! ```
//!
//! - `loops`: natural loops; `next_use`: distances to next uses
//! - `walk`: eviction and reloads within blocks; `entry`: values in registers at block starts;
//!   `registers`: the set of values in registers
//! - `edges`: reloads on edges, and phis whose results are in slots from the start, where a block has
//!   too many
//! - `prune`: removes unread reloads, phis and stores
//! - `slots`: offsets of stack slots
//! - `values`: rematerialisation and source locations of values, and accesses of slots

mod edges;
mod entry;
mod loops;
mod next_use;
mod prune;
mod registers;
mod slots;
mod values;
mod walk;

use crate::error::Result;
use crate::function::{Block, Function, Ins, Val};
use crate::liveness::{LiveSet, Liveness, block_pressure};
use crate::target::{StackAccess, Target};
use crate::{dce, phis};
use cranelift_entity::SecondaryMap;
use loops::Loops;
use slots::Slots;
use values::{Accesses, Values, is_head};
use walk::Walk;

/// Statistics of spilling.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spilled {
    /// Stores.
    pub stores: u32,
    /// Loads.
    pub loads: u32,
    /// Bytes of scratch memory of a thread, including what it had before.
    pub scratch_bytes: u32,
}

/// Evicts values until no more than `limit` units are live at any point; slots begin after the first
/// `scratch_bytes`. Blocks with one predecessor must have no phis ([`phis`] removes them). Returns the
/// liveness of the result.
///
/// # Errors
/// If an instruction alone needs more.
pub fn run<T: Target>(
    f: &mut Function<T::Inst>,
    live: &Liveness,
    limit: u32,
    scratch_bytes: u32,
) -> Result<(Liveness, Spilled)> {
    let mut pressure: SecondaryMap<Block, u32> = SecondaryMap::with_capacity(f.blocks.len());
    let mut set = LiveSet::new(f);
    for b in f.blocks.keys() {
        pressure[b] = block_pressure::<T>(f, live, b, &mut set);
    }
    let loops = Loops::new(f, &pressure);
    // Accesses of far slots need a register for the offset.
    let far = limit.saturating_sub(u32::from(T::STACK_OFFSET.units));
    let bytes = |units: u32| scratch_bytes.saturating_add(units.saturating_mul(T::UNIT_BYTES));
    let most = f.blocks.keys().map(|b| pressure[b]).max().unwrap_or(0);
    if bytes(most.saturating_sub(limit)) > T::STACK_IMMEDIATES {
        return spill::<T>(f, live, &loops, far, scratch_bytes);
    }
    let all: u32 = f.vals.values().map(|c| u32::from(c.units) + T::SLOT_ALIGN).sum();
    let before = (bytes(all) > T::STACK_IMMEDIATES).then(|| f.clone());
    let done = spill::<T>(f, live, &loops, limit, scratch_bytes)?;
    match before {
        Some(before) if done.1.scratch_bytes > T::STACK_IMMEDIATES => {
            *f = before;
            spill::<T>(f, live, &loops, far, scratch_bytes)
        }
        _ => Ok(done),
    }
}

fn spill<T: Target>(
    f: &mut Function<T::Inst>,
    live: &Liveness,
    loops: &Loops,
    limit: u32,
    scratch_bytes: u32,
) -> Result<(Liveness, Spilled)> {
    let values = Values::new::<T>(f);
    let mut walk = Walk::<T>::new(f, live, loops, &values, limit);
    walk.run()?;
    let memory = walk.couple();
    let mut accesses = walk.accesses;
    phis::run(f);
    let in_slots = prune::run::<T>(f, &accesses, &memory);
    let slots = slots::run::<T>(f, &in_slots, &accesses, &memory, scratch_bytes)?;
    // Slots that are not written on edges are written after the definitions of their values.
    let stored = |v: Val| in_slots.contains(v) && memory.stores[v].is_empty();
    place::<T>(f, stored, &values, &mut accesses, &slots);
    // Names that only removed stores read.
    dce::run::<T>(f);
    let mut done = Spilled { scratch_bytes: slots.end, ..Spilled::default() };
    for &i in f.blocks.values().flat_map(|data| &data.insts) {
        match accesses.get(i) {
            Some((StackAccess::Load, _)) => done.loads += 1,
            Some((StackAccess::Store, _)) => done.stores += 1,
            None => {}
        }
    }
    Ok((Liveness::new(f)?, done))
}

/// Inserts the stores after definitions, and the offsets of all accesses.
fn place<T: Target>(
    f: &mut Function<T::Inst>,
    stored: impl Fn(Val) -> bool,
    values: &Values,
    accesses: &mut Accesses,
    slots: &Slots,
) {
    for b in f.blocks.keys() {
        let insts = std::mem::take(&mut f.blocks[b].insts);
        let mut out: Vec<Ins> = Vec::with_capacity(insts.len() + insts.len() / 8);
        // Stores of phis wait for the end of the block's phis and control flow.
        let mut waiting: Vec<Ins> = Vec::new();
        for i in insts {
            let head = is_head(&f.insts[i].op);
            if !head {
                out.append(&mut waiting);
            }
            out.extend(accesses.place::<T>(f, i, slots));
            out.push(i);
            for k in 0..f.dsts(i).len() {
                let d = f.dsts(i)[k];
                if stored(d) {
                    let store = accesses.store::<T>(f, d, d, values.loc(d));
                    let to = if head { &mut waiting } else { &mut out };
                    to.extend(accesses.place::<T>(f, store, slots));
                    to.push(store);
                }
            }
        }
        out.append(&mut waiting);
        f.blocks[b].insts = out;
    }
}
