//! Lowers instructions that access textures, images and the tile.

use tepui_agx_isa::Inst;
use tepui_agx_isa::operand as isa;
use tepui_agx_packets::texture::TextureDimension;
use tepui_agx_texture::{BlockStore, Kind, LodSource, Request, Store};

use super::build::{not_executed, plain, refuse};
use super::memory::{tile_format, unknown_format};
use super::operands::{coordinates, general, register_or_immediate, uniform, vector};
use crate::usc::access::{
    DescriptorSource, ImageStore, SamplerSource, TextureAccess, TextureRead, TilePixel, TileStore,
};
use crate::usc::code::Builder;
use crate::usc::op::{Dst, Op, Src};
use crate::usc::opcode::Opcode;

/// The operation of a texture or image instruction, or of one that loads or stores pixels of the
/// tile.
pub fn lower(b: &mut Builder<'_>, inst: &Inst) -> Op {
    // Macros, because instructions with the same fields are of different types.
    macro_rules! texture {
        ($i:expr, $load:literal) => {{
            let i = $i;
            let Some(texture) = descriptor(b, i.base, i.texture) else { return unknown_texture(b) };
            let Some(kind) = texture_kind(i.mode, i.gather, $load) else {
                return unknown_texture(b);
            };
            let (coordinates, sample, layer) = coordinates(b, i.coords, i.dim);
            let (lod, min_lod, gradient, source) = level_of_detail(b, i.lod, i.lod_mode);
            let half = i.compare_offset.reg;
            let compare = i.compare_offset.compare;
            let reference = compare.then(|| general(b, half, isa::Size::B32));
            let offset = i
                .compare_offset
                .offset
                .then(|| general(b, half + if compare { 2 } else { 0 }, isa::Size::B16));
            let sampler = match i.sampler {
                isa::Sampler::State(number) => SamplerSource::State(number),
                isa::Sampler::StateReg(half) => {
                    SamplerSource::Register(general(b, half, isa::Size::B16))
                }
            };
            let fields = TextureRead {
                request: Request {
                    kind,
                    dimension: dimension(i.dim),
                    compare,
                    offset: offset.is_some(),
                    lod: source,
                    narrow: i.r.size == isa::Size::B16,
                    mask: i.mask,
                    residency: i.kill & 2 != 0,
                },
                register: vector(b, i.r),
                texture,
                sampler,
                coordinates,
                layer,
                sample,
                lod,
                min_lod,
                gradient,
                reference,
                offset,
                integer: $load,
            };
            access(b, Opcode::texture, TextureAccess::Read(fields), [0; 4])
        }};
    }
    macro_rules! tile_pixel {
        ($i:expr, $load:literal) => {{
            let i = $i;
            let Some(format) = tile_format(i.format) else { return unknown_format(b) };
            let half = u16::from(i.coords);
            let fields = TilePixel {
                format,
                mask: i.mask,
                register: vector(b, i.r),
                offset: i.offset,
                samples: register_or_immediate(b, i.samples),
                coordinates: [
                    general(b, half, isa::Size::B16),
                    general(b, half + 1, isa::Size::B16),
                ],
            };
            let opcode = if i.explicit { Opcode::tile_pixel } else { Opcode::tile_access };
            access(b, opcode, TextureAccess::Pixel(fields), [$load, 0, 0, 0])
        }};
    }
    match inst {
        Inst::TextureSample(i) => texture!(i, false),
        Inst::TextureLoad(i) => texture!(i, true),
        Inst::ImageWrite(i) if i.round != isa::StoreRound::default() => {
            refuse(b, "an image store that rounds toward zero".to_owned())
        }
        Inst::ImageWrite(i) => {
            let Some(image) = descriptor(b, i.base, i.image) else { return unknown_texture(b) };
            let (coordinates, sample, layer) = coordinates(b, i.coords, i.dim);
            let store = Store { dimension: dimension(i.dim), narrow: i.r.size == isa::Size::B16 };
            let register = vector(b, isa::RegVec { count: 4, ..i.r });
            let level = register_or_immediate(b, i.lod);
            let fields = ImageStore { store, image, register, coordinates, layer, sample, level };
            access(b, Opcode::image_write, TextureAccess::Store(fields), [0; 4])
        }
        Inst::ImageWriteBlock(i) => {
            let Some(image) = descriptor(b, i.base, i.image) else { return unknown_texture(b) };
            let Some(format) = tile_format(i.format) else { return unknown_format(b) };
            let implicit = isa::Coords { axes: 0, ..i.coords };
            let place = if i.explicit == 0 { implicit } else { i.coords };
            let (coordinates, _, layer) = coordinates(b, place, i.dim);
            let store = BlockStore { dimension: dimension(i.dim), format };
            let offset = general(b, i.offset.reg, isa::Size::B16);
            let level = register_or_immediate(b, i.lod);
            let fields = TileStore { store, image, offset, coordinates, layer, level };
            access(b, Opcode::image_write_block, TextureAccess::Block(fields), [0; 4])
        }
        Inst::StTile(i) => tile_pixel!(i, 0),
        Inst::LdTile(i) => tile_pixel!(i, 1),
        other => not_executed(b, other),
    }
}

fn unknown_texture(b: &mut Builder<'_>) -> Op {
    refuse(b, "a texture reference or mode whose meaning is unknown".to_owned())
}

/// An operation with its further fields.
fn access(b: &mut Builder<'_>, opcode: Opcode, fields: TextureAccess, aux: [u16; 4]) -> Op {
    b.accesses.push(fields);
    plain(opcode, Dst::NONE, &[], (b.accesses.len() - 1) as u64, aux)
}

fn descriptor(
    b: &mut Builder<'_>,
    base: isa::TexBase,
    texture: isa::Texture,
) -> Option<DescriptorSource> {
    Some(match (texture, base) {
        (isa::Texture::State(number), _) => DescriptorSource::State(number),
        (isa::Texture::StateReg(half), _) => {
            DescriptorSource::StateRegister(general(b, half, isa::Size::B16))
        }
        (isa::Texture::Bindless(half), isa::TexBase::Uniform(base)) => DescriptorSource::Memory {
            base: uniform(b, base, isa::Size::B64),
            offset: general(b, half, isa::Size::B32),
        },
        _ => return None,
    })
}

type LevelOfDetail = (Option<Src>, Option<Src>, [[Option<Src>; 2]; 3], LodSource);

/// Source of the level of detail: level or bias, minimum, gradients, and the mode.
fn level_of_detail(b: &mut Builder<'_>, lod: isa::Lod, mode: isa::LodMode) -> LevelOfDetail {
    let mut gradient = [[None; 2]; 3];
    let (first, second) = match lod {
        isa::Lod::None(_) => (None, None),
        isa::Lod::Uniform { reg, count } => (
            Some(uniform(b, reg, isa::Size::B16)),
            (count > 1).then(|| uniform(b, reg + 1, isa::Size::B16)),
        ),
        isa::Lod::Reg { reg, count } => (
            Some(general(b, reg, isa::Size::B16)),
            (count > 1).then(|| general(b, reg + 1, isa::Size::B16)),
        ),
        isa::Lod::Gradient { reg, count } => {
            for (k, slot) in gradient.as_flattened_mut().iter_mut().enumerate() {
                if k < usize::from(count / 2 * 2) {
                    *slot = Some(general(b, reg + 2 * k as u16, isa::Size::B32));
                }
            }
            let minimum = count & 1 != 0;
            (None, minimum.then(|| general(b, reg + 2 * u16::from(count - 1), isa::Size::B16)))
        }
    };
    let source = match mode {
        isa::LodMode::Auto => LodSource::Auto,
        isa::LodMode::Bias | isa::LodMode::BiasUniform => LodSource::Bias,
        isa::LodMode::BiasMin | isa::LodMode::BiasMinUniform => LodSource::BiasMin,
        isa::LodMode::Lod | isa::LodMode::LodUniform => LodSource::Level,
        isa::LodMode::Gradient => LodSource::Gradient,
        isa::LodMode::GradientMin => LodSource::GradientMin,
    };
    (first, second, gradient, source)
}

fn texture_kind(mode: isa::TexMode, gather: isa::Gather, load: bool) -> Option<Kind> {
    let component = match gather {
        isa::Gather::None | isa::Gather::Compare => None,
        isa::Gather::R | isa::Gather::Depth => Some(0),
        isa::Gather::G => Some(1),
        isa::Gather::B => Some(2),
        isa::Gather::A => Some(3),
        isa::Gather::Unknown(_) => return None,
    };
    Some(match (mode, component) {
        (isa::TexMode::QueryLod, _) => Kind::QueryLod,
        (isa::TexMode::Sample, Some(component)) => Kind::Gather { component },
        (isa::TexMode::Sample, None) if load => Kind::Load,
        (isa::TexMode::Sample, None) => Kind::Sample,
        _ => return None,
    })
}

fn dimension(dim: isa::Dim) -> TextureDimension {
    match dim {
        isa::Dim::D1 => TextureDimension::D1,
        isa::Dim::D1Array => TextureDimension::D1Array,
        isa::Dim::D2 => TextureDimension::D2,
        isa::Dim::D2Array => TextureDimension::D2Array,
        isa::Dim::D2Ms => TextureDimension::D2Multisampled,
        isa::Dim::D3 => TextureDimension::D3,
        isa::Dim::Cube => TextureDimension::Cube,
        isa::Dim::CubeArray => TextureDimension::CubeArray,
        isa::Dim::D2MsArray => TextureDimension::D2ArrayMultisampled,
    }
}
