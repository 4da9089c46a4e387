//! Batches made of bytes, for fuzzers and property tests.
//!
//! Memory holds a batch of commands whose headers are mostly valid, followed by states, and space for a kernel;
//! the input chooses a chip, commands and their contents, with addresses mostly limited to mapped memory.

use std::sync::Arc;

use tepui_intel_chips::CHIPS;
use tepui_intel_packets::of_generation;
use tepui_softgpu::{AddressSpace, Memory, Protection};

use crate::{Batch, Gpu, JobStats, Options};

/// Address of the mapped memory.
const BASE: u64 = 0x1_0000;
/// Bytes of mapped memory.
const BYTES: usize = 1 << 16;
/// Address of the states.
const STATES: u64 = BASE + 0x4000;
/// Limit on the commands of a batch.
const MAX_COMMANDS: usize = 200;

/// Takes bytes from the front of the input; zeros at its end.
fn take<const N: usize>(input: &mut &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    let (head, rest) = input.split_at(N.min(input.len()));
    bytes[..head.len()].copy_from_slice(head);
    *input = rest;
    bytes
}

/// Executes a batch that `input` describes; returns the result if it did not fault.
pub fn run(mut input: &[u8]) -> Option<JobStats> {
    let [which] = take(&mut input);
    let chip = &CHIPS[usize::from(which) % CHIPS.len()];
    let options = Options {
        threads: 1,
        max_commands: 1000,
        max_instructions: 100_000,
        max_wait_ns: 0,
        ..Options::default()
    };
    let vm = AddressSpace::new(12, 48);
    let memory = Arc::new(Memory::new(BYTES).ok()?);
    vm.bind(BASE, memory, 0, BYTES as u64, Protection::READ | Protection::WRITE).ok()?;
    let commands: Vec<_> = of_generation(chip.generation)
        .filter(|info| info.fixed.iter().any(|f| f.name == "Command Type"))
        .collect();
    let mut batch = Vec::new();
    for _ in 0..MAX_COMMANDS {
        if input.is_empty() || batch.len() > 0x3000 {
            break;
        }
        let [which, mode] = take(&mut input);
        let info = commands[usize::from(which) % commands.len()];
        let Ok(mut bytes) = info.default_bytes() else { continue };
        let words = bytes.len() / 4;
        for word in 1..words {
            let raw = u32::from_le_bytes(take(&mut input));
            let value = match (mode >> (word % 7)) & 1 {
                // The 64-byte aligned offset of something in memory, with the lowest bit.
                0 => (STATES as u32 + (raw & 0x3fc0)) | raw & 1,
                _ => raw & 0x3ff,
            };
            bytes[4 * word..4 * word + 4].copy_from_slice(&value.to_le_bytes());
        }
        if mode & 0x80 != 0 {
            let [at, flip] = take(&mut input);
            let at = usize::from(at) % bytes.len();
            bytes[at] ^= flip;
        }
        batch.extend(bytes);
    }
    // The end of the batch, whatever precedes it.
    batch.extend(0x0500_0000u32.to_le_bytes());
    vm.write(BASE, &batch).ok()?;
    let states = &input[..input.len().min(BYTES - 0x4000)];
    vm.write(STATES, states).ok()?;
    let gpu = Gpu::new(chip, options);
    let mut context = gpu.context();
    let batch = Batch { address: BASE, length: batch.len() as u64 };
    gpu.execute(&vm, &mut context, &batch).ok()
}
