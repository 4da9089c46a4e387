//! The tiler.
//!
// source: Mesa, src/panfrost/lib/genxml/v10.xml.

use tepui_packets::types::{Address, Bool, Hex, Hex64, Int, Minus, Nested, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

use crate::framebuffer::SamplePattern;
use crate::shader::{BufferType, DescriptorType};

bits_enum! {
    /// Chunk Size.
    pub enum ChunkSize = "Chunk Size" {
        /// 256 KiB.
        #[default]
        N256KiB = 0 => "256 KiB",
        /// 512 KiB.
        N512KiB = 1 => "512 KiB",
        /// 1 MiB.
        N1MiB = 2 => "1 MiB",
        /// 2 MiB.
        N2MiB = 3 => "2 MiB",
    }
}

bits_enum! {
    /// Chunk Partition.
    pub enum ChunkPartition = "Chunk Partition" {
        /// Dynamic.
        #[default]
        Dynamic = 0 => "Dynamic",
        /// Static 25%.
        Static25 = 1 => "Static 25%",
        /// Static 50%.
        Static50 = 2 => "Static 50%",
        /// Static 75%.
        Static75 = 3 => "Static 75%",
    }
}

packet! {
    /// The memory from which the tiler allocates.
    pub struct TilerHeap = "Tiler Heap", 32 bytes
    fixed {
        "Type" DescriptorType [0..4] = DescriptorType::Buffer;
        "Buffer type" BufferType [4..8] = BufferType::TilerHeap;
    }
    fields {
        /// Chunk size.
        chunk_size: ChunkSize [8..10] "Chunk size" = ChunkSize::N256KiB;
        /// Partitioning.
        partitioning: ChunkPartition [10..12] "Partitioning" = ChunkPartition::Dynamic;
        /// Size.
        size: Uint [32..64] "Size";
        /// Base.
        base: Address [64..128] "Base";
        /// Bottom.
        bottom: Address [128..192] "Bottom";
        /// Top.
        top: Address [192..256] "Top";
    }
}

packet! {
    /// State that the hardware keeps for itself.
    pub struct TilerState = "Tiler State", 32 bytes
    fields {
        /// Word0.
        word0: Uint [0..32] "Word0";
        /// Word1.
        word1: Uint [32..64] "Word1";
        /// Word2.
        word2: Uint [64..96] "Word2";
        /// Word3.
        word3: Uint [96..128] "Word3";
        /// Word4.
        word4: Uint [128..160] "Word4";
        /// Word5.
        word5: Uint [160..192] "Word5";
        /// Word6.
        word6: Uint [192..224] "Word6";
        /// Word7.
        word7: Uint [224..256] "Word7";
    }
}

packet! {
    /// The tiler's state of a frame.
    pub struct TilerContext = "Tiler Context", 128 bytes
    fields {
        /// Polygon List.
        polygon_list: Address [0..64] "Polygon List";
        /// Hierarchy Mask.
        hierarchy_mask: Uint [64..77] "Hierarchy Mask";
        /// Sample Pattern.
        sample_pattern: SamplePattern [77..80] "Sample Pattern";
        /// Sample test disable.
        sample_test_disable: Bool [81..82] "Sample test disable";
        /// First provoking vertex.
        first_provoking_vertex: Bool [82..83] "First provoking vertex";
        /// FB Width.
        fb_width: Minus<Uint, 1> [96..112] "FB Width";
        /// FB Height.
        fb_height: Minus<Uint, 1> [112..128] "FB Height";
        /// Layer count.
        layer_count: Minus<Uint, 1> [128..136] "Layer count" = 1;
        /// Layer offset.
        layer_offset: Int [136..145] "Layer offset";
        /// Heap.
        heap: Address [192..256] "Heap";
        /// Geometry buffer size.
        geometry_buffer_size: Shr<Uint, 12> [256..268] "Geometry buffer size" = 65536;
        /// Geometry buffer.
        geometry_buffer: Shr<Address, 12> [268..320] "Geometry buffer";
        /// Completed top.
        completed_top: Address [320..384] "Completed top";
        /// Completed bottom.
        completed_bottom: Address [384..448] "Completed bottom";
        /// Words that the genxml does not name and drivers use for themselves.
        driver_0: Hex64 [448..512] "Driver 0";
        /// As before.
        driver_1: Hex64 [512..576] "Driver 1";
        /// As before.
        driver_2: Hex64 [576..640] "Driver 2";
        /// As before.
        driver_3: Hex64 [640..704] "Driver 3";
        /// As before.
        driver_4: Hex64 [704..768] "Driver 4";
        /// Private state.
        private_state: Nested<TilerState> [768..1024] "Private state";
    }
}

packet! {
    /// Memory for the tiler, on Bifrost.
    pub struct TilerHeapV7 = "Tiler Heap (v7)", 32 bytes
    fields {
        /// Size.
        size: Uint [32..64] "Size";
        /// Base.
        base: Address [64..128] "Base";
        /// Bottom.
        bottom: Address [128..192] "Bottom";
        /// Top.
        top: Address [192..256] "Top";
    }
}

packet! {
    /// The context of a chip with a job manager.
    pub struct TilerContextJm = "Tiler Context (job manager)", 192 bytes
    fields {
        /// Polygon List.
        polygon_list: Address [0..64] "Polygon List";
        /// Hierarchy Mask.
        hierarchy_mask: Uint [64..77] "Hierarchy Mask";
        /// Sample Pattern.
        sample_pattern: SamplePattern [77..80] "Sample Pattern";
        /// Update Cost Table.
        update_cost_table: Bool [80..81] "Update Cost Table";
        /// Sample test disable.
        sample_test_disable: Bool [81..82] "Sample test disable" before 2;
        /// First provoking vertex.
        first_provoking_vertex: Bool [82..83] "First provoking vertex" before 2;
        /// FB Width.
        fb_width: Minus<Uint, 1> [96..112] "FB Width";
        /// FB Height.
        fb_height: Minus<Uint, 1> [112..128] "FB Height";
        /// Layer count.
        layer_count: Minus<Uint, 1> [128..136] "Layer count" before 2 = 1;
        /// Layer offset.
        layer_offset: Int [136..145] "Layer offset" before 2;
        /// Heap.
        heap: Address [192..256] "Heap";
        /// State: the first of the words that only the GPU reads.
        state: Hex [1024..1056] "State";
    }
}

/// The reflection tables of this module.
pub static ALL: &[&PacketInfo] = &[
    TilerHeap::INFO,
    TilerState::INFO,
    TilerContext::INFO,
    TilerContextJm::INFO,
    TilerHeapV7::INFO,
];
