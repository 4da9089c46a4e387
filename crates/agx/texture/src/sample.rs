//! What texture instructions do: sample, load, gather, and tell the level of detail.

use tepui_agx_packets::sampler::{Filter as Kernel, MipFilter, Wrap};
use tepui_agx_packets::texture::TextureDimension;

use crate::axis::{Axis, wrap_any};
use crate::cube::{self, Faces};
use crate::error::Fault;
use crate::fetch::Fetcher;
use crate::filter::Filter;
use crate::lod::{self, Footprint, Gradient, Plan};
use crate::memory::Memory;
use crate::sampler::{Sampler, SamplerState};
use crate::texture::Texture;
use crate::unit::{self, Descriptor, Unit};
use crate::{Floats, LANES, Row, floats};

/// What a texture instruction asks for. Made once, when the program is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is returned.
    pub kind: Kind,
    /// How many coordinates there are, and what they mean.
    pub dimension: TextureDimension,
    /// Compares texels with a reference.
    pub compare: bool,
    /// Moves texels by an offset.
    pub offset: bool,
    /// Where the level of detail comes from.
    pub lod: LodSource,
    /// Results are rounded to halves, or cut to 16 bits.
    pub narrow: bool,
    /// Components that are returned, a bit each, one row after the other.
    pub mask: u8,
    /// A further row says whether all texels were there: 0 if so. source: Mesa's
    /// agx_nir_lower_texture.c, `AGX_RESIDENT`
    pub residency: bool,
}

/// What a texture instruction returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A filtered texel; coordinates are floats.
    Sample,
    /// A texel by its number; coordinates and level are integers.
    Load,
    /// One component of each of four texels.
    Gather {
        /// Number of the component.
        component: u8,
    },
    /// The level of detail, clamped to the image and sampler, and not clamped.
    QueryLod,
}

/// Where the level of detail comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LodSource {
    /// Differences within quads; level 0 for loads.
    Auto,
    /// The same plus [`Operands::lod`].
    Bias,
    /// As `Bias`, but at least [`Operands::min_lod`].
    BiasMin,
    /// [`Operands::lod`].
    Level,
    /// [`Operands::gradient`].
    Gradient,
    /// As `Gradient`, but at least [`Operands::min_lod`].
    GradientMin,
}

/// Operands of a texture instruction. Only those that the request names are read.
#[derive(Clone, Debug)]
pub struct Operands {
    /// Coordinates: bits of floats, or unsigned integers for loads.
    pub coordinates: [Row; 3],
    /// Array layer.
    pub layer: Row,
    /// Sample of a multisampled texel.
    pub sample: Row,
    /// Level or bias: bits of floats; of a load an integer.
    pub lod: Row,
    /// Smallest level: bits of floats.
    pub min_lod: Row,
    /// Rates of change of each coordinate, to the right and down: bits of floats.
    pub gradient: [[Row; 2]; 3],
    /// What texels are compared with: bits of floats.
    pub reference: Row,
    /// Offsets in texels: four signed bits each, x lowest.
    pub offset: Row,
}

impl Default for Operands {
    fn default() -> Self {
        const ZERO: Row = [0; LANES];
        Operands {
            coordinates: [ZERO; 3],
            layer: ZERO,
            sample: ZERO,
            lod: ZERO,
            min_lod: ZERO,
            gradient: [[ZERO; 2]; 3],
            reference: ZERO,
            offset: ZERO,
        }
    }
}

impl Request {
    /// Rows of the result.
    pub fn rows(&self) -> usize {
        (self.mask & 15).count_ones() as usize + usize::from(self.residency)
    }

    fn axes(&self) -> usize {
        match self.dimension {
            TextureDimension::D1 | TextureDimension::D1Array => 1,
            TextureDimension::D3 => 3,
            _ => 2,
        }
    }

    fn is_cube(&self) -> bool {
        matches!(self.dimension, TextureDimension::Cube | TextureDimension::CubeArray)
    }

    fn is_array(&self) -> bool {
        use TextureDimension::{CubeArray, D1Array, D2Array, D2ArrayMultisampled};
        matches!(self.dimension, D1Array | D2Array | CubeArray | D2ArrayMultisampled)
    }
}

impl Unit {
    /// Executes a texture instruction for the lanes of `exec`. `out` has the results of those lanes,
    /// in [`Request::rows`] rows; what it has for others is of no meaning.
    ///
    /// # Errors
    /// When a texel is not mapped or a descriptor is not understood.
    #[expect(clippy::too_many_arguments, reason = "one for each operand of the instruction")]
    pub fn read<M: Memory>(
        &mut self,
        memory: &mut M,
        request: &Request,
        texture: &Descriptor,
        sampler: Option<&SamplerState>,
        operands: &Operands,
        exec: u32,
        out: &mut [Row; 5],
    ) -> Result<(), Fault> {
        let Unit { textures, samplers, blocks, kernels, notes, .. } = self;
        let texture = unit::texture(textures, texture)?;
        let sampler = match sampler {
            Some(state) => unit::sampler(samplers, state)?,
            None => &Sampler::LOADS,
        };
        let wanted = match request.kind {
            Kind::Gather { component } => 1 << (component & 3),
            _ => request.mask,
        };
        let wanted = (0..4)
            .filter(|c| wanted >> c & 1 != 0)
            .filter_map(|c| texture.channel(c))
            .fold(0, |bits, channel| bits | 1 << channel);
        let image = &texture.image;
        let mut filter = Filter {
            fetch: Fetcher::new(memory, notes, image, exec),
            blocks,
            kernels,
            unpacker: &texture.unpacker,
            border: sampler.border_for(&texture.unpacker),
            wanted,
            axes: request.axes(),
            seamless: false,
            wrap: sampler.wrap,
            pixel: sampler.pixel_coordinates,
            offset: offsets(request, operands),
            compare: None,
            layer: [0; LANES],
            sample: [0; LANES],
            is_3d: request.dimension == TextureDimension::D3,
        };
        let result = match request.kind {
            Kind::Load => load(&mut filter, request, texture, sampler, operands, exec)?,
            _ => sample(&mut filter, request, texture, sampler, operands, exec)?,
        };
        let absent = filter.fetch.absent;
        let compared = filter.compare.is_some();
        let finished = matches!(request.kind, Kind::QueryLod);
        let integer = texture.unpacker.is_integer() && !compared && !finished;
        let finish = |value: &Row, divisor: f32, out: &mut Row| {
            if integer {
                *out = if request.narrow { value.map(|v| v & 0xffff) } else { *value };
            } else {
                kernels.finish(&floats(value), divisor, request.narrow, out);
            }
        };
        let mut row = 0;
        for c in 0..4 {
            if request.mask >> c & 1 == 0 {
                continue;
            }
            let divisor = |k: usize| if compared { 1.0 } else { texture.unpacker.divisor[k] };
            let component = match request.kind {
                Kind::Gather { component } => usize::from(component & 3),
                _ => c,
            };
            // Which row of the result, and what it is divided by.
            let source = match (request.kind, texture.channel(component)) {
                (Kind::QueryLod, _) => Some((c, 1.0)),
                (Kind::Gather { .. }, Some(k)) => Some((c, divisor(k))),
                // A comparison has one channel.
                (_, Some(k)) if k == 0 || !compared => Some((k, divisor(k))),
                _ => None,
            };
            match source {
                Some((from, divisor)) => finish(&result[from], divisor, &mut out[row]),
                None => {
                    let one = if integer { 1 } else { 1f32.to_bits() };
                    let value = if texture.is_one(component) { one } else { 0 };
                    finish(&[value; LANES], 1.0, &mut out[row]);
                }
            }
            row += 1;
        }
        if request.residency {
            for (i, lane) in out[row].iter_mut().enumerate() {
                *lane = absent >> i & 1;
            }
        }
        Ok(())
    }
}

/// The offsets of each axis: four signed bits.
fn offsets(request: &Request, operands: &Operands) -> [crate::Ints; 3] {
    let mut out = [[0; LANES]; 3];
    if request.offset {
        for (a, axis) in out.iter_mut().enumerate() {
            for i in 0..LANES {
                axis[i] = ((operands.offset[i] << (28 - 4 * a)) as i32) >> 28;
            }
        }
    }
    out
}

/// The layers that lanes read, clamped to the image. (Mesa clamps or rejects others itself.)
fn layers(request: &Request, texture: &Texture, operands: &Operands, faces: u32) -> Row {
    let last = texture.image.layers / faces;
    let last = last.max(1) - 1;
    if request.is_array() { operands.layer.map(|l| (l & 0xffff).min(last)) } else { [0; LANES] }
}

fn load<M: Memory>(
    filter: &mut Filter<'_, M>,
    request: &Request,
    texture: &Texture,
    sampler: &Sampler,
    operands: &Operands,
    exec: u32,
) -> Result<[Row; 4], Fault> {
    if request.is_cube() {
        // Mesa loads from cubes as from arrays of faces.
        return Err(Fault::Unknown("a load of a cube's texel"));
    }
    filter.layer = layers(request, texture, operands, 1);
    if texture.image.samples > 1 {
        filter.sample = operands.sample.map(|s| (s & 0xffff).min(texture.image.samples - 1));
    }
    if request.compare {
        filter.compare = Some((sampler.compare, reference(texture, operands)));
    }
    let mut level = [0; LANES];
    if request.lod != LodSource::Auto && sampler.mip != MipFilter::None {
        let least = sampler.min_lod.ceil() as u32;
        let most = (sampler.max_lod as u32).min(texture.extra_levels);
        level = operands.lod.map(|l| l.max(least).min(most));
    }
    let mut result = [[0; LANES]; 4];
    each_group(&level, 0, exec, |number, _, group, whole| {
        let level = texture.image.level(texture.first_level + number);
        let mut axes = [Axis::ZERO; 3];
        let sizes = [level.width, level.height, level.depth];
        for (a, axis) in axes.iter_mut().enumerate().take(request.axes()) {
            let texel = &operands.coordinates[a];
            let offset = &filter.offset[a];
            match sampler.wrap[a] {
                Wrap::ClampToBorder => filter.kernels.load_border(sizes[a], texel, offset, axis),
                mode => wrap_any(sizes[a], mode, texel, offset, axis),
            }
        }
        filter.fetch.exec = group;
        let part = filter.load(level, &axes)?;
        merge(&mut result, &part, group, whole);
        Ok(())
    })?;
    Ok(result)
}

/// Runs `body` for each set of lanes that have the same level and way of filtering: level, whether
/// `split` has them, the set, and whether it is all of `exec`.
fn each_group(
    level: &[u32; LANES],
    split: u32,
    exec: u32,
    mut body: impl FnMut(u32, bool, u32, bool) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut left = exec;
    while left != 0 {
        let first = left.trailing_zeros() as usize;
        let (number, side) = (level[first], split >> first & 1);
        let mut group = 0;
        for (i, l) in level.iter().enumerate() {
            group |= u32::from(*l == number && split >> i & 1 == side) << i;
        }
        group &= left;
        body(number, side != 0, group, group == exec)?;
        left &= !group;
    }
    Ok(())
}

/// Puts the lanes of a group into the result.
fn merge(result: &mut [Row; 4], part: &[Row; 4], group: u32, whole: bool) {
    if whole {
        *result = *part;
        return;
    }
    for (result, part) in result.iter_mut().zip(part) {
        for i in 0..LANES {
            if group >> i & 1 != 0 {
                result[i] = part[i];
            }
        }
    }
}

/// The reference value, clamped where texels cannot be outside 0 to 1.
/// source: Vulkan specification, "Depth Compare Operation"
fn reference(texture: &Texture, operands: &Operands) -> Floats {
    let value = floats(&operands.reference);
    if texture.unpacker.divisor[0] == 1.0 {
        return value;
    }
    value.map(|v| if v > 0.0 { v.min(1.0) } else { 0.0 })
}

fn sample<M: Memory>(
    filter: &mut Filter<'_, M>,
    request: &Request,
    texture: &Texture,
    sampler: &Sampler,
    operands: &Operands,
    exec: u32,
) -> Result<[Row; 4], Fault> {
    if texture.image.samples > 1 {
        return Err(Fault::Unknown("filtering of a multisampled image"));
    }
    let base = texture.image.level(0);
    if request.is_cube() && base.width != base.height {
        return Err(Fault::Unknown("a cube whose faces are not square"));
    }
    let mut coordinates = operands.coordinates.map(|c| floats(&c));
    let direction = coordinates;
    let faces = request.is_cube().then(|| cube::faces(&direction));
    if let Some(faces) = &faces {
        coordinates = [faces.place[0], faces.place[1], [0.0; LANES]];
        let cubes = layers(request, texture, operands, 6);
        for i in 0..LANES {
            filter.layer[i] = (6 * cubes[i] + faces.face[i]).min(texture.image.layers - 1);
        }
        filter.seamless = sampler.seamless;
    } else if !filter.is_3d {
        filter.layer = layers(request, texture, operands, 1);
    }
    if request.compare {
        filter.compare = Some((sampler.compare, reference(texture, operands)));
    }
    if let Kind::Gather { component } = request.kind {
        let channel = texture.channel(usize::from(component & 3)).unwrap_or(0);
        let channel = if filter.compare.is_some() { 0 } else { channel };
        filter.wanted = 1 << channel;
        let level = texture.image.level(texture.first_level);
        let taps = filter.gather(level, &coordinates, channel)?;
        // Anticlockwise from the lower left. source: Vulkan specification, "Texel Gathering"
        return Ok([taps[2], taps[3], taps[1], taps[0]]);
    }
    // One level that is filtered in one way needs no level of detail.
    let trivial = texture.extra_levels == 0
        && sampler.magnify == sampler.minify
        && sampler.max_anisotropy == 1
        && request.kind == Kind::Sample;
    if trivial {
        let level = texture.image.level(texture.first_level);
        if filter.unpacker.is_integer() {
            return filter.nearest_integer(level, &coordinates);
        }
        let linear = sampler.minify == Kernel::Linear;
        return Ok(filter.level(level, &coordinates, linear)?.map(|c| c.map(f32::to_bits)));
    }
    let anisotropic = sampler.max_anisotropy > 1 && !filter.unpacker.is_integer();
    let mut prints = None;
    let lod = level_of_detail(
        filter,
        request,
        texture,
        sampler,
        operands,
        &direction,
        faces.as_ref(),
        &mut prints,
    );
    if request.kind == Kind::QueryLod {
        return Ok(query(filter, texture, sampler, &lod));
    }
    let plan = plan(filter, texture, sampler, &lod);
    if filter.unpacker.is_integer() {
        // Integers are not filtered: the nearest texel of the nearest level.
        let mut result = [[0; LANES]; 4];
        each_group(&plan.level, 0, exec, |number, _, group, whole| {
            filter.fetch.exec = group;
            let level = texture.image.level(texture.first_level + number);
            let part = filter.nearest_integer(level, &coordinates)?;
            merge(&mut result, &part, group, whole);
            Ok(())
        })?;
        return Ok(result);
    }
    let line = match &prints {
        Some((print, gradient)) if anisotropic => {
            let most = (0..LANES)
                .filter(|i| exec >> i & 1 != 0)
                .map(|i| print.samples[i] as u32)
                .max()
                .unwrap_or(1);
            (most > 1).then_some((print, gradient, most))
        }
        _ => None,
    };
    let between = if sampler.mip == MipFilter::Linear { bits(&plan.between) } else { 0 };
    let mut result = [[0; LANES]; 4];
    let split = if sampler.magnify == sampler.minify { 0 } else { bits(&plan.magnify) };
    each_group(&plan.level, split, exec, |number, magnify, group, whole| {
        let linear = (if magnify { sampler.magnify } else { sampler.minify }) == Kernel::Linear;
        let mut part = along(filter, texture, number, group, linear, &coordinates, line)?;
        if between & group != 0 {
            let lanes = between & group;
            let next = along(filter, texture, number + 1, lanes, linear, &coordinates, line)?;
            filter.kernels.mix(&next, &plan, &mut part);
        }
        merge(&mut result, &part.map(|c| c.map(f32::to_bits)), group, whole);
        Ok(())
    })?;
    Ok(result)
}

/// Samples a level once, or several times along the line of anisotropy.
fn along<M: Memory>(
    filter: &mut Filter<'_, M>,
    texture: &Texture,
    number: u32,
    group: u32,
    linear: bool,
    coordinates: &[Floats; 3],
    line: Option<(&Footprint, &Gradient, u32)>,
) -> Result<[Floats; 4], Fault> {
    filter.fetch.exec = group;
    let level = texture.image.level(texture.first_level + number);
    let Some((print, gradient, most)) = line else {
        return filter.level(level, coordinates, linear);
    };
    let mut sum = [[0.0; LANES]; 4];
    for k in 0..most {
        let mut moved = *coordinates;
        let mut weight = [0.0; LANES];
        let mut here = 0;
        for i in 0..LANES {
            if (k as f32) < print.samples[i] {
                here |= 1 << i;
                weight[i] = 1.0 / print.samples[i];
                // Between one half to either side.
                let at = (k + 1) as f32 / (print.samples[i] + 1.0) - 0.5;
                let way = usize::from(print.down[i] != 0.0);
                for (axis, gradient) in moved.iter_mut().zip(gradient) {
                    axis[i] += gradient[way][i] * at;
                }
            }
        }
        if here & group == 0 {
            continue;
        }
        filter.fetch.exec = here & group;
        let part = filter.level(level, &moved, linear)?;
        filter.kernels.accumulate(
            &part,
            &weight,
            if filter.compare.is_some() { 1 } else { filter.wanted },
            &mut sum,
        );
    }
    Ok(sum)
}

/// Levels of detail: before and after the clamps.
struct Lod {
    raw: Floats,
    clamped: Floats,
}

/// The footprint of each lane, and the gradients of its coordinates.
type Prints = Option<(Footprint, Gradient)>;

#[expect(clippy::too_many_arguments, reason = "all that the level of detail depends on")]
fn level_of_detail<M: Memory>(
    filter: &Filter<'_, M>,
    request: &Request,
    texture: &Texture,
    sampler: &Sampler,
    operands: &Operands,
    direction: &[Floats; 3],
    faces: Option<&Faces>,
    prints: &mut Prints,
) -> Lod {
    let mut raw;
    let level = texture.image.level(texture.first_level);
    if request.lod == LodSource::Level {
        raw = floats(&operands.lod);
    } else {
        let given = matches!(request.lod, LodSource::Gradient | LodSource::GradientMin);
        let mut gradient: Gradient = if given {
            operands.gradient.map(|g| g.map(|row| floats(&row)))
        } else {
            direction.map(|c| lod::derivatives(&c))
        };
        if let Some(faces) = faces {
            gradient = cube::gradients(faces, direction, &gradient);
        }
        let size = [level.width, level.height, level.depth];
        let mut texels = gradient;
        if !sampler.pixel_coordinates {
            for (axis, size) in texels.iter_mut().zip(size) {
                for way in axis {
                    way.iter_mut().for_each(|v| *v *= size as f32);
                }
            }
        }
        let mut print = Footprint { lod: [0.0; LANES], samples: [1.0; LANES], down: [0.0; LANES] };
        filter.kernels.footprint(&texels, filter.axes, sampler.max_anisotropy, &mut print);
        raw = print.lod;
        *prints = Some((print, gradient));
    }
    if matches!(request.lod, LodSource::Bias | LodSource::BiasMin) {
        for i in 0..LANES {
            raw[i] += f32::from_bits(operands.lod[i]);
        }
    }
    let least = matches!(request.lod, LodSource::BiasMin | LodSource::GradientMin);
    let least = least.then_some(&operands.min_lod);
    let mut clamped = [0.0; LANES];
    filter.kernels.clamp_lod(&raw, [sampler.min_lod, sampler.max_lod], least, &mut clamped);
    Lod { raw, clamped }
}

/// What a query of the level of detail returns. The first value names the level (or between levels)
/// that is read, the second is not clamped.
fn query<M>(filter: &Filter<'_, M>, texture: &Texture, sampler: &Sampler, lod: &Lod) -> [Row; 4] {
    let plan = plan(filter, texture, sampler, lod);
    let mut out = [[0; LANES]; 4];
    for i in 0..LANES {
        out[0][i] = (plan.level[i] as f32 + plan.next[i]).to_bits();
        out[1][i] = lod.raw[i].to_bits();
    }
    out
}

/// Chooses levels and filters.
fn plan<M>(filter: &Filter<'_, M>, texture: &Texture, sampler: &Sampler, lod: &Lod) -> Plan {
    let mut plan = Plan::ZERO;
    filter.kernels.plan(&lod.clamped, sampler.mip, texture.extra_levels as f32, &mut plan);
    plan
}

/// The lanes of a row of masks.
fn bits(row: &Row) -> u32 {
    row.iter().enumerate().fold(0, |bits, (i, lane)| bits | (lane & 1) << i)
}
