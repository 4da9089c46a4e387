//! Generates random compute shaders with inputs, for tests that compare two executions: before and
//! after a pass, or interpreter and GPU.
//!
//! A program depends only on its seed and [`Config`]. It terminates (loops are counted), accesses
//! only memory that exists, and its results do not depend on the order of lanes: each lane has its
//! own [`SLOT`] bytes of the buffer at set 0, binding 0, which its atomics use too, and its own
//! column of the storage image; workgroup memory is written by its owner and read by others only
//! across barriers. Float operations are restricted to those that are correctly rounded, are marked
//! exact, and their results are converted to integers, so that neither contraction nor NaN bits
//! show. Values of missing or inactive lanes are never used, so that subgroups may have any size
//! from 8 on.
//!
//! Each of the modules generates one part: `expr` expressions, `stmt` statements and control flow,
//! `image` image operations. Start reading at [`program`]. [`image_programs`] has shaders of image instructions alone.
//!
//! ```
//! use tepui_ir_gen::{Config, program, run};
//! let shader = program(7, &Config::all());
//! let memory = run(&shader, 7).unwrap();
//! assert_eq!(memory.words(0, 0).len() as u32 * 4, tepui_ir_gen::SLOT * tepui_ir_gen::LANES);
//! ```

mod expr;
mod image;
pub mod image_programs;
pub mod scale;
mod stmt;
pub mod texels;

use tepui_ir::interp::{Fault, Group, Memory};
use tepui_ir::{
    Attrs, Builder, Builtin, Mem, Op, ResKind, Resource, Shader, Stage, Type, Value, Var, VarData,
};

/// Bytes of the buffer that belong to a lane.
pub const SLOT: u32 = 512;
/// Lanes of the workgroup.
pub const LANES: u32 = 16;
/// Bytes of a slot that hold inputs; results follow them.
const INPUTS: u32 = 64;

/// The features that a program may use.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Approximate number of statements.
    pub size: usize,
    /// 64-bit integers.
    pub int64: bool,
    /// 8- and 16-bit integers.
    pub small: bool,
    /// 32-bit floats.
    pub floats: bool,
    /// 16-bit floats.
    pub halves: bool,
    /// 64-bit floats.
    pub doubles: bool,
    /// A storage image at binding 1 and a sampled image at binding 2 ([`memory`] fills both).
    pub images: bool,
    /// Atomics on the lane's own memory.
    pub atomics: bool,
    /// Workgroup memory and barriers.
    pub shared: bool,
    /// Subgroup operations.
    pub subgroups: bool,
    /// Division by zero: its result is defined in the IR but not in shading languages.
    pub div_zero: bool,
}

impl Config {
    /// A configuration of 32-bit integers, booleans, vectors, arrays and control flow only.
    #[must_use]
    pub const fn plain() -> Config {
        Config {
            size: 20,
            int64: false,
            small: false,
            floats: false,
            halves: false,
            doubles: false,
            images: false,
            atomics: false,
            shared: false,
            subgroups: false,
            div_zero: true,
        }
    }

    /// Everything but images and 64-bit floats.
    #[must_use]
    pub const fn all() -> Config {
        Config {
            size: 24,
            int64: true,
            small: true,
            floats: true,
            halves: true,
            doubles: false,
            images: false,
            atomics: true,
            shared: true,
            subgroups: true,
            div_zero: true,
        }
    }
}

/// A pseudo-random number generator (xorshift), the only source of randomness of programs.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator that starts from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Rng {
        // Scrambles small seeds; the state must not be zero.
        Rng((seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 33) as usize % n
    }

    /// True with probability 1/`n`.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// A random item.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// An integer of `bits` bits: often small, often near an end of the range, sometimes uniform.
    pub fn int(&mut self, bits: u8) -> u64 {
        let mask = tepui_ir::mask(bits);
        let v = match self.below(6) {
            0 | 1 => self.below(10) as u64,
            2 => (self.below(10) as u64).wrapping_neg(),
            3 => (1 << self.below(usize::from(bits))) + self.below(3) as u64,
            4 => (mask >> 1).wrapping_add(self.below(3) as u64),
            _ => self.bits(),
        };
        v & mask
    }
}

/// Variables of one scalar type.
struct Pool {
    bits: u8,
    scalars: Vec<Var>,
    array: Var,
    vector: Var,
}

/// Elements of each array, a power of two.
const ARRAY: u32 = 4;
/// Components of each vector variable.
const COMPS: u8 = 3;

struct Gen<'a> {
    b: Builder<'a>,
    rng: Rng,
    config: Config,
    pools: Vec<Pool>,
    bools: Vec<Var>,
    /// The buffer's handle, and the offset of the lane's slot.
    handle: Value,
    images: Option<image::Images>,
    base: Value,
    lane: Value,
    budget: usize,
    /// Nesting depth of loops at the current position.
    loops: u32,
}

fn at(offset: u32) -> Attrs {
    Attrs::Mem(Mem { align_log2: 2, offset: offset as i32, ..Mem::default() })
}

/// A shader for a seed. It passes validation.
#[must_use]
pub fn program(seed: u64, config: &Config) -> Shader {
    let mut s = Shader::new(Stage::Compute);
    s.info.workgroup_size = [LANES, 1, 1];
    if config.shared {
        s.info.shared_bytes = LANES * 4;
    }
    let res = s.resources.push(Resource::new(ResKind::StorageBuffer, 0, 0));
    let image_resources = config.images.then(|| image::resources(&mut s));
    let mut sizes = vec![32];
    if config.small {
        sizes.extend([16, 8]);
    }
    if config.int64 {
        sizes.push(64);
    }
    let mut var = |name: String, ty: Type, len| s.vars.push(VarData { ty, len, name });
    let pools: Vec<Pool> = sizes
        .into_iter()
        .map(|bits| Pool {
            bits,
            scalars: (0..3)
                .map(|k| var(format!("x{bits}_{k}"), Type::scalar(bits), None))
                .collect(),
            array: var(format!("a{bits}"), Type::scalar(bits), Some(ARRAY)),
            vector: var(format!("v{bits}"), Type::vec(bits, COMPS), None),
        })
        .collect();
    let bools = (0..2).map(|k| var(format!("c{k}"), Type::B1, None)).collect();
    let mut b = Builder::new(&mut s);
    let lane = b.builtin(Builtin::LocalInvocationIndex, Type::B32);
    let zero = b.u32(0);
    let handle = b.descriptor(res, zero, Default::default());
    let images = image_resources.map(|r| image::Images::new(&mut b, r));
    let slot = b.u32(SLOT);
    let base = b.binary(Op::IMul, lane, slot);
    let mut g = Gen {
        b,
        rng: Rng::new(seed),
        config: *config,
        pools,
        bools,
        handle,
        images,
        base,
        lane,
        budget: config.size,
        loops: 0,
    };
    g.clear_variables();
    g.load_inputs();
    while g.budget > 0 {
        g.statement(0);
    }
    g.store_results();
    g.b.finish();
    s
}

/// The buffer's bytes for a seed.
#[must_use]
pub fn inputs(seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed.wrapping_mul(3).wrapping_add(1));
    let mut bytes = Vec::with_capacity((SLOT * LANES) as usize);
    for _ in 0..LANES {
        let start = bytes.len();
        while bytes.len() < start + INPUTS as usize {
            bytes.extend((rng.int(32) as u32).to_le_bytes());
        }
        bytes.resize(start + SLOT as usize, 0);
    }
    bytes
}

/// The buffer and the images for a seed.
#[must_use]
pub fn memory(seed: u64) -> Memory {
    let mut m = Memory::default();
    m.buffers.insert((0, 0, 0), inputs(seed));
    image::fill(seed, &mut m);
    m
}

/// Runs a program on the inputs of a seed.
///
/// # Errors
/// When the interpreter stops early.
pub fn run(s: &Shader, seed: u64) -> Result<Memory, Fault> {
    run_of(s, seed, tepui_ir::interp::SUBGROUP)
}

/// [`run`] with subgroups of some lanes.
///
/// # Errors
/// When it cannot be executed.
pub fn run_of(s: &Shader, seed: u64, subgroup: usize) -> Result<Memory, Fault> {
    let mut m = memory(seed);
    let group = Group::workgroup_of(s, [0; 3], [1; 3], subgroup);
    tepui_ir::interp::run(s, &group, &mut m, 2_000_000)?;
    Ok(m)
}

impl Gen<'_> {
    /// Initialises all variables, since the value of an unwritten one is undefined.
    fn clear_variables(&mut self) {
        for p in 0..self.pools.len() {
            let Pool { bits, array, vector, ref scalars } = self.pools[p];
            let scalars = scalars.clone();
            let zero = self.b.const_bits(Type::scalar(bits), 0);
            for v in scalars {
                self.b.store_var(v, zero, None);
            }
            for k in 0..ARRAY {
                let i = self.b.u32(k);
                self.b.store_var(array, zero, Some(i));
            }
            let zeros = self.b.vec(&[zero; COMPS as usize]);
            self.b.store_var(vector, zeros, None);
        }
        let no = self.b.bool(false);
        for v in self.bools.clone() {
            self.b.store_var(v, no, None);
        }
    }

    fn load_inputs(&mut self) {
        let mut offset = 0;
        for p in 0..self.pools.len() {
            let (bits, vars) = (self.pools[p].bits, self.pools[p].scalars.clone());
            let ty = Type::scalar(bits);
            for v in vars {
                let args = [self.handle, self.base];
                let x = self.b.value(Op::LoadBuffer, at(offset % INPUTS), &args, ty);
                offset += ty.size_bytes().max(4);
                self.b.store_var(v, x, None);
            }
            for k in 0..ARRAY {
                let (x, i) = (self.int(bits, 2), self.b.u32(k));
                self.b.store_var(self.pools[p].array, x, Some(i));
            }
            let parts: Vec<Value> = (0..COMPS).map(|_| self.int(bits, 2)).collect();
            let v = self.b.vec(&parts);
            self.b.store_var(self.pools[p].vector, v, None);
        }
        for v in self.bools.clone() {
            let c = self.cond(2);
            self.b.store_var(v, c, None);
        }
    }

    fn store_results(&mut self) {
        let mut offset = INPUTS;
        let mut put = |g: &mut Self, x: Value| {
            // Each result starts at a multiple of 4 bytes.
            let ty = g.b.shader.ty(x);
            g.b.effect(Op::StoreBuffer, at(offset), &[g.handle, g.base, x]);
            offset += ty.size_bytes().next_multiple_of(4);
        };
        for p in 0..self.pools.len() {
            for v in self.pools[p].scalars.clone() {
                let x = self.b.load_var(v, None);
                put(self, x);
            }
            for k in 0..ARRAY {
                let i = self.b.u32(k);
                let x = self.b.load_var(self.pools[p].array, Some(i));
                put(self, x);
            }
            let v = self.b.load_var(self.pools[p].vector, None);
            put(self, v);
        }
        for v in self.bools.clone() {
            let c = self.b.load_var(v, None);
            let x = self.b.value(Op::B2I, Attrs::None, &[c], Type::B32);
            put(self, x);
        }
        debug_assert!(offset <= stmt::HEAP, "results and heap overlap");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_valid_end_and_differ() {
        let mut seen = std::collections::HashSet::new();
        for seed in 0..200 {
            for config in [Config::plain(), Config { images: true, ..Config::all() }] {
                let s = program(seed, &config);
                tepui_ir::validate(&s).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{s}"));
                let m = run(&s, seed).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{s}"));
                assert_eq!(m.out_of_bounds, 0, "seed {seed}\n{s}");
                seen.insert(m.words(0, 0));
            }
        }
        assert!(seen.len() > 390, "{} different results", seen.len());
    }
}
