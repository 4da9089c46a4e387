//! Tessellation: hull shader threads, the tessellator, domain shader threads.
//!
//! A thread of the hull shader has eight channels: eight vertices of one patch, or one vertex of each of
//! eight patches. The threads of a patch share its URB entry and may wait for each other. A thread of the
//! domain shader has eight points of one patch.

use tepui_intel_chips::Generation;
use tepui_intel_eu::{Stop, Thread};
use tepui_intel_packets::gen12;
use tepui_softgpu::AddressSpace;
use tepui_tessellator::{Domain, ONE, Output, Spacing, tessellate};

use super::Machine;
use super::shader::{Command, LANES, Shader, put};
use super::state::{Bindings, State, latched};
use super::unit::{UNIT, unimplemented};
use super::vertex::Vertices;
use crate::context::HardwareContext;
use crate::gpu::Gpu;
use crate::job::{FaultKind, JobFault, JobStats};
use crate::memory::Memory;
use crate::order::MemoryUnit;
use crate::port::Ports;
use tepui_intel_eu::REGISTER_BYTES;

/// A patch: its vertices, and its primitive ID.
pub(super) struct Patch {
    pub vertices: Vec<u32>,
    pub number: u32,
}

/// The tessellation of a draw.
pub(super) struct Tessellation {
    hull: Shader,
    /// Number of patches per thread.
    together: usize,
    /// Number of threads for these patches.
    instances: u32,
    /// Position of the thread's number in r0.2.
    instance_shift: u32,
    primitive_id: bool,
    /// Number of double words of a patch's entry.
    patch: usize,
    domain: Shader,
    /// Number of registers of a patch's entry that are pushed.
    pushed: usize,
    pushed_from: usize,
    /// Number of double words of a point's entry.
    pub stride: usize,
    shape: Domain,
    header: Header,
    spacing: Spacing,
    output: Output,
}

/// The layout of tessellation factors in a patch's entry.
///
/// source: genxml, gen200.xml, 3DSTATE_TE "Patch Header Layout", which Mesa 26.1 also sets on Gen12;
/// brw_nir.c (`remap_tess_levels_reversed`) of later sources: the layouts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Header {
    /// In the eighth double word and the preceding ones.
    Legacy,
    /// In the first double word and the following ones.
    Reversed,
    /// As [`Header::Reversed`], with the inner factor of triangles at the position of that of quads.
    ReversedInsideSeparate,
}

impl Tessellation {
    pub fn new(
        gpu: &Gpu,
        vm: &AddressSpace,
        context: &HardwareContext,
        state: &State,
    ) -> Result<Tessellation, JobFault> {
        /// Dispatch Mode of one patch per thread, and of eight.
        const ONE_PATCH: u32 = 0;
        const EIGHT_PATCHES: u32 = 2;
        let (hs, te, ds) = (&state.hs, &state.te, &state.ds);
        if !matches!(hs.dispatch_mode, ONE_PATCH | EIGHT_PATCHES) {
            return Err(unimplemented("3DSTATE_HS with DUAL_PATCH dispatch"));
        }
        if ds.dispatch_mode == 0 {
            return Err(unimplemented("3DSTATE_DS without SIMD8 dispatch"));
        }
        if te.te_mode != 0 {
            return Err(unimplemented("3DSTATE_TE: TE Mode"));
        }
        let mut memory = Memory::new(vm, MemoryUnit::State);
        let hull = Command {
            kernel: hs.kernel_start_pointer,
            scratch: hs.scratch_space_base_pointer,
            scratch_size: hs.per_thread_scratch_space,
            first: hs.dispatch_grf_start_register_for_urb_data
                | u32::from(hs.dispatch_grf_start_register_for_urb_data_5) << 5,
            alternative: hs.floating_point_mode,
        };
        let domain = Command {
            kernel: ds.kernel_start_pointer,
            scratch: ds.scratch_space_base_pointer,
            scratch_size: ds.per_thread_scratch_space,
            first: ds.dispatch_grf_start_register_for_urb_data,
            alternative: ds.floating_point_mode,
        };
        let bindings = Bindings::of_hull(context, &mut memory)?;
        let hull = Shader::new(gpu, vm, context, &hull, bindings)?;
        let bindings = Bindings::of_domain(context, &mut memory)?;
        let domain = Shader::new(gpu, vm, context, &domain, bindings)?;
        let header = match context.generation {
            Generation::Gen9 => Header::Legacy,
            Generation::Gen12 => match latched::<gen12::State3dTe>(context)?.patch_header_layout {
                0 => Header::Legacy,
                2 => Header::Reversed,
                3 => Header::ReversedInsideSeparate,
                other => {
                    let what = format!("3DSTATE_TE: Patch Header Layout {other}");
                    return Err(JobFault::new(UNIT, what));
                }
            },
        };
        // Allocation sizes are in units of 64 bytes, minus one.
        let entry = |size: u32| 16 * (size as usize + 1);
        Ok(Tessellation {
            hull,
            together: if hs.dispatch_mode == ONE_PATCH { 1 } else { LANES },
            instances: hs.instance_count + 1,
            instance_shift: match context.generation {
                Generation::Gen9 => 17,
                Generation::Gen12 => 16,
            },
            primitive_id: hs.include_primitive_id,
            patch: entry(state.hs_urb.hs_urb_entry_allocation_size),
            domain,
            pushed: ds.patch_urb_entry_read_length as usize,
            pushed_from: 8 * ds.patch_urb_entry_read_offset as usize,
            stride: entry(state.ds_urb.ds_urb_entry_allocation_size).max(16),
            // source: genxml, 3DSTATE_TE.
            shape: match te.te_domain {
                0 => Domain::Quads,
                1 => Domain::Triangles,
                2 => Domain::Isolines,
                other => return Err(JobFault::new(UNIT, format!("3DSTATE_TE: TE Domain {other}"))),
            },
            header,
            spacing: match te.partitioning {
                0 => Spacing::Equal,
                1 => Spacing::FractionalOdd,
                2 => Spacing::FractionalEven,
                other => {
                    return Err(JobFault::new(UNIT, format!("3DSTATE_TE: Partitioning {other}")));
                }
            },
            // source: Mesa, brw_compile_tes.cpp: the hardware's clockwise is counter-clockwise in
            // (u, v).
            output: match te.output_topology {
                0 => Output::Points,
                1 => Output::Lines,
                2 => Output::Positive,
                _ => Output::Negative,
            },
        })
    }

    /// The topology of the output, as a 3D_Prim_Topo_Type.
    pub fn topology(&self) -> u32 {
        match self.output {
            Output::Points => 1,
            Output::Lines => 2,
            _ => 4,
        }
    }

    /// Tessellates patches: adds the output vertices, and the vertices of each primitive with its patch's
    /// primitive ID.
    pub fn run(
        &self,
        machine: Machine<'_>,
        input: &Vertices,
        patches: &[Patch],
        output: &mut Vertices,
        primitives: &mut Vec<([u32; 3], u32)>,
        stats: &mut JobStats,
    ) -> Result<[u64; 2], JobFault> {
        let mut entries = vec![0; patches.len() * self.patch];
        let Machine { gpu, vm } = machine;
        let begin = |core| Worker::new(gpu, vm, &self.hull, core);
        let groups: Vec<_> = patches
            .chunks(self.together)
            .zip(entries.chunks_mut(self.together * self.patch))
            .collect();
        let (parts, outcome) = gpu
            .pool
            .share(
                groups.into_iter(),
                begin,
                |worker: &mut Worker<'_>, (patches, out): (&[Patch], &mut [u32])| {
                    self.hull(worker, input, patches, out)
                },
                |worker| worker.stats,
            )
            .map_err(|error| JobFault::new(UNIT, error.to_string()))?;
        count(stats, &parts);
        outcome?;
        let stride = self.stride;
        let mut invocations = 0;
        for (patch, entry) in patches.iter().zip(entries.chunks_exact(self.patch)) {
            let Factors { outer, inner } = self.factors(entry);
            let made = tessellate(self.shape, self.spacing, self.output, outer, inner);
            let first = (output.data.len() / stride) as u32;
            output.data.resize(output.data.len() + made.points.len() * stride, 0);
            let out = &mut output.data[first as usize * stride..];
            self.domain(machine, entry, patch.number, &made.points, out, stats)?;
            invocations += made.points.len() as u64;
            // Vertices of points and lines are repeated.
            let corners = self.output.corners();
            primitives.extend(made.indices.chunks_exact(corners).map(|points| {
                let three = [0, 1, 2].map(|k: usize| first + points[k.min(corners - 1)]);
                (three, patch.number)
            }));
        }
        Ok([patches.len() as u64, invocations])
    }

    /// The tessellation factors in a patch's entry.
    ///
    /// source: Mesa, brw_nir.c (`remap_tess_levels`).
    fn factors(&self, entry: &[u32]) -> Factors {
        let f = |k: usize| {
            let k = if self.header == Header::Legacy { k } else { 7 - k };
            f32::from_bits(entry.get(k).copied().unwrap_or(0))
        };
        match self.shape {
            Domain::Triangles if self.header == Header::ReversedInsideSeparate => {
                Factors { outer: [f(7), f(6), f(5), 0.0], inner: [f(3), 0.0] }
            }
            Domain::Quads => Factors { outer: [f(7), f(6), f(5), f(4)], inner: [f(3), f(2)] },
            Domain::Triangles => Factors { outer: [f(7), f(6), f(5), 0.0], inner: [f(4), 0.0] },
            Domain::Isolines => Factors { outer: [f(6), f(7), 0.0, 0.0], inner: [0.0; 2] },
        }
    }

    /// Runs the hull shader for the patches of a thread.
    fn hull(
        &self,
        worker: &mut Worker<'_>,
        input: &Vertices,
        patches: &[Patch],
        out: &mut [u32],
    ) -> Result<(), JobFault> {
        // Channels without a vertex of a single patch are masked by the shader.
        let single = self.together == 1;
        let mask = if single { 0xff } else { (1u32 << patches.len()) - 1 };
        let count = self.instances as usize;
        while worker.threads.len() < count {
            worker.threads.push(worker.ports.thread());
        }
        // The patches' entries are first in the URB, followed by those of their vertices.
        let urb = worker.ports.urb_mut();
        urb.clear();
        urb.resize(LANES * self.patch, 0);
        let mut handles = Vec::new();
        for patch in patches {
            let of_patch: Vec<u32> = patch
                .vertices
                .iter()
                .map(|vertex| {
                    let handle = (urb.len() / 4) as u32;
                    urb.extend_from_slice(input.entry(*vertex));
                    handle
                })
                .collect();
            handles.push(of_patch);
        }
        worker.ports.begin_group();
        for (instance, thread) in worker.threads[..count].iter_mut().enumerate() {
            self.hull.start(thread, mask, worker.core);
            let grf = thread.grf_mut();
            // source: Mesa, brw_compile_tcs.cpp (`brw_set_tcs_invocation_id`): bits 23:17 of r0.2, on Gen12 22:16, are
            // the thread's number; brw_fs_thread_payload.cpp (`tcs_thread_payload`): for a single patch r0.0 is the
            // handle, r0.1 the primitive ID, and r1 to r4 are the vertices' handles; for eight, handles of the patches
            // and their primitive IDs, followed by a register of handles per vertex.
            put(grf, 0, 2, (instance as u32) << self.instance_shift);
            if let ([patch], true) = (patches, single) {
                put(grf, 0, 0, 0);
                put(grf, 0, 1, patch.number);
                for (k, handle) in handles[0].iter().enumerate() {
                    put(grf, REGISTER_BYTES, k, *handle);
                }
                continue;
            }
            let first = 2 + usize::from(self.primitive_id);
            for (lane, patch) in patches.iter().enumerate() {
                put(grf, REGISTER_BYTES, lane, (lane * self.patch / 4) as u32);
                if self.primitive_id {
                    put(grf, 2 * REGISTER_BYTES, lane, patch.number);
                }
                for (k, handle) in handles[lane].iter().enumerate() {
                    put(grf, (first + k) * REGISTER_BYTES, lane, *handle);
                }
            }
        }
        worker.stats.threads += count as u64;
        let mut running: Vec<usize> = (0..count).collect();
        while !running.is_empty() {
            let mut progress = false;
            let mut left = Vec::new();
            for number in running {
                let before = worker.budget;
                let stop = self.hull.step(
                    &mut worker.threads[number],
                    &mut worker.ports,
                    &mut worker.budget,
                )?;
                let executed = before - worker.budget;
                worker.stats.instructions += executed;
                progress |= stop != Stop::Waiting || executed > 1;
                if stop != Stop::EndOfThread {
                    left.push(number);
                }
            }
            if worker.ports.barrier_complete(count) {
                worker.threads[..count].iter_mut().for_each(Thread::notify);
                progress = true;
            }
            if !progress {
                let what = "threads of a hull shader wait for one that does not come";
                return Err(JobFault::new(UNIT, what).of(FaultKind::Endless));
            }
            running = left;
        }
        out.copy_from_slice(&worker.ports.urb_mut()[..out.len()]);
        Ok(())
    }

    /// Runs the domain shader for the points of a patch.
    fn domain(
        &self,
        Machine { gpu, vm }: Machine<'_>,
        entry: &[u32],
        number: u32,
        points: &[[u32; 2]],
        out: &mut [u32],
        stats: &mut JobStats,
    ) -> Result<(), JobFault> {
        let begin = |core| Worker::new(gpu, vm, &self.domain, core);
        let items: Vec<_> = points.chunks(LANES).zip(out.chunks_mut(LANES * self.stride)).collect();
        let run = |worker: &mut Worker<'_>, (points, out): (&[[u32; 2]], &mut [u32])| {
            if worker.threads.is_empty() {
                worker.threads.push(worker.ports.thread());
            }
            let thread = &mut worker.threads[0];
            let mask = (1u32 << points.len()) - 1;
            let start = self.domain.start(thread, mask, worker.core);
            let urb = worker.ports.urb_mut();
            urb.clear();
            urb.resize(LANES * self.stride, 0);
            let handle = (urb.len() / 4) as u32;
            urb.extend_from_slice(entry);
            let grf = thread.grf_mut();
            // source: Mesa, brw_fs_thread_payload.cpp (`tes_thread_payload`): r0.0 the patch, r0.1 its
            // primitive ID, three registers of coordinates, followed by handles.
            put(grf, 0, 0, handle);
            put(grf, 0, 1, number);
            for (lane, &[u, v]) in points.iter().enumerate() {
                let w = match self.shape {
                    Domain::Triangles => ONE.saturating_sub(u + v),
                    _ => 0,
                };
                for (k, value) in [u, v, w].into_iter().enumerate() {
                    let value = value as f32 / ONE as f32;
                    put(grf, (1 + k) * REGISTER_BYTES, lane, value.to_bits());
                }
                put(grf, 4 * REGISTER_BYTES, lane, (lane * self.stride / 4) as u32);
            }
            for n in 0..8 * self.pushed {
                let value = entry.get(self.pushed_from + n).copied().unwrap_or(0);
                put(grf, start, n, value);
            }
            worker.stats.threads += 1;
            worker.stats.instructions +=
                self.domain.run(thread, &mut worker.ports, &mut worker.budget)?;
            out.copy_from_slice(&worker.ports.urb_mut()[..out.len()]);
            Ok(())
        };
        let (parts, outcome) = gpu
            .pool
            .share(items.into_iter(), begin, run, |worker| worker.stats)
            .map_err(|error| JobFault::new(UNIT, error.to_string()))?;
        count(stats, &parts);
        outcome
    }
}

/// The tessellation factors of a patch.
struct Factors {
    outer: [f32; 4],
    inner: [f32; 2],
}

fn count(stats: &mut JobStats, parts: &[JobStats]) {
    for part in parts {
        stats.threads += part.threads;
        stats.instructions += part.instructions;
    }
}

/// The state of a worker.
struct Worker<'a> {
    core: u32,
    threads: Vec<Thread>,
    ports: Ports<'a>,
    budget: u64,
    stats: JobStats,
}

impl<'a> Worker<'a> {
    fn new(gpu: &Gpu, vm: &'a AddressSpace, shader: &'a Shader, core: u32) -> Worker<'a> {
        Worker {
            core,
            threads: Vec::new(),
            ports: Ports::new(vm, &shader.shared, 0),
            budget: gpu.options.max_instructions,
            stats: JobStats::default(),
        }
    }
}
