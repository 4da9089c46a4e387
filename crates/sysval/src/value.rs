//! System values.

use serde::{Deserialize, Serialize};

/// A value of a draw or dispatch that a program reads and its driver supplies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemValue {
    /// Number of workgroups in one direction, 32 bits.
    NumWorkgroups {
        /// 0 to 2.
        axis: u8,
    },
    /// First workgroup in one direction, 32 bits.
    BaseWorkgroup {
        /// 0 to 2.
        axis: u8,
    },
    /// A 32-bit word of the push constants.
    Push {
        /// Offset in bytes.
        offset: u32,
    },
    /// A 32-bit word of the driver's own data ([`crate::LaunchWords`]).
    Driver {
        /// Offset in bytes.
        offset: u32,
    },
    /// Vertex: what the draw adds to indices, or its first vertex, 32 bits.
    BaseVertex,
    /// Vertex: the draw's first instance, 32 bits.
    BaseInstance,
    /// The number of the draw in a multi-draw, 16 bits.
    DrawIndex,
    /// The view that is drawn, 16 bits.
    ViewIndex,
    /// Vertex, as a compute program: 64-bit address of the numbers of the vertices to process, 32 bits each.
    VertexList,
    /// Tessellation: number of the vertices of an input patch, 32 bits.
    PatchVertices,
    /// Fragment: places of the samples, a byte each: x and y in sixteenths of a pixel, x in the low four bits.
    SamplePositions,
    /// Fragment: samples that the pipeline's state enables, 16 bits.
    SampleMask,
    /// Fragment: a component of the blend constant, a 32-bit float.
    BlendConstant {
        /// 0 to 3.
        component: u8,
    },
}

/// Arguments of an indirect command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arguments {
    /// `VkDrawIndirectCommand`.
    Draw,
    /// `VkDrawIndexedIndirectCommand`.
    DrawIndexed,
    /// `VkDispatchIndirectCommand`.
    Dispatch,
}

impl SystemValue {
    /// Bits of the value. Families may give it wider registers.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            SystemValue::VertexList => 64,
            SystemValue::DrawIndex | SystemValue::ViewIndex | SystemValue::SampleMask => 16,
            _ => 32,
        }
    }

    /// Byte offset of the value in the arguments of an indirect command, if it is there.
    #[must_use]
    pub const fn in_arguments(self, of: Arguments) -> Option<u32> {
        match (self, of) {
            (SystemValue::BaseVertex, Arguments::Draw) => Some(8),
            (SystemValue::BaseVertex, Arguments::DrawIndexed) => Some(12),
            (SystemValue::BaseInstance, Arguments::Draw) => Some(12),
            (SystemValue::BaseInstance, Arguments::DrawIndexed) => Some(16),
            (SystemValue::NumWorkgroups { axis }, Arguments::Dispatch) => Some(4 * axis as u32),
            _ => None,
        }
    }
}
