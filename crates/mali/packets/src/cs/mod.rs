//! Instructions of command streams, eight bytes each.
//!
// source: Mesa, src/panfrost/lib/genxml/v10.xml.

mod fields;

use tepui_packets::types::{Bool, Hex, Hex64, Int, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, packet};

pub use fields::{
    CsCondition, CsExceptionType, CsFlushMode, CsHeapEvent, CsOpcode, CsState, CsSyncScope,
    TaskAxis, TileRenderOrder,
};

packet! {
    /// Does nothing.
    pub struct CsNop = "CS NOP", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::Nop;
    }
    fields {
        /// Ignored.
        ignored: Hex64 [0..56] "Ignored";
    }
}

packet! {
    /// Sets a pair of registers to 48 bits.
    pub struct CsMove = "CS MOVE", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::Move;
    }
    fields {
        /// Immediate.
        immediate: Hex64 [0..48] "Immediate";
        /// Destination.
        destination: Uint [48..56] "Destination";
    }
}

packet! {
    /// Sets a register.
    pub struct CsMove32 = "CS MOVE32", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::Move32;
    }
    fields {
        /// Immediate.
        immediate: Hex [0..32] "Immediate";
        /// Destination.
        destination: Uint [48..56] "Destination";
    }
}

packet! {
    /// Waits until scoreboard entries are idle.
    pub struct CsWait = "CS WAIT", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::Wait;
    }
    fields {
        /// Wait mask.
        wait_mask: Hex [16..24] "Wait mask";
        /// Progress increment.
        progress_increment: Bool [32..33] "Progress increment";
    }
}

packet! {
    /// Dispatches workgroups. The selects name which of four register pairs hold resource table, program, local storage and uniforms.
    pub struct CsRunCompute = "CS RUN_COMPUTE", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::RunCompute;
    }
    fields {
        /// Task increment.
        task_increment: Uint [0..14] "Task increment";
        /// Task axis.
        task_axis: TaskAxis [14..16] "Task axis";
        /// Progress increment.
        progress_increment: Bool [32..33] "Progress increment";
        /// SRT select.
        srt_select: Uint [40..42] "SRT select";
        /// SPD select.
        spd_select: Uint [42..44] "SPD select";
        /// TSD select.
        tsd_select: Uint [44..46] "TSD select";
        /// FAU select.
        fau_select: Uint [46..48] "FAU select";
    }
}

packet! {
    /// Runs the tiler on positions that were computed before.
    pub struct CsRunTiling = "CS RUN_TILING", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::RunTiling;
    }
    fields {
        /// Flags override.
        flags_override: Hex [0..32] "Flags override";
        /// Progress increment.
        progress_increment: Bool [32..33] "Progress increment";
        /// SRT select.
        srt_select: Uint [40..42] "SRT select";
        /// SPD select.
        spd_select: Uint [42..44] "SPD select";
        /// TSD select.
        tsd_select: Uint [44..46] "TSD select";
        /// FAU select.
        fau_select: Uint [46..48] "FAU select";
    }
}

packet! {
    /// Draws: position shading, tiling, varying shading.
    pub struct CsRunIdvs = "CS RUN_IDVS", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::RunIdvs;
    }
    fields {
        /// Flags override.
        flags_override: Hex [0..32] "Flags override";
        /// Progress increment.
        progress_increment: Bool [32..33] "Progress increment";
        /// Malloc enable.
        malloc_enable: Bool [33..34] "Malloc enable";
        /// Draw ID register enable.
        draw_id_register_enable: Bool [34..35] "Draw ID register enable";
        /// Varying SRT select.
        varying_srt_select: Bool [35..36] "Varying SRT select";
        /// Varying FAU select.
        varying_fau_select: Bool [36..37] "Varying FAU select";
        /// Varying TSD select.
        varying_tsd_select: Bool [37..38] "Varying TSD select";
        /// Fragment SRT select.
        fragment_srt_select: Bool [38..39] "Fragment SRT select";
        /// Fragment TSD select.
        fragment_tsd_select: Bool [39..40] "Fragment TSD select";
        /// Draw ID.
        draw_id: Uint [40..48] "Draw ID";
    }
}

packet! {
    /// Runs the fragment shaders of a framebuffer.
    pub struct CsRunFragment = "CS RUN_FRAGMENT", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::RunFragment;
    }
    fields {
        /// Enable TEM.
        enable_tem: Bool [0..1] "Enable TEM";
        /// Tile order.
        tile_order: TileRenderOrder [4..8] "Tile order" = TileRenderOrder::ZOrder;
        /// Progress increment.
        progress_increment: Bool [32..33] "Progress increment";
    }
}

packet! {
    /// Runs a fragment shader for all pixels.
    pub struct CsRunFullscreen = "CS RUN_FULLSCREEN", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::RunFullscreen;
    }
    fields {
        /// Flags override.
        flags_override: Hex [0..32] "Flags override";
        /// Progress increment.
        progress_increment: Bool [32..33] "Progress increment";
        /// DCD.
        dcd: Uint [40..48] "DCD";
    }
}

packet! {
    /// Ends a series of draws.
    pub struct CsFinishTiling = "CS FINISH_TILING", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::FinishTiling;
    }
    fields {
        /// Progress increment.
        progress_increment: Bool [32..33] "Progress increment";
    }
}

packet! {
    /// Gives the chunks of a frame's heap back.
    pub struct CsFinishFragment = "CS FINISH_FRAGMENT", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::FinishFragment;
    }
    fields {
        /// Increment Fragment Completed.
        increment_fragment_completed: Bool [0..1] "Increment Fragment Completed";
        /// Wait mask.
        wait_mask: Hex [16..32] "Wait mask";
        /// Last Heap Chunk.
        last_heap_chunk: Hex [32..40] "Last Heap Chunk";
        /// First Heap Chunk.
        first_heap_chunk: Hex [40..48] "First Heap Chunk";
        /// Signal slot.
        signal_slot: Hex [48..52] "Signal slot";
    }
}

packet! {
    /// Adds a number to a register.
    pub struct CsAddImmediate32 = "CS ADD_IMMEDIATE32", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::AddImmediate32;
    }
    fields {
        /// Immediate.
        immediate: Int [0..32] "Immediate";
        /// Source.
        source: Uint [40..48] "Source";
        /// Destination.
        destination: Uint [48..56] "Destination";
    }
}

packet! {
    /// Adds a number to a pair of registers.
    pub struct CsAddImmediate64 = "CS ADD_IMMEDIATE64", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::AddImmediate64;
    }
    fields {
        /// Immediate.
        immediate: Int [0..32] "Immediate";
        /// Source.
        source: Uint [40..48] "Source";
        /// Destination.
        destination: Uint [48..56] "Destination";
    }
}

packet! {
    /// The lesser of two registers.
    pub struct CsUmin32 = "CS UMIN32", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::Umin32;
    }
    fields {
        /// Source 1.
        source_1: Uint [32..40] "Source 1";
        /// Source 2.
        source_2: Uint [40..48] "Source 2";
        /// Destination.
        destination: Uint [48..56] "Destination";
    }
}

packet! {
    /// Loads registers from memory.
    pub struct CsLoadMultiple = "CS LOAD_MULTIPLE", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::LoadMultiple;
    }
    fields {
        /// Offset.
        offset: Int [0..16] "Offset";
        /// Mask.
        mask: Hex [16..32] "Mask";
        /// Address.
        address: Uint [40..48] "Address";
        /// Base register.
        base_register: Uint [48..56] "Base register";
    }
}

packet! {
    /// Stores registers to memory.
    pub struct CsStoreMultiple = "CS STORE_MULTIPLE", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::StoreMultiple;
    }
    fields {
        /// Offset.
        offset: Int [0..16] "Offset";
        /// Mask.
        mask: Hex [16..32] "Mask";
        /// Address.
        address: Uint [40..48] "Address";
        /// Base register.
        base_register: Uint [48..56] "Base register";
    }
}

packet! {
    /// Branches by instructions from the next one if a register compares with zero as the condition says.
    pub struct CsBranch = "CS BRANCH", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::Branch;
    }
    fields {
        /// Offset.
        offset: Int [0..16] "Offset";
        /// Condition.
        condition: CsCondition [28..31] "Condition";
        /// Value.
        value: Uint [40..48] "Value";
    }
}

packet! {
    /// Chooses the scoreboard entries of later instructions: of those that run shaders, and of the others.
    pub struct CsSetSbEntry = "CS SET_SB_ENTRY", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::SetSbEntry;
    }
    fields {
        /// Endpoint entry.
        endpoint_entry: Uint [0..4] "Endpoint entry";
        /// Other entry.
        other_entry: Uint [4..8] "Other entry";
    }
}

packet! {
    /// Waits for the progress of another queue.
    pub struct CsProgressWait = "CS PROGRESS_WAIT", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::ProgressWait;
    }
    fields {
        /// Queue.
        queue: Uint [0..5] "Queue";
        /// Source.
        source: Uint [40..48] "Source";
    }
}

packet! {
    /// Sets the stream that handles an exception.
    pub struct CsSetExceptionHandler = "CS SET_EXCEPTION_HANDLER", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::SetExceptionHandler;
    }
    fields {
        /// Exception type.
        exception_type: CsExceptionType [0..8] "Exception type";
        /// Length.
        length: Uint [32..40] "Length";
        /// Address.
        address: Uint [40..48] "Address";
    }
}

packet! {
    /// Calls a stream.
    pub struct CsCall = "CS CALL", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::Call;
    }
    fields {
        /// Length.
        length: Uint [32..40] "Length";
        /// Address.
        address: Uint [40..48] "Address";
    }
}

packet! {
    /// Continues with another stream.
    pub struct CsJump = "CS JUMP", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::Jump;
    }
    fields {
        /// Length.
        length: Uint [32..40] "Length";
        /// Address.
        address: Uint [40..48] "Address";
    }
}

packet! {
    /// Says which units the following instructions need.
    pub struct CsReqResource = "CS REQ_RESOURCE", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::ReqResource;
    }
    fields {
        /// Compute.
        compute: Bool [0..1] "Compute";
        /// Fragment.
        fragment: Bool [1..2] "Fragment";
        /// Tiler.
        tiler: Bool [2..3] "Tiler";
        /// IDVS.
        idvs: Bool [3..4] "IDVS";
    }
}

packet! {
    /// Flushes caches.
    pub struct CsFlushCache2 = "CS FLUSH_CACHE2", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::FlushCache2;
    }
    fields {
        /// L2 flush mode.
        l2_flush_mode: CsFlushMode [0..4] "L2 flush mode";
        /// LSC flush mode.
        lsc_flush_mode: CsFlushMode [4..8] "LSC flush mode";
        /// Other invalidate.
        other_invalidate: Bool [9..10] "Other invalidate";
        /// Wait mask.
        wait_mask: Hex [16..32] "Wait mask";
        /// Latest Flush ID.
        latest_flush_id: Uint [40..48] "Latest Flush ID";
        /// Signal slot.
        signal_slot: Uint [48..52] "Signal slot";
    }
}

packet! {
    /// Adds to a sync object of 32 bits.
    pub struct CsSyncAdd32 = "CS SYNC_ADD32", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::SyncAdd32;
    }
    fields {
        /// Error propagate.
        error_propagate: Bool [0..1] "Error propagate";
        /// Scope.
        scope: CsSyncScope [1..3] "Scope";
        /// Wait mask.
        wait_mask: Hex [16..32] "Wait mask";
        /// Data.
        data: Uint [32..40] "Data";
        /// Address.
        address: Uint [40..48] "Address";
        /// Signal slot.
        signal_slot: Hex [48..52] "Signal slot";
    }
}

packet! {
    /// Sets a sync object of 32 bits.
    pub struct CsSyncSet32 = "CS SYNC_SET32", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::SyncSet32;
    }
    fields {
        /// Error propagate.
        error_propagate: Bool [0..1] "Error propagate";
        /// Scope.
        scope: CsSyncScope [1..3] "Scope";
        /// Wait mask.
        wait_mask: Hex [16..32] "Wait mask";
        /// Data.
        data: Uint [32..40] "Data";
        /// Address.
        address: Uint [40..48] "Address";
        /// Signal slot.
        signal_slot: Hex [48..52] "Signal slot";
    }
}

packet! {
    /// Waits for a sync object of 32 bits.
    pub struct CsSyncWait32 = "CS SYNC_WAIT32", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::SyncWait32;
    }
    fields {
        /// Error reject.
        error_reject: Bool [0..1] "Error reject";
        /// Condition.
        condition: CsCondition [28..32] "Condition";
        /// Data.
        data: Uint [32..40] "Data";
        /// Address.
        address: Uint [40..48] "Address";
    }
}

packet! {
    /// Stores a counter or a status.
    pub struct CsStoreState = "CS STORE_STATE", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::StoreState;
    }
    fields {
        /// Offset.
        offset: Int [0..16] "Offset";
        /// Wait mask.
        wait_mask: Hex [16..32] "Wait mask";
        /// State.
        state: CsState [32..34] "State";
        /// Address.
        address: Uint [40..48] "Address";
        /// Signal slot.
        signal_slot: Hex [48..52] "Signal slot";
    }
}

packet! {
    /// Marks instructions that run in protected mode.
    pub struct CsProtRegion = "CS PROT_REGION", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::ProtRegion;
    }
    fields {
        /// Size.
        size: Shr<Uint, 3> [0..16] "Size";
    }
}

packet! {
    /// Sets the queue's progress.
    pub struct CsProgressStore = "CS PROGRESS_STORE", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::ProgressStore;
    }
    fields {
        /// Source.
        source: Uint [40..48] "Source";
    }
}

packet! {
    /// Reads the queue's progress.
    pub struct CsProgressLoad = "CS PROGRESS_LOAD", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::ProgressLoad;
    }
    fields {
        /// Destination.
        destination: Uint [48..56] "Destination";
    }
}

packet! {
    /// RUN_COMPUTE with the number of workgroups in a task.
    pub struct CsRunComputeIndirect = "CS RUN_COMPUTE_INDIRECT", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::RunComputeIndirect;
    }
    fields {
        /// Workgroups per task.
        workgroups_per_task: Uint [0..16] "Workgroups per task";
        /// Progress increment.
        progress_increment: Bool [32..33] "Progress increment";
        /// SRT select.
        srt_select: Uint [40..42] "SRT select";
        /// SPD select.
        spd_select: Uint [42..44] "SPD select";
        /// TSD select.
        tsd_select: Uint [44..46] "TSD select";
        /// FAU select.
        fau_select: Uint [46..48] "FAU select";
    }
}

packet! {
    /// Resets the queue's error.
    pub struct CsErrorBarrier = "CS ERROR_BARRIER", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::ErrorBarrier;
    }
}

packet! {
    /// Sets the heap of the tiler.
    pub struct CsHeapSet = "CS HEAP_SET", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::HeapSet;
    }
    fields {
        /// Address.
        address: Uint [40..48] "Address";
    }
}

packet! {
    /// Counts a frame that begins or ends to use the heap.
    pub struct CsHeapOperation = "CS HEAP_OPERATION", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::HeapOperation;
    }
    fields {
        /// Wait mask.
        wait_mask: Hex [16..32] "Wait mask";
        /// Operation.
        operation: CsHeapEvent [32..34] "Operation";
        /// Signal slot.
        signal_slot: Uint [48..52] "Signal slot";
    }
}

packet! {
    /// Records registers.
    pub struct CsTracePoint = "CS TRACE_POINT", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::TracePoint;
    }
    fields {
        /// Wait mask.
        wait_mask: Hex [16..32] "Wait mask";
        /// Base Register.
        base_register: Uint [32..40] "Base Register";
        /// Register Count.
        register_count: Uint [40..48] "Register Count";
        /// Signal slot.
        signal_slot: Hex [48..52] "Signal slot";
    }
}

packet! {
    /// Adds to a sync object of 64 bits.
    pub struct CsSyncAdd64 = "CS SYNC_ADD64", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::SyncAdd64;
    }
    fields {
        /// Error propagate.
        error_propagate: Bool [0..1] "Error propagate";
        /// Scope.
        scope: CsSyncScope [1..3] "Scope";
        /// Wait mask.
        wait_mask: Hex [16..32] "Wait mask";
        /// Data.
        data: Uint [32..40] "Data";
        /// Address.
        address: Uint [40..48] "Address";
        /// Signal slot.
        signal_slot: Hex [48..52] "Signal slot";
    }
}

packet! {
    /// Sets a sync object of 64 bits.
    pub struct CsSyncSet64 = "CS SYNC_SET64", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::SyncSet64;
    }
    fields {
        /// Error propagate.
        error_propagate: Bool [0..1] "Error propagate";
        /// Scope.
        scope: CsSyncScope [1..3] "Scope";
        /// Wait mask.
        wait_mask: Hex [16..32] "Wait mask";
        /// Data.
        data: Uint [32..40] "Data";
        /// Address.
        address: Uint [40..48] "Address";
        /// Signal slot.
        signal_slot: Hex [48..52] "Signal slot";
    }
}

packet! {
    /// Waits for a sync object of 64 bits.
    pub struct CsSyncWait64 = "CS SYNC_WAIT64", 8 bytes
    fixed {
        "Opcode" CsOpcode [56..64] = CsOpcode::SyncWait64;
    }
    fields {
        /// Error reject.
        error_reject: Bool [0..1] "Error reject";
        /// Condition.
        condition: CsCondition [28..32] "Condition";
        /// Data.
        data: Uint [32..40] "Data";
        /// Address.
        address: Uint [40..48] "Address";
    }
}

/// The reflection tables of this module.
pub static ALL: &[&PacketInfo] = &[
    CsNop::INFO,
    CsMove::INFO,
    CsMove32::INFO,
    CsWait::INFO,
    CsRunCompute::INFO,
    CsRunTiling::INFO,
    CsRunIdvs::INFO,
    CsRunFragment::INFO,
    CsRunFullscreen::INFO,
    CsFinishTiling::INFO,
    CsFinishFragment::INFO,
    CsAddImmediate32::INFO,
    CsAddImmediate64::INFO,
    CsUmin32::INFO,
    CsLoadMultiple::INFO,
    CsStoreMultiple::INFO,
    CsBranch::INFO,
    CsSetSbEntry::INFO,
    CsProgressWait::INFO,
    CsSetExceptionHandler::INFO,
    CsCall::INFO,
    CsJump::INFO,
    CsReqResource::INFO,
    CsFlushCache2::INFO,
    CsSyncAdd32::INFO,
    CsSyncSet32::INFO,
    CsSyncWait32::INFO,
    CsStoreState::INFO,
    CsProtRegion::INFO,
    CsProgressStore::INFO,
    CsProgressLoad::INFO,
    CsRunComputeIndirect::INFO,
    CsErrorBarrier::INFO,
    CsHeapSet::INFO,
    CsHeapOperation::INFO,
    CsTracePoint::INFO,
    CsSyncAdd64::INFO,
    CsSyncSet64::INFO,
    CsSyncWait64::INFO,
];

/// The opcode of an instruction; `None` if there is no such instruction.
pub fn opcode(word: u64) -> Option<CsOpcode> {
    CsOpcode::from_raw(word >> 56)
}

/// The reflection table of the instruction with this opcode.
pub fn instruction(opcode: CsOpcode) -> Option<&'static PacketInfo> {
    let is = |info: &&&PacketInfo| info.fixed.iter().any(|f| f.value == opcode.raw());
    ALL.iter().find(is).copied()
}
