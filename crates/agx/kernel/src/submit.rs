//! Command buffers: parses the bytes of a submission into typed commands and the model's jobs.

use tepui_agx_model as model;
use tepui_drm::uapi::asahi::{
    self as uapi, Attachment, BARRIER_NONE, CmdCompute, CmdHeader, CmdRender, Timestamps,
};
use tepui_drm::user::extensible;

use crate::chips::{MAX_ATTACHMENTS, MAX_COMMANDS};
use crate::observer::Work;
use tepui_drm::refusal::{Refusal, require};

/// The shader stage that attachments belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Vertex shaders.
    Vertex,
    /// Fragment shaders.
    Fragment,
    /// Compute shaders.
    Compute,
}

/// The payload of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A render pass.
    Render(Box<CmdRender>),
    /// A stream of dispatches.
    Compute(CmdCompute),
    /// Hints about the memory that the commands after it write.
    Attachments(Stage, Vec<Attachment>),
}

/// A command with its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Type, size and barriers.
    pub header: CmdHeader,
    /// Offset of the header in the command buffer, in bytes.
    pub offset: usize,
    /// The payload.
    pub payload: Payload,
}

/// Parses and validates a command buffer.
///
/// # Errors
/// `EINVAL` for a bad header, barrier, count or field; `E2BIG` for fields that are unknown here and
/// not zero.
pub fn parse(buffer: &[u8]) -> Result<Vec<Command>, Refusal> {
    let mut commands = Vec::new();
    let (mut renders, mut computes) = (0u16, 0u16);
    let mut rest = buffer;
    while !rest.is_empty() {
        let offset = buffer.len() - rest.len();
        let (head, tail) = rest.split_at_checked(size_of::<CmdHeader>()).ok_or(TRUNCATED)?;
        let header: CmdHeader = bytemuck::pod_read_unaligned(head);
        let (body, tail) = tail.split_at_checked(header.size.into()).ok_or(TRUNCATED)?;
        rest = tail;
        // "Structures must be aligned on 64-bit": the next header follows this payload.
        require(header.size.is_multiple_of(8), "a command's size is not a multiple of 8")?;
        let is_hardware = matches!(header.cmd_type, uapi::CMD_RENDER | uapi::CMD_COMPUTE);
        let within = |barrier, count| barrier == BARRIER_NONE || is_hardware && barrier <= count;
        require(
            within(header.vdm_barrier, renders) && within(header.cdm_barrier, computes),
            "a barrier waits for a command that does not come before it",
        )?;
        let payload = match header.cmd_type {
            uapi::CMD_RENDER => {
                renders += 1;
                Payload::Render(Box::new(check_render(extensible(body)?)?))
            }
            uapi::CMD_COMPUTE => {
                computes += 1;
                let command: CmdCompute = extensible(body)?;
                require(command.flags == 0, "a compute command's flags are not 0")?;
                Payload::Compute(command)
            }
            uapi::SET_VERTEX_ATTACHMENTS => attachments(Stage::Vertex, body)?,
            uapi::SET_FRAGMENT_ATTACHMENTS => attachments(Stage::Fragment, body)?,
            uapi::SET_COMPUTE_ATTACHMENTS => attachments(Stage::Compute, body)?,
            _ => return Err(require(false, "unknown command type").unwrap_err()),
        };
        commands.push(Command { header, offset, payload });
        require(
            u32::from(renders) + u32::from(computes) <= MAX_COMMANDS,
            "more hardware commands than max_commands_per_submission",
        )?;
    }
    require(renders + computes > 0, "no hardware command")?;
    Ok(commands)
}

const TRUNCATED: Refusal =
    Refusal { errno: tepui_drm::Errno::INVAL, why: "a command leaves the command buffer" };

fn attachments(stage: Stage, body: &[u8]) -> Result<Payload, Refusal> {
    let (list, rest) = body.as_chunks::<{ size_of::<Attachment>() }>();
    require(rest.is_empty(), "the size is not that of a number of attachments")?;
    require(list.len() <= MAX_ATTACHMENTS as usize, "more attachments than max_attachments")?;
    let list: Vec<Attachment> =
        list.iter().map(|bytes| bytemuck::pod_read_unaligned(bytes)).collect();
    require(
        list.iter().all(|a| a.pad == 0 && a.flags == 0),
        "an attachment's pad or flags are not 0",
    )?;
    Ok(Payload::Attachments(stage, list))
}

fn check_render(command: CmdRender) -> Result<CmdRender, Refusal> {
    let known = uapi::RENDER_VERTEX_SCRATCH
        | uapi::RENDER_PROCESS_EMPTY_TILES
        | uapi::RENDER_NO_VERTEX_CLUSTERING
        | uapi::RENDER_DBIAS_IS_INT;
    require(command.flags & !known == 0, "unknown render flags")?;
    require(matches!(command.samples, 1 | 2 | 4), "samples is not 1, 2 or 4")?;
    require(
        command.width_px > 0 && command.height_px > 0 && command.layers > 0,
        "the framebuffer is empty",
    )?;
    // source: Mesa's agx_tilebuffer.c: a tile is 32x32, 32x16 or 16x16 pixels.
    require(
        matches!((command.utile_width_px, command.utile_height_px), (32, 32) | (32, 16) | (16, 16)),
        "no such tile size",
    )?;
    Ok(command)
}

impl Command {
    /// The numbers of earlier renders and compute commands of the submission that it waits for; none for a queue that it does not wait for.
    pub fn barriers(&self) -> model::Barriers {
        let CmdHeader { vdm_barrier, cdm_barrier, .. } = self.header;
        [vdm_barrier, cdm_barrier].map(|count| (count != BARRIER_NONE).then_some(count))
    }

    /// The model's job and the timestamps around it; `None` for software commands.
    pub fn work(&self, usc_exec_base: u64) -> Option<(Work, [Timestamps; 2])> {
        match &self.payload {
            Payload::Compute(c) => {
                Some((Work::Compute(compute_job(usc_exec_base, c)), [c.ts, Timestamps::default()]))
            }
            Payload::Render(r) => {
                Some((Work::Render(Box::new(render_job(usc_exec_base, r))), [r.ts_vtx, r.ts_frag]))
            }
            Payload::Attachments(..) => None,
        }
    }
}

fn helper(helper: &uapi::HelperProgram) -> model::Helper {
    model::Helper { binary: helper.binary, cfg: helper.cfg, data: helper.data }
}

fn compute_job(usc_exec_base: u64, c: &CmdCompute) -> model::ComputeJob {
    model::ComputeJob {
        usc_exec_base,
        registers: model::ComputeRegisters {
            ctrl_stream_base: c.cdm_ctrl_stream_base,
            ctrl_stream_end: c.cdm_ctrl_stream_end,
            sampler_heap: c.sampler_heap,
            sampler_count: c.sampler_count,
            helper: helper(&c.helper),
        },
    }
}

fn render_job(usc_exec_base: u64, r: &CmdRender) -> model::RenderJob {
    let zls = |b: &uapi::ZlsBuffer| model::ZlsBuffer {
        base: b.base,
        comp_base: b.comp_base,
        stride: b.stride,
        comp_stride: b.comp_stride,
    };
    let program = |p: &uapi::BgEot| model::BgEot { usc: p.usc, rsrc_spec: p.rsrc_spec };
    model::RenderJob {
        usc_exec_base,
        flags: r.flags,
        isp_zls_pixels: r.isp_zls_pixels,
        vdm_ctrl_stream_base: r.vdm_ctrl_stream_base,
        vertex_helper: helper(&r.vertex_helper),
        fragment_helper: helper(&r.fragment_helper),
        isp_scissor_base: r.isp_scissor_base,
        isp_dbias_base: r.isp_dbias_base,
        isp_oclqry_base: r.isp_oclqry_base,
        depth: zls(&r.depth),
        stencil: zls(&r.stencil),
        zls_ctrl: r.zls_ctrl,
        ppp_multisamplectl: r.ppp_multisamplectl,
        sampler_heap: r.sampler_heap,
        ppp_ctrl: r.ppp_ctrl,
        width_px: r.width_px,
        height_px: r.height_px,
        layers: r.layers,
        sampler_count: r.sampler_count,
        utile_width_px: r.utile_width_px,
        utile_height_px: r.utile_height_px,
        samples: r.samples,
        sample_size_bytes: r.sample_size_bytes,
        isp_merge_upper_x: r.isp_merge_upper_x,
        isp_merge_upper_y: r.isp_merge_upper_y,
        bg: program(&r.bg),
        eot: program(&r.eot),
        partial_bg: program(&r.partial_bg),
        partial_eot: program(&r.partial_eot),
        isp_bgobjdepth: r.isp_bgobjdepth,
        isp_bgobjvals: r.isp_bgobjvals,
    }
}
