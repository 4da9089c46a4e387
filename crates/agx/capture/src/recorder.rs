//! Records the requests and commands of a device.

use tepui_agx_kernel::{Execution, Observer, Work};
use tepui_agx_model::{self as model, JobFault, JobStats};
use tepui_capture::{Finish, Process, Sink, Start};
use tepui_drm::Errno;
use tepui_drm::device::CallObserver;
use tepui_drm::uapi::asahi::{self as uapi, CMD_COMPUTE, CMD_RENDER, CmdCompute, CmdRender};

use crate::client;

/// Writes what it watches of a virtual device into a stream, which begins when the device is first
/// opened.
pub struct Recorder(tepui_capture::Recorder);

impl Recorder {
    /// A recorder that has seen nothing yet, of the device that `device` describes.
    pub(crate) fn new(sink: Sink, device: Process) -> Recorder {
        Recorder(tepui_capture::Recorder::new(sink, device))
    }
}

impl CallObserver for Recorder {
    fn opened(&self, file: u64) {
        self.0.opened(file);
    }

    fn answered(
        &self,
        call: &tepui_drm::device::Call<'_>,
        after: &[u8],
        result: Result<u32, Errno>,
    ) {
        self.0.answered(call, after, result, client::memory(call.user, call.request, after));
    }

    fn closed(&self, file: u64) {
        self.0.closed(file);
    }
}

impl Observer for Recorder {
    fn starting(&self, execution: &Execution<'_>) {
        let (kind, base, payload) = command(execution.work);
        let start = Start {
            file: execution.file,
            queue: execution.queue,
            submission: execution.submission,
            command: execution.command as u32,
            space: 0,
            kind: kind.into(),
            base,
            payload,
            early: false,
        };
        self.0.starting(execution.vm, start);
    }

    fn finished(&self, execution: &Execution<'_>, result: &Result<JobStats, JobFault>) {
        let finish = Finish {
            file: execution.file,
            queue: execution.queue,
            submission: execution.submission,
            command: execution.command as u32,
            fault: result.as_ref().err().map(JobFault::to_string),
        };
        self.0.finished(execution.vm, finish);
    }
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
