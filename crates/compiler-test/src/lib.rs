//! Tests that the shader compilers of all GPUs share.
//!
//! A family's tests implement [`Compiler`] for its compiler and [`Executor`] for what runs its programs (its model, without a driver).
//! These are then a few lines each:
//!
//! - [`differential::check`]: random programs; the interpreter before the passes, the interpreter after each lowering pass, and the
//!   executor leave the same memory
//! - [`programs::check`]: programs that compilers have got wrong, and what random ones lack
//! - [`images::check`]: random image instructions
//! - `corpus::run`: third-party compute shaders, with the feature `sources`
//! - [`draws`]: pixels of a triangle, by the interpreter of [`mod@reference`]; `sources`: its shaders in GLSL and WGSL
//! - [`filetests::run`]: shaders in IR with the text that they must become

#[cfg(feature = "sources")]
pub mod corpus;
pub mod differential;
pub mod draws;
pub mod filetests;
pub mod images;
pub mod programs;
pub mod reference;
#[cfg(feature = "sources")]
pub mod sources;

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

/// Reason why an executor leaves no memory to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It does not support the program or its resources, as the text says.
    Unsupported(String),
    /// The program does not run to its end, or does what a program must not do.
    Wrong(String),
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

    /// Runs all passes before [`Compiler::compile`], as drivers do.
    fn prepare(&self, s: &mut Shader);

    /// Compiles a shader after [`Compiler::lower`] or [`Compiler::prepare`].
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

    /// Runs workgroups on the buffers, images, samplers and push constants of `memory` and leaves their contents there. `shader` is
    /// the one before its passes, whose resources say what the images are.
    ///
    /// # Errors
    /// When it does not support them, the program does not run to its end, or it does what a program must not do.
    fn execute(
        &mut self,
        program: &Self::Program,
        shader: &Shader,
        memory: &mut Memory,
        groups: [u32; 3],
    ) -> Result<(), Failure>;
}

/// The text that panics of `catch_unwind` carry.
#[cfg(feature = "sources")]
fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.and_then(|t| t.lines().next()).unwrap_or_default().to_owned()
}
