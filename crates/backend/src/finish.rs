//! The order of the passes on the machine IR, from selected instructions to registers.

use crate::error::{Error, Result};
use crate::function::Function;
use crate::machine::Machine;
use crate::values::{self, Held};
use crate::{After, Snapshot, group_loads, validate};
use tepui_regalloc::liveness::{Liveness, pressure};
use tepui_regalloc::{Code, alloc, cse, dce, latency, phis, schedule, spill};

/// The registers that a program should and may take, in units.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Register pressure up to which blocks are not rescheduled.
    pub min_pressure: u32,
    /// Units, reserved ones included, with which occupancy is highest.
    pub full_occupancy: u16,
    /// Maximum number of units, reserved ones included.
    pub limit: u16,
    /// Bytes of scratch memory that the program has before anything is spilled.
    pub scratch_bytes: u32,
}

/// A program with registers.
pub struct Finished<M: Machine> {
    /// Its code.
    pub code: Code<M::Inst>,
    /// Statistics of spilling.
    pub spilled: spill::Spilled,
    /// Registers of the IR's values, if [`Function::value_locations`] are there.
    pub held: Vec<Held>,
}

/// Clean-up, scheduling, spilling and register allocation. With `check` the machine IR and the result are checked.
///
/// # Errors
/// When there are not enough registers or scratch memory, and with `check` when a rule is broken.
pub fn run<M: Machine>(
    f: &mut Function<M>,
    budget: Budget,
    check: bool,
    after: &mut After<'_, M>,
) -> Result<Finished<M>> {
    phis::run(&mut f.body);
    let state = &f.state;
    cse::run::<M>(&mut f.body, |f, i| M::is_shared(state, f, i));
    dce::run::<M>(&mut f.body);
    M::after_clean_up(f);
    after("mir_dce", Snapshot::Mir(f));
    let mut live = Liveness::new(&f.body)?;
    let (mut most, _) = pressure::<M>(&f.body, &live);
    let full = u32::from(budget.full_occupancy.min(budget.limit));
    let free = full - M::RESERVED_UNITS;
    if most > budget.min_pressure
        && schedule::run::<M>(&mut f.body, &live, budget.min_pressure, free)
    {
        after("schedule", Snapshot::Mir(f));
        (most, _) = pressure::<M>(&f.body, &live);
    }
    if group_loads::run(f, most + M::RESERVED_UNITS, full) {
        (most, _) = pressure::<M>(&f.body, &live);
    }
    after("group_loads", Snapshot::Mir(f));
    if M::SCHEDULES_LATENCIES && latency::run::<M>(&mut f.body, &live, free) {
        after("latency", Snapshot::Mir(f));
        (most, _) = pressure::<M>(&f.body, &live);
    }
    if check {
        validate::run(f)?;
    }
    let room = u32::from(budget.limit) - M::RESERVED_UNITS;
    let scratch_bytes = budget.scratch_bytes;
    let mut spilled = spill::Spilled { scratch_bytes, ..Default::default() };
    if most > room {
        (live, spilled) = spill::run::<M>(&mut f.body, &live, room, scratch_bytes)?;
        after("spill", Snapshot::Mir(f));
        if spilled.scratch_bytes > M::MAX_SCRATCH {
            let (needed, limit) = (spilled.scratch_bytes, M::MAX_SCRATCH);
            return Err(Error::Scratch { needed, limit });
        }
        (most, _) = pressure::<M>(&f.body, &live);
    }
    let registers = M::registers(f, most, budget.limit);
    let extras = alloc::Extras { check, defs: f.value_locations.is_some() };
    let code = alloc::run::<M>(&f.body, &live, &registers, extras)?;
    let held = f.value_locations.as_ref().map_or(Vec::new(), |m| values::held(f, m, &code.defs));
    Ok(Finished { code, spilled, held })
}
