//! The interface between vertex and fragment shaders: the words of the vertex store, and
//! coefficient registers.
//!
//! A vertex is a sequence of 32-bit words: position, varyings, point size, layer and viewport, clip
//! distances. The hardware wants smooth varyings first, then flat, then linear ones, but only the
//! fragment shader knows which are which. A vertex shader that is compiled separately therefore
//! takes the first word of each varying from a uniform register, which [`crate::link`] computes,
//! unless its outputs say how they are interpolated (`linked`).
//!
//! A fragment shader reads coefficient registers: plane equations over the screen, one for each
//! word of a varying that it reads. It chooses their numbers and reports which value each must
//! hold. source: Mesa's docs/drivers/asahi.rst, "Hardware varyings"; agx_uvs.h

use serde::{Deserialize, Serialize};
use std::fmt;

/// A varying: something that vertices write and fragments read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Varying {
    /// A location of the API, up to four words.
    Location(u16),
    /// Clip distances, for fragments that read them.
    ClipDistances,
    /// Cull distances, for fragments that read them.
    CullDistances,
    /// 1.0 for each cull distance that does not cull, else 0.0; linear. Fragments where it is 0.0
    /// all over the primitive end.
    Kept,
    /// The viewport's number, for fragments that read it.
    Viewport,
}

impl fmt::Display for Varying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Varying::Location(n) => write!(f, "location {n}"),
            Varying::ClipDistances => f.write_str("clip distances"),
            Varying::CullDistances => f.write_str("cull distances"),
            Varying::Kept => f.write_str("cull tests"),
            Varying::Viewport => f.write_str("viewport"),
        }
    }
}

/// Interpolation class of a varying.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shading {
    /// With perspective.
    Smooth,
    /// The provoking vertex's value.
    Flat,
    /// Linear on the screen.
    Linear,
}

impl Shading {
    /// All, in the order of a vertex.
    pub const ALL: [Shading; 3] = [Shading::Smooth, Shading::Flat, Shading::Linear];

    /// The class of a vertex's word, given the numbers of words of each class.
    pub(crate) fn at([smooth, flat, _]: [u16; 3], word: u16) -> Shading {
        match word - POSITION_WORDS.min(word) {
            w if w < smooth => Shading::Smooth,
            w if w < smooth + flat => Shading::Flat,
            _ => Shading::Linear,
        }
    }
}

impl fmt::Display for Shading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Shading::Smooth => "smooth",
            Shading::Flat => "flat",
            Shading::Linear => "linear",
        })
    }
}

/// Words of the position.
pub const POSITION_WORDS: u16 = 4;

/// The outputs of a vertex shader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VertexTable {
    /// Varyings in order, with their words.
    pub varyings: Vec<(Varying, u16)>,
    /// A point size.
    pub point_size: bool,
    /// A layer.
    pub layer: bool,
    /// A viewport.
    pub viewport: bool,
    /// Clip distances.
    pub clip_distances: u8,
    /// Attributes that have a place in registers and uniforms: one more than the largest location
    /// that is read.
    pub attributes: u8,
    /// Components of attributes that are read: bit 4 n + c for component c of location n.
    pub components: u128,
    /// First word of each varying, if the compiler knew it.
    pub fixed: Option<Vec<(Varying, u16)>>,
    /// Words of smooth, flat and linear varyings, if the compiler knew the class of each.
    pub classes: Option<[u16; 3]>,
}

impl VertexTable {
    /// Words of all varyings.
    #[must_use]
    pub fn varying_words(&self) -> u16 {
        self.varyings.iter().map(|v| v.1).sum()
    }

    /// Word of the point size.
    #[must_use]
    pub fn point_size_at(&self) -> u16 {
        POSITION_WORDS + self.varying_words()
    }

    /// Word of the layer (low half) and the viewport (high half).
    #[must_use]
    pub fn target_at(&self) -> u16 {
        self.point_size_at() + u16::from(self.point_size)
    }

    /// Word of the first clip distance.
    #[must_use]
    pub fn clip_at(&self) -> u16 {
        self.target_at() + u16::from(self.layer || self.viewport)
    }

    /// Words of a vertex.
    #[must_use]
    pub fn words(&self) -> u16 {
        self.clip_at() + u16::from(self.clip_distances)
    }

    /// Words of smooth, flat and linear varyings when fragments shade them so; those that no fragment reads count as smooth.
    #[must_use]
    pub fn words_by_class(&self, shading: impl Fn(Varying) -> Shading) -> [u16; 3] {
        Shading::ALL
            .map(|class| self.varyings.iter().filter(|v| shading(v.0) == class).map(|v| v.1).sum())
    }

    /// Fixes the places of varyings that are shaded so.
    pub fn fix(&mut self, shading: impl Fn(Varying) -> Shading) {
        self.fixed = Some(self.places(&shading));
        self.classes = Some(self.words_by_class(shading));
    }

    /// First word of each varying for these classes: smooth ones first, then flat, then linear. Unread
    /// varyings count as smooth.
    #[must_use]
    pub fn places(&self, shading: impl Fn(Varying) -> Shading) -> Vec<(Varying, u16)> {
        let mut at = POSITION_WORDS;
        let mut out = Vec::with_capacity(self.varyings.len());
        for class in Shading::ALL {
            for &(v, words) in self.varyings.iter().filter(|v| shading(v.0) == class) {
                out.push((v, at));
                at += words;
            }
        }
        out
    }
}

/// The source of coefficient registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// 1/w.
    W,
    /// The depth.
    Z,
    /// Words of a varying.
    Varying {
        /// The varying.
        varying: Varying,
        /// Its first word.
        component: u8,
    },
    /// The coordinate within a point.
    PointCoord,
    /// The primitive's number.
    PrimitiveId,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::W => f.write_str("1/w"),
            Origin::Z => f.write_str("depth"),
            Origin::Varying { varying, component } => write!(f, "{varying} component {component}"),
            Origin::PointCoord => f.write_str("point coordinates"),
            Origin::PrimitiveId => f.write_str("primitive number"),
        }
    }
}

/// Consecutive coefficient registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Coefficients {
    /// The first register.
    pub first: u8,
    /// Number of components, 1 to 4.
    pub count: u8,
    /// Their class.
    pub shading: Shading,
    /// Their source.
    pub origin: Origin,
}

/// The inputs and effects of a fragment shader, prolog or epilog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FragmentTable {
    /// Coefficient registers, ascending.
    pub coefficients: Vec<Coefficients>,
    /// Colours that are written: a bit for each location. The second colour of a blend with two
    /// sources counts as location 1.
    pub colours: u8,
    /// Bit mask of the locations that equal the first one and have no registers for an epilog.
    pub copies: u8,
    /// Location 0 has two colours.
    pub dual_source: bool,
    /// A depth is left in registers for an epilog.
    pub depth: bool,
    /// A stencil value is left in registers for an epilog.
    pub stencil: bool,
    /// A mask of the samples whose colours are written is left in registers for an epilog.
    pub write_mask: bool,
    /// Samples are discarded.
    pub kills: bool,
    /// The program decides the fate of samples, so that no test may run before it.
    pub decides: bool,
    /// The program has run the tests, and later programs must not.
    pub tested: bool,
    /// Memory is written.
    pub writes_memory: bool,
    /// Runs once for each sample.
    pub per_sample: bool,
    /// Colours of the tile are read or written in part.
    pub reads_tile: bool,
    /// Colours of the tile are written.
    pub writes_tile: bool,
    /// Other lanes are looked at, so that quads of several primitives must not share one.
    pub reads_lanes: bool,
}

impl FragmentTable {
    /// Coefficient registers in use.
    #[must_use]
    pub fn registers(&self) -> u8 {
        self.coefficients.iter().map(|c| c.first + c.count).max().unwrap_or(0)
    }

    /// The depth is interpolated.
    #[must_use]
    pub fn reads_z(&self) -> bool {
        self.coefficients.iter().any(|c| c.origin == Origin::Z)
    }

    /// The class of a varying; `None` if it is not read.
    #[must_use]
    pub fn shading(&self, v: Varying) -> Option<Shading> {
        self.coefficients.iter().find_map(|c| match c.origin {
            Origin::Varying { varying, .. } if varying == v => Some(c.shading),
            _ => None,
        })
    }
}

/// The information that linking needs about a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// Compute shaders have none.
    #[default]
    None,
    /// A vertex shader's.
    Vertex(VertexTable),
    /// A fragment shader's.
    Fragment(FragmentTable),
}

impl fmt::Display for VertexTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# vertex store, {} words:", self.words())?;
        writeln!(f, "#   0  position")?;
        for &(v, words) in &self.varyings {
            let at = self.fixed.as_ref().and_then(|p| p.iter().find(|p| p.0 == v));
            let at = at.map_or_else(|| "?".to_owned(), |p| p.1.to_string());
            writeln!(f, "#   {at}  {v}, {words} words")?;
        }
        if self.point_size {
            writeln!(f, "#   {}  point size", self.point_size_at())?;
        }
        if self.layer || self.viewport {
            writeln!(f, "#   {}  layer and viewport", self.target_at())?;
        }
        if self.clip_distances > 0 {
            writeln!(f, "#   {}  clip distances, {} words", self.clip_at(), self.clip_distances)?;
        }
        Ok(())
    }
}

impl fmt::Display for FragmentTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.coefficients.is_empty() {
            writeln!(f, "# coefficient registers:")?;
        }
        for c in &self.coefficients {
            write!(f, "#   cf{}", c.first)?;
            if c.count > 1 {
                write!(f, " to cf{}", c.first + c.count - 1)?;
            }
            writeln!(f, "  {}, {}", c.origin, c.shading)?;
        }
        let mut does = Vec::new();
        for (yes, what) in [
            (self.kills, "kills samples"),
            (self.decides, "decides about samples"),
            (self.tested, "runs the tests first"),
            (self.depth, "leaves a depth"),
            (self.stencil, "leaves a stencil value"),
            (self.write_mask, "leaves a write mask"),
            (self.writes_memory, "writes memory"),
            (self.reads_tile, "reads the tile"),
            (self.reads_lanes, "looks at other lanes"),
            (self.per_sample, "runs for each sample"),
        ] {
            if yes {
                does.push(what);
            }
        }
        if !does.is_empty() {
            writeln!(f, "# {}", does.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Table::None => Ok(()),
            Table::Vertex(t) => t.fmt(f),
            Table::Fragment(t) => t.fmt(f),
        }
    }
}
