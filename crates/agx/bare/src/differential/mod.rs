//! Interpreter against translation: a random program on a random memory map must leave the same
//! memory, statistics and faults whichever way it runs.
//!
//! [`Case`] draws everything from a [`Source`]: instructions of memory with uniform and varying bases, immediate
//! indices and indices in registers, some in code that no lane executes; maps with holes, ranges that are only
//! readable or only writable, single pages that repeat, ranges longer than 2 GiB, and changes of the map
//! between executions. A case is a compute program, or the fragment program of a draw ([`Case::fragment`]), which
//! also interpolates, accesses the tilebuffer and decides about samples. [`compare`] runs a case each way in a machine
//! of its own. Blocks of memory have pages without access around them (see [`Memory`]), so an access that misses its
//! range ends the process.

mod fragment;
mod program;

use std::sync::Arc;

use tepui_agx_isa::asm::assemble;
use tepui_agx_isa::random;
use tepui_agx_model::{ComputeJob, JobFault, JobStats, Options, Target};
use tepui_softgpu::{Memory, Protection};

use crate::draw::Prepared;
use crate::{Dispatch, Error, Machine, PAGE, VA_BITS, address_halves};
use fragment::Fragments;
use program::Program;

/// Source of random choices: bytes of a fuzzer, then a seeded generator.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    bytes: &'a [u8],
    after: random::Source,
}

impl<'a> Source<'a> {
    /// Choices by a seed.
    pub fn seeded(seed: u64) -> Source<'a> {
        Source { bytes: &[], after: random::Source::new(seed) }
    }

    /// Choices by bytes; where they end, the generator goes on.
    pub fn of(bytes: &'a [u8]) -> Source<'a> {
        Source { bytes, after: random::Source::new(bytes.len() as u64) }
    }

    fn bits(&mut self) -> u64 {
        match self.bytes.split_first_chunk() {
            Some((first, rest)) => {
                self.bytes = rest;
                // One word is too few bits for an address: the generator spreads them.
                random::Source::new(u64::from(u32::from_le_bytes(*first))).bits()
            }
            None => self.after.bits(),
        }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of_list<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

/// A change of the memory map.
#[derive(Clone, Copy, Debug)]
enum Change {
    Bind { address: u64, memory: usize, offset: u64, length: u64, access: Protection, single: bool },
    Unbind { address: u64, length: u64 },
}

/// A program, its registers, and memory maps for it.
#[derive(Clone, Debug)]
pub struct Case {
    /// Assembly.
    pub text: String,
    uniforms: Vec<u64>,
    /// The draw that runs the program; `None` for a compute program.
    fragments: Option<Fragments>,
    /// Threads of a compute program, in all and of a workgroup.
    threads: [u32; 2],
    local_bytes: u32,
    /// Bytes of each block of memory.
    memories: Vec<u64>,
    /// Before each execution.
    steps: Vec<Vec<Change>>,
    seed: u64,
}

/// Addresses around which ranges are bound: small ones, which the start of an empty range reaches;
/// where 31 and 32 bits end; a high one; the end of the address space.
const ANCHORS: [u64; 5] = [
    4 * PAGE,
    (1 << 31) - 4 * PAGE,
    (1 << 32) - 4 * PAGE,
    0x20_0000_0000,
    (1 << VA_BITS) - 16 * PAGE,
];
/// Bytes of a long range: longer than 32 bits reach.
const LONG: u64 = 5 << 30;
/// Bytes that are filled and compared at each end of a long block, and at multiples of 1 GiB.
const PIECE: u64 = PAGE;
/// Words of the table that registers are loaded from: two times four for each thread.
const TABLE_WORDS: usize = 8 * 256;
/// Pairs of uniform registers that hold addresses; the first is the table's.
const BASES: u64 = 12;

impl Case {
    /// A compute program.
    pub fn compute(source: &mut Source<'_>) -> Case {
        Case::new(source, None)
    }

    /// A fragment program.
    pub fn fragment(source: &mut Source<'_>) -> Case {
        let fragments = Fragments::new(source);
        Case::new(source, Some(fragments))
    }

    fn new(source: &mut Source<'_>, fragments: Option<Fragments>) -> Case {
        let seed = source.bits();
        let mut memories: Vec<u64> = (0..3).map(|_| PAGE * (1 + source.below(6))).collect();
        if source.one_in(4) {
            memories.push(LONG);
        }
        let mut ranges = Vec::new();
        let steps: Vec<Vec<Change>> = (0..1 + source.below(3))
            .map(|_| {
                (0..1 + source.below(5)).map(|_| change(source, &memories, &mut ranges)).collect()
            })
            .collect();
        let uniforms = (1..BASES).map(|_| base(source, &ranges)).collect();
        let text = Program::write(source, fragments.as_ref());
        let threads = source.of_list(&[[32, 32], [70, 32], [96, 64], [17, 5], [200, 64]]);
        // Most programs should not end by an access outside of it.
        let local_bytes = source.of_list(&[256, 1024, 1024, 2048, 65536, 65536]);
        Case { text, uniforms, fragments, threads, local_bytes, memories, steps, seed }
    }
}

/// Draws a change; `ranges` collects all ranges that were ever bound.
fn change(source: &mut Source<'_>, memories: &[u64], ranges: &mut Vec<(u64, u64)>) -> Change {
    let memory = source.below(memories.len() as u64) as usize;
    let pages = memories[memory] / PAGE;
    let (offset, length) = if pages > 16 {
        (source.below(3) * PAGE, pages - 2 - source.below(3))
    } else {
        let offset = source.below(pages);
        (offset * PAGE, 1 + source.below(pages - offset))
    };
    let anchor = source.of_list(&ANCHORS);
    let end = 1 << VA_BITS;
    let address = (anchor + source.below(12) * PAGE).min(end - PAGE);
    let length = (length * PAGE).min(end - address);
    if source.one_in(6) {
        return Change::Unbind { address, length: length.min(2 * PAGE) };
    }
    ranges.push((address, length));
    let both = Protection::READ | Protection::WRITE;
    let access = source.of_list(&[both, both, both, Protection::READ, Protection::WRITE]);
    let single = source.one_in(8);
    // A long range of a short block repeats a page.
    let length = if single { length.max(4 * PAGE).min(end - address) } else { length };
    Change::Bind { address, memory, offset, length, access, single }
}

/// Draws an address for a uniform register: mostly near an end of a range.
fn base(source: &mut Source<'_>, ranges: &[(u64, u64)]) -> u64 {
    let near = |source: &mut Source<'_>, at: u64| {
        let distance =
            source.of_list(&[0, 4, 16, 17, 64, 4096, PAGE, 1 << 20, 1 << 29, (1 << 31) - 8]);
        let distance = distance + source.below(9);
        if source.one_in(2) { at.wrapping_add(distance) } else { at.wrapping_sub(distance) }
    };
    if ranges.is_empty() || source.one_in(8) {
        return match source.below(4) {
            0 => source.below(1 << 31),
            1 => near(source, 0),
            2 => near(source, 1 << VA_BITS),
            _ => source.bits(),
        };
    }
    let (address, length) = source.of_list(ranges);
    match source.below(4) {
        0 => address,
        1 => address + source.below(length),
        2 => near(source, address + length),
        _ => near(source, address),
    }
}

/// Results of executions.
#[derive(Debug, PartialEq)]
struct Outcome {
    results: Vec<Result<JobStats, JobFault>>,
    /// The table, the pieces of memory and the colours of each draw, all bytes.
    memory: Vec<Vec<u8>>,
}

/// Work to execute, with its memory.
enum Job {
    Dispatch(ComputeJob),
    Draw(Prepared),
}

/// Counters of a comparison, so that tests can assert that enough was compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Translations that were compared with the interpreter.
    pub translations: u32,
    /// Executions that ended without a fault.
    pub finished: u32,
    /// Loads and stores of memory that was not bound for them.
    pub soft_faults: u64,
}

/// Runs a case by the interpreter and by a translation for each target that the host has.
pub fn compare(case: &Case) -> Result<Seen, String> {
    let code = assemble(&case.text).map_err(|errors| format!("{}\n{}", errors[0], case.text))?;
    let run = |target: Option<Target>| {
        run(case, &code, target).map_err(|error| format!("{error}\n{}", case.text))
    };
    let interpreted = run(None)?;
    let mut seen = Seen::default();
    for result in &interpreted.results {
        seen.finished += u32::from(result.is_ok());
        seen.soft_faults += result.as_ref().map_or(0, |stats| stats.soft_faults);
    }
    for target in Target::ALL.into_iter().filter(|target| target.is_available()) {
        let translated = run(Some(target))?;
        seen.translations += 1;
        if translated.results != interpreted.results {
            let [a, b] = [&interpreted, &translated].map(|outcome| &outcome.results);
            return Err(format!("interpreted {a:#?}\n{target:?} {b:#?}\n{case:#?}\n{}", case.text));
        }
        for (number, (a, b)) in interpreted.memory.iter().zip(&translated.memory).enumerate() {
            if let Some(at) = a.iter().zip(b).position(|(a, b)| a != b) {
                return Err(format!(
                    "{target:?}: block {number} differs at {at:#x}: {:#x}, not {:#x}\n{case:#?}\n{}",
                    b[at], a[at], case.text
                ));
            }
        }
    }
    Ok(seen)
}

fn run(case: &Case, code: &[u8], target: Option<Target>) -> Result<Outcome, Error> {
    let options = Options {
        threads: 1,
        translate_after: if target.is_some() { 0 } else { u32::MAX },
        target,
        instruction_budget: 1 << 14,
        job_budget: 1 << 18,
        ..Options::default()
    };
    let mut machine = Machine::new(options)?;
    let mut source = random::Source::new(case.seed);
    let table = machine.buffer(4 * TABLE_WORDS)?;
    let words: Vec<u32> = (0..TABLE_WORDS).map(|i| value(&mut source, i)).collect();
    table.write_words(&words)?;
    let mut memories = Vec::new();
    for &bytes in &case.memories {
        let memory = Arc::new(Memory::new(bytes as usize)?);
        for (at, length) in pieces(bytes) {
            let bytes: Vec<u8> = (0..length).map(|_| source.bits() as u8).collect();
            // SAFETY: the piece lies in the block, and no other reference to the block exists.
            unsafe { memory.base().add(at).copy_from_nonoverlapping(bytes.as_ptr(), length) };
        }
        memories.push(memory);
    }
    let mut addresses = vec![table.address()];
    addresses.extend(&case.uniforms);
    let job = match &case.fragments {
        Some(f) => Job::Draw(f.prepare(&mut machine, code, &addresses)?),
        None => {
            let uniforms: Vec<u16> = addresses.iter().flat_map(|&a| address_halves(a)).collect();
            Job::Dispatch(machine.prepare(&Dispatch {
                code,
                uniforms: &uniforms,
                global: [case.threads[0], 1, 1],
                local: [case.threads[1], 1, 1],
                local_bytes: case.local_bytes,
                ..Dispatch::default()
            })?)
        }
    };
    let (mut results, mut colours) = (Vec::new(), Vec::new());
    for step in &case.steps {
        for change in step {
            apply(&machine, &memories, *change)?;
        }
        results.push(match &job {
            Job::Dispatch(job) => machine.submit(job),
            Job::Draw(draw) => match machine.render(draw) {
                Ok(mut picture) => {
                    colours.extend(picture.colours.remove(&0));
                    Ok(picture.stats)
                }
                Err(Error::Job(fault)) => Err(fault),
                Err(other) => return Err(other),
            },
        });
        machine.vm().release_retired();
    }
    let mut memory = vec![table.read()?];
    for block in &memories {
        for (at, length) in pieces(block.size() as u64) {
            let mut bytes = vec![0; length];
            // SAFETY: as above; no job runs.
            unsafe { block.base().add(at).copy_to_nonoverlapping(bytes.as_mut_ptr(), length) };
            memory.push(bytes);
        }
    }
    memory.extend(colours);
    Ok(Outcome { results, memory })
}

fn apply(machine: &Machine, memories: &[Arc<Memory>], change: Change) -> Result<(), Error> {
    let vm = machine.vm();
    match change {
        Change::Bind { address, memory, offset, length, access, single: true } => {
            vm.bind_single_page(address, memories[memory].clone(), offset, length, access)?;
        }
        Change::Bind { address, memory, offset, length, access, single: false } => {
            vm.bind(address, memories[memory].clone(), offset, length, access)?;
        }
        Change::Unbind { address, length } => vm.unbind(address, length)?,
    }
    Ok(())
}

/// The parts of a block that are filled and compared: places and lengths.
fn pieces(bytes: u64) -> Vec<(usize, usize)> {
    if bytes < LONG {
        return vec![(0, bytes as usize)];
    }
    let starts = (0..bytes >> 30).map(|gigabyte| gigabyte << 30);
    starts.chain([bytes - PIECE]).map(|at| (at as usize, PIECE as usize)).collect()
}

/// A word of the table: each register has values of its own kind in all threads.
fn value(source: &mut random::Source, index: usize) -> u32 {
    let bits = source.bits() as u32;
    let thread = (index / 8) as u32;
    match index % 8 {
        0 => bits % 64,
        1 => thread + 3,
        // Near where the reach of templates, 31 and 32 bits end.
        2 => [0, 1 << 26, 1 << 28, 1 << 29, 1 << 30, 1 << 31][bits as usize % 6] + bits % 3,
        3 => bits,
        4 => (bits % 32).wrapping_sub(16),
        5 => 4095 + bits % 4,
        6 => 4 * thread,
        _ => 0x2000_0000 - bits % 8,
    }
}
