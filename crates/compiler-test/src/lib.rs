//! Tests that the shader compilers of all GPUs share.
//!
//! A family's tests implement [`Compiler`] for its compiler and [`Executor`] for what runs its programs
//! (its model, without a driver). [`differential::check`] then compares random programs: the
//! interpreter before the passes, the interpreter after each lowering pass, and the executor leave
//! the same memory. [`filetests::run`] compares text: shaders in IR with what they must become.

pub mod differential;
pub mod filetests;
pub mod reference;

pub use differential::{Tally, seeds};

use tepui_ir::Shader;
use tepui_ir::interp::Memory;

/// Reason why a compiler gives no program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The shader needs what is not compiled, which the text names.
    Unsupported(String),
    /// An error of the compiler itself.
    Bug(String),
}

/// Counters of a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Loads of spilled values.
    pub fills: u32,
    /// Loops.
    pub loops: u32,
}

/// A compiler with its options.
pub trait Compiler {
    /// Machine code and what is needed to run it.
    type Program;

    /// Lanes of the subgroups of its programs.
    fn subgroup(&self) -> usize {
        tepui_ir::interp::SUBGROUP
    }

    /// Runs the passes that [`Compiler::compile`] needs and no others; `look` sees the shader after each.
    fn lower(&self, s: &mut Shader, look: &mut dyn FnMut(&'static str, &Shader));

    /// Compiles a lowered shader.
    ///
    /// # Errors
    /// When there is no program for it.
    fn compile(&self, s: &Shader) -> Result<Self::Program, Refusal>;

    /// The program as text, for messages.
    fn listing(&self, program: &Self::Program) -> String;

    /// Counters of a program.
    fn counts(&self, program: &Self::Program) -> Counts;
}

/// A GPU that runs programs.
pub trait Executor {
    /// The programs of its compiler.
    type Program;

    /// Runs one workgroup on the buffers of `memory` and leaves their contents there.
    ///
    /// # Errors
    /// When the program does not run to its end, or does what a program must not do.
    fn execute(&mut self, program: &Self::Program, memory: &mut Memory) -> Result<(), String>;
}
