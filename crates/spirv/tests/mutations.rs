//! Broken modules: errors with positions, never a panic, and never a shader that does not validate.

mod mutation;

use proptest::prelude::*;
use std::sync::LazyLock;
use tepui_spirv::{Kind, Options, translate, translate_bytes};

static SEEDS: LazyLock<Vec<Vec<u32>>> = LazyLock::new(|| {
    let sources = [
        "@group(0) @binding(0) var<storage, read_write> d: array<vec4<f32>>; var<workgroup> w: array<u32, 8>;
         fn g(a: u32) -> u32 { var s = a; for (var i = 0u; i < 4u; i++) { switch (s % 3u) { case 0u: { s += i; } case 1u: { continue; } default: { if (i == 2u) { return s; } } } s *= 3u; } return s; }
         @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) { w[i] = g(i); workgroupBarrier(); d[i] = sin(d[i]) * f32(w[7u - i]); }",
        "@group(0) @binding(0) var t: texture_2d<f32>; @group(0) @binding(1) var s: sampler; @group(0) @binding(2) var<uniform> m: mat3x3<f32>;
         @fragment fn main(@location(0) uv: vec2<f32>, @location(1) @interpolate(flat) k: u32) -> @location(0) vec4<f32> {
           if (k == 3u) { discard; } return textureSample(t, s, (m * vec3<f32>(uv, 1.0)).xy) + vec4<f32>(dpdx(uv), textureLoad(t, vec2<i32>(uv), 0).xy); }",
        "struct O { @builtin(position) p: vec4<f32>, @location(0) c: vec3<f32> }
         @vertex fn main(@builtin(vertex_index) i: u32, @location(0) a: vec3<f32>) -> O { var o: O; o.p = vec4<f32>(a, f32(i)); o.c = normalize(a); return o; }",
    ];
    sources
        .iter()
        .map(|src| {
            let m = naga::front::wgsl::parse_str(src).unwrap();
            let all = naga::valid::ValidationFlags::all();
            let info = naga::valid::Validator::new(all, naga::valid::Capabilities::all())
                .validate(&m)
                .unwrap();
            naga::back::spv::write_vec(&m, &info, &Default::default(), None).unwrap()
        })
        .collect()
});

#[test]
fn the_seeds_translate() {
    for (n, words) in SEEDS.iter().enumerate() {
        let mut s = translate(words, &Options::default()).unwrap_or_else(|e| panic!("{n}: {e}"));
        tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{n}: {e}\n{s}"));
        let text = s.to_string();
        assert_eq!(tepui_ir::parse(&text).unwrap().to_string(), text);
        tepui_passes::pipeline::optimise(&mut s);
        tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{n}: {e}\n{s}"));
    }
}

#[test]
fn errors_say_where_and_what() {
    let mut words = SEEDS[0].clone();
    words[1] = 0x0001_0900;
    let e = translate(&words, &Options::default()).unwrap_err();
    assert_eq!(e.kind, Kind::Version { major: 1, minor: 9 });
    assert_eq!(e.to_string(), "word 1: header: unsupported: SPIR-V version 1.9; 1.0 to 1.6 are");
    let e = translate_bytes(&[3, 2, 35], &Options::default()).unwrap_err();
    assert_eq!(e.kind, Kind::Length { bytes: 3 });
    let cut = &SEEDS[0][..SEEDS[0].len() - 1];
    assert!(translate(cut, &Options::default()).unwrap_err().word > 5);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn mutated_modules_do_not_panic(which in 0usize..3, edits in mutation::edits()) {
        mutation::check(&SEEDS[which], edits)?;
    }
}
