//! Copies, blits and resolves by programs of the driver's own.

use tepui_agx_compiler::descriptor::{ROW_B, STATE_B};
use tepui_ir::NumKind;
use tepui_layout::Dimension;
use tepui_vulkan::backend::{Blit, Dispatch, ImageCopy, ImageRef};
use tepui_vulkan::command::MAX_PUSH;
use tepui_vulkan::image::aspect_format;
use tepui_vulkan::{Result, vk};

use super::Encoder;
use super::bindings::Bindings;
use super::compression::{Area, is_compressed};
use super::image_part::{IDENTITY, colour_format, kind_of, part_of};
use super::side::Side;
use crate::descriptor::{self, Part, Row};
use crate::family::Agx;
use crate::meta::{Program, RECTANGLE, Resolve};

impl Encoder {
    /// Runs a program of the driver's own after all launches before and before all later ones, with words and rows of descriptors.
    pub(super) fn run(
        &mut self,
        p: impl Into<Program>,
        words: &[u32],
        rows: &[Row],
        threads: [u32; 3],
    ) -> Result<()> {
        self.order();
        self.run_unordered(p, words, rows, threads)?;
        self.order();
        Ok(())
    }

    /// Runs a program of the driver's own that does what a command of the application says: the application orders it.
    pub(super) fn run_unordered(
        &mut self,
        p: impl Into<Program>,
        words: &[u32],
        rows: &[Row],
        threads: [u32; 3],
    ) -> Result<()> {
        let v = self.device.clone().meta(p)?.compute()?;
        self.driver[..words.len()].copy_from_slice(words);
        let mut bindings = Bindings::default();
        if !rows.is_empty() {
            bindings.addresses[0] = self.upload(rows.as_flattened(), 64)?.address;
        }
        let groups = [0, 1, 2].map(|k| threads[k].div_ceil(v.workgroup[k]));
        self.launch(&v, &bindings, &[0; MAX_PUSH], &Dispatch::Direct([0; 3], groups), true)
    }

    pub(super) fn copy(
        &mut self,
        from: &Side,
        to: &Side,
        element: u32,
        extent: [u32; 3],
    ) -> Result<()> {
        if extent.contains(&0) {
            return Ok(());
        }
        let unit = 1 << element.trailing_zeros().min(4);
        let mut words = Vec::with_capacity(23);
        words.extend_from_slice(&from.words);
        words.extend_from_slice(&to.words);
        words.extend_from_slice(&extent);
        let p = Program::Copy {
            unit: unit as u8,
            units: (element / unit) as u8,
            from_tiled: from.tiled,
            to_tiled: to.tiled,
        };
        self.run_unordered(p, &words, &[], extent)
    }

    pub(super) fn blit_aspect(
        &mut self,
        blit: &Blit<'_, Agx>,
        aspect: vk::ImageAspectFlags,
    ) -> Result<()> {
        let r = &blit.region;
        let ((from, from_info, from_at), (to, to_info, to_at)) = (blit.source, blit.target);
        let source = aspect_format(from_info.format, aspect);
        let target = colour_format(aspect_format(to_info.format, aspect));
        let kind = kind_of(source);
        let (s, d) = (r.src_subresource, r.dst_subresource);
        let deep = from_info.image_type == vk::ImageType::_3D;
        let to_deep = to_info.image_type == vk::ImageType::_3D;
        let a = Part {
            plane: from.plane(aspect),
            format: source,
            dimension: if deep { Dimension::D3 } else { Dimension::D2 },
            array: !deep,
            levels: [s.mip_level, 1],
            layers: [0, if deep { 1 } else { from_info.layers }],
            swizzle: IDENTITY,
            storage: false,
        };
        let layers =
            if to_deep { (to_info.extent[2] >> d.mip_level).max(1) } else { to_info.layers };
        let b = Part {
            plane: to.plane(aspect),
            format: target,
            dimension: Dimension::D2,
            array: true,
            levels: [d.mip_level, 1],
            layers: [0, layers],
            swizzle: IDENTITY,
            storage: true,
        };
        let sampler = sampler(blit.linear && kind == NumKind::Float)?;
        let mut first = row(descriptor::texture(from, from_at, &a)?, None);
        first[STATE_B as usize..][..8].copy_from_slice(&sampler);
        let second = row([0; 24], Some(descriptor::pbe(to, to_at, &b, false)?));
        // Destination corners in order; what is mirrored has a negative scale.
        let axis = |k: usize| -> (i64, i64, f32, f32) {
            let pick = |o: vk::Offset3D| [o.x, o.y, o.z][k];
            let (d0, d1) = (i64::from(pick(r.dst_offsets[0])), i64::from(pick(r.dst_offsets[1])));
            let (s0, s1) = (pick(r.src_offsets[0]) as f32, pick(r.src_offsets[1]) as f32);
            let size = (from_info.extent[k] >> s.mip_level).max(1) as f32;
            let scale = (s1 - s0) / (d1 - d0) as f32;
            let low = d0.min(d1);
            // Destination pixel `low + i + 0.5` is source `s0 + (low + i + 0.5 - d0) * scale`.
            let offset = s0 + (low - d0) as f32 * scale;
            (low, d0.max(d1) - low, scale / size, offset / size)
        };
        let (x, y, z) = (axis(0), axis(1), axis(2));
        let (z0, depth) = match (deep, to_deep) {
            (_, true) => (z.0 as u32, z.1 as u32),
            (true, false) => (d.base_array_layer, z.1.max(1) as u32),
            _ => (d.base_array_layer, d.layer_count.max(1)),
        };
        let words = [
            x.0 as u32,
            y.0 as u32,
            z0,
            x.1 as u32,
            y.1 as u32,
            depth,
            x.2.to_bits(),
            y.2.to_bits(),
            z.2.to_bits(),
            x.3.to_bits(),
            y.3.to_bits(),
            z.3.to_bits(),
            s.base_array_layer,
        ];
        let threads = [words[3], words[4], words[5]];
        debug_assert_eq!(RECTANGLE[2], 1);
        let area = Area {
            level: d.mip_level,
            layers: [z0, depth],
            from: [words[0], words[1]],
            to: [words[0] + words[3], words[1] + words[4]],
            overwritten: true,
        };
        self.open(to, to_at, b.plane, &area)?;
        self.run_unordered(Program::Blit { kind, deep }, &words, &[first, second], threads)
    }

    /// Resolves samples of a region.
    pub(super) fn resolve_region(
        &mut self,
        from: &ImageRef<Agx>,
        to: &ImageRef<Agx>,
        region: &vk::ImageResolve2,
        mode: vk::ResolveModeFlags,
    ) -> Result<()> {
        let how = match mode {
            vk::ResolveModeFlags::AVERAGE => Resolve::Average,
            vk::ResolveModeFlags::MIN => Resolve::Min,
            vk::ResolveModeFlags::MAX => Resolve::Max,
            _ => Resolve::First,
        };
        for aspect in each_aspect(region.src_subresource.aspect_mask) {
            let source = aspect_format(from.format, aspect);
            let target = colour_format(aspect_format(to.format, aspect));
            let kind = kind_of(source);
            let how = if kind != NumKind::Float && how == Resolve::Average {
                Resolve::First
            } else {
                how
            };
            let (s, d) = (region.src_subresource, region.dst_subresource);
            let a = Part {
                plane: from.image.plane(aspect),
                layers: [0, from.info.layers],
                ..part_of(from, source)
            };
            let b = Part {
                plane: to.image.plane(aspect),
                layers: [0, slices(to)],
                ..part_of(to, target)
            };
            let rows = [
                row(descriptor::texture(&from.image, from.addresses, &a)?, None),
                row([0; 24], Some(descriptor::pbe(&to.image, to.addresses, &b, false)?)),
            ];
            let words = [
                region.src_offset.x as u32,
                region.src_offset.y as u32,
                s.base_array_layer,
                region.dst_offset.x as u32,
                region.dst_offset.y as u32,
                d.base_array_layer,
                region.extent.width,
                region.extent.height,
                s.layer_count.max(1),
            ];
            let threads = [words[6], words[7], words[8]];
            let area = Area {
                level: to.level,
                layers: [words[5], words[8]],
                from: [words[3], words[4]],
                to: [words[3] + words[6], words[4] + words[7]],
                overwritten: true,
            };
            self.open(&to.image, to.addresses, b.plane, &area)?;
            self.run_unordered(
                Program::Resolve { kind, samples: from.info.samples as u8, how },
                &words,
                &rows,
                threads,
            )?;
        }
        Ok(())
    }
}

pub(super) fn slices(i: &ImageRef<Agx>) -> u32 {
    if i.info.image_type == vk::ImageType::_3D {
        (i.info.extent[2] >> i.level).max(1)
    } else {
        i.info.layers
    }
}

/// A row of the two descriptors.
pub(super) fn row(texture: [u8; 24], pbe: Option<[u8; 24]>) -> Row {
    let mut row = [0; ROW_B as usize];
    row[..24].copy_from_slice(&texture);
    if let Some(pbe) = pbe {
        row[24..48].copy_from_slice(&pbe);
    }
    row
}

pub(super) fn sampler(linear: bool) -> Result<[u8; 8]> {
    let filter = if linear { vk::Filter::LINEAR } else { vk::Filter::NEAREST };
    let edge = vk::SamplerAddressMode::CLAMP_TO_EDGE;
    descriptor::sampler(&tepui_vulkan::backend::SamplerInfo {
        core: vk::SamplerCreateInfo {
            mag_filter: filter,
            min_filter: filter,
            address_mode_u: edge,
            address_mode_v: edge,
            address_mode_w: edge,
            ..Default::default()
        },
        border: None,
        opaque_black: None,
        reduction: vk::SamplerReductionMode::WEIGHTED_AVERAGE,
    })
}

/// The aspects of `mask` that blits and resolves draw one after the other: color alone, or depth and then stencil.
pub(super) fn each_aspect(
    mask: vk::ImageAspectFlags,
) -> impl Iterator<Item = vk::ImageAspectFlags> {
    let list = match mask.contains(vk::ImageAspectFlags::COLOR) {
        true => [mask, vk::ImageAspectFlags::empty()],
        false => [vk::ImageAspectFlags::DEPTH, vk::ImageAspectFlags::STENCIL],
    };
    list.into_iter().filter(move |&x| !x.is_empty() && mask.contains(x))
}

/// Whether texels of a copy's image lie in tiles that may be compressed.
pub(super) fn has_compressed_level(copy: &ImageCopy<'_, Agx>) -> bool {
    let image = copy.image.0;
    is_compressed(image, image.plane(copy.layers.aspect_mask), copy.layers.mip_level)
}

/// One side of a copy of `extent` pixels, with the extent in blocks (slices or layers last) and the bytes of a block.
pub(super) fn side_of(
    copy: &ImageCopy<'_, Agx>,
    extent: [u32; 3],
) -> Result<(Side, [u32; 3], u32)> {
    let (layout, info, addresses) = copy.image;
    let format = aspect_format(info.format, copy.layers.aspect_mask);
    let n = layout.plane(copy.layers.aspect_mask);
    let plane = &layout.planes[n];
    let block = format.info().block;
    let is_3d = info.image_type == vk::ImageType::_3D;
    let [x, y, z] = copy.offset.map(|v| v.max(0) as u32);
    let at = [x / block.width_px, y / block.height_px, if is_3d { z } else { 0 }];
    let first_layer = if is_3d { 0 } else { copy.layers.base_array_layer };
    let side = Side::image(plane, addresses[n], copy.layers.mip_level, first_layer, at)?;
    let depth = if is_3d { extent[2] } else { copy.layers.layer_count };
    let blocks = [extent[0].div_ceil(block.width_px), extent[1].div_ceil(block.height_px), depth];
    Ok((side, blocks, plane.layout.element_B))
}
