//! Tests of keys: whatever differs in one place has another key.

use std::collections::HashMap;

use super::*;
use crate::backend::SamplerInfo;
use crate::descriptor::{Binding, DescriptorType};
use crate::state::{GraphicsState, VertexAttribute};

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

impl Vary for vk::ImageAspectFlags {
    fn vary(&self) -> Vec<Self> {
        vec![*self ^ vk::ImageAspectFlags::COLOR, *self ^ vk::ImageAspectFlags::DEPTH]
    }
}

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
    [f32; 2] = [0.0; 2];
    VertexAttribute = VertexAttribute { binding: 0, format: Format::R8_UNORM, offset: 0 };
    Conversion = conversion();
}

fn conversion() -> Conversion {
    Conversion {
        format: Format::G8_B8R8_2PLANE_420_UNORM,
        model: Model::Bt601,
        full_range: false,
        swizzle: [Component::R, Component::G, Component::B, Component::A].map(Source::Component),
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
        is_dynamic: false,
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
