//! Methods of the user client and the structures that they take and give.
//!
// source: agx_iokit.h

use tepui_packets::types::{Address, Array, Hex, Hex64, Uint, Uint64};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

bits_enum! {
    /// A method of the user client, as far as they are known.
    pub enum Selector = "Selector" {
        /// No method is known by this number.
        #[default]
        Unknown = 0 => "unknown",
        /// Numbers for encoders and commands.
        GetGlobalIds = 0x6 => "GET_GLOBAL_IDS",
        /// Says which API the program uses, as text. The first call of Metal.
        SetApi = 0x7 => "SET_API",
        /// A new command queue.
        CreateCommandQueue = 0x8 => "CREATE_COMMAND_QUEUE",
        /// Frees a command queue.
        FreeCommandQueue = 0x9 => "FREE_COMMAND_QUEUE",
        /// Memory that GPU and CPU see.
        AllocateMem = 0xa => "ALLOCATE_MEM",
        /// Frees memory.
        FreeMem = 0xb => "FREE_MEM",
        /// Memory that kernel and program share: command buffers and lists of resources.
        CreateShmem = 0xf => "CREATE_SHMEM",
        /// Frees shared memory.
        FreeShmem = 0x10 => "FREE_SHMEM",
        /// A queue on which ends of commands are announced.
        CreateNotificationQueue = 0x11 => "CREATE_NOTIFICATION_QUEUE",
        /// Frees a notification queue.
        FreeNotificationQueue = 0x12 => "FREE_NOTIFICATION_QUEUE",
        /// Submits command buffers.
        SubmitCommandBuffers = 0x1e => "SUBMIT_COMMAND_BUFFERS",
        /// Version of the interface.
        GetVersion = 0x23 => "GET_VERSION",
    }
}

/// Set in [`AllocateRequest::mode`] for a piece of another allocation.
pub const MODE_SUBALLOCATED: u32 = 0x800;

/// The kind of memory that [`AllocateRequest::flags`] asks for, as far as it is understood.
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
    /// What ALLOCATE_MEM asks for.
    pub struct AllocateRequest = "Allocation request", 96 bytes
    fields {
        /// Unknown.
        unk_0: Array<Hex, 5, 32, 32> [0..160] "Unk 0";
        /// How; see [`MODE_SUBALLOCATED`].
        mode: Hex [160..192] "Mode";
        /// Unknown.
        unk_6: Array<Hex, 6, 32, 32> [192..384] "Unk 6";
        /// CPU address that the memory is to have, 0 for any.
        cpu_fixed: Address [384..448] "CPU fixed";
        /// CPU address of the parent.
        cpu_fixed_parent: Address [448..512] "CPU fixed (parent)";
        /// Size in bytes.
        size: Uint [512..544] "Size";
        /// Unknown.
        unk_17: Hex [544..576] "Unk 17";
        /// Handle of the allocation that this is a piece of.
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
    /// What ALLOCATE_MEM gives.
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
        /// Size of the allocation that this is a piece of; its own if it is none.
        root_size: Uint64 [256..320] "Root size";
        /// A number that names the memory in the whole system.
        guid: Hex [320..352] "GUID";
        /// Unknown.
        unk_11: Array<Hex, 7, 32, 32> [352..576] "Unk 11";
        /// Bytes from here to the end of the allocation that this is a piece of.
        sub_size: Uint64 [576..640] "Suballocation size";
    }
}

packet! {
    /// What CREATE_SHMEM gives.
    pub struct ShmemResponse = "Shared memory response", 16 bytes
    fields {
        /// CPU address.
        map: Address [0..64] "Map";
        /// Size in bytes.
        size: Uint [64..96] "Size";
        /// Its number.
        id: Uint [96..128] "ID";
    }
}

packet! {
    /// What CREATE_COMMAND_QUEUE gives.
    pub struct CommandQueueResponse = "Command queue response", 16 bytes
    fields {
        /// Its number.
        id: Uint64 [0..64] "ID";
        /// Unknown.
        unk_2: Hex [64..96] "Unk 2";
        /// Unknown.
        unk_3: Hex [96..128] "Unk 3";
    }
}

packet! {
    /// What CREATE_NOTIFICATION_QUEUE gives.
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
    /// The start of what SUBMIT_COMMAND_BUFFERS takes; `count` [`SubmitCommand`]s follow.
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
        /// Number of the command buffer.
        cmdbuf_id: Hex64 [0..64] "Command buffer ID";
        /// Number of segments.
        segment_count: Uint [64..96] "Segment count";
        /// Length of the list.
        length: Uint [96..112] "Length";
        /// Unknown; seen 0x8000.
        unk: Hex [112..128] "Unk";
        /// Number of the encoder.
        encoder_id: Hex64 [128..192] "Encoder ID";
        /// Where the kernel's commands start in the command buffer.
        kernel_commands_start_offset: Uint [192..224] "Kernel commands start offset";
        /// Where the kernel's commands end in the command buffer.
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
        /// How many of the six are used.
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
