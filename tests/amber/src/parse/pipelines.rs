//! Parses pipelines.

use super::{ObjectKind, Parser};
use crate::Result;
use crate::script::{Binding, Pipeline, PipelineShader, Usage, VertexData};

/// The default size of a framebuffer.
const DEFAULT_PX: u32 = 250;
/// The largest side of a framebuffer.
const MAX_PX: u32 = 4096;

impl Parser<'_> {
    pub(super) fn pipeline(&mut self) -> Result<()> {
        let graphics = match self.words.required("a kind")? {
            "graphics" => true,
            "compute" => false,
            other => return Err(self.words.refused(format!("pipelines of the kind {other}"))),
        };
        let name = self.words.required("a name")?;
        let p = Pipeline {
            graphics,
            stages: Vec::new(),
            bindings: Vec::new(),
            push: None,
            colours: Vec::new(),
            vertex_data: Vec::new(),
            indices: None,
            size_px: [DEFAULT_PX; 2],
        };
        let p = self.body(p)?;
        let number = self.script.pipelines.len();
        self.script.pipelines.push(p);
        self.declare(ObjectKind::Pipeline, name, number)
    }

    pub(super) fn derive(&mut self) -> Result<()> {
        let name = self.words.required("a name")?;
        self.words.expect("FROM")?;
        let from = self.name(ObjectKind::Pipeline)?;
        let p = self.body(self.script.pipelines[from].clone())?;
        let number = self.script.pipelines.len();
        self.script.pipelines.push(p);
        self.declare(ObjectKind::Pipeline, name, number)
    }

    fn body(&mut self, mut p: Pipeline) -> Result<Pipeline> {
        loop {
            match self.words.required("`END`")? {
                "END" => return Ok(p),
                "ATTACH" => self.attach(&mut p)?,
                "BIND" => self.bind(&mut p)?,
                "VERTEX_DATA" => self.vertex_data(&mut p)?,
                "INDEX_DATA" => p.indices = Some(self.name(ObjectKind::Buffer)?),
                "FRAMEBUFFER_SIZE" => {
                    p.size_px = [self.words.read("a width")?, self.words.read("a height")?];
                    if p.size_px.iter().any(|&s| s == 0 || s > MAX_PX) {
                        return Err(self
                            .words
                            .invalid("a framebuffer has 1 to 4096 pixels per side"));
                    }
                }
                // Ignored: all subgroups of this GPU have the same size and are full.
                "SUBGROUP" => while self.words.required("`END`")? != "END" {},
                other => return Err(self.words.refused(format!("pipelines with {other}"))),
            }
        }
    }

    fn attach(&mut self, p: &mut Pipeline) -> Result<()> {
        let shader = self.name(ObjectKind::Shader)?;
        let mut a = PipelineShader { shader, entry: "main".to_owned(), constants: Vec::new() };
        while let Some(word) = self.words.peek() {
            self.words.next();
            match word {
                "ENTRY_POINT" => a.entry = self.words.required("a name")?.to_owned(),
                // The stage again.
                "TYPE" => {
                    self.words.required("a stage")?;
                }
                "SPECIALIZE" => {
                    let id = self.words.read("a number")?;
                    self.words.expect("AS")?;
                    let (element, _) = self.element()?;
                    let element =
                        element.ok_or_else(|| self.words.invalid("a constant is a number"))?;
                    a.constants.push((id, element.scalar.encode(self.words.number()?)));
                }
                other => return Err(self.words.refused(format!("shaders attached with {other}"))),
            }
        }
        p.stages.push(a);
        Ok(())
    }

    fn bind(&mut self, p: &mut Pipeline) -> Result<()> {
        let mut buffers = Vec::new();
        let usage = match self.words.required("what is bound")? {
            "SAMPLER" => Usage::Sampler(self.name(ObjectKind::Sampler)?),
            "BUFFER" | "BUFFER_ARRAY" => {
                while !self.words.accept("AS") {
                    if self.words.peek() == Some("DESCRIPTOR_SET") {
                        return Err(self.words.refused("buffers bound without `AS`"));
                    }
                    buffers.push(self.name(ObjectKind::Buffer)?);
                }
                let Some(&first) = buffers.first() else {
                    return Err(self.words.invalid("nothing is bound"));
                };
                match self.words.required("a use")? {
                    "color" => {
                        self.words.expect("LOCATION")?;
                        let location = self.words.read("a location")?;
                        if self.words.accept("BASE_MIP_LEVEL")
                            && self.words.read::<u32>("a level")? > 0
                        {
                            return Err(self.words.refused("drawing to levels"));
                        }
                        p.colours.retain(|c| c.0 != location);
                        p.colours.push((location, first));
                        return Ok(());
                    }
                    "push_constant" => {
                        p.push = Some(first);
                        return Ok(());
                    }
                    "uniform" => Usage::Uniform,
                    "storage" => Usage::Storage,
                    "sampled_image" => Usage::Sampled,
                    "storage_image" => Usage::StorageImage,
                    "uniform_texel_buffer" => Usage::UniformTexels,
                    "storage_texel_buffer" => Usage::StorageTexels,
                    "combined_image_sampler" => {
                        self.words.expect("SAMPLER")?;
                        Usage::Combined(self.name(ObjectKind::Sampler)?)
                    }
                    other => return Err(self.words.refused(format!("buffers bound as {other}"))),
                }
            }
            other => return Err(self.words.refused(format!("`BIND {other}`"))),
        };
        if buffers.is_empty() {
            buffers.push(usize::MAX);
        }
        self.words.expect("DESCRIPTOR_SET")?;
        let set = self.words.read("a set")?;
        self.words.expect("BINDING")?;
        let binding = self.words.read("a binding")?;
        if let Some(other) = self.words.peek() {
            return Err(self.words.refused(format!("bindings with {other}")));
        }
        p.bindings.retain(|b| (b.slot.0, b.slot.1) != (set, binding));
        for (element, buffer) in (0..).zip(buffers) {
            p.bindings.push(Binding { slot: (set, binding, element), usage, buffer });
        }
        Ok(())
    }

    fn vertex_data(&mut self, p: &mut Pipeline) -> Result<()> {
        let buffer = self.name(ObjectKind::Buffer)?;
        self.words.expect("LOCATION")?;
        let location = self.words.read("a location")?;
        let mut per_instance = false;
        if self.words.accept("RATE") {
            per_instance = self.words.required("a rate")? == "instance";
        }
        if let Some(other) = self.words.peek() {
            return Err(self.words.refused(format!("attributes with {other}")));
        }
        p.vertex_data.push(VertexData { location, buffer, per_instance });
        Ok(())
    }
}
