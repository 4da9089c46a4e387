//! Random programs give the same memory before and after each pass, by the interpreter.

use proptest::prelude::*;
use tepui_ir::interp::{Group, Memory, run};
use tepui_ir::{
    Attrs, Builder, Builtin, InstFlags, Mem, Op, Region, ResKind, Resource, Shader, Stage, Type,
    Value, Var, VarData, validate,
};
use tepui_passes::pipeline;

/// A small generator of numbers: programs depend on the seed only.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

struct Gen<'a> {
    b: Builder<'a>,
    rng: Rng,
    vars: Vec<Var>,
    array: Var,
    bools: Vec<Var>,
    vec: Var,
    budget: usize,
    in_loop: bool,
}

const INT: &[Op] = &[
    Op::IAdd,
    Op::ISub,
    Op::IMul,
    Op::IAnd,
    Op::IOr,
    Op::IXor,
    Op::IShl,
    Op::UShr,
    Op::SShr,
    Op::SMin,
    Op::UMax,
    Op::UDiv,
    Op::UMod,
    Op::SDiv,
    Op::SRem,
];
const FLOAT: &[Op] = &[Op::FAdd, Op::FMul, Op::FSub, Op::FMin, Op::FMax];
const CMP: &[Op] = &[Op::IEq, Op::INe, Op::SLt, Op::ULt, Op::SGe, Op::UGe];

impl Gen<'_> {
    fn int(&mut self) -> Value {
        match self.rng.below(7) {
            0 => {
                let c = [0, 1, 2, 3, 8, 31, u32::MAX, 0x8000_0000][self.rng.below(8)];
                self.b.u32(c)
            }
            1..=3 => {
                let v = self.vars[self.rng.below(self.vars.len())];
                self.b.load_var(v, None)
            }
            4 => {
                let i = self.index();
                self.b.load_var(self.array, Some(i))
            }
            5 => {
                let v = self.b.load_var(self.vec, None);
                let k = self.rng.below(3) as u32;
                self.b.extract(v, k)
            }
            _ => {
                let op = INT[self.rng.below(INT.len())];
                let (x, y) = (self.int(), self.int());
                self.b.binary(op, x, y)
            }
        }
    }

    fn index(&mut self) -> Value {
        if self.rng.below(2) == 0 {
            let c = self.rng.below(4) as u32;
            self.b.u32(c)
        } else {
            let v = self.vars[self.rng.below(self.vars.len())];
            let v = self.b.load_var(v, None);
            let m = self.b.u32(3);
            self.b.binary(Op::IAnd, v, m)
        }
    }

    fn cond(&mut self) -> Value {
        match self.rng.below(5) {
            0 => {
                let v = self.bools[self.rng.below(self.bools.len())];
                self.b.load_var(v, None)
            }
            1 => {
                let c = self.cond();
                self.b.unary(Op::INot, c)
            }
            2 if self.rng.below(6) == 0 => self.b.bool(true),
            _ => {
                let op = CMP[self.rng.below(CMP.len())];
                let (x, y) = (self.int(), self.int());
                self.b.binary(op, x, y)
            }
        }
    }

    fn statement(&mut self, depth: u32) {
        self.budget = self.budget.saturating_sub(1);
        match self.rng.below(if depth < 3 { 11 } else { 7 }) {
            0..=2 => {
                let x = self.int();
                let v = self.vars[self.rng.below(self.vars.len())];
                self.b.store_var(v, x, None);
            }
            3 => {
                let (x, i) = (self.int(), self.index());
                self.b.store_var(self.array, x, Some(i));
            }
            4 => {
                let c = self.cond();
                let v = self.bools[self.rng.below(self.bools.len())];
                self.b.store_var(v, c, None);
            }
            5 => {
                let (x, y, z) = (self.int(), self.int(), self.int());
                let a = self.b.vec(&[x, y, z]);
                let old = self.b.load_var(self.vec, None);
                let op = [Op::IAdd, Op::IXor, Op::UMin][self.rng.below(3)];
                let n = self.b.binary(op, a, old);
                self.b.store_var(self.vec, n, None);
            }
            6 => {
                let flags =
                    std::mem::replace(&mut self.b.flags, InstFlags::EXACT | InstFlags::STRICT);
                let (x, y) = (self.int(), self.int());
                let (x, y) = (self.b.convert(Op::S2F, x, 32), self.b.convert(Op::U2F, y, 32));
                let op = FLOAT[self.rng.below(FLOAT.len())];
                let f = self.b.binary(op, x, y);
                let i = self.b.convert(Op::F2S, f, 32);
                self.b.flags = flags;
                let v = self.vars[self.rng.below(self.vars.len())];
                self.b.store_var(v, i, None);
            }
            7 | 8 => {
                let c = self.cond();
                let then = self.block(depth + 1, true);
                let els = self.block(depth + 1, true);
                self.b.if_(c, then, els, &[]);
            }
            _ => self.counted_loop(depth),
        }
    }

    fn nested(&mut self, f: impl FnOnce(&mut Self)) -> Region {
        let r = self.b.shader.make_region();
        let outer = std::mem::replace(&mut self.b.region, r);
        f(self);
        self.b.region = outer;
        r
    }

    fn block(&mut self, depth: u32, may_leave: bool) -> Region {
        self.nested(|g| {
            for _ in 0..1 + g.rng.below(3) {
                if g.budget > 0 {
                    g.statement(depth);
                }
            }
            if may_leave && g.in_loop && g.rng.below(5) == 0 {
                g.b.break_(&[]);
            } else {
                g.b.yield_(&[]);
            }
        })
    }

    fn counted_loop(&mut self, depth: u32) {
        let i = self.b.shader.vars.push(VarData { ty: Type::B32, len: None, name: "i".into() });
        let zero = self.b.u32(0);
        self.b.store_var(i, zero, None);
        let n = 1 + self.rng.below(5) as u32;
        let outer = std::mem::replace(&mut self.in_loop, true);
        let body = self.nested(|g| {
            let (x, end) = (g.b.load_var(i, None), g.b.u32(n));
            let done = g.b.binary(Op::UGe, x, end);
            let out = g.nested(|g| g.b.break_(&[]));
            let on = g.nested(|g| g.b.yield_(&[]));
            g.b.if_(done, out, on, &[]);
            let one = g.b.u32(1);
            let next = g.b.binary(Op::IAdd, x, one);
            g.b.store_var(i, next, None);
            for _ in 0..1 + g.rng.below(3) {
                if g.budget > 0 {
                    g.statement(depth + 1);
                }
            }
            g.b.continue_(&[]);
        });
        self.in_loop = outer;
        self.b.loop_(body, &[], &[]);
    }
}

fn program(seed: u64) -> Shader {
    let mut s = Shader::new(Stage::Compute);
    s.info.workgroup_size = [8, 1, 1];
    let res = s.resources.push(Resource::new(ResKind::StorageBuffer, 0, 0));
    let var = |s: &mut Shader, ty, len| s.vars.push(VarData { ty, len, name: String::new() });
    let vars: Vec<Var> = (0..5).map(|_| var(&mut s, Type::B32, None)).collect();
    let bools: Vec<Var> = (0..2).map(|_| var(&mut s, Type::B1, None)).collect();
    let array = var(&mut s, Type::B32, Some(4));
    let vec = var(&mut s, Type::vec(32, 3), None);
    let mut g = Gen {
        b: Builder::new(&mut s),
        rng: Rng(seed | 1),
        vars,
        array,
        bools,
        vec,
        budget: 24,
        in_loop: false,
    };
    let lane = g.b.builtin(Builtin::LocalInvocationIndex, Type::B32);
    let zero = g.b.u32(0);
    let handle = g.b.descriptor(res, zero, Default::default());
    let stride = g.b.u32(64);
    let base = g.b.binary(Op::IMul, lane, stride);
    let at = |k: usize| Attrs::Mem(Mem { align_log2: 2, offset: 4 * k as i32, ..Mem::default() });
    for k in 0..5 {
        let x = g.b.value(Op::LoadBuffer, at(k), &[handle, base], Type::B32);
        g.b.store_var(g.vars[k], x, None);
    }
    for k in 0..4 {
        let (x, i) = (g.b.load_var(g.vars[k], None), g.b.u32(k as u32));
        g.b.store_var(g.array, x, Some(i));
    }
    let f = g.b.bool(false);
    for v in g.bools.clone() {
        g.b.store_var(v, f, None);
    }
    let z3 = g.b.splat(zero, 3);
    g.b.store_var(g.vec, z3, None);
    while g.budget > 0 {
        g.statement(0);
    }
    for k in 0..5 {
        let x = g.b.load_var(g.vars[k], None);
        g.b.effect(Op::StoreBuffer, at(k), &[handle, base, x]);
    }
    for k in 0..4 {
        let i = g.b.u32(k as u32);
        let x = g.b.load_var(g.array, Some(i));
        g.b.effect(Op::StoreBuffer, at(5 + k), &[handle, base, x]);
    }
    let v = g.b.load_var(g.vec, None);
    g.b.effect(Op::StoreBuffer, at(9), &[handle, base, v]);
    g.b.finish();
    s
}

fn execute(s: &Shader, seed: u64) -> Vec<u32> {
    let mut rng = Rng(seed.wrapping_mul(3) | 1);
    let words: Vec<u32> = (0..8 * 16)
        .map(|_| match rng.below(3) {
            0 => rng.below(10) as u32,
            1 => rng.below(1 << 30) as u32,
            _ => !(rng.below(100) as u32),
        })
        .collect();
    let mut m = Memory::default();
    m.set_words(0, 0, &words);
    run(s, &Group::workgroup(s, [0; 3], [1; 3]), &mut m, 2_000_000).unwrap();
    m.words(0, 0)
}

/// Programs for which a pass must also have changed something, so that the test sees it at work.
fn check(pass: &str, seeds: impl Iterator<Item = u64>, prepare: &[&str]) -> usize {
    let mut changed = 0;
    for seed in seeds {
        let mut s = program(seed);
        for p in prepare {
            (pipeline::find(p).unwrap().run)(&mut s);
        }
        validate(&s).unwrap_or_else(|e| panic!("seed {seed}, before {pass}: {e}\n{s}"));
        let want = execute(&s, seed);
        let before = s.to_string();
        changed += usize::from((pipeline::find(pass).unwrap().run)(&mut s));
        validate(&s).unwrap_or_else(|e| panic!("seed {seed}, {pass}: {e}\n{before}\nbecame\n{s}"));
        // Physical addresses are the driver's: nothing to run.
        if pass != "lower_buffers" {
            assert_eq!(execute(&s, seed), want, "seed {seed}, {pass}:\n{before}\nbecame\n{s}");
        }
    }
    changed
}

const CLEAN: &[&str] = &["split", "promote", "control", "simplify", "dce"];

#[test]
fn each_pass_keeps_the_meaning() {
    for p in pipeline::PASSES {
        let raw = check(p.name, 1..40, &[]);
        let clean = check(p.name, 100..160, CLEAN);
        let scalar = check(
            p.name,
            200..240,
            &[CLEAN, &["scalarise", "simplify", "control", "dce"]].concat(),
        );
        let narrow = p.name.starts_with("lower_bits");
        assert!(raw + clean + scalar > 0 || narrow, "{} never changed anything", p.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_pipeline_keeps_the_meaning(seed in any::<u64>()) {
        let mut s = program(seed);
        let want = execute(&s, seed);
        let first = s.to_string();
        let mut last = first.clone();
        pipeline::optimise_with(&mut s, &mut |name, s| {
            validate(s).unwrap_or_else(|e| panic!("seed {seed}, {name}: {e}\n{last}\nbecame\n{s}"));
            assert_eq!(execute(s, seed), want, "seed {seed}, {name}:\n{last}\nbecame\n{s}");
            last = s.to_string();
        });
    }

    #[test]
    fn text_round_trips(seed in any::<u64>()) {
        let s = program(seed);
        let text = s.to_string();
        let back = tepui_ir::parse(&text).unwrap();
        prop_assert_eq!(back.to_string(), text);
    }
}
