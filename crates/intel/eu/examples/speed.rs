use tepui_intel_eu::*;
use tepui_intel_isa::{Generation, asm};
struct No;
impl MessageUnit for No {
    fn send(&mut self, _: &mut ThreadView<'_>, _: &Message) -> Result<Outcome, Refusal> {
        Ok(Outcome::Done)
    }
}
fn main() {
    for (name, body) in [
        (
            "mixed",
            "add(16) g10<1>D g10<8,8,1>D 3D { align1 1H };
        mad(16) g20<1>F g22<4,4,1>F g24<4,4,1>F g26.1<0,1,0>F { align16 1H };
        mul(16) g28<1>F g20<8,8,1>F g22<8,8,1>F { align1 1H };
        mov(16) g30<1>F g10<8,8,1>D { align1 1H };
        cmp.l.f0.0(16) null<1>F g28<8,8,1>F g30<8,8,1>F { align1 1H };
        (+f0.0) sel(16) g32<1>F g28<8,8,1>F g30<8,8,1>F { align1 1H };
        and(16) g34<1>UD g10<8,8,1>UD 0xffUD { align1 1H };
        shl(16) g36<1>D g34<8,8,1>D 2D { align1 1H };",
        ),
        ("mad", "mad(16) g20<1>F g22<4,4,1>F g24<4,4,1>F g26.1<0,1,0>F { align16 1H };"),
        ("mul", "mul(16) g28<1>F g20<8,8,1>F g22<8,8,1>F { align1 1H };"),
        ("add", "add(16) g10<1>D g10<8,8,1>D 3D { align1 1H };"),
        ("mov", "mov(16) g30<1>D g10<8,8,1>D { align1 1H };"),
        ("i2f", "mov(16) g30<1>F g10<8,8,1>D { align1 1H };"),
        ("cmp", "cmp.l.f0.0(16) null<1>D g28<8,8,1>D g30<8,8,1>D { align1 1H };"),
        ("selF", "(+f0.0) sel(16) g32<1>F g28<8,8,1>F g30<8,8,1>F { align1 1H };"),
    ] {
        let reps = body.repeat(16);
        let text = format!(
            "mov(16) g4<1>D 0D {{ align1 1H }};\nLOOP: add(16) g4<1>D g4<8,8,1>D 1D {{ align1 1H }};\n{reps}\ncmp.l.f1.0(16) null<1>D g4<8,8,1>D 20000D {{ align1 1H }};\n(+f1.0) while(16) JIP: LOOP {{ align1 1H }};\nsend(8) null<1>UD g127<8,8,1>UD 0x82000010 thread_spawner MsgDesc: {{ align1 WE_all 1Q EOT }};"
        );
        let code = asm::assemble(Generation::Gen9, &text).unwrap();
        let program = Program::from_bytes(Generation::Gen9, 0, &code).unwrap();
        let mut t = Thread::new();
        t.start(&Dispatch { mask: 0xffff, vector_mask: 0xffff, state: 0, control: 0 });
        let at = std::time::Instant::now();
        t.run(&program, &mut No, &mut 1_000_000_000).unwrap();
        println!(
            "{name}: {:.1} ns an instruction ({})",
            at.elapsed().as_nanos() as f64 / t.executed() as f64,
            t.executed()
        );
    }
}
