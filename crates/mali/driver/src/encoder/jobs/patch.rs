//! Jobs whose parameters or uniforms are in memory: programs that copy them into jobs and uniforms before.
//!
//! A program of one thread writes the parameters of an indirect or conditional command into its job. A command that does not happen
//! becomes a job without work. Another program copies words of uniforms. The job itself depends on both, and is not prefetched.
//!
//! source: Mesa, pan_indirect_dispatch.c

use std::sync::Arc;

use tepui_ir::{Op, Shader, Stage, Type, Value};
use tepui_mali_compiler::Options;
use tepui_mali_compiler::target::LANES;
use tepui_mali_packets::job::{JobHeader, JobType, valhall};
use tepui_sysval::{Long, Words as _, push_words};
use tepui_vulkan::Result;
use tepui_vulkan::backend::{Condition, Dispatch};
use tepui_vulkan::command::{IndexBuffer, MAX_PUSH};
use tepui_vulkan_kit::MetaBuilder;
use tepui_vulkan_kit::builder::Words;

use crate::device::Device;
use crate::encoder::Encoder;
use crate::encoder::inputs::Uniforms;
use crate::meta::{Patched, Patcher};
use crate::packed::packet;
use crate::shader::{Dynamic, Variant, compile_error};

/// Offset of the word of a header with the type and the index.
const TYPE: usize = 16;
/// Bits of that word that are the type.
const TYPE_BITS: u32 = 0xfe;
/// Shift of the type in it. source: v9.xml (`Job Header`)
const TYPE_SHIFT: u32 = 1;
/// Offset of the numbers of workgroups in a compute job.
const COUNTS: i32 = 40;
/// Offset of the number that is added to vertex numbers, in a draw's job. source: v9.xml (`Primitive`)
const BASE_VERTEX: i32 = valhall::PRIMITIVE as i32 + 4;
/// Offset of the number of indices.
const INDEX_COUNT: i32 = valhall::PRIMITIVE as i32 + 12;

/// Parameters of a command in memory.
#[derive(Clone, Copy)]
pub struct Parameters {
    /// Their kind.
    pub kind: Patched,
    /// Their address.
    pub arguments: u64,
    /// Condition of the command.
    pub condition: Option<Condition>,
    /// Number of the draw in its command, and the address of the number of draws.
    pub limit: Option<(u32, u64)>,
    /// The index buffer.
    pub index: Option<IndexBuffer>,
}

impl Parameters {
    /// Parameters of a kind that are nowhere yet.
    pub fn new(kind: Patched) -> Parameters {
        Parameters { kind, arguments: 0, condition: None, limit: None, index: None }
    }
}

push_words! {
    /// Words of the program that writes parameters into a job.
    pub struct PatchWords {
        /// Address of the job.
        pub job: Long,
        /// Address of the parameters.
        pub arguments: Long,
        /// Address of the word that decides.
        pub condition: Long,
        /// Address of the number of draws.
        pub limit: Long,
        /// Address of the indices.
        pub indices: Long,
        /// Whether the command happens if the word is zero, rather than if it is not.
        pub inverted: u32,
        /// Number of the draw.
        pub number: u32,
        /// The header's word with the type, without the type.
        pub type_word: u32,
        /// Logarithm of the bytes of an index.
        pub index_log2: u32,
        /// Indices of the buffer.
        pub index_count: u32,
    }
}

push_words! {
    /// Words of the program that copies words.
    pub struct CopyWords {
        /// Address of the copies: of each, the address of the word to write, then that of the word to read.
        pub copies: Long,
        /// Number of copies.
        pub count: u32,
    }
}

fn type_bits(kind: JobType) -> u32 {
    (kind as u32) << TYPE_SHIFT
}

/// Whether the command happens, as far as the condition and the number of draws decide.
fn happens(m: &mut MetaBuilder<'_>, zero: Value) -> Value {
    let condition = m.word(PatchWords::CONDITION);
    let word = m.load(condition, Type::B32, 0);
    let is_set = m.op(Op::INe, word, zero);
    let inverted = m.word(PatchWords::INVERTED);
    let inverts = m.op(Op::INe, inverted, zero);
    let holds = m.op(Op::IXor, is_set, inverts);
    let limit = m.word(PatchWords::LIMIT);
    let limit = m.load(limit, Type::B32, 0);
    let number = m.word(PatchWords::NUMBER);
    let is_below = m.op(Op::ULt, number, limit);
    m.op(Op::IAnd, holds, is_below)
}

/// Writes the offset and the number of a draw's indices; returns the number.
fn indices(m: &mut MetaBuilder<'_>, job: Value, [count, first]: [Value; 2], zero: Value) -> Value {
    // The job has no size of the index buffer: indices after its end are not drawn, so that nothing after it is read.
    let all = m.word(PatchWords::INDEX_COUNT);
    let rest = m.op(Op::ISub, all, first);
    let is_inside = m.op(Op::ULt, first, all);
    let rest = m.ir.select(is_inside, rest, zero);
    let own = m.op(Op::UMin, count, rest);
    let log2 = m.word(PatchWords::INDEX_LOG2);
    let first = m.ir.select(is_inside, first, zero);
    let first = m.long(first);
    let offset = m.op(Op::IShl, first, log2);
    let base = m.word(PatchWords::INDICES);
    let at = m.op(Op::IAdd, base, offset);
    m.store(job, at, valhall::INDICES as i32);
    own
}

/// Builds the program that writes parameters.
fn parameters(m: &mut MetaBuilder<'_>, kind: Patched) {
    let zero = m.ir.u32(0);
    let mut happens = happens(m, zero);
    let (job, arguments) = (m.word(PatchWords::JOB), m.word(PatchWords::ARGUMENTS));
    let argument = |m: &mut MetaBuilder<'_>, k: i32| m.load(arguments, Type::B32, 4 * k);
    let mut counts: Vec<(Value, i32)> = Vec::new();
    match kind {
        Patched::Dispatch => {
            for k in 0..3 {
                counts.push((argument(m, k), COUNTS + 4 * k));
            }
        }
        Patched::Draw | Patched::DrawIndexed => {
            let (mut count, instances) = (argument(m, 0), argument(m, 1));
            let mut base = argument(m, 2);
            if kind == Patched::DrawIndexed {
                count = indices(m, job, [count, base], zero);
                base = argument(m, 3);
            }
            m.store(job, base, BASE_VERTEX);
            counts.extend([(count, INDEX_COUNT), (instances, valhall::INSTANCES as i32)]);
        }
    }
    for &(count, _) in &counts {
        let some = m.op(Op::INe, count, zero);
        happens = m.op(Op::IAnd, happens, some);
    }
    for (count, offset) in counts {
        let own = m.ir.select(happens, count, zero);
        m.store(job, own, offset);
    }
    let own = match kind {
        Patched::Dispatch => JobType::Compute,
        Patched::Draw | Patched::DrawIndexed => JobType::MallocVertex,
    };
    let [own, null] = [own, JobType::Null].map(|kind| m.ir.u32(type_bits(kind)));
    let kind = m.ir.select(happens, own, null);
    let rest = m.word(PatchWords::TYPE_WORD);
    let kind = m.op(Op::IOr, rest, kind);
    m.store(job, kind, TYPE as i32);
}

/// Builds the program that copies words, one a thread.
fn copy(m: &mut MetaBuilder<'_>) {
    let [k, ..] = m.id();
    let count = m.word(CopyWords::COUNT);
    let is_inside = m.op(Op::ULt, k, count);
    m.when(is_inside, |m| {
        let k = m.long(k);
        let offset = m.shl(k, 4);
        let copies = m.word(CopyWords::COPIES);
        let at = m.op(Op::IAdd, copies, offset);
        let [to, from] = [0, 8].map(|offset| m.load(at, Type::B64, offset));
        let word = m.load(from, Type::B32, 0);
        m.store(to, word, 0);
    });
}

impl Patcher {
    fn build(self) -> Shader {
        let mut s = Shader::new(Stage::Compute);
        s.info.workgroup_size = match self {
            Patcher::Parameters(_) => [1; 3],
            Patcher::Copy => [LANES, 1, 1],
        };
        let mut m = MetaBuilder::new(&mut s, LANES).with_words(Words::Push);
        match self {
            Patcher::Parameters(kind) => parameters(&mut m, kind),
            Patcher::Copy => copy(&mut m),
        }
        m.ir.yield_(&[]);
        s
    }
}

impl Device {
    fn patcher(&self, p: Patcher) -> Result<Arc<Variant>> {
        self.meta.patches.get_or(&p, || {
            let program = tepui_mali_compiler::compile(&mut p.build(), &Options::default())
                .map_err(|e| compile_error(&e))?;
            Ok(Arc::new(Variant::new(self, &program, Dynamic::default(), false)?))
        })
    }
}

impl Encoder {
    /// Adds a job, whose bytes are given, after jobs that copy the words of uniforms that only memory has, and the job's own
    /// parameters; returns its index.
    pub(super) fn add_patched(
        &mut self,
        header: JobHeader,
        bytes: Vec<u8>,
        uniforms: &[&Uniforms],
        parameters: Option<&Parameters>,
    ) -> Result<u32> {
        let place = self.job_place(bytes.len())?;
        let copies: Vec<[u64; 2]> = uniforms
            .iter()
            .flat_map(|u| {
                let words =
                    u.copies.iter().flat_map(|c| (0..c.count).map(move |n| (c, u64::from(n))));
                words.map(|(c, n)| [u.address() + 4 * (c.to as u64 + n), c.from + 4 * n])
            })
            .collect();
        let others = u32::from(!copies.is_empty()) + u32::from(parameters.is_some());
        let mut after = self.begin_jobs(others + 1)?;
        let index = self.index_after(others);
        if !copies.is_empty() {
            after = self.copy_words(&copies, after)?;
        }
        let mut header = JobHeader { is_64_bit: true, index, ..header };
        if let Some(p) = parameters {
            header.suppress_prefetch = true;
            let packed = header.pack().map_err(packet)?;
            let word = packed.as_chunks::<4>().0[TYPE / 4];
            let type_word = u32::from_le_bytes(word) & !TYPE_BITS;
            after = self.patch(p, place.address, type_word, after)?;
        }
        header.dependency_1 = after;
        let is_draw = header.job_type == JobType::MallocVertex;
        if let Some(jobs) = self.jobs.as_mut().filter(|_| is_draw) {
            // The tiler takes draws in their order.
            header.dependency_2 = jobs.draw;
            jobs.draw = index;
        }
        self.add_at(place, header, bytes)
    }

    /// Adds a job of a program that runs after another job; returns its index.
    fn run_patcher(&mut self, p: Patcher, words: &[u8], groups: u32, after: u32) -> Result<u32> {
        let mut push = [0; MAX_PUSH];
        push[..words.len()].copy_from_slice(words);
        let program = self.device.patcher(p)?;
        let of_all = self.jobs.as_mut().map(|jobs| std::mem::replace(&mut jobs.after, after));
        let done =
            self.dispatch_code(&program, &push, &Dispatch::Direct([0; 3], [groups, 1, 1]), None);
        let Some(jobs) = &mut self.jobs else { return Ok(0) };
        jobs.after = of_all.unwrap_or(0);
        done.map(|()| jobs.last)
    }

    fn copy_words(&mut self, copies: &[[u64; 2]], after: u32) -> Result<u32> {
        let list = self.upload(bytemuck::cast_slice(copies), 16)?.address;
        let count = copies.len() as u32;
        let words = CopyWords { copies: list.into(), count };
        self.run_patcher(Patcher::Copy, words.bytes(), count.div_ceil(LANES), after)
    }

    fn patch(&mut self, p: &Parameters, job: u64, type_word: u32, after: u32) -> Result<u32> {
        // Stands for a condition, and for a number of draws.
        let one = self.upload(&1u32.to_le_bytes(), 16)?.address;
        let (number, limit) = p.limit.unwrap_or((0, one));
        let index_log2 = p.index.map_or(0, |i| i.index_bytes.max(1).ilog2());
        let words = PatchWords {
            job: job.into(),
            arguments: p.arguments.into(),
            condition: p.condition.map_or(one, |c| c.address).into(),
            limit: limit.into(),
            indices: p.index.map_or(0, |i| i.address).into(),
            inverted: u32::from(p.condition.is_some_and(|c| c.inverted)),
            number,
            type_word,
            index_log2,
            index_count: p.index.map_or(0, |i| i.size >> index_log2).min(u32::MAX.into()) as u32,
        };
        self.run_patcher(Patcher::Parameters(p.kind), words.bytes(), 1, after)
    }
}
