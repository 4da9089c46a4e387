//! Compiles both programs of a draw from a pair of shaders, in each way that a driver could.

use tepui_agx_compiler::abi::attribute::Attribute;
use tepui_agx_compiler::abi::tile::Tile;
use tepui_agx_compiler::abi::{self, Attributes, Colours, Interface, VertexResults, parts};
use tepui_agx_compiler::{LinkError, Options, Program, Result, Table, compile_as, link};
use tepui_ir::{IoLoc, NumKind, Shader, Stage};

/// Mode of compiling and linking programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linking {
    /// One program for each stage, compiled with knowledge of the other stage.
    Monolithic,
    /// Prolog, main and epilog compiled separately and linked.
    Separate,
}

/// The pipeline state that a pair of shaders is compiled for.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// The vertex shader.
    pub vertex: &'a Shader,
    /// The fragment shader.
    pub fragment: &'a Shader,
    /// The render targets.
    pub tile: &'a Tile,
    /// Attributes by location.
    pub attributes: &'a [Option<Attribute>],
    /// Handling of attributes past the end of their buffer.
    pub beyond: abi::Beyond,
    /// Fragment state of the pipeline.
    pub prolog: abi::Prolog,
    /// The draw is repeated for each view.
    pub multiview: bool,
}

impl Pair<'_> {
    /// The vertex and the fragment program. Registers and machine IR are checked.
    ///
    /// # Errors
    /// When a shader needs what is not compiled, or the stages do not fit together.
    pub fn programs(&self, linking: Linking) -> Result<(Program, Program)> {
        match linking {
            Linking::Monolithic => self.monolithic(),
            Linking::Separate => Ok((self.vertex_parts()?, self.fragment_parts()?)),
        }
    }

    fn fetch(&self) -> Attributes {
        Attributes::Fetch(self.attributes.to_vec())
    }

    fn colours(&self) -> Colours {
        Colours::Tile(Box::new(self.tile.clone()))
    }

    fn monolithic(&self) -> Result<(Program, Program)> {
        let fragment = abi::Fragment {
            colours: self.colours(),
            prolog: self.prolog,
            ..abi::Fragment::default()
        };
        let f = compile(self.fragment, &Interface::Fragment(fragment))?;
        let results = VertexResults::StoreFor(fragment_table(&f)?.clone());
        let vertex = abi::Vertex {
            attributes: self.fetch(),
            results,
            multiview: self.multiview,
            beyond: self.beyond,
            ..abi::Vertex::default()
        };
        Ok((compile(self.vertex, &Interface::Vertex(vertex))?, f))
    }

    fn vertex_parts(&self) -> Result<Program> {
        let main = abi::Vertex { multiview: self.multiview, ..abi::Vertex::default() };
        let main = compile(self.vertex, &Interface::Vertex(main))?;
        let Table::Vertex(t) = &main.table else {
            return Err(LinkError::NotVertex.into());
        };
        let prolog = abi::Vertex {
            attributes: self.fetch(),
            results: VertexResults::Registers,
            beyond: self.beyond,
            ..abi::Vertex::default()
        };
        let prolog = compile(&parts::vertex_prolog(t), &Interface::Vertex(prolog))?;
        link::vertex(Some(&prolog), &main)
    }

    fn fragment_parts(&self) -> Result<Program> {
        let main = compile(self.fragment, &Interface::main(Stage::Fragment))?;
        let mut table = fragment_table(&main)?.clone();
        let mut kinds = [NumKind::Float; 8];
        for d in &self.fragment.outputs {
            if let IoLoc::Location(n @ 0..8) = d.slot.loc {
                kinds[usize::from(n)] = d.slot.kind;
            }
        }
        let mut prolog = None;
        if self.prolog != abi::Prolog::default() {
            let interface = abi::Fragment {
                colours: Colours::None,
                first_coefficient: table.registers(),
                ..abi::Fragment::default()
            };
            let shader = parts::fragment_prolog(self.prolog);
            let p = compile(&shader, &Interface::Fragment(interface))?;
            table = fragment_table(&p)?.before(&table);
            prolog = Some(p);
        }
        let interface = abi::Fragment {
            behind: Some(table.clone()),
            colours: self.colours(),
            ..abi::Fragment::default()
        };
        let epilog =
            compile(&parts::fragment_epilog(&table, &kinds), &Interface::Fragment(interface))?;
        link::fragment(prolog.as_ref(), &main, &epilog, self.tile.samples)
    }
}

/// A part as a driver's cache gives it back: without the places of its instructions in the source.
fn compile(s: &Shader, interface: &Interface) -> Result<Program> {
    let options = Options { check: true, ..Options::default() };
    let mut part = compile_as(&mut s.clone(), &options, interface, &mut |_, _| {})?;
    part.locs.clear();
    Ok(part)
}

fn fragment_table(p: &Program) -> Result<&tepui_agx_compiler::varyings::FragmentTable> {
    match &p.table {
        Table::Fragment(t) => Ok(t),
        _ => Err(LinkError::NotFragment.into()),
    }
}
