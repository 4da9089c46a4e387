//! The media and compute pipeline: dispatch of workgroups, interface descriptors, constants.
//!
// source: genxml, gen90.xml and those that it imports.

use tepui_packets::types::{Address, Bool, Int, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

bits_enum! {
    /// Channels of a thread.
    pub enum SimdSize = "SIMD_SIZE" {
        /// SIMD8.
        #[default]
        Simd8 = 0 => "SIMD8",
        /// SIMD16.
        Simd16 = 1 => "SIMD16",
        /// SIMD32.
        Simd32 = 2 => "SIMD32",
    }
}

bits_enum! {
    /// The mode of float arithmetic.
    pub enum FloatingPointMode = "FLOATING_POINT_MODE" {
        /// IEEE-754.
        #[default]
        Ieee754 = 0 => "IEEE-754",
        /// Alternate.
        Alternate = 1 => "Alternate",
    }
}

bits_enum! {
    /// Local memory of a workgroup.
    pub enum SharedLocalMemorySize = "SHARED_LOCAL_MEMORY_SIZE" {
        /// Encodes 0K.
        #[default]
        Encodes0k = 0 => "Encodes 0K",
        /// Encodes 1K.
        Encodes1k = 1 => "Encodes 1K",
        /// Encodes 2K.
        Encodes2k = 2 => "Encodes 2K",
        /// Encodes 4K.
        Encodes4k = 3 => "Encodes 4K",
        /// Encodes 8K.
        Encodes8k = 4 => "Encodes 8K",
        /// Encodes 16K.
        Encodes16k = 5 => "Encodes 16K",
        /// Encodes 32K.
        Encodes32k = 6 => "Encodes 32K",
        /// Encodes 64K.
        Encodes64k = 7 => "Encodes 64K",
    }
}

bits_enum! {
    /// The rounding mode of floats.
    pub enum RoundingMode = "ROUNDING_MODE" {
        /// RTNE.
        #[default]
        Rtne = 0 => "RTNE",
        /// RU.
        Ru = 1 => "RU",
        /// RD.
        Rd = 2 => "RD",
        /// RTZ.
        Rtz = 3 => "RTZ",
    }
}

packet! {
    /// State of the thread dispatch of media and compute: threads, scratch memory, URB.
    pub struct MediaVfeState = "MEDIA_VFE_STATE", 36 bytes
    fixed {
        "DWord Length" Uint [0..16] = 7;
        "SubOpcode" Uint [16..24] = 0;
        "Media Command Opcode" Uint [24..27] = 0;
        "Pipeline" Uint [27..29] = 2;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Scratch memory of a thread: 1 KiB times two to the power of this.
        per_thread_scratch_space: Uint [32..36] "Per Thread Scratch Space";
        /// Stack size.
        stack_size: Uint [36..40] "Stack Size";
        /// Offset from the general state base address.
        scratch_space_base_pointer: Shr<Address, 10> [42..80] "Scratch Space Base Pointer";
        /// Dispatch load balance.
        dispatch_load_balance: Uint [98..99] "Dispatch Load Balance" since 120;
        /// Reset gateway timer.
        reset_gateway_timer: Bool [103..104] "Reset Gateway Timer" before 120;
        /// Number of URB entries.
        number_of_urb_entries: Uint [104..112] "Number of URB Entries";
        /// Threads, less one.
        maximum_number_of_threads: Uint [112..128] "Maximum Number of Threads";
        /// Slice disable.
        slice_disable: Uint [128..130] "Slice Disable" before 120;
        /// Maximum number of dual-subslices.
        maximum_number_of_dual_subslices: Uint [128..136] "Maximum Number of Dual-Subslices" since 120;
        /// CURBE allocation size.
        curbe_allocation_size: Uint [160..176] "CURBE Allocation Size";
        /// URB entry allocation size.
        urb_entry_allocation_size: Uint [176..192] "URB Entry Allocation Size";
        /// Scoreboard mask.
        scoreboard_mask: Uint [192..200] "Scoreboard Mask" before 120;
        /// Scoreboard type.
        scoreboard_type: Bool [222..223] "Scoreboard Type" before 120;
        /// Scoreboard enable.
        scoreboard_enable: Bool [223..224] "Scoreboard Enable" before 120;
        /// Scoreboard 0 delta X.
        scoreboard_0_delta_x: Int [224..228] "Scoreboard 0 Delta X" before 120;
        /// Scoreboard 0 delta Y.
        scoreboard_0_delta_y: Int [228..232] "Scoreboard 0 Delta Y" before 120;
        /// Scoreboard 1 delta X.
        scoreboard_1_delta_x: Int [232..236] "Scoreboard 1 Delta X" before 120;
        /// Scoreboard 1 delta Y.
        scoreboard_1_delta_y: Int [236..240] "Scoreboard 1 Delta Y" before 120;
        /// Scoreboard 2 delta X.
        scoreboard_2_delta_x: Int [240..244] "Scoreboard 2 Delta X" before 120;
        /// Scoreboard 2 delta Y.
        scoreboard_2_delta_y: Int [244..248] "Scoreboard 2 Delta Y" before 120;
        /// Scoreboard 3 delta X.
        scoreboard_3_delta_x: Int [248..252] "Scoreboard 3 Delta X" before 120;
        /// Scoreboard 3 delta Y.
        scoreboard_3_delta_y: Int [252..256] "Scoreboard 3 Delta Y" before 120;
        /// Scoreboard 4 delta X.
        scoreboard_4_delta_x: Int [256..260] "Scoreboard 4 Delta X" before 120;
        /// Scoreboard 4 delta Y.
        scoreboard_4_delta_y: Int [260..264] "Scoreboard 4 Delta Y" before 120;
        /// Scoreboard 5 delta X.
        scoreboard_5_delta_x: Int [264..268] "Scoreboard 5 Delta X" before 120;
        /// Scoreboard 5 delta Y.
        scoreboard_5_delta_y: Int [268..272] "Scoreboard 5 Delta Y" before 120;
        /// Scoreboard 6 delta X.
        scoreboard_6_delta_x: Int [272..276] "Scoreboard 6 Delta X" before 120;
        /// Scoreboard 6 delta Y.
        scoreboard_6_delta_y: Int [276..280] "Scoreboard 6 Delta Y" before 120;
        /// Scoreboard 7 delta X.
        scoreboard_7_delta_x: Int [280..284] "Scoreboard 7 Delta X" before 120;
        /// Scoreboard 7 delta Y.
        scoreboard_7_delta_y: Int [284..288] "Scoreboard 7 Delta Y" before 120;
    }
}

packet! {
    /// Loads constants (CURBE) for the threads of later walkers.
    pub struct MediaCurbeLoad = "MEDIA_CURBE_LOAD", 16 bytes
    fixed {
        "DWord Length" Uint [0..16] = 2;
        "SubOpcode" Uint [16..24] = 1;
        "Media Command Opcode" Uint [24..27] = 0;
        "Pipeline" Uint [27..29] = 2;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Bytes.
        curbe_total_data_length: Uint [64..81] "CURBE Total Data Length";
        /// Offset from the dynamic state base address.
        curbe_data_start_address: Uint [96..128] "CURBE Data Start Address";
    }
}

packet! {
    /// Loads interface descriptors for later walkers.
    pub struct MediaInterfaceDescriptorLoad = "MEDIA_INTERFACE_DESCRIPTOR_LOAD", 16 bytes
    fixed {
        "DWord Length" Uint [0..16] = 2;
        "SubOpcode" Uint [16..24] = 2;
        "Media Command Opcode" Uint [24..27] = 0;
        "Pipeline" Uint [27..29] = 2;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Bytes.
        interface_descriptor_total_length: Uint [64..81] "Interface Descriptor Total Length";
        /// Offset from the dynamic state base address.
        interface_descriptor_data_start_address: Address [96..128] "Interface Descriptor Data Start Address";
    }
}

packet! {
    /// Waits until the threads of earlier walkers have read their state.
    pub struct MediaStateFlush = "MEDIA_STATE_FLUSH", 8 bytes
    fixed {
        "DWord Length" Uint [0..16] = 0;
        "SubOpcode" Uint [16..24] = 4;
        "Media Command Opcode" Uint [24..27] = 0;
        "Pipeline" Uint [27..29] = 2;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Interface descriptor offset.
        interface_descriptor_offset: Uint [32..38] "Interface Descriptor Offset";
        /// Watermark required.
        watermark_required: Bool [38..39] "Watermark Required" before 120;
        /// Flush to GO.
        flush_to_go: Bool [39..40] "Flush to GO";
    }
}

packet! {
    /// A dispatch of workgroups.
    pub struct GpgpuWalker = "GPGPU_WALKER", 60 bytes
    fixed {
        "DWord Length" Uint [0..8] = 13;
        "SubOpcode" Uint [16..24] = 5;
        "Media Command Opcode" Uint [24..27] = 1;
        "Pipeline" Uint [27..29] = 2;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Executes only if the predicate is set.
        predicate_enable: Bool [8..9] "Predicate Enable";
        /// The counts of workgroups come from registers.
        indirect_parameter_enable: Bool [10..11] "Indirect Parameter Enable";
        /// Interface descriptor offset.
        interface_descriptor_offset: Uint [32..38] "Interface Descriptor Offset";
        /// Indirect data length.
        indirect_data_length: Uint [64..81] "Indirect Data Length";
        /// Indirect data start address.
        indirect_data_start_address: Shr<Address, 6> [102..128] "Indirect Data Start Address";
        /// Threads of a workgroup in x, less one.
        thread_width_counter_maximum: Uint [128..134] "Thread Width Counter Maximum";
        /// Threads of a workgroup in y, less one.
        thread_height_counter_maximum: Uint [136..142] "Thread Height Counter Maximum";
        /// Threads of a workgroup in z, less one.
        thread_depth_counter_maximum: Uint [144..150] "Thread Depth Counter Maximum";
        /// Channels of a thread.
        simd_size: SimdSize [158..160] "SIMD Size";
        /// Thread group ID starting X.
        thread_group_id_starting_x: Uint [160..192] "Thread Group ID Starting X";
        /// Thread group ID X dimension.
        thread_group_id_x_dimension: Uint [224..256] "Thread Group ID X Dimension";
        /// Thread group ID starting Y.
        thread_group_id_starting_y: Uint [256..288] "Thread Group ID Starting Y";
        /// Thread group ID Y dimension.
        thread_group_id_y_dimension: Uint [320..352] "Thread Group ID Y Dimension";
        /// Thread group ID starting/resume Z.
        thread_group_id_starting_resume_z: Uint [352..384] "Thread Group ID Starting/Resume Z";
        /// Thread group ID Z dimension.
        thread_group_id_z_dimension: Uint [384..416] "Thread Group ID Z Dimension";
        /// Channels of the last thread of a row.
        right_execution_mask: Uint [416..448] "Right Execution Mask";
        /// Channels of the threads of the last row.
        bottom_execution_mask: Uint [448..480] "Bottom Execution Mask";
    }
}

packet! {
    /// A kernel and its resources: code, samplers, binding table, constants, local memory, barrier.
    pub struct InterfaceDescriptorData = "INTERFACE_DESCRIPTOR_DATA", 32 bytes
    fields {
        /// Offset of the code from the instruction base address.
        kernel_start_pointer: Shr<Address, 6> [6..48] "Kernel Start Pointer";
        /// Software exception enable.
        software_exception_enable: Bool [71..72] "Software Exception Enable";
        /// Mask stack exception enable.
        mask_stack_exception_enable: Bool [75..76] "Mask Stack Exception Enable";
        /// Illegal opcode exception enable.
        illegal_opcode_exception_enable: Bool [77..78] "Illegal Opcode Exception Enable";
        /// The mode of float arithmetic.
        floating_point_mode: FloatingPointMode [80..81] "Floating Point Mode";
        /// Thread priority.
        thread_priority: Bool [81..82] "Thread Priority";
        /// Single program flow.
        single_program_flow: Bool [82..83] "Single Program Flow";
        /// Denorm mode.
        denorm_mode: Bool [83..84] "Denorm Mode";
        /// Thread preemption disable.
        thread_preemption_disable: Bool [84..85] "Thread Preemption Disable" since 120;
        /// Sampler count.
        sampler_count: Uint [98..101] "Sampler Count";
        /// Offset of the samplers from the dynamic state base address.
        sampler_state_pointer: Shr<Address, 5> [101..128] "Sampler State Pointer";
        /// Binding table entry count.
        binding_table_entry_count: Uint [128..133] "Binding Table Entry Count";
        /// Offset of the binding table from the surface state base address.
        binding_table_pointer: Shr<Address, 5> [133..144] "Binding Table Pointer";
        /// Constant URB entry read offset.
        constant_urb_entry_read_offset: Uint [160..176] "Constant URB Entry Read Offset";
        /// Registers of constants for each thread of its own.
        constant_urb_entry_read_length: Uint [176..192] "Constant URB Entry Read Length";
        /// Threads of a workgroup.
        number_of_threads_in_gpgpu_thread_group: Uint [192..202] "Number of Threads in GPGPU Thread Group";
        /// Global barrier enable.
        global_barrier_enable: Bool [207..208] "Global Barrier Enable";
        /// Local memory of a workgroup.
        shared_local_memory_size: SharedLocalMemorySize [208..213] "Shared Local Memory Size";
        /// Barrier enable.
        barrier_enable: Bool [213..214] "Barrier Enable";
        /// The rounding mode of floats.
        rounding_mode: RoundingMode [214..216] "Rounding Mode";
        /// Number of registers of constants that all threads of a group share.
        cross_thread_constant_data_read_length: Uint [224..232] "Cross-Thread Constant Data Read Length";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    MediaVfeState::INFO,
    MediaCurbeLoad::INFO,
    MediaInterfaceDescriptorLoad::INFO,
    MediaStateFlush::INFO,
    GpgpuWalker::INFO,
    InterfaceDescriptorData::INFO,
];
