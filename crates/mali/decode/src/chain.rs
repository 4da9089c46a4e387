//! Chains of jobs: each job with its header, and the payload of its type.
//!
// source: Mesa, decode_jm.c (`pandecode_jc`), v7.xml and v9.xml (the aggregates of jobs).

use std::collections::HashSet;

use tepui_mali_packets::bifrost::{Invocation, PrimitiveV7};
use tepui_mali_packets::draw::{Draw, Primitive, Scissor};
use tepui_mali_packets::framebuffer::FragmentJobPayload;
use tepui_mali_packets::job::{
    Allocation, ComputePayload, JobHeader, JobType, WriteValueJobPayload, bifrost, midgard, valhall,
};
use tepui_mali_packets::midgard::WriteValueJobPayloadV5;
use tepui_mali_packets::sfbd::FragmentJobPayloadV4;
use tepui_mali_packets::shader::ShaderEnvironment;
use tepui_mali_packets::{Packet, Value};

use crate::bifrost::DrawStage;
use crate::resources::Stage;
use crate::{Decoder, Problem, Record};

/// Limit on the jobs of a chain that are shown.
const MAX_JOBS: usize = 1 << 16;

/// The inputs of a shader stage, from its environment.
fn stage(e: &ShaderEnvironment) -> Stage {
    Stage {
        resources: e.resources,
        uniforms: e.fau | u64::from(e.fau_count) << 56,
        program: e.shader,
        storage: e.thread_storage,
    }
}

impl Decoder<'_> {
    /// Decodes the chain of jobs at an address.
    pub fn chain(&mut self, first: u64) -> Record {
        let mut record = Record::new("Chain", first);
        let mut at = first;
        let mut jobs = HashSet::new();
        while at != 0 {
            if !jobs.insert(at) {
                record.problems.push(Problem::EndlessLoop { address: at });
                break;
            }
            if self.reader.left() == 0 || jobs.len() > MAX_JOBS {
                record.problems.push(self.too_much());
                break;
            }
            let mut job = self.reader.packet(JobHeader::INFO, at);
            let header = self.reader.value::<JobHeader>(at);
            if let Ok(header) = &header {
                job.title = format!("Job {}: {}", header.index, header.job_type).into();
                self.job(header.job_type, at, &mut job);
            }
            record.children.push(job);
            at = header.map_or(0, |header| header.next);
        }
        record
    }

    /// Decodes the payload that follows a job's header.
    fn job(&mut self, kind: JobType, at: u64, job: &mut Record) {
        let payload = at.wrapping_add(JobHeader::SIZE_BYTES as u64);
        match kind {
            JobType::WriteValue => {
                let info = match self.is_midgard() {
                    true => WriteValueJobPayloadV5::INFO,
                    false => WriteValueJobPayload::INFO,
                };
                job.children.push(self.reader.packet(info, payload));
            }
            JobType::Fragment if self.options.arch.0 < 5 => {
                job.children.push(self.reader.packet(FragmentJobPayloadV4::INFO, payload));
                if let Ok(p) = self.reader.value::<FragmentJobPayloadV4>(payload) {
                    job.children.push(self.framebuffer(p.framebuffer));
                }
            }
            JobType::Fragment => {
                job.children.push(self.reader.packet(FragmentJobPayload::INFO, payload));
                if let Ok(p) = self.reader.value::<FragmentJobPayload>(payload) {
                    job.children.push(self.framebuffer(p.framebuffer));
                }
            }
            JobType::Compute if self.is_bifrost() => {
                let draw = at.wrapping_add(bifrost::COMPUTE_DRAW);
                job.children.push(self.reader.packet(Invocation::INFO, payload));
                job.children.push(self.draw_v7("Draw", draw, DrawStage::OneShader));
            }
            JobType::Vertex if self.is_bifrost() => {
                let draw = at.wrapping_add(bifrost::COMPUTE_DRAW);
                job.children.push(self.reader.packet(Invocation::INFO, payload));
                job.children.push(self.draw_v7("Draw", draw, DrawStage::OneShader));
            }
            JobType::Tiler | JobType::IndexedVertex if self.is_bifrost() => {
                self.tiler_v7(kind == JobType::IndexedVertex, at, job);
            }
            JobType::Compute => {
                job.children.push(self.reader.packet(ComputePayload::INFO, payload));
                if let Ok(p) = self.reader.value::<ComputePayload>(payload) {
                    job.children.extend(self.stage("", stage(&p.compute)));
                }
            }
            JobType::MallocVertex => self.malloc_vertex(at, job),
            JobType::NotStarted
            | JobType::Null
            | JobType::CacheFlush
            | JobType::Vertex
            | JobType::Tiler
            | JobType::IndexedVertex => {}
        }
    }

    /// Reads a pointer from memory.
    pub(crate) fn address(&self, at: u64) -> Result<u64, Problem> {
        let mut bytes = [0; 8];
        self.reader.read(at, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Decodes words of a job that no packet declares.
    fn words(&mut self, at: u64, list: &[(&'static str, u64, WordKind)]) -> Record {
        let mut fields = Vec::new();
        let mut record = Record::group("Pointers and sizes");
        for (name, offset, kind) in list {
            let value = match kind {
                WordKind::Address => self.address(at.wrapping_add(*offset)).map(Value::Address),
                WordKind::Float => {
                    let word = self.reader.word(at.wrapping_add(*offset));
                    word.map(|word| Value::Float(f32::from_bits(word)))
                }
                WordKind::Uint => {
                    let word = self.reader.word(at.wrapping_add(*offset));
                    word.map(|word| Value::Uint(word.into()))
                }
            };
            match value {
                Ok(value) => fields.push(((*name).into(), value)),
                Err(problem) => record.problems.push(problem),
            }
        }
        record.content = crate::Content::Fields(fields);
        record
    }

    /// Decodes a job that allocates its vertices.
    fn malloc_vertex(&mut self, at: u64, job: &mut Record) {
        let place = |offset: u64| at.wrapping_add(offset);
        let primitive = place(valhall::PRIMITIVE);
        job.children.push(self.reader.packet(Primitive::INFO, primitive));
        job.children.push(self.words(
            at,
            &[
                ("Instance count", valhall::INSTANCES, WordKind::Uint),
                ("Tiler", valhall::TILER, WordKind::Address),
                ("Primitive size", valhall::SIZE, WordKind::Float),
                ("Indices", valhall::INDICES, WordKind::Address),
            ],
        ));
        job.children.push(self.reader.packet(Allocation::INFO, place(valhall::ALLOCATION)));
        if let Ok(tiler) = self.address(place(valhall::TILER)) {
            job.children.push(self.tiler(tiler));
        }
        job.children.push(self.reader.packet(Scissor::INFO, place(valhall::SCISSOR)));
        job.children.push(self.draw(Draw::INFO.name, place(valhall::DRAW)));
        let secondary = self.reader.value::<Primitive>(primitive);
        let varying = secondary.is_ok_and(|p| p.secondary_shader);
        for (name, offset, present) in
            [("Position", valhall::POSITION, true), ("Varying", valhall::VARYING, varying)]
        {
            if !present {
                continue;
            }
            let mut shader = self.reader.packet_as(name, ShaderEnvironment::INFO, place(offset));
            if let Ok(e) = self.reader.value::<ShaderEnvironment>(place(offset)) {
                shader.children = self.stage(name, stage(&e));
            }
            job.children.push(shader);
        }
    }

    /// Decodes a tiler job of Bifrost, or an indexed vertex job.
    fn tiler_v7(&mut self, shades: bool, at: u64, job: &mut Record) {
        let place = |offset: u64| at.wrapping_add(offset);
        let primitive = place(bifrost::PRIMITIVE);
        let draw = match self.is_midgard() {
            true => midgard::FRAGMENT_DRAW,
            false => bifrost::FRAGMENT_DRAW,
        };
        job.children.push(self.reader.packet(Invocation::INFO, place(bifrost::INVOCATION)));
        job.children.push(self.reader.packet(PrimitiveV7::INFO, primitive));
        let read = self.reader.value::<PrimitiveV7>(primitive);
        let sized = read.as_ref().is_ok_and(|p| p.has_sizes());
        let sizes = if sized { WordKind::Address } else { WordKind::Float };
        // Midgard has both elsewhere: the tiler in the framebuffer, the primitive size after the draw.
        if !self.is_midgard() {
            let tiler = ("Tiler", bifrost::TILER, WordKind::Address);
            job.children.push(self.words(at, &[("Primitive size", bifrost::SIZE, sizes), tiler]));
            if let Ok(tiler) = self.address(place(bifrost::TILER)) {
                job.children.push(self.tiler(tiler));
            }
        }
        if shades {
            let stage = match read.is_ok_and(|p| p.secondary_shader) {
                true => DrawStage::TwoShaders,
                false => DrawStage::OneShader,
            };
            job.children.push(self.draw_v7("Vertex draw", place(bifrost::VERTEX_DRAW), stage));
        }
        job.children.push(self.draw_v7("Fragment draw", place(draw), DrawStage::Fragments));
    }
}

/// The interpretation of a word.
#[derive(Clone, Copy)]
enum WordKind {
    Address,
    Float,
    Uint,
}
