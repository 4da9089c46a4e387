//! Builds a draw from a vertex and a fragment shader of an engine: joins their interfaces by name,
//! and fills memory so that something is visible.
//!
//! The modules were compiled separately, so each has its own numbers of varyings and bindings. The
//! names of uniforms and attributes say what they are for: matrices become the identity, positions
//! a triangle, and everything else numbers derived from its name.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use rspirv::binary::Assemble;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Decoration, Dim, Op, StorageClass, Word};
use tepui_witness::draw::{Binding, Job, TEXTURE_PX};

/// Reason why two shaders are not drawn with.
pub type Unsuitable = String;

/// A module with what its ids are.
struct Stage {
    module: Module,
    names: HashMap<Word, String>,
    globals: HashMap<Word, Instruction>,
}

impl Stage {
    fn new(words: &[u32]) -> Result<Stage, Unsuitable> {
        let module = rspirv::dr::load_words(words).map_err(|e| format!("does not load: {e}"))?;
        let mut names = HashMap::new();
        for i in module.debug_names.iter().filter(|i| i.class.opcode == Op::Name) {
            if let [Operand::IdRef(id), Operand::LiteralString(name)] = &i.operands[..] {
                names.insert(*id, name.clone());
            }
        }
        let globals = module
            .types_global_values
            .iter()
            .filter_map(|i| Some((i.result_id?, i.clone())))
            .collect();
        Ok(Stage { module, names, globals })
    }

    fn name(&self, id: Word) -> &str {
        self.names.get(&id).map_or("", String::as_str)
    }

    fn id(&self, of: Word, operand: usize) -> Option<Word> {
        self.globals.get(&of)?.operands.get(operand)?.id_ref_any()
    }

    fn number(&self, of: Word, operand: usize) -> u32 {
        match self.globals.get(&of).and_then(|i| i.operands.get(operand)) {
            Some(Operand::LiteralBit32(n)) => *n,
            _ => 0,
        }
    }

    fn op(&self, id: Word) -> Op {
        self.globals.get(&id).map_or(Op::Nop, |i| i.class.opcode)
    }

    /// Variables of a storage class, with what they hold.
    fn variables(&self, class: StorageClass) -> Vec<(Word, Word)> {
        self.module
            .types_global_values
            .iter()
            .filter(|i| i.class.opcode == Op::Variable)
            .filter(|i| i.operands.first() == Some(&Operand::StorageClass(class)))
            .filter_map(|i| Some((i.result_id?, self.id(i.result_type?, 1)?)))
            .collect()
    }

    fn decoration(&self, id: Word, member: Option<u32>, wanted: Decoration) -> Option<u32> {
        self.module.annotations.iter().find_map(|i| {
            let rest = match (&i.operands[..], member) {
                ([Operand::IdRef(x), rest @ ..], None) if *x == id => rest,
                ([Operand::IdRef(x), Operand::LiteralBit32(m), rest @ ..], Some(k))
                    if *x == id && *m == k =>
                {
                    rest
                }
                _ => return None,
            };
            match rest {
                [Operand::Decoration(d), Operand::LiteralBit32(n)] if *d == wanted => Some(*n),
                _ => None,
            }
        })
    }

    fn decorate(&mut self, id: Word, which: Decoration, value: u32) {
        for i in &mut self.module.annotations {
            if let [Operand::IdRef(x), Operand::Decoration(d), Operand::LiteralBit32(n)] =
                &mut i.operands[..]
                && (*x, *d) == (id, which)
            {
                *n = value;
            }
        }
    }

    /// A type as text, equal for equal types.
    fn shape(&self, ty: Word) -> String {
        let Some(i) = self.globals.get(&ty) else { return String::new() };
        let parts: Vec<String> = i
            .operands
            .iter()
            .map(|o| match o.id_ref_any() {
                Some(id) if self.op(id) == Op::Constant => self.number(id, 0).to_string(),
                Some(id) => self.shape(id),
                None => o.to_string(),
            })
            .collect();
        format!("{:?}({})", i.class.opcode, parts.join(" "))
    }

    /// Writes what a uniform of a type holds.
    fn fill(&self, ty: Word, at: u32, stride: u32, name: &str, out: &mut Vec<u8>) -> Option<()> {
        let mut put = |at: u32, bytes: [u8; 4]| {
            let at = at as usize;
            if out.len() < at + 4 {
                out.resize(at + 4, 0);
            }
            out[at..at + 4].copy_from_slice(&bytes);
        };
        match self.op(ty) {
            Op::TypeFloat => put(at, number(name, 0).to_le_bytes()),
            Op::TypeInt => put(at, 1u32.to_le_bytes()),
            Op::TypeVector => {
                let float = self.op(self.id(ty, 0)?) == Op::TypeFloat;
                for k in 0..self.number(ty, 1) {
                    let bytes =
                        if float { number(name, k).to_le_bytes() } else { 1u32.to_le_bytes() };
                    put(at + 4 * k, bytes);
                }
            }
            Op::TypeMatrix => {
                let rows = self.number(self.id(ty, 0)?, 1);
                for column in 0..self.number(ty, 1) {
                    for row in 0..rows {
                        let one = if row == column { 1f32 } else { 0.0 };
                        put(at + stride * column + 4 * row, one.to_le_bytes());
                    }
                }
            }
            Op::TypeArray => {
                let element = self.decoration(ty, None, Decoration::ArrayStride)?;
                for k in 0..self.number(self.id(ty, 1)?, 0) {
                    let name = format!("{name}{k}");
                    self.fill(self.id(ty, 0)?, at + element * k, stride, &name, out)?;
                }
            }
            Op::TypeStruct => {
                for k in 0..self.globals[&ty].operands.len() as u32 {
                    let offset = self.decoration(ty, Some(k), Decoration::Offset)?;
                    let stride =
                        self.decoration(ty, Some(k), Decoration::MatrixStride).unwrap_or(16);
                    let inner = self.id(ty, k as usize)?;
                    let name = format!("{name}.{}", self.member(ty, k));
                    self.fill(inner, at + offset, stride, &name, out)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn member(&self, ty: Word, k: u32) -> &str {
        self.module
            .debug_names
            .iter()
            .find_map(|i| match &i.operands[..] {
                [Operand::IdRef(id), Operand::LiteralBit32(n), Operand::LiteralString(name)]
                    if (*id, *n) == (ty, k) =>
                {
                    Some(name.as_str())
                }
                _ => None,
            })
            .unwrap_or("")
    }

    /// Binding of a uniform or a texture.
    fn binding(&self, variable: Word, ty: Word) -> Result<Binding, Unsuitable> {
        let unfit = || format!("has a binding of {}", self.shape(ty));
        match self.op(ty) {
            Op::TypeStruct => {
                let mut bytes = Vec::new();
                self.fill(ty, 0, 16, self.name(variable), &mut bytes).ok_or_else(unfit)?;
                bytes.resize(bytes.len().next_multiple_of(16), 0);
                Ok(Binding::Uniform(bytes))
            }
            Op::TypeSampledImage => {
                let image = self.id(ty, 0).ok_or_else(unfit)?;
                let floats = self.id(image, 0).is_some_and(|t| self.op(t) == Op::TypeFloat);
                let plain = (2..5).all(|k| self.number(image, k) == 0);
                let layers = match self.globals[&image].operands.get(1) {
                    Some(Operand::Dim(Dim::Dim2D)) => 1,
                    Some(Operand::Dim(Dim::DimCube)) => 6,
                    _ => 0,
                };
                if layers == 0 || !floats || !plain {
                    return Err(unfit());
                }
                Ok(Binding::Texture((0..layers).map(texels).collect()))
            }
            _ => Err(unfit()),
        }
    }
}

/// Something between 0.2 and 0.9.
fn number(name: &str, k: u32) -> f32 {
    let mut hash = DefaultHasher::new();
    // Not of the block's name.
    (name.rsplit('.').next(), k).hash(&mut hash);
    0.2 + (hash.finish() % 701) as f32 / 1000.0
}

/// A smooth picture that repeats, so that filters that differ in their last bits show the same.
fn texels(layer: u32) -> Vec<u8> {
    let wave = |at: u32, period: u32, phase: f32| {
        let turn = std::f32::consts::TAU * (at * period) as f32 / TEXTURE_PX as f32;
        (127.5 + 90.0 * (turn + phase).sin()) as u8
    };
    let mut out = Vec::new();
    for y in 0..TEXTURE_PX {
        for x in 0..TEXTURE_PX {
            let phase = layer as f32 * 0.1;
            out.extend([wave(x, 1, phase), wave(y, 1, phase), wave(x + y, 1, phase), 230]);
        }
    }
    out
}

/// An attribute of a vertex, by its name.
fn attribute(name: &str, vertex: usize) -> [f32; 4] {
    let corners = [[-0.9, -0.8, 0.3, 1.0], [2.4, -0.7, 0.4, 1.0], [-0.7, 2.2, 0.5, 1.0]];
    match name {
        "position" => corners[vertex],
        "normal" => [0.1 * vertex as f32, 0.2, 0.95, 0.0],
        "world0" => [1.0, 0.0, 0.0, 0.0],
        "world1" => [0.0, 1.0, 0.0, 0.0],
        "world2" => [0.0, 0.0, 1.0, 0.0],
        "world3" => [0.0, 0.0, 0.0, 1.0],
        _ => [0, 1, 2, 3].map(|k| number(&format!("{name}{vertex}"), k)),
    }
}

/// The attributes of the three vertices, by location.
fn vertices(v: &Stage) -> Result<[Vec<[f32; 4]>; 3], Unsuitable> {
    let mut out: [Vec<[f32; 4]>; 3] = Default::default();
    let inputs = v.variables(StorageClass::Input);
    for (id, ty) in inputs {
        let Some(location) = v.decoration(id, None, Decoration::Location) else { continue };
        let mut element = ty;
        while matches!(v.op(element), Op::TypeVector | Op::TypeMatrix) {
            element = v.id(element, 0).unwrap_or(0);
        }
        if v.op(element) != Op::TypeFloat {
            return Err(format!("has an attribute of {}", v.shape(ty)));
        }
        let columns = if v.op(ty) == Op::TypeMatrix { v.number(ty, 1) } else { 1 };
        for (k, list) in out.iter_mut().enumerate() {
            for column in 0..columns {
                let at = (location + column) as usize;
                if list.len() <= at {
                    list.resize(at + 1, [0.0; 4]);
                }
                list[at] = attribute(v.name(id), k);
                if columns > 1 {
                    list[at] = [0.0; 4];
                    list[at][column as usize] = 1.0;
                }
            }
        }
    }
    Ok(out)
}

/// A vertex and a fragment shader of one material.
pub fn pair(name: String, vertex: &[u32], fragment: &[u32]) -> Result<Job, Unsuitable> {
    let (mut v, mut f) = (Stage::new(vertex)?, Stage::new(fragment)?);
    // A fragment's input lies where the vertex's output of this name does.
    let outputs: HashMap<String, (Word, Word)> = v
        .variables(StorageClass::Output)
        .into_iter()
        .map(|(id, ty)| (v.name(id).to_owned(), (id, ty)))
        .collect();
    for (id, ty) in f.variables(StorageClass::Input) {
        if f.decoration(id, None, Decoration::Location).is_none() {
            continue;
        }
        let from = outputs.get(f.name(id)).filter(|o| v.shape(o.1) == f.shape(ty));
        let location = from.and_then(|o| v.decoration(o.0, None, Decoration::Location));
        let location = location.ok_or_else(|| {
            format!("its fragments read `{}`, which its vertices do not write", f.name(id))
        })?;
        f.decorate(id, Decoration::Location, location);
    }
    let mut bindings = Vec::new();
    for stage in [&mut v, &mut f] {
        if !stage.variables(StorageClass::StorageBuffer).is_empty()
            || !stage.variables(StorageClass::PushConstant).is_empty()
        {
            return Err("has storage buffers or push constants".to_owned());
        }
        for class in [StorageClass::Uniform, StorageClass::UniformConstant] {
            for (id, ty) in stage.variables(class) {
                let binding = stage.binding(id, ty)?;
                stage.decorate(id, Decoration::DescriptorSet, 0);
                stage.decorate(id, Decoration::Binding, bindings.len() as u32);
                bindings.push(binding);
            }
        }
    }
    let vertices = vertices(&v)?;
    Ok(Job { name, stages: [v, f].map(|s| s.module.assemble()), bindings, vertices })
}
