//! Pixel shaders that copy texels: copied areas are identical to the output of threads.

use tepui_intel_isa::{Generation, asm};
use tepui_intel_model::Options;
use tepui_intel_packets::bindings::{State3dConstantBody, State3dConstantPs};
use tepui_intel_packets::pixel::{State3dPs, State3dPsExtra};
use tepui_intel_packets::surface::{
    AuxiliarySurfaceMode, RenderSurfaceState, ShaderChannelSelect as Select, TileMode,
};

use crate::bench::{BASE, Bench, CCS, KERNEL, SIZE, TABLE};

/// Addresses of the source, its surface state, and the shader's constants.
const SOURCE: u64 = 0x20000;
const SURFACE: u64 = 0x1200;
const CONSTANTS: u64 = 0x3800;
/// Bytes of a row of the source, which has Y tiles.
const PITCH: u32 = 256;

/// Loads the texel at the pixel's coordinates, scaled and offset by floats of r6 (X) and r7 (Y), in the layer
/// of r9.3.
const PLAIN: &str = "
    add(32)  g2<1>UW   g1.4<1,4,0>UW  0x11001010V  { align1 WE_all };
    mov(16)  g18<1>D   g9.3<0,1,0>F   { align1 1H };
    mov(16)  g22<1>UW  g2<8,4,1>UW    { align1 1H };
    mov(16)  g23<1>UW  g2.4<8,4,1>UW  { align1 1H };
    mov(16)  g24<1>F   g22<8,8,1>UW   { align1 1H };
    mov(16)  g10<1>F   g23<8,8,1>UW   { align1 1H };
    mad(16)  g26<1>F   g6.7<0,1,0>F   g6.3<0,1,0>F  g24<4,4,1>F { align16 1H };
    mad(16)  g12<1>F   g7.7<0,1,0>F   g7.3<0,1,0>F  g10<4,4,1>F { align16 1H };
    mov(16)  g14<1>D   g26<8,8,1>F    { align1 1H };
    mov(16)  g16<1>D   g12<8,8,1>F    { align1 1H };
    sends(16) g119UD g14UD g16UD 0x0485a001 0x00000100 sampler MsgDesc: ld_lz SIMD16 Surface = 1 Sampler = 0 mlen 2 ex_mlen 4 rlen 8 { align1 1H };
    sendsc(16) nullUD g119UD nullUD 0x10031000 0x00000000 render MsgDesc: RT write SIMD16 LastRT Surface = 0 mlen 8 ex_mlen 0 rlen 0 { align1 1H EOT };
";

/// As [`PLAIN`], with r8.0 subtracted from X before, and r8.1 added to Y after the scaling.
fn moved() -> String {
    PLAIN
        .replace(
            "mov(16)  g24<1>F   g22<8,8,1>UW",
            "mov(16) g40<1>UD g22<8,8,1>UW { align1 1H };
             add(16) g42<1>D g40<8,8,1>D -g8<0,1,0>D { align1 1H };
             mov(16) g24<1>F g42<8,8,1>D",
        )
        .replace(
            "mov(16)  g16<1>D   g12<8,8,1>F",
            "mov(16) g44<1>D g12<8,8,1>F { align1 1H };
             add(16) g16<1>D g44<8,8,1>D g8.1<0,1,0>D",
        )
}

/// A copy.
#[derive(Clone, Debug)]
struct Case {
    rectangle: [f32; 4],
    scale: f32,
    offset: [f32; 2],
    /// Integers that are subtracted from X and added to Y.
    moved: Option<[i32; 2]>,
    layer: f32,
    /// Formats of the source and of the target.
    formats: [u32; 2],
    clear_blocks: bool,
}

impl Case {
    /// Executes the copy; returns the target's memory and the number of threads.
    fn run(&self, texels: &[u8], ccs: &[u8], check: bool) -> (Vec<u32>, u64) {
        let mut bench = Bench::with(Options { threads: 2, check, ..Options::default() });
        let code = self.moved.map_or(PLAIN.to_owned(), |_| moved());
        bench.put(KERNEL, &asm::assemble(Generation::Gen9, &code).unwrap());
        let target = RenderSurfaceState { surface_format: self.formats[1], ..Bench::surface() };
        bench.set_surface(&target);
        let mut source = RenderSurfaceState {
            surface_format: self.formats[0],
            tile_mode: TileMode::Ymajor,
            surface_pitch: PITCH - 1,
            surface_base_address: BASE + SOURCE,
            shader_channel_select_red: Select::Red,
            shader_channel_select_green: Select::Green,
            shader_channel_select_blue: Select::Blue,
            shader_channel_select_alpha: Select::Alpha,
            ..Bench::surface()
        };
        if self.clear_blocks {
            source.auxiliary_surface_mode = AuxiliarySurfaceMode::AuxCcsD;
            source.auxiliary_surface_base_address = BASE + CCS;
        }
        bench.put(SURFACE, &source.pack().unwrap());
        bench.put(TABLE + 4, &(SURFACE as u32).to_le_bytes());
        bench.put(SOURCE, texels);
        bench.put(CCS, ccs);
        let mut constants = [0u32; 32];
        for (register, offset) in self.offset.into_iter().enumerate() {
            constants[8 * register + 3] = self.scale.to_bits();
            constants[8 * register + 7] = offset.to_bits();
        }
        let moved = self.moved.unwrap_or_default();
        (constants[16], constants[17]) = (moved[0] as u32, moved[1] as u32);
        constants[27] = self.layer.to_bits();
        bench.put(CONSTANTS, &constants.map(u32::to_le_bytes).concat());
        let body = State3dConstantBody {
            buffer_0: CONSTANTS,
            read_length_0: 4,
            ..State3dConstantBody::default()
        };
        bench.add(
            &State3dConstantPs { constant_body: body, ..State3dConstantPs::default() }
                .pack()
                .unwrap(),
        );
        let ps = State3dPs {
            kernel_start_pointer_0: KERNEL,
            n16_pixel_dispatch_enable: true,
            push_constant_enable: true,
            dispatch_grf_start_register_for_constant_setup_data_0: 6,
            ..State3dPs::default()
        };
        bench.add(&ps.pack().unwrap());
        let extra = State3dPsExtra { pixel_shader_valid: true, ..State3dPsExtra::default() };
        bench.add(&extra.pack().unwrap());
        let (pixels, stats) = bench.draw_counted(self.rectangle, 0.0);
        (pixels, stats.threads)
    }
}

/// Random copies give the same result whether threads are executed (as for checked ones) or areas are copied.
#[test]
fn areas_hold_what_threads_write() {
    let mut seed = 7u32;
    let mut next = move || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 8
    };
    // Formats that keep bits, one that does not, and two that differ.
    let formats = [
        [0x0c7, 0x0c7],
        [0x0c0, 0x0c0],
        [0x0cb, 0x0cb],
        [0x0d7, 0x0d7],
        [0x0c2, 0x0c2],
        [0x0c9, 0x0c9],
        [0x0e9, 0x0e9],
        [0x0c7, 0x0c0],
    ];
    for round in 0..96usize {
        let texels: Vec<u8> = (0..PITCH * 64).map(|_| next() as u8).collect();
        // All blocks clear, or every second.
        let ccs: Vec<u8> = match next() % 2 {
            0 => vec![0xff; 4096],
            _ => (0..4096).map(|_| [0xff, 0, 0x33, 0xcc][next() as usize % 4]).collect(),
        };
        let edge = |end: u32, next: &mut dyn FnMut() -> u32| (next() % (end + 1)) as f32;
        let ends = [SIZE[0], SIZE[1]];
        let [x, y] = ends.map(|end| [edge(end / 2, &mut next), edge(end, &mut next)]);
        let mut case = Case {
            rectangle: [x[0].min(x[1]), y[0].min(y[1]), x[0].max(x[1]), y[0].max(y[1])],
            scale: [1.0, 1.0, 1.0, 0.5][next() as usize % 4],
            offset: [(); 2]
                .map(|()| (next() % 9) as f32 - 4.0 + [0.0, 0.5, 0.25][next() as usize % 3]),
            moved: (next() % 2 == 0).then(|| [(); 2].map(|()| next() as i32 % 7 - 3)),
            layer: [0.0, 0.0, 1.0][next() as usize % 3],
            formats: formats[round % formats.len()],
            clear_blocks: next() % 2 == 0,
        };
        if next() % 2 == 0 {
            case.rectangle = [0.0, 0.0, SIZE[0] as f32, SIZE[1] as f32];
        }
        let copied = case.run(&texels, &ccs, false);
        let shaded = case.run(&texels, &ccs, true);
        assert!(copied == shaded, "round {round}: {case:?}");
    }
}

/// Copied texels are those of the source.
#[test]
fn an_area_is_moved() {
    let texels: Vec<u8> = (0..PITCH * 64).map(|at| (at % 251) as u8).collect();
    let case = Case {
        rectangle: [0.0, 0.0, 32.0, 32.0],
        scale: 1.0,
        offset: [8.5, 4.5],
        moved: None,
        layer: 0.0,
        formats: [0x0c7; 2],
        clear_blocks: false,
    };
    let (pixels, _) = case.run(&texels, &[0], false);
    for (at, &pixel) in (0u32..).zip(&pixels) {
        let [x, y] = [at % SIZE[0], at / SIZE[0]];
        if x >= 32 || y >= 32 {
            assert_eq!(pixel, 0);
            continue;
        }
        let [x, y] = [x + 8, y + 4];
        // Tiles of 32 by 32 texels, in columns of four.
        let tile = y / 32 * 32 * PITCH + x / 32 * 4096;
        let from = (tile + x % 32 / 4 * 512 + y % 32 * 16 + x % 4 * 4) as usize;
        let bytes = *texels[from..].first_chunk().unwrap();
        assert_eq!(pixel, u32::from_le_bytes(bytes), "{x}, {y}");
    }
}
