//! Fragment programs of the differential test: their draw state, and the instructions that only fragment programs have.
//!
//! A few triangles lie over each other in a picture of [`SIDE`] pixels. Programs interpolate at all places, load and store
//! the tilebuffer with masks of samples, and decide about samples with and without depths of their own. A multisampled
//! tile is stored nowhere: it is compared by what programs load from it and write to memory.

use std::sync::LazyLock;

use tepui_agx_compiler::abi::tile::Tile;
use tepui_agx_compiler::uniforms::Uniform;
use tepui_agx_compiler::varyings::{Coefficients, FragmentTable, Origin, Shading, Varying};
use tepui_agx_compiler::{Program as Shader, Source as UniformSource, Stats, Table};
use tepui_agx_packets::ppp::ZsFunc;
use tepui_format::Format;

use super::Source;
use super::program::{Program, VALUES};
use crate::draw::{DepthStencil, Draw, Prepared};
use crate::shader::Bindings;
use crate::{Error, Machine};

/// Pixels of the picture in each direction: as many as the table has entries.
const SIDE: u16 = 16;
/// Coefficient registers: 1/w, and the four words of a varying.
const COEFFICIENTS: u64 = 5;
/// Words of a vertex: a position and a varying.
const VERTEX_WORDS: usize = 8;

/// The vertex program: positions and a varying out of a buffer.
static VERTEX: LazyLock<Result<Shader, tepui_agx_compiler::Error>> = LazyLock::new(|| {
    let mut shader = tepui_ir::parse(
        "shader vertex \"main\" {
  resource storage_buffer set 0 binding 0 count 1 2d float \"vertices\"
  output [builtin position component 0 float smooth center] b32x4 count 1 \"position\"
  output [location 0 component 0 float smooth center] b32x4 count 1 \"varying\"
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x5]
    %2:b32 = const[0x10]
    %3:b32 = load_builtin[vertex_index]
    %4:b32 = ishl %3, %1
    %5:b32 = iadd %4, %2
    %6:b64 = descriptor[@r0] %0
    %7:b32x4 = load_buffer[align 16] %6, %4
    %8:b32x4 = load_buffer[align 16] %6, %5
    store_output[builtin position component 0 float smooth center] %7, %0
    store_output[location 0 component 0 float smooth center] %8, %0
    yield
  }
}
",
    )
    .map_err(|e| tepui_agx_compiler::Error::Internal(e.to_string()))?;
    tepui_agx_compiler::compile(&mut shader, &Default::default())
});

/// State of the draw of a fragment program.
#[derive(Clone, Debug)]
pub(super) struct Fragments {
    format: Format,
    samples: u8,
    shading: Shading,
    /// The program decides about samples; else the tests run before it.
    decides: bool,
    /// Quads of several primitives may share a SIMD-group.
    merges: bool,
    depth: ZsFunc,
    stencil: Option<ZsFunc>,
    vertices: Vec<[f32; VERTEX_WORDS]>,
}

impl Fragments {
    pub(super) fn new(source: &mut Source<'_>) -> Fragments {
        let tests = [ZsFunc::Always, ZsFunc::Always, ZsFunc::Less, ZsFunc::Gequal, ZsFunc::Never];
        let triangles = 1 + source.below(5);
        let mut coordinate = |steps: u64, least: f32| least + source.below(steps) as f32 / 16.0;
        let vertices = (0..3 * triangles)
            .map(|_| {
                let w = coordinate(32, 0.5);
                let [x, y, z] = [coordinate(49, -1.5), coordinate(49, -1.5), coordinate(16, 0.0)]
                    .map(|v| v * w);
                let varying = [0; 4].map(|_| coordinate(64, -1.0));
                [x, y, z, w, varying[0], varying[1], varying[2], varying[3]]
            })
            .collect();
        Fragments {
            format: source.of_list(&[
                Format::R8G8B8A8_UNORM,
                Format::R8G8B8A8_UNORM,
                Format::R8G8B8A8_SRGB,
                Format::R8G8B8A8_SRGB,
                Format::R16G16B16A16_SFLOAT,
                Format::R32G32B32A32_SFLOAT,
                Format::R32_UINT,
            ]),
            samples: source.of_list(&[1, 1, 2, 4]),
            shading: source.of_list(&[Shading::Smooth, Shading::Linear, Shading::Flat]),
            decides: source.one_in(2),
            merges: source.one_in(2),
            depth: source.of_list(&tests),
            stencil: if source.one_in(3) { Some(source.of_list(&tests)) } else { None },
            vertices,
        }
    }

    /// The pixel's number as the thread's.
    pub(super) fn number_pixels(&self, p: &mut Program<'_, '_>) {
        p.line(format_args!(
            "get_sr r1, sr80 (thread_position_in_grid.x)\n\
             get_sr r2, sr81 (thread_position_in_grid.y)\n\
             mov_imm r13, {SIDE}, 0b0\n\
             imadd r1, r2, r13, r1"
        ));
    }

    /// An instruction of fragment programs.
    pub(super) fn statement(&self, p: &mut Program<'_, '_>) {
        match p.source.below(8) {
            0..=2 => interpolate(p),
            3 => {
                let first = p.source.below(COEFFICIENTS + 1);
                let registers = p.source.of_list(&["r16_r17_r18", "r16l_r16h_r17l", "r20_r21_r22"]);
                p.line(format_args!("ldcf {registers}, cf{first}"));
            }
            4..=5 => self.tile(p),
            6 if self.decides => self.decide(p),
            _ => {
                let special = p.source.of_list(&[
                    "sr124 (input_sample_mask)",
                    "sr60 (active_sample_mask)",
                    "sr62 (backfacing)",
                    "sr63 (is_active_thread)",
                ]);
                let d = 16 + p.source.below(8);
                p.line(format_args!("get_sr r{d}, {special}"));
            }
        }
    }

    /// Loads or stores the pixel in the tile.
    fn tile(&self, p: &mut Program<'_, '_>) {
        let load = p.source.one_in(2);
        let format = p
            .source
            .of_list(&["u8norm", "u8norm", "srgba8", "i8", "f16", "i32", "u16norm", "rgb10a2"]);
        let (mask, count) = p.mask();
        // Accesses past the end of a sample fault, which ends the program: most are inside.
        let (mask, count) = if p.source.one_in(2) { ("xyzw", 4) } else { (mask, count) };
        let registers = p.registers(count, load);
        let offset = if p.source.one_in(16) { p.source.below(64) } else { 0 };
        let samples = if p.source.one_in(2) {
            "255".to_owned()
        } else if load {
            // The result of loading several samples is unknown.
            (1 << p.source.below(u64::from(self.samples))).to_string()
        } else {
            let register = p.source.of_list(&["r12l", "r4l"]).to_owned();
            if p.source.one_in(2) { register } else { p.source.below(16).to_string() }
        };
        let (name, unknown) = if load { ("ld_tile", 1) } else { ("st_tile", 0) };
        p.line(format_args!(
            "wait_pix 12, 0\n{name} {registers}, {format}, {unknown}, {mask}, {offset}, {samples}, 0"
        ));
    }

    /// Decides about samples of a mask.
    fn decide(&self, p: &mut Program<'_, '_>) {
        let mut mask = || match p.source.below(4) {
            0 => "255".to_owned(),
            1 => p.source.of_list(&["r12l", "r4l", "r7l"]).to_owned(),
            _ => p.source.below(16).to_string(),
        };
        let [targets, live] = [mask(), mask()];
        if p.source.one_in(3) {
            let values = p.source.of_list(&["r6l_r6h", "r12l", "r6l_r6h_r7l"]);
            p.line(format_args!("wait_pix 1, 0\nzs_emit {targets}, {values}, 0"));
        } else {
            p.line(format_args!("wait_pix 1, 0\nsample_mask {targets}, {live}"));
        }
    }

    /// Puts the program and all that it is drawn with into memory.
    pub(super) fn prepare(
        &self,
        machine: &mut Machine,
        code: &[u8],
        addresses: &[u64],
    ) -> Result<Prepared, Error> {
        let vertex = VERTEX.as_ref().map_err(Clone::clone)?;
        let words: Vec<u32> = self.vertices.as_flattened().iter().map(|v| v.to_bits()).collect();
        let corners = machine.buffer(4 * words.len())?;
        corners.write_words(&words)?;
        let [mut vertex_bindings, mut fragment_bindings] = [(); 2].map(|()| Bindings::default());
        vertex_bindings.buffers.insert((0, 0, 0), corners);
        fragment_bindings.push = addresses.iter().flat_map(|a| a.to_le_bytes()).collect();
        let uniforms = (0..addresses.len() as u16).map(|k| Uniform {
            half: 4 * k,
            source: UniformSource::PushLong { offset: 8 * u32::from(k) },
        });
        let varying = Origin::Varying { varying: Varying::Location(0), component: 0 };
        let table = FragmentTable {
            coefficients: vec![
                Coefficients { first: 0, count: 1, shading: Shading::Linear, origin: Origin::W },
                Coefficients { first: 1, count: 4, shading: self.shading, origin: varying },
            ],
            colours: 1,
            decides: self.decides,
            writes_memory: !self.merges,
            reads_tile: true,
            writes_tile: true,
            ..FragmentTable::default()
        };
        let fragment = Shader {
            code: code.to_vec(),
            body_bytes: code.len() as u32,
            preamble: None,
            data: Vec::new(),
            uniforms: uniforms.collect(),
            textures: Vec::new(),
            samplers: Vec::new(),
            shared_bytes: 0,
            workgroup_size: [0; 3],
            table: Table::Fragment(table),
            stats: Stats::default(),
            locs: Vec::new(),
            names: tepui_agx_compiler::Names::default(),
        };
        let tile = Tile { samples: self.samples, ..Tile::single(self.format) };
        machine.prepare_draw(&Draw {
            vertices: self.vertices.len() as u32,
            tests: DepthStencil { depth: self.depth, stencil: self.stencil },
            fragment_bindings: &fragment_bindings,
            clear: [0.25f32, 0.5, 0.75, 1.0].map(f32::to_bits),
            ..Draw::triangles(vertex, &fragment, &tile, [SIDE; 2], &vertex_bindings)
        })
    }
}

/// Interpolates at a place; registers past the last one are a fault.
fn interpolate(p: &mut Program<'_, '_>) {
    let count = 1 + p.source.below(4) as u32;
    let registers = p.registers(count, true);
    let beyond = u64::from(p.source.one_in(24));
    let first = p.source.below(COEFFICIENTS + 1 + beyond - u64::from(count));
    let place = match p.source.below(6) {
        0 => format!("{}, sample", p.source.below(4)),
        1 => format!("{}l, sample_register", p.source.of_list(&VALUES)),
        2 => "centroid".to_owned(),
        _ => "center".to_owned(),
    };
    let (name, w) = if p.source.one_in(2) { ("iterproj", "cf0, ") } else { ("iter", "") };
    p.line(format_args!("{name} {registers}, cf{first}, {w}{place}, 0b0, 0, 0, 0, 0, 0"));
}
