//! The encoder: control streams, USC words and state of a command buffer, in upload memory that the buffer owns until it is reset.
//!
//! The recording is a list of hardware commands in order: compute streams and renders. Consecutive
//! dispatches share a compute stream.

mod arena;
pub mod bindings;
mod clear;
mod compression;
mod compute;
mod draw;
mod expand;
mod fixed;
mod image_part;
mod index;
mod meta;
mod order;
mod queries;
mod record;
pub mod render;
mod rendering;
mod stages;
mod stream;
mod values;
pub mod variants;

use std::sync::Arc;

use tepui_agx_packets::usc;
use tepui_drm::uapi::asahi::{
    self as uapi, CmdCompute, CmdHeader, CmdRender, Timestamp, Timestamps,
};
use tepui_vulkan::Result;
use tepui_vulkan::backend::SyncPoint;
use tepui_vulkan_expand::ExpandState;

use crate::device::Device;
use crate::recipe::FromSet;
use crate::scratch::Scratch;
use crate::shader::Variant;

use arena::{Arena, Upload};
use bindings::Bindings;
use expand::ExpandMemory;
pub use order::Counts as LaunchCounts;
use order::LaunchOrder;
use render::Render;
use tepui_sysval::MemoryWords;

/// A hardware command.
pub enum Work {
    /// A compute stream.
    Compute(CmdCompute),
    /// A render.
    Render(Box<CmdRender>),
}

/// Records a command buffer.
pub struct Encoder {
    /// The device.
    pub device: Arc<Device>,
    arena: Arena,
    /// Finished commands.
    pub work: Vec<Work>,
    /// Dispatches of the compute stream that is open.
    stream: Vec<u8>,
    /// Order of its launches.
    order: LaunchOrder,
    /// Bytes of scratch memory that threads of the open stream need.
    stream_scratch: u32,
    /// The render that is open.
    render: Option<Box<Render>>,
    /// Room for words that are put together before they are uploaded.
    words: Vec<u8>,
    /// Words of the driver's own programs.
    pub driver: [u32; 64],
    /// Words of vertex programs that are in memory.
    vertex_words: Vec<MemoryWords>,
    /// State of expanded draws.
    expansion: ExpandState<ExpandMemory>,
    /// Scratch memory that commands use.
    scratch: Vec<Arc<Scratch>>,
    /// Programs that commands use, kept while they may run.
    keep: Vec<Arc<Variant>>,
    /// The occlusion query that is counting: its counter, and whether it counts exactly.
    query: Option<(u32, bool)>,
    /// Whether it changed since the last draw.
    query_dirty: bool,
    /// Words to write after the open render.
    after: Vec<(u64, u32)>,
    /// Timestamps to write after the open render.
    stamps: Vec<(u32, u32)>,
    /// Sets of compute pipelines.
    compute_bindings: Bindings,
}

// SAFETY: pointers into upload memory are the encoder's own.
unsafe impl Send for Encoder {}

impl Drop for Encoder {
    fn drop(&mut self) {
        self.arena.recycle(&self.device, 0);
    }
}

/// Appends a packet.
macro_rules! put {
    ($out:expr, $packet:expr) => {
        $out.extend_from_slice(&$packet.pack().map_err($crate::device::packet)?)
    };
}
pub(crate) use put;

impl Encoder {
    /// An empty encoder.
    pub fn new(device: &Arc<Device>) -> Encoder {
        Encoder {
            device: device.clone(),
            arena: Arena::default(),
            work: Vec::new(),
            stream: Vec::new(),
            order: LaunchOrder::default(),
            stream_scratch: 0,
            render: None,
            driver: [0; 64],
            words: Vec::new(),
            vertex_words: Vec::new(),
            expansion: ExpandState::default(),
            scratch: Vec::new(),
            keep: Vec::new(),
            query: None,
            query_dirty: false,
            after: Vec::new(),
            stamps: Vec::new(),
            compute_bindings: Bindings::default(),
        }
    }

    /// Forgets what was recorded.
    pub fn clear(&mut self) {
        self.arena.recycle(&self.device, 1);
        self.work.clear();
        self.stream.clear();
        self.order.clear();
        self.stream_scratch = 0;
        self.render = None;
        self.scratch.clear();
        self.keep.clear();
        self.query = None;
        self.after.clear();
        self.stamps.clear();
        self.compute_bindings = Bindings::default();
        self.vertex_words.clear();
        self.expansion = ExpandState::default();
    }

    /// Upload memory.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn upload(&mut self, bytes: &[u8], align: u64) -> Result<Upload> {
        let at = self.arena.take(&self.device, bytes.len() as u64, align)?;
        // SAFETY: the range is new and of the right size.
        unsafe { at.host.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(at)
    }

    /// Scratch memory for a command whose threads need `bytes`.
    fn helper(&mut self, bytes: u32) -> Result<uapi::HelperProgram> {
        if bytes == 0 {
            return Ok(uapi::HelperProgram::default());
        }
        let scratch = self.device.scratch(bytes)?;
        let helper = scratch.helper;
        self.scratch.push(scratch);
        Ok(helper)
    }

    /// Closes the compute stream; timestamps are written around it.
    fn end_compute(&mut self, ts: Timestamps) -> Result<()> {
        if self.stream.is_empty() && ts == Timestamps::default() {
            return Ok(());
        }
        self.end_launches()?;
        put!(self.stream, tepui_agx_packets::cdm::StreamTerminate {});
        let stream = std::mem::take(&mut self.stream);
        let at = self.upload(&stream, 64)?;
        let scratch = std::mem::take(&mut self.stream_scratch);
        let helper = self.helper(scratch)?;
        self.work.push(Work::Compute(CmdCompute {
            flags: 0,
            sampler_count: crate::device::SAMPLERS,
            cdm_ctrl_stream_base: at.address,
            cdm_ctrl_stream_end: at.address + stream.len() as u64,
            sampler_heap: self.device.sampler_heap.address,
            helper,
            ts,
        }));
        self.stream = stream;
        self.stream.clear();
        Ok(())
    }

    /// Writes a timestamp of a query after all earlier work.
    fn timestamp(&mut self, handle: u32, offset: u32) -> Result<()> {
        let end = Timestamp { handle, offset };
        self.end_compute(Timestamps { start: Timestamp::default(), end })
    }

    /// Numbers of launches, barriers and split renderings.
    pub fn launch_counts(&self) -> LaunchCounts {
        self.order.counts
    }

    /// The bytes of all commands, as the kernel takes them.
    pub fn commands(&self, out: &mut Vec<u8>, counts: &mut [u16; 2]) {
        for w in &self.work {
            // Each command waits for all before it.
            let [vdm_barrier, cdm_barrier] = *counts;
            let mut put = |cmd_type: u16, body: &[u8]| {
                let header =
                    CmdHeader { cmd_type, size: body.len() as u16, vdm_barrier, cdm_barrier };
                out.extend_from_slice(bytemuck::bytes_of(&header));
                out.extend_from_slice(body);
            };
            match w {
                Work::Compute(c) => {
                    put(uapi::CMD_COMPUTE, bytemuck::bytes_of(c));
                    counts[1] += 1;
                }
                Work::Render(r) => {
                    put(uapi::CMD_RENDER, bytemuck::bytes_of(&**r));
                    counts[0] += 1;
                }
            }
        }
    }

    /// USC words of a program's registers: uniforms, texture and sampler state. `data` is the block that the CPU filled.
    fn state_words(
        &self,
        words: &mut Vec<u8>,
        v: &Variant,
        block: u64,
        set_address: impl Fn(u8) -> u64,
    ) -> Result<()> {
        let uniform = |words: &mut Vec<u8>, half: u16, halves: u16, buffer: u64| -> Result<()> {
            // A word loads into one half of the register file.
            let below = if half < 256 { (256 - half).min(halves) } else { 0 };
            if below > 0 {
                put!(
                    words,
                    usc::Uniform {
                        start_halfs: u32::from(half),
                        size_halfs: u32::from(below),
                        buffer
                    }
                );
            }
            if halves > below {
                let start_halfs = u32::from(half + below - 256);
                let size_halfs = u32::from(halves - below);
                put!(
                    words,
                    usc::UniformHigh {
                        start_halfs,
                        size_halfs,
                        buffer: buffer + 2 * u64::from(below)
                    }
                );
            }
            Ok(())
        };
        for &(half, halves, word) in &v.recipe.runs {
            uniform(words, half, halves, block + 4 * u64::from(word))?;
        }
        let place = |f: &FromSet| match set_address(f.set) {
            0 => self.device.zeros.address,
            at => at + u64::from(f.offset),
        };
        for f in &v.recipe.uniforms {
            uniform(words, f.register, f.halves, place(f))?;
        }
        for f in &v.recipe.textures {
            put!(words, usc::Texture { start: u32::from(f.register), count: 1, buffer: place(f) });
        }
        if v.samplers > 0 || v.textures > 0 {
            put!(words, usc::Sampler { start: 0, count: 1, buffer: self.device.loads_sampler() });
        }
        for f in &v.recipe.samplers {
            put!(words, usc::Sampler { start: u32::from(f.register), count: 1, buffer: place(f) });
        }
        Ok(())
    }

    /// The words after those of registers: code, register count, preamble.
    fn end_words(
        &self,
        words: &mut Vec<u8>,
        v: &Variant,
        fragment: Option<usc::FragmentProperties>,
        loads_varyings: bool,
    ) -> Result<()> {
        let is_fragment = fragment.is_some();
        put!(
            words,
            usc::Shader {
                code: v.code.usc(),
                loads_varyings,
                unk_2: if is_fragment { 2 } else { 3 },
                ..usc::Shader::default()
            }
        );
        put!(
            words,
            usc::Registers {
                register_count: u32::from(v.registers).max(8).next_multiple_of(8).min(256),
                unk_1: is_fragment,
                spill_size: tepui_agx_compiler::helper::spill_class(v.scratch),
                unk_4: 1,
            }
        );
        if let Some(f) = fragment {
            put!(words, f);
        }
        match &v.preamble {
            Some(code) => put!(words, usc::Preshader { code: code.usc() }),
            None => put!(words, usc::NoPreshader {}),
        }
        Ok(())
    }

    fn sampler_states(v: &Variant) -> usc::SamplerStates {
        if v.samplers > 0 || v.textures > 0 {
            usc::SamplerStates::Compact16
        } else {
            usc::SamplerStates::None
        }
    }

    /// The number of uniform registers as launches count them: in groups of 64.
    fn uniform_count(v: &Variant) -> u32 {
        u32::from(v.recipe.halves.max(64)).next_multiple_of(64).min(512)
    }
}

/// Maximum number of hardware commands of a submission. source: asahi_drm.h,
/// `max_commands_per_submission`, and the parameters of the device
fn most_commands(device: &Device) -> u32 {
    device.kernel.params.max_commands_per_submission.max(1)
}

/// Submits the bytes of commands, split into submissions within the kernel's limit.
///
/// # Errors
/// When the kernel refuses.
pub fn submit(
    device: &Arc<Device>,
    waits: &[SyncPoint],
    bytes: &[u8],
    counts: [u16; 2],
    signals: &[SyncPoint],
) -> Result<()> {
    if bytes.is_empty() {
        // Sync objects are served by a command that does nothing.
        let idle = device.idle_stream()?;
        let command = CmdCompute {
            cdm_ctrl_stream_base: idle,
            cdm_ctrl_stream_end: idle + 8,
            ..CmdCompute::default()
        };
        let header = CmdHeader {
            cmd_type: uapi::CMD_COMPUTE,
            size: size_of::<CmdCompute>() as u16,
            vdm_barrier: 0,
            cdm_barrier: 0,
        };
        let mut bytes = bytemuck::bytes_of(&header).to_vec();
        bytes.extend_from_slice(bytemuck::bytes_of(&command));
        return device.kernel.submit(waits, &bytes, signals);
    }
    let most = most_commands(device);
    if u32::from(counts[0]) + u32::from(counts[1]) <= most {
        return device.kernel.submit(waits, bytes, signals);
    }
    // Barriers count within a submission; the queue runs submissions in their order.
    let mut rest = bytes;
    let mut waits = waits;
    while !rest.is_empty() {
        let (mut part, mut done) = (Vec::new(), [0u16; 2]);
        while !rest.is_empty() && u32::from(done[0]) + u32::from(done[1]) < most {
            let (head, tail) = rest.split_at(size_of::<CmdHeader>());
            let mut header: CmdHeader = bytemuck::pod_read_unaligned(head);
            let (body, tail) = tail.split_at(usize::from(header.size));
            [header.vdm_barrier, header.cdm_barrier] = done;
            part.extend_from_slice(bytemuck::bytes_of(&header));
            part.extend_from_slice(body);
            done[usize::from(header.cmd_type == uapi::CMD_COMPUTE)] += 1;
            rest = tail;
        }
        device.kernel.submit(waits, &part, if rest.is_empty() { signals } else { &[] })?;
        waits = &[];
    }
    Ok(())
}
