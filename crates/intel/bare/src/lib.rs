//! Runs compiled shaders on the model of Intel's GPUs, without a driver.
//!
//! [`Machine::run`] lays out one block of memory — code, states, constants, scratch memory, buffers — and executes the batch
//! that a driver would submit: base addresses, thread dispatch, constants, interface descriptor, walker. What a program
//! reads where is its [`BindMap`]'s. [`draw`] does the same for a draw.
//!
//! [`BindMap`]: tepui_intel_compiler::BindMap

pub mod draw;
mod memory;

use std::collections::BTreeMap;

use memory::Layout;
use tepui_intel_chips::{Chip, Generation};
use tepui_intel_compiler::{Constant, Program, StageInfo, Surface};
use tepui_intel_model::{Batch, Gpu, JobFault, JobStats, Options};
use tepui_intel_packets::Problem;
use tepui_intel_packets::gen12::StateBaseAddress as Gen12StateBaseAddress;
use tepui_intel_packets::media::{
    GpgpuWalker, InterfaceDescriptorData, MediaCurbeLoad, MediaInterfaceDescriptorLoad,
    MediaVfeState, SharedLocalMemorySize, SimdSize,
};
use tepui_intel_packets::mi::MiBatchBufferEnd;
use tepui_intel_packets::state::StateBaseAddress;
use tepui_intel_packets::surface::{RenderSurfaceState, SurfaceType};

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
}

/// The bindings of a shader.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// Contents of buffers by set, binding and array element.
    pub buffers: BTreeMap<(u32, u32, u32), Vec<u8>>,
    /// Push constants.
    pub push: Vec<u8>,
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
        bound(program)?;
        let mut m = Layout::new();
        // Binding tables are within 64 KiB of the surface state base.
        let table = m.reserve(4 * program.map.surfaces.len() as u64, PAGE);
        let code = m.place(&program.code, PAGE);
        let data = m.place(&program.data, PAGE);
        let buffers: Vec<(_, u64)> =
            bindings.buffers.iter().map(|(&key, bytes)| (key, m.place(bytes, PAGE))).collect();
        let address = |s: &Surface| match *s {
            Surface::Data => (data, program.data.len()),
            Surface::Target(_) | Surface::NoTarget => (0, 0),
            Surface::Buffer { set, binding, element } => {
                let key = (set, binding, element);
                let at = buffers.iter().find(|b| b.0 == key).map_or(0, |b| b.1);
                (at, bindings.buffers.get(&key).map_or(0, Vec::len))
            }
            Surface::Image { .. } => (0, 0),
        };
        let places: Vec<(u64, usize)> = program.map.surfaces.iter().map(address).collect();
        let mut states = Vec::new();
        for &(at, bytes) in &places {
            states.extend(surface(m.address(at), bytes).pack()?);
        }
        let states = m.place(&states, PAGE);
        let addresses: Vec<u64> = places.iter().map(|&(at, _)| m.address(at)).collect();
        let constants = constants(program, bindings, groups, &addresses);
        let constants_at = m.place(&constants, PAGE);
        let size = RenderSurfaceState::SIZE_BYTES as u64;
        let entry = |k| ((states + k * size) as u32).to_le_bytes();
        m.fill(table, &(0..places.len() as u64).flat_map(entry).collect::<Vec<u8>>());
        let scratch = scratch(program);
        let scratch_at = m.reserve((1024 << scratch) * memory::SLOTS, PAGE);
        let descriptor = descriptor(program, code, table, threads);
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
        for (key, at) in buffers {
            if let Some(bytes) = bindings.buffers.get_mut(&key) {
                vm.read(m.address(at), bytes).map_err(|e| Error::Memory(e.to_string()))?;
            }
        }
        Ok(stats)
    }
}

/// Refuses programs that read what [`Bindings`] do not have.
fn bound(program: &Program) -> Result<(), Error> {
    let map = &program.map;
    let set = |c: &Constant| matches!(c, Constant::SetAddress(..) | Constant::DynamicOffset { .. });
    if map.constants.iter().any(set) {
        return Err(Error::Unbound("descriptor sets in memory"));
    }
    if map.surfaces.iter().any(|s| matches!(s, Surface::Image { .. } | Surface::Target(_))) {
        return Err(Error::Unbound("images"));
    }
    Ok(())
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
) -> Vec<u8> {
    let map = &program.map;
    let word = |c: &Constant| match *c {
        Constant::Push(offset) => bindings.push_word(offset),
        Constant::NumWorkgroups(k) => groups[usize::from(k)],
        Constant::BaseWorkgroup(_) | Constant::ViewIndex => 0,
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
        Constant::SetAddress(..) | Constant::DynamicOffset { .. } => 0,
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

fn descriptor(program: &Program, code: u64, table: u64, threads: u32) -> InterfaceDescriptorData {
    InterfaceDescriptorData {
        kernel_start_pointer: code,
        binding_table_pointer: table,
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
