//! Decodes streams that the test writes to an address space with the packets' encoder.

use std::sync::Arc;

use tepui_agx_decode::ppp::RenderArrays;
use tepui_agx_decode::{Decoder, Limits, Options, Problem, Record};
use tepui_agx_packets::Packet;
use tepui_agx_packets::cdm::{self, GlobalSize, Indirect, LaunchWord0, LaunchWord1, LocalSize};
use tepui_agx_packets::coefficient::{Binding, BindingHeader};
use tepui_agx_packets::ppp::{self, Header};
use tepui_agx_packets::render::Scissor;
use tepui_agx_packets::sampler::{Border, Sampler};
use tepui_agx_packets::texture::{Layout, Texture, TextureDimension};
use tepui_agx_packets::usc::{self, SamplerStates};
use tepui_agx_packets::vdm::{self, IndexList, PppState};
use tepui_softgpu::{AddressSpace, Memory, Protection};

const BASE: u64 = 0x11_0000_0000;

/// An address space with memory at [`BASE`], and a position at which packets are written.
struct StreamWriter {
    vm: AddressSpace,
    at: u64,
}

impl StreamWriter {
    fn new() -> StreamWriter {
        let vm = AddressSpace::new(14, 40);
        let memory = Arc::new(Memory::new(1 << 16).expect("memory"));
        vm.bind(BASE, memory, 0, 1 << 16, Protection::READ | Protection::WRITE).expect("bind");
        StreamWriter { vm, at: BASE }
    }

    fn go(&mut self, at: u64) -> &mut StreamWriter {
        self.at = at;
        self
    }

    fn put<P: Packet>(&mut self, packet: P) -> &mut StreamWriter {
        let mut bytes = vec![0; P::INFO.size_bytes];
        packet.pack_into(&mut bytes).expect("packs");
        self.vm.write(self.at, &bytes).expect("writes");
        self.at += bytes.len() as u64;
        self
    }

    fn decoder(&self) -> Decoder<'_> {
        Decoder::new(&self.vm, Options::new(BASE))
    }
}

fn problems(record: &Record) -> Vec<Problem> {
    let mut all = Vec::new();
    record.walk(&mut |r| all.extend(r.problems.iter().cloned()));
    all
}

fn titles(record: &Record) -> Vec<String> {
    let mut all = Vec::new();
    record.walk(&mut |r| all.push(r.title.to_string()));
    all
}

fn dispatch(writer: &mut StreamWriter) {
    writer
        .go(BASE)
        .put(LaunchWord0 {
            uniform_register_count: 64,
            texture_state_register_count: 8,
            sampler_state_register_count: SamplerStates::Extended8,
            preshader_register_count: 16,
            mode: cdm::Mode::Direct,
        })
        .put(LaunchWord1 { pipeline: 0x1000 })
        .put(GlobalSize { x: 128, y: 1, z: 1 })
        .put(LocalSize { x: 64, y: 1, z: 1 })
        .put(cdm::Barrier { unk_5: true, ..Default::default() })
        .put(cdm::StreamLink { with_return: false, target: BASE + 0x800 });
    writer.go(BASE + 0x800).put(cdm::StreamTerminate::default());
    writer
        .go(BASE + 0x1000)
        .put(usc::Uniform { start_halfs: 4, size_halfs: 4, buffer: BASE + 0x2000 })
        .put(usc::Texture { start: 3, count: 1, buffer: BASE + 0x3000 })
        .put(usc::Sampler { start: 0, count: 1, buffer: BASE + 0x3100 })
        .put(usc::Shared {
            bytes_per_threadgroup: 256,
            uses_shared_memory: true,
            ..Default::default()
        })
        .put(usc::Shader { unk_2: 3, code: 0x4000, ..Default::default() })
        .put(usc::Registers { register_count: 32, unk_4: 1, ..Default::default() })
        .put(usc::NoPreshader::default());
    writer.go(BASE + 0x3000).put(Texture {
        dimension: TextureDimension::D2,
        layout: Layout::Gpu,
        width: 77,
        height: 5,
        address: BASE + 0x8000,
        swizzle_a: tepui_agx_packets::texture::Channel::One,
        ..Default::default()
    });
    writer
        .go(BASE + 0x3100)
        .put(Sampler { maximum_lod: 2.5, ..Default::default() })
        .put(Border { channel_3: 0x3f80_0000, ..Default::default() });
    writer.vm.write(BASE + 0x2000, &[1, 0, 0, 0, 2, 0, 0, 0]).expect("writes");
    // `stop`: an empty program
    writer.vm.write(BASE + 0x4000, &[0x88, 0x00]).expect("writes");
}

#[test]
fn a_dispatch_with_everything_it_points_to() {
    let mut writer = StreamWriter::new();
    dispatch(&mut writer);
    let record = writer.decoder().cdm(BASE);
    assert_eq!(problems(&record), []);
    let text = record.to_string();
    for line in [
        "CDM stream at 0x1100000000",
        "  Launch at 0x1100000000",
        "    CDM Launch Word 0 at 0x1100000000",
        "      Sampler state register count: 8 extended",
        "      X: 128",
        "    Pipeline at 0x1100001000",
        "      USC Uniform at 0x1100001000",
        "        Start (halfs): 4",
        "        Values at 0x1100002000",
        "          +000: 00000001 00000002",
        "        ts3: Texture at 0x1100003000",
        "          Width: 77",
        "        ss0: Sampler at 0x1100003100",
        "          Maximum LOD: 2.5",
        "          Border at 0x1100003108",
        "            Channel 3: 0x3f800000",
        "        Bytes per threadgroup: 256",
        "        Code: 0x4000",
        "        Code at 0x1100004000",
        "             0: 8800                        stop",
        "      USC No Preshader at 0x1100001026",
        "  CDM Stream Link at 0x1100000024",
        "  CDM Stream Terminate at 0x1100000800",
    ] {
        assert!(text.lines().any(|l| l == line), "{line:?} is not in\n{text}");
    }
    let json = serde_json::to_value(&record).unwrap();
    let launch = &json["children"][0];
    assert_eq!(launch["name"], "Launch");
    assert_eq!(launch["address"], "0x1100000000");
    assert_eq!(launch["children"][2]["fields"]["X"], 128);
    assert_eq!(launch["children"][4]["children"][0]["children"][0]["bytes"], "0100000002000000");
}

#[test]
fn a_pipeline_is_printed_once_unless_asked_otherwise() {
    let mut writer = StreamWriter::new();
    dispatch(&mut writer);
    let mut decoder = writer.decoder();
    assert!(!decoder.cdm(BASE).to_string().contains("see above"));
    assert!(decoder.cdm(BASE).to_string().contains("Pipeline at 0x1100001000: see above"));
    let mut again = Decoder::new(&writer.vm, Options { everything: true, ..Options::new(BASE) });
    again.cdm(BASE);
    assert!(!again.cdm(BASE).to_string().contains("see above"));
}

#[test]
fn indirect_launches_show_their_sizes() {
    let mut writer = StreamWriter::new();
    dispatch(&mut writer);
    writer
        .go(BASE)
        .put(LaunchWord0 { mode: cdm::Mode::IndirectGlobal, ..Default::default() })
        .put(LaunchWord1 { pipeline: 0x1000 })
        .put(Indirect { address: BASE + 0x2000 })
        .put(LocalSize { x: 8, y: 8, z: 1 })
        .put(cdm::StreamTerminate::default());
    let record = writer.decoder().cdm(BASE);
    assert_eq!(problems(&record), []);
    assert!(record.to_string().contains("+000: 00000001 00000002 00000000"), "{record}");
    assert_eq!(record.children.last().unwrap().title, "CDM Stream Terminate");
}

#[test]
fn calls_return_and_endless_loops_are_found() {
    let mut writer = StreamWriter::new();
    let link = |with_return, to| cdm::StreamLink { with_return, target: BASE + to };
    // A subroutine called twice, then the end.
    writer.put(link(true, 0x100)).put(link(true, 0x100)).put(cdm::StreamTerminate::default());
    writer.go(BASE + 0x100).put(cdm::Barrier::default()).put(cdm::StreamReturn::default());
    let record = writer.decoder().cdm(BASE);
    assert_eq!(problems(&record), []);
    assert_eq!(record.children.len(), 7);

    // A barrier that returns.
    writer.go(BASE + 0x100).put(cdm::Barrier { returns: true, ..Default::default() });
    assert_eq!(writer.decoder().cdm(BASE).children.len(), 5);

    // A link to the stream's own start.
    writer.go(BASE).put(cdm::Barrier::default()).put(link(false, 0));
    assert_eq!(problems(&writer.decoder().cdm(BASE)), [Problem::EndlessLoop { address: BASE }]);

    // A call of itself.
    writer.go(BASE).put(link(true, 0));
    assert_eq!(problems(&writer.decoder().cdm(BASE)), [Problem::CallsTooDeep { limit: 16 }]);

    // A return without a call.
    writer.go(BASE).put(cdm::StreamReturn::default());
    assert_eq!(problems(&writer.decoder().cdm(BASE)), [Problem::ReturnWithoutCall]);
}

#[test]
fn unreadable_and_unknown_blocks_are_reported() {
    let mut writer = StreamWriter::new();
    let record = writer.decoder().cdm(BASE - 0x4000);
    assert!(
        matches!(problems(&record)[..], [Problem::Unreadable(u)] if u.address == BASE - 0x4000)
    );

    writer.vm.write(BASE, &[0, 0, 0, 0xe0]).unwrap();
    assert_eq!(
        problems(&writer.decoder().cdm(BASE)),
        [Problem::UnknownBlock { word: 0xe000_0000 }]
    );

    dispatch(&mut writer);
    writer.vm.write(BASE + 0x1000, &[0x77]).unwrap();
    assert_eq!(problems(&writer.decoder().cdm(BASE)), [Problem::UnknownTag { tag: 0x77 }]);

    dispatch(&mut writer);
    let options =
        Options { limits: Limits { records: 5, ..Limits::default() }, ..Options::new(BASE) };
    let record = Decoder::new(&writer.vm, options).cdm(BASE);
    assert!(problems(&record).contains(&Problem::TooMuch { limit: 5 }), "{record}");
}

#[test]
fn a_draw_with_its_state() {
    let mut writer = StreamWriter::new();
    dispatch(&mut writer); // for its pipeline at 0x1000
    writer
        .go(BASE)
        .put(PppState { pointer: BASE + 0x5000, size_words: 8 })
        .put(vdm::State {
            vertex_shader_word_0_present: true,
            vertex_shader_word_1_present: true,
            ..Default::default()
        })
        .put(vdm::StateVertexShaderWord0 {
            sampler_state_register_count: SamplerStates::Extended8,
            ..Default::default()
        })
        .put(vdm::StateVertexShaderWord1 { pipeline: 0x1000, ..Default::default() });
    let at = writer.at + 4; // padding to 8 bytes
    writer
        .go(at)
        .put(IndexList {
            index_count_present: true,
            instance_count_present: true,
            ..Default::default()
        })
        .put(vdm::IndexListCount { count: 3 })
        .put(vdm::IndexListInstances { count: 7 })
        .put(vdm::StreamTerminate::default());
    writer
        .go(BASE + 0x5000)
        .put(Header {
            depth_bias_scissor: true,
            fragment_shader: true,
            cull: true,
            ..Default::default()
        })
        .put(ppp::DepthBiasScissor { scissor: 2, depth_bias: 0 })
        .put(ppp::Cull { cull_back: true, ..Default::default() })
        .put(ppp::FragmentShaderWord0 { cf_binding_count: 1, ..Default::default() })
        .put(ppp::FragmentShaderWord1 { pipeline: 0x6000, ..Default::default() })
        .put(ppp::FragmentShaderWord2 { cf_bindings: 0x7000 })
        .put(ppp::FragmentShaderWord3::default());
    writer.go(BASE + 0x6000).put(usc::NoPreshader::default());
    writer
        .go(BASE + 0x7000)
        .put(BindingHeader { number_of_32_bit_slots: 5, number_of_coefficient_registers: 4 })
        .put(Binding { components: 4, base_slot: 1, ..Default::default() });
    writer.go(BASE + 0x9020).put(Scissor { max_x: 99, ..Default::default() });
    let arrays = RenderArrays { scissors: BASE + 0x9000, depth_biases: 0 };

    let record = writer.decoder().vdm(BASE, arrays);
    // The header has one word less than the pointer states.
    assert_eq!(problems(&record), [Problem::RecordSize { found: 7, stated: 8 }]);
    let titles = titles(&record);
    for title in ["Cull", "Scissor", "CF binding", "Vertex pipeline", "Fragment pipeline"] {
        assert!(titles.iter().any(|t| t == title), "{title} is not in\n{record}");
    }
    let text = record.to_string();
    for line in ["        Max X: 99", "      Components: 4", "      Count: 7", "Set: Cull back"] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    assert_eq!(record.children.last().unwrap().title, "VDM Stream Terminate");
}

#[test]
fn a_heap_leaves_out_zero_descriptors() {
    let mut writer = StreamWriter::new();
    writer.go(BASE + 16).put(Sampler { maximum_lod: 1.0, ..Default::default() });
    let heap = writer.decoder().sampler_heap(BASE, 8);
    assert_eq!(titles(&heap), ["Sampler heap", "Sampler 2"]);
    let heap = writer.decoder().sampler_heap(BASE, u32::MAX);
    assert!(matches!(problems(&heap)[..], [Problem::TooMuch { .. }, Problem::Unreadable(_)]));
}
