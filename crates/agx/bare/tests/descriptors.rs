//! Texture samples with invalid descriptors: drivers hoist samples above the condition that decides
//! whether their result is used, so they must not fault as long as the result is unused.

use tepui_agx_bare::{Dispatch, Machine, address_halves};
use tepui_agx_isa::asm::assemble;
use tepui_agx_model::{JobStats, Options, ReportKind};
use tepui_agx_packets::sampler::{Filter, Sampler};
use tepui_agx_packets::texture::{Layout, Texture};

/// Loads ts1 from the table at u0_u1, samples it with sampler 0 and at last stores 77 where u2_u3
/// says.
const SAMPLES: &str = "tex_state_store ts1, u0_u1, 0, 0
     mov_imm r4, 0, 0b0
     mov_imm r5, 0, 0b0
     mov_imm r7l, 0
     texture_sample 0, 0b1100, 0b0, none, xyzw, 0b00, r8_r9_r10_r11, None, ts1, ss0, tex_2d, r4_r5, lod_min, r7l
     wait 0
     mov_imm r6, 77, 0b0
     device_store 0, i32, x, r6, u2_u3, 0, unsigned, 0
     stop";

/// Statistics of a run that samples with a descriptor, from a table at `table` if given; its store must
/// be executed.
fn run(descriptor: &[u8; 24], table: Option<u64>, sampler: [u8; 8], check: bool) -> JobStats {
    let mut machine = Machine::new(Options { check, ..Options::default() }).expect("a machine");
    sample(&mut machine, SAMPLES, descriptor, table, sampler)
}

/// A run of another program like [`SAMPLES`].
fn sample(
    machine: &mut Machine,
    source: &str,
    descriptor: &[u8; 24],
    table: Option<u64>,
    sampler: [u8; 8],
) -> JobStats {
    let memory = machine.buffer(64).expect("memory");
    memory.write(descriptor).expect("bound");
    let result = machine.buffer(4).expect("memory");
    let mut uniforms = address_halves(table.unwrap_or(memory.address())).to_vec();
    uniforms.extend(address_halves(result.address()));
    let code = assemble(source).expect("the test's program");
    let dispatch = Dispatch {
        code: &code,
        uniforms: &uniforms,
        samplers: &[sampler],
        global: [32, 1, 1],
        local: [32, 1, 1],
        ..Dispatch::default()
    };
    let stats = machine.dispatch(&dispatch).expect("the job goes on");
    assert_eq!(result.read_words().expect("bound"), [77]);
    stats
}

/// The one thing that the checker has to say; nothing without it.
fn told(descriptor: &[u8; 24], table: Option<u64>, sampler: [u8; 8]) -> (ReportKind, String) {
    assert_eq!(run(descriptor, table, sampler, false).reports, []);
    let reports = run(descriptor, table, sampler, true).reports;
    assert_eq!(reports.len(), 1, "{reports:#?}");
    (reports[0].kind, reports[0].what.clone())
}

fn nearest() -> [u8; 8] {
    Sampler::default().pack().expect("a sampler")
}

fn packed(texture: Texture) -> [u8; 24] {
    texture.pack().expect("a texture")
}

/// A sample of a tile whose eight bytes of compression metadata are `mode`.
fn of_a_compressed_tile(mode: u8, check: bool) -> Vec<ReportKind> {
    let mut machine = Machine::new(Options { check, ..Options::default() }).expect("a machine");
    let (texels, metadata) = (machine.buffer(4096), machine.buffer(64));
    let (texels, metadata) = (texels.expect("memory"), metadata.expect("memory"));
    metadata.write(&[mode; 64]).expect("bound");
    let descriptor = packed(Texture {
        layout: Layout::Gpu,
        width: 16,
        height: 16,
        address: texels.address(),
        compressed: true,
        extended: true,
        acceleration_buffer: metadata.address(),
        ..Texture::default()
    });
    let reports = sample(&mut machine, SAMPLES, &descriptor, None, nearest()).reports;
    reports.iter().map(|report| report.kind).collect()
}

#[test]
fn a_compressed_tile_that_nobody_wrote_is_for_the_checker() {
    assert_eq!(of_a_compressed_tile(0, false), []);
    assert_eq!(of_a_compressed_tile(0, true), [ReportKind::UnwrittenTile]);
}

/// A tile that this model cannot decode may be visible in any picture, so it is reported without the
/// checker too.
#[test]
fn a_compressed_tile_of_unknown_content_is_for_everyone() {
    assert_eq!(of_a_compressed_tile(0x41, false), [ReportKind::UnknownCompression]);
    assert_eq!(of_a_compressed_tile(0x41, true), [ReportKind::UnknownCompression]);
}

#[test]
fn garbage_in_a_descriptor_is_an_undefined_result() {
    let (kind, told) = told(&[0xfd; 24], None, nearest());
    assert_eq!(kind, ReportKind::UndefinedDescriptor);
    assert!(told.starts_with("texture descriptor: "), "{told}");
}

#[test]
fn a_descriptor_of_zeros_reads_where_nothing_is_mapped() {
    let told = told(&[0; 24], None, nearest());
    let told = (told.0, told.1.as_str());
    assert_eq!(
        told,
        (
            ReportKind::UnboundTexel,
            "texels at 0x0 are not mapped; the result is undefined, here zero"
        )
    );
}

#[test]
fn a_stale_address_reads_where_nothing_is_mapped() {
    let texture = Texture { layout: Layout::Gpu, address: 0x7f_0000_0000, ..Texture::default() };
    let told = told(&packed(texture), None, nearest());
    let told = (told.0, told.1.as_str());
    assert_eq!(
        told,
        (
            ReportKind::UnboundTexel,
            "texels at 0x7f00000000 are not mapped; the result is undefined, here zero"
        )
    );
}

#[test]
fn a_table_that_is_not_mapped_reads_as_zeros() {
    let stats = run(&[0; 24], Some(0x1_0000), nearest(), false);
    assert_eq!((stats.soft_faults, stats.reports.len()), (1, 0));
    let reports = run(&[0; 24], Some(0x1_0000), nearest(), true).reports;
    let kinds: Vec<ReportKind> = reports.iter().map(|report| report.kind).collect();
    assert_eq!(kinds, [ReportKind::UndefinedDescriptor, ReportKind::UnboundTexel]);
}

/// Mesa puts the offset into a register where it indexes descriptors with a number that it does not
/// know.
#[test]
fn a_register_holds_the_offset_of_a_descriptor() {
    let by_register = SAMPLES.replace("u0_u1, 0, 0", "u0_u1, r3, 0");
    for (offset, kind) in [(0, ReportKind::UndefinedDescriptor), (24, ReportKind::UnboundTexel)] {
        let mut machine =
            Machine::new(Options { check: true, ..Options::default() }).expect("a machine");
        let code = format!("mov_imm r3, {offset}, 0b0\n{by_register}");
        let reports = sample(&mut machine, &code, &[0xfd; 24], None, nearest()).reports;
        assert_eq!(reports.iter().map(|r| r.kind).collect::<Vec<_>>(), [kind], "{offset}");
    }
}

#[test]
fn an_unknown_filter_is_an_undefined_result() {
    let bicubic = Sampler { magnify: Filter::Bicubic, ..Sampler::default() };
    let bicubic = bicubic.pack().expect("a sampler");
    let texture = Texture { layout: Layout::Gpu, address: 0x7f_0000_0000, ..Texture::default() };
    let (kind, told) = told(&packed(texture), None, bicubic);
    assert_eq!(kind, ReportKind::UndefinedDescriptor);
    assert!(told.contains("the bicubic filter is unknown"), "{told}");
}
