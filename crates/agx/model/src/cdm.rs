//! Compute data master: walks a compute control stream and launches its dispatches.

use tepui_agx_packets::cdm;
use tepui_order::relaxed::Choices;
use tepui_packets::Packet;
use tepui_softgpu::AddressSpace;

use crate::job::{ComputeJob, JobFault, JobStats, Unit};
use crate::stream::{BLOCK_BUDGET, Stream};
use crate::usc::cache::Programs;
use crate::usc::grid::Grid;
use crate::{Gpu, pipeline};

/// Cost of a launch besides its instructions, counted in instructions.
const LAUNCH_COST: u64 = 1024;
/// Threads of a workgroup. source: Apple's Metal feature set tables.
const MAX_WORKGROUP_THREADS: u64 = 1024;
/// Maximum number of launches that wait for a barrier when launches are reordered.
const MAX_WAITING: usize = 1 << 12;

/// Runs a compute command to its end.
pub fn run(gpu: &Gpu, vm: &AddressSpace, job: &ComputeJob) -> Result<JobStats, JobFault> {
    let mut stream = Stream::new(vm, Unit::Cdm, job.registers.ctrl_stream_base);
    let mut launches = Launches::new(gpu, vm, job);
    for block in 0..BLOCK_BUDGET {
        if launches.cost() + block > gpu.options.job_budget {
            return Err(stream.place(JobFault::endless(Unit::Cdm)));
        }
        match stream.block_type()? {
            0 => {
                gpu.omission.work(0);
                launches.read(&stream);
                let (launch, size) = Launch::at(gpu, &stream)?;
                launches.begin(launch, &stream)?;
                stream.skip(size);
            }
            1 => {
                let link: cdm::StreamLink = stream.packet(0)?;
                let size = link.with_return.then_some(cdm::StreamLink::INFO.size_bytes as u64);
                stream.link(link.target, size)?;
            }
            2 => {
                launches.finish()?;
                let mut stats = launches.stats;
                stats.report(&launches.programs.unread());
                return Ok(stats);
            }
            3 => {
                if !gpu.omission.omits(0, "barrier block") {
                    launches.barrier()?;
                }
                stream.skip(cdm::Barrier::INFO.size_bytes as u64);
            }
            4 => stream.pop()?,
            other => return Err(stream.fault(format!("block type {other} is unknown"))),
        }
    }
    Err(stream.fault("the control stream does not end"))
}

/// The launches of a stream: executed one after the other on coherent memory, or with relaxed execution those between
/// two barriers in another order.
struct Launches<'a> {
    gpu: &'a Gpu,
    job: &'a ComputeJob,
    programs: Programs<'a>,
    stats: JobStats,
    /// Launches since the last barrier that did not run yet.
    waiting: Vec<(Launch, Stream<'a>)>,
    /// The order of relaxed execution.
    choices: Option<Choices>,
}

impl<'a> Launches<'a> {
    fn new(gpu: &'a Gpu, vm: &'a AddressSpace, job: &'a ComputeJob) -> Launches<'a> {
        // The order depends on the seed and the stream alone.
        let stream = job.registers.ctrl_stream_base.rotate_left(32);
        Launches {
            gpu,
            job,
            programs: Programs::new(vm, job.usc_exec_base, &gpu.programs),
            stats: JobStats::default(),
            waiting: Vec::new(),
            choices: gpu.options.relaxed.map(|seed| Choices::new(seed ^ stream)),
        }
    }

    /// The cost so far, in instructions.
    fn cost(&self) -> u64 {
        self.stats.instructions + LAUNCH_COST * self.stats.launches
    }

    /// Tells the checker of the launch that the stream stands at, before it is read.
    fn read(&self, stream: &Stream<'_>) {
        if let Some(order) = &self.gpu.order {
            order.launch(stream.at);
        }
    }

    /// Runs a launch, at which the stream stands, now or before the next barrier.
    fn begin(&mut self, launch: Launch, stream: &Stream<'a>) -> Result<(), JobFault> {
        self.stats.launches += 1;
        if self.choices.is_none() {
            return self.run(&launch, stream);
        }
        self.waiting.push((launch, Stream::new(stream.vm, Unit::Cdm, stream.at)));
        if self.waiting.len() == MAX_WAITING { self.run_one() } else { Ok(()) }
    }

    /// Orders the launches before with those after.
    fn barrier(&mut self) -> Result<(), JobFault> {
        if let Some(order) = &self.gpu.order {
            order.barrier();
        }
        self.finish()
    }

    /// Runs all launches that wait.
    fn finish(&mut self) -> Result<(), JobFault> {
        while !self.waiting.is_empty() {
            self.run_one()?;
        }
        Ok(())
    }

    /// Runs one of the launches that wait.
    fn run_one(&mut self) -> Result<(), JobFault> {
        let count = self.waiting.len();
        let chosen = self.choices.as_mut().map_or(0, |choices| choices.below(count));
        let (launch, stream) = self.waiting.swap_remove(chosen);
        self.run(&launch, &stream)
    }

    fn run(&mut self, launch: &Launch, stream: &Stream<'_>) -> Result<(), JobFault> {
        let Launches { gpu, job, programs, stats, .. } = self;
        launch.run(gpu, stream, job, programs, stats)
    }
}

/// Size of a launch.
enum Size {
    /// In the stream.
    Direct(Grid),
    /// Workgroups in memory; threads of one.
    Groups(u64, [u32; 3]),
    /// Threads and threads of a workgroup in memory.
    Threads(u64),
}

/// A launch block.
struct Launch {
    word0: cdm::LaunchWord0,
    word1: cdm::LaunchWord1,
    size: Size,
}

impl Launch {
    /// The block at a stream's position, and its size in bytes.
    fn at(gpu: &Gpu, stream: &Stream<'_>) -> Result<(Launch, u64), JobFault> {
        let word0: cdm::LaunchWord0 = stream.packet(0)?;
        let word1: cdm::LaunchWord1 = stream.packet(4)?;
        let mut offset = 8;
        if gpu.options.wide_launch {
            let _: cdm::UnkG14x = stream.packet(offset)?;
            offset += cdm::UnkG14x::INFO.size_bytes as u64;
        }
        let global_size = |offset| -> Result<[u32; 3], JobFault> {
            let size: cdm::GlobalSize = stream.packet(offset)?;
            Ok([size.x, size.y, size.z])
        };
        let local_size = |offset| -> Result<[u32; 3], JobFault> {
            let size: cdm::LocalSize = stream.packet(offset)?;
            Ok([size.x, size.y, size.z])
        };
        let indirect = |offset| -> Result<u64, JobFault> {
            let indirect: cdm::Indirect = stream.packet(offset)?;
            Ok(indirect.address)
        };
        let (size, bytes) = match word0.mode {
            cdm::Mode::Direct => {
                let grid = Grid { global: global_size(offset)?, local: local_size(offset + 12)? };
                (Size::Direct(grid), 24)
            }
            // Unlike in the stream, the size in memory counts workgroups: Honeykrisp points it at
            // the API's own arguments of an indirect dispatch. source: Mesa's hk_cmd_dispatch.c
            cdm::Mode::IndirectGlobal => {
                (Size::Groups(indirect(offset)?, local_size(offset + 8)?), 20)
            }
            cdm::Mode::IndirectLocal => (Size::Threads(indirect(offset)?), 8),
        };
        Ok((Launch { word0, word1, size }, offset + bytes))
    }

    /// Executes it; `stream` stands at the block.
    fn run(
        &self,
        gpu: &Gpu,
        stream: &Stream<'_>,
        job: &ComputeJob,
        programs: &Programs<'_>,
        stats: &mut JobStats,
    ) -> Result<(), JobFault> {
        let grid = match self.size {
            Size::Direct(grid) => grid,
            Size::Groups(at, local) => {
                let groups = stream.words::<3>(at)?;
                let global = std::array::from_fn(|a| groups[a].saturating_mul(local[a]));
                Grid { global, local }
            }
            Size::Threads(at) => {
                let [x, y, z, lx, ly, lz] = stream.words::<6>(at)?;
                Grid { global: [x, y, z], local: [lx, ly, lz] }
            }
        };
        if grid.global.contains(&0) {
            return Ok(());
        }
        let threads = grid.local.iter().fold(1u64, |n, &size| n.saturating_mul(u64::from(size)));
        if threads == 0 || threads > MAX_WORKGROUP_THREADS {
            return Err(stream.fault(format!(
                "a workgroup of {} × {} × {} threads; it must have 1 to {MAX_WORKGROUP_THREADS}",
                grid.local[0], grid.local[1], grid.local[2]
            )));
        }
        let pipeline = pipeline::Pipeline {
            vm: stream.vm,
            usc_exec_base: job.usc_exec_base,
            address: self.word1.pipeline,
            samplers: self.word0.sampler_state_register_count,
            sampler_heap: (job.registers.sampler_heap, job.registers.sampler_count),
            helper: job.registers.helper,
        };
        let launch = pipeline.load(programs);
        let run = launch.and_then(|launch| gpu.dispatch(stream.vm, launch, grid, stats));
        run.map_err(|fault| stream.place(fault))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tepui_softgpu::{Memory, Protection};

    use super::*;
    use crate::Options;
    use crate::job::FaultKind;

    /// Blocks that launch nothing cost something too, so that a stream of them ends.
    #[test]
    fn every_block_is_counted() {
        const STREAM: u64 = 0x10_0000;
        let page = tepui_agx_chips::PAGE_BYTES;
        let vm = AddressSpace::new(tepui_agx_chips::PAGE_SHIFT, tepui_agx_chips::VA_BITS);
        let memory = Arc::new(Memory::new(page as usize).expect("memory"));
        vm.bind(STREAM, memory, 0, page, Protection::READ | Protection::WRITE).expect("it is free");
        let mut stream = Vec::new();
        for _ in 0..20 {
            stream.extend(cdm::Barrier::default().pack().expect("it fits"));
        }
        stream.extend(cdm::StreamTerminate {}.pack().expect("it fits"));
        vm.write(STREAM, &stream).expect("it is bound");
        let mut job = ComputeJob::default();
        job.registers.ctrl_stream_base = STREAM;
        for (job_budget, ends) in [(19, false), (20, true)] {
            let gpu = Gpu::new(Options { job_budget, ..Options::default() });
            let outcome = run(&gpu, &vm, &job);
            assert_eq!(outcome.is_ok(), ends, "{outcome:?}");
            if let Err(fault) = outcome {
                assert_eq!((fault.kind, fault.unit), (FaultKind::Endless, Unit::Cdm));
            }
        }
    }
}
