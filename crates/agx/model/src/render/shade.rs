//! Execution of vertex programs, whose outputs go to the vertex store ([`crate::uvs`]).

use tepui_softgpu::AddressSpace;

use crate::Gpu;
use crate::dispatch::done;
use crate::job::{JobFault, JobStats, Unit};
use crate::usc::launch::Launch;
use crate::usc::row::{LANES, Row};
use crate::usc::stage::{INSTANCE_REGISTER, Stage, VERTEX_REGISTER, VertexStage};
use crate::usc::workgroup::Worker;
use crate::uvs::Vertex;
use crate::workers::{Budget, share};

/// Target number of work items for each worker.
const ITEMS: usize = 8;
/// Maximum number of SIMD-groups of a work item.
const MAX_GROUPS_AT_A_TIME: usize = 64;

/// Runs the program of a prepared launch for vertices and stores their outputs in `outputs`,
/// `stride` words for each.
pub fn shade(
    gpu: &Gpu,
    vm: &AddressSpace,
    launch: &Launch<'_>,
    vertices: &[Vertex],
    (outputs, stride): (&mut [u32], usize),
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    debug_assert_eq!(outputs.len(), vertices.len() * stride);
    let rows = launch.program.code.shared_rows(&launch.uniforms);
    let group = |worker: &mut Worker<'_>, vertices: &[Vertex], outputs: &mut [u32]| {
        preload(worker.preload(&launch.program.code), vertices);
        let alive = if vertices.len() == LANES { u32::MAX } else { (1 << vertices.len()) - 1 };
        let stage = Stage::Vertex(VertexStage { outputs, stride });
        worker.run_group(launch, &rows, stage, alive, gpu.options.instruction_budget)
    };
    let each = vertices.len() / (LANES * ITEMS * gpu.workers());
    let chunk = each.clamp(1, MAX_GROUPS_AT_A_TIME) * LANES;
    let budget = Budget::new(stats.instructions, gpu.options.job_budget, Unit::Usc);
    let (parts, outcome) = share(
        gpu,
        vertices.chunks(chunk).zip(outputs.chunks_mut(chunk * stride)),
        |core| Worker::new(gpu.port(vm, core), launch, gpu.options.checks()),
        |worker, (vertices, outputs)| {
            let before = worker.executed.instructions;
            let mut groups = vertices.chunks(LANES).zip(outputs.chunks_mut(LANES * stride));
            groups.try_for_each(|(vertices, outputs)| group(worker, vertices, outputs))?;
            budget.spend(worker.executed.instructions - before)
        },
        done,
    )?;
    parts.iter().for_each(|part| stats.merge(part));
    outcome
}

fn preload(registers: &mut [Row], vertices: &[Vertex]) {
    for (lane, vertex) in vertices.iter().enumerate() {
        registers[VERTEX_REGISTER].0[lane] = vertex.index;
        registers[INSTANCE_REGISTER].0[lane] = vertex.instance;
    }
}
