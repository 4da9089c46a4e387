//! Compute dispatches: workgroups, their warps, and the registers with which warps start.
//!
//! A workgroup runs on one worker of the host, which acts as a shader core: it runs the warps one after the
//! other, each until it ends or waits at a barrier. Workgroups are independent, so workers take them in
//! order.
//!
// source: registers at a thread's start and what the dispatch reads: Mesa, bifrost_compile.c
// (`load_local_invocation_id` and the like), decode_csf.c (`pandecode_run_compute`), pan_desc.c
// (`pan_emit_tls`), pan_scratch.c.

mod copied;

use std::sync::atomic::Ordering;

use tepui_mali_isa::Special;
use tepui_mali_packets::Packet;
use tepui_mali_packets::shader::{ComputeSizeWorkgroup, ShaderStage};
use tepui_softgpu::worker_pool::Budget;
use tepui_softgpu::{AddressSpace, Slots};

use crate::environment::{BUDGET_STEP, CORES, fault, local_base, thread_bytes};
use crate::gpu::Gpu;
use crate::job::{FaultKind, JobFault, JobStats, Unit};
use crate::limits::{MAX_THREADS, MAX_WORKGROUP_SIZE, SHADER_PRESENT};
use crate::render::stage::Stage;
use crate::shader::midgard::rows;
use crate::shader::run::run;
use crate::shader::step::Stop;
use crate::units::Port;
use crate::warp::addresses::StageAddresses;
use crate::warp::row::{LANES, Row};
use crate::warp::trap::{RaisedTrap, Trap};
use crate::warp::uniforms::Uniforms;
use crate::warp::{Warp, local};
use crate::watch::WarpPlace;

const UNIT: Unit = Unit::Dispatch;

/// The parameters of a dispatch, from registers of the command stream or from a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispatch {
    /// Addresses of the shader and its inputs.
    pub stage: StageAddresses,
    /// The size of a workgroup.
    pub size: [u32; 3],
    /// The first thread.
    pub offset: [u32; 3],
    /// Workgroups.
    pub groups: [u32; 3],
}

/// A dispatch with its descriptors read.
struct Launch {
    stage: Stage,
    size: [u32; 3],
    threads: u32,
    /// Local invocation IDs for each warp of a workgroup.
    local: Vec<[[u32; LANES]; 3]>,
    offset: [u32; 3],
}

/// The size of a workgroup, from its descriptor of one word.
pub(crate) fn workgroup_size(word: u32) -> Result<[u32; 3], JobFault> {
    let size = ComputeSizeWorkgroup::unpack(&u128::from(word).to_le_bytes())
        .map_err(|problem| JobFault::new(UNIT, format!("workgroup size: {problem}")))?;
    Ok([size.workgroup_size_x, size.workgroup_size_y, size.workgroup_size_z])
}

/// Runs a dispatch to its end.
pub(crate) fn execute(
    gpu: &Gpu,
    vm: &AddressSpace,
    dispatch: &Dispatch,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    stats.dispatches += 1;
    let [x, y, z] = dispatch.groups.map(|n| n as usize);
    let count = x.checked_mul(y).and_then(|n| n.checked_mul(z));
    let Some(count) = count else {
        let what = "the dispatch has more workgroups than can be counted";
        return Err(JobFault::new(UNIT, what).of(FaultKind::Endless));
    };
    if count == 0 {
        return Ok(());
    }
    // Mesa's transform feedback is a dispatch of vertex shaders.
    let stages = [ShaderStage::Compute, ShaderStage::Vertex];
    // Without a program there is nothing to run.
    let Some(stage) = Stage::read(gpu, vm, &dispatch.stage, &stages)? else { return Ok(()) };
    let threads = thread_count(dispatch.size)?;
    let local = local_ids(dispatch.size, threads);
    let launch = Launch { stage, size: dispatch.size, threads, local, offset: dispatch.offset };
    if let Some(order) = &gpu.order {
        let instances =
            u64::from(launch.stage.storage.wls_instances).saturating_mul(u64::from(CORES));
        let bytes = launch.group_bytes().saturating_mul(instances);
        order.hide(launch.stage.storage.wls_base_pointer, bytes);
    }
    let number = gpu.dispatches.fetch_add(1, Ordering::Relaxed);
    let budget = Budget::new(0, gpu.options.max_instructions);
    if copied::execute(gpu, vm, &launch, dispatch.groups, &budget, stats)? {
        return Ok(());
    }
    let places = workgroup_slots(&launch, gpu.pool.workers());
    let begin = |_| Worker {
        warps: Vec::new(),
        running: Vec::new(),
        uniforms: launch.stage.uniforms.clone(),
        port: launch.port(vm).observed(gpu.observer(vm)),
        left: 0,
        stats: JobStats::default(),
    };
    let run = |worker: &mut Worker<'_>, group: usize| {
        let index = [group % x, group / x % y, group / x / y].map(|n| n as u32);
        if let Some(watched) = &mut worker.port.watched {
            let size = launch.size;
            watched.place = WarpPlace::Group { workgroup: index, warp: 0, size, dispatch: number };
        }
        places.with(|place| worker.group(&launch, &budget, place, index))
    };
    let shared = gpu.pool.share(0..count, begin, run, |worker| worker.stats);
    let (parts, outcome) = shared.map_err(|error| JobFault::new(UNIT, error.to_string()))?;
    for part in parts {
        stats.threads += part.threads;
        stats.instructions += part.instructions;
    }
    outcome
}

impl Launch {
    /// The message units of a worker.
    fn port<'vm>(&self, vm: &'vm AddressSpace) -> Port<'vm> {
        let mut port = Port::new(vm, self.stage.resources);
        port.tables = self.stage.tables;
        port.attribute_offset = self.stage.attribute_offset;
        port
    }

    /// Bytes of a workgroup's local storage; 0 if it has none.
    fn group_bytes(&self) -> u64 {
        match (self.stage.storage.wls_instances, self.stage.storage.wls_size_scale) {
            (NO_WORKGROUP_MEMORY, _) | (_, 0) => 0,
            (_, scale) => 1 << (scale - 1),
        }
    }

    /// Bytes of a thread's local storage.
    fn thread_bytes(&self) -> u64 {
        thread_bytes(&self.stage.storage)
    }
}

/// The local invocation IDs of a workgroup, for each warp.
fn local_ids([width, height, _]: [u32; 3], threads: u32) -> Vec<[[u32; LANES]; 3]> {
    let of = |warp: u32| {
        let place = |lane: usize| {
            let n = warp * LANES as u32 + lane as u32;
            [n % width, n / width % height, n / width / height]
        };
        let places: [[u32; 3]; LANES] = std::array::from_fn(place);
        std::array::from_fn(|axis| places.map(|place| place[axis]))
    };
    (0..threads.div_ceil(LANES as u32)).map(of).collect()
}

/// The number of threads of a workgroup.
fn thread_count(size: [u32; 3]) -> Result<u32, JobFault> {
    let threads = size.iter().try_fold(1u32, |n, s| n.checked_mul(*s));
    threads
        .filter(|n| *n <= MAX_WORKGROUP_SIZE)
        .ok_or_else(|| JobFault::new(UNIT, format!("a workgroup of {size:?} has too many threads")))
}

/// The number of instances that means no workgroup memory.
const NO_WORKGROUP_MEMORY: u32 = 1 << 31;

/// A slot for a workgroup: a core, and the index of the slot on it.
#[derive(Clone, Copy)]
struct WorkgroupSlot {
    core: u32,
    number: u32,
}

/// The slots for workgroups. Their number is limited by the memory that the driver provides: a workgroup
/// waits until one is free.
fn workgroup_slots(launch: &Launch, workers: usize) -> Slots<WorkgroupSlot> {
    let cores: Vec<u32> = (0..64).filter(|n| SHADER_PRESENT >> n & 1 != 0).collect();
    let threads = launch.threads.next_multiple_of(LANES as u32);
    let mut on_core = (MAX_THREADS / threads).max(1);
    if launch.group_bytes() > 0 {
        on_core = on_core.min(launch.stage.storage.wls_instances);
    }
    let on_core = on_core.clamp(1, workers.div_ceil(cores.len()).max(1) as u32);
    let place = |number: u32| cores.iter().map(move |core| WorkgroupSlot { core: *core, number });
    Slots::new((0..on_core).rev().flat_map(place))
}

/// The state of a worker: warps and units that its workgroups use one after the other.
struct Worker<'vm> {
    warps: Vec<Warp>,
    /// The warps that have not ended.
    running: Vec<usize>,
    uniforms: Uniforms,
    port: Port<'vm>,
    /// Instructions that it has taken from the budget but not executed.
    left: u64,
    stats: JobStats,
}

impl Worker<'_> {
    /// Runs a workgroup to its end.
    fn group(
        &mut self,
        launch: &Launch,
        budget: &Budget,
        place: WorkgroupSlot,
        index: [u32; 3],
    ) -> Result<(), JobFault> {
        let count = launch.threads.div_ceil(LANES as u32) as usize;
        while self.warps.len() < count {
            self.warps.push(Warp::default());
        }
        for (number, warp) in self.warps[..count].iter_mut().enumerate() {
            start(warp, launch, index, number as u32 * LANES as u32);
        }
        self.stats.threads += u64::from(launch.threads);
        let group = launch.group_bytes();
        let instance = u64::from(place.core) * u64::from(launch.stage.storage.wls_instances)
            + u64::from(place.number);
        let local =
            launch.stage.storage.wls_base_pointer.wrapping_add(instance.wrapping_mul(group));
        self.uniforms.set(Special::WorkgroupLocalPointer, local);
        if let Some(watched) = &mut self.port.watched {
            watched.workgroup = local..local.saturating_add(group);
        }
        self.uniforms.set(Special::CoreId, place.core.into());
        let mut running = std::mem::take(&mut self.running);
        running.clear();
        running.extend(0..count);
        while !running.is_empty() {
            let mut fault = None;
            running.retain(|number| match self.warp(launch, budget, place, *number) {
                Ok(stop) => stop == Stop::Barrier,
                Err(error) => {
                    fault = fault.take().or(Some(error));
                    false
                }
            });
            if let Some(fault) = fault {
                return Err(fault);
            }
        }
        self.running = running;
        Ok(())
    }

    /// Runs a warp up to a barrier or its end.
    fn warp(
        &mut self,
        launch: &Launch,
        budget: &Budget,
        place: WorkgroupSlot,
        number: usize,
    ) -> Result<Stop, JobFault> {
        let threads = launch.threads.next_multiple_of(LANES as u32);
        let warp_id = place.number * threads / LANES as u32 + number as u32;
        let bytes = launch.thread_bytes();
        let thread =
            u64::from(place.core) * u64::from(MAX_THREADS) + u64::from(warp_id) * LANES as u64;
        let base = local_base(&launch.stage.storage).wrapping_add(thread.wrapping_mul(bytes));
        self.port.local = local::LocalStorage { base, bytes };
        let most = u64::from(MAX_THREADS) / LANES as u64 - 1;
        self.uniforms.set(Special::WarpId, u64::from(warp_id) | most << 32);
        if let Some(watched) = &mut self.port.watched
            && let WarpPlace::Group { warp, .. } = &mut watched.place
        {
            *warp = number as u32;
        }
        loop {
            let before = self.left;
            let warp = &mut self.warps[number];
            let result =
                run(&launch.stage.program, warp, &self.uniforms, &mut self.port, &mut self.left);
            self.stats.instructions += before - self.left;
            match result {
                Err(RaisedTrap { trap, .. })
                    if *trap == Trap::Endless && budget.spend(BUDGET_STEP).is_ok() =>
                {
                    self.left = BUDGET_STEP;
                }
                Err(trapped) => return Err(fault(&launch.stage.program, trapped)),
                Ok(Stop::Jump(_)) => {
                    return Err(JobFault::unimplemented(Unit::ShaderCore, "jumps in compute"));
                }
                Ok(stop) => return Ok(stop),
            }
        }
    }
}

/// Initialises a warp: its lanes, and registers with the ids of their threads.
fn start(warp: &mut Warp, launch: &Launch, group: [u32; 3], first: u32) {
    let lanes = (launch.threads - first).min(LANES as u32);
    warp.start((u32::from(u16::MAX) >> (LANES as u32 - lanes)) as u16);
    launch.stage.fill(warp);
    let local = &launch.local[first as usize / LANES];
    let first_thread: [u32; 3] = std::array::from_fn(|axis| {
        launch.offset[axis].wrapping_add(group[axis].wrapping_mul(launch.size[axis]))
    });
    if launch.stage.registers.is_some() {
        for axis in 0..3 {
            let id = (launch.offset[axis] / launch.size[axis]).wrapping_add(group[axis]);
            let global = local[axis].map(|id| id.wrapping_add(first_thread[axis]));
            warp.registers[usize::from(rows::LOCAL_ID) + axis] = Row(local[axis]);
            warp.registers[usize::from(rows::GROUP_ID) + axis] = Row::splat(id);
            warp.registers[usize::from(rows::GLOBAL_ID) + axis] = Row(global);
        }
    }
    let mut set = |register: usize, row: Row| {
        if launch.stage.preloads(register) {
            warp.registers[register] = row;
        }
    };
    set(55, Row(std::array::from_fn(|lane| local[0][lane] | local[1][lane] << 16)));
    set(56, Row(local[2]));
    for axis in 0..3 {
        // The offset is a whole number of workgroups.
        let id = launch.offset[axis] / launch.size[axis];
        set(57 + axis, Row::splat(id.wrapping_add(group[axis])));
        let global = local[axis].map(|id| id.wrapping_add(first_thread[axis]));
        set(60 + axis, Row(global));
    }
}
