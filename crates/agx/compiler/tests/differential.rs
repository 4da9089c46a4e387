//! Random programs: the interpreter before the passes, the interpreter after them and the model
//! running the machine code leave the same memory.

mod rig;

use rig::{Agx, Compiled, Model};
use tepui_agx_compiler::Options;
use tepui_compiler_test::{Compiler as _, Executor as _, Tally, differential, programs, seeds};
use tepui_ir::Shader;
use tepui_ir::interp::Memory;
use tepui_ir_gen::{Config, memory, program, run};

/// Compiles and runs the programs of some seeds; `optimised` with all passes, else with those only
/// that the back end needs.
fn check(seeds: std::ops::Range<u64>, config: &Config, options: Options, optimised: bool) -> Tally {
    check_programs(seeds, &|seed| program(seed, config), options, optimised)
}

fn check_programs(
    seeds: std::ops::Range<u64>,
    program: &dyn Fn(u64) -> Shader,
    options: Options,
    optimised: bool,
) -> Tally {
    differential::check(&Agx(options), || Model::new(true), seeds, program, optimised)
}

#[test]
fn plain_programs_optimised() {
    let t = check(
        seeds(0, 250),
        &Config { div_zero: false, ..Config::plain() },
        Options { check: true, ..Options::default() },
        true,
    );
    println!("{t:?}");
    t.takes_all(250);
}

#[test]
fn plain_programs_unoptimised() {
    let t = check(
        seeds(1000, 60),
        &Config { div_zero: false, ..Config::plain() },
        Options { check: true, ..Options::default() },
        false,
    );
    println!("{t:?}");
    t.takes_all(60);
}

/// All but division by zero, which languages leave undefined, and sub-group operations: the
/// generator's shuffles read lanes that are not active, whose values nobody promises.
const EVERYTHING: Config = Config { div_zero: false, subgroups: false, ..Config::all() };

#[test]
fn programs_of_everything() {
    let t =
        check(seeds(2000, 250), &EVERYTHING, Options { check: true, ..Options::default() }, true);
    println!("{t:?}");
    t.takes_all(250);
}

#[test]
fn programs_that_spill() {
    let options = Options { registers: 40, check: true, ..Options::default() };
    let t = check(seeds(4000, 120), &EVERYTHING, options, true);
    println!("{t:?}");
    t.takes_all(120);
    assert!(t.spilled >= 100 || std::env::var_os("TEPUI_SEEDS").is_some(), "{t:?}");
}

#[test]
fn programs_with_bounds_checks() {
    let options = Options { robust: true, check: true, ..Options::default() };
    let t = check(seeds(3000, 100), &EVERYTHING, options, true);
    println!("{t:?}");
    t.takes_all(100);
}

#[test]
fn programs_with_doubles() {
    let config = Config { doubles: true, size: 12, ..EVERYTHING };
    let t = check(seeds(5000, 60), &config, Options { check: true, ..Options::default() }, true);
    println!("{t:?}");
    t.takes_all(60);
}

/// Sixty operations on doubles, half of them in an arm of an `if`: what they need as loops is in scratch memory.
fn long_program_of_doubles(seed: u64) -> Shader {
    use tepui_ir::{Attrs, Builder, Builtin, InstFlags, Mem, Op, ResKind, Resource, Stage, Type};
    let mut rng = tepui_ir_gen::Rng::new(seed);
    let mut s = Shader::new(Stage::Compute);
    s.info.workgroup_size = [tepui_ir_gen::LANES, 1, 1];
    let buffer = s.resources.push(Resource::new(ResKind::StorageBuffer, 0, 0));
    let mut b = Builder::new(&mut s);
    let lane = b.builtin(Builtin::LocalInvocationIndex, Type::B32);
    let (zero, slot) = (b.u32(0), b.u32(512));
    let at = b.binary(Op::IMul, lane, slot);
    let handle = b.descriptor(buffer, zero, Default::default());
    let mem = |align_log2, offset| Attrs::Mem(Mem { align_log2, offset, ..Mem::default() });
    let mut values = Vec::new();
    for k in 0..8 {
        values.push(b.value(Op::LoadBuffer, mem(3, 8 * k), &[handle, at], Type::B64));
        let word = b.value(Op::LoadBuffer, mem(2, 4 * k), &[handle, at], Type::B32);
        values.push(b.convert(Op::S2F, word, 64));
    }
    let mut some = |b: &mut Builder<'_>, values: &mut Vec<tepui_ir::Value>| {
        b.flags = InstFlags::EXACT | InstFlags::STRICT;
        for _ in 0..30 {
            let [x, y, z] = [0; 3].map(|_| values[rng.below(values.len())]);
            values.push(match rng.below(12) {
                0..=3 => b.binary(Op::FMul, x, y),
                4..=5 => b.binary(Op::FAdd, x, y),
                6..=7 => b.binary(Op::FSub, x, y),
                8 => b.binary(Op::FDiv, x, y),
                9 => b.unary(Op::FSqrt, x),
                10 => b.alu(Op::FFma, &[x, y, z]),
                _ => b.unary(Op::FNeg, x),
            });
        }
    };
    some(&mut b, &mut values);
    let test = b.binary(Op::FLt, values[20], values[30]);
    let (then, els) = (b.shader.make_region(), b.shader.make_region());
    b.if_(test, then, els, &[]);
    let outer = values.clone();
    let mut inner = Builder::at(&mut s, then);
    some(&mut inner, &mut values);
    for (k, &v) in (0..).zip(&values[32..56]) {
        inner.effect(Op::StoreBuffer, mem(3, 128 + 8 * k), &[handle, at, v]);
    }
    inner.yield_(&[]);
    Builder::at(&mut s, els).yield_(&[]);
    let root = s.root;
    let mut b = Builder::at(&mut s, root);
    for (k, &v) in (0..).zip(&outer[22..]) {
        b.effect(Op::StoreBuffer, mem(3, 320 + 8 * k), &[handle, at, v]);
    }
    b.finish();
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    s
}

#[test]
fn long_programs_of_doubles_are_loops() {
    for optimised in [true, false] {
        let options = Options { check: true, ..Options::default() };
        let t = check_programs(seeds(7000, 25), &long_program_of_doubles, options, optimised);
        println!("{t:?}");
        t.takes_all(25);
        assert_eq!(t.loops, t.same, "{t:?}");
    }
}

/// All lanes add to one place, and take the minimum and maximum of another; sums of small numbers
/// are exact in any order.
#[test]
fn float_atomics() {
    use tepui_ir::{
        AtomicOp, Attrs, Barrier, Builder, Builtin, Mem, MemSet, Op, ResKind, Resource, Scope,
        Stage, Type,
    };
    for (bits, robust) in [(32u8, false), (32, true), (16, false), (16, true)] {
        let ty = Type::scalar(bits);
        let bytes = u32::from(bits) / 8;
        let mut s = Shader::new(Stage::Compute);
        s.info.workgroup_size = [64, 1, 1];
        s.info.shared_bytes = 64;
        let res = s.resources.push(Resource::new(ResKind::StorageBuffer, 0, 0));
        let mut b = Builder::new(&mut s);
        let lane = b.builtin(Builtin::LocalInvocationIndex, Type::B32);
        let zero = b.u32(0);
        let handle = b.descriptor(res, zero, Default::default());
        let x = b.convert(Op::U2F, lane, bits);
        let one = b.u32(1);
        let odd = b.binary(Op::IAnd, lane, one);
        let size = b.u32(bytes);
        let at = b.binary(Op::IMul, odd, size);
        let mem = |offset: u32| Mem {
            align_log2: bytes.trailing_zeros() as u8,
            offset: offset as i32,
            ..Mem::default()
        };
        let barrier = Barrier {
            exec: Scope::Workgroup,
            mem: Scope::Workgroup,
            spaces: MemSet::SHARED | MemSet::BUFFER,
        };
        let fours = b.u32(4);
        let own = b.binary(Op::IMul, lane, fours);
        let first = b.u32(16);
        let few = b.binary(Op::ULt, lane, first);
        let clear = b.select(few, own, zero);
        b.effect(
            Op::StoreShared,
            Attrs::Mem(Mem { align_log2: 2, ..Mem::default() }),
            &[clear, zero],
        );
        let word = Attrs::Mem(Mem { align_log2: 2, ..Mem::default() });
        b.effect(Op::StoreBuffer, word, &[handle, clear, zero]);
        b.effect(Op::Barrier, Attrs::Barrier(barrier), &[]);
        for (k, op) in [AtomicOp::FAdd, AtomicOp::FMin, AtomicOp::FMax].into_iter().enumerate() {
            let k = k as u32 * 4;
            // Two places, of odd and of even lanes: halves of one word where they have 16 bits.
            b.value(Op::AtomicBuffer, Attrs::Atomic(op, mem(8 + 2 * k)), &[handle, at, x], ty);
            b.value(Op::AtomicShared, Attrs::Atomic(op, mem(2 * k)), &[at, x], ty);
        }
        b.effect(Op::Barrier, Attrs::Barrier(barrier), &[]);
        let sum = b.value(Op::LoadShared, word, &[clear], Type::B32);
        let to = Attrs::Mem(Mem { align_log2: 2, offset: 64, ..Mem::default() });
        b.effect(Op::StoreBuffer, to, &[handle, clear, sum]);
        b.finish();
        tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
        let want = run(&s, 1).unwrap_or_else(|e| panic!("{e}\n{s}"));
        let want = &want.buffers[&(0, 0, 0)];
        let options = Options { check: true, robust, ..Options::default() };
        let agx = Agx(options);
        let p = compiled(&agx, &s);
        let mut got = memory(1);
        let ran = Model::new(true).execute(&p, &s, &mut got, [1; 3]);
        ran.unwrap_or_else(|e| panic!("{e:?}\n{}", agx.listing(&p)));
        let got = &got.buffers[&(0, 0, 0)];
        assert_eq!(got[..256], want[..256], "{bits} bits\n{}", agx.listing(&p));
    }
}

/// A program after all passes.
fn compiled(agx: &Agx, s: &Shader) -> Compiled {
    let mut own = s.clone();
    agx.prepare(&mut own);
    agx.compile(&own).unwrap_or_else(|e| panic!("{e:?}\n{s}"))
}

/// A buffer that each lane chooses from two, by a select and by what a loop carries.
#[test]
fn chosen_buffers() {
    use tepui_ir::{AtomicOp, Attrs, Builder, Builtin, Mem, Op, ResKind, Resource, Stage, Type};
    let mut s = Shader::new(Stage::Compute);
    s.info.workgroup_size = [32, 1, 1];
    let all = [0, 1].map(|n| s.resources.push(Resource::new(ResKind::StorageBuffer, 0, n)));
    let mut b = Builder::new(&mut s);
    let lane = b.builtin(Builtin::LocalInvocationIndex, Type::B32);
    let (zero, one, four) = (b.u32(0), b.u32(1), b.u32(4));
    let [x, y] = all.map(|r| b.descriptor(r, zero, Default::default()));
    let odd = b.binary(Op::IAnd, lane, one);
    let odd = b.binary(Op::INe, odd, zero);
    let chosen = b.select(odd, x, y);
    let at = b.binary(Op::IMul, lane, four);
    let mem = |offset| Attrs::Mem(Mem { align_log2: 2, offset, ..Mem::default() });
    let old = b.value(Op::LoadBuffer, mem(0), &[chosen, at], Type::B32);
    b.effect(Op::StoreBuffer, mem(128), &[chosen, at, old]);
    // The buffers change places with each turn.
    let body = b.shader.make_region();
    let params = [Type::B32, Type::B64, Type::B64].map(|t| b.shader.add_param(body, t));
    let args = [zero, chosen, x];
    let l = b.shader.make_inst(Op::Loop, Attrs::Loop(body), &args, &[Type::B64]);
    let root = b.shader.root;
    b.shader.regions[root].insts.push(l);
    let last = b.shader.result(l);
    let mut inner = Builder::at(b.shader, body);
    let three = inner.u32(3);
    let more = inner.binary(Op::ULt, params[0], three);
    let (go, stop) = (inner.shader.make_region(), inner.shader.make_region());
    inner.if_(more, go, stop, &[]);
    let how = Attrs::Atomic(AtomicOp::Add, Mem { align_log2: 2, offset: 256, ..Mem::default() });
    inner.value(Op::AtomicBuffer, how, &[params[1], at, lane], Type::B32);
    let one = inner.u32(1);
    let next = inner.binary(Op::IAdd, params[0], one);
    inner.effect(Op::Continue, Attrs::None, &[next, params[2], params[1]]);
    Builder::at(b.shader, go).yield_(&[]);
    Builder::at(b.shader, stop).effect(Op::Break, Attrs::None, &[params[1]]);
    let mut b = Builder::at(&mut s, root);
    let size = b.value(Op::BufferSize, Attrs::None, &[last], Type::B32);
    b.effect(Op::StoreBuffer, mem(384), &[last, at, size]);
    b.finish();
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    let sizes = [512u32, 640];
    let data = |n: usize| -> Vec<u8> {
        (0..sizes[n] / 4).flat_map(|k| (k * 7 + n as u32).to_le_bytes()).collect()
    };
    let mut start = Memory::default();
    for n in 0..2 {
        start.buffers.insert((0, n as u32, 0), data(n));
    }
    let mut want = start.clone();
    let group = tepui_ir::interp::Group::workgroup(&s, [0; 3], [1; 3]);
    tepui_ir::interp::run(&s, &group, &mut want, 100_000).unwrap_or_else(|e| panic!("{e}\n{s}"));
    for robust in [false, true] {
        let agx = Agx(Options { check: true, robust, ..Options::default() });
        let p = compiled(&agx, &s);
        let mut got = start.clone();
        let ran = Model::new(true).execute(&p, &s, &mut got, [1; 3]);
        ran.unwrap_or_else(|e| panic!("{e:?}\n{}", agx.listing(&p)));
        for (k, want) in &want.buffers {
            assert_eq!(got.buffers[k], *want, "{k:?}\n{}", agx.listing(&p));
        }
    }
}

#[test]
fn programs_that_compilers_have_got_wrong() {
    programs::check(&Agx(Options { check: true, ..Options::default() }), || Model::new(true));
}

#[test]
fn loops_that_carry_more_than_registers_hold() {
    let agx = Agx(Options { check: true, ..Options::default() });
    let t = programs::check_carried(&agx, || Model::new(true), 300);
    assert_eq!(t.spilled, 1, "{t:?}");
}
