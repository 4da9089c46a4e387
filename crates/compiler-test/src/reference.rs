//! Draws triangles with the IR interpreter: vertices one group, pixels another, interpolation in 64
//! bits.

use std::collections::HashMap;

use tepui_ir::interp::{Fault, Group, Memory, run};
use tepui_ir::{Attrs, Builtin, Interp, IoLoc, IoSlot, Op, Shader};

/// Barycentric coordinates nearer to 0 than this do not say whether a pixel is covered.
const DOUBT: f64 = 1e-3;

/// Steps of a run.
const LIMIT: u64 = 1 << 24;

/// Output words of one vertex or pixel, by place and component.
pub type Words = HashMap<(IoLoc, u8), u32>;

/// Runs a vertex shader for vertices `first..first + count` of instance `instance`; `attribute`
/// gives input words.
///
/// # Errors
/// When the interpreter does not run it.
pub fn vertices(
    s: &Shader,
    memory: &mut Memory,
    (first, count): (u32, u32),
    instance: u32,
    attribute: &dyn Fn(u32, u16, u8) -> u32,
) -> Result<Vec<Words>, Fault> {
    let n = count as usize;
    let mut g = Group::plain(n);
    let each = |f: &dyn Fn(u32) -> u64| (0..count).map(|k| vec![f(k)]).collect::<Vec<_>>();
    g.builtins.insert(Builtin::VertexIndex, each(&|k| u64::from(first + k)));
    g.builtins.insert(Builtin::InstanceIndex, each(&|_| u64::from(instance)));
    g.builtins.insert(Builtin::BaseVertex, each(&|_| u64::from(first)));
    g.builtins.insert(Builtin::BaseInstance, each(&|_| 0));
    g.builtins.insert(Builtin::DrawIndex, each(&|_| 0));
    for loc in 0..32u16 {
        for c in 0..4 {
            let words = (0..count).map(|k| attribute(first + k, loc, c)).collect();
            g.inputs.insert((IoLoc::Location(loc), c), words);
        }
    }
    let out = run(s, &g, memory, LIMIT)?;
    let mut all = vec![Words::new(); n];
    for ((loc, c, _), words) in out.outputs {
        for (v, w) in all.iter_mut().zip(words) {
            if let Some(w) = w {
                v.insert((loc, c), w);
            }
        }
    }
    Ok(all)
}

/// The interpreter's result for a pixel.
#[derive(Clone, Debug, Default)]
pub struct Pixel {
    /// The triangle covers its centre, and nothing killed it.
    pub alive: bool,
    /// The centre is too near to an edge to say.
    pub doubtful: bool,
    /// Colours by location and component.
    pub colours: HashMap<(u8, u8), u32>,
    /// Depth that the shader wrote, or that of the triangle.
    pub depth: f32,
}

fn float(w: &Words, loc: IoLoc, c: u8) -> f64 {
    f64::from(f32::from_bits(w.get(&(loc, c)).copied().unwrap_or(0)))
}

/// Every input of a fragment shader.
fn slots(s: &Shader) -> Vec<(IoSlot, u8)> {
    let mut all = Vec::new();
    s.walk(|s, _, i| {
        if let (Op::LoadInput, Attrs::Io(slot)) = (s.insts[i].op, s.insts[i].attrs) {
            all.push((slot, s.ty(s.result(i)).comps()));
        }
    });
    all
}

/// Shades the pixels of a framebuffer with one triangle; pixels in rows.
///
/// # Errors
/// As [`vertices`].
pub fn triangle(
    s: &Shader,
    memory: &mut Memory,
    corners: [&Words; 3],
    [width, height]: [u32; 2],
    framebuffer: &HashMap<(IoLoc, u8), u32>,
) -> Result<Vec<Pixel>, Fault> {
    let position = IoLoc::Builtin(Builtin::Position);
    let clip = corners.map(|w| [0, 1, 2, 3].map(|c| float(w, position, c)));
    let window = clip.map(|[x, y, z, w]| {
        [(x / w * 0.5 + 0.5) * f64::from(width), (y / w * 0.5 + 0.5) * f64::from(height), z / w]
    });
    let edge = |a: [f64; 3], b: [f64; 3], x: f64, y: f64| {
        (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
    };
    let area = edge(window[0], window[1], window[2][0], window[2][1]);
    let n = (width * height) as usize;
    // Quads side by side.
    let place = |lane: u32| {
        let (quad, k) = (lane / 4, lane % 4);
        let across = width / 2;
        [quad % across * 2 + k % 2, quad / across * 2 + k / 2]
    };
    let mut g = Group::plain(n);
    let mut pixels = vec![Pixel::default(); n];
    let mut weights = Vec::with_capacity(n);
    for lane in 0..n as u32 {
        let [px, py] = place(lane);
        let (x, y) = (f64::from(px) + 0.5, f64::from(py) + 0.5);
        let b = [
            edge(window[1], window[2], x, y) / area,
            edge(window[2], window[0], x, y) / area,
            edge(window[0], window[1], x, y) / area,
        ];
        let inside = b.iter().all(|&b| b >= 0.0);
        g.helpers.push(!inside);
        let p = &mut pixels[lane as usize];
        p.alive = inside;
        // What is outside by another edge is certain.
        let least = b.iter().copied().fold(f64::INFINITY, f64::min);
        p.doubtful = least.abs() < DOUBT;
        p.depth = (0..3).map(|k| b[k] * window[k][2]).sum::<f64>() as f32;
        let over_w: f64 = (0..3).map(|k| b[k] / clip[k][3]).sum();
        weights.push((b, [0, 1, 2].map(|k| b[k] / clip[k][3] / over_w), over_w));
    }
    for (slot, comps) in slots(s) {
        for c in slot.component..slot.component + comps {
            let words = (0..n)
                .map(|l| {
                    let (linear, smooth, _) = &weights[l];
                    if slot.interp == Interp::Flat && matches!(slot.loc, IoLoc::Location(_)) {
                        return corners[0].get(&(slot.loc, c)).copied().unwrap_or(0);
                    }
                    let b = if slot.interp == Interp::Linear { linear } else { smooth };
                    let v: f64 = (0..3).map(|k| b[k] * float(corners[k], slot.loc, c)).sum();
                    (v as f32).to_bits()
                })
                .collect();
            g.inputs.insert((slot.loc, c), words);
        }
    }
    let mut builtin = |b, f: &dyn Fn(usize) -> Vec<u64>| {
        g.builtins.insert(b, (0..n).map(f).collect());
    };
    let bits = |v: f64| u64::from((v as f32).to_bits());
    let depths: Vec<f32> = pixels.iter().map(|p| p.depth).collect();
    builtin(Builtin::FragCoord, &|l| {
        let [x, y] = place(l as u32);
        let (x, y) = (f64::from(x) + 0.5, f64::from(y) + 0.5);
        vec![bits(x), bits(y), bits(f64::from(depths[l])), bits(weights[l].2)]
    });
    // Vulkan's y points down: a positive area on the screen is clockwise, which faces to the front
    // here.
    builtin(Builtin::FrontFacing, &|_| vec![u64::from(area > 0.0)]);
    builtin(Builtin::SampleId, &|_| vec![0]);
    builtin(Builtin::SamplePosition, &|_| vec![bits(0.5), bits(0.5)]);
    builtin(Builtin::SampleMask, &|l| vec![u64::from(pixels[l].alive)]);
    builtin(Builtin::PrimitiveId, &|_| vec![0]);
    builtin(Builtin::Layer, &|_| vec![0]);
    for (&key, &w) in framebuffer {
        g.framebuffer.insert(key, vec![w; n]);
    }
    let out = run(s, &g, memory, LIMIT)?;
    for ((loc, c, index), words) in out.outputs {
        for (l, w) in words.into_iter().enumerate() {
            let Some(w) = w else { continue };
            match loc {
                IoLoc::Location(n) if index == 0 => {
                    pixels[l].colours.insert((n as u8, c), w);
                }
                IoLoc::Builtin(Builtin::FragDepth) => pixels[l].depth = f32::from_bits(w),
                IoLoc::Builtin(Builtin::SampleMask) if c == 0 => pixels[l].alive &= w & 1 != 0,
                _ => {}
            }
        }
    }
    for (p, helper) in pixels.iter_mut().zip(out.helpers) {
        p.alive &= !helper;
    }
    // Reorders from quads to rows.
    let mut rows = vec![Pixel::default(); n];
    for (lane, p) in pixels.into_iter().enumerate() {
        let [x, y] = place(lane as u32);
        rows[(y * width + x) as usize] = p;
    }
    Ok(rows)
}
