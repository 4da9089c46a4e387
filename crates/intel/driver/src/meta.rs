//! The driver's own programs, of [`tepui_vulkan_meta`].

use std::sync::Arc;

use tepui_intel_compiler::Options;
use tepui_vulkan::Result;
use tepui_vulkan_kit::Variants;
use tepui_vulkan_kit::builder::Words;
use tepui_vulkan_meta::{Conventions, Program};

use crate::device::Device;
use crate::shader::{Variant, compile_error};

/// Programs that are compiled so far.
pub type Meta = Variants<Program, Arc<Variant>>;

/// Conventions of the programs: words are push constants.
const CONVENTIONS: Conventions = Conventions { threads: 64, words: Words::Push };

impl Device {
    /// A program of the driver's own.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn meta(&self, p: Program) -> Result<Arc<Variant>> {
        self.meta.get_or(&p, || {
            let mut ir = p.build(CONVENTIONS);
            let options = Options::default();
            let program = tepui_intel_compiler::compile(&mut ir, self.generation(), &options)
                .map_err(|e| compile_error(&e))?;
            Ok(Arc::new(Variant::new(self, &program, &[], false)?))
        })
    }
}
