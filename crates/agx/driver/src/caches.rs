//! Caches of compiled programs: main parts of shaders, prologs and epilogs, programs of tiles, and the driver's own programs. What fills
//! them is in [`crate::parts`], [`crate::tile`] and [`crate::meta`].

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use tepui_agx_compiler::Program;
use tepui_agx_compiler::abi::attribute::Attribute;
use tepui_agx_compiler::abi::tile::{TARGETS, Tile};
use tepui_agx_compiler::abi::{Beyond, Prolog};
use tepui_agx_compiler::varyings::FragmentTable;
use tepui_ir::NumKind;
use tepui_vulkan_kit::Variants;

use crate::code::Code;
use crate::meta::program::Program as MetaProgram;
use crate::shader::{Additions, Shader, Variant};

/// Key of a main part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MainKey {
    Vertex { multiview: bool, negative_one_to_one: bool },
    Fragment { per_sample: bool, whole_coverage: bool, additions: Additions },
}

/// The main parts of a shader.
#[derive(Default)]
pub struct Mains(pub(crate) Variants<MainKey, Arc<Program>>);

/// Key of a vertex prolog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct VertexPrologKey {
    pub(crate) attributes: Vec<Option<Attribute>>,
    /// Components that are read, as in [`VertexTable`].
    pub(crate) components: u128,
    pub(crate) beyond: Beyond,
}

/// Key of a fragment prolog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FragmentPrologKey {
    pub(crate) prolog: Prolog,
    pub(crate) first_coefficient: u8,
}

/// Key of an epilog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EpilogKey {
    /// The main part's table, without fields that an epilog ignores.
    pub(crate) behind: FragmentTable,
    pub(crate) kinds: [NumKind; TARGETS],
    pub(crate) tile: Tile,
    pub(crate) per_sample: bool,
}

/// Programs by what they are made for.
pub(crate) type Kept<K> = Variants<K, Arc<Program>>;

/// The prologs and epilogs of a device.
#[derive(Default)]
pub struct PartPrograms {
    pub(crate) vertex_prologs: Kept<VertexPrologKey>,
    pub(crate) fragment_prologs: Kept<FragmentPrologKey>,
    pub(crate) epilogs: Kept<EpilogKey>,
}

/// Initialisation of a colour before the first fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Before {
    /// None.
    Nothing,
    /// It is cleared to driver words 4 n to 4 n + 3.
    Clear,
    /// It is loaded from texture state.
    Load,
}

/// Key of a background program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BackgroundKey {
    pub(crate) formats: [Option<i32>; TARGETS],
    pub(crate) samples: u8,
    pub(crate) before: [Before; TARGETS],
}

/// Key of an end-of-tile program: formats, samples, and a mask of the stored colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EndKey {
    pub(crate) formats: [Option<i32>; TARGETS],
    pub(crate) samples: u8,
    pub(crate) stored: u8,
}

/// Programs of tiles by what they are made for.
#[derive(Default)]
pub struct TilePrograms {
    pub(crate) background: Mutex<FxHashMap<BackgroundKey, Arc<Variant>>>,
    pub(crate) end: Mutex<FxHashMap<EndKey, Arc<Code>>>,
}

/// The driver's own programs, made when they are first used.
#[derive(Default)]
pub struct Meta(pub(crate) Variants<MetaProgram, Arc<Shader>>);
