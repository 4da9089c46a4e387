//! Operands of instructions that start work: registers of the stream, and the memory that they point to.
//!
// source: registers: Mesa, decode_csf.c (`pandecode_run_compute`, `pandecode_run_idvs` and the like).

use tepui_mali_packets::cs::{self, CsOpcode};
use tepui_mali_packets::draw::{DcdFlags0, DcdFlags1, DcdFlags2, PrimitiveFlags, Scissor};
use tepui_mali_packets::shader::ComputeSizeWorkgroup;
use tepui_mali_packets::{Packet, PacketInfo, Value};
use tepui_mali_streams::REGISTERS;

use crate::resources::Stage;
use crate::{Content, Decoder, Record};

/// The registers of a queue.
struct Registers<'a>(&'a [u32; REGISTERS]);

impl Registers<'_> {
    fn word(&self, index: usize) -> u32 {
        self.0.get(index).copied().unwrap_or(0)
    }

    fn pair(&self, index: usize) -> u64 {
        u64::from(self.word(index)) | u64::from(self.word(index + 1)) << 32
    }
}

/// A record of named register values.
fn values(title: &'static str, list: &[(&'static str, Value)]) -> Record {
    let fields = list.iter().map(|(name, value)| ((*name).into(), value.clone()));
    Record { content: Content::Fields(fields.collect()), ..Record::group(title) }
}

impl Decoder<'_> {
    /// Decodes what an instruction points to; nothing for one that starts no shader.
    pub(crate) fn work(
        &mut self,
        opcode: CsOpcode,
        bytes: &[u8; 8],
        registers: &[u32; REGISTERS],
    ) -> Vec<Record> {
        let r = &Registers(registers);
        match opcode {
            CsOpcode::RunCompute => {
                let Ok(i) = cs::CsRunCompute::unpack(bytes) else { return Vec::new() };
                self.compute(r, [i.srt_select, i.fau_select, i.spd_select, i.tsd_select])
            }
            CsOpcode::RunComputeIndirect => {
                let Ok(i) = cs::CsRunComputeIndirect::unpack(bytes) else { return Vec::new() };
                self.compute(r, [i.srt_select, i.fau_select, i.spd_select, i.tsd_select])
            }
            CsOpcode::RunIdvs => {
                let Ok(i) = cs::CsRunIdvs::unpack(bytes) else { return Vec::new() };
                self.idvs(r, &i)
            }
            CsOpcode::RunFragment => {
                let scissor = self.in_registers(Scissor::INFO, &[r.word(42), r.word(43)]);
                vec![scissor, self.framebuffer(r.pair(40))]
            }
            CsOpcode::RunFullscreen => {
                let Ok(i) = cs::CsRunFullscreen::unpack(bytes) else { return Vec::new() };
                let flags = r.word(56) | i.flags_override;
                vec![
                    self.in_registers(PrimitiveFlags::INFO, &[flags]),
                    self.in_registers(Scissor::INFO, &[r.word(42), r.word(43)]),
                    self.tiler(r.pair(40)),
                    self.draw("Draw", r.pair(i.dcd as usize)),
                ]
            }
            _ => Vec::new(),
        }
    }

    /// Decodes a packet whose words are in registers.
    fn in_registers(&mut self, info: &'static PacketInfo, words: &[u32]) -> Record {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize(info.size_bytes.max(bytes.len()), 0);
        self.reader.register(info, &bytes)
    }

    fn compute(&mut self, r: &Registers<'_>, selects: [u32; 4]) -> Vec<Record> {
        // Four pairs of registers each for resource tables, uniforms, program and storage.
        let at = |kind: usize| r.pair(8 * kind + 2 * selects[kind] as usize);
        let mut out = self
            .stage("", Stage { resources: at(0), uniforms: at(1), program: at(2), storage: at(3) });
        out.push(self.in_registers(ComputeSizeWorkgroup::INFO, &[r.word(33)]));
        let uint = |index: usize| Value::Uint(r.word(index).into());
        out.push(values(
            "Dispatch",
            &[
                ("Global attribute offset", uint(32)),
                ("Job offset X", uint(34)),
                ("Job offset Y", uint(35)),
                ("Job offset Z", uint(36)),
                ("Job size X", uint(37)),
                ("Job size Y", uint(38)),
                ("Job size Z", uint(39)),
            ],
        ));
        out
    }

    fn idvs(&mut self, r: &Registers<'_>, i: &cs::CsRunIdvs) -> Vec<Record> {
        let word = r.word(56) | i.flags_override;
        let flags = PrimitiveFlags::unpack_lossy(&word.to_le_bytes());
        let varyings = flags.as_ref().is_ok_and(|(flags, _)| flags.secondary_shader);
        let indexed = flags
            .as_ref()
            .is_ok_and(|(f, _)| f.index_type != tepui_mali_packets::draw::IndexType::None);
        let select =
            |chosen: bool, own: usize, position: usize| r.pair(if chosen { own } else { position });
        let position = Stage {
            resources: r.pair(0),
            uniforms: r.pair(8),
            program: r.pair(16),
            storage: r.pair(24),
        };
        let varying = Stage {
            resources: select(i.varying_srt_select, 2, 0),
            uniforms: select(i.varying_fau_select, 10, 8),
            program: r.pair(18),
            storage: select(i.varying_tsd_select, 26, 24),
        };
        let fragment = Stage {
            resources: select(i.fragment_srt_select, 4, 0),
            uniforms: r.pair(12),
            program: r.pair(20),
            storage: select(i.fragment_tsd_select, 28, 24),
        };
        let mut out = self.stage("Position", position);
        if varyings {
            out.extend(self.stage("Varying", varying));
        }
        out.extend(self.stage("Fragment", fragment));
        out.push(self.in_registers(PrimitiveFlags::INFO, &[word]));
        out.push(self.in_registers(DcdFlags0::INFO, &[r.word(57)]));
        out.push(self.in_registers(DcdFlags1::INFO, &[r.word(58)]));
        out.push(self.in_registers(DcdFlags2::INFO, &[r.word(38)]));
        out.push(self.in_registers(Scissor::INFO, &[r.word(42), r.word(43)]));
        let uint = |index: usize| Value::Uint(r.word(index).into());
        let float = |index: usize| Value::Float(f32::from_bits(r.word(index)));
        let mut list = vec![
            ("Global attribute offset", uint(32)),
            ("Index count", uint(33)),
            ("Instance count", uint(34)),
            ("Vertex offset", Value::Int(i64::from(r.word(36) as i32))),
            ("Instance offset", uint(37)),
            ("Low depth clamp", float(44)),
            ("High depth clamp", float(45)),
            ("Occlusion", Value::Address(r.pair(46))),
            ("Primitive size", float(60)),
        ];
        if varyings {
            list.push(("Varying allocation", uint(48)));
        }
        if indexed {
            list.push(("Index offset", uint(35)));
            list.push(("Index array size", uint(39)));
            list.push(("Indices", Value::Address(r.pair(54))));
        }
        out.push(values("Vertices", &list));
        out.push(self.tiler(r.pair(40)));
        let mut pixels = Record::group("Pixels");
        let (blend, count) = (r.pair(50) & !0xf, r.word(50) & 0xf);
        self.pixels(blend, count, r.pair(52), fragment.program, &mut pixels);
        out.append(&mut pixels.children);
        out
    }
}
