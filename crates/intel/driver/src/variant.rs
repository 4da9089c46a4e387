//! Programs where they can run.

use tepui_intel_compiler::StageInfo;
use tepui_ir::Capture;

use crate::bind::Places;
use crate::compression::ColourOperation;
use crate::pool::Piece;
use crate::space;

/// A program where it can run.
pub struct Variant {
    /// Code.
    pub code: Piece,
    /// Constant data after it, and its surface state.
    pub(crate) data: Option<(u64, Piece)>,
    /// Bytes of constant data.
    pub data_bytes: u32,
    /// Places of what it reads.
    pub places: Places,
    /// Channels of a thread of the widest program.
    pub width: u8,
    /// The program for each number of channels.
    pub programs: Vec<tepui_intel_compiler::Variant>,
    /// Properties of the stage.
    pub stage: StageInfo,
    /// Outputs that transform feedback captures.
    pub captures: Vec<Capture>,
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
    /// The operation on colours that draws with the program are.
    pub operation: Option<ColourOperation>,
    pub(crate) registers: u16,
    /// Statistics of the compiler.
    pub(crate) stats: tepui_intel_compiler::Stats,
    /// Machine code as text, if the pipeline is to show it.
    pub(crate) assembly: Option<String>,
}

/// Statistics: name, description, value.
pub fn statistics(s: &tepui_intel_compiler::Stats) -> [(&'static str, &'static str, u64); 8] {
    [
        ("instructions", "Instructions", s.instructions),
        ("sends", "Messages, without accesses of scratch memory", s.sends),
        ("loops", "Loops", s.loops),
        ("spills", "Stores to scratch memory", s.scratch_stores()),
        ("fills", "Loads from scratch memory", s.scratch_loads()),
        ("registers", "Registers of a thread", s.registers),
        ("scratch", "Bytes of scratch memory of a thread", s.scratch),
        ("bytes", "Bytes of machine code", s.bytes),
    ]
    .map(|(name, about, value)| (name, about, u64::from(value)))
}

impl Variant {
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
