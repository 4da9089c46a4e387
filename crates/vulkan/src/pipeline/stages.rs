//! Stages of pipelines and of shader objects on their way to a family's shaders: translated, linked if they are created together,
//! compiled.

use std::sync::Arc;

use tepui_ir::{Attrs, Builtin, Stage};
use tepui_passes::link_stages;
use xxhash_rust::xxh3;

use crate::backend::{Backend, STAGES, ShaderInfo, SubgroupSize};
use crate::cache::Programs;
use crate::descriptor::SetLayout;
use crate::device::Device;
use crate::error::Result;
use crate::state::GraphicsState;

/// A stage on its way to a shader.
#[derive(Clone)]
pub(crate) struct Translated {
    /// The shader, specialised.
    pub ir: tepui_ir::Shader,
    /// Hash of everything that the shader follows from.
    pub key: u128,
    /// Out-of-bounds accesses of buffers are defined.
    pub robust: bool,
    /// The size of subgroups.
    pub subgroup_size: SubgroupSize,
}

/// Links the stages that there are, from the last to the first, since a stage may not read what it need not write.
pub(crate) fn link(stages: &mut [Option<Translated>; STAGES.len()]) {
    let [before @ .., fragment] = stages;
    let mut before: Vec<&mut Translated> = before.iter_mut().flatten().collect();
    if before.is_empty() || before.len() == 1 && fragment.is_none() {
        return;
    }
    if let (Some(last), Some(fragment)) = (before.last_mut(), fragment.as_mut())
        && last.ir.captures.is_empty()
    {
        link_stages::run(&mut last.ir, &mut fragment.ir);
    }
    for k in (1..before.len()).rev() {
        let [stage, next] = &mut before[k - 1..=k] else { continue };
        if stage.ir.info.stage != Stage::TessControl {
            link_stages::remove_unread(&mut stage.ir, &mut next.ir);
        }
    }
    // The result of linking each depends on the others.
    let mut all = before;
    all.extend(fragment);
    let keys: Vec<u8> = all.iter().flat_map(|t| t.key.to_le_bytes()).collect();
    for (seed, t) in all.into_iter().enumerate() {
        t.key = xxh3::xxh3_128_with_seed(&keys, seed as u64);
    }
}

/// Gives a shader the index of its device where it asks for that of the view.
pub(crate) fn read_device_as_view(ir: &mut tepui_ir::Shader, key: &mut u128) {
    for inst in ir.insts.values_mut() {
        if inst.attrs == Attrs::Builtin(Builtin::ViewIndex) {
            inst.attrs = Attrs::Builtin(Builtin::DeviceIndex);
        }
    }
    *key = xxh3::xxh3_128_with_seed(&key.to_le_bytes(), STAGES.len() as u64);
}

/// Gives back the memory that the lists of a shader have in reserve: families keep shaders for variants.
fn shrink(ir: &mut tepui_ir::Shader) {
    ir.insts.shrink_to_fit();
    ir.values.shrink_to_fit();
    // A copy has as much memory as it uses.
    ir.pool = ir.pool.clone();
}

/// Compiles a stage. `partial_state` is the state as far as it is known, for shaders whose state is not known before they are linked
/// or drawn with.
pub(crate) fn shader_of<B: Backend>(
    d: &Device<B>,
    Translated { mut ir, key, robust, subgroup_size }: Translated,
    sets: &[Option<Arc<SetLayout<B>>>],
    programs: &Arc<Programs>,
    captures: bool,
    partial_state: Option<&GraphicsState>,
) -> Result<Arc<B::Shader>> {
    shrink(&mut ir);
    let info = ShaderInfo {
        ir,
        key,
        programs: programs.clone(),
        captures,
        custom_borders: d.custom_borders,
        reductions: d.reductions,
        null_images: d.null_images,
        sets,
        robust,
        subgroup_size,
        partial_state,
    };
    Ok(Arc::new(B::shader(&d.inner, info)?))
}

#[cfg(test)]
mod tests {
    use tepui_ir::{Builder, Op, Shader, Type};

    use super::*;

    #[test]
    fn a_shader_that_sees_the_device_as_its_view_is_another_one() {
        let mut s = Shader::new(Stage::Fragment);
        let root = s.root;
        let mut b = Builder::at(&mut s, root);
        b.value(Op::LoadBuiltin, Attrs::Builtin(Builtin::ViewIndex), &[], Type::B32);
        b.value(Op::LoadBuiltin, Attrs::Builtin(Builtin::SampleId), &[], Type::B32);
        let mut key = 7;
        read_device_as_view(&mut s, &mut key);
        assert_ne!(key, 7);
        let builtins: Vec<_> = s.insts.values().map(|i| i.attrs).collect();
        let wanted = [Builtin::DeviceIndex, Builtin::SampleId].map(Attrs::Builtin);
        assert_eq!(builtins, wanted);
    }
}
