//! Runs compiled shaders: fills the uniform registers that a [`Program`] asks for.

use std::collections::HashMap;

use tepui_agx_compiler::{Program, Source};
use tepui_agx_model::JobStats;

use crate::{Buffer, Dispatch, Error, Machine, address_halves};

/// What a shader is run with.
#[derive(Default)]
pub struct Bindings {
    /// Buffers by set, binding and array element.
    pub buffers: HashMap<(u32, u32, u32), Buffer>,
    /// Push constants.
    pub push: Vec<u8>,
}

impl Bindings {
    fn push_word(&self, offset: u32) -> u32 {
        let byte = |k: usize| self.push.get(offset as usize + k).copied().unwrap_or(0);
        u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
    }
}

fn halves(word: u32) -> [u16; 2] {
    [word as u16, (word >> 16) as u16]
}

/// Runs `groups` workgroups of a compute shader.
///
/// A descriptor without a buffer has the address of a page of zeros and the size 0.
///
/// # Errors
/// When memory cannot be bound or the job faults.
pub fn run(
    machine: &mut Machine,
    program: &Program,
    bindings: &Bindings,
    groups: [u32; 3],
) -> Result<JobStats, Error> {
    let end = program.uniforms.iter().map(|u| u.half + u.source.halves()).max().unwrap_or(0);
    let mut uniforms = vec![0u16; usize::from(end)];
    for u in &program.uniforms {
        let address = |b: Option<&Buffer>, machine: &mut Machine| match b {
            Some(b) => Ok(address_halves(b.address())),
            None => machine.buffer(1 << 14).map(|b| address_halves(b.address())),
        };
        let value: Vec<u16> = match u.source {
            Source::BufferAddress { set, binding, element } => {
                address(bindings.buffers.get(&(set, binding, element)), machine)?.to_vec()
            }
            Source::BufferSize { set, binding, element } => {
                let size = bindings.buffers.get(&(set, binding, element)).map_or(0, Buffer::size);
                halves(size as u32).to_vec()
            }
            Source::BufferTable { set, binding } => {
                let rows = bindings.buffers.keys().filter(|k| (k.0, k.1) == (set, binding));
                let count = rows.map(|k| k.2 + 1).max().unwrap_or(0);
                let mut words = Vec::new();
                for element in 0..count {
                    let b = bindings.buffers.get(&(set, binding, element));
                    let a = address(b, machine)?;
                    let size = b.map_or(0, Buffer::size) as u32;
                    let word = |k: usize| u32::from(a[k]) | u32::from(a[k + 1]) << 16;
                    words.extend([word(0), word(2), size, 0]);
                }
                let table = machine.buffer(words.len() * 4)?;
                table.write_words(&words)?;
                address_halves(table.address()).to_vec()
            }
            Source::NumWorkgroups { axis } => halves(groups[usize::from(axis)]).to_vec(),
            Source::Push { offset } => halves(bindings.push_word(offset)).to_vec(),
            Source::PushLong { offset } => {
                [offset, offset + 4].iter().flat_map(|&o| halves(bindings.push_word(o))).collect()
            }
            Source::PushAddress => {
                let copy = machine.buffer(bindings.push.len())?;
                copy.write(&bindings.push)?;
                address_halves(copy.address()).to_vec()
            }
            Source::Constant { bits } => halves(bits).to_vec(),
            Source::Constant16 { bits } => vec![bits],
            Source::Driver { .. } | Source::Preamble { .. } => continue,
        };
        let at = usize::from(u.half);
        uniforms[at..at + value.len()].copy_from_slice(&value);
    }
    if program.stats.scratch > 0 {
        machine.scratch(program.stats.scratch)?;
    }
    let local = program.workgroup_size;
    let global = [0, 1, 2].map(|k| groups[k].saturating_mul(local[k]));
    machine.dispatch(&Dispatch {
        code: &program.code,
        preshader: program.preamble.as_deref(),
        uniforms: &uniforms,
        global,
        local,
        local_bytes: program.shared_bytes,
        ..Dispatch::default()
    })
}
