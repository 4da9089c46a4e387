//! Execution of texture instructions: sample, load, gather, query of the level of detail.

use tepui_agx_packets::texture::TextureDimension;

use tepui_texel::axis::wrap_any;
use tepui_texel::blocks::Blocks;
use tepui_texel::{Filter as Kernel, MipFilter, Pick, Result, Wrap, floats};

use crate::error::{Fault, Unsupported};
use crate::fetch::Fetcher;
use crate::filter::{Filter, NONE};
use crate::image::Descriptor;
use crate::lanes::{Axis, Faces, Footprint, Gradient, Kernels, Plan};
use crate::memory::Memory;
use crate::notes::{Note, Notes};
use crate::plain::{self, Scratch};
use crate::request::{Kind, LodSource, Operands, Request};
use crate::sampler::{Sampler, SamplerState};
use crate::texture::Texture;
use crate::unit::{self, Unit};
use crate::{Floats, LANES, Row};

impl Unit {
    /// Executes a texture instruction for the lanes of `exec`. The results are [`Request::rows`]
    /// rows of `out`; other lanes of these are undefined.
    ///
    /// Descriptors that are not understood and texels that are not mapped give zero and a note:
    /// drivers read through descriptors before they know whether these were ever written. source:
    /// Mesa's nir_opt_preamble.c, `instr_can_speculate` ("everything else can be speculated. TODO:
    /// Bindless textures")
    ///
    /// # Errors
    /// None at present: memory that is loaded or stored otherwise can fault.
    #[expect(clippy::too_many_arguments, reason = "one for each operand of the instruction")]
    pub fn read<M: Memory>(
        &mut self,
        memory: &mut M,
        request: &Request,
        texture: &Descriptor,
        sampler: Option<&SamplerState>,
        operands: &Operands,
        exec: u32,
        out: &mut [Row],
    ) -> Outcome {
        let Unit { textures, samplers, blocks, scratch, kernels, notes, .. } = self;
        let sampler = sampler.map_or(Ok(&Sampler::LOADS), |state| unit::sampler(samplers, state));
        let (texture, sampler) = match (unit::texture(textures, texture), sampler) {
            (Ok(texture), Ok(sampler)) => (texture, sampler),
            (Err(why), _) => return undefined(notes, "texture", why, out),
            (_, Err(why)) => return undefined(notes, "sampler", why, out),
        };
        let read = plain::read(
            kernels, scratch, blocks, memory, request, texture, sampler, operands, exec, out,
        );
        if read.is_some() {
            return Ok(());
        }
        let general = General { blocks, scratch, kernels, notes: &mut *notes, texture, sampler };
        match general.read(memory, request, operands, exec, out) {
            // The descriptor does not suit the instruction.
            Err(Fault::Unknown(what)) => {
                undefined(notes, "texture", &Unsupported::Unknown(what), out)
            }
            other => other,
        }
    }
}

/// The result of a read through a descriptor that is not understood.
#[cold]
fn undefined(
    notes: &mut Notes,
    which: &'static str,
    why: &Unsupported,
    out: &mut [Row],
) -> Outcome {
    notes.add(Note::Descriptor { which, why: why.clone() });
    out.fill([0; LANES]);
    Ok(())
}

/// The parts of a [`Unit`] that the general path uses.
struct General<'a> {
    blocks: &'a mut Blocks,
    scratch: &'a mut Scratch,
    kernels: &'static Kernels,
    notes: &'a mut Notes,
    texture: &'a Texture,
    sampler: &'a Sampler,
}

impl General<'_> {
    /// Scattered from [`Unit::read`], because its stack frame has several pages.
    #[inline(never)]
    fn read<M: Memory>(
        self,
        memory: &mut M,
        request: &Request,
        operands: &Operands,
        exec: u32,
        out: &mut [Row],
    ) -> Outcome {
        let General { blocks, scratch, kernels, notes, texture, sampler } = self;
        let wanted = match request.kind {
            Kind::Gather { component } => 1 << (component & 3),
            _ => request.mask,
        };
        let wanted = texture.wanted(wanted);
        let image = &texture.image;
        let mut filter = Filter {
            fetch: Fetcher::new(memory, notes, image, exec),
            blocks,
            taps: &mut scratch.taps,
            kernels,
            unpacker: &texture.unpacker,
            border: sampler.border_for(&texture.unpacker),
            wanted,
            axes: request.axes(),
            seamless: false,
            wrap: sampler.wrap,
            pixel: sampler.pixel_coordinates,
            offset: offsets(request, operands),
            moved: request.offset,
            compare: None,
            layer: [0; LANES],
            flat: None,
            sample: [0; LANES],
            is_3d: request.dimension == TextureDimension::D3,
        };
        let mut rows = [[0; LANES]; 4];
        match request.kind {
            Kind::Load => load(&mut filter, request, texture, sampler, operands, exec, &mut rows)?,
            _ => sample(&mut filter, request, texture, sampler, operands, exec, &mut rows)?,
        }
        let absent = filter.fetch.absent;
        let compared = filter.compare.is_some();
        let unpacker = &texture.unpacker;
        // The row of each component, and the divisors of rows.
        let (mut picks, mut divisor) = (texture.picks, unpacker.divisor);
        match request.kind {
            Kind::QueryLod => {
                picks = [0, 1, 2, 3].map(Pick::Channel);
                divisor = [1.0; 4];
            }
            // Each row is another texel of the same channel.
            Kind::Gather { component } => match picks[usize::from(component & 3)] {
                Pick::Channel(k) => {
                    picks = [0, 1, 2, 3].map(Pick::Channel);
                    divisor = [divisor[usize::from(k)]; 4];
                }
                constant => picks = [constant; 4],
            },
            _ if compared => {
                // A comparison has one channel.
                for (c, pick) in picks.iter_mut().enumerate() {
                    if matches!(pick, Pick::Channel(1..)) {
                        *pick = if texture.is_one(c) { Pick::One } else { Pick::Zero };
                    }
                }
            }
            _ => {}
        }
        if compared {
            divisor = [1.0; 4];
        }
        let queried = request.kind == Kind::QueryLod;
        let result = Result {
            picks: &picks,
            mask: request.mask,
            narrow: request.narrow,
            integer: unpacker.is_integer() && !compared && !queried,
        };
        kernels.deliver(&rows, &divisor, &result, out);
        let row = (request.mask & 15).count_ones() as usize;
        if request.residency {
            for (i, lane) in out[row].iter_mut().enumerate() {
                *lane = absent >> i & 1;
            }
        }
        Ok(())
    }
}

/// The lanes that read non-resident pages, or why the access is not possible.
type Outcome = std::result::Result<(), Fault>;

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

/// The layer of each lane, clamped to the image, and the layer of all lanes if it is the same.
/// (Mesa clamps or rejects others itself.)
fn layers(
    kernels: &Kernels,
    request: &Request,
    texture: &Texture,
    operands: &Operands,
    faces: u32,
    exec: u32,
) -> (Row, Option<u32>) {
    let mut out = [0; LANES];
    let last = (texture.image.layers / faces).max(1) - 1;
    if !request.is_array() || last == 0 {
        let flat = request.dimension != TextureDimension::D3;
        return (out, flat.then_some(0));
    }
    let mut same = false;
    kernels.layers(&operands.layer, last, exec, &mut out, &mut same);
    (out, same.then_some(out[exec.trailing_zeros() as usize % LANES]))
}

fn load<M: Memory>(
    filter: &mut Filter<'_, M>,
    request: &Request,
    texture: &Texture,
    sampler: &Sampler,
    operands: &Operands,
    exec: u32,
    result: &mut [Row; 4],
) -> Outcome {
    if request.is_cube() {
        // Mesa loads from cubes as from arrays of faces.
        return Err(Fault::Unknown("a load of a cube's texel"));
    }
    (filter.layer, filter.flat) = layers(filter.kernels, request, texture, operands, 1, exec);
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
    each_group(&level, 0, exec, |number, _, group, whole| {
        let level = texture.image.level(texture.first_level + number);
        filter.fetch.exec = group;
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
        into_lanes(result, group, whole, |part| filter.load(level, &axes, part))
    })
}

/// Runs `body` for each set of lanes with the same level and the same bit in `split`. Its arguments
/// are the level, that bit, the set, and whether the set is all of `exec`.
fn each_group(
    level: &[u32; LANES],
    split: u32,
    exec: u32,
    mut body: impl FnMut(u32, bool, u32, bool) -> Outcome,
) -> Outcome {
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

/// Fills the lanes of a set with the results of `make`.
fn into_lanes(
    result: &mut [Row; 4],
    group: u32,
    whole: bool,
    make: impl FnOnce(&mut [Row; 4]) -> Outcome,
) -> Outcome {
    if whole {
        return make(result);
    }
    let mut part = NONE;
    make(&mut part)?;
    for (result, part) in result.iter_mut().zip(&part) {
        for i in 0..LANES {
            if group >> i & 1 != 0 {
                result[i] = part[i];
            }
        }
    }
    Ok(())
}

/// The depth reference, clamped to 0 to 1 for fixed-point formats.
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
    result: &mut [Row; 4],
) -> Outcome {
    if texture.image.samples > 1 {
        return Err(Fault::Unknown("filtering of a multisampled image"));
    }
    let base = texture.image.level(0);
    if request.is_cube() && base.width != base.height {
        return Err(Fault::Unknown("a cube whose faces are not square"));
    }
    let mut coordinates = operands.coordinates.map(|c| floats(&c));
    let direction = coordinates;
    let faces = request.is_cube().then(|| {
        let mut faces = Faces::ZERO;
        filter.kernels.faces(&direction, &mut faces);
        faces
    });
    if let Some(faces) = &faces {
        coordinates = [faces.place[0], faces.place[1], [0.0; LANES]];
        let (cubes, _) = layers(filter.kernels, request, texture, operands, 6, exec);
        for i in 0..LANES {
            filter.layer[i] = 6 * cubes[i] + faces.face[i];
        }
        let last = texture.image.layers - 1;
        let (faces, mut same) = (filter.layer, false);
        filter.kernels.layers(&faces, last, exec, &mut filter.layer, &mut same);
        filter.flat = same.then_some(filter.layer[exec.trailing_zeros() as usize % LANES]);
        filter.seamless = sampler.seamless;
    } else if !filter.is_3d {
        (filter.layer, filter.flat) = layers(filter.kernels, request, texture, operands, 1, exec);
    }
    if request.compare {
        filter.compare = Some((sampler.compare, reference(texture, operands)));
    }
    if let Kind::Gather { component } = request.kind {
        let channel = texture.channel(usize::from(component & 3)).unwrap_or(0);
        let channel = if filter.compare.is_some() { 0 } else { channel };
        filter.wanted = 1 << channel;
        let level = texture.image.level(texture.first_level);
        let mut taps = NONE;
        filter.gather(level, &coordinates, channel, &mut taps)?;
        // Anticlockwise from the lower left. source: Vulkan specification, "Texel Gathering"
        *result = [taps[2], taps[3], taps[1], taps[0]];
        return Ok(());
    }
    // The level of detail has no effect on a single level with one filter.
    if texture.is_one_level(sampler) && request.kind == Kind::Sample {
        let level = texture.image.level(texture.first_level);
        if filter.unpacker.is_integer() {
            return filter.nearest_integer(level, &coordinates, result);
        }
        let linear = sampler.minify == Kernel::Linear;
        return filter.level(level, &coordinates, linear, result);
    }
    // Assumption: also with the nearest filter, whose texels are averaged along the line.
    // Descriptors keep the two apart, as Mesa packs them, and Vulkan leaves it open
    // (KhronosGroup/Vulkan-Docs, issue 1361: implementations differ).
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
        *result = query(filter, texture, sampler, &lod);
        return Ok(());
    }
    let plan = plan(filter, texture, sampler, &lod);
    if filter.unpacker.is_integer() {
        // Integers are not filtered: the nearest texel of the nearest level.
        return each_group(&plan.level, 0, exec, |number, _, group, whole| {
            filter.fetch.exec = group;
            let level = texture.image.level(texture.first_level + number);
            into_lanes(result, group, whole, |part| {
                filter.nearest_integer(level, &coordinates, part)
            })
        });
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
    let split = if sampler.magnify == sampler.minify { 0 } else { bits(&plan.magnify) };
    each_group(&plan.level, split, exec, |number, magnify, group, whole| {
        let linear = (if magnify { sampler.magnify } else { sampler.minify }) == Kernel::Linear;
        into_lanes(result, group, whole, |part| {
            along(filter, texture, number, group, linear, &coordinates, line, part)?;
            if between & group != 0 {
                let lanes = between & group;
                let mut next = NONE;
                along(filter, texture, number + 1, lanes, linear, &coordinates, line, &mut next)?;
                filter.kernels.mix(&next, &plan, part);
            }
            Ok(())
        })
    })
}

/// Samples a level, once or at several points along the axis of anisotropy.
#[expect(clippy::too_many_arguments, reason = "all that a sample depends on")]
fn along<M: Memory>(
    filter: &mut Filter<'_, M>,
    texture: &Texture,
    number: u32,
    group: u32,
    linear: bool,
    coordinates: &[Floats; 3],
    line: Option<(&Footprint, &Gradient, u32)>,
    sum: &mut [Row; 4],
) -> Outcome {
    filter.fetch.exec = group;
    let level = texture.image.level(texture.first_level + number);
    let Some((print, gradient, most)) = line else {
        return filter.level(level, coordinates, linear, sum);
    };
    *sum = NONE;
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
        let mut part = NONE;
        filter.level(level, &moved, linear, &mut part)?;
        let wanted = if filter.compare.is_some() { 1 } else { filter.wanted };
        filter.kernels.accumulate(&part, &weight, wanted, sum);
    }
    Ok(())
}

/// Levels of detail, unclamped and clamped.
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
        let mut gradient: Gradient = [[[0.0; LANES]; 2]; 3];
        if given {
            for (to, from) in
                gradient.as_flattened_mut().iter_mut().zip(operands.gradient.as_flattened())
            {
                *to = floats(from);
            }
        } else {
            let axes = if faces.is_some() { 3 } else { filter.axes };
            filter.kernels.gradient(direction, axes, &mut gradient);
        }
        if let Some(faces) = faces {
            let rates = gradient;
            filter.kernels.face_gradients(&faces.face, direction, &rates, &mut gradient);
            gradient[2] = [[0.0; LANES]; 2];
        }
        let mut scale = [level.width, level.height, level.depth].map(|size| size as f32);
        if sampler.pixel_coordinates {
            scale = [1.0; 3];
        }
        let mut print = Footprint { lod: [0.0; LANES], samples: [1.0; LANES], down: [0.0; LANES] };
        filter.kernels.footprint(
            &gradient,
            &scale,
            filter.axes,
            sampler.max_anisotropy,
            &mut print,
        );
        raw = print.lod;
        if sampler.max_anisotropy > 1 {
            *prints = Some((print, gradient));
        }
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

/// The results of a level-of-detail query: the level that is sampled, with a fraction between
/// levels, and the unclamped level of detail.
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
