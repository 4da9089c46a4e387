//! SPIR-V with changed words, and random IR of every kind: compiled or refused by name, never a
//! panic or a fault of the compiler's own finding.

use tepui_agx_compiler::{Error, Options, compile};
use tepui_ir_gen::{Config, Rng, program};

fn module() -> Vec<u32> {
    spirv(
        "
        struct P { a: vec4<f32>, n: u32, }
        @group(0) @binding(0) var<storage, read_write> data: array<u32>;
        @group(0) @binding(1) var<uniform> p: P;
        var<workgroup> t: array<u32, 64>;
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
          t[i] = data[i];
          workgroupBarrier();
          var s = 0u;
          for (var k = 0u; k < p.n; k++) {
            if (t[(i + k) % 64u] > 7u) { continue; }
            s += t[(i * 3u + k) % 64u] / (k + 1u);
            if (s > 100u) { break; }
          }
          data[i] = s + u32(sqrt(p.a.x) * f32(i));
        }",
    )
}

fn spirv(source: &str) -> Vec<u32> {
    let m = naga::front::wgsl::parse_str(source).unwrap();
    let info = naga::valid::Validator::new(
        naga::valid::ValidationFlags::all(),
        naga::valid::Capabilities::all(),
    )
    .validate(&m)
    .unwrap();
    let options = naga::back::spv::Options { lang_version: (1, 3), ..Default::default() };
    naga::back::spv::write_vec(&m, &info, &options, None).unwrap()
}

fn attempt(words: &[u32], robust: bool) -> bool {
    attempt_stage(words, robust, None)
}

fn attempt_stage(words: &[u32], robust: bool, stage: Option<tepui_ir::Stage>) -> bool {
    let options = tepui_spirv::Options { stage, ..tepui_spirv::Options::default() };
    let Ok(mut s) = tepui_spirv::translate(words, &options) else {
        return false;
    };
    match compile(&mut s, &Options { robust, check: true, ..Options::default() }) {
        Err(e @ (Error::Internal(_) | Error::Encode(_))) => panic!("{e}"),
        _ => true,
    }
}

/// A vertex and a fragment shader.
fn drawing() -> Vec<u32> {
    spirv(
        "
        struct V {
            @builtin(position) at: vec4f,
            @location(0) a: vec4f,
            @location(1) @interpolate(flat) b: vec2u,
            @location(2) @interpolate(linear, centroid) c: f32,
        }
        struct O { @location(0) a: vec4f, @location(1) b: vec2u, @builtin(frag_depth) z: f32, @builtin(sample_mask) m: u32 }
        @group(0) @binding(0) var<storage, read_write> data: array<u32>;
        @vertex fn vs(@builtin(vertex_index) n: u32, @builtin(instance_index) i: u32, @location(3) p: vec3f) -> V {
            return V(vec4f(p, 1.0), vec4f(f32(n)), vec2u(n, i), p.x);
        }
        @fragment fn fs(v: V, @builtin(sample_index) s: u32, @builtin(front_facing) f: bool) -> O {
            if (v.a.x > 0.5) { discard; }
            data[v.b.x] = s;
            var o: O;
            o.a = v.a * dpdx(v.c) + select(v.at, v.a, f);
            o.b = v.b;
            o.z = v.at.z * 0.5;
            o.m = 5u;
            return o;
        }",
    )
}

/// Changes up to three words after the header: to another word of the module, by a bit, or to a small
/// number.
fn mutate(words: &mut [u32], rng: &mut Rng) {
    for _ in 0..1 + rng.below(3) {
        let at = 5 + rng.below(words.len() - 5);
        words[at] = match rng.below(3) {
            0 => words[5 + rng.below(words.len() - 5)],
            1 => words[at] ^ 1 << rng.below(32),
            _ => rng.below(64) as u32,
        };
    }
}

#[test]
fn mutated_drawings_are_compiled_or_refused() {
    use tepui_ir::Stage::{Fragment, Vertex};
    let first = drawing();
    assert!([Vertex, Fragment].iter().all(|&s| attempt_stage(&first, false, Some(s))));
    let mut rng = Rng::new(2);
    let mut taken = 0;
    for _ in 0..400 {
        let mut words = first.clone();
        mutate(&mut words, &mut rng);
        for stage in [Vertex, Fragment] {
            taken += usize::from(attempt_stage(&words, rng.below(2) == 0, Some(stage)));
        }
    }
    assert!(taken > 60, "{taken} mutated shaders are still shaders");
}

#[test]
fn mutated_modules_are_compiled_or_refused() {
    let first = module();
    assert!(attempt(&first, false) && attempt(&first, true));
    let mut rng = Rng::new(1);
    let mut taken = 0;
    for _ in 0..600 {
        let mut words = first.clone();
        mutate(&mut words, &mut rng);
        taken += usize::from(attempt(&words, rng.one_in(2)));
    }
    assert!(taken > 10, "{taken}");
}

#[test]
fn random_ir_is_compiled_or_refused() {
    for seed in 0..60 {
        let mut s = program(seed, &Config::all());
        if let Err(e @ (Error::Internal(_) | Error::Encode(_))) =
            compile(&mut s, &Options { robust: seed % 2 == 0, check: true, ..Options::default() })
        {
            panic!("seed {seed}: {e}");
        }
    }
}
