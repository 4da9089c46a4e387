//! Random chains of jobs, for fuzzers and property tests.

use std::sync::Arc;

use tepui_mali_isa::modifier::Flow;
use tepui_mali_isa::{Inst, Op};
use tepui_mali_packets::job::WriteValueType;
use tepui_mali_packets::job::{ComputePayload, JobHeader, JobType, WriteValueJobPayload};
use tepui_mali_packets::shader::{LocalStorage, ShaderEnvironment, ShaderProgram, ShaderStage};
use tepui_softgpu::{Memory, Protection};

use super::{BASE, BYTES, Bits, CODE, DATA, STATES, pack};
use crate::{Gpu, JobContext, JobFault, JobStats, address_space};

/// Bytes reserved per job.
const JOB: u64 = 512;

/// Limit on the jobs of a chain.
const MAX_JOBS: u64 = 6;

/// Executes the chain that `input` describes; returns its outcome.
pub fn run(input: &[u8]) -> Option<Result<JobStats, JobFault>> {
    let chip = tepui_mali_chips::chip("mali-g57")?;
    let options = super::options(input, 100, 1 << 20);
    let gpu = Gpu::new(chip, options);
    let vm = address_space();
    let memory = Arc::new(Memory::new(BYTES).ok()?);
    vm.bind(BASE, memory, 0, BYTES as u64, Protection::READ | Protection::WRITE).ok()?;
    let mut bits = Bits { input, state: 0 };
    let program = ShaderProgram { stage: ShaderStage::Compute, binary: CODE, ..Default::default() };
    vm.write(STATES, &pack(&program)?).ok()?;
    vm.write(STATES + 0x40, &pack(&LocalStorage::default())?).ok()?;
    let end = Inst { flow: Flow::End, ..Inst::new(Op::NOP) }.encode().ok()?;
    vm.write(CODE, &end.to_le_bytes()).ok()?;
    let types = JobType::INFO.values;
    let count = 1 + bits.next() % MAX_JOBS;
    for index in 0..count {
        let at = BASE + JOB * index;
        let kind = types[bits.next() as usize % types.len()].value;
        let next = match bits.next() % 16 {
            0 => bits.next(),
            1 => BASE,
            _ if index + 1 < count => at + JOB,
            _ => 0,
        };
        let header = JobHeader {
            job_type: JobType::from_raw(kind).unwrap_or_default(),
            index: index as u32 + 1,
            dependency_1: (bits.next() % (index + 2)) as u32 % (index as u32 + 1),
            next,
            ..Default::default()
        };
        vm.write(at, &pack(&header)?).ok()?;
        let payload = match header.job_type {
            JobType::Compute => pack(&ComputePayload {
                workgroup_size_x: 1 + bits.next() as u32 % 64,
                workgroup_size_y: 1,
                workgroup_size_z: 1,
                workgroup_count_x: bits.next() as u32 % 4,
                workgroup_count_y: 1,
                workgroup_count_z: 1,
                compute: ShaderEnvironment {
                    shader: STATES,
                    thread_storage: STATES + 0x40,
                    ..Default::default()
                },
                ..Default::default()
            })?,
            JobType::WriteValue => pack(&WriteValueJobPayload {
                address: DATA + bits.next() % 64,
                kind: WriteValueType::Immediate64,
                immediate_value: bits.next(),
            })?,
            _ => Vec::new(),
        };
        vm.write(at + 32, &payload).ok()?;
        // Replaces some words.
        for _ in 0..bits.next() % 3 {
            let place = at + 4 * (bits.next() % (JOB / 4));
            vm.write(place, &(bits.next() as u32).to_le_bytes()).ok()?;
        }
    }
    Some(gpu.chain(&vm, &mut JobContext::default(), BASE))
}
