//! Bindings of a run on GPUs whose models are run without a driver: contents of buffers, images and samplers by slot, and what a
//! run left in them.

use std::collections::BTreeMap;

use tepui_debug::memory::Region;
use tepui_ir::interp::{ImageData, SamplerData, Slot};
use tepui_ir::{ImageFormat, NumKind, ResKind, Resource, Shader};
use tepui_ir_gen::texels::{bytes, format_of, texels};

use crate::compile::{ShaderError, takes_image, takes_sampler};
use crate::images::{self, Request, Texels};
use crate::inputs::{Contents, ImageInput, Inputs, SamplerInput};
use crate::picture;
use crate::run::{After, Outcome, Picture};

/// Bytes of a storage buffer of which nothing is said.
const DEFAULT_B: usize = 4096;
/// Bytes of a uniform buffer: all after the known words is zero.
const UNIFORM_B: usize = 1 << 16;
/// Elements of the largest array of descriptors.
const MAX_ELEMENTS: u32 = 256;

/// Contents of buffers by set, binding and array element.
pub type Buffers = BTreeMap<Slot, Vec<u8>>;

/// The contents of a shader's buffers. Uniform buffers hold width, height, time, a zero word, and the pointer.
///
/// # Errors
/// An array of descriptors is too large.
pub fn buffers(shader: &Shader, inputs: &Inputs) -> Result<Buffers, ShaderError> {
    let mut buffers = Buffers::new();
    for r in shader.resources.values() {
        if r.count > MAX_ELEMENTS {
            let Resource { name, count, .. } = r;
            return Err(ShaderError::new(format!(
                "`{name}` has {count} elements; at most {MAX_ELEMENTS} are given"
            )));
        }
        let contents = match r.kind {
            ResKind::UniformBuffer => {
                let [width, height] = inputs.size.map(|n| n as f32);
                let [x, y] = inputs.pointer;
                let words = [width, height, inputs.time, 0.0, x, y].map(f32::to_bits);
                let mut bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                bytes.resize(UNIFORM_B, 0);
                bytes
            }
            ResKind::StorageBuffer => {
                let own = |c: &&Contents| (c.set, c.binding) == (r.set, r.binding);
                match inputs.buffers.iter().find(own) {
                    Some(c) => c.words().iter().flat_map(|w| w.to_le_bytes()).collect(),
                    None => vec![0; DEFAULT_B],
                }
            }
            _ => continue,
        };
        for element in 0..r.count.max(1) {
            buffers.insert((r.set, r.binding, element), contents.clone());
        }
    }
    Ok(buffers)
}

/// Images and samplers of a shader.
pub struct Sampled<P> {
    /// Images and texel buffers.
    pub images: BTreeMap<Slot, P>,
    /// Samplers.
    pub samplers: BTreeMap<Slot, SamplerData>,
}

/// An image and a sampler for each resource that has one, from what is asked for of them by set and binding; `picture` is a family's
/// image of a resource.
///
/// # Errors
/// When a request is invalid, or a resource has none.
pub fn sampled<P>(
    shader: &Shader,
    images: &[ImageInput],
    samplers: &[SamplerInput],
    picture: impl Fn(ImageData, &Resource) -> P,
) -> Result<Sampled<P>, String> {
    let mut all = Sampled { images: BTreeMap::new(), samplers: BTreeMap::new() };
    for r in shader.resources.values() {
        let slot = (r.set, r.binding, 0);
        let name = |what| format!("set {} binding {} ({}) has no {what}", r.set, r.binding, r.name);
        if takes_image(r.kind) {
            let input = images.iter().find(|i| (i.set, i.binding) == (r.set, r.binding));
            let input = input.ok_or_else(|| {
                format!("{}: give one, for example --image {}=64x64", name("--image"), r.binding)
            })?;
            let texels = Request::parse(&input.what)?.texels(r, input.file.as_deref())?;
            all.images.insert(slot, picture(image_data(r, texels)?, r));
        }
        if takes_sampler(r.kind) {
            let input = samplers.iter().find(|s| (s.set, s.binding) == (r.set, r.binding));
            let what = input.ok_or_else(|| {
                let example = format!("--sampler {}=nearest,clamp", r.binding);
                format!("{}: give one, for example {example}", name("--sampler"))
            })?;
            all.samplers.insert(slot, images::sampler(&what.what)?);
        }
    }
    Ok(all)
}

/// An image with contents.
fn image_data(r: &Resource, t: Texels) -> Result<ImageData, String> {
    let format = ImageFormat::ALL.iter().find(|&&f| format_of(f) == Some(t.format));
    let format = *format.ok_or_else(|| {
        format!("{}: images are bound here in the formats of storage images alone", t.format)
    })?;
    let mut data = ImageData::multisampled(t.size, t.layers, 1, t.samples);
    data.format = format;
    if !t.bytes.is_empty() {
        data.levels[0] = texels(&t.bytes, t.format, r.texels).map_err(|e| e.to_string())?;
    }
    Ok(data)
}

/// The buffers of a shader with their addresses.
pub fn regions(shader: &Shader, buffers: &Buffers, addresses: &BTreeMap<Slot, u64>) -> Vec<Region> {
    let storage = |r: &&Resource| r.kind == ResKind::StorageBuffer;
    let mut out = Vec::new();
    for r in shader.resources.values().filter(storage) {
        for element in 0..r.count.max(1) {
            let slot = (r.set, r.binding, element);
            let bytes = buffers.get(&slot).map_or(0, |b| b.len() as u64);
            let Some(&address) = addresses.get(&slot) else { continue };
            out.push(Region { name: element_name(r, element), address, bytes });
        }
    }
    out
}

fn element_name(r: &Resource, element: u32) -> String {
    if r.count == 1 { r.name.clone() } else { format!("{}[{element}]", r.name) }
}

/// Adds the storage buffers and images of a shader to an outcome; `image` gives what an image's slot holds, and the kind of its texels.
pub fn read<'a>(
    shader: &Shader,
    buffers: &Buffers,
    image: impl Fn(&Slot) -> Option<(&'a ImageData, NumKind)>,
    outcome: &mut Outcome,
) -> Result<(), ShaderError> {
    for r in shader.resources.values() {
        let (set, binding) = (r.set, r.binding);
        for element in 0..r.count.max(1) {
            let slot = (set, binding, element);
            let name = element_name(r, element);
            if r.kind == ResKind::StorageBuffer
                && let Some(bytes) = buffers.get(&slot)
            {
                let word = |b: &[u8; 4]| u32::from_le_bytes(*b);
                let words = bytes.as_chunks::<4>().0.iter().map(word).collect();
                outcome.buffers.push(After { set, binding, name: name.clone(), words });
            }
            if matches!(r.kind, ResKind::StorageImage | ResKind::StorageTexelBuffer)
                && let Some(image) = image(&slot)
            {
                add_picture(image, (set, binding, name), outcome)?;
            }
        }
    }
    Ok(())
}

/// Adds a storage image to an outcome: its layers one below the other.
fn add_picture(
    (data, kind): (&ImageData, NumKind),
    (set, binding, name): (u32, u32, String),
    outcome: &mut Outcome,
) -> Result<(), ShaderError> {
    let ImageData { size: [width, height, depth], layers, format, .. } = *data;
    let format = format_of(format).ok_or_else(|| ShaderError::new("the image has no format"))?;
    let raw = bytes(&data.levels[0], format, kind).map_err(ShaderError::new)?;
    let mut fingerprint = tepui_agx_model::Fingerprint::default();
    raw.iter().for_each(|&byte| fingerprint.add(byte));
    let colours = picture::colours(format, &raw).map_err(ShaderError::new)?;
    let slices = layers.max(depth);
    outcome.pictures.push(Picture {
        set,
        binding,
        name,
        format: format.to_string(),
        size: [width, height * slices],
        layers: slices,
        offset: outcome.pixels.len(),
        fingerprint: format!("{:016x}", fingerprint.value()),
    });
    outcome.pixels.extend_from_slice(colours.as_flattened());
    Ok(())
}

/// The contents of an image for a file: a PNG if its name ends in `.png`, else raw texels.
///
/// # Errors
/// When the format has no texels of their own.
pub fn file(data: &ImageData, kind: NumKind, name: &str) -> Result<Vec<u8>, String> {
    let ImageData { size: [width, height, depth], layers, format, .. } = *data;
    let format = format_of(format).ok_or("the image has no format")?;
    let raw = bytes(&data.levels[0], format, kind).map_err(|e| e.to_string())?;
    if !name.to_ascii_lowercase().ends_with(".png") {
        return Ok(raw);
    }
    picture::png_of_texels(format, (width, height * layers.max(depth)), &raw)
        .map_err(|e| e.to_string())
}
