//! The driver's own programs, which are compiled when they are needed first.

use std::sync::Arc;

use tepui_intel_compiler::{Options, replicated};
use tepui_ir::Shader;
use tepui_vulkan::Result;
use tepui_vulkan_kit::builder::Words;
use tepui_vulkan_meta::{Conventions, Program, view};

use crate::bind::Sets;
use crate::compression::ColourOperation;
use crate::descriptor;
use crate::device::Device;
use crate::generate::Item;
use crate::shader::compile_error;
use crate::states::Sampler;
use crate::variant::Variant;

/// Conventions of the programs: words are push constants.
const CONVENTIONS: Conventions = Conventions { threads: 64, words: Words::Push };

impl Device {
    /// A program of the driver's own.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn meta(&self, p: Program) -> Result<Arc<Variant>> {
        self.meta.programs.get_or(&p, || self.own_program(p.build(CONVENTIONS)))
    }

    /// The program that writes commands of indirect draws.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn generator(&self, item: Item) -> Result<Arc<Variant>> {
        self.meta.generators.get_or(&item, || self.own_program(item.program()))
    }

    /// The fragment program of an operation on colours.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn operation(&self, operation: ColourOperation) -> Result<Arc<Variant>> {
        self.meta.operations.get_or(&operation, || {
            let program = replicated::fill_with_ones(self.generation());
            let program = program.map_err(|e| compile_error(&e))?;
            let mut v = Variant::new(self, &program, Sets::Meta, false)?;
            v.operation = Some(operation);
            Ok(Arc::new(v))
        })
    }

    fn own_program(&self, mut ir: Shader) -> Result<Arc<Variant>> {
        let options = Options::default();
        let program = tepui_intel_compiler::compile(&mut ir, self.generation(), &options)
            .map_err(|e| compile_error(&e))?;
        Ok(Arc::new(Variant::new(self, &program, Sets::Meta, false)?))
    }

    /// A sampler of the driver's own programs, which clamps to the edges.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn meta_sampler(&self, linear: bool) -> Result<&Sampler> {
        let slot = &self.meta.samplers[usize::from(linear)];
        if let Some(sampler) = slot.get() {
            return Ok(sampler);
        }
        let sampler = descriptor::sampler(self, &view::sampler(linear))?;
        Ok(slot.get_or_init(|| sampler))
    }
}
