//! Types of a GPU family, of which the runtime's data is made.

/// Types of a GPU family: what its driver keeps of the API's objects.
///
/// Descriptions and state are generic over these types alone, so that [`Backend`](super::Backend) can name them in its functions.
pub trait Types: Sized + Send + Sync + 'static {
    /// A physical device's own data.
    type Physical: Send + Sync;
    /// A device: an open render node with an address space and queues.
    type Device: Send + Sync;
    /// Memory that the GPU and the host see.
    type Memory: Send + Sync;
    /// Addresses of a sparse resource.
    type Range: Send + Sync;
    /// Layout of an image.
    type Image: Send + Sync;
    /// Descriptors of an image view.
    type View: Send + Sync;
    /// Descriptors of a texel buffer.
    type BufferView: Send + Sync;
    /// A sampler.
    type Sampler: Send + Sync;
    /// A compiled shader with its variants.
    type Shader: Send + Sync;
    /// Memory of a query pool.
    type Queries: Send + Sync;
    /// Recorder of a command buffer.
    type Encoder: Send;
    /// Encoding of its draws: [`Immediate`](crate::draws::Immediate) or [`Expanding`](crate::draws::Expanding).
    type Draws: 'static;
}
