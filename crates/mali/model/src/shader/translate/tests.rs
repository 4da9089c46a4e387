//! Translated code and the interpreter give the same results.

use std::collections::BTreeMap;

use tepui_mali_isa::{Flow, Inst, Op as Isa, random};

use super::{LazyTranslation, kind};
use crate::shader::op::Op;
use crate::shader::program::Program;
use crate::shader::run::run;
use crate::shader::step::Stop;
use crate::shader::template::TemplateOp;
use crate::shader::testing::{Bench, MEMORY};
use crate::units::Port;
use crate::warp::local::LocalStorage;
use crate::warp::row::{LANES, Row};
use crate::warp::uniforms::Uniforms;
use crate::warp::{COMMON, Warp};

/// Thread-local storage of a lane.
const LOCAL_BYTES: u64 = 256;

/// Random bits (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Bits that are interesting as a float, as an integer or as halves.
    fn word(&mut self) -> u32 {
        const SPECIAL: [u32; 12] = [
            0,
            0x8000_0000,
            0x3f80_0000,
            0xbf00_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0x4f00_0000,
            0xcf00_0000,
            0x4f80_0000,
            u32::MAX,
            0x3c00_bc00,
        ];
        let bits = self.next();
        match bits % 8 {
            0 | 1 => SPECIAL[(bits >> 8) as usize % SPECIAL.len()],
            2 => (bits >> 8) as u32 % 64,
            3 | 4 => ((bits >> 8) as i32 as f32 / 65536.0).to_bits(),
            5 => ((bits >> 8) as u8 as f32 + 0.5).to_bits(),
            _ => (bits >> 8) as u32,
        }
    }
}

/// The final state of a program: how it stopped, the executing lanes, the instructions it took, registers.
type FinalState = (Result<Stop, String>, u64, Vec<Row>);

/// Runs a program from the same initial state, interpreted or translated.
fn left(code: &[u8], translated: bool, mask: u16, mut random: Random) -> FinalState {
    let mut program = Program::decode(0x4000, code.to_vec());
    program.translation = LazyTranslation::after(if translated { 0 } else { u32::MAX });
    let bench = Bench::new();
    let words: Vec<u32> = (0..256).map(|_| random.word()).collect();
    let uniforms = Uniforms::new(&words, &program.rows);
    let mut port = Port::new(&bench.vm, 0);
    port.local = LocalStorage { base: MEMORY, bytes: LOCAL_BYTES };
    let mut warp = Warp::default();
    for register in &mut warp.registers[..64] {
        *register = Row(std::array::from_fn::<u32, LANES, _>(|_| random.word()));
    }
    warp.start(mask);
    let mut budget = 10_000;
    let result = run(&program, &mut warp, &uniforms, &mut port, &mut budget);
    let result = result.map_err(|trapped| format!("{:?} at {}", trapped.trap, trapped.index));
    (result, budget, warp.registers[..COMMON].to_vec())
}

/// Whether a result may be a different NaN: the host's depends on the order of operands.
fn gives_float(kind: TemplateOp) -> bool {
    use TemplateOp::{
        AddFloat, AddFloatImmediate, FromHalf, Maximum, Minimum, MultiplyAdd, Reciprocal, Round,
    };
    matches!(
        kind,
        AddFloat
            | AddFloatImmediate
            | FromHalf
            | Maximum
            | Minimum
            | MultiplyAdd
            | Reciprocal
            | Round
    )
}

/// Every instruction with a template, with all selections and modifiers, in all and in some lanes.
#[test]
fn instructions_give_the_same() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut compared: BTreeMap<String, usize> = BTreeMap::new();
    let local = |kind| matches!(kind, TemplateOp::LoadLocal { .. } | TemplateOp::StoreLocal { .. });
    let computes = |op: &Isa| TemplateOp::of(*op).is_some_and(|kind| !local(kind));
    let ops: Vec<Isa> = Isa::all().filter(computes).collect();
    for isa in ops {
        for _ in 0..60 {
            let mut inst = random::inst_of(isa, &mut || random.next());
            inst.flow = Flow::None;
            let mut end = Inst::new(Isa::NOP);
            end.flow = Flow::End;
            let code = [&inst, &end]
                .map(|inst| inst.encode().expect("an instance").to_le_bytes())
                .concat();
            let program = Program::decode(0x4000, code.clone());
            let Some(kind) = kind::kind(&program.ops[0], &program.rows) else { continue };
            let seed = random.next();
            for mask in [u16::MAX, random.next() as u16 | 1] {
                let [a, b] = [false, true].map(|how| left(&code, how, mask, Random(seed)));
                assert_eq!((&a.0, a.1), (&b.0, b.1), "{inst}");
                for (register, (a, b)) in a.2.iter().zip(&b.2).enumerate() {
                    for lane in 0..LANES {
                        let (a, b) = (a.0[lane], b.0[lane]);
                        let nans = f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan();
                        assert!(
                            a == b || nans && gives_float(kind),
                            "{inst}: lane {lane} of r{register}: interpreted {a:#x}, translated {b:#x}"
                        );
                    }
                }
                *compared.entry(format!("{kind:?}")).or_default() += 1;
            }
        }
    }
    // Each kind of instruction was tested, except for branches.
    assert_eq!(compared.len(), 34, "{compared:#?}");
    assert!(compared.values().all(|count| *count > 5), "{compared:#?}");
}

/// Loops that lanes leave one by one, branches that some lanes take, and their effects on registers.
#[test]
fn lanes_part_and_meet() {
    let source = "
        IADD_IMM.i32 r1, 0x0, #0x0
        IADD_IMM.i32 r2, 0x0, #0x0
        LSHIFT_AND.i32 r3, lane_id.w0, 0x0.b00, r4
        ICMP_OR.u32.lt.m1 r5, r3, r6, 0x0
        BRANCHZ.eq r5, offset:3
        IADD_IMM.i32 r1, r1, #0x7
        IMUL.i32 r2, r2, r1
        BRANCHZ.eq 0x0, offset:2
        IADD_IMM.i32 r1, r1, #0x9
        IADD.u32 r2, r2, r3
        IADD_IMM.i32 r1, r1, #0x1
        IADD.u32 r2, r2, r1
        ICMP_OR.u32.lt.m1 r5, r1, r7, 0x0
        BRANCHZ r5, offset:-12
        NOP.end
    ";
    let code = tepui_mali_isa::asm::assemble(source).unwrap_or_else(|e| panic!("{e:?}"));
    let mut random = Random(7);
    for _ in 0..200 {
        let (seed, mask) = (random.next(), random.next() as u16);
        for mask in [u16::MAX, mask] {
            let [a, b] = [false, true].map(|how| left(&code, how, mask, Random(seed)));
            assert_eq!(a, b, "mask {mask:#x}");
        }
    }
}

/// Values stored in thread-local storage are loaded again, with uniform and with divergent offsets.
#[test]
fn threads_have_storage_of_their_own() {
    let store = |offset: u32| {
        format!(
            "LSHIFT_AND.i32 r10, lane_id.w0, 0x3020100.b22, r10
            STORE.i96.force.slot0 @r2:r3:r4, thread_local_pointer.w0, offset:{offset}
            STORE.i32.force.slot0 @r4, thread_local_pointer.w0, offset:0
            IADD.u32 r1, r1, r2
            LOAD.i96.force.unsigned.slot0 @r6:r7:r8, thread_local_pointer.w0, offset:{offset}
            IADD.u32 r10, thread_local_pointer.w0, r10
            MOV.i32 r11, thread_local_pointer.w1
            LOAD.i32.force.unsigned.slot0 @r12, r10, offset:16
            STORE.i64.force.slot0 @r6:r7, r10, offset:24
            LOAD.i128.force.unsigned.slot0 @r16:r17:r18:r19, thread_local_pointer.w0, offset:16
            LOAD.i16.force.unsigned.slot0 @r20, thread_local_pointer.w0, offset:18
            NOP.end"
        )
    };
    let mut random = Random(11);
    for offset in [16, 32, 244, 248, 1 << 14] {
        let code =
            tepui_mali_isa::asm::assemble(&store(offset)).unwrap_or_else(|e| panic!("{e:?}"));
        let program = Program::decode(0x4000, code.clone());
        let translated = |op: &Op| kind::kind(op, &program.rows).is_some();
        assert!(program.ops[1..=6].iter().all(translated));
        for _ in 0..20 {
            let (seed, mask) = (random.next(), random.next() as u16 | 1);
            for mask in [u16::MAX, mask] {
                let [a, b] = [false, true].map(|how| left(&code, how, mask, Random(seed)));
                assert_eq!(a, b, "offset {offset}, mask {mask:#x}");
                assert_eq!(a.0.is_ok(), u64::from(offset) + 12 <= LOCAL_BYTES);
                let lane = mask.trailing_zeros() as usize;
                if a.0.is_ok() {
                    let row = |register: usize| a.2[register].0[lane];
                    assert_eq!([row(7), row(8)], [row(3), row(4)], "offset {offset}");
                }
                if offset == 16 {
                    assert_eq!(a.2[20].0[lane] & 0xffff, a.2[16].0[lane] >> 16);
                }
            }
        }
    }
}
