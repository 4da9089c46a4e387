//! Memory of the interpreter as bindings of the model.

use tepui_intel_bare::Bindings;
use tepui_intel_bare::image::Picture;
use tepui_intel_compiler::set_memory::placement;
use tepui_ir::Shader;
use tepui_ir::interp::Memory;

/// The bindings of a shader.
pub fn bindings(s: &Shader, m: &Memory) -> Bindings {
    let images = m.images.iter().filter_map(|(&slot, data)| {
        let mut named = s.resources.values();
        let r = named.find(|r| (r.set, r.binding) == (slot.0, slot.1))?;
        Some((slot, Picture::new(data.clone(), r)))
    });
    Bindings {
        buffers: m.buffers.iter().map(|(&k, v)| (k, v.clone())).collect(),
        push: m.push.clone(),
        images: images.collect(),
        samplers: m.samplers.iter().map(|(&k, &v)| (k, v)).collect(),
        sets: placement(s),
        ..Bindings::default()
    }
}
