//! Watching a device and writing down what happens.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tepui_agx_kernel::{Execution, Observer, Work};
use tepui_agx_model::{self as model, JobFault, JobStats};
use tepui_capture::{Call, Finish, Mapping, PAGE_BYTES, Process, Record, Start, Writer};
use tepui_drm::device::CallObserver;
use tepui_drm::uapi::asahi::{self as uapi, CMD_COMPUTE, CMD_RENDER, CmdCompute, CmdRender};
use tepui_drm::{Errno, monotonic_ns};
use tepui_softgpu::{AddressSpace, Memory, Protection};

use crate::{client, residency};

/// A stream, whatever it goes to.
pub(crate) type Output = Writer<Box<dyn Write + Send>>;

/// A stream that begins when there is something to write, and ends when writing fails, as it does when
/// the reader goes away.
pub(crate) enum Sink {
    /// Not yet.
    Waiting(Open),
    /// Begun.
    Running(Box<Output>),
}

/// Opens what the stream goes to, and completes what it says of the process.
pub(crate) type Open =
    Box<dyn FnOnce(Process) -> io::Result<(Box<dyn Write + Send>, Process)> + Send>;

impl Sink {
    /// Whether the stream has not begun.
    pub fn is_waiting(&self) -> bool {
        matches!(self, Sink::Waiting(_))
    }

    /// Begins the stream, if it has not, with what is known of the process and its GPU. `None` if that
    /// fails, which is reported.
    pub fn begin(self, process: Process) -> Option<Sink> {
        let Sink::Waiting(open) = self else { return Some(self) };
        let begun = open(process).and_then(|(out, process)| {
            let mut out = Writer::new(out)?;
            out.record(&Record::Process(process))?;
            out.flush()?;
            Ok(out)
        });
        match begun {
            Ok(out) => Some(Sink::Running(Box::new(out))),
            Err(error) => {
                eprintln!("tepui: {error}; nothing is captured");
                None
            }
        }
    }

    /// Writes, if the stream has begun. `None` if that fails, which is reported.
    pub fn write(mut self, body: impl FnOnce(&mut Output) -> io::Result<()>) -> Option<Sink> {
        if let Sink::Running(out) = &mut self
            && let Err(error) = body(out).and_then(|()| out.flush())
        {
            eprintln!("tepui: {error}; the capture ends here");
            return None;
        }
        Some(self)
    }
}

/// Writes what it watches of a virtual device into a stream, which begins when the device is first
/// opened.
pub struct Recorder(Mutex<State>);

struct State {
    /// `None` when the stream has failed.
    sink: Option<Sink>,
    /// What the stream says of the device.
    device: Process,
    numbers: Numbers,
}

/// Numbers of what the stream names.
#[derive(Default)]
struct Numbers {
    objects: Objects,
    /// Numbers of address spaces by where they are.
    spaces: HashMap<usize, u64>,
}

/// Numbers of memory blocks.
#[derive(Default)]
struct Objects {
    by_place: HashMap<usize, (u64, Weak<Memory>)>,
    given: u64,
}

impl Objects {
    fn number(&mut self, memory: &Arc<Memory>) -> u64 {
        let place = Arc::as_ptr(memory) as usize;
        if let Some((number, known)) = self.by_place.get(&place)
            && known.strong_count() > 0
        {
            return *number;
        }
        // Another block may have stood here before.
        self.given += 1;
        self.by_place.insert(place, (self.given, Arc::downgrade(memory)));
        if self.by_place.len().is_power_of_two() {
            self.by_place.retain(|_, (_, memory)| memory.strong_count() > 0);
        }
        self.given
    }
}

impl Recorder {
    /// A recorder that has seen nothing yet, of the device that `device` describes.
    pub(crate) fn new(sink: Sink, device: Process) -> Recorder {
        Recorder(Mutex::new(State { sink: Some(sink), device, numbers: Numbers::default() }))
    }

    /// Runs `body`, and stops recording if it fails. What one call writes is not mixed with what
    /// another thread does.
    fn write(&self, body: impl FnOnce(&mut Output, &mut Numbers) -> io::Result<()>) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        let Some(sink) = state.sink.take() else { return };
        let begun = sink.begin(std::mem::take(&mut state.device));
        state.sink = begun.and_then(|sink| sink.write(|out| body(out, &mut state.numbers)));
    }
}

impl CallObserver for Recorder {
    fn opened(&self, file: u64) {
        self.write(|out, _| out.record(&Record::Opened { file }));
    }

    fn answered(
        &self,
        call: &tepui_drm::device::Call<'_>,
        after: &[u8],
        result: Result<u32, Errno>,
    ) {
        let record = Record::Call(Call {
            file: call.file,
            thread: rustix::thread::gettid().as_raw_nonzero().get() as u32,
            time_ns: monotonic_ns(),
            request: call.request.0,
            result: result.map_or_else(|errno| -errno.raw_os_error(), |value| value as i32),
            before: call.before.to_vec(),
            after: if after == call.before { Vec::new() } else { after.to_vec() },
            memory: client::memory(call.user, call.request, after),
        });
        self.write(|out, _| out.record(&record));
    }

    fn closed(&self, file: u64) {
        self.write(|out, _| out.record(&Record::Closed { file }));
    }
}

impl Observer for Recorder {
    fn starting(&self, execution: &Execution<'_>) {
        self.write(|out, numbers| {
            let space = numbers.describe(out, execution.vm)?;
            let (kind, base, payload) = command(execution.work);
            out.record(&Record::Start(Start {
                file: execution.file,
                queue: execution.queue,
                submission: execution.submission,
                command: execution.command as u32,
                space,
                kind: kind.into(),
                base,
                payload,
                early: false,
            }))
        });
    }

    fn finished(&self, execution: &Execution<'_>, result: &Result<JobStats, JobFault>) {
        self.write(|out, numbers| {
            numbers.describe(out, execution.vm)?;
            out.record(&Record::Finish(Finish {
                file: execution.file,
                queue: execution.queue,
                submission: execution.submission,
                command: execution.command as u32,
                fault: result.as_ref().err().map(JobFault::to_string),
            }))
        });
    }
}

impl Numbers {
    /// Describes an address space and all memory bound in it; gives its number.
    fn describe(&mut self, out: &mut Output, vm: &AddressSpace) -> io::Result<u64> {
        let fresh = self.spaces.len() as u64 + 1;
        let space = *self.spaces.entry(std::ptr::from_ref(vm) as usize).or_insert(fresh);
        out.begin_memory()?;
        let bound = vm.mappings();
        let mut mappings = Vec::with_capacity(bound.len());
        let mut described: HashSet<u64> = HashSet::new();
        for mapping in &bound {
            let object = self.objects.number(&mapping.memory);
            if described.insert(object) {
                describe(out, object, &mapping.memory)?;
            }
            mappings.push(Mapping {
                address: mapping.address,
                length: mapping.length,
                object,
                offset: mapping.offset,
                read: mapping.protection.contains(Protection::READ),
                write: mapping.protection.contains(Protection::WRITE),
                single_page: mapping.single_page,
            });
        }
        out.mappings(space, mappings)?;
        Ok(space)
    }
}

/// Describes what a block of memory holds.
fn describe(out: &mut Output, object: u64, memory: &Memory) -> io::Result<()> {
    let mut writer = out.object(object, memory.size() as u64)?;
    let touched = residency::touched(memory);
    let mut page = vec![0; PAGE_BYTES];
    for index in 0..memory.size().div_ceil(PAGE_BYTES) {
        if touched.contains(index) || writer.held(index as u32) {
            residency::copy(memory, index, &mut page);
            writer.page(index as u32, &page)?;
        }
    }
    writer.end()
}

/// A command as the kernel's interface has it: its type, the base of USC addresses, its payload.
fn command(work: &Work) -> (u16, u64, Vec<u8>) {
    match work {
        Work::Compute(job) => {
            let command = compute_command(job);
            (CMD_COMPUTE, job.usc_exec_base, bytemuck::bytes_of(&command).to_vec())
        }
        Work::Render(job) => {
            let command = render_command(job);
            (CMD_RENDER, job.usc_exec_base, bytemuck::bytes_of(&command).to_vec())
        }
    }
}

fn helper(helper: &model::Helper) -> uapi::HelperProgram {
    uapi::HelperProgram { binary: helper.binary, cfg: helper.cfg, data: helper.data }
}

fn compute_command(job: &model::ComputeJob) -> CmdCompute {
    let r = &job.registers;
    CmdCompute {
        flags: 0,
        sampler_count: r.sampler_count,
        cdm_ctrl_stream_base: r.ctrl_stream_base,
        cdm_ctrl_stream_end: r.ctrl_stream_end,
        sampler_heap: r.sampler_heap,
        helper: helper(&r.helper),
        ts: uapi::Timestamps::default(),
    }
}

fn render_command(job: &model::RenderJob) -> CmdRender {
    let zls = |b: &model::ZlsBuffer| uapi::ZlsBuffer {
        base: b.base,
        comp_base: b.comp_base,
        stride: b.stride,
        comp_stride: b.comp_stride,
    };
    let program = |p: &model::BgEot| uapi::BgEot { usc: p.usc, rsrc_spec: p.rsrc_spec };
    CmdRender {
        flags: job.flags,
        isp_zls_pixels: job.isp_zls_pixels,
        vdm_ctrl_stream_base: job.vdm_ctrl_stream_base,
        vertex_helper: helper(&job.vertex_helper),
        fragment_helper: helper(&job.fragment_helper),
        isp_scissor_base: job.isp_scissor_base,
        isp_dbias_base: job.isp_dbias_base,
        isp_oclqry_base: job.isp_oclqry_base,
        depth: zls(&job.depth),
        stencil: zls(&job.stencil),
        zls_ctrl: job.zls_ctrl,
        ppp_multisamplectl: job.ppp_multisamplectl,
        sampler_heap: job.sampler_heap,
        ppp_ctrl: job.ppp_ctrl,
        width_px: job.width_px,
        height_px: job.height_px,
        layers: job.layers,
        sampler_count: job.sampler_count,
        utile_width_px: job.utile_width_px,
        utile_height_px: job.utile_height_px,
        samples: job.samples,
        sample_size_bytes: job.sample_size_bytes,
        isp_merge_upper_x: job.isp_merge_upper_x,
        isp_merge_upper_y: job.isp_merge_upper_y,
        bg: program(&job.bg),
        eot: program(&job.eot),
        partial_bg: program(&job.partial_bg),
        partial_eot: program(&job.partial_eot),
        isp_bgobjdepth: job.isp_bgobjdepth,
        isp_bgobjvals: job.isp_bgobjvals,
        ts_vtx: uapi::Timestamps::default(),
        ts_frag: uapi::Timestamps::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tepui_agx_kernel::submit;

    /// A command that is parsed from its bytes, run, and written down again has the same bytes.
    #[test]
    fn a_command_comes_back_as_it_was_submitted() {
        let compute = CmdCompute {
            sampler_count: 3,
            cdm_ctrl_stream_base: 0x1_0000,
            cdm_ctrl_stream_end: 0x1_0100,
            sampler_heap: 0x2_0000,
            helper: uapi::HelperProgram { binary: 5, cfg: 1 << 16, data: 9 },
            ..Default::default()
        };
        let mut bytes = [0u8; size_of::<CmdRender>()];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = i as u8 + 1;
        }
        let mut render: CmdRender = bytemuck::pod_read_unaligned(&bytes);
        render.flags = uapi::RENDER_PROCESS_EMPTY_TILES;
        (render.samples, render.utile_width_px, render.utile_height_px) = (4, 32, 16);
        (render.ts_vtx, render.ts_frag) = Default::default();
        for (kind, payload) in [
            (CMD_COMPUTE, bytemuck::bytes_of(&compute).to_vec()),
            (CMD_RENDER, bytemuck::bytes_of(&render).to_vec()),
        ] {
            let header = uapi::CmdHeader {
                cmd_type: kind,
                size: payload.len() as u16,
                vdm_barrier: uapi::BARRIER_NONE,
                cdm_barrier: uapi::BARRIER_NONE,
            };
            let buffer = [bytemuck::bytes_of(&header), &payload].concat();
            let parsed = submit::parse(&buffer).unwrap_or_else(|_| panic!("refused"));
            let (work, _) = parsed[0].work(0x11_0000_0000).expect("a hardware command");
            assert_eq!(command(&work), (kind, 0x11_0000_0000, payload));
        }
    }
}
