//! Programs of a graphics pipeline.

use std::sync::Arc;

use tepui_intel_compiler::StageInfo;
use tepui_intel_compiler::stage::{
    DomainInfo, FragmentInfo, GeometryInfo, HullInfo, Tessellator, VertexInfo, VertexOutputs,
};
use tepui_ir::{Capture, Stage};
use tepui_vulkan::backend::Stages;
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Error, Result};

use crate::family::Intel;
use crate::packets::STAGES;
use crate::shader::{FragmentKey, GeometryKey};
use crate::variant::Variant;

/// A program for each stage of [`STAGES`], and what they have in common.
#[derive(Clone, Default)]
pub struct Programs {
    /// Programs; there is one of vertices.
    pub stages: [Option<Arc<Variant>>; STAGES.len()],
    /// The tessellator, if there is one, with the origin of patches at the upper left and at the lower left.
    pub tessellator: Option<[Tessellator; 2]>,
}

fn other<T>(stage: Stage) -> Result<T> {
    Err(Error::unsupported(format!("a program of another stage in the place of a {stage}")))
}

impl Programs {
    /// The programs of shaders for a state; `None` without vertices.
    ///
    /// # Errors
    /// When a shader does not compile.
    pub fn new(
        shaders: &Stages<'_, Intel>,
        state: &GraphicsState,
        several_views: bool,
    ) -> Result<Option<Programs>> {
        let Some(vertex) = shaders.vertex else { return Ok(None) };
        let tessellates = shaders.control.is_some();
        let has_geometry = shaders.geometry.is_some();
        let plain = GeometryKey::default();
        let mut out = Programs::default();
        let key = GeometryKey {
            feeds_stage: tessellates || has_geometry,
            several_views: several_views && !tessellates && !has_geometry,
            ..plain
        };
        out.stages[0] = Some(vertex.before_pixels(key)?);
        if let (Some(control), Some(evaluation)) = (shaders.control, shaders.evaluation) {
            let patch = Some(control.patch(evaluation, state.patch_points.min(32) as u8));
            out.stages[1] = Some(control.before_pixels(GeometryKey { patch, ..plain })?);
            let several_views = several_views && !has_geometry;
            let key = GeometryKey { patch, feeds_stage: has_geometry, several_views };
            out.stages[2] = Some(evaluation.before_pixels(key)?);
            out.tessellator = Some(control.tessellators(evaluation));
        }
        if let Some(geometry) = shaders.geometry {
            out.stages[3] = Some(geometry.before_pixels(GeometryKey { several_views, ..plain })?);
        }
        if let Some(fragment) = shaders.fragment.filter(|_| !state.discard) {
            out.stages[4] = Some(fragment.fragment(FragmentKey::of(state))?);
        }
        Ok(Some(out))
    }

    /// Whether they are the same programs.
    pub fn is_same(&self, other: &Programs) -> bool {
        self.stages.iter().zip(&other.stages).all(|pair| match pair {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        })
    }

    /// The vertex program.
    ///
    /// # Errors
    /// When there is none.
    pub fn vertex(&self) -> Result<(&Variant, &VertexInfo)> {
        match self.stages[0].as_deref() {
            Some(v) => match &v.stage {
                StageInfo::Vertex(info) => Ok((v, info)),
                _ => other(Stage::Vertex),
            },
            None => Err(Error::unsupported("a draw without a vertex program")),
        }
    }

    /// The hull program.
    ///
    /// # Errors
    /// When it is of another stage.
    pub fn hull(&self) -> Result<Option<(&Variant, &HullInfo)>> {
        self.stages[1].as_deref().map_or(Ok(None), |v| match &v.stage {
            StageInfo::Hull(info) => Ok(Some((v, info))),
            _ => other(Stage::TessControl),
        })
    }

    /// The domain program.
    ///
    /// # Errors
    /// When it is of another stage.
    pub fn domain(&self) -> Result<Option<(&Variant, &DomainInfo)>> {
        self.stages[2].as_deref().map_or(Ok(None), |v| match &v.stage {
            StageInfo::Domain(info) => Ok(Some((v, info))),
            _ => other(Stage::TessEvaluation),
        })
    }

    /// The geometry program.
    ///
    /// # Errors
    /// When it is of another stage.
    pub fn geometry(&self) -> Result<Option<(&Variant, &GeometryInfo)>> {
        self.stages[3].as_deref().map_or(Ok(None), |v| match &v.stage {
            StageInfo::Geometry(info) => Ok(Some((v, info))),
            _ => other(Stage::Geometry),
        })
    }

    /// The fragment program.
    ///
    /// # Errors
    /// When it is of another stage.
    pub fn fragment(&self) -> Result<Option<(&Variant, &FragmentInfo)>> {
        self.stages[4].as_deref().map_or(Ok(None), |v| match &v.stage {
            StageInfo::Fragment(info) => Ok(Some((v, info))),
            _ => other(Stage::Fragment),
        })
    }

    /// Outputs that transform feedback captures, of the last stage before the rasteriser.
    pub fn captures(&self) -> &[Capture] {
        let last = self.stages[..4].iter().rev().flatten().next();
        last.map_or(&[], |v| &v.captures)
    }

    /// Outputs of the last stage before the rasteriser.
    ///
    /// # Errors
    /// When a program is of another stage.
    pub fn outputs(&self) -> Result<&VertexOutputs> {
        if let Some((_, info)) = self.geometry()? {
            return Ok(&info.outputs);
        }
        match self.domain()? {
            Some((_, info)) => Ok(&info.outputs),
            None => Ok(&self.vertex()?.1.outputs),
        }
    }
}
