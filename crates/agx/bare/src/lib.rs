//! Runs AGX machine code on the model without any driver.
//!
//! [`Machine`] is a GPU with an address space of its own. [`Machine::buffer`] binds memory,
//! [`Machine::dispatch`] writes USC words and a compute control stream around a program, as a driver
//! would, and submits it. Demonstrations, benchmarks and instruction tests use it. What runs compiled shaders, with images and
//! in pipelines, is in modules of the feature `compiler`, which is on by default.
//!
//! ```
//! use tepui_agx_bare::{Dispatch, Machine, address_halves};
//!
//! // Each thread stores its number; u0_u1 is the buffer's address.
//! let code = tepui_agx_isa::asm::assemble(
//!     "get_sr r0, sr80
//!      device_store 0, i32, x, r0, u0_u1, r0, unsigned, 0
//!      stop",
//! )
//! .unwrap();
//! let mut gpu = Machine::new(Default::default())?;
//! let out = gpu.buffer(4 * 32)?;
//! let uniforms = address_halves(out.address());
//! let dispatch = Dispatch { code: &code, uniforms: &uniforms, global: [32, 1, 1], local: [32, 1, 1], ..Default::default() };
//! gpu.dispatch(&dispatch)?;
//! assert_eq!(out.read_words()?[..4], [0, 1, 2, 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "compiler")]
pub mod bind;
#[cfg(feature = "compiler")]
pub mod differential;
#[cfg(feature = "compiler")]
pub mod draw;
#[cfg(feature = "compiler")]
pub mod feedback;
#[cfg(feature = "compiler")]
pub mod image;
#[cfg(feature = "compiler")]
pub mod pair;
#[cfg(feature = "compiler")]
mod scratch;
#[cfg(feature = "compiler")]
pub mod shader;

use std::sync::Arc;

use tepui_agx_chips::VA_BITS;
use tepui_agx_model::{ComputeJob, ComputeRegisters, Gpu, Helper, JobFault, JobStats, Options};
use tepui_agx_packets::{cdm, usc};
use tepui_softgpu::{AddressSpace, BindError, Memory, Protection};

/// Pages of the GPU, and so the granularity of buffers.
const PAGE: u64 = tepui_agx_chips::PAGE_BYTES;
/// Base of 32-bit USC addresses; code and USC words are from here on.
const USC_BASE: u64 = 0x11_0000_0000;
/// Start of the addresses of other buffers.
const DATA_BASE: u64 = 0x15_0000_0000;

pub use tepui_agx_packets::sampler::FIRST_OF_HEAP;
pub use tepui_softgpu::Fault;

/// Errors of a machine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The host gives no memory.
    #[error("the host refused: {0}")]
    Host(#[from] std::io::Error),
    /// Memory cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The machine's own structures cannot be read or written.
    #[error(transparent)]
    Memory(#[from] Fault),
    /// A value does not fit into its packet.
    #[error(transparent)]
    Packet(#[from] tepui_packets::Problem),
    /// The hardware cannot have this image.
    #[error(transparent)]
    Layout(#[from] tepui_agx_layout::LayoutError),
    /// Pixels cannot be moved.
    #[error(transparent)]
    Move(#[from] tepui_agx_layout::MoveError),
    /// The hardware does not read the format without a swizzle.
    #[error("the texture unit has no format {0}")]
    Format(tepui_format::Format),
    /// The hardware has no storage images of this format.
    #[cfg(feature = "compiler")]
    #[error("there are no images of {0}")]
    Texels(tepui_ir::ImageFormat),
    /// A format without texels of its own.
    #[cfg(feature = "compiler")]
    #[error(transparent)]
    Codec(#[from] tepui_ir_gen::texels::NotTexels),
    /// The level or layer does not exist.
    #[error("the image has no level {0}")]
    NoLevel(u32),
    /// The program that hands out scratch memory does not assemble.
    #[error("the scratch helper: {0}")]
    Helper(tepui_agx_isa::asm::AsmError),
    /// A draw without a vertex or a fragment program.
    #[error("a draw needs a vertex and a fragment program")]
    MissingStage,
    /// Stages whose programs name different sampler heaps.
    #[error("the stages have different sampler heaps")]
    SamplerHeaps,
    /// Programs of stages that do not fit together.
    #[cfg(feature = "compiler")]
    #[error(transparent)]
    Link(#[from] tepui_agx_compiler::Error),
    /// The program that clears or stores the tile does not assemble.
    #[error("a program of the tile: {}", .0.first().map_or_else(String::new, ToString::to_string))]
    TileProgram(Vec<tepui_agx_isa::asm::AsmError>),
    /// The job faulted.
    #[error("{0}")]
    Job(#[from] JobFault),
}

/// Memory that the GPU sees.
#[derive(Clone)]
pub struct Buffer {
    address: u64,
    size: usize,
    vm: Arc<AddressSpace>,
}

impl Buffer {
    /// GPU address of the first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Writes bytes from the start on.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Fault> {
        self.vm.write(self.address, bytes)
    }

    /// Writes words from the start on.
    pub fn write_words(&self, words: &[u32]) -> Result<(), Fault> {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.write(&bytes)
    }

    /// All bytes.
    pub fn read(&self) -> Result<Vec<u8>, Fault> {
        let mut bytes = vec![0; self.size];
        self.vm.read(self.address, &mut bytes)?;
        Ok(bytes)
    }

    /// All words.
    pub fn read_words(&self) -> Result<Vec<u32>, Fault> {
        let bytes = self.read()?;
        Ok(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }
}

/// The program of a dispatch.
#[derive(Clone, Debug, Default)]
pub struct Dispatch<'a> {
    /// Machine code; it must end with `stop`.
    pub code: &'a [u8],
    /// Machine code that runs once before it.
    pub preshader: Option<&'a [u8]>,
    /// Uniform registers from `u0` on, in halves.
    pub uniforms: &'a [u16],
    /// Threads in each direction.
    pub global: [u32; 3],
    /// Threads of a workgroup in each direction.
    pub local: [u32; 3],
    /// Local memory of a workgroup in bytes.
    pub local_bytes: u32,
    /// Texture state registers from `ts0` on.
    pub textures: &'a [[u8; 24]],
    /// Sampler state registers from `ss0` on.
    pub samplers: &'a [[u8; 8]],
    /// The sampler heap; its first sampler has the number [`FIRST_OF_HEAP`].
    pub heap: &'a [[u8; 8]],
}

/// A GPU and an address space.
pub struct Machine {
    gpu: Gpu,
    vm: Arc<AddressSpace>,
    usc: Region,
    data: Region,
    /// Hands out scratch memory.
    helper: Helper,
}

/// A part of the address space that is handed out from its start on.
struct Region {
    next: u64,
}

impl Region {
    fn take(&mut self, vm: &AddressSpace, size: usize) -> Result<u64, Error> {
        let length = (size as u64).max(1).next_multiple_of(PAGE);
        let memory = Arc::new(Memory::new(length as usize)?);
        let address = self.next;
        vm.bind(address, memory, 0, length, Protection::READ | Protection::WRITE)?;
        // A page without memory catches what runs past the end.
        self.next += length + PAGE;
        Ok(address)
    }
}

/// 64-bit addresses as four uniform halves.
pub fn address_halves(address: u64) -> [u16; 4] {
    std::array::from_fn(|i| (address >> (16 * i)) as u16)
}

impl Machine {
    /// A machine with nothing in memory.
    pub fn new(options: Options) -> Result<Machine, Error> {
        Ok(Machine {
            gpu: Gpu::new(options),
            vm: Arc::new(AddressSpace::new(PAGE.trailing_zeros(), VA_BITS)),
            usc: Region { next: USC_BASE },
            data: Region { next: DATA_BASE },
            helper: Helper::default(),
        })
    }

    /// The address space.
    pub fn vm(&self) -> &AddressSpace {
        &self.vm
    }

    /// Binds zeroed memory, readable and writable.
    pub fn buffer(&mut self, size: usize) -> Result<Buffer, Error> {
        let address = self.data.take(&self.vm, size)?;
        Ok(Buffer { address, size, vm: self.vm.clone() })
    }

    /// Puts machine code where programs can run; returns its USC address.
    fn code(&mut self, code: &[u8]) -> Result<u32, Error> {
        let address = self.usc.take(&self.vm, code.len())?;
        self.vm.write(address, code)?;
        Ok((address - USC_BASE) as u32)
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// USC words that load uniform registers from a copy in memory.
    fn uniform_words(&mut self, halves: &[u16]) -> Result<Vec<u8>, Error> {
        let mut words = Vec::new();
        let uniforms = self.buffer(halves.len() * 2)?;
        let bytes: Vec<u8> = halves.iter().flat_map(|h| h.to_le_bytes()).collect();
        uniforms.write(&bytes)?;
        for (i, part) in halves.chunks(64).enumerate() {
            let (start, count) = (64 * i as u32, part.len() as u32);
            let buffer = uniforms.address() + 128 * i as u64;
            if start < 256 {
                let word = usc::Uniform { start_halfs: start, size_halfs: count, buffer };
                words.extend(word.pack()?);
            } else {
                let word = usc::UniformHigh { start_halfs: start - 256, size_halfs: count, buffer };
                words.extend(word.pack()?);
            }
        }
        Ok(words)
    }

    /// USC words that load texture and sampler state registers from a copy in memory.
    fn state_words(
        &mut self,
        textures: &[[u8; 24]],
        samplers: &[[u8; 8]],
    ) -> Result<Vec<u8>, Error> {
        let mut words = Vec::new();
        if !textures.is_empty() {
            let table = self.buffer(24 * textures.len())?;
            table.write(textures.as_flattened())?;
            for (i, part) in textures.chunks(16).enumerate() {
                let (start, count) = (16 * i as u32, part.len() as u32);
                let buffer = table.address() + 24 * u64::from(start);
                words.extend(usc::Texture { start, count, buffer }.pack()?);
            }
        }
        if !samplers.is_empty() {
            let table = self.buffer(8 * samplers.len())?;
            table.write(samplers.as_flattened())?;
            let count = samplers.len() as u32;
            words.extend(usc::Sampler { start: 0, count, buffer: table.address() }.pack()?);
        }
        Ok(words)
    }

    /// Prepares a dispatch; [`Machine::submit`] runs it, any number of times.
    pub fn prepare(&mut self, d: &Dispatch<'_>) -> Result<ComputeJob, Error> {
        let launch = self.launch(d)?;
        let heap = self.buffer(8 * d.heap.len())?;
        heap.write(d.heap.as_flattened())?;
        let mut job = self.prepare_stream(&[launch])?;
        if !d.heap.is_empty() {
            job.registers.sampler_heap = heap.address();
            job.registers.sampler_count = d.heap.len() as u32;
        }
        Ok(job)
    }

    /// Prepares a control stream from its blocks, to which the end is added. The job has no sampler heap.
    pub fn prepare_stream(&mut self, blocks: &[Vec<u8>]) -> Result<ComputeJob, Error> {
        let mut stream = blocks.concat();
        stream.extend(cdm::StreamTerminate {}.pack()?);
        let buffer = self.buffer(stream.len())?;
        buffer.write(&stream)?;
        Ok(ComputeJob {
            usc_exec_base: USC_BASE,
            registers: ComputeRegisters {
                ctrl_stream_base: buffer.address(),
                ctrl_stream_end: buffer.address() + stream.len() as u64,
                sampler_heap: 0,
                sampler_count: 0,
                helper: self.helper,
            },
        })
    }

    /// The launch block of a dispatch, for [`Machine::prepare_stream`].
    pub fn launch(&mut self, d: &Dispatch<'_>) -> Result<Vec<u8>, Error> {
        let mut words = self.uniform_words(d.uniforms)?;
        words.extend(self.state_words(d.textures, d.samplers)?);
        let shared = usc::Shared {
            uses_shared_memory: d.local_bytes > 0,
            layout: usc::SharedLayout::VertexCompute,
            sample_count: 1,
            sample_stride_in_8_bytes: 0,
            bytes_per_threadgroup: if d.local_bytes > 0 {
                d.local_bytes.next_multiple_of(256)
            } else {
                65536
            },
        };
        words.extend(shared.pack()?);
        let code = u64::from(self.code(d.code)?);
        words.extend(usc::Shader { code, ..usc::Shader::default() }.pack()?);
        words.extend(usc::Registers { register_count: 256, ..usc::Registers::default() }.pack()?);
        match d.preshader {
            Some(code) => {
                let code = u64::from(self.code(code)?);
                words.extend(usc::Preshader { code }.pack()?);
            }
            None => words.extend(usc::NoPreshader {}.pack()?),
        }
        let pipeline = u64::from(self.code(&words)?);

        let mut stream = Vec::new();
        let launch = cdm::LaunchWord0 {
            uniform_register_count: 512,
            texture_state_register_count: (d.textures.len() as u32).next_multiple_of(8),
            sampler_state_register_count: usc::SamplerStates::Compact16,
            ..cdm::LaunchWord0::default()
        };
        stream.extend(launch.pack()?);
        stream.extend(cdm::LaunchWord1 { pipeline }.pack()?);
        let [x, y, z] = d.global;
        stream.extend(cdm::GlobalSize { x, y, z }.pack()?);
        let [x, y, z] = d.local;
        stream.extend(cdm::LocalSize { x, y, z }.pack()?);
        Ok(stream)
    }

    /// Runs a prepared job.
    pub fn submit(&self, job: &ComputeJob) -> Result<JobStats, JobFault> {
        self.gpu.compute(&self.vm, job)
    }

    /// Prepares and runs a dispatch.
    pub fn dispatch(&mut self, d: &Dispatch<'_>) -> Result<JobStats, Error> {
        let job = self.prepare(d)?;
        Ok(self.submit(&job)?)
    }
}
