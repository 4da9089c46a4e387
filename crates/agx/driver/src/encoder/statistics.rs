//! Pipeline statistics: counts of a query's draws and dispatches.
//!
//! The CPU adds up what it knows when it records; for indirect draws and dispatches a program does so from their arguments.
//! Fragments count themselves, in variants of their shaders that only draws inside of such queries use. Every vertex
//! counts as an invocation, and every primitive as clipped to one.

use tepui_agx_compiler::Source;
use tepui_vulkan::Result;
use tepui_vulkan::backend::{Counts, Dispatch, Draw};
use tepui_vulkan::command::{CommandState, MAX_PUSH};
use tepui_vulkan::vk::QueryPipelineStatisticFlags as Flags;

use super::Encoder;
use super::bindings::{Bindings, split};
use crate::family::Agx;
use crate::query::Queries;
use tepui_vulkan_expand::Program;
use tepui_vulkan_expand::counted::{COUNTED, RASTERISED, Statistics};
use tepui_vulkan_expand::topology::input_order;

impl Encoder {
    /// Begins to count, if the pool is one of statistics.
    pub(super) fn begin_statistics(&mut self, pool: &Queries, query: u32, stream: u8) -> bool {
        let Some((flags, of_stream)) = pool.statistics() else { return false };
        let address = pool.result_address(query);
        let stream = of_stream.then_some(stream.into());
        self.statistics.push(Statistics { address, flags, stream, sums: [0; 4] });
        self.statistics_changed();
        true
    }

    /// Programs of draws depend on whether there is a query.
    fn statistics_changed(&mut self) {
        if let Some(r) = &mut self.render {
            r.forget_programs();
        }
    }

    /// Address of the fragments' counter; 0 for none.
    pub(super) fn counted_fragments(&self) -> u64 {
        self.statistics.iter().map(Statistics::fragments).find(|&at| at != 0).unwrap_or(0)
    }

    /// Ends the query whose values are at an address: adds the counts of the CPU.
    pub(super) fn end_statistics(&mut self, address: u64) -> Result<()> {
        let Some(k) = self.statistics.iter().position(|s| s.address == address) else {
            return Ok(());
        };
        let s = self.statistics.remove(k);
        self.statistics_changed();
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
        if self.statistics.is_empty() {
            return Ok(());
        }
        let order = input_order(&state.graphics)?;
        // Without stages after the vertices, there is one stream.
        let whole = state.bound.between.is_empty();
        let mut indirect = Vec::new();
        for s in &mut self.statistics {
            let rasterised = whole && s.counts_stream(0, 0);
            match *draw {
                Draw::Direct(Counts { count, instances, .. }) => {
                    let primitives = u64::from(order.count(count) / order.vertices());
                    s.sums[0] += u64::from(count) * u64::from(instances);
                    s.sums[1] += primitives * u64::from(instances);
                    if rasterised {
                        s.sums[3] += primitives * u64::from(instances);
                    }
                }
                Draw::Indirect { address, count, stride, .. } => {
                    let counted = [(None, COUNTED[0]), (Some(order), COUNTED[1])];
                    let rasterised = rasterised.then_some((Some(order), RASTERISED));
                    for (order, of) in counted.into_iter().chain(rasterised) {
                        indirect.extend(s.places(of).map(|to| (order, address, count, stride, to)));
                    }
                }
            }
        }
        for (order, address, count, stride, to) in indirect {
            let ([a, b], [c, d]) = (split(address), split(to));
            self.run(Program::CountDraws(order), &[a, b, c, d, count, stride], &[], [1; 3])?;
        }
        Ok(())
    }

    /// Adds numbers that are in memory: which statistics, and the number's address.
    pub(super) fn count_from_memory(&mut self, numbers: &[(Flags, u64)]) -> Result<()> {
        for &(of, from) in numbers {
            let places: Vec<u64> = self.statistics.iter().flat_map(|s| s.places(of)).collect();
            self.add_from_memory(&places, from)?;
        }
        Ok(())
    }

    /// Adds the number of a stream's primitives, which is in memory.
    pub(super) fn count_stream(&mut self, stream: u32, rasterised: u32, number: u64) -> Result<()> {
        let counts = |s: &&Statistics| s.counts_stream(stream, rasterised);
        let places: Vec<u64> =
            self.statistics.iter().filter(counts).flat_map(|s| s.places(RASTERISED)).collect();
        self.add_from_memory(&places, number)
    }

    /// Adds a number that is in memory to values.
    fn add_from_memory(&mut self, places: &[u64], number: u64) -> Result<()> {
        if places.is_empty() {
            return Ok(());
        }
        let add = self.device.clone().meta(Program::Add)?.compute()?;
        for &at in places {
            let [low, high] = split(at);
            self.driver[..4].copy_from_slice(&[low, high, 0, 0]);
            let value = |s: Source| (s == Source::Driver { offset: 8 }).then_some(number);
            let one = Dispatch::Direct([0; 3], [1; 3]);
            let none = Bindings::default();
            self.launch_with(&add, &none, &[0; MAX_PUSH], &one, &|_| None, &value)?;
        }
        Ok(())
    }

    /// Counts a dispatch of workgroups of `threads` threads.
    pub(super) fn count_dispatch(&mut self, dispatch: &Dispatch, threads: u32) -> Result<()> {
        match *dispatch {
            Dispatch::Direct(_, groups) => {
                let groups: u64 = groups.iter().map(|&g| u64::from(g)).product();
                for s in &mut self.statistics {
                    s.sums[2] += groups * u64::from(threads);
                }
            }
            Dispatch::Indirect(_, address) => {
                let [a, b] = split(address);
                let places: Vec<u64> =
                    self.statistics.iter().flat_map(|s| s.places(COUNTED[2])).collect();
                for at in places {
                    let [c, d] = split(at);
                    self.run(Program::CountThreads, &[a, b, c, d, threads], &[], [1; 3])?;
                }
            }
        }
        Ok(())
    }
}
