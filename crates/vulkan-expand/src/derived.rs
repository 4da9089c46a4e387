//! Shaders and programs that follow from a shader of the application.

use std::sync::{Arc, OnceLock};

use tepui_expand::outline::{self, Outlines};
use tepui_expand::{Emission, Expansion, Record, gather, pull};
use tepui_ir::{Builtin, Capture, IoLoc, PrimitiveKind};
use tepui_vulkan::feedback::MAX_FEEDBACK;
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_kit::Variants;

use crate::launch::ExpandShader;

/// Way in which a shader follows from another: part of its key in caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Derivation {
    /// Vertex shader that fetches what a geometry shader left; whether without the size of points.
    Pull(bool),
    /// Evaluation shader as a vertex shader; whether it passes on the number of the patch.
    Evaluated(Expansion, bool),
    /// Geometry shader that passes on such primitives, or their outlines.
    PassedOn(PrimitiveKind, Option<Outlines>),
    /// Geometry shader whose triangles become their outlines.
    Outlined(Outlines),
    /// Program that counts the primitives of a geometry shader.
    CountEmitted(Gathered),
    /// Program that stores the primitives of a geometry shader.
    StoreEmitted(Gathered),
}

impl Derivation {
    /// Whether the shader has the descriptors of the one that it follows from.
    #[must_use]
    pub fn has_descriptors(self) -> bool {
        matches!(self, Derivation::Evaluated(..) | Derivation::Outlined(_))
    }
}

/// Key of the programs of transform feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gathered {
    /// A stream of the geometry shader.
    pub stream: u32,
    /// Index of the stream's index list.
    pub list: u32,
    /// The last vertex of a primitive is the provoking one.
    pub last: bool,
}

/// Shaders and programs that follow from a shader, made when they are first used.
pub struct Derived<S: ExpandShader> {
    pull: [OnceLock<Arc<S>>; 2],
    evaluated: Variants<(Expansion, bool), Arc<S>>,
    passed_on: Variants<(PrimitiveKind, Option<Outlines>), Arc<S>>,
    outlined: Variants<Outlines, Arc<S>>,
    gather: Variants<Gathered, [S::Program; 2]>,
}

impl<S: ExpandShader> Default for Derived<S> {
    fn default() -> Self {
        Derived {
            pull: Default::default(),
            evaluated: Variants::default(),
            passed_on: Variants::default(),
            outlined: Variants::default(),
            gather: Variants::default(),
        }
    }
}

/// The vertex shader that fetches what a geometry shader leaves in memory; `no_size` says that it leaves no size of points there.
pub(crate) fn pull<S: ExpandShader>(of: &S, no_size: bool) -> Result<Arc<S>> {
    let slot = &of.derived().pull[usize::from(no_size)];
    if let Some(s) = slot.get() {
        return Ok(s.clone());
    }
    let from = of.ir();
    let record = Record::of_vertices(from);
    let mut outputs = pull::outputs(from);
    outputs.retain(|o| !no_size || o.0.loc != IoLoc::Builtin(Builtin::PointSize));
    let mut ir = pull::vertex_shader(&record, &outputs);
    ir.info.linked = from.info.linked;
    let shader = of.derive(ir, &Derivation::Pull(no_size))?;
    Ok(slot.get_or_init(|| Arc::new(shader)).clone())
}

/// An evaluation shader as the vertex shader that the hardware runs; `numbered` says that it passes on the number of the patch.
pub(crate) fn evaluated<S: ExpandShader>(
    of: &S,
    expansion: &Expansion,
    numbered: bool,
) -> Result<Arc<S>> {
    of.derived().evaluated.get_or(&(*expansion, numbered), || {
        let mut ir = of.ir().clone();
        tepui_expand::evaluate(&mut ir, expansion, numbered).map_err(|e| {
            Error::new(vk::Result::ERROR_FEATURE_NOT_PRESENT, format!("the compiler: {e}"))
        })?;
        of.derive(ir, &Derivation::Evaluated(*expansion, numbered)).map(Arc::new)
    })
}

/// The geometry shader of draws with a stage as the last that have none, but need one for such primitives.
pub(crate) fn passed_on<S: ExpandShader>(
    of: &S,
    input: PrimitiveKind,
    outlines: Option<Outlines>,
) -> Result<Arc<S>> {
    of.derived().passed_on.get_or(&(input, outlines), || {
        let mut ir = pull::passing_on(input, &pull::outputs(of.ir()));
        ir.captures = of.ir().captures.clone();
        if let Some(outlines) = &outlines {
            outline::run(&mut ir, outlines);
        }
        of.derive(ir, &Derivation::PassedOn(input, outlines)).map(Arc::new)
    })
}

/// A geometry shader that emits the outlines of its triangles.
pub(crate) fn outlined<S: ExpandShader>(of: &S, outlines: Outlines) -> Result<Arc<S>> {
    of.derived().outlined.get_or(&outlines, || {
        let mut ir = of.ir().clone();
        outline::run(&mut ir, &outlines);
        of.derive(ir, &Derivation::Outlined(outlines)).map(Arc::new)
    })
}

/// The programs that count what a geometry shader emits and store what it captures.
pub(crate) fn gather<S: ExpandShader>(
    of: &S,
    what: Gathered,
    lanes: u32,
) -> Result<[S::Program; 2]> {
    of.derived().gather.get_or(&what, || {
        let (record, emission) = (Record::of_vertices(of.ir()), Emission::of(of.ir()));
        let Gathered { stream, list, last } = what;
        let captures: Vec<Capture> =
            of.ir().captures.iter().filter(|c| c.stream == stream).cloned().collect();
        let count = gather::count(&emission, list, lanes);
        let count = of.derive(count, &Derivation::CountEmitted(what))?.compute_program()?;
        let store = gather::shader(&captures, &record, &emission, list, last, lanes);
        let store = of.derive(store, &Derivation::StoreEmitted(what))?.compute_program()?;
        Ok([count, store])
    })
}

/// Bytes between captured vertices of a stream, by buffer.
#[must_use]
pub fn strides<S: ExpandShader>(of: &S, stream: u32) -> [u32; MAX_FEEDBACK] {
    let mut strides = [0; MAX_FEEDBACK];
    for c in of.ir().captures.iter().filter(|c| c.stream == stream) {
        if let Some(stride) = strides.get_mut(c.buffer as usize) {
            *stride = c.stride;
        }
    }
    strides
}
