//! Texture samples of an image of which half is not in memory.

use tepui_agx_bare::image::ImageInfo;
use tepui_agx_bare::shader::Bindings;
use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::{Options, compile};
use tepui_agx_packets::texture::{ImageMode, SparseBlock, Texture};
use tepui_format::Format;
use tepui_packets::Packet;

/// Two adjacent pages of 64 × 64 texels; each lane reads every fourth column: a texel by a load, by a
/// sampler, and the four around its right edge. For each, one component and the residency code are
/// stored.
const SHADER: &str = "
shader compute \"main\" {
  workgroup_size 32 1 1
  resource storage_buffer set 0 binding 1 count 1 2d float \"\"
  resource texture set 0 binding 2 count 1 2d uint \"\"
  resource sampler set 0 binding 3 count 1 2d float \"\"
  body {
    %0:b32 = const[0x0]
    %1:b64 = descriptor[@r0] %0
    %2:b64 = descriptor[@r1] %0
    %3:b64 = descriptor[@r2] %0
    %4:b32 = load_builtin[local_invocation_index]
    %5:b32 = const[0x2]
    %6:b32 = ishl %4, %5
    %7:b32 = const[0x3]
    %8:b32x2 = vec %6, %7
    %9:b32x5 = tex_fetch[2d uint residency lod] %2, %8, %0
    %10:b32 = u2f %6
    %11:b32 = const[0x3f000000]
    %12:b32 = fadd %10, %11
    %13:b32 = const[0x3c000000]
    %14:b32 = fmul %12, %13
    %15:b32 = const[0x3d600000]
    %16:b32x2 = vec %14, %15
    %17:b32x5 = tex_sample_lod[2d uint residency lod] %2, %3, %16, %0
    %18:b32 = const[0x40800000]
    %19:b32 = fadd %10, %18
    %20:b32 = fmul %19, %13
    %21:b32x2 = vec %20, %15
    %22:b32x5 = tex_gather[2d uint residency] %2, %3, %21
    %23:b32 = const[0x5]
    %24:b32 = ishl %4, %23
    %25:b32 = extract[0] %9
    store_buffer[align 4] %1, %24, %25
    %26:b32 = extract[4] %9
    store_buffer[align 4 offset 4] %1, %24, %26
    %27:b32 = extract[0] %17
    store_buffer[align 4 offset 8] %1, %24, %27
    %28:b32 = extract[4] %17
    store_buffer[align 4 offset 12] %1, %24, %28
    %29:b32 = extract[3] %22
    store_buffer[align 4 offset 16] %1, %24, %29
    %30:b32 = extract[4] %22
    store_buffer[align 4 offset 20] %1, %24, %30
    yield
  }
}";

#[test]
fn codes_say_which_texels_are_not_there() {
    let mut s = tepui_ir::parse(SHADER).expect("a shader");
    tepui_ir::validate(&s).expect("a valid one");
    let program = compile(&mut s, &Options::default()).expect("compiles");
    let options = tepui_agx_model::Options { threads: 1, ..Default::default() };
    let mut m = Machine::new(options).expect("a machine");
    let image = m.image(&ImageInfo::new_2d(Format::R32_UINT, 128, 64)).expect("an image");
    let texels: Vec<u8> = (1..=128 * 64u32).flat_map(u32::to_le_bytes).collect();
    image.write(0, 0, &texels).expect("texels");
    // The first page is the image's own, the second is not there.
    let mut texture = Texture::unpack(&image.texture().expect("a descriptor")).expect("known");
    let page = SparseBlock { address: texture.address, unknown: true, enabled: true };
    let table = m.buffer(1 << 14).expect("a table");
    table.write(&page.pack().expect("aligned")).expect("an entry");
    texture.address = table.address();
    texture.mode = ImageMode::Sparse;
    let mut row = image.row().expect("a row");
    row[..24].copy_from_slice(&texture.pack().expect("a descriptor"));
    let mut bindings = Bindings::default();
    let out = m.buffer(32 * 32).expect("a buffer");
    bindings.buffers.insert((0, 1, 0), out.clone());
    bindings.images.insert((0, 2, 0), row);
    let sampler = tepui_agx_bare::bind::sampler(&Default::default()).expect("a sampler");
    bindings.samplers.insert((0, 3, 0), sampler);
    shader::run(&mut m, &program, &bindings, [1; 3]).expect("runs");
    for (lane, got) in out.read_words().expect("words").chunks(8).enumerate() {
        let x = 4 * lane as u32;
        let at = |x: u32| if x < 64 { 1 + 3 * 128 + x } else { 0 };
        let absent = |x: u32| u32::from(x >= 64);
        // The last of a gather's texels is the upper left one.
        let want = [at(x), absent(x), at(x), absent(x), at(x + 3), absent(x + 4)];
        assert_eq!(got[..6], want, "lane {lane}");
    }
}
