//! Generates SPIR-V compute shaders of a given size and shape, for tests of limits and benchmarks
//! of compile time.
//!
//! Each shader updates a buffer of words (set 0, binding 0), one word per invocation;
//! [`Shape::Loads`] and [`Shape::Copies`] reverse words of the whole buffer instead.
//! [`Shape::result`] computes the expected result.

/// The control flow or data flow of a shader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A sequence of selections with a then and an else block.
    Ifs,
    /// Nested selections.
    NestedIfs,
    /// Nested loops: the outermost with two iterations, the others with one.
    NestedLoops,
    /// A sequence of selections that return.
    Returns,
    /// Loads of every third word, all live at once, then stores of them in reverse order.
    Loads,
    /// Loads and stores as [`Shape::Loads`], of adjacent words.
    Copies,
    /// Dependent arithmetic in one block.
    Chain,
    /// One switch of many cases.
    Switch,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Shape; 8] = [
        Shape::Ifs,
        Shape::NestedIfs,
        Shape::NestedLoops,
        Shape::Returns,
        Shape::Loads,
        Shape::Copies,
        Shape::Chain,
        Shape::Switch,
    ];

    /// The name that reports print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Shape::Ifs => "ifs",
            Shape::NestedIfs => "nested ifs",
            Shape::NestedLoops => "nested loops",
            Shape::Returns => "returns",
            Shape::Loads => "loads",
            Shape::Copies => "copies",
            Shape::Chain => "chain",
            Shape::Switch => "switch",
        }
    }

    /// The expected result of a shader of `n` pieces for a word. Shapes that only move words do not
    /// change it.
    #[must_use]
    pub fn result(self, n: u32, mut x: u32) -> u32 {
        let bit = |x: u32, k: u32| x & (1 << (k % 32)) != 0;
        match self {
            Shape::Ifs => {
                for k in 0..n {
                    x = if bit(x, k) { x.wrapping_mul(3).wrapping_add(k) } else { x ^ odd(k) };
                }
            }
            Shape::NestedIfs => {
                let mut depth = 0;
                while depth < n && bit(x, depth) {
                    x = x.wrapping_add(odd(depth));
                    depth += 1;
                }
                for k in (0..=depth.min(n - 1)).rev() {
                    x ^= k;
                }
            }
            Shape::NestedLoops => {
                fn level(k: u32, n: u32, x: &mut u32) {
                    let mut i = if k == 0 { 0 } else { 1 };
                    while i < 2 {
                        *x = x.wrapping_add(odd(k));
                        if k + 1 < n {
                            level(k + 1, n, x);
                        }
                        i += 1;
                    }
                    *x ^= k;
                }
                level(0, n, &mut x);
            }
            Shape::Returns => {
                for k in 0..n {
                    if x == odd(k) {
                        return x.wrapping_add(k);
                    }
                    x = x.wrapping_mul(5).wrapping_add(k);
                }
            }
            Shape::Loads | Shape::Copies => {}
            Shape::Chain => {
                for k in 0..n {
                    x = x.wrapping_mul(x).wrapping_add(k) ^ odd(k);
                }
            }
            Shape::Switch => x = if x < n { x.wrapping_mul(odd(x)) } else { x },
        }
        x
    }

    /// The SPIR-V words of a module with `n` pieces.
    #[must_use]
    pub fn module(self, n: u32) -> Vec<u32> {
        let mut m = Module::new();
        match self {
            Shape::Loads => m.loads(n, 3),
            Shape::Copies => m.loads(n, 1),
            _ => {
                let x = m.word();
                m.store_x(x);
                match self {
                    Shape::Ifs => m.ifs(n),
                    Shape::NestedIfs => m.nested_ifs(n),
                    Shape::NestedLoops => m.nested_loops(n),
                    Shape::Returns => m.returns(n),
                    Shape::Switch => m.switch(n),
                    _ => m.chain(n),
                }
                m.store_and_return();
            }
        }
        m.finish()
    }
}

// Opcodes and enumerants. source: SPIR-V specification, section 3
const FUNCTION: u32 = 7;
const STORAGE_BUFFER: u32 = 12;

// Ids that every module defines.
const MAIN: u32 = 1;
const VOID: u32 = 2;
const MAIN_TYPE: u32 = 3;
const U32: u32 = 4;
const BOOL: u32 = 5;
const UVEC3: u32 = 6;
const UVEC3_PTR: u32 = 7;
const ID: u32 = 8;
const ARRAY: u32 = 9;
const STRUCT: u32 = 10;
const STRUCT_PTR: u32 = 11;
const DATA: u32 = 12;
const WORD_PTR: u32 = 13;
const VAR_PTR: u32 = 14;
const X: u32 = 15;
const FIRST_FREE: u32 = 16;

/// A module under construction.
struct Module {
    /// The function's variables, declared in its first block.
    vars: Vec<u32>,
    constants: Vec<u32>,
    body: Vec<u32>,
    next: u32,
    /// Ids of constants by value.
    known: std::collections::HashMap<u32, u32>,
    /// Pointer to the invocation's word in the buffer.
    word_pointer: u32,
}

fn op(out: &mut Vec<u32>, code: u32, operands: &[u32]) {
    out.push((operands.len() as u32 + 1) << 16 | code);
    out.extend_from_slice(operands);
}

impl Module {
    fn new() -> Module {
        let mut m = Module {
            vars: Vec::new(),
            constants: Vec::new(),
            body: Vec::new(),
            next: FIRST_FREE,
            known: std::collections::HashMap::new(),
            word_pointer: 0,
        };
        op(&mut m.vars, 59, &[VAR_PTR, X, FUNCTION]);
        m
    }

    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn konst(&mut self, value: u32) -> u32 {
        if let Some(&id) = self.known.get(&value) {
            return id;
        }
        let id = self.id();
        op(&mut self.constants, 43, &[U32, id, value]);
        self.known.insert(value, id);
        id
    }

    /// Emits an instruction with a result of type `ty`.
    fn value(&mut self, code: u32, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        let all: Vec<u32> = [ty, id].into_iter().chain(operands.iter().copied()).collect();
        op(&mut self.body, code, &all);
        id
    }

    fn emit(&mut self, code: u32, operands: &[u32]) {
        op(&mut self.body, code, operands);
    }

    fn label(&mut self, id: u32) {
        self.emit(248, &[id]);
    }

    fn branch(&mut self, to: u32) {
        self.emit(249, &[to]);
    }

    /// Creates a pointer to a word of the buffer.
    fn element(&mut self, index: u32) -> u32 {
        let zero = self.konst(0);
        self.value(65, WORD_PTR, &[DATA, zero, index])
    }

    fn load(&mut self, pointer: u32) -> u32 {
        self.value(61, U32, &[pointer])
    }

    /// Loads the invocation's word.
    fn word(&mut self) -> u32 {
        let id = self.value(61, UVEC3, &[ID]);
        let index = self.value(81, U32, &[id, 0]);
        self.word_pointer = self.element(index);
        self.load(self.word_pointer)
    }

    fn store_x(&mut self, v: u32) {
        self.emit(62, &[X, v]);
    }

    fn add(&mut self, a: u32, k: u32) -> u32 {
        let k = self.konst(k);
        self.value(128, U32, &[a, k])
    }

    fn mul(&mut self, a: u32, k: u32) -> u32 {
        let k = self.konst(k);
        self.value(132, U32, &[a, k])
    }

    fn xor(&mut self, a: u32, k: u32) -> u32 {
        let k = self.konst(k);
        self.value(198, U32, &[a, k])
    }

    /// Tests whether bit `k % 32` of `x` is set.
    fn bit(&mut self, x: u32, k: u32) -> u32 {
        let mask = self.konst(1 << (k % 32));
        let masked = self.value(199, U32, &[x, mask]);
        let zero = self.konst(0);
        self.value(171, BOOL, &[masked, zero])
    }

    /// Ends a block with a selection; returns its then, else and merge labels. The then block
    /// begins.
    fn select(&mut self, cond: u32) -> [u32; 3] {
        let labels = [self.id(), self.id(), self.id()];
        self.emit(247, &[labels[2], 0]);
        self.emit(250, &[cond, labels[0], labels[1]]);
        self.label(labels[0]);
        labels
    }

    /// Stores the result and ends the function's last block.
    fn store_and_return(&mut self) {
        let x = self.load(X);
        self.emit(62, &[self.word_pointer, x]);
        self.emit(253, &[]);
    }

    fn ifs(&mut self, n: u32) {
        for k in 0..n {
            let x = self.load(X);
            let cond = self.bit(x, k);
            let [_, otherwise, merge] = self.select(cond);
            let tripled = self.mul(x, 3);
            let then = self.add(tripled, k);
            self.store_x(then);
            // No pass flattens a selection with a store.
            self.emit(62, &[self.word_pointer, then]);
            self.branch(merge);
            self.label(otherwise);
            let els = self.xor(x, odd(k));
            self.store_x(els);
            self.branch(merge);
            self.label(merge);
        }
    }

    fn nested_ifs(&mut self, n: u32) {
        let mut merges = Vec::new();
        for k in 0..n {
            let x = self.load(X);
            let cond = self.bit(x, k);
            let [_, otherwise, merge] = self.select(cond);
            let sum = self.add(x, odd(k));
            self.store_x(sum);
            merges.push((k, otherwise, merge));
        }
        for (k, otherwise, merge) in merges.into_iter().rev() {
            self.branch(merge);
            self.label(otherwise);
            self.branch(merge);
            self.label(merge);
            let x = self.load(X);
            let x = self.xor(x, k);
            self.store_x(x);
        }
    }

    fn nested_loops(&mut self, n: u32) {
        let mut open = Vec::new();
        for k in 0..n {
            let counter = self.id();
            op(&mut self.vars, 59, &[VAR_PTR, counter, FUNCTION]);
            let first = self.konst(u32::from(k > 0));
            self.emit(62, &[counter, first]);
            let [header, test, body, next, merge] = [(); 5].map(|()| self.id());
            self.branch(header);
            self.label(header);
            self.emit(246, &[merge, next, 0]);
            self.branch(test);
            self.label(test);
            let i = self.load(counter);
            let two = self.konst(2);
            let more = self.value(176, BOOL, &[i, two]);
            self.emit(250, &[more, body, merge]);
            self.label(body);
            let x = self.load(X);
            let sum = self.add(x, odd(k));
            self.store_x(sum);
            open.push((k, counter, header, next, merge));
        }
        for (k, counter, header, next, merge) in open.into_iter().rev() {
            self.branch(next);
            self.label(next);
            let i = self.load(counter);
            let i = self.add(i, 1);
            self.emit(62, &[counter, i]);
            self.branch(header);
            self.label(merge);
            let x = self.load(X);
            let x = self.xor(x, k);
            self.store_x(x);
        }
    }

    fn returns(&mut self, n: u32) {
        for k in 0..n {
            let x = self.load(X);
            let special = self.konst(odd(k));
            let cond = self.value(170, BOOL, &[x, special]);
            let merge = self.id();
            let then = self.id();
            self.emit(247, &[merge, 0]);
            self.emit(250, &[cond, then, merge]);
            self.label(then);
            let sum = self.add(x, k);
            self.emit(62, &[self.word_pointer, sum]);
            self.emit(253, &[]);
            self.label(merge);
            let product = self.mul(x, 5);
            let sum = self.add(product, k);
            self.store_x(sum);
        }
    }

    fn loads(&mut self, n: u32, stride: u32) {
        let mut words = Vec::new();
        for k in 0..n {
            let index = self.konst(stride * k);
            let word_pointer = self.element(index);
            words.push(self.load(word_pointer));
        }
        for (k, &v) in words.iter().rev().enumerate() {
            let index = self.konst(stride * k as u32);
            let word_pointer = self.element(index);
            self.emit(62, &[word_pointer, v]);
        }
        self.emit(253, &[]);
    }

    fn chain(&mut self, n: u32) {
        let mut x = self.load(X);
        for k in 0..n {
            let square = self.value(132, U32, &[x, x]);
            let sum = self.add(square, k);
            x = self.xor(sum, odd(k));
        }
        self.store_x(x);
    }

    fn switch(&mut self, n: u32) {
        let x = self.load(X);
        let merge = self.id();
        let labels: Vec<u32> = (0..n).map(|_| self.id()).collect();
        self.emit(247, &[merge, 0]);
        let cases = labels.iter().enumerate().flat_map(|(k, &l)| [k as u32, l]);
        let operands: Vec<u32> = [x, merge].into_iter().chain(cases).collect();
        self.emit(251, &operands);
        for (k, &l) in labels.iter().enumerate() {
            self.label(l);
            let product = self.mul(x, odd(k as u32));
            self.store_x(product);
            self.branch(merge);
        }
        self.label(merge);
    }

    fn finish(mut self) -> Vec<u32> {
        let entry = self.id();
        let mut w = vec![0x0723_0203, 0x0001_0300, 0, self.next, 0];
        op(&mut w, 17, &[1]); // OpCapability Shader
        op(&mut w, 14, &[0, 1]); // OpMemoryModel Logical GLSL450
        op(&mut w, 15, &[5, MAIN, u32::from_le_bytes(*b"main"), 0, ID]);
        op(&mut w, 16, &[MAIN, 17, 32, 1, 1]); // LocalSize
        op(&mut w, 71, &[ID, 11, 28]); // BuiltIn GlobalInvocationId
        op(&mut w, 71, &[ARRAY, 6, 4]); // ArrayStride
        op(&mut w, 72, &[STRUCT, 0, 35, 0]); // Offset
        op(&mut w, 71, &[STRUCT, 2]); // Block
        op(&mut w, 71, &[DATA, 34, 0]); // DescriptorSet
        op(&mut w, 71, &[DATA, 33, 0]); // Binding
        op(&mut w, 19, &[VOID]);
        op(&mut w, 33, &[MAIN_TYPE, VOID]);
        op(&mut w, 21, &[U32, 32, 0]);
        op(&mut w, 20, &[BOOL]);
        op(&mut w, 23, &[UVEC3, U32, 3]);
        op(&mut w, 32, &[UVEC3_PTR, 1, UVEC3]);
        op(&mut w, 59, &[UVEC3_PTR, ID, 1]);
        op(&mut w, 29, &[ARRAY, U32]);
        op(&mut w, 30, &[STRUCT, ARRAY]);
        op(&mut w, 32, &[STRUCT_PTR, STORAGE_BUFFER, STRUCT]);
        op(&mut w, 59, &[STRUCT_PTR, DATA, STORAGE_BUFFER]);
        op(&mut w, 32, &[WORD_PTR, STORAGE_BUFFER, U32]);
        op(&mut w, 32, &[VAR_PTR, FUNCTION, U32]);
        w.append(&mut self.constants);
        op(&mut w, 54, &[VOID, MAIN, 0, MAIN_TYPE]);
        op(&mut w, 248, &[entry]);
        w.append(&mut self.vars);
        w.append(&mut self.body);
        op(&mut w, 56, &[]);
        w
    }
}

/// A distinct odd constant for each piece.
fn odd(k: u32) -> u32 {
    k.wrapping_mul(0x9e37_79b1) | 1
}
