//! Structured control flow: random programs on the model against an interpreter of one lane.
//!
//! The programs are encoded as Mesa's compiler does it: an `if` pushes 1, an unconditional `else`
//! turns it over, `pop_exec` ends it. A loop pushes 1, or 2 if something continues it, so that
//! `continue` is to leave one level and `break` to leave two. Either writes the number of levels to
//! r0l and updates the mask; a `while_icmp` that always passes brings lanes back that continue. A
//! conditional break is a `while_icmp`, or a select into r0l.
//! source: Mesa's agx_compile.c (`emit_if`, `emit_loop`, `agx_emit_jump`), agx_opt_break_if.c and
//! agx_lower_pseudo.c

use proptest::prelude::*;
use proptest::test_runner::Config;

use tepui_agx_bare::{Dispatch, Machine, address_halves};
use tepui_agx_model::Options;

use crate::rig::{LANES, asm, ways};
use crate::values;

/// Variables: r1 to r8.
const VARIABLES: usize = 8;
/// Rounds of a loop at most: each loop counts down a register of its own.
const ROUNDS: u32 = 4;

#[derive(Clone, Debug)]
enum Statement {
    /// `v[d] = v[a] + v[b] * 3 + k`
    Assign(usize, usize, usize, u32),
    /// `if v[a] cc v[b] … else …`
    If(usize, usize, usize, Vec<Statement>, Vec<Statement>),
    /// A loop that ends after some rounds, or by `break`.
    Loop(Vec<Statement>),
    /// Leave the innermost loop if `v[a] cc v[b]`; the flag asks for the fused form.
    Break(usize, usize, usize, bool),
    /// Go to the innermost loop's next round if `v[a] cc v[b]`.
    Continue(usize, usize, usize, bool),
}

const CONDITIONS: [&str; 8] = ["ueq", "ult", "ugt", "seq", "slt", "sgt", "nueq", "ugte"];

fn holds(condition: usize, a: u32, b: u32) -> bool {
    match condition {
        0 | 3 => a == b,
        1 => a < b,
        2 => a > b,
        4 => (a as i32) < b as i32,
        5 => a as i32 > b as i32,
        6 => a != b,
        _ => a >= b,
    }
}

fn statements(depth: u32) -> BoxedStrategy<Vec<Statement>> {
    let v = 0..VARIABLES;
    let assign = (v.clone(), v.clone(), v.clone(), 0u32..100)
        .prop_map(|(d, a, b, k)| Statement::Assign(d, a, b, k));
    let leave = (any::<[bool; 2]>(), 0..CONDITIONS.len(), v.clone(), v.clone()).prop_map(
        |([ends, fused], c, a, b)| match ends {
            true => Statement::Break(c, a, b, fused),
            false => Statement::Continue(c, a, b, fused),
        },
    );
    if depth == 0 {
        return prop::collection::vec(prop_oneof![4 => assign, 1 => leave], 0..4).boxed();
    }
    let inner = statements(depth - 1);
    let branch = (0..CONDITIONS.len(), v.clone(), v, inner.clone(), inner.clone())
        .prop_map(|(c, a, b, yes, no)| Statement::If(c, a, b, yes, no));
    let repeat = inner.prop_map(Statement::Loop);
    prop::collection::vec(prop_oneof![3 => assign, 1 => leave, 2 => branch, 1 => repeat], 1..5)
        .boxed()
}

/// Exit of control flow from a list of statements.
#[derive(Clone, Copy, PartialEq)]
enum Exit {
    Falls,
    Breaks,
    Continues,
}

/// Interprets one lane. `looping`: whether there is a loop to leave.
fn interpret(list: &[Statement], v: &mut [u32; VARIABLES], looping: bool) -> Exit {
    for statement in list {
        match statement {
            Statement::Assign(d, a, b, k) => {
                v[*d] = v[*a].wrapping_add(v[*b].wrapping_mul(3)).wrapping_add(*k);
            }
            Statement::If(c, a, b, yes, no) => {
                let taken = if holds(*c, v[*a], v[*b]) { yes } else { no };
                let exit = interpret(taken, v, looping);
                if exit != Exit::Falls {
                    return exit;
                }
            }
            Statement::Loop(body) => {
                for _ in 0..ROUNDS {
                    if interpret(body, v, true) == Exit::Breaks {
                        break;
                    }
                }
            }
            Statement::Break(c, a, b, _) if looping && holds(*c, v[*a], v[*b]) => {
                return Exit::Breaks;
            }
            Statement::Continue(c, a, b, _) if looping && holds(*c, v[*a], v[*b]) => {
                return Exit::Continues;
            }
            Statement::Break(..) | Statement::Continue(..) => {}
        }
    }
    Exit::Falls
}

/// Does something continue the loop of this body?
fn continues(body: &[Statement]) -> bool {
    body.iter().any(|statement| match statement {
        Statement::Continue(..) => true,
        Statement::If(_, _, _, yes, no) => continues(yes) || continues(no),
        _ => false,
    })
}

/// Emits machine code.
#[derive(Default)]
struct Emitter {
    text: String,
    labels: usize,
    /// Loops around: for each, whether something continues it.
    loops: Vec<bool>,
    /// `if`s inside of the innermost loop.
    nesting: usize,
    /// Constructs around.
    depth: usize,
}

impl Emitter {
    fn line(&mut self, text: impl AsRef<str>) {
        self.text.push_str(text.as_ref());
        self.text.push('\n');
    }

    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    fn all(&mut self, list: &[Statement]) {
        for statement in list {
            self.one(statement);
        }
    }

    fn one(&mut self, statement: &Statement) {
        match statement {
            Statement::Assign(d, a, b, k) => {
                let (d, a, b) = (d + 1, a + 1, b + 1);
                self.line(format!("mov_imm r20, {k}, 0b0"));
                self.line("mov_imm r21, 3, 0b0");
                self.line(format!("imadd r20, r{b}, r21, r20"));
                self.line(format!("iadd r{d}, r{a}, r20"));
            }
            Statement::If(c, a, b, yes, no) => {
                let condition = format!("{}, r{}, r{}", CONDITIONS[*c], a + 1, b + 1);
                self.branch(&condition, |e| e.all(yes), |e| e.all(no));
            }
            Statement::Loop(body) => self.repeat(body),
            Statement::Break(c, a, b, fused) | Statement::Continue(c, a, b, fused) => {
                let Some(&continued) = self.loops.last() else { return };
                let breaks = matches!(statement, Statement::Break(..));
                let levels = if breaks && continued { 2 } else { 1 };
                let (a, b) = (format!("r{}", a + 1), format!("r{}", b + 1));
                if *fused {
                    self.leave_if(*c, &a, &b, self.nesting + levels);
                } else {
                    let condition = format!("{}, {a}, {b}", CONDITIONS[*c]);
                    let leave = |e: &mut Emitter| {
                        e.line(format!("mov_imm r0l, {}", e.nesting + levels));
                        e.line("pop_exec r0l, 0");
                    };
                    self.branch(&condition, leave, |_| {});
                }
            }
        }
    }

    fn branch(
        &mut self,
        condition: &str,
        yes: impl FnOnce(&mut Emitter),
        no: impl FnOnce(&mut Emitter),
    ) {
        let label = self.label();
        self.nesting += 1;
        self.depth += 1;
        self.line(format!("if_icmp r0l, {condition}, 1"));
        self.line(format!("jmp_exec_none else{label}"));
        yes(self);
        self.line(format!("else{label}:"));
        self.line("else_fcmp r0l, eq, 0.0, 0.0, 1");
        self.line(format!("jmp_exec_none end{label}"));
        no(self);
        self.line(format!("end{label}:"));
        self.line("pop_exec r0l, 1");
        self.nesting -= 1;
        self.depth -= 1;
    }

    /// Leaves a number of levels if a condition holds, without an `if`.
    fn leave_if(&mut self, c: usize, a: &str, b: &str, levels: usize) {
        if levels == 1 {
            // Goes on while the opposite holds.
            let opposite = ["nueq", "ugte", "ulte", "nseq", "sgte", "slte", "ueq", "ult"][c];
            self.line(format!("while_icmp r0l, {opposite}, {a}, {b}, 1"));
        } else {
            // Selects have no inverted conditions: the results change places.
            let (condition, yes, no) = match c {
                6 => ("ueq", 0, levels),
                7 => ("ult", 0, levels),
                _ => (CONDITIONS[c], levels, 0),
            };
            self.line(format!("icmpsel {condition}, r0l, {a}, {b}, {yes}, {no}"));
            self.line("if_fcmp r0l, eq, 0.0, 0.0, 0");
        }
    }

    fn repeat(&mut self, body: &[Statement]) {
        let label = self.label();
        let counter = format!("r{}", 30 + self.loops.len());
        let continued = continues(body);
        let levels = if continued { 2 } else { 1 };
        self.line(format!("mov_imm {counter}, {ROUNDS}, 0b0"));
        // Lanes that are out must stay so while the loop counts.
        if self.depth > 0 {
            self.line(format!("if_fcmp r0l, eq, 0.0, 0.0, {levels}"));
        }
        let outer = std::mem::replace(&mut self.nesting, 0);
        self.loops.push(continued);
        self.depth += 1;
        self.line(format!("loop{label}:"));
        self.leave_if(0, &counter, "0", levels);
        self.line(format!("isub {counter}, {counter}, 1"));
        self.all(body);
        if continued {
            self.line("while_icmp r0l, ueq, 0, 0, 2");
        }
        self.line(format!("jmp_exec_any loop{label}"));
        self.line(format!("pop_exec r0l, {levels}"));
        self.depth -= 1;
        self.loops.pop();
        self.nesting = outer;
    }
}

fn run(list: &[Statement], seed: u64, way: Options) -> Result<(), TestCaseError> {
    let mut emitter = Emitter::default();
    emitter.all(list);
    let source = format!(
        "get_sr r127, sr80 (thread_position_in_grid.x)\n\
         device_load 0, i32, xyzw, r1_r2_r3_r4, u0_u1, r127, unsigned, lsl 2\n\
         device_load 0, i32, xyzw, r5_r6_r7_r8, u2_u3, r127, unsigned, lsl 2\n\
         wait 0\n{}\
         device_store 0, i32, xyzw, r1_r2_r3_r4, u0_u1, r127, unsigned, lsl 2, 0\n\
         device_store 0, i32, xyzw, r5_r6_r7_r8, u2_u3, r127, unsigned, lsl 2, 0\n\
         stop",
        emitter.text
    );
    let code = asm(&source);
    let options = Options { threads: 1, instruction_budget: 1 << 20, ..way };
    let mut machine = Machine::new(options).expect("a machine");
    let buffers = [0, 1].map(|_| machine.buffer(16 * LANES).expect("memory"));
    let mut lanes: Vec<[u32; VARIABLES]> = (0..LANES as u64)
        .map(|lane| std::array::from_fn(|v| values::value(seed, v as u64, lane) % 7))
        .collect();
    for (half, buffer) in buffers.iter().enumerate() {
        let words: Vec<u32> =
            lanes.iter().flat_map(|v| v[4 * half..4 * half + 4].to_vec()).collect();
        buffer.write_words(&words).expect("the buffer is as large");
    }
    let uniforms: Vec<u16> = buffers.iter().flat_map(|b| address_halves(b.address())).collect();
    let dispatch = Dispatch {
        code: &code,
        uniforms: &uniforms,
        global: [LANES as u32, 1, 1],
        local: [LANES as u32, 1, 1],
        ..Dispatch::default()
    };
    machine.dispatch(&dispatch).map_err(|e| TestCaseError::fail(format!("{e}\n{source}")))?;
    let stored = buffers.map(|b| b.read_words().expect("bound"));
    for (lane, v) in lanes.iter_mut().enumerate() {
        interpret(list, v, false);
        for (i, &want) in v.iter().enumerate() {
            let got = stored[i / 4][4 * lane + i % 4];
            prop_assert_eq!(got, want, "variable {} of lane {}\n{}", i, lane, &source);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(Config { cases: 200, failure_persistence: None, ..Config::default() })]

    #[test]
    fn structured_programs_do_what_their_lanes_do(
        list in statements(3),
        seed in any::<u64>(),
    ) {
        for way in ways() {
            run(&list, seed, way)?;
        }
    }
}

/// Threads that stop within a branch are gone; the others go on, with no jump around it.
#[test]
fn a_stop_within_a_branch_ends_its_threads_only() {
    let source = "get_sr r2, sr52 (thread_index_in_simdgroup)\n\
         mov_imm r1, 7, 0b0\n\
         mov_imm r0l, 0\n\
         if_icmp r0l, ult, r2, 5, 1\n\
         stop\n\
         pop_exec r0l, 1\n\
         device_store 0, i32, x, r1, u0_u1, r2, unsigned, 0\n\
         stop";
    let code = asm(source);
    let mut machine = Machine::new(Options::default()).expect("a machine");
    let buffer = machine.buffer(128).expect("memory");
    let dispatch = Dispatch {
        code: &code,
        uniforms: &address_halves(buffer.address()),
        global: [32, 1, 1],
        local: [32, 1, 1],
        ..Dispatch::default()
    };
    machine.dispatch(&dispatch).expect("the program ends");
    let words = buffer.read_words().expect("memory");
    for (lane, &word) in words.iter().take(32).enumerate() {
        assert_eq!(word, if lane < 5 { 0 } else { 7 }, "lane {lane}");
    }
}
