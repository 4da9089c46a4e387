//! Random straight-line programs of the operations that have templates: interpreter and translation give the
//! same state.

mod common;

use std::fmt::Write as _;

use common::try_run_with;

/// The first register of a type. Floats have registers of their own: the bits of a NaN from a float operation are
/// unspecified, and integer operations would reveal them.
fn first(ty: &str) -> u64 {
    if ty == "F" { 10 } else { 30 }
}

/// A generator of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// A source: a row of registers that may overlap the rows of others, one element for all channels, or a
    /// constant.
    fn source(&mut self, ty: &str, modifiers: &[&str], constants: bool) -> String {
        let modifier = self.of(modifiers);
        let register = first(ty) + self.below(12);
        match self.below(7) {
            0 => format!("{modifier}g{register}.{}<0,1,0>{ty}", self.below(8)),
            1 if constants && ty == "F" => {
                format!("{}F", self.of(&["0x3f800000", "0xc0490fdb", "0x0", "0x7f800000"]))
            }
            1 if constants => format!("0x{:08x}{ty}", self.of(&[1u32, 5, 31, 0x7fff_ffff, 240])),
            // One of each four channels, and pairs of these.
            2 => {
                let region = self.of(&["<4,4,0>", "<4,2,0>"]);
                format!("{modifier}g{register}.{}{region}{ty}", self.below(4))
            }
            _ => format!("{modifier}g{register}<8,8,1>{ty}"),
        }
    }

    /// A source of 16 bits.
    fn words(&mut self, constants: bool) -> String {
        let register = first("UD") + self.below(12);
        let ty = self.of(&["W", "UW"]);
        match self.below(5) {
            0 => format!("g{register}.{}<0,1,0>{ty}", self.below(16)),
            1 => format!("g{register}.{}<1,4,0>{ty}", self.below(8)),
            2 if constants => self.of(&["0x11001010V", "0xfedc9876V", "0x0007W"]).to_owned(),
            3 => format!("g{register}<8,4,1>{ty}"),
            _ => format!("g{register}<8,8,1>{ty}"),
        }
    }

    /// An instruction on 16 bits, or one that copies non-contiguous elements.
    fn narrow(&mut self, text: &mut String) {
        let n = self.of(&[8, 16, 16, 32]);
        let half = match n {
            8 => self.of(&["1Q", "2Q"]),
            16 => self.of(&["1H", "2H"]),
            _ => "",
        };
        let mask = self.of(&["", "WE_all "]);
        let dst = first("UD") + self.below(12);
        let ty = self.of(&["W", "UW"]);
        let float = first("F") + self.below(12);
        let body = match self.below(7) {
            0 => format!("mov({n}) g{dst}<1>{ty} {}", self.words(false)),
            1 => format!("add({n}) g{dst}<1>{ty} {} {}", self.words(false), self.words(true)),
            2 => format!("mov({n}) g{float}<1>F {}", self.words(false)),
            3 => format!("mov({n}) g{dst}<1>D {}", self.words(false)),
            4 => format!("add({n}) g{dst}<1>D {} g{}<8,8,1>D", self.words(false), first("D") + 3),
            5 => format!(
                "cmp.l.f0.0({n}) null<1>D {} g{}<8,8,1>D",
                self.words(false),
                first("D") + 5
            ),
            _ => format!(
                "mov(8) g{dst}.{}<2>UD g{}.{}<{}>UD",
                self.below(2),
                first("UD") + self.below(10),
                self.below(2),
                self.of(&["8,4,2", "4,4,1", "8,8,1", "0,1,0"])
            ),
        };
        let half = if body.starts_with("mov(8)") && half != "2Q" { "1Q" } else { half };
        let _ = writeln!(text, "{body} {{ align1 {mask}{half} }};");
    }

    /// An instruction of one of the operations.
    fn line(&mut self, text: &mut String) {
        const FLOAT: [&str; 4] = ["", "-", "(abs)", "-(abs)"];
        let n = self.of(&[8, 8, 16, 16, 32]);
        let half = if n == 8 { self.of(&["1Q", "2Q", "3Q"]) } else { self.of(&["1H", "2H"]) };
        let half = if n == 32 { "" } else { half };
        let mask = if self.one_in(4) { "WE_all " } else { "" };
        let row = self.below(12);
        let flag = self.of(&["f0.0", "f0.1", "f1.0"]);
        let inverse = self.of(&["+", "-"]);
        let predicate = if self.one_in(4) { format!("({inverse}{flag}) ") } else { String::new() };
        let float = self.one_in(2);
        let ty = if float { "F" } else { self.of(&["D", "UD"]) };
        let condition = self.of(&["z", "nz", "g", "ge", "l", "le"]);
        let derive = if self.one_in(5) { format!(".{condition}.{flag}") } else { String::new() };
        let dst = first(ty) + row;
        let sat = if float && self.one_in(5) { ".sat" } else { "" };
        let modifiers: &[&str] = if float { &FLOAT } else { &["", "", "-"] };
        let one = |r: &mut Random, op: &str, to: &str, from: &str, m: &[&str]| {
            let a = r.source(from, m, false);
            format!("{predicate}{op}({n}) g{}<1>{to} {a}", first(to) + row)
        };
        let body = match self.below(11) {
            10 => {
                let dst = first("UD") + row;
                let line = match self.below(3) {
                    0 => "nop ;".to_owned(),
                    1 => format!(
                        "mov(1) g{dst}.{}<1>UD 0x{:08x}UD {{ align1 WE_all 1N }};",
                        self.below(8),
                        self.next() as u32
                    ),
                    _ => format!(
                        "{predicate}mul(16) g{dst}<1>D g{}<8,8,1>D {}W {{ align1 {mask}1H }};",
                        first("D") + self.below(12),
                        self.of(&["0x0007", "0xfff9"])
                    ),
                };
                let _ = writeln!(text, "{line}");
                return;
            }
            0 => {
                let op = format!("mov{sat}{derive}");
                one(self, &op, ty, ty, modifiers)
            }
            1 => {
                let from = self.of(&["D", "UD", "F"]);
                let m: &[&str] = if from == "F" { &FLOAT } else { &[""] };
                one(self, &format!("mov{derive}"), ty, from, m)
            }
            2 if float => {
                let op = self.of(&["rndd", "rnde", "rndz", "frc"]);
                one(self, &format!("{op}{sat}{derive}"), "F", "F", &FLOAT)
            }
            3 if float => {
                let op = self.of(&["math inv", "math sqrt", "math rsq"]);
                let n = n.min(16);
                format!("{op}({n}) g{dst}<1>F g{}<8,8,1>F null<8,8,1>F", 10 + self.below(12))
            }
            4 if float && n <= 16 => {
                let mut row = || {
                    let m = self.of(&["", "-", "(abs)"]);
                    format!("{m}g{}<4,4,1>F", 10 + self.below(12))
                };
                let (a, b, c) = (row(), row(), row());
                let op = self.of(&["mad", "mad", "lrp"]);
                format!("{predicate}{op}{sat}{derive}({n}) g{dst}<1>F {a} {b} {c}")
            }
            5 => {
                let (a, b) = (self.source(ty, modifiers, false), self.source(ty, modifiers, true));
                let extremum = self.of(&[".l", ".ge"]);
                match self.one_in(2) {
                    true => format!("({inverse}{flag}) sel({n}) g{dst}<1>{ty} {a} {b}"),
                    false => format!("sel{extremum}({n}) g{dst}<1>{ty} {a} {b}"),
                }
            }
            6 | 7 => {
                let m: &[&str] = if float { &FLOAT } else { &[""] };
                let (a, b) = (self.source(ty, m, false), self.source(ty, m, true));
                let to = if self.one_in(2) { "null".to_owned() } else { format!("g{dst}") };
                format!("{predicate}cmp.{condition}.{flag}({n}) {to}<1>{ty} {a} {b}")
            }
            8 if !float => {
                let op = self.of(&["and", "or", "xor", "shl", "asr", "shr"]);
                let ty = match op {
                    "asr" => "D",
                    "shr" => "UD",
                    _ => ty,
                };
                let m: &[&str] = if op.len() == 3 && !op.starts_with('s') && op != "asr" {
                    &["", "~"]
                } else {
                    &["", "-"]
                };
                let (a, b) = (self.source(ty, m, false), self.source(ty, m, true));
                format!("{predicate}{op}{derive}({n}) g{dst}<1>{ty} {a} {b}")
            }
            _ => {
                let op = self.of(&["add", "mul"]);
                let (a, b) = (self.source(ty, modifiers, false), self.source(ty, modifiers, true));
                format!("{predicate}{op}{sat}{derive}({n}) g{dst}<1>{ty} {a} {b}")
            }
        };
        // Gen9 has instructions of three sources in Align16 only.
        let access = if body.contains("<4,4,1>") { "align16" } else { "align1" };
        let _ = writeln!(text, "{body} {{ {access} {mask}{half} }};");
    }

    fn word(&mut self) -> u32 {
        match self.below(7) {
            0 => self.of(&[0, 0x8000_0000, 0x3f80_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000]),
            // Results at the edge of denormals.
            4 => self.of(&[0x3f7f_ffff, 0xbf7f_ffff, 0x0080_0000, 0x8080_0000, 0x0080_0001]),
            // Denormals.
            1 => self.next() as u32 & 0x807f_ffff,
            2 => self.below(64) as u32,
            3 => self.next() as u32,
            _ => ((self.below(20_000) as f32 - 10_000.0) / 64.0).to_bits(),
        }
    }
}

#[test]
fn straight_programs() {
    for seed in 0..4000 {
        let mut random = Random(seed);
        let mut text = String::new();
        for _ in 0..1 + random.below(10) {
            match random.one_in(4) {
                true => random.narrow(&mut text),
                false => random.line(&mut text),
            }
        }
        let mask = if random.one_in(2) { u32::MAX } else { random.next() as u32 };
        // Denormals kept or flushed, rounding to nearest or toward zero.
        let control = random.of(&[0x80, 0, 0xb0, 0x30]);
        let registers: Vec<u32> = (0..46 * 8).map(|_| random.word()).collect();
        let ran = try_run_with(&text, mask, control, |t| t.write_payload(0, &registers));
        if let Err(fault) = ran {
            panic!("seed {seed}: {fault}\n{text}");
        }
    }
}
