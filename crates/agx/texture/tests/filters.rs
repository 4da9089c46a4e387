//! Every filter, wrap and dimension against a reference in double precision.

#![allow(clippy::needless_range_loop, clippy::type_complexity, reason = "lanes are counted")]

mod common;

use common::reference::{self, State, Texels};
use common::{Flat, Make, Picture, Random, bits, read, sampler};
use tepui_agx_layout::{Texel, Tiling};
use tepui_agx_packets::sampler::{BorderColour, Filter, MipFilter, Wrap};
use tepui_agx_packets::texture::{Channels, TextureDimension, TextureType};
use tepui_agx_texture::{Kind, LANES, LodSource, Operands, Request, Unit};

const WRAPS: [Wrap; 6] = [
    Wrap::ClampToEdge,
    Wrap::Repeat,
    Wrap::MirroredRepeat,
    Wrap::ClampToBorder,
    Wrap::ClampGl,
    Wrap::MirroredClampToEdge,
];

struct Image<'a> {
    picture: &'a Picture,
    memory: &'a Flat,
}

impl Texels for Image<'_> {
    fn size(&self, level: u32) -> [i64; 3] {
        let l = &self.picture.layout.levels()[level as usize];
        [i64::from(l.extent_px.w), i64::from(l.extent_px.h), i64::from(l.depth_px)]
    }

    fn levels(&self) -> u32 {
        self.picture.texture.last_level + 1
    }

    fn texel(&self, level: u32, layer: u32, at: [i64; 3]) -> [f64; 4] {
        let [x_px, y_px, z_px] = at.map(|v| v as u32);
        let layer = if self.picture.desc.shape.dimension == tepui_agx_layout::Dimension::D3 {
            0
        } else {
            layer
        };
        let at = Texel { level, layer, x_px, y_px, z_px, sample: 0 };
        self.picture.texel(self.memory, at).map(f64::from)
    }
}

fn axes(dimension: TextureDimension) -> usize {
    match dimension {
        TextureDimension::D1 | TextureDimension::D1Array => 1,
        TextureDimension::D3 => 3,
        _ => 2,
    }
}

/// Samples at random places and compares.
fn check(make: &Make, state: &State, windows: bool, seed: u64) {
    let picture = Picture::new(make);
    let mut memory = picture.noise(seed);
    memory.windows = windows;
    let mut random = Random(seed ^ 0x5eed);
    let mut unit = Unit::default();
    let sampler = sampler(|s| {
        s.magnify = state.magnify;
        s.minify = state.minify;
        s.mip_filter = state.mip;
        [s.wrap_s, s.wrap_t, s.wrap_r] = state.wrap;
        s.minimum_lod = state.lod[0] as f32;
        s.maximum_lod = state.lod[1] as f32;
        s.pixel_coordinates = state.pixel;
        s.border_colour = BorderColour::OpaqueWhite;
    });
    let request = Request { lod: LodSource::Level, ..Request::new(Kind::Sample, make.dimension) };
    for _ in 0..3 {
        let mut operands = Operands::default();
        let mut coordinates = [[0.0f32; LANES]; 3];
        let mut lods = [0.0f32; LANES];
        for i in 0..LANES {
            for (a, c) in coordinates.iter_mut().enumerate() {
                let size = make.size[a.min(2)] as f32;
                c[i] = if state.cube {
                    random.range(-1.0, 1.0)
                } else if state.pixel {
                    random.range(-0.5 * size, 1.5 * size)
                } else {
                    random.range(-2.5, 3.5)
                };
            }
            lods[i] = random.range(-1.0, make.levels as f32 + 1.0);
            operands.layer[i] = random.below(make.layers);
        }
        operands.coordinates = coordinates.map(bits);
        operands.lod = bits(lods);
        let out = read(
            &mut unit,
            &mut memory,
            &request,
            &picture.texture_bytes(),
            Some(&sampler),
            &operands,
        );
        let image = Image { picture: &picture, memory: &memory };
        for i in 0..LANES {
            let mut at = coordinates.map(|c| f64::from(c[i]));
            let array = matches!(
                make.dimension,
                TextureDimension::D1Array | TextureDimension::D2Array | TextureDimension::CubeArray
            );
            let mut layer = if array { operands.layer[i] } else { 0 };
            if state.cube {
                let (face, place) = reference::face(at);
                layer = 6 * layer + face;
                at = [place[0], place[1], 0.0];
            }
            let lod = f64::from(lods[i]);
            let want = reference::sample(&image, state, layer, at, lod);
            let got: [f64; 4] = std::array::from_fn(|c| f64::from(f32::from_bits(out[c][i])));
            // Half a step of the weight on each axis and between levels, all texels in 0 to 1.
            let tolerance = (state.axes as f64 + 1.0) / 512.0 + 1e-4;
            let close = |want: &[f64; 4]| (0..4).all(|c| (want[c] - got[c]).abs() <= tolerance);
            if close(&want) {
                continue;
            }
            // Next to where one texel (or level) gives way to another, either is right.
            let near = near_edge(&image, state, at, lod);
            assert!(
                near,
                "{make:?} {state:?}\nlane {i} at {at:?} lod {lod}: {got:?}, want {want:?}"
            );
        }
    }
}

/// Whether a nearest filter's choice hangs on the last bits.
fn near_edge(image: &dyn Texels, state: &State, at: [f64; 3], lod: f64) -> bool {
    let clamped = lod.clamp(state.lod[0], state.lod[1]);
    let filter = if clamped <= 0.0 { state.magnify } else { state.minify };
    let half = (clamped.fract().abs() - 0.5).abs() < 0.003;
    if state.mip == MipFilter::Nearest && half || clamped.abs() < 0.003 {
        return true;
    }
    filter == Filter::Nearest
        && (0..image.levels()).any(|l| {
            (0..state.axes).any(|a| {
                let u = if state.pixel { at[a] } else { at[a] * image.size(l)[a] as f64 };
                (u - u.round()).abs() < 1e-4 * (1.0 + u.abs())
            })
        })
}

fn state(dimension: TextureDimension) -> State {
    State {
        axes: axes(dimension),
        magnify: Filter::Linear,
        minify: Filter::Linear,
        mip: MipFilter::None,
        wrap: [Wrap::Repeat; 3],
        lod: [0.0, 14.0],
        border: [1.0; 4],
        pixel: false,
        cube: matches!(dimension, TextureDimension::Cube | TextureDimension::CubeArray),
    }
}

fn make(dimension: TextureDimension, tiling: Tiling) -> Make {
    let size = match dimension {
        TextureDimension::D1 | TextureDimension::D1Array => [37, 1, 1],
        TextureDimension::D3 => [13, 10, 7],
        TextureDimension::Cube | TextureDimension::CubeArray => [18, 18, 1],
        _ => [37, 21, 1],
    };
    let layers = match dimension {
        TextureDimension::D1Array | TextureDimension::D2Array | TextureDimension::CubeArray => 3,
        _ => 1,
    };
    Make {
        dimension,
        tiling,
        size,
        layers,
        levels: if tiling == Tiling::Linear { 1 } else { 3 },
        ..Make::d2(Channels::R8G8B8A8, TextureType::Unorm, 1, 1)
    }
}

const DIMENSIONS: [TextureDimension; 7] = [
    TextureDimension::D1,
    TextureDimension::D1Array,
    TextureDimension::D2,
    TextureDimension::D2Array,
    TextureDimension::D3,
    TextureDimension::Cube,
    TextureDimension::CubeArray,
];

#[test]
fn every_dimension_wrap_and_filter() {
    let mut seed = 1;
    for dimension in DIMENSIONS {
        for wrap in WRAPS {
            for filter in [Filter::Nearest, Filter::Linear] {
                for mip in [MipFilter::None, MipFilter::Nearest, MipFilter::Linear] {
                    seed += 1;
                    let state = State {
                        magnify: filter,
                        minify: filter,
                        mip,
                        wrap: [wrap; 3],
                        ..state(dimension)
                    };
                    check(&make(dimension, Tiling::Twiddled), &state, seed % 3 != 0, seed);
                }
            }
        }
    }
}

#[test]
fn mixed_filters_wraps_and_clamps() {
    let mut random = Random(7);
    for seed in 0..300 {
        let dimension = DIMENSIONS[random.below(7) as usize];
        let filters = [Filter::Nearest, Filter::Linear];
        let mips = [MipFilter::None, MipFilter::Nearest, MipFilter::Linear];
        let low = f64::from(random.below(3) * 32) / 64.0;
        let state = State {
            magnify: filters[random.below(2) as usize],
            minify: filters[random.below(2) as usize],
            mip: mips[random.below(3) as usize],
            wrap: std::array::from_fn(|_| WRAPS[random.below(6) as usize]),
            lod: [low, low + f64::from(random.below(4) * 16) / 64.0 * 4.0],
            ..state(dimension)
        };
        let tiling = match dimension {
            TextureDimension::D2 | TextureDimension::D2Array => {
                [Tiling::Linear, Tiling::Twiddled, Tiling::Compressed][random.below(3) as usize]
            }
            _ => Tiling::Twiddled,
        };
        check(&make(dimension, tiling), &state, seed % 2 == 0, seed);
    }
}

#[test]
fn pixel_coordinates() {
    for wrap in [Wrap::ClampToEdge, Wrap::ClampToBorder, Wrap::ClampGl] {
        for filter in [Filter::Nearest, Filter::Linear] {
            for tiling in [Tiling::Linear, Tiling::Twiddled] {
                let dimension = TextureDimension::D2;
                let state = State {
                    magnify: filter,
                    minify: filter,
                    wrap: [wrap; 3],
                    pixel: true,
                    ..state(dimension)
                };
                check(&make(dimension, tiling), &state, true, 3);
            }
        }
    }
}
