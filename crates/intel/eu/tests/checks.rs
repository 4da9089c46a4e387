//! The checker finds uses of registers that were never written, and nothing else.

mod common;

use common::END;
use tepui_intel_eu::{
    Dispatch, Finding, FindingKind, Message, MessageUnit, Outcome, Program, Refusal, Thread,
    ThreadView, UnwrittenStorage,
};
use tepui_intel_isa::{Generation, asm};

/// A unit that answers every message with 7 in the channels that execute.
#[derive(Default)]
struct SevenUnit(Vec<Finding>);

impl MessageUnit for SevenUnit {
    fn send(&mut self, view: &mut ThreadView<'_>, message: &Message) -> Result<Outcome, Refusal> {
        for register in 0..usize::from(message.dst_registers) {
            let mask = (message.channels >> (register % 2 * 8)) as u8;
            view.respond(register, [7; 8], mask);
        }
        Ok(Outcome::Done)
    }

    fn found(&mut self, findings: Vec<Finding>) {
        self.0.extend(findings);
    }
}

/// The findings of a thread of 16 channels, of which those of `mask` execute; g1 to g3 are its payload.
fn findings(text: &str, mask: u32) -> Vec<Finding> {
    findings_on(Generation::Gen9, &format!("{text}\n{END}"), mask)
}

fn findings_on(generation: Generation, text: &str, mask: u32) -> Vec<Finding> {
    let code = asm::assemble(generation, text);
    let code = code.unwrap_or_else(|errors| panic!("{text}\n{errors:?}"));
    let program = Program::from_bytes(generation, 0, &code).expect("a program");
    let program = program.translated_after(Some(0));
    let mut thread = Thread::new().checked();
    let mut unit = SevenUnit::default();
    for _ in 0..2 {
        // Values that an earlier thread left are not a payload.
        thread.clear_for(&program, mask, 0);
        thread.start(&Dispatch { mask, vector_mask: mask, state: 0, control: 0 });
        thread.write_payload(1, &[0; 24]);
        thread.run(&program, &mut unit, &mut 1000).expect("no fault");
    }
    let found = unit.0;
    let half = found.len() / 2;
    assert_eq!(found[..half], found[half..]);
    found[..half].to_vec()
}

/// The instruction and the text of the only finding.
fn one(text: &str, mask: u32) -> (u32, String) {
    let found = findings(text, mask);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, FindingKind::Unwritten(UnwrittenStorage::Register));
    (found[0].ip, found[0].what.clone())
}

const ADD: &str = "add(16) g10<1>UD g2<8,8,1>UD g4<8,8,1>UD { align1 1H };";

#[test]
fn what_was_written_is_silent() {
    let text = "
        mov(16) g4<1>UD 1UD { align1 1H };
        add(16) g10<1>UD g2<8,8,1>UD g4<8,8,1>UD { align1 1H };
        add(16) g12<1>UD g10<0,1,0>UD g3.4<0,1,0>UD { align1 1H };";
    assert_eq!(findings(text, 0xffff), []);
    assert_eq!(findings(text, 0x000f), []);
}

#[test]
fn a_register_that_was_never_written_is_found() {
    let (ip, what) = one(ADD, 0xffff);
    assert_eq!(ip, 0);
    assert_eq!(
        what,
        "byte 0 of g4 is read, but was never written (channels 0xffff of the instruction)"
    );
    // The half that a narrower instruction did not write.
    let (ip, what) = one(&format!("mov(8) g4<1>UD 1UD {{ align1 1Q }};\n{ADD}"), 0xffff);
    assert!(ip > 0 && what.starts_with("byte 0 of g5") && what.contains("0xff00"), "{what}");
    // Only channels that execute count.
    assert_eq!(findings(&format!("mov(8) g4<1>UD 1UD {{ align1 1Q }};\n{ADD}"), 0xff), []);
}

#[test]
fn writes_of_other_channels_do_not_count() {
    let text = format!(
        "
        cmp.l.f0.0(16) null<1>UD g2<8,8,1>UD 1UD {{ align1 1H }};
        (-f0.0) mov(16) g4<1>UD 1UD {{ align1 1H }};
        {ADD}"
    );
    // All channels are below 1, so none is written.
    assert!(one(&text, 0xffff).1.contains("channels 0xffff"));
}

#[test]
fn copies_pass_on_and_selections_read_one_source() {
    let copied = "mov(16) g6<1>UD g20<8,8,1>UD { align1 1H };";
    assert_eq!(findings(copied, 0xffff), []);
    let used = format!("{copied}\nadd(16) g10<1>UD g2<8,8,1>UD g6<8,8,1>UD {{ align1 1H }};");
    assert!(one(&used, 0xffff).1.starts_with("byte 0 of g6"));
    let select = |source: &str| {
        format!(
            "
            cmp.l.f0.0(16) null<1>UD g2<8,8,1>UD 1UD {{ align1 1H }};
            (+f0.0) sel(16) g6<1>UD {source} {{ align1 1H }};
            add(16) g10<1>UD g2<8,8,1>UD g6<8,8,1>UD {{ align1 1H }};"
        )
    };
    assert_eq!(findings(&select("g2<8,8,1>UD g20<8,8,1>UD"), 0xffff), []);
    assert!(one(&select("g20<8,8,1>UD g2<8,8,1>UD"), 0xffff).1.starts_with("byte 0 of g6"));
}

#[test]
fn planes_read_pairs_of_registers() {
    let text = "pln(16) g10<1>F g1<0,1,0>F g2<8,8,1>F { align1 1H };";
    let (_, what) = one(text, 0xffff);
    assert!(what.starts_with("byte 0 of g4") && what.contains("0xff00"), "{what}");
    assert_eq!(findings(text, 0xff), []);
}

#[test]
fn messages_read_offsets_and_write_responses() {
    // An untyped read of one double word per channel (SIMD16: bits 13:12), offsets in g2 and g3.
    let read = |payload: u8| {
        format!(
            "send(16) g12<1>UD g{payload}<8,8,1>UD 0x04205e01 dp data 1 MsgDesc: mlen 2 ex_mlen 0 rlen 2 {{ align1 1H }};"
        )
    };
    let text = format!("{}\nadd(16) g10<1>UD g2<8,8,1>UD g12<8,8,1>UD {{ align1 1H }};", read(2));
    assert_eq!(findings(&text, 0xffff), []);
    let (ip, what) = one(&read(3), 0xffff);
    assert!(ip == 0 && what.starts_with("byte 0 of g4") && what.contains("0x100"), "{what}");
    assert_eq!(findings(&read(3), 0xff), []);
}

/// The findings of a Gen12 program about the scoreboard: offset and text.
fn unordered(text: &str) -> Vec<(u32, String)> {
    const END: &str = "send(8) nullUD g127UD nullUD 0x02000000 0x00000000 thread_spawner \
        MsgDesc: mlen 1 ex_mlen 0 rlen 0 { align1 WE_all 1Q @1 EOT };";
    let found = findings_on(Generation::Gen12, &format!("{text}\n{END}"), 0xffff);
    found
        .into_iter()
        .inspect(|finding| assert_eq!(finding.kind, FindingKind::Unordered, "{finding:?}"))
        .map(|finding| (finding.ip, finding.what))
        .collect()
}

#[test]
fn accesses_that_the_scoreboard_does_not_order_are_found() {
    let text = |distance: &str, token: &str| {
        format!(
            "add(8) g10<1>F g2<8,8,1>F g3<8,8,1>F {{ align1 1Q }};
             math sqrt(8) g11<1>F g10<8,8,1>F null<8,8,1>F {{ align1 1Q {distance} $2 }};
             add(8) g12<1>F g11<8,8,1>F g2<8,8,1>F {{ align1 1Q {token} }};"
        )
    };
    assert_eq!(unordered(&text("@1", "$2.dst")), []);
    let found = unordered(&text("", ""));
    assert_eq!(found.iter().map(|(ip, _)| *ip).collect::<Vec<_>>(), [16, 32]);
    assert!(found[0].1.starts_with("it reads g10, which `add(8)"), "{}", found[0].1);
    assert!(found[0].1.ends_with("at 0x0 writes: a distance of at most 1 is missing"));
    assert!(found[1].1.ends_with("at 0x10 writes: a wait for $2.dst is missing"));
}

#[test]
fn registers_behind_an_address_are_followed() {
    let text = |byte: u32, token: &str| {
        format!(
            "math sqrt(8) g11<1>F g2<8,8,1>F null<8,8,1>F {{ align1 1Q $2 }};
             mov(8) g12<1>UD 0UD {{ align1 1Q }};
             mov(1) a0<1>UW {byte}UW {{ align1 WE_all 1N @1 }};
             mov(8) g13<1>UD g[a0]<1,1,0>UD {{ align1 1Q @1 {token} }};"
        )
    };
    // g11 is byte 352.
    assert_eq!(unordered(&text(384, "")), []);
    assert_eq!(unordered(&text(352, "$2.dst")), []);
    let found = unordered(&text(352, ""));
    assert_eq!(found.len(), 1);
    assert!(found[0].1.starts_with("it reads g11, which `math sqrt(8)"), "{}", found[0].1);
}
