//! Images: texels as raw component bits, nearest and linear filtering of 1D, 2D and 3D images and their arrays.

use super::exec::combine;
use super::{Fault, Machine, Mask, MemoryError};
use crate::attrs::{Attrs, Dim, NumKind};
use crate::entity::{Inst, Value};
use crate::op::Op;
use crate::shader::Shader;

/// How texels between texel centres are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Filter {
    /// The nearest texel.
    #[default]
    Nearest,
    /// Weighted by distance, in every dimension of the image.
    Linear,
}

/// What coordinates outside the image mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Wrap {
    /// The texel at the edge.
    #[default]
    Clamp,
    /// The image repeats.
    Repeat,
}

/// A sampler.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SamplerData {
    /// Filter within a level; the level is always the nearest.
    pub filter: Filter,
    /// Addressing in every dimension.
    pub wrap: Wrap,
}

/// An image: levels of texels, each with four components as bits (floats as `f32`).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ImageData {
    /// Width, height, depth in texels of level 0 (1 where the image has no such dimension).
    pub size: [u32; 3],
    /// Array layers.
    pub layers: u32,
    /// Texels of each level: x fastest, then y, z, layer.
    pub levels: Vec<Vec<[u64; 4]>>,
}

impl ImageData {
    /// A zeroed image with `levels` levels.
    #[must_use]
    pub fn new(size: [u32; 3], layers: u32, levels: u32) -> ImageData {
        let mut i = ImageData { size, layers, levels: Vec::new() };
        for l in 0..levels {
            let n: u32 = i.level_size(l as usize).iter().product();
            i.levels.push(vec![[0; 4]; (n * layers) as usize]);
        }
        i
    }

    /// Width, height and depth of a level.
    #[must_use]
    pub fn level_size(&self, level: usize) -> [u32; 3] {
        self.size.map(|s| (s >> level.min(31)).max(1))
    }

    /// Index of a texel in its level, `None` out of bounds.
    #[must_use]
    pub fn index(&self, level: usize, at: [i64; 3], layer: i64) -> Option<usize> {
        let s = self.level_size(level);
        let inside = (0..3).all(|i| at[i] >= 0 && at[i] < i64::from(s[i]));
        (level < self.levels.len() && inside && layer >= 0 && layer < i64::from(self.layers)).then(
            || {
                (((layer * i64::from(s[2]) + at[2]) * i64::from(s[1]) + at[1]) * i64::from(s[0])
                    + at[0]) as usize
            },
        )
    }

    fn texel(&self, level: usize, at: [i64; 3], layer: i64) -> [u64; 4] {
        self.index(level, at, layer).map_or([0; 4], |i| self.levels[level][i])
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "a lookup: image, sampler, level, place, offset, kind"
    )]
    fn sample(
        &self,
        s: SamplerData,
        level: usize,
        uv: [f32; 3],
        dims: usize,
        layer: i64,
        off: [i64; 3],
        kind: NumKind,
    ) -> [u64; 4] {
        let size = self.level_size(level);
        let wrap = |i: usize, x: i64| match s.wrap {
            Wrap::Clamp => x.clamp(0, i64::from(size[i]) - 1),
            Wrap::Repeat => x.rem_euclid(i64::from(size[i])),
        };
        let mut base = [0i64; 3];
        let mut frac = [0f32; 3];
        let linear = s.filter == Filter::Linear && kind == NumKind::Float;
        for i in 0..dims {
            let x = uv[i] * size[i] as f32;
            let x = if linear { x - 0.5 } else { x };
            base[i] = x.floor() as i64 + off[i];
            frac[i] = x - x.floor();
        }
        if !linear {
            let at = [0, 1, 2].map(|i| if i < dims { wrap(i, base[i]) } else { 0 });
            return self.texel(level, at, layer);
        }
        let mut sum = [0f32; 4];
        for corner in 0..1usize << dims {
            let mut w = 1.0;
            let mut at = [0; 3];
            for i in 0..dims {
                let up = corner >> i & 1;
                w *= if up == 1 { frac[i] } else { 1.0 - frac[i] };
                at[i] = wrap(i, base[i] + up as i64);
            }
            let t = self.texel(level, at, layer);
            for c in 0..4 {
                sum[c] += w * f32::from_bits(t[c] as u32);
            }
        }
        sum.map(|x| u64::from(x.to_bits()))
    }
}

impl Machine<'_> {
    fn bound(&self, inst: Inst, handle: Value, lane: usize) -> Result<&ImageData, Fault> {
        let slot = self.slot(inst, self.get(handle, 0, lane))?;
        match self.memory.images.get(&slot) {
            Some(i) => Ok(i),
            None => {
                Err(Fault::Memory { inst, error: MemoryError::NoImage(slot.0, slot.1, slot.2) })
            }
        }
    }

    fn opt(&self, v: Option<Value>, c: usize, lane: usize) -> Option<u64> {
        v.map(|v| self.get(v, c, lane))
    }

    pub(super) fn image(&mut self, inst: Inst, live: &Mask) -> Result<(), Fault> {
        let s = self.s;
        let d = &s.insts[inst];
        let args = s.args(inst);
        let (i, t) = match d.attrs {
            Attrs::ImageAtomic(_, i) => (i, crate::shader::TexArgs::default()),
            _ => s
                .tex_args(inst)
                .unwrap_or_else(|| unreachable!("image() is called for image attributes only")),
        };
        if i.dim == Dim::Cube || i.ms {
            return self.unsupported(inst, "a cube or multisampled image");
        }
        let dims = i.dim.coords() as usize;
        for lane in (0..self.n).filter(|&l| live[l]) {
            let coord = |m: &Self, v: Value| {
                let mut at = [0i64; 3];
                (0..dims).for_each(|c| at[c] = i64::from(m.get(v, c, lane) as u32 as i32));
                let layer = if i.array { i64::from(m.get(v, dims, lane) as u32 as i32) } else { 0 };
                (at, layer)
            };
            let off = [0, 1, 2].map(|c| {
                if c < dims {
                    self.opt(t.offset, c, lane).map_or(0, |o| i64::from(o as u32 as i32))
                } else {
                    0
                }
            });
            let img = self.bound(inst, args[0], lane)?;
            let texel: Vec<u64> = match d.op {
                Op::TexFetch | Op::ImageLoad => {
                    let (at, layer) = coord(self, args[1]);
                    let at = [0, 1, 2].map(|k| at[k] + off[k]);
                    img.texel(self.opt(t.lod, 0, lane).unwrap_or(0) as usize, at, layer).to_vec()
                }
                Op::ImageSize => {
                    let level = self.opt(t.lod, 0, lane).unwrap_or(0) as usize;
                    let sz = img.level_size(level);
                    let mut v: Vec<u64> = (0..dims).map(|k| u64::from(sz[k])).collect();
                    if i.array {
                        v.push(u64::from(img.layers));
                    }
                    v
                }
                Op::TexLevels => vec![img.levels.len() as u64],
                Op::ImageSamples => vec![1],
                Op::TexSampleLod if t.ddx.is_none() => {
                    let lod = f32::from_bits(self.opt(t.lod, 0, lane).unwrap_or(0) as u32);
                    let level =
                        lod.round_ties_even().clamp(0.0, img.levels.len() as f32 - 1.0) as usize;
                    self.filtered(inst, img, args, level, lane, off)?
                }
                Op::TexSample | Op::TexSampleLod if img.levels.len() == 1 => {
                    self.filtered(inst, img, args, 0, lane, off)?
                }
                Op::TexGather if t.dref.is_none() && t.offsets.is_none() && dims == 2 => {
                    let uv = [0, 1].map(|c| f32::from_bits(self.get(args[2], c, lane) as u32));
                    let sz = img.level_size(0);
                    let b = [0, 1].map(|k| (uv[k] * sz[k] as f32 - 0.5).floor() as i64 + off[k]);
                    let layer = if i.array {
                        f32::from_bits(self.get(args[2], 2, lane) as u32).round() as i64
                    } else {
                        0
                    };
                    [(0, 1), (1, 1), (1, 0), (0, 0)]
                        .map(|(x, y)| {
                            let at = [
                                (b[0] + x).clamp(0, i64::from(sz[0]) - 1),
                                (b[1] + y).clamp(0, i64::from(sz[1]) - 1),
                                0,
                            ];
                            img.texel(0, at, layer)[i.component as usize]
                        })
                        .to_vec()
                }
                Op::ImageStore | Op::ImageAtomic => {
                    let (at, layer) = coord(self, args[1]);
                    let index = img.index(0, at, layer);
                    let slot = self.slot(inst, self.get(args[0], 0, lane))?;
                    if self.helpers[lane] {
                        continue;
                    }
                    let (Some(index), Some(img)) = (index, self.memory.images.get_mut(&slot))
                    else {
                        self.memory.out_of_bounds += 1;
                        continue;
                    };
                    let old = img.levels[0][index];
                    let mut new = old;
                    if let Attrs::ImageAtomic(op, _) = d.attrs {
                        let ty = s.ty(s.result(inst));
                        let n = self.n;
                        let data: Vec<u64> = args[3..]
                            .iter()
                            .map(|&v| self.vals[self.at[v] as usize * n + lane])
                            .collect();
                        new[0] = combine(op, ty, old[0], &data) & ty.mask();
                        img.levels[0][index] = new;
                        self.set(s.result(inst), 0, lane, old[0]);
                    } else {
                        let n = self.n;
                        (0..4).for_each(|c| {
                            new[c] = self.vals[(self.at[args[2]] as usize + c) * n + lane]
                        });
                        img.levels[0][index] = new;
                    }
                    continue;
                }
                _ => return self.unsupported(inst, format!("{} with these operands", d.op.name())),
            };
            let r = s.result(inst);
            for (c, x) in texel.into_iter().take(s.ty(r).comps() as usize).enumerate() {
                self.set(r, c, lane, x);
            }
        }
        Ok(())
    }

    fn filtered(
        &self,
        inst: Inst,
        img: &ImageData,
        args: &[Value],
        level: usize,
        lane: usize,
        off: [i64; 3],
    ) -> Result<Vec<u64>, Fault> {
        let s: &Shader = self.s;
        let Some((i, t)) = s.tex_args(inst) else { return self.unsupported(inst, "this image op") };
        if t.dref.is_some() {
            return self.unsupported(inst, "depth comparison");
        }
        let dims = i.dim.coords() as usize;
        let mut uv = [0f32; 3];
        for (c, u) in uv.iter_mut().enumerate().take(dims) {
            *u = f32::from_bits(self.get(args[2], c, lane) as u32);
        }
        let layer = if i.array {
            let l = f32::from_bits(self.get(args[2], dims, lane) as u32).round_ties_even() as i64;
            l.clamp(0, i64::from(img.layers) - 1)
        } else {
            0
        };
        let slot = self.slot(inst, self.get(args[1], 0, lane))?;
        let sampler = self.memory.samplers.get(&slot).copied().unwrap_or_default();
        Ok(img.sample(sampler, level, uv, dims, layer, off, i.kind).to_vec())
    }
}
