//! Depth, stencil, and the order of tests.

use super::basics::{VERTEX, fragment};
use super::rig::{Case, Linking};
use tepui_agx_bare::draw::DepthStencil;
use tepui_agx_packets::ppp::ZsFunc;
use tepui_format::Format::R32G32B32A32_SFLOAT;

const CLEAR: [f32; 4] = [0.25, 0.5, 0.75, 1.0];

fn case(body: &str) -> Case<'static> {
    let mut c = Case::new(VERTEX, &fragment(body), R32G32B32A32_SFLOAT);
    c.clear = CLEAR.map(f32::to_bits);
    c
}

#[test]
fn a_written_depth_is_tested() {
    for (function, passes) in [
        (ZsFunc::Less, (|z| z < 1.0) as fn(f32) -> bool),
        (ZsFunc::Equal, |z| z == 1.0),
        (ZsFunc::Always, |_| true),
        (ZsFunc::Never, |_| false),
    ] {
        let change = move |d: &mut tepui_agx_bare::draw::Draw<'_>| {
            d.tests = DepthStencil { depth: function, stencil: None };
        };
        let keep = move |p: &tepui_compiler_test::reference::Pixel| passes(p.depth);
        for body in [
            "o = colour; gl_FragDepth = colour.x > 0.0 ? 1.0 : 0.5;",
            "if (colour.y > 0.25) discard; o = colour.wzyx; gl_FragDepth = colour.x > 0.0 ? 1.0 : 0.5;",
            "o = colour;",
            "if (colour.y > 0.25) discard; o = colour;",
        ] {
            let mut c = case(body);
            c.change = &change;
            c.passes = &keep;
            if function == ZsFunc::Never || function == ZsFunc::Equal && !body.contains("Depth") {
                // Every fragment is discarded.
                for making in [super::rig::Linking::Monolithic, super::rig::Linking::Separate] {
                    let (p, ..) = c.draw(making);
                    let clear: Vec<u8> = CLEAR.iter().flat_map(|f| f.to_le_bytes()).collect();
                    assert!(p.colours[&0].chunks(16).all(|t| t == clear));
                }
            } else {
                c.check();
            }
        }
    }
}

#[test]
fn tests_that_are_forced_to_be_early_ignore_what_the_shader_does() {
    let source = |body: &str| {
        fragment(body).replace(
            "layout(location = 0) in",
            "layout(early_fragment_tests) in;\nlayout(location = 0) in",
        )
    };
    let change = |d: &mut tepui_agx_bare::draw::Draw<'_>| {
        d.tests = DepthStencil { depth: ZsFunc::Less, stencil: None };
    };
    for body in [
        "o = colour; gl_FragDepth = 2.0;",
        "if (colour.x > 0.0) discard; o = colour;",
        "o = colour; for (int i = 0; i < 3; i++) { if (colour.z * float(i) > 2.5) discard; o.x += 1.0; }",
    ] {
        let mut c = Case::new(VERTEX, &source(body), R32G32B32A32_SFLOAT);
        c.clear = CLEAR.map(f32::to_bits);
        c.change = &change;
        c.check();
    }
}

#[test]
fn a_written_stencil_value_is_tested() {
    // An output that is turned into the stencil value: the front end for GLSL has no name for it.
    for body in [
        "o = colour; s = uint(gl_FragCoord.x) & 1u;",
        "if (colour.y > 0.25) discard; o = colour; s = uint(gl_FragCoord.x) & 1u; gl_FragDepth = 0.5;",
    ] {
        let source =
            fragment(body).replace("void main", "layout(location = 9) out uint s;\nvoid main");
        let mut c = Case::new(VERTEX, &source, R32G32B32A32_SFLOAT);
        for d in c.fs.insts.values_mut() {
            if let tepui_ir::Attrs::Io(slot) = &mut d.attrs
                && slot.loc == tepui_ir::IoLoc::Location(9)
            {
                slot.loc = tepui_ir::IoLoc::Builtin(tepui_ir::Builtin::FragStencilRef);
            }
        }
        c.clear = CLEAR.map(f32::to_bits);
        c.change = &|d| d.tests.stencil = Some(ZsFunc::Equal);
        let want = c.reference();
        for making in [Linking::Monolithic, Linking::Separate] {
            let (p, ..) = c.draw(making);
            for (k, pixel) in want.iter().enumerate().filter(|p| !p.1.doubtful) {
                // The tile's stencil is 0.
                let alive = pixel.alive && k % 2 == 0;
                let got = super::rig::texel(R32G32B32A32_SFLOAT, &p.colours[&0][k * 16..])[0];
                let kept = got == CLEAR[0].to_bits();
                assert_eq!(kept, !alive, "{making:?} {k}: {}", f32::from_bits(got));
            }
        }
    }
}
