//! Packed bytes, computed by hand from the bit positions, and the errors of values that do not fit.

use tepui_agx_packets::cdm::{self, GlobalSize, LaunchWord0, LaunchWord1, StreamLink};
use tepui_agx_packets::coefficient::{Binding, CoefficientSource, ShadeModel};
use tepui_agx_packets::pbe::Pbe;
use tepui_agx_packets::ppp::FragmentFace;
use tepui_agx_packets::sampler::{Sampler, Wrap};
use tepui_agx_packets::texture::{
    Channel, Channels, Layout, Texture, TextureDimension, TextureType,
};
use tepui_agx_packets::usc::{self, SamplerStates};
use tepui_agx_packets::vdm::{IndexList, PppState, Primitive};
use tepui_agx_packets::{Packet, ProblemKind};

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().expect("whole words"))).collect()
}

#[test]
fn a_dispatch() {
    let word0 = LaunchWord0 {
        uniform_register_count: 65, // two groups of 64
        texture_state_register_count: 0,
        sampler_state_register_count: SamplerStates::Compact4,
        preshader_register_count: 32,
        mode: cdm::Mode::IndirectGlobal,
    };
    assert_eq!(words(&word0.pack().unwrap()), [2 << 1 | 1 << 4 | 1 << 9 | 2 << 12 | 1 << 27]);
    let word1 = LaunchWord1 { pipeline: 0x1_2340 };
    assert_eq!(words(&word1.pack().unwrap()), [0x1_2340]);
    let size = GlobalSize { x: 64, y: 2, z: 1 };
    assert_eq!(words(&size.pack().unwrap()), [64, 2, 1]);
    let link = StreamLink { with_return: true, target: 0x12_3456_7890 };
    assert_eq!(words(&link.pack().unwrap()), [1 << 29 | 1 << 28 | 0x12, 0x3456_7890]);
    assert_eq!(words(&cdm::StreamTerminate::default().pack().unwrap()), [2 << 29, 0]);
    let indirect = cdm::Indirect { address: 0x12_3456_7890 };
    assert_eq!(words(&indirect.pack().unwrap()), [0x12, 0x3456_7890]);
}

#[test]
fn usc_words() {
    let uniform = usc::Uniform { start_halfs: 8, size_halfs: 4, buffer: 0x11_0000_4000 };
    let expected = 0x1d | 8 << 8 | 4 << 20 | (0x11_0000_4000u64 >> 2) << 26;
    assert_eq!(uniform.pack().unwrap(), expected.to_le_bytes());
    let all = usc::Uniform { size_halfs: 64, ..uniform };
    assert_eq!(words(&all.pack().unwrap())[0] >> 20 & 0x3f, 0, "64 registers encode as 0");

    let shader = usc::Shader { loads_varyings: false, unk_1: false, unk_2: 3, code: 0x8000_1000 };
    assert_eq!(shader.pack().unwrap(), [0x0d, 3 << 2, 0x00, 0x10, 0x00, 0x80]);
    let shared = usc::Shared { bytes_per_threadgroup: 65536, ..Default::default() };
    assert_eq!(words(&shared.pack().unwrap()), [0x4d | 0x24 << 10]);
    let registers = usc::Registers { register_count: 9, unk_4: 1, ..Default::default() };
    assert_eq!(words(&registers.pack().unwrap()), [0x8d | 2 << 8 | 1 << 24]);
    assert_eq!(usc::NoPreshader::default().pack().unwrap(), [0x88, 0]);
    let preshader = usc::Preshader { code: 0x40 };
    assert_eq!(words(&preshader.pack().unwrap()), [0xc080_0038, 0x40]);
}

#[test]
fn draws() {
    let state = PppState { pointer: 0x11_0001_0000, size_words: 9 };
    assert_eq!(words(&state.pack().unwrap()), [0x11 | 9 << 8, 0x1_0000]);
    let list = IndexList {
        primitive: Primitive::TriangleStrip,
        index_count_present: true,
        instance_count_present: true,
        start_present: true,
        ..Default::default()
    };
    assert_eq!(words(&list.pack().unwrap()), [9 << 8 | 7 << 22 | 3 << 29]);
    let face = FragmentFace { line_width: 1.0, stencil_reference: 7, ..Default::default() };
    assert_eq!(words(&face.pack().unwrap()), [7 | 15 << 8]);
    let binding = Binding {
        components: 4,
        shade_model: ShadeModel::Perspective,
        source: CoefficientSource::Varying,
        base_slot: 2,
        base_coefficient_register: 1,
    };
    assert_eq!(words(&binding.pack().unwrap()), [3 | 7 << 2 | 2 << 8 | 1 << 16]);
}

#[test]
fn descriptors() {
    let texture = Texture {
        dimension: TextureDimension::D2,
        layout: Layout::Gpu,
        channels: Channels::R8G8B8A8,
        type_: TextureType::Unorm,
        swizzle_r: Channel::B,
        swizzle_g: Channel::G,
        swizzle_b: Channel::R,
        swizzle_a: Channel::One,
        width: 640,
        height: 480,
        last_level: 3,
        address: 0x11_0004_0000,
        depth: 1,
        ..Default::default()
    };
    let low =
        2 | 2 << 4 | 0x28 << 6 | (2 | 1 << 3 | 4 << 9) << 16 | 639u64 << 28 | 479 << 42 | 3 << 60;
    let high = (0x11_0004_0000u64 >> 4) << 2;
    let bytes = texture.pack().unwrap();
    assert_eq!(bytes[..8], low.to_le_bytes());
    assert_eq!(bytes[8..16], high.to_le_bytes());
    assert_eq!(bytes[16..], [0; 8]);

    let linear = Texture { layout: Layout::Linear, stride: 2560, ..texture };
    let word = u64::from_le_bytes(linear.pack().unwrap()[8..16].try_into().unwrap());
    assert_eq!(word >> 46, (2560 - 16) >> 4);

    let pbe = Pbe { layout: Layout::Linear, stride: 2560, buffer: 0x40, ..Default::default() };
    let word = u64::from_le_bytes(pbe.pack().unwrap()[8..16].try_into().unwrap());
    assert_eq!(word, 0x40 >> 4 | (2560 - 4) << 40);

    let sampler = Sampler {
        minimum_lod: 0.25,
        maximum_lod: 14.0,
        maximum_anisotropy: 16,
        wrap_s: Wrap::MirroredClampToEdge,
        wrap_t: Wrap::Repeat,
        ..Default::default()
    };
    let expected = 16 | 0x380u64 << 10 | 4 << 20 | 5 << 29 | 1 << 32;
    assert_eq!(sampler.pack().unwrap(), expected.to_le_bytes());
}

#[test]
fn what_does_not_fit_is_named() {
    let error = LaunchWord1 { pipeline: 0x41 }.pack().unwrap_err();
    assert_eq!(error.kind, ProblemKind::NotMultiple { value: 0x41, multiple: 64 });
    assert_eq!((error.packet, error.field, error.bit), ("CDM Launch Word 1", "Pipeline", 6));

    let error = LaunchWord1 { pipeline: 1 << 32 }.pack().unwrap_err();
    assert_eq!(error.kind, ProblemKind::DoesNotFit { value: 1 << 26, width: 26 });

    let error =
        Texture { stride: 64, layout: Layout::Gpu, ..Default::default() }.pack().unwrap_err();
    assert_eq!(error.kind, ProblemKind::Inactive { condition: "t.layout == Layout::Linear" });

    let error = Sampler { minimum_lod: f32::INFINITY, ..Default::default() }.pack().unwrap_err();
    assert!(matches!(error.kind, ProblemKind::NotEncodable { .. }), "{error}");

    let error = usc::Shared { sample_count: 3, ..Default::default() }.pack().unwrap_err();
    assert!(matches!(error.kind, ProblemKind::NotEncodable { .. }), "{error}");
    assert_eq!(error.field, "Sample count");
}

#[test]
fn what_is_odd_is_listed_with_its_bit() {
    let problems = usc::Shared::validate(&[0x4e, 0x02, 0, 0]);
    let found: Vec<_> = problems.iter().map(|p| (p.field, p.bit)).collect();
    assert_eq!(found, [("Tag", 0), ("", 9)]);
    assert_eq!(problems[0].kind, ProblemKind::WrongFixed { expected: 0x4d, found: 0x4e });
    assert_eq!(problems[1].kind, ProblemKind::MustBeZero);

    let (shared, problems) = usc::Shared::unpack_lossy(&[0x4d, 0x04, 0, 0]).unwrap();
    assert_eq!(shared.layout, usc::SharedLayout::None);
    assert_eq!(
        problems[0].kind,
        ProblemKind::UnknownEnumerator { value: 1, name: "Shared layout" }
    );
    assert!(usc::Shared::unpack(&[0x4d, 0x04, 0, 0]).is_err());
    assert!(usc::Shared::unpack(&[0x4d]).is_err());
    let text = usc::Shared::decode(&[0x4d, 0x04, 0, 0]).unwrap().to_string();
    assert!(text.contains("Layout: unknown 0x1"), "{text}");
}
