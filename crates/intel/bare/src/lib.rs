//! Runs compiled shaders on the model of Intel's GPUs, without a driver.
//!
//! [`Machine::run`] lays out one block of memory — code, states, constants, scratch memory, buffers — and executes the batch
//! that a driver would submit: base addresses, thread dispatch, constants, interface descriptor, walker. What a program
//! reads where is its [`BindMap`]'s. [`draw`] does the same for a draw.
//!
//! [`BindMap`]: tepui_intel_compiler::BindMap

pub mod draw;
pub mod image;
mod memory;
mod sets;

use std::collections::BTreeMap;

use memory::Layout;
use tepui_intel_chips::{Chip, Generation};
use tepui_intel_compiler::{Constant, Program, SetBinding, StageInfo, Surface};
use tepui_intel_model::{Batch, Gpu, JobFault, JobStats, Options, Watch};
use tepui_intel_packets::Problem;
use tepui_intel_packets::gen12::StateBaseAddress as Gen12StateBaseAddress;
use tepui_intel_packets::media::{
    GpgpuWalker, InterfaceDescriptorData, MediaCurbeLoad, MediaInterfaceDescriptorLoad,
    MediaVfeState, SharedLocalMemorySize, SimdSize,
};
use tepui_intel_packets::mi::MiBatchBufferEnd;
use tepui_intel_packets::state::StateBaseAddress;
use tepui_intel_packets::surface::{RenderSurfaceState, SurfaceType};
use tepui_ir::interp::SamplerData;
use tepui_sysval::SystemValue;

/// Format of surfaces whose elements are bytes. source: Mesa, isl.h (`ISL_FORMAT_RAW`)
const RAW: u32 = 0x1ff;
/// Alignment of memory that tests write to.
const PAGE: u64 = 4096;
/// Bytes of a register.
const REGISTER: usize = 32;

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The host has no memory for the GPU's.
    #[error("memory: {0}")]
    Memory(String),
    /// A packet has no encoding.
    #[error("{0}")]
    Packet(#[from] Problem),
    /// The fault that ended the batch.
    #[error("{0}")]
    Fault(#[from] JobFault),
    /// The program is of a stage of draws.
    #[error("only compute programs run by themselves")]
    Stage,
    /// The program needs more threads than a workgroup has.
    #[error("a workgroup has at most 64 threads, not {0}")]
    Threads(u32),
    /// The program reads what no bindings have.
    #[error("a compute program without a driver has no {0}")]
    Unbound(&'static str),
    /// The hardware has no images of this format.
    #[error("there are no images of {0}")]
    Texels(tepui_ir::ImageFormat),
    /// The hardware does not have an image.
    #[error("{0}")]
    Image(String),
}

/// The bindings of a shader.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// Contents of buffers by set, binding and array element.
    pub buffers: BTreeMap<(u32, u32, u32), Vec<u8>>,
    /// Push constants.
    pub push: Vec<u8>,
    /// Images and texel buffers.
    pub images: BTreeMap<(u32, u32, u32), image::Picture>,
    /// Samplers.
    pub samplers: BTreeMap<(u32, u32, u32), SamplerData>,
    /// The placement of bindings in the memory of sets, which the program was compiled for.
    pub sets: Vec<SetBinding>,
    /// GPU addresses of buffers in the last run.
    pub addresses: BTreeMap<(u32, u32, u32), u64>,
}

impl Bindings {
    fn push_word(&self, offset: u32) -> u32 {
        let byte = |k: usize| self.push.get(offset as usize + k).copied().unwrap_or(0);
        u32::from_le_bytes([0, 1, 2, 3].map(byte))
    }
}

/// A GPU without a driver.
pub struct Machine {
    gpu: Gpu,
    generation: Generation,
}

impl Machine {
    /// A GPU of a chip.
    #[must_use]
    pub fn new(chip: &'static Chip, options: Options) -> Machine {
        Machine { gpu: Gpu::new(chip, options), generation: chip.generation }
    }

    /// Tells an observer of each instruction.
    #[must_use]
    pub fn watched(self, watch: Watch) -> Machine {
        Machine { gpu: self.gpu.watched(watch), ..self }
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
        if program.stage != StageInfo::Compute {
            return Err(Error::Stage);
        }
        let threads = program.threads();
        if threads > 64 {
            return Err(Error::Threads(threads));
        }
        let mut m = Layout::new();
        // Binding tables are within 64 KiB of the surface state base, and bindless surfaces within 64 MiB.
        let table = m.reserve(4 * program.map.surfaces.len() as u64, PAGE);
        let code = m.place(&program.code, PAGE);
        let data = (m.place(&program.data, PAGE), program.data.len());
        let resources = sets::Resources::new(&mut m, bindings)?;
        bindings.addresses = resources.addresses(&m);
        let surfaces = &program.map.surfaces;
        let places: Vec<(u64, usize)> =
            surfaces.iter().map(|s| resources.buffer(s, data)).collect();
        let states: Vec<u64> = surfaces
            .iter()
            .map(|s| resources.surface(&mut m, s, data))
            .collect::<Result<_, Error>>()?;
        let samplers = resources.samplers(&mut m, &program.map.samplers)?;
        let records = resources.records(&mut m)?;
        let addresses: Vec<u64> = places.iter().map(|&(at, _)| m.address(at)).collect();
        let set = |set: u32| records.iter().find(|r| r.0 == set).map_or(0, |r| m.address(r.1));
        let constants = constants(program, bindings, groups, &addresses, &set);
        let constants_at = m.place(&constants, PAGE);
        let entries: Vec<u8> = states.iter().flat_map(|&at| (at as u32).to_le_bytes()).collect();
        m.fill(table, &entries);
        let scratch = scratch(program);
        let scratch_at = m.reserve((1024 << scratch) * memory::SLOTS, PAGE);
        let descriptor = descriptor(program, code, [table, samplers], threads);
        let descriptor = m.place(&descriptor.pack()?, PAGE);
        let mut batch = bases(self.generation, m.address(0))?;
        batch.extend(dispatch(
            program,
            &m,
            [constants_at, descriptor, scratch_at],
            &constants,
            groups,
        )?);
        let batch_at = m.place(&batch, PAGE);
        let vm = m.bind().map_err(Error::Memory)?;
        let mut context = self.gpu.context();
        let batch = Batch { address: m.address(batch_at), length: batch.len() as u64 };
        let stats = self.gpu.execute(&vm, &mut context, &batch)?;
        resources.take(&m, &vm, bindings)?;
        Ok(stats)
    }
}

/// The surface state of a buffer.
fn surface(address: u64, bytes: usize) -> RenderSurfaceState {
    // Sizes in bytes less one, in three fields; raw surfaces end with a double word.
    let last = (bytes.next_multiple_of(4) as u32).wrapping_sub(1);
    if bytes == 0 {
        return RenderSurfaceState {
            surface_type: SurfaceType::SurftypeNull,
            ..RenderSurfaceState::default()
        };
    }
    RenderSurfaceState {
        surface_type: SurfaceType::SurftypeBuffer,
        surface_format: RAW,
        width: last & 0x7f,
        height: last >> 7 & 0x3fff,
        depth: last >> 21,
        surface_base_address: address,
        ..RenderSurfaceState::default()
    }
}

/// The constants in memory: those of all threads, then those of each.
fn constants(
    program: &Program,
    bindings: &Bindings,
    groups: [u32; 3],
    addresses: &[u64],
    set: &dyn Fn(u32) -> u64,
) -> Vec<u8> {
    let map = &program.map;
    let word = |c: &Constant| match *c {
        Constant::System(SystemValue::Push { offset }) => bindings.push_word(offset),
        Constant::System(SystemValue::NumWorkgroups { axis }) => groups[usize::from(axis)],
        // The first view and workgroup; programs here are compiled for a number of vertices.
        Constant::System(_) => 0,
        Constant::BufferAddress(surface, high) => {
            let at = addresses.get(usize::from(surface)).copied().unwrap_or(0);
            (at >> if high { 32 } else { 0 }) as u32
        }
        Constant::BufferSize(surface) => match map.surfaces.get(usize::from(surface)) {
            Some(&Surface::Buffer { set, binding, element }) => {
                bindings.buffers.get(&(set, binding, element)).map_or(0, Vec::len) as u32
            }
            _ => program.data.len() as u32,
        },
        Constant::SetAddress(number, high) => (set(number) >> if high { 32 } else { 0 }) as u32,
        Constant::DynamicOffset { .. } => 0,
    };
    let mut bytes: Vec<u8> = map.constants.iter().flat_map(|c| word(c).to_le_bytes()).collect();
    bytes.resize(REGISTER * usize::from(map.shared_registers()), 0);
    if map.thread_constants {
        for thread in 0..program.threads() {
            bytes.extend(thread.to_le_bytes());
            bytes.resize(bytes.len().next_multiple_of(REGISTER), 0);
        }
    }
    // A load of constants has at least one unit of 64 bytes.
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    bytes
}

/// The logarithm of the scratch memory of a thread in KiB.
fn scratch(program: &Program) -> u32 {
    program.stats.scratch.div_ceil(1024).next_power_of_two().trailing_zeros()
}

fn local(bytes: u32) -> SharedLocalMemorySize {
    use SharedLocalMemorySize as Size;
    match bytes {
        0 => Size::Encodes0k,
        1..=1024 => Size::Encodes1k,
        1025..=2048 => Size::Encodes2k,
        2049..=4096 => Size::Encodes4k,
        4097..=8192 => Size::Encodes8k,
        8193..=16384 => Size::Encodes16k,
        16385..=32768 => Size::Encodes32k,
        _ => Size::Encodes64k,
    }
}

fn descriptor(
    program: &Program,
    code: u64,
    [table, samplers]: [u64; 2],
    threads: u32,
) -> InterfaceDescriptorData {
    InterfaceDescriptorData {
        kernel_start_pointer: code,
        binding_table_pointer: table,
        sampler_state_pointer: samplers,
        constant_urb_entry_read_length: u32::from(program.map.thread_constants),
        cross_thread_constant_data_read_length: u32::from(program.map.shared_registers()),
        number_of_threads_in_gpgpu_thread_group: threads,
        shared_local_memory_size: local(program.shared_bytes),
        barrier_enable: program.has_barrier,
        ..InterfaceDescriptorData::default()
    }
}

/// The command that sets all bases but that of scratch memory to one address.
fn bases(generation: Generation, base: u64) -> Result<Vec<u8>, Problem> {
    // The fields have the same names on both generations.
    macro_rules! pack {
        ($command:ident) => {
            $command {
                general_state_base_address_modify_enable: true,
                general_state_base_address: 0,
                surface_state_base_address_modify_enable: true,
                surface_state_base_address: base,
                bindless_surface_state_base_address_modify_enable: true,
                bindless_surface_state_base_address: base,
                bindless_surface_state_size: (1 << 20) - 1,
                dynamic_state_base_address_modify_enable: true,
                dynamic_state_base_address: base,
                instruction_base_address_modify_enable: true,
                instruction_base_address: base,
                ..$command::default()
            }
            .pack()
            .map(|bytes| bytes.to_vec())
        };
    }
    match generation {
        Generation::Gen9 => pack!(StateBaseAddress),
        Generation::Gen12 => pack!(Gen12StateBaseAddress),
    }
}

/// Everything that dispatches the workgroups, to the end of the batch.
fn dispatch(
    program: &Program,
    m: &Layout,
    [constants_at, descriptor, scratch_at]: [u64; 3],
    constants: &[u8],
    groups: [u32; 3],
) -> Result<Vec<u8>, Problem> {
    let mut batch = Vec::new();
    let vfe = MediaVfeState {
        per_thread_scratch_space: scratch(program),
        scratch_space_base_pointer: m.address(scratch_at),
        maximum_number_of_threads: 55,
        number_of_urb_entries: 2,
        urb_entry_allocation_size: 2,
        curbe_allocation_size: constants.len().div_ceil(REGISTER) as u32,
        ..MediaVfeState::default()
    };
    batch.extend(vfe.pack()?);
    let load = MediaCurbeLoad {
        curbe_total_data_length: constants.len() as u32,
        curbe_data_start_address: constants_at as u32,
    };
    if !constants.is_empty() {
        batch.extend(load.pack()?);
    }
    let load = MediaInterfaceDescriptorLoad {
        interface_descriptor_total_length: InterfaceDescriptorData::SIZE_BYTES as u32,
        interface_descriptor_data_start_address: descriptor,
    };
    batch.extend(load.pack()?);
    let invocations: u32 = program.workgroup_size.iter().product();
    let width = u32::from(program.width);
    let last = invocations - (program.threads() - 1) * width;
    let walker = GpgpuWalker {
        thread_width_counter_maximum: program.threads() - 1,
        simd_size: match width {
            8 => SimdSize::Simd8,
            16 => SimdSize::Simd16,
            _ => SimdSize::Simd32,
        },
        thread_group_id_x_dimension: groups[0],
        thread_group_id_y_dimension: groups[1],
        thread_group_id_z_dimension: groups[2],
        right_execution_mask: u32::MAX >> (32 - last),
        bottom_execution_mask: u32::MAX,
        ..GpgpuWalker::default()
    };
    batch.extend(walker.pack()?);
    batch.extend(MiBatchBufferEnd::default().pack()?);
    Ok(batch)
}
