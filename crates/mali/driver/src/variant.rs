//! Programs where they can run.

use tepui_mali_compiler::{FauWord, FragmentInfo, StageInfo, Stats, VertexInfo};
use tepui_mali_packets::shader::ShaderProgram;
use tepui_vulkan::command::MAX_SETS;
use tepui_vulkan::{Error, Result};
use tepui_vulkan_kit::PoolPiece;

use crate::kernel::Bo;
use crate::pushed;

/// Numbers of the buffers with dynamic offsets of each set.
pub type Dynamic = [u32; MAX_SETS];

/// A piece of a pool.
type Piece = PoolPiece<Bo>;

/// A program of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The only one, of dispatches and fragments; positions and point sizes of vertices.
    Only,
    /// Positions of vertices, without point sizes.
    WithoutPointSize,
    /// Varyings of vertices.
    Varying,
}

/// Program descriptors of a variant at most.
const MAX_ENTRIES: usize = 3;

/// A program where it can run; of vertices, all that one shader makes.
pub struct Variant {
    /// Code, and constant data after it.
    pub(crate) _code: Piece,
    /// Program descriptors, by [`Entry`].
    pub descriptors: Piece,
    /// Address of the constant data.
    pub(crate) data: u64,
    /// Words of fast-access uniforms.
    pub fau: Vec<FauWord>,
    /// Words of uniform buffers among them.
    pub pushed: Vec<pushed::Words>,
    /// Addresses of buffers among them.
    pub addresses: Vec<pushed::Address>,
    /// Buffers with dynamic offsets in the driver's table.
    pub dynamic: Dynamic,
    /// Invocations of a workgroup.
    pub workgroup: [u32; 3],
    /// Bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Properties of the stage.
    pub stage: StageInfo,
    /// Attributes of vertices that the program reads, by location.
    pub attributes: u32,
    /// Statistics of the compiler.
    pub stats: Stats,
    /// Machine code as text, if the pipeline is to show it.
    pub assembly: Option<String>,
}

impl Variant {
    /// Address of a program descriptor.
    pub fn descriptor(&self, entry: Entry) -> u64 {
        debug_assert!((entry as usize) < MAX_ENTRIES);
        self.descriptors.address + (entry as usize * ShaderProgram::SIZE_BYTES) as u64
    }

    /// Address of the constant data.
    pub fn data_address(&self) -> u64 {
        self.data
    }

    /// Properties of a vertex program.
    ///
    /// # Errors
    /// When it is of another stage.
    pub fn vertex(&self) -> Result<&VertexInfo> {
        match &self.stage {
            StageInfo::Vertex(info) => Ok(info),
            _ => Err(Error::unsupported("another program in the place of a vertex program")),
        }
    }

    /// Properties of a fragment program.
    ///
    /// # Errors
    /// When it is of another stage.
    pub fn fragment(&self) -> Result<&FragmentInfo> {
        match &self.stage {
            StageInfo::Fragment(info) => Ok(info),
            _ => Err(Error::unsupported("another program in the place of a fragment program")),
        }
    }
}
