//! Pipeline statistics: counts of a query's draws and dispatches.
//!
//! The CPU adds up what it knows when it records; for indirect draws and dispatches a program does so from their arguments.
//! Fragments count themselves, in variants of their shaders that only draws inside of such queries use. Every vertex
//! counts as an invocation, and every primitive as clipped to one.

use tepui_agx_compiler::Source;
use tepui_vulkan::Result;
use tepui_vulkan::backend::{Dispatch, Draw};
use tepui_vulkan::command::{CommandState, MAX_PUSH};
use tepui_vulkan::vk::QueryPipelineStatisticFlags as Flags;

use super::expand::input_order;
use super::record::split;
use super::{Bindings, Encoder};
use crate::Agx;
use crate::meta::Program;
use crate::query::Queries;

/// A query of statistics that counts.
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    /// GPU address of its values.
    address: u64,
    flags: Flags,
    /// Sums so far, as [`COUNTED`] has them.
    sums: [u64; 4],
}

/// The statistics that count vertices, primitives, compute invocations, and primitives that are rasterised.
const COUNTED: [Flags; 4] = [
    Flags::INPUT_ASSEMBLY_VERTICES.union(Flags::VERTEX_SHADER_INVOCATIONS),
    Flags::INPUT_ASSEMBLY_PRIMITIVES,
    Flags::COMPUTE_SHADER_INVOCATIONS,
    RASTERISED,
];
/// The statistics of primitives behind all shaders of vertices.
pub(super) const RASTERISED: Flags = Flags::CLIPPING_INVOCATIONS.union(Flags::CLIPPING_PRIMITIVES);

impl Statistics {
    /// Addresses of the values that count something.
    fn places(&self, of: Flags) -> impl Iterator<Item = u64> + use<> {
        let (address, flags) = (self.address, self.flags);
        let wanted = move |bit: &u32| flags.intersection(of).bits() >> bit & 1 != 0;
        (0..32).filter(wanted).map(move |bit| {
            let before = flags.bits() & ((1 << bit) - 1);
            address + 8 * u64::from(before.count_ones())
        })
    }

    /// Where fragments count themselves; 0 for nowhere.
    pub fn fragments(&self) -> u64 {
        self.places(Flags::FRAGMENT_SHADER_INVOCATIONS).next().unwrap_or(0)
    }
}

impl Encoder {
    /// Begins to count, if the pool is one of statistics.
    pub(super) fn begin_statistics(&mut self, pool: &Queries, query: u32) -> bool {
        let Some((address, flags)) = pool.statistics(query) else { return false };
        self.set_statistics(Some(Statistics { address, flags, sums: [0; 4] }));
        true
    }

    /// Programs of draws depend on whether there is a query.
    fn set_statistics(&mut self, s: Option<Statistics>) {
        self.statistics = s;
        if let Some(r) = &mut self.render {
            r.forget_programs();
        }
    }

    /// Adds what the CPU counted.
    pub(super) fn end_statistics(&mut self) -> Result<()> {
        let Some(s) = self.statistics else { return Ok(()) };
        self.set_statistics(None);
        for (sum, of) in s.sums.into_iter().zip(COUNTED) {
            for at in s.places(of).filter(|_| sum > 0) {
                let ([a, b], [c, d]) = (split(at), split(sum));
                self.run(Program::Add, &[a, b, c, d], &[], [1; 3])?;
            }
        }
        Ok(())
    }

    /// Counts a draw.
    pub(super) fn count_draw(&mut self, state: &CommandState<Agx>, draw: &Draw) -> Result<()> {
        let Some(mut s) = self.statistics else { return Ok(()) };
        let g = &state.graphics;
        let order = input_order(g)?;
        match *draw {
            Draw::Direct { count, instances, .. } => {
                let primitives = u64::from(order.count(count) / order.vertices());
                s.sums[0] += u64::from(count) * u64::from(instances);
                s.sums[1] += primitives * u64::from(instances);
                if state.between.is_empty() {
                    s.sums[3] += primitives * u64::from(instances);
                }
                self.statistics = Some(s);
            }
            Draw::Indirect { address, count, stride, .. } => {
                let [a, b] = split(address);
                let mut counted = vec![(false, COUNTED[0]), (true, COUNTED[1])];
                if state.between.is_empty() {
                    counted.push((true, RASTERISED));
                }
                for (primitives, of) in counted {
                    let order = primitives.then_some(order);
                    for at in s.places(of) {
                        let [c, d] = split(at);
                        let words = [a, b, c, d, count, stride];
                        self.run(Program::CountDraws(order), &words, &[], [1; 3])?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds numbers that are in memory: which statistics, and the number's address.
    pub(super) fn count_from_memory(&mut self, numbers: &[(Flags, u64)]) -> Result<()> {
        let Some(s) = self.statistics else { return Ok(()) };
        let add = self.device.clone().meta(Program::Add)?.compute()?;
        for &(of, from) in numbers {
            for at in s.places(of) {
                let [low, high] = split(at);
                self.driver[..4].copy_from_slice(&[low, high, 0, 0]);
                let value = |s: Source| (s == Source::Driver { offset: 8 }).then_some(from);
                let one = Dispatch::Direct([0; 3], [1; 3]);
                let none = Bindings::default();
                self.launch_with(&add, &none, &[0; MAX_PUSH], &one, &|_| None, &value)?;
            }
        }
        Ok(())
    }

    /// Counts a dispatch of workgroups of so many threads.
    pub(super) fn count_dispatch(&mut self, dispatch: &Dispatch, threads: u32) -> Result<()> {
        let Some(mut s) = self.statistics else { return Ok(()) };
        match *dispatch {
            Dispatch::Direct(_, groups) => {
                let groups: u64 = groups.iter().map(|&g| u64::from(g)).product();
                s.sums[2] += groups * u64::from(threads);
                self.statistics = Some(s);
            }
            Dispatch::Indirect(_, address) => {
                let [a, b] = split(address);
                for at in s.places(COUNTED[2]) {
                    let [c, d] = split(at);
                    self.run(Program::CountThreads, &[a, b, c, d, threads], &[], [1; 3])?;
                }
            }
        }
        Ok(())
    }
}
