//! The memory interface: commands that every engine has, for control of the command stream, registers
//! and memory.
//!
// source: genxml, gen90.xml and those that it imports; "MMIO Remap Enable", which genxml lacks: Intel's compute runtime,
// hw_cmds_generated_gen12lp.inl.

use tepui_packets::types::{Address, Bool, Hex, Hex64, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

bits_enum! {
    /// The comparison of MI_PREDICATE.
    pub enum PredicateCompare = "PREDICATE_COMPARE" {
        /// TRUE.
        #[default]
        True = 0 => "TRUE",
        /// FALSE.
        False = 1 => "FALSE",
        /// SRCS EQUAL.
        SrcsEqual = 2 => "SRCS_EQUAL",
        /// DELTAS EQUAL.
        DeltasEqual = 3 => "DELTAS_EQUAL",
    }
}

bits_enum! {
    /// The combination of the comparison with the old predicate.
    pub enum PredicateCombine = "PREDICATE_COMBINE" {
        /// SET.
        #[default]
        Set = 0 => "SET",
        /// AND.
        And = 1 => "AND",
        /// OR.
        Or = 2 => "OR",
        /// XOR.
        Xor = 3 => "XOR",
    }
}

bits_enum! {
    /// The effect on the predicate.
    pub enum PredicateLoad = "PREDICATE_LOAD" {
        /// KEEP.
        #[default]
        Keep = 0 => "KEEP",
        /// LOAD.
        Load = 2 => "LOAD",
        /// LOADINV.
        Loadinv = 3 => "LOADINV",
    }
}

bits_enum! {
    /// The comparison of MI_SEMAPHORE_WAIT: SAD is the value in memory, SDD the command's.
    pub enum SemaphoreCompare = "SEMAPHORE_COMPARE" {
        /// SAD GREATER THAN SDD.
        #[default]
        SadGreaterThanSdd = 0 => "SAD_GREATER_THAN_SDD",
        /// SAD GREATER THAN OR EQUAL SDD.
        SadGreaterThanOrEqualSdd = 1 => "SAD_GREATER_THAN_OR_EQUAL_SDD",
        /// SAD LESS THAN SDD.
        SadLessThanSdd = 2 => "SAD_LESS_THAN_SDD",
        /// SAD LESS THAN OR EQUAL SDD.
        SadLessThanOrEqualSdd = 3 => "SAD_LESS_THAN_OR_EQUAL_SDD",
        /// SAD EQUAL SDD.
        SadEqualSdd = 4 => "SAD_EQUAL_SDD",
        /// SAD NOT EQUAL SDD.
        SadNotEqualSdd = 5 => "SAD_NOT_EQUAL_SDD",
    }
}

packet! {
    /// Does nothing.
    pub struct MiNoop = "MI_NOOP", 4 bytes
    fixed {
        "MI Command Opcode" Uint [23..29] = 0;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Identification number.
        identification_number: Uint [0..22] "Identification Number";
        /// Identification number register write enable.
        identification_number_register_write_enable: Bool [22..23] "Identification Number Register Write Enable";
    }
}

packet! {
    /// Makes later commands execute by a predicate.
    pub struct MiSetPredicate = "MI_SET_PREDICATE", 4 bytes
    fixed {
        "MI Command Opcode" Uint [23..29] = 1;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Executes only if the predicate is set.
        predicate_enable: Uint [0..4] "Predicate Enable";
    }
}

packet! {
    /// Interrupts the CPU.
    pub struct MiUserInterrupt = "MI_USER_INTERRUPT", 4 bytes
    fixed {
        "MI Command Opcode" Uint [23..29] = 2;
        "Command Type" Uint [29..32] = 0;
    }
}

packet! {
    /// A place where the context may be switched.
    pub struct MiArbCheck = "MI_ARB_CHECK", 4 bytes
    fixed {
        "MI Command Opcode" Uint [23..29] = 5;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Pre-Parser disable.
        pre_parser_disable: Bool [0..1] "Pre-Parser Disable" since 120;
        /// Pre-Parser disable mask.
        pre_parser_disable_mask: Bool [8..9] "Pre-Parser Disable Mask" since 120;
    }
}

packet! {
    /// Starts or stops the resource streamer.
    pub struct MiRsControl = "MI_RS_CONTROL", 4 bytes
    fixed {
        "MI Command Opcode" Uint [23..29] = 6;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Resource streamer control.
        resource_streamer_control: Bool [0..1] "Resource Streamer Control";
    }
}

packet! {
    /// Allows or forbids switches of contexts.
    pub struct MiArbOnOff = "MI_ARB_ON_OFF", 4 bytes
    fixed {
        "MI Command Opcode" Uint [23..29] = 8;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Arbitration enable.
        arbitration_enable: Bool [0..1] "Arbitration Enable";
        /// Allow lite restore.
        allow_lite_restore: Bool [1..2] "Allow Lite Restore" since 120;
    }
}

packet! {
    /// The end of a batch: back to the one that started it, or to the kernel.
    pub struct MiBatchBufferEnd = "MI_BATCH_BUFFER_END", 4 bytes
    fixed {
        "MI Command Opcode" Uint [23..29] = 10;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// End context.
        end_context: Bool [0..1] "End Context" since 120;
    }
}

packet! {
    /// Suspends flushes.
    pub struct MiSuspendFlush = "MI_SUSPEND_FLUSH", 4 bytes
    fixed {
        "MI Command Opcode" Uint [23..29] = 11;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Suspend flush.
        suspend_flush: Bool [0..1] "Suspend Flush";
    }
}

packet! {
    /// Sets the predicate that later commands may look at.
    pub struct MiPredicate = "MI_PREDICATE", 4 bytes
    fixed {
        "MI Command Opcode" Uint [23..29] = 12;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// The comparison of MI_PREDICATE.
        compare_operation: PredicateCompare [0..2] "Compare Operation";
        /// The combination of the comparison with the old predicate.
        combine_operation: PredicateCombine [3..5] "Combine Operation";
        /// The effect on the predicate.
        load_operation: PredicateLoad [6..8] "Load Operation";
    }
}

packet! {
    /// Draws only primitives of one topology.
    pub struct MiTopologyFilter = "MI_TOPOLOGY_FILTER", 4 bytes
    fixed {
        "MI Command Opcode" Uint [23..29] = 13;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Topology filter value.
        topology_filter_value: Uint [0..6] "Topology Filter Value";
    }
}

packet! {
    /// Switches contexts on old kernels.
    pub struct MiSetContext = "MI_SET_CONTEXT", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "MI Command Opcode" Uint [23..29] = 24;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Restore inhibit.
        restore_inhibit: Bool [32..33] "Restore Inhibit";
        /// Force restore.
        force_restore: Bool [33..34] "Force Restore";
        /// Resource streamer state restore enable.
        resource_streamer_state_restore_enable: Bool [34..35] "Resource Streamer State Restore Enable";
        /// Resource streamer state save enable.
        resource_streamer_state_save_enable: Bool [35..36] "Resource Streamer State Save Enable";
        /// Core mode enable.
        core_mode_enable: Bool [36..37] "Core Mode Enable";
        /// Reserved, must be 1.
        reserved_must_be_1: Bool [40..41] "Reserved, Must be 1";
        /// Logical context address.
        logical_context_address: Shr<Address, 12> [44..64] "Logical Context Address";
    }
}

packet! {
    /// Computes with the command streamer's general registers; instructions follow.
    pub struct MiMath = "MI_MATH", 4 bytes
    fixed {
        "MI Command Opcode" Uint [23..29] = 26;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Double words of the command, without the first two.
        dword_length: Uint [0..8] "DWord Length";
    }
}

packet! {
    /// An instruction of MI_MATH.
    pub struct MiMathAluInstruction = "MI_MATH_ALU_INSTRUCTION", 4 bytes
    fields {
        /// Operand 2.
        operand_2: Hex [0..10] "Operand 2";
        /// Operand 1.
        operand_1: Hex [10..20] "Operand 1";
        /// ALU opcode.
        alu_opcode: Hex [20..32] "ALU Opcode";
    }
}

packet! {
    /// Signals another engine.
    pub struct MiSemaphoreSignal = "MI_SEMAPHORE_SIGNAL", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "MI Command Opcode" Uint [23..29] = 27;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Target engine select.
        target_engine_select: Uint [15..19] "Target Engine Select";
        /// Post-sync operation.
        post_sync_operation: Bool [21..22] "Post-Sync Operation";
        /// Target context ID.
        target_context_id: Uint [32..64] "Target Context ID";
    }
}

packet! {
    /// Waits until a value in memory compares as asked.
    pub struct MiSemaphoreWait = "MI_SEMAPHORE_WAIT", 16 bytes
    fixed {
        "DWord Length" Uint [0..8] = 2;
        "MI Command Opcode" Uint [23..29] = 28;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// The comparison of MI_SEMAPHORE_WAIT: SAD is the value in memory, SDD the command's.
        compare_operation: SemaphoreCompare [12..15] "Compare Operation";
        /// Wait mode.
        wait_mode: Bool [15..16] "Wait Mode";
        /// Register poll mode.
        register_poll_mode: Bool [16..17] "Register Poll Mode";
        /// The address space: global or per process.
        memory_type: Bool [22..23] "Memory Type";
        /// Semaphore data dword.
        semaphore_data_dword: Uint [32..64] "Semaphore Data Dword";
        /// Semaphore address.
        semaphore_address: Shr<Address, 2> [66..128] "Semaphore Address";
    }
}

packet! {
    /// Writes one or two double words to memory. The command is shorter if it writes only one.
    pub struct MiStoreDataImm = "MI_STORE_DATA_IMM", 20 bytes
    fixed {
        "MI Command Opcode" Uint [23..29] = 32;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Double words of the command, without the first two.
        dword_length: Uint [0..10] "DWord Length";
        /// Force write completion check.
        force_write_completion_check: Bool [10..11] "Force Write Completion Check" since 120;
        /// Two double words instead of one.
        store_qword: Bool [21..22] "Store Qword";
        /// The address is one of the global address space.
        use_global_gtt: Bool [22..23] "Use Global GTT";
        /// Core mode enable.
        core_mode_enable: Bool [32..33] "Core Mode Enable";
        /// GPU address.
        address: Shr<Address, 2> [34..80] "Address";
        /// The value.
        immediate_data: Hex64 [96..160] "Immediate Data";
    }
}

packet! {
    /// Sets registers; further pairs of offset and value may follow the first.
    pub struct MiLoadRegisterImm = "MI_LOAD_REGISTER_IMM", 12 bytes
    fixed {
        "MI Command Opcode" Uint [23..29] = 34;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Double words of the command, without the first two.
        dword_length: Uint [0..8] "DWord Length";
        /// Byte write disables.
        byte_write_disables: Uint [8..12] "Byte Write Disables";
        /// The register of the engine that executes the command, if its offset is one of the render engine's.
        mmio_remap_enable: Bool [17..18] "MMIO Remap Enable" since 120;
        /// Add CS MMIO start offset.
        add_cs_mmio_start_offset: Uint [19..20] "Add CS MMIO Start Offset" since 120;
        /// Offset of the register.
        register_offset: Shr<Address, 2> [34..55] "Register Offset";
        /// The value.
        data_dword: Hex [64..96] "Data DWord";
    }
}

packet! {
    /// Writes a register to memory.
    pub struct MiStoreRegisterMem = "MI_STORE_REGISTER_MEM", 16 bytes
    fixed {
        "DWord Length" Uint [0..8] = 2;
        "MI Command Opcode" Uint [23..29] = 36;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// The register of the engine that executes the command, if its offset is one of the render engine's.
        mmio_remap_enable: Bool [17..18] "MMIO Remap Enable" since 120;
        /// Add CS MMIO start offset.
        add_cs_mmio_start_offset: Uint [19..20] "Add CS MMIO Start Offset" since 120;
        /// Executes only if the predicate is set.
        predicate_enable: Bool [21..22] "Predicate Enable";
        /// The address is one of the global address space.
        use_global_gtt: Bool [22..23] "Use Global GTT";
        /// Offset of the register.
        register_address: Shr<Address, 2> [34..55] "Register Address";
        /// GPU address.
        memory_address: Shr<Address, 2> [66..128] "Memory Address";
    }
}

packet! {
    /// Waits for earlier work of other engines than render.
    pub struct MiFlushDw = "MI_FLUSH_DW", 20 bytes
    fixed {
        "DWord Length" Uint [0..6] = 3;
        "MI Command Opcode" Uint [23..29] = 38;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Video pipeline cache invalidate.
        video_pipeline_cache_invalidate: Bool [7..8] "Video Pipeline Cache Invalidate";
        /// Notify enable.
        notify_enable: Bool [8..9] "Notify Enable";
        /// Flush LLC.
        flush_llc: Bool [9..10] "Flush LLC";
        /// Post-sync operation.
        post_sync_operation: Uint [14..16] "Post-Sync Operation";
        /// TLB invalidate.
        tlb_invalidate: Bool [18..19] "TLB Invalidate";
        /// Store data index.
        store_data_index: Bool [21..22] "Store Data Index";
        /// The address is one of the global address space.
        destination_address_type: Bool [34..35] "Destination Address Type";
        /// GPU address.
        address: Shr<Address, 3> [35..80] "Address";
        /// The value.
        immediate_data: Hex64 [96..160] "Immediate Data";
    }
}

packet! {
    /// Writes a report of performance counters.
    pub struct MiReportPerfCount = "MI_REPORT_PERF_COUNT", 16 bytes
    fixed {
        "DWord Length" Uint [0..6] = 2;
        "MI Command Opcode" Uint [23..29] = 40;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// The address is one of the global address space.
        use_global_gtt: Bool [32..33] "Use Global GTT";
        /// Core mode enable.
        core_mode_enable: Bool [36..37] "Core Mode Enable";
        /// GPU address.
        memory_address: Shr<Address, 6> [38..96] "Memory Address";
        /// Report ID.
        report_id: Uint [96..128] "Report ID";
    }
}

packet! {
    /// Sets a register from memory.
    pub struct MiLoadRegisterMem = "MI_LOAD_REGISTER_MEM", 16 bytes
    fixed {
        "DWord Length" Uint [0..8] = 2;
        "MI Command Opcode" Uint [23..29] = 41;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// The register of the engine that executes the command, if its offset is one of the render engine's.
        mmio_remap_enable: Bool [17..18] "MMIO Remap Enable" since 120;
        /// Add CS MMIO start offset.
        add_cs_mmio_start_offset: Uint [19..20] "Add CS MMIO Start Offset" since 120;
        /// Add loop variable.
        add_loop_variable: Uint [20..21] "Add Loop Variable" since 120;
        /// Async mode enable.
        async_mode_enable: Bool [21..22] "Async Mode Enable";
        /// The address is one of the global address space.
        use_global_gtt: Bool [22..23] "Use Global GTT";
        /// Offset of the register.
        register_address: Shr<Address, 2> [34..55] "Register Address";
        /// GPU address.
        memory_address: Shr<Address, 2> [66..128] "Memory Address";
    }
}

packet! {
    /// Copies a register.
    pub struct MiLoadRegisterReg = "MI_LOAD_REGISTER_REG", 12 bytes
    fixed {
        "DWord Length" Uint [0..8] = 1;
        "MI Command Opcode" Uint [23..29] = 42;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// The source is a register of the engine that executes the command, if its offset is one of the render engine's.
        mmio_remap_enable_source: Bool [16..17] "MMIO Remap Enable Source" since 120;
        /// The destination is a register of the engine that executes the command, if its offset is one of the render engine's.
        mmio_remap_enable_destination: Bool [17..18] "MMIO Remap Enable Destination" since 120;
        /// Add CS MMIO start offset source.
        add_cs_mmio_start_offset_source: Uint [18..19] "Add CS MMIO Start Offset Source" since 120;
        /// Add CS MMIO start offset destination.
        add_cs_mmio_start_offset_destination: Uint [19..20] "Add CS MMIO Start Offset Destination" since 120;
        /// Source register address.
        source_register_address: Shr<Address, 2> [34..55] "Source Register Address";
        /// Destination register address.
        destination_register_address: Shr<Address, 2> [66..87] "Destination Register Address";
    }
}

packet! {
    /// Copies a double word of memory.
    pub struct MiCopyMemMem = "MI_COPY_MEM_MEM", 20 bytes
    fixed {
        "DWord Length" Uint [0..8] = 3;
        "MI Command Opcode" Uint [23..29] = 46;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Use global GTT destination.
        use_global_gtt_destination: Bool [21..22] "Use Global GTT Destination";
        /// Use global GTT source.
        use_global_gtt_source: Bool [22..23] "Use Global GTT Source";
        /// Destination memory address.
        destination_memory_address: Shr<Address, 2> [34..96] "Destination Memory Address";
        /// Source memory address.
        source_memory_address: Shr<Address, 2> [98..160] "Source Memory Address";
    }
}

packet! {
    /// An atomic operation on memory.
    pub struct MiAtomic = "MI_ATOMIC", 12 bytes
    fixed {
        "MI Command Opcode" Uint [23..29] = 47;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Double words of the command, without the first two.
        dword_length: Uint [0..8] "DWord Length";
        /// ATOMIC OPCODE.
        atomic_opcode: Hex [8..16] "ATOMIC OPCODE";
        /// Return data control.
        return_data_control: Bool [16..17] "Return Data Control";
        /// CS STALL.
        cs_stall: Bool [17..18] "CS STALL";
        /// Inline data.
        inline_data: Bool [18..19] "Inline Data";
        /// Data size.
        data_size: Uint [19..21] "Data Size";
        /// Post-sync operation.
        post_sync_operation: Bool [21..22] "Post-Sync Operation";
        /// The address space: global or per process.
        memory_type: Bool [22..23] "Memory Type";
        /// GPU address.
        memory_address: Shr<Address, 2> [34..80] "Memory Address";
    }
}

packet! {
    /// Goes on with another batch: by a jump, or as a second level that returns.
    pub struct MiBatchBufferStart = "MI_BATCH_BUFFER_START", 12 bytes
    fixed {
        "DWord Length" Uint [0..8] = 1;
        "MI Command Opcode" Uint [23..29] = 49;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// The batch is in the address space of the process.
        address_space_indicator: Bool [8..9] "Address Space Indicator";
        /// Resource streamer enable.
        resource_streamer_enable: Bool [10..11] "Resource Streamer Enable";
        /// Executes only if the predicate is set.
        predication_enable: Bool [15..16] "Predication Enable";
        /// Add offset enable.
        add_offset_enable: Bool [16..17] "Add Offset Enable" before 120;
        /// Whether MI_BATCH_BUFFER_END of that batch returns here.
        second_level_batch_buffer: Bool [22..23] "Second Level Batch Buffer";
        /// Batch buffer start address.
        batch_buffer_start_address: Shr<Address, 2> [34..96] "Batch Buffer Start Address";
    }
}

packet! {
    /// Ends the batch if a value in memory is not greater than another.
    pub struct MiConditionalBatchBufferEnd = "MI_CONDITIONAL_BATCH_BUFFER_END", 16 bytes
    fixed {
        "DWord Length" Uint [0..8] = 2;
        "MI Command Opcode" Uint [23..29] = 54;
        "Command Type" Uint [29..32] = 0;
    }
    fields {
        /// Compare mask mode.
        compare_mask_mode: Bool [19..20] "Compare Mask Mode";
        /// Compare semaphore.
        compare_semaphore: Bool [21..22] "Compare Semaphore";
        /// The address is one of the global address space.
        use_global_gtt: Bool [22..23] "Use Global GTT";
        /// Compare data dword.
        compare_data_dword: Uint [32..64] "Compare Data Dword";
        /// Compare address.
        compare_address: Shr<Address, 3> [67..128] "Compare Address";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    MiNoop::INFO,
    MiSetPredicate::INFO,
    MiUserInterrupt::INFO,
    MiArbCheck::INFO,
    MiRsControl::INFO,
    MiArbOnOff::INFO,
    MiBatchBufferEnd::INFO,
    MiSuspendFlush::INFO,
    MiPredicate::INFO,
    MiTopologyFilter::INFO,
    MiSetContext::INFO,
    MiMath::INFO,
    MiMathAluInstruction::INFO,
    MiSemaphoreSignal::INFO,
    MiSemaphoreWait::INFO,
    MiStoreDataImm::INFO,
    MiLoadRegisterImm::INFO,
    MiStoreRegisterMem::INFO,
    MiFlushDw::INFO,
    MiReportPerfCount::INFO,
    MiLoadRegisterMem::INFO,
    MiLoadRegisterReg::INFO,
    MiCopyMemMem::INFO,
    MiAtomic::INFO,
    MiBatchBufferStart::INFO,
    MiConditionalBatchBufferEnd::INFO,
];
