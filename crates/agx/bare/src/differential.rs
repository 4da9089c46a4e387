//! Interpreter against translation: a random program on a random memory map must leave the same
//! memory, statistics and faults whichever way it runs.
//!
//! [`Case`] draws everything from a [`Source`]: instructions of memory with uniform and varying bases, immediate
//! indices and indices in registers, some in code that no lane executes; maps with holes, ranges
//! that are only readable or only writable, single pages that repeat, ranges longer than 2 GiB, and
//! changes of the map between executions. [`compare`] runs a case each way in a machine of its own.
//! Blocks of memory have pages without access around them (see [`Memory`]), so an access that
//! misses its range ends the process.

use std::fmt::Write as _;
use std::sync::Arc;

use tepui_agx_isa::ROWS;
use tepui_agx_isa::asm::assemble;
use tepui_agx_isa::random;
use tepui_agx_model::{JobFault, JobStats, Options, Target};
use tepui_softgpu::{Memory, Protection};

use crate::{Dispatch, Error, Machine, PAGE, VA_BITS, address_halves};

/// Where random choices come from: bytes that a fuzzer gives, then a generator that starts from a
/// seed.
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
    /// Draws a case.
    pub fn new(source: &mut Source<'_>) -> Case {
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
        let mut program = Program { source, text: String::new(), labels: 0, loops: 0, depth: 0 };
        program.begin();
        for _ in 0..4 + program.source.below(20) {
            program.statement();
        }
        program.end();
        let text = program.text;
        let threads = source.of_list(&[[32, 32], [70, 32], [96, 64], [17, 5], [200, 64]]);
        // Most programs shall not end by an access outside of it.
        let local_bytes = source.of_list(&[256, 1024, 1024, 2048, 65536, 65536]);
        Case { text, uniforms, threads, local_bytes, memories, steps, seed }
    }
}

/// Draws a change; `ranges` collects what was ever bound.
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

/// Writes assembly. Registers: r1 has the thread's number, r2 to r11 values of the table, r12 is
/// small, r16 to r23 are loaded, r24 on count rounds of loops.
struct Program<'s, 'a> {
    source: &'s mut Source<'a>,
    text: String,
    labels: usize,
    loops: usize,
    depth: usize,
}

/// Instructions without effects beside registers, which are drawn from all that the table has for
/// them.
const OF_LANES: &[&str] = &[
    "Iadd", "Imadd", "Bitop", "Bfi", "Bfeil", "Extr", "Asr", "Icmpsel", "Fcmpsel", "Fadd32",
    "Fmul32", "Fmadd32", "Fadd16", "Fmul16", "Fmadd16", "Floor", "Ceil", "Rint", "Trunc",
    "MovImm32",
];
/// Registers that indices and data are in.
const VALUES: [&str; 12] =
    ["r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12"];

impl Program<'_, '_> {
    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = self.text.write_fmt(text);
        self.text.push('\n');
    }

    fn begin(&mut self) {
        self.line(format_args!(
            "get_sr r1, sr80 (thread_position_in_grid.x)\n\
             mov_imm r13, 63, 0b0\n\
             bitop 0001, r12, r1, r13\n\
             iadd r2, r1, r1\n\
             device_load 0, i32, xyzw, r4_r5_r6_r7, u0_u1, r2, unsigned, lsl 2\n\
             iadd r2, r2, 1\n\
             device_load 0, i32, xyzw, r8_r9_r10_r11, u0_u1, r2, unsigned, lsl 2\n\
             wait 0\n\
             mov_imm r0l, 0"
        ));
    }

    /// Stores what registers have.
    fn end(&mut self) {
        self.line(format_args!(
            "iadd r2, r1, r1\n\
             device_store 0, i32, xyzw, r16_r17_r18_r19, u0_u1, r2, unsigned, lsl 2, 0\n\
             iadd r2, r2, 1\n\
             device_store 0, i32, xyzw, r20_r21_r22_r23, u0_u1, r2, unsigned, lsl 2, 0\n\
             stop"
        ));
    }

    fn statement(&mut self) {
        match self.source.below(16) {
            0..=5 => self.device(),
            6..=7 => self.local(),
            8..=10 => self.of_lanes(),
            11..=14 if self.depth < 3 => self.branch(),
            15 if self.loops < 2 => self.repeat(),
            _ => self.device(),
        }
    }

    fn body(&mut self) {
        self.depth += 1;
        for _ in 0..1 + self.source.below(4) {
            self.statement();
        }
        self.depth -= 1;
    }

    /// Registers of a transfer of `count` elements.
    fn registers(&mut self, count: u32, load: bool) -> String {
        let half = self.source.one_in(3);
        let first = if load { 16 } else { 4 + self.source.below(4) as u32 };
        let at = |k: u32| match half {
            true => format!("r{}{}", first + k / 2, ["l", "h"][k as usize % 2]),
            false => format!("r{}", first + k),
        };
        (0..count).map(at).collect::<Vec<_>>().join("_")
    }

    fn mask(&mut self) -> (&'static str, u32) {
        let mask = self.source.of_list(&["x", "xy", "xyz", "xyzw", "x", "y", "xz", "w", "yzw"]);
        (mask, mask.len() as u32)
    }

    fn device(&mut self) {
        let load = !self.source.one_in(3);
        let format =
            self.source.of_list(&["i32", "i32", "i32", "i16", "i8", "f16", "u8norm", "s16norm"]);
        let (mask, count) = self.mask();
        let registers = self.registers(count, load);
        let base = if self.source.one_in(8) {
            self.source.of_list(&["r4_r5", "r6_r7", "r10_r11"]).to_owned()
        } else {
            let pair = 2 * self.source.below(BASES);
            format!("u{pair}_u{}", pair + 1)
        };
        let index = match self.source.below(6) {
            0..=2 => self.source.below(64).to_string(),
            3 => self.source.of_list(&["0", "32767", "-1", "4096", "-32768"]).to_owned(),
            _ => self.source.of_list(&VALUES).to_owned(),
        };
        let sign = self.source.of_list(&["unsigned", "signed"]);
        let shift = self.source.of_list(&["", ", lsl 1", ", lsl 2"]);
        let (name, end) = if load { ("device_load", "") } else { ("device_store", ", 0") };
        self.line(format_args!(
            "{name} 0, {format}, {mask}, {registers}, {base}, {index}, {sign}{shift}{end}"
        ));
        if load && !self.source.one_in(4) {
            self.line(format_args!("wait 0"));
        }
    }

    fn local(&mut self) {
        let load = self.source.one_in(2);
        let format = self.source.of_list(&["i32", "i32", "i32", "i16", "i8"]);
        let (mask, count) = self.mask();
        let registers = self.registers(count, load);
        let base = self.source.of_list(&["0", "0", "r12l"]);
        // Outside of local memory is a fault, which ends the program: mostly inside.
        let index = if self.source.one_in(24) {
            self.source.of_list(&["r4l", "r7l", "4000", "-1"])
        } else {
            self.source.of_list(&["r12l", "0", "3", "r12l"])
        };
        let name = if load { "threadgroup_load" } else { "threadgroup_store" };
        self.line(format_args!("{name} {format}, {mask}, {registers}, {base}, {index}"));
        if load {
            self.line(format_args!("wait 0"));
        }
    }

    /// Any instruction of a kind, as random as it can be; it leaves r0 and the registers of loops
    /// alone.
    fn of_lanes(&mut self) {
        let name = self.source.of_list(OF_LANES);
        let Some(row) = ROWS.iter().position(|row| row.name == name) else { return };
        for _ in 0..64 {
            let text = random::Source::new(self.source.bits()).inst_of(row).to_string();
            let d = text
                .split([' ', ',', '.', '_'])
                .find(|word| word.starts_with('r'))
                .unwrap_or_default();
            let number = d.trim_start_matches('r').trim_end_matches(['l', 'h']);
            if number.parse().is_ok_and(|n: u32| (14..24).contains(&n)) {
                return self.line(format_args!("{text}"));
            }
        }
        let [a, b] = [0; 2].map(|_| self.source.of_list(&VALUES));
        let d = 16 + self.source.below(8);
        self.line(format_args!("imadd r{d}, {a}, {b}, r16"));
    }

    fn condition(&mut self) -> String {
        let [a, b] = [0; 2].map(|_| self.source.of_list(&VALUES));
        match self.source.below(3) {
            // Never.
            0 => format!("ult, {a}, 0"),
            1 => format!("ult, {a}, {b}"),
            _ => format!("slt, {a}, {b}"),
        }
    }

    fn branch(&mut self) {
        self.labels += 1;
        let label = self.labels;
        let condition = self.condition();
        self.line(format_args!("if_icmp r0l, {condition}, 1"));
        let (jumps, both) = (self.source.one_in(3), self.source.one_in(3));
        if jumps {
            self.line(format_args!("jmp_exec_none end{label}"));
        }
        self.body();
        if both && !jumps {
            self.line(format_args!("else_fcmp r0l, eq, 0.0, 0.0, 1"));
            self.body();
        }
        self.line(format_args!("end{label}:\npop_exec r0l, 1"));
    }

    /// A loop of some rounds. Lanes that are out stay so while it counts.
    fn repeat(&mut self) {
        self.labels += 1;
        let (label, counter) = (self.labels, 24 + self.loops);
        let rounds = 1 + self.source.below(4);
        self.loops += 1;
        self.line(format_args!(
            "mov_imm r{counter}, {rounds}, 0b0\nif_fcmp r0l, eq, 0.0, 0.0, 1\nloop{label}:"
        ));
        self.body();
        self.line(format_args!(
            "isub r{counter}, r{counter}, 1\nwhile_icmp r0l, nueq, r{counter}, 0, 1\n\
             jmp_exec_any loop{label}\npop_exec r0l, 1"
        ));
        self.loops -= 1;
    }
}

/// The memory after each execution.
#[derive(Debug, PartialEq)]
struct Outcome {
    results: Vec<Result<JobStats, JobFault>>,
    /// The table and the pieces of memory, all bytes.
    memory: Vec<Vec<u8>>,
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
            // SAFETY: the piece lies in the block, which nobody else has.
            unsafe { memory.base().add(at).copy_from_nonoverlapping(bytes.as_ptr(), length) };
        }
        memories.push(memory);
    }
    let mut uniforms = address_halves(table.address()).to_vec();
    uniforms.extend(case.uniforms.iter().flat_map(|&base| address_halves(base)));
    let dispatch = Dispatch {
        code,
        uniforms: &uniforms,
        global: [case.threads[0], 1, 1],
        local: [case.threads[1], 1, 1],
        local_bytes: case.local_bytes,
        ..Dispatch::default()
    };
    let job = machine.prepare(&dispatch)?;
    let mut results = Vec::new();
    for step in &case.steps {
        for change in step {
            apply(&machine, &memories, *change)?;
        }
        results.push(machine.submit(&job));
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
