//! Shaders: the machine code of a stage, and the places of what it reads.

use std::sync::{Arc, OnceLock, Weak};

use tepui_intel_compiler::{Options, Program};
use tepui_intel_isa::disasm;
use tepui_ir::{Shader as Ir, Stage};
use tepui_vulkan::debug::{self, Flags};
use tepui_vulkan::executable::Executable;
use tepui_vulkan::{Error, Result, vk};

use crate::bind::{Places, Sets};
use crate::descriptor::buffer_state;
use crate::device::Device;
use crate::pool::Piece;
use crate::space;

/// A program where it can run.
pub struct Variant {
    /// Code.
    pub code: Piece,
    /// Constant data after it, and its surface state.
    data: Option<(u64, Piece)>,
    /// Bytes of constant data.
    pub data_bytes: u32,
    /// Places of what it reads.
    pub places: Places,
    /// Channels of a thread.
    pub width: u8,
    /// Whether a register of constants of each thread follows those of all.
    pub thread_constants: bool,
    /// Bytes of scratch memory of a thread.
    pub scratch: u32,
    /// Bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Whether threads wait for each other.
    pub has_barrier: bool,
    /// Invocations of a workgroup.
    pub workgroup: [u32; 3],
    registers: u16,
    /// Statistics of the compiler.
    stats: tepui_intel_compiler::Stats,
    /// Machine code as text, if the pipeline is to show it.
    assembly: Option<String>,
}

impl Variant {
    /// Puts a program where it can run.
    ///
    /// # Errors
    /// When there is no memory, or it reads what the driver does not fill in.
    pub fn new(device: &Device, p: &Program, sets: Sets<'_>, captures: bool) -> Result<Variant> {
        let generation = device.generation();
        let text = || disasm::program(generation, &p.code);
        if debug::flags().contains(Flags::STATS) {
            eprintln!("tepui: {:?}", p.stats);
        }
        if debug::flags().contains(Flags::SHADERS) {
            eprint!("{}", text());
        }
        // Constant data follows the code, in the same piece.
        let start = p.code.len().next_multiple_of(64);
        let mut bytes = p.code.clone();
        if !p.data.is_empty() {
            bytes.resize(start, 0);
            bytes.extend_from_slice(&p.data);
        }
        let code = device.code(&bytes)?;
        let data = match p.data.is_empty() {
            true => None,
            false => {
                let at = code.address + start as u64;
                let state = buffer_state(generation, at, p.data.len() as u32, true);
                Some((at, device.bindless(&state)?))
            }
        };
        Ok(Variant {
            code,
            data,
            data_bytes: p.data.len() as u32,
            places: Places::new(&p.map, sets)?,
            width: p.width,
            thread_constants: p.map.thread_constants,
            scratch: p.stats.scratch,
            shared_bytes: p.shared_bytes,
            has_barrier: p.has_barrier,
            workgroup: p.workgroup_size,
            registers: p.map.shared_registers(),
            stats: p.stats,
            assembly: captures.then(text),
        })
    }

    /// Address of the constant data.
    pub fn data_address(&self) -> u64 {
        self.data.as_ref().map_or(0, |d| d.0)
    }

    /// Address of the surface state of the constant data.
    pub fn data_state(&self) -> u64 {
        self.data.as_ref().map_or(space::BINDLESS, |d| d.1.address)
    }

    /// Threads of a workgroup.
    pub fn threads(&self) -> u32 {
        let invocations: u32 = self.workgroup.iter().product();
        invocations.div_ceil(u32::from(self.width))
    }

    /// Registers of constants that all threads share.
    pub fn shared_registers(&self) -> u32 {
        u32::from(self.registers)
    }
}

/// A shader.
pub struct Shader {
    stage: Stage,
    compute: OnceLock<Arc<Variant>>,
}

pub(crate) fn compile_error(e: &tepui_intel_compiler::Error) -> Error {
    Error::new(vk::Result::ERROR_FEATURE_NOT_PRESENT, format!("the compiler: {e}"))
}

impl Shader {
    /// Compiles a shader.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn new(
        device: &Weak<Device>,
        mut ir: Ir,
        sets: Sets<'_>,
        captures: bool,
    ) -> Result<Shader> {
        let gone = || Error::new(vk::Result::ERROR_DEVICE_LOST, "the device is gone");
        let device = device.upgrade().ok_or_else(gone)?;
        let stage = ir.info.stage;
        if stage != Stage::Compute {
            return Err(Error::unsupported(format!("{stage} shaders on Intel's GPUs")));
        }
        let program =
            tepui_intel_compiler::compile(&mut ir, device.generation(), &Options::default())
                .map_err(|e| compile_error(&e))?;
        let variant = Variant::new(&device, &program, sets, captures)?;
        Ok(Shader { stage, compute: OnceLock::from(Arc::new(variant)) })
    }

    /// The program of a compute shader.
    ///
    /// # Errors
    /// When the shader is of another stage.
    pub fn compute(&self) -> Result<&Arc<Variant>> {
        let wrong = || Error::unsupported(format!("dispatches of {} shaders", self.stage));
        self.compute.get().ok_or_else(wrong)
    }

    /// The programs that there are so far.
    pub fn executables(&self) -> Vec<Executable> {
        let one = |v: &Arc<Variant>| Executable {
            stage: vk::ShaderStageFlags::COMPUTE,
            name: self.stage.name().to_owned(),
            description: format!("The {} shader, of {} channels", self.stage.name(), v.width),
            subgroup_size: u32::from(v.width),
            statistics: [
                ("instructions", "Instructions", v.stats.instructions),
                ("sends", "Messages", v.stats.sends),
                ("loops", "Loops", v.stats.loops),
                ("spills", "Stores of spilled registers", v.stats.spills),
                ("fills", "Loads of spilled registers", v.stats.fills),
                ("registers", "Registers of a thread", v.stats.registers),
                ("scratch", "Bytes of scratch memory of a thread", v.stats.scratch),
                ("bytes", "Bytes of machine code", v.stats.bytes),
            ]
            .map(|(name, about, value)| (name, about, u64::from(value)))
            .to_vec(),
            assembly: v.assembly.clone(),
        };
        self.compute.get().map(one).into_iter().collect()
    }
}
