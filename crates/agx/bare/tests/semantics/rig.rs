//! Runs single instructions: registers in, one instruction, registers out.
//!
//! All cases of a call run in one program of one SIMD-group. For each, the program loads r0 to r15
//! from a buffer, sets the execution mask from r0l (`pop_exec r0l, 0`), executes the instruction,
//! opens the mask again and stores the registers. What r0l holds in lanes that do not run shows in
//! the number of times that `pop_exec r0l, 1` must be executed before they do.

use tepui_agx_bare::{Buffer, Dispatch, Machine, address_halves};
use tepui_agx_isa::Inst;
use tepui_agx_isa::asm::assemble;
use tepui_agx_model::{Options, Target};

/// Lanes of a SIMD-group.
pub const LANES: usize = tepui_agx_chips::LANES;
/// Registers that a case has: r0 to r15.
pub const REGISTERS: usize = 16;
/// Registers that are loaded and stored: r16 and r17 belong to the rig.
const STORED: usize = 20;
/// Rounds in which lanes come back; r0l may be less than this.
const ROUNDS: u32 = 8;
/// Cases of one program.
const BATCH: usize = 256;

/// r0 to r15, in all lanes.
pub type Registers = [[u32; LANES]; REGISTERS];

/// One instruction and the registers before it. The low half of r0 says which lanes run: where it
/// is 0; it must be less than 5 elsewhere.
pub struct Case {
    /// The instruction.
    pub code: Vec<u8>,
    /// Registers before.
    pub before: Box<Registers>,
}

impl Case {
    /// A case from assembly.
    pub fn new(text: &str, before: Box<Registers>) -> Case {
        Case { code: asm(text), before }
    }

    /// Does the lane run?
    pub fn runs(&self, lane: usize) -> bool {
        self.before[0][lane] & 0xffff == 0
    }
}

/// Modes of running programs: interpreted, then translated from the first run on for each target of
/// this host.
pub fn ways() -> Vec<Options> {
    let interpreted = Options { translate_after: u32::MAX, ..Options::default() };
    let targets = Target::ALL.into_iter().filter(|target| target.is_available());
    let translated = targets.map(|target| Options {
        translate_after: 0,
        target: Some(target),
        ..Options::default()
    });
    std::iter::once(interpreted).chain(translated).collect()
}

/// Assembles.
pub fn asm(text: &str) -> Vec<u8> {
    assemble(text).unwrap_or_else(|errors| panic!("{text}: {}", errors[0]))
}

/// Machines and the uniform registers of their cases (u116 to u119 belong to the rig).
pub struct Rig {
    /// A machine that interprets, and one for each target that the host can run translations to:
    /// they must agree.
    pub machines: Vec<Machine>,
    /// Uniform registers in halves.
    pub uniforms: Vec<u16>,
}

#[expect(clippy::vec_box, reason = "cases and results are of one type, which is too large to move")]
impl Rig {
    /// A machine with uniform registers that are zero.
    pub fn new() -> Rig {
        let machines = ways().into_iter().map(|way| {
            let options = Options { threads: 1, instruction_budget: 1 << 24, ..way };
            Machine::new(options).expect("a machine")
        });
        Rig { machines: machines.collect(), uniforms: vec![0; 512] }
    }

    /// Registers after each case.
    pub fn run(&mut self, cases: &[Case]) -> Vec<Box<Registers>> {
        cases.chunks(BATCH).flat_map(|batch| self.batch(batch)).collect()
    }

    /// Memory that all machines have at the same address.
    pub fn buffers(&mut self, bytes: usize) -> Vec<Buffer> {
        let buffers = self.machines.iter_mut().map(|m| m.buffer(bytes).expect("memory"));
        let buffers: Vec<Buffer> = buffers.collect();
        assert!(buffers.iter().all(|b| b.address() == buffers[0].address()));
        buffers
    }

    fn batch(&mut self, cases: &[Case]) -> Vec<Box<Registers>> {
        let words = cases.len() * STORED * LANES;
        let input = self.buffers(4 * words);
        let output = self.buffers(4 * words);
        let mut values = Vec::with_capacity(words);
        for case in cases {
            for quad in 0..STORED / 4 {
                for lane in 0..LANES {
                    for r in 4 * quad..4 * quad + 4 {
                        values.push(case.before.get(r).map_or(0, |row| row[lane]));
                    }
                }
            }
        }
        for input in &input {
            input.write_words(&values).expect("the buffer is as large");
        }
        let mut uniforms = self.uniforms.clone();
        uniforms[232..236].copy_from_slice(&address_halves(input[0].address()));
        uniforms[236..240].copy_from_slice(&address_halves(output[0].address()));
        let code = program(cases);
        let dispatch = Dispatch {
            code: &code,
            uniforms: &uniforms,
            global: [LANES as u32, 1, 1],
            local: [LANES as u32, 1, 1],
            ..Dispatch::default()
        };
        let mut stats = Vec::new();
        for machine in &mut self.machines {
            stats.push(machine.dispatch(&dispatch).unwrap_or_else(|e| panic!("{e}")));
        }
        let mut outputs = output.iter().map(|o| o.read_words().expect("the buffer is bound"));
        let stored = outputs.next().expect("a machine that interprets");
        for ((translated, stats_of), way) in outputs.zip(&stats[1..]).zip(&ways()[1..]) {
            let target = way.target;
            assert_eq!(stats[0], *stats_of, "interpreted, {target:?}");
            for (i, (a, b)) in stored.iter().zip(&translated).enumerate() {
                let place = || place(cases, i);
                assert!(same(*a, *b), "{}: interpreted {a:#x}, {target:?} {b:#x}", place());
            }
        }
        let per_case = STORED * LANES;
        let back = |(case, words): (&Case, &[u32])| read_back(case, words);
        cases.iter().zip(stored.chunks_exact(per_case)).map(back).collect()
    }
}

/// Whether two words are equal as a float or as two halves, ignoring NaN payloads: which NaN results
/// from several is the host compiler's choice.
fn same(a: u32, b: u32) -> bool {
    let nan = |v: u32| f32::from_bits(v).is_nan();
    let half = |shift: u32| {
        let [a, b] = [a, b].map(|v| v >> shift & 0xffff);
        a == b || [a, b].iter().all(|v| v & 0x7fff > 0x7c00)
    };
    nan(a) && nan(b) || half(0) && half(16)
}

/// The type of a stored word.
fn place(cases: &[Case], word: usize) -> String {
    let (case, word) = (word / (STORED * LANES), word % (STORED * LANES));
    let (quad, word) = (word / (4 * LANES), word % (4 * LANES));
    let inst = Inst::decode(&cases[case].code).map(|(inst, _)| inst.to_string());
    format!("{inst:?}, r{} of lane {}", 4 * quad + word % 4, word / 4)
}

fn program(cases: &[Case]) -> Vec<u8> {
    let vector =
        |q: usize| (4 * q..4 * q + 4).map(|r| format!("r{r}")).collect::<Vec<_>>().join("_");
    let quads = 0..STORED / 4;
    let load: String = quads
        .clone()
        .map(|q| {
            let v = vector(q);
            format!(
                "device_load 0, i32, xyzw, {v}, u116_u117, r126, unsigned, lsl 2\n\
                 iadd r126, r126, 32\n"
            )
        })
        .collect();
    let store: String = quads
        .map(|q| {
            let v = vector(q);
            format!(
                "device_store 0, i32, xyzw, {v}, u118_u119, r125, unsigned, lsl 2, 0\n\
                 iadd r125, r125, 32\n"
            )
        })
        .collect();
    let before = asm(&format!("{load} wait 0\n pop_exec r0l, 0"));
    let keep = asm("wait 0\n mov r17, r0");
    let close = asm("mov_imm r0l, 0");
    let rounds = "iadd r16, r16, 1\n pop_exec r0l, 1\n".repeat(ROUNDS as usize);
    let after = asm(&format!("{rounds} {store}"));
    let mut code =
        asm("get_sr r127, sr80 (thread_position_in_grid.x)\n mov r126, r127\n mov r125, r127");
    for case in cases {
        code.extend(&before);
        code.extend(&case.code);
        code.extend(&keep);
        if !changes_mask(&case.code) {
            code.extend(&close);
        }
        code.extend(&after);
    }
    code.extend(asm("stop"));
    code
}

/// Does the instruction change the execution mask?
pub fn changes_mask(code: &[u8]) -> bool {
    let Ok((inst, _)) = Inst::decode(code) else { return false };
    matches!(
        inst,
        Inst::PopExec(_)
            | Inst::IfIcmp(_)
            | Inst::IfFcmp(_)
            | Inst::ElseIcmp(_)
            | Inst::ElseFcmp(_)
            | Inst::WhileIcmp(_)
            | Inst::WhileFcmp(_)
    )
}

/// Undoes what the rig did to r0.
fn read_back(case: &Case, words: &[u32]) -> Box<Registers> {
    let at = |r: usize, lane: usize| words[r / 4 * 4 * LANES + 4 * lane + r % 4];
    let mut registers = Box::new([[0; LANES]; REGISTERS]);
    for lane in 0..LANES {
        for (r, row) in registers.iter_mut().enumerate() {
            row[lane] = at(r, lane);
        }
        // A lane that came back in round k ran in the rounds after it.
        let depth = ROUNDS - at(16, lane);
        assert!(depth < ROUNDS, "lane {lane} never came back");
        let low = if changes_mask(&case.code) {
            depth
        } else {
            assert_eq!(depth, case.before[0][lane] & 0xffff, "the execution mask changed");
            if case.runs(lane) { at(17, lane) & 0xffff } else { depth }
        };
        registers[0][lane] = (registers[0][lane] & 0xffff_0000) | low;
    }
    registers
}
