//! Shaders: the machine code of a stage where it can run, and what the driver supplies to it.

use std::sync::Arc;

use tepui_mali_packets::shader::{ShaderProgram, ShaderRegisterAllocation, ShaderStage};
use tepui_vulkan::backend::ShaderInfo;
use tepui_vulkan::executable::Executable;
use tepui_vulkan::{Error, Result};

use crate::device::{Device, Piece, packet};
use crate::family::Mali;
use crate::interface::FauWord;

/// Machine code of a compute program, and its properties.
#[derive(Clone, Debug)]
pub struct Code {
    /// The machine code.
    pub bytes: Vec<u8>,
    /// Constant data.
    pub data: Vec<u8>,
    /// Words of fast-access uniforms.
    pub fau: Vec<FauWord>,
    /// Mask of the registers from r48 on that are set at the start.
    pub preload: u16,
    /// It takes more than 32 registers.
    pub has_64_registers: bool,
    /// Invocations of a workgroup.
    pub workgroup: [u32; 3],
    /// Bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Bytes of memory of a thread.
    pub thread_bytes: u32,
}

/// A program where it can run.
pub struct Variant {
    /// Code, and constant data after it.
    _code: Piece,
    descriptor: Piece,
    data: u64,
    /// Words of fast-access uniforms.
    pub fau: Vec<FauWord>,
    /// It takes more than 32 registers.
    pub has_64_registers: bool,
    /// Invocations of a workgroup.
    pub workgroup: [u32; 3],
    /// Bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Bytes of memory of a thread.
    pub thread_bytes: u32,
}

impl Variant {
    /// Puts a compute program where it can run.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(device: &Device, code: &Code) -> Result<Variant> {
        // Constant data follows the code, in the same piece.
        let start = code.bytes.len().next_multiple_of(64);
        let mut bytes = code.bytes.clone();
        if !code.data.is_empty() {
            bytes.resize(start, 0);
            bytes.extend_from_slice(&code.data);
        }
        let piece = device.code(&bytes)?;
        let program = ShaderProgram {
            stage: ShaderStage::Compute,
            register_allocation: match code.has_64_registers {
                true => ShaderRegisterAllocation::N64PerThread,
                false => ShaderRegisterAllocation::N32PerThread,
            },
            preload: code.preload.into(),
            binary: piece.address,
            ..ShaderProgram::default()
        };
        let descriptor = device.descriptors(&program.pack().map_err(packet)?)?;
        Ok(Variant {
            data: piece.address + start as u64,
            _code: piece,
            descriptor,
            fau: code.fau.clone(),
            has_64_registers: code.has_64_registers,
            workgroup: code.workgroup,
            shared_bytes: code.shared_bytes,
            thread_bytes: code.thread_bytes,
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
    only: Arc<Variant>,
}

impl Shader {
    /// A shader, whose program is compiled at once.
    ///
    /// # Errors
    /// Always: there is no compiler of Valhall's machine code yet.
    pub fn new(_device: &Device, info: ShaderInfo<'_, Mali>) -> Result<Shader> {
        Err(Error::unsupported(format!("{} shaders on Mali", info.ir.info.stage)))
    }

    /// The program.
    pub fn only(&self) -> &Arc<Variant> {
        &self.only
    }

    /// The programs that there are so far.
    pub fn executables(&self) -> Vec<Executable> {
        Vec::new()
    }
}
