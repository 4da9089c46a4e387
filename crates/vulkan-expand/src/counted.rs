//! Queries of statistics that count.

use tepui_vulkan::vk::QueryPipelineStatisticFlags as Flags;

/// A query of statistics that counts.
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    /// GPU address of its values.
    pub address: u64,
    /// Statistics that it counts.
    pub flags: Flags,
    /// Primitives that are rasterised are those of this stream instead, whether they are rasterised or not.
    pub stream: Option<u32>,
    /// Sums so far, as [`COUNTED`] has them.
    pub sums: [u64; 4],
}

/// The statistics that count vertices, primitives, compute invocations, and primitives that are rasterised.
pub const COUNTED: [Flags; 4] = [
    Flags::INPUT_ASSEMBLY_VERTICES.union(Flags::VERTEX_SHADER_INVOCATIONS),
    Flags::INPUT_ASSEMBLY_PRIMITIVES,
    Flags::COMPUTE_SHADER_INVOCATIONS,
    RASTERISED,
];

/// The statistics of primitives after all vertex stages.
pub const RASTERISED: Flags = Flags::CLIPPING_INVOCATIONS.union(Flags::CLIPPING_PRIMITIVES);

impl Statistics {
    /// Addresses of the values that count something.
    pub fn places(&self, of: Flags) -> impl Iterator<Item = u64> + use<> {
        let (address, flags) = (self.address, self.flags);
        let wanted = move |bit: &u32| flags.intersection(of).bits() >> bit & 1 != 0;
        (0..32).filter(wanted).map(move |bit| {
            let before = flags.bits() & ((1 << bit) - 1);
            address + 8 * u64::from(before.count_ones())
        })
    }

    /// Whether a stream's primitives count as rasterised, when another one, or the same, is rasterised.
    pub fn counts_stream(&self, stream: u32, rasterised: u32) -> bool {
        stream == self.stream.unwrap_or(rasterised)
    }

    /// Address of the fragments' counter; 0 for none.
    pub fn fragments(&self) -> u64 {
        self.places(Flags::FRAGMENT_SHADER_INVOCATIONS).next().unwrap_or(0)
    }
}
