//! The fast path against the general path, and against texel fetches.

use std::sync::Arc;

use tepui_intel_packets::sampler::ShadowFunction;
use tepui_softgpu::{AddressSpace, Protection};

use super::super::filter::{self, Lod, Request};
use super::super::strip::StripPosition;
use super::super::texture::swizzled;
use super::*;
use crate::format;
use crate::port::auxiliary::Auxiliary;
use crate::port::surface::{ClearColour, Dimension, Tiling};

const BASE: u64 = 0x10_0000;
const BYTES: usize = 1 << 20;

/// A pseudo-random number generator.
struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 ^ self.0 >> 15
    }

    fn below(&mut self, n: u32) -> u32 {
        (self.next() >> 8) % n
    }

    fn float(&mut self, from: f32, to: f32) -> f32 {
        from + (to - from) * (self.next() >> 8) as f32 / (1 << 24) as f32
    }
}

fn space(numbers: &mut Random) -> AddressSpace {
    let vm = AddressSpace::new(12, 48);
    let memory = Arc::new(tepui_softgpu::Memory::new(BYTES).unwrap());
    let all = Protection::READ | Protection::WRITE;
    vm.bind(BASE, memory, 0, BYTES as u64, all).unwrap();
    let bytes: Vec<u8> = (0..BYTES).map(|_| (numbers.next() >> 24) as u8).collect();
    vm.write(BASE, &bytes).unwrap();
    vm
}

fn image(number: u32, tiling: Tiling, size: [u32; 2], levels: u32) -> Image {
    let format = format::find(number).unwrap();
    let row = u64::from(size[0].next_multiple_of(4)) * 2 * format.bytes as u64;
    Image {
        base: BASE,
        dimension: Dimension::Two,
        cube: false,
        array: true,
        size: [size[0], size[1], 1],
        layers: 2,
        first_layer: 0,
        level: 0,
        target_level: 0,
        levels,
        min_lod: 0.0,
        pitch: row.next_multiple_of(512),
        qpitch: u64::from(size[1].next_multiple_of(4) * 3),
        align: [4, 4],
        tiling,
        tail: u32::MAX,
        offset: [0; 2],
        format,
        swizzle: [6, 5, 4, 7],
        samples: 1,
        interleaved: false,
        clear: ClearColour::default(),
        auxiliary: None,
        view: crate::compressed::View::PLAIN,
        may_be_clear: false,
    }
}

const FORMATS: [u32; 16] = [
    0x0c7, 0x0c1, 0x0d8, 0x084, 0x0c2, 0x100, 0x140, 0x0cb, 0x0ed, 0x0e9, 0x0c9, 0x002, 0x10a,
    0x186, 0x199, 0x1a3,
];

fn images(mut each: impl FnMut(&mut Random, &Image, &mut Memory<'_>)) {
    let mut numbers = Random(1);
    let vm = space(&mut numbers);
    let mut memory = Memory::new(&vm, crate::order::MemoryUnit::Sampler);
    for number in FORMATS {
        for tiling in [Tiling::Linear, Tiling::X, Tiling::Y] {
            for size in [[7, 5], [64, 33], [1, 1]] {
                let levels = if size[0] == 1 { 1 } else { 3 };
                each(&mut numbers, &image(number, tiling, size, levels), &mut memory);
            }
        }
    }
}

fn same_values(integer: bool, a: u32, b: u32) -> bool {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    a == b || !integer && (x == y || x.is_nan() && y.is_nan())
}

#[test]
fn loads_are_those_of_single_texels() {
    let (mut read, mut cleared, mut strips) = (0, 0, 0);
    images(|numbers, image, memory| {
        let mut image = *image;
        if numbers.below(2) == 0 && image.format.block == [1, 1] {
            image.auxiliary = Some(Auxiliary::hiz(BASE + 0xc_0000, 256, 128));
            image.may_be_clear = true;
            image.clear.channels = [0.25f32, 1.0, 0.5, 0.75].map(f32::to_bits);
            for level in 0..image.levels {
                let marks = image.auxiliary.unwrap().plane(&image, level);
                for place in 0..256 {
                    let (clear, layer) = (numbers.below(2) == 0, place / 128);
                    marks.set_clear(memory, [place % 8, place / 8 % 16], layer, clear).unwrap();
                }
            }
        }
        let image = &image;
        let surface = Surface::Image(*image);
        let mut texture = Texture::of(&surface);
        for _ in 0..8 {
            let (lod, layer) = (numbers.below(image.levels), numbers.below(2));
            let mut exec = numbers.next() & 0xffff | 1;
            let mut at: [Row<WIDTH>; 2] = std::array::from_fn(|axis| {
                std::array::from_fn(|_| numbers.below(image.size[axis] + 3))
            });
            let in_strip = numbers.below(2) == 0;
            if in_strip {
                exec = 0xffff;
                let [x, y] = [4 * numbers.below(16), numbers.below(16)];
                at[0] = std::array::from_fn(|i| x + (2 * (i / 4) + i % 2) as u32);
                at[1] = std::array::from_fn(|i| y + (i / 2 % 2) as u32);
            }
            let parameters = |k: usize| match k {
                0 | 1 => at[k],
                2 => [lod; WIDTH],
                _ => [layer; WIDTH],
            };
            let (kernels, scratch) = (Kernels::of_host(), &mut Scratch::new());
            let texture = &mut texture;
            let blocks = &mut Blocks::new(64);
            let mut reader = Reader { kernels, memory, image, texture, exec, scratch, blocks };
            reader.load(false, &parameters).expect("a plain image");
            let out = scratch.rows;
            read += 1;
            if in_strip {
                let place = StripPosition { first: [at[0][0], at[1][0]], lod, layer };
                let mut rows = [[0; WIDTH]; 4];
                if texture.load_strip(memory, image, kernels, scratch, place, &mut rows) {
                    strips += 1;
                    assert_eq!(rows, out, "{image:?} {place:?}");
                }
            }
            for lane in tepui_texel::lanes(exec) {
                let place = [at[0][lane], at[1][lane]];
                let plane = image.sampled_plane(lod);
                let want = match plane.texel(image, place, layer, 0) {
                    Some(_)
                        if image.may_be_clear
                            && image.is_clear(memory, lod, place, layer).unwrap() =>
                    {
                        cleared += 1;
                        image.clear_texel()
                    }
                    Some(at) => {
                        let mut bytes = vec![0; image.format.bytes];
                        memory.read(at, &mut bytes).unwrap();
                        let block = image.format.block;
                        image.format.unpack(&bytes, [place[0] % block[0], place[1] % block[1]])
                    }
                    None => image.format.present([0; 4]),
                };
                let want = swizzled(want, image.swizzle, image.format.one());
                for c in 0..4 {
                    let same = same_values(image.format.is_integer(), out[c][lane], want[c]);
                    assert!(same, "{image:?} {place:?} {c}: {} {}", out[c][lane], want[c]);
                }
            }
        }
    });
    assert_eq!(read, 8 * 9 * FORMATS.len());
    assert!(cleared > 500, "{cleared}");
    assert!(strips > 10, "{strips}");
}

#[test]
fn levels_below_the_smallest_level_of_detail_are_outside() {
    let mut numbers = Random(1);
    let vm = space(&mut numbers);
    let memory = &mut Memory::new(&vm, crate::order::MemoryUnit::Sampler);
    let image = Image { min_lod: 1.5, ..image(FORMATS[0], Tiling::Y, [64, 33], 3) };
    assert_eq!([0, 1, 2, 3].map(|lod| image.has_level(lod)), [false, true, true, false]);
    let mut texture = Texture::of(&Surface::Image(image));
    for lod in 0..4 {
        let parameters = |k: usize| if k == 2 { [lod; WIDTH] } else { [0; WIDTH] };
        let (kernels, scratch) = (Kernels::of_host(), &mut Scratch::new());
        let (texture, blocks) = (&mut texture, &mut Blocks::new(64));
        let image = &image;
        let mut reader = Reader { kernels, memory, image, texture, exec: 0xffff, scratch, blocks };
        assert_eq!(reader.load(false, &parameters).is_some(), image.has_level(lod));
    }
    assert!(texture.first_level(memory, &image, 0).is_none());
}

#[test]
fn samples_are_those_of_the_general_way() {
    let (mut short, mut all) = (0, 0);
    images(|numbers, image, memory| {
        let mut texture = Texture::of(&Surface::Image(*image));
        for _ in 0..24 {
            let wraps =
                [Wrap::Repeat, Wrap::ClampToEdge, Wrap::MirroredRepeat, Wrap::ClampToBorder];
            let mips = [MipFilter::None, MipFilter::Nearest, MipFilter::Linear];
            let min_linear = numbers.below(2) == 0;
            let sampler = Sampler {
                min_linear,
                mag_linear: if numbers.below(4) == 0 { !min_linear } else { min_linear },
                mip: mips[numbers.below(3) as usize],
                anisotropy: [1, 1, 4][numbers.below(3) as usize],
                bias: [0.0, 0.5][numbers.below(2) as usize],
                lod_range: [0.0, 8.0],
                wrap: [0; 3].map(|_| wraps[numbers.below(4) as usize]),
                pixel: false,
                seamless: false,
                shadow: ShadowFunction::Always,
                reduction: None,
                border: [0; 4],
            };
            let exec = numbers.next() & 0xffff | 0x10;
            let layer = numbers.float(-0.4, 1.4);
            let spread = numbers.float(0.0, 0.4);
            let (u, v) = (numbers.float(-2.0, 2.0), numbers.float(-2.0, 2.0));
            let mut place = [[0.0; WIDTH]; 4];
            place[0] = std::array::from_fn(|lane| u + spread * (2 * (lane / 4) + lane % 2) as f32);
            place[1] = std::array::from_fn(|lane| v + spread * (lane / 2 % 2) as f32);
            place[2] = [layer; WIDTH];
            let level = numbers.float(-1.0, 3.0);
            let number = [kind::SAMPLE, kind::SAMPLE_L, kind::SAMPLE_LZ][numbers.below(3) as usize];
            let shift = usize::from(number == kind::SAMPLE_L);
            let parameters = |k: usize| match k.checked_sub(shift) {
                Some(k) => tepui_texel::bits(&place[k]),
                None => [level.to_bits(); WIDTH],
            };
            let (kernels, scratch) = (Kernels::of_host(), &mut Scratch::new());
            let texture = &mut texture;
            let blocks = &mut Blocks::new(64);
            let mut reader = Reader { kernels, memory, image, texture, exec, scratch, blocks };
            let done = reader.sample(number, &sampler, 3 + shift, &parameters);
            let out = scratch.rows;
            all += 1;
            if done.is_none() {
                continue;
            }
            short += 1;
            let request = Request {
                coordinates: place,
                reference: None,
                lod: match number {
                    kind::SAMPLE => Lod::Implicit,
                    kind::SAMPLE_L => Lod::Explicit([level; WIDTH]),
                    _ => Lod::Explicit([0.0; WIDTH]),
                },
                bias: None,
                least: None,
                offset: [0; 3],
                offsets: None,
                gathers: false,
                channel: 0,
                queries: false,
            };
            let mut want = [[0; 4]; WIDTH];
            let mut blocks = Blocks::new(64);
            filter::sample(memory, &mut blocks, image, &sampler, &request, exec, &mut want)
                .expect("bound");
            for lane in tepui_texel::lanes(exec) {
                for c in 0..4 {
                    let (got, want) = (out[c][lane], want[lane][c]);
                    let same = same_values(image.format.is_integer(), got, want);
                    assert!(same, "{image:?} {sampler:?} {lane} {c}: {got:#x} {want:#x}");
                }
            }
        }
    });
    assert!(short > all / 4, "{short} of {all}");
}
