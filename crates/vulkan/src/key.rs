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

use crate::backend::{Backend, SamplerInfo, SubgroupSize};
use crate::descriptor::{Binding, DescriptorType, SetLayout};
use crate::state::{AdvancedBlend, BiasUnit, Blend, Groups, Stencil, VertexAttribute};

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
    Groups, vk::CullModeFlags, vk::GraphicsPipelineLibraryFlagsEXT, vk::PipelineCreateFlags2, vk::SamplerCreateFlags,
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

plain!(bool, Component, DescriptorType, Model, Stage);

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
        $(impl Key for $ty {
            fn add_to(&self, key: &mut Vec<u8>) {
                let $ty { $($field,)* $($($other: _,)*)? } = self;
                $($field.add_to(key);)*
            }
        }

        #[cfg(test)]
        impl tests::Vary for $ty {
            fn vary(&self) -> Vec<Self> {
                let mut all = Vec::new();
                $(all.extend(tests::Vary::vary(&self.$field).into_iter().map(|$field| {
                    let mut other = self.clone();
                    other.$field = $field;
                    other
                }));)*
                all
            }
        })*
    };
}

structures! {
    vk::Viewport { x, y, width, height, min_depth, max_depth }
    vk::Rect2D { offset, extent }
    vk::Offset2D { x, y }
    vk::Extent2D { width, height }
    vk::SamplerCreateInfo {
        flags, mag_filter, min_filter, mipmap_mode, address_mode_u, address_mode_v, address_mode_w, mip_lod_bias, anisotropy_enable,
        max_anisotropy, compare_enable, compare_op, min_lod, max_lod, border_color, unnormalized_coordinates; s_type, next
    }
    VertexAttribute { binding, format, offset }
    AdvancedBlend { source_straight, destination_straight, overlap, clamp }
    Blend { colour, alpha, advanced }
    BiasUnit { unorm, one, exact }
    Stencil { fail, pass, depth_fail, compare }
    SamplerInfo { core, border, border_format, opaque_black, reduction }
    Conversion { format, model, full_range, swizzle, cosited, linear_chroma }
    // The samplers' handles differ from process to process: their keys stand for them.
    Binding {
        ty, count, offset, stride, planes, first_dynamic, updates_after_bind, partially_bound, sampler_keys, conversions; samplers
    }
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

impl Key for SubgroupSize {
    fn add_to(&self, key: &mut Vec<u8>) {
        match *self {
            SubgroupSize::Constant => 0u8.add_to(key),
            SubgroupSize::Varying => 1u8.add_to(key),
            SubgroupSize::Required(size) => (2u8, size).add_to(key),
        }
    }
}

impl<B: Backend> Key for SetLayout<B> {
    fn add_to(&self, key: &mut Vec<u8>) {
        self.bindings.add_to(key);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::state::GraphicsState;

    /// Values of a type that differ in one place.
    pub(crate) trait Vary: Sized {
        /// All values that differ from this one in one place.
        fn vary(&self) -> Vec<Self>;
    }

    macro_rules! vary {
        ($($ty:ty: |$v:ident| $other:expr;)*) => {
            $(impl Vary for $ty {
                fn vary(&self) -> Vec<Self> {
                    let $v = self;
                    $other
                }
            })*
        };
    }

    vary! {
        u8: |v| vec![v ^ 1, v ^ 0x80];
        u16: |v| vec![v ^ 1, v ^ 0x8000];
        u32: |v| vec![v ^ 1, v ^ 0x8000_0000];
        u64: |v| vec![v ^ 1, v ^ 1 << 63];
        u128: |v| vec![v ^ 1, v ^ 1 << 127];
        i32: |v| vec![v ^ 1, !v];
        f32: |v| vec![v + 1.0, -v - 0.25, if *v == 0.0 { -v } else { 0.0 }];
        bool: |v| vec![!v];
        String: |v| vec![format!("{v}a"), format!("a{v}")];
        Format: |v| Format::all().filter(|f| f != v).take(3).collect();
        Component: |v| [Component::R, Component::G, Component::A].into_iter().filter(|c| c != v).collect();
        Stage: |v| [Stage::Vertex, Stage::Fragment].into_iter().filter(|s| s != v).collect();
        Model: |v| [Model::Rgb, Model::Bt709, Model::Bt2020].into_iter().filter(|m| m != v).collect();
        Source: |v| {
            let all = [Source::Component(Component::R), Source::Component(Component::B), Source::Zero, Source::One];
            all.into_iter().filter(|s| s != v).collect()
        };
        DescriptorType: |v| {
            let all = [DescriptorType::Sampler, DescriptorType::StorageBuffer, DescriptorType::Mutable];
            all.into_iter().filter(|t| t != v).collect()
        };
    }

    macro_rules! vary_raw {
        ($($ty:ty),* $(,)?) => {
            $(impl Vary for $ty {
                fn vary(&self) -> Vec<Self> {
                    vec![<$ty>::from_raw(self.as_raw() ^ 1), <$ty>::from_raw(!self.as_raw())]
                }
            })*
        };
    }

    vary_raw!(
        vk::BlendOverlapEXT,
        vk::BorderColor,
        vk::CompareOp,
        vk::Filter,
        vk::FrontFace,
        vk::LineRasterizationMode,
        vk::LogicOp,
        vk::PolygonMode,
        vk::PrimitiveTopology,
        vk::SamplerAddressMode,
        vk::SamplerMipmapMode,
        vk::SamplerReductionMode,
        vk::StencilOp,
    );

    impl Vary for vk::CullModeFlags {
        fn vary(&self) -> Vec<Self> {
            vec![*self ^ vk::CullModeFlags::FRONT, *self ^ vk::CullModeFlags::BACK]
        }
    }

    impl Vary for vk::SamplerCreateFlags {
        fn vary(&self) -> Vec<Self> {
            vec![*self ^ vk::SamplerCreateFlags::SUBSAMPLED_EXT]
        }
    }

    impl<T: Vary + Clone, const N: usize> Vary for [T; N] {
        fn vary(&self) -> Vec<Self> {
            let with = |k: usize, v: T| {
                let mut other = self.clone();
                other[k] = v;
                other
            };
            (0..N).flat_map(|k| self[k].vary().into_iter().map(move |v| with(k, v))).collect()
        }
    }

    impl<T: Vary + Clone> Vary for Vec<T> {
        fn vary(&self) -> Vec<Self> {
            let mut all = vec![self[1..].to_vec(), [&self[..], &self[..1]].concat()];
            for (k, v) in self.iter().enumerate() {
                all.extend(v.vary().into_iter().map(|v| {
                    let mut other = self.clone();
                    other[k] = v;
                    other
                }));
            }
            all
        }
    }

    impl<T: Vary + Sample> Vary for Option<T> {
        fn vary(&self) -> Vec<Self> {
            let value = self.as_ref().map_or_else(Vec::new, T::vary);
            let other = if self.is_some() { None } else { Some(T::sample()) };
            value.into_iter().map(Some).chain([other]).collect()
        }
    }

    impl<A: Vary + Clone, B: Vary + Clone> Vary for (A, B) {
        fn vary(&self) -> Vec<Self> {
            let first = self.0.vary().into_iter().map(|a| (a, self.1.clone()));
            first.chain(self.1.vary().into_iter().map(|b| (self.0.clone(), b))).collect()
        }
    }

    /// Types that may be absent in a structure: a value.
    pub(crate) trait Sample {
        fn sample() -> Self;
    }

    macro_rules! sample {
        ($($ty:ty = $value:expr;)*) => {
            $(impl Sample for $ty {
                fn sample() -> Self {
                    $value
                }
            })*
        };
    }

    sample! {
        bool = false;
        u8 = 0;
        u32 = 0;
        Stage = Stage::Vertex;
        String = String::new();
        Format = Format::R8_UNORM;
        [u32; 4] = [0; 4];
        VertexAttribute = VertexAttribute { binding: 0, format: Format::R8_UNORM, offset: 0 };
        Conversion = conversion();
    }

    fn conversion() -> Conversion {
        Conversion {
            format: Format::G8_B8R8_2PLANE_420_UNORM,
            model: Model::Bt601,
            full_range: false,
            swizzle: [Component::R, Component::G, Component::B, Component::A]
                .map(Source::Component),
            cosited: [false, true],
            linear_chroma: true,
        }
    }

    /// Checks that a value and all that differ from it in one place have keys of their own; gives their number.
    fn differ<T: Key + Vary + std::fmt::Debug>(value: &T) -> usize {
        let mut keys = HashMap::from([(key_of(value), format!("{value:?}"))]);
        let all = value.vary();
        for v in &all {
            let text = format!("{v:?}");
            if let Some(same) = keys.insert(key_of(v), text.clone()) {
                let first = text.bytes().zip(same.bytes()).position(|(a, b)| a != b).unwrap_or(0);
                let around =
                    |t: &str| t.chars().skip(first.saturating_sub(60)).take(90).collect::<String>();
                panic!("one key:\n{}\n{}", around(&text), around(&same));
            }
        }
        all.len()
    }

    #[test]
    fn each_field_of_graphics_state_changes_its_key() {
        let mut state = GraphicsState::default();
        let count = differ(&state);
        state.attributes[3] = Some(VertexAttribute::sample());
        state.depth_clip = Some(true);
        state.colour_formats[7] = Some(Format::R8_UNORM);
        assert!(differ(&state) > count && count > 700, "{count}");
    }

    #[test]
    fn each_field_of_bindings_and_samplers_changes_their_key() {
        let sampler = SamplerInfo {
            core: vk::SamplerCreateInfo { max_lod: 4.0, ..Default::default() },
            border: Some([1, 2, 3, 4]),
            border_format: Some(Format::R8_UNORM),
            opaque_black: None,
            reduction: vk::SamplerReductionMode::MIN,
        };
        assert!(differ(&sampler) > 30);
        let binding = Binding {
            ty: DescriptorType::CombinedImageSampler,
            count: 2,
            offset: [0, 16, 4],
            stride: [32, 4, 8],
            planes: 2,
            first_dynamic: 0,
            updates_after_bind: false,
            partially_bound: false,
            samplers: Vec::new(),
            sampler_keys: vec![5, 6],
            conversions: vec![Some(conversion()), None],
        };
        assert!(differ(&binding) > 50);
        let options = tepui_spirv::Options {
            entry: Some("main".to_owned()),
            stage: Some(Stage::Fragment),
            spec: vec![(1, 2), (3, 4)],
        };
        assert!(differ(&options) > 14);
    }

    #[test]
    fn parts_of_any_length_do_not_run_into_each_other() {
        assert_ne!(key_of(&("ab", "c")), key_of(&("a", "bc")));
        assert_ne!(key_of(&(vec![1u8], vec![2u8, 3])), key_of(&(vec![1u8, 2], vec![3u8])));
        assert_ne!(key_of(&[Some(1u8), None]), key_of(&[None, Some(1u8)]));
    }

    /// A key is the same in all builds and processes.
    #[test]
    fn keys_are_those_of_these_bytes() {
        let mut bytes = Vec::new();
        let value = ("ab", [Some(0x0102u16), None], vec![true], 1.0f32, vk::CompareOp::LESS);
        value.add_to(&mut bytes);
        let expected: [u8; 31] = [
            2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b', 1, 2, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0x80,
            0x3f, 1, 0, 0, 0,
        ];
        assert_eq!(bytes, expected);
        assert_eq!(key_of(&value), xxh3::xxh3_128(&expected));
    }
}
