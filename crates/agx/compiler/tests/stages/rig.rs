//! GLSL to programs and pictures.

use tepui_agx_bare::Machine;
use tepui_agx_bare::draw::{Draw, Picture};
pub use tepui_agx_bare::pair::Linking;
use tepui_agx_bare::pair::Pair;
use tepui_agx_bare::shader::Bindings;
use tepui_agx_compiler::abi::tile::Tile;
use tepui_agx_compiler::{Program, abi};
use tepui_compiler_test::draws::{Triangle, floats_are_near};
use tepui_compiler_test::reference::Pixel;
pub use tepui_compiler_test::sources::{glsl as shader, wgsl};
use tepui_format::Format;
use tepui_ir::{Shader, Stage};

/// Side of the framebuffer.
pub const SIDE: u16 = 32;

pub fn machine() -> Machine {
    let options = tepui_agx_model::Options {
        threads: 1,
        check: true,
        uninitialised: tepui_agx_model::POISON,
        ..Default::default()
    };
    Machine::new(options).expect("a machine")
}

pub fn listing(p: &Program) -> String {
    tepui_agx_isa::disasm::Disassembler::new(&p.code)
        .map(|l| format!("{l}\n"))
        .take_while(|l| !l.contains(" trap"))
        .collect()
}

/// Both programs of a pair of shaders.
pub fn programs(
    vs: &Shader,
    fs: &Shader,
    tile: &Tile,
    attributes: &[Option<abi::attribute::Attribute>],
    making: Linking,
) -> (Program, Program) {
    let prolog = abi::Prolog::default();
    programs_behind(vs, fs, tile, attributes, prolog, making)
}

/// [`programs`] with what the pipeline's state asks of fragments.
pub fn programs_behind(
    vertex: &Shader,
    fragment: &Shader,
    tile: &Tile,
    attributes: &[Option<abi::attribute::Attribute>],
    prolog: abi::Prolog,
    making: Linking,
) -> (Program, Program) {
    Pair {
        vertex,
        fragment,
        tile,
        attributes,
        prolog,
        beyond: abi::Beyond::First,
        multiview: false,
    }
    .programs(making)
    .unwrap_or_else(|e| panic!("{e}\n{vertex}\n{fragment}"))
}

/// Draws one triangle of two shaders and compares every pixel with the interpreter, both ways of
/// making programs. Returns the pictures.
pub struct Case<'a> {
    pub vs: Shader,
    pub fs: Shader,
    pub tile: Tile,
    pub clear: [u32; 4],
    /// Tolerance of floats, relative to the larger of both and 1.
    pub tolerance: f64,
    pub change: &'a dyn Fn(&mut Draw<'_>),
    /// Predicate of pixels that pass the depth and stencil tests.
    pub passes: &'a dyn Fn(&Pixel) -> bool,
}

impl Case<'_> {
    /// A vertex and a fragment shader in GLSL.
    pub fn new(vs: &str, fs: &str, format: Format) -> Case<'static> {
        Case::of(shader(Stage::Vertex, vs), shader(Stage::Fragment, fs), format)
    }

    /// Both stages of a WGSL module.
    pub fn wgsl(source: &str, format: Format) -> Case<'static> {
        Case::of(wgsl(Stage::Vertex, source), wgsl(Stage::Fragment, source), format)
    }

    pub fn of(vs: Shader, fs: Shader, format: Format) -> Case<'static> {
        Case {
            vs,
            fs,
            tile: Tile::single(format),
            clear: [0; 4],
            tolerance: 1e-4,
            change: &|_| {},
            passes: &|_| true,
        }
    }

    pub fn draw(&self, making: Linking) -> (Picture, Program, Program) {
        let (v, f) = programs(&self.vs, &self.fs, &self.tile, &[], making);
        let none = Bindings::default();
        let mut m = machine();
        let mut d = Draw::triangles(&v, &f, &self.tile, [SIDE; 2], &none);
        d.clear = self.clear;
        (self.change)(&mut d);
        let picture = m
            .draw(&d)
            .unwrap_or_else(|e| panic!("{making:?}: {e}\n{}\n{}", listing(&v), listing(&f)));
        let bad = &picture.stats.reports;
        assert!(bad.is_empty(), "{making:?}: {bad:?}\n{}\n{}", listing(&v), listing(&f));
        (picture, v, f)
    }

    fn triangle(&self) -> Triangle<'_> {
        let (vertex, fragment) = (&self.vs, &self.fs);
        Triangle { vertex, fragment, clear: self.clear, side: u32::from(SIDE) }
    }

    /// The interpreter's result.
    pub fn reference(&self) -> Vec<Pixel> {
        self.triangle().reference()
    }

    pub fn check(&self) {
        let mut want = self.reference();
        for p in &mut want {
            p.alive &= (self.passes)(p);
        }
        let formats = self.tile.formats;
        let targets: Vec<u8> =
            (0..).zip(&formats).filter(|(_, f)| f.is_some()).map(|(n, _)| n).collect();
        let format = |n: u8| formats[usize::from(n)].expect("a target");
        for making in [Linking::Monolithic, Linking::Separate] {
            let (picture, v, f) = self.draw(making);
            let colour = |n, k| {
                let size = format(n).info().block.bytes as usize;
                texel(format(n), &picture.colours[&n][k * size..])
            };
            let near = |n, got, want| self.near(format(n), got, want);
            let what = || format!("{making:?}\n{}\n{}", listing(&v), listing(&f));
            self.triangle().compare(&want, &targets, &colour, &near, &what);
        }
    }

    fn near(&self, format: Format, got: u32, want: u32) -> bool {
        let (_, numeric) = abi::tile::channels(format);
        if numeric.is_integer() {
            return got == want;
        }
        if numeric != tepui_format::Numeric::Unorm {
            return floats_are_near(self.tolerance, got, want);
        }
        let (g, w) = (f64::from(f32::from_bits(got)), f64::from(f32::from_bits(want)));
        (g - w.clamp(0.0, 1.0)).abs() <= self.tolerance + 0.51 / 255.0 || got == want
    }
}

/// The components of a pixel in memory: floats' bits, or integers.
pub fn texel(format: Format, bytes: &[u8]) -> Vec<u32> {
    use tepui_format::Encoding;
    let Encoding::Plain(channels) = &format.info().encoding else { return Vec::new() };
    let mut out = Vec::new();
    for c in channels.as_slice() {
        let at = usize::from(c.shift / 8);
        let word = match c.bits {
            8 => u32::from(bytes[at]),
            16 => u32::from(u16::from_le_bytes([bytes[at], bytes[at + 1]])),
            _ => u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]),
        };
        use tepui_format::Numeric::{Sfloat, Sint, Unorm};
        out.push(match (c.numeric, c.bits) {
            (Unorm, n) => (word as f32 / ((1u64 << n) - 1) as f32).to_bits(),
            (Sint, n) => tepui_ir::sext(u64::from(word), n) as u32,
            (Sfloat, 16) => half_to_f32(word as u16).to_bits(),
            _ => word,
        });
    }
    out
}

fn half_to_f32(h: u16) -> f32 {
    let (sign, exp, man) = (h >> 15, i32::from(h >> 10 & 31), f32::from(h & 1023));
    let v = match exp {
        0 => man / 1024.0 * 2f32.powi(-14),
        _ => (1.0 + man / 1024.0) * 2f32.powi(exp - 15),
    };
    if sign != 0 { -v } else { v }
}
