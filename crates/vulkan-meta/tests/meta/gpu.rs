//! A family whose programs the interpreter of the IR runs, on images that are bytes.
//!
//! A surface is a level of an image: elements slice by slice, row by row, each with all samples. Programs reach it in the way that a
//! test asks for; memory in tiles, components and attachments are made for a launch and read back after it, by code that shares
//! nothing with the programs.

use std::collections::HashMap;
use std::sync::Arc;

use tepui_format::texel::{TexelCodec, load};
use tepui_format::{Format, Numeric};
use tepui_ir::interp::{self, Filter, Group, ImageData, SamplerData};
use tepui_ir::{Builtin, IoLoc, NumKind, Shader, Stage};
use tepui_vulkan::backend::{ImageInfo, Rendering, ViewFormats};
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_kit::builder::Words;
use tepui_vulkan_meta::{
    Area, Arrangement, Binding, Conventions, Launch, Level, Memory, MetaEncoder, Numbers, Output,
    Packing, Program, Rectangle, Shape, Texels, TileBits, View,
};
use tepui_vulkan_null::{Image, Null};

/// The family of the images.
pub type Family = Null<0>;

/// The way in which programs reach a surface's texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// At addresses, in rows.
    Linear,
    /// At addresses, in tiles of 8×4 elements.
    Tiled,
    /// At addresses, in tiles of 8×4 elements, whose columns are exchanged by rows.
    Interleaved,
    /// At addresses, in tiles of bytes.
    Bits,
    /// As unsigned integers of their size.
    Words,
    /// As the components of the format.
    Own,
    /// As unsigned integers of their size, or as depth or stencil, by drawing.
    Drawn,
}

/// Columns and rows of a tile, as logarithms.
const TILE_LOG2: [u32; 2] = [3, 2];

/// A level of an image.
#[derive(Clone)]
pub struct Surface {
    /// Address in memory.
    pub address: u64,
    /// The image.
    pub image: Arc<Image>,
    /// Description of the image.
    pub info: ImageInfo,
    /// Format of this aspect.
    pub format: Format,
    /// Level.
    pub level: u32,
    /// Columns, rows and slices of elements.
    pub size: [u32; 3],
    /// The way.
    pub way: Way,
    /// Elements.
    pub bytes: Vec<u8>,
}

impl Surface {
    /// Whether programs reach the surface at addresses.
    fn is_memory(&self) -> bool {
        matches!(self.way, Way::Linear | Way::Tiled | Way::Interleaved | Way::Bits)
    }

    /// Bytes of an element.
    pub fn element(&self) -> usize {
        (self.format.info().block.bytes * self.info.samples) as usize
    }

    /// The first byte of an element.
    pub fn at(&self, [x, y, z]: [u32; 3]) -> usize {
        let n = (z * self.size[1] + y) * self.size[0] + x;
        n as usize * self.element()
    }

    /// An element.
    pub fn get(&self, at: [u32; 3]) -> &[u8] {
        &self.bytes[self.at(at)..][..self.element()]
    }

    /// The bits of a sample.
    pub fn sample(&self, at: [u32; 3], sample: u32) -> u128 {
        let bytes = self.format.info().block.bytes as usize;
        load(&self.get(at)[sample as usize * bytes..][..bytes])
    }

    fn elements(&self) -> impl Iterator<Item = [u32; 3]> + use<> {
        let [w, h, d] = self.size;
        (0..d).flat_map(move |z| (0..h).flat_map(move |y| (0..w).map(move |x| [x, y, z])))
    }

    /// Tiles of bytes, by the size of elements: from 64 columns and rows of single bytes to 512 columns and 8 rows.
    fn bits(&self) -> TileBits {
        match self.element() {
            1 => TileBits { x: 0xe15, y: 0x1ea },
            4 | 16 => TileBits { x: 0xe0f, y: 0x1f0 },
            _ => TileBits { x: 0x1ff, y: 0xe00 },
        }
    }

    /// The memory layout of tiles or rows; rows have a gap, and there are elements above, left and in front of those in tiles of
    /// bytes.
    fn memory(&self) -> Memory {
        let [w, h, _] = self.size;
        let element = self.element() as u32;
        let [tw, th] = TILE_LOG2.map(|l| 1 << l);
        let pitch = w.div_ceil(tw);
        let (arrangement, slice_pitch) = match self.way {
            Way::Bits => {
                let bits = self.bits();
                let (width, origin) = (1u32 << bits.x.count_ones(), [3, 5, 1]);
                let pitch = (((origin[0] + w) * element).div_ceil(width) + 1) << 12;
                let slice_rows = h + origin[1] + 2;
                (Arrangement::Bits { pitch, bits, slice_rows, origin }, 0)
            }
            Way::Tiled | Way::Interleaved => (
                match self.way {
                    Way::Tiled => Arrangement::Tiled { pitch, tile_log2: TILE_LOG2 },
                    _ => Arrangement::Interleaved { pitch, tile_log2: TILE_LOG2 },
                },
                pitch * h.div_ceil(th) * tw * th * element + 64,
            ),
            _ => {
                let row_pitch = w * element + 32;
                (Arrangement::Linear { row_pitch }, row_pitch * h)
            }
        };
        let slice_pitch = u64::from(slice_pitch);
        Memory { address: self.address, slice_pitch, arrangement, element }
    }

    /// The offset of an element in memory.
    fn offset(&self, [x, y, z]: [u32; 3]) -> usize {
        let m = self.memory();
        let n = match m.arrangement {
            Arrangement::Linear { row_pitch } => y * row_pitch + x * m.element,
            Arrangement::Tiled { pitch, .. } | Arrangement::Interleaved { pitch, .. } => {
                let (tile, inside) = ((x / 8, y / 4), (x % 8, y % 4));
                let column = match self.way {
                    Way::Interleaved => inside.0 ^ inside.1,
                    _ => inside.0,
                };
                let mut morton = 0;
                for bit in 0..3 {
                    morton |= (column >> bit & 1) << (2 * bit);
                    morton |= (inside.1 >> bit & 1) << (2 * bit + 1);
                }
                ((tile.1 * pitch + tile.0) * 32 + morton) * m.element
            }
            Arrangement::Bits { pitch, bits, slice_rows, origin } => {
                let mut x = (x + origin[0]) * m.element;
                let mut y = y + origin[1] + (z + origin[2]) * slice_rows;
                let mut offset = 0;
                for bit in 0..12 {
                    for (v, mask) in [(&mut x, bits.x), (&mut y, bits.y)] {
                        if mask >> bit & 1 != 0 {
                            offset |= (*v & 1) << bit;
                            *v >>= 1;
                        }
                    }
                }
                y * pitch + (x << 12) + offset
            }
        };
        z as usize * m.slice_pitch as usize + n as usize
    }

    fn to_memory(&self) -> Vec<u8> {
        let end = self.elements().map(|at| self.offset(at) + self.element()).max();
        let mut out = vec![0xcd; end.unwrap_or(0) + 4096];
        for at in self.elements() {
            let offset = self.offset(at);
            out[offset..offset + self.element()].copy_from_slice(self.get(at));
        }
        out
    }

    fn take_memory(&mut self, memory: &[u8]) {
        for at in self.elements() {
            let (to, from, n) = (self.at(at), self.offset(at), self.element());
            self.bytes[to..to + n].copy_from_slice(&memory[from..from + n]);
        }
    }

    /// The surface as images are for the interpreter, with components that `texel` makes of the bits of a sample.
    fn to_image(&self, shape: Shape, texel: impl Fn(u128) -> [u64; 4]) -> ImageData {
        let [w, h, d] = self.size;
        let (depth, layers) = if shape == Shape::Volume { (d, 1) } else { (1, d) };
        let mut image = ImageData::multisampled([w, h, depth], layers, 1, self.info.samples);
        let all = self.elements().flat_map(|at| (0..self.info.samples).map(move |s| (at, s)));
        for ((at, s), out) in all.zip(&mut image.levels[0]) {
            *out = texel(self.sample(at, s));
        }
        image
    }

    fn take_image(&mut self, image: &ImageData, bits: impl Fn([u64; 4]) -> u128) {
        let n = self.format.info().block.bytes as usize;
        for (out, texel) in self.bytes.chunks_exact_mut(n).zip(&image.levels[0]) {
            out.copy_from_slice(&bits(*texel).to_le_bytes()[..n]);
        }
    }

    fn put(&mut self, at: [u32; 3], sample: u32, bits: u128) {
        let n = self.format.info().block.bytes as usize;
        let at = self.at(at) + sample as usize * n;
        self.bytes[at..at + n].copy_from_slice(&bits.to_le_bytes()[..n]);
    }
}

/// The number format of shaders' components.
fn number_kind(f: Format) -> NumKind {
    match f.info().numeric() {
        Numeric::Uint => NumKind::Uint,
        Numeric::Sint => NumKind::Sint,
        _ => NumKind::Float,
    }
}

/// Components of a texel in the number format of shaders.
pub fn components(f: Format, bits: u128) -> [u64; 4] {
    let codec = TexelCodec::new(f).unwrap();
    match f.info().numeric() {
        Numeric::Uint => codec.unpack_u32(bits).map(u64::from),
        Numeric::Sint => codec.unpack_i32(bits).map(|v| u64::from(v as u32)),
        _ => codec.unpack_f32(bits).map(|v| u64::from(v.to_bits())),
    }
}

/// The bits of a texel.
pub fn bits_of(f: Format, texel: [u64; 4]) -> u128 {
    let codec = TexelCodec::new(f).unwrap();
    match f.info().numeric() {
        Numeric::Uint => codec.pack_u32(texel.map(|v| v as u32)),
        Numeric::Sint => codec.pack_i32(texel.map(|v| v as u32 as i32)),
        _ => codec.pack_f32(texel.map(|v| f32::from_bits(v as u32))),
    }
}

/// Components of a packing.
fn unpacked(p: &Packing, f: Format, bits: u128) -> [u64; 4] {
    if p.numbers != Numbers::Uint {
        return components(f, bits);
    }
    let mut out = [0; 4];
    for &(component, shift, n) in p.fields.iter().filter(|f| f.2 > 0) {
        out[usize::from(component)] = (bits >> shift) as u64 & ((1 << n) - 1);
    }
    out
}

fn packed(p: &Packing, f: Format, texel: [u64; 4]) -> u128 {
    if p.numbers != Numbers::Uint {
        return bits_of(f, texel);
    }
    let field = |&(component, shift, n): &(u8, u8, u8)| {
        u128::from(texel[usize::from(component)] & ((1 << n) - 1)) << shift
    };
    p.fields.iter().filter(|f| f.2 > 0).map(field).fold(0, |all, f| all | f)
}

/// Bytes of a program's words.
fn word_bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// The encoder.
pub struct Gpu {
    /// Surfaces.
    pub surfaces: Vec<Surface>,
    /// Buffers by address.
    pub buffers: HashMap<u64, Vec<u8>>,
    /// Blits and resolves are stores.
    pub stores: bool,
    /// Space of the words.
    pub words: Words,
    /// Areas that are about to be written: address, first element, size.
    pub areas: Vec<(u64, [u32; 3], [u32; 3])>,
    /// Rectangles that were drawn, for those that look at their fragments themselves.
    pub drawn: Vec<(Program, vk::Rect2D, f32, [u32; 2])>,
    /// Programs in order, and barriers between them.
    pub log: Vec<Option<Program>>,
    next: u64,
    target: Option<Target>,
}

/// The attachment of a rendering.
#[derive(Clone, Copy)]
struct Target {
    surface: usize,
    /// Format of the view.
    format: Format,
    /// First layer.
    layer: u32,
    output: Output,
}

impl Target {
    /// The bits that a fragment writes.
    fn bits(&self, outcome: &interp::Outcome, lane: usize) -> u128 {
        let read = |loc: IoLoc, component: u8| {
            outcome.outputs.get(&(loc, component, 0)).and_then(|v| v[lane]).unwrap()
        };
        match self.output {
            Output::Depth => {
                let depth = f32::from_bits(read(IoLoc::Builtin(Builtin::FragDepth), 0));
                TexelCodec::depth(self.format).unwrap().pack_f32([depth; 4])
            }
            Output::Stencil => u128::from(read(IoLoc::Builtin(Builtin::FragStencilRef), 0) & 0xff),
            _ => {
                let texel = [0, 1, 2, 3].map(|c| u64::from(read(IoLoc::Location(0), c)));
                bits_of(self.format, texel)
            }
        }
    }
}

impl Gpu {
    /// One without memory.
    pub fn new() -> Gpu {
        Gpu {
            surfaces: Vec::new(),
            buffers: HashMap::new(),
            stores: true,
            words: Words::Uniform,
            areas: Vec::new(),
            drawn: Vec::new(),
            log: Vec::new(),
            next: 1 << 32,
            target: None,
        }
    }

    /// Adds an aspect of a level of an image with bytes that look random.
    pub fn surface(&mut self, info: ImageInfo, format: Format, level: u32, way: Way) -> usize {
        let block = format.info().block;
        let [w, h, d] = info.extent.map(|e| (e >> level).max(1));
        let size = [w.div_ceil(block.width_px), h.div_ceil(block.height_px), d * info.layers];
        let count = size.iter().product::<u32>() * info.samples * block.bytes;
        self.next += 1 << 32;
        let mut seed = self.next | 1;
        let bytes = (0..count).map(|_| random(&mut seed)).collect();
        let image = Arc::new(Image::new(&info));
        self.surfaces.push(Surface {
            address: self.next,
            image,
            info,
            format,
            level,
            size,
            way,
            bytes,
        });
        self.surfaces.len() - 1
    }

    /// Adds a buffer with bytes that look random.
    pub fn buffer(&mut self, bytes: usize) -> u64 {
        self.next += 1 << 32;
        let mut seed = self.next | 1;
        self.buffers.insert(self.next, (0..bytes).map(|_| random(&mut seed)).collect());
        self.next
    }

    fn find(&self, level: &Level<'_, Family>) -> Result<usize> {
        let is_it = |s: &Surface| {
            s.address == level.addresses[0]
                && s.level == level.level
                && s.format.info().block.bytes == level.format.info().block.bytes
        };
        let found = self.surfaces.iter().position(is_it);
        found.ok_or_else(|| Error::unsupported("a surface that the test does not have"))
    }

    fn program(&self, p: Program) -> Shader {
        let s = p.build(Conventions { threads: 32, words: self.words });
        if let Err(e) = tepui_ir::validate(&s) {
            panic!("{p:?}: {e:?}\n{s}");
        }
        s
    }

    /// Memory with what a program may reach.
    fn memory(
        &self,
        program: &Shader,
        words: &[u32],
        bindings: &[Binding<'_, Family>],
    ) -> Result<interp::Memory> {
        let bytes = word_bytes(words);
        let (push, uniforms) = match self.words {
            Words::Push => (bytes, Vec::new()),
            Words::Uniform => (Vec::new(), bytes),
        };
        let mut memory = interp::Memory { push, uniforms, ..interp::Memory::default() };
        memory.physical.extend(self.buffers.iter().map(|(a, b)| (*a, b.clone())));
        for s in self.surfaces.iter().filter(|s| s.is_memory()) {
            memory.physical.insert(s.address, s.to_memory());
        }
        for (k, b) in bindings.iter().enumerate() {
            let slot = (0, k as u32, 0);
            let (view, packing) = match b {
                Binding::Bits(v, p) | Binding::StorageBits(v, p) => (v, Some(p)),
                Binding::Texture(v) | Binding::Sampled(v, _) | Binding::Storage(v) => (v, None),
            };
            let f = view.format;
            let kind = packing.map_or_else(|| number_kind(f), Packing::kind);
            let resource = program.resources.values().find(|r| r.binding == k as u32).unwrap();
            assert_eq!((resource.texels, resource.set), (kind, 0), "{f}, binding {k}");
            let surface = &self.surfaces[self.find(&view.of)?];
            let image = surface.to_image(view.shape, |bits| match packing {
                Some(p) => unpacked(p, f, bits),
                None => components(f, bits),
            });
            memory.images.insert(slot, image);
            if let Binding::Sampled(_, linear) = b {
                let filter = if *linear { Filter::Linear } else { Filter::Nearest };
                let sampler = SamplerData { mag: filter, min: filter, ..SamplerData::default() };
                memory.samplers.insert(slot, sampler);
            }
        }
        Ok(memory)
    }

    /// Takes over what a program wrote.
    fn take(&mut self, memory: interp::Memory, bindings: &[Binding<'_, Family>]) -> Result<()> {
        assert_eq!((memory.out_of_bounds, memory.conflicts), (0, 0), "accesses out of bounds");
        for (address, bytes) in &memory.physical {
            match self.surfaces.iter_mut().find(|s| s.address == *address) {
                Some(s) => s.take_memory(bytes),
                None => {
                    self.buffers.insert(*address, bytes.clone());
                }
            }
        }
        for (k, b) in bindings.iter().enumerate() {
            let image = &memory.images[&(0, k as u32, 0)];
            let (Binding::Storage(view) | Binding::StorageBits(view, _)) = b else { continue };
            let n = self.find(&view.of)?;
            self.surfaces[n].take_image(image, |t| match b {
                Binding::StorageBits(_, p) => packed(p, view.format, t),
                _ => bits_of(view.format, t),
            });
        }
        Ok(())
    }
}

fn random(seed: &mut u64) -> u8 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 32) as u8
}

/// An image.
pub fn image(format: Format, extent: [u32; 3], layers: u32, samples: u32) -> ImageInfo {
    let image_type = if extent[2] > 1 { vk::ImageType::_3D } else { vk::ImageType::_2D };
    ImageInfo {
        image_type,
        format,
        extent,
        levels: 2,
        layers,
        samples,
        usage: vk::ImageUsageFlags::empty(),
        flags: vk::ImageCreateFlags::empty(),
        views: ViewFormats::Any,
        linear: false,
        modifier: None,
        explicit: None,
    }
}

impl MetaEncoder for Gpu {
    type Backend = Family;

    fn launch(&mut self, l: &Launch<'_, Family>) -> Result<()> {
        let program = self.program(l.program);
        assert_eq!(program.info.stage, Stage::Compute);
        let mut memory = self.memory(&program, l.words, l.bindings)?;
        let size = program.info.workgroup_size;
        let groups = [0, 1, 2].map(|k| l.threads[k].div_ceil(size[k]));
        interp::dispatch(&program, groups, &mut memory, 1 << 24)
            .map_err(|e| Error::unsupported(format!("{:?}: {e}", l.program)))?;
        self.log.push(Some(l.program));
        self.take(memory, l.bindings)
    }

    fn order(&mut self) -> Result<()> {
        self.log.push(None);
        Ok(())
    }

    fn upload(&mut self, bytes: &[u8]) -> Result<u64> {
        let at = self.reserve(bytes.len() as u64)?;
        self.buffers.insert(at, bytes.to_vec());
        Ok(at)
    }

    fn reserve(&mut self, bytes: u64) -> Result<u64> {
        Ok(self.buffer(bytes as usize))
    }

    fn reads<'a>(&self, level: &Level<'a, Family>) -> Result<Texels<'a, Family>> {
        let s = &self.surfaces[self.find(level)?];
        let bytes = s.format.info().block.bytes;
        let none = || Error::unsupported(format!("{} by {:?}", s.format, s.way));
        Ok(match s.way {
            Way::Linear | Way::Tiled | Way::Interleaved | Way::Bits => Texels::Memory(s.memory()),
            Way::Words | Way::Drawn => {
                let (f, packing) = Packing::words(bytes).ok_or_else(none)?;
                Texels::Image(level.as_array(f), packing)
            }
            Way::Own => {
                Texels::Image(level.as_array(s.format), Packing::of(s.format).ok_or_else(none)?)
            }
        })
    }

    fn writes<'a>(&self, level: &Level<'a, Family>) -> Result<Texels<'a, Family>> {
        let s = &self.surfaces[self.find(level)?];
        if s.way != Way::Drawn {
            return self.reads(level);
        }
        if let Some(packing) = Packing::of_depth(s.format) {
            return Ok(Texels::Drawn(level.as_array(s.format), Output::Depth, packing));
        }
        match self.reads(level)? {
            Texels::Image(view, packing) if s.format == Format::S8_UINT => {
                let view = View { format: s.format, ..view };
                Ok(Texels::Drawn(view, Output::Stencil, packing))
            }
            Texels::Image(view, packing) => Ok(Texels::Drawn(view, Output::Colour, packing)),
            other => Ok(other),
        }
    }

    fn stores(&self, _view: &View<'_, Family>) -> bool {
        self.stores
    }

    fn before_writes(&mut self, area: &Area<'_, Family>) -> Result<()> {
        self.areas.push((area.of.addresses[0], area.first, area.size));
        Ok(())
    }

    fn draw(&mut self, r: &Rectangle<'_, Family>) -> Result<()> {
        self.drawn.push((r.fragment, r.rect, r.depth, [r.layer, r.layers]));
        self.log.push(Some(r.fragment));
        let Some(target) = self.target else { return Ok(()) };
        let program = self.program(r.fragment);
        assert_eq!(program.info.stage, Stage::Fragment);
        let samples = self.surfaces[target.surface].info.samples;
        assert_eq!(r.state.samples, samples);
        let mut memory = self.memory(&program, r.words, r.bindings)?;
        let (e, o) = (r.rect.extent, r.rect.offset);
        for layer in r.layer..r.layer + r.layers {
            for sample in 0..samples {
                let pixels = (0..e.width * e.height)
                    .map(|n| [o.x as u32 + n % e.width, o.y as u32 + n / e.width]);
                let pixels: Vec<[u32; 2]> = pixels.collect();
                let mut group = Group::plain(pixels.len());
                let centre = |v: u32| u64::from((v as f32 + 0.5).to_bits());
                let mut set = |b, f: &dyn Fn([u32; 2]) -> Vec<u64>| {
                    group.builtins.insert(b, pixels.iter().map(|&p| f(p)).collect());
                };
                set(Builtin::FragCoord, &|[x, y]| vec![centre(x), centre(y), 0, 0]);
                set(Builtin::Layer, &|_| vec![u64::from(layer)]);
                set(Builtin::SampleId, &|_| vec![u64::from(sample)]);
                let outcome = interp::run(&program, &group, &mut memory, 1 << 24)
                    .map_err(|e| Error::unsupported(format!("{:?}: {e}", r.fragment)))?;
                for (lane, &[x, y]) in pixels.iter().enumerate() {
                    let bits = target.bits(&outcome, lane);
                    let surface = &mut self.surfaces[target.surface];
                    surface.put([x, y, target.layer + layer], sample, bits);
                }
            }
        }
        Ok(())
    }

    fn render(&mut self, rendering: &Rendering<Family>, r: &Rectangle<'_, Family>) -> Result<()> {
        let all = [
            (rendering.colours.first().and_then(Option::as_ref), Output::Colour),
            (rendering.depth.as_ref(), Output::Depth),
            (rendering.stencil.as_ref(), Output::Stencil),
        ];
        let Some((a, output)) = all.into_iter().find_map(|(a, output)| Some((a?, output))) else {
            return Err(Error::unsupported("a rendering without attachments"));
        };
        let covers = r.rect.offset == vk::Offset2D::default()
            && [r.rect.extent.width, r.rect.extent.height] == a.image.extent();
        assert_eq!(a.load == vk::AttachmentLoadOp::DONT_CARE, covers);
        let is_it = |s: &Surface| {
            s.address == a.image.addresses[0]
                && s.level == a.image.level
                && s.format.info().block.bytes == a.image.format.info().block.bytes
        };
        let surface = self.surfaces.iter().position(is_it).unwrap();
        let (format, layer) = (a.image.format, a.image.layer);
        self.target = Some(Target { surface, format, layer, output });
        let drawn = self.draw(r);
        self.target = None;
        drawn
    }
}
