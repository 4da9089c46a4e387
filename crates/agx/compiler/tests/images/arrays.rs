//! More images and samplers than there are state registers, and than addresses of bindings fit where
//! texture instructions can encode them.

use std::fmt::Write as _;

use tepui_agx_bare::image::ImageInfo;
use tepui_agx_bare::shader::Bindings;
use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::{Options, Program, Source, compile};
use tepui_agx_packets::sampler::{Sampler, Wrap};
use tepui_format::Format;

/// Bindings of images, from binding 1 on; as many of samplers follow.
const BINDINGS: u32 = 96;
/// Elements of each.
const ELEMENTS: u32 = 2;

/// Adds up a texel outside of each image, times the number of its binding: the border's zero or the
/// edge's texel, as the sampler says. `index` is the value with the array element.
fn program(index: &str) -> Program {
    let mut text = String::from(
        "shader compute \"main\" {\n  workgroup_size 32 1 1\n  resource storage_buffer set 0 binding 0 count 1 2d float \"\"\n",
    );
    for k in 0..BINDINGS {
        writeln!(text, "  resource texture set 0 binding {} count {ELEMENTS} 2d uint \"\"", 1 + k)
            .expect("memory");
    }
    for k in 0..BINDINGS {
        let binding = 1 + BINDINGS + k;
        writeln!(text, "  resource sampler set 0 binding {binding} count {ELEMENTS} 2d float \"\"")
            .expect("memory");
    }
    text += "  body {
    %0:b32 = const[0x0]
    %1:b64 = descriptor[@r0] %0
    %2:b32 = load_builtin[local_invocation_index]
    %3:b32 = const[0x1]
    %4:b32 = iand %2, %3
    %5:b32 = const[0x3fc00000]
    %6:b32x2 = vec %5, %5
";
    let mut next = 7;
    let mut sum = 0;
    for k in 0..BINDINGS {
        let (image, sampler) = (1 + k, 1 + BINDINGS + k);
        let [t, s, v, x, f, p, new] = std::array::from_fn(|j| next + j);
        next += 7;
        writeln!(
            text,
            "    %{t}:b64 = descriptor[@r{image}] {index}
    %{s}:b64 = descriptor[@r{sampler}] {index}
    %{v}:b32x4 = tex_sample_lod[2d uint lod] %{t}, %{s}, %6, %0
    %{x}:b32 = extract[0] %{v}
    %{f}:b32 = const[{:#x}]
    %{p}:b32 = imul %{x}, %{f}
    %{new}:b32 = iadd %{sum}, %{p}",
            1 + k
        )
        .expect("memory");
        sum = new;
    }
    let (shift, at) = (next, next + 1);
    writeln!(
        text,
        "    %{shift}:b32 = const[0x2]
    %{at}:b32 = ishl %2, %{shift}
    store_buffer[align 4] %1, %{at}, %{sum}
    yield
  }}
}}"
    )
    .expect("memory");
    let mut s = tepui_ir::parse(&text).expect("a shader");
    tepui_ir::validate(&s).expect("a valid one");
    compile(&mut s, &Options::default()).expect("compiles")
}

/// Every third sampler gives the edge's texel.
fn is_clamped(binding: u32, element: u32) -> bool {
    (binding + element).is_multiple_of(3)
}

fn texel(binding: u32, element: u32) -> u32 {
    1 + 1000 * binding + element
}

fn run(program: &Program) -> Vec<u32> {
    let options = tepui_agx_model::Options { threads: 1, ..Default::default() };
    let mut m = Machine::new(options).expect("a machine");
    let mut bindings = Bindings::default();
    let out = m.buffer(32 * 4).expect("a buffer");
    bindings.buffers.insert((0, 0, 0), out.clone());
    for k in 0..BINDINGS {
        for e in 0..ELEMENTS {
            let image = m.image(&ImageInfo::new_2d(Format::R32_UINT, 2, 2)).expect("an image");
            let texels: Vec<u8> = [texel(k, e); 4].into_iter().flat_map(u32::to_le_bytes).collect();
            image.write(0, 0, &texels).expect("texels");
            bindings.images.insert((0, 1 + k, e), image.row().expect("a row"));
            let wrap = if is_clamped(k, e) { Wrap::ClampToEdge } else { Wrap::ClampToBorder };
            let sampler = Sampler { wrap_s: wrap, wrap_t: wrap, ..Sampler::default() };
            let sampler = tepui_agx_bare::image::sampler(&sampler).expect("a sampler");
            bindings.samplers.insert((0, 1 + BINDINGS + k, e), sampler);
        }
    }
    shader::run(&mut m, program, &bindings, [1; 3]).expect("runs");
    out.read_words().expect("words")
}

fn expected(element: u32) -> u32 {
    let of = |k| if is_clamped(k, element) { texel(k, element) * (1 + k) } else { 0 };
    (0..BINDINGS).map(of).sum()
}

#[test]
fn arrays_are_found_by_their_set() {
    let program = program("%4");
    assert!(program.uniforms.iter().any(|u| matches!(u.source, Source::SetAddress { .. })));
    for (lane, got) in run(&program).into_iter().enumerate() {
        assert_eq!(got, expected(lane as u32 % ELEMENTS), "lane {lane}");
    }
}

#[test]
fn images_behind_the_state_registers_are_found() {
    let got = run(&program("%3"));
    assert_eq!(got, [expected(1); 32]);
}
