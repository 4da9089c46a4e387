//! Multiview: a draw is repeated for each view, which renders to the layer of its index. The last stage before the rasteriser
//! writes the layer. source: Mesa, hk_shader.c, hk_lower_multiview; brw_nir_lower_multiview

use tepui_ir::{
    Attrs, Builder, Builtin, Interp, IoLoc, IoSlot, NumKind, Op, Region, Sampling, Shader, Stage,
    Type,
};

/// Writes the layer at the end of a vertex or tessellation evaluation shader, and before each vertex that a geometry shader emits.
pub fn run(s: &mut Shader) -> bool {
    match s.info.stage {
        Stage::Vertex | Stage::TessEvaluation => {
            let root = s.root;
            let end = s.regions[root].insts.pop();
            write_layer(s, root);
            s.regions[root].insts.extend(end);
            true
        }
        Stage::Geometry => {
            let regions: Vec<Region> = s.regions.keys().collect();
            for region in regions {
                for inst in std::mem::take(&mut s.regions[region].insts) {
                    if s.insts[inst].op == Op::EmitVertex {
                        write_layer(s, region);
                    }
                    s.regions[region].insts.push(inst);
                }
            }
            true
        }
        Stage::Compute | Stage::TessControl | Stage::Fragment => false,
    }
}

/// Appends the store of the layer to a region.
fn write_layer(s: &mut Shader, region: Region) {
    let mut b = Builder::at(s, region);
    let view = b.value(Op::LoadBuiltin, Attrs::Builtin(Builtin::ViewIndex), &[], Type::B32);
    let zero = b.u32(0);
    let layer = IoSlot {
        loc: IoLoc::Builtin(Builtin::Layer),
        component: 0,
        index: 0,
        kind: NumKind::Uint,
        interp: Interp::Flat,
        sampling: Sampling::Center,
    };
    b.effect(Op::StoreOutput, Attrs::Io(layer), &[view, zero]);
}
