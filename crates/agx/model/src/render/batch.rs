//! Batches of vertices and primitives between the fetch of indices and the setup of primitives.

use tepui_agx_packets::vdm::IndexSize;
use tepui_raster::ProjectedVertex;
use tepui_softgpu::buffer_pool::{Buffers, bytes_of};
use tepui_softgpu::{Access, AddressSpace};

use super::draw::Indices;
use super::setup::Assembled;
use crate::job::{JobFault, Unit};
use crate::uvs::{Reuse, Vertex};

/// Memory of the geometry half, which is reused from one render command to the next.
#[derive(Default)]
pub struct GeometryMemory {
    /// Vertices of the draw that are shaded already.
    pub reuse: Reuse,
    /// The batch.
    pub batch: Batch,
    /// The first instance of a draw.
    pub pattern: Pattern,
}

impl Buffers for GeometryMemory {
    fn clear(&mut self) {
        self.reuse.clear();
        self.batch.begin_draw(0, 0);
    }

    fn bytes(&self) -> usize {
        let Batch { vertices, assembled, spots, fetched, .. } = &self.batch;
        let Pattern { indices, primitives } = &self.pattern;
        let lists = bytes_of(vertices) + bytes_of(assembled) + bytes_of(spots);
        let pattern = bytes_of(indices) + bytes_of(primitives);
        lists + pattern + bytes_of(&fetched.bytes) + bytes_of(&fetched.indices)
    }
}

/// The vertices and primitives of an instance, identical in all instances of a draw.
#[derive(Default)]
pub struct Pattern {
    /// Indices of the vertices, base vertex included.
    pub indices: Vec<u32>,
    /// Primitives, whose vertices are numbers in the instance.
    pub primitives: Vec<Assembled>,
}

impl Pattern {
    /// Takes the first instance of a draw from the batch that it is alone in.
    pub fn take(&mut self, batch: &Batch) {
        self.indices.clear();
        self.indices.extend(batch.vertices.iter().map(|vertex| vertex.index));
        self.primitives.clone_from(&batch.assembled);
    }
}

/// A batch: vertices to shade, and the primitives that use them.
#[derive(Default)]
pub struct Batch {
    /// First word of the draw's vertices in the scene's outputs.
    pub first_word: usize,
    /// Vertices of the draw in earlier batches.
    pub earlier: usize,
    /// Vertices to shade.
    pub vertices: Vec<Vertex>,
    /// Primitives.
    pub assembled: Vec<Assembled>,
    /// The draw's vertices in the window; empty if primitives select their viewports.
    pub spots: Vec<ProjectedVertex>,
    /// Indices so far.
    pub indices: u32,
    /// Number of the next primitive of the instance.
    pub next_id: u32,
    /// The indices that were read last.
    pub fetched: Fetched,
}

impl Batch {
    /// Begins the first batch of a draw, whose first vertices are there already.
    pub fn begin_draw(&mut self, first_word: usize, held: usize) {
        self.first_word = first_word;
        self.spots.clear();
        self.begin(held);
    }

    /// Begins a batch after `earlier` vertices of the draw.
    pub fn begin(&mut self, earlier: usize) {
        self.earlier = earlier;
        self.vertices.clear();
        self.assembled.clear();
        self.indices = 0;
    }

    /// Vertices of the draw so far: the number of the next.
    pub fn count(&self) -> usize {
        self.earlier + self.vertices.len()
    }

    /// Adds a vertex; returns its number in the draw.
    #[inline]
    pub fn vertex(&mut self, index: u32, instance: u32) -> u32 {
        let here = self.count() as u32;
        self.vertices.push(Vertex { index, instance });
        here
    }

    /// Adds the vertices of separate triangles, and these.
    pub fn triangles(&mut self, index: u32, count: u32, instance: u32) {
        let here = self.count() as u32;
        let vertex = |i: u32| Vertex { index: index.wrapping_add(i), instance };
        self.vertices.extend((0..count).map(vertex));
        let (first_id, triangles) = (self.next_id, count / 3);
        self.next_id = self.next_id.wrapping_add(triangles);
        self.assembled.extend((0..triangles).map(|i| Assembled {
            vertices: [here + 3 * i, here + 3 * i + 1, here + 3 * i + 2],
            id: first_id.wrapping_add(i),
        }));
    }

    /// Adds separate triangles, and those of their vertices that are not there yet.
    pub fn indexed_triangles(
        &mut self,
        reuse: &mut Reuse,
        triangles: &[[u32; 3]],
        base: u32,
        instance: u32,
    ) {
        self.assembled.reserve(triangles.len());
        for triangle in triangles {
            let mut vertices = [0; 3];
            for (vertex, &index) in vertices.iter_mut().zip(triangle) {
                let new = self.count() as u32;
                *vertex = reuse.place(index, new);
                if *vertex == new {
                    self.vertices.push(Vertex { index: base.wrapping_add(index), instance });
                }
            }
            self.assembled.push(Assembled { vertices, id: self.next_id });
            self.next_id = self.next_id.wrapping_add(1);
        }
    }

    /// Adds an instance that is like the first one.
    pub fn repeat(&mut self, pattern: &Pattern, count: u32, instance: u32) {
        let here = self.count() as u32;
        let vertex = |&index: &u32| Vertex { index, instance };
        self.vertices.extend(pattern.indices.iter().map(vertex));
        self.assembled.extend(pattern.primitives.iter().map(|primitive| {
            let [a, b, c] = primitive.vertices;
            Assembled { vertices: [here + a, here + b, here + c], ..*primitive }
        }));
        self.indices += count;
    }

    /// Adds assembled primitives.
    pub fn emit(&mut self) -> impl FnMut([u32; 3]) {
        |vertices| {
            self.assembled.push(Assembled { vertices, id: self.next_id });
            self.next_id = self.next_id.wrapping_add(1);
        }
    }
}

/// Indices read from memory.
#[derive(Default)]
pub struct Fetched {
    /// The indices as they are in memory.
    pub bytes: Vec<u8>,
    /// The indices.
    pub indices: Vec<u32>,
}

impl Fetched {
    /// Reads indices of a draw. Past the end of the buffer the last index is repeated: the hardware's
    /// behaviour there is unknown, except that it reads nothing out of bounds. source: libagx/draws.cl,
    /// robust index buffers; hk_cmd_draw.c, hk_needs_index_robustness
    pub fn read(
        &mut self,
        vm: &AddressSpace,
        buffer: &Indices,
        first: u32,
        count: u32,
    ) -> Result<(), JobFault> {
        let Fetched { bytes, indices } = self;
        let width = 1usize << buffer.size as usize;
        let bound = buffer.bound.unwrap_or(u64::MAX);
        let there = bound.saturating_sub(u64::from(first)).min(u64::from(count));
        // Only the last one, if all of these are past the end.
        let (from, read) = match there {
            0 => (bound.saturating_sub(1), bound.min(1)),
            there => (u64::from(first), there),
        };
        bytes.clear();
        bytes.resize(read as usize * width, 0);
        let address = buffer.address.wrapping_add(from.wrapping_mul(width as u64));
        vm.report_access(0, Access::Read, address, bytes.len() as u64);
        vm.read(address, bytes).map_err(|fault| {
            JobFault::new(Unit::Vdm, format!("the index buffer cannot be read: {fault}"))
        })?;
        indices.clear();
        match buffer.size {
            IndexSize::U8 => indices.extend(bytes.iter().map(|&b| u32::from(b))),
            IndexSize::U16 => indices
                .extend(bytes.chunks_exact(2).map(|b| u32::from(u16::from_le_bytes([b[0], b[1]])))),
            IndexSize::U32 => indices.extend(
                bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])),
            ),
        }
        let last = indices.last().copied().unwrap_or(0);
        indices.resize(count as usize, last);
        Ok(())
    }
}
