//! Blend equations, write masks, logical operations, against the same in 64 bits here.

use super::rig::{Linking, machine, programs, texel, wgsl};
use tepui_agx_bare::draw::Draw;
use tepui_agx_bare::shader::Bindings;
use tepui_agx_compiler::abi::tile::{Blend, Tile};
use tepui_format::Format::{self, R8G8B8A8_UINT, R8G8B8A8_UNORM, R32G32B32A32_SFLOAT};
use tepui_ir::Stage;
use tepui_passes::lower_blend::{
    Advanced, Combine, Equation, Factor, Location, Mode, Operation, Overlap, Weight,
};

const SOURCE: [f64; 4] = [0.75, 0.25, 1.5, 0.5];
const SECOND: [f64; 4] = [0.5, 1.0, 0.25, 0.125];
const CLEAR: [f64; 4] = [0.25, 0.5, 1.0, 0.75];
const CONSTANT: [f64; 4] = [0.125, 0.875, 0.5, 0.25];

fn source(kind: &str, dual: bool) -> String {
    let colour = |c: [f64; 4]| {
        let c = if kind == "vec4u" { c.map(|v| (v * 200.0).round()) } else { c };
        let text: Vec<String> = c
            .iter()
            .map(|v| if kind == "vec4u" { format!("{v}u") } else { format!("{v:?}") })
            .collect();
        format!("{kind}({})", text.join(", "))
    };
    let vertex = "@vertex fn vs(@builtin(vertex_index) n: u32) -> @builtin(position) vec4f {
        return vec4f(f32(n & 1u) * 4.0 - 1.0, f32(n >> 1u) * 4.0 - 1.0, 0.5, 1.0);
    }";
    let (first, second) = (colour(SOURCE), colour(SECOND));
    if dual {
        return format!(
            "enable dual_source_blending;
            struct O {{ @location(0) @blend_src(0) a: {kind}, @location(0) @blend_src(1) b: {kind} }}
            {vertex}
            @fragment fn fs() -> O {{ return O({first}, {second}); }}"
        );
    }
    format!("{vertex} @fragment fn fs() -> @location(0) {kind} {{ return {first}; }}")
}

fn draw(blend: &Blend, format: Format, dual: bool, making: Linking) -> Vec<u32> {
    let kind = if format == R8G8B8A8_UINT { "vec4u" } else { "vec4f" };
    draw_of(blend, format, &source(kind, dual), making)
}

fn draw_of(blend: &Blend, format: Format, source: &str, making: Linking) -> Vec<u32> {
    let (vs, fs) = (wgsl(Stage::Vertex, source), wgsl(Stage::Fragment, source));
    let tile = Tile { blend: blend.clone(), ..Tile::single(format) };
    let (v, f) = programs(&vs, &fs, &tile, &[], making);
    let none = Bindings::default();
    let mut d = Draw::triangles(&v, &f, &tile, [32; 2], &none);
    d.clear = match format {
        R8G8B8A8_UINT => CLEAR.map(|v| (v * 200.0).round() as u32),
        _ => CLEAR.map(|v| (v as f32).to_bits()),
    };
    d.blend_constant = CONSTANT.map(|v| v as f32);
    let p = machine().draw(&d).unwrap_or_else(|e| panic!("{e}\n{}", super::rig::listing(&f)));
    texel(format, &p.colours[&0][16 * 33..])
}

fn factor(f: Weight, c: usize, s: [f64; 4], d: [f64; 4], s1: [f64; 4], k: [f64; 4]) -> f64 {
    let v = match f.factor {
        Factor::Zero => 0.0,
        Factor::One => 1.0,
        Factor::Source => s[c],
        Factor::SourceAlpha => s[3],
        Factor::Source1 => s1[c],
        Factor::Source1Alpha => s1[3],
        Factor::Destination => d[c],
        Factor::DestinationAlpha => d[3],
        Factor::Constant => k[c],
        Factor::ConstantAlpha => k[3],
        Factor::SourceAlphaSaturate if c == 3 => 1.0,
        Factor::SourceAlphaSaturate => s[3].min(1.0 - d[3]),
    };
    if f.inverted { 1.0 - v } else { v }
}

#[test]
fn every_factor_and_equation() {
    let factors = [
        Factor::Zero,
        Factor::One,
        Factor::Source,
        Factor::SourceAlpha,
        Factor::Source1,
        Factor::Source1Alpha,
        Factor::Destination,
        Factor::DestinationAlpha,
        Factor::Constant,
        Factor::ConstantAlpha,
        Factor::SourceAlphaSaturate,
    ];
    let combines =
        [Combine::Add, Combine::Subtract, Combine::ReverseSubtract, Combine::Min, Combine::Max];
    for (n, &a) in factors.iter().enumerate() {
        for (format, inverted) in [(R8G8B8A8_UNORM, false), (R32G32B32A32_SFLOAT, true)] {
            let b = factors[(n * 3 + 2 + usize::from(inverted)) % factors.len()];
            let q = |a, b, combine| Equation {
                source: Weight { factor: a, inverted },
                destination: Weight { factor: b, inverted: !inverted },
                combine,
            };
            let equations = [q(a, b, combines[n % 5]), q(b, a, combines[(n + 2) % 5])];
            let mut blend = Blend::default();
            blend.locations[0] = Location { mode: Mode::Equations(equations), write_mask: 0xf };
            let clamp = |v: f64| if format == R8G8B8A8_UNORM { v.clamp(0.0, 1.0) } else { v };
            let (s, s1) = (SOURCE.map(clamp), SECOND.map(clamp));
            let d = if format == R8G8B8A8_UNORM {
                CLEAR.map(|v| (v * 255.0).round_ties_even() / 255.0)
            } else {
                CLEAR
            };
            let want: Vec<f64> = (0..4)
                .map(|c| {
                    let q = equations[usize::from(c == 3)];
                    let x = s[c] * factor(q.source, c, s, d, s1, CONSTANT);
                    let y = d[c] * factor(q.destination, c, s, d, s1, CONSTANT);
                    clamp(match q.combine {
                        Combine::Add => x + y,
                        Combine::Subtract => x - y,
                        Combine::ReverseSubtract => y - x,
                        Combine::Min => s[c].min(d[c]),
                        Combine::Max => s[c].max(d[c]),
                    })
                })
                .collect();
            let dual = [a, b].iter().any(|f| matches!(f, Factor::Source1 | Factor::Source1Alpha));
            for making in [Linking::Monolithic, Linking::Separate] {
                let got = draw(&blend, format, dual, making);
                for c in 0..4 {
                    let g = f64::from(f32::from_bits(got[c]));
                    let tolerance = if format == R8G8B8A8_UNORM { 0.51 / 255.0 } else { 1e-5 };
                    assert!(
                        (g - want[c]).abs() <= tolerance,
                        "{making:?} {format:?} {equations:?} component {c}: {g}, not {}",
                        want[c]
                    );
                }
            }
        }
    }
}

#[test]
fn advanced_results_are_clamped_on_demand() {
    for (clamp, making) in [(false, Linking::Monolithic), (true, Linking::Separate)] {
        let advanced = Advanced {
            operation: Operation::Plus,
            source_premultiplied: true,
            destination_premultiplied: true,
            overlap: Overlap::Uncorrelated,
            clamp,
        };
        let mut blend = Blend::default();
        blend.locations[0] = Location { mode: Mode::Advanced(advanced), write_mask: 0xf };
        let got = draw(&blend, R32G32B32A32_SFLOAT, false, making);
        let want = [0, 1, 2, 3].map(|c| SOURCE[c] + CLEAR[c]);
        let want = want.map(|v| if clamp { v.min(1.0) } else { v });
        let got: Vec<f64> = got.iter().map(|&w| f64::from(f32::from_bits(w))).collect();
        assert_eq!(got, want, "{clamp}");
    }
}

#[test]
fn masks_keep_components() {
    let mut blend = Blend::default();
    blend.locations[0].write_mask = 0b0101;
    for making in [Linking::Monolithic, Linking::Separate] {
        let got = draw(&blend, R32G32B32A32_SFLOAT, false, making);
        let got: Vec<f64> = got.iter().map(|&w| f64::from(f32::from_bits(w))).collect();
        assert_eq!(got, [SOURCE[0], CLEAR[1], SOURCE[2], CLEAR[3]], "{making:?}");
    }
}

#[test]
fn logical_operations() {
    let (s, d) = (SOURCE.map(|v| (v * 200.0) as u32), CLEAR.map(|v| (v * 200.0) as u32));
    for table in 0..16u8 {
        let blend = Blend { logic: Some(table), ..Blend::default() };
        let want: Vec<u32> = (0..4)
            .map(|c| {
                let bit = |b: u32| (s[c] >> b & 1) | (d[c] >> b & 1) << 1;
                let r = (0..32).fold(0u32, |r, b| r | u32::from(table >> bit(b) & 1) << b);
                r & 0xff
            })
            .collect();
        for making in [Linking::Monolithic, Linking::Separate] {
            // 300 does not fit into the target; its low bits take part.
            let got = draw(&blend, R8G8B8A8_UINT, false, making);
            assert_eq!(got, want, "{making:?} {table:04b}");
        }
    }
}

#[test]
fn alpha_takes_coverage_away_and_counts_as_one() {
    for making in [Linking::Monolithic, Linking::Separate] {
        // An alpha of a half leaves the only sample.
        let blend = Blend { alpha_to_coverage: true, alpha_to_one: true, ..Blend::default() };
        let got = draw(&blend, R32G32B32A32_SFLOAT, false, making);
        let got: Vec<f64> = got.iter().map(|&w| f64::from(f32::from_bits(w))).collect();
        assert_eq!(got, [SOURCE[0], SOURCE[1], SOURCE[2], 1.0], "{making:?}");
        let got = draw_of(
            &blend,
            R32G32B32A32_SFLOAT,
            &source("vec4f", false).replace("1.5, 0.5", "1.5, 0.25"),
            making,
        );
        let got: Vec<f64> = got.iter().map(|&w| f64::from(f32::from_bits(w))).collect();
        assert_eq!(got, CLEAR, "{making:?}");
    }
}
