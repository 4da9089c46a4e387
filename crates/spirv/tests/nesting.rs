//! Types and values that nest, and modules that a few words make large: run, or refused with an error, on
//! a small stack.

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{self, Word};
use tepui_ir::interp::{Memory, dispatch};
use tepui_spirv::{Error, Kind, Options, translate};

/// A compute shader with a storage buffer of words.
struct Kernel {
    b: Builder,
    u32: Word,
    word: Word,
    buffer: Word,
    function: Word,
}

impl Kernel {
    fn new() -> Kernel {
        let mut b = Builder::new();
        b.set_version(1, 6);
        b.capability(spirv::Capability::Shader);
        b.memory_model(spirv::AddressingModel::Logical, spirv::MemoryModel::GLSL450);
        let u32 = b.type_int(32, 0);
        let array = b.type_runtime_array(u32);
        b.decorate(array, spirv::Decoration::ArrayStride, [Operand::LiteralBit32(4)]);
        let block = b.type_struct([array]);
        b.member_decorate(block, 0, spirv::Decoration::Offset, [Operand::LiteralBit32(0)]);
        let class = spirv::StorageClass::StorageBuffer;
        let to_block = b.type_pointer(None, class, block);
        let word = b.type_pointer(None, class, u32);
        let buffer = b.variable(to_block, None, class, None);
        b.decorate(buffer, spirv::Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
        b.decorate(buffer, spirv::Decoration::Binding, [Operand::LiteralBit32(0)]);
        let void = b.type_void();
        let function = b.type_function(void, []);
        Kernel { b, u32, word, buffer, function }
    }

    fn main(&mut self) {
        let void = self.b.type_void();
        let none = spirv::FunctionControl::NONE;
        let main = self.b.begin_function(void, None, none, self.function).unwrap();
        self.b.entry_point(spirv::ExecutionModel::GLCompute, main, "main", [self.buffer]);
        self.b.execution_mode(main, spirv::ExecutionMode::LocalSize, [1, 1, 1]);
        self.b.begin_block(None).unwrap();
    }

    fn store(&mut self, at: u32, v: Word) {
        let (zero, at) = (self.b.constant_bit32(self.u32, 0), self.b.constant_bit32(self.u32, at));
        let p = self.b.access_chain(self.word, None, self.buffer, [zero, at]).unwrap();
        self.b.store(p, v, None, []).unwrap();
    }

    fn end(mut self) -> Vec<u32> {
        self.b.ret().unwrap();
        self.b.end_function().unwrap();
        self.b.module().assemble()
    }
}

/// Runs on a stack that is smaller than what programs give their threads.
fn on_small_stack<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|s| {
        let thread = std::thread::Builder::new().stack_size(192 << 10);
        thread.spawn_scoped(s, f).unwrap().join().unwrap()
    })
}

fn refused(words: &[u32]) -> Error {
    on_small_stack(|| translate(words, &Options::default()).map(|s| s.insts.len())).unwrap_err()
}

/// `levels` structures, each with an array of one of the next, around a word and its neighbour.
fn nested(levels: u32) -> Vec<u32> {
    let mut k = Kernel::new();
    let one = k.b.constant_bit32(k.u32, 1);
    let mut ty = k.b.type_struct([k.u32, k.u32]);
    for _ in 1..levels {
        let array = k.b.type_array(ty, one);
        ty = k.b.type_struct([array]);
    }
    let to = k.b.type_pointer(None, spirv::StorageClass::Function, ty);
    let leaf = k.b.type_pointer(None, spirv::StorageClass::Function, k.u32);
    k.main();
    let [a, b] = [0, 1].map(|_| k.b.variable(to, None, spirv::StorageClass::Function, None));
    let zero = k.b.constant_bit32(k.u32, 0);
    let path = |last: u32, k: &mut Kernel| {
        let mut path = vec![zero; 2 * (levels as usize - 1)];
        path.push(k.b.constant_bit32(k.u32, last));
        path
    };
    let first = path(0, &mut k);
    let second = path(1, &mut k);
    let p = k.b.access_chain(leaf, None, a, first).unwrap();
    let n = k.b.constant_bit32(k.u32, 77);
    k.b.store(p, n, None, []).unwrap();
    // The whole value, by way of a load, an insertion and a store.
    let whole = k.b.load(ty, None, a, None, []).unwrap();
    let n = k.b.constant_bit32(k.u32, 88);
    let literal: Vec<u32> = std::iter::repeat_n(0, 2 * (levels as usize - 1)).chain([1]).collect();
    let whole = k.b.composite_insert(ty, None, n, whole, literal).unwrap();
    k.b.store(b, whole, None, []).unwrap();
    let p = k.b.access_chain(leaf, None, b, second).unwrap();
    let v = k.b.load(k.u32, None, p, None, []).unwrap();
    k.store(0, v);
    let null = k.b.constant_null(ty);
    k.b.store(a, null, None, []).unwrap();
    let first = path(0, &mut k);
    let p = k.b.access_chain(leaf, None, b, first).unwrap();
    let v = k.b.load(k.u32, None, p, None, []).unwrap();
    k.store(1, v);
    k.end()
}

#[test]
fn structures_nest_as_deep_as_the_specification_allows() {
    for levels in [65, 200, 255] {
        let words = nested(levels);
        let memory = on_small_stack(|| {
            let mut s = translate(&words, &Options::default()).unwrap();
            tepui_ir::validate(&s).unwrap();
            tepui_passes::pipeline::optimise(&mut s);
            let mut m = Memory::default();
            m.set_words(0, 0, &[0; 2]);
            dispatch(&s, [1; 3], &mut m, 10_000).unwrap();
            m.words(0, 0)
        });
        assert_eq!(memory, [88, 77], "{levels}");
    }
    let error = refused(&nested(257));
    assert_eq!(error.kind, Kind::Invalid("types nest deeper than 512".to_owned()));
}

#[test]
fn values_that_share_their_parts_are_bounded() {
    // Twice the leaves at each level.
    let mut k = Kernel::new();
    let mut ty = k.b.type_struct([k.u32, k.u32]);
    let one = k.b.constant_bit32(k.u32, 1);
    let mut v = k.b.constant_composite(ty, [one, one]);
    for _ in 0..60 {
        ty = k.b.type_struct([ty, ty]);
        v = k.b.constant_composite(ty, [v, v]);
    }
    k.main();
    assert!(matches!(refused(&k.end()).kind, Kind::TooLarge(_)));

    // A value that is a part of another of its own type.
    let mut k = Kernel::new();
    let inner = k.b.type_struct([k.u32]);
    let ty = k.b.type_struct([inner]);
    k.main();
    let one = k.b.constant_bit32(k.u32, 1);
    let mut v = k.b.composite_construct(inner, None, [one]).unwrap();
    for _ in 0..50_000 {
        v = k.b.composite_construct(ty, None, [v]).unwrap();
    }
    assert!(matches!(refused(&k.end()).kind, Kind::TooLarge(_)));
}

#[test]
fn nothing_of_any_length_is_bounded() {
    let mut k = Kernel::new();
    let empty = k.b.type_struct([]);
    let many = k.b.constant_bit32(k.u32, u32::MAX);
    let array = k.b.type_array(empty, many);
    k.b.constant_null(array);
    k.main();
    assert!(matches!(refused(&k.end()).kind, Kind::TooLarge(_)));
}

#[test]
fn calls_that_double_are_bounded() {
    let mut k = Kernel::new();
    let void = k.b.type_void();
    let mut callee = None;
    for _ in 0..40 {
        let none = spirv::FunctionControl::NONE;
        let f = k.b.begin_function(void, None, none, k.function).unwrap();
        k.b.begin_block(None).unwrap();
        if let Some(callee) = callee {
            k.b.function_call(void, None, callee, []).unwrap();
            k.b.function_call(void, None, callee, []).unwrap();
        }
        k.b.ret().unwrap();
        k.b.end_function().unwrap();
        callee = Some(f);
    }
    k.main();
    k.b.function_call(void, None, callee.unwrap(), []).unwrap();
    assert!(matches!(refused(&k.end()).kind, Kind::TooLarge(_)));
}

#[test]
fn names_are_bounded() {
    let mut k = Kernel::new();
    let ty = k.b.type_struct(vec![k.u32; 20_000]);
    let to = k.b.type_pointer(None, spirv::StorageClass::Function, ty);
    k.main();
    let v = k.b.variable(to, None, spirv::StorageClass::Function, None);
    k.b.name(v, "é".repeat(100_000));
    let s = translate(&k.end(), &Options::default()).unwrap();
    assert!(s.vars.values().all(|v| v.name.len() <= 200), "the variable's name is repeated");
}
