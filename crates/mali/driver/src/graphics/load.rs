//! Programs that load attachments into tiles before the draws: frame shaders.
//!
//! source: Mesa, panvk_vX_cmd_fb_preload.c

use tepui_ir::{Builtin, Dim, IoLoc, NumKind, Op, ResKind, Shader, Stage, Type, Value};
use tepui_mali_packets::draw::{
    DepthSource, DepthStencil, Draw, PixelKill, StencilOp as Operation,
};
use tepui_mali_packets::shader::ShaderEnvironment;
use tepui_mali_packets::texture::CompareFunction;
use tepui_vulkan::Result;
use tepui_vulkan::state::MAX_COLOURS;
use tepui_vulkan_kit::MetaBuilder;
use tepui_vulkan_meta::image::{fetch, image, slot};

use crate::packed::packet;

/// Attachments that a program loads. Its textures are bindings of set 0 from 0 on: colours, then depth, then stencil, each an array
/// of layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Loads {
    /// Number formats of the colours.
    pub colours: [Option<NumKind>; MAX_COLOURS],
    /// Depth.
    pub depth: bool,
    /// Stencil.
    pub stencil: bool,
    /// Pixels have several samples.
    pub multisampled: bool,
}

impl Loads {
    /// Whether nothing is loaded.
    pub fn is_empty(&self) -> bool {
        !self.depth && !self.stencil && self.colours == [None; MAX_COLOURS]
    }

    /// The targets that are loaded, a bit each.
    pub fn targets(&self) -> u8 {
        (0..MAX_COLOURS).filter(|&k| self.colours[k].is_some()).fold(0, |all, k| all | 1 << k)
    }

    /// Builds the program.
    pub fn build(&self) -> Shader {
        let mut s = Shader::new(Stage::Fragment);
        s.info.per_sample = self.multisampled;
        let mut m = MetaBuilder::new(&mut s, 1);
        let centre = m.ir.builtin(Builtin::FragCoord, Type::vec(32, 4));
        let [x, y] = [0, 1].map(|c| {
            let v = m.ir.extract(centre, c);
            m.ir.convert(Op::F2U, v, 32)
        });
        let layer = m.ir.builtin(Builtin::Layer, Type::B32);
        let at = m.ir.vec(&[x, y, layer]);
        let sample = self.multisampled.then(|| m.ir.builtin(Builtin::SampleId, Type::B32));
        let mut binding = 0;
        let mut texel = |m: &mut MetaBuilder<'_>, kind| -> Value {
            let ms = self.multisampled;
            let texture = image(m, binding, ResKind::Texture, kind, Dim::D2, ms);
            binding += 1;
            fetch(m, texture, kind, at, sample)
        };
        let zero = m.ir.u32(0);
        for (k, kind) in self.colours.iter().enumerate() {
            if let Some(kind) = *kind {
                let v = texel(&mut m, kind);
                let to = slot(IoLoc::Location(k as u16), 0, kind);
                m.ir.effect(Op::StoreOutput, to, &[v, zero]);
            }
        }
        for (is_loaded, output, kind) in [
            (self.depth, Builtin::FragDepth, NumKind::Float),
            (self.stencil, Builtin::FragStencilRef, NumKind::Uint),
        ] {
            if is_loaded {
                let v = texel(&mut m, kind);
                let v = m.ir.extract(v, 0);
                m.ir.effect(Op::StoreOutput, slot(IoLoc::Builtin(output), 0, kind), &[v, zero]);
            }
        }
        m.ir.yield_(&[]);
        s
    }
}

/// The state that a load of depth and stencil writes with, in any case.
///
/// # Errors
/// When a value does not fit.
pub fn depth_stencil(loads: &Loads) -> Result<Vec<u8>> {
    let replace = Operation::Replace;
    let state = DepthStencil {
        depth_function: CompareFunction::Always,
        depth_write_enable: loads.depth,
        depth_source: match loads.depth {
            true => DepthSource::Shader,
            false => DepthSource::FixedFunction,
        },
        depth_cull_enable: false,
        stencil_test_enable: loads.stencil,
        stencil_from_shader: loads.stencil,
        front_compare_function: CompareFunction::Always,
        front_stencil_fail: replace,
        front_depth_fail: replace,
        front_depth_pass: replace,
        front_write_mask: 0xff,
        front_value_mask: 0xff,
        back_compare_function: CompareFunction::Always,
        back_stencil_fail: replace,
        back_depth_fail: replace,
        back_depth_pass: replace,
        back_write_mask: 0xff,
        back_value_mask: 0xff,
        ..DepthStencil::default()
    };
    Ok(state.pack().map_err(packet)?.to_vec())
}

/// Addresses that a frame shader's draw descriptor names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addresses {
    /// Table of resource tables, with their number.
    pub resources: u64,
    /// Program descriptor.
    pub program: u64,
    /// Memory of threads.
    pub threads: u64,
    /// Fast-access uniforms, with the number of pairs in the upper byte.
    pub fau: u64,
    /// Depth and stencil descriptor.
    pub depth_stencil: u64,
    /// Blend descriptors.
    pub blend: u64,
    /// Their number.
    pub blends: u32,
}

/// The draw descriptor of a frame shader.
///
/// # Errors
/// When a value does not fit.
pub fn draw(loads: &Loads, a: &Addresses) -> Result<Vec<u8>> {
    let is_colour = loads.targets() != 0;
    // Depth and stencil of the program need late tests.
    let kill = if is_colour { PixelKill::ForceEarly } else { PixelKill::ForceLate };
    let draw = Draw {
        allow_forward_pixel_to_kill: is_colour,
        allow_forward_pixel_to_be_killed: true,
        pixel_kill_operation: kill,
        zs_update_operation: kill,
        clean_fragment_write: true,
        evaluate_per_sample: loads.multisampled,
        multisample_enable: loads.multisampled,
        sample_mask: 0xffff,
        render_target_mask: loads.targets().into(),
        maximum_z: 1.0,
        depth_stencil: a.depth_stencil,
        blend_count: a.blends,
        blend: a.blend,
        shader: ShaderEnvironment {
            fau_count: (a.fau >> 56) as u32,
            resources: a.resources,
            shader: a.program,
            thread_storage: a.threads,
            fau: a.fau & ((1 << 56) - 1),
            ..ShaderEnvironment::default()
        },
        ..Draw::default()
    };
    Ok(draw.pack().map_err(packet)?.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_load_all_attachments() {
        let mut colours = [None; MAX_COLOURS];
        colours[0] = Some(NumKind::Float);
        colours[2] = Some(NumKind::Uint);
        for loads in [
            Loads { colours, ..Loads::default() },
            Loads { depth: true, stencil: true, ..Loads::default() },
            Loads { colours, multisampled: true, ..Loads::default() },
        ] {
            let mut ir = loads.build();
            let program = tepui_mali_compiler::compile(&mut ir, &Default::default()).unwrap();
            let tepui_mali_compiler::StageInfo::Fragment(info) = program.stage else {
                panic!("{:?}", program.stage)
            };
            assert_eq!(info.colours.map(|c| c.is_some()), loads.colours.map(|c| c.is_some()));
            assert_eq!((info.depth, info.stencil), (loads.depth, loads.stencil));
            assert_eq!(info.per_sample, loads.multisampled);
        }
    }
}
