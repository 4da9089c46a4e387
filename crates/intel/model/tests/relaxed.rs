//! Relaxed execution of batches: without a stall several results are possible, with it one is, and a seed always gives
//! the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use tepui_intel_chips::{CHIPS, Generation};
use tepui_intel_model::{Batch, Gpu, Options};
use tepui_intel_packets::mi::{MiBatchBufferEnd, MiCopyMemMem, MiSemaphoreWait, SemaphoreCompare};
use tepui_intel_packets::state::{PipeControl, PostSyncOperation};
use tepui_softgpu::{AddressSpace, Memory, Protection};

const BASE: u64 = 0x1_0000;
const BYTES: usize = 0x1_0000;
/// Memory that the batches write and read.
const DATA: u64 = BASE + 0x8000;
const RESULT: u64 = DATA + 0x100;

macro_rules! bytes {
    ($packet:expr) => {
        $packet.pack().expect("a command").to_vec()
    };
}

/// The number that a batch leaves as its result, with a seed.
fn run(generation: Generation, seed: u64, commands: &[Vec<u8>]) -> u32 {
    let chip = CHIPS.iter().find(|chip| chip.generation == generation).expect("a chip");
    let vm = AddressSpace::new(12, 48);
    let memory = Arc::new(Memory::new(BYTES).expect("memory"));
    vm.bind(BASE, memory, 0, BYTES as u64, Protection::READ | Protection::WRITE).unwrap();
    let gpu = Gpu::new(chip, Options { relaxed: Some(seed), ..Options::default() });
    let mut batch = commands.concat();
    batch.extend(bytes!(MiBatchBufferEnd::default()));
    vm.write(BASE, &batch).unwrap();
    let batch = Batch { address: BASE, length: batch.len() as u64 };
    gpu.execute(&vm, &mut gpu.context(), &batch).expect("a batch without faults");
    let mut result = [0; 4];
    vm.read(RESULT, &mut result).unwrap();
    u32::from_le_bytes(result)
}

/// The results with the first seeds, on both generations.
fn results(commands: &[Vec<u8>]) -> BTreeSet<u32> {
    let generations = [Generation::Gen9, Generation::Gen12];
    let seeds = |generation| (0..32).map(move |seed| (generation, seed));
    let all = generations.into_iter().flat_map(seeds);
    all.map(|(generation, seed)| {
        let result = run(generation, seed, commands);
        assert_eq!(run(generation, seed, commands), result, "{seed}");
        result
    })
    .collect()
}

/// A write at the end of the pipeline.
fn write(address: u64, immediate_data: u64) -> Vec<u8> {
    bytes!(PipeControl {
        post_sync_operation: PostSyncOperation::WriteImmediateData,
        address,
        immediate_data,
        ..PipeControl::default()
    })
}

fn stall() -> Vec<u8> {
    bytes!(PipeControl { command_streamer_stall_enable: true, ..PipeControl::default() })
}

/// The command streamer's copy to the result.
fn copy() -> Vec<u8> {
    bytes!(MiCopyMemMem {
        source_memory_address: DATA,
        destination_memory_address: RESULT,
        ..MiCopyMemMem::default()
    })
}

#[test]
fn a_write_at_the_end_of_the_pipeline_comes_before_or_after_a_read() {
    assert_eq!(results(&[write(DATA, 7), copy()]), [0, 7].into());
    assert_eq!(results(&[write(DATA, 7), stall(), copy()]), [7].into());
}

#[test]
fn writes_at_the_end_of_the_pipeline_keep_their_order() {
    assert_eq!(results(&[write(RESULT, 1), write(RESULT, 2)]), [2].into());
}

/// The batch waits for the write, although it comes late.
#[test]
fn a_semaphore_waits_for_the_write_that_it_sees() {
    let wait = bytes!(MiSemaphoreWait {
        compare_operation: SemaphoreCompare::SadEqualSdd,
        semaphore_data_dword: 1,
        semaphore_address: DATA + 64,
        ..MiSemaphoreWait::default()
    });
    assert_eq!(results(&[write(DATA, 7), write(DATA + 64, 1), wait, copy()]), [7].into());
}
