//! Descriptors and operands of any bits: no panic, no access outside of the image, no endless loop.

#![allow(clippy::needless_range_loop, clippy::type_complexity, reason = "lanes are counted")]

mod common;

use std::ptr::NonNull;

use common::BASE;
use proptest::prelude::*;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use tepui_agx_packets::pbe::Pbe;
use tepui_agx_packets::sampler::{BorderColour, CompareFunc, Filter, MipFilter, Sampler, Wrap};
use tepui_agx_packets::texture::{
    Channel, Channels, ImageMode, Layout, SampleCount, Texture, TextureDimension, TextureType,
};
use tepui_agx_texture::store::{Block, StoreOperands};
use tepui_agx_texture::{
    BlockStore, Kind, LANES, LodSource, Memory, Operands, Request, SamplerState, Store, TileFormat,
    Tilebuffer, Unit, format_of, texture,
};
use tepui_softgpu::{Access, Fault, FaultKind};

/// Memory between two pages that may not be touched, its end at the end of a page.
struct Guarded {
    pages: NonNull<u8>,
    mapped: usize,
    start: usize,
    size: usize,
    /// Accesses are copies.
    copies: bool,
    accesses: usize,
}

const PAGE: usize = 4096;

impl Guarded {
    fn new(size: usize, copies: bool) -> Guarded {
        let inner = size.next_multiple_of(PAGE).max(PAGE);
        let mapped = inner + 2 * PAGE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let pages = unsafe {
            mmap_anonymous(std::ptr::null_mut(), mapped, ProtFlags::empty(), MapFlags::PRIVATE)
        }
        .unwrap();
        let pages = NonNull::new(pages.cast::<u8>()).unwrap();
        // SAFETY: the range lies in the mapping just made.
        unsafe {
            let inside = pages.as_ptr().add(PAGE).cast();
            mprotect(inside, inner, MprotectFlags::READ | MprotectFlags::WRITE).unwrap();
        }
        Guarded { pages, mapped, start: PAGE + inner - size, size, copies, accesses: 0 }
    }

    fn at(&self, address: u64, size: u64) -> Option<*mut u8> {
        let offset = address.checked_sub(BASE)?;
        let end = offset.checked_add(size)?;
        if end > self.size as u64 {
            return None;
        }
        // SAFETY: inside of the mapping.
        Some(unsafe { self.pages.as_ptr().add(self.start + offset as usize) })
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own.
        unsafe { munmap(self.pages.as_ptr().cast(), self.mapped).unwrap() };
    }
}

// SAFETY: windows lie in the mapping.
unsafe impl Memory for Guarded {
    fn window(&mut self, address: u64, size: u64, _: Access) -> Option<*mut u8> {
        self.accesses += 1;
        if self.copies { None } else { self.at(address, size) }
    }

    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.accesses += 1;
        let unmapped = Fault { address, access: Access::Read, kind: FaultKind::Unmapped };
        let from = self.at(address, into.len() as u64).ok_or(unmapped)?;
        // SAFETY: `at` vouches for the bytes.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        self.accesses += 1;
        let unmapped = Fault { address, access: Access::Write, kind: FaultKind::Unmapped };
        let to = self.at(address, from.len() as u64).ok_or(unmapped)?;
        // SAFETY: `at` vouches for the bytes.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        Ok(())
    }
}

fn dimension() -> impl Strategy<Value = TextureDimension> {
    (0u64..9).prop_map(|raw| TextureDimension::from_raw(raw).unwrap())
}

/// Channels, type and sRGB; most of them a format.
fn format() -> impl Strategy<Value = (Channels, TextureType, bool)> {
    let any = (0u64..0x80, 0u64..6, any::<bool>())
        .prop_filter_map("an encoding", |(c, t, srgb)| {
            Some((Channels::from_raw(c)?, TextureType::from_raw(t)?, srgb))
        });
    let known: Vec<_> = (0..0x80)
        .filter_map(Channels::from_raw)
        .flat_map(|c| (0..6).filter_map(TextureType::from_raw).map(move |t| (c, t)))
        .flat_map(|(c, t)| [(c, t, false), (c, t, true)])
        .filter(|&(c, t, srgb)| format_of(c, t, srgb).is_ok())
        .collect();
    prop_oneof![1 => any, 20 => prop::sample::select(known)]
}

fn coordinate() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        (-2.0f32..3.0).prop_map(f32::to_bits),
        (0u32..70),
        Just(f32::NAN.to_bits()),
        Just(f32::INFINITY.to_bits()),
        Just(0xfff0),
    ]
}

prop_compose! {
    fn texture()(
        raw in any::<u64>(),
        dimension in dimension(),
        (channels, type_, srgb) in format(),
        size in [1u32..80, 1u32..60, 1u32..20],
        stride in 16u32..64,
    ) -> Texture {
        let bit = |n: u64| raw >> n & 1 != 0;
        let layout = [Layout::Linear, Layout::Gpu, Layout::Gpu, Layout::Twiddled][(raw & 3) as usize];
        let linear = layout == Layout::Linear;
        let compressed = layout == Layout::Gpu && bit(2) && bit(35);
        let extended = compressed || bit(3);
        let channel = |n: u64| Channel::from_raw((raw >> n & 7).min(5)).unwrap();
        let mut t = Texture {
            dimension,
            layout,
            channels,
            type_,
            swizzle_r: channel(8),
            swizzle_g: channel(11),
            swizzle_b: channel(14),
            swizzle_a: channel(17),
            width: size[0],
            height: size[1],
            first_level: (raw >> 20) as u32 & 7,
            last_level: (raw >> 23) as u32 & 15,
            samples: if bit(27) { SampleCount::Two } else { SampleCount::Four },
            address: BASE,
            unk_mipmapped: bit(28) && !linear,
            compressed,
            mode: ImageMode::from_raw(if bit(29) && bit(30) { raw >> 31 & 3 } else { 0 }).unwrap(),
            srgb,
            extended,
            ..Texture::default()
        };
        if linear {
            t.stride = 16 * stride;
            if extended {
                t.depth_linear = size[2];
                t.layer_stride_linear = 128 * (2 + u64::from(size[2]));
            }
        } else {
            t.depth = size[2];
            t.page_aligned_layers = bit(34);
            if extended {
                t.acceleration_buffer = BASE + (raw >> 40 & !15);
            }
        }
        t
    }
}

prop_compose! {
    fn operands()(
        coordinates in prop::collection::vec(coordinate(), 3 * LANES),
        more in prop::collection::vec(coordinate(), 9 * LANES),
        offset in any::<u32>(),
    ) -> Operands {
        let row = |list: &[u32], n: usize| std::array::from_fn(|i| list[n * LANES + i]);
        Operands {
            coordinates: std::array::from_fn(|a| row(&coordinates, a)),
            layer: row(&more, 0),
            sample: row(&more, 1),
            lod: row(&more, 2),
            min_lod: row(&more, 3),
            gradient: std::array::from_fn(|a| std::array::from_fn(|w| row(&more, 4 + (a + w) % 4))),
            reference: row(&more, 8),
            offset: [offset; LANES],
        }
    }
}

prop_compose! {
    fn request()(raw in any::<u32>(), dimension in dimension()) -> Request {
        let lods = [
            LodSource::Auto, LodSource::Bias, LodSource::BiasMin, LodSource::Level,
            LodSource::Gradient, LodSource::GradientMin,
        ];
        let kinds = [
            Kind::Sample, Kind::Sample, Kind::Load, Kind::QueryLod,
            Kind::Gather { component: (raw >> 30) as u8 },
        ];
        Request {
            kind: kinds[(raw & 15) as usize % kinds.len()],
            dimension,
            compare: raw >> 4 & 1 != 0,
            offset: raw >> 5 & 1 != 0,
            lod: lods[(raw >> 6 & 15) as usize % lods.len()],
            narrow: raw >> 10 & 1 != 0,
            mask: (raw >> 11) as u8,
            residency: raw >> 19 & 1 != 0,
        }
    }
}

/// A sampler of any known values.
fn sampler() -> impl Strategy<Value = SamplerState> {
    (any::<u64>(), any::<[u32; 4]>()).prop_map(|(raw, border)| {
        let wrap = |n: u64| Wrap::from_raw((raw >> n & 7) % 6).unwrap();
        let filter = |n: u64| Filter::from_raw(raw >> n & 1).unwrap();
        let sampler = Sampler {
            minimum_lod: (raw & 3) as f32 / 2.0,
            maximum_lod: (raw >> 2 & 15) as f32,
            maximum_anisotropy: 1 << (raw >> 6 & 7).saturating_sub(3),
            magnify: filter(9),
            minify: filter(10),
            mip_filter: MipFilter::from_raw((raw >> 11 & 3) % 3).unwrap(),
            wrap_s: wrap(13),
            wrap_t: wrap(16),
            wrap_r: wrap(19),
            pixel_coordinates: raw >> 22 & 3 == 0,
            compare_func: CompareFunc::from_raw(raw >> 24 & 7).unwrap(),
            border_colour: BorderColour::from_raw(raw >> 27 & 3).unwrap(),
            seamful_cube_maps: raw >> 29 & 1 != 0,
            ..Sampler::default()
        };
        SamplerState { sampler: sampler.pack().unwrap(), border }
    })
}

/// The memory that an image needs, as the unit itself says, and sometimes less.
fn memory_for(bytes: &[u8; 24], less: bool, copies: bool) -> Guarded {
    let span = texture::Texture::decode(bytes).ok().and_then(|t| t.image.span).unwrap_or(5000);
    let size = (span as usize).min(1 << 24);
    Guarded::new(if less { size - size / 3 } else { size }, copies)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn reads_stay_inside(
        texture in texture(),
        request in request(),
        sampler in sampler(),
        operands in operands(),
        exec in any::<u32>(),
        flags in any::<u8>(),
    ) {
        let Ok(bytes) = texture.pack() else { return Ok(()) };
        let mut memory = memory_for(&bytes, flags & 3 == 0, flags & 12 == 0);
        let mut unit = Unit::default();
        let mut out = [[0; LANES]; 5];
        let sampler = (flags & 16 == 0).then_some(&sampler);
        let _ = unit.read(&mut memory, &request, &bytes, sampler, &operands, exec, &mut out);
        // 16 samples, two levels, four texels of each lane in two slices, each with its metadata,
        // for each of at most 32 different levels.
        prop_assert!(memory.accesses < 200_000, "{} accesses", memory.accesses);
    }

    #[test]
    fn writes_stay_inside(
        texture in texture(),
        operands in operands(),
        level in 0u32..16,
        exec in any::<u32>(),
        flags in any::<u8>(),
        at in any::<[u8; 2]>(),
    ) {
        let pbe = Pbe {
            dimension: texture.dimension,
            layout: texture.layout,
            channels: texture.channels,
            type_: texture.type_,
            width: texture.width,
            height: texture.height,
            samples: texture.samples,
            unk_mipmapped: texture.unk_mipmapped,
            compressed: texture.compressed,
            mode: texture.mode,
            buffer: BASE,
            level,
            layers: if texture.layout == Layout::Linear { Pbe::default().layers } else { texture.depth },
            page_aligned_layers: texture.page_aligned_layers,
            srgb: texture.srgb,
            extended: texture.extended,
            stride: if texture.layout == Layout::Linear { texture.stride } else { Pbe::default().stride },
            acceleration_buffer: texture.acceleration_buffer,
            depth_linear: texture.depth_linear,
            layer_stride_linear: texture.layer_stride_linear,
            ..Pbe::default()
        };
        let (Ok(bytes), Ok(as_texture)) = (pbe.pack(), texture.pack()) else { return Ok(()) };
        let mut memory = memory_for(&as_texture, flags & 3 == 0, flags & 12 == 0);
        let mut unit = Unit::default();
        let store = Store { dimension: texture.dimension, narrow: flags & 16 != 0 };
        let lanes = StoreOperands {
            coordinates: operands.coordinates,
            layer: operands.layer,
            sample: operands.sample,
            level: [u32::from(flags >> 5 & 1); LANES],
            components: [operands.lod, operands.min_lod, operands.reference, operands.layer],
        };
        let _ = unit.write(&mut memory, &store, &bytes, &lanes, exec);
        let formats = [
            TileFormat::I8, TileFormat::I16, TileFormat::I32, TileFormat::F16, TileFormat::U8Norm,
            TileFormat::S8Norm, TileFormat::U16Norm, TileFormat::S16Norm, TileFormat::Rgb10A2,
            TileFormat::Srgba8, TileFormat::Rg11B10F, TileFormat::Rgb9E5,
        ];
        let store = BlockStore {
            dimension: texture.dimension,
            format: formats[usize::from(at[0]) % formats.len()],
        };
        let block = Block {
            at: [u32::from(at[0]), u32::from(at[1])],
            layer: u32::from(at[1] & 3),
            level: 0,
            offset: u32::from(flags),
        };
        let tile = Tilebuffer { size: [32, 32], samples: 1 + u32::from(at[0] & 1), sample_bytes: 8 };
        let local = vec![0x5a; usize::from(at[1]) * 128];
        let _ = unit.write_block(&mut memory, &store, &bytes, &block, &tile, &local);
        prop_assert!(memory.accesses < 200_000, "{} accesses", memory.accesses);
    }

    #[test]
    fn any_bytes_decode_or_say_why(bytes in any::<[u8; 24]>(), sampler in any::<[u8; 8]>()) {
        let mut unit = Unit::default();
        let mut memory = Guarded::new(4096, false);
        let request = Request::new(Kind::Sample, TextureDimension::D2);
        let mut out = [[0; LANES]; 5];
        let state = SamplerState { sampler, border: [0; 4] };
        let operands = Operands::default();
        if let Err(why) =
            unit.read(&mut memory, &request, &bytes, Some(&state), &operands, u32::MAX, &mut out)
        {
            prop_assert!(!why.to_string().is_empty());
        }
        let operands = StoreOperands::default();
        let store = Store { dimension: TextureDimension::D2, narrow: false };
        let _ = unit.write(&mut memory, &store, &bytes, &operands, u32::MAX);
    }
}
