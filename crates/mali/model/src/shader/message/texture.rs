//! Texture instructions: fetches, samples, gathers, gradients.
//!
//! Staging registers hold, in this order and as far as they are used: coordinates (for a cube, the face with
//! s, and t), the layer, the reference, offsets with level or sample, the level of detail, and two words from
//! TEX_GRADIENT. The contents of the latter are this model's own, except for the level of detail in the
//! lowest 16 bits, which shaders read.
//!
// source: Mesa, bifrost_compile.c (`bi_emit_tex_valhall`, `bi_emit_texc_cube_coord`), ISA.xml.

use arrayvec::ArrayVec;
use half::f16;
use tepui_mali_isa::modifier::{
    Dimension, FetchComponent, LodMode, RegisterWidth, RoundMode, WriteMask, fields as f,
};
use tepui_mali_isa::{Inst, Op as Isa};
use tepui_texel::MipFilter;
use tepui_texel::cube::{Faces, gradients};
use tepui_texel::lod::{self, Footprint, Gradient};

use crate::pixels::format::{NumericType, Unit};
use crate::shader::alu::rounding::to_half;
use crate::shader::op::{Handler, Lanes, Op};
use crate::units::sampler::{Filter, SamplePosition, Sampler, swizzled_rows};
use crate::units::surface::Texel;
use crate::units::view::View;
use crate::warp::host::for_hosts;
use crate::warp::row::{LANES, Row, float16, halves, join, numbers};
use crate::warp::trap::Trap;

/// Modifiers in [`Op::flags`]: the components that are returned are in the lowest four bits; this one means
/// handles of 32 bits each.
pub const WIDE: u32 = 1 << 4;
/// The staging registers have a layer.
pub const ARRAY: u32 = 1 << 5;
/// The staging registers have offsets, and the level or the sample.
pub const OFFSET: u32 = 1 << 6;
/// Results have 16 bits.
const SHORT: u32 = 1 << 7;
/// Shift of the number of coordinates.
const COORDINATES: u32 = 8;
/// The staging registers have a reference.
pub const SHADOW: u32 = 1 << 10;
/// Shift of the source of the level of detail.
const LOD: u32 = 11;
/// Shift of the component that a gather returns.
const COMPONENT: u32 = 14;
/// The texture is a cube.
const CUBE: u32 = 1 << 16;
/// The sampler's bias is ignored.
const NO_BIAS: u32 = 1 << 17;
/// The sampler's range is ignored.
const NO_CLAMP: u32 = 1 << 18;
/// The staging registers hold derivatives.
const DERIVATIVES: u32 = 1 << 19;
/// Coordinates are in texels.
const INTEGER: u32 = 1 << 20;

/// The modifiers of an instruction.
pub fn flags(inst: &Inst) -> u32 {
    let flag = |field, bit: u32| if inst.flag(field) { bit } else { 0 };
    let dimension = inst.modifier().unwrap_or(Dimension::D2);
    let coordinates = match dimension {
        Dimension::D1 => 1,
        Dimension::D2 | Dimension::Cube => 2,
        Dimension::D3 => 3,
    };
    let mask = inst.modifier().map_or(0xf, |mask: WriteMask| mask.raw().into());
    let short = inst.modifier() == Some(RegisterWidth::W16);
    let lod = inst.modifier().unwrap_or(LodMode::Zero) as u32;
    let component = inst.modifier().map_or(0, |component: FetchComponent| component as u32);
    mask | flag(&f::WIDE_INDICES, WIDE)
        | flag(&f::ARRAY_ENABLE, ARRAY)
        | flag(&f::TEXEL_OFFSET, OFFSET)
        | if short { SHORT } else { 0 }
        | coordinates << COORDINATES
        | flag(&f::SHADOW, SHADOW)
        | lod << LOD
        | component << COMPONENT
        | if dimension == Dimension::Cube { CUBE } else { 0 }
        | flag(&f::LOD_BIAS_DISABLE, NO_BIAS)
        | flag(&f::LOD_CLAMP_DISABLE, NO_CLAMP)
        | flag(&f::DERIVATIVE_ENABLE, DERIVATIVES)
        | flag(&f::INTEGER_COORDINATES, INTEGER)
}

use tepui_mali_isa::ModifierValue;

/// The flags of an instruction that returns all components.
pub fn fields(dimension: Dimension, mode: LodMode, short: bool) -> u32 {
    let coordinates = match dimension {
        Dimension::D1 => 1,
        Dimension::D2 | Dimension::Cube => 2,
        Dimension::D3 => 3,
    };
    let cube = if dimension == Dimension::Cube { CUBE } else { 0 };
    0xf | WIDE | coordinates << COORDINATES | lod(mode) | cube | if short { SHORT } else { 0 }
}

/// The flags for a source of the level of detail.
pub fn lod(mode: LodMode) -> u32 {
    (mode as u32) << LOD
}

/// The flags for the component of a gather.
pub fn component(component: FetchComponent) -> u32 {
    (component as u32) << COMPONENT
}

/// The flags of a gradient: whether the sampler's bias and range are ignored.
pub fn ranges(no_bias: bool, no_clamp: bool) -> u32 {
    (if no_bias { NO_BIAS } else { 0 }) | if no_clamp { NO_CLAMP } else { 0 }
}

/// The flags of a gradient from explicit derivatives: as [`ranges`].
pub fn derivatives(no_bias: bool, no_clamp: bool) -> u32 {
    DERIVATIVES | ranges(no_bias, no_clamp)
}

for_hosts! {
    /// The handler of an instruction.
    pub fn handler(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::TEX_FETCH => |l, op| fetch(l, op),
            Isa::TEX_SINGLE => |l, op| sample(l, op),
            Isa::TEX_GATHER => |l, op| gather(l, op),
            Isa::TEX_GRADIENT => |l, op| gradient(l, op),
            _ => return None,
        })
    }
}

/// The handles of texture and sampler, in a 64-bit source: a word each, the sampler's first, or the halves of
/// the lower word, with five bits of the table and eleven of the index each.
fn handle_pair(source: u64, flags: u32) -> [u32; 2] {
    if flags & WIDE != 0 {
        return [(source >> 32) as u32, source as u32];
    }
    let narrow =
        |half: u32| crate::units::buffer::handle(i64::from(half >> 11), i64::from(half & 0x7ff));
    [narrow(source as u32 >> 16), narrow(source as u32 & 0xffff)]
}

/// The staging registers of an instruction.
struct Staging {
    rows: [Row; 8],
}

impl Staging {
    fn new(l: &Lanes<'_, '_>, op: &Op) -> Staging {
        let (first, count) = op.staging[1];
        let mut rows = [Row::splat(0); 8];
        for (n, row) in rows.iter_mut().enumerate().take(count.into()) {
            *row = *l.raw(u16::from(first) + n as u16);
        }
        Staging { rows }
    }

    fn word(&self, n: usize, lane: usize) -> u32 {
        self.rows.get(n).map_or(0, |row| row.0[lane])
    }
}

/// Writes the requested components. `kind` is the numeric type of the texels.
fn deliver(l: &mut Lanes<'_, '_>, op: &Op, channels: &[Row; 4], kind: NumericType) {
    let mut returned = [Row::splat(0); 4];
    let wanted = (0..4).filter(|i| op.flags >> i & 1 != 0);
    for (n, channel) in wanted.enumerate() {
        returned[n] = channels[channel];
    }
    let (register, count) = op.staging[0];
    for n in 0..usize::from(count).min(4) {
        let row = match op.flags & SHORT != 0 {
            false => returned[n],
            true if n > 1 => Row::splat(0),
            true => {
                let short = |v: u32| match kind {
                    NumericType::Float => to_half(f32::from_bits(v), RoundMode::Rte),
                    _ => v as u16,
                };
                let pair = [&returned[2 * n], &returned[2 * n + 1]];
                Row(std::array::from_fn(|lane| join(pair.map(|row| short(row.0[lane])))))
            }
        };
        l.put_register(register + n as u8, &row);
    }
}

/// Signed bytes as integers.
fn signed(bytes: [u8; 4]) -> [i32; 3] {
    [0, 1, 2].map(|k| i32::from(bytes[k] as i8))
}

/// The lanes of a mask whose 64-bit source equals that of the first of them.
#[inline(always)]
fn same_handles(sources: &[u64; LANES], mask: u16) -> u16 {
    let first = sources[mask.trailing_zeros() as usize % LANES];
    let mut same = 0u16;
    for (lane, source) in sources.iter().enumerate() {
        same |= u16::from(*source == first) << lane;
    }
    same & mask
}

/// The staging registers of a fetch's layer and offsets, if it has these.
#[inline(always)]
fn layer_and_offsets(flags: u32) -> [Option<usize>; 2] {
    let coordinates = (flags >> COORDINATES & 3) as usize;
    let layer = (flags & ARRAY != 0).then_some(coordinates);
    let offsets = coordinates + usize::from(layer.is_some());
    [layer, (flags & OFFSET != 0).then_some(offsets)]
}

/// Loads texels at integer coordinates, each offset by signed bytes of a further register. Its third byte is
/// the sample of multisampled images, its top byte the level of others.
#[inline(always)]
fn fetch(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let sources = l.get64(&op.src[0]);
    let staging = Staging::new(l, op);
    let coordinates = (op.flags >> COORDINATES & 3) as usize;
    let further = layer_and_offsets(op.flags);
    let mut channels = [Row::splat(0); 4];
    let mut kind = NumericType::Float;
    let mut left = l.warp.mask;
    while left != 0 {
        let group = same_handles(&sources, left);
        let [texture, _] = handle_pair(sources[left.trailing_zeros() as usize], op.flags);
        left &= !group;
        let Some((view, memory)) = l.port.view(texture)? else { continue };
        let sampled = view.texture.sample_count > 1;
        let mut at = [Texel::default(); LANES];
        for (lane, at) in at.iter_mut().enumerate() {
            let further = further.map(|n| n.map_or(0, |n| staging.word(n, lane)));
            let (layer, offsets) = (further[0], further[1].to_le_bytes());
            let [dx, dy, dz] = signed(offsets);
            let place = |n: usize, offset: i32| match n < coordinates {
                true => staging.word(n, lane).wrapping_add_signed(offset),
                false => 0,
            };
            *at = Texel {
                x: place(0, dx),
                y: place(1, dy),
                z: if sampled { offsets[2].into() } else { place(2, dz) },
                layer,
                level: if sampled { 0 } else { offsets[3].into() },
            };
        }
        kind = view.kind();
        let values = view.texels(memory, &at, group, kind)?;
        let values = swizzled_rows(&values, view.texture.swizzle, kind);
        for (row, value) in channels.iter_mut().zip(values) {
            *row = row.choose(group, &value);
        }
    }
    deliver(l, op, &channels, kind);
    Ok(())
}

/// Register numbers of a fetch's operands.
pub struct FetchOperands {
    flags: u32,
    pub coordinates: [Option<u8>; 3],
    pub layer: Option<u8>,
    /// The register of offsets, see [`fetch`].
    pub offsets: Option<u8>,
    /// The registers that are written, with the channel of each; registers without one become zero.
    pub results: ArrayVec<(u8, Option<u8>), 4>,
}

impl FetchOperands {
    /// The operands of a fetch; `None` if its results have 16 bits.
    pub fn new(op: &Op) -> Option<FetchOperands> {
        if op.flags & SHORT != 0 {
            return None;
        }
        let (first, count) = op.staging[1];
        let register = |n: usize| (n < usize::from(count)).then(|| first + n as u8);
        let axes = (op.flags >> COORDINATES & 3) as usize;
        let coordinates = [0, 1, 2].map(|axis| register(axis).filter(|_| axis < axes));
        let [layer, offsets] = layer_and_offsets(op.flags).map(|n| n.and_then(register));
        let mut wanted = (0..4).filter(|channel| op.flags >> channel & 1 != 0);
        let (first, count) = op.staging[0];
        let results = (first..first + count.min(4)).map(|register| (register, wanted.next()));
        let results = results.collect();
        Some(FetchOperands { flags: op.flags, coordinates, layer, offsets, results })
    }

    /// The texture handle of the 64-bit source.
    pub fn texture(&self, source: u64) -> u32 {
        handle_pair(source, self.flags)[0]
    }
}

/// The operands of a sample instruction, for all lanes.
struct Request {
    at: [[f32; LANES]; 3],
    face: [u32; LANES],
    layer: Row,
    reference: Option<Row>,
    offsets: Row,
    lod: Row,
    descriptor: [Row; 2],
}

impl Request {
    fn new(staging: &Staging, op: &Op) -> Request {
        let coordinates = (op.flags >> COORDINATES & 3) as usize;
        let mut at = [[0.0; LANES]; 3];
        let mut face = [0; LANES];
        for (n, axis) in at.iter_mut().enumerate().take(coordinates) {
            for (lane, value) in axis.iter_mut().enumerate() {
                let word = staging.word(n, lane);
                *value = f32::from_bits(word);
                if n == 0 && op.flags & CUBE != 0 {
                    // The upper bits of a float from 0 to 1 are the same for all but the tiniest, so the face
                    // replaces them.
                    face[lane] = (word >> 29).min(5);
                    *value = f32::from_bits(word & 0x1fff_ffff | 1 << 29);
                }
            }
        }
        let mut next = coordinates;
        let mut take = |present: bool| {
            next += usize::from(present);
            if present { staging.rows[(next - 1).min(7)] } else { Row::splat(0) }
        };
        let layer = take(op.flags & ARRAY != 0);
        let reference = take(op.flags & SHADOW != 0);
        let offsets = take(op.flags & OFFSET != 0);
        let mode = op.flags >> LOD & 7;
        let lod = take(mode == LodMode::Explicit as u32 || mode == LodMode::ComputedBias as u32);
        let given = mode == LodMode::Grdesc as u32;
        let descriptor = [take(given), take(given)];
        let reference = (op.flags & SHADOW != 0).then_some(reference);
        Request { at, face, layer, reference, offsets, lod, descriptor }
    }

    /// The gradient of coordinates across quads, on the faces of a cube.
    fn gradient(&self, op: &Op, out: &mut Gradient<LANES>) {
        if op.flags & CUBE == 0 {
            lod::gradient(&self.at, 3, out);
            return;
        }
        // Neighbours may be on other faces, so the gradient is that of the directions.
        let mut direction = [[0.0; LANES]; 3];
        for (lane, face) in self.face.into_iter().enumerate() {
            let [s, t] = [0, 1].map(|k| 2.0 * self.at[k][lane] - 1.0);
            let v = match face {
                0 => [1.0, -t, -s],
                1 => [-1.0, -t, s],
                2 => [s, 1.0, t],
                3 => [s, -1.0, -t],
                4 => [s, -t, 1.0],
                _ => [-s, -t, -1.0],
            };
            (0..3).for_each(|k| direction[k][lane] = v[k]);
        }
        let mut own = [[[0.0; LANES]; 2]; 3];
        lod::gradient(&direction, 3, &mut own);
        let faces = Faces { face: self.face, place: [self.at[0], self.at[1]] };
        gradients(&faces.face, &direction, &own, out);
    }
}

impl Request {
    /// The footprint of a sample in texels: the level of detail, and samples along a line. `rates` are the derivatives
    /// of the coordinates across quads, if the level comes from them.
    #[inline(always)]
    fn footprint(
        &self,
        op: &Op,
        rates: Option<&Gradient<LANES>>,
        view: &View,
        sampler: &Sampler,
        out: &mut Footprint<LANES>,
        line: &mut [[f32; LANES]; 2],
    ) {
        match op.flags >> LOD & 7 {
            m if m == LodMode::Explicit as u32 => {
                for (lod, word) in out.lod.iter_mut().zip(self.lod.0) {
                    *lod = explicit(word);
                }
            }
            m if m == LodMode::Grdesc as u32 => {
                let [first, second] = &self.descriptor;
                for (lane, word) in first.0.into_iter().enumerate() {
                    out.lod[lane] = explicit(word);
                    out.samples[lane] = (word >> 16 & 0x1f) as f32;
                    let [along, down] = halves(second.0[lane]).map(float16);
                    (line[0][lane], line[1][lane]) = (along, down);
                }
            }
            _ => {
                let Some(rates) = rates else { return };
                let scale = scale(view.size(0), sampler);
                let coordinates = (op.flags >> COORDINATES & 3) as usize;
                lod::footprint(rates, &scale, coordinates, sampler.anisotropy, out);
                for lane in 0..LANES {
                    let way = usize::from(out.down[lane] != 0.0);
                    (0..2).for_each(|axis| line[axis][lane] = rates[axis][way][lane]);
                }
            }
        }
    }
}

/// Factors that convert gradients of coordinates to texels.
fn scale(size: [u32; 3], sampler: &Sampler) -> [f32; 3] {
    if sampler.pixel { [1.0; 3] } else { size.map(|v| v as f32) }
}

fn explicit(word: u32) -> f32 {
    f32::from(word as u16 as i16) / 256.0
}

#[inline(always)]
fn sample(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let sources = l.get64(&op.src[0]);
    let staging = Staging::new(l, op);
    let request = Request::new(&staging, op);
    let mode = op.flags >> LOD & 7;
    // On Bifrost only fragments have neighbours.
    let computed = (mode == LodMode::Computed as u32 || mode == LodMode::ComputedBias as u32)
        && (l.port.tables.is_none() || l.port.pixels.is_some());
    let mut rates = None;
    let mut channels = [Row::splat(0); 4];
    let mut kind = NumericType::Float;
    let mut left = l.warp.mask;
    while left != 0 {
        let group = same_handles(&sources, left);
        let handles = handle_pair(sources[left.trailing_zeros() as usize], op.flags);
        left &= !group;
        let sampler = l.port.sampler(handles[1])?;
        let Some((view, memory)) = l.port.view(handles[0])? else { continue };
        kind = view.kind();
        let mut plan = lod::Plan::ZERO;
        let mut footprint =
            Footprint { lod: [0.0; LANES], samples: [1.0; LANES], down: [0.0; LANES] };
        let mut line = [[0.0; LANES]; 2];
        // With one level and one filter, the level of detail is not needed.
        let any = mode != LodMode::Grdesc as u32
            && (view.texture.levels <= 1 || sampler.mip == MipFilter::None)
            && sampler.min_linear == sampler.mag_linear
            && sampler.anisotropy <= 1;
        if !any {
            let rates = computed.then(|| {
                &*rates.get_or_insert_with(|| {
                    let mut rates = [[[0.0; LANES]; 2]; 3];
                    request.gradient(op, &mut rates);
                    rates
                })
            });
            request.footprint(op, rates, view, &sampler, &mut footprint, &mut line);
            let mut levels = footprint.lod;
            for level in &mut levels {
                *level += sampler.bias;
            }
            if mode == LodMode::ComputedBias as u32 {
                for (level, bias) in levels.iter_mut().zip(request.lod.0) {
                    *level += explicit(bias);
                }
            }
            let mut clamped = [0.0; LANES];
            lod::clamp::<LANES, Unit>(&levels, sampler.lod_in(view), None, &mut clamped);
            let last = view.texture.levels.saturating_sub(1);
            lod::plan(&clamped, sampler.mip, last as f32, &mut plan);
        }
        let (layers, unorm) = (view.layers(), view.format().is_unorm());
        let swizzle = view.texture.swizzle;
        let mut filter = Filter { view, memory, sampler };
        let texels = match filter.together(&request, op, &plan, &footprint, group)? {
            Some(texels) => texels,
            None => {
                let mut texels = [Row::splat(0); 4];
                for lane in numbers(group) {
                    let place = place(&request, layers, unorm, op, lane);
                    let line = line.map(|axis| axis[lane]);
                    let found = filter.one(&place, &plan, footprint.samples[lane], line, lane)?;
                    for (row, value) in texels.iter_mut().zip(found) {
                        row.0[lane] = value;
                    }
                }
                texels
            }
        };
        for (row, value) in channels.iter_mut().zip(swizzled_rows(&texels, swizzle, kind)) {
            *row = row.choose(group, &value);
        }
    }
    deliver(l, op, &channels, kind);
    Ok(())
}

impl Filter<'_, '_> {
    /// The filtered texels of lanes with the same level and filter, of an image with one face; `None` if these differ
    /// or the sample needs more.
    #[inline(always)]
    fn together(
        &mut self,
        request: &Request,
        op: &Op,
        plan: &lod::Plan<LANES>,
        footprint: &Footprint<LANES>,
        group: u16,
    ) -> Result<Option<[Row; 4]>, Box<Trap>> {
        let first = group.trailing_zeros() as usize % LANES;
        let (level, magnify) = (plan.level[first], plan.magnify[first]);
        let mut same = true;
        for lane in 0..LANES {
            let like = plan.level[lane] == level
                && plan.magnify[lane] == magnify
                && plan.between[lane] == 0
                && footprint.samples[lane] <= 1.0
                && request.offsets.0[lane] == 0;
            same &= like || group >> lane & 1 == 0;
        }
        let plain = op.flags & (CUBE | SHADOW | ARRAY) == 0 && !self.is_cube();
        if !same || !plain || self.view.kind() != NumericType::Float {
            return Ok(None);
        }
        let linear = if magnify == 0 { self.sampler.min_linear } else { self.sampler.mag_linear };
        self.level_of_all(&request.at, level, linear, group).map(Some)
    }

    /// The filtered texel of a lane.
    fn one(
        &mut self,
        place: &SamplePosition,
        plan: &lod::Plan<LANES>,
        samples: f32,
        line: [f32; 2],
        lane: usize,
    ) -> Result<[u32; 4], Box<Trap>> {
        let level = plan.level[lane];
        if self.view.kind() != NumericType::Float {
            return self.nearest(place, level);
        }
        let linear = match plan.magnify[lane] {
            0 => self.sampler.min_linear,
            _ => self.sampler.mag_linear,
        };
        let last = self.view.texture.levels.saturating_sub(1);
        let count = samples.max(1.0);
        let mut total: Option<[f32; 4]> = None;
        for n in 0..count as u32 {
            let mut at = *place;
            if count > 1.0 {
                // Samples are evenly spaced along the longer gradient.
                let t = (n + 1) as f32 / (count + 1.0) - 0.5;
                for (at, rate) in at.at.iter_mut().zip(line) {
                    *at += rate * t;
                }
            }
            let mut own = self.level(&at, level, linear)?;
            if plan.between[lane] != 0 {
                let next = self.level(&at, (level + 1).min(last), linear)?;
                own = self.mix(own, next, plan.next[lane]);
            }
            total = Some(match total {
                None => own,
                // The running mean.
                Some(total) => self.mix(total, own, 1.0 / (n + 1) as f32),
            });
        }
        Ok(total.unwrap_or_default().map(f32::to_bits))
    }
}

/// The position at which a lane samples.
fn place(request: &Request, layers: u32, unorm: bool, op: &Op, lane: usize) -> SamplePosition {
    let cube = op.flags & CUBE != 0;
    let layers = if cube { (layers / 6).max(1) } else { layers.max(1) };
    // A NaN becomes 0.
    let layer = f32::from_bits(request.layer.0[lane]).round_ties_even();
    let layer = match op.flags & ARRAY != 0 {
        true => layer.clamp(0.0, (layers - 1) as f32) as u32,
        false => 0,
    };
    let reference = request.reference.map(|row| f32::from_bits(row.0[lane]));
    SamplePosition {
        at: [0, 1, 2].map(|a| request.at[a][lane]),
        layer: if cube { 6 * layer } else { layer },
        face: request.face[lane],
        offset: signed(request.offsets.0[lane].to_le_bytes()),
        reference: match unorm {
            true => reference.map(|r| r.clamp(0.0, 1.0)),
            false => reference,
        },
    }
}

fn gather(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    if op.flags & INTEGER != 0 {
        let what = "gathers at integer coordinates";
        return Err(Box::new(Trap::Unimplemented(what.into())));
    }
    let sources = l.get64(&op.src[0]);
    let staging = Staging::new(l, op);
    // A gather has no level of detail.
    let request = Request::new(&staging, &Op { flags: op.flags & !(7 << LOD), ..op.clone() });
    let mut channels = [Row::splat(0); 4];
    let mut kind = NumericType::Float;
    for lane in l.active() {
        let [texture, sampler] = handle_pair(sources[lane], op.flags);
        let sampler = l.port.sampler(sampler)?;
        let Some((view, memory)) = l.port.view(texture)? else { continue };
        kind = view.kind();
        let place = place(&request, view.layers(), view.format().is_unorm(), op, lane);
        let mut filter = Filter { view, memory, sampler };
        let values = filter.gather(&place, op.flags >> COMPONENT & 3)?;
        for (row, value) in channels.iter_mut().zip(values) {
            row.0[lane] = value;
        }
    }
    deliver(l, op, &channels, kind);
    Ok(())
}

/// Computes the level of detail of coordinates or of derivatives.
fn gradient(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let sources = l.get64(&op.src[0]);
    let staging = Staging::new(l, op);
    let coordinates = (op.flags >> COORDINATES & 3) as usize;
    let request =
        Request::new(&staging, &Op { flags: op.flags & !(7 << LOD | ARRAY), ..op.clone() });
    let mut rates = [[[0.0; LANES]; 2]; 3];
    if op.flags & DERIVATIVES != 0 {
        // Differences to the right and down, for each coordinate.
        for (a, rates) in rates.iter_mut().enumerate().take(coordinates) {
            for (way, rates) in rates.iter_mut().enumerate() {
                *rates = std::array::from_fn(|i| f32::from_bits(staging.word(2 * a + way, i)));
            }
        }
    } else {
        request.gradient(op, &mut rates);
    }
    let mut rows = [Row::splat(0); 2];
    for lane in l.active() {
        let [texture, sampler] = handle_pair(sources[lane], op.flags);
        let sampler = l.port.sampler(sampler)?;
        let Some((view, _)) = l.port.view(texture)? else { continue };
        let own = [0, 1, 2].map(|a| [0, 1].map(|way| [rates[a][way][lane]]));
        let mut footprint = Footprint { lod: [0.0], samples: [1.0], down: [0.0] };
        let scale = scale(view.size(0), &sampler);
        lod::footprint(&own, &scale, coordinates, sampler.anisotropy, &mut footprint);
        let mut level = footprint.lod[0];
        if op.flags & NO_BIAS == 0 {
            level += sampler.bias;
        }
        if op.flags & NO_CLAMP == 0 {
            let last = view.texture.levels.saturating_sub(1) as f32;
            let [least, most] = sampler.lod_in(view);
            level = level.max(least).min(most).clamp(0.0, last);
            if sampler.mip == MipFilter::None {
                level = 0.0;
            }
        }
        // A NaN becomes 0.
        let fixed = (level * 256.0).round_ties_even().clamp(-32768.0, 32767.0) as i16;
        rows[0].0[lane] = u32::from(fixed as u16) | (footprint.samples[0] as u32 & 0x1f) << 16;
        let way = usize::from(footprint.down[0] != 0.0);
        let line = [own[0][way][0], own[1][way][0]].map(|v| f16::from_f32(v).to_bits());
        rows[1].0[lane] = join(line);
    }
    l.put_staging(op, &rows);
    Ok(())
}
