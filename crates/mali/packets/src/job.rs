//! Jobs of GPUs with a job manager (v7, v9): a header of 32 bytes, followed by the payload of the job's type.
//!
// source: Mesa, src/panfrost/lib/genxml/v9.xml.

use tepui_packets::types::{Address, Bool, Hex64, Minus, Nested, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

use crate::cs::TaskAxis;
use crate::shader::ShaderEnvironment;

bits_enum! {
    /// The type of a job.
    pub enum JobType = "Job Type" {
        /// Not started.
        #[default]
        NotStarted = 0 => "Not started",
        /// Null.
        Null = 1 => "Null",
        /// Write value.
        WriteValue = 2 => "Write value",
        /// Cache flush.
        CacheFlush = 3 => "Cache flush",
        /// Compute.
        Compute = 4 => "Compute",
        /// Vertex (v7).
        Vertex = 5 => "Vertex",
        /// Tiler.
        Tiler = 7 => "Tiler",
        /// Fragment.
        Fragment = 9 => "Fragment",
        /// Indexed vertex.
        IndexedVertex = 10 => "Indexed vertex",
        /// Malloc vertex.
        MallocVertex = 11 => "Malloc vertex",
    }
}

bits_enum! {
    /// The value that a job writes.
    pub enum WriteValueType = "Write Value Type" {
        /// Cycle Counter.
        #[default]
        CycleCounter = 1 => "Cycle Counter",
        /// System Timestamp.
        SystemTimestamp = 2 => "System Timestamp",
        /// Zero.
        Zero = 3 => "Zero",
        /// Immediate 8.
        Immediate8 = 4 => "Immediate 8",
        /// Immediate 16.
        Immediate16 = 5 => "Immediate 16",
        /// Immediate 32.
        Immediate32 = 6 => "Immediate 32",
        /// Immediate 64.
        Immediate64 = 7 => "Immediate 64",
    }
}

packet! {
    /// The beginning of every job.
    pub struct JobHeader = "Job Header", 32 bytes
    fields {
        /// Exception Status: what the hardware writes at the end.
        exception_status: Uint [0..32] "Exception Status";
        /// First Incomplete Task.
        first_incomplete_task: Uint [32..64] "First Incomplete Task";
        /// Fault Pointer.
        fault_pointer: Address [64..128] "Fault Pointer";
        /// The descriptor has 64 bits; the genxml leaves it out.
        is_64_bit: Bool [128..129] "Is 64b";
        /// Type.
        job_type: JobType [129..136] "Type";
        /// Barrier.
        barrier: Bool [136..137] "Barrier";
        /// Invalidate Cache (v7).
        invalidate_cache: Bool [137..138] "Invalidate Cache";
        /// Suppress Prefetch.
        suppress_prefetch: Bool [139..140] "Suppress Prefetch";
        /// Enable Texture Mapper (v7).
        enable_texture_mapper: Bool [140..141] "Enable Texture Mapper";
        /// Relax Dependency 1.
        relax_dependency_1: Bool [142..143] "Relax Dependency 1";
        /// Relax Dependency 2.
        relax_dependency_2: Bool [143..144] "Relax Dependency 2";
        /// Index.
        index: Uint [144..160] "Index";
        /// Dependency 1.
        dependency_1: Uint [160..176] "Dependency 1";
        /// Dependency 2.
        dependency_2: Uint [176..192] "Dependency 2";
        /// Next.
        next: Address [192..256] "Next";
    }
}

packet! {
    /// Write Value Job Payload.
    pub struct WriteValueJobPayload = "Write Value Job Payload", 24 bytes
    fields {
        /// Address.
        address: Address [0..64] "Address";
        /// Type.
        kind: WriteValueType [64..96] "Type";
        /// Immediate Value.
        immediate_value: Hex64 [128..192] "Immediate Value";
    }
}

packet! {
    /// Cache Flush Job Payload.
    pub struct CacheFlushJobPayload = "Cache Flush Job Payload", 8 bytes
    fields {
        /// Clean Shader Core LS.
        clean_shader_core_ls: Bool [0..1] "Clean Shader Core LS";
        /// Invalidate Shader Core LS.
        invalidate_shader_core_ls: Bool [1..2] "Invalidate Shader Core LS";
        /// Invalidate Shader Core Other.
        invalidate_shader_core_other: Bool [2..3] "Invalidate Shader Core Other";
        /// Job Manager Clean.
        job_manager_clean: Bool [16..17] "Job Manager Clean";
        /// Job Manager Invalidate.
        job_manager_invalidate: Bool [17..18] "Job Manager Invalidate";
        /// Tiler Clean.
        tiler_clean: Bool [24..25] "Tiler Clean";
        /// Tiler Invalidate.
        tiler_invalidate: Bool [25..26] "Tiler Invalidate";
        /// L2 Clean.
        l2_clean: Bool [32..33] "L2 Clean";
        /// L2 Invalidate.
        l2_invalidate: Bool [33..34] "L2 Invalidate";
    }
}

packet! {
    /// Compute Payload.
    pub struct ComputePayload = "Compute Payload", 96 bytes
    fields {
        /// Workgroup size X.
        workgroup_size_x: Minus<Uint, 1> [0..10] "Workgroup size X";
        /// Workgroup size Y.
        workgroup_size_y: Minus<Uint, 1> [10..20] "Workgroup size Y";
        /// Workgroup size Z.
        workgroup_size_z: Minus<Uint, 1> [20..30] "Workgroup size Z";
        /// Allow merging workgroups.
        allow_merging_workgroups: Bool [31..32] "Allow merging workgroups";
        /// Task increment.
        task_increment: Uint [32..46] "Task increment" = 1;
        /// Task axis.
        task_axis: TaskAxis [46..48] "Task axis";
        /// Workgroup count X.
        workgroup_count_x: Uint [64..96] "Workgroup count X";
        /// Workgroup count Y.
        workgroup_count_y: Uint [96..128] "Workgroup count Y";
        /// Workgroup count Z.
        workgroup_count_z: Uint [128..160] "Workgroup count Z";
        /// Offset X.
        offset_x: Uint [160..192] "Offset X";
        /// Offset Y.
        offset_y: Uint [192..224] "Offset Y";
        /// Offset Z.
        offset_z: Uint [224..256] "Offset Z";
        /// Compute.
        compute: Nested<ShaderEnvironment> [256..768] "Compute";
    }
}

packet! {
    /// Allocation.
    pub struct Allocation = "Allocation", 4 bytes
    fields {
        /// Vertex packet stride.
        vertex_packet_stride: Uint [0..16] "Vertex packet stride";
        /// Vertex attribute stride.
        vertex_attribute_stride: Uint [16..32] "Vertex attribute stride";
    }
}

/// Bytes from the beginning of a job that allocates its vertices to its parts.
// source: v9.xml, "Malloc Vertex Job"
pub mod valhall {
    /// The primitive.
    pub const PRIMITIVE: u64 = 32;
    /// The number of instances.
    pub const INSTANCES: u64 = 48;
    /// The allocation.
    pub const ALLOCATION: u64 = 52;
    /// The address of the tiler context.
    pub const TILER: u64 = 56;
    /// The scissor.
    pub const SCISSOR: u64 = 104;
    /// The size of points and lines.
    pub const SIZE: u64 = 112;
    /// The address of indices.
    pub const INDICES: u64 = 120;
    /// The draw descriptor.
    pub const DRAW: u64 = 128;
    /// The environment of the position shader.
    pub const POSITION: u64 = 256;
    /// The environment of the varying shader.
    pub const VARYING: u64 = 320;
}

/// Bytes from the beginning of a job of Bifrost to its parts.
// source: v7.xml, "Indexed Vertex Job", "Tiler Job", "Compute Job"
pub mod bifrost {
    /// The invocation.
    pub const INVOCATION: u64 = 32;
    /// The primitive.
    pub const PRIMITIVE: u64 = 40;
    /// The size of points and lines, or the address of sizes.
    pub const SIZE: u64 = 64;
    /// The address of the tiler context.
    pub const TILER: u64 = 72;
    /// The draw of fragments.
    pub const FRAGMENT_DRAW: u64 = 128;
    /// The draw of vertices.
    pub const VERTEX_DRAW: u64 = 256;
    /// The draw of a vertex or compute job.
    pub const COMPUTE_DRAW: u64 = 64;
}

/// Bytes from the beginning of a job of Midgard to its parts, which are elsewhere than Bifrost's.
// source: v5.xml, "Tiler Job"
pub mod midgard {
    /// The draw of fragments.
    pub const FRAGMENT_DRAW: u64 = 64;
    /// The size of points and lines, or the address of sizes; the last field of the draw.
    pub const SIZE: u64 = 184;
}

/// The reflection tables of this module.
pub static ALL: &[&PacketInfo] = &[
    JobHeader::INFO,
    WriteValueJobPayload::INFO,
    CacheFlushJobPayload::INFO,
    ComputePayload::INFO,
    Allocation::INFO,
];
