//! Pipeline statistics: counts of a query's draws and dispatches.
//!
//! The CPU adds up what it knows when it records; for indirect draws and dispatches a program does so from their arguments.
//! Fragments count themselves, in variants of their shaders that only draws inside of such queries use. Every vertex
//! counts as an invocation, and every primitive as clipped to one.

use tepui_sysval::{LaunchWords, MemoryWords, Words as _};
use tepui_vulkan::Result;
use tepui_vulkan::backend::{Counts, Dispatch, Draw};
use tepui_vulkan::command::CommandState;
use tepui_vulkan::vk::QueryPipelineStatisticFlags as Flags;

use crate::counted::{COUNTED, RASTERISED, Statistics};
use crate::launch::{ExpandBackend, Expander, run};
use crate::program::Program;
use crate::statistics::{AddWords, CountDrawsWords, CountThreadsWords};
use crate::topology::input_order;

/// Begins to count for a query whose values are at an address.
pub fn begin_statistics<B: ExpandBackend>(
    e: &mut B::Encoder,
    address: u64,
    flags: Flags,
    stream: Option<u32>,
) {
    e.expansion().statistics.push(Statistics { address, flags, stream, sums: [0; 4] });
    // Programs of draws depend on whether there is a query.
    e.forget_programs();
}

/// Ends the query whose values are at an address: adds the counts of the CPU.
///
/// # Errors
/// When there is no memory.
pub fn end_statistics<B: ExpandBackend>(e: &mut B::Encoder, address: u64) -> Result<()> {
    let all = &mut e.expansion().statistics;
    let Some(k) = all.iter().position(|s| s.address == address) else {
        return Ok(());
    };
    let s = all.remove(k);
    e.forget_programs();
    for (sum, of) in s.sums.into_iter().zip(COUNTED) {
        for at in s.places(of).filter(|_| sum > 0) {
            let words = AddWords { address: at.into(), number: sum.into() };
            run::<B>(e, Program::Add, LaunchWords::of(words.words()), 1)?;
        }
    }
    Ok(())
}

/// Counts a draw.
///
/// # Errors
/// When there is no memory, or state is not supported.
pub fn count_draw<B: ExpandBackend>(
    e: &mut B::Encoder,
    state: &CommandState<B>,
    draw: &Draw,
) -> Result<()> {
    if e.expansion().statistics.is_empty() {
        return Ok(());
    }
    let order = input_order(&state.graphics)?;
    // Without stages after the vertices, there is one stream.
    let whole = state.bound.between.is_empty();
    let mut indirect = Vec::new();
    for s in &mut e.expansion().statistics {
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
                    indirect.extend(s.places(of).map(|sum| {
                        let words = CountDrawsWords {
                            arguments: address.into(),
                            sum: sum.into(),
                            draws: count,
                            stride,
                        };
                        (order, words)
                    }));
                }
            }
        }
    }
    for (order, words) in indirect {
        run::<B>(e, Program::CountDraws(order), LaunchWords::of(words.words()), 1)?;
    }
    Ok(())
}

/// Adds numbers that are in memory: which statistics, and the number's address.
pub(crate) fn count_from_memory<B: ExpandBackend>(
    e: &mut B::Encoder,
    numbers: &[(Flags, u64)],
) -> Result<()> {
    for &(of, from) in numbers {
        let all = &e.expansion_ref().statistics;
        let places: Vec<u64> = all.iter().flat_map(|s| s.places(of)).collect();
        add_from_memory::<B>(e, &places, from)?;
    }
    Ok(())
}

/// Adds the number of a stream's primitives, which is in memory.
pub(crate) fn count_stream<B: ExpandBackend>(
    e: &mut B::Encoder,
    stream: u32,
    rasterised: u32,
    number: u64,
) -> Result<()> {
    let counts = |s: &&Statistics| s.counts_stream(stream, rasterised);
    let all = e.expansion_ref().statistics.iter().filter(counts);
    let places: Vec<u64> = all.flat_map(|s| s.places(RASTERISED)).collect();
    add_from_memory::<B>(e, &places, number)
}

/// Adds a 32-bit number that is in memory to values.
fn add_from_memory<B: ExpandBackend>(
    e: &mut B::Encoder,
    places: &[u64],
    number: u64,
) -> Result<()> {
    for &at in places {
        let words = AddWords { address: at.into(), ..AddWords::default() };
        // The low word; the high one is 0.
        let low = MemoryWords { bytes: 4, ..MemoryWords::field(AddWords::NUMBER, number) };
        let words = LaunchWords { values: words.words(), in_memory: &[low] };
        run::<B>(e, Program::Add, words, 1)?;
    }
    Ok(())
}

/// Counts a dispatch of workgroups of `threads` threads.
///
/// # Errors
/// When there is no memory.
pub fn count_dispatch<B: ExpandBackend>(
    e: &mut B::Encoder,
    dispatch: &Dispatch,
    threads: u32,
) -> Result<()> {
    match *dispatch {
        Dispatch::Direct(_, groups) => {
            let groups: u64 = groups.iter().map(|&g| u64::from(g)).product();
            for s in &mut e.expansion().statistics {
                s.sums[2] += groups * u64::from(threads);
            }
        }
        Dispatch::Indirect(_, address) => {
            let all = &e.expansion_ref().statistics;
            let places: Vec<u64> = all.iter().flat_map(|s| s.places(COUNTED[2])).collect();
            for sum in places {
                let words =
                    CountThreadsWords { arguments: address.into(), sum: sum.into(), threads };
                run::<B>(e, Program::CountThreads, LaunchWords::of(words.words()), 1)?;
            }
        }
    }
    Ok(())
}
