//! Vertex attributes of every format that vertices can have, in the prolog and in the monolithic
//! program, and the ids.

use super::rig::{Linking, machine, wgsl};
use tepui_agx_bare::draw::{Draw, VertexBuffer};
use tepui_agx_bare::pair::Pair;
use tepui_agx_bare::shader::Bindings;
use tepui_agx_compiler::abi::attribute::{Attribute, Fetch};
use tepui_agx_compiler::abi::tile::Tile;
use tepui_agx_compiler::abi::{Beyond, Prolog};
use tepui_format::texel::TexelCodec;
use tepui_format::{Encoding, Format};
use tepui_ir::Stage;

/// One point for each vertex and instance; the attribute's words in the pixel.
fn source(kind: &str) -> String {
    format!(
        "struct V {{ @builtin(position) at: vec4f, @location(5) @interpolate(flat, first) value: {kind} }}
        @vertex fn vs(@builtin(vertex_index) n: u32, @builtin(instance_index) i: u32, @location(3) a: {kind}) -> V {{
            return V(vec4f((f32(n) + 0.5) / 16.0 - 1.0, (f32(i) + 0.5) / 16.0 - 1.0, 0.5, 1.0), a);
        }}
        @fragment fn fs(v: V) -> @location(0) vec4u {{ return bitcast<vec4u>(v.value); }}"
    )
}

/// Draws 8 vertices of 4 instances, from 3 and 2 on.
fn fetched(
    format: Format,
    stride: u32,
    per_instance: Option<u32>,
    bytes: &[u8],
    making: Linking,
) -> Vec<u32> {
    fetched_with(format, stride, per_instance, bytes, making, Beyond::First)
}

/// A fetch with a given value of elements past the end.
fn fetched_with(
    format: Format,
    stride: u32,
    per_instance: Option<u32>,
    bytes: &[u8],
    making: Linking,
    beyond: Beyond,
) -> Vec<u32> {
    let kind = match numeric(format) {
        tepui_format::Numeric::Uint => "vec4u",
        tepui_format::Numeric::Sint => "vec4i",
        _ => "vec4f",
    };
    let source = source(kind);
    let (vs, fs) = (wgsl(Stage::Vertex, &source), wgsl(Stage::Fragment, &source));
    let tile = Tile::single(Format::R32G32B32A32_UINT);
    let attribute = Attribute { format, stride, per_instance };
    let mut all = vec![None; 4];
    all[3] = Some(attribute);
    let prolog = Prolog::default();
    let pair = Pair {
        vertex: &vs,
        fragment: &fs,
        tile: &tile,
        attributes: &all,
        beyond,
        prolog,
        multiview: false,
    };
    let (v, f) = pair.programs(making).unwrap_or_else(|e| panic!("{format:?}: {e}"));
    let mut m = machine();
    let buffer = m.buffer(bytes.len()).expect("a buffer");
    buffer.write(bytes).expect("the buffer");
    let none = Bindings::default();
    let mut d = Draw::triangles(&v, &f, &tile, [32; 2], &none);
    d.primitive = tepui_agx_packets::vdm::Primitive::Points;
    (d.first_vertex, d.vertices) = (3, 8);
    (d.first_instance, d.instances) = (2, 4);
    d.attributes = vec![None; 4];
    d.attributes[3] = Some(VertexBuffer { buffer, attribute, offset: 0 });
    let p = m.draw(&d).unwrap_or_else(|e| panic!("{format:?}: {e}\n{}", super::rig::listing(&v)));
    p.colours[&0].chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn numeric(format: Format) -> tepui_format::Numeric {
    match &format.info().encoding {
        Encoding::Plain(c) => c.as_slice()[0].numeric,
        _ => tepui_format::Numeric::Ufloat,
    }
}

/// An element as the API reads it.
fn decoded(format: Format, element: &[u8]) -> [u32; 4] {
    let codec = TexelCodec::new(format).expect("a codec");
    let raw = tepui_format::texel::load(element);
    match numeric(format) {
        tepui_format::Numeric::Uint => codec.unpack_u32(raw),
        tepui_format::Numeric::Sint => codec.unpack_i32(raw).map(|v| v as u32),
        _ => codec.unpack_f32(raw).map(f32::to_bits),
    }
}

fn bytes(n: usize) -> Vec<u8> {
    let mut x = 0x1234_5678u32;
    (0..n)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            (x >> 11) as u8
        })
        .collect()
}

#[test]
fn every_format() {
    let mut count = 0;
    for format in Format::all() {
        let srgb = numeric(format) == tepui_format::Numeric::Srgb;
        if Fetch::new(format).is_none() || srgb || TexelCodec::new(format).is_err() {
            continue;
        }
        count += 1;
        let size = format.info().block.bytes;
        let stride = size.next_multiple_of(4) * 2;
        let data = bytes(64 * stride as usize);
        for making in [Linking::Monolithic, Linking::Separate] {
            let got = fetched(format, stride, None, &data, making);
            for n in 3..11usize {
                let want = decoded(format, &data[n * stride as usize..][..size as usize]);
                for i in 2..6 {
                    for c in 0..4 {
                        let g = got[(i * 32 + n) * 4 + c];
                        let near = |a: u32, b: u32| {
                            let (a, b) = (f32::from_bits(a), f32::from_bits(b));
                            (a - b).abs() <= 1e-6 * b.abs() || a.is_nan() && b.is_nan()
                                // Denormal numbers are flushed on the way.
                                || a.abs() < 1.2e-38 && b.abs() < 1.2e-38
                        };
                        let same =
                            g == want[c] || !numeric(format).is_integer() && near(g, want[c]);
                        assert!(
                            same,
                            "{making:?} {format:?} vertex {n} component {c}: {g:#x}, not {:#x}",
                            want[c]
                        );
                    }
                }
            }
        }
    }
    assert!(count > 60, "{count} formats");
}

#[test]
fn divisors_and_strides() {
    let format = Format::R32_UINT;
    let data: Vec<u8> = (0..512u32).flat_map(|k| (k * 3 + 1).to_le_bytes()).collect();
    for divisor in [0u32, 1, 2, 3, 5, 7, 64, 641] {
        for stride in [4u32, 8, 12, 16, 0] {
            for making in [Linking::Monolithic, Linking::Separate] {
                let got = fetched(format, stride, Some(divisor), &data, making);
                for i in 2..6u32 {
                    let element = 2 + (i - 2).checked_div(divisor).unwrap_or(0);
                    // One element for all when the stride is 0.
                    let element = if stride == 0 { 0 } else { element };
                    let want = element * stride / 4 * 3 + 1;
                    let g = got[((i * 32 + 5) * 4) as usize];
                    assert_eq!(
                        g, want,
                        "{making:?} divisor {divisor} stride {stride} instance {i}"
                    );
                }
            }
        }
    }
}

#[test]
fn elements_past_the_end_are_the_first() {
    let format = Format::R32_UINT;
    let data: Vec<u8> = (0..6u32).flat_map(|k| (k + 40).to_le_bytes()).collect();
    for making in [Linking::Monolithic, Linking::Separate] {
        let got = fetched(format, 4, None, &data, making);
        for n in 3..11usize {
            let want = if n < 6 { n as u32 + 40 } else { 40 };
            assert_eq!(got[(2 * 32 + n) * 4], want, "{making:?} {n}");
        }
    }
}

/// With robust access they are zeros, selected or read where there is no memory; components that the
/// format lacks keep their defaults.
#[test]
fn elements_past_the_end_are_zeros() {
    for (format, lacking) in [
        (Format::R32G32B32A32_UINT, [0; 4]),
        (Format::R32G32B32_UINT, [0, 0, 0, 1]),
        (Format::R8G8B8A8_UNORM, [0; 4]),
        (Format::R16G16_SFLOAT, [0, 0, 0, 1f32.to_bits()]),
        (Format::A2B10G10R10_UNORM_PACK32, [0; 4]),
    ] {
        let stride = format.info().block.bytes;
        let data = bytes(6 * stride as usize);
        for making in [Linking::Monolithic, Linking::Separate] {
            let inside = fetched(format, stride, None, &data, making);
            for beyond in [Beyond::Zeros, Beyond::Unbound] {
                let got = fetched_with(format, stride, None, &data, making, beyond);
                for n in 3..11usize {
                    let at = (2 * 32 + n) * 4;
                    let want = if n < 6 { &inside[at..at + 4] } else { &lacking };
                    assert_eq!(got[at..at + 4], *want, "{format:?} {making:?} {beyond:?} {n}");
                }
            }
        }
    }
}
