//! Each op that is rewritten for the machine gives what its row of the op table says.

use tepui_agx_compiler::target::{LANES, target};
use tepui_ir::interp::{Group, Memory, run};
use tepui_ir::{Attrs, Builder, Builtin, Mem, Op, ResKind, Resource, Shader, Stage, Type};
use tepui_ir_gen::Rng;
use tepui_passes::lower_alu;

/// A shader that applies `op` to up to four words of each lane's row.
fn shader(op: Op, bits: u8, consts: &[Option<u32>; 4]) -> Shader {
    let mut s = Shader::new(Stage::Compute);
    s.info.workgroup_size = [LANES, 1, 1];
    let res = s.resources.push(Resource::new(ResKind::StorageBuffer, 0, 0));
    let mut b = Builder::new(&mut s);
    let lane = b.builtin(Builtin::LocalInvocationIndex, Type::B32);
    let zero = b.u32(0);
    let handle = b.descriptor(res, zero, Default::default());
    let row = b.u32(32);
    let base = b.binary(Op::IMul, lane, row);
    let at = |k: i32| Attrs::Mem(Mem { align_log2: 2, offset: 4 * k, ..Mem::default() });
    let info = op.info();
    let mut args = Vec::new();
    for (k, p) in info.operands.iter().enumerate() {
        let x = match consts[k] {
            Some(c) => b.u32(c),
            None => b.value(Op::LoadBuffer, at(k as i32), &[handle, base], Type::B32),
        };
        let want = match p {
            tepui_ir::Pat::W | tepui_ir::Pat::S32 => 32,
            _ => bits,
        };
        args.push(if want < 32 { b.convert(Op::U2U, x, want) } else { x });
    }
    let ty = match info.results[0] {
        tepui_ir::Pat::W => Type::B32,
        _ => Type::scalar(bits),
    };
    let r = b.value(op, Attrs::None, &args, ty);
    let r = if ty.bits() < 32 { b.convert(Op::U2U, r, 32) } else { r };
    b.effect(Op::StoreBuffer, at(7), &[handle, base, r]);
    b.finish();
    s
}

fn rows(s: &Shader, words: &[u32]) -> Vec<u32> {
    let mut m = Memory::default();
    m.set_words(0, 0, words);
    run(s, &Group::workgroup(s, [0; 3], [1; 3]), &mut m, 1_000_000).unwrap();
    m.words(0, 0)
}

fn check(op: Op, bits: u8, rng: &mut Rng, consts: [Option<u32>; 4]) {
    let mut words: Vec<u32> = (0..8 * LANES).map(|_| rng.int(32) as u32).collect();
    for row in words.chunks_mut(8) {
        match op {
            // No division by zero: the languages leave it undefined.
            Op::UDiv | Op::SDiv | Op::UMod | Op::SRem | Op::SMod
                if row[1] & tepui_ir::mask(bits) as u32 == 0 =>
            {
                row[1] = 3;
            }
            _ => {}
        }
    }
    let mut s = shader(op, bits, &consts);
    tepui_ir::validate(&s).unwrap();
    let want = rows(&s, &words);
    let before = s.to_string();
    let lacks = target(&Default::default()).alu;
    assert!(lower_alu::run(&mut s, lacks), "{} is not rewritten", op.name());
    lower_alu::run(&mut s, lacks);
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    let got = rows(&s, &words);
    for (k, (g, w)) in got.chunks(8).zip(want.chunks(8)).enumerate() {
        assert_eq!(
            g[7],
            w[7],
            "{} of {:x?} ({bits} bits, constants {consts:x?}), row {k}\n{before}\n{s}",
            op.name(),
            &w[..4]
        );
    }
}

#[test]
fn integer_ops_are_the_same_in_machine_terms() {
    let mut rng = Rng::new(5);
    for bits in [32, 16] {
        for op in [
            Op::UDiv,
            Op::SDiv,
            Op::UMod,
            Op::SRem,
            Op::SMod,
            Op::IAbs,
            Op::ISign,
            Op::FindLsb,
            Op::SFindMsb,
            Op::UAddCarry,
            Op::USubBorrow,
            Op::UBitExtract,
            Op::SBitExtract,
            Op::BitInsert,
        ] {
            for _ in 0..40 {
                check(op, bits, &mut rng, [None; 4]);
            }
        }
    }
    for op in [Op::UDiv, Op::SDiv, Op::UMod, Op::SRem, Op::SMod] {
        for _ in 0..400 {
            let d = (rng.int(32) as u32).max(2);
            check(op, 32, &mut rng, [None, Some(d), None, None]);
        }
    }
}
