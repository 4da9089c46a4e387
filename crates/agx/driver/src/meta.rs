//! The driver's own programs: those of [`tepui_vulkan_meta`] and [`tepui_vulkan_expand`], and those of AGX alone.
//!
//! Copies of images read and write memory at addresses that programs compute from the layout, so that every format, compressed
//! blocks and several samples among them, takes one path. Images with lossless compression are read through the texture unit
//! instead, and their tiles opened before they are written ([`compression`]). Blits and resolves go through the texture unit and
//! the pixel back end, which convert.

pub mod compression;
pub mod program;

use std::sync::Arc;

use tepui_agx_compiler::abi::spilled;
use tepui_ir::{
    Access, Builtin, Dim, IoLoc, NumKind, Op, ResKind, Resource, Shader as Ir, Stage, Type,
};
use tepui_vulkan::Result;
use tepui_vulkan_kit::MetaBuilder;
use tepui_vulkan_kit::builder::Words;
use tepui_vulkan_meta::{Conventions, Resolve, image};

use crate::device::Device;
use crate::family::LANES;
use crate::recipe::Places;
use crate::shader::{Linking, Origin, Shader};
pub use program::Program;

impl Device {
    /// A program of the driver's own.
    ///
    /// # Errors
    /// When it does not compile, which is a mistake.
    pub fn meta(self: &Arc<Self>, p: impl Into<Program>) -> Result<Arc<Shader>> {
        let p = p.into();
        self.meta.0.get_or(&p, || {
            Ok(Arc::new(Shader::new(
                &Arc::downgrade(self),
                build(p),
                Places::rows(2),
                false,
                Origin::default(),
                Linking::Whole,
            )?))
        })
    }

    /// A fragment shader that does nothing.
    ///
    /// # Errors
    /// As [`Device::meta`].
    pub fn empty_fragment(self: &Arc<Self>) -> Result<Arc<Shader>> {
        self.meta(Program::Nothing)
    }
}

fn build(p: Program) -> Ir {
    let (stage, threads) = match p {
        Program::Meta(p) => {
            return p.build(Conventions { threads: LANES, words: Words::Uniform });
        }
        Program::Expand(p) => return p.build(LANES),
        Program::ResolveTile { .. } | Program::Nothing => (Stage::Fragment, [1; 3]),
        Program::Mark => (Stage::Compute, [8, 4, 1]),
        Program::Open { .. } => (Stage::Compute, [LANES, 1, 1]),
    };
    let mut s = Ir::new(stage);
    s.info.workgroup_size = threads;
    let mut m = MetaBuilder::new(&mut s, LANES);
    match p {
        Program::Open { packing, samples } => compression::open(&mut m, &packing, samples),
        Program::Mark => compression::mark(&mut m),
        Program::ResolveTile { averaged, first, integers, samples } => {
            resolve_tile(&mut m, averaged, first, integers, samples)
        }
        _ => {}
    }
    m.ir.yield_(&[]);
    s
}

/// Resolves colours in the tile to images in the bindings after those of the render targets.
fn resolve_tile(m: &mut MetaBuilder<'_>, averaged: u8, first: u8, integers: u8, samples: u8) {
    let zero = m.ir.u32(0);
    let place = m.ir.builtin(Builtin::FragCoord, Type::vec(32, 4));
    let mut at = [0, 1]
        .map(|c| {
            let v = m.ir.extract(place, c);
            m.ir.convert(Op::F2U, v, 32)
        })
        .to_vec();
    at.push(m.ir.builtin(Builtin::Layer, Type::B32));
    let at = m.ir.vec(&at);
    for k in (0..8u16).filter(|k| (averaged | first) >> k & 1 != 0) {
        let kind = if integers >> k & 1 != 0 { NumKind::Uint } else { NumKind::Float };
        let how = if averaged >> k & 1 != 0 { Resolve::Average } else { Resolve::First };
        let colour = image::reduce(m, kind, samples, how, |m, n| {
            let n = m.ir.u32(u32::from(n));
            let slot = image::slot(IoLoc::Location(k), 0, kind);
            m.ir.value(Op::LoadOutputSample, slot, &[n], Type::vec(32, 4))
        });
        let r = m.ir.shader.resources.push(Resource {
            dim: Dim::D2,
            array: true,
            texels: kind,
            ..Resource::new(ResKind::StorageImage, spilled::SET, spilled::OWN + u32::from(k))
        });
        let target = m.ir.descriptor(r, zero, Access::default());
        image::store(m, target, kind, at, None, colour);
    }
}
