//! The rules that the checkers know: one table, from which reports, `--explain`, SARIF and the documentation come.

use serde::Serialize;

/// Severity of a rule's findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A matter of speed or style: never fails a run.
    Note,
    /// May be intended.
    Warning,
    /// The result is undefined.
    Error,
}

impl Level {
    /// The name in SARIF and in the text of a report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

/// A GPU family whose model has a checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Apple AGX.
    Agx,
    /// Intel.
    Intel,
    /// Arm Mali.
    Mali,
}

impl Family {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Family::Agx => "AGX",
            Family::Intel => "Intel",
            Family::Mali => "Mali",
        }
    }
}

/// Subject of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// Instructions of a program, whatever it is bound to.
    Program,
    /// Images and descriptors that a program accesses.
    Image,
    /// Commands of a batch or control stream.
    Command,
}

/// A rule.
#[derive(Debug, Serialize)]
pub struct Rule {
    /// Its name.
    pub id: &'static str,
    /// Severity of its findings.
    pub level: Level,
    /// Part of a run that it is about.
    pub subject: Subject,
    /// Families whose models find it.
    pub families: &'static [Family],
    /// Description of a finding in a line.
    pub title: &'static str,
    /// Explanation.
    pub meaning: &'static str,
    /// Remedy.
    pub mend: &'static str,
}

macro_rules! rules {
    ($($id:literal $level:ident $subject:ident [$($family:ident)*] $title:literal: $meaning:literal; $mend:literal)*) => {
        /// All rules.
        pub const RULES: &[Rule] = &[$(Rule {
            id: $id,
            level: Level::$level,
            subject: Subject::$subject,
            families: &[$(Family::$family),*],
            title: $title,
            meaning: $meaning,
            mend: $mend,
        }),*];
    };
}

rules! {
    "unwaited-read" Error Program [Agx Mali] "a register is read before its load has arrived":
    "Loads and other messages write their registers later. An instruction that reads one before a wait for the message's slot gets \
     the old value or the new one.";
    "The compiler has to put a wait for the slot between load and use."

    "unwaited-write" Error Program [Agx Mali] "a register is written while a load into it is under way":
    "The load may arrive after the write and replace it. On Bifrost, also: a message may not have read the register yet.";
    "The compiler has to wait for the load first, or to use another register."

    "unordered-access" Error Program [Intel] "a register is accessed before the scoreboard orders it":
    "An earlier instruction may not have read or written the register yet, and no distance or token of the instructions between \
     them waits for it (Gen12).";
    "The compiler has to annotate the later instruction with the distance or the token, or to put a sync instruction before it."

    "discarded-register" Error Program [Mali] "a register is read after its value was given up":
    "An instruction before has marked its last use, or a blend shader may have changed it.";
    "The compiler has to leave out the mark, or to keep the value in a register that blend shaders do not use."

    "unwaited-message" Error Program [Mali] "a message comes before one that it depends on":
    "A barrier while messages are in flight does not order them; the tile buffer, depth and coverage are not there before a wait \
     for the slots of the fixed functions.";
    "The compiler has to wait for the slot before the message."

    "unwritten-register" Error Program [Agx Intel] "a register is read that was never written":
    "The thread has not written the register on the way it took here; it holds what ran before on the core.";
    "Initialise the variable on all paths; in a compiler, look at live ranges across branches."

    "unwritten-local" Error Program [Agx Intel] "local memory is read that was never written":
    "No thread of the workgroup has written the bytes; local memory holds what ran before.";
    "Initialise the shared variable and put a barrier after that."

    "unwritten-scratch" Error Program [Agx] "scratch memory is read that was never written":
    "The thread reads bytes of its scratch memory that it has not written: a private array without initial values, or a \
     spilled register that was never stored.";
    "Initialise the array; in a compiler, look at where spills are stored."

    "unwritten-memory" Error Program [Agx Intel] "a buffer is read where nobody has written":
    "Neither the CPU nor the GPU has ever written to the page of 4 KiB. Memory of a new allocation is undefined. A page that was \
     written in part counts as written.";
    "Write the buffer, or clear it, before it is read."

    "unwritten-tile" Error Image [Agx] "a compressed image is read where nobody has written":
    "The metadata of the tile says that it was never written.";
    "Clear or draw the image before it is read; look at the layout transition from UNDEFINED."

    "unbound-load" Error Program [Agx] "a load of memory that is not bound":
    "The address belongs to no buffer. With soft faults, which drivers of this GPU rely on for robust buffer access, the load \
     gives zero; so this is also how an index out of bounds shows, which robustness hides.";
    "Look at the index, and at whether the buffer was freed while it was in use. Reads of unbound parts of sparse buffers are \
     allowed: suppress them."

    "unbound-store" Error Program [Agx] "a store to memory that is not bound":
    "The address belongs to no buffer that can be written. With soft faults the store is dropped; so this is also how an index \
     out of bounds shows, which robustness hides.";
    "Look at the index, and at whether the buffer was freed while it was in use. Writes of unbound parts of sparse buffers are \
     allowed: suppress them."

    "unbound-texel" Warning Image [Agx] "a texel that is not bound":
    "The image's memory is not bound there; the texel is zero. Sparse images are read so with residency queries.";
    "Bind the page, or suppress the finding for sparse images."

    "unknown-compression" Warning Image [Agx] "a compressed tile that the model cannot decode":
    "The metadata names a form of compression that the model does not know, so what is read is not what silicon reads.";
    "Report it to Tepui: it is a gap of the model."

    "undefined-descriptor" Warning Image [Agx] "a texture or sampler descriptor that is missing or invalid":
    "The descriptor is not loaded, not bound, or names a format that does not exist. What silicon does is unknown.";
    "Write the descriptor set; look at indices into arrays of descriptors."

    "local-race" Error Program [Agx] "two SIMD-groups race for local memory":
    "Two SIMD-groups of a workgroup access the same bytes of local memory, one of them writes, neither by an atomic, and there is \
     no barrier between. Which comes first is left to chance.";
    "Put a barrier between: `barrier()` in GLSL, `workgroupBarrier()` in WGSL."

    "workgroup-race" Error Program [Agx] "two SIMD-groups of a workgroup race for a buffer":
    "Two SIMD-groups of a workgroup access the same bytes of a buffer, one of them writes another value than was there, neither by \
     an atomic, and there is no barrier between.";
    "Put a barrier with a memory barrier for buffers between, or let each thread have elements of its own."

    "dispatch-race" Error Program [Agx] "two workgroups race for a buffer":
    "Two workgroups of a dispatch access the same bytes of a buffer, one of them writes another value than was there, neither by an \
     atomic, and not both have executed an atomic or a memory barrier since, by which one could have waited for the other. \
     Workgroups run in any order.";
    "Split the dispatch in two with a pipeline barrier between, use atomics, or let each workgroup have elements of its own."

    "lane-race" Error Program [Agx] "threads store different values to one place at once":
    "Lanes of one SIMD-group store different values to the same bytes with one instruction. Which of them stays is left to chance.";
    "Let one thread store, or use an atomic."

    "divergent-barrier" Error Program [Agx] "a barrier that not all threads of the workgroup execute":
    "Threads have returned or taken another branch. Barriers have to be executed by all threads of a workgroup, or by none; on \
     some GPUs the others wait for ever.";
    "Move the barrier out of the branch; instead of an early return, guard the loads and stores."

    "divergent-derivative" Warning Program [Agx] "a derivative or implicit level of detail in divergent flow":
    "The instruction takes differences within quads of 2 by 2 pixels, of which some do not execute it: the difference is undefined. \
     Harmless where the image has one level and the result is not filtered across.";
    "Sample before the branch, or give the level of detail or the gradients."

    "missing-flush" Error Command [Intel] "memory is accessed whose data another cache may still hold":
    "An earlier command wrote the bytes through a cache, and nothing has written them back since. The later access gets the old \
     bytes, or a later write-back replaces what it writes.";
    "Flush the cache that the finding names, and wait for that, between the two commands: look at the access masks of the barrier."

    "missing-invalidate" Error Command [Intel Mali] "memory is read of which the cache may hold old data":
    "The unit has read the line of memory before the data arrived there, and its cache was not invalidated since.";
    "Invalidate the cache that the finding names after the flush is complete: look at the destination access mask of the barrier."

    "missing-wait" Error Command [Agx Intel Mali] "an access does not wait for an earlier command":
    "The two commands may run at the same time, or a flush may not be complete. The later access may come first.";
    "Put a stall of the command streamer (Intel), a barrier block (AGX), or a WAIT, sync object or dependency of a job (Mali) between \
     the two: look at the stage masks of the barrier."

    "command-order" Error Command [Intel] "a command needs another one before it":
    "The hardware takes some changes of state only after others: flushes before another pipeline is selected, constants before the \
     binding table that makes them take effect, and what workarounds ask for. Without that, silicon may hang or use old state.";
    "Emit what the finding names before the command; docs/checker.md lists all restrictions."

    "compression-state" Error Command [Intel] "an image is not in the state that its auxiliary surface says":
    "Memory that was compressed or cleared through an auxiliary surface (CCS, MCS, HiZ) is read as plain, or the other way round, or a \
     clear block is used with another colour than it was cleared to. The model keeps texels plain; silicon reads garbage.";
    "Resolve the image before it is read without its auxiliary surface, and initialise that surface after a plain write: look at the \
     layouts of the barrier."

    "finished-job" Error Command [Mali] "a job is submitted again as it is":
    "The header of the job says that it has ended: the hardware has executed it before. What it does with such a job is unknown.";
    "Clear the first 16 bytes of the header before the chain is submitted again."

    "unread-result" Note Program [Agx] "a result that nobody reads":
    "A texel that is sampled, or a store to local memory, that nothing has read in the whole run. It costs time and power.";
    "Remove it, unless another input needs it."
}

impl Rule {
    /// The families whose models find it, as text.
    #[must_use]
    pub fn found_on(&self) -> String {
        self.families.iter().map(|f| f.name()).collect::<Vec<_>>().join(", ")
    }
}

/// Names of the rules that a family's model finds.
pub fn found_by(family: Family) -> impl Iterator<Item = &'static str> {
    RULES.iter().filter(move |r| r.families.contains(&family)).map(|r| r.id)
}

/// The rule of a name.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// The text that `--explain` prints.
#[must_use]
pub fn explain(rule: &Rule) -> String {
    format!(
        "{} ({}, found on {}): {}\n\n{}\n\nTo mend: {}\n",
        rule.id,
        rule.level.name(),
        rule.found_on(),
        rule.title,
        rule.meaning,
        rule.mend
    )
}

/// The rules as a table in Markdown, for the documentation.
#[must_use]
pub fn table() -> String {
    let mut text =
        "| rule | level | found on | what it means | what to do |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
    for r in RULES {
        let (id, level, on) = (r.id, r.level.name(), r.found_on());
        text += &format!("| `{id}` | {level} | {on} | {} | {} |\n", r.meaning, r.mend);
    }
    text
}
