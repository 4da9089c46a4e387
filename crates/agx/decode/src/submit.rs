//! Decodes whole commands of the kernel interface: their fields and everything that these point to.
//!
// source: asahi_drm.h; decode.c, agxdecode_drm_cmd_render and agxdecode_drm_cmd_compute

use tepui_agx_packets::Packet;
use tepui_agx_packets::render::{
    BgEotUsc, Counts, HelperConfig, HelperProgram, IspBgobjvals, IspZlsPixels, PppControl,
    PppMultisampleControl, ZlsControl,
};
use tepui_drm::uapi::asahi::{
    Attachment, BgEot, CMD_COMPUTE, CMD_RENDER, CmdCompute, CmdHeader, CmdRender,
    HelperProgram as Helper, SET_COMPUTE_ATTACHMENTS, SET_FRAGMENT_ATTACHMENTS,
    SET_VERTEX_ATTACHMENTS,
};

use crate::calls::fields_of;
use crate::ppp::RenderArrays;
use crate::{Content, Decoder, Record};

/// The name of a command's type.
pub fn kind_name(kind: u16) -> &'static str {
    match kind {
        CMD_RENDER => "Render",
        CMD_COMPUTE => "Compute",
        SET_VERTEX_ATTACHMENTS => "Vertex attachments",
        SET_FRAGMENT_ATTACHMENTS => "Fragment attachments",
        SET_COMPUTE_ATTACHMENTS => "Compute attachments",
        _ => "Unknown command",
    }
}

/// Decodes the commands of a command buffer: their fields, but not what these point to. A command
/// that is truncated becomes raw bytes.
pub fn headers(buffer: &[u8]) -> Vec<Record> {
    let mut out = Vec::new();
    let mut rest = buffer;
    while let Some((head, tail)) = rest.split_at_checked(size_of::<CmdHeader>()) {
        let header: CmdHeader = bytemuck::pod_read_unaligned(head);
        let Some((body, tail)) = tail.split_at_checked(header.size.into()) else { break };
        let mut record = Record::group(kind_name(header.cmd_type));
        let mut fields = fields_of::<CmdHeader>(head);
        match header.cmd_type {
            CMD_RENDER => fields.extend(fields_of::<CmdRender>(body)),
            CMD_COMPUTE => fields.extend(fields_of::<CmdCompute>(body)),
            SET_VERTEX_ATTACHMENTS | SET_FRAGMENT_ATTACHMENTS | SET_COMPUTE_ATTACHMENTS => {
                for bytes in body.chunks(size_of::<Attachment>()) {
                    let mut attachment = Record::group("Attachment");
                    attachment.content = Content::Fields(fields_of::<Attachment>(bytes));
                    record.children.push(attachment);
                }
            }
            _ => {
                let mut raw = Record::group("Payload");
                raw.content = Content::Bytes(body.to_vec());
                record.children.push(raw);
            }
        }
        record.content = Content::Fields(fields);
        out.push(record);
        rest = tail;
    }
    if !rest.is_empty() {
        let mut raw = Record::group("Truncated command");
        raw.content = Content::Bytes(rest.to_vec());
        out.push(raw);
    }
    out
}

/// Reads a structure that may be shorter or longer than this version of it: missing fields are
/// zero.
fn extended<T: bytemuck::Pod>(bytes: &[u8]) -> T {
    let mut value = T::zeroed();
    let known = size_of::<T>().min(bytes.len());
    bytemuck::bytes_of_mut(&mut value)[..known].copy_from_slice(&bytes[..known]);
    value
}

impl Decoder<'_> {
    /// Decodes a command, with everything that it points to. `kind` is the type in its header,
    /// `payload` the bytes after the header.
    pub fn command(&mut self, kind: u16, payload: &[u8]) -> Record {
        match kind {
            CMD_COMPUTE => self.compute(&extended(payload)),
            CMD_RENDER => self.render(&extended(payload)),
            _ => {
                let mut record = Record::group(kind_name(kind));
                record.content = Content::Bytes(payload.to_vec());
                record
            }
        }
    }

    fn compute(&mut self, command: &CmdCompute) -> Record {
        let mut record = Record::group(kind_name(CMD_COMPUTE));
        record.content = Content::Fields(fields_of::<CmdCompute>(bytemuck::bytes_of(command)));
        record.children.push(self.cdm(command.cdm_ctrl_stream_base));
        if command.sampler_heap != 0 {
            record.children.push(self.sampler_heap(command.sampler_heap, command.sampler_count));
        }
        self.helper("Helper program", &command.helper, &mut record);
        record
    }

    fn render(&mut self, command: &CmdRender) -> Record {
        let mut record = Record::group(kind_name(CMD_RENDER));
        record.content = Content::Fields(fields_of::<CmdRender>(bytemuck::bytes_of(command)));
        let children = &mut record.children;
        children.push(self.reader.register(PppControl::INFO, &command.ppp_ctrl.to_le_bytes()));
        let multisample = command.ppp_multisamplectl.to_le_bytes();
        children.push(self.reader.register(PppMultisampleControl::INFO, &multisample));
        children.push(self.reader.register(ZlsControl::INFO, &command.zls_ctrl.to_le_bytes()));
        children
            .push(self.reader.register(IspZlsPixels::INFO, &command.isp_zls_pixels.to_le_bytes()));
        children
            .push(self.reader.register(IspBgobjvals::INFO, &command.isp_bgobjvals.to_le_bytes()));
        let arrays = RenderArrays {
            scissors: command.isp_scissor_base,
            depth_biases: command.isp_dbias_base,
        };
        children.push(self.vdm(command.vdm_ctrl_stream_base, arrays));
        if command.sampler_heap != 0 {
            let count = u32::from(command.sampler_count);
            children.push(self.sampler_heap(command.sampler_heap, count));
        }
        for (title, program) in [
            ("Background program", &command.bg),
            ("End-of-tile program", &command.eot),
            ("Background program after a partial render", &command.partial_bg),
            ("End-of-tile program of a partial render", &command.partial_eot),
        ] {
            if let Some(program) = self.program(title, program) {
                record.children.push(program);
            }
        }
        self.helper("Vertex helper program", &command.vertex_helper, &mut record);
        self.helper("Fragment helper program", &command.fragment_helper, &mut record);
        record
    }

    /// Decodes a background or end-of-tile program; `None` if there is none.
    fn program(&mut self, title: &'static str, program: &BgEot) -> Option<Record> {
        let tagged = program.usc.to_le_bytes();
        let (usc, _) = BgEotUsc::unpack_lossy(&tagged).ok()?;
        if usc.pipeline == 0 {
            return None;
        }
        let mut record = Record::group(title);
        record.children.push(self.reader.register(BgEotUsc::INFO, &tagged));
        let spec = program.rsrc_spec.to_le_bytes();
        record.children.push(self.reader.register(Counts::INFO, &spec));
        let extended = Counts::unpack_lossy(&spec)
            .is_ok_and(|(counts, _)| counts.sampler_state_register_count.is_extended());
        record.children.push(self.pipeline("Pipeline", self.usc(usc.pipeline), extended));
        Some(record)
    }

    /// Decodes the helper program, if there is one.
    fn helper(&mut self, title: &'static str, helper: &Helper, parent: &mut Record) {
        let binary = helper.binary.to_le_bytes();
        let Ok((tagged, _)) = HelperProgram::unpack_lossy(&binary) else { return };
        if !tagged.enable {
            return;
        }
        let mut record = Record::group(title);
        record.children.push(self.reader.register(HelperProgram::INFO, &binary));
        record.children.push(self.reader.register(HelperConfig::INFO, &helper.cfg.to_le_bytes()));
        record.children.push(self.shader("Code", self.usc(tagged.code)));
        parent.children.push(record);
    }
}
