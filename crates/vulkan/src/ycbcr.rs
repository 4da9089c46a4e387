//! Sampler Y′CbCr conversions.

use tepui_format::Component;
use tepui_passes::lower_ycbcr::{Conversion, Model, Source};
use vulkanalia_sys::{self as vk, Handle};

use crate::backend::Backend;
use crate::device::Device;
use crate::entry;
use crate::error::Result;
use crate::image::format_of;
use crate::object::handle;

/// The source of the component that stands at `place` without a swizzle.
fn source(swizzle: vk::ComponentSwizzle, place: Component) -> Source {
    match swizzle {
        vk::ComponentSwizzle::ZERO => Source::Zero,
        vk::ComponentSwizzle::ONE => Source::One,
        vk::ComponentSwizzle::R => Source::Component(Component::R),
        vk::ComponentSwizzle::G => Source::Component(Component::G),
        vk::ComponentSwizzle::B => Source::Component(Component::B),
        vk::ComponentSwizzle::A => Source::Component(Component::A),
        _ => Source::Component(place),
    }
}

fn conversion(info: &vk::SamplerYcbcrConversionCreateInfo) -> Result<Conversion> {
    use vk::SamplerYcbcrModelConversion as M;
    let c = info.components;
    Ok(Conversion {
        format: format_of(info.format)?,
        model: match info.ycbcr_model {
            M::YCBCR_IDENTITY => Model::Ycbcr,
            M::YCBCR_709 => Model::Bt709,
            M::YCBCR_601 => Model::Bt601,
            M::YCBCR_2020 => Model::Bt2020,
            _ => Model::Rgb,
        },
        full_range: info.ycbcr_range == vk::SamplerYcbcrRange::ITU_FULL,
        swizzle: [
            source(c.r, Component::R),
            source(c.g, Component::G),
            source(c.b, Component::B),
            source(c.a, Component::A),
        ],
        cosited: [info.x_chroma_offset, info.y_chroma_offset]
            .map(|o| o == vk::ChromaLocation::COSITED_EVEN),
        linear_chroma: info.chroma_filter != vk::Filter::NEAREST,
    })
}

entry! {
    /// `vkCreateSamplerYcbcrConversion`.
    fn vkCreateSamplerYcbcrConversion<B: Backend>(device: vk::Device, info: *const vk::SamplerYcbcrConversionCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::SamplerYcbcrConversion) -> vk::Result {
        unsafe {
            *out = handle(Device::<B>::of(device).allocator(callbacks).create(conversion(&*info)?)?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroySamplerYcbcrConversion`.
    fn vkDestroySamplerYcbcrConversion<B: Backend>(device: vk::Device, conversion: vk::SamplerYcbcrConversion, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(conversion.as_raw() as *mut Conversion) }
    }
}
