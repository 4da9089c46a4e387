//! Order of memory accesses: which unit reads and writes through which cache, and what PIPE_CONTROL does to them.
//!
//! With [`crate::Options::check`] each batch's accesses go to a [`Tracker`]. A batch begins with empty caches and
//! ends with everything in memory, since the kernel invalidates before each batch and flushes after it.
//!
//! source: i915's gen8_emit_flush_rcs; Mesa, genX_cmd_buffer.c: the comments on end-of-pipe synchronisation in
//! `emit_apply_pipe_flushes` and on each access in `anv_pipe_flush_bits_for_access_flags`.

use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tepui_intel_chips::Generation;
use tepui_intel_packets::state::PipeControl;
use tepui_order::{
    Access, Cache, CacheSet, Event, Hazard, Level, Missing, Removals, Table, Trace, Tracker, Unit,
    UnitSet,
};
use tepui_softgpu::{AccessObserver, AddressSpace, Contents};

use crate::compressed::{Compressed, Found, View};
use crate::job::{JobFault, ProgramPoint, Report, ReportKind};
use crate::restrictions::{Restriction, Restrictions};

/// Units that access memory, by their index in [`GEN9`] and [`GEN12`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum MemoryUnit {
    /// The command streamer, which reads and writes memory past the L3.
    CommandStreamer,
    /// Writes of PIPE_CONTROL at the end of the pipeline.
    PostSync,
    /// Vertices and indices.
    VertexFetch,
    /// Push constants, and messages to the constant cache.
    Constants,
    /// Surface states, binding tables, samplers and other indirect state.
    State,
    /// Kernels.
    Instructions,
    /// The sampler.
    Sampler,
    /// Messages to the data caches.
    DataPort,
    /// Render targets.
    RenderTarget,
    /// Depth, stencil and HiZ.
    Depth,
    /// Stream output, which writes past the L3.
    StreamOutput,
}

const VERTEX: u8 = 0;
const CONSTANT: u8 = 1;
const STATE: u8 = 2;
const INSTRUCTION: u8 = 3;
const TEXTURE: u8 = 4;
const DATA: u8 = 5;
const RENDER: u8 = 6;
const DEPTH: u8 = 7;

const fn unit(name: &'static str, cache: Option<u8>) -> Unit {
    Unit { name, cache, in_order: false, posted: false, last: false }
}

const UNITS: &[Unit] = &[
    unit("command streamer", None),
    Unit { posted: true, last: true, ..unit("post-sync write", None) },
    unit("vertex fetch", Some(VERTEX)),
    unit("constants", Some(CONSTANT)),
    unit("indirect state", Some(STATE)),
    unit("instruction fetch", Some(INSTRUCTION)),
    unit("sampler", Some(TEXTURE)),
    unit("data port", Some(DATA)),
    // Pixels of later primitives wait for earlier ones at the same place.
    Unit { in_order: true, ..unit("render target", Some(RENDER)) },
    Unit { in_order: true, ..unit("depth and stencil", Some(DEPTH)) },
    Unit { posted: true, ..unit("stream output", None) },
];

macro_rules! caches {
    ($level:ident) => {
        &[
            Cache { name: "VF cache", fills_from: Level::$level, flush_invalidates: false },
            Cache { name: "constant cache", fills_from: Level::$level, flush_invalidates: false },
            Cache { name: "state cache", fills_from: Level::$level, flush_invalidates: false },
            Cache {
                name: "instruction cache",
                fills_from: Level::$level,
                flush_invalidates: false,
            },
            Cache { name: "texture cache", fills_from: Level::$level, flush_invalidates: false },
            Cache { name: "data cache", fills_from: Level::$level, flush_invalidates: true },
            Cache {
                name: "render target cache",
                fills_from: Level::$level,
                flush_invalidates: true,
            },
            Cache { name: "depth cache", fills_from: Level::$level, flush_invalidates: true },
        ]
    };
}

/// Gen9: each flush writes down to memory.
static GEN9: Table = Table { caches: caches!(Memory), units: UNITS };

/// Gen12: flushes of the HDC pipeline, render targets and depth write to the L3; DC and tile cache flushes
/// write from there to memory.
static GEN12: Table = Table { caches: caches!(Shared), units: UNITS };

const fn set(cache: u8) -> CacheSet {
    1 << cache
}

/// Units of draws and of dispatches: all but the command streamer and post-sync writes.
pub(crate) const SHADER_UNITS: UnitSet =
    UnitSet::MAX & !(1 << MemoryUnit::CommandStreamer as u32 | 1 << MemoryUnit::PostSync as u32);

/// Units whose accesses are ordered by "Depth Stall Enable".
const DEPTH_UNITS: u32 = 1 << MemoryUnit::Depth as u32;

/// Calls `emit` with the events of a PIPE_CONTROL, in order: invalidations take effect when the command is read, flushes after
/// earlier work, and they are complete after a stall of the command streamer. "Pipe Control Flush Enable" waits for the post-sync
/// writes of earlier ones before anything else (Mesa, iris_state.c, `batch_mark_sync_for_pipe_control`; `update_clear_value` there relies
/// on it).
pub(crate) fn events(generation: Generation, control: &PipeControl, mut emit: impl FnMut(Event)) {
    if control.pipe_control_flush_enable {
        emit(Event::Wait(1 << MemoryUnit::PostSync as u32));
    }
    let mut caches = 0;
    let mut add = |enabled: bool, cache: u8| caches |= if enabled { set(cache) } else { 0 };
    add(control.vf_cache_invalidation_enable, VERTEX);
    add(control.constant_cache_invalidation_enable, CONSTANT);
    add(control.state_cache_invalidation_enable, STATE);
    add(control.instruction_cache_invalidate_enable, INSTRUCTION);
    add(control.texture_cache_invalidation_enable, TEXTURE);
    // Wa_14010840176: a flush of the data port's pipeline invalidates the first level of constants, and the state's invalidation the
    // L3's part (Mesa, iris_state.c, `iris_emit_raw_pipe_control`; ANV uses the constants' own bit).
    let instead = control.hdc_pipeline_flush_enable && control.state_cache_invalidation_enable;
    add(generation == Generation::Gen12 && instead, CONSTANT);
    if caches != 0 {
        emit(Event::Invalidate(caches));
    }
    let mut pixels = 0;
    let mut add = |enabled: bool, cache: u8| pixels |= if enabled { set(cache) } else { 0 };
    add(control.render_target_cache_flush_enable, RENDER);
    add(control.depth_cache_flush_enable, DEPTH);
    match generation {
        Generation::Gen9 => {
            let data = if control.dc_flush_enable { set(DATA) } else { 0 };
            if pixels | data != 0 {
                emit(Event::Flush(pixels | data, Level::Memory));
            }
        }
        Generation::Gen12 => {
            let data = control.hdc_pipeline_flush_enable || control.dc_flush_enable;
            let data = if data { set(DATA) } else { 0 };
            if pixels | data != 0 {
                emit(Event::Flush(pixels | data, Level::Shared));
            }
            let mut down = if control.dc_flush_enable { set(DATA) } else { 0 };
            if control.tile_cache_flush_enable {
                down |= set(RENDER) | set(DEPTH);
            }
            if down != 0 {
                emit(Event::Flush(down, Level::Memory));
            }
        }
    }
    if control.command_streamer_stall_enable {
        emit(Event::Finish);
    } else if control.stall_at_pixel_scoreboard {
        emit(Event::Wait(SHADER_UNITS));
    } else if control.depth_stall_enable {
        emit(Event::Wait(DEPTH_UNITS));
    }
}

/// The checker of a GPU.
pub(crate) struct OrderChecker {
    generation: Generation,
    max_removals: usize,
    state: Mutex<State>,
    /// Held while a batch runs.
    pub batch: Mutex<()>,
}

struct State {
    tracker: Tracker,
    /// Address and name of the commands so far, by time.
    commands: HashMap<u32, (u64, &'static str)>,
    /// The sequence, if its events are to be removed one at a time.
    trace: Option<Trace>,
    /// The order of the batch's commands, and the reports about it.
    restrictions: Restrictions,
    reports: Vec<Report>,
    /// The images' memory of each address space, by its number.
    compressed: HashMap<u64, Compressed>,
    /// The time of the command that is executed, and whether a batch runs.
    now: u32,
    runs: bool,
}

/// Relaxed executions of a batch without an event.
const REMOVAL_SEEDS: u64 = 16;

/// Limit on a batch's reports about compression: one of each kind is kept in the end.
const MAX_REPORTS: usize = 256;

/// Limit on the commands of a batch whose names are kept.
const MAX_COMMANDS: usize = 1 << 20;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The units and caches of a generation.
pub(crate) fn table(generation: Generation) -> &'static Table {
    match generation {
        Generation::Gen9 => &GEN9,
        Generation::Gen12 => &GEN12,
    }
}

impl OrderChecker {
    /// A checker; events are removed one at a time, too, up to a number of each kind in a batch.
    pub fn new(generation: Generation, removals: Option<usize>) -> OrderChecker {
        let tracker = Tracker::new(table(generation));
        let trace = removals.map(|_| Trace::default());
        let state = State {
            tracker,
            commands: HashMap::new(),
            trace,
            restrictions: Restrictions::new(generation),
            reports: Vec::new(),
            compressed: HashMap::new(),
            now: 0,
            runs: false,
        };
        let max_removals = removals.unwrap_or(0);
        OrderChecker { generation, max_removals, state: Mutex::new(state), batch: Mutex::new(()) }
    }

    /// Begins a batch.
    pub fn begin(&self) {
        let mut state = lock(&self.state);
        state.tracker.restart();
        state.commands.clear();
        state.trace.iter_mut().for_each(Trace::clear);
        state.restrictions = Restrictions::new(self.generation);
        state.reports.clear();
        state.runs = true;
    }

    /// Begins a command, before it is read.
    pub fn command(&self, address: u64) {
        let mut state = lock(&self.state);
        state.now = state.tracker.command();
        state.trace.iter_mut().for_each(Trace::command);
        if state.commands.len() < MAX_COMMANDS {
            let now = state.now;
            state.commands.insert(now, (address, "a command"));
        }
    }

    /// Sets the name of the command.
    pub fn name(&self, name: &'static str) {
        let mut state = lock(&self.state);
        let now = state.now;
        if let Some((_, known)) = state.commands.get_mut(&now) {
            *known = name;
        }
    }

    /// Compares the command with the restrictions on the order of commands.
    ///
    /// # Errors
    /// Errors of `compare`.
    pub fn restrict(
        &self,
        compare: impl FnOnce(&mut Restrictions) -> Result<(), JobFault>,
    ) -> Result<(), JobFault> {
        let mut state = lock(&self.state);
        let result = compare(&mut state.restrictions);
        for restriction in state.restrictions.take() {
            let report = state.restriction_report(restriction);
            state.reports.push(report);
        }
        result
    }

    /// Handles the flushes, invalidations and stalls of a PIPE_CONTROL.
    pub fn pipe_control(&self, control: &PipeControl) {
        let mut state = lock(&self.state);
        let control = state.restrictions.effective(control);
        events(self.generation, &control, |event| {
            state.tracker.event(event);
            state.trace.iter_mut().for_each(|trace| trace.event(event));
        });
        state.next_access();
    }

    /// Handles MI_SEMAPHORE_WAIT on memory, before it reads.
    pub fn poll(&self, address: u64) {
        let mut state = lock(&self.state);
        let event = Event::Poll(address);
        state.tracker.event(event);
        state.trace.iter_mut().for_each(|trace| trace.event(event));
        state.next_access();
    }

    /// Ends a batch; its reports, and for each kind of event how many removals would be reported, if it can be judged.
    pub fn end(&self, vm: &AddressSpace) -> (Vec<Report>, Option<BTreeMap<String, Removals>>) {
        let mut state = lock(&self.state);
        state.runs = false;
        if let Some(compressed) = state.compressed.get_mut(&vm.id()) {
            compressed.end(vm);
        }
        let hazards = state.tracker.take();
        let hazards = hazards.iter().map(|hazard| state.report(self.generation, hazard));
        let reports = hazards.chain(state.reports.iter().cloned()).collect();
        let trace = state.trace.as_ref();
        let removals = trace.and_then(|trace| {
            trace.removals(table(self.generation), REMOVAL_SEEDS, self.max_removals)
        });
        (reports, removals)
    }
}

impl State {
    /// Begins the accesses of a command that follow its events.
    fn next_access(&mut self) {
        let (before, now) = (self.now, self.tracker.command());
        self.trace.iter_mut().for_each(Trace::command);
        self.now = now;
        if let Some(command) = self.commands.get(&before).copied() {
            self.commands.insert(now, command);
        }
    }

    /// Handles an access of the command that is executed.
    fn access(&mut self, unit: u8, access: Access, address: u64, bytes: u64) {
        self.tracker.access(unit, access, address, bytes);
        if let Some(trace) = &mut self.trace {
            trace.access(unit, access, address, bytes);
        }
    }

    /// The name of the command that is executed.
    fn command_name(&self) -> &'static str {
        self.commands.get(&self.now).map_or("a command", |(_, name)| name)
    }

    fn restriction_report(&self, restriction: &'static Restriction) -> Report {
        let (address, name) = self.commands.get(&self.now).copied().unwrap_or_default();
        let Restriction { name: rule, needs, source, .. } = restriction;
        let mut hasher = std::hash::DefaultHasher::new();
        (rule, name).hash(&mut hasher);
        Report {
            kind: ReportKind::CommandOrder,
            what: format!(
                "{name} at {address:#x} breaks a restriction, {rule}: {needs} ({source})"
            ),
            at: ProgramPoint {
                program: hasher.finish(),
                offset: 0,
                text: format!("{name}, {rule}"),
            },
        }
    }

    /// Notes a mistake of an access by a unit, or of a use of contents.
    fn mistake(&mut self, generation: Generation, unit: Option<u8>, (mistake, line, by): Found) {
        let (address, name) = self.commands.get(&self.now).copied().unwrap_or_default();
        let unit = unit.map_or("unit", |unit| table(generation).units[usize::from(unit)].name);
        let access = format!("the {unit} of {name} at {address:#x}");
        let mut hasher = std::hash::DefaultHasher::new();
        (mistake, unit, name, by).hash(&mut hasher);
        let at = ProgramPoint {
            program: hasher.finish(),
            offset: mistake as u32,
            text: format!("{by}, {name}"),
        };
        if self.reports.len() < MAX_REPORTS {
            let what = mistake.text(&access, line, by);
            self.reports.push(Report { kind: ReportKind::CompressionState, what, at });
        }
    }

    fn report(&self, generation: Generation, hazard: &Hazard) -> Report {
        let table = table(generation);
        let side = |side: &tepui_order::Side| {
            let (address, name) = self.commands.get(&side.time).copied().unwrap_or_default();
            let access = match side.access {
                Access::Read => "read",
                Access::Write => "write",
                Access::Atomic => "atomic",
            };
            let unit = table.units[usize::from(side.unit)].name;
            (format!("{access} by the {unit} of {name} at {address:#x}"), name)
        };
        let (earlier, from) = side(&hazard.earlier);
        let (later, name) = side(&hazard.later);
        let cache = |cache: u8| table.caches[usize::from(cache)].name;
        let (kind, missing) = match hazard.missing {
            Missing::Wait { .. } => (ReportKind::MissingWait, "a stall".to_owned()),
            Missing::Flush { cache: c, to: Level::Shared } => {
                (ReportKind::MissingFlush, format!("a flush of the {}", cache(c)))
            }
            Missing::Flush { cache: c, to: Level::Memory } => {
                (ReportKind::MissingFlush, format!("a flush of the {} to memory", cache(c)))
            }
            Missing::Finish { cache: c } => (
                ReportKind::MissingWait,
                format!("a stall of the command streamer after the flush of the {}", cache(c)),
            ),
            Missing::Invalidate { cache: c } => {
                (ReportKind::MissingInvalidate, format!("an invalidation of the {}", cache(c)))
            }
        };
        let what = format!(
            "memory at {:#x}: between the {earlier} and the {later}, {missing} is missing",
            hazard.address
        );
        // One report for each kind of pair, wherever its commands are.
        let mut hasher = std::hash::DefaultHasher::new();
        (from, name, &missing).hash(&mut hasher);
        let units = u32::from(hazard.earlier.unit) << 8 | u32::from(hazard.later.unit);
        let kinds = (hazard.earlier.access as u32) << 2 | hazard.later.access as u32;
        Report {
            kind,
            what,
            at: ProgramPoint {
                program: hasher.finish(),
                offset: units << 4 | kinds,
                text: format!("{from}, {name}"),
            },
        }
    }
}

impl AccessObserver for OrderChecker {
    fn access_as(
        &self,
        vm: &AddressSpace,
        (unit, view): (u8, u64),
        access: tepui_softgpu::Access,
        address: u64,
        bytes: u64,
    ) {
        let mut state = lock(&self.state);
        if state.runs {
            state.access(unit, access.into(), address, bytes);
            let by = state.command_name();
            let compressed = state.compressed.entry(vm.id()).or_default();
            let found = compressed.access(View(view), access, (address, bytes), by, Some(vm));
            if let Some(found) = found {
                state.mistake(self.generation, Some(unit), found);
            }
        }
    }

    fn contents(&self, vm: &AddressSpace, view: u64, at: (u64, u64), contents: Contents) {
        let mut state = lock(&self.state);
        if state.runs {
            let by = state.command_name();
            let compressed = state.compressed.entry(vm.id()).or_default();
            if let Some(found) = compressed.contents(View(view), at, contents, by) {
                state.mistake(self.generation, None, found);
            }
        }
    }

    fn access(&self, unit: u8, access: tepui_softgpu::Access, address: u64, bytes: u64) {
        let mut state = lock(&self.state);
        if state.runs {
            state.access(unit, access.into(), address, bytes);
        }
    }
}
