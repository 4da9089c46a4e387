//! Runs compiled shaders on the model of Mali GPUs, without a driver.
//!
//! [`Machine::run`] lays out one block of memory — code, fast-access uniforms, resource tables, local memory, buffers — and executes
//! the command stream that a driver would submit. What a program reads where is said by its [`FauWord`]s and by the [`Layout`] that it
//! was compiled with.

mod memory;

use std::collections::BTreeMap;

use memory::Layout as Block;
use tepui_mali_chips::Chip;
use tepui_mali_compiler::{FauWord, Layout, Program};
use tepui_mali_model::{Gpu, JobFault, JobStats, Options, Stream};
use tepui_mali_packets::cs::{CsMove, CsMove32, CsRunCompute};
use tepui_mali_packets::shader::{
    Buffer, ComputeSizeWorkgroup, LocalStorage, Resource, ShaderProgram, ShaderRegisterAllocation,
    ShaderStage,
};
use tepui_mali_packets::{Packet, Problem};
use tepui_sysval::SystemValue;

/// Shader cores up to the last one, for which local memory is allocated.
const CORES: u64 = 64 - tepui_mali_model::limits::SHADER_PRESENT.leading_zeros() as u64;
/// The driver's own table, before those of sets.
const DRIVER_TABLE: usize = 0;
/// Resource tables: the pointer's low bits are their number.
const MAX_TABLES: usize = 63;
/// The table of tables, from which programs read sizes of buffers.
const TABLE_OF_TABLES: usize = 62;

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The host has no memory for the GPU's.
    #[error("memory: {0}")]
    Memory(String),
    /// A descriptor has no encoding.
    #[error("{0}")]
    Packet(#[from] Problem),
    /// The fault that ended the stream.
    #[error("{0}")]
    Fault(#[from] JobFault),
    /// The stream did not end.
    #[error("the command stream waits for ever")]
    Waits,
    /// The program reads what no bindings have.
    #[error("a compute program without a driver has no {0}")]
    Unbound(&'static str),
    /// The chip has no command streams.
    #[error("{0} has no command streams")]
    Chip(&'static str),
}

/// The bindings of a shader.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// Contents of buffers by set, binding and array element.
    pub buffers: BTreeMap<(u32, u32, u32), Vec<u8>>,
    /// Push constants.
    pub push: Vec<u8>,
    /// The descriptors, as the program was compiled for them.
    pub layout: Layout,
}

/// A word of some bytes; zero past their end.
fn word(bytes: &[u8], offset: usize) -> u32 {
    let byte = |k: usize| bytes.get(offset + k).copied().unwrap_or(0);
    u32::from_le_bytes([0, 1, 2, 3].map(byte))
}

fn pack<P: Packet>(packet: &P) -> Result<Vec<u8>, Problem> {
    let mut bytes = vec![0; P::INFO.size_bytes];
    packet.pack_into(&mut bytes)?;
    Ok(bytes)
}

/// A GPU without a driver.
pub struct Machine {
    gpu: Gpu,
}

impl Machine {
    /// A GPU of a chip.
    #[must_use]
    pub fn new(chip: &'static Chip, options: Options) -> Machine {
        Machine { gpu: Gpu::new(chip, options) }
    }

    /// Runs workgroups of a program; the buffers then hold what they left.
    ///
    /// # Errors
    /// When the program does not run to its end.
    pub fn run(
        &self,
        program: &Program,
        bindings: &mut Bindings,
        groups: [u32; 3],
    ) -> Result<JobStats, Error> {
        if self.gpu.chip().arch.0 < 10 {
            return Err(Error::Chip(self.gpu.chip().id));
        }
        if program.code.is_empty() {
            // A program without instructions is not run.
            return Ok(JobStats::default());
        }
        let mut m = Block::new();
        let code = m.place(&program.code);
        let data = m.place(&program.data);
        let buffers: BTreeMap<_, _> =
            bindings.buffers.iter().map(|(k, b)| (*k, (m.place(b), b.len()))).collect();
        let tables = tables(&mut m, &bindings.layout, &buffers)?;
        let push = m.place(&bindings.push);
        let uniforms = uniforms(program, bindings, groups, [data, push])?;
        let fau = m.place(&uniforms);
        let shader = ShaderProgram {
            stage: ShaderStage::Compute,
            register_allocation: match program.stats.is_half() {
                true => ShaderRegisterAllocation::N64PerThread,
                false => ShaderRegisterAllocation::N32PerThread,
            },
            preload: program.preload.into(),
            binary: code,
            ..ShaderProgram::default()
        };
        let shader = m.place(&pack(&shader)?);
        let storage = local_storage(&mut m, program);
        let storage = m.place(&pack(&storage)?);
        let size = pack(&ComputeSizeWorkgroup {
            workgroup_size_x: program.workgroup_size[0],
            workgroup_size_y: program.workgroup_size[1],
            workgroup_size_z: program.workgroup_size[2],
            ..ComputeSizeWorkgroup::default()
        })?;
        let mut stream = Vec::new();
        let pairs = uniforms.len() as u64 / 8;
        for (destination, immediate) in [(0, tables), (16, shader), (24, storage)] {
            stream.extend(pack(&CsMove { immediate, destination })?);
        }
        stream.extend(pack(&CsMove { immediate: fau, destination: 8 })?);
        let high = (fau >> 32) as u32 | (pairs as u32) << 24;
        let words =
            [(9, high), (33, word(&size, 0)), (37, groups[0]), (38, groups[1]), (39, groups[2])];
        for (destination, immediate) in words {
            stream.extend(pack(&CsMove32 { immediate, destination })?);
        }
        stream.extend(pack(&CsRunCompute { task_increment: 1, ..CsRunCompute::default() })?);
        let address = m.place(&stream);
        let vm = m.bind().map_err(Error::Memory)?;
        let mut group = self.gpu.group(1);
        let started = group.start(0, Stream { address, size: stream.len() as u64 });
        started.map_err(|e| Error::Memory(e.to_string()))?;
        let done = self.gpu.run(&vm, &mut group);
        let stats = done.into_iter().next().ok_or(Error::Waits)?.outcome?;
        for (key, (at, _)) in &buffers {
            if let Some(bytes) = bindings.buffers.get_mut(key) {
                vm.read(*at, bytes).map_err(|e| Error::Memory(e.to_string()))?;
            }
        }
        Ok(stats)
    }
}

/// Addresses and sizes of buffers.
type Buffers = BTreeMap<(u32, u32, u32), (u64, usize)>;

/// The resource tables: their address, with their number in the low bits.
fn tables(m: &mut Block, layout: &Layout, buffers: &Buffers) -> Result<u64, Error> {
    let mut contents: Vec<Vec<u8>> = vec![Vec::new(); MAX_TABLES];
    contents[DRIVER_TABLE] = vec![0; Buffer::SIZE_BYTES];
    for (&(set, binding, element), &(address, size)) in buffers {
        let Some(place) = layout.find(set, binding) else { continue };
        let at = (place.first + element * place.stride) as usize * Buffer::SIZE_BYTES;
        let table = &mut contents[usize::from(place.table)];
        table.resize(table.len().max(at + Buffer::SIZE_BYTES), 0);
        let buffer = Buffer { size: size as u32, address, ..Buffer::default() };
        table[at..at + Buffer::SIZE_BYTES].copy_from_slice(&pack(&buffer)?);
    }
    let entries = m.reserve((MAX_TABLES * Resource::SIZE_BYTES) as u64);
    let mut bytes = Vec::new();
    for (n, table) in contents.iter().enumerate() {
        let (address, size) = match (n, table.is_empty()) {
            (TABLE_OF_TABLES, _) => (entries, (MAX_TABLES * Resource::SIZE_BYTES) as u64),
            (_, true) => (0, 0),
            _ => (m.place(table), table.len() as u64),
        };
        bytes.extend(pack(&Resource { address, size, ..Resource::default() })?);
    }
    m.fill(entries, &bytes);
    Ok(entries | MAX_TABLES as u64)
}

/// The words of fast-access uniforms.
fn uniforms(
    program: &Program,
    bindings: &Bindings,
    groups: [u32; 3],
    [data, push]: [u64; 2],
) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    for fau in &program.fau {
        let value = match *fau {
            FauWord::System(SystemValue::Push { offset }, _) => {
                word(&bindings.push, offset as usize)
            }
            FauWord::System(SystemValue::NumWorkgroups { axis }, _) => groups[usize::from(axis)],
            FauWord::System(..) => return Err(Error::Unbound("such system value")),
            FauWord::Viewport { .. } => return Err(Error::Unbound("viewport")),
            FauWord::TileConversion(_) => return Err(Error::Unbound("render target")),
            FauWord::Buffer { set, binding, element, word: at } => {
                let buffer = bindings.buffers.get(&(set, binding, element));
                buffer.map_or(0, |b| word(b, 4 * at as usize))
            }
            FauWord::DataAddress(half) => (data >> (32 * half)) as u32,
            FauWord::PushAddress(half) => (push >> (32 * half)) as u32,
            FauWord::Constant(n) => n,
            FauWord::Unused => 0,
        };
        bytes.extend(value.to_le_bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    Ok(bytes)
}

/// Memory of threads and workgroups.
fn local_storage(m: &mut Block, program: &Program) -> LocalStorage {
    use tepui_mali_model::limits::MAX_THREADS;
    let mut storage = LocalStorage::default();
    if program.stats.scratch > 0 {
        let bytes = u64::from(program.stats.scratch.next_power_of_two().max(16));
        storage.tls_size = (bytes / 16).trailing_zeros();
        storage.tls_base_pointer = m.reserve(bytes * u64::from(MAX_THREADS) * CORES);
    }
    if program.shared_bytes > 0 {
        let bytes = u64::from(program.shared_bytes.next_power_of_two().max(128));
        storage.wls_instances = 1;
        storage.wls_size_scale = bytes.trailing_zeros() + 1;
        storage.wls_base_pointer = m.reserve(bytes * CORES);
    }
    storage
}
