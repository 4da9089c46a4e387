//! `OpSpecConstantOp` with every opcode that shaders may use in it, and control flow that compilers
//! do not write.

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Instruction, Operand};
use rspirv::spirv::{
    AddressingModel, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl,
    MemoryModel, Op as S, SelectionControl, StorageClass, Word,
};
use tepui_ir::interp::{Memory, dispatch};
use tepui_ir::validate;
use tepui_passes::pipeline;
use tepui_spirv::{Options, translate};

/// A compute shader of one lane that stores words.
struct Writer {
    b: Builder,
    word: Word,
    buffer: Word,
    main: Word,
    stored: u32,
}

impl Writer {
    fn new() -> Writer {
        let mut b = Builder::new();
        b.set_version(1, 4);
        for c in [Capability::Shader, Capability::Int16, Capability::Float16] {
            b.capability(c);
        }
        b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
        let (void, word) = (b.type_void(), b.type_int(32, 0));
        let array = b.type_runtime_array(word);
        b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(4)]);
        let block = b.type_struct([array]);
        b.decorate(block, Decoration::Block, []);
        b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
        let pointer = b.type_pointer(None, StorageClass::StorageBuffer, block);
        let buffer = b.variable(pointer, None, StorageClass::StorageBuffer, None);
        b.decorate(buffer, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
        b.decorate(buffer, Decoration::Binding, [Operand::LiteralBit32(0)]);
        let f = b.type_function(void, []);
        let main = b.begin_function(void, None, FunctionControl::NONE, f).unwrap();
        b.begin_block(None).unwrap();
        Writer { b, word, buffer, main, stored: 0 }
    }

    /// A specialisation constant made of others.
    fn spec(&mut self, op: S, ty: Word, operands: &[Operand]) -> Word {
        let id = self.b.id();
        let mut all = vec![Operand::LiteralSpecConstantOpInteger(op)];
        all.extend_from_slice(operands);
        let inst = Instruction::new(S::SpecConstantOp, Some(ty), Some(id), all);
        self.b.module_mut().types_global_values.push(inst);
        id
    }

    fn place(&mut self, n: u32) -> Word {
        let pointer = self.b.type_pointer(None, StorageClass::StorageBuffer, self.word);
        let [zero, n] = [0, n].map(|x| self.b.constant_bit32(self.word, x));
        self.b.access_chain(pointer, None, self.buffer, [zero, n]).unwrap()
    }

    fn store(&mut self, v: Word) {
        let pointer = self.place(self.stored);
        self.stored += 1;
        self.b.store(pointer, v, None, []).unwrap();
    }

    /// Runs it, before and after the passes, on words.
    fn check(mut self, input: &[u32], want: &[u32]) {
        self.b.ret().unwrap();
        self.b.end_function().unwrap();
        self.b.entry_point(ExecutionModel::GLCompute, self.main, "main", [self.buffer]);
        self.b.execution_mode(self.main, ExecutionMode::LocalSize, [1, 1, 1]);
        let words = self.b.module().assemble();
        let mut s = translate(&words, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
        for _ in 0..2 {
            validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
            let mut m = Memory::default();
            m.set_words(0, 0, input);
            dispatch(&s, [1; 3], &mut m, 1000).unwrap();
            assert_eq!(&m.words(0, 0)[..want.len()], want, "{s}");
            pipeline::optimise(&mut s);
        }
    }
}

#[test]
fn operations_on_specialisation_constants() {
    let mut w = Writer::new();
    let (word, truth) = (w.word, w.b.type_bool());
    let mut want = Vec::new();
    let (x, y) = (-100i32 as u32, 7u32);
    let [a, b] = [x, y].map(|n| Operand::IdRef(w.b.spec_constant_bit32(word, n)));
    let signed = [x as i32, y as i32];
    let words: [(S, u32); 15] = [
        (S::IAdd, x.wrapping_add(y)),
        (S::ISub, x.wrapping_sub(y)),
        (S::IMul, x.wrapping_mul(y)),
        (S::UDiv, x / y),
        (S::SDiv, (signed[0] / signed[1]) as u32),
        (S::UMod, x % y),
        (S::SRem, (signed[0] % signed[1]) as u32),
        (S::SMod, signed[0].rem_euclid(signed[1]) as u32),
        (S::ShiftRightLogical, x >> y),
        (S::ShiftRightArithmetic, (signed[0] >> y) as u32),
        (S::ShiftLeftLogical, x << y),
        (S::BitwiseOr, x | y),
        (S::BitwiseXor, x ^ y),
        (S::BitwiseAnd, x & y),
        (S::SNegate, x.wrapping_neg()),
    ];
    for (op, result) in words {
        let n = if op == S::SNegate { 1 } else { 2 };
        let v = w.spec(op, word, &[a.clone(), b.clone()][..n]);
        w.store(v);
        want.push(result);
    }
    let v = w.spec(S::Not, word, std::slice::from_ref(&a));
    w.store(v);
    want.push(!x);
    let [one, zero] = [1, 0].map(|n| Operand::IdRef(w.b.constant_bit32(word, n)));
    let mut truths = Vec::new();
    let compared: [(S, bool); 10] = [
        (S::IEqual, false),
        (S::INotEqual, true),
        (S::ULessThan, false),
        (S::SLessThan, true),
        (S::UGreaterThan, true),
        (S::SGreaterThan, false),
        (S::ULessThanEqual, false),
        (S::SLessThanEqual, true),
        (S::UGreaterThanEqual, true),
        (S::SGreaterThanEqual, false),
    ];
    for (op, result) in compared {
        truths.push((w.spec(op, truth, &[a.clone(), b.clone()]), result));
    }
    let (yes, no) = (Operand::IdRef(truths[1].0), Operand::IdRef(truths[0].0));
    for (op, result) in [
        (S::LogicalOr, true),
        (S::LogicalAnd, false),
        (S::LogicalEqual, false),
        (S::LogicalNotEqual, true),
    ] {
        truths.push((w.spec(op, truth, &[yes.clone(), no.clone()]), result));
    }
    truths.push((w.spec(S::LogicalNot, truth, &[yes]), false));
    for (v, result) in truths {
        let v = w.spec(S::Select, word, &[Operand::IdRef(v), one.clone(), zero.clone()]);
        w.store(v);
        want.push(u32::from(result));
    }
    // Vectors: a component of the shuffle is undefined and not looked at.
    let pair = w.b.type_vector(word, 2);
    let ids = [&a, &b].map(|o| o.id_ref_any().unwrap());
    let both = w.b.spec_constant_composite(pair, ids);
    let both = Operand::IdRef(both);
    let literal = Operand::LiteralBit32;
    let triple = w.b.type_vector(word, 3);
    let order = [both.clone(), both.clone(), literal(3), literal(u32::MAX), literal(0)];
    let shuffled = Operand::IdRef(w.spec(S::VectorShuffle, triple, &order));
    let inserted = w.spec(S::CompositeInsert, triple, &[one.clone(), shuffled.clone(), literal(2)]);
    for (from, k, result) in
        [(shuffled.clone(), 0, y), (shuffled, 2, x), (Operand::IdRef(inserted), 2, 1)]
    {
        let v = w.spec(S::CompositeExtract, word, &[from, literal(k)]);
        w.store(v);
        want.push(result);
    }
    // Conversions.
    let (half, float) = (w.b.type_int(16, 0), w.b.type_float(32, None));
    let narrow = Operand::IdRef(w.spec(S::UConvert, half, &[a]));
    for (op, result) in [(S::UConvert, x & 0xffff), (S::SConvert, x)] {
        let v = w.spec(op, word, std::slice::from_ref(&narrow));
        w.store(v);
        want.push(result);
    }
    let third = Operand::IdRef(w.b.spec_constant_bit32(float, (1.0f32 / 3.0).to_bits()));
    let float16 = w.b.type_float(16, None);
    let short = Operand::IdRef(w.spec(S::FConvert, float16, std::slice::from_ref(&third)));
    for v in [w.spec(S::FConvert, float, &[short]), w.spec(S::QuantizeToF16, float, &[third])] {
        let v = w.b.bitcast(word, None, v).unwrap();
        w.store(v);
        want.push(0x3eaa_a000);
    }
    let room = vec![0; want.len()];
    w.check(&room, &want);
}

/// One side of a selection goes on where the other begins, in front of the merge block.
#[test]
fn a_side_that_both_ways_reach() {
    for first in [0u32, 1] {
        let mut w = Writer::new();
        let truth = w.b.type_bool();
        let from = w.place(0);
        let x = w.b.load(w.word, None, from, None, []).unwrap();
        let zero = w.b.constant_bit32(w.word, 0);
        let c = w.b.i_equal(truth, None, x, zero).unwrap();
        let [side, join, merge] = [(); 3].map(|()| w.b.id());
        w.b.selection_merge(merge, SelectionControl::NONE).unwrap();
        w.b.branch_conditional(c, join, side, []).unwrap();
        w.b.begin_block(Some(side)).unwrap();
        let (seven, nine) = (w.b.constant_bit32(w.word, 7), w.b.constant_bit32(w.word, 9));
        w.stored = 1;
        w.store(seven);
        w.b.branch(join).unwrap();
        w.b.begin_block(Some(join)).unwrap();
        w.store(nine);
        w.b.branch(merge).unwrap();
        w.b.begin_block(Some(merge)).unwrap();
        w.check(&[first, 0, 0], &[first, if first == 0 { 0 } else { 7 }, 9]);
    }
}

#[test]
fn null_pointers_of_workgroup_memory_equal_no_variable() {
    let mut w = Writer::new();
    w.b.capability(Capability::VariablePointers);
    let (word, truth) = (w.word, w.b.type_bool());
    let pointer = w.b.type_pointer(None, StorageClass::Workgroup, word);
    let variable = w.b.id();
    let class = vec![Operand::StorageClass(StorageClass::Workgroup)];
    let declared = Instruction::new(S::Variable, Some(pointer), Some(variable), class);
    w.b.module_mut().types_global_values.push(declared);
    let [null, other] = [(); 2].map(|()| w.b.constant_null(pointer));
    let [zero, one] = [0, 1].map(|n| w.b.constant_bit32(word, n));
    for [a, b] in [[variable, null], [null, other], [variable, variable]] {
        let is = w.b.ptr_equal(truth, None, a, b).unwrap();
        let v = w.b.select(word, None, is, one, zero).unwrap();
        w.store(v);
    }
    w.check(&[7; 3], &[0, 1, 1]);
}
