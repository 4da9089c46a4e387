//! Runs compiled shaders: fills the uniform registers that a [`Program`] asks for.

use std::collections::{BTreeSet, HashMap};
use tepui_sysval::SystemValue;

use tepui_agx_compiler::descriptor::{PBE_B, ROW_B, SAMPLER_B, TEXTURE_B, loads_sampler};
use tepui_agx_compiler::{Program, Source};
use tepui_agx_model::JobStats;

use crate::image::Row;
use crate::{Buffer, Dispatch, Error, FIRST_OF_HEAP, Machine, address_halves};

/// The bindings of a shader.
#[derive(Default)]
pub struct Bindings {
    /// Buffers by set, binding and array element.
    pub buffers: HashMap<(u32, u32, u32), Buffer>,
    /// Push constants.
    pub push: Vec<u8>,
    /// Descriptors of images and texel buffers by set, binding and array element.
    pub images: HashMap<(u32, u32, u32), Row>,
    /// Samplers by set, binding and array element.
    pub samplers: HashMap<(u32, u32, u32), [u8; 8]>,
}

impl Bindings {
    fn push_word(&self, offset: u32) -> u32 {
        let byte = |k: usize| self.push.get(offset as usize + k).copied().unwrap_or(0);
        u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
    }
}

impl Bindings {
    /// The samplers in the order of the heap.
    fn heap(&self) -> Vec<((u32, u32, u32), [u8; 8])> {
        let mut all: Vec<_> = self.samplers.iter().map(|(&k, &s)| (k, s)).collect();
        all.sort_unstable();
        all
    }

    /// The bindings of a set that have rows, in order.
    fn of_set(&self, set: u32) -> BTreeSet<u32> {
        let keys = self.images.keys().chain(self.samplers.keys());
        keys.filter(|k| k.0 == set).map(|k| k.1).collect()
    }

    /// The rows of all bindings of a set.
    fn set(&self, set: u32) -> Vec<u8> {
        self.of_set(set).into_iter().flat_map(|binding| self.rows(set, binding, 0)).collect()
    }

    /// Bytes of a set before a binding's rows.
    fn offset(&self, set: u32, binding: u32) -> u32 {
        let before = self.of_set(set).into_iter().take_while(|&b| b < binding);
        before.map(|b| self.rows(set, b, 0).len() as u32).sum()
    }

    /// The rows of a binding from an element on, without gaps.
    fn rows(&self, set: u32, binding: u32, element: u32) -> Vec<u8> {
        let heap = self.heap();
        let keys = self.images.keys().chain(self.samplers.keys());
        let last = keys.filter(|k| (k.0, k.1) == (set, binding)).map(|k| k.2).max();
        let end = last.map_or(element, |l| l.max(element)) + 1;
        (element..end)
            .flat_map(|e| {
                let key = (set, binding, e);
                let mut row = self.images.get(&key).copied().unwrap_or([0; ROW_B as usize]);
                if let Some(n) = heap.iter().position(|s| s.0 == key) {
                    let number = (n as u16 + FIRST_OF_HEAP).to_le_bytes();
                    row[SAMPLER_B as usize..SAMPLER_B as usize + 2].copy_from_slice(&number);
                }
                row
            })
            .collect()
    }
}

pub(crate) fn halves(word: u32) -> [u16; 2] {
    [word as u16, (word >> 16) as u16]
}

/// The contents of the uniform registers; `own` provides the values that are specific to the stage.
///
/// A descriptor without a buffer has the address of a page of zeros and the size 0.
///
/// # Errors
/// When memory cannot be bound.
pub(crate) fn uniforms(
    machine: &mut Machine,
    program: &Program,
    bindings: &Bindings,
    own: &dyn Fn(Source) -> Option<Vec<u16>>,
) -> Result<Vec<u16>, Error> {
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
            Source::Descriptor { set, binding, element } => {
                let rows = bindings.rows(set, binding, element);
                let table = machine.buffer(rows.len())?;
                table.write(&rows)?;
                address_halves(table.address()).to_vec()
            }
            Source::SetAddress { set } => {
                let rows = bindings.set(set);
                let table = machine.buffer(rows.len())?;
                table.write(&rows)?;
                address_halves(table.address()).to_vec()
            }
            Source::DescriptorOffset { set, binding, element } => {
                halves(bindings.offset(set, binding) + element * ROW_B).to_vec()
            }
            Source::DescriptorBytes { set, binding, element, byte, halves } => {
                let rows = bindings.rows(set, binding, element);
                let bytes = &rows[usize::from(byte)..][..2 * usize::from(halves)];
                bytes.as_chunks().0.iter().map(|&b| u16::from_le_bytes(b)).collect()
            }
            Source::System(SystemValue::Push { offset }) => {
                halves(bindings.push_word(offset)).to_vec()
            }
            Source::PushLong { offset } => {
                [offset, offset + 4].iter().flat_map(|&o| halves(bindings.push_word(o))).collect()
            }
            Source::PushAddress => {
                let copy = machine.buffer(bindings.push.len())?;
                copy.write(&bindings.push)?;
                address_halves(copy.address()).to_vec()
            }
            Source::DataAddress => {
                let data = machine.buffer(program.data.len())?;
                data.write(&program.data)?;
                address_halves(data.address()).to_vec()
            }
            Source::Constant { bits } => halves(bits).to_vec(),
            Source::Constant16 { bits } => vec![bits],
            source => match own(source) {
                Some(value) => value,
                None => continue,
            },
        };
        let at = usize::from(u.half);
        uniforms[at..at + value.len()].copy_from_slice(&value);
    }
    Ok(uniforms)
}

/// Texture and sampler state, and the heap of samplers, that a program is run with.
pub(crate) struct States {
    pub textures: Vec<[u8; 24]>,
    pub samplers: Vec<[u8; 8]>,
    pub heap: Vec<[u8; 8]>,
}

/// The contents of the state registers and of the sampler heap.
///
/// # Errors
/// When a sampler cannot be described.
pub(crate) fn states(program: &Program, bindings: &Bindings) -> Result<States, Error> {
    let textures = program
        .textures
        .iter()
        .map(|t| {
            let row = bindings.images.get(&(t.set, t.binding, t.element));
            let from = if t.pbe { PBE_B } else { TEXTURE_B } as usize;
            row.and_then(|r| r[from..from + 24].try_into().ok()).unwrap_or([0; 24])
        })
        .collect();
    let mut samplers = vec![crate::image::sampler(&loads_sampler())?];
    samplers.extend(program.samplers.iter().map(|s| {
        bindings.samplers.get(&(s.set, s.binding, s.element)).copied().unwrap_or_default()
    }));
    let heap = bindings.heap().into_iter().map(|s| s.1).collect();
    Ok(States { textures, samplers, heap })
}

/// Runs `groups` workgroups of a compute shader.
///
/// # Errors
/// When memory cannot be bound or the job faults.
pub fn run(
    machine: &mut Machine,
    program: &Program,
    bindings: &Bindings,
    groups: [u32; 3],
) -> Result<JobStats, Error> {
    let own = |s| match s {
        Source::System(SystemValue::BaseWorkgroup { .. }) => Some(halves(0).to_vec()),
        Source::System(SystemValue::NumWorkgroups { axis }) => {
            Some(halves(groups[usize::from(axis)]).to_vec())
        }
        _ => None,
    };
    let local = program.workgroup_size;
    let threads = [0, 1, 2].map(|k| groups[k].saturating_mul(local[k]));
    launch(machine, program, bindings, threads, &own)
}

/// Runs `global` threads of a program; `own` supplies the uniforms that belong to the launch.
///
/// # Errors
/// As [`run`].
pub(crate) fn launch(
    machine: &mut Machine,
    program: &Program,
    bindings: &Bindings,
    global: [u32; 3],
    own: &dyn Fn(Source) -> Option<Vec<u16>>,
) -> Result<JobStats, Error> {
    let uniforms = uniforms(machine, program, bindings, own)?;
    let states = states(program, bindings)?;
    if program.stats.scratch > 0 {
        machine.scratch(program.stats.scratch)?;
    }
    machine.dispatch(&Dispatch {
        code: &program.code,
        preshader: program.preamble.as_deref(),
        uniforms: &uniforms,
        global,
        local: program.workgroup_size,
        local_bytes: program.shared_bytes,
        textures: &states.textures,
        samplers: &states.samplers,
        heap: &states.heap,
    })
}
