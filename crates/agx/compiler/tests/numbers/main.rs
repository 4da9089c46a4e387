//! Arithmetic with known answers, from SPIR-V to results: in the interpreter, in the interpreter
//! after the passes, and on the virtual M1.

mod dot;
mod quotients;
mod special;
mod tables;

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{self, Word};
use tepui_agx_bare::bind::Bound;
use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::{Options, compile};
use tepui_ir::Shader;
use tepui_ir::interp::{Memory, dispatch};

/// Invocations of a workgroup.
const GROUP: usize = 32;

/// A compute shader under construction: invocation `i` reads words of binding 0 and writes words of
/// binding 1.
struct Kernel {
    b: Builder,
    glsl: Word,
    u32: Word,
    main: Word,
    inputs: Word,
    outputs: Word,
    invocation: Word,
    word: Word,
}

impl Kernel {
    fn new(capabilities: &[spirv::Capability]) -> Kernel {
        let mut b = Builder::new();
        b.set_version(1, 6);
        b.capability(spirv::Capability::Shader);
        capabilities.iter().for_each(|&c| b.capability(c));
        let glsl = b.ext_inst_import("GLSL.std.450");
        b.memory_model(spirv::AddressingModel::Logical, spirv::MemoryModel::GLSL450);
        let (void, u32) = (b.type_void(), b.type_int(32, 0));
        let array = b.type_runtime_array(u32);
        b.decorate(array, spirv::Decoration::ArrayStride, [Operand::LiteralBit32(4)]);
        let block = b.type_struct([array]);
        b.decorate(block, spirv::Decoration::Block, []);
        b.member_decorate(block, 0, spirv::Decoration::Offset, [Operand::LiteralBit32(0)]);
        let class = spirv::StorageClass::StorageBuffer;
        let (to_block, word) =
            (b.type_pointer(None, class, block), b.type_pointer(None, class, u32));
        let [inputs, outputs] = [0, 1].map(|binding| {
            let v = b.variable(to_block, None, class, None);
            b.decorate(v, spirv::Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
            b.decorate(v, spirv::Decoration::Binding, [Operand::LiteralBit32(binding)]);
            v
        });
        let to_u32 = b.type_pointer(None, spirv::StorageClass::Input, u32);
        let index = b.variable(to_u32, None, spirv::StorageClass::Input, None);
        let which = spirv::BuiltIn::LocalInvocationIndex;
        b.decorate(index, spirv::Decoration::BuiltIn, [Operand::BuiltIn(which)]);
        let function = b.type_function(void, []);
        let main = b.begin_function(void, None, spirv::FunctionControl::NONE, function).unwrap();
        b.entry_point(spirv::ExecutionModel::GLCompute, main, "main", [index, inputs, outputs]);
        b.execution_mode(main, spirv::ExecutionMode::LocalSize, [GROUP as u32, 1, 1]);
        b.begin_block(None).unwrap();
        let invocation = b.load(u32, None, index, None, []).unwrap();
        Kernel { b, glsl, u32, main, inputs, outputs, invocation, word }
    }

    fn mode(&mut self, mode: spirv::ExecutionMode, operands: &[u32]) {
        self.b.execution_mode(self.main, mode, operands);
    }

    fn place(&mut self, buffer: Word, words: u32, k: u32) -> Word {
        let (zero, words, k) = (self.uint(0), self.uint(words), self.uint(k));
        let at = self.b.i_mul(self.u32, None, self.invocation, words).unwrap();
        let at = self.b.i_add(self.u32, None, at, k).unwrap();
        self.b.access_chain(self.word, None, buffer, [zero, at]).unwrap()
    }

    fn uint(&mut self, n: u32) -> Word {
        self.b.constant_bit32(self.u32, n)
    }

    /// Word `k` of the `words` of this invocation.
    fn input(&mut self, words: u32, k: u32) -> Word {
        let p = self.place(self.inputs, words, k);
        self.b.load(self.u32, None, p, None, []).unwrap()
    }

    /// Words `k` and `k + 1` as one value of type `ty`.
    fn input_pair(&mut self, words: u32, k: u32, ty: Word) -> Word {
        let pair = [self.input(words, k), self.input(words, k + 1)];
        let pair_ty = self.b.type_vector(self.u32, 2);
        let v = self.b.composite_construct(pair_ty, None, pair).unwrap();
        self.b.bitcast(ty, None, v).unwrap()
    }

    fn output(&mut self, words: u32, k: u32, v: Word) {
        let p = self.place(self.outputs, words, k);
        self.b.store(p, v, None, []).unwrap();
    }

    /// Writes a value of 64 bits as two words.
    fn output_pair(&mut self, words: u32, k: u32, v: Word) {
        let ty = self.b.type_vector(self.u32, 2);
        let v = self.b.bitcast(ty, None, v).unwrap();
        for n in 0..2 {
            let w = self.b.composite_extract(self.u32, None, v, [n]).unwrap();
            self.output(words, k + n, w);
        }
    }

    fn finish(mut self) -> Vec<u32> {
        self.b.ret().unwrap();
        self.b.end_function().unwrap();
        self.b.module().assemble()
    }
}

/// Contents of binding 1 after a shader: by the interpreter, after the passes, and on the virtual M1.
fn run(words: &[u32], input: &[u32], outputs: usize) -> [(&'static str, Vec<u32>); 3] {
    let s = tepui_spirv::translate(words, &tepui_spirv::Options::default()).unwrap();
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    let mut start = Memory::default();
    start.set_words(0, 0, input);
    start.set_words(0, 1, &vec![0x5555_5555; outputs]);
    let interpret = |s: &Shader| {
        let mut m = start.clone();
        dispatch(s, [1; 3], &mut m, 10_000_000).unwrap_or_else(|e| panic!("{e}\n{s}"));
        m.words(0, 1)
    };
    let plain = interpret(&s);
    let mut optimised = s.clone();
    tepui_passes::pipeline::optimise(&mut optimised);
    let optimised = interpret(&optimised);
    let mut lowered = s.clone();
    let program = compile(&mut lowered, &Options { check: true, ..Options::default() }).unwrap();
    let mut machine = Machine::new(Default::default()).unwrap();
    let bound = Bound::new(&mut machine, &s, &start).unwrap();
    shader::run(&mut machine, &program, &bound.bindings, [1; 3]).unwrap();
    let m1 = bound.memory(&start).unwrap().words(0, 1);
    [("interpreter", plain), ("passes", optimised), ("virtual M1", m1)]
}
