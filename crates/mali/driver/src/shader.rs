//! Shaders: the machine code of a stage where it can run, and what the driver supplies to it.

use std::sync::{Arc, OnceLock, Weak};

use tepui_ir::{Shader as Ir, Stage};
use tepui_mali_compiler::{Binding, FauWord, Layout, Options, Program, Stats};
use tepui_mali_isa::disasm;
use tepui_mali_packets::shader::{ShaderProgram, ShaderRegisterAllocation, ShaderStage};
use tepui_vulkan::backend::{ShaderInfo, SubgroupSize};
use tepui_vulkan::command::MAX_SETS;
use tepui_vulkan::debug::{self, Flags};
use tepui_vulkan::descriptor::{DescriptorType, SetLayout};
use tepui_vulkan::executable::Executable;
use tepui_vulkan::{Error, Result, vk};

use crate::descriptor::tables;
use crate::device::{Device, Piece, packet};
use crate::family::Mali;
use crate::limits::SUBGROUP_SIZE;
use crate::texture::DESCRIPTOR_B;

/// Numbers of the buffers with dynamic offsets of each set.
pub type Dynamic = [u32; MAX_SETS];

/// The descriptors of the bindings of set layouts, for the compiler, and the buffers with dynamic offsets, which are in the driver's
/// table.
pub fn placement(sets: &[Option<Arc<SetLayout<Mali>>>]) -> (Layout, Dynamic) {
    let index = |bytes: u32| bytes / DESCRIPTOR_B as u32;
    let (mut layout, mut dynamic) = (Layout::default(), Dynamic::default());
    let mut first_dynamic = tables::FIRST_DYNAMIC;
    for (number, own) in sets.iter().enumerate().take(MAX_SETS) {
        let Some(own) = own else { continue };
        for (binding, b) in &own.bindings {
            let (set, binding) = (number as u32, *binding);
            layout.bindings.push(match b.ty.is_dynamic() {
                true => Binding {
                    set,
                    binding,
                    table: tables::DRIVER,
                    first: first_dynamic + b.first_dynamic,
                    stride: 1,
                    sampler: 0,
                },
                false => Binding {
                    set,
                    binding,
                    table: tables::FIRST_SET + set as u8,
                    first: index(b.offset[0]),
                    // Planes are elements of their own.
                    stride: index(b.stride[0] / b.planes.max(1)),
                    sampler: u32::from(b.ty == DescriptorType::CombinedImageSampler),
                },
            });
        }
        dynamic[number] = own.dynamic;
        first_dynamic += own.dynamic;
    }
    (layout, dynamic)
}

/// A program where it can run.
pub struct Variant {
    /// Code, and constant data after it.
    _code: Piece,
    descriptor: Piece,
    data: u64,
    /// Words of fast-access uniforms.
    pub fau: Vec<FauWord>,
    /// Buffers with dynamic offsets in the driver's table.
    pub dynamic: Dynamic,
    /// Invocations of a workgroup.
    pub workgroup: [u32; 3],
    /// Bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Statistics of the compiler.
    pub stats: Stats,
    /// Machine code as text, if the pipeline is to show it.
    assembly: Option<String>,
}

/// Alignment of constant data. source: `tepui_mali_compiler::Program::data`
const DATA_ALIGN: usize = 64;

impl Variant {
    /// Puts a compute program where it can run.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(
        device: &Device,
        program: &Program,
        dynamic: Dynamic,
        captures: bool,
    ) -> Result<Variant> {
        let text = || disasm::program(&program.code);
        if debug::flags().contains(Flags::STATS) {
            eprintln!("tepui: {}", program.stats);
        }
        if debug::flags().contains(Flags::SHADERS) {
            eprint!("{}", text());
        }
        // Constant data follows the code, in the same piece.
        let start = program.code.len().next_multiple_of(DATA_ALIGN);
        let mut bytes = program.code.clone();
        if !program.data.is_empty() {
            bytes.resize(start, 0);
            bytes.extend_from_slice(&program.data);
        }
        let code = device.code(&bytes)?;
        let shader = ShaderProgram {
            stage: ShaderStage::Compute,
            register_allocation: match program.stats.is_half() {
                true => ShaderRegisterAllocation::N64PerThread,
                false => ShaderRegisterAllocation::N32PerThread,
            },
            preload: program.preload.into(),
            binary: code.address,
            ..ShaderProgram::default()
        };
        let descriptor = device.descriptors(&shader.pack().map_err(packet)?)?;
        Ok(Variant {
            data: code.address + start as u64,
            _code: code,
            descriptor,
            fau: program.fau.clone(),
            dynamic,
            workgroup: program.workgroup_size,
            shared_bytes: program.shared_bytes,
            stats: program.stats,
            assembly: captures.then(text),
        })
    }

    /// Address of the program descriptor.
    pub fn descriptor(&self) -> u64 {
        self.descriptor.address
    }

    /// Address of the constant data.
    pub fn data_address(&self) -> u64 {
        self.data
    }
}

/// A shader.
pub struct Shader {
    /// Weak, as the device owns shaders too.
    device: Weak<Device>,
    ir: Ir,
    layout: Layout,
    dynamic: Dynamic,
    captures: bool,
    robust: bool,
    only: OnceLock<Arc<Variant>>,
}

pub(crate) fn compile_error(e: &tepui_mali_compiler::Error) -> Error {
    Error::new(vk::Result::ERROR_FEATURE_NOT_PRESENT, format!("the compiler: {e}"))
}

impl Shader {
    /// A shader, whose program is compiled at once.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn new(device: &Arc<Device>, info: ShaderInfo<'_, Mali>) -> Result<Shader> {
        let stage = info.ir.info.stage;
        if stage != Stage::Compute {
            return Err(Error::unsupported(format!("{stage} shaders on Mali")));
        }
        if let SubgroupSize::Required(size) = info.subgroup_size
            && size != SUBGROUP_SIZE
        {
            return Err(Error::unsupported(format!(
                "subgroups of {size} invocations: they have {SUBGROUP_SIZE}"
            )));
        }
        let (layout, dynamic) = placement(info.sets);
        let shader = Shader {
            device: Arc::downgrade(device),
            ir: info.ir,
            layout,
            dynamic,
            captures: info.captures,
            robust: info.robust,
            only: OnceLock::new(),
        };
        shader.only()?;
        Ok(shader)
    }

    /// The program.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn only(&self) -> Result<&Arc<Variant>> {
        if let Some(v) = self.only.get() {
            return Ok(v);
        }
        let gone = || Error::new(vk::Result::ERROR_DEVICE_LOST, "the device is gone");
        let device = self.device.upgrade().ok_or_else(gone)?;
        let options =
            Options { layout: Some(&self.layout), robust: self.robust, ..Options::default() };
        let program = tepui_mali_compiler::compile(&mut self.ir.clone(), &options)
            .map_err(|e| compile_error(&e))?;
        let v = Variant::new(&device, &program, self.dynamic, self.captures)?;
        Ok(self.only.get_or_init(|| Arc::new(v)))
    }

    /// The programs that there are so far.
    pub fn executables(&self) -> Vec<Executable> {
        let one = |v: &Arc<Variant>| Executable {
            stage: vk::ShaderStageFlags::COMPUTE,
            name: Stage::Compute.name().to_owned(),
            description: "The compute shader".to_owned(),
            subgroup_size: SUBGROUP_SIZE,
            statistics: [
                ("instructions", "Instructions", v.stats.instructions),
                ("load_store", "Accesses of memory", v.stats.load_store),
                ("loops", "Loops", v.stats.loops),
                ("spills", "Stores of spilled values", v.stats.spills),
                ("fills", "Loads of spilled values", v.stats.fills),
                ("registers", "Registers of a thread", v.stats.registers),
                ("scratch", "Bytes of scratch memory of a thread", v.stats.scratch),
                ("bytes", "Bytes of machine code", v.stats.bytes),
            ]
            .map(|(name, about, value)| (name, about, u64::from(value)))
            .to_vec(),
            assembly: v.assembly.clone(),
        };
        self.only.get().iter().map(|v| one(v)).collect()
    }
}
