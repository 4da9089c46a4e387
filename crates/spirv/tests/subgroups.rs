//! Masks of lanes, ballots and scans of sub-groups of several sizes, against values from the definitions of SPIR-V.

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel,
    FunctionControl, GroupOperation, MemoryModel, Scope, StorageClass, Word,
};
use tepui_ir::interp::{Memory, dispatch_of};
use tepui_passes::pipeline::Pipeline;
use tepui_spirv::{Options, translate};

const MASKS: [BuiltIn; 5] = [
    BuiltIn::SubgroupEqMask,
    BuiltIn::SubgroupGeMask,
    BuiltIn::SubgroupGtMask,
    BuiltIn::SubgroupLeMask,
    BuiltIn::SubgroupLtMask,
];

/// Double words that each invocation stores: the first word of each mask, a scan, and the number of bits and the highest one of a ballot.
const WORDS: u32 = MASKS.len() as u32 + 3;

/// A shader whose 32 invocations store their masks of lanes, the exclusive sum of `number`, and what there is of lanes in a ballot of ones.
fn module(number: f32) -> Vec<u32> {
    let mut b = Builder::new();
    b.set_version(1, 3);
    for capability in [
        Capability::Shader,
        Capability::GroupNonUniform,
        Capability::GroupNonUniformBallot,
        Capability::GroupNonUniformArithmetic,
    ] {
        b.capability(capability);
    }
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let (void, float, uint) = (b.type_void(), b.type_float(32, None), b.type_int(32, 0));
    let vec4 = b.type_vector(uint, 4);
    let array = b.type_runtime_array(uint);
    b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(4)]);
    let block = b.type_struct([array]);
    b.decorate(block, Decoration::Block, []);
    b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
    let pointer = b.type_pointer(None, StorageClass::StorageBuffer, block);
    let element = b.type_pointer(None, StorageClass::StorageBuffer, uint);
    let out = b.variable(pointer, None, StorageClass::StorageBuffer, None);
    b.decorate(out, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
    b.decorate(out, Decoration::Binding, [Operand::LiteralBit32(0)]);
    let input = |b: &mut Builder, ty: Word, builtin: BuiltIn| {
        let pointer = b.type_pointer(None, StorageClass::Input, ty);
        let v = b.variable(pointer, None, StorageClass::Input, None);
        b.decorate(v, Decoration::BuiltIn, [Operand::BuiltIn(builtin)]);
        v
    };
    let masks = MASKS.map(|mask| input(&mut b, vec4, mask));
    let index_input = input(&mut b, uint, BuiltIn::LocalInvocationIndex);
    let [zero, words, scope] =
        [0, WORDS, Scope::Subgroup as u32].map(|n| b.constant_bit32(uint, n));
    let number = b.constant_bit32(float, number.to_bits());
    let function = b.type_function(void, []);
    let main = b.begin_function(void, None, FunctionControl::NONE, function).unwrap();
    b.begin_block(None).unwrap();
    let index = b.load(uint, None, index_input, None, []).unwrap();
    let first = b.i_mul(uint, None, index, words).unwrap();
    let scan = GroupOperation::ExclusiveScan;
    let sum = b.group_non_uniform_f_add(float, None, scope, scan, number, None).unwrap();
    let mut values: Vec<Word> = Vec::new();
    for mask in masks {
        let all = b.load(vec4, None, mask, None, []).unwrap();
        values.push(b.composite_extract(uint, None, all, [0]).unwrap());
    }
    values.push(b.bitcast(uint, None, sum).unwrap());
    let ones = b.constant_bit32(uint, u32::MAX);
    let ballot = b.constant_composite(vec4, [ones; 4]);
    let reduce = GroupOperation::Reduce;
    values.push(b.group_non_uniform_ballot_bit_count(uint, None, scope, reduce, ballot).unwrap());
    values.push(b.group_non_uniform_ballot_find_msb(uint, None, scope, ballot).unwrap());
    for (k, value) in (0..).zip(values) {
        let k = b.constant_bit32(uint, k);
        let at = b.i_add(uint, None, first, k).unwrap();
        let to = b.access_chain(element, None, out, [zero, at]).unwrap();
        b.store(to, value, None, []).unwrap();
    }
    b.ret().unwrap();
    b.end_function().unwrap();
    let mut interface = masks.to_vec();
    interface.extend([index_input, out]);
    b.entry_point(ExecutionModel::GLCompute, main, "main", interface);
    b.execution_mode(main, ExecutionMode::LocalSize, [32, 1, 1]);
    b.module().assemble()
}

/// The masks of a lane, the bits of its sum, the number of lanes and the last one.
fn expected(number: f32, lane: u32, size: u32) -> [u32; WORDS as usize] {
    let lanes = |is_in: &dyn Fn(u32) -> bool| (0..size).filter(|&n| is_in(n)).map(|n| 1 << n).sum();
    [
        lanes(&|n| n == lane),
        lanes(&|n| n >= lane),
        lanes(&|n| n > lane),
        lanes(&|n| n <= lane),
        lanes(&|n| n < lane),
        (0..lane).fold(0.0, |sum, _| sum + number).to_bits(),
        size,
        size - 1,
    ]
}

#[test]
fn masks_and_sums_have_the_bits_that_spirv_defines() {
    for number in [1.5, -0.0] {
        let words = module(number);
        for size in [8, 16, 32] {
            for passes in [false, true] {
                let mut s = translate(&words, &Options::default()).unwrap();
                if passes {
                    let lanes = (size == 32).then_some(size);
                    Pipeline::new(lanes, &mut |_, _| {}).optimise(&mut s);
                }
                let mut m = Memory::default();
                m.set_words(0, 0, &[7; 32 * WORDS as usize]);
                dispatch_of(&s, [1; 3], size as usize, &mut m, 100_000).unwrap();
                let found = m.words(0, 0);
                for (n, found) in (0..).zip(found.chunks(WORDS as usize)) {
                    let want = expected(number, n % size, size);
                    assert_eq!(found, want, "invocation {n} of sub-groups of {size} lanes\n{s}");
                }
            }
        }
    }
}
