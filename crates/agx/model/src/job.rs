//! Jobs: the control registers that the firmware sets, and the results, reports and faults of a
//! job.

use std::fmt;

pub use tepui_softgpu::{JobFaultKind as FaultKind, ProgramPoint};

/// The unit of the GPU that a fault comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Compute data master: the control stream of dispatches.
    Cdm,
    /// Vertex data master: the control stream of draws.
    Vdm,
    /// Unified shader cores.
    Usc,
    /// Texture unit.
    Texture,
    /// Pixel back end: image writes.
    Pbe,
    /// Primitive processing pipe: state words of draws.
    Ppp,
    /// Image synthesis processor: rasterisation, depth and stencil.
    Isp,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Cdm => "CDM",
            Unit::Vdm => "VDM",
            Unit::Usc => "USC",
            Unit::Texture => "texture unit",
            Unit::Pbe => "PBE",
            Unit::Ppp => "PPP",
            Unit::Isp => "ISP",
        })
    }
}

/// A helper program: the small kernel that hands out scratch memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Helper {
    /// USC address of the binary, with configuration in the low bits.
    pub binary: u32,
    /// Further configuration.
    pub cfg: u32,
    /// A word that the program reads from special registers.
    pub data: u64,
}

/// Registers of a compute command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComputeRegisters {
    /// CDM_CTRL_STREAM_BASE: first word of the control stream.
    pub ctrl_stream_base: u64,
    /// End of the first contiguous piece of the control stream; a hint.
    pub ctrl_stream_end: u64,
    /// Base of the sampler heap.
    pub sampler_heap: u64,
    /// Number of samplers in the heap.
    pub sampler_count: u32,
    /// Helper program for scratch memory.
    pub helper: Helper,
}

/// A compute command: its registers and the queue's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComputeJob {
    /// USC_EXEC_BASE_CP: the 4 GiB window that 32-bit USC addresses are relative to.
    pub usc_exec_base: u64,
    /// The command's own registers.
    pub registers: ComputeRegisters,
}

/// A background, end-of-tile or partial-render program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BgEot {
    /// USC address of the USC words, with configuration in the low bits.
    pub usc: u32,
    /// Registers, uniforms, textures and samplers that the program needs, packed.
    pub rsrc_spec: u32,
}

/// Registers of the depth or stencil half of the Z load/store unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZlsBuffer {
    /// Address of the texels.
    pub base: u64,
    /// Address of the compression metadata, 0 without.
    pub comp_base: u64,
    /// Bytes from layer to layer.
    pub stride: u32,
    /// Bytes from layer to layer of the metadata.
    pub comp_stride: u32,
}

/// A render command: its registers and the queue's. Names and units are those of
/// `struct drm_asahi_cmd_render`.
#[expect(missing_docs, reason = "the names are those of the hardware's registers")]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RenderJob {
    pub usc_exec_base: u64,
    pub flags: u32,
    pub isp_zls_pixels: u32,
    pub vdm_ctrl_stream_base: u64,
    pub vertex_helper: Helper,
    pub fragment_helper: Helper,
    pub isp_scissor_base: u64,
    pub isp_dbias_base: u64,
    pub isp_oclqry_base: u64,
    pub depth: ZlsBuffer,
    pub stencil: ZlsBuffer,
    pub zls_ctrl: u64,
    pub ppp_multisamplectl: u64,
    pub sampler_heap: u64,
    pub ppp_ctrl: u32,
    pub width_px: u16,
    pub height_px: u16,
    pub layers: u16,
    pub sampler_count: u16,
    pub utile_width_px: u8,
    pub utile_height_px: u8,
    pub samples: u8,
    pub sample_size_bytes: u8,
    pub isp_merge_upper_x: u32,
    pub isp_merge_upper_y: u32,
    pub bg: BgEot,
    pub eot: BgEot,
    pub partial_bg: BgEot,
    pub partial_eot: BgEot,
    pub isp_bgobjdepth: u32,
    pub isp_bgobjvals: u32,
}

/// Kinds of [`Report`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReportKind {
    /// A register is read while a load into it is under way.
    UnwaitedRead,
    /// A register is written while a load into it is under way.
    UnwaitedWrite,
    /// A register is read that the SIMD-group never wrote.
    UnwrittenRegister,
    /// A byte of local memory is read that the workgroup never wrote.
    UnwrittenLocal,
    /// A byte of memory is read whose page was never written.
    UnwrittenMemory,
    /// A load of memory that is not bound for reading.
    UnboundLoad,
    /// A store to memory that is not bound for writing.
    UnboundStore,
    /// A tile of a compressed image is read that was never written.
    UnwrittenTile,
    /// A tile of a compressed image is read whose contents this model cannot decode.
    UnknownCompression,
    /// A texture is read through a missing descriptor, or one that this model cannot decode.
    UndefinedDescriptor,
    /// A texture instruction reads a texel that is not bound.
    UnboundTexel,
    /// A byte of scratch memory is read that the thread never wrote.
    UnwrittenScratch,
    /// Two SIMD-groups access the same local memory without a barrier between, one of them to write.
    LocalRace,
    /// A race of device memory between SIMD-groups of one workgroup.
    WorkgroupRace,
    /// A race of device memory between workgroups.
    DispatchRace,
    /// Two launches, or parts of renders, access the same memory without a barrier between, one of them to write.
    MissingWait,
    /// Lanes of one SIMD-group store different values to one address in one instruction.
    LaneRace,
    /// A barrier that not all threads of the workgroup execute.
    DivergentBarrier,
    /// A difference within a quad of which not all lanes are active.
    DivergentDerivative,
    /// A texel or a store to local memory that was not read yet.
    UnreadResult,
    /// Takes back an [`ReportKind::UnreadResult`]: a later job reads it.
    ResultRead,
}

impl ReportKind {
    /// All kinds that are findings.
    pub const ALL: [ReportKind; 20] = [
        ReportKind::UnwaitedRead,
        ReportKind::UnwaitedWrite,
        ReportKind::UnwrittenRegister,
        ReportKind::UnwrittenLocal,
        ReportKind::UnwrittenScratch,
        ReportKind::UnwrittenMemory,
        ReportKind::UnwrittenTile,
        ReportKind::UnboundLoad,
        ReportKind::UnboundStore,
        ReportKind::UnboundTexel,
        ReportKind::UnknownCompression,
        ReportKind::UndefinedDescriptor,
        ReportKind::LocalRace,
        ReportKind::WorkgroupRace,
        ReportKind::DispatchRace,
        ReportKind::MissingWait,
        ReportKind::LaneRace,
        ReportKind::DivergentBarrier,
        ReportKind::DivergentDerivative,
        ReportKind::UnreadResult,
    ];

    /// The name of the rule that is broken, as in `tepui_check`'s table; none for what takes a report back.
    #[must_use]
    pub fn rule(self) -> Option<&'static str> {
        Some(match self {
            ReportKind::UnwaitedRead => "unwaited-read",
            ReportKind::UnwaitedWrite => "unwaited-write",
            ReportKind::UnwrittenRegister => "unwritten-register",
            ReportKind::UnwrittenLocal => "unwritten-local",
            ReportKind::UnwrittenScratch => "unwritten-scratch",
            ReportKind::UnwrittenMemory => "unwritten-memory",
            ReportKind::UnwrittenTile => "unwritten-tile",
            ReportKind::UnboundLoad => "unbound-load",
            ReportKind::UnboundStore => "unbound-store",
            ReportKind::UnboundTexel => "unbound-texel",
            ReportKind::UnknownCompression => "unknown-compression",
            ReportKind::UndefinedDescriptor => "undefined-descriptor",
            ReportKind::LocalRace => "local-race",
            ReportKind::WorkgroupRace => "workgroup-race",
            ReportKind::DispatchRace => "dispatch-race",
            ReportKind::MissingWait => "missing-wait",
            ReportKind::LaneRace => "lane-race",
            ReportKind::DivergentBarrier => "divergent-barrier",
            ReportKind::DivergentDerivative => "divergent-derivative",
            ReportKind::UnreadResult => "unread-result",
            ReportKind::ResultRead => return None,
        })
    }

    /// Whether something was read that was never written.
    #[must_use]
    pub fn is_unwritten(self) -> bool {
        matches!(
            self,
            ReportKind::UnwrittenRegister
                | ReportKind::UnwrittenLocal
                | ReportKind::UnwrittenScratch
                | ReportKind::UnwrittenMemory
                | ReportKind::UnwrittenTile
        )
    }
}

/// A finding of the checker: a mistake of a program that silicon would hide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its kind.
    pub kind: ReportKind,
    /// A description, in one sentence without a full stop.
    pub what: String,
    /// The instruction.
    pub at: ProgramPoint,
    /// The fingerprint of the program's machine code, independent of its address.
    pub shader: u64,
    /// Bit mask of the lanes that it was first found in; 0 if it does not concern lanes.
    pub lanes: u32,
    /// The workgroup that it was first found in, for compute programs.
    pub workgroup: [u32; 3],
    /// Number of occurrences.
    pub count: u64,
}

impl Report {
    /// The report as a finding, with its position in the run.
    #[must_use]
    pub fn finding(&self, first: String) -> tepui_check::Finding {
        tepui_check::Finding {
            rule: self.kind.rule().unwrap_or_default().to_owned(),
            shader: format!("{:016x}", self.shader),
            offset: self.at.offset,
            instruction: self.at.text.clone(),
            what: self.what.clone(),
            lanes: self.lanes,
            workgroup: self.workgroup,
            count: self.count,
            first,
            ..tepui_check::Finding::default()
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProgramPoint { program: shader, offset, text } = &self.at;
        if self.kind == ReportKind::MissingWait {
            // About two commands, not about an instruction.
            return f.write_str(&self.what);
        }
        write!(f, "{}, in shader {shader:#x} at offset {offset:#x}: {text}", self.what)
    }
}

/// The results of a finished job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobStats {
    /// Dispatches (compute) or draws (render).
    pub launches: u64,
    /// Threads that ran, helper lanes not counted.
    pub threads: u64,
    /// Instructions executed, counted once a SIMD-group.
    pub instructions: u64,
    /// Cycles that these take of the float, select, compare, integer and bit unit ([`tepui_agx_isa::Cost`]).
    pub fscib: u64,
    /// Cycles that they take of the unit for multiplication, shifts and special functions.
    pub ic: u64,
    /// Shader accesses of memory that is not bound: loads of zero and dropped stores.
    pub soft_faults: u64,
    /// The first of them.
    pub first_soft_fault: Option<tepui_softgpu::Fault>,
    /// The reports of the checker, one of each kind for an instruction.
    pub reports: Vec<Report>,
}

impl JobStats {
    /// Adds the results of another part of the same job.
    pub fn merge(&mut self, other: &JobStats) {
        self.launches += other.launches;
        self.threads += other.threads;
        self.instructions += other.instructions;
        self.fscib += other.fscib;
        self.ic += other.ic;
        self.soft_faults += other.soft_faults;
        self.first_soft_fault = self.first_soft_fault.or(other.first_soft_fault);
        self.report(&other.reports);
    }

    /// Cycles of the busier arithmetic unit.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.fscib.max(self.ic)
    }

    /// Adds reports.
    pub fn report(&mut self, reports: &[Report]) {
        add_reports(&mut self.reports, reports);
    }
}

/// Adds reports to others: one of each kind for an instruction is kept, and how many there were.
pub fn add_reports(all: &mut Vec<Report>, more: &[Report]) {
    let place = |r: &Report| (r.kind, r.at.program, r.at.offset);
    for report in more {
        match all.iter_mut().find(|known| place(known) == place(report)) {
            Some(known) => known.count += report.count,
            None => all.push(report.clone()),
        }
    }
}

/// A fault of a SIMD-group: its kind, and what happened.
pub type GroupFault = (FaultKind, String);

/// The fault that ended a job. The device is lost after it.
pub type JobFault = tepui_softgpu::JobFault<Unit>;

impl tepui_softgpu::GpuUnit for Unit {
    const PROGRAM: &'static str = "shader";
    const PACKET: &'static str = "packet";
}

#[cfg(test)]
mod tests {
    use super::*;
    use tepui_check::{Family, rule};

    #[test]
    fn kinds_and_rules_are_the_same() {
        let mut names = ReportKind::ALL.map(|kind| kind.rule().expect("a rule"));
        let mut found: Vec<_> = rule::found_by(Family::Agx).collect();
        names.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, names);
    }
}
