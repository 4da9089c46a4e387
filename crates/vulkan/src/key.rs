//! Keys of caches: hashes of bytes that follow from values alone.
//!
//! A key has to be the same in another process, and to differ whenever programs may. Therefore each type says its bytes: little-endian
//! numbers, lengths before what has any number of elements, a byte before what may be absent, and for the API's types their numbers.
//! Structures name all of their fields, so that a new one cannot be forgotten.

use std::sync::Arc;

use tepui_format::{Component, Format};
use tepui_ir::Stage;
use tepui_passes::lower_ycbcr::{Conversion, Model, Source};
use vulkanalia_sys as vk;
use xxhash_rust::xxh3;

/// A value that is part of a key.
pub(crate) trait Key {
    /// Appends the value's bytes.
    fn add_to(&self, key: &mut Vec<u8>);
}

/// The hash of a value's bytes.
pub(crate) fn key_of(value: &(impl Key + ?Sized)) -> u128 {
    let mut bytes = Vec::with_capacity(256);
    value.add_to(&mut bytes);
    xxh3::xxh3_128(&bytes)
}

macro_rules! numbers {
    ($($ty:ty),*) => {
        $(impl Key for $ty {
            fn add_to(&self, key: &mut Vec<u8>) {
                key.extend(self.to_le_bytes());
            }
        })*
    };
}

numbers!(u8, u16, u32, u64, u128, i32);

/// Types that are a number of the API's.
macro_rules! raw {
    ($function:ident: $($ty:ty),* $(,)?) => {
        $(impl Key for $ty {
            fn add_to(&self, key: &mut Vec<u8>) {
                self.$function().add_to(key);
            }
        })*
    };
}

raw!(as_raw:
    vk::BlendOverlapEXT, vk::BorderColor, vk::CompareOp, vk::Filter, vk::FrontFace, vk::LineRasterizationMode, vk::LogicOp,
    vk::PolygonMode, vk::PrimitiveTopology, vk::SamplerAddressMode, vk::SamplerMipmapMode, vk::SamplerReductionMode, vk::StencilOp,
);
raw!(bits:
    vk::CullModeFlags, vk::ImageAspectFlags, vk::GraphicsPipelineLibraryFlagsEXT, vk::PipelineCreateFlags2, vk::SamplerCreateFlags,
    vk::ShaderStageFlags,
);
raw!(to_bits: f32);
raw!(vk: Format);

/// Enumerations without fields: their number in the order of declaration.
macro_rules! plain {
    ($($ty:ty),*) => {
        $(impl Key for $ty {
            fn add_to(&self, key: &mut Vec<u8>) {
                (*self as u8).add_to(key);
            }
        })*
    };
}

plain!(bool, Component, Model, Stage);

impl Key for usize {
    fn add_to(&self, key: &mut Vec<u8>) {
        (*self as u64).add_to(key);
    }
}

impl Key for str {
    fn add_to(&self, key: &mut Vec<u8>) {
        self.as_bytes().add_to(key);
    }
}

impl<T: Key> Key for [T] {
    fn add_to(&self, key: &mut Vec<u8>) {
        self.len().add_to(key);
        self.iter().for_each(|v| v.add_to(key));
    }
}

impl<T: Key> Key for Vec<T> {
    fn add_to(&self, key: &mut Vec<u8>) {
        self[..].add_to(key);
    }
}

impl<T: Key, const N: usize> Key for [T; N] {
    fn add_to(&self, key: &mut Vec<u8>) {
        self.iter().for_each(|v| v.add_to(key));
    }
}

impl<T: Key> Key for Option<T> {
    fn add_to(&self, key: &mut Vec<u8>) {
        self.is_some().add_to(key);
        if let Some(v) = self {
            v.add_to(key);
        }
    }
}

impl<T: Key + ?Sized> Key for &T {
    fn add_to(&self, key: &mut Vec<u8>) {
        (**self).add_to(key);
    }
}

impl<T: Key + ?Sized> Key for Arc<T> {
    fn add_to(&self, key: &mut Vec<u8>) {
        (**self).add_to(key);
    }
}

macro_rules! tuples {
    ($($($name:ident)*;)*) => {
        $(impl<$($name: Key),*> Key for ($($name,)*) {
            #[allow(non_snake_case, reason = "a value of each type has its name")]
            fn add_to(&self, key: &mut Vec<u8>) {
                let ($($name,)*) = self;
                $($name.add_to(key);)*
            }
        })*
    };
}

tuples! {
    A B;
    A B C;
    A B C D;
    A B C D E;
}

/// Structures: fields that count, and those that do not.
macro_rules! structures {
    ($($ty:path { $($field:ident),* $(; $($other:ident),*)? })*) => {
        $(impl $crate::key::Key for $ty {
            fn add_to(&self, key: &mut Vec<u8>) {
                let $ty { $($field,)* $($($other: _,)*)? } = self;
                $($crate::key::Key::add_to($field, key);)*
            }
        }

        #[cfg(test)]
        impl $crate::key::tests::Vary for $ty {
            fn vary(&self) -> Vec<Self> {
                let mut all = Vec::new();
                $(all.extend($crate::key::tests::Vary::vary(&self.$field).into_iter().map(|$field| {
                    let mut other = self.clone();
                    other.$field = $field;
                    other
                }));)*
                all
            }
        })*
    };
}
pub(crate) use structures;

structures! {
    vk::Viewport { x, y, width, height, min_depth, max_depth }
    vk::Rect2D { offset, extent }
    vk::Offset2D { x, y }
    vk::Extent2D { width, height }
    vk::SamplerCreateInfo {
        flags, mag_filter, min_filter, mipmap_mode, address_mode_u, address_mode_v, address_mode_w, mip_lod_bias, anisotropy_enable,
        max_anisotropy, compare_enable, compare_op, min_lod, max_lod, border_color, unnormalized_coordinates; s_type, next
    }
    Conversion { format, model, full_range, swizzle, cosited, linear_chroma }
    tepui_spirv::Options { entry, stage, spec }
}

impl Key for String {
    fn add_to(&self, key: &mut Vec<u8>) {
        self.as_str().add_to(key);
    }
}

impl Key for Source {
    fn add_to(&self, key: &mut Vec<u8>) {
        match *self {
            Source::Component(c) => (0u8, c).add_to(key),
            Source::Zero => 1u8.add_to(key),
            Source::One => 2u8.add_to(key),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
