//! Samplers, and texel filtering.
//!
// source: Mesa, panvk_vX_sampler.c; Vulkan specification, "Texel Filtering".

use tepui_mali_packets::Packet;
use tepui_mali_packets::texture::{
    CompareFunction, LodAlgorithm, MipmapMode, ReductionMode, Sampler as Descriptor,
    TextureDimension, WrapMode,
};
use tepui_softgpu::UnitMemory;
use tepui_texel::axis::{Axis, AxisRule, axis};
use tepui_texel::taps::{self, Taps};
use tepui_texel::{MipFilter, Wrap};

use super::Port;
use super::surface::Texel;
use super::view::View;
use crate::pixels::format::{NumericType, Unit};
use crate::warp::row::{LANES, Row};
use crate::warp::trap::Trap;

/// Recently read samplers, by handle.
#[derive(Default)]
pub struct Cache {
    entries: Vec<(u32, Sampler)>,
}

impl Cache {
    const SIZE: usize = 64;
}

/// A sampler.
#[derive(Clone, Copy)]
pub struct Sampler {
    pub min_linear: bool,
    pub mag_linear: bool,
    pub mip: MipFilter,
    /// Maximum number of samples along the line of anisotropy.
    pub anisotropy: u32,
    pub bias: f32,
    pub lod: [f32; 2],
    wrap: [Wrap; 3],
    /// Whether coordinates are in texels.
    pub pixel: bool,
    seamless: bool,
    compare: CompareFunction,
    reduction: ReductionMode,
    border: [u32; 4],
}

impl Port<'_> {
    /// The sampler of a handle; a default one if no table has a descriptor.
    pub fn sampler(&mut self, handle: u32) -> Result<Sampler, Box<Trap>> {
        if let Some((_, sampler)) = self.samplers.entries.iter().find(|(h, _)| *h == handle) {
            return Ok(*sampler);
        }
        let descriptor = match self.descriptor(handle)? {
            Some(bytes) if bytes.iter().any(|b| *b != 0) => Descriptor::unpack(&bytes)
                .map_err(|e| Box::new(Trap::Invalid(format!("sampler {handle:#x}: {e}"))))?,
            _ => Descriptor::default(),
        };
        let sampler = Sampler::new(&descriptor)?;
        if self.samplers.entries.len() >= Cache::SIZE {
            self.samplers.entries.clear();
        }
        self.samplers.entries.push((handle, sampler));
        Ok(sampler)
    }
}

impl Sampler {
    fn new(d: &Descriptor) -> Result<Sampler, Box<Trap>> {
        let wrap = |mode| {
            Ok(match mode {
                WrapMode::Repeat => Wrap::Repeat,
                WrapMode::ClampToEdge => Wrap::ClampToEdge,
                WrapMode::ClampToBorder => Wrap::ClampToBorder,
                WrapMode::MirroredRepeat => Wrap::MirroredRepeat,
                WrapMode::MirroredClampToEdge => Wrap::MirroredClampToEdge,
                WrapMode::MirroredClampToBorder => {
                    let what = format!("samplers that wrap by {mode}");
                    return Err(Box::new(Trap::Unimplemented(what)));
                }
            })
        };
        Ok(Sampler {
            min_linear: !d.minify_nearest,
            mag_linear: !d.magnify_nearest,
            mip: match d.mipmap_mode {
                MipmapMode::Nearest => MipFilter::Nearest,
                MipmapMode::None => MipFilter::None,
                MipmapMode::Trilinear => MipFilter::Linear,
            },
            anisotropy: match d.lod_algorithm {
                LodAlgorithm::Isotropic => 1,
                LodAlgorithm::Anisotropic => d.maximum_anisotropy,
            },
            bias: d.lod_bias as i16 as f32 / 256.0,
            lod: [d.minimum_lod, d.maximum_lod],
            wrap: [wrap(d.wrap_mode_s)?, wrap(d.wrap_mode_t)?, wrap(d.wrap_mode_r)?],
            pixel: !d.normalized_coordinates,
            seamless: d.seamless_cube_map,
            compare: d.compare_function,
            reduction: d.reduction_mode,
            border: [d.border_color_r, d.border_color_g, d.border_color_b, d.border_color_a],
        })
    }

    /// The least and the largest level of detail in a view: the texture's least one holds after the sampler's range.
    pub fn lod_in(&self, view: &View) -> [f32; 2] {
        self.lod.map(|lod| lod.max(view.texture.minimum_lod))
    }

    /// 1 if a texel passes the comparison with the reference.
    fn compare(&self, texel: f32, reference: f32) -> f32 {
        let passes = match self.compare {
            CompareFunction::Never => false,
            CompareFunction::Less => texel < reference,
            CompareFunction::Equal => texel == reference,
            CompareFunction::Lequal => texel <= reference,
            CompareFunction::Greater => texel > reference,
            CompareFunction::NotEqual => texel != reference,
            CompareFunction::Gequal => texel >= reference,
            CompareFunction::Always => true,
        };
        if passes { 1.0 } else { 0.0 }
    }
}

/// The position at which a lane samples.
#[derive(Clone, Copy)]
pub struct SamplePosition {
    pub at: [f32; 3],
    /// The layer, or the first layer of a cube.
    pub layer: u32,
    pub face: u32,
    pub offset: [i32; 3],
    pub reference: Option<f32>,
}

/// A filter over a view.
pub struct Filter<'f, 'm> {
    pub view: &'f mut View,
    pub memory: &'f mut UnitMemory<'m>,
    pub sampler: Sampler,
}

impl Filter<'_, '_> {
    fn axes(&self) -> usize {
        match self.view.texture.dimension {
            TextureDimension::N1d => 1,
            TextureDimension::N2d | TextureDimension::Cube => 2,
            TextureDimension::N3d => 3,
        }
    }

    pub fn is_cube(&self) -> bool {
        self.view.texture.dimension == TextureDimension::Cube
    }

    fn along(&self, place: &SamplePosition, a: usize, size: u32, linear: bool) -> Axis<1> {
        let mut out = Axis::ZERO;
        let offset = place.offset[a];
        let wrap = if self.is_cube() { Wrap::ClampToEdge } else { self.sampler.wrap[a] };
        let pixel = self.sampler.pixel;
        let rule = AxisRule { size, wrap, pixel, linear, moved: offset != 0 };
        axis::<1, Unit>(&rule, &[place.at[a]], &[offset], &mut out);
        out
    }

    fn border(&self) -> [u32; 4] {
        self.view.format().present(self.sampler.border, self.view.kind())
    }

    fn texel(
        &mut self,
        [x, y, z]: [i32; 3],
        layer: u32,
        level: u32,
    ) -> Result<[u32; 4], Box<Trap>> {
        let [x, y, z] = [x, y, z].map(|v| v as u32);
        let kind = self.view.kind();
        let at = Texel { x, y, z, layer, level };
        Ok(self.view.texel(self.memory, at, kind)?.unwrap_or_default())
    }

    /// The nearest texel of a level.
    pub fn nearest(&mut self, place: &SamplePosition, level: u32) -> Result<[u32; 4], Box<Trap>> {
        let size = self.view.size(level);
        let axes = self.axes();
        let mut at = [0; 3];
        let mut outside = 0;
        for a in 0..axes {
            let axis = self.along(place, a, size[a], false);
            at[a] = axis.texel[0][0];
            outside |= axis.outside[0][0];
        }
        if outside != 0 {
            return Ok(self.border());
        }
        self.texel(at, place.layer + place.face, level)
    }

    /// The texels of a linear filter.
    fn taps(&mut self, place: &SamplePosition, level: u32) -> Result<Taps, Box<Trap>> {
        let size = self.view.size(level);
        if self.is_cube() && self.sampler.seamless {
            let at = [place.at[0], place.at[1]];
            return taps::on_cube::<Unit, _>(at, place.face, size[0], |at| {
                self.texel([at.x, at.y, 0], place.layer + at.face, level)
            });
        }
        let axes = self.axes();
        let x = self.along(place, 0, size[0], true);
        let y = if axes > 1 { self.along(place, 1, size[1], true) } else { Axis::ZERO };
        let z = if axes > 2 { self.along(place, 2, size[2], true) } else { Axis::ZERO };
        let border = self.border();
        taps::along_axes([&x, &y, &z], border, |at| self.texel(at, place.layer + place.face, level))
    }

    /// A texel's channels for a filter, after the comparison if there is one.
    fn compared(&self, texel: [u32; 4], reference: Option<f32>) -> [f32; 4] {
        let texel = texel.map(f32::from_bits);
        match reference {
            None => texel,
            Some(reference) => [self.sampler.compare(texel[0], reference), 0.0, 0.0, 1.0],
        }
    }

    /// The filtered texel of a level.
    pub fn level(
        &mut self,
        place: &SamplePosition,
        level: u32,
        linear: bool,
    ) -> Result<[f32; 4], Box<Trap>> {
        if !linear {
            let texel = self.nearest(place, level)?;
            return Ok(self.compared(texel, place.reference));
        }
        let taps = self.taps(place, level)?;
        let mut total = [0.0; 4];
        let mut any = false;
        for (texel, weight) in taps.iter().filter(|tap| tap.1 != 0.0) {
            let texel = self.compared(*texel, place.reference);
            for (total, value) in total.iter_mut().zip(texel) {
                *total = match self.sampler.reduction {
                    ReductionMode::Average => *total + value * weight,
                    _ if !any => value,
                    ReductionMode::Minimum => total.min(value),
                    ReductionMode::Maximum => total.max(value),
                };
            }
            any = true;
        }
        Ok(total)
    }

    /// Version of [`Filter::level`] for the lanes of a mask, without layers, offsets or a reference.
    #[inline(always)]
    pub fn level_of_all(
        &mut self,
        place: &[[f32; LANES]; 3],
        level: u32,
        linear: bool,
        mask: u16,
    ) -> Result<[Row; 4], Box<Trap>> {
        let size = self.view.size(level);
        let mut along: [Axis<LANES>; 3] = [Axis::ZERO; 3];
        let axes = self.axes();
        for (a, out) in along.iter_mut().enumerate().take(axes) {
            let (wrap, pixel) = (self.sampler.wrap[a], self.sampler.pixel);
            let rule = AxisRule { size: size[a], wrap, pixel, linear, moved: false };
            axis::<LANES, Unit>(&rule, &place[a], &[0; LANES], out);
        }
        let border = self.border();
        let taps = if linear { 1 << axes } else { 1 };
        let mut total = [[0.0f32; LANES]; 4];
        let mut any = 0u16;
        let mut active = [0; LANES];
        for (lane, active) in active.iter_mut().enumerate() {
            *active = (u32::from(mask) >> lane & 1).wrapping_neg();
        }
        for k in 0..taps {
            let which = [k & 1, k >> 1 & 1, k >> 2];
            let mut weights = [1.0f32; LANES];
            let (mut counts, mut beyond) = ([0u32; LANES], [0u32; LANES]);
            for a in 0..axes {
                let (own, weight) = (&along[a].outside[which[a]], &along[a].weight);
                for lane in 0..LANES {
                    beyond[lane] |= own[lane];
                    if linear {
                        weights[lane] *=
                            if which[a] == 0 { 1.0 - weight[lane] } else { weight[lane] };
                    }
                }
            }
            let (mut there, mut outside) = (0u16, 0u16);
            for lane in 0..LANES {
                counts[lane] = if weights[lane] != 0.0 { active[lane] } else { 0 };
                there |= u16::from(counts[lane] != 0) << lane;
                outside |= u16::from(beyond[lane] != 0) << lane;
            }
            if there == 0 {
                continue;
            }
            let [mut x, mut y, mut z] = [[0; LANES]; 3];
            for (a, out) in [&mut x, &mut y, &mut z].into_iter().enumerate().take(axes) {
                for (out, texel) in out.iter_mut().zip(&along[a].texel[which[a]]) {
                    *out = *texel as u32;
                }
            }
            let inside = there & !outside;
            let of =
                Texel { level, z: z[inside.trailing_zeros() as usize % LANES], ..Texel::default() };
            let flat = (0..LANES).all(|lane| z[lane] == of.z || inside >> lane & 1 == 0);
            let mut texels = match flat {
                _ if inside == 0 => [Row::splat(0); 4],
                true => self.view.texels_of_level(
                    self.memory,
                    [&x, &y],
                    of,
                    inside,
                    NumericType::Float,
                )?,
                false => {
                    let at = |lane: usize| Texel { x: x[lane], y: y[lane], z: z[lane], ..of };
                    let at = std::array::from_fn(at);
                    self.view.texels(self.memory, &at, inside, NumericType::Float)?
                }
            };
            if outside != 0 {
                for (row, border) in texels.iter_mut().zip(border) {
                    *row = row.choose(outside, &Row::splat(border));
                }
            }
            // Adds the weighted texels of the active lanes.
            macro_rules! add {
                ($lane:ident, $old:ident, $value:ident => $new:expr) => {
                    for (total, row) in total.iter_mut().zip(&texels) {
                        for $lane in 0..LANES {
                            let ($old, $value) = (total[$lane], f32::from_bits(row.0[$lane]));
                            let new = $new;
                            total[$lane] = if counts[$lane] != 0 { new } else { $old };
                        }
                    }
                };
            }
            let first = |lane: usize| any >> lane & 1 == 0;
            match self.sampler.reduction {
                _ if !linear => add!(lane, _old, value => value),
                ReductionMode::Average => add!(lane, old, value => old + value * weights[lane]),
                ReductionMode::Minimum => {
                    add!(lane, old, value => if first(lane) { value } else { old.min(value) });
                }
                ReductionMode::Maximum => {
                    add!(lane, old, value => if first(lane) { value } else { old.max(value) });
                }
            }
            any |= there;
        }
        let mut out = [Row::splat(0); 4];
        for (out, total) in out.iter_mut().zip(&total) {
            for (out, value) in out.0.iter_mut().zip(total) {
                *out = value.to_bits();
            }
        }
        Ok(out)
    }

    /// Combines two results with the sampler's reduction mode.
    pub fn mix(&self, a: [f32; 4], b: [f32; 4], weight: f32) -> [f32; 4] {
        std::array::from_fn(|c| match self.sampler.reduction {
            ReductionMode::Average => a[c] * (1.0 - weight) + b[c] * weight,
            ReductionMode::Minimum => a[c].min(b[c]),
            ReductionMode::Maximum => a[c].max(b[c]),
        })
    }

    /// A channel of the four texels of a filter: from left to right, then down.
    pub fn gather(&mut self, place: &SamplePosition, channel: u32) -> Result<[u32; 4], Box<Trap>> {
        let taps = self.taps(place, 0)?;
        let kind = self.view.kind();
        Ok(std::array::from_fn(|k| {
            let texel = match place.reference {
                None => taps[k].0,
                reference => self.compared(taps[k].0, reference).map(f32::to_bits),
            };
            swizzled(texel, self.view.texture.swizzle, kind)[channel as usize & 3]
        }))
    }
}

/// Version of [`swizzled`] for all lanes.
#[inline(always)]
pub fn swizzled_rows(texels: &[Row; 4], swizzle: u32, kind: NumericType) -> [Row; 4] {
    let one = if kind == NumericType::Float { 1f32.to_bits() } else { 1 };
    let mut out = [Row::splat(0); 4];
    for (i, row) in out.iter_mut().enumerate() {
        match swizzle >> (3 * i) & 7 {
            channel @ 0..4 => *row = texels[channel as usize],
            4 => {}
            _ => *row = Row::splat(one),
        }
    }
    out
}

/// Applies a view's swizzle: three bits per channel, a channel, 0 or 1.
pub fn swizzled(texel: [u32; 4], swizzle: u32, kind: NumericType) -> [u32; 4] {
    let one = if kind == NumericType::Float { 1f32.to_bits() } else { 1 };
    std::array::from_fn(|i| match swizzle >> (3 * i) & 7 {
        channel @ 0..4 => texel[channel as usize],
        4 => 0,
        _ => one,
    })
}
