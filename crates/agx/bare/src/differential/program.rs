//! Random programs in assembly: arithmetic, control flow, device and local memory.

use std::fmt::Write as _;

use tepui_agx_isa::{ROWS, random};

use super::fragment::Fragments;
use super::{BASES, Source};

/// Writes assembly. Registers: r1 has the thread's number, r2 to r11 values of the table, r12 is small, r16 to r23
/// are loaded, r24 and r25 count rounds of loops, r26 and r27 have
/// an address.
pub(super) struct Program<'s, 'a> {
    pub(super) source: &'s mut Source<'a>,
    /// State of the draw of a fragment program.
    fragments: Option<&'s Fragments>,
    text: String,
    labels: usize,
    loops: usize,
    depth: usize,
}

/// Instructions whose only effects are on registers; instances are drawn at random from the table.
const OF_LANES: &[&str] = &[
    "Iadd", "Imadd", "Bitop", "Bfi", "Bfeil", "Extr", "Asr", "Icmpsel", "Fcmpsel", "Fadd32",
    "Fmul32", "Fmadd32", "Fadd16", "Fmul16", "Fmadd16", "Floor", "Ceil", "Rint", "Trunc",
    "MovImm32",
];
/// Registers that indices and data are in.
pub(super) const VALUES: [&str; 12] =
    ["r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12"];

impl<'s, 'a> Program<'s, 'a> {
    /// A random program of a stage.
    pub(super) fn write(source: &'s mut Source<'a>, fragments: Option<&'s Fragments>) -> String {
        let mut program =
            Program { source, fragments, text: String::new(), labels: 0, loops: 0, depth: 0 };
        program.begin();
        for _ in 0..4 + program.source.below(20) {
            program.statement();
        }
        program.end();
        program.text
    }

    pub(super) fn line(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = self.text.write_fmt(text);
        self.text.push('\n');
    }

    fn begin(&mut self) {
        match self.fragments {
            Some(f) => f.number_pixels(self),
            None => self.line(format_args!("get_sr r1, sr80 (thread_position_in_grid.x)")),
        }
        self.line(format_args!(
            "mov_imm r13, 63, 0b0\n\
             bitop 0001, r12, r1, r13\n\
             iadd r2, r1, r1\n\
             device_load 0, i32, xyzw, r4_r5_r6_r7, u0_u1, r2, unsigned, lsl 2\n\
             iadd r2, r2, 1\n\
             device_load 0, i32, xyzw, r8_r9_r10_r11, u0_u1, r2, unsigned, lsl 2\n\
             wait 0\n\
             mov_imm r0l, 0"
        ));
    }

    /// Stores what registers have.
    fn end(&mut self) {
        self.line(format_args!(
            "iadd r2, r1, r1\n\
             device_store 0, i32, xyzw, r16_r17_r18_r19, u0_u1, r2, unsigned, lsl 2, 0\n\
             iadd r2, r2, 1\n\
             device_store 0, i32, xyzw, r20_r21_r22_r23, u0_u1, r2, unsigned, lsl 2, 0\n\
             stop"
        ));
    }

    fn statement(&mut self) {
        if let Some(f) = self.fragments
            && self.source.one_in(2)
        {
            return f.statement(self);
        }
        match self.source.below(16) {
            0..=5 => self.device(),
            6..=7 => self.local(),
            8..=10 => self.of_lanes(),
            11..=14 if self.depth < 3 => self.branch(),
            15 if self.loops < 2 => self.repeat(),
            _ => self.device(),
        }
    }

    fn body(&mut self) {
        self.depth += 1;
        for _ in 0..1 + self.source.below(4) {
            self.statement();
        }
        self.depth -= 1;
    }

    /// Registers of a transfer of `count` elements.
    pub(super) fn registers(&mut self, count: u32, load: bool) -> String {
        let half = self.source.one_in(3);
        let first = if load { 16 } else { 4 + self.source.below(4) as u32 };
        let at = |k: u32| match half {
            true => format!("r{}{}", first + k / 2, ["l", "h"][k as usize % 2]),
            false => format!("r{}", first + k),
        };
        (0..count).map(at).collect::<Vec<_>>().join("_")
    }

    pub(super) fn mask(&mut self) -> (&'static str, u32) {
        let mask = self.source.of_list(&["x", "xy", "xyz", "xyzw", "x", "y", "xz", "w", "yzw"]);
        (mask, mask.len() as u32)
    }

    fn device(&mut self) {
        let load = !self.source.one_in(3);
        let format =
            self.source.of_list(&["i32", "i32", "i32", "i16", "i8", "f16", "u8norm", "s16norm"]);
        let (mask, count) = self.mask();
        let registers = self.registers(count, load);
        let pair = 2 * self.source.below(BASES);
        let base = match self.source.below(16) {
            0 => self.source.of_list(&["r4_r5", "r6_r7", "r10_r11"]).to_owned(),
            // Near an address of memory, without a carry.
            1..=4 => {
                let far =
                    self.source.of_list(&["r12, lsl 2", "r12, lsl 4", "r1, lsl 2", "r12, lsl 1"]);
                let add = self.source.of_list(&["iadd", "iadd", "iadd", "isub"]);
                self.line(format_args!("{add} r26, u{pair}, {far}\niadd r27, u{}, 0", pair + 1));
                "r26_r27".to_owned()
            }
            _ => format!("u{pair}_u{}", pair + 1),
        };
        let index = match self.source.below(6) {
            0..=2 => self.source.below(64).to_string(),
            3 => self.source.of_list(&["0", "32767", "-1", "4096", "-32768"]).to_owned(),
            _ => self.source.of_list(&VALUES).to_owned(),
        };
        let sign = self.source.of_list(&["unsigned", "signed"]);
        let shift = self.source.of_list(&["", ", lsl 1", ", lsl 2"]);
        let (name, end) = if load { ("device_load", "") } else { ("device_store", ", 0") };
        self.line(format_args!(
            "{name} 0, {format}, {mask}, {registers}, {base}, {index}, {sign}{shift}{end}"
        ));
        if load && !self.source.one_in(4) {
            self.line(format_args!("wait 0"));
        }
    }

    fn local(&mut self) {
        let load = self.source.one_in(2);
        let format = self.source.of_list(&["i32", "i32", "i32", "i16", "i8"]);
        let (mask, count) = self.mask();
        let registers = self.registers(count, load);
        let base = self.source.of_list(&["0", "0", "r12l"]);
        // Outside of local memory is a fault, which ends the program: mostly inside.
        let index = if self.source.one_in(24) {
            self.source.of_list(&["r4l", "r7l", "4000", "-1"])
        } else {
            self.source.of_list(&["r12l", "0", "3", "r12l"])
        };
        let name = if load { "threadgroup_load" } else { "threadgroup_store" };
        self.line(format_args!("{name} {format}, {mask}, {registers}, {base}, {index}"));
        if load {
            self.line(format_args!("wait 0"));
        }
    }

    /// Any instruction of a kind, as random as it can be; it leaves r0 and the registers of loops alone.
    fn of_lanes(&mut self) {
        let name = self.source.of_list(OF_LANES);
        let Some(row) = ROWS.iter().position(|row| row.name == name) else { return };
        for _ in 0..64 {
            let text = random::Source::new(self.source.bits()).inst_of(row).to_string();
            let d = text
                .split([' ', ',', '.', '_'])
                .find(|word| word.starts_with('r'))
                .unwrap_or_default();
            let number = d.trim_start_matches('r').trim_end_matches(['l', 'h']);
            if number.parse().is_ok_and(|n: u32| (14..24).contains(&n)) {
                return self.line(format_args!("{text}"));
            }
        }
        let [a, b] = [0; 2].map(|_| self.source.of_list(&VALUES));
        let d = 16 + self.source.below(8);
        self.line(format_args!("imadd r{d}, {a}, {b}, r16"));
    }

    fn condition(&mut self) -> String {
        let [a, b] = [0; 2].map(|_| self.source.of_list(&VALUES));
        match self.source.below(3) {
            // Never.
            0 => format!("ult, {a}, 0"),
            1 => format!("ult, {a}, {b}"),
            _ => format!("slt, {a}, {b}"),
        }
    }

    fn branch(&mut self) {
        self.labels += 1;
        let label = self.labels;
        let condition = self.condition();
        self.line(format_args!("if_icmp r0l, {condition}, 1"));
        let (jumps, both) = (self.source.one_in(3), self.source.one_in(3));
        if jumps {
            self.line(format_args!("jmp_exec_none end{label}"));
        }
        self.body();
        if both && !jumps {
            self.line(format_args!("else_fcmp r0l, eq, 0.0, 0.0, 1"));
            self.body();
        }
        self.line(format_args!("end{label}:\npop_exec r0l, 1"));
    }

    /// A loop of some rounds. Lanes that are out stay so while it counts.
    fn repeat(&mut self) {
        self.labels += 1;
        let (label, counter) = (self.labels, 24 + self.loops);
        let rounds = 1 + self.source.below(4);
        self.loops += 1;
        self.line(format_args!(
            "mov_imm r{counter}, {rounds}, 0b0\nif_fcmp r0l, eq, 0.0, 0.0, 1\nloop{label}:"
        ));
        self.body();
        self.line(format_args!(
            "isub r{counter}, r{counter}, 1\nwhile_icmp r0l, nueq, r{counter}, 0, 1\n\
             jmp_exec_any loop{label}\npop_exec r0l, 1"
        ));
        self.loops -= 1;
    }
}
