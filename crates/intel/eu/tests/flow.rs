//! Flow control: random structured programs, executed by the thread and channel by channel.

mod common;

use std::fmt::Write;

use common::{dwords, run, try_run};

/// Variables of a channel; each lives in two registers, for 16 channels.
const VARIABLES: usize = 6;
const FIRST: usize = 10;

/// A condition: a variable less than another.
type Condition = (usize, usize);

enum Statement {
    /// `a = b + constant`
    Add(usize, usize, i32),
    /// `a = b ^ c`
    Xor(usize, usize, usize),
    If(Condition, Vec<Statement>, Vec<Statement>),
    /// A number of iterations, unless it breaks.
    Loop(i32, Vec<Statement>),
    Break(Option<Condition>),
    Continue(Option<Condition>),
    Halt(Condition),
}

/// A deterministic sequence (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % n) as usize
    }

    fn variable(&mut self) -> usize {
        self.below(VARIABLES as u64)
    }

    fn condition(&mut self) -> Condition {
        (self.variable(), self.variable())
    }

    fn block(&mut self, depth: usize, in_loop: bool) -> Vec<Statement> {
        (0..1 + self.below(4)).map(|_| self.statement(depth, in_loop)).collect()
    }

    fn statement(&mut self, depth: usize, in_loop: bool) -> Statement {
        let kind = self.below(if depth == 0 { 2 } else { 12 });
        match kind {
            0 => {
                let (to, from) = self.condition();
                Statement::Add(to, from, self.below(200) as i32 - 100)
            }
            1 => Statement::Xor(self.variable(), self.variable(), self.variable()),
            2..=5 => {
                let condition = self.condition();
                let then = self.block(depth - 1, in_loop);
                let or_else =
                    if self.below(2) == 0 { Vec::new() } else { self.block(depth - 1, in_loop) };
                Statement::If(condition, then, or_else)
            }
            6..=8 => {
                let rounds = 1 + self.below(5) as i32;
                Statement::Loop(rounds, self.block(depth - 1, true))
            }
            9 if in_loop => {
                let condition = self.condition();
                Statement::Break((self.below(3) != 0).then_some(condition))
            }
            10 if in_loop => {
                let condition = self.condition();
                Statement::Continue((self.below(3) != 0).then_some(condition))
            }
            11 if self.below(4) == 0 => Statement::Halt(self.condition()),
            _ => Statement::Xor(self.variable(), self.variable(), self.variable()),
        }
    }
}

/// The control flow of a channel after a statement.
#[derive(PartialEq)]
enum ControlFlow {
    On,
    Break,
    Continue,
    Halt,
}

/// Executes statements for one channel.
fn execute(block: &[Statement], v: &mut [i32; VARIABLES]) -> ControlFlow {
    let less = |v: &[i32; VARIABLES], c: Condition| v[c.0] < v[c.1];
    for statement in block {
        let next = match statement {
            Statement::Add(to, from, constant) => {
                v[*to] = v[*from].wrapping_add(*constant);
                ControlFlow::On
            }
            Statement::Xor(to, a, b) => {
                v[*to] = v[*a] ^ v[*b];
                ControlFlow::On
            }
            Statement::If(condition, then, or_else) => {
                execute(if less(v, *condition) { then } else { or_else }, v)
            }
            Statement::Loop(rounds, body) => {
                let mut result = ControlFlow::On;
                for _ in 0..*rounds {
                    match execute(body, v) {
                        ControlFlow::Break => break,
                        ControlFlow::Halt => {
                            result = ControlFlow::Halt;
                            break;
                        }
                        ControlFlow::On | ControlFlow::Continue => {}
                    }
                }
                result
            }
            Statement::Break(None) => ControlFlow::Break,
            Statement::Break(Some(c)) if less(v, *c) => ControlFlow::Break,
            Statement::Continue(None) => ControlFlow::Continue,
            Statement::Continue(Some(c)) if less(v, *c) => ControlFlow::Continue,
            Statement::Halt(c) if less(v, *c) => ControlFlow::Halt,
            _ => ControlFlow::On,
        };
        if next != ControlFlow::On {
            return next;
        }
    }
    ControlFlow::On
}

/// Emits assembly as Mesa does: JIP names the end of the innermost block, UIP the end of the construct.
struct Assembly {
    text: String,
    labels: usize,
    /// Registers of the loops' counters, by depth.
    loops: usize,
}

impl Assembly {
    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{text};");
    }

    fn compare(&mut self, (a, b): Condition) {
        let (a, b) = (FIRST + 2 * a, FIRST + 2 * b);
        self.line(&format!("cmp.l.f0.0(16) null<1>D g{a}<8,8,1>D g{b}<8,8,1>D {{ align1 1H }}"));
    }

    /// `end` is the label of the innermost enclosing block's end, `while_label` that of the loop's `while`.
    fn block(&mut self, block: &[Statement], end: Option<&str>, while_label: Option<&str>) {
        for statement in block {
            self.statement(statement, end, while_label);
        }
    }

    fn statement(&mut self, statement: &Statement, end: Option<&str>, while_label: Option<&str>) {
        match statement {
            Statement::Add(to, from, constant) => {
                let (to, from) = (FIRST + 2 * to, FIRST + 2 * from);
                self.line(&format!(
                    "add(16) g{to}<1>D g{from}<8,8,1>D {constant}D {{ align1 1H }}"
                ));
            }
            Statement::Xor(to, a, b) => {
                let [to, a, b] = [to, a, b].map(|v| FIRST + 2 * v);
                self.line(&format!("xor(16) g{to}<1>D g{a}<8,8,1>D g{b}<8,8,1>D {{ align1 1H }}"));
            }
            Statement::If(condition, then, or_else) => {
                let (at_else, at_endif, behind_else) = (self.label(), self.label(), self.label());
                self.compare(*condition);
                if or_else.is_empty() {
                    self.line(&format!(
                        "(+f0.0) if(16) JIP: {at_endif} UIP: {at_endif} {{ align1 1H }}"
                    ));
                    self.block(then, Some(&at_endif), while_label);
                } else {
                    self.line(&format!(
                        "(+f0.0) if(16) JIP: {behind_else} UIP: {at_endif} {{ align1 1H }}"
                    ));
                    self.block(then, Some(&at_else), while_label);
                    let _ = writeln!(self.text, "{at_else}:");
                    // Gen9's form: a nop before the endif, and branch control.
                    let at_nop = self.label();
                    self.line(&format!(
                        "else(16) JIP: {at_nop} UIP: {at_endif} {{ align1 1H BranchCtrl }}"
                    ));
                    let _ = writeln!(self.text, "{behind_else}:");
                    self.block(or_else, Some(&at_endif), while_label);
                    let _ = writeln!(self.text, "{at_nop}:");
                    self.line("nop");
                }
                let _ = writeln!(self.text, "{at_endif}:");
                self.endif(end);
            }
            Statement::Loop(rounds, body) => {
                let counter = FIRST + 2 * VARIABLES + 2 * self.loops;
                self.loops += 1;
                let (start, at_while) = (self.label(), self.label());
                self.line(&format!("mov(16) g{counter}<1>D 0D {{ align1 1H }}"));
                let _ = writeln!(self.text, "{start}:");
                self.line(&format!("add(16) g{counter}<1>D g{counter}<8,8,1>D 1D {{ align1 1H }}"));
                self.line(&format!(
                    "cmp.g.f0.0(16) null<1>D g{counter}<8,8,1>D {rounds}D {{ align1 1H }}"
                ));
                self.line(&format!(
                    "(+f0.0) break(16) JIP: {at_while} UIP: {at_while} {{ align1 1H }}"
                ));
                self.block(body, Some(&at_while), Some(&at_while));
                let _ = writeln!(self.text, "{at_while}:");
                self.line(&format!("while(16) JIP: {start} {{ align1 1H }}"));
            }
            Statement::Break(condition) | Statement::Continue(condition) => {
                let name = if matches!(statement, Statement::Break(_)) { "break" } else { "cont" };
                let at_while = while_label.expect("in a loop");
                let jip = end.unwrap_or(at_while);
                let predicate = if condition.is_some() { "(+f0.0) " } else { "" };
                if let Some(condition) = condition {
                    self.compare(*condition);
                }
                self.line(&format!(
                    "{predicate}{name}(16) JIP: {jip} UIP: {at_while} {{ align1 1H }}"
                ));
            }
            Statement::Halt(condition) => {
                self.compare(*condition);
                let jip = end.unwrap_or("HALT");
                self.line(&format!("(+f0.0) halt(16) JIP: {jip} UIP: HALT {{ align1 1H }}"));
            }
        }
    }

    fn endif(&mut self, end: Option<&str>) {
        match end {
            Some(end) => self.line(&format!("endif(16) JIP: {end} {{ align1 1H }}")),
            None => self.line("endif(16) JIP: 16 { align1 1H }"),
        }
    }
}

#[test]
fn random_structured_programs() {
    let mut loops = 0;
    for seed in 0..3000 {
        let mut random = Random(seed);
        let program = random.block(4, false);
        let mut assembly = Assembly { text: String::new(), labels: 0, loops: 0 };
        assembly.block(&program, None, None);
        if assembly.loops > 48 {
            continue;
        }
        loops += assembly.loops;
        assembly.text.push_str("HALT:\n");
        let start: [[i32; 16]; VARIABLES] =
            std::array::from_fn(|_| std::array::from_fn(|_| random.below(100) as i32 - 50));
        let mask = match seed % 3 {
            0 => 0xffff,
            1 => 0xff0f,
            _ => random.below(0xffff) as u32 + 1,
        };
        let thread = run(&assembly.text, mask, |t| {
            for (n, row) in start.iter().enumerate() {
                t.write_payload(FIRST + 2 * n, &row.map(|v| v as u32));
            }
        });
        for channel in 0..16 {
            let mut v = start.map(|row| row[channel]);
            if mask >> channel & 1 != 0 {
                execute(&program, &mut v);
            }
            for (n, expected) in v.into_iter().enumerate() {
                let found = dwords(&thread, FIRST + 2 * n, 16)[channel] as i32;
                assert_eq!(
                    found, expected,
                    "seed {seed} channel {channel} v{n}\n{}",
                    assembly.text
                );
            }
        }
    }
    assert!(loops > 1000, "{loops}");
}

/// Nested loops with breaks out of conditionals, one channel against the others.
#[test]
fn collatz() {
    // Steps to 1, at most 100, odd and even in different branches.
    let text = "
        mov(16) g12<1>D 0D { align1 1H };
        LOOP:
        cmp.le.f0.0(16) null<1>D g10<8,8,1>D 1D { align1 1H };
        (+f0.0) break(16) JIP: WHILE UIP: WHILE { align1 1H };
        and.nz.f0.0(16) null<1>D g10<8,8,1>D 1D { align1 1H };
        (+f0.0) if(16) JIP: ELSE UIP: ENDIF { align1 1H };
        mul(16) g10<1>D g10<8,8,1>D 3W { align1 1H };
        add(16) g10<1>D g10<8,8,1>D 1D { align1 1H };
        cmp.g.f1.0(16) null<1>D g10<8,8,1>D 5000D { align1 1H };
        (+f1.0) break(16) JIP: END_THEN UIP: WHILE { align1 1H };
        END_THEN:
        else(16) JIP: ENDIF UIP: ENDIF { align1 1H };
        ELSE:
        asr(16) g10<1>D g10<8,8,1>D 1D { align1 1H };
        ENDIF:
        endif(16) JIP: WHILE { align1 1H };
        add(16) g12<1>D g12<8,8,1>D 1D { align1 1H };
        WHILE:
        while(16) JIP: LOOP { align1 1H };";
    let start: [u32; 16] = std::array::from_fn(|i| [27, 1, 7, 97][i % 4] + i as u32);
    let thread = run(text, 0xffff, |t| t.write_payload(10, &start));
    for (channel, n) in start.into_iter().enumerate() {
        let (mut n, mut steps) = (n, 0);
        while n > 1 {
            if n % 2 == 1 {
                n = n * 3 + 1;
                if n > 5000 {
                    break;
                }
            } else {
                n /= 2;
            }
            steps += 1;
        }
        assert_eq!(dwords(&thread, 12, 16)[channel], steps, "channel {channel}");
        assert_eq!(dwords(&thread, 10, 16)[channel], n, "channel {channel}");
    }
}

/// Loops whose channels leave at their `while`, in different iterations, and some within a branch that only some
/// take.
#[test]
fn channels_leave_loops_at_different_rounds() {
    let text = "
        mov(16) g12<1>D 0D { align1 1H };
        cmp.g.f1.0(16) null<1>D g10<8,8,1>D 3D { align1 1H };
        (+f1.0) if(16) JIP: ENDIF UIP: ENDIF { align1 1H };
        LOOP:
        add(16) g12<1>D g12<8,8,1>D 3D { align1 1H };
        add(16) g10<1>D g10<8,8,1>D -1D { align1 1H };
        cmp.nz.f0.0(16) null<1>D g10<8,8,1>D 0D { align1 1H };
        (+f0.0) while(16) JIP: LOOP { align1 1H };
        ENDIF:
        endif(16) JIP: END { align1 1H };
        END:
        add(16) g12<1>D g12<8,8,1>D 1D { align1 1H };";
    for mask in [0xffffu32, 0xa5f3, 0x0010] {
        let start: [u32; 16] = std::array::from_fn(|i| [5, 1, 9, 7][i % 4] + i as u32 % 3);
        let thread = run(text, mask, |t| t.write_payload(10, &start));
        for (channel, n) in start.into_iter().enumerate() {
            let executes = mask >> channel & 1 != 0;
            let rounds = if n > 3 { 3 * n } else { 0 };
            let want = if executes { rounds + 1 } else { 0 };
            assert_eq!(dwords(&thread, 12, 16)[channel], want, "channel {channel}");
        }
    }
}

#[test]
fn jumps_without_channels() {
    let text = "
        mov(1) f0<1>UD 1UD { align1 WE_all 1N };
        (+f0.0) jmpi(1) 16D { align1 WE_all 1N };
        mov(8) g10<1>UD 1UD { align1 1Q };
        (-f0.0) jmpi(1) 16D { align1 WE_all 1N };
        mov(8) g11<1>UD 1UD { align1 1Q };";
    let thread = run(text, 0xff, |_| {});
    assert_eq!((dwords(&thread, 10, 1), dwords(&thread, 11, 1)), (vec![0], vec![1]));
}

#[test]
fn endless_loops_meet_the_watchdog() {
    let text = "LOOP: while(8) JIP: LOOP { align1 1Q };";
    let fault = try_run(text, 0xff, |_| {}).map(|_| ()).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "ip 0x0: stopped by the watchdog after 1000000 instructions: while(8) JIP: 0 { align1 1Q };"
    );
}
