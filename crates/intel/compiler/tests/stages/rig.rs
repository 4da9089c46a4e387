//! GLSL and WGSL to programs and pictures.

use tepui_compiler_test::draws::{Triangle, floats_are_near};
use tepui_compiler_test::reference::Pixel;
pub use tepui_compiler_test::sources::{glsl as shader, wgsl};
use tepui_intel_analysis::Code;
use tepui_intel_analysis::scoreboard::{self, Rules};
use tepui_intel_bare::draw::{Draw, Format, Picture};
use tepui_intel_bare::{Bindings, Machine};
use tepui_intel_chips::chip;
use tepui_intel_compiler::{FragmentState, Options, Program, compile};
use tepui_intel_isa::{Generation, Inst};
use tepui_ir::{Shader, Stage};

/// Side of the targets.
pub const SIDE: u32 = 32;

/// The generation of the module's tests.
pub fn generation() -> Generation {
    match module_path!().contains("tiger_lake") {
        true => Generation::Gen12,
        false => Generation::Gen9,
    }
}

pub fn machine() -> Machine {
    let options = tepui_intel_model::Options { threads: 1, check: true, ..Default::default() };
    let id = match generation() {
        Generation::Gen9 => "skl",
        Generation::Gen12 => "tgl",
    };
    Machine::new(chip(id).expect("a chip"), options)
}

pub fn listing(p: &Program) -> String {
    let mut text = String::new();
    for v in &p.variants {
        text += &format!("{}\n", v.stats);
        let mut at = v.offset as usize;
        let end = at + v.stats.bytes as usize;
        while at < end {
            match Inst::decode(generation(), &p.code, at) {
                Ok(inst) => {
                    text += &format!("{at:#06x} {inst}\n");
                    at += inst.bytes();
                }
                Err(e) => return format!("{text}{e}"),
            }
        }
    }
    text
}

/// Checks the scoreboard annotations of a program: none is missing by the rules of the compiler and by Mesa's.
fn check_scoreboard(p: &Program) {
    if generation() == Generation::Gen9 {
        return;
    }
    for v in &p.variants {
        let code = &p.code[v.offset as usize..][..v.stats.bytes as usize];
        let code = Code::decode(generation(), code).unwrap_or_else(|e| panic!("{e}"));
        for rules in [Rules { in_order_writes: false, ..Rules::STRICT }, Rules::MESA] {
            let found = scoreboard::check(&code, rules).unwrap_or_else(|e| panic!("{e}"));
            let first = found.first().map(|f| f.text(&code));
            assert_eq!(first, None, "{} accesses without order\n{}", found.len(), listing(p));
        }
    }
}

/// A program with checks, for the pipeline's state.
pub fn program(s: &Shader, fragment: FragmentState, registers: u16) -> Program {
    compiled(s, Options { fragment, registers, ..Options::default() })
}

/// A program with checks and other options.
pub fn compiled(s: &Shader, options: Options<'_>) -> Program {
    let options = Options { check: true, ..options };
    let p = compile(&mut s.clone(), generation(), &options).unwrap_or_else(|e| panic!("{e}\n{s}"));
    check_scoreboard(&p);
    if std::env::var_os("TEPUI_LISTING").is_some() {
        println!("{}", listing(&p));
    }
    p
}

/// A triangle of two shaders, of which every pixel is compared with the interpreter's.
pub struct Case<'a> {
    pub vs: Shader,
    pub fs: Shader,
    pub targets: Vec<Format>,
    pub clear: [u32; 4],
    /// Tolerance of floats, relative to the larger of both and 1.
    pub tolerance: f64,
    pub state: FragmentState,
    /// Registers of the programs' values; 0 for all.
    pub registers: u16,
    pub change: &'a dyn Fn(&mut Draw<'_>),
}

impl Case<'_> {
    /// A vertex and a fragment shader in GLSL, with a target of floats.
    pub fn new(vs: &str, fs: &str) -> Case<'static> {
        Case::of(shader(Stage::Vertex, vs), shader(Stage::Fragment, fs))
    }

    /// Both stages of a WGSL module.
    pub fn wgsl(source: &str) -> Case<'static> {
        Case::of(wgsl(Stage::Vertex, source), wgsl(Stage::Fragment, source))
    }

    pub fn of(vs: Shader, fs: Shader) -> Case<'static> {
        Case {
            vs,
            fs,
            targets: vec![Format::Float],
            clear: [0; 4],
            tolerance: 1e-4,
            state: FragmentState::default(),
            registers: 0,
            change: &|_| {},
        }
    }

    pub fn programs(&self) -> [Program; 2] {
        [&self.vs, &self.fs].map(|s| program(s, self.state, self.registers))
    }

    /// Draws with one number of channels, or all.
    pub fn draw(&self, [v, f]: &[Program; 2], width: u8) -> Picture {
        let none = Bindings::default();
        let mut d = Draw::triangle(v, f, [SIDE; 2], &none);
        d.clear = self.clear;
        d.targets.clone_from(&self.targets);
        d.width = width;
        (self.change)(&mut d);
        let picture = machine()
            .draw(&d)
            .unwrap_or_else(|e| panic!("{width}: {e}\n{}\n{}", listing(v), listing(f)));
        let bad = &picture.stats.reports;
        assert!(bad.is_empty(), "{width}: {bad:?}\n{}\n{}", listing(v), listing(f));
        picture
    }

    fn triangle(&self) -> Triangle<'_> {
        Triangle { vertex: &self.vs, fragment: &self.fs, clear: self.clear, side: SIDE }
    }

    /// The interpreter's result.
    pub fn reference(&self) -> Vec<Pixel> {
        self.triangle().reference()
    }

    /// Compares at each number of channels that the fragment program has, and with all.
    pub fn check(&self) {
        let want = self.reference();
        let programs = self.programs();
        let widths: Vec<u8> = programs[1].variants.iter().map(|v| v.width).chain([0]).collect();
        for width in widths {
            let picture = self.draw(&programs, width);
            self.compare(&want, &picture, &programs, width);
        }
    }

    fn compare(&self, want: &[Pixel], picture: &Picture, [v, f]: &[Program; 2], width: u8) {
        let targets: Vec<u8> = (0..self.targets.len() as u8).collect();
        assert_eq!(want.len(), picture.colours[0].len());
        let colour = |n: u8, k: usize| picture.colours[usize::from(n)][k].to_vec();
        let near = |n: u8, got, want| match self.targets[usize::from(n)] {
            Format::Float => floats_are_near(self.tolerance, got, want),
            _ => got == want,
        };
        let what = || format!("{width}\n{}\n{}", listing(v), listing(f));
        self.triangle().compare(want, &targets, &colour, &near, &what);
    }
}
