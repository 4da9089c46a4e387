//! Runs the commands of a script on an engine.

use std::path::Path;
use std::sync::Arc;

use tepui_ir::interp::SamplerData;

use crate::content::Content;
use crate::script::{Binding, Command, Pipeline, Script, Stage, Topology, VertexData, Work};
use crate::{Error, Refusal, Result, assemble, check};

/// Limit on the jobs of a script.
const MAX_JOBS: usize = 1 << 16;

/// The shader module of a stage.
#[derive(Clone, Debug)]
pub struct Code {
    /// The stage.
    pub stage: Stage,
    /// The module.
    pub words: Arc<Vec<u32>>,
    /// Its entry point.
    pub entry: String,
    /// Specialisation constants: id and bits.
    pub constants: Vec<(u32, u64)>,
}

/// The vertices of a draw.
#[derive(Clone, Debug)]
pub struct Vertices {
    /// Primitive topology.
    pub topology: Topology,
    /// The first vertex or index.
    pub first: u32,
    /// Number of vertices or indices.
    pub count: u32,
    /// Number of instances.
    pub instances: u32,
    /// The index buffer.
    pub indices: Option<usize>,
    /// Attributes.
    pub data: Vec<VertexData>,
    /// Positions of the vertices at location 0, instead of attributes.
    pub corners: Option<Vec<[f32; 2]>>,
}

/// A dispatch or draw for an engine.
#[derive(Clone, Debug)]
pub struct Job {
    /// Modules of the stages.
    pub stages: Vec<Code>,
    /// Push constants.
    pub push: Vec<u8>,
    /// Resource bindings.
    pub bindings: Vec<Binding>,
    /// The samplers.
    pub samplers: Vec<SamplerData>,
    /// Workgroups of a compute shader.
    pub groups: [u32; 3],
    /// Vertices of a draw.
    pub vertices: Option<Vertices>,
    /// Colour attachments: location and buffer.
    pub colours: Vec<(u32, usize)>,
    /// Width and height of the framebuffer.
    pub size_px: [u32; 2],
}

/// An engine that runs dispatches and draws.
pub trait Engine {
    /// Runs a job on the buffers.
    ///
    /// # Errors
    /// The job is not supported or fails.
    fn run(&mut self, job: &Job, buffers: &mut [Content]) -> std::result::Result<(), Refusal>;
}

/// A running script.
pub struct Runner<'a> {
    script: &'a Script,
    modules: Vec<Option<Arc<Vec<u32>>>>,
    buffers: Vec<Content>,
    clear: Vec<[f32; 4]>,
    jobs: usize,
}

impl<'a> Runner<'a> {
    /// Assembles the shaders and stores them in `cache`.
    ///
    /// # Errors
    /// A shader does not assemble.
    pub fn new(script: &'a Script, cache: &Path) -> Result<Runner<'a>> {
        let mut modules = vec![None; script.shaders.len()];
        for a in script.pipelines.iter().flat_map(|p| &p.stages) {
            if modules[a.shader].is_none() {
                let words = assemble::words(&script.shaders[a.shader], cache);
                modules[a.shader] = Some(Arc::new(words.map_err(|e| e.at(1))?));
            }
        }
        let content = |b: &crate::script::Buffer| Content {
            element: b.element,
            texels: b.texels,
            bytes: b.bytes.clone(),
        };
        Ok(Runner {
            script,
            modules,
            buffers: script.buffers.iter().map(content).collect(),
            clear: vec![[0.0; 4]; script.pipelines.len()],
            jobs: 0,
        })
    }

    /// Runs the script.
    ///
    /// # Errors
    /// The first expectation that does not hold, or the first command that cannot run.
    pub fn run(&mut self, engine: &mut dyn Engine) -> Result<()> {
        self.steps(&self.script.commands, engine)
    }

    fn steps(&mut self, steps: &[(usize, Command)], engine: &mut dyn Engine) -> Result<()> {
        for (line, command) in steps {
            self.step(*line, command, engine)?;
        }
        Ok(())
    }

    fn step(&mut self, line: usize, command: &Command, engine: &mut dyn Engine) -> Result<()> {
        match command {
            Command::ClearColour(pipeline, colour) => self.clear[*pipeline] = *colour,
            Command::Clear(pipeline) => self.clear(*pipeline, line)?,
            Command::Run(pipeline, work) => {
                self.jobs += 1;
                if self.jobs > MAX_JOBS {
                    let what = format!("more than {MAX_JOBS} runs");
                    return Err(Error::Refused { line, what });
                }
                let job = self.job(&self.script.pipelines[*pipeline], work);
                engine.run(&job, &mut self.buffers).map_err(|e| e.at(line))?;
            }
            Command::Expect(buffer, expected) => {
                let at = |r: std::result::Result<(), String>| {
                    r.map_err(|what| {
                        let what = format!("`{}`: {what}", self.script.buffers[*buffer].name);
                        Error::Failed { line, what }
                    })
                };
                at(check::holds(&self.buffers[*buffer], expected, &self.buffers))?;
            }
            Command::Copy(from, to) => {
                let bytes = self.buffers[*from].bytes.clone();
                self.buffers[*to].bytes = bytes;
            }
            Command::Repeat(n, inner) => {
                for _ in 0..*n {
                    self.steps(inner, engine)?;
                }
            }
        }
        Ok(())
    }

    fn clear(&mut self, pipeline: usize, line: usize) -> Result<()> {
        for &(_, buffer) in &self.script.pipelines[pipeline].colours {
            let content = &mut self.buffers[buffer];
            let Some(t) = content.texels else { continue };
            let texel = check::texel(t.format, self.clear[pipeline]);
            let texel = texel
                .ok_or_else(|| Error::Refused { line, what: format!("clearing {}", t.format) })?;
            for place in content.bytes.chunks_exact_mut(texel.len()) {
                place.copy_from_slice(&texel);
            }
        }
        Ok(())
    }

    fn job(&self, p: &Pipeline, work: &Work) -> Job {
        let code = |a: &crate::script::PipelineShader| Code {
            stage: self.script.shaders[a.shader].stage,
            words: self.modules[a.shader].clone().unwrap_or_default(),
            entry: a.entry.clone(),
            constants: a.constants.clone(),
        };
        let mut job = Job {
            stages: p.stages.iter().map(code).collect(),
            push: p.push.map_or_else(Vec::new, |b| self.buffers[b].bytes.clone()),
            bindings: p.bindings.clone(),
            samplers: self.script.samplers.clone(),
            groups: [0; 3],
            vertices: None,
            colours: p.colours.clone(),
            size_px: p.size_px,
        };
        match work {
            Work::Groups(groups) => job.groups = *groups,
            Work::Vertices(topology, corners) => {
                job.vertices = Some(Vertices {
                    topology: *topology,
                    first: 0,
                    count: corners.len() as u32,
                    instances: 1,
                    indices: None,
                    data: Vec::new(),
                    corners: Some(corners.clone()),
                });
            }
            &Work::Array { topology, first, count, instances, indexed } => {
                job.vertices = Some(Vertices {
                    topology,
                    first,
                    count,
                    instances,
                    indices: p.indices.filter(|_| indexed),
                    data: p.vertex_data.clone(),
                    corners: None,
                });
            }
        }
        job
    }
}
