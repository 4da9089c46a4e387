//! Untyped pointers: one memory that is read and written as several types, against a calculation.

mod mutation;

use proptest::prelude::*;
use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Instruction, Operand};
use rspirv::spirv::{
    AddressingModel, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl,
    MemoryModel, Op, Scope, SelectionControl, StorageClass, Word,
};
use std::sync::LazyLock;
use tepui_ir::interp::{Memory, dispatch};
use tepui_passes::pipeline;
use tepui_spirv::{Options, translate};

/// Words of the buffers.
const WORDS: usize = 32;

/// Appends a declaration, of which the builder has no method.
fn declare(b: &mut Builder, op: Op, ty: Option<Word>, operands: Vec<Operand>) -> Word {
    let id = b.id();
    b.module_mut().types_global_values.push(Instruction::new(op, ty, Some(id), operands));
    id
}

/// A shader that reads the buffer of binding 0 and writes that of binding 1, both untyped.
fn module() -> Vec<u32> {
    let mut b = Builder::new();
    b.set_version(1, 4);
    for capability in [
        Capability::Shader,
        Capability::Int64,
        Capability::Int16,
        Capability::StorageBuffer16BitAccess,
        Capability::VariablePointers,
        Capability::UntypedPointersKHR,
    ] {
        b.capability(capability);
    }
    b.extension("SPV_KHR_untyped_pointers");
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let (void, boolean) = (b.type_void(), b.type_bool());
    let [short, uint, long] = [16, 32, 64].map(|bits| b.type_int(bits, 0));
    let [short2, uint2, uint4] =
        [(short, 2), (uint, 2), (uint, 4)].map(|(t, n)| b.type_vector(t, n));
    let array = |b: &mut Builder, element: Word, stride: u32| {
        let array = b.type_runtime_array(element);
        b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(stride)]);
        array
    };
    let [words, longs] = [(uint, 4), (long, 8)].map(|(t, n)| array(&mut b, t, n));
    let three = b.constant_bit32(uint, 3);
    let sparse = b.type_array(uint, three);
    b.decorate(sparse, Decoration::ArrayStride, [Operand::LiteralBit32(12)]);
    let structure = |b: &mut Builder, members: &[(Word, u32)], block: bool| {
        let s = b.type_struct(members.iter().map(|m| m.0));
        for (k, m) in (0..).zip(members) {
            b.member_decorate(s, k, Decoration::Offset, [Operand::LiteralBit32(m.1)]);
        }
        if block {
            b.decorate(s, Decoration::Block, []);
        }
        s
    };
    let block = structure(&mut b, &[(words, 0)], true);
    let later = structure(&mut b, &[(uint2, 0), (sparse, 20)], false);
    let class = Operand::StorageClass(StorageClass::StorageBuffer);
    let pointer = declare(&mut b, Op::TypeUntypedPointerKHR, None, vec![class.clone()]);
    let strided = declare(&mut b, Op::TypeUntypedPointerKHR, None, vec![class.clone()]);
    b.decorate(strided, Decoration::ArrayStride, [Operand::LiteralBit32(16)]);
    let [from, to] = [0, 1].map(|binding| {
        let operands = vec![class.clone(), Operand::IdRef(block)];
        let v = declare(&mut b, Op::UntypedVariableKHR, Some(pointer), operands);
        b.decorate(v, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
        b.decorate(v, Decoration::Binding, [Operand::LiteralBit32(binding)]);
        v
    });
    let n: Vec<Word> = (0..64).map(|n| b.constant_bit32(uint, n)).collect();
    let [device, relaxed] = [Scope::Device as u32, 0].map(|n| b.constant_bit32(uint, n));
    let function = b.type_function(void, []);
    let main = b.begin_function(void, None, FunctionControl::NONE, function).unwrap();
    b.begin_block(None).unwrap();

    // Words 0 and 1: the second long, which is words 2 and 3.
    let at = b.untyped_access_chain_khr(pointer, None, longs, from, [n[1]]).unwrap();
    let x = b.load(long, None, at, None, []).unwrap();
    b.store(to, x, None, []).unwrap();
    // Word 2: halves of word 4, swapped.
    let at = b.untyped_access_chain_khr(pointer, None, words, from, [n[4]]).unwrap();
    let x = b.load(short2, None, at, None, []).unwrap();
    let x = b.vector_shuffle(short2, None, x, x, [1, 0]).unwrap();
    let out = b.untyped_in_bounds_access_chain_khr(pointer, None, block, to, [n[0], n[2]]).unwrap();
    b.store(out, x, None, []).unwrap();
    // Word 3: the third of an array after 20 bytes, in a structure after 8: word 13.
    let at = b.untyped_access_chain_khr(pointer, None, words, from, [n[2]]).unwrap();
    let at = b.untyped_access_chain_khr(pointer, None, later, at, [n[1], n[2]]).unwrap();
    let x = b.load(uint, None, at, None, []).unwrap();
    let out = b.untyped_access_chain_khr(pointer, None, words, to, [n[3]]).unwrap();
    b.store(out, x, None, []).unwrap();
    // Words 4 to 7: the vector two strides of 16 bytes after word 4.
    let at = b.untyped_access_chain_khr(strided, None, words, from, [n[4]]).unwrap();
    let at = b.untyped_ptr_access_chain_khr(pointer, None, uint4, at, n[2], []).unwrap();
    let x = b.load(uint4, None, at, None, []).unwrap();
    let out = b.untyped_access_chain_khr(pointer, None, words, to, [n[4]]).unwrap();
    b.store(out, x, None, []).unwrap();
    // Word 8: the length.
    let length = b.untyped_array_length_khr(uint, None, block, from, 0).unwrap();
    let out = b.untyped_access_chain_khr(pointer, None, words, to, [n[8]]).unwrap();
    b.store(out, length, None, []).unwrap();
    // Words 9 to 11: a copy of 10 bytes from the second byte of word 20 on, which leaves two bytes.
    let at = b.untyped_access_chain_khr(pointer, None, short2, from, [n[1]]).unwrap();
    let at = b.untyped_ptr_access_chain_khr(pointer, None, uint, at, n[20], []).unwrap();
    let out = b.untyped_access_chain_khr(pointer, None, words, to, [n[9]]).unwrap();
    b.copy_memory_sized(out, at, n[10], None, None, []).unwrap();
    // Word 12: what stood there plus word 5; word 13: what stood there.
    let at = b.untyped_access_chain_khr(pointer, None, words, from, [n[5]]).unwrap();
    let x = b.atomic_load(uint, None, at, device, relaxed).unwrap();
    let out = b.untyped_access_chain_khr(pointer, None, words, to, [n[12]]).unwrap();
    let old = b.atomic_i_add(uint, None, out, device, relaxed, x).unwrap();
    let out = b.untyped_access_chain_khr(pointer, None, words, to, [n[13]]).unwrap();
    b.atomic_store(out, device, relaxed, old).unwrap();
    // Word 14 and 15: a choice of words 6 and 7, by control flow and by a condition, of word 0.
    let at = b.untyped_access_chain_khr(pointer, None, words, from, [n[0]]).unwrap();
    let x = b.load(uint, None, at, None, []).unwrap();
    let odd = b.bitwise_and(uint, None, x, n[1]).unwrap();
    let odd = b.i_not_equal(boolean, None, odd, n[0]).unwrap();
    let six = b.untyped_access_chain_khr(pointer, None, words, from, [n[6]]).unwrap();
    let seven = b.untyped_access_chain_khr(pointer, None, longs, from, [n[3]]).unwrap();
    let seven = b.untyped_access_chain_khr(pointer, None, uint2, seven, [n[1]]).unwrap();
    let chosen = b.select(pointer, None, odd, six, seven).unwrap();
    let x = b.load(uint, None, chosen, None, []).unwrap();
    let out = b.untyped_access_chain_khr(pointer, None, words, to, [n[15]]).unwrap();
    b.store(out, x, None, []).unwrap();
    // Word 16: bytes from word 6 to word 7.
    let bytes = b.ptr_diff(uint, None, seven, six).unwrap();
    let out = b.untyped_access_chain_khr(pointer, None, words, to, [n[16]]).unwrap();
    b.store(out, bytes, None, []).unwrap();
    let [left, right, end] = [b.id(), b.id(), b.id()];
    b.selection_merge(end, SelectionControl::NONE).unwrap();
    b.branch_conditional(odd, left, right, []).unwrap();
    for label in [left, right] {
        b.begin_block(Some(label)).unwrap();
        b.branch(end).unwrap();
    }
    b.begin_block(Some(end)).unwrap();
    let chosen = b.phi(pointer, None, [(seven, left), (six, right)]).unwrap();
    let x = b.load(short2, None, chosen, None, []).unwrap();
    let out = b.untyped_access_chain_khr(pointer, None, words, to, [n[14]]).unwrap();
    b.store(out, x, None, []).unwrap();
    b.ret().unwrap();
    b.end_function().unwrap();
    b.entry_point(ExecutionModel::GLCompute, main, "main", [from, to]);
    b.execution_mode(main, ExecutionMode::LocalSize, [1, 1, 1]);
    b.module().assemble()
}

static MODULE: LazyLock<Vec<u32>> = LazyLock::new(module);

/// The words of the second buffer.
fn expected(from: &[u32], to: &[u32]) -> Vec<u32> {
    let mut out = to.to_vec();
    (out[0], out[1]) = (from[2], from[3]);
    out[2] = from[4].rotate_left(16);
    out[3] = from[13];
    out[4..8].copy_from_slice(&from[12..16]);
    out[8] = from.len() as u32;
    let bytes: Vec<u8> = from.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut copied: Vec<u8> = out[9..12].iter().flat_map(|w| w.to_le_bytes()).collect();
    copied[..10].copy_from_slice(&bytes[82..92]);
    for (to, from) in out[9..12].iter_mut().zip(copied.chunks_exact(4)) {
        *to = u32::from_le_bytes([from[0], from[1], from[2], from[3]]);
    }
    out[13] = out[12];
    out[12] = out[12].wrapping_add(from[5]);
    out[16] = 4;
    let odd = from[0] & 1 != 0;
    (out[14], out[15]) = if odd { (from[7], from[6]) } else { (from[6], from[7]) };
    out
}

#[test]
fn accesses_have_the_types_of_their_instructions() {
    for first in [0u32, 1] {
        let word = |n: u32| n.wrapping_mul(0x9e37_79b9) >> 1 << 1;
        let from: Vec<u32> = (0..WORDS as u32).map(|n| word(n + 1) | first).collect();
        let to: Vec<u32> = (0..WORDS as u32).map(|n| word(n + 100)).collect();
        let mut s = translate(&MODULE, &Options::default()).unwrap();
        for passes in [false, true] {
            if passes {
                pipeline::optimise(&mut s);
            }
            tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
            let mut m = Memory::default();
            m.set_words(0, 0, &from);
            m.set_words(0, 1, &to);
            dispatch(&s, [1; 3], &mut m, 100_000).unwrap_or_else(|e| panic!("{e}\n{s}"));
            assert_eq!(m.words(0, 1), expected(&from, &to), "{s}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn mutated_modules_do_not_panic(edits in mutation::edits()) {
        mutation::check(&MODULE, edits)?;
    }
}
