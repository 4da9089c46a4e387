//! Gives a shader's resources memory and descriptors, and reads what it stored.

use std::collections::BTreeSet;

use tepui_agx_bare::shader::Bindings;
use tepui_agx_bare::{Buffer, Machine, bind};
use tepui_agx_model::Fingerprint;
use tepui_ir::{ResKind, Resource, Shader};

use crate::compile::{ShaderError, takes_image, takes_sampler};
use crate::images::{self, BoundImage, Request};
use crate::inputs::{Contents, Inputs, MAX_BUFFERS_B};
use crate::picture;
use crate::run::{After, Outcome, Picture, Regions};

/// Bytes of a storage buffer of which nothing is said.
const DEFAULT_B: usize = 4096;
/// Bytes of a uniform buffer: all after the known words is zero.
const UNIFORM_B: usize = 1 << 16;
/// Elements of the largest array of descriptors.
const MAX_ELEMENTS: u32 = 256;

/// Set, binding and array element.
type Slot = (u32, u32, u32);

/// The resources of shaders in a machine's memory.
pub struct Resources {
    /// Bindings of the shaders.
    pub bindings: Bindings,
    /// Storage buffers with their names.
    buffers: Vec<(String, Slot, Buffer)>,
    /// Storage images and storage texel buffers with their names.
    images: Vec<(String, Slot, BoundImage)>,
}

/// A resource's name for messages.
fn name(r: &Resource) -> String {
    format!("`{}` at set {} binding {}", r.name, r.set, r.binding)
}

/// The name of an element.
fn element_name(r: &Resource, element: u32) -> String {
    if r.count == 1 { r.name.clone() } else { format!("{}[{element}]", r.name) }
}

impl Resources {
    /// Creates memory for all resources that the shaders name. Uniform buffers hold width, height,
    /// time, a zero word, and the pointer.
    ///
    /// # Errors
    /// If the inputs lack an image or a sampler, or describe one wrongly.
    pub fn new(
        machine: &mut Machine,
        shaders: &[&Shader],
        inputs: &Inputs,
    ) -> Result<Resources, ShaderError> {
        let (buffers, images) = (Vec::new(), Vec::new());
        let mut own = Resources { bindings: Bindings::default(), buffers, images };
        let mut room = MAX_BUFFERS_B;
        let mut known = BTreeSet::new();
        for r in shaders.iter().flat_map(|s| s.resources.values()) {
            if !known.insert((r.set, r.binding, r.kind)) {
                continue;
            }
            // A run-time array gets one element.
            let count = r.count.max(1);
            if count > MAX_ELEMENTS {
                let message =
                    format!("{} has {count} elements; at most {MAX_ELEMENTS} are given", name(r));
                return Err(ShaderError::new(message));
            }
            for element in 0..count {
                let slot = (r.set, r.binding, element);
                if takes_image(r.kind) {
                    own.image(machine, r, slot, inputs)?;
                }
                if takes_sampler(r.kind) {
                    own.sampler(r, slot, inputs)?;
                }
                if matches!(r.kind, ResKind::UniformBuffer | ResKind::StorageBuffer) {
                    own.buffer(machine, r, slot, inputs, &mut room)?;
                }
            }
        }
        Ok(own)
    }

    fn buffer(
        &mut self,
        machine: &mut Machine,
        r: &Resource,
        slot: Slot,
        inputs: &Inputs,
        room: &mut usize,
    ) -> Result<(), ShaderError> {
        let (words, bytes) = if r.kind == ResKind::UniformBuffer {
            let [width, height] = inputs.size.map(|n| n as f32);
            let [x, y] = inputs.pointer;
            let words = [width, height, inputs.time, 0.0, x, y].map(f32::to_bits).to_vec();
            (words, UNIFORM_B)
        } else {
            let own = |c: &&Contents| (c.set, c.binding) == (r.set, r.binding);
            let words = match inputs.buffers.iter().find(own) {
                Some(contents) => contents.words(),
                None => vec![0; DEFAULT_B / 4],
            };
            let bytes = (4 * words.len()).max(4);
            (words, bytes)
        };
        *room = room.checked_sub(bytes).ok_or_else(|| {
            ShaderError::new(format!("buffers of more than {MAX_BUFFERS_B} bytes"))
        })?;
        let buffer = machine.buffer(bytes).map_err(ShaderError::new)?;
        buffer.write_words(&words).map_err(ShaderError::new)?;
        if r.kind == ResKind::StorageBuffer {
            self.buffers.push((element_name(r, slot.2), slot, buffer.clone()));
        }
        self.bindings.buffers.insert(slot, buffer);
        Ok(())
    }

    fn image(
        &mut self,
        machine: &mut Machine,
        r: &Resource,
        slot: Slot,
        inputs: &Inputs,
    ) -> Result<(), ShaderError> {
        let own = inputs.images.iter().find(|i| (i.set, i.binding) == (r.set, r.binding));
        let Some(input) = own else {
            let message = format!(
                "{} has no image: give one, such as {}=checkerboard,size=64x64",
                name(r),
                option_name(r)
            );
            return Err(ShaderError::new(message));
        };
        let wrong = |e: String| ShaderError::new(format!("{}: {e}", name(r)));
        let request = Request::parse(&input.what).map_err(wrong)?;
        let bound = images::bind(machine, r, &request, input.file.as_deref()).map_err(wrong)?;
        let row = bound.row().map_err(wrong)?;
        self.bindings.images.insert(slot, row);
        if matches!(r.kind, ResKind::StorageImage | ResKind::StorageTexelBuffer) {
            self.images.push((element_name(r, slot.2), slot, bound));
        }
        Ok(())
    }

    fn sampler(&mut self, r: &Resource, slot: Slot, inputs: &Inputs) -> Result<(), ShaderError> {
        let own = inputs.samplers.iter().find(|i| (i.set, i.binding) == (r.set, r.binding));
        let Some(input) = own else {
            let message = format!(
                "{} has no sampler: give one, such as {}=linear,repeat",
                name(r),
                option_name(r)
            );
            return Err(ShaderError::new(message));
        };
        let wrong = |e: String| ShaderError::new(format!("{}: {e}", name(r)));
        let sampler = images::sampler(&input.what).map_err(wrong)?;
        let sampler = bind::sampler(&sampler).map_err(|e| wrong(e.to_string()))?;
        self.bindings.samplers.insert(slot, sampler);
        Ok(())
    }

    /// Says where the storage buffers are.
    pub fn tell(&self, regions: &Regions) {
        for (name, _, buffer) in &self.buffers {
            regions.add(name, buffer);
        }
    }

    /// Adds the storage buffers and images, as they are now, to an outcome.
    ///
    /// # Errors
    /// Memory cannot be read.
    pub fn read(&self, outcome: &mut Outcome) -> Result<(), ShaderError> {
        for (name, (set, binding, _), buffer) in &self.buffers {
            let words = buffer.read_words().map_err(ShaderError::new)?;
            outcome.buffers.push(After { set: *set, binding: *binding, name: name.clone(), words });
        }
        for (name, (set, binding, _), image) in &self.images {
            let raw = image.read().map_err(ShaderError::new)?;
            let mut fingerprint = Fingerprint::default();
            raw.iter().for_each(|&byte| fingerprint.add(byte));
            let mut colours = picture::colours(image.format(), &raw).map_err(ShaderError::new)?;
            // Of a multisampled texel the first sample is shown.
            let [width, height] = image.picture();
            let samples = colours.len() / (width as usize * height as usize).max(1);
            if samples > 1 {
                colours = colours.into_iter().step_by(samples).collect();
            }
            outcome.pictures.push(Picture {
                set: *set,
                binding: *binding,
                name: name.clone(),
                format: image.format().to_string(),
                size: [width, height],
                layers: image.slices(),
                offset: outcome.pixels.len(),
                fingerprint: format!("{:016x}", fingerprint.value()),
            });
            outcome.pixels.extend_from_slice(colours.as_flattened());
        }
        Ok(())
    }
}

/// A binding as options of the command line name it.
fn option_name(r: &Resource) -> String {
    if r.set == 0 { r.binding.to_string() } else { format!("{}.{}", r.set, r.binding) }
}
