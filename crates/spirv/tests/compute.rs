//! Compute shaders from WGSL and GLSL: translated, run by the interpreter, optimised, run again.

use naga::ShaderStage;
use tepui_ir::interp::{Memory, dispatch};
use tepui_ir::{Shader, validate};
use tepui_passes::pipeline;
use tepui_spirv::{Options, translate};

fn spv(module: &naga::Module) -> Vec<u32> {
    let info = naga::valid::Validator::new(
        naga::valid::ValidationFlags::all(),
        naga::valid::Capabilities::all(),
    )
    .validate(module)
    .unwrap();
    let options = naga::back::spv::Options { lang_version: (1, 3), ..Default::default() };
    naga::back::spv::write_vec(module, &info, &options, None).unwrap()
}

fn wgsl(src: &str) -> Vec<u32> {
    spv(&naga::front::wgsl::parse_str(src).unwrap())
}

fn glsl(src: &str) -> Vec<u32> {
    let options = naga::front::glsl::Options::from(ShaderStage::Compute);
    spv(&naga::front::glsl::Frontend::default().parse(&options, src).unwrap())
}

fn check(words: &[u32], input: &[u32], want: &[u32]) {
    let mut s = translate(words, &Options::default()).unwrap();
    validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    let run = |s: &Shader| {
        let mut m = Memory::default();
        m.set_words(0, 0, input);
        dispatch(s, [1; 3], &mut m, 10_000_000).unwrap_or_else(|e| panic!("{e}\n{s}"));
        m.words(0, 0)
    };
    assert_eq!(&run(&s)[..want.len()], want, "{s}");
    let before = s.to_string();
    pipeline::optimise(&mut s);
    validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    assert_eq!(&run(&s)[..want.len()], want, "{before}\nbecame\n{s}");
}

/// A body on `x`, run for each element of the buffer.
fn check_wgsl(body: &str, f: fn(u32) -> u32) {
    let src = format!(
        "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
        fn f(x: u32) -> u32 {{ {body} }}
        @compute @workgroup_size(16) fn main(@builtin(local_invocation_index) i: u32) {{ data[i] = f(data[i]); }}"
    );
    let input: Vec<u32> = (0..16).collect();
    let want: Vec<u32> = input.iter().map(|&x| f(x)).collect();
    check(&wgsl(&src), &input, &want);
}

#[test]
fn early_returns_from_loops() {
    check_wgsl(
        "var s = 0u; for (var i = 0u; i < 10u; i++) { if (i == x) { return 100u + s; } if (i == 4u) { continue; } s += i; } return s;",
        |x| {
            let mut s = 0;
            for i in 0..10 {
                if i == x {
                    return 100 + s;
                }
                if i == 4 {
                    continue;
                }
                s += i;
            }
            s
        },
    );
}

#[test]
fn nested_loops_with_breaks_and_a_switch() {
    check_wgsl(
        "var s = 1u;
         for (var i = 0u; i < 4u; i++) {
           for (var j = 0u; ; j++) {
             if (j > x) { break; }
             switch ((i + j) % 5u) {
               case 0u: { s += 1u; }
               case 1u, 2u: { if (s > 20u) { break; } s *= 2u; }
               case 3u: { s += x; continue; }
               default: { if (x == 7u) { return s; } }
             }
             s += 3u;
           }
           if (s > 1000u) { break; }
         }
         return s;",
        |x| {
            let mut s = 1u32;
            'outer: for i in 0..4 {
                let mut j = 0;
                loop {
                    if j > x {
                        break;
                    }
                    match (i + j) % 5 {
                        0 => s += 1,
                        1 | 2 => {
                            if s <= 20 {
                                s *= 2;
                            }
                        }
                        3 => {
                            s += x;
                            j += 1;
                            continue;
                        }
                        _ => {
                            if x == 7 {
                                return s;
                            }
                        }
                    }
                    s += 3;
                    j += 1;
                }
                if s > 1000 {
                    break 'outer;
                }
            }
            s
        },
    );
}

#[test]
fn do_while_and_continuing() {
    check_wgsl(
        "var i = x; var n = 0u; loop { if (i == 1u || i == 0u) { break; } if (i % 2u == 0u) { i = i / 2u; continue; } i = 3u * i + 1u; continuing { n++; break if n > 12u; } } return n;",
        |x| {
            let (mut i, mut n) = (x, 0);
            loop {
                if i <= 1 {
                    break;
                }
                i = if i % 2 == 0 { i / 2 } else { 3 * i + 1 };
                n += 1;
                if n > 12 {
                    break;
                }
            }
            n
        },
    );
}

#[test]
fn arrays_structs_and_dynamic_indices() {
    check_wgsl(
        "var a = array<vec3<u32>, 4>(); for (var i = 0u; i < 4u; i++) { a[i] = vec3<u32>(i, i * x, 7u); } a[x % 4u][x % 3u] = 50u; return a[(x + 1u) % 4u].y + a[x % 4u][x % 3u] + a[2].z;",
        |x| {
            let mut a = [[0u32; 3]; 4];
            for (i, v) in a.iter_mut().enumerate() {
                *v = [i as u32, i as u32 * x, 7];
            }
            a[x as usize % 4][x as usize % 3] = 50;
            a[(x as usize + 1) % 4][1] + a[x as usize % 4][x as usize % 3] + a[2][2]
        },
    );
}

#[test]
fn fallthrough_in_glsl_switches() {
    let src = "#version 450
        layout(local_size_x = 8) in;
        layout(std430, binding = 0) buffer B { uint data[]; };
        void main() {
          uint i = gl_LocalInvocationIndex, r = 0u;
          switch (data[i]) {
            case 0u: r += 1u;
            case 1u: r += 10u; break;
            case 5u: r += 100u;
            case 2u: if (i > 4u) break;
            default: r += 1000u;
          }
          data[i] = r;
        }";
    let want = [11, 10, 1000, 1000, 1000, 100, 1000, 1000];
    check(&glsl(src), &[0, 1, 2, 3, 4, 5, 6, 7], &want);
}

#[test]
fn shared_memory_and_barriers() {
    let src = "var<workgroup> t: array<u32, 64>;
        @group(0) @binding(0) var<storage, read_write> data: array<u32>;
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
          t[i] = data[i];
          for (var d = 1u; d < 64u; d = d * 2u) {
            workgroupBarrier();
            var v = t[i];
            if (i >= d) { v += t[i - d]; }
            workgroupBarrier();
            t[i] = v;
          }
          data[i] = t[i];
        }";
    let input: Vec<u32> = (0..64).map(|i| i * i % 17).collect();
    let want: Vec<u32> = input
        .iter()
        .scan(0, |s, x| {
            *s += x;
            Some(*s)
        })
        .collect();
    check(&wgsl(src), &input, &want);
}

#[test]
fn atomics_and_matrices() {
    let src = "@group(0) @binding(0) var<storage, read_write> data: array<atomic<u32>>;
        @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {
          let m = mat3x3<f32>(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, f32(i));
          let v = transpose(m) * (m * vec3<f32>(1.0, 0.0, 2.0));
          atomicAdd(&data[0], i);
          atomicMax(&data[1], u32(dot(v, vec3<f32>(1.0))));
          atomicOr(&data[2], 1u << i);
        }";
    // m * (1, 0, 2) = (15, 18, 3 + 2i); columns dotted with it, summed, at i = 31.
    let (x, y, z) = (15.0, 18.0, 65.0);
    let max: f32 =
        (x + 2.0 * y + 3.0 * z) + (4.0 * x + 5.0 * y + 6.0 * z) + (7.0 * x + 8.0 * y + 31.0 * z);
    check(&wgsl(src), &[0; 4], &[496, max as u32, u32::MAX, 0]);
}

/// Two shaders compute an invariant position identically, although the surrounding code suggests
/// different rounding.
#[test]
fn invariant_positions_are_computed_alike() {
    let position = |rest: &str| {
        let words = wgsl(&format!(
            "struct Out {{ @builtin(position) @invariant at: vec4<f32>, @location(0) more: f32 }}
            @group(0) @binding(0) var<uniform> m: mat4x4<f32>;
            @vertex fn main(@location(0) p: vec4<f32>) -> Out {{
                var out: Out;
                let q = m * p;
                out.at = q * 3.0 + q.wzyx;
                {rest}
                return out;
            }}"
        ));
        let mut s = translate(&words, &Options::default()).unwrap();
        pipeline::optimise(&mut s);
        let text = s.to_string();
        text.lines().filter(|line| line.contains(".exact")).count()
    };
    let alone = position("out.more = 1.0;");
    assert!(alone > 16, "{alone} exact instructions");
    for rest in ["out.more = q.x * q.y + q.z;", "out.more = (m * p).w * p.x * 3.0;"] {
        assert_eq!(position(rest), alone, "{rest}");
    }
}
