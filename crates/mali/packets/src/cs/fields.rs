//! Enumerated fields of instructions of command streams, their opcodes among them.
//!
// source: Mesa, src/panfrost/lib/genxml/v10.xml.

use tepui_packets::bits_enum;

bits_enum! {
    /// Tile Render Order.
    pub enum TileRenderOrder = "Tile Render Order" {
        /// Z Order.
        #[default]
        ZOrder = 0 => "Z Order",
        /// Horizontal.
        Horizontal = 1 => "Horizontal",
        /// Vertical.
        Vertical = 2 => "Vertical",
        /// Reverse horizontal.
        ReverseHorizontal = 5 => "Reverse horizontal",
        /// Reverse vertical.
        ReverseVertical = 6 => "Reverse vertical",
    }
}

bits_enum! {
    /// Task Axis.
    pub enum TaskAxis = "Task Axis" {
        /// X.
        #[default]
        X = 0 => "X",
        /// Y.
        Y = 1 => "Y",
        /// Z.
        Z = 2 => "Z",
    }
}

bits_enum! {
    /// The comparison of a value with zero, or with another value.
    pub enum CsCondition = "CS Condition" {
        /// Lequal.
        #[default]
        Lequal = 0 => "Lequal",
        /// Greater.
        Greater = 1 => "Greater",
        /// Equal.
        Equal = 2 => "Equal",
        /// Nequal.
        Nequal = 3 => "Nequal",
        /// Less.
        Less = 4 => "Less",
        /// Gequal.
        Gequal = 5 => "Gequal",
        /// Always.
        Always = 6 => "Always",
    }
}

bits_enum! {
    /// The value that STORE_STATE stores.
    pub enum CsState = "CS State" {
        /// Timestamp.
        #[default]
        Timestamp = 0 => "Timestamp",
        /// Cycle count.
        CycleCount = 1 => "Cycle count",
        /// Disjoint count.
        DisjointCount = 2 => "Disjoint count",
        /// Error status.
        ErrorStatus = 3 => "Error status",
    }
}

bits_enum! {
    /// The event that HEAP_OPERATION counts.
    pub enum CsHeapEvent = "CS Heap Operation" {
        /// Vertex/Tiler Started.
        #[default]
        VertexTilerStarted = 0 => "Vertex/Tiler Started",
        /// Vertex/Tiler Completed.
        VertexTilerCompleted = 1 => "Vertex/Tiler Completed",
        /// Fragment Completed.
        FragmentCompleted = 3 => "Fragment Completed",
    }
}

bits_enum! {
    /// The treatment of a cache.
    pub enum CsFlushMode = "CS Flush Mode" {
        /// None.
        #[default]
        None = 0 => "None",
        /// Clean.
        Clean = 1 => "Clean",
        /// Clean and invalidate.
        CleanAndInvalidate = 3 => "Clean and invalidate",
    }
}

bits_enum! {
    /// The observers of a change to a sync object.
    pub enum CsSyncScope = "CS Sync scope" {
        /// System.
        #[default]
        System = 0 => "System",
        /// CSG.
        Csg = 2 => "CSG",
    }
}

bits_enum! {
    /// Exceptions that a stream can handle.
    pub enum CsExceptionType = "CS Exception type" {
        /// Tiler OOM.
        #[default]
        TilerOom = 2 => "Tiler OOM",
    }
}

bits_enum! {
    /// The instructions of command streams.
    pub enum CsOpcode = "CS Opcode" {
        /// NOP.
        #[default]
        Nop = 0 => "NOP",
        /// MOVE.
        Move = 1 => "MOVE",
        /// MOVE32.
        Move32 = 2 => "MOVE32",
        /// WAIT.
        Wait = 3 => "WAIT",
        /// RUN_COMPUTE.
        RunCompute = 4 => "RUN_COMPUTE",
        /// RUN_TILING.
        RunTiling = 5 => "RUN_TILING",
        /// RUN_IDVS.
        RunIdvs = 6 => "RUN_IDVS",
        /// RUN_FRAGMENT.
        RunFragment = 7 => "RUN_FRAGMENT",
        /// RUN_FULLSCREEN.
        RunFullscreen = 8 => "RUN_FULLSCREEN",
        /// FINISH_TILING.
        FinishTiling = 9 => "FINISH_TILING",
        /// FINISH_FRAGMENT.
        FinishFragment = 11 => "FINISH_FRAGMENT",
        /// ADD_IMMEDIATE32.
        AddImmediate32 = 16 => "ADD_IMMEDIATE32",
        /// ADD_IMMEDIATE64.
        AddImmediate64 = 17 => "ADD_IMMEDIATE64",
        /// UMIN32.
        Umin32 = 18 => "UMIN32",
        /// LOAD_MULTIPLE.
        LoadMultiple = 20 => "LOAD_MULTIPLE",
        /// STORE_MULTIPLE.
        StoreMultiple = 21 => "STORE_MULTIPLE",
        /// BRANCH.
        Branch = 22 => "BRANCH",
        /// SET_SB_ENTRY.
        SetSbEntry = 23 => "SET_SB_ENTRY",
        /// PROGRESS_WAIT.
        ProgressWait = 24 => "PROGRESS_WAIT",
        /// SET_EXCEPTION_HANDLER.
        SetExceptionHandler = 25 => "SET_EXCEPTION_HANDLER",
        /// CALL.
        Call = 32 => "CALL",
        /// JUMP.
        Jump = 33 => "JUMP",
        /// REQ_RESOURCE.
        ReqResource = 34 => "REQ_RESOURCE",
        /// FLUSH_CACHE2.
        FlushCache2 = 36 => "FLUSH_CACHE2",
        /// SYNC_ADD32.
        SyncAdd32 = 37 => "SYNC_ADD32",
        /// SYNC_SET32.
        SyncSet32 = 38 => "SYNC_SET32",
        /// SYNC_WAIT32.
        SyncWait32 = 39 => "SYNC_WAIT32",
        /// STORE_STATE.
        StoreState = 40 => "STORE_STATE",
        /// PROT_REGION.
        ProtRegion = 41 => "PROT_REGION",
        /// PROGRESS_STORE.
        ProgressStore = 42 => "PROGRESS_STORE",
        /// PROGRESS_LOAD.
        ProgressLoad = 43 => "PROGRESS_LOAD",
        /// RUN_COMPUTE_INDIRECT.
        RunComputeIndirect = 44 => "RUN_COMPUTE_INDIRECT",
        /// ERROR_BARRIER.
        ErrorBarrier = 47 => "ERROR_BARRIER",
        /// HEAP_SET.
        HeapSet = 48 => "HEAP_SET",
        /// HEAP_OPERATION.
        HeapOperation = 49 => "HEAP_OPERATION",
        /// TRACE_POINT.
        TracePoint = 50 => "TRACE_POINT",
        /// SYNC_ADD64.
        SyncAdd64 = 51 => "SYNC_ADD64",
        /// SYNC_SET64.
        SyncSet64 = 52 => "SYNC_SET64",
        /// SYNC_WAIT64.
        SyncWait64 = 53 => "SYNC_WAIT64",
    }
}
