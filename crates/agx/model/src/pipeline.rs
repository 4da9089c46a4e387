//! Loads a pipeline: walks its USC words and fills uniform, texture and sampler state registers.

use tepui_agx_isa::operand::UNIFORM_HALVES;
use tepui_agx_packets::usc;
use tepui_packets::Packet;
use tepui_softgpu::{Access, AddressSpace};

use crate::job::{FaultKind, Helper, JobFault, Unit};
use crate::usc::cache::Programs;
use crate::usc::launch::Launch;
use crate::usc::shared::{TileLayout, split_sampler};

/// Words of a pipeline at which it counts as endless.
const WORD_BUDGET: usize = 256;

/// A pipeline and the state that it needs.
pub struct Pipeline<'a> {
    /// The address space.
    pub vm: &'a AddressSpace,
    /// Base of USC addresses.
    pub usc_exec_base: u64,
    /// USC address of the first word.
    pub address: u64,
    /// Number and form of the sampler state registers.
    pub samplers: usc::SamplerStates,
    /// The sampler heap: address and count.
    pub sampler_heap: (u64, u32),
    /// The helper program.
    pub helper: Helper,
}

impl Pipeline<'_> {
    fn fault(&self, at: u64, what: impl Into<String>) -> JobFault {
        JobFault { packet: Some(at), ..JobFault::new(Unit::Usc, what) }
    }

    fn unreadable(&self, at: u64, what: &str, fault: tepui_softgpu::Fault) -> JobFault {
        self.fault(at, format!("{what} cannot be read: {fault}")).of(FaultKind::Unbound)
    }

    fn read(&self, at: u64, from: u64, into: &mut [u8], what: &str) -> Result<(), JobFault> {
        self.vm.report_access(0, Access::Read, from, into.len() as u64);
        self.vm.read(from, into).map_err(|fault| self.unreadable(at, what, fault))
    }

    /// Walks the words.
    pub fn load<'v>(&self, programs: &'v Programs<'v>) -> Result<Launch<'v>, JobFault> {
        let mut at = self.usc_exec_base + self.address;
        let mut uniforms = vec![0u16; UNIFORM_HALVES.into()];
        let mut textures = Vec::new();
        let mut samplers = Vec::new();
        let mut local_bytes = 0;
        let mut tile = None;
        let mut fragment = None;
        let mut code = None;
        let program = |at: u64, code: u64| {
            programs
                .get(self.usc_exec_base + code)
                .map_err(|(kind, why)| self.fault(at, why).of(kind))
        };
        for _ in 0..WORD_BUDGET {
            let mut bytes = [0; 8];
            // The list may end less than 8 bytes before the end of a page.
            let tag: [u8; 1] = self
                .vm
                .read_array(at)
                .map_err(|fault| self.unreadable(at, "the USC words", fault))?;
            let size = match tag[0] {
                0x38 | 0x1d | 0x3d | 0x9d | 0xdd => 8,
                0x0d => 6,
                0x58 | 0x4d | 0x8d => 4,
                0x88 => 2,
                other => {
                    return Err(self.fault(at, format!("USC word tag {other:#04x} is unknown")));
                }
            };
            self.read(at, at, &mut bytes[..size], "the USC words")?;
            let bytes = &bytes[..size];
            let here = at;
            let odd = |problem: tepui_packets::Problem| self.fault(here, problem.to_string());
            at += size as u64;
            match tag[0] {
                0x1d => {
                    let w = usc::Uniform::unpack(bytes).map_err(odd)?;
                    self.uniform(here, &mut uniforms, w.start_halfs, w.size_halfs, w.buffer)?;
                }
                0x3d => {
                    let w = usc::UniformHigh::unpack(bytes).map_err(odd)?;
                    self.uniform(here, &mut uniforms, w.start_halfs + 256, w.size_halfs, w.buffer)?;
                }
                0xdd => {
                    let w = usc::Texture::unpack(bytes).map_err(odd)?;
                    for i in 0..w.count as usize {
                        let register = w.start as usize + i;
                        if textures.len() <= register {
                            textures.resize(register + 1, [0; 24]);
                        }
                        let from = w.buffer + 24 * i as u64;
                        self.read(here, from, &mut textures[register], "a texture descriptor")?;
                    }
                }
                0x9d => {
                    let w = usc::Sampler::unpack(bytes).map_err(odd)?;
                    let stride = if self.samplers.is_extended() { 24 } else { 8 };
                    for i in 0..w.count as usize {
                        let mut raw = [0; 24];
                        let from = w.buffer + (stride * i) as u64;
                        self.read(here, from, &mut raw[..stride], "a sampler descriptor")?;
                        let register = w.start as usize + i;
                        if samplers.len() <= register {
                            samplers.resize(register + 1, ([0; 8], [0; 4]));
                        }
                        samplers[register] = split_sampler(&raw);
                    }
                }
                0x4d => {
                    let w = usc::Shared::unpack(bytes).map_err(odd)?;
                    if w.uses_shared_memory {
                        local_bytes = w.bytes_per_threadgroup;
                        let size_px = match w.layout {
                            usc::SharedLayout::Tile32x32 => Some([32, 32]),
                            usc::SharedLayout::Tile32x16 => Some([32, 16]),
                            usc::SharedLayout::Tile16x16 => Some([16, 16]),
                            _ => None,
                        };
                        tile = size_px.map(|size_px| TileLayout {
                            size_px,
                            samples: w.sample_count,
                            sample_bytes: 8 * w.sample_stride_in_8_bytes,
                        });
                    }
                }
                0x0d => {
                    let w = usc::Shader::unpack(bytes).map_err(odd)?;
                    code = Some((here, w.code));
                }
                0x58 => {
                    let w = usc::FragmentProperties::unpack(bytes).map_err(odd)?;
                    fragment = Some(w);
                }
                0x38 | 0x88 => {
                    let preshader = if tag[0] == 0x38 {
                        let w = usc::Preshader::unpack(bytes).map_err(odd)?;
                        Some(program(here, w.code)?)
                    } else {
                        None
                    };
                    let Some((place, code)) = code else {
                        return Err(self.fault(here, "the USC words name no shader"));
                    };
                    return Ok(Launch {
                        program: program(place, code)?,
                        preshader,
                        uniforms,
                        textures,
                        samplers,
                        sampler_heap: self.sampler_heap,
                        local_bytes,
                        tile,
                        fragment,
                        helper: self.helper,
                        usc_exec_base: self.usc_exec_base,
                        programs,
                    });
                }
                // Registers: the model takes as many as the program names.
                _ => {}
            }
        }
        Err(self.fault(at, "the USC words do not end"))
    }

    fn uniform(
        &self,
        at: u64,
        uniforms: &mut [u16],
        start: u32,
        count: u32,
        buffer: u64,
    ) -> Result<(), JobFault> {
        let (start, count) = (start as usize, count as usize);
        let Some(slots) = uniforms.get_mut(start..start + count) else {
            return Err(
                self.fault(at, format!("uniforms {start} to {} do not exist", start + count))
            );
        };
        let mut bytes = [0; 2 * 64];
        let bytes = &mut bytes[..2 * count];
        self.read(at, buffer, bytes, "uniform data")?;
        for (slot, half) in slots.iter_mut().zip(bytes.chunks_exact(2)) {
            *slot = u16::from_le_bytes([half[0], half[1]]);
        }
        Ok(())
    }
}
