//! Methods of the user client, and the structures of their arguments and results.
//!
// source: agx_iokit.h

use tepui_packets::types::{Address, Array, Hex, Hex64, Uint, Uint64};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

bits_enum! {
    /// The known methods of the user client.
    pub enum Selector = "Selector" {
        /// An unknown method.
        #[default]
        Unknown = 0 => "unknown",
        /// Allocates ids for encoders and commands.
        GetGlobalIds = 0x6 => "GET_GLOBAL_IDS",
        /// Sets the name of the API that the program uses. Metal's first call.
        SetApi = 0x7 => "SET_API",
        /// Creates a command queue.
        CreateCommandQueue = 0x8 => "CREATE_COMMAND_QUEUE",
        /// Frees a command queue.
        FreeCommandQueue = 0x9 => "FREE_COMMAND_QUEUE",
        /// Allocates memory that is mapped on GPU and CPU.
        AllocateMem = 0xa => "ALLOCATE_MEM",
        /// Frees memory.
        FreeMem = 0xb => "FREE_MEM",
        /// Creates memory that kernel and program share: command buffers and lists of resources.
        CreateShmem = 0xf => "CREATE_SHMEM",
        /// Frees shared memory.
        FreeShmem = 0x10 => "FREE_SHMEM",
        /// Creates a queue that receives notifications of completed commands.
        CreateNotificationQueue = 0x11 => "CREATE_NOTIFICATION_QUEUE",
        /// Frees a notification queue.
        FreeNotificationQueue = 0x12 => "FREE_NOTIFICATION_QUEUE",
        /// Submits command buffers.
        SubmitCommandBuffers = 0x1e => "SUBMIT_COMMAND_BUFFERS",
        /// Returns the version of the interface.
        GetVersion = 0x23 => "GET_VERSION",
    }
}

/// Set in [`AllocateRequest::mode`] for a suballocation of another allocation.
pub const MODE_SUBALLOCATED: u32 = 0x800;

/// The kind of memory that [`AllocateRequest::flags`] requests, if it is known.
pub fn memory_kind(flags: u32) -> Option<&'static str> {
    Some(match flags {
        0x0000_0000 => "normal",
        0x0800_0000 => "unknown",
        0x1800_0000 => "command buffers, 64-bit addresses",
        0x4800_0000 => "shaders, 32-bit addresses",
        0x5800_0000 => "command buffers, 32-bit addresses",
        0x0088_8f00 => "framebuffer",
        _ => return None,
    })
}

packet! {
    /// The argument of ALLOCATE_MEM.
    pub struct AllocateRequest = "Allocation request", 96 bytes
    fields {
        /// Unknown.
        unk_0: Array<Hex, 5, 32, 32> [0..160] "Unk 0";
        /// Mode; see [`MODE_SUBALLOCATED`].
        mode: Hex [160..192] "Mode";
        /// Unknown.
        unk_6: Array<Hex, 6, 32, 32> [192..384] "Unk 6";
        /// Requested CPU address, 0 for any.
        cpu_fixed: Address [384..448] "CPU fixed";
        /// CPU address of the parent.
        cpu_fixed_parent: Address [448..512] "CPU fixed (parent)";
        /// Size in bytes.
        size: Uint [512..544] "Size";
        /// Unknown.
        unk_17: Hex [544..576] "Unk 17";
        /// Handle of the parent allocation.
        parent: Uint [576..608] "Parent";
        /// Unknown.
        unk_19: Hex [608..640] "Unk 19";
        /// Kind of memory; see [`memory_kind`].
        flags: Hex [640..672] "Flags";
        /// Unknown.
        unk_21: Array<Hex, 3, 32, 32> [672..768] "Unk 21";
    }
}

packet! {
    /// The result of ALLOCATE_MEM.
    pub struct AllocateResponse = "Allocation response", 80 bytes
    fields {
        /// GPU address.
        gpu_va: Address [0..64] "GPU VA";
        /// CPU address.
        cpu: Address [64..128] "CPU VA";
        /// Unknown.
        unk_4: Array<Hex, 3, 32, 32> [128..224] "Unk 4";
        /// Handle, as lists of resources name it.
        handle: Uint [224..256] "Handle";
        /// Size of the parent allocation, or its own without a parent.
        root_size: Uint64 [256..320] "Root size";
        /// System-wide id of the memory.
        guid: Hex [320..352] "GUID";
        /// Unknown.
        unk_11: Array<Hex, 7, 32, 32> [352..576] "Unk 11";
        /// Bytes from here to the end of the parent allocation.
        sub_size: Uint64 [576..640] "Suballocation size";
    }
}

packet! {
    /// The result of CREATE_SHMEM.
    pub struct ShmemResponse = "Shared memory response", 16 bytes
    fields {
        /// CPU address.
        map: Address [0..64] "Map";
        /// Size in bytes.
        size: Uint [64..96] "Size";
        /// Its id.
        id: Uint [96..128] "ID";
    }
}

packet! {
    /// The result of CREATE_COMMAND_QUEUE.
    pub struct CommandQueueResponse = "Command queue response", 16 bytes
    fields {
        /// Its id.
        id: Uint64 [0..64] "ID";
        /// Unknown.
        unk_2: Hex [64..96] "Unk 2";
        /// Unknown.
        unk_3: Hex [96..128] "Unk 3";
    }
}

packet! {
    /// The result of CREATE_NOTIFICATION_QUEUE.
    pub struct NotificationQueueResponse = "Notification queue response", 16 bytes
    fields {
        /// CPU address of the queue.
        queue: Address [0..64] "Queue";
        /// Unknown; seen 1.
        unk_2: Hex [64..96] "Unk 2";
        /// Unknown.
        unk_3: Hex [96..128] "Unk 3";
    }
}

packet! {
    /// The start of the argument of SUBMIT_COMMAND_BUFFERS; `count` [`SubmitCommand`]s follow.
    pub struct SubmitHeader = "Submission header", 8 bytes
    fields {
        /// Unknown.
        unk_0: Hex [0..32] "Unk 0";
        /// Number of command buffers.
        count: Uint [32..64] "Count";
    }
}

packet! {
    /// A command buffer of a submission.
    pub struct SubmitCommand = "Submitted command", 40 bytes
    fields {
        /// Shared memory that holds the command buffer.
        command_buffer_shmem_id: Uint [0..32] "Command buffer shmem ID";
        /// Shared memory that holds the list of resources.
        segment_list_shmem_id: Uint [32..64] "Segment list shmem ID";
        /// Unknown; new in macOS 12.
        unk_1b: Hex64 [64..128] "Unk 1B";
        /// Unknown; comes back in the notification.
        notify_1: Hex64 [128..192] "Notify 1";
        /// Unknown; comes back in the notification.
        notify_2: Hex64 [192..256] "Notify 2";
        /// Unknown.
        unk_2: Hex [256..288] "Unk 2";
        /// Unknown.
        unk_3: Hex [288..320] "Unk 3";
    }
}

packet! {
    /// The start of a list of resources; `resource_group_count` [`ResourceGroup`]s follow.
    pub struct SegmentList = "Segment list", 48 bytes
    fields {
        /// Id of the command buffer.
        cmdbuf_id: Hex64 [0..64] "Command buffer ID";
        /// Number of segments.
        segment_count: Uint [64..96] "Segment count";
        /// Length of the list.
        length: Uint [96..112] "Length";
        /// Unknown; seen 0x8000.
        unk: Hex [112..128] "Unk";
        /// Id of the encoder.
        encoder_id: Hex64 [128..192] "Encoder ID";
        /// Offset of the start of the kernel's commands in the command buffer.
        kernel_commands_start_offset: Uint [192..224] "Kernel commands start offset";
        /// Offset of the end of the kernel's commands in the command buffer.
        kernel_commands_end_offset: Uint [224..256] "Kernel commands end offset";
        /// Number of resources.
        total_resources: Uint [320..352] "Total resources";
        /// Number of groups of resources.
        resource_group_count: Uint [352..384] "Resource group count";
    }
}

packet! {
    /// Up to six resources of a list.
    pub struct ResourceGroup = "Resource group", 64 bytes
    fields {
        /// Handles.
        resource_id: Array<Uint, 6, 32, 32> [0..192] "Resource ID";
        /// Unknown.
        resource_unk: Array<Hex, 6, 32, 32> [192..384] "Resource unk";
        /// Flags of unknown meaning.
        resource_flags: Array<Hex, 6, 16, 16> [384..480] "Resource flags";
        /// Unknown; seen 0xffff.
        unk_a: Hex [480..496] "Unk A";
        /// Number of the six that are used.
        resource_count: Uint [496..512] "Resource count";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    AllocateRequest::INFO,
    AllocateResponse::INFO,
    ShmemResponse::INFO,
    CommandQueueResponse::INFO,
    NotificationQueueResponse::INFO,
    SubmitHeader::INFO,
    SubmitCommand::INFO,
    SegmentList::INFO,
    ResourceGroup::INFO,
];
