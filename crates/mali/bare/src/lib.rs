//! Runs compiled shaders on the model of Mali GPUs, without a driver.
//!
//! [`Machine::run`] lays out one block of memory — code, fast-access uniforms, resource tables, local memory, buffers, images — and
//! executes the command stream (v10) or the chain of one job (v9) that a driver would submit. What a program reads where is said by its [`FauWord`]s and by the [`Layout`] that it
//! was compiled with. [`draw`] does the same for a draw.

pub mod draw;
pub mod image;
mod memory;

use std::collections::BTreeMap;

use image::Picture;
use memory::Layout as Block;
use tepui_ir::ImageFormat;
use tepui_ir::interp::{SamplerData, Slot};
use tepui_mali_chips::{Arch, Chip};
use tepui_mali_compiler::{FauWord, Layout, Program};
use tepui_mali_model::{Gpu, JobContext, JobFault, JobStats, Options, Report, Stream, Watch};
use tepui_mali_packets::cs::{CsMove, CsMove32, CsRunCompute};
use tepui_mali_packets::job::{ComputePayload, JobHeader, JobType};
use tepui_mali_packets::shader::{
    Buffer, ComputeSizeWorkgroup, LocalStorage, Resource, ShaderEnvironment, ShaderProgram,
    ShaderRegisterAllocation, ShaderStage,
};
use tepui_mali_packets::{Packet, Problem};
use tepui_softgpu::AddressSpace;
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
    #[error("a program without a driver has no {0}")]
    Unbound(&'static str),
    /// The chip's shaders are not those of the compiler.
    #[error("{0} is no Valhall GPU")]
    Chip(&'static str),
    /// Texels of images do not have the format.
    #[error("images of {0} are not bound without a driver")]
    Texels(ImageFormat),
    /// The hardware has no such image.
    #[error("{0}")]
    Image(String),
    /// The hardware has no such texture.
    #[error("{0}")]
    Texture(#[from] tepui_mali_textures::Error),
}

/// The bindings of a shader.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// Contents of buffers by set, binding and array element.
    pub buffers: BTreeMap<Slot, Vec<u8>>,
    /// Images and texel buffers.
    pub images: BTreeMap<Slot, Picture>,
    /// Samplers.
    pub samplers: BTreeMap<Slot, SamplerData>,
    /// Push constants.
    pub push: Vec<u8>,
    /// The descriptors, as the program was compiled for them.
    pub layout: Layout,
    /// GPU addresses of buffers in the last run.
    pub addresses: BTreeMap<Slot, u64>,
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

    /// Tells an observer of each instruction ([`Gpu::watched`]).
    #[must_use]
    pub fn watched(self, watch: Watch) -> Machine {
        Machine { gpu: self.gpu.watched(watch) }
    }

    /// Findings of the checker since the last call ([`Options::check`]).
    #[must_use]
    pub fn take_reports(&self) -> Vec<Report> {
        self.gpu.take_reports()
    }

    /// Runs workgroups of a program; the buffers and images then hold what they left.
    ///
    /// # Errors
    /// When the program does not run to its end.
    pub fn run(
        &self,
        program: &Program,
        bindings: &mut Bindings,
        groups: [u32; 3],
    ) -> Result<JobStats, Error> {
        let arch = self.gpu.chip().arch;
        if arch < Arch(9) {
            return Err(Error::Chip(self.gpu.chip().id));
        }
        if program.code.is_empty() {
            // A program without instructions is not run.
            return Ok(JobStats::default());
        }
        let mut m = Block::new();
        let data = m.place(&program.data);
        let places = Places::new(&mut m, arch, bindings)?;
        bindings.addresses.clone_from(&places.buffers);
        let tables = tables(&mut m, &bindings.layout, places.descriptors.clone())?;
        let push = m.place(&bindings.push);
        let inputs = Inputs { groups, size: None, data, push };
        let uniforms = uniforms(program, bindings, &places.buffers, &inputs)?;
        let shader = ShaderProgram {
            stage: ShaderStage::Compute,
            register_allocation: allocation(program.stats.is_half()),
            preload: program.preload.into(),
            binary: m.place(&program.code),
            ..ShaderProgram::default()
        };
        let storage = local_storage(&mut m, program.stats.scratch, program.shared_bytes);
        let environment = ShaderEnvironment {
            fau_count: uniforms.len() as u32 / 8,
            resources: tables,
            shader: m.place(&pack(&shader)?),
            thread_storage: m.place(&pack(&storage)?),
            fau: m.place(&uniforms),
            ..ShaderEnvironment::default()
        };
        let work = match arch {
            Arch(9) => job(&environment, program.workgroup_size, groups)?,
            _ => stream(&environment, program.workgroup_size, groups)?,
        };
        let address = m.place(&work);
        let vm = m.bind().map_err(Error::Memory)?;
        let stats = match arch {
            Arch(9) => self.gpu.chain(&vm, &mut JobContext::default(), address)?,
            _ => self.run_stream(&vm, Stream { address, size: work.len() as u64 })?,
        };
        places.take(arch, &vm, bindings)?;
        Ok(stats)
    }

    fn run_stream(&self, vm: &AddressSpace, stream: Stream) -> Result<JobStats, Error> {
        let mut group = self.gpu.group(1);
        group.start(0, stream).map_err(|e| Error::Memory(e.to_string()))?;
        let done = self.gpu.run(vm, &mut group);
        Ok(done.into_iter().next().ok_or(Error::Waits)?.outcome?)
    }
}

/// Moves 64 bits to registers of a command stream.
fn move64(stream: &mut Vec<u8>, destination: u32, value: u64) -> Result<(), Problem> {
    // A move of 64 bits has 48 of them.
    stream.extend(pack(&CsMove { immediate: value & ((1 << 48) - 1), destination })?);
    let high = (value >> 32) as u32;
    stream.extend(pack(&CsMove32 { immediate: high, destination: destination + 1 })?);
    Ok(())
}

/// Registers of the threads of a program.
fn allocation(is_half: bool) -> ShaderRegisterAllocation {
    match is_half {
        true => ShaderRegisterAllocation::N64PerThread,
        false => ShaderRegisterAllocation::N32PerThread,
    }
}

/// The command stream of a dispatch.
fn stream(e: &ShaderEnvironment, size: [u32; 3], groups: [u32; 3]) -> Result<Vec<u8>, Problem> {
    let size = pack(&ComputeSizeWorkgroup {
        workgroup_size_x: size[0],
        workgroup_size_y: size[1],
        workgroup_size_z: size[2],
        ..ComputeSizeWorkgroup::default()
    })?;
    let fau = e.fau | u64::from(e.fau_count) << 56;
    let mut stream = Vec::new();
    let pairs = [(0, e.resources), (8, fau), (16, e.shader), (24, e.thread_storage)];
    for (register, value) in pairs {
        move64(&mut stream, register, value)?;
    }
    let words = [(33, word(&size, 0)), (37, groups[0]), (38, groups[1]), (39, groups[2])];
    for (destination, immediate) in words {
        stream.extend(pack(&CsMove32 { immediate, destination })?);
    }
    stream.extend(pack(&CsRunCompute { task_increment: 1, ..CsRunCompute::default() })?);
    Ok(stream)
}

/// The job of a dispatch.
fn job(e: &ShaderEnvironment, size: [u32; 3], groups: [u32; 3]) -> Result<Vec<u8>, Problem> {
    let header =
        JobHeader { is_64_bit: true, job_type: JobType::Compute, index: 1, ..JobHeader::default() };
    let payload = ComputePayload {
        workgroup_size_x: size[0],
        workgroup_size_y: size[1],
        workgroup_size_z: size[2],
        workgroup_count_x: groups[0],
        workgroup_count_y: groups[1],
        workgroup_count_z: groups[2],
        compute: *e,
        ..ComputePayload::default()
    };
    Ok([pack(&header)?, pack(&payload)?].concat())
}

/// Places of buffers and images in memory, and the descriptors of all bindings.
struct Places {
    buffers: BTreeMap<Slot, u64>,
    /// Addresses and bytes.
    images: BTreeMap<Slot, (u64, usize)>,
    /// Descriptors, and whether they are the samplers of their bindings.
    descriptors: Vec<(Slot, bool, Vec<u8>)>,
}

impl Places {
    /// Places the contents of bindings in memory.
    fn new(m: &mut Block, arch: Arch, bindings: &Bindings) -> Result<Places, Error> {
        let (mut buffers, mut images) = (BTreeMap::new(), BTreeMap::new());
        let mut descriptors = Vec::new();
        for (&slot, bytes) in &bindings.buffers {
            let address = m.place(bytes);
            let buffer = Buffer { size: bytes.len() as u32, address, ..Buffer::default() };
            descriptors.push((slot, false, pack(&buffer)?));
            buffers.insert(slot, address);
        }
        for (&slot, picture) in &bindings.images {
            let bytes = picture.bytes(arch)?;
            let address = m.place(&bytes);
            images.insert(slot, (address, bytes.len()));
            descriptors.push((slot, false, picture.descriptor(arch, address, m)?.to_vec()));
        }
        for (&slot, sampler) in &bindings.samplers {
            descriptors.push((slot, true, image::sampler(sampler)?.to_vec()));
        }
        Ok(Places { buffers, images, descriptors })
    }

    /// Reads what buffers and images hold after a run.
    fn take(&self, arch: Arch, vm: &AddressSpace, bindings: &mut Bindings) -> Result<(), Error> {
        let read = |at: u64, bytes: &mut [u8]| {
            vm.read(at, bytes).map_err(|e| Error::Memory(e.to_string()))
        };
        for (key, bytes) in &mut bindings.buffers {
            read(self.buffers[key], bytes)?;
        }
        for (key, picture) in &mut bindings.images {
            let (at, size) = self.images[key];
            let mut bytes = vec![0; size];
            read(at, &mut bytes)?;
            picture.take(arch, &bytes)?;
        }
        Ok(())
    }
}

/// The resource tables: their address, with their number in the low bits.
fn tables(
    m: &mut Block,
    layout: &Layout,
    descriptors: Vec<(Slot, bool, Vec<u8>)>,
) -> Result<u64, Error> {
    let mut contents: Vec<Vec<u8>> = vec![Vec::new(); MAX_TABLES];
    // Fetches of texels take the driver's sampler, with nearest filters.
    contents[DRIVER_TABLE] = image::sampler(&SamplerData::default())?.to_vec();
    for ((set, binding, element), is_sampler, bytes) in descriptors {
        let Some(place) = layout.find(set, binding) else { continue };
        let sampler = if is_sampler { place.sampler } else { 0 };
        let at = (place.first + element * place.stride + sampler) as usize * Buffer::SIZE_BYTES;
        let table = &mut contents[usize::from(place.table)];
        table.resize(table.len().max(at + Buffer::SIZE_BYTES), 0);
        table[at..at + Buffer::SIZE_BYTES].copy_from_slice(&bytes);
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

/// Inputs of a program that are no bindings.
struct Inputs {
    groups: [u32; 3],
    /// Width and height of the target, for programs of draws.
    size: Option<[u32; 2]>,
    /// Address of the program's constant data.
    data: u64,
    /// Address of the push constants.
    push: u64,
}

/// Factor and offset of the viewport over a target in a direction of normalised coordinates.
fn viewport(size: [u32; 2], axis: u8) -> [f32; 2] {
    match size.get(usize::from(axis)) {
        Some(&side) => [side as f32 / 2.0; 2],
        None => [1.0, 0.0],
    }
}

/// The words of fast-access uniforms.
fn uniforms(
    program: &Program,
    bindings: &Bindings,
    addresses: &BTreeMap<Slot, u64>,
    &Inputs { groups, size, data, push }: &Inputs,
) -> Result<Vec<u8>, Error> {
    use SystemValue as S;
    let mut bytes = Vec::new();
    for fau in &program.fau {
        let value = match *fau {
            FauWord::System(S::Push { offset }, _) => word(&bindings.push, offset as usize),
            FauWord::System(S::NumWorkgroups { axis }, _) => groups[usize::from(axis)],
            // The first vertex, instance, draw and view.
            FauWord::System(S::BaseVertex | S::BaseInstance | S::DrawIndex | S::ViewIndex, _)
                if size.is_some() =>
            {
                0
            }
            FauWord::System(S::BaseWorkgroup { .. }, _) => 0,
            FauWord::System(S::SampleMask, _) if size.is_some() => 0xffff,
            FauWord::Viewport { axis, offset } if let Some(size) = size => {
                viewport(size, axis)[usize::from(offset)].to_bits()
            }
            FauWord::ViewportIndex if size.is_some() => 0,
            FauWord::TileConversion(_) if size.is_some() => draw::conversion()?,
            FauWord::System(..) => return Err(Error::Unbound("such system value")),
            FauWord::Viewport { .. } => return Err(Error::Unbound("viewport")),
            FauWord::Instances { .. } => return Err(Error::Unbound("instances of attributes")),
            FauWord::OpaqueAttributes => return Err(Error::Unbound("formats of attributes")),
            FauWord::ViewportIndex => return Err(Error::Unbound("viewport")),
            FauWord::TileConversion(_) => return Err(Error::Unbound("render target")),
            FauWord::Buffer { set, binding, element, word: at } => {
                let buffer = bindings.buffers.get(&(set, binding, element));
                buffer.map_or(0, |b| word(b, 4 * at as usize))
            }
            FauWord::Address { set, binding, element, half } => {
                let address = addresses.get(&(set, binding, element)).copied().unwrap_or(0);
                (address >> (32 * half)) as u32
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
fn local_storage(m: &mut Block, scratch: u32, shared: u32) -> LocalStorage {
    use tepui_mali_model::limits::MAX_THREADS;
    let mut storage = LocalStorage::default();
    if scratch > 0 {
        let bytes = u64::from(scratch.next_power_of_two().max(16));
        storage.tls_size = (bytes / 16).trailing_zeros();
        storage.tls_base_pointer = m.reserve(bytes * u64::from(MAX_THREADS) * CORES);
    }
    if shared > 0 {
        let bytes = u64::from(shared.next_power_of_two().max(128));
        storage.wls_instances = 1;
        storage.wls_size_scale = bytes.trailing_zeros() + 1;
        storage.wls_base_pointer = m.reserve(bytes * CORES);
    }
    storage
}
