//! Memory of the interpreter as bindings of the model, and programs whose images cannot be compared.

use tepui_intel_bare::Bindings;
use tepui_intel_bare::image::Picture;
use tepui_intel_compiler::set_memory::placement;
use tepui_ir::interp::Memory;
use tepui_ir::{DerivativeGroup, Op, Shader};
use tepui_passes::divergence::Divergence;

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

/// Whether lanes choose the descriptors or the texel offsets of lookups with implicit derivatives: lanes of a quad that
/// have the same ones are in one message, others not.
pub fn divides_quads(s: &Shader) -> bool {
    if s.info.derivatives == DerivativeGroup::None {
        return false;
    }
    let divergence = Divergence::new(s);
    s.any(|s, _, i| {
        let implicit = matches!(s.insts[i].op, Op::TexSample | Op::TexQueryLod);
        let mut operands = s.args(i).iter().take(2).copied();
        implicit
            && (operands.any(|h| divergence.is_divergent(h))
                || s.tex_args(i)
                    .and_then(|(_, t)| t.offset)
                    .is_some_and(|o| divergence.is_divergent(o)))
    })
}
