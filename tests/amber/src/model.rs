//! The engine that compiles shaders with Tepui's compiler and runs them on the AGX model.

use tepui_agx_bare::bind::Bound;
use tepui_agx_bare::draw::{Draw, VertexBuffer};
use tepui_agx_bare::pair::{Linking, Pair};
use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::abi::attribute::Attribute;
use tepui_agx_compiler::abi::tile::Tile;
use tepui_agx_compiler::abi::{Beyond, Prolog};
use tepui_agx_compiler::{Error as Compiler, Options, compile};
use tepui_agx_packets::vdm::Primitive;
use tepui_format::Format;
use tepui_format::texel::{self, TexelCodec};
use tepui_ir::{Attrs, Builtin, Op, Shader};

use crate::content::Content;
use crate::data::Number;
use crate::pipeline::{Memories, translate};
use crate::run::{Engine, Job, Vertices};
use crate::script::Topology;
use crate::{Refusal, failed, refused};

/// Limit on the instructions of a job; beyond it, the job is considered endless.
const BUDGET: u64 = 1 << 26;

/// Runs each job on a new machine.
pub struct Model {
    /// The way in which the programs of a draw are compiled.
    pub making: Linking,
}

fn machine() -> Result<Machine, Refusal> {
    let options = tepui_agx_model::Options {
        threads: 1,
        instruction_budget: BUDGET,
        ..tepui_agx_model::Options::default()
    };
    Machine::new(options).map_err(failed)
}

/// Converts a compiler error: refused operations (without the instruction's number), else a
/// failure.
fn compiler_error(e: Compiler) -> Refusal {
    match e {
        Compiler::Internal(_) | Compiler::Encode(_) => failed(e),
        Compiler::Op { op, why, .. } => Refusal::Refused(format!("`{}` {why}", op.name())),
        e => Refusal::Refused(e.to_string()),
    }
}

/// Converts an error of the machine: an unsupported feature, else a failure.
fn machine_error(e: tepui_agx_bare::Error) -> Refusal {
    use tepui_agx_bare::Error;
    match e {
        Error::Texels(_)
        | Error::Format(_)
        | Error::Layout(_)
        | Error::MissingStage
        | Error::SamplerHeaps
        | Error::Link(_) => Refusal::Refused(e.to_string()),
        e => failed(e),
    }
}

impl Engine for Model {
    fn run(&mut self, job: &Job, buffers: &mut [Content]) -> Result<(), Refusal> {
        match &job.vertices {
            None => dispatch(job, buffers),
            Some(v) => draw(job, v, buffers, self.making),
        }
    }
}

fn dispatch(job: &Job, buffers: &mut [Content]) -> Result<(), Refusal> {
    let [code] = &job.stages[..] else { return refused("a dispatch of several shaders") };
    let s = translate(code)?;
    let memory = Memories::new(job, buffers, &s)?.start;
    let options = Options { robust: true, check: true, ..Options::default() };
    let program = compile(&mut s.clone(), &options).map_err(compiler_error)?;
    let mut machine = machine()?;
    let mut bound = Bound::new(&mut machine, &s, &memory).map_err(machine_error)?;
    share_buffers(job, &mut bound);
    shader::run(&mut machine, &program, &bound.bindings, job.groups).map_err(machine_error)?;
    Memories::store(job, &bound.memory(&memory).map_err(machine_error)?, &s, buffers)
}

fn primitive(t: Topology) -> Primitive {
    match t {
        Topology::PointList => Primitive::Points,
        Topology::LineList => Primitive::Lines,
        Topology::LineStrip => Primitive::LineStrip,
        Topology::TriangleList => Primitive::Triangles,
        Topology::TriangleStrip => Primitive::TriangleStrip,
        Topology::TriangleFan => Primitive::TriangleFan,
    }
}

/// Whether a shader reads its vertex index.
fn numbers_vertices(s: &Shader) -> bool {
    let mut found = false;
    s.walk(|s, _, i| {
        found |= s.insts[i].op == Op::LoadBuiltin
            && matches!(s.insts[i].attrs, Attrs::Builtin(Builtin::VertexIndex));
    });
    found
}

/// The elements of an attribute: format, bytes, and whether it advances per instance.
struct Elements {
    location: u32,
    format: Format,
    bytes: Vec<u8>,
    stride: usize,
    per_instance: bool,
}

/// Gives all bindings of a buffer the same memory.
fn share_buffers(job: &Job, bound: &mut Bound) {
    for (n, b) in job.bindings.iter().enumerate() {
        let first = job.bindings[..n].iter().find(|a| a.buffer == b.buffer);
        let shared = first.and_then(|a| bound.bindings.buffers.get(&a.slot)).cloned();
        if let (Some(buffer), true) = (shared, bound.bindings.buffers.contains_key(&b.slot)) {
            bound.bindings.buffers.insert(b.slot, buffer);
        }
    }
}

/// The attributes of a draw. For an indexed draw, they are gathered in index order.
fn attributes(v: &Vertices, buffers: &[Content]) -> Result<Vec<Elements>, Refusal> {
    if let Some(corners) = &v.corners {
        let bytes = corners.iter().flatten().flat_map(|c| c.to_le_bytes()).collect();
        let format = Format::R32G32_SFLOAT;
        return Ok(vec![Elements { location: 0, format, bytes, stride: 8, per_instance: false }]);
    }
    let mut all = Vec::new();
    for d in &v.data {
        let content = &buffers[d.buffer];
        let Some(e) = content.element else { return refused("attributes of this type") };
        let format = e.texel();
        let Some(format) = format else { return refused("attributes of this type") };
        let stride = e.stride();
        let bytes = match v.indices {
            Some(indices) if !d.per_instance => {
                let all = indices_of(&buffers[indices], v)?;
                let mut bytes = Vec::new();
                for i in all {
                    let at = i.checked_mul(stride).filter(|at| at + stride <= content.bytes.len());
                    let Some(at) = at else { return refused("indices past the end") };
                    bytes.extend(&content.bytes[at..at + stride]);
                }
                bytes
            }
            _ => content.bytes.clone(),
        };
        let (location, per_instance) = (d.location, d.per_instance);
        all.push(Elements { location, format, bytes, stride, per_instance });
    }
    Ok(all)
}

fn indices_of(content: &Content, v: &Vertices) -> Result<Vec<usize>, Refusal> {
    let Some(e) = content.element else { return refused("indices of this type") };
    let index = |n: u32| {
        let at = e.place(v.first as usize + n as usize);
        content.bytes.get(at..).and_then(|b| e.scalar.decode(b)).map(Number::int)
    };
    let all = (0..v.count).map(|n| index(n).and_then(|i| usize::try_from(i).ok()));
    all.collect::<Option<_>>().ok_or_else(|| Refusal::Refused("indices past the end".to_owned()))
}

/// The colour that all pixels of all attachments have, as bits.
fn background(job: &Job, buffers: &[Content]) -> Result<[u32; 4], Refusal> {
    let mut colour = None;
    for &(_, buffer) in &job.colours {
        let content = &buffers[buffer];
        let Some(t) = content.texels else { return refused("attachments without a format") };
        if t.size_px != [job.size_px[0], job.size_px[1], 1] {
            return refused("attachments of another size than the framebuffer");
        }
        let c = TexelCodec::new(t.format).map_err(|e| Refusal::Refused(e.to_string()))?;
        let mut texels = content.bytes.chunks_exact(c.bytes());
        let Some(first) = texels.next() else { return refused("empty attachments") };
        if texels.any(|t| t != first) {
            return refused("draws over an attachment with contents");
        }
        let raw = texel::load(first);
        let bits = match c.is_float() {
            true => c.unpack_f32(raw).map(f32::to_bits),
            false => c.unpack_u32(raw),
        };
        if colour.is_some_and(|other| other != bits) {
            return refused("attachments of different colours");
        }
        colour = Some(bits);
    }
    Ok(colour.unwrap_or_default())
}

/// The format to draw in for an attachment format: the same channels in the order of the hardware.
fn hardware_format(format: Format) -> Format {
    match format {
        Format::B8G8R8A8_UNORM => Format::R8G8B8A8_UNORM,
        Format::B8G8R8A8_SRGB => Format::R8G8B8A8_SRGB,
        f => f,
    }
}

/// Converts texels of the drawn image to a format.
fn repacked(bytes: &[u8], format: Format) -> Result<Vec<u8>, Refusal> {
    if hardware_format(format) == format {
        return Ok(bytes.to_vec());
    }
    let from = TexelCodec::new(hardware_format(format)).map_err(failed)?;
    let to = TexelCodec::new(format).map_err(failed)?;
    let texel = |b| to.pack_f32(from.unpack_f32(texel::load(b))).to_le_bytes();
    Ok(bytes
        .chunks_exact(from.bytes())
        .flat_map(|b| texel(b).into_iter().take(to.bytes()))
        .collect())
}

fn tile(job: &Job, buffers: &[Content]) -> Result<Tile, Refusal> {
    let mut tile = Tile { samples: 1, ..Tile::default() };
    for &(location, buffer) in &job.colours {
        let Some(place) = tile.formats.get_mut(location as usize) else {
            return refused("more than eight colour attachments");
        };
        *place = buffers[buffer].texels.map(|t| hardware_format(t.format));
    }
    Ok(tile)
}

/// A shader with the resources of both stages.
fn merge_resources(vertex: &Shader, fragment: &Shader) -> Shader {
    let mut all = fragment.clone();
    for r in vertex.resources.values() {
        if !fragment.resources.values().any(|f| (f.set, f.binding) == (r.set, r.binding)) {
            all.resources.push(r.clone());
        }
    }
    all
}

fn draw(job: &Job, v: &Vertices, buffers: &mut [Content], making: Linking) -> Result<(), Refusal> {
    let shaders = job.stages.iter().map(translate).collect::<Result<Vec<_>, _>>()?;
    let find = |stage| shaders.iter().find(|s| s.info.stage == stage);
    let (Some(vertex), Some(fragment)) =
        (find(tepui_ir::Stage::Vertex), find(tepui_ir::Stage::Fragment))
    else {
        return refused("draws without a fragment shader");
    };
    if v.indices.is_some() && numbers_vertices(vertex) {
        return refused("indexed draws that read the vertex index");
    }
    let clear = background(job, buffers)?;
    let tile = tile(job, buffers)?;
    let mut machine = machine()?;
    let mut bound_attributes = Vec::new();
    for e in attributes(v, buffers)? {
        let attribute = Attribute {
            format: e.format,
            stride: e.stride as u32,
            per_instance: e.per_instance.then_some(1),
        };
        let buffer = machine.buffer(e.bytes.len()).map_err(machine_error)?;
        buffer.write(&e.bytes).map_err(failed)?;
        let at = e.location as usize;
        if at >= usize::from(tepui_agx_compiler::abi::MAX_ATTRIBUTES) {
            return refused(format!("an attribute at location {at}"));
        }
        bound_attributes.resize(bound_attributes.len().max(at + 1), None);
        bound_attributes[at] = Some(VertexBuffer { buffer, attribute, offset: 0 });
    }
    let attributes: Vec<Option<Attribute>> =
        bound_attributes.iter().map(|b| b.as_ref().map(|b| b.attribute)).collect();
    let pair = Pair {
        vertex,
        fragment,
        tile: &tile,
        attributes: &attributes,
        beyond: Beyond::First,
        prolog: Prolog::default(),
        multiview: false,
    };
    let (vp, fp) = pair.programs(making).map_err(compiler_error)?;
    let all = merge_resources(vertex, fragment);
    let memory = Memories::new(job, buffers, &all)?.start;
    let mut bound = Bound::new(&mut machine, &all, &memory).map_err(machine_error)?;
    share_buffers(job, &mut bound);
    let [width, height] = job.size_px.map(|s| s as u16);
    let mut d = Draw::triangles(&vp, &fp, &tile, [width, height], &bound.bindings);
    d.primitive = primitive(v.topology);
    d.vertices = v.count;
    d.first_vertex = if v.indices.is_some() { 0 } else { v.first };
    d.instances = v.instances;
    d.attributes = bound_attributes;
    d.clear = clear;
    let picture = machine.draw(&d).map_err(machine_error)?;
    for &(location, buffer) in &job.colours {
        let content = &mut buffers[buffer];
        let Some(bytes) = picture.colours.get(&(location as u8)) else { continue };
        let n = content.bytes.len();
        let bytes = bytes.get(..n).ok_or_else(|| failed("an image is too small"))?;
        if let Some(t) = content.texels {
            content.bytes = repacked(bytes, t.format)?;
        }
    }
    let now = bound.memory(&memory).map_err(machine_error)?;
    Memories::store(job, &now, &all, buffers)
}
