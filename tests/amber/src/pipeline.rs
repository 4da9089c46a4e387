//! Translates a job's modules to IR, and its buffers to the interpreter's memory and back.

use tepui_agx_bare::bind;
use tepui_agx_bare::image::format_of;
use tepui_format::Format;
use tepui_ir::interp::{ImageData, Memory};
use tepui_ir::{ImageFormat, NumKind, Resource, Shader};

use crate::content::Content;
use crate::run::{Code, Job};
use crate::script::{Stage, Texels, Usage};
use crate::{Refusal, failed, refused};

/// Translates a stage.
pub(crate) fn translate(code: &Code) -> Result<Shader, Refusal> {
    let stage = match code.stage {
        Stage::Compute => tepui_ir::Stage::Compute,
        Stage::Vertex => tepui_ir::Stage::Vertex,
        Stage::Fragment => tepui_ir::Stage::Fragment,
        other => return refused(format!("{other:?} shaders")),
    };
    let options = tepui_spirv::Options {
        entry: Some(code.entry.clone()),
        stage: Some(stage),
        spec: code.constants.clone(),
    };
    tepui_spirv::translate(&code.words, &options).map_err(|e| match e.kind {
        // With the instruction but without its position, so that equal reasons are counted
        // together.
        tepui_spirv::Kind::Unsupported(_) => Refusal::Refused(format!("{}: {}", e.inst, e.kind)),
        _ => failed(e),
    })
}

/// The memory that shaders read and write, for interpreter and model.
pub(crate) struct Memories {
    /// Contents before the run.
    pub(crate) start: Memory,
}

fn storage_format(format: Format) -> Option<ImageFormat> {
    ImageFormat::ALL.iter().copied().find(|&f| format_of(f) == Some(format))
}

/// The format of an image in the IR's memory: its own, or one that can represent all its texels.
fn shader_format(t: Texels, r: &Resource, stored: bool) -> Result<ImageFormat, Refusal> {
    let wide = match r.texels {
        NumKind::Float => ImageFormat::Rgba32f,
        NumKind::Sint => ImageFormat::Rgba32i,
        NumKind::Uint => ImageFormat::Rgba32ui,
    };
    match storage_format(t.format) {
        Some(f) => Ok(f),
        None if stored => refused(format!("stores to {}", t.format)),
        None => Ok(wide),
    }
}

impl Memories {
    /// Creates the memory of a shader's resources.
    ///
    /// # Errors
    /// A binding has an unsupported kind.
    pub(crate) fn new(job: &Job, buffers: &[Content], s: &Shader) -> Result<Memories, Refusal> {
        let mut m = Memory { push: job.push.clone(), ..Memory::default() };
        for b in &job.bindings {
            let Some(r) = resource(s, b.slot) else { continue };
            let content = buffers.get(b.buffer);
            if let Usage::Combined(n) | Usage::Sampler(n) = b.usage {
                m.samplers.insert(b.slot, job.samplers[n]);
            }
            let Some(content) = content else { continue };
            match b.usage {
                Usage::Uniform | Usage::Storage => {
                    m.buffers.insert(b.slot, content.bytes.clone());
                }
                Usage::Sampler(_) => {}
                usage => {
                    let stored = matches!(usage, Usage::StorageImage | Usage::StorageTexels);
                    m.images.insert(b.slot, image(content, r, stored)?);
                }
            }
        }
        Ok(Memories { start: m })
    }

    /// Copies what shaders may have written back to the buffers.
    ///
    /// # Errors
    /// Texels cannot be packed.
    pub(crate) fn store(
        job: &Job,
        now: &Memory,
        s: &Shader,
        buffers: &mut [Content],
    ) -> Result<(), Refusal> {
        for b in &job.bindings {
            let Some(content) = buffers.get_mut(b.buffer) else { continue };
            match b.usage {
                Usage::Storage => {
                    if let Some(bytes) = now.buffers.get(&b.slot) {
                        let n = content.bytes.len().min(bytes.len());
                        content.bytes[..n].copy_from_slice(&bytes[..n]);
                    }
                }
                Usage::StorageImage | Usage::StorageTexels => {
                    let (Some(i), Some(r)) = (now.images.get(&b.slot), resource(s, b.slot)) else {
                        continue;
                    };
                    let format = texels(content)?.format;
                    content.bytes = bind::bytes(&i.levels[0], format, r.texels).map_err(failed)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn resource(s: &Shader, slot: (u32, u32, u32)) -> Option<&Resource> {
    s.resources.values().find(|r| (r.set, r.binding) == (slot.0, slot.1))
}

/// A buffer's texels; for a texel buffer, they follow from its element type.
fn texels(content: &Content) -> Result<Texels, Refusal> {
    if let Some(t) = content.texels {
        return Ok(t);
    }
    let format = content.element.and_then(|e| e.texel());
    let Some(format) = format else { return refused("texels of this type") };
    let width = content.bytes.len() / format.info().block.bytes.max(1) as usize;
    Ok(Texels { format, dimensions: 1, size_px: [width as u32, 1, 1] })
}

fn image(content: &Content, r: &Resource, stored: bool) -> Result<ImageData, Refusal> {
    let mut t = texels(content)?;
    if r.dim == tepui_ir::Dim::Buffer {
        t.size_px = [t.size_px.iter().product(), 1, 1];
    }
    let mut image = ImageData::new(t.size_px, 1, 1);
    image.format = shader_format(t, r, stored)?;
    image.levels = vec![bind::texels(&content.bytes, t.format, r.texels).map_err(failed)?];
    Ok(image)
}
