//! Texel filtering: levels of detail, texels along each axis, weights, comparisons.
//!
//! Gradients and levels are computed for all channels at once, texels channel by channel: each channel may
//! read another level.

use tepui_format::info::Numeric;
use tepui_intel_eu::Refusal;
use tepui_texel::axis::{Axis, AxisRule, axis};
use tepui_texel::blocks::Blocks;
use tepui_texel::cube::{Faces, faces, gradients};
use tepui_texel::lod::{self, Footprint, Gradient, Plan};
use tepui_texel::taps::{self, Taps};
use tepui_texel::{Floats, MipFilter, Row, TextureUnit, Wrap};

use super::super::image::LevelPlane;
use super::super::payload::LANES as WIDTH;
use super::super::plain::PlainLevel;
use super::super::refusal::refuse;
use super::super::surface::{Dimension, Image};
use super::load::load_raw;
use super::state::{Reduction, Sampler};
use super::texture::{MAX_LEVELS, swizzled};
use crate::memory::Memory;

/// The source of a message's level of detail.
pub(super) enum Lod {
    /// Differences between neighbours.
    Implicit,
    Explicit(Floats<WIDTH>),
    Gradient(Box<Gradient<WIDTH>>),
}

/// The request of a filtering message.
pub(super) struct Request {
    /// u, v, r and the index in a cube array.
    pub coordinates: [Floats<WIDTH>; 4],
    pub reference: Option<Floats<WIDTH>>,
    pub lod: Lod,
    pub bias: Option<Floats<WIDTH>>,
    /// The minimum level of detail.
    pub least: Option<Floats<WIDTH>>,
    /// Texel offsets, and optionally those of each channel.
    pub offset: [i32; 3],
    pub offsets: Option<[[i32; WIDTH]; 2]>,
    /// Whether it gathers one component of four texels, and which one.
    pub gathers: bool,
    pub channel: usize,
    /// Whether it returns the level of detail itself.
    pub queries: bool,
}

/// The precision of the sampler.
///
/// source: Mesa, anv_physical_device.c: `subTexelPrecisionBits`, `mipmapPrecisionBits`.
pub(crate) struct Unit;

impl TextureUnit for Unit {
    const SUBTEXEL_BITS: u32 = 8;
    const LOD_BITS: u32 = 8;
    type Level = PlainLevel;
}

/// The texels of an image as read by one message.
struct Reader<'r, 'm> {
    memory: &'r mut Memory<'m>,
    blocks: &'r mut Blocks,
    image: &'r Image,
    sampler: &'r Sampler,
    levels: [Option<LevelPlane>; MAX_LEVELS],
    /// Number of axes with filtering.
    axes: usize,
    /// The divisors of the components of filtered texels.
    divisor: [f32; 4],
    /// The border colour in the format, multiplied by the divisors.
    border: [u32; 4],
    one: u32,
    integer: bool,
}

/// The parameters of a channel.
#[derive(Clone, Copy)]
struct Lane {
    place: [f32; 3],
    /// The layer, or the first layer of a cube.
    layer: u32,
    /// The face of a cube.
    face: u32,
    offset: [i32; 3],
    reference: Option<f32>,
}

/// The accumulated taps of a filter: weights and values.
struct TapSum {
    total: [f32; 4],
    reduction: Option<Reduction>,
    any: bool,
}

impl TapSum {
    fn new(reduction: Option<Reduction>) -> TapSum {
        TapSum { total: [0.0; 4], reduction, any: false }
    }

    fn add(&mut self, value: [f32; 4], weight: f32) {
        for (total, value) in self.total.iter_mut().zip(value) {
            *total = match self.reduction {
                None => *total + value * weight,
                Some(_) if !self.any => value,
                Some(Reduction::Least) => total.min(value),
                Some(Reduction::Greatest) => total.max(value),
            };
        }
        self.any = true;
    }
}

/// The smallest level of detail of each lane: that of the surface or of the message.
pub(super) fn least(image: &Image, message: Option<[f32; WIDTH]>) -> Option<Row<WIDTH>> {
    if image.min_lod <= 0.0 {
        return message.map(|row| row.map(f32::to_bits));
    }
    Some(message.unwrap_or([0.0; WIDTH]).map(|least| least.max(image.min_lod).to_bits()))
}

/// Executes a request for the channels of a mask.
pub(super) fn sample(
    memory: &mut Memory<'_>,
    blocks: &mut Blocks,
    image: &Image,
    sampler: &Sampler,
    request: &Request,
    channels: u32,
    values: &mut [[u32; 4]; WIDTH],
) -> Result<(), Refusal> {
    let [u, v, r, a] = &request.coordinates;
    let cube = image.cube;
    let axes = match image.dimension {
        Dimension::One => 1,
        Dimension::Two => 2,
        Dimension::Three => 3,
    };
    let mut on_faces = Faces::ZERO;
    let directions = [*u, *v, *r];
    if cube {
        faces(&directions, &mut on_faces);
    }
    let place = match cube {
        true => [on_faces.place[0], on_faces.place[1], [0.0; WIDTH]],
        false => directions,
    };
    let mut gradient = [[[0.0; WIDTH]; 2]; 3];
    let (level_of_detail, footprint) =
        detail(image, sampler, request, &place, &on_faces, axes, &mut gradient);
    let mut clamped = [0.0; WIDTH];
    let least = least(image, request.least);
    lod::clamp::<WIDTH, Unit>(&level_of_detail, sampler.lod_range, least.as_ref(), &mut clamped);
    let mut plan = Plan::ZERO;
    let last = image.levels.clamp(1, MAX_LEVELS as u32) - 1;
    lod::plan(&clamped, sampler.mip, last as f32, &mut plan);
    let number = match (image.dimension, cube) {
        (Dimension::One, _) => v,
        (_, true) => a,
        _ => r,
    };
    let one = image.format.one();
    let divisor = image.format.divisor();
    let mut border = image.format.present(sampler.border);
    if !image.format.is_integer() {
        for (border, divisor) in border.iter_mut().zip(divisor) {
            *border = (f32::from_bits(*border) * divisor).to_bits();
        }
    }
    let mut reader = Reader {
        memory,
        blocks,
        image,
        sampler,
        levels: [None; MAX_LEVELS],
        axes,
        divisor,
        border,
        one,
        integer: image.format.is_integer(),
    };
    let unorm = matches!(image.format.numeric(), Numeric::Unorm);
    for lane in (0..WIDTH).filter(|lane| channels >> lane & 1 != 0) {
        if request.queries {
            let v = clamped[lane].clamp(0.0, last as f32);
            let level = match sampler.mip {
                MipFilter::None => 0.0,
                MipFilter::Nearest => plan.level[lane] as f32,
                MipFilter::Linear => v,
            };
            values[lane] = [level, level_of_detail[lane], 0.0, 0.0].map(f32::to_bits);
            continue;
        }
        let layers = if cube { (image.layers / 6).max(1) } else { image.layers.max(1) };
        let index = match image.array && image.dimension != Dimension::Three {
            // A NaN becomes 0.
            true => number[lane].round_ties_even().clamp(0.0, (layers - 1) as f32) as u32,
            false => 0,
        };
        let mut offset = request.offset;
        if let Some([x, y]) = &request.offsets {
            offset = [x[lane], y[lane], 0];
        }
        let reference = request.reference.map(|row| match unorm {
            true => row[lane].clamp(0.0, 1.0),
            false => row[lane],
        });
        let own = Lane {
            place: [0, 1, 2].map(|axis| place[axis][lane]),
            layer: if cube { 6 * index } else { index },
            face: if cube { on_faces.face[lane] } else { 0 },
            offset,
            reference,
        };
        let level = plan.level[lane];
        if request.gathers {
            values[lane] = reader.gather(&own, level, request.channel)?;
            continue;
        }
        let linear = match plan.magnify[lane] {
            0 => sampler.min_linear,
            _ => sampler.mag_linear,
        };
        if reader.integer {
            let texel = match sampler.reduction.filter(|_| linear) {
                Some(reduction) => reader.reduced(&own, level, reduction)?,
                None => reader.nearest(&own, level)?,
            };
            values[lane] = swizzled(texel, image.swizzle, one);
            continue;
        }
        let mut total = TapSum::new(sampler.reduction);
        let count = footprint.samples[lane];
        for n in 0..count as u32 {
            let mut at = own;
            if count > 1.0 {
                // Samples are evenly spaced along the longer gradient.
                let t = (n + 1) as f32 / (count + 1.0) - 0.5;
                let way = usize::from(footprint.down[lane] != 0.0);
                for (place, rate) in at.place.iter_mut().zip(&gradient).take(2) {
                    *place += rate[way][lane] * t;
                }
            }
            let first = reader.level(&at, level, linear)?;
            let share = 1.0 / count;
            if plan.between[lane] != 0 {
                let next = reader.level(&at, (level + 1).min(last), linear)?;
                let weight = plan.next[lane];
                total.add(first, share * (1.0 - weight));
                total.add(next, share * weight);
            } else {
                total.add(first, share);
            }
        }
        let sum = match reference {
            None => reader.divided(total.total),
            Some(_) => total.total,
        };
        values[lane] = swizzled(sum.map(f32::to_bits), image.swizzle, one);
    }
    Ok(())
}

/// The gradients of a message's coordinates.
fn rates(
    request: &Request,
    place: &[Floats<WIDTH>; 3],
    on_faces: &Faces<WIDTH>,
    cube: bool,
    out: &mut Gradient<WIDTH>,
) {
    let [u, v, r, _] = &request.coordinates;
    let directions = [*u, *v, *r];
    let mut own: Gradient<WIDTH> = [[[0.0; WIDTH]; 2]; 3];
    match &request.lod {
        Lod::Gradient(given) => own = **given,
        _ if cube => lod::gradient(&directions, 3, &mut own),
        _ => lod::gradient(place, 3, &mut own),
    }
    if cube {
        gradients(&on_faces.face, &directions, &own, out);
    } else {
        *out = own;
    }
}

/// The level of detail of each channel with biases, its samples along the line of anisotropy, and the
/// gradient of its coordinates.
fn detail(
    image: &Image,
    sampler: &Sampler,
    request: &Request,
    place: &[Floats<WIDTH>; 3],
    on_faces: &Faces<WIDTH>,
    axes: usize,
    gradient: &mut Gradient<WIDTH>,
) -> (Floats<WIDTH>, Footprint<WIDTH>) {
    let zero = [0.0; WIDTH];
    let mut footprint = Footprint { lod: zero, samples: [1.0; WIDTH], down: zero };
    if let Lod::Explicit(level) = &request.lod {
        footprint.lod = *level;
    } else {
        let size = image.level_size(image.level).map(|v| v as f32);
        let scale = if sampler.pixel { [1.0; 3] } else { size };
        rates(request, place, on_faces, image.cube, gradient);
        lod::footprint(gradient, &scale, axes, sampler.anisotropy, &mut footprint);
    }
    let mut level = footprint.lod;
    for (lane, level) in level.iter_mut().enumerate() {
        *level += sampler.bias + request.bias.map_or(0.0, |row| row[lane]);
    }
    (level, footprint)
}

impl Reader<'_, '_> {
    fn plane(&mut self, level: u32) -> LevelPlane {
        let image = self.image;
        let slot = &mut self.levels[level as usize % MAX_LEVELS];
        *slot.get_or_insert_with(|| image.sampled_plane(image.level + level))
    }

    /// The texels of a channel along an axis.
    fn along(&self, lane: &Lane, a: usize, size: u32, linear: bool) -> Axis<1> {
        let mut out = Axis::ZERO;
        let offset = lane.offset[a];
        let wrap = if self.image.cube { Wrap::ClampToEdge } else { self.sampler.wrap[a] };
        let rule = AxisRule { size, wrap, pixel: self.sampler.pixel, linear, moved: offset != 0 };
        axis::<1, Unit>(&rule, &[lane.place[a]], &[offset], &mut out);
        out
    }

    /// Converts components that are stored as integers to their values.
    fn divided(&self, components: [f32; 4]) -> [f32; 4] {
        std::array::from_fn(|c| components[c] / self.divisor[c])
    }

    /// A texel at a level's column and row; see [`Format::raw`](crate::format::Format::raw).
    fn at(
        &mut self,
        plane: &LevelPlane,
        [x, y]: [i32; 2],
        layer: u32,
    ) -> Result<[u32; 4], Refusal> {
        let [x, y] = [x as u32, y as u32];
        let Some(at) = plane.texel(self.image, [x, y], layer, 0) else { return Ok([0; 4]) };
        let image = self.image;
        if image.may_be_clear
            && image.is_clear(self.memory, plane.level, [x, y], layer).map_err(refuse)?
        {
            image.report_clear(self.memory, at);
            return Ok(image.clear_raw());
        }
        let [width, height] = self.image.format.block;
        load_raw(self.memory, self.blocks, self.image.format, at, [x % width, y % height])
    }

    /// The nearest texel.
    fn nearest(&mut self, lane: &Lane, level: u32) -> Result<[u32; 4], Refusal> {
        let plane = self.plane(level);
        let [width, height, depth] = self.image.level_size(self.image.level + level);
        let x = self.along(lane, 0, width, false);
        let y = if self.axes > 1 { self.along(lane, 1, height, false) } else { Axis::ZERO };
        let z = if self.axes > 2 { self.along(lane, 2, depth, false) } else { Axis::ZERO };
        if [&x, &y, &z].iter().any(|axis| axis.outside[0][0] != 0) {
            return Ok(self.border);
        }
        let layer = match self.axes {
            3 => z.texel[0][0] as u32,
            _ => lane.layer + lane.face,
        };
        self.at(&plane, [x.texel[0][0], y.texel[0][0]], layer)
    }

    /// A texel's components for a filter, after the comparison if there is one.
    fn compared(&self, texel: [u32; 4], reference: Option<f32>) -> [f32; 4] {
        let texel = texel.map(f32::from_bits);
        match reference {
            None => texel,
            Some(reference) => {
                let texel = texel[0] / self.divisor[0];
                [self.sampler.compare(texel, reference), 0.0, 0.0, 1.0]
            }
        }
    }

    /// The filtered texel of a level.
    fn level(&mut self, lane: &Lane, level: u32, linear: bool) -> Result<[f32; 4], Refusal> {
        if !linear {
            let texel = self.nearest(lane, level)?;
            return Ok(self.compared(texel, lane.reference));
        }
        let taps = self.taps(lane, level)?;
        let mut sum = TapSum::new(self.sampler.reduction);
        for (texel, weight) in taps.iter().filter(|tap| tap.1 != 0.0) {
            sum.add(self.compared(*texel, lane.reference), *weight);
        }
        Ok(sum.total)
    }

    /// The minimum or maximum of the texels of a linear filter.
    fn reduced(
        &mut self,
        lane: &Lane,
        level: u32,
        reduction: Reduction,
    ) -> Result<[u32; 4], Refusal> {
        let signed = self.image.format.numeric() == Numeric::Sint;
        let key = |value: u32| if signed { value ^ 1 << 31 } else { value };
        let taps = self.taps(lane, level)?;
        let mut texels = taps.iter().filter(|tap| tap.1 != 0.0).map(|tap| tap.0.map(key));
        let first = texels.next().unwrap_or_default();
        let chosen = texels.fold(first, |a, b| {
            std::array::from_fn(|c| match reduction {
                Reduction::Least => a[c].min(b[c]),
                Reduction::Greatest => a[c].max(b[c]),
            })
        });
        Ok(chosen.map(key))
    }

    /// The texels of a linear filter.
    fn taps(&mut self, lane: &Lane, level: u32) -> Result<Taps, Refusal> {
        let plane = self.plane(level);
        let [width, height, depth] = self.image.level_size(self.image.level + level);
        if self.image.cube && self.sampler.seamless {
            let place = [lane.place[0], lane.place[1]];
            return taps::on_cube::<Unit, _>(place, lane.face, width, |at| {
                self.at(&plane, [at.x, at.y], lane.layer + at.face)
            });
        }
        let x = self.along(lane, 0, width, true);
        let y = if self.axes > 1 { self.along(lane, 1, height, true) } else { Axis::ZERO };
        let z = if self.axes > 2 { self.along(lane, 2, depth, true) } else { Axis::ZERO };
        taps::along_axes([&x, &y, &z], self.border, |[x, y, z]| {
            let layer = if self.axes == 3 { z as u32 } else { lane.layer + lane.face };
            self.at(&plane, [x, y], layer)
        })
    }

    /// A component of the four texels of a filter: lower left, lower right, upper right, upper left.
    fn gather(&mut self, lane: &Lane, level: u32, channel: usize) -> Result<[u32; 4], Refusal> {
        let taps = self.taps(lane, level)?;
        let mut out = [0; 4];
        for (out, k) in out.iter_mut().zip([2, 3, 1, 0]) {
            let texel = taps[k].0;
            let texel = match lane.reference {
                None if self.integer => texel,
                None => self.divided(texel.map(f32::from_bits)).map(f32::to_bits),
                Some(_) => self.compared(texel, lane.reference).map(f32::to_bits),
            };
            *out = swizzled(texel, self.image.swizzle, self.one)[channel];
        }
        Ok(out)
    }
}
