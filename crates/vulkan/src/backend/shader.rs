//! Descriptions of shaders, of the stages of a pipeline, and of compiled programs.

use std::sync::Arc;

use tepui_ir::Shader;
use vulkanalia_sys as vk;

use super::types::Types;
use crate::cache::Programs;
use crate::descriptor::SetLayout;
use crate::key::Key;
use crate::state::GraphicsState;

/// The stages of graphics pipelines, in their order.
pub(crate) const STAGES: [vk::ShaderStageFlags; 5] = [
    vk::ShaderStageFlags::VERTEX,
    vk::ShaderStageFlags::TESSELLATION_CONTROL,
    vk::ShaderStageFlags::TESSELLATION_EVALUATION,
    vk::ShaderStageFlags::GEOMETRY,
    vk::ShaderStageFlags::FRAGMENT,
];

/// The size of a stage's subgroups, as its creation asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SubgroupSize {
    /// Shaders read `VkPhysicalDeviceSubgroupProperties::subgroupSize`.
    #[default]
    Constant,
    /// Shaders read the size that they have, which may be any: those of SPIR-V 1.6 and later, and with
    /// `ALLOW_VARYING_SUBGROUP_SIZE`.
    Varying,
    /// This size.
    Required(u32),
}

impl Key for SubgroupSize {
    fn add_to(&self, key: &mut Vec<u8>) {
        match *self {
            SubgroupSize::Constant => 0u8.add_to(key),
            SubgroupSize::Varying => 1u8.add_to(key),
            SubgroupSize::Required(size) => (2u8, size).add_to(key),
        }
    }
}

/// A shader on its way to machine code.
pub struct ShaderInfo<'a, B: Types> {
    /// The shader, specialised.
    pub ir: Shader,
    /// Hash of everything that the shader follows from.
    pub key: u128,
    /// Cache of compiled programs.
    pub programs: Arc<Programs>,
    /// Whether the text of machine code is kept for executable properties.
    pub captures: bool,
    /// Whether samplers may have custom border colours.
    pub custom_borders: bool,
    /// Whether samplers may have a minimum or maximum reduction.
    pub reductions: bool,
    /// Descriptors of images may be null.
    pub null_images: bool,
    /// Set layouts by number.
    pub sets: &'a [Option<Arc<SetLayout<B>>>],
    /// Out-of-bounds accesses of buffers are defined.
    pub robust: bool,
    /// The size of subgroups.
    pub subgroup_size: SubgroupSize,
    /// For shaders whose state is not known before they are linked or drawn with, which should be fast then: the state as far as it
    /// is known. They are those of pipeline libraries, of pipelines with dynamic state that makes variants, and shader objects.
    pub partial_state: Option<&'a GraphicsState>,
}

/// Shaders of a whole graphics pipeline by stage.
pub struct Stages<'a, B: Types> {
    /// Vertex shader.
    pub vertex: Option<&'a B::Shader>,
    /// Tessellation control shader.
    pub control: Option<&'a B::Shader>,
    /// Tessellation evaluation shader.
    pub evaluation: Option<&'a B::Shader>,
    /// Geometry shader.
    pub geometry: Option<&'a B::Shader>,
    /// Fragment shader.
    pub fragment: Option<&'a B::Shader>,
    /// Stages that there are shaders of and that the hardware does not have: they are expanded.
    pub expanded: vk::ShaderStageFlags,
}

impl<'a, B: Types> Stages<'a, B> {
    /// Shaders in the order of the pipeline, for hardware with these stages.
    pub(crate) fn new(
        all: [Option<&'a B::Shader>; STAGES.len()],
        hardware: vk::ShaderStageFlags,
    ) -> Stages<'a, B> {
        let there = STAGES.iter().zip(&all).filter(|(_, shader)| shader.is_some());
        let there = there.fold(vk::ShaderStageFlags::empty(), |all, (&stage, _)| all | stage);
        let [vertex, control, evaluation, geometry, fragment] = all;
        let expanded = there.difference(hardware);
        Stages { vertex, control, evaluation, geometry, fragment, expanded }
    }
}

/// The shaders between vertices and the rasteriser.
pub struct Between<B: Types> {
    /// Tessellation control shader.
    pub control: Option<Arc<B::Shader>>,
    /// Tessellation evaluation shader.
    pub evaluation: Option<Arc<B::Shader>>,
    /// Geometry shader.
    pub geometry: Option<Arc<B::Shader>>,
}

impl<B: Types> Default for Between<B> {
    fn default() -> Self {
        Between { control: None, evaluation: None, geometry: None }
    }
}

impl<B: Types> Clone for Between<B> {
    fn clone(&self) -> Self {
        let Between { control, evaluation, geometry } = self;
        Between {
            control: control.clone(),
            evaluation: evaluation.clone(),
            geometry: geometry.clone(),
        }
    }
}

impl<B: Types> Between<B> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The existing shaders, in the order of the pipeline.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<B::Shader>> {
        [&self.control, &self.evaluation, &self.geometry].into_iter().flatten()
    }

    /// The slot of a stage's shader, if the stage is one of them.
    pub fn of(&mut self, stage: vk::ShaderStageFlags) -> Option<&mut Option<Arc<B::Shader>>> {
        Some(match stage {
            vk::ShaderStageFlags::TESSELLATION_CONTROL => &mut self.control,
            vk::ShaderStageFlags::TESSELLATION_EVALUATION => &mut self.evaluation,
            vk::ShaderStageFlags::GEOMETRY => &mut self.geometry,
            _ => return None,
        })
    }
}

/// A program of a pipeline.
pub struct Executable {
    /// Stage.
    pub stage: vk::ShaderStageFlags,
    /// Name: the stage, and which variant.
    pub name: String,
    /// Description of the variant's purpose.
    pub description: String,
    /// Invocations of a subgroup.
    pub subgroup_size: u32,
    /// Statistics: name, description, value.
    pub statistics: Vec<(&'static str, &'static str, u64)>,
    /// Machine code as text, when the pipeline was made to show it.
    pub assembly: Option<String>,
}
