//! Packets as bytes, and the order of the stages that draws emit them for.

use tepui_intel_chips::Generation;
use tepui_intel_packets::{Packet, Revision};
use tepui_ir::Stage;
use tepui_vulkan::{Error, Result};

/// Stages of draws, in the order of the pipeline.
pub const STAGES: [Stage; 5] =
    [Stage::Vertex, Stage::TessControl, Stage::TessEvaluation, Stage::Geometry, Stage::Fragment];

/// Bytes of packets.
pub struct Out {
    /// The bytes.
    pub bytes: Vec<u8>,
    revision: Revision,
}

impl Out {
    /// Nothing, for a generation.
    pub fn new(generation: Generation) -> Out {
        Out { bytes: Vec::new(), revision: tepui_intel_packets::revision(generation) }
    }

    /// Nothing, in memory that is reused.
    pub fn reuse(generation: Generation, mut bytes: Vec<u8>) -> Out {
        bytes.clear();
        Out { bytes, ..Out::new(generation) }
    }

    /// Appends a packet.
    ///
    /// # Errors
    /// When a value does not fit.
    pub fn put<P: Packet>(&mut self, p: &P) -> Result<()> {
        let from = self.bytes.len();
        self.bytes.resize(from + P::INFO.size_bytes, 0);
        p.pack_into_as(&mut self.bytes[from..], self.revision).map_err(packet)
    }
}

/// An error of a value that does not fit into its packet.
pub fn packet(p: tepui_packets::Problem) -> Error {
    Error::new(tepui_vulkan::vk::Result::ERROR_UNKNOWN, p.to_string())
}
