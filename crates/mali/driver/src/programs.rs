//! The driver's own programs: they are compiled when they are first used.

use std::sync::Arc;

use tepui_mali_compiler::Options;
use tepui_vulkan::Result;
use tepui_vulkan_expand as expand;
use tepui_vulkan_kit::builder::Words;
use tepui_vulkan_meta::{Conventions, Program, view};

use crate::descriptor;
use crate::device::Device;
use crate::graphics::load::Loads;
use crate::limits::SUBGROUP_SIZE;
use crate::shader::{Dynamic, Variant, compile_error};
use crate::texture::Bytes;

/// Conventions of the programs: words are push constants.
const CONVENTIONS: Conventions = Conventions { threads: 64, words: Words::Push };

impl Device {
    /// A program of the driver's own.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn meta(&self, p: Program) -> Result<Arc<Variant>> {
        self.meta.programs.get_or(&p, || {
            let mut ir = p.build(CONVENTIONS);
            let program = tepui_mali_compiler::compile(&mut ir, &Options::default())
                .map_err(|e| compile_error(&e))?;
            Ok(Arc::new(Variant::new(self, &program, Dynamic::default(), false)?))
        })
    }

    /// A program of expanded draws.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn expansion_program(&self, p: expand::Program) -> Result<Arc<Variant>> {
        self.meta.expansion.get_or(&p, || {
            let mut ir = p.build(SUBGROUP_SIZE);
            let program = tepui_mali_compiler::compile(&mut ir, &Options::default())
                .map_err(|e| compile_error(&e))?;
            Ok(Arc::new(Variant::new(self, &program, Dynamic::default(), false)?))
        })
    }

    /// A program that loads attachments.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn load_program(&self, loads: &Loads) -> Result<Arc<Variant>> {
        self.meta.loads.get_or(loads, || {
            let program = tepui_mali_compiler::compile(&mut loads.build(), &Options::default())
                .map_err(|e| compile_error(&e))?;
            Ok(Arc::new(Variant::new(self, &program, Dynamic::default(), false)?))
        })
    }

    /// A sampler of the driver's own programs, which clamps to the edges.
    ///
    /// # Errors
    /// When its values do not fit, which they do.
    pub fn meta_sampler(&self, linear: bool) -> Result<Bytes> {
        match linear {
            true => Ok(*descriptor::sampler(&view::sampler(true))?.bytes()),
            false => self.texel_sampler(),
        }
    }

    /// The sampler with which texels are fetched: without a filter, clamped to the edges.
    ///
    /// # Errors
    /// When its values do not fit, which they do.
    pub fn texel_sampler(&self) -> Result<Bytes> {
        if let Some(found) = self.meta.texels.get() {
            return Ok(*found);
        }
        let made = *descriptor::sampler(&view::sampler(false))?.bytes();
        Ok(*self.meta.texels.get_or_init(|| made))
    }
}
