//! Batches under the checker of caches, flushes and stalls: each barrier, and the batch without one of its bits.

use std::sync::Arc;

use tepui_intel_chips::{CHIPS, Generation};
use tepui_intel_model::{Batch, Gpu, Options, ReportKind};
use tepui_intel_packets::media::MediaCurbeLoad;
use tepui_intel_packets::mi::{
    MiBatchBufferEnd, MiLoadRegisterMem, MiSemaphoreWait, SemaphoreCompare,
};
use tepui_intel_packets::state::{PipeControl, PostSyncOperation};
use tepui_intel_packets::{Packet, revision};
use tepui_softgpu::{AddressSpace, Memory, Protection};

const BASE: u64 = 0x1_0000;
const BYTES: usize = 0x1_0000;
/// Memory that the batches write and read.
const DATA: u64 = BASE + 0x8000;

/// The bytes of a command.
macro_rules! bytes {
    ($packet:expr) => {
        $packet.pack().expect("a command").to_vec()
    };
}

/// Memory of batches, and a GPU that checks them.
struct Machine {
    gpu: Gpu,
    vm: AddressSpace,
}

impl Machine {
    fn new() -> Machine {
        Machine::of(Generation::Gen9)
    }

    fn of(generation: Generation) -> Machine {
        let chip = CHIPS.iter().find(|chip| chip.generation == generation).expect("a chip");
        let vm = AddressSpace::new(12, 48);
        let memory = Arc::new(Memory::new(BYTES).expect("memory"));
        vm.bind(BASE, memory, 0, BYTES as u64, Protection::READ | Protection::WRITE).unwrap();
        vm.write(DATA, &[0; 64]).unwrap();
        let options = Options { check: true, ..Options::default() };
        Machine { gpu: Gpu::new(chip, options), vm }
    }

    /// The kinds of reports of a batch.
    fn run(&self, commands: &[Vec<u8>]) -> Vec<ReportKind> {
        let mut batch = commands.concat();
        batch.extend(bytes!(MiBatchBufferEnd::default()));
        self.vm.write(BASE, &batch).unwrap();
        let batch = Batch { address: BASE, length: batch.len() as u64 };
        let mut context = self.gpu.context();
        let stats =
            self.gpu.execute(&self.vm, &mut context, &batch).expect("a batch without faults");
        stats.reports.iter().map(|report| report.kind).collect()
    }
}

/// A write at the end of the pipeline.
fn write() -> Vec<u8> {
    bytes!(PipeControl {
        post_sync_operation: PostSyncOperation::WriteImmediateData,
        address: DATA,
        immediate_data: 7,
        ..PipeControl::default()
    })
}

/// A stall of the command streamer.
fn stall() -> Vec<u8> {
    bytes!(PipeControl { command_streamer_stall_enable: true, ..PipeControl::default() })
}

/// A read by the command streamer.
fn load() -> Vec<u8> {
    bytes!(MiLoadRegisterMem {
        // General register 0.
        register_address: 0x2600,
        memory_address: DATA,
        ..MiLoadRegisterMem::default()
    })
}

/// A read through the constant cache.
fn constants() -> Vec<u8> {
    bytes!(MediaCurbeLoad { curbe_total_data_length: 32, curbe_data_start_address: DATA as u32 })
}

fn invalidate_constants() -> Vec<u8> {
    bytes!(PipeControl { constant_cache_invalidation_enable: true, ..PipeControl::default() })
}

/// A wait for earlier writes at the end of the pipeline.
fn flush() -> PipeControl {
    PipeControl { pipe_control_flush_enable: true, ..PipeControl::default() }
}

#[test]
fn the_command_streamer_waits_for_a_write_of_the_pipeline() {
    assert_eq!(Machine::new().run(&[write(), stall(), load()]), []);
    assert_eq!(Machine::new().run(&[write(), bytes!(flush()), load()]), []);
    assert_eq!(Machine::new().run(&[bytes!(flush()), write(), load()]), [ReportKind::MissingWait]);
    assert_eq!(Machine::new().run(&[write(), load()]), [ReportKind::MissingWait]);
}

#[test]
fn a_cache_that_has_read_the_line_is_invalidated_after_the_write() {
    let all = [constants(), stall(), write(), stall(), invalidate_constants(), constants()];
    assert_eq!(Machine::new().run(&all), []);
    let without = |k: usize| [&all[..k], &all[k + 1..]].concat();
    assert_eq!(Machine::new().run(&without(4)), [ReportKind::MissingInvalidate]);
    // The invalidation is before the write's end.
    assert_eq!(Machine::new().run(&without(3)), [ReportKind::MissingWait]);
    // The write comes after all earlier work without a stall.
    assert_eq!(Machine::new().run(&without(1)), []);
}

/// One command waits for the write, and then invalidates.
/// Wa_14010840176.
#[test]
fn a_flush_of_the_data_port_and_an_invalidation_of_state_invalidate_constants_of_gen12() {
    let instead = PipeControl {
        hdc_pipeline_flush_enable: true,
        state_cache_invalidation_enable: true,
        ..PipeControl::default()
    };
    let run = |with: &PipeControl| {
        let machine = Machine::of(Generation::Gen12);
        let mut bytes = vec![0; PipeControl::INFO.size_bytes];
        with.pack_into_as(&mut bytes, revision(Generation::Gen12)).expect("a command");
        machine.run(&[constants(), write(), stall(), bytes, constants()])
    };
    assert_eq!(run(&instead), []);
    let without = PipeControl { hdc_pipeline_flush_enable: false, ..instead };
    assert_eq!(run(&without), [ReportKind::MissingInvalidate]);
    let without = PipeControl { state_cache_invalidation_enable: false, ..instead };
    assert_eq!(run(&without), [ReportKind::MissingInvalidate]);
}

#[test]
fn a_flush_of_the_pipeline_comes_before_an_invalidation() {
    let both = PipeControl { constant_cache_invalidation_enable: true, ..flush() };
    let all = [constants(), write(), bytes!(both), constants()];
    assert_eq!(Machine::new().run(&all), []);
    let all = [constants(), write(), bytes!(flush()), constants()];
    assert_eq!(Machine::new().run(&all), [ReportKind::MissingInvalidate]);
}

/// The kernel flushes and invalidates between batches.
#[test]
fn a_batch_begins_with_everything_in_order() {
    let machine = Machine::new();
    assert_eq!(machine.run(&[write(), constants()]), [ReportKind::MissingWait]);
    assert_eq!(machine.run(&[constants()]), []);
}

/// A semaphore in memory that the pipeline writes at its end: everything before that is complete once it is seen.
#[test]
fn a_semaphore_waits_for_the_write_that_it_sees() {
    let other = |immediate_data| {
        bytes!(PipeControl {
            post_sync_operation: PostSyncOperation::WriteImmediateData,
            address: DATA + 64,
            immediate_data,
            ..PipeControl::default()
        })
    };
    let wait = bytes!(MiSemaphoreWait {
        compare_operation: SemaphoreCompare::SadEqualSdd,
        semaphore_data_dword: 1,
        semaphore_address: DATA + 64,
        ..MiSemaphoreWait::default()
    });
    assert_eq!(Machine::new().run(&[write(), other(1), wait.clone(), load()]), []);
    let late = [other(1), write(), wait, load()];
    assert_eq!(Machine::new().run(&late), [ReportKind::MissingWait]);
}

/// Each report is given once.
#[test]
fn the_same_command_is_reported_once() {
    let machine = Machine::new();
    assert_eq!(machine.run(&[write(), load()]), [ReportKind::MissingWait]);
    assert_eq!(machine.run(&[write(), load()]), []);
}
