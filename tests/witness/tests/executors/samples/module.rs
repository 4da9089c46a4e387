//! A compute shader of image operations, as SPIR-V.

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, InsertPoint, Instruction, Operand};
use rspirv::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, Dim as SpirvDim, ExecutionMode,
    ExecutionModel, FunctionControl, ImageFormat as Written, ImageOperands as IO, MemoryModel,
    Op as S, StorageClass, Word,
};
use tepui_ir::{Dim, NumKind};

use super::{INPUTS, LANES, RESULTS, Shape, input};

/// The image at binding 2.
#[derive(Clone, Copy)]
pub struct Image {
    pub shape: Shape,
    pub kind: NumKind,
    /// A storage image with this format.
    pub storage: Option<Written>,
    /// Texture samples compare.
    pub depth: bool,
}

/// An instruction with optional operands.
#[derive(Clone, Copy)]
pub struct Form {
    pub op: S,
    pub operands: IO,
}

/// The texel.
#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    Any,
    /// The lane's own.
    Own,
}

/// A module that is being written.
pub struct Writer {
    b: Builder,
    image: Image,
    word: Word,
    float: Word,
    /// The kind's scalar type.
    component: Word,
    image_ty: Word,
    image_var: Word,
    sampler: Option<(Word, Word)>,
    buffers: [Word; 2],
    lane: Word,
    lane_var: Word,
    main: Word,
    implicit: bool,
    forms: u32,
}

fn capabilities(i: &Image) -> Vec<Capability> {
    let mut list = vec![
        Capability::Shader,
        Capability::ImageQuery,
        Capability::MinLod,
        Capability::SparseResidency,
        Capability::ImageGatherExtended,
    ];
    let storage = i.storage.is_some();
    list.extend(match (i.shape.dim, storage) {
        (Dim::D1, false) => Some(Capability::Sampled1D),
        (Dim::D1, true) => Some(Capability::Image1D),
        (Dim::Buffer, false) => Some(Capability::SampledBuffer),
        (Dim::Buffer, true) => Some(Capability::ImageBuffer),
        (Dim::Cube, false) if i.shape.array => Some(Capability::SampledCubeArray),
        (Dim::Cube, true) if i.shape.array => Some(Capability::ImageCubeArray),
        _ => None,
    });
    if i.shape.ms && storage {
        list.push(Capability::StorageImageMultisample);
    }
    if i.shape.ms && i.shape.array {
        list.push(Capability::ImageMSArray);
    }
    match i.storage {
        Some(Written::Unknown) => {
            list.push(Capability::StorageImageReadWithoutFormat);
            list.push(Capability::StorageImageWriteWithoutFormat);
        }
        Some(_) => list.push(Capability::StorageImageExtendedFormats),
        None => {}
    }
    list
}

fn block(b: &mut Builder, word: Word, binding: u32) -> Word {
    let array = b.type_runtime_array(word);
    if binding == 0 {
        b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(4)]);
    }
    let id = b.id();
    let block = b.type_struct_id(Some(id), [array]);
    b.decorate(block, Decoration::Block, []);
    b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
    let pointer = b.type_pointer(None, StorageClass::StorageBuffer, block);
    variable(b, pointer, StorageClass::StorageBuffer, binding)
}

fn variable(b: &mut Builder, pointer: Word, class: StorageClass, binding: u32) -> Word {
    let v = b.variable(pointer, None, class, None);
    b.decorate(v, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
    b.decorate(v, Decoration::Binding, [Operand::LiteralBit32(binding)]);
    v
}

impl Writer {
    pub fn new(image: Image) -> Writer {
        let mut b = Builder::new();
        b.set_version(1, 3);
        for c in capabilities(&image) {
            b.capability(c);
        }
        b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
        let (void, word, float) = (b.type_void(), b.type_int(32, 0), b.type_float(32, None));
        let component = match image.kind {
            NumKind::Float => float,
            NumKind::Sint => b.type_int(32, 1),
            NumKind::Uint => word,
        };
        let dim = match image.shape.dim {
            Dim::D1 => SpirvDim::Dim1D,
            Dim::D3 => SpirvDim::Dim3D,
            Dim::Cube => SpirvDim::DimCube,
            Dim::Buffer => SpirvDim::DimBuffer,
            Dim::D2 | Dim::Subpass => SpirvDim::Dim2D,
        };
        let (sampled, format) = match image.storage {
            Some(format) => (2, format),
            None => (1, Written::Unknown),
        };
        let (depth, array) = (u32::from(image.depth), u32::from(image.shape.array));
        let ms = u32::from(image.shape.ms);
        let image_ty = b.type_image(component, dim, depth, array, ms, sampled, format, None);
        let constant = StorageClass::UniformConstant;
        let pointer = b.type_pointer(None, constant, image_ty);
        let image_var = variable(&mut b, pointer, constant, 2);
        let sampler = (image.storage.is_none()
            && !image.shape.ms
            && image.shape.dim != Dim::Buffer)
            .then(|| {
                let ty = b.type_sampler();
                let pointer = b.type_pointer(None, constant, ty);
                (ty, variable(&mut b, pointer, constant, 3))
            });
        let buffers = [block(&mut b, word, 0), block(&mut b, word, 1)];
        let pointer = b.type_pointer(None, StorageClass::Input, word);
        let lane_var = b.variable(pointer, None, StorageClass::Input, None);
        let index = Operand::BuiltIn(BuiltIn::LocalInvocationIndex);
        b.decorate(lane_var, Decoration::BuiltIn, [index]);
        let f = b.type_function(void, []);
        let main = b.begin_function(void, None, FunctionControl::NONE, f).expect("a function");
        b.begin_block(None).expect("a block");
        let lane = b.load(word, None, lane_var, None, []).expect("in a block");
        Writer {
            b,
            image,
            word,
            float,
            component,
            image_ty,
            image_var,
            sampler,
            buffers,
            lane,
            lane_var,
            main,
            implicit: false,
            forms: 0,
        }
    }

    /// An instruction with a result.
    fn value(&mut self, op: S, ty: Word, operands: Vec<Operand>) -> Word {
        let id = self.b.id();
        let inst = Instruction::new(op, Some(ty), Some(id), operands);
        self.b.insert_into_block(InsertPoint::End, inst).expect("in a block");
        id
    }

    fn ids(&mut self, op: S, ty: Word, args: &[Word]) -> Word {
        let operands = args.iter().map(|&a| Operand::IdRef(a)).collect();
        self.value(op, ty, operands)
    }

    fn konst(&mut self, n: u32) -> Word {
        self.b.constant_bit32(self.word, n)
    }

    /// The number of a component.
    pub fn component(&mut self, n: u32) -> Word {
        self.konst(n)
    }

    fn float(&mut self, x: f32) -> Word {
        self.b.constant_bit32(self.float, x.to_bits())
    }

    fn vec_ty(&mut self, component: Word, n: usize) -> Word {
        match n {
            1 => component,
            n => self.b.type_vector(component, n as u32),
        }
    }

    fn vec(&mut self, component: Word, parts: &[Word]) -> Word {
        if let [one] = parts {
            return *one;
        }
        let ty = self.vec_ty(component, parts.len());
        self.ids(S::CompositeConstruct, ty, parts)
    }

    fn element(&mut self, buffer: usize, at: Word) -> Word {
        let pointer = self.b.type_pointer(None, StorageClass::StorageBuffer, self.word);
        let zero = self.konst(0);
        self.ids(S::AccessChain, pointer, &[self.buffers[buffer], zero, at])
    }

    /// A word of the lane's inputs.
    pub fn input(&mut self, at: u32) -> Word {
        let (stride, at) = (self.konst(INPUTS), self.konst(at));
        let first = self.ids(S::IMul, self.word, &[self.lane, stride]);
        let at = self.ids(S::IAdd, self.word, &[first, at]);
        let pointer = self.element(0, at);
        self.ids(S::Load, self.word, &[pointer])
    }

    fn float_input(&mut self, at: u32) -> Word {
        let x = self.input(at);
        self.ids(S::Bitcast, self.float, &[x])
    }

    /// Float coordinates; a divisor behind them if they are to be projected.
    pub fn coordinates(&mut self, layer: bool, projected: bool) -> Word {
        let s = self.image.shape;
        let mut parts: Vec<Word> =
            (0..s.axes() as u32).map(|k| self.float_input(input::AT + k)).collect();
        if layer && s.array {
            parts.push(self.float_input(input::LAYER));
        }
        if projected {
            let q = self.float_input(input::DIVISOR);
            parts = parts.iter().map(|&p| self.ids(S::FMul, self.float, &[p, q])).collect();
            parts.push(q);
        }
        self.vec(self.float, &parts)
    }

    /// The reference of comparisons.
    pub fn reference(&mut self, projected: bool) -> Word {
        let d = self.float_input(input::DREF);
        if !projected {
            return d;
        }
        let q = self.float_input(input::DIVISOR);
        self.ids(S::FMul, self.float, &[d, q])
    }

    /// Integer coordinates.
    pub fn place(&mut self, place: Place) -> Word {
        let s = self.image.shape;
        let first = if place == Place::Own { input::OWN } else { input::PLACE };
        let n = u32::from(s.dim.size_comps()) + u32::from(s.array || s.dim == Dim::Cube);
        let parts: Vec<Word> = (0..n).map(|k| self.input(first + k)).collect();
        self.vec(self.word, &parts)
    }

    fn store(&mut self, component: Word, v: Word, at: u32) {
        let v = if component == self.word { v } else { self.ids(S::Bitcast, self.word, &[v]) };
        let stride = self.konst(RESULTS);
        let place = self.konst(self.forms * LANES * RESULTS + at);
        let first = self.ids(S::IMul, self.word, &[self.lane, stride]);
        let place = self.ids(S::IAdd, self.word, &[first, place]);
        let pointer = self.element(1, place);
        self.b.store(pointer, v, None, []).expect("in a block");
    }

    /// Stores the `n` components of a value to the form's results.
    fn store_all(&mut self, component: Word, v: Word, n: usize) {
        if n == 1 {
            return self.store(component, v, 0);
        }
        for k in 0..n as u32 {
            let operands = vec![Operand::IdRef(v), Operand::LiteralBit32(k)];
            let c = self.value(S::CompositeExtract, component, operands);
            self.store(component, c, k);
        }
    }

    fn load_image(&mut self) -> Word {
        self.ids(S::Load, self.image_ty, &[self.image_var])
    }

    fn load_sampled(&mut self) -> Word {
        let image = self.load_image();
        let Some((ty, variable)) = self.sampler else { return image };
        let sampler = self.ids(S::Load, ty, &[variable]);
        let both = self.b.type_sampled_image(self.image_ty);
        self.ids(S::SampledImage, both, &[image, sampler])
    }

    /// Values of the optional operands, in their order.
    fn operands(&mut self, form: &Form, sample: Word) -> Vec<Word> {
        let axes = self.image.shape.axes();
        let int = self.b.type_int(32, 1);
        let mut out = Vec::new();
        let has = |o| form.operands.contains(o);
        if has(IO::BIAS) {
            out.push(self.float(0.75));
        }
        if has(IO::LOD) {
            out.push(match form.op {
                S::ImageFetch | S::ImageSparseFetch => self.input(input::LEVEL),
                _ => self.float_input(input::LOD),
            });
        }
        if has(IO::GRAD) {
            for first in [input::GRADIENTS, input::GRADIENTS + 3] {
                let parts: Vec<Word> =
                    (0..axes as u32).map(|k| self.float_input(first + k)).collect();
                out.push(self.vec(self.float, &parts));
            }
        }
        let constant = |w: &mut Writer, list: [i32; 3]| {
            let parts: Vec<Word> =
                list[..axes].iter().map(|&x| w.b.constant_bit32(int, x as u32)).collect();
            match parts[..] {
                [one] => one,
                _ => {
                    let ty = w.b.type_vector(int, axes as u32);
                    w.b.constant_composite(ty, parts)
                }
            }
        };
        if has(IO::CONST_OFFSET) {
            out.push(constant(self, [3, -5, 2]));
        }
        if has(IO::OFFSET) {
            let parts: Vec<Word> =
                (0..axes as u32).map(|k| self.input(input::OFFSET + k)).collect();
            out.push(self.vec(self.word, &parts));
        }
        if has(IO::CONST_OFFSETS) {
            let offsets: Vec<Word> =
                [[-8, 7, 0], [0, 0, 0], [3, -2, 0], [7, -8, 0]].map(|o| constant(self, o)).to_vec();
            let ty = self.b.type_vector(int, 2);
            let four = self.konst(4);
            let array = self.b.type_array(ty, four);
            out.push(self.b.constant_composite(array, offsets));
        }
        if has(IO::SAMPLE) {
            out.push(sample);
        }
        if has(IO::MIN_LOD) {
            out.push(self.float(1.25));
        }
        out
    }

    /// A lookup: `extra` is the reference of a comparison, or the component of a gather.
    pub fn lookup(&mut self, form: &Form, at: Word, extra: Option<Word>, samples: &[Word]) {
        let name = format!("{:?}", form.op);
        self.implicit |= name.contains("ImplicitLod");
        let sparse = name.contains("Sparse");
        let dref = name.contains("Dref");
        let image = match self.sampler {
            Some(_) if !name.contains("Fetch") => self.load_sampled(),
            _ => self.load_image(),
        };
        let values = self.operands(form, samples.first().copied().unwrap_or(0));
        let mut operands = vec![Operand::IdRef(image), Operand::IdRef(at)];
        operands.extend(extra.map(Operand::IdRef));
        if !form.operands.is_empty() {
            operands.push(Operand::ImageOperands(form.operands));
            operands.extend(values.into_iter().map(Operand::IdRef));
        }
        let n = if dref && !name.contains("Gather") { 1 } else { 4 };
        let ty = self.vec_ty(self.component, n);
        if sparse {
            let both = self.b.type_struct([self.word, ty]);
            let v = self.value(form.op, both, operands);
            let part = |k| vec![Operand::IdRef(v), Operand::LiteralBit32(k)];
            let code = self.value(S::CompositeExtract, self.word, part(0));
            let texel = self.value(S::CompositeExtract, ty, part(1));
            self.store_all(self.component, texel, n);
            let truth = self.b.type_bool();
            let there = self.ids(S::ImageSparseTexelsResident, truth, &[code]);
            let (one, zero) = (self.konst(1), self.konst(0));
            let there = self.ids(S::Select, self.word, &[there, one, zero]);
            self.store(self.word, there, 5);
        } else {
            let v = self.value(form.op, ty, operands);
            self.store_all(self.component, v, n);
        }
        self.forms += 1;
    }

    /// A query without coordinates.
    pub fn query(&mut self, op: S) {
        let s = self.image.shape;
        let image = self.load_image();
        let n = match op {
            S::ImageQuerySize | S::ImageQuerySizeLod => {
                usize::from(s.dim.size_comps()) + usize::from(s.array)
            }
            _ => 1,
        };
        let ty = self.vec_ty(self.word, n);
        let mut args = vec![image];
        if op == S::ImageQuerySizeLod {
            args.push(self.input(input::LEVEL));
        }
        let v = self.ids(op, ty, &args);
        self.store_all(self.word, v, n);
        self.forms += 1;
    }

    /// The level of detail that a lookup without one would have.
    pub fn query_lod(&mut self) {
        self.implicit = true;
        let both = self.load_sampled();
        let at = self.coordinates(false, false);
        let ty = self.b.type_vector(self.float, 2);
        let v = self.ids(S::ImageQueryLod, ty, &[both, at]);
        self.store_all(self.float, v, 2);
        self.forms += 1;
    }

    pub fn image_write(&mut self, at: Word, operands: IO, sample: Word) {
        let image = self.load_image();
        let mut parts = Vec::new();
        for k in 0..4 {
            let x = self.input(input::TEXEL + k);
            parts.push(match self.component == self.word {
                true => x,
                false => self.ids(S::Bitcast, self.component, &[x]),
            });
        }
        let texel = self.vec(self.component, &parts);
        let list: Vec<Operand> = match operands.is_empty() {
            true => Vec::new(),
            false => vec![Operand::IdRef(sample)],
        };
        let operands = (!operands.is_empty()).then_some(operands);
        self.b.image_write(image, at, texel, operands, list).expect("in a block");
        self.forms += 1;
    }

    /// An atomic on a texel of 32-bit integers.
    pub fn atomic(&mut self, op: S, at: Word, sample: Word) {
        let sample = if self.image.shape.ms { sample } else { self.konst(0) };
        let pointer = self.b.type_pointer(None, StorageClass::Image, self.component);
        let texel = self.ids(S::ImageTexelPointer, pointer, &[self.image_var, at, sample]);
        // Of the device, relaxed.
        let (scope, order) = (self.konst(1), self.konst(0));
        let word = self.input(input::TEXEL + self.forms % 4);
        let data = match self.component == self.word {
            true => word,
            false => self.ids(S::Bitcast, self.component, &[word]),
        };
        let args: Vec<Word> = match op {
            S::AtomicIIncrement | S::AtomicIDecrement | S::AtomicLoad => {
                vec![texel, scope, order]
            }
            S::AtomicCompareExchange => {
                // The exchange before it left the lane's number there.
                let old = match self.component == self.word {
                    true => self.lane,
                    false => self.ids(S::Bitcast, self.component, &[self.lane]),
                };
                vec![texel, scope, order, order, data, old]
            }
            S::AtomicExchange => {
                let own = match self.component == self.word {
                    true => self.lane,
                    false => self.ids(S::Bitcast, self.component, &[self.lane]),
                };
                vec![texel, scope, order, own]
            }
            _ => vec![texel, scope, order, data],
        };
        if op == S::AtomicStore {
            let operands = args.into_iter().map(Operand::IdRef).collect();
            let inst = Instruction::new(op, None, None, operands);
            self.b.insert_into_block(InsertPoint::End, inst).expect("in a block");
        } else {
            let v = self.ids(op, self.component, &args);
            self.store_all(self.component, v, 1);
        }
        self.forms += 1;
    }

    /// The module, how many forms it has, and whether derivatives count.
    pub fn finish(mut self) -> (Vec<Word>, u32, bool) {
        self.b.ret().expect("in a block");
        self.b.end_function().expect("in a function");
        self.b.entry_point(ExecutionModel::GLCompute, self.main, "main", [self.lane_var]);
        self.b.execution_mode(self.main, ExecutionMode::LocalSize, [8, LANES / 8, 1]);
        if self.implicit {
            self.b.capability(Capability::ComputeDerivativeGroupQuadsKHR);
            self.b.extension("SPV_KHR_compute_shader_derivatives");
            self.b.execution_mode(self.main, ExecutionMode::DerivativeGroupQuadsKHR, []);
        }
        (self.b.module().assemble(), self.forms, self.implicit)
    }
}
