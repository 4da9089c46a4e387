//! Programs linked from parts: a main part, which is compiled when the shader is created, a prolog that
//! fetches vertex attributes or applies the sample mask, and an epilog that blends and stores colours.
//!
//! Prologs and epilogs depend only on the state and on the interface of the main part, so the device
//! caches them for all shaders. A link then concatenates three pieces of code, fast enough for
//! pipelines from libraries, which may be linked while an application draws.
//! [`tepui_agx_compiler::abi`] has the interface between the parts.

use std::sync::Arc;

use tepui_agx_compiler::abi::tile::{Layout, TARGETS};
use tepui_agx_compiler::abi::{
    Attributes, Beyond, Colours, Fragment, Interface, Prolog, Vertex, VertexResults, parts,
};
use tepui_agx_compiler::varyings::{FragmentTable, VertexTable};
use tepui_agx_compiler::{Options, Program, Table, compile_as, link};
use tepui_ir::{IoLoc, NumKind, Shader as Ir};
use tepui_vulkan::{Result, vk};

use crate::caches::{EpilogKey, FragmentPrologKey, MainKey, PartPrograms, VertexPrologKey};
use crate::shader::{Additions, FragmentKey, Shader, VertexKey, compile_error};

fn compile(mut s: Ir, interface: &Interface) -> tepui_agx_compiler::Result<Arc<Program>> {
    compile_as(&mut s, &Options::default(), interface, &mut |_, _| {}).map(Arc::new)
}

impl PartPrograms {
    fn vertex_prolog(
        &self,
        main: &VertexTable,
        key: &VertexKey,
        beyond: Beyond,
    ) -> tepui_agx_compiler::Result<Option<Arc<Program>>> {
        if main.components == 0 {
            return Ok(None);
        }
        let attributes = key.attributes.iter().take(usize::from(main.attributes));
        let attributes: Vec<_> = attributes.copied().collect();
        let key = VertexPrologKey { attributes, components: main.components, beyond };
        let make = || {
            let interface = Vertex {
                attributes: Attributes::Fetch(key.attributes.clone()),
                results: VertexResults::Registers,
                beyond,
                ..Vertex::default()
            };
            compile(parts::vertex_prolog(main), &Interface::Vertex(interface))
        };
        self.vertex_prologs.get_or(&key, make).map(Some)
    }

    fn fragment_prolog(
        &self,
        main: &FragmentTable,
        prolog: Prolog,
    ) -> tepui_agx_compiler::Result<Option<Arc<Program>>> {
        if prolog == Prolog::default() {
            return Ok(None);
        }
        let key = FragmentPrologKey { prolog, first_coefficient: main.registers() };
        let make = || {
            let interface = Fragment {
                colours: Colours::None,
                first_coefficient: key.first_coefficient,
                ..Fragment::default()
            };
            compile(parts::fragment_prolog(prolog), &Interface::Fragment(interface))
        };
        self.fragment_prologs.get_or(&key, make).map(Some)
    }

    /// The epilog after a prolog and a main part whose combined table is `first`.
    fn epilog(
        &self,
        first: &FragmentTable,
        kinds: [NumKind; TARGETS],
        key: &FragmentKey,
    ) -> tepui_agx_compiler::Result<Arc<Program>> {
        let behind = FragmentTable {
            coefficients: Vec::new(),
            writes_memory: false,
            reads_lanes: false,
            reads_tile: false,
            writes_tile: false,
            ..first.clone()
        };
        let key = EpilogKey { behind, kinds, tile: key.tile.clone(), per_sample: key.per_sample };
        let make = || {
            let interface = Fragment {
                behind: Some(key.behind.clone()),
                colours: Colours::Tile(Box::new(key.tile.clone())),
                per_sample: key.per_sample,
                ..Fragment::default()
            };
            compile(parts::fragment_epilog(&key.behind, &kinds), &Interface::Fragment(interface))
        };
        self.epilogs.get_or(&key, make)
    }
}

/// Number formats of the fragment shader's colours, by location.
fn kinds(ir: &Ir) -> [NumKind; TARGETS] {
    let mut kinds = [NumKind::Float; TARGETS];
    for d in &ir.outputs {
        if let IoLoc::Location(n) = d.slot.loc
            && let Some(k) = kinds.get_mut(usize::from(n))
        {
            *k = d.slot.kind;
        }
    }
    kinds
}

impl Shader {
    /// Compiles the main part that a state asks for, before anybody draws with it: a library, or a pipeline without its dynamic state.
    ///
    /// # Errors
    /// When only programs of a cache are wanted and it is in none.
    pub fn prepare(&self, state: &tepui_vulkan::state::GraphicsState) -> Result<()> {
        let key = match self.ir.info.stage {
            tepui_ir::Stage::Compute
            | tepui_ir::Stage::TessControl
            | tepui_ir::Stage::TessEvaluation
            | tepui_ir::Stage::Geometry => return Ok(()),
            tepui_ir::Stage::Vertex => MainKey::Vertex {
                multiview: state.view_mask != 0,
                negative_one_to_one: state.negative_one_to_one,
            },
            tepui_ir::Stage::Fragment => {
                let shades_samples = crate::shader::shades_samples(state, state.samples as u8);
                MainKey::Fragment {
                    per_sample: shades_samples,
                    whole_coverage: !shades_samples,
                    additions: Additions::default(),
                }
            }
        };
        self.main(key).map(drop)
    }

    /// Whether a main part is compiled.
    pub fn is_prepared(&self) -> bool {
        !self.mains.0.is_empty()
    }

    /// A main part; nothing if the shader cannot be compiled as one.
    fn main(&self, key: MainKey) -> Result<Option<Arc<Program>>> {
        let mains = &self.mains.0;
        if let Some(p) = mains.get(&key) {
            return Ok(Some(p));
        }
        if matches!(key, MainKey::Vertex { .. }) && self.indexes_attributes {
            return Ok(None);
        }
        let made = match key {
            MainKey::Vertex { multiview, negative_one_to_one } => self.program(
                &Interface::Vertex(Vertex { multiview, negative_one_to_one, ..Vertex::default() }),
                Additions::default(),
            ),
            MainKey::Fragment { per_sample, whole_coverage, additions } => self.program(
                &Interface::Fragment(Fragment {
                    per_sample,
                    whole_coverage,
                    ..Fragment::default()
                }),
                additions,
            ),
        };
        let p = match made {
            Ok(p) => Arc::new(p),
            Err(e) if e.code == vk::Result::PIPELINE_COMPILE_REQUIRED => return Err(e),
            // It may compile as a monolithic program, or that reports the error.
            Err(_) => return Ok(None),
        };
        mains.get_or(&key, || Ok(p)).map(Some)
    }

    /// A vertex program out of parts; nothing if it has to be compiled as one.
    pub(crate) fn vertex_parts(&self, key: &VertexKey) -> Result<Option<Program>> {
        if key.results != crate::shader::Results::Store {
            return Ok(None);
        }
        let main = self.main(MainKey::Vertex {
            multiview: key.multiview,
            negative_one_to_one: key.negative_one_to_one,
        })?;
        let Some(main) = main else { return Ok(None) };
        let Table::Vertex(table) = &main.table else { return Ok(None) };
        let device = self.device()?;
        let linked = device
            .part_programs
            .vertex_prolog(table, key, self.beyond(key, &device))
            .and_then(|prolog| link::vertex(prolog.as_deref(), &main));
        linked.map(Some).map_err(|e| compile_error(&e))
    }

    /// A fragment program out of parts; nothing if it has to be compiled as one.
    pub(crate) fn fragment_parts(&self, key: &FragmentKey) -> Result<Option<Program>> {
        // A main part does not know where the tile holds what it reads, and epilogs have no descriptors.
        let spills = Layout::new(&key.tile).is_ok_and(|l| l.spilled != 0);
        // Alpha to coverage changes the tests, which parts may have run already.
        let covers = key.tile.blend.alpha_to_coverage;
        if spills || covers || key.tile.attachments.iter().any(Option::is_some) {
            return Ok(None);
        }
        let main = self.main(MainKey::Fragment {
            per_sample: key.per_sample && !key.whole_coverage,
            whole_coverage: key.whole_coverage,
            additions: key.additions,
        })?;
        let Some(main) = main else { return Ok(None) };
        let Table::Fragment(table) = &main.table else { return Ok(None) };
        let device = self.device()?;
        let parts = &device.part_programs;
        let linked = parts.fragment_prolog(table, key.prolog).and_then(|prolog| {
            let before = match prolog.as_deref().map(|p| &p.table) {
                Some(Table::Fragment(t)) => t.before(table),
                _ => table.clone(),
            };
            let epilog = parts.epilog(&before, kinds(&self.ir), key)?;
            link::fragment(prolog.as_deref(), &main, &epilog, key.tile.samples)
        });
        linked.map(Some).map_err(|e| compile_error(&e))
    }
}
