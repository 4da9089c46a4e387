//! Kinds of descriptors.

use vulkanalia_sys as vk;

use crate::error::{Error, Result};
use crate::key::Key;

/// Largest alignment of descriptors and inline data in bytes.
pub(super) const ALIGNMENT: u32 = 64;

/// A kind of descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DescriptorType {
    /// A sampler.
    Sampler,
    /// An image with a sampler.
    CombinedImageSampler,
    /// A sampled image.
    SampledImage,
    /// A storage image.
    StorageImage,
    /// A texel buffer that is read.
    UniformTexelBuffer,
    /// A texel buffer that is written.
    StorageTexelBuffer,
    /// A uniform buffer.
    UniformBuffer,
    /// A storage buffer.
    StorageBuffer,
    /// A uniform buffer with a dynamic offset.
    UniformBufferDynamic,
    /// A storage buffer with a dynamic offset.
    StorageBufferDynamic,
    /// An input attachment.
    InputAttachment,
    /// Bytes in the set itself.
    InlineUniformBlock,
    /// Whatever was written last: each element has room for any kind.
    Mutable,
}

impl DescriptorType {
    /// The kind of the API's number.
    ///
    /// # Errors
    /// When there is none.
    pub fn new(ty: vk::DescriptorType) -> Result<DescriptorType> {
        use vk::DescriptorType as T;
        Ok(match ty {
            T::SAMPLER => DescriptorType::Sampler,
            T::COMBINED_IMAGE_SAMPLER => DescriptorType::CombinedImageSampler,
            T::SAMPLED_IMAGE => DescriptorType::SampledImage,
            T::STORAGE_IMAGE => DescriptorType::StorageImage,
            T::UNIFORM_TEXEL_BUFFER => DescriptorType::UniformTexelBuffer,
            T::STORAGE_TEXEL_BUFFER => DescriptorType::StorageTexelBuffer,
            T::UNIFORM_BUFFER => DescriptorType::UniformBuffer,
            T::STORAGE_BUFFER => DescriptorType::StorageBuffer,
            T::UNIFORM_BUFFER_DYNAMIC => DescriptorType::UniformBufferDynamic,
            T::STORAGE_BUFFER_DYNAMIC => DescriptorType::StorageBufferDynamic,
            T::INPUT_ATTACHMENT => DescriptorType::InputAttachment,
            T::INLINE_UNIFORM_BLOCK => DescriptorType::InlineUniformBlock,
            T::MUTABLE_EXT => DescriptorType::Mutable,
            other => {
                return Err(Error::unsupported(format!("descriptors of type {}", other.as_raw())));
            }
        })
    }

    /// Whether an offset is given when the set is bound.
    pub fn is_dynamic(self) -> bool {
        matches!(self, DescriptorType::UniformBufferDynamic | DescriptorType::StorageBufferDynamic)
    }

    /// Whether it is a range of memory.
    pub fn is_buffer(self) -> bool {
        use DescriptorType as D;
        matches!(
            self,
            D::UniformBuffer
                | D::StorageBuffer
                | D::UniformBufferDynamic
                | D::StorageBufferDynamic
                | D::InlineUniformBlock
        )
    }
}

impl Key for DescriptorType {
    fn add_to(&self, key: &mut Vec<u8>) {
        (*self as u8).add_to(key);
    }
}
